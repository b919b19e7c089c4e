// SPDX-License-Identifier: MIT
/*
 * Submissions with more parts than the kernel arms at a time. All that holds
 * over a cut also has to hold between two batches. Disturbances meanwhile
 * (memory pressure, CPU accesses, a hang, suspend, unplug) must end as
 * documented. Each job takes 10 ms of device time (test-window.args), so that a
 * hundred parts are armed while the first ones run.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "call.h"
#include "host.h"
#include "memory.h"
#include "pci.h"
#include "puzzle.h"
#include "stall.h"

#define PARTS 150 /* a batch has 32 parts, and 64 may be unfinished */
#define MANY_PARTS 500 /* 5 s of device time */

/* ---- SPLIT-1 --------------------------------------------------------- */

static void check_tiling(const struct tsr_trace *trace, const struct tsr_cmd *cmd, uint32_t parts)
{
	uint32_t end = 0, patch = 0, n = 0;

	tsr_trace_for_each(trace, "split_part", ev) {
		require_eq(tsr_event_u64(ev, "part"), n++);
		require_eq(tsr_event_u64(ev, "start"), end);
		require_eq(tsr_event_u64(ev, "first_patch"), patch);
		end = (uint32_t)tsr_event_u64(ev, "end");
		patch += (uint32_t)tsr_event_u64(ev, "patches");
	}
	require_eq(n, parts);
	require_eq(end, tsr_cmd_bytes(cmd));
	require_eq(patch, cmd->num_patches);
}

static void parts_tile(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num, index = 0;
	struct tsr_rotation rot;
	struct tsr_trace trace;

	tsr_rotation_init(&dev, &rot, PARTS, 0);
	tsr_trace_start("split_part", "split_entry", NULL);
	require_ok(tsr_submit_status(&dev, ctx, &rot.cmd, &num));
	trace = tsr_trace_stop();
	require_eq(num, PARTS);
	check_tiling(&trace, &rot.cmd, PARTS);
	/* SPLIT-11, also between batches */
	tsr_trace_for_each(&trace, "split_entry", ev)
		require_eq(tsr_event_u64(ev, "index"), index++);
	require_eq(index, rot.cmd.num_patches);
	tsr_rotation_check(&dev, ctx, &rot, PARTS);
	tsr_close(&dev);
}

/* ---- slots kept over the cuts ---------------------------------------- */

/*
 * Three objects stay bound from the first part to the last: an input, a log
 * that each part writes, and a small object beside the log, bound with an
 * offset. All are in the segment that the parts need.
 */
struct kept {
	struct tsr_bo bos[2], input, log, half;
	struct tsr_cmd cmd;
};

#define SLOT_INPUT 1
#define SLOT_LOG 2
#define SLOT_HALF 3

