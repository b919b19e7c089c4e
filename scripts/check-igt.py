#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run IGT's tests of display, sync objects and sharing in guests.

  scripts/check-igt.py IGT_DIR [NAME...]

IGT_DIR is a finished build of igt-gpu-tools, made on this machine: meson's build folder, or
what it installed with DESTDIR. A NAME takes the tests whose PROGRAM@SUBTEST has it inside.
Results are in build/igt/: summary.txt, results.jsonl, and in output/ what each test said that
did not pass.

A test that takes too long is killed; when it takes the guest along, the next guest goes on
behind it. What needs sw_sync, which stock kernels do not have, is run on the debug kernel. Each
result is kept at once: a run that was ended goes on with --resume. The exit code is 1 if a test
failed or the kernel reported a problem, 125 if nothing could be run.
"""

import argparse
import json
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import initramfs  # noqa: E402  pylint: disable=wrong-import-position
from guest.log import find_problems  # noqa: E402  pylint: disable=wrong-import-position
from guest.watch import Follow  # noqa: E402  pylint: disable=wrong-import-position
from igt import build, output, summary  # noqa: E402  pylint: disable=wrong-import-position

GUEST = os.path.join(initramfs.ROOT, "scripts", "guest")
FOLDER = os.path.join(initramfs.BUILD, "igt")
EXIT_SETUP = 125
# How scripts/guest ends when it is told to by SIGINT or SIGTERM.
ENDED = (130, 143)
# Subtests in a process, and processes in a guest: to start either costs more than most tests.
UNIT, BOOT_UNITS = 12, 8
LIMITS = {"stock": 60, "debug": 180}
# The kernel's lines about one test that are kept.
KERNEL_LINES = 40
# Memory for a picture of 4096 x 2160 on each of four screens, and the next ones: of a segment three
# quarters can be shown. Screens that an
# emulated processor can keep up with: many a test has to draw and flip once in each frame.
DEVICE = ("outputs=4,xres=1024,yres=768,refresh_rate=30000,variable-refresh=on,vram-size=512M,"
          "strict=on")
# Of 40 bits, which is the default, a part is reserved, and the firmware puts large BARs there: Linux would find no room
# for a device that it has removed.
QEMU_ARGS = "-global max-x86_64-cpu.phys-bits=39"
# Each instruction takes so long, in powers of two of nanoseconds. While the guest is idle its clock follows the host's.
STEADY = "-icount shift=1"
# Then a second of the guest's is many of the host's, and how many depends on what else runs: only who makes
# no progress at all is taken for hung.
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
    p.add_argument("--resume", action="store_true", help="go on behind what has a result already")
    p.add_argument("--again", action="store_true",
                   help="as --resume, but what had no good end is run once more")
    p.add_argument("--list", action="store_true", help="name the tests and stop")
    args = p.parse_intermixed_args()
    return args


def limit(args, kernel):
    """Seconds for a test."""
    return (args.limit or LIMITS[kernel]) * int(os.environ.get("TESSERA_TIMEOUT_FACTOR") or 1)


class Results:
    """What is known so far, in memory and, line by line, in a file."""

    def __init__(self, folder, resume):
        self.output = os.path.join(folder, "output")
        os.makedirs(self.output, exist_ok=True)
        self.path = os.path.join(folder, "results.jsonl")
        self.entries, self.lock = {}, threading.Lock()
        if resume and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as f:
                for line in f:
                    # The last line of a run that was killed may be half a line. Of a test the last one counts.
                    if line.endswith("\n"):
                        entry = json.loads(line)
                        self.entries[entry["test"]] = entry
        self.write()

    def forget_bad(self, tests):
        for test in tests:
            if test in self.entries and summary.failed([self.entries[test]]):
                del self.entries[test]

    def write(self):
        """The file anew: each test once."""
        with self.lock:
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                f.writelines(json.dumps(e) + "\n" for e in self.entries.values())
            os.replace(self.path + ".new", self.path)

    def keep(self, tests):
        """As they are now, behind what the file has."""
        with open(self.path, "a", encoding="utf-8") as f:
            f.writelines(json.dumps(self.entries[test]) + "\n" for test in tests)

    def add(self, test, kernel, result, text, seconds):
        entry = {"test": test, "on": kernel, "result": result, "reason": output.reason(text) if result != output.PASS
                 else "", "seconds": seconds, "dynamic": output.subtests(text)[1], "kernel": []}
        path = os.path.join(self.output, test.replace("/", "_") + ".txt")
        with self.lock:
            # What another kernel has said of it stays said.
            entry["kernel"] += self.entries.get(test, entry)["kernel"]
            self.entries[test] = entry
            self.keep([test])
            if result == output.PASS:
                if os.path.exists(path):
                    os.unlink(path)
            else:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text + "\n")
            print("%4d  %-8s %s%s" % (len(self.entries), result, test,
                                      "  (%s)" % entry["reason"] if entry["reason"] else ""), flush=True)

    def kernel(self, complaints):
        """Keep [(test, line of the kernel log)]; return those whose test has no result yet."""
        with self.lock:
            known = [c for c in complaints if c[0] in self.entries]
            for test, line in known:
                if len(self.entries[test]["kernel"]) < KERNEL_LINES:
                    self.entries[test]["kernel"].append(line)
            self.keep({test for test, _line in known})
            return [c for c in complaints if c[0] not in self.entries]


class Worker(threading.Thread):
    """Boots guests for chunks of tests until there are none."""

    def __init__(self, number, args, kernel, chunks, results, archive):
        super().__init__(daemon=True)
        self.args, self.kernel, self.chunks, self.results = args, kernel, chunks, results
        self.folder = os.path.join(args.output, "guest-%d" % number)
        self.archive, self.problem, self.process = archive, "", None
        self.told, self.stopped, self.ended = set(), False, threading.Event()
        # The kernel's, the test that it says to run, and what it has complained of during tests without a result.
        self.log, self.running, self.complaints = None, "", []
        os.makedirs(self.folder, exist_ok=True)

    def join(self, timeout=None):
        """Python 3.11's, when it is interrupted, takes the thread for one that has ended."""
        self.ended.wait(timeout)

    def run(self):
        try:
            self.boot_all()
        finally:
            self.ended.set()

    def boot_all(self):
        while not self.problem and not self.stopped:
            try:
                units = self.chunks.get_nowait()
            except queue.Empty:
                return
            while units and not self.problem and not self.stopped:
                units = self.boot(units)

    def command(self, log):
        args = self.args
        device = ["--devices", "0"] if args.device == "none" else ["--device", args.device]
        qemu = [QEMU_ARGS, args.qemu_args] + ([STEADY] if args.steady else [])
        patience = PATIENCE if args.steady else 1
        return ([GUEST, "--kernel", self.kernel, "--archive", self.archive,
                 "--timeout", str(GUEST_SECONDS * patience), "--patience", str(patience),
                 "--memory", "2G", "--log", log, "--modules", "vgem", "--qemu-args", " ".join(qemu),
                 "--vcpu-threads", "single" if args.steady else "multi"] + device +
                shlex.split(args.guest_args) + ["--", "run-igt"])

    def tell(self, units):
        """No shared folder: that would not survive that the guest's devices are suspended."""
        lines = [u.line(limit(self.args, self.kernel)) for u in units] + ["end"]
        try:
            self.process.stdin.write("\n".join(lines) + "\n")
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # It says why by itself.

    def boot(self, units):
        """Run the units in one guest; return those that are to run in another."""
        log = os.path.join(self.folder, "kernel.log")
        # Until it is the new guest's it would be read as such.
        if os.path.exists(log):
            os.unlink(log)
        self.log, self.running = Follow(log), ""
        blocks, left, again = output.Blocks(), list(units), []
        with open(os.path.join(self.folder, "guest.err"), "w", encoding="utf-8") as err:
            # Ctrl-C is for this program: who ends by it alone would look like one that hung.
            self.process = subprocess.Popen(self.command(log), stdout=subprocess.PIPE, stderr=err,
                                            stdin=subprocess.PIPE, text=True, errors="replace",
                                            start_new_session=True)
            if self.stopped:
                self.process.terminate()
            self.tell(units)
            for line in self.process.stdout:
                ended = blocks.line(line.rstrip("\r\n"))
                if ended:
                    again += self.take(left.pop(0), *ended)
                elif blocks.running and output.LINE.match(line):
                    self.tell_early(left[0].early(blocks.text()), blocks.text())
            code = self.process.wait()
        if self.stopped or code < 0 or code in ENDED:
            self.read_kernel_log()
            self.problem = "" if self.stopped else "the guest was ended by a signal"
            return []
        if code == EXIT_SETUP or (len(left) == len(units) and not blocks.running):
            with open(err.name, encoding="utf-8") as f:
                self.problem = f.read() or "the guest ended with code %d before any test" % code
            return []
        if blocks.running:
            again += self.take(left.pop(0), blocks.text(), None, 0)
        self.read_kernel_log()
        return left + again

    def take(self, unit, text, code, milliseconds):
        found, again = unit.results(text, code)
        self.tell_early(found, text, milliseconds / 1000)
        self.told.clear()
        return again

    def tell_early(self, found, text, seconds=0):
        """Each test of a unit once."""
        for test, said, words in found:
            if test not in self.told:
                took = output.seconds(test.partition("@")[2], text)
                self.results.add(test, self.kernel, said, words, seconds if took is None else took)
                self.told.add(test)
                self.read_kernel_log()

    def read_kernel_log(self):
        """Each problem that is new belongs to the test that ran."""
        lines = self.log.lines()
        found = set(find_problems(lines, []))
        for n, line in enumerate(lines):
            name = output.started(line)
            if name.partition("@")[0] == self.running:
                # What the program's own start has provoked is its first subtest's.
                self.complaints = [(name if test == self.running else test, said)
                                   for test, said in self.complaints]
            self.running = name or self.running
            if n in found and self.running:
                self.complaints.append((self.running, line))
        self.complaints = self.results.kernel(self.complaints)


