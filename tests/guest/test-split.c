// SPDX-License-Identifier: MIT
/*
 * Splitting over the real ioctls: the worked example of the requirements
 * (section 3) with all variants. The unit is an eighth of the visible segment
 * (A 4, B 3, C 2 units; the segment holds 8). The tests check the bytes, the
 * parts, and what the tracepoints report.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "puzzle.h"
#include "trace.h"
#include "tsr.h"
#include "workload/workload.h"

#define LENGTH 0x400
#define FILL_VALUE 0x0f111e00u

/* variants of the example */
#define NO_E3 1 /* C is not rebound at 0x100 */
#define NO_E4 2 /* A is not unbound at 0x200 */
#define E5_SLOT_1 4 /* B comes back in slot 1 */
#define E2_LATER 8 /* A replaces B only at 0x180 */
#define LARGE_MEMORY 16 /* in the large segment: no cut is needed */

struct example {
	struct tsr_device dev;
	const struct drm_tessera_query_segment *seg;
	uint64_t unit;
	struct tsr_bo a, b, c;
	uint32_t ctx;
	struct tsr_cmd cmd;
};

static struct tsr_bo new_bo(struct example *x, uint64_t units, unsigned int variant)
{
	struct drm_tessera_bo_create args = {
		.size = units * x->unit,
		.supported = tsr_bit(x->seg),
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
	};

	if (variant & LARGE_MEMORY) {
		args.supported |= tsr_bit(tsr_seg_gart(&x->dev));
		args.num_preferred = 1;
		args.preferred[0] = (uint8_t)x->seg->id;
	}
	require_ok(__tsr_bo_create(x->dev.fd, &args));
	return (struct tsr_bo){ .handle = args.handle, .size = args.size };
}

static void build(struct example *x, unsigned int variant)
{
	struct tsr_cmd *c = &x->cmd;

	tsr_cmd_reset(c);
	tsr_cmd_group_begin(c);
	tsr_cmd_bind_buffer(c, 1, &x->b, false); /* e0 */
	tsr_cmd_bind_buffer(c, 2, &x->c, true); /* e1 */
	tsr_cmd_group_end(c);
	tsr_cmd_copy(c, 2, 0, 1, 0, 64);
	tsr_cmd_pad_to(c, 0x100);

	if (variant & E2_LATER) {
		tsr_cmd_bind_buffer(c, 2, &x->c, true); /* e3 */
		tsr_cmd_pad_to(c, 0x180);
		tsr_cmd_bind_buffer(c, 1, &x->a, false); /* e2 */
	} else {
		tsr_cmd_group_begin(c);
		tsr_cmd_bind_buffer(c, 1, &x->a, false); /* e2 */
		if (!(variant & NO_E3))
			tsr_cmd_bind_buffer(c, 2, &x->c, true); /* e3 */
		tsr_cmd_group_end(c);
	}
	tsr_cmd_copy(c, 2, 64, 1, 64, 64);
	tsr_cmd_pad_to(c, 0x200);

	if (!(variant & NO_E4))
		tsr_cmd_unbind(c, 1); /* e4 */
	tsr_cmd_fill(c, 2, 128, 64, FILL_VALUE);
	tsr_cmd_pad_to(c, 0x280);

	tsr_cmd_bind_buffer(c, variant & E5_SLOT_1 ? 1 : 3, &x->b, false); /* e5 */
	tsr_cmd_copy(c, 2, 192, variant & E5_SLOT_1 ? 1 : 3, 192, 64);
	tsr_cmd_pad_to(c, LENGTH);
}

static void prepare(struct example *x, unsigned int variant, uint32_t ctx_flags)
{
	memset(x, 0, sizeof(*x));
	x->dev = tsr_open();
	x->unit = tsr_seg_visible(&x->dev)->size / 8;
	x->seg = variant & LARGE_MEMORY ? tsr_seg_hidden(&x->dev) : tsr_seg_visible(&x->dev);
	x->ctx = tsr_context_new(&x->dev, ctx_flags);
	tsr_cmd_init(&x->cmd);
	x->a = new_bo(x, 4, variant);
	x->b = new_bo(x, 3, variant);
	x->c = new_bo(x, 2, variant);
	tsr_bo_map(&x->dev, &x->a);
	tsr_bo_map(&x->dev, &x->b);
	tsr_bo_map(&x->dev, &x->c);
	tsr_pattern_write(&x->a, 0xa);
	tsr_pattern_write(&x->b, 0xb);
	tsr_pattern_write(&x->c, 0xc);
	tsr_evict_all(&x->dev, x->ctx, tsr_seg_visible(&x->dev));
	build(x, variant);
}

