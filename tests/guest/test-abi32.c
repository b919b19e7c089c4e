// SPDX-License-Identifier: MIT
/*
 * Layout of the uAPI in a 32-bit build. abi.h checks sizes and offsets at
 * compile time; the test checks the ioctl numbers.
 */
#include "abi.h"
#include "tsr.h"

/* The ioctl numbers must be the ones that a 64-bit build uses. */
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
