// SPDX-License-Identifier: MIT
/*
 * Submissions in parts beside other work on one engine, without and with
 * preemption. The parts must run back to back without preemption, and
 * interleaved with the other work with it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

#define SPLIT_JOBS 6
#define SPLIT_PARTS 5

/*
 * A job that must be split into SPLIT_PARTS: each object takes most of the
 * segment.
 */
static void build_split(struct tsr_device *dev, struct tsr_cmd *cmd, struct tsr_bo *bos,
			uint32_t value)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);

	tsr_cmd_init(cmd);
	for (uint32_t i = 0; i < SPLIT_PARTS; i++) {
		bos[i] = tsr_bo_new(dev, seg->size * 5 / 8 & ~4095ull, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(cmd, 0, &bos[i], true);
		tsr_cmd_fill(cmd, 0, 0, 1024, value + i);
	}
}

static void check_split(struct tsr_device *dev, uint32_t ctx, struct tsr_bo *bos, uint32_t value)
{
	uint32_t words[1024];

	for (uint32_t i = 0; i < SPLIT_PARTS; i++) {
		tsr_gpu_read(dev, ctx, &bos[i], 0, 1024, words);
		tsr_words_check(words, 1024, value + i);
	}
}

static void works_either_way(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), parts;
	struct tsr_bo bos[SPLIT_PARTS];
	struct tsr_cmd cmd;

	tap_note("preemption: %s", dev.info.caps & DRM_TESSERA_CAP_PREEMPTION ? "on" : "off");
	build_split(&dev, &cmd, bos, 100);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	require_eq(parts, SPLIT_PARTS);
	check_split(&dev, ctx, bos, 100);
	tsr_close(&dev);
}

static void split_client(void *arg)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), value = *(uint32_t *)arg;
	struct tsr_bo bos[SPLIT_PARTS];
	struct tsr_cmd cmd;

	build_split(&dev, &cmd, bos, value);
	for (int i = 0; i < SPLIT_JOBS; i++)
		require_eq(tsr_submit(&dev, ctx, &cmd, 0, 0), SPLIT_PARTS);
	check_split(&dev, ctx, bos, value);
	tsr_close(&dev);
}

static volatile sig_atomic_t stop;

static void on_term(int signal)
{
	stop = 1;
}

/* Jobs in one piece on objects that split jobs do not evict, until stopped. */
static void small_client(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0), jobs = 0;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, 1);
	while (!stop) {
		for (int i = 0; i < 8; i++, jobs++)
			tsr_submit(&dev, ctx, &cmd, 0, 0);
		tsr_bo_wait(&dev, &bo);
	}
	require(jobs);
	tsr_close(&dev);
}

struct run {
	uint64_t start, end;
	uint32_t ctx;
};

static int by_start(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The jobs that ran on the render engine, in the device's order. */
static struct run *render_runs(struct tsr_device *dev, const struct tsr_trace *trace, size_t *count)
{
	struct run *runs = calloc(tsr_trace_count(trace, "job_done") + 1, sizeof(*runs));
	size_t n = 0;

	require(runs);
	tsr_trace_for_each(trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev->render)
			continue;
		runs[n].ctx = (uint32_t)tsr_event_u64(ev, "ctx");
		runs[n].start = tsr_event_u64(ev, "start_ns");
		runs[n++].end = tsr_event_u64(ev, "end_ns");
	}
	qsort(runs, n, sizeof(*runs), by_start);
	*count = n;
	return runs;
}

/*
 * Counts how often another context ran between two parts of one job. The
 * split_part events say, for each context, how many parts its jobs have, in
 * order.
 */
static uint32_t count_intrusions(struct tsr_device *dev, const struct tsr_trace *trace,
				 uint32_t *split_jobs)
{
	uint32_t intrusions = 0;
	size_t count;
	struct run *runs = render_runs(dev, trace, &count);

	*split_jobs = 0;
	tsr_trace_for_each(trace, "split_part", ev) {
		uint64_t ctx = tsr_event_u64(ev, "ctx"), job = tsr_event_u64(ev, "job");
		uint32_t parts = 0, before = 0, seen = 0;

		if (tsr_event_u64(ev, "part"))
			continue;
		/* parts of this job, and of earlier jobs of its context */
		tsr_trace_for_each(trace, "split_part", other) {
			if (tsr_event_u64(other, "ctx") != ctx)
				continue;
			parts += tsr_event_u64(other, "job") == job;
			before += tsr_event_u64(other, "job") < job;
		}
		if (parts < 2)
			continue;
		*split_jobs += 1;
		for (size_t i = 0; i < count && seen < before + parts; i++) {
			if (runs[i].ctx == ctx)
				seen++;
			else if (seen > before)
				intrusions++;
		}
		require_eq(seen, before + parts);
	}
	free(runs);
	return intrusions;
}

