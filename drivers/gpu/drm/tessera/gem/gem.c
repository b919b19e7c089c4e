// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: GEM
 *
 * Handles of buffer objects, and the ioctls that query a single object.
 *
 * For operations on an object's dma-buf see gem/dmabuf.c.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_utils.h>
#include <drm/drm_vma_manager.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "client/client.h"
#include "cpu/cpu.h"
#include "debug/debug.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "segments/segments.h"

/*
 * An object that is private to a VM, or of user memory, may have handles only
 * in the file that created it.
 */
static int gem_open(struct drm_gem_object *gem, struct drm_file *file)
{
	const struct tessera_bo *bo = gem_to_tessera_bo(gem);

	return tessera_ioctl_bad(tessera_bo_device(bo),
				 (bo->root || bo->user) && bo->file != file) ? -EINVAL : 0;
}

/* Called when a file closes its handle, or is closed itself. */
static void gem_close(struct drm_gem_object *gem, struct drm_file *file)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	tessera_locks_close(bo, file);
	tessera_bo_device(bo)->upcalls->handle_closed(bo, file);
}

/*
 * The exporter maps an imported object and does not use the GEM reference that
 * the core has taken for the mapping.
 */
static int gem_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct dma_buf *dmabuf = gem_to_tessera_bo(gem)->sharing.dmabuf;
	int ret;

	if (!dmabuf)
		return tessera_cpu_fault_mmap(gem, vma);
	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ret = dma_buf_mmap(dmabuf, vma, 0);
	if (!ret)
		drm_gem_object_put(gem);

	return ret;
}

static int gem_vmap(struct drm_gem_object *gem, struct iosys_map *map)
{
	struct dma_buf *dmabuf = gem_to_tessera_bo(gem)->sharing.dmabuf;

	return dmabuf ? dma_buf_vmap(dmabuf, map) : tessera_vmap(gem, map);
}

static void gem_vunmap(struct drm_gem_object *gem, struct iosys_map *map)
{
	struct dma_buf *dmabuf = gem_to_tessera_bo(gem)->sharing.dmabuf;

	if (dmabuf)
		dma_buf_vunmap(dmabuf, map);
	else
		tessera_vunmap(gem, map);
}

static const struct drm_gem_object_funcs tessera_gem_funcs = {
	.free = tessera_destroy_free,
	.open = gem_open,
	.close = gem_close,
	.export = tessera_dmabuf_export,
	.vmap = gem_vmap,
	.vunmap = gem_vunmap,
	.mmap = gem_mmap,
	.vm_ops = &tessera_cpu_fault_vm_ops,
};

/**
 * tessera_gem_new() - create an object without a handle
 * @tdev: the device
 * @queue: paging queue of the client that is charged
 * @args: the requested object
 * @root: root object of the VM that it is private to, or NULL
 *
 * Return: the object with one reference, or an error of tessera_bo_create().
 */
struct tessera_bo *tessera_gem_new(struct tessera_device *tdev,
				   struct tessera_paging_queue *queue,
				   const struct drm_tessera_bo_create *args,
				   struct drm_gem_object *root)
{
	const struct tessera_bo_source from = { .root = root };

	return tessera_bo_create(tdev, queue, &tessera_gem_funcs, args, &from);
}

/**
 * tessera_gem_import() - create an object of another device's pages
 * @tdev: the device
 * @queue: paging queue of the client that is charged for its placements
 * @args: the requested object
 * @dmabuf: the dma-buf that has the pages
 * @sgt: the pages
 *
 * Return: the object with one reference, or an error of tessera_bo_create().
 */
struct tessera_bo *tessera_gem_import(struct tessera_device *tdev,
				      struct tessera_paging_queue *queue,
				      const struct drm_tessera_bo_create *args,
				      struct dma_buf *dmabuf, struct sg_table *sgt)
{
	const struct tessera_bo_source from = { .dmabuf = dmabuf, .sgt = sgt };

	return tessera_bo_create(tdev, queue, &tessera_gem_funcs, args, &from);
}

