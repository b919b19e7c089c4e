#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the test tiers and count.

  scripts/check.py [TIER|TEST ...]

Tiers: lint lib qtest kunit guest-stock guest-debug. A TEST is the name (or part
of it) of a test program or lint script. Without arguments: everything. Several runs
at once in one checkout keep their outputs apart.

Each result is a line `PASS tier/program: name` or `FAIL ...`; a program's whole
output is in build/check/. The last line is `N passed, N failed`.
"""

import concurrent.futures
import fcntl
import glob
import os
import re
import subprocess
import sys
import threading
import time
import traceback

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.join(ROOT, "build")
OUT = os.path.join(BUILD, "check")
TIERS = ("lint", "lib", "qtest", "kunit", "guest-stock", "guest-debug")

# Everything built, by tier; see Builds.
NEEDS = {
    "lint": ("kernel-stock", "kernel-debug"),
    "lib": ("userspace",),
    "qtest": ("qemu",),
    "kunit": ("qemu", "kernel-debug", "module-debug"),
    "guest-stock": ("qemu", "kernel-stock", "module", "guest-tests"),
    "guest-debug": ("qemu", "kernel-debug", "module-debug", "guest-tests"),
}
LINTERS = ("check-style.sh", "check-layers.py", "check-uapi.sh")
# A test under the debug kernel takes longer.
DEBUG_FACTOR = 4
DEFAULT_TIMEOUT = 60

TAP = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:-\s*)?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*(.*))?")


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


def parse_tap(text):
    """([(ok, name, detail)], plan or None, [skips]) of one program's output."""
    results, skips, plan, notes = [], [], None, []
    for line in text.split("\n"):
        m = TAP.match(line)
        if m:
            ok, name = m.group(1) is None, m.group(3).strip()
            name, _, directive = name.partition(" # ")
            if re.match(r"skip", directive, re.I):
                skips.append((name, directive[4:].strip()))
            elif re.match(r"todo", directive, re.I):
                skips.append((name, directive))
            else:
                results.append((ok, name, notes[-25:]))
            notes = []
            continue
        m = PLAN.match(line)
        if m:
            plan = int(m.group(1))
            if plan == 0 and m.group(2):
                skips.append(("", m.group(2)))
        elif line.startswith("#") and results and not results[-1][0] and not notes:
            # What a program says right after a failure belongs to it.
            results[-1][2].append(line)
        elif line.strip() and not line.startswith("TAP version"):
            notes.append(line)
    return results, plan, skips


def report(prefix, text, code):
    """Count one program's results: its TAP and its exit code must agree."""
    results, plan, skips = parse_tap(text)
    for name, why in skips:
        RESULTS.skip(": ".join(filter(None, (prefix, name))), why)
    for ok, name, detail in results:
        RESULTS.add(ok, "%s: %s" % (prefix, name), detail)
    tail = [line for line in text.strip().split("\n")[-25:] if line]
    bad = any(not ok for ok, _n, _d in results)
    if code in (124, 137, 143):
        RESULTS.add(False, "%s: ended by the time limit" % prefix, tail)
    elif code != 0 and not bad:
        RESULTS.add(False, "%s: exit code %d" % (prefix, code), tail)
    elif not results and not skips:
        RESULTS.add(False, "%s: reported no result" % prefix, tail)
    elif plan and "\n1.." not in text.lstrip("\n")[4:] and plan != len(results) + len(skips):
        RESULTS.add(False, "%s: %d of %d results" % (prefix, len(results) + len(skips), plan), tail)


def keep(name, text):
    path = os.path.join(OUT, re.sub(r"[^A-Za-z0-9._-]+", "-", name) + ".log")
    os.makedirs(OUT, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def run_program(cmd, timeout, env=None, cwd=ROOT):
    """(output, exit code); 124 when the time is over."""
    try:
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout, check=False, cwd=cwd,
                           env=dict(os.environ, **(env or {})))
        return p.stdout.decode("utf-8", "replace"), p.returncode
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"").decode("utf-8", "replace"), 124


