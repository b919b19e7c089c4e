// SPDX-License-Identifier: MIT
/*
 * A device that does not snoop CPU caches (io-coherent=off). Missing cache
 * maintenance shows as stale bytes on the side that reads. If the CPU's data
 * was not cleaned before the GPU reads it, the device also counts a strict-mode
 * error, which fails the test.
 */
#include <errno.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "foreign.h"
#include "held.h"
#include "memory.h"
#include "resident.h"
#include "trace.h"
#include "tsr.h"
#include "user.h"
#include "vm.h"

static const uint32_t uncached = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
static const uint32_t read_only = DRM_TESSERA_LOCK_READ_ONLY;

#define BYTES KiB(64) /* size of the object under test */
#define WORDS (BYTES / 4)

struct scene {
	struct tsr_device dev;
	uint32_t ctx;
	uint32_t gart; /* the aperture as a segment set */
	struct tsr_bo seen; /* uncached copy of what the GPU read */
};

static struct scene scene_open(void)
{
	struct scene s = { .dev = tsr_open() };

	s.ctx = tsr_context_new(&s.dev, 0);
	s.gart = tsr_bit(tsr_seg_gart(&s.dev));
	s.seen = tsr_bo_new(&s.dev, BYTES + 4096, s.gart, uncached);
	tsr_bo_map(&s.dev, &s.seen);
	return s;
}

static struct tsr_bo mapped(struct scene *s, uint32_t set, uint32_t flags)
{
	struct tsr_bo bo = tsr_bo_new(&s->dev, BYTES, set, flags);

	tsr_bo_map(&s->dev, &bo);
	return bo;
}

static void gpu_sees(struct scene *s, const struct tsr_bo *bo, uint32_t key)
{
	struct tsr_bo seen = { .map = s->seen.map, .size = bo->size };

	tsr_gpu_copy(&s->dev, s->ctx, &s->seen, bo);
	tsr_pattern_check(&seen, key);
}

/* Count the traces of @command; each must cover the whole object. */
static uint32_t maintained(const struct tsr_trace *trace, const char *command)
{
	uint32_t count = 0;

	tsr_trace_for_each(trace, "cache_maintenance", ev) {
		require_eq(tsr_event_u64(ev, "offset"), 0);
		require_eq(tsr_event_u64(ev, "bytes"), BYTES);
		count += tsr_event_is(ev, "command", command);
	}
	return count;
}

/* ---- CPU, then GPU ------------------------------------------------------- */

/*
 * A cached object is cleaned once for each CPU write, after the write and
 * before the part that reads it, and at no other time.
 */
static void cleaned_before_the_part(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);
	struct tsr_trace trace;

	for (uint32_t round = 1; round < 4; round++) {
		const struct tsr_event *clean, *part;

		tsr_pattern_write(&bo, round);
		tsr_trace_start("cache_maintenance", "split_part", NULL);
		gpu_sees(&s, &bo, round);
		gpu_sees(&s, &bo, round);
		/* A CPU read needs no further maintenance. */
		tsr_pattern_check(&bo, round);
		gpu_sees(&s, &bo, round);
		trace = tsr_trace_stop();
		clean = tsr_trace_next(&trace, "cache_maintenance", NULL);
		part = tsr_trace_next(&trace, "split_part", NULL);
		require(clean && part && clean < part);
		/*
		 * In the first round the CPU caches also hold the zeroes that
		 * the kernel wrote.
		 */
		require_eq(maintained(&trace, round == 1 ? "write-back" : "clean"), 1);
		require_eq(tsr_trace_count(&trace, "cache_maintenance"), 1);
		tsr_trace_free(&trace);
	}
	tsr_close(&s.dev);
}

/* Writes by a debugger (/proc/pid/mem) count as CPU writes. */
static void cleaned_behind_a_debugger(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);
	uint32_t word = 0x12345678;

	tsr_gpu_fill(&s.dev, s.ctx, &bo, 7);
	require_ok(tsr_proc_mem_read((uint32_t *)bo.map + 5, &word, 4));
	require_eq(word, 7);
	word = 0x12345678;
	require_ok(tsr_proc_mem_write((uint32_t *)bo.map + 5, &word, 4));
	tsr_gpu_copy(&s.dev, s.ctx, &s.seen, &bo);
	require_eq(((uint32_t *)s.seen.map)[5], 0x12345678);
	require_eq(((uint32_t *)s.seen.map)[6], 7);
	tsr_close(&s.dev);
}

/* ---- GPU, then CPU ------------------------------------------------------- */

