// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: page table memory
 *
 * The page tables of a VM lie in buffer objects of its client, one table per
 * page. These objects are charged and placed like any other. From their
 * creation on, they are on the client's residency list (vm/residency_list.c).
 * An object is *missing* there if it is in no place of which the VM knows, but
 * the VM uses one of its tables. The client's next submission then brings it
 * back first, and no job of the client starts before. Spare and released tables,
 * and those of a lost VM, need no place.
 *
 * The contents of such an object are never copied: the CPU has a copy of each
 * table, and the paging engine writes the device's copy from that. A move only
 * invalidates the addresses of the tables (tessera_page_tables_forget()).
 * MAKE_RESIDENT determines the new addresses when it shows the object, and all
 * tables in it are written before the next job.
 *
 * An object is freed when it holds no table any more, unless it is the only
 * such object. A work item does that, because tables are freed in places where
 * no reservation can be taken.
 *
 * The number of page tables of a process is limited, by default to
 * %TESSERA_MAX_PT_PAGES.
 *
 * Lock order: the object's reservation, then &tessera_page_tables.lock.
 * &tessera_page_tables.slots is a leaf.
 */
#include <linux/bitmap.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <drm/drm_gem.h>
#include <drm/tessera_drm.h>
#include <drm/ttm/ttm_tt.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/wait.h"
#include "client/client.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "vm/vm.h"

/*
 * Number of tables in the first object of a VM. Each further object doubles the
 * total, up to TESSERA_PT_MEM_PAGES tables per object.
 */
#define FIRST_TABLES	16U

/* No client has a handle, so only the destructor is needed. */
static const struct drm_gem_object_funcs tables_gem_funcs = {
	.free = tessera_destroy_free,
};

/*
 * Any segment that the GPU may write is supported. Memory that the CPU cannot
 * see is preferred, and the last segment of it: a device that describes a
 * further segment at the end keeps page tables away from its other memory.
 *
 * The CPU does not access the objects. The pages of one in an aperture are
 * therefore write-combined or, if the device snoops, cached. Both are coherent
 * for page tables without cache maintenance.
 */
static void tables_describe(struct tessera_device *tdev, struct drm_tessera_bo_create *args)
{
	const u32 mask = TSR_SEGF_APERTURE | TSR_SEGF_CPU_VISIBLE | TSR_SEGF_UMA;
	u32 best = tessera_segment_with(tdev, U32_MAX, mask, 0) ?:
		   tessera_segment_with(tdev, U32_MAX, mask, TSR_SEGF_CPU_VISIBLE);

	/* The walk of page tables does not go through the entries of a segment. */
	args->supported = tessera_segment_with(tdev, U32_MAX,
					       TSR_SEGF_GPU_READ_ONLY | TSR_SEGF_UMA, 0);
	args->num_preferred = !!best;
	args->preferred[0] = best ? __fls(best) : 0;
}

/* Returns the object with its reservation held. */
static struct tessera_bo *tables_bo_create(struct tessera_page_tables *pts, u32 num)
{
	const struct tessera_bo_source from = { .locked = true };
	struct drm_tessera_bo_create args = { .size = num * TSR_PAGE_SIZE };
	struct tessera_bo *bo;

	tables_describe(pts->tdev, &args);
	bo = tessera_bo_create(pts->tdev, pts->queue, &tables_gem_funcs, &args, &from);

	return PTR_ERR_OR_ZERO(bo) == -E2BIG ? ERR_PTR(-ENOSPC) : bo;
}

static int tables_create(struct tessera_page_tables *pts, u32 num)
{
	struct tessera_pt_mem *tables;
	struct tessera_bo *bo;
	int ret;

	tables = kzalloc(struct_size(tables, entry, num), GFP_KERNEL_ACCOUNT);
	if (!tables)
		return -ENOMEM;
	bo = tables_bo_create(pts, num);
	if (IS_ERR(bo)) {
		kfree(tables);
		return PTR_ERR(bo);
	}
	bo->tables = tables;
	tables->bo = bo;
	tables->pts = pts;
	tables->num = num;
	bitmap_fill(tables->free, num);
	ret = tessera_residency_entry_add(pts->resident, bo);
	dma_resv_unlock(bo->tbo.base.resv);
	if (ret) {
		tessera_bo_put(bo);
		return ret;
	}
	spin_lock(&pts->slots);
	list_add_tail(&tables->node, &pts->memory);
	spin_unlock(&pts->slots);

	return 0;
}

/*
 * Takes a free page for @table, and sets @table->home, if there is one.
 * Otherwise returns the number of tables that all objects hold.
 */
static u32 take_page(struct tessera_page_tables *pts, struct tessera_pt_page *table)
{
	struct tessera_pt_mem *tables;
	u32 have = 0;

	spin_lock(&pts->slots);
	list_for_each_entry(tables, &pts->memory, node) {
		have += tables->num;
		table->index = find_first_bit(tables->free, tables->num);
		if (table->index == tables->num)
			continue;
		__clear_bit(table->index, tables->free);
		table->home = tables;
		break;
	}
	spin_unlock(&pts->slots);

	return have;
}

