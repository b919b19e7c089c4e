/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_USERPTR_H__
#define __TESSERA_USERPTR_H__

#include <linux/types.h>

struct drm_file;
struct drm_tessera_bo_from_user;
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */

bool tessera_userptr_offered(struct tessera_device *tdev);
int tessera_userptr_create(struct tessera_device *tdev, struct drm_file *file,
			   struct tessera_paging_queue *queue,
			   struct drm_tessera_bo_from_user *args);
int tessera_userptr_ready(struct tessera_bo *bo, u64 end);

#endif /* __TESSERA_USERPTR_H__ */
