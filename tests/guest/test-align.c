// SPDX-License-Identifier: MIT
/*
 * Alignments of objects (SEG-35). The offset of an object in its segment must
 * be a multiple of its alignment, however the object got there: into a hole,
 * into the place of evicted objects, by a plan, by compaction, on eviction to an
 * aperture, and after suspend. Each test leaves holes at other offsets, where
 * the object would go without its alignment.
 */
#include <stdlib.h>

#include "host.h"
#include "resident.h"
#include "stall.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

static struct tsr_bo new_aligned(struct tsr_device *dev, uint64_t size, uint64_t alignment,
				 uint32_t supported, uint32_t flags)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = supported,
		.flags = flags,
		.alignment = alignment,
	};
	struct tsr_bo bo = { .size = size };

	require_ok(__tsr_bo_create(dev->fd, &args));
	bo.handle = args.handle;
	require_eq(tsr_bo_info(dev, &bo).alignment, alignment);
	return bo;
}

/* The object is in this segment, at a multiple of its alignment. */
static uint64_t aligned_in(struct tsr_device *dev, const struct tsr_bo *bo,
			   const struct drm_tessera_query_segment *seg)
{
	struct drm_tessera_bo_info info = tsr_bo_info(dev, bo);

	require_eq(info.segment, seg->id);
	require_msg(info.segment_offset % info.alignment == 0,
		    "offset 0x%llx is no multiple of the alignment 0x%llx",
		    (unsigned long long)info.segment_offset, (unsigned long long)info.alignment);
	return info.segment_offset;
}

/* A page at the beginning of the segment, so that no hole begins at 0. */
static struct tsr_bo occupy_start(struct tsr_device *dev, uint32_t ctx,
				  const struct drm_tessera_query_segment *seg)
{
	struct tsr_bo bo = tsr_bo_new(dev, seg->page_size, tsr_bit(seg), 0);

	tsr_evict_set(tsr_bit(seg));
	tsr_gpu_touch(dev, ctx, &bo);
	require_eq(tsr_bo_info(dev, &bo).segment, seg->id);
	require_eq(tsr_bo_info(dev, &bo).segment_offset, 0);
	return bo;
}

/* Every kind of segment, every alignment up to half of it, fits and planned. */
static void into_holes(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < 2 * dev.num_segs; i++) {
		const struct drm_tessera_query_segment *seg = &dev.segs[i / 2];

		if (seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY)
			continue;
		tsr_knob("force_split", i % 2 ? "1" : "0");
		for (uint64_t align = 2 * seg->page_size; align <= seg->commit_limit / 2;
		     align *= 4) {
			struct tsr_bo start = occupy_start(&dev, ctx, seg);
			struct tsr_bo bo = new_aligned(&dev, KiB(64), align, tsr_bit(seg), 0);

			tsr_gpu_fill(&dev, ctx, &bo, 0x35);
			require_eq(aligned_in(&dev, &bo, seg), align);
			tsr_bo_free(&dev, &bo);
			tsr_bo_free(&dev, &start);
		}
	}
	tsr_close(&dev);
}

#define PIECES 16 /* fill visible memory */

/*
 * The segment is full of idle objects, shifted by a page against all
 * alignments. Those at the place of the aligned object give way.
 */
static void in_place_of_victims(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), words[2];
	uint64_t size = seg->size / PIECES - seg->page_size;

	for (uint32_t planned = 0; planned < 2; planned++) {
		struct tsr_bo start = occupy_start(&dev, ctx, seg), bos[PIECES], bo;

		tsr_knob("force_split", "0");
		for (uint32_t i = 0; i < PIECES; i++) {
			bos[i] = tsr_bo_new(&dev, size, tsr_bit(seg), 0);
			tsr_gpu_fill(&dev, ctx, &bos[i], i + 1);
			require_eq(tsr_bo_info(&dev, &bos[i]).segment, seg->id);
		}
		/* the last one that gives way */
		tsr_gpu_touch(&dev, ctx, &start);
		bo = new_aligned(&dev, size, seg->size / 4, tsr_bit(seg), 0);
		tsr_knob("force_split", planned ? "1" : "0");
		tsr_gpu_fill(&dev, ctx, &bo, 0x77);
		aligned_in(&dev, &bo, seg);
		tsr_knob("force_split", "0");
		for (uint32_t i = 0; i < PIECES; i++) {
			tsr_gpu_read(&dev, ctx, &bos[i], size / 4 - 2, 2, words);
			require_eq(words[1], i + 1);
			tsr_bo_free(&dev, &bos[i]);
		}
		tsr_gpu_read(&dev, ctx, &bo, 0, 2, words);
		require_eq(words[0], 0x77);
		tsr_bo_free(&dev, &bo);
		tsr_bo_free(&dev, &start);
	}
	tsr_close(&dev);
}

