// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: Lock and Unlock
 *
 * Synchronised CPU access to objects that jobs use, for clients that submit
 * with allocation lists. The kernel knows the jobs of such a client. It can
 * wait for them, report that it would have to wait, or give the caller a
 * renamed instance to go on with (mem/renamed_instance.c). The mapping belongs
 * to the object and does not need a lock (cpu/fault.c). A lock of a swizzled
 * object shows its linear bytes, or the raw bytes if it does not acquire a
 * swizzling range. For Lock2 see cpu/lock2.c, for the record of lock holders
 * cpu/locks.c.
 */

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "cpu/cpu.h"
#include "debug/debug.h"
#include "mem/mem.h"

#define LOCK_FLAGS	(DRM_TESSERA_LOCK_READ_ONLY | \
			 DRM_TESSERA_LOCK_WRITE_ONLY | \
			 DRM_TESSERA_LOCK_DONT_WAIT | \
			 DRM_TESSERA_LOCK_IGNORE_SYNC | \
			 DRM_TESSERA_LOCK_DISCARD | \
			 DRM_TESSERA_LOCK_ACQUIRE_RANGE | \
			 DRM_TESSERA_LOCK_DO_NOT_EVICT | \
			 DRM_TESSERA_LOCK_REUSE)

/* ---- Lock ---------------------------------------------------------------- */

static int lock_check_flags(struct tessera_device *tdev, u32 flags)
{
	const u32 read_only = DRM_TESSERA_LOCK_READ_ONLY;
	const u32 discard = DRM_TESSERA_LOCK_DISCARD;

	if (tessera_ioctl_bad(tdev, flags & ~LOCK_FLAGS) ||
	    tessera_ioctl_bad(tdev, (flags & read_only) &&
			      (flags & (DRM_TESSERA_LOCK_WRITE_ONLY | discard))) ||
	    tessera_ioctl_bad(tdev, (flags & DRM_TESSERA_LOCK_IGNORE_SYNC) &&
			      (flags & (discard | DRM_TESSERA_LOCK_DO_NOT_EVICT))) ||
	    tessera_ioctl_bad(tdev, (flags & DRM_TESSERA_LOCK_REUSE) && !(flags & discard)))
		return -EINVAL;

	return 0;
}

static int lock_check(struct tessera_bo *bo, u32 flags)
{
	struct tessera_device *tdev = tessera_bo_device(bo);

	if (!(bo->flags & DRM_TESSERA_BO_CPU_ACCESS))
		return -EPERM;
	if (tessera_ioctl_bad(tdev, tessera_bo_is_offered(bo)) ||
	    tessera_ioctl_bad(tdev, (flags & DRM_TESSERA_LOCK_IGNORE_SYNC) &&
			      bo->layout != DRM_TESSERA_LAYOUT_LINEAR) ||
	    /*
	     * A twin has the right bytes only when the unswizzle copy is done
	     * (SWZ-23, SWZ-24).
	     */
	    tessera_ioctl_bad(tdev, (bo->flags & DRM_TESSERA_BO_TWIN) &&
			      (flags & (DRM_TESSERA_LOCK_DONT_WAIT |
					DRM_TESSERA_LOCK_IGNORE_SYNC))) ||
	    /*
	     * Other files would go on using the old instance. And an instance
	     * with a successor in use cannot be renamed.
	     */
	    tessera_ioctl_bad(tdev, (flags & DRM_TESSERA_LOCK_DISCARD) &&
			      (tessera_bo_is_shared(bo) ||
			       tessera_renamed_is_old(tdev, &bo->instance))))
		return -EINVAL;

	return atomic_read(&bo->lost) ? -EIO : 0;
}

static bool lock_is_idle(struct tessera_bo *bo, u32 flags)
{
	bool write = !(flags & DRM_TESSERA_LOCK_READ_ONLY);

	return dma_resv_test_signaled(bo->tbo.base.resv, dma_resv_usage_rw(write));
}

/* Wait for the jobs that use the object now. Later jobs need not be over. */
static int lock_wait_jobs(struct tessera_bo *bo, u32 flags)
{
	bool write = !(flags & DRM_TESSERA_LOCK_READ_ONLY);
	u64 queued = tessera_dep_check_stamp(&bo->dep_check);
	long ret;

	if (flags & DRM_TESSERA_LOCK_IGNORE_SYNC || lock_is_idle(bo, flags))
		return 0;
	if (flags & DRM_TESSERA_LOCK_DONT_WAIT)
		return -EBUSY;
	ret = tessera_wait_resv(TESSERA_WAIT_IDLE, bo->tbo.base.resv, dma_resv_usage_rw(write),
				true, MAX_SCHEDULE_TIMEOUT);
	if (ret > 0)
		tessera_dep_check_idle(&bo->dep_check, tessera_dep_check_before(write), queued,
				       bo->id);

	return min(ret, 0L);
}