static void kept_init(struct tsr_device *dev, struct kept *kept, uint32_t parts)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	const struct tsr_surface second_half = {
		.format = TSR_FORMAT_R32,
		.access = TSR_SURF_READ | TSR_SURF_WRITE,
		.offset = 4096,
	};

	kept->input = tsr_bo_new(dev, KiB(64), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	kept->log = tsr_bo_new(dev, KiB(64), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	kept->half = tsr_bo_new(dev, KiB(8), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_pattern_write((tsr_bo_map(dev, &kept->input), &kept->input), 9);
	tsr_cmd_init(&kept->cmd);
	tsr_cmd_group_begin(&kept->cmd);
	tsr_cmd_bind_buffer(&kept->cmd, SLOT_INPUT, &kept->input, false);
	tsr_cmd_bind_buffer(&kept->cmd, SLOT_LOG, &kept->log, true);
	tsr_cmd_bind(&kept->cmd, SLOT_HALF, &kept->half, &second_half);
	for (uint32_t i = 0; i < 2; i++)
		kept->bos[i] =
			tsr_bo_new(dev, seg->size * 5 / 8 & ~UINT64_C(4095), tsr_bit(seg), 0);
	for (uint32_t i = 0; i < parts; i++) {
		tsr_cmd_bind_buffer(&kept->cmd, 0, &kept->bos[i % 2], true);
		tsr_cmd_group_end(&kept->cmd);
		/* through the part's own object, to check its contents */
		tsr_cmd_copy(&kept->cmd, 0, i, SLOT_INPUT, i, 1);
		tsr_cmd_copy(&kept->cmd, SLOT_LOG, i, 0, i, 1);
		tsr_cmd_fill(&kept->cmd, SLOT_HALF, i % 1024, 1, i + 1);
	}
}

static void kept_check(struct tsr_device *dev, struct kept *kept, uint32_t ran, uint32_t parts)
{
	const uint32_t *log = tsr_bo_map(dev, &kept->log), *half = tsr_bo_map(dev, &kept->half);

	tsr_pattern_check(&kept->input, 9);
	for (uint32_t i = 0; i < parts; i++) {
		require_eq(log[i], i < ran ? tsr_pattern(9, i) : 0);
		require_eq(half[1024 + i], i < ran ? i + 1 : 0);
		require_eq(half[i], 0);
	}
}

/* All pins of an object name one place, and no paging moves it meanwhile. */
static void check_pins(const struct tsr_trace *trace, uint32_t parts)
{
	struct {
		uint64_t bo, segment, offset, first, last, part;
		uint32_t count;
	} kept[8] = { 0 };
	uint32_t num = 0, found = 0;

	tsr_trace_for_each(trace, "split_pin", ev) {
		uint64_t bo = tsr_event_u64(ev, "bo");
		uint32_t i;

		for (i = 0; i < num && kept[i].bo != bo; i++)
			;
		require(i < ARRAY_SIZE(kept));
		if (i == num) {
			kept[num].bo = bo;
			kept[num].segment = tsr_event_u64(ev, "segment");
			kept[num++].offset = tsr_event_u64(ev, "offset");
		}
		require_eq(tsr_event_u64(ev, "segment"), kept[i].segment);
		require_eq(tsr_event_u64(ev, "offset"), kept[i].offset);
		/* a disturbed batch is planned and traced again */
		if (!kept[i].count || tsr_event_u64(ev, "part") != kept[i].part)
			kept[i].count++;
		kept[i].part = tsr_event_u64(ev, "part");
	}
	for (uint32_t i = 0; i < num; i++)
		found += kept[i].count == parts - 1;
	/* input, log and half are pinned at every cut */
	require_eq(found, 3);
	/* no paging of the object between its first and its last part */
	for (uint32_t i = 0; i < num; i++) {
		uint64_t part = 0;

		if (kept[i].count != parts - 1)
			continue;
		for (size_t k = 0; k < trace->count; k++) {
			const struct tsr_event *ev = &trace->events[k];

			if (!strcmp(ev->name, "split_part"))
				part++;
			if (part && part < parts &&
			    (!strcmp(ev->name, "evict") || !strcmp(ev->name, "place")))
				require_msg(tsr_event_u64(ev, "bo") != kept[i].bo,
					    "object %llu moved after part %llu",
					    (unsigned long long)kept[i].bo,
					    (unsigned long long)part);
		}
	}
}

static void kept_over_windows(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num;
	struct tsr_trace trace;
	struct kept kept;

	kept_init(&dev, &kept, PARTS);
	tsr_trace_start("split_part", "split_pin", "place", "evict", NULL);
	require_ok(tsr_submit_status(&dev, ctx, &kept.cmd, &num));
	trace = tsr_trace_stop();
	require_eq(num, PARTS);
	check_tiling(&trace, &kept.cmd, PARTS);
	check_pins(&trace, PARTS);
	kept_check(&dev, &kept, PARTS, PARTS);
	tsr_close(&dev);
}

/* A client whose submission keeps objects bound. */
static void submit_kept(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct kept kept;

	kept_init(&dev, &kept, MANY_PARTS);
	require_ok(tsr_client_submit(client, &dev, ctx, &kept.cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	kept_check(&dev, &kept, MANY_PARTS, MANY_PARTS);
	client->state->ready = true;
	tsr_close(&dev);
}

/*
 * Clients that need the same memory, by jobs and by the CPU. One uses an object
 * as large as the segment, the other one many small ones. Their bytes must be
 * right, too.
 */
static void wants_it_all(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo big = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);

	while (!client->state->stop) {
		client->state->rounds++;
		tsr_gpu_fill(&dev, ctx, &big, client->state->rounds);
		tsr_gpu_read(&dev, ctx, &big, 17, 1, &word);
		require_eq(word, client->state->rounds);
	}
	tsr_close(&dev);
}

static void wants_pieces(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo small[8];

	for (uint32_t i = 0; i < ARRAY_SIZE(small); i++) {
		small[i] = tsr_bo_new(&dev, KiB(64), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
		tsr_pattern_write((tsr_bo_map(&dev, &small[i]), &small[i]), i);
	}
	while (!client->state->stop) {
		client->state->rounds++;
		for (uint32_t i = 0; i < ARRAY_SIZE(small); i++) {
			tsr_gpu_touch(&dev, ctx, &small[i]);
			tsr_pattern_check(&small[i], i);
		}
	}
	tsr_close(&dev);
}

/* Later submissions use other places or wait: bound objects stay in place. */
static void kept_under_pressure(void)
{
	struct tsr_client a, all, pieces;
	struct tsr_trace trace;

	tsr_trace_start("split_part", "split_pin", NULL);
	tsr_client_start(&a, submit_kept, 0);
	tsr_client_wait_running(&a);
	tsr_client_start(&all, wants_it_all, 0);
	tsr_client_start(&pieces, wants_pieces, 0);
	tsr_wait_for(a.state->returned);
	trace = tsr_trace_stop();
	check_pins(&trace, MANY_PARTS);
	tsr_client_join(&a);
	/* the other clients make progress as well */
	tsr_wait_for(all.state->rounds > 1 && pieces.state->rounds > 1);
	all.state->stop = pieces.state->stop = true;
	tsr_client_join(&all);
	tsr_client_join(&pieces);
}

static void on_alarm(int sig)
{
}

static void submit_big(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo big = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &big, true);
	require_ok(tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &cmd, 0, 0));
	tsr_close(&dev);
}

/* A submission that waits for held objects sleeps, and does not poll. */
static void wait_for_held_object_sleeps(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client a, b;

	if (!(dev.info.caps & DRM_TESSERA_CAP_PREEMPTION))
		tap_skip("it waits at the gate");
	tsr_client_start(&a, submit_kept, 0);
	tsr_client_wait_running(&a);
	tsr_engine_hold(dev.render);
	tsr_client_start(&b, submit_big, 0);
	tsr_wait_for(b.state->begun);
	tsr_wait_for(tsr_is_waiting(b.pid, "held"));
	require(!b.state->returned && !a.state->returned);
	tsr_engine_release();
	tsr_client_join(&b);
	tsr_client_join(&a);
	tsr_close(&dev);
}

/* A wait for held objects can be interrupted: no part has run yet. */
static void wait_for_held_object_interrupted(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const struct itimerval tick = { { 0, 100000 }, { 0, 100000 } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_alarm }; /* no SA_RESTART */
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo big = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	struct drm_tessera_submit args;
	struct tsr_client a;
	struct tsr_cmd cmd;
	int rc;

	if (!(dev.info.caps & DRM_TESSERA_CAP_PREEMPTION))
		tap_skip("it waits at the gate");
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &big, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	tsr_client_start(&a, submit_kept, 0);
	tsr_engine_hold(dev.render);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	tsr_submit_args(&cmd, ctx, &args);
	rc = ioctl(dev.fd, DRM_IOCTL_TESSERA_SUBMIT, &args) ? -errno : 0;
	setitimer(ITIMER_REAL, &off, NULL);
	require_eq(rc, -EINTR);
	require(!a.state->returned);
	tsr_engine_release();
	tsr_client_join(&a);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_close(&dev);
}

#define TURN_PARTS 1024 /* parts after which the turn of a holder ends */
#define TURNS_PARTS 1600

static void submit_kept_for_long(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct kept kept;

	kept_init(&dev, &kept, TURNS_PARTS);
	tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &kept.cmd, 0, 0);
	pause();
}

/*
 * A submission that waits for held objects continues when the turn of the
 * holder ends, not only when the holder has finished.
 */
static void turns_of_holds_end(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	uint32_t parts = 0;
	bool ours = false;
	struct tsr_bo big = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_cmd cmd;

	if (!(dev.info.caps & DRM_TESSERA_CAP_PREEMPTION))
		tap_skip("it waits at the gate");
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &big, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	tsr_client_start(&a, submit_kept_for_long, 0);
	tsr_client_wait_running(&a);
	tsr_trace_start("split_part", NULL);
	tsr_submit(&dev, ctx, &cmd, 0, done);
	require_ok(tsr_syncobj_status(&dev, done));
	trace = tsr_trace_stop();
	/* the first part of A was armed before the trace began */
	tsr_trace_for_each(&trace, "split_part", ev) {
		ours = ours || !tsr_event_u64(ev, "part");
		parts += !ours;
	}
	require(ours);
	tap_note("ours was armed behind %u more of %u parts", parts, TURNS_PARTS);
	require(parts <= TURN_PARTS + 2 * 32);
	tsr_client_kill(&a);
	tsr_close(&dev);
}

/* Several groups that hold objects at the same time. */
static void one_that_holds(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), num;
	struct kept kept;

	kept_init(&dev, &kept, PARTS);
	require_ok(tsr_submit_status(&dev, ctx, &kept.cmd, &num));
	kept_check(&dev, &kept, PARTS, PARTS);
	tsr_close(&dev);
}

