// SPDX-License-Identifier: MIT
/*
 * Textures that the CPU writes through kept pointers while the GPU draws a
 * scene that does not fit in memory. The memory that backs a pointer changes
 * all the time. The bytes that the CPU reads through it must not.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

#define PAUSE_NS 5000000 /* between rounds: the emulated GPU needs CPU time, too */
#define FILLED 0xff5a5a5a /* texel that a job fills in before the first round */

struct written {
	uint32_t index; /* of the texture */
	const struct scene_texture *texture;
	struct gpu_texture *out; /* the texture as jobs see it */
	struct tessera_bo *bo; /* NULL for WAY_SURFACE */
	struct tessera_surface *surface; /* WAY_SURFACE only */
	struct tessera_buffer *buffer; /* WAY_DISCARD with virtual addresses: holds the objects */
	uint32_t pitch;
	uint8_t *map; /* kept pointer; NULL for WAY_SURFACE */
};

struct writes {
	struct tessera_device *dev;
	bool vm; /* jobs of the scene use virtual addresses */
	struct tessera_context *ctx; /* separate, because the scene's context is busy */
	struct written *written;
	uint32_t num_written;
	struct summary *summary;
	struct watch *watch;
	pthread_t thread;
	bool started;
	atomic_bool stop;
	int error; /* set by the thread */
};

static int complain(const char *what, int error)
{
	fprintf(stderr, "tessera-demo: %s: %s\n", what, strerror(-error));
	return error;
}

/* ---- Objects ------------------------------------------------------------- */

/* Segments in which the CPU accesses a texture in the given way. */
static int way_desc(struct tessera_device *dev, enum demo_way way, struct tessera_bo_desc *desc)
{
	const uint32_t aperture = DRM_TESSERA_SEGMENT_APERTURE;
	const uint32_t read_only = DRM_TESSERA_SEGMENT_GPU_READ_ONLY;
	uint32_t hidden =
		tessera_device_segment_set(dev, DRM_TESSERA_SEGMENT_HOST_APERTURE, aperture);

	desc->flags = DRM_TESSERA_BO_CPU_ACCESS;
	desc->num_preferred = 0;
	memset(desc->preferred, 0, sizeof(desc->preferred));
	if (way == WAY_HOST_APERTURE) {
		desc->supported = hidden | tessera_device_segment_set(dev, aperture, read_only);
		for (uint32_t id = 1; id < 32 && !desc->num_preferred; id++) {
			if (hidden >> id & 1)
				desc->preferred[desc->num_preferred++] = id;
		}
	} else {
		desc->supported = tessera_device_segment_set(dev, DRM_TESSERA_SEGMENT_CPU_VISIBLE,
							     aperture | read_only);
	}
	return desc->supported ? 0 : -ENODEV;
}

static int written_view(struct written *to, uint64_t *size)
{
	const struct scene_texture *t = to->texture;
	int ret = tessera_view_init(&to->out->view, TSR_FORMAT_ARGB8888, t->layout, t->width,
				    t->height, size);

	to->pitch = to->out->view.pitch;
	return ret;
}

/*
 * Create an object that the kernel renames or, with virtual addresses, the
 * library.
 */
static int written_renamed(struct writes *w, struct written *to, uint64_t size)
{
	struct tessera_bo_desc desc;
	int ret = tessera_bo_desc_init(w->dev, &desc, TESSERA_USAGE_STAGING, size, NULL);

	if (ret)
		return ret;
	if (!w->vm)
		return tessera_bo_new(w->dev, &desc, &to->bo);
	desc.flags |= DRM_TESSERA_BO_EXPLICIT_SYNC;
	ret = tessera_buffer_new(w->dev, &desc, &to->buffer);
	if (!ret)
		to->bo = tessera_bo_ref(tessera_buffer_bo(to->buffer));
	return ret;
}

