// SPDX-License-Identifier: MIT
/*
 * Swizzling ranges: the CPU sees swizzled objects linearly in VRAM, also when
 * there are too few ranges, and when objects move. Wrong bytes, an unexpected
 * eviction, or a range in the wrong place fails a test.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host.h"
#include "pci.h"
#include "swizzled.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

#define PAGE 4096u
#define VM_ADDRESS 0x40000000ull

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t linear = DRM_TESSERA_LOCK_ACQUIRE_RANGE;
static const uint32_t stay = DRM_TESSERA_LOCK_DO_NOT_EVICT;

/* A word of BAR 2 at a bus address, as the driver's own mappings show it. */
static uint32_t bar_word(uint64_t bus)
{
	int fd = open(tsr_pci_path("resource2"), O_RDWR | O_CLOEXEC);
	char *text = tsr_read_file(tsr_pci_path("resource"));
	unsigned long long start;
	volatile uint32_t *map;
	uint32_t word;

	require(fd >= 0);
	/* one line per BAR */
	require(text && sscanf(text, "%*[^\n]\n%*[^\n]\n%llx", &start) == 1);
	free(text);
	map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)((bus - start) & ~(PAGE - 1ull)));
	close(fd);
	require(map != MAP_FAILED);
	word = map[bus % PAGE / 4];
	munmap((void *)map, PAGE);
	return word;
}

/* ---- one object ------------------------------------------------------ */

/* The range shows the object at its offset in the segment. */
static void check_place(struct tsr_device *dev, const struct tsr_swizzled *s, uint32_t key)
{
	uint64_t bus = tsr_ranges_now().bus + tsr_bo_info(dev, &s->bo).segment_offset;
	uint64_t words = s->bo.size / 4;
	const uint64_t at[] = { 0, words / 2, words - 1 };

	for (uint32_t i = 0; i < ARRAY_SIZE(at); i++)
		require_eq(bar_word(bus + at[i] * 4), tsr_pattern(key, at[i]));
}

/* The CPU sees the pattern in VRAM, or, without ranges, in system memory. */
static void check_seen(struct tsr_device *dev, struct tsr_swizzled *s, uint32_t key)
{
	const bool ranges = dev->info.num_swizzle_ranges;
	struct drm_tessera_bo_info before = tsr_bo_info(dev, &s->bo), after;
	struct tsr_trace trace;

	tsr_trace_start("cpu_fault", "paging_op", "evict", "swizzle_acquire", NULL);
	tsr_pattern_check(&s->bo, key);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_faulted(&trace, "swizzle-range"), ranges);
	require_eq(tsr_trace_faulted(&trace, "system"), !ranges);
	require(!tsr_trace_faulted(&trace, "bar"));
	require_eq(tsr_trace_count(&trace, "evict"), !ranges);
	require_eq(tsr_trace_count(&trace, "paging_op") > 0, !ranges);
	require_eq(tsr_trace_count(&trace, "swizzle_acquire"), ranges);
	if (ranges) {
		const struct tsr_event *ev = tsr_trace_next(&trace, "swizzle_acquire", NULL);

		/* the range is set up before the first access through it */
		require(ev < tsr_trace_next(&trace, "cpu_fault", NULL));
		require_eq(tsr_event_u64(ev, "offset"), before.segment_offset);
		require_eq(tsr_event_u64(ev, "pitch"), s->rows.pitch);
		require_eq(tsr_event_u64(ev, "rows"), s->rows.height);
		after = tsr_bo_info(dev, &s->bo);
		require_eq(after.segment, before.segment);
		require_eq(after.segment_offset, before.segment_offset);
		require_eq(after.size, before.size);
		check_place(dev, s, key);
	}
	tsr_trace_free(&trace);
}

/* Tiles in memory, rows for the CPU. Neighbouring objects do not change. */
static void check_shape(struct tsr_device *dev, uint32_t ctx, uint32_t layout, uint32_t pitch,
			uint32_t height)
{
	struct tsr_swizzled before = tsr_swizzled_small(dev, ctx, 3);
	struct tsr_swizzled s = tsr_swizzled_new(dev, ctx, layout, pitch, height, 1);
	struct tsr_swizzled after = tsr_swizzled_small(dev, ctx, 4);
	uint64_t words = s.bo.size / 4;
	uint32_t raw;

	check_seen(dev, &s, 1);
	tsr_pattern_write(&s.bo, 2);
	tsr_swizzled_gpu_check(dev, ctx, &s, 2);
	for (uint64_t word = 0; word < words; word += words / 7 + 1) {
		tsr_gpu_read(dev, ctx, &s.bo, tsr_swizzled_word(&s.rows, word), 1, &raw);
		require_eq(raw, tsr_pattern(2, word));
	}
	tsr_swizzled_gpu_check(dev, ctx, &before, 3);
	tsr_swizzled_gpu_check(dev, ctx, &after, 4);
	/* the same linear bytes after eviction and after a page-in */
	tsr_pattern_check(&s.bo, 2);
	tsr_evict_set(tsr_bit(tsr_seg_visible(dev)));
	require(!tsr_swizzled_resident(dev, &s));
	require_eq(tsr_ranges_now().used, 0);
	tsr_pattern_check(&s.bo, 2);
	tsr_gpu_touch(dev, ctx, &s.bo);
	check_seen(dev, &s, 2);
	tsr_bo_free(dev, &s.bo);
	tsr_bo_free(dev, &before.bo);
	tsr_bo_free(dev, &after.bo);
	require_eq(tsr_ranges_now().used, 0);
}

