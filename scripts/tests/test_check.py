#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the parsers of scripts/check.py."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
# pylint: disable=wrong-import-position
import referee  # noqa: E402
import mutants  # noqa: E402
from check import args, guests, results, selection, tap, tiers, times  # noqa: E402


class Tap(unittest.TestCase):
    def test_results_and_details(self):
        results, plan, skips = tap.parse_tap(
            "TAP version 13\n1..3\n# before one\nok 1 - one\n"
            "#   t.c:7: x is 1, not 2\nnot ok 2 - two\n# after two\nok 3 - three\n")
        self.assertEqual(plan, 3)
        self.assertEqual([(ok, name) for ok, name, _d in results],
                         [(True, "one"), (False, "two"), (True, "three")])
        self.assertEqual(results[1][2], ["#   t.c:7: x is 1, not 2", "# after two"])
        self.assertEqual(skips, [])

    def test_skip_with_its_reason(self):
        results, _plan, skips = tap.parse_tap("ok 1 - one # SKIP no such segment\n")
        self.assertEqual(results, [])
        self.assertEqual(skips, [("one", "no such segment")])

    def test_skipped_program(self):
        self.assertEqual(tap.parse_tap("1..0 # no device\n"), ([], 0, [("", "no device")]))

    def test_times_are_not_names(self):
        text = "ok 1 - SEG-8 shares # 73 ms\nnot ok 2 - bad # 4000 ms\nok 3 - off # SKIP 7 ms\n"
        results, _plan, skips = tap.parse_tap(text)
        self.assertEqual([name for _ok, name, _d in results], ["SEG-8 shares", "bad"])
        self.assertEqual(skips, [("off", "7 ms")])
        self.assertEqual(tap.durations(text), [(0.073, "SEG-8 shares"), (4.0, "bad")])

    def test_todo_is_no_failure(self):
        results, _plan, skips = tap.parse_tap("not ok 1 - later # TODO unwritten\n")
        self.assertEqual((results, skips), ([], [("later", "TODO unwritten")]))

    def test_names_with_a_number_in_front(self):
        results, _plan, _skips = tap.parse_tap("ok 12 SEG-8 shares\nok - bare\nokay, no result\n")
        self.assertEqual([name for _ok, name, _d in results], ["SEG-8 shares", "bare"])


class Kunit(unittest.TestCase):
    TEXT = """KTAP version 1
1..1
    KTAP version 1
    # Subtest: tessera_split
    1..2
        # Subtest: test_params
        ok 1 row a
        not ok 2 row b
    # test_params: EXPECTATION FAILED at kunit/split/plan_kunit.c:12
    not ok 1 test_params
    ok 2 test_more
    ok 3 - test_other # SKIP not here
not ok 1 tessera_split
not ok 0 /lib/modules/a.ko cannot be loaded
"""

    def test_cases_not_parameters(self):
        results, skips = tap.parse_kunit(self.TEXT)
        self.assertEqual([(ok, name) for ok, name, _d in results],
                         [(False, "tessera_split: test_params"),
                          (True, "tessera_split: test_more"),
                          (False, "/lib/modules/a.ko cannot be loaded")])
        self.assertIn("# test_params: EXPECTATION FAILED at kunit/split/plan_kunit.c:12",
                      results[0][2])
        self.assertEqual(skips, [("tessera_split: test_other", "not here")])


class Marks(unittest.TestCase):
    def test_programs_of_a_boot(self):
        found = tap.split_output("noise\n#@begin test-a 60\nok 1 - x\n\n#@end test-a 0\n"
                                 "#@begin test-b\nok 1 - y\n\n#@end test-b 137\n"
                                 "#@begin test-c\nok 1 - z\n")
        self.assertEqual(found["test-a"], ("ok 1 - x\n\n", 0))
        self.assertEqual(found["test-b"][1], 137)
        self.assertEqual(found["test-c"], ("ok 1 - z\n", None))