/* Invalidated exactly once, after the job and before the lock returns. */
static void invalidated_before_lock_returns(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);
	const struct tsr_event *ev, *lock;
	struct tsr_trace trace;

	tsr_pattern_write(&bo, 1);
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x55);
	tsr_trace_start("cache_maintenance", "lock", NULL);
	tsr_lock(&s.dev, &bo, read_only);
	tsr_words_check(bo.map, WORDS, 0x55);
	tsr_unlock(&s.dev, &bo);
	tsr_lock(&s.dev, &bo, read_only);
	tsr_unlock(&s.dev, &bo);
	trace = tsr_trace_stop();
	ev = tsr_trace_next(&trace, "cache_maintenance", NULL);
	lock = tsr_trace_next(&trace, "lock", NULL);
	require(ev && lock && ev < lock);
	require_eq(maintained(&trace, "invalidate"), 1);
	require_eq(tsr_trace_count(&trace, "cache_maintenance"), 1);
	tsr_trace_free(&trace);
	tsr_close(&s.dev);
}

/* Without a lock, the page fault invalidates. */
static void invalidated_before_a_fault_maps(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);

	for (uint32_t round = 1; round < 4; round++) {
		tsr_gpu_fill(&s.dev, s.ctx, &bo, round);
		tsr_words_check(bo.map, WORDS, round);
		/*
		 * Write one word by CPU: the GPU must see it beside its own
		 * values.
		 */
		((uint32_t *)bo.map)[round] = 0x99;
		tsr_gpu_copy(&s.dev, s.ctx, &s.seen, &bo);
		for (uint32_t i = 0; i < WORDS; i++)
			require_eq(((uint32_t *)s.seen.map)[i], i == round ? 0x99 : round);
	}
	tsr_close(&s.dev);
}

/* ---- CPU and GPU at once ------------------------------------------------- */

/* Queue a fill of the first @words words that starts only at held_go(). */
static struct tsr_held held_fill(struct scene *s, const struct tsr_bo *bo, uint32_t words,
				 uint32_t value)
{
	struct tsr_held held = tsr_held_open(&s->dev);

	tsr_held_fill(&held, bo, words, value);
	return held;
}

static void held_go(struct tsr_held *held)
{
	tsr_held_go(held);
	tsr_held_close(held);
}

/*
 * Return an object with stale lines in the CPU's cache: the CPU read it after a
 * writing job was queued and before that job ran.
 */
static struct tsr_bo stale(struct scene *s)
{
	struct tsr_bo bo = mapped(s, s->gart, cached);
	struct tsr_held held;

	tsr_pattern_write(&bo, 1);
	tsr_gpu_touch(&s->dev, s->ctx, &bo);
	held = held_fill(s, &bo, WORDS, 0x55);
	tsr_pattern_check(&bo, 1);
	held_go(&held);
	/* The early read is not detected: the CPU still sees the old bytes. */
	tsr_pattern_check(&bo, 1);
	return bo;
}

static void stale_until_asked_for(void)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	struct scene s = scene_open();
	struct tsr_bo bo = stale(&s);
	int dmabuf;

	tsr_lock(&s.dev, &bo, read_only);
	tsr_words_check(bo.map, WORDS, 0x55);
	tsr_unlock(&s.dev, &bo);

	bo = stale(&s);
	tsr_lock(&s.dev, &bo, DRM_TESSERA_LOCK_IGNORE_SYNC);
	tsr_words_check(bo.map, WORDS, 0x55);
	tsr_unlock(&s.dev, &bo);

	bo = stale(&s);
	tsr_bo_wait(&s.dev, &bo);
	tsr_words_check(bo.map, WORDS, 0x55);

	bo = stale(&s);
	dmabuf = tsr_export(&s.dev, &bo);
	require_ok(tsr_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	tsr_words_check(bo.map, WORDS, 0x55);
	close(dmabuf);

	/* The next job's access invalidates, too. */
	bo = stale(&s);
	tsr_gpu_copy(&s.dev, s.ctx, &bo, &bo);
	tsr_words_check(bo.map, WORDS, 0x55);
	tsr_close(&s.dev);
}

/*
 * The CPU writes one half while a job writes the other: neither half may be
 * lost.
 */
static void halves(struct scene *s, bool lock)
{
	const uint64_t half = WORDS / 2;
	struct tsr_bo bo = mapped(s, s->gart, cached);
	struct tsr_held held;

	tsr_pattern_write(&bo, 1);
	tsr_gpu_touch(&s->dev, s->ctx, &bo);
	held = held_fill(s, &bo, (uint32_t)half, 0x55);
	tsr_lock(&s->dev, &bo, DRM_TESSERA_LOCK_IGNORE_SYNC);
	for (uint64_t i = half; i < WORDS; i++)
		((uint32_t *)bo.map)[i] = 0x66;
	tsr_unlock(&s->dev, &bo);
	held_go(&held);
	if (lock) {
		tsr_lock(&s->dev, &bo, 0);
		tsr_unlock(&s->dev, &bo);
	}
	tsr_gpu_copy(&s->dev, s->ctx, &s->seen, &bo);
	tsr_words_check(s->seen.map, half, 0x55);
	tsr_words_check((uint32_t *)s->seen.map + half, half, 0x66);
	tsr_words_check(bo.map, half, 0x55);
	tsr_words_check((uint32_t *)bo.map + half, half, 0x66);
}

