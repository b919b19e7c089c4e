# SPDX-License-Identifier: MIT
"""Results of IGT as tables."""

import collections

from .results import GOOD, PASS, SKIP


def count(results):
    """{program: Counter of results}, in the order of the programs."""
    table = collections.OrderedDict()
    for entry in sorted(results, key=lambda e: e["test"]):
        program = entry["test"].partition("@")[0]
        table.setdefault(program, collections.Counter())[entry["result"]] += 1
    return table


def table_lines(results):
    table = count(results)
    total = sum(table.values(), collections.Counter())
    columns = [PASS, SKIP] + sorted(total.keys() - {PASS, SKIP})
    out = ["%-32s" % "program" + "".join("%11s" % c for c in columns)]
    for name, counter in list(table.items()) + [("total of %d" % sum(total.values()), total)]:
        out.append("%-32s" % name + "".join("%11s" % (counter[c] or "") for c in columns))
    return out


def reason_lines(results, limit):
    """The most frequent reasons, each with an example."""
    reasons = collections.defaultdict(list)
    for entry in results:
        reasons[entry["reason"] or entry["result"]].append(entry["test"])
    ordered = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    return ["%5d  %s  (%s)" % (len(tests), why[:110], tests[0]) for why, tests in ordered[:limit]]


def for_debug(results):
    """Names of those that the debug kernel could run, and the stock kernel could not."""
    return [e["test"] for e in results
            if e["result"] == SKIP and "has_sw_sync" in e["reason"] and e["on"] != "debug"]


def failed(results):
    """The results that make a run fail."""
    return [e for e in results if e["result"] not in GOOD]


def lines(results, bad_guests):
    out = table_lines(results)
    debug = sum(e["on"] == "debug" for e in results)
    if debug:
        out += ["%d of them on the debug kernel" % debug]
    bad = failed(results)
    if bad:
        out += ["", "failed, by reason:"] + reason_lines(bad, 40)
        out += ["", "failed:"]
    for entry in bad:
        out += ["  %-10s %s" % (entry["result"], entry["test"])]
        out += ["    | " + line for line in entry["kernel"][:3]]
    if bad_guests:
        out += ["", "the guest died, or its kernel reported a problem:"]
        out += ["  " + log for log in bad_guests]
    skipped = [e for e in results if e["result"] == SKIP]
    if skipped:
        out += ["", "skipped, by reason:"] + reason_lines(skipped, 25)
    return out
