// SPDX-License-Identifier: MIT
/*
 * tessera-bench: rows of the benchmark that need the device. Run by
 * scripts/bench.sh, which answers its questions on standard input:
 *
 *   REF memcpy BYTES     -> bytes per second of one copy on the host, right now
 *   ROW {json}           a finished row: all samples and their references
 *
 * Value and reference are taken in turn, so that a machine that gets slower slows both.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tessera.h"

#define MIB (UINT64_C(1) << 20)
#define MAX_SAMPLES 32

static struct {
	struct tessera_device *dev;
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	int runs;
} bench;

struct row {
	const char *name, *unit, *better;
	double goal;
	double values[MAX_SAMPLES], references[MAX_SAMPLES];
	int count;
};

static void die(const char *what, int error)
{
	fprintf(stderr, "tessera-bench: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void must(const char *what, int ret)
{
	if (ret < 0)
		die(what, ret);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double ask_memcpy(uint64_t bytes)
{
	char line[64];

	printf("REF memcpy %" PRIu64 "\n", bytes);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || atof(line) <= 0) {
		fprintf(stderr, "tessera-bench: no answer; run me through scripts/bench.sh\n");
		exit(1);
	}
	return atof(line);
}

static void sample(struct row *row, double value, double reference)
{
	if (row->count == MAX_SAMPLES)
		return;
	row->values[row->count] = value;
	row->references[row->count++] = reference;
}

static void print_row(const struct row *row)
{
	printf("ROW {\"name\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\", \"goal\": %g",
	       row->name, row->unit, row->better, row->goal);
	for (int pass = 0; pass < 2; pass++) {
		const double *v = pass ? row->references : row->values;

		printf(", \"%s\": [", pass ? "references" : "values");
		for (int i = 0; i < row->count; i++)
			printf("%s%.6g", i ? ", " : "", v[i]);
		printf("]");
	}
	printf("}\n");
	fflush(stdout);
}

static void run_cb(const char *what)
{
	must(what, tessera_context_run(bench.ctx, bench.cb));
	tessera_cmdbuf_reset(bench.cb);
}

static struct tessera_bo *bo_in(const char *segments, uint64_t size, uint32_t flags)
{
	struct tessera_bo_desc desc = { .size = size, .flags = flags };
	struct tessera_bo *bo;

	must(segments, tessera_bo_desc_segments(bench.dev, &desc, segments));
	must("object", tessera_bo_new(bench.dev, &desc, &bo));
	return bo;
}

static struct tessera_view buffer_view(void)
{
	struct tessera_view view;

	tessera_view_init_buffer(&view);
	view.access = TSR_SURF_READ | TSR_SURF_WRITE;
	return view;
}

/* Name of the largest memory segment. */
static const char *large_segment(uint64_t *size)
{
	const struct drm_tessera_query_segment *segment;
	const char *name = NULL;

	*size = 0;
	for (uint32_t i = 0; (segment = tessera_device_segment_at(bench.dev, i)); i++) {
		if ((segment->flags & DRM_TESSERA_SEGMENT_APERTURE) || segment->size <= *size)
			continue;
		*size = segment->size;
		name = (const char *)segment->name;
	}
	return name;
}

/* ---- copy_linear, copy_swizzled: device clock around copies in video memory ---- */

#define COPIES 8
#define COPY_BYTES (16 * MIB)

enum {
	SLOT_A,
	SLOT_B,
	SLOT_TIME,
	SLOT_VERTICES
};

