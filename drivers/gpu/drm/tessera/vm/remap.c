// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: moves of mapped objects
 *
 * An object keeps its virtual addresses wherever it moves (RES-5). A move
 * removes the object's mappings from the page tables. The batch of the move
 * waits for the jobs queued in the VMs that map the object, and later jobs wait
 * for the batch. The clients of these VMs map the new place in front of their
 * next jobs, because the move puts the object on their lists of evicted
 * objects. A move therefore costs as much as the object has mappings, and the
 * client that needs the space pays for no new mapping.
 *
 * Page tables point to an object only in VMs of files that list it as resident
 * (RES-2). They do so for all its mappings in a VM, or for none
 * (&tessera_vm_bo.shown). MAKE_RESIDENT shows an object and EVICT hides it. VMs
 * that do not show an object cost a move nothing.
 *
 * Page tables point to the system pages of an object in an aperture directly,
 * because the GPU can reach them without the aperture.
 *
 * mem/move.c calls this file through &tessera_device.upcalls with the object's
 * reservation held, which also protects the list of its mappings.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_tt.h>

#include "base/device.h"
#include "borrow/borrow.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"
#include "vm/vm.h"

/* Maximum number of objects per batch when they are shown or hidden. */
#define GROUP_OBJECTS	64

/* A move changes the page tables of this VM. */
struct remap_vm {
	struct tessera_page_tables *pts;
	/* NULL: the object holds page tables of the VM. */
	struct drm_gpuvm_bo *vm_bo;
	struct tessera_pt_change *change;
};

/* A move changes the page tables of these VMs. */
struct remap {
	struct tessera_page_tables_list *all;
	struct remap_vm *vms;
	u32 num;
	struct tessera_pt_mem *tables;
};

/**
 * tessera_remap_source() - find the memory that a mapping is to point to
 * @bo: the mapped object
 * @seg: the segment the object is in, or NULL; for an aperture the object must
 * have its pages
 * @placement: the object's placement there, or NULL
 * @mapping: the mapping
 * @source: receives the memory
 *
 * Return: false if the mapping is to point to nothing.
 */
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg,
			  const struct tessera_placement *placement,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source)
{
	u64 at = mapping->base.gem.offset;
	struct ttm_tt *tt = bo->tbo.ttm;

	/* An evicted object may be in an aperture that its jobs cannot use. */
	if (!seg || !(bo->supported & BIT(seg->id)))
		return false;
	*source = (struct tessera_pt_source) { .bits = TSR_PTE_VALID };
	if (!mapping->read_only && !(bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY) &&
	    !(seg->flags & TSR_SEGF_GPU_READ_ONLY))
		source->bits |= TSR_PTE_WRITE;
	if (tessera_segment_shows_pages(seg)) {
		source->bits |= tessera_cache_vm_bits(seg, tt->caching);
		source->pages = tt->dma_address + (at >> TSR_PAGE_SHIFT);
	} else {
		source->bits |= TSR_PTE_VRAM;
		source->addr = seg->base + tessera_placement_at(placement, at, NULL);
		source->pages = placement->addrs ? placement->addrs + (at >> TSR_PAGE_SHIFT) : NULL;
	}

	return true;
}

static struct tessera_bo *bo_of(struct drm_gpuvm_bo *vm_bo)
{
	return gem_to_tessera_bo(vm_bo->obj);
}

static struct tessera_page_tables *pts_of(struct drm_gpuvm_bo *vm_bo)
{
	return to_tessera_vm(vm_bo->vm)->pts;
}

static bool is_shown(struct drm_gpuvm_bo *vm_bo)
{
	return to_tessera_vm_bo(vm_bo)->shown;
}

static struct tessera_resident_set *set_of(struct drm_gpuvm_bo *vm_bo)
{
	return pts_of(vm_bo)->resident;
}

/* The page tables of the VM that has tables in an object; or NULL. */
static struct tessera_page_tables *tables_space(struct tessera_bo *bo)
{
	return bo->tables ? bo->tables->pts : NULL;
}

static u32 count_page_tables(struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	u32 num = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		num += is_shown(vm_bo);

	return num + (tables_space(bo) ? 1 : 0);
}

/* Whether the VM is lost and takes no jobs. */
static bool is_lost(struct drm_gpuvm_bo *vm_bo)
{
	return atomic_read(&pts_of(vm_bo)->lost);
}

/* Update residency entries: is the object hidden in a VM of the file? */
static void update_residency_entries(struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	/* Clear first: another VM of the same file may show the object. */
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		tessera_residency_entry_set_hidden(set_of(vm_bo), bo, false);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		if (!is_shown(vm_bo) && !is_lost(vm_bo))
			tessera_residency_entry_set_hidden(set_of(vm_bo), bo, true);
}

