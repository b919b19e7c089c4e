// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency lists
 *
 * A client's list of the objects that must be resident while its VM jobs run.
 * These jobs bring no list of their own. The list belongs to an open file and
 * has a count for each object (RES-1). Page tables of the file's VMs are made
 * to point only to listed objects (RES-2), wherever other objects are
 * (vm/remap.c). Two kinds of unlisted objects stay reachable until they move:
 * those with a handle that was closed while a VM mapped them, and those that
 * EVICT could not hide for lack of memory (tessera_remap_hide()).
 *
 * Other clients, CPU accesses and suspend may evict listed objects. A client
 * above its fair share gives way, and so does one without demand
 * (pure/victim.c). A move puts the object on &tessera_resident_set.evicted
 * before it changes any page table. A job is armed only while that list is
 * empty. Otherwise the submission brings all evicted objects back first
 * (vm/resident.c). The cost of a submission therefore does not depend on the
 * length of the residency list.
 *
 * A submission checks &tessera_resident_set.evicted and arms its job under
 * &tessera_page_tables.lock. A move takes that lock only after it has changed
 * the list, and then waits for all armed jobs. A job thus never runs with a
 * listed object missing.
 *
 * An object that holds page tables (vm/pt_mem.c) is missing only if its VM uses
 * one of the tables. A bind changes that without the object's reservation, so
 * such an object is marked under &tessera_page_tables.lock of its VM.
 *
 * Lock order: the object's reservation, then &tessera_page_tables.lock, then
 * &tessera_resident_set.lock.
 */

#include <kunit/visibility.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "mem/mem.h"
#include "vm/vm.h"

/**
 * tessera_residency_entry_mark() - mark an object as present or evicted in a
 * list
 * @entry: the entry, which stays valid during the call
 * @evicted: the object is evicted
 */
void tessera_residency_entry_mark(struct tessera_residency_entry *entry, bool evicted)
{
	struct tessera_resident_set *set = entry->set;

	mutex_lock(&set->lock);
	if (evicted && list_empty(&entry->evicted)) {
		list_add_tail(&entry->evicted, &set->evicted);
		WRITE_ONCE(set->num_evicted, set->num_evicted + 1);
	} else if (!evicted && !list_empty(&entry->evicted)) {
		list_del_init(&entry->evicted);
		WRITE_ONCE(set->num_evicted, set->num_evicted - 1);
	}
	mutex_unlock(&set->lock);
}

/**
 * tessera_residency_entry_find() - look up an object in a residency list
 * @set: the residency list
 * @bo: the object. The result is valid as long as its reservation is held
 *
 * Return: the residency entry, or NULL.
 */
struct tessera_residency_entry *tessera_residency_entry_find(struct tessera_resident_set *set,
							     const struct tessera_bo *bo)
{
	return xa_load(&set->residency_entries, bo->id);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_residency_entry_find);

/**
 * tessera_residency_entry_add() - add an object to a residency list, or count
 * it again
 * @set: the residency list
 * @bo: the object, reservation held
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_residency_entry_add(struct tessera_resident_set *set, struct tessera_bo *bo)
{
	struct tessera_residency_entry *entry = tessera_residency_entry_find(set, bo);
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!entry) {
		entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
		if (!entry)
			return -ENOMEM;
		entry->set = set;
		entry->bo = bo;
		INIT_LIST_HEAD(&entry->evicted);
		ret = xa_err(xa_store(&set->residency_entries, bo->id, entry, GFP_KERNEL_ACCOUNT));
		if (ret) {
			kfree(entry);
			return ret;
		}
		list_add_tail(&entry->node, &bo->residency.entries);
	}
	entry->count++;
	WRITE_ONCE(bo->residency.num, bo->residency.num + 1);
	if (bo->residency.num == 1)
		tessera_order_update(bo);

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_residency_entry_add);

/**
 * tessera_residency_entry_drop() - lower the count of a residency entry
 * @entry: the entry; its object's reservation is held
 * @count: how much to subtract, at most the entry's count
 *
 * Return: true if the count reached 0; @entry is then freed.
 */
bool tessera_residency_entry_drop(struct tessera_residency_entry *entry, u64 count)
{
	struct tessera_bo *bo = entry->bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	WRITE_ONCE(bo->residency.num, bo->residency.num - count);
	entry->count -= count;
	if (entry->count)
		return false;

	/* Later entries cannot vouch for the jobs of this one. */
	if (bo->copy == TESSERA_COPY_DOUBTFUL)
		tessera_residency_written(bo);
	/* Jobs do not report the objects they use: assume use until now. */
	WRITE_ONCE(bo->last_use, tessera_residency_next_stamp(tessera_bo_device(bo)));
	if (!bo->residency.num)
		tessera_order_update(bo);
	tessera_residency_entry_mark(entry, false);
	list_del(&entry->node);
	xa_erase(&entry->set->residency_entries, bo->id);
	kfree(entry);

	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_residency_entry_drop);

/**
 * tessera_residency_entry_close() - &tessera_upcalls.handle_closed
 * @bo: the object
 * @file: the file that closes a handle of the object; rarely it has another one
 *
 * If a VM of the file still maps the object, its page tables point to it until
 * the object moves.
 */
