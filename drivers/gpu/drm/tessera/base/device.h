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
struct tessera_processes;	/* client/client.h */
struct tessera_crash;		/* exec/exec.h */
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
struct tessera_space_events;	/* segments/space.c */
struct tessera_segments;	/* segments/segments.h */
struct tessera_asids;		/* vm/asid.c */
struct tessera_page_tables_list;	/* vm/pt.c */
struct tessera_swizzle_ranges;	/* cpu/swizzle_range.c */
struct tessera_unplug;		/* mem/unplug.c */
struct tessera_users;		/* borrow/user.c */
struct tessera_value_pages;	/* sync/value_page.c */

/**
 * DOC: locking
 *
 * Documentation/locking.rst has the order of all locks, the waits with the
 * locks that they hold, and the reasons. In short: &tessera_device.reset_lock,
 * a context or a VM, claims of segments, reservations (several only through
 * drm_exec), page tables, leaf mutexes, user memory, gates and backlogs, the
 * engine.
 *
 * No function that can wait for memory or for a reservation is called between
 * arming a job and its fence: run_job, interrupt handling and reset are
 * annotated with dma_fence_begin_signalling(). &tessera_device.release_wq frees
 * the resources of finished jobs, outside the scheduler's workqueue.
 */

/**
 * struct tessera_device_info - contents of the identification block
 */
struct tessera_device_info {
	/** @version: major << 16 | minor */
	u32 version;
	/** @caps: TSR_CAP_* */
	u32 caps;
	/** @num_segments: number of segment descriptors */
	u32 num_segments;
	/** @num_engines: number of engines, 1 .. TSR_MAX_ENGINES */
	u32 num_engines;
	/** @num_slots: number of binding slots */
	u32 num_slots;
	/** @num_swizzle_ranges: number of swizzling ranges */
	u32 num_swizzle_ranges;
	/** @max_ib_bytes: maximum size of an indirect buffer */
	u32 max_ib_bytes;
	/** @hidden_base: GPU address of the VRAM that is in no segment */
	u64 hidden_base;
	/** @hidden_size: size of that VRAM in bytes */
	u64 hidden_size;
};

/**
 * struct tessera_lifetime - reference count of a device, see hw/lifetime.c
 */
struct tessera_lifetime {
	/** @refs: held by the bound device and by each object */
	refcount_t refs;
	/**
	 * @put_work: drops the reference to the DRM device after the last of
	 * @refs
	 */
	struct work_struct put_work;
};

/**
 * struct tessera_upcalls - functions of upper layers that mem/ and cpu/ call
 *
 * There is one table per device. All functions but @handle_closed are called
 * with the object's reservation held.
 */
struct tessera_upcalls {
	/**
	 * @window_close: cpu/window.c: end the view of an object's placement;
	 * its CPU mappings are already removed
	 */
	void (*window_close)(struct tessera_bo *bo);
	/**
	 * @window_pfn: cpu/window.c: return the page frame number of a page of
	 * an object in a memory segment
	 */
	unsigned long (*window_pfn)(struct tessera_bo *bo, unsigned long page);
	/**
	 * @keep_out: cpu/locks.c: return true if CPU locks of the file itself
	 * keep an object out of memory segments
	 */
	bool (*keep_out)(struct tessera_bo *bo, struct drm_file *file);
	/** @moves: vm/residency_list.c: an object is about to move */
	void (*moves)(struct tessera_bo *bo);
	/**
	 * @moved: vm/residency_list.c: a move of an object was queued or has
	 * failed, or the object was offered or reclaimed
	 */
	void (*moved)(struct tessera_bo *bo);
	/**
	 * @handle_closed: vm/residency_list.c: a file has closed its handle of
	 * an object
	 */
	void (*handle_closed)(struct tessera_bo *bo, struct drm_file *file);
	/**
	 * @remap_push: vm/remap.c: queue a prepared batch that moves an object,
	 * and remove the object's mappings from all page tables. Returns the
	 * fence of the batch with a reference, or -ENOMEM with nothing queued
	 */
	struct dma_fence *(*remap_push)(struct tessera_bo *bo, struct tessera_paging_batch *batch);
	/**
	 * @remap_drop: vm/remap.c: remove the mappings of an object that left
	 * its segment without a paging job
	 */
	void (*remap_drop)(struct tessera_bo *bo);
	/**
	 * @remap_users: vm/remap.c: return the fence, with a reference, of a
	 * job that may use an object through page tables; or NULL
	 */
	struct dma_fence *(*remap_users)(struct tessera_bo *bo);
};

/**
 * struct tessera_device - one device
 *
 * Embeds the core objects. Blocks of the driver are pointers to structs that
 * are private to their files.
 */
struct tessera_device {
	/** @drm: the DRM device */
	struct drm_device drm;
	/**
	 * @lifetime: references that keep the DRM device, in addition to open
	 * files
	 */
	struct tessera_lifetime lifetime;
	/** @ttm: the TTM device; set up by mem/ttm.c */
	struct ttm_device ttm;

	/** @mmio: BAR 0 */
	void __iomem *mmio;
	/** @info: constants read at probe */
	struct tessera_device_info info;

	/**
	 * @reg_window_lock: serialises groups of registers that are used
	 * together: TSR_MARK_*, TSR_COH_*, the timestamp
	 */
	spinlock_t reg_window_lock;