static void no_overwrite(void)
{
	struct scene s = scene_open();

	halves(&s, true);
	halves(&s, false);
	tsr_close(&s.dev);
}

#define JOBS 200

/*
 * Jobs write the first page of the object while CPU threads use the other
 * pages.
 */
struct beside {
	struct tsr_bo bo;
	volatile uint32_t *words;
	volatile bool stop;
	volatile uint32_t stores;
	uint32_t lost; /* number of stores that a later read did not return */
};

/*
 * Read each word before writing it, so that its page is first mapped read-only.
 */
static void *beside_write(void *arg)
{
	struct beside *b = arg;
	uint32_t want[BYTES / 4096] = { 0 };

	while (!b->stop || !b->stores) {
		for (uint32_t page = 1; page < BYTES / 4096; page++) {
			volatile uint32_t *word = b->words + page * 1024;

			b->lost += *word != want[page];
			*word = ++want[page];
			b->lost += *word != want[page];
			b->stores++;
		}
	}
	return NULL;
}

/* Read the writer's pages, which maps them read-only at any time. */
static void *beside_read(void *arg)
{
	struct beside *b = arg;

	while (!b->stop)
		for (uint32_t page = 1; page < BYTES / 4096; page++)
			(void)b->words[page * 1024];
	return NULL;
}

/*
 * Each job takes the pages from the CPU; every second round also waits for the
 * object. Both must keep concurrent CPU stores.
 */
static void beside_job(struct scene *s, struct beside *b, uint32_t round)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &b->bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, round);
	tsr_submit_done(&s->dev, s->ctx, &cmd);
	tsr_cmd_fini(&cmd);
	if (round % 2)
		tsr_bo_wait(&s->dev, &b->bo);
}

static void no_store_is_lost(void)
{
	struct scene s = scene_open();
	struct beside b = { .bo = mapped(&s, s.gart, cached) };
	pthread_t writer, reader;

	b.words = b.bo.map;
	tsr_gpu_fill(&s.dev, s.ctx, &b.bo, 0);
	require(!pthread_create(&writer, NULL, beside_write, &b));
	require(!pthread_create(&reader, NULL, beside_read, &b));
	for (uint32_t round = 1; round <= JOBS; round++)
		beside_job(&s, &b, round);
	b.stop = true;
	require(!pthread_join(writer, NULL));
	require(!pthread_join(reader, NULL));
	tap_note("%u stores", b.stores);
	require_msg(!b.lost, "expected all CPU stores beside running jobs to survive, %u were lost",
		    b.lost);
	tsr_words_check(b.bo.map, 1024, JOBS);
	tsr_close(&s.dev);
}

#define LOCKS 2000
#define STORES 10000

/*
 * Locks during a running job that writes the object flush the CPU's lines. No
 * concurrent CPU store may get lost by that.
 */
static void no_store_is_flushed_away(void)
{
	struct scene s = scene_open();
	struct beside b = { .bo = mapped(&s, s.gart, cached) };
	pthread_t writer;
	struct tsr_held held;

	b.words = b.bo.map;
	tsr_gpu_fill(&s.dev, s.ctx, &b.bo, 0);
	held = held_fill(&s, &b.bo, 1024, 1);
	require(!pthread_create(&writer, NULL, beside_write, &b));
	for (uint32_t i = 0; i < LOCKS || b.stores < STORES; i++) {
		tsr_lock(&s.dev, &b.bo, DRM_TESSERA_LOCK_IGNORE_SYNC);
		tsr_unlock(&s.dev, &b.bo);
	}
	b.stop = true;
	require(!pthread_join(writer, NULL));
	held_go(&held);
	require_msg(!b.lost, "expected all CPU stores beside running jobs to survive, %u were lost",
		    b.lost);
	tsr_close(&s.dev);
}

/* ---- moves --------------------------------------------------------------- */

static void rounds(struct scene *s, struct tsr_bo *bo, uint32_t set)
{
	for (uint32_t round = 1; round < 4; round++) {
		/* Page in with the CPU's bytes, evict with the GPU's. */
		tsr_pattern_write(bo, round);
		gpu_sees(s, bo, round);
		tsr_evict_set(set);
		tsr_pattern_check(bo, round);
		gpu_sees(s, bo, round);
		tsr_gpu_fill(&s->dev, s->ctx, bo, round);
		tsr_evict_set(set);
		/* Page in and evict again without a CPU access. */
		tsr_gpu_touch(&s->dev, s->ctx, bo);
		tsr_evict_set(set);
		tsr_words_check(bo->map, WORDS, round);
		/* Swap-out must save the bytes that the GPU wrote. */
		tsr_gpu_fill(&s->dev, s->ctx, bo, round + 10);
		tsr_evict_set(set);
		tsr_bo_wait(&s->dev, bo);
		require(tsr_swap_out_objects() > 0);
		tsr_gpu_touch(&s->dev, s->ctx, bo);
		tsr_words_check(bo->map, WORDS, round + 10);
	}
}

