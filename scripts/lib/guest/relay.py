# SPDX-License-Identifier: MIT
"""Bytes between this process and the guest, and what the guest's init script reports.

The command's standard input, output and error each have a port of their own.
The port `ctl` has lines of the init script: `start`, `problem TEXT`, `exit CODE`
and `done`. A shell has the serial line `tty` instead of the three ports.
"""

import os
import selectors
import socket
import sys
import termios
import time
import tty

from .process import die_with_parent


def _pipe_from(fd):
    """Return a pipe that a child process fills from a file.

    A selector cannot wait for a regular file or /dev/null.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        die_with_parent()
        os.close(reader)
        try:
            while True:
                data = os.read(fd, 65536)
                if not data:
                    break
                while data:
                    data = data[os.write(writer, data):]
        except OSError:
            pass
        os._exit(0)
    os.close(writer)
    return reader


def _rest(sock):
    """Yield the bytes in a socket without waiting for more."""
    sock.setblocking(False)
    while True:
        try:
            data = sock.recv(65536)
        except OSError:
            return
        if not data:
            return
        yield data


class Relay:
    """Moves bytes between this process and the guest until the guest is done."""

    def __init__(self, sockets, interactive, watch):
        self.sockets = sockets
        self.watch = watch
        self._line = b""
        self.interactive = interactive
        self.exit_code = None
        self.problems = []
        self.started = None
        self.done = False
        self._ctl = b""
        self._pending = b""
        self.selector = selectors.DefaultSelector()
        outputs = ("tty", "ctl") if interactive else ("out", "err", "ctl")
        for name in outputs:
            self.selector.register(sockets[name], selectors.EVENT_READ, name)
        self.to_guest = sockets["tty" if interactive else "in"]
        self.stdin = self._stdin()

    def _stdin(self):
        try:
            fd = sys.stdin.fileno()
            os.fstat(fd)
        except (AttributeError, OSError, ValueError):
            self._end_input()
            return None
        try:
            self.selector.register(fd, selectors.EVENT_READ, "stdin")
        except PermissionError:
            fd = _pipe_from(fd)
            self.selector.register(fd, selectors.EVENT_READ, "stdin")
        return fd

    def _end_input(self):
        if not self.interactive:
            try:
                self.to_guest.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def _from_stdin(self):
        data = os.read(self.stdin, 65536)
        if not data:
            self.selector.unregister(self.stdin)
            self._end_input()
            return
        self._pending += data
        # Read no more until the guest has taken this.
        self.selector.unregister(self.stdin)
        self.to_guest.setblocking(False)
        self._flush()

    def _flush(self):
        try:
            sent = self.to_guest.send(self._pending)
            self._pending = self._pending[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = b""
        known = self.to_guest in self.selector.get_map()
        key = "tty" if self.interactive else "to-guest"
        base = selectors.EVENT_READ if self.interactive else 0
        if self._pending:
            events = base | selectors.EVENT_WRITE
            if known:
                self.selector.modify(self.to_guest, events, key)
            else:
                self.selector.register(self.to_guest, events, key)
            return
        if base:
            self.selector.modify(self.to_guest, base, key)
        elif known:
            self.selector.unregister(self.to_guest)
        self.selector.register(self.stdin, selectors.EVENT_READ, "stdin")

    def _control(self, data):
        self._ctl += data
        while b"\n" in self._ctl:
            line, self._ctl = self._ctl.split(b"\n", 1)
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            if word == "start":
                self.started = time.monotonic()
                self.watch.booted()
            elif word == "exit":
                self.exit_code = int(rest)
            elif word == "problem":
                self.problems.append(rest)
            elif word == "done":
                self.done = True

    def _from_guest(self, name, sock):
        try:
            data = sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(sock)
            return
        if name == "ctl":
            self._control(data)
            return
        if name == "out":
            self._watch_output(data)
        out = sys.stderr.fileno() if name == "err" else sys.stdout.fileno()
        try:
            while data:
                data = data[os.write(out, data):]
        except BrokenPipeError:
            self.selector.unregister(sock)

    def _watch_output(self, data):
        """Tell the watch the marks in the output. A mark is shorter than 200 bytes."""
        *lines, last = (self._line + data).split(b"\n")
        for line in lines:
            if line.startswith(b"#@"):
                self.watch.output(line.decode("utf-8", "replace"))
        self._line = last[:200]

    def turn(self, timeout):
        """Pass on bytes, and wait for them at most `timeout` seconds."""
        for key, events in self.selector.select(timeout):
            if key.data == "stdin":
                self._from_stdin()
                continue
            if events & selectors.EVENT_WRITE:
                self._flush()
            if events & selectors.EVENT_READ:
                self._from_guest(key.data, key.fileobj)

    def drain(self):
        """Pass on the bytes that are left in the sockets after QEMU has ended."""
        for name in ("tty", "out", "err", "ctl"):
            for data in _rest(self.sockets[name]):
                if name == "ctl":
                    self._control(data)
                elif name in ("out", "err") and not self.interactive:
                    try:
                        os.write(2 if name == "err" else 1, data)
                    except BrokenPipeError:
                        break


class Terminal:
    """The terminal, in raw mode while the guest's shell uses it."""

    def __init__(self, active):
        self.saved = None
        if active:
            self.saved = termios.tcgetattr(0)
            tty.setraw(0)

    def restore(self):
        if self.saved is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self.saved)
            self.saved = None
