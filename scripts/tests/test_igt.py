#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what check-igt makes of igt_runner's results, and of guests that end."""

import contextlib
import importlib.util
import io
import json
import os
import shutil
import stat
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from igt import build, results, summary  # noqa: E402  pylint: disable=wrong-import-position

SCRIPT = os.path.join(HERE, "..", "check-igt.py")
FAILED = """(kms_plane:12) CRITICAL: Test assertion failure function check, file ../tests/kms_plane.c:9:
(kms_plane:12) CRITICAL: Failed assertion: crc == 0x0123456789ab
"""
NEEDS = """Test requirement not met in function main, file ../tests/syncobj_basic.c:228:
Test requirement: has_syncobj(fd)
"""


def load_script():
    spec = importlib.util.spec_from_file_location("check_igt", SCRIPT)
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    return check


class Guest:
    """What a guest leaves in the folder that it shares."""

    def __init__(self, said, code=0, begins=True):
        self.said, self.code, self.begins = said, code, begins


class Rig(unittest.TestCase):
    def setUp(self):
        self.check = load_script()
        self.share_out, self.check.share_out = self.check.share_out, lambda tests: [tests]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def new_runs(self, keep=True):
        return results.Runs(os.path.join(self.folder, "runs"), "true", None, keep)

    def guests(self, runs, *guests):
        """Guests that come one after the other; `asked` gets the run of each."""
        found = self.check.Guests(unittest.mock.Mock(guests=1), runs, "")
        found.asked, left = [], list(guests)
        found.command = lambda name, _kernel, log: (name, log)

        def popen(command, **_more):
            name, log = command
            found.asked.append((name, os.path.basename(log)))
            guest = left.pop(0)
            if guest.said:
                os.makedirs(runs.path(name, "results"), exist_ok=True)
                with open(runs.path(name, "results", "results.json"), "w", encoding="utf-8") as f:
                    json.dump({"tests": {"igt@" + t: {"result": r} for t, r in guest.said.items()}}, f)
            process = unittest.mock.MagicMock(stdout=["[1/1] p\n"] if guest.begins else [])
            process.__enter__.return_value = process
            process.wait.return_value = guest.code
            return process
        patch = unittest.mock.patch.object(self.check, "subprocess", unittest.mock.Mock(Popen=popen))
        patch.start()
        self.addCleanup(patch.stop)
        return found

    def came_to(self, runs):
        return {test: e["result"] for test, e in sorted(runs.entries.items())}


