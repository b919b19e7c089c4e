// SPDX-License-Identifier: MIT
/*
 * Paging operations: transfers, fills, maps and moves, for each kind of
 * segment. Tracepoints must show the expected operations, and the contents must
 * survive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

static uint64_t last_created(const struct tsr_trace *trace)
{
	uint64_t bo = 0;

	tsr_trace_for_each(trace, "bo_create", ev)
		bo = tsr_event_u64(ev, "bo");
	require(bo);
	return bo;
}

/* Trace the page-in, use and eviction of one object. */
static struct tsr_trace page_in_and_out(struct tsr_device *dev,
					const struct drm_tessera_query_segment *seg,
					struct tsr_bo *bo, uint64_t size, bool content)
{
	uint32_t ctx = tsr_context_new(dev, 0);
	struct tsr_trace trace;

	tsr_trace_start(NULL, NULL);
	*bo = tsr_bo_new(dev, size, tsr_bit(seg), cpu);
	if (content) {
		tsr_bo_map(dev, bo);
		tsr_pattern_write(bo, 1);
	}
	tsr_gpu_fill(dev, ctx, bo, 0x77);
	require_eq(tsr_bo_info(dev, bo).segment, seg->id);
	tsr_evict_set(tsr_bit(seg));
	tsr_bo_wait(dev, bo);
	trace = tsr_trace_stop();
	require_eq(tsr_bo_info(dev, bo).segment, 0);
	tsr_words_check(tsr_bo_map(dev, bo), size / 4, 0x77);
	return trace;
}

static void eviction_is_a_transfer(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t id, in = 0, out = 0, jobs = 0;
	struct tsr_trace trace;
	struct tsr_bo bo;

	trace = page_in_and_out(&dev, seg, &bo, MiB(3), true);
	id = last_created(&trace);
	tsr_trace_for_each(&trace, "paging_op", ev) {
		uint64_t seqno = tsr_event_u64(ev, "seqno");
		bool ran = false;

		if (tsr_event_u64(ev, "bo") != id || !tsr_event_is(ev, "kind", "transfer"))
			continue;
		if (tsr_event_u64(ev, "dst") == seg->id)
			in += tsr_event_u64(ev, "size");
		else
			out += tsr_event_u64(ev, "size");
		/*
		 * The transfer ran as a job of the paging engine, in the
		 * kernel's context.
		 */
		tsr_trace_for_each(&trace, "job_done", done) {
			if (tsr_event_u64(done, "engine") == dev.render ||
			    tsr_event_u64(done, "seqno") != seqno)
				continue;
			require_eq(tsr_event_u64(done, "ctx"), 0);
			require_eq(tsr_event_u64(done, "error"), 0);
			ran = true;
			jobs++;
		}
		require_msg(ran, "no paging job %llu ran", (unsigned long long)seqno);
	}
	require_eq(in, MiB(3));
	require_eq(out, MiB(3));
	require(jobs >= 2);
	/* Jobs of user contexts never run in the kernel's context. */
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") == dev.render)
			require(tsr_event_u64(ev, "ctx") != 0);
	}
	tsr_close(&dev);
}

/* A large fill takes several packets, each for a part of the object. */
static void new_memory_is_filled(void)
{
	const uint64_t size = MiB(20);
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_trace trace;
	struct tsr_bo bo;

	tsr_trace_start("paging_op", "bo_create", NULL);
	bo = tsr_bo_new(&dev, size, tsr_bit(seg), 0);
	tsr_gpu_touch(&dev, ctx, &bo);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_paged(&trace, "fill", last_created(&trace)), size);
	require_eq(tsr_trace_paged(&trace, "transfer", last_created(&trace)), 0);
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (tsr_event_is(ev, "kind", "fill"))
			require_eq(tsr_event_u64(ev, "dst"), seg->id);
	}
	tsr_gpu_read(&dev, ctx, &bo, size / 4 - 1, 1, &word);
	require_eq(word, 0);
	tsr_close(&dev);
}

