/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_CONTEXT_H__
#define __TESSERA_CONTEXT_H__

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "pure/slot.h"
#include "submit/barrier.h"

struct drm_tessera_context_create;
struct tessera_account;		/* segments/account.h */
struct tessera_device;
struct tessera_engine;		/* exec/engine.h */
struct xarray;

/** TESSERA_MAX_CONTEXTS: contexts one client may have */
#define TESSERA_MAX_CONTEXTS	1024

/**
 * struct tessera_context - one queue of a client
 */
struct tessera_context {
	/** @ref: the client's table and each job hold one */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @engine: where its jobs run */
	struct tessera_engine *engine;
	/** @account: who pays; holds a reference */
	struct tessera_account *account;
	/** @hw_id: unique per device; what the device and the traces show */
	u32 hw_id;
	/** @flags: DRM_TESSERA_CONTEXT_* */
	u32 flags;
	/** @entity: queue of the engine's scheduler */
	struct drm_sched_entity entity;
	/** @tail: its last job, for barriers */
	struct tessera_queue_tail tail;
	/** @guilty: set by the scheduler when a job of it hung; then no more are taken */
	atomic_t guilty;
	/**
	 * @lock: serialises submissions: from the first use of @slots until the last
	 * part is pushed. Taken before &tessera_device.submit_lock.
	 */
	struct mutex lock;
	/** @slots: resource table, scratch of one submission; under @lock */
	struct tessera_slot_table slots;
	/** @paging_failures: as the current submission began; under @lock */
	u32 paging_failures;
	/** @next_job: number of the next submission, for traces; under @lock */
	u64 next_job;
	/** @split_seed: seed of its random cuts */
	u32 split_seed;
};

int tessera_context_create(struct tessera_device *tdev, struct xarray *contexts,
			   struct tessera_account *account,
			   const struct drm_tessera_context_create *args, u32 *id);
int tessera_context_destroy(struct xarray *contexts, u32 id);
void tessera_context_destroy_all(struct xarray *contexts);
struct tessera_context *tessera_context_lookup(struct xarray *contexts, u32 id);
struct tessera_context *tessera_context_get(struct tessera_context *ctx);
void tessera_context_put(struct tessera_context *ctx);

#endif /* __TESSERA_CONTEXT_H__ */
