/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SHIFT_H__
#define __TESSERA_SHIFT_H__

#include <linux/types.h>

#include "segments/manager.h"

/**
 * struct tessera_vacate - a range on its way out of a part of its segment
 */
struct tessera_vacate {
	/** @range: the range; has its new runs, of which those that stay are not in the manager yet */
	struct tessera_range *range;
	/** @lo: first page of what is vacated */
	u64 lo;
	/** @hi: the page behind it */
	u64 hi;
	/** @runs: what it had, still in the manager */
	struct tessera_run *runs;
	/** @num_runs: elements of @runs */
	u32 num_runs;
	/** @num_left: how many of them are left, in full or in part */
	u32 num_left;
	/** @addrs: as of &tessera_range.addrs, before */
	dma_addr_t *addrs;

	/* private: */
	struct tessera_pieces room;
	struct tessera_run *new_runs;
	u32 num_new, used;
	u64 used_pages;
};

int tessera_manager_shift(struct tessera_manager *mgr, struct tessera_run *run,
			  u64 offset, struct drm_mm_node *left);
void tessera_manager_unshift(struct tessera_manager *mgr, struct tessera_run *run,
			     u64 offset, struct drm_mm_node *left);
void tessera_manager_leave(struct tessera_manager *mgr, struct drm_mm_node *left,
			   struct list_head *departures);

int tessera_manager_vacate(struct tessera_manager *mgr, struct tessera_range *range, u64 lo, u64 hi,
			   struct tessera_vacate *vacate);
u64 tessera_vacate_left(const struct tessera_vacate *vacate, const struct tessera_run *run,
			u64 *at);
void tessera_manager_vacated(struct tessera_manager *mgr, struct tessera_vacate *vacate,
			     struct list_head *departures);
void tessera_manager_stay(struct tessera_manager *mgr, struct tessera_vacate *vacate);

#endif /* __TESSERA_SHIFT_H__ */
