#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the test tiers and count.

  scripts/check.py [TIER|TEST ...]

Tiers: lint lib qtest kunit guest-stock guest-debug, and tsan on request. A TEST is the name (or part
of it) of a test program or lint script. Without arguments: all but tsan. Several runs
at once in one checkout keep their outputs apart.

Each result is a line `PASS tier/program: name` or `FAIL ...`; a program's whole
output is in build/check/. The last line is `N passed, N failed`. Exit code: 0, 1 if
a test failed, 125 if all that failed is what could not be built or started.
"""

import concurrent.futures
import os
import resource
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
# pylint: disable=wrong-import-position
from check.guests import guest_work  # noqa: E402
from check.builds import NEEDS, Builds, kernel_identity, qemu_identity  # noqa: E402
from check.results import OUTPUTS, RESULTS, ROOT, run_program, say  # noqa: E402
from check.selection import wanted_tiers  # noqa: E402
from check.tap import report  # noqa: E402
from check.tiers import SIMPLE  # noqa: E402
from check.times import TIMES  # noqa: E402


def run_all(tiers, names):
    """Everything is built: run it all, a piece more at once than there are processors.

    Guests often wait. The work that may take longest goes first, so that the end is short.
    """
    jobs = int(os.environ.get("TESSERA_CHECK_JOBS") or (os.cpu_count() or 1) + 1)
    work = []
    for tier in tiers:
        if tier in SIMPLE:
            seconds, call = SIMPLE[tier]
            work.append((TIMES.get(tier, seconds), timed, (tier, call, names)))
        else:
            work += guest_work(tier.split("-")[1], names)
    work.sort(key=lambda item: -item[0])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(call, *args) for _seconds, call, args in work]
        for future in futures:
            error = future.exception()
            if error:
                RESULTS.add(False, "check.py itself", traceback.format_exception(error))


def coverage(results):
    """Which requirements the results cover, and which of them wait."""
    text, code = run_program([os.path.join(ROOT, "scripts", "check-requirements.py"), results], 120)
    OUTPUTS.keep("requirements", text)
    print("-- requirement coverage")
    report("requirements", text, code)
    print("".join(line[2:] + "\n" for line in text.split("\n") if line.startswith("# ")), end="")


def timed(title, call, *args):
    begin = time.monotonic()
    say("-- %s" % title)
    call(*args)
    seconds = time.monotonic() - begin
    if not args[0]:
        TIMES.put(title, seconds)
    say("   %s: %.1f s" % (title, seconds))


def main():
    names = sys.argv[1:]
    tiers, unknown = wanted_tiers(names)
    if unknown:
        print("error: no test has the name %s" % ", ".join(unknown))
        return 1
    lock = OUTPUTS.claim()
    begin = time.monotonic()
    builds = Builds()
    targets = [t for tier in tiers for t in NEEDS[tier]]
    if "kernel-debug" in targets:
        builds.start_background("kernel-debug")
    # What needs no kernel first, while the debug kernel is built.
    for target in ("qemu", "qemu-asan", "qemu-tsan", "kernel-stock", "module", "userspace", "guest-tests"):
        if target in targets:
            builds.get(target)
    ready = []
    for tier in tiers:
        # Lint says itself what it cannot check without a kernel.
        if builds.all(NEEDS[tier]) or tier == "lint":
            ready.append(tier)
        else:
            RESULTS.add_missing("%s: not run, its build failed" % tier)
    tested = [qemu_identity(), kernel_identity("stock"), kernel_identity("debug")]
    tested = "\n".join(line for line in tested if line)
    print(tested, flush=True)
    run_all(ready, names)
    results = OUTPUTS.keep_results(RESULTS, not names and not RESULTS.enough())
    if not names:
        coverage(results)
    TIMES.save()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("\n%.0f s in all, %.0f s of the processors; outputs are in %s/" % (
        time.monotonic() - begin, used.ru_utime + used.ru_stime,
        os.path.relpath(OUTPUTS.folder, ROOT)))
    if RESULTS.seconds:
        print("the slowest:\n  " + "\n  ".join(
            "%6.1f s  %s" % item for item in RESULTS.slowest()))
    if RESULTS.failures:
        print("failed:\n  " + "\n  ".join(RESULTS.failures))
    if RESULTS.skipped:
        print("skipped: %d" % RESULTS.skipped)
    if RESULTS.passed + RESULTS.failed == 0:
        print("error: no test has the name %s" % " ".join(names))
        RESULTS.failed = 1
    print(tested)
    lock.close()
    print("%d passed, %d failed" % (RESULTS.passed, RESULTS.failed), flush=True)
    return RESULTS.exit_code()


if __name__ == "__main__":
    sys.exit(main())