/* C holds the first @steps results of four copies and fills of 64 words. */
static void check_c(struct example *x, int steps)
{
	const uint32_t *words = x->c.map;

	for (uint32_t i = 0; i < x->c.size / 4; i++) {
		uint32_t want = tsr_pattern(0xc, i);

		if (i < 64 && steps >= 1)
			want = tsr_pattern(0xb, i);
		else if (i >= 64 && i < 128 && steps >= 2)
			want = tsr_pattern(0xa, i);
		else if (i >= 128 && i < 192 && steps >= 3)
			want = FILL_VALUE;
		else if (i >= 192 && i < 256 && steps >= 4)
			want = tsr_pattern(0xb, i);
		require_msg(words[i] == want, "C, word %u: 0x%08x, not 0x%08x", i, words[i], want);
	}
	tsr_pattern_check(&x->a, 0xa);
	tsr_pattern_check(&x->b, 0xb);
}

/* ---- tracepoints ----------------------------------------------------- */

struct part {
	uint32_t start, end, first, count;
};

static uint32_t find_parts(const struct tsr_trace *trace, struct part *parts, uint32_t max)
{
	uint32_t count = 0;

	tsr_trace_for_each(trace, "split_part", ev) {
		require(count < max);
		parts[count].start = (uint32_t)tsr_event_u64(ev, "start");
		parts[count].end = (uint32_t)tsr_event_u64(ev, "end");
		parts[count].first = (uint32_t)tsr_event_u64(ev, "first_patch");
		parts[count].count = (uint32_t)tsr_event_u64(ev, "patches");
		require_eq(tsr_event_u64(ev, "part"), count);
		count++;
	}
	return count;
}

/* Ranges and entries of the parts are contiguous. */
static void parts_tile(const struct part *parts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		require(parts[i].start < parts[i].end);
		require_eq(parts[i].start, i ? parts[i - 1].end : 0);
		require_eq(parts[i].first, i ? parts[i - 1].first + parts[i - 1].count : 0);
	}
}

static uint32_t bo_id(const struct tsr_trace *trace, uint32_t which)
{
	uint32_t n = 0;

	tsr_trace_for_each(trace, "bo_create", ev) {
		if (n++ == which)
			return (uint32_t)tsr_event_u64(ev, "bo");
	}
	tap_fail(__FILE__, __LINE__, "object %u was not created in the trace", which);
}

/* The split_part event of part @n. */
static const struct tsr_event *part_event(const struct tsr_trace *trace, uint32_t n)
{
	tsr_trace_for_each(trace, "split_part", ev) {
		if (tsr_event_u64(ev, "part") == n)
			return ev;
	}
	return NULL;
}

/* True if there is such an event for @bo between parts @n - 1 and @n. */
static bool between(const struct tsr_trace *trace, uint32_t n, const char *name, uint32_t bo)
{
	const struct tsr_event *from = part_event(trace, n - 1);
	const struct tsr_event *to = part_event(trace, n);

	require(from);
	for (const struct tsr_event *ev = tsr_trace_next(trace, name, from); ev && (!to || ev < to);
	     ev = tsr_trace_next(trace, name, ev + 1))
		if (tsr_event_u64(ev, "bo") == bo)
			return true;
	return false;
}

static bool pinned(const struct tsr_trace *trace, uint32_t part, uint32_t bo)
{
	tsr_trace_for_each(trace, "split_pin", ev) {
		if (tsr_event_u64(ev, "part") == part && tsr_event_u64(ev, "bo") == bo)
			return true;
	}
	return false;
}

/*
 * Runs the example. The returned trace holds only the job. @ids receives the
 * object numbers used in the trace.
 */
static struct tsr_trace run_traced(struct example *x, unsigned int variant, uint32_t ctx_flags,
				   int *status, uint32_t *parts, uint32_t ids[3])
{
	struct tsr_trace trace;

	tsr_trace_start("bo_create", NULL);
	prepare(x, variant, ctx_flags);
	trace = tsr_trace_stop();
	for (uint32_t i = 0; i < 3; i++)
		ids[i] = bo_id(&trace, i);
	tsr_trace_free(&trace);

	tsr_trace_start(NULL, NULL);
	*status = tsr_submit_status(&x->dev, x->ctx, &x->cmd, parts);
	return tsr_trace_stop();
}

/* ---- tests ----------------------------------------------------------- */

static void base_case(void)
{
	const struct part want[] = { { 0, 0x100, 0, 2 },
				     { 0x100, 0x280, 2, 3 },
				     { 0x280, LENGTH, 5, 1 } };
	struct part parts[16];
	struct tsr_trace trace;
	struct example x;
	uint32_t num, ids[3];
	int status;

	trace = run_traced(&x, 0, 0, &status, &num, ids);
	require_eq(status, 0);
	require_eq(num, 3);
	check_c(&x, 4);
	require_eq(find_parts(&trace, parts, 16), 3);
	parts_tile(parts, 3);
	for (int i = 0; i < 3; i++)
		require(!memcmp(&parts[i], &want[i], sizeof(want[i])));
}

