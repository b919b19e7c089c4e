// SPDX-License-Identifier: MIT
/*
 * OFFER and RECLAIM. Offered contents must be dropped before any object is
 * evicted, and only after their jobs; without pressure they stay. Calls that
 * use an offered object are refused. For decommits and paging fences see
 * test-decommit.c.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"
#include "held.h"
#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t low = DRM_TESSERA_OFFER_LOW;
static const uint32_t normal = DRM_TESSERA_OFFER_NORMAL;
static const uint32_t high = DRM_TESSERA_OFFER_HIGH;

#define BYTES MiB(1)
#define WORDS (BYTES / 4)

static int offer(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t priority)
{
	return __tsr_offer(dev->fd, &bo->handle, 1, priority);
}

/*
 * Fill the visible segment with resident objects, leaving space for @left more.
 */
static uint32_t fill_segment(struct tsr_device *dev, uint32_t ctx, uint32_t left, uint32_t keys,
			     struct tsr_bo *bos)
{
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(dev);
	uint32_t num = (uint32_t)(vis->size / BYTES) - left;

	for (uint32_t i = 0; i < num; i++)
		bos[i] = tsr_bo_patterned(dev, ctx, BYTES, tsr_bit(vis), keys + i);
	return num;
}

#define MAX_OBJECTS 64

/* ---- nothing is dropped without need ------------------------------------- */

static void kept_without_pressure(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), handles[4], results[4];
	struct tsr_bo bos[4];

	bos[0] = tsr_bo_patterned(&dev, ctx, BYTES, vis, 0);
	bos[1] = tsr_bo_patterned(&dev, ctx, BYTES, gart, 1);
	/* in no segment */
	bos[2] = tsr_bo_patterned(&dev, ctx, BYTES, gart, 2);
	tsr_evict_set(gart);
	tsr_gpu_touch(&dev, ctx, &bos[1]);
	/* never used */
	bos[3] = tsr_bo_new(&dev, BYTES, gart, cpu);
	tsr_bo_map(&dev, &bos[3]);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		handles[i] = bos[i].handle;
	for (uint32_t round = 0; round < 3; round++) {
		require_ok(__tsr_offer(dev.fd, handles, ARRAY_SIZE(handles), low + round));
		memset(results, 0xff, sizeof(results));
		require_ok(__tsr_reclaim(dev.fd, handles, results, ARRAY_SIZE(handles)));
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			require_eq(results[i], DRM_TESSERA_RECLAIM_KEPT);
		for (uint32_t i = 0; i < 3; i++)
			tsr_pattern_check(&bos[i], i);
		tsr_words_check(bos[3].map, WORDS, 0);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			require_ok(__tsr_submit_use(&dev, ctx, &bos[i], false));
	}
	tsr_close(&dev);
}

/* ---- in memory ----------------------------------------------------------- */

/*
 * An offered object is evicted first and without a copy. Its lost contents read
 * as zero.
 */
static void dropped_for_space(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bos[MAX_OBJECTS], more;
	uint32_t num = fill_segment(&dev, ctx, 0, 1, bos), id, word;
	struct tsr_bo *last = &bos[num - 1];
	struct tsr_trace trace;

	/* The system pages are stale, and the object was used last. */
	tsr_pattern_write(last, 99);
	tsr_gpu_fill(&dev, ctx, last, 0x4444);
	tsr_trace_start("offer", "evict", "paging_op", "reclaim", NULL);
	require_ok(offer(&dev, last, high));
	more = tsr_bo_patterned(&dev, ctx, BYTES, vis, 50);
	require_eq(tsr_bo_info(&dev, last).segment, 0);
	require_eq(tsr_bo_info(&dev, &more).segment, tsr_seg_visible(&dev)->id);
	require_eq(tsr_reclaim(&dev, last), DRM_TESSERA_RECLAIM_DISCARDED);
	trace = tsr_trace_stop();
	id = (uint32_t)tsr_event_u64(tsr_trace_next(&trace, "offer", NULL), "bo");
	require_eq(tsr_trace_count(&trace, "evict"), 1);
	require_eq(tsr_event_u64(tsr_trace_next(&trace, "evict", NULL), "bo"), id);
	require_eq(tsr_trace_paged(&trace, "discard", id), BYTES);
	require_eq(tsr_trace_paged(&trace, "transfer", id), 0);
	require_eq(tsr_event_u64(tsr_trace_next(&trace, "reclaim", NULL), "lost"), 1);
	tsr_trace_free(&trace);
	/* Zero for CPU and GPU, in each placement. */
	tsr_words_check(last->map, WORDS, 0);
	tsr_gpu_read(&dev, ctx, last, 1234, 1, &word);
	require_eq(word, 0);
	tsr_pattern_write(last, 60);
	tsr_gpu_touch(&dev, ctx, last);
	tsr_evict_set(vis);
	tsr_pattern_check(last, 60);
	for (uint32_t i = 0; i + 1 < num; i++)
		tsr_pattern_check(&bos[i], i + 1);
	tsr_pattern_check(&more, 50);
	tsr_close(&dev);
}

