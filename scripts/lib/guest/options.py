# SPDX-License-Identifier: MIT
"""The arguments of scripts/guest."""

import argparse


def without_outputs(props):
    """Add outputs=0 to the properties of a device unless they set the outputs.

    The memory that a console takes would be missing where a test counts memory.
    """
    return props if "outputs=" in props else ",".join(filter(None, (props, "outputs=0")))


def devices(properties, number):
    """Return the properties of each device.

    `properties` has one string for each --device. `number` is the value of
    --devices, or None: more devices get the last properties, fewer drop some.
    """
    found = [without_outputs(props) for props in properties or [""]]
    if number is None:
        return found
    return (found + found[-1:] * (number - len(found)))[:number]


def _parser(description):
    p = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS, allow_abbrev=False)
    p.add_argument("--kernel", choices=("stock", "debug"), default="stock",
                   help="which kernel (stock)")
    p.add_argument("--device", metavar="PROPS", action="append", default=[],
                   help="properties of the Tessera device, e.g. vram-size=4M,strict=on;"
                        " given again, of one more device")
    p.add_argument("--devices", metavar="N", type=int, default=None,
                   help="number of devices with the properties of the last --device; 0 for none")
    p.add_argument("--share", metavar="DIR", help="this folder appears at /mnt, read-write")
    p.add_argument("--archive", metavar="FILE", action="append", default=[],
                   help="more of the guest's root: a cpio archive, newc")
    p.add_argument("--qemu-args", metavar="ARGS", default="", help="more for QEMU's command line")
    p.add_argument("--vcpu-threads", choices=("multi", "single"), default="multi",
                   help="one host thread for each emulated CPU, or one for all: needed where "
                        "PCI functions are moved or reset under load (multi)")
    p.add_argument("--append", metavar="ARGS", default="",
                   help="more for the kernel's command line")
    p.add_argument("--timeout", metavar="S", type=float, default=None,
                   help="seconds until the guest is stopped (300; none for a shell)")
    p.add_argument("--patience", metavar="N", type=int, default=1,
                   help="factor for the time limits of a boot, a program and a test, where the"
                        " guest's clock is not this machine's (1)")
    p.add_argument("--memory", metavar="M", default=None, help="guest memory (1G; debug 2G)")
    p.add_argument("--no-load", action="store_true", help="do not load the driver")
    p.add_argument("--modules", metavar="NAMES", default="",
                   help="more of the kernel's modules to load first, e.g. vgem,bochs")
    p.add_argument("--leak-check", action="store_true",
                   help="at the end unload the driver and, on the debug kernel, look for leaks"
                        " (20 s)")
    p.add_argument("--no-leak-check", action="store_true", help="overrides --leak-check")
    p.add_argument("--allow-log", metavar="REGEX", action="append", default=[],
                   help="kernel messages that are expected and count as no problem")
    p.add_argument("--qmp", metavar="PATH", help="a QMP socket for the host's side of a test")
    p.add_argument("--monitor", choices=("none", "guest"), default="none",
                   help="guest: QEMU's monitor (QMP) is at a port of the guest, /dev/vport0p5, for"
                        " tests of what the host does")
    p.add_argument("--panic-screen", metavar="FILE",
                   help="the command is to end in a panic: keep what the screen shows then (PNG);"
                        " exit with 0 if that is the kernel's message and nothing else")
    p.add_argument("--log", metavar="FILE", help="the kernel log (build/guest-logs/...)")
    p.add_argument("--verbose", action="store_true", help="show the kernel log on standard error")
    p.add_argument("--dry-run", action="store_true", help="print QEMU's command line and stop")
    return p


def parse(argv, description=None):
    """Return the arguments; `device` lists the properties of each device,
    `devices` is their number, and `command` has the words behind `--`.
    """
    command = []
    if "--" in argv:
        cut = argv.index("--")
        argv, command = argv[:cut], argv[cut + 1:]
    args = _parser(description).parse_args(argv)
    args.command = command
    args.device = devices(args.device, args.devices)
    args.devices = len(args.device)
    return args
