// SPDX-License-Identifier: MIT
/*
 * Buffers that the CPU continues to write while jobs read the previous
 * contents. The kernel leaves this synchronisation to its clients. A buffer
 * consists of several objects, or slices of objects, each locked for its life.
 * Each slice records the timeline points at which the jobs that use it are
 * done. A discard switches to a slice that no job uses. Waiting for a point
 * sleeps in the kernel.
 *
 * A buffer that has had one object too many for a while parks it: the object is
 * offered, so that the kernel may use its memory, until the buffer grows again.
 */
#include <errno.h>
#include <string.h>

#include "uses.h"

/* Slices of one object must not share CPU cache lines. */
#define SLICE_ALIGN 256
#define MAX_SLICES 1024 /* per object */
/*
 * Maximum number and total size of a buffer's objects. At the limit a discard
 * waits for the slice that was discarded longest ago.
 */
#define MAX_OBJECTS 64
#define MAX_BYTES (UINT64_C(64) << 20)
#define MIN_OBJECTS 4 /* allowed whatever their size */
/* Rounds over all objects after which one that was idle each time is parked. */
#define IDLE_ROUNDS 8

/* A slice of an object, or a whole object. */
struct buffer_instance {
	struct tessera_bo *bo; /* reference */
	void *map; /* mapping of the whole object */
	uint64_t offset; /* of the slice in the object */
	bool owner; /* first slice of its object; owns the lock */
	struct tessera_uses uses;
};

struct tessera_buffer {
	struct tessera_device *dev;
	struct tessera_bo_desc desc; /* of an object */
	uint64_t size; /* of a slice */
	uint32_t slices; /* of an object */
	bool flush; /* lock and unlock must maintain CPU caches */
	bool lock; /* objects are locked for life; else only mapped */
	struct buffer_instance *instances; /* in order of creation */
	size_t num, cap;
	size_t current; /* the next one was discarded longest ago */
	uint32_t rounds; /* so many in a row ended with an object to spare */
	struct tessera_bo **parked; /* offered objects, neither locked nor mapped */
	size_t num_parked, cap_parked;
};

/*
 * An object that supports memory segments only and is in none when it is locked
 * would be kept out of them. Such an object is only mapped; the CPU sees it in
 * the segment.
 */
static int object_map(struct tessera_buffer *buffer, struct tessera_bo *bo, void **map)
{
	return buffer->lock ? tessera_bo_lock2(bo, map) : tessera_bo_map(bo, map);
}

static void object_unmap(struct tessera_buffer *buffer, struct tessera_bo *bo)
{
	if (buffer->lock)
		(void)tessera_bo_unlock2(bo);
	else
		(void)tessera_bo_unmap(bo);
}

/* Take a parked object, or create one. */
static int object_get(struct tessera_buffer *buffer, struct tessera_bo **out)
{
	uint32_t result;

	while (buffer->num_parked) {
		*out = buffer->parked[--buffer->num_parked];
		if (!tessera_bo_reclaim(out, 1, &result))
			return 0;
		/* The object is lost. */
		tessera_bo_retire(*out);
	}
	return tessera_bo_new(buffer->dev, &buffer->desc, out);
}

/* Add an object and its slices. */
static int object_add(struct tessera_buffer *buffer)
{
	struct tessera_bo *bo;
	void *map;
	int ret;

	ret = tessera_grow(buffer->dev, (void **)&buffer->instances, &buffer->cap,
			   buffer->num + buffer->slices, sizeof(*buffer->instances));
	if (!ret)
		ret = object_get(buffer, &bo);
	if (ret)
		return ret;
	ret = object_map(buffer, bo, &map);
	if (ret) {
		tessera_bo_del(bo);
		return ret;
	}
	buffer->current = buffer->num;
	for (uint32_t i = 0; i < buffer->slices; i++)
		buffer->instances[buffer->num++] = (struct buffer_instance){
			.bo = i ? tessera_bo_ref(bo) : bo,
			.map = map,
			.offset = i * buffer->size,
			.owner = !i,
		};
	return 0;
}

