// SPDX-License-Identifier: MIT
/*
 * Submissions of more parts than the kernel arms at a time: what holds over a cut holds over the
 * border of two windows, too, and what happens meanwhile (others' pressure, the CPU, a hang, suspend)
 * ends as documented. Each job takes the device 10 ms (test-window.args), so
 * that a hundred parts are armed while the first ones run. Built twice, for a device
 * without and with preemption.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "puzzle.h"
#include "stall.h"

#define PARTS 150 /* windows are of 32, and 64 may be unfinished */
#define MANY_PARTS 500 /* 5 s of the device */

/* ---- SPLIT-1 ------------------------------------------------------------------------ */

static void check_tiling(const struct tsr_trace *trace, const struct tsr_cmd *cmd, uint32_t parts)
{
	uint32_t end = 0, patch = 0, n = 0;

	tsr_trace_for_each(trace, "split_part", ev)
	{
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
	/* SPLIT-11, over the borders as well */
	tsr_trace_for_each(&trace, "split_entry", ev)
		require_eq(tsr_event_u64(ev, "index"), index++);
	require_eq(index, rot.cmd.num_patches);
	tsr_rotation_check(&dev, ctx, &rot, PARTS);
	tsr_close(&dev);
}

/* ---- slots kept over the cuts ------------------------------------------------------- */

/*
 * Three objects stay bound from the first part to the last: an input, a log that each part
 * writes to, and the log's small neighbour, bound with an offset. All lie in the segment that
 * the parts fight for.
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
		/* through the part's own object, so that its contents count, too */
		tsr_cmd_copy(&kept->cmd, 0, i, SLOT_INPUT, i, 1);
		tsr_cmd_copy(&kept->cmd, SLOT_LOG, i, 0, i, 1);
		tsr_cmd_fill(&kept->cmd, SLOT_HALF, i, 1, i + 1);
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

/* every pin of an object names one place, and nothing moved it there was a pin for */
static void check_pins(const struct tsr_trace *trace, uint32_t parts)
{
	struct {
		uint64_t bo, segment, offset, first, last, part;
		uint32_t count;
	} kept[8] = { 0 };
	uint32_t num = 0, found = 0;

	tsr_trace_for_each(trace, "split_pin", ev)
	{
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
		/* a window that others disturbed is planned, and told, again */
		if (!kept[i].count || tsr_event_u64(ev, "part") != kept[i].part)
			kept[i].count++;
		kept[i].part = tsr_event_u64(ev, "part");
	}
	for (uint32_t i = 0; i < num; i++)
		found += kept[i].count == parts - 1;
	/* input, log, half: at every cut */
	require_eq(found, 3);
	/* between its first and its last part no paging touches it */
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

/* groups that hold something each, at once */
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

/* ---- SPLIT-34: -ENOSPC in a later window --------------------------------------------- */

#define BEFORE 100 /* parts before the trouble */

/*
 * A hundred parts that rotate; then what no placement can serve though each step fits. The
 * parts in the trace have run, and no other; nothing is held afterwards.
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
	tsr_trace_for_each(&trace, "split_part", ev)
	{
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

/* ---- the CPU ------------------------------------------------------------------------- */

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

/* what the CPU reads of an object that a running group holds, and of one it pages */
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
	/* read only by the group, at every eighth part: comes and goes */
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
		/* every page in turn */
		for (uint32_t i = seen % 1024; i < moving.size / 4; i += 1024)
			require_eq(words[i], tsr_pattern(3, i));
		seen += 7;
		touches++;
	}
	require_ok(tsr_syncobj_status(&dev, done));
	reader.stop = true;
	pthread_join(thread, NULL);
	tap_note("%u and %u rounds of reading meanwhile", reader.rounds, touches);
	require(reader.rounds);
	kept_check(&dev, &kept, PARTS, PARTS);
	tsr_close(&dev);
}

/* ---- a hang between two windows -------------------------------------------------------- */

#define LONG_FILLS 150000 /* of half a megabyte each: many times the timeout on any machine */
#define HANG_PART 100

/* one part in the middle hangs; the parts before stand, those after do not run */
static void hang_in_the_middle(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), reader = tsr_context_new(&dev, 0), word;
	struct tsr_bo after, last = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t done = tsr_syncobj_new(&dev);
	struct drm_tessera_submit args;
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, HANG_PART, 0);
	for (uint32_t n = 0; n < LONG_FILLS; n++)
		tsr_cmd_fill(&rot.cmd, 0, 4096, (uint32_t)(rot.bos[0].size / 4) - 4096, n);
	for (uint32_t i = 0; i < PARTS; i++)
		tsr_cmd_bind_buffer(&rot.cmd, 0, &rot.bos[i % 2], true);
	tsr_cmd_bind_buffer(&rot.cmd, 0, &last, true);
	tsr_cmd_fill(&rot.cmd, 0, 0, 1, 99);
	tsr_job_timeout_short();
	require_ok(__tsr_submit(&dev, ctx, &rot.cmd, 0, done, &args));
	require_eq(tsr_syncobj_status(&dev, done), -ETIME);
	tsr_job_timeout_restore();
	require_err(__tsr_submit(&dev, ctx, &rot.cmd, 0, 0, &args), -EIO);
	tsr_rotation_check(&dev, reader, &rot, HANG_PART);
	tsr_gpu_read(&dev, reader, &last, 0, 1, &word);
	require_eq(word, 0);
	after = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	tsr_gpu_fill(&dev, reader, &after, 1);
	tsr_close(&dev);
}

/* ---- suspend, unplug ---------------------------------------------------------------- */

/* a group that keeps something bound; its outcome */
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

/* SEG-31: again and again while it is being armed and run */
static void suspend_between_windows(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client a;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, submit_kept, 0);
	tsr_client_wait_running(&a);
	for (int i = 0; i < 3; i++) {
		uint64_t start = tap_now_ns();

		require(!a.state->ready);
		tsr_suspend_devices();
		tap_note("suspend and resume: %llu ms",
			 (unsigned long long)(tap_now_ns() - start) / 1000000);
	}
	tsr_client_join(&a);
	tsr_small_run(&dev, &small);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-1 SPLIT-11 parts tile the buffer over windows", parts_tile, 0, 0 },
	{ "PAGE-12 SPLIT-17 SPLIT-24 slots kept over windows", kept_over_windows, 0, 0 },
	{ "PAGE-12 SPLIT-17 three groups that keep slots bound", holds_beside_holds, 0, 200 },
	{ "SPLIT-34 SPLIT-24 -ENOSPC in a later window", late_fragmentation, 0, 0 },
	{ "SWZ-13 SWZ-14 the CPU reads what a group keeps and pages", cpu_meanwhile, 0, 0 },
	{ "SPLIT-34 SPLIT-35 a hang in a middle window", hang_in_the_middle, 0, 0 },
	{ "SEG-31 suspend between windows", suspend_between_windows, 0, 200 },
};

TSR_TEST_MAIN(tests)
