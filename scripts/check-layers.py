#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the layers of the driver and of the device model.

In the driver a folder is a layer: a file may include or call only files of its own
folder and of folders below it. The device is one folder, so its layers are units (a unit is
a stem: .c and .h). Calls are found with ctags: a function belongs to the file that defines
it, and a mention followed by a parenthesis is a call, so a callback handed down by its
address is not.

Prints TAP, or with --rst the picture of the driver's layers for the documents.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The driver's layers, the highest first. A word is a folder (it ends with a slash), a stem, or,
# with an ending, one file. Behind the bar: what the layer is for.
DRIVER = """
tessera_pci tessera_bringup tessera_drv tessera_debugfs tessera_dump tessera_firmware | entry points: bus, probe and power, DRM core, debugfs, crash dumps
ioctl/ | the calls of an open file: table, checks, the file's state
kms/ | the display
submit/ | contexts, submissions, their parts and plans
vm/ | virtual addresses, page tables, residency lists
sync/ | fences that user space names or waits for; the backlog of a file
gem/ | objects: creation of each kind, export, import, destruction
cpu/ | CPU access to objects: windows, faults, locks, kernel mappings
mem/ | objects in memory: pages, places, moves, victims
borrow/ | pages of a process or of another device
paging/ | commands that move and map memory
segments/ | placements in device memory
debug/ | checks of dependencies and of CPU mappings, in debug builds
exec/ | engines: jobs, priorities, preemption, recovery
client/ | processes and open files: what they use, fair shares, quotas
hw/ | registers, interrupts, rings and their fences
tessera_device.h tessera_wait tessera_wait_rows.h tessera_uobj tessera_trace.h tessera_trace_points.c tessera_assert.h tessera_compat.h | the device, waits of threads, copies from the user, tracepoints
pure/ | logic without a device: planner, packing, patch lists, shares
tessera_hwabi.h tessera_hwabi_check.h | what driver and device agree on
"""

# The device's units, the lowest first. A unit may not need one that comes later. The core knows
# nothing of the machine around it.
CORE = """
trace.h tessera_access.h tessera_host_ops.h tessera_core.h tessera_head.h tessera_stream.h
tessera_layout tessera_strict tessera_access.c tessera_mmu tessera_view
tessera_swizzle tessera_swizzle_range tessera_surface tessera_mark tessera_paging tessera_copy
tessera_pixel tessera_microcode tessera_texture tessera_raster.h tessera_blit.c tessera_raster.c
tessera_plane tessera_frame tessera_pipeline
"""
# QEMU comes in with tessera.h.
DEVICE = CORE + """
tessera_compat.h ram-map ram-remap ram-dirty
tessera_trap tessera_written tessera.h tessera_tsan
tessera_irq tessera_dirty tessera_segments tessera_range_view tessera_iommu tessera_coherence
tessera_host_aperture tessera_bar tessera_save
tessera_cmd tessera_fetch tessera_engine
tessera_damage tessera_screen tessera_capture tessera_output tessera_crtc tessera_display
tessera_reset tessera_mmio
tessera_vmstate tessera_qemu tessera_pci.c
"""

# What the core includes of others: headers of helpers, which tests/host/device has, too.
CORE_INCLUDES = re.compile(
    r"(qemu/(osdep|atomic|bswap|cutils|host-utils|int128|lockable|thread|units)|host/stream-store"
    r"|zlib|trace/trace-hw_display_tessera|tessera/tessera_hw)\.h$")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)


