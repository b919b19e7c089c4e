#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Say which numbers of Documentation/requirements.md have a test.

The numbers are read from the document. A requirement is covered when a test
source names it: `SPLIT-7` in a name or comment, or a range `SPLIT-7..9`.
A number without a test is a failure, unless LATER names it, with the reason.

TAP on standard output, one line for each group. --list prints, for each number,
the files that name it; --missing only the numbers without a test.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "Documentation" / "requirements.md"

# Where tests live, and what of it is a test.
TEST_ROOTS = (
    "kunit",
    "tests",
    "qemu-device/tests",
    "userspace/tests",
)
TEST_SUFFIXES = {".c", ".h", ".py", ".sh", ".args"}

# Numbers that wait for something not built, and for what.
LATER = {}

NUMBER = re.compile(r"^- \*\*([A-Z]+)-(\d+)\*\*", re.M)


def requirements():
    """{group: [number, …]} in the order of the document."""
    groups = {}
    for group, number in NUMBER.findall(DOCUMENT.read_text(encoding="utf-8")):
        groups.setdefault(group, []).append(int(number))
    if not groups:
        sys.exit(f"no requirement found in {DOCUMENT}")
    return groups


def test_files():
    """Every test source of the tree."""
    for top in TEST_ROOTS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and path.suffix in TEST_SUFFIXES:
                yield path


def coverage(groups):
    """{(group, number): {file, …}} and the names of unknown numbers."""
    names = "|".join(sorted(groups))
    mention = re.compile(rf"\b({names})-(\d+)(?:\.\.(\d+))?\b")
    known = {(g, n) for g, numbers in groups.items() for n in numbers}
    found, unknown = {}, {}
    for path in test_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        rel = str(path.relative_to(ROOT))
        for group, first, last in mention.findall(text):
            for n in range(int(first), int(last or first) + 1):
                key = (group, n)
                if key in known:
                    found.setdefault(key, set()).add(rel)
                elif not last:
                    # a range may run over numbers left out on purpose
                    unknown.setdefault(f"{group}-{n}", set()).add(rel)
    return found, unknown


def report(groups, found):
    """TAP lines for all groups; returns how many failed."""
    failed = 0
    print(f"1..{len(groups) + 1}")
    for i, (group, numbers) in enumerate(groups.items(), 1):
        covered = [n for n in numbers if (group, n) in found]
        later = [n for n in numbers if n not in covered and f"{group}-{n}" in LATER]
        missing = [n for n in numbers if n not in covered and n not in later]
        what = f"{group}: {len(covered)} of {len(numbers)} covered"
        if missing:
            failed += 1
            print(f"not ok {i} - {what}")
            print("#   no test: " + ", ".join(f"{group}-{n}" for n in missing))
        else:
            print(f"ok {i} - {what}")
        if later:
            print("#   later: " + ", ".join(f"{group}-{n}: {LATER[f'{group}-{n}']}"
                                             for n in later))
    return failed


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true",
                        help="print the files that name each number")
    parser.add_argument("--missing", action="store_true",
                        help="print the numbers without a test")
    args = parser.parse_args()

    groups = requirements()
    found, unknown = coverage(groups)
    if args.list or args.missing:
        for group, numbers in groups.items():
            for n in numbers:
                files = sorted(found.get((group, n), ()))
                if args.missing and files:
                    continue
                print(f"{group}-{n}: {', '.join(files) or 'no test'}")
        return 0

    failed = report(groups, found)
    total = sum(len(n) for n in groups.values())
    last = len(groups) + 1
    if unknown:
        failed += 1
        print(f"not ok {last} - every number named by a test exists")
        for name, files in sorted(unknown.items()):
            print(f"#   {name}: {', '.join(sorted(files))}")
    else:
        print(f"ok {last} - every number named by a test exists")
    print(f"# requirements: {len(found)} of {total} covered")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
