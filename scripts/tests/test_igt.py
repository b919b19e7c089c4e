#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what check-igt makes of IGT's words, and of the guest's around them."""

import contextlib
import importlib.util
import io
import os
import shutil
import stat
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from igt import build, output, summary  # noqa: E402  pylint: disable=wrong-import-position

HEAD = "IGT-Version: 2.0-NO-GIT (x86_64) (Linux: 6.12 x86_64)\nOpened device: /dev/dri/card0\n"
DYNAMIC = HEAD + """Starting subtest: pixel-format
Starting dynamic subtest: pipe-A-plane-0
\x1b[1mDynamic subtest pipe-A-plane-0: SUCCESS (1.250s)\x1b[0m
Starting dynamic subtest: pipe-B-plane-0
\x1b[1mDynamic subtest pipe-B-plane-0: FAIL (0.250s)\x1b[0m
(kms_plane:12) CRITICAL: Test assertion failure function check, file ../tests/kms_plane.c:9:
(kms_plane:12) CRITICAL: Failed assertion: crc == 0x0123456789ab
\x1b[1mSubtest pixel-format: FAIL (1.500s)\x1b[0m
"""
NEEDS = """Test requirement not met in function main, file ../tests/syncobj_basic.c:228:
Test requirement: has_syncobj(fd)
"""


SCRIPT = os.path.join(HERE, "..", "check-igt.py")


def load_script():
    spec = importlib.util.spec_from_file_location("check_igt", SCRIPT)
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    return check


class Rig(unittest.TestCase):
    def setUp(self):
        self.check = load_script()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def results(self, resume=False):
        return self.check.Results(self.folder.name, resume)

    def new_worker(self, results):
        return self.check.Worker(0, unittest.mock.Mock(output=self.folder.name), "stock", None, results, "")

    def worker(self, results, lines, units, stop=False, code=0, worker=None):
        """A guest that says these lines, those with a time stamp in its kernel's log, and is stopped then or ends."""
        worker = worker or self.new_worker(results)

        def said():
            for line in lines:
                if line.startswith("[ "):
                    with open(os.path.join(worker.folder, "kernel.log"), "a", encoding="utf-8") as f:
                        f.write(line)
                else:
                    yield line
            worker.stopped = stop
        process = unittest.mock.Mock(stdout=said())
        process.wait.return_value = code
        worker.command = lambda log: []
        worker.tell = lambda units: None
        with unittest.mock.patch.object(self.check.subprocess, "Popen", return_value=process):
            return worker.boot(units)


