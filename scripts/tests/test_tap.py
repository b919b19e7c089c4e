#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the guest tests' harness (tests/lib/tap.c), on this machine."""

import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
LIB = os.path.join(HERE, "..", "..", "tests", "lib")
PROGRAM = r"""
#include <string.h>
#include <unistd.h>
#include "tap.h"

static void good(void) {}
static void bad(void) { tap_rule("sums are right"); require_eq(1 + 1, 3); }
static void absent(void) { tap_skip("no %s here", "segment"); }
static void hang(void *arg) { for (;;) pause(); }
static void hangs(void) { tap_join(tap_fork(hang, NULL)); }
static void dies(void) { *(volatile int *)0 = 1; }
static void random_one(void) { tap_seed(7); }

static const char *after(const struct tap_test *test)
{
	return test->flags ? "something is left" : NULL;
}

static const struct tap_test tests[] = {
	{ "SPLIT-1 good", good, 0, 0 },
	{ "SPLIT-2 bad", bad, 0, 0 },
	{ "SPLIT-3 absent", absent, 0, 0 },
	{ "SPLIT-4 leaves something", good, 1, 0 },
	{ "SPLIT-5 hangs", hangs, 0, 1 },
	{ "SPLIT-6 dies", dies, 0, 0 },
	{ "SPLIT-7 random", random_one, 0, 0 },
};

int main(int argc, char **argv)
{
	const struct tap_hooks hooks = { .after = after };

	return tap_run(argc, argv, tests, ARRAY_SIZE(tests), &hooks);
}
"""


class Harness(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source = os.path.join(cls.folder.name, "t.c")
        cls.program = os.path.join(cls.folder.name, "t")
        with open(source, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-I", LIB, "-o", cls.program,
                        source, os.path.join(LIB, "tap.c")], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_it(self, *args, **env):
        p = subprocess.run([self.program] + list(args), stdout=subprocess.PIPE, text=True,
                           check=False, env=dict(os.environ, **env))
        return p.stdout.split("\n"), p.returncode

    def results(self, lines):
        return [re.sub(r" # \d+ ms$", "", line) for line in lines
                if re.match(r"(not )?ok ", line)]

    def test_results(self):
        lines, code = self.run_it()
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], "1..7")
        self.assertEqual(self.results(lines), [
            "ok 1 - SPLIT-1 good", "not ok 2 - SPLIT-2 bad",
            "ok 3 - SPLIT-3 absent # SKIP no segment here",
            "not ok 4 - SPLIT-4 leaves something", "not ok 5 - SPLIT-5 hangs",
            "not ok 6 - SPLIT-6 dies", "ok 7 - SPLIT-7 random"])
        text = "\n".join(lines)
        self.assertIn("1 + 1 is 2 (0x2), not 3 = 3 (0x3)", text)
        self.assertEqual(text.count("the rule there: sums are right"), 1)
        self.assertIn("something is left", text)
        self.assertIn("killed by signal 14 (too slow, or hung)", text)
        self.assertIn("killed by signal 11", text)

    def test_a_hang_is_looked_at(self):
        text = "\n".join(self.run_it("SPLIT-5")[0])
        for look in "look 1:", "look 2:":
            seen = text.split(look)[1].split("look")[0]
            tasks = re.findall(r"^#   /proc/(\d+)/task/\1\n#     comm: t$", seen, re.M)
            self.assertEqual(len(tasks), 2, text)   # the test and its child
            self.assertIn("wchan: ", seen)
        self.assertEqual(text.count("killed by signal 14 (too slow, or hung)"), 1)

    def test_selection(self):
        lines, code = self.run_it("SPLIT-1", "SPLIT-3")
        self.assertEqual(code, 0)
        self.assertEqual([line[:4] for line in lines if line][0], "1..2")
        self.assertEqual(len(self.results(lines)), 2)

    def test_a_selector_of_nothing_fails(self):
        lines, code = self.run_it("SPLIT-1", "SPLTI-13")
        self.assertNotEqual(code, 0)
        self.assertIn("Bail out! no test's name contains 'SPLTI-13'", lines)
        self.assertEqual(self.results(lines), [])

    def test_the_seed_of_the_environment(self):
        self.assertIn("# seed 0x7", self.run_it("SPLIT-7")[0])
        self.assertIn("# seed 0x1234", self.run_it("SPLIT-7", TESSERA_SEED="0x1234")[0])


if __name__ == "__main__":
    unittest.main()
