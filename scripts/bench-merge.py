#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Join benchmark rows into one list, print it as a table and write it as JSON.

  scripts/bench-merge.py [--output FILE] ROWS...

Each ROWS file holds one JSON object per line, or one JSON list of objects. An object
with "values" and "references" (samples) is reduced to their medians; one
with "value" and "reference" is taken as it is. Several of one name come from several boots: the
medians of theirs count. The spread is the least and the greatest ratio, of boots or, if there
is one, of samples. The goal is one for the ratio value / reference: at least it if better is "higher", at most if "lower". A row without reference is
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
    """Medians, ratio, spread of the ratios, and the keys in order; others behind them."""
    row = dict(row)
    samples = row.get("values") or (), row.get("references") or ()
    for many, one in (("values", "value"), ("references", "reference")):
        if row.get(many):
            row[one] = statistics.median(row[many])
            row[one + "_samples"] = row[many]
        row.pop(many, None)
    for key in KEYS:
        row.setdefault(key, None)
    if row["ratio"] is None and row["reference"]:
        row["ratio"] = row["value"] / row["reference"]
    ratios = [v / r for v, r in zip(*samples) if r]
    if len(ratios) > 1:
        row["spread"] = [min(ratios), max(ratios)]
        row["spread_of"] = "%d samples" % len(ratios)
    return {**{k: row[k] for k in KEYS}, **{k: v for k, v in row.items() if k not in KEYS}}


def join(boots):
    """One row for the rows of one name, of a boot each: medians of what the boots found."""
    if len(boots) == 1:
        return boots[0]
    row = dict(boots[0])
    for key in ("value", "reference", "ratio"):
        found = [boot[key] for boot in boots if boot[key] is not None]
        row[key] = statistics.median(found) if found else None
    for key in ("value_samples", "reference_samples"):
        row.pop(key, None)
    figures = [boot["value"] if boot["ratio"] is None else boot["ratio"] for boot in boots]
    row["spread"] = [min(figures), max(figures)]
    row["spread_of"] = "%d boots" % len(boots)
    row["boots"] = boots
    return row


def merge(rows):
    """Rows as they were read; each name once, where it came first."""
    found = {}
    for row in rows:
        found.setdefault(row["name"], []).append(finish(row))
    return [join(boots) for boots in found.values()]


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


def spread(row):
    if "spread" not in row:
        return ""
    return "%.3f - %.3f, %s" % (*row["spread"], row["spread_of"])


def table(rows):
    form = "%-34s %12s %-8s %12s %8s  %-12s %s"
    lines = [form % ("name", "value", "unit", "reference", "ratio", "goal", "spread of the ratio")]
    for row in rows:
        ok = reached(row)
        goal = "" if row["goal"] is None else "%s %g %s" % (
            ">=" if row["better"] == "higher" else "<=", row["goal"], "yes" if ok else "NO")
        ratio = "-" if row["ratio"] is None else "%.3f" % row["ratio"]
        lines.append((form % (row["name"], number(row["value"]), row["unit"] or "",
                              number(row["reference"]), ratio, goal, spread(row))).rstrip())
    return "\n".join(lines)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--output", metavar="FILE")
    p.add_argument("rows", nargs="+")
    args = p.parse_args(argv)
    rows = merge(row for path in args.rows for row in read_rows(path))
    print(table(rows))
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=2)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
