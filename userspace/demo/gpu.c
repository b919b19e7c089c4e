// SPDX-License-Identifier: MIT
/*
 * The GPU's drawing: upload the images as swizzled textures, make the
 * variants, record the scene as one command buffer, submit, read back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

enum {
	SLOT_TARGET,
	SLOT_TEXTURE,
	SLOT_VERTICES,
	SLOT_SOURCE,
	SLOT_READBACK
};

struct gpu {
	struct tessera_device *dev;
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	struct gpu_texture *textures; /* as in the scene */
	uint32_t num_textures;
	struct gpu_texture small[DEMO_MAX_IMAGES]; /* sources of the variants */
	struct writes *writes; /* textures that the CPU writes */
};

static int complain(const char *what, int error)
{
	fprintf(stderr, "tessera-demo: %s: %s\n", what, strerror(-error));
	return error;
}

static uint64_t video_memory(const struct tessera_device *dev)
{
	const struct drm_tessera_query_segment *segment;
	uint64_t total = 0;

	for (uint32_t i = 0; (segment = tessera_device_segment_at(dev, i)); i++) {
		if (!(segment->flags & DRM_TESSERA_SEGMENT_APERTURE))
			total += segment->size;
	}
	return total;
}

static int make_context(struct gpu *gpu, const struct options *options)
{
	const struct drm_tessera_query_engine *engine;
	uint32_t flags = 0, seed = 0;

	if (options->split == SPLIT_ALL)
		flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL;
	if (options->split == SPLIT_RANDOM) {
		flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
		seed = options->split_seed;
	}
	for (uint32_t i = 0; (engine = tessera_device_engine_at(gpu->dev, i)); i++) {
		if (engine->type == DRM_TESSERA_ENGINE_RENDER)
			return tessera_context_new(gpu->dev, flags, engine->id, seed, &gpu->ctx);
	}
	return -ENODEV;
}

int gpu_open(const struct options *options, struct gpu **out, struct summary *summary)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	int ret;

	if (!gpu)
		return complain("open", -ENOMEM);
	ret = options->device ? tessera_device_new_path(options->device, &gpu->dev)
			      : tessera_device_new_first(&gpu->dev);
	if (ret) {
		free(gpu);
		return complain("no tessera device", ret);
	}
	ret = make_context(gpu, options);
	if (!ret)
		ret = tessera_cmdbuf_new(gpu->dev, &gpu->cb);
	if (ret) {
		gpu_close(gpu);
		return complain("context", ret);
	}
	summary->video_memory = video_memory(gpu->dev);
	*out = gpu;
	return 0;
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	writes_del(gpu->writes);
	for (uint32_t i = 0; i < gpu->num_textures; i++)
		tessera_bo_del(gpu->textures[i].bo);
	for (uint32_t i = 0; i < DEMO_MAX_IMAGES; i++)
		tessera_bo_del(gpu->small[i].bo);
	free(gpu->textures);
	tessera_cmdbuf_del(gpu->cb);
	tessera_context_del(gpu->ctx);
	tessera_device_del(gpu->dev);
	free(gpu);
}

static int texture_new(struct gpu *gpu, uint32_t width, uint32_t height, uint32_t layout,
		       struct gpu_texture *texture)
{
	uint64_t size;
	int ret = tessera_view_init(&texture->view, TSR_FORMAT_ARGB8888, layout, width, height,
				    &size);

	if (ret)
		return ret;
	return tessera_bo_new_for(gpu->dev, TESSERA_USAGE_TEXTURE, size, &texture->view,
				  &texture->bo);
}

/* Submit what is recorded, having checked that it may be cut anywhere, and wait. */
static int run(struct gpu *gpu, struct summary *summary, enum demo_job job, bool wait,
	       struct tessera_fence **fence)
{
	struct tessera_submit_args args = { .fence = fence };
	struct tessera_lint lint;
	int job_error, ret;