static void check_between_parts(struct tsr_device *dev, uint32_t intrusions, uint32_t jobs,
				bool expect_some)
{
	tap_note("%u split jobs, %u jobs of others between their parts", jobs, intrusions);
	if (!(dev->info.caps & DRM_TESSERA_CAP_PREEMPTION))
		require_eq(intrusions, 0);
	else if (expect_some)
		require_msg(intrusions, "nothing ran between parts, though the device preempts");
}

static void against_small_jobs(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t value = 1000, intrusions, jobs;
	struct tsr_trace trace;
	pid_t small;

	signal(SIGTERM, on_term);
	tsr_trace_start("split_part", "job_done", NULL);
	small = tap_fork(small_client, NULL);
	tap_join(tap_fork(split_client, &value));
	kill(small, SIGTERM);
	tap_join(small);
	trace = tsr_trace_stop();
	intrusions = count_intrusions(&dev, &trace, &jobs);
	require_eq(jobs, SPLIT_JOBS);
	check_between_parts(&dev, intrusions, jobs, true);
	tsr_close(&dev);
}

/* All need the whole segment. Their parts and paging must not deadlock. */
static void two_split_clients(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t values[3] = { 1000, 2000, 3000 }, intrusions, jobs;
	struct tsr_trace trace;
	pid_t pids[3];

	tsr_trace_start("split_part", "job_done", NULL);
	for (int i = 0; i < 3; i++)
		pids[i] = tap_fork(split_client, &values[i]);
	for (int i = 0; i < 3; i++)
		tap_join(pids[i]);
	trace = tsr_trace_stop();
	intrusions = count_intrusions(&dev, &trace, &jobs);
	require_eq(jobs, 3 * SPLIT_JOBS);
	check_between_parts(&dev, intrusions, jobs, false);
	tsr_close(&dev);
}

/*
 * Parts that take some time and only read, with one output object that stays
 * bound over all cuts.
 */
static void build_reading(struct tsr_device *dev, struct tsr_cmd *cmd, struct tsr_bo *bos,
			  struct tsr_bo *out)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	uint64_t size = seg->size * 5 / 8 & ~4095ull;

	*out = tsr_bo_new(dev, size, tsr_bit(tsr_seg_hidden(dev)), 0);
	tsr_cmd_init(cmd);
	tsr_cmd_group_begin(cmd);
	tsr_cmd_bind_buffer(cmd, 1, out, true);
	for (uint32_t i = 0; i < SPLIT_PARTS; i++) {
		bos[i] = tsr_bo_new(dev, size, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(cmd, 0, &bos[i], false);
		tsr_cmd_group_end(cmd);
		for (uint32_t n = 0; n < 10; n++)
			tsr_cmd_copy(cmd, 1, 0, 0, 0, (uint32_t)(size / 4));
	}
}

/*
 * Paging runs on its own engine between two parts of one job. None begins while
 * a part runs, because the segment holds only what that part uses.
 */
static void paging_alternates_with_parts(bool read)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), between = 0;
	struct tsr_bo bos[SPLIT_PARTS], out;
	struct tsr_trace trace;
	struct tsr_cmd cmd;
	struct run *runs;
	size_t count;

	if (read)
		build_reading(&dev, &cmd, bos, &out);
	else
		build_split(&dev, &cmd, bos, 7);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_trace_start("job_done", NULL);
	tsr_submit_done(&dev, ctx, &cmd);
	trace = tsr_trace_stop();
	runs = render_runs(&dev, &trace, &count);
	require_eq(count, SPLIT_PARTS);
	for (size_t i = 0; i < count; i++) {
		uint32_t here = 0;

		tsr_trace_for_each(&trace, "job_done", ev) {
			uint64_t start = tsr_event_u64(ev, "start_ns");

			if (tsr_event_u64(ev, "engine") == dev.render)
				continue;
			require_msg(start < runs[i].start || start >= runs[i].end,
				    "paging began while part %zu ran", i);
			here += i && start >= runs[i - 1].end &&
				tsr_event_u64(ev, "end_ns") <= runs[i].start;
		}
		require_msg(!i || here, "no paging between part %zu and %zu", i - 1, i);
		between += here;
	}
	tap_note("%u paging jobs between %zu parts", between, count);
	free(runs);
	tsr_close(&dev);
}