static void through_memory(void)
{
	struct scene s = scene_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&s.dev));
	const struct tsr_surface rows = tsr_surface_rows(TSR_LAYOUT_MORTON, 512, 128);
	struct tsr_bo linear = mapped(&s, vis, cached), swizzled;

	rounds(&s, &linear, vis);
	/* Swizzled in video memory, linear in its system pages. */
	require_eq((uint64_t)rows.pitch * rows.height, BYTES);
	swizzled = tsr_bo_new_rows(&s.dev, &rows, vis, cached);
	tsr_bo_map(&s.dev, &swizzled);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&swizzled, round);
		tsr_gpu_touch(&s.dev, s.ctx, &swizzled);
		tsr_evict_set(vis);
		tsr_pattern_check(&swizzled, round);
		tsr_gpu_fill(&s.dev, s.ctx, &swizzled, round);
		tsr_evict_set(vis);
		tsr_words_check(swizzled.map, WORDS, round);
	}
	tsr_close(&s.dev);
}

static void through_apertures(void)
{
	struct scene s = scene_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&s.dev));
	struct tsr_bo bo = mapped(&s, s.gart, cached), movable;
	struct drm_tessera_bo_create args = {
		.size = BYTES,
		.supported = vis | s.gart,
		.evict_to = s.gart,
		.flags = cached,
		.num_preferred = 1,
		.preferred = { (uint8_t)tsr_seg_visible(&s.dev)->id },
	};

	rounds(&s, &bo, s.gart);
	/*
	 * Evict from video memory to the aperture first, then to system memory.
	 */
	require_ok(__tsr_bo_create(s.dev.fd, &args));
	movable = (struct tsr_bo){ .handle = args.handle, .size = BYTES };
	tsr_bo_map(&s.dev, &movable);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_gpu_fill(&s.dev, s.ctx, &movable, round);
		tsr_evict_set(vis);
		require_eq(tsr_bo_info(&s.dev, &movable).segment, tsr_seg_gart(&s.dev)->id);
		tsr_words_check(movable.map, WORDS, round);
		tsr_pattern_write(&movable, round);
		gpu_sees(&s, &movable, round);
		tsr_evict_set(vis | s.gart);
		tsr_pattern_check(&movable, round);
	}
	tsr_close(&s.dev);
}

/* Uncached pages need no maintenance. */
static void nothing_for_uncached(void)
{
	struct scene s = scene_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&s.dev));
	struct tsr_bo bo = mapped(&s, s.gart, uncached), moves = mapped(&s, vis, uncached);
	struct tsr_trace trace;

	tsr_trace_start("cache_maintenance", "place", NULL);
	rounds(&s, &bo, s.gart);
	rounds(&s, &moves, vis);
	trace = tsr_trace_stop();
	require(tsr_trace_count(&trace, "place") > 0);
	require_eq(tsr_trace_count(&trace, "cache_maintenance"), 0);
	tsr_trace_free(&trace);
	tsr_close(&s.dev);
}

/* ---- reported state ------------------------------------------------------ */

static void expect_state(const char *state)
{
	char *text = tsr_debugfs_read("allocations"), key[32], *line, *end;

	snprintf(key, sizeof(key), " size %llu ", (unsigned long long)BYTES);
	line = strstr(text, key);
	require(line);
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	require_msg(strstr(line, state), "no '%s' in '%s'", state, line);
	free(text);
}

/*
 * The reported state follows one access after the other, of CPU and GPU in
 * turn.
 */
static void state_follows(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);
	volatile uint32_t *word = bo.map;
	struct tsr_held held;

	require_eq(*word, 0);
	expect_state(" cpu new gpu none");
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	expect_state(" cpu none gpu read");
	require_eq(*word, 0);
	expect_state(" cpu read gpu read");
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	expect_state(" cpu read gpu read");
	*word = 1;
	expect_state(" cpu write gpu read");
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 2);
	expect_state(" cpu none gpu write");
	tsr_lock(&s.dev, &bo, read_only);
	expect_state(" cpu read gpu none");
	require_eq(*word, 2);
	tsr_unlock(&s.dev, &bo);
	held = held_fill(&s, &bo, WORDS, 3);
	expect_state(" cpu none gpu write");
	require_eq(*word, 2);
	/* stays so until the job has ended */
	expect_state(" cpu read gpu write");
	held_go(&held);
	tsr_bo_wait(&s.dev, &bo);
	expect_state(" cpu read gpu none");
	require_eq(*word, 3);
	tsr_close(&s.dev);
}

/*
 * The aperture entries tell the device which pages are cached, also in the
 * read-only aperture.
 */
