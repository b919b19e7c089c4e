// SPDX-License-Identifier: MIT
/*
 * Swapping of evicted objects, and destruction of objects that are in use. No
 * byte may be lost, new memory must read as zero, and the pages and the space
 * of what is gone must be free.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

#define FREE_BYTES MiB(64)
#define PAGED_FIRST 20
/*
 * Two KiB in each round must exceed the error of the cgroup statistics: up to
 * half a MiB for two seconds.
 */
#define PAGED_MORE (tap_slow() ? 300u : 400u)

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

static void swap_out(void)
{
	/* Each read swaps something out. */
	for (int i = 0; i < 32; i++)
		free(tsr_read_file("/sys/kernel/debug/ttm/tt_shrink"));
}

/* Pages that TTM has swapped out come back wherever they are needed next. */
static void swapped_pages_come_back(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo in_system, in_gart, fresh;
	char *probe = tsr_read_file("/sys/kernel/debug/ttm/tt_shrink");

	if (!probe)
		tap_skip("TTM offers no tt_shrink");
	free(probe);
	in_system = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	in_gart = tsr_bo_new(&dev, MiB(1), tsr_bit(gart), cpu | DRM_TESSERA_BO_CPU_CACHED);
	fresh = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	tsr_bo_map(&dev, &in_system);
	tsr_bo_map(&dev, &in_gart);
	tsr_pattern_write(&in_system, 1);
	tsr_gpu_fill(&dev, ctx, &in_gart, 2);
	require_eq(tsr_bo_info(&dev, &in_gart).segment, gart->id);

	tsr_evict_set(tsr_bit(gart));
	swap_out();
	tsr_gpu_read(&dev, ctx, &in_system, 17, 1, &word);
	require_eq(word, tsr_pattern(1, 17));
	tsr_words_check(in_gart.map, in_gart.size / 4, 2);
	tsr_pattern_check(&in_system, 1);

	swap_out();
	tsr_gpu_read(&dev, ctx, &in_gart, 0, 1, &word);
	require_eq(word, 2);
	tsr_evict_set(tsr_bit(seg));
	swap_out();
	tsr_pattern_check(&in_system, 1);
	tsr_bo_map(&dev, &fresh);
	tsr_words_check(fresh.map, fresh.size / 4, 0);
	tsr_close(&dev);
}

static uint64_t evicted_bytes(const struct drm_tessera_query_segment *seg, const char *kind)
{
	struct tsr_trace trace;
	uint64_t bytes = 0;

	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(seg));
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (tsr_event_is(ev, "kind", kind))
			bytes += tsr_event_u64(ev, "size");
	}
	tsr_trace_free(&trace);
	return bytes;
}

/* Repeat it, because an object is skipped while it is locked for a moment. */
static void drop_spare_pages(void)
{
	for (int i = 0; i < 5; i++)
		require_ok(tsr_write_file("/proc/sys/vm/drop_caches", "2"));
}

/*
 * The shrinker frees the system pages behind an object in video memory. The
 * copy in them is lost then, so the next eviction must transfer.
 */
static void pages_are_given_up(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(2), tsr_bit(seg), cpu);

	tsr_bo_map(&dev, &bo);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&bo, round);
		tsr_evict_set(tsr_bit(seg));
		tsr_gpu_read(&dev, ctx, &bo, 1, 1, &word);
		require_eq(word, tsr_pattern(round, 1));
		require_eq(evicted_bytes(seg, "discard"), bo.size);
		tsr_gpu_read(&dev, ctx, &bo, 1, 1, &word);
		drop_spare_pages();
		require_eq(evicted_bytes(seg, "transfer"), bo.size);
		tsr_pattern_check(&bo, round);
		/* Destroy an object while it has no system pages. */
		tsr_gpu_read(&dev, ctx, &bo, 1, 1, &word);
		drop_spare_pages();
		if (round == 3)
			tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/* Take the memory that a freed object had, and fill it. */
