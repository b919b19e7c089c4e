// SPDX-License-Identifier: MIT
/*
 * No client waits for another client's submission in parts. A is a process
 * whose submissions have many parts, B is the test. Each job takes 5 ms of
 * device time (test-stall.args), so A is busy for a while on any machine. The
 * waits of B must be bounded by the structure of A's submissions, not by
 * milliseconds.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "host.h"
#include "stall.h"

#define MANY_PARTS 16000 /* 80 s of device time */
#define QUEUES 4
#define FEW 4 /* jobs of one context that may be in the ring ahead of another context's job */

static bool preempts(struct tsr_device *dev)
{
	return dev->info.caps & DRM_TESSERA_CAP_PREEMPTION;
}

/* ---- A: one submission of very many parts ---------------------------- */

static void submit_once(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, (uint32_t)client->arg, 0);
	tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, 0);
	pause();
}

#define still_inside(client) require(!(client)->state->returned)

/*
 * While A is inside SUBMIT, B must be able to create, map, touch and close
 * objects, have some paged in and out, and run jobs on the other engine. If the
 * device preempts, B also runs a job on A's engine.
 */
static void b_does_all(struct tsr_device *dev, struct tsr_client *a, const struct tsr_bo *resident)
{
	const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
	uint32_t movable = tsr_bit(tsr_seg_hidden(dev)) | tsr_bit(tsr_seg_gart(dev));
	struct tsr_bo bo = tsr_bo_new(dev, 65536, movable, cached);
	uint32_t ctx = tsr_context_on(dev, tsr_second_engine(dev));
	struct tsr_small here;

	tsr_pattern_write((tsr_bo_map(dev, &bo), &bo), 1);
	still_inside(a);
	/* to the hidden segment, and back when the CPU touches it */
	tsr_gpu_touch(dev, ctx, &bo);
	require_eq(tsr_bo_info(dev, &bo).segment, tsr_seg_hidden(dev)->id);
	still_inside(a);
	tsr_pattern_check(&bo, 1);
	require_eq(tsr_bo_info(dev, &bo).segment, 0);
	still_inside(a);
	/* an object of B in the segment that A's parts need */
	tsr_pattern_check(resident, 2);
	still_inside(a);
	tsr_context_free(dev, tsr_context_new(dev, 0));
	tsr_bo_free(dev, &bo);
	tsr_context_free(dev, ctx);
	still_inside(a);
	if (!preempts(dev))
		return;
	tsr_small_init(dev, &here, dev->render);
	tsr_small_run(dev, &here);
	tsr_small_fini(dev, &here);
	still_inside(a);
}

static void one_of_many_parts(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo =
		tsr_bo_new(&dev, 65536, tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	uint32_t b = 0, after = 0;
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_small small;
	uint64_t start, dead;
	struct tsr_run *runs;
	size_t n;

	tsr_small_init(&dev, &small, dev.render);
	tsr_pattern_write((tsr_bo_map(&dev, &bo), &bo), 2);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_knob("group_timeouts", "0");
	tsr_client_start(&a, submit_once, MANY_PARTS);
	tsr_client_wait_running(&a);
	for (int i = 0; i < 3; i++) {
		start = tap_now_ns();
		b_does_all(&dev, &a, &bo);
		tap_note("B: %llu ms", (unsigned long long)(tap_now_ns() - start) / 1000000);
	}
	tsr_trace_start("split_part", "job_done", NULL);
	tsr_client_kill(&a);
	dead = tsr_device_clock(&dev);
	tsr_small_run(&dev, &small);
	trace = tsr_trace_stop();
	/* only parts of A that were in the ring at its death may still run */
	tsr_trace_for_each(&trace, "split_part", ev)
		b = (uint32_t)tsr_event_u64(ev, "ctx");
	runs = tsr_trace_runs(&trace, dev.render, &n);
	for (size_t i = 0; i < n; i++)
		after += runs[i].ctx != b && runs[i].start > dead;
	tap_note("%u parts of A began after it was killed", after);
	require(after <= FEW);
	free(runs);
	tsr_trace_free(&trace);
	tsr_close(&dev);
}

/* ---- waiting at the gate --------------------------------------------- */

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	alarms++;
}

