# SPDX-License-Identifier: MIT
"""QEMU's screens from outside: screendump over QMP, pixels, and PNG files of them.

  screen.py QMP OUTPUT.png [CRC32]     a picture of the first; must have the CRC32 of its RGB bytes
"""

import json
import os
import re
import socket
import struct
import sys
import time
import zlib


class Picture:
    """RGB, 8 bits each."""

    def __init__(self, width, height, data):
        self.width, self.height, self.data = width, height, data

    def at(self, x, y):
        """The pixel at a place given as parts of width and height."""
        place = 3 * (int(y * self.height) * self.width + int(x * self.width))
        return tuple(self.data[place:place + 3])

    def share(self, colour):
        """The part of the pixels that have the colour."""
        wanted = bytes(colour)
        same = sum(self.data[n:n + 3] == wanted for n in range(0, len(self.data), 3))
        return same * 3 / len(self.data)

    def write_png(self, path):
        def chunk(kind, body):
            return (struct.pack(">I", len(body)) + kind + body +
                    struct.pack(">I", zlib.crc32(kind + body)))
        line = 3 * self.width
        rows = b"".join(b"\0" + self.data[n:n + line] for n in range(0, len(self.data), line))
        with open(path, "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" +
                    chunk(b"IHDR", struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)) +
                    chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b""))


def is_panic(picture):
    """White letters, some of them, on black, and nothing of what was there before."""
    return 0.001 < picture.share((255, 255, 255)) < 0.2 and rest(picture) < 0.000001


def rest(picture):
    """The part of the picture that is neither black nor white."""
    return 1 - picture.share((255, 255, 255)) - picture.share((0, 0, 0))


def rest_words(picture):
    """Where that part lies, and what it means."""
    line = 3 * picture.width
    shades = (b"\0\0\0", b"\xff\xff\xff")
    rows = [[x for x in range(picture.width)
             if picture.data[at + 3 * x:at + 3 * x + 3] not in shades]
            for at in range(0, len(picture.data), line)]
    ys = [y for y, row in enumerate(rows) if row]
    if not ys:
        return "nowhere"
    left, right = min(rows[y][0] for y in ys), max(rows[y][-1] for y in ys)
    full = right - left + 1 == picture.width and ys[-1] - ys[0] + 1 == len(ys)
    if full and ys[0] > 0 and ys[-1] == picture.height - 1:
        return ("in the last %d rows: the picture is drawn too high by that much, as if the "
                "framebuffer began where its object does (is its offset taken?), or not all "
                "of it is drawn" % len(ys))
    return ("in columns %d to %d of rows %d to %d: a plane that hides the message, or a part that "
            "was not drawn" % (left, right, ys[0], ys[-1]))


def parse_ppm(data):
    """The Picture in QEMU's binary PPM."""
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    if not head:
        raise ValueError("no binary PPM with 255 levels")
    width, height = int(head.group(1)), int(head.group(2))
    body = data[head.end():]
    if len(body) != 3 * width * height:
        raise ValueError("the picture is cut off")
    return Picture(width, height, body)


class Monitor:
    """QMP of one QEMU."""

    def __init__(self, path, seconds=60):
        self.sock = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + seconds
        while True:
            try:
                self.sock.connect(path)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.file = self.sock.makefile("rw", encoding="utf-8")
        self.file.readline()
        self.execute("qmp_capabilities")

    def execute(self, command, **arguments):
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "error" in answer:
                raise OSError("%s: %s" % (command, answer["error"]["desc"]))
            if "return" in answer:
                return answer["return"]

    def picture(self, path, **console):
        """What a screen shows; `path` is for QEMU to write to."""
        self.execute("screendump", filename=path, **console)
        with open(path, "rb") as f:
            data = f.read()
        os.unlink(path)
        return parse_ppm(data)


def main():
    qmp, output = sys.argv[1:3]
    picture = Monitor(qmp).picture(output + ".ppm")
    picture.write_png(output)
    if len(sys.argv) > 3 and zlib.crc32(picture.data) != int(sys.argv[3], 16):
        sys.exit("error: the screen does not show what was drawn: %s" % output)


if __name__ == "__main__":
    main()
