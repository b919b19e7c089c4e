// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: ioctls
 *
 * Each ioctl has one short handler, which checks every field, looks objects up,
 * and calls the layer that does the work. The core has checked that the device
 * is not gone, and has extended short structs with zeros. Called without locks.
 *
 * This file has the table of the handlers. Handlers that need nothing of the
 * open file but its handles are in gem/gem.c, cpu/lock.c and cpu/lock2.c.
 */

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <drm/drm_ioctl.h>
#include <drm/tessera_drm.h>

#include "cpu/cpu.h"
#include "gem/gem.h"
#include "ioctl/ioctl.h"
#include "pure/patch.h"
#include "pure/surface.h"

#define ASSERT_SAME(ours, theirs, member) \
	static_assert(offsetof(struct ours, member) == offsetof(struct theirs, member))

/*
 * The user's patch list is copied straight into an array of struct
 * tessera_patch.
 */
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, alloc_index);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, slot_id);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, driver_id);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, patch_offset);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, split_offset);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, pad);
ASSERT_SAME(tessera_patch, drm_tessera_submit_patch, alloc_offset);
static_assert(sizeof(struct tessera_patch) == sizeof(struct drm_tessera_submit_patch));

/* Private data is copied straight into a struct tessera_private. */
static_assert(TESSERA_PRIVATE_VERSION == DRM_TESSERA_PRIVATE_VERSION);
static_assert(TESSERA_PRIVATE_TWIN == DRM_TESSERA_PRIVATE_TWIN);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, version);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, flags);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, layout);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, pitch);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, width);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, rows);
ASSERT_SAME(tessera_private, drm_tessera_bo_private, reserved);
static_assert(sizeof(struct tessera_private) == sizeof(struct drm_tessera_bo_private));

#define TESSERA_IOCTL(name, handler) \
	DRM_IOCTL_DEF_DRV(TESSERA_##name, tessera_ioctl_##handler, DRM_RENDER_ALLOW)

/** tessera_ioctls - ioctl table, for the driver's &struct drm_driver */
const struct drm_ioctl_desc tessera_ioctls[TESSERA_NUM_IOCTLS] = {
	TESSERA_IOCTL(QUERY, query),
	TESSERA_IOCTL(BO_CREATE, bo_create),
	TESSERA_IOCTL(BO_INFO, bo_info),
	TESSERA_IOCTL(BO_WAIT, bo_wait),
	TESSERA_IOCTL(CONTEXT_CREATE, context_create),
	TESSERA_IOCTL(CONTEXT_DESTROY, context_destroy),
	TESSERA_IOCTL(SUBMIT, submit),
	TESSERA_IOCTL(LOCK, lock),
	TESSERA_IOCTL(UNLOCK, unlock),
	TESSERA_IOCTL(BO_CREATE_TWINS, bo_create_twins),
	TESSERA_IOCTL(LOCK2, lock2),
	TESSERA_IOCTL(UNLOCK2, unlock2),
	TESSERA_IOCTL(BO_DESTROY, bo_destroy),
	TESSERA_IOCTL(OFFER, offer),
	TESSERA_IOCTL(RECLAIM, reclaim),
	TESSERA_IOCTL(INVALIDATE_CACHE, invalidate_cache),
	TESSERA_IOCTL(BO_LABEL, bo_label),
	TESSERA_IOCTL(BO_FROM_USER, bo_from_user),
	TESSERA_IOCTL(CONTEXT_STATUS, context_status),
	TESSERA_IOCTL(FENCE_CREATE, fence_create),
	TESSERA_IOCTL(FENCE_DESTROY, fence_destroy),
	TESSERA_IOCTL(FENCE_SIGNAL, fence_signal),
	TESSERA_IOCTL(BO_PRIORITY, bo_priority),
	TESSERA_IOCTL(VM_CREATE, vm_create),
	TESSERA_IOCTL(VM_DESTROY, vm_destroy),
	TESSERA_IOCTL(VM_BIND, vm_bind),
	TESSERA_IOCTL(SUBMIT_VM, submit_vm),
	TESSERA_IOCTL(MAKE_RESIDENT, make_resident),
	TESSERA_IOCTL(EVICT, evict),
	TESSERA_IOCTL(BUDGET, budget),
	TESSERA_IOCTL(RESOURCE_CREATE, resource_create),
	TESSERA_IOCTL(RESOURCE_OPEN, resource_open),
};
