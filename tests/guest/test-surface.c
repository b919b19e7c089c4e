// SPDX-License-Identifier: MIT
/*
 * Surface pairs: one request creates a swizzled object for the GPU and a linear
 * twin for the CPU, and jobs copy between them. Each render job takes 20 ms
 * (test-surface.args), so a lock that does not wait for the copy shows old
 * bytes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "foreign.h"
#include "held.h"
#include "inject.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

#define COPY_NS 20000000ull /* minimum duration of a job */

static const uint32_t read_only = DRM_TESSERA_LOCK_READ_ONLY;
static const uint32_t dont_wait = DRM_TESSERA_LOCK_DONT_WAIT;
static const uint32_t discard = DRM_TESSERA_LOCK_DISCARD;

enum {
	SWIZZLED,
	TWIN
};

/* ---- surface pairs --------------------------------------------------- */

struct request {
	struct drm_tessera_bo_create bos[3]; /* one more than needed, for the tests of bad counts */
	struct drm_tessera_bo_private privs[3];
	struct drm_tessera_bo_create_twins args;
};

struct surface {
	struct tsr_bo swizzled, twin;
	struct tsr_surface tiles, lines; /* the views that jobs use */
};

/* Words per row, rows, and the segments of each object. */
struct shape {
	uint32_t layout, words, rows;
	uint32_t tile_pitch, line_pitch;
	uint32_t gpu_set, cpu_set;
};

static uint64_t pages(uint64_t bytes)
{
	return (bytes + 4095) & ~4095ull;
}

static void request_init(struct request *r, const struct shape *shape)
{
	uint32_t tile_rows = (shape->rows + TSR_TILE_ROWS - 1) / TSR_TILE_ROWS * TSR_TILE_ROWS;

	memset(r, 0, sizeof(*r));
	r->bos[SWIZZLED].size = (uint64_t)shape->tile_pitch * tile_rows;
	r->bos[SWIZZLED].supported = shape->gpu_set;
	r->bos[TWIN].size = pages((uint64_t)shape->line_pitch * shape->rows);
	r->bos[TWIN].supported = shape->cpu_set;
	r->bos[TWIN].flags = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
	for (uint32_t i = 0; i < 2; i++) {
		r->privs[i].version = DRM_TESSERA_PRIVATE_VERSION;
		r->privs[i].flags = i == TWIN ? DRM_TESSERA_PRIVATE_TWIN : 0;
		r->privs[i].layout = i == TWIN ? DRM_TESSERA_LAYOUT_LINEAR : shape->layout;
		r->privs[i].pitch = i == TWIN ? shape->line_pitch : shape->tile_pitch;
		r->privs[i].width = shape->words * 4;
		r->privs[i].rows = shape->rows;
	}
	r->args.bos.stride = sizeof(r->bos[0]);
	r->args.bos.count = 2;
	r->args.private_data.stride = sizeof(r->privs[0]);
	r->args.private_data.count = 2;
}

static int request_send(struct tsr_device *dev, struct request *r)
{
	if (!r->args.bos.array)
		r->args.bos.array = (uintptr_t)r->bos;
	if (!r->args.private_data.array)
		r->args.private_data.array = (uintptr_t)r->privs;
	return tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_BO_CREATE_TWINS, &r->args);
}

static struct tsr_surface view(uint32_t layout, uint32_t pitch, const struct shape *shape)
{
	struct tsr_surface v = tsr_surface_rows(layout, pitch, shape->rows);

	v.width = shape->words;
	return v;
}

static struct surface surface_new(struct tsr_device *dev, const struct shape *shape)
{
	struct surface s = {
		.tiles = view(shape->layout, shape->tile_pitch, shape),
		.lines = view(TSR_LAYOUT_LINEAR, shape->line_pitch, shape),
	};
	struct request r;

	request_init(&r, shape);
	require_ok(request_send(dev, &r));
	s.swizzled =
		(struct tsr_bo){ .handle = r.args.handles[SWIZZLED], .size = r.bos[SWIZZLED].size };
	s.twin = (struct tsr_bo){ .handle = r.args.handles[TWIN], .size = r.bos[TWIN].size };
	require(s.swizzled.handle && s.twin.handle && s.swizzled.handle != s.twin.handle);
	tsr_bo_map(dev, &s.twin);
	return s;
}

static void surface_free(struct tsr_device *dev, struct surface *s)
{
	tsr_bo_free(dev, &s->twin);
	tsr_bo_free(dev, &s->swizzled);
}

