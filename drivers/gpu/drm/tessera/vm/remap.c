// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects that move beneath their addresses
 *
 * An object keeps its addresses in all VMs that map it, wherever it goes (RES-5). The batch that moves it
 * first has those addresses lead nowhere, then moves the bytes, then has them lead to the new place, if
 * that is in a segment. It waits for all jobs queued in the VMs that leave, and jobs to come wait for it.
 *
 * Addresses lead to an object only in VMs of files that list it as resident (RES-2), and to all of its mappings or none
 * (&tessera_vm_bo.shown). Where saying so takes more memory than somebody else's move is to pay for, or than the VM's client
 * may have, they lead nowhere, and its list says that the object is missing: so the next job has it put right, at its
 * own client's cost. Otherwise only what is shown costs a move anything.
 *
 * Pages in an aperture are mapped as what they are, pages of the system: the GPU reaches them either way.
 *
 * Called by mem/move.c through &tessera_device.vm_ops, with the object's reservation held, which is what protects
 * the list of its mappings.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_tt.h>

#include "exec/job.h"
#include "mem/bo.h"
#include "mem/coherence.h"
#include "paging/cache.h"
#include "paging/queue.h"
#include "segments/departure.h"
#include "segments/manager.h"
#include "segments/segment.h"
#include "tessera_device.h"
#include "vm/listing.h"
#include "vm/pt.h"
#include "vm/pt_room.h"
#include "vm/remap.h"
#include "vm/vm.h"

/*
 * Tables that a move has written, or takes, in all VMs together. It is paid for by who needs room, who has nothing
 * to do with the owners of the VMs: what takes more is left to these.
 */
#define MAX_WRITES	1024U
/* Each VM has a part of them, so that none lives at the cost of others, and no less than this. */
#define MIN_WRITES	64U

/* Objects whose addresses change in one batch. */
#define GROUP_OBJECTS	64

/* What becomes of one VM. */
struct remap_space {
	struct tessera_space *space;
	struct drm_gpuvm_bo *vm_bo;
	/* The object is found there, and is not to be. */
	bool hides;
	struct tessera_pt_change *change;
	struct tessera_pt_room out, in;
	u32 tables;
	/* What is left of its part of MAX_WRITES. */
	u32 left;
	/* There is memory to say where the object is then. */
	bool shows;
};

/* What it takes to change mappings. */
struct remap_need {
	u32 writes, tables;
	/* Entries are written from lists. */
	bool lists;
	/* Tables of pages that mappings have been seen in, of one object. */
	u64 block[64];
};

/* Where an object is; the segment is NULL for system memory. */
struct remap_place {
	const struct tessera_segment *seg;
	const struct tessera_range *range;
};

struct tessera_remap {
	struct tessera_bo *bo;
	struct tessera_paging_batch *batch;
	struct remap_place to;
	struct remap_space *spaces;
	u32 num_spaces;
	bool locked;
};

/**
 * tessera_remap_source() - what is found where a mapping is
 * @bo: its object
 * @seg: the segment the object is in, with its pages if that is an aperture; or NULL
 * @range: its place there, or NULL
 * @mapping: the mapping
 * @source: receives it
 *
 * Return: false if nothing is.
 */
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg,
			  const struct tessera_range *range,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source)
{
	u64 at = mapping->base.gem.offset;
	struct ttm_tt *tt = bo->tbo.ttm;

	/* Evicted objects may wait in an aperture where they are of no use. */
	if (!seg || !(bo->supported & BIT(seg->id)))
		return false;
	*source = (struct tessera_pt_source) { .bits = TSR_PTE_VALID };
	if (!mapping->read_only && !(bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY) &&
	    !(seg->flags & TSR_SEGF_GPU_READ_ONLY))
		source->bits |= TSR_PTE_WRITE;
	if (tessera_segment_is_aperture(seg)) {
		source->bits |= tessera_cache_vm_bits(tessera_bo_device(bo), seg, tt->caching);
		source->pages = tt->dma_address + (at >> TSR_PAGE_SHIFT);
	} else {
		source->bits |= TSR_PTE_VRAM;
		source->addr = seg->base + tessera_range_at(range, at, NULL);
		source->pages = range->addrs ? range->addrs + (at >> TSR_PAGE_SHIFT) : NULL;
	}

	return true;
}

static struct tessera_bo *bo_of(struct drm_gpuvm_bo *vm_bo)
{
	return gem_to_tessera_bo(vm_bo->obj);
}

static bool is_shown(struct drm_gpuvm_bo *vm_bo)
{
	return to_tessera_vm_bo(vm_bo)->shown;
}

