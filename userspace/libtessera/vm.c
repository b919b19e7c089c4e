// SPDX-License-Identifier: MIT
/*
 * VMs: GPU virtual addresses of objects. An object has one mapping of its whole
 * size in a VM, until it is unbound or its last reference is dropped. Mapping
 * and object hold no reference to each other. The kernel executes an unmap
 * after the jobs that were submitted before, and a later map after the unmap.
 * Addresses can therefore be reused at once.
 */
#include <errno.h>

#include "vm.h"

/* Nothing is mapped below, so that small numbers used as addresses fault. */
#define FIRST_ADDRESS (UINT64_C(1) << 32)

static int vm_bind(struct tessera_vm *vm, const struct drm_tessera_vm_bind_op *op)
{
	struct drm_tessera_vm_bind args = {
		.vm = vm->id,
		.ops = { .stride = sizeof(*op), .count = 1, .array = (uintptr_t)op },
		.syncs.stride = sizeof(struct drm_tessera_sync),
	};

	return tessera_ioctl(vm->dev, DRM_IOCTL_TESSERA_VM_BIND, &args);
}

/*
 * Use a separate part of the address space for each page size. No address is
 * lost to alignment, and every hole of a part fits the page size of that part.
 */
static int vm_init_addresses(struct tessera_vm *vm)
{
	static const uint64_t granules[TESSERA_VM_GRANULES] = { 4096, 65536, 2 << 20 };
	const struct drm_tessera_query_device *info = &vm->dev->info;
	uint64_t part = UINT64_C(1) << (info->va_bits - 2);

	for (uint32_t i = 0; i < TESSERA_VM_GRANULES; i++) {
		uint64_t start = i ? i * part : FIRST_ADDRESS;
		uint64_t granule = granules[i] < info->page_size ? info->page_size : granules[i];
		int ret = tessera_va_init(&vm->va[i], vm->dev, start, (i + 1) * part - start,
					  granule);

		if (ret)
			return ret;
	}
	return 0;
}

static void vm_free(struct tessera_vm *vm)
{
	struct tessera_device *dev = vm->dev;

	for (uint32_t i = 0; i < TESSERA_VM_GRANULES; i++)
		tessera_va_fini(&vm->va[i]);
	pthread_mutex_destroy(&vm->residency);
	tessera_free(dev, vm);
	tessera_device_del(dev);
}

int tessera_vm_new(struct tessera_device *dev, struct tessera_vm **out)
{
	struct drm_tessera_vm_create create = { 0 };
	struct tessera_vm *vm;
	int ret;

	if (!(dev->info.caps & DRM_TESSERA_CAP_VM))
		return -EOPNOTSUPP;
	if (dev->info.va_bits < 36 || dev->info.va_bits > 63)
		return -EPROTO;
	vm = tessera_alloc(dev, sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	atomic_init(&vm->refs, 1);
	vm->dev = tessera_device_ref(dev);
	TAILQ_INIT(&vm->mappings);
	SLIST_INIT(&vm->fences);
	pthread_mutex_init(&vm->residency, NULL);
	ret = vm_init_addresses(vm);
	if (!ret)
		ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_VM_CREATE, &create);
	if (ret) {
		vm_free(vm);
		return ret;
	}
	vm->id = create.id;
	*out = vm;
	return 0;
}

struct tessera_vm *tessera_vm_ref(struct tessera_vm *vm)
{
	atomic_fetch_add(&vm->refs, 1);
	return vm;
}

/*
 * Remove the mapping from all lists. If it was @unmapped, its addresses can be
 * reused.
 */
static void mapping_free(struct tessera_mapping *mapping, bool unmapped)
{
	struct tessera_vm *vm = mapping->vm;

	SLIST_REMOVE(&mapping->bo->mappings, mapping, tessera_mapping, of_bo);
	TAILQ_REMOVE(&vm->mappings, mapping, of_vm);
	if (unmapped)
		tessera_va_give(mapping->va, mapping->range);
	else
		tessera_free(vm->dev, mapping->range);
	tessera_free(vm->dev, mapping);
}

int tessera_mapping_unlist(struct tessera_mapping *mapping)
{
	if (!mapping->listed)
		return 0;
	mapping->listed = false;
	return tessera_device_evict(mapping->vm->dev, &mapping->bo, 1);
}

/* ---- Monitored fences ----------------------------------------------------- */

/*
 * Remove the mapping from its list. If it was @unmapped, its addresses can be
 * reused.
 */
