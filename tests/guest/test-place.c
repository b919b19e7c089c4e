// SPDX-License-Identifier: MIT
/*
 * Placement of objects in segments, and eviction from them. Objects must go to
 * the documented segment, only those in the way may be evicted, and the others
 * stay.
 */
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

/*
 * An object is evicted to an aperture of its eviction set, by map and transfer,
 * or else to system pages.
 */
static void eviction_targets(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (int to_gart = 0; to_gart < 2; to_gart++) {
		struct drm_tessera_bo_create args = {
			.size = MiB(1),
			.supported = tsr_bit(vis) | tsr_bit(gart),
			.evict_to = to_gart ? tsr_bit(gart) : 0,
			.flags = cached,
			.num_preferred = 1,
			.preferred = { (uint8_t)vis->id },
		};
		struct tsr_bo bo = { .size = args.size }, filler;
		struct tsr_trace trace;

		require_ok(__tsr_bo_create(dev.fd, &args));
		bo.handle = args.handle;
		tsr_gpu_fill(&dev, ctx, &bo, 3);
		require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
		filler = tsr_bo_new(&dev, vis->size, tsr_bit(vis), 0);
		tsr_trace_start("paging_op", NULL);
		tsr_gpu_touch(&dev, ctx, &filler);
		trace = tsr_trace_stop();
		require_eq(tsr_bo_info(&dev, &bo).segment, to_gart ? gart->id : 0);
		require(tsr_trace_paged(&trace, "transfer", 0) >= MiB(1));
		require_eq(tsr_trace_paged(&trace, "map", 0), to_gart ? MiB(1) : 0);
		tsr_words_check(tsr_bo_map(&dev, &bo), MiB(1) / 4, 3);
		tsr_bo_free(&dev, &filler);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

#define PAIRS 4 /* together as large as visible memory */

/*
 * Create objects that prefer visible memory and are evicted to the general
 * aperture.
 */
static void make_pairs(struct tsr_device *dev, uint32_t ctx, struct tsr_bo bos[PAIRS],
		       uint32_t value)
{
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(dev);

	tsr_evict_set(tsr_bit(vis));
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct drm_tessera_bo_create args = {
			.size = vis->size / PAIRS,
			.supported = tsr_bit(vis) | tsr_bit(gart),
			.evict_to = tsr_bit(gart),
			.flags = cached,
			.num_preferred = 1,
			.preferred = { (uint8_t)vis->id },
		};

		require_ok(__tsr_bo_create(dev->fd, &args));
		bos[i] = (struct tsr_bo){ .handle = args.handle, .size = args.size };
		tsr_gpu_fill(dev, ctx, &bos[i], value + i);
		require_eq(tsr_bo_info(dev, &bos[i]).segment, vis->id);
	}
}

static void check_pairs(struct tsr_device *dev, struct tsr_bo bos[PAIRS], uint32_t segment,
			uint32_t value)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		require_eq(tsr_bo_info(dev, &bos[i]).segment, segment);
		tsr_words_check(tsr_bo_map(dev, &bos[i]), bos[i].size / 4, value + i);
		tsr_bo_free(dev, &bos[i]);
	}
}

/*
 * If the aperture of an eviction set is full, objects are evicted to system
 * memory. Objects that were evicted there leave it when it is needed.
 */