/* Unmap all addresses of an object in a VM. Takes no memory. */
static void unmap_all(struct drm_gpuvm_bo *vm_bo)
{
	struct drm_gpuva *va;

	drm_gpuvm_bo_for_each_va(va, vm_bo)
		tessera_page_tables_unmap(pts_of(vm_bo), va->va.addr, va->va.range);
	tessera_vm_bo_show(vm_bo, false);
}

static void remap_fini(struct remap *remap)
{
	while (remap->num)
		tessera_pt_change_cancel(remap->vms[--remap->num].change);
	kvfree(remap->vms);
}

static int remap_add(struct remap *remap, struct tessera_page_tables *pts,
		     struct drm_gpuvm_bo *vm_bo)
{
	struct remap_vm *rvm = &remap->vms[remap->num];

	rvm->vm_bo = vm_bo;
	rvm->pts = pts;
	/* No job uses tables that get their first place. */
	rvm->change = tessera_pt_change_create(pts, vm_bo || remap->tables->placed);
	if (!rvm->change)
		return -ENOMEM;
	remap->num++;

	return 0;
}

static int remap_init(struct remap *remap, struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	int ret = 0;

	*remap = (struct remap) { .all = tessera_bo_device(bo)->page_tables, .tables = bo->tables };
	remap->vms = kvcalloc(count_page_tables(bo), sizeof(*remap->vms), GFP_KERNEL_ACCOUNT);
	if (!remap->vms)
		return -ENOMEM;
	if (tables_space(bo))
		return remap_add(remap, tables_space(bo), NULL);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		if (!ret && is_shown(vm_bo))
			ret = remap_add(remap, pts_of(vm_bo), vm_bo);

	return ret;
}

static void remap_lock(struct remap *remap)
{
	u32 i;

	if (remap->num == 1) {
		mutex_lock(&remap->vms[0].pts->lock);
		return;
	}
	mutex_lock(&remap->all->many);
	for (i = 0; i < remap->num; i++)
		mutex_lock_nest_lock(&remap->vms[i].pts->lock, &remap->all->many);
}

static void remap_unlock(struct remap *remap)
{
	u32 i;

	for (i = 0; i < remap->num; i++)
		mutex_unlock(&remap->vms[i].pts->lock);
	if (remap->num > 1)
		mutex_unlock(&remap->all->many);
}

static struct dma_fence *remap_run(struct remap *remap, struct tessera_paging_batch *batch)
{
	struct dma_fence *fence;
	struct remap_vm *rvm;
	u32 i;
	int ret;

	for (i = 0; i < remap->num; i++) {
		rvm = &remap->vms[i];
		ret = tessera_page_tables_order(rvm->pts, batch, rvm->change);
		if (ret)
			return ERR_PTR(ret);
	}
	for (i = 0; i < remap->num; i++) {
		rvm = &remap->vms[i];
		if (rvm->vm_bo)
			unmap_all(rvm->vm_bo);
		else
			tessera_page_tables_forget(rvm->pts, remap->tables);
		tessera_page_tables_attach(rvm->pts, rvm->change, batch);
		rvm->change = NULL;
	}
	fence = tessera_paging_push(batch);
	for (i = 0; i < remap->num; i++)
		tessera_page_tables_updated(remap->vms[i].pts, fence);

	return fence;
}

/**
 * tessera_remap_push() - &tessera_upcalls.remap_push
 * @bo: the object, reservation held, with a slot for a fence
 * @batch: the batch that moves it, prepared
 *
 * Return: the fence of the batch, with a reference; or -ENOMEM, and the caller
 * aborts the batch.
 */
struct dma_fence *tessera_remap_push(struct tessera_bo *bo, struct tessera_paging_batch *batch)
{
	struct dma_fence *fence;
	struct remap remap;
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!count_page_tables(bo))
		return tessera_paging_push(batch);
	ret = remap_init(&remap, bo);
	fence = ERR_PTR(ret);
	if (!ret) {
		remap_lock(&remap);
		fence = remap_run(&remap, batch);
		/* The MMU notifier must find it, see group_push(). */
		if (!IS_ERR(fence) && bo->user)
			dma_resv_add_fence(bo->tbo.base.resv, fence, DMA_RESV_USAGE_KERNEL);
		remap_unlock(&remap);
	}
	update_residency_entries(bo);
	remap_fini(&remap);

	return fence;
}

/**
 * tessera_remap_drop() - &tessera_upcalls.remap_drop
 * @bo: the object, reservation held
 */
void tessera_remap_drop(struct tessera_bo *bo)
{
	struct tessera_page_tables *pts = tables_space(bo);
	struct drm_gpuvm_bo *vm_bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (pts) {
		scoped_guard(mutex, &pts->lock)
			tessera_page_tables_forget(pts, bo->tables);
	}
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base) {
		if (!is_shown(vm_bo))
			continue;
		scoped_guard(mutex, &pts_of(vm_bo)->lock)
			unmap_all(vm_bo);
	}
	update_residency_entries(bo);
}

