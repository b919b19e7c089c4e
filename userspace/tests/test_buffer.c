// SPDX-License-Identifier: MIT
/*
 * Parts of the library for jobs at virtual addresses, on a mock kernel: CPU
 * addresses, renaming and caches; also offers and destroy flags.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mock.h"

#define UNLOCKED (TESSERA_MAP_WRITE | TESSERA_MAP_UNSYNCHRONIZED)

static const uint32_t discard = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE;

static struct tessera_bo_desc desc_of(struct tessera_device *dev, uint32_t more)
{
	struct tessera_bo_desc desc;

	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_STAGING, 4096, NULL), 0);
	desc.flags |= more;
	return desc;
}

static void test_lock2(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo *bo = mock_bo(md->dev, 4096);
	void *first, *second;

	/* LOCK-11: the object has one mapping, also without CPU access */
	assert_int_equal(tessera_bo_unlock2(bo), -EINVAL);
	assert_int_equal(tessera_bo_lock2(bo, &first), 0);
	assert_int_equal(tessera_bo_lock2(bo, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(mock->maps, 1);
	assert_int_equal(mock->locks2, 2);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_LOCK), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_WAIT), 0);
	assert_int_equal(tessera_bo_unlock2(bo), 0);
	assert_int_equal(mock->unmaps, 0);
	assert_int_equal(tessera_bo_unlock2(bo), 0);
	assert_int_equal(mock->unmaps, 1);
	assert_int_equal(mock->locks2, 0);
	mock->fail_request = DRM_IOCTL_TESSERA_LOCK2;
	mock->fail_errno = EOPNOTSUPP;
	assert_int_equal(tessera_bo_lock2(bo, &first), -EOPNOTSUPP);
	tessera_bo_del(bo);
}

static void test_from_user(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo *bo;
	char memory[1];
	void *map;

	assert_int_equal(
		tessera_bo_from_user(md->dev, memory, 8192, DRM_TESSERA_BO_GPU_READ_ONLY, &bo), 0);
	assert_int_equal(mock->last_from_user.address, (uintptr_t)memory);
	assert_int_equal(mock->last_from_user.size, 8192);
	assert_int_equal(mock->last_from_user.flags, DRM_TESSERA_BO_GPU_READ_ONLY);
	assert_int_equal(tessera_bo_handle(bo), mock->next_handle);
	assert_int_equal(tessera_bo_size(bo), 8192);
	assert_int_equal(tessera_bo_map(bo, &map), -EPERM);
	tessera_bo_del(bo);
	assert_int_equal(mock->open_handles, 0);

	mock->fail_request = DRM_IOCTL_TESSERA_BO_FROM_USER;
	mock->fail_errno = EPERM;
	assert_int_equal(tessera_bo_from_user(md->dev, memory, 4096, 0, &bo), -EPERM);
	mock->fail_request = 0;
	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_bo_from_user(md->dev, memory, 4096, 0, &bo), -ENOMEM);
	mock->fail_alloc = -1;
}

static void test_destroy(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo *bo = mock_bo(md->dev, 4096);
	uint32_t handle = tessera_bo_handle(bo);

	tessera_bo_ref(bo);
	assert_int_equal(tessera_bo_destroy(bo, 0), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 0);
	mock->fail_request = DRM_IOCTL_TESSERA_BO_DESTROY;
	mock->fail_errno = ENOMEM;
	assert_int_equal(tessera_bo_destroy(bo, 0), -ENOMEM);
	mock->fail_errno = 0;
	assert_int_equal(tessera_bo_destroy(bo, DRM_TESSERA_BO_DESTROY_SYNCHRONOUS), 0);
	assert_int_equal(mock->last_destroy.handle, handle);
	assert_int_equal(mock->last_destroy.flags, DRM_TESSERA_BO_DESTROY_SYNCHRONOUS);
	assert_int_equal(mock_count(mock, DRM_IOCTL_GEM_CLOSE), 0);
}

