// SPDX-License-Identifier: MIT
/*
 * How objects move: operations in several passes, contents kept twice and dropped, eviction
 * sets, the commit limit, swapping of what left the segments, and destruction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

/* bits of the paging_op event's flags: those of the packet */
static bool is_start(const struct tsr_event *ev)
{
	return tsr_event_u64(ev, "flags") & TSR_TRANSFER_START;
}

static bool is_end(const struct tsr_event *ev)
{
	return tsr_event_u64(ev, "flags") & TSR_TRANSFER_END;
}

static uint64_t bytes_of(const struct tsr_trace *trace, const char *kind)
{
	uint64_t bytes = 0;

	tsr_trace_for_each(trace, "paging_op", ev)
	{
		if (tsr_event_is(ev, "kind", kind))
			bytes += tsr_event_u64(ev, "size");
	}
	return bytes;
}

/* passes of one transfer: marked first and last, without gap, all of the object */
static void passes_are_whole(const struct tsr_trace *trace, uint64_t size, uint32_t *jobs)
{
	uint64_t at = 0, seqno = 0;
	bool open = false;

	*jobs = 0;
	tsr_trace_for_each(trace, "paging_op", ev)
	{
		if (!tsr_event_is(ev, "kind", "transfer"))
			continue;
		require_eq(is_start(ev), !open);
		open = !is_end(ev);
		at += tsr_event_u64(ev, "size");
		if (tsr_event_u64(ev, "seqno") != seqno)
			(*jobs)++;
		seqno = tsr_event_u64(ev, "seqno");
	}
	require(!open);
	require_eq(at, size);
}

static void small_paging_buffers(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), jobs;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(9) + 4096, tsr_bit(seg), cpu);
	char *before = tsr_debugfs_read("paging_ib_bytes");
	struct tsr_trace trace;

	require(before);
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 7);
	require_ok(tsr_debugfs_write("paging_ib_bytes", "64"));

	tsr_trace_start("paging_op", NULL);
	tsr_gpu_touch(&dev, ctx, &bo);
	trace = tsr_trace_stop();
	passes_are_whole(&trace, bo.size, &jobs);
	require(jobs > 1);
	tsr_trace_free(&trace);

	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(seg));
	trace = tsr_trace_stop();
	passes_are_whole(&trace, bo.size, &jobs);
	require(jobs > 1);
	tsr_trace_free(&trace);

	require_ok(tsr_debugfs_write("paging_ib_bytes", before));
	tsr_pattern_check(&bo, 7);
	free(before);
	tsr_close(&dev);
}

static uint64_t evict_copies(struct tsr_device *dev, const struct drm_tessera_query_segment *seg,
			     uint64_t *discarded)
{
	struct tsr_trace trace;
	uint64_t bytes;

	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(seg));
	trace = tsr_trace_stop();
	bytes = bytes_of(&trace, "transfer");
	*discarded = bytes_of(&trace, "discard");
	tsr_trace_free(&trace);
	return bytes;
}

/* only read since it came in: dropped; written by either side: copied */
static void kept_copies(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(3), tsr_bit(seg), cpu);
	uint64_t copied, discarded;

	require_ok(tsr_debugfs_write("keep_system_copy", "1"));
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 3);

	tsr_gpu_read(&dev, ctx, &bo, 5, 1, &word);
	require_eq(word, tsr_pattern(3, 5));
	copied = evict_copies(&dev, seg, &discarded);
	require_eq(copied, 0);
	require_eq(discarded, bo.size);
	tsr_pattern_check(&bo, 3);

	/* the GPU writes */
	tsr_gpu_fill(&dev, ctx, &bo, 0x5a5a5a5a);
	copied = evict_copies(&dev, seg, &discarded);
	require_eq(copied, bo.size);
	require_eq(discarded, 0);
	tsr_words_check(bo.map, bo.size / 4, 0x5a5a5a5a);

	/* the CPU writes through the BAR */
	tsr_gpu_read(&dev, ctx, &bo, 0, 1, &word);
	require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
	tsr_pattern_write(&bo, 9);
	copied = evict_copies(&dev, seg, &discarded);
	require_eq(copied, bo.size);
	require_eq(discarded, 0);
	tsr_pattern_check(&bo, 9);

	/* not kept: copied though only read */
	require_ok(tsr_debugfs_write("keep_system_copy", "0"));
	tsr_gpu_read(&dev, ctx, &bo, 0, 1, &word);
	copied = evict_copies(&dev, seg, &discarded);
	require_eq(copied, bo.size);
	tsr_pattern_check(&bo, 9);
	tsr_close(&dev);
}

