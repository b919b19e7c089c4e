// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: imported pages
 *
 * The DMA mappings of a dma-buf that another device exports and this device
 * imports.
 *
 * A static attachment is mapped at the import and stays mapped until the object
 * is destroyed. A dynamic attachment is mapped when the object is needed, and
 * the mapping is valid until the exporter announces a move (gem/import.c).
 *
 * The device may use an invalidated mapping until the object has left its
 * aperture. An invalidated mapping is kept, and unmapped at the next call after
 * the moves have finished. The jobs that these moves wait for bound the number
 * of old mappings. An old mapping with the same addresses as the new one is not
 * kept.
 *
 * The object's reservation, which is the reservation of the dma-buf, protects
 * everything here.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <drm/drm_prime.h>
#include <drm/ttm/ttm_bo.h>

#include "borrow/borrow.h"

/* A mapping of the attachment: the one in use, or an invalidated one. */
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

static void return_pages(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
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
 * Exporters keep their pages, as this driver does. Two mappings have equal
 * addresses only if they show the same pages at the same place. Then one
 * mapping is enough, even if the device still uses the older one.
 */
static void return_older_pages(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	struct borrow_map *map, *next;

	list_for_each_entry_safe(map, next, &borrow->maps, node)
		if (map->sgt != tbo->sg && is_same(map->sgt, tbo->sg))
			unmap(tbo, map);
}

/*
 * Other errors of the exporter would be mistaken for an error of this device.
 */
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
 * tessera_borrow_map() - map the pages of an imported object
 * @tbo: the import, reservation held, not mapped
 * @borrow: its mappings
 *
 * The exporter may move its object first. The mapping is then valid after the
 * fences of the reservation (DMA_RESV_USAGE_KERNEL) have signalled. The call
 * may use up fence slots that the caller has reserved there.
 *
 * Return: 0; -EBUSY if the exporter cannot map the pages now; -ENOMEM, -EINTR,
 * -ERESTARTSYS; -ENODEV if this device is unplugged; -EIO if the exporter is
 * unplugged or has another error.
 */
int tessera_borrow_map(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	struct dma_buf_attachment *attach = tbo->base.import_attach;
	struct borrow_map *map;

	dma_resv_assert_held(tbo->base.resv);

	/* An object is detached only when this device is unplugged. */
	if (!attach || !attach->importer_ops)
		return -ENODEV;
	if (dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_KERNEL))
		return_pages(tbo, borrow);
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
	return_older_pages(tbo, borrow);

	return 0;
}

/**
 * tessera_borrow_moved() - invalidate the mapping, because the exporter is
 * about to move the pages
 * @tbo: the import, reservation held, in no aperture; the fences of its move
 * out of the aperture are in the reservation
 * @borrow: its mappings
 */
void tessera_borrow_moved(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow)
{
	dma_resv_assert_held(tbo->base.resv);
	tbo->sg = NULL;
	if (dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_KERNEL))
		return_pages(tbo, borrow);
}

/**
 * tessera_borrow_end() - unmap and detach an imported object
 * @tbo: the import, reservation not held, its pages unused; nothing happens if
 * it is not attached
 * @borrow: its mappings
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
	return_pages(tbo, borrow);
	/* tessera_borrow_map() fails from here on. */
	gem->import_attach = NULL;
	dma_resv_unlock(gem->resv);
	dmabuf = attach->dmabuf;
	dma_buf_detach(dmabuf, attach);
	dma_buf_put(dmabuf);
}
