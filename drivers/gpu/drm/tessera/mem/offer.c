// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: offers
 *
 * A client can do without the contents of an object for a while: it offers it, and must not use it
 * until it has it back (RES-8). What is offered goes first when a segment is short (pure/victim.c),
 * and its bytes are dropped instead of moved (mem/move.c); in no segment, its pages are when the kernel is short
 * of memory (mem/backing.c). Both come behind the jobs that use it. Reclaiming says whether that has
 * happened; then the object is like a new one.
 *
 * An offered object is in no aperture: so its pages can go without asking the device. It is one
 * client's alone: what has another handle, or was exported, is not offered, and what is offered not
 * exported.
 *
 * All objects of a call are locked at once, so that it is done or has no effect.
 */

#include <linux/slab.h>

#include <drm/tessera_drm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_assert.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* Objects of a VM have one lock, so that taking it again does not tell who comes again. */
static bool set_names_twice(struct tessera_bos *set)
{
	bool twice = false;
	u32 i;

	for (i = 0; i < set->num; i++) {
		twice |= set->bos[i]->offer.seen;
		set->bos[i]->offer.seen = true;
	}
	for (i = 0; i < set->num; i++)
		set->bos[i]->offer.seen = false;

	return twice;
}

/* All that a list names is locked then; on failure nothing is. -EINVAL: an object twice. */
static int set_begin(struct tessera_bos *set, struct drm_file *file, const void *list,
		     size_t stride, u32 num)
{
	int ret = tessera_bos_lookup(set, file, list, stride, num) ?: tessera_bos_lock(set);

	if (!ret && set_names_twice(set)) {
		drm_exec_fini(&set->exec);
		ret = -EINVAL;
	}
	if (ret)
		tessera_bos_put(set);

	return ret;
}

static void set_end(struct tessera_bos *set)
{
	drm_exec_fini(&set->exec);
	tessera_bos_put(set);
}

/* ---- Offer -------------------------------------------------------------------- */

static int offer_check(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);

	if (tessera_bo_is_fixed(bo))
		return -EBUSY;
	if (tessera_ioctl_bad(tdev, tessera_bo_is_offered(bo)) ||
	    tessera_ioctl_bad(tdev, READ_ONCE(bo->exported)) ||
	    tessera_ioctl_bad(tdev, bo->user) ||
	    tessera_ioctl_bad(tdev, READ_ONCE(bo->tbo.base.handle_count) > 1) ||
	    tessera_ioctl_bad(tdev, READ_ONCE(bo->tbo.base.name)))
		return -EINVAL;
	if (READ_ONCE(bo->locks.held))
		return -EBUSY;

	return atomic_read(&bo->lost) ? -EIO : 0;
}

static int offer_leave_aperture(struct tessera_bo *bo)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	return seg && tessera_segment_is_aperture(seg) ?
		tessera_victims_evict(bo, TESSERA_EVICT_OTHER) : 0;
}

static void offer_one(struct tessera_bo *bo, u32 priority)
{
	/* Accesses fault from now on, and find nothing. */
	ttm_bo_unmap_virtual(&bo->tbo);
	tessera_bo_device(bo)->upcalls->window_close(bo);
	tessera_mapped_check_none(bo);
	bo->offer.lost = false;
	WRITE_ONCE(bo->offer.priority, priority);
	tessera_order_update(bo);
	if (!tessera_bo_segment(bo))
		tessera_backing_add_donor(bo);
	/* Whoever has listed it as resident does not miss it, wherever it was. */
	tessera_bo_device(bo)->upcalls->moved(bo);
	trace_tessera_offer(bo->id, priority);
}

static int offer_locked(struct tessera_bos *set, u32 priority)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < set->num && !ret; i++)
		ret = offer_check(set->bos[i]);
	/* Where it is makes no difference to anybody. */
	for (i = 0; i < set->num && !ret; i++)
		ret = offer_leave_aperture(set->bos[i]);
	for (i = 0; i < set->num && !ret; i++)
		offer_one(set->bos[i], priority);

	return ret;
}

/**
 * tessera_offer() - do without the contents of objects
 * @file: whose they are
 * @list: their handles
 * @num: how many
 * @priority: DRM_TESSERA_OFFER_*
 *
 * Return: 0, or one of the errors of &struct drm_tessera_offer, with nothing offered.
 */
int tessera_offer(struct drm_file *file, const struct drm_tessera_offer_bo *list, u32 num,
		  u32 priority)
{
	struct tessera_bos set;
	int ret;

	static_assert(!offsetof(struct drm_tessera_offer_bo, handle));
	ret = set_begin(&set, file, list, sizeof(*list), num);
	if (ret)
		return ret;
	ret = offer_locked(&set, priority);
	set_end(&set);

	return ret;
}

/* ---- Reclaim ------------------------------------------------------------------- */

/*
 * Without contents, and somewhere: the fault handler asks where. Does not wait for those who still use
 * what it had. If it fails half way it can be done again.
 */
static int reclaim_as_new(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };

	if (!bo->offer.lost)
		return 0;

	return tessera_bo_drop_pages(bo, &ctx) ?: tessera_bo_to_system(bo, &ctx);
}

static void reclaim_one(struct tessera_bo *bo, u32 *result)
{
	*result = bo->offer.lost ? DRM_TESSERA_RECLAIM_DISCARDED : DRM_TESSERA_RECLAIM_KEPT;
	trace_tessera_reclaim(bo->id, bo->offer.lost);
	bo->offer.lost = false;
	WRITE_ONCE(bo->offer.priority, 0);
	tessera_order_update(bo);
	/* Whoever has listed it as resident misses it from now on. */
	tessera_bo_device(bo)->upcalls->moved(bo);
}

static int reclaim_locked(struct tessera_bos *set, struct drm_tessera_reclaim_bo *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < set->num; i++) {
		if (tessera_ioctl_bad(tessera_bo_device(set->bos[i]),
				      !tessera_bo_is_offered(set->bos[i])))
			return -EINVAL;
		if (atomic_read(&set->bos[i]->lost))
			ret = -EIO;
	}
	for (i = 0; i < set->num && !ret; i++)
		ret = reclaim_as_new(set->bos[i]);
	for (i = 0; i < set->num && !ret; i++)
		reclaim_one(set->bos[i], &list[i].result);

	return ret;
}

/**
 * tessera_reclaim() - have offered objects back
 * @file: whose they are
 * @list: their handles; receives what became of each
 * @num: how many
 *
 * Return: 0, or one of the errors of &struct drm_tessera_reclaim, with nothing reclaimed.
 */
int tessera_reclaim(struct drm_file *file, struct drm_tessera_reclaim_bo *list, u32 num)
{
	struct tessera_bos set;
	int ret;

	static_assert(!offsetof(struct drm_tessera_reclaim_bo, handle));
	ret = set_begin(&set, file, list, sizeof(*list), num);
	if (ret)
		return ret;
	ret = reclaim_locked(&set, list);
	set_end(&set);

	return ret;
}
