// SPDX-License-Identifier: MIT
/*
 * The GPU renderer: upload the images as swizzled textures, make the variants,
 * record and submit the scene, and read the picture back.
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
	struct worker worker;
	struct gpu_texture *textures; /* same indices as in the scene */
	uint32_t num_textures;
	struct gpu_texture small[DEMO_MAX_IMAGES]; /* sources of the variants */
	struct writes *writes; /* textures that the CPU writes */
	struct watch *watch;
	uint32_t techniques; /* TECHNIQUE_BIT() of techniques in use */
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

static int make_vm_context(struct gpu *gpu, const struct tessera_context_desc *desc)
{
	struct tessera_vm *vm;
	int ret = tessera_vm_new(gpu->dev, &vm);

	if (ret)
		return ret;
	ret = tessera_context_new_vm(vm, desc, &gpu->ctx);
	tessera_vm_del(vm);
	return ret;
}

/* The addressing model is chosen here. The rest is the same for both. */
static int make_context(struct gpu *gpu, const struct options *options)
{
	struct tessera_context_desc desc;
	int ret = tessera_context_desc_init(gpu->dev, &desc);

	if (ret)
		return ret;
	if (options->vm)
		return make_vm_context(gpu, &desc);
	if (options->split == SPLIT_ALL)
		desc.flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL;
	if (options->split == SPLIT_RANDOM) {
		desc.flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
		desc.split_seed = options->split_seed;
	}
	return tessera_context_new_desc(gpu->dev, &desc, &gpu->ctx);
}

static bool uses(const struct gpu *gpu, enum demo_technique technique)
{
	return gpu->techniques & TECHNIQUE_BIT(technique);
}

/* Segments whose objects jobs can only read: they show system pages. */
static uint32_t read_only_set(const struct gpu *gpu)
{
	return tessera_device_segment_set(
		gpu->dev, DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_GPU_READ_ONLY, 0);
}

/*
 * Jobs of VMs do not say what they write, so the kernel lets them use an object
 * in its write set only.
 */
static void choose_techniques(struct gpu *gpu, const struct options *options)
{
	gpu->techniques = TECHNIQUE_BIT(TECHNIQUE_COUNT) - 1;
	if (options->vm || !read_only_set(gpu))
		gpu->techniques &= ~TECHNIQUE_BIT(TECHNIQUE_READ_SETS);
	gpu->techniques &= ~options->without;
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
		ret = worker_init(&gpu->worker, gpu->ctx, summary);
	if (ret) {
		gpu_close(gpu);
		return complain("context", ret);
	}
	choose_techniques(gpu, options);
	summary->techniques = gpu->techniques;
	summary->video_memory = video_memory(gpu->dev);
	*out = gpu;
	return 0;
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	writes_del(gpu->writes);
	watch_del(gpu->watch);
	for (uint32_t i = 0; i < gpu->num_textures; i++)
		tessera_bo_del(gpu->textures[i].bo);
	for (uint32_t i = 0; i < DEMO_MAX_IMAGES; i++)
		tessera_bo_del(gpu->small[i].bo);
	free(gpu->textures);
	worker_fini(&gpu->worker);
	tessera_context_del(gpu->ctx);
	tessera_device_del(gpu->dev);
	free(gpu);
}

/*
 * Create an object that only jobs of the scene use. With a VM it is private to
 * it.
 */
static int object_new_desc(struct gpu *gpu, struct tessera_bo_desc *desc, struct tessera_bo **out)
{
	tessera_bo_desc_private(desc, gpu->worker.vm);
	return tessera_bo_new(gpu->dev, desc, out);
}

static int object_new(struct gpu *gpu, enum tessera_usage usage, uint64_t size,
		      struct tessera_bo **out)
{
	struct tessera_bo_desc desc;
	int ret = tessera_bo_desc_init(gpu->dev, &desc, usage, size, NULL);

	return ret ? ret : object_new_desc(gpu, &desc, out);
}

/*
 * A texture that is read once is not worth a copy to memory. Jobs read it in
 * the read-only aperture, where it is unless a job writes it.
 */
