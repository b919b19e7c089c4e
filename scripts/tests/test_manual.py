#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hardware manual's tables against tessera_hw.h and the device's own tables."""

import fnmatch
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
# Registers, by the beginning of their names; what begins so and is none.
REGISTERS = ("ID_", "CTRL_", "FW_ADDR", "FW_SIZE", "FW_START", "MARK_ADDR", "MARK_SIZE",
             "MARK_COMMAND", "INT_STATUS", "INT_MASK", "ERR_CLEAR", "ERR_TOTAL", "ERR_REC_",
             "SEG_", "ENG_", "SP_", "REC_", "VM_NUM", "VM_VA", "COH_ADDR", "COH_SIZE", "COH_COMMAND")
NOT_REGISTERS = ("ID_MAGIC_VALUE", "ID_VERSION_VALUE", "SEG_NAME_BYTES", "SEG_FIRST_BASE",
                 "SEG_BASE_ALIGN", "ENG_ENABLE", "ENG_RESET", "ENG_PREEMPT", "REC_BYTES")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def chapter(text, number):
    """From the title that begins with the number to the next chapter or section."""
    m = re.search(r"^%s [^\n]*\n[=-]+\n(.*?)(?=^\d+(?:\.\d+)? [^\n]*\n[=-]{4,}\n|\Z)" %
                  re.escape(number), text, re.M | re.S)
    return m.group(1)


