// SPDX-License-Identifier: MIT
/* The objects of a random workload: their segments, sizes and layouts. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

#define STAGING_BYTES MiB(1)
#define SHARED_BYTES KiB(640)
#define SHARED_KEY 0x5a

enum where {
	NOWHERE,
	VISIBLE,
	HIDDEN,
	GART,
	READ_ONLY
};

static const struct kind {
	const char *name;
	enum where home, other; /* segments that it may be in, most preferred first */
	bool tiled;
	bool cpu; /* the CPU may be given access */
} kinds[WL_KINDS] = {
	[WL_VISIBLE] = { "visible", VISIBLE, NOWHERE, false, true },
	[WL_TILED] = { "tiled", VISIBLE, NOWHERE, true, true },
	[WL_HIDDEN] = { "hidden", HIDDEN, NOWHERE, false, false },
	[WL_HIDDEN_TILED] = { "hidden tiled", HIDDEN, NOWHERE, true, false },
	[WL_EITHER] = { "visible or hidden", VISIBLE, HIDDEN, false, false },
	[WL_SPILL] = { "visible or gart", VISIBLE, GART, false, true },
	[WL_HIDDEN_SPILL] = { "hidden or gart", HIDDEN, GART, false, true },
	[WL_GART] = { "gart", GART, NOWHERE, false, true },
	[WL_READ_ONLY] = { "read-only", READ_ONLY, GART, false, true },
};

/*
 * With a resized BAR 2 all memory may be CPU-visible. The first visible segment
 * is never taken for the hidden one.
 */
static bool is_at(struct tsr_device *dev, const struct drm_tessera_query_segment *seg,
		  enum where where)
{
	bool aperture = seg->flags & DRM_TESSERA_SEGMENT_APERTURE;
	bool read_only = seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY;

	switch (where) {
	case VISIBLE:
		return !aperture && seg->flags & DRM_TESSERA_SEGMENT_CPU_VISIBLE;
	case HIDDEN:
		return !aperture && seg != tsr_seg_visible(dev);
	case GART:
		return aperture && !read_only;
	case READ_ONLY:
		return aperture && read_only;
	default:
		return false;
	}
}

static uint32_t count_at(struct tsr_device *dev, enum where where)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < dev->num_segs; i++)
		count += is_at(dev, &dev->segs[i], where);
	return count;
}

/* A random segment of this kind other than @other, or NULL. */
static const struct drm_tessera_query_segment *segment(
	struct workload *wl, enum where where, const struct drm_tessera_query_segment *other)
{
	struct tsr_device *dev = wl->dev;
	uint32_t count = count_at(dev, where), nth, i;

	if (other && is_at(dev, other, where))
		count--;
	if (!count)
		return NULL;
	nth = count > 1 ? (uint32_t)wl_pick(wl, count) : 0;
	for (i = 0; &dev->segs[i] == other || !is_at(dev, &dev->segs[i], where) || nth--; i++)
		;
	return &dev->segs[i];
}

static uint32_t possible_kinds(struct tsr_device *dev)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < WL_KINDS; i++)
		if (count_at(dev, kinds[i].home) &&
		    (kinds[i].other == NOWHERE || count_at(dev, kinds[i].other)))
			set |= 1u << i;
	return set;
}