static void entries_and_table(void)
{
	/* number of slots bound after each entry */
	const uint32_t live[] = { 1, 2, 2, 2, 1, 2 };
	const uint32_t slots[] = { 1, 2, 1, 2, 1, 3 };
	const uint32_t offsets[] = { 0, 0, 0x100, 0x100, 0x200, 0x280 };
	struct tsr_trace trace;
	struct example x;
	uint32_t ids[3], n = 0;
	int status;

	trace = run_traced(&x, 0, 0, &status, NULL, ids);
	require_eq(status, 0);
	const uint32_t bos[] = { ids[1], ids[2], ids[0], ids[2], 0, ids[1] };

	tsr_trace_for_each(&trace, "split_entry", ev) {
		require_eq(tsr_event_u64(ev, "index"), n);
		require_eq(tsr_event_u64(ev, "slot"), slots[n]);
		require_eq(tsr_event_u64(ev, "bo"), bos[n]);
		require_eq(tsr_event_u64(ev, "split_offset"), offsets[n]);
		require_eq(tsr_event_u64(ev, "live"), live[n]);
		n++;
	}
	require_eq(n, 6);

	/* the next job of the context starts with an empty slot table */
	tsr_trace_start("split_entry", NULL);
	require_eq(tsr_submit_status(&x.dev, x.ctx, &x.cmd, NULL), 0);
	trace = tsr_trace_stop();
	require(trace.count == 6 && !strcmp(trace.events[0].name, "split_entry"));
	require_eq(tsr_event_u64(&trace.events[0], "index"), 0);
	require_eq(tsr_event_u64(&trace.events[0], "live"), 1);
}

static void page_ins_in_list_order(void)
{
	struct tsr_trace trace;
	struct example x;
	uint32_t ids[3], n = 0;
	int status;

	trace = run_traced(&x, 0, 0, &status, NULL, ids);
	require_eq(status, 0);
	const uint32_t order[] = { ids[1], ids[2], ids[0], ids[1] };

	/* the first transfer of each page-in */
	tsr_trace_for_each(&trace, "paging_op", ev) {
		uint32_t bo = (uint32_t)tsr_event_u64(ev, "bo");

		if (!tsr_event_is(ev, "kind", "transfer") || tsr_event_u64(ev, "src") != 0 ||
		    tsr_event_u64(ev, "dst") != x.seg->id)
			continue;
		if (n && order[n - 1] == bo)
			continue;
		require_msg(n < 4 && bo == order[n], "page-in %u is object %u", n, bo);
		n++;
	}
	require_eq(n, 4);
}

/* Without a split, too, page-ins follow the order of use, not of the list. */
static void page_ins_in_order_of_use(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), order[3], n = 0;
	struct tsr_trace trace;
	struct tsr_bo bos[3];
	struct tsr_cmd cmd;

	tsr_trace_start("bo_create", NULL);
	for (uint32_t i = 0; i < 3; i++)
		bos[i] = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), 0);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "bo_create", ev) {
		require(n < 3);
		order[n++] = (uint32_t)tsr_event_u64(ev, "bo");
	}
	tsr_trace_free(&trace);
	require_msg(n == 3, "expected 3 objects to be created, the trace has %u", n);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 3; i--;)
		tsr_cmd_alloc(&cmd, bos[i].handle, false);
	for (uint32_t i = 0; i < 3; i++)
		tsr_cmd_bind_buffer(&cmd, i, &bos[i], false);
	tsr_trace_start("paging_op", NULL);
	tsr_submit_done(&dev, ctx, &cmd);
	trace = tsr_trace_stop();
	n = 0;
	tsr_trace_for_each(&trace, "paging_op", ev) {
		uint64_t bo = tsr_event_u64(ev, "bo");

		if (!tsr_event_is(ev, "kind", "fill"))
			continue;
		require_msg(n < 3 && bo == order[n],
			    "expected page-in %u of 3 in the order of use, saw object %llu", n + 1,
			    (unsigned long long)bo);
		n++;
	}
	require_msg(n == 3, "expected 3 page-ins, saw %u", n);
	tsr_trace_free(&trace);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static void pins_and_evictions(void)
{
	struct tsr_trace trace;
	struct example x;
	uint32_t ids[3];
	int status;

	trace = run_traced(&x, 0, 0, &status, NULL, ids);
	require_eq(status, 0);
	/* both slots are reprogrammed at 0x100: no pin, B is evicted */
	require(!pinned(&trace, 1, ids[0]) && !pinned(&trace, 1, ids[1]) &&
		!pinned(&trace, 1, ids[2]));
	require(between(&trace, 1, "evict", ids[1]));
	require(!between(&trace, 1, "evict", ids[0]));
	/* at 0x280 C stays, the unbound A is evicted, and B comes back */
	require(pinned(&trace, 2, ids[2]));
	require(!pinned(&trace, 2, ids[0]) && !pinned(&trace, 2, ids[1]));
	require(between(&trace, 2, "evict", ids[0]));
	require(!between(&trace, 2, "evict", ids[2]));
	require(!between(&trace, 2, "place", ids[2]));
	require(!between(&trace, 2, "paging_op", ids[2]));
	require(between(&trace, 2, "place", ids[1]));
}

