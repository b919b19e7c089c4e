# SPDX-License-Identifier: MIT
"""One guest from start to end."""

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time

import initramfs
import screen

from . import built, job, log, qemu
from .process import die_with_parent, stop, take_slot
from .relay import Relay, Terminal
from .verdict import Outcome, verdict
from .watch import Watch

# The last lines of the guest reach the log before the power goes off.
POWER_OFF_SECONDS = 2


def run(args):
    """Run the command in a guest, report, and return the exit code."""
    interactive = not args.command and os.isatty(0) and os.isatty(1)
    if args.timeout is None:
        args.timeout = 300.0 if not interactive else float("inf")
    if args.share:
        os.makedirs(args.share, exist_ok=True)
    built.check_driver(args)
    if not args.dry_run:
        built.warn_of_old_parts()
    slot = None if interactive or args.dry_run else take_slot()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tessera-guest-") as work:
        outcome = _boot(args, work, interactive, begin)
    if slot:
        slot.close()
    return verdict(args, outcome) if outcome else 0


def _boot(args, work, interactive, begin):
    """Start QEMU and stay until it has ended; return None for --dry-run."""
    if args.panic_screen:
        args.qmp = os.path.join(work, "qmp")
        # A kernel that has panicked must stand still instead of rebooting.
        args.append += " panic=0"
        args.allow_log.append("Kernel panic")
    initramfs.write_image(args.kernel, os.path.join(work, "initrd"),
                          job.files(args, interactive), args.archive)
    ours, theirs = _sockets()
    path = log.new_path(args.log, args.kernel)
    open(path, "w", encoding="utf-8").close()
    fds = {name: end.fileno() for name, end in theirs.items()}
    cmd = qemu.command(args, work, fds, path)
    if args.dry_run:
        print(shlex.join(cmd))
        return None
    errors = os.path.join(work, "qemu.err")
    with open(errors, "wb") as err:
        process = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                                   pass_fds=list(fds.values()), start_new_session=True,
                                   preexec_fn=die_with_parent)
    for end in theirs.values():
        end.close()
    terminal = Terminal(interactive)
    try:
        watch = Watch(path, os.path.join(work, "device.log"), args.patience)
        if not interactive:
            watch.boot(args.kernel)
        relay = Relay(ours, interactive, watch)
        timed_out = _serve(process, relay, begin + args.timeout, path, args)
    finally:
        terminal.restore()
        if process.poll() is None:
            process.kill()
            process.wait()
    with open(errors, encoding="utf-8", errors="replace") as f:
        return Outcome(relay, timed_out, process.returncode, f.read(), path, begin)


def _sockets():
    """Return our ends and QEMU's ends of its connections, by name."""
    ours, theirs = {}, {}
    for name in ("tty",) + qemu.PORTS:
        ours[name], theirs[name] = socket.socketpair()
    # QEMU has both ends of this one: the guest's port and its monitor.
    theirs["monitor"], theirs["port"] = socket.socketpair()
    return ours, theirs


def _serve(process, relay, deadline, path, args):
    """Pass on bytes until the guest ends or a limit is over; return whether one is."""
    watch, shown = relay.watch, 0
    while not relay.done and process.poll() is None:
        left = deadline - time.monotonic()
        watch.look()
        if left <= 0 or watch.overdue() or (args.panic_screen and watch.panicked):
            break
        relay.turn(min(left, 0.2))
        if args.verbose:
            shown += _show(path, shown)
    if relay.done:
        _wait(process, POWER_OFF_SECONDS)
    timed_out = not relay.done and process.poll() is None
    if timed_out and args.panic_screen and watch.panicked:
        timed_out = False
        relay.exit_code = _look_at_panic(args)
        stop(process)
    elif timed_out:
        _wait_for_quiet(path)
        stop(process)
    process.wait()
    relay.drain()
    watch.look()
    return timed_out


def _show(path, begin):
    """Print a log from an offset on; return the number of bytes."""
    with open(path, "rb") as f:
        f.seek(begin)
        text = f.read()
    sys.stderr.write(text.decode("utf-8", "replace"))
    return len(text)


def _wait(process, seconds):
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)


def _wait_for_quiet(path):
    """Wait up to a second for a kernel that still writes into its log."""
    last = 0
    for _ in range(10):
        size = os.path.getsize(path)
        if size == last:
            return
        last = size
        time.sleep(0.1)


def _look_at_panic(args):
    """Keep the screen; return 0 if it shows the panic and nothing else."""
    picture = screen.Monitor(args.qmp).picture(args.panic_screen + ".ppm")
    picture.write_png(args.panic_screen)
    if screen.is_panic(picture):
        return 0
    sys.stderr.write("guest: the screen does not show the panic, at least not all of it; %.1f %% "
                     "is neither letters nor their ground, but older memory contents, %s: %s\n"
                     % (100 * screen.rest(picture), screen.rest_words(picture),
                        args.panic_screen))
    return 1
