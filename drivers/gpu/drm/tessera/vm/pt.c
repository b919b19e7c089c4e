// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: page tables
 *
 * pure/page_table.c keeps the CPU's copy of a VM's tables, and every change is
 * made there. An entry that the device's copy lacks is *dirty*. A paging batch
 * in front of the VM's next job writes the dirty entries, and the client of
 * that job pays for it. A move of an object itself only updates the CPU's
 * copy.
 *
 * A change that removes or replaces mappings belongs to a paging batch: that of
 * the move, or an empty one. The batch waits for all queued jobs of the VM.
 * Each later job waits for all batches queued before it
 * (&tessera_page_tables.update), and for a batch that writes all dirty entries
 * and flushes TLBs. A mapping that a job may use therefore never changes while
 * the job runs, and no job uses a stale TLB entry. For the same reason, tables
 * that a change releases are freed when its batch has ended.
 *
 * An object that holds page tables can be evicted like any other (vm/pt_mem.c).
 * Its tables then become dirty, and so do all tables that may point to them,
 * and all addresses of the VM are flushed. All addresses are also flushed when
 * the VM gets an ASID (vm/asid.c).
 *
 * If a batch fails, the device's copy may point to memory that the object has
 * left. The VM is then marked as lost and runs nothing.
 *
 * Locks: &tessera_page_tables.lock. A move of an object that several VMs map
 * takes &tessera_page_tables_list.many first.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/assert.h"
#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "client/client.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "segments/segments.h"
#include "vm/vm.h"

/* Spare tables kept for the next change. */
#define POOL_KEEPS	8U

#define LAST_VA		((1ULL << TSR_VM_ADDRESS_BITS) - 1)

/* The time that a suspend may wait for jobs. */
#define JOBS_TIMEOUT_MS	30000

static void page_tables_fini(struct drm_device *drm, void *data)
{
	struct tessera_page_tables_list *all = data;

	drm_WARN_ON(drm, !list_empty(&all->list));
	mutex_destroy(&all->many);
	mutex_destroy(&all->lock);
}

/**
 * tessera_page_tables_init() - set up the list of page tables
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_page_tables_init(struct tessera_device *tdev)
{
	struct tessera_page_tables_list *all;
	int ret;

	all = drmm_kzalloc(&tdev->drm, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	mutex_init(&all->lock);
	mutex_init(&all->many);
	INIT_LIST_HEAD(&all->list);
	tdev->page_tables = all;
	tdev->max_tables = TESSERA_MAX_PT_PAGES;
	ret = drmm_add_action_or_reset(&tdev->drm, page_tables_fini, all);

	return ret ?: tessera_asids_init(tdev);
}

/* ---- The CPU's copy ------------------------------------------------------ */

static struct tessera_pt *pts_alloc(void *owner)
{
	struct tessera_page_tables *pts = owner;
	struct tessera_pt_page *table;

	table = list_first_entry_or_null(&pts->tables[TESSERA_PT_PAGES_POOL],
					 struct tessera_pt_page, node);
	if (drm_WARN_ON_ONCE(&pts->tdev->drm, !table))
		return NULL;
	pts->pooled--;
	/* The device's copy has the contents of an earlier table. */
	table->dirty_first = 0;
	table->dirty_end = TSR_PT_ENTRIES;
	list_move(&table->node, &pts->tables[TESSERA_PT_PAGES_DIRTY]);
	tessera_pt_mem_use(pts, table->home);

	return &table->pt;
}

static void pts_release(void *owner, struct tessera_pt *pt)
{
	struct tessera_pt_page *table = to_tessera_pt_page(pt);
	struct tessera_page_tables *pts = owner;

	list_move_tail(&table->node, &pts->tables[TESSERA_PT_PAGES_RELEASED]);
	tessera_pt_mem_unuse(pts, table->home);
}

static void pts_changed(void *owner, struct tessera_pt *pt, u32 first, u32 count)
{
	struct tessera_pt_page *table = to_tessera_pt_page(pt);
	struct tessera_page_tables *pts = owner;

	if (!table->dirty_end) {
		table->dirty_first = first;
		table->dirty_end = first + count;
		list_move(&table->node, &pts->tables[TESSERA_PT_PAGES_DIRTY]);
		return;
	}
	table->dirty_first = min(table->dirty_first, first);
	table->dirty_end = max(table->dirty_end, first + count);
}

