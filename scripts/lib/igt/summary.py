# SPDX-License-Identifier: MIT
"""Results of IGT as tables."""

import collections

from .output import BAD, PASS, SKIP

COLUMNS = (PASS, SKIP) + BAD


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
    head = "%-32s" % "program" + "".join("%8s" % c for c in COLUMNS)
    out = [head]
    for name, counter in list(table.items()) + [("total of %d" % sum(total.values()), total)]:
        out.append("%-32s" % name + "".join("%8s" % (counter[c] or "") for c in COLUMNS))
    return out


def reason_lines(results, wanted, limit):
    """The most frequent reasons of what came to one of `wanted`, with an example."""
    reasons = collections.defaultdict(list)
    for entry in results:
        if entry["result"] in wanted:
            reasons[entry["reason"] or entry["result"]].append(entry["test"])
    ordered = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    return ["%5d  %s  (%s)" % (len(tests), why[:110], tests[0]) for why, tests in ordered[:limit]]


def for_debug(results):
    """Names of those that the debug kernel could run, and the stock kernel could not."""
    return [e["test"] for e in results
            if e["result"] == SKIP and "has_sw_sync" in e["reason"] and e.get("on") != "debug"]


def failed(results):
    """Whether the run counts as one that failed."""
    return any(e["result"] in BAD or e["kernel"] for e in results)


def lines(results):
    out = table_lines(results)
    debug = sum(e.get("on") == "debug" for e in results)
    if debug:
        out += ["%d of them on the debug kernel" % debug]
    bad = [e for e in results if e["result"] in BAD]
    warned = [e for e in results if e["kernel"]]
    if bad:
        out += ["", "failed, by reason:"] + reason_lines(bad, BAD, 40)
        out += ["", "failed:"] + ["  %-8s %s" % (e["result"], e["test"]) for e in bad]
    if warned:
        out += ["", "the kernel reported a problem during:"]
        for entry in warned:
            out += ["  " + entry["test"]] + ["    | " + line for line in entry["kernel"][:3]]
    out += ["", "skipped, by reason:"] + reason_lines(results, (SKIP,), 25)
    return out