/* The GPU is the first to use the reclaimed object. */
static void lost_reads_as_zero(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bo = tsr_bo_patterned(&dev, ctx, BYTES, vis, 1);
	uint32_t words[64];

	for (uint32_t round = 0; round < 3; round++) {
		tsr_gpu_fill(&dev, ctx, &bo, 0x5555);
		require_ok(offer(&dev, &bo, normal));
		tsr_evict_set(vis);
		require_eq(tsr_reclaim(&dev, &bo), DRM_TESSERA_RECLAIM_DISCARDED);
		if (round == 1)
			tsr_words_check(bo.map, WORDS, 0);
		tsr_gpu_read(&dev, ctx, &bo, 640 * round, 64, words);
		tsr_words_check(words, 64, 0);
	}
	/* A valid system copy is kept, so nothing is lost. */
	tsr_pattern_write(&bo, 7);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_evict_set(vis);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_ok(offer(&dev, &bo, normal));
	tsr_evict_set(vis);
	require_eq(tsr_reclaim(&dev, &bo), DRM_TESSERA_RECLAIM_KEPT);
	tsr_pattern_check(&bo, 7);
	tsr_close(&dev);
}

static void by_priority(void)
{
	static const uint32_t priorities[] = { 3, 1, 2, 1 };
	static const uint32_t order[] = { 1, 3, 2, 0 };
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bos[MAX_OBJECTS];
	uint32_t num = fill_segment(&dev, ctx, 0, 1, bos);

	require(num > ARRAY_SIZE(priorities));
	for (uint32_t i = 0; i < ARRAY_SIZE(priorities); i++)
		require_ok(offer(&dev, &bos[i], priorities[i]));
	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++) {
		tsr_bo_patterned(&dev, ctx, BYTES, vis, 100 + i);
		for (uint32_t k = 0; k < ARRAY_SIZE(order); k++)
			require_eq(tsr_bo_info(&dev, &bos[order[k]]).segment == 0, k <= i);
	}
	for (uint32_t i = ARRAY_SIZE(priorities); i < num; i++)
		require(tsr_bo_info(&dev, &bos[i]).segment);
	tsr_close(&dev);
}