static void seen_linear(void)
{
	static const struct {
		uint32_t pitch, height;
	} shapes[] = { { 384, 64 }, { 128 * 23, 32 }, { 128, 32 }, { 128, 96 }, { 1024, 128 } };
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	/* the address arithmetic is the same on all kernels */
	uint32_t num = tap_slow() && !tap_long() ? 2 : ARRAY_SIZE(shapes);

	require_eq(tsr_ranges_now().num, dev.info.num_swizzle_ranges);
	for (uint32_t layout = TSR_LAYOUT_TILE4K; layout < TSR_LAYOUT_COUNT; layout++)
		for (uint32_t i = 0; i < num; i++)
			check_shape(&dev, ctx, layout, shapes[i].pitch, shapes[i].height);
	tsr_close(&dev);
}

/* A child that inherits the mapping sees the same, and so does a debugger. */
static void child_reads(void *arg)
{
	struct tsr_swizzled *s = arg;

	tsr_pattern_check(&s->bo, 1);
	tsr_swizzled_write(s, 77, 0xc411d);
}

static void others_see_it(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word = 0;
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 1);

	for (int touched = 0; touched < 2; touched++) {
		require_ok(tsr_proc_mem_read((uint32_t *)s.bo.map + 700, &word, sizeof(word)));
		require_eq(word, tsr_pattern(1, 700));
		require_eq(tsr_swizzled_resident(&dev, &s), dev.info.num_swizzle_ranges > 0);
		require_eq(tsr_swizzled_read(&s, 1), tsr_pattern(1, 1));
	}
	tap_join(tap_fork(child_reads, &s));
	require_eq(tsr_swizzled_read(&s, 77), 0xc411d);
	tsr_swizzled_write(&s, 77, tsr_pattern(1, 77));
	word = 0x55aa55aa;
	require_ok(tsr_proc_mem_write((uint32_t *)s.bo.map + 1200, &word, sizeof(word)));
	require_eq(tsr_swizzled_read(&s, 1200), word);
	tsr_evict_set(tsr_bit(tsr_seg_visible(&dev)));
	require_eq(tsr_swizzled_read(&s, 1200), word);
	tsr_swizzled_write(&s, 1200, tsr_pattern(1, 1200));
	tap_join(tap_fork(child_reads, &s));
	tsr_swizzled_write(&s, 77, tsr_pattern(1, 77));
	tsr_swizzled_gpu_check(&dev, ctx, &s, 1);
	tsr_close(&dev);
}

#define TURN_WORDS 64u

/* A job writes every second word of a group. */
static void gpu_writes_odd(struct tsr_device *dev, uint32_t ctx, const struct tsr_swizzled *s,
			   uint32_t first, uint32_t key)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &s->bo, true);
	for (uint32_t w = first + 1; w < first + TURN_WORDS; w += 2)
		tsr_cmd_fill(&cmd, 0, (uint32_t)tsr_swizzled_word(&s->rows, w), 1,
			     tsr_pattern(key, w));
	tsr_submit_done(dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
}

/* The CPU and the GPU write neighbouring words, and see each other's. */
static void in_turns(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled s[2] = { tsr_swizzled_small(&dev, ctx, 1),
				     tsr_swizzled_small(&dev, ctx, 2) };

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t words = (uint32_t)(s[i].bo.size / 4);

		for (uint32_t first = 0; first < words; first += TURN_WORDS) {
			for (uint32_t w = first; w < first + TURN_WORDS; w += 2)
				tsr_swizzled_write(&s[i], w, tsr_pattern(3, w));
			gpu_writes_odd(&dev, ctx, &s[i], first, 3);
			for (uint32_t w = first; w < first + TURN_WORDS; w++)
				require_eq(tsr_swizzled_read(&s[i], w), tsr_pattern(3, w));
		}
		tsr_pattern_check(&s[i].bo, 3);
		tsr_swizzled_gpu_check(&dev, ctx, &s[i], 3);
	}
	tsr_close(&dev);
}

/* ---- more objects than ranges ---------------------------------------- */

/* Index of the object that lost its range, according to the trace. */
static uint32_t loser(const struct tsr_trace *trace, const uint32_t *ids, uint32_t num)
{
	const struct tsr_event *ev = tsr_trace_next(trace, "swizzle_release", NULL);

	require(ev);
	for (uint32_t i = 0; i < num; i++)
		if (tsr_event_u64(ev, "bo") == ids[i])
			return i;
	tap_fail(__FILE__, __LINE__, "no object of ours: %s", ev->text);
}

