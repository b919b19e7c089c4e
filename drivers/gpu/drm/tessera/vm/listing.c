// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency lists
 *
 * What a client wants resident while its jobs run that bring no list of their own: objects,
 * each with a count, per open file (RES-1). The list alone decides what addresses of its VMs lead to (RES-2):
 * what is not listed is not there, wherever it is (vm/remap.c).
 *
 * Others may make listed objects move out: a client above its fair share gives way, and
 * so does one without demand (pure/victim.c); so do CPU accesses and suspend. Before it takes
 * anything away a move puts the object on the list of what was evicted. A job is armed only while that
 * list is empty: else all is brought back first (vm/resident.c). So a submission costs the
 * same whatever is listed. Whoever arms it does so under the lock of the page tables, which a move takes
 * later than it writes the list; and the move waits for all that is armed.
 *
 * Locks: the object's reservation, then &tessera_resident_set.lock.
 */

#include <kunit/visibility.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "mem/mem.h"
#include "tessera_device.h"
#include "vm/vm.h"

static void listing_mark(struct tessera_listing *listing, bool evicted)
{
	struct tessera_resident_set *set = listing->set;

	mutex_lock(&set->lock);
	if (evicted && list_empty(&listing->evicted)) {
		list_add_tail(&listing->evicted, &set->evicted);
		WRITE_ONCE(set->num_evicted, set->num_evicted + 1);
	} else if (!evicted && !list_empty(&listing->evicted)) {
		list_del_init(&listing->evicted);
		WRITE_ONCE(set->num_evicted, set->num_evicted - 1);
	}
	mutex_unlock(&set->lock);
}

/**
 * tessera_listing_find() - look an object up in a list
 * @set: the list
 * @bo: the object; the answer lasts as long as its reservation is held
 *
 * Return: its listing, or NULL.
 */
struct tessera_listing *tessera_listing_find(struct tessera_resident_set *set,
					     const struct tessera_bo *bo)
{
	return xa_load(&set->listings, bo->id);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_listing_find);

/**
 * tessera_listing_add() - list an object once more
 * @set: the list
 * @bo: the object, reservation held
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_listing_add(struct tessera_resident_set *set, struct tessera_bo *bo)
{
	struct tessera_listing *listing = tessera_listing_find(set, bo);
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!listing) {
		listing = kzalloc(sizeof(*listing), GFP_KERNEL_ACCOUNT);
		if (!listing)
			return -ENOMEM;
		listing->set = set;
		listing->bo = bo;
		INIT_LIST_HEAD(&listing->evicted);
		ret = xa_err(xa_store(&set->listings, bo->id, listing, GFP_KERNEL_ACCOUNT));
		if (ret) {
			kfree(listing);
			return ret;
		}
		list_add_tail(&listing->node, &bo->listings);
	}
	listing->count++;
	WRITE_ONCE(bo->listed, bo->listed + 1);
	if (bo->listed == 1)
		tessera_order_update(bo);

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_listing_add);

/**
 * tessera_listing_drop() - take some of it back
 * @listing: the listing; its object's reservation is held
 * @count: how often, at most as often as it was listed
 *
 * Return: true if the object is listed no more, and @listing is gone.
 */
bool tessera_listing_drop(struct tessera_listing *listing, u64 count)
{
	struct tessera_bo *bo = listing->bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	WRITE_ONCE(bo->listed, bo->listed - count);
	listing->count -= count;
	if (listing->count)
		return false;

	/* Jobs have used it until now, for all anybody knows. */
	WRITE_ONCE(bo->last_use, tessera_residency_next_stamp(tessera_bo_device(bo)));
	if (!bo->listed)
		tessera_order_update(bo);
	listing_mark(listing, false);
	list_del(&listing->node);
	xa_erase(&listing->set->listings, bo->id);
	kfree(listing);

	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_listing_drop);

/**
 * tessera_listing_close() - &tessera_upcalls.handle_closed
 * @bo: the object
 * @file: has no handle of it any more
 *
 * Where a VM of the file still maps it, it is found until it moves.
 */