/* Seconds of the device's clock for COPIES copies, to and fro. */
static double copy_seconds(struct tessera_bo *a, const struct tessera_view *va,
			   struct tessera_bo *b, const struct tessera_view *vb,
			   const struct tessera_rect *rect, struct tessera_bo *times)
{
	struct tessera_view vt = buffer_view();
	uint64_t stamps[2];

	(void)tessera_cmdbuf_bind(bench.cb, SLOT_A, a, va);
	(void)tessera_cmdbuf_bind(bench.cb, SLOT_B, b, vb);
	(void)tessera_cmdbuf_bind(bench.cb, SLOT_TIME, times, &vt);
	(void)tessera_cmdbuf_timestamp(bench.cb, SLOT_TIME, 0);
	for (int i = 0; i < COPIES; i++)
		(void)tessera_cmdbuf_copy(bench.cb, i % 2 ? SLOT_A : SLOT_B, 0, 0,
					  i % 2 ? SLOT_B : SLOT_A, rect);
	(void)tessera_cmdbuf_timestamp(bench.cb, SLOT_TIME, 8);
	run_cb("copy");
	must("timestamps", tessera_bo_read(times, 0, stamps, sizeof(stamps)));
	if (stamps[1] <= stamps[0])
		die("timestamps", -EPROTO);
	return (stamps[1] - stamps[0]) / 1e9;
}

static void bench_copy(struct row *row, const struct tessera_view *va,
		       const struct tessera_view *vb, const struct tessera_rect *rect)
{
	uint64_t size;
	const char *segment = large_segment(&size);
	struct tessera_bo *a = bo_in(segment, COPY_BYTES, 0), *b = bo_in(segment, COPY_BYTES, 0);
	struct tessera_bo *times;

	must("timestamps",
	     tessera_bo_new_for(bench.dev, TESSERA_USAGE_STAGING, 4096, NULL, &times));
	copy_seconds(a, va, b, vb, rect, times); /* places and warms both */
	for (int i = 0; i < bench.runs; i++) {
		double reference = ask_memcpy(COPY_BYTES);
		double seconds = copy_seconds(a, va, b, vb, rect, times);

		sample(row, COPIES * COPY_BYTES / seconds, reference);
	}
	print_row(row);
	tessera_bo_del(a);
	tessera_bo_del(b);
	tessera_bo_del(times);
}

static void bench_copy_linear(void)
{
	struct row row = { "copy_linear", "B/s", "higher", .goal = 0.8 };
	const struct tessera_rect rect = { 0, 0, COPY_BYTES / 4, 1 };
	struct tessera_view view = buffer_view();

	bench_copy(&row, &view, &view, &rect);
}

static void bench_copy_swizzled(void)
{
	struct row row = { "copy_swizzled", "B/s", "higher", .goal = 0.4 };
	const struct tessera_rect rect = { 0, 0, 2048, 2048 };
	struct tessera_view linear, morton;
	uint64_t size;

	/* The costlier of the two layouts, into it and out of it. */
	must("view",
	     tessera_view_init(&linear, TSR_FORMAT_ARGB8888, TSR_LAYOUT_LINEAR, 2048, 2048, &size));
	must("view",
	     tessera_view_init(&morton, TSR_FORMAT_ARGB8888, TSR_LAYOUT_MORTON, 2048, 2048, &size));
	bench_copy(&row, &linear, &morton, &rect);
}

/* ---- draw_textured: texels a second, filtered, one to one ---------------------------- */

#define DRAWS 4
#define DRAW_SIDE 2048

static struct tessera_bo *quad_vertices(void)
{
	static const uint8_t corners[6][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 },
					       { 1, 1 }, { 1, 0 }, { 0, 1 } };
	uint32_t words[6][TSR_VERTEX_BYTES / 4] = { 0 };
	struct tessera_bo *bo;

	for (int i = 0; i < 6; i++) {
		words[i][TSR_VERTEX_X / 4] = corners[i][0] * DRAW_SIDE << 8;
		words[i][TSR_VERTEX_Y / 4] = corners[i][1] * DRAW_SIDE << 8;
		words[i][TSR_VERTEX_U / 4] = corners[i][0] * DRAW_SIDE << 16;
		words[i][TSR_VERTEX_V / 4] = corners[i][1] * DRAW_SIDE << 16;
		words[i][TSR_VERTEX_COLOR / 4] = 0xffffffff;
	}
	must("vertices", tessera_bo_new_for(bench.dev, TESSERA_USAGE_STAGING, 4096, NULL, &bo));
	must("vertices", tessera_bo_write(bo, 0, words, sizeof(words)));
	return bo;
}

