// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: memory segments
 *
 * The TTM manager of a segment with memory of its own. Adds to the common one that
 * the device is told when a range becomes nobody's (strict mode).
 */

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "hw/mmio.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "segments/vram_mgr.h"
#include "tessera_device.h"

/*
 * The range is idle: TTM frees what a destroyed object held only after its last
 * fence. What was moved away has been declared evicted by the job that did it; and a
 * range whose move failed was never owned, but may have been left by an object whose
 * bytes are still on their way out.
 */
static void vram_mgr_freed(struct tessera_manager *mgr, struct tessera_range *range)
{
	struct tessera_device *tdev = mgr->tdev;
	struct tessera_run *run;
	int idx;

	if (!range->declared || !drm_dev_enter(&tdev->drm, &idx))
		return;

	tessera_range_for_each_run(run, range)
		tessera_mark(tdev, mgr->seg->base + tessera_run_offset(run),
			     tessera_run_bytes(run), TSR_MARK_FREE);
	drm_dev_exit(idx);
}

static void vram_mgr_fini(struct drm_device *drm, void *arg)
{
	tessera_manager_fini(arg);
}

/**
 * tessera_vram_mgr_init() - manage a memory segment
 * @tdev: the device
 * @seg: the segment
 * @owner: tells who pays for an object's place
 *
 * Return: 0 or an error.
 */
int tessera_vram_mgr_init(struct tessera_device *tdev, const struct tessera_segment *seg,
			  tessera_manager_owner_t owner)
{
	struct tessera_manager *mgr;

	mgr = drmm_kzalloc(&tdev->drm, sizeof(*mgr), GFP_KERNEL);
	if (!mgr)
		return -ENOMEM;

	mgr->freed = vram_mgr_freed;
	tessera_manager_init(mgr, tdev, seg, owner, false);

	return drmm_add_action_or_reset(&tdev->drm, vram_mgr_fini, mgr);
}
