// SPDX-License-Identifier: MIT
/* Residency lists and budgets in the library, on a mock kernel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

static struct mock_device *fixture(void **state)
{
	return *state;
}

/*
 * RES-1, RES-4: the kernel receives the handles in order, and the requested
 * fence.
 */
static void test_make_resident(void **state)
{
	struct tessera_device *dev = fixture(state)->dev;
	struct mock *mock = &fixture(state)->mock;
	struct tessera_bo *bos[] = { mock_bo(dev, 4096), mock_bo(dev, 8192) };
	struct tessera_residency result;
	struct tessera_sync signal = { .point = 7 };

	assert_int_equal(tessera_syncobj_new(dev, 0, &signal.obj), 0);
	assert_int_equal(tessera_device_make_resident(dev, bos, 2, &signal, &result), 0);
	assert_int_equal(mock->last_resident.handles.stride, 4);
	assert_int_equal(mock->last_resident.handles.count, 2);
	assert_int_equal(mock->last_handles[0], tessera_bo_handle(bos[0]));
	assert_int_equal(mock->last_handles[1], tessera_bo_handle(bos[1]));
	assert_int_equal(mock->last_resident.syncs.count, 1);
	assert_int_equal(mock->last_syncs[0].handle, tessera_syncobj_handle(signal.obj));
	assert_int_equal(mock->last_syncs[0].flags,
			 DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE);
	assert_int_equal(mock->last_syncs[0].point, 7);
	assert_int_equal(result.pending, 1);
	signal.point = 0;
	assert_int_equal(tessera_device_make_resident(dev, NULL, 0, &signal, NULL), 0);
	assert_int_equal(mock->last_resident.handles.count, 0);
	assert_int_equal(mock->last_syncs[0].flags, DRM_TESSERA_SYNC_SIGNAL);
	assert_int_equal(tessera_device_make_resident(dev, bos, 1, NULL, NULL), 0);
	assert_int_equal(mock->last_resident.syncs.count, 0);
	assert_int_equal(mock->last_resident.flags, 0);
	assert_int_equal(tessera_device_make_resident_flags(
				 dev, bos, 1, DRM_TESSERA_RESIDENT_MUST_SUCCEED, NULL, NULL),
			 0);
	assert_int_equal(mock->last_resident.flags, DRM_TESSERA_RESIDENT_MUST_SUCCEED);
	assert_int_equal(tessera_device_evict(dev, bos, 2), 0);
	assert_int_equal(mock->last_evict.handles.count, 2);
	assert_int_equal(mock->last_evict.flags, 0);
	assert_int_equal(mock->last_handles[1], tessera_bo_handle(bos[1]));
	assert_int_equal(tessera_device_evict_unwritten(dev, bos, 1), 0);
	assert_int_equal(mock->last_evict.handles.count, 1);
	assert_int_equal(mock->last_evict.flags, DRM_TESSERA_EVICT_NOT_WRITTEN);

	tessera_syncobj_del(signal.obj);
	tessera_bo_del(bos[0]);
	tessera_bo_del(bos[1]);
}

/* RES-3: with -ENOMEM the caller learns how many bytes to trim, and where. */
static void test_trim(void **state)
{
	struct tessera_device *dev = fixture(state)->dev;
	struct mock *mock = &fixture(state)->mock;
	struct tessera_bo *bo = mock_bo(dev, 4096);
	struct tessera_residency result;

	mock->busy = true;
	assert_int_equal(tessera_device_make_resident(dev, &bo, 1, NULL, &result), -ENOMEM);
	assert_int_equal(result.bytes_to_trim, 8192);
	assert_int_equal(result.trim_segments, 6);
	mock->busy = false;
	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_device_make_resident(dev, &bo, 1, NULL, &result), -ENOMEM);
	assert_int_equal(result.bytes_to_trim, 0);
	mock->fail_alloc = -1;
	assert_int_equal(tessera_device_make_resident(dev, &bo, mock->info.max_allocs + 1, NULL,
						      &result),
			 -E2BIG);
	tessera_bo_del(bo);
}

static void test_other_device(void **state)
{
	struct tessera_device *dev = fixture(state)->dev, *other;
	struct mock *mock = mock_new();
	struct tessera_sync signal = { 0 };
	struct tessera_bo *bo;

	assert_int_equal(mock_open(mock, &other), 0);
	bo = mock_bo(other, 4096);
	assert_int_equal(tessera_syncobj_new(other, 0, &signal.obj), 0);
	assert_int_equal(tessera_device_make_resident(dev, &bo, 1, NULL, NULL), -EXDEV);
	assert_int_equal(tessera_device_evict(dev, &bo, 1), -EXDEV);
	assert_int_equal(tessera_device_make_resident(dev, NULL, 0, &signal, NULL), -EXDEV);
	tessera_syncobj_del(signal.obj);
	tessera_bo_del(bo);
	tessera_device_del(other);
	assert_int_equal(mock->live_allocs, 0);
	free(mock);
}

static void test_budget(void **state)
{
	struct tessera_device *dev = fixture(state)->dev;
	struct mock *mock = &fixture(state)->mock;
	struct {
		struct drm_tessera_budget budget;
		uint64_t newer;
	} grown = { .newer = 5 };

	assert_int_equal(tessera_device_budget(dev, 6, &grown.budget, sizeof(grown)), 0);
	assert_int_equal(mock->last_budget.segments, 6);
	assert_int_equal(mock->last_budget.flags, 0);
	assert_int_equal(grown.budget.budget, 4096);
	assert_int_equal(grown.budget.reservable, 1024);
	assert_int_equal(grown.newer, 0);
	grown.budget.reservable = 3;
	assert_int_equal(tessera_device_budget(dev, 6, &grown.budget,
					       offsetof(struct drm_tessera_budget, reservable)),
			 0);
	assert_int_equal(grown.budget.reservable, 3);
	assert_int_equal(tessera_device_reserve(dev, 2, 512), 0);
	assert_int_equal(mock->last_budget.segments, 4);
	assert_int_equal(mock->last_budget.flags, DRM_TESSERA_BUDGET_RESERVE);
	assert_int_equal(mock->last_budget.reservation, 512);
	assert_int_equal(tessera_device_reserve(dev, 32, 512), -EINVAL);
	assert_int_equal(tessera_device_watch_budget(dev, 2, -1), 0);
	assert_int_equal(mock->last_budget.flags, DRM_TESSERA_BUDGET_NOTIFY);
	assert_int_equal(mock->last_budget.eventfd, -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_make_resident),
		TEST(test_trim),
		TEST(test_other_device),
		TEST(test_budget),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}
