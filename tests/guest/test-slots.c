// SPDX-License-Identifier: MIT
/*
 * The reach and lifetime of slot bindings. A slot reaches to the last byte of
 * its object and no further. A binding that is kept over cuts keeps its object
 * in place up to the last part that may use it, for waits as well as for
 * evictions. The file also tests what a submission in parts waits for before
 * its first part.
 */
#include <stdlib.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "host.h"
#include "stall.h"
#include "trace.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

/* ---- SPLIT-27: base and limit ---------------------------------------- */

/* Three adjacent objects. The middle one is bound at various offsets. */
struct neighbours {
	struct tsr_device dev;
	struct tsr_bo bos[3], other;
	uint32_t ctx;
};

static void neighbours_init(struct neighbours *n, uint32_t ctx_flags)
{
	const struct drm_tessera_query_segment *seg;
	uint64_t at[3];

	n->dev = tsr_open();
	seg = tsr_seg_visible(&n->dev);
	n->ctx = tsr_context_new(&n->dev, ctx_flags);
	n->other = tsr_bo_new(&n->dev, 4096, tsr_bit(seg), cpu);
	for (uint32_t i = 0; i < 3; i++) {
		n->bos[i] = tsr_bo_new(&n->dev, KiB(64), tsr_bit(seg), cpu);
		tsr_gpu_fill(&n->dev, n->ctx, &n->bos[i], 0x1000 + i);
		at[i] = tsr_bo_info(&n->dev, &n->bos[i]).segment_offset;
		tsr_bo_map(&n->dev, &n->bos[i]);
	}
	require_eq(at[1], at[0] + KiB(64));
	require_eq(at[2], at[1] + KiB(64));
}

