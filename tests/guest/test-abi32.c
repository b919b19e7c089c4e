// SPDX-License-Identifier: MIT
/* The layout of the interface: sizes and offsets are checked by the compiler. */
#include "abi.h"
#include "tsr.h"

/* the numbers, as the kernel of this build was asked for them */
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