void tessera_residency_entry_close(struct tessera_bo *bo, struct drm_file *file)
{
	struct tessera_residency_entry *entry, *next;
	struct tessera_account *account = NULL;

	/*
	 * The unlocked check is safe: a call that adds an entry afterwards
	 * checks the handle once more.
	 */
	if (list_empty(&bo->residency.entries))
		return;
	dma_resv_lock(bo->tbo.base.resv, NULL);
	list_for_each_entry_safe(entry, next, &bo->residency.entries, node) {
		if (entry->set->file == file) {
			account = entry->set->account;
			tessera_residency_entry_drop(entry, entry->count);
		}
	}
	dma_resv_unlock(bo->tbo.base.resv);
	if (account)
		tessera_trim_changed(account);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_residency_entry_close);

/**
 * tessera_residency_entry_get_evicted() - take references to evicted objects of
 * a list
 * @set: the residency list
 * @bos: receives the objects
 * @max: size of @bos
 *
 * Return: number of objects.
 */
u32 tessera_residency_entry_get_evicted(struct tessera_resident_set *set, struct tessera_bo **bos,
					u32 max)
{
	struct tessera_residency_entry *entry;
	u32 num = 0;

	mutex_lock(&set->lock);
	list_for_each_entry(entry, &set->evicted, evicted) {
		if (num == max)
			break;
		/*
		 * The entry goes before the last reference to the object, so it
		 * is valid.
		 */
		tessera_bo_get(entry->bo);
		bos[num++] = entry->bo;
	}
	mutex_unlock(&set->lock);

	return num;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_residency_entry_get_evicted);

/* ---- Moves --------------------------------------------------------------- */

/**
 * tessera_residency_entry_writes() - ask whether jobs may write a listed object
 * @bo: the object
 *
 * VM jobs do not report writes, so the answer depends on the object's flags.
 *
 * Return: true if they may.
 */
bool tessera_residency_entry_writes(const struct tessera_bo *bo)
{
	return !(bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY);
}

/**
 * tessera_residency_entry_set_hidden() - record whether the page tables lack an
 * object
 * @set: the residency list of a file
 * @bo: the object, reservation held
 * @hidden: a VM of the file maps the object, but its page tables do not point
 * to it
 *
 * tessera_residency_entry_settle() applies the value.
 */
void tessera_residency_entry_set_hidden(struct tessera_resident_set *set,
					const struct tessera_bo *bo, bool hidden)
{
	struct tessera_residency_entry *entry = tessera_residency_entry_find(set, bo);

	dma_resv_assert_held(bo->tbo.base.resv);

	if (entry)
		entry->hidden = hidden;
}

/**
 * tessera_residency_entry_settle() - mark an object as present or evicted in
 * all lists
 * @bo: the object, reservation held; no move is under way
 *
 * An object counts as evicted if jobs cannot use it where it is, or if it is
 * hidden in a VM. tessera_pt_mem_settle() has the rule for page tables.
 */
void tessera_residency_entry_settle(struct tessera_bo *bo)
{
	bool serves = tessera_residency_serves(bo, tessera_residency_entry_writes(bo)) > 0;
	bool offered = tessera_bo_is_offered(bo);
	struct tessera_residency_entry *entry;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (bo->tables) {
		tessera_pt_mem_settle(bo);
		return;
	}
	/*
	 * An offered object does not have to be brought back. Reclaiming it
	 * calls this function again.
	 */
	list_for_each_entry(entry, &bo->residency.entries, node)
		tessera_residency_entry_mark(entry, !offered && (!serves || entry->hidden));
}

/**
 * tessera_residency_entry_moves() - &tessera_upcalls.moves
 * @bo: the object, reservation held
 */
void tessera_residency_entry_moves(struct tessera_bo *bo)
{
	struct tessera_residency_entry *entry;

	/* tessera_pt_mem_hide() marks these. */
	if (bo->tables)
		return;
	list_for_each_entry(entry, &bo->residency.entries, node)
		tessera_residency_entry_mark(entry, true);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_residency_entry_moves);

/* ---- Create and destroy -------------------------------------------------- */

/**
 * tessera_resident_set_create() - create the residency list of a file
 * @tdev: the device
 * @file: the open file
 * @account: its account; outlives the file
 *
 * Return: the empty list with one reference, or NULL.
 */
struct tessera_resident_set *tessera_resident_set_create(struct tessera_device *tdev,
							 struct drm_file *file,
							 struct tessera_account *account)
{
	struct tessera_resident_set *set;

	set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);
	if (!set)
		return NULL;
	kref_init(&set->ref);
	set->tdev = tdev;
	set->file = file;
	set->account = account;
	xa_init(&set->residency_entries);
	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->evicted);
	/* Long ago, so that the first use counts. */
	set->demanded_at = jiffies - HZ;

	return set;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_resident_set_create);

/**
 * tessera_resident_set_get() - take a reference
 * @set: the residency list
 *
 * Return: @set.
 */
struct tessera_resident_set *tessera_resident_set_get(struct tessera_resident_set *set)
{
	kref_get(&set->ref);

	return set;
}

static void set_release(struct kref *ref)
{
	struct tessera_resident_set *set = container_of(ref, struct tessera_resident_set, ref);

	WARN_ON(!xa_empty(&set->residency_entries));
	xa_destroy(&set->residency_entries);
	mutex_destroy(&set->lock);
	kfree(set);
}

/**
 * tessera_resident_set_put() - drop a reference
 * @set: the residency list. The last reference goes after all handles of the
 * file are closed
 */
void tessera_resident_set_put(struct tessera_resident_set *set)
{
	kref_put(&set->ref, set_release);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_resident_set_put);
