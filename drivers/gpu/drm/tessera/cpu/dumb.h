/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DUMB_H__
#define __TESSERA_DUMB_H__

struct drm_file;
struct drm_mode_create_dumb;
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */

int tessera_dumb_create(struct tessera_device *tdev, struct drm_file *file,
			struct tessera_paging_queue *queue, struct drm_mode_create_dumb *args);

#endif /* __TESSERA_DUMB_H__ */
