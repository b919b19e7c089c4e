/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DEVICE_H__
#define __TESSERA_DEVICE_H__

#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/ttm/ttm_device.h>

#include <tessera/tessera_hw.h>

struct dma_fence;
struct pci_dev;
struct drm_file;

struct tessera_contexts;	/* submit/context.c */
struct tessera_clients;		/* segments/segments.h */
struct tessera_engine;		/* exec/exec.h */
struct tessera_errors;		/* hw/error.c */
struct tessera_bo;		/* mem/mem.h */
struct tessera_budgets;		/* segments/budget.c */
struct tessera_gates;		/* submit/gate.c */
struct tessera_host_aperture;	/* cpu/host_aperture.c */
struct tessera_ibs;		/* exec/ib.c */
struct tessera_irq;		/* hw/irq.c */
struct tessera_kms;		/* kms/kms.h */
struct tessera_paging;		/* paging/queue.c */
struct tessera_paging_batch;	/* paging/paging.h */
struct tessera_release_queue;	/* exec/job.c */
struct tessera_registry;	/* mem/bo.c */
struct tessera_retain;		/* mem/mem.h */
struct tessera_room;		/* segments/room.c */
struct tessera_segments;	/* segments/segments.h */
struct tessera_asids;		/* vm/asid.c */
struct tessera_spaces;		/* vm/pt.c */
struct tessera_swizzle_ranges;	/* cpu/swizzle_range.c */
struct tessera_table_memory;	/* vm/table.c */
struct tessera_unplug;		/* mem/unplug.c */
struct tessera_users;		/* mem/user.c */
struct tessera_value_pages;	/* sync/value_page.c */

/**
 * DOC: locking
 *
 * Locks are taken in this order; each may be left out, none may be taken
 * after one that stands below it:
 *
 * -1. &tessera_device.reset_lock: read by submissions, write while the function is
 *    being reset. Engines cancel all jobs before it is taken for writing.
 * 0. &tessera_context.lock: one submission of a context at a time. &tessera_vm.lock: one change of
 *    what is mapped in a VM. Nobody takes both.
 *    Those who listen to budgets, nothing else held.
 * 1. A claim of segments (tessera_manager_claim()), for one window.
 * 2. dma_resv of buffer objects, several only through drm_exec.
 * 3. &tessera_space.lock: page tables of a VM, and its jobs from their dependencies to push; several
 *    only by who has taken one lock of the device for that before. Memory is allocated under it, and
 *    nothing waited for.
 * 4. Leaf mutexes: one per TTM resource manager, the client table's, the
 *    registry's, that of the shrinker's list, the instances', the host aperture's, the swizzling ranges', the residency
 *    lists', one per paging queue, that of the queues that imports share, that of the numbers of VMs, that of the pages of values. They do not
 *    nest, but the last one in that of a client's monitored fences, and the client table's in that of a
 *    resource manager.
 *    That of user memory (mem/user.c) comes behind all of them, the monitored fences' included. It is taken
 *    in reclaim: nothing is allocated under it, nor under any lock that is taken with it held.
 * 5. Gates and backlogs (spinlocks), leaves.
 * 6. &tessera_engine.lock: ring, in-flight list and fence lock of one engine;
 *    taken in interrupts.
 * 7. The spinlock of a monitored fence, a leaf.
 *
 * A thread that waits for a GPU job, for an object that is being destroyed, for
 * a gate or for a hold has at most a context's lock and @reset_lock (read). A
 * thread that waits for room in a quota has none of these. A batch holds
 * reservations while it is armed, and does not wait meanwhile.
 *
 * A submission that has to freeze returns from those waits and begins anew. Once parts of it are armed
 * it cannot: then it is frozen with the context's lock and @reset_lock held, which nobody wants whom
 * suspend needs (%TESSERA_GROUP_WAIT).
 *
 * Registers that only work together, ownership, cache maintenance and timestamp, have the spinlock
 * &tessera_device.window_lock, a leaf.
 *
 * Nothing that can wait for memory or for a reservation is ever called between
 * arming a job and its fence: run_job, interrupt handling and reset are annotated
 * with dma_fence_begin_signalling(). What a finished job frees is freed by
 * &tessera_device.release_wq, outside the scheduler's workqueue.
 */

