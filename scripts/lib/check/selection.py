# SPDX-License-Identifier: MIT
"""Which tiers and programs the arguments mean."""

import glob
import os

from .args import variant_names
from .results import BUILD, ROOT

# The last only when it is asked for: it takes longer than all others.
TIERS = ("lint", "lib", "qtest", "kunit", "guest-stock", "guest-debug", "tsan")
USUAL = TIERS[:-1]
LINTERS = ("check-style.sh", "check-layers.py", "check-uapi.sh", "check-waits.py", "check-prose.py")
LIBS = ("lib", "host", "scripts")


def chosen(names, name, tier):
    """Does the selection want this program of this tier?"""
    return not names or tier in names or any(
        n == name or n in name or n == "%s/%s" % (tier, name) for n in names if n not in TIERS)


def _stems(*patterns):
    return {os.path.splitext(os.path.basename(p))[0]
            for pattern in patterns for p in glob.glob(pattern)}


def programs(root=ROOT, build=BUILD):
    """{tier: names} of everything that can be chosen, before anything is built.

    A unit test is chosen by its suite or case: what counts is that the sources have it.
    """
    guest = _stems(root + "/tests/guest/test-*.c", root + "/tests/guest/test-*.args",
                   root + "/userspace/tests/test-*.sh", build + "/guest-bin/test-*")
    guest = guest.union(*map(variant_names, glob.glob(root + "/tests/guest/test-*.args")))
    cases = set()
    for path in glob.glob(root + "/kunit/**/*.c", recursive=True):
        with open(path, encoding="utf-8") as f:
            cases.add(f.read())
    qtests = _stems(root + "/qemu-device/tests/*-test.c")
    return {"lint": _stems(*[os.path.join(root, "scripts", s) for s in LINTERS]),
            "lib": set(LIBS), "qtest": qtests, "tsan": qtests | {"stress"},
            "kunit": cases, "guest-stock": guest, "guest-debug": guest}


def tiers_of(name, known):
    """The tiers that have something of this name."""
    if name in TIERS:
        return [name]
    tier, slash, rest = name.partition("/")
    if slash and tier in TIERS:
        return [tier] if any(rest in p for p in known[tier]) else []
    return [t for t in USUAL if any(name in p for p in known[t])]


def wanted_tiers(names, known=None):
    """(tiers to run, names that nothing has)."""
    if not names:
        return list(USUAL), []
    known = known or programs()
    found = {name: tiers_of(name, known) for name in names}
    return ([t for t in TIERS if any(t in tiers for tiers in found.values())],
            [name for name in names if not found[name]])
