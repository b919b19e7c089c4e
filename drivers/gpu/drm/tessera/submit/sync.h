/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SYNC_H__
#define __TESSERA_SYNC_H__

#include <linux/types.h>

struct dma_fence;
struct drm_file;
struct drm_tessera_sync;
struct tessera_device;
struct tessera_engine;		/* exec/engine_types.h */
struct tessera_job;		/* exec/job.h */
struct tessera_proxies;		/* exec/proxy.h */
struct tessera_monitored_set;	/* submit/monitored.c */
struct tessera_quota;		/* exec/quota.h */
struct tessera_signals;		/* submit/monitored.c */
struct tessera_sync_item;	/* sync.c */

/**
 * struct tessera_syncs - fences a submission waits for, and syncobjs it signals
 */
struct tessera_syncs {
	/** @items: one for each element of the user's list */
	struct tessera_sync_item *items;
	/** @count: elements of @items */
	u32 count;
	/** @signals: values of monitored fences among them, or NULL */
	struct tessera_signals *signals;
};

int tessera_syncs_await(struct tessera_device *tdev, struct drm_file *file,
			const struct drm_tessera_sync *list, u32 count);
int tessera_syncs_init(struct tessera_syncs *syncs, struct drm_file *file,
		       struct tessera_monitored_set *fences, struct tessera_quota *quota,
		       const struct drm_tessera_sync *list, u32 count);
void tessera_syncs_fini(struct tessera_syncs *syncs);
int tessera_syncs_add_waits(const struct tessera_syncs *syncs, struct tessera_job *job);
void tessera_syncs_charge(const struct tessera_syncs *syncs, struct tessera_job *job);
int tessera_syncs_wait(const struct tessera_syncs *syncs, struct tessera_device *tdev,
		       struct tessera_proxies *proxies, const struct tessera_engine *engine);
void tessera_syncs_commit(struct tessera_syncs *syncs, struct dma_fence *fence);
void tessera_syncs_signal(struct tessera_syncs *syncs, struct dma_fence *fence);

#endif /* __TESSERA_SYNC_H__ */
