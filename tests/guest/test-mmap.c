// SPDX-License-Identifier: MIT
/*
 * CPU mappings of objects in every segment, through moves, and between clients.
 * A pointer must always show the object's own bytes, and never another client's
 * or the device's hidden memory.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

static void visible_memory_goes_through_the_bar(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size, tsr_bit(seg), cpu);
	uint64_t last = bo.size / 4 - 1, mid = bo.size / 8;
	struct tsr_trace trace;
	uint32_t *map;

	tsr_gpu_fill(&dev, ctx, &bo, 0x11111111);
	require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
	tsr_trace_start("cpu_fault", "paging_op", "evict", NULL);
	map = tsr_bo_map(&dev, &bo);
	/* First, middle and last page, in both directions. */
	require_eq(map[0], 0x11111111);
	require_eq(map[mid], 0x11111111);
	require_eq(map[last], 0x11111111);
	map[0] = 1;
	map[mid] = 2;
	map[last] = 3;
	trace = tsr_trace_stop();
	require(tsr_trace_faulted(&trace, "bar"));
	require(!tsr_trace_faulted(&trace, "system"));
	require_eq(tsr_trace_count(&trace, "paging_op"), 0);
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	tsr_gpu_read(&dev, ctx, &bo, 0, 1, &word);
	require_eq(word, 1);
	tsr_gpu_read(&dev, ctx, &bo, mid, 1, &word);
	require_eq(word, 2);
	tsr_gpu_read(&dev, ctx, &bo, last, 1, &word);
	require_eq(word, 3);
	require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
	tsr_close(&dev);
}

static void aperture_shows_system_pages(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(gart), cached);
	struct tsr_trace trace;
	uint32_t *map;

	tsr_gpu_fill(&dev, ctx, &bo, 0x22222222);
	require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
	tsr_trace_start("cpu_fault", "paging_op", NULL);
	map = tsr_bo_map(&dev, &bo);
	tsr_words_check(map, bo.size / 4, 0x22222222);
	map[100] = 0x33;
	trace = tsr_trace_stop();
	require(tsr_trace_faulted(&trace, "system"));
	require(!tsr_trace_faulted(&trace, "bar"));
	require_eq(tsr_trace_count(&trace, "paging_op"), 0);
	tsr_gpu_read(&dev, ctx, &bo, 100, 1, &word);
	require_eq(word, 0x33);
	require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
	tsr_close(&dev);
}

/*
 * The offset in the segment is the offset in the CPU window, so neighbours do
 * not overlap.
 */
static void neighbours_do_not_mix(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[16];

	for (uint32_t i = 0; i < 16; i++) {
		bos[i] = tsr_bo_new(&dev, 4096 * (i + 1), tsr_bit(seg), cpu);
		tsr_gpu_fill(&dev, ctx, &bos[i], i + 1);
		tsr_bo_map(&dev, &bos[i]);
	}
	for (uint32_t i = 0; i < 16; i++) {
		tsr_words_check(bos[i].map, bos[i].size / 4, i + 1);
		tsr_pattern_write(&bos[i], i + 64);
	}
	for (uint32_t i = 0; i < 16; i++) {
		struct drm_tessera_bo_info info = tsr_bo_info(&dev, &bos[i]);

		tsr_pattern_check(&bos[i], i + 64);
		require_eq(info.segment, seg->id);
		require(info.segment_offset + info.size <= seg->size);
		for (uint32_t j = 0; j < i; j++) {
			struct drm_tessera_bo_info other = tsr_bo_info(&dev, &bos[j]);

			require(info.segment_offset + info.size <= other.segment_offset ||
				other.segment_offset + other.size <= info.segment_offset);
		}
	}
	tsr_close(&dev);
}

/*
 * A pointer stays valid through eviction and page-in, and CPU writes are never
 * lost.
 */