static const struct tessera_pt_ops pts_ops = {
	.alloc = pts_alloc,
	.release = pts_release,
	.changed = pts_changed,
};

/*
 * The TLBs may hold entries of another VM, or of tables that have moved. The
 * device caches leaves only, so no test can show that moved tables need this.
 */
static void pts_flush_all(struct tessera_page_tables *pts)
{
	pts->tree.flush_first = 0;
	pts->tree.flush_last = LAST_VA;
}

/* ---- Create and destroy -------------------------------------------------- */

static int pts_init_root(struct tessera_page_tables *pts)
{
	struct tessera_pt_page *root;

	root = tessera_pt_page_create(pts);
	if (IS_ERR(root))
		return PTR_ERR(root);
	mutex_lock(&pts->lock);
	list_add(&root->node, &pts->tables[TESSERA_PT_PAGES_DIRTY]);
	root->dirty_end = TSR_PT_ENTRIES;
	tessera_pt_init(&pts->tree, &pts_ops, pts, &root->pt);
	tessera_pt_mem_use(pts, root->home);
	mutex_unlock(&pts->lock);

	return 0;
}

/* The page tables are locked, or their last reference is gone. */
static void pts_free_queues(struct tessera_page_tables *pts)
{
	struct tessera_vm_queue *queue, *next;

	list_for_each_entry_safe(queue, next, &pts->queues, node) {
		/* Pairs with tessera_page_tables_remove_queue(). */
		if (!smp_load_acquire(&queue->dead))
			continue;
		list_del(&queue->node);
		tessera_vm_queue_fini(&pts->jobs, queue);
		kfree(queue);
	}
}

static void pts_release_ref(struct kref *ref)
{
	struct tessera_page_tables *pts = container_of(ref, struct tessera_page_tables, ref);
	struct tessera_fence_page *fence_page, *next;
	struct tessera_device *tdev = pts->tdev;
	u32 i;

	mutex_lock(&tdev->page_tables->lock);
	list_del(&pts->node);
	mutex_unlock(&tdev->page_tables->lock);

	pts_free_queues(pts);
	drm_WARN_ON(&tdev->drm, !list_empty(&pts->queues));
	for (i = 0; i < TESSERA_PT_PAGES_LISTS; i++)
		tessera_pt_page_destroy_list(pts, &pts->tables[i]);
	tessera_pt_mem_free(&pts->memory);
	list_for_each_entry_safe(fence_page, next, &pts->fence_pages, node)
		tessera_fence_page_free(fence_page);
	dma_fence_put(pts->update);
	if (!IS_ERR(pts->queue))
		tessera_paging_queue_put(pts->queue);
	tessera_asid_fini(tdev, &pts->asid);
	tessera_dep_check_fini(&pts->dep_check);
	atomic_dec(&pts->account->process->count.vms);
	tessera_account_put(pts->account);
	tessera_resident_set_put(pts->resident);
	mutex_destroy(&pts->lock);
	kfree(pts);
}

/**
 * tessera_page_tables_create() - create empty page tables
 * @tdev: the device
 * @account: account that is charged, bound
 * @resident: residency list of the file: the objects that they may point to
 *
 * Return: the tables with one reference; -ENOSPC if the process has too many
 * VMs; or -ENOMEM.
 */
struct tessera_page_tables *tessera_page_tables_create(struct tessera_device *tdev,
						       struct tessera_account *account,
						       struct tessera_resident_set *resident)
{
	struct tessera_page_tables *pts;
	int ret;
	u32 i;

	ret = tessera_account_count(&account->process->count.vms, TESSERA_MAX_VMS);
	if (ret)
		return ERR_PTR(ret);
	pts = kzalloc(sizeof(*pts), GFP_KERNEL_ACCOUNT);
	if (!pts) {
		atomic_dec(&account->process->count.vms);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&pts->ref);
	mutex_init(&pts->lock);
	tessera_dep_check_init(&pts->dep_check);
	for (i = 0; i < TESSERA_PT_PAGES_LISTS; i++)
		INIT_LIST_HEAD(&pts->tables[i]);
	INIT_LIST_HEAD(&pts->node);
	INIT_LIST_HEAD(&pts->queues);
	INIT_LIST_HEAD(&pts->fence_pages);
	tessera_pt_mem_init(pts);
	tessera_vm_jobs_init(&pts->jobs);
	pts->tdev = tdev;
	pts->account = tessera_account_get(account);
	pts->resident = tessera_resident_set_get(resident);
	tessera_asid_init(&pts->asid, account, &pts->jobs);
	pts->queue = tessera_paging_queue_create(tdev, account);
	ret = PTR_ERR_OR_ZERO(pts->queue) ?: pts_init_root(pts);
	if (ret) {
		pts_release_ref(&pts->ref);
		return ERR_PTR(ret);
	}

