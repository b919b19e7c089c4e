/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_CONTEXT_H__
#define __TESSERA_CONTEXT_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "exec/engine_types.h"
#include "exec/proxy.h"
#include "pure/slot.h"
#include "vm/pt.h"

struct drm_tessera_context_create;
struct drm_tessera_context_status;
struct tessera_account;		/* segments/account.h */
struct tessera_backlog;		/* submit/backlog.h */
struct tessera_device;
struct tessera_engine;		/* exec/engine.h */
struct tessera_fence;		/* hw/fence.h */
struct tessera_vm;		/* vm/vm.h */
struct xarray;

/** TESSERA_MAX_CONTEXTS: contexts one process may have */
#define TESSERA_MAX_CONTEXTS	1024

/**
 * struct tessera_context - one queue of a client
 */
struct tessera_context {
	/** @ref: the client's table and each job hold one */
	struct kref ref;
	/** @node: in the device's list of contexts, under its lock */
	struct list_head node;
	/** @table: of the client it was made for; only compared */
	const struct xarray *table;
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
	/** @level: priority of its jobs */
	enum tessera_level level;
	/** @queue: the engine's account of @entity */
	struct tessera_queue queue;
	/** @entity: queue of the engine's scheduler */
	struct drm_sched_entity entity;
	/** @backlog: of its client; holds a reference */
	struct tessera_backlog *backlog;
	/** @proxies: what user space wants its jobs to wait for */
	struct tessera_proxies proxies;
	/** @guilty: set by the scheduler when a job of it hung; then no more are taken */
	atomic_t guilty;
	/** @faulted: a job of it was ended for what it did at an address */
	bool faulted;
	/** @hangs: jobs of it that hung, or kept an engine for too long */
	atomic_t hangs;
	/** @resets: of the device, before it was created */
	u32 resets;
	/**
	 * @lock: serialises submissions: from the first use of @slots until the last
	 * part is pushed. Taken before all others, and waits for nobody's jobs but those
	 * of the same submission.
	 */
	struct mutex lock;
	/** @slots: resource table, scratch of one submission; under @lock */
	struct tessera_slot_table slots;
	/** @dropped: its client has gone; what has not begun does not begin */
	bool dropped;
	/** @next_job: number of the next submission, for traces; under @lock */
	u64 next_job;
	/** @split_seed: seed of its random cuts */
	u32 split_seed;
	/** @vm: at whose addresses it works, NULL: patched; until it leaves its client's table */
	struct tessera_vm *vm;
	/** @space: page tables of @vm, or NULL; holds a reference */
	struct tessera_space *space;
	/** @vm_queue: for @space */
	struct tessera_vm_queue vm_queue;
	/** @vm_last: how its last job at virtual addresses ended, or NULL; under @lock */
	struct tessera_fence *vm_last;
};

int tessera_context_init(struct tessera_device *tdev);
void tessera_context_drop_all(struct tessera_device *tdev);
void tessera_context_lose_all(struct tessera_device *tdev);
void tessera_context_accept(struct tessera_device *tdev);
int tessera_context_create(struct tessera_device *tdev, struct xarray *contexts,
			   struct tessera_account *account, struct tessera_backlog *backlog,
			   struct tessera_vm *vm,
			   const struct drm_tessera_context_create *args, u32 *id);
int tessera_context_destroy(struct xarray *contexts, u32 id);
void tessera_context_destroy_all(struct tessera_device *tdev, struct xarray *contexts);
void tessera_context_blame(struct tessera_context *ctx);
void tessera_context_status(struct tessera_context *ctx,
			    struct drm_tessera_context_status *status);
u32 tessera_context_resets(struct tessera_device *tdev);
struct tessera_context *tessera_context_lookup(struct xarray *contexts, u32 id);
struct tessera_context *tessera_context_get(struct tessera_context *ctx);
void tessera_context_put(struct tessera_context *ctx);

#endif /* __TESSERA_CONTEXT_H__ */