static struct tessera_resident_set *set_of(struct drm_gpuvm_bo *vm_bo)
{
	return to_tessera_vm(vm_bo->vm)->space->resident;
}

/* Whether a move makes a difference there. */
static bool is_concerned(struct tessera_bo *bo, struct drm_gpuvm_bo *vm_bo)
{
	return is_shown(vm_bo) || tessera_listing_find(set_of(vm_bo), bo);
}

static u32 count_spaces(struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	u32 num = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		num += is_concerned(bo, vm_bo);

	return num;
}

/* No job runs there any more. */
static bool is_lost(struct drm_gpuvm_bo *vm_bo)
{
	return atomic_read(&to_tessera_vm(vm_bo->vm)->space->lost);
}

/* Lists learn where an object they have is not found. */
static void tell_lists(struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	/* A file may have several VMs. */
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		tessera_listing_set_hidden(set_of(vm_bo), bo, false);
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		if (!is_shown(vm_bo) && !is_lost(vm_bo))
			tessera_listing_set_hidden(set_of(vm_bo), bo, true);
}

static void remap_free(struct tessera_remap *remap)
{
	u32 i;

	for (i = 0; i < remap->num_spaces; i++) {
		struct remap_space *rs = &remap->spaces[i];

		tessera_pt_change_cancel(rs->change);
		tessera_pt_room_fini(&rs->out);
		tessera_pt_room_fini(&rs->in);
	}
	kvfree(remap->spaces);
	kfree(remap);
}

static struct tessera_remap *remap_alloc(struct tessera_bo *bo)
{
	struct tessera_remap *remap = kzalloc(sizeof(*remap), GFP_KERNEL_ACCOUNT);
	struct drm_gpuvm_bo *vm_bo;
	u32 num = count_spaces(bo);

	if (!remap)
		return NULL;
	remap->spaces = kvcalloc(num, sizeof(*remap->spaces), GFP_KERNEL_ACCOUNT);
	if (!remap->spaces) {
		kfree(remap);
		return NULL;
	}
	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base) {
		struct remap_space *rs;

		if (!is_concerned(bo, vm_bo))
			continue;
		rs = &remap->spaces[remap->num_spaces++];
		rs->vm_bo = vm_bo;
		rs->space = to_tessera_vm(vm_bo->vm)->space;
		rs->hides = is_shown(vm_bo);
	}
	remap->bo = bo;

	return remap;
}

/* What one more mapping takes that is in a table with one seen before: nothing. Not all are remembered. */
static bool seen_before(struct remap_need *need, const struct drm_gpuva *va)
{
	u64 block = va->va.addr / TESSERA_PT_BLOCK;
	u64 *at = &need->block[block % ARRAY_SIZE(need->block)];

	if ((va->va.addr + va->va.range - 1) / TESSERA_PT_BLOCK != block)
		return false;
	if (*at == block + 1)
		return true;
	*at = block + 1;

	return false;
}

static void need_add(struct remap_need *need, const struct drm_gpuva *va,
		     const struct tessera_pt_source *source)
{
	if (source && source->pages)
		need->lists = true;
	if (seen_before(need, va)) {
		need->lists = true;
		return;
	}
	need->writes += tessera_pt_writes_bound(va->va.addr, va->va.range, source);
	if (source)
		need->tables += tessera_pt_tables_bound(va->va.addr, va->va.range, source);
}

/*
 * What it takes to have all mappings of an object lead to a place.
 *
 * Return: false if that is more than @max, or that place is not for them.
 */
static bool need_measure(struct remap_need *need, struct drm_gpuvm_bo *vm_bo,
			 const struct remap_place *place, u32 max)
{
	struct tessera_pt_source source;
	struct drm_gpuva *va;

	memset(need->block, 0, sizeof(need->block));
	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (place && !tessera_remap_source(bo_of(vm_bo), place->seg, place->range,
						   to_tessera_mapping(va), &source))
			return false;
		need_add(need, va, place ? &source : NULL);
		if (need->tables + need->writes > max)
			return false;
	}

	return true;
}

/* Has them do so. */
static void remap_point(struct tessera_space *space, struct drm_gpuvm_bo *vm_bo,
			const struct remap_place *place)
{
	struct tessera_pt_source source;
	struct drm_gpuva *va;

	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (!place)
			tessera_space_unmap(space, va->va.addr, va->va.range);
		else if (tessera_remap_source(bo_of(vm_bo), place->seg, place->range,
					      to_tessera_mapping(va), &source))
			tessera_space_map(space, va->va.addr, va->va.range, &source);
	}
}

