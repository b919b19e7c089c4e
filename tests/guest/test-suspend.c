// SPDX-License-Identifier: MIT
/*
 * Suspend and resume: segments that lose their contents are evicted first, and
 * the contents come back. The device really loses memory that it does not
 * report as preserved (x-lose-vram).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "foreign.h"
#include "pci.h"
#include "stall.h"
#include "swizzled.h"
#include "trace.h"
#include "tsr.h"

static bool was_evicted(const struct tsr_trace *trace, const struct drm_tessera_query_segment *seg)
{
	tsr_trace_for_each(trace, "evict", ev) {
		if (tsr_event_u64(ev, "segment") == seg->id)
			return true;
	}
	return false;
}

/* Whether the segment keeps its contents. */
static bool is_preserved(const struct drm_tessera_query_segment *seg)
{
	return tsr_device_has("vram-preserved=on") && seg->flags & DRM_TESSERA_SEGMENT_CPU_VISIBLE;
}

/* Creates an object in each of the segments, with a different value in each. */
static void fill_segments(struct tsr_device *dev, uint32_t ctx,
			  const struct drm_tessera_query_segment *const *segs, struct tsr_bo *bos,
			  uint32_t num, uint32_t value)
{
	for (uint32_t i = 0; i < num; i++) {
		bos[i] = tsr_bo_new(dev, MiB(2), tsr_bit(segs[i]), 0);
		tsr_gpu_fill(dev, ctx, &bos[i], value + i);
		require_eq(tsr_bo_info(dev, &bos[i]).segment, segs[i]->id);
	}
}

static void check_objects(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bos,
			  uint32_t num, uint32_t value)
{
	uint32_t word;

	for (uint32_t i = 0; i < num; i++) {
		tsr_gpu_read(dev, ctx, &bos[i], 4711, 1, &word);
		require_eq(word, value + i);
	}
}

/*
 * Segments that are not preserved are evicted, preserved ones are not. After
 * resume the segment table still equals the device's registers.
 */
static void segments_are_emptied(void)
{
	struct tsr_registers regs = (tsr_pci_begin(), tsr_pci_registers());
	struct tsr_device dev = tsr_pci_open(), after;
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_hidden(&dev),
							   tsr_seg_gart(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[ARRAY_SIZE(segs)];
	struct tsr_trace trace;

	fill_segments(&dev, ctx, segs, bos, ARRAY_SIZE(segs), 0x51);

	tsr_trace_start("evict", NULL);
	tsr_suspend_devices();
	trace = tsr_trace_stop();
	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		bool stays = is_preserved(segs[i]);

		require_msg(was_evicted(&trace, segs[i]) == !stays, "segment %u", segs[i]->id);
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, stays ? segs[i]->id : 0);
	}
	tsr_trace_free(&trace);

	check_objects(&dev, ctx, bos, ARRAY_SIZE(segs), 0x51);
	tsr_gpu_blit(&dev, ctx);
	after = tsr_pci_open();
	tsr_pci_same_segments(&regs, &after);
	tsr_close(&after);
	tsr_close(&dev);
}

/*
 * Swizzling ranges do not survive a suspend, even if the bytes do. The CPU must
 * still see linear bytes afterwards.
 */
static void swizzled_bytes_stay_linear(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_swizzled s = tsr_swizzled_small(&dev, tsr_context_new(&dev, 0), 1);

	tsr_pattern_check(&s.bo, 1);
	require(tsr_ranges_now().used);
	tsr_suspend_devices();
	require_eq(tsr_bo_info(&dev, &s.bo).segment, is_preserved(seg) ? seg->id : 0);
	tsr_pattern_check(&s.bo, 1);
	tsr_close(&dev);
}

/*
 * Another kernel uses the device between hibernation and the restore of the
 * image. So no object may stay in VRAM, not even in a segment that is preserved
 * over standby.
 */
