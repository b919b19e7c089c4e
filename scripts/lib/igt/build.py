# SPDX-License-Identifier: MIT
"""A finished build of IGT: its programs, and an archive of them for the guest."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile

import initramfs

# What any DRM driver is asked; all else in IGT is of one vendor.
GROUPS = re.compile(r"^(core_\w+|kms_\w+|prime_\w+|syncobj_\w+|sw_sync|dumb_buffer|drm_\w+)$")
# Of vendors all the same, or of the hardware of a laboratory.
NOT = re.compile(r"^(kms_chamelium_\w+|drm_fdinfo|drm_mm|drm_buddy|drm_virtgpu|prime_(nv|udl|i915|amd)\w*)$")
# Of Intel's driver, though neither name nor place in a build tells.
INTEL = re.compile(r"^(kms_(big_fb|busy|ccs|cdclk|dirtyfb|dp_link\w+|draw_crc|dsc|fb_coherency|fbc_\w+|fbcon_fbt|"
                   r"fence_pin_leak|flip_(scaled_crc|tiling)|frontbuffer_tracking|joiner|legacy_colorkey|"
                   r"mmap_write_crc|pipe_(b_c_ivb|stress)|pm_\w+|psr\w*|pwrite_crc)|prime_(busy|mmap\w*|self_import))$")
GUEST_FOLDER = "usr/lib/igt"
# What the C library loads for a thread that ends itself, as one that fails does.
UNWINDER = "/lib/x86_64-linux-gnu/libgcc_s.so.1"


def is_ours(name):
    """Whether a program asks what this device may answer."""
    return GROUPS.match(name) and not NOT.match(name) and not INTEL.match(name)


def programs(igt_dir, wanted=is_ours):
    """{name: path} of those in a build folder of meson, or what it has installed somewhere."""
    found = {}
    for folder, dirs, files in os.walk(igt_dir):
        # Objects, and measurements, some of which have the name of a test.
        dirs[:] = sorted(d for d in dirs if not d.endswith(".p") and d != "benchmarks")
        for name in files:
            path = os.path.join(folder, name)
            if wanted(name) and os.access(path, os.X_OK):
                with open(path, "rb") as f:
                    if f.read(4) == b"\x7fELF":
                        found.setdefault(name, path)
    return dict(sorted(found.items()))


def runner(igt_dir):
    """{name: path} of what runs tests in the guest, goes on behind one, and makes results of that."""
    return programs(igt_dir, lambda name: name in ("igt_runner", "igt_resume", "igt_results"))


def environment(igt_dir):
    """For programs that were not installed where they expect their library."""
    return dict(os.environ, LD_LIBRARY_PATH=":".join(library_path(igt_dir)))


def library_path(igt_dir):
    """Folders with libigt."""
    return sorted({folder for folder, _dirs, files in os.walk(igt_dir)
                   if any(f.startswith("libigt.so") for f in files)})


def _subtests(path, env):
    p = subprocess.run([path, "--list-subtests"], stdout=subprocess.PIPE, text=True, env=env,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False, timeout=120)
    # 79: it has none, it is one test.
    return [] if p.returncode == 79 else p.stdout.split()


def tests(found, igt_dir):
    """All tests, each as PROGRAM@SUBTEST or PROGRAM."""
    env = environment(igt_dir)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        names = pool.map(lambda path: _subtests(path, env), found.values())
        return [test for program, listed in zip(found, names)
                for test in (["%s@%s" % (program, n) for n in listed] or [program])]


def _images(igt_dir):
    """The pictures that tests show: installed, or beside the build folder."""
    for top in (igt_dir, os.path.dirname(os.path.realpath(igt_dir))):
        for folder, dirs, files in os.walk(top):
            dirs[:] = [d for d in dirs if not d.endswith(".p") and d != ".git"]
            if "1080p-left.png" in files:
                return [os.path.join(folder, f) for f in files if f.endswith(".png")]
    return []


def archive(found, igt_dir, path):
    """Write the programs, their libraries and pictures as a cpio archive for the guest."""
    cpio = initramfs.Cpio()
    needed = dict(initramfs.library_closure(list(found.values()), library_path(igt_dir)))
    needed.update(("%s/%s" % (GUEST_FOLDER, name), source) for name, source in found.items())
    # igt_runner refuses a folder without it.
    cpio.data(GUEST_FOLDER + "/test-list.txt", b"TESTLIST\nEND TESTLIST\n", 0o644)
    if os.path.exists(UNWINDER):
        needed[UNWINDER] = os.path.realpath(UNWINDER)
    with tempfile.TemporaryDirectory() as stage:
        out = os.path.join(stage, "stripped")
        for target, source in sorted(needed.items()):
            if source.startswith(os.path.realpath(igt_dir)):
                subprocess.run(["strip", "-o", out, source], check=True)
                source = shutil.copymode(source, out) or out
            cpio.file(target, source)
    for image in _images(igt_dir):
        cpio.file("%s/%s" % (GUEST_FOLDER, os.path.basename(image)), image)
    with open(path, "wb") as f:
        f.write(cpio.finish())