static void apertures_map_and_copy_nothing(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_gart(&dev), tsr_seg_ro(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (int i = 0; i < 2; i++) {
		struct tsr_bo bo, copy;
		struct tsr_trace trace;

		tsr_trace_start("paging_op", "bo_create", NULL);
		bo = tsr_bo_new(&dev, MiB(5), tsr_bit(segs[i]),
				cached | (i ? DRM_TESSERA_BO_GPU_READ_ONLY : 0));
		tsr_bo_map(&dev, &bo);
		tsr_pattern_write(&bo, 5);
		tsr_gpu_touch(&dev, ctx, &bo);
		trace = tsr_trace_stop();
		require_eq(tsr_trace_paged(&trace, "map", last_created(&trace)), MiB(5));
		require_eq(tsr_trace_paged(&trace, "transfer", 0), 0);
		require_eq(tsr_trace_paged(&trace, "fill", 0), 0);
		tsr_pattern_check(&bo, 5);
		/* The GPU sees each page at the right offset. */
		copy = tsr_bo_new(&dev, MiB(5), tsr_bit(tsr_seg_visible(&dev)), cpu);
		tsr_gpu_copy(&dev, ctx, &copy, &bo);
		tsr_bo_map(&dev, &copy);
		tsr_pattern_check(&copy, 5);
	}
	tsr_close(&dev);
}

/*
 * The packets of a transfer are consecutive and in order, begin with START, end
 * with END, and cover the object.
 */
static void check_passes(const struct tsr_trace *trace, uint64_t bo, uint64_t size, uint32_t *jobs)
{
	uint64_t open_bo = 0, sum = 0, last_job = 0, total = 0;

	*jobs = 0;
	tsr_trace_for_each(trace, "paging_op", ev) {
		uint64_t flags = tsr_event_u64(ev, "flags"), id = tsr_event_u64(ev, "bo");

		if (!tsr_event_is(ev, "kind", "transfer"))
			continue;
		if (flags & TSR_TRANSFER_START) {
			require_msg(!open_bo, "a transfer starts before the pending one ended");
			open_bo = id;
			sum = 0;
		}
		require_eq(open_bo, id);
		sum += tsr_event_u64(ev, "size");
		if (id == bo) {
			total += tsr_event_u64(ev, "size");
			*jobs += tsr_event_u64(ev, "seqno") != last_job;
			last_job = tsr_event_u64(ev, "seqno");
		}
		if (flags & TSR_TRANSFER_END) {
			if (id == bo)
				require_eq(sum, size);
			open_bo = 0;
		}
	}
	require_msg(!open_bo, "the last transfer has no end");
	require_eq(total % size, 0);
}

static void several_passes(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint64_t size = MiB(6);
	struct tsr_trace trace;
	uint32_t jobs, small;
	struct tsr_bo bo;

	tsr_knob("paging_ib_bytes", "64"); /* one packet */
	trace = page_in_and_out(&dev, seg, &bo, size, true);
	check_passes(&trace, last_created(&trace), size, &small);
	tsr_bo_free(&dev, &bo);
	tsr_trace_free(&trace);
	tsr_knob_restore("paging_ib_bytes");
	trace = page_in_and_out(&dev, seg, &bo, size, true);
	check_passes(&trace, last_created(&trace), size, &jobs);
	tap_note("6 MiB in and out: %u paging jobs with 64-byte buffers, %u ordinarily", small,
		 jobs);
	require(small > jobs && small > 2);
	tsr_close(&dev);
}

/*
 * Contents are dropped only if a valid copy exists; dirty contents are written
 * back.
 */
static void only_clean_content_is_dropped(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo src =
		tsr_bo_new(&dev, MiB(2), tsr_bit(seg) | tsr_bit(tsr_seg_gart(&dev)), cached);
	uint64_t written[2][2];

	tsr_bo_map(&dev, &src);
	for (int keep = 0; keep < 2; keep++) {
		tsr_knob("keep_system_copy", keep ? "1" : "0");
		for (int dirty = 0; dirty < 2; dirty++) {
			struct drm_tessera_bo_create args = {
				.size = MiB(2),
				.supported = tsr_bit(tsr_seg_visible(&dev)),
				.flags = cpu,
			};
			struct tsr_trace trace;
			struct tsr_bo bo = { .size = args.size };

			require_ok(__tsr_bo_create(dev.fd, &args));
			bo.handle = args.handle;
			tsr_bo_map(&dev, &bo);
			tsr_pattern_write(&bo, 20 + (uint32_t)keep);
			tsr_gpu_touch(&dev, ctx, &bo); /* read only */
			if (dirty)
				tsr_gpu_fill(&dev, ctx, &bo, 0x99);
			tsr_trace_start("paging_op", NULL);
			tsr_evict_set(args.supported);
			tsr_bo_wait(&dev, &bo);
			trace = tsr_trace_stop();
			written[keep][dirty] = tsr_trace_paged(&trace, "transfer", 0);
			tsr_trace_free(&trace);
			/* CPU and GPU both see the right bytes. */
			if (dirty)
				tsr_words_check(bo.map, bo.size / 4, 0x99);
			else
				tsr_pattern_check(&bo, 20 + (uint32_t)keep);
			tsr_gpu_copy(&dev, ctx, &src, &bo);
			require(!memcmp(src.map, bo.map, bo.size));
			tsr_bo_free(&dev, &bo);
		}
	}
	tap_note("written back: clean %llu, dirty %llu; with copies kept: clean %llu, dirty %llu",
		 (unsigned long long)written[0][0], (unsigned long long)written[0][1],
		 (unsigned long long)written[1][0], (unsigned long long)written[1][1]);
	require_eq(written[0][1], MiB(2));
	require_eq(written[1][1], MiB(2));
	require_eq(written[1][0], 0);
	tsr_knob("keep_system_copy", "1");
	tsr_close(&dev);
}

/*
 * One submission pages in more objects than may keep a system copy, and keeps
 * all of them locked meanwhile. The copies above the limit must be freed
 * afterwards. An offered object must keep its contents.
 */
static void kept_copies_have_a_limit(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), result;
	struct tsr_bo bos[8], offered = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &offered);
	tsr_pattern_write(&offered, 99);
	tsr_gpu_touch(&dev, ctx, &offered);
	tsr_evict_set(tsr_bit(seg));
	tsr_bo_wait(&dev, &offered);
	require_ok(__tsr_offer(dev.fd, &offered.handle, 1, DRM_TESSERA_OFFER_NORMAL));
	tsr_knob("retain_limit_pages", "512");
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
		tsr_bo_map(&dev, &bos[i]);
		tsr_pattern_write(&bos[i], i);
		tsr_cmd_bind_buffer(&cmd, i, &bos[i], false);
	}
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
	tsr_wait_for(tsr_num_clean() <= 2);
	require_eq(tsr_num_clean(), 2);
	require_ok(__tsr_reclaim(dev.fd, &offered.handle, &result, 1));
	require_eq(result, DRM_TESSERA_RECLAIM_KEPT);
	tsr_pattern_check(&offered, 99);
	tsr_evict_set(tsr_bit(seg));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_pattern_check(&bos[i], i);
	tsr_knob_restore("retain_limit_pages");
	tsr_close(&dev);
}