/**
 * struct tessera_device_info - what the identification block says
 */
struct tessera_device_info {
	/** @version: major << 16 | minor */
	u32 version;
	/** @caps: TSR_CAP_* */
	u32 caps;
	/** @num_segments: segment descriptors */
	u32 num_segments;
	/** @num_engines: engines, 1 .. TSR_MAX_ENGINES */
	u32 num_engines;
	/** @num_slots: binding slots */
	u32 num_slots;
	/** @num_swizzle_ranges: swizzling ranges */
	u32 num_swizzle_ranges;
	/** @max_ib_bytes: largest indirect buffer */
	u32 max_ib_bytes;
	/** @hidden_base: GPU address of the VRAM that is in no segment */
	u64 hidden_base;
	/** @hidden_size: its size in bytes */
	u64 hidden_size;
};

/**
 * struct tessera_lifetime - references to a device, see hw/lifetime.c
 */
struct tessera_lifetime {
	/** @refs: the bound device and its objects */
	refcount_t refs;
	/** @put_work: releases the DRM device behind the last of them */
	struct work_struct put_work;
};

/**
 * struct tessera_upcalls - what mem/ and cpu/ ask of layers above them, one table for the device
 *
 * All are called with the object's reservation held, but for @handle_closed.
 */
struct tessera_upcalls {
	/** @window_close: cpu/window.c: an object leaves its place; CPU mappings are gone */
	void (*window_close)(struct tessera_bo *bo);
	/** @window_pfn: cpu/window.c: page frame number of a page of an object in a memory segment */
	unsigned long (*window_pfn)(struct tessera_bo *bo, unsigned long page);
	/** @keep_out: cpu/locks.c: a file's own locks keep an object out of memory segments */
	bool (*keep_out)(struct tessera_bo *bo, struct drm_file *file);
	/** @moves: vm/listing.c: an object is going to move */
	void (*moves)(struct tessera_bo *bo);
	/** @moved: vm/listing.c: it has moved, or the move has failed */
	void (*moved)(struct tessera_bo *bo);
	/** @handle_closed: vm/listing.c: a file closes its handle of an object */
	void (*handle_closed)(struct tessera_bo *bo, struct drm_file *file);
	/**
	 * @remap_push: vm/remap.c: queue a prepared batch that moves an object, and have the addresses of
	 * all VMs lead nowhere; the batch's fence with a reference, or -ENOMEM and nothing is queued
	 */
	struct dma_fence *(*remap_push)(struct tessera_bo *bo, struct tessera_paging_batch *batch);
	/** @remap_drop: vm/remap.c: an object has left its segment without the device */
	void (*remap_drop)(struct tessera_bo *bo);
	/**
	 * @remap_users: vm/remap.c: the fence, with a reference, of jobs that may use an object and do
	 * not name it; or NULL
	 */
	struct dma_fence *(*remap_users)(struct tessera_bo *bo);
};

/**
 * struct tessera_device - one device
 *
 * Holds the core objects by value and the driver's own blocks as pointers to
 * structs that only their file knows.
 */
struct tessera_device {
	/** @drm: the DRM device */
	struct drm_device drm;
	/** @lifetime: what keeps the DRM device beside its files */
	struct tessera_lifetime lifetime;
	/** @ttm: the TTM device; set up by mem/ttm.c */
	struct ttm_device ttm;

	/** @mmio: BAR 0 */
	void __iomem *mmio;
	/** @info: constants read at probe */
	struct tessera_device_info info;

	/** @window_lock: serialises registers that work together: TSR_MARK_*, TSR_COH_*, the timestamp */
	spinlock_t window_lock;

	/** @reset_lock: see the locking DOC */
	struct rw_semaphore reset_lock;
	/** @memory_lost: a reset has taken the contents of memory; under @reset_lock */
	bool memory_lost;

	/** @dummy_page: what unmapped aperture pages show; zero-filled, device readable */
	void *dummy_page;
	/** @dummy_dma: its DMA address */
	dma_addr_t dummy_dma;