	ret = tessera_cmdbuf_lint(gpu->cb, &lint);
	if (ret > 0) {
		fprintf(stderr, "tessera-demo: the stream breaks %u rules, first at %u\n",
			lint.total, lint.first_offset);
		return -EPROTO;
	}
	if (!ret)
		ret = tessera_context_submit(gpu->ctx, gpu->cb, &args);
	if (ret) {
		fprintf(stderr, "tessera-demo: submit: %s (offset %d, entry %d)\n", strerror(-ret),
			(int)args.error_offset, (int)args.error_index);
		return ret;
	}
	summary->jobs++;
	summary->parts[job] = args.parts;
	if (!wait)
		return 0;
	ret = tessera_fence_wait(*fence, TESSERA_FOREVER, &job_error);
	tessera_fence_del(*fence);
	if (!ret)
		ret = job_error;
	return ret ? complain("job", ret) : 0;
}

/* ---- Textures ------------------------------------------------------------------ */

/* Record a copy of an image from the staging buffer, in which it lies at @offset. */
static int upload_one(struct gpu *gpu, struct tessera_bo *staging, uint8_t *map, uint64_t *offset,
		      const struct image *image, const struct gpu_texture *texture)
{
	struct tessera_view source = texture->view;
	const struct tessera_rect rect = { 0, 0, image->width, image->height };

	source.layout = TSR_LAYOUT_LINEAR;
	source.access = TSR_SURF_READ;
	source.pitch = image->width * 4;
	source.offset = *offset;
	memcpy(map + *offset, image->texels, (size_t)source.pitch * image->height);
	*offset += ((uint64_t)source.pitch * image->height + 7) & ~UINT64_C(7);
	(void)tessera_cmdbuf_bind(gpu->cb, SLOT_SOURCE, staging, &source);
	(void)tessera_cmdbuf_bind(gpu->cb, SLOT_TARGET, texture->bo, &texture->view);
	/* The first error sticks to the buffer and comes back from here or from submit. */
	return tessera_cmdbuf_copy(gpu->cb, SLOT_TARGET, 0, 0, SLOT_SOURCE, &rect);
}

static int make_textures(struct gpu *gpu, const struct scene *scene, uint64_t *upload_bytes)
{
	int ret = 0;

	*upload_bytes = 0;
	for (uint32_t i = 0; i < scene->num_textures && !ret; i++) {
		const struct scene_texture *t = &scene->textures[i];
		struct gpu_texture *small = &gpu->small[t->image_index];
		bool first_small = t->variant && !small->bo;

		if (t->way != WAY_JOBS)
			continue;
		ret = texture_new(gpu, t->width, t->height, t->layout, &gpu->textures[i]);
		if (!ret && first_small)
			ret = texture_new(gpu, t->image->width, t->image->height, TSR_LAYOUT_MORTON,
					  small);
		if (!t->variant || first_small)
			*upload_bytes += ((uint64_t)t->image->width * t->image->height * 4 + 7) &
					 ~UINT64_C(7);
	}
	return ret;
}

static int upload(struct gpu *gpu, const struct scene *scene, uint64_t bytes,
		  struct summary *summary)
{
	bool done[DEMO_MAX_IMAGES] = { false };
	struct tessera_fence *fence;
	struct tessera_bo *staging;
	uint64_t offset = 0;
	void *map;
	int ret;

	ret = tessera_bo_new_for(gpu->dev, TESSERA_USAGE_STAGING, bytes, NULL, &staging);
	if (ret)
		return complain("staging buffer", ret);
	ret = tessera_bo_map(staging, &map);
	for (uint32_t i = 0; i < scene->num_textures && !ret; i++) {
		const struct scene_texture *t = &scene->textures[i];
		struct gpu_texture *to =
			t->variant ? &gpu->small[t->image_index] : &gpu->textures[i];

		if (t->way != WAY_JOBS || (t->variant && done[t->image_index]))
			continue;
		done[t->image_index] |= t->variant;
		ret = upload_one(gpu, staging, map, &offset, t->image, to);
	}
	if (!ret)
		ret = run(gpu, summary, JOB_UPLOAD, true, &fence);
	else
		complain("upload", ret);
	tessera_cmdbuf_reset(gpu->cb);
	tessera_bo_del(staging);
	return ret;
}

