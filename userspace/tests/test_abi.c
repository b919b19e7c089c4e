// SPDX-License-Identifier: MIT
/*
 * The uAPI structs have the same size and offsets in 32-bit and 64-bit
 * programs. The file is compiled with and without -m32.
 */
#include <stddef.h>
#include <stdint.h>

#include <drm/tessera_drm.h>
#include <tessera/tessera_hw.h>

#include "../../tests/lib/abi.h"

#define SIZE_IS(type, size) _Static_assert(sizeof(struct type) == (size), #type " size")

/* Layout and format numbers go into packets unchanged. */
_Static_assert(DRM_TESSERA_LAYOUT_LINEAR == TSR_LAYOUT_LINEAR, "layout");
_Static_assert(DRM_TESSERA_LAYOUT_TILE4K == TSR_LAYOUT_TILE4K, "layout");
_Static_assert(DRM_TESSERA_LAYOUT_MORTON == TSR_LAYOUT_MORTON, "layout");

#ifndef ABI_ONLY
/*
 * The library's own structs grow into their reserved fields. Any other change
 * of size needs a new soname.
 */
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

static void test_ioctl_numbers(void **state)
{
	(void)state;
#define CHECK(name, number) assert_int_equal(DRM_IOCTL_TESSERA_##name, number);
	TSR_ABI_NUMBERS(CHECK)
#undef CHECK
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ioctl_numbers),
	};

	return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
#endif
