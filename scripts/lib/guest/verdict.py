# SPDX-License-Identifier: MIT
"""The exit code of scripts/guest, and the report about the guest."""

import collections
import os
import re
import resource
import sys
import time

from . import log

EXIT_KERNEL, EXIT_TIMEOUT, EXIT_DIED, EXIT_SETUP = 90, 91, 92, 125

# Lines of QEMU's own messages that are shown.
QEMU_LINES = 40

# relay: a Relay whose guest has ended. timed_out: whether it was stopped at a
# limit. qemu_code, qemu_said: QEMU's exit code and messages. log: the path of the
# kernel log. begin: the time of the start.
Outcome = collections.namedtuple("Outcome", "relay timed_out qemu_code qemu_said log begin")


def verdict(args, outcome):
    """Report about an ended guest and return the exit code."""
    relay, text = outcome.relay, log.read(outcome.log)
    sys.stdout.flush()
    found = log.find_problems(text, args.allow_log)
    _print_messages(args, outcome)
    if outcome.timed_out:
        sys.stderr.write("guest: stopped after %.0f s (%s)\n" % (
            time.monotonic() - outcome.begin, unfinished(relay)))
        if found:
            log.print_problems(text, found, outcome.log)
        else:
            log.print_tail(text, outcome.log)
        return EXIT_TIMEOUT
    if found:
        log.print_problems(text, found, outcome.log)
        return EXIT_KERNEL
    if relay.exit_code is None:
        sys.stderr.write("guest: died before the command ended (QEMU's exit code %s)\n"
                         % outcome.qemu_code)
        log.print_tail(text, outcome.log)
        return EXIT_DIED
    if relay.problems:
        return EXIT_KERNEL
    if args.panic_screen and not relay.watch.panicked:
        sys.stderr.write("guest: the kernel did not panic\n")
        return 1
    if os.environ.get("TESSERA_GUEST_TIMES"):
        _print_times(outcome)
    return relay.exit_code


def unfinished(relay):
    """Return a phrase for the part of the run that was too slow."""
    if relay.watch.overdue():
        return "%s did not end" % relay.watch.overdue()
    if relay.started is None:
        return "before the command began"
    if relay.exit_code is None:
        return "the command did not end"
    return "the command had ended, the guest had not"


def _print_messages(args, outcome):
    """Print the messages of QEMU, of the guest's init script, and of the device."""
    said = outcome.qemu_said
    if outcome.timed_out or args.panic_screen:
        # This program has stopped QEMU.
        said = re.sub(r"^.*terminating on signal 15.*\n?", "", said, flags=re.M)
    if said.strip():
        sys.stderr.write("qemu: %s\n" % "\nqemu: ".join(said.strip().split("\n")[:QEMU_LINES]))
    for problem in outcome.relay.problems:
        sys.stderr.write("guest: %s\n" % problem)
    for line in outcome.relay.watch.referee.report():
        sys.stderr.write("device: %s\n" % line)


def _print_times(outcome):
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stderr.write("guest: %.1f s to the command, %.1f s in all, %.1f s of the processors\n" % (
        outcome.relay.started - outcome.begin, time.monotonic() - outcome.begin,
        used.ru_utime + used.ru_stime))
