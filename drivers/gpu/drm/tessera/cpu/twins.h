/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_TWINS_H__
#define __TESSERA_TWINS_H__

struct drm_file;
struct drm_tessera_bo_create;
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_private;		/* pure/surface.h */

int tessera_twins_create(struct tessera_device *tdev, struct drm_file *file,
			 struct tessera_paging_queue *queue,
			 struct drm_tessera_bo_create *args,
			 const struct tessera_private *privs);

#endif /* __TESSERA_TWINS_H__ */
