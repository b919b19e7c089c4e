/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of sync/ for the layers above: fences that user space names or
 * waits for.
 */
#ifndef __TESSERA_SYNC_H__
#define __TESSERA_SYNC_H__

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

#include <drm/drm_gem.h>

#include "base/wait.h"
#include "exec/exec.h"

struct dma_fence;
struct drm_file;
struct drm_syncobj;
struct drm_tessera_fence_create;
struct drm_tessera_sync;
struct tessera_account;		/* client/client.h */
struct tessera_backlog;		/* backlog.c */
struct tessera_bo;		/* mem/mem.h */
struct tessera_device;
struct tessera_engine;		/* exec/exec.h */
struct tessera_job;		/* exec/exec.h */
struct tessera_monitored_set;	/* monitored.c */
struct tessera_quota;		/* client/client.h */
struct tessera_signals;		/* monitored.c */
struct tessera_sync_item;	/* sync.c */

/* sync/backlog.c */

/**
 * struct tessera_backlog_job - entry of an unfinished job in a client's backlog
 */
struct tessera_backlog_job {
	/** @node: link in the backlog's list, under its lock */
	struct list_head node;
	/** @number: the job's number, counted per client */
	u64 number;
};

struct tessera_backlog *tessera_backlog_create(struct tessera_device *tdev);
struct tessera_backlog *tessera_backlog_get(struct tessera_backlog *backlog);
void tessera_backlog_put(struct tessera_backlog *backlog);

void tessera_backlog_add(struct tessera_backlog *backlog, struct tessera_backlog_job *job);
void tessera_backlog_done(struct tessera_backlog *backlog, struct tessera_backlog_job *job);

int tessera_backlog_wait(struct tessera_backlog *backlog);
int tessera_backlog_keep(struct tessera_backlog *backlog, struct tessera_bo *bo);

/* sync/value_page.c */

/** TESSERA_VALUES_PER_PAGE: number of values in a value page */
#define TESSERA_VALUES_PER_PAGE	(PAGE_SIZE / sizeof(u64))

/**
 * struct tessera_value_page - a page of values
 */
struct tessera_value_page {
	/** @base: the object that user space maps; has the reference count */
	struct drm_gem_object base;
	/** @page: the page; a value is little endian */
	struct page *page;
	/** @dma: DMA address of @page, valid while @node is in the list */
	dma_addr_t dma;
	/** @node: in the device's list while the page is mapped for DMA */
	struct list_head node;
	/** @taken: values in use; their owner serializes changes */
	DECLARE_BITMAP(taken, TESSERA_VALUES_PER_PAGE);
};

int tessera_value_pages_init(struct tessera_device *tdev);
void tessera_value_pages_unplug(struct tessera_device *tdev);
struct tessera_value_page *tessera_value_page_create(struct tessera_device *tdev,
						     struct drm_file *file);
int tessera_value_page_alloc_slot(struct tessera_value_page *page);

/* sync/monitored.c */

/** TESSERA_MAX_MONITORED: maximum number of monitored fences of one process */
#define TESSERA_MAX_MONITORED	4096

struct tessera_monitored_set *tessera_monitored_set_create(struct tessera_device *tdev,
							   struct drm_file *file,
							   struct tessera_account *account);
void tessera_monitored_set_destroy(struct tessera_monitored_set *set);
int tessera_monitored_create(struct tessera_monitored_set *set,
			     struct drm_tessera_fence_create *args);
int tessera_monitored_destroy(struct tessera_monitored_set *set, u32 id);
int tessera_monitored_signal(struct tessera_monitored_set *set, u32 id, u64 value);
struct tessera_value_page *tessera_monitored_get_page(struct tessera_monitored_set *set, u32 id);

int tessera_signals_add(struct tessera_signals **signals, struct tessera_monitored_set *set,
			struct tessera_quota *quota, struct drm_syncobj *syncobj, u64 value,
			u32 max);
int tessera_signals_prepare(struct tessera_signals *signals);
int tessera_signals_begin(struct tessera_signals *signals, struct tessera_job *job,
			  const void *queue, bool late);
bool tessera_signals_live(const struct tessera_signals *signals, u32 index);
void tessera_signals_cancel(struct tessera_signals *signals);
void tessera_signals_commit(struct tessera_signals *signals);
void tessera_signals_publish(struct tessera_signals *signals);
struct tessera_signals *tessera_signals_get(struct tessera_signals *signals);
void tessera_signals_put(struct tessera_signals *signals);

/* sync/sync.c */

/**
 * struct tessera_syncs - fences that a submission waits for, and syncobjs that
 * it signals
 */
struct tessera_syncs {
	/** @items: one entry for each element of the user's list */
	struct tessera_sync_item *items;
	/** @count: number of @items */
	u32 count;
	/** @waits: the unsignalled fences that the list waits for */
	struct tessera_fences waits;
	/** @signals: the values of monitored fences in the list, or NULL */
	struct tessera_signals *signals;
};

int tessera_syncs_await(struct tessera_device *tdev, struct drm_file *file,
			const struct drm_tessera_sync *list, u32 count);
int tessera_syncs_init(struct tessera_syncs *syncs, struct tessera_device *tdev,
		       struct drm_file *file, struct tessera_monitored_set *fences,
		       struct tessera_quota *quota, const struct drm_tessera_sync *list, u32 count);
void tessera_syncs_fini(struct tessera_syncs *syncs);
int tessera_syncs_add_waits(const struct tessera_syncs *syncs, struct tessera_job *job);
void tessera_syncs_charge(const struct tessera_syncs *syncs, struct tessera_job *job);
int tessera_syncs_wait(const struct tessera_syncs *syncs, struct tessera_device *tdev,
		       const struct tessera_engine *engine);
void tessera_syncs_commit(struct tessera_syncs *syncs, struct dma_fence *fence);
void tessera_syncs_signal(struct tessera_syncs *syncs, struct dma_fence *fence);

#endif /* __TESSERA_SYNC_H__ */