/* -ENXIO: call tessera_locks_open() for @file and try again. */
static int lock_reserved(struct tessera_bo *bo, struct drm_file *file, u32 flags)
{
	bool range = flags & DRM_TESSERA_LOCK_ACQUIRE_RANGE;
	bool swizzled = bo->layout != DRM_TESSERA_LAYOUT_LINEAR;
	bool raw = swizzled && !range;
	int ret = 0, idx;

	if (!drm_dev_enter(bo->tbo.base.dev, &idx))
		return -ENODEV;
	if (swizzled && range && tessera_bo_is_in_vm(bo))
		ret = -EOPNOTSUPP;
	else if (tessera_locks_conflict(bo, raw))
		ret = -EBUSY;
	/* Without synchronisation the fault handler waits for moves. */
	else if (!(flags & DRM_TESSERA_LOCK_IGNORE_SYNC))
		ret = tessera_access_prepare(bo, 0, tessera_bo_bytes(bo) >> PAGE_SHIFT, raw,
					     !(flags & DRM_TESSERA_LOCK_DO_NOT_EVICT));
	if (!ret)
		tessera_coherence_for_cpu(bo, false);
	if (!ret)
		ret = tessera_locks_add(bo, file, TESSERA_LOCK_TRACKED, raw);
	drm_dev_exit(idx);

	return ret;
}

/* Give the CPU a view of the object and count the lock. */
static int lock_try(struct tessera_bo *bo, struct drm_file *file, u32 flags)
{
	int ret;

	ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
	if (ret)
		return ret;
	ret = lock_reserved(bo, file, flags);
	dma_resv_unlock(bo->tbo.base.resv);
	if (ret == -EINPROGRESS && (flags & DRM_TESSERA_LOCK_DONT_WAIT))
		return -EBUSY;

	return ret;
}

static int lock_take(struct tessera_bo *bo, struct drm_file *file, u32 flags, u32 handle)
{
	int ret;

	do {
		ret = lock_try(bo, file, flags);
		if (ret == -EINPROGRESS)
			ret = tessera_access_wait(bo);
		else if (ret == -ENXIO)
			ret = tessera_locks_open(bo, file, handle);
		else
			return ret;
	} while (!ret);

	return ret;
}

static int lock_object(struct tessera_bo *bo, struct drm_file *file,
		       struct drm_tessera_lock *args)
{
	int ret;

	ret = lock_wait_jobs(bo, args->flags);
	if (!ret)
		ret = lock_take(bo, file, args->flags, args->handle);
	if (ret)
		return ret;

	args->mmap_offset = drm_vma_node_offset_addr(&bo->tbo.base.vma_node);
	trace_tessera_lock(bo->id, args->flags, bo->instance.number);

	return 0;
}

/* ---- Discard ------------------------------------------------------------- */

static struct tessera_bo *instance_create(struct tessera_bo *old,
					  struct tessera_paging_queue *queue)
{
	struct drm_tessera_bo_create args = {
		.size = tessera_bo_bytes(old),
		.flags = old->flags,
		.supported = old->supported,
		.write_set = old->writable,
		.evict_to = old->evict_to,
		/* tessera_bo_create() appends the other supported segments. */
		.num_preferred = min_t(u32, old->num_preferred, DRM_TESSERA_MAX_PREFERRED),
		.layout = old->layout,
		.pitch = old->pitch,
		.priority = READ_ONCE(old->priority) + DRM_TESSERA_BO_PRIORITY_MIN,
		.alignment = (u64)old->tbo.page_alignment << PAGE_SHIFT,
	};
	const struct tessera_bo_source from = { .root = old->root };
	struct tessera_device *tdev = tessera_bo_device(old);
	struct tessera_bo *new;
	int ret;

	memcpy(args.preferred, old->preferred, args.num_preferred);
	new = tessera_bo_create(tdev, queue, old->tbo.base.funcs, &args, &from);
	if (IS_ERR(new))
		return new;
	new->file = old->file;
	ret = tessera_renamed_replace(tdev, &old->instance, &new->instance);
	if (ret) {
		tessera_bo_put(new);
		return ERR_PTR(ret);
	}

