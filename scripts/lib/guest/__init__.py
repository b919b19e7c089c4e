# SPDX-License-Identifier: MIT
"""The parts of scripts/guest, in the order of a run.

options  the arguments
built    checks that the guest's parts are built and newer than their sources
job      the files that tell the guest's init script what to do
qemu     the command line of QEMU
session  one guest from start to end
relay    bytes between this process and the guest
watch    time limits, panics, and the errors that the device counts
log      the kernel log and the problems in it
verdict  the exit code and the report
"""
