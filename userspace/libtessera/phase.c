// SPDX-License-Identifier: MIT
/*
 * Residency of the objects of a VM when not all of them fit. Kept objects stay
 * resident until the program evicts them. The others are resident for a phase:
 * a part of the program's work that is submitted before the next phase begins.
 * Objects of earlier phases stay listed until their space is needed. Those of
 * the lowest priority are evicted first, and among equals the least recently
 * requested one.
 */
#include <errno.h>

#include "vm.h"

static int check_bos(const struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (bos[i]->dev != vm->dev)
			return -EXDEV;
	}
	return 0;
}

static int map_all(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	int ret = check_bos(vm, bos, count);
	uint64_t address;

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = tessera_vm_bind(vm, bos[i], &address);
	return ret;
}

/*
 * Assign the objects to the current phase and make them most recently
 * requested.
 */
static void stamp(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	pthread_mutex_lock(&vm->dev->vm_lock);
	for (uint32_t i = 0; i < count; i++) {
		struct tessera_mapping *mapping = tessera_vm_find(vm, bos[i]);

		if (!mapping)
			continue;
		mapping->phase = vm->phase;
		TAILQ_REMOVE(&vm->mappings, mapping, of_vm);
		TAILQ_INSERT_TAIL(&vm->mappings, mapping, of_vm);
	}
	pthread_mutex_unlock(&vm->dev->vm_lock);
}

/*
 * Collect the objects that are not listed yet in @missing, each once, and mark
 * them as listed. Returns their number.
 */
static uint32_t collect(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count,
			struct tessera_bo **missing)
{
	uint32_t num = 0;

	pthread_mutex_lock(&vm->dev->vm_lock);
	for (uint32_t i = 0; i < count; i++) {
		struct tessera_mapping *mapping = tessera_vm_find(vm, bos[i]);

		if (!mapping || mapping->listed)
			continue;
		mapping->listed = true;
		missing[num++] = bos[i];
	}
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return num;
}

static void uncollect(struct tessera_vm *vm, struct tessera_bo *const *missing, uint32_t num)
{
	pthread_mutex_lock(&vm->dev->vm_lock);
	for (uint32_t i = 0; i < num; i++) {
		struct tessera_mapping *mapping = tessera_vm_find(vm, missing[i]);

		if (mapping)
			mapping->listed = false;
	}
	pthread_mutex_unlock(&vm->dev->vm_lock);
}

/* Caller holds vm_lock. The same as trim() for objects of one priority. */
static uint64_t trim_priority(struct tessera_vm *vm, const struct tessera_residency *lack,
			      int32_t priority, uint64_t bytes)
{
	struct tessera_mapping *mapping;

	TAILQ_FOREACH(mapping, &vm->mappings, of_vm)
	{
		if (bytes >= lack->bytes_to_trim)
			break;
		if (!mapping->listed || mapping->kept || mapping->phase == vm->phase ||
		    mapping->bo->desc.priority != priority ||
		    !(mapping->bo->supported & lack->trim_segments))
			continue;
		if (!tessera_mapping_unlist(mapping))
			bytes += mapping->bo->size;
	}
	return bytes;
}

/*
 * Evict objects that are neither kept nor part of the current phase, those of
 * the lowest priority first, least recently requested first among equals, until
 * there is enough space.
 */
static bool trim(struct tessera_vm *vm, const struct tessera_residency *lack)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&vm->dev->vm_lock);
	for (int32_t priority = DRM_TESSERA_BO_PRIORITY_MIN;
	     priority <= DRM_TESSERA_BO_PRIORITY_MAX; priority++)
		bytes = trim_priority(vm, lack, priority, bytes);
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return bytes;
}

/*
 * List all objects or none, after evicting others for them. On failure @lack
 * describes the missing space.
 */
static int list_all(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count,
		    struct tessera_bo **missing, struct tessera_residency *lack)
{
	uint32_t num = collect(vm, bos, count, missing);
	int ret = 0;

	*lack = (struct tessera_residency){ 0 };
	while (num) {
		ret = tessera_device_make_resident(vm->dev, missing, num, NULL, lack);
		if (ret != -ENOMEM || !lack->bytes_to_trim || !trim(vm, lack))
			break;
	}
	if (ret)
		uncollect(vm, missing, num);
	return ret;
}

/*
 * Number of objects that remain if enough are dropped from the end to free the
 * missing bytes.
 */