class Selection(unittest.TestCase):
    def test_tiers(self):
        def wanted(*names):
            return selection.wanted_tiers(list(names))
        self.assertEqual(wanted(), (list(selection.USUAL), []))
        self.assertEqual(wanted("lint"), (["lint"], []))
        self.assertEqual(wanted("test-split"), (["guest-stock", "guest-debug"], []))
        self.assertEqual(wanted("guest-debug/test-split"), (["guest-debug"], []))
        self.assertEqual(wanted("tessera-cmd-test"), (["qtest"], []))
        self.assertEqual(wanted("check-layers"), (["lint"], []))
        self.assertEqual(wanted("tsan/stress"), (["tsan"], []))
        self.assertEqual(wanted("tessera_split"), (["kunit"], []))

    def test_names_that_nothing_has(self):
        self.assertEqual(selection.wanted_tiers(["test-splti", "lint", "lint/nothing"]),
                         (["lint"], ["test-splti", "lint/nothing"]))

    def test_chosen(self):
        self.assertTrue(selection.chosen([], "test-split", "guest-stock"))
        self.assertTrue(selection.chosen(["test-sp"], "test-split", "guest-stock"))
        self.assertTrue(selection.chosen(["guest-stock/test-split"], "test-split", "guest-stock"))
        self.assertFalse(selection.chosen(["guest-debug/test-split"], "test-split", "guest-stock"))
        self.assertFalse(selection.chosen(["test-page"], "test-split", "guest-stock"))


class Counting(unittest.TestCase):
    def count(self, *calls):
        counted = results.Results()
        with contextlib.redirect_stdout(io.StringIO()):
            for call, args in calls:
                getattr(counted, call)(*args)
        return counted

    def test_exit_code(self):
        good, bad = ("add", (True, "a")), ("add", (False, "b"))
        missing = ("add_missing", ("build/c",))
        self.assertEqual(self.count(good).exit_code(), 0)
        self.assertEqual(self.count(good, bad).exit_code(), 1)
        self.assertEqual(self.count(missing).exit_code(), 125)
        self.assertEqual(self.count(good, missing).exit_code(), 125)
        self.assertEqual(self.count(bad, missing).exit_code(), 1)

    def report(self, text, code):
        counted = results.Results()
        saved, tap.RESULTS = tap.RESULTS, counted
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                tap.report("x", text, code)
        finally:
            tap.RESULTS = saved
        return counted

    def test_output_and_exit_code_must_agree(self):
        self.assertEqual(self.report("1..1\nok 1 - a\n", 0).failures, [])
        self.assertEqual(self.report("1..1\nok 1 - a\n", 3).failures, ["x: exit code 3"])
        self.assertEqual(self.report("1..2\nok 1 - a\n", 0).failures, ["x: 1 of 2 results"])
        self.assertEqual(self.report("1..0\n", 0).failures, ["x: selects nothing"])
        self.assertEqual(self.report("", 0).failures, ["x: reported no result"])
        self.assertEqual(self.report("1..1\nnot ok 1 - a\n", 1).failures, ["x: a"])
        self.assertEqual(self.report("1..1\n", 124).failures, ["x: ended by the time limit"])