/* An access beyond the end of the object must fail. */
#define require_fault(call)                                                                        \
	require_msg((call) == -EFAULT, "expected -EFAULT beyond the end of the slot's object: %s", \
		    #call)

/*
 * Requires that exactly the words @first to @last of the middle object have
 * changed, and none of its neighbours.
 */
static void neighbours_check(struct neighbours *n, uint64_t first, uint64_t last, uint32_t value)
{
	const uint32_t *words = n->bos[1].map;

	tsr_bo_wait(&n->dev, &n->bos[1]);
	for (uint64_t i = 0; i < KiB(64) / 4; i++)
		require_msg(
			words[i] == (i >= first && i <= last ? value : 0x1001),
			"word 0x%llx is 0x%x; a job at the slot's offset writes 0x%llx to 0x%llx",
			(unsigned long long)i, words[i], (unsigned long long)first,
			(unsigned long long)last);
	tsr_words_check(n->bos[0].map, KiB(64) / 4, 0x1000);
	tsr_words_check(n->bos[2].map, KiB(64) / 4, 0x1002);
}

/* Binds the middle object, adds a split point, and fills through the slot. */
static int fill_at(struct neighbours *n, const struct tsr_surface *surface, uint32_t x, uint32_t y,
		   uint32_t words, uint32_t value)
{
	struct tsr_cmd cmd;
	uint32_t *p;
	int status;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind(&cmd, 0, &n->bos[1], surface);
	tsr_cmd_nop(&cmd, 8);
	/* at a cut here, the kernel rebinds slot 0 by itself */
	tsr_cmd_bind_buffer(&cmd, 1, &n->other, true);
	p = tsr_cmd_packet(&cmd, TSR_OP_FILL, 0, TSR_FILL_DWORDS);
	p[2] = x;
	p[3] = y;
	p[4] = words;
	p[5] = 1;
	p[6] = value;
	status = tsr_submit_status(&n->dev, n->ctx, &cmd, NULL);
	tsr_cmd_fini(&cmd);
	return status;
}

static void reaches_its_object(uint32_t ctx_flags)
{
	const uint64_t offsets[] = { 0, 8, 4096, KiB(64) - 4096, KiB(64) - 8 };
	struct neighbours n;

	neighbours_init(&n, ctx_flags);
	for (uint32_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		const struct tsr_surface buffer = {
			.format = TSR_FORMAT_R32,
			.access = TSR_SURF_READ | TSR_SURF_WRITE,
			.offset = offsets[i],
		};
		/* rows of 8 bytes, one more than fits */
		struct tsr_surface rows = buffer;
		uint32_t words = (uint32_t)(KiB(64) - offsets[i]) / 4, first = offsets[i] / 4;

		rows.pitch = 8;
		rows.width = 2;
		rows.height = words / 2 + 1;
		require_eq(fill_at(&n, &buffer, 0, 0, words, i + 1), 0);
		neighbours_check(&n, first, KiB(64) / 4 - 1, i + 1);
		require_eq(fill_at(&n, &buffer, 0, 0, words, 0x1001), 0);
		require_eq(fill_at(&n, &buffer, words - 1, 0, 1, i + 1), 0);
		require_eq(fill_at(&n, &rows, 1, words / 2 - 1, 1, i + 1), 0);
		neighbours_check(&n, KiB(64) / 4 - 1, KiB(64) / 4 - 1, i + 1);
		require_eq(fill_at(&n, &buffer, words - 1, 0, 1, 0x1001), 0);
		/* the first word beyond it, alone and with the last word */
		require_fault(fill_at(&n, &buffer, words, 0, 1, 7));
		require_fault(fill_at(&n, &buffer, words - 1, 0, 2, 7));
		require_fault(fill_at(&n, &rows, 0, words / 2, 1, 7));
		neighbours_check(&n, 1, 0, 0);
	}
	tsr_close(&n.dev);
}

static void reach_in_one_piece(void)
{
	reaches_its_object(0);
}

static void reach_behind_a_cut(void)
{
	reaches_its_object(DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
}

/* ---- SPLIT-17, SPLIT-32: slots kept over cuts ------------------------ */

#define CUTS 4
#define LONG_FILLS 300

/*
 * Two objects are bound at the beginning and used only at the very end: one is
 * read, the other is written. The parts in between take long.
 */
struct kept {
	struct tsr_device dev;
	const struct drm_tessera_query_segment *seg;
	struct tsr_bo read, written, work;
	uint32_t ctx, words, done;
	struct tsr_cmd cmd;
};

static void kept_init(struct kept *kept)
{
	kept->dev = tsr_open();
	kept->seg = tsr_seg_visible(&kept->dev);
	kept->ctx = tsr_context_new(&kept->dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	kept->read = tsr_bo_new(&kept->dev, KiB(64), tsr_bit(kept->seg), cpu);
	kept->written = tsr_bo_new(&kept->dev, KiB(64), tsr_bit(kept->seg), cpu);
	kept->work = tsr_bo_new(&kept->dev, MiB(4), tsr_bit(tsr_seg_hidden(&kept->dev)), 0);
	kept->words = KiB(64) / 4;
	kept->done = tsr_syncobj_new(&kept->dev);
	tsr_bo_map(&kept->dev, &kept->read);
	tsr_bo_map(&kept->dev, &kept->written);
	tsr_pattern_write(&kept->read, 5);
	tsr_gpu_touch(&kept->dev, kept->ctx, &kept->work);

	tsr_cmd_init(&kept->cmd);
	tsr_cmd_group_begin(&kept->cmd);
	tsr_cmd_bind_buffer(&kept->cmd, 0, &kept->written, true);
	tsr_cmd_bind_buffer(&kept->cmd, 1, &kept->read, false);
	tsr_cmd_group_end(&kept->cmd);
	tsr_cmd_fill(&kept->cmd, 0, 0, kept->words, 1);
	for (uint32_t i = 0; i < CUTS; i++) {
		tsr_cmd_bind_buffer(&kept->cmd, 2, &kept->work, true);
		for (uint32_t n = 0; n < LONG_FILLS / CUTS; n++)
			tsr_cmd_fill(&kept->cmd, 2, 0, (uint32_t)(kept->work.size / 4), n);
	}
	tsr_cmd_copy(&kept->cmd, 0, 0, 1, 0, kept->words);
}

static void kept_submit(struct kept *kept)
{
	require_eq(tsr_submit(&kept->dev, kept->ctx, &kept->cmd, 0, kept->done), 1 + CUTS);
}

/* Waiting for one of the objects waits for the last part, which uses them. */
static void waiting_for_the_last_part(void)
{
	for (int read = 0; read < 2; read++) {
		struct kept kept;

		kept_init(&kept);
		kept_submit(&kept);
		tsr_bo_wait(&kept.dev, read ? &kept.read : &kept.written);
		require_ok(__tsr_syncobj_wait(kept.dev.fd, kept.done, 0, 0));
		/* LOCK-7: a CPU write after the wait is too late for the job */
		tsr_pattern_write(&kept.read, 6);
		tsr_pattern_check(&kept.written, 5);
		require_eq(tsr_syncobj_status(&kept.dev, kept.done), 0);
		tsr_close(&kept.dev);
	}
}

/* An eviction of the objects takes place after the last part. */
static void eviction_waits_for_the_last_part(void)
{
	uint64_t end = 0, out = 0;
	struct tsr_trace trace;
	struct kept kept;

	kept_init(&kept);
	tsr_trace_start("job_done", "paging_op", NULL);
	kept_submit(&kept);
	tsr_evict_set(tsr_bit(kept.seg));
	require_eq(tsr_bo_info(&kept.dev, &kept.read).segment, 0);
	require_eq(tsr_bo_info(&kept.dev, &kept.written).segment, 0);
	tsr_bo_wait(&kept.dev, &kept.written);
	trace = tsr_trace_stop();
	tsr_pattern_check(&kept.written, 5);
	tsr_pattern_check(&kept.read, 5);
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") == kept.dev.render)
			end = tsr_event_u64(ev, "end_ns");
	}
	tsr_trace_for_each(&trace, "paging_op", op) {
		if (!tsr_event_is(op, "kind", "transfer") ||
		    tsr_event_u64(op, "src") != kept.seg->id)
			continue;
		tsr_trace_for_each(&trace, "job_done", ev) {
			if (tsr_event_u64(ev, "engine") == kept.dev.render ||
			    tsr_event_u64(ev, "seqno") != tsr_event_u64(op, "seqno"))
				continue;
			require(tsr_event_u64(ev, "start_ns") >= end);
			out++;
		}
	}
	require(end && out);
	require_eq(tsr_syncobj_status(&kept.dev, kept.done), 0);
	tsr_close(&kept.dev);
}

#define READS 200 /* more than the limit of unfinished parts */

struct reading {
	struct tsr_call call;
	struct tsr_device *dev;
	struct tsr_cmd cmd;
	uint32_t ctx, done;
};

static void submit_reading(void *arg)
{
	struct reading *reading = arg;

	tsr_submit(reading->dev, reading->ctx, &reading->cmd, 0, reading->done);
}

/*
 * A submission keeps an object bound for reading, in the read-only aperture.
 * Another submission in parts writes the object, which has to move to another
 * segment first.
 */
static void written_while_held_for_reading(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *ro = tsr_seg_ro(&dev);
	struct tsr_bo bo = tsr_bo_prefers(&dev, KiB(64), ro, tsr_bit(tsr_seg_gart(&dev)), cpu);
	struct tsr_bo out = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_visible(&dev)), cpu);
	uint32_t writer = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	uint32_t second = tsr_second_engine(&dev);
	struct reading reading = {
		.dev = &dev,
		.ctx = tsr_context_forced_on(&dev, second),
		.done = tsr_syncobj_new(&dev),
	};
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	tsr_pattern_write((tsr_bo_map(&dev, &bo), &bo), 3);
	tsr_cmd_init(&reading.cmd);
	tsr_cmd_bind_buffer(&reading.cmd, 1, &bo, false);
	for (uint32_t i = 0; i < READS; i++) {
		tsr_cmd_bind_buffer(&reading.cmd, 0, &out, true);
		tsr_cmd_copy(&reading.cmd, 0, i, 1, i, 1);
	}
	stuck = tsr_stuck_start_on(&dev, tsr_context_on(&dev, second), second);
	tsr_call_start(&reading.call, submit_reading, &reading);
	tsr_wait_for(tsr_call_waits(&reading.call, "parts"));
	require_eq(tsr_bo_info(&dev, &bo).segment, ro->id);

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, READS, 16, 4);
	tsr_submit(&dev, writer, &cmd, 0, 0);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
	require(!reading.call.returned);
	tsr_stuck_end(&stuck);
	tsr_call_join(&reading.call);
	require_ok(tsr_syncobj_status(&dev, reading.done));
	tsr_bo_map(&dev, &out);
	for (uint32_t i = 0; i < READS; i++)
		tsr_pattern_require(((uint32_t *)out.map)[i], 3, i);
	tsr_words_check((uint32_t *)bo.map + READS, 16, 4);
	tsr_cmd_fini(&cmd);
	tsr_cmd_fini(&reading.cmd);
	tsr_close(&dev);
}