static void desc_read_set(const struct gpu *gpu, struct tessera_bo_desc *desc)
{
	uint32_t set = read_only_set(gpu);

	desc->write_set = desc->supported;
	desc->supported |= set;
	if (desc->num_preferred == DRM_TESSERA_MAX_PREFERRED)
		desc->num_preferred--;
	memmove(desc->preferred + 1, desc->preferred,
		desc->num_preferred * sizeof(desc->preferred[0]));
	desc->preferred[0] = __builtin_ctz(set);
	desc->num_preferred++;
}

/*
 * The client gives up the textures of the lowest priority first. Without
 * priorities, the frames evict what comes back next, because it was used
 * longest ago.
 */
static void desc_use(const struct gpu *gpu, enum scene_use use, struct tessera_bo_desc *desc)
{
	if (use == USE_AGAIN && uses(gpu, TECHNIQUE_PRIORITIES))
		desc->priority = DRM_TESSERA_BO_PRIORITY_MAX;
	if (use == USE_ONCE && uses(gpu, TECHNIQUE_READ_SETS))
		desc_read_set(gpu, desc);
}

static int texture_new(struct gpu *gpu, uint32_t width, uint32_t height, uint32_t layout,
		       enum scene_use use, struct gpu_texture *texture)
{
	struct tessera_bo_desc desc;
	uint64_t size;
	int ret = tessera_view_init(&texture->view, TSR_FORMAT_ARGB8888, layout, width, height,
				    &size);

	if (!ret)
		ret = tessera_bo_desc_init(gpu->dev, &desc, TESSERA_USAGE_TEXTURE, size,
					   &texture->view);
	if (ret)
		return ret;
	desc_use(gpu, use, &desc);
	return object_new_desc(gpu, &desc, &texture->bo);
}

/* Keep an object resident for all submissions until it is deleted. */
static int keep(struct gpu *gpu, struct tessera_bo *bo)
{
	return tessera_vm_make_resident(gpu->worker.vm, &bo, 1);
}

/* ---- Textures ------------------------------------------------------------ */

/* State of the upload of images to textures. */
struct upload {
	struct gpu *gpu;
	const struct scene *scene;
	struct tessera_bo *staging;
	uint64_t *offsets; /* offsets in staging, by texture */
};

static struct gpu_texture *upload_target(const struct upload *u, uint32_t index)
{
	const struct scene_texture *t = &u->scene->textures[index];

	return t->variant ? &u->gpu->small[t->image_index] : &u->gpu->textures[index];
}

/* Record a copy of an image from the staging buffer. */
static int upload_step(void *arg, uint32_t index)
{
	const struct upload *u = arg;
	const struct image *image = u->scene->textures[index].image;
	const struct gpu_texture *texture = upload_target(u, index);
	const struct tessera_rect rect = { 0, 0, image->width, image->height };
	struct tessera_cmdbuf *cb = u->gpu->worker.cb;
	struct tessera_view source = texture->view;

	source.layout = TSR_LAYOUT_LINEAR;
	source.access = TSR_SURF_READ;
	source.pitch = image->width * 4;
	source.offset = u->offsets[index];
	(void)tessera_cmdbuf_bind(cb, SLOT_SOURCE, u->staging, &source);
	(void)tessera_cmdbuf_bind(cb, SLOT_TARGET, texture->bo, &texture->view);
	/*
	 * The buffer keeps the first error and returns it here or from submit.
	 */
	return tessera_cmdbuf_copy(cb, SLOT_TARGET, 0, 0, SLOT_SOURCE, &rect);
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
		ret = texture_new(gpu, t->width, t->height, t->layout, t->use, &gpu->textures[i]);
		if (!ret && first_small)
			ret = texture_new(gpu, t->image->width, t->image->height, TSR_LAYOUT_MORTON,
					  USE_SOME, small);
		if (!t->variant || first_small)
			*upload_bytes += ((uint64_t)t->image->width * t->image->height * 4 + 7) &
					 ~UINT64_C(7);
	}
	return ret;
}

/*
 * Write the images into the staging buffer and add one step for each. The small
 * version of an image is added once.
 */