/* Repeat the tile in the corner over the texture, each copy twice as long as the one before. */
static int repeat_tile(struct gpu *gpu, const struct scene_texture *t)
{
	struct tessera_rect r = { 0, 0, 0,
				  t->tile_height < t->height ? t->tile_height : t->height };
	int ret = 0;

	for (uint32_t x = t->tile_width; x < t->width && !ret; x *= 2) {
		r.width = x < t->width - x ? x : t->width - x;
		ret = tessera_cmdbuf_copy(gpu->cb, SLOT_TARGET, x, 0, SLOT_TARGET, &r);
	}
	r.width = t->width;
	for (uint32_t y = t->tile_height; y < t->height && !ret; y *= 2) {
		r.height = y < t->height - y ? y : t->height - y;
		ret = tessera_cmdbuf_copy(gpu->cb, SLOT_TARGET, 0, y, SLOT_TARGET, &r);
	}
	return ret;
}

static int make_variant(struct gpu *gpu, const struct scene_texture *t,
			const struct gpu_texture *from, const struct gpu_texture *to)
{
	const struct tessera_rect src = { 0, 0, t->image->width, t->image->height };
	const struct tessera_rect dst = { 0, 0, t->tile_width, t->tile_height };
	int ret;

	(void)tessera_cmdbuf_bind(gpu->cb, SLOT_SOURCE, from->bo, &from->view);
	(void)tessera_cmdbuf_bind(gpu->cb, SLOT_TARGET, to->bo, &to->view);
	ret = tessera_cmdbuf_blit(gpu->cb, SLOT_TARGET, &dst, SLOT_SOURCE, &src, TSR_SAMPLER_LINEAR,
				  TSR_BLEND_NONE, t->tint);
	return ret ? ret : repeat_tile(gpu, t);
}

static int make_variants(struct gpu *gpu, const struct scene *scene, struct summary *summary)
{
	struct tessera_fence *fence;
	bool any = false;
	int ret = 0;

	for (uint32_t i = 0; i < scene->num_textures && !ret; i++) {
		const struct scene_texture *t = &scene->textures[i];

		if (!t->variant)
			continue;
		any = true;
		ret = make_variant(gpu, t, &gpu->small[t->image_index], &gpu->textures[i]);
	}
	if (ret)
		complain("variants", ret);
	else if (any)
		ret = run(gpu, summary, JOB_VARIANTS, true, &fence);
	tessera_cmdbuf_reset(gpu->cb);
	return ret;
}

int gpu_prepare(struct gpu *gpu, const struct scene *scene, struct summary *summary)
{
	uint64_t start = now_ns(), upload_bytes;
	int ret;

	gpu->textures = calloc(scene->num_textures, sizeof(*gpu->textures));
	if (!gpu->textures)
		return complain("textures", -ENOMEM);
	gpu->num_textures = scene->num_textures;
	/* First: what comes later pushes them out. */
	ret = writes_new(gpu->dev, scene, gpu->textures, summary, &gpu->writes);
	if (!ret)
		ret = writes_begin(gpu->writes);
	if (ret)
		return ret;
	ret = make_textures(gpu, scene, &upload_bytes);
	if (ret)
		return complain("textures", ret);
	summary->phase_ns[PHASE_SETUP] += now_ns() - start;

	start = now_ns();
	ret = upload(gpu, scene, upload_bytes, summary);
	summary->phase_ns[PHASE_UPLOAD] = now_ns() - start;
	if (ret)
		return ret;
	start = now_ns();
	ret = make_variants(gpu, scene, summary);
	summary->phase_ns[PHASE_VARIANTS] = now_ns() - start;
	return ret;
}

/* ---- The scene ------------------------------------------------------------------- */

_Static_assert(sizeof(struct vertex) == TSR_VERTEX_BYTES, "vertex");

static int make_vertices(struct gpu *gpu, const struct scene *scene, struct tessera_bo **out)
{
	size_t size = scene->num_draws * sizeof(scene->draws[0].vertices);
	struct vertex *map;
	int ret;

	ret = tessera_bo_new_for(gpu->dev, TESSERA_USAGE_VERTEX, size, NULL, out);
	if (ret)
		return ret;
	ret = tessera_bo_map(*out, (void **)&map);
	if (ret) {
		tessera_bo_del(*out);
		return ret;
	}
	for (uint32_t i = 0; i < scene->num_draws; i++)
		memcpy(map + (size_t)i * 6, scene->draws[i].vertices,
		       sizeof(scene->draws[i].vertices));
	return tessera_bo_unmap(*out);
}