/*
 * Various shapes and segments: the swizzled object in an aperture or in VRAM,
 * the twin where the CPU can access it.
 */
static struct shape shape_of(struct tsr_device *dev, uint32_t i)
{
	static const struct shape shapes[] = {
		{ TSR_LAYOUT_TILE4K, 50, 40, 256, 200, 0, 0 },
		{ TSR_LAYOUT_MORTON, 1, 1, 128, 4, 0, 0 },
		{ TSR_LAYOUT_MORTON, 96, 100, 384, 388, 0, 0 },
		{ TSR_LAYOUT_TILE4K, 33, 64, 640, 1028, 0, 0 },
	};
	uint32_t gart = tsr_bit(tsr_seg_gart(dev)), visible = tsr_bit(tsr_seg_visible(dev));
	const uint32_t gpu_sets[] = { gart, visible, tsr_bit(tsr_seg_hidden(dev)) | gart };
	const uint32_t cpu_sets[] = { gart, visible };
	struct shape shape = shapes[i % ARRAY_SIZE(shapes)];

	shape.gpu_set = gpu_sets[i % ARRAY_SIZE(gpu_sets)];
	shape.cpu_set = cpu_sets[i / 2 % ARRAY_SIZE(cpu_sets)];
	return shape;
}

#define NUM_SHAPES 12 /* covers each combination of segments */

/* ---- bytes ----------------------------------------------------------- */

static void copy(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *dst,
		 const struct tsr_surface *dst_view, const struct tsr_bo *src,
		 const struct tsr_surface *src_view, uint32_t wait, uint32_t signal)
{
	struct tsr_surface from = *src_view, to = *dst_view;
	struct tsr_cmd cmd;
	uint32_t *p;

	from.access = TSR_SURF_READ;
	to.access = TSR_SURF_WRITE;
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind(&cmd, 0, dst, &to);
	tsr_cmd_bind(&cmd, 1, src, &from);
	tsr_cmd_group_end(&cmd);
	p = tsr_cmd_packet(&cmd, TSR_OP_COPY, 0, TSR_COPY_DWORDS);
	p[2] = 1;
	p[7] = dst_view->width;
	p[8] = dst_view->height;
	tsr_submit(dev, ctx, &cmd, wait, signal);
	tsr_cmd_fini(&cmd);
}

/* Needed before a lock, and after an unlock of a twin that was written. */
static void unswizzle(struct tsr_device *dev, uint32_t ctx, const struct surface *s, uint32_t wait)
{
	copy(dev, ctx, &s->twin, &s->lines, &s->swizzled, &s->tiles, wait, 0);
}

static void swizzle(struct tsr_device *dev, uint32_t ctx, const struct surface *s)
{
	copy(dev, ctx, &s->swizzled, &s->tiles, &s->twin, &s->lines, 0, 0);
}

/* Writes a picture to rows with a pitch. */
static void write_rows(void *map, const struct tsr_surface *v, uint32_t key)
{
	for (uint32_t y = 0; y < v->height; y++) {
		uint32_t *row = (void *)((uint8_t *)map + (uint64_t)y * v->pitch);

		for (uint32_t x = 0; x < v->width; x++)
			row[x] = tsr_pattern(key, y * v->width + x);
	}
}

static void check_rows(const void *map, const struct tsr_surface *v, uint32_t key)
{
	for (uint32_t y = 0; y < v->height; y++) {
		const uint32_t *row = (const void *)((const uint8_t *)map + (uint64_t)y * v->pitch);

		for (uint32_t x = 0; x < v->width; x++)
			if (row[x] != tsr_pattern(key, y * v->width + x))
				tap_fail(__FILE__, __LINE__, "key %u, %u,%u: 0x%08x, not 0x%08x",
					 key, x, y, row[x], tsr_pattern(key, y * v->width + x));
	}
}

/*
 * An object from which the GPU copies a new picture into the swizzled one,
 * without waiting.
 */
struct painter {
	struct tsr_bo bo;
	struct tsr_surface view;
};

static struct painter painter_new(struct tsr_device *dev, const struct surface *s)
{
	struct painter p = { .view = s->lines };

