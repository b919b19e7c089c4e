#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of how things are built."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")


class KeyTest(unittest.TestCase):
    """A copy of what QEMU is built from, in which everything may be changed."""

    def setUp(self):
        self.tree = tempfile.mkdtemp(prefix="tessera-keys-")
        self.addCleanup(shutil.rmtree, self.tree)
        for folder in ("scripts", "qemu-device", "include/tessera"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(self.tree, folder))
        os.mkdir(os.path.join(self.tree, "cache"))
        for name, text in (("qemu-version", "10.0"), ("qemu-version-11.1", "11.1")):
            with open(os.path.join(self.tree, "cache", name), "w", encoding="utf-8") as f:
                f.write(text + "\n")

    def build(self, release, *args):
        return subprocess.run(
            [os.path.join(self.tree, "scripts/build-qemu.sh")] + list(args), text=True,
            env=dict(os.environ, TESSERA_CACHE=os.path.join(self.tree, "cache"), QEMU=release),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def keys(self, release=""):
        """Of the plain build and of those under sanitizers."""
        builds = [self.build(release, "--key", *kind) for kind in ([], ["asan"], ["tsan"])]
        for p in builds:
            self.assertEqual(p.returncode, 0, p.stderr)
        return [p.stdout for p in builds]

    def edit(self, path, old, new):
        path = os.path.join(self.tree, path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new, 1))

    def changed(self, path, old, new):
        before = self.keys()
        self.edit(path, old, new)
        return [a != b for a, b in zip(before, self.keys())]

    def test_stable_and_distinct(self):
        keys = self.keys()
        self.assertEqual(keys, self.keys())
        self.assertEqual(len(set(keys)), 3)

    def test_versions(self):
        """The versions share no binary and no build tree; the default is 10.0."""
        self.assertEqual(self.keys(), self.keys("10.0"))
        self.assertEqual(len(set(self.keys() + self.keys("11.1"))), 6)
        trees = [self.build(release, "--path").stdout for release in ("10.0", "11.1")]
        self.assertNotEqual(trees[0], trees[1])

    def test_unknown_version(self):
        p = self.build("9.2", "--key")
        self.assertNotEqual(p.returncode, 0)
        self.assertIn("QEMU=9.2 is unknown", p.stderr)

    def test_sources(self):
        self.assertEqual(self.changed("qemu-device/tessera_cmd.c", "#include", "\n#include"),
                         [True] * 3)
        self.assertEqual(self.changed("include/tessera/tessera_hw.h", "#define", "\n#define"),
                         [True] * 3)

    def test_overlay(self):
        """How the sources get into QEMU's tree decides what is built, too."""
        self.assertEqual(self.changed("scripts/build-qemu.sh", "--exclude tests/",
                                      "--exclude tests/ --exclude x/"), [True] * 3)
        self.assertEqual(self.changed("scripts/build-qemu.sh", "rsync -rc --delete",
                                      "rsync -rc"), [True] * 3)

    def test_options(self):
        self.assertEqual(self.changed("scripts/build-qemu.sh", "--enable-vnc", "--disable-vnc"),
                         [True] * 3)

    def test_sanitizers(self):
        self.assertEqual(self.changed("scripts/build-qemu.sh", '[asan]="', '[asan]="-g3 '),
                         [False, True, False])
        self.assertEqual(self.changed("scripts/lib/sanitize-ninja.py", "import re", "\nimport re"),
                         [False, True, True])


class FreshMachineTest(unittest.TestCase):
    """What deps.sh installs is used behind it only: each script is started on its own."""

    SCRIPTS = (("build-qemu.sh",), ("build-qemu.sh", "asan"), ("build-debug-kernel.sh",),
               ("fetch-stock-kernel.sh",), ("build-module.sh", "stock"),
               ("build-module.sh", "debug"), ("build-userspace.sh", "userspace"),
               ("build-userspace.sh", "tests"), ("build-guest-image.sh",), ("run-demo.sh",),
               ("check.sh",))
    INSTALLED = ("rsync make gcc cc ninja cpio kmod depmod flex bison bc xz lz4 pahole file"
                 " pkg-config dpkg-source busybox ctags sparse shellcheck clang-format git perl")

    def setUp(self):
        self.tree = tempfile.mkdtemp(prefix="tessera-fresh-")
        self.addCleanup(shutil.rmtree, self.tree)
        shutil.copytree(os.path.join(ROOT, "scripts"), os.path.join(self.tree, "scripts"))
        os.makedirs(os.path.join(self.tree, "cache"))
        self._program("scripts/deps.sh", "exit 42")
        for name in self.INSTALLED.split():
            self._program("bin/" + name, "echo %s >>'%s/early'; exit 127" % (name, self.tree))
        with open("/etc/os-release", encoding="utf-8") as f:
            codename = re.search(r"^VERSION_CODENAME=(\S+)", f.read(), re.M).group(1)
        # What is known of the archive, for no test may need a network.
        for name, text in (("qemu-version", "10.0"), ("kernel-version-" + codename, "6.12.1"),
                           ("kernel-release-6.12.1", "6.12.1-amd64")):
            with open(os.path.join(self.tree, "cache", name), "w", encoding="utf-8") as f:
                f.write(text + "\n")

    def _program(self, path, text):
        path = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n%s\n" % text)
        os.chmod(path, 0o755)

    def test_order(self):
        env = dict(os.environ, TESSERA_CACHE=os.path.join(self.tree, "cache"), QEMU="",
                   PATH="%s:%s" % (os.path.join(self.tree, "bin"), os.environ["PATH"]))
        for script in self.SCRIPTS:
            early = os.path.join(self.tree, "early")
            if os.path.exists(early):
                os.unlink(early)
            with self.subTest(script):
                p = subprocess.run([os.path.join(self.tree, "scripts", script[0])] +
                                   list(script[1:]), env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, check=False)
                # check.sh says 125 for whatever is not there.
                self.assertIn(p.returncode, (42, 125), p.stdout)
                self.assertFalse(os.path.exists(early), p.stdout)


if __name__ == "__main__":
    unittest.main()
