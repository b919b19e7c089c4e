/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of cpu/: CPU access to objects. For the layers above and the files
 * of this folder.
 */
#ifndef __TESSERA_CPU_H__
#define __TESSERA_CPU_H__

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct drm_gem_object;
struct drm_printer;
struct drm_tessera_lock;
struct iosys_map;
struct tessera_bo;
struct tessera_device;
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_segment;
struct vm_area_struct;

/* cpu/swizzle_range.c */
int tessera_swizzle_range_init(struct tessera_device *tdev);

bool tessera_swizzle_range_serves(struct tessera_bo *bo, const struct tessera_segment *seg);
int tessera_swizzle_range_acquire(struct tessera_bo *bo, u64 first, u64 count);
void tessera_swizzle_range_release(struct tessera_bo *bo);
u64 tessera_swizzle_range_remaining_pages(struct tessera_bo *bo, u64 page);
unsigned long tessera_swizzle_range_pfn(struct tessera_bo *bo, unsigned long page);

void tessera_swizzle_range_print(struct tessera_device *tdev, struct drm_printer *p);

/* cpu/host_aperture.c */
int tessera_host_aperture_init(struct tessera_device *tdev);

u64 tessera_host_aperture_bytes(struct tessera_device *tdev, u32 *page_size);
bool tessera_host_aperture_serves(struct tessera_bo *bo, const struct tessera_segment *seg);
int tessera_host_aperture_map(struct tessera_bo *bo, const struct tessera_segment *seg, u64 page);
int tessera_host_aperture_free_slot(struct tessera_bo *bo);
void tessera_host_aperture_unmap(struct tessera_bo *bo);
unsigned long tessera_host_aperture_pfn(struct tessera_bo *bo, unsigned long page);
u64 tessera_host_aperture_remaining_pages(struct tessera_bo *bo, u64 page);

void tessera_host_aperture_print(struct tessera_device *tdev, struct drm_printer *p);

/* cpu/window.c */
int tessera_cpu_window_init(struct tessera_device *tdev);

int tessera_cpu_window_open(struct tessera_bo *bo, u64 first, u64 count, bool raw);
int tessera_cpu_window_show(struct tessera_bo *bo, u64 page);
void tessera_cpu_window_close(struct tessera_bo *bo);
void tessera_cpu_window_close_all(struct tessera_device *tdev);
unsigned long tessera_cpu_window_pfn(struct tessera_bo *bo, unsigned long page);
u64 tessera_cpu_window_remaining_pages(struct tessera_bo *bo, u64 page);
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
bool tessera_locks_exclude_memory(struct tessera_bo *bo, struct drm_file *file);
bool tessera_locks_exclude_jobs(struct tessera_bo *bo, struct drm_file *file, bool write);
void tessera_locks_close(struct tessera_bo *bo, struct drm_file *file);

/* cpu/lock.c */
int tessera_lock(struct drm_file *file, struct tessera_paging_queue *queue,
		 struct drm_tessera_lock *args);
int tessera_unlock(struct tessera_device *tdev, struct drm_file *file, u32 handle, u32 pad,
		   enum tessera_lock_kind kind);
int tessera_ioctl_unlock(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_lock2(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_unlock2(struct drm_device *drm, void *data, struct drm_file *file);

/* cpu/access.c */
int tessera_access_prepare(struct tessera_bo *bo, u64 first, u64 count, bool raw, bool evict);
int tessera_access_wait(struct tessera_bo *bo);
int tessera_access_wait_killable(struct tessera_bo *bo);
int tessera_access_settle(struct tessera_bo *bo, u32 timeout_ms);
int tessera_access_sync(struct tessera_bo *bo);
int tessera_access_vm(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
		      int write);

/* cpu/fault.c */
extern const struct vm_operations_struct tessera_cpu_fault_vm_ops;

int tessera_cpu_fault_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma);

/* cpu/vmap.c */
int tessera_vmap(struct drm_gem_object *gem, struct iosys_map *map);
void tessera_vunmap(struct drm_gem_object *gem, struct iosys_map *map);

#endif /* __TESSERA_CPU_H__ */
