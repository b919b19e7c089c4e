# SPDX-License-Identifier: MIT
"""Child processes: their end, and how many guests run at a time."""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time

import initramfs


def die_with_parent():
    """In the child: die with the parent, even if that is killed by SIGKILL."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def stop(qemu):
    """End QEMU. It gets 5 s, in which the device logs its counts."""
    qemu.terminate()
    try:
        qemu.wait(5)
    except subprocess.TimeoutExpired:
        qemu.kill()
        qemu.wait()


def take_slot():
    """Wait until this machine has room for one more guest.

    More guests than that would slow each other down until their time limits
    end them. Returns the open file whose lock is the slot. The lock goes when
    this process ends.
    """
    slots = int(os.environ.get("TESSERA_GUEST_SLOTS") or (os.cpu_count() or 1) + 1)
    folder = os.path.join(initramfs.CACHE, "locks")
    if not os.access(initramfs.CACHE, os.W_OK):
        return None           # without a cache to write, there is no place for a lock
    os.makedirs(folder, exist_ok=True)
    told = False
    while True:
        for n in range(slots):
            f = open(os.path.join(folder, "guest-%d" % n), "w", encoding="utf-8")
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return f
            except OSError:
                f.close()
        if not told:
            sys.stderr.write("guest: %d guests run already, waiting for one to end"
                             " (TESSERA_GUEST_SLOTS changes that)\n" % slots)
            told = True
        time.sleep(0.25)