/* ---- SPLIT-35: before the first part --------------------------------- */

static int fence; /* inherited by the child */

/* Submits parts behind the fence, split by force or need. They must run. */
static void wait_for_fence(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, client->arg ? DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL : 0);
	uint32_t in = tsr_syncobj_new(&dev), out = tsr_syncobj_new(&dev);
	struct tsr_rotation rot;

	tsr_syncobj_import(&dev, in, fence);
	tsr_rotation_init(&dev, &rot, 6, 0);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, in, out));
	require_eq(tsr_syncobj_status(&dev, out), 0);
	tsr_rotation_check(&dev, ctx, &rot, 6);
	/* keep the file open: the test reads its engine time */
	tsr_wait_for(client->state->stop);
	tsr_close(&dev);
}

/*
 * No part begins before a foreign fence has signalled. Jobs of other clients on
 * the engine do not wait for it.
 */
static void first_part_waits(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	for (int forced = 0; forced < 2; forced++) {
		struct tsr_client client;
		uint64_t ran;

		fence = tsr_foreign_fence(foreign);
		tsr_client_start(&client, wait_for_fence, (uint64_t)forced);
		tsr_wait_for(client.state->begun);
		/* the device has time for other work meanwhile */
		for (uint32_t i = 0; i < 20; i++)
			tsr_small_run(&dev, &small);
		ran = tsr_client_engine_ns(&client, "render0");
		if (!tsr_fence_signalled(fence))
			require_eq(ran, 0);
		else
			tap_note("the foreign fence timed out before the end of the test");
		tsr_foreign_signal(foreign, 0);
		client.state->stop = true;
		tsr_client_join(&client);
		close(fence);
	}
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

/* A job in one piece that waits for the fence. */
static void wait_in_one_piece(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t in = tsr_syncobj_new(&dev), out = tsr_syncobj_new(&dev);
	struct tsr_small small;

	tsr_syncobj_import(&dev, in, fence);
	tsr_small_init(&dev, &small, dev.render);
	require_ok(tsr_client_submit(client, &dev, small.ctx, &small.cmd, in, out));
	require_eq(tsr_syncobj_status(&dev, out), 0);
	tsr_close(&dev);
}

/* A submission in parts does not wait for a job behind a foreign fence. */
static void group_passes_blocked_job(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev), ours = 0;
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_client client;
	struct tsr_rotation rot;
	struct tsr_small small;
	struct tsr_trace trace;
	struct tsr_run *runs;
	bool late;
	size_t n;

	tsr_small_init(&dev, &small, dev.render);
	tsr_rotation_init(&dev, &rot, 6, 0);
	fence = tsr_foreign_fence(foreign);
	tsr_client_start(&client, wait_in_one_piece, 0);
	tsr_wait_for(client.state->begun);
	for (uint32_t i = 0; i < 20; i++)
		tsr_small_run(&dev, &small);
	tsr_trace_start("split_part", "job_done", NULL);
	tsr_submit(&dev, ctx, &rot.cmd, 0, done);
	/* until here no job of the other client could pass the gate */
	late = tsr_fence_signalled(fence);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_foreign_signal(foreign, 0);
	tsr_client_join(&client);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "split_part", ev) {
		if (tsr_event_u64(ev, "part"))
			ours = (uint32_t)tsr_event_u64(ev, "ctx");
	}
	runs = tsr_trace_runs(&trace, dev.render, &n);
	if (late)
		tap_note("the foreign fence timed out before the end of the test");
	else
		require_eq(runs[0].ctx, ours);
	free(runs);
	close(fence);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

