// SPDX-License-Identifier: MIT
/*
 * Termination of a client: SIGKILL ends SUBMIT at once. Its jobs that have not
 * begun are dropped, including those that wait for foreign fences, and all its
 * memory is freed. Each job takes the device 200 ms (test-kill.args), so that a
 * job that is not dropped is noticed.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "foreign.h"
#include "host.h"
#include "stall.h"

/*
 * 100 ms is meant, but the machine may be busy. Jobs that are not dropped would
 * take many times as long.
 */
#define SOON_NS 30000000000ull
#define MANY_PARTS 16000
#define FEW 4 /* jobs of one context that may be in the ring already */
#define QUEUED 250 /* 50 s of device time; a process may have 256 unfinished jobs */
#define SOME 30 /* jobs of a context that is destroyed */

/* Count the lines of debugfs `allocations`. */
static uint32_t count_objects(void)
{
	char *text = tsr_debugfs_read("allocations");
	uint32_t n = 0;

	for (char *p = text; (p = strstr(p, "bo ")); p += 3)
		n += p == text || p[-1] == '\n';
	free(text);
	return n;
}

/*
 * All memory of the killed client is freed, before the device could have run
 * all its jobs.
 */
static void nothing_is_left(struct tsr_device *dev, uint32_t objects, uint64_t used)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	uint64_t until = tap_now_ns() + SOON_NS;

	while (count_objects() > objects || tsr_query_memory(dev, seg->id).used > used) {
		require_msg(tap_now_ns() < until, "%u objects, %llu bytes in segment %u",
			    count_objects(),
			    (unsigned long long)tsr_query_memory(dev, seg->id).used, seg->id);
		usleep(10000);
	}
}

/* Count jobs of other clients than B that began on the engine after @when. */
static uint32_t strangers_after(struct tsr_device *dev, const struct tsr_trace *trace,
				uint64_t when, uint32_t b)
{
	uint32_t count = 0;
	size_t n;
	struct tsr_run *runs = tsr_trace_runs(trace, dev->render, &n);

	for (size_t i = 0; i < n; i++)
		count += runs[i].ctx != b && runs[i].start > when;
	free(runs);
	return count;
}

static bool is_ready(struct tsr_client *client)
{
	return client->state->ready;
}

static bool is_submitting(struct tsr_client *client)
{
	if (!client->state->begun)
		return false;
	tsr_client_wait_running(client);
	require(!client->state->returned);
	return true;
}

/*
 * Start A, wait until it is in the desired state and kill it. One of its jobs
 * hangs meanwhile, so that no other one begins however long the kill takes. It
 * is A's first job, unless A has to be @running. Then run jobs of B. B's first
 * job must run at once, and no job of A may run that had not reached the ring.
 */
static void dies(void (*fn)(struct tsr_client *client), bool running)
{
	struct tsr_device dev = tsr_open();
	uint32_t objects, b = 0, strangers;
	uint64_t took, dead, used;
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_gpu_touch(&dev, small.ctx, &small.bo);
	objects = count_objects();
	used = tsr_query_memory(&dev, tsr_seg_visible(&dev)->id).used;
	tsr_trace_start("split_part", "job_done", NULL);
	tsr_job_timeout_lift();
	if (!running)
		tsr_engine_hang_next(dev.render);
	tsr_client_start(&a, fn, 0);
	tsr_wait_for(running ? is_submitting(&a) : is_ready(&a));
	if (running)
		tsr_engine_hang_next(dev.render);
	tsr_wait_for(tsr_engine_hangs());
	took = tsr_client_kill(&a);
	dead = tsr_device_clock(&dev);
	tsr_engine_release();
	tap_note("gone %llu ms after SIGKILL", (unsigned long long)took / 1000000);
	require(took < SOON_NS);

	took = tap_now_ns();
	tsr_small_run(&dev, &small);
	took = tap_now_ns() - took;
	/* If A's jobs still ran, they would alternate with these. */
	for (uint32_t i = 0; i < 3 * FEW; i++)
		tsr_small_run(&dev, &small);
	trace = tsr_trace_stop();
	/* The last armed job is B's. */
	tsr_trace_for_each(&trace, "split_part", ev)
		b = (uint32_t)tsr_event_u64(ev, "ctx");
	strangers = strangers_after(&dev, &trace, dead, b);
	tap_note("the next job: %llu ms, after %u jobs of the killed client",
		 (unsigned long long)took / 1000000, strangers);
	require(strangers <= FEW);
	nothing_is_left(&dev, objects, used);
	tsr_close(&dev);
}

/* ---- states to be killed in ---------------------------------------------- */

