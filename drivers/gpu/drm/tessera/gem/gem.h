/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of gem/: how objects come into being, are shared with other
 * devices, and are destroyed.
 */
#ifndef __TESSERA_GEM_H__
#define __TESSERA_GEM_H__

#include <linux/kref.h>
#include <linux/types.h>

struct dma_buf;
struct dma_buf_attachment;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct drm_mode_create_dumb;
struct drm_tessera_bo_create;
struct drm_tessera_bo_from_user;
struct file;
struct sg_table;
struct tessera_bo;		/* mem/mem.h */
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_private;		/* pure/surface.h */
struct tessera_user;		/* borrow/borrow.h */

/* gem/dmabuf.c */

/*
 * Enough for a move and the short jobs before it. Importers attach one after
 * the other, and other clients wait for the locks that they hold.
 */
#define TESSERA_ATTACH_MS	2000

struct dma_buf *tessera_dmabuf_export(struct drm_gem_object *gem, int flags);
struct drm_gem_object *tessera_dmabuf_own(struct drm_device *drm, struct dma_buf *dmabuf);
bool tessera_dmabuf_is_ready(struct dma_buf *dmabuf);
int tessera_dmabuf_attach_prepare(struct dma_buf *dmabuf);
void tessera_dmabuf_attach_undo(struct dma_buf *dmabuf);

/* gem/destroy.c */
void tessera_destroy_free(struct drm_gem_object *gem);

int tessera_destroy_handle(struct drm_file *file, u32 handle);
int tessera_destroy_now(struct drm_file *file, u32 handle, struct tessera_bo *bo);

/* gem/gem.c */
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
int tessera_ioctl_bo_priority(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_label(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_invalidate_cache(struct drm_device *drm, void *data, struct drm_file *file);

/* gem/import.c */
int tessera_import_fd(struct drm_device *drm, struct drm_file *file, int fd, u32 *handle);
struct drm_gem_object *tessera_import(struct drm_device *drm, struct dma_buf *dmabuf);
struct drm_gem_object *tessera_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt);

/* gem/dumb.c */
int tessera_dumb_create(struct tessera_device *tdev, struct drm_file *file,
			struct tessera_paging_queue *queue, struct drm_mode_create_dumb *args);

/* gem/resource.c */

/**
 * struct tessera_resource - objects that are created, shared and opened together
 *
 * Nothing changes after it has been shared.
 */
struct tessera_resource {
	/** @ref: the file descriptor and each running ioctl hold one */
	struct kref ref;
	/**
	 * @count: &tessera_process_count.resources of the process that has
	 * shared it; NULL: not shared
	 */
	atomic_t *count;
	/** @data: private data, only for user space; NULL if there is none */
	void *data;
	/** @data_size: bytes of @data */
	u32 data_size;
	/** @num: number of objects, 1 to DRM_TESSERA_RESOURCE_MAX_BOS */
	u32 num;
	/** @bos: the objects, with references */
	struct tessera_bo *bos[];
};

struct tessera_resource *tessera_resource_create(struct tessera_device *tdev,
						 struct tessera_paging_queue *queue,
						 const struct drm_tessera_bo_create *args, u32 num);
void tessera_resource_put(struct tessera_resource *resource);
struct file *tessera_resource_share(struct tessera_resource *resource);
struct tessera_resource *tessera_resource_lookup(struct drm_device *drm, int fd);
int tessera_resource_open(struct tessera_resource *resource, struct drm_file *file, u32 *handles,
			  u64 *added);
int tessera_resource_member_handle(struct drm_file *file, struct tessera_bo *bo, u32 *handle);
void tessera_resource_close(struct drm_file *file, const u32 *handles, u64 added);

/* gem/surface_pair.c */
int tessera_surface_pair_interpret(struct tessera_device *tdev,
				   struct drm_tessera_bo_create *args,
				   const struct tessera_private *privs);

/* gem/userptr.c */
bool tessera_userptr_offered(struct tessera_device *tdev);
int tessera_userptr_create(struct tessera_device *tdev, struct drm_file *file,
			   struct tessera_paging_queue *queue,
			   struct drm_tessera_bo_from_user *args);
int tessera_userptr_ready(struct tessera_bo *bo, u64 end);

#endif /* __TESSERA_GEM_H__ */