static void eviction_aperture_is_full(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), words[2];
	/* Leave space for reading the objects back. */
	struct tsr_bo all = tsr_bo_new(&dev, gart->commit_limit - MiB(1), tsr_bit(gart), 0);
	struct tsr_bo filler = tsr_bo_new(&dev, vis->size, tsr_bit(vis), 0);
	struct tsr_bo bos[PAIRS];
	struct tsr_cmd cmd;

	/* The aperture is full of another object. */
	make_pairs(&dev, ctx, bos, 0x10);
	tsr_gpu_fill(&dev, ctx, &all, 1);
	tsr_gpu_touch(&dev, ctx, &filler);
	require_eq(tsr_bo_info(&dev, &all).segment, gart->id);
	check_pairs(&dev, bos, 0, 0x10);

	/* The eviction fills the aperture, which is then needed completely. */
	make_pairs(&dev, ctx, bos, 0x20);
	tsr_evict_set(tsr_bit(gart));
	tsr_gpu_touch(&dev, ctx, &filler);
	for (uint32_t i = 0; i < PAIRS; i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, gart->id);
	tsr_gpu_fill(&dev, ctx, &all, 2);
	require_eq(tsr_bo_info(&dev, &all).segment, gart->id);
	check_pairs(&dev, bos, 0, 0x20);

	/* Both in one submission, in one part and in two. */
	for (uint32_t split = 0; split < 2; split++) {
		tsr_evict_set(tsr_bit(gart));
		make_pairs(&dev, ctx, bos, 0x30);
		tsr_knob("force_split", split ? "1" : "0");
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &filler, true);
		tsr_cmd_fill(&cmd, 0, 0, 16, 3 + split);
		tsr_cmd_bind_buffer(&cmd, 1, &all, true);
		tsr_cmd_fill(&cmd, 1, (uint32_t)(all.size / 4) - 16, 16, 5 + split);
		tsr_submit_done(&dev, ctx, &cmd);
		tsr_knob("force_split", "0");
		tsr_cmd_fini(&cmd);
		check_pairs(&dev, bos, 0, 0x30);
		tsr_gpu_read(&dev, ctx, &filler, 15, 2, words);
		require_eq(words[0], 3 + split);
		require_eq(words[1], 0);
	}
	tsr_gpu_read(&dev, ctx, &all, all.size / 4 - 17, 2, words);
	require_eq(words[0], 2);
	require_eq(words[1], 6);
	tsr_close(&dev);
}

/*
 * An object that was placed in the read-only aperture for reading leaves it
 * when a job writes the object.
 */
static void written_leaves_read_only_aperture(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *ro = tsr_seg_ro(&dev), *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo copy = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), cpu);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &copy);
	for (uint32_t split = 0; split < 2; split++) {
		struct drm_tessera_bo_create args = {
			.size = MiB(1),
			.supported = tsr_bit(ro) | tsr_bit(gart),
			.flags = cached,
			.num_preferred = 1,
			.preferred = { (uint8_t)ro->id },
		};
		struct tsr_bo bo = { .size = args.size };
		uint32_t *words;

		require_ok(__tsr_bo_create(dev.fd, &args));
		bo.handle = args.handle;
		words = tsr_bo_map(&dev, &bo);
		tsr_pattern_write(&bo, 70 + split);
		tsr_gpu_copy(&dev, ctx, &copy, &bo);
		tsr_pattern_check(&copy, 70 + split);
		require_eq(tsr_bo_info(&dev, &bo).segment, ro->id);

		/*
		 * The first part still reads the object, the second writes it.
		 */
		tsr_knob("force_split", split ? "1" : "0");
		tsr_cmd_init(&cmd);
		tsr_cmd_group_begin(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
		tsr_cmd_bind_buffer(&cmd, 1, &copy, true);
		tsr_cmd_group_end(&cmd);
		tsr_cmd_copy(&cmd, 1, 0, 0, 1000, 16);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, 16, 0xf111);
		tsr_submit_done(&dev, ctx, &cmd);
		tsr_knob("force_split", "0");
		tsr_cmd_fini(&cmd);
		require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
		tsr_words_check(words, 16, 0xf111);
		for (uint32_t i = 0; i < 16; i++) {
			tsr_pattern_require(((uint32_t *)copy.map)[i], 70 + split, 1000 + i);
			words[i] = tsr_pattern(70 + split, i);
		}
		tsr_pattern_check(&bo, 70 + split);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/*
 * Preferred segments are tried in order. Segments outside the set are never
 * used.
 */
static void placement_follows_preferences(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_bo_create args = {
		.size = MiB(1),
		.supported = tsr_bit(vis) | tsr_bit(hid),
		.num_preferred = 2,
		.preferred = { (uint8_t)hid->id, (uint8_t)vis->id },
	};
	struct tsr_bo bo = { .size = args.size }, full;
	struct tsr_cmd cmd;
	char *allocations;

	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, hid->id);
	allocations = tsr_debugfs_read("allocations");
	require_msg(strstr(allocations, " set 0x"), "no supported set in debugfs allocations");
	free(allocations);
	tsr_bo_free(&dev, &bo);

	/*
	 * The same job fills the first preferred segment, so the second is
	 * used.
	 */
	memset(&args.handle, 0, sizeof(args.handle));
	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	full = tsr_bo_new(&dev, hid->size, tsr_bit(hid), 0);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &full, true);
	tsr_cmd_bind_buffer(&cmd, 1, &bo, true);
	tsr_cmd_group_end(&cmd);
	tsr_submit_done(&dev, ctx, &cmd);
	require_eq(tsr_bo_info(&dev, &full).segment, hid->id);
	require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
	tsr_close(&dev);
}

