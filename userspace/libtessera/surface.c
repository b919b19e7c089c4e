// SPDX-License-Identifier: MIT
/*
 * Surfaces that are swizzled for the GPU and linear for the CPU, in every
 * segment: two objects, and the copies between them that CPU locks make.
 */
#include <errno.h>

#include "priv.h"

/* Indices of the GPU's object and of its twin in ioctl arrays. */
enum {
	GPU,
	TWIN,
	NUM_SURFACE_BOS
};

enum {
	FREE,
	CHANGING, /* a thread is locking or unlocking */
	LOCKED
};

struct tessera_surface {
	atomic_uint refs;
	struct tessera_device *dev;
	struct tessera_bo *gpu;
	struct tessera_bo *twin; /* replaced by a discard */
	struct tessera_view gpu_view, twin_view;
	atomic_int state;
	/*
	 * State of the lock. Only the thread that holds or changes the lock
	 * accesses it.
	 */
	struct tessera_context *ctx; /* reference */
	struct tessera_rect rect;
	uint32_t flags; /* TESSERA_MAP_* for the twin */
};

int tessera_surface_desc_init(const struct tessera_device *dev, struct tessera_surface_desc *desc,
			      uint32_t format, uint32_t layout, uint32_t width, uint32_t height)
{
	const uint32_t aperture = DRM_TESSERA_SEGMENT_APERTURE;
	struct tessera_view view;
	uint64_t size;
	int ret = tessera_view_init(&view, format, layout, width, height, &size);

	if (ret)
		return ret;
	*desc = (struct tessera_surface_desc){
		.format = format,
		.layout = layout,
		.width = width,
		.height = height,
	};
	ret = tessera_bo_desc_init(dev, &desc->gpu, TESSERA_USAGE_TEXTURE, size, &view);
	/*
	 * The CPU does not access this object, so it may be in an aperture,
	 * too.
	 */
	desc->gpu.supported |=
		tessera_device_segment_set(dev, aperture, DRM_TESSERA_SEGMENT_GPU_READ_ONLY);
	if (ret && (ret != -ENODEV || !desc->gpu.supported))
		return ret;
	return tessera_bo_desc_init(dev, &desc->twin, TESSERA_USAGE_STAGING, size, NULL);
}

/* Fill in the ioctl arguments for one of the two objects, and its view. */
static int describe(struct tessera_surface *s, const struct tessera_surface_desc *desc, bool twin,
		    struct drm_tessera_bo_create *create, struct drm_tessera_bo_private *private)
{
	struct tessera_view *view = twin ? &s->twin_view : &s->gpu_view;
	struct tessera_bo_desc bo = twin ? desc->twin : desc->gpu;
	int ret;

	ret = tessera_view_init(view, desc->format, twin ? DRM_TESSERA_LAYOUT_LINEAR : desc->layout,
				desc->width, desc->height, &bo.size);
	if (ret)
		return ret;
	/* The private data has layout and pitch. */
	bo.layout = 0;
	bo.pitch = 0;
	*private = (struct drm_tessera_bo_private){
		.version = DRM_TESSERA_PRIVATE_VERSION,
		.flags = twin ? DRM_TESSERA_PRIVATE_TWIN : 0,
		.layout = view->layout,
		.pitch = view->pitch,
		.width = desc->width * tessera_format_bytes(desc->format),
		.rows = desc->height,
	};
	return tessera_bo_create_args(s->dev, &bo, create);
}

/* One ioctl creates both objects or none. */
static int create_surface_pair(struct tessera_surface *s, const struct tessera_surface_desc *desc)
{
	struct drm_tessera_bo_create creates[NUM_SURFACE_BOS];
	struct drm_tessera_bo_private privates[NUM_SURFACE_BOS];
	struct drm_tessera_bo_create_twins args = {
		.bos = {
			.stride = sizeof(creates[0]),
			.count = NUM_SURFACE_BOS,
			.array = (uintptr_t)creates,
		},
		.private_data = {
			.stride = sizeof(privates[0]),
			.count = NUM_SURFACE_BOS,
			.array = (uintptr_t)privates,
		},
	};
	int ret;

	ret = describe(s, desc, false, &creates[GPU], &privates[GPU]);
	if (!ret)
		ret = describe(s, desc, true, &creates[TWIN], &privates[TWIN]);
	if (!ret)
		ret = tessera_ioctl(s->dev, DRM_IOCTL_TESSERA_BO_CREATE_TWINS, &args);
	if (ret)
		return ret;
	tessera_bo_set(s->gpu, &creates[GPU], args.handles[GPU]);
	tessera_bo_set(s->twin, &creates[TWIN], args.handles[TWIN]);
	return 0;
}