static void holds_beside_holds(void)
{
	struct tsr_client clients[3];

	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
		tsr_client_start(&clients[i], one_that_holds, i);
	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
		tsr_client_join(&clients[i]);
}

/* ---- SPLIT-34: -ENOSPC in a later batch ------------------------------ */

#define BEFORE 100 /* parts before the failure */

/*
 * A hundred parts take turns in a slot. Then the puzzle follows, which no
 * placement can serve although each step fits. Exactly the parts in the trace
 * must have run, and no object may stay held.
 */
static void late_fragmentation(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), num, n = 0, end = 0;
	uint32_t offsets[TSR_PUZZLE_STEPS + 1];
	struct tsr_bo bos[TSR_PUZZLE_OBJECTS], log = tsr_puzzle_objects(&dev, bos), after;
	const uint32_t *steps = log.map;
	struct tsr_rotation rot;
	struct tsr_trace trace;

	tsr_rotation_init(&dev, &rot, BEFORE, 0);
	tsr_cmd_unbind(&rot.cmd, 0);
	tsr_puzzle_build(&rot.cmd, bos, &log, false, offsets);
	tsr_trace_start("split_part", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &rot.cmd, &num), -ENOSPC);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "split_part", ev) {
		require_eq(tsr_event_u64(ev, "part"), n++);
		require_eq(tsr_event_u64(ev, "start"), end);
		end = (uint32_t)tsr_event_u64(ev, "end");
	}
	tap_note("%u parts ran", n);
	require(n >= BEFORE);
	require(end < offsets[TSR_PUZZLE_STEPS]);
	for (uint32_t s = 0; s < TSR_PUZZLE_STEPS; s++)
		require_eq(steps[s], offsets[s] < end);
	tsr_rotation_check(&dev, ctx, &rot, BEFORE);
	after = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	tsr_gpu_fill(&dev, ctx, &after, 1);
	tsr_close(&dev);
}