class Builds:
    """Builds each thing once; the debug kernel beside the others."""

    def __init__(self):
        self.state = {}
        self.background = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(1)

    def start_background(self, target):
        self.background[target] = self.pool.submit(run_program, ["make", "-s", target], 5400)

    def get(self, target):
        if target in self.state:
            return self.state[target]
        sys.stdout.flush()
        if target in self.background:
            future = self.background[target]
            if not future.done():
                print("-- wait for the build of %s" % target, flush=True)
            text, code = future.result()
            print(text, end="", flush=True)
        else:
            code = subprocess.run(["make", "-s", target], cwd=ROOT, check=False,
                                  stdin=subprocess.DEVNULL).returncode
        self.state[target] = code == 0
        if code:
            RESULTS.add(False, "build/%s" % target)
        return self.state[target]

    def all(self, targets):
        return all([self.get(t) for t in targets])


def chosen(names, name, tier):
    """Does the selection want this program of this tier?"""
    return not names or tier in names or any(
        n == name or n in name or n == "%s/%s" % (tier, name) for n in names if n not in TIERS)


def tier_lint(names):
    for script in LINTERS:
        path = os.path.join(ROOT, "scripts", script)
        name = os.path.splitext(script)[0]
        if not os.path.exists(path) or not chosen(names, name, "lint"):
            continue
        text, code = run_program([path], 900)
        keep("lint-" + name, text)
        if parse_tap(text)[0]:
            report("lint/" + name, text, code)
        else:
            RESULTS.add(code == 0, "lint/" + name, text.strip().split("\n")[-40:] if code else ())


def tier_lib(names):
    for name in ("lib", "oracle"):
        if not chosen(names, name, "lib"):
            continue
        text, code = run_program(["make", "-s", "check-%s-run" % name], 900)
        keep(name, text)
        report(name, text, code)


def tier_qtest(names):
    for path in sorted(glob.glob(os.path.join(BUILD, "qemu", "tessera-*-test"))):
        name = os.path.basename(path)
        if not chosen(names, name, "qtest"):
            continue
        text, code = run_program([path, "--tap", "-k"], 300, cwd=OUT, env={
            "QTEST_QEMU_BINARY": os.path.join(BUILD, "qemu", "qemu-system-x86_64")})
        keep("qtest-" + name, text)
        report("qtest/" + name, text, code)


KUNIT = """
insmod /lib/modules/tessera.ko || exit 1
for m in /lib/modules/*kunit*.ko; do
	insmod $m || echo "not ok 0 $m cannot be loaded"
done
for f in /sys/kernel/debug/kunit/*/results; do
	echo "#@suite"
	cat $f
done
"""


def parse_kunit(text):
    """[(ok, 'suite: case', detail)] and skips; parameters count with their case."""
    results, skips = [], []
    suite, notes = "", []
    for line in text.split("\n"):
        m = re.match(r"^    # Subtest: (\S+)", line)
        if m:
            suite, notes = m.group(1), []
            continue
        m = re.match(r"^    (not )?ok \d+ (?:- )?(.*)$", line)
        if m:
            name, _, directive = m.group(2).partition(" # ")
            if directive.upper().startswith("SKIP"):
                skips.append(("%s: %s" % (suite, name), directive[4:].strip()))
            else:
                results.append((m.group(1) is None, "%s: %s" % (suite, name), notes[-25:]))
            notes = []
        elif re.match(r"^not ok 0 ", line):
            results.append((False, line[9:], ()))
        else:
            notes.append(line.strip())
    return results, skips