	mutex_lock(&tdev->page_tables->lock);
	list_add_tail(&pts->node, &tdev->page_tables->list);
	mutex_unlock(&tdev->page_tables->lock);

	return pts;
}

/**
 * tessera_page_tables_get() - take a reference
 * @pts: the page tables
 *
 * Return: @pts.
 */
struct tessera_page_tables *tessera_page_tables_get(struct tessera_page_tables *pts)
{
	kref_get(&pts->ref);

	return pts;
}

/**
 * tessera_page_tables_put() - drop a reference
 * @pts: the page tables, or NULL
 *
 * The VM, its contexts and its paging batches hold references. The call that
 * drops the last one frees the tables. May sleep.
 */
void tessera_page_tables_put(struct tessera_page_tables *pts)
{
	if (pts)
		kref_put(&pts->ref, pts_release_ref);
}

/**
 * tessera_page_tables_add_queue() - add a queue of jobs to a VM
 * @pts: the page tables
 *
 * Return: the queue, to be removed with tessera_page_tables_remove_queue(); or
 * NULL.
 */
struct tessera_vm_queue *tessera_page_tables_add_queue(struct tessera_page_tables *pts)
{
	struct tessera_vm_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);

	if (!queue)
		return NULL;
	INIT_LIST_HEAD(&queue->busy);
	mutex_lock(&pts->lock);
	pts_free_queues(pts);
	list_add_tail(&queue->node, &pts->queues);
	mutex_unlock(&pts->lock);

	return queue;
}

/**
 * tessera_page_tables_remove_queue() - remove a queue of jobs from a VM
 * @queue: the queue; all its jobs have ended
 *
 * Takes no lock: the worker that releases the jobs of all clients calls this,
 * and must not wait for a thread of one client that changes page tables. The
 * queue is freed when page tables change next, or with them.
 */
void tessera_page_tables_remove_queue(struct tessera_vm_queue *queue)
{
	/* Pairs with pts_free_queues(). */
	smp_store_release(&queue->dead, true);
}

/* ---- Number of tables ---------------------------------------------------- */

/* Number of tables of a level that a range of addresses touches. */
static u32 span(u64 va, u64 bytes, u32 level)
{
	u32 shift = TSR_PAGE_SHIFT + 9 * (level + 1);

	return ((va + bytes - 1) >> shift) - (va >> shift) + 1;
}

/* Whether each whole block becomes one large leaf, or is unmapped. */
static bool has_leaves(u64 va, const struct tessera_pt_source *source)
{
	return !source || (!source->pages &&
			   ((source->bits & TSR_PTE_NULL) ||
			    !((source->addr ^ va) & (TESSERA_PT_BLOCK - 1))));
}

/*
 * New tables of level 0. If whole blocks become large leaves, only the partial
 * blocks at both ends need one.
 */
static u32 span_new_pages(u64 va, u64 bytes, const struct tessera_pt_source *source)
{
	u32 tables = span(va, bytes, 0);
	u32 ends = !IS_ALIGNED(va, TESSERA_PT_BLOCK) + !IS_ALIGNED(va + bytes, TESSERA_PT_BLOCK);

	return has_leaves(va, source) ? min(tables, ends) : tables;
}

/**
 * tessera_pt_tables_bound() - bound the number of tables that a change takes
 * @va: start of the range
 * @bytes: its size
 * @source: the memory to map there; NULL: unmap the range
 *
 * Return: the maximum number of new tables.
 */
u32 tessera_pt_tables_bound(u64 va, u64 bytes, const struct tessera_pt_source *source)
{
	u32 tables = span_new_pages(va, bytes, source);

	return source ? tables + span(va, bytes, 1) + span(va, bytes, 2) : tables;
}

/* ---- Changes ------------------------------------------------------------- */

