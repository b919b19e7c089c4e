// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: dma-bufs
 *
 * Export objects to other files and devices. A file of the same device imports
 * the object itself. Another device gets its system pages. The contents are
 * synchronised through the reservation, as for any other use.
 *
 * A dynamic importer is notified before the object moves to a memory segment or
 * is swapped out. Until then it may use the pages (tessera_residency_lend()).
 * Its attachment does not keep the object from moving. When it maps the object
 * again, the object moves back to its system pages, and fences in the
 * reservation tell when that is done. For a static importer the pages are
 * pinned as long as it is attached (tessera_residency_pin()).
 *
 * A static importer may read without looking at the reservation. Attaching
 * therefore waits until the pages hold the object's bytes. Before that they may
 * hold data of a previous owner. The importer holds locks meanwhile, such as
 * the &drm_device.object_name_lock of its device, and the move waits for the
 * jobs that use the object. The wait is therefore short. Importers of this
 * driver pin the pages and wait before they take any lock (gem/import.c).
 *
 * An importer's mappings are for its own device and of system pages, which
 * outlive this device. Unplug has nothing to revoke.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_tt.h>

#include "base/assert.h"
#include "base/compat.h"
#include "base/wait.h"
#include "cpu/cpu.h"
#include "gem/gem.h"
#include "mem/mem.h"

static int dmabuf_pin(struct tessera_bo *bo)
{
	int ret, idx;

	ret = tessera_bo_enter(bo, true, &idx);
	if (ret)
		return ret;
	ret = tessera_residency_pin(bo);
	tessera_bo_exit(bo, idx);

	return ret;
}

static void dmabuf_unpin(struct tessera_bo *bo)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	tessera_residency_unpin(bo);
	dma_resv_unlock(bo->tbo.base.resv);
}

static void drop_lending(struct tessera_bo *bo, struct tessera_lending *lending)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	list_del(&lending->node);
	if (list_empty(&bo->sharing.lendings))
		bo->sharing.lent = false;
	dma_resv_unlock(bo->tbo.base.resv);
	kfree(lending);
}

/*
 * The contents have to be there: the pages of a move out of VRAM that was begun
 * before are not cleared, and if it fails the importer would see what they held.
 */
static int attach_dynamic(struct tessera_bo *bo, struct dma_buf_attachment *attach)
{
	struct tessera_lending *lending;
	int ret, idx;

	if (!tessera_residency_can_lend(bo))
		return -EOPNOTSUPP;
	lending = kzalloc(sizeof(*lending), GFP_KERNEL_ACCOUNT);
	if (!lending)
		return -ENOMEM;
	ret = tessera_bo_enter(bo, true, &idx);
	if (ret) {
		kfree(lending);
		return ret;
	}
	lending->attach = attach;
	list_add(&lending->node, &bo->sharing.lendings);
	tessera_backing_clear_new(bo);
	tessera_bo_exit(bo, idx);

	ret = tessera_access_settle(bo, READ_ONCE(tessera_bo_device(bo)->attach_ms));
	if (ret)
		drop_lending(bo, lending);
	else
		attach->priv = lending;

	return ret;
}

static int tessera_dmabuf_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct tessera_bo *bo = gem_to_tessera_bo(dmabuf->priv);
	int ret;

	/* Peer-to-peer access to VRAM is not offered. */
	attach->peer2peer = false;
	if (attach->importer_ops)
		return attach_dynamic(bo, attach);
	ret = dmabuf_pin(bo);
	if (ret)
		return ret;

	ret = tessera_access_settle(bo, READ_ONCE(tessera_bo_device(bo)->attach_ms));
	if (ret)
		dmabuf_unpin(bo);

	return ret;
}

static void tessera_dmabuf_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct tessera_bo *bo = gem_to_tessera_bo(dmabuf->priv);
	struct tessera_lending *lending = attach->priv;

	if (!lending) {
		dmabuf_unpin(bo);
		return;
	}
	drop_lending(bo, lending);
}

/*
 * Called by the core for dynamic importers, either on kernels without move
 * notification or because the importer wants the pages to stay. For a static
 * importer attaching has pinned them. The reservation is held.
 */
static int tessera_dmabuf_pin(struct dma_buf_attachment *attach)
{
	struct tessera_bo *bo = gem_to_tessera_bo(attach->dmabuf->priv);
	int ret, idx;

	if (!attach->importer_ops)
		return 0;
	if (!drm_dev_enter(bo->tbo.base.dev, &idx))
		return -ENODEV;
	ret = tessera_residency_pin(bo);
	drm_dev_exit(idx);

	return ret;
}

static void tessera_dmabuf_unpin(struct dma_buf_attachment *attach)
{
	if (attach->importer_ops)
		tessera_residency_unpin(gem_to_tessera_bo(attach->dmabuf->priv));
}

/* Pieces are as long as the importer accepts. */
static int dmabuf_pages_to_sg(struct ttm_tt *tt, struct device *dev, struct sg_table *sgt)
{
	size_t max_segment = min_t(size_t, dma_get_max_seg_size(dev), dma_max_mapping_size(dev));

	return sg_alloc_table_from_pages_segment(sgt, tt->pages, tt->num_pages, 0,
						 (unsigned long)tt->num_pages << PAGE_SHIFT,
						 max_segment, GFP_KERNEL);
}

static int map_prepare(struct tessera_bo *bo, bool dynamic)
{
	if (dynamic)
		return tessera_residency_lend(bo);
	if (drm_WARN_ON(bo->tbo.base.dev, !bo->pins))
		return -EINVAL;

	/*
	 * Moves may have begun since attaching. Refuse then: the core would
	 * wait for them without a time limit.
	 */
	return tessera_access_settle(bo, 0);
}