	/** @reset_lock: see "DOC: locking" */
	struct rw_semaphore reset_lock;
	/**
	 * @memory_lost: a function-level reset is under way and the contents of
	 * memory are lost; under @reset_lock
	 */
	bool memory_lost;

	/**
	 * @dummy_page: the page that unmapped aperture pages show; zero-filled,
	 * device readable
	 */
	void *dummy_page;
	/** @dummy_dma: DMA address of @dummy_page */
	dma_addr_t dummy_dma;

	/** @reset_wq: ordered workqueue for job timeouts of all engines */
	struct workqueue_struct *reset_wq;
	/**
	 * @submit_wq: workqueue on which the schedulers hand jobs to the
	 * engines
	 */
	struct workqueue_struct *submit_wq;
	/** @release_wq: workqueue on which finished jobs are released */
	struct workqueue_struct *release_wq;
	/** @release: jobs that wait for @release_wq */
	struct tessera_release_queue *release;

	/** @ibs: mapped indirect buffers */
	struct tessera_ibs *ibs;

	/** @irq: interrupt vectors */
	struct tessera_irq *irq;
	/** @errors: error counters */
	struct tessera_errors *errors;
	/**
	 * @engines: the engines; the first &tessera_device_info.num_engines are
	 * used
	 */
	struct tessera_engine *engines[TSR_MAX_ENGINES];

	/** @crash: record of the first crash, see exec/crash.c */
	struct tessera_crash *crash;

	/** @segments: the segment table */
	struct tessera_segments *segments;
	/** @space_events: events for waiters for space in segments */
	struct tessera_space_events *space_events;
	/** @paging: state of paging/queue.c */
	struct tessera_paging *paging;
	/**
	 * @upcalls: calls to layers above mem/; set before the first object is
	 * created
	 */
	const struct tessera_upcalls *upcalls;
	/** @asids: address space numbers (ASIDs) */
	struct tessera_asids *asids;
	/** @page_tables: page tables of all VMs */
	struct tessera_page_tables_list *page_tables;
	/** @host_aperture: the CPU host aperture, or NULL */
	struct tessera_host_aperture *host_aperture;
	/** @swizzle_ranges: swizzling ranges, or NULL */
	struct tessera_swizzle_ranges *swizzle_ranges;
	/**
	 * @renamed_instance_lock: lock of renamed instances, see
	 * mem/renamed_instance.c
	 */
	struct mutex renamed_instance_lock;
	/** @registry: all buffer objects */
	struct tessera_registry *registry;
	/**
	 * @unplug: calls of dma-buf exporters that unplug waits for
	 * (mem/unplug.c)
	 */
	struct tessera_unplug *unplug;
	/**
	 * @retain: system pages kept for objects that are in memory segments
	 */
	struct tessera_retain *retain;
	/** @users: state of user memory (borrow/user.c) */
	struct tessera_users *users;
	/**
	 * @drawn: number of objects that a mapping of the kernel keeps in
	 * place, see mem/scanout.c
	 */
	atomic_t drawn;
	/**
	 * @last_stamp: last stamp of use, see tessera_residency_next_stamp()
	 */
	atomic64_t last_stamp;
	/**
	 * @force_split: debugfs: 0: off, 1: cut at every split point, 2: cut at
	 * random split points
	 */
	u32 force_split;
	/** @force_split_seed: debugfs: seed of the random split points */
	u32 force_split_seed;
	/**
	 * @split_cut_cost_kib: debugfs: cost of an additional part, in KiB of
	 * saved moves; U32_MAX: as few parts as possible
	 */
	u32 split_cut_cost_kib;
	/**
	 * @group_timeouts: debugfs: number of job timeouts for which the parts
	 * of one submission may occupy an engine; 0: no limit
	 */
	u32 group_timeouts;
	/**
	 * @passing_ms: debugfs: time in ms that a commit waits for temporary
	 * obstacles to placing a framebuffer
	 */
	u32 passing_ms;
	/**
	 * @attach_ms: debugfs: time in ms that an attach or an import waits for
	 * an object's contents
	 */
	u32 attach_ms;
	/**
	 * @demand_period_ms: debugfs: time in ms for which a process counts as
	 * competing for a segment after it last used memory there
	 */
	u32 demand_period_ms;
	/**
	 * @trim_grace_ms: debugfs: time in ms that a client gets to trim before
	 * another one takes its memory; 0: none
	 */
	u32 trim_grace_ms;
	/**
	 * @paging_ib_bytes: debugfs: size of the paging engine's command
	 * buffers; each holds one command at least
	 */
	u32 paging_ib_bytes;
	/**
	 * @max_tables: debugfs: maximum number of page tables of one process,
	 * over all its VMs
	 */
	u32 max_tables;
	/** @gates: order submissions in several parts against all others */
	struct tessera_gates *gates;
	/** @value_pages: pages that hold the values of monitored fences */
	struct tessera_value_pages *value_pages;
	/** @contexts: all contexts of all clients */
	struct tessera_contexts *contexts;
	/** @processes: all processes that are charged for memory */
	struct tessera_processes *processes;
	/** @kms: the display, or NULL */
	struct tessera_kms *kms;
	/** @budgets: listeners for changes of budgets */
	struct tessera_budgets *budgets;
};

static inline struct tessera_device *to_tessera_device(struct drm_device *drm)
{
	return container_of(drm, struct tessera_device, drm);
}

#endif /* __TESSERA_DEVICE_H__ */
