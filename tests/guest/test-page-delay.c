// SPDX-License-Identifier: MIT
/*
 * Memory pressure during paging: each paging job takes the device 100 ms
 * (test-page-delay.args). Meanwhile it must not lose the pages that it reads or
 * writes. Users of a moving object wait for the move.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "tsr.h"

#define ROUNDS 3

/* Run the shrinker and the swap-out, then write to freed memory. */
static void want_memory(void)
{
	void *p;

	require_ok(tsr_write_file("/proc/sys/vm/drop_caches", "2"));
	free(tsr_read_file("/sys/kernel/debug/ttm/tt_shrink"));
	p = mmap(NULL, MiB(8), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(p != MAP_FAILED);
	memset(p, 0xdd, MiB(8));
	munmap(p, MiB(8));
}

/*
 * Repeat until the job is done. Most of that time it waits for the paging of
 * its object.
 */
static void want_until_done(struct tsr_device *dev, uint32_t sync)
{
	uint32_t times = 0;

	do {
		want_memory();
		times++;
	} while (__tsr_syncobj_wait(dev->fd, sync, 0, 0) == -ETIME);
	tap_note("memory was reclaimed %u times", times);
	require_ok(tsr_syncobj_status(dev, sync));
}

/* Read in pieces that fit into the aperture. */
static void check_words(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo, uint32_t key)
{
	static uint32_t words[KiB(256) / 4];

	for (uint32_t at = 0; at < bo->size / 4; at += ARRAY_SIZE(words)) {
		tsr_gpu_read(dev, ctx, bo, at, ARRAY_SIZE(words), words);
		for (uint32_t i = 0; i < ARRAY_SIZE(words); i++)
			tsr_pattern_require(words[i], key, at + i);
	}
}

static void pressure(const struct drm_tessera_query_segment *(*get)(struct tsr_device *dev),
		     uint64_t size, uint32_t flags)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = get(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, size, tsr_bit(seg), flags);
	struct tsr_bo filler = tsr_bo_new(&dev, seg->commit_limit, tsr_bit(seg), 0);
	struct tsr_cmd in, out;

	tsr_cmd_init(&in);
	tsr_cmd_bind_buffer(&in, 0, &bo, false);
	tsr_cmd_init(&out);
	tsr_cmd_bind_buffer(&out, 0, &filler, true);
	tsr_bo_map(&dev, &bo);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		tsr_pattern_write(&bo, round);
		/* during the page-in */
		tsr_submit(&dev, ctx, &in, 0, sync);
		require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
		want_until_done(&dev, sync);
		check_words(&dev, ctx, &bo, round);
		/* during the eviction */
		tsr_submit(&dev, ctx, &out, 0, sync);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		want_until_done(&dev, sync);
		tsr_pattern_check(&bo, round);
	}
	tsr_cmd_fini(&in);
	tsr_cmd_fini(&out);
	tsr_close(&dev);
}

static void in_memory(void)
{
	pressure(tsr_seg_visible, KiB(512), DRM_TESSERA_BO_CPU_ACCESS);
}

/* Large enough that its page list is kept. */
static void in_memory_large(void)
{
	pressure(tsr_seg_visible, MiB(3), DRM_TESSERA_BO_CPU_ACCESS);
}

static void in_aperture(void)
{
	pressure(tsr_seg_gart, KiB(512), DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
}

/*
 * CPU and jobs that use an object while it moves inside its segment see it
 * after the move.
 */
static void inside_a_segment(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint64_t unit = seg->size / 8;
	const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo a = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo b = tsr_bo_new(&dev, 6 * unit, tsr_bit(seg), cpu);
	struct tsr_bo a2 = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo c = tsr_bo_new(&dev, 2 * unit, tsr_bit(seg), cpu);
	const uint64_t last = b.size / 4 - 1;
	volatile uint32_t *words = tsr_bo_map(&dev, &b);
	uint64_t before;
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &a);
	tsr_pattern_write(&b, 33);
	tsr_gpu_touch(&dev, ctx, &b);
	tsr_gpu_touch(&dev, ctx, &a2);
	before = tsr_bo_info(&dev, &b).segment_offset;
	tsr_cmd_init_pair(&cmd, &b, &c);
	tsr_cmd_fill(&cmd, 0, 1000, 1, 0x1000);
	tsr_cmd_fill(&cmd, 1, 0, 16, 44);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	tsr_pattern_require(words[last], 33, last);
	tsr_bo_wait(&dev, &b);
	require_eq(tsr_bo_info(&dev, &b).segment, seg->id);
	require(tsr_bo_info(&dev, &b).segment_offset != before);
	require_eq(words[1000], 0x1000);
	words[1000] = tsr_pattern(33, 1000);
	tsr_pattern_check(&b, 33);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-6 PAGE-7 SWZ-13 memory pressure while objects move", in_memory, 0, 60 },
	{ "PAGE-6 PAGE-7 memory pressure while large objects move", in_memory_large, 0, 60 },
	{ "PAGE-6 SWZ-16 memory pressure while pages are mapped", in_aperture, 0, 60 },
	{ "PAGE-13 SWZ-13 used while it moves inside its segment", inside_a_segment, 0, 60 },
};

TSR_TEST_MAIN(tests)