static void fence_mapping_free(struct tessera_vm *vm, struct tessera_fence_mapping *mapping,
			       bool unmapped)
{
	SLIST_REMOVE(&vm->fences, mapping, tessera_fence_mapping, of_vm);
	if (unmapped)
		tessera_va_give(&vm->va[0], mapping->range);
	else
		tessera_free(vm->dev, mapping->range);
	tessera_monitored_del(mapping->fence);
	tessera_free(vm->dev, mapping);
}

static struct tessera_fence_mapping *fence_mapping_find(struct tessera_vm *vm,
							const struct tessera_monitored *fence)
{
	struct tessera_fence_mapping *mapping;

	SLIST_FOREACH(mapping, &vm->fences, of_vm)
	{
		if (mapping->fence == fence)
			return mapping;
	}
	return NULL;
}

static struct tessera_fence_mapping *fence_mapping_new(struct tessera_vm *vm,
						       struct tessera_monitored *fence)
{
	struct tessera_fence_mapping *mapping = tessera_alloc(vm->dev, sizeof(*mapping));

	if (!mapping)
		return NULL;
	mapping->range = tessera_va_take(&vm->va[0], TSR_PAGE_SIZE);
	if (!mapping->range) {
		tessera_free(vm->dev, mapping);
		return NULL;
	}
	mapping->fence = tessera_monitored_ref(fence);
	SLIST_INSERT_HEAD(&vm->fences, mapping, of_vm);
	return mapping;
}

static int vm_map_fence_locked(struct tessera_vm *vm, struct tessera_monitored *fence,
			       uint32_t flags, uint64_t *address)
{
	struct tessera_fence_mapping *mapping = fence_mapping_find(vm, fence);
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP_FENCE,
		.flags = flags,
		.handle = fence->id,
		.range = TSR_PAGE_SIZE,
	};
	bool known = mapping;
	int ret;

	if (!known)
		mapping = fence_mapping_new(vm, fence);
	if (!mapping)
		return -ENOMEM;
	op.address = mapping->range->start;
	ret = vm_bind(vm, &op);
	if (!ret)
		*address = op.address + ((uintptr_t)fence->value - (uintptr_t)fence->page);
	else if (!known)
		fence_mapping_free(vm, mapping, true);
	return ret;
}

int tessera_vm_map_fence(struct tessera_vm *vm, struct tessera_monitored *fence, uint32_t flags,
			 uint64_t *address)
{
	int ret;

	if (fence->obj->dev != vm->dev)
		return -EXDEV;
	pthread_mutex_lock(&vm->dev->vm_lock);
	ret = vm_map_fence_locked(vm, fence, flags, address);
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return ret;
}

static int fence_mapping_unmap(struct tessera_vm *vm, struct tessera_fence_mapping *mapping)
{
	const struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = mapping->range->start,
		.range = TSR_PAGE_SIZE,
	};
	int ret = vm_bind(vm, &op);

	fence_mapping_free(vm, mapping, !ret);
	return ret;
}

int tessera_vm_unmap_fence(struct tessera_vm *vm, struct tessera_monitored *fence)
{
	struct tessera_fence_mapping *mapping;
	int ret;

	pthread_mutex_lock(&vm->dev->vm_lock);
	mapping = fence_mapping_find(vm, fence);
	ret = mapping ? fence_mapping_unmap(vm, mapping) : -EINVAL;
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return ret;
}

/* ---- Objects -------------------------------------------------------------- */

void tessera_vm_del(struct tessera_vm *vm)
{
	struct drm_tessera_vm_destroy destroy = { 0 };
	struct tessera_fence_mapping *fence;
	struct tessera_mapping *mapping;

	if (!vm || atomic_fetch_sub(&vm->refs, 1) != 1)
		return;
	pthread_mutex_lock(&vm->dev->vm_lock);
	while ((mapping = TAILQ_FIRST(&vm->mappings))) {
		(void)tessera_mapping_unlist(mapping);
		mapping_free(mapping, true);
	}
	while ((fence = SLIST_FIRST(&vm->fences)))
		fence_mapping_free(vm, fence, true);
	pthread_mutex_unlock(&vm->dev->vm_lock);
	destroy.id = vm->id;
	/* This removes all mappings. */
	(void)tessera_ioctl(vm->dev, DRM_IOCTL_TESSERA_VM_DESTROY, &destroy);
	vm_free(vm);
}

uint32_t tessera_vm_id(const struct tessera_vm *vm)
{
	return vm->id;
}

struct tessera_mapping *tessera_vm_find(struct tessera_vm *vm, const struct tessera_bo *bo)
{
	struct tessera_mapping *mapping;

