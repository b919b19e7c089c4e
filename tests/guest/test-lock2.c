// SPDX-License-Identifier: MIT
/*
 * Lock2 and Unlock2: a CPU address for each kind of object in each placement.
 * The calls must not wait, and the address must show the object's bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"
#include "held.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

#define BYTES KiB(64)
#define WORDS (BYTES / 4)

/* Return the hidden segment, or NULL if the CPU sees all memory. */
static const struct drm_tessera_query_segment *hidden(struct tsr_device *dev)
{
	const uint32_t seen = DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_CPU_VISIBLE;

	for (uint32_t i = 0; i < dev->num_segs; i++)
		if (!(dev->segs[i].flags & seen))
			return &dev->segs[i];
	return NULL;
}

static struct tsr_bo prefers(struct tsr_device *dev, const struct drm_tessera_query_segment *home,
			     uint32_t more, uint32_t flags)
{
	return tsr_bo_prefers(dev, BYTES, home, more, flags);
}

static void lock2(struct tsr_device *dev, struct tsr_bo *bo)
{
	uint64_t offset;

	require_ok(__tsr_lock2(dev->fd, bo->handle, 0, &offset));
	require(offset);
	if (!bo->map)
		bo->map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd, offset);
	require(bo->map != MAP_FAILED);
}

static void unlock2(struct tsr_device *dev, const struct tsr_bo *bo)
{
	require_ok(__tsr_unlock2(dev->fd, bo->handle));
}

/* ---- the matrix ---------------------------------------------------------- */

enum home {
	VISIBLE,
	HIDDEN,
	GART
};

/*
 * A row of the table in Documentation/uapi.rst: an object, its placement, and
 * the effect of Lock2 on it.
 */
static const struct row {
	const char *name;
	uint32_t flags;
	enum home home;
	bool aperture; /* also supports an aperture */
	bool resident; /* is in its home segment when it is locked */
	int err;
	enum {
		STAYS,
		LEAVES,
		MAY_LEAVE
	} place;
} rows[] = {
	{ "cached, aperture", cached, GART, true, true, 0, STAYS },
	{ "cached, nowhere", cached, GART, true, false, 0, STAYS },
	{ "cached, nowhere, memory only", cached, VISIBLE, false, false, 0, STAYS },
	{ "cached, memory", cached, VISIBLE, true, true, 0, LEAVES },
	{ "cached, hidden memory", cached, HIDDEN, true, true, 0, LEAVES },
	{ "cached, memory only", cached, VISIBLE, false, true, -EOPNOTSUPP, STAYS },
	{ "visible memory", cpu, VISIBLE, false, true, 0, STAYS },
	{ "visible memory, aperture in set", cpu, VISIBLE, true, true, 0, STAYS },
	{ "hidden memory", cpu, HIDDEN, true, true, 0, MAY_LEAVE },
	{ "aperture", cpu, GART, true, true, 0, STAYS },
	{ "nowhere", cpu, VISIBLE, false, false, 0, STAYS },
	{ "no access, aperture", 0, GART, true, true, 0, STAYS },
	{ "no access, nowhere", 0, GART, true, false, 0, STAYS },
	{ "no access, nowhere, memory only", 0, HIDDEN, false, false, 0, STAYS },
	{ "no access, memory", 0, VISIBLE, true, true, 0, LEAVES },
	{ "no access, hidden memory", 0, HIDDEN, true, true, 0, LEAVES },
	{ "no access, memory only", 0, VISIBLE, false, true, -EOPNOTSUPP, STAYS },
};

