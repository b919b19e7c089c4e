# SPDX-License-Identifier: MIT
"""The files of the initramfs that tell the guest's init script what to do."""

import os
import shlex
import shutil

# The tests read these variables in the guest, too.
PASSED_ON = ("TESSERA_SEED", "TESSERA_TIMEOUT_FACTOR", "TESSERA_SOAK_SECONDS",
             "TESSERA_FAIL_FAST", "TESSERA_LONG")


def command_line(command):
    """Return the words of a command as one line for the guest's shell."""
    if not command:
        return "exec sh"
    # One word may hold pipes and redirections.
    return command[0] if len(command) == 1 else shlex.join(command)


def files(args, interactive):
    """Return {path: (content, mode)} of the files for one run."""
    size = shutil.get_terminal_size()
    job = {
        "INTERACTIVE": interactive, "LOAD": args.devices > 0 and not args.no_load,
        "LEAK_CHECK": not interactive and args.leak_check and not args.no_leak_check,
        "SHARE": args.share or "", "MODULES": args.modules.replace(",", " "),
        "ROWS": size.lines, "COLS": size.columns, "JOB_TERM": os.environ.get("TERM", ""),
    }
    env = {"TESSERA_KERNEL": args.kernel, "TESSERA_DEVICE": args.device[0] if args.device else "",
           "TESSERA_DEVICES": args.devices}
    env.update((name, os.environ[name]) for name in PASSED_ON if os.environ.get(name))
    lines = ["%s=%s" % (k, shlex.quote("" if v is False else str(v))) for k, v in job.items()]
    lines += ["export %s=%s" % (k, shlex.quote(str(v))) for k, v in env.items()]
    return {"etc/tessera/job": (("\n".join(lines) + "\n").encode(), 0o644),
            "etc/tessera/command": ((command_line(args.command) + "\n").encode(), 0o644)}
