#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Say which numbers of Documentation/requirements.md have a test that passed.

  scripts/check-requirements.py [--list | --missing] [RESULTS]

The numbers are read from the document: its requirements, its error table and its
table of the two models. A number is covered when a test that ran and passed
has it in its name: `SPLIT-7`, or a range `SPLIT-7..9`. RESULTS is what `make check`
wrote, build/check/results.txt unless named. Comments and sources count for nothing.

These fail: a number without a test that is not in WAITING; a number in WAITING that
has a passing test, for the list is stale; a number in a test's name that the document does not have.
Results of a part of the suite (SUITE=…, a build that failed) give no verdict.

TAP on standard output, one line for each group. --list prints, for each number, the
tests that passed with it in their names; --missing only the numbers without one.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "Documentation" / "requirements.md"
RESULTS = ROOT / "build" / "check" / "results.txt"

# The first line of RESULTS when everything ran.
WHOLE = "# whole suite"

# Numbers that have no test yet, each with the reason in a word.
ABSENT, UNTESTED = "feature not there yet", "no test yet"
WAITING = {
    "CG-1..3": ABSENT,
}

REQUIREMENT = re.compile(r"^- \*\*([A-Z]+)-(\d+)\*\*|^\| ([A-Z]+)-(\d+) \|", re.M)
# What section 2.11 leaves out on purpose is a row of a table, too.
LEFT_OUT = re.compile(r"^### [\d.]+ Left out on purpose$.*?^## ", re.M | re.S)
MENTION = re.compile(r"\b([A-Z]+)-(\d+)(?:\.\.(\d+))?\b")


def requirements(text):
    """{group: [number, …]} in the order of the document."""
    groups = {}
    for bullet, n, row, m in REQUIREMENT.findall(LEFT_OUT.sub("## ", text)):
        groups.setdefault(bullet or row, []).append(int(n or m))
    return groups


def numbers(text, groups):
    """[(group, number, in a range)] that a name or a word of WAITING means."""
    for group, first, last in MENTION.findall(text):
        if group in groups:
            for n in range(int(first), int(last or first) + 1):
                yield group, n, bool(last)


def read_results(text):
    """(whole, [(passed, name), …]) of a results file; skipped tests are left out."""
    lines = text.split("\n")
    results = []
    for line in lines:
        word, _, name = line.partition(" ")
        if word in ("PASS", "FAIL"):
            results.append((word == "PASS", name))
    return lines[0] == WHOLE, results


def waiting_reasons(waiting, groups):
    """{(group, number): reason} of a list like WAITING."""
    return {(group, n): reason for key, reason in waiting.items()
            for group, n, _range in numbers(key, groups)}


class Coverage:
    """What the tests of one run cover of the document."""

    def __init__(self, groups, results, waiting):
        self.groups = groups
        self.known = {(g, n) for g, all_n in groups.items() for n in all_n}
        self.waiting = waiting_reasons(waiting, groups)
        self.passed, self.failed, self.unknown = {}, {}, {}
        for ok, name in results:
            for group, n, in_range in numbers(name, groups):
                if (group, n) in self.known:
                    (self.passed if ok else self.failed).setdefault((group, n), []).append(name)
                elif not in_range:
                    # A range may run over numbers left out on purpose.
                    self.unknown.setdefault(f"{group}-{n}", []).append(name)
        for group, n in self.waiting:
            if (group, n) not in self.known:
                self.unknown.setdefault(f"{group}-{n}", []).append("WAITING")

    def stale(self, group):
        """Numbers that wait although a test passes."""
        return [n for n in self.groups[group]
                if (group, n) in self.waiting and (group, n) in self.passed]

    def missing(self, group):
        """Numbers without a test. One whose tests failed is a failure of those already."""
        return [n for n in self.groups[group] if (group, n) not in self.waiting and
                (group, n) not in self.passed and (group, n) not in self.failed]

    def waits(self, group):
        """Numbers that wait, and rightly."""
        return [n for n in self.groups[group]
                if (group, n) in self.waiting and (group, n) not in self.passed]


def ranges(group, all_n):
    """`SEG-33..35 SEG-38` for 33, 34, 35 and 38."""
    words, first = [], None
    for i, n in enumerate(all_n):
        first = n if first is None else first
        if i + 1 < len(all_n) and all_n[i + 1] == n + 1:
            continue
        words.append(f"{group}-{first}" + (f"..{n}" if n > first else ""))
        first = None
    return " ".join(words)


def waiting_lines(cover):
    """A line for each reason: what waits for it."""
    found = {}
    for group in cover.groups:
        by_reason = {}
        for n in cover.waits(group):
            by_reason.setdefault(cover.waiting[group, n], []).append(n)
        for reason, all_n in by_reason.items():
            found.setdefault(reason, []).append(ranges(group, all_n))
    return [f"# waiting ({reason}): {' '.join(words)}" for reason, words in found.items()]


def report(cover):
    """TAP for all groups; returns how many lines failed."""
    tests = []
    for group, all_n in cover.groups.items():
        missing, stale = cover.missing(group), cover.stale(group)
        count = sum((group, n) in cover.passed for n in all_n)
        notes = [f"#   no test that passed: {ranges(group, missing)}"] if missing else []
        if stale:
            notes.append(f"#   has a test, take it off WAITING: {ranges(group, stale)}")
        tests.append((f"{group}: {count} of {len(all_n)} covered", notes))
    tests.append(("every number named by a test exists",
                  [f"#   {n}: {', '.join(names)}" for n, names in sorted(cover.unknown.items())]))
    print(f"1..{len(tests)}")
    for i, (name, notes) in enumerate(tests, 1):
        print(f"{'not ok' if notes else 'ok'} {i} - {name}")
        print("".join(note + "\n" for note in notes), end="")
    print("\n".join(waiting_lines(cover)))
    return sum(bool(notes) for _name, notes in tests)


def list_numbers(cover, only_missing):
    """--list and --missing."""
    for group, all_n in cover.groups.items():
        for n in all_n:
            names = cover.passed.get((group, n), ())
            if only_missing and names:
                continue
            why = cover.waiting.get((group, n))
            print(f"{group}-{n}: " + ("; ".join(names) or
                                      (f"waiting: {why}" if why else "no test")))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true",
                        help="print the tests that name each number")
    parser.add_argument("--missing", action="store_true",
                        help="print the numbers without a test")
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=RESULTS)
    args = parser.parse_args()

    groups = requirements(DOCUMENT.read_text(encoding="utf-8"))
    if not groups:
        sys.exit(f"no requirement found in {DOCUMENT}")
    try:
        whole, results = read_results(args.results.read_text(encoding="utf-8"))
    except OSError as e:
        sys.exit(f"no results ({e.strerror}: {args.results}): run make check")
    cover = Coverage(groups, results, WAITING)
    if args.list or args.missing:
        list_numbers(cover, args.missing)
        return 0
    if not whole:
        print("1..0 # only a part of the suite ran")
        return 0
    failed = report(cover)
    print(f"# requirements: {len(cover.passed)} of {len(cover.known)} covered")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