static void matrix_row(struct tsr_device *dev, uint32_t ctx, const struct row *row)
{
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(dev);
	const struct drm_tessera_query_segment *home = gart, *hid = hidden(dev);
	uint32_t value = row->resident ? 0x12340000 + (uint32_t)(row - rows) : 0;
	bool leaves = row->place == LEAVES;
	struct tsr_trace trace;
	struct tsr_bo bo;

	if (row->home == VISIBLE)
		home = tsr_seg_visible(dev);
	else if (row->home == HIDDEN && hid)
		home = hid;
	else if (row->home == HIDDEN)
		return;
	/*
	 * LOCK-19: without a host aperture the object moves to where the CPU
	 * sees it.
	 */
	if (row->place == MAY_LEAVE)
		leaves = !dev->info.host_aperture_bytes;
	tap_note("%s", row->name);
	bo = prefers(dev, home, row->aperture ? tsr_bit(gart) : 0, row->flags);
	if (row->resident) {
		tsr_gpu_fill(dev, ctx, &bo, value);
		require_eq(tsr_bo_info(dev, &bo).segment, home->id);
	}
	tsr_trace_start("evict", "cpu_fault", "lock2", "swizzle_acquire", NULL);
	if (row->err) {
		require_err(__tsr_lock2(dev->fd, bo.handle, 0, NULL), row->err);
		require_err(__tsr_unlock2(dev->fd, bo.handle), -EINVAL);
		require_ok(__tsr_submit_use(dev, ctx, &bo, true));
	} else {
		lock2(dev, &bo);
		if (leaves)
			require(tsr_bo_info(dev, &bo).segment != home->id);
		else
			require_eq(tsr_bo_info(dev, &bo).segment, row->resident ? home->id : 0);
		tsr_words_check(bo.map, WORDS, value);
		tsr_pattern_write(&bo, 9);
		tsr_pattern_check(&bo, 9);
		unlock2(dev, &bo);
	}
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "lock2"), !row->err);
	require_eq(tsr_trace_count(&trace, "evict"), leaves);
	require_eq(tsr_trace_count(&trace, "swizzle_acquire"), 0);
	if (row->flags != cpu)
		require(!tsr_trace_faulted(&trace, "bar") &&
			!tsr_trace_faulted(&trace, "host-aperture"));
	tsr_trace_free(&trace);
	/* The GPU reads what the CPU has written. */
	if (!row->err) {
		uint32_t word;

		tsr_gpu_read(dev, ctx, &bo, 4321, 1, &word);
		require_eq(word, tsr_pattern(9, 4321));
	}
	tsr_bo_free(dev, &bo);
}

static void matrix(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		matrix_row(&dev, ctx, &rows[i]);
	tsr_close(&dev);
}

/*
 * Fill a CPU-visible segment and lock all its objects: no call fails, and
 * nothing moves.
 */
static void lock_all_of(struct tsr_device *dev, uint32_t ctx,
			const struct drm_tessera_query_segment *seg)
{
	uint32_t num = (uint32_t)(seg->size / MiB(1));
	struct tsr_bo *bos = calloc(num, sizeof(*bos));
	struct tsr_trace trace;

	require(bos);
	for (uint32_t i = 0; i < num; i++) {
		bos[i] = tsr_bo_new(dev, MiB(1), tsr_bit(seg), cpu);
		tsr_gpu_fill(dev, ctx, &bos[i], seg->id << 16 | i);
	}
	tsr_trace_start("evict", "place", "cpu_fault", NULL);
	for (uint32_t i = 0; i < num; i++) {
		require_eq(tsr_bo_info(dev, &bos[i]).segment, seg->id);
		lock2(dev, &bos[i]);
	}
	for (uint32_t i = 0; i < num; i++)
		tsr_words_check(bos[i].map, MiB(1) / 4, seg->id << 16 | i);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	require_eq(tsr_trace_count(&trace, "place"), 0);
	tsr_trace_for_each(&trace, "cpu_fault", ev)
		require(tsr_event_is(ev, "backing", "bar"));
	require(tsr_trace_count(&trace, "cpu_fault") >= num);
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < num; i++)
		tsr_bo_free(dev, &bos[i]);
	free(bos);
}

static void visible_memory_always(void)
{
	const uint32_t mask = DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_CPU_VISIBLE;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), seen = 0;

	for (uint32_t i = 0; i < dev.num_segs; i++) {
		if ((dev.segs[i].flags & mask) == DRM_TESSERA_SEGMENT_CPU_VISIBLE) {
			lock_all_of(&dev, ctx, &dev.segs[i]);
			seen++;
		}
	}
	require_eq(seen, tsr_device_has("resizable-bar=on") ? 2 : 1);
	tsr_close(&dev);
}

