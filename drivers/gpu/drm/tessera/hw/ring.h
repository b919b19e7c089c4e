/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RING_H__
#define __TESSERA_RING_H__

#include <linux/types.h>

struct tessera_device;
struct tessera_ring;

/* One slot a job; a full ring would look like an empty one. */
#define TESSERA_RING_SLOT_BYTES	256
#define TESSERA_RING_SLOTS	256
#define TESSERA_RING_JOBS	(TESSERA_RING_SLOTS - 1)
#define TESSERA_RING_MAX_CALLS	3

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
	/** @context_id: for JOB_BEGIN */
	u32 context_id;
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

struct tessera_ring *tessera_ring_create(struct tessera_device *tdev, u32 engine);
int tessera_ring_start(struct tessera_ring *ring);
int tessera_ring_stop(struct tessera_ring *ring);
u32 tessera_ring_emit(struct tessera_ring *ring, const struct tessera_ring_job *job,
		      u64 seqno);
u64 tessera_ring_ack(struct tessera_ring *ring);
void tessera_ring_result(struct tessera_ring *ring, u32 slot,
			 struct tessera_ring_result *result);
u32 tessera_ring_status(struct tessera_ring *ring);
u32 tessera_ring_head(struct tessera_ring *ring);

#endif /* __TESSERA_RING_H__ */
