// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: buffer objects
 *
 * Creation, lookup, placement queries and destruction of buffer objects.
 * mem/move.c moves them. The reservation of an object protects the fields that
 * change.
 */

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/drm_vma_manager.h>
#include <drm/ttm/ttm_tt.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"

/*
 * All objects of a device by id. An object is stored in @objects when it is
 * complete, so that a walk never finds a partially initialized one.
 */
struct tessera_registry {
	/*
	 * Held to remove an object, so that a walk can use the objects that it
	 * finds; a leaf.
	 */
	struct mutex lock;
	struct xarray objects;
	/* Woken when an object was removed. */
	wait_queue_head_t removed;
	u32 next_id;
};

static void registry_fini(struct drm_device *drm, void *data)
{
	struct tessera_registry *registry = data;

	xa_destroy(&registry->objects);
	mutex_destroy(&registry->lock);
}

/**
 * tessera_bo_init_registry() - set up the registry of objects
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_bo_init_registry(struct tessera_device *tdev)
{
	struct tessera_registry *registry;

	registry = drmm_kzalloc(&tdev->drm, sizeof(*registry), GFP_KERNEL);
	if (!registry)
		return -ENOMEM;

	mutex_init(&registry->lock);
	init_waitqueue_head(&registry->removed);
	xa_init_flags(&registry->objects, XA_FLAGS_ALLOC1);
	tdev->registry = registry;

	return drmm_add_action_or_reset(&tdev->drm, registry_fini, registry);
}

static void registry_remove(struct tessera_registry *registry, u32 id)
{
	mutex_lock(&registry->lock);
	xa_erase(&registry->objects, id);
	mutex_unlock(&registry->lock);
	if (wq_has_sleeper(&registry->removed))
		wake_up_all(&registry->removed);
}

/**
 * tessera_bo_wait_destroyed() - wait until an object and its resources are
 * freed
 * @tdev: the device
 * @id: id of the object, which has no references left
 *
 * A signal ends the wait early. The waiting task can be frozen, so
 * suspend does not wait for it. An id is not reused until all others were.
 */
void tessera_bo_wait_destroyed(struct tessera_device *tdev, u32 id)
{
	struct tessera_registry *registry = tdev->registry;

	tessera_wait_event(TESSERA_WAIT_DESTROY, registry->removed,
			   !xa_load(&registry->objects, id),
			   (TASK_INTERRUPTIBLE | TASK_FREEZABLE_UNSAFE));
}

/*
 * Counts an object for its owner. User memory is counted, too, as its place in a
 * segment is. Imports have an account of their own (paging/queue.c).
 */
static void bo_count(struct tessera_bo *bo, s64 bytes)
{
	const struct tessera_segment *seg = tessera_segment_by_id(bo->account->tdev,
								  bo->preferred[0]);

	atomic64_add(bytes, &bo->account->total[seg->index]);
}

/*
 * Returns the pages of an import to their exporter. This device must not use
 * them after that. The fences have signalled, unless there was no memory to wait
 * for them (gem/destroy.c).
 */
static void bo_return_pages(struct ttm_buffer_object *tbo)
{
	struct tessera_device *tdev = to_tessera_device(tbo->base.dev);
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	if (!tbo->base.import_attach)
		return;
	dma_resv_iter_begin(&cursor, tbo->base.resv, DMA_RESV_USAGE_KERNEL);
	dma_resv_for_each_fence_unlocked(&cursor, fence)
		if (tessera_fence_is_own(tdev, fence))
			tessera_wait_fence(TESSERA_WAIT_PAGES, fence, false, MAX_SCHEDULE_TIMEOUT);
	dma_resv_iter_end(&cursor);
	tessera_borrow_end(tbo, &to_tessera_bo(tbo)->sharing.borrow);
}