static void surface_free(struct tessera_surface *s)
{
	struct tessera_device *dev = s->dev;

	tessera_free(dev, s);
	tessera_device_del(dev);
}

static int surface_init(struct tessera_surface *s, const struct tessera_surface_desc *desc)
{
	int ret = -ENOMEM;

	s->gpu = tessera_bo_alloc(s->dev);
	if (!s->gpu)
		return ret;
	s->twin = tessera_bo_alloc(s->dev);
	if (s->twin)
		ret = create_surface_pair(s, desc);
	if (ret) {
		tessera_bo_free(s->twin);
		tessera_bo_free(s->gpu);
	}
	return ret;
}

int tessera_surface_new(struct tessera_device *dev, const struct tessera_surface_desc *desc,
			struct tessera_surface **out)
{
	struct tessera_surface *s;
	int ret;

	if (tessera_reserved_check(desc->reserved, ARRAY_SIZE(desc->reserved)))
		return -EINVAL;
	s = tessera_alloc(dev, sizeof(*s));
	if (!s)
		return -ENOMEM;
	atomic_init(&s->refs, 1);
	atomic_init(&s->state, FREE);
	s->dev = tessera_device_ref(dev);
	ret = surface_init(s, desc);
	if (ret) {
		surface_free(s);
		return ret;
	}
	*out = s;
	return 0;
}

struct tessera_surface *tessera_surface_ref(struct tessera_surface *surface)
{
	atomic_fetch_add(&surface->refs, 1);
	return surface;
}

void tessera_surface_del(struct tessera_surface *surface)
{
	if (!surface || atomic_fetch_sub(&surface->refs, 1) != 1)
		return;
	tessera_bo_del(surface->gpu);
	/* This also ends its lock. */
	tessera_bo_del(surface->twin);
	tessera_context_del(surface->ctx);
	surface_free(surface);
}

struct tessera_bo *tessera_surface_bo(const struct tessera_surface *surface)
{
	return surface->gpu;
}

void tessera_surface_view(const struct tessera_surface *surface, struct tessera_view *view)
{
	*view = surface->gpu_view;
}

int tessera_surface_wait(struct tessera_surface *surface, int for_write, int64_t deadline_ns)
{
	return tessera_bo_wait(surface->gpu, for_write, deadline_ns);
}

/* ---- Lock ---------------------------------------------------------------- */

/*
 * Submit a job that copies the locked rectangle from one object to the other.
 */
static int submit_copy(struct tessera_surface *s, bool to_gpu, struct tessera_fence **fence)
{
	/* The highest slots. The job gets its own command buffer. */
	const uint32_t dst = s->dev->info.max_slots - 1, src = dst - 1;
	struct tessera_view dst_view = to_gpu ? s->gpu_view : s->twin_view;
	struct tessera_view src_view = to_gpu ? s->twin_view : s->gpu_view;
	struct tessera_submit_args args = { .fence = fence };
	struct tessera_cmdbuf *cb;
	int ret = tessera_cmdbuf_new(s->dev, &cb);

	if (ret)
		return ret;
	dst_view.access = TSR_SURF_WRITE;
	src_view.access = TSR_SURF_READ;
	/* The buffer keeps the first error, and submit returns it. */
	(void)tessera_cmdbuf_bind(cb, dst, to_gpu ? s->gpu : s->twin, &dst_view);
	(void)tessera_cmdbuf_bind(cb, src, to_gpu ? s->twin : s->gpu, &src_view);
	(void)tessera_cmdbuf_copy(cb, dst, s->rect.x, s->rect.y, src, &s->rect);
	(void)tessera_cmdbuf_unbind(cb, dst);
	(void)tessera_cmdbuf_unbind(cb, src);
	ret = tessera_context_submit(s->ctx, cb, &args);
	tessera_cmdbuf_del(cb);
	return ret;
}

