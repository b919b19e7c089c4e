# SPDX-License-Identifier: MIT
"""The kernel log: its file, the problems in it, and how they are shown."""

import os
import re
import sys
import time

import initramfs

# Logs in build/guest-logs that are kept when a new one is added.
KEPT_LOGS = 40
# Problems that are shown, and lines of each.
SHOWN_PROBLEMS, PROBLEM_LINES = 6, 30

# Lines that the test programs write: event, test, limit.
MARK = re.compile(r"tessera-test: (begin|end) (.*?)(?: \(limit (\d+) s\))?$")

# The kernel's messages about a problem. Each is matched at the start of a message,
# behind the time stamp.
PROBLEMS = re.compile(r"""
    ^(?:\[\s*[\d.]+\]\S*\s*)?(?:\[\s*T\d+\]\s*)?   # [    1.234567][  T123]
    (?: .*\bWARNING:\s
      | .*\bBUG:\s | .*\bBUG\sat\s | kernel\sBUG
      | .*\bKASAN: | .*\bUBSAN: | UBSAN:
      | Oops | general\sprotection | .*\binvalid\sopcode: | .*double\sfault
      | Kernel\spanic | .*stack\sguard\spage | .*unable\sto\shandle
      | INFO:\s(?:task\s.*blocked\sfor | rcu | possible | trying | lockdep | inconsistent)
      | .*\bblocked\sfor\smore\sthan
      | .*rcu:\s.*(?:detected\sstall|self-detected)
      | .*soft\slockup | .*hard\sLOCKUP
      | .*DMA-API:\s(?!.*(?:preallocated|debugging\s(?:enabled|disabled)))
      | .*refcount_t: | list_(?:add|del)\scorruption | .*Bad\spage\sstate
      | .*page\sdumped\sbecause | .*suspicious\sRCU\susage
      | .*possible\s(?:circular|recursive|irq)\S*\slocking
      | .*inconsistent\slock\sstate | .*held\slock\sfreed
      | .*lock\sheld\swhen\sreturning | .*bad\sunlock\sbalance
      | .*sleeping\sfunction\scalled\sfrom | .*scheduling\swhile\satomic
      | unreferenced\sobject | kmemleak:\s\d+\snew\ssuspected
      | .*\[drm\]\s\*ERROR\*.*kernel\sBUG
      | .*Memory\smanager\snot\sclean
      | .*device\serror\s.*\swhile\sno\sdriver
      | .*cannot\sallocate\slock\sstate | .*MAX_LOCKDEP_\w+\stoo\slow
      | .*kmemleak:\s(?:Kernel\smemory\sleak\sdetector\sdisabled|Memory\spool\sempty)
    )""", re.X)


def new_path(wanted, kernel):
    """Return the path of the log for this run.

    Without a `wanted` one, it is a new name in build/guest-logs, where `last`
    points to it. Old logs there are removed.
    """
    if wanted:
        return os.path.abspath(wanted)
    folder = os.path.join(initramfs.BUILD, "guest-logs")
    os.makedirs(folder, exist_ok=True)
    old = sorted((os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".log")),
                 key=os.path.getmtime)
    for name in old[:-KEPT_LOGS]:
        os.unlink(name)
    path = os.path.join(folder, "%s-%s-%d.log" % (time.strftime("%H%M%S"), kernel, os.getpid()))
    last = os.path.join(folder, "last")
    if os.path.lexists(last):
        os.unlink(last)
    os.symlink(os.path.basename(path), last)
    return path


def read(path):
    """Return the lines of a log."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().replace("\r", "").split("\n")
    except OSError:
        return []


def find_problems(log, allowed):
    """Return the indexes of the lines that report a problem."""
    allow = [re.compile(a) for a in allowed]
    return [n for n, line in enumerate(log)
            if PROBLEMS.match(line) and not any(a.search(line) for a in allow)]


def running_at(log, number):
    """Return the name of the test that ran when the kernel wrote this line."""
    for line in reversed(log[:number]):
        m = MARK.search(line)
        if m:
            return m.group(2) if m.group(1) == "begin" else ""
    return ""


def problem_report(log, found, path):
    """Return the lines that show the first problems and their surroundings."""
    out = ["", "guest: the kernel reported %d problem%s (log: %s)"
           % (len(found), "" if len(found) == 1 else "s", path)]
    shown = -1
    for n in found[:SHOWN_PROBLEMS]:
        if n <= shown:
            continue
        if out[-1] != "":
            out.append("")
        end = min(len(log), n + PROBLEM_LINES)
        during = running_at(log, n)
        if during:
            out.append("  during %s:" % during)
        out += ["  | " + line for line in log[max(shown + 1, n - 1, 0):n]]
        out += ["  > " + line for line in log[n:end]]
        shown = end - 1
    if shown < len(log) - 1:
        out.append("  ... the log's tail:")
        out += ["  | " + line for line in log[max(shown + 1, len(log) - 10):]]
    return out


def print_problems(log, found, path):
    sys.stderr.write("\n".join(problem_report(log, found, path)) + "\n")


def print_tail(log, path, lines=30):
    sys.stderr.write("guest: the kernel log's tail (%s):\n" % path)
    for line in log[-lines:]:
        sys.stderr.write("  | %s\n" % line)