def tier_kunit(names):
    if not glob.glob(os.path.join(BUILD, "module-debug", "*kunit*.ko")):
        RESULTS.add(False, "kunit: no test module was built")
        return
    p = guest("debug", "kunit", 600, KUNIT, ["--devices=0", "--leak-check"])
    results, skips = parse_kunit(p.out)
    for name, why in skips:
        RESULTS.skip("kunit/" + name, why)
    for ok, name, detail in results:
        if chosen(names, name, "kunit"):
            RESULTS.add(ok, "kunit/" + name, detail)
    if not results:
        RESULTS.add(False, "kunit: reported no result", (p.out + p.err).split("\n")[-30:])
    kernel_result("kunit", p)


class GuestRun:
    """What one boot gave."""

    def __init__(self, out, err, code, log):
        self.out, self.err, self.code, self.log = out, err, code, log


def guest(kernel, name, timeout, command, more=()):
    log = os.path.join(OUT, "kernel-%s.log" % re.sub(r"[^A-Za-z0-9._-]+", "-", name))
    os.makedirs(OUT, exist_ok=True)
    cmd = [os.path.join(ROOT, "scripts/guest"), "--kernel", kernel,
           "--timeout", str(timeout), "--log", log] + list(more)
    p = subprocess.run(cmd + ["--", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, cwd=ROOT)
    out = p.stdout.decode("utf-8", "replace")
    err = p.stderr.decode("utf-8", "replace")
    keep(name + "-output", out + "\n--- standard error\n" + err)
    return GuestRun(out, err, p.returncode, log)


def kernel_result(name, run):
    """The kernel's own verdict on a boot is a test of its own."""
    what = {90: "kernel log", 91: "time limit of the guest", 92: "the guest died",
            93: "the guest did not start"}.get(run.code)
    if run.code in (90, 91, 92, 93):
        marks = re.findall(r"tessera-test: begin (\S+)", _before_problem(run))
        during = " during %s" % marks[-1] if marks else ""
        RESULTS.add(False, "%s: %s%s" % (name, what, during), run.err.strip().split("\n")[:60])
    else:
        RESULTS.add(True, "%s: the kernel log is clean" % name)


def _before_problem(run):
    """The kernel log up to the first line that was reported."""
    first = re.search(r"^  > (.*)$", run.err, re.M)
    try:
        with open(run.log, encoding="utf-8", errors="replace") as f:
            text = f.read().replace("\r", "")
    except OSError:
        return ""
    return text.split(first.group(1))[0] if first and first.group(1) else text


class GuestTest:
    """A test program and what its .args file asks for."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        self.args = {"device": "", "kernel": "both", "timeout": str(DEFAULT_TIMEOUT),
                     "devices": "1", "modules": "", "allow-log": "", "qemu-args": "",
                     "memory": ""}
        for name in (self.name, os.path.splitext(self.name)[0]):
            args = os.path.join(ROOT, "tests", "guest", name + ".args")
            if os.path.exists(args):
                self._read(args)
                break

    def _read(self, path):
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                key, _, value = line.partition(":")
                if key.strip() not in self.args:
                    raise SystemExit("%s:%d: unknown word '%s' (one of: %s)" % (
                        path, number, key, ", ".join(sorted(self.args))))
                self.args[key.strip()] = value.strip()

    def boot(self):
        """What of the arguments is the whole guest's: equal for tests that share a boot."""
        keys = ("devices", "modules", "allow-log", "qemu-args", "memory")
        return tuple(self.args[k] for k in keys)

    def seconds(self):
        return float(self.args["timeout"])


def is_plain(tests):
    """May this group share its guest with devices of other properties?"""
    return tests[0].boot() == ("1", "", "", "", "") and not any(
        re.search("unplug|unload", t.name) for t in tests)


def guest_boots(kernel, names):
    """[[(device properties, tests), ...], ...]: the boots, each with its devices.

    Tests with equal properties are a group; groups that ask for nothing else share a
    guest with a device for each, and the driver is bound to one at a time.
    """
    groups = {}
    for path in sorted(glob.glob(os.path.join(BUILD, "guest-bin", "test-*"))):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        test = GuestTest(path)
        if test.args["kernel"] not in ("both", kernel):
            continue
        if chosen(names, test.name, "guest-" + kernel):
            groups.setdefault((test.args["device"],) + test.boot(), []).append(test)
    boots, shared = [], []
    for key, tests in sorted(groups.items()):
        if is_plain(tests):
            shared.append((key[0], tests))
        else:
            boots.append([(key[0], tests)])
    if shared:
        boots.append(shared)
    return boots


def split_output(out):
    """{test: (text, exit code or None)} from run-tests' marks."""
    found = {}
    for m in re.finditer(r"^#@begin (\S+)\n(.*?)(?:^#@end \1 (\d+)$|\Z)", out, re.M | re.S):
        found[m.group(1)] = (m.group(2), None if m.group(3) is None else int(m.group(3)))
    return found


def boot_command(boot, limits):
    """Options of scripts/guest and the guest's command line for one boot."""
    options, items = ["--leak-check"], []
    for number, (device, tests) in enumerate(boot):
        options.append("--device=" + device)
        if len(boot) > 1:
            items.append("@%d:%s" % (number, device))
        items += ["%d:%s" % (limits[t.name], t.name) for t in tests]
    args = boot[0][1][0].args
    if args["devices"] != "1":
        options.append("--devices=" + args["devices"])
    for key in ("modules", "allow-log", "qemu-args", "memory"):
        if args[key]:
            options.append("--%s=%s" % (key, args[key]))
    return options, "run-tests " + " ".join(items)


def report_tests(kernel, boot, run):
    """Count what the tests of a boot said; returns what is left to run.

    That is all behind a test that did not end; nothing if no test began.
    """
    found = split_output(run.out)
    for number, (device, tests) in enumerate(boot):
        for index, test in enumerate(tests):
            prefix = "guest-%s/%s" % (kernel, test.name)
            if test.name not in found:
                rest = [(device, tests[index:])] + boot[number + 1:]
                if found:
                    return rest
                for missed in [t for _d, more in rest for t in more]:
                    RESULTS.add(False, "guest-%s/%s: not run" % (kernel, missed.name))
                return []
            text, code = found[test.name]
            keep(prefix, text)
            if code is not None:
                report(prefix, text, code)
                continue
            for ok, case, detail in parse_tap(text)[0]:
                RESULTS.add(ok, "%s: %s" % (prefix, case), detail)
            RESULTS.add(False, "%s: did not end" % prefix, text.strip().split("\n")[-10:])
    return []


def run_boot(kernel, number, boot):
    """One boot for all its tests; again for those behind one that killed it."""
    factor = DEBUG_FACTOR if kernel == "debug" else 1
    turn = 0
    while boot:
        turn += 1
        name = "guest-%s-%d%s" % (kernel, number, "" if turn == 1 else chr(96 + turn))
        limits = {t.name: int(t.seconds() * factor) for _d, tests in boot for t in tests}
        for device, tests in boot:
            say("-- %s: %s%s" % (name, " ".join(t.name for t in tests),
                                 " (%s)" % device if device else ""))
        begin = time.monotonic()
        options, command = boot_command(boot, limits)
        run = guest(kernel, name, sum(limits.values()) + 120, command, options)
        boot = report_tests(kernel, boot, run)
        kernel_result(name, run)
        say("   %s: %.1f s" % (name, time.monotonic() - begin))


def guest_work(kernel, names):
    """[(seconds it may take, what to call, arguments), ...] for all boots of a kernel."""
    boots = guest_boots(kernel, names)
    if not boots and not any(n not in TIERS for n in names):
        RESULTS.add(False, "guest-%s: no test programs in build/guest-bin" % kernel)
    factor = DEBUG_FACTOR if kernel == "debug" else 1
    return [(factor * sum(t.seconds() for _d, tests in boot for t in tests),
             run_boot, (kernel, n, boot)) for n, boot in enumerate(boots, 1)]


def run_all(tiers, names):
    """Everything is built: run it all, a piece more at once than there are processors.

    Guests often wait. The work that may take longest goes first, so that the end is short.
    """
    jobs = int(os.environ.get("TESSERA_CHECK_JOBS") or min(3, (os.cpu_count() or 1) + 1))
    simple = {"lib": (200, tier_lib), "qtest": (100, tier_qtest), "lint": (400, tier_lint),
              "kunit": (450, tier_kunit)}
    work = []
    for tier in tiers:
        if tier in simple:
            seconds, call = simple[tier]
            work.append((seconds, timed, (tier, call, names)))
        else:
            work += guest_work(tier.split("-")[1], names)
    work.sort(key=lambda item: -item[0])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(call, *args) for _seconds, call, args in work]
        for future in futures:
            error = future.exception()
            if error:
                RESULTS.add(False, "check.py itself", traceback.format_exception(error))