void tessera_listing_close(struct tessera_bo *bo, struct drm_file *file)
{
	struct tessera_listing *listing, *next;

	/* Who is about to add himself looks for the handle afterwards. */
	if (list_empty(&bo->listings))
		return;
	dma_resv_lock(bo->tbo.base.resv, NULL);
	list_for_each_entry_safe(listing, next, &bo->listings, node)
		if (listing->set->file == file)
			tessera_listing_drop(listing, listing->count);
	dma_resv_unlock(bo->tbo.base.resv);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_listing_close);

/**
 * tessera_listing_get_evicted() - take references to what was moved out
 * @set: the list
 * @bos: receives the objects
 * @max: most that are wanted
 *
 * Return: how many.
 */
u32 tessera_listing_get_evicted(struct tessera_resident_set *set, struct tessera_bo **bos, u32 max)
{
	struct tessera_listing *listing;
	u32 num = 0;

	mutex_lock(&set->lock);
	list_for_each_entry(listing, &set->evicted, evicted) {
		if (num == max)
			break;
		/* Who gives up the last handle takes the listing away before. */
		tessera_bo_get(listing->bo);
		bos[num++] = listing->bo;
	}
	mutex_unlock(&set->lock);

	return num;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_listing_get_evicted);

/* ---- Moves ------------------------------------------------------------------------ */

/**
 * tessera_listing_writes() - ask whether jobs may write a listed object
 * @bo: the object
 *
 * Return: true if they may; they do not say so.
 */
bool tessera_listing_writes(const struct tessera_bo *bo)
{
	return !(bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY);
}

/**
 * tessera_listing_set_hidden() - say whether the VMs of a file lead to an object they map
 * @set: the file's list
 * @bo: the object, reservation held
 * @hidden: one does not; counts from tessera_listing_settle() on
 */
void tessera_listing_set_hidden(struct tessera_resident_set *set, const struct tessera_bo *bo,
				bool hidden)
{
	struct tessera_listing *listing = tessera_listing_find(set, bo);

	dma_resv_assert_held(bo->tbo.base.resv);

	if (listing)
		listing->hidden = hidden;
}

/**
 * tessera_listing_settle() - find out whether jobs find an object
 * @bo: the object, reservation held; no move is under way
 */
void tessera_listing_settle(struct tessera_bo *bo)
{
	bool serves = tessera_residency_serves(bo, tessera_listing_writes(bo)) > 0;
	bool offered = tessera_bo_is_offered(bo);
	struct tessera_listing *listing;

	dma_resv_assert_held(bo->tbo.base.resv);

	/* What is offered is not missed until it is reclaimed, which tells so. */
	list_for_each_entry(listing, &bo->listings, node)
		listing_mark(listing, !offered && (!serves || listing->hidden));
}

/**
 * tessera_listing_moves() - &tessera_upcalls.moves
 * @bo: the object, reservation held
 */
void tessera_listing_moves(struct tessera_bo *bo)
{
	struct tessera_listing *listing;

	list_for_each_entry(listing, &bo->listings, node)
		listing_mark(listing, true);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_listing_moves);

/**
 * tessera_listing_moved() - &tessera_upcalls.moved
 * @bo: the object, reservation held
 */
void tessera_listing_moved(struct tessera_bo *bo)
{
	/* Jobs that do not name it may write it where it is now. */
	if (!list_empty(&bo->listings) && tessera_listing_writes(bo))
		tessera_residency_written(bo);
	tessera_listing_settle(bo);
}

/* ---- Life -------------------------------------------------------------------------- */

/**
 * tessera_resident_set_create() - make a list
 * @tdev: the device
 * @file: whose
 * @account: its account; outlives the file
 *
 * Return: the list, empty, with one reference, or NULL.
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
	xa_init(&set->listings);
	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->evicted);
	/* Never. */
	set->wanted = jiffies - HZ;

	return set;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_resident_set_create);

/**
 * tessera_resident_set_get() - take a reference
 * @set: the list
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

	WARN_ON(!xa_empty(&set->listings));
	xa_destroy(&set->listings);
	mutex_destroy(&set->lock);
	kfree(set);
}

/**
 * tessera_resident_set_put() - drop a reference
 * @set: the list; the last one goes when all handles of the file are closed
 */
void tessera_resident_set_put(struct tessera_resident_set *set)
{
	kref_put(&set->ref, set_release);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_resident_set_put);