/**
 * tessera_remap_users() - &tessera_upcalls.remap_users
 * @bo: the object, reservation held
 *
 * Return: a fence with a reference, or NULL.
 */
struct dma_fence *tessera_remap_users(struct tessera_bo *bo)
{
	struct dma_fence *fence = NULL;
	struct drm_gpuvm_bo *vm_bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (tables_space(bo))
		fence = tessera_vm_jobs_first(&tables_space(bo)->jobs, U64_MAX);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		if (!fence && is_shown(vm_bo))
			fence = tessera_vm_jobs_first(&pts_of(vm_bo)->jobs, U64_MAX);

	return fence;
}

/* ---- Show and hide objects that do not move ------------------------------ */

/* Objects of one VM that are shown or hidden in one batch. */
struct group {
	struct tessera_page_tables *pts;
	bool show;
	struct drm_gpuvm_bo *vm_bos[GROUP_OBJECTS];
	u32 num;
	struct tessera_paging_batch batch;
	struct tessera_pt_change *change;
};

/*
 * Map an object at all its addresses, or, without memory for that, at none.
 * Does nothing if jobs cannot use the object where it is.
 */
static int map_all(struct drm_gpuvm_bo *vm_bo)
{
	struct tessera_bo *bo = bo_of(vm_bo);
	struct tessera_pt_source source;
	struct drm_gpuva *va;
	int ret = 0;

	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (!tessera_remap_source(bo, tessera_bo_segment(bo), tessera_bo_placement(bo),
					  to_tessera_mapping(va), &source))
			return 0;
		ret = tessera_page_tables_reserve(pts_of(vm_bo),
						  tessera_pt_tables_bound(va->va.addr, va->va.range,
									  &source), NULL);
		if (ret)
			break;
		tessera_page_tables_map(pts_of(vm_bo), va->va.addr, va->va.range, &source);
		if (source.bits & TSR_PTE_WRITE)
			tessera_residency_writable(bo);
	}
	if (ret)
		unmap_all(vm_bo);
	else
		tessera_vm_bo_show(vm_bo, true);

	return ret;
}

/*
 * Have the batch, and so the next job, wait for moves under way. The batch
 * fails if the contents of an object do not arrive.
 */
static int group_wait_for_moves(struct group *group, struct tessera_bo *bo)
{
	group->change->lost[group->change->num_lost++] = &bo->lost;
	if (tessera_segment_is_aperture(tessera_bo_segment(bo)))
		tessera_coherence_for_job(bo, tessera_residency_entry_writes(bo));

	return tessera_job_add_resv(tessera_paging_first_job(&group->batch), bo->tbo.base.resv,
				    DMA_RESV_USAGE_KERNEL);
}

static int group_prepare(struct group *group)
{
	u32 i;
	int ret;

	group->change = tessera_pt_change_create(group->pts, !group->show);
	if (!group->change)
		return -ENOMEM;
	group->change->lost = kvcalloc(group->num, sizeof(*group->change->lost),
				       GFP_KERNEL_ACCOUNT);
	if (!group->change->lost)
		return -ENOMEM;
	ret = tessera_paging_prepare(&group->batch, NULL);
	for (i = 0; !ret && i < group->num; i++) {
		struct tessera_bo *bo = bo_of(group->vm_bos[i]);

		ret = dma_resv_reserve_fences(bo->tbo.base.resv, 1);
		if (!ret && group->show)
			ret = group_wait_for_moves(group, bo);
	}

	return ret;
}

/*
 * Sets *@fence once the batch is queued, even if some objects could not be
 * shown.
 */
static int group_push(struct group *group, struct dma_fence **fence)
{
	struct tessera_page_tables *pts = group->pts;
	LIST_HEAD(spare);
	u32 i;
	int ret;

	mutex_lock(&pts->lock);
	ret = atomic_read(&pts->lost) ? -EIO :
	      tessera_page_tables_order(pts, &group->batch, group->change);
	if (ret)
		goto unlock;
	for (i = 0; !ret && i < group->num; i++) {
		if (group->show)
			ret = map_all(group->vm_bos[i]);
		else
			unmap_all(group->vm_bos[i]);
	}
	tessera_page_tables_attach(pts, group->change, &group->batch);
	group->change = NULL;
	*fence = tessera_paging_push(&group->batch);
	tessera_page_tables_updated(pts, *fence);
	/*
	 * A move and the destruction of an object wait for this fence, and so
	 * does the MMU notifier. The notifier does not look at the VM's jobs any
	 * more once the object is hidden and a new job was queued, so the fence
	 * has to be there before a job can be.
	 */
	for (i = 0; i < group->num; i++)
		dma_resv_add_fence(group->vm_bos[i]->obj->resv, *fence, DMA_RESV_USAGE_BOOKKEEP);
	tessera_page_tables_trim(pts, &spare);
unlock:
	mutex_unlock(&pts->lock);
	tessera_pt_page_destroy_list(pts, &spare);

	return ret;
}

