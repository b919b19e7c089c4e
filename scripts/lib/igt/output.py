# SPDX-License-Identifier: MIT
"""What IGT's programs print, and what the guest says around it."""

import re

PASS, SKIP, FAIL, CRASH, TIMEOUT, HANG = "pass", "skip", "fail", "crash", "timeout", "hang"
BAD = (FAIL, CRASH, TIMEOUT, HANG)

# IGT's exit code of a skipped test, and what is left of one that was killed: SIGTERM, or SIGKILL.
EXIT_SKIP = 77
ENDED = (124, 137, 143)
SAID = {"SUCCESS": PASS, "SKIP": SKIP, "FAIL": FAIL, "CRASH": CRASH, "TIMEOUT": TIMEOUT}

LINE = re.compile(r"(?:^|\x1b\[1m)(Subtest|Dynamic subtest) ([^\s:]+): "
                  r"(SUCCESS|SKIP|FAIL|CRASH|TIMEOUT) \(([\d.]+)s\)", re.M)
WHOLE = re.compile(r"^(?:\x1b\[1m)?(SUCCESS|SKIP|FAIL) \(([\d.]+)s\)", re.M)
MARK = re.compile(r"^#@igt (begin|end)(?: (\d+) (\d+))?$")
STARTED = re.compile(r"\[IGT\] (\S+): (?:starting subtest (\S+)|executing)")
REASONS = (
    re.compile(r"Failed assertion: (.*)"),
    re.compile(r"Received signal (SIG\w+)"),
    re.compile(r"Test requirement: (.*)"),
    re.compile(r"Test abort in function \w+, file [^\n]*\n(?:abort condition: )?(.*)"),
    re.compile(r"CRITICAL: (.*)"),
)


def subtests(text):
    """{name: result} of the subtests, and {container/name: result} of the dynamic ones."""
    found, dynamic, inside = {}, {}, []
    for kind, name, word, _seconds in LINE.findall(text):
        if kind == "Subtest":
            found[name] = SAID[word]
            # A container's line comes behind those of what is in it.
            dynamic.update(("%s/%s" % (name, n), r) for n, r in inside)
            inside = []
        else:
            inside.append((name, SAID[word]))
    dynamic.update(inside)
    return found, dynamic


def started(line):
    """The test that a line of the kernel log says to begin."""
    m = STARTED.search(line)
    return m.group(1) + ("@" + m.group(2) if m.group(2) else "") if m else ""


def reason(text):
    """Why it failed or was skipped: the first that IGT says."""
    for pattern in REASONS:
        m = pattern.search(text)
        if m:
            return re.sub(r"0x[0-9a-f]{6,}", "0x…", m.group(1).strip())
    return ""


def result(name, text, code):
    """What a run of one test came to, a program without subtests if `name` is empty: its words
    and its exit code must agree."""
    if code in ENDED:
        return TIMEOUT
    if code > 128:
        return CRASH
    if name:
        said = subtests(text)[0].get(name)
    else:
        m = WHOLE.search(text)
        said = SAID[m.group(1)] if m else None
    if code == 0:
        return PASS if said == PASS else FAIL
    if code == EXIT_SKIP:
        # A requirement of the whole program may fail before any subtest is named.
        return SKIP if said in (SKIP, None) else FAIL
    return CRASH if said == CRASH else FAIL


def seconds(name, text):
    """How long a subtest says that it took."""
    return next((float(m.group(4)) for m in LINE.finditer(text)
                 if m.group(1) == "Subtest" and m.group(2) == name), None)


def cut(text):
    """[(subtest, result, text)] of a run of several: what each said, to its result."""
    found, begin = [], 0
    for m in LINE.finditer(text):
        if m.group(1) == "Subtest":
            found.append((m.group(2), SAID[m.group(3)], text[begin:m.end()].strip()))
            begin = m.end()
    # What a group of them needs is said once, before the first.
    out, shared = [], ""
    for name, said, words in found:
        if said != SKIP:
            shared = ""
        elif reason(words):
            shared = words
        elif LINE.match(words):
            words = shared or words
        out.append((name, said, words))
    return out


class Unit:
    """Subtests of one program that run in one process, or a program without any."""

    def __init__(self, program, names=()):
        self.program, self.names = program, list(names)

    def line(self, limit):
        """As run-igt takes it."""
        return " ".join(filter(None, ("%d" % limit, self.program, ",".join(self.names))))

    def tests(self):
        return ["%s@%s" % (self.program, n) for n in self.names] or [self.program]

    def early(self, text):
        """[(test, result, text)] of those that have ended while others are to come."""
        return self.results(text, None)[0] if len(self.names) > 1 else []

    def results(self, text, code):
        """([(test, result, text)], [units to run again]). Code None: the guest ended.

        Who ends badly, or says nothing, is judged by a run of its own.
        """
        if len(self.names) <= 1:
            name = self.names[0] if self.names else ""
            said = HANG if code is None else result(name, text, code)
            return [(self.tests()[0], said, text)], []
        found = [entry for entry in cut(text) if entry[0] in self.names]
        known = {entry[0] for entry in found}
        left = [n for n in self.names if n not in known]
        again = [Unit(self.program, names) for names in (left[:1], left[1:]) if names]
        return [("%s@%s" % (self.program, n), said, words) for n, said, words in found], again


def units(tests, size):
    """The tests as units of up to `size`, in their order."""
    out = []
    for test in tests:
        program, _at, name = test.partition("@")
        if name and out and out[-1].program == program and 0 < len(out[-1].names) < size:
            out[-1].names.append(name)
        else:
            out.append(Unit(program, [name] if name else []))
    return out


class Blocks:
    """Cuts the guest's output into what each unit said."""

    def __init__(self):
        self.running, self.lines = False, []

    def line(self, line):
        """(text, exit code, milliseconds) when a unit has ended with this line."""
        m = MARK.match(line)
        if not m:
            self.lines.append(line)
            return None
        if m.group(1) == "begin":
            self.running, self.lines = True, []
            return None
        if not self.running:
            return None
        self.running = False
        return self.text(), int(m.group(2)), int(m.group(3))

    def text(self):
        """What has been said since the unit began."""
        return "\n".join(self.lines)
