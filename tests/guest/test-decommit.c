// SPDX-License-Identifier: MIT
/*
 * OFFER with DECOMMIT must give up the memory without pressure, but only behind
 * the jobs, and no worker may wait for these.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "memory.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t low = DRM_TESSERA_OFFER_LOW;

#define MAX_OBJECTS 64

static int offer(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return __tsr_offer(dev->fd, &bo->handle, 1, low);
}

/* Return DRM_TESSERA_RECLAIM_*. */
static uint32_t reclaim(struct tsr_device *dev, const struct tsr_bo *bo)
{
	uint32_t result = 77;

	require_ok(__tsr_reclaim(dev->fd, &bo->handle, &result, 1));
	return result;
}

/* ---- decommit ------------------------------------------------------------ */

/* Sizes that no other object has, so that debugfs shows which object it is. */
static uint64_t odd_size(uint32_t which)
{
	return KiB(64) + KiB(4) * (which + 1);
}

static struct tsr_bo odd_bo(struct tsr_device *dev, uint32_t which, uint32_t set)
{
	struct tsr_bo bo = tsr_bo_new(dev, odd_size(which), set, cpu);

	tsr_bo_map(dev, &bo);
	tsr_pattern_write(&bo, which);
	return bo;
}

static bool has_pages(const struct tsr_bo *bo)
{
	char *list = tsr_debugfs_read("allocations"), *line, *page, key[32];
	bool has;

	snprintf(key, sizeof(key), " size %llu ", (unsigned long long)bo->size);
	line = strstr(list, key);
	require_msg(line, "no object of %llu bytes", (unsigned long long)bo->size);
	page = strstr(line, " page 0x");
	require(page);
	has = strtoull(page + strlen(" page "), NULL, 16);
	free(list);
	return has;
}

static void decommit(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t num)
{
	uint32_t handles[MAX_OBJECTS];

	for (uint32_t i = 0; i < num; i++)
		handles[i] = bos[i].handle;
	require_ok(__tsr_decommit(dev->fd, handles, num));
	for (uint32_t i = 0; i < num; i++)
		require_eq(tsr_bo_info(dev, &bos[i]).segment, 0);
}

/* The object is usable, and reads as zero for CPU and GPU. */
static void check_new(struct tsr_device *dev, uint32_t ctx, struct tsr_bo *bo, uint32_t set)
{
	uint32_t words[16];

	tsr_words_check(bo->map, bo->size / 4, 0);
	tsr_gpu_read(dev, ctx, bo, 0, ARRAY_SIZE(words), words);
	tsr_words_check(words, ARRAY_SIZE(words), 0);
	tsr_pattern_write(bo, 99);
	tsr_gpu_touch(dev, ctx, bo);
	tsr_evict_set(set);
	tsr_pattern_check(bo, 99);
}

/*
 * Idle objects give up their memory without anybody who needs it: in video
 * memory with stale pages and with a valid copy, in an aperture, in no segment,
 * and swapped out. An object that was never used has nothing to give.
 */
