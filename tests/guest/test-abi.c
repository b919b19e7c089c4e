// SPDX-License-Identifier: MIT
/*
 * The ioctls of the uAPI as first published (tests/lib/abi.h). The driver must
 * have each of them at its number, and must refuse all other numbers.
 */
#include "abi.h"
#include "tsr.h"

#define NUMBERS (DRM_COMMAND_END - DRM_COMMAND_BASE)

static const struct {
	const char *name;
	uint32_t request;
} published[] = {
#define ROW(name, number) { #name, number },
	TSR_ABI_NUMBERS(ROW)
#undef ROW
};

/* No argument can be read at this address, so that the call has no effect. */
static int call(const struct tsr_device *dev, uint32_t request)
{
	return tsr_ioctl(dev->fd, request, NULL);
}

static void published_numbers(void)
{
	struct tsr_device dev = tsr_open();

#define CHECK(name, number) require_eq(DRM_IOCTL_TESSERA_##name, number);
	TSR_ABI_NUMBERS(CHECK)
#undef CHECK
	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		int rc = call(&dev, published[i].request);

		require_msg(rc == -EFAULT, "%s: expected -EFAULT without an argument, it is %d",
			    published[i].name, rc);
	}
	tsr_close(&dev);
}

static bool is_published(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(published); i++)
		if (_IOC_NR(published[i].request) == DRM_COMMAND_BASE + number)
			return true;
	return false;
}

static void other_numbers(void)
{
	struct tsr_device dev = tsr_open();

	for (uint32_t i = 0; i < NUMBERS; i++) {
		int rc;

		if (is_published(i))
			continue;
		rc = call(&dev, (uint32_t)DRM_IOWR(DRM_COMMAND_BASE + i, uint64_t));
		require_msg(rc == -EINVAL, "expected -EINVAL for the unused number %u, it is %d", i,
			    rc);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "layout and numbers of the interface", published_numbers, 0, 0 },
	{ "other ioctl numbers are refused", other_numbers, 0, 0 },
};

TSR_TEST_MAIN(tests)