static int upload_fill(struct upload *u, struct work *work)
{
	bool done[DEMO_MAX_IMAGES] = { false };
	uint64_t offset = 0;
	uint8_t *map;
	int ret = tessera_bo_map(u->staging, (void **)&map);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < u->scene->num_textures; i++) {
		const struct scene_texture *t = &u->scene->textures[i];
		size_t bytes = (size_t)t->image->width * t->image->height * 4;

		if (t->way != WAY_JOBS || (t->variant && done[t->image_index]))
			continue;
		done[t->image_index] |= t->variant;
		memcpy(map + offset, t->image->texels, bytes);
		u->offsets[i] = offset;
		offset += (bytes + 7) & ~(size_t)7;
		work_add(work, i, upload_target(u, i)->bo);
	}
	ret = tessera_bo_invalidate_cache(u->staging, 0, tessera_bo_size(u->staging));
	(void)tessera_bo_unmap(u->staging);
	return ret;
}

static int upload(struct gpu *gpu, const struct scene *scene, uint64_t bytes)
{
	struct upload u = { .gpu = gpu, .scene = scene };
	struct work work = { .job = JOB_UPLOAD, .step = upload_step, .arg = &u };
	int ret;

	ret = object_new(gpu, TESSERA_USAGE_STAGING, bytes, &u.staging);
	if (ret)
		return complain("staging buffer", ret);
	u.offsets = calloc(scene->num_textures, sizeof(*u.offsets));
	ret = u.offsets ? work_init(&work, scene->num_textures) : -ENOMEM;
	if (!ret)
		ret = keep(gpu, u.staging);
	if (!ret)
		ret = upload_fill(&u, &work);
	if (ret)
		complain("upload", ret);
	else
		ret = work_run(&gpu->worker, &work);
	tessera_cmdbuf_reset(gpu->worker.cb);
	work_fini(&work);
	free(u.offsets);
	tessera_bo_del(u.staging);
	return ret;
}

/*
 * Repeat the tile of the corner over the whole texture. Each copy is twice as
 * large as the previous one.
 */
static int repeat_tile(struct gpu *gpu, const struct scene_texture *t)
{
	struct tessera_rect r = { 0, 0, 0,
				  t->tile_height < t->height ? t->tile_height : t->height };
	int ret = 0;

	for (uint32_t x = t->tile_width; x < t->width && !ret; x *= 2) {
		r.width = x < t->width - x ? x : t->width - x;
		ret = tessera_cmdbuf_copy(gpu->worker.cb, SLOT_TARGET, x, 0, SLOT_TARGET, &r);
	}
	r.width = t->width;
	for (uint32_t y = t->tile_height; y < t->height && !ret; y *= 2) {
		r.height = y < t->height - y ? y : t->height - y;
		ret = tessera_cmdbuf_copy(gpu->worker.cb, SLOT_TARGET, 0, y, SLOT_TARGET, &r);
	}
	return ret;
}

/*
 * Objects that all submissions use: the scene, its vertices, the render target
 * and the readback buffer. Fields that a submission does not need are NULL.
 */
struct stage {
	struct gpu *gpu;
	const struct scene *scene;
	struct gpu_texture target, readback;
	struct tessera_bo *vertices;
};

static int variant_step(void *arg, uint32_t index)
{
	const struct stage *stage = arg;
	struct gpu *gpu = stage->gpu;
	const struct scene_texture *t = &stage->scene->textures[index];
	const struct gpu_texture *from = &gpu->small[t->image_index], *to = &gpu->textures[index];
	const struct tessera_rect src = { 0, 0, t->image->width, t->image->height };
	const struct tessera_rect dst = { 0, 0, t->tile_width, t->tile_height };
	struct tessera_cmdbuf *cb = gpu->worker.cb;
	int ret;

	(void)tessera_cmdbuf_bind(cb, SLOT_SOURCE, from->bo, &from->view);
	(void)tessera_cmdbuf_bind(cb, SLOT_TARGET, to->bo, &to->view);
	ret = tessera_cmdbuf_blit(cb, SLOT_TARGET, &dst, SLOT_SOURCE, &src, TSR_SAMPLER_LINEAR,
				  TSR_BLEND_NONE, t->tint);
	return ret ? ret : repeat_tile(gpu, t);
}

/* The source images of the variants are small and stay resident. */
static int keep_sources(struct gpu *gpu)
{
	int ret = 0;

	for (uint32_t i = 0; i < DEMO_MAX_IMAGES && !ret; i++)
		ret = gpu->small[i].bo ? keep(gpu, gpu->small[i].bo) : 0;
	return ret;
}