/*
 * Memory that was only cleared has no system copy, so it must be written back,
 * too.
 */
static void cleared_memory_is_not_dropped(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	struct tsr_trace trace;

	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(seg));
	tsr_bo_wait(&dev, &bo);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_paged(&trace, "discard", 0), 0);
	require_eq(tsr_trace_paged(&trace, "transfer", 0), MiB(1));
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 0);
	tsr_close(&dev);
}

/* A CPU write to a clean resident object makes it dirty. */
static void cpu_writes_are_not_dropped(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);

	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 1);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_pattern_check(&bo, 1); /* mapped again, through the BAR */
	((uint32_t *)bo.map)[12345] = 0xabcdef;
	tsr_evict_set(tsr_bit(seg));
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	require_eq(((uint32_t *)bo.map)[12345], 0xabcdef);
	tsr_close(&dev);
}

/*
 * Evict one object from the aperture while a job uses its lower neighbour.
 * Exactly its range must be unmapped, before that job ends, and both neighbours
 * stay mapped.
 */
static void unmapping_leaves_neighbours_alone(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0), unmaps = 0;
	const uint64_t side = seg->commit_limit / 8, middle = seg->commit_limit - 2 * side;
	struct tsr_bo below = tsr_bo_new(&dev, side, tsr_bit(seg), cached);
	struct tsr_bo goes = tsr_bo_new(&dev, middle, tsr_bit(seg), cached);
	struct tsr_bo above = tsr_bo_new(&dev, side, tsr_bit(seg), cached);
	struct tsr_bo comes = tsr_bo_new(&dev, side, tsr_bit(seg), cached);
	const uint32_t words = (uint32_t)(side / 4);
	uint32_t first, last;
	struct tsr_trace trace;
	struct tsr_cmd cmd;
	uint64_t offset;
	char place[32];

	tsr_gpu_touch(&dev, other, &below);
	tsr_gpu_touch(&dev, other, &goes);
	tsr_gpu_fill(&dev, other, &above, 0xab0e);
	offset = tsr_bo_info(&dev, &goes).segment_offset;
	require_eq(offset, tsr_bo_info(&dev, &below).segment_offset + side);
	require_eq(tsr_bo_info(&dev, &above).segment_offset, offset + middle);
	snprintf(place, sizeof(place), "%u:0x%llx", seg->id, (unsigned long long)offset);

	tsr_trace_start("paging_op", NULL);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &below, true);
	for (uint32_t i = 1; i <= 200; i++)
		tsr_cmd_fill(&cmd, 0, 0, words, i);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	/* The commit limit is reached, so the idle object is evicted. */
	tsr_gpu_touch(&dev, other, &comes);
	require_eq(tsr_bo_info(&dev, &goes).segment, 0);
	trace = tsr_trace_stop();
	tsr_gpu_read(&dev, other, &above, 0, 1, &first);
	tsr_gpu_read(&dev, other, &above, words - 1, 1, &last);
	tsr_bo_wait(&dev, &below);

	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (!tsr_event_is(ev, "kind", "unmap"))
			continue;
		require_msg(tsr_event_is(ev, "src", place), "not %s: %s", place, ev->text);
		require_eq(tsr_event_u64(ev, "size"), middle);
		unmaps++;
	}
	require_eq(unmaps, 1);
	require_eq(first, 0xab0e);
	require_eq(last, 0xab0e);
	require_eq(tsr_bo_info(&dev, &above).segment, seg->id);
	require_eq(tsr_bo_info(&dev, &below).segment, seg->id);
	tsr_words_check(tsr_bo_map(&dev, &below), words, 200);
	tsr_close(&dev);
}