uint64_t wl_segment_limit(const struct workload *wl, uint32_t index)
{
	return wl->dev->segs[index].commit_limit / 64 * wl->config.live_64ths;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* Small and medium sizes, and sizes up to @max. */
static uint64_t pick_size(struct workload *wl, uint64_t max)
{
	uint64_t dice = wl_pick(wl, 8), below = max;

	if (dice < 2)
		below = 8 * 4096;
	else if (dice < 4)
		below = max / 8;
	if (below > max)
		below = max;
	return 4096 + wl_pick(wl, below) / 4096 * 4096;
}

/* Most pitches are no powers of two. */
static uint64_t pick_layout(struct workload *wl, struct wl_object *object, uint64_t size,
			    uint64_t max)
{
	uint64_t rows, bytes;

	object->layout = wl_pick(wl, 2) ? TSR_LAYOUT_TILE4K : TSR_LAYOUT_MORTON;
	do {
		object->pitch = TSR_TILE_WIDTH_BYTES * (1 + (uint32_t)wl_pick(wl, 48));
		bytes = (uint64_t)object->pitch * TSR_TILE_ROWS;
	} while (bytes > max);
	rows = size / bytes;
	if (!rows)
		rows = 1;
	if (rows > TSR_SURF_MAX_DIM / TSR_TILE_ROWS)
		rows = TSR_SURF_MAX_DIM / TSR_TILE_ROWS;
	return rows * bytes;
}

static void pick_segments(struct workload *wl, const struct kind *kind,
			  const struct drm_tessera_query_segment *home,
			  struct drm_tessera_bo_create *args)
{
	const struct drm_tessera_query_segment *other = segment(wl, kind->other, home), *gart;
	bool aperture = home->flags & DRM_TESSERA_SEGMENT_APERTURE;

	args->supported = tsr_bit(home);
	if (other && (kind->home != READ_ONLY || wl_pick(wl, 2))) {
		bool swap = wl_pick(wl, 4) == 0;

		args->supported |= tsr_bit(other);
		args->num_preferred = 2;
		args->preferred[0] = (uint8_t)(swap ? other->id : home->id);
		args->preferred[1] = (uint8_t)(swap ? home->id : other->id);
		/* its size is counted in @home, where it must fit */
		if (kind->home != READ_ONLY && wl_pick(wl, 2))
			args->write_set = tsr_bit(home);
	}
	if (!aperture && wl_pick(wl, 3) == 0) {
		gart = segment(wl, GART, NULL);
		args->evict_to = gart ? tsr_bit(gart) : 0;
	}
}

/* Returns the alignment that the object has in @home. */
static uint64_t pick_alignment(struct workload *wl, const struct drm_tessera_query_segment *home,
			       struct drm_tessera_bo_create *args)
{
	uint64_t alignment = UINT64_C(4096) << wl_pick(wl, 6);

	if (wl_pick(wl, 4) || alignment > home->commit_limit / 64)
		return home->page_size;
	args->alignment = alignment;
	return alignment > home->page_size ? alignment : home->page_size;
}

/* Initial bytes, written by the CPU before the GPU uses the object. */
static void first_contents(struct workload *wl, struct wl_object *object)
{
	uint64_t *words = (uint64_t *)object->model;

	if (!object->read_only && wl_pick(wl, 2))
		return;
	for (uint64_t i = 0; i < object->bo.size / 8; i++)
		words[i] = tap_random(&wl->rng);
	memcpy(object->bo.map, object->model, object->bo.size);
}

static void create(struct workload *wl, struct wl_object *object, enum wl_kind number)
{
	const struct kind *kind = &kinds[number];
	const struct drm_tessera_query_segment *home = segment(wl, kind->home, NULL);
	struct drm_tessera_bo_create args = { 0 };
	uint64_t max, alignment;

	*object = (struct wl_object){ .kind = number,
				      .home = (uint32_t)(home - wl->dev->segs),
				      .read_only = kind->home == READ_ONLY };
	alignment = pick_alignment(wl, home, &args);
	max = wl_segment_limit(wl, object->home) / alignment * alignment;
	if (max > wl->config.max_bytes)
		max = wl->config.max_bytes;
	args.size = pick_size(wl, max);
	if (kind->tiled)
		args.size = pick_layout(wl, object, args.size, max);
	args.layout = object->layout;
	args.pitch = object->pitch;
	pick_segments(wl, kind, home, &args);
	object->cpu = kind->cpu && (object->read_only || wl_pick(wl, 3));
	if (object->cpu)
		args.flags = DRM_TESSERA_BO_CPU_ACCESS |
			     (wl_pick(wl, 2) ? DRM_TESSERA_BO_CPU_CACHED : 0);
	object->cached = args.flags & DRM_TESSERA_BO_CPU_CACHED;
	if (object->cached && wl->config.explicit_sync && wl_pick(wl, 2))
		args.flags |= DRM_TESSERA_BO_EXPLICIT_SYNC;
	if (wl->config.vm && !(object->cpu && kind->tiled) && wl_pick(wl, 3) == 0) {
		object->private = true;
		args.flags |= DRM_TESSERA_BO_VM_PRIVATE;
		args.vm = wl->config.vm;
	}
	if (object->read_only)
		args.flags |= DRM_TESSERA_BO_GPU_READ_ONLY;
	args.priority = wl_pick_priority(wl);
	require_ok(__tsr_bo_create(wl->dev->fd, &args));
	object->bo = (struct tsr_bo){ .handle = args.handle, .size = args.size };
	object->charge = round_up(args.size, alignment);
	object->model = calloc(1, args.size);
	require(object->model);
	if (!object->cpu)
		return;
	/* mapped for the whole life of the object */
	tsr_bo_map(wl->dev, &object->bo);
	first_contents(wl, object);
}

void wl_object_new(struct workload *wl, struct wl_object *object)
{
	uint32_t nth = (uint32_t)wl_pick(wl, (uint32_t)__builtin_popcount(wl->config.kinds));
	uint32_t kind;

	for (kind = 0; !(wl->config.kinds & 1u << kind) || nth--; kind++)
		;
	create(wl, object, kind);
}

static void import_shared(struct workload *wl, struct wl_object *object)
{
	struct drm_prime_handle args = { .fd = wl->config.shared };
	const struct drm_tessera_query_segment *home = tsr_seg_visible(wl->dev);
	uint32_t *words;

	require_ok(tsr_ioctl(wl->dev->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args));
	*object = (struct wl_object){
		.bo = { .handle = args.handle, .size = SHARED_BYTES },
		.kind = WL_VISIBLE,
		.read_only = true,
		.home = (uint32_t)(home - wl->dev->segs),
		.charge = round_up(SHARED_BYTES, home->page_size),
		.model = calloc(1, SHARED_BYTES),
	};
	words = (uint32_t *)object->model;
	require(words);
	for (uint64_t i = 0; i < SHARED_BYTES / 4; i++)
		words[i] = tsr_pattern(SHARED_KEY, i);
}

int wl_shared_new(struct tsr_device *dev)
{
	struct tsr_bo bo = tsr_bo_new(dev, SHARED_BYTES, tsr_bit(tsr_seg_visible(dev)),
				      DRM_TESSERA_BO_CPU_ACCESS);
	struct drm_prime_handle args = { .handle = bo.handle, .flags = DRM_CLOEXEC };

	tsr_bo_map(dev, &bo);
	tsr_pattern_write(&bo, SHARED_KEY);
	tsr_bo_unmap(&bo);
	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args));
	return args.fd;
}

