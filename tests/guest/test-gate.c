// SPDX-License-Identifier: MIT
/*
 * Submissions that compete inside SUBMIT: at the gate of an engine, and between
 * planning and arming of parts. Stuck jobs and held locks keep each submission
 * in place until the next has come as far as the test needs.
 */
#include <stdlib.h>
#include <unistd.h>

#include "call.h"
#include "host.h"
#include "stall.h"

#define BATCH 32 /* parts that are planned at once */
#define MOST 64 /* unfinished parts that a submission may have */
#define ROUNDS 10
/* parts of a submission that keeps an object bound over its cuts */
#define PARTS 500

/* the test's file, inherited by its children */
static struct tsr_device shared;

/*
 * Small parts. From part @first on, one more object stays bound over all cuts.
 */
static void build_keeping(struct tsr_device *dev, struct tsr_cmd *cmd, const struct tsr_bo *kept,
			  uint32_t first)
{
	struct tsr_bo out = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), 0);

	tsr_cmd_init(cmd);
	for (uint32_t i = 0; i < PARTS; i++) {
		tsr_cmd_group_begin(cmd);
		if (i == first)
			tsr_cmd_bind_buffer(cmd, 1, kept, true);
		tsr_cmd_bind_buffer(cmd, 0, &out, true);
		tsr_cmd_group_end(cmd);
		tsr_cmd_fill(cmd, 0, i, 1, i + 1);
		if (i >= first)
			tsr_cmd_fill(cmd, 1, i, 1, i + 1);
	}
}

/* ---- the gate ------------------------------------------------------------ */

static void keep_half(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo kept = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	build_keeping(&dev, &cmd, &kept, 0);
	require_ok(tsr_client_submit(
		client, &dev, tsr_context_forced_on(&dev, tsr_second_engine(&dev)), &cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_close(&dev);
}

/*
 * Two objects that fit into the segment together, but not beside the kept half:
 * they alternate.
 */
static void submit_turns(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_bo bos[2];
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 2; i++)
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 8, tsr_bit(seg), 0);
	for (uint32_t i = 0; i < 3 * MOST; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i % 2], true);
		tsr_cmd_fill(&cmd, 0, i, 1, i + 1);
	}
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_close(&dev);
}

/* Submit one small job when the test sets @stop. */
static void submit_small(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	require_ok(tsr_client_submit(client, &dev, small.ctx, &small.cmd, 0, 0));
	tsr_close(&dev);
}

/*
 * A submission that is first tried in one piece and then split must close the
 * gate like any split submission.
 */
static void parts_after_an_attempt_in_one_piece(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t second = tsr_second_engine(&dev);
	struct tsr_client keeper, group, other;
	struct tsr_stuck stuck[2];

	stuck[0] = tsr_stuck_start_on(&dev, tsr_context_on(&dev, second), second);
	tsr_client_start(&keeper, keep_half, 0);
	tsr_wait_for(tsr_is_waiting(keeper.pid, "parts"));
	stuck[1] = tsr_stuck_start(&dev, tsr_context_new(&dev, 0));
	tsr_client_start(&group, submit_turns, 0);
	tsr_wait_for(tsr_is_waiting(group.pid, "parts"));
	tsr_client_start(&other, submit_small, 0);
	other.state->stop = true;
	tsr_wait_for(other.state->returned || tsr_is_waiting(other.pid, "gate"));
	require_msg(!other.state->returned,
		    "expected another client's job to wait at the gate, it ran between parts");
	for (uint32_t i = 0; i < 2; i++)
		tsr_stuck_end(&stuck[i]);
	tsr_client_join(&other);
	tsr_client_join(&group);
	tsr_client_join(&keeper);
	tsr_close(&dev);
}

/* ---- inside the gate ----------------------------------------------------- */

/* An object with its reservation locked until a job has ended. */
struct locked {
	struct tsr_bo bo;
	struct tsr_stuck stuck;
	struct tsr_bo_locked holder;
};

/* The object is in no segment. The stuck job is on @engine. */
static void lock(struct locked *locked, struct tsr_device *dev, uint32_t engine)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	uint32_t ctx = tsr_context_on(dev, engine);
	struct tsr_bo all = tsr_bo_new(dev, seg->size, tsr_bit(seg), 0);

	locked->bo = tsr_bo_new(dev, KiB(64), tsr_bit(seg), 0);
	tsr_gpu_touch(dev, ctx, &locked->bo);
	locked->stuck = tsr_stuck_start_on(dev, ctx, engine);
	require_ok(__tsr_submit_use(dev, ctx, &locked->bo, true));
	require_ok(__tsr_submit_use(dev, ctx, &all, true));
	require_eq(tsr_bo_info(dev, &locked->bo).segment, 0);
	tsr_bo_lock_begin(&locked->holder, dev, &locked->bo);
	tsr_trace_start_waits();
}

static void unlock(struct locked *locked)
{
	tsr_stuck_end(&locked->stuck);
	tsr_bo_lock_end(&locked->holder);
}