/*
 * The aperture entries match the pages and the segment: cached, snooped and
 * writable bits.
 */
static void entries_fit_the_pages(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev), *ro = tsr_seg_ro(&dev);
	const uint32_t wc = DRM_TESSERA_BO_CPU_ACCESS, read = DRM_TESSERA_BO_GPU_READ_ONLY;
	const uint32_t write = TSR_APTE_VALID | TSR_APTE_WRITE;
	const uint32_t snooped = TSR_APTE_CACHED | TSR_APTE_COHERENT;
	const struct {
		const struct drm_tessera_query_segment *seg;
		uint32_t flags, want;
	} rows[] = {
		{ gart, cached, write | snooped },
		{ gart, wc, write },
		/*
		 * Only the device accesses these pages. They are cached,
		 * because it snoops.
		 */
		{ gart, 0, write | snooped },
		{ ro, cached | read, TSR_APTE_VALID | snooped },
		{ ro, wc | read, TSR_APTE_VALID },
	};
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tsr_bo bo;
		struct tsr_trace trace;
		uint32_t flags;

		bo = tsr_bo_new(&dev, MiB(3), tsr_bit(rows[i].seg), rows[i].flags);
		tsr_trace_start("paging_op", NULL);
		tsr_gpu_touch(&dev, ctx, &bo);
		trace = tsr_trace_stop();
		flags = tsr_trace_map_flags(&trace);
		require_msg(flags == rows[i].want, "row %zu: mapped with flags 0x%x, not 0x%x", i,
			    flags, rows[i].want);
		tsr_trace_free(&trace);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/* Submit a long job that writes the object or, with @copy, copies it there. */