/* A reclaimed object is evicted in its normal turn. */
static void reclaimed_is_one_of_many(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bos[MAX_OBJECTS];
	uint32_t num = fill_segment(&dev, ctx, 0, 1, bos);

	require_ok(offer(&dev, &bos[num - 1], low));
	require_eq(tsr_reclaim(&dev, &bos[num - 1]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_bo_patterned(&dev, ctx, BYTES, vis, 100);
	for (uint32_t i = 0; i < num; i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment == 0, i == 0);
	tsr_pattern_check(&bos[num - 1], num);
	tsr_close(&dev);
}

/* The contents are not dropped before the jobs that use them have ended. */
static void behind_jobs(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo dst = tsr_bo_new(&dev, BYTES, tsr_bit(tsr_seg_gart(&dev)), cpu);
	struct tsr_bo bos[MAX_OBJECTS], more = tsr_bo_new(&dev, BYTES, vis, cpu);
	uint32_t num = fill_segment(&dev, ctx, 0, 1, bos), sync = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &dst);
	tsr_gpu_fill(&dev, ctx, &bos[num - 1], 0x77);
	tsr_held_copy(&held, &dst, &bos[num - 1]);
	require_ok(offer(&dev, &bos[num - 1], low));
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &more, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, 0x66);
	tsr_submit(&dev, ctx, &cmd, 0, sync);
	tsr_cmd_fini(&cmd);
	require_err(__tsr_syncobj_wait(dev.fd, sync, 0, 0), -ETIME);
	/* The object can be reclaimed and used at once. */
	require_eq(tsr_reclaim(&dev, &bos[num - 1]), DRM_TESSERA_RECLAIM_DISCARDED);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	tsr_words_check(dst.map, WORDS, 0x77);
	require_ok(__tsr_syncobj_wait(dev.fd, sync, 0, INT64_MAX));
	tsr_words_check(bos[num - 1].map, WORDS, 0);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* ---- in no segment ------------------------------------------------------- */

/* The shrinker frees the pages of offered objects only. */
static void dropped_for_the_kernel(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bos[4];
	struct tsr_trace trace;
	char *allocations;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_patterned(&dev, ctx, BYTES, gart, i);
	/* Keep one object in the segment. */
	tsr_evict_set(gart);
	tsr_gpu_touch(&dev, ctx, &bos[3]);
	tsr_trace_start("offer_drop", NULL);
	require_ok(offer(&dev, &bos[1], high));
	require_ok(offer(&dev, &bos[2], high));
	/*
	 * The shrinker skips objects that are locked at the moment, so retry.
	 */
	for (uint32_t i = 0; i < 50; i++)
		require(!tsr_write_file("/proc/sys/vm/drop_caches", "2"));
	allocations = tsr_debugfs_read("allocations");
	require(allocations);
	free(allocations);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "offer_drop"), 2);
	tsr_trace_free(&trace);
	require_msg(tsr_reclaim(&dev, &bos[1]) == DRM_TESSERA_RECLAIM_DISCARDED,
		    "expected a reclaim to report discarded contents, it reports them as kept");
	tsr_words_check(bos[1].map, WORDS, 0);
	tsr_pattern_write(&bos[1], 11);
	tsr_gpu_touch(&dev, ctx, &bos[1]);
	tsr_pattern_check(&bos[1], 11);
	tsr_pattern_check(&bos[0], 0);
	tsr_pattern_check(&bos[3], 3);
	/* The file is closed with the second object still offered. */
	tsr_close(&dev);
}

/*
 * The shrinker does not free the pages while a job uses them, and the object
 * keeps what the job writes.
 */