/**
 * tessera_gem_create_user() - create an object of memory of the calling
 * process, and a handle for it
 * @file: the file that gets the handle
 * @queue: paging queue of the client that is charged for its placements
 * @args: the requested object; receives the handle
 * @user: the memory, consumed
 *
 * Return: 0 or an error of tessera_bo_create().
 */
int tessera_gem_create_user(struct drm_file *file, struct tessera_paging_queue *queue,
			    struct drm_tessera_bo_create *args, struct tessera_user *user)
{
	const struct tessera_bo_source from = { .user = user };
	struct tessera_bo *bo;
	int ret;

	bo = tessera_bo_create(to_tessera_device(file->minor->dev), queue, &tessera_gem_funcs, args,
			       &from);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->file = file;
	ret = drm_gem_handle_create(file, &bo->tbo.base, &args->handle);
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_gem_create() - create an object and a handle for it
 * @tdev: the device
 * @file: the file that gets the handle
 * @queue: paging queue of the client that is charged
 * @args: the requested object; receives the handle
 * @root: root object of the VM of @file that it is private to, or NULL
 *
 * Return: 0 or an error of tessera_bo_create().
 */
int tessera_gem_create(struct tessera_device *tdev, struct drm_file *file,
		       struct tessera_paging_queue *queue,
		       struct drm_tessera_bo_create *args, struct drm_gem_object *root)
{
	struct tessera_bo *bo;
	int ret;

	bo = tessera_gem_new(tdev, queue, args, root);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	bo->file = file;
	/*
	 * Only a client inside the kernel has no struct file. It redraws the
	 * object when asked to.
	 */
	bo->redrawn = !file->filp;
	ret = drm_gem_handle_create(file, &bo->tbo.base, &args->handle);
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_ioctl_bo_info() - query the properties of an object
 * @drm: the device
 * @data: &struct drm_tessera_bo_info
 * @file: the file that owns the handle
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_tessera_bo_info *args = data;
	const struct tessera_segment *seg;
	struct tessera_bo *bo;
	int ret;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;

	args->size = tessera_bo_bytes(bo);
	args->flags = bo->flags;
	args->supported = bo->supported;
	args->layout = bo->layout;
	args->pitch = bo->pitch;
	args->priority = READ_ONCE(bo->priority) + DRM_TESSERA_BO_PRIORITY_MIN;
	args->write_set = bo->writable;
	args->pad2 = 0;
	args->alignment = (u64)bo->tbo.page_alignment << PAGE_SHIFT;
	args->mmap_offset = bo->flags & DRM_TESSERA_BO_CPU_ACCESS || bo->sharing.dmabuf ?
			    drm_vma_node_offset_addr(&bo->tbo.base.vma_node) : 0;

	ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
	if (!ret) {
		seg = tessera_bo_segment(bo);
		args->segment = seg ? seg->id : 0;
		args->segment_offset = tessera_bo_segment_offset(bo);
		dma_resv_unlock(bo->tbo.base.resv);
	}
	tessera_bo_put(bo);

	return ret;
}

static int gem_set_label(struct tessera_bo *bo, const char *label)
{
	int ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);

	if (ret) {
		kfree(label);
		return ret;
	}
	swap(bo->label, label);
	trace_tessera_bo_label(bo->id, bo->label ?: "");
	dma_resv_unlock(bo->tbo.base.resv);
	kfree(label);

	return 0;
}

/**
 * tessera_ioctl_bo_priority() - change the priority of an object
 * @drm: the device
 * @data: &struct drm_tessera_bo_priority
 * @file: the file that owns the handle
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_priority(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_tessera_bo_priority *args = data;
	struct tessera_bo *bo;
	int ret = -EPERM;

	if (tessera_ioctl_bad(to_tessera_device(drm),
			      !tessera_bo_priority_is_valid(args->priority)))
		return -EINVAL;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	if (tessera_account_is_mine(bo->account))
		ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
	if (!ret) {
		WRITE_ONCE(bo->priority, args->priority - DRM_TESSERA_BO_PRIORITY_MIN);
		tessera_order_update(bo);
		dma_resv_unlock(bo->tbo.base.resv);
	}
	tessera_bo_put(bo);

	return ret;
}

/*
 * Accept printable characters only. A label must not forge lines of a debugfs
 * table or send control sequences to a terminal.
 */
