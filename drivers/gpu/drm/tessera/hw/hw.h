/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of hw/: registers, interrupts, rings and their fences. */
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

#include "base/device.h"

struct drm_printer;
struct tessera_fence;
struct tessera_ring;		/* hw/ring.c */

/*
 * Register access. Callers that can run after the device is gone hold
 * drm_dev_enter(). Reads from a device that is gone return all ones.
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

/*
 * Waits until the bits of @mask in @reg equal @value. Returns 0 or -ETIMEDOUT.
 * May sleep.
 */
static inline int tessera_poll32(struct tessera_device *tdev, u32 reg, u32 mask,
				 u32 value, unsigned long timeout_us)
{
	u32 v;

	return read_poll_timeout(tessera_read32, v, (v & mask) == value, 50,
				 timeout_us, false, tdev, reg);
}

/* Returns the device clock in nanoseconds. */
static inline u64 tessera_read_timestamp(struct tessera_device *tdev)
{
	unsigned long flags;
	u64 ns;

	/* Reading the lower half latches the upper one. */
	spin_lock_irqsave(&tdev->reg_window_lock, flags);
	ns = tessera_read64(tdev, TSR_ID_TIMESTAMP_LO);
	spin_unlock_irqrestore(&tdev->reg_window_lock, flags);

	return ns;
}

/*
 * Declares the state of a range of VRAM (TSR_MARK_*) at once, outside the
 * rings.
 */
static inline void tessera_mark(struct tessera_device *tdev, u64 gpu_addr, u64 bytes,
				u32 command)
{
	unsigned long flags;

	if (!(tdev->info.caps & TSR_CAP_STRICT))
		return;

	spin_lock_irqsave(&tdev->reg_window_lock, flags);
	tessera_write64(tdev, TSR_MARK_ADDR_LO, gpu_addr);
	tessera_write64(tdev, TSR_MARK_SIZE_LO, bytes);
	tessera_write32(tdev, TSR_MARK_COMMAND, command);
	spin_unlock_irqrestore(&tdev->reg_window_lock, flags);
}

/*
 * Does cache maintenance (TSR_COH_*) for a range of system memory, at once. It
 * stands for the CPU instructions of a machine without coherent I/O.
 */