static int pt_page_alloc_memory(struct tessera_page_tables *pts, struct tessera_pt_page *table)
{
	u32 have;
	int ret = 0;

	while (!ret) {
		have = take_page(pts, table);
		if (table->home)
			break;
		ret = tables_create(pts, clamp(have, FIRST_TABLES, TESSERA_PT_MEM_PAGES));
	}

	return ret;
}

/**
 * tessera_pt_page_create() - create a page table
 * @pts: the page tables of the VM
 *
 * The contents of the device's copy are undefined until it is written.
 *
 * Return: the table; -ENOSPC if the process has too many, or no segment is
 * large enough; or -ENOMEM.
 */
struct tessera_pt_page *tessera_pt_page_create(struct tessera_page_tables *pts)
{
	atomic_t *count = &pts->account->process->count.tables;
	struct tessera_pt_page *table;
	int ret;

	ret = tessera_account_count(count, READ_ONCE(pts->tdev->max_tables));
	if (ret)
		return ERR_PTR(ret);
	table = kvzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	ret = table ? pt_page_alloc_memory(pts, table) : -ENOMEM;
	if (ret) {
		kvfree(table);
		atomic_dec(count);
		return ERR_PTR(ret);
	}
	INIT_LIST_HEAD(&table->node);

	return table;
}

/**
 * tessera_pt_page_destroy_list() - free page tables
 * @pts: the page tables of the VM
 * @tables: list of &tessera_pt_page.node, empty afterwards. The device does not
 * walk these tables any more
 */
void tessera_pt_page_destroy_list(struct tessera_page_tables *pts, struct list_head *tables)
{
	struct tessera_pt_page *table, *next;
	bool empty = false;

	list_for_each_entry_safe(table, next, tables, node) {
		list_del(&table->node);
		spin_lock(&pts->slots);
		__set_bit(table->index, table->home->free);
		empty |= bitmap_full(table->home->free, table->home->num);
		spin_unlock(&pts->slots);
		atomic_dec(&pts->account->process->count.tables);
		kvfree(table);
	}
	if (empty)
		queue_work(system_unbound_wq, &pts->trim);
}

/**
 * tessera_vm_leave_fence() - keep an object in place until jobs have ended
 * @obj: the object, reservation held
 * @fence: fence that signals after the last job, or NULL
 *
 * Waits for @fence if there is no memory to add it to the reservation.
 */
