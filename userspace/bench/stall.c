// SPDX-License-Identifier: MIT
/*
 * Time that a client waits for its small job while another client keeps the
 * engine busy.
 *
 * B, the waiting client, is this process. A is another process with long
 * submissions in turn: submissions in parts, because their objects do not fit,
 * or complete ones from many contexts.
 */
#include "bench.h"

#include <errno.h>
#include <linux/sync_file.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define SLOT 0
#define PARTS 1000
#define QUEUES 4 /* submissions in flight */
#define MAX_JOBS 200

/* ---- B ------------------------------------------------------------------- */

/* Durations and end times of B's jobs, which run one after the other. */
struct waits {
	double seconds[MAX_JOBS];
	double end[MAX_JOBS];
	int count;
};

static struct tessera_bo *small_record(void)
{
	const struct tessera_rect few = { 0, 0, 16, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_bo *bo = bo_in("gart", 4096, 0);

	(void)tessera_cmdbuf_bind(bench.cb, SLOT, bo, &view);
	(void)tessera_cmdbuf_fill(bench.cb, SLOT, &few, 1);
	must("small job", tessera_context_run(bench.ctx, bench.cb));
	return bo;
}

static void small_forget(struct tessera_bo *bo)
{
	tessera_cmdbuf_reset(bench.cb);
	tessera_bo_del(bo);
}

/* Run @jobs jobs, or fewer if @seconds are over. */
static void small_run(struct waits *waits, int jobs, double seconds)
{
	double end = now() + seconds;

	waits->count = 0;
	while (waits->count < jobs && (now() < end || waits->count < jobs / 10)) {
		double start = now();

		must("small job", tessera_context_run(bench.ctx, bench.cb));
		waits->end[waits->count] = now();
		waits->seconds[waits->count] = waits->end[waits->count] - start;
		waits->count++;
	}
}

static int rank_99(int count)
{
	return (99 * count + 99) / 100 - 1;
}

/* Nearest rank. Sorts the durations. */
static double percentile_99(struct waits *waits)
{
	sort(waits->seconds, waits->count);
	return waits->seconds[rank_99(waits->count)];
}

static void tell(const char *beside, const struct waits *waits)
{
	fprintf(stderr, "   %d jobs beside %s: median %.3g s, nine of ten %.3g s, worst %.3g s\n",
		waits->count, beside, waits->seconds[waits->count / 2],
		waits->seconds[waits->count * 9 / 10], waits->seconds[waits->count - 1]);
}

/* ---- A: submissions in parts --------------------------------------------- */

static struct client_state *a_state;

/* Bind two objects alternately, only one of which fits: PARTS parts. */
static struct tessera_cmdbuf *rotation_record(void)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_cmdbuf *cb;
	struct tessera_bo *bos[2];

	for (int i = 0; i < 2; i++)
		bos[i] = bo_in("vram", seg->size / 8 * 5, 0);
	must("command buffer", tessera_cmdbuf_new(bench.dev, &cb));
	tessera_cmdbuf_set_rebind(cb, UINT64_MAX);
	for (uint32_t i = 0; i < PARTS; i++) {
		(void)tessera_cmdbuf_bind(cb, SLOT, bos[i % 2], &view);
		(void)tessera_cmdbuf_fill(cb, SLOT, &one, i);
	}
	return cb;
}

/*
 * Time at which the kernel signalled the fence. The thread of A may learn of it
 * later.
 */
static double fence_end(struct tessera_fence *fence)
{
	struct sync_fence_info one;
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&one };
	int fd;

	must("fence", tessera_syncobj_export(tessera_fence_syncobj(fence), &fd));
	if (ioctl(fd, SYNC_IOC_FILE_INFO, &info))
		die("fence", -errno);
	close(fd);
	return (double)one.timestamp_ns / 1e9;
}

static void round_over(double end)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (a_state->rounds == MAX_ROUNDS)
		die("too many submissions to keep", -ENOSPC);
	a_state->ends[a_state->rounds++] = end;
	a_state->ready = a_state->rounds >= QUEUES;
	pthread_mutex_unlock(&lock);
}

static void *rotate(void *arg)
{
	struct tessera_submit_args args = { 0 };
	struct tessera_cmdbuf *cb = arg;
	struct tessera_context *ctx;
	struct tessera_fence *fence;
	int error;

	must("context", tessera_context_new_default(bench.dev, &ctx));
	args.fence = &fence;
	for (;;) {
		must("parts", tessera_context_submit(ctx, cb, &args));
		if (args.parts != PARTS)
			die("unexpected number of parts", -EPROTO);
		must("parts", tessera_fence_wait(fence, TESSERA_FOREVER, &error));
		must("parts", error);
		round_over(fence_end(fence));
		tessera_fence_del(fence);
	}
	return NULL;
}

static void submissions_in_parts(struct client_state *state)
{
	pthread_t thread;

	a_state = state;
	for (int i = 0; i < QUEUES; i++)
		must("thread", -pthread_create(&thread, NULL, rotate, rotation_record()));
	for (;;)
		pause();
}

