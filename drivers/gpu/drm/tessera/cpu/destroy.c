// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: destruction
 *
 * Closing the last handle never waits (DESTROY-1, DESTROY-2). Whatever jobs still use
 * the object have fences in its reservation; TTM lets a worker free place and pages after
 * the last of them. Until then they count as used and are charged to the owner.
 *
 * An aperture must not show pages that are somebody else's by then (PAGE-9), so an object in
 * one leaves it first, by a paging job like any other move.
 */

#include <linux/dma-resv.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "cpu/destroy.h"
#include "cpu/window.h"
#include "mem/bo.h"
#include "segments/segment.h"
#include "tessera_compat.h"
#include "tessera_trace.h"

/* Called with locks of other objects held, perhaps: only try this one's, which nobody wants. */
static void destroy_unmap(struct tessera_bo *bo)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	const struct tessera_segment *seg;
	int ret = 0;

	if (!dma_resv_trylock(bo->tbo.base.resv))
		return;

	seg = tessera_bo_segment(bo);
	if (seg && tessera_segment_is_aperture(seg))
		ret = ttm_bo_validate(&bo->tbo, &placement, &ctx);
	dma_resv_unlock(bo->tbo.base.resv);

	/* The device goes on seeing the pages until the range is mapped again; users do not. */
	if (ret)
		drm_err_ratelimited(bo->tbo.base.dev, "object %u stays mapped: %d\n", bo->id,
				    ret);
}

/**
 * tessera_destroy_free() - &drm_gem_object_funcs.free
 * @gem: the object; its last reference is gone
 */
void tessera_destroy_free(struct drm_gem_object *gem)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	trace_tessera_bo_destroy(bo->id);
	tessera_cpu_window_close(bo);
	destroy_unmap(bo);
	ttm_bo_fini(&bo->tbo);
}
