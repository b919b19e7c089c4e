# SPDX-License-Identifier: MIT
"""The .args files of guest tests: the guest that a program needs, and its variants.

    # comment
    key: value             of the program
    variant: NAME          begins a section: its keys override those of the program
    device: +a=1,b=2       in a section: the properties of the program's device, with these
                           changed or added

A variant runs the same program under the name PROGRAM-NAME. An empty value is the default.
"""

import os
import re

from .results import ROOT

FOLDER = os.path.join(ROOT, "tests", "guest")
DEFAULT_TIMEOUT = 60
# Options of scripts/guest that an .args file may give a value.
GUEST_OPTIONS = ("modules", "allow-log", "qemu-args", "memory", "append", "vcpu-threads")
DEFAULTS = {"device": "strict=on", "kernel": "both", "timeout": str(DEFAULT_TIMEOUT), "devices": "1",
            "long": "", "panic": "", **dict.fromkeys(GUEST_OPTIONS, "")}


def changed_device(device, changes):
    """The device properties @device with those of @changes changed or added."""
    props = dict(prop.partition("=")[::2] for prop in device.split(",") if prop)
    props.update(prop.partition("=")[::2] for prop in changes.split(","))
    return ",".join("%s=%s" % item for item in props.items())


class Reader:
    """Reads one file into sections, {variant: {key: value}}; the program is the variant ""."""

    def __init__(self):
        self.sections = {"": dict(DEFAULTS)}
        self.variant, self.given = "", set()

    def line(self, key, value):
        """Takes a line, and returns what is wrong with it."""
        if key == "variant":
            return self._begin(value)
        if key not in DEFAULTS:
            return "unknown word '%s' (one of: %s)" % (key, ", ".join(sorted(DEFAULTS)))
        if key in self.given:
            return "'%s' is given twice" % key
        if key == "device" and value.startswith("+"):
            if not self.variant:
                return "only a variant can change the properties of the device"
            value = changed_device(self.sections[""]["device"], value[1:])
        self.given.add(key)
        self.sections[self.variant][key] = value or DEFAULTS[key]
        return ""

    def _begin(self, name):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            return "'%s' is no name for a variant" % name
        if name in self.sections:
            return "there are two variants '%s'" % name
        self.variant, self.given = name, set()
        self.sections[name] = dict(self.sections[""])
        return ""


def read(path):
    """The sections of a file."""
    reader, program = Reader(), os.path.splitext(path)[0]
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            key, _, value = line.partition(":")
            wrong = reader.line(key.strip(), value.strip())
            if wrong:
                raise SystemExit("%s:%d: %s" % (path, number, wrong))
    for name in reader.sections:
        if name and any(os.path.exists("%s-%s.%s" % (program, name, end)) for end in ("c", "args")):
            raise SystemExit("%s: the variant '%s' has the name of another program" % (path, name))
    return reader.sections


def variant_names(path):
    """The names under which the variants of a file's program run."""
    program = os.path.splitext(os.path.basename(path))[0]
    return {"%s-%s" % (program, name) for name in read(path) if name}


def find_args(name, folder=FOLDER):
    """The arguments of a program or variant; the defaults if no file has its name."""
    program, variant = os.path.splitext(name)[0], ""
    while program:
        path = os.path.join(folder, program + ".args")
        sections = read(path) if os.path.exists(path) else {}
        if variant in sections:
            return sections[variant]
        program, _, last = program.rpartition("-")
        variant = "-".join(filter(None, (last, variant)))
    return dict(DEFAULTS)