static void decommit_idle(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), sets[] = { vis, vis, gart, gart, gart };
	struct tsr_bo bos[6];

	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		bos[i] = odd_bo(&dev, i, sets[i]);
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	tsr_evict_set(vis | gart);
	tsr_bo_wait(&dev, &bos[4]);
	require(tsr_swap_out_objects() > 0);
	for (uint32_t i = 0; i < 3; i++)
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	tsr_gpu_fill(&dev, ctx, &bos[0], 0x5555);
	tsr_pattern_check(&bos[3], 3);
	for (uint32_t i = 0; i < 4; i++)
		tsr_bo_wait(&dev, &bos[i]);
	bos[5] = tsr_bo_new(&dev, odd_size(5), vis, cpu);
	for (uint32_t i = 0; i < 4; i++)
		require(has_pages(&bos[i]));
	require(!has_pages(&bos[4]));
	decommit(&dev, bos, 6);
	for (uint32_t i = 0; i < 6; i++)
		tsr_wait_for(!has_pages(&bos[i]));
	for (uint32_t i = 0; i < 5; i++)
		require_eq(reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	require_eq(reclaim(&dev, &bos[5]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_bo_map(&dev, &bos[5]);
	for (uint32_t i = 0; i < 6; i++)
		check_new(&dev, ctx, &bos[i], vis | gart);
	tsr_close(&dev);
}

/* More than TTM has workers. */
#define CROWD 40

/*
 * Objects that a held job uses keep their pages until it ends. No worker waits
 * for that: another client's object, which a worker destroys, goes at once. Some
 * of the objects are closed meanwhile, and end with the job.
 */
static void decommit_behind_job(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[CROWD], theirs = tsr_bo_new(&other, KiB(64), gart, 0);

	tsr_gpu_touch(&other, tsr_context_new(&other, 0), &theirs);
	tsr_bo_wait(&other, &theirs);
	for (uint32_t i = 0; i < CROWD; i++) {
		bos[i] = odd_bo(&dev, i, gart);
		tsr_held_fill(&held, &bos[i], 16, 0x77);
	}
	decommit(&dev, bos, CROWD);
	for (uint32_t i = 0; i < CROWD; i++)
		require(has_pages(&bos[i]));
	tsr_trace_start("destroy", NULL);
	/* It leaves its aperture behind a paging job, so a worker destroys it. */
	tsr_bo_free(&other, &theirs);
	tsr_wait_for(tsr_trace_so_far("destroy", 0) == 1);
	for (uint32_t i = CROWD / 2; i < CROWD; i++)
		tsr_bo_free(&dev, &bos[i]);
	require_eq(tsr_trace_so_far("destroy", 0), 1);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	tsr_wait_for(tsr_trace_so_far("destroy", 0) == 1 + CROWD / 2);
	for (uint32_t i = 0; i < CROWD / 2; i++)
		tsr_wait_for(!has_pages(&bos[i]));
	for (uint32_t i = 0; i < CROWD / 2; i++)
		require_eq(reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	check_new(&dev, ctx, &bos[0], gart);
	tsr_held_close(&held);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * An object in video memory loses its contents in the call, and leaves its place
 * to others behind the jobs. It can be reclaimed at once, without a worker that
 * waits for these jobs.
 */
static void decommit_busy_memory(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[CROWD], theirs = tsr_bo_new(&other, KiB(64), gart, 0);

	tsr_gpu_touch(&other, tsr_context_new(&other, 0), &theirs);
	tsr_bo_wait(&other, &theirs);
	for (uint32_t i = 0; i < CROWD; i++) {
		bos[i] = odd_bo(&dev, i, vis);
		/* The page-in is over, so that no job needs the pages. */
		tsr_gpu_fill(&dev, ctx, &bos[i], 0x55);
		tsr_held_fill(&held, &bos[i], 16, 0x77);
	}
	decommit(&dev, bos, CROWD);
	for (uint32_t i = 0; i < CROWD; i++) {
		require(!has_pages(&bos[i]));
		require_eq(reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	}
	tsr_trace_start("destroy", NULL);
	tsr_bo_free(&other, &theirs);
	tsr_wait_for(tsr_trace_so_far("destroy", 0) == 1);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	for (uint32_t i = 0; i < CROWD; i++)
		tsr_words_check(bos[i].map, bos[i].size / 4, 0);
	check_new(&dev, ctx, &bos[0], vis);
	tsr_held_close(&held);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * Objects that are reclaimed before their jobs end keep their contents, even if
 * they are used and offered again before the first callback.
 */
static void decommit_undone(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bos[4];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = odd_bo(&dev, i, gart);
		tsr_held_fill(&held, &bos[i], (uint32_t)(bos[i].size / 4), 0x77);
	}
	decommit(&dev, bos, ARRAY_SIZE(bos));
	for (uint32_t i = 0; i < 3; i++)
		require_eq(reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_held_fill(&held, &bos[1], 16, 0x88);
	require_ok(offer(&dev, &bos[1]));
	tsr_held_fill(&held, &bos[2], 16, 0x88);
	decommit(&dev, &bos[2], 1);
	tsr_held_go(&held);
	tsr_wait_for(!has_pages(&bos[3]));
	tsr_wait_for(!has_pages(&bos[2]));
	tsr_words_check(bos[0].map, bos[0].size / 4, 0x77);
	require_eq(reclaim(&dev, &bos[1]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_words_check(bos[1].map, 16, 0x88);
	require_eq(reclaim(&dev, &bos[2]), DRM_TESSERA_RECLAIM_DISCARDED);
	require_eq(reclaim(&dev, &bos[3]), DRM_TESSERA_RECLAIM_DISCARDED);
	tsr_held_close(&held);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-12 decommit of idle objects", decommit_idle, 0, 0 },
	{ "RES-12 decommit behind a job, and no worker waits", decommit_behind_job, 0, 0 },
	{ "RES-12 decommit of video memory in use", decommit_busy_memory, 0, 0 },
	{ "RES-12 decommit undone by a reclaim", decommit_undone, 0, 0 },
};

TSR_TEST_MAIN(tests)
