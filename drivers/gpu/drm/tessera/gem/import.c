// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: imports
 *
 * An import is an object whose pages belong to another device: to one of
 * another driver, or to a second device of this driver. It has placements in
 * apertures like any other object. It is never in a memory segment, as its
 * contents must stay in the exporter's pages. The pages are not charged here.
 * The importing process is charged for the placements only.
 *
 * On kernels with move notification the device is a dynamic importer. It maps
 * the pages when a job needs them, and the exporter calls import_moved() before
 * it moves them. The import then leaves its aperture as for an eviction and is
 * removed from page tables. Its eviction is ordered behind all jobs that use
 * the import and adds a fence to the reservation, so the exporter's move waits
 * for it. The next job that needs the import makes the exporter bring its
 * object back to pages.
 *
 * On other kernels the device is a static importer. The import is attached and
 * mapped for all its life, which makes the exporter pin the pages. When the
 * device is unplugged the import is detached at once, even if other devices use
 * the pages. Peer-to-peer access is not requested.
 *
 * The reservation is the dma-buf's. It orders jobs and moves of this device
 * with the work of the exporter and of other importers. Their fences may take
 * arbitrarily long (exec/foreign.c), so no move of an import waits for them. An
 * import enters an aperture when the exporter's moves are done and leaves it
 * behind jobs of this device only ("Moves and foreign fences" in
 * mem/residency.c).
 *
 * The core attaches with locks of the device and of the file held. The exporter
 * may wait there for moves that are queued behind long jobs. A static importer
 * therefore waits for these moves first, with no lock held.
 *
 * CPU mappings of an import are the exporter's.
 */

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"

/* How long the engines of an unplugged device may take to stop. */
#define UNPLUG_TIMEOUT_MS	1000

static int import_when_ready(struct drm_device *drm, struct drm_file *file, struct dma_buf *dmabuf,
			     int fd, u32 *handle)
{
	u32 limit_ms = READ_ONCE(to_tessera_device(drm)->attach_ms);
	unsigned long end = jiffies + msecs_to_jiffies(limit_ms);
	long left;
	int ret;

	do {
		left = tessera_wait_resv(TESSERA_WAIT_BYTES, dmabuf->resv, DMA_RESV_USAGE_KERNEL,
					 true, max_t(long, end - jiffies, 0));
		if (left < 0)
			return left;
		/* The descriptor may name another dma-buf in each attempt. */
		if (signal_pending(current))
			return -ERESTARTSYS;
		ret = left ? drm_gem_prime_fd_to_handle(drm, file, fd, handle) : -EINPROGRESS;
	} while (ret == -EINPROGRESS && time_before(jiffies, end));

	return ret == -EINPROGRESS ? -EBUSY : ret;
}

/* The handle that the file has for a member of a resource, else -ENOENT. */
static int import_member(struct drm_device *drm, struct drm_file *file, struct dma_buf *dmabuf,
			 u32 *handle)
{
	struct drm_gem_object *gem = tessera_dmabuf_own(drm, dmabuf);
	int ret;

	if (!gem)
		return -ENOENT;
	ret = tessera_resource_member_handle(file, gem_to_tessera_bo(gem), handle);
	drm_gem_object_put(gem);

	return ret;
}

/**
 * tessera_import_fd() - &drm_driver.prime_fd_to_handle
 * @drm: the device
 * @file: the file that gets a handle
 * @fd: file descriptor of a dma-buf
 * @handle: receives the handle
 *
 * Return: 0, -EBADF, -EINVAL, -ENOMEM; -EBUSY if the moves of the dma-buf are
 * not done in time; -ERESTARTSYS; or an error of tessera_import().
 */
int tessera_import_fd(struct drm_device *drm, struct drm_file *file, int fd, u32 *handle)
{
	struct dma_buf *dmabuf;
	int ret;

	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	ret = import_member(drm, file, dmabuf, handle);
	if (ret == -ENOENT)
		ret = drm_gem_prime_fd_to_handle(drm, file, fd, handle);
	if (ret != -EINPROGRESS) {
		dma_buf_put(dmabuf);
		return ret;
	}
	ret = tessera_dmabuf_attach_prepare(dmabuf);
	if (!ret) {
		ret = import_when_ready(drm, file, dmabuf, fd, handle);
		tessera_dmabuf_attach_undo(dmabuf);
	}
	dma_buf_put(dmabuf);

	return ret;
}

static struct drm_gem_object *import_new(struct tessera_device *tdev, struct dma_buf *dmabuf,
					 struct sg_table *sgt)
{
	struct drm_tessera_bo_create args = {
		.size = dmabuf->size,
		.supported = tessera_segment_set(tdev->segments->desc, tdev->segments->num,
						 TSR_SEGF_APERTURE, TSR_SEGF_APERTURE),
	};
	struct tessera_paging_queue *queue;
	struct tessera_bo *bo;

	queue = tessera_paging_queue_share(tdev);
	if (IS_ERR(queue))
		return ERR_CAST(queue);
	bo = tessera_gem_import(tdev, queue, &args, dmabuf, sgt);
	tessera_paging_queue_put(queue);

