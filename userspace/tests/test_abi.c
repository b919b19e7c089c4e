// SPDX-License-Identifier: MIT
/*
 * The uAPI structs as userspace sees them: the same size and offsets for 32-bit
 * and 64-bit programs. Compiled twice, with and without -m32.
 */
#include <stddef.h>
#include <stdint.h>

#include <drm/tessera_drm.h>
#include <tessera/tessera_hw.h>

#define SIZE_IS(type, size)                                                                        \
	_Static_assert(sizeof(struct type) == (size), #type " size");                              \
	_Static_assert(sizeof(struct type) % 8 == 0, #type " is a multiple of 8")
#define OFFSET_IS(type, field, offset)                                                             \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field)

SIZE_IS(drm_tessera_array, 16);
SIZE_IS(drm_tessera_query, 24);
SIZE_IS(drm_tessera_query_device, 112);
SIZE_IS(drm_tessera_query_segment, 72);
SIZE_IS(drm_tessera_query_engine, 8);
SIZE_IS(drm_tessera_query_memory, 40);
SIZE_IS(drm_tessera_query_client, 32);
SIZE_IS(drm_tessera_bo_create, 48);
SIZE_IS(drm_tessera_bo_info, 56);
SIZE_IS(drm_tessera_bo_wait, 16);
SIZE_IS(drm_tessera_bo_private, 32);
SIZE_IS(drm_tessera_bo_create_twins, 48);
OFFSET_IS(drm_tessera_bo_create_twins, handles, 40);
SIZE_IS(drm_tessera_bo_label, 72);
SIZE_IS(drm_tessera_bo_from_user, 24);
OFFSET_IS(drm_tessera_bo_from_user, handle, 20);
SIZE_IS(drm_tessera_context_status, 24);
SIZE_IS(drm_tessera_fence_create, 32);
OFFSET_IS(drm_tessera_fence_create, mmap_offset, 24);
SIZE_IS(drm_tessera_fence_destroy, 8);
SIZE_IS(drm_tessera_fence_signal, 16);
SIZE_IS(drm_tessera_make_resident, 64);
OFFSET_IS(drm_tessera_make_resident, bytes_to_trim, 40);
OFFSET_IS(drm_tessera_make_resident, failed, 56);
SIZE_IS(drm_tessera_evict, 24);
SIZE_IS(drm_tessera_budget, 48);
SIZE_IS(drm_tessera_context_create, 24);
SIZE_IS(drm_tessera_context_destroy, 8);
SIZE_IS(drm_tessera_submit_alloc, 8);
/* SPLIT-5: an entry carries allocation index, slot and split offset. */
SIZE_IS(drm_tessera_submit_patch, 32);
OFFSET_IS(drm_tessera_submit_patch, alloc_index, 0);
OFFSET_IS(drm_tessera_submit_patch, slot_id, 4);
OFFSET_IS(drm_tessera_submit_patch, split_offset, 16);
OFFSET_IS(drm_tessera_submit_patch, alloc_offset, 24);
SIZE_IS(drm_tessera_sync, 16);
SIZE_IS(drm_tessera_submit, 80);
OFFSET_IS(drm_tessera_submit, cmds, 8);
OFFSET_IS(drm_tessera_submit, allocs, 24);
OFFSET_IS(drm_tessera_submit, error_offset, 72);

/* Layout and format numbers go into packets unchanged. */
_Static_assert(DRM_TESSERA_LAYOUT_LINEAR == TSR_LAYOUT_LINEAR, "layout");
_Static_assert(DRM_TESSERA_LAYOUT_TILE4K == TSR_LAYOUT_TILE4K, "layout");
_Static_assert(DRM_TESSERA_LAYOUT_MORTON == TSR_LAYOUT_MORTON, "layout");

#ifndef ABI_ONLY
/* The library's own: they grow into their reserved fields, or the soname changes. */
#include "tessera.h"

#ifdef __LP64__
SIZE_IS(tessera_view, 64);
SIZE_IS(tessera_rect, 16);
SIZE_IS(tessera_bo_desc, 72);
SIZE_IS(tessera_stream, 56);
SIZE_IS(tessera_lint, 96);
SIZE_IS(tessera_sync, 16);
SIZE_IS(tessera_submit_args, 80);
SIZE_IS(tessera_context_desc, 48);
SIZE_IS(tessera_surface_desc, 192);
SIZE_IS(tessera_residency, 16);
#endif

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The ioctl numbers encode the sizes: a change of either breaks old programs. */
static void test_ioctl_numbers(void **state)
{
	(void)state;
	assert_int_equal(DRM_IOCTL_TESSERA_QUERY, 0xc0186440);
	assert_int_equal(DRM_IOCTL_TESSERA_BO_CREATE, 0xc0306441);
	assert_int_equal(DRM_IOCTL_TESSERA_BO_INFO, 0xc0386442);
	assert_int_equal(DRM_IOCTL_TESSERA_BO_WAIT, 0x40106443);
	assert_int_equal(DRM_IOCTL_TESSERA_CONTEXT_CREATE, 0xc0186444);
	assert_int_equal(DRM_IOCTL_TESSERA_CONTEXT_DESTROY, 0x40086445);
	assert_int_equal(DRM_IOCTL_TESSERA_SUBMIT, 0xc0506446);
	assert_int_equal(DRM_IOCTL_TESSERA_LOCK, 0xc0106450);
	assert_int_equal(DRM_IOCTL_TESSERA_UNLOCK, 0x40086451);
	assert_int_equal(DRM_IOCTL_TESSERA_BO_CREATE_TWINS, 0xc0306452);
	assert_int_equal(DRM_IOCTL_TESSERA_BO_LABEL, 0x40486459);
	assert_int_equal(DRM_IOCTL_TESSERA_BO_FROM_USER, 0xc018645a);
	assert_int_equal(DRM_IOCTL_TESSERA_CONTEXT_STATUS, 0xc018645b);
	assert_int_equal(DRM_IOCTL_TESSERA_FENCE_CREATE, 0xc020645c);
	assert_int_equal(DRM_IOCTL_TESSERA_FENCE_DESTROY, 0x4008645d);
	assert_int_equal(DRM_IOCTL_TESSERA_FENCE_SIGNAL, 0x4010645e);
	assert_int_equal(DRM_IOCTL_TESSERA_MAKE_RESIDENT, 0xc0406464);
	assert_int_equal(DRM_IOCTL_TESSERA_EVICT, 0x40186465);
	assert_int_equal(DRM_IOCTL_TESSERA_BUDGET, 0xc0306466);
	assert_int_equal(DRM_IOCTL_TESSERA_VM_CREATE, 0xc0086460);
	assert_int_equal(DRM_IOCTL_TESSERA_VM_DESTROY, 0x40086461);
	assert_int_equal(DRM_IOCTL_TESSERA_VM_BIND, 0x40286462);
	assert_int_equal(DRM_IOCTL_TESSERA_SUBMIT_VM, 0x40286463);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ioctl_numbers),
	};

	return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
#endif
