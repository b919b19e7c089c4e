/* SPDX-License-Identifier: MIT */
/*
 * The layout of the uAPI structures as first published. A change here breaks
 * existing programs. Each file that includes this header checks sizes, offsets
 * and ioctl numbers at build time. scripts/check-uapi.sh compares the 32-bit
 * and the 64-bit layout.
 */
#ifndef TSR_ABI_H
#define TSR_ABI_H

#include <stddef.h>

#include <drm/tessera_drm.h>

#define TSR_ABI_SIZE(type, bytes)                                                                  \
	_Static_assert(sizeof(struct drm_tessera_##type) == (bytes), #type);                       \
	_Static_assert((bytes) % 8 == 0, #type)
#define TSR_ABI_AT(type, field, offset)                                                            \
	_Static_assert(offsetof(struct drm_tessera_##type, field) == (offset), #type "." #field)

TSR_ABI_SIZE(array, 16);
TSR_ABI_SIZE(query, 24);
TSR_ABI_SIZE(query_device, 112);
TSR_ABI_SIZE(query_segment, 72);
TSR_ABI_SIZE(query_engine, 8);
TSR_ABI_SIZE(query_memory, 40);
TSR_ABI_SIZE(query_client, 32);
TSR_ABI_SIZE(bo_create, 64);
TSR_ABI_SIZE(bo_info, 72);
TSR_ABI_SIZE(bo_wait, 16);
TSR_ABI_SIZE(context_create, 24);
TSR_ABI_SIZE(context_destroy, 8);
TSR_ABI_SIZE(submit_alloc, 8);
TSR_ABI_SIZE(submit_patch, 32);
TSR_ABI_SIZE(sync, 16);
TSR_ABI_SIZE(submit, 80);
TSR_ABI_SIZE(lock, 16);
TSR_ABI_SIZE(unlock, 8);
TSR_ABI_SIZE(lock2, 16);
TSR_ABI_SIZE(bo_destroy, 8);
TSR_ABI_SIZE(invalidate_cache, 24);
TSR_ABI_SIZE(offer, 24);
TSR_ABI_SIZE(offer_bo, 8);
TSR_ABI_SIZE(reclaim, 40);
TSR_ABI_SIZE(reclaim_bo, 8);
TSR_ABI_SIZE(unlock2, 8);
TSR_ABI_SIZE(bo_private, 32);
TSR_ABI_SIZE(bo_create_twins, 48);
TSR_ABI_SIZE(bo_label, 72);
TSR_ABI_SIZE(bo_priority, 8);
TSR_ABI_SIZE(bo_from_user, 24);
TSR_ABI_SIZE(context_status, 24);
TSR_ABI_SIZE(fence_create, 32);
TSR_ABI_SIZE(fence_destroy, 8);
TSR_ABI_SIZE(fence_signal, 16);
TSR_ABI_SIZE(make_resident, 64);
TSR_ABI_SIZE(evict, 24);
TSR_ABI_SIZE(budget, 80);
TSR_ABI_SIZE(resource_create, 72);
TSR_ABI_SIZE(resource_open, 40);
TSR_ABI_SIZE(vm_create, 8);
TSR_ABI_SIZE(vm_destroy, 8);
TSR_ABI_SIZE(vm_bind_op, 40);
TSR_ABI_SIZE(vm_bind, 40);
TSR_ABI_SIZE(submit_vm, 40);

/* SPLIT-5: a patch entry carries allocation index, slot and split offset */
TSR_ABI_AT(array, array, 8);
TSR_ABI_AT(query, data, 8);
TSR_ABI_AT(query_device, caps, 32);
TSR_ABI_AT(query_device, guest_errors, 48);
TSR_ABI_AT(query_device, va_page_sizes, 104);
TSR_ABI_AT(query_segment, name, 40);
TSR_ABI_AT(query_memory, total, 8);
TSR_ABI_AT(query_client, work_bytes, 16);
TSR_ABI_AT(bo_create, preferred, 24);
TSR_ABI_AT(bo_create, handle, 40);
TSR_ABI_AT(bo_info, mmap_offset, 16);
TSR_ABI_AT(bo_info, segment_offset, 48);
TSR_ABI_AT(bo_wait, timeout_ns, 8);
TSR_ABI_AT(context_create, vm, 20);
TSR_ABI_AT(submit_patch, alloc_index, 0);
TSR_ABI_AT(submit_patch, slot_id, 4);
TSR_ABI_AT(submit_patch, split_offset, 16);
TSR_ABI_AT(submit_patch, alloc_offset, 24);
TSR_ABI_AT(submit, cmds, 8);
TSR_ABI_AT(submit, allocs, 24);
TSR_ABI_AT(submit, patches, 40);
TSR_ABI_AT(submit, syncs, 56);
TSR_ABI_AT(submit, error_offset, 72);
TSR_ABI_AT(lock, mmap_offset, 8);
TSR_ABI_AT(lock2, mmap_offset, 8);
TSR_ABI_AT(invalidate_cache, offset, 8);
TSR_ABI_AT(offer, priority, 16);
TSR_ABI_AT(offer, flags, 20);
TSR_ABI_AT(reclaim, syncs, 16);
TSR_ABI_AT(reclaim, pending, 32);
TSR_ABI_AT(bo_private, rows, 20);
TSR_ABI_AT(bo_private, reserved, 24);
TSR_ABI_AT(bo_create_twins, bos, 8);
TSR_ABI_AT(bo_create_twins, private_data, 24);
TSR_ABI_AT(bo_create_twins, handles, 40);
TSR_ABI_AT(bo_from_user, handle, 20);
TSR_ABI_AT(fence_create, mmap_offset, 24);
TSR_ABI_AT(fence_signal, value, 8);
TSR_ABI_AT(make_resident, syncs, 24);
TSR_ABI_AT(make_resident, bytes_to_trim, 40);
TSR_ABI_AT(make_resident, trim_segments, 48);
TSR_ABI_AT(make_resident, failed, 56);
TSR_ABI_AT(evict, handles, 8);
TSR_ABI_AT(budget, reservation, 16);
TSR_ABI_AT(budget, weight, 48);
TSR_ABI_AT(budget, trim_bytes, 56);
TSR_ABI_AT(resource_create, private_data, 24);
TSR_ABI_AT(resource_create, data, 56);
TSR_ABI_AT(resource_open, handles, 8);
TSR_ABI_AT(resource_open, data_size, 32);
TSR_ABI_AT(vm_bind_op, address, 24);
TSR_ABI_AT(vm_bind, syncs, 24);
TSR_ABI_AT(submit_vm, cmds, 8);
TSR_ABI_AT(submit_vm, syncs, 24);

/*
 * The ioctl numbers encode the structure sizes. The list is complete: the
 * assertion below fails the build until a new last ioctl is added here.
 */
_Static_assert(DRM_TESSERA_IOCTL_LAST == DRM_TESSERA_RESOURCE_OPEN, "a row for the new one, too");
#define TSR_ABI_NUMBERS(X)                                                                         \
	X(QUERY, 0xc0186440)                                                                       \
	X(BO_CREATE, 0xc0406441)                                                                   \
	X(BO_INFO, 0xc0486442)                                                                     \
	X(BO_WAIT, 0x40106443)                                                                     \
	X(CONTEXT_CREATE, 0xc0186444)                                                              \
	X(CONTEXT_DESTROY, 0x40086445)                                                             \
	X(SUBMIT, 0xc0506446)                                                                      \
	X(LOCK, 0xc0106450)                                                                        \
	X(UNLOCK, 0x40086451)                                                                      \
	X(BO_CREATE_TWINS, 0xc0306452)                                                             \
	X(LOCK2, 0xc0106453)                                                                       \
	X(UNLOCK2, 0x40086454)                                                                     \
	X(BO_DESTROY, 0x40086455)                                                                  \
	X(OFFER, 0x40186456)                                                                       \
	X(RECLAIM, 0xc0286457)                                                                     \
	X(INVALIDATE_CACHE, 0x40186458)                                                            \
	X(BO_LABEL, 0x40486459)                                                                    \
	X(BO_FROM_USER, 0xc018645a)                                                                \
	X(CONTEXT_STATUS, 0xc018645b)                                                              \
	X(FENCE_CREATE, 0xc020645c)                                                                \
	X(FENCE_DESTROY, 0x4008645d)                                                               \
	X(FENCE_SIGNAL, 0x4010645e)                                                                \
	X(BO_PRIORITY, 0x4008645f)                                                                 \
	X(VM_CREATE, 0xc0086460)                                                                   \
	X(VM_DESTROY, 0x40086461)                                                                  \
	X(VM_BIND, 0x40286462)                                                                     \
	X(SUBMIT_VM, 0x40286463)                                                                   \
	X(MAKE_RESIDENT, 0xc0406464)                                                               \
	X(EVICT, 0x40186465)                                                                       \
	X(BUDGET, 0xc0506466)                                                                      \
	X(RESOURCE_CREATE, 0xc0486467)                                                             \
	X(RESOURCE_OPEN, 0xc0286468)

#endif /* TSR_ABI_H */