/*
 * Wait for a few more submissions, and collect the end times of A's
 * submissions, sorted.
 */
static int ends_collect(const struct client *a, double *ends)
{
	uint32_t count, want = a->state->rounds + 2 * QUEUES;

	while ((count = a->state->rounds) < want)
		sleep_for(0.001);
	for (uint32_t i = 0; i < count; i++)
		ends[i] = a->state->ends[i];
	sort(ends, (int)count);
	return (int)count;
}

/*
 * Submissions run one after the other. Returns the duration of the last one
 * that ended at or before @by.
 */
static double last_took(const double *ends, int count, double by)
{
	int i = 1;

	while (i + 1 < count && ends[i + 1] <= by)
		i++;
	return ends[i] - ends[i - 1];
}

struct beside {
	double wait, took;
};

static int by_ratio(const void *a, const void *b)
{
	const struct beside *x = a, *y = b;
	double p = x->wait / x->took, q = y->wait / y->took;

	return (p > q) - (p < q);
}

/*
 * Without preemption the parts of a submission stay together, so B waits for
 * one whole submission. The duration of a submission depends on the machine.
 * Therefore each wait is compared with the submission that it waited for.
 */
void bench_stall_split(void)
{
	struct row row = { "stall_split", "s", "lower", .goal = 1.2 };
	static double ends[MAX_ROUNDS];
	struct beside beside[MAX_JOBS];
	struct tessera_bo *bo = small_record();
	struct waits waits;
	struct client a;
	int count;

	if (tessera_device_info(bench.dev)->caps & DRM_TESSERA_CAP_PREEMPTION)
		die("stall_split needs a device with preemption=off", -EINVAL);
	client_start(&a, submissions_in_parts);
	client_wait_ready(&a);
	small_run(&waits, 100, 120);
	count = ends_collect(&a, ends);
	client_kill(&a);
	for (int i = 0; i < waits.count; i++)
		beside[i] =
			(struct beside){ waits.seconds[i], last_took(ends, count, waits.end[i]) };
	qsort(beside, (size_t)waits.count, sizeof(beside[0]), by_ratio);
	sample(&row, beside[rank_99(waits.count)].wait, beside[rank_99(waits.count)].took);
	fprintf(stderr,
		"   %d waits in units of the submission waited for: median %.3g, worst %.3g\n",
		waits.count, beside[waits.count / 2].wait / beside[waits.count / 2].took,
		beside[waits.count - 1].wait / beside[waits.count - 1].took);
	percentile_99(&waits);
	tell("submissions in parts", &waits);
	print_row(&row);
	small_forget(bo);
}

/* ---- The same with preemption, beside processes that only use the CPU ---- */

#define BURN_PERIOD 0.010

static double burn_share; /* fraction of a CPU, for each of QUEUES processes */

static void burn(struct client_state *state)
{
	state->ready = true;
	for (;;) {
		double end = now() + burn_share * BURN_PERIOD;

		while (now() < end)
			;
		sleep_for((1 - burn_share) * BURN_PERIOD);
	}
}

/* Total busy time of the CPUs since boot, in seconds. */
static double busy_seconds(void)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq;
	FILE *f = fopen("/proc/stat", "re");

	if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
			 &wait, &irq, &softirq) != 7)
		die("/proc/stat", -EPROTO);
	fclose(f);
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