/*
 * The same for MAKE_RESIDENT, which is never split: the first preferred segment
 * is full of objects of the same list, which must stay.
 */
static void last_preference(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	struct drm_tessera_bo_create args = {
		.size = MiB(1),
		.supported = tsr_bit(vis) | tsr_bit(hid),
		.num_preferred = 2,
		.preferred = { (uint8_t)hid->id, (uint8_t)vis->id },
	};
	struct tsr_bo bos[2] = { tsr_bo_new(&dev, hid->size, tsr_bit(hid), 0) };

	require_ok(__tsr_bo_create(dev.fd, &args));
	bos[1] = (struct tsr_bo){ .handle = args.handle, .size = args.size };
	tsr_make_resident(&dev, bos, 2);
	require_eq(tsr_bo_info(&dev, &bos[0]).segment, hid->id);
	require_eq(tsr_bo_info(&dev, &bos[1]).segment, vis->id);
	tsr_close(&dev);
}

/*
 * One segment is overfull, and all others have free space: no object leaves its
 * set.
 */
static void placement_stays_in_the_set(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const uint32_t sets[] = { tsr_bit(vis), tsr_bit(hid), tsr_bit(vis) | tsr_bit(hid) };
	uint32_t ctx = tsr_context_new(&dev, 0), allowed = 0, first = 0;
	char *allocations, line[32];
	struct tsr_trace trace;
	struct tsr_bo bos[12];

	for (uint32_t n = 0; n < ARRAY_SIZE(sets); n++) {
		uint64_t size = (n == 1 ? hid : vis)->size / 8;

		allowed = sets[n];
		tsr_trace_start("bo_create", "place", NULL);
		for (uint32_t i = 0; i < 12; i++) {
			bos[i] = tsr_bo_new(&dev, size, allowed, 0);
			tsr_gpu_fill(&dev, ctx, &bos[i], i);
			require_eq(tsr_bo_info(&dev, &bos[i]).supported, allowed);
			require(allowed & 1u << tsr_bo_info(&dev, &bos[i]).segment);
		}
		trace = tsr_trace_stop();
		first = (uint32_t)tsr_event_u64(tsr_trace_next(&trace, "bo_create", NULL), "bo");
		tsr_trace_for_each(&trace, "place", ev)
			require(tsr_event_u64(ev, "bo") < first ||
				allowed & 1u << tsr_event_u64(ev, "segment"));
		allocations = tsr_debugfs_read("allocations");
		snprintf(line, sizeof(line), " set 0x%x ", allowed);
		require_msg(strstr(allocations, line), "no%s in debugfs allocations", line);
		free(allocations);
		for (uint32_t i = 0; i < 12; i++)
			tsr_bo_free(&dev, &bos[i]);
		tsr_trace_free(&trace);
	}
	tsr_close(&dev);
}