/* Ends an object whose memory is free. */
static void bo_end(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct ttm_buffer_object *tbo = &bo->tbo;

	trace_tessera_destroy(bo->id);
	bo_count(bo, -tessera_bo_bytes(bo));

	drm_WARN_ON(&tdev->drm, !list_empty(&bo->locks.files));
	drm_WARN_ON(&tdev->drm, !list_empty(&bo->residency.entries));
	bo_return_pages(tbo);
	if (bo->user)
		tessera_user_destroy(bo->user);
	/*
	 * The object has no DMA mappings any more, so unplug need not find it.
	 */
	registry_remove(tdev->registry, bo->id);
	tessera_renamed_put(tdev, &bo->instance);
	drm_gem_object_release(&tbo->base);
	if (bo->sharing.dmabuf)
		dma_buf_put(bo->sharing.dmabuf);
	if (bo->root)
		drm_gem_object_put(bo->root);
	tessera_paging_queue_put(bo->queue);
	tessera_dep_check_fini(&bo->dep_check);
	kfree(bo->tables);
	kfree(bo->label);
	vfree(bo->maps.nowhere);
	if (bo->maps.dummy)
		__free_page(bo->maps.dummy);
	kfree(bo);
	tessera_device_put(tdev);
}

static void bo_end_work(struct work_struct *work)
{
	bo_end(container_of(work, struct tessera_bo, dying.work));
}

/*
 * Any holder of the last TTM reference calls this, for example a thread that
 * looks for objects to swap out, with reservations and a lock of TTM. Returning
 * borrowed pages locks a reservation, or waits for jobs, so a worker does that.
 */
static void bo_destroy(struct ttm_buffer_object *tbo)
{
	struct tessera_bo *bo = to_tessera_bo(tbo);

	if (!tbo->base.import_attach && !bo->user) {
		bo_end(bo);
		return;
	}
	INIT_WORK(&bo->dying.work, bo_end_work);
	queue_work(tessera_bo_device(bo)->ttm.wq, &bo->dying.work);
}

/**
 * tessera_bo_is_tessera() - check whether a TTM object is embedded in a &struct
 * tessera_bo
 * @tbo: the TTM object
 *
 * TTM creates ghost objects that hold the old memory of a moved object. They
 * are not embedded in a &struct tessera_bo.
 *
 * Return: true if to_tessera_bo() may be used.
 */
bool tessera_bo_is_tessera(const struct ttm_buffer_object *tbo)
{
	return tbo->destroy == bo_destroy;
}

/**
 * tessera_bo_id_at() - find the object at a GPU address
 * @tdev: the device
 * @addr: the address
 *
 * For reports only, because the object may move at any time.
 *
 * Return: its id, 0 if there is no object.
 */
u32 tessera_bo_id_at(struct tessera_device *tdev, u64 addr)
{
	u32 i, id = 0;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);
		struct tessera_manager *mgr = tessera_manager_of(tdev, i);
		struct ttm_buffer_object *tbo;

		if (addr < seg->base || addr - seg->base >= seg->size)
			continue;
		mutex_lock(&mgr->lock);
		tbo = tessera_manager_object_locked(mgr, addr - seg->base);
		if (tbo && tessera_bo_is_tessera(tbo))
			id = to_tessera_bo(tbo)->id;
		mutex_unlock(&mgr->lock);
	}

	return id;
}

static int bo_check(struct tessera_device *tdev, const struct drm_tessera_bo_create *args)
{
	struct tessera_segment_alloc alloc = {
		.size = args->size,
		.supported = args->supported,
		.write_set = args->write_set,
		.evict_to = args->evict_to,
		.num_preferred = args->num_preferred,
		.layout = args->layout,
		.pitch = args->pitch,
		.alignment = args->alignment,
		.cpu_access = args->flags & DRM_TESSERA_BO_CPU_ACCESS,
		.cpu_cached = args->flags & DRM_TESSERA_BO_CPU_CACHED,
		.gpu_read_only = args->flags & DRM_TESSERA_BO_GPU_READ_ONLY,
	};

	if (tessera_ioctl_bad(tdev, args->flags & ~(DRM_TESSERA_BO_CPU_ACCESS |
						    DRM_TESSERA_BO_CPU_CACHED |
						    DRM_TESSERA_BO_GPU_READ_ONLY |
						    DRM_TESSERA_BO_TWIN |
						    DRM_TESSERA_BO_EXPLICIT_SYNC |
						    DRM_TESSERA_BO_VM_PRIVATE)) ||
	    /* Uncached objects need no maintenance. */
	    tessera_ioctl_bad(tdev, (args->flags & DRM_TESSERA_BO_EXPLICIT_SYNC) &&
			      !(args->flags & DRM_TESSERA_BO_CPU_CACHED)) ||
	    /* VM-private objects may be scattered. */
	    tessera_ioctl_bad(tdev, (args->flags & DRM_TESSERA_BO_VM_PRIVATE) &&
			      (args->flags & DRM_TESSERA_BO_CPU_ACCESS) &&
			      args->layout != DRM_TESSERA_LAYOUT_LINEAR))
		return -EINVAL;

	/*
	 * No surface is wider. A pass of a transfer must hold a row of tiles.
	 */
	if (tessera_ioctl_bad(tdev, args->pitch > TSR_SURF_MAX_DIM * 4) ||
	    tessera_ioctl_bad(tdev, !tessera_bo_priority_is_valid(args->priority)))
		return -EINVAL;

	memcpy(alloc.preferred, args->preferred, sizeof(alloc.preferred));

	return tessera_segment_alloc_check(tdev->segments->desc, tdev->segments->num, &alloc);
}