	SLIST_FOREACH(mapping, &bo->mappings, of_bo)
	{
		if (mapping->vm == vm)
			return mapping;
	}
	return NULL;
}

static int mapping_map(struct tessera_mapping *mapping, uint32_t flags)
{
	const struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.flags = flags,
		.handle = mapping->bo->handle,
		.address = mapping->range->start,
		.range = mapping->bo->size,
	};

	return vm_bind(mapping->vm, &op);
}

static struct tessera_mapping *mapping_new(struct tessera_vm *vm, struct tessera_bo *bo)
{
	struct tessera_mapping *mapping = tessera_alloc(vm->dev, sizeof(*mapping));
	uint32_t part = TESSERA_VM_GRANULES - 1;

	if (!mapping)
		return NULL;
	while (part && bo->size < vm->va[part].granule)
		part--;
	mapping->va = &vm->va[part];
	mapping->range = tessera_va_take(mapping->va, bo->size);
	if (!mapping->range) {
		tessera_free(vm->dev, mapping);
		return NULL;
	}
	mapping->vm = vm;
	mapping->bo = bo;
	SLIST_INSERT_HEAD(&bo->mappings, mapping, of_bo);
	TAILQ_INSERT_TAIL(&vm->mappings, mapping, of_vm);
	return mapping;
}

static int vm_bind_locked(struct tessera_vm *vm, struct tessera_bo *bo, uint64_t *address)
{
	struct tessera_mapping *mapping = tessera_vm_find(vm, bo);
	int ret;

	if (!mapping) {
		mapping = mapping_new(vm, bo);
		if (!mapping)
			return -ENOMEM;
		ret = mapping_map(mapping, bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY
						   ? DRM_TESSERA_VM_BIND_READ_ONLY
						   : 0);
		if (ret) {
			mapping_free(mapping, true);
			return ret;
		}
	}
	*address = mapping->range->start;
	return 0;
}

int tessera_vm_bind(struct tessera_vm *vm, struct tessera_bo *bo, uint64_t *address)
{
	int ret;

	if (bo->dev != vm->dev)
		return -EXDEV;
	pthread_mutex_lock(&vm->dev->vm_lock);
	ret = vm_bind_locked(vm, bo, address);
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return ret;
}

int tessera_vm_protect(struct tessera_vm *vm, struct tessera_bo *bo, uint32_t flags)
{
	struct tessera_mapping *mapping;
	int ret;

	pthread_mutex_lock(&vm->dev->vm_lock);
	mapping = tessera_vm_find(vm, bo);
	ret = mapping ? mapping_map(mapping, flags) : -EINVAL;
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return ret;
}

/*
 * Forget the mapping even if unmapping fails. Its addresses are then not
 * reused, because they may still be mapped.
 */
static int mapping_unbind(struct tessera_mapping *mapping)
{
	const struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = mapping->range->start,
		.range = mapping->bo->size,
	};
	int ret, unlisted = tessera_mapping_unlist(mapping);

	ret = vm_bind(mapping->vm, &op);
	mapping_free(mapping, !ret);
	return ret ? ret : unlisted;
}

int tessera_vm_unbind(struct tessera_vm *vm, struct tessera_bo *bo)
{
	struct tessera_mapping *mapping;
	int ret;

	pthread_mutex_lock(&vm->dev->vm_lock);
	mapping = tessera_vm_find(vm, bo);
	ret = mapping ? mapping_unbind(mapping) : -EINVAL;
	pthread_mutex_unlock(&vm->dev->vm_lock);
	return ret;
}

void tessera_vm_forget_bo(struct tessera_bo *bo)
{
	struct tessera_mapping *mapping;

	pthread_mutex_lock(&bo->dev->vm_lock);
	while ((mapping = SLIST_FIRST(&bo->mappings)))
		(void)mapping_unbind(mapping);
	pthread_mutex_unlock(&bo->dev->vm_lock);
}

void tessera_vm_unlist_bo(struct tessera_bo *bo)
{
	struct tessera_mapping *mapping;

	pthread_mutex_lock(&bo->dev->vm_lock);
	SLIST_FOREACH(mapping, &bo->mappings, of_bo)
	{
		mapping->kept = 0;
		(void)tessera_mapping_unlist(mapping);
	}
	pthread_mutex_unlock(&bo->dev->vm_lock);
}

bool tessera_vm_knows_bo(struct tessera_bo *bo)
{
	bool known;

	pthread_mutex_lock(&bo->dev->vm_lock);
	known = !SLIST_EMPTY(&bo->mappings);
	pthread_mutex_unlock(&bo->dev->vm_lock);
	return known;
}
