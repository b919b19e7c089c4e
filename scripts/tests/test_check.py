#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the parsers of scripts/check.py."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
# pylint: disable=wrong-import-position
from check import selection, tap  # noqa: E402


class Tap(unittest.TestCase):
    def test_results_and_details(self):
        results, plan, skips = tap.parse_tap(
            "TAP version 13\n1..3\n# before one\nok 1 - one\n"
            "#   t.c:7: x is 1, not 2\nnot ok 2 - two\n# after two\nok 3 - three\n")
        self.assertEqual(plan, 3)
        self.assertEqual([(ok, name) for ok, name, _d in results],
                         [(True, "one"), (False, "two"), (True, "three")])
        self.assertEqual(results[1][2], ["#   t.c:7: x is 1, not 2", "# after two"])
        self.assertEqual(skips, [])

    def test_skip_with_its_reason(self):
        results, _plan, skips = tap.parse_tap("ok 1 - one # SKIP no such segment\n")
        self.assertEqual(results, [])
        self.assertEqual(skips, [("one", "no such segment")])

    def test_skipped_program(self):
        self.assertEqual(tap.parse_tap("1..0 # no device\n"), ([], 0, [("", "no device")]))

    def test_todo_is_no_failure(self):
        results, _plan, skips = tap.parse_tap("not ok 1 - later # TODO unwritten\n")
        self.assertEqual((results, skips), ([], [("later", "TODO unwritten")]))

    def test_names_with_a_number_in_front(self):
        results, _plan, _skips = tap.parse_tap("ok 12 SEG-8 shares\nok - bare\nokay, no result\n")
        self.assertEqual([name for _ok, name, _d in results], ["SEG-8 shares", "bare"])


class Kunit(unittest.TestCase):
    TEXT = """KTAP version 1
1..1
    KTAP version 1
    # Subtest: tessera_split
    1..2
        # Subtest: test_params
        ok 1 row a
        not ok 2 row b
    # test_params: EXPECTATION FAILED at kunit/split_kunit.c:12
    not ok 1 test_params
    ok 2 test_more
    ok 3 - test_other # SKIP not here
not ok 1 tessera_split
not ok 0 /lib/modules/a.ko cannot be loaded
"""

    def test_cases_not_parameters(self):
        results, skips = tap.parse_kunit(self.TEXT)
        self.assertEqual([(ok, name) for ok, name, _d in results],
                         [(False, "tessera_split: test_params"),
                          (True, "tessera_split: test_more"),
                          (False, "/lib/modules/a.ko cannot be loaded")])
        self.assertIn("# test_params: EXPECTATION FAILED at kunit/split_kunit.c:12",
                      results[0][2])
        self.assertEqual(skips, [("tessera_split: test_other", "not here")])


class Marks(unittest.TestCase):
    def test_programs_of_a_boot(self):
        found = tap.split_output("noise\n#@begin test-a\nok 1 - x\n\n#@end test-a 0\n"
                                 "#@begin test-b\nok 1 - y\n\n#@end test-b 137\n"
                                 "#@begin test-c\nok 1 - z\n")
        self.assertEqual(found["test-a"], ("ok 1 - x\n\n", 0))
        self.assertEqual(found["test-b"][1], 137)
        self.assertEqual(found["test-c"], ("ok 1 - z\n", None))


class Selection(unittest.TestCase):
    def test_tiers(self):
        self.assertEqual(selection.wanted_tiers([]), list(selection.USUAL))
        self.assertEqual(selection.wanted_tiers(["lint"]), ["lint"])
        self.assertEqual(selection.wanted_tiers(["test-split"]), ["guest-stock", "guest-debug"])
        self.assertEqual(selection.wanted_tiers(["guest-debug/test-split"]), ["guest-debug"])
        self.assertEqual(selection.wanted_tiers(["tessera-cmd-test"]), ["qtest"])

    def test_chosen(self):
        self.assertTrue(selection.chosen([], "test-split", "guest-stock"))
        self.assertTrue(selection.chosen(["test-sp"], "test-split", "guest-stock"))
        self.assertTrue(selection.chosen(["guest-stock/test-split"], "test-split", "guest-stock"))
        self.assertFalse(selection.chosen(["guest-debug/test-split"], "test-split", "guest-stock"))
        self.assertFalse(selection.chosen(["test-page"], "test-split", "guest-stock"))


if __name__ == "__main__":
    unittest.main()