static void object_destroy(struct tessera_buffer *buffer, struct tessera_bo *bo)
{
	object_unmap(buffer, bo);
	tessera_bo_retire(bo);
}

/* Offer an object that no job uses. Without memory it stays in use. */
static void object_park(struct tessera_buffer *buffer, size_t which)
{
	struct buffer_instance *instance = &buffer->instances[which];
	struct tessera_bo *bo = instance->bo;

	if (tessera_grow(buffer->dev, (void **)&buffer->parked, &buffer->cap_parked,
			 buffer->num_parked + 1, sizeof(*buffer->parked)))
		return;
	tessera_uses_fini(buffer->dev, &instance->uses);
	memmove(instance, instance + 1, (--buffer->num - which) * sizeof(*instance));
	buffer->current -= buffer->current > which;
	object_unmap(buffer, bo);
	if (tessera_bo_offer(&bo, 1, DRM_TESSERA_OFFER_LOW))
		tessera_bo_retire(bo);
	else
		buffer->parked[buffer->num_parked++] = bo;
}

/*
 * Called once in a round over all objects, after a discard. Slices are small,
 * so objects that have several are kept.
 */
static void buffer_shrink(struct tessera_buffer *buffer)
{
	size_t next = (buffer->current + 1) % buffer->num;

	if (buffer->slices > 1 || buffer->num == 1 ||
	    tessera_uses_busy(&buffer->instances[next].uses, true)) {
		buffer->rounds = 0;
	} else if (++buffer->rounds == IDLE_ROUNDS) {
		buffer->rounds = 0;
		object_park(buffer, next);
	}
}