class Kept(Rig):
    def test_each_result_at_once(self):
        lines = ["#@igt begin\n", HEAD, "Subtest a: SUCCESS (2.5s)\n"]
        seen = []
        results = self.results()
        results.add = lambda *args: seen.append(args)
        left = self.worker(results, lines + ["Starting subtest: b\n"], output.units(["p@a", "p@b"], 2), True)
        self.assertEqual([s[0:3:2] + s[4:] for s in seen], [("p@a", "pass", 2.5)])
        self.assertEqual(left, [])

    def test_once_each(self):
        lines = ["#@igt begin\n", "Subtest a: SUCCESS (2.5s)\n", "Subtest b: FAIL (1.0s)\n", "#@igt end 98 4000\n"]
        seen = []
        results = self.results()
        results.add = lambda *args: seen.append(args[0:3:2])
        self.worker(results, lines, output.units(["p@a", "p@b"], 2))
        self.assertEqual(seen, [("p@a", "pass"), ("p@b", "fail")])

    def test_a_stopped_test_has_no_result(self):
        lines = ["#@igt begin\n", "Starting subtest: a\n"]
        for stop, known in ((True, []), (False, ["p@a"])):
            results = self.results()
            self.worker(results, lines, output.units(["p@a"], 2), stop)
            self.assertEqual(list(results.entries), known)

    def test_again(self):
        results = self.results()
        for name, said in (("a", "pass"), ("b", "fail"), ("c", "skip"), ("d", "pass")):
            results.add("p@" + name, "stock", said, "", 1)
        results.kernel([("p@d", "WARNING: d")])
        results = self.results(True)
        results.forget_bad(["p@a", "p@c", "p@d"])
        self.assertEqual(list(results.entries), ["p@a", "p@b", "p@c"])

    def test_messages_of_another_kernel(self):
        results = self.results()
        results.add("syncobj@a", "stock", "skip", NEEDS, 1)
        results.kernel([("syncobj@a", "WARNING: on stock")])
        results.add("syncobj@a", "debug", "pass", "", 1)
        results.kernel([("syncobj@a", "WARNING: on debug")])
        entry = results.entries["syncobj@a"]
        self.assertEqual((entry["on"], entry["result"]), ("debug", "pass"))
        self.assertEqual(entry["kernel"], ["WARNING: on stock", "WARNING: on debug"])
        self.assertTrue(summary.failed([entry]))

    STARTED = "[ 1.0] [IGT] p: starting subtest %s\n"
    WARNING = "[ 2.0] WARNING: CPU: 0 PID: 1 at x.c:%d f+0x0\n"

    def complaints(self):
        """What a run that goes on from the file knows."""
        return {test: len(e["kernel"]) for test, e in self.results(True).entries.items()}

    def test_a_killed_test_keeps_its_kernel_messages(self):
        results = self.results()
        lines = ["#@igt begin\n", self.STARTED % "a", self.WARNING % 1, "Subtest a: SUCCESS (2.5s)\n",
                 self.STARTED % "b", self.WARNING % 2, self.WARNING % 3]

        def said():
            yield from lines
            seen.append(self.complaints())
            yield "Subtest b: SUCCESS (1.0s)\n"
            seen.append(self.complaints())
        seen = []
        self.worker(results, said(), output.units(["p@a", "p@b", "p@c"], 3), True)
        self.assertEqual(seen, [{"p@a": 1}, {"p@a": 1, "p@b": 2}])

    def test_output_after_the_result(self):
        self.worker(self.results(), ["#@igt begin\n", self.STARTED % "a", "Subtest a: SUCCESS (2.5s)\n",
                                     "#@igt end 0 1\n", self.WARNING % 1], output.units(["p@a"], 1))
        self.assertEqual(self.complaints(), {"p@a": 1})

    def test_a_test_that_ends_the_guest_and_passes_alone(self):
        results = self.results()
        worker = self.new_worker(results)
        left = self.worker(results, ["#@igt begin\n", self.STARTED % "a", self.WARNING % 1],
                           output.units(["p@a", "p@b"], 2), worker=worker)
        self.worker(results, ["#@igt begin\n", self.STARTED % "a", "Subtest a: SUCCESS (2.5s)\n", "#@igt end 0 1\n"],
                    left[:1], worker=worker)
        self.assertEqual(self.complaints(), {"p@a": 1})

    def test_before_the_first_subtest(self):
        self.worker(self.results(), ["#@igt begin\n", "[ 0.1] [IGT] p: executing\n", self.WARNING % 1, self.STARTED % "a",
                                     "Subtest a: SUCCESS (2.5s)\n", self.STARTED % "b", "Subtest b: SUCCESS (2.5s)\n",
                                     "#@igt end 0 1\n"], output.units(["p@a", "p@b"], 2))
        self.assertEqual(self.complaints(), {"p@a": 1, "p@b": 0})

    def test_the_last_guests_log_is_none_of_the_next_ones(self):
        results = self.results()
        worker = self.new_worker(results)
        self.worker(results, ["#@igt begin\n", self.STARTED % "a", self.WARNING % 1, "Subtest a: SUCCESS (2.5s)\n",
                              "#@igt end 0 1\n"], output.units(["p@a"], 1), worker=worker)
        self.worker(results, [], output.units(["p@b"], 1), True, worker=worker)
        self.assertEqual(self.complaints(), {"p@a": 1})

    def test_the_file_is_there_at_any_time(self):
        results = self.results()
        for test in ("p@a", "p@b"):
            results.add(test, "stock", "pass", "", 1)
        with unittest.mock.patch.object(self.check.json, "dumps", side_effect=["{}", KeyboardInterrupt]):
            self.assertRaises(KeyboardInterrupt, results.write)
        self.assertEqual(list(self.results(True).entries), ["p@a", "p@b"])


class Ending(Rig):
    """Who ends a run has not found a hang."""

    def test_all_are_told_before_one_is_waited_for(self):
        workers = []

        class Worker:
            def __init__(self, *_args):
                self.stopped, self.problem, self.process, self.joined = False, "", unittest.mock.Mock(), False
                self.process.poll.return_value = None
                workers.append(self)

            def start(self):
                pass

            def is_alive(self):
                return not self.joined

            def join(self):
                if not any(w.stopped for w in workers):
                    raise KeyboardInterrupt
                seen.append([w.stopped and w.process.terminate.call_count for w in workers])
                self.joined = True
        seen = []
        args = unittest.mock.Mock(guests=3)
        with unittest.mock.patch.object(self.check, "Worker", Worker):
            self.assertRaises(KeyboardInterrupt, self.check.run_on, "stock", args, ["p@a"], self.results(), "")
        self.assertEqual(seen, [[1, 1, 1]] * 3)

    def test_the_terminal_reaches_no_guest(self):
        worker = self.new_worker(self.results())
        worker.args.limit = 1
        worker.command = lambda log: ["sh", "-c", "cat >/dev/null; echo '#@igt begin'; "
                                      "cut -d' ' -f1,6 /proc/$$/stat; echo '#@igt end 1 0'"]
        said = []
        worker.results.add = lambda *args: said.append(args[3])
        worker.boot(output.units(["p@a"], 1))
        worker.process.stdout.close()
        process, session = said[0].split()
        self.assertEqual(session, process)

    def test_a_guest_that_was_ended(self):
        for code in (130, 143, -9):
            results = self.results()
            worker = self.new_worker(results)
            left = self.worker(results, ["#@igt begin\n", "Starting subtest: a\n"], output.units(["p@a", "p@b"], 1),
                               code=code, worker=worker)
            self.assertEqual((results.entries, left), ({}, []))
            self.assertIn("ended", worker.problem)

    def test_steady_is_patient(self):
        def option(steady, name):
            worker = self.new_worker(None)
            worker.args = unittest.mock.Mock(steady=steady, device="none", qemu_args="", guest_args="")
            command = worker.command("log")
            return float(command[command.index(name) + 1])
        self.assertEqual(option(False, "--patience"), 1)
        self.assertGreaterEqual(option(True, "--patience"), 10)
        self.assertGreaterEqual(option(True, "--timeout"), 10 * option(False, "--timeout"))


