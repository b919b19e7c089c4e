# SPDX-License-Identifier: MIT
"""Which tiers and programs the arguments mean."""

import re

# The last only when it is asked for: it takes longer than all others.
TIERS = ("lint", "lib", "qtest", "kunit", "guest-stock", "guest-debug", "tsan")
USUAL = TIERS[:-1]


def chosen(names, name, tier):
    """Does the selection want this program of this tier?"""
    return not names or tier in names or any(
        n == name or n in name or n == "%s/%s" % (tier, name) for n in names if n not in TIERS)


def wanted_tiers(names):
    """Tiers to run: the named ones, or all when a name is a test's."""
    if not names:
        return list(USUAL)
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
            return list(USUAL)
    return [t for t in TIERS if t in tiers]