static int remap_make_room_out(struct tessera_remap *remap, struct remap_space *rs)
{
	struct remap_need need = { };

	rs->change = tessera_pt_change_create(rs->space);
	if (!rs->change)
		return -ENOMEM;
	if (!rs->hides || !need_measure(&need, rs->vm_bo, NULL, rs->left))
		return 0;
	rs->left -= need.writes;

	return tessera_pt_room_init(&rs->out, remap->batch, need.writes, need.lists);
}

/* &tessera_vm_ops.begin */
static struct tessera_remap *remap_begin(struct tessera_bo *bo, struct tessera_paging_batch *batch)
{
	struct tessera_remap *remap;
	int ret = 0;
	u32 i;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!count_spaces(bo))
		return NULL;
	remap = remap_alloc(bo);
	if (!remap)
		return ERR_PTR(-ENOMEM);
	remap->batch = batch;
	for (i = 0; !ret && i < remap->num_spaces; i++) {
		remap->spaces[i].left = max(MAX_WRITES / remap->num_spaces, MIN_WRITES);
		ret = remap_make_room_out(remap, &remap->spaces[i]);
	}
	if (ret) {
		remap_free(remap);
		return ERR_PTR(ret);
	}

	return remap;
}

static int remap_make_room_in(struct tessera_remap *remap, struct remap_space *rs)
{
	struct remap_need need = { };

	if (!tessera_listing_find(set_of(rs->vm_bo), remap->bo) ||
	    !need_measure(&need, rs->vm_bo, &remap->to, rs->left))
		return 0;
	rs->tables = need.tables;
	rs->shows = true;

	return tessera_pt_room_init(&rs->in, remap->batch, need.writes, need.lists);
}

/* &tessera_vm_ops.arrive */
static int remap_arrive(struct tessera_remap *remap, const struct tessera_segment *to,
			const struct tessera_range *range)
{
	int ret = 0;
	u32 i;

	if (!remap || !to)
		return 0;
	remap->to = (struct remap_place) { .seg = to, .range = range };
	if (tessera_segment_is_aperture(to))
		tessera_coherence_for_job(remap->bo, tessera_listing_writes(remap->bo));
	for (i = 0; !ret && i < remap->num_spaces; i++)
		ret = remap_make_room_in(remap, &remap->spaces[i]);

	return ret;
}

static void remap_lock(struct tessera_remap *remap)
{
	u32 i;

	tessera_space_lock_many(tessera_bo_device(remap->bo));
	for (i = 0; i < remap->num_spaces; i++)
		tessera_space_lock_one_of_many(remap->spaces[i].space);
	remap->locked = true;
}

static void remap_unlock(struct tessera_remap *remap)
{
	u32 i;

	for (i = 0; i < remap->num_spaces; i++)
		mutex_unlock(&remap->spaces[i].space->lock);
	tessera_space_unlock_many(tessera_bo_device(remap->bo));
	remap->locked = false;
}

static void remap_apply(struct tessera_remap *remap, struct remap_space *rs)
{
	if (rs->hides) {
		remap_point(rs->space, rs->vm_bo, NULL);
		tessera_space_emit(rs->space, &rs->out);
	}
	if (rs->shows) {
		remap_point(rs->space, rs->vm_bo, &remap->to);
		tessera_space_emit(rs->space, &rs->in);
	}
	tessera_vm_bo_show(rs->vm_bo, rs->shows);
	tessera_space_attach(rs->space, rs->change, remap->batch);
	rs->change = NULL;
	tessera_space_trim(rs->space);
}

/* &tessera_vm_ops.change */
static int remap_change(struct tessera_remap *remap)
{
	struct remap_space *rs;
	int ret = 0;
	u32 i;

	if (!remap)
		return 0;
	remap_lock(remap);
	for (i = 0; !ret && i < remap->num_spaces; i++) {
		rs = &remap->spaces[i];
		/* A client that has too many keeps nobody else from moving. */
		if (rs->shows && tessera_space_reserve(rs->space, rs->tables))
			rs->shows = false;
		ret = tessera_space_order(rs->space, remap->batch, rs->change,
					  rs->hides);
	}
	if (ret) {
		remap_unlock(remap);
		return ret;
	}
	for (i = 0; i < remap->num_spaces; i++)
		remap_apply(remap, &remap->spaces[i]);

	return 0;
}

/* &tessera_vm_ops.end */
static void remap_end(struct tessera_remap *remap, struct dma_fence *fence)
{
	u32 i;

	if (!remap)
		return;
	for (i = 0; fence && i < remap->num_spaces; i++)
		tessera_space_updated(remap->spaces[i].space, fence);
	if (remap->locked)
		remap_unlock(remap);
	tell_lists(remap->bo);
	remap_free(remap);
}

