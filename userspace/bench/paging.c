// SPDX-License-Identifier: MIT
/* Moves between video memory and system memory. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOT 0

/* ---- evict, page_in: time that a program waits --------------------------- */

#define MOVE_BYTES (128 * MIB)
/*
 * A sample is the median of this many consecutive rounds. The host's memcpy
 * reference also takes this many. Its copies evict all data and translated code
 * of the bench from the CPU caches, so a single round would be slow.
 */
#define ROUNDS 9

void touch_by_gpu(struct tessera_bo *bo, uint32_t value)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();

	(void)tessera_cmdbuf_bind(bench.cb, SLOT, bo, &view);
	(void)tessera_cmdbuf_fill(bench.cb, SLOT, &one, value);
	run_cb("touch");
}

/*
 * @back: seconds until a job has the object in video memory. @away: seconds
 * until the CPU reads it in system memory.
 */
static void move_round(struct tessera_bo *bo, const volatile uint32_t *map, uint32_t value,
		       double *away, double *back)
{
	double start = now(), middle;
	uint32_t seen;

	touch_by_gpu(bo, value);
	middle = now();
	seen = *map;
	*away = now() - middle;
	*back = middle - start;
	if (seen != value)
		die("evict: wrong contents", -EIO);
}

/*
 * The object is in memory that the CPU cannot see, on a device without host
 * aperture. A job that writes one word pages it in. A CPU read of one word
 * evicts it. Each time the whole object moves, because it was written.
 */
static void bench_moves_as(struct row *out, struct row *in)
{
	struct tessera_bo *bo;
	volatile uint32_t *map;
	double away, back;

	bo = bo_in("vram-hidden-from-cpu,gart", MOVE_BYTES,
		   DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	must("map", tessera_bo_map(bo, (void **)&map));
	/* The first round allocates and clears memory and is not counted. */
	move_round(bo, map, 999, &away, &back);
	for (int i = 0; i < bench.runs; i++) {
		double reference = ask_memcpy(MOVE_BYTES), aways[ROUNDS], backs[ROUNDS];

		for (int j = 0; j < ROUNDS; j++)
			move_round(bo, map, 1000 + i * ROUNDS + j, &aways[j], &backs[j]);
		if (in)
			sample(in, MOVE_BYTES / median(backs, ROUNDS), reference);
		sample(out, MOVE_BYTES / median(aways, ROUNDS), reference);
	}
	print_row(out);
	if (in)
		print_row(in);
	(void)tessera_bo_unmap(bo);
	tessera_bo_del(bo);
}

void bench_moves(void)
{
	struct row in = { "page_in", "B/s", "higher", .goal = 0.85 };
	struct row out = { "evict", "B/s", "higher", .goal = 0.85 };
	struct row kept = { "evict_copy_kept", "B/s", "higher", .goal = 0.7 };

	/*
	 * keep_system_copy decides whether the system pages stay allocated
	 * while the object is in video memory. Without the knob they always do.
	 */
	if (!set_knob("keep_system_copy", "0")) {
		bench_moves_as(&kept, &in);
		return;
	}
	bench_moves_as(&out, &in);
	(void)set_knob("keep_system_copy", "1");
	bench_moves_as(&kept, NULL);
}

/* ---- oversubscribed_10x -------------------------------------------------- */

#define OVER_OBJECTS 80

#define TRACING "/sys/kernel/tracing/"

static void trace_write(const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path, -errno);
	close(fd);
}

void trace_begin(void)
{
	trace_write("events/tessera/tessera_paging_op/enable", "1");
}

void trace_empty(void)
{
	trace_write("trace", "\n");
}

void trace_end(void)
{
	trace_write("events/tessera/tessera_paging_op/enable", "0");
}

static uint64_t traced_bytes_with(const char *word)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];
	uint64_t bytes = 0, size;

	if (!f)
		die(TRACING "trace", -errno);
	while (fgets(line, sizeof(line), f)) {
		const char *op = strstr(line, "tessera_paging_op: kind=transfer");
		const char *field = op && strstr(op, word) ? strstr(op, " size=") : NULL;

		if (field && sscanf(field, " size=%" SCNu64, &size) == 1)
			bytes += size;
	}
	fclose(f);
	return bytes;
}

uint64_t traced_bytes(void)
{
	return traced_bytes_with("");
}

uint64_t traced_bytes_out(void)
{
	return traced_bytes_with(" dst=0:");
}

static void record_round(struct tessera_bo **bos, uint32_t value)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();

	for (int i = 0; i < OVER_OBJECTS; i++) {
		(void)tessera_cmdbuf_bind(bench.cb, SLOT, bos[i], &view);
		(void)tessera_cmdbuf_fill(bench.cb, SLOT, &one, value + i);
	}
}

/*
 * One submission with objects of ten times the segment's size, each of them
 * written. The reference is the bandwidth of the paging engine for large single
 * moves in both directions, measured alternately.
 */