/* Without preemption, B waits at the gate inside SUBMIT; a signal ends that. */
static void gate_is_interruptible(void)
{
	struct tsr_device dev = tsr_open();
	const struct itimerval tick = { { 0, 20000 }, { 0, 20000 } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_alarm }; /* no SA_RESTART */
	struct drm_tessera_submit args;
	struct tsr_client a, waiter;
	struct tsr_small small;
	int rc;

	if (preempts(&dev))
		tap_skip("no gate on a device that preempts");
	tsr_knob("group_timeouts", "0");
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, submit_once, MANY_PARTS);
	tsr_client_wait_running(&a);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	tsr_submit_args(&small.cmd, small.ctx, &args);
	/* more attempts than unfinished jobs are allowed: none may count */
	for (uint32_t i = 0; i < 80; i++) {
		rc = ioctl(dev.fd, DRM_IOCTL_TESSERA_SUBMIT, &args) ? -errno : 0;
		require_eq(rc, -EINTR);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	still_inside(&a);
	/* SIGKILL ends the wait, too */
	tsr_client_start(&waiter, submit_once, 2);
	tsr_wait_for(waiter.state->begun);
	tsr_wait_for(tsr_client_asleep(&waiter));
	tsr_client_kill(&waiter);
	still_inside(&a);
	tsr_client_kill(&a);
	tsr_small_run(&dev, &small);
	tsr_close(&dev);
}

#define NEWCOMERS 3

/* Runs client->arg jobs that identify it; when told to, submits in parts. */
static void turn_taker(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_rotation rot;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_rotation_init(&dev, &rot, 2, 0);
	/* several, so that its last turn is not the first one of the device */
	for (uint64_t i = 0; i < client->arg; i++)
		tsr_small_run(&dev, &small);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	require_ok(tsr_client_submit(client, &dev, small.ctx, &rot.cmd, 0, small.sync));
	require_ok(tsr_syncobj_status(&dev, small.sync));
	tsr_close(&dev);
}

/* Returns when the trace shows that the client waits at the gate. */
static void wait_at_gate(struct tsr_client *client, bool known)
{
	size_t before = tsr_trace_so_far("gate_wait", 0);

	if (!known)
		tsr_client_start(client, turn_taker, 0);
	tsr_wait_for(client->state->ready);
	client->state->stop = true;
	tsr_wait_for(tsr_trace_so_far("gate_wait", 0) > before);
}

/*
 * Clients in the order of their first turns. A client may have more than one:
 * it gives its turn back if it has to wait for objects that are being
 * destroyed.
 */
static uint32_t first_turns(const struct tsr_trace *trace, uint64_t *clients, uint32_t max)
{
	uint32_t num = 0, i;

	tsr_trace_for_each(trace, "gate_pass", ev) {
		uint64_t client = tsr_event_u64(ev, "client");

		for (i = 0; i < num && clients[i] != client; i++)
			;
		if (i < num)
			continue;
		require(num < max);
		clients[num++] = client;
	}
	return num;
}

/* A waiting client is not overtaken by later ones that had no turn yet. */
static void newcomers_wait(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client a, known, newcomers[NEWCOMERS];
	uint64_t first = 0, turns[1 + NEWCOMERS];
	struct tsr_trace trace;
	int file;

	if (preempts(&dev))
		tap_skip("no gate on a device that preempts");
	tsr_knob("group_timeouts", "0");
	tsr_trace_start("gate_pass", NULL);
	tsr_client_start(&known, turn_taker, 3);
	tsr_wait_for(known.state->ready);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "gate_pass", ev)
		first = tsr_event_u64(ev, "client");
	tsr_trace_free(&trace);
	require(first);

	tsr_client_start(&a, submit_once, MANY_PARTS);
	tsr_client_wait_running(&a);
	/*
	 * Keep A's file open: a client that met dying objects of A would give
	 * its turn back.
	 */
	file = tsr_client_take_fd(&a, a.state->fd);
	tsr_trace_start("gate_wait", "gate_pass", NULL);
	wait_at_gate(&known, true);
	for (uint32_t i = 0; i < NEWCOMERS; i++)
		wait_at_gate(&newcomers[i], false);
	still_inside(&a);
	tsr_client_kill(&a);
	tsr_client_join(&known);
	for (uint32_t i = 0; i < NEWCOMERS; i++)
		tsr_client_join(&newcomers[i]);
	trace = tsr_trace_stop();
	require_eq(first_turns(&trace, turns, ARRAY_SIZE(turns)), ARRAY_SIZE(turns));
	require_eq(turns[0], first);
	tsr_trace_free(&trace);
	close(file);
	tsr_close(&dev);
}