static int lock_check(const struct tessera_surface *s, const struct tessera_context *ctx,
		      const struct tessera_rect *rect, uint32_t flags)
{
	const uint32_t access = TESSERA_MAP_READ | TESSERA_MAP_WRITE;
	const uint32_t discard = TESSERA_MAP_DISCARD_RANGE | TESSERA_MAP_DISCARD_WHOLE;

	if ((flags & ~(access | discard)) || !(flags & access) ||
	    ((flags & discard) && (flags & access) != TESSERA_MAP_WRITE))
		return -EINVAL;
	if (!rect->width || !rect->height || rect->x >= s->gpu_view.width ||
	    rect->width > s->gpu_view.width - rect->x || rect->y >= s->gpu_view.height ||
	    rect->height > s->gpu_view.height - rect->y)
		return -EINVAL;
	if (ctx->dev != s->dev)
		return -EXDEV;
	/* LOCK of the twin waits only for jobs that list it. */
	return ctx->vm ? -EOPNOTSUPP : 0;
}

/*
 * LOCK waits for the copying job, as for any job that writes the locked object.
 * Only the job's fence tells whether the copy succeeded.
 */
static int lock_twin(struct tessera_surface *s, struct tessera_fence *copy, void **map)
{
	int job_error = 0;
	int ret = tessera_bo_lock(&s->twin, s->flags, map);

	if (ret || !copy)
		return ret;
	ret = tessera_fence_wait(copy, TESSERA_FOREVER, &job_error);
	if (!ret)
		ret = job_error;
	if (ret)
		(void)tessera_bo_unlock(s->twin, s->flags);
	return ret;
}

/* With a discard flag the CPU does not read old bytes, so nothing is copied. */
static int lock_fetched(struct tessera_surface *s, uint32_t flags, void **map)
{
	const uint32_t discard = TESSERA_MAP_DISCARD_RANGE | TESSERA_MAP_DISCARD_WHOLE;
	struct tessera_fence *copy = NULL;
	int ret = flags & discard ? 0 : submit_copy(s, false, &copy);

	if (!ret)
		ret = lock_twin(s, copy, map);
	tessera_fence_del(copy);
	return ret;
}

int tessera_surface_lock(struct tessera_surface *surface, struct tessera_context *ctx,
			 const struct tessera_rect *rect, uint32_t flags, void **out,
			 uint32_t *pitch)
{
	const struct tessera_view *view = &surface->twin_view;
	const struct tessera_rect all = { 0, 0, view->width, view->height };
	int ret, state = FREE;
	void *map;

	if (!rect)
		rect = &all;
	ret = lock_check(surface, ctx, rect, flags);
	if (ret)
		return ret;
	if (!atomic_compare_exchange_strong(&surface->state, &state, CHANGING))
		return -EBUSY;
	surface->ctx = tessera_context_ref(ctx);
	surface->rect = *rect;
	surface->flags = flags & ~(uint32_t)TESSERA_MAP_DISCARD_RANGE;
	ret = lock_fetched(surface, flags, &map);
	if (ret) {
		surface->ctx = NULL;
		atomic_store(&surface->state, FREE);
		tessera_context_del(ctx);
		return ret;
	}
	*out = (uint8_t *)map + (size_t)rect->y * view->pitch +
	       (size_t)rect->x * tessera_format_bytes(view->format);
	*pitch = view->pitch;
	atomic_store(&surface->state, LOCKED);
	return 0;
}

int tessera_surface_unlock(struct tessera_surface *surface)
{
	int ret, copied = 0, state = LOCKED;
	struct tessera_context *ctx;

	if (!atomic_compare_exchange_strong(&surface->state, &state, CHANGING))
		return -EINVAL;
	ctx = surface->ctx;
	/*
	 * Unlock first: if the twin supports memory segments only, its lock
	 * would make the submission fail with -EBUSY.
	 */
	ret = tessera_bo_unlock(surface->twin, surface->flags);
	if (surface->flags & TESSERA_MAP_WRITE)
		copied = submit_copy(surface, true, NULL);
	surface->ctx = NULL;
	atomic_store(&surface->state, FREE);
	tessera_context_del(ctx);
	return ret ? ret : copied;
}