/* &tessera_vm_ops.drop */
static void remap_drop(struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base) {
		struct tessera_space *space = to_tessera_vm(vm_bo->vm)->space;

		if (!is_shown(vm_bo))
			continue;
		mutex_lock(&space->lock);
		remap_point(space, vm_bo, NULL);
		tessera_space_forget(space);
		tessera_vm_bo_show(vm_bo, false);
		mutex_unlock(&space->lock);
	}
	tell_lists(bo);
}

/* &tessera_vm_ops.users */
static struct dma_fence *remap_users(struct tessera_bo *bo)
{
	struct dma_fence *fence = NULL;
	struct drm_gpuvm_bo *vm_bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		if (!fence && is_shown(vm_bo))
			fence = tessera_space_find_job(to_tessera_vm(vm_bo->vm)->space) ?:
				tessera_space_find_late(to_tessera_vm(vm_bo->vm)->space);

	return fence;
}

static const struct tessera_vm_ops remap_ops = {
	.begin = remap_begin,
	.arrive = remap_arrive,
	.change = remap_change,
	.end = remap_end,
	.drop = remap_drop,
	.users = remap_users,
};

/* ---- Where the object stays ------------------------------------------------ */

/* Objects of one VM whose addresses change together. */
struct group {
	struct tessera_space *space;
	bool show;
	struct drm_gpuvm_bo *vm_bos[GROUP_OBJECTS];
	u32 num;
	struct remap_need need;
	struct tessera_paging_batch batch;
	struct tessera_pt_change *change;
	struct tessera_pt_room room;
	/* Of the batches. */
	struct tessera_fences *fences;
};

/* Where a group's object is now, NULL if its addresses are to lead nowhere. */
static const struct remap_place *group_place(const struct group *group,
					     struct drm_gpuvm_bo *vm_bo, struct remap_place *place)
{
	if (!group->show)
		return NULL;
	*place = (struct remap_place) {
		.seg = tessera_bo_segment(bo_of(vm_bo)),
		.range = tessera_bo_range(bo_of(vm_bo)),
	};

	return place;
}

/* Bytes that are on their way come first, and failing that they are not to be found. */
static int group_wait_for_moves(struct group *group, struct tessera_bo *bo)
{
	group->change->lost[group->change->num_lost++] = &bo->lost;
	if (tessera_segment_is_aperture(tessera_bo_segment(bo)))
		tessera_coherence_for_job(bo, tessera_listing_writes(bo));

	return tessera_job_add_resv(tessera_paging_first_job(&group->batch), bo->tbo.base.resv,
				    DMA_RESV_USAGE_KERNEL);
}

static int group_prepare(struct group *group)
{
	u32 i;
	int ret;

	group->change = tessera_pt_change_create(group->space);
	if (!group->change)
		return -ENOMEM;
	group->change->lost = kvcalloc(group->num, sizeof(*group->change->lost),
				       GFP_KERNEL_ACCOUNT);
	if (!group->change->lost)
		return -ENOMEM;
	ret = tessera_pt_room_init(&group->room, &group->batch, group->need.writes,
				   group->need.lists);
	if (!ret)
		ret = tessera_paging_prepare(&group->batch, NULL);
	for (i = 0; !ret && i < group->num; i++) {
		struct tessera_bo *bo = bo_of(group->vm_bos[i]);

		ret = dma_resv_reserve_fences(bo->tbo.base.resv, 1);
		if (!ret && group->show)
			ret = group_wait_for_moves(group, bo);
	}

	return ret;
}

static void group_change(struct group *group, struct drm_gpuvm_bo *vm_bo)
{
	struct remap_place place;

	remap_point(group->space, vm_bo, group_place(group, vm_bo, &place));
	tessera_vm_bo_show(vm_bo, group->show);
}

static struct dma_fence *group_push(struct group *group)
{
	struct tessera_space *space = group->space;
	struct dma_fence *fence;
	u32 i;
	int ret = 0;

	mutex_lock(&space->lock);
	if (atomic_read(&space->lost))
		ret = -EIO;
	if (!ret)
		ret = tessera_space_reserve(space, group->need.tables);
	if (!ret)
		ret = tessera_space_order(space, &group->batch, group->change,
					  !group->show);
	if (ret) {
		tessera_space_trim(space);
		mutex_unlock(&space->lock);
		return ERR_PTR(ret);
	}
	for (i = 0; i < group->num; i++)
		group_change(group, group->vm_bos[i]);
	tessera_space_emit(space, &group->room);
	tessera_space_attach(space, group->change, &group->batch);
	group->change = NULL;
	fence = tessera_paging_push(&group->batch);
	tessera_space_updated(space, fence);
	tessera_space_trim(space);
	mutex_unlock(&space->lock);

