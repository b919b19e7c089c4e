# SPDX-License-Identifier: MIT
"""Runs of igt_runner in guests, and the result of each test.

A run is a folder, named by its number and kernel. tests.txt has its tests, igt_runner writes into
results/, and kernel-N.log is of its Nth guest. A later run of a test replaces an earlier result.
"""

import json
import os
import re
import shutil
import subprocess
import threading

from guest.log import find_problems

PASS, SKIP, FAIL, INCOMPLETE = "pass", "skip", "fail", "incomplete"
# IGT's library warned while the test passed.
WARN = "warn"
GOOD = (PASS, SKIP, WARN)

REASONS = (
    re.compile(r"Failed assertion: (.*)"),
    re.compile(r"Received signal (SIG\w+)"),
    re.compile(r"Test requirement: (.*)"),
    re.compile(r"Test abort in function \w+, file [^\n]*\n(?:abort condition: )?(.*)"),
    re.compile(r"CRITICAL: (.*)"),
)


def reason(text):
    """Why it failed or was skipped: the first that IGT says."""
    for pattern in REASONS:
        m = pattern.search(text)
        if m:
            return re.sub(r"0x[0-9a-f]{6,}", "0x…", m.group(1).strip())
    return ""


def said(folder, tests):
    """{test: {result, reason, kernel}} of the results.json of a run."""
    path = os.path.join(folder, "results", "results.json")
    if not os.path.exists(path):
        return {}
    # IGT copies what a program has printed.
    with open(path, encoding="utf-8", errors="replace") as f:
        known = json.load(f)["tests"]
    found = {}
    for test in tests:
        entry = known.get("igt@" + test.lower(), {})
        result = entry.get("result", "notrun")
        if result == "notrun":
            continue
        kernel = [line.partition(" ")[2] for line in entry.get("dmesg-warnings", "").splitlines()]
        kernel = [kernel[n] for n in find_problems(kernel, [])]
        if not kernel:
            # A message of this level may be of a slow machine ("hrtimer: interrupt took 131 ms").
            result = {"dmesg-warn": PASS, "dmesg-fail": FAIL}.get(result, result)
        why = reason(entry.get("out", "") + entry.get("err", "")) if result != PASS else ""
        found[test] = {"test": test, "result": result, "reason": why, "kernel": kernel}
    return found


class Runs:
    """All runs in a folder, and the result of each test so far."""

    def __init__(self, folder, tool, env, keep):
        self.folder, self.tool, self.env = folder, tool, env
        self.entries, self.lock = {}, threading.Lock()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, exist_ok=True)
        for name in sorted(os.listdir(folder)):
            with open(self.path(name, "tests.txt"), encoding="utf-8") as f:
                self.read(name, [line.strip().removeprefix("igt@") for line in f])

    def path(self, name, *more):
        return os.path.join(self.folder, name, *more)

    def new(self, tests, kernel):
        """Make the folder of another run, with the list of its tests; return its name."""
        with self.lock:
            name = "%04d-%s" % (len(os.listdir(self.folder)), kernel)
            os.mkdir(self.path(name))
        with open(self.path(name, "tests.txt"), "w", encoding="utf-8") as f:
            f.writelines("igt@%s\n" % test for test in tests)
        return name

    def read(self, name, tests):
        """Take the results of a run; return its tests without one."""
        subprocess.run([self.tool, self.path(name, "results")], env=self.env, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = said(self.path(name), tests)
        for test, entry in found.items():
            self.entries[test] = dict(entry, on=name.partition("-")[2])
        return [t for t in tests if t not in found]

    def lose(self, tests, kernel):
        """The results of these tests were lost with their guest."""
        for test in tests:
            self.entries[test] = {"test": test, "result": INCOMPLETE, "reason": "", "kernel": [],
                                  "on": kernel}
