// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: mappings of the kernel
 *
 * Map objects for clients inside the kernel: the console, and other drivers
 * that draw with the CPU. A kernel mapping cannot follow the object when it
 * moves, so the object stays where it is meanwhile. An object in CPU-visible
 * memory that can be scanned out stays there, up to the scanout limit of the
 * segment. Any other object stays in its system pages, and cannot be scanned
 * out then.
 *
 * Called with the object's reservation held, also while it waits for the
 * object's moves. These are paging work of the object's owner, and only users
 * of the object wait for the reservation. A move may be queued behind fences
 * that other clients leave unsignalled. The wait therefore has a time limit,
 * unless the object can have no such fence.
 */

#include <linux/io.h>
#include <linux/iosys-map.h>
#include <linux/vmalloc.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"

/* Two job timeouts. */
#define VMAP_TIMEOUT_MS		10000

/*
 * An object that only clients inside the kernel draw into has no foreign
 * fences. Its moves end once the jobs of the previous owner of its placement
 * do. Wait without a limit, as the console would report a failure as a bug.
 */
static u32 timeout_ms(struct tessera_bo *bo)
{
	return bo->redrawn && !bo->sharing.exported ? U32_MAX : VMAP_TIMEOUT_MS;
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
 * Give a client that still draws after unplug, or into a lost object, plain
 * memory that is not shown.
 */
static int map_nowhere(struct tessera_bo *bo, struct iosys_map *map)
{
	if (!bo->maps.nowhere)
		bo->maps.nowhere = vzalloc(tessera_bo_bytes(bo));
	if (!bo->maps.nowhere)
		return -ENOMEM;
	iosys_map_set_vaddr(map, bo->maps.nowhere);

	return 0;
}

/* -EIO: the object is lost, maybe since the mapping was made. */
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
 * @map: receives the address
 *
 * Return: 0; -EINVAL if the object is offered; -EBUSY if it is scanned out
 * where the CPU has no view, or if its moves are not done in time; or an error
 * of tessera_residency_pin().
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

	if (bo->maps.nowhere && map->vaddr == bo->maps.nowhere)
		return;
	if (map->is_iomem) {
		iounmap(map->vaddr_iomem);
		tessera_scanout_drop(bo);
	} else {
		ttm_bo_vunmap(&bo->tbo, map);
		tessera_residency_unpin(bo);
	}
}