static void kept_while_used(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bo = tsr_bo_patterned(&dev, ctx, BYTES, gart, 3);

	tsr_held_fill(&held, &bo, WORDS, 0x77);
	require_ok(offer(&dev, &bo, low));
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	for (uint32_t i = 0; i < 50; i++)
		require(!tsr_write_file("/proc/sys/vm/drop_caches", "2"));
	require(tsr_held_waits(&held));
	require_msg(tsr_reclaim(&dev, &bo) == DRM_TESSERA_RECLAIM_KEPT,
		    "expected the contents to be kept, they were dropped while a job uses them");
	tsr_held_go(&held);
	tsr_words_check(bo.map, WORDS, 0x77);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* An offered object can be swapped out, which loses nothing. */
static void swapped_is_kept(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bo = tsr_bo_patterned(&dev, ctx, BYTES, gart, 3);

	require_ok(offer(&dev, &bo, normal));
	/* The object has left the aperture, and only an idle one is swapped out. */
	tsr_bo_wait(&dev, &bo);
	require(tsr_swap_out_objects() > 0);
	for (uint32_t i = 0; i < 10; i++)
		require(!tsr_write_file("/proc/sys/vm/drop_caches", "2"));
	require_eq(tsr_reclaim(&dev, &bo), DRM_TESSERA_RECLAIM_KEPT);
	tsr_pattern_check(&bo, 3);
	tsr_close(&dev);
}

/*
 * An object that lost its contents and was reclaimed is swapped out normally.
 */
static void reclaimed_is_swapped(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bo = tsr_bo_patterned(&dev, ctx, BYTES, vis, 1);

	tsr_gpu_fill(&dev, ctx, &bo, 0x5555);
	require_ok(offer(&dev, &bo, normal));
	tsr_evict_set(vis);
	require_eq(tsr_reclaim(&dev, &bo), DRM_TESSERA_RECLAIM_DISCARDED);
	tsr_pattern_write(&bo, 2);
	tsr_bo_wait(&dev, &bo);
	require(tsr_swap_out_objects() >= (long)(bo.size / 4096));
	tsr_pattern_check(&bo, 2);
	tsr_close(&dev);
}

/* ---- refused while offered ----------------------------------------------- */

static void refused_while_offered(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word = 1;
	uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_gart(&dev)) };
	uint32_t vm = tsr_vm_new(&dev);

	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct tsr_bo bo = tsr_bo_patterned(&dev, ctx, BYTES, sets[i], i);
		struct drm_tessera_vm_bind_op map = {
			.op = DRM_TESSERA_VM_BIND_MAP,
			.handle = bo.handle,
			.range = KiB(4),
		};
		struct drm_prime_handle prime = { .handle = bo.handle, .flags = DRM_CLOEXEC };
		uint32_t handle = bo.handle;

		/* The CPU has the object mapped. */
		tsr_pattern_check(&bo, i);
		require_ok(offer(&dev, &bo, normal));
		require_err(__tsr_submit_use(&dev, ctx, &bo, false), -EINVAL);
		require_err(__tsr_make_one(&dev, &bo), -EINVAL);
		require_err(__tsr_vm_bind(dev.fd, vm, &map, 1, 0, 0), -EINVAL);
		require_err(__tsr_lock(dev.fd, &handle, 0), -EINVAL);
		require_err(__tsr_lock(dev.fd, &handle, DRM_TESSERA_LOCK_IGNORE_SYNC), -EINVAL);
		require_err(__tsr_lock(dev.fd, &handle, DRM_TESSERA_LOCK_DISCARD), -EINVAL);
		require_err(__tsr_lock2(dev.fd, handle, 0, NULL), -EINVAL);
		require_err(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), -EINVAL);
		require_err(offer(&dev, &bo, normal), -EINVAL);
		require_msg(tsr_raises_sigbus(bo.map),
			    "expected SIGBUS, the process can still access an offered object");
		require(tsr_proc_mem_read(bo.map, &word, 4) < 0);
		require(tsr_proc_mem_write(bo.map, &word, 4) < 0);
		require_eq(tsr_reclaim(&dev, &bo), DRM_TESSERA_RECLAIM_KEPT);
		tsr_pattern_check(&bo, i);
		require_ok(__tsr_submit_use(&dev, ctx, &bo, false));
		require_ok(__tsr_vm_bind(dev.fd, vm, &map, 1, 0, 0));
		tsr_vm_unmap(&dev, vm, 0, KiB(4));
		tsr_lock(&dev, &bo, 0);
		require_err(offer(&dev, &bo, normal), -EBUSY);
		tsr_unlock(&dev, &bo);
		require_ok(__tsr_lock2(dev.fd, bo.handle, 0, NULL));
		require_err(offer(&dev, &bo, normal), -EBUSY);
		require_ok(__tsr_unlock2(dev.fd, bo.handle));
		/*
		 * An exported object cannot be offered: the importers would not
		 * know.
		 */
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
		close(prime.fd);
		require_err(offer(&dev, &bo, normal), -EINVAL);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/*
 * Offered objects are not made resident again, and do not keep other objects of
 * the list out.
 */
static void not_missed(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t visible = tsr_bit(tsr_seg_visible(&dev)), gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bos[3] = {
		tsr_bo_new(&dev, BYTES, visible, 0),
		tsr_bo_new(&dev, BYTES, gart, 0),
		tsr_bo_new(&dev, BYTES, visible, 0),
	};

	tsr_make_resident(&dev, bos, 3);
	/*
	 * The first object was evicted before. Offering the second removes it
	 * from its aperture.
	 */
	tsr_evict_set(visible);
	require_eq(tsr_bo_info(&dev, &bos[0]).segment, 0);
	require_ok(offer(&dev, &bos[0], normal));
	require_ok(offer(&dev, &bos[1], normal));
	require_eq(tsr_bo_info(&dev, &bos[1]).segment, 0);
	require_ok(__tsr_bring_back(&dev, NULL));
	require(tsr_bo_info(&dev, &bos[2]).segment);
	require_eq(tsr_bo_info(&dev, &bos[0]).segment, 0);
	require_eq(tsr_bo_info(&dev, &bos[1]).segment, 0);
	/* A reclaimed object is made resident again. */
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t result;

		require_ok(__tsr_reclaim(dev.fd, &bos[i].handle, &result, 1));
	}
	require_ok(__tsr_bring_back(&dev, NULL));
	for (uint32_t i = 0; i < 3; i++)
		require(tsr_bo_info(&dev, &bos[i]).segment);
	tsr_close(&dev);
}

/* ---- offered while it is made resident ----------------------------------- */

#define MANY (tap_slow() ? 100u : 400u)
#define AT 0x100000000ull
#define ROUNDS (tap_slow() ? 4u : 16u)