static int record_draw(struct gpu *gpu, const struct scene *scene, uint32_t index)
{
	const struct scene_draw *draw = &scene->draws[index];
	struct tessera_cmdbuf *cb = gpu->cb;
	bool textured = draw->texture >= 0;

	if (textured) {
		struct tessera_view view = gpu->textures[draw->texture].view;

		view.access = TSR_SURF_READ;
		(void)tessera_cmdbuf_bind(cb, SLOT_TEXTURE, gpu->textures[draw->texture].bo, &view);
		(void)tessera_cmdbuf_state(cb, TSR_STATE_TEXTURE_SLOT, SLOT_TEXTURE);
		(void)tessera_cmdbuf_state(cb, TSR_STATE_SAMPLER, draw->sampler);
	}
	(void)tessera_cmdbuf_state(cb, TSR_STATE_BLEND, draw->blend);
	(void)tessera_cmdbuf_state(cb, TSR_STATE_COLOR, draw->color);
	(void)tessera_cmdbuf_draw(cb, SLOT_VERTICES, index * sizeof(draw->vertices),
				  draw->num_vertices, textured ? TSR_DRAW_TEXTURED : 0);
	/* SPLIT-22: no longer needed. */
	return textured ? tessera_cmdbuf_unbind(cb, SLOT_TEXTURE) : 0;
}

/* What is drawn on, and with: the same for both submissions. */
struct stage {
	struct gpu_texture target, readback;
	struct tessera_bo *vertices;
};

/* Draws [@first, @end); the first ones on a cleared target, after the last ones it is copied. */
static int record(struct gpu *gpu, const struct scene *scene, const struct stage *stage,
		  uint32_t first, uint32_t end)
{
	const struct tessera_rect all = { 0, 0, scene->width, scene->height };
	struct tessera_cmdbuf *cb = gpu->cb;
	struct tessera_view vertex_view;
	int ret = 0;

	tessera_cmdbuf_reset(cb);
	tessera_view_init_buffer(&vertex_view);
	(void)tessera_cmdbuf_bind(cb, SLOT_TARGET, stage->target.bo, &stage->target.view);
	(void)tessera_cmdbuf_bind(cb, SLOT_VERTICES, stage->vertices, &vertex_view);
	(void)tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, SLOT_TARGET);
	(void)tessera_cmdbuf_state(cb, TSR_STATE_SCISSOR_MAX, scene->width | scene->height << 16);
	if (!first)
		(void)tessera_cmdbuf_fill(cb, SLOT_TARGET, &all, scene->clear);
	for (uint32_t i = first; i < end && !ret; i++)
		ret = record_draw(gpu, scene, i);
	(void)tessera_cmdbuf_unbind(cb, SLOT_VERTICES);
	if (ret || end != scene->num_draws)
		return ret;
	(void)tessera_cmdbuf_bind(cb, SLOT_READBACK, stage->readback.bo, &stage->readback.view);
	return tessera_cmdbuf_copy(cb, SLOT_READBACK, 0, 0, SLOT_TARGET, &all);
}

static void count_split_points(struct gpu *gpu, struct summary *summary)
{
	struct tessera_stream s;

	tessera_cmdbuf_stream(gpu->cb, &s);
	summary->cmd_bytes = s.cmd_bytes;
	summary->patches = s.num_patches;
	summary->allocs = s.num_allocs;
	for (uint32_t i = 0; i < s.num_patches; i++)
		summary->split_points +=
			!i || s.patches[i].split_offset != s.patches[i - 1].split_offset;
}

static void read_memory_use(struct gpu *gpu, struct summary *summary)
{
	const struct drm_tessera_query_segment *segment;
	struct drm_tessera_query_memory memory[31];
	int used = tessera_device_memory(gpu->dev, memory, sizeof(memory[0]), 31);

	for (uint32_t i = 0; i < 31 && (segment = tessera_device_segment_at(gpu->dev, i)); i++) {
		summary->segments[i].id = segment->id;
		summary->segments[i].total = segment->size;
		snprintf(summary->segments[i].name, sizeof(summary->segments[i].name), "%s",
			 segment->name);
		for (int j = 0; j < used; j++) {
			if (memory[j].segment == segment->id)
				summary->segments[i].used = memory[j].used;
		}
		summary->num_segments = i + 1;
	}
}