static void *take_free_memory(void)
{
	void *p =
		mmap(NULL, FREE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(p != MAP_FAILED);
	memset(p, 0xdd, FREE_BYTES);
	return p;
}

static void check_taken_memory(void *p)
{
	tsr_words_check(p, FREE_BYTES / 4, 0xdddddddd);
	munmap(p, FREE_BYTES);
}

/*
 * An object that has been moved before has a page list. It must not be used for
 * the new pages that the object gets each time.
 */
static void other_pages(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint32_t segs = tsr_bit(seg) | tsr_bit(tsr_seg_gart(&dev));
	const uint32_t words = MiB(5) / 4;
	uint32_t ctx = tsr_context_new(&dev, 0), *read = malloc(MiB(5));
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(5), segs, cpu | DRM_TESSERA_BO_CPU_CACHED);
	void *taken;

	require(read);
	tsr_bo_map(&dev, &bo);
	for (uint32_t round = 1; round < 5; round++) {
		tsr_pattern_write(&bo, round);
		/*
		 * Free the pages while the object is in video memory and has
		 * been written there.
		 */
		tsr_gpu_fill(&dev, ctx, &bo, round);
		require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
		drop_spare_pages();
		taken = take_free_memory();
		require_eq(evicted_bytes(seg, "transfer"), bo.size);
		tsr_words_check(bo.map, words, round);
		check_taken_memory(taken);
		/* Swap out while the object is not in video memory. */
		tsr_pattern_write(&bo, 100 + round);
		tsr_bo_wait(&dev, &bo);
		require(tsr_swap_out_objects() >= (long)(bo.size / 4096));
		taken = take_free_memory();
		tsr_gpu_read(&dev, ctx, &bo, 0, words, read);
		for (uint32_t i = 0; i < words; i++)
			require_eq(read[i], tsr_pattern(100 + round, i));
		check_taken_memory(taken);
		tsr_evict_set(tsr_bit(seg));
	}
	free(read);
	tsr_close(&dev);
}

/*
 * The space of an object that was destroyed while in use becomes free when its
 * job ends.
 */
static void space_of_the_destroyed(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo;

	for (uint32_t i = 0; i < 20; i++) {
		struct tsr_cmd cmd;

		bo = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), i);
		tsr_submit(&dev, ctx, &cmd, 0, 0);
		tsr_cmd_fini(&cmd);
		tsr_bo_free(&dev, &bo);
	}
	bo = tsr_bo_new(&dev, seg->size, tsr_bit(seg), cpu);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_bo_map(&dev, &bo);
	tsr_words_check(bo.map, bo.size / 4, 0);
	tsr_close(&dev);
}

/*
 * A split submission with no part that fits beside a destroyed object waits for
 * that object.
 */
static void parts_behind_the_destroyed(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx[2] = { tsr_context_new(&dev, 0), tsr_context_new(&dev, 0) }, parts;
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, 6, 0);
	for (uint32_t round = 0; round < 3; round++) {
		struct tsr_bo dying = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		struct tsr_cmd cmd;

		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &dying, true);
		for (uint32_t i = 0; i < 100; i++)
			tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(dying.size / 4), i);
		tsr_submit(&dev, ctx[0], &cmd, 0, 0);
		tsr_cmd_fini(&cmd);
		tsr_bo_free(&dev, &dying);
		require_ok(tsr_submit_status(&dev, ctx[1], &rot.cmd, &parts));
		require_eq(parts, 6);
		tsr_rotation_check(&dev, ctx[1], &rot, 6);
	}
	tsr_close(&dev);
}

/*
 * Fill free pages with garbage. The kernel does not clear pages when it
 * allocates them (init_on_alloc=0, as on the debug kernel).
 */
static void dirty_free_pages(void)
{
	uint64_t bytes = tsr_meminfo("MemFree") / 4 * 3 & ~(MiB(2) - 1);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(p != MAP_FAILED);
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0xdd, bytes);
	munmap(p, bytes);
}

/*
 * Objects without CPU access must read as zero by the GPU, in each kind of
 * segment.
 */
static void unmappable_memory_reads_as_zero(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_gart(&dev), tsr_seg_ro(&dev),
							   tsr_seg_hidden(&dev) };
	const uint32_t flags[] = { 0, DRM_TESSERA_BO_GPU_READ_ONLY, 0 };
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t *words = malloc(MiB(1));

	require(words);
	dirty_free_pages();
	for (int i = 0; i < 3; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, MiB(16), tsr_bit(segs[i]), flags[i]);

		for (uint64_t at = 0; at < bo.size / 4; at += MiB(1) / 4) {
			tsr_gpu_read(&dev, ctx, &bo, at, MiB(1) / 4, words);
			tsr_words_check(words, MiB(1) / 4, 0);
		}
		/* Also after an eviction. */
		tsr_evict_set(tsr_bit(segs[i]));
		tsr_gpu_read(&dev, ctx, &bo, 0, MiB(1) / 4, words);
		tsr_words_check(words, MiB(1) / 4, 0);
		tsr_bo_free(&dev, &bo);
	}
	free(words);
	tsr_close(&dev);
}

#define MADE (tap_slow() ? 1000 : 5000)

static void make_and_close(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);

	for (uint32_t i = 0; i < MADE; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cpu);

		tsr_bo_free(&dev, &bo);
	}
	client->state->ready = true;
	tsr_close(&dev);
}