static void test_offer(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo *bos[] = { mock_bo(md->dev, 4096), mock_bo(md->dev, 4096) };
	uint32_t results[2] = { 7, 7 };

	assert_int_equal(tessera_bo_offer(bos, 0, DRM_TESSERA_OFFER_LOW), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_OFFER), 0);
	assert_int_equal(tessera_bo_offer(bos, 2, DRM_TESSERA_OFFER_HIGH), 0);
	assert_int_equal(mock->offered, DRM_TESSERA_OFFER_HIGH);
	assert_int_equal(mock->last_handles[1], tessera_bo_handle(bos[1]));
	mock->fail_request = DRM_IOCTL_TESSERA_RECLAIM;
	mock->fail_errno = EINVAL;
	assert_int_equal(tessera_bo_reclaim(bos, 2, results), -EINVAL);
	assert_int_equal(results[0], 7);
	mock->fail_errno = 0;
	assert_int_equal(tessera_bo_reclaim(bos, 2, results), 0);
	assert_int_equal(mock->offered, 0);
	assert_int_equal(results[0], DRM_TESSERA_RECLAIM_KEPT);
	assert_int_equal(results[1], DRM_TESSERA_RECLAIM_DISCARDED);
	assert_int_equal(mock->offer_flags, 0);
	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_bo_offer(bos, 2, DRM_TESSERA_OFFER_LOW), -ENOMEM);
	tessera_bo_del(bos[0]);
	tessera_bo_del(bos[1]);
}

/* RES-12: decommit, and a reclaim that hands out a paging fence. */
static void test_decommit(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo *bos[] = { mock_bo(md->dev, 4096), mock_bo(md->dev, 4096) };
	uint32_t results[2] = { 7, 7 }, pending = 7;
	struct tessera_sync signal = { .point = 3 };

	assert_int_equal(tessera_syncobj_new(md->dev, 0, &signal.obj), 0);
	assert_int_equal(tessera_bo_decommit(bos, 0), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_OFFER), 0);
	assert_int_equal(tessera_bo_decommit(bos, 2), 0);
	assert_int_equal(mock->offered, DRM_TESSERA_OFFER_LOW);
	assert_int_equal(mock->offer_flags, DRM_TESSERA_OFFER_DECOMMIT);
	assert_int_equal(tessera_bo_reclaim_signal(bos, 0, results, &signal, &pending), 0);
	assert_int_equal(pending, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_RECLAIM), 0);
	assert_int_equal(tessera_bo_reclaim_signal(bos, 2, results, &signal, &pending), 0);
	assert_int_equal(pending, 1);
	assert_int_equal(mock->last_syncs[0].point, 3);
	assert_int_equal(mock->last_syncs[0].flags,
			 DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE);
	assert_int_equal(results[1], DRM_TESSERA_RECLAIM_DISCARDED);
	signal.point = 0;
	assert_int_equal(tessera_bo_decommit(bos, 2), 0);
	assert_int_equal(tessera_bo_reclaim_signal(bos, 2, results, &signal, NULL), 0);
	assert_int_equal(mock->last_syncs[0].flags, DRM_TESSERA_SYNC_SIGNAL);
	assert_int_equal(tessera_bo_decommit(bos, 2), 0);
	assert_int_equal(tessera_bo_reclaim_signal(bos, 2, results, NULL, &pending), 0);
	assert_int_equal(pending, 0);
	tessera_syncobj_del(signal.obj);
	tessera_bo_del(bos[0]);
	tessera_bo_del(bos[1]);
}

/*
 * LOCK-2 to LOCK-9: a buffer waits for timelines and never uses the kernel's
 * waits for objects.
 */