/* ---- CPU accesses ---------------------------------------------------- */

struct reader {
	const struct kept *kept;
	volatile bool stop;
	volatile uint32_t rounds;
};

static void *read_input(void *arg)
{
	struct reader *reader = arg;

	while (!reader->stop) {
		tsr_pattern_check(&reader->kept->input, 9);
		reader->rounds++;
	}
	return NULL;
}

/* The CPU reads an object that a running group holds, and one that it pages. */
static void cpu_meanwhile(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev), seen = 0,
		 touches = 0;
	struct tsr_bo moving;
	struct kept kept;
	struct reader reader = { .kept = &kept };
	const volatile uint32_t *words;
	pthread_t thread;

	kept_init(&dev, &kept, PARTS);
	/* read by the group now and then, so that it is paged in and out */
	moving = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_pattern_write((tsr_bo_map(&dev, &moving), &moving), 3);
	for (uint32_t i = 0; i < 20; i++) {
		tsr_cmd_bind_buffer(&kept.cmd, 0, &moving, false);
		tsr_cmd_bind_buffer(&kept.cmd, 0, &kept.bos[i % 2], true);
		tsr_cmd_fill(&kept.cmd, 0, 1000 + i, 1, i);
	}
	require(!pthread_create(&thread, NULL, read_input, &reader));
	tsr_submit(&dev, ctx, &kept.cmd, 0, done);
	words = moving.map;
	while (__tsr_syncobj_wait(dev.fd, done, 0, 0) == -ETIME) {
		/* one word of each page */
		for (uint32_t i = seen % 1024; i < moving.size / 4; i += 1024)
			require_eq(words[i], tsr_pattern(3, i));
		seen += 7;
		touches++;
	}
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_wait_for(reader.rounds);
	reader.stop = true;
	pthread_join(thread, NULL);
	tap_note("%u and %u rounds of reading meanwhile", reader.rounds, touches);
	kept_check(&dev, &kept, PARTS, PARTS);
	tsr_close(&dev);
}

