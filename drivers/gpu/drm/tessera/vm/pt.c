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
 * (&tessera_space.update), and for a batch that writes all dirty entries and
 * flushes TLBs. A mapping that a job may use therefore never changes while the
 * job runs, and no job uses a stale TLB entry. For the same reason, tables
 * that a change releases are freed when its batch has ended.
 *
 * All tables are dirty after a suspend that lost memory. All addresses are
 * flushed then, and when the VM gets an address space number (vm/asid.c).
 *
 * If a batch fails, the device's copy may point to memory that the object has
 * left. The VM is then marked as lost and runs nothing.
 *
 * Locks: &tessera_space.lock. A move of an object that several VMs map takes
 * &tessera_spaces.many first.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "borrow/borrow.h"
#include "client/client.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "tessera_device.h"
#include "tessera_wait.h"
#include "vm/vm.h"

/* Spare tables kept for the next change. */
#define POOL_KEEPS	8U

#define LAST_VA		((1ULL << TSR_VM_ADDRESS_BITS) - 1)

/* The time that a suspend may wait for jobs. */
#define JOBS_TIMEOUT_MS	30000

static void spaces_fini(struct drm_device *drm, void *data)
{
	struct tessera_spaces *spaces = data;

	drm_WARN_ON(drm, !list_empty(&spaces->list));
	mutex_destroy(&spaces->many);
	mutex_destroy(&spaces->lock);
}

/**
 * tessera_space_init() - set up the list of page tables
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_space_init(struct tessera_device *tdev)
{
	struct tessera_spaces *spaces;
	int ret;

	spaces = drmm_kzalloc(&tdev->drm, sizeof(*spaces), GFP_KERNEL);
	if (!spaces)
		return -ENOMEM;
	mutex_init(&spaces->lock);
	mutex_init(&spaces->many);
	INIT_LIST_HEAD(&spaces->list);
	tdev->spaces = spaces;
	ret = drmm_add_action_or_reset(&tdev->drm, spaces_fini, spaces);

	return ret ?: tessera_asids_init(tdev) ?: tessera_pt_mem_init(tdev);
}

/* ---- The CPU's copy ------------------------------------------------------ */

static struct tessera_pt *space_alloc(void *owner)
{
	struct tessera_space *space = owner;
	struct tessera_pt_page *table;

	table = list_first_entry_or_null(&space->tables[TESSERA_PT_PAGES_POOL],
					 struct tessera_pt_page, node);
	if (drm_WARN_ON_ONCE(&space->tdev->drm, !table))
		return NULL;
	space->pooled--;
	/* The device's copy has the contents of an earlier table. */
	table->dirty_first = 0;
	table->dirty_end = TSR_PT_ENTRIES;
	list_move(&table->node, &space->tables[TESSERA_PT_PAGES_DIRTY]);

	return &table->pt;
}

static void space_release(void *owner, struct tessera_pt *pt)
{
	struct tessera_space *space = owner;

	list_move_tail(&to_tessera_pt_page(pt)->node, &space->tables[TESSERA_PT_PAGES_RELEASED]);
}

static void space_write(void *owner, const struct tessera_pt *pt, u32 first, u32 count,
			u64 value, u64 step, bool groups)
{
	struct tessera_pt_page *table = to_tessera_pt_page(pt);
	struct tessera_space *space = owner;

	if (!table->dirty_end) {
		table->dirty_first = first;
		table->dirty_end = first + count;
		list_move(&table->node, &space->tables[TESSERA_PT_PAGES_DIRTY]);
		return;
	}
	table->dirty_first = min(table->dirty_first, first);
	table->dirty_end = max(table->dirty_end, first + count);
}

static const struct tessera_pt_ops space_ops = {
	.alloc = space_alloc,
	.release = space_release,
	.write = space_write,
};

/* The TLBs may hold entries of another VM, or of tables that have moved. */
static void space_flush_all(struct tessera_space *space)
{
	space->tree.flush_first = 0;
	space->tree.flush_last = LAST_VA;
}