	p.view.pitch = s->lines.width * 4;
	p.bo = tsr_bo_new(dev, pages((uint64_t)p.view.pitch * p.view.height),
			  tsr_bit(tsr_seg_gart(dev)), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_bo_map(dev, &p.bo);
	return p;
}

static void paint(struct tsr_device *dev, uint32_t ctx, struct painter *p, const struct surface *s,
		  uint32_t key)
{
	tsr_bo_wait(dev, &p->bo);
	write_rows(p->bo.map, &p->view, key);
	copy(dev, ctx, &s->swizzled, &s->tiles, &p->bo, &p->view, 0, 0);
}

/* ---- SWZ-18 to SWZ-21: creation -------------------------------------- */

static uint32_t count_objects(void)
{
	char *text = tsr_debugfs_read("allocations");
	uint32_t lines = 0;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	free(text);
	return lines;
}

/* Word of a picture in tiles of 128 bytes by 32 rows, from the manual. */
static uint32_t tile4k_word(const uint32_t *raw, const struct tsr_surface *v, uint32_t x,
			    uint32_t y)
{
	uint64_t byte = (uint64_t)(y / 32) * 32 * v->pitch + x * 4 / 128 * 4096 + y % 32 * 128 +
			x * 4 % 128;

	return raw[byte / 4];
}

static void one_request(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	const struct shape shape = { TSR_LAYOUT_TILE4K, 50, 40, 256, 200, gart, gart };
	struct drm_tessera_bo_info a, b;
	uint32_t handle, *raw;
	struct surface s;

	s = surface_new(&dev, &shape);
	a = tsr_bo_info(&dev, &s.swizzled);
	b = tsr_bo_info(&dev, &s.twin);
	require_eq(a.layout, DRM_TESSERA_LAYOUT_TILE4K);
	require_eq(a.pitch, 256);
	require_eq(a.flags, 0);
	require_eq(b.layout, DRM_TESSERA_LAYOUT_LINEAR);
	require_eq(b.flags,
		   DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED | DRM_TESSERA_BO_TWIN);
	/* the application can only access the twin */
	require_eq(a.mmap_offset, 0);
	handle = s.swizzled.handle;
	require_err(__tsr_lock(dev.fd, &handle, 0), -EPERM);

	/* the swizzled object holds tiles, also in an aperture */
	write_rows(s.twin.map, &s.lines, 1);
	swizzle(&dev, ctx, &s);
	require_eq(tsr_bo_info(&dev, &s.swizzled).segment, tsr_seg_gart(&dev)->id);
	raw = malloc(s.swizzled.size);
	require(raw);
	tsr_gpu_read(&dev, ctx, &s.swizzled, 0, (uint32_t)(s.swizzled.size / 4), raw);
	for (uint32_t y = 0; y < 40; y++)
		for (uint32_t x = 0; x < 50; x++)
			require_eq(tile4k_word(raw, &s.tiles, x, y), tsr_pattern(1, y * 50 + x));
	free(raw);
	surface_free(&dev, &s);
	tsr_close(&dev);
}

struct bad_row {
	const char *name;
	int err;
	uint32_t where; /* byte offset in struct request */
	uint32_t bytes; /* size of the field: 4 or 8 */
	uint64_t value;
};

#define SPOIL(field, value_)                                                                       \
	offsetof(struct request, field), sizeof(((struct request *)0)->field), value_

static void spoil(struct request *r, const struct bad_row *row)
{
	/* assumes little endian, as all tests do */
	memcpy((uint8_t *)r + row->where, &row->value, row->bytes);
}

static void bad_input(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), visible = tsr_bit(tsr_seg_visible(&dev));
	const struct shape shape = { TSR_LAYOUT_MORTON, 50, 40, 256, 200, gart, gart };
	const struct bad_row rows[] = {
		{ "flags", -EINVAL, SPOIL(args.flags, 1) },
		{ "padding", -EINVAL, SPOIL(args.pad, 1) },
		{ "no objects", -EINVAL, SPOIL(args.bos.count, 0) },
		{ "one object", -EINVAL, SPOIL(args.bos.count, 1) },
		{ "three objects", -EINVAL, SPOIL(args.bos.count, 3) },
		{ "none that is described", -EINVAL, SPOIL(args.private_data.count, 0) },
		{ "one that is", -EINVAL, SPOIL(args.private_data.count, 1) },
		{ "three that are", -EINVAL, SPOIL(args.private_data.count, 3) },
		{ "short objects", -EINVAL, SPOIL(args.bos.stride, 40) },
		{ "short data", -EINVAL, SPOIL(args.private_data.stride, 24) },
		{ "longer data, not zero", -EINVAL, SPOIL(args.private_data.stride, 40) },
		{ "objects nowhere", -EFAULT, SPOIL(args.bos.array, 8) },
		{ "data nowhere", -EFAULT, SPOIL(args.private_data.array, 8) },
		{ "object's VM", -EINVAL, SPOIL(bos[TWIN].vm, 1) },
		{ "object's layout", -EINVAL, SPOIL(bos[SWIZZLED].layout, 1) },
		{ "object's pitch", -EINVAL, SPOIL(bos[SWIZZLED].pitch, 256) },
		{ "twin's pitch", -EINVAL, SPOIL(bos[TWIN].pitch, 200) },
		{ "unknown object flag", -EINVAL, SPOIL(bos[TWIN].flags, 1 | 1u << 31) },
		{ "the kernel's flag", -EINVAL,
		  SPOIL(bos[TWIN].flags, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_TWIN) },
		{ "the kernel's flag on the other", -EINVAL,
		  SPOIL(bos[SWIZZLED].flags, DRM_TESSERA_BO_TWIN) },
		{ "SWZ-17 SWZ-19 CPU access to the swizzled one", -EINVAL,
		  SPOIL(bos[SWIZZLED].flags, DRM_TESSERA_BO_CPU_ACCESS) },
		{ "SWZ-19 no CPU access to the twin", -EINVAL, SPOIL(bos[TWIN].flags, 0) },
		/* the first object was created and must be destroyed again */
		{ "second in no segment", -EINVAL, SPOIL(bos[TWIN].supported, 0) },
		{ "second too large", -E2BIG, SPOIL(bos[TWIN].size, MiB(1) << 20) },
		{ "second not of pages", -EINVAL, SPOIL(bos[TWIN].size, 8193) },
		{ "second evicted to memory", -EINVAL, SPOIL(bos[TWIN].evict_to, visible) },
		{ "first in no segment", -EINVAL, SPOIL(bos[SWIZZLED].supported, 0) },
		/* SWZ-20 */
		{ "version 0", -EINVAL, SPOIL(privs[SWIZZLED].version, 0) },
		{ "version 2", -EINVAL, SPOIL(privs[TWIN].version, 2) },
		{ "unknown private flag", -EINVAL, SPOIL(privs[SWIZZLED].flags, 2) },
		{ "two twins", -EINVAL, SPOIL(privs[SWIZZLED].flags, DRM_TESSERA_PRIVATE_TWIN) },
		{ "no twin", -EINVAL, SPOIL(privs[TWIN].flags, 0) },
		{ "unknown layout", -EINVAL, SPOIL(privs[SWIZZLED].layout, 3) },
		{ "linear for the GPU", -EINVAL, SPOIL(privs[SWIZZLED].layout, 0) },
		{ "swizzled for the CPU", -EINVAL, SPOIL(privs[TWIN].layout, 1) },
		{ "pitch of no tiles", -EINVAL, SPOIL(privs[SWIZZLED].pitch, 200) },
		{ "pitch below the width", -EINVAL, SPOIL(privs[TWIN].pitch, 196) },
		{ "pitch of no words", -EINVAL, SPOIL(privs[TWIN].pitch, 201) },
		{ "no width", -EINVAL, SPOIL(privs[TWIN].width, 0) },
		{ "another width", -EINVAL, SPOIL(privs[SWIZZLED].width, 196) },
		{ "no rows", -EINVAL, SPOIL(privs[SWIZZLED].rows, 0) },
		{ "another number of rows", -EINVAL, SPOIL(privs[SWIZZLED].rows, 41) },
		{ "more rows than fit", -EINVAL, SPOIL(privs[SWIZZLED].rows, 65) },
		{ "reserved", -EINVAL, SPOIL(privs[TWIN].reserved, 1ull << 40) },
	};
	uint32_t objects = count_objects();
	struct request r;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int rc;

