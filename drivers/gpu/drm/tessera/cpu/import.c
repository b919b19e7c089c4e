// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: imports
 *
 * Objects whose pages are another device's: of another driver, or of a second device of this one. They
 * are seen through apertures, where they have places like any other object, and are never in memory:
 * nobody may take the pages' place. The pages count as nobody's here; only the places have a payer, the
 * process that has imported them.
 *
 * The device is a dynamic importer where the kernel has such. The pages are mapped when a job needs them, and the
 * exporter says before it moves them. Then the import leaves its aperture, like anything that is evicted, and page tables
 * lead to it no more: that is behind all jobs that use it, and shows in the reservation, so that the exporter's move
 * is behind it. Whoever needs the import next has the exporter bring its object back to pages. On other kernels it is a
 * static importer: attached and mapped from import to the object's end, which has the exporter keep the pages
 * what they are. When the device goes it is detached at once, whoever else still uses the pages. It does not ask for pages
 * in others' memory (P2P).
 *
 * Jobs and moves are ordered by the reservation, which is the dma-buf's, and so with whatever the
 * exporter and other importers do. Their fences may take as long as they like (exec/foreign.c), so no move of an
 * import waits for them: it comes to an aperture when the exporter's moves are done, and leaves it behind jobs of
 * this device only ("Moves and foreign fences" in mem/residency.c).
 *
 * The core attaches under locks of the device and of the file, and a static importer's exporter may wait there for moves,
 * which may be behind long jobs. So those are waited for before, with nothing locked.
 *
 * The CPU's mappings are the exporter's.
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

#include "cpu/cpu.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_wait.h"

/* As long as a client may be left without an answer; a signal ends it, too. */
#define IMPORT_TIMEOUT_MS	2000
/* Of a device that is unplugged, until its engines have stopped. */
#define UNPLUG_TIMEOUT_MS	1000

static int import_when_ready(struct drm_device *drm, struct drm_file *file, struct dma_buf *dmabuf,
			     int fd, u32 *handle)
{
	unsigned long end = jiffies + msecs_to_jiffies(IMPORT_TIMEOUT_MS);
	long left;
	int ret;

	do {
		left = tessera_wait_resv(TESSERA_WAIT_IMPORT, dmabuf->resv, DMA_RESV_USAGE_KERNEL,
					 true, max_t(long, end - jiffies, 0));
		if (left < 0)
			return left;
		/* The descriptor may be of another one each time. */
		if (signal_pending(current))
			return -ERESTARTSYS;
		ret = left ? drm_gem_prime_fd_to_handle(drm, file, fd, handle) : -EINPROGRESS;
	} while (ret == -EINPROGRESS && time_before(jiffies, end));

	return ret == -EINPROGRESS ? -EBUSY : ret;
}

/**
 * tessera_import_fd() - &drm_driver.prime_fd_to_handle
 * @drm: the device
 * @file: who gets a handle
 * @fd: its file descriptor of a dma-buf
 * @handle: receives the handle
 *
 * Return: 0, -EBADF, -EINVAL, -ENOMEM; -EBUSY if the dma-buf's bytes do not come; -ERESTARTSYS; or an error of
 * tessera_import().
 */
int tessera_import_fd(struct drm_device *drm, struct drm_file *file, int fd, u32 *handle)
{
	struct dma_buf *dmabuf;
	int ret;

	ret = drm_gem_prime_fd_to_handle(drm, file, fd, handle);
	if (ret != -EINPROGRESS)
		return ret;
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	ret = tessera_dmabuf_call(dmabuf);
	if (!ret) {
		ret = import_when_ready(drm, file, dmabuf, fd, handle);
		tessera_dmabuf_dismiss(dmabuf);
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
 * The device is gone, but its engines may not have stopped, and jobs of VMs do not show in the
 * reservation. Nothing else is to be done for their end than to wait; but who unplugs the device may
 * be waiting for somebody who wants this reservation, so not for ever.
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
 * The exporter is going to move its pages, and cannot be refused. That wants a few small allocations, and
 * the exporter may be giving back memory: so they are nobody's, from the reserves, and tried until
 * they are had.
 */
static void import_moved(struct dma_buf_attachment *attach)
{
	struct tessera_bo *bo = gem_to_tessera_bo(attach->importer_priv);
	struct drm_device *drm = bo->tbo.base.dev;
	unsigned int flags;
	bool there;
	int ret, idx;

	dma_resv_assert_held(bo->tbo.base.resv);
	/* Nobody has looked at them since, or ever will. */
	if (!bo->tbo.sg)
		return;
	there = drm_dev_enter(drm, &idx);
	if (!there)
		import_wait_users(bo);
	flags = memalloc_noreclaim_save();
	/* The exporter has reserved a slot for its own fence, which is to be left. */
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

/* The object first: the exporter may speak of it as soon as it is attached. */
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
 * Return: the object, with a reference, itself if it is this device's; or an error pointer: -EOPNOTSUPP if
 * the device does not reach the pages of others directly, -EINVAL if it has no aperture to write to, -E2BIG
 * if none is as large, -ENODEV if the device is gone, -EINPROGRESS if there are moves to wait for before, or an error
 * of the exporter.
 */
struct drm_gem_object *tessera_import(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *gem = tessera_dmabuf_own(drm, dmabuf);
	struct tessera_device *tdev = to_tessera_device(drm);

	if (gem)
		return gem;
	/* Bounced pages are copies, and nobody would say when to copy them. */
	if (tessera_compat_pool_is_dma(&tdev->ttm.pool))
		return ERR_PTR(-EOPNOTSUPP);
	if (!TESSERA_COMPAT_MOVE_NOTIFY && !tessera_dmabuf_is_ready(dmabuf))
		return ERR_PTR(-EINPROGRESS);
	if (!tessera_unplug_import_begin(tdev))
		return ERR_PTR(-ENODEV);
	gem = TESSERA_COMPAT_MOVE_NOTIFY ? import_dynamic(drm, dmabuf) :
					   drm_gem_prime_import_dev(drm, dmabuf, drm->dev);
	/* The core holds the lock of names. */
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
 * Return: the object with one reference, or an error of tessera_bo_import().
 */
struct drm_gem_object *tessera_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt)
{
	return import_new(to_tessera_device(drm), attach->dmabuf, sgt);
}
