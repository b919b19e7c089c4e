/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SHIFT_H__
#define __TESSERA_SHIFT_H__

#include <linux/types.h>

#include "segments/manager.h"

int tessera_manager_shift(struct tessera_manager *mgr, struct tessera_run *run,
			  u64 offset, struct drm_mm_node *left);
void tessera_manager_unshift(struct tessera_manager *mgr, struct tessera_run *run,
			     u64 offset, struct drm_mm_node *left);
void tessera_manager_leave(struct tessera_manager *mgr, struct drm_mm_node *left,
			   struct list_head *departures);

#endif /* __TESSERA_SHIFT_H__ */