/* an object of the test, inherited by its children */
static struct tsr_bo *wanted;

static void use_it(struct tsr_client *client)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_alloc(&cmd, wanted->handle, true);
	tsr_cmd_nop(&cmd, 64);
	require_ok(tsr_client_submit(client, &shared, tsr_context_new(&shared, 0), &cmd, 0, 0));
	tsr_cmd_fini(&cmd);
}

static void submit_group(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, 2, 0);
	tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &rot.cmd, 0, 0);
	pause();
}

/*
 * Start an unsplit submission that has passed the gate and waits for the
 * reservation.
 */
static void inside_start(struct tsr_client *inside, struct locked *locked)
{
	shared = tsr_open();
	lock(locked, &shared, tsr_second_engine(&shared));
	wanted = &locked->bo;
	tsr_client_start(inside, use_it, 0);
	tsr_wait_for(tsr_trace_waits_for_lock(inside->pid));
	tsr_trace_start("gate_pass", "gate_void", NULL);
}

static void wait_at_gate(struct tsr_client *client, void (*fn)(struct tsr_client *client))
{
	tsr_client_start(client, fn, 0);
	tsr_wait_for(client->state->returned || tsr_is_waiting(client->pid, "gate"));
	require(!client->state->returned);
}

/*
 * The watchdog opens a gate that is idle for a second. Then the test cannot
 * tell whether the gate was handed on, and runs again.
 */
static bool passed_without_watchdog(void)
{
	struct tsr_trace trace = tsr_trace_stop();
	bool voided = tsr_trace_count(&trace, "gate_void");

	require(tsr_trace_count(&trace, "gate_pass"));
	tsr_trace_free(&trace);
	return !voided;
}

/*
 * A group waits at the gate for the submission inside. Another client's
 * submission queues up after the group and must pass when the group is killed.
 */
static bool passes_when_the_group_goes(void)
{
	struct tsr_client inside, group, behind;
	struct locked locked;
	bool passed;

	/*
	 * Prepare this client first: the watchdog must have no time to run
	 * between the group's wait and its end.
	 */
	tsr_client_start(&behind, submit_small, 0);
	tsr_wait_for(behind.state->ready);
	inside_start(&inside, &locked);
	wait_at_gate(&group, submit_group);
	behind.state->stop = true;
	tsr_wait_for(behind.state->returned || tsr_is_waiting(behind.pid, "gate"));
	tsr_client_kill(&group);
	tsr_client_join(&behind);
	passed = passed_without_watchdog();
	unlock(&locked);
	tsr_client_join(&inside);
	tsr_close(&shared);
	return passed;
}

/* A group waits at the gate and must pass when the submission inside leaves. */
static bool group_passes_when_it_leaves(void)
{
	struct tsr_client inside, group;
	struct locked locked;
	bool passed;

	inside_start(&inside, &locked);
	wait_at_gate(&group, submit_group);
	unlock(&locked);
	tsr_client_join(&inside);
	tsr_wait_for(group.state->returned);
	passed = passed_without_watchdog();
	tsr_client_kill(&group);
	tsr_close(&shared);
	return passed;
}

static void behind_a_group_that_goes(void)
{
	uint32_t rounds = 0;

	do
		require_msg(rounds++ < ROUNDS,
			    "expected the submission not to wait for a killed split submission");
	while (!passes_when_the_group_goes());
}

static void group_behind_one_that_leaves(void)
{
	uint32_t rounds = 0;

	do
		require_msg(
			rounds++ < ROUNDS,
			"expected the split submission not to wait for a submission that has left");
	while (!group_passes_when_it_leaves());
}

/* ---- between planning and arming ----------------------------------------- */

static void keep_late(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_forced_on(&dev, tsr_second_engine(&dev)),
		 done = tsr_syncobj_new(&dev);
	struct tsr_bo kept = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);
	struct tsr_cmd cmd;

	build_keeping(&dev, &cmd, &kept, MOST);
	tsr_gpu_touch(&dev, ctx, &kept);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_close(&dev);
}

static void want_all(struct tsr_client *client)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&shared);
	struct tsr_bo all = tsr_bo_new(&shared, seg->size, tsr_bit(seg), 0);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, wanted, true);
	tsr_cmd_bind_buffer(&cmd, 0, &all, true);
	require_ok(tsr_client_submit(client, &shared, tsr_context_forced_on(&shared, shared.render),
				     &cmd, 0, 0));
	tsr_cmd_fini(&cmd);
}

/*
 * The younger submission plans to evict an object that no submission keeps,
 * then waits for a lock. Meanwhile an older submission binds the object over
 * its cuts. The younger one must wait instead of evicting it.
 */
