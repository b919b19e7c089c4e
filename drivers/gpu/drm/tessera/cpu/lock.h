/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LOCK_H__
#define __TESSERA_LOCK_H__

struct drm_file;
struct drm_tessera_lock;
struct drm_tessera_unlock;
struct tessera_paging_queue;	/* paging/queue.c */

int tessera_lock(struct drm_file *file, struct tessera_paging_queue *queue,
		 struct drm_tessera_lock *args);
int tessera_unlock(struct drm_file *file, const struct drm_tessera_unlock *args);

#endif /* __TESSERA_LOCK_H__ */