/* Checked in the order of the device's own clock. */
static void parts_and_paging_alternate(void)
{
	uint64_t part_end[8] = { 0 }, part_start[8] = { 0 };
	struct tsr_trace trace;
	struct example x;
	uint32_t ids[3], n = 0, paging = 0;
	int status;

	trace = run_traced(&x, 0, 0, &status, NULL, ids);
	require_eq(status, 0);
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != x.dev.render)
			continue;
		require(n < 8);
		part_start[n] = tsr_event_u64(ev, "start_ns");
		part_end[n++] = tsr_event_u64(ev, "end_ns");
		require_eq(tsr_event_u64(ev, "error"), 0);
	}
	require_msg(n == 3, "expected 3 parts to run, saw %u", n);
	require(part_end[0] <= part_start[1] && part_end[1] <= part_start[2]);
	tsr_trace_for_each(&trace, "job_done", ev) {
		uint64_t start = tsr_event_u64(ev, "start_ns"), end = tsr_event_u64(ev, "end_ns");

		if (tsr_event_u64(ev, "engine") == x.dev.render)
			continue;
		/* paging between two parts overlaps neither of them */
		for (uint32_t i = 0; i < n; i++)
			require_msg(end <= part_start[i] || start >= part_end[i],
				    "a paging job runs during part %u", i);
		if (start >= part_end[0] && end <= part_start[2])
			paging++;
	}
	require(paging >= 2);
}

/*
 * The example must end with -ENOSPC at a cut at @end, where C is pinned and no
 * hole is large enough for A.
 */
static void ends_at_a_cut(unsigned int variant, uint32_t end)
{
	struct tsr_trace trace;
	struct part parts[16];
	struct example x;
	uint32_t ids[3];
	int status;

	trace = run_traced(&x, variant, 0, &status, NULL, ids);
	require_eq(status, -ENOSPC);
	require_eq(find_parts(&trace, parts, 16), 1);
	parts_tile(parts, 1);
	require_eq(parts[0].end, end);
	/* the free bytes would be enough for A if they were contiguous */
	require(x.a.size + x.c.size <= x.seg->size);
	require(!between(&trace, 1, "place", ids[2]));
	require(!between(&trace, 1, "evict", ids[2]));
	require(!between(&trace, 1, "paging_op", ids[2]));
	tsr_trace_free(&trace);
	check_c(&x, 1);
	/* the context still works */
	build(&x, 0);
	require_eq(tsr_submit_status(&x.dev, x.ctx, &x.cmd, NULL), 0);
	tsr_close(&x.dev);
}

/* C is pinned in the middle of the segment at 0x100. */
static void without_rebind(void)
{
	ends_at_a_cut(NO_E3, 0x100);
}

static void without_unbind(void)
{
	struct drm_tessera_submit args;
	struct tsr_trace trace;
	struct example x;

	prepare(&x, NO_E4, 0);
	tsr_trace_start("split_part", NULL);
	require_err(__tsr_submit(&x.dev, x.ctx, &x.cmd, 0, 0, &args), -ENOSPC);
	require_eq(args.error_offset, 0x280);
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	check_c(&x, 0);
	/* the context still works */
	build(&x, 0);
	require_eq(tsr_submit_status(&x.dev, x.ctx, &x.cmd, NULL), 0);
	check_c(&x, 4);
}

static void replaced_instead_of_unbound(void)
{
	struct part parts[16];
	struct tsr_trace trace;
	struct example x;
	uint32_t ids[3];
	int status;

	trace = run_traced(&x, NO_E4 | E5_SLOT_1, 0, &status, NULL, ids);
	require_eq(status, 0);
	check_c(&x, 4);
	require_eq(find_parts(&trace, parts, 16), 3);
	require(parts[0].end == 0x100 && parts[1].end == 0x280 && parts[2].end == LENGTH);
}

/* C is rebound at 0x100, but the cut is at 0x180, so C is pinned there. */
static void rebind_only_helps_at_the_cut(void)
{
	ends_at_a_cut(E2_LATER, 0x180);
}

