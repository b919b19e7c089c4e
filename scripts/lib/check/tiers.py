# SPDX-License-Identifier: MIT
"""The tiers that need no guest of their own tests, and which tiers there are."""

import glob
import os
import re

import qemubuild

from .guests import guest, kernel_result
from .results import BUILD, OUTPUTS, RESULTS, ROOT, run_program
from .selection import LIBS, LINTERS, chosen
from .tap import parse_kunit, parse_tap, report


def tier_lint(names):
    for script in LINTERS:
        path = os.path.join(ROOT, "scripts", script)
        name = os.path.splitext(script)[0]
        if not os.path.exists(path) or not chosen(names, name, "lint"):
            continue
        text, code = run_program([path], 2400)
        OUTPUTS.keep("lint-" + name, text)
        if parse_tap(text)[0]:
            report("lint/" + name, text, code)
        else:
            RESULTS.add(code == 0, "lint/" + name, text.strip().split("\n")[-40:] if code else ())


def tier_lib(names):
    for name in LIBS:
        if not chosen(names, name, "lib"):
            continue
        text, code = run_program(["make", "-s", "check-%s-run" % name], 900)
        OUTPUTS.keep(name, text)
        report(name, text, code)


def fixed_addresses():
    """What runs a program without random addresses: of these the sanitizers of gcc 12 can
    stand fewer bits than new kernels give. Nothing where a container forbids it."""
    prefix = ["setarch", "-R"]
    try:
        return prefix if run_program(prefix + ["true"], 10)[1] == 0 else []
    except OSError:
        return []


FAST, SLOW = "fast_unwind_on_malloc=1", "fast_unwind_on_malloc=0"
LEAK = re.compile(r"^==\d+==ERROR: LeakSanitizer.*?^SUMMARY[^\n]*\n", re.M | re.S)
# Programs in which QEMU itself leaks: suppressions.lsan.
LEAKY = ("console", "memdev", "scanout", "unplug", "vmstate")


def asan_environment(program):
    """Suppressions are looked for in the callers of g_malloc(), and GLib has no frame pointers.

    The unwinder that sees them makes a program four times as slow: only where QEMU leaks.
    """
    unwinder = SLOW if any(word in program for word in LEAKY) else FAST
    return {
        "ASAN_OPTIONS": "detect_leaks=1:print_legend=0:" + unwinder,
        "LSAN_OPTIONS": "print_suppressions=0:suppressions=%s" % os.path.join(
            ROOT, "scripts", "suppressions.lsan"),
        "UBSAN_OPTIONS": "print_stacktrace=1"}


def run_qtests(names, tier, kind="", env_of=None):
    """All qtests, on QEMU as it is or on that of a sanitizer.

    A sanitizer's report ends QEMU, and so fails its test. env_of(program) is the environment of
    one.
    """
    prefix = fixed_addresses() if env_of else []
    for path in sorted(glob.glob(os.path.join(BUILD, qemubuild.folder(), "tessera-*-test"))):
        name = os.path.basename(path)
        if RESULTS.enough() or not chosen(names, name, tier.split("-")[0]):
            continue
        cmd = prefix + [path, "--tap", "-k"]
        env = dict(env_of(name) if env_of else {},
                   QTEST_QEMU_BINARY=os.path.join(
                       BUILD, qemubuild.folder(kind), "qemu-system-x86_64"))
        text, code = run_program(cmd, 600, cwd=OUTPUTS.folder, env=env)
        if code and LEAK.search(text) and FAST in env.get("ASAN_OPTIONS", ""):
            # Failed it has; once more for who allocated what.
            env["ASAN_OPTIONS"] = env["ASAN_OPTIONS"].replace(FAST, SLOW)
            text += "".join(m.group() for m in LEAK.finditer(run_program(
                cmd, 600, cwd=OUTPUTS.folder, env=env)[0]))
        OUTPUTS.keep("%s-%s" % (tier, name), text)
        report("%s/%s" % (tier, name), text, code)


def tier_qtest(names):
    run_qtests(names, "qtest")
    run_qtests(names, "qtest-asan", "asan", asan_environment)


STRESS = "vram-size=16M,vram-hidden-size=32M,strict=on,render-engines=2,paging-engines=2"


def tier_tsan(names):
    """The qtests, and a guest that keeps two engines of each type busy."""
    options = "history_size=7 suppressions=%s" % os.path.join(ROOT, "scripts", "suppressions.tsan")
    run_qtests(names, "tsan", "tsan", lambda _program: {"TSAN_OPTIONS": options})
    if not chosen(names, "stress", "tsan"):
        return
    reports = OUTPUTS.path("tsan-stress-report")
    for old in glob.glob(reports + ".*"):
        os.unlink(old)
    run = guest("stock", "tsan-stress", 600, "TESSERA_SOAK_SECONDS=30 test-soak && test-oversub",
                ["--device=" + STRESS], {
                    "TESSERA_QEMU": os.path.join(
                        BUILD, qemubuild.folder("tsan"), "qemu-system-x86_64"),
                    "TSAN_OPTIONS": "%s log_path=%s" % (options, reports)})
    report("tsan/stress", run.out, run.code)
    kernel_result("tsan/stress", run)
    found = []
    for path in glob.glob(reports + ".*"):
        with open(path, encoding="utf-8", errors="replace") as f:
            found += f.read().split("\n")
    RESULTS.add(not found, "tsan/stress: ThreadSanitizer is silent", found[:60])


KUNIT = """
insmod /lib/modules/tessera.ko || exit 1
for m in /lib/modules/*kunit*.ko; do
	insmod $m ${TESSERA_LONG:+split_cases=60000} || echo "not ok 0 $m cannot be loaded"
done
for f in /sys/kernel/debug/kunit/*/results; do
	echo "#@suite"
	cat $f
done
"""


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


# What each tier but the guests' runs, and the seconds it may take.
SIMPLE = {"lib": (200, tier_lib), "qtest": (300, tier_qtest), "lint": (400, tier_lint),
          "kunit": (450, tier_kunit), "tsan": (900, tier_tsan)}