/*
 * Readers that walk all objects (debugfs, shrinker) while others create and
 * destroy some. They must see complete objects only.
 */
static void met_while_made(void)
{
	struct tsr_client clients[2];
	uint32_t rounds = 0;

	for (int i = 0; i < 2; i++)
		tsr_client_start(&clients[i], make_and_close, 0);
	while (!clients[0].state->ready || !clients[1].state->ready) {
		free(tsr_debugfs_read("allocations"));
		require_ok(tsr_write_file("/proc/sys/vm/drop_caches", "2"));
		for (int i = 0; i < 2; i++)
			tsr_client_check(&clients[i]);
		rounds++;
	}
	for (int i = 0; i < 2; i++)
		tsr_client_join(&clients[i]);
	tap_note("%u walks over all objects", rounds);
	require(rounds);
}

/*
 * Bind the object in an aperture and evict it, with a new page list each time.
 */
static void page_again(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
		       uint32_t rounds)
{
	while (rounds--) {
		tsr_gpu_touch(dev, ctx, bo);
		tsr_evict_set(tsr_bit(tsr_seg_gart(dev)));
		tsr_bo_wait(dev, bo);
	}
}

static void page_in_cgroup(struct tsr_client *client)
{
	struct tsr_device dev;
	struct tsr_bo bo;
	uint32_t ctx;

	tsr_cgroup_enter();
	dev = tsr_client_open(client);
	ctx = tsr_context_new(&dev, 0);
	bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	page_again(&dev, ctx, &bo, PAGED_FIRST);
	client->state->rounds = 1;
	while (!client->state->stop)
		usleep(1000);
	page_again(&dev, ctx, &bo, PAGED_MORE);
	client->state->rounds = 2;
	pause();
}

/*
 * Paging must free all kernel memory that it allocates. kmemleak would not find
 * leaked pages.
 */
static void paging_takes_nothing(void)
{
	struct tsr_client a;
	uint64_t before;

	tsr_cgroup_new("tessera-paging", MiB(256));
	tsr_client_start(&a, page_in_cgroup, 0);
	tsr_wait_for(a.state->rounds == 1);
	before = tsr_cgroup_stat("memory.stat", "kernel");
	a.state->stop = true;
	tsr_wait_for(a.state->rounds == 2);
	/* Jobs are freed a moment later. */
	tsr_wait_for(tsr_cgroup_stat("memory.stat", "kernel") < before + PAGED_MORE * KiB(2));
	tsr_client_kill(&a);
}

#define FAR_WORDS 800 /* one packet for each word: four pages of packets */

/* The device must read each page of the commands as submitted. */
static void long_commands(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_gart(&dev)), cpu);
	const uint32_t *words = tsr_bo_map(&dev, &bo);
	struct tsr_cmd cmd;

	for (uint32_t key = 1; key < 4; key++) {
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		for (uint32_t i = 0; i < FAR_WORDS; i++)
			tsr_cmd_fill(&cmd, 0, i, 1, tsr_pattern(key, i));
		require(tsr_cmd_bytes(&cmd) > KiB(12));
		require_msg(!tsr_submit_status(&dev, ctx, &cmd, NULL),
			    "the device read other commands than were submitted, from its error "
			    "on: it has not seen that page");
		for (uint32_t i = 0; i < FAR_WORDS; i++)
			require_msg(words[i] == tsr_pattern(key, i),
				    "the device read other commands than were submitted, about %u "
				    "bytes from their beginning",
				    i * (tsr_cmd_bytes(&cmd) / FAR_WORDS));
		tsr_cmd_fini(&cmd);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SWZ-10 swapped pages come back", swapped_pages_come_back, 0, 0 },
	{ "PAGE-7 spare pages are given up", pages_are_given_up, 0, 0 },
	{ "PAGE-7 SWZ-13 large objects get other pages", other_pages, 0, 0 },
	{ "DESTROY-4 DESTROY-5 the space of destroyed objects is freed when their jobs end",
	  space_of_the_destroyed, 0, 0 },
	{ "DESTROY-5 parts wait for the space of destroyed objects", parts_behind_the_destroyed, 0,
	  0 },
	{ "PAGE-6 memory the CPU cannot map reads as zero", unmappable_memory_reads_as_zero, 0, 0 },
	{ "PAGE-5 paging frees all kernel memory that it allocates", paging_takes_nothing, 0, 120 },
	{ "PAGE-5 commands of several pages", long_commands, 0, 0 },
	{ "walks over all objects see complete objects only", met_while_made, 0, 0 },
};

TSR_TEST_MAIN(tests)