static uint32_t shorten(struct tessera_bo *const *bos, uint32_t count,
			const struct tessera_residency *lack)
{
	uint64_t bytes = 0;

	while (count && bytes < lack->bytes_to_trim) {
		count--;
		if (bos[count]->supported & lack->trim_segments)
			bytes += bos[count]->size;
	}
	return count;
}

static int begin_phase(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count,
		       struct tessera_bo **missing)
{
	struct tessera_residency lack;
	int ret;

	/*
	 * If not all objects fit, drop some from the end and start over in a
	 * new phase, in which the dropped ones can be evicted.
	 */
	do {
		vm->phase++;
		stamp(vm, bos, count);
		ret = list_all(vm, bos, count, missing, &lack);
		if (!ret)
			return count;
		if (ret == -ENOMEM && lack.bytes_to_trim)
			count = shorten(bos, count, &lack);
		else
			count = 0;
	} while (count);
	return ret;
}

int tessera_vm_phase(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	struct tessera_bo **missing;
	int ret;

	if (count > INT32_MAX)
		return -E2BIG;
	if (!vm)
		return count;
	/* One MAKE_RESIDENT accepts at most this many. */
	if (count > vm->dev->info.max_allocs)
		count = vm->dev->info.max_allocs;
	missing = tessera_alloc(vm->dev, ((size_t)count + 1) * sizeof(struct tessera_bo *));
	if (!missing)
		return -ENOMEM;
	pthread_mutex_lock(&vm->residency);
	ret = map_all(vm, bos, count);
	if (!ret)
		ret = begin_phase(vm, bos, count, missing);
	pthread_mutex_unlock(&vm->residency);
	tessera_free(vm->dev, missing);
	return ret;
}

/*
 * Change the keep count. Kept objects are not evicted for the rest of the list.
 */
static void keep(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count, int by)
{
	pthread_mutex_lock(&vm->dev->vm_lock);
	for (uint32_t i = 0; i < count; i++) {
		struct tessera_mapping *mapping = tessera_vm_find(vm, bos[i]);

		if (mapping)
			mapping->kept += by;
	}
	pthread_mutex_unlock(&vm->dev->vm_lock);
}

static int keep_all(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count,
		    struct tessera_bo **missing)
{
	struct tessera_residency lack;
	int ret = map_all(vm, bos, count);

	if (ret)
		return ret;
	keep(vm, bos, count, 1);
	ret = list_all(vm, bos, count, missing, &lack);
	if (ret)
		keep(vm, bos, count, -1);
	return ret;
}

int tessera_vm_make_resident(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	struct tessera_bo **missing;
	int ret;

	if (!vm || !count)
		return 0;
	if (count > vm->dev->info.max_allocs)
		return -E2BIG;
	missing = tessera_alloc(vm->dev, (size_t)count * sizeof(struct tessera_bo *));
	if (!missing)
		return -ENOMEM;
	pthread_mutex_lock(&vm->residency);
	ret = keep_all(vm, bos, count, missing);
	pthread_mutex_unlock(&vm->residency);
	tessera_free(vm->dev, missing);
	return ret;
}

/*
 * Caller holds vm_lock. Drop one keep for each time an object occurs in @bos,
 * or none at all if an object has too few.
 */
static int unkeep(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	struct tessera_mapping *mapping;
	uint32_t i;

	for (i = 0; i < count; i++) {
		mapping = tessera_vm_find(vm, bos[i]);
		if (!mapping || !mapping->kept)
			break;
		mapping->kept--;
	}
	if (i == count)
		return 0;
	while (i--)
		tessera_vm_find(vm, bos[i])->kept++;
	return -EINVAL;
}

int tessera_vm_evict(struct tessera_vm *vm, struct tessera_bo *const *bos, uint32_t count)
{
	int ret;

	if (!vm)
		return 0;
	pthread_mutex_lock(&vm->dev->vm_lock);
	ret = unkeep(vm, bos, count);
	for (uint32_t i = 0; i < count && !ret; i++) {
		struct tessera_mapping *mapping = tessera_vm_find(vm, bos[i]);

		if (!mapping->kept)
			ret = tessera_mapping_unlist(mapping);
	}
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return ret;
}

bool tessera_vm_trim(struct tessera_vm *vm)
{
	struct tessera_residency lack;
	bool trimmed;

	pthread_mutex_lock(&vm->residency);
	trimmed = tessera_device_make_resident(vm->dev, NULL, 0, NULL, &lack) == -ENOMEM &&
		  trim(vm, &lack);
	pthread_mutex_unlock(&vm->residency);
	return trimmed;
}