/* Add tables to a list until *@have reaches @num. */
static int create_pt_pages(struct tessera_page_tables *pts, struct list_head *tables, u32 *have,
			   u32 num)
{
	struct tessera_pt_page *table;

	for (; *have < num; (*have)++) {
		table = tessera_pt_page_create(pts);
		if (IS_ERR(table))
			return PTR_ERR(table);
		/* Use the oldest objects first, so that the last ones get empty. */
		list_add_tail(&table->node, tables);
	}

	return 0;
}

/**
 * tessera_page_tables_prepare() - allocate tables for a large change
 * @pts: the page tables, not locked: other clients' moves wait for the lock
 * @num: number of tables that the change may take
 * @tables: receives &struct tessera_pt_page, for tessera_page_tables_reserve()
 *
 * Return: 0, -ENOSPC if the process has too many, or -ENOMEM.
 */
int tessera_page_tables_prepare(struct tessera_page_tables *pts, u32 num, struct list_head *tables)
{
	u32 pooled = READ_ONCE(pts->pooled);

	return create_pt_pages(pts, tables, &pooled, num);
}

/**
 * tessera_page_tables_reserve() - fill the pool of spare tables for a change
 * @pts: the page tables, locked
 * @num: number of tables that the change may take
 * @tables: tables from tessera_page_tables_prepare(), empty afterwards; or NULL
 *
 * Return: 0, -ENOSPC if the process has too many, or -ENOMEM.
 */
int tessera_page_tables_reserve(struct tessera_page_tables *pts, u32 num, struct list_head *tables)
{
	struct list_head *pool = &pts->tables[TESSERA_PT_PAGES_POOL];

	lockdep_assert_held(&pts->lock);

	if (tables) {
		pts->pooled += list_count_nodes(tables);
		list_splice_tail_init(tables, pool);
	}

	return create_pt_pages(pts, pool, &pts->pooled, num);
}

/**
 * tessera_page_tables_trim() - shrink the pool of spare tables
 * @pts: the page tables, locked
 * @spare: receives &struct tessera_pt_page, to be destroyed after unlocking
 */
void tessera_page_tables_trim(struct tessera_page_tables *pts, struct list_head *spare)
{
	lockdep_assert_held(&pts->lock);

	for (; pts->pooled > POOL_KEEPS; pts->pooled--)
		list_move(pts->tables[TESSERA_PT_PAGES_POOL].prev, spare);
}

static void pts_set(struct tessera_page_tables *pts, u64 va, u64 bytes, u64 entry)
{
	lockdep_assert_held(&pts->lock);

	drm_WARN_ON(&pts->tdev->drm, tessera_pt_prepare(&pts->tree, va, bytes, entry));
	tessera_pt_set(&pts->tree, va, bytes, entry);
}

/**
 * tessera_page_tables_map() - map memory at a range of addresses
 * @pts: the page tables, locked, with enough tables reserved
 * @va: start of the range
 * @bytes: its size
 * @source: the memory
 */
void tessera_page_tables_map(struct tessera_page_tables *pts, u64 va, u64 bytes,
			     const struct tessera_pt_source *source)
{
	const dma_addr_t *pages = source->pages;
	u64 left = bytes >> TSR_PAGE_SHIFT, n;

	if (!pages) {
		pts_set(pts, va, bytes, source->bits | source->addr);
		return;
	}
	for (; left; left -= n, pages += n, va += n << TSR_PAGE_SHIFT) {
		for (n = 1; n < left && pages[n] == pages[0] + (n << TSR_PAGE_SHIFT); n++)
			;
		pts_set(pts, va, n << TSR_PAGE_SHIFT, source->bits | pages[0]);
	}
}

/**
 * tessera_page_tables_unmap() - unmap a range of addresses
 * @pts: the page tables, locked, with enough tables reserved
 * @va: start of the range
 * @bytes: its size
 */
void tessera_page_tables_unmap(struct tessera_page_tables *pts, u64 va, u64 bytes)
{
	pts_set(pts, va, bytes, 0);
}

static struct tessera_pt_change *to_change(struct tessera_paging_effect *effect)
{
	return container_of(effect, struct tessera_pt_change, effect);
}

/*
 * If the contents of an object did not arrive, its place may still hold another
 * client's data. Do not run the batch then. A batch that moves an object, too,
 * must run even if the VM is lost: the object has to leave its aperture.
 */