void bench_oversubscribed(void)
{
	struct row row = { "oversubscribed_10x", "B/s", "higher", .goal = 1.2 };
	struct tessera_bo *bos[OVER_OBJECTS], *single;
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	uint64_t each;
	volatile uint32_t *map;

	if (!seg)
		return;
	each = seg->size * 10 / OVER_OBJECTS / 4096 * 4096;
	for (int i = 0; i < OVER_OBJECTS; i++)
		bos[i] = bo_in("vram", each, 0);
	single = bo_in("vram-hidden-from-cpu,gart", MOVE_BYTES,
		       DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	must("map", tessera_bo_map(single, (void **)&map));
	touch_by_gpu(single, 1);
	(void)*map;
	record_round(bos, 0);
	run_cb("oversubscribed");
	trace_begin();
	for (int i = 0; i < bench.runs; i++) {
		double start, seconds, single_seconds;

		start = now();
		touch_by_gpu(single, i);
		(void)*map;
		single_seconds = now() - start;
		record_round(bos, i * 100);
		trace_empty();
		start = now();
		run_cb("oversubscribed");
		seconds = now() - start;
		sample(&row, traced_bytes() / seconds, 2 * MOVE_BYTES / single_seconds);
	}
	trace_end();
	print_row(&row);
	(void)tessera_bo_unmap(single);
	tessera_bo_del(single);
	for (int i = 0; i < OVER_OBJECTS; i++)
		tessera_bo_del(bos[i]);
}

/* ---- many_objects -------------------------------------------------------- */

#define PAGE 4096
#define FEW_OBJECTS 1024
#define MANY_OBJECTS 65536
#define BATCH 512 /* objects per submission */

/* Fill a segment with objects of one page each, all written. */
static struct tessera_bo **fill_segment(const char *name, uint32_t count)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_bo **bos = calloc(count, sizeof(struct tessera_bo *));

	if (!bos)
		die("objects", -ENOMEM);
	for (uint32_t i = 0; i < count; i++) {
		bos[i] = bo_in(name, PAGE, 0);
		(void)tessera_cmdbuf_bind(bench.cb, SLOT, bos[i], &view);
		(void)tessera_cmdbuf_fill(bench.cb, SLOT, &one, i);
		if (i % BATCH == BATCH - 1)
			run_cb("fill");
	}
	return bos;
}

/*
 * Seconds per evicted object, when one large object needs half of the segment.
 */
static double make_space_seconds(const char *name, uint32_t count)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, name);
	struct tessera_bo **bos, *large;
	double start;

	if (!seg || seg->size != (uint64_t)count * PAGE)
		die(name, -EINVAL);
	bos = fill_segment(name, count);
	large = bo_in(name, seg->size / 2, 0);
	start = now();
	touch_by_gpu(large, 1);
	start = now() - start;
	tessera_bo_del(large);
	for (uint32_t i = 0; i < count; i++)
		tessera_bo_del(bos[i]);
	free(bos);
	return start / (count / 2);
}

/* The device has one segment of each size. */
void bench_many_objects(void)
{
	struct row row = { "many_objects", "s", "lower", .goal = 2 };

	tessera_cmdbuf_set_rebind(bench.cb, UINT64_MAX);
	for (int i = 0; i < 3; i++) {
		double few = make_space_seconds("vram", FEW_OBJECTS);

		sample(&row, make_space_seconds("vram-hidden-from-cpu", MANY_OBJECTS), few);
	}
	tessera_cmdbuf_set_rebind(bench.cb, 0);
	print_row(&row);
}

/* ---- evict_many_blocks --------------------------------------------------- */

#define FEW_BLOCKS 64
#define EVICTIONS 48

static const char *const held_name = "vram-hidden-from-cpu";
static uint32_t held_count;

/*
 * Fill the segment with small objects, used first, and one object of the
 * remaining size.
 */
static void hold_segment(struct client_state *state)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, held_name);
	struct tessera_bo *rest;

	if (!seg)
		die(held_name, -EINVAL);
	tessera_cmdbuf_set_rebind(bench.cb, UINT64_MAX);
	(void)fill_segment(held_name, held_count);
	if (held_count % BATCH)
		run_cb("fill");
	rest = bo_in(held_name, seg->size - (uint64_t)held_count * PAGE, 0);
	touch_by_gpu(rest, 1);
	state->ready = true;
	for (;;)
		pause();
}

/*
 * Seconds for a job with an object that replaces a small one of another
 * process.
 */
static double eviction_seconds(uint32_t count)
{
	double seconds[EVICTIONS];
	struct client holder;
	struct tessera_bo *bos[EVICTIONS];

	held_count = count;
	client_start(&holder, hold_segment);
	client_wait_ready(&holder);
	for (int i = 0; i < EVICTIONS; i++) {
		double start;

		bos[i] = bo_in(held_name, PAGE, 0);
		start = now();
		touch_by_gpu(bos[i], 1);
		seconds[i] = now() - start;
	}
	client_kill(&holder);
	for (int i = 0; i < EVICTIONS; i++)
		tessera_bo_del(bos[i]);
	return median(seconds, EVICTIONS);
}

void bench_evict_many_blocks(void)
{
	struct row row = { "evict_many_blocks", "s", "lower", .goal = 3 };

	for (int i = 0; i < 3; i++) {
		double few = eviction_seconds(FEW_BLOCKS);

		sample(&row, eviction_seconds(MANY_OBJECTS), few);
	}
	print_row(&row);
}