static void paging_between_parts(void)
{
	paging_alternates_with_parts(false);
	paging_alternates_with_parts(true);
}

/* Contexts of one client, split and not, that depend on each other in turn. */
static void dependencies_across_contexts(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t split = tsr_context_new(&dev, 0), plain = tsr_context_new(&dev, 0);
	uint32_t chain = 0, next;
	struct tsr_bo bos[SPLIT_PARTS], bo;
	struct tsr_cmd big, small;

	build_split(&dev, &big, bos, 50);
	bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	tsr_cmd_init(&small);
	tsr_cmd_bind_buffer(&small, 0, &bo, true);
	tsr_cmd_fill(&small, 0, 0, 16, 1);
	for (int i = 0; i < 8; i++) {
		next = tsr_syncobj_new(&dev);
		tsr_submit(&dev, i & 1 ? split : plain, i & 1 ? &big : &small, chain, next);
		chain = next;
	}
	require_eq(tsr_syncobj_status(&dev, chain), 0);
	check_split(&dev, plain, bos, 50);
	tsr_close(&dev);
}

/* most unfinished parts, plus the parts of one batch */
#define PARTS_IN_FLIGHT (64 + 32)

/*
 * The first part accesses memory beyond its object, and fails. Later parts
 * would not run, so they must not be armed.
 */
static void failed_part_is_the_last(void)
{
	const uint32_t parts = 4 * PARTS_IN_FLIGHT;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct drm_tessera_submit args;
	struct tsr_rotation rot;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_rotation_init(&dev, &rot, parts, 0);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < parts; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &rot.bos[i % 2], true);
		tsr_cmd_fill(&cmd, 0, i ? 0 : rot.bos[0].size / 4, 1, i + 1);
	}
	tsr_trace_start("split_part", NULL);
	require_ok(__tsr_submit(&dev, ctx, &cmd, 0, done, &args));
	trace = tsr_trace_stop();
	require_err(tsr_syncobj_status(&dev, done), -EFAULT);
	require(args.num_parts <= PARTS_IN_FLIGHT);
	/* the job that ends the submission is not counted as a part */
	require_eq(args.num_parts, tsr_trace_count(&trace, "split_part"));
	tsr_trace_free(&trace);
	/* the context still works */
	tsr_submit(&dev, ctx, &rot.cmd, 0, done);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_rotation_check(&dev, ctx, &rot, parts);
	tsr_cmd_fini(&cmd);
	tsr_rotation_fini(&dev, &rot);
	tsr_close(&dev);
}

#define PREEMPT "/sys/kernel/debug/sched/preempt"
#define SECOND_CPU "/sys/devices/system/cpu/cpu1/online"

static char preempt[16]; /* the kernel's preemption mode, or empty if it cannot be chosen */

static void leave_one_cpu(void)
{
	tsr_write_file(SECOND_CPU, "1");
	if (preempt[0])
		tsr_write_file(PREEMPT, preempt);
}

/*
 * Takes the second CPU offline, and makes the kernel fully preemptible, so that
 * a thread inside the kernel loses the CPU to one of higher priority.
 */
static void enter_one_cpu(void)
{
	char *modes = tsr_read_file(PREEMPT), *now = modes ? strchr(modes, '(') : NULL;

	if (now)
		sscanf(now, "(%15[a-z])", preempt);
	free(modes);
	atexit(leave_one_cpu);
	if (preempt[0])
		require_ok(tsr_write_file(PREEMPT, "full"));
	require_ok(tsr_write_file(SECOND_CPU, "0"));
}