static int make_variants(struct gpu *gpu, const struct scene *scene)
{
	struct stage stage = { .gpu = gpu, .scene = scene };
	struct work work = { .job = JOB_VARIANTS, .step = variant_step, .arg = &stage };
	int ret = work_init(&work, scene->num_textures);

	if (!ret)
		ret = keep_sources(gpu);
	for (uint32_t i = 0; i < scene->num_textures && !ret; i++) {
		if (scene->textures[i].variant)
			work_add(&work, i, gpu->textures[i].bo);
	}
	if (ret)
		complain("variants", ret);
	else if (work.count)
		ret = work_run(&gpu->worker, &work);
	tessera_cmdbuf_reset(gpu->worker.cb);
	for (uint32_t i = 0; i < DEMO_MAX_IMAGES; i++) {
		tessera_bo_del(gpu->small[i].bo);
		gpu->small[i].bo = NULL;
	}
	work_fini(&work);
	return ret;
}

/*
 * The scene only reads the textures, so that nothing is copied when they make
 * way for each other (RES-9).
 */
static int protect_textures(struct gpu *gpu, const struct scene *scene)
{
	struct tessera_vm *vm = uses(gpu, TECHNIQUE_CLEAN_EVICTION) ? gpu->worker.vm : NULL;
	int ret = 0;

	for (uint32_t i = 0; i < scene->num_textures && vm && !ret; i++) {
		if (scene->textures[i].way == WAY_JOBS)
			ret = tessera_vm_protect(vm, gpu->textures[i].bo,
						 DRM_TESSERA_VM_BIND_READ_ONLY);
	}
	return ret ? complain("read-only textures", ret) : 0;
}

int gpu_prepare(struct gpu *gpu, const struct scene *scene, struct summary *summary)
{
	uint64_t start = now_ns(), upload_bytes;
	int ret;

	gpu->textures = calloc(scene->num_textures, sizeof(*gpu->textures));
	if (!gpu->textures)
		return complain("textures", -ENOMEM);
	gpu->num_textures = scene->num_textures;
	/* First, so that later objects evict these textures. */
	gpu->watch = watch_new();
	ret = writes_new(gpu->dev, scene, gpu->worker.vm, gpu->watch, gpu->textures, summary,
			 &gpu->writes);
	if (!ret)
		ret = writes_begin(gpu->writes);
	if (ret)
		return ret;
	ret = make_textures(gpu, scene, &upload_bytes);
	if (ret)
		return complain("textures", ret);
	summary->phase_ns[PHASE_SETUP] += now_ns() - start;

	start = now_ns();
	ret = upload(gpu, scene, upload_bytes);
	summary->phase_ns[PHASE_UPLOAD] = now_ns() - start;
	if (ret)
		return ret;
	start = now_ns();
	ret = make_variants(gpu, scene);
	if (!ret)
		ret = protect_textures(gpu, scene);
	summary->phase_ns[PHASE_VARIANTS] = now_ns() - start;
	return ret;
}

/* ---- The scene ----------------------------------------------------------- */

_Static_assert(sizeof(struct vertex) == TSR_VERTEX_BYTES, "vertex");

static int make_vertices(struct gpu *gpu, const struct scene *scene, struct tessera_bo **out)
{
	size_t size = scene->num_draws * sizeof(scene->draws[0].vertices);
	struct vertex *map;
	int ret;

	ret = object_new(gpu, TESSERA_USAGE_VERTEX, size, out);
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

/*
 * Bindings and state of all draws of a submission. The first submission also
 * clears the target.
 */
static int scene_begin(void *arg, bool first)
{
	const struct stage *stage = arg;
	const struct scene *scene = stage->scene;
	const struct tessera_rect all = { 0, 0, scene->width, scene->height };
	struct tessera_cmdbuf *cb = stage->gpu->worker.cb;
	struct tessera_view vertex_view;

	tessera_view_init_buffer(&vertex_view);
	(void)tessera_cmdbuf_bind(cb, SLOT_TARGET, stage->target.bo, &stage->target.view);
	(void)tessera_cmdbuf_bind(cb, SLOT_VERTICES, stage->vertices, &vertex_view);
	(void)tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, SLOT_TARGET);
	(void)tessera_cmdbuf_state(cb, TSR_STATE_SCISSOR_MAX, scene->width | scene->height << 16);
	return first ? tessera_cmdbuf_fill(cb, SLOT_TARGET, &all, scene->clear) : 0;
}

static int over_begin(void *arg, bool first)
{
	(void)first;
	return scene_begin(arg, false);
}