/* Touches an object without a range. Returns its number in the trace. */
static uint32_t acquire(struct tsr_swizzled *s, uint32_t key)
{
	const struct tsr_event *ev;
	struct tsr_trace trace;
	uint32_t id;

	tsr_trace_start("swizzle_acquire", NULL);
	require_eq(tsr_swizzled_read(s, 9), tsr_pattern(key, 9));
	trace = tsr_trace_stop();
	ev = tsr_trace_next(&trace, "swizzle_acquire", NULL);
	require(ev);
	require_eq(tsr_trace_count(&trace, "swizzle_acquire"), 1);
	id = (uint32_t)tsr_event_u64(ev, "bo");
	tsr_trace_free(&trace);
	return id;
}

static uint32_t need_ranges(struct tsr_device *dev)
{
	if (!dev->info.num_swizzle_ranges)
		tap_skip("no ranges");
	return dev->info.num_swizzle_ranges;
}

/* The least recently used range is reassigned, without an eviction or move. */
static void ranges_go_round(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = need_ranges(&dev), ids[TSR_MAX_RANGES + 1];
	struct tsr_swizzled s[TSR_MAX_RANGES + 1];
	struct tsr_trace trace;

	for (uint32_t i = 0; i <= num; i++)
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
	for (uint32_t i = 0; i < num; i++) {
		ids[i] = acquire(&s[i], i + 1);
		require_eq(tsr_ranges_now().used, i + 1);
	}
	check_place(&dev, &s[0], 1);

	/* ranges are kept: no order of accesses sets up another one */
	tsr_trace_start("swizzle_acquire", "swizzle_release", "cpu_fault", NULL);
	for (uint32_t i = 0; i < num; i++)
		tsr_pattern_check(&s[num - 1 - i].bo, num - i);
	tsr_lock(&dev, &s[0].bo, linear);
	tsr_unlock(&dev, &s[0].bo);
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);

	tsr_trace_start("swizzle_acquire", "swizzle_release", "evict", "paging_op", NULL);
	require_eq(tsr_swizzled_read(&s[num], 9), tsr_pattern(num + 1, 9));
	trace = tsr_trace_stop();
	/* the first one was locked since, so the second loses its range */
	require_eq(loser(&trace, ids, num), num > 1);
	/* exactly one release, before the new range is set up */
	require_eq(trace.count, 2);
	require(tsr_trace_next(&trace, "swizzle_release", NULL) <
		tsr_trace_next(&trace, "swizzle_acquire", NULL));
	tsr_trace_free(&trace);

	tsr_trace_start("evict", "paging_op", NULL);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i <= num; i++) {
			tsr_pattern_check(&s[i].bo, i + 1 + round * 16);
			tsr_pattern_write(&s[i].bo, i + 1 + (round + 1) * 16);
			require_eq(tsr_ranges_now().used, num);
		}
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);
	require_eq(tsr_swizzled_read(&s[0], 0), tsr_pattern(49, 0));
	check_place(&dev, &s[0], 49);
	for (uint32_t i = 0; i <= num; i++) {
		require(tsr_swizzled_resident(&dev, &s[i]));
		tsr_swizzled_gpu_check(&dev, ctx, &s[i], i + 1 + 3 * 16);
	}
	tsr_bo_free(&dev, &s[0].bo);
	require_eq(tsr_ranges_now().used, num - 1);
	tsr_evict_set(tsr_bit(tsr_seg_visible(&dev)));
	require_eq(tsr_ranges_now().used, 0);
	tsr_close(&dev);
}

/*
 * Locked objects keep their ranges. An object for which no range is left is
 * evicted, and the CPU sees the same bytes.
 */
static void locks_keep_ranges(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = dev.info.num_swizzle_ranges;
	struct tsr_swizzled s[TSR_MAX_RANGES + 1];
	struct tsr_trace trace;

	for (uint32_t i = 0; i <= num; i++)
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
	tsr_trace_start("swizzle_acquire", "swizzle_release", "evict", NULL);
	for (uint32_t i = 0; i <= num; i++)
		tsr_lock(&dev, &s[i].bo, linear);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "swizzle_acquire"), num);
	require_eq(tsr_trace_count(&trace, "swizzle_release"), 0);
	require_eq(tsr_trace_count(&trace, "evict"), 1);
	tsr_trace_free(&trace);
	require_eq(tsr_ranges_now().locked, num);
	for (uint32_t i = 0; i <= num; i++) {
		require_eq(tsr_swizzled_resident(&dev, &s[i]), i < num);
		tsr_pattern_check(&s[i].bo, i + 1);
	}
	/* another lock of a locked object sets up nothing */
	tsr_trace_start("swizzle_acquire", "swizzle_release", "evict", NULL);
	for (uint32_t i = 0; i <= num; i++) {
		tsr_lock(&dev, &s[i].bo, linear);
		tsr_unlock(&dev, &s[i].bo);
	}
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);
	if (num) {
		/* an unlocked object gives up its range */
		tsr_unlock(&dev, &s[num].bo);
		tsr_gpu_touch(&dev, ctx, &s[num].bo);
		tsr_unlock(&dev, &s[num / 2].bo);
		tsr_pattern_check(&s[num].bo, num + 1);
		require(tsr_swizzled_resident(&dev, &s[num]));
		require_eq(tsr_ranges_now().locked, num - 1);
	}
	tsr_close(&dev);
}

/* ---- raw access ------------------------------------------------------ */