static void hibernation_empties_all(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_hidden(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[ARRAY_SIZE(segs)];
	struct tsr_trace trace;

	fill_segments(&dev, ctx, segs, bos, ARRAY_SIZE(segs), 0x71);
	tsr_trace_start("evict", NULL);
	tsr_hibernate_devices();
	trace = tsr_trace_stop();
	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		require_msg(was_evicted(&trace, segs[i]),
			    "expected segment %u to be empty, another kernel will use it",
			    segs[i]->id);
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, 0);
		require_eq(tsr_query_memory(&dev, segs[i]->id).used, 0);
	}
	tsr_trace_free(&trace);
	check_objects(&dev, ctx, bos, ARRAY_SIZE(segs), 0x71);
	tsr_close(&dev);
}

/* Objects evicted from VRAM into an aperture are evicted from there, too. */
static void eviction_sets_are_emptied(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bos[4];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		struct drm_tessera_bo_create args = {
			.size = MiB(1),
			.supported = tsr_bit(hidden) | tsr_bit(gart),
			.evict_to = tsr_bit(gart),
			.num_preferred = 1,
			.preferred = { (uint8_t)hidden->id },
		};

		require_ok(__tsr_bo_create(dev.fd, &args));
		bos[i] = (struct tsr_bo){ .handle = args.handle, .size = args.size };
		tsr_gpu_fill(&dev, ctx, &bos[i], 0x61 + i);
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, hidden->id);
	}
	for (int round = 0; round < 2; round++) {
		tsr_suspend_devices();
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			require_eq(tsr_bo_info(&dev, &bos[i]).segment, 0);
		require_eq(tsr_query_memory(&dev, gart->id).used, 0);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
			tsr_gpu_read(&dev, ctx, &bos[i], 815, 1, &word);
			require_eq(word, 0x61 + i);
		}
	}
	tsr_close(&dev);
}

#define LOAD_OBJECTS 9

/* Writes and reads objects of one value each in all segments until stopped. */
static void load(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_hidden(&dev)),
				  tsr_bit(tsr_seg_gart(&dev)) };
	uint32_t ctx = tsr_context_new(&dev, 0), value[LOAD_OBJECTS], words[2];
	uint64_t rng = tap_seed(client->arg + 1);
	struct tsr_bo bos[LOAD_OBJECTS];

	for (uint32_t i = 0; i < LOAD_OBJECTS; i++) {
		bos[i] = tsr_bo_new(&dev, MiB(2), sets[i % 3],
				    i % 3 == 1 ? 0 : DRM_TESSERA_BO_CPU_ACCESS);
		if (i % 3 != 1)
			tsr_bo_map(&dev, &bos[i]);
		value[i] = 0;
	}
	while (!client->state->stop) {
		uint32_t a = tap_random(&rng) % LOAD_OBJECTS, b = tap_random(&rng) % LOAD_OBJECTS;

		if (a == b) {
			value[a] = (uint32_t)tap_random(&rng);
			tsr_gpu_fill(&dev, ctx, &bos[a], value[a]);
		} else {
			tsr_gpu_copy(&dev, ctx, &bos[a], &bos[b]);
			value[a] = value[b];
		}
		if (bos[b].map)
			tsr_words_check(bos[b].map, bos[b].size / 4, value[b]);
		tsr_gpu_read(&dev, ctx, &bos[a], bos[a].size / 4 - 2, 2, words);
		tsr_words_check(words, 2, value[a]);
		client->state->rounds++;
	}
	for (uint32_t i = 0; i < LOAD_OBJECTS; i++) {
		struct tsr_bo copy = tsr_bo_new(&dev, bos[i].size, tsr_bit(tsr_seg_gart(&dev)),
						DRM_TESSERA_BO_CPU_ACCESS);

		tsr_gpu_copy(&dev, ctx, &copy, &bos[i]);
		tsr_words_check(tsr_bo_map(&dev, &copy), copy.size / 4, value[i]);
		tsr_bo_free(&dev, &copy);
	}
	tsr_close(&dev);
}

