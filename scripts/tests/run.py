#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the tests of the scripts (test_*.py beside this file) and speak TAP."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))


class TapResult(unittest.TestResult):
    """One line for each test; what went wrong stands before it."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def _line(self, test, ok, more=""):
        self.number += 1
        name = test.id().split(".", 1)[-1] if "." in test.id() else test.id()
        print("%sok %d - %s%s" % ("" if ok else "not ", self.number, name, more), flush=True)

    def _bad(self, test, err):
        for line in self._exc_info_to_string(err, test).split("\n"):
            print("# %s" % line)
        self._line(test, False)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(test, True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._bad(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(test, True, " # SKIP %s" % reason)


def main():
    suite = unittest.defaultTestLoader.discover(HERE)
    print("1..%d" % suite.countTestCases())
    result = TapResult()
    suite.run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