/* ---- A: in parts, behind a fence that signals late ------------------- */

#define PARTS 20

static int far; /* the fence, inherited by the child */

static void submit_behind_far(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_rotation rot;

	tsr_syncobj_import(&dev, sync, far);
	tsr_rotation_init(&dev, &rot, PARTS, 0);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, sync, done));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_rotation_check(&dev, ctx, &rot, PARTS);
	tsr_close(&dev);
}

/* A submission that waits for a fence leaves its engine to other clients. */
static void behind_a_fence(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t second = tsr_second_engine(&dev);
	struct tsr_stuck stuck = tsr_stuck_start_on(&dev, tsr_context_on(&dev, second), second);
	struct tsr_client a;
	struct tsr_small small;

	far = tsr_syncobj_export(&dev, stuck.sync);
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, submit_behind_far, 0);
	tsr_wait_for(a.state->begun && tsr_client_asleep(&a));
	for (int i = 0; i < 20; i++)
		tsr_small_run(&dev, &small);
	require_eq(tsr_client_engine_ns(&a, "render0"), 0);
	tsr_stuck_end(&stuck);
	tsr_client_join(&a);
	close(far);
	tsr_close(&dev);
}

/*
 * A job is armed and waits for a fence. Then a group fails before any of its
 * parts is armed. The next group must still wait for the job, or the job would
 * run between its parts.
 */
static void failed_group_keeps_order(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t second = tsr_second_engine(&dev), last = tsr_syncobj_new(&dev), waiter = 0;
	struct tsr_stuck stuck;
	struct tsr_small job;
	struct drm_tessera_submit args;
	struct tsr_rotation rot;
	struct tsr_trace trace;
	struct tsr_cmd too_much;
	struct tsr_run *runs;
	size_t n;

	if (preempts(&dev))
		tap_skip("no gate on a device that preempts");
	tsr_small_init(&dev, &job, dev.render);
	tsr_gpu_touch(&dev, job.ctx, &job.bo);
	tsr_rotation_init(&dev, &rot, PARTS, 0);
	tsr_cmd_init(&too_much);
	tsr_cmd_group_begin(&too_much);
	for (uint32_t i = 0; i < 2; i++)
		tsr_cmd_bind_buffer(&too_much, i, &rot.bos[i], true);
	tsr_cmd_group_end(&too_much);
	tsr_cmd_fill(&too_much, 0, 0, 1, 0);

	stuck = tsr_stuck_start_on(&dev, tsr_context_on(&dev, second), second);
	tsr_trace_start("split_part", "job_done", NULL);
	tsr_submit(&dev, job.ctx, &job.cmd, stuck.sync, 0);
	require_err(__tsr_submit(&dev, tsr_context_new(&dev, 0), &too_much, 0, 0, &args), -ENOSPC);
	tsr_submit(&dev, tsr_context_new(&dev, 0), &rot.cmd, 0, last);
	tsr_stuck_end(&stuck);
	require_ok(tsr_syncobj_status(&dev, last));
	trace = tsr_trace_stop();

	/* the context of the job that was armed first */
	tsr_trace_for_each(&trace, "split_part", ev) {
		waiter = (uint32_t)tsr_event_u64(ev, "ctx");
		break;
	}
	runs = tsr_trace_runs(&trace, dev.render, &n);
	require(n == 1 + rot.parts);
	require_eq(runs[0].ctx, waiter);
	free(runs);
	tsr_close(&dev);
}

/* ---- groups that wait for memory ------------------------------------- */

#define HOLDER_PARTS 900 /* fewer parts than end a holder's turn */