/* ---- SEG-30, SPLIT-2: an aperture whose commit limit is below its size ---- */

static void parts_in_an_aperture(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint64_t size = gart->commit_limit / 2, used, mapped = 0, peak = 0;
	uint32_t ctx = tsr_context_new(&dev, 0), parts;
	struct tsr_trace trace;
	struct tsr_bo bos[5];
	struct tsr_cmd cmd;

	require(gart->commit_limit < gart->size);
	tsr_cmd_init(&cmd);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
			uint32_t last = (uint32_t)(size / 4) - 1;

			if (!round)
				bos[i] = tsr_bo_new(&dev, size, tsr_bit(gart), cached);
			tsr_cmd_bind_buffer(&cmd, i & 1, &bos[i], true);
			tsr_cmd_fill(&cmd, i & 1, round, 1, 0x100 * round + i + 1);
			tsr_cmd_fill(&cmd, i & 1, last - round, 1, 0x100 * round + i + 1);
		}
	tsr_trace_start("paging_op", NULL);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, &parts), 0);
	trace = tsr_trace_stop();
	require(parts > 1);
	/*
	 * in the order of the paging engine's queue: the mapped size never
	 * exceeds the limit
	 */
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (tsr_event_is(ev, "kind", "map"))
			mapped += tsr_event_u64(ev, "size");
		else if (tsr_event_is(ev, "kind", "unmap"))
			mapped -= tsr_event_u64(ev, "size");
		peak = mapped > peak ? mapped : peak;
	}
	used = tsr_query_memory(&dev, gart->id).used;
	tap_note("%u parts, %llu KiB mapped at most, %llu KiB in the end", parts,
		 (unsigned long long)peak >> 10, (unsigned long long)used >> 10);
	require(peak <= gart->commit_limit && peak > size);
	require(used <= gart->commit_limit);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		const uint32_t *words = tsr_bo_map(&dev, &bos[i]);
		uint64_t last = size / 4 - 1;

		for (uint32_t round = 0; round < 2; round++) {
			require_eq(words[round], 0x100 * round + i + 1);
			require_eq(words[last - round], 0x100 * round + i + 1);
		}
	}
	tsr_close(&dev);
}

