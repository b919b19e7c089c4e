/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What files of cpu/ share, and nobody else. */
#ifndef __TESSERA_CPU_H__
#define __TESSERA_CPU_H__

#include <linux/types.h>

struct dma_buf;
struct drm_device;
struct drm_gem_object;
struct iosys_map;
struct tessera_bo;		/* mem/bo.h */
struct vm_area_struct;

/* cpu/access.c */
int tessera_access_prepare(struct tessera_bo *bo, u64 first, u64 count, bool raw);
int tessera_access_wait(struct tessera_bo *bo);
int tessera_access_wait_killable(struct tessera_bo *bo);
int tessera_access_settle(struct tessera_bo *bo, u32 timeout_ms);
int tessera_access_sync(struct tessera_bo *bo);
int tessera_access_vm(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
		      int write);

/* cpu/dmabuf.c */
struct dma_buf *tessera_dmabuf_export(struct drm_gem_object *gem, int flags);
struct drm_gem_object *tessera_dmabuf_own(struct drm_device *drm, struct dma_buf *dmabuf);
bool tessera_dmabuf_is_ready(struct dma_buf *dmabuf);
int tessera_dmabuf_call(struct dma_buf *dmabuf);
void tessera_dmabuf_dismiss(struct dma_buf *dmabuf);

/* cpu/fault.c */
extern const struct vm_operations_struct tessera_cpu_fault_vm_ops;

int tessera_cpu_fault_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma);

/* cpu/vmap.c */
int tessera_vmap(struct drm_gem_object *gem, struct iosys_map *map);
void tessera_vunmap(struct drm_gem_object *gem, struct iosys_map *map);

#endif /* __TESSERA_CPU_H__ */
