// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects that move beneath their addresses
 *
 * An object keeps its addresses in all VMs that map it, wherever it goes (RES-5). The batch that moves it
 * first has those addresses lead nowhere, then moves the bytes, then has them lead to the new place; if
 * there is none in a segment, accesses fault. So they do in a VM where saying that takes more memory than somebody
 * else's move is to pay for, or than its client may have. It waits for all jobs of these VMs that are queued, and those to
 * come wait for it.
 *
 * Pages in an aperture are mapped as what they are, pages of the system: the GPU reaches them either way.
 *
 * Called by mem/move.c through &tessera_device.vm_ops, with the object's reservation held, which is what protects
 * the list of its mappings.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>
#include <drm/ttm/ttm_tt.h>

#include "mem/bo.h"
#include "mem/coherence.h"
#include "paging/cache.h"
#include "paging/queue.h"
#include "segments/segment.h"
#include "tessera_device.h"
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

/* What becomes of one VM. */
struct remap_space {
	struct tessera_space *space;
	struct drm_gpuvm_bo *vm_bo;
	struct tessera_pt_change *change;
	struct tessera_pt_room out, in;
	u32 tables;
	/* What is left of its part of MAX_WRITES. */
	u32 left;
	/* There is memory to say where the object is then. */
	bool shows;
};

/* Tables of pages that mappings have been seen in. */
struct remap_seen {
	u64 block[64];
};

struct tessera_remap {
	struct tessera_bo *bo;
	struct tessera_paging_batch *batch;
	/* Segments, NULL for system memory, and where in the new one. */
	const struct tessera_segment *from, *to;
	u64 to_offset;
	struct remap_space *spaces;
	u32 num_spaces;
	bool locked;
};

/**
 * tessera_remap_source() - what is found where a mapping is
 * @bo: its object
 * @seg: the segment the object is in, with its pages if that is an aperture; or NULL
 * @offset: byte offset there
 * @mapping: the mapping
 * @source: receives it
 *
 * Return: false if nothing is.
 */
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg, u64 offset,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source)
{
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
		source->pages = tt->dma_address + (mapping->base.gem.offset >> TSR_PAGE_SHIFT);
	} else {
		source->bits |= TSR_PTE_VRAM;
		source->addr = seg->base + offset + mapping->base.gem.offset;
	}

	return true;
}

static u32 count_spaces(struct tessera_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	u32 num = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base)
		num++;

	return num;
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
		struct remap_space *rs = &remap->spaces[remap->num_spaces++];

		rs->vm_bo = vm_bo;
		rs->space = to_tessera_vm(vm_bo->vm)->space;
	}
	remap->bo = bo;

	return remap;
}

/* What one more mapping takes that is in a table with one seen before: nothing. Not all are remembered. */
static bool seen_before(struct remap_seen *seen, const struct drm_gpuva *va)
{
	u64 block = va->va.addr / TESSERA_PT_BLOCK;
	u64 *at = &seen->block[block % ARRAY_SIZE(seen->block)];

	if ((va->va.addr + va->va.range - 1) / TESSERA_PT_BLOCK != block)
		return false;
	if (*at == block + 1)
		return true;
	*at = block + 1;

	return false;
}

static int remap_make_room_out(struct tessera_remap *remap, struct remap_space *rs)
{
	struct drm_gpuvm_bo *vm_bo = rs->vm_bo;
	struct remap_seen seen = { };
	struct drm_gpuva *va;
	bool lists = false;
	u32 writes = 0;

	rs->change = tessera_pt_change_create(rs->space);
	if (!rs->change)
		return -ENOMEM;
	if (!remap->from)
		return 0;
	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (seen_before(&seen, va)) {
			lists = true;
			continue;
		}
		writes += tessera_pt_writes_bound(va->va.addr, va->va.range, NULL);
		if (writes > rs->left)
			return 0;
	}
	rs->left -= writes;

	return tessera_pt_room_init(&rs->out, remap->batch, writes, lists);
}

