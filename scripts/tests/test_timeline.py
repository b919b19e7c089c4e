#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/timeline.py on a small recorded trace (SPLIT-1, SPLIT-17, PAGE-1 in reports)."""

import importlib.util
import json
import os
import tempfile
import unittest
import xml.dom.minidom

HERE = os.path.dirname(os.path.realpath(__file__))
TRACE = os.path.join(HERE, "trace-small.txt")
spec = importlib.util.spec_from_file_location("timeline", os.path.join(HERE, "..", "timeline.py"))
timeline = importlib.util.module_from_spec(spec)
spec.loader.exec_module(timeline)


class TimelineTest(unittest.TestCase):
    def setUp(self):
        with open(TRACE, encoding="utf-8") as f:
            self.events, self.lost = timeline.parse(f)

    def test_parse(self):
        self.assertEqual(len(self.events), 17)
        self.assertEqual(self.lost, 3)
        op = self.events[4]
        self.assertEqual(op.name, "paging_op")
        self.assertEqual(op.fields["kind"], "transfer")
        self.assertEqual(op.fields["dst"], (2, 0x400000))
        self.assertEqual(op.fields["flags"], 12)
        self.assertEqual(self.events[15].fields["error"], -14)
        self.assertNotIn("some_other_event", [e.name for e in self.events])

    def test_summary(self):
        s = timeline.summarise(self.events, self.lost)
        self.assertEqual(s["bytes"], {"fill": 4194304, "transfer_in": 2097152,
                                      "transfer_out": 4194304, "transfer_move": 1024})
        self.assertEqual(s["bytes_paged"], 2097152 + 4194304 + 1024)
        self.assertEqual((s["parts"], s["cuts"], s["pins"], s["evictions"]), (2, 1, 1, 1))
        self.assertEqual(s["evictions_by_reason"], {"plan": 1})
        self.assertEqual(s["busy_ns_by_engine"], {"0": 500000, "1": 1000000})
        self.assertEqual(s["failed_jobs"], 1)
        self.assertEqual(s["lost_events"], 3)

    def test_residency(self):
        boxes = timeline.Residency(self.events).boxes
        self.assertEqual(sorted(b[:4] for b in boxes),
                         [(2, 0, 1048576, 9), (2, 0, 4194304, 7), (2, 0x400000, 2097152, 8)])
        by_bo = {b[3]: b for b in boxes}
        self.assertAlmostEqual(by_bo[7][4], 10.0001)
        self.assertAlmostEqual(by_bo[7][5], 10.0011)
        self.assertAlmostEqual(by_bo[9][5], 10.003)  # destroyed
        self.assertAlmostEqual(by_bo[8][5], 10.003)  # until the end
        usage = timeline.Residency(self.events).usage[2]
        self.assertEqual(max(used for _t, used in usage), 6291456)

    def test_no_box_overlaps_another_in_space_and_time(self):
        boxes = timeline.Residency(self.events).boxes
        for i, a in enumerate(boxes):
            for b in boxes[i + 1:]:
                space = a[0] == b[0] and a[1] < b[1] + b[2] and b[1] < a[1] + a[2]
                time = a[4] < b[5] and b[4] < a[5]
                self.assertFalse(space and time, (a, b))

    def test_chrome(self):
        trace = timeline.chrome_trace(self.events, {2: ("hidden", 192 << 20)})
        json.dumps(trace)
        jobs = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        self.assertEqual([j["tid"] for j in jobs], [0, 1])
        self.assertEqual([j["dur"] for j in jobs], [500.0, 1000.0])
        # The faster report, 100 us after the end of the first job, sets the clock.
        self.assertAlmostEqual(jobs[0]["ts"], 1000 - 500, places=0)
        self.assertEqual(len([e for e in trace["traceEvents"]
                              if e["name"].startswith("part ")]), 2)
        self.assertTrue(any(e["ph"] == "C" and e["name"] == "hidden used"
                            for e in trace["traceEvents"]))

    def test_cpu(self):
        """CHA-5, SWZ-30: who had what, and until when."""
        head = "   a-1   [000] .....   %s: tessera_"
        events, _lost = timeline.parse(head % time + text for time, text in (
            ("1.000000", "cpu_fault: bo=1 page=0 backing=swizzle-range"),
            ("1.000100", "swizzle_acquire: bo=1 range=3 offset=0x0 layout=1 pitch=256 rows=32"),
            ("1.000200", "lock: bo=1 flags=0x0 instance=1"),
            ("1.000300", "host_aperture_map: bo=2 pages=4 free=12"),
            ("1.000400", "swizzle_release: bo=1 range=3"),
            ("1.000500", "swizzle_acquire: bo=5 range=3 offset=0x0 layout=1 pitch=256 rows=32"),
            ("1.000600", "host_aperture_unmap: bo=2 pages=4 free=16"),
            ("1.000700", "unlock: bo=1")))
        trace = timeline.chrome_trace(events, {})["traceEvents"]
        self.assertEqual([(e["tid"], e["name"], e["ts"], e["dur"]) for e in trace
                          if e["ph"] == "X"], [(3, "bo 1", 100, 300), (3, "bo 5", 500, 200)])
        self.assertEqual([e["name"] for e in trace if e["ph"] == "i"],
                         ["fault bo 1 swizzle-range", "lock bo 1", "map bo 2", "unmap bo 2",
                          "unlock bo 1"])
        self.assertEqual([e["args"]["pages"] for e in trace if e["ph"] == "C"], [12, 16])

    def test_command(self):
        with tempfile.TemporaryDirectory() as d:
            out = [os.path.join(d, n) for n in ("t.json", "t.svg", "s.json")]
            names = os.path.join(d, "demo.json")
            with open(names, "w", encoding="utf-8") as f:
                json.dump({"segments": [{"id": 2, "name": "vram <hidden>", "size": 201326592}]}, f)
            code = timeline.main([TRACE, "--json", out[0], "--svg", out[1], "--summary", out[2],
                                  "--segments", names])
            self.assertEqual(code, 0)
            with open(out[0], encoding="utf-8") as f:
                self.assertIn("traceEvents", json.load(f))
            drawing = xml.dom.minidom.parse(out[1])
            # background, one frame, three boxes
            self.assertEqual(len(drawing.getElementsByTagName("rect")), 5)
            self.assertEqual(len(drawing.getElementsByTagName("line")), 1)
            with open(out[2], encoding="utf-8") as f:
                self.assertEqual(json.load(f)["cuts"], 1)

    def test_nothing(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write("# tracer: nop\n")
            f.flush()
            self.assertEqual(timeline.main([f.name]), 1)


if __name__ == "__main__":
    unittest.main()