static void test_buffer_waits(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, 0);
	struct tessera_syncobj *timeline;
	struct tessera_buffer *buffer;
	void *map, *p;

	assert_int_equal(tessera_syncobj_new(md->dev, 0, &timeline), 0);
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), 0);
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_WRITE, &map), 0);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 0, 1), -EINVAL);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 3, 0), 0);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 5, 0), 0);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 4, 0), 0);

	/* a read lock does not wait for readers */
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ, &p), 0);
	assert_int_equal(mock->waited, 0);
	/* LOCK-4 */
	assert_int_equal(tessera_buffer_lock(buffer, UNLOCKED, &p), 0);
	assert_ptr_equal(p, map);
	/* LOCK-6 */
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_WRITE | TESSERA_MAP_DONTBLOCK, &p),
			 -EBUSY);
	mock->reached = 4;
	promise(tessera_buffer_lock(buffer, TESSERA_MAP_WRITE | TESSERA_MAP_DONTBLOCK, &p) ==
			-EBUSY,
		"expected -EBUSY for the job at point 5, the timeline has only reached 4");
	assert_int_equal(mock->waited, 0);
	/* LOCK-7 LOCK-9 */
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_WRITE, &p), 0);
	promise(mock->waited == 5,
		"expected a lock for writing to wait for the readers, up to point 5");
	assert_ptr_equal(p, map);
	/* every lock waits for a writer */
	assert_int_equal(tessera_buffer_used(buffer, timeline, 6, 1), 0);
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ, &p), 0);
	assert_int_equal(mock->waited, 6);
	/* also for a writer after a reader, but not for the reader after it */
	assert_int_equal(tessera_buffer_used(buffer, timeline, 7, 0), 0);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 8, 1), 0);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 9, 0), 0);
	mock->reached = 7;
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ | TESSERA_MAP_DONTBLOCK, &p),
			 -EBUSY);
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ, &p), 0);
	assert_int_equal(mock->waited, 8);
	mock->fail_request = DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT;
	mock->fail_errno = EIO;
	assert_int_equal(tessera_buffer_used(buffer, timeline, 10, 1), 0);
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ, &p), -EIO);
	mock->fail_errno = 0;
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_LOCK), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_WAIT), 0);
	assert_int_equal(tessera_buffer_lock(buffer, 1u << 30, &p), -EINVAL);
	tessera_buffer_del(buffer);
	tessera_syncobj_del(timeline);
}

/*
 * LOCK-3 LOCK-5: a discard switches to another object, and back to the first
 * one when its jobs are done.
 */
static void test_buffer_renames(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, 0);
	struct tessera_syncobj *timeline;
	struct tessera_buffer *buffer;
	struct tessera_bo *first, *second;
	void *p;

	assert_int_equal(tessera_syncobj_new(md->dev, 0, &timeline), 0);
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), 0);
	first = tessera_buffer_bo(buffer);
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
	assert_ptr_equal(tessera_buffer_bo(buffer), first);
	/* a job that reads is enough */
	assert_int_equal(tessera_buffer_used(buffer, timeline, 1, 0), 0);
	assert_int_equal(tessera_buffer_lock(buffer, discard | TESSERA_MAP_DONTBLOCK, &p), 0);
	second = tessera_buffer_bo(buffer);
	promise(second != first,
		"expected a discard to pick another instance, a job still reads this one");
	assert_int_equal(tessera_buffer_used(buffer, timeline, 2, 1), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 2);
	mock->fail_request = DRM_IOCTL_TESSERA_BO_CREATE;
	mock->fail_errno = ENOMEM;
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), -ENOMEM);
	mock->fail_request = DRM_IOCTL_TESSERA_LOCK2;
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), -ENOMEM);
	mock->fail_errno = 0;
	assert_ptr_equal(tessera_buffer_bo(buffer), second);
	mock->reached = 1;
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
	assert_ptr_equal(tessera_buffer_bo(buffer), first);
	assert_int_equal(mock->waited, 0);
	/* the other object is busy, this one is not */
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ, &p), 0);
	assert_int_equal(mock->waited, 0);
	tessera_buffer_del(buffer);
	assert_int_equal(mock->locks2, 0);
	assert_int_equal(mock->last_destroy.flags, 0);
	tessera_syncobj_del(timeline);
}

/*
 * COH-10 COH-11: caches are invalidated after the wait and written back after
 * the CPU's writes. Nothing is done if the device snoops.
 */
