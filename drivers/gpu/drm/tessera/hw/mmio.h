/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_MMIO_H__
#define __TESSERA_MMIO_H__

#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/lockdep.h>
#include <linux/wordpart.h>

#include "tessera_device.h"

/*
 * Register access. Callers that can run after the device is gone hold
 * drm_dev_enter(); MMIO of a vanished device reads all-ones.
 */

static inline u32 tessera_read32(struct tessera_device *tdev, u32 reg)
{
	return readl(tdev->mmio + reg);
}

static inline void tessera_write32(struct tessera_device *tdev, u32 reg, u32 value)
{
	writel(value, tdev->mmio + reg);
}

/* A 64-bit register pair; @lo is the offset of the lower half. */
static inline u64 tessera_read64(struct tessera_device *tdev, u32 lo)
{
	u64 value = tessera_read32(tdev, lo);

	return value | (u64)tessera_read32(tdev, lo + 4) << 32;
}

static inline void tessera_write64(struct tessera_device *tdev, u32 lo, u64 value)
{
	tessera_write32(tdev, lo, lower_32_bits(value));
	tessera_write32(tdev, lo + 4, upper_32_bits(value));
}

/* Wait until the bits of @mask in @reg equal @value: 0 or -ETIMEDOUT. May sleep. */
static inline int tessera_poll32(struct tessera_device *tdev, u32 reg, u32 mask,
				 u32 value, unsigned long timeout_us)
{
	u32 v;

	return read_poll_timeout(tessera_read32, v, (v & mask) == value, 50,
				 timeout_us, false, tdev, reg);
}

/* The device clock in nanoseconds. */
static inline u64 tessera_read_timestamp(struct tessera_device *tdev)
{
	unsigned long flags;
	u64 ns;

	/* Reading the lower half latches the upper one. */
	spin_lock_irqsave(&tdev->window_lock, flags);
	ns = tessera_read64(tdev, TSR_ID_TIMESTAMP_LO);
	spin_unlock_irqrestore(&tdev->window_lock, flags);

	return ns;
}

/* Declare who owns a range of VRAM (TSR_MARK_*), at once, outside the rings. */
static inline void tessera_mark(struct tessera_device *tdev, u64 gpu_addr, u64 bytes,
				u32 command)
{
	unsigned long flags;

	if (!(tdev->info.caps & TSR_CAP_STRICT))
		return;

	spin_lock_irqsave(&tdev->window_lock, flags);
	tessera_write64(tdev, TSR_MARK_ADDR_LO, gpu_addr);
	tessera_write64(tdev, TSR_MARK_SIZE_LO, bytes);
	tessera_write32(tdev, TSR_MARK_COMMAND, command);
	spin_unlock_irqrestore(&tdev->window_lock, flags);
}

/*
 * Do something (TSR_COH_*) about the lines that CPUs have cached of a range, at once. This is
 * what instructions of the CPU do on a machine that has need of it.
 */
static inline void tessera_cache_maintain(struct tessera_device *tdev, dma_addr_t dma, u32 bytes,
					  u32 command)
{
	unsigned long flags;

	spin_lock_irqsave(&tdev->window_lock, flags);
	tessera_write64(tdev, TSR_COH_ADDR_LO, dma);
	tessera_write32(tdev, TSR_COH_SIZE, bytes);
	tessera_write32(tdev, TSR_COH_COMMAND, command);
	spin_unlock_irqrestore(&tdev->window_lock, flags);
}

#endif /* __TESSERA_MMIO_H__ */
