# SPDX-License-Identifier: MIT
"""What programs print: TAP, KUnit's form of it, and the marks of run-tests."""

import re

from .results import RESULTS

TAP = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:-\s*)?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*(.*))?")


def durations(text):
    """[(seconds, name)] of the results that say how long they took."""
    return [(int(m.group(2)) / 1000, m.group(1)) for m in
            re.finditer(r"^(?:not )?ok \d+ - (.*) # (\d+) ms$", text, re.M)]


def parse_tap(text):
    """([(ok, name, detail)], plan or None, [skips]) of one program's output."""
    results, skips, plan, notes = [], [], None, []
    for line in text.split("\n"):
        m = TAP.match(line)
        if m:
            ok, name = m.group(1) is None, m.group(3).strip()
            name, _, directive = name.partition(" # ")
            if re.match(r"skip", directive, re.I):
                skips.append((name, directive[4:].strip()))
            elif re.match(r"todo", directive, re.I):
                skips.append((name, directive))
            else:
                results.append((ok, name, notes[-25:]))
            notes = []
            continue
        m = PLAN.match(line)
        if m:
            plan = int(m.group(1))
            if plan == 0 and m.group(2):
                skips.append(("", m.group(2)))
        elif line.startswith("#") and results and not results[-1][0] and not notes:
            # What a program says right after a failure belongs to it.
            results[-1][2].append(line)
        elif line.strip() and not line.startswith("TAP version"):
            notes.append(line)
    return results, plan, skips


def report(prefix, text, code):
    """Count one program's results: its TAP and its exit code must agree."""
    results, plan, skips = parse_tap(text)
    for name, why in skips:
        RESULTS.skip(": ".join(filter(None, (prefix, name))), why)
    for ok, name, detail in results:
        RESULTS.add(ok, "%s: %s" % (prefix, name), detail)
    for seconds, name in durations(text):
        RESULTS.took(seconds, "%s: %s" % (prefix, name))
    tail = [line for line in text.strip().split("\n")[-25:] if line]
    bad = any(not ok for ok, _n, _d in results)
    if code in (124, 137, 143):
        RESULTS.add(False, "%s: ended by the time limit" % prefix, tail)
    elif code != 0 and not bad:
        RESULTS.add(False, "%s: exit code %d" % (prefix, code), tail)
    elif plan == 0 and not skips:
        RESULTS.add(False, "%s: selects nothing" % prefix, tail)
    elif not results and not skips:
        RESULTS.add(False, "%s: reported no result" % prefix, tail)
    elif plan and "\n1.." not in text.lstrip("\n")[4:] and plan != len(results) + len(skips):
        RESULTS.add(False, "%s: %d of %d results" % (prefix, len(results) + len(skips), plan), tail)


def parse_kunit(text):
    """[(ok, 'suite: case', detail)] and skips; parameters count with their case."""
    results, skips = [], []
    suite, notes = "", []
    for line in text.split("\n"):
        m = re.match(r"^    # Subtest: (\S+)", line)
        if m:
            suite, notes = m.group(1), []
            continue
        m = re.match(r"^    (not )?ok \d+ (?:- )?(.*)$", line)
        if m:
            name, _, directive = m.group(2).partition(" # ")
            if directive.upper().startswith("SKIP"):
                skips.append(("%s: %s" % (suite, name), directive[4:].strip()))
            else:
                results.append((m.group(1) is None, "%s: %s" % (suite, name), notes[-25:]))
            notes = []
        elif re.match(r"^not ok 0 ", line):
            results.append((False, line[9:], ()))
        else:
            notes.append(line.strip())
    return results, skips


def split_output(out):
    """{test: (text, exit code or None)} from run-tests' marks."""
    found = {}
    for m in re.finditer(r"^#@begin (\S+)(?: \d+)?\n(.*?)(?:^#@end \1 (\d+)$|\Z)", out, re.M | re.S):
        found[m.group(1)] = (m.group(2), None if m.group(3) is None else int(m.group(3)))
    return found
