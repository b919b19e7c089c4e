// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: Lock2 and Unlock2
 *
 * CPU access without synchronisation: the client only gets an address and
 * synchronises with its jobs itself. Lock2 never waits for a job. If the object
 * has to move for it, the move waits for the jobs, and the first access to a
 * mapping waits for the move (cpu/fault.c).
 *
 * Lock2 never acquires a swizzling range (LOCK-13): a swizzled object is seen
 * as it lies in memory.
 *
 * An object that is cached, or that has no CPU access of its own, is seen
 * through its system pages only. Lock2 makes it leave VRAM. Until it is unlocked
 * jobs use it where its pages are shown, if one of their segments does that
 * (LOCK-15, LOCK-21, tessera_bo_allowed()). Otherwise jobs of other files may
 * bring it back.
 */

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_vma_manager.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"

/* Move the object to its system pages. Fails if jobs could not use it there. */
static int lock2_leave_memory(struct tessera_bo *bo)
{
	if (atomic_read(&bo->lost))
		return -EIO;
	if (tessera_bo_is_offered(bo))
		return -EINVAL;
	if (!tessera_segment_is_vram(tessera_bo_segment(bo)))
		return 0;
	if (!tessera_bo_page_segments(bo, false))
		return -EOPNOTSUPP;

	return tessera_victims_evict(bo, TESSERA_EVICT_CPU);
}

static int lock2_prepare(struct tessera_bo *bo, bool raw)
{
	int ret;

	if (tessera_bo_shows_pages_only(bo))
		return lock2_leave_memory(bo);
	ret = tessera_access_prepare(bo, 0, tessera_bo_bytes(bo) >> PAGE_SHIFT, raw, true);

	/* Moves are still under way; the fault handler waits for them. */
	return ret == -EINPROGRESS ? 0 : ret;
}

/* -ENXIO: call tessera_locks_open() for @file and try again. */
static int lock2_reserved(struct tessera_bo *bo, struct drm_file *file)
{
	bool raw = bo->layout != DRM_TESSERA_LAYOUT_LINEAR;
	int ret = -EBUSY, idx;

	if (!drm_dev_enter(bo->tbo.base.dev, &idx))
		return -ENODEV;
	if (!tessera_locks_conflict(bo, raw))
		ret = lock2_prepare(bo, raw);
	if (!ret)
		tessera_coherence_for_cpu(bo, false);
	if (!ret)
		ret = tessera_locks_add(bo, file, TESSERA_LOCK_UNTRACKED, raw);
	drm_dev_exit(idx);

	return ret;
}

static int lock2_take(struct tessera_bo *bo, struct drm_file *file, u32 handle)
{
	int ret;

	do {
		ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
		if (ret)
			return ret;
		ret = lock2_reserved(bo, file);
		dma_resv_unlock(bo->tbo.base.resv);
		if (ret != -ENXIO)
			return ret;
		ret = tessera_locks_open(bo, file, handle);
	} while (!ret);

	return ret;
}

/**
 * tessera_ioctl_lock2() - get an address for unsynchronised CPU access
 * @drm: the device
 * @data: &struct drm_tessera_lock2
 * @file: the file that locks it
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_lock2(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_tessera_lock2 *args = data;
	struct tessera_bo *bo;
	int ret;

	args->mmap_offset = 0;
	if (tessera_ioctl_bad(to_tessera_device(drm), args->flags))
		return -EINVAL;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	/* The process accesses user memory at its own address. */
	ret = bo->user ? -EPERM : lock2_take(bo, file, args->handle);
	if (!ret) {
		args->mmap_offset = drm_vma_node_offset_addr(&bo->tbo.base.vma_node);
		trace_tessera_lock2(bo->id);
	}
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_ioctl_unlock2() - end unsynchronised CPU access
 * @drm: the device
 * @data: &struct drm_tessera_unlock2
 * @file: the file that has locked it
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_unlock2(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_tessera_unlock2 *args = data;

	return tessera_unlock(to_tessera_device(drm), file, args->handle, args->pad,
			      TESSERA_LOCK_UNTRACKED);
}