class Words(unittest.TestCase):
    def test_subtests_and_dynamic_ones(self):
        found, dynamic = output.subtests(DYNAMIC)
        self.assertEqual(found, {"pixel-format": "fail"})
        self.assertEqual(dynamic, {"pixel-format/pipe-A-plane-0": "pass",
                                   "pixel-format/pipe-B-plane-0": "fail"})

    def test_plain_output(self):
        found, _dynamic = output.subtests("Subtest a: SUCCESS (0.1s)\nSubtest b-c_d: SKIP (0.000s)\n")
        self.assertEqual(found, {"a": "pass", "b-c_d": "skip"})

    def test_a_line_that_only_mentions_a_result(self):
        self.assertEqual(output.subtests("xSubtest a: SUCCESS (0.1s)\nSubtest b: SUCCESS\n")[0], {})

    def test_reasons(self):
        self.assertEqual(output.reason(DYNAMIC), "crc == 0x…")
        self.assertEqual(output.reason(NEEDS), "has_syncobj(fd)")
        self.assertEqual(output.reason("Received signal SIGSEGV.\n" + NEEDS), "SIGSEGV")
        self.assertEqual(output.reason(HEAD), "")

    def test_words_and_exit_code_must_agree(self):
        good = "Subtest a: SUCCESS (0.1s)\n"
        self.assertEqual(output.result("a", good, 0), "pass")
        self.assertEqual(output.result("a", good, 98), "fail")
        self.assertEqual(output.result("b", good, 0), "fail")
        self.assertEqual(output.result("a", "", 0), "fail")
        self.assertEqual(output.result("a", "Subtest a: SKIP (0.0s)\n", 77), "skip")
        self.assertEqual(output.result("a", NEEDS, 77), "skip")
        self.assertEqual(output.result("a", good, 77), "fail")

    def test_ends_of_processes(self):
        for code in (124, 137, 143):
            self.assertEqual(output.result("a", "Subtest a: SUCCESS (0.1s)\n", code), "timeout")
        self.assertEqual(output.result("a", "", 128 + 11), "crash")
        self.assertEqual(output.result("a", "Subtest a: CRASH (0.1s)\n", 112), "crash")

    def test_a_program_without_subtests(self):
        self.assertEqual(output.result("", HEAD + "SUCCESS (0.010s)\n", 0), "pass")
        self.assertEqual(output.result("", HEAD + "SKIP (0.000s)\n", 77), "skip")
        self.assertEqual(output.result("", HEAD, 0), "fail")
        self.assertEqual(output.result("", HEAD + "FAIL (0.010s)\n", 98), "fail")

    def test_marks_in_the_kernel_log(self):
        self.assertEqual(output.started("[  3.1] [IGT] kms_atomic: executing"), "kms_atomic")
        self.assertEqual(output.started("[  3.1] [IGT] kms_atomic: starting subtest plane-x"),
                         "kms_atomic@plane-x")
        self.assertEqual(output.started("[  3.1] [IGT] kms_atomic: exiting, ret=0"), "")