static int written_object(struct writes *w, struct written *to)
{
	const struct scene_texture *t = to->texture;
	struct tessera_bo_desc desc;
	uint64_t size;
	int ret = written_view(to, &size);

	if (ret)
		return ret;
	/* large enough for each of the images */
	if (t->way == WAY_DISCARD)
		return written_renamed(w, to, DEMO_SMALL_DIM * DEMO_SMALL_DIM * 4);
	ret = tessera_bo_desc_init(w->dev, &desc, TESSERA_USAGE_TEXTURE, size, &to->out->view);
	if (!ret)
		ret = way_desc(w->dev, t->way, &desc);
	return ret ? ret : tessera_bo_new(w->dev, &desc, &to->bo);
}

static int written_surface(struct writes *w, struct written *to)
{
	const struct scene_texture *t = to->texture;
	struct tessera_surface_desc desc;
	int ret;

	ret = tessera_surface_desc_init(w->dev, &desc, TSR_FORMAT_ARGB8888, t->layout, t->width,
					t->height);
	if (!ret)
		ret = tessera_surface_new(w->dev, &desc, &to->surface);
	if (ret)
		return ret;
	to->out->bo = tessera_bo_ref(tessera_surface_bo(to->surface));
	tessera_surface_view(to->surface, &to->out->view);
	return 0;
}

/* Tell the trace reader the properties of the object. */
static int written_watch(struct writes *w, struct written *to)
{
	struct drm_tessera_bo_info info;
	int ret;

	if (to->surface) {
		/*
		 * The properties of the twin, which only the library knows:
		 * those of the GPU's object, but linear.
		 */
		const struct tessera_view *view = &to->out->view;
		struct tessera_bo_desc desc;
		uint64_t page = tessera_device_info(w->dev)->page_size;

		ret = tessera_bo_desc_init(w->dev, &desc, TESSERA_USAGE_STAGING, 1, NULL);
		info = (struct drm_tessera_bo_info){
			.size = ((uint64_t)view->width * 4 * view->height + page - 1) / page * page,
			.supported = desc.supported,
			.flags = desc.flags | DRM_TESSERA_BO_TWIN,
		};
	} else {
		ret = tessera_bo_info(to->bo, &info, sizeof(info));
	}
	if (!ret)
		watch_add(w->watch, &info, to->texture->way);
	return ret;
}

/* A texture that replaces another one gets its object when it does so. */
static bool is_late(const struct written *to)
{
	return to->texture->way == WAY_DISCARD && to->texture->before != to->index;
}

static int write_texels(struct written *to, uint32_t mask);

static int written_new(struct writes *w, struct written *to)
{
	int ret = to->texture->way == WAY_SURFACE ? written_surface(w, to) : written_object(w, to);

	if (!ret)
		ret = written_watch(w, to);
	if (ret || to->surface)
		return ret;
	to->out->bo = tessera_bo_ref(to->bo);
	ret = tessera_bo_map(to->bo, (void **)&to->map);
	/* The scene draws this texture. */
	if (!ret && to->texture->way == WAY_DISCARD)
		ret = write_texels(to, 0);
	return ret;
}

int writes_new(struct tessera_device *dev, const struct scene *scene, bool vm, struct watch *watch,
	       struct gpu_texture *textures, struct summary *summary, struct writes **out)
{
	struct writes *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return complain("textures of the CPU", -ENOMEM);
	*out = w;
	w->dev = tessera_device_ref(dev);
	w->vm = vm;
	w->summary = summary;
	w->watch = watch;
	w->written = calloc(scene->num_textures, sizeof(*w->written));
	if (!w->written)
		return complain("textures of the CPU", -ENOMEM);
	ret = tessera_context_new_default(dev, &w->ctx);
	for (uint32_t i = 0; i < scene->num_textures && !ret; i++) {
		struct written *to = &w->written[w->num_written];

		if (scene->textures[i].way == WAY_JOBS)
			continue;
		to->index = i;
		to->texture = &scene->textures[i];
		to->out = &textures[i];
		w->num_written++;
		summary->ways[to->texture->way].textures++;
		if (!is_late(to))
			ret = written_new(w, to);
	}
	return ret ? complain("textures of the CPU", ret) : 0;
}

static void stop_rounds(struct writes *w)
{
	if (!w->started)
		return;
	w->started = false;
	atomic_store(&w->stop, true);
	pthread_join(w->thread, NULL);
}