class ManualTest(unittest.TestCase):
    def setUp(self):
        self.manual = read("Documentation/hardware.rst")
        self.page = read("qemu-device/docs/system/devices/tessera.rst")
        self.pci = read("qemu-device/tessera_pci.c")
        self.numbers = {
            name: int(value, 0) for name, value in re.findall(
                r"^#define\s+TSR_(\w+)\s+(0x[0-9a-f]+|\d+)\b", read("include/tessera/tessera_hw.h"),
                re.M)}

    def bits(self, table, prefix):
        """Rows of a table of bits."""
        rows = re.findall(r"^(\d+)\s+``([A-Z_]+)``", table, re.M)
        for bit, name in rows:
            self.assertEqual(self.numbers[prefix + name], 1 << int(bit), name)
        return {name for _bit, name in rows}

    def named(self, prefix):
        return {name[len(prefix):] for name in self.numbers if name.startswith(prefix)}

    def number(self, word):
        """The value of a number, or of a name in the header."""
        return int(word) if word.isdigit() else self.numbers[word[len("TSR_"):]]

    def error_types(self):
        return {n for n in self.named("ERR_")
                if not n.startswith("REC_") and n not in ("NONE", "TYPES", "CLEAR", "TOTAL")}

    def test_registers(self):
        rows = re.findall(r"^0x([0-9a-f]+)\s+``TSR_(\w+)(/HI)?``", self.manual, re.M)
        seen = set()
        for offset, name, high in rows:
            self.assertEqual(self.numbers[name], int(offset, 16), name)
            seen.add(name)
            if high:
                self.assertEqual(self.numbers[name[:-2] + "HI"], int(offset, 16) + 4, name)
                seen.add(name[:-2] + "HI")
        wanted = {n for n in self.numbers if n.startswith(REGISTERS) and n not in NOT_REGISTERS}
        # The status page and the job record have tables of the same form; the clock's
        # halves stand for themselves.
        self.assertEqual(wanted - seen, set())

    def test_packets(self):
        rows = re.findall(r"^0x([0-9a-f]{2}) ([A-Z_]+)\s+(any|\d+)\s+(both|render|paging)",
                          chapter(self.manual, "6"), re.M)
        engines = {"ON_ANY": "both", "ON_RENDER": "render", "ON_PAGING": "paging"}
        device = dict(re.findall(r'\[TSR_OP_\w+\] = \{ "(\w+)",\s+\w+,\s+(ON_\w+)',
                                 read("qemu-device/tessera_cmd.c")))
        for op, name, dwords, engine in rows:
            self.assertEqual(self.numbers["OP_" + name], int(op, 16), name)
            if dwords != "any":
                self.assertEqual(self.numbers[name + "_DWORDS"], int(dwords), name)
            self.assertEqual(engines[device[name]], engine, name)
        self.assertEqual({r[1] for r in rows}, set(device))
        self.assertEqual(self.named("OP_") - {"CACHE_MAINTAIN", "PRIVILEGED"}, set(device))

    def test_forms(self):
        """The device's table and that of the qtest that tries each wrong form are the same."""
        device = re.findall(r'\[(TSR_OP_\w+)\] = \{ "\w+",\s+(\w+),\s+(ON_\w+),'
                            r'\s+([\w\s|]+?),\s+\w+ \}', read("qemu-device/tessera_cmd.c"))
        wanted = {op: (self.number(dwords), sum(map(self.number, re.split(r"[\s|]+", flags))),
                       engine != "ON_PAGING", engine != "ON_RENDER")
                  for op, dwords, engine, flags in device}
        self.assertEqual(len(wanted), read("qemu-device/tessera_cmd.c").count("[TSR_OP_"))
        rows = re.findall(r"\{ (TSR_OP_\w+), (\d+), (\d+), (true|false), (true|false) \}",
                          read("qemu-device/tests/tessera-manual-test.c"))
        self.assertEqual({op: (int(dwords), int(flags), render == "true", paging == "true")
                          for op, dwords, flags, render, paging in rows}, wanted)

    def test_error_names(self):
        """Both tables of names have each error type."""
        for path, name_of in (("include/tessera/tessera_hw_names.h", lambda t: t),
                              ("drivers/gpu/drm/tessera/hw/error.c",
                               lambda t: t.lower().replace("_", "-"))):
            names = dict(re.findall(r'\[TSR_ERR_(\w+)\] = "([^"]+)"', read(path)))
            names.pop("NONE", None)
            self.assertEqual(names, {t: name_of(t) for t in self.error_types()}, path)

    def test_errors(self):
        rows = re.findall(r"^(\d+)\s+``([A-Z_]+)``", chapter(self.manual, "11"), re.M)
        for number, name in rows:
            self.assertEqual(self.numbers["ERR_" + name], int(number), name)
        self.assertEqual(self.error_types(), {r[1] for r in rows})
        marks = re.findall(r"(\d) TSR_MARK_([A-Z]+)", self.manual)
        self.assertEqual({n: int(v) for v, n in marks},
                         {n: self.numbers["MARK_" + n]
                          for n in ("FREE", "EVICTED", "ALLOCATED", "VALID")})

    def test_bits(self):
        self.assertEqual(self.bits(chapter(self.manual, "4.5"), "SEGF_"),
                         self.named("SEGF_") - {"ALL"})
        self.assertEqual(self.bits(chapter(self.manual, "4.1"), "CAP_"),
                         self.named("CAP_"))
        rows = re.findall(r"^(\d)\s+``([A-Z_]+)``", chapter(self.manual, "8"), re.M)
        self.assertEqual({n: int(v) for v, n in rows},
                         {n: self.numbers["STATE_" + n] for n in self.named("STATE_") - {"COUNT"}})

    def test_properties(self):
        """Every property is in the manual and on the page for QEMU's users."""
        names = re.findall(r'DEFINE_PROP_\w+\("([\w-]+)"', self.pci)
        names += re.findall(r'^    \{ "(x-[\w-]+)"', self.pci, re.M)
        names += re.findall(r'object_class_property_add\(klass, "([\w-]+)"', self.pci)
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertIn("``%s``" % name, chapter(self.manual, "14"), name)
            self.assertRegex(self.page, r"``%s(=|``)" % name, name)

    def test_fault_reasons(self):
        """Every property with the prefix x- has a reason to keep it."""
        names = re.findall(r'"(x-[\w-]+)"', self.pci)
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn("``%s``" % name, chapter(self.manual, "14.1"), name)

    def test_maintainers(self):
        """Each file of the device matches a line of its entry, where QEMU would have it."""
        patterns = re.findall(r"^F: (.*)$", read("qemu-device/MAINTAINERS"), re.M)
        top = os.path.join(ROOT, "qemu-device")
        places = ["include/tessera/tessera_hw.h"]
        for folder, _dirs, files in os.walk(top):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), top)
                first = path.split(os.sep)[0]
                if first == "tests":
                    places.append("tests/qtest/" + name)
                elif first in ("docs", "host"):
                    places.append(path)
                elif path != "MAINTAINERS":
                    places.append("hw/display/tessera/" + path)
        # What is added to a page of QEMU's own belongs to that page.
        places.remove("docs/specs/pci-ids.rst")
        for place in places:
            self.assertTrue(any(place.startswith(p) if p.endswith("/") else
                                fnmatch.fnmatch(place, p) for p in patterns), place)


if __name__ == "__main__":
    unittest.main()