/* ---- a hang between two batches -------------------------------------- */

#define LONG_FILLS 150000 /* half a megabyte each: minutes */
#define HANG_PART 100

struct submission {
	struct tsr_device *dev;
	const struct tsr_cmd *cmd;
	uint32_t ctx, done;
	int rc;
};

static void submit_in_thread(void *arg)
{
	struct submission *s = arg;
	struct drm_tessera_submit args;

	s->rc = __tsr_submit(s->dev, s->ctx, s->cmd, 0, s->done, &args);
}

/* One part hangs. The parts before it have run, those after it do not. */
static void hang_in_the_middle(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), reader = tsr_context_new(&dev, 0), word;
	struct tsr_bo after, last = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct tsr_bo flag = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)),
					DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	struct tsr_rotation rot;
	struct submission s = {
		.dev = &dev,
		.cmd = &rot.cmd,
		.ctx = ctx,
		.done = tsr_syncobj_new(&dev),
	};
	struct drm_tessera_submit args;
	struct tsr_call call;

	*(uint32_t *)tsr_bo_map(&dev, &flag) = 0;
	tsr_rotation_init(&dev, &rot, HANG_PART, 0);
	tsr_cmd_bind_buffer(&rot.cmd, 1, &flag, true);
	tsr_cmd_fill(&rot.cmd, 1, 0, 1, 1);
	for (uint32_t n = 0; n < LONG_FILLS; n++)
		tsr_cmd_fill(&rot.cmd, 0, 4096, (uint32_t)(rot.bos[0].size / 4) - 4096, n);
	tsr_cmd_unbind(&rot.cmd, 1);
	for (uint32_t i = 0; i < PARTS; i++)
		tsr_cmd_bind_buffer(&rot.cmd, 0, &rot.bos[i % 2], true);
	tsr_cmd_bind_buffer(&rot.cmd, 0, &last, true);
	tsr_cmd_fill(&rot.cmd, 0, 0, 1, 99);
	tsr_job_timeout_lift();
	tsr_call_start(&call, submit_in_thread, &s);
	tsr_wait_for(*(volatile uint32_t *)flag.map);
	tsr_job_expire(dev.render);
	tsr_call_join(&call);
	require_ok(s.rc);
	require_eq(tsr_syncobj_status(&dev, s.done), -ETIME);
	require_err(__tsr_submit(&dev, ctx, &rot.cmd, 0, 0, &args), -EIO);
	tsr_rotation_check(&dev, reader, &rot, HANG_PART);
	tsr_gpu_read(&dev, reader, &last, 0, 1, &word);
	require_eq(word, 0);
	after = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	tsr_gpu_fill(&dev, reader, &after, 1);
	tsr_close(&dev);
}

/* ---- suspend, unplug ------------------------------------------------- */

/* A job for A's engine. Without preemption its SUBMIT waits at the gate. */
static void submit_small(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	require_ok(tsr_client_submit(client, &dev, small.ctx, &small.cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_close(&dev);
}

/* Submits again and again until stopped. */
static void submit_kept_again(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct kept kept;

	kept_init(&dev, &kept, PARTS);
	do {
		require_ok(tsr_client_submit(client, &dev, ctx, &kept.cmd, 0, done));
		require_ok(tsr_syncobj_status(&dev, done));
		kept_check(&dev, &kept, PARTS, PARTS);
	} while (!client->state->stop);
	tsr_close(&dev);
}

/* SEG-31: suspends again and again while parts are armed and run. */
static void suspend_between_windows(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client a, waiter;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, submit_kept_again, 0);
	tsr_client_wait_running(&a);
	tsr_client_start(&waiter, submit_small, 0);
	tsr_wait_for(waiter.state->begun);
	for (int i = 0; i < 3; i++) {
		uint64_t start = tap_now_ns();

		tsr_suspend_devices();
		tap_note("suspend and resume: %llu ms",
			 (unsigned long long)(tap_now_ns() - start) / 1000000);
	}
	a.state->stop = true;
	tsr_client_join(&a);
	tsr_client_join(&waiter);
	tsr_small_run(&dev, &small);
	tsr_close(&dev);
}

/*
 * SEG-31: queued jobs use the objects before they can be evicted, and there are
 * more evictions than a ring holds.
 */
static void suspend_behind_a_queue(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bos[12];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_visible(&dev)), 0);
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	for (uint32_t i = 0; i < 4 * ARRAY_SIZE(bos); i++) {
		struct tsr_cmd cmd;

		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i % ARRAY_SIZE(bos)], true);
		tsr_cmd_fill(&cmd, 0, 0, KiB(16), i);
		tsr_submit(&dev, ctx, &cmd, 0, 0);
		tsr_cmd_fini(&cmd);
	}
	tsr_suspend_devices();
	/* all evictions and jobs ended before the device lost power */
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_ok(__tsr_bo_wait(dev.fd, bos[i].handle, DRM_TESSERA_BO_WAIT_WRITE, 0));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, 0);
		tsr_gpu_read(&dev, ctx, &bos[i], KiB(16) - 1, 1, &word);
		require_eq(word, 3 * ARRAY_SIZE(bos) + i);
	}
	tsr_close(&dev);
}