static void test_buffer_caches(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, DRM_TESSERA_BO_EXPLICIT_SYNC);
	struct tessera_syncobj *timeline;
	struct tessera_buffer *buffer;
	unsigned int flushes = 0;
	void *p;

	assert_int_equal(tessera_syncobj_new(md->dev, 0, &timeline), 0);
	for (int coherent = 0; coherent < 2; coherent++) {
		mock->info.caps &= ~DRM_TESSERA_CAP_IO_COHERENT;
		md->dev->info.caps &= ~DRM_TESSERA_CAP_IO_COHERENT;
		if (coherent)
			md->dev->info.caps |= DRM_TESSERA_CAP_IO_COHERENT;
		assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), 0);
		assert_int_equal(tessera_buffer_used(buffer, timeline, 9, 1), 0);
		mock->waited = 0;
		assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_READ, &p), 0);
		assert_int_equal(mock->waited, 9);
		flushes += !coherent;
		assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE), flushes);
		assert_int_equal(tessera_buffer_unlock(buffer, TESSERA_MAP_READ), 0);
		assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE), flushes);
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE), flushes);
		assert_int_equal(tessera_buffer_unlock(buffer, discard), 0);
		flushes += !coherent;
		promise(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE) == flushes,
			"tessera_buffer_unlock() %s the bytes that the CPU wrote",
			coherent ? "flushes" : "leaves in the caches");
		assert_int_equal(mock->last_flush.size, 4096);
		tessera_buffer_del(buffer);
	}
	tessera_syncobj_del(timeline);
}

/*
 * An object that supports memory segments only is not locked. Otherwise the
 * kernel would keep it out of them.
 */
static void test_buffer_memory_only(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = {
		.size = 4096,
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.supported =
			tessera_device_segment_set(md->dev, DRM_TESSERA_SEGMENT_CPU_VISIBLE, 0),
	};
	struct tessera_buffer *buffer;
	void *p;

	assert_int_not_equal(desc.supported, 0);
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), 0);
	assert_int_equal(tessera_buffer_lock(buffer, TESSERA_MAP_WRITE, &p), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_LOCK2), 0);
	assert_int_equal(mock->maps, 1);
	tessera_buffer_del(buffer);
	assert_int_equal(mock->unmaps, 1);
}

/*
 * Small buffers share an object: each discard uses another slice, and a new
 * object if all slices are busy.
 */
static void test_buffer_slices(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, DRM_TESSERA_BO_EXPLICIT_SYNC);
	struct tessera_syncobj *timeline;
	struct tessera_buffer *buffer;
	void *map, *p;

	desc.size = 300;
	assert_int_equal(tessera_buffer_new_slices(md->dev, &desc, 0, &buffer), -EINVAL);
	assert_int_equal(tessera_syncobj_new(md->dev, 0, &timeline), 0);
	assert_int_equal(tessera_buffer_new_slices(md->dev, &desc, 16, &buffer), 0);
	/* 16 times 512: the slice size is rounded up to a multiple of 256 */
	assert_int_equal(tessera_bo_size(tessera_buffer_bo(buffer)), 8192);
	assert_int_equal(tessera_buffer_lock(buffer, discard, &map), 0);
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(tessera_buffer_offset(buffer), i % 16 * 512);
		assert_ptr_equal(p, (uint8_t *)map + i % 16 * 512);
		assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), i / 16 + 1);
		assert_int_equal(tessera_buffer_unlock(buffer, discard), 0);
		assert_int_equal(mock->last_flush.offset, i % 16 * 512);
		assert_int_equal(mock->last_flush.size, 512);
		assert_int_equal(tessera_buffer_used(buffer, timeline, i + 1, 0), 0);
	}
	/* Idle slices are reused, the oldest first, without a new object. */
	mock->reached = 2;
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(tessera_buffer_used(buffer, timeline, 100, 0), 0);
		assert_int_equal(tessera_buffer_offset(buffer), (i + 8) * 512);
	}
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
	assert_int_equal(tessera_buffer_offset(buffer), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 3);
	assert_int_equal(mock->locks2, 3);
	tessera_buffer_del(buffer);
	assert_int_equal(mock->locks2, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 3);
	tessera_syncobj_del(timeline);
}

/*
 * The number of objects has a limit. At the limit a discard waits for the
 * object that was discarded longest ago.
 */