static void pointer_survives_moves(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(2), tsr_bit(seg), cpu);

	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 1);
	for (uint32_t round = 1; round < 6; round++) {
		struct tsr_bo copy = tsr_bo_new(&dev, bo.size, tsr_bit(tsr_seg_gart(&dev)), cached);

		tsr_gpu_touch(&dev, ctx, &bo);
		require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
		tsr_pattern_check(&bo, round);
		tsr_evict_all(&dev, ctx, seg);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		tsr_pattern_check(&bo, round);
		tsr_pattern_write(&bo, round + 1);
		/*
		 * The GPU must see the CPU writes made while the object was
		 * evicted.
		 */
		tsr_gpu_copy(&dev, ctx, &copy, &bo);
		tsr_bo_map(&dev, &copy);
		tsr_pattern_check(&copy, round + 1);
		tsr_bo_free(&dev, &copy);
	}
	tsr_close(&dev);
}

/* In every layout the CPU sees linear bytes, also after an eviction. */
static void layouts_look_linear(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	const uint32_t pitch = 512, rows = 256;

	for (uint32_t layout = 0; layout < TSR_LAYOUT_COUNT; layout++) {
		const struct tsr_surface surface = tsr_surface_rows(layout, pitch, rows);
		struct tsr_bo bo = tsr_bo_new_rows(&dev, &surface, tsr_bit(seg), cpu), out;
		struct tsr_cmd cmd;

		tsr_bo_map(&dev, &bo);
		tsr_pattern_write(&bo, 40 + layout);
		out = tsr_bo_new(&dev, bo.size, tsr_bit(tsr_seg_gart(&dev)), cached);

		/* The GPU reads the surface in its layout. */
		tsr_cmd_init(&cmd);
		tsr_cmd_copy_rows(&cmd, &out, &bo, &surface);
		tsr_submit_done(&dev, ctx, &cmd);
		tsr_bo_map(&dev, &out);
		tsr_pattern_check(&out, 40 + layout);
		require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
		/*
		 * The CPU sees linear bytes, in video memory and after the
		 * eviction.
		 */
		tsr_pattern_check(&bo, 40 + layout);
		tsr_evict_all(&dev, ctx, seg);
		tsr_pattern_check(&bo, 40 + layout);
		/* CPU writes to system memory are swizzled at the page-in. */
		tsr_pattern_write(&bo, 50 + layout);
		tsr_submit_done(&dev, ctx, &cmd);
		tsr_pattern_check(&out, 50 + layout);
		tsr_cmd_fini(&cmd);
		tsr_bo_free(&dev, &bo);
		tsr_bo_free(&dev, &out);
	}
	tsr_close(&dev);
}

/* Eviction from an aperture copies nothing. */
static void aperture_eviction_copies_nothing(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(gart), cached);
	uint32_t unmaps = 0;
	struct tsr_trace trace;

	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 9);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(tsr_bit(gart));
	tsr_bo_wait(&dev, &bo);
	trace = tsr_trace_stop();
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	tsr_trace_for_each(&trace, "paging_op", ev) {
		require(tsr_event_is(ev, "kind", "unmap"));
		unmaps++;
	}
	require(unmaps);
	tsr_pattern_check(&bo, 9);
	tsr_close(&dev);
}

struct storm {
	struct tsr_device *dev;
	struct tsr_bo *bo;
	volatile bool stop;
	volatile uint64_t rounds;
};

/*
 * Only this thread changes the words, and only counts up: a lost or torn value
 * is noticed.
 */
static void *storm_thread(void *arg)
{
	struct storm *s = arg;
	volatile uint64_t *words = s->bo->map;
	uint64_t count = s->bo->size / 8, value = 0;

	while (!s->stop) {
		for (uint64_t i = 0; i < count; i += 509) {
			uint64_t seen = words[i];

			require_msg(seen == value,
				    "word 0x%llx: %llu, not %llu: a later CPU write is lost",
				    (unsigned long long)i, (unsigned long long)seen,
				    (unsigned long long)value);
			words[i] = value + 1;
		}
		value++;
		s->rounds = value;
	}
	return NULL;
}