/* ---- no wait, no tracking ------------------------------------------------ */

/*
 * Lock2 never waits, even if the object has to move. The move waits for the
 * job, and a CPU access waits for the move.
 */
static void never_waits(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bos[] = {
		prefers(&dev, tsr_seg_gart(&dev), 0, cpu),
		prefers(&dev, tsr_seg_visible(&dev), 0, cpu),
		prefers(&dev, tsr_seg_visible(&dev), gart, cached),
		prefers(&dev, tsr_seg_visible(&dev), gart, 0),
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_held_fill(&held, &bos[i], WORDS, 0x70 + i);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		lock2(&dev, &bos[i]);
	require(tsr_held_waits(&held));
	/* LOCK-4: the CPU can access the object while the job is pending. */
	((volatile uint32_t *)bos[0].map)[0] = 1;
	require_eq(((volatile uint32_t *)bos[0].map)[1], 0);
	require(tsr_held_waits(&held));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_ok(__tsr_unlock2(dev.fd, bos[i].handle));
	require(tsr_held_waits(&held));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		lock2(&dev, &bos[i]);
	tsr_held_go(&held);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_words_check(bos[i].map, WORDS, 0x70 + i);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* Locked once after creation: the CPU pointer stays valid through moves. */
static void locked_for_life(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *homes[] = { tsr_seg_gart(&dev),
							    tsr_seg_visible(&dev), hidden(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bos[2 * ARRAY_SIZE(homes)];
	uint32_t num = 0, rounds = tap_slow() && !tap_long() ? 12 : 40, all = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(homes); i++) {
		if (!homes[i])
			continue;
		all |= tsr_bit(homes[i]);
		bos[num++] = prefers(&dev, homes[i], gart, cpu);
		bos[num++] = prefers(&dev, homes[i], gart, cached);
	}
	for (uint32_t i = 0; i < num; i++)
		lock2(&dev, &bos[i]);
	for (uint32_t round = 1; round <= rounds; round++) {
		for (uint32_t i = 0; i < num; i++) {
			tsr_gpu_fill(&dev, ctx, &bos[i], round << 8 | i);
			if (round % 3 == 0)
				tsr_evict_set(all);
			tsr_words_check(bos[i].map, WORDS, round << 8 | i);
			((uint32_t *)bos[i].map)[round] = ~round;
			tsr_gpu_copy(&dev, ctx, &bos[(i + 1) % num], &bos[i]);
			require_eq(((uint32_t *)bos[(i + 1) % num].map)[round], ~round);
		}
	}
	tsr_close(&dev);
}

/* ---- swizzled objects ---------------------------------------------------- */

static void no_swizzling_range(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_surface rows_of = tsr_surface_rows(DRM_TESSERA_LAYOUT_TILE4K, 256, 256);
	struct tsr_bo bo = tsr_bo_new_rows(&dev, &rows_of, vis, cpu);
	uint32_t handle = bo.handle, swizzled = 0;
	char *before, *after;
	struct tsr_trace trace;

	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 3);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_visible(&dev)->id);
	before = tsr_debugfs_read("swizzle_ranges");
	tsr_trace_start("swizzle_acquire", "evict", NULL);
	lock2(&dev, &bo);
	for (uint32_t i = 0; i < bo.size / 4; i++)
		swizzled += ((uint32_t *)bo.map)[i] != tsr_pattern(3, i);
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);
	after = tsr_debugfs_read("swizzle_ranges");
	require(!strcmp(before, after));
	/* In video memory the CPU sees the swizzled bytes. */
	require(swizzled);
	require_err(__tsr_lock(dev.fd, &handle, DRM_TESSERA_LOCK_ACQUIRE_RANGE), -EBUSY);
	/* In system memory the object is linear. */
	tsr_evict_set(vis);
	tsr_pattern_check(&bo, 3);
	unlock2(&dev, &bo);
	require_ok(__tsr_lock(dev.fd, &handle, DRM_TESSERA_LOCK_ACQUIRE_RANGE));
	require_err(__tsr_lock2(dev.fd, handle, 0, NULL), -EBUSY);
	free(before);
	free(after);
	tsr_close(&dev);
}

