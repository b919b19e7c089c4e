// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: mappings of the kernel
 *
 * For clients inside the kernel: the console, and other devices' drivers that draw with the CPU. Such
 * a mapping does not follow an object, so the object stays meanwhile: in memory that the CPU sees, if
 * it is shown there or just is there, else in its system pages, which a picture cannot be.
 *
 * Called with the object's reservation held, and waits for the object's moves like that: that is
 * paging of its owner, and none but users of the object wait, too. As moves wait for whatever
 * others have put there, it does so for a limited time, unless nobody else can.
 */

#include <linux/io.h>
#include <linux/iosys-map.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/tessera_drm.h>

#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_assert.h"
#include "tessera_device.h"

/* Two job timeouts. */
#define VMAP_TIMEOUT_MS		10000

/*
 * What only the kernel draws into has moves of ours alone. They end, behind the jobs of whoever had
 * the place before. And the console is told of no failure: it would take it for a bug.
 */
static u32 timeout_ms(struct tessera_bo *bo)
{
	return bo->redrawn && !bo->exported ? U32_MAX : VMAP_TIMEOUT_MS;
}

static bool is_seen(struct tessera_bo *bo)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	return seg && tessera_segment_cpu_visible(seg) && tessera_scanout_possible(bo) &&
	       bo->layout == DRM_TESSERA_LAYOUT_LINEAR;
}

static int map_memory(struct tessera_bo *bo, struct iosys_map *map)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	void __iomem *io;
	int ret;

	ret = tessera_scanout_hold(bo);
	if (ret)
		return ret;
	io = ioremap_wc(tdev->segments->bar_base + seg->cpu_offset + tessera_bo_segment_offset(bo),
			tessera_bo_bytes(bo));
	if (!io) {
		tessera_scanout_drop(bo);
		return -ENOMEM;
	}
	iosys_map_set_vaddr_iomem(map, io);

	return 0;
}

static int map_pages(struct tessera_bo *bo, struct iosys_map *map)
{
	int ret;

	ret = tessera_residency_pin(bo);
	if (ret)
		return ret;
	ret = ttm_bo_vmap(&bo->tbo, map);
	if (ret)
		tessera_residency_unpin(bo);

	return ret;
}

/*
 * Where the device was, or an object that is lost, is nothing to see: who has not heard of it yet draws to memory
 * that nobody looks at.
 */
static int map_nowhere(struct tessera_bo *bo, struct iosys_map *map)
{
	if (!bo->nowhere)
		bo->nowhere = vzalloc(tessera_bo_bytes(bo));
	if (!bo->nowhere)
		return -ENOMEM;
	iosys_map_set_vaddr(map, bo->nowhere);

	return 0;
}

/* -EIO: the object is lost, maybe only since. */
static int vmap_inside(struct tessera_bo *bo, struct iosys_map *map)
{
	int ret;

	if (atomic_read(&bo->lost))
		return -EIO;
	if (tessera_ioctl_bad(tessera_bo_device(bo), tessera_bo_is_offered(bo)))
		return -EINVAL;

	ret = is_seen(bo) ? map_memory(bo, map) : -ENOSPC;
	if (ret == -ENOSPC)
		ret = map_pages(bo, map);
	if (ret)
		return ret;
	tessera_residency_written(bo);
	ret = tessera_access_settle(bo, timeout_ms(bo));
	if (ret)
		tessera_vunmap(&bo->tbo.base, map);

	return ret;
}

/**
 * tessera_vmap() - &drm_gem_object_funcs.vmap
 * @gem: the object, reservation held
 * @map: receives where it is
 *
 * Return: 0; -EINVAL if it is offered; -EBUSY if it is shown where the CPU does not see it, or its bytes do
 * not come; or an error of tessera_residency_pin().
 */
int tessera_vmap(struct drm_gem_object *gem, struct iosys_map *map)
{
	int idx, ret = -EIO;

	if (drm_dev_enter(gem->dev, &idx)) {
		ret = vmap_inside(gem_to_tessera_bo(gem), map);
		drm_dev_exit(idx);
	}

	return ret == -EIO ? map_nowhere(gem_to_tessera_bo(gem), map) : ret;
}

/**
 * tessera_vunmap() - &drm_gem_object_funcs.vunmap
 * @gem: the object, reservation held
 * @map: from tessera_vmap()
 */
void tessera_vunmap(struct drm_gem_object *gem, struct iosys_map *map)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	if (bo->nowhere && map->vaddr == bo->nowhere)
		return;
	if (map->is_iomem) {
		iounmap(map->vaddr_iomem);
		tessera_scanout_drop(bo);
	} else {
		ttm_bo_vunmap(&bo->tbo, map);
		tessera_residency_unpin(bo);
	}
}