		request_init(&r, &shape);
		spoil(&r, &rows[i]);
		r.args.handles[0] = 4711;
		rc = request_send(&dev, &r);
		require_msg(rc == rows[i].err, "%s: %d, not %d", rows[i].name, rc, rows[i].err);
		require_msg(count_objects() == objects,
			    "%s: expected no object after the failed call", rows[i].name);
		require_eq(r.args.handles[SWIZZLED], 0);
		require_eq(r.args.handles[TWIN], 0);
	}
	/*
	 * CPU access is refused also in a segment where an object of that
	 * layout may have it
	 */
	request_init(&r, &shape);
	r.bos[SWIZZLED].supported = visible;
	r.bos[SWIZZLED].flags = DRM_TESSERA_BO_CPU_ACCESS;
	require_err(request_send(&dev, &r), -EINVAL);
	require_eq(count_objects(), objects);
	/* [out] fields are ignored, handles are in the caller's order */
	request_init(&r, &shape);
	r.bos[0].handle = 4711;
	r.args.handles[1] = 4712;
	require_ok(request_send(&dev, &r));
	require_eq(count_objects(), objects + 2);
	require_ok(__tsr_bo_close(dev.fd, r.args.handles[0]));
	require_ok(__tsr_bo_close(dev.fd, r.args.handles[1]));
	tsr_close(&dev);
}

