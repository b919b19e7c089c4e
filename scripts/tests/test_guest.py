#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/guest that need no guest."""

import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.realpath(__file__))
LIB = os.path.join(HERE, "..", "lib")
sys.path.insert(0, LIB)
import clock  # noqa: E402  pylint: disable=wrong-import-position
import initramfs  # noqa: E402  pylint: disable=wrong-import-position
# pylint: disable-next=wrong-import-position
from guest import job, log, options, qemu, relay, verdict, watch  # noqa: E402

FDS = {name: number for number, name in
       enumerate(("tty", "in", "out", "err", "ctl", "monitor", "port"), 10)}


class Options(unittest.TestCase):
    def devices(self, *argv):
        args = options.parse(argv)
        self.assertEqual(args.devices, len(args.device))
        return args.device

    def test_a_device_has_no_outputs_unless_asked(self):
        self.assertEqual(self.devices(), ["outputs=0"])
        self.assertEqual(self.devices("--device", "strict=on"), ["strict=on,outputs=0"])
        self.assertEqual(self.devices("--device", "outputs=2,strict=on"), ["outputs=2,strict=on"])

    def test_the_last_properties_are_those_of_more_devices(self):
        two = ("--device", "outputs=1", "--device", "outputs=2")
        self.assertEqual(self.devices(*two), ["outputs=1", "outputs=2"])
        self.assertEqual(self.devices(*two, "--devices", "4"),
                         ["outputs=1", "outputs=2", "outputs=2", "outputs=2"])
        self.assertEqual(self.devices(*two, "--devices", "1"), ["outputs=1"])
        self.assertEqual(self.devices("--devices", "0"), [])

    def test_the_command_is_not_parsed(self):
        args = options.parse(["--no-load", "--", "test-a", "--kernel", "--", "x"])
        self.assertEqual(args.command, ["test-a", "--kernel", "--", "x"])
        self.assertEqual(args.kernel, "stock")

    def test_an_abbreviation_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as e:
            options.parse(["--kern", "debug"])
        self.assertEqual(e.exception.code, 2)


class Job(unittest.TestCase):
    def files(self, *argv, interactive=False):
        found = job.files(options.parse(argv), interactive)
        return [found["etc/tessera/" + name][0].decode().splitlines()
                for name in ("job", "command")]

    def test_one_word_is_for_the_shell_and_several_are_arguments(self):
        self.assertEqual(self.files("--", "echo a | cat")[1], ["echo a | cat"])
        self.assertEqual(self.files("--", "echo", "a | cat")[1], ["echo 'a | cat'"])
        self.assertEqual(self.files()[1], ["exec sh"])

    def test_words_of_the_job(self):
        with mock.patch.dict(os.environ, {"TESSERA_SEED": "5"}):
            lines = self.files("--modules", "vgem,bochs", "--leak-check")[0]
        for line in ("LOAD=True", "LEAK_CHECK=True", "MODULES='vgem bochs'", "SHARE=''",
                     "export TESSERA_SEED=5", "export TESSERA_DEVICE=outputs=0"):
            self.assertIn(line, lines)

    def test_what_is_not_done(self):
        for argv, line in ((["--no-load"], "LOAD=''"), (["--devices", "0"], "LOAD=''"),
                           (["--leak-check", "--no-leak-check"], "LEAK_CHECK=''")):
            self.assertIn(line, self.files(*argv)[0])
        self.assertIn("LEAK_CHECK=''", self.files("--leak-check", interactive=True)[0])