static void submit_many_parts(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, MANY_PARTS, 0);
	client->state->ready = true;
	tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &rot.cmd, 0, 0);
	pause();
}

#define MANY_ENTRIES 1000000
#define STAGES 4 /* points after the copying at which the client is killed */

/*
 * CPU time of the client shows how far it is in the call, independent of other
 * load.
 */
static struct {
	volatile uint64_t begun, refused, whole;
} * cpu;

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts;

	require(!clock_gettime(clock, &ts));
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/*
 * A patch list that only takes time to check: each entry unbinds a slot that is
 * not bound.
 */
static void make_long_list(struct tsr_device *dev, struct tsr_cmd *cmd)
{
	tsr_cmd_init(cmd);
	tsr_cmd_unbind(cmd, 0);
	cmd->num_patches =
		MANY_ENTRIES < dev->info.max_patches ? MANY_ENTRIES : dev->info.max_patches;
	cmd->patches = realloc(cmd->patches, cmd->num_patches * sizeof(*cmd->patches));
	require(cmd->patches);
	for (uint32_t i = 1; i < cmd->num_patches; i++)
		cmd->patches[i] = cmd->patches[0];
}

static void submit_long_list(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd;

	make_long_list(&dev, &cmd);
	cpu->begun = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	tsr_client_submit(client, &dev, ctx, &cmd, 0, 0);
	pause();
}

/* Without a valid context the call copies the lists and does nothing else. */
static void measure_long_list(void *arg)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	uint64_t start;

	make_long_list(&dev, &cmd);
	start = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	require_err(__tsr_submit(&dev, ctx + 1, &cmd, 0, 0, &args), -ENOENT);
	cpu->refused = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
	start = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	require_ok(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args));
	cpu->whole = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
	tsr_close(&dev);
}

enum end {
	LATE,
	WITH_A_JOB,
	WITHOUT_A_JOB
};

/* Kill the client when it has used @ns of CPU time in the call. */
static enum end kill_in_call(uint64_t ns)
{
	struct tsr_trace trace;
	struct tsr_client a;
	clockid_t clock;
	bool armed;

	cpu->begun = 0;
	tsr_trace_start("split_part", NULL);
	tsr_client_start(&a, submit_long_list, 0);
	require(!clock_getcpuclockid(a.pid, &clock));
	tsr_wait_for(cpu->begun);
	while (!a.state->returned && cpu_ns(clock) < cpu->begun + ns)
		usleep(50);
	tsr_client_kill(&a);
	trace = tsr_trace_stop();
	armed = tsr_trace_count(&trace, "split_part");
	tsr_trace_free(&trace);
	return a.state->returned ? LATE : armed ? WITH_A_JOB : WITHOUT_A_JOB;
}

/*
 * A client that is killed while its patch list is being checked must not arm a
 * job.
 */
static void in_its_lists(void)
{
	cpu = tsr_shared(sizeof(*cpu));
	for (uint32_t i = 0; i < STAGES; i++) {
		uint32_t late = 0, jobs = 0;
		uint64_t until = tsr_patience();
		enum end end;

		/*
		 * A job may have been armed just before the signal. That only
		 * means that the signal came too late. A driver that does not
		 * look for the signal arms a job each time.
		 */
		do {
			uint64_t ns;

			require_msg(tap_now_ns() < until,
				    "expected the killed client to arm no job, it armed one");
			/*
			 * Measure again each time: the CPU is slow on a busy
			 * host, and a guest that the host stops in one of the
			 * two calls measures nothing.
			 */
			do
				tap_join(tap_fork(measure_long_list, NULL));
			while (cpu->refused >= cpu->whole && tap_now_ns() < until);
			ns = cpu->refused + (cpu->whole - cpu->refused) * i / STAGES;
			end = kill_in_call(ns);
			late += end == LATE;
			jobs += end == WITH_A_JOB;
			tap_note("behind %llu of %llu us, copying %llu: %u too late, %u with a job",
				 (unsigned long long)ns / 1000,
				 (unsigned long long)cpu->whole / 1000,
				 (unsigned long long)cpu->refused / 1000, late, jobs);
		} while (end != WITHOUT_A_JOB);
	}
}

static void in_submit(void)
{
	dies(submit_many_parts, true);
}

/* One context with separate objects for each job. */
static void fill_queue(struct tsr_device *dev)
{
	uint32_t ctx = tsr_context_new(dev, 0);

	for (uint32_t i = 0; i < QUEUED; i++) {
		struct tsr_small small;

		tsr_small_init(dev, &small, dev->render);
		tsr_submit(dev, ctx, &small.cmd, 0, 0);
	}
}