int tessera_buffer_new_slices(struct tessera_device *dev, const struct tessera_bo_desc *desc,
			      uint32_t slices, struct tessera_buffer **out)
{
	struct tessera_buffer *buffer;
	int ret;

	if (!(desc->flags & DRM_TESSERA_BO_CPU_ACCESS) || desc->layout != TSR_LAYOUT_LINEAR ||
	    !slices || slices > MAX_SLICES || desc->size > UINT64_MAX / 2 / slices)
		return -EINVAL;
	buffer = tessera_alloc(dev, sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	buffer->dev = tessera_device_ref(dev);
	buffer->desc = *desc;
	buffer->slices = slices;
	buffer->size = desc->size;
	if (slices > 1)
		buffer->size = (desc->size + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN;
	buffer->desc.size = buffer->size * slices;
	buffer->flush = (desc->flags & DRM_TESSERA_BO_EXPLICIT_SYNC) &&
			!(dev->info.caps & DRM_TESSERA_CAP_IO_COHERENT);
	buffer->lock =
		desc->supported & tessera_device_segment_set(dev, DRM_TESSERA_SEGMENT_APERTURE, 0);
	ret = object_add(buffer);
	if (ret) {
		tessera_buffer_del(buffer);
		return ret;
	}
	*out = buffer;
	return 0;
}

int tessera_buffer_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
		       struct tessera_buffer **out)
{
	return tessera_buffer_new_slices(dev, desc, 1, out);
}

void tessera_buffer_del(struct tessera_buffer *buffer)
{
	struct tessera_device *dev;

	if (!buffer)
		return;
	dev = buffer->dev;
	/* Backwards, so that the owner's reference is the last one. */
	for (size_t i = buffer->num; i--;) {
		struct buffer_instance *instance = &buffer->instances[i];

		tessera_uses_fini(dev, &instance->uses);
		if (instance->owner)
			object_destroy(buffer, instance->bo);
		else
			tessera_bo_del(instance->bo);
	}
	while (buffer->num_parked)
		tessera_bo_retire(buffer->parked[--buffer->num_parked]);
	tessera_free(dev, buffer->parked);
	tessera_free(dev, buffer->instances);
	tessera_free(dev, buffer);
	tessera_device_del(dev);
}

struct tessera_bo *tessera_buffer_bo(const struct tessera_buffer *buffer)
{
	return buffer->instances[buffer->current].bo;
}

uint64_t tessera_buffer_offset(const struct tessera_buffer *buffer)
{
	return buffer->instances[buffer->current].offset;
}

int tessera_buffer_used(struct tessera_buffer *buffer, struct tessera_syncobj *timeline,
			uint64_t point, int write)
{
	if (!point)
		return -EINVAL;
	return tessera_uses_add(buffer->dev, &buffer->instances[buffer->current].uses, timeline,
				point, write);
}

/*
 * Select a slice that no job uses, beginning with the one that was discarded
 * longest ago. Returns 1 if there is none.
 */
static int find_idle(struct tessera_buffer *buffer)
{
	for (size_t i = 1; i <= buffer->num; i++) {
		size_t which = (buffer->current + i) % buffer->num;
		int ret = tessera_uses_busy(&buffer->instances[which].uses, true);

		if (ret < 0)
			return ret;
		if (!ret) {
			bool wrapped = which <= buffer->current;

			buffer->current = which;
			if (wrapped)
				buffer_shrink(buffer);
			return 0;
		}
	}
	return 1;
}

static bool may_grow(const struct tessera_buffer *buffer)
{
	size_t objects = buffer->num / buffer->slices;

	return objects < MIN_OBJECTS ||
	       (objects < MAX_OBJECTS && (objects + 1) * buffer->desc.size <= MAX_BYTES);
}

/*
 * Switch to a slice that no job uses: an idle one, a new one, or the oldest one
 * after a wait.
 */
static int buffer_rename(struct tessera_buffer *buffer, uint32_t flags)
{
	int ret = find_idle(buffer);

	if (ret <= 0)
		return ret;
	if (may_grow(buffer))
		return object_add(buffer);
	if (flags & TESSERA_MAP_DONTBLOCK)
		return -EBUSY;
	ret = tessera_uses_wait(&buffer->instances[(buffer->current + 1) % buffer->num].uses, true);
	if (!ret)
		buffer->current = (buffer->current + 1) % buffer->num;
	return ret;
}

static int buffer_sync(struct tessera_buffer *buffer, uint32_t flags)
{
	struct tessera_uses *uses = &buffer->instances[buffer->current].uses;
	bool for_write = flags & TESSERA_MAP_WRITE;
	int ret;

	if (flags & TESSERA_MAP_UNSYNCHRONIZED)
		return 0;
	ret = tessera_uses_busy(uses, for_write);
	if (ret <= 0)
		return ret;
	if (flags & TESSERA_MAP_DISCARD_WHOLE)
		return buffer_rename(buffer, flags);
	if (flags & TESSERA_MAP_DONTBLOCK)
		return -EBUSY;
	return tessera_uses_wait(uses, for_write);
}

static int buffer_flush(struct tessera_buffer *buffer)
{
	struct buffer_instance *instance = &buffer->instances[buffer->current];

	return tessera_bo_invalidate_cache(instance->bo, instance->offset, buffer->size);
}

int tessera_buffer_lock(struct tessera_buffer *buffer, uint32_t flags, void **out)
{
	struct buffer_instance *instance;
	int ret = tessera_map_flags_check(buffer->dev, flags);

	if (!ret)
		ret = buffer_sync(buffer, flags);
	/*
	 * Invalidate after the jobs' writes: the CPU may have cached lines
	 * before.
	 */
	if (!ret && buffer->flush && !(flags & TESSERA_MAP_DISCARD_WHOLE))
		ret = buffer_flush(buffer);
	if (ret)
		return ret;
	instance = &buffer->instances[buffer->current];
	*out = (uint8_t *)instance->map + instance->offset;
	return 0;
}

int tessera_buffer_unlock(struct tessera_buffer *buffer, uint32_t flags)
{
	return buffer->flush && (flags & TESSERA_MAP_WRITE) ? buffer_flush(buffer) : 0;
}