class Units(unittest.TestCase):
    def test_tests_of_a_program_share_a_process(self):
        units = output.units(["p@a", "p@b", "p@c", "core_x", "q@a"], 2)
        self.assertEqual([u.line(60) for u in units],
                         ["60 p a,b", "60 p c", "60 core_x", "60 q a"])

    def test_all_of_them_said_something(self):
        found, again = output.Unit("p", ["a", "b"]).results(
            HEAD + "Subtest a: SUCCESS (1.0s)\nFailed assertion: 1\nSubtest b: FAIL (0.1s)\n", 98)
        self.assertEqual([f[:2] for f in found], [("p@a", "pass"), ("p@b", "fail")])
        self.assertNotIn("assertion", found[0][2])
        self.assertIn("assertion", found[1][2])
        self.assertEqual(again, [])

    def test_a_requirement_of_all_is_the_reason_of_each(self):
        found, _again = output.Unit("p", ["a", "b"]).results(
            HEAD + NEEDS + "Subtest a: SKIP (0.000s)\nSubtest b: SKIP (0.000s)\n", 77)
        self.assertEqual([output.reason(f[2]) for f in found], ["has_syncobj(fd)"] * 2)

    def test_a_requirement_of_some(self):
        found, _again = output.Unit("p", ["a", "b", "c", "d"]).results(
            HEAD + "Subtest a: SUCCESS (0.1s)\n" + NEEDS + "Subtest b: SKIP (0.000s)\nSubtest c: SKIP (0.000s)\n"
            "Starting subtest: d\nnothing to do\nSubtest d: SKIP (0.000s)\n", 77)
        self.assertEqual([output.reason(f[2]) for f in found], ["", "has_syncobj(fd)", "has_syncobj(fd)", ""])

    def test_output_of_the_first_is_no_reason_of_others(self):
        for first in ("Subtest a: SUCCESS (0.5s)\n", "Failed assertion: x\nSubtest a: FAIL (0.5s)\n"):
            found, _again = output.Unit("p", ["a", "b"]).results(
                HEAD + first + "nothing to do\nSubtest b: SKIP (0.000s)\n", 98)
            self.assertEqual(output.reason(found[1][2]), "")
            self.assertIn("nothing to do", found[1][2])

    def test_a_bad_end_is_judged_alone(self):
        for code in (139, 137, None):
            unit = output.Unit("p", ["a", "b", "c", "d"])
            found, again = unit.results(HEAD + "Subtest a: SUCCESS (1.0s)\nStarting subtest: b\n", code)
            self.assertEqual([f[:2] for f in found], [("p@a", "pass")])
            self.assertEqual([u.tests() for u in again], [["p@b"], ["p@c", "p@d"]])

    def test_alone_there_is_always_a_result(self):
        for code, said in ((139, "crash"), (137, "timeout"), (None, "hang"), (0, "fail")):
            found, again = output.Unit("p", ["a"]).results("", code)
            self.assertEqual((found, again), ([("p@a", said, "")], []))
        found, again = output.Unit("core_x").results("", None)
        self.assertEqual((found, again), ([("core_x", "hang", "")], []))


class Output(unittest.TestCase):
    def test_blocks(self):
        blocks = output.Blocks()
        lines = ["noise", "#@igt end 0 1", "#@igt begin", "one", "two", "#@igt end 98 1500", "noise"]
        self.assertEqual([b for b in map(blocks.line, lines) if b], [("one\ntwo", 98, 1500)])
        self.assertFalse(blocks.running)

    def test_a_guest_that_dies_leaves_the_words(self):
        blocks = output.Blocks()
        for line in ("#@igt begin", "Starting subtest: a"):
            blocks.line(line)
        self.assertTrue(blocks.running)
        self.assertEqual(blocks.text(), "Starting subtest: a")


class Tables(unittest.TestCase):
    def entry(self, test, result, **more):
        return dict({"test": test, "result": result, "reason": "", "kernel": []}, **more)

    def test_counts(self):
        results = [self.entry("p@a", "pass"), self.entry("p@b", "skip", reason="x"),
                   self.entry("q", "hang")]
        text = "\n".join(summary.lines(results))
        self.assertRegex(text, r"(?m)^p +1 +1 *$")
        self.assertRegex(text, r"(?m)^total of 3 +1 +1 +1 *$")
        self.assertRegex(text, r"(?m)^  hang +q$")

    def test_results_that_fail_a_run(self):
        good = [self.entry("a", "pass"), self.entry("b", "skip")]
        self.assertFalse(summary.failed(good))
        for bad in ("fail", "crash", "timeout", "hang"):
            self.assertTrue(summary.failed(good + [self.entry("c", bad)]))
        self.assertTrue(summary.failed(good + [self.entry("c", "pass", kernel=["WARNING: x"])]))

    def test_tests_of_the_debug_kernel_only(self):
        needs = "kernel_has_sw_sync()"
        results = [self.entry("a@1", "skip", reason=needs), self.entry("a@2", "pass", reason=""),
                   self.entry("a@3", "skip", reason="pipes"), self.entry("a@4", "fail", reason=needs),
                   self.entry("a@5", "skip", reason=needs, on="debug")]
        self.assertEqual(summary.for_debug(results), ["a@1"])
        self.assertIn("1 of them on the debug kernel", summary.lines(results))


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
        self.assertEqual(found["kms_atomic"], os.path.join(self.folder.name, "tests", "kms_atomic"))


if __name__ == "__main__":
    unittest.main()
