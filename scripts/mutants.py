#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plant mistakes, one at a time, and see which of them the tests catch.

  scripts/mutants.py DIR [NAME ...]

DIR holds patches (*.patch, as of `git diff`); a NAME picks those that contain it. Each
is applied to a copy of the tree in build/mutants/tree, the tiers that can see what it touches
run until one fails, and the copy is put right again. The end is a table, also in
build/mutants/results.txt:

  caught    a test failed; with the tier and the first failures
  named     caught, and the failure says what kind of mistake it is: an error of the
            device, KASAN, lockdep, a leak, a compiler's or sanitizer's message
  survived  all tiers passed
  unusable  the patch does not apply

The tree as it is must pass, or everything is caught: run `make check` first.
"""

import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
WORK = os.path.join(ROOT, "build", "mutants")
TREE = os.path.join(WORK, "tree")

# The first expression that a changed path matches says which tiers can see it, the
# cheap ones first.
STAGES = (
    (r"drivers/.*/pure/", ("lib", "kunit", "guest-stock", "guest-debug")),
    (r"drivers/|include/uapi/", ("guest-stock", "guest-debug", "lint")),
    (r"qemu-device/", ("qtest", "guest-stock")),
    (r"include/tessera/", ("qtest", "kunit", "guest-stock", "guest-debug")),
    (r"userspace/", ("lib", "guest-stock")),
    (r"scripts/", ("lib", "lint")),
    (r"", ("lib", "lint", "guest-stock")),
)
ORDER = ("lib", "qtest", "kunit", "guest-stock", "guest-debug", "lint")
NAMED = re.compile(
    r"device error [A-Z_]+ \((?!.*expected)|^\s*\| device: .*error [A-Z_]+|KASAN|UBSAN|kmemleak"
    r"|AddressSanitizer|runtime error|possible .* locking|inconsistent lock|list_(add|del) corr"
    r"|refcount_t|suspicious RCU|WARNING: |BUG: |while no driver|\.[ch]:\d+:\d+: (error|warning): ", re.M)


def copy_tree():
    """What is in the checkout, committed or not; objects that were built in the copy stay."""
    os.makedirs(TREE, exist_ok=True)
    subprocess.run(["rsync", "-rlpc", "--delete", "--exclude", "/build", "--exclude", "/.git",
                    "--exclude", "__pycache__", ROOT + "/", TREE + "/"], check=True)
    if not os.path.exists(os.path.join(TREE, ".git")):
        # Lint asks git for the list of files.
        subprocess.run(["git", "init", "-q", TREE], check=True)


def patched_paths(patch):
    with open(patch, encoding="utf-8", errors="replace") as f:
        return re.findall(r"^\+\+\+ (?:b/)?(\S+)", f.read(), re.M)


def stages_of(paths):
    """The tiers that can see a change of these files, in the order in which to try."""
    wanted = set()
    for path in paths:
        wanted.update(next(tiers for expr, tiers in STAGES if re.match(expr, path)))
    return [tier for tier in ORDER if tier in wanted]


def apply_patch(patch):
    return subprocess.run(["patch", "-p1", "-s", "-f", "--no-backup-if-mismatch", "-d", TREE,
                           "-i", os.path.abspath(patch)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def verdict(text, code):
    """(caught, named, failures) of one tier's run."""
    failures = re.findall(r"^FAIL (.*)$", text, re.M)
    if code == 0:
        return False, False, []
    details = "\n".join(re.findall(r"^     \| .*$", text, re.M))
    named = bool(NAMED.search(details)) or any(NAMED.search(f) for f in failures)
    # A mistake that the compiler refuses is named by it.
    return True, named or code == 125, failures or ["exit code %d" % code]


def try_mutant(patch, log):
    """(outcome, by what)"""
    copy_tree()
    result = apply_patch(patch)
    if result.returncode:
        return "unusable", result.stdout.strip().split("\n")[-1]
    for tier in stages_of(patched_paths(patch)):
        p = subprocess.run(["scripts/check.sh", tier], cwd=TREE, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                           env=dict(os.environ, TESSERA_FAIL_FAST="1"))
        text = p.stdout.decode("utf-8", "replace")
        log.write("== %s\n%s\n" % (tier, text))
        log.flush()
        caught, named, failures = verdict(text, p.returncode)
        if caught:
            return ("named" if named else "caught",
                    "%s: %s" % (tier, "; ".join(failures[:2])))
    return "survived", ""


def table(results):
    lines = ["%-9s %-32s %6.0f s  %s" % (outcome, name, seconds, by)
             for name, outcome, by, seconds in results]
    usable = [r for r in results if r[1] != "unusable"]
    caught = sum(r[1] in ("caught", "named") for r in usable)
    named = sum(r[1] == "named" for r in usable)
    count = max(1, len(usable))
    lines.append("%d mutants: %d caught (%.0f %%), %d of them named, %d survived, %d unusable" % (
        len(usable), caught, 100.0 * caught / count, named, len(usable) - caught,
        len(results) - len(usable)))
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    picked = sys.argv[2:]
    patches = [p for p in sorted(glob.glob(os.path.join(sys.argv[1], "*.patch")))
               if not picked or any(name in os.path.basename(p) for name in picked)]
    if not patches:
        sys.exit("error: no patches in %s" % sys.argv[1])
    os.makedirs(WORK, exist_ok=True)
    results = []
    for patch in patches:
        name = os.path.splitext(os.path.basename(patch))[0]
        begin = time.monotonic()
        with open(os.path.join(WORK, name + ".log"), "w", encoding="utf-8") as log:
            outcome, by = try_mutant(patch, log)
        results.append((name, outcome, by, time.monotonic() - begin))
        print("%-9s %s  %s" % (outcome, name, by), flush=True)
        with open(os.path.join(WORK, "results.txt"), "w", encoding="utf-8") as f:
            f.write(table(results))
    copy_tree()
    print("\n" + table(results), end="")


if __name__ == "__main__":
    main()