static void large_enough(void)
{
	struct part parts[16];
	struct tsr_trace trace;
	struct example x;
	uint32_t num;
	int status;

	prepare(&x, LARGE_MEMORY, 0);
	if (x.seg->size < 9 * x.unit)
		tap_skip("the second segment is too small");
	tsr_trace_start("split_part", NULL);
	status = tsr_submit_status(&x.dev, x.ctx, &x.cmd, &num);
	trace = tsr_trace_stop();
	require_eq(status, 0);
	require_eq(num, 1);
	require(find_parts(&trace, parts, 16) <= 1);
	check_c(&x, 4);
}

static void forced_everywhere(void)
{
	const uint32_t ends[] = { 0x100, 0x200, 0x280, LENGTH };
	struct part parts[16];
	struct tsr_trace trace;
	struct example x;
	uint32_t ids[3], num;
	int status;

	trace = run_traced(&x, 0, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL, &status, &num, ids);
	require_eq(status, 0);
	require_eq(num, 4);
	check_c(&x, 4);
	require_eq(find_parts(&trace, parts, 16), 4);
	parts_tile(parts, 4);
	for (int i = 0; i < 4; i++)
		require_eq(parts[i].end, ends[i]);
}

/* The same bytes in one piece, cut everywhere, and cut at random. */
static void forced_modes_agree(void)
{
	const uint32_t flags[] = { 0, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL,
				   DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM,
				   DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM };
	uint64_t seed = tap_seed(0x5151);
	uint64_t hash[4];
	uint32_t parts[4] = { 0 };

	for (int mode = 0; mode < 4; mode++) {
		struct tsr_device dev = tsr_open();
		const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
		const struct wl_config config = {
			.seed = seed,
			.kinds = 1 << WL_VISIBLE | 1 << WL_TILED | 1 << WL_EITHER,
			.live_64ths = 8,
			.total_bytes = seg->size / 4,
			.max_bytes = seg->size / 64,
		};
		struct drm_tessera_context_create ctx = {
			.flags = flags[mode],
			.engine = dev.render,
			.split_seed = mode >= 2 ? 77u + (uint32_t)mode : 0,
		};
		struct workload wl;

		require_ok(__tsr_context_create(dev.fd, &ctx));
		wl_init(&wl, &dev, &config);
		for (int i = 0; i < 10; i++) {
			uint32_t num;

			wl_build(&wl, 12);
			require_eq(tsr_submit_status(&dev, ctx.id, &wl.cmd, &num), 0);
			wl_apply(&wl, UINT32_MAX);
			parts[mode] += num;
		}
		wl_check(&wl);
		hash[mode] = wl_hash(&wl);
		wl_fini(&wl);
		tsr_close(&dev);
	}
	tap_note("parts: none %u, all %u, random %u and %u", parts[0], parts[1], parts[2],
		 parts[3]);
	require_eq(parts[0], 10);
	require_eq(parts[1], 120);
	require(parts[2] > 10 && parts[2] < 120);
	for (int mode = 1; mode < 4; mode++)
		require(hash[mode] == hash[0]);
}

/* Six objects take turns in one slot, with space for one: six parts. */
static void rotating(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[6];
	struct tsr_cmd cmd;
	uint32_t parts, word;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 6; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, i, 1, 0x100 + i);
	}
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	require_eq(parts, 6);
	for (uint32_t i = 0; i < 6; i++) {
		tsr_gpu_read(&dev, ctx, &bos[i], i, 1, &word);
		require_eq(word, 0x100 + i);
	}
	tsr_close(&dev);
}

/*
 * Objects pinned at the cut before part @n must not move until the next part,
 * or the end. Returns their number.
 */
static uint32_t pins_stay(const struct tsr_trace *trace, uint32_t n)
{
	uint32_t pins = 0;

	tsr_trace_for_each(trace, "split_pin", ev) {
		uint32_t bo = (uint32_t)tsr_event_u64(ev, "bo");

		if (tsr_event_u64(ev, "part") != n)
			continue;
		require_msg(!between(trace, n, "place", bo) && !between(trace, n, "evict", bo),
			    "object %u is pinned at the cut behind part %u, and moves there", bo,
			    n - 1);
		pins++;
	}
	return pins;
}

