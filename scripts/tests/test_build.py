#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of QEMU's command line in scripts/guest."""

import importlib.machinery
import importlib.util
import os
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")


class GuestTest(unittest.TestCase):
    def test_commas(self):
        """QEMU takes a comma for the end of a value unless there are two."""
        loader = importlib.machinery.SourceFileLoader("guest", os.path.join(ROOT, "scripts/guest"))
        guest = importlib.util.module_from_spec(importlib.util.spec_from_loader("guest", loader))
        loader.exec_module(guest)
        guest.qemu_program = lambda: "/q/qemu"
        guest.initramfs.kernel_image = lambda kernel: "/k"
        args = guest.parse_args(["--devices", "0", "--share", "/s,t", "--qmp", "/a,b/c,d"])
        fds = dict.fromkeys(("tty", "in", "out", "err", "ctl"), 3)
        cmd = guest.qemu_command(args, "/w", fds, "/l,m")
        self.assertIn("unix:/a,,b/c,,d,server=on,wait=off", cmd)
        self.assertIn("file,id=console,path=/l,,m", cmd)
        self.assertTrue(any(a.endswith("path=/s,,t") for a in cmd))


if __name__ == "__main__":
    unittest.main()
