/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SCANOUT_H__
#define __TESSERA_SCANOUT_H__

#include <linux/types.h>

/* For what is being destroyed to be gone, and what is being drawn into to be let go. */
#define TESSERA_PASSING_TIMEOUT_MS	1000

struct drm_file;
struct tessera_bo;		/* mem/bo.h */

bool tessera_scanout_possible(struct tessera_bo *bo);
bool tessera_scanout_is_there(struct tessera_bo *bo);
int tessera_scanout_pin(struct tessera_bo *bo, struct drm_file *file);
void tessera_scanout_unpin(struct tessera_bo *bo);
int tessera_scanout_hold(struct tessera_bo *bo);
void tessera_scanout_drop(struct tessera_bo *bo);
u64 tessera_scanout_addr(struct tessera_bo *bo);
bool tessera_scanout_bar_offset(struct tessera_bo *bo, u64 *offset);

#endif /* __TESSERA_SCANOUT_H__ */