/* One object stays bound; the segment has space for one of two others. */
static void keep_one_bound(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo kept = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0), bos[2];
	uint32_t ctx = tsr_context_on(&dev, (uint32_t)client->arg);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 2; i++)
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 8, tsr_bit(seg), 0);
	tsr_cmd_bind_buffer(&cmd, 1, &kept, true);
	for (uint32_t i = 0; i < HOLDER_PARTS; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i % 2], true);
		tsr_cmd_fill(&cmd, 0, i / 2, 1, i + 1);
		tsr_cmd_fill(&cmd, 1, i, 1, i + 1);
	}
	tsr_client_submit(client, &dev, ctx, &cmd, 0, 0);
	pause();
}

/* Wants an object that does not fit beside the kept one. */
static void want_the_rest(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size * 5 / 8, tsr_bit(seg), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, 0));
	tsr_close(&dev);
}

/* A group opens the gate while it waits for an object held by another one. */
static void waits_with_the_gate_open(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t second = tsr_second_engine(&dev);
	struct tsr_client holder, waiter;
	struct tsr_small small;

	tsr_knob("group_timeouts", "0");
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&holder, keep_one_bound, second);
	tsr_engine_hold(second);
	tsr_client_start(&waiter, want_the_rest, 0);
	tsr_wait_for(waiter.state->begun);
	tsr_wait_for(tsr_client_asleep(&waiter));
	for (uint32_t i = 0; i < 5; i++)
		tsr_small_run(&dev, &small);
	require(!waiter.state->returned);
	require(!holder.state->returned);
	tsr_engine_release();
	tsr_client_kill(&holder);
	tsr_client_join(&waiter);
	tsr_close(&dev);
}

/* ---- A: one submission that takes too long as a whole ---------------- */

#define TOO_MANY_PARTS 3000 /* 15 s of device time, where 5 s are allowed */
#define PARTS_ALLOWED 1000

static void takes_too_long(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0);
	uint32_t done = tsr_syncobj_new(&dev), ran, hangs;
	struct drm_tessera_submit args;
	struct tsr_rotation rot;
	struct tsr_cmd short_one;

	require_eq(dev.info.group_timeout_ms, dev.info.job_timeout_ms);
	tsr_rotation_init(&dev, &rot, TOO_MANY_PARTS, 0);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), -ETIME);
	/* a hang if the parts took that long, not if they waited */
	hangs = tsr_query_client(&dev).hangs;
	require(hangs <= 1 && !tsr_query_client(&dev).banned);
	tsr_cmd_init(&short_one);
	tsr_cmd_bind_buffer(&short_one, 0, &rot.bos[0], true);
	require_err(__tsr_submit(&dev, ctx, &short_one, 0, 0, &args), hangs ? -EIO : 0);
	ran = tsr_rotation_ran(&dev, other, &rot);
	tap_note("%u parts ran", ran);
	require(ran && ran <= PARTS_ALLOWED + FEW);
	tsr_close(&dev);
}

/*
 * Each part is short, but the submission as a whole exceeds the group timeout.
 * B, which waits for the engine, must not wait longer than that.
 */
static void one_that_takes_too_long(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_small small;
	struct tsr_client a;
	uint64_t start;

	if (preempts(&dev))
		tap_skip("with preemption other clients run between the parts");
	tsr_knob("group_timeouts", "1");
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, takes_too_long, 0);
	tsr_client_wait_running(&a);
	start = tap_now_ns();
	tsr_small_run(&dev, &small);
	tap_note("B: %llu ms", (unsigned long long)(tap_now_ns() - start) / 1000000);
	tsr_client_join(&a);
	tsr_close(&dev);
}

/* ---- A: a thread that is not scheduled ------------------------------- */

#define FREEZER "/run/test-stall-freezer"
#define FROZEN_PARTS 2000

/* The cgroup v1 freezer stops a thread even if it sleeps in a submission. */
static void freezer_open(pid_t pid)
{
	char text[16];

	mkdir(FREEZER, 0700);
	if (mount("none", FREEZER, "cgroup", 0, "freezer"))
		tap_skip("the kernel has no freezer of cgroup v1");
	mkdir(FREEZER "/a", 0700);
	snprintf(text, sizeof(text), "%d", pid);
	require_ok(tsr_write_file(FREEZER "/a/cgroup.procs", text));
}

