#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure what a still picture costs the host: the row idle_screen, as JSON.

Two guests run beside each other and do nothing. One has four heads that show the
kernel's console, each with a VNC viewer that asks for updates all the time; the
other has no display. Each sample is the CPU time of both QEMU processes in the same
span of time.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

SCRIPTS = os.path.dirname(os.path.realpath(__file__))
HEADS = 4
SAMPLE_SECONDS = 10
SETTLE_SECONDS = 100
# The kernel's console has a cursor that blinks, which is no still picture.
COMMAND = "echo 0 2>/dev/null >/sys/class/graphics/fbcon/cursor_blink; echo ready; cat"


class Guest:
    """A guest that does nothing until it is closed."""

    def __init__(self, device, work, name, qemu_args=""):
        self.qmp = os.path.join(work, name)
        self.process = subprocess.Popen(
            [os.path.join(SCRIPTS, "guest"), "--device", device, "--qmp", self.qmp,
             "--timeout", "900", "--qemu-args", qemu_args, "--", COMMAND],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_ready(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
        else:
            raise SystemExit("bench-idle: a guest does not start")
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.qmp)
            # Of who listens there.
            credentials = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.tasks = "/proc/%d/task" % struct.unpack("3i", credentials)[0]

    def cpu_ns(self):
        """CPU time of all threads so far."""
        total = 0
        for task in os.listdir(self.tasks):
            with open("%s/%s/schedstat" % (self.tasks, task), encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Viewer(threading.Thread):
    """A VNC client (RFB 3.8, raw pixels) that asks for the next update as soon as it has one."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.pixels = 0
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)
        self._receive(12)
        self.s.sendall(b"RFB 003.008\n")
        self._receive(self._receive(1)[0])
        self.s.sendall(b"\1")
        if self._receive(4) != bytes(4):
            raise SystemExit("bench-idle: the VNC server refuses its viewer")
        self.s.sendall(b"\1")
        head = self._receive(24)
        self.size = struct.unpack(">HH", head[:4])
        self._receive(struct.unpack(">I", head[20:])[0])
        self._ask(False)
        self.start()

    def _receive(self, count):
        data = b""
        while len(data) < count:
            more = self.s.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def _ask(self, incremental):
        self.s.sendall(struct.pack(">BBHHHH", 3, incremental, 0, 0, *self.size))

    def run(self):
        try:
            while True:
                kind, count = struct.unpack(">BxH", self._receive(4))
                if kind != 0:
                    raise SystemExit("bench-idle: the VNC server sends message %d" % kind)
                for _rect in range(count):
                    _x, _y, w, h, _encoding = struct.unpack(">HHHHi", self._receive(12))
                    self._receive(w * h * 4)
                    self.pixels += w * h
                self._ask(True)
        except (EOFError, OSError):
            pass


def sample(guests, seconds):
    """CPU seconds of each guest in the same span."""
    before = [guest.cpu_ns() for guest in guests]
    time.sleep(seconds)
    return [(guest.cpu_ns() - ns) / 1e9 for guest, ns in zip(guests, before)]


def main():
    runs = int(os.environ.get("RUNS") or 7)
    with tempfile.TemporaryDirectory() as work:
        paths = [os.path.join(work, "vnc%d" % head) for head in range(HEADS)]
        args = " ".join("-vnc unix:%s,display=tessera0,head=%d,id=vnc%d" % (path, head, head)
                        for head, path in enumerate(paths))
        guests = [Guest("outputs=%d,vram-size=64M" % HEADS, work, "shown", args),
                  Guest("outputs=0,vram-size=64M", work, "dark")]
        for guest in guests:
            guest.wait_ready()
        viewers = [Viewer(path) for path in paths]
        # The VNC server looks at a still picture less and less often, up to every 3 seconds.
        sample(guests, SETTLE_SECONDS)
        seen = [viewer.pixels for viewer in viewers]
        if not all(seen):
            raise SystemExit("bench-idle: a viewer has seen nothing")
        samples = [sample(guests, SAMPLE_SECONDS) for _run in range(runs)]
        moved = sum(viewer.pixels for viewer in viewers) - sum(seen)
        if moved:
            sys.stderr.write("bench-idle: the picture is not still: %d pixels\n" % moved)
        for guest in guests:
            guest.close()
    print(json.dumps({"name": "idle_screen", "unit": "s", "better": "lower", "goal": 1.05,
                      "values": [shown for shown, _dark in samples],
                      "references": [dark for _shown, dark in samples]}))


if __name__ == "__main__":
    main()