static void submit_long(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
			const struct tsr_bo *copy)
{
	const uint32_t words = (uint32_t)(bo->size / 4);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	if (copy) {
		tsr_cmd_group_begin(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, bo, false);
		tsr_cmd_bind_buffer(&cmd, 1, copy, true);
		tsr_cmd_group_end(&cmd);
		for (uint32_t i = 0; i < 100; i++)
			tsr_cmd_copy(&cmd, 1, 0, 0, 0, words);
	} else {
		tsr_cmd_bind_buffer(&cmd, 0, bo, true);
		for (uint32_t i = 1; i <= 100; i++)
			tsr_cmd_fill(&cmd, 0, 0, words, i);
	}
	tsr_submit(dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
}

/* The eviction of a busy object waits for its job; the job is not delayed. */
static void busy_object_is_moved_when_idle(bool read)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0);
	uint64_t end = 0, id, seqno = 0, long_ctx = 0;
	struct tsr_bo bo, big, copy;
	struct tsr_trace trace;

	copy = tsr_bo_new(&dev, seg->size / 2, tsr_bit(tsr_seg_hidden(&dev)), 0);
	big = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	tsr_trace_start(NULL, NULL);
	bo = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), cpu);
	/*
	 * Allocate system pages first, so that the eviction is prepared
	 * quickly. The GPU fill makes them stale.
	 */
	tsr_bo_map(&dev, &bo);
	tsr_words_check(bo.map, bo.size / 4, 0);
	tsr_gpu_fill(&dev, ctx, &bo, 7);
	tsr_gpu_touch(&dev, ctx, &copy);
	submit_long(&dev, ctx, &bo, read ? &copy : NULL);
	/* Needs the whole segment while the long job runs. */
	tsr_gpu_touch(&dev, other, &big);
	tsr_bo_wait(&dev, &bo);
	trace = tsr_trace_stop();
	id = last_created(&trace);
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (tsr_event_u64(ev, "bo") == id && tsr_event_u64(ev, "src") == seg->id)
			seqno = tsr_event_u64(ev, "seqno");
	}
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev.render)
			continue;
		/* The other context has a single job. */
		if (!long_ctx)
			long_ctx = tsr_event_u64(ev, "ctx");
		if (tsr_event_u64(ev, "ctx") == long_ctx)
			end = tsr_event_u64(ev, "end_ns");
	}
	require(end && seqno);
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev.render &&
		    tsr_event_u64(ev, "seqno") == seqno)
			require(tsr_event_u64(ev, "start_ns") >= end);
	}
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, read ? 7 : 100);
	if (read) {
		uint32_t words[2];

		tsr_gpu_read(&dev, ctx, &copy, 0, 1, &words[0]);
		tsr_gpu_read(&dev, ctx, &copy, copy.size / 4 - 1, 1, &words[1]);
		tsr_words_check(words, 2, 7);
	}
	tsr_close(&dev);
}

static void busy_objects_are_moved_when_idle(void)
{
	busy_object_is_moved_when_idle(false);
	busy_object_is_moved_when_idle(true);
}

/*
 * A and A2 leave holes at both ends that are too small for C. B must move
 * inside the segment, once and by less than its size, and must not be evicted.
 */
static void overlapping_moves(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t unit = seg->size / 8, moved = 0;
	uint32_t ctx = tsr_context_new(&dev, 0), parts;
	struct tsr_bo a = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo b = tsr_bo_new(&dev, 6 * unit, tsr_bit(seg), cpu);
	struct tsr_bo a2 = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo c = tsr_bo_new(&dev, 2 * unit, tsr_bit(seg), cpu);
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	/* Using them one by one places A, B and A2 in this order. */
	tsr_bo_map(&dev, &b);
	tsr_pattern_write(&b, 33);
	tsr_gpu_touch(&dev, ctx, &a);
	tsr_gpu_touch(&dev, ctx, &b);
	tsr_gpu_touch(&dev, ctx, &a2);
	require_eq(tsr_bo_info(&dev, &a).segment_offset, 0);
	require_eq(tsr_bo_info(&dev, &b).segment_offset, unit);
	require_eq(tsr_bo_info(&dev, &a2).segment_offset, 7 * unit);
	tsr_cmd_init_pair(&cmd, &b, &c);
	tsr_cmd_fill(&cmd, 1, 0, 16, 44);
	tsr_trace_start("paging_op", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (tsr_event_is(ev, "kind", "transfer") && tsr_event_u64(ev, "src") == seg->id &&
		    tsr_event_u64(ev, "dst") == seg->id)
			moved += tsr_event_u64(ev, "size");
	}
	tsr_trace_free(&trace);
	require_eq(moved, b.size);
	require_eq(parts, 1);
	tsr_pattern_check(&b, 33);
	tsr_words_check(tsr_bo_map(&dev, &c), 16, 44);
	tsr_close(&dev);
}

/*
 * limit of a move inside a segment; moves to system pages are limited by the
 * page list
 */
#define PACKET_MOVES MiB(16)

