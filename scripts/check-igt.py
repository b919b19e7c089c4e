#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run IGT's tests of display, sync objects and sharing in guests.

  scripts/check-igt.py IGT_DIR [NAME...]

IGT_DIR is a finished build of igt-gpu-tools, made on this machine: meson's build folder, or
what it installed with DESTDIR. A NAME takes the tests whose PROGRAM@SUBTEST has it inside.
Results are in build/igt/: summary.txt, and in runs/ a folder for each run of igt_runner, with what
it has written and the kernel logs of its guests.

igt_runner kills a test that takes too long. If a guest ends, another one goes on behind the test
that ran. Tests that need sw_sync, which stock kernels do not have, run on the debug kernel. The
exit code is 1 if a test failed, a guest died, or its kernel reported a problem; 125 if a test could
not be run.
"""

import argparse
import concurrent.futures
import os
import shlex
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import initramfs  # noqa: E402  pylint: disable=wrong-import-position
from igt import build, results, summary  # noqa: E402  pylint: disable=wrong-import-position

GUEST = os.path.join(initramfs.ROOT, "scripts", "guest")
FOLDER = os.path.join(initramfs.BUILD, "igt")
EXIT_SETUP = 125
# How scripts/guest ends when it is told to by SIGINT or SIGTERM.
ENDED = (130, 143)
# Tests in a guest, most and least: to start one costs more than most tests.
GUEST_TESTS = 96, 12
LIMITS = {"stock": 60, "debug": 180}
# Memory for a picture of 4096 x 2160 on each of four screens, and the next ones: of a segment three
# quarters can be shown. Screens that an emulated processor can keep up with: many a test has to draw
# and flip once in each frame.
DEVICE = ("outputs=4,xres=1024,yres=768,refresh_rate=30000,variable-refresh=on,vram-size=512M,"
          "strict=on")
# Of 40 bits, which is the default, a part is reserved, and the firmware puts large BARs there: Linux would find no room
# for a device that it has removed.
QEMU_ARGS = "-global max-x86_64-cpu.phys-bits=39"
# Each instruction takes so long, in powers of two of nanoseconds. While the guest is idle its clock follows the host's.
STEADY = "-icount shift=1"
# Then a second of the guest's is many of the host's. How many depends on what else runs, so only a guest
# without any progress counts as hung.
PATIENCE = 20
GUEST_SECONDS = 36000


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("igt_dir", metavar="IGT_DIR")
    p.add_argument("names", metavar="NAME", nargs="*")
    p.add_argument("--kernel", choices=("stock", "debug"), default="stock")
    p.add_argument("--device", default=DEVICE, help="properties; 'none' for no device")
    p.add_argument("--guest-args", default="", help="more for scripts/guest")
    p.add_argument("--qemu-args", default="", help="more for QEMU's command line")
    p.add_argument("--steady", action="store_true",
                   help="while the guest computes, its clock counts instructions: slow, but"
                        " independent of the load of this machine")
    p.add_argument("--output", metavar="DIR", default=FOLDER, help="where the results go (build/igt)")
    p.add_argument("--limit", type=int, default=None, help="seconds for each test (60; debug 180)")
    p.add_argument("--guests", type=int, default=os.cpu_count(), help="guests at a time")
    p.add_argument("--resume", action="store_true", help="run what has not passed or been skipped yet")
    p.add_argument("--list", action="store_true", help="name the tests and stop")
    args = p.parse_intermixed_args()
    return args


def limit(args, kernel):
    """Seconds for a test."""
    return (args.limit or LIMITS[kernel]) * int(os.environ.get("TESSERA_TIMEOUT_FACTOR") or 1)


class Guests:
    """The guests that run at the same time."""

    def __init__(self, args, runs, archive):
        self.args, self.runs, self.archive = args, runs, archive
        self.processes, self.stopped, self.problem = set(), False, ""
        # The kernel logs of guests that died, or whose kernel reported a problem.
        self.bad = []

    def command(self, name, kernel, log):
        args = self.args
        device = ["--devices", "0"] if args.device == "none" else ["--device", args.device]
        qemu = [QEMU_ARGS, args.qemu_args] + ([STEADY] if args.steady else [])
        patience = PATIENCE if args.steady else 1
        return ([GUEST, "--kernel", kernel, "--archive", self.archive, "--share", self.runs.path(name),
                 "--timeout", str(GUEST_SECONDS * patience), "--patience", str(patience),
                 "--memory", "2G", "--log", log, "--modules", "vgem", "--qemu-args", " ".join(qemu),
                 "--vcpu-threads", "single" if args.steady else "multi"] + device +
                shlex.split(args.guest_args) +
                ["--", "run-igt", "--per-test-timeout", str(limit(args, kernel))])

    def boot(self, name, kernel, log):
        """Run tests of a run in a guest; return whether it came to a good end."""
        began = False
        # Ctrl-C is for this program: a guest that ends by it would look like one that hung.
        with subprocess.Popen(self.command(name, kernel, log), stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, errors="replace",
                              start_new_session=True) as process:
            self.processes.add(process)
            if self.stopped:
                process.terminate()
            for line in process.stdout:
                began = True
                print("%s  %.120s" % (name, line.rstrip()), flush=True)
            code = process.wait()
            self.processes.remove(process)
        if self.stopped or code < 0 or code in ENDED:
            self.problem = self.problem or "the guest was ended by a signal"
        elif code == EXIT_SETUP or not began:
            self.problem = "the guest ended with code %d before any test" % code
        elif code:
            self.bad.append(log)
        return code == 0

    def run(self, tests, kernel):
        """Run the tests in a guest, and in others if it dies."""
        if self.stopped or self.problem:
            return
        name, left = self.runs.new(tests, kernel), tests
        # A guest that dies takes at least one test along.
        for number in range(len(tests)):
            good = self.boot(name, kernel, self.runs.path(name, "kernel-%d.log" % number))
            left = self.runs.read(name, tests)
            if good or not left or self.problem:
                break
        if not self.problem:
            self.runs.lose(left, kernel)

    def round(self, tests, kernel):
        """Run the tests, each to a result if there is no problem."""
        pool = concurrent.futures.ThreadPoolExecutor(self.args.guests)
        try:
            for future in concurrent.futures.as_completed(
                    [pool.submit(self.run, some, kernel) for some in share_out(tests)]):
                future.result()
        finally:
            self.stopped = sys.exc_info()[0] is not None
            if self.stopped:
                for process in list(self.processes):
                    process.terminate()
            pool.shutdown()


def share_out(tests):
    """A list of tests for each boot. The last ones are short, for their guest may be alone."""
    # The results of a test that suspends the guest's devices are lost if it dies.
    out = [[t] for t in tests if "suspend" in t or "hibernate" in t]
    rest, at = [t for t in tests if [t] not in out], 0
    while at < len(rest):
        size = max(GUEST_TESTS[1], min(GUEST_TESTS[0], (len(rest) - at) // 4))
        out.append(rest[at:at + size])
        at += size
    return out


def run(args, tests, found, tools):
    runs = results.Runs(os.path.join(args.output, "runs"), tools["igt_results"],
                        build.environment(args.igt_dir), args.resume)
    left = [t for t in tests if t not in runs.entries or summary.failed([runs.entries[t]])]
    print("-- %d tests of %d programs, %d to run" % (len(tests), len(found), len(left)), flush=True)
    archive = os.path.join(args.output, "igt.cpio")
    build.archive({**found, **tools}, args.igt_dir, archive)
    guests = Guests(args, runs, archive)
    guests.round(left, args.kernel)
    again = summary.for_debug(runs.entries[t] for t in tests if t in runs.entries)
    if again and not guests.problem:
        print("-- %d of them on the debug kernel, which has sw_sync" % len(again), flush=True)
        guests.round(again, "debug")
    return runs, guests


def main():
    args = parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The guests have sessions of their own, so the terminal does not tell them that it is gone.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    found = build.programs(args.igt_dir)
    if not found:
        sys.stderr.write("error: there is no built test of IGT below %s\n  what to do: give meson's build"
                         " folder of igt-gpu-tools, or what it installed\n" % args.igt_dir)
        return EXIT_SETUP
    tools = build.runner(args.igt_dir)
    if not tools:
        sys.stderr.write("error: igt_runner is not built below %s\n  what to do: install"
                         " libjson-c-dev, and build igt-gpu-tools again\n" % args.igt_dir)
        return EXIT_SETUP
    tests = build.tests(found, args.igt_dir)
    unknown = [name for name in args.names if not any(name in t for t in tests)]
    if unknown:
        sys.stderr.write("error: no test has this in its name: %s\n" % " ".join(unknown))
        return EXIT_SETUP
    tests = [t for t in tests if not args.names or any(name in t for name in args.names)]
    if args.list:
        print("\n".join(tests))
        return 0
    try:
        runs, guests = run(args, tests, found, tools)
    except (initramfs.GuestError, subprocess.CalledProcessError) as e:
        sys.stderr.write("error: %s\n" % e)
        return EXIT_SETUP
    entries = [runs.entries[t] for t in tests if t in runs.entries]
    text = "\n".join(summary.lines(entries, guests.bad))
    with open(os.path.join(args.output, "summary.txt"), "w", encoding="utf-8") as f:
        f.write(text + "\n")
    print("\n" + text)
    if guests.problem:
        sys.stderr.write("error: %s\n" % guests.problem)
        return EXIT_SETUP
    return 1 if summary.failed(entries) or guests.bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
