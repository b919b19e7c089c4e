# SPDX-License-Identifier: MIT
"""What each tier needs built."""

import concurrent.futures
import hashlib
import os
import subprocess
import sys

import qemubuild

from .results import BUILD, RESULTS, ROOT, run_program

# Everything built, by tier; see Builds.
NEEDS = {
    "lint": ("kernel-stock", "kernel-debug"),
    "lib": ("userspace",),
    "qtest": ("qemu", "qemu-asan"),
    "kunit": ("qemu", "kernel-debug", "module-debug"),
    "guest-stock": ("qemu", "kernel-stock", "module", "guest-tests"),
    "guest-debug": ("qemu", "kernel-debug", "module-debug", "guest-tests"),
    "tsan": ("qemu", "qemu-tsan", "kernel-stock", "module", "guest-tests"),
}


class Builds:
    """Builds each thing once; the debug kernel beside the others."""

    def __init__(self):
        self.state = {}
        self.background = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(1)

    def start_background(self, target):
        self.background[target] = self.pool.submit(run_program, ["make", "-s", target], 5400)

    def get(self, target):
        if target in self.state:
            return self.state[target]
        sys.stdout.flush()
        if target in self.background:
            future = self.background[target]
            if not future.done():
                print("-- wait for the build of %s" % target, flush=True)
            text, code = future.result()
            print(text, end="", flush=True)
        else:
            code = subprocess.run(["make", "-s", target], cwd=ROOT, check=False,
                                  stdin=subprocess.DEVNULL).returncode
        self.state[target] = code == 0
        if code:
            RESULTS.add_missing("build/%s" % target)
        return self.state[target]

    def all(self, targets):
        return all([self.get(t) for t in targets])


def kernel_identity(flavour):
    """A line that says which kernel the results are of, None if there is none."""
    tree = os.path.join(BUILD, "kernels", flavour)
    image = os.path.join(tree, "vmlinuz" if flavour == "stock" else "arch/x86/boot/bzImage")
    release = os.path.join(tree, "release" if flavour == "stock"
                           else "include/config/kernel.release")
    try:
        with open(release, encoding="utf-8") as f:
            name = f.read().strip()
        with open(image, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()[:12]
    except OSError:
        return None
    return "%s kernel: %s, image %s in %s" % (flavour, name, digest, os.path.realpath(tree))


def qemu_identity():
    """A line that says which QEMU the results are of, None if there is none."""
    path = os.path.join(BUILD, qemubuild.folder(), "qemu-system-x86_64")
    try:
        text, code = run_program([path, "--version"], 30)
    except OSError:
        return None
    return None if code else "%s, in %s" % (
        text.split("\n")[0], os.path.relpath(os.path.dirname(path), ROOT))