/* Mark the last word of each MiB. */
static void write_marks(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	for (uint32_t i = 1; i <= bo->size / MiB(1); i++)
		tsr_cmd_fill(&cmd, 0, i * (MiB(1) / 4) - 1, 1, 33 + i);
	tsr_submit_done(dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
}

static void check_marks(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo)
{
	uint32_t word;

	for (uint32_t i = 1; i <= bo->size / MiB(1); i++) {
		tsr_gpu_read(dev, ctx, bo, i * (MiB(1) / 4) - 1, 1, &word);
		require_eq(word, 33 + i);
	}
}

/*
 * The same with more bytes than one packet may move. The limit keeps each
 * packet far below the job timeout.
 */
static void packets_are_bounded(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint64_t unit = seg->size / 8, moved = 0, most = 0;
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo a = tsr_bo_new(&dev, unit, tsr_bit(seg), 0);
	struct tsr_bo b = tsr_bo_new(&dev, 6 * unit, tsr_bit(seg), 0);
	struct tsr_bo a2 = tsr_bo_new(&dev, unit, tsr_bit(seg), 0);
	struct tsr_bo c = tsr_bo_new(&dev, 2 * unit, tsr_bit(seg), 0);
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	require(b.size > PACKET_MOVES);
	tsr_gpu_touch(&dev, ctx, &a);
	write_marks(&dev, ctx, &b);
	tsr_gpu_touch(&dev, ctx, &a2);
	tsr_cmd_init_pair(&cmd, &b, &c);
	tsr_cmd_fill(&cmd, 1, 0, 16, 44);
	tsr_trace_start("paging_op", NULL);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		uint64_t size = tsr_event_u64(ev, "size");

		if (!tsr_event_is(ev, "kind", "transfer") || tsr_event_u64(ev, "src") != seg->id ||
		    tsr_event_u64(ev, "dst") != seg->id)
			continue;
		moved += size;
		most = size > most ? size : most;
	}
	tap_note("%llu bytes moved, %llu by one packet", (unsigned long long)moved,
		 (unsigned long long)most);
	require_eq(moved, b.size);
	require(most <= PACKET_MOVES);
	check_marks(&dev, ctx, &b);
	tsr_close(&dev);
}

/*
 * A planned move up by less than the object's size, in several packets: the
 * upper end must move first. The object does not lie at the bottom of its
 * segment. If it moved down, the small object, next in the list, would fit
 * above it, but then the large one would not. So all three are packed anew.
 */
static void moves_up_over_itself(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), more = tsr_bit(tsr_seg_visible(&dev)), parts;
	uint64_t unit = seg->size / 8, moved = 0;
	struct tsr_bo below = tsr_bo_new(&dev, unit, tsr_bit(seg), 0);
	struct tsr_bo bo = tsr_bo_prefers(&dev, 5 * unit, seg, more, 0);
	struct tsr_bo small = tsr_bo_prefers(&dev, unit / 2, seg, more, 0);
	struct tsr_bo large = tsr_bo_new(&dev, 3 * unit, tsr_bit(seg), 0);
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	require(bo.size > PACKET_MOVES);
	tsr_gpu_touch(&dev, ctx, &below);
	write_marks(&dev, ctx, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment_offset, unit);
	tsr_bo_free(&dev, &below);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	tsr_cmd_bind_buffer(&cmd, 1, &small, true);
	tsr_cmd_bind_buffer(&cmd, 2, &large, true);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_fill(&cmd, 1, 0, 16, 44);
	tsr_trace_start("paging_op", NULL);
	require_ok(tsr_submit_status(&dev, ctx, &cmd, &parts));
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (!tsr_event_is(ev, "kind", "transfer") || tsr_event_u64(ev, "src") != seg->id ||
		    tsr_event_u64(ev, "dst") != seg->id)
			continue;
		moved += tsr_event_u64(ev, "size");
	}
	tsr_trace_free(&trace);
	/* Otherwise it did not move, or was evicted and paged in. */
	require_eq(moved, bo.size);
	require_eq(tsr_bo_info(&dev, &bo).segment_offset, 3 * unit);
	check_marks(&dev, ctx, &bo);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

#define MIXED_ROUNDS (tap_slow() ? 30 : 100)

/* Page an object in and out, with one paging job per packet. */
static void comes_and_goes(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 4, tsr_bit(seg), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);

	write_marks(&dev, ctx, &bo);
	for (int i = 0; i < MIXED_ROUNDS; i++) {
		tsr_evict_set(tsr_bit(seg));
		tsr_gpu_touch(&dev, ctx, &bo);
	}
	check_marks(&dev, ctx, &bo);
	tsr_close(&dev);
}

/*
 * Packets of other transfers must not come between those of one transfer: the
 * device would count an error.
 */
static void transfers_do_not_mix(void)
{
	struct tsr_client clients[4];

	tsr_knob("paging_ib_bytes", "64");
	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
		tsr_client_start(&clients[i], comes_and_goes, i);
	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
		tsr_client_join(&clients[i]);
	tsr_knob_restore("paging_ib_bytes");
}