/* The sheet, in one submission, while the CPU writes what the late draws use. */
static int render_scene(struct gpu *gpu, const struct scene *scene, const struct stage *stage,
			struct summary *summary)
{
	struct tessera_fence *fence;
	int ret, job_error, written;
	uint64_t start = now_ns();

	ret = record(gpu, scene, stage, 0, scene->first_late);
	if (ret)
		return complain("record", ret);
	summary->phase_ns[PHASE_RECORD] = now_ns() - start;
	start = now_ns();
	ret = run(gpu, summary, JOB_SCENE, false, &fence);
	if (ret)
		return ret;
	summary->phase_ns[PHASE_SUBMIT] = now_ns() - start;
	count_split_points(gpu, summary);
	start = now_ns();
	written = writes_replace(gpu->writes);
	ret = tessera_fence_wait(fence, TESSERA_FOREVER, &job_error);
	tessera_fence_del(fence);
	summary->phase_ns[PHASE_RENDER] = now_ns() - start;
	if (ret || job_error)
		return complain("rendering", ret ? ret : job_error);
	return written;
}

static int render_late(struct gpu *gpu, const struct scene *scene, const struct stage *stage,
		       struct summary *summary)
{
	struct tessera_fence *fence;
	uint64_t start = now_ns();
	int ret = record(gpu, scene, stage, scene->first_late, scene->num_draws);

	if (ret)
		return complain("record", ret);
	ret = run(gpu, summary, JOB_LATE, true, &fence);
	summary->phase_ns[PHASE_LATE] = now_ns() - start;
	return ret;
}

static int read_back(struct gpu *gpu, const struct stage *stage, struct image *out,
		     struct summary *summary)
{
	struct drm_tessera_query_device info;
	uint64_t start = now_ns();
	int ret = tessera_bo_read(stage->readback.bo, 0, out->texels,
				  (size_t)out->width * out->height * 4);

	if (ret)
		return complain("read back", ret);
	summary->phase_ns[PHASE_READBACK] = now_ns() - start;
	if (!tessera_device_refresh(gpu->dev, &info, sizeof(info)))
		summary->guest_errors = info.guest_errors;
	return 0;
}

static int render(struct gpu *gpu, const struct scene *scene, const struct stage *stage,
		  struct image *out, struct summary *summary)
{
	int ret = render_scene(gpu, scene, stage, summary);
	int written = writes_end(gpu->writes);

	if (!ret)
		ret = written;
	if (ret)
		return ret;
	read_memory_use(gpu, summary);
	ret = render_late(gpu, scene, stage, summary);
	if (ret)
		return ret;
	summary_fdinfo(tessera_device_fd(gpu->dev), summary);
	return read_back(gpu, stage, out, summary);
}

int gpu_render(struct gpu *gpu, const struct scene *scene, struct image *out,
	       struct summary *summary)
{
	struct stage stage = { 0 };
	uint64_t size;
	int ret;

	*out = (struct image){ .width = scene->width, .height = scene->height };
	out->texels = calloc((size_t)out->width * out->height, 4);
	if (!out->texels)
		return complain("picture", -ENOMEM);
	ret = texture_new(gpu, scene->width, scene->height, TSR_LAYOUT_TILE4K, &stage.target);
	if (!ret)
		ret = tessera_view_init(&stage.readback.view, TSR_FORMAT_ARGB8888,
					TSR_LAYOUT_LINEAR, scene->width, scene->height, &size);
	if (!ret)
		ret = tessera_bo_new_for(gpu->dev, TESSERA_USAGE_STAGING, size, NULL,
					 &stage.readback.bo);
	if (!ret)
		ret = make_vertices(gpu, scene, &stage.vertices);
	if (ret)
		complain("render target", ret);
	else
		ret = render(gpu, scene, &stage, out, summary);
	tessera_cmdbuf_reset(gpu->cb);
	tessera_bo_del(stage.vertices);
	tessera_bo_del(stage.readback.bo);
	tessera_bo_del(stage.target.bo);
	return ret;
}
