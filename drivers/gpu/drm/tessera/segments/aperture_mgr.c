// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: aperture segments
 *
 * The TTM manager of a window onto system pages: objects in it keep their ttm_tt.
 * The commit limit (SEG-30) is enforced by the common code.
 */

#include <drm/drm_managed.h>

#include "segments/aperture_mgr.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"

static void aperture_mgr_fini(struct drm_device *drm, void *arg)
{
	tessera_manager_fini(arg);
}

/**
 * tessera_aperture_mgr_init() - manage an aperture segment
 * @tdev: the device
 * @seg: the segment
 * @owner: tells who pays for an object's place
 *
 * Return: 0 or an error.
 */
int tessera_aperture_mgr_init(struct tessera_device *tdev, const struct tessera_segment *seg,
			      tessera_manager_owner_t owner)
{
	struct tessera_manager *mgr;

	mgr = drmm_kzalloc(&tdev->drm, sizeof(*mgr), GFP_KERNEL);
	if (!mgr)
		return -ENOMEM;

	tessera_manager_init(mgr, tdev, seg, owner, true);

	return drmm_add_action_or_reset(&tdev->drm, aperture_mgr_fini, mgr);
}