/*
 * The segments that the client asked for come first. The rest of the supported
 * set follows in id order.
 */
static void bo_set_preferred(struct tessera_bo *bo, const struct drm_tessera_bo_create *args)
{
	u32 left = args->supported;
	u32 i;

	for (i = 0; i < args->num_preferred; i++) {
		bo->preferred[bo->num_preferred++] = args->preferred[i];
		left &= ~BIT(args->preferred[i]);
	}
	for (; left; left &= left - 1)
		bo->preferred[bo->num_preferred++] = __ffs(left);
}

/*
 * TTM uses these aperture segments only if they have free space, because an
 * eviction must not cause others.
 */
static void bo_set_evict_places(struct tessera_device *tdev, struct tessera_bo *bo)
{
	u32 left;

	for (left = bo->evict_to; left; left &= left - 1) {
		const struct tessera_segment *seg = tessera_segment_by_id(tdev, __ffs(left));

		bo->evict_places[bo->num_evict_places++] =
			tessera_segment_place(seg, 0, 0, tessera_bo_place_flags(bo));
	}
	bo->evict_places[bo->num_evict_places++] = (struct ttm_place) {
		.mem_type = TTM_PL_SYSTEM,
	};
}

static struct tessera_bo *bo_alloc(struct tessera_device *tdev,
				   struct tessera_paging_queue *queue,
				   const struct drm_tessera_bo_create *args,
				   const struct tessera_bo_source *from)
{
	struct tessera_registry *registry = tdev->registry;
	struct tessera_bo *bo;

	/* One place per segment of evict_to, and one for system memory. */
	bo = kzalloc(struct_size(bo, evict_places, hweight32(args->evict_to) + 1),
		     GFP_KERNEL_ACCOUNT);
	if (!bo)
		return NULL;
	if (xa_alloc_cyclic(&registry->objects, &bo->id, NULL, xa_limit_32b, &registry->next_id,
			    GFP_KERNEL_ACCOUNT) < 0) {
		kfree(bo);
		return NULL;
	}

	spin_lock_init(&bo->locks.lock);
	spin_lock_init(&bo->sharing.lock);
	tessera_dep_check_init(&bo->dep_check);
	INIT_LIST_HEAD(&bo->locks.files);
	INIT_LIST_HEAD(&bo->residency.entries);
	INIT_LIST_HEAD(&bo->sharing.borrow.maps);
	INIT_LIST_HEAD(&bo->sharing.lendings);
	INIT_LIST_HEAD(&bo->donor);
	INIT_WORK(&bo->offer.work, tessera_offer_work);
	if (from->root)
		drm_gem_object_get(from->root);
	bo->root = from->root;
	if (from->dmabuf)
		get_dma_buf(from->dmabuf);
	bo->sharing.dmabuf = from->dmabuf;
	bo->sharing.exported = from->dmabuf;
	bo->user = from->user;
	bo->flags = args->flags;
	bo->supported = args->supported;
	if (!(args->flags & DRM_TESSERA_BO_GPU_READ_ONLY))
		bo->writable = tessera_segment_with(tdev, args->write_set ?: args->supported,
						    TSR_SEGF_GPU_READ_ONLY, 0);
	bo->evict_to = args->evict_to;
	bo->layout = args->layout;
	bo->pitch = args->pitch;
	bo->priority = args->priority - DRM_TESSERA_BO_PRIORITY_MIN;
	bo->caching = tessera_cache_choose(tdev, args->flags, args->supported);
	bo->tbo.page_alignment = max_t(u64, args->alignment >> PAGE_SHIFT, 1);
	bo->queue = tessera_paging_queue_get(queue);
	bo->account = tessera_paging_queue_account(queue);
	bo_set_preferred(bo, args);
	bo_set_evict_places(tdev, bo);

	return bo;
}