/*
 * Memory pressure: the kernel frees retained copies of resident objects, and
 * swaps out pages of others.
 */
static void memory_is_wanted(void)
{
	uint32_t rounds = 0;
	struct tsr_client a;
	long swapped = 0;

	tsr_client_start(&a, submit_kept, 0);
	tsr_client_wait_running(&a);
	while (!a.state->returned) {
		swapped += tsr_swap_out_objects();
		require_ok(tsr_write_file("/proc/sys/vm/drop_caches", "2"));
		tsr_client_check(&a);
		rounds++;
	}
	tsr_client_join(&a);
	tap_note("%u times, %ld pages swapped out", rounds, swapped);
	require(rounds);
}

/* ---- a patch entry long before its packet ---------------------------- */

#define PACKET_PART 400

/*
 * The object is needed from the first part on, and is in the hidden segment
 * then. The packet that binds it is in a part that is armed seconds later,
 * after the object has moved to the aperture. All later parts write to it.
 */
static void packet_far_behind(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint32_t hidden = tsr_seg_hidden(&dev)->id, gart = tsr_seg_gart(&dev)->id;
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.supported = 1u << hidden | 1u << gart,
		.evict_to = 1u << gart,
		.flags = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED,
		.num_preferred = 1,
		.preferred = { (uint8_t)hidden },
	};
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_bo bos[2], late = { .size = args.size };
	const uint32_t *words;
	struct tsr_cmd cmd;

	require_ok(__tsr_bo_create(dev.fd, &args));
	late.handle = args.handle;
	tsr_gpu_touch(&dev, ctx, &late);
	require_eq(tsr_bo_info(&dev, &late).segment, hidden);
	client->state->ready = true;
	for (uint32_t i = 0; i < 2; i++)
		bos[i] = tsr_bo_new(&dev, seg->size * 5 / 8 & ~UINT64_C(4095), tsr_bit(seg), 0);
	tsr_cmd_init(&cmd);
	/* the entry is first in the list; its packet is added later */
	tsr_cmd_bind_buffer(&cmd, 1, &late, true);
	cmd.num_dw = 0;
	for (uint32_t i = 0; i < MANY_PARTS; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i % 2], true);
		tsr_cmd_fill(&cmd, 0, i, 1, i);
		if (i == PACKET_PART) {
			uint32_t offset = tsr_cmd_bind_buffer(&cmd, 1, &late, true);

			cmd.patches[0].patch_offset = offset + TSR_BIND_PATCH_OFFSET;
			cmd.num_patches--;
		}
		if (i >= PACKET_PART)
			tsr_cmd_fill(&cmd, 1, i, 1, i);
	}
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	require_eq(tsr_bo_info(&dev, &late).segment, gart);
	words = tsr_bo_map(&dev, &late);
	for (uint32_t i = 0; i < MANY_PARTS; i++)
		require_eq(words[i], i < PACKET_PART ? 0 : i);
	tsr_close(&dev);
}