/* ---- SWZ-12, PAGE-4: swizzled objects of several MiB, with odd pitches ---- */

static void check_swizzled(struct tsr_device *dev, uint32_t ctx, uint32_t layout, uint32_t pitch,
			   uint32_t rows)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	struct tsr_surface view = tsr_surface_rows(layout, pitch, rows);
	struct tsr_bo bo = tsr_bo_new_rows(dev, &view, tsr_bit(seg), cpu), out;
	struct tsr_cmd cmd;
	uint32_t *p;

	out = tsr_bo_new(dev, bo.size, tsr_bit(tsr_seg_hidden(dev)) | tsr_bit(tsr_seg_gart(dev)),
			 cached);
	tsr_bo_map(dev, &bo);
	tsr_pattern_write(&bo, layout);
	tsr_cmd_init(&cmd);
	tsr_cmd_copy_rows(&cmd, &out, &bo, &view);
	/* swizzled by the page-in, copied by the GPU in its layout */
	tsr_submit_done(dev, ctx, &cmd);
	require_eq(tsr_bo_info(dev, &bo).segment, seg->id);
	tsr_bo_map(dev, &out);
	tsr_pattern_check(&out, layout);
	/* written by the GPU, so that the eviction has to copy it back */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind(&cmd, 0, &bo, &view);
	p = tsr_cmd_packet(&cmd, TSR_OP_FILL, 0, TSR_FILL_DWORDS);
	p[2] = view.width - 3;
	p[3] = rows - 5;
	p[4] = 3;
	p[5] = 5;
	p[6] = 0x77;
	tsr_submit_done(dev, ctx, &cmd);
	tsr_evict_set(tsr_bit(seg));
	require_eq(tsr_bo_info(dev, &bo).segment, 0);
	tsr_bo_wait(dev, &bo);
	for (uint32_t y = 0; y < rows; y++)
		for (uint32_t x = 0; x < view.width; x++) {
			uint64_t i = (uint64_t)y * view.width + x;
			bool filled = x >= view.width - 3 && y >= rows - 5;

			require_eq(((uint32_t *)bo.map)[i], filled ? 0x77 : tsr_pattern(layout, i));
		}
	tsr_cmd_fini(&cmd);
	tsr_bo_free(dev, &bo);
	tsr_bo_free(dev, &out);
}

