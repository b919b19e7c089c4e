// SPDX-License-Identifier: MIT
/*
 * Layout of the uAPI as first published: abi.h checks sizes and offsets at
 * compile time, and the test checks the ioctl numbers. scripts/check-uapi.sh
 * compares 32-bit and 64-bit builds.
 */
#include "abi.h"
#include "tsr.h"

/* The ioctl numbers must be the published ones. */
static void ioctl_numbers(void)
{
#define CHECK(name, number) require_eq(DRM_IOCTL_TESSERA_##name, number);
	TSR_ABI_NUMBERS(CHECK)
#undef CHECK
}

static const struct tap_test tests[] = {
	{ "layout and numbers of the interface", ioctl_numbers, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