	/** @reset_wq: ordered; job timeouts of all engines */
	struct workqueue_struct *reset_wq;
	/** @submit_wq: where jobs are handed to the engines */
	struct workqueue_struct *submit_wq;
	/** @release_wq: where finished jobs are released */
	struct workqueue_struct *release_wq;
	/** @release: jobs waiting for that */
	struct tessera_release_queue *release;

	/** @ibs: indirect buffers that are mapped */
	struct tessera_ibs *ibs;

	/** @irq: interrupt vectors */
	struct tessera_irq *irq;
	/** @errors: error counters */
	struct tessera_errors *errors;
	/** @engines: &tessera_device_info.num_engines are in use */
	struct tessera_engine *engines[TSR_MAX_ENGINES];

	/** @segments: the segment table */
	struct tessera_segments *segments;
	/** @room: events of room in segments */
	struct tessera_room *room;
	/** @paging: the paging queue */
	struct tessera_paging *paging;
	/** @upcalls: to layers above mem/; set before there are objects */
	const struct tessera_upcalls *upcalls;
	/** @asids: numbers of VMs */
	struct tessera_asids *asids;
	/** @spaces: page tables of all VMs */
	struct tessera_spaces *spaces;
	/** @table_memory: where page tables are */
	struct tessera_table_memory *table_memory;
	/** @host_aperture: the CPU host aperture, or NULL */
	struct tessera_host_aperture *host_aperture;
	/** @swizzle_ranges: swizzling ranges, or NULL */
	struct tessera_swizzle_ranges *swizzle_ranges;
	/** @instance_lock: of objects that took each other's place, see mem/instance.c */
	struct mutex instance_lock;
	/** @registry: all buffer objects */
	struct tessera_registry *registry;
	/** @unplug: what the end of the device has to wait for */
	struct tessera_unplug *unplug;
	/** @retain: spare system pages of objects in memory */
	struct tessera_retain *retain;
	/** @users: lock of memory of processes that is objects' */
	struct tessera_users *users;
	/** @drawn: objects that the kernel has mapped where they are, see mem/scanout.c */
	atomic_t drawn;
	/** @last_stamp: of submissions and searches, see tessera_residency_next_stamp() */
	atomic64_t last_stamp;
	/** @force_split: debugfs: 0, 1 to cut at every split point, 2 at random ones */
	u32 force_split;
	/** @force_split_seed: debugfs: seed of the random ones */
	u32 force_split_seed;
	/** @split_cut_cost_kib: debugfs: KiB that one more part may cost; U32_MAX: fewest parts */
	u32 split_cut_cost_kib;
	/** @group_timeouts: debugfs: job timeouts for which parts may have an engine; 0: no limit */
	u32 group_timeouts;
	/** @passing_ms: debugfs: how long a picture waits for what is in its way for a moment only */
	u32 passing_ms;
	/** @demand_window_ms: debugfs: for how long who has used memory competes for it */
	u32 demand_window_ms;
	/** @max_tables: debugfs: page tables that one client may have, of all its VMs */
	u32 max_tables;
	/** @gates: order between submissions in parts and all others */
	struct tessera_gates *gates;
	/** @value_pages: values of monitored fences */
	struct tessera_value_pages *value_pages;
	/** @contexts: all contexts of all clients */
	struct tessera_contexts *contexts;
	/** @clients: all open files */
	struct tessera_clients *clients;
	/** @kms: the display; NULL: there is none */
	struct tessera_kms *kms;
	/** @budgets: who wants to hear of changes of budgets */
	struct tessera_budgets *budgets;
};

static inline struct tessera_device *to_tessera_device(struct drm_device *drm)
{
	return container_of(drm, struct tessera_device, drm);
}

int tessera_device_init(struct tessera_device *tdev);
void tessera_device_unplug(struct tessera_device *tdev);
int tessera_device_suspend(struct tessera_device *tdev, bool hibernate);
int tessera_device_resume(struct tessera_device *tdev);
void tessera_device_reset_prepare(struct tessera_device *tdev);
void tessera_device_reset_done(struct tessera_device *tdev);

#endif /* __TESSERA_DEVICE_H__ */
