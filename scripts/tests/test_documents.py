#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files that the documents name exist. Sphinx checks only the references between documents."""

import glob
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
DRIVER = "drivers/gpu/drm/tessera"
# Files of the driver are named by folder and stem, all others by their path.
FOLDERS = sorted(entry.name for entry in os.scandir(os.path.join(ROOT, DRIVER)) if entry.is_dir())
STEM = re.compile(r"``((?:%s)/\w+)(\.[ch])?``" % "|".join(FOLDERS))
PATH = re.compile(r"`{1,2}((?:scripts|tests|kunit|userspace|qemu-device|include|drivers|Documentation)/"
                  r"[\w./-]*\w)/?`{1,2}")
LINK = re.compile(r"\]\(([\w./-]+)\)")
# The hardware manual names files of QEMU in this form, and none of the driver.
FOREIGN = os.path.join("Documentation", "hardware.rst")
# What a placeholder stands for is up to the reader.
PLACEHOLDERS = ("tests/guest/test-x.args",)


def documents():
    for pattern in ("*.md", "Documentation/**/*.rst", "Documentation/**/*.md"):
        for path in glob.glob(os.path.join(ROOT, pattern), recursive=True):
            with open(path, encoding="utf-8") as f:
                yield os.path.relpath(path, ROOT), f.read()


class DocumentsTest(unittest.TestCase):
    def exists(self, document, *names):
        self.assertTrue(any(os.path.exists(os.path.join(ROOT, n)) for n in names),
                        "%s names %s" % (document, names[0]))

    def test_driver_files(self):
        found = 0
        for document, text in documents():
            for stem, ending in STEM.findall(text) if document != FOREIGN else ():
                base = os.path.join(DRIVER, stem)
                self.exists(document, *([base + ending] if ending else [base + ".c", base + ".h", base]))
                found += 1
        self.assertGreater(found, 100)

    def test_paths(self):
        found = 0
        for document, text in documents():
            for path in PATH.findall(text):
                if path not in PLACEHOLDERS:
                    self.exists(document, path, path + ".c")
                    found += 1
        self.assertGreater(found, 50)

    def test_links(self):
        found = 0
        for document, text in documents():
            for link in LINK.findall(text) if document.endswith(".md") else ():
                self.exists(document, os.path.join(os.path.dirname(document), link))
                found += 1
        self.assertGreater(found, 20)


if __name__ == "__main__":
    unittest.main()
