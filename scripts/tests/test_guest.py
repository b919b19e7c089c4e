#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/guest that need no guest."""

import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
GUEST = os.path.join(HERE, "..", "guest")
loader = importlib.machinery.SourceFileLoader("guest", GUEST)
spec = importlib.util.spec_from_loader("guest", loader)
guest = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True  # of a file without an ending
loader.exec_module(guest)


class Watching(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.console = os.path.join(self.folder.name, "console")
        self.device = os.path.join(self.folder.name, "device")
        self.watch = guest.Watch(self.console, self.device)

    def tearDown(self):
        self.folder.cleanup()

    def say(self, path, text):
        with open(path, "a", encoding="utf-8") as f:
            f.write(text)

    def test_lines_that_come_in_pieces(self):
        follow = guest.Follow(self.console)
        self.assertEqual(follow.lines(), [])
        self.say(self.console, "one\r\ntw")
        self.assertEqual(follow.lines(), ["one"])
        self.say(self.console, "o\r\n")
        self.assertEqual(follow.lines(), ["two"])

    def test_a_test_that_does_not_end(self):
        self.say(self.console, "[ 1.0] tessera-test: begin test-a: x (limit 5 s)\r\n")
        self.watch.look()
        self.assertEqual(self.watch.running, "test-a: x")
        self.assertIsNone(self.watch.overdue())
        self.watch.limits["test"] = time.monotonic() - 1, "test-a: x"
        self.assertEqual(self.watch.overdue(), "test-a: x")
        self.say(self.console, "[ 2.0] tessera-test: end test-a: x\r\n")
        self.watch.look()
        self.assertIsNone(self.watch.overdue())
        self.assertEqual(self.watch.running, "")

    def test_patience(self):
        left = []
        for patience in (1, 20):
            watch = guest.Watch(self.console, self.device, patience)
            watch._limit("test", "5", "x")  # pylint: disable=protected-access
            left.append(watch.limits["test"][0] - guest.TEST_GRACE)
        self.assertGreaterEqual(left[1] - left[0], 19 * 5)

    def test_a_boot_that_does_not_end(self):
        self.watch.boot("stock")
        self.assertIsNone(self.watch.overdue())
        self.watch.limits["boot"] = time.monotonic() - 1, "the boot"
        self.assertEqual(self.watch.overdue(), "the boot")
        self.watch.booted()
        self.assertIsNone(self.watch.overdue())

    def test_a_program_that_does_not_end(self):
        self.watch.output("#@begin test-a 60")
        self.assertIn("program", self.watch.limits)
        self.watch.output("#@end test-a 0")
        self.assertEqual(self.watch.limits, {})

    def test_an_error_has_the_tests_that_may_have_done_it(self):
        self.say(self.console, "tessera-test: begin t: a\ntessera-test: end t: a\n"
                               "tessera-test: begin t: b\n")
        self.say(self.device, "tessera tessera0: error 32 engine 0x0 context 0x1 packet "
                              "0x00080010 at 0x28 slot 0x0 addr 0x10\n")
        self.watch.look()
        self.assertIn("during t: a or t: b", "\n".join(self.watch.referee.report()))

    def test_problems(self):
        log = ["[    1.000000] tessera-test: begin t: a (limit 9 s)",
               "[    1.100000] tessera 0000:00:02.0: [drm] device error dma x1 while no driver had it",
               "[    1.200000] WARNING: CPU: 0 PID: 1 at x.c:1 f+0x0", "[    1.300000] quiet"]
        self.assertEqual(guest.find_problems(log, []), [1, 2])
        self.assertEqual(guest.find_problems(log, ["device error"]), [2])
        self.assertEqual(guest.running_at(log, 2), "t: a")


class Dying(unittest.TestCase):
    def test_a_child_goes_with_its_parent(self):
        parent = subprocess.Popen([sys.executable, "-c", """
import importlib.machinery, importlib.util, subprocess, sys, time
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("guest", %r)
guest = importlib.util.module_from_spec(importlib.util.spec_from_loader("guest", loader))
loader.exec_module(guest)
child = subprocess.Popen(["sleep", "600"], start_new_session=True,
                         preexec_fn=guest.die_with_parent)
print(child.pid, flush=True)
time.sleep(600)
""" % GUEST], stdout=subprocess.PIPE, text=True)
        child = int(parent.stdout.readline())
        parent.stdout.close()
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                with open("/proc/%d/stat" % child, encoding="utf-8") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return
            except OSError:
                return
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        self.fail("the child lives on")


if __name__ == "__main__":
    unittest.main()