/*
 * Frees the object on failure. On success its reservation stays held. With
 * @resv, which the caller holds, the object shares that reservation. @sgt has
 * the pages of an import that is mapped already, or is NULL.
 */
static int bo_init(struct tessera_bo *bo, const struct drm_gem_object_funcs *funcs,
		   const struct drm_tessera_bo_create *args, struct dma_resv *resv,
		   struct sg_table *sgt)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct ttm_place place = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	/*
	 * TTM allocates no pages for type sg, and destroys such objects in a
	 * worker.
	 */
	enum ttm_bo_type type = bo->sharing.dmabuf || bo->user ? ttm_bo_type_sg :
								 ttm_bo_type_device;
	struct tessera_device *tdev = bo->account->tdev;
	int ret;

	tessera_device_get(tdev);
	drm_gem_private_object_init(&tdev->drm, &bo->tbo.base, args->size);
	bo->tbo.base.funcs = funcs;
	bo_count(bo, args->size);

	ret = ttm_bo_init_reserved(&tdev->ttm, &bo->tbo, type, &placement,
				   bo->tbo.page_alignment, &ctx, sgt, resv, bo_destroy);
	if (ret)
		return ret;
	/* Cannot fail: bo_alloc() has reserved the entry. */
	xa_store(&tdev->registry->objects, bo->id, bo, GFP_NOWAIT);

	trace_tessera_bo_create(bo->id, bo->account->id, args->size, bo->supported, bo->flags,
				bo->layout);

	return 0;
}

/**
 * tessera_bo_create() - create a buffer object
 * @tdev: the device
 * @queue: paging queue of the client that is charged
 * @funcs: GEM operations
 * @args: parameters, not checked yet
 * @from: external pages or a shared reservation for the object
 *
 * The object is in no segment yet. Unless @from provides pages it has none, and
 * reads as zero.
 *
 * Return: the object with one reference; or -EINVAL, -E2BIG, -ENOMEM,
 * -ERESTARTSYS, or an error of tessera_user_watch().
 */
struct tessera_bo *tessera_bo_create(struct tessera_device *tdev,
				     struct tessera_paging_queue *queue,
				     const struct drm_gem_object_funcs *funcs,
				     const struct drm_tessera_bo_create *args,
				     const struct tessera_bo_source *from)
{
	struct dma_resv *resv = from->root ? from->root->resv :
				from->dmabuf ? from->dmabuf->resv : NULL;
	struct tessera_bo *bo = NULL;
	int ret;

	ret = bo_check(tdev, args);
	if (!ret && resv)
		ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		goto err_destroy_user;
	bo = bo_alloc(tdev, queue, args, from);
	ret = bo ? bo_init(bo, funcs, args, resv, from->sgt) : -ENOMEM;
	if (ret && resv)
		dma_resv_unlock(resv);
	if (ret)
		goto err_destroy_user;
	if (!from->locked)
		ttm_bo_unreserve(&bo->tbo);
	if (bo->user)
		ret = tessera_user_watch(bo->user, &bo->tbo.base, bo->id);
	if (!ret)
		return bo;
	tessera_bo_put(bo);
	return ERR_PTR(ret);

err_destroy_user:
	/* If there was an object, its destruction has done this. */
	if (!bo && from->user)
		tessera_user_destroy(from->user);
	return ERR_PTR(ret == -EINTR ? -ERESTARTSYS : ret);
}

/**
 * tessera_bos_lookup() - look up the objects of a handle list
 * @bos: receives them; the caller calls tessera_bos_put() even after a failure
 * @file: the open file that owns the handles
 * @list: elements that begin with a 32-bit handle
 * @stride: bytes of an element
 * @num: number of elements
 *
 * Return: 0; -ENOENT if the handle of the element with the index
 * &tessera_bos.num is unknown; or -ENOMEM.
 */
