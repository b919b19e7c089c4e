# SPDX-License-Identifier: MIT
"""How fast this machine's clock runs, for guests that cannot find out.

An emulated CPU's time stamp counter is this machine's. At boot the kernel measures it against the
emulated timer chip, which goes wrong beside other guests: one boot in some came out with a clock three
times too fast, so that whatever had a time limit was over too soon. So it is told.
"""

import ctypes
import mmap
import platform
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
READ_TSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
SPAN_SECONDS = 0.05
TRIES = 50


def _now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _read(read_tsc):
    """A pair of readings as close to each other as it gets: (nanoseconds, ticks)"""
    best = None
    for _ in range(TRIES):
        before, ticks, after = _now(), read_tsc(), _now()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2, ticks)
    return best[1:]


def tsc_khz():
    """Rate of the time stamp counter, or None if there is none that can be read."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE,
                         prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(READ_TSC)
    code = ctypes.c_char.from_buffer(page)
    read_tsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(code))
    start = _read(read_tsc)
    time.sleep(SPAN_SECONDS)
    end = _read(read_tsc)
    del code
    page.close()
    return round((end[1] - start[1]) * 1e6 / (end[0] - start[0]))