static void contents_under_load(void)
{
	struct tsr_client clients[3];

	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
		tsr_client_start(&clients[i], load, i);
	for (uint32_t round = 0; round < (tap_long() ? 6 : 3); round++) {
		for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++) {
			uint32_t before = clients[i].state->rounds;

			tsr_wait_for(clients[i].state->rounds > before + 2);
		}
		tsr_suspend_devices();
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i].state->stop = true;
		tsr_client_join(&clients[i]);
	}
}

#define QUEUED 64

static void jobs_run_after_resume(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), last = tsr_syncobj_new(&dev);
	struct tsr_bo bo =
		tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	/*
	 * In a segment that keeps its contents: the suspend does not wait for
	 * all jobs then, and some of them are queued until the resume.
	 */
	struct tsr_bo busy = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), 0);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &bo);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &busy, true);
	for (uint32_t i = 0; i < 20; i++)
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(busy.size / 4), i);
	/* It needs the microcode, which the suspend loses. */
	tsr_cmd_blit_rows(&cmd, 0, &busy);
	for (uint32_t round = 1; round <= 3; round++) {
		tsr_pattern_write(&bo, round);
		for (uint32_t i = 0; i < QUEUED; i++)
			tsr_submit(&dev, ctx, &cmd, 0, last);
		tsr_suspend_devices();
		require_ok(tsr_syncobj_status(&dev, last));
		tsr_pattern_check(&bo, round);
		tsr_gpu_fill(&dev, ctx, &bo, round);
		tsr_words_check(bo.map, bo.size / 4, round);
	}
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static int fence; /* inherited by the child */

/*
 * Has a resident object that a job is going to write, and waits for a foreign
 * fence in SUBMIT.
 */
static void submit_behind_fence(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0), in = tsr_syncobj_new(&dev), word;
	struct tsr_cmd cmd;

	tsr_gpu_fill(&dev, ctx, &bo, 1);
	tsr_syncobj_import(&dev, in, fence);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 2);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, in, 0));
	require(tsr_fence_signalled(fence));
	tsr_gpu_read(&dev, ctx, &bo, 0, 1, &word);
	require_eq(word, 2);
	tsr_gpu_read(&dev, ctx, &bo, 1, 1, &word);
	require_eq(word, 1);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * The waiting submission holds no memory, so suspend can evict the object. The
 * submission continues after resume.
 */
static void beside_a_fence(void)
{
	struct tsr_device dev = tsr_open();
	int timeline = tsr_sw_sync_new(&fence);
	struct tsr_client client;

	tsr_client_start(&client, submit_behind_fence, 0);
	tsr_wait_for(tsr_is_waiting(client.pid, "foreign"));
	require_eq(tsr_query_memory(&dev, tsr_seg_hidden(&dev)->id).used, MiB(1));
	tsr_suspend_devices();
	require_eq(tsr_query_memory(&dev, tsr_seg_hidden(&dev)->id).used, 0);
	require(!client.state->returned);
	tsr_sw_sync_signal(timeline);
	tsr_client_join(&client);
	close(fence);
	close(timeline);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-31 SEG-4 SEG-14 suspend empties the segments, contents survive",
	  segments_are_emptied, 0, 25 },
	{ "SWZ-30 swizzled bytes are seen in linear order after a suspend",
	  swizzled_bytes_stay_linear, 0, 0 },
	/* the kernel waits 5 s in this test mode */
	{ "PAGE-14 hibernation empties all segments", hibernation_empties_all, 0, 180 },
	{ "SEG-31 SEG-29 suspend empties apertures of eviction sets, too",
	  eviction_sets_are_emptied, 0, 25 },
	{ "SEG-31 jobs queued over suspend end, later ones run", jobs_run_after_resume, 0, 25 },
	{ "SEG-31 contents over suspend under load", contents_under_load, 0, 30 },
	{ "SEG-31 a suspend while a client waits for a foreign fence", beside_a_fence, 0, 25 },
};

TSR_TEST_MAIN(tests)