/* &tessera_vm_ops.begin */
static struct tessera_remap *remap_begin(struct tessera_bo *bo, struct tessera_paging_batch *batch,
					 const struct tessera_segment *from)
{
	struct tessera_remap *remap;
	int ret = 0;
	u32 i;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!tessera_bo_is_in_vm(bo))
		return NULL;
	remap = remap_alloc(bo);
	if (!remap)
		return ERR_PTR(-ENOMEM);
	remap->batch = batch;
	remap->from = from;
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
	struct drm_gpuvm_bo *vm_bo = rs->vm_bo;
	struct tessera_pt_source source;
	struct remap_seen seen = { };
	u32 writes = 0, tables = 0;
	struct drm_gpuva *va;
	bool lists = false;

	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (!tessera_remap_source(remap->bo, remap->to, remap->to_offset,
					  to_tessera_mapping(va), &source))
			return 0;
		if (seen_before(&seen, va)) {
			lists = true;
			continue;
		}
		tables += tessera_pt_tables_bound(va->va.addr, va->va.range, &source);
		writes += tessera_pt_writes_bound(va->va.addr, va->va.range, &source);
		lists |= !!source.pages;
		if (tables + writes > rs->left)
			return 0;
	}
	rs->tables = tables;
	rs->shows = true;

	return tessera_pt_room_init(&rs->in, remap->batch, writes, lists);
}

/* &tessera_vm_ops.arrive */
static int remap_arrive(struct tessera_remap *remap, const struct tessera_segment *to, u64 offset)
{
	int ret = 0;
	u32 i;

	if (!remap || !to)
		return 0;
	remap->to = to;
	remap->to_offset = offset;
	if (tessera_segment_is_aperture(to))
		tessera_coherence_for_job(remap->bo,
					  !(remap->bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY));
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

static void remap_unmap(struct remap_space *rs)
{
	struct drm_gpuvm_bo *vm_bo = rs->vm_bo;
	struct drm_gpuva *va;

	drm_gpuvm_bo_for_each_va(va, vm_bo)
		tessera_space_unmap(rs->space, va->va.addr, va->va.range);
}

static void remap_map(struct tessera_remap *remap, struct remap_space *rs)
{
	struct drm_gpuvm_bo *vm_bo = rs->vm_bo;
	struct tessera_pt_source source;
	struct drm_gpuva *va;

	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (tessera_remap_source(remap->bo, remap->to, remap->to_offset,
					 to_tessera_mapping(va), &source))
			tessera_space_map(rs->space, va->va.addr, va->va.range, &source);
	}
}

static void remap_apply(struct tessera_remap *remap, struct remap_space *rs)
{
	if (remap->from) {
		remap_unmap(rs);
		tessera_space_emit(rs->space, &rs->out);
	}
	if (rs->shows) {
		remap_map(remap, rs);
		tessera_space_emit(rs->space, &rs->in);
	}
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
		/* Of a client that has too many, accesses fault; nobody else is kept from moving. */
		if (rs->shows && tessera_space_reserve(rs->space, rs->tables))
			rs->shows = false;
		ret = tessera_space_order(rs->space, remap->batch, true);
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
	remap_free(remap);
}

/* &tessera_vm_ops.drop */
static void remap_drop(struct tessera_bo *bo)
{
	struct remap_space rs = { };
	struct drm_gpuvm_bo *vm_bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->tbo.base) {
		rs.vm_bo = vm_bo;
		rs.space = to_tessera_vm(vm_bo->vm)->space;
		mutex_lock(&rs.space->lock);
		remap_unmap(&rs);
		tessera_space_forget(rs.space);
		mutex_unlock(&rs.space->lock);
	}
}

static const struct tessera_vm_ops remap_ops = {
	.begin = remap_begin,
	.arrive = remap_arrive,
	.change = remap_change,
	.end = remap_end,
	.drop = remap_drop,
};

/**
 * tessera_remap_init() - have moves know of VMs
 * @tdev: the device
 */
void tessera_remap_init(struct tessera_device *tdev)
{
	tdev->vm_ops = &remap_ops;
}