static void entries_say_cached(void)
{
	struct scene s = scene_open();
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&s.dev);
	const struct drm_tessera_query_segment *ro = tsr_seg_ro(&s.dev);
	const uint32_t write = TSR_APTE_VALID | TSR_APTE_WRITE;
	const struct {
		const struct drm_tessera_query_segment *seg;
		uint32_t flags, want;
	} rows[] = {
		{ gart, cached, write | TSR_APTE_CACHED },
		{ gart, uncached, write },
		{ gart, 0, write },
		{ ro, cached | DRM_TESSERA_BO_GPU_READ_ONLY, TSR_APTE_VALID | TSR_APTE_CACHED },
		{ ro, uncached | DRM_TESSERA_BO_GPU_READ_ONLY, TSR_APTE_VALID },
	};

	require(!(s.dev.info.caps & DRM_TESSERA_CAP_IO_COHERENT));
	require(!(gart->flags & DRM_TESSERA_SEGMENT_CACHE_COHERENT));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tsr_bo bo = tsr_bo_new(&s.dev, BYTES, tsr_bit(rows[i].seg), rows[i].flags);
		struct tsr_trace trace;
		uint32_t flags;

		tsr_trace_start("paging_op", NULL);
		tsr_gpu_touch(&s.dev, s.ctx, &bo);
		trace = tsr_trace_stop();
		flags = tsr_trace_map_flags(&trace);
		require_msg(flags == rows[i].want, "row %zu: mapped with flags 0x%x, not 0x%x", i,
			    flags, rows[i].want);
		tsr_trace_free(&trace);
		tsr_bo_free(&s.dev, &bo);
	}
	tsr_close(&s.dev);
}

/*
 * Cached pages are not exported to other devices: the driver would not see
 * their accesses and could not maintain the caches.
 */
static void not_for_other_devices(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached), fine = mapped(&s, s.gart, uncached);
	int vgem = tsr_vgem_need(), dmabuf;
	uint32_t theirs;

	dmabuf = tsr_export(&s.dev, &bo);
	require_err(__tsr_import(vgem, dmabuf, &theirs), -EOPNOTSUPP);
	close(dmabuf);
	dmabuf = tsr_export(&s.dev, &fine);
	tsr_import_wait(vgem, dmabuf, &theirs);
	require_ok(__tsr_bo_close(vgem, theirs));
	close(dmabuf);
	close(vgem);
	tsr_close(&s.dev);
}

/* ---- explicit maintenance by user space ---------------------------------- */

static const uint32_t own =
	DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED | DRM_TESSERA_BO_EXPLICIT_SYNC;

/* True if the GPU reads @key's pattern in the whole object. */
static bool gpu_reads(struct scene *s, const struct tsr_bo *bo, uint32_t key)
{
	tsr_gpu_copy(&s->dev, s->ctx, &s->seen, bo);
	for (uint32_t i = 0; i < WORDS; i++)
		if (((uint32_t *)s->seen.map)[i] != tsr_pattern(key, i))
			return false;
	return true;
}

/*
 * With BO_EXPLICIT_SYNC each side sees stale bytes until user space asks for
 * maintenance. The kernel does none.
 */
static void stale_without_the_call(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, own);
	struct tsr_trace trace;

	/* The kernel itself writes back the initial zeroes. */
	tsr_gpu_copy(&s.dev, s.ctx, &s.seen, &bo);
	tsr_words_check(s.seen.map, WORDS, 0);
	tsr_trace_start("cache_maintenance", NULL);
	tsr_pattern_write(&bo, 1);
	require(!gpu_reads(&s, &bo, 1));
	tsr_words_check(s.seen.map, WORDS, 0);
	trace = tsr_trace_stop();
	require_msg(!trace.count, "expected no cache maintenance for BO_EXPLICIT_SYNC, nor a late "
				  "one for the zeroes of new pages");
	tsr_trace_free(&trace);

	tsr_trace_start("cache_maintenance", "split_part", NULL);
	tsr_invalidate_cache(&s.dev, &bo);
	require(gpu_reads(&s, &bo, 1));
	trace = tsr_trace_stop();
	require_eq(maintained(&trace, "flush"), 1);
	require_eq(tsr_trace_count(&trace, "cache_maintenance"), 1);
	tsr_trace_free(&trace);

	/*
	 * COH-11: the CPU still has the old lines although it has not read
	 * since the job.
	 */
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x55);
	tsr_lock(&s.dev, &bo, read_only);
	tsr_unlock(&s.dev, &bo);
	tsr_pattern_check(&bo, 1);
	tsr_invalidate_cache(&s.dev, &bo);
	tsr_words_check(bo.map, WORDS, 0x55);
	tsr_close(&s.dev);
}

