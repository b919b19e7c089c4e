/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of cpu/: CPU access to objects, and their handles. For the layers
 * above and the files of this folder.
 */
#ifndef __TESSERA_CPU_H__
#define __TESSERA_CPU_H__

#include <linux/types.h>

struct dma_buf;
struct dma_buf_attachment;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct drm_mode_create_dumb;
struct drm_printer;
struct drm_tessera_bo_create;
struct drm_tessera_bo_from_user;
struct drm_tessera_lock;
struct iosys_map;
struct sg_table;
struct tessera_bo;
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_private;		/* pure/surface.h */
struct tessera_segment;
struct tessera_user;		/* mem/mem.h */
struct vm_area_struct;

/* cpu/swizzle_range.c */
int tessera_swizzle_range_init(struct tessera_device *tdev);

bool tessera_swizzle_range_serves(struct tessera_bo *bo, const struct tessera_segment *seg);
int tessera_swizzle_range_acquire(struct tessera_bo *bo, u64 first, u64 count);
void tessera_swizzle_range_release(struct tessera_bo *bo);
u64 tessera_swizzle_range_left(struct tessera_bo *bo, u64 page);
unsigned long tessera_swizzle_range_pfn(struct tessera_bo *bo, unsigned long page);

void tessera_swizzle_range_print(struct tessera_device *tdev, struct drm_printer *p);

/* cpu/host_aperture.c */
int tessera_host_aperture_init(struct tessera_device *tdev);

u64 tessera_host_aperture_bytes(struct tessera_device *tdev, u32 *page_size);
bool tessera_host_aperture_serves(struct tessera_bo *bo, const struct tessera_segment *seg);
int tessera_host_aperture_map(struct tessera_bo *bo, const struct tessera_segment *seg, u64 page);
int tessera_host_aperture_make_room(struct tessera_bo *bo);
void tessera_host_aperture_unmap(struct tessera_bo *bo);
unsigned long tessera_host_aperture_pfn(struct tessera_bo *bo, unsigned long page);
u64 tessera_host_aperture_left(struct tessera_bo *bo, u64 page);

void tessera_host_aperture_print(struct tessera_device *tdev, struct drm_printer *p);

/* cpu/window.c */
int tessera_cpu_window_init(struct tessera_device *tdev);

int tessera_cpu_window_open(struct tessera_bo *bo, u64 first, u64 count, bool raw);
int tessera_cpu_window_show(struct tessera_bo *bo, u64 page);
void tessera_cpu_window_close(struct tessera_bo *bo);
void tessera_cpu_window_close_all(struct tessera_device *tdev);
unsigned long tessera_cpu_window_pfn(struct tessera_bo *bo, unsigned long page);
u64 tessera_cpu_window_left(struct tessera_bo *bo, u64 page);
u32 tessera_cpu_window_backing(struct tessera_bo *bo);

/* cpu/locks.c */

/**
 * enum tessera_lock_kind - which side synchronises CPU access with jobs
 */
enum tessera_lock_kind {
	/** @TESSERA_LOCK_TRACKED: the kernel (WDDM: Lock) */
	TESSERA_LOCK_TRACKED,
	/** @TESSERA_LOCK_UNTRACKED: user space (WDDM: Lock2) */
	TESSERA_LOCK_UNTRACKED,
	/** @TESSERA_LOCK_KINDS: number of them */
	TESSERA_LOCK_KINDS,
};

int tessera_locks_open(struct tessera_bo *bo, struct drm_file *file, u32 handle);
bool tessera_locks_conflict(struct tessera_bo *bo, bool raw);
int tessera_locks_add(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind,
		      bool raw);
bool tessera_locks_drop(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind);
bool tessera_locks_keep_out(struct tessera_bo *bo, struct drm_file *file);
bool tessera_locks_refuse(struct tessera_bo *bo, struct drm_file *file, bool write);
void tessera_locks_close(struct drm_gem_object *gem, struct drm_file *file);

/* cpu/lock.c */
int tessera_lock(struct drm_file *file, struct tessera_paging_queue *queue,
		 struct drm_tessera_lock *args);
int tessera_unlock(struct tessera_device *tdev, struct drm_file *file, u32 handle, u32 pad,
		   enum tessera_lock_kind kind);
int tessera_ioctl_unlock(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_lock2(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_unlock2(struct drm_device *drm, void *data, struct drm_file *file);

/* cpu/destroy.c */
void tessera_destroy_free(struct drm_gem_object *gem);

int tessera_destroy_handle(struct drm_file *file, u32 handle);
int tessera_destroy_now(struct drm_file *file, u32 handle, struct tessera_bo *bo);

/* cpu/gem.c */
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

/* cpu/import.c */
int tessera_import_fd(struct drm_device *drm, struct drm_file *file, int fd, u32 *handle);
struct drm_gem_object *tessera_import(struct drm_device *drm, struct dma_buf *dmabuf);
struct drm_gem_object *tessera_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt);

/* cpu/dumb.c */
int tessera_dumb_create(struct tessera_device *tdev, struct drm_file *file,
			struct tessera_paging_queue *queue, struct drm_mode_create_dumb *args);

/* cpu/twins.c */
int tessera_twins_create(struct tessera_device *tdev, struct drm_file *file,
			 struct tessera_paging_queue *queue,
			 struct drm_tessera_bo_create *args,
			 const struct tessera_private *privs);

/* cpu/userptr.c */
bool tessera_userptr_offered(struct tessera_device *tdev);
int tessera_userptr_create(struct tessera_device *tdev, struct drm_file *file,
			   struct tessera_paging_queue *queue,
			   struct drm_tessera_bo_from_user *args);
int tessera_userptr_ready(struct tessera_bo *bo, u64 end);

/* cpu/access.c */
int tessera_access_prepare(struct tessera_bo *bo, u64 first, u64 count, bool raw);
int tessera_access_wait(struct tessera_bo *bo);
int tessera_access_wait_killable(struct tessera_bo *bo);
int tessera_access_settle(struct tessera_bo *bo, u32 timeout_ms);
int tessera_access_sync(struct tessera_bo *bo);
int tessera_access_vm(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
		      int write);

/* cpu/dmabuf.c */

/*
 * Enough for a move and the short jobs before it. Importers attach one after
 * the other, and other clients wait for the locks that they hold.
 */
#define TESSERA_ATTACH_MS	2000

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
