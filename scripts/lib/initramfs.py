# SPDX-License-Identifier: MIT
"""The guest's root file system as cpio archives.

The base (busybox, the stock kernel's modules, a few programs) is kept in the
cache by content; what changes from run to run (the driver, programs, the job)
is a second archive behind it. The kernel unpacks one after the other.
"""

import fcntl
import hashlib
import importlib.machinery
import importlib.util
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, "build")
CACHE = os.environ.get("TESSERA_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tessera")

# What the stock guest needs beside the driver, and peers to compare with.
STOCK_MODULES = """
virtio_pci virtio_console virtio_blk virtio-iommu 9p 9pnet_virtio
drm drm_kms_helper ttm drm_ttm_helper gpu-sched drm_exec drm_gpuvm drm_buddy
drm_suballoc_helper drm_shmem_helper drm_client_lib drm_display_helper
vgem bochs cirrus virtio-gpu udmabuf
""".split()

# Programs of the host that go into the guest when they are installed.
HOST_PROGRAMS = ["/usr/bin/modetest", "/usr/bin/strace", "/usr/bin/gdbserver"]
BUSYBOX = "/bin/busybox"


class GuestError(Exception):
    """Something that a person must put right; the text says what to do."""


def load_program(path):
    """A program without an ending, as a module."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path), path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    old, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = old
    return module


class Cpio:
    """Writes the `newc` format; parents of a path come by themselves."""

    def __init__(self):
        self.parts = []
        self.paths = set()

    def _entry(self, path, mode, data=b"", rdev=(0, 0), nlink=1):
        name = path.encode() + b"\0"
        fields = (len(self.paths), mode, 0, 0, nlink, 0, len(data), 0, 0,
                  rdev[0], rdev[1], len(name), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name
        self.parts.append(head + b"\0" * (-len(head) % 4))
        if data:
            self.parts.append(data)
            self.parts.append(b"\0" * (-len(data) % 4))

    def directory(self, path, mode=0o755):
        path = path.strip("/")
        if not path or path in self.paths:
            return
        self.directory(os.path.dirname(path))
        self.paths.add(path)
        self._entry(path, stat.S_IFDIR | mode, nlink=2)

    def data(self, path, content, mode=0o644):
        path = path.strip("/")
        if path in self.paths:
            return
        self.directory(os.path.dirname(path))
        self.paths.add(path)
        self._entry(path, stat.S_IFREG | mode, content)

    def file(self, path, source):
        with open(source, "rb") as f:
            mode = 0o755 if os.access(source, os.X_OK) else 0o644
            self.data(path, f.read(), mode)

    def symlink(self, path, target):
        path = path.strip("/")
        if path in self.paths:
            return
        self.directory(os.path.dirname(path))
        self.paths.add(path)
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def node(self, path, major, minor):
        path = path.strip("/")
        self.directory(os.path.dirname(path))
        self.paths.add(path)
        self._entry(path, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def tree(self, path, source):
        """Everything below the folder `source`, symbolic links kept."""
        for folder, dirs, files in os.walk(source):
            dirs.sort()
            to = os.path.join(path, os.path.relpath(folder, source))
            to = os.path.normpath(to)
            self.directory(to)
            for name in sorted(files):
                full = os.path.join(folder, name)
                if os.path.islink(full):
                    self.symlink(os.path.join(to, name), os.readlink(full))
                else:
                    self.file(os.path.join(to, name), full)

    def finish(self):
        self._entry("TRAILER!!!", 0)
        body = b"".join(self.parts)
        return body + b"\0" * (-len(body) % 512)


def library_closure(programs, folders=()):
    """The shared objects that the programs load, also from these folders, as {path in guest: file}."""
    found = {}
    env = dict(os.environ)
    # The project's own libraries come before the system's.
    own = [os.path.join(BUILD, "userspace")]
    for folder, _dirs, files in os.walk(own[0]):
        if any(".so" in f for f in files) and folder not in own:
            own.append(folder)
    env["LD_LIBRARY_PATH"] = ":".join([*own, *folders])
    if not programs:
        return found
    out = subprocess.run(["ldd"] + programs, env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False).stdout
    missing = sorted(set(re.findall(r"^\s*(\S+) => not found", out, re.M)))
    if missing:
        raise GuestError("a guest program needs %s, which is not on this machine\n"
                         "  what to do: make deps userspace" % ", ".join(missing))
    for line in out.splitlines():
        m = re.match(r"\s*(?:(\S+) => )?(/\S+) \(0x", line)
        if not m:
            continue
        name, path = m.group(1), m.group(2)
        if name is None:          # the loader: its path is fixed in the program
            found[path] = os.path.realpath(path)
        elif path.startswith(BUILD):
            found["/usr/lib/" + name] = os.path.realpath(path)
        else:
            arch = "i386" if "i386" in path or "/lib32/" in path else "x86_64"
            found["/lib/%s-linux-gnu/%s" % (arch, os.path.basename(name))] = (
                os.path.realpath(path))
    return found


def add_libraries(cpio, programs):
    for path, source in sorted(library_closure(programs).items()):
        cpio.file(path, source)


def kernel_dir(flavour):
    path = os.path.join(BUILD, "kernels", flavour)
    if not os.path.exists(path):
        raise GuestError("the %s kernel is not there\n  what to do: make kernel-%s"
                         % (flavour, flavour))
    return os.path.realpath(path)


def kernel_image(flavour):
    base = kernel_dir(flavour)
    if flavour == "stock":
        return os.path.join(base, "vmlinuz")
    return os.path.join(base, "arch/x86/boot/bzImage")


def kernel_release(flavour):
    base = kernel_dir(flavour)
    name = "release" if flavour == "stock" else "include/config/kernel.release"
    with open(os.path.join(base, name), encoding="utf-8") as f:
        return f.read().strip()


def _module_closure(modules, names):
    """Files of the modules and all they depend on, in the order of modules.dep."""
    deps = {}
    byname = {}
    with open(os.path.join(modules, "modules.dep"), encoding="utf-8") as f:
        for line in f:
            path, _, needs = line.partition(":")
            deps[path] = needs.split()
            name = os.path.basename(path).split(".ko")[0].replace("-", "_")
            byname[name] = path
    wanted = []
    for name in names:
        path = byname.get(name.replace("-", "_"))
        if not path:
            continue              # built in, or not in this kernel
        for item in [path] + deps[path]:
            if item not in wanted:
                wanted.append(item)
    return wanted


def _stage_modules(release, modules, stage):
    """Unpacked copies of the stock modules, with a modules.dep of their own."""
    target = os.path.join(stage, "lib/modules", release)
    for path in _module_closure(modules, STOCK_MODULES):
        source = os.path.join(modules, path)
        out = os.path.join(target, path)
        for ending in (".xz", ".zst", ".gz"):
            if out.endswith(ending):
                out = out[:-len(ending)]
        os.makedirs(os.path.dirname(out), exist_ok=True)
        if path.endswith(".xz"):
            with lzma.open(source) as src, open(out, "wb") as dst:
                shutil.copyfileobj(src, dst)
        elif path.endswith(".zst"):
            subprocess.run(["zstd", "-qdf", source, "-o", out], check=True)
        elif path.endswith(".gz"):
            with open(out, "wb") as dst:
                subprocess.run(["gzip", "-dc", source], stdout=dst, check=True)
        else:
            shutil.copyfile(source, out)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if os.path.exists(os.path.join(modules, name)):
            shutil.copy(os.path.join(modules, name), target)
    subprocess.run(["/sbin/depmod", "-b", stage, release], check=True)
    for name in os.listdir(target):
        # busybox reads the text forms only.
        if name.endswith(".bin") or name.startswith("modules.builtin") or name in (
                "modules.order", "modules.softdep", "modules.devname"):
            os.unlink(os.path.join(target, name))


def _build_base(flavour):
    cpio = Cpio()
    for path in ("bin", "sbin", "usr/bin", "usr/sbin", "dev", "proc", "sys", "tmp",
                 "run", "mnt", "root", "etc", "lib", "usr/lib", "var"):
        cpio.directory(path)
    cpio.symlink("var/run", "/run")
    cpio.symlink("var/tmp", "/tmp")
    cpio.node("dev/console", 5, 1)
    cpio.file("bin/busybox", BUSYBOX)
    applets = subprocess.run([BUSYBOX, "--list-full"], stdout=subprocess.PIPE,
                             text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "bin/busybox":
            cpio.symlink(applet, "/bin/busybox")
    cpio.data("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"
              b"nobody:x:65534:65534:nobody:/tmp:/bin/sh\n")
    cpio.data("etc/group", b"root:x:0:\nvideo:x:44:\nrender:x:106:\nnogroup:x:65534:\n")
    cpio.data("etc/ld.so.conf", b"/usr/lib\n/lib/x86_64-linux-gnu\n")
    programs = [p for p in HOST_PROGRAMS if os.path.exists(p)]
    for program in programs:
        cpio.file(program, program)
    add_libraries(cpio, programs)
    if flavour == "stock":
        release = kernel_release(flavour)
        with tempfile.TemporaryDirectory() as stage:
            _stage_modules(release, os.path.join(kernel_dir(flavour), "modules"), stage)
            cpio.tree("", stage)
    return cpio.finish()


def base_image(flavour):
    """Path of the cached base archive; built when something in it changed."""
    if not os.path.exists(BUSYBOX):
        raise GuestError("%s is not installed\n  what to do: make deps" % BUSYBOX)
    key = hashlib.sha256()
    with open(os.path.realpath(__file__), "rb") as f:
        key.update(f.read())
    key.update(kernel_release(flavour).encode())
    if flavour == "stock":
        key.update(kernel_dir(flavour).encode())
    for path in [BUSYBOX] + HOST_PROGRAMS:
        if os.path.exists(path):
            s = os.stat(path)
            key.update(b"%s %d %d\n" % (path.encode(), s.st_size, s.st_mtime_ns))
    folder = os.path.join(CACHE, "guest-base")
    path = os.path.join(folder, "%s-%s.cpio" % (flavour, key.hexdigest()[:16]))
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):
                body = _build_base(flavour)
                with open(path + ".tmp", "wb") as f:
                    f.write(body)
                os.rename(path + ".tmp", path)
                _prune(folder)
    try:
        os.utime(path)
    except OSError:
        pass                  # a cache that is only read
    return path


def _prune(folder, keep=6):
    items = [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".cpio")]
    items.sort(key=os.path.getmtime, reverse=True)
    for old in items[keep:]:
        os.unlink(old)


def module_depends(path):
    """Names of the modules that a .ko needs, from its .modinfo."""
    with open(path, "rb") as f:
        m = re.search(rb"\0depends=([^\0]*)\0", f.read())
    return [n for n in m.group(1).decode().split(",") if n] if m else []


def _without_debug_info(path):
    """A module as the kernel wants it: the rest is most of it, and slow to unpack and to load."""
    with tempfile.NamedTemporaryFile(suffix=".ko") as out:
        subprocess.run(["strip", "--strip-debug", "-o", out.name, path], check=True)
        return out.read()


def _add_driver(cpio, flavour):
    folder = os.path.join(BUILD, "module-" + flavour)
    names = []
    if os.path.isdir(folder):
        names = sorted(n for n in os.listdir(folder) if n.endswith(".ko"))
    for name in names:
        cpio.data("lib/modules/" + name, _without_debug_info(os.path.join(folder, name)))
    driver = os.path.join(folder, "tessera.ko")
    depends = module_depends(driver) if os.path.exists(driver) else []
    cpio.data("etc/tessera/depends", ("\n".join(depends) + "\n").encode())


def overlay(flavour, extra=None):
    """The archive of everything that may change: driver, programs, the job."""
    cpio = Cpio()
    guest_root = os.path.join(ROOT, "scripts", "guest-root")
    for folder, dirs, files in os.walk(guest_root):
        dirs.sort()
        for name in sorted(files):
            full = os.path.join(folder, name)
            cpio.file(os.path.relpath(full, guest_root), full)
    _add_driver(cpio, flavour)
    bindir = os.path.join(BUILD, "guest-bin")
    programs = []
    if os.path.isdir(bindir):
        for name in sorted(os.listdir(bindir)):
            full = os.path.join(bindir, name)
            if os.path.islink(full):
                cpio.symlink("usr/bin/" + name, os.readlink(full))
            elif os.path.isfile(full):
                cpio.file("usr/bin/" + name, full)
                if os.access(full, os.X_OK):
                    with open(full, "rb") as f:
                        if f.read(4) == b"\x7fELF":
                            programs.append(full)
    add_libraries(cpio, programs)
    share = os.path.join(BUILD, "guest-share")
    if os.path.isdir(share):
        cpio.tree("usr/share/tessera", share)
    for path, (content, mode) in sorted((extra or {}).items()):
        cpio.data(path, content, mode)
    return cpio.finish()


def write_image(flavour, path, extra=None, archives=()):
    """The whole initramfs for one run or for `make guest-image`."""
    shutil.copyfile(base_image(flavour), path + ".tmp")
    with open(path + ".tmp", "ab") as f:
        for archive in archives:
            with open(archive, "rb") as source:
                shutil.copyfileobj(source, f)
        f.write(overlay(flavour, extra))
    os.rename(path + ".tmp", path)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("stock", "debug"):
        sys.exit("usage: initramfs.py stock|debug OUTPUT")
    try:
        write_image(sys.argv[1], sys.argv[2])
    except GuestError as e:
        sys.exit("error: %s" % e)


if __name__ == "__main__":
    main()
