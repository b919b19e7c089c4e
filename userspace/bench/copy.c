// SPDX-License-Identifier: MIT
/* Copies and draws inside video memory, measured with the device's clock. */
#include "bench.h"

#include <errno.h>

/* ---- copy_linear, copy_swizzled: copies in video memory, by device time -- */

#define COPIES 8
#define COPY_BYTES (16 * MIB)

enum {
	SLOT_A,
	SLOT_B,
	SLOT_TIME,
	SLOT_VERTICES
};

/* Device time in seconds of COPIES copies, alternating in direction. */
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
	copy_seconds(a, va, b, vb, rect, times); /* places both objects and warms the caches */
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

void bench_copy_linear(void)
{
	struct row row = { "copy_linear", "B/s", "higher", .goal = 0.8 };
	const struct tessera_rect rect = { 0, 0, COPY_BYTES / 4, 1 };
	struct tessera_view view = buffer_view();

	bench_copy(&row, &view, &view, &rect);
}

void bench_copy_swizzled(void)
{
	struct row row = { "copy_swizzled", "B/s", "higher", .goal = 0.9 };
	const struct tessera_rect rect = { 0, 0, 2048, 2048 };
	struct tessera_view linear, morton;
	uint64_t size;

	/*
	 * MORTON is the slower one of the two swizzled layouts. Copies go in
	 * both directions.
	 */
	must("view",
	     tessera_view_init(&linear, TSR_FORMAT_ARGB8888, TSR_LAYOUT_LINEAR, 2048, 2048, &size));
	must("view",
	     tessera_view_init(&morton, TSR_FORMAT_ARGB8888, TSR_LAYOUT_MORTON, 2048, 2048, &size));
	bench_copy(&row, &linear, &morton, &rect);
}

/* ---- draw_textured: filtered texels per second, at scale 1 --------------- */

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

/*
 * The goal is three times the rate of a sampler that looks texels up one by
 * one.
 */
void bench_draw_textured(void)
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
	/* places all objects and warms the caches */
	draw_seconds(target, texture, vertices, times);
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
