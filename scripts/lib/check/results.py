# SPDX-License-Identifier: MIT
"""The count of results, what is printed of them, and the files of outputs."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import threading

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.join(ROOT, "build")
# For slow machines: every limit is that much longer, in the guest too.
TIMEOUT_FACTOR = float(os.environ.get("TESSERA_TIMEOUT_FACTOR") or 1)


class Results:
    """Counts, and prints each result once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.lines = []
        self.not_set_up = 0
        self.seconds = []

    def enough(self):
        """TESSERA_FAIL_FAST: whoever only asks whether something fails knows it now."""
        return bool(self.failed and os.environ.get("TESSERA_FAIL_FAST"))

    def took(self, seconds, name):
        """For the list of the slowest."""
        with self.lock:
            self.seconds.append((seconds, name))

    def slowest(self, count=10):
        return sorted(self.seconds, reverse=True)[:count]

    def add_missing(self, name, detail=()):
        """What could not be built or started says nothing about what it was to test."""
        self.add(False, name, detail)
        self.not_set_up += 1

    def exit_code(self):
        """125 if all that failed is what is missing: git bisect skips that."""
        if self.not_set_up and self.failed == self.not_set_up:
            return 125
        return 1 if self.failed else 0

    def add(self, ok, name, detail=()):
        with self.lock:
            self.lines.append("%s %s" % ("PASS" if ok else "FAIL", name))
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
            self.lines.append("SKIP %s: %s" % (name, why))
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
        else:
            self._remove_old()
        os.makedirs(self.folder, exist_ok=True)
        return lock

    def _remove_old(self):
        """What earlier runs left would be taken for this one's."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in os.listdir(BUILD):
            m = re.fullmatch(r"check-(\d+)", name)
            if m and not os.path.exists("/proc/" + m.group(1)):
                shutil.rmtree(os.path.join(BUILD, name), ignore_errors=True)

    def path(self, name):
        os.makedirs(self.folder, exist_ok=True)
        return os.path.join(self.folder, re.sub(r"[^A-Za-z0-9._-]+", "-", name) + ".log")

    def keep_results(self, results, whole):
        """results.txt: a line for each result, below one that says whether everything ran."""
        head = "# whole suite" if whole and not results.not_set_up else "# a part of the suite"
        path = os.path.join(self.folder, "results.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join([head] + results.lines) + "\n")
        return path

    def keep(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)


OUTPUTS = Outputs()


def run_program(cmd, timeout, env=None, cwd=ROOT):
    """(output, exit code); 124 when the time is over."""
    try:
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout * TIMEOUT_FACTOR,
                           check=False, cwd=cwd,
                           env=dict(os.environ, **(env or {})))
        return p.stdout.decode("utf-8", "replace"), p.returncode
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"").decode("utf-8", "replace"), 124