static void test_buffer_bounded(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, 0);
	struct tessera_syncobj *timeline;
	struct tessera_buffer *buffer;
	void *p;

	assert_int_equal(tessera_syncobj_new(md->dev, 0, &timeline), 0);
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), 0);
	for (uint32_t i = 1; i <= 64; i++) {
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(tessera_buffer_used(buffer, timeline, i, 0), 0);
	}
	assert_int_equal(mock->waited, 0);
	assert_int_equal(tessera_buffer_lock(buffer, discard | TESSERA_MAP_DONTBLOCK, &p), -EBUSY);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(mock->waited, i);
		assert_int_equal(tessera_buffer_used(buffer, timeline, 64 + i, 0), 0);
	}
	mock->calls = 0;
	tessera_buffer_del(buffer);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_DESTROY), 64);
	tessera_syncobj_del(timeline);
}

/*
 * RES-12 LOCK-29: an object that a buffer does not need any more is offered
 * after some rounds, with no lock held, and reclaimed when the buffer grows.
 */
static void test_buffer_parks(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, 0);
	struct tessera_syncobj *timeline;
	struct tessera_buffer *buffer;
	uint32_t discards = 0, locks;
	void *p;

	assert_int_equal(tessera_syncobj_new(md->dev, 0, &timeline), 0);
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), 0);
	/* Three objects at a time, then one job at a time, which needs two. */
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(tessera_buffer_used(buffer, timeline, i, 0), 0);
	}
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 3);
	locks = mock->locks2;
	for (uint64_t i = 4; !mock_count(mock, DRM_IOCTL_TESSERA_OFFER); i++) {
		mock->calls = 0;
		mock->reached = i - 2;
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(tessera_buffer_used(buffer, timeline, i, 0), 0);
		promise(discards++ < 100, "expected an idle object to be offered, none was");
	}
	assert_int_equal(mock->offered, DRM_TESSERA_OFFER_LOW);
	assert_int_equal(mock->offer_flags, 0);
	assert_int_equal(mock->locks2, locks - 1);
	promise(discards >= 16, "an object is offered after %u discards", discards);
	/* Two objects are enough for another thousand discards. */
	for (uint64_t i = 200; i < 1200; i++) {
		mock->calls = 0;
		mock->reached = i - 2;
		assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
		assert_int_equal(tessera_buffer_used(buffer, timeline, i, 0), 0);
		if (mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE) ||
		    mock_count(mock, DRM_IOCTL_TESSERA_RECLAIM))
			fail_msg("discard %u needs a third object", (unsigned int)i);
	}
	/* A third one is reclaimed, a fourth one is new. */
	mock->calls = 0;
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
	assert_int_equal(tessera_buffer_used(buffer, timeline, 1200, 0), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_RECLAIM), 1);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 0);
	assert_int_equal(tessera_buffer_lock(buffer, discard, &p), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 1);
	tessera_buffer_del(buffer);
	assert_int_equal(mock->locks2, 0);
	tessera_syncobj_del(timeline);
}

static void test_buffer_bad(void **state)
{
	struct mock_device *md = *state;
	struct mock *mock = &md->mock;
	struct tessera_bo_desc desc = desc_of(md->dev, 0);
	struct tessera_buffer *buffer;

	desc.layout = TSR_LAYOUT_TILE4K;
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), -EINVAL);
	desc = desc_of(md->dev, 0);
	desc.flags = 0;
	assert_int_equal(tessera_buffer_new(md->dev, &desc, &buffer), -EINVAL);
	desc = desc_of(md->dev, 0);
	for (long i = 0; i < 4; i++) {
		int ret;

		mock->fail_alloc = mock->allocs + i;
		ret = tessera_buffer_new(md->dev, &desc, &buffer);
		if (!ret) {
			tessera_buffer_del(buffer);
			assert_true(i > 2);
			break;
		}
		assert_int_equal(ret, -ENOMEM);
	}
	mock->fail_alloc = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lock2, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_from_user, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_destroy, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_offer, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_decommit, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_waits, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_renames, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_caches, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_memory_only, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_slices, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_bounded, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_parks, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer_bad, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