/* The CPU sees the swizzled words, in every process. */
static void check_raw(const struct tsr_swizzled *s, uint32_t key)
{
	for (uint64_t word = 0; word < s->bo.size / 4; word += 37)
		require_eq(tsr_swizzled_read(s, tsr_swizzled_word(&s->rows, word)),
			   tsr_pattern(key, word));
}

static void peer_sees_raw(void *arg)
{
	struct tsr_swizzled *s = arg;
	uint32_t word;

	check_raw(s, 1);
	require_ok(tsr_proc_mem_read((uint32_t *)s->bo.map + tsr_swizzled_word(&s->rows, 333),
				     &word, sizeof(word)));
	require_eq(word, tsr_pattern(1, 333));
}

/* With all ranges locked, a lock that must not evict its object is refused. */
static void no_range_no_eviction(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = dev.info.num_swizzle_ranges;
	struct tsr_swizzled s[TSR_MAX_RANGES + 1];
	struct tsr_trace trace;

	for (uint32_t i = 0; i <= num; i++)
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
	tsr_trace_start("swizzle_release", "evict", "paging_op", NULL);
	for (uint32_t i = 0; i < num; i++)
		tsr_lock(&dev, &s[i].bo, linear | stay);
	require_err(__tsr_lock(dev.fd, &s[num].bo.handle, linear | stay), -ENOSPC);
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);
	require(tsr_swizzled_resident(&dev, &s[num]));
	/* A lock for the raw bytes needs no range. */
	tsr_lock(&dev, &s[num].bo, stay);
	tsr_unlock(&dev, &s[num].bo);
	if (num) {
		tsr_unlock(&dev, &s[0].bo);
		tsr_lock(&dev, &s[num].bo, linear | stay);
	}
	tsr_close(&dev);
}

/*
 * An object that a VM maps takes no range: it loses those that it has when it is
 * mapped, and gets none by a fault, Lock or Lock2. The CPU sees the same bytes.
 */
static void none_in_a_vm(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vm = tsr_vm_new(&dev);
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 1);
	struct tsr_trace trace;
	uint64_t offset;

	need_ranges(&dev);
	tsr_lock(&dev, &s.bo, linear);
	tsr_swizzled_write(&s, 5, 0xc411d);
	require_eq(tsr_ranges_now().used, 1);
	tsr_trace_start("swizzle_acquire", NULL);
	tsr_vm_map(&dev, vm, &s.bo, 0, VM_ADDRESS, s.bo.size, 0);
	require_eq(tsr_ranges_now().used, 0);
	require_eq(tsr_swizzled_read(&s, 5), 0xc411d);
	tsr_swizzled_write(&s, 5, tsr_pattern(1, 5));
	require(!tsr_swizzled_resident(&dev, &s));
	tsr_unlock(&dev, &s.bo);
	tsr_swizzled_gpu_check(&dev, ctx, &s, 1);
	require_err(__tsr_lock(dev.fd, &s.bo.handle, linear), -EOPNOTSUPP);
	require(tsr_swizzled_resident(&dev, &s));
	require_ok(__tsr_lock2(dev.fd, s.bo.handle, 0, &offset));
	require_eq(tsr_swizzled_read(&s, 5), tsr_pattern(1, 5));
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);

	/* Ranges serve it again when no VM maps it. */
	require_ok(__tsr_unlock2(dev.fd, s.bo.handle));
	tsr_vm_unmap(&dev, vm, VM_ADDRESS, s.bo.size);
	tsr_swizzled_gpu_check(&dev, ctx, &s, 1);
	tsr_lock(&dev, &s.bo, linear);
	require_eq(tsr_ranges_now().used, 1);
	tsr_close(&dev);
}

/* A lock without ACQUIRE_RANGE gets no range: raw bytes while it is held. */
static void without_the_flag(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), set = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_swizzled s = tsr_swizzled_new(&dev, ctx, TSR_LAYOUT_MORTON, 384, 64, 1);
	struct tsr_trace trace;

	tsr_trace_start("swizzle_acquire", "evict", "paging_op", "cpu_fault", NULL);
	tsr_lock(&dev, &s.bo, 0);
	check_raw(&s, 1);
	trace = tsr_trace_stop();
	require(tsr_trace_faulted(&trace, "bar"));
	require_eq(tsr_trace_count(&trace, "cpu_fault"), trace.count);
	tsr_trace_free(&trace);
	tap_join(tap_fork(peer_sees_raw, &s));
	tsr_swizzled_write(&s, tsr_swizzled_word(&s.rows, 500), 0x1234);

	/* until the last raw lock is released */
	tsr_lock(&dev, &s.bo, 0);
	tsr_unlock(&dev, &s.bo);
	require_eq(tsr_swizzled_read(&s, tsr_swizzled_word(&s.rows, 500)), 0x1234);
	tsr_unlock(&dev, &s.bo);
	require_eq(tsr_swizzled_read(&s, 500), 0x1234);
	tsr_swizzled_write(&s, 500, tsr_pattern(1, 500));
	tsr_swizzled_gpu_check(&dev, ctx, &s, 1);
	tsr_pattern_check(&s.bo, 1);
	tsr_gpu_touch(&dev, ctx, &s.bo);
	tsr_pattern_check(&s.bo, 1);

	/* the raw lock replaces an existing linear mapping */
	tsr_gpu_touch(&dev, ctx, &s.bo);
	tsr_lock(&dev, &s.bo, 0);
	check_raw(&s, 1);
	require_eq(tsr_ranges_now().locked, 0);
	/* linear in system memory, raw again when the object is back in VRAM */
	tsr_evict_set(set);
	tsr_pattern_check(&s.bo, 1);
	tsr_gpu_touch(&dev, ctx, &s.bo);
	check_raw(&s, 1);
	tsr_evict_set(set);
	tsr_unlock(&dev, &s.bo);
	/* for an object in system memory the raw lock makes no difference */
	tsr_lock(&dev, &s.bo, 0);
	tsr_pattern_check(&s.bo, 1);
	tsr_bo_free(&dev, &s.bo);
	tsr_close(&dev);
}