static void fails_late(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t offsets[TSR_PUZZLE_STEPS + 1], num, part = 0, end = 0, ran = 0, units = 0;
	struct tsr_bo bos[TSR_PUZZLE_OBJECTS], log = tsr_puzzle_objects(&dev, bos);
	const uint32_t *steps = log.map;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_puzzle_build(&cmd, bos, &log, false, offsets);
	tsr_trace_start("split_part", "split_pin", "place", "evict", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &num), -ENOSPC);
	trace = tsr_trace_stop();

	/* exactly the parts in the trace have run: the first whole steps */
	tsr_trace_for_each(&trace, "split_part", ev) {
		require_eq(tsr_event_u64(ev, "part"), part++);
		require_eq(tsr_event_u64(ev, "start"), end);
		end = (uint32_t)tsr_event_u64(ev, "end");
	}
	require(part >= 1 && end < offsets[TSR_PUZZLE_STEPS]);
	while (offsets[ran] < end)
		ran++;
	require_eq(offsets[ran], end);
	for (uint32_t s = 0; s < TSR_PUZZLE_STEPS; s++)
		require_eq(steps[s], s < ran);
	/* the next step fits by size, but not beside the pinned objects */
	for (uint32_t i = 0; i < TSR_PUZZLE_OBJECTS; i++)
		if (tsr_puzzle[i].from <= ran && tsr_puzzle[i].to > ran)
			units += tsr_puzzle[i].units;
	require(units <= 8);
	require_msg(pins_stay(&trace, part),
		    "expected objects to be pinned at the cut that failed");
	for (uint32_t n = 1; n < part; n++)
		pins_stay(&trace, n);
	tsr_trace_free(&trace);
	tap_note("%u parts, %u of %u steps ran", part, ran, TSR_PUZZLE_STEPS);

	/* the context is not banned, and no resource is leaked */
	tsr_gpu_fill(&dev, ctx, &log, 5);
	tsr_words_check(log.map, 16, 5);
	tsr_close(&dev);
}

/* The same with every live slot rebound at every split point: all may move. */
static void rebinding_lets_them_move(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t offsets[TSR_PUZZLE_STEPS + 1], num, moved = 0;
	struct tsr_bo bos[TSR_PUZZLE_OBJECTS], log = tsr_puzzle_objects(&dev, bos);
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_puzzle_build(&cmd, bos, &log, true, offsets);
	tsr_trace_start("paging_op", "evict", "place", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &num), 0);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		uint32_t seg = tsr_seg_visible(&dev)->id;

		moved += tsr_event_is(ev, "kind", "transfer") && tsr_event_u64(ev, "src") == seg &&
			 tsr_event_u64(ev, "dst") == seg;
	}
	/* no fixed placement exists: an object moved, inside or out and in */
	tap_note("%u parts, %u moves inside the segment, %zu evictions", num, moved,
		 tsr_trace_count(&trace, "evict"));
	require(moved || tsr_trace_count(&trace, "evict"));

	/* each step wrote its word, wherever the object was */
	for (uint32_t i = 0; i < TSR_PUZZLE_OBJECTS; i++) {
		uint32_t words[TSR_PUZZLE_STEPS];

		tsr_gpu_read(&dev, ctx, &bos[i], 0, TSR_PUZZLE_STEPS, words);
		for (uint32_t s = 0; s < TSR_PUZZLE_STEPS; s++) {
			bool live = tsr_puzzle[i].from <= s && tsr_puzzle[i].to > s;

			require_eq(words[s], live ? 0x1000 * (i + 1) + s : 0);
		}
	}
	tsr_close(&dev);
}

/* A replaced object stays resident until the part that used it ends. */
static void replaced_stays_until_the_part_ends(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t unit = seg->size / 8, part_end = 0;
	uint32_t ctx = tsr_context_new(&dev, 0), parts, word;
	struct tsr_trace trace;
	struct tsr_bo b, a, d;
	struct tsr_cmd cmd;

	tsr_trace_start(NULL, NULL);
	b = tsr_bo_new(&dev, 2 * unit, tsr_bit(seg), 0);
	a = tsr_bo_new(&dev, 2 * unit, tsr_bit(seg), 0);
	d = tsr_bo_new(&dev, 6 * unit, tsr_bit(seg), 0);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &b, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(b.size / 4), 1);
	tsr_cmd_bind_buffer(&cmd, 0, &a, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(a.size / 4), 2);
	tsr_cmd_bind_buffer(&cmd, 0, &d, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(d.size / 4), 3);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	trace = tsr_trace_stop();
	require_eq(parts, 2);

	uint32_t ids[] = { bo_id(&trace, 0), bo_id(&trace, 1) };

	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") == dev.render && !part_end)
			part_end = tsr_event_u64(ev, "end_ns");
	}
	require(part_end);
	/* transfers out of B and A must start after part 0 */
	tsr_trace_for_each(&trace, "paging_op", op) {
		uint64_t seqno = tsr_event_u64(op, "seqno"), bo = tsr_event_u64(op, "bo");

		if ((bo != ids[0] && bo != ids[1]) || tsr_event_u64(op, "src") != seg->id)
			continue;
		tsr_trace_for_each(&trace, "job_done", ev) {
			if (tsr_event_u64(ev, "engine") != dev.render &&
			    tsr_event_u64(ev, "seqno") == seqno)
				require(tsr_event_u64(ev, "start_ns") >= part_end);
		}
	}
	tsr_gpu_read(&dev, ctx, &b, 7, 1, &word);
	require_eq(word, 1);
	tsr_gpu_read(&dev, ctx, &a, 7, 1, &word);
	require_eq(word, 2);
	tsr_gpu_read(&dev, ctx, &d, 7, 1, &word);
	require_eq(word, 3);
	tsr_close(&dev);
}

