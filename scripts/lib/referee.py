# SPDX-License-Identifier: MIT
"""What the device said in QEMU's log: its guest errors, by name."""

import os
import re

HEADER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..",
                      "include", "tessera", "tessera_hw.h")
ERROR = re.compile(
    r"^tessera (?P<device>\S+): error (?P<type>\d+) engine 0x(?P<engine>[0-9a-f]+)"
    r" context 0x(?P<context>[0-9a-f]+) packet (?P<packet>0x[0-9a-f]+)"
    r" at (?P<at>0x[0-9a-f]+) slot 0x(?P<slot>[0-9a-f]+) addr (?P<addr>0x[0-9a-f]+)$")
TOTAL = re.compile(r"^tessera (?P<device>\S+): error (?P<type>\d+) was counted (?P<count>\d+) times$")


def read_names(header=HEADER):
    """{number: name} of the error types and {number: name} of the packets."""
    try:
        with open(header, encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return {}, {}
    block = text[text.find("#define TSR_ERR_NONE"):]
    errors = {int(m.group(2)): m.group(1) for m in
              re.finditer(r"^#define TSR_ERR_(\w+)\s+(\d+)\b", block, re.M)}
    packets = {int(m.group(2), 0): m.group(1) for m in
               re.finditer(r"^#define TSR_OP_(\w+)\s+(0x[0-9a-f]+|\d+)\b", text, re.M)}
    return errors, packets


class Referee:
    """Errors of all devices, in the order in which they were first counted."""

    def __init__(self, names=None):
        self.names, self.packets = names or read_names()
        self.first = {}     # (device, type): (match, what ran)
        self.seen = {}
        self.totals = {}

    def line(self, line, during=""):
        """One line of the log; `during` says what ran when it was written."""
        m = ERROR.match(line)
        if m:
            key = m.group("device"), int(m.group("type"))
            self.first.setdefault(key, (m, during))
            self.seen[key] = self.seen.get(key, 0) + 1
        m = TOTAL.match(line)
        if m:
            self.totals[m.group("device"), int(m.group("type"))] = int(m.group("count"))

    def _record(self, m):
        op = int(m.group("packet"), 0) & 0xffff
        text = "packet %s" % m.group("packet")
        if m.group("engine") != "ffffffff":
            if op in self.packets:
                text += " (%s)" % self.packets[op]
            text += " at %s, engine %d, context %d" % (
                m.group("at"), int(m.group("engine"), 16), int(m.group("context"), 16))
        if m.group("slot") != "ffffffff":
            text += ", slot %d" % int(m.group("slot"), 16)
        return "%s, address %s" % (text, m.group("addr"))

    def report(self):
        """Lines for people; none if there was no error."""
        out = []
        for key in list(self.first) + [k for k in self.totals if k not in self.first]:
            device, kind = key
            # Without a total the device was killed; what it logged is the least.
            count = self.totals.get(key)
            out.append("%s: error %s (%d) %s" % (
                device, self.names.get(kind, "of a type without a name"), kind,
                "x%d" % count if count else "x%d or more" % self.seen[key]))
            if key in self.first:
                m, during = self.first[key]
                out.append("  first: %s%s" % (self._record(m),
                                              ", during %s" % during if during else ""))
        return out
