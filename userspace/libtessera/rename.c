// SPDX-License-Identifier: MIT
/*
 * Buffers that the CPU goes on writing while jobs read what was there before: the synchronisation that
 * the kernel leaves to its clients. A buffer is a row of objects, each locked for its life, with the points of
 * timelines at which the jobs that use it are done. To discard is to take another object that nobody
 * uses. Waiting is a sleep in the kernel, for such a point.
 */
#include <errno.h>
#include <string.h>

#include "priv.h"

/* Jobs use an instance until a timeline reaches a point. */
struct buffer_use {
	struct tessera_syncobj *timeline; /* reference */
	uint64_t point;
	bool write;
};

struct buffer_instance {
	struct tessera_bo *bo; /* reference */
	void *map;
	struct buffer_use *uses;
	size_t num_uses, cap_uses;
};

struct tessera_buffer {
	struct tessera_device *dev;
	struct tessera_bo_desc desc;
	bool flush; /* caches are ours to care for */
	bool lock; /* locked for life; else only mapped */
	struct buffer_instance *instances;
	size_t num, cap;
	size_t current;
};

static void use_drop(struct buffer_instance *instance, size_t i)
{
	tessera_syncobj_del(instance->uses[i].timeline);
	instance->uses[i] = instance->uses[--instance->num_uses];
}

/*
 * An object that is in no segment when it is locked, and supports memory only, would be kept out of it. The mapping
 * of one that the CPU sees there is as good.
 */
static int instance_map(struct tessera_buffer *buffer, struct buffer_instance *instance)
{
	return buffer->lock ? tessera_bo_lock2(instance->bo, &instance->map)
			    : tessera_bo_map(instance->bo, &instance->map);
}

static int instance_add(struct tessera_buffer *buffer)
{
	struct buffer_instance *instance;
	int ret;

	ret = tessera_grow(buffer->dev, (void **)&buffer->instances, &buffer->cap, buffer->num + 1,
			   sizeof(*instance));
	if (ret)
		return ret;
	instance = &buffer->instances[buffer->num];
	memset(instance, 0, sizeof(*instance));
	ret = tessera_bo_new(buffer->dev, &buffer->desc, &instance->bo);
	if (ret)
		return ret;
	ret = instance_map(buffer, instance);
	if (ret) {
		tessera_bo_del(instance->bo);
		return ret;
	}
	buffer->current = buffer->num++;
	return 0;
}

int tessera_buffer_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
		       struct tessera_buffer **out)
{
	struct tessera_buffer *buffer;
	int ret;

