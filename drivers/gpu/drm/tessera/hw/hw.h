/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the layers above may use of hw/: registers, interrupts, rings and their fences. */
#ifndef __TESSERA_HW_H__
#define __TESSERA_HW_H__

#include <linux/dma-fence.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/types.h>
#include <linux/wordpart.h>

#include <tessera/tessera_hw.h>

#include "tessera_device.h"

struct drm_printer;
struct tessera_fence;
struct tessera_ring;		/* Registers. */

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

/* hw/lifetime.c */
void tessera_module_get(void);
void tessera_module_put(void);
void tessera_module_wait(void);

int tessera_lifetime_init(struct tessera_device *tdev);
void tessera_device_get(struct tessera_device *tdev);
void tessera_device_put(struct tessera_device *tdev);

/* hw/irq.c */

/**
 * typedef tessera_irq_fn_t - what an interrupt calls
 * @data: as registered
 *
 * Hard interrupt context, inside dma_fence_begin_signalling().
 */
typedef void (*tessera_irq_fn_t)(void *data);

int tessera_irq_init(struct tessera_device *tdev);
int tessera_irq_request_engine(struct tessera_device *tdev, u32 engine,
			       tessera_irq_fn_t fn, void *data);
int tessera_irq_request_display(struct tessera_device *tdev, tessera_irq_fn_t fn, void *data);
void tessera_irq_sync_display(struct tessera_device *tdev);
void tessera_irq_on_event(struct tessera_device *tdev, u32 event,
			  tessera_irq_fn_t fn, void *data);
void tessera_irq_enable(struct tessera_device *tdev);
void tessera_irq_disable(struct tessera_device *tdev);
int tessera_irq_ping(struct tessera_device *tdev, u64 *ns);

/* hw/error.c */

/**
 * struct tessera_error_record - the first error of a type
 */
struct tessera_error_record {
	/** @engine: index, or U32_MAX: no engine's doing */
	u32 engine;
	/** @context: id of the context */
	u32 context;
	/** @packet: first dword of the packet */
	u32 packet;
	/** @offset: where it is in its ring or buffer, in bytes */
	u32 offset;
	/** @slot: slot, or U32_MAX: none involved */
	u32 slot;
	/** @object: id of the object at @addr when the record was read; 0: none */
	u32 object;
	/** @addr: what address was wrong, where one was */
	u64 addr;
};

/* Finds the object that has a GPU address; 0: none. May sleep. */
typedef u32 (*tessera_error_find_t)(struct tessera_device *tdev, u64 addr);

int tessera_error_init(struct tessera_device *tdev);
void tessera_error_set_finder(struct tessera_device *tdev, tessera_error_find_t find);
void tessera_error_report_stale(struct tessera_device *tdev);
void tessera_error_unplug(struct tessera_device *tdev);
void tessera_error_collect(struct tessera_device *tdev, bool rearm);
u64 tessera_error_total(struct tessera_device *tdev);
void tessera_error_print(struct tessera_device *tdev, struct drm_printer *p);

/* hw/ring.c */

/* One slot a job; a full ring would look like an empty one. */
#define TESSERA_RING_SLOT_BYTES	256
#define TESSERA_RING_SLOTS	256
#define TESSERA_RING_JOBS	(TESSERA_RING_SLOTS - 1)
#define TESSERA_RING_MAX_CALLS	3

/* Context save areas: for a job of each of two priorities that stand back, and the next one. */
#define TESSERA_RING_SAVES	3

/**
 * struct tessera_ring_call - one IB_CALL
 */
struct tessera_ring_call {
	/** @pages: DMA address of the page list, or virtual address of the buffer */
	u64 pages;
	/** @total: bytes of the whole buffer */
	u32 total;
	/** @start: first byte to execute */
	u32 start;
	/** @end: first byte not to execute */
	u32 end;
	/** @user: unprivileged */
	bool user;
};

/**
 * struct tessera_ring_job - what goes into one slot
 */
