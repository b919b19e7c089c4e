// SPDX-License-Identifier: MIT
/*
 * SEG-34: a device with the largest number of segments, in any order: see
 * test-segments.args. Each segment must hold, lose and count objects by itself.
 */
#include "host.h"
#include "tsr.h"

static bool is_read_only(const struct drm_tessera_query_segment *seg)
{
	return seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY;
}

/*
 * An object that only supports this segment, is resident there, and has its own
 * contents.
 */
static struct tsr_bo object_in(struct tsr_device *dev, uint32_t ctx, uint32_t index)
{
	const struct drm_tessera_query_segment *seg = &dev->segs[index];
	struct tsr_bo bo;

	if (is_read_only(seg)) {
		bo = tsr_bo_new(dev, KiB(64), tsr_bit(seg),
				DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_GPU_READ_ONLY);
		tsr_bo_map(dev, &bo);
		tsr_pattern_write(&bo, index);
		tsr_gpu_touch(dev, ctx, &bo);
	} else {
		bo = tsr_bo_new(dev, KiB(64), tsr_bit(seg), 0);
		tsr_gpu_fill(dev, ctx, &bo, tsr_pattern(index, 1));
	}
	require_eq(tsr_bo_info(dev, &bo).segment, seg->id);
	return bo;
}

static void check_object(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
			 uint32_t index)
{
	uint32_t word = 0;

	tsr_gpu_read(dev, ctx, bo, 1, 1, &word);
	require_eq(word, tsr_pattern(index, 1));
	require_eq(tsr_bo_info(dev, bo).segment, dev->segs[index].id);
}

static void open_all(struct tsr_device *dev, uint32_t ctx, struct tsr_bo *bos)
{
	require_eq(dev->num_segs, TSR_MAX_SEGMENTS);
	for (uint32_t i = 0; i < dev->num_segs; i++)
		bos[i] = object_in(dev, ctx, i);
}

static void one_in_each(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[TSR_MAX_SEGMENTS];

	open_all(&dev, ctx, bos);
	for (uint32_t i = 0; i < dev.num_segs; i++)
		require_eq(tsr_query_memory(&dev, dev.segs[i].id).client_used, KiB(64));
	for (uint32_t i = 0; i < dev.num_segs; i++)
		check_object(&dev, ctx, &bos[i], i);
	tsr_close(&dev);
}

/* Segments share TTM's memory types, but each one is emptied alone. */
static void emptied_one_by_one(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[TSR_MAX_SEGMENTS];

	open_all(&dev, ctx, bos);
	for (uint32_t i = 0; i < dev.num_segs; i++) {
		tsr_evict_set(tsr_bit(&dev.segs[i]));
		for (uint32_t k = 0; k < dev.num_segs; k++)
			require_eq(tsr_bo_info(&dev, &bos[k]).segment, k <= i ? 0 : dev.segs[k].id);
	}
	for (uint32_t i = 0; i < dev.num_segs; i++)
		check_object(&dev, ctx, &bos[i], i);
	tsr_close(&dev);
}

/* Not read-only, and not the segment of the check's staging object. */
static bool can_be_full(struct tsr_device *dev, uint32_t index)
{
	return !is_read_only(&dev->segs[index]) &&
	       tsr_bit(&dev->segs[index]) != tsr_segs_staging(dev);
}

/* Two segments of a kind can both be filled completely. */
static void full_segments(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bos[TSR_MAX_SEGMENTS];

	for (uint32_t i = 0; i < dev.num_segs; i++) {
		if (!can_be_full(&dev, i))
			continue;
		bos[i] = tsr_bo_new(&dev, dev.segs[i].commit_limit, tsr_bit(&dev.segs[i]), 0);
		tsr_gpu_fill(&dev, ctx, &bos[i], i);
	}
	for (uint32_t i = 0; i < dev.num_segs; i++) {
		if (!can_be_full(&dev, i))
			continue;
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, dev.segs[i].id);
		require_eq(tsr_bo_info(&dev, &bos[i]).segment_offset, 0);
		tsr_gpu_read(&dev, ctx, &bos[i], bos[i].size / 4 - 1, 1, &word);
		require_eq(word, i);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-34 an object in each of 31 segments", one_in_each, 0, 0 },
	{ "SEG-34 segments are emptied one by one", emptied_one_by_one, 0, 0 },
	{ "SEG-34 segments that are full to the last byte", full_segments, 0, 0 },
};

TSR_TEST_MAIN(tests)