void tessera_vm_leave_fence(struct drm_gem_object *obj, struct dma_fence *fence)
{
	if (fence && dma_resv_reserve_fences(obj->resv, 1))
		tessera_wait_fence(TESSERA_WAIT_NO_MEMORY, fence, false, MAX_SCHEDULE_TIMEOUT);
	else if (fence)
		dma_resv_add_fence(obj->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
}

static void tables_leave(struct tessera_pt_mem *tables, struct dma_fence *fence)
{
	struct tessera_resident_set *set = tables->pts->resident;
	struct tessera_bo *bo = tables->bo;

	dma_resv_lock(bo->tbo.base.resv, NULL);
	tessera_vm_leave_fence(&bo->tbo.base, fence);
	tables->pts = NULL;
	tessera_residency_entry_drop(tessera_residency_entry_find(set, bo), 1);
	dma_resv_unlock(bo->tbo.base.resv);
}

/**
 * tessera_pt_mem_close() - give up page table objects of a destroyed VM
 * @pts: its page tables, closed
 * @fence: fence that signals after the last job; or NULL if no job is left
 *
 * The caller holds no reservation. The VM keeps its references to the objects
 * until tessera_pt_mem_free(). No thread creates tables or trims the list any
 * more.
 */
void tessera_pt_mem_close(struct tessera_page_tables *pts, struct dma_fence *fence)
{
	struct tessera_pt_mem *tables;

	disable_work_sync(&pts->trim);
	list_for_each_entry(tables, &pts->memory, node)
		tables_leave(tables, fence);
}

/**
 * tessera_pt_mem_free() - drop the references to page table objects
 * @list: list of &tessera_pt_mem.node
 */
void tessera_pt_mem_free(struct list_head *list)
{
	struct tessera_pt_mem *tables, *next;

	list_for_each_entry_safe(tables, next, list, node)
		tessera_bo_put(tables->bo);
}

/*
 * &tessera_page_tables.trim: frees page table objects without tables, but for
 * one. The VM is not closed.
 */
static void trim_work(struct work_struct *work)
{
	struct tessera_page_tables *pts = container_of(work, struct tessera_page_tables, trim);
	struct tessera_pt_mem *tables, *next;
	bool spare = false;
	LIST_HEAD(empty);

	spin_lock(&pts->slots);
	list_for_each_entry_safe(tables, next, &pts->memory, node) {
		if (!bitmap_full(tables->free, tables->num))
			continue;
		if (spare)
			list_move(&tables->node, &empty);
		spare = true;
	}
	spin_unlock(&pts->slots);
	list_for_each_entry(tables, &empty, node)
		tables_leave(tables, NULL);
	tessera_pt_mem_free(&empty);
}

/**
 * tessera_pt_mem_init() - set up the memory of a VM's page tables
 * @pts: the page tables
 */
void tessera_pt_mem_init(struct tessera_page_tables *pts)
{
	INIT_LIST_HEAD(&pts->memory);
	spin_lock_init(&pts->slots);
	INIT_WORK(&pts->trim, trim_work);
}

/* ---- Places -------------------------------------------------------------- */

/* Reads a stable value only under &tessera_page_tables.lock. */
static bool is_missing(const struct tessera_page_tables *pts, const struct tessera_pt_mem *tables)
{
	return READ_ONCE(tables->used) && !tables->placed && !atomic_read(&pts->lost);
}

/*
 * The entry is valid without the object's reservation, because an object that
 * has tables stays listed as long as its VM exists.
 */
static void mark_missing(struct tessera_page_tables *pts, struct tessera_pt_mem *tables)
{
	struct tessera_residency_entry *entry;

	lockdep_assert_held(&pts->lock);

	entry = tessera_residency_entry_find(pts->resident, tables->bo);
	if (entry)
		tessera_residency_entry_mark(entry, is_missing(pts, tables));
}

/**
 * tessera_pt_mem_use() - note that the VM uses one more table of an object
 * @pts: the page tables of the VM, locked
 * @tables: the tables in the object
 */
void tessera_pt_mem_use(struct tessera_page_tables *pts, struct tessera_pt_mem *tables)
{
	WRITE_ONCE(tables->used, tables->used + 1);
	if (tables->used == 1)
		mark_missing(pts, tables);
}

/**
 * tessera_pt_mem_unuse() - note that the VM uses one table of an object less
 * @pts: the page tables of the VM, locked
 * @tables: the tables in the object
 */
void tessera_pt_mem_unuse(struct tessera_page_tables *pts, struct tessera_pt_mem *tables)
{
	WRITE_ONCE(tables->used, tables->used - 1);
	if (!tables->used)
		mark_missing(pts, tables);
}

/**
 * tessera_pt_mem_is_missing() - ask whether page tables have to be brought back
 * @bo: the object that holds them, reservation held
 *
 * The answer may change at any time. tessera_pt_mem_settle() has the last word.
 *
 * Return: true if they have to.
 */
bool tessera_pt_mem_is_missing(const struct tessera_bo *bo)
{
	return bo->tables->pts && is_missing(bo->tables->pts, bo->tables);
}

/**
 * tessera_pt_mem_settle() - mark page tables as present or evicted
 * @bo: the object that holds them, reservation held
 */
void tessera_pt_mem_settle(struct tessera_bo *bo)
{
	struct tessera_page_tables *pts = bo->tables->pts;

	if (!pts)
		return;
	mutex_lock(&pts->lock);
	mark_missing(pts, bo->tables);
	mutex_unlock(&pts->lock);
}

static u64 entry_at(struct tessera_bo *bo, u32 index)
{
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	u64 at = index * TSR_PAGE_SIZE;

	if (tessera_segment_is_aperture(seg))
		return bo->tbo.ttm->dma_address[index] | TSR_PTE_VALID;

	return (seg->base + tessera_placement_at(tessera_bo_placement(bo), at, NULL)) |
	       TSR_PTE_VRAM | TSR_PTE_VALID;
}

/**
 * tessera_pt_mem_show() - determine the addresses of page tables
 * @bo: the object that holds them, reservation held
 */
void tessera_pt_mem_show(struct tessera_bo *bo)
{
	struct tessera_pt_mem *tables = bo->tables;
	struct tessera_page_tables *pts = tables->pts;
	u32 i;

	if (!pts || tables->placed || tessera_residency_serves(bo, true) <= 0)
		return;
	tessera_assert(pts->tdev, !tessera_coherence_tracks(bo));
	mutex_lock(&pts->lock);
	for (i = 0; i < tables->num; i++)
		tables->entry[i] = entry_at(bo, i);
	tables->placed = true;
	mark_missing(pts, tables);
	mutex_unlock(&pts->lock);
}

/**
 * tessera_pt_mem_hide() - forget the addresses of page tables
 * @pts: the page tables of the VM, locked
 * @tables: the tables in the object, whose reservation is held
 */
void tessera_pt_mem_hide(struct tessera_page_tables *pts, struct tessera_pt_mem *tables)
{
	tables->placed = false;
	mark_missing(pts, tables);
}
