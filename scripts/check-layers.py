#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the layers of the driver and of the device model.

A file includes and calls only files of its own layer and of lower ones. In the driver a folder
is a layer. The device is one folder, so there a layer is a unit: a stem (.c and .h) or one file.

  scripts/check-layers.py          TAP on standard output
  scripts/check-layers.py --rst    the picture of the driver's layers, for the documents
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "Documentation/architecture.rst"
FIGURE = ROOT / "Documentation/figures/layers.dot"

# The driver's folders, the highest first, and what each is for.
DRIVER = """
./          entry points: bus, probe and power, DRM core, debugfs, crash dumps
ioctl/      the calls of an open file: table, checks, the file's state
kms/        the display
submit/     contexts, submissions, their parts and plans
vm/         virtual addresses, page tables, residency lists
sync/       fences that user space names or waits for; the backlog of a file
gem/        objects: creation of each kind, export, import, destruction
cpu/        CPU access to objects: windows, faults, locks, kernel mappings
mem/        objects in memory: pages, places, moves, victims
borrow/     pages of a process or of another device
paging/     commands that move and map memory
segments/   placements in device memory
debug/      checks of dependencies and of CPU mappings, in debug builds
exec/       engines: jobs, priorities, preemption, recovery
client/     processes and open files: what they use, fair shares, quotas
hw/         registers, interrupts, rings and their fences
base/       the device, waits of threads, copies from the user, tracepoints
pure/       logic without a device: planner, packing, patch lists, shares
"""

# The device's units, the lowest first. The first ones, up to tessera_pipeline, are
# the core, which tests/host builds without QEMU.
DEVICE = """
trace.h tessera_layout tessera_access.h tessera_host_ops.h tessera_core.h tessera_head.h
tessera_stream.h tessera_strict tessera_access.c tessera_mmu tessera_view tessera_swizzle
tessera_swizzle_range tessera_surface tessera_mark tessera_paging tessera_copy tessera_pixel
tessera_microcode tessera_texture tessera_raster.h tessera_blit.c tessera_raster.c tessera_plane
tessera_frame tessera_pipeline
tessera_compat.h ram-map ram-remap ram-dirty tessera_trap tessera_written tessera.h tessera_tsan
tessera_irq
tessera_dirty tessera_segments tessera_range_view tessera_iommu tessera_coherence
tessera_host_aperture tessera_bar tessera_save tessera_cmd tessera_fetch tessera_engine
tessera_damage tessera_budget tessera_screen tessera_capture tessera_output tessera_crtc tessera_display
tessera_reset tessera_mmio tessera_vmstate tessera_qemu tessera_pci.c
"""

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
PROTOTYPE = re.compile(r"^\w[\w\s*]*\([^{};]*\);", re.M)
DEFINITION = re.compile(r"^(?!static\b)\w[\w\s*]*?\b(\w+)\([^{};]*\)\s*\{", re.M)
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def names(rel):
    """The words that the order may have for a file."""
    yield rel.name
    yield rel.stem
    yield f"{rel.parts[0]}/" if rel.parts[1:] else "./"


def check(top, order):
    """(faults of the order, faults of the files) of a tree, the lowest layer first in the order."""
    missing, upward, defined = [], [], {}
    words, code = {}, {}
    for path in sorted((ROOT / top).rglob("*.[ch]")):
        rel = path.relative_to(ROOT / top)
        if path.name.endswith(".mod.c") or rel.parts[0] in ("tests", "host"):
            continue
        words[path] = next((word for word in names(rel) if word in order), None)
        code[path] = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
        if words[path] is None:
            missing.append(f"{top}/{rel} is in no layer")
    missing += [f"{word} is a layer without a file" for word in order if word not in words.values()]
    rank = {path: order.index(word) for path, word in words.items() if word}
    for path in rank:
        defined.update((name, path) for name in DEFINITION.findall(code[path]))
    for path, here in rank.items():
        rel = path.relative_to(ROOT)
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if max(rank.get((base / name).resolve(), 0) for base in (path.parent, ROOT / top)) > here:
                upward.append(f"{rel} includes {name}, which is above it")
        for name in sorted(set(CALL.findall(PROTOTYPE.sub(" ", code[path]))) & defined.keys()):
            if rank[defined[name]] > here:
                upward.append(f"{rel} calls {name}() of {defined[name].name}, which is above it")
    return missing, upward


def check_picture():
    """What the documents' list and figure of the layers lack."""
    if picture() not in PAGE.read_text(encoding="utf-8"):
        yield f"{PAGE.relative_to(ROOT)} has another picture: use scripts/check-layers.py --rst"
    drawn = FIGURE.read_text(encoding="utf-8")
    for line in DRIVER.split("\n")[2:-1]:
        if line.split()[0] not in drawn:
            yield f"{FIGURE.relative_to(ROOT)} does not show {line.split()[0]}"


def picture():
    """The driver's layers as a literal block of reStructuredText."""
    return "::\n" + DRIVER.replace("\n", "\n  ").rstrip(" ")


def main():
    """Command line."""
    if sys.argv[1:] == ["--rst"]:
        print(picture(), end="")
        return 0
    checks = []
    for top, order in (("drivers/gpu/drm/tessera", re.findall(r"^\S+/", DRIVER, re.M)[::-1]),
                       ("qemu-device", DEVICE.split())):
        missing, upward = check(top, order)
        checks += [(f"{top}: the order of layers has every file", missing),
                   (f"{top}: calls and includes go down", upward)]
    checks.append(("the documents show the driver's layers", list(check_picture())))
    print(f"1..{len(checks)}")
    for number, (what, faults) in enumerate(checks, 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {what}", *faults, sep="\n#   ")
    return 1 if any(faults for _, faults in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