class Culprits(unittest.TestCase):
    def test_a_leak_is_its_allocator_s(self):
        run = guests.GuestRun("", "guest: kmemleak: 3 objects leaked\n"
                              "guest:   1 allocated during test-a: x\n"
                              "guest:   2 allocated during test-b: y\n", 90, "/nonexistent")
        self.assertEqual(guests.culprits(run), ["test-a: x", "test-b: y"])

    def test_a_warning_is_the_running_test_s(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("[ 1.0] tessera-test: begin test-a: x\r\n"
                      "[ 2.0] tessera-test: begin test-a: y (limit 60 s)\r\n"
                      "[ 3.0] WARNING: bad\r\n"
                      "[ 4.0] tessera-test: begin test-b: z\r\n")
            log.flush()
            run = guests.GuestRun("", "  | before\n  > [ 3.0] WARNING: bad\n", 90, log.name)
            self.assertEqual(guests.culprits(run), ["test-a: y"])

    def test_first_words_of_a_problem(self):
        err = ("guest: the kernel reported 1 problem (log: x)\n"
               "  | [   51.1] tessera-test: begin test-a: y\n"
               "  > [   52.1][  T12] BUG: kernel NULL pointer dereference\n"
               "  > [   52.2][  T12] RIP: 0010:tessera_x+0x1/0x2 [tessera]\n"
               "  > [   52.3][  T12] RIP: 0010:other+0x1/0x2\n")
        self.assertEqual(guests.first_words(err), ": BUG: kernel NULL pointer dereference"
                         ": RIP: 0010:tessera_x+0x1/0x2 [tessera]")
        self.assertEqual(guests.first_words("guest: stopped after 3 s\n"), "")


class Args(unittest.TestCase):
    """The .args files of a folder of test programs."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def place(self, name, text=""):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def find(self, name):
        found = args.find_args(name, self.folder.name)
        return {key: value for key, value in found.items() if value != args.DEFAULTS[key]}

    def wrong(self, text):
        path = self.place("test-a.args", text)
        with self.assertRaises(SystemExit) as caught:
            args.read(path)
        return str(caught.exception).replace(path, "FILE")

    def test_a_program(self):
        self.place("test-a.args", "# words: more\n\ndevice: a=1,b=2:3\nkernel: debug\n")
        self.assertEqual(self.find("test-a"), {"device": "a=1,b=2:3", "kernel": "debug"})
        self.assertEqual(self.find("test-a.sh"), self.find("test-a"))
        self.assertEqual(self.find("test-b"), {})
        self.assertEqual(args.find_args("test-b", self.folder.name)["device"], "strict=on")

    def test_a_variant_overrides_the_program(self):
        path = self.place("test-a.args", "device: a=1,b=2\nkernel: debug\ntimeout: 9\nvariant: x\n"
                          "device: c=3\nvariant: y-z\nkernel:\ntimeout: 8\n")
        self.assertEqual(self.find("test-a"), {"device": "a=1,b=2", "kernel": "debug", "timeout": "9"})
        self.assertEqual(self.find("test-a-x"), {"device": "c=3", "kernel": "debug", "timeout": "9"})
        # nothing of the variant above it; an empty value is the default
        self.assertEqual(self.find("test-a-y-z"), {"device": "a=1,b=2", "timeout": "8"})
        self.assertEqual(args.variant_names(path), {"test-a-x", "test-a-y-z"})

    def test_properties_changed_and_added(self):
        self.place("test-a.args", "device: a=1,b=2\nvariant: x\ndevice: +b=3,c=4\n"
                   "variant: y\ndevice: +d=5\n")
        self.assertEqual(self.find("test-a-x"), {"device": "a=1,b=3,c=4"})
        self.assertEqual(self.find("test-a-y"), {"device": "a=1,b=2,d=5"})
        self.place("test-b.args", "variant: x\ndevice: +a=1\n")
        self.assertEqual(self.find("test-b-x"), {"device": "strict=on,a=1"})

    def test_the_longest_program_has_the_variant(self):
        self.place("test-a.args", "variant: x\nmemory: 1G\n")
        self.place("test-a-b.args", "variant: x\nmemory: 2G\n")
        self.assertEqual(self.find("test-a-x"), {"memory": "1G"})
        self.assertEqual(self.find("test-a-b-x"), {"memory": "2G"})
        self.assertEqual(self.find("test-a-c-x"), {})

    def test_mistakes(self):
        self.assertIn("FILE:2: unknown word 'devise'", self.wrong("kernel: stock\ndevise: a=1\n"))
        self.assertEqual(self.wrong("kernel: stock\nkernel: debug\n"),
                         "FILE:2: 'kernel' is given twice")
        self.assertEqual(self.wrong("device: +a=1\n"),
                         "FILE:1: only a variant can change the properties of the device")
        self.assertEqual(self.wrong("variant: x\nvariant: x\n"), "FILE:2: there are two variants 'x'")
        for name in ("", "X", "a b", "-a"):
            self.assertEqual(self.wrong("variant: %s\n" % name),
                             "FILE:1: '%s' is no name for a variant" % name)
        self.place("test-a-x.c")
        self.assertEqual(self.wrong("variant: x\n"),
                         "FILE: the variant 'x' has the name of another program")

    def test_variants_can_be_chosen_before_they_are_built(self):
        os.makedirs(os.path.join(self.folder.name, "tests", "guest"))
        self.place("tests/guest/test-a.args", "variant: x\n")
        known = selection.programs(self.folder.name, self.folder.name)
        self.assertEqual(known["guest-stock"], {"test-a", "test-a-x"})
        self.assertEqual(selection.wanted_tiers(["test-a-x"], known),
                         (["guest-stock", "guest-debug"], []))


class Boots(unittest.TestCase):
    class Test:
        def __init__(self, seconds, modules=""):
            self.length = seconds
            self.name = "test-%d" % seconds
            self.args = {"devices": "1", "panic": "", **dict.fromkeys(guests.GUEST_OPTIONS, ""),
                         "modules": modules}

        def seconds(self, _kernel):
            return self.length

    def test_shared_out_evenly(self):
        groups = [("a", [self.Test(100)]), ("b", [self.Test(600)]), ("c", [self.Test(500)])]
        self.assertEqual([[g[0] for g in boot] for boot in guests.share_out("debug", groups, 2)],
                         [["b"], ["c", "a"]])
        self.assertEqual(len(guests.share_out("debug", groups, 1)), 1)
        self.assertEqual(guests.share_out("debug", [], 2), [])
        # so fast that it took no time
        self.assertEqual(len(guests.share_out("debug", [("a", [self.Test(0)])], 2)), 1)
        # no bus has slots for more
        many = [(str(i), [self.Test(1)]) for i in range(2 * guests.MOST_DEVICES + 1)]
        boots = guests.share_out("debug", many, 1)
        self.assertEqual(len(boots), 3)
        self.assertLessEqual(max(map(len, boots)), guests.MOST_DEVICES)
        self.assertEqual(sum(map(len, boots)), len(many))
        # not worth a second boot
        self.assertEqual(len(guests.share_out("debug", groups[:1], 2)), 1)

    def test_left_to_a_long_run(self):
        test = guests.GuestTest("test-reset")
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("TESSERA_LONG", None)
            self.assertTrue(test.is_left("debug", []))
            self.assertTrue(test.is_left("debug", ["guest-debug"]))
            self.assertFalse(test.is_left("stock", []))
            self.assertFalse(test.is_left("debug", ["test-reset"]))
            os.environ["TESSERA_LONG"] = "1"
            self.assertFalse(test.is_left("debug", []))

    def test_each_panic_is_a_boot_with_its_options(self):
        tests = [self.Test(1), self.Test(2)]
        for test in tests:
            test.args.update(panic="screen", memory="1G")
            test.limit = lambda _kernel: 60
        good = guests.GuestRun("", "", 0, "")
        with unittest.mock.patch.object(guests, "guest", return_value=good) as guest, \
             unittest.mock.patch.object(guests, "RESULTS"), \
             unittest.mock.patch.object(guests, "OUTPUTS", folder="x"), \
             unittest.mock.patch.object(guests, "say"):
            guests.run_boot("debug", 3, [("a=1", tests)])
        self.assertEqual([call.args[1] for call in guest.call_args_list],
                         ["guest-debug-3", "guest-debug-3b"])
        self.assertEqual([call.args[3] for call in guest.call_args_list], ["test-1", "test-2"])
        for call in guest.call_args_list:
            self.assertIn("--memory=1G", call.args[4])
            self.assertIn("--device=a=1", call.args[4])
            self.assertNotIn("--leak-check", call.args[4])

    def test_a_panic_is_alone(self):
        test = self.Test(1)
        self.assertTrue(guests.may_share([test]))
        test.args["panic"] = "screen"
        self.assertFalse(guests.may_share([test]))

    def test_a_program_that_loads_the_driver_is_alone(self):
        test = self.Test(1)
        for name, may in (("test-unplug", True), ("test-unload", False)):
            test.name = name
            self.assertEqual(guests.may_share([test]), may)

    def test_modules_of_all_that_share(self):
        boot = [("a", [self.Test(1, "vgem")]), ("b", [self.Test(2)]), ("c", [self.Test(3, "x")])]
        self.assertTrue(all(guests.may_share(tests) for _device, tests in boot))
        options, _command = guests.boot_command(boot, {"test-%d" % n: 9 for n in (1, 2, 3)})
        self.assertIn("--modules=vgem,x", options)

    def test_order_in_a_boot(self):
        groups = [("bus=rp2", [self.Test(9)]), ("bus=rp1,a=b", [self.Test(8)])]
        boot, = guests.share_out("debug", groups, 1)
        self.assertEqual([device for device, _tests in boot], ["bus=rp1,a=b", "bus=rp2"])


class Qtests(unittest.TestCase):
    PROGRAM = """#!/bin/sh
case $ASAN_OPTIONS in
*malloc=0*) by=caller ;;
*) by=g_malloc ;;
esac
printf '%s\\n' 'ok 1 /a' '==7==ERROR: LeakSanitizer: leaks' " #0 in $by" 'SUMMARY: 9 bytes' 'ok 2 /b'
exit "$LEAKS"
"""

    def run_one(self, name, leaks):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "qemu", name)
            os.mkdir(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.PROGRAM)
            os.chmod(path, 0o755)
            with unittest.mock.patch.multiple(tiers, BUILD=folder, OUTPUTS=unittest.mock.DEFAULT,
                                              report=unittest.mock.DEFAULT) as mocks, \
                    unittest.mock.patch.dict(os.environ, LEAKS=leaks, QEMU=""):
                mocks["OUTPUTS"].folder = folder
                tiers.run_qtests([], "qtest-asan", "asan", tiers.asan_environment)
                _prefix, text, code = mocks["report"].call_args.args
        return text, code

    def test_a_leaking_program_is_reported(self):
        text, code = self.run_one("tessera-a-test", "1")
        self.assertEqual(code, 1)
        self.assertIn("g_malloc", text)
        self.assertIn("#0 in caller", text)
        # no result counts twice
        self.assertEqual(text.count("ok 1"), 1)
        self.assertEqual(text.count("ok 2"), 1)

    def test_no_second_run(self):
        self.assertNotIn("caller", self.run_one("tessera-a-test", "0")[0])
        # QEMU leaks there: its suppressions need the callers
        self.assertNotIn("g_malloc", self.run_one("tessera-unplug-test", "1")[0])


class Times(unittest.TestCase):
    def test_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "times.json")
            one, other = times.Times(path), times.Times(path)
            self.assertEqual(one.get("a", 7), 7)
            one.put("a", 1.5)
            one.save()
            other.put("b", 2)
            other.save()
            again = times.Times(path)
            self.assertEqual((again.get("a", 7), again.get("b", 7)), (1.5, 2))
            with open(path, "w", encoding="utf-8") as f:
                f.write("[1")
            self.assertEqual(times.Times(path).get("a", 7), 7)


class Mutants(unittest.TestCase):
    def test_stages(self):
        self.assertEqual(mutants.stages_of(["drivers/gpu/drm/tessera/pure/pte.c"]),
                         ["lib", "kunit", "guest-stock", "guest-debug"])
        self.assertEqual(mutants.stages_of(["qemu-device/tessera_cmd.c", "userspace/x.c"]),
                         ["lib", "qtest", "guest-stock"])

    def test_verdict(self):
        self.assertEqual(mutants.verdict("PASS a\n", 0), (False, False, []))
        self.assertEqual(mutants.verdict("FAIL a: b\n     | # x is 1\n", 1),
                         (True, False, ["a: b"]))
        self.assertTrue(mutants.verdict(
            "FAIL a\n     | #   device error STRICT_FREED (32) x1; first: packet=0x0\n", 1)[1])
        # an error that the test provokes itself explains nothing
        self.assertFalse(mutants.verdict(
            "FAIL a\n     | #   device error STRICT_FREED (32) x1, expected; first: p\n", 1)[1])
        self.assertTrue(mutants.verdict("FAIL build/module\n", 125)[1])
        # what cmocka calls an error says that a test failed, not why
        self.assertFalse(mutants.verdict("FAIL a\n     | x.c:54: error: Failure!\n", 1)[1])
        self.assertTrue(mutants.verdict("FAIL a\n     | x.c:5:4: warning: bad\n", 1)[1])

    def test_table(self):
        text = mutants.table([("a", "named", "x", 1), ("b", "survived", "", 1),
                              ("c", "caught", "y", 1), ("d", "unusable", "", 1)])
        self.assertIn("3 mutants: 2 caught (67 %), 1 of them named, 1 survived, 1 unusable", text)


class Referee(unittest.TestCase):
    NAMES = ({6: "SLOT_BOUNDS", 32: "STRICT_FREED"}, {0x10: "FILL"})
    ERROR = ("tessera tessera0: error 32 engine 0x0 context 0xa packet 0x00080010 at 0x28"
             " slot 0x3 addr 0xb0000000")

    def test_named_with_its_first_record(self):
        r = referee.Referee(self.NAMES)
        r.line(self.ERROR, "test-split: SPLIT-4 x")
        r.line(self.ERROR.replace("addr 0xb", "addr 0xc"), "another")
        r.line("something else")
        r.line("tessera tessera0: error 32 was counted 7 times")
        self.assertEqual(r.report(), [
            "tessera0: error STRICT_FREED (32) x7",
            "  first: packet 0x00080010 (FILL) at 0x28, engine 0, context 10, slot 3,"
            " address 0xb0000000, during test-split: SPLIT-4 x"])

    def test_killed_before_it_could_tell_how_many(self):
        r = referee.Referee(self.NAMES)
        r.line(self.ERROR.replace("engine 0x0", "engine 0xffffffff")
               .replace("slot 0x3", "slot 0xffffffff"))
        self.assertEqual(r.report(), ["tessera0: error STRICT_FREED (32) x1 or more",
                                      "  first: packet 0x00080010, address 0xb0000000"])

    def test_the_header_has_the_names(self):
        errors, packets = referee.read_names()
        self.assertEqual(errors[6], "SLOT_BOUNDS")
        self.assertEqual(packets[0x81], "IB_CALL")


if __name__ == "__main__":
    unittest.main()