/* The call maintains the cache lines of its range and no others. */
static void exactly_the_range(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, own);
	const struct {
		uint64_t offset, size, from, bytes;
	} ranges[] = {
		{ 0, 1, 0, 64 },
		{ 100, 50, 64, 128 },
		{ 4095, 2, 4032, 128 },
		{ 64, 64, 64, 64 },
		{ 5000, 20000, 4992, 20032 },
		{ BYTES - 1, 1, BYTES - 64, 64 },
		{ 0, BYTES, 0, BYTES },
	};
	struct tsr_trace trace;

	tsr_invalidate_cache(&s.dev, &bo);
	for (uint32_t r = 0; r < ARRAY_SIZE(ranges); r++) {
		const struct tsr_event *ev;
		uint32_t *words = bo.map;

		tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x100 + r);
		tsr_trace_start("cache_maintenance", NULL);
		require_ok(__tsr_invalidate_cache(s.dev.fd, bo.handle, ranges[r].offset,
						  ranges[r].size));
		trace = tsr_trace_stop();
		require_eq(trace.count, 1);
		ev = tsr_trace_next(&trace, "cache_maintenance", NULL);
		require_eq(tsr_event_u64(ev, "offset"), ranges[r].from);
		require_eq(tsr_event_u64(ev, "bytes"), ranges[r].bytes);
		tsr_trace_free(&trace);
		for (uint64_t i = 0; i < WORDS; i++) {
			bool in =
				i * 4 >= ranges[r].from && i * 4 < ranges[r].from + ranges[r].bytes;

			require_msg((words[i] == 0x100 + r) == in,
				    "word 0x%llx was %sinvalidated, expected bytes %llu to %llu",
				    (unsigned long long)i, in ? "not " : "",
				    (unsigned long long)ranges[r].from,
				    (unsigned long long)(ranges[r].from + ranges[r].bytes));
		}
		tsr_invalidate_cache(&s.dev, &bo);
	}
	/* CPU stores next to the range must survive. */
	((uint32_t *)bo.map)[0] = 7;
	((uint32_t *)bo.map)[16] = 8;
	require_ok(__tsr_invalidate_cache(s.dev.fd, bo.handle, 64, 64));
	require_eq(((uint32_t *)bo.map)[0], 7);
	require_eq(((uint32_t *)bo.map)[16], 8);
	tsr_invalidate_cache(&s.dev, &bo);
	tsr_gpu_copy(&s.dev, s.ctx, &s.seen, &bo);
	require_eq(((uint32_t *)s.seen.map)[0], 7);
	require_eq(((uint32_t *)s.seen.map)[16], 8);
	tsr_close(&s.dev);
}

/* The kernel maintains caches for its own moves, also with BO_EXPLICIT_SYNC. */
static void moves_are_the_kernels(void)
{
	struct scene s = scene_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&s.dev));
	struct tsr_bo bo = mapped(&s, vis, own), pages = mapped(&s, s.gart, own);

	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&bo, round);
		gpu_sees(&s, &bo, round);
		tsr_gpu_fill(&s.dev, s.ctx, &bo, round);
		tsr_evict_set(vis);
		tsr_words_check(bo.map, WORDS, round);
	}
	/* Swap-out must save the bytes that the GPU wrote. */
	tsr_invalidate_cache(&s.dev, &pages);
	tsr_gpu_fill(&s.dev, s.ctx, &pages, 0x77);
	tsr_evict_set(s.gart);
	tsr_bo_wait(&s.dev, &pages);
	require(tsr_swap_out_objects() > 0);
	for (uint32_t i = 0; i < WORDS; i++)
		require_msg(((uint32_t *)pages.map)[i] == 0x77,
			    "expected swap-out to save the GPU's bytes, word 0x%x has those of the "
			    "CPU's cache",
			    i);
	tsr_close(&s.dev);
}

/*
 * A store that does not fault, because an earlier one has mapped the page, is
 * moved with the object.
 */
static void later_stores_are_moved(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, tsr_bit(tsr_seg_visible(&s.dev)), own);
	volatile uint32_t *words = bo.map;
	struct tsr_cmd cmd;

	words[0] = 1;
	tsr_lock(&s.dev, &bo, DRM_TESSERA_LOCK_READ_ONLY);
	tsr_unlock(&s.dev, &bo);
	words[0] = 2;
	/* The job uses the object in VRAM, and writes another page. */
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 1024, 16, 3);
	tsr_submit_done(&s.dev, s.ctx, &cmd);
	tsr_cmd_fini(&cmd);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, tsr_seg_visible(&s.dev)->id);
	require_eq(words[0], 2);
	require_eq(words[1024], 3);
	tsr_close(&s.dev);
}

/* A VM with @seen mapped, into which jobs copy what they read. */
static struct tsr_vm vm_with(struct scene *s)
{
	struct tsr_vm vm = tsr_vm_open(&s->dev);

	tsr_vm_map(&s->dev, vm.id, &s->seen, 0, MiB(512), BYTES, 0);
	tsr_make_resident(&s->dev, &s->seen, 1);
	return vm;
}