class Rounds(Rig):
    def test_a_guest_goes_on_behind_one_that_died(self):
        runs = self.new_runs()
        guests = self.guests(runs, Guest({"p@a": "pass", "p@b": "incomplete", "p@c": "notrun"}, code=92),
                             Guest({"p@a": "pass", "p@b": "incomplete", "p@c": "pass"}))
        guests.round(["p@a", "p@b", "p@c"], "stock")
        self.assertEqual(guests.asked, [("0000-stock", "kernel-0.log"), ("0000-stock", "kernel-1.log")])
        self.assertEqual(guests.bad, [runs.path("0000-stock", "kernel-0.log")])
        self.assertEqual(self.came_to(runs), {"p@a": "pass", "p@b": "incomplete", "p@c": "pass"})

    def test_no_guest_for_nothing(self):
        runs = self.new_runs()
        guests = self.guests(runs, Guest({"p@a": "pass", "p@b": "pass"}, code=90))
        guests.round(["p@a", "p@b"], "stock")
        self.assertEqual((len(guests.asked), len(guests.bad)), (1, 1))

    def test_guests_that_die_with_their_results(self):
        runs = self.new_runs()
        guests = self.guests(runs, Guest({}, code=92), Guest({}, code=92))
        guests.round(["p@a", "p@b"], "debug")
        self.assertEqual(self.came_to(runs), {"p@a": "incomplete", "p@b": "incomplete"})
        self.assertEqual({e["on"] for e in runs.entries.values()}, {"debug"})

    def test_a_result_that_igt_runner_does_not_have(self):
        runs = self.new_runs()
        self.guests(runs, Guest({"p@a": "pass"})).round(["p@a", "p@b"], "stock")
        self.assertEqual(self.came_to(runs), {"p@a": "pass", "p@b": "incomplete"})

    def test_a_guest_that_was_ended_or_did_not_begin(self):
        for guest in (Guest({}, code=130), Guest({}, code=143), Guest({}, code=-9), Guest({}, code=125),
                      Guest({}, code=90, begins=False)):
            runs = self.new_runs(keep=False)
            guests = self.guests(runs, guest)
            guests.round(["p@a", "p@b"], "stock")
            self.assertTrue(guests.problem)
            self.assertEqual((runs.entries, len(guests.asked)), ({}, 1))

    def test_a_later_run_replaces_a_result(self):
        runs = self.new_runs()
        self.guests(runs, Guest({"p@a": "pass", "p@b": "incomplete"}, code=130)).round(
            ["p@a", "p@b", "p@c"], "stock")
        runs = self.new_runs()
        self.assertEqual(self.came_to(runs), {"p@a": "pass", "p@b": "incomplete"})
        self.guests(runs, Guest({"p@b": "pass", "p@c": "skip"})).round(["p@b", "p@c"], "debug")
        self.assertEqual(self.came_to(self.new_runs()), {"p@a": "pass", "p@b": "pass", "p@c": "skip"})
        self.assertEqual(runs.entries["p@b"]["on"], "debug")
        self.assertEqual(self.came_to(self.new_runs(keep=False)), {})

    def test_guests_that_suspend_have_one_test(self):
        tests = ["p@a", "p@b-suspend", "q@a"]
        self.assertEqual(self.share_out(tests)[0], ["p@b-suspend"])
        many = self.share_out(["p@%d" % n for n in range(1000)])
        self.assertEqual(sum(map(len, many)), 1000)
        self.assertLessEqual(max(map(len, many)), self.check.GUEST_TESTS[0])
        self.assertGreaterEqual(min(map(len, many[:-1])), self.check.GUEST_TESTS[1])

    def test_the_terminal_reaches_no_guest(self):
        guests = self.check.Guests(unittest.mock.Mock(guests=1), self.new_runs(), "")
        guests.command = lambda *_what: ["sh", "-c", "cut -d' ' -f1,6 /proc/$$/stat"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            guests.boot("0000-stock", "stock", "kernel-0.log")
        process, session = out.getvalue().split()[1:]
        self.assertEqual(session, process)

    def test_all_are_told_before_one_is_waited_for(self):
        guests = self.check.Guests(unittest.mock.Mock(guests=2), self.new_runs(), "")
        started, ended = [], []

        def run(tests, *_more):
            process = unittest.mock.Mock(terminate=lambda: ended.append(tests))
            guests.processes.add(process)
            started.append(tests)
            if len(started) == 2:
                raise KeyboardInterrupt
            while not ended:
                pass
        guests.run = run
        self.check.share_out = lambda tests: [[t] for t in tests]
        self.assertRaises(KeyboardInterrupt, guests.round, ["p@a", "p@b"], "stock")
        self.assertEqual(len(ended), 2)
        self.assertTrue(guests.stopped)

    def test_steady_is_patient(self):
        def option(steady, name):
            args = unittest.mock.Mock(steady=steady, device="none", qemu_args="", guest_args="", limit=60)
            command = self.check.Guests(args, self.new_runs(), "archive").command("0000-stock", "stock", "log")
            return float(command[command.index(name) + 1])
        self.assertEqual(option(False, "--patience"), 1)
        self.assertGreaterEqual(option(True, "--patience"), 10)
        self.assertGreaterEqual(option(True, "--timeout"), 10 * option(False, "--timeout"))


class Names(Rig):
    def main(self, *argv):
        with (unittest.mock.patch.object(sys, "argv", ["check-igt.py", self.folder, *argv]),
              unittest.mock.patch.object(self.check, "build") as built,
              contextlib.redirect_stderr(io.StringIO()) as err,
              contextlib.redirect_stdout(io.StringIO()) as out):
            built.tests.return_value = ["p@a", "p@b", "q@a"]
            return self.check.main(), out.getvalue(), err.getvalue()

    def test_tests_with_a_name_inside(self):
        self.assertEqual(self.main("--list", "@b", "q"), (0, "p@b\nq@a\n", ""))

    def test_a_name_that_no_test_has(self):
        code, _out, err = self.main("--list", "p@", "nothing")
        self.assertEqual(code, self.check.EXIT_SETUP)
        self.assertIn("nothing", err)


class Words(Rig):
    def said(self, tests, **entries):
        os.makedirs(os.path.join(self.folder, "results"), exist_ok=True)
        with open(os.path.join(self.folder, "results", "results.json"), "w", encoding="utf-8") as f:
            json.dump({"tests": {"igt@p@" + test: entry for test, entry in entries.items()}}, f)
        return results.said(self.folder, tests)

    def test_reasons(self):
        self.assertEqual(results.reason(FAILED), "crc == 0x…")
        self.assertEqual(results.reason(NEEDS), "has_syncobj(fd)")
        self.assertEqual(results.reason("Received signal SIGSEGV.\n" + NEEDS), "SIGSEGV")
        self.assertEqual(results.reason("Opened device: /dev/dri/card0\n"), "")

    def test_results(self):
        found = self.said(["p@A", "p@b", "p@c", "p@d"], a={"result": "pass", "out": FAILED}, c={"result": "notrun"},
                          b={"result": "dmesg-fail", "err": FAILED, "dmesg-warnings": "<3> [1.0] x\n<4> [2.0] BUG: y\n"})
        self.assertEqual(list(found), ["p@A", "p@b"])
        self.assertEqual(found["p@A"], {"test": "p@A", "result": "pass", "reason": "", "kernel": []})
        self.assertEqual(found["p@b"], {"test": "p@b", "result": "dmesg-fail", "reason": "crc == 0x…",
                                        "kernel": ["[2.0] BUG: y"]})

    def test_kernel_messages_that_are_no_problem(self):
        slow = {"dmesg-warnings": "<4> [53.0] hrtimer: interrupt took 131505710 ns\n"}
        found = self.said(["p@a", "p@b"], a=dict(slow, result="dmesg-warn"), b=dict(slow, result="dmesg-fail"))
        self.assertEqual([e["result"] for e in found.values()], ["pass", "fail"])

    def test_bytes_that_are_no_text(self):
        self.said(["p@a"], a={"result": "fail", "err": "MARK"})
        path = os.path.join(self.folder, "results", "results.json")
        with open(path, "rb") as f:
            text = f.read().replace(b"MARK", b"\xc0\x80")
        with open(path, "wb") as f:
            f.write(text)
        self.assertEqual(results.said(self.folder, ["p@a"])["p@a"]["result"], "fail")


class Tables(unittest.TestCase):
    def entry(self, test, result, **more):
        return dict({"test": test, "result": result, "reason": "", "kernel": [], "on": "stock"}, **more)

    def test_counts(self):
        results = [self.entry("p@a", "pass"), self.entry("p@b", "skip", reason="x"),
                   self.entry("q", "dmesg-warn", kernel=["<4> WARNING: x"])]
        text = "\n".join(summary.lines(results, ["folder/kernel-0.log"]))
        self.assertRegex(text, r"(?m)^program +pass +skip +dmesg-warn$")
        self.assertRegex(text, r"(?m)^p +1 +1 *$")
        self.assertRegex(text, r"(?m)^total of 3 +1 +1 +1 *$")
        self.assertRegex(text, r"(?m)^  dmesg-warn q\n    \| <4> WARNING: x$")
        self.assertIn("folder/kernel-0.log", text)

    def test_results_that_fail_a_run(self):
        good = [self.entry("a", "pass"), self.entry("b", "skip"), self.entry("b", "warn")]
        self.assertFalse(summary.failed(good))
        for bad in ("fail", "crash", "timeout", "incomplete", "abort", "dmesg-warn", "dmesg-fail"):
            self.assertTrue(summary.failed(good + [self.entry("c", bad)]))

    def test_tests_of_the_debug_kernel_only(self):
        needs = "kernel_has_sw_sync()"
        results = [self.entry("a@1", "skip", reason=needs), self.entry("a@2", "pass", reason=""),
                   self.entry("a@3", "skip", reason="pipes"), self.entry("a@4", "fail", reason=needs),
                   self.entry("a@5", "skip", reason=needs, on="debug")]
        self.assertEqual(summary.for_debug(results), ["a@1"])
        self.assertIn("1 of them on the debug kernel", summary.lines(results, []))


class Build(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.makedirs(os.path.join(self.folder.name, "tests", "kms_atomic.p"))
        os.makedirs(os.path.join(self.folder.name, "benchmarks"))

    def tearDown(self):
        self.folder.cleanup()

    def place(self, name):
        path = os.path.join(self.folder.name, "tests", name)
        shutil.copyfile("/bin/true", path)
        os.chmod(path, stat.S_IRWXU)

    def test_programs(self):
        for name in ("kms_atomic", "kms_chamelium_edid", "gem_basic", "syncobj_wait",
                     "kms_atomic.p/kms_atomic", "prime_nv_api", "kms_psr2_sf",
                     "../benchmarks/kms_atomic", "../benchmarks/prime_lookup"):
            self.place(name)
        with open(os.path.join(self.folder.name, "tests", "kms_script"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
            os.chmod(f.name, stat.S_IRWXU)
        found = build.programs(self.folder.name)
        self.assertEqual(list(found), ["kms_atomic", "syncobj_wait"])
        self.place("../igt_runner")
        self.assertEqual(list(build.runner(self.folder.name)), ["igt_runner"])
        self.assertEqual(found["kms_atomic"], os.path.join(self.folder.name, "tests", "kms_atomic"))


if __name__ == "__main__":
    unittest.main()