int tessera_bos_lookup(struct tessera_bos *bos, struct drm_file *file, const void *list,
		       size_t stride, u32 num)
{
	bos->num = 0;
	bos->bos = kvmalloc_array(num, sizeof(*bos->bos), GFP_KERNEL_ACCOUNT);
	if (!bos->bos)
		return -ENOMEM;
	for (; bos->num < num; bos->num++, list += stride) {
		bos->bos[bos->num] = tessera_bo_lookup(file, *(const u32 *)list);
		if (!bos->bos[bos->num])
			return -ENOENT;
	}

	return 0;
}

/**
 * tessera_bos_lock() - lock the reservations of a list and reserve a fence slot
 * in each
 * @bos: the objects; an object may be listed several times
 * @first: an object to lock before them, or NULL
 *
 * Return: 0, and the caller calls drm_exec_fini(); or -EINTR or -ENOMEM with
 * nothing locked.
 */
int tessera_bos_lock(struct tessera_bos *bos, struct tessera_bo *first)
{
	int ret = 0;
	u32 i;

	drm_exec_init(&bos->exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      bos->num);
	drm_exec_until_all_locked(&bos->exec) {
		ret = 0;
		/* drm_exec stays contended until an object is locked. */
		if (first) {
			ret = drm_exec_lock_obj(&bos->exec, &first->tbo.base);
			drm_exec_retry_on_contention(&bos->exec);
		}
		for (i = 0; i < bos->num && !ret; i++)
			ret = drm_exec_prepare_obj(&bos->exec, &bos->bos[i]->tbo.base, 1);
		drm_exec_retry_on_contention(&bos->exec);
		if (ret)
			break;
	}
	if (ret)
		drm_exec_fini(&bos->exec);

	return ret;
}

/**
 * tessera_bos_put() - drop the references of a list
 * @bos: the objects, not locked; the list is empty afterwards
 */
void tessera_bos_put(struct tessera_bos *bos)
{
	while (bos->num)
		tessera_bo_put(bos->bos[--bos->num]);
	kvfree(bos->bos);
	bos->bos = NULL;
}

/**
 * tessera_bo_next() - iterate over all objects of a device
 * @tdev: the device
 * @id: id of the previous object, 0 to begin
 *
 * Objects that are being destroyed are skipped.
 *
 * Return: the object with the next id, with a reference, or NULL.
 */
struct tessera_bo *tessera_bo_next(struct tessera_device *tdev, u32 id)
{
	struct tessera_registry *registry = tdev->registry;
	unsigned long index = id;
	struct tessera_bo *bo;

	cond_resched();
	mutex_lock(&registry->lock);
	do {
		bo = xa_find_after(&registry->objects, &index, ULONG_MAX, XA_PRESENT);
	} while (bo && !kref_get_unless_zero(&bo->tbo.base.refcount));
	mutex_unlock(&registry->lock);

	return bo;
}

/**
 * tessera_bo_next_dying() - iterate over the objects that have no GEM reference
 * left
 * @tdev: the device
 * @id: id of the previous object, 0 to begin; receives the id of the next one
 * @bo: receives the object, to be put with ttm_bo_put(); NULL if another thread
 * or the worker of TTM is destroying it
 *
 * Return: false at the end.
 */
bool tessera_bo_next_dying(struct tessera_device *tdev, u32 *id, struct tessera_bo **bo)
{
	struct tessera_registry *registry = tdev->registry;
	unsigned long index = *id;
	bool found;

	mutex_lock(&registry->lock);
	do {
		*bo = xa_find_after(&registry->objects, &index, ULONG_MAX, XA_PRESENT);
	} while (*bo && kref_read(&(*bo)->tbo.base.refcount));
	found = *bo;
	*id = index;
	if (found && !ttm_bo_get_unless_zero(&(*bo)->tbo))
		*bo = NULL;
	mutex_unlock(&registry->lock);

	return found;
}