def wanted_tiers(names):
    """Tiers to run: the named ones, or all when a name is a test's."""
    if not names:
        return list(TIERS)
    named = [t for t in TIERS if t in names]
    if all(n in TIERS for n in names):
        return named
    tiers = list(named)
    for name in names:
        if name in TIERS:
            continue
        tier = name.split("/")[0]
        if tier in TIERS:
            tiers.append(tier)
        elif name.startswith("test-"):
            tiers += ["guest-stock", "guest-debug"]
        elif re.match(r"tessera-.*-test$", name):
            tiers.append("qtest")
        elif name.startswith("check-") or name == "lint":
            tiers.append("lint")
        else:
            return list(TIERS)
    return [t for t in TIERS if t in tiers]


def coverage():
    script = os.path.join(ROOT, "scripts", "check-requirements.py")
    if not os.path.exists(script):
        return
    text, code = run_program([script], 120)
    keep("requirements", text)
    print("-- requirement coverage")
    report("requirements", text, code)


def timed(title, call, *args):
    begin = time.monotonic()
    say("-- %s" % title)
    call(*args)
    say("   %s: %.1f s" % (title, time.monotonic() - begin))


def own_output():
    """build/check, or a folder of its own while another run of the tests has that.

    Returns the file that holds the lock until the end.
    """
    global OUT  # pylint: disable=global-statement
    os.makedirs(BUILD, exist_ok=True)
    lock = open(os.path.join(BUILD, "check.lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        OUT = "%s-%d" % (OUT, os.getpid())
        print("-- another run of the tests is going on: outputs in %s" %
              os.path.relpath(OUT, ROOT), flush=True)
    os.makedirs(OUT, exist_ok=True)
    return lock


def main():
    names = sys.argv[1:]
    tiers = wanted_tiers(names)
    lock = own_output()
    begin = time.monotonic()
    builds = Builds()
    targets = [t for tier in tiers for t in NEEDS[tier]]
    if "kernel-debug" in targets:
        builds.start_background("kernel-debug")
    # What needs no kernel first, while the debug kernel is built.
    for target in ("qemu", "kernel-stock", "module", "userspace", "guest-tests"):
        if target in targets:
            builds.get(target)
    ready = []
    for tier in tiers:
        # Lint says itself what it cannot check without a kernel.
        if builds.all(NEEDS[tier]) or tier == "lint":
            ready.append(tier)
        else:
            RESULTS.add(False, "%s: not run, its build failed" % tier)
    run_all(ready, names)
    if not names:
        coverage()
    print("\n%.0f s in all; outputs are in %s/" % (
        time.monotonic() - begin, os.path.relpath(OUT, ROOT)))
    if RESULTS.failures:
        print("failed:\n  " + "\n  ".join(RESULTS.failures))
    if RESULTS.skipped:
        print("skipped: %d" % RESULTS.skipped)
    if RESULTS.passed + RESULTS.failed == 0:
        print("error: no test has the name %s" % " ".join(names))
        RESULTS.failed = 1
    lock.close()
    print("%d passed, %d failed" % (RESULTS.passed, RESULTS.failed), flush=True)
    return 1 if RESULTS.failed else 0


if __name__ == "__main__":
    sys.exit(main())
