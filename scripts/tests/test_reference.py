#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference pages have every function, number and DOC comment of their sources."""

import importlib.util
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")


def load():
    path = os.path.join(ROOT, "scripts", "docs-reference.py")
    spec = importlib.util.spec_from_file_location("docs_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


class ReferenceTest(unittest.TestCase):
    def setUp(self):
        self.reference = load()

    def test_functions(self):
        text = self.reference.header(self.reference.ROOT / "userspace/libtessera/tessera.h")
        symbols = re.findall(r"^\s+(tessera_\w+);", read("userspace/libtessera/libtessera.map"), re.M)
        self.assertGreater(len(symbols), 100)
        for symbol in symbols:
            self.assertRegex(text, r"(?m)^(\.\. c:function::| {16}\S)[^(]*\b%s\(" % symbol)

    def test_numbers(self):
        text = self.reference.header(self.reference.ROOT / "include/tessera/tessera_hw.h")
        for name in re.findall(r"^#define\s+(TSR_\w+)", read("include/tessera/tessera_hw.h"), re.M):
            self.assertRegex(text, r"(?m)^   #define\s+%s\b" % name)

    def test_driver_comments(self):
        text = self.reference.driver()
        found = 0
        for folder, _dirs, files in os.walk(os.path.join(ROOT, str(self.reference.DRIVER))):
            for name in files:
                if name.endswith((".c", ".h")):
                    for title in re.findall(r"^ \* DOC: (.*)$", read(os.path.join(folder, name)), re.M):
                        self.assertIn("%s: %s\n" % (name, title), text)
                        found += 1
        self.assertGreater(found, 50)

    def test_comments_are_literal(self):
        plain = self.reference.plain
        self.assertEqual(plain("/* Sets *@out of @bo, see TSR_X_*. */"),
                         "Sets ``*out`` of ``bo``, see TSR_X\\_\\*.")
        self.assertEqual(plain("/*\n * Steps:\n *  - one\n *    more\n */"), "Steps:\n\n- one\n  more")


if __name__ == "__main__":
    unittest.main()