class Tree:
    """One source tree and its layers, a list of lists of words, the lowest first."""

    def __init__(self, top, layers, skip=()):
        self.top = ROOT / top
        self.name = top
        self.met = set()
        self.rank = {word: place for place, words in enumerate(layers) for word in words}
        self.files = sorted(
            p for p in self.top.rglob("*")
            if p.suffix in (".c", ".h") and p.relative_to(self.top).parts[0] not in skip
            and not p.name.endswith(".mod.c"))

    def place(self, path):
        """The rank of a file, None if it is not in the order."""
        rel = path.relative_to(self.top)
        for name in (str(rel), str(rel.with_suffix("")), f"{rel.parts[0]}/"):
            if name in self.rank:
                self.met.add(name)
                return self.rank[name]
        return None

    def resolve(self, includer, name):
        """The file of this tree an #include means, or None."""
        for base in (self.top, includer.parent):
            path = (base / name).resolve()
            if path.is_file() and self.top in path.parents:
                return path
        return None

    def definitions(self):
        """{function: file} for functions other files can call."""
        out = subprocess.run(
            ["ctags", "-x", "--language-force=C", "--c-kinds=f",
             "--_xformat=%N\t%F\t%C", *map(str, self.files)],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        found, twice = {}, set()
        for line in out.splitlines():
            name, file, text = line.split("\t")[:3]
            path = pathlib.Path(file)
            if text.lstrip().startswith("static"):
                continue
            if name in found and found[name] != path:
                twice.add(name)
            found[name] = path
        for name in twice:
            del found[name]
        return found


def check_tree(tree, with_calls):
    """All violations of one tree, as text."""
    bad, unlisted = [], []
    for path in tree.files:
        if tree.place(path) is None:
            unlisted.append(f"{path.relative_to(ROOT)} is in no layer: "
                            "add it to the order in scripts/check-layers.py")
    for name in sorted(tree.rank.keys() - tree.met):
        unlisted.append(f"{name} is in the order of scripts/check-layers.py, and there is no such file")
    defined = tree.definitions() if with_calls else {}
    edges = collections.defaultdict(set)
    for path in tree.files:
        here = tree.place(path)
        if here is None:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        rel = path.relative_to(ROOT)
        for name in INCLUDE.findall(text):
            target = tree.resolve(path, name)
            there = tree.place(target) if target else None
            if there is not None and there > here:
                bad.append(f"{rel} includes {name}, which is above it")
        code = COMMENT.sub(" ", text)
        for name in set(CALL.findall(code)):
            target = defined.get(name)
            if target and target != path:
                there = tree.place(target)
                if there is not None and there > here and not declared_only(path, code, name):
                    edges[(str(rel), str(target.relative_to(ROOT)))].add(name)
    for (caller, callee), names in sorted(edges.items()):
        bad.append(f"{caller} calls {', '.join(sorted(names))} of {callee}, which is above it")
    return bad, unlisted


def check_core():
    """What files of the core include of QEMU's run time, as text."""
    bad = []
    makefile = (ROOT / "tests/host/Makefile").read_text(encoding="utf-8")
    for word in CORE.split():
        for name in (word,) if "." in word else (word + ".c", word + ".h"):
            path = ROOT / "qemu-device" / name
            unit = name.removeprefix("tessera_")
            if path.suffix == ".c" and not re.search(rf"\b{unit}\b", makefile):
                bad.append(f"{path.relative_to(ROOT)} is of the core, and tests/host/Makefile "
                           "does not build it")
            text = path.read_text(encoding="utf-8")
            for include in re.findall(r'^\s*#\s*include\s+["<]?([^">\s]+)', text, re.M):
                if not CORE_INCLUDES.match(include) and not (path.parent / include).is_file():
                    bad.append(f"{path.relative_to(ROOT)} includes {include}, and is of the core")
    return bad


def declared_only(path, code, name):
    """A header may declare what a file above it defines; that is no call."""
    if path.suffix != ".h":
        return False
    uses = len(re.findall(rf"\b{name}\s*\(", code))
    declarations = len(re.findall(rf"^[\w\s\*]+\b\**{name}\s*\([^{{;]*\)\s*;", code, re.M))
    return uses == declarations


def driver_layers():
    """[(words, purpose)] of the driver, the highest layer first."""
    return [(words.split(), purpose.strip()) for words, purpose in
            (line.split("|") for line in DRIVER.strip().splitlines())]


def picture():
    """The driver's layers as a literal block of reStructuredText."""
    lines = ["::", ""]
    for words, purpose in driver_layers():
        names = ", ".join(words)
        if len(words) == 1:
            lines.append(f"  {names:11} {purpose}")
        else:
            lines += textwrap.wrap(names, 78, initial_indent="  ", subsequent_indent="  ")
            lines += [" " * 14 + purpose]
    return "\n".join(lines) + "\n"


def check_picture():
    """What the documents' list and figure of the layers lack, as text."""
    bad = []
    page = ROOT / "Documentation/architecture.rst"
    if picture() not in page.read_text(encoding="utf-8"):
        bad.append(f"{page.relative_to(ROOT)} has another picture: use scripts/check-layers.py --rst")
    figure = ROOT / "Documentation/figures/layers.dot"
    drawn = set(re.findall(r"\b\w+/", figure.read_text(encoding="utf-8")))
    folders = {word for words, _ in driver_layers() for word in words if word.endswith("/")}
    for folder in sorted(folders - drawn):
        bad.append(f"{figure.relative_to(ROOT)} does not show {folder}")
    return bad


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rst", action="store_true", help="print the driver's layers")
    if parser.parse_args().rst:
        print(picture(), end="")
        return 0
    with_calls = shutil.which("ctags") is not None
    checks = []
    for tree in (Tree("drivers/gpu/drm/tessera", [words for words, _ in driver_layers()][::-1]),
                 Tree("qemu-device", [[word] for word in DEVICE.split()], ("tests", "host"))):
        bad, unlisted = check_tree(tree, with_calls)
        checks.append((f"layers of {tree.name}: every file has a layer", unlisted))
        checks.append((f"layers of {tree.name}: calls and includes go down", bad))
    checks.append(("layers of the driver: the picture in the documents is the order",
                   check_picture()))
    checks.append(("core of qemu-device: nothing includes QEMU's run time", check_core()))
    print(f"1..{len(checks)}")
    for number, (what, lines) in enumerate(checks, 1):
        print(f"{'not ok' if lines else 'ok'} {number} - {what}")
        for line in lines:
            print(f"#   {line}")
    if not with_calls:
        print("# ctags is not installed: only includes were checked")
    return 1 if any(lines for _, lines in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