/* The twin may come first. Longer structs are valid if zero beyond. */
static void good_input(void)
{
	struct {
		struct drm_tessera_bo_private priv;
		uint64_t more;
	} longer[2] = { 0 };
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	const struct shape shape = { TSR_LAYOUT_MORTON, 50, 40, 256, 200, gart, gart };
	struct drm_tessera_bo_create swap;
	struct drm_tessera_bo_info info;
	struct request r;

	request_init(&r, &shape);
	longer[0].priv = r.privs[TWIN];
	longer[1].priv = r.privs[SWIZZLED];
	swap = r.bos[0];
	r.bos[0] = r.bos[1];
	r.bos[1] = swap;
	r.args.private_data.array = (uintptr_t)longer;
	r.args.private_data.stride = sizeof(longer[0]);
	require_ok(request_send(&dev, &r));
	require_ok(__tsr_bo_info(dev.fd, r.args.handles[0], &info));
	require(info.flags & DRM_TESSERA_BO_TWIN);
	require_ok(__tsr_bo_info(dev.fd, r.args.handles[1], &info));
	require_eq(info.layout, DRM_TESSERA_LAYOUT_MORTON);
	require_ok(__tsr_bo_close(dev.fd, r.args.handles[0]));
	require_ok(__tsr_bo_close(dev.fd, r.args.handles[1]));

	/* BO_CREATE cannot make twins */
	r.bos[0].flags |= DRM_TESSERA_BO_TWIN;
	require_err(__tsr_bo_create(dev.fd, &r.bos[0]), -EINVAL);
	tsr_close(&dev);
}

/* If any allocation fails, there are no handles, neither two nor one. */
static void no_memory(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), failed = 0;
	const struct shape shape = { TSR_LAYOUT_MORTON, 50, 40, 256, 200, gart, gart };
	struct drm_tessera_bo_info info;
	struct request r;
	bool hit = true;
	int rc;

	tsr_inject_init();
	for (unsigned int nth = 1; hit; nth++) {
		request_init(&r, &shape);
		tsr_inject_set(nth);
		rc = request_send(&dev, &r);
		hit = tsr_inject_done();
		require_msg(!rc || (hit && (rc == -ENOMEM || rc == -EFAULT)), "%u: %d", nth, rc);
		failed += rc == -ENOMEM;
		for (uint32_t handle = 1; handle < 4; handle++) {
			require_msg(rc != -ENOMEM || __tsr_bo_info(dev.fd, handle, &info),
				    "allocation %u: no memory, but handle %u is there", nth,
				    handle);
			/* -EFAULT: only the copy of the result failed */
			__tsr_bo_close(dev.fd, handle);
		}
	}
	require(failed > 4);
	tsr_close(&dev);
}

/* Paging moves both as bytes: equal sizes, and no layout in any packet. */
static void same_path(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), visible = tsr_bit(tsr_seg_visible(&dev));
	const struct shape shape = { TSR_LAYOUT_TILE4K, 64, 64, 256, 256, visible, visible };
	struct surface s = surface_new(&dev, &shape);
	struct tsr_trace trace;
	size_t moves = 0;

	write_rows(s.twin.map, &s.lines, 1);
	tsr_trace_start("paging_op", NULL);
	swizzle(&dev, ctx, &s);
	tsr_bo_wait(&dev, &s.swizzled);
	tsr_evict_set(visible);
	unswizzle(&dev, ctx, &s, 0);
	tsr_bo_wait(&dev, &s.twin);
	tsr_evict_set(visible);
	tsr_bo_wait(&dev, &s.twin);
	tsr_bo_wait(&dev, &s.swizzled);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (!tsr_event_is(ev, "kind", "transfer"))
			continue;
		moves++;
		require_eq(tsr_event_u64(ev, "flags") >> 8, 0);
		require_eq(tsr_event_u64(ev, "size"), s.twin.size);
	}
	/*
	 * in: the twin with the CPU's bytes, then both; out: the one written
	 * last, each time
	 */
	require_msg(moves >= 4, "%zu transfers", moves);
	tsr_trace_free(&trace);
	check_rows(s.twin.map, &s.lines, 1);
	surface_free(&dev, &s);
	tsr_close(&dev);
}

/* ---- SWZ-22 to SWZ-25: lock ------------------------------------------ */