static double draw_seconds(struct tessera_bo *target, struct tessera_bo *texture,
			   struct tessera_bo *vertices, struct tessera_bo *times)
{
	const uint32_t state[TSR_STATE_COUNT] = {
		[TSR_STATE_TARGET_SLOT] = SLOT_A,
		[TSR_STATE_SCISSOR_MAX] = DRAW_SIDE | DRAW_SIDE << 16,
		[TSR_STATE_TEXTURE_SLOT] = SLOT_B,
		[TSR_STATE_SAMPLER] = TSR_SAMPLER_LINEAR,
		[TSR_STATE_BLEND] = TSR_BLEND_NONE,
		[TSR_STATE_COLOR] = 0xffffffff,
	};
	struct tessera_view tiled, vt = buffer_view();
	uint64_t stamps[2], size;

	must("view", tessera_view_init(&tiled, TSR_FORMAT_ARGB8888, TSR_LAYOUT_TILE4K, DRAW_SIDE,
				       DRAW_SIDE, &size));
	(void)tessera_cmdbuf_bind(bench.cb, SLOT_A, target, &tiled);
	(void)tessera_cmdbuf_bind(bench.cb, SLOT_B, texture, &tiled);
	(void)tessera_cmdbuf_bind(bench.cb, SLOT_TIME, times, &vt);
	(void)tessera_cmdbuf_bind(bench.cb, SLOT_VERTICES, vertices, &vt);
	for (uint32_t i = 0; i < TSR_STATE_COUNT; i++)
		(void)tessera_cmdbuf_state(bench.cb, i, state[i]);
	(void)tessera_cmdbuf_timestamp(bench.cb, SLOT_TIME, 0);
	for (int i = 0; i < DRAWS; i++)
		(void)tessera_cmdbuf_draw(bench.cb, SLOT_VERTICES, 0, 6, TSR_DRAW_TEXTURED);
	(void)tessera_cmdbuf_timestamp(bench.cb, SLOT_TIME, 8);
	run_cb("draw");
	must("timestamps", tessera_bo_read(times, 0, stamps, sizeof(stamps)));
	if (stamps[1] <= stamps[0])
		die("timestamps", -EPROTO);
	return (stamps[1] - stamps[0]) / 1e9;
}

/* The goal is three times what it was when texels were looked up one by one. */
static void bench_draw_textured(void)
{
	struct row row = { "draw_textured", "texel/s", "higher", .goal = 0.01 };
	const uint64_t texels = (uint64_t)DRAW_SIDE * DRAW_SIDE;
	uint64_t size;
	const char *segment = large_segment(&size);
	struct tessera_bo *target = bo_in(segment, texels * 4, 0);
	struct tessera_bo *texture = bo_in(segment, texels * 4, 0);
	struct tessera_bo *vertices = quad_vertices(), *times;

	must("timestamps",
	     tessera_bo_new_for(bench.dev, TESSERA_USAGE_STAGING, 4096, NULL, &times));
	draw_seconds(target, texture, vertices, times); /* places and warms both */
	for (int i = 0; i < bench.runs; i++) {
		double reference = ask_memcpy(texels * 4);
		double seconds = draw_seconds(target, texture, vertices, times);

		sample(&row, DRAWS * texels / seconds, reference);
	}
	print_row(&row);
	tessera_bo_del(target);
	tessera_bo_del(texture);
	tessera_bo_del(vertices);
	tessera_bo_del(times);
}

/* ---- evict, page_in: what a program waits ------------------------------------------ */

#define MOVE_BYTES (128 * MIB)