/*
 * Bindings that jobs only read through say that the object stays clean (RES-9).
 * A job that may write an object finds it in the write set, so objects with a
 * read set are never bound for writing.
 */
static uint32_t texture_access(const struct gpu *gpu, const struct scene_texture *t)
{
	bool read_set = t->use == USE_ONCE && uses(gpu, TECHNIQUE_READ_SETS);

	if (read_set || t->way != WAY_JOBS || uses(gpu, TECHNIQUE_CLEAN_EVICTION))
		return TSR_SURF_READ;
	return TSR_SURF_READ | TSR_SURF_WRITE;
}

static int scene_step(void *arg, uint32_t index)
{
	const struct stage *stage = arg;
	const struct scene_draw *draw = &stage->scene->draws[index];
	struct tessera_cmdbuf *cb = stage->gpu->worker.cb;
	bool textured = draw->texture >= 0;

	if (textured) {
		const struct gpu_texture *texture = &stage->gpu->textures[draw->texture];
		struct tessera_view view = texture->view;

		view.access = texture_access(stage->gpu, &stage->scene->textures[draw->texture]);
		(void)tessera_cmdbuf_bind(cb, SLOT_TEXTURE, texture->bo, &view);
		(void)tessera_cmdbuf_state(cb, TSR_STATE_TEXTURE_SLOT, SLOT_TEXTURE);
		(void)tessera_cmdbuf_state(cb, TSR_STATE_SAMPLER, draw->sampler);
	}
	(void)tessera_cmdbuf_state(cb, TSR_STATE_BLEND, draw->blend);
	(void)tessera_cmdbuf_state(cb, TSR_STATE_COLOR, draw->color);
	(void)tessera_cmdbuf_draw(cb, SLOT_VERTICES, index * sizeof(draw->vertices),
				  draw->num_vertices, textured ? TSR_DRAW_TEXTURED : 0);
	/* SPLIT-22: unbind objects that are not needed any more. */
	return textured ? tessera_cmdbuf_unbind(cb, SLOT_TEXTURE) : 0;
}

static int scene_end(void *arg)
{
	const struct stage *stage = arg;

	return tessera_cmdbuf_unbind(stage->gpu->worker.cb, SLOT_VERTICES);
}

/* Copy the picture to a buffer for the CPU. */
static int late_end(void *arg)
{
	const struct stage *stage = arg;
	const struct tessera_rect all = { 0, 0, stage->scene->width, stage->scene->height };
	struct tessera_cmdbuf *cb = stage->gpu->worker.cb;

	(void)tessera_cmdbuf_unbind(cb, SLOT_VERTICES);
	(void)tessera_cmdbuf_bind(cb, SLOT_READBACK, stage->readback.bo, &stage->readback.view);
	return tessera_cmdbuf_copy(cb, SLOT_READBACK, 0, 0, SLOT_TARGET, &all);
}