/* An overfull segment causes no eviction from another segment. */
static void segments_are_independent(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), evictions = 0;
	struct tsr_bo other[8], bos[24];
	struct tsr_trace trace;

	for (uint32_t i = 0; i < 8; i++) {
		other[i] = tsr_bo_new(&dev, hid->size / 8, tsr_bit(hid), 0);
		tsr_gpu_fill(&dev, ctx, &other[i], i);
	}
	tsr_trace_start("evict", NULL);
	for (uint32_t i = 0; i < 24; i++) {
		bos[i] = tsr_bo_new(&dev, vis->size / 8, tsr_bit(vis), 0);
		tsr_gpu_fill(&dev, ctx, &bos[i], i);
	}
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "evict", ev) {
		require_eq(tsr_event_u64(ev, "segment"), vis->id);
		evictions++;
	}
	require(evictions >= 16);
	for (uint32_t i = 0; i < 8; i++)
		require_eq(tsr_bo_info(&dev, &other[i]).segment, hid->id);
	tsr_close(&dev);
}

/* The commit limit of an aperture is never exceeded. */
static void commit_limit_holds(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo listed = { 0 };
	uint64_t peak = 0;

	require(gart->commit_limit < gart->size);
	for (int i = 0; i < 24; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, gart->commit_limit / 16, tsr_bit(gart), cached);
		uint64_t used;

		tsr_gpu_fill(&dev, ctx, &bo, (uint32_t)i);
		used = tsr_query_memory(&dev, gart->id).used;
		require(used <= gart->commit_limit);
		/* Once it is full, each new object evicts one. */
		require(i < 15 || used == gart->commit_limit);
		listed = bo;
		peak = used > peak ? used : peak;
	}
	require_eq(peak, gart->commit_limit);
	/* The limit also holds for MAKE_RESIDENT, which is never split. */
	tsr_bo_free(&dev, &listed);
	listed = tsr_bo_new(&dev, gart->commit_limit / 8, tsr_bit(gart), cached);
	require_ok(__tsr_make_one(&dev, &listed));
	require_eq(tsr_bo_info(&dev, &listed).segment, gart->id);
	require(tsr_query_memory(&dev, gart->id).used <= gart->commit_limit);
	require_err(
		__tsr_bo_create(dev.fd,
				&(struct drm_tessera_bo_create){ .size = gart->commit_limit + 4096,
								 .supported = tsr_bit(gart) }),
		-E2BIG);
	tsr_close(&dev);
}

/* Of equal objects, the least recently used one is evicted. */
static void least_recently_used_goes(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[6];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, vis->size / 4, tsr_bit(vis), 0);
	for (uint32_t i = 0; i < 4; i++)
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	tsr_gpu_touch(&dev, ctx, &bos[2]);
	tsr_gpu_touch(&dev, ctx, &bos[0]);
	tsr_gpu_touch(&dev, ctx, &bos[4]);
	require_eq(tsr_bo_info(&dev, &bos[1]).segment, 0);
	tsr_gpu_touch(&dev, ctx, &bos[5]);
	require_eq(tsr_bo_info(&dev, &bos[3]).segment, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, i % 2 && i < 4 ? 0 : vis->id);
	tsr_close(&dev);
}

/*
 * A split submission that needs space evicts objects that its client only uses,
 * and not older ones that were made resident.
 */
static void listed_stays_in_parts(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	struct tsr_bo bos[5];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, vis->size / 4, tsr_bit(vis), 0);
	tsr_make_resident(&dev, bos, 2);
	for (uint32_t i = 2; i < ARRAY_SIZE(bos); i++)
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, i == 2 ? 0 : vis->id);
	tsr_close(&dev);
}

#define CROWD 300 /* more than the searches for victims of one call */

/* the test's device and objects, for its children */
static struct tsr_device *inherited;
static struct tsr_bo crowd[CROWD], held;

/* Lock the first objects of the crowd and wait for the reservation of @held. */
static void use_crowd(struct tsr_client *client)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < (uint32_t)client->arg; i++)
		tsr_cmd_alloc(&cmd, crowd[i].handle, false);
	tsr_cmd_alloc(&cmd, held.handle, false);
	tsr_cmd_nop(&cmd, 64);
	require_ok(tsr_client_submit(client, inherited, tsr_context_new(inherited, 0), &cmd, 0, 0));
	tsr_cmd_fini(&cmd);
}