static void evict(struct tsr_device *dev)
{
	for (uint32_t i = 0; i < dev->num_segs; i++)
		tsr_evict_set(1u << dev->segs[i].id);
}

/*
 * After a lock the CPU sees the GPU's picture, and after an unlock the next job
 * sees the CPU's. That holds whatever is evicted between the steps.
 */
static void round_trip(struct tsr_device *dev, uint32_t ctx, const struct shape *shape,
		       uint32_t evictions)
{
	struct surface s = surface_new(dev, shape);
	struct painter painter = painter_new(dev, &s);

	for (uint32_t key = 1; key < 4; key += 2) {
		uint64_t start;

		paint(dev, ctx, &painter, &s, key);
		if (evictions & 1)
			evict(dev);
		start = tap_now_ns();
		unswizzle(dev, ctx, &s, 0);
		if (evictions & 2)
			evict(dev);
		tsr_lock(dev, &s.twin, key == 1 ? read_only : 0);
		require(tap_now_ns() - start >= COPY_NS);
		check_rows(s.twin.map, &s.lines, key);
		if (evictions & 4)
			evict(dev);
		check_rows(s.twin.map, &s.lines, key);
		write_rows(s.twin.map, &s.lines, key + 1);
		tsr_unlock(dev, &s.twin);
		if (key == 1) /* it was a read-only lock, so the bytes need not be kept */
			continue;
		swizzle(dev, ctx, &s);
		if (evictions & 8)
			evict(dev);
		/* the current bytes of the twin do not matter */
		tsr_lock(dev, &s.twin, 0);
		memset(s.twin.map, 0xee, s.twin.size);
		tsr_unlock(dev, &s.twin);
		unswizzle(dev, ctx, &s, 0);
		tsr_lock(dev, &s.twin, read_only);
		check_rows(s.twin.map, &s.lines, key + 1);
		tsr_unlock(dev, &s.twin);
	}
	tsr_bo_free(dev, &painter.bo);
	surface_free(dev, &s);
}

static void bytes_are_new(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < NUM_SHAPES; i++) {
		struct shape shape = shape_of(&dev, i);

		round_trip(&dev, ctx, &shape, 0);
	}
	tsr_close(&dev);
}

static void evicted_between(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < NUM_SHAPES; i++) {
		struct shape shape = shape_of(&dev, i);

		round_trip(&dev, ctx, &shape, i == NUM_SHAPES - 1 ? 15 : 1u << i % 4);
	}
	tsr_close(&dev);
}

/* The trace shows the copy job, its end, and the lock, in that order. */
static void copy_comes_first(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct shape shape = shape_of(&dev, 0);
	struct surface s = surface_new(&dev, &shape);
	const struct tsr_event *part, *done, *lock, *entry;
	uint64_t twin;
	struct tsr_trace trace;

	tsr_trace_start("split_part", "split_entry", "job_done", "lock", NULL);
	unswizzle(&dev, ctx, &s, 0);
	tsr_lock(&dev, &s.twin, read_only);
	trace = tsr_trace_stop();
	tsr_unlock(&dev, &s.twin);
	part = tsr_trace_next(&trace, "split_part", NULL);
	lock = tsr_trace_next(&trace, "lock", NULL);
	require(part && lock && part < lock);
	twin = tsr_event_u64(lock, "bo");
	/* slot 0 is the destination of the copy */
	entry = tsr_trace_next(&trace, "split_entry", NULL);
	require(entry);
	require_eq(tsr_event_u64(entry, "slot"), 0);
	require_eq(tsr_event_u64(entry, "bo"), twin);
	/* it is the only job of the engine, and ended before the lock */
	done = NULL;
	tsr_trace_for_each(&trace, "job_done", ev) {
		if (tsr_event_u64(ev, "engine") != dev.render)
			continue;
		require_msg(!done, "expected one job on the render engine, saw two");
		done = ev;
	}
	require_msg(done && done < lock, "expected the copy to be done before the lock");
	require_eq(tsr_event_u64(done, "error"), 0);
	tsr_trace_free(&trace);
	surface_free(&dev, &s);
	tsr_close(&dev);
}