static void kept_since_the_plan(void)
{
	struct tsr_client older, younger;
	struct tsr_stuck stuck;
	struct locked locked;
	uint32_t second;

	shared = tsr_open();
	second = tsr_second_engine(&shared);
	lock(&locked, &shared, shared.render);
	wanted = &locked.bo;
	tsr_client_start(&older, keep_late, 0);
	tsr_wait_for(older.state->ready);
	stuck = tsr_stuck_start_on(&shared, tsr_context_on(&shared, second), second);
	older.state->stop = true;
	tsr_wait_for(tsr_is_waiting(older.pid, "parts"));
	tsr_client_start(&younger, want_all, 0);
	tsr_wait_for(tsr_trace_waits_for_lock(younger.pid));

	/*
	 * The older submission's next batch keeps the object. Hold it in the
	 * batch after that.
	 */
	tsr_trace_start("split_part", NULL);
	tsr_stuck_end(&stuck);
	tsr_wait_for(tsr_trace_so_far("split_part", 0) > BATCH);
	tsr_engine_hold(second);
	tsr_wait_for(tsr_is_waiting(older.pid, "parts"));
	require(!younger.state->returned);
	unlock(&locked);
	tsr_wait_for(younger.state->returned || tsr_is_waiting(younger.pid, "held"));
	require_msg(!younger.state->returned,
		    "expected the object held by an older submission to stay, it was evicted");
	require(!older.state->returned);
	tsr_engine_release();
	tsr_client_join(&older);
	tsr_client_join(&younger);
	tsr_close(&shared);
}

struct long_list {
	struct tsr_call call;
	struct tsr_cmd cmd;
	uint32_t ctx;
};

static void submit_long_list(void *arg)
{
	struct long_list *list = arg;

	tsr_submit(&shared, list->ctx, &list->cmd, 0, 0);
}

/* A patch list that takes long to plan and needs @bo at its end. */
static void build_long_list(struct tsr_cmd *cmd, const struct tsr_bo *bo)
{
	uint32_t many = shared.info.max_patches / 4;
	struct drm_tessera_submit_patch *patches = calloc(many + 1, sizeof(*patches));

	require(patches);
	tsr_cmd_init(cmd);
	tsr_cmd_unbind(cmd, 0);
	tsr_cmd_bind_buffer(cmd, 1, bo, true);
	require_eq(cmd->num_patches, 2);
	for (uint32_t i = 0; i < many; i++)
		patches[i] = cmd->patches[0];
	patches[many] = cmd->patches[1];
	free(cmd->patches);
	cmd->patches = patches;
	cmd->num_patches = cmd->max_patches = many + 1;
}

/*
 * A submission lacks the space of a destroyed object. Whenever during planning
 * that space is freed, the submission must not go to sleep and miss it. Search
 * for the critical moment: release a bit later each time, and earlier once the
 * submission already sleeps.
 */
static void freed_while_planning(void)
{
	const struct drm_tessera_query_segment *seg;
	struct long_list list;
	struct tsr_bo all, half;
	uint32_t second, ctx, asleep = 0, moments = tap_slow() ? 10 : 30;
	uint64_t took, delay;

	shared = tsr_open();
	seg = tsr_seg_hidden(&shared);
	second = tsr_second_engine(&shared);
	ctx = tsr_context_on(&shared, second);
	all = tsr_bo_new(&shared, seg->size, tsr_bit(seg), 0);
	list.ctx = tsr_context_forced_on(&shared, shared.render);
	build_long_list(&list.cmd, &all);
	submit_long_list(&list);
	took = tap_now_ns();
	submit_long_list(&list);
	took = tap_now_ns() - took;
	delay = took / 2;
	for (uint32_t i = 0; i < moments; i++) {
		struct tsr_stuck stuck;
		uint64_t start;
		bool waits;

		half = tsr_bo_new(&shared, seg->size / 2, tsr_bit(seg), 0);
		tsr_gpu_touch(&shared, ctx, &half);
		stuck = tsr_stuck_start_on(&shared, ctx, second);
		require_ok(__tsr_submit_use(&shared, ctx, &half, true));
		tsr_bo_free(&shared, &half);
		start = tap_now_ns();
		tsr_call_start(&list.call, submit_long_list, &list);
		while (tap_now_ns() < start + delay)
			usleep(100);
		waits = tsr_call_waits(&list.call, "space");
		tsr_stuck_end(&stuck);
		tsr_wait_for(list.call.returned);
		tsr_call_join(&list.call);
		delay = waits ? delay - delay / 4 : delay + took / 64;
		asleep += waits;
	}
	tap_note("a call of %llu us, asleep in %u of %u", (unsigned long long)took / 1000, asleep,
		 moments);
	tsr_cmd_fini(&list.cmd);
	tsr_close(&shared);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 a submission split after an attempt in one piece closes the gate",
	  parts_after_an_attempt_in_one_piece, 0, 0 },
	{ "SCHED-2 a split submission does not wait for one that has left",
	  group_behind_one_that_leaves, 0, 0 },
	{ "SCHED-2 a submission does not wait for a killed split submission",
	  behind_a_group_that_goes, 0, 0 },
	{ "SPLIT-17 an object held since the plan was made is not evicted", kept_since_the_plan, 0,
	  0 },
	{ "SPLIT-2 space freed while a submission is planned wakes it up", freed_while_planning, 0,
	  0 },
};

TSR_TEST_MAIN(tests)