void writes_del(struct writes *w)
{
	if (!w)
		return;
	stop_rounds(w);
	for (uint32_t i = 0; i < w->num_written; i++) {
		tessera_bo_del(w->written[i].bo);
		tessera_buffer_del(w->written[i].buffer);
		tessera_surface_del(w->written[i].surface);
	}
	tessera_context_del(w->ctx);
	tessera_device_del(w->dev);
	free(w->written);
	free(w);
}

/* ---- Texels -------------------------------------------------------------- */

/*
 * Write the image with all texels XORed with @mask, so that each mask gives
 * another picture.
 */
static void fill_rows(const struct image *image, uint8_t *map, uint32_t pitch, uint32_t mask)
{
	for (uint32_t y = 0; y < image->height; y++) {
		uint32_t *row = (uint32_t *)(map + (size_t)y * pitch);

		for (uint32_t x = 0; x < image->width; x++)
			row[x] = image->texels[(size_t)y * image->width + x] ^ mask;
	}
}

static int check_rows(const struct image *image, const uint8_t *map, uint32_t pitch, uint32_t mask)
{
	for (uint32_t y = 0; y < image->height; y++) {
		const volatile uint32_t *row = (const uint32_t *)(map + (size_t)y * pitch);

		for (uint32_t x = 0; x < image->width; x++) {
			uint32_t want = image->texels[(size_t)y * image->width + x] ^ mask;

			if (row[x] != want) {
				fprintf(stderr,
					"tessera-demo: the CPU reads 0x%08x at %u,%u, not 0x%08x\n",
					row[x], x, y, want);
				return -EPROTO;
			}
		}
	}
	return 0;
}

/*
 * Write and check under a lock, which must return the same pointer as before.
 */
static int write_texels(struct written *to, uint32_t mask)
{
	const uint32_t flags = TESSERA_MAP_READ | TESSERA_MAP_WRITE;
	void *p;
	int ret = tessera_bo_lock(&to->bo, flags, &p);

	if (ret)
		return ret;
	if (p != to->map)
		return -EPROTO;
	fill_rows(to->texture->image, to->map, to->pitch, mask);
	ret = check_rows(to->texture->image, to->map, to->pitch, mask);
	return ret ? ret : tessera_bo_unlock(to->bo, flags);
}

/* Write all textures that the scene does not use. */
static int write_round(struct writes *w, uint32_t mask)
{
	int ret = 0;

	for (uint32_t i = 0; i < w->num_written && !ret; i++) {
		enum demo_way way = w->written[i].texture->way;

		if (way != WAY_DISCARD && way != WAY_SURFACE)
			ret = write_texels(&w->written[i], mask);
	}
	return ret;
}

