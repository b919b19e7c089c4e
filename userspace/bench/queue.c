// SPDX-License-Identifier: MIT
/*
 * Cost of the work of other clients for a submission: many contexts with fences
 * on its objects, a long queue of another client, and a client with a thread
 * that hardly runs.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SLOT 0

/* ---- submit_many_fences -------------------------------------------------- */

#define OBJECTS 1000
#define LISTS 15 /* submissions that list all objects */
/*
 * Objects that one job writes. The jobs of two rounds together stay below the
 * limit of unfinished jobs of a process, at which the submissions measured would
 * wait.
 */
#define WRITTEN 10

static struct tessera_bo *bos[OBJECTS];
static uint32_t handles[OBJECTS];
static bool many; /* one context per job; else one per process */

static uint32_t raw_context(void)
{
	struct drm_tessera_context_create args = { 0 };

	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_CONTEXT_CREATE, &args))
		die("context", -errno);
	return args.id;
}

/*
 * Submit a job that lists objects and does nothing. Returns the seconds in the
 * ioctl.
 */
static double submit_list(uint32_t ctx, const struct drm_tessera_submit_alloc *allocs, uint32_t num)
{
	struct drm_tessera_submit submit = { .context = ctx };
	struct tessera_stream stream;
	double start;

	tessera_cmdbuf_stream(bench.cb, &stream);
	submit.cmds = (uintptr_t)stream.cmds;
	submit.cmd_size = stream.cmd_bytes;
	submit.allocs = (struct drm_tessera_array){ sizeof(*allocs), num, (uintptr_t)allocs };
	start = now();
	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_SUBMIT, &submit))
		die("submit", -errno);
	return now() - start;
}

static void write_all(void)
{
	uint32_t ctx = raw_context();

	must("nop", tessera_cmdbuf_nop(bench.cb, 2));
	for (int i = 0; i < OBJECTS; i += WRITTEN) {
		struct drm_tessera_submit_alloc allocs[WRITTEN];

		for (int n = 0; n < WRITTEN; n++)
			allocs[n] = (struct drm_tessera_submit_alloc){
				.handle = handles[i + n],
				.flags = DRM_TESSERA_ALLOC_WRITE,
			};
		submit_list(ctx, allocs, WRITTEN);
		if (many)
			ctx = raw_context();
	}
}

/* A second process that writes the same objects. */
static void second_writer(struct client_state *state)
{
	int theirs = tessera_device_fd(bench.dev);

	bench_open();
	for (int i = 0; i < OBJECTS; i++) {
		struct drm_prime_handle prime = { .handle = handles[i], .flags = DRM_CLOEXEC };

		if (ioctl(theirs, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime) ||
		    ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime))
			die("share", -errno);
		close(prime.fd);
		handles[i] = prime.handle;
	}
	write_all();
	state->ready = true;
	for (;;)
		pause();
}

/*
 * Time of a submission that reads all objects, while each object has two
 * unfinished writes.
 */
static double beside_writers(bool contexts)
{
	struct drm_tessera_submit_alloc allocs[OBJECTS] = { 0 };
	struct bench parent = bench;
	double seconds[LISTS];
	struct client second;

	many = contexts;
	bench_open();
	for (int i = 0; i < OBJECTS; i++) {
		bos[i] = bo_in("gart", 4096, 0);
		handles[i] = tessera_bo_handle(bos[i]);
	}
	client_fork(&second, second_writer);
	client_wait_ready(&second);
	write_all();
	for (int i = 0; i < OBJECTS; i++)
		allocs[i].handle = handles[i];
	for (int i = 0; i < LISTS; i++)
		seconds[i] = submit_list(tessera_context_id(bench.ctx), allocs, OBJECTS);
	client_kill(&second);
	/* Each object holds the device open, and with it all contexts. */
	for (int i = 0; i < OBJECTS; i++)
		tessera_bo_del(bos[i]);
	bench_close();
	bench = parent;
	return median(seconds, LISTS);
}

void bench_submit_many_fences(void)
{
	struct row row = { "submit_many_fences", "s", "lower", .goal = 3 };

	for (int i = 0; i < 3; i++) {
		double value = beside_writers(true);

		sample(&row, value, beside_writers(false));
	}
	print_row(&row);
}

/* ---- long_queue ---------------------------------------------------------- */

#define SHORT_QUEUE 10
#define LONG_QUEUE 10000

static int queue_jobs;

static void queue_up(struct client_state *state)
{
	must("nop", tessera_cmdbuf_nop(bench.cb, 2));
	for (int i = 0; i < queue_jobs; i++) {
		/* A later submission may wait for space in the queue. */
		state->ready = i + 1 >= SHORT_QUEUE;
		must("queue", tessera_context_submit(bench.ctx, bench.cb, NULL));
	}
	for (;;)
		pause();
}