	return fence;
}

static int group_queue(struct group *group)
{
	struct dma_fence *fence;
	u32 i;
	int ret;

	tessera_paging_begin(&group->batch, group->space->queue, 0, NULL);
	ret = group_prepare(group);
	if (!ret) {
		fence = group_push(group);
		ret = PTR_ERR_OR_ZERO(fence);
	}
	if (ret) {
		tessera_paging_abort(&group->batch);
		return ret;
	}
	/* Whoever moves the object then waits until that is so. */
	for (i = 0; i < group->num; i++)
		dma_resv_add_fence(group->vm_bos[i]->obj->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	if (group->fences)
		ret = tessera_fences_add(group->fences, fence);
	dma_fence_put(fence);

	return ret;
}

/* What there is so far. */
static int group_end(struct group *group)
{
	int ret = group->num ? group_queue(group) : 0;

	tessera_pt_change_cancel(group->change);
	tessera_pt_room_fini(&group->room);
	group->change = NULL;
	group->room = (struct tessera_pt_room) { };
	group->num = 0;
	group->need = (struct remap_need) { };

	return ret;
}

static int group_add(struct group *group, struct drm_gpuvm_bo *vm_bo)
{
	struct tessera_space *space = to_tessera_vm(vm_bo->vm)->space;
	struct remap_place place;
	int ret = 0;

	if (group->space != space || group->num == GROUP_OBJECTS || group->need.writes > MAX_WRITES)
		ret = group_end(group);
	if (ret)
		return ret;
	group->space = space;
	if (need_measure(&group->need, vm_bo, group_place(group, vm_bo, &place), U32_MAX))
		group->vm_bos[group->num++] = vm_bo;

	return 0;
}

static int group_add_all(struct group *group, struct tessera_resident_set *set,
			 struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	int ret = 0;

	/* It may have been taken from the list again before it was locked. */
	if (group->show && !tessera_listing_find(set, bo))
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

static int show_all(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num,
		    bool show, struct tessera_fences *fences)
{
	struct group *group;
	u32 i;
	int ret = 0, idx;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	group->show = show;
	group->fences = fences;
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
		/* There may be no VM left that maps it. */
		tessera_listing_set_hidden(set, bos[i], false);
		tell_lists(bos[i]);
	}

	return ret;
}

/**
 * tessera_remap_show() - have a file's VMs lead to objects
 * @set: the file's list, which has them
 * @bos: the objects, reservations held
 * @num: how many
 * @fences: fences are added to it; all signal when that is so
 *
 * Those that are in no segment stay as they are.
 *
 * Return: 0, -ENOSPC for too many page tables, -EIO if a VM is lost, -ENODEV or -ENOMEM; then some may be shown.
 */
int tessera_remap_show(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num,
		       struct tessera_fences *fences)
{
	return show_all(set, bos, num, true, fences);
}

/**
 * tessera_remap_hide() - have a file's VMs not lead to objects any more
 * @set: the file's list, which does not have them any more
 * @bos: the objects, reservations held
 * @num: how many
 *
 * When the jobs that are queued are done. Those for which there is no memory stay where they are found until they move.
 */
void tessera_remap_hide(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	int ret = show_all(set, bos, num, false, NULL);

	if (ret)
		drm_dbg(&set->tdev->drm, "what was evicted can still be reached: %d\n", ret);
}

/**
 * tessera_remap_may_show() - ask whether a new mapping is to lead to its object
 * @vm: the VM
 * @bo: the object, reservation held
 *
 * Return: false if other mappings of the VM do not, or the object is not listed.
 */
bool tessera_remap_may_show(struct tessera_vm *vm, struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo = drm_gpuvm_bo_find(&vm->base, &bo->tbo.base);
	bool show;

	show = vm_bo ? is_shown(vm_bo) : !!tessera_listing_find(vm->space->resident, bo);
	drm_gpuvm_bo_put(vm_bo);

	return show;
}

/**
 * tessera_remap_settle() - there are new mappings of an object
 * @bo: the object, reservation held
 */
void tessera_remap_settle(struct tessera_bo *bo)
{
	tell_lists(bo);
	tessera_listing_settle(bo);
}

/**
 * tessera_remap_init() - have moves know of VMs
 * @tdev: the device
 */
void tessera_remap_init(struct tessera_device *tdev)
{
	tdev->vm_ops = &remap_ops;
}