/*
 * MAKE_RESIDENT compacts: listed objects of an odd size, every other one of
 * which goes. The others are aligned, and must be after they have moved.
 */
static void after_compaction(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), words[2];
	uint64_t align = seg->size / PIECES, size = align / 2 + seg->page_size, moved = 0;
	struct tsr_bo bos[PIECES], large;
	uint64_t before[PIECES];

	tsr_evict_set(tsr_bit(seg));
	for (uint32_t i = 0; i < PIECES; i++) {
		bos[i] = new_aligned(&dev, size, align, tsr_bit(seg), 0);
		tsr_gpu_fill(&dev, ctx, &bos[i], i + 1);
		tsr_make_resident(&dev, &bos[i], 1);
		before[i] = aligned_in(&dev, &bos[i], seg);
	}
	for (uint32_t i = 0; i < PIECES; i += 2) {
		tsr_evict(&dev, &bos[i], 1);
		tsr_bo_free(&dev, &bos[i]);
	}
	/* needs the upper half, and is aligned to it */
	large = new_aligned(&dev, seg->size / 2, seg->size / 2, tsr_bit(seg), 0);
	tsr_make_resident(&dev, &large, 1);
	require_eq(aligned_in(&dev, &large, seg), seg->size / 2);
	for (uint32_t i = 1; i < PIECES; i += 2) {
		moved += aligned_in(&dev, &bos[i], seg) != before[i];
		tsr_gpu_read(&dev, ctx, &bos[i], 0, 2, words);
		require_eq(words[0], i + 1);
	}
	require(moved);
	tsr_close(&dev);
}

/* An eviction to an aperture, the way back, and suspend. */
static void evicted_and_back(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo starts[2] = { occupy_start(&dev, ctx, vis), occupy_start(&dev, ctx, gart) };
	struct drm_tessera_bo_create args = {
		.size = KiB(68),
		.supported = tsr_bit(vis),
		.evict_to = tsr_bit(gart),
		.flags = cpu,
		.alignment = MiB(1),
	};
	struct tsr_bo bo = { .size = args.size }, all;

	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	tsr_gpu_fill(&dev, ctx, &bo, 5);
	require_eq(aligned_in(&dev, &bo, vis), MiB(1));
	all = tsr_bo_new(&dev, vis->size, tsr_bit(vis), 0);
	tsr_gpu_touch(&dev, ctx, &all);
	require_eq(aligned_in(&dev, &bo, gart), MiB(1));
	tsr_bo_free(&dev, &all);
	tsr_gpu_touch(&dev, ctx, &starts[0]);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(aligned_in(&dev, &bo, vis), MiB(1));
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 5);
	tsr_suspend_devices();
	tsr_gpu_touch(&dev, ctx, &starts[0]);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(aligned_in(&dev, &bo, vis), MiB(1));
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 5);
	tsr_close(&dev);
}

/* A swizzled object that the CPU sees through a swizzling range. */
static void swizzled(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo start = occupy_start(&dev, ctx, seg);
	struct drm_tessera_bo_create args = {
		.size = KiB(256),
		.supported = tsr_bit(seg),
		.flags = cpu,
		.layout = DRM_TESSERA_LAYOUT_TILE4K,
		.pitch = 1024,
		.alignment = MiB(2),
	};
	struct tsr_bo bo = { .size = args.size };

	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(aligned_in(&dev, &bo, seg), MiB(2));
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 3);
	tsr_evict_set(tsr_bit(seg));
	tsr_pattern_check(&bo, 3);
	tsr_gpu_touch(&dev, ctx, &start);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(aligned_in(&dev, &bo, seg), MiB(2));
	tsr_pattern_check(&bo, 3);
	tsr_close(&dev);
}