static void queue_jobs(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);

	fill_queue(&dev);
	client->state->ready = true;
	pause();
}

static void with_a_queue(void)
{
	dies(queue_jobs, false);
}

/* Submissions in parts, completely armed, of several contexts. */
static void queue_parts(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);

	for (uint32_t i = 0; i < 2; i++) {
		struct tsr_rotation rot;

		tsr_rotation_init(&dev, &rot, 30, 0);
		tsr_submit(&dev, tsr_context_new(&dev, 0), &rot.cmd, 0, 0);
	}
	client->state->ready = true;
	pause();
}

static void with_parts_queued(void)
{
	dies(queue_parts, false);
}

/* The same by closing the file instead of a signal. */
static void queue_and_close(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);

	fill_queue(&dev);
	tsr_close(&dev);
	client->state->ready = true;
	pause();
}

static void closes_its_file(void)
{
	dies(queue_and_close, false);
}

/* ---- fences -------------------------------------------------------------- */

static int in_fence; /* sync file, inherited by the child */

static void wait_for_a_fence(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_bo bo = tsr_bo_new(&dev, 65536, tsr_bit(tsr_seg_visible(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0), in = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_syncobj_import(&dev, in, in_fence);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 1);
	tsr_submit(&dev, ctx, &cmd, in, 0);
}

/*
 * A waits for a foreign fence. When A is killed, its objects are freed at once,
 * not when the fence signals.
 */
static void in_a_wait(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_client a;
	uint32_t objects;
	uint64_t used;

	objects = count_objects();
	used = tsr_query_memory(&dev, tsr_seg_visible(&dev)->id).used;
	in_fence = tsr_foreign_fence(foreign);
	tsr_client_start(&a, wait_for_a_fence, 0);
	tsr_wait_for(tsr_is_waiting(a.pid, "foreign"));
	require(tsr_client_kill(&a) < SOON_NS);
	nothing_is_left(&dev, objects, used);
	require(!tsr_fence_signalled(in_fence));
	tsr_foreign_signal(foreign, 0);
	tsr_foreign_close(foreign);
	close(in_fence);
	tsr_close(&dev);
}

static void queue_with_fence(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	for (uint32_t i = 0; i < QUEUED; i++)
		tsr_submit(&dev, ctx, &small.cmd, 0, done);
	client->state->sync_file = tsr_syncobj_export(&dev, done);
	client->state->ready = true;
	pause();
}

/*
 * Fences of dropped jobs signal with -ECANCELED, since other clients may wait
 * for them.
 */
static void fences_of_the_dead(void)
{
	struct tsr_client a;
	int fd, status;

	tsr_client_start(&a, queue_with_fence, 0);
	tsr_wait_for(a.state->ready);
	fd = tsr_client_take_fd(&a, a.state->sync_file);
	tsr_client_kill(&a);
	status = tsr_sync_file_status(fd);
	require_eq(status, -ECANCELED);
	close(fd);
}

/* Destroy the context while its jobs are queued. */
static void queue_and_destroy(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	for (uint32_t i = 0; i < SOME; i++)
		tsr_submit(&dev, ctx, &small.cmd, 0, done);
	client->state->sync_file = tsr_syncobj_export(&dev, done);
	tsr_context_free(&dev, ctx);
	client->state->ready = true;
	pause();
}

/*
 * Jobs of a destroyed context normally still run, but they are dropped when
 * their client is killed.
 */
static void fences_of_a_destroyed_context(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_stuck stuck = tsr_stuck_start(&dev, tsr_context_new(&dev, 0));
	struct tsr_client a;
	int fd;

	tsr_client_start(&a, queue_and_destroy, 0);
	tsr_wait_for(a.state->ready);
	fd = tsr_client_take_fd(&a, a.state->sync_file);
	tsr_client_kill(&a);
	tsr_stuck_end(&stuck);
	require_err(tsr_sync_file_status(fd), -ECANCELED);
	close(fd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-35 killed in SUBMIT of 16000 parts", in_submit, 0, 200 },
	{ "killed while its lists are checked", in_its_lists, 0, 200 },
	{ "killed with jobs queued", with_a_queue, 0, 0 },
	{ "killed with parts queued", with_parts_queued, 0, 0 },
	{ "file closed with jobs queued", closes_its_file, 0, 0 },
	{ "killed while it waits for a foreign fence", in_a_wait, 0, 0 },
	{ "fences of dropped jobs", fences_of_the_dead, 0, 0 },
	{ "jobs of a destroyed context are dropped with their client",
	  fences_of_a_destroyed_context, 0, 0 },
};

TSR_TEST_MAIN(tests)