/* ---- refused calls ------------------------------------------------------- */

static void bad_input(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, BYTES, tsr_bit(tsr_seg_gart(&dev)), cpu);
	struct drm_tessera_unlock2 unlock = { .handle = bo.handle, .pad = 1 };

	for (uint32_t bit = 0; bit < 32; bit++)
		require_err(__tsr_lock2(dev.fd, bo.handle, 1u << bit, NULL), -EINVAL);
	require_err(__tsr_lock2(dev.fd, 4711, 0, NULL), -ENOENT);
	require_err(__tsr_lock2(dev.fd, 0, 0, NULL), -ENOENT);
	require_err(__tsr_unlock2(dev.fd, 4711), -ENOENT);
	require_err(__tsr_unlock2(dev.fd, bo.handle), -EINVAL);

	/* Unlock and Unlock2 release only their own kind of lock. */
	tsr_lock(&dev, &bo, 0);
	require_err(__tsr_unlock2(dev.fd, bo.handle), -EINVAL);
	require_ok(__tsr_lock2(dev.fd, bo.handle, 0, NULL));
	require_ok(__tsr_lock2(dev.fd, bo.handle, 0, NULL));
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_UNLOCK2, &unlock), -EINVAL);
	tsr_unlock(&dev, &bo);
	require_err(__tsr_unlock(dev.fd, bo.handle), -EINVAL);
	unlock2(&dev, &bo);
	unlock2(&dev, &bo);
	require_err(__tsr_unlock2(dev.fd, bo.handle), -EINVAL);
	tsr_close(&dev);
}

static void stays_out_of_memory(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t flags[] = { cpu, cached, 0 };

	/* LOCK-22: the object supports this segment only. */
	for (uint32_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct tsr_bo bo = prefers(&dev, vis, 0, flags[i]);

		lock2(&dev, &bo);
		lock2(&dev, &bo);
		tsr_pattern_write(&bo, i);
		require_err(__tsr_submit_use(&dev, ctx, &bo, true), -EBUSY);
		unlock2(&dev, &bo);
		require_err(__tsr_submit_use(&dev, ctx, &bo, false), -EBUSY);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		unlock2(&dev, &bo);
		require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
		require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
		tsr_bo_free(&dev, &bo);
	}
	/*
	 * LOCK-15: the object also supports the aperture, and jobs use it
	 * there.
	 */
	for (uint32_t i = 1; i < ARRAY_SIZE(flags); i++) {
		struct tsr_bo bo = prefers(&dev, vis, gart, flags[i]);

		lock2(&dev, &bo);
		tsr_gpu_fill(&dev, ctx, &bo, 0x33);
		require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
		tsr_evict_set(gart);
		tsr_words_check(bo.map, WORDS, 0x33);
		unlock2(&dev, &bo);
		tsr_gpu_touch(&dev, ctx, &bo);
		require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
		tsr_evict_set(tsr_bit(vis));
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/*
 * Jobs of other files page the object in where they need it, although the lock
 * shows it in system pages.
 */
static void others_go_on(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	uint32_t flags[] = { cpu, cached, 0 }, ctx = tsr_context_new(&dev, 0);
	uint32_t ro = tsr_bit(tsr_seg_ro(&dev)), ctx_other = tsr_context_new(&other, 0);

	for (uint32_t i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		struct tsr_bo bo =
			prefers(&dev, tsr_seg_visible(&dev), i % 2 ? ro : 0, flags[i / 2]);
		struct tsr_bo theirs = { .size = bo.size };
		int dmabuf = tsr_export(&dev, &bo);

		require_ok(__tsr_import(other.fd, dmabuf, &theirs.handle));
		close(dmabuf);
		lock2(&dev, &bo);
		tsr_pattern_write(&bo, i);
		require_msg(__tsr_submit_use(&other, ctx_other, &theirs, true) == 0,
			    "expected another client's job to run, a lock keeps it from an object "
			    "with flags 0x%x",
			    flags[i / 2]);
		require_eq(tsr_bo_info(&other, &theirs).segment, tsr_seg_visible(&dev)->id);
		tsr_pattern_check(&bo, i);
		tsr_gpu_fill(&other, ctx_other, &theirs, 0x44 + i);
		tsr_words_check(bo.map, WORDS, 0x44 + i);
		unlock2(&dev, &bo);
		require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
		tsr_bo_free(&dev, &bo);
		require_ok(__tsr_bo_close(other.fd, theirs.handle));
	}
	tsr_close(&other);
	tsr_close(&dev);
}

/* A read-only aperture is no placement for a job that writes. */
static void read_only_aperture(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), ro = tsr_bit(tsr_seg_ro(&dev));
	struct tsr_bo bo = prefers(&dev, tsr_seg_visible(&dev), ro, cached);

	lock2(&dev, &bo);
	tsr_pattern_write(&bo, 5);
	require_ok(__tsr_submit_use(&dev, ctx, &bo, false));
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_ro(&dev)->id);
	require_err(__tsr_submit_use(&dev, ctx, &bo, true), -EBUSY);
	unlock2(&dev, &bo);
	require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_visible(&dev)->id);
	tsr_pattern_check(&bo, 5);
	tsr_close(&dev);
}

