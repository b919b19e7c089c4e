/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_DMABUF_H__
#define __TESSERA_DMABUF_H__

#include <linux/types.h>

struct dma_buf;
struct drm_device;
struct drm_gem_object;

struct dma_buf *tessera_dmabuf_export(struct drm_gem_object *gem, int flags);
struct drm_gem_object *tessera_dmabuf_own(struct drm_device *drm, struct dma_buf *dmabuf);
bool tessera_dmabuf_is_ready(struct dma_buf *dmabuf);
int tessera_dmabuf_call(struct dma_buf *dmabuf);
void tessera_dmabuf_dismiss(struct dma_buf *dmabuf);

#endif /* __TESSERA_DMABUF_H__ */