static void touch_by_gpu(struct tessera_bo *bo, uint32_t value)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();

	(void)tessera_cmdbuf_bind(bench.cb, SLOT_A, bo, &view);
	(void)tessera_cmdbuf_fill(bench.cb, SLOT_A, &one, value);
	run_cb("touch");
}

/*
 * The object lives in memory the CPU does not see. A job that writes one word has to page it in; a
 * CPU read of one word has to evict it. Both move all of it, since it was written.
 */
static void bench_moves_as(struct row *out, struct row *in)
{
	struct tessera_bo *bo;
	volatile uint32_t *map;

	bo = bo_in("vram-hidden-from-cpu,gart", MOVE_BYTES,
		   DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	must("map", tessera_bo_map(bo, (void **)&map));
	/* The first round is not counted: it allocates and clears. */
	for (int i = -1; i < bench.runs; i++) {
		double reference = ask_memcpy(MOVE_BYTES), start = now(), middle, end;
		uint32_t seen;

		touch_by_gpu(bo, 1000 + i);
		middle = now();
		seen = *map;
		end = now();
		if (seen != 1000u + i)
			die("evict: wrong contents", -EIO);
		if (i < 0)
			continue;
		if (in)
			sample(in, MOVE_BYTES / (middle - start), reference);
		sample(out, MOVE_BYTES / (end - middle), reference);
	}
	print_row(out);
	if (in)
		print_row(in);
	(void)tessera_bo_unmap(bo);
	tessera_bo_del(bo);
}

/* One of the driver's debugfs knobs; false if there is none. */
static bool set_knob(const char *name, const char *value)
{
	for (int minor = 0; minor < 64; minor++) {
		char path[128];
		bool ok;
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s", minor, name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		ok = write(fd, value, strlen(value)) > 0;
		close(fd);
		return ok;
	}
	return false;
}

static void bench_moves(void)
{
	struct row in = { "page_in", "B/s", "higher", .goal = 0.7 };
	struct row out = { "evict", "B/s", "higher", .goal = 0.7 };
	struct row kept = { "evict_copy_kept", "B/s", "higher", .goal = 0.7 };

	/* The pages stay allocated while the object is in video memory, either way. */
	if (!set_knob("keep_system_copy", "0")) {
		bench_moves_as(&kept, &in);
		return;
	}
	bench_moves_as(&out, &in);
	(void)set_knob("keep_system_copy", "1");
	bench_moves_as(&kept, NULL);
}

/* ---- empty_job ------------------------------------------------------------------------ */

#define GROUP 16 /* two of them: 32 jobs in flight */
#define EMPTY_JOBS 1024

/*
 * The driver's debugfs file `ping`: nanoseconds from a register write that raises an interrupt to
 * its handler having run and woken a waiter; the median of several.
 */
static double read_ping(void)
{
	char path[96], text[64];
	ssize_t n = -1;

	for (int minor = 0; minor < 64 && n <= 0; minor++) {
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/ping", minor);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return 0;
	text[n] = 0;
	return atof(text);
}

/*
 * Groups of jobs, two groups in flight; the last of a group has a fence, as a program that submits much
 * would do it.
 */
static double empty_job_ns(void)
{
	struct tessera_fence *fences[2] = { NULL };
	double start = now();

	for (int group = 0; group < EMPTY_JOBS / GROUP + 2; group++) {
		struct tessera_fence **slot = &fences[group % 2];
		struct tessera_submit_args args = { .fence = slot };

		if (*slot) {
			must("wait", tessera_fence_wait(*slot, TESSERA_FOREVER, NULL));
			tessera_fence_del(*slot);
			*slot = NULL;
		}
		if (group >= EMPTY_JOBS / GROUP)
			continue;
		for (int i = 0; i < GROUP - 1; i++)
			must("submit", tessera_context_submit(bench.ctx, bench.cb, NULL));
		must("submit", tessera_context_submit(bench.ctx, bench.cb, &args));
	}
	return (now() - start) * 1e9 / EMPTY_JOBS;
}

static void bench_empty_job(void)
{
	struct row row = { "empty_job", "ns", "lower", .goal = 4 };

	if (!read_ping()) {
		fprintf(stderr, "tessera-bench: empty_job left out: no debugfs file ping\n");
		return;
	}
	must("nop", tessera_cmdbuf_nop(bench.cb, 2));
	empty_job_ns();
	for (int i = 0; i < bench.runs; i++)
		sample(&row, empty_job_ns(), read_ping());
	tessera_cmdbuf_reset(bench.cb);
	print_row(&row);
}

/* ---- oversubscribed_10x ----------------------------------------------------------------- */

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

/* Bytes of the transfers traced since the buffer was emptied. */
static uint64_t traced_bytes(void)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];
	uint64_t bytes = 0, size;

	if (!f)
		die(TRACING "trace", -errno);
	while (fgets(line, sizeof(line), f)) {
		const char *op = strstr(line, "tessera_paging_op: kind=transfer");
		const char *field = op ? strstr(op, " size=") : NULL;

		if (field && sscanf(field, " size=%" SCNu64, &size) == 1)
			bytes += size;
	}
	fclose(f);
	return bytes;
}