struct tessera_ring_job {
	/** @empty: write a fence and nothing else; it has no result */
	bool empty;
	/** @resume: go on with a saved job, see tessera_ring_preempt(), instead of beginning one */
	bool resume;
	/** @save: the save area of that job */
	u32 save;
	/** @context_id: for JOB_BEGIN */
	u32 context_id;
	/** @may_be_after: leave a place for @after, so that a resumed job finds its packets where they were */
	bool may_be_after;
	/** @after: of users' commands it executes none unless the job of the slot @after_slot, still in the ring, succeeds */
	bool after;
	/** @after_slot: see @after */
	u32 after_slot;
	/** @calls: the indirect buffers */
	struct tessera_ring_call calls[TESSERA_RING_MAX_CALLS];
	/** @num_calls: used elements of @calls */
	unsigned int num_calls;
	/** @vm_root: before those, page tables: a directory entry; 0: no virtual addresses */
	u64 vm_root;
	/** @vm_cmds: virtual address of an unprivileged buffer */
	u64 vm_cmds;
	/** @vm_asid: number of the address space */
	u32 vm_asid;
	/** @vm_bytes: size of the buffer */
	u32 vm_bytes;
};

/**
 * struct tessera_ring_result - what the device wrote about a finished job
 */
struct tessera_ring_result {
	/** @status: TSR_ERR_*, the first error of the job */
	u32 status;
	/** @offset: byte offset in the IB of the packet that caused it */
	u32 offset;
	/** @start_ns: device clock at the job's begin */
	u64 start_ns;
	/** @end_ns: device clock at its end */
	u64 end_ns;
};

/**
 * struct tessera_ring_saved - what the device says of an engine that was preempted
 */
struct tessera_ring_saved {
	/** @begun: a job was saved, which had begun and not ended */
	bool begun;
	/** @slot: its slot */
	u32 slot;
	/** @active_ns: time that the job has had of the engine so far */
	u64 active_ns;
};

struct tessera_ring *tessera_ring_create(struct tessera_device *tdev, u32 engine);
int tessera_ring_start(struct tessera_ring *ring);
int tessera_ring_stop(struct tessera_ring *ring);
u32 tessera_ring_emit(struct tessera_ring *ring, const struct tessera_ring_job *job,
		      u64 seqno);
void tessera_ring_kick(struct tessera_ring *ring);
void tessera_ring_preempt(struct tessera_ring *ring, u32 save);
void tessera_ring_saved(struct tessera_ring *ring, u32 save, struct tessera_ring_saved *saved);
u64 tessera_ring_ack(struct tessera_ring *ring);
void tessera_ring_result(struct tessera_ring *ring, u32 slot,
			 struct tessera_ring_result *result);
u32 tessera_ring_status(struct tessera_ring *ring);
u32 tessera_ring_head(struct tessera_ring *ring);

/* hw/fence.c */

/**
 * typedef tessera_fence_done_t - the fence's outcome is known
 * @fence: the fence, not yet signalled
 * @error: 0 or a negative error
 * @start_ns: device clock at the job's begin, 0 if it did not run
 * @end_ns: device clock at its end, likewise
 *
 * Called with the fence's lock held and interrupts off.
 */
typedef void (*tessera_fence_done_t)(struct tessera_fence *fence, int error,
				     u64 start_ns, u64 end_ns);

/**
 * struct tessera_fence_keeper - part of what fences read as long as they are there
 */
struct tessera_fence_keeper {
	/** @ref: each fence holds one */
	struct kref ref;
	/** @release: the last one is gone; in any context */
	void (*release)(struct kref *ref);
};

/**
 * struct tessera_fence - the hardware's fence of one job
 *
 * Each is a dma_fence context of its own: after a reset a job gets a new place in
 * the ring but keeps its fence.
 */
struct tessera_fence {
	/** @base: the fence */
	struct dma_fence base;
	/** @keeper: what its lock is part of; holds a reference */
	struct tessera_fence_keeper *keeper;
	/** @link: in &tessera_engine.inflight, which holds a reference */
	struct list_head link;
	/** @hw_seqno: value of the FENCE packet */
	u64 hw_seqno;
	/** @slot: ring slot */
	u32 slot;
	/** @done: called before it is signalled */
	tessera_fence_done_t done;
	/** @data: for @done */
	void *data;
};

struct tessera_fence *tessera_fence_create(struct tessera_fence_keeper *keeper, spinlock_t *lock,
					   tessera_fence_done_t done, void *data);
void tessera_fence_complete_locked(struct tessera_fence *fence, int error,
				   u64 start_ns, u64 end_ns);

#endif /* __TESSERA_HW_H__ */
