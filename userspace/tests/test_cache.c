// SPDX-License-Identifier: MIT
/*
 * The cache of objects, on a mock kernel: which objects are reused, when, and
 * how many are kept.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define LIMIT (UINT64_C(1) << 20)

static struct mock *mock_of(void **state)
{
	return &((struct mock_device *)*state)->mock;
}

static struct tessera_device *dev_of(void **state)
{
	return ((struct mock_device *)*state)->dev;
}

static struct tessera_cache *new_cache(void **state)
{
	struct tessera_cache *cache;

	assert_int_equal(tessera_cache_new(dev_of(state), LIMIT, &cache), 0);
	return cache;
}

static struct tessera_bo_desc desc_of(void **state, uint64_t size)
{
	struct tessera_bo_desc desc;

	assert_int_equal(
		tessera_bo_desc_init(dev_of(state), &desc, TESSERA_USAGE_STAGING, size, NULL), 0);
	return desc;
}

static struct tessera_bo *take(struct tessera_cache *cache, const struct tessera_bo_desc *desc)
{
	struct tessera_bo *bo;

	assert_int_equal(tessera_cache_take(cache, desc, &bo), 0);
	return bo;
}

/* RES-8: a kept object is offered, and reclaimed before it is reused. */
static void test_again(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_cache *cache = new_cache(state);
	struct tessera_bo_desc desc = desc_of(state, 20000);
	struct tessera_bo *bo = take(cache, &desc), *other;
	uint32_t handle = tessera_bo_handle(bo);

	/* 20000 is rounded up to 20480 = 16384 * 5/4. */
	assert_int_equal(tessera_bo_size(bo), 20480);
	tessera_cache_give(cache, bo, NULL, 0);
	assert_int_equal(mock->offered, DRM_TESSERA_OFFER_LOW);
	assert_int_equal(mock->last_handles[0], handle);
	/*
	 * The cache does not reuse it for another size, other flags or other
	 * segments.
	 */
	desc.size = 20481;
	other = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(other), handle);
	assert_int_equal(tessera_bo_size(other), 24576);
	tessera_bo_del(other);
	desc.size = 16385;
	desc.flags = DRM_TESSERA_BO_CPU_ACCESS;
	other = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(other), handle);
	tessera_bo_del(other);
	desc = desc_of(state, 16385);
	desc.supported |= 2;
	other = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(other), handle);
	tessera_bo_del(other);
	desc = desc_of(state, 16385);
	desc.evict_to = 1 << 4;
	other = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(other), handle);
	tessera_bo_del(other);
	assert_int_equal(mock->offered, DRM_TESSERA_OFFER_LOW);
	/* Elements after the last preference do not count. */
	desc = desc_of(state, 16385);
	desc.preferred[desc.num_preferred] = 7;
	bo = take(cache, &desc);
	assert_int_equal(tessera_bo_handle(bo), handle);
	assert_int_equal(mock->offered, 0);
	other = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(other), handle);
	tessera_bo_del(other);
	tessera_bo_del(bo);
	tessera_cache_del(cache);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 0);
}

/* An object is neither reused nor offered before its jobs are done. */
static void test_busy(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_cache *cache = new_cache(state);
	struct tessera_bo_desc desc = desc_of(state, 4096);
	struct tessera_bo *bos[3];
	struct tessera_syncobj *timeline;
	uint32_t handles[3];

	assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &timeline), 0);
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = take(cache, &desc);
		handles[i] = tessera_bo_handle(bos[i]);
	}
	for (uint32_t i = 0; i < 3; i++)
		tessera_cache_give(cache, bos[i], timeline, i + 1);
	promise(!mock_count(mock, DRM_IOCTL_TESSERA_OFFER),
		"tessera_cache_give() offers an object that jobs still use");
	/*
	 * A timeline that is busy for one object is not queried for the later
	 * ones.
	 */
	mock->calls = 0;
	bos[0] = take(cache, &desc);
	assert_int_equal(mock_count(mock, DRM_IOCTL_SYNCOBJ_QUERY), 1);
	assert_int_not_equal(tessera_bo_handle(bos[0]), handles[0]);
	tessera_bo_del(bos[0]);
	mock->reached = 2;
	bos[0] = take(cache, &desc);
	bos[1] = take(cache, &desc);
	/*
	 * The object given last is reused first, because it is most likely
	 * still in memory.
	 */
	assert_int_equal(tessera_bo_handle(bos[0]), handles[1]);
	assert_int_equal(tessera_bo_handle(bos[1]), handles[0]);
	bos[2] = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(bos[2]), handles[2]);
	for (uint32_t i = 0; i < 3; i++)
		tessera_bo_del(bos[i]);
	tessera_syncobj_del(timeline);
	tessera_cache_del(cache);
	/* Jobs that do not list the object may still use it. */
	assert_int_equal(mock->last_destroy.handle, handles[2]);
	assert_int_equal(mock->last_destroy.flags, 0);
}

/*
 * The cache never keeps more than the limit and destroys the oldest objects
 * first. If there is no memory for a new object, it destroys all.
 */
