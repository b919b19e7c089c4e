// SPDX-License-Identifier: MIT
/*
 * Paging of one client must not delay another. A's eviction waits for jobs of
 * A, each of which takes the device 100 ms (test-page-others.args). B, on the
 * other render engine, shares no object and no placement with A, and must
 * finish before A's jobs.
 */
#include <unistd.h>

#include "host.h"
#include "stall.h"

#define A_JOBS (tap_slow() ? 50 : 25) /* seconds of device time */

struct stage {
	struct tsr_device a, b; /* two files */
	struct tsr_bo busy, next; /* objects of A that do not fit together */
	uint32_t ctx_a, ctx_b, sync;
};

static void bind_and_fill(struct tsr_cmd *cmd, const struct tsr_bo *bo, uint32_t value)
{
	tsr_cmd_init(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	tsr_cmd_fill(cmd, 0, 0, (uint32_t)(bo->size / 4), value);
}

/*
 * Jobs of A use an object. A further job needs its space, so an eviction waits
 * for those jobs, and a page-in waits for the eviction.
 */
static void a_pages_behind_jobs(struct stage *stage, const struct drm_tessera_query_segment *seg)
{
	uint64_t size = seg->commit_limit * 5 / 8;
	struct tsr_cmd cmd;

	stage->busy = tsr_bo_new(&stage->a, size, tsr_bit(seg), 0);
	stage->next = tsr_bo_new(&stage->a, size, tsr_bit(seg), 0);
	stage->ctx_a = tsr_context_new(&stage->a, 0);
	stage->sync = tsr_syncobj_new(&stage->a);
	tsr_gpu_touch(&stage->a, stage->ctx_a, &stage->busy);
	bind_and_fill(&cmd, &stage->busy, 7);
	for (int i = 0; i < A_JOBS; i++)
		tsr_submit(&stage->a, stage->ctx_a, &cmd, 0, stage->sync);
	tsr_cmd_fini(&cmd);
	bind_and_fill(&cmd, &stage->next, 8);
	tsr_submit(&stage->a, stage->ctx_a, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
	require_eq(tsr_bo_info(&stage->a, &stage->busy).segment, 0);
}

static void stage_init(struct stage *stage)
{
	stage->a = tsr_open();
	stage->b = tsr_open();
	stage->ctx_b = tsr_context_on(&stage->b, tsr_second_engine(&stage->b));
}

/* A's jobs must have been pending all the time. */
static void stage_fini(struct stage *stage)
{
	require_err(__tsr_syncobj_wait(stage->a.fd, stage->sync, 0, 0), -ETIME);
	require_ok(tsr_syncobj_status(&stage->a, stage->sync));
	tsr_bo_wait(&stage->a, &stage->next);
	tsr_close(&stage->b);
	tsr_close(&stage->a);
}

/*
 * Run a job of B on a new object, which needs a placement and a clear or a map.
 */
static void b_uses_new_object(struct stage *stage, const struct drm_tessera_query_segment *seg)
{
	struct tsr_bo bo = tsr_bo_new(&stage->b, 65536, tsr_bit(seg), 0);
	uint64_t start = tap_now_ns();

	tsr_gpu_fill(&stage->b, stage->ctx_b, &bo, 3);
	tap_note("segment %u: %llu ms", seg->id,
		 (unsigned long long)(tap_now_ns() - start) / 1000000);
	require_err(__tsr_syncobj_wait(stage->a.fd, stage->sync, 0, 0), -ETIME);
}

static void beside(const struct drm_tessera_query_segment *(*a_seg)(struct tsr_device *dev),
		   const struct drm_tessera_query_segment *(*b_seg)(struct tsr_device *dev))
{
	struct stage stage;

	stage_init(&stage);
	a_pages_behind_jobs(&stage, a_seg(&stage.a));
	b_uses_new_object(&stage, b_seg(&stage.b));
	stage_fini(&stage);
}

static void another_segment(void)
{
	beside(tsr_seg_visible, tsr_seg_hidden);
}

static void an_aperture(void)
{
	beside(tsr_seg_visible, tsr_seg_gart);
}

/*
 * There is free space beside the object that A evicts. A placement there
 * depends on no other client.
 */
static void another_range(void)
{
	beside(tsr_seg_visible, tsr_seg_visible);
}

static void another_range_of_an_aperture(void)
{
	beside(tsr_seg_gart, tsr_seg_gart);
}

/* A's unmap waits while B's object moves in other segments. */
static void unmapping(void)
{
	beside(tsr_seg_gart, tsr_seg_hidden);
}

/* A CPU access evicts an object of B and sees its contents. */
static void cpu_fault(void)
{
	struct stage stage;
	struct tsr_bo bo;
	uint64_t start;

	stage_init(&stage);
	bo = tsr_bo_new(&stage.b, MiB(1),
			tsr_bit(tsr_seg_hidden(&stage.b)) | tsr_bit(tsr_seg_gart(&stage.b)),
			DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	tsr_bo_map(&stage.b, &bo);
	tsr_pattern_write(&bo, 5);
	tsr_gpu_touch(&stage.b, stage.ctx_b, &bo);
	require_eq(tsr_bo_info(&stage.b, &bo).segment, tsr_seg_hidden(&stage.b)->id);
	a_pages_behind_jobs(&stage, tsr_seg_visible(&stage.a));
	start = tap_now_ns();
	tsr_pattern_check(&bo, 5);
	tap_note("CPU fault: %llu ms", (unsigned long long)(tap_now_ns() - start) / 1000000);
	stage_fini(&stage);
}

static void check_all(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo, uint32_t value)
{
	static uint32_t words[KiB(512) / 4];

	for (uint64_t at = 0; at < bo->size; at += sizeof(words)) {
		uint64_t bytes = bo->size - at < sizeof(words) ? bo->size - at : sizeof(words);

		tsr_gpu_read(dev, ctx, bo, at / 4, (uint32_t)(bytes / 4), words);
		tsr_words_check(words, bytes / 4, value);
	}
}

static void queue_fills(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
			uint32_t sync, uint32_t jobs, uint32_t value)
{
	struct tsr_cmd cmd;

	bind_and_fill(&cmd, bo, value);
	while (jobs--)
		tsr_submit(dev, ctx, &cmd, 0, sync);
	tsr_cmd_fini(&cmd);
}

/*
 * B and C take the whole segment while jobs of two other clients still use its
 * halves, one half longer than the other. B and C must wait for all releases
 * that their placements overlap, not only for the first.
 */
static void taken_while_in_use(void)
{
	struct tsr_device a[2] = { tsr_open(), tsr_open() }, b = tsr_open(), c = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&b);
	struct tsr_bo most = tsr_bo_new(&b, seg->size - KiB(4), tsr_bit(seg), 0), halves[2];
	struct tsr_bo rest = tsr_bo_new(&c, KiB(4), tsr_bit(seg), 0);
	uint32_t ctx_a[2], ctx_b, ctx_c, sync[4];

	ctx_b = tsr_context_on(&b, tsr_second_engine(&b));
	ctx_c = tsr_context_on(&c, tsr_second_engine(&c));
	for (uint32_t i = 0; i < 2; i++) {
		ctx_a[i] = tsr_context_new(&a[i], 0);
		sync[i] = tsr_syncobj_new(&a[i]);
		halves[i] = tsr_bo_new(&a[i], seg->size / 2, tsr_bit(seg), 0);
		tsr_gpu_touch(&a[i], ctx_a[i], &halves[i]);
	}
	sync[2] = tsr_syncobj_new(&b);
	sync[3] = tsr_syncobj_new(&c);
	queue_fills(&a[0], ctx_a[0], &halves[0], sync[0], 2, 5);
	queue_fills(&a[1], ctx_a[1], &halves[1], sync[1], 6, 6);
	queue_fills(&b, ctx_b, &most, sync[2], 1, 7);
	queue_fills(&c, ctx_c, &rest, sync[3], 1, 8);
	for (uint32_t i = 0; i < 2; i++)
		require_ok(tsr_syncobj_status(&a[i], sync[i]));
	require_ok(tsr_syncobj_status(&b, sync[2]));
	require_ok(tsr_syncobj_status(&c, sync[3]));
	check_all(&c, ctx_c, &rest, 8);
	check_all(&b, ctx_b, &most, 7);
	for (uint32_t i = 0; i < 2; i++)
		check_all(&a[i], ctx_a[i], &halves[i], 5 + i);
	tsr_close(&c);
	tsr_close(&b);
	for (uint32_t i = 0; i < 2; i++)
		tsr_close(&a[i]);
}

/* paging jobs of one client in the ring, if they move few bytes */
#define IN_RING 16

static void use_new(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_bo bo = tsr_bo_new(dev, KiB(16), tsr_bit(tsr_seg_hidden(dev)), 0);

	require_ok(__tsr_submit_use(dev, ctx, &bo, true));
}

static void uses_one(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);

	use_new(&dev, tsr_context_new(&dev, 0));
	client->state->ready = true;
	pause();
}

/* Each client's paging jobs have their own seqnos. */
static void check_given(const struct tsr_trace *trace, uint32_t engine)
{
	uint64_t first = 0, last = 0;
	uint32_t given = 0;

	tsr_trace_for_each(trace, "job_run", ev) {
		uint64_t seqno = tsr_event_u64(ev, "seqno");

		require_eq(tsr_event_u64(ev, "engine"), engine);
		first = given ? first : seqno;
		last = seqno > last ? seqno : last;
		given++;
	}
	/* A's jobs come first, and B's seqnos are lower than A's. */
	require_eq(last - first + 1, IN_RING);
	require(given > IN_RING);
}

/* One client's queued jobs leave space in the ring for another client's. */
static void ring_is_not_full(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_client b = { 0 };
	struct tsr_trace trace;

	tsr_job_timeout("300000");
	tsr_trace_start("job_run", NULL);
	tsr_engine_hang_next(dev.paging);
	use_new(&dev, ctx);
	tsr_wait_for(tsr_engine_hangs());
	for (uint32_t i = 0; i < IN_RING + 8; i++)
		use_new(&dev, ctx);
	tsr_wait_for(tsr_trace_so_far("job_run", 0) >= IN_RING);
	tsr_client_start(&b, uses_one, 0);
	tsr_wait_for(b.state->ready);
	/* B's job was queued after all of A's. */
	tsr_wait_for(tsr_trace_so_far("job_run", 0) > IN_RING);
	trace = tsr_trace_stop();
	check_given(&trace, dev.paging);
	tsr_trace_free(&trace);
	tsr_engine_release();
	tsr_client_kill(&b);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-7 PAGE-3 a placement waits for all releases that it overlaps", taken_while_in_use, 0,
	  0 },
	{ "PAGE-3 SEG-7 other clients' paging in another segment does not wait", another_segment, 0,
	  0 },
	{ "PAGE-3 SEG-7 other clients' mapping in an aperture does not wait", an_aperture, 0, 0 },
	{ "PAGE-3 other clients' paging in another range does not wait", another_range, 0, 0 },
	{ "PAGE-3 other clients' mapping in another range does not wait",
	  another_range_of_an_aperture, 0, 0 },
	{ "PAGE-3 SEG-7 other clients' paging does not wait for an unmap", unmapping, 0, 0 },
	{ "PAGE-3 a long queue leaves space in the ring for other clients", ring_is_not_full, 0,
	  0 },
	{ "PAGE-3 SWZ-13 other clients' CPU faults", cpu_fault, 0, 0 },
};

TSR_TEST_MAIN(tests)
