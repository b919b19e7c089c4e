/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Declarations that files in pure/ may use, in the kernel and on the host.
 *
 * Files in pure/ hold logic only: no device pointer, no lock, no allocation, no
 * user access, no floating point. They include this header and nothing else
 * from the kernel. The same source therefore builds into the driver, into the
 * KUnit module, and into host programs (oracles, fuzzers, benchmarks).
 *
 * In the kernel, the helpers are the kernel's own. On the host,
 * tests/host/pure_host.h provides the same names. A missing helper must be
 * added there, never next to its user.
 */
#ifndef __TESSERA_PURE_H__
#define __TESSERA_PURE_H__

#ifdef __KERNEL__

#include <linux/align.h>
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#include <asm/byteorder.h>
#include <kunit/visibility.h>

#else /* !__KERNEL__ */

#include "pure_host.h"		/* tests/host */

#endif /* !__KERNEL__ */

#endif /* __TESSERA_PURE_H__ */