/* Raw and linear accesses show the same bytes, with no job in between. */
static void raw_and_linear(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 2);
	uint64_t raw = tsr_swizzled_word(&s.rows, 500);

	if (!dev.info.num_swizzle_ranges)
		tap_skip("no ranges");
	for (uint32_t i = 0; i < 8; i += 2) {
		tsr_swizzled_write(&s, 500, i);
		require_eq(tsr_ranges_now().used, 1);
		tsr_lock(&dev, &s.bo, 0);
		require_eq(tsr_swizzled_read(&s, raw), i);
		tsr_swizzled_write(&s, raw, i + 1);
		tsr_unlock(&dev, &s.bo);
		require_eq(tsr_swizzled_read(&s, 500), i + 1);
	}
	tsr_close(&dev);
}

/*
 * An object has one mapping, so raw and linear locks cannot be held at the same
 * time, by any client.
 */
static void one_kind_at_a_time(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 1);
	struct drm_prime_handle prime = { .handle = s.bo.handle, .flags = DRM_CLOEXEC };
	struct tsr_bo same = { .size = s.bo.size }, plain;

	require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	require_ok(tsr_ioctl(other.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);
	same.handle = prime.handle;

	tsr_lock(&dev, &s.bo, 0);
	require_err(__tsr_lock(other.fd, &same.handle, linear), -EBUSY);
	require_err(__tsr_lock(dev.fd, &s.bo.handle, linear), -EBUSY);
	require_err(__tsr_unlock(other.fd, same.handle), -EINVAL);
	tsr_lock(&other, &same, 0);
	tsr_unlock(&dev, &s.bo);
	require_err(__tsr_lock(dev.fd, &s.bo.handle, linear), -EBUSY);
	check_raw(&s, 1);
	/* closing the handle releases its locks */
	require_ok(__tsr_bo_close(other.fd, same.handle));
	tsr_pattern_check(&s.bo, 1);
	tsr_gpu_touch(&dev, ctx, &s.bo);
	tsr_lock(&dev, &s.bo, linear);
	require_err(__tsr_lock(dev.fd, &s.bo.handle, 0), -EBUSY);
	tsr_pattern_check(&s.bo, 1);
	tsr_unlock(&dev, &s.bo);
	tsr_lock(&dev, &s.bo, 0);
	tsr_unlock(&dev, &s.bo);
	tsr_pattern_check(&s.bo, 1);

	/* for a linear object both kinds are the same */
	plain = tsr_bo_new(&dev, PAGE, tsr_bit(tsr_seg_visible(&dev)), cpu);
	tsr_lock(&dev, &plain, linear);
	tsr_lock(&dev, &plain, 0);
	tsr_lock(&dev, &plain, linear | DRM_TESSERA_LOCK_IGNORE_SYNC);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * The locks of one process keep at most half of the ranges from other
 * processes. The process itself may lock all of them.
 */
static void locks_too_many(void *arg)
{
	const int *wake = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = dev.info.num_swizzle_ranges;
	struct tsr_swizzled s[TSR_MAX_RANGES];
	char c = 0;

	for (uint32_t i = 0; i < num; i++) {
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
		tsr_lock(&dev, &s[i].bo, linear);
	}
	require_eq(write(wake[1], &c, 1), 1);
	require_eq(read(wake[2], &c, 1), 1);
	/* the bytes are the same where the process has lost its range */
	for (uint32_t i = 0; i < num; i++)
		tsr_pattern_check(&s[i].bo, i + 1);
	tsr_close(&dev);
}

static void ranges_left_for_others(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = need_ranges(&dev);
	struct tsr_swizzled s[TSR_MAX_RANGES];
	uint32_t left = num - (num / 2 ? num / 2 : 1);
	int wake[4];
	pid_t pid;
	char c = 0;

	require_eq(pipe(wake), 0);
	require_eq(pipe(wake + 2), 0);
	pid = tap_fork(locks_too_many, wake);
	require_eq(read(wake[0], &c, 1), 1);
	require_eq(tsr_ranges_now().locked, num);
	for (uint32_t i = 0; i < num; i++) {
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
		tsr_lock(&dev, &s[i].bo, linear);
		tsr_pattern_check(&s[i].bo, i + 1);
		require_eq(tsr_swizzled_resident(&dev, &s[i]), i < left);
	}
	require_eq(write(wake[3], &c, 1), 1);
	tap_join(pid);
	tsr_close(&dev);
}

/* ---- objects that need several ranges -------------------------------- */

#define PART_BYTES ((uint64_t)TSR_SURF_MAX_DIM * 128)
#define PART_WORDS (PART_BYTES / 4)

/*
 * An object with more rows than one range can show. The CPU writes four words
 * before the page-in, and never touches it as a whole.
 */
static struct tsr_swizzled tall_new(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_swizzled s = {
		.rows = tsr_surface_rows(TSR_LAYOUT_TILE4K, 128, 2 * TSR_SURF_MAX_DIM),
	};

	s.bo = tsr_bo_new_rows(dev, &s.rows, tsr_bit(tsr_seg_visible(dev)), cpu);
	tsr_bo_map(dev, &s.bo);
	tsr_swizzled_write(&s, 5, 0x50);
	tsr_swizzled_write(&s, PART_WORDS - 1, 0x51);
	tsr_swizzled_write(&s, PART_WORDS, 0x52);
	tsr_swizzled_write(&s, 2 * PART_WORDS - 1, 0x53);
	tsr_gpu_touch(dev, ctx, &s.bo);
	require(tsr_swizzled_resident(dev, &s));
	return s;
}

/* One of its ranges is reassigned, the other one keeps working. */
static void parts_have_their_own(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = need_ranges(&dev);
	struct tsr_swizzled tall = tall_new(&dev, ctx), s[TSR_MAX_RANGES];
	struct tsr_trace trace;

	if (num < 2)
		tap_skip("one range");
	/* just before the boundary: fault-around stops there */
	require_eq(tsr_swizzled_read(&tall, PART_WORDS - 1), 0x51);
	require_eq(tsr_ranges_now().used, 1);
	require_eq(tsr_swizzled_read(&tall, PART_WORDS), 0x52);
	require_eq(tsr_ranges_now().used, 2);
	for (uint32_t i = 0; i + 2 < num; i++) {
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
		acquire(&s[i], i + 1);
	}
	s[num - 2] = tsr_swizzled_small(&dev, ctx, 99);
	acquire(&s[num - 2], 99);
	require_eq(tsr_ranges_now().used, num);

	tsr_trace_start("cpu_fault", NULL);
	require_eq(tsr_swizzled_read(&tall, PART_WORDS), 0x52);
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);
	require_eq(tsr_swizzled_read(&tall, PART_WORDS - 1), 0x51);
	require_eq(tsr_swizzled_read(&tall, 2 * PART_WORDS - 1), 0x53);
	require(tsr_swizzled_resident(&dev, &tall));
	/* locks and frees all ranges of the object together */
	tsr_lock(&dev, &tall.bo, linear);
	require_eq(tsr_ranges_now().locked, 2);
	tsr_unlock(&dev, &tall.bo);
	tsr_bo_free(&dev, &tall.bo);
	require_eq(tsr_ranges_now().used, num - 2);
	tsr_close(&dev);
}