static void swizzled_and_large(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (int tight = 0; tight < 2; tight++) {
		/* one packet per buffer, so that a transfer needs many jobs */
		if (tight)
			tsr_knob("paging_ib_bytes", "64");
		for (uint32_t layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT; layout++) {
			check_swizzled(&dev, ctx, layout, 128 * 23, 32 * 45);
			check_swizzled(&dev, ctx, layout, 128 * 7, 32 * 100);
			check_swizzled(&dev, ctx, layout, 128 * 51, 32 * 15);
		}
	}
	tsr_close(&dev);
}

/* ---- SEG-8: submissions that exceed memory --------------------------- */

#define ROUNDS 12

static void exceed_memory(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_rotation rot;

	/* a part needs more than half of the segment, all need twice that */
	tsr_rotation_init(&dev, &rot, 10, 0);
	while (!client->state->stop) {
		require_eq(tsr_submit_status(&dev, ctx, &rot.cmd, NULL), 0);
		client->state->rounds++;
	}
	tsr_rotation_check(&dev, ctx, &rot, 10);
	tsr_close(&dev);
}

/* Uses all objects in turn until both other clients have made progress. */
static void stay_active(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bos,
			uint32_t count, const struct tsr_client clients[2])
{
	for (uint32_t i = 0; clients[0].state->rounds < ROUNDS || clients[1].state->rounds < ROUNDS;
	     i++) {
		tsr_gpu_touch(dev, ctx, &bos[i % count]);
		usleep(1000);
	}
}

static void small_beside_large(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	/* on the other engine, where it need not wait for the parts */
	uint32_t ctx = tsr_context_on(&dev, tsr_second_engine(&dev)), lost = 0;
	struct tsr_client clients[2];
	struct tsr_trace trace;
	struct tsr_bo bos[4];
	uint64_t first;

	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	tsr_trace_start("bo_create", NULL);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, seg->size / 32, tsr_bit(seg), 0);
		tsr_gpu_fill(&dev, ctx, &bos[i], i);
	}
	trace = tsr_trace_stop();
	first = tsr_event_u64(tsr_trace_next(&trace, "bo_create", NULL), "bo");
	tsr_trace_free(&trace);
	tsr_trace_start("evict", NULL);
	for (uint32_t i = 0; i < 2; i++)
		tsr_client_start(&clients[i], exceed_memory, 0);
	stay_active(&dev, ctx, bos, ARRAY_SIZE(bos), clients);
	trace = tsr_trace_stop();
	for (uint32_t i = 0; i < 2; i++)
		clients[i].state->stop = true;
	for (uint32_t i = 0; i < 2; i++)
		tsr_client_join(&clients[i]);
	tsr_trace_for_each(&trace, "evict", ev) {
		if (tsr_event_u64(ev, "bo") < first ||
		    tsr_event_u64(ev, "bo") >= first + ARRAY_SIZE(bos))
			continue;
		tap_note("evicted:%s", ev->text);
		lost++;
	}
	tap_note("%u and %u submissions of the large ones, %zu evictions", clients[0].state->rounds,
		 clients[1].state->rounds, tsr_trace_count(&trace, "evict"));
	require_eq(lost, 0);
	tsr_close(&dev);
}

/* ---- lists with a bad element at the end ----------------------------- */