static bool frozen(void)
{
	char *state = tsr_read_file(FREEZER "/a/freezer.state");
	bool yes = state && !strncmp(state, "FROZEN", 6);

	free(state);
	return yes;
}

/* Freezes the process, if it sleeps at this moment. */
static bool freeze(void)
{
	require_ok(tsr_write_file(FREEZER "/a/freezer.state", "FROZEN"));
	return frozen();
}

static void submit_and_freeze(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev), ran;
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, FROZEN_PARTS, 0);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), -ETIME);
	ran = tsr_rotation_ran(&dev, ctx, &rot);
	require(ran && ran < FROZEN_PARTS);
	/* this does not count as a hang, and the context works */
	require_eq(tsr_query_client(&dev).hangs, 0);
	client->state->rounds = ran;
	tsr_close(&dev);
}

/*
 * A is frozen between two of its batches, with the gate closed. B's job must
 * run after the last armed part of A, and A's submission must end there.
 */
static void frozen_group_gives_way(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client a;
	struct tsr_small small;
	uint64_t start;

	if (preempts(&dev))
		tap_skip("no gate on a device that preempts");
	tsr_knob("group_timeouts", "0");
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, submit_and_freeze, 0);
	freezer_open(a.pid);
	tsr_client_wait_running(&a);
	tsr_wait_for(freeze());
	still_inside(&a);
	start = tap_now_ns();
	tsr_small_run(&dev, &small);
	tap_note("B: %llu ms", (unsigned long long)(tap_now_ns() - start) / 1000000);
	require(frozen());
	still_inside(&a);
	require_ok(tsr_write_file(FREEZER "/a/freezer.state", "THAWED"));
	tsr_client_join(&a);
	tap_note("%u parts of A ran", a.state->rounds);
	rmdir(FREEZER "/a");
	umount(FREEZER);
	tsr_close(&dev);
}

/* ---- A: consecutive submissions from several contexts ---------------- */

struct queue {
	struct tsr_client *client;
	struct tsr_device *dev;
	struct tsr_rotation rot;
	uint32_t ctx, sync;
};