/* Called with the reservation held. */
static struct sg_table *tessera_dmabuf_map(struct dma_buf_attachment *attach,
					   enum dma_data_direction dir)
{
	struct tessera_bo *bo = gem_to_tessera_bo(attach->dmabuf->priv);
	struct sg_table *sgt;
	int ret;

	ret = map_prepare(bo, attach->importer_ops);
	if (ret)
		return ERR_PTR(ret);

	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = dmabuf_pages_to_sg(bo->tbo.ttm, attach->dev, sgt);
	if (ret)
		goto err_free;
	/*
	 * Skip the CPU sync, as for all pages of TTM: a driver that writes them
	 * with a CPU does the cache maintenance itself.
	 */
	ret = dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		goto err_free_table;

	return sgt;

err_free_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

/*
 * DMA_BUF_IOCTL_SYNC: the CPU mapping is the object's own (cpu/fault.c). It may
 * still show the contents from before a job that has ended since.
 */
static int tessera_dmabuf_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	bool write = dir == DMA_BIDIRECTIONAL || dir == DMA_TO_DEVICE;
	long ret;

	ret = tessera_wait_resv(TESSERA_WAIT_IDLE, dmabuf->resv, dma_resv_usage_rw(write), true,
				MAX_SCHEDULE_TIMEOUT);

	return ret < 0 ? ret : tessera_access_sync(gem_to_tessera_bo(dmabuf->priv));
}

static const struct dma_buf_ops tessera_dmabuf_ops = {
	.attach = tessera_dmabuf_attach,
	.detach = tessera_dmabuf_detach,
	.pin = tessera_dmabuf_pin,
	.unpin = tessera_dmabuf_unpin,
	.map_dma_buf = tessera_dmabuf_map,
	.unmap_dma_buf = drm_gem_unmap_dma_buf,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = tessera_dmabuf_begin_cpu_access,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
	.mmap = drm_gem_dmabuf_mmap,
};

/**
 * tessera_dmabuf_export() - &drm_gem_object_funcs.export
 * @gem: the object
 * @flags: DRM_CLOEXEC, DRM_RDWR
 *
 * Return: its dma-buf or an error pointer: -EINVAL if the object is offered,
 * private to a VM, or user memory; -ENOMEM.
 */
struct dma_buf *tessera_dmabuf_export(struct drm_gem_object *gem, int flags)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);
	struct dma_buf *dmabuf;
	bool offered;

	if (tessera_ioctl_bad(tessera_bo_device(bo), bo->root || bo->user))
		return ERR_PTR(-EINVAL);
	/*
	 * Importers would not learn of an offer. Therefore an offered object is
	 * not exported, and an exported one cannot be offered. The core holds
	 * a lock that every new handle needs, so do not wait for the
	 * reservation, under which an object may be filled or moved.
	 */
	spin_lock(&bo->sharing.lock);
	offered = tessera_bo_is_offered(bo);
	if (!offered)
		WRITE_ONCE(bo->sharing.exported, true);
	spin_unlock(&bo->sharing.lock);
	if (offered)
		return ERR_PTR(-EINVAL);
	dmabuf = drm_gem_prime_export(gem, flags);
	if (!IS_ERR(dmabuf))
		dmabuf->ops = &tessera_dmabuf_ops;

	return dmabuf;
}

/**
 * tessera_dmabuf_own() - get this device's object behind a dma-buf
 * @drm: the device
 * @dmabuf: a dma-buf
 *
 * Return: the object, with a reference, if it belongs to this device, else
 * NULL.
 */
struct drm_gem_object *tessera_dmabuf_own(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *gem = dmabuf->priv;

	if (dmabuf->ops != &tessera_dmabuf_ops || gem->dev != drm)
		return NULL;
	drm_gem_object_get(gem);

	return gem;
}

/**
 * tessera_dmabuf_is_ready() - ask whether a static importer can attach without
 * waiting
 * @dmabuf: another device's dma-buf
 *
 * Return: false if a move is under way, or if the dma-buf is from this driver
 * and its pages are not pinned.
 */
bool tessera_dmabuf_is_ready(struct dma_buf *dmabuf)
{
	if (dmabuf->ops == &tessera_dmabuf_ops && !READ_ONCE(gem_to_tessera_bo(dmabuf->priv)->pins))
		return false;

	return dma_resv_test_signaled(dmabuf->resv, DMA_RESV_USAGE_KERNEL);
}

/**
 * tessera_dmabuf_attach_prepare() - move a dma-buf to pinned pages before it is
 * attached
 * @dmabuf: another device's dma-buf
 *
 * Does nothing for a dma-buf of another driver.
 *
 * Return: 0, with tessera_dmabuf_attach_undo() to follow, or an error of
 * attaching.
 */
int tessera_dmabuf_attach_prepare(struct dma_buf *dmabuf)
{
	return dmabuf->ops == &tessera_dmabuf_ops ? dmabuf_pin(gem_to_tessera_bo(dmabuf->priv)) : 0;
}

/**
 * tessera_dmabuf_attach_undo() - undo tessera_dmabuf_attach_prepare()
 * @dmabuf: the dma-buf, after tessera_dmabuf_attach_prepare()
 *
 * Static attachments that were made meanwhile keep the pages pinned.
 */
void tessera_dmabuf_attach_undo(struct dma_buf *dmabuf)
{
	if (dmabuf->ops == &tessera_dmabuf_ops)
		dmabuf_unpin(gem_to_tessera_bo(dmabuf->priv));
}