class CommandLine(unittest.TestCase):
    def setUp(self):
        for patch in (mock.patch.object(qemu, "find_program", return_value="/q/qemu"),
                      mock.patch.object(qemu, "check_device"),
                      mock.patch.object(initramfs, "kernel_image", lambda kernel: "/k/" + kernel),
                      mock.patch.object(clock, "tsc_khz", return_value=1234567),
                      mock.patch.dict(os.environ, {"TESSERA_ACCEL": "tcg", "QEMU": ""})):
            patch.start()
            self.addCleanup(patch.stop)

    def command(self, *argv):
        return qemu.command(options.parse(argv), "/w", FDS, "/l/log")

    def values(self, option, *argv):
        cmd = self.command(*argv)
        return [value for word, value in zip(cmd, cmd[1:]) if word == option]

    def test_as_a_whole(self):
        """Nothing of the default machine gets in, and nothing gets lost."""
        firmware = os.path.join(initramfs.BUILD, "qemu", "share")
        port = "virtserialport,bus=channels.0,nr=%d,chardev=%s,name=%s"
        ports = []
        for number, name in enumerate(("in", "out", "err", "ctl"), 1):
            ports += ["-chardev", "socket,id=%s,fd=%d" % (name, 10 + number),
                      "-device", port % (number, name, name)]
        self.assertEqual(self.command("--device", "strict=on"), [
            "/q/qemu", "-L", firmware, "-M", "q35", "-nodefaults", "-no-user-config",
            "-display", "none", "-nic", "none", "-smp", "2", "-m", "1G", "-no-reboot",
            "-accel", "tcg,thread=multi", "-cpu", "max,-erms,-fsrm",
            "-d", "guest_errors", "-D", "/w/device.log",
            "-kernel", "/k/stock", "-initrd", "/w/initrd",
            "-append", "console=ttyS0 ignore_loglevel panic=-1 oops=panic rdinit=/init"
            " tsc=reliable no_timer_check random.trust_cpu=on no5lvl maxcpus=1 nowatchdog"
            " tsc_early_khz=1234567 ",
            "-chardev", "file,id=console,path=/l/log", "-serial", "chardev:console",
            "-chardev", "socket,id=tty,fd=10", "-serial", "chardev:tty",
            "-device", "virtio-serial-pci,id=channels,max_ports=8"] + ports + [
                "-device", "tessera,id=tessera0,strict=on,outputs=0"])

    def test_the_debug_kernel(self):
        self.assertEqual(self.values("-m", "--kernel", "debug"), ["2G"])
        self.assertEqual(self.values("-m", "--kernel", "debug", "--memory", "3G"), ["3G"])
        self.assertEqual(self.values("-kernel", "--kernel", "debug"), ["/k/debug"])
        append = self.values("-append", "--kernel", "debug", "--append", "x=1")[0].split()
        self.assertIn("kmemleak=on", append)
        self.assertNotIn("nowatchdog", append)
        self.assertEqual(append[-1], "x=1")

    def test_devices_come_behind_the_bus_that_they_name(self):
        cmd = self.command("--qemu-args", "-device 'pcie-root-port,id=a b'", "--devices", "2")
        self.assertEqual(cmd[-6:], ["-device", "pcie-root-port,id=a b",
                                    "-device", "tessera,id=tessera0,outputs=0",
                                    "-device", "tessera,id=tessera1,outputs=0"])

    def test_no_device(self):
        self.assertNotIn("tessera", " ".join(self.values("-device", "--devices", "0")))
        qemu.check_device.assert_not_called()

    def test_accelerators(self):
        def chosen(*argv, accel="tcg"):
            with mock.patch.dict(os.environ, {"TESSERA_ACCEL": accel}):
                return self.values("-accel", *argv) + self.values("-cpu", *argv)
        self.assertEqual(chosen("--vcpu-threads", "single"),
                         ["tcg,thread=single", "max,-erms,-fsrm"])
        self.assertEqual(chosen(accel="tcg,tb-size=9"), ["tcg,tb-size=9", "max,-erms,-fsrm"])
        self.assertEqual(chosen(accel="kvm"), ["kvm", "host"])

    def test_the_monitor_is_at_a_port_of_the_guest(self):
        self.assertEqual(self.values("-mon"), [])
        self.assertEqual(self.values("-mon", "--monitor", "guest"),
                         ["chardev=monitor,mode=control"])
        self.assertIn("socket,id=monitor,fd=15", self.values("-chardev", "--monitor", "guest"))
        self.assertIn("virtserialport,bus=channels.0,nr=5,chardev=port,name=monitor",
                      self.values("-device", "--monitor", "guest"))

    def test_a_comma_in_a_path(self):
        """QEMU takes a comma for the end of a value unless there are two."""
        args = options.parse(["--devices", "0", "--share", "/s,t", "--qmp", "/a,b/c,d"])
        cmd = qemu.command(args, "/w", FDS, "/l,m")
        self.assertIn("unix:/a,,b/c,,d,server=on,wait=off", cmd)
        self.assertIn("file,id=console,path=/l,,m", cmd)
        self.assertTrue(any(a.endswith("path=/s,,t") for a in cmd))