static int group_queue(struct group *group)
{
	struct dma_fence *fence = NULL;
	int ret;

	tessera_paging_begin(&group->batch, group->pts->queue, 0, NULL);
	ret = group_prepare(group);
	if (!ret)
		ret = group_push(group, &fence);
	if (!fence) {
		tessera_paging_abort(&group->batch);
		return ret;
	}
	dma_fence_put(fence);

	return ret;
}

/* Queue the objects collected so far. */
static int group_end(struct group *group)
{
	int ret = group->num ? group_queue(group) : 0;

	tessera_pt_change_cancel(group->change);
	group->change = NULL;
	group->num = 0;

	return ret;
}

static int group_add(struct group *group, struct drm_gpuvm_bo *vm_bo)
{
	int ret = 0;

	if (group->pts != pts_of(vm_bo) || group->num == GROUP_OBJECTS)
		ret = group_end(group);
	if (ret)
		return ret;
	group->pts = pts_of(vm_bo);
	group->vm_bos[group->num++] = vm_bo;

	return 0;
}

static int group_add_all(struct group *group, struct tessera_resident_set *set,
			 struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	int ret = 0;

	/*
	 * The client may have evicted or offered the object before it was
	 * locked here. An offered object is not brought back, so it may be in
	 * no segment.
	 */
	if (group->show && (!tessera_bo_segment(bo) || !tessera_residency_entry_find(set, bo)))
		return 0;
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base) {
		if (set_of(vm_bo) != set || is_shown(vm_bo) == group->show || is_lost(vm_bo))
			continue;
		ret = group_add(group, vm_bo);
		if (ret)
			break;
	}

	return ret;
}

static int show_all(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num, bool show)
{
	struct group *group;
	u32 i;
	int ret = 0, idx;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	group->show = show;
	if (drm_dev_enter(&set->tdev->drm, &idx)) {
		for (i = 0; !ret && i < num; i++)
			ret = group_add_all(group, set, bos[i]);
		ret = group_end(group) ?: ret;
		drm_dev_exit(idx);
	} else {
		ret = -ENODEV;
	}
	kfree(group);
	for (i = 0; i < num; i++) {
		/* Reset, in case no VM maps the object any more. */
		tessera_residency_entry_set_hidden(set, bos[i], false);
		if (show && bos[i]->tables)
			tessera_pt_mem_show(bos[i]);
		update_residency_entries(bos[i]);
	}

	return ret;
}

/**
 * tessera_remap_show() - map listed objects in all VMs of a file
 * @set: residency list of the file, which has the objects
 * @bos: the objects, reservations held
 * @num: number of objects
 *
 * Takes effect for the next jobs, which wait for moves under way. Objects that
 * are in no segment are left unchanged.
 *
 * Return: 0, -ENOSPC for too many page tables, -EIO if a VM is lost, -ENODEV or
 * -ENOMEM. After an error some objects may be shown.
 */
int tessera_remap_show(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	return show_all(set, bos, num, true);
}

/**
 * tessera_remap_hide() - unmap objects in all VMs of a file
 * @set: residency list of the file, which does not have the objects any more
 * @bos: the objects, reservations held
 * @num: number of objects
 *
 * Takes effect after the queued jobs. If there is no memory for the batch,
 * objects stay mapped until they move, and count as written.
 */
void tessera_remap_hide(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	int ret = show_all(set, bos, num, false);
	u32 i;

	if (!ret)
		return;
	drm_dbg(&set->tdev->drm, "what was evicted can still be reached: %d\n", ret);
	for (i = 0; i < num; i++)
		tessera_residency_written(bos[i]);
}

/**
 * tessera_remap_may_show() - ask whether a new mapping is to point to its
 * object
 * @vm: the VM
 * @bo: the object, reservation held
 *
 * Return: true if the VM's other mappings of the object point to it; without
 * other mappings, true if the object is listed.
 */
bool tessera_remap_may_show(struct tessera_vm *vm, struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo = drm_gpuvm_bo_find(&vm->base, &bo->tbo.base);
	bool show;

	show = vm_bo ? is_shown(vm_bo) : !!tessera_residency_entry_find(vm->pts->resident, bo);
	drm_gpuvm_bo_put(vm_bo);

	return show;
}

/**
 * tessera_remap_settle() - update residency entries after new mappings
 * @bo: the object, reservation held
 */
void tessera_remap_settle(struct tessera_bo *bo)
{
	update_residency_entries(bo);
	tessera_residency_entry_settle(bo);
}