/* Written in part 0, evicted, and read again in the last part. */
static void written_is_never_discarded(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo w = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);
	struct tsr_bo big = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	struct tsr_bo out = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)),
				       DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	uint32_t ctx = tsr_context_new(&dev, 0), parts;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &out);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &w, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(w.size / 4), 0x77);
	tsr_cmd_bind_buffer(&cmd, 0, &big, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 1);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &w, true);
	tsr_cmd_bind_buffer(&cmd, 1, &out, true);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 1, 0, 0, (uint32_t)(w.size / 4) - 1024, 1024);
	tsr_trace_start("paging_op", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	trace = tsr_trace_stop();
	require_eq(parts, 3);
	tsr_trace_for_each(&trace, "paging_op", ev)
		require(!tsr_event_is(ev, "kind", "discard"));
	tsr_words_check(out.map, 1024, 0x77);
	tsr_close(&dev);
}

/* ---- the lists are copied once --------------------------------------- */

struct race {
	volatile bool stop;
	struct drm_tessera_submit_patch *patches;
	struct drm_tessera_submit_alloc *allocs;
	uint32_t *commands;
	uint32_t handle;
};

static void *race_thread(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		r->patches[0].slot_id = 0xffffffff;
		r->allocs[0].handle = 0x7ffffff;
		r->commands[0] = 0xffffffff;
		__sync_synchronize();
		r->patches[0].slot_id = 0;
		r->allocs[0].handle = r->handle;
		r->commands[0] = TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS);
		__sync_synchronize();
	}
	return NULL;
}

static void lists_are_copied_once(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), good = 0, bad = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	struct race race;
	pthread_t thread;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	cmd.patches[0].driver_id = 0xdeadbeef; /* opaque to the kernel: any value is valid */
	tsr_cmd_fill(&cmd, 0, 0, 16, 1);
	race = (struct race){ .patches = cmd.patches,
			      .allocs = cmd.allocs,
			      .commands = cmd.dw,
			      .handle = bo.handle };
	require(!pthread_create(&thread, NULL, race_thread, &race));
	for (int i = 0; i < (tap_slow() ? 500 : 4000); i++) {
		int rc = __tsr_submit(&dev, ctx, &cmd, 0, 0, &args);

		require_msg(rc == 0 || rc == -EINVAL || rc == -ENOENT, "submit: %d", rc);
		if (rc)
			bad++;
		else
			good++;
	}
	race.stop = true;
	pthread_join(thread, NULL);
	tsr_bo_wait(&dev, &bo);
	tap_note("%u accepted, %u refused", good, bad);
	/* the harness checks that accepted jobs caused no device error */
	tsr_close(&dev);
}

/* ---- state is undefined at a split point ----------------------------- */

static void set_state(struct tsr_cmd *cmd)
{
	uint32_t *p = tsr_cmd_packet(cmd, TSR_OP_SET_STATE, 0, 2 + TSR_STATE_COUNT + 1);

	p[1] = TSR_STATE_TARGET_SLOT | TSR_STATE_COUNT << 16;
	p[2 + TSR_STATE_TARGET_SLOT] = 0;
	p[2 + TSR_STATE_SCISSOR_MAX] = 64 | 64 << 16;
	p[2 + TSR_STATE_BLEND] = TSR_BLEND_NONE;
	p[2 + TSR_STATE_COLOR] = 0xffffffff;
}

static void draw(struct tsr_cmd *cmd)
{
	uint32_t *p = tsr_cmd_packet(cmd, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS);

	p[1] = 1;
	p[3] = 3;
}