static void vm_run(struct scene *s, struct tsr_vm *vm, const struct tsr_cmd *cmd)
{
	uint32_t done = tsr_syncobj_new(&s->dev);

	memcpy(vm->cmds.map, cmd->dw, tsr_cmd_bytes(cmd));
	require_ok(__tsr_submit_vm(&s->dev, vm->context, vm->at, tsr_cmd_bytes(cmd), 0, done));
	require_ok(tsr_syncobj_status(&s->dev, done));
}

/* Run a job in the VM that copies the object at MiB(256) to @seen. */
static void vm_read(struct scene *s, struct tsr_vm *vm)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, MiB(512), BYTES, true);
	tsr_cmd_bind_address(&cmd, 1, MiB(256), BYTES, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, WORDS);
	vm_run(s, vm, &cmd);
	tsr_cmd_fini(&cmd);
}

/* Run a job in the VM that fills the object at MiB(256). */
static void vm_write(struct scene *s, struct tsr_vm *vm, uint32_t value)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, MiB(256), BYTES, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, value);
	vm_run(s, vm, &cmd);
	tsr_cmd_fini(&cmd);
}

/*
 * The kernel does not see jobs at virtual addresses. A job that writes an
 * object after the CPU has read it is such a job, and swap-out must save what it
 * wrote.
 */
static void saved_from_an_address(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);
	struct tsr_vm vm = vm_with(&s);

	tsr_vm_map(&s.dev, vm.id, &bo, 0, MiB(256), BYTES, 0);
	tsr_make_resident(&s.dev, &bo, 1);
	vm_write(&s, &vm, 1);
	tsr_words_check(bo.map, WORDS, 1);
	vm_write(&s, &vm, 2);
	tsr_evict(&s.dev, &bo, 1);
	tsr_evict_set(s.gart);
	tsr_bo_wait(&s.dev, &bo);
	require(tsr_swap_out_objects() > 0);
	tsr_words_check(bo.map, WORDS, 2);
	tsr_vm_close(&vm);
	tsr_close(&s.dev);
}

/*
 * Binding an object in a VM writes the CPU caches back. Later maintenance is up
 * to the client.
 */
static void bound_as_it_is(void)
{
	struct scene s = scene_open();
	struct tsr_vm vm = vm_with(&s);
	struct tsr_bo bo = mapped(&s, s.gart, cached), seen = { .map = s.seen.map, .size = BYTES };
	const uint32_t *words = s.seen.map;

	/*
	 * The object is already resident in the aperture, and the CPU has
	 * written to it since.
	 */
	tsr_pattern_write(&bo, 1);
	tsr_make_resident(&s.dev, &bo, 1);
	gpu_sees(&s, &bo, 1);
	tsr_pattern_write(&bo, 2);
	tsr_vm_map(&s.dev, vm.id, &bo, 0, MiB(256), BYTES, 0);
	vm_read(&s, &vm);
	require_msg(words[0] != tsr_pattern(1, 0),
		    "a job reads bytes older than the CPU's writes: expected the bind of a listed "
		    "object in an aperture to write the CPU's cache back");
	tsr_pattern_check(&seen, 2);
	tsr_vm_close(&vm);
	tsr_close(&s.dev);
}

/*
 * GPU page table entries say which pages are cached, so a job in a VM reads
 * stale bytes until the client calls INVALIDATE_CACHE.
 */
static void stale_at_an_address(void)
{
	struct scene s = scene_open();
	struct tsr_vm vm = vm_with(&s);
	struct tsr_bo bo = mapped(&s, s.gart, own), seen = { .map = s.seen.map, .size = BYTES };
	const uint32_t *words = s.seen.map;

	tsr_vm_map(&s.dev, vm.id, &bo, 0, MiB(256), BYTES, 0);
	tsr_make_resident(&s.dev, &bo, 1);
	tsr_pattern_write(&bo, 1);
	vm_read(&s, &vm);
	require_msg(words[0] != tsr_pattern(1, 0),
		    "the GPU reads bytes from the CPU's cache: expected stale bytes, as the page "
		    "table marks the page as cached");
	tsr_words_check(words, WORDS, 0);
	tsr_invalidate_cache(&s.dev, &bo);
	vm_read(&s, &vm);
	tsr_pattern_check(&seen, 1);
	tsr_vm_close(&vm);
	tsr_close(&s.dev);
}

/*
 * The call is also allowed without BO_EXPLICIT_SYNC, when the kernel maintains
 * the caches.
 */
static void call_for_tracked(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, cached);

	tsr_invalidate_cache(&s.dev, &bo);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&bo, round);
		tsr_invalidate_cache(&s.dev, &bo);
		gpu_sees(&s, &bo, round);
		tsr_gpu_fill(&s.dev, s.ctx, &bo, round);
		tsr_invalidate_cache(&s.dev, &bo);
		tsr_words_check(bo.map, WORDS, round);
	}
	tsr_close(&s.dev);
}