/*
 * A lock needs ranges for all parts of the object. Otherwise the object is
 * evicted. The lock does not take one of its own ranges.
 */
static void parts_are_locked_together(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = need_ranges(&dev);
	struct tsr_swizzled tall = tall_new(&dev, ctx), s[TSR_MAX_RANGES];

	for (uint32_t i = 0; i + 1 < num; i++) {
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
		tsr_lock(&dev, &s[i].bo, linear);
	}
	require_eq(tsr_ranges_now().used, num - 1);
	tsr_lock(&dev, &tall.bo, linear);
	require(!tsr_swizzled_resident(&dev, &tall));
	require_eq(tsr_ranges_now().used, num - 1);
	require_eq(tsr_swizzled_read(&tall, PART_WORDS - 1), 0x51);
	require_eq(tsr_swizzled_read(&tall, PART_WORDS), 0x52);
	tsr_close(&dev);
}

/* An access that needs more ranges at once than exist still completes. */
static void no_access_goes_round_for_ever(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled tall = tall_new(&dev, ctx), a = tsr_swizzled_small(&dev, ctx, 1),
			    b = tsr_swizzled_small(&dev, ctx, 2);
	void *to = b.bo.map, *from = a.bo.map;
	uint64_t words = a.bo.size / 4;
	volatile uint64_t *over;

	over = (volatile uint64_t *)((char *)tall.bo.map + PART_BYTES - 4);
	require_eq(*over, 0x5200000051);
	*over = 0x9200000091;
	require_eq(tsr_swizzled_read(&tall, PART_WORDS - 1), 0x91);
	require_eq(tsr_swizzled_read(&tall, PART_WORDS), 0x92);
	/* one instruction that reads one object and writes the other */
	asm volatile("rep movsl" : "+S"(from), "+D"(to), "+c"(words) : : "memory");
	tsr_pattern_check(&a.bo, 1);
	tsr_pattern_check(&b.bo, 1);
	tsr_swizzled_gpu_check(&dev, ctx, &b, 1);
	tsr_close(&dev);
}

/* ---- moves, jobs, processes ------------------------------------------ */