/* No reference taken before the bad element is kept. */
static void bad_at_the_end(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct drm_tessera_sync syncs[3] = {
		{ .handle = sync, .flags = DRM_TESSERA_SYNC_SIGNAL },
		{ .handle = tsr_syncobj_new(&dev), .flags = DRM_TESSERA_SYNC_SIGNAL },
		{ .handle = 0x7fffffff, .flags = DRM_TESSERA_SYNC_SIGNAL },
	};
	uint32_t created, destroyed;
	struct tsr_bo bos[8];
	struct drm_tessera_submit args;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_trace_start("bo_create", "bo_destroy", NULL);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
		tsr_cmd_bind_buffer(&cmd, i, &bos[i], true);
		tsr_cmd_fill(&cmd, i, 0, 1, i);
	}
	for (int i = 0; i < 50; i++) {
		/* bad handle, flags, slot, syncobj, timeline point */
		cmd.allocs[7].handle = 0x7fffffff;
		require_err(__tsr_submit(&dev, ctx, &cmd, 0, sync, &args), -ENOENT);
		cmd.allocs[7].handle = bos[7].handle;
		cmd.allocs[7].flags |= 1u << 31;
		require_err(__tsr_submit(&dev, ctx, &cmd, 0, sync, &args), -EINVAL);
		cmd.allocs[7].flags &= ~(1u << 31);
		cmd.patches[7].slot_id = 0xffffff;
		require_err(__tsr_submit(&dev, ctx, &cmd, 0, sync, &args), -EINVAL);
		cmd.patches[7].slot_id = 7;
		tsr_submit_args(&cmd, ctx, &args);
		args.syncs.count = 3;
		args.syncs.array = (uintptr_t)syncs;
		require_err(__tsr_submit_ioctl(dev.fd, &args), -ENOENT);
		syncs[2].handle = sync;
		syncs[2].flags = DRM_TESSERA_SYNC_TIMELINE;
		syncs[2].point = 5;
		require_err(__tsr_submit_ioctl(dev.fd, &args), -EINVAL);
		syncs[2] = (struct drm_tessera_sync){ .handle = 0x7fffffff,
						      .flags = DRM_TESSERA_SYNC_SIGNAL };
	}
	tsr_submit_done(&dev, ctx, &cmd);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_bo_free(&dev, &bos[i]);
	/* a leaked reference would keep an object */
	tsr_wait_for(tsr_query_memory(&dev, tsr_seg_gart(&dev)->id).client_used == 0);
	trace = tsr_trace_stop();
	created = (uint32_t)tsr_trace_count(&trace, "bo_create");
	destroyed = (uint32_t)tsr_trace_count(&trace, "bo_destroy");
	require_eq(destroyed, created);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* Counts whose size in bytes exceeds 32 bits, and looks valid if it wraps. */
static void counts_that_wrap(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct drm_tessera_query_segment segs[TSR_MAX_SEGMENTS];
	struct drm_tessera_submit args;
	uint32_t count;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1);
	/* sizes 8 * (2^29 + 1), 32 * (2^27 + 1), 16 * (2^28 + 1) bytes */
	tsr_submit_args(&cmd, ctx, &args);
	args.allocs.count = (1u << 29) + 1;
	require_err(__tsr_submit_ioctl(dev.fd, &args), -E2BIG);
	tsr_submit_args(&cmd, ctx, &args);
	args.patches.count = (1u << 27) + 1;
	require_err(__tsr_submit_ioctl(dev.fd, &args), -E2BIG);
	tsr_submit_args(&cmd, ctx, &args);
	args.syncs.count = (1u << 28) + 1;
	require_err(__tsr_submit_ioctl(dev.fd, &args), -E2BIG);
	/* the stride makes the size wrap */
	tsr_submit_args(&cmd, ctx, &args);
	args.allocs.count = 2;
	args.allocs.stride = 0x80000004;
	require(__tsr_submit_ioctl(dev.fd, &args) < 0);
	tsr_submit_args(&cmd, ctx, &args);
	args.patches.count = 0x1000;
	args.patches.stride = 0x100020;
	require(__tsr_submit_ioctl(dev.fd, &args) < 0);
	/* QUERY writes the existing elements only, for any count */
	memset(segs, 0xaa, sizeof(segs));
	count = 0xffffffff / sizeof(segs[0]) + 2;
	require_ok(__tsr_query(dev.fd, DRM_TESSERA_QUERY_SEGMENTS, sizeof(segs[0]), &count, segs));
	require_eq(count, dev.num_segs);
	require(!memcmp(segs, dev.segs, count * sizeof(segs[0])));
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