/* Draws [@first, @end). */
static int add_draws(const struct stage *stage, struct work *work, uint32_t first, uint32_t end)
{
	int ret = work_init(work, end - first);

	for (uint32_t i = first; i < end && !ret; i++) {
		int texture = stage->scene->draws[i].texture;

		work_add(work, i,
			 texture < 0 ? stage->target.bo : stage->gpu->textures[texture].bo);
	}
	return ret ? complain("draws", ret) : 0;
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

static int submit_scene(struct stage *stage, struct work *work, struct summary *summary)
{
	struct gpu *gpu = stage->gpu;
	struct tessera_fence *fence;
	uint64_t start = now_ns();
	int ret = work_submit(&gpu->worker, work, &fence), written;

	summary->phase_ns[PHASE_RECORD] = work->record_ns;
	summary->phase_ns[PHASE_SUBMIT] = work->submit_ns;
	if (ret) {
		tessera_fence_del(fence);
		return ret;
	}
	start = now_ns();
	written = writes_replace(gpu->writes, gpu->worker.timeline, gpu->worker.point);
	ret = work_wait(fence);
	summary->phase_ns[PHASE_RENDER] = now_ns() - start;
	return ret ? ret : written;
}

/* Draw the sheet while the CPU writes the textures of the late draws. */
static int render_scene(struct stage *stage, struct summary *summary)
{
	struct work work = {
		.job = JOB_SCENE,
		.begin = scene_begin,
		.step = scene_step,
		.end = scene_end,
		.arg = stage,
	};
	int fd = tessera_device_fd(stage->gpu->dev);
	int ret = add_draws(stage, &work, 0, stage->scene->first_frame[0]);
	uint64_t start = now_ns(), before;

	if (ret)
		return ret;
	summary_fdinfo(fd, summary);
	before = summary->render_ns;
	ret = submit_scene(stage, &work, summary);
	summary_fdinfo(fd, summary);
	summary->scene_ns = now_ns() - start;
	summary->scene_render_ns = summary->render_ns - before;
	work_fini(&work);
	return ret;
}

/* Submit the draws [first, end) over what is there. */
static int draw_over(struct stage *stage, enum demo_job job, int (*finish)(void *arg),
		     uint32_t first, uint32_t end)
{
	struct work work = {
		.job = job,
		.begin = over_begin,
		.step = scene_step,
		.end = finish,
		.arg = stage,
	};
	int ret = add_draws(stage, &work, first, end);

	if (!ret)
		ret = work_run(&stage->gpu->worker, &work);
	work_fini(&work);
	return ret;
}

/*
 * Draw over the sheet, one submission after the other. The kernel does not know
 * what the next one uses.
 */
static int render_frames(struct stage *stage, struct summary *summary)
{
	const uint32_t *draws = stage->scene->first_frame;
	uint64_t start = now_ns();
	int ret = 0;

	for (uint32_t i = 0; i < DEMO_FRAMES && !ret; i++)
		if (draws[i] < draws[i + 1])
			ret = draw_over(stage, JOB_FRAMES, scene_end, draws[i], draws[i + 1]);
	summary->phase_ns[PHASE_FRAMES] = now_ns() - start;
	return ret;
}

static int render_late(struct stage *stage, struct summary *summary)
{
	uint64_t start = now_ns();
	int ret = draw_over(stage, JOB_LATE, late_end, stage->scene->first_late,
			    stage->scene->num_draws);

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

static int render(struct stage *stage, struct image *out, struct summary *summary)
{
	struct gpu *gpu = stage->gpu;
	int ret = render_scene(stage, summary), written;

	if (!ret)
		ret = render_frames(stage, summary);
	written = writes_end(gpu->writes);
	if (!ret)
		ret = written;
	if (ret)
		return ret;
	read_memory_use(gpu, summary);
	ret = render_late(stage, summary);
	watch_read(gpu->watch, summary);
	if (ret)
		return ret;
	summary_fdinfo(tessera_device_fd(gpu->dev), summary);
	return read_back(gpu, stage, out, summary);
}

static int stage_init(struct stage *stage)
{
	const struct scene *scene = stage->scene;
	struct gpu *gpu = stage->gpu;
	uint64_t size;
	int ret;

	ret = texture_new(gpu, scene->width, scene->height, TSR_LAYOUT_TILE4K, USE_SOME,
			  &stage->target);
	if (!ret)
		ret = tessera_view_init(&stage->readback.view, TSR_FORMAT_ARGB8888,
					TSR_LAYOUT_LINEAR, scene->width, scene->height, &size);
	if (!ret)
		ret = object_new(gpu, TESSERA_USAGE_STAGING, size, &stage->readback.bo);
	if (!ret)
		ret = make_vertices(gpu, scene, &stage->vertices);
	if (!ret)
		ret = keep(gpu, stage->target.bo);
	if (!ret)
		ret = keep(gpu, stage->readback.bo);
	if (!ret)
		ret = keep(gpu, stage->vertices);
	return ret ? complain("render target", ret) : 0;
}

int gpu_render(struct gpu *gpu, const struct scene *scene, struct image *out,
	       struct summary *summary)
{
	struct stage stage = { .gpu = gpu, .scene = scene };
	int ret;

	*out = (struct image){ .width = scene->width, .height = scene->height };
	out->texels = calloc((size_t)out->width * out->height, 4);
	if (!out->texels)
		return complain("picture", -ENOMEM);
	ret = stage_init(&stage);
	if (!ret)
		ret = render(&stage, out, summary);
	tessera_cmdbuf_reset(gpu->worker.cb);
	tessera_bo_del(stage.vertices);
	tessera_bo_del(stage.readback.bo);
	tessera_bo_del(stage.target.bo);
	return ret;
}