static int draw_twice(struct tsr_device *dev, uint32_t ctx_flags, bool conforming, uint32_t *pixels)
{
	const struct tsr_surface target = { .format = TSR_FORMAT_ARGB8888,
					    .access = TSR_SURF_READ | TSR_SURF_WRITE,
					    .pitch = 256,
					    .width = 64,
					    .height = 64 };
	uint32_t gart = tsr_bit(tsr_seg_gart(dev));
	const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
	struct tsr_bo image = tsr_bo_new(dev, 16384, gart, cached);
	struct tsr_bo vertices = tsr_bo_new(dev, 4096, gart, cached);
	uint32_t ctx = tsr_context_new(dev, ctx_flags);
	int32_t *v = tsr_bo_map(dev, &vertices);
	struct tsr_cmd cmd;
	int status;

	for (int i = 0; i < 3; i++) {
		v[i * 6 + TSR_VERTEX_X / 4] = i == 1 ? 128 * 256 : 0;
		v[i * 6 + TSR_VERTEX_Y / 4] = i == 2 ? 128 * 256 : 0;
		v[i * 6 + TSR_VERTEX_COLOR / 4] = (int32_t)0xff00ff00;
	}
	tsr_cmd_init(&cmd);
	for (int i = 0; i < 2; i++) {
		tsr_cmd_group_begin(&cmd);
		tsr_cmd_bind(&cmd, 0, &image, &target);
		tsr_cmd_bind_buffer(&cmd, 1, &vertices, false);
		tsr_cmd_group_end(&cmd);
		if (!i || conforming)
			set_state(&cmd);
		draw(&cmd);
	}
	status = tsr_submit_status(dev, ctx, &cmd, NULL);
	memcpy(pixels, tsr_bo_map(dev, &image), 16384);
	tsr_cmd_fini(&cmd);
	tsr_bo_free(dev, &image);
	tsr_bo_free(dev, &vertices);
	return status;
}

static void state_must_be_emitted_again(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t whole[4096], cut[4096];

	require_eq(draw_twice(&dev, 0, true, whole), 0);
	tsr_words_check(whole, 64, 0xff00ff00);
	require_eq(draw_twice(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL, true, cut), 0);
	require(!memcmp(whole, cut, sizeof(whole)));
	/* without a cut, the missing state does not matter */
	require_eq(draw_twice(&dev, 0, false, cut), 0);
	require(!memcmp(whole, cut, sizeof(whole)));
	tsr_close(&dev);
}

static void forgotten_state_is_found(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t cut[4096];

	if (!(dev.info.caps & DRM_TESSERA_CAP_STRICT))
		tap_skip("the device is not strict");
	/* with a cut, the device reports it */
	require_eq(draw_twice(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL, false, cut), -EFAULT);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-9 SPLIT-1 SPLIT-2 SPLIT-14 SPLIT-15 SPLIT-28 SPLIT-35 MODEL-3 MODEL-4 the worked "
	  "example: three parts",
	  base_case, 0, 0 },
	{ "SPLIT-5 SPLIT-7 SPLIT-8 SPLIT-11 entries and the slot table", entries_and_table, 0, 0 },
	{ "SPLIT-13 page-ins follow the list", page_ins_in_list_order, 0, 0 },
	{ "SPLIT-13 page-ins follow the order of use", page_ins_in_order_of_use, 0, 0 },
	{ "SPLIT-10 SPLIT-16 SPLIT-17 SPLIT-18 SPLIT-21 SPLIT-25 PAGE-12 MODEL-5 pins and "
	  "evictions",
	  pins_and_evictions, 0, 0 },
	{ "SPLIT-9 SPLIT-35 SCHED-3 SCHED-4 parts and paging alternate on the device",
	  parts_and_paging_alternate, 0, 0 },
	{ "SPLIT-17 SPLIT-23 variant: C is not bound again", without_rebind, 0, 0 },
	{ "SPLIT-22 SPLIT-34 variant: A is not unbound", without_unbind, 0, 0 },
	{ "SPLIT-10 variant: B replaces A", replaced_instead_of_unbound, 0, 0 },
	{ "SPLIT-25 variant: C bound again at a split point without a cut",
	  rebind_only_helps_at_the_cut, 0, 0 },
	{ "SPLIT-2 variant: a larger segment, one part", large_enough, 0, 0 },
	{ "SPLIT-3 SPLIT-15 variant: cut at every split point", forced_everywhere, 0, 0 },
	{ "SPLIT-3 forced none, all and random leave the same bytes", forced_modes_agree, 0, 240 },
	{ "SPLIT-19 rotating allocations", rotating, 0, 0 },
	{ "SPLIT-24 SPLIT-34 SPLIT-35 ERR-16 fragmentation fails late", fails_late, 0, 0 },
	{ "SPLIT-23 SPLIT-25 SPLIT-26 SPLIT-27 MODEL-1 bound again everywhere, it succeeds",
	  rebinding_lets_them_move, 0, 0 },
	{ "SPLIT-32 replaced in a part, resident until its end", replaced_stays_until_the_part_ends,
	  0, 0 },
	{ "SPLIT-31 PAGE-7 a written allocation is never discarded", written_is_never_discarded, 0,
	  0 },
	{ "SPLIT-29 lists rewritten during the call", lists_are_copied_once, 0, 0 },
	{ "SPLIT-4 state emitted again survives every cut", state_must_be_emitted_again, 0, 0 },
	{ "SPLIT-4 forgotten state is found by the device", forgotten_state_is_found,
	  TSR_EXPECT(STRICT_STATE), 0 },
};

TSR_TEST_MAIN(tests)
