/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LOCKS_H__
#define __TESSERA_LOCKS_H__

#include <linux/types.h>

struct drm_file;
struct drm_gem_object;
struct tessera_bo;		/* mem/bo.h */

/**
 * enum tessera_lock_kind - who synchronises
 */
enum tessera_lock_kind {
	/** @TESSERA_LOCK_TRACKED: the kernel (WDDM: Lock) */
	TESSERA_LOCK_TRACKED,
	/** @TESSERA_LOCK_UNTRACKED: user space (WDDM: Lock2) */
	TESSERA_LOCK_UNTRACKED,
	/** @TESSERA_LOCK_KINDS: number of them */
	TESSERA_LOCK_KINDS,
};

int tessera_locks_open(struct tessera_bo *bo, struct drm_file *file, u32 handle);
bool tessera_locks_conflict(struct tessera_bo *bo, bool raw);
int tessera_locks_add(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind,
		      bool raw);
bool tessera_locks_drop(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind);
bool tessera_locks_keep_out(struct tessera_bo *bo, struct drm_file *file);
bool tessera_locks_refuse(struct tessera_bo *bo, struct drm_file *file, bool write);
void tessera_locks_close(struct drm_gem_object *gem, struct drm_file *file);

#endif /* __TESSERA_LOCKS_H__ */