static void eviction_storm(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu);
	struct storm storm = { .dev = &dev, .bo = &bo };
	uint32_t rounds = tap_slow() ? 30 : 150;
	pthread_t thread;

	tsr_bo_map(&dev, &bo);
	tsr_words_check(bo.map, bo.size / 4, 0);
	require(!pthread_create(&thread, NULL, storm_thread, &storm));
	for (uint32_t i = 0; i < rounds; i++) {
		tsr_gpu_touch(&dev, ctx, &bo);
		tsr_evict_all(&dev, ctx, seg);
	}
	storm.stop = true;
	pthread_join(thread, NULL);
	tap_note("%u evictions, %llu rounds of the CPU", rounds, (unsigned long long)storm.rounds);
	require(storm.rounds);
	tsr_close(&dev);
}

static void leave_secret(void *arg)
{
	struct tsr_device dev = tsr_open();
	const uint32_t *sets = arg;
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (int i = 0; i < 3; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, MiB(8), sets[i], 0);

		tsr_gpu_fill(&dev, ctx, &bo, 0x5ec4e700);
	}
	tsr_close(&dev);
}

/* Memory that another client used reads as zero, by GPU and CPU. */
static void new_memory_reads_as_zero(void)
{
	struct tsr_device dev = tsr_open();
	const uint32_t sets[3] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_hidden(&dev)),
				   tsr_bit(tsr_seg_gart(&dev)) };
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t *words = malloc(MiB(1));

	require(words);
	for (int round = 0; round < 2; round++) {
		tap_join(tap_fork(leave_secret, (void *)sets));
		for (int i = 0; i < 3; i++) {
			struct tsr_bo bo = tsr_bo_new(&dev, MiB(4), sets[i], i == 1 ? 0 : cpu);

			if (i != 1 && round == 1)
				tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 0);
			for (uint64_t at = 0; at < bo.size / 4; at += MiB(1) / 4) {
				tsr_gpu_read(&dev, ctx, &bo, at, MiB(1) / 4, words);
				tsr_words_check(words, MiB(1) / 4, 0);
			}
			if (i != 1)
				tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 0);
			tsr_bo_free(&dev, &bo);
		}
	}
	free(words);
	tsr_close(&dev);
}

/*
 * SEG-18, SEG-19: CPU and GPU see each other's bytes in each segment. An object
 * without CPU access has no mapping.
 */
static void gpu_copies_meet_cpu_bytes(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo spacer = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_visible(&dev)), cpu);
	struct tsr_bo vis = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), cpu);
	struct tsr_bo hid = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), 0);
	struct tsr_bo gart = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), cached);

	require_eq(tsr_bo_info(&dev, &hid).mmap_offset, 0);
	/* Keep the tested object away from the start of the segment. */
	tsr_gpu_touch(&dev, ctx, &spacer);
	tsr_bo_map(&dev, &vis);
	tsr_bo_map(&dev, &gart);
	tsr_pattern_write(&gart, 3);
	tsr_gpu_copy(&dev, ctx, &hid, &gart);
	tsr_gpu_copy(&dev, ctx, &vis, &hid);
	require_eq(tsr_bo_info(&dev, &vis).segment, tsr_seg_visible(&dev)->id);
	require_eq(tsr_bo_info(&dev, &hid).segment, tsr_seg_hidden(&dev)->id);
	require(tsr_bo_info(&dev, &vis).segment_offset);
	tsr_pattern_check(&vis, 3);
	tsr_pattern_write(&vis, 4);
	tsr_gpu_copy(&dev, ctx, &hid, &vis);
	tsr_gpu_copy(&dev, ctx, &gart, &hid);
	tsr_pattern_check(&gart, 4);
	tsr_close(&dev);
}

/*
 * SEG-19: without a host aperture the CPU never sees hidden memory. A CPU
 * access moves the object to system memory instead.
 */