static void make_resident(void *arg)
{
	require_ok(__tsr_make_resident(inherited->fd, arg, 1, 0, NULL));
}

/*
 * Make @other resident while another thread has the reservations of the first
 * @num objects of the crowd, and waits for that of @held. Return true if the
 * call waited for them.
 */
static bool waits_for_crowd(struct tsr_device *dev, uint32_t ctx, uint32_t num,
			    struct tsr_bo *other)
{
	struct tsr_bo_locked holder;
	struct tsr_client user;
	struct tsr_stuck stuck;
	struct tsr_call make;
	bool waited;

	inherited = dev;
	held = tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_gart(dev)), 0);
	tsr_gpu_touch(dev, ctx, &held);
	stuck = tsr_stuck_start(dev, ctx);
	require_ok(__tsr_submit_use(dev, ctx, &held, true));
	tsr_bo_lock_begin(&holder, dev, &held);
	tsr_trace_start_waits();
	tsr_client_start(&user, use_crowd, num);
	tsr_wait_for(tsr_trace_waits_for_lock(user.pid));
	tsr_call_start(&make, make_resident, &other->handle);
	tsr_wait_for(make.returned || tsr_call_waits(&make, "victim"));
	waited = !make.returned;
	tsr_stuck_end(&stuck);
	tsr_call_join(&make);
	tsr_bo_lock_end(&holder);
	tsr_client_join(&user);
	return waited;
}

/*
 * An object with its reservation held by a waiting thread is skipped, and the
 * next one is evicted instead.
 */
static void locked_is_passed_over(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo next = tsr_bo_new(&dev, vis->size / 2, tsr_bit(vis), 0);
	struct tsr_bo other = tsr_bo_new(&dev, vis->size / 2, tsr_bit(vis), 0);

	crowd[0] = tsr_bo_new(&dev, vis->size / 2, tsr_bit(vis), 0);
	tsr_gpu_touch(&dev, ctx, &crowd[0]);
	tsr_gpu_touch(&dev, ctx, &next);
	require_msg(!waits_for_crowd(&dev, ctx, 1, &other),
		    "expected space without waiting for the locked object, the eviction "
		    "waited for its lock");
	require_eq(tsr_bo_info(&dev, &crowd[0]).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &other).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &next).segment, 0);
	tsr_close(&dev);
}

/* A thread may hold the reservations of any number of objects. */
static void locked_crowd_is_passed_over(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo next = tsr_bo_new(&dev, vis->size - CROWD * KiB(4), tsr_bit(vis), 0);
	struct tsr_bo other = tsr_bo_new(&dev, KiB(4), tsr_bit(vis), 0);

	for (uint32_t i = 0; i < CROWD; i++)
		crowd[i] = tsr_bo_new(&dev, KiB(4), tsr_bit(vis), 0);
	tsr_make_resident(&dev, crowd, CROWD);
	tsr_evict(&dev, crowd, CROWD);
	tsr_gpu_touch(&dev, ctx, &next);
	require_msg(!waits_for_crowd(&dev, ctx, CROWD, &other),
		    "expected space behind the locked objects, the eviction waited for "
		    "their lock");
	require_eq(tsr_bo_info(&dev, &crowd[CROWD - 1]).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &other).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &next).segment, 0);
	tsr_close(&dev);
}

