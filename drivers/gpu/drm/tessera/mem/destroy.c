// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: destruction
 *
 * Closing the last handle never waits (DESTROY-1, DESTROY-2). Whatever jobs still use
 * the object have fences in its reservation; TTM lets a worker free place and pages after
 * the last of them. Until then they count as used and are charged to the owner.
 */

#include <drm/ttm/ttm_bo.h>

#include "mem/bo.h"
#include "mem/destroy.h"
#include "tessera_trace.h"

/**
 * tessera_destroy_free() - &drm_gem_object_funcs.free
 * @gem: the object; its last reference is gone
 */
void tessera_destroy_free(struct drm_gem_object *gem)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	trace_tessera_bo_destroy(bo->id);
	ttm_bo_put(&bo->tbo);
}