#define KEPT_PARTS 40 /* more than the 32 that the kernel arms at a time */

struct run {
	struct tsr_device *dev;
	struct tsr_cmd cmd;
	uint32_t ctx, sync;
};

static void run_submit(void *arg)
{
	struct run *run = arg;

	require(tsr_submit(run->dev, run->ctx, &run->cmd, 0, run->sync) > KEPT_PARTS);
}

/*
 * An object stays bound over the cuts between the first parts, and is then
 * replaced in its slot by one that does not fit beside it. Only this submission
 * holds the first object, so it must not wait for that hold.
 */
static void evictable_when_replaced(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	struct tsr_bo first = tsr_bo_new(&dev, vis->size * 5 / 8, tsr_bit(vis), 0);
	struct tsr_bo second = tsr_bo_new(&dev, vis->size * 5 / 8, tsr_bit(vis), 0);
	struct tsr_bo small = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	struct run run = {
		.dev = &dev,
		.ctx = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL),
		.sync = tsr_syncobj_new(&dev),
	};
	struct tsr_call call;

	/* a hold also ends after twelve job timeouts */
	tsr_job_timeout_lift();
	tsr_cmd_init(&run.cmd);
	for (uint32_t i = 0; i < 2 * KEPT_PARTS; i++) {
		tsr_cmd_group_begin(&run.cmd);
		if (i % KEPT_PARTS == 0)
			tsr_cmd_bind_buffer(&run.cmd, 1, i ? &second : &first, true);
		tsr_cmd_bind_buffer(&run.cmd, 0, &small, true);
		tsr_cmd_group_end(&run.cmd);
		tsr_cmd_fill(&run.cmd, 1, i, 1, i + 1);
	}
	tsr_call_start(&call, run_submit, &run);
	tsr_wait_for(call.returned || tsr_call_waits(&call, "held"));
	require_msg(call.returned,
		    "expected the submission not to wait for an object that only it holds");
	tsr_call_join(&call);
	require_ok(tsr_syncobj_status(&dev, run.sync));
	require_eq(tsr_bo_info(&dev, &second).segment, vis->id);
	tsr_cmd_fini(&run.cmd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-27 a slot reaches to the end of its object", reach_in_one_piece,
	  TSR_EXPECT(SLOT_BOUNDS), 0 },
	{ "SPLIT-27 PAGE-12 the same for a slot kept over a cut", reach_behind_a_cut,
	  TSR_EXPECT(SLOT_BOUNDS), 0 },
	{ "SPLIT-17 SPLIT-32 LOCK-7 a wait for objects held over cuts", waiting_for_the_last_part,
	  0, 0 },
	{ "SPLIT-17 SPLIT-32 eviction waits for objects held over cuts",
	  eviction_waits_for_the_last_part, 0, 0 },
	{ "SPLIT-17 SPLIT-31 a writer waits for an object held in the read-only aperture",
	  written_while_held_for_reading, 0, 0 },
	{ "SPLIT-10 SPLIT-17 an object replaced in its slot can be evicted",
	  evictable_when_replaced, 0, 0 },
	{ "SPLIT-35 no part begins before a foreign fence", first_part_waits, 0, 0 },
	{ "SCHED-2 a split submission does not wait for a foreign-blocked job",
	  group_passes_blocked_job, 0, 0 },
	{ "SEG-30 SPLIT-2 parts in an aperture with a commit limit", parts_in_an_aperture, 0, 0 },
	{ "SWZ-12 PAGE-4 swizzled, of several MiB, odd pitches", swizzled_and_large, 0, 0 },
	{ "SEG-8 two clients that exceed memory leave a third one its share", small_beside_large, 0,
	  200 },
	{ "lists that are bad at their end", bad_at_the_end, 0, 0 },
	{ "counts whose size in bytes exceeds 32 bits", counts_that_wrap, 0, 0 },
};

TSR_TEST_MAIN(tests)