def share_out(units):
    """A list of units for each boot; the last ones are short, for their guest may be alone."""
    at, out = 0, []
    while at < len(units):
        size = max(1, min(BOOT_UNITS, (len(units) - at) // 4))
        out.append(units[at:at + size])
        at += size
    return out


def run_on(kernel, args, tests, results, archive):
    """The tests, each at least tried; returns what keeps them from being run."""
    chunks = queue.Queue()
    for units in share_out(output.units(tests, UNIT)):
        chunks.put(units)
    workers = [Worker(n, args, kernel, chunks, results, archive) for n in range(args.guests)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        for worker in workers:
            # What it is ended in has no result.
            worker.stopped = True
            if worker.process and worker.process.poll() is None:
                worker.process.terminate()
        for worker in workers:
            if worker.is_alive():
                worker.join()
        results.write()
    return [w.problem for w in workers if w.problem]


def run(args, tests, found):
    results = Results(args.output, args.resume or args.again)
    if args.again:
        results.forget_bad(tests)
    left = [t for t in tests if t not in results.entries]
    print("-- %d tests of %d programs, %d to run" % (len(tests), len(found), len(left)), flush=True)
    archive = os.path.join(args.output, "igt.cpio")
    build.archive(found, args.igt_dir, archive)
    problems = run_on(args.kernel, args, left, results, archive)
    again = summary.for_debug(results.entries[t] for t in tests if t in results.entries)
    if again and not problems and args.kernel != "debug":
        print("-- %d of them on the debug kernel, which has sw_sync" % len(again), flush=True)
        problems = run_on("debug", args, again, results, archive)
    return results, problems


def main():
    args = parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The guests have sessions of their own: nobody else tells them that the terminal is gone.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    found = build.programs(args.igt_dir)
    if not found:
        sys.stderr.write("error: there is no built test of IGT below %s\n  what to do: give meson's build"
                         " folder of igt-gpu-tools, or what it installed\n" % args.igt_dir)
        return EXIT_SETUP
    tests = [t for t in build.tests(found, args.igt_dir)
             if not args.names or any(name in t for name in args.names)]
    if args.list or not tests:
        print("\n".join(tests) or "no test has one of these in its name: %s" % " ".join(args.names))
        return 0 if tests else EXIT_SETUP
    try:
        results, problems = run(args, tests, found)
    except (initramfs.GuestError, subprocess.CalledProcessError) as e:
        problems, results = [str(e)], None
    entries = [results.entries[t] for t in tests if t in results.entries] if results else []
    text = "\n".join(summary.lines(entries))
    with open(os.path.join(args.output, "summary.txt"), "w", encoding="utf-8") as f:
        f.write(text + "\n")
    print("\n" + text)
    if problems:
        sys.stderr.write("error: %s\n" % problems[0])
        return EXIT_SETUP
    return 1 if summary.failed(entries) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