static void packet_behind_its_element(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client a;
	bool late;

	do {
		tsr_client_start(&a, packet_far_behind, 0);
		/* one job has run before */
		tsr_wait_for(a.state->ready);
		tsr_client_wait_running(&a);
		tsr_evict_set(tsr_bit(tsr_seg_hidden(&dev)));
		late = a.state->returned;
		tsr_client_join(&a);
	} while (late);
	tsr_close(&dev);
}

/* ---- objects that move while the kernel plans ------------------------ */

#define MOVING 64
#define MOVING_ROUNDS 10

struct mover {
	uint32_t segments;
	volatile uint32_t asked, done;
};

static void *evict_when_asked(void *arg)
{
	struct mover *mover = arg;

	while (mover->done < MOVING_ROUNDS) {
		tsr_wait_for(mover->asked > mover->done);
		tsr_evict_set(mover->segments);
		mover->done++;
	}
	return NULL;
}

/*
 * Evictions move objects between two segments that both belong to the plan. A
 * plan that has seen both states has to be made again, and the submission must
 * not fail.
 */
static void moved_while_planning(void)
{
	struct tsr_device dev = tsr_open();
	const uint32_t hidden = tsr_seg_hidden(&dev)->id, gart = tsr_seg_gart(&dev)->id;
	uint32_t plain = tsr_context_new(&dev, 0), word;
	uint32_t ctx = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	struct mover mover = { .segments = 1u << hidden };
	struct tsr_bo bos[MOVING];
	struct tsr_cmd cmd;
	pthread_t thread;

	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	for (uint32_t i = 0; i < MOVING; i++) {
		struct drm_tessera_bo_create args = {
			.size = 4096,
			.supported = 1u << hidden | 1u << gart,
			.evict_to = 1u << gart,
			.num_preferred = 1,
			.preferred = { (uint8_t)hidden },
		};

		require_ok(__tsr_bo_create(dev.fd, &args));
		bos[i] = (struct tsr_bo){ .handle = args.handle, .size = args.size };
		tsr_cmd_bind_buffer(&cmd, i, &bos[i], true);
	}
	tsr_cmd_group_end(&cmd);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	tsr_cmd_bind_buffer(&cmd, 1, &bos[0], true);
	tsr_cmd_fill(&cmd, 1, 1, 1, 1);
	require(!pthread_create(&thread, NULL, evict_when_asked, &mover));
	for (uint32_t i = 0; i < MOVING_ROUNDS; i++) {
		struct drm_tessera_submit args;

		/* from the aperture back to VRAM */
		tsr_evict_set(1u << gart);
		tsr_submit_done(&dev, plain, &cmd);
		require_eq(tsr_bo_info(&dev, &bos[MOVING - 1]).segment, hidden);
		mover.asked++;
		for (uint32_t k = 0; k < 3; k++)
			require_ok(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args));
		tsr_wait_for(mover.done == mover.asked);
	}
	pthread_join(thread, NULL);
	tsr_gpu_read(&dev, plain, &bos[0], 1, 1, &word);
	require_eq(word, 1);
	tsr_close(&dev);
}

/* ---- before a submission is split ------------------------------------ */

#define MANY_OBJECTS 1024 /* of one page each; they fill the hidden segment */
#define MORE_OBJECTS 300 /* of two pages each */
#define MOST_SEARCHES 256 /* searches for space, after which a single plan is used */

/* The number of searches for space by an ordinary submission is bounded. */
static void searches_for_space(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), parts, searched = 0, planned = 0;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	require_eq(seg->size, MANY_OBJECTS * 4096);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < MANY_OBJECTS; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(seg), 0);

		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, 1, i);
	}
	require_ok(tsr_submit_status(&dev, ctx, &cmd, &parts));
	tsr_cmd_reset(&cmd);
	for (uint32_t i = 0; i < MORE_OBJECTS; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, 8192, tsr_bit(seg), 0);

		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, 1, i);
	}
	tsr_trace_start("evict", NULL);
	require_ok(tsr_submit_status(&dev, ctx, &cmd, &parts));
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "evict", ev) {
		if (tsr_event_is(ev, "reason", "plan"))
			planned++;
		else
			searched++;
	}
	tap_note("%u evicted by searches, %u by a plan", searched, planned);
	require(planned);
	require(searched <= 2 * MOST_SEARCHES);
	tsr_close(&dev);
}

#define INTERRUPTED 1024
#define ROUNDS 50

