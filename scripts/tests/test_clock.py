#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what guests are told of their clock."""

import argparse
import os
import sys
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import clock  # noqa: E402  pylint: disable=wrong-import-position
from guest import qemu  # noqa: E402  pylint: disable=wrong-import-position


def told(accelerator, qemu_args=""):
    with mock.patch.object(clock, "tsc_khz", return_value=1234567):
        return qemu.clock_rate(argparse.Namespace(qemu_args=qemu_args), ["-accel", accelerator])


class Clock(unittest.TestCase):
    def test_twice_the_same(self):
        first = clock.tsc_khz()
        if first is None:
            self.skipTest("this machine has no such counter, or does not let it be read")
        self.assertGreater(first, 100000)
        self.assertAlmostEqual(clock.tsc_khz() / first, 1, delta=0.01)

    def test_scale(self):
        # A counter of 2 GHz, read behind each look at the clock.
        with mock.patch.object(clock, "_now", side_effect=time.monotonic_ns):
            start = clock._read(lambda: time.monotonic_ns() * 2)
            time.sleep(clock.SPAN_SECONDS)
            end = clock._read(lambda: time.monotonic_ns() * 2)
        self.assertAlmostEqual((end[1] - start[1]) / (end[0] - start[0]), 2, delta=0.02)

    def test_which_guests_are_told(self):
        self.assertEqual(told("tcg,thread=multi"), "tsc_early_khz=1234567 ")
        # Those have a clock of another kind.
        self.assertEqual(told("kvm"), "")
        self.assertEqual(told("tcg,thread=single", "-icount shift=1"), "")


if __name__ == "__main__":
    unittest.main()