static void *keep_going(void *arg)
{
	struct queue *queue = arg;
	struct tsr_client *client = queue->client;

	while (!client->state->stop) {
		require_ok(tsr_client_submit(client, queue->dev, queue->ctx, &queue->rot.cmd, 0,
					     queue->sync));
		require_ok(tsr_syncobj_status(queue->dev, queue->sync));
		__atomic_fetch_add(&client->state->rounds, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void four_in_flight(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct queue queues[QUEUES];
	pthread_t threads[QUEUES];

	for (int i = 0; i < QUEUES; i++) {
		queues[i] = (struct queue){ .client = client, .dev = &dev };
		queues[i].ctx = tsr_context_new(&dev, 0);
		queues[i].sync = tsr_syncobj_new(&dev);
		tsr_rotation_init(&dev, &queues[i].rot, (uint32_t)client->arg, 0);
	}
	for (int i = 0; i < QUEUES; i++)
		require(!pthread_create(&threads[i], NULL, keep_going, &queues[i]));
	for (int i = 0; i < QUEUES; i++)
		pthread_join(threads[i], NULL);
	tsr_close(&dev);
}

/* ---- B: one small job at a time, and the jobs that run before it ----- */

/* Contexts of the jobs armed on the engine, in order of arming. */
static size_t armed_contexts(const struct tsr_trace *trace, uint32_t *ctx, size_t max)
{
	size_t n = 0;

	tsr_trace_for_each(trace, "split_part", ev) {
		require(n < max);
		ctx[n++] = (uint32_t)tsr_event_u64(ev, "ctx");
	}
	return n;
}

/* Most submissions of A that pass the gate in one of B's @waited waits. */
static uint32_t most_passing(const struct tsr_trace *trace, uint32_t *waited)
{
	uint32_t passing = 0, most = 0;
	bool waits = false;

	*waited = 0;
	for (size_t i = 0; i < trace->count; i++) {
		const struct tsr_event *ev = &trace->events[i];
		bool pass = !strcmp(ev->name, "gate_pass");

		if (!pass && strcmp(ev->name, "gate_wait"))
			continue;
		if (tsr_event_u64(ev, "group")) {
			passing += pass && waits;
			continue;
		}
		waits = !pass;
		*waited += waits;
		most = passing > most ? passing : most;
		passing = 0;
	}
	return most;
}

/* Jobs run in the order in which they were armed, up to the last one of B. */
static void check_order(struct tsr_device *dev, const struct tsr_trace *trace, uint32_t b)
{
	static uint32_t armed[8192];
	size_t n, num = armed_contexts(trace, armed, ARRAY_SIZE(armed)), checked = 0;
	struct tsr_run *runs = tsr_trace_runs(trace, dev->render, &n);

	while (n && runs[n - 1].ctx != b)
		n--;
	while (num && armed[num - 1] != b)
		num--;
	for (; n && num; n--, num--, checked++)
		require_eq(runs[n - 1].ctx, armed[num - 1]);
	/* all armed jobs have run */
	require(!num);
	tap_note("%zu jobs in order", checked);
	free(runs);
}

/* Most parts of A that ended between arming and end of one of B's jobs. */
static uint32_t most_parts_before(struct tsr_device *dev, const struct tsr_trace *trace, uint32_t b,
				  uint32_t count)
{
	uint32_t most = 0, done = 0;
	struct tsr_run *runs;
	size_t n;

	runs = tsr_trace_runs(trace, dev->render, &n);
	tsr_trace_for_each(trace, "split_part", ev) {
		size_t armed = (size_t)(ev - trace->events), mine = 0;
		uint32_t parts = 0;

		if (tsr_event_u64(ev, "ctx") != b)
			continue;
		while (mine < n && (runs[mine].ctx != b || runs[mine].at < armed))
			mine++;
		require(mine < n);
		for (size_t i = 0; i < mine; i++)
			parts += runs[i].ctx != b && runs[i].at > armed;
		most = parts > most ? parts : most;
		done++;
	}
	require_eq(done, count);
	free(runs);
	return most;
}

/* @waits: A keeps the gate closed long enough for B to meet it closed. */
static void beside_four(uint32_t parts, uint32_t count, bool waits)
{
	struct tsr_device dev = tsr_open();
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_small small;
	uint32_t b, most, waited;
	uint64_t until;

	tsr_small_init(&dev, &small, dev.render);
	tsr_trace_start("split_part", NULL);
	tsr_gpu_touch(&dev, small.ctx, &small.bo);
	trace = tsr_trace_stop();
	b = (uint32_t)tsr_event_u64(tsr_trace_next(&trace, "split_part", NULL), "ctx");
	tsr_trace_free(&trace);
	tsr_client_start(&a, four_in_flight, parts);
	tsr_client_wait_running(&a);
	tsr_wait_for(a.state->begun >= QUEUES);
	until = tsr_patience();
	do {
		tsr_client_check(&a);
		require_msg(tap_now_ns() < until, "timed out before B waited at the gate");
		tsr_trace_start("split_part", "job_done", "gate_wait", "gate_pass", NULL);
		for (uint32_t i = 0; i < count; i++)
			tsr_small_run(&dev, &small);
		trace = tsr_trace_stop();
		if (preempts(&dev)) {
			/* each context of A may have a few jobs in the ring */
			most = most_parts_before(&dev, &trace, b, count);
			waited = 1;
			tap_note("at most %u parts of A between B's arming and its job", most);
			require(most <= QUEUES * FEW);
		} else {
			/* a waiting client gets the next turn */
			most = most_passing(&trace, &waited);
			tap_note("B waited %u times, and at most %u submissions passed it", waited,
				 most);
			require_eq(most, 0);
			check_order(&dev, &trace, b);
		}
		tsr_trace_free(&trace);
	} while (waits && !waited);
	tsr_client_kill(&a);
	tsr_close(&dev);
}

/* Whether B meets the gate closed depends on timing, the job order does not. */
static void beside_short_ones(void)
{
	beside_four(20, 12, false);
}

static void beside_long_ones(void)
{
	beside_four(500, 2, true);
}

/* ---- plain jobs ------------------------------------------------------ */

#define QUEUED 300
#define MANY_QUEUES 128

/* Fills the queues of all its contexts, and stays alive. */
static void queue_plain(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t contexts = (uint32_t)client->arg;
	struct tsr_small small[MANY_QUEUES];

	require(contexts <= ARRAY_SIZE(small));
	for (uint32_t i = 0; i < contexts; i++) {
		tsr_small_init(&dev, &small[i], dev.render);
		tsr_gpu_touch(&dev, small[i].ctx, &small[i].bo);
	}
	for (uint32_t n = 0; n < QUEUED; n++)
		tsr_submit(&dev, small[n % contexts].ctx, &small[n % contexts].cmd, 0, 0);
	client->state->ready = true;
	pause();
}

/* B's job runs soon, however many jobs and queues A has before it. */
static void beside_queued(uint32_t contexts)
{
	struct tsr_device dev = tsr_open();
	uint32_t others = 0, b = 0;
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_small small;
	uint64_t asked;
	struct tsr_run *runs;
	size_t n;

	tsr_small_init(&dev, &small, dev.render);
	tsr_gpu_touch(&dev, small.ctx, &small.bo);
	tsr_client_start(&a, queue_plain, contexts);
	tsr_wait_for(a.state->ready);
	tsr_trace_start("split_part", "job_done", NULL);
	asked = tsr_device_clock(&dev);
	tsr_small_run(&dev, &small);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "split_part", ev)
		b = (uint32_t)tsr_event_u64(ev, "ctx");
	runs = tsr_trace_runs(&trace, dev.render, &n);
	for (size_t i = 0; i < n && runs[i].ctx != b; i++)
		others += runs[i].start > asked;
	tap_note("%u of A's %u jobs began before B's", others, QUEUED);
	require(others <= 2 * FEW);
	tsr_client_kill(&a);
	tsr_close(&dev);
}

static void beside_one_queue(void)
{
	beside_queued(1);
}

static void beside_many_queues(void)
{
	beside_queued(MANY_QUEUES);
}

/* ---- plain jobs and a group behind them ------------------------------ */

#define MOST_JOBS 2048
/* 8 unfinished 5 ms jobs of a client (client/quota.c), 2 in the ring, 2 parts */
#define SOME 12

/* A long queue, and behind it a submission in parts. */
static void queue_and_split(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_rotation rot;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_rotation_init(&dev, &rot, 2, 0);
	for (uint32_t n = 0; n < QUEUED; n++)
		tsr_submit(&dev, small.ctx, &small.cmd, 0, 0);
	require_ok(tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &rot.cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	client->state->ready = true;
	pause();
}

/* Most jobs of others that began between a request of B and its job. */
static uint32_t most_between(const struct tsr_run *runs, size_t num, uint32_t b,
			     const uint64_t *asked, uint32_t count)
{
	uint32_t done = 0, most = 0;

	for (size_t i = 0; i < num && done < count; i++) {
		uint32_t others = 0;

		if (runs[i].ctx != b)
			continue;
		for (size_t k = i; k-- > 0 && runs[k].start > asked[done];)
			others += runs[k].ctx != b;
		most = others > most ? others : most;
		done++;
	}
	require_eq(done, count);
	return most;
}

/* The group waits for the jobs queued before it. Other clients do not. */
static void beside_a_queue_and_a_group(void)
{
	static uint64_t asked[MOST_JOBS];
	struct tsr_device dev = tsr_open();
	uint32_t count = 0, b = 0, most;
	struct tsr_trace trace;
	struct tsr_small small;
	struct tsr_client a;
	struct tsr_run *runs;
	size_t n;

	tsr_small_init(&dev, &small, dev.render);
	tsr_gpu_touch(&dev, small.ctx, &small.bo);
	tsr_trace_start("split_part", "job_done", NULL);
	tsr_client_start(&a, queue_and_split, 0);
	tsr_wait_for(a.state->begun);
	/* plus one more job of B, so that the last armed job is B's */
	for (bool last = false; !last;) {
		last = a.state->ready;
		require(count < MOST_JOBS);
		asked[count++] = tsr_device_clock(&dev);
		tsr_small_run(&dev, &small);
	}
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "split_part", ev)
		b = (uint32_t)tsr_event_u64(ev, "ctx");
	runs = tsr_trace_runs(&trace, dev.render, &n);
	most = most_between(runs, n, b, asked, count);
	tap_note("%u jobs of B, each behind at most %u of A's %u", count, most, QUEUED);
	require(most <= SOME);
	free(runs);
	tsr_client_kill(&a);
	tsr_close(&dev);
}

#define KEPT 50
#define ALL_KEPT 1500

/*
 * Keeps KEPT jobs queued for a long time, on a device that preempts. Without
 * preemption SUBMIT waits when the process has as many unfinished jobs as it
 * may have.
 */
static void keep_a_queue(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_small small;
	uint32_t sync[KEPT];

	tsr_small_init(&dev, &small, dev.render);
	for (uint32_t i = 0; i < KEPT; i++)
		sync[i] = tsr_syncobj_new(&dev);
	for (uint32_t n = 0; n < ALL_KEPT && !client->state->stop; n++) {
		if (n >= KEPT)
			require_ok(tsr_syncobj_status(&dev, sync[n % KEPT]));
		tsr_submit(&dev, small.ctx, &small.cmd, 0, sync[n % KEPT]);
		client->state->rounds = n;
	}
	for (uint32_t i = 0; i < KEPT; i++)
		require_ok(tsr_syncobj_status(&dev, sync[i]));
	tsr_close(&dev);
}

/* A group waits for jobs queued before it and a few more, not for ever. */
static void group_beside_a_queue(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t done = tsr_syncobj_new(&dev), others = 0, ours = 0;
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_rotation rot;
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_run *runs;
	uint64_t asked;
	size_t n;

	tsr_rotation_init(&dev, &rot, 2, 0);
	tsr_client_start(&a, keep_a_queue, 0);
	tsr_wait_for(a.state->rounds > 2 * KEPT);
	tsr_trace_start("split_part", "job_done", NULL);
	asked = tsr_device_clock(&dev);
	tsr_submit(&dev, ctx, &rot.cmd, 0, done);
	require_ok(tsr_syncobj_status(&dev, done));
	a.state->stop = true;
	tsr_client_join(&a);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "split_part", ev) {
		if (tsr_event_u64(ev, "part"))
			ours = (uint32_t)tsr_event_u64(ev, "ctx");
	}
	runs = tsr_trace_runs(&trace, dev.render, &n);
	for (size_t i = 0; i < n && runs[i].ctx != ours; i++)
		others += runs[i].start > asked;
	tap_note("the group ran after %u jobs of A, which keeps %u queued", others, KEPT);
	require(others <= KEPT + SOME);
	free(runs);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 SPLIT-35 parts that wait for a fence leave the engine to other clients",
	  behind_a_fence, 0, 0 },
	{ "SCHED-2 SCHED-3 SCHED-5 16000 parts: other clients' memory, faults and engines go on",
	  one_of_many_parts, 0, 200 },
	{ "SCHED-2 a client that waits for a submission in parts can be interrupted",
	  gate_is_interruptible, 0, 120 },
	{ "SCHED-2 SPLIT-17 a split submission that waits for memory opens the gate",
	  waits_with_the_gate_open, 0, 120 },
	{ "SCHED-2 new clients do not pass a waiting client", newcomers_wait, 0, 120 },
	{ "SCHED-2 jobs armed before a failed group keep their order", failed_group_keeps_order, 0,
	  0 },
	{ "SCHED-2 a submission that exceeds the group timeout is ended", one_that_takes_too_long,
	  0, 120 },
	{ "SCHED-2 a submission whose thread does not run gives its engine up",
	  frozen_group_gives_way, 0, 120 },
	{ "SCHED-2 SCHED-5 submissions of 20 parts, four at a time", beside_short_ones, 0, 0 },
	{ "SCHED-2 SCHED-5 submissions of 500 parts, four at a time", beside_long_ones, 0, 200 },
	{ "one context with a long queue", beside_one_queue, 0, 0 },
	{ "sixteen contexts with long queues", beside_many_queues, 0, 0 },
	{ "SCHED-2 a long queue with a group behind it", beside_a_queue_and_a_group, 0, 0 },
	{ "SCHED-2 a group beside a queue that does not end", group_beside_a_queue, 0, 0 },
};

TSR_TEST_MAIN(tests)
