// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: borrowed pages
 *
 * The pages of an object that another device has exported, as this device sees them. A static
 * attachment has them mapped from import to the object's end. A dynamic one has them mapped when
 * the object is needed, and until the exporter says that it moves them (cpu/import.c). What was
 * mapped until then is in use until the object has left its aperture: so it is kept, and unmapped
 * at the next opportunity behind that. How much there is of it is bounded by the jobs that the
 * moves wait for, and none where the pages are the same again.
 *
 * Under the object's reservation, which is the dma-buf's.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <drm/drm_prime.h>
#include <drm/ttm/ttm_bo.h>

#include "mem/mem.h"

/* A mapping that the exporter has made invalid, or the one in use. */
struct borrow_map {
	struct list_head node;
	struct sg_table *sgt;
};

static void unmap(struct ttm_buffer_object *tbo, struct borrow_map *map)
{
	dma_buf_unmap_attachment(tbo->base.import_attach, map->sgt, DMA_BIDIRECTIONAL);
	list_del(&map->node);
	kfree(map);
}

static void give_back(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	struct borrow_map *map, *next;

	list_for_each_entry_safe(map, next, &borrow->maps, node)
		if (map->sgt != tbo->sg)
			unmap(tbo, map);
}

static bool is_same(const struct sg_table *a, const struct sg_table *b)
{
	struct scatterlist *sa = a->sgl, *sb = b->sgl;
	unsigned int i;

	if (a->nents != b->nents)
		return false;
	for (i = 0; i < a->nents; i++, sa = sg_next(sa), sb = sg_next(sb))
		if (sg_dma_address(sa) != sg_dma_address(sb) || sg_dma_len(sa) != sg_dma_len(sb))
			return false;

	return true;
}

/*
 * Exporters keep their pages, as this driver does. Two mappings have the same addresses only where that of the one
 * makes it that of the other: then one is enough, whoever still uses it.
 */
static void give_back_same(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	struct borrow_map *map, *next;

	list_for_each_entry_safe(map, next, &borrow->maps, node)
		if (map->sgt != tbo->sg && is_same(map->sgt, tbo->sg))
			unmap(tbo, map);
}

/* Others' would be taken for this device's: that it is gone, has no room, or is to be asked again. */
static int exporter_error(int error)
{
	switch (error) {
	case -ENOMEM:
	case -EBUSY:
	case -EINTR:
	case -ERESTARTSYS:
		return error;
	default:
		return -EIO;
	}
}

/**
 * tessera_borrow_map() - have an object's pages
 * @tbo: an import, reservation held, without any
 * @borrow: its record
 *
 * The exporter may move its object for that: it is where it was mapped behind the moves that show in the
 * reservation (DMA_RESV_USAGE_KERNEL) then. The fence slots that were reserved there may be taken.
 *
 * Return: 0; -EBUSY if the exporter cannot part with them now; -ENOMEM, -EINTR, -ERESTARTSYS;
 * -ENODEV if this device is gone; -EIO if the exporter is, or has another error.
 */
int tessera_borrow_map(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	struct dma_buf_attachment *attach = tbo->base.import_attach;
	struct borrow_map *map;

	dma_resv_assert_held(tbo->base.resv);

	/* This device is gone, else it would be attached. */
	if (!attach || !attach->importer_ops)
		return -ENODEV;
	if (dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_KERNEL))
		give_back(tbo, borrow);
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	map->sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(map->sgt)) {
		int ret = PTR_ERR(map->sgt);

		kfree(map);
		return exporter_error(ret);
	}
	list_add(&map->node, &borrow->maps);
	tbo->sg = map->sgt;
	give_back_same(tbo, borrow);

	return 0;
}

/**
 * tessera_borrow_moved() - the exporter is going to move them
 * @tbo: an import, reservation held, in no aperture; what made it leave shows in the reservation
 * @borrow: its record
 */
void tessera_borrow_moved(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	dma_resv_assert_held(tbo->base.resv);
	tbo->sg = NULL;
	if (dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_KERNEL))
		give_back(tbo, borrow);
}

/**
 * tessera_borrow_end() - an object needs them no more
 * @tbo: an import, reservation not held, whose pages nobody uses; nothing is done if it is not attached
 * @borrow: its record
 */
void tessera_borrow_end(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	struct drm_gem_object *gem = &tbo->base;
	struct dma_buf_attachment *attach = gem->import_attach;
	struct dma_buf *dmabuf;

	if (!attach)
		return;
	if (!attach->importer_ops) {
		drm_prime_gem_destroy(gem, tbo->sg);
		gem->import_attach = NULL;
		tbo->sg = NULL;
		return;
	}
	dma_resv_lock(gem->resv, NULL);
	tbo->sg = NULL;
	give_back(tbo, borrow);
	/* Nobody maps it again. */
	gem->import_attach = NULL;
	dma_resv_unlock(gem->resv);
	dmabuf = attach->dmabuf;
	dma_buf_detach(dmabuf, attach);
	dma_buf_put(dmabuf);
}