static void hidden_memory_is_not_shown(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_prefers(&dev, MiB(1), hid, tsr_bit(tsr_seg_gart(&dev)), cached);
	struct tsr_trace trace;

	tsr_bo_map(&dev, &bo);
	for (uint32_t i = 1; i <= 3; i++) {
		tsr_gpu_fill(&dev, ctx, &bo, i);
		require_eq(tsr_bo_info(&dev, &bo).segment, hid->id);
		tsr_trace_start("cpu_fault", NULL);
		tsr_words_check(bo.map, bo.size / 4, i);
		trace = tsr_trace_stop();
		require(tsr_trace_faulted(&trace, "system"));
		require(!tsr_trace_faulted(&trace, "bar"));
		require(tsr_bo_info(&dev, &bo).segment != hid->id);
		tsr_trace_free(&trace);
		/* CPU writes are kept when the object moves back. */
		tsr_pattern_write(&bo, i);
		tsr_gpu_touch(&dev, ctx, &bo);
		require_eq(tsr_bo_info(&dev, &bo).segment, hid->id);
		tsr_pattern_check(&bo, i);
	}
	tsr_close(&dev);
}

/* SEG-20: the GPU reads system pages through the read-only aperture. */
static void read_only_aperture_reads(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *ro = tsr_seg_ro(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo src =
		tsr_bo_new(&dev, MiB(1), tsr_bit(ro), cached | DRM_TESSERA_BO_GPU_READ_ONLY);
	struct tsr_bo dst = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), cached);

	tsr_bo_map(&dev, &src);
	tsr_bo_map(&dev, &dst);
	tsr_pattern_write(&src, 5);
	tsr_gpu_copy(&dev, ctx, &dst, &src);
	require_eq(tsr_bo_info(&dev, &src).segment, ro->id);
	tsr_pattern_check(&dst, 5);
	tsr_close(&dev);
}

/* A mapping outlives the handle and the file. */
static void mapping_outlives_the_handle(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), cpu);
	uint32_t ctx = tsr_context_new(&dev, 0);
	void *map;

	tsr_gpu_fill(&dev, ctx, &bo, 6);
	map = tsr_bo_map(&dev, &bo);
	require_ok(__tsr_bo_close(dev.fd, bo.handle));
	tsr_words_check(map, bo.size / 4, 6);
	tsr_close(&dev);
	tsr_words_check(map, bo.size / 4, 6);
	munmap(map, bo.size);
}

/*
 * A debugger reads and writes the same bytes as the process, in each placement.
 */
static void debugger_sees_the_same(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_gart(&dev)),
				  tsr_bit(hid) | tsr_bit(tsr_seg_gart(&dev)) };
	uint32_t ctx = tsr_context_new(&dev, 0), words[1024], word;

	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct drm_tessera_bo_create args = {
			.size = MiB(1),
			.supported = sets[i],
			.flags = cpu,
		};
		struct tsr_bo bo = { .size = args.size };
		char *bytes;

		require_ok(__tsr_bo_create(dev.fd, &args));
		bo.handle = args.handle;
		bytes = tsr_bo_map(&dev, &bo);
		/* before the first placement */
		require_ok(tsr_proc_mem_read(bytes + 4000, words, 200));
		tsr_words_check(words, 50, 0);
		tsr_gpu_fill(&dev, ctx, &bo, 0x44444444);
		/* across a page boundary */
		require_ok(tsr_proc_mem_read(bytes + 4096 * 7 - 100, words, sizeof(words)));
		tsr_words_check(words, ARRAY_SIZE(words), 0x44444444);
		/*
		 * Page in with a system copy, which the debugger's write must
		 * invalidate.
		 */
		tsr_evict_set(sets[i]);
		tsr_gpu_read(&dev, ctx, &bo, 0, 1, words);
		word = 0x55555555;
		require_ok(tsr_proc_mem_write(bytes + 4096 * 7 - 2, &word, sizeof(word)));
		tsr_evict_set(sets[i]);
		tsr_gpu_read(&dev, ctx, &bo, 1024 * 7 - 1, 2, words);
		require_msg(words[0] == 0x55554444 && words[1] == 0x44445555,
			    "expected the debugger's write to survive the move: 0x%08x, 0x%08x are "
			    "from an older copy",
			    words[0], words[1]);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