/**
 * tessera_bo_enter() - lock an object for an operation that needs the device
 * @bo: the object, reservation not held
 * @interruptible: end the wait on a signal
 * @idx: receives the index for tessera_bo_exit()
 *
 * Return: 0 with its reservation held, inside drm_dev_enter(); -ENODEV if the
 * device is unplugged; or -EINTR.
 */
int tessera_bo_enter(struct tessera_bo *bo, bool interruptible, int *idx)
{
	int ret = interruptible ? dma_resv_lock_interruptible(bo->tbo.base.resv, NULL) :
				  dma_resv_lock(bo->tbo.base.resv, NULL);

	if (ret)
		return ret;
	if (drm_dev_enter(bo->tbo.base.dev, idx))
		return 0;
	dma_resv_unlock(bo->tbo.base.resv);

	return -ENODEV;
}

/**
 * tessera_bo_exit() - end an operation and unlock the object
 * @bo: the object, after tessera_bo_enter()
 * @idx: the index from tessera_bo_enter()
 */
void tessera_bo_exit(struct tessera_bo *bo, int idx)
{
	drm_dev_exit(idx);
	dma_resv_unlock(bo->tbo.base.resv);
}

/**
 * tessera_bo_segment() - return the segment that an object is in
 * @bo: the object, reservation held
 *
 * Return: the segment, or NULL if it is in none.
 */
const struct tessera_segment *tessera_bo_segment(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	return bo->tbo.resource ? tessera_resource_segment(bo->tbo.resource) : NULL;
}

/**
 * tessera_bo_placement() - return the placement of an object
 * @bo: the object, reservation held
 *
 * Return: the placement, or NULL if it is in no segment.
 */
struct tessera_placement *tessera_bo_placement(struct tessera_bo *bo)
{
	return tessera_bo_segment(bo) ? to_tessera_placement(bo->tbo.resource) : NULL;
}

/**
 * tessera_bo_segment_offset() - return the offset of an object in its segment
 * @bo: the object, reservation held
 *
 * Return: byte offset, 0 if it is in no segment.
 */
u64 tessera_bo_segment_offset(struct tessera_bo *bo)
{
	struct tessera_placement *placement = tessera_bo_placement(bo);

	return placement ? tessera_placement_offset(placement) : 0;
}

/**
 * tessera_bo_gpu_addr() - return the GPU address of an object
 * @bo: the object, reservation held, in a segment, contiguous
 *
 * Return: the address, valid as long as the reservation is held and the object
 * is not moved.
 */
u64 tessera_bo_gpu_addr(struct tessera_bo *bo)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);

	if (drm_WARN_ON(bo->tbo.base.dev, !seg || tessera_bo_placement(bo)->num_extents != 1))
		return 0;

	return seg->base + tessera_bo_segment_offset(bo);
}

/**
 * tessera_bo_page_segments() - return the segments that show the pages of an
 * object in place
 * @bo: the object
 * @write: return only segments through which a job can write
 *
 * Return: the apertures and UMA segments among the supported ones, a set of
 * segment ids.
 */
u32 tessera_bo_page_segments(const struct tessera_bo *bo, bool write)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 set = write ? bo->writable : bo->supported;

	return tessera_segment_with(tdev, set, TSR_SEGF_UMA, TSR_SEGF_UMA) |
	       tessera_segment_with(tdev, set, TSR_SEGF_APERTURE, TSR_SEGF_APERTURE);
}

/**
 * tessera_bo_allowed() - return the segments in which a job may use an object
 * now
 * @bo: the object; the result is stable only under its reservation
 * @write: the job writes the object
 *
 * VRAM is left out while the pages of the object are pinned, or while a lock
 * shows the pages to the CPU, provided that the object supports a usable
 * segment that shows pages. tessera_locks_exclude_jobs() has already rejected
 * clients that may not use their own locked object at all.
 *
 * Return: a set of segment ids, a subset of the supported ones, and of the write
 * set if the job writes.
 */
u32 tessera_bo_allowed(const struct tessera_bo *bo, bool write)
{
	u32 set = 0;

	if (READ_ONCE(bo->pins))
		set = tessera_bo_page_segments(bo, false);
	else if (READ_ONCE(bo->locks.untracked) && tessera_bo_shows_pages_only(bo))
		set = tessera_bo_page_segments(bo, write);

	return (set ?: bo->supported) & (write ? bo->writable : U32_MAX);
}