static bool gem_label_is_good(const u8 *label, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (label[i] < ' ' || label[i] > '~')
			return false;

	return true;
}

/**
 * tessera_ioctl_bo_label() - name an object
 * @drm: the device
 * @data: &struct drm_tessera_bo_label
 * @file: the file that owns the handle
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_label(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_tessera_bo_label *args = data;
	size_t length = strnlen((const char *)args->label, sizeof(args->label));
	const char *label = NULL;
	struct tessera_bo *bo;
	int ret = -ENOMEM;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad) ||
	    length == sizeof(args->label) || !gem_label_is_good(args->label, length))
		return -EINVAL;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	if (length)
		label = kmemdup_nul((const char *)args->label, length, GFP_KERNEL_ACCOUNT);
	if (label || !length)
		ret = gem_set_label(bo, label);
	tessera_bo_put(bo);

	return ret;
}

/**
 * tessera_ioctl_bo_wait() - wait until an object is idle and the CPU sees its
 * contents
 * @drm: the device
 * @data: &struct drm_tessera_bo_wait
 * @file: the file that owns the handle
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_tessera_bo_wait *args = data;
	bool write = args->flags & DRM_TESSERA_BO_WAIT_WRITE;
	bool waited = false;
	struct tessera_bo *bo;
	long timeout, ret;
	u64 queued;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->flags & ~DRM_TESSERA_BO_WAIT_WRITE))
		return -EINVAL;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;

	queued = tessera_dep_check_stamp(&bo->dep_check);
	/* Jiffies may lag behind the clock, so one wait may end too early. */
	do {
		timeout = drm_timeout_abs_to_jiffies(args->timeout_ns);
		waited |= timeout;
		ret = tessera_wait_resv(TESSERA_WAIT_IDLE, bo->tbo.base.resv,
					dma_resv_usage_rw(write), true, timeout);
	} while (!ret && timeout);
	if (ret > 0) {
		tessera_dep_check_idle(&bo->dep_check, tessera_dep_check_before(write), queued,
				       bo->id);
		ret = tessera_access_sync(bo) ?: 1;
	}
	tessera_bo_put(bo);

	if (!ret)
		return waited ? -ETIME : -EBUSY;

	return ret < 0 ? ret : 0;
}

static int gem_flush(struct tessera_bo *bo, u64 offset, u64 bytes)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	int ret;

	if (tessera_ioctl_bad(tdev, !(bo->flags & DRM_TESSERA_BO_CPU_CACHED)) ||
	    tessera_ioctl_bad(tdev, !bytes || offset > tessera_bo_bytes(bo) ||
			      bytes > tessera_bo_bytes(bo) - offset))
		return -EINVAL;
	if (!tessera_coherence_tracks(bo))
		return 0;
	ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
	if (ret)
		return ret;
	tessera_coherence_flush(bo, offset, bytes);
	dma_resv_unlock(bo->tbo.base.resv);

	return 0;
}

/**
 * tessera_ioctl_invalidate_cache() - write back and invalidate an object's
 * lines in CPU caches
 * @drm: the device
 * @data: &struct drm_tessera_invalidate_cache
 * @file: the file that owns the handle
 *
 * Does nothing where the device snoops CPU caches.
 *
 * Return: 0, or one of the errors of the struct.
 */
int tessera_ioctl_invalidate_cache(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_tessera_invalidate_cache *args = data;
	struct tessera_bo *bo;
	int ret;

	if (tessera_ioctl_bad(to_tessera_device(drm), args->pad))
		return -EINVAL;
	bo = tessera_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	ret = gem_flush(bo, args->offset, args->size);
	tessera_bo_put(bo);

	return ret;
}
