#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run display programs in the guest and look at the screen, as QEMU sees it.

  scripts/run-desktop.py --image FILE [CLIENT...]

tests/desktop/run-clients starts each and asks for its screen; this program takes pictures
until one is what the client draws, or too much time is gone, and keeps the last in
build/desktop/CLIENT.png. What the clients say is in CLIENT.txt beside it. The exit code is 1 if a client
failed or its screen was not as it should be, that of scripts/guest if the kernel complained.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import initramfs  # noqa: E402  pylint: disable=wrong-import-position
import screen  # noqa: E402  pylint: disable=wrong-import-position

FOLDER = os.path.join(initramfs.BUILD, "desktop")
CLIENTS = os.path.join(initramfs.ROOT, "tests", "desktop", "run-clients")
SECONDS = 90


def smpte(picture):
    """modetest's bars: their upper part, and some of what is below."""
    bars = ((192, 192, 192), (192, 192, 0), (0, 192, 192), (0, 192, 0), (192, 0, 192), (192, 0, 0),
            (0, 0, 192))
    below = (0, 0, 192), (19, 19, 19), (192, 0, 192), (19, 19, 19), (0, 192, 192)
    return ([picture.at((n + 0.5) / 7, 0.3) for n in range(7)] == list(bars) and
            [picture.at((n + 0.5) / 7, 0.72) for n in range(5)] == list(below))


def cube(picture):
    """kmscube's grey, with a cube of other colours in the middle."""
    grey = all(abs(c - 127) <= 2 for c in picture.at(0.02, 0.02))
    colours = {picture.at(0.3 + 0.05 * n, 0.3 + 0.05 * m) for n in range(9) for m in range(9)}
    return grey and len(colours) > 10


def weston(picture):
    """The background that weston.ini asks for, and a window with something moving in it."""
    return picture.share((0x33, 0x66, 0x99)) > 0.3 and picture.share((0, 0, 0)) < 0.3 and \
        len({picture.data[n:n + 3] for n in range(0, len(picture.data), 3 * 97)}) > 50


def xorg(picture):
    """What xsetroot has painted."""
    return picture.share((0xc0, 0x40, 0x80)) > 0.95


CHECKS = {"modetest": smpte, "kmscube": cube, "weston": weston, "xorg": xorg}


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--image", required=True, help="archive with the programs")
    p.add_argument("--kernel", choices=("stock", "debug"), default="stock")
    p.add_argument("--device", default="outputs=1,strict=on", help="properties; 'none' for no device")
    p.add_argument("--guest-args", action="append", help="more for scripts/guest")
    p.add_argument("clients", metavar="CLIENT", nargs="*")
    return p.parse_args()


def look(monitor, name, folder):
    """Take pictures until one is right; say what there was."""
    end = time.monotonic() + SECONDS
    while True:
        picture = monitor.picture(os.path.join(folder, "screen.ppm"))
        good = CHECKS[name](picture)
        if good or time.monotonic() > end:
            picture.write_png(os.path.join(FOLDER, name + ".png"))
            return good
        time.sleep(0.5)


def guest_command(args, qmp):
    device = ["--devices", "0"] if args.device == "none" else ["--device", args.device]
    return ([os.path.join(initramfs.ROOT, "scripts", "guest"), "--kernel", args.kernel, "--archive",
             args.image, "--memory", "4G", "--timeout", "900", "--share", FOLDER, "--qmp", qmp] +
            device + (args.guest_args or []) + ["--", "sh", "/mnt/run-clients"] + args.clients)


def talk(guest, qmp, folder):
    """Follow the guest; the names of the clients whose screens were wrong."""
    monitor, wrong = None, []
    for line in guest.stdout:
        words = line.split()
        if words[:1] == ["#@screen"]:
            monitor = monitor or screen.Monitor(qmp)
            good = look(monitor, words[1], folder)
            wrong += [] if good else [words[1]]
            print("%s %s: the screen" % ("ok  " if good else "FAIL", words[1]), flush=True)
            guest.stdin.write("go\n")
            guest.stdin.flush()
        else:
            print(line, end="", flush=True)
    return wrong


def main():
    args = parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    shutil.copy(CLIENTS, FOLDER)
    with tempfile.TemporaryDirectory(prefix="tessera-desktop-") as folder:
        qmp = os.path.join(folder, "qmp")
        with subprocess.Popen(guest_command(args, qmp), stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE) as guest:
            wrong = talk(guest, qmp, folder)
    print("%s: pictures and outputs are in %s" % (
        "failed" if wrong or guest.returncode else "all right", FOLDER))
    return guest.returncode or (1 if wrong else 0)


if __name__ == "__main__":
    sys.exit(main())
