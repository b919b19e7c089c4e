/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IMPORT_H__
#define __TESSERA_IMPORT_H__

#include <linux/types.h>

struct dma_buf;
struct dma_buf_attachment;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct sg_table;
struct tessera_bo;		/* mem/bo.h */

int tessera_import_fd(struct drm_device *drm, struct drm_file *file, int fd, u32 *handle);
struct drm_gem_object *tessera_import(struct drm_device *drm, struct dma_buf *dmabuf);
struct drm_gem_object *tessera_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt);

#endif /* __TESSERA_IMPORT_H__ */