struct waiter {
	struct tsr_device *dev;
	struct surface *s;
	pid_t tid;
	bool locked;
	int rc;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
	w->rc = __tsr_lock(w->dev->fd, &w->s->twin.handle, 0);
	__atomic_store_n(&w->locked, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/* The lock sleeps until the copy has run. A lock of another object does not. */
static void lock_waits_for_copy(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct shape shape = shape_of(&dev, 0);
	struct surface s = surface_new(&dev, &shape), other = surface_new(&dev, &shape);
	struct painter painter = painter_new(&dev, &s);
	struct waiter w = { .dev = &dev, .s = &s };
	pthread_t thread;
	pid_t tid;

	paint(&dev, ctx, &painter, &s, 5);
	tsr_bo_wait(&dev, &s.swizzled);
	unswizzle(&dev, ctx, &s, held.gate);
	require(!pthread_create(&thread, NULL, waiter_run, &w));
	tsr_wait_for((tid = __atomic_load_n(&w.tid, __ATOMIC_SEQ_CST)) && tsr_sleeps(tid));
	tsr_lock(&dev, &other.twin, 0);
	tsr_unlock(&dev, &other.twin);
	/* no bytes yet for a CPU read without a lock */
	require_eq(*(volatile uint32_t *)s.twin.map, 0);
	require(!__atomic_load_n(&w.locked, __ATOMIC_SEQ_CST));
	tsr_held_release(&held);
	pthread_join(thread, NULL);
	require_ok(w.rc);
	check_rows(s.twin.map, &s.lines, 5);
	tsr_unlock(&dev, &s.twin);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/*
 * SWZ-23: the flags are refused for twins, whether idle or busy, and through
 * every file. They are valid for other objects.
 */
static void no_do_not_wait(void)
{
	static const uint32_t bad[] = {
		DRM_TESSERA_LOCK_DONT_WAIT,
		DRM_TESSERA_LOCK_DONT_WAIT | DRM_TESSERA_LOCK_READ_ONLY,
		DRM_TESSERA_LOCK_DONT_WAIT | DRM_TESSERA_LOCK_DISCARD,
		DRM_TESSERA_LOCK_IGNORE_SYNC,
		DRM_TESSERA_LOCK_IGNORE_SYNC | DRM_TESSERA_LOCK_READ_ONLY,
	};
	struct tsr_device dev = tsr_open(), elsewhere = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct shape shape = shape_of(&dev, 0);
	struct surface s = surface_new(&dev, &shape);
	struct tsr_bo plain = tsr_bo_new(&dev, 4096, shape.cpu_set, DRM_TESSERA_BO_CPU_ACCESS);
	int dmabuf = tsr_export(&dev, &s.twin);
	uint32_t imported;

	require_ok(__tsr_import(elsewhere.fd, dmabuf, &imported));
	close(dmabuf);
	for (uint32_t busy = 0; busy < 2; busy++) {
		if (busy)
			unswizzle(&dev, ctx, &s, 0);
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			uint32_t handle = s.twin.handle;

			require_err(__tsr_lock(dev.fd, &handle, bad[i]), -EINVAL);
			handle = imported;
			require_err(__tsr_lock(elsewhere.fd, &handle, bad[i]), -EINVAL);
		}
	}
	require_err(__tsr_unlock(dev.fd, s.twin.handle), -EINVAL);
	tsr_lock(&dev, &plain, dont_wait);
	tsr_unlock(&dev, &plain);
	tsr_lock(&dev, &s.twin, 0);
	tsr_unlock(&dev, &s.twin);
	tsr_close(&elsewhere);
	surface_free(&dev, &s);
	tsr_close(&dev);
}

/* The lock returns the offset of the twin's mapping, which never changes. */
static void pointer_is_the_twins(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct shape shape = shape_of(&dev, 0);
	struct surface s = surface_new(&dev, &shape);
	uint64_t offset = tsr_bo_info(&dev, &s.twin).mmap_offset;

	for (uint32_t i = 0; i < 3; i++) {
		struct drm_tessera_lock lock = { .handle = s.twin.handle };

		unswizzle(&dev, ctx, &s, 0);
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_LOCK, &lock));
		require_eq(lock.handle, s.twin.handle);
		require_eq(lock.mmap_offset, offset);
		tsr_unlock(&dev, &s.twin);
		evict(&dev);
	}
	surface_free(&dev, &s);
	tsr_close(&dev);
}

/*
 * Discards the twin while a job uses it. The renamed instance is a twin in
 * every respect, and its picture replaces the old one after the job.
 */