/* Record two parts: two objects, only one of which fits. */
static void two_parts_record(struct tessera_bo **bos)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();

	tessera_cmdbuf_set_rebind(bench.cb, UINT64_MAX);
	for (uint32_t i = 0; i < 2; i++) {
		bos[i] = bo_in("vram", seg->size / 8 * 5, 0);
		(void)tessera_cmdbuf_bind(bench.cb, SLOT, bos[i], &view);
		(void)tessera_cmdbuf_fill(bench.cb, SLOT, &one, i);
	}
	run_cb("parts");
	for (uint32_t i = 0; i < 2; i++) {
		(void)tessera_cmdbuf_bind(bench.cb, SLOT, bos[i], &view);
		(void)tessera_cmdbuf_fill(bench.cb, SLOT, &one, i);
	}
}

static double behind_queue(int jobs)
{
	struct client a;
	double start;

	queue_jobs = jobs;
	client_start(&a, queue_up);
	client_wait_ready(&a);
	start = now();
	must("parts", tessera_context_run(bench.ctx, bench.cb));
	start = now() - start;
	client_kill(&a);
	return start;
}

/*
 * The queued jobs and the two parts take as long as the device's
 * x-render-delay-us.
 */
void bench_long_queue(void)
{
	struct row row = { "long_queue", "s", "lower", .goal = 1.5 };
	struct tessera_bo *bos[2];

	if (tessera_device_info(bench.dev)->caps & DRM_TESSERA_CAP_PREEMPTION)
		die("long_queue needs a device with preemption=off", -EINVAL);
	two_parts_record(bos);
	for (int i = 0; i < 5; i++) {
		double value = behind_queue(LONG_QUEUE);

		sample(&row, value, behind_queue(SHORT_QUEUE));
	}
	print_row(&row);
	tessera_cmdbuf_reset(bench.cb);
	tessera_cmdbuf_set_rebind(bench.cb, 0);
	for (int i = 0; i < 2; i++)
		tessera_bo_del(bos[i]);
}

/* ---- stalled_owner ------------------------------------------------------- */

#define BURNERS 4
#define PARTS 1000
#define STALLED_SECONDS 30
#define STALLED_JOBS 200

static void burn(struct client_state *state)
{
	state->ready = true;
	for (;;)
		;
}

/*
 * Submissions of many parts by a SCHED_IDLE thread, which gets only the CPU
 * time that others leave.
 */
static void split_idly(struct client_state *state)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	const struct sched_param none = { 0 };
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_bo *bos[2];

	tessera_cmdbuf_set_rebind(bench.cb, UINT64_MAX);
	for (uint32_t i = 0; i < 2; i++)
		bos[i] = bo_in("vram", seg->size / 8 * 5, 0);
	for (uint32_t i = 0; i < PARTS; i++) {
		(void)tessera_cmdbuf_bind(bench.cb, SLOT, bos[i % 2], &view);
		(void)tessera_cmdbuf_fill(bench.cb, SLOT, &one, i);
	}
	must("record", tessera_cmdbuf_finish(bench.cb));
	if (sched_setscheduler(0, SCHED_IDLE, &none))
		die("idle", -errno);
	state->ready = true;
	for (;;) {
		struct tessera_fence *fence;
		struct tessera_submit_args args = { .fence = &fence };
		int error;

		must("parts", tessera_context_submit(bench.ctx, bench.cb, &args));
		must("parts", tessera_fence_wait(fence, TESSERA_FOREVER, &error));
		/*
		 * The driver ended it, because it kept the engine idle while
		 * others waited.
		 */
		if (error != -ETIME)
			must("parts", error);
		tessera_fence_del(fence);
		state->rounds++;
	}
}

/*
 * Longest wait of another client's job, compared with the timeout of one job.
 */
void bench_stalled_owner(void)
{
	struct row row = { "stalled_owner", "s", "lower", .goal = 1 };
	const struct tessera_rect few = { 0, 0, 16, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_bo *bo = bo_in("gart", 4096, 0);
	struct client a, burners[BURNERS];
	double end, worst = 0;
	int jobs = 0;

	if (tessera_device_info(bench.dev)->caps & DRM_TESSERA_CAP_PREEMPTION)
		die("stalled_owner needs a device with preemption=off", -EINVAL);
	(void)tessera_cmdbuf_bind(bench.cb, SLOT, bo, &view);
	(void)tessera_cmdbuf_fill(bench.cb, SLOT, &few, 1);
	must("small job", tessera_context_run(bench.ctx, bench.cb));
	client_start(&a, split_idly);
	client_wait_ready(&a);
	for (int i = 0; i < BURNERS; i++)
		client_start(&burners[i], burn);
	for (end = now() + STALLED_SECONDS; now() < end || jobs < STALLED_JOBS / 10; jobs++) {
		double start = now();

		must("small job", tessera_context_run(bench.ctx, bench.cb));
		start = now() - start;
		worst = start > worst ? start : worst;
		sleep_for(0.05);
	}
	fprintf(stderr, "   %d jobs beside %u submissions, worst %.3g s\n", jobs, a.state->rounds,
		worst);
	sample(&row, worst, tessera_device_info(bench.dev)->job_timeout_ms / 1e3);
	for (int i = 0; i < BURNERS; i++)
		client_kill(&burners[i]);
	client_kill(&a);
	print_row(&row);
	tessera_cmdbuf_reset(bench.cb);
	tessera_bo_del(bo);
}
