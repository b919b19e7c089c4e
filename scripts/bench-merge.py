#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Join benchmark rows into one list, print it as a table and write it as JSON.

  scripts/bench-merge.py [--output FILE] ROWS...

Each ROWS file holds one JSON object per line, or one JSON list of objects. An object
with "values" and "references" (samples) is reduced to their medians; one
with "value" and "reference" is taken as it is. The goal is one for the ratio
value / reference: at least it if better is "higher", at most if "lower". A row without reference is
compared by its value. The exit code says nothing about goals: a benchmark measures.
"""

import argparse
import json
import statistics
import sys

KEYS = ("name", "value", "unit", "reference", "ratio", "better", "goal")


def read_rows(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def finish(row):
    """Medians, ratio, and the keys in order; others behind them."""
    row = dict(row)
    for many, one in (("values", "value"), ("references", "reference")):
        samples = row.pop(many, None)
        if samples:
            row[one] = statistics.median(samples)
            row[one + "_samples"] = samples
    for key in KEYS:
        row.setdefault(key, None)
    if row["ratio"] is None and row["reference"]:
        row["ratio"] = row["value"] / row["reference"]
    return {**{k: row[k] for k in KEYS}, **{k: v for k, v in row.items() if k not in KEYS}}


def reached(row):
    """Whether the goal is reached; None without a goal."""
    figure = row["ratio"] if row["ratio"] is not None else row["value"]
    if row["goal"] is None or figure is None:
        return None
    return figure >= row["goal"] if row["better"] == "higher" else figure <= row["goal"]


def number(x):
    if x is None:
        return "-"
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= limit:
            return "%.2f %s" % (x / limit, letter)
    return "%.4g" % x


def table(rows):
    lines = ["%-34s %12s %-8s %12s %8s  %s" % ("name", "value", "unit", "reference", "ratio", "goal")]
    for row in rows:
        ok = reached(row)
        goal = "" if row["goal"] is None else "%s %g %s" % (
            ">=" if row["better"] == "higher" else "<=", row["goal"], "yes" if ok else "NO")
        ratio = "-" if row["ratio"] is None else "%.3f" % row["ratio"]
        lines.append("%-34s %12s %-8s %12s %8s  %s" % (
            row["name"], number(row["value"]), row["unit"] or "", number(row["reference"]),
            ratio, goal))
    return "\n".join(lines)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--output", metavar="FILE")
    p.add_argument("rows", nargs="+")
    args = p.parse_args(argv)
    rows = [finish(row) for path in args.rows for row in read_rows(path)]
    print(table(rows))
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=2)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