static inline void tessera_cache_maintain(struct tessera_device *tdev, dma_addr_t dma, u32 bytes,
					  u32 command)
{
	unsigned long flags;

	spin_lock_irqsave(&tdev->reg_window_lock, flags);
	tessera_write64(tdev, TSR_COH_ADDR_LO, dma);
	tessera_write32(tdev, TSR_COH_SIZE, bytes);
	tessera_write32(tdev, TSR_COH_COMMAND, command);
	spin_unlock_irqrestore(&tdev->reg_window_lock, flags);
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
 * typedef tessera_irq_fn_t - callback of an interrupt
 * @data: as registered
 *
 * Hard interrupt context, inside dma_fence_begin_signalling().
 */
typedef void (*tessera_irq_fn_t)(void *data);

int tessera_irq_init(struct tessera_device *tdev);
int tessera_irq_request(struct tessera_device *tdev, u32 vector, const char *name,
			tessera_irq_fn_t fn, void *data);
void tessera_irq_sync_display(struct tessera_device *tdev);
void tessera_irq_on_event(struct tessera_device *tdev, u32 event,
			  tessera_irq_fn_t fn, void *data);
void tessera_irq_enable(struct tessera_device *tdev);
void tessera_irq_disable(struct tessera_device *tdev);
int tessera_irq_ping(struct tessera_device *tdev, u64 *ns);

/* hw/error.c */

/**
 * struct tessera_error_record - record of the first error of a type
 */
struct tessera_error_record {
	/** @engine: index, or U32_MAX: not caused by an engine */
	u32 engine;
	/** @context: id of the context */
	u32 context;
	/** @packet: first dword of the packet */
	u32 packet;
	/** @offset: byte offset of the packet in its ring or buffer */
	u32 offset;
	/** @slot: slot, or U32_MAX: no slot was involved */
	u32 slot;
	/**
	 * @object: id of the object at @addr when the record was read; 0: none
	 */
	u32 object;
	/** @addr: the faulting address, or 0 */
	u64 addr;
};

/* Finds the object at a GPU address; 0: none. May sleep. */
typedef u32 (*tessera_error_find_t)(struct tessera_device *tdev, u64 addr);

int tessera_error_init(struct tessera_device *tdev);
void tessera_error_set_finder(struct tessera_device *tdev, tessera_error_find_t find);
void tessera_error_report_stale(struct tessera_device *tdev);
void tessera_error_unplug(struct tessera_device *tdev);
void tessera_error_collect(struct tessera_device *tdev, bool rearm);
u64 tessera_error_address(struct tessera_device *tdev, u32 type);
u64 tessera_error_total(struct tessera_device *tdev);
void tessera_error_print(struct tessera_device *tdev, struct drm_printer *p);

/* hw/ring.c */

/* One slot per job. A completely full ring would look empty. */
#define TESSERA_RING_SLOT_BYTES	256
#define TESSERA_RING_SLOTS	256
#define TESSERA_RING_JOBS	(TESSERA_RING_SLOTS - 1)
#define TESSERA_RING_MAX_CALLS	3

/*
 * Context save areas: one for a job of each of the two lower priorities, one
 * for the next request, and three for jobs that have yielded (exec/preempt.c).
 */
#define TESSERA_RING_SAVES	6

/**
 * struct tessera_ring_call - one IB_CALL
 */
struct tessera_ring_call {
	/**
	 * @pages: DMA address of the page list, or virtual address of the
	 * buffer
	 */
	u64 pages;
	/** @total: size of the whole buffer in bytes */
	u32 total;
	/** @start: offset of the first byte to execute */
	u32 start;
	/** @end: offset behind the last byte to execute */
	u32 end;
	/** @user: run it unprivileged */
	bool user;
};

/**
 * struct tessera_ring_job - contents of one slot
 */
struct tessera_ring_job {
	/** @empty: write only a fence; the job has no result */
	bool empty;
	/**
	 * @resume: resume a saved job instead of beginning one, see
	 * tessera_ring_preempt()
	 */
	bool resume;
	/** @save: save area of the job to resume */
	u32 save;
	/** @context_id: context of JOB_BEGIN */
	u32 context_id;
	/**
	 * @may_be_after: reserve space for @after, so that a resumed job finds
	 * its packets at the same offsets
	 */
	bool may_be_after;
	/**
	 * @after: execute user commands only if the job in @after_slot, which
	 * is still in the ring, succeeds
	 */
	bool after;
	/** @after_slot: see @after */
	u32 after_slot;
	/** @calls: the indirect buffers */
	struct tessera_ring_call calls[TESSERA_RING_MAX_CALLS];
	/** @num_calls: used elements of @calls */
	unsigned int num_calls;
	/**
	 * @vm_root: directory entry of the page tables, for the commands at
	 * @vm_cmds, which run before @calls; 0: no virtual addresses
	 */
	u64 vm_root;
	/** @vm_cmds: virtual address of an unprivileged buffer */
	u64 vm_cmds;
	/** @vm_asid: ASID */
	u32 vm_asid;
	/** @vm_bytes: size of the buffer */
	u32 vm_bytes;
};

/**
 * struct tessera_ring_result - the device's record of a finished job
 */
struct tessera_ring_result {
	/** @status: TSR_ERR_*, the first error of the job */
	u32 status;
	/** @offset: byte offset of the failed packet in the IB */
	u32 offset;
	/** @start_ns: device clock when the job began */
	u64 start_ns;
	/** @end_ns: device clock when the job ended */
	u64 end_ns;
};

/**
 * struct tessera_ring_saved - state of a preempted engine
 */
struct tessera_ring_saved {
	/** @begun: a job was saved that had begun and not ended */
	bool begun;
	/** @slot: slot of the saved job */
	u32 slot;
	/** @active_ns: time for which the job has run so far */
	u64 active_ns;
};

struct tessera_ring *tessera_ring_create(struct tessera_device *tdev, u32 engine);
int tessera_ring_start(struct tessera_ring *ring);
int tessera_ring_stop(struct tessera_ring *ring);
u32 tessera_ring_emit(struct tessera_ring *ring, const struct tessera_ring_job *job,
		      u64 seqno);
void tessera_ring_copy(const struct tessera_ring *ring, u32 slot, void *to);
void tessera_ring_kick(struct tessera_ring *ring);
void tessera_ring_preempt(struct tessera_ring *ring, u32 save);
bool tessera_ring_has_saved(struct tessera_ring *ring, u32 save);
void tessera_ring_saved(struct tessera_ring *ring, u32 save, struct tessera_ring_saved *saved);
u64 tessera_ring_ack(struct tessera_ring *ring);
void tessera_ring_result(struct tessera_ring *ring, u32 slot,
			 struct tessera_ring_result *result);
u32 tessera_ring_status(struct tessera_ring *ring);

/* hw/fence.c */

/**
 * typedef tessera_fence_done_t - callback when the outcome of a fence is known
 * @fence: the fence, not yet signalled
 * @error: 0 or a negative error
 * @start_ns: device clock when the job began, 0 if it did not run
 * @end_ns: device clock when the job ended, 0 if it did not run
 *
 * Called with the fence's lock held and interrupts off.
 */
typedef void (*tessera_fence_done_t)(struct tessera_fence *fence, int error,
				     u64 start_ns, u64 end_ns);

/**
 * struct tessera_fence_keeper - refcount of the memory that fences refer to
 */
struct tessera_fence_keeper {
	/** @ref: each fence holds one */
	struct kref ref;
	/** @release: called for the last reference, in any context */
	void (*release)(struct kref *ref);
};

/**
 * struct tessera_fence - hardware fence of one job
 *
 * Each fence is a dma_fence context of its own: after a reset a job gets a new
 * slot in the ring but keeps its fence.
 */
struct tessera_fence {
	/** @base: the fence */
	struct dma_fence base;
	/** @keeper: container of its lock; holds a reference */
	struct tessera_fence_keeper *keeper;
	/** @link: in &tessera_engine.inflight, which holds a reference */
	struct list_head link;
	/** @hw_seqno: value of the FENCE packet */
	u64 hw_seqno;
	/** @slot: ring slot */
	u32 slot;
	/** @done: called before it is signalled, or NULL */
	tessera_fence_done_t done;
	/** @data: argument of @done */
	void *data;
};

struct tessera_fence *tessera_fence_create(struct tessera_fence_keeper *keeper, spinlock_t *lock,
					   tessera_fence_done_t done, void *data);
void tessera_fence_complete_locked(struct tessera_fence *fence, int error,
				   u64 start_ns, u64 end_ns);

#endif /* __TESSERA_HW_H__ */