/* ---- Create and destroy -------------------------------------------------- */

static int space_init_root(struct tessera_space *space)
{
	struct tessera_pt_page *root;

	root = tessera_pt_page_create(space->tdev, space->account->process);
	if (IS_ERR(root))
		return PTR_ERR(root);
	list_add(&root->node, &space->tables[TESSERA_PT_PAGES_DIRTY]);
	root->dirty_end = TSR_PT_ENTRIES;
	tessera_pt_init(&space->tree, &space_ops, space, &root->pt);

	return 0;
}

static void space_release_ref(struct kref *ref)
{
	struct tessera_space *space = container_of(ref, struct tessera_space, ref);
	struct tessera_device *tdev = space->tdev;
	u32 i;

	mutex_lock(&tdev->spaces->lock);
	list_del(&space->node);
	mutex_unlock(&tdev->spaces->lock);

	drm_WARN_ON(&tdev->drm, !list_empty(&space->queues));
	for (i = 0; i < TESSERA_PT_PAGES_LISTS; i++)
		tessera_pt_page_destroy_list(tdev, &space->tables[i]);
	dma_fence_put(space->update);
	if (!IS_ERR(space->queue))
		tessera_paging_queue_put(space->queue);
	tessera_asid_fini(tdev, &space->asid);
	tessera_trail_fini(&space->trail);
	atomic_dec(&space->account->process->vms);
	tessera_account_put(space->account);
	tessera_resident_set_put(space->resident);
	mutex_destroy(&space->lock);
	kfree(space);
}

/**
 * tessera_space_create() - create empty page tables
 * @tdev: the device
 * @account: account that is charged, bound
 * @resident: residency list of the file: the objects that they may point to
 *
 * Return: the tables with one reference; -ENOSPC if the process has too many
 * VMs; or -ENOMEM.
 */
struct tessera_space *tessera_space_create(struct tessera_device *tdev,
					   struct tessera_account *account,
					   struct tessera_resident_set *resident)
{
	struct tessera_space *space;
	int ret;
	u32 i;

	ret = tessera_account_count(&account->process->vms, TESSERA_MAX_VMS);
	if (ret)
		return ERR_PTR(ret);
	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space) {
		atomic_dec(&account->process->vms);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&space->ref);
	mutex_init(&space->lock);
	tessera_trail_init(&space->trail);
	for (i = 0; i < TESSERA_PT_PAGES_LISTS; i++)
		INIT_LIST_HEAD(&space->tables[i]);
	INIT_LIST_HEAD(&space->node);
	INIT_LIST_HEAD(&space->queues);
	tessera_vm_jobs_init(&space->jobs);
	space->tdev = tdev;
	space->account = tessera_account_get(account);
	space->resident = tessera_resident_set_get(resident);
	tessera_asid_init(&space->asid, account, &space->jobs);
	space->queue = tessera_paging_queue_create(tdev, account);
	ret = PTR_ERR_OR_ZERO(space->queue) ?: space_init_root(space);
	if (ret) {
		space_release_ref(&space->ref);
		return ERR_PTR(ret);
	}

	mutex_lock(&tdev->spaces->lock);
	list_add_tail(&space->node, &tdev->spaces->list);
	mutex_unlock(&tdev->spaces->lock);

	return space;
}

/**
 * tessera_space_get() - take a reference
 * @space: the page tables
 *
 * Return: @space.
 */
struct tessera_space *tessera_space_get(struct tessera_space *space)
{
	kref_get(&space->ref);

	return space;
}

/**
 * tessera_space_put() - drop a reference
 * @space: the page tables, or NULL
 *
 * The VM, its contexts and its paging batches hold references. The call that
 * drops the last one frees the tables. May sleep.
 */
void tessera_space_put(struct tessera_space *space)
{
	if (space)
		kref_put(&space->ref, space_release_ref);
}

/**
 * tessera_space_add_queue() - add a queue of jobs to a VM
 * @space: the page tables
 * @queue: the queue
 */