	return IS_ERR(bo) ? ERR_CAST(bo) : &bo->tbo.base;
}

/*
 * The device is gone, but its engines may not have stopped, and jobs of VMs
 * have no fences in the reservation. There is no other way to end their use
 * than to wait. The unplugging thread may itself wait for a thread that wants
 * this reservation, so limit the wait.
 */
static void import_wait_users(struct tessera_bo *bo)
{
	long left = msecs_to_jiffies(UNPLUG_TIMEOUT_MS);
	struct dma_fence *fence;

	while (left > 0 && (fence = tessera_bo_device(bo)->upcalls->remap_users(bo))) {
		left = tessera_wait_fence(TESSERA_WAIT_MOVED, fence, false, left);
		dma_fence_put(fence);
	}
}

/*
 * Give up the pages: the exporter is going to move them and cannot be refused.
 * The eviction needs a few small allocations, possibly while the exporter is
 * freeing memory in reclaim. Take them from the reserves, charge no process,
 * and retry until they succeed.
 */
static void import_moved(struct dma_buf_attachment *attach)
{
	struct tessera_bo *bo = gem_to_tessera_bo(attach->importer_priv);
	struct drm_device *drm = bo->tbo.base.dev;
	unsigned int flags;
	bool there;
	int ret, idx;

	dma_resv_assert_held(bo->tbo.base.resv);
	/* The pages are not mapped for this device: nothing to take away. */
	if (!bo->tbo.sg)
		return;
	there = drm_dev_enter(drm, &idx);
	if (!there)
		import_wait_users(bo);
	flags = memalloc_noreclaim_save();
	/* Leave the slot that the exporter has reserved for its own fence. */
	while ((ret = dma_resv_reserve_fences(bo->tbo.base.resv, 2) ?:
		      tessera_victims_evict(bo, TESSERA_EVICT_OTHER)) == -ENOMEM)
		tessera_wait_in(TESSERA_WAIT_MOVED, schedule_timeout_uninterruptible(1));
	memalloc_noreclaim_restore(flags);
	if (there)
		drm_dev_exit(idx);
	if (drm_WARN_ON(drm, ret))
		atomic_set(&bo->lost, 1);
	tessera_backing_lose(bo);
}

static const struct dma_buf_attach_ops import_ops = {
	.allow_peer2peer = false,
	.invalidate_mappings = import_moved,
};

/*
 * Create the object first: the exporter may notify it as soon as it is
 * attached.
 */
static struct drm_gem_object *import_dynamic(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *gem = import_new(to_tessera_device(drm), dmabuf, NULL);
	struct dma_buf_attachment *attach;

	if (IS_ERR(gem))
		return gem;
	attach = dma_buf_dynamic_attach(dmabuf, drm->dev, &import_ops, gem);
	if (IS_ERR(attach)) {
		drm_gem_object_put(gem);
		return ERR_CAST(attach);
	}
	get_dma_buf(dmabuf);
	gem->import_attach = attach;

	return gem;
}

/**
 * tessera_import() - &drm_driver.gem_prime_import
 * @drm: the device
 * @dmabuf: a dma-buf
 *
 * Return: the object, with a reference; the exported object itself if it
 * belongs to this device. Or an error pointer: -EOPNOTSUPP if the device does
 * not reach the pages of others directly, -EINVAL if it has no writable
 * aperture, -E2BIG if no aperture is large enough, -ENODEV if the device is
 * gone, -EINPROGRESS if a static importer has to wait for moves before it
 * attaches, or an error of the exporter.
 */
struct drm_gem_object *tessera_import(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *gem = tessera_dmabuf_own(drm, dmabuf);
	struct tessera_device *tdev = to_tessera_device(drm);

	if (gem)
		return gem;
	/*
	 * A bounced page is a copy, and no event tells when it has to be
	 * copied.
	 */
	if (tessera_compat_pool_is_dma(&tdev->ttm.pool))
		return ERR_PTR(-EOPNOTSUPP);
	if (!TESSERA_COMPAT_MOVE_NOTIFY && !tessera_dmabuf_is_ready(dmabuf))
		return ERR_PTR(-EINPROGRESS);
	if (!tessera_unplug_import_begin(tdev))
		return ERR_PTR(-ENODEV);
	gem = TESSERA_COMPAT_MOVE_NOTIFY ? import_dynamic(drm, dmabuf) :
					   drm_gem_prime_import_dev(drm, dmabuf, drm->dev);
	/* The core holds &drm_device.object_name_lock. */
	if (tessera_unplug_import_end(tdev, IS_ERR(gem) ? NULL : gem_to_tessera_bo(gem), true) ||
	    IS_ERR(gem))
		return gem;
	drm_gem_object_put(gem);

	return ERR_PTR(-ENODEV);
}

/**
 * tessera_import_sg_table() - &drm_driver.gem_prime_import_sg_table
 * @drm: the device
 * @attach: its attachment to another device's dma-buf
 * @sgt: the pages as the device sees them
 *
 * Return: the object with one reference, or an error of tessera_gem_import().
 */
struct drm_gem_object *tessera_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt)
{
	return import_new(to_tessera_device(drm), attach->dmabuf, sgt);
}