#define VM_AT 0x100000000ull

/*
 * An object that is private to a VM is in pieces only without an alignment. Its
 * bytes are at its addresses with every page size that its place allows.
 */
static void private_to_vm(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo start = occupy_start(&dev, ctx, seg), stage;
	struct tsr_vm vm = tsr_vm_open(&dev);

	stage = tsr_vm_stage_new(&vm, MiB(4));
	tsr_bo_map(&dev, &stage);
	for (uint64_t align = KiB(8); align <= MiB(4); align *= 8) {
		struct drm_tessera_bo_create args = {
			.size = stage.size,
			.supported = tsr_bit(seg),
			.flags = DRM_TESSERA_BO_VM_PRIVATE,
			.vm = vm.id,
			.alignment = align,
		};
		struct tsr_bo bo = { .size = args.size };

		require_ok(__tsr_bo_create(dev.fd, &args));
		bo.handle = args.handle;
		tsr_vm_map(&dev, vm.id, &bo, 0, VM_AT, bo.size, 0);
		tsr_vm_place(&vm, &bo);
		require(aligned_in(&dev, &bo, seg));
		tsr_vm_fill(&vm, VM_AT, bo.size, (uint32_t)align);
		tsr_vm_copy(&vm, TSR_VM_STAGE, VM_AT, bo.size);
		tsr_words_check(stage.map, stage.size / 4, (uint32_t)align);
		tsr_vm_unmap(&dev, vm.id, VM_AT, bo.size);
		tsr_evict(&dev, &bo, 1);
		tsr_bo_free(&dev, &bo);
	}
	tsr_bo_free(&dev, &start);
	tsr_close(&dev);
}

/* Two objects that can only be at offset 0, and sizes above the segment's. */
static void refused(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_bo_create args = { .size = KiB(4), .supported = tsr_bit(seg) };
	static const uint64_t bad[] = { 3, KiB(12), 1ull << 63, UINT64_MAX };
	struct drm_tessera_submit submit;
	struct tsr_bo first, second;
	struct tsr_cmd cmd;

	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		args.alignment = bad[i];
		require_err(__tsr_bo_create(dev.fd, &args), -EINVAL);
	}
	args.alignment = 2 * seg->size;
	require_err(__tsr_bo_create(dev.fd, &args), -EINVAL);
	args.size = 2 * seg->size;
	args.alignment = seg->size;
	require_err(__tsr_bo_create(dev.fd, &args), -E2BIG);

	first = new_aligned(&dev, KiB(4), seg->size, tsr_bit(seg), 0);
	second = new_aligned(&dev, KiB(4), seg->size, tsr_bit(seg), 0);
	tsr_gpu_touch(&dev, ctx, &first);
	require_eq(tsr_bo_info(&dev, &first).segment_offset, 0);
	tsr_gpu_touch(&dev, ctx, &second);
	require_eq(tsr_bo_info(&dev, &first).segment, 0);
	require_eq(aligned_in(&dev, &second, seg), 0);
	tsr_cmd_init_pair(&cmd, &first, &second);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &submit), -ENOSPC);
	tsr_cmd_fini(&cmd);
	require_ok(__tsr_make_one(&dev, &first));
	require_err(__tsr_make_one(&dev, &second), -ENOMEM);
	require_ok(__tsr_evict_one(&dev, &first));
	require_ok(__tsr_make_one(&dev, &second));
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-35 an aligned object goes to an aligned hole", into_holes, 0, 0 },
	{ "SEG-35 an aligned object replaces victims", in_place_of_victims, 0, 0 },
	{ "SEG-35 compaction keeps the alignment", after_compaction, 0, 0 },
	{ "SEG-35 eviction and suspend keep the alignment", evicted_and_back, 0, 0 },
	{ "SEG-35 a swizzled object is aligned", swizzled, 0, 0 },
	{ "SEG-35 an aligned private object is in one piece", private_to_vm, 0, 0 },
	{ "SEG-35 alignments that no segment has are refused", refused, 0, 0 },
};

TSR_TEST_MAIN(tests)