	if (!(desc->flags & DRM_TESSERA_BO_CPU_ACCESS) || desc->layout != TSR_LAYOUT_LINEAR)
		return -EINVAL;
	buffer = tessera_alloc(dev, sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	buffer->dev = tessera_device_ref(dev);
	buffer->desc = *desc;
	buffer->flush = (desc->flags & DRM_TESSERA_BO_EXPLICIT_SYNC) &&
			!(dev->info.caps & DRM_TESSERA_CAP_IO_COHERENT);
	buffer->lock =
		desc->supported & tessera_device_segment_set(dev, DRM_TESSERA_SEGMENT_APERTURE, 0);
	ret = instance_add(buffer);
	if (ret) {
		tessera_buffer_del(buffer);
		return ret;
	}
	*out = buffer;
	return 0;
}

void tessera_buffer_del(struct tessera_buffer *buffer)
{
	struct tessera_device *dev;

	if (!buffer)
		return;
	dev = buffer->dev;
	for (size_t i = 0; i < buffer->num; i++) {
		struct buffer_instance *instance = &buffer->instances[i];

		while (instance->num_uses)
			use_drop(instance, 0);
		tessera_free(dev, instance->uses);
		if (buffer->lock)
			(void)tessera_bo_unlock2(instance->bo);
		/* Jobs may not list it: behind all of them. Without memory for that, behind those that do. */
		if (tessera_bo_destroy(instance->bo, 0))
			tessera_bo_del(instance->bo);
	}
	tessera_free(dev, buffer->instances);
	tessera_free(dev, buffer);
	tessera_device_del(dev);
}

struct tessera_bo *tessera_buffer_bo(const struct tessera_buffer *buffer)
{
	return buffer->instances[buffer->current].bo;
}

int tessera_buffer_used(struct tessera_buffer *buffer, struct tessera_syncobj *timeline,
			uint64_t point, int write)
{
	struct buffer_instance *instance = &buffer->instances[buffer->current];
	int ret;

	if (!point)
		return -EINVAL;
	for (size_t i = 0; i < instance->num_uses; i++) {
		struct buffer_use *use = &instance->uses[i];

		if (use->timeline != timeline || use->write != !!write)
			continue;
		if (use->point < point)
			use->point = point;
		return 0;
	}
	ret = tessera_grow(buffer->dev, (void **)&instance->uses, &instance->cap_uses,
			   instance->num_uses + 1, sizeof(*instance->uses));
	if (ret)
		return ret;
	instance->uses[instance->num_uses++] = (struct buffer_use){
		.timeline = tessera_syncobj_ref(timeline),
		.point = point,
		.write = write,
	};
	return 0;
}

/* 1: jobs use it that an access would disturb; 0: none does. Forgets those that are done. */
static int instance_busy(struct buffer_instance *instance, bool for_write)
{
	int busy = 0;

	for (size_t i = 0; i < instance->num_uses;) {
		struct buffer_use *use = &instance->uses[i];
		uint64_t reached;
		int ret = tessera_syncobj_query(use->timeline, &reached);

		if (ret)
			return ret;
		if (reached >= use->point) {
			use_drop(instance, i);
			continue;
		}
		busy |= for_write || use->write;
		i++;
	}
	return busy;
}

static int instance_wait(struct buffer_instance *instance, bool for_write)
{
	for (size_t i = 0; i < instance->num_uses;) {
		struct buffer_use *use = &instance->uses[i];
		int ret;

		if (!for_write && !use->write) {
			i++;
			continue;
		}
		ret = tessera_syncobj_wait(use->timeline, use->point, TESSERA_FOREVER);
		if (ret)
			return ret;
		use_drop(instance, i);
	}
	return 0;
}

/* Another one that nobody uses. */
static int buffer_rename(struct tessera_buffer *buffer)
{
	for (size_t i = 0; i < buffer->num; i++) {
		int ret = instance_busy(&buffer->instances[i], true);

		if (ret < 0)
			return ret;
		if (!ret) {
			buffer->current = i;
			return 0;
		}
	}
	return instance_add(buffer);
}

static int buffer_sync(struct tessera_buffer *buffer, uint32_t flags)
{
	struct buffer_instance *instance = &buffer->instances[buffer->current];
	bool for_write = flags & TESSERA_MAP_WRITE;
	int ret;

	if (flags & TESSERA_MAP_UNSYNCHRONIZED)
		return 0;
	ret = instance_busy(instance, for_write);
	if (ret <= 0)
		return ret;
	if (flags & TESSERA_MAP_DISCARD_WHOLE)
		return buffer_rename(buffer);
	if (flags & TESSERA_MAP_DONTBLOCK)
		return -EBUSY;
	return instance_wait(instance, for_write);
}

int tessera_buffer_lock(struct tessera_buffer *buffer, uint32_t flags, void **out)
{
	struct buffer_instance *instance;
	int ret = tessera_map_flags_check(buffer->dev, flags);

	if (!ret)
		ret = buffer_sync(buffer, flags);
	if (ret)
		return ret;
	instance = &buffer->instances[buffer->current];
	/* What jobs have written; lines may have been loaded before that. */
	if (buffer->flush && !(flags & TESSERA_MAP_DISCARD_WHOLE))
		ret = tessera_bo_invalidate_cache(instance->bo, 0, tessera_bo_size(instance->bo));
	if (!ret)
		*out = instance->map;
	return ret;
}

int tessera_buffer_unlock(struct tessera_buffer *buffer, uint32_t flags)
{
	struct tessera_bo *bo = tessera_buffer_bo(buffer);

	if (!buffer->flush || !(flags & TESSERA_MAP_WRITE))
		return 0;
	return tessera_bo_invalidate_cache(bo, 0, tessera_bo_size(bo));
}