/* A signal interrupts the search for space; the next call completes it. */
static void search_can_be_interrupted(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	const struct itimerval tick = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	struct sigaction action = { .sa_handler = on_alarm }; /* no SA_RESTART */
	uint32_t ctx = tsr_context_new(&dev, 0), parts, rounds = 0;
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	int rc = 0;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < INTERRUPTED; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(seg), 0);

		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, 1, i);
	}
	sigaction(SIGALRM, &action, NULL);
	while (!rc && rounds++ < ROUNDS) {
		tsr_evict_set(tsr_bit(seg));
		tsr_submit_args(&cmd, ctx, &args);
		setitimer(ITIMER_REAL, &tick, NULL);
		rc = ioctl(dev.fd, DRM_IOCTL_TESSERA_SUBMIT, &args) ? -errno : 0;
		setitimer(ITIMER_REAL, &off, NULL);
	}
	require_err(rc, -EINTR);
	tap_note("interrupted in round %u", rounds);
	require_ok(tsr_submit_status(&dev, ctx, &cmd, &parts));
	require_eq(parts, 1);
	tsr_close(&dev);
}

/* ---- unplug ---------------------------------------------------------- */

static void submit_until_gone(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct drm_syncobj_handle export = {
		.handle = done,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct kept kept;
	int rc;

	kept_init(&dev, &kept, MANY_PARTS);
	rc = tsr_client_submit(client, &dev, ctx, &kept.cmd, 0, done);
	/* the ioctl if it was still running, else the fence */
	if (!rc)
		rc = tsr_ioctl(dev.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &export);
	if (!rc)
		rc = tsr_sync_file_status(export.fd);
	tap_note("the group ends with %s", strerror(-rc));
	/* a stalled machine may run all parts before the unplug */
	require(rc == -ENODEV || rc == -ECANCELED || (!rc && !client->state->stop));
	tsr_close(&dev);
}

static void unplug_between_windows(void)
{
	struct tsr_client a;

	tsr_pci_begin();
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t start;

		tsr_client_start(&a, submit_until_gone, 0);
		tsr_client_wait_running(&a);
		usleep(i * 300000);
		start = tap_now_ns();
		a.state->stop = true;
		tsr_pci_unbind();
		tap_note("unbinding: %llu ms",
			 (unsigned long long)(tap_now_ns() - start) / 1000000);
		tsr_client_join(&a);
		tsr_pci_bind();
	}
}

static const struct tap_test tests[] = {
	{ "SPLIT-1 SPLIT-11 parts tile the buffer over batches", parts_tile, 0, 0 },
	{ "PAGE-12 SPLIT-17 SPLIT-24 slots held over batches", kept_over_windows, 0, 0 },
	{ "PAGE-12 SPLIT-17 slots held under pressure of other clients", kept_under_pressure, 0,
	  200 },
	{ "SPLIT-17 a wait for a held object sleeps", wait_for_held_object_sleeps, 0, 0 },
	{ "SPLIT-17 a wait for a held object can be interrupted", wait_for_held_object_interrupted,
	  0, 0 },
	{ "PAGE-12 SPLIT-17 three groups that keep slots bound", holds_beside_holds, 0, 200 },
	{ "SPLIT-17 turns of holds end", turns_of_holds_end, 0, 200 },
	{ "SPLIT-34 SPLIT-24 -ENOSPC in a later batch", late_fragmentation, 0, 0 },
	{ "SWZ-13 SWZ-14 the CPU reads objects that a group holds and pages", cpu_meanwhile, 0, 0 },
	{ "SPLIT-34 SPLIT-35 a hang in a middle batch", hang_in_the_middle, 0, 0 },
	{ "SEG-31 suspend between batches", suspend_between_windows, 0, 200 },
	{ "SEG-31 suspend behind a queue of jobs", suspend_behind_a_queue, 0, 0 },
	{ "PAGE-7 memory pressure between batches", memory_is_wanted, 0, 200 },
	{ "SPLIT-9 SPLIT-33 a packet several batches after its element", packet_behind_its_element,
	  0, 0 },
	{ "SPLIT-3 objects move while a submission is planned", moved_while_planning, 0, 0 },
	{ "SPLIT-2 searches for space are bounded", searches_for_space, 0, 0 },
	{ "a search for space for many objects can be interrupted", search_can_be_interrupted, 0,
	  0 },
	{ "SPLIT-35 unplug between batches", unplug_between_windows, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