static void call_bad_input(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, s.gart, own), plain = mapped(&s, s.gart, uncached);
	struct drm_tessera_invalidate_cache pad = { .handle = bo.handle, .pad = 1, .size = 64 };
	struct drm_tessera_bo_create bad = {
		.size = BYTES,
		.supported = s.gart,
		.flags = uncached | DRM_TESSERA_BO_EXPLICIT_SYNC,
	};
	const struct {
		uint32_t handle;
		uint64_t offset, size;
		int err;
	} rows[] = {
		{ bo.handle, 0, 0, -EINVAL },	       { bo.handle, 0, BYTES + 1, -EINVAL },
		{ bo.handle, BYTES, 1, -EINVAL },      { bo.handle, BYTES - 64, 65, -EINVAL },
		{ bo.handle, UINT64_MAX, 1, -EINVAL }, { bo.handle, 64, UINT64_MAX - 63, -EINVAL },
		{ plain.handle, 0, 64, -EINVAL },      { 4711, 0, 64, -ENOENT },
		{ bo.handle, BYTES - 1, 1, 0 },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		require_eq(__tsr_invalidate_cache(s.dev.fd, rows[i].handle, rows[i].offset,
						  rows[i].size),
			   rows[i].err);
	require_err(tsr_ioctl(s.dev.fd, DRM_IOCTL_TESSERA_INVALIDATE_CACHE, &pad), -EINVAL);
	require_err(__tsr_bo_create(s.dev.fd, &bad), -EINVAL);
	tsr_close(&s.dev);
}

/*
 * The kernel cannot see CPU writes to user memory, so userptr objects are
 * refused.
 */
static void no_user_memory(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t handle;

	require(!(dev.info.caps & DRM_TESSERA_CAP_USER_MEMORY));
	require_err(__tsr_bo_from_user(dev.fd, tsr_pages_new(BYTES), BYTES, 0, &handle),
		    -EOPNOTSUPP);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "COH-4 COH-6 MODEL-15 CPU write, GPU read: written back before the part",
	  cleaned_before_the_part, 0, 60 },
	{ "COH-6 COH-7 writes of a debugger are written back before the part",
	  cleaned_behind_a_debugger, 0, 60 },
	{ "COH-4 COH-7 GPU write, CPU read: invalidated before lock returns",
	  invalidated_before_lock_returns, 0, 60 },
	{ "COH-7 GPU write, CPU read: invalidated before a fault maps",
	  invalidated_before_a_fault_maps, 0, 60 },
	{ "COH-11 lines that were loaded too early stay stale until invalidated",
	  stale_until_asked_for, 0, 60 },
	{ "COH-4 LOCK-4 no-overwrite on one half while a job writes the other", no_overwrite, 0,
	  60 },
	{ "COH-4 COH-5 no store is lost while jobs write the same object", no_store_is_lost, 0,
	  120 },
	{ "COH-4 LOCK-4 no store is lost to locks while a job is running", no_store_is_flushed_away,
	  0, 120 },
	{ "COH-4 eviction and page-in keep caches coherent", through_memory, 0, 120 },
	{ "COH-4 apertures and swap keep caches coherent", through_apertures, 0, 120 },
	{ "COH-4 no maintenance for uncached pages", nothing_for_uncached, 0, 120 },
	{ "COH-5 the reported state follows CPU and GPU accesses", state_follows, 0, 60 },
	{ "COH-2 PAGE-8 entries say which pages are cached", entries_say_cached, 0, 60 },
	{ "COH-4 other devices get no cached pages", not_for_other_devices, 0, 60 },
	{ "COH-8 COH-10 COH-11 MODEL-15 stale bytes without INVALIDATE_CACHE",
	  stale_without_the_call, TSR_EXPECT(STRICT_COHERENCE), 60 },
	{ "COH-9 the call maintains exactly its range", exactly_the_range, 0, 60 },
	{ "COH-8 the kernel maintains caches for its own moves", moves_are_the_kernels, 0, 60 },
	{ "COH-8 a move takes stores along that do not fault", later_stores_are_moved, 0, 60 },
	{ "COH-4 COH-8 swap-out saves what a job at a virtual address wrote", saved_from_an_address,
	  0, 60 },
	{ "COH-8 COH-10 binding in a VM writes the caches back once", bound_as_it_is, 0, 60 },
	{ "COH-2 COH-8 stale bytes at a virtual address without INVALIDATE_CACHE",
	  stale_at_an_address, TSR_EXPECT(STRICT_COHERENCE), 60 },
	{ "COH-9 the call is valid for an object that the kernel maintains", call_for_tracked, 0,
	  60 },
	{ "COH-9 ERR-42 bad input", call_bad_input, 0, 60 },
	{ "COH-6 user memory is refused", no_user_memory, 0, 60 },
};

TSR_TEST_MAIN(tests)