static void eviction_set(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_bo_create args = {
		.size = MiB(1),
		.supported = tsr_bit(seg) | tsr_bit(gart),
		.evict_to = tsr_bit(gart),
		.num_preferred = 1,
		.preferred = { (uint8_t)seg->id },
		.flags = cpu,
	};
	struct tsr_bo bo = { .size = args.size };
	struct tsr_trace trace;

	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	tsr_gpu_fill(&dev, ctx, &bo, 0x77777777);
	require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);

	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(seg));
	trace = tsr_trace_stop();
	require_eq(bytes_of(&trace, "map"), bo.size);
	require_eq(bytes_of(&trace, "transfer"), bo.size);
	require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
	tsr_trace_free(&trace);

	/* and from the aperture to nowhere: nothing is copied */
	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(gart));
	trace = tsr_trace_stop();
	require_eq(bytes_of(&trace, "unmap"), bo.size);
	require_eq(bytes_of(&trace, "transfer"), 0);
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	tsr_bo_map(&dev, &bo);
	tsr_words_check(bo.map, bo.size / 4, 0x77777777);
	tsr_close(&dev);
}

/* the aperture has 64 MiB of addresses, of which 16 MiB may be in use */
static void commit_limit(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[24];

	if (gart->commit_limit >= gart->size)
		tap_skip("the aperture has no commit limit below its size");
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, gart->commit_limit / 8, tsr_bit(gart), cpu);
		tsr_gpu_fill(&dev, ctx, &bos[i], i + 1);
		require(tsr_query_memory(&dev, gart->id).used <= gart->commit_limit);
	}
	require_eq(tsr_query_memory(&dev, gart->id).used, gart->commit_limit);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		tsr_bo_map(&dev, &bos[i]);
		tsr_words_check(bos[i].map, bos[i].size / 4, i + 1);
	}
	tsr_close(&dev);
}

/* own allocator, own limits: a full segment is no reason to evict from another */
static void segments_are_independent(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), n = 0;
	struct tsr_bo other = tsr_bo_new(&dev, hidden->size, tsr_bit(hidden), 0);
	struct tsr_trace trace;

	tsr_gpu_fill(&dev, ctx, &other, 1);
	tsr_trace_start("evict", NULL);
	for (uint32_t i = 0; i < 12; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 4, tsr_bit(seg), 0);

		tsr_gpu_fill(&dev, ctx, &bo, i);
	}
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "evict", ev)
	{
		require_eq(tsr_event_u64(ev, "segment"), seg->id);
		n++;
	}
	require(n >= 8);
	require_eq(tsr_bo_info(&dev, &other).segment, hidden->id);
	tsr_close(&dev);
}

static void swap_out(void)
{
	/* each read swaps something out */
	for (int i = 0; i < 32; i++)
		free(tsr_read_file("/sys/kernel/debug/ttm/tt_shrink"));
}

/* pages that TTM swaps out come back, wherever they are needed next */
static void swapped_pages_come_back(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo in_system, in_gart, fresh;
	char *probe = tsr_read_file("/sys/kernel/debug/ttm/tt_shrink");

	if (!probe)
		tap_skip("TTM offers no tt_shrink");
	free(probe);
	in_system = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	in_gart = tsr_bo_new(&dev, MiB(1), tsr_bit(gart), cpu | DRM_TESSERA_BO_CPU_CACHED);
	fresh = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	tsr_bo_map(&dev, &in_system);
	tsr_bo_map(&dev, &in_gart);
	tsr_pattern_write(&in_system, 1);
	tsr_gpu_fill(&dev, ctx, &in_gart, 2);
	require_eq(tsr_bo_info(&dev, &in_gart).segment, gart->id);

	swap_out();
	require_eq(tsr_bo_info(&dev, &in_gart).segment, 0);
	tsr_gpu_read(&dev, ctx, &in_system, 17, 1, &word);
	require_eq(word, tsr_pattern(1, 17));
	tsr_words_check(in_gart.map, in_gart.size / 4, 2);
	tsr_pattern_check(&in_system, 1);

	swap_out();
	tsr_gpu_read(&dev, ctx, &in_gart, 0, 1, &word);
	require_eq(word, 2);
	tsr_evict_set(tsr_bit(seg));
	swap_out();
	tsr_pattern_check(&in_system, 1);
	tsr_bo_map(&dev, &fresh);
	tsr_words_check(fresh.map, fresh.size / 4, 0);
	tsr_close(&dev);
}