/*
 * The same move of an object that is mapped and was accessed: the pointer shows
 * the bytes at the new placement, and CPU and GPU see each other's writes
 * there.
 */
static void mapped_object_moves_inside(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint64_t unit = seg->size / 8;
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo a = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo b = tsr_bo_new(&dev, 6 * unit, tsr_bit(seg), cpu);
	struct tsr_bo a2 = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo c = tsr_bo_new(&dev, 2 * unit, tsr_bit(seg), cpu);
	const uint64_t last = b.size / 4 - 1;
	volatile uint32_t *words;
	uint64_t before;
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &a);
	tsr_gpu_touch(&dev, ctx, &b);
	tsr_gpu_touch(&dev, ctx, &a2);
	words = tsr_bo_map(&dev, &b);
	/* The object is resident, so each page is mapped through the BAR. */
	tsr_pattern_write(&b, 33);
	before = tsr_bo_info(&dev, &b).segment_offset;
	require_eq(tsr_bo_info(&dev, &b).segment, seg->id);

	tsr_cmd_init_pair(&cmd, &b, &c);
	tsr_cmd_fill(&cmd, 0, 1000, 1, 0x1000);
	tsr_cmd_fill(&cmd, 1, 0, (uint32_t)(c.size / 4), 44);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	/* waits for the move only */
	tsr_pattern_require(words[last], 33, last);
	tsr_bo_wait(&dev, &b);
	require_eq(tsr_bo_info(&dev, &b).segment, seg->id);
	require(tsr_bo_info(&dev, &b).segment_offset != before);
	require_eq(words[1000], 0x1000);
	words[1000] = tsr_pattern(33, 1000);
	tsr_pattern_check(&b, 33);

	words[0] = 0x111;
	words[last] = 0x222;
	tsr_gpu_read(&dev, ctx, &b, 0, 1, &word);
	require_eq(word, 0x111);
	tsr_gpu_read(&dev, ctx, &b, last, 1, &word);
	require_eq(word, 0x222);
	tsr_words_check(tsr_bo_map(&dev, &c), c.size / 4, 44);
	tsr_gpu_fill(&dev, ctx, &b, 0x333);
	tsr_words_check((uint32_t *)b.map, b.size / 4, 0x333);
	tsr_close(&dev);
}

/*
 * Destroy an object in an aperture while a job uses it, and place another
 * object in its range. The job keeps using the pages of the first object. The
 * range maps the second object after the job.
 */
static void range_of_the_destroyed(bool read)
{
	/* Two files, so that no paging queue orders the two. */
	struct tsr_device dev = tsr_open(), next = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&next, 0);
	struct tsr_bo goes = tsr_bo_new(&dev, MiB(8), tsr_bit(gart), cached);
	struct tsr_bo comes = tsr_bo_new(&next, MiB(8), tsr_bit(gart), cached);
	struct tsr_bo copy = tsr_bo_new(&dev, MiB(8), tsr_bit(tsr_seg_visible(&dev)), cpu);
	struct tsr_bo seen =
		tsr_bo_new(&next, MiB(8), tsr_bit(tsr_seg_hidden(&dev)) | tsr_bit(gart), cached);
	uint64_t offset;

	tsr_bo_map(&dev, &goes);
	tsr_pattern_write(&goes, 8);
	tsr_bo_unmap(&goes);
	tsr_bo_map(&next, &comes);
	tsr_pattern_write(&comes, 9);
	tsr_gpu_touch(&dev, ctx, &copy);
	tsr_gpu_touch(&dev, ctx, &goes);
	offset = tsr_bo_info(&dev, &goes).segment_offset;
	submit_long(&dev, ctx, &goes, read ? &copy : NULL);
	tsr_bo_free(&dev, &goes);
	tsr_gpu_touch(&next, other, &comes);
	require_eq(tsr_bo_info(&next, &comes).segment, gart->id);
	require_eq(tsr_bo_info(&next, &comes).segment_offset, offset);
	tsr_pattern_check(&comes, 9);
	tsr_bo_map(&dev, &copy);
	tsr_bo_wait(&dev, &copy);
	if (read)
		tsr_pattern_check(&copy, 8);
	tsr_gpu_copy(&next, other, &seen, &comes);
	tsr_bo_map(&next, &seen);
	tsr_pattern_check(&seen, 9);
	tsr_close(&next);
	tsr_close(&dev);
}