struct copier {
	const struct tsr_bo *bo;
	int pipe;
	volatile pid_t tid;
	volatile ssize_t written;
};

/* The kernel copies from the mapping in write(). */
static void *copier_thread(void *arg)
{
	struct copier *copier = arg;

	copier->tid = gettid();
	copier->written = write(copier->pipe, copier->bo->map, KiB(4));
	return NULL;
}

static void on_signal(int sig)
{
}

/*
 * A signal does not end an access by a system call, and the call must not spin
 * until the page-in is complete. The thread keeps sleeping, and the signal is
 * handled after the call.
 */
static void system_call_waits_asleep(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t set = tsr_bit(tsr_seg_visible(&dev)), ctx = tsr_context_new(&dev, 0), words[1024];
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), set, cpu);
	struct copier copier = { .bo = &bo };
	pthread_t thread;
	int fds[2];

	require(signal(SIGUSR1, on_signal) != SIG_ERR);
	require_ok(pipe(fds));
	copier.pipe = fds[1];
	tsr_bo_map(&dev, &bo);
	tsr_gpu_fill(&dev, ctx, &bo, 7);
	tsr_evict_set(set);
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	tsr_job_timeout("300000");
	tsr_engine_hang_next(dev.paging);
	require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
	tsr_wait_for(tsr_engine_hangs());
	require(!pthread_create(&thread, NULL, copier_thread, &copier));
	tsr_wait_for(copier.tid && tsr_is_waiting(copier.tid, "bytes"));
	require(!pthread_kill(thread, SIGUSR1));
	tsr_wait_for(tsr_task_state(copier.tid) == 'D');
	require(!copier.written);
	tsr_engine_release();
	require(!pthread_join(thread, NULL));
	require_eq(copier.written, KiB(4));
	require_eq(read(fds[0], words, sizeof(words)), KiB(4));
	tsr_words_check(words, ARRAY_SIZE(words), 7);
	close(fds[0]);
	close(fds[1]);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-18 SWZ-1 SWZ-2 SWZ-4 visible memory is mapped through the BAR",
	  visible_memory_goes_through_the_bar, 0, 0 },
	{ "SEG-21 SWZ-5 aperture objects are mapped by their system pages",
	  aperture_shows_system_pages, 0, 0 },
	{ "SWZ-2 SWZ-3 SEG-2 neighbours do not mix", neighbours_do_not_mix, 0, 0 },
	{ "SWZ-13 a pointer survives eviction and page-in", pointer_survives_moves, 0, 0 },
	{ "SWZ-12 SWZ-15 every layout looks linear, before and after eviction", layouts_look_linear,
	  0, 0 },
	{ "SWZ-16 SEG-22 eviction from an aperture copies nothing",
	  aperture_eviction_copies_nothing, 0, 0 },
	{ "SWZ-13 SWZ-14 a CPU thread under an eviction storm", eviction_storm, 0, 0 },
	{ "PAGE-6 new memory reads as zero, also after use by another client",
	  new_memory_reads_as_zero, 0, 0 },
	{ "SEG-18 SEG-19 SEG-21 bytes go both ways through every segment",
	  gpu_copies_meet_cpu_bytes, 0, 0 },
	{ "SWZ-1 SWZ-5 a debugger sees the same bytes", debugger_sees_the_same, 0, 0 },
	{ "SEG-19 the CPU never sees hidden memory", hidden_memory_is_not_shown, 0, 0 },
	{ "SEG-20 the GPU reads through the read-only aperture", read_only_aperture_reads, 0, 0 },
	{ "a mapping outlives handle and file", mapping_outlives_the_handle, 0, 0 },
	{ "SWZ-13 a system call waits asleep for a moving object", system_call_waits_asleep, 0, 0 },
};

TSR_TEST_MAIN(tests)