/* A child process that makes one call per round, when the test tells it to. */
struct caller {
	atomic_uint *round;
	/* time at which the round's call began, 0 before */
	atomic_ullong *begun;
	atomic_uint *done;
	int shared;
	struct tsr_device *dev;
	struct tsr_bo bo;
};

static struct caller caller_new(struct tsr_device *dev)
{
	return (struct caller){
		.round = tsr_shared(sizeof(atomic_uint)),
		.begun = tsr_shared(sizeof(atomic_ullong)),
		.done = tsr_shared(sizeof(atomic_uint)),
		.dev = dev,
	};
}

/* Start the round's call, and return when it has run for @ns nanoseconds. */
static void caller_go(struct caller *caller, uint32_t round, uint64_t ns)
{
	atomic_store(caller->begun, 0);
	atomic_store(caller->round, round);
	tsr_wait_for(atomic_load(caller->begun));
	while (tap_now_ns() < atomic_load(caller->begun) + ns)
		;
}

static void caller_wait(struct caller *caller, uint32_t round)
{
	tsr_wait_for(atomic_load(caller->done) >= round);
}

static void call_in_turn(struct caller *caller, struct tsr_device *dev, const struct tsr_bo *bo)
{
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		tsr_wait_for(atomic_load(caller->round) >= round);
		atomic_store(caller->begun, tap_now_ns());
		require_ok(__tsr_make_one(dev, bo));
		atomic_store(caller->done, round);
	}
}

/*
 * Another client with many objects to make resident. Its call keeps the shared
 * object locked meanwhile.
 */
static void holds_shared(void *data)
{
	struct caller *caller = data;
	struct tsr_device dev = tsr_open();
	struct tsr_bo bos[MANY], shared = { .size = KiB(4) };

	for (uint32_t i = 0; i < MANY; i++)
		bos[i] = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_gart(&dev)), 0);
	tsr_make_resident(&dev, bos, MANY);
	require_ok(__tsr_import(dev.fd, caller->shared, &shared.handle));
	atomic_store(caller->done, UINT32_MAX);
	call_in_turn(caller, &dev, &shared);
	tsr_close(&dev);
}

/*
 * A child that inherits the test's open file, so to the kernel it is the same
 * client.
 */
static void brings_back(void *data)
{
	struct caller *caller = data;

	call_in_turn(caller, caller->dev, &caller->bo);
}

/*
 * MAKE_RESIDENT has collected the evicted objects and waits for the lock of
 * another object. An object that is offered meanwhile must not be made
 * resident: it gets no placement, and its addresses stay unmapped.
 */
static void offered_meanwhile(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t visible = tsr_bit(tsr_seg_visible(&dev)), away = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(4), visible, 0);
	struct caller holder = caller_new(&dev), bringer = caller_new(&dev);
	pid_t pids[2];

	bringer.bo = tsr_bo_new(&dev, KiB(4), visible, 0);
	holder.shared = tsr_export(&dev, &bringer.bo);
	tsr_vm_map(&dev, vm.id, &bo, 0, AT, KiB(4), 0);
	tsr_make_resident(&dev, &bo, 1);
	pids[0] = tap_fork(holds_shared, &holder);
	pids[1] = tap_fork(brings_back, &bringer);
	caller_wait(&holder, UINT32_MAX);
	atomic_store(holder.done, 0);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		/*
		 * Vary the delay: the time until the calls take their locks is
		 * not known.
		 */
		uint64_t ns = round * 1000000ull;

		tsr_evict_set(visible | tsr_bit(tsr_seg_gart(&dev)));
		caller_go(&holder, round, ns);
		caller_go(&bringer, round, ns);
		require_ok(offer(&dev, &bo, normal));
		caller_wait(&holder, round);
		caller_wait(&bringer, round);
		away += !tsr_bo_info(&dev, &bo).segment;
		tsr_reclaim(&dev, &bo);
		require_ok(__tsr_bring_back(&dev, NULL));
		require(tsr_bo_info(&dev, &bo).segment);
	}
	tap_note("offered before its page-in: %u times of %u", away, ROUNDS);
	require(away);
	tap_join(pids[0]);
	tap_join(pids[1]);
	close(holder.shared);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Each call applies to the whole list or fails without effect. */
