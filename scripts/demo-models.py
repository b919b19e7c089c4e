#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Put what the demo cost in the two models side by side.

  scripts/demo-models.py FOLDER MODEL

FOLDER has the summary.json that tessera-demo wrote and the trace-summary.json of
scripts/timeline.py, of a run in MODEL. They are kept there as model-MODEL.json, and shown beside
the other model's of the same scene, if there is one.
"""

import json
import os
import sys

MODELS = ("patched", "vm")
# Two runs have drawn the same if these are equal.
SCENE = ("textures", "texture_bytes", "video_memory")


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def seconds(ns):
    return "%.2f s" % (ns / 1e9)


def mib(count):
    return "%.0f MiB" % (count / 1048576)


def rows(run):
    """[(name, value), ...] of one run."""
    demo, trace = run["demo"], run["trace"]
    moved = trace["bytes"]
    return [
        ("drawing the scene", seconds(demo["scene_ns"])),
        ("  the engine stalled", seconds(demo["stall_ns"])),
        ("submissions", str(demo["submissions"])),
        ("  in parts", str(demo["parts"])),
        ("paged, in all", mib(trace["bytes_paged"])),
        ("  in", mib(moved.get("transfer_in", 0))),
        ("  out", mib(moved.get("transfer_out", 0))),
        ("  within memory", mib(moved.get("transfer_move", 0))),
        ("evictions", str(trace["evictions"])),
        ("pixels", "right" if demo["right"] else "WRONG"),
    ]


def table(runs):
    """Lines for the runs, by model."""
    columns = [dict(rows(run)) for run in runs.values()]
    lines = ["%-24s%s" % ("", "".join("%14s" % m for m in runs))]
    for name, _value in rows(next(iter(runs.values()))):
        lines.append("%-24s%s" % (name, "".join("%14s" % c[name] for c in columns)))
    return lines


def main(folder, model):
    demo = load(os.path.join(folder, "summary.json"))
    trace = load(os.path.join(folder, "trace-summary.json"))
    if model not in MODELS or not demo or not trace:
        print("demo-models.py: no results of '%s' in %s" % (model, folder), file=sys.stderr)
        return 1
    with open(os.path.join(folder, "model-%s.json" % model), "w", encoding="utf-8") as f:
        json.dump({"demo": demo, "trace": trace}, f, indent=1)
    runs = {}
    for name in MODELS:
        run = load(os.path.join(folder, "model-%s.json" % name))
        if run and all(run["demo"][key] == demo[key] for key in SCENE):
            runs[name] = run
    print("\n".join(table(runs)))
    if len(runs) < len(MODELS):
        print("(make run MODEL=%s puts the other model beside it)" %
              [m for m in MODELS if m not in runs][0])
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