static void ranges_of_the_destroyed(void)
{
	range_of_the_destroyed(true);
	range_of_the_destroyed(false);
}

/* Transfers with system pages and segments as source and destination. */
static void sources_and_destinations(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	struct drm_tessera_bo_create args = {
		.size = MiB(1),
		.supported = tsr_bit(vis) | tsr_bit(gart),
		.evict_to = tsr_bit(gart),
		.flags = cached,
		.num_preferred = 1,
		.preferred = { (uint8_t)vis->id },
	};
	struct tsr_bo bo = { .size = args.size }, plain, filler;
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t to_pages = 0, from_pages = 0;
	struct tsr_trace trace;

	tsr_trace_start("paging_op", NULL);
	require_ok(__tsr_bo_create(dev.fd, &args));
	bo.handle = args.handle;
	plain = tsr_bo_new(&dev, MiB(1), tsr_bit(hid), 0);
	for (int round = 0; round < 3; round++) {
		tsr_bo_map(&dev, &bo);
		tsr_pattern_write(&bo, 60 + (uint32_t)round);
		tsr_bo_unmap(&bo);
		tsr_gpu_copy(&dev, ctx, &plain, &bo);
		filler = tsr_bo_new(&dev, vis->size, tsr_bit(vis), 0);
		tsr_gpu_touch(&dev, ctx, &filler);
		tsr_bo_free(&dev, &filler);
		require(tsr_bo_info(&dev, &bo).segment != vis->id);
		tsr_evict_set(tsr_bit(hid) | tsr_bit(gart));
		tsr_gpu_copy(&dev, ctx, &bo, &plain);
		tsr_bo_map(&dev, &bo);
		tsr_pattern_check(&bo, 60 + (uint32_t)round);
		tsr_bo_unmap(&bo);
	}
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (!tsr_event_is(ev, "kind", "transfer"))
			continue;
		to_pages += tsr_event_u64(ev, "dst") == 0 || tsr_event_u64(ev, "dst") == gart->id;
		from_pages += tsr_event_u64(ev, "src") == 0 || tsr_event_u64(ev, "src") == gart->id;
	}
	require(to_pages && from_pages);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-1 PAGE-2 PAGE-3 SEG-22 eviction is a transfer by the paging engine",
	  eviction_is_a_transfer, 0, 0 },
	{ "PAGE-6 SEG-22 memory without content is filled", new_memory_is_filled, 0, 0 },
	{ "PAGE-6 PAGE-8 SEG-22 apertures map and copy nothing", apertures_map_and_copy_nothing, 0,
	  0 },
	{ "PAGE-4 PAGE-5 transfers in several passes", several_passes, 0, 0 },
	{ "PAGE-7 only clean content is dropped", only_clean_content_is_dropped, 0, 0 },
	{ "PAGE-7 kept copies have a limit", kept_copies_have_a_limit, 0, 0 },
	{ "PAGE-7 cleared memory is not dropped", cleared_memory_is_not_dropped, 0, 0 },
	{ "PAGE-7 CPU writes through the BAR are not dropped", cpu_writes_are_not_dropped, 0, 0 },
	{ "PAGE-8 COH-13 entries say how pages are cached and used", entries_fit_the_pages, 0, 0 },
	{ "PAGE-9 unmapping leaves the rest of the aperture alone",
	  unmapping_leaves_neighbours_alone, 0, 0 },
	{ "PAGE-10 a busy object is moved when it is idle", busy_objects_are_moved_when_idle, 0,
	  0 },
	{ "PAGE-13 a move that overlaps itself", overlapping_moves, 0, 0 },
	{ "PAGE-4 PAGE-13 packets are bounded", packets_are_bounded, 0, 0 },
	{ "PAGE-13 a move up that overlaps itself takes several packets", moves_up_over_itself, 0,
	  0 },
	{ "PAGE-4 transfers of several clients do not mix", transfers_do_not_mix, 0, 60 },
	{ "SWZ-13 PAGE-13 a mapped object moves inside its segment", mapped_object_moves_inside, 0,
	  0 },
	{ "PAGE-9 DESTROY-1 a busy destroyed object keeps its placement", ranges_of_the_destroyed,
	  0, 0 },
	{ "PAGE-13 pages and segments on either side", sources_and_destinations, 0, 0 },
};

TSR_TEST_MAIN(tests)