class Missing(unittest.TestCase):
    def test_a_program_that_is_not_there(self):
        with mock.patch.dict(os.environ, {"TESSERA_QEMU": "/nowhere/qemu"}):
            self.assertRaisesRegex(initramfs.GuestError, "make qemu", qemu.find_program)

    def test_the_selected_version(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(initramfs, "BUILD", folder), \
                mock.patch.dict(os.environ, {"TESSERA_QEMU": "", "QEMU": "11.1"}):
            self.assertRaisesRegex(initramfs.GuestError, "make qemu QEMU=11.1", qemu.find_program)
            path = os.path.join(folder, "qemu-11.1", "qemu-system-x86_64")
            os.mkdir(os.path.dirname(path))
            with open(path, "w", encoding="utf-8"):
                pass
            self.assertEqual(qemu.find_program(), path)

    def test_a_program_without_the_device(self):
        self.assertRaisesRegex(initramfs.GuestError, "no device 'tessera'",
                               qemu.check_device, "/bin/echo")


class Watching(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.console = os.path.join(self.folder.name, "console")
        self.device = os.path.join(self.folder.name, "device")
        self.watch = watch.Watch(self.console, self.device)

    def say(self, path, text):
        with open(path, "a", encoding="utf-8") as f:
            f.write(text)

    def left(self, what):
        """Seconds until a limit, as they were when it was set."""
        return round(self.watch.limits[what][0] - time.monotonic() - watch.TEST_GRACE)

    def later(self, seconds):
        return mock.patch.object(watch.time, "monotonic", return_value=time.monotonic() + seconds)

    def test_lines_that_come_in_pieces(self):
        follow = watch.Follow(self.console)
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
        with self.later(5 + watch.TEST_GRACE + 1):
            self.assertEqual(self.watch.overdue(), "test-a: x")
            self.say(self.console, "[ 2.0] tessera-test: end test-a: x\r\n")
            self.watch.look()
            self.assertIsNone(self.watch.overdue())
        self.assertEqual(self.watch.running, "")

    def test_a_test_without_a_limit_has_not_that_of_the_one_before(self):
        self.say(self.console, "tessera-test: begin t: a (limit 5 s)\ntessera-test: begin t: b\n")
        self.watch.look()
        self.assertEqual((self.watch.running, self.watch.limits), ("t: b", {}))

    def test_patience(self):
        self.say(self.console, "tessera-test: begin t: a (limit 5 s)\n")
        self.watch = watch.Watch(self.console, self.device, 20)
        self.watch.look()
        self.assertEqual(self.left("test"), 20 * 5)

    def test_a_boot_that_does_not_end(self):
        self.watch.boot("stock")
        self.assertIsNone(self.watch.overdue())
        with self.later(watch.BOOT_SECONDS["stock"] + watch.TEST_GRACE + 1):
            self.assertEqual(self.watch.overdue(), "the boot")
            self.watch.booted()
            self.assertIsNone(self.watch.overdue())

    def test_a_boot_on_a_slow_machine(self):
        with mock.patch.dict(os.environ, {"TESSERA_TIMEOUT_FACTOR": "2.5"}):
            self.watch.boot("debug")
        self.assertEqual(self.left("boot"), watch.BOOT_SECONDS["debug"] * 2.5)

    def test_a_program_that_does_not_end(self):
        self.watch.output("#@begin test-a 60")
        self.assertEqual(self.left("program"), 60)
        with self.later(60 + watch.TEST_GRACE + 1):
            self.assertEqual(self.watch.overdue(), "test-a")
        self.watch.output("#@end test-a 0")
        self.assertEqual(self.watch.limits, {})

    def test_other_output(self):
        for line in ("", "#@begin", "#@begin test-a", "#@begin test-a soon", "ok 1 #@begin a 60"):
            self.watch.output(line)
        self.assertEqual(self.watch.limits, {})

    def test_a_panic_that_is_complete(self):
        self.say(self.console, "[ 1.0] Kernel panic - not syncing: x\n")
        self.watch.look()
        self.assertFalse(self.watch.panicked)
        self.say(self.console, "[ 1.1] ---[ end Kernel panic - not syncing: x ]---\n")
        self.watch.look()
        self.assertTrue(self.watch.panicked)

    ERROR = ("tessera tessera0: error 32 engine 0x0 context 0x1 packet 0x00080010 at 0x28 slot 0x0"
             " addr 0x10\n")

    def test_an_error_has_the_test_that_runs(self):
        self.say(self.console, "tessera-test: begin t: a\n")
        self.watch.look()
        self.say(self.device, self.ERROR)
        self.watch.look()
        self.assertIn("during t: a", "\n".join(self.watch.referee.report()))

    def test_an_error_has_the_tests_that_may_have_done_it(self):
        self.say(self.console, "tessera-test: begin t: a\ntessera-test: end t: a\n"
                               "tessera-test: begin t: b\n")
        self.say(self.device, self.ERROR)
        self.watch.look()
        self.assertIn("during t: a or t: b", "\n".join(self.watch.referee.report()))


class Relaying(unittest.TestCase):
    """The guest's side of the sockets is this test."""

    def setUp(self):
        pairs = {name: socket.socketpair() for name in ("tty",) + qemu.PORTS}
        for ends in pairs.values():
            for end in ends:
                self.addCleanup(end.close)
        self.guest = {name: ends[1] for name, ends in pairs.items()}
        # A test that waits for bytes that never come fails.
        self.guest["in"].settimeout(10)
        self.watch = mock.Mock()
        with mock.patch.object(relay.sys, "stdin", None):
            self.relay = relay.Relay({name: ends[0] for name, ends in pairs.items()}, False,
                                     self.watch)
        self.addCleanup(self.relay.selector.close)

    def turn(self, port, data):
        self.guest[port].sendall(data)
        self.relay.turn(10)

    def test_what_the_init_script_reports(self):
        self.turn("ctl", b"start\nproblem a leak: 3\nex")
        self.watch.booted.assert_called_once_with()
        self.assertIsNotNone(self.relay.started)
        self.assertEqual((self.relay.problems, self.relay.exit_code), (["a leak: 3"], None))
        self.turn("ctl", b"it 7\n")
        self.assertEqual((self.relay.exit_code, self.relay.done), (7, False))
        self.turn("ctl", b"done\n")
        self.assertTrue(self.relay.done)

    def test_marks_in_the_output(self):
        with tempfile.TemporaryFile() as out, mock.patch.object(relay.sys, "stdout", out):
            self.turn("out", b"x #@no\n#@begin a ")
            self.turn("out", b"60\n\xff")
            out.seek(0)
            self.assertEqual(out.read(), b"x #@no\n#@begin a 60\n\xff")
        self.watch.output.assert_called_once_with("#@begin a 60")

    def test_the_rest_after_the_end(self):
        self.guest["ctl"].sendall(b"exit 3\ndone\n")
        self.relay.drain()
        self.assertEqual((self.relay.exit_code, self.relay.done), (3, True))

    def test_no_input_is_the_end_of_input(self):
        self.assertEqual(self.guest["in"].recv(10), b"")


class Log(unittest.TestCase):
    LINES = ["[    1.000000] tessera-test: begin t: a (limit 9 s)",
             "[    1.100000] tessera 0000:00:02.0: device error dma x1 while no driver had it",
             "[    1.200000] WARNING: CPU: 0 PID: 1 at x.c:1 f+0x0", "[    1.300000] quiet"]

    def test_problems(self):
        self.assertEqual(log.find_problems(self.LINES, []), [1, 2])
        self.assertEqual(log.find_problems(self.LINES, ["device error"]), [2])

    def test_words_that_are_problems_only_at_their_place(self):
        def problem(line):
            return bool(log.find_problems([line], []))
        for line in ("[    2.000000][  T123] BUG: KASAN: slab-out-of-bounds in f",
                     "Oops: 0000 [#1]", "unreferenced object 0xffff8881",
                     "[    2.000000] Kernel panic - not syncing: x",
                     "[    2.000000] INFO: task kworker/0:1 blocked for more than 120 seconds.",
                     "[    2.000000] kmemleak: 2 new suspected memory leaks",
                     "[    2.000000] DMA-API: tessera 0000:00:02.0: device driver frees memory"):
            self.assertTrue(problem(line), line)
        for line in ("[    2.000000] DMA-API: preallocated 65536 debug entries",
                     "[    2.000000] rcu: Hierarchical RCU implementation.",
                     "[    2.000000] debug: lockdep is on", "[    2.000000] no Oops here"):
            self.assertFalse(problem(line), line)

    def test_the_test_that_ran(self):
        self.assertEqual(log.running_at(self.LINES, 2), "t: a")
        ended = self.LINES[:1] + ["[    1.1] tessera-test: end t: a"] + self.LINES[1:]
        self.assertEqual(log.running_at(ended, 3), "")
        self.assertEqual(log.running_at(self.LINES, 0), "")

    def test_report(self):
        report = log.problem_report(self.LINES, [1, 2], "/l")
        self.assertEqual(report[:5], ["", "guest: the kernel reported 2 problems (log: /l)", "",
                                      "  during t: a:", "  | " + self.LINES[0]])
        # The second problem is among the lines of the first.
        self.assertEqual(report[5:], ["  > " + line for line in self.LINES[1:]])

    def test_a_long_log_has_its_tail_shown(self):
        lines = ["WARNING: x"] + ["line %d" % n for n in range(100)]
        report = log.problem_report(lines, [0], "/l")
        self.assertEqual(report.count("  > line 28"), 1)
        self.assertEqual(report[-11:],
                         ["  ... the log's tail:"] + ["  | " + line for line in lines[-10:]])


class Verdict(unittest.TestCase):
    WARNING = "[    1.200000] WARNING: CPU: 0 PID: 1 at x.c:1 f+0x0\n"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.relay = mock.Mock(exit_code=0, problems=[], started=2.0, done=True)
        self.relay.watch = watch.Watch("/nowhere", "/nowhere")

    def verdict(self, text="quiet\n", argv=(), timed_out=False, said="", code=0):
        """(exit code, lines of the report)"""
        path = os.path.join(self.folder.name, "log")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        outcome = verdict.Outcome(self.relay, timed_out, code, said, path, time.monotonic() - 7)
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = verdict.verdict(options.parse(argv), outcome)
        return code, err.getvalue()

    def test_the_commands_own_code(self):
        self.relay.exit_code = 3
        self.assertEqual(self.verdict(), (3, ""))

    def test_a_problem_outweighs_the_code(self):
        for self.relay.exit_code in (0, 3, None):
            code, said = self.verdict(self.WARNING)
            self.assertEqual(code, 90)
            self.assertIn("guest: the kernel reported 1 problem (log: ", said)
            self.assertIn("  > " + self.WARNING, said)

    def test_a_problem_that_is_expected(self):
        self.assertEqual(self.verdict(self.WARNING, ["--allow-log", r"WARNING: .* x\.c"]), (0, ""))

    def test_a_problem_that_the_init_script_found(self):
        self.relay.problems = ["the driver does not unload"]
        self.assertEqual(self.verdict(), (90, "guest: the driver does not unload\n"))

    def test_a_guest_that_died(self):
        self.relay.exit_code = None
        code, said = self.verdict("last words\n", code=1, said="qemu-system: no such device\n")
        self.assertEqual(code, 92)
        self.assertIn("qemu: qemu-system: no such device\n", said)
        self.assertIn("guest: died before the command ended (QEMU's exit code 1)\n", said)
        self.assertIn("  | last words\n", said)

    def test_the_time_is_over(self):
        for text in ("quiet\n", self.WARNING):
            code, said = self.verdict(text, timed_out=True,
                                      said="x: terminating on signal 15 from pid 1\n")
            self.assertEqual(code, 91)
            self.assertNotIn("signal 15", said)
            self.assertIn("guest: stopped after 7 s", said)
            self.assertEqual("the kernel reported 1 problem" in said, text == self.WARNING)

    def test_what_was_too_slow(self):
        self.assertEqual(verdict.unfinished(self.relay), "the command had ended, the guest had not")
        self.relay.exit_code = None
        self.assertEqual(verdict.unfinished(self.relay), "the command did not end")
        self.relay.started = None
        self.assertEqual(verdict.unfinished(self.relay), "before the command began")
        self.relay.watch.limits["boot"] = time.monotonic() - 1, "the boot"
        self.assertEqual(verdict.unfinished(self.relay), "the boot did not end")

    def test_a_panic_was_asked_for(self):
        argv = ["--panic-screen", "/x", "--allow-log", "Kernel panic"]
        self.assertEqual(self.verdict(argv=argv), (1, "guest: the kernel did not panic\n"))
        self.relay.watch.panicked = True
        self.assertEqual(self.verdict("[ 1.0] Kernel panic - not syncing: x\n", argv), (0, ""))

    def test_times(self):
        with mock.patch.dict(os.environ, {"TESSERA_GUEST_TIMES": "1"}):
            self.relay.started = time.monotonic() - 4
            code, said = self.verdict()
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^guest: 3\.\d s to the command, 7\.\d s in all,"
                               r" [\d.]+ s of the processors$")

    def test_errors_of_the_device(self):
        self.relay.watch.referee.line("tessera tessera0: error 32 was counted 2 times")
        code, said = self.verdict()
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^device: tessera0: error \w+ \(32\) x2\n$")


class Dying(unittest.TestCase):
    def test_a_child_goes_with_its_parent(self):
        parent = subprocess.Popen([sys.executable, "-c", """
import subprocess, sys, time
sys.path.insert(0, %r)
from guest import process
child = subprocess.Popen(["sleep", "600"], start_new_session=True,
                         preexec_fn=process.die_with_parent)
print(child.pid, flush=True)
time.sleep(600)
""" % LIB], stdout=subprocess.PIPE, text=True)
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