/* closing the handle of what a job uses returns at once; the memory goes after the job */
static void destroy_does_not_wait(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct tsr_bo src = tsr_bo_new(&dev, MiB(4), tsr_bit(seg), 0);
	struct tsr_bo dst = tsr_bo_new(&dev, MiB(4), tsr_bit(seg), cpu);
	uint64_t start, took, used;
	struct tsr_busy busy;
	struct tsr_cmd cmd;

	tsr_gpu_fill(&dev, ctx, &src, 0xabcdef01);
	tsr_busy_start(&dev, ctx, &busy, 500);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &dst, true);
	tsr_cmd_bind_buffer(&cmd, 1, &src, false);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(src.size / 4));
	tsr_submit(&dev, ctx, &cmd, 0, sync);

	start = tap_now_ns();
	tsr_bo_free(&dev, &src);
	took = tap_now_ns() - start;
	used = tsr_query_memory(&dev, seg->id).client_used;
	require_err(__tsr_syncobj_wait(dev.fd, sync, 0, 0), -ETIME);
	require_eq(used, MiB(8));
	require_msg(took < 100000000, "took %llu ns", (unsigned long long)took);

	require_ok(tsr_syncobj_status(&dev, sync));
	tsr_bo_map(&dev, &dst);
	tsr_words_check(dst.map, dst.size / 4, 0xabcdef01);
	for (int i = 0; i < 500 && tsr_query_memory(&dev, seg->id).client_used > MiB(4); i++)
		usleep(10000);
	require_eq(tsr_query_memory(&dev, seg->id).client_used, MiB(4));
	tsr_busy_end(&dev, &busy);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* what others destroyed while it was in use makes room once its job is done */
static void room_of_the_dying(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo;

	for (uint32_t i = 0; i < 20; i++) {
		struct tsr_cmd cmd;

		bo = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), i);
		tsr_submit(&dev, ctx, &cmd, 0, 0);
		tsr_cmd_fini(&cmd);
		tsr_bo_free(&dev, &bo);
	}
	bo = tsr_bo_new(&dev, seg->size, tsr_bit(seg), cpu);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_bo_map(&dev, &bo);
	tsr_words_check(bo.map, bo.size / 4, 0);
	tsr_close(&dev);
}

/* preference first; the next one when the first is full and may not be emptied */
static void preference_order(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_bo_create args = {
		.size = seg->size / 2,
		.supported = tsr_bit(seg) | tsr_bit(hidden),
		.num_preferred = 2,
		.preferred = { (uint8_t)hidden->id, (uint8_t)seg->id },
	};
	struct tsr_bo bos[5];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		args.handle = 0;
		require_ok(__tsr_bo_create(dev.fd, &args));
		bos[i] = (struct tsr_bo){ .handle = args.handle, .size = args.size };
		tsr_gpu_fill(&dev, ctx, &bos[i], i);
		/* 32 MiB of 8 MiB each, then the other one */
		require_eq(tsr_bo_info(&dev, &bos[i]).segment,
			   (i + 1) * args.size <= hidden->size ? hidden->id : seg->id);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-4 PAGE-5 operations larger than a paging buffer", small_paging_buffers, 0, 0 },
	{ "PAGE-7 kept copies are dropped only while they are good", kept_copies, 0, 0 },
	{ "SEG-29 SWZ-16 eviction to an aperture segment", eviction_set, 0, 0 },
	{ "SEG-30 the commit limit of an aperture", commit_limit, 0, 0 },
	{ "SEG-7 segments are managed on their own", segments_are_independent, 0, 0 },
	{ "SEG-11 preferences are tried in order", preference_order, 0, 0 },
	{ "SWZ-10 swapped pages come back", swapped_pages_come_back, 0, 0 },
	{ "DESTROY-1 DESTROY-2 destruction does not wait", destroy_does_not_wait, 0, 0 },
	{ "DESTROY-4 DESTROY-5 the room of destroyed objects", room_of_the_dying, 0, 0 },
};

TSR_TEST_MAIN(tests)
