# SPDX-License-Identifier: MIT
"""The count of results, what is printed of them, and the files of outputs."""

import fcntl
import os
import re
import subprocess
import sys
import threading

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.join(ROOT, "build")


class Results:
    """Counts, and prints each result once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def add(self, ok, name, detail=()):
        with self.lock:
            if ok:
                self.passed += 1
                print("PASS %s" % name, flush=True)
                return
            self.failed += 1
            self.failures.append(name)
            print("FAIL %s" % name)
            for line in detail:
                print("     | %s" % line)
            sys.stdout.flush()

    def skip(self, name, why):
        with self.lock:
            self.skipped += 1
            print("SKIP %s: %s" % (name, why), flush=True)


RESULTS = Results()


def say(text):
    with RESULTS.lock:
        print(text, flush=True)


class Outputs:
    """The folder with the whole output of each program."""

    def __init__(self):
        self.folder = os.path.join(BUILD, "check")

    def claim(self):
        """build/check, or a folder of its own while another run of the tests has that.

        Returns the file that holds the lock until the end.
        """
        os.makedirs(BUILD, exist_ok=True)
        lock = open(os.path.join(BUILD, "check.lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.folder = "%s-%d" % (self.folder, os.getpid())
            print("-- another run of the tests is going on: outputs in %s" %
                  os.path.relpath(self.folder, ROOT), flush=True)
        os.makedirs(self.folder, exist_ok=True)
        return lock

    def path(self, name):
        os.makedirs(self.folder, exist_ok=True)
        return os.path.join(self.folder, re.sub(r"[^A-Za-z0-9._-]+", "-", name) + ".log")

    def keep(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)


OUTPUTS = Outputs()


def run_program(cmd, timeout, env=None, cwd=ROOT):
    """(output, exit code); 124 when the time is over."""
    try:
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout, check=False, cwd=cwd,
                           env=dict(os.environ, **(env or {})))
        return p.stdout.decode("utf-8", "replace"), p.returncode
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"").decode("utf-8", "replace"), 124