static void record_round(struct tessera_bo **bos, uint32_t value)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();

	for (int i = 0; i < OVER_OBJECTS; i++) {
		(void)tessera_cmdbuf_bind(bench.cb, SLOT_A, bos[i], &view);
		(void)tessera_cmdbuf_fill(bench.cb, SLOT_A, &one, value + i);
	}
}

/*
 * One submission whose objects are ten times the segment, every one written. The reference is the paging
 * engine's bandwidth on large single moves, both ways, measured in turn.
 */
static void bench_oversubscribed(void)
{
	struct row row = { "oversubscribed_10x", "B/s", "higher", .goal = 0.6 };
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
	trace_write("events/tessera/tessera_paging_op/enable", "1");
	for (int i = 0; i < bench.runs; i++) {
		double start, seconds, single_seconds;

		start = now();
		touch_by_gpu(single, i);
		(void)*map;
		single_seconds = now() - start;
		record_round(bos, i * 100);
		trace_write("trace", "\n"); /* empties it */
		start = now();
		run_cb("oversubscribed");
		seconds = now() - start;
		sample(&row, traced_bytes() / seconds, 2 * MOVE_BYTES / single_seconds);
	}
	trace_write("events/tessera/tessera_paging_op/enable", "0");
	print_row(&row);
	(void)tessera_bo_unmap(single);
	tessera_bo_del(single);
	for (int i = 0; i < OVER_OBJECTS; i++)
		tessera_bo_del(bos[i]);
}

/* ---- split_overhead_when_fits -------------------------------------------------------------- */

#define FIT_OBJECTS 32
#define FIT_ROUNDS 16

/* Submit what is recorded with a patch list of our own, and wait: seconds of both. */
static double run_with_patches(const struct tessera_stream *stream,
			       const struct drm_tessera_submit_patch *patches)
{
	struct drm_tessera_submit submit = {
		.context = tessera_context_id(bench.ctx),
		.cmds = (uintptr_t)stream->cmds,
		.cmd_size = stream->cmd_bytes,
		.allocs = { sizeof(*stream->allocs), stream->num_allocs,
			    (uintptr_t)stream->allocs },
		.patches = { sizeof(*patches), stream->num_patches, (uintptr_t)patches },
	};
	struct drm_tessera_sync sync = { .flags = DRM_TESSERA_SYNC_SIGNAL };
	struct tessera_syncobj *done;
	double start;

	must("syncobj", tessera_syncobj_new(bench.dev, 0, &done));
	sync.handle = tessera_syncobj_handle(done);
	submit.syncs = (struct drm_tessera_array){ sizeof(sync), 1, (uintptr_t)&sync };
	start = now();
	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_SUBMIT, &submit))
		die("submit", -errno);
	must("wait", tessera_syncobj_wait(done, 0, TESSERA_FOREVER));
	start = now() - start;
	tessera_syncobj_del(done);
	if (submit.num_parts != 1)
		die("a job that fits was cut", -EPROTO);
	return start;
}