static struct wl_object *add_object(struct workload *wl, uint32_t *max)
{
	if (wl->num_objects == *max) {
		*max = *max ? *max * 2 : 64;
		wl->objects = realloc(wl->objects, *max * sizeof(*wl->objects));
		require(wl->objects);
	}
	return &wl->objects[wl->num_objects++];
}

void wl_init(struct workload *wl, struct tsr_device *dev, const struct wl_config *config)
{
	uint64_t total = 0;
	uint32_t max = 0;

	memset(wl, 0, sizeof(*wl));
	wl->dev = dev;
	wl->config = *config;
	wl->config.kinds &= possible_kinds(dev);
	wl->rng = config->seed;
	wl->context = tsr_context_new(dev, 0);
	wl->staging = tsr_bo_new(dev, STAGING_BYTES, tsr_segs_staging(dev),
				 DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	tsr_bo_map(dev, &wl->staging);
	tsr_cmd_init(&wl->cmd);
	if (config->shared)
		import_shared(wl, add_object(wl, &max));
	while (total < config->total_bytes) {
		struct wl_object *object = add_object(wl, &max);

		wl_object_new(wl, object);
		total += object->bo.size;
	}
}

void wl_renew(struct workload *wl, struct wl_object *object)
{
	free(object->model);
	create(wl, object, object->kind);
}

void wl_replace(struct workload *wl, struct wl_object *object)
{
	if (wl->config.shared && object == wl->objects)
		return;
	tsr_bo_free(wl->dev, &object->bo);
	wl_renew(wl, object);
}

void wl_abandon(struct workload *wl)
{
	/* mappings would keep the file open */
	tsr_bo_unmap(&wl->staging);
	for (uint32_t i = 0; i < wl->num_objects; i++) {
		tsr_bo_unmap(&wl->objects[i].bo);
		free(wl->objects[i].model);
	}
	free(wl->objects);
	free(wl->ops);
	tsr_cmd_fini(&wl->cmd);
}

void wl_fini(struct workload *wl)
{
	for (uint32_t i = 0; i < wl->num_objects; i++)
		tsr_bo_free(wl->dev, &wl->objects[i].bo);
	tsr_bo_free(wl->dev, &wl->staging);
	tsr_context_free(wl->dev, wl->context);
	wl_abandon(wl);
}

void wl_object_describe(const struct wl_object *object, char *text, size_t size)
{
	static const char *const layouts[] = { "linear", "TILE4K", "MORTON" };

	snprintf(text, size, "object %u (%s, 0x%llx bytes, %s, pitch %u%s%s)", object->bo.handle,
		 kinds[object->kind].name, (unsigned long long)object->bo.size,
		 layouts[object->layout], object->pitch, object->cpu ? ", mapped" : "",
		 object->read_only ? ", read only" : "");
}
