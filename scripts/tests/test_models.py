# SPDX-License-Identifier: MIT
"""scripts/demo-models.py: both models side by side, if they have drawn the same."""

import contextlib
import importlib.util
import io
import json
import os
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location(
    "demo_models", os.path.join(HERE, "..", "demo-models.py"))
models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(models)

DEMO = {"textures": 3, "texture_bytes": 100, "video_memory": 50, "scene_ns": 1500000000,
        "stall_ns": 500000000, "submissions": 1, "parts": 7, "right": True}
TRACE = {"bytes": {"transfer_in": 3 << 20, "transfer_out": 2 << 20}, "bytes_paged": 5 << 20,
         "evictions": 4}


class Models(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_model(self, model, demo):
        for name, content in (("summary", demo), ("trace-summary", TRACE)):
            with open(os.path.join(self.folder.name, name + ".json"), "w", encoding="utf-8") as f:
                json.dump(content, f)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(models.main(self.folder.name, model), 0)
        return out.getvalue()

    def test_side_by_side(self):
        alone = self.run_model("patched", DEMO)
        self.assertIn("make run MODEL=vm", alone)
        both = self.run_model("vm", dict(DEMO, submissions=5, parts=5, right=False))
        self.assertNotIn("make run", both)
        self.assertRegex(both, r"(?m)^ +patched +vm$")
        self.assertRegex(both, r"(?m)^submissions +1 +5$")
        self.assertRegex(both, r"(?m)^paged, in all +5 MiB +5 MiB$")
        self.assertRegex(both, r"(?m)^pixels +right +WRONG$")

    def test_another_scene(self):
        self.run_model("patched", DEMO)
        other = self.run_model("vm", dict(DEMO, textures=4))
        self.assertNotRegex(other, r"(?m)^ +patched")
        self.assertIn("make run MODEL=patched", other)

    def test_nothing(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(models.main(self.folder.name, "vm"), 1)


if __name__ == "__main__":
    unittest.main()
