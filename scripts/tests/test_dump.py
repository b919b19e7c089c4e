#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/decode-dump on recorded crash dumps (DUMP-1 in scripts)."""

import importlib.machinery
import importlib.util
import os
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
LOADER = importlib.machinery.SourceFileLoader(
    "decode_dump", os.path.join(HERE, "..", "decode-dump"))
decode_dump = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("decode_dump", LOADER))
LOADER.exec_module(decode_dump)


def recorded(name):
    """The lines of a dump beside this file."""
    with open(os.path.join(HERE, "dump-%s.txt" % name), encoding="utf-8") as f:
        return f.read().split("\n")


def decode(lines):
    """What the script prints."""
    dump = decode_dump.Dump(lines)
    return "\n".join(decode_dump.Decoder(dump, decode_dump.Names()).lines())


class DecodeDumpTest(unittest.TestCase):
    def test_fault(self):
        text = decode(recorded("fault"))
        self.assertIn("render0: error SLOT_BOUNDS (6) in job 1 of context 1, process 182\n", text)
        self.assertIn("  0x000000  JOB_BEGIN 0x1 0x0 0x0\n", text)
        self.assertIn("> 0x000028  FILL 0x0 0x3e8 0x0 0x19 0x1 0x1 0x0\n"
                      "              slot 0: 0xb0000000, 0x1000 bytes: gart+0x0, "
                      "object 1+0x0 of client 2\n", text)
        # The record of this error, not that of the next job's.
        self.assertIn("  address 0xb0000000, gart+0x0, object 1+0x0 of client 2, slot 0", text)
        self.assertNotIn("SLOT_UNBOUND", text)

    def test_hang(self):
        text = decode(recorded("hang"))
        self.assertIn("render0 was reset, with job 1 of context 1, process 185\n", text)
        self.assertIn("  TSR_ENG_IB_OFFSET = 0x2f0\n", text)
        self.assertIn('slot 0: 0x90000000, 0x800000 bytes: vram-hidden-from-cpu+0x0, '
                      'object 1 "guilty"+0x0 of client 2', text)
        self.assertEqual([line[:11] for line in text.split("\n") if line.startswith(">")],
                         ["> 0x0002f0 "])

    def test_page_tables(self):
        text = decode(recorded("vm"))
        self.assertIn("Commands at virtual address 0x7f0000000000: not in the dump, offset 0x28",
                      text)
        self.assertIn("  0x000100100000  level 0: not mapped\n", text)
        self.assertIn("  0x000100101000  level 0: 0x000000009011100b VALID|WRITE|VRAM: "
                      "vram-hidden-from-cpu+0x111000, object 4+0x101000 of client 2\n", text)
        self.assertIn("  address 0x100100000, slot 0", text)

    def test_large_page(self):
        lines = [line if not line.startswith("0x0001000fe000:") else
                 "0x000040000000: 0000000090010009 0000000090011009 000000009020001b " + "0" * 16
                 for line in recorded("vm")]
        self.assertIn("  0x000040000000  level 1: 0x000000009020001b VALID|WRITE|VRAM|LEAF: ",
                      decode(lines))

    def test_register_bits(self):
        lines = ["register 0x8: 0xa" if line.startswith("register 0x8:") else line
                 for line in recorded("hang")]
        self.assertIn("  TSR_ENG_STATUS = 0xa HALTED|WAITING\n", decode(lines))

    def test_record_of_another_job(self):
        for this, other in (("context: 1", "context: 7"), ("offset: 0x28", "offset: 0x0"),
                            (" engine 0 ", " engine 2 ")):
            lines = [line.replace(this, other) for line in recorded("fault")]
            self.assertIn("no record of this error", decode(lines), this)

    def test_cut_off(self):
        self.assertNotIn("cut off", decode(recorded("fault")))
        text = decode(recorded("fault")[:-3])
        self.assertIn("> 0x000028  FILL", text)
        self.assertIn("The dump is cut off", text)

    def test_refused(self):
        for lines in ([], ["no dump"], ["**** Xe Device Coredump ****"]):
            with self.assertRaisesRegex(ValueError, "not a crash dump"):
                decode_dump.Dump(lines)
        lines = ["version: 2" if line == "version: 1" else line for line in recorded("fault")]
        with self.assertRaisesRegex(ValueError, "has version 2"):
            decode_dump.Dump(lines)

    def test_the_driver_has_this_version(self):
        """The tables of the driver's dumps have the names that the script looks for."""
        source = decode_dump.read(os.path.join(
            HERE, "..", "..", "drivers", "gpu", "drm", "tessera", "tessera_dump.c"))
        self.assertRegex(source, r"(?m)^#define DUMP_VERSION\s+%s$" % decode_dump.VERSION)


if __name__ == "__main__":
    unittest.main()