/* A pointer follows its object, and accesses no other one in the old place. */
static void pointers_follow_moves(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), set = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 1), other;

	for (uint32_t round = 0; round < 8; round++) {
		tsr_pattern_write(&s.bo, round + 10);
		tsr_evict_set(set);
		/* an object in the old place */
		other = tsr_swizzled_small(&dev, ctx, round + 50);
		tsr_pattern_check(&s.bo, round + 10);
		tsr_pattern_write(&s.bo, round + 100);
		tsr_swizzled_gpu_check(&dev, ctx, &other, round + 50);
		tsr_swizzled_gpu_check(&dev, ctx, &s, round + 100);
		tsr_pattern_check(&s.bo, round + 100);
		tsr_bo_free(&dev, &other.bo);
	}
	tsr_close(&dev);
}

/* Ranges are reassigned while an unrelated job runs. */
static void during_a_job(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = need_ranges(&dev);
	struct tsr_swizzled s[TSR_MAX_RANGES + 1];
	struct tsr_trace trace;
	struct tsr_stuck stuck;

	for (uint32_t i = 0; i <= num; i++)
		s[i] = tsr_swizzled_small(&dev, ctx, i + 1);
	tsr_evict_set(tsr_bit(tsr_seg_visible(&dev)));
	for (uint32_t i = 0; i <= num; i++)
		tsr_gpu_touch(&dev, ctx, &s[i].bo);
	stuck = tsr_stuck_start(&dev, ctx);
	tsr_trace_start("swizzle_acquire", "swizzle_release", "evict", NULL);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i <= num; i++)
			require_eq(tsr_swizzled_read(&s[i], round), tsr_pattern(i + 1, round));
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "swizzle_acquire"), 2 * num + 2);
	require_eq(tsr_trace_count(&trace, "swizzle_release"), num + 2);
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	tsr_trace_free(&trace);
	tsr_stuck_end(&stuck);
	tsr_close(&dev);
}

/* No range survives a suspend, and the objects are visible afterwards. */
static void over_a_suspend(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 1);

	tsr_pattern_check(&s.bo, 1);
	tsr_suspend_devices();
	require_eq(tsr_ranges_now().used, 0);
	tsr_pattern_check(&s.bo, 1);
	tsr_evict_set(tsr_bit(tsr_seg_visible(&dev)));
	tsr_gpu_touch(&dev, ctx, &s.bo);
	check_seen(&dev, &s, 1);
	tsr_close(&dev);
}

/* Pointers into ranges survive unbinding. The new device has none in use. */
static void over_an_unbind(void)
{
	struct tsr_device dev;
	struct tsr_swizzled s, t;
	uint32_t ctx;

	tsr_pci_begin();
	dev = tsr_open();
	ctx = tsr_context_new(&dev, 0);
	s = tsr_swizzled_small(&dev, ctx, 1);
	t = tsr_swizzled_small(&dev, ctx, 2);
	tsr_pattern_check(&s.bo, 1);
	tsr_lock(&dev, &s.bo, linear);
	tsr_lock(&dev, &t.bo, 0);
	check_raw(&t, 2);
	tsr_pci_unbind();
	/* no SIGBUS, and no bytes of any object */
	require(tsr_swizzled_read(&s, 3) != tsr_pattern(1, 3));
	tsr_swizzled_write(&t, 3, 1);
	require_err(__tsr_unlock(dev.fd, s.bo.handle), -ENODEV);
	tsr_close(&dev);
	tsr_pci_bind();
	dev = tsr_open();
	require_eq(tsr_ranges_now().used, 0);
	ctx = tsr_context_new(&dev, 0);
	s = tsr_swizzled_small(&dev, ctx, 1);
	check_seen(&dev, &s, 1);
	tsr_close(&dev);
}

#define TURNS 40

struct peer {
	int shared_fd; /* dma-buf of an object that both processes have */
	uint32_t key;
};

static struct tsr_bo import_bo(struct tsr_device *dev, int fd, uint64_t size)
{
	struct drm_prime_handle args = { .fd = fd };
	struct tsr_bo bo = { .size = size };

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args));
	bo.handle = args.handle;
	tsr_bo_map(dev, &bo);
	return bo;
}

/* Uses as many objects as there are ranges, and a shared one. */
static void peer_run(void *arg)
{
	const struct peer *peer = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), num = dev.info.num_swizzle_ranges;
	struct tsr_bo shared = import_bo(&dev, peer->shared_fd, 256 * 32);
	struct tsr_swizzled s[TSR_MAX_RANGES];

	for (uint32_t i = 0; i < num; i++)
		s[i] = tsr_swizzled_small(&dev, ctx, peer->key + i);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t i = 0; i < num; i++) {
			uint64_t word = (turn * 131 + i) % (s[i].bo.size / 4);

			require_eq(tsr_swizzled_read(&s[i], word),
				   tsr_pattern(peer->key + i, word));
			tsr_swizzled_write(&s[i], word, tsr_pattern(peer->key + i, word));
		}
		((volatile uint32_t *)shared.map)[peer->key + turn] = peer->key + turn;
		if (turn % 8 == 7 && num)
			tsr_gpu_touch(&dev, ctx, &s[turn % num].bo);
	}
	for (uint32_t i = 0; i < num; i++)
		tsr_swizzled_gpu_check(&dev, ctx, &s[i], peer->key + i);
	tsr_close(&dev);
}