/* An object without CPU access can be accessed while any file has it locked. */
static void view_ends_with_the_lock(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_bo bo = prefers(&dev, tsr_seg_gart(&dev), 0, 0);
	struct drm_prime_handle prime = { .handle = bo.handle, .flags = DRM_CLOEXEC };
	uint32_t word = 7;
	uint64_t offset;

	lock2(&dev, &bo);
	tsr_pattern_write(&bo, 1);
	unlock2(&dev, &bo);
	require(tsr_raises_sigbus(bo.map));
	require(tsr_proc_mem_read(bo.map, &word, 4) < 0);
	require(tsr_proc_mem_write(bo.map, &word, 4) < 0);

	/* The other file's lock ends when that file is closed. */
	require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	require_ok(tsr_ioctl(other.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);
	require_ok(__tsr_lock2(other.fd, prime.handle, 0, &offset));
	tsr_pattern_check(&bo, 1);
	require_err(__tsr_unlock2(dev.fd, bo.handle), -EINVAL);
	tsr_close(&other);
	require(tsr_raises_sigbus(bo.map));
	require(mmap(NULL, bo.size, PROT_READ, MAP_SHARED, dev.fd, offset) == MAP_FAILED);
	lock2(&dev, &bo);
	tsr_pattern_check(&bo, 1);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "LOCK-14 LOCK-15 LOCK-17 LOCK-19 LOCK-20 LOCK-21 ERR-27 ERR-34 matrix", matrix, 0, 0 },
	{ "LOCK-16 visible memory, always", visible_memory_always, 0, 0 },
	{ "LOCK-1 LOCK-2 MODEL-9 never waits", never_waits, 0, 0 },
	{ "LOCK-11 locked for life", locked_for_life, 0, 0 },
	{ "LOCK-13 no swizzling range", no_swizzling_range, 0, 0 },
	{ "LOCK-12 LOCK-23 ERR-31 MODEL-10 bad input", bad_input, 0, 0 },
	{ "LOCK-15 LOCK-22 stays out of memory while locked", stays_out_of_memory, 0, 0 },
	{ "LOCK-22 a read-only aperture is no placement for a writer", read_only_aperture, 0, 0 },
	{ "LOCK-22 jobs of other files page the object in", others_go_on, 0, 0 },
	{ "LOCK-21 the view ends with the lock", view_ends_with_the_lock, 0, 0 },
};

TSR_TEST_MAIN(tests)
