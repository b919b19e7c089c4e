#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the table of waits.

base/wait_rows.h lists the kinds of waits. Documentation/locking.rst shows the same table,
each row has a caller, and no other file of the driver waits by itself.

  scripts/check-waits.py          TAP on standard output
  scripts/check-waits.py --write  update the table in Documentation/locking.rst
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVER = ROOT / "drivers/gpu/drm/tessera"
ROWS = DRIVER / "base/wait_rows.h"
PAGE = ROOT / "Documentation/locking.rst"
BEGIN = ".. waits: written by scripts/check-waits.py\n"
END = ".. end of waits\n"
MAX_ROWS = 25
WIDTH = 80

ROW = re.compile(r'^TESSERA_WAIT_ROW\((\w+),((?:\s*"[^"]*"\s*,?)+)\)', re.M)
# Functions that sleep until something happens.
WAIT = re.compile(r"\b(_*wait_event\w*|wait_on_\w+|schedule_timeout\w*|schedule|msleep\w*|usleep_\w+"
                  r"|dma_fence_wait\w*|dma_resv_wait\w*|wait_for_completion\w*|wait_var_event\w*"
                  r"|drm_sched_entity_(?:flush|destroy)|ttm_bo_wait\w*)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def rows():
    text = ROWS.read_text(encoding="utf-8")
    found = [(m.group(1), re.findall(r'"([^"]*)"', m.group(2))) for m in ROW.finditer(text)]
    for ident, words in found:
        if len(words) != 5:
            sys.exit("error: %s: row %s has %d texts, expected 5" % (ROWS, ident, len(words)))
    if not found:
        sys.exit("error: %s has no rows" % ROWS)
    return found


def table(found):
    heads = ("Row", "Who waits", "For what", "Holding", "Bounded by")
    lines = [BEGIN.rstrip(), "", ".. list-table::", "   :header-rows: 1", ""]
    for words in [heads] + [("``%s``" % w[0], *w[1:]) for _, w in found]:
        for i, word in enumerate(words):
            lines += textwrap.wrap(word, WIDTH,
                                   initial_indent="     - " if i else "   * - ",
                                   subsequent_indent="       ")
    return "\n".join(lines + ["", END])


def page_parts():
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < 0:
        sys.exit("error: %s has no place for the table of waits" % PAGE)
    return text[:begin], text[begin:end + len(END)], text[end + len(END):]


def sources():
    for path in sorted(DRIVER.rglob("*.[ch]")):
        if not path.match("base/wait*") and not path.name.endswith(".mod.c"):
            yield path, COMMENT.sub(lambda m: "\n" * m.group(0).count("\n"),
                                    path.read_text(encoding="utf-8"))


def without_row():
    """Waits of the driver that are not, or not closely, inside tessera_wait_in()."""
    for path, text in sources():
        for m in WAIT.finditer(text):
            before = text[:m.start()]
            if "tessera_wait_in(" not in before[-200:]:
                yield "%s:%d: %s() without a row" % (path.relative_to(ROOT),
                                                     before.count("\n") + 1, m.group(1))


def unused(found):
    text = "".join(text for _, text in sources())
    for ident, _ in found:
        if not re.search(r"\bTESSERA_WAIT_%s\b" % ident, text):
            yield "row %s has no caller" % ident


def check(found):
    _, old, _ = page_parts()
    tests = (
        ("at most %d kinds of waits" % MAX_ROWS,
         ["there are %d" % len(found)] if len(found) > MAX_ROWS else []),
        ("Documentation/locking.rst shows the table",
         [] if old == table(found) else ["run: scripts/check-waits.py --write"]),
        ("each row has a caller", list(unused(found))),
        ("each wait has a row", list(without_row())),
    )
    print("1..%d" % len(tests))
    for i, (name, faults) in enumerate(tests, 1):
        print("%s %d - waits: %s" % ("not ok" if faults else "ok", i, name))
        for fault in faults:
            print("#   %s" % fault)
    return any(faults for _, faults in tests)


def main():
    found = rows()
    if sys.argv[1:] == ["--write"]:
        head, _, tail = page_parts()
        PAGE.write_text(head + table(found) + tail, encoding="utf-8")
        return 0
    return 1 if check(found) else 0


if __name__ == "__main__":
    sys.exit(main())
