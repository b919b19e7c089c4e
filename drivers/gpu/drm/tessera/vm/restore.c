// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: user memory in VMs
 *
 * Page tables may lead to pages that are a process's no more (mem/user.c). Before the next job of the VM they lead to
 * those that are at the addresses now; or, where the client does not list the object any more, nowhere.
 *
 * Locks: none on entry; then one reservation after the other.
 */

#include <linux/dma-resv.h>
#include <linux/sched/signal.h>

#include <drm/drm_gem.h>

#include "cpu/userptr.h"
#include "exec/job.h"
#include "mem/bo.h"
#include "mem/user.h"
#include "tessera_device.h"
#include "vm/listing.h"
#include "vm/pt.h"
#include "vm/remap.h"
#include "vm/restore.h"

/* The handle is closed, and the VM maps it: so it is found until it moves. */
static bool hide_unlisted(struct tessera_space *space, struct tessera_bo *bo)
{
	bool listed;

	dma_resv_lock(bo->tbo.base.resv, NULL);
	listed = tessera_listing_find(space->resident, bo);
	if (!listed)
		tessera_remap_hide(space->resident, &bo, 1);
	dma_resv_unlock(bo->tbo.base.resv);

	return !listed;
}

/* That makes jobs. */
static int restore_one(struct tessera_space *space, struct tessera_bo *bo)
{
	struct tessera_device *tdev = space->tdev;
	bool hidden = false;
	int ret;

	ret = tessera_work_begin(tdev);
	if (!ret) {
		hidden = hide_unlisted(space, bo);
		ret = tessera_work_end(tdev, 0);
	}

	return ret || hidden ? ret : tessera_userptr_ready(bo, 0);
}

/**
 * tessera_restore() - have page tables lead to user memory as it is
 * @space: the page tables
 *
 * It may change again before a job is armed. No lock may be held.
 *
 * Return: 0, or an error of tessera_userptr_ready().
 */
int tessera_restore(struct tessera_space *space)
{
	u32 left = tessera_user_num_gone(space->tdev, &space->jobs) + TESSERA_USER_TRIES;
	struct drm_gem_object *obj;
	int ret = 0;

	while (!ret && (obj = tessera_user_first_gone(space->tdev, &space->jobs))) {
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (!left--)
			ret = -EBUSY;
		else
			ret = restore_one(space, gem_to_tessera_bo(obj));
		drm_gem_object_put(obj);
	}

	return ret;
}