static void test_bounded(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_cache *cache = new_cache(state);
	struct tessera_bo_desc desc = desc_of(state, LIMIT / 4);
	struct tessera_bo *bos[6];
	uint32_t handles[6];

	for (uint32_t i = 0; i < 6; i++) {
		bos[i] = take(cache, &desc);
		handles[i] = tessera_bo_handle(bos[i]);
	}
	for (uint32_t i = 0; i < 6; i++) {
		tessera_cache_give(cache, bos[i], NULL, 0);
		assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), i < 4 ? 0 : i - 3);
		if (i >= 4)
			assert_int_equal(mock->last_destroy.handle, handles[i - 4]);
	}
	desc.size = 4096;
	mock->fail_request = DRM_IOCTL_TESSERA_BO_CREATE;
	mock->fail_errno = ENOMEM;
	assert_int_equal(tessera_cache_take(cache, &desc, &bos[0]), -ENOMEM);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 6);
	mock->fail_errno = E2BIG;
	mock->calls = 0;
	assert_int_equal(tessera_cache_take(cache, &desc, &bos[0]), -E2BIG);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 1);
	mock->fail_errno = 0;
	/* An object larger than the limit is not kept. */
	desc.size = LIMIT + 1;
	bos[0] = take(cache, &desc);
	tessera_cache_give(cache, bos[0], NULL, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 1);
	tessera_cache_del(cache);
}

/* Objects that are shared or lost are not reused. */
static void test_not_kept(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_cache *cache = new_cache(state);
	struct tessera_bo_desc desc = desc_of(state, 4096);
	struct tessera_bo *bo = take(cache, &desc);

	tessera_bo_ref(bo);
	tessera_cache_give(cache, bo, NULL, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_OFFER), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 0);
	mock->fail_request = DRM_IOCTL_TESSERA_OFFER;
	mock->fail_errno = EINVAL;
	tessera_cache_give(cache, bo, NULL, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 1);
	mock->fail_errno = 0;
	bo = take(cache, &desc);
	tessera_cache_give(cache, bo, NULL, 0);
	mock->fail_request = DRM_IOCTL_TESSERA_RECLAIM;
	mock->fail_errno = EIO;
	bo = take(cache, &desc);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 2);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 3);
	mock->fail_errno = 0;
	mock->fail_alloc = mock->allocs;
	tessera_cache_give(cache, bo, NULL, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 3);
	mock->fail_alloc = -1;
	tessera_cache_give(cache, NULL, NULL, 0);
	tessera_cache_del(cache);
	tessera_cache_del(NULL);
}

/* A kept object keeps its addresses and leaves the residency list. */
static void test_vm(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_cache *cache = new_cache(state);
	struct tessera_bo_desc desc = desc_of(state, 4096);
	struct tessera_bo *bo = take(cache, &desc);
	uint64_t before, after;
	struct tessera_vm *vm;

	mock->space = LIMIT;
	assert_int_equal(tessera_vm_new(dev_of(state), &vm), 0);
	assert_int_equal(tessera_vm_make_resident(vm, &bo, 1), 0);
	assert_int_equal(tessera_vm_bind(vm, bo, &before), 0);
	assert_int_equal(mock->listed_bytes, 4096);
	tessera_cache_give(cache, bo, NULL, 0);
	assert_int_equal(mock->listed_bytes, 0);
	bo = take(cache, &desc);
	assert_int_equal(tessera_vm_bind(vm, bo, &after), 0);
	assert_int_equal(after, before);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_VM_BIND), 1);
	/* Earlier keeps of the object do not count any more. */
	assert_int_equal(tessera_vm_evict(vm, &bo, 1), -EINVAL);
	assert_int_equal(tessera_vm_make_resident(vm, &bo, 1), 0);
	assert_int_equal(mock->listed_bytes, 4096);
	tessera_cache_give(cache, bo, NULL, 0);
	tessera_cache_del(cache);
	tessera_vm_del(vm);
}

/*
 * A private object is reused only for its own VM, and not for a later VM with
 * the same id.
 */
static void test_private(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_cache *cache = new_cache(state);
	struct tessera_bo_desc desc = desc_of(state, 4096), shared = desc;
	struct tessera_bo *bo;
	struct tessera_vm *vm;
	uint64_t address;
	uint32_t handle;

	assert_int_equal(tessera_vm_new(dev_of(state), &vm), 0);
	tessera_bo_desc_private(&desc, vm);
	bo = take(cache, &desc);
	handle = tessera_bo_handle(bo);
	assert_int_equal(tessera_vm_bind(vm, bo, &address), 0);
	tessera_cache_give(cache, bo, NULL, 0);
	bo = take(cache, &shared);
	assert_int_not_equal(tessera_bo_handle(bo), handle);
	tessera_bo_del(bo);
	bo = take(cache, &desc);
	assert_int_equal(tessera_bo_handle(bo), handle);
	tessera_cache_give(cache, bo, NULL, 0);
	tessera_vm_del(vm);
	bo = take(cache, &desc);
	assert_int_not_equal(tessera_bo_handle(bo), handle);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 1);
	tessera_bo_del(bo);
	tessera_cache_del(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_again, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_busy, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_bounded, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_not_kept, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_vm, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_private, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
