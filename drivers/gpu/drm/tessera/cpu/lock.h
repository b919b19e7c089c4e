/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LOCK_H__
#define __TESSERA_LOCK_H__

#include "cpu/locks.h"

struct drm_device;
struct drm_tessera_lock;
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */

int tessera_lock(struct drm_file *file, struct tessera_paging_queue *queue,
		 struct drm_tessera_lock *args);
int tessera_unlock(struct tessera_device *tdev, struct drm_file *file, u32 handle, u32 pad,
		   enum tessera_lock_kind kind);
int tessera_ioctl_unlock(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_lock2(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_unlock2(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* __TESSERA_LOCK_H__ */