static void bad_input(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), results[3];
	struct tsr_bo a = tsr_bo_new(&dev, BYTES, gart, cpu),
		      b = tsr_bo_new(&dev, BYTES, gart, cpu);
	uint32_t missing[] = { a.handle, b.handle, 4711 },
		 twice[] = { a.handle, b.handle, a.handle };
	uint32_t both[] = { a.handle, b.handle };
	struct drm_tessera_offer_bo element = { .handle = a.handle };
	struct drm_tessera_offer args = {
		.bos = { sizeof(element), 1, (uintptr_t)&element },
		.priority = normal,
	};
	struct drm_tessera_reclaim back = { .bos = { sizeof(element), 1, 0 } };
	struct drm_tessera_reclaim_bo *sealed;

	require_err(__tsr_offer(dev.fd, missing, 3, normal), -ENOENT);
	require_err(__tsr_offer(dev.fd, twice, 3, normal), -EINVAL);
	require_err(__tsr_offer(dev.fd, both, 2, 0), -EINVAL);
	require_err(__tsr_offer(dev.fd, both, 2, 4), -EINVAL);
	tsr_bo_map(&dev, &b);
	tsr_lock(&dev, &b, 0);
	require_err(__tsr_offer(dev.fd, both, 2, normal), -EBUSY);
	tsr_unlock(&dev, &b);
	args.flags = DRM_TESSERA_OFFER_DECOMMIT << 1;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_OFFER, &args), -EINVAL);
	args.flags = 0;
	element.pad = 1;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_OFFER, &args), -EINVAL);
	element.pad = 0;
	args.bos.stride = 4;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_OFFER, &args), -EINVAL);
	args.bos.stride = sizeof(element);
	args.bos.count = dev.info.max_allocs + 1;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_OFFER, &args), -E2BIG);
	args.bos.count = 1;
	args.bos.array = 8;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_OFFER, &args), -EFAULT);
	require_ok(__tsr_offer(dev.fd, NULL, 0, normal));
	/* None of the failed calls has offered anything. */
	require_err(__tsr_reclaim(dev.fd, &a.handle, results, 1), -EINVAL);
	require_err(__tsr_reclaim(dev.fd, &b.handle, results, 1), -EINVAL);

	require_ok(__tsr_offer(dev.fd, &a.handle, 1, normal));
	require_err(__tsr_offer(dev.fd, both, 2, normal), -EINVAL);
	require_err(__tsr_reclaim(dev.fd, both, results, 2), -EINVAL);
	require_err(__tsr_reclaim(dev.fd, missing, results, 3), -ENOENT);
	require_ok(__tsr_offer(dev.fd, &b.handle, 1, normal));
	require_err(__tsr_reclaim(dev.fd, twice, results, 3), -EINVAL);
	require_err(__tsr_reclaim(dev.fd, missing, results, 3), -ENOENT);
	/* The result array must be writable. */
	sealed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(sealed != MAP_FAILED);
	sealed->handle = a.handle;
	require(!mprotect(sealed, 4096, PROT_READ));
	back.bos.array = (uintptr_t)sealed;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &back), -EFAULT);
	require_ok(__tsr_reclaim(dev.fd, both, results, 2));
	require_err(__tsr_reclaim(dev.fd, both, results, 2), -EINVAL);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-8 kept without pressure", kept_without_pressure, 0, 0 },
	{ "RES-8 PAGE-7 dropped for space, first and without a copy", dropped_for_space, 0, 0 },
	{ "RES-8 lost contents read as zero", lost_reads_as_zero, 0, 0 },
	{ "RES-8 in the order of priorities", by_priority, 0, 0 },
	{ "RES-8 SEG-7 a reclaimed object is evicted in its normal turn", reclaimed_is_one_of_many,
	  0, 0 },
	{ "RES-8 MODEL-16 contents are not dropped before their jobs end", behind_jobs, 0, 0 },
	{ "RES-8 dropped by the shrinker", dropped_for_the_kernel, 0, 0 },
	{ "RES-8 not dropped by the shrinker while a job uses it", kept_while_used, 0, 0 },
	{ "RES-8 swapped out, and kept", swapped_is_kept, 0, 0 },
	{ "RES-8 reclaimed, and swapped out", reclaimed_is_swapped, 0, 0 },
	{ "RES-8 LOCK-24 ERR-33 MODEL-16 refused while offered", refused_while_offered, 0, 0 },
	{ "RES-8 RES-1 offered objects are not made resident", not_missed, 0, 0 },
	{ "RES-8 RES-1 offered while MAKE_RESIDENT waits", offered_meanwhile, 0, 0 },
	{ "RES-8 bad input", bad_input, 0, 0 },
};

TSR_TEST_MAIN(tests)