/*
 * The same packets with the same entries, all of which fit. With: each bind is a split point of its
 * own. Without: every entry is declared to be needed from the start, which leaves one split
 * point at offset 0, and a planner nothing to do.
 */
static void bench_split_overhead(void)
{
	struct row row = { "split_overhead_when_fits", "s", "lower", .goal = 1.03 };
	const struct tessera_rect all = { 0, 0, 16384, 1 };
	struct tessera_view view = buffer_view();
	struct drm_tessera_submit_patch *at_start;
	struct tessera_bo *bos[FIT_OBJECTS];
	struct tessera_stream stream;
	uint64_t size;
	const char *segment = large_segment(&size);

	tessera_cmdbuf_set_rebind(bench.cb, UINT64_MAX);
	for (int i = 0; i < FIT_OBJECTS; i++)
		bos[i] = bo_in(segment, 65536, 0);
	for (int i = 0; i < FIT_OBJECTS * FIT_ROUNDS; i++) {
		(void)tessera_cmdbuf_bind(bench.cb, i % FIT_OBJECTS, bos[i % FIT_OBJECTS], &view);
		(void)tessera_cmdbuf_fill(bench.cb, i % FIT_OBJECTS, &all, i);
	}
	must("record", tessera_cmdbuf_finish(bench.cb));
	tessera_cmdbuf_stream(bench.cb, &stream);
	at_start = calloc(stream.num_patches, sizeof(*at_start));
	if (!at_start)
		die("patches", -ENOMEM);
	memcpy(at_start, stream.patches, stream.num_patches * sizeof(*at_start));
	for (uint32_t i = 0; i < stream.num_patches; i++)
		at_start[i].split_offset = 0;
	run_with_patches(&stream, stream.patches);
	run_with_patches(&stream, at_start);
	for (int i = 0; i < MAX_SAMPLES; i++) {
		double without = run_with_patches(&stream, at_start);

		sample(&row, run_with_patches(&stream, stream.patches), without);
	}
	print_row(&row);
	free(at_start);
	tessera_cmdbuf_reset(bench.cb);
	tessera_cmdbuf_set_rebind(bench.cb, 0);
	for (int i = 0; i < FIT_OBJECTS; i++)
		tessera_bo_del(bos[i]);
}

/* ---- All of it -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
} benches[] = {
	{ "copy_linear", bench_copy_linear },	    { "copy_swizzled", bench_copy_swizzled },
	{ "draw_textured", bench_draw_textured },   { "moves", bench_moves },
	{ "empty_job", bench_empty_job },	    { "oversubscribed", bench_oversubscribed },
	{ "split_overhead", bench_split_overhead },
};

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], name))
			return true;
	}
	return argc == 1;
}

int main(int argc, char **argv)
{
	const char *runs = getenv("TESSERA_BENCH_RUNS");

	bench.runs = runs ? atoi(runs) : 7;
	if (bench.runs < 1 || bench.runs > MAX_SAMPLES)
		bench.runs = 7;
	must("no tessera device", tessera_device_new_first(&bench.dev));
	must("context", tessera_context_new_default(bench.dev, &bench.ctx));
	must("command buffer", tessera_cmdbuf_new(bench.dev, &bench.cb));
	for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
		if (wanted(benches[i].name, argc, argv))
			benches[i].run();
	}
	tessera_cmdbuf_del(bench.cb);
	tessera_context_del(bench.ctx);
	tessera_device_del(bench.dev);
	return 0;
}
