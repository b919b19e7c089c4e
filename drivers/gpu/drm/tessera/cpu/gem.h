/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_GEM_H__
#define __TESSERA_GEM_H__

struct dma_buf;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct drm_tessera_bo_create;
struct sg_table;
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_user;		/* mem/user.h */

struct tessera_bo *tessera_gem_new(struct tessera_device *tdev,
				   struct tessera_paging_queue *queue,
				   const struct drm_tessera_bo_create *args,
				   struct drm_gem_object *root);
struct tessera_bo *tessera_gem_import(struct tessera_device *tdev,
				      struct tessera_paging_queue *queue,
				      const struct drm_tessera_bo_create *args,
				      struct dma_buf *dmabuf, struct sg_table *sgt);
int tessera_gem_create(struct tessera_device *tdev, struct drm_file *file,
		       struct tessera_paging_queue *queue,
		       struct drm_tessera_bo_create *args, struct drm_gem_object *root);
int tessera_gem_create_user(struct drm_file *file, struct tessera_paging_queue *queue,
			    struct drm_tessera_bo_create *args, struct tessera_user *user);
int tessera_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_label(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_invalidate_cache(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* __TESSERA_GEM_H__ */