/**
 * tessera_bo_make_immovable() - pin an object at its place in a segment
 * @bo: the object, reservation held, in a segment that has charged its bytes
 * to the scanout limit
 */
void tessera_bo_make_immovable(struct tessera_bo *bo)
{
	WRITE_ONCE(bo->fixed.addr, tessera_bo_gpu_addr(bo));
	ttm_bo_pin(&bo->tbo);
	/* Pinning alone does not remove it from the LRU list of TTM. */
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
}

/**
 * tessera_bo_make_movable() - unpin an object
 * @bo: the object, reservation held; nothing happens unless it is
 * immovable
 */
void tessera_bo_make_movable(struct tessera_bo *bo)
{
	dma_resv_assert_held(bo->tbo.base.resv);
	if (!tessera_bo_is_immovable(bo))
		return;
	tessera_manager_uncharge_scanout(tessera_manager_of(tessera_bo_device(bo),
							    tessera_bo_segment(bo)->index),
					 tessera_bo_bytes(bo));
	WRITE_ONCE(bo->fixed.addr, 0);
	ttm_bo_unpin(&bo->tbo);
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
}

/**
 * tessera_bo_to_system() - move an object to system memory
 * @bo: the object, reservation held
 * @ctx: operation context
 *
 * Return: 0 or an error.
 */
int tessera_bo_to_system(struct tessera_bo *bo, struct ttm_operation_ctx *ctx)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };

	return ttm_bo_validate(&bo->tbo, &placement, ctx);
}

/**
 * tessera_bo_drop_pages() - drop the placement and the pages of an object
 * @bo: the object, reservation held
 * @ctx: operation context
 *
 * Does not wait. The caller makes sure that no job uses the object. Otherwise
 * TTM gives the pages to a ghost object, and one of its workers waits.
 *
 * Return: 0 or an error.
 */
int tessera_bo_drop_pages(struct tessera_bo *bo, struct ttm_operation_ctx *ctx)
{
	struct ttm_placement nowhere = { };

	return ttm_bo_validate(&bo->tbo, &nowhere, ctx);
}

/**
 * tessera_bo_forget_pages() - make an object without pages like a new one
 * @bo: the object, reservation held, in no segment; its pages are free
 *
 * If the object is busy, TTM goes on counting its pages. They are allocated
 * again when the object is used. The call can be repeated after a failure.
 *
 * Return: 0 or an error.
 */
int tessera_bo_forget_pages(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	int ret = 0;

	if (bo->tbo.ttm)
		ttm_tt_mark_for_clear(bo->tbo.ttm);
	if (dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		ret = tessera_bo_drop_pages(bo, &ctx);

	/* The fault handler looks at the placement. */
	return ret ?: tessera_bo_to_system(bo, &ctx);
}

/**
 * tessera_bo_unmap_pages() - remove the CPU mappings of part of an object
 * @bo: the object, reservation held, so that no fault maps it again meanwhile
 * @first: first page of the part
 * @pages: number of pages in the part
 */
void tessera_bo_unmap_pages(struct tessera_bo *bo, u64 first, u64 pages)
{
	u64 begin = drm_vma_node_offset_addr(&bo->tbo.base.vma_node) + (first << PAGE_SHIFT);

	unmap_mapping_range(bo->tbo.bdev->dev_mapping, begin, pages << PAGE_SHIFT, 1);
}

/**
 * tessera_bo_evict_places() - return the placements to which an object is
 * evicted
 * @bo: the object, reservation held
 * @placement: receives the places, in order of preference; they belong to the
 * object
 */
void tessera_bo_evict_places(struct tessera_bo *bo, struct ttm_placement *placement)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	u32 skip = 0;

	/*
	 * Only system memory is left for an object that leaves an aperture, for
	 * an offered object, and after device memory was lost.
	 */
	if (!tessera_segment_is_vram(seg) || tessera_bo_is_offered(bo) ||
	    READ_ONCE(tessera_bo_device(bo)->memory_lost))
		skip = bo->num_evict_places - 1;
	*placement = (struct ttm_placement) {
		.num_placement = bo->num_evict_places - skip,
		.placement = bo->evict_places + skip,
	};
}
