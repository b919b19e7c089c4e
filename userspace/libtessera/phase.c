// SPDX-License-Identifier: MIT
/*
 * Which objects of a VM are resident, where not all of them can be. Some are kept until told otherwise; of the others those of a phase
 * are: of a part of a program's work, that is submitted before the next phase begins. What earlier phases had listed stays so as long as
 * its room is not needed, and goes in the order in which it was asked for.
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

/* They are of the phase at hand, and were asked for last. */
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

/* Those that are not listed yet, into @missing, each once; they count as listed from now on. Returns how many. */
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

/* Evict what nobody asks for now, what was asked for longest ago first, until there is room. */
static bool trim(struct tessera_vm *vm, const struct tessera_residency *lack)
{
	struct tessera_mapping *mapping;
	uint64_t bytes = 0;

	pthread_mutex_lock(&vm->dev->vm_lock);
	TAILQ_FOREACH(mapping, &vm->mappings, of_vm)
	{
		if (bytes >= lack->bytes_to_trim)
			break;
		if (!mapping->listed || mapping->kept || mapping->phase == vm->phase ||
		    !(mapping->bo->supported & lack->trim_segments))
			continue;
		if (!tessera_mapping_unlist(mapping))
			bytes += mapping->bo->size;
	}
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return bytes;
}

/* All or nothing, with what can be evicted for it evicted. @lack: what is missing then. */
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

/* How many from the front are left without so many bytes at the end. */
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

	/* Those at the end are not of this phase if they do not fit, and give way. */
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
	/* More than a call takes are not had at once, either. */
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

/* What is kept is not evicted for the rest of it, either. */
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

/* With the lock. A reference less, for each time it is in @bos; nothing at all if one has too few. */
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