static int change_prepare(struct tessera_paging_effect *effect)
{
	struct tessera_pt_change *change = to_change(effect);
	u32 i;

	/* What made the VM lost has been reported. */
	if (change->writes && atomic_read(&change->pts->lost))
		return -ECANCELED;
	for (i = 0; i < change->num_lost; i++)
		if (atomic_read(change->lost[i]))
			return -EIO;

	return 0;
}

static void change_failed(struct tessera_paging_effect *effect)
{
	atomic_set(&to_change(effect)->pts->lost, 1);
}

static void change_release(struct tessera_paging_effect *effect)
{
	struct tessera_pt_change *change = to_change(effect);

	tessera_pt_page_destroy_list(change->pts, &change->released);
	tessera_page_tables_put(change->pts);
	kvfree(change->lost);
	kfree(change);
}

/**
 * tessera_pt_change_create() - prepare a batch's effect on page tables
 * @pts: the page tables
 * @behind_jobs: &tessera_pt_change.behind_jobs
 *
 * Return: the change, for tessera_page_tables_attach(), or NULL.
 */
struct tessera_pt_change *tessera_pt_change_create(struct tessera_page_tables *pts,
						   bool behind_jobs)
{
	struct tessera_pt_change *change = kzalloc(sizeof(*change), GFP_KERNEL_ACCOUNT);

	if (!change)
		return NULL;
	change->effect.prepare = change_prepare;
	change->effect.failed = change_failed;
	change->effect.release = change_release;
	change->pts = tessera_page_tables_get(pts);
	change->behind_jobs = behind_jobs;
	INIT_LIST_HEAD(&change->released);

	return change;
}

/**
 * tessera_pt_change_cancel() - free a change that was not attached
 * @change: the change, or NULL
 */
void tessera_pt_change_cancel(struct tessera_pt_change *change)
{
	if (change)
		change_release(&change->effect);
}

/**
 * tessera_page_tables_order() - add the dependencies of a batch on a VM
 * @pts: the page tables, locked until the batch is pushed
 * @batch: the batch, prepared
 * @change: the batch's effect on the tables; NULL: the batch only waits for all
 * jobs of the VM
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_page_tables_order(struct tessera_page_tables *pts, struct tessera_paging_batch *batch,
			      const struct tessera_pt_change *change)
{
	struct tessera_vm_queue *queue;
	int ret = 0;

	lockdep_assert_held(&pts->lock);

	if (pts->update)
		ret = tessera_paging_wait_for(batch, pts->update);
	if (change && !change->behind_jobs)
		return ret;
	pts_free_queues(pts);
	list_for_each_entry(queue, &pts->queues, node)
		if (!ret && queue->last && !dma_fence_is_signaled(queue->last))
			ret = tessera_paging_wait_for(batch, queue->last);

	return ret;
}

/**
 * tessera_page_tables_attach() - attach a change of page tables to a batch
 * @pts: the page tables, locked; the CPU's copy is changed
 * @change: the change; the batch takes ownership
 * @batch: the batch, prepared
 */
void tessera_page_tables_attach(struct tessera_page_tables *pts, struct tessera_pt_change *change,
				struct tessera_paging_batch *batch)
{
	lockdep_assert_held(&pts->lock);

	/*
	 * Only jobs that were queued before may walk the released tables: later
	 * jobs run after a flush.
	 */
	if (change->behind_jobs)
		list_splice_tail_init(&pts->tables[TESSERA_PT_PAGES_RELEASED], &change->released);
	tessera_dep_check_job(&pts->dep_check, TESSERA_DEP_CHECK_MOVE,
			      tessera_paging_first_job(batch), 0);
	list_add_tail(&change->effect.node, &batch->effects);
}

/**
 * tessera_page_tables_updated() - make later jobs wait for a batch
 * @pts: the page tables, still locked
 * @fence: fence of the batch, which was pushed
 */
void tessera_page_tables_updated(struct tessera_page_tables *pts, struct dma_fence *fence)
{
	lockdep_assert_held(&pts->lock);

	dma_fence_put(pts->update);
	pts->update = dma_fence_get(fence);
	tessera_dep_check_add(&pts->dep_check, TESSERA_DEP_CHECK_MOVE, fence);
}

/* ---- Jobs ---------------------------------------------------------------- */

static bool needs_flush(const struct tessera_page_tables *pts)
{
	return pts->tree.flush_first <= pts->tree.flush_last;
}

