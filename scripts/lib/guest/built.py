# SPDX-License-Identifier: MIT
"""Checks that the parts of a guest are built and not older than their sources.

A missing part ends scripts/guest. An old part gives a warning only, because
the guest builds nothing.
"""

import os
import subprocess
import sys

import initramfs
import qemubuild


def check_driver(args):
    """Require the driver, unless this guest does not load it."""
    if args.no_load or args.devices == 0:
        return
    ko = os.path.join(initramfs.BUILD, "module-" + args.kernel, "tessera.ko")
    target = "module-debug" if args.kernel == "debug" else "module"
    if not os.path.exists(ko):
        raise initramfs.GuestError(
            "the driver is not built for the %s kernel\n  what to do: make %s (or --no-load)"
            % (args.kernel, target))
    if any_newer(("drivers", "include"), os.path.getmtime(ko)):
        warn("driver", target)


def any_newer(tops, built):
    """Return whether a file below one of these folders changed after `built`."""
    for top in tops:
        for folder, _dirs, files in os.walk(os.path.join(initramfs.ROOT, top)):
            if any(os.path.getmtime(os.path.join(folder, f)) > built for f in files):
                return True
    return False


def warn(part, target):
    sys.stderr.write("guest: the %s older than the sources (make %s)\n" % (
        part + (" are" if part.endswith("s") else " is"), target))


def warn_of_old_parts():
    """Warn of old tests, an old library, and an old device."""
    for part, folder, target in (("tests", "tests", "guest-tests"),
                                 ("library and tools", "userspace", "userspace")):
        if _make_would_build(folder):
            warn(part, target)
    if "TESSERA_QEMU" not in os.environ and _device_is_old():
        warn("device", qemubuild.target())


def _make_would_build(folder):
    built = os.path.join(initramfs.BUILD, folder)
    return os.path.isdir(built) and subprocess.run(
        ["make", "-q", "-s", "-C", os.path.join(initramfs.ROOT, folder), "BUILD=" + built,
         "GUEST_BIN=" + os.path.join(initramfs.BUILD, "guest-bin"), "all"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")},
        ).returncode == 1


def _device_is_old():
    try:
        path = os.path.join(initramfs.BUILD, qemubuild.folder(), "key")
        with open(path, encoding="utf-8") as f:
            placed = f.read().strip()
    except OSError:
        return False
    now = subprocess.run([os.path.join(initramfs.ROOT, "scripts", "build-qemu.sh"), "--key"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         check=False)
    return now.returncode == 0 and now.stdout.strip() != placed