	return new;
}

/* An idle instance under the caller's own handle of it, or NULL. */
static struct tessera_bo *instance_reuse(struct tessera_bo *old, struct drm_file *file,
					 u32 *handle)
{
	struct tessera_bo *bo, *named;

	while ((bo = tessera_renamed_reuse(tessera_bo_device(old), &old->instance, file,
					   handle))) {
		/* The handle may have been closed, and given to another object. */
		named = tessera_bo_lookup(file, *handle);
		tessera_bo_put(bo);
		if (named == bo)
			return named;
		tessera_bo_put(named);
	}

	return NULL;
}

/*
 * Continue with an idle instance, or with a new object that no other client
 * knows. Wait for the object's own jobs if it has too many instances.
 */
static int lock_renamed(struct tessera_bo *old, struct drm_file *file,
			struct tessera_paging_queue *queue, struct drm_tessera_lock *args)
{
	struct tessera_device *tdev = tessera_bo_device(old);
	struct drm_tessera_lock renamed = *args;
	struct tessera_bo *new = NULL;
	bool created;
	int ret = 0;

	if (args->flags & DRM_TESSERA_LOCK_REUSE)
		new = instance_reuse(old, file, &renamed.handle);
	created = !new;
	if (created) {
		new = instance_create(old, queue);
		if (new == ERR_PTR(-EBUSY))
			return lock_object(old, file, args);
		if (IS_ERR(new))
			return PTR_ERR(new);
		ret = drm_gem_handle_create(file, &new->tbo.base, &renamed.handle);
	}
	if (!ret) {
		tessera_renamed_name(tdev, &new->instance, file, renamed.handle);
		ret = lock_object(new, file, &renamed);
		if (ret && created)
			drm_gem_handle_delete(file, renamed.handle);
	}
	if (!ret) {
		tessera_renamed_name(tdev, &old->instance, file, args->handle);
		*args = renamed;
	}
	tessera_bo_put(new);

	return ret;
}

/**
 * tessera_lock() - begin CPU access to an object
 * @file: the file that locks it
 * @queue: paging queue of the client that is charged for a new instance
 * @args: the object and flags; receives the mmap offset
 *
 * Return: 0, or one of the errors of &struct drm_tessera_lock.
 */
int tessera_lock(struct drm_file *file, struct tessera_paging_queue *queue,
		 struct drm_tessera_lock *args)
{
	struct tessera_bo *bo;
	int ret;

	ret = lock_check_flags(to_tessera_device(file->minor->dev), args->flags);
	if (ret)
		return ret;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;

	ret = lock_check(bo, args->flags);
	if (!ret) {
		if ((args->flags & DRM_TESSERA_LOCK_DISCARD) && !lock_is_idle(bo, args->flags))
			ret = lock_renamed(bo, file, queue, args);
		else
			ret = lock_object(bo, file, args);
	}
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_unlock() - end CPU access to an object
 * @tdev: the device
 * @file: the file that has locked it
 * @handle: the object
 * @pad: must be zero
 * @kind: TESSERA_LOCK_*
 *
 * Return: 0, -ENOENT, or -EINVAL if the file has no such lock of the object or
 * @pad is not zero.
 */
int tessera_unlock(struct tessera_device *tdev, struct drm_file *file, u32 handle, u32 pad,
		   enum tessera_lock_kind kind)
{
	struct tessera_bo *bo;
	int ret = 0;

	if (tessera_ioctl_bad(tdev, pad))
		return -EINVAL;
	bo = tessera_bo_lookup(file, handle);
	if (!bo)
		return -ENOENT;
	if (tessera_ioctl_bad(tdev, !tessera_locks_drop(bo, file, kind)))
		ret = -EINVAL;
	else if (kind == TESSERA_LOCK_TRACKED)
		trace_tessera_unlock(bo->id);
	else
		trace_tessera_unlock2(bo->id);
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_ioctl_unlock() - end synchronised CPU access
 * @drm: the device
 * @data: &struct drm_tessera_unlock
 * @file: the file that has locked it
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_unlock(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_tessera_unlock *args = data;

	return tessera_unlock(to_tessera_device(drm), file, args->handle, args->pad,
			      TESSERA_LOCK_TRACKED);
}