static void *write_rounds(void *arg)
{
	struct writes *w = arg;

	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	while (!w->error && !atomic_load(&w->stop)) {
		w->summary->rounds++;
		w->error = write_round(w, 0x010101 * w->summary->rounds);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* ---- During rendering ---------------------------------------------------- */

static int fill_by_jobs(struct writes *w)
{
	struct tessera_cmdbuf *cb;
	int ret = tessera_cmdbuf_new(w->dev, &cb);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < w->num_written; i++) {
		struct written *to = &w->written[i];
		const struct tessera_rect all = { 0, 0, to->texture->width, to->texture->height };

		if (to->texture->way == WAY_DISCARD)
			continue;
		(void)tessera_cmdbuf_bind(cb, 0, to->out->bo, &to->out->view);
		(void)tessera_cmdbuf_fill(cb, 0, &all, FILLED);
	}
	ret = tessera_context_run(w->ctx, cb);
	tessera_cmdbuf_del(cb);
	return ret;
}

static int check_filled(struct writes *w, struct written *to)
{
	uint32_t pitch = to->pitch;
	void *p = to->map;
	int ret = 0;

	if (to->surface)
		ret = tessera_surface_lock(to->surface, w->ctx, NULL, TESSERA_MAP_READ, &p, &pitch);
	if (ret)
		return ret;
	for (uint32_t y = 0; y < to->texture->height && !ret; y++) {
		const volatile uint32_t *row = (void *)((uint8_t *)p + (size_t)y * pitch);

		for (uint32_t x = 0; x < to->texture->width; x++) {
			if (row[x] != FILLED)
				ret = -EPROTO;
		}
	}
	if (to->surface)
		(void)tessera_surface_unlock(to->surface);
	return ret;
}

int writes_begin(struct writes *w)
{
	int ret = fill_by_jobs(w);

	for (uint32_t i = 0; i < w->num_written && !ret; i++) {
		if (w->written[i].texture->way != WAY_DISCARD)
			ret = check_filled(w, &w->written[i]);
	}
	if (!ret)
		ret = -pthread_create(&w->thread, NULL, write_rounds, w);
	if (ret)
		return complain("bytes that jobs wrote for the CPU", ret);
	w->started = true;
	return 0;
}

/* Find the texture that @to replaces. */
static struct written *written_before(struct writes *w, const struct written *to)
{
	struct written *old = w->written;

	while (old->index != to->texture->before)
		old++;
	return old;
}

/* The command buffer of the scene keeps the old object. */
static int replace_object(struct written *to, struct written *old)
{
	const uint32_t flags = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE;
	void *p;
	int ret;

	to->bo = tessera_bo_ref(old->bo);
	ret = tessera_bo_lock(&to->bo, flags, &p);
	if (ret)
		return ret;
	fill_rows(to->texture->image, p, to->pitch, 0);
	return tessera_bo_unlock(to->bo, flags);
}

/* The buffer keeps the old object until the jobs reach a point. */
static int replace_in_buffer(struct written *to, struct tessera_buffer *buffer,
			     struct tessera_syncobj *timeline, uint64_t point)
{
	const uint32_t flags = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE;
	void *p;
	int ret = tessera_buffer_used(buffer, timeline, point, 0);

	if (!ret)
		ret = tessera_buffer_lock(buffer, flags, &p);
	if (ret)
		return ret;
	to->bo = tessera_bo_ref(tessera_buffer_bo(buffer));
	fill_rows(to->texture->image, p, to->pitch, 0);
	return tessera_buffer_unlock(buffer, flags);
}

static int replace(struct writes *w, struct written *to, struct tessera_syncobj *timeline,
		   uint64_t point)
{
	struct written *old = written_before(w, to);
	uint64_t size;
	int ret = written_view(to, &size);

	if (!ret)
		ret = old->buffer ? replace_in_buffer(to, old->buffer, timeline, point)
				  : replace_object(to, old);
	if (ret)
		return ret;
	w->summary->ways[WAY_DISCARD].renamed += to->bo != old->bo;
	to->out->bo = tessera_bo_ref(to->bo);
	return 0;
}

static int replace_surface(struct writes *w, struct written *to)
{
	uint32_t pitch;
	void *p;
	int ret = tessera_surface_lock(to->surface, w->ctx, NULL,
				       TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE, &p, &pitch);

	if (ret)
		return ret;
	fill_rows(to->texture->image, p, pitch, 0);
	return tessera_surface_unlock(to->surface);
}

int writes_replace(struct writes *w, struct tessera_syncobj *timeline, uint64_t point)
{
	int ret = 0;

	for (uint32_t i = 0; i < w->num_written && !ret; i++) {
		struct written *to = &w->written[i];

		if (to->surface)
			ret = replace_surface(w, to);
		else if (!to->bo)
			ret = replace(w, to, timeline, point);
	}
	return ret ? complain("replacing textures that the scene uses", ret) : 0;
}

/*
 * The copy jobs run in another context. The kernel does not order jobs at
 * virtual addresses after them, so wait.
 */
static int wait_for_surfaces(struct writes *w)
{
	int ret = 0;

	for (uint32_t i = 0; i < w->num_written && !ret; i++) {
		if (w->written[i].surface)
			ret = tessera_surface_wait(w->written[i].surface, 0, TESSERA_FOREVER);
	}
	return ret;
}

int writes_end(struct writes *w)
{
	int ret;

	stop_rounds(w);
	ret = w->error;
	if (!ret)
		ret = write_round(w, 0);
	if (!ret && w->vm)
		ret = wait_for_surfaces(w);
	return ret ? complain("writing through kept pointers", ret) : 0;
}