/* Older objects that are not in the way of the new placement stay resident. */
static void objects_not_in_the_way_stay(void)
{
	enum {
		HOLE,
		YOUNGER,
		HOLE_TOO,
		OLDEST,
		LAST_HOLE,
		YOUNGEST,
		NUM
	};
	static const uint32_t eighths[NUM] = { 2, 1, 2, 1, 1, 1 };
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[NUM], other;

	for (uint32_t i = 0; i < NUM; i++) {
		bos[i] = tsr_bo_new(&dev, vis->size / 8 * eighths[i], tsr_bit(vis), 0);
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	tsr_gpu_touch(&dev, ctx, &bos[OLDEST]);
	tsr_gpu_touch(&dev, ctx, &bos[YOUNGER]);
	tsr_gpu_touch(&dev, ctx, &bos[YOUNGEST]);
	for (uint32_t i = 0; i < NUM; i++)
		if (i == HOLE || i == HOLE_TOO || i == LAST_HOLE)
			tsr_bo_free(&dev, &bos[i]);
	/*
	 * There is enough space in total. A contiguous extent requires evicting
	 * one older object; the lower one is chosen.
	 */
	other = tsr_bo_new(&dev, vis->size / 16 * 9, tsr_bit(vis), 0);
	tsr_gpu_touch(&dev, ctx, &other);
	require_eq(tsr_bo_info(&dev, &other).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &bos[YOUNGER]).segment, 0);
	require_eq(tsr_bo_info(&dev, &bos[OLDEST]).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &bos[YOUNGEST]).segment, vis->id);
	tsr_close(&dev);
}

/*
 * In a full segment, only the objects in the new placement are evicted,
 * although the oldest objects are not adjacent.
 */
static void only_the_placement_is_evicted(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), gone = 0;
	struct tsr_bo bos[16], other = tsr_bo_new(&dev, vis->size / 8, tsr_bit(vis), 0);

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, vis->size / ARRAY_SIZE(bos), tsr_bit(vis), 0);
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_gpu_touch(&dev, ctx, &bos[i * 2 % ARRAY_SIZE(bos) + i / 8]);
	tsr_gpu_touch(&dev, ctx, &other);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		gone += !tsr_bo_info(&dev, &bos[i]).segment;
	require_eq(gone, 2);
	tsr_close(&dev);
}

/* Each object is placed in a segment that it supports, completely inside it. */
static void everything_lives_in_a_segment(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < dev.num_segs; i++) {
		const struct drm_tessera_query_segment *seg = &dev.segs[i];
		bool ro = seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY;

		for (uint32_t n = 1; n <= 4; n++) {
			struct tsr_bo bo = tsr_bo_new(&dev, 4096 * n, tsr_bit(seg),
						      ro ? DRM_TESSERA_BO_GPU_READ_ONLY : 0);
			struct drm_tessera_bo_info info;

			tsr_gpu_touch(&dev, ctx, &bo);
			info = tsr_bo_info(&dev, &bo);
			require_eq(info.segment, seg->id);
			require(info.segment_offset + info.size <= seg->size);
			require_eq(info.segment_offset % seg->page_size, 0);
		}
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-29 eviction to an aperture or to pages", eviction_targets, 0, 0 },
	{ "SEG-29 an aperture of an eviction set is full, or needed for jobs",
	  eviction_aperture_is_full, 0, 0 },
	{ "SEG-20 SPLIT-31 a written object leaves the read-only aperture",
	  written_leaves_read_only_aperture, 0, 0 },
	{ "SEG-10 SEG-11 placement follows the preferences", placement_follows_preferences, 0, 0 },
	{ "SEG-11 MAKE_RESIDENT uses the last preference", last_preference, 0, 0 },
	{ "SEG-10 placement stays in the supported set", placement_stays_in_the_set, 0, 0 },
	{ "SEG-7 a full segment takes nothing from another", segments_are_independent, 0, 0 },
	{ "SEG-30 the commit limit of an aperture holds", commit_limit_holds, 0, 0 },
	{ "SEG-7 the least recently used object is evicted", least_recently_used_goes, 0, 0 },
	{ "RES-2 resident objects stay when parts need space", listed_stays_in_parts, 0, 0 },
	{ "SEG-7 an object locked by another thread is skipped", locked_is_passed_over, 0, 0 },
	{ "SEG-7 any number of objects locked by another thread is skipped",
	  locked_crowd_is_passed_over, 0, 0 },
	{ "SEG-7 objects outside of the new placement stay", objects_not_in_the_way_stay, 0, 0 },
	{ "SEG-7 only objects in the new placement are evicted", only_the_placement_is_evicted, 0,
	  0 },
	{ "SEG-2 SEG-13 every object lives in a segment", everything_lives_in_a_segment, 0, 0 },
};

TSR_TEST_MAIN(tests)
