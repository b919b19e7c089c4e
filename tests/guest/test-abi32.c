// SPDX-License-Identifier: MIT
/*
 * The layout of the interface, as first published: a change here breaks programs.
 * Checked by the compiler; scripts/check-uapi.sh compares 32-bit and 64-bit.
 */
#include <stddef.h>

#include "tsr.h"

#define SIZE(type, bytes) _Static_assert(sizeof(struct drm_tessera_##type) == (bytes), #type)
#define AT(type, field, offset)                                                                    \
	_Static_assert(offsetof(struct drm_tessera_##type, field) == (offset), #type "." #field)

SIZE(array, 16);
SIZE(query, 24);
SIZE(query_device, 112);
SIZE(query_segment, 72);
SIZE(query_engine, 8);
SIZE(query_memory, 40);
SIZE(query_client, 32);
SIZE(bo_create, 48);
SIZE(bo_info, 56);
SIZE(bo_wait, 16);
SIZE(context_create, 24);
SIZE(context_destroy, 8);
SIZE(submit_alloc, 8);
SIZE(submit_patch, 32);
SIZE(sync, 16);
SIZE(submit, 80);
SIZE(lock, 16);
SIZE(unlock, 8);
SIZE(lock2, 16);
SIZE(bo_destroy, 8);
SIZE(invalidate_cache, 24);
SIZE(offer, 24);
SIZE(offer_bo, 8);
SIZE(reclaim, 16);
SIZE(reclaim_bo, 8);
AT(invalidate_cache, offset, 8);
SIZE(unlock2, 8);
SIZE(bo_private, 32);
SIZE(bo_create_twins, 48);
SIZE(bo_label, 72);
SIZE(bo_from_user, 24);
SIZE(context_status, 24);
SIZE(fence_create, 32);
SIZE(fence_destroy, 8);
SIZE(fence_signal, 16);
SIZE(make_resident, 64);
SIZE(evict, 24);
SIZE(budget, 48);
SIZE(vm_create, 8);
SIZE(vm_destroy, 8);
SIZE(vm_bind_op, 40);
SIZE(vm_bind, 40);
SIZE(submit_vm, 40);
AT(array, array, 8);
AT(query, data, 8);
AT(query_device, caps, 32);
AT(query_device, guest_errors, 48);
AT(query_segment, name, 40);
AT(query_memory, total, 8);
AT(query_client, work_bytes, 16);
AT(bo_create, preferred, 24);
AT(bo_create, handle, 40);
AT(bo_info, mmap_offset, 16);
AT(bo_info, segment_offset, 48);
AT(bo_wait, timeout_ns, 8);
AT(submit_patch, split_offset, 16);
AT(submit_patch, alloc_offset, 24);
AT(submit, cmds, 8);
AT(submit, allocs, 24);
AT(submit, patches, 40);
AT(submit, syncs, 56);
AT(submit, error_offset, 72);
AT(lock, mmap_offset, 8);
AT(lock2, mmap_offset, 8);
AT(bo_from_user, handle, 20);
AT(bo_private, rows, 20);
AT(bo_private, reserved, 24);
AT(bo_create_twins, bos, 8);
AT(bo_create_twins, private_data, 24);
AT(bo_create_twins, handles, 40);
AT(fence_create, mmap_offset, 24);
AT(fence_signal, value, 8);
AT(make_resident, syncs, 24);
AT(make_resident, bytes_to_trim, 40);
AT(make_resident, trim_segments, 48);
AT(make_resident, failed, 56);
AT(evict, handles, 8);
AT(budget, reservation, 16);
AT(query_device, va_page_sizes, 104);
AT(context_create, vm, 20);
AT(vm_bind_op, address, 24);
AT(vm_bind, syncs, 24);
AT(submit_vm, cmds, 8);
AT(submit_vm, syncs, 24);

/* the numbers, as the kernel of this build was asked for them */
static void ioctl_numbers(void)
{
	require_eq(DRM_IOCTL_TESSERA_QUERY, 0xc0186440);
	require_eq(DRM_IOCTL_TESSERA_BO_CREATE, 0xc0306441);
	require_eq(DRM_IOCTL_TESSERA_BO_INFO, 0xc0386442);
	require_eq(DRM_IOCTL_TESSERA_BO_WAIT, 0x40106443);
	require_eq(DRM_IOCTL_TESSERA_CONTEXT_CREATE, 0xc0186444);
	require_eq(DRM_IOCTL_TESSERA_CONTEXT_DESTROY, 0x40086445);
	require_eq(DRM_IOCTL_TESSERA_SUBMIT, 0xc0506446);
	require_eq(DRM_IOCTL_TESSERA_LOCK, 0xc0106450);
	require_eq(DRM_IOCTL_TESSERA_UNLOCK, 0x40086451);
	require_eq(DRM_IOCTL_TESSERA_BO_CREATE_TWINS, 0xc0306452);
	require_eq(DRM_IOCTL_TESSERA_LOCK2, 0xc0106453);
	require_eq(DRM_IOCTL_TESSERA_UNLOCK2, 0x40086454);
	require_eq(DRM_IOCTL_TESSERA_BO_DESTROY, 0x40086455);
	require_eq(DRM_IOCTL_TESSERA_INVALIDATE_CACHE, 0x40186458);
	require_eq(DRM_IOCTL_TESSERA_BO_LABEL, 0x40486459);
	require_eq(DRM_IOCTL_TESSERA_BO_FROM_USER, 0xc018645a);
	require_eq(DRM_IOCTL_TESSERA_CONTEXT_STATUS, 0xc018645b);
	require_eq(DRM_IOCTL_TESSERA_FENCE_CREATE, 0xc020645c);
	require_eq(DRM_IOCTL_TESSERA_FENCE_DESTROY, 0x4008645d);
	require_eq(DRM_IOCTL_TESSERA_FENCE_SIGNAL, 0x4010645e);
	require_eq(DRM_IOCTL_TESSERA_MAKE_RESIDENT, 0xc0406464);
	require_eq(DRM_IOCTL_TESSERA_EVICT, 0x40186465);
	require_eq(DRM_IOCTL_TESSERA_BUDGET, 0xc0306466);
	require_eq(DRM_IOCTL_TESSERA_OFFER, 0x40186456);
	require_eq(DRM_IOCTL_TESSERA_RECLAIM, 0xc0106457);
	require_eq(DRM_IOCTL_TESSERA_VM_CREATE, 0xc0086460);
	require_eq(DRM_IOCTL_TESSERA_VM_DESTROY, 0x40086461);
	require_eq(DRM_IOCTL_TESSERA_VM_BIND, 0x40286462);
	require_eq(DRM_IOCTL_TESSERA_SUBMIT_VM, 0x40286463);
}

static const struct tap_test tests[] = {
	{ "layout and numbers of the interface", ioctl_numbers, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