static bool is_dirty(const struct tessera_page_tables *pts)
{
	return !list_empty(&pts->tables[TESSERA_PT_PAGES_DIRTY]) || needs_flush(pts);
}

/*
 * Write tables of lower levels first. Jobs queued before may walk the tables,
 * so an entry must not point to a table that is not written yet.
 */
static int write_tables(struct tessera_page_tables *pts, struct tessera_paging_batch *batch)
{
	struct tessera_pt_page *table;
	u32 level;
	int ret = 0;

	list_for_each_entry(table, &pts->tables[TESSERA_PT_PAGES_DIRTY], node) {
		tessera_assert(pts->tdev, table->home->placed);
		table->pt.entry = table->home->entry[table->index];
	}
	for (level = 0; level < TSR_PT_LEVELS; level++)
		list_for_each_entry(table, &pts->tables[TESSERA_PT_PAGES_DIRTY], node)
			if (!ret && table->pt.level == level)
				ret = tessera_pt_write(batch, table);

	if (ret || !needs_flush(pts))
		return ret;

	return tessera_pt_flush(batch, pts->asid.number, pts->tree.flush_first,
				pts->tree.flush_last);
}

static void pts_cleaned(struct tessera_page_tables *pts)
{
	struct tessera_pt_page *table;

	list_for_each_entry(table, &pts->tables[TESSERA_PT_PAGES_DIRTY], node)
		table->dirty_end = 0;
	list_splice_tail_init(&pts->tables[TESSERA_PT_PAGES_DIRTY],
			      &pts->tables[TESSERA_PT_PAGES_CLEAN]);
	pts->tree.flush_first = U64_MAX;
	pts->tree.flush_last = 0;
}

/* Queue a batch that brings the device's copy up to date. */
static int pts_write_dirty(struct tessera_page_tables *pts)
{
	struct tessera_pt_change *change = tessera_pt_change_create(pts, false);
	struct tessera_paging_batch batch;
	struct dma_fence *fence;
	int ret;

	if (!change)
		return -ENOMEM;
	change->writes = true;
	tessera_paging_begin(&batch, pts->queue, 0, NULL);
	ret = write_tables(pts, &batch);
	if (!ret)
		ret = tessera_paging_prepare(&batch, NULL);
	if (!ret)
		ret = tessera_page_tables_order(pts, &batch, change);
	if (ret) {
		tessera_paging_abort(&batch);
		tessera_pt_change_cancel(change);
		return ret;
	}
	pts_cleaned(pts);
	tessera_page_tables_attach(pts, change, &batch);
	fence = tessera_paging_push(&batch);
	tessera_page_tables_updated(pts, fence);
	dma_fence_put(fence);

	return 0;
}

/*
 * Mark all tables in @tables as dirty, and all tables above level 0, which may
 * point to one of them.
 */
static void space_dirty(struct tessera_page_tables *pts, enum tessera_pt_page_list list,
			const struct tessera_pt_mem *tables)
{
	struct tessera_pt_page *table, *next;

	list_for_each_entry_safe(table, next, &pts->tables[list], node) {
		if (table->home != tables && !table->pt.level)
			continue;
		table->dirty_first = 0;
		table->dirty_end = TSR_PT_ENTRIES;
		list_move(&table->node, &pts->tables[TESSERA_PT_PAGES_DIRTY]);
	}
}

/**
 * tessera_page_tables_forget() - forget the place of an object that holds page
 * tables
 * @pts: the page tables, locked
 * @tables: the tables in the object, which has left its place
 *
 * These tables are written again before the next job, and so are all tables
 * that may point to one of them.
 */
void tessera_page_tables_forget(struct tessera_page_tables *pts, struct tessera_pt_mem *tables)
{
	lockdep_assert_held(&pts->lock);

	/* They are dirty already, and no written entry points to them. */
	if (!tables->placed)
		return;
	tessera_pt_mem_hide(pts, tables);
	space_dirty(pts, TESSERA_PT_PAGES_DIRTY, tables);
	space_dirty(pts, TESSERA_PT_PAGES_CLEAN, tables);
	pts_flush_all(pts);
}

