/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LEAVER_H__
#define __TESSERA_LEAVER_H__

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/types.h>

struct tessera_manager;
struct tessera_range;

/**
 * struct tessera_leaver - a range that is given back before it has been left
 */
struct tessera_leaver {
	/** @fence: signals when it has been; holds a reference. NULL: it is free at once */
	struct dma_fence *fence;

	/* private: */
	struct tessera_manager *mgr;
	struct dma_fence_cb cb;
	struct list_head node;
};

void tessera_leavers_init(struct tessera_manager *mgr,
			  void (*release)(struct tessera_manager *mgr,
					  struct tessera_range *range));
void tessera_leavers_fini(struct tessera_manager *mgr);
void tessera_leaver_begin(struct tessera_manager *mgr, struct tessera_range *range);
struct tessera_range *tessera_leaver_take_locked(struct tessera_manager *mgr, u64 context,
						 u64 pages, u64 lo, u64 hi);
bool tessera_leaver_at(struct tessera_manager *mgr, u64 offset);

#endif /* __TESSERA_LEAVER_H__ */
