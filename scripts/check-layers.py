#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the layer order of the driver and of the device model.

LAYERS is the order: a file may include or call only files of its own line or of
lines before it. Calls are found with ctags: a function belongs to the file that
defines it, and a mention followed by a parenthesis is a call, so a callback handed
down by its address is not. Inside one line (a stem: .c and .h) everything is
allowed; two stems may not need each other in a loop, which the order excludes.

TAP on standard output.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each word is a folder (it ends with a slash), a stem (.c and .h), or, with an ending, one
# file.
DRIVER = """
A  tessera_hwabi.h tessera_hwabi_check.h
B  pure/
C  tessera_wait_rows.h tessera_wait tessera_uobj tessera_device.h tessera_assert.h tessera_compat.h tessera_trace.h tessera_trace_points.c
C  hw/
D  client/ exec/ debug/
E  segments/ paging/ borrow/ mem/ cpu/ gem/
F  sync/ vm/ submit/
G  kms/
H  ioctl/
I  tessera_drv.h tessera_firmware tessera_debugfs tessera_drv.c tessera_bringup.c tessera_pci
"""

DEVICE = """
A  tessera_compat.h ram-map ram-remap ram-dirty
A  trace.h tessera_access.h tessera_written tessera.h tessera_head.h tessera_stream.h tessera_tsan
B  tessera_irq tessera_dirty tessera_layout tessera_segments tessera_strict tessera_range_view tessera_iommu tessera_access.c tessera_coherence tessera_mmu tessera_view
B  tessera_host_aperture tessera_swizzle tessera_swizzle_range tessera_bar
B  tessera_surface tessera_mark tessera_paging tessera_copy tessera_pixel tessera_microcode tessera_texture tessera_raster.h
B  tessera_blit.c tessera_raster.c tessera_save
C  tessera_cmd tessera_fetch tessera_engine
C  tessera_plane tessera_frame tessera_damage tessera_screen tessera_capture tessera_output tessera_crtc tessera_display
C  tessera_reset tessera_mmio
C  tessera_vmstate tessera_pci.c
"""

# Units of the device that use nothing of QEMU's run time themselves: what draws, copies and
# lays out. Their own lines are checked. tessera.h, which brings in PCI and memory regions
# for the state of the device, is not: splitting that header comes before a core that builds
# outside QEMU.
CORE = """
layout swizzle pixel blit raster texture copy frame plane view paging microcode swizzle_range
"""
CORE_INCLUDES = re.compile(
    r"(qemu/(osdep|atomic|bswap|cutils|host-utils|int128|units)|host/stream-store|zlib|trace"
    r"|tessera/tessera_hw|tessera(_\w+)?)\.h$")
# Units that know QEMU, whose headers a core unit must not ask for.
NOT_CORE = re.compile(
    r"tessera_(bar|compat|damage|dirty|display|host_aperture|iommu|mmio|reset|screen|vmstate)\.h$")
RUN_TIME = re.compile(
    r"(address_space|bql|error|flatview|memory_region|migrat\w*|msix|object|pci\w*|qdev|qemu_bh"
    r"|qemu_clock|qemu_cond|qemu_console|qemu_log|qemu_mutex|qemu_ram|ram_block|ram_dirty|ram_map"
    r"|ram_remap|rcu|runstate|timer|vmstate|warn)_\w+$")

TREES = (
    ("drivers/gpu/drm/tessera", DRIVER, ()),
    ("qemu-device", DEVICE, ("tests", "host")),
)

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)


class Tree:
    """One source tree with its order."""

    def __init__(self, top, layers, skip):
        self.top = ROOT / top
        self.skip = skip
        self.rank = {}
        self.met = set()
        words = [w for line in layers.strip().splitlines() for w in line.split()[1:]]
        for place, word in enumerate(words):
            self.rank[word] = place
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
                if there is not None and there > here and declared_only(path, target, code, name):
                    continue
                if there is not None and there > here:
                    edges[(str(rel), str(target.relative_to(ROOT)))].add(name)
    for (caller, callee), names in sorted(edges.items()):
        bad.append(f"{caller} calls {', '.join(sorted(names))} of {callee}, which is above it")
    return bad, unlisted


def check_core():
    """Where a core unit of the device uses QEMU's run time itself, as text."""
    bad = []
    for stem in CORE.split():
        for path in sorted((ROOT / "qemu-device").glob(f"tessera_{stem}.[ch]")):
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r'^\s*#\s*include\s+["<]?([^">\s]+)', text, re.M):
                if not CORE_INCLUDES.match(name) or NOT_CORE.match(name):
                    bad.append(f"{path.relative_to(ROOT)} includes {name}, and is a core unit")
            for name in sorted(set(CALL.findall(COMMENT.sub(" ", text)))):
                if RUN_TIME.match(name):
                    bad.append(f"{path.relative_to(ROOT)} calls {name}(), and is a core unit")
        if not (ROOT / "qemu-device" / f"tessera_{stem}.c").is_file():
            bad.append(f"{stem} is in the list of core units, and there is no such file")
    return bad


def declared_only(path, target, code, name):
    """A header may declare what a file above it defines; that is no call."""
    if path.suffix != ".h":
        return False
    if path.parent == target.parent and path.parent.name == path.stem:
        return True  # a folder's header declares its files, or has stubs for builds without them
    uses = len(re.findall(rf"\b{name}\s*\(", code))
    declarations = len(re.findall(rf"^[\w\s\*]+\b\**{name}\s*\([^{{;]*\)\s*;", code, re.M))
    return uses == declarations


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    with_calls = shutil.which("ctags") is not None
    failed, number = 0, 0
    print(f"1..{2 * len(TREES) + 1}")
    for top, layers, skip in TREES:
        tree = Tree(top, layers, skip)
        bad, unlisted = check_tree(tree, with_calls)
        for what, lines in (("every file has a layer", unlisted),
                            ("calls and includes go down", bad)):
            number += 1
            if lines:
                failed += 1
            print(f"{'not ok' if lines else 'ok'} {number} - layers of {top}: {what}")
            for line in lines:
                print(f"#   {line}")
    lines = check_core()
    failed += bool(lines)
    print(f"{'not ok' if lines else 'ok'} {number + 1} - core units of qemu-device: "
          "none uses QEMU's run time")
    for line in lines:
        print(f"#   {line}")
    if not with_calls:
        print("# ctags is not installed: only includes were checked")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