static double own_seconds(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/*
 * Run jobs beside A. Returns the fraction of a CPU that A and the kernel on its
 * behalf have used, divided by QUEUES.
 */
static double beside_parts(struct waits *waits)
{
	double start, busy, share;
	struct client a;

	client_start(&a, submissions_in_parts);
	client_wait_ready(&a);
	start = now();
	busy = busy_seconds() - own_seconds();
	small_run(waits, MAX_JOBS, 60);
	share = (busy_seconds() - own_seconds() - busy) / (now() - start) / QUEUES;
	client_kill(&a);
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

static void beside_burners(struct waits *waits)
{
	struct client burners[QUEUES];

	for (int i = 0; i < QUEUES; i++)
		client_start(&burners[i], burn);
	for (int i = 0; i < QUEUES; i++)
		client_wait_ready(&burners[i]);
	small_run(waits, MAX_JOBS, 60);
	for (int i = 0; i < QUEUES; i++)
		client_kill(&burners[i]);
}

void bench_stall_split_preempt(void)
{
	struct row row = { "stall_split_preempt", "s", "lower", .goal = 5 };
	struct tessera_bo *bo = small_record();
	struct waits parts, burners;

	if (!(tessera_device_info(bench.dev)->caps & DRM_TESSERA_CAP_PREEMPTION))
		die("stall_split_preempt needs a device with preemption=on", -EINVAL);
	burn_share = beside_parts(&parts);
	beside_burners(&burners);
	sample(&row, percentile_99(&parts), percentile_99(&burners));
	tell("submissions in parts", &parts);
	tell("processes that use as much CPU", &burners);
	print_row(&row);
	small_forget(bo);
}

/* ---- A: long jobs from many contexts ------------------------------------- */

#define CONTEXTS 120 /* a process may have 256 unfinished jobs */
#define LONG_BYTES 65536
#define LONG_FILLS 256 /* 16 MiB */

struct queue {
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	uint32_t bytes; /* of its object */
	struct tessera_fence *fences[2]; /* fences of the jobs in flight */
};

static int context_of(uint32_t priority, struct tessera_context **ctx)
{
	struct tessera_context_desc desc;

	must("engine", tessera_context_desc_init(bench.dev, &desc));
	desc.priority = priority;
	return tessera_context_new_desc(bench.dev, &desc, ctx);
}

static void queue_fill(struct queue *queue)
{
	const struct tessera_rect all = { 0, 0, queue->bytes / 4, 1 };

	(void)tessera_cmdbuf_fill(queue->cb, SLOT, &all, 1);
}

static void queue_init(struct queue *queue, uint32_t priority, uint32_t bytes)
{
	struct tessera_view view = buffer_view();
	struct tessera_bo *bo = bo_in("vram-hidden-from-cpu", bytes, 0);

	queue->bytes = bytes;
	must("context", context_of(priority, &queue->ctx));
	must("command buffer", tessera_cmdbuf_new(bench.dev, &queue->cb));
	(void)tessera_cmdbuf_bind(queue->cb, SLOT, bo, &view);
	for (uint32_t i = 0; i < LONG_FILLS; i++)
		queue_fill(queue);
}

static void queue_submit(struct queue *queue, int which)
{
	struct tessera_submit_args args = { .fence = &queue->fences[which] };

	must("long job", tessera_context_submit(queue->ctx, queue->cb, &args));
}

static void long_jobs(struct client_state *state)
{
	static struct queue queues[CONTEXTS];

	for (int i = 0; i < CONTEXTS; i++)
		queue_init(&queues[i], DRM_TESSERA_PRIORITY_NORMAL, LONG_BYTES);
	for (int n = 0;; n++) {
		for (int i = 0; i < CONTEXTS; i++) {
			struct tessera_fence **fence = &queues[i].fences[n % 2];

			if (*fence) {
				must("wait", tessera_fence_wait(*fence, TESSERA_FOREVER, NULL));
				tessera_fence_del(*fence);
				state->rounds++;
			}
			queue_submit(&queues[i], n % 2);
		}
		state->ready = n >= 1;
	}
}

/*
 * Reported only: the wait of B's job, in units of the time of one of A's jobs.
 */
void bench_stall_queue(void)
{
	struct row row = { "stall_queue", "s", "lower", .goal = NAN };
	struct tessera_bo *bo = small_record();
	struct waits waits;
	struct client a;
	uint32_t before;
	double seconds;

	client_start(&a, long_jobs);
	client_wait_ready(&a);
	before = a.state->rounds;
	seconds = now();
	small_run(&waits, 50, 60);
	seconds = now() - seconds;
	if (a.state->rounds == before)
		die("none of the long jobs has ended", -ETIME);
	sample(&row, percentile_99(&waits), seconds / (a.state->rounds - before));
	tell("256 contexts of long jobs", &waits);
	client_kill(&a);
	print_row(&row);
	small_forget(bo);
}

/* ---- A: one low-priority job of several seconds -------------------------- */

#define LONG_SECONDS 5.0
#define LARGE_BYTES (4u << 20) /* large, so that one command buffer lasts long enough */

static void one_long_job(struct client_state *state)
{
	struct tessera_fence *fence = NULL;
	struct tessera_submit_args args = { .fence = &fence };
	struct queue queue;
	double each;

	queue_init(&queue, DRM_TESSERA_PRIORITY_LOW, LARGE_BYTES);
	each = now();
	queue_submit(&queue, 0);
	must("wait", tessera_fence_wait(queue.fences[0], TESSERA_FOREVER, NULL));
	each = (now() - each) / LONG_FILLS;
	for (double seconds = 0; seconds < LONG_SECONDS; seconds += each)
		queue_fill(&queue);
	must("long job", tessera_context_submit(queue.ctx, queue.cb, &args));
	state->ready = true;
	must("wait", tessera_fence_wait(fence, TESSERA_FOREVER, NULL));
	state->rounds = 1;
	tessera_fence_del(fence);
}

/* The reference is the time of the job without the long one, plus 20 ms. */
void bench_preempt_latency(void)
{
	struct row row = { "preempt_latency", "s", "lower", .goal = 1 };
	struct tessera_context *normal = bench.ctx;
	struct tessera_bo *bo = small_record();
	struct waits alone, beside;
	struct client a;

	must("context", context_of(DRM_TESSERA_PRIORITY_HIGH, &bench.ctx));
	small_run(&alone, 100, 60);
	client_start(&a, one_long_job);
	client_wait_ready(&a);
	small_run(&beside, 100, 2);
	if (a.state->rounds)
		die("the long job has ended before the small ones", -ETIME);
	sample(&row, percentile_99(&beside), percentile_99(&alone) + 0.02);
	tell("a job of low priority", &beside);
	client_kill(&a);
	print_row(&row);
	tessera_context_del(bench.ctx);
	bench.ctx = normal;
	small_forget(bo);
}
