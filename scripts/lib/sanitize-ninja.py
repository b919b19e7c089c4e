#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print ninja rules for a second QEMU in a build tree, with the device under a sanitizer.

  sanitize-ninja.py NAME FLAGS OBJECT-REGEX < build.ninja > NAME.ninja

The rules of build.ninja are included as they are. Objects whose source matches OBJECT-REGEX
are compiled once more, below NAME/ and with FLAGS, and qemu-system-x86_64 is linked once
more as NAME/qemu-system-x86_64 with these in the place of the others. All else is shared, so
this costs the objects it names and a link, not a second QEMU.
"""

import re
import sys

PROGRAM = "qemu-system-x86_64"


def statements(text):
    """(rule line, [variable lines]) of each build statement."""
    for m in re.finditer(r"^build (.*)\n((?:[ \t]+.*\n)*)", text, re.M):
        yield m.group(1), m.group(2).split("\n")[:-1]


def with_flags(variables, names, flags):
    """FLAGS in front, so that folders of headers among them come first."""
    return [re.sub(r"^(\s*(?:%s) = )" % "|".join(names), r"\g<1>%s " % flags, v)
            for v in variables]


def main():
    name, flags, wanted = sys.argv[1], sys.argv[2], re.compile(sys.argv[3])
    text = sys.stdin.read()
    print("include build.ninja\n")
    made, link = {}, None
    for line, variables in statements(text):
        out, _, rest = line.partition(": ")
        rule, _, inputs = rest.partition(" ")
        if out == PROGRAM:
            link = (rule, inputs, variables)
        elif rule == "c_COMPILER" and wanted.search(inputs.split(" ")[0]):
            made[out] = "%s/%s" % (name, out)
            print("build %s: %s %s" % (made[out], rule, inputs))
            variables = with_flags(variables, ("ARGS",), flags)
            print("\n".join(v.replace(out + ".d", made[out] + ".d") for v in variables) + "\n")
    if not made or not link:
        sys.exit("no object matches, or no rule links " + PROGRAM)
    rule, inputs, variables = link
    explicit, bar, others = inputs.partition(" | ")
    objects = explicit.split(" ")
    replaced = [made.get(o, o) for o in objects]
    # What stands in a library otherwise is found before the library is looked at.
    replaced += [new for old, new in made.items() if old not in objects]
    print("build %s/%s: %s %s%s%s" % (name, PROGRAM, rule, " ".join(replaced), bar, others))
    print("\n".join(with_flags(variables, ("LINK_ARGS",), flags)))


main()
