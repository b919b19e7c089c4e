# SPDX-License-Identifier: MIT
"""Time limits of a running guest, panics, and the errors that the device counts."""

import os
import time

import referee

from .log import MARK

# A guest that still works needs up to this many seconds to end a test whose
# time is over.
TEST_GRACE = 60
# From QEMU's start to the command. Many times what a boot needs, also beside
# other guests.
BOOT_SECONDS = {"stock": 60, "debug": 180}


class Follow:
    """The lines of a file that grows."""

    def __init__(self, path):
        self.path, self.at, self.rest = path, 0, ""

    def lines(self):
        """Return the complete lines that the file got since the last call."""
        try:
            with open(self.path, "rb") as f:
                f.seek(self.at)
                data = f.read()
        except OSError:
            return []
        self.at += len(data)
        *lines, self.rest = (self.rest + data.decode("utf-8", "replace")).split("\n")
        return [line.rstrip("\r") for line in lines]


class Watch:
    """The running test, its limits, and the device's errors meanwhile."""

    def __init__(self, console, device, patience=1):
        self.console, self.device, self.patience = Follow(console), Follow(device), patience
        self.referee = referee.Referee()
        self.running = ""
        self.panicked = False
        # {what: (end, name)}. "boot" is set by boot(), "program" by a line of
        # run-tests in the output, "test" by a mark in the kernel log.
        self.limits = {}

    def look(self):
        """Read the new lines of the kernel log and of the device's log."""
        # The two files do not tell the order of their lines.
        ran = [self.running]
        for line in self.console.lines():
            self.panicked |= "---[ end Kernel panic" in line
            m = MARK.search(line)
            if m:
                ran.append(m.group(2))
                self._mark(*m.groups())
        during = " or ".join(dict.fromkeys(filter(None, ran)))
        for line in self.device.lines():
            self.referee.line(line, during)

    def _mark(self, event, test, seconds):
        self.running = test if event == "begin" else ""
        self.limits.pop("test", None)
        if event == "begin" and seconds:
            self._limit("test", seconds, test)

    def boot(self, kernel):
        """The kernel starts: limit the time until the command begins."""
        factor = float(os.environ.get("TESSERA_TIMEOUT_FACTOR") or 1)
        self._limit("boot", BOOT_SECONDS[kernel] * factor, "the boot")

    def booted(self):
        """The command begins."""
        self.limits.pop("boot", None)

    def output(self, line):
        """A line of the command's output, which may be a mark of run-tests."""
        words = line.split()
        if words and words[0] == "#@begin" and len(words) == 3 and words[2].isdigit():
            self._limit("program", words[2], words[1])
        elif words and words[0] == "#@end":
            self.limits.clear()

    def _limit(self, what, seconds, name):
        self.limits[what] = time.monotonic() + int(seconds) * self.patience + TEST_GRACE, name

    def overdue(self):
        """Return the name of a boot, program or test whose time is over."""
        return next((name for end, name in self.limits.values() if time.monotonic() > end), None)
