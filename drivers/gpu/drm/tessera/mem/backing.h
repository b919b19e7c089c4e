/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BACKING_H__
#define __TESSERA_BACKING_H__

#include <linux/atomic.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct tessera_bo;		/* mem/bo.h */
struct dma_fence;
struct tessera_device;
struct tessera_pages;		/* paging/pages.h */
struct ttm_buffer_object;
struct ttm_device;
struct ttm_operation_ctx;
struct ttm_tt;

/**
 * struct tessera_retain - spare system pages of objects in memory segments
 */
struct tessera_retain {
	/** @pages: how many there are */
	atomic_long_t pages;
	/** @offered: pages of objects that are offered, and in no segment; there may be fewer */
	atomic_long_t offered;
	/** @limit: most of @pages; a debugfs knob */
	unsigned long limit;
	/** @keep_copy: page-in leaves the copy in them valid; a debugfs knob */
	bool keep_copy;
	/** @orphans: objects' pages that a page-in has left to TTM, which frees them behind it */
	atomic_t orphans;
	/** @no_orphans: for the end of all of them */
	wait_queue_head_t no_orphans;
	/** @lock: protects @donors; taken with a reservation held, and in reclaim */
	struct mutex lock;
	/** @donors: objects that may have pages for the shrinker, &tessera_bo.donor */
	struct list_head donors;
};

/**
 * enum tessera_page_use - what somebody has done with pages since they were the other's
 */
enum tessera_page_use {
	/** @TESSERA_PAGES_UNUSED: nothing */
	TESSERA_PAGES_UNUSED,
	/** @TESSERA_PAGES_READ: read, or had them mapped */
	TESSERA_PAGES_READ,
	/** @TESSERA_PAGES_WRITTEN: written, maybe */
	TESSERA_PAGES_WRITTEN,
	/** @TESSERA_PAGES_NEW: they are new: cleared, or as somebody else has written them */
	TESSERA_PAGES_NEW,
};

/**
 * struct tessera_page_users - who uses the pages of an object, see mem/coherence.c
 */
struct tessera_page_users {
	/** @cpu: since the device's use of them began */
	enum tessera_page_use cpu;
	/** @gpu: since the CPU's use of them began */
	enum tessera_page_use gpu;
	/** @unseen: jobs may have written them that the kernel did not look at, see there */
	bool unseen;
};

int tessera_backing_init(struct tessera_device *tdev);

struct ttm_tt *tessera_backing_create(struct ttm_buffer_object *tbo, u32 page_flags);
int tessera_backing_fill(struct ttm_device *bdev, struct ttm_tt *tt,
			 struct ttm_operation_ctx *ctx);
int tessera_backing_set_user(struct tessera_bo *bo, const unsigned long *pfns,
			     enum dma_data_direction dir);
void tessera_backing_destroy(struct ttm_device *bdev, struct ttm_tt *tt);
void tessera_backing_unpopulate(struct ttm_device *bdev, struct ttm_tt *tt);

bool tessera_backing_has_bytes(struct tessera_bo *bo);
int tessera_backing_populate(struct tessera_bo *bo, struct ttm_operation_ctx *ctx);
bool tessera_backing_retain(struct tessera_bo *bo, struct dma_fence *reader);
bool tessera_backing_is_retained(struct tessera_bo *bo);
u64 tessera_backing_first_page(struct tessera_bo *bo);
const struct tessera_pages *tessera_backing_list(struct tessera_bo *bo);
struct tessera_page_users *tessera_backing_users(struct tessera_bo *bo);
bool tessera_backing_is_private(struct tessera_bo *bo);
void tessera_backing_detach(struct tessera_bo *bo);
void tessera_backing_set_orphan(struct tessera_bo *bo, bool orphan);
bool tessera_backing_wait_orphans(struct tessera_device *tdev, unsigned long end);
void tessera_backing_lose(struct tessera_bo *bo);
void tessera_backing_clear_new(struct tessera_bo *bo);
void tessera_backing_use(struct tessera_bo *bo);
void tessera_backing_count_offered(struct tessera_bo *bo, bool offered);
void tessera_backing_forget(struct tessera_bo *bo);

#endif /* __TESSERA_BACKING_H__ */
