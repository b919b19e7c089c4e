# SPDX-License-Identifier: MIT
"""Where scripts/build-qemu.sh puts each build of QEMU.

The variable QEMU selects the version, here and in that script.
"""

import os

DEFAULT = "10.0"


def release():
    return os.environ.get("QEMU") or DEFAULT


def folder(kind=""):
    """Return the name below build/ of the selected QEMU, plain or under a sanitizer."""
    words = ["qemu", "" if release() == DEFAULT else release(), kind]
    return "-".join(word for word in words if word)


def target():
    """Return the arguments of make that build the selected QEMU."""
    return "qemu" if release() == DEFAULT else "qemu QEMU=" + release()
