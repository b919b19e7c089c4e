# SPDX-License-Identifier: MIT
"""The command line of QEMU."""

import os
import re
import shlex
import subprocess

import clock
import initramfs
import qemubuild

# The ports of the virtio serial device. Their numbers begin at 1, port 0 is
# the console.
PORTS = ("in", "out", "err", "ctl")


def command(args, work, fds, log):
    """Return the command line of a guest.

    `work` is the folder with the initramfs and the device's log. `fds` has the
    file descriptors that QEMU inherits: one for each of PORTS, `tty`, and the
    two ends of the monitor's connection. `log` is the path of the kernel log.
    """
    program = find_program()
    if args.devices > 0:
        check_device(program)
    accel = accelerator(args.vcpu_threads)
    cmd = [program, "-L", _firmware(program)] + _machine(args) + accel
    cmd += ["-d", "guest_errors", "-D", os.path.join(work, "device.log")]
    cmd += ["-kernel", initramfs.kernel_image(args.kernel),
            "-initrd", os.path.join(work, "initrd"),
            "-append", kernel_arguments(args.kernel, clock_rate(args, accel)) + args.append]
    cmd += _channels(args, fds, log) + _share(args.share)
    # The devices may name a bus that these arguments create.
    cmd += shlex.split(args.qemu_args)
    for n, props in enumerate(args.device):
        cmd += ["-device", "tessera,id=tessera%d%s" % (n, "," + props if props else "")]
    if args.qmp:
        cmd += ["-qmp", "unix:%s,server=on,wait=off" % escape(args.qmp)]
    return cmd


def find_program():
    """Return the path of the QEMU that has the device."""
    path = os.environ.get("TESSERA_QEMU") or os.path.join(
        initramfs.BUILD, qemubuild.folder(), "qemu-system-x86_64")
    if not os.path.exists(path):
        raise initramfs.GuestError("QEMU with the device is not built\n"
                                   "  what to do: make %s" % qemubuild.target())
    return path


def check_device(program):
    """Require that this QEMU has the device."""
    out = subprocess.run([program, "-device", "help"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False).stdout
    if '"tessera"' not in out:
        raise initramfs.GuestError(
            "this QEMU has no device 'tessera'\n"
            "  what to do: make %s (or --devices 0 for a guest without it)" % qemubuild.target())


def accelerator(vcpu_threads):
    """Return the options for the accelerator and the CPU model."""
    choice = os.environ.get("TESSERA_ACCEL")
    if not choice:
        choice = "kvm" if _kvm_works() else "tcg"
    if choice == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    if choice == "tcg":
        choice = "tcg,thread=" + vcpu_threads
    # Without these two features the kernel copies by words. TCG emulates that
    # faster than the string instructions that the kernel prefers otherwise.
    return ["-accel", choice, "-cpu", "max,-erms,-fsrm"]


def _kvm_works():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            if not re.search(r"^flags\b.*\b(svm|vmx)\b", f.read(), re.M):
                return False
        os.close(os.open("/dev/kvm", os.O_RDWR))
    except OSError:
        return False
    return True


def clock_rate(args, accel):
    """Return the kernel argument with the rate of the TSC.

    Under TCG the guest's TSC is the host's, except with -icount.
    """
    if not accel[1].startswith("tcg") or "-icount" in args.qemu_args:
        return ""
    khz = clock.tsc_khz()
    return "tsc_early_khz=%d " % khz if khz else ""


def kernel_arguments(kernel, clock_argument=""):
    """Return the kernel's command line, with a space at its end."""
    words = ["console=ttyS0 ignore_loglevel panic=-1 oops=panic rdinit=/init",
             "tsc=reliable no_timer_check random.trust_cpu=on"]
    # With five levels, an interrupt during the identification of the boot CPU
    # makes KASAN report a valid address as wild. Four levels are also faster to
    # walk.
    words.append("no5lvl")
    # QEMU 10.0 looks up an access of one emulated CPU in the current memory
    # map, with the index that it had in the previous one. While Linux sizes
    # the BARs of many devices, the timer write of another CPU may hit a wrong
    # device, and the guest stands still. The init script starts the other CPUs
    # after the bus is set up.
    words.append("maxcpus=1")
    # The debug kernel would spend seconds on 512 unused terminals.
    words.append("kmemleak=on pty.legacy_count=0" if kernel == "debug" else "nowatchdog")
    return " ".join(words) + " " + clock_argument


def _firmware(program):
    share = os.path.join(os.path.dirname(os.path.realpath(program)), "share")
    return share if os.path.isdir(share) else os.path.join(
        initramfs.BUILD, qemubuild.folder(), "share")


def _machine(args):
    memory = args.memory or ("2G" if args.kernel == "debug" else "1G")
    return ["-M", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none",
            "-smp", "2", "-m", memory, "-no-reboot"]


def _channels(args, fds, log):
    """The serial lines for the kernel log and a shell, and the ports."""
    cmd = ["-chardev", "file,id=console,path=%s" % escape(log), "-serial", "chardev:console"]
    cmd += ["-chardev", "socket,id=tty,fd=%d" % fds["tty"], "-serial", "chardev:tty"]
    cmd += ["-device", "virtio-serial-pci,id=channels,max_ports=8"]
    for number, name in enumerate(PORTS, 1):
        cmd += ["-chardev", "socket,id=%s,fd=%d" % (name, fds[name]),
                "-device", _port(number, name, name)]
    if args.monitor == "guest":
        cmd += ["-chardev", "socket,id=monitor,fd=%d" % fds["monitor"],
                "-mon", "chardev=monitor,mode=control",
                "-chardev", "socket,id=port,fd=%d" % fds["port"],
                "-device", _port(5, "port", "monitor")]
    return cmd


def _port(number, chardev, name):
    return "virtserialport,bus=channels.0,nr=%d,chardev=%s,name=%s" % (number, chardev, name)


def _share(folder):
    if not folder:
        return []
    return ["-fsdev", "local,id=share,security_model=none,multidevs=remap,path=%s"
            % escape(os.path.realpath(folder)),
            "-device", "virtio-9p-pci,fsdev=share,mount_tag=share"]


def escape(path):
    """Return a path as a value in a list of QEMU's options."""
    return path.replace(",", ",,")