static int pts_begin_job(struct tessera_page_tables *pts, struct tessera_job *job)
{
	int ret = tessera_asid_get(pts->tdev, &pts->asid);

	if (ret < 0)
		return ret;
	if (ret)
		pts_flush_all(pts);
	ret = is_dirty(pts) ? pts_write_dirty(pts) : 0;
	if (!ret && pts->update)
		ret = tessera_job_add_dependency(job, dma_fence_get(pts->update));
	if (ret)
		tessera_asid_put(pts->tdev, &pts->asid);
	job->vm.root = pts->tree.root->entry;
	job->vm.asid = pts->asid.number;

	return ret;
}

/**
 * tessera_page_tables_begin_job() - prepare a VM for queueing a job
 * @pts: the page tables. After success they are locked, and the caller calls
 * tessera_page_tables_end_job()
 * @job: the job, not armed. It gets a dependency on all changes so far, and the
 * address of the root table
 *
 * No job is queued while a listed object is evicted (RES-2). A move reports the
 * eviction before it takes the lock, so the check under the lock is final.
 *
 * Return: 0; -EAGAIN if a listed object is evicted; -EINPROGRESS if
 * tessera_asid_wait() has to be called; -EIO if the VM is lost; -ENOENT if the
 * VM is destroyed; or -ENOMEM.
 */
int tessera_page_tables_begin_job(struct tessera_page_tables *pts, struct tessera_job *job)
{
	int ret;

	mutex_lock(&pts->lock);
	if (atomic_read(&pts->lost))
		ret = -EIO;
	else if (pts->closed)
		ret = -ENOENT;
	else if (!tessera_resident_complete(pts->resident))
		ret = -EAGAIN;
	else
		ret = pts_begin_job(pts, job);
	if (ret)
		mutex_unlock(&pts->lock);

	return ret;
}

/**
 * tessera_page_tables_end_job() - finish what tessera_page_tables_begin_job()
 * began
 * @pts: the page tables; the job is queued, or will not be queued
 */
void tessera_page_tables_end_job(struct tessera_page_tables *pts)
{
	tessera_asid_put(pts->tdev, &pts->asid);
	mutex_unlock(&pts->lock);
}

/* ---- Suspend and reset --------------------------------------------------- */

static void call_all_pts(struct tessera_device *tdev, void (*call)(struct tessera_page_tables *pts))
{
	struct tessera_page_tables *pts;

	mutex_lock(&tdev->page_tables->lock);
	list_for_each_entry(pts, &tdev->page_tables->list, node)
		call(pts);
	mutex_unlock(&tdev->page_tables->lock);
}

static struct dma_fence *find_job_of_any(struct tessera_device *tdev)
{
	struct dma_fence *fence = NULL;
	struct tessera_page_tables *pts;

	mutex_lock(&tdev->page_tables->lock);
	list_for_each_entry(pts, &tdev->page_tables->list, node)
		fence = fence ?: tessera_vm_jobs_first(&pts->jobs, U64_MAX);
	mutex_unlock(&tdev->page_tables->lock);

	return fence;
}

/* A VM with unfinished jobs is lost: those that are not in a ring will fail. */
static void lose_busy(struct tessera_page_tables *pts)
{
	struct dma_fence *fence = tessera_vm_jobs_first(&pts->jobs, U64_MAX);

	if (fence)
		atomic_set(&pts->lost, 1);
	dma_fence_put(fence);
}

/**
 * tessera_page_tables_suspend() - wait until no job walks page tables
 * @tdev: the device; user space is frozen
 *
 * The wait is bounded, so that no client can prevent a suspend. VMs that still
 * have jobs afterwards are lost.
 */
void tessera_page_tables_suspend(struct tessera_device *tdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(JOBS_TIMEOUT_MS);
	struct dma_fence *fence;
	long left = 1;

	for (; left > 0 && (fence = find_job_of_any(tdev)); dma_fence_put(fence)) {
		left = max_t(long, end - jiffies, 1);
		left = tessera_wait_fence(TESSERA_WAIT_SUSPEND, fence, false, left);
	}
	if (left <= 0)
		call_all_pts(tdev, lose_busy);
}

static void pts_lose(struct tessera_page_tables *pts)
{
	atomic_set(&pts->lost, 1);
}

/**
 * tessera_page_tables_lose_all() - mark all existing VMs as lost
 * @tdev: the device
 */
void tessera_page_tables_lose_all(struct tessera_device *tdev)
{
	call_all_pts(tdev, pts_lose);
}