static void discard_whole(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), handle;
	struct shape shape = shape_of(&dev, 0);
	struct surface s = surface_new(&dev, &shape), renamed = s;

	write_rows(s.twin.map, &s.lines, 1);
	copy(&dev, ctx, &s.swizzled, &s.tiles, &s.twin, &s.lines, held.gate, 0);
	tsr_lock(&dev, &renamed.twin, discard);
	require(renamed.twin.handle != s.twin.handle);
	require_eq(tsr_bo_info(&dev, &renamed.twin).flags, tsr_bo_info(&dev, &s.twin).flags);
	handle = renamed.twin.handle;
	require_err(__tsr_lock(dev.fd, &handle, dont_wait), -EINVAL);
	renamed.twin.map = NULL;
	tsr_bo_map(&dev, &renamed.twin);
	write_rows(renamed.twin.map, &s.lines, 2);
	tsr_unlock(&dev, &renamed.twin);
	swizzle(&dev, ctx, &renamed);
	tsr_held_release(&held);
	tsr_bo_wait(&dev, &renamed.swizzled);
	memset(renamed.twin.map, 0, 4);
	unswizzle(&dev, ctx, &renamed, 0);
	tsr_lock(&dev, &renamed.twin, read_only);
	check_rows(renamed.twin.map, &s.lines, 2);
	tsr_unlock(&dev, &renamed.twin);
	tsr_bo_free(&dev, &s.twin);
	surface_free(&dev, &renamed);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* One context draws and another copies, ordered by implicit sync alone. */
static void two_contexts(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t draws = tsr_context_new(&dev, 0), copies = tsr_context_new(&dev, 0);
	struct shape shape = shape_of(&dev, 2);
	struct surface s = surface_new(&dev, &shape);
	struct painter painter = painter_new(&dev, &s);

	for (uint32_t key = 1; key < 9; key++) {
		paint(&dev, draws, &painter, &s, key);
		unswizzle(&dev, copies, &s, 0);
		tsr_lock(&dev, &s.twin, read_only);
		check_rows(s.twin.map, &s.lines, key);
		tsr_unlock(&dev, &s.twin);
	}
	tsr_bo_free(&dev, &painter.bo);
	surface_free(&dev, &s);
	tsr_close(&dev);
}

/* ---- killed clients leave nothing behind ----------------------------- */

static void victim(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (;;) {
		struct shape shape = shape_of(&dev, client->state->rounds);
		struct surface s = surface_new(&dev, &shape);

		write_rows(s.twin.map, &s.lines, 1);
		swizzle(&dev, ctx, &s);
		unswizzle(&dev, ctx, &s, 0);
		client->state->rounds++;
		tsr_lock(&dev, &s.twin, 0);
		check_rows(s.twin.map, &s.lines, 1);
		if (client->state->rounds % 2)
			continue; /* leaves both objects and the lock */
		tsr_unlock(&dev, &s.twin);
		surface_free(&dev, &s);
	}
}

static void killed(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t objects = count_objects();

	for (uint32_t rounds = 1; rounds < 5; rounds++) {
		struct tsr_client client;

		tsr_client_start(&client, victim, 0);
		/* killed during the copy, in the lock, or after it */
		tsr_wait_for(client.state->rounds >= rounds);
		tsr_client_kill(&client);
		tsr_wait_for(count_objects() == objects);
	}
	for (uint32_t i = 0; i < dev.num_segs; i++)
		tsr_wait_for(!tsr_query_memory(&dev, dev.segs[i].id).used);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SWZ-18 SWZ-19 one request, two objects", one_request, 0, 0 },
	{ "SWZ-17 SWZ-18 SWZ-20 bad input creates no object", bad_input, 0, 0 },
	{ "SWZ-18 SWZ-20 good input", good_input, 0, 0 },
	{ "SWZ-19 short of memory for two objects", no_memory, 0, 120 },
	{ "SWZ-21 both move as bytes", same_path, 0, 0 },
	{ "SWZ-24 SWZ-15 the lock shows the current bytes", bytes_are_new, 0, 0 },
	{ "SWZ-24 SWZ-13 both surfaces are evicted between job and lock", evicted_between, 0, 0 },
	{ "SWZ-22 SWZ-19 the copy comes before the lock", copy_comes_first, 0, 0 },
	{ "SWZ-24 the lock sleeps until the copy is made", lock_waits_for_copy, 0, 0 },
	{ "SWZ-23 ERR-26 do-not-wait is refused", no_do_not_wait, 0, 0 },
	{ "SWZ-25 the pointer is the twin's", pointer_is_the_twins, 0, 0 },
	{ "SWZ-23 LOCK-5 discard gives another twin", discard_whole, 0, 0 },
	{ "SWZ-24 two contexts", two_contexts, 0, 0 },
	{ "SWZ-18 LOCK-10 killed in the middle", killed, 0, 0 },
};

TSR_TEST_MAIN(tests)
