# SPDX-License-Identifier: MIT
"""Boots of the guest, and the test programs that share them."""

import glob
import math
import os
import re
import subprocess
import time

from .args import GUEST_OPTIONS, find_args
from .results import BUILD, OUTPUTS, RESULTS, ROOT, TIMEOUT_FACTOR, say
from .selection import TIERS, chosen
from .tap import durations, parse_tap, report, split_output
from .times import TIMES

# A test under the debug kernel takes longer.
DEBUG_FACTOR = 4
# What a boot may last before its tests are worth a second one, which starts in a fraction.
LONG_BOOT = 240

# Devices of one boot: the machine's bus has 32 slots, and some are taken.
MOST_DEVICES = 24
# From nothing to the first test, and the search for leaks.
BOOT_SECONDS = {"stock": 10, "debug": 40}


class GuestRun:
    """What one boot gave."""

    def __init__(self, out, err, code, log):
        self.out, self.err, self.code, self.log = out, err, code, log


def guest(kernel, name, timeout, command, more=(), env=None):
    log = OUTPUTS.path("kernel-" + name)
    cmd = [os.path.join(ROOT, "scripts/guest"), "--kernel", kernel,
           "--monitor", "guest", "--timeout", str(timeout), "--log", log] + list(more)
    p = subprocess.run(cmd + ["--", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, cwd=ROOT,
                       env=dict(os.environ, TESSERA_GUEST_TIMES="1", **(env or {})))
    out = p.stdout.decode("utf-8", "replace")
    err = p.stderr.decode("utf-8", "replace")
    OUTPUTS.keep(name + "-output", out + "\n--- standard error\n" + err)
    return GuestRun(out, err, p.returncode, log)


def kernel_result(name, run):
    """The kernel's own verdict on a boot is a test of its own."""
    what = {90: "kernel log", 91: "time limit of the guest", 92: "the guest died",
            125: "the guest did not start"}.get(run.code)
    detail = run.err.strip().split("\n")[:60]
    if run.code == 125:
        RESULTS.add_missing("%s: %s" % (name, what), detail)
    elif what:
        during = "; ".join(culprits(run))
        RESULTS.add(False, "%s: %s%s%s" % (name, what, during and " during " + during,
                                           first_words(run.err)), detail)
    else:
        RESULTS.add(True, "%s: the kernel log is clean" % name)


def first_words(err):
    """What the kernel said first, and where: for the list of failures at the end of a run."""
    said = [re.sub(r"^(\[[^]]*\]\s*)+", "", line)
            for line in re.findall(r"^  > (.*)$", err, re.M)]
    where = [line for line in said if re.match(r"RIP: 0010:", line)]
    return "".join(": " + line for line in said[:1] + where[:1])


def culprits(run):
    """The tests that ran when something went wrong: of leaks, when they were allocated."""
    found = re.findall(r"^guest: +\d+ allocated during (.+)$", run.err, re.M)
    if not found:
        found = re.findall(r"tessera-test: begin (.+)", _before_problem(run))[-1:]
    return [re.sub(r" \(limit \d+ s\)$", "", name.strip()) for name in found]


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
    """A test program, or a variant of one, and what its .args file asks for."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        self.args = find_args(self.name)

    def boot(self):
        """What of the arguments is the whole guest's: equal for tests that share a boot."""
        return tuple(self.args[k] for k in ("devices", "panic") + GUEST_OPTIONS)

    def is_left(self, kernel, names):
        """Is it for a run that may take long, and not asked for by its name?"""
        return (self.args["long"] == kernel and not os.environ.get("TESSERA_LONG") and
                all(n in TIERS for n in names))

    def limit(self, kernel):
        factor = DEBUG_FACTOR if kernel == "debug" else 1
        return int(float(self.args["timeout"]) * factor * TIMEOUT_FACTOR)

    def seconds(self, kernel):
        """What it took the last time; a guess for a new one."""
        return TIMES.get("guest-%s/%s" % (kernel, self.name), self.limit(kernel) / 10)


def may_share(tests):
    """May this group share its guest with devices of other properties?

    Not if it loads the driver itself, which would have all of them probed. One that unbinds its device may:
    that is the only one bound, and is bound again by its name.
    """
    args = tests[0].args
    return args["devices"] == "1" and not args["panic"] and not any(
        "unload" in t.name for t in tests)


def guest_boots(kernel, names):
    """[[(device properties, tests), ...], ...]: the boots, each with its devices.

    Tests with equal properties are a group; groups whose guests differ in nothing but modules share one
    with a device for each, and the driver is bound to one at a time.
    """
    groups, left = {}, []
    for path in sorted(glob.glob(os.path.join(BUILD, "guest-bin", "test-*"))):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        test = GuestTest(path)
        if test.args["kernel"] not in ("both", kernel):
            continue
        if not chosen(names, test.name, "guest-" + kernel):
            continue
        if test.is_left(kernel, names):
            left.append(test.name)
        else:
            groups.setdefault((test.args["device"],) + test.boot(), []).append(test)
    if left:
        say("-- guest-%s: left to LONG=1: %s" % (kernel, " ".join(left)))
    boots, shared = [], {}
    for key, tests in sorted(groups.items()):
        if may_share(tests):
            # That more modules are there does not matter to other tests.
            args = dict(tests[0].args, modules="")
            shared.setdefault(tuple(args[k] for k in GUEST_OPTIONS), []).append((key[0], tests))
        else:
            boots.append([(key[0], tests)])
    for alike in shared.values():
        boots += share_out(kernel, alike, os.cpu_count() or 1)
    return boots


def port(group):
    """Behind ports the devices of a boot are in the order of these, as run-tests counts them."""
    found = re.search(r"\bbus=(\w+)", group[0])
    return found.group(1) if found else ""


def length(kernel, boot):
    return sum(t.seconds(kernel) for _device, tests in boot for t in tests)


def share_out(kernel, groups, most):
    """Boots for groups that could share one, of about equal length.

    No more of them than that, unless there are more devices than they have slots for.
    """
    count = min(most, max(1, math.ceil(length(kernel, groups) / LONG_BOOT)), len(groups))
    count = max(count, math.ceil(len(groups) / MOST_DEVICES))
    boots = [[] for _ in range(count)]
    for group in sorted(groups, key=lambda g: -length(kernel, [g])):
        min((boot for boot in boots if len(boot) < MOST_DEVICES),
            key=lambda boot: length(kernel, boot)).append(group)
    for boot in boots:
        boot.sort(key=port)
    return boots


def boot_command(boot, limits):
    """Options of scripts/guest and the guest's command line for one boot."""
    options, items = ["--leak-check"], []
    if len(boot) > 1:
        options.append("--no-load")  # run-tests does that
    for number, (device, tests) in enumerate(boot):
        options.append("--device=" + device)
        if len(boot) > 1:
            items.append("@%d:%s" % (number, device))
        items += ["%d:%s" % (limits[t.name], t.name) for t in tests]
    args = boot[0][1][0].args
    if args["devices"] != "1":
        options.append("--devices=" + args["devices"])
    modules = {m for _device, tests in boot for m in tests[0].args["modules"].split(",") if m}
    args = dict(args, modules=",".join(sorted(modules)))
    for key in GUEST_OPTIONS:
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
            OUTPUTS.keep(prefix, text)
            if code is not None:
                report(prefix, text, code)
                TIMES.put(prefix, sum(seconds for seconds, _name in durations(text)))
                continue
            for ok, case, detail in parse_tap(text)[0]:
                RESULTS.add(ok, "%s: %s" % (prefix, case), detail)
            RESULTS.add(False, "%s: did not end" % prefix, text.strip().split("\n")[-10:])
    return []


def panic_options(device, test, picture):
    """The options of a guest that ends in a panic: nobody looks for leaks there."""
    options, _command = boot_command([(device, [test])], {test.name: 0})
    return [o for o in options if o != "--leak-check"] + ["--panic-screen", picture]


def run_panic(kernel, name, device, test):
    """A program that ends its kernel: what the screen shows then is the result."""
    say("-- %s: %s (%s)" % (name, test.name, device))
    run = guest(kernel, name, test.limit(kernel), test.name,
                panic_options(device, test, os.path.join(OUTPUTS.folder, name + "-screen.png")))
    RESULTS.add(run.code == 0, "guest-%s/%s: the panic is on the screen" % (kernel, test.name),
                run.code and (run.out + run.err).strip().split("\n")[-30:] or ())


def run_boot(kernel, number, boot):
    """One boot for all its tests; again for those behind one that killed it."""
    if boot[0][1][0].args["panic"]:
        for turn, (device, test) in enumerate((d, t) for d, tests in boot for t in tests):
            name = "guest-%s-%d%s" % (kernel, number, chr(97 + turn) if turn else "")
            run_panic(kernel, name, device, test)
        return
    turn = 0
    while boot and not RESULTS.enough():
        turn += 1
        name = "guest-%s-%d%s" % (kernel, number, "" if turn == 1 else chr(96 + turn))
        limits = {t.name: t.limit(kernel) for _d, tests in boot for t in tests}
        for device, tests in boot:
            say("-- %s: %s%s" % (name, " ".join(t.name for t in tests),
                                 " (%s)" % device if device else ""))
        begin = time.monotonic()
        options, command = boot_command(boot, limits)
        run = guest(kernel, name, sum(limits.values()) + 120, command, options)
        boot = report_tests(kernel, boot, run)
        kernel_result(name, run)
        used = re.search(r"([\d.]+ s of the processors)$", run.err, re.M)
        say("   %s: %.1f s%s" % (name, time.monotonic() - begin,
                                 used and ", " + used.group(1) or ""))


def guest_work(kernel, names):
    """[(seconds it may take, what to call, arguments), ...] for all boots of a kernel."""
    boots = guest_boots(kernel, names)
    if not boots and not any(n not in TIERS for n in names):
        RESULTS.add_missing("guest-%s: no test programs in build/guest-bin" % kernel)
    return [(BOOT_SECONDS[kernel] + length(kernel, boot), run_boot, (kernel, n, boot))
            for n, boot in enumerate(boots, 1)]