void tessera_space_add_queue(struct tessera_space *space, struct tessera_vm_queue *queue)
{
	INIT_LIST_HEAD(&queue->busy);
	mutex_lock(&space->lock);
	list_add_tail(&queue->node, &space->queues);
	mutex_unlock(&space->lock);
}

/**
 * tessera_space_remove_queue() - remove a queue of jobs from a VM
 * @space: the page tables
 * @queue: the queue; all its jobs have ended
 */
void tessera_space_remove_queue(struct tessera_space *space, struct tessera_vm_queue *queue)
{
	mutex_lock(&space->lock);
	list_del(&queue->node);
	mutex_unlock(&space->lock);
	tessera_vm_queue_fini(&space->jobs, queue);
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
static int create_pt_pages(struct tessera_space *space, struct list_head *tables, u32 *have,
			   u32 num)
{
	struct tessera_pt_page *table;

	for (; *have < num; (*have)++) {
		table = tessera_pt_page_create(space->tdev, space->account->process);
		if (IS_ERR(table))
			return PTR_ERR(table);
		list_add(&table->node, tables);
	}

	return 0;
}

/**
 * tessera_space_prepare() - allocate tables for a large change
 * @space: the page tables, not locked: other clients' moves wait for the lock
 * @num: number of tables that the change may take
 * @tables: receives &struct tessera_pt_page, for tessera_space_reserve()
 *
 * Return: 0, -ENOSPC if the process has too many, or -ENOMEM.
 */
int tessera_space_prepare(struct tessera_space *space, u32 num, struct list_head *tables)
{
	u32 pooled = READ_ONCE(space->pooled);

	return create_pt_pages(space, tables, &pooled, num);
}

/**
 * tessera_space_reserve() - fill the pool of spare tables for a change
 * @space: the page tables, locked
 * @num: number of tables that the change may take
 * @tables: tables from tessera_space_prepare(), empty afterwards; or NULL
 *
 * Return: 0, -ENOSPC if the process has too many, or -ENOMEM.
 */
int tessera_space_reserve(struct tessera_space *space, u32 num, struct list_head *tables)
{
	struct list_head *pool = &space->tables[TESSERA_PT_PAGES_POOL];

	lockdep_assert_held(&space->lock);

	if (tables) {
		space->pooled += list_count_nodes(tables);
		list_splice_init(tables, pool);
	}

	return create_pt_pages(space, pool, &space->pooled, num);
}

/**
 * tessera_space_trim() - shrink the pool of spare tables
 * @space: the page tables, locked
 * @spare: receives &struct tessera_pt_page, to be destroyed after unlocking
 */
void tessera_space_trim(struct tessera_space *space, struct list_head *spare)
{
	lockdep_assert_held(&space->lock);

	for (; space->pooled > POOL_KEEPS; space->pooled--)
		list_move(space->tables[TESSERA_PT_PAGES_POOL].next, spare);
}

static void space_set(struct tessera_space *space, u64 va, u64 bytes, u64 entry)
{
	lockdep_assert_held(&space->lock);

	drm_WARN_ON(&space->tdev->drm, tessera_pt_prepare(&space->tree, va, bytes, entry));
	tessera_pt_set(&space->tree, va, bytes, entry);
}

/**
 * tessera_space_map() - map memory at a range of addresses
 * @space: the page tables, locked, with enough tables reserved
 * @va: start of the range
 * @bytes: its size
 * @source: the memory
 */
void tessera_space_map(struct tessera_space *space, u64 va, u64 bytes,
		       const struct tessera_pt_source *source)
{
	const dma_addr_t *pages = source->pages;
	u64 left = bytes >> TSR_PAGE_SHIFT, n;

	if (!pages) {
		space_set(space, va, bytes, source->bits | source->addr);
		return;
	}
	for (; left; left -= n, pages += n, va += n << TSR_PAGE_SHIFT) {
		for (n = 1; n < left && pages[n] == pages[0] + (n << TSR_PAGE_SHIFT); n++)
			;
		space_set(space, va, n << TSR_PAGE_SHIFT, source->bits | pages[0]);
	}
}

/**
 * tessera_space_unmap() - unmap a range of addresses
 * @space: the page tables, locked, with enough tables reserved
 * @va: start of the range
 * @bytes: its size
 */
void tessera_space_unmap(struct tessera_space *space, u64 va, u64 bytes)
{
	space_set(space, va, bytes, 0);
}

static struct tessera_pt_change *to_change(struct tessera_paging_effect *effect)
{
	return container_of(effect, struct tessera_pt_change, effect);
}

/*
 * If the contents of an object did not arrive, its place may still hold another
 * client's data. Do not run the batch then.
 */
static int change_prepare(struct tessera_paging_effect *effect)
{
	struct tessera_pt_change *change = to_change(effect);
	u32 i;

	for (i = 0; i < change->num_lost; i++)
		if (atomic_read(change->lost[i]))
			return -EIO;

	return 0;
}

static void change_failed(struct tessera_paging_effect *effect)
{
	atomic_set(&to_change(effect)->space->lost, 1);
}

static void change_release(struct tessera_paging_effect *effect)
{
	struct tessera_pt_change *change = to_change(effect);

	tessera_pt_page_destroy_list(change->space->tdev, &change->released);
	tessera_space_put(change->space);
	kvfree(change->lost);
	kfree(change);
}

/**
 * tessera_pt_change_create() - prepare a batch's effect on page tables
 * @space: the page tables
 * @behind_jobs: &tessera_pt_change.behind_jobs
 *
 * Return: the change, for tessera_space_attach(), or NULL.
 */
struct tessera_pt_change *tessera_pt_change_create(struct tessera_space *space, bool behind_jobs)
{
	struct tessera_pt_change *change = kzalloc(sizeof(*change), GFP_KERNEL_ACCOUNT);

	if (!change)
		return NULL;
	change->effect.prepare = change_prepare;
	change->effect.failed = change_failed;
	change->effect.release = change_release;
	change->space = tessera_space_get(space);
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
 * tessera_space_order() - add the dependencies of a batch on a VM
 * @space: the page tables, locked until the batch is pushed
 * @batch: the batch, prepared
 * @change: the batch's effect on the tables; NULL: the batch only waits for all
 * jobs of the VM
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_space_order(struct tessera_space *space, struct tessera_paging_batch *batch,
			const struct tessera_pt_change *change)
{
	struct tessera_vm_queue *queue;
	int ret = 0;

	lockdep_assert_held(&space->lock);

	if (space->update)
		ret = tessera_paging_wait_for(batch, space->update);
	if (change && !change->behind_jobs)
		return ret;
	list_for_each_entry(queue, &space->queues, node)
		if (!ret && queue->last && !dma_fence_is_signaled(queue->last))
			ret = tessera_paging_wait_for(batch, queue->last);

	return ret;
}

/**
 * tessera_space_attach() - attach a change of page tables to a batch
 * @space: the page tables, locked; the CPU's copy is changed
 * @change: the change; the batch takes ownership
 * @batch: the batch, prepared
 */
void tessera_space_attach(struct tessera_space *space, struct tessera_pt_change *change,
			  struct tessera_paging_batch *batch)
{
	lockdep_assert_held(&space->lock);

	/*
	 * Only jobs that were queued before may walk the released tables: later
	 * jobs run after a flush.
	 */
	if (change->behind_jobs)
		list_splice_tail_init(&space->tables[TESSERA_PT_PAGES_RELEASED], &change->released);
	tessera_trail_check_job(&space->trail, TESSERA_TRAIL_MOVE, tessera_paging_first_job(batch),
				0);
	tessera_paging_attach(batch, &change->effect);
}

/**
 * tessera_space_updated() - make later jobs wait for a batch
 * @space: the page tables, still locked
 * @fence: fence of the batch, which was pushed
 */
void tessera_space_updated(struct tessera_space *space, struct dma_fence *fence)
{
	lockdep_assert_held(&space->lock);

	dma_fence_put(space->update);
	space->update = dma_fence_get(fence);
	tessera_trail_add(&space->trail, TESSERA_TRAIL_MOVE, fence);
}

/* ---- Jobs ---------------------------------------------------------------- */

static bool needs_flush(const struct tessera_space *space)
{
	return space->tree.flush_first <= space->tree.flush_last;
}

static bool is_dirty(const struct tessera_space *space)
{
	return !list_empty(&space->tables[TESSERA_PT_PAGES_DIRTY]) || needs_flush(space);
}

/*
 * Write tables of lower levels first. Jobs queued before may walk the tables,
 * so an entry must not point to a table that is not written yet.
 */
static int write_tables(struct tessera_space *space, struct tessera_paging_batch *batch)
{
	struct tessera_pt_page *table;
	u32 level;
	int ret = 0;

	for (level = 0; level < TSR_PT_LEVELS; level++)
		list_for_each_entry(table, &space->tables[TESSERA_PT_PAGES_DIRTY], node)
			if (!ret && table->pt.level == level)
				ret = tessera_pt_write(batch, table);

	if (ret || !needs_flush(space))
		return ret;

	return tessera_pt_flush(batch, space->asid.number, space->tree.flush_first,
				space->tree.flush_last);
}

static void space_cleaned(struct tessera_space *space)
{
	struct tessera_pt_page *table;

	list_for_each_entry(table, &space->tables[TESSERA_PT_PAGES_DIRTY], node)
		table->dirty_end = 0;
	list_splice_tail_init(&space->tables[TESSERA_PT_PAGES_DIRTY],
			      &space->tables[TESSERA_PT_PAGES_CLEAN]);
	space->tree.flush_first = U64_MAX;
	space->tree.flush_last = 0;
}

/* Queue a batch that brings the device's copy up to date. */
static int space_write_dirty(struct tessera_space *space)
{
	struct tessera_pt_change *change = tessera_pt_change_create(space, false);
	struct tessera_paging_batch batch;
	struct dma_fence *fence;
	int ret;

	if (!change)
		return -ENOMEM;
	tessera_paging_begin(&batch, space->queue, 0, NULL);
	ret = write_tables(space, &batch);
	if (!ret)
		ret = tessera_paging_prepare(&batch, NULL);
	if (!ret)
		ret = tessera_space_order(space, &batch, change);
	if (ret) {
		tessera_paging_abort(&batch);
		tessera_pt_change_cancel(change);
		return ret;
	}
	space_cleaned(space);
	tessera_space_attach(space, change, &batch);
	fence = tessera_paging_push(&batch);
	tessera_space_updated(space, fence);
	dma_fence_put(fence);

	return 0;
}

static int space_begin_job(struct tessera_space *space, struct tessera_job *job)
{
	int ret = tessera_asid_get(space->tdev, &space->asid);

	if (ret < 0)
		return ret;
	if (ret)
		space_flush_all(space);
	ret = is_dirty(space) ? space_write_dirty(space) : 0;
	if (!ret && space->update)
		ret = tessera_job_add_dependency(job, dma_fence_get(space->update));
	if (ret)
		tessera_asid_put(space->tdev, &space->asid);
	job->vm.root = space->tree.root->entry;
	job->vm.asid = space->asid.number;

	return ret;
}

/**
 * tessera_space_begin_job() - prepare a VM for queueing a job
 * @space: the page tables. After success they are locked, and the caller calls
 * tessera_space_end_job()
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
int tessera_space_begin_job(struct tessera_space *space, struct tessera_job *job)
{
	int ret;

	mutex_lock(&space->lock);
	if (atomic_read(&space->lost))
		ret = -EIO;
	else if (space->closed)
		ret = -ENOENT;
	else if (!tessera_resident_complete(space->resident))
		ret = -EAGAIN;
	else
		ret = space_begin_job(space, job);
	if (ret)
		mutex_unlock(&space->lock);

	return ret;
}

/**
 * tessera_space_end_job() - finish what tessera_space_begin_job() began
 * @space: the page tables; the job is queued, or will not be queued
 */
void tessera_space_end_job(struct tessera_space *space)
{
	tessera_asid_put(space->tdev, &space->asid);
	mutex_unlock(&space->lock);
}

/* ---- Suspend and reset --------------------------------------------------- */

static void call_spaces(struct tessera_device *tdev, void (*call)(struct tessera_space *space))
{
	struct tessera_space *space;

	mutex_lock(&tdev->spaces->lock);
	list_for_each_entry(space, &tdev->spaces->list, node)
		call(space);
	mutex_unlock(&tdev->spaces->lock);
}

static struct dma_fence *find_job_of_any(struct tessera_device *tdev)
{
	struct dma_fence *fence = NULL;
	struct tessera_space *space;

	mutex_lock(&tdev->spaces->lock);
	list_for_each_entry(space, &tdev->spaces->list, node)
		fence = fence ?: tessera_vm_jobs_first(&space->jobs, U64_MAX);
	mutex_unlock(&tdev->spaces->lock);

	return fence;
}

/* A VM with unfinished jobs is lost: those that are not in a ring will fail. */
static void lose_busy(struct tessera_space *space)
{
	struct dma_fence *fence = tessera_vm_jobs_first(&space->jobs, U64_MAX);

	if (fence)
		atomic_set(&space->lost, 1);
	dma_fence_put(fence);
}

/**
 * tessera_space_suspend() - wait until no job walks page tables
 * @tdev: the device; user space is frozen
 *
 * The wait is bounded, so that no client can prevent a suspend. VMs that still
 * have jobs afterwards are lost.
 */
void tessera_space_suspend(struct tessera_device *tdev)
{
	unsigned long end = jiffies + msecs_to_jiffies(JOBS_TIMEOUT_MS);
	struct dma_fence *fence;
	long left = 1;

	for (; left > 0 && (fence = find_job_of_any(tdev)); dma_fence_put(fence)) {
		left = max_t(long, end - jiffies, 1);
		left = tessera_wait_fence(TESSERA_WAIT_SUSPEND, fence, false, left);
	}
	if (left <= 0)
		call_spaces(tdev, lose_busy);
}

static void space_all_dirty(struct tessera_space *space)
{
	struct tessera_pt_page *table;

	mutex_lock(&space->lock);
	list_splice_tail_init(&space->tables[TESSERA_PT_PAGES_CLEAN],
			      &space->tables[TESSERA_PT_PAGES_DIRTY]);
	list_for_each_entry(table, &space->tables[TESSERA_PT_PAGES_DIRTY], node) {
		table->dirty_first = 0;
		table->dirty_end = TSR_PT_ENTRIES;
	}
	space_flush_all(space);
	mutex_unlock(&space->lock);
}

/**
 * tessera_space_resume() - mark all tables dirty, because hidden VRAM lost its contents
 * @tdev: the device; no job runs
 */
void tessera_space_resume(struct tessera_device *tdev)
{
	call_spaces(tdev, space_all_dirty);
}

static void space_lose(struct tessera_space *space)
{
	atomic_set(&space->lost, 1);
}

/**
 * tessera_space_lose_all() - mark all existing VMs as lost
 * @tdev: the device
 */
void tessera_space_lose_all(struct tessera_device *tdev)
{
	call_spaces(tdev, space_lose);
}

static void space_release_memory(struct tessera_space *space)
{
	struct tessera_pt_page *table;
	u32 i;

	mutex_lock(&space->lock);
	for (i = 0; i < TESSERA_PT_PAGES_LISTS; i++)
		list_for_each_entry(table, &space->tables[i], node)
			tessera_pt_page_release_memory(space->tdev, table);
	mutex_unlock(&space->lock);
}

/**
 * tessera_space_unplug() - free the memory of all page tables
 * @tdev: the unplugged device, without jobs and paging
 */
void tessera_space_unplug(struct tessera_device *tdev)
{
	call_spaces(tdev, space_release_memory);
}
