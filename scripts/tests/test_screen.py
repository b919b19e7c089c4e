#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of how screens are read, and of what counts as a client's picture."""

import os
import struct
import sys
import tempfile
import unittest
import zlib

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import initramfs  # noqa: E402  pylint: disable=wrong-import-position
import screen  # noqa: E402  pylint: disable=wrong-import-position

desktop = initramfs.load_program(os.path.join(HERE, "..", "run-desktop.py"))


def plain(colour, width=70, height=40):
    return screen.Picture(width, height, bytes(colour) * (width * height))


class Pictures(unittest.TestCase):
    def test_ppm(self):
        picture = screen.parse_ppm(b"P6\n2 1\n255\n\x01\x02\x03 \n\x0b")
        self.assertEqual((picture.width, picture.height), (2, 1))
        # Pixels that look like white space are pixels.
        self.assertEqual((picture.at(0, 0), picture.at(0.5, 0)), ((1, 2, 3), (32, 10, 11)))

    def test_bad_ppm(self):
        for text in (b"", b"P5\n1 1\n255\nabc", b"P6\n2 2\n255\nabc"):
            with self.assertRaises(ValueError):
                screen.parse_ppm(text)

    def test_share(self):
        picture = screen.Picture(4, 1, bytes((1, 2, 3)) * 3 + bytes(3))
        self.assertEqual(picture.share((1, 2, 3)), 0.75)
        # Bytes of two pixels are no pixel.
        self.assertEqual(picture.share((2, 3, 1)), 0)

    def test_png(self):
        with tempfile.NamedTemporaryFile(suffix=".png") as f:
            screen.Picture(2, 2, bytes(range(12))).write_png(f.name)
            data = f.read()
        self.assertEqual(struct.unpack(">II", data[16:24]), (2, 2))
        at = data.index(b"IDAT")
        size = struct.unpack(">I", data[at - 4:at])[0]
        self.assertEqual(zlib.decompress(data[at + 4:at + 4 + size]),
                         b"\0" + bytes(range(6)) + b"\0" + bytes(range(6, 12)))


class Panic(unittest.TestCase):
    def test_letters_on_black(self):
        self.assertTrue(screen.is_panic(screen.Picture(40, 10, bytes(3 * 390) + b"\xff" * 30)))

    def test_no_picture(self):
        for colour in ((0, 0, 0), (255, 255, 255), (1, 2, 3)):
            self.assertFalse(screen.is_panic(plain(colour)))
        # something of before is left
        self.assertFalse(screen.is_panic(
            screen.Picture(40, 10, bytes(3 * 389) + b"\xff" * 30 + b"\1\2\3")))

    def test_where_the_rest_is(self):
        late = screen.Picture(40, 10, bytes(3 * 320) + b"\1\2\3" * 80)
        self.assertIn("in the last 2 rows", screen.rest_words(late))
        plane = screen.Picture(40, 10, bytes(3 * 45) + b"\1\2\3" * 20 + bytes(3 * 335))
        self.assertIn("in columns 5 to 24 of rows 1 to 1", screen.rest_words(plane))
        self.assertEqual(screen.rest_words(plain((0, 0, 0))), "nowhere")


class Clients(unittest.TestCase):
    def test_an_empty_screen_is_no_client(self):
        for colour in ((0, 0, 0), (127, 127, 127), (0x33, 0x66, 0x99), (255, 255, 255)):
            for name, check in desktop.CHECKS.items():
                self.assertFalse(check(plain(colour)), "%s, %s" % (name, colour))

    def test_paint_of_xsetroot(self):
        self.assertTrue(desktop.xorg(plain((0xc0, 0x40, 0x80))))

    def test_bars_with_colours_swapped(self):
        def bars(order):
            line = b"".join(bytes(c) * 10 for c in order)
            low = [(0, 0, 192), (19, 19, 19), (192, 0, 192), (19, 19, 19), (0, 192, 192),
                   (19, 19, 19), (192, 192, 192)]
            below = b"".join(bytes(c) * 10 for c in low)
            return screen.Picture(70, 40, line * 26 + below * 14)
        right = [(192, 192, 192), (192, 192, 0), (0, 192, 192), (0, 192, 0), (192, 0, 192),
                 (192, 0, 0), (0, 0, 192)]
        self.assertTrue(desktop.smpte(bars(right)))
        self.assertFalse(desktop.smpte(bars([c[::-1] for c in right])))


if __name__ == "__main__":
    unittest.main()
