#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/check-requirements.py."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.realpath(__file__))
SPEC = importlib.util.spec_from_file_location(
    "check_requirements", os.path.join(HERE, "..", "check-requirements.py"))
requirements = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(requirements)

DOCUMENT = """# Requirements
- **SEG-1** (S2) One.<br>Observable: SEG-2 is mentioned here.
- **SEG-2** (S2) Two.
- **SEG-4** (S2) Four; SEG-3 is left out.
### 2.11 Left out on purpose
| number | what |
|---|---|
| SEG-3 | never |

## 4. Error cases
| no. | Case |
|---|---|
| ERR-1 | bad |
| ERR-2 | worse |
"""
GROUPS = requirements.requirements(DOCUMENT)


class Document(unittest.TestCase):
    def test_requirements_and_rows_of_tables_count(self):
        self.assertEqual(GROUPS, {"SEG": [1, 2, 4], "ERR": [1, 2]})

    def test_the_real_one_has_all_groups(self):
        groups = requirements.requirements(requirements.DOCUMENT.read_text(encoding="utf-8"))
        self.assertEqual(len(groups["ERR"]), 44)
        self.assertEqual(len(groups["MODEL"]), 18)
        self.assertNotIn(25, groups["SEG"])
        known = {(g, n) for g, all_n in groups.items() for n in all_n}
        self.assertLessEqual(
            set(requirements.waiting_reasons(requirements.WAITING, groups)), known)


class Verdict(unittest.TestCase):
    def cover(self, results, waiting=()):
        return requirements.Coverage(GROUPS, results, dict(waiting))

    def report(self, cover):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            failed = requirements.report(cover)
        return failed, out.getvalue()

    ALL = [(True, "guest-stock/test-a: SEG-1..4 good"), (True, "qtest/b: /x/ERR-1-ERR-2-bad")]

    def test_all_covered(self):
        failed, text = self.report(self.cover(self.ALL))
        self.assertEqual(failed, 0)
        self.assertIn("ok 1 - SEG: 3 of 3 covered", text)
        self.assertIn("ok 2 - ERR: 2 of 2 covered", text)

    def test_a_number_without_a_test_fails(self):
        failed, text = self.report(self.cover(self.ALL[:1]))
        self.assertEqual(failed, 1)
        self.assertIn("not ok 2 - ERR: 0 of 2 covered\n#   no test that passed: ERR-1..2", text)

    def test_a_number_that_waits_is_printed(self):
        failed, text = self.report(self.cover(self.ALL[:1], {"ERR-1..2": "later"}.items()))
        self.assertEqual(failed, 0)
        self.assertIn("# waiting (later): ERR-1..2", text)

    def test_a_stale_list_fails(self):
        failed, text = self.report(self.cover(self.ALL, {"ERR-2": "later"}.items()))
        self.assertEqual(failed, 1)
        self.assertIn("not ok 2 - ERR: 2 of 2 covered\n"
                      "#   has a test, take it off WAITING: ERR-2", text)
        self.assertNotIn("waiting (later)", text)

    def test_a_list_of_numbers_that_are_not_there_fails(self):
        failed, text = self.report(self.cover(self.ALL, {"ERR-3": "later"}.items()))
        self.assertEqual(failed, 1)
        self.assertIn("#   ERR-3: WAITING", text)

    def test_a_failed_test_covers_nothing_and_is_told_once(self):
        cover = self.cover(self.ALL[:1] + [(False, "x: ERR-1..2 bad")])
        self.assertEqual(cover.missing("ERR"), [])
        self.assertEqual(self.report(cover)[0], 0)
        self.assertIn("ERR: 0 of 2 covered", self.report(cover)[1])
        self.assertEqual(self.cover([(False, "x: ERR-1 bad")], {"ERR-1": "later"}.items())
                         .stale("ERR"), [])

    def test_unknown_numbers_in_names_fail(self):
        failed, text = self.report(self.cover(self.ALL + [(True, "x: SEG-3 SEG-77 UTF-8")]))
        self.assertEqual(failed, 1)
        self.assertIn("#   SEG-3: x: SEG-3 SEG-77 UTF-8", text)
        self.assertIn("#   SEG-77:", text)
        self.assertNotIn("#   UTF-8", text)


class Results(unittest.TestCase):
    def run_on(self, text, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.txt")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out), \
                    unittest.mock.patch.object(sys, "argv", ["x", *args, path]):
                code = requirements.main()
        return code, out.getvalue()

    def test_a_skipped_test_is_no_result(self):
        text = "# whole suite\nPASS a: SEG-1\nSKIP b: SEG-2: no device\nFAIL c: SEG-4\n"
        self.assertEqual(requirements.read_results(text),
                         (True, [(True, "a: SEG-1"), (False, "c: SEG-4")]))

    def test_a_part_of_the_suite_gives_no_verdict(self):
        self.assertEqual(self.run_on("# a part of the suite\nPASS a: SEG-1\n"),
                         (0, "1..0 # only a part of the suite ran\n"))

    def test_the_whole_suite_does(self):
        self.assertEqual(self.run_on("# whole suite\nPASS a: SEG-1\n")[0], 1)

    def test_list(self):
        code, text = self.run_on("# a part of the suite\nPASS a: SEG-1\n", "--list")
        self.assertEqual(code, 0)
        self.assertIn("SEG-1: a: SEG-1\n", text)
        self.assertIn("SEG-2: no test\n", text)

    def test_ranges(self):
        self.assertEqual(requirements.ranges("A", [1, 2, 3, 5]), "A-1..3 A-5")
        self.assertEqual(requirements.ranges("A", [7]), "A-7")


if __name__ == "__main__":
    unittest.main()