static void processes_share(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_swizzled s = tsr_swizzled_small(&dev, ctx, 1);
	struct drm_prime_handle prime = { .handle = s.bo.handle, .flags = DRM_RDWR };
	struct peer peers[2];
	pid_t pids[2];

	require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	for (uint32_t i = 0; i < 2; i++) {
		peers[i] = (struct peer){ .shared_fd = prime.fd, .key = 100 + 100 * i };
		pids[i] = tap_fork(peer_run, &peers[i]);
	}
	for (uint32_t i = 0; i < 2; i++)
		tap_join(pids[i]);
	for (uint32_t i = 0; i < 2 * TURNS; i++) {
		uint32_t word = peers[i % 2].key + i / 2;

		require_eq(tsr_swizzled_read(&s, word), word);
	}
	close(prime.fd);
	tsr_close(&dev);
}

/* ---- a storm --------------------------------------------------------- */

#define THREADS 4

struct storm {
	struct tsr_swizzled s;
	uint32_t key;
	volatile bool *stop;
	uint64_t rounds;
};

static void *storm_run(void *arg)
{
	struct storm *storm = arg;
	uint64_t words = storm->s.bo.size / 4, state = storm->key;

	while (!*storm->stop) {
		uint64_t i = tap_random(&state) % words;

		require_eq(tsr_swizzled_read(&storm->s, i), tsr_pattern(storm->key, i));
		tsr_swizzled_write(&storm->s, i, tsr_pattern(storm->key, i));
		__atomic_add_fetch(&storm->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static uint64_t storm_rounds(struct storm *storm)
{
	return __atomic_load_n(&storm->rounds, __ATOMIC_RELAXED);
}

/* Threads use their pointers while objects move and jobs read them. */
static void kept_pointers_in_a_storm(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), set = tsr_bit(tsr_seg_visible(&dev));
	struct storm storms[THREADS];
	pthread_t threads[THREADS];
	volatile bool stop = false;

	for (uint32_t i = 0; i < THREADS; i++) {
		storms[i] = (struct storm){ .key = i + 1, .stop = &stop };
		storms[i].s = tsr_swizzled_small(&dev, ctx, i + 1);
		require(!pthread_create(&threads[i], NULL, storm_run, &storms[i]));
	}
	for (uint32_t round = 0; round < (tap_slow() ? 5u : 20u); round++) {
		uint64_t before = storm_rounds(&storms[round % THREADS]);

		tsr_evict_set(set);
		for (uint32_t i = 0; i < THREADS; i++)
			tsr_swizzled_gpu_check(&dev, ctx, &storms[i].s, storms[i].key);
		while (storm_rounds(&storms[round % THREADS]) == before)
			sched_yield();
	}
	stop = true;
	for (uint32_t i = 0; i < THREADS; i++) {
		require(!pthread_join(threads[i], NULL));
		tsr_pattern_check(&storms[i].s.bo, storms[i].key);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SWZ-6 SWZ-7 SWZ-8 SWZ-9 SWZ-11 SWZ-12 SWZ-15 SWZ-26 seen linear", seen_linear, 0, 0 },
	{ "SWZ-6 SWZ-13 a debugger and a child see it", others_see_it, 0, 0 },
	{ "SWZ-32 CPU and GPU write neighbouring words in turn", in_turns, 0, 0 },
	{ "SWZ-7 SWZ-26 SWZ-30 ranges go round", ranges_go_round, 0, 0 },
	{ "SWZ-9 SWZ-30 ERR-23 locks keep ranges", locks_keep_ranges, 0, 0 },
	{ "LOCK-28 ERR-24 no range and no eviction", no_range_no_eviction, 0, 0 },
	{ "SWZ-33 ERR-25 MODEL-12 no range for an object of a VM", none_in_a_vm, 0, 0 },
	{ "SWZ-27 without the flag, no range and raw bytes", without_the_flag, 0, 0 },
	{ "SWZ-27 SWZ-32 raw bytes and linear ones", raw_and_linear, 0, 0 },
	{ "SWZ-27 one kind of lock at a time", one_kind_at_a_time, 0, 0 },
	{ "SWZ-26 locks of one process leave ranges for others", ranges_left_for_others, 0, 0 },
	{ "SWZ-29 parts have ranges of their own", parts_have_their_own, 0, 0 },
	{ "SWZ-9 SWZ-29 parts are locked together", parts_are_locked_together, 0, 0 },
	{ "SWZ-9 SWZ-14 no access goes round for ever", no_access_goes_round_for_ever, 0, 0 },
	{ "SWZ-11 SWZ-13 SWZ-30 pointers follow moves", pointers_follow_moves, 0, 0 },
	{ "SWZ-31 ranges come and go during a job", during_a_job, 0, 0 },
	{ "SWZ-30 nothing is left over a suspend", over_a_suspend, 0, 0 },
	{ "SWZ-30 nothing is left over an unbind", over_an_unbind, 0, 0 },
	{ "SWZ-26 two processes share ranges", processes_share, 0, 0 },
	{ "SWZ-13 SWZ-14 kept pointers in a storm", kept_pointers_in_a_storm, 0, 0 },
};

TSR_TEST_MAIN(tests)