/* Uses the CPU so that a preempted thread does not continue soon. */
static void *take_cpu(void *arg)
{
	uint64_t until;

	while (!stop) {
		until = tap_now_ns() + 20000000;
		while (tap_now_ns() < until)
			;
		usleep(1000);
	}
	return NULL;
}

struct slow {
	struct tsr_device *dev;
	struct tsr_cmd cmd;
	uint32_t ctx, done, parts;
};

static void submit_slowly(void *arg)
{
	const struct sched_param param = { 0 };
	struct slow *slow = arg;

	require(!sched_setscheduler(0, SCHED_IDLE, &param));
	slow->parts = tsr_submit(slow->dev, slow->ctx, &slow->cmd, 0, slow->done);
}

/*
 * The submitting thread shares its only CPU with threads of higher priority. So
 * each part may end before the thread continues after pushing it. The
 * submission must still go on, however many parts end like that.
 */
static void parts_end_at_once(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct slow slow = {
		.dev = &dev,
		.ctx = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL),
		.done = tsr_syncobj_new(&dev),
	};
	const uint32_t parts = 2000;
	struct tsr_call call;
	pthread_t thread;

	if (tap_slow())
		tap_skip("it takes minutes here");
	tsr_cmd_init(&slow.cmd);
	for (uint32_t i = 0; i < parts; i++) {
		tsr_cmd_bind_buffer(&slow.cmd, 0, &bo, true);
		tsr_cmd_fill(&slow.cmd, 0, i % 1024, 1, i + 1);
	}
	enter_one_cpu();
	stop = 0;
	require(!pthread_create(&thread, NULL, take_cpu, NULL));
	tsr_call_start(&call, submit_slowly, &slow);
	tsr_wait_for(call.returned);
	tsr_call_join(&call);
	stop = 1;
	pthread_join(thread, NULL);
	require_ok(tsr_syncobj_status(&dev, slow.done));
	require_eq(slow.parts, parts);
	tsr_cmd_fini(&slow.cmd);
	tsr_close(&dev);
}

/*
 * SCHED-6 is only enforced with the leak check: that context is refused.
 * Without it SPLIT-17 holds, and the slot stays bound over the cut.
 */
static void leak_check_and_pins(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t strict = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_LEAK_CHECK |
							DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	uint32_t plain = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0), other;
	/* a part of the object, to check offset and limit of the slot */
	const struct tsr_surface second_half = {
		.format = TSR_FORMAT_R32,
		.access = TSR_SURF_READ | TSR_SURF_WRITE,
		.offset = 2048,
	};
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	uint32_t words[1024];

	other = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	tsr_gpu_fill(&dev, plain, &bo, 11);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind(&cmd, 0, &bo, &second_half);
	tsr_cmd_bind_buffer(&cmd, 1, &other, false);
	tsr_cmd_fill(&cmd, 0, 0, 1, 77); /* slot 0 was bound before the cut */
	require_err(__tsr_submit(&dev, strict, &cmd, 0, 0, &args), -EINVAL);
	require_eq(tsr_submit_status(&dev, plain, &cmd, NULL), 0);
	tsr_gpu_read(&dev, plain, &bo, 0, 1024, words);
	tsr_words_check(words, 512, 11);
	tsr_words_check(words + 512, 1, 77);
	tsr_words_check(words + 513, 511, 11);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-1 SPLIT-2 splitting works", works_either_way, 0, 0 },
	{ "SCHED-2 SCHED-5 parts against small jobs of another process", against_small_jobs, 0, 0 },
	{ "SCHED-2 SCHED-3 SCHED-5 three processes that all split", two_split_clients, 0, 0 },
	{ "SCHED-3 SCHED-4 paging between parts", paging_between_parts, 0, 0 },
	{ "SCHED-3 dependencies between split and plain contexts", dependencies_across_contexts, 0,
	  0 },
	{ "SCHED-2 SPLIT-35 the part that fails is the last one", failed_part_is_the_last,
	  TSR_EXPECT(SLOT_BOUNDS), 0 },
	{ "SCHED-2 parts that end before the submitting thread continues", parts_end_at_once, 0,
	  0 },
	{ "SCHED-6 SPLIT-17 PAGE-12 a slot left bound over a cut", leak_check_and_pins, 0, 0 },
};

TSR_TEST_MAIN(tests)
