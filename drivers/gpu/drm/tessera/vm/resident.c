// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency lists
 *
 * What a client wants resident while its jobs run that bring no list of their own: objects,
 * each with a count, per open file (RES-1). Making objects resident brings them, and whatever
 * of the list has been moved out meanwhile, into segments where the GPU can do all it may, or
 * changes nothing and says how much is missing (RES-3).
 *
 * Others may still make listed objects move out: a client above its fair share gives way, and
 * so does one without demand (pure/victim.c); so do CPU accesses and suspend. Before it takes
 * anything away a move puts the object on the list of what was evicted. A job is to be
 * armed only while that list is empty: else all is brought back first (RES-2); nobody asks yet. So a submission costs the
 * same whatever is listed. Whoever arms it does so under a lock that a move of what it can reach
 * takes later than it writes the list, and waits for it.
 *
 * Who cannot have all back, because others are within their shares, is told so (-ENOMEM) and
 * waits for nobody. What is listed is not taken from one who holds no more than the one
 * who wants it, so two clients do not take turns in taking the same memory from each other.
 *
 * Locks: none on entry; then reservations, then &tessera_resident_set.lock. What passes by
 * itself, dying objects and holds, is waited for with nothing held, and not for ever.
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "exec/engine.h"
#include "exec/job.h"
#include "exec/quota.h"
#include "mem/bo.h"
#include "mem/residency.h"
#include "mem/victims.h"
#include "pure/trim.h"
#include "segments/account.h"
#include "segments/manager.h"
#include "segments/room.h"
#include "segments/segment.h"
#include "tessera_assert.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "vm/resident.h"

/* Attempts to find room that is there by the numbers, and others keep taking. */
#define MAKE_TRIES	8

/* Objects that are moved, and times others are evicted for it, between two looks at who waits. */
#define ROUND_MOVES	512
#define ROUND_EVICTIONS	256

/* Rounds after which others must have taken away what the ones before brought. */
#define MAX_ROUNDS	1024

/* Kernel memory of a move: a paging job, its buffer and page list, and a victim's. */
#define MOVE_BYTES	(10 * 1024L)

/* Job timeouts for which dying objects and others' holds are waited for. */
#define ROOM_TIMEOUTS	2

/* A call that makes objects resident. */
struct make {
	struct tessera_resident_set *set;
	struct tessera_resident_answer *answer;
	struct drm_exec exec;
	struct tessera_room_rules rules;
	/* What was moved out; then what is asked for. With references. */
	struct tessera_bo **bos;
	u32 num_back, num;
	u32 tries;
	u32 rounds;
	/* Moves left in this round. */
	u32 moves;
	/* Stamp of use. */
	u64 stamp;
	/* Bytes that had no place, and ids of the segments where they might have one. */
	u64 missing;
	u32 segments;
	/* When to wait for room no more; 0: it has not been waited for. */
	u64 patience;
};

/* ---- Listings --------------------------------------------------------------- */

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

static int listing_add(struct tessera_resident_set *set, struct tessera_bo *bo)
{
	struct tessera_listing *listing = xa_load(&set->listings, bo->id);
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

	return 0;
}

static void listing_drop(struct tessera_listing *listing, u64 count)
{
	struct tessera_bo *bo = listing->bo;

	dma_resv_assert_held(bo->tbo.base.resv);

	WRITE_ONCE(bo->listed, bo->listed - count);
	listing->count -= count;
	if (listing->count)
		return;

	/* Jobs have used it until now, for all anybody knows. */
	WRITE_ONCE(bo->last_use, tessera_residency_next_stamp(tessera_bo_device(bo)));
	listing_mark(listing, false);
	list_del(&listing->node);
	xa_erase(&listing->set->listings, bo->id);
	kfree(listing);
}

/**
 * tessera_resident_lists() - ask whether an object is in a residency list
 * @set: the list
 * @bo: the object; the answer lasts as long as its reservation is held
 *
 * Return: true if it is.
 */
bool tessera_resident_lists(struct tessera_resident_set *set, const struct tessera_bo *bo)
{
	return xa_load(&set->listings, bo->id);
}

static bool make_spares(struct tessera_bo *bo, void *data)
{
	return tessera_resident_lists(data, bo);
}

/* ---- Making resident ---------------------------------------------------------- */

static bool bo_is_written(const struct tessera_bo *bo)
{
	return !(bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY);
}

static void put_bos(struct tessera_bo **bos, u32 num)
{
	while (num--)
		if (bos[num])
			tessera_bo_put(bos[num]);
}

static int get_bos(struct drm_file *file, const u32 *handles, struct tessera_bo **bos, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++) {
		bos[i] = tessera_bo_lookup(file, handles[i]);
		if (!bos[i]) {
			put_bos(bos, i);
			return -ENOENT;
		}
	}

	return 0;
}

static u32 get_evicted_locked(struct tessera_resident_set *set, struct tessera_bo **bos, u32 max)
{
	struct tessera_listing *listing;
	u32 num = 0;

	lockdep_assert_held(&set->lock);

	list_for_each_entry(listing, &set->evicted, evicted) {
		if (num == max)
			break;
		/* Who gives up the last handle takes the listing away before. */
		tessera_bo_get(listing->bo);
		bos[num++] = listing->bo;
	}

	return num;
}

/* All that has been moved out, in front of all that is asked for. */
static int make_collect(struct make *make, struct tessera_bo **bos, u32 num)
{
	struct tessera_resident_set *set = make->set;
	u32 room = READ_ONCE(set->num_evicted);
	u32 i;

	make->bos = kvcalloc(room + num + 1, sizeof(*make->bos), GFP_KERNEL_ACCOUNT);
	if (!make->bos)
		return -ENOMEM;
	mutex_lock(&set->lock);
	make->num_back = get_evicted_locked(set, make->bos, room);
	mutex_unlock(&set->lock);
	make->num = make->num_back;

	for (i = 0; i < num; i++) {
		tessera_bo_get(bos[i]);
		make->bos[make->num++] = bos[i];
	}

	return 0;
}

static void make_put(struct make *make)
{
	put_bos(make->bos, make->num);
	kvfree(make->bos);
	make->bos = NULL;
	make->num = 0;
}

static int make_lock(struct make *make)
{
	u32 i;
	int ret = 0;

	drm_exec_until_all_locked(&make->exec) {
		for (i = 0; i < make->num; i++) {
			ret = drm_exec_prepare_obj(&make->exec, &make->bos[i]->tbo.base, 1);
			if (ret)
				break;
		}
		drm_exec_retry_on_contention(&make->exec);
		if (ret)
			break;
	}

	return ret;
}

/* Only what is asked for is counted; what has been moved out has been. */
static void make_unlist(struct make *make, u32 end)
{
	while (end-- > make->num_back)
		listing_drop(xa_load(&make->set->listings, make->bos[end]->id), 1);
}

static int make_list(struct make *make)
{
	u32 i;
	int ret;

	for (i = make->num_back; i < make->num; i++) {
		ret = listing_add(make->set, make->bos[i]);
		if (ret) {
			make_unlist(make, i);
			return ret;
		}
	}

	return 0;
}

static bool make_needs(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos[index];

	/* It may have been evicted, or closed, since. */
	return tessera_resident_lists(make->set, bo) &&
	       tessera_residency_serves(bo, bo_is_written(bo)) <= 0;
}

static int make_place(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos[index];
	int ret;

	if (!tessera_resident_lists(make->set, bo))
		return 0;
	if (tessera_bo_is_locked_out(bo, bo_is_written(bo)))
		return -EBUSY;
	if (!tessera_residency_serves(bo, bo_is_written(bo))) {
		if (!make->moves)
			return -EINPROGRESS;
		make->moves--;
	}

	ret = tessera_residency_validate(bo, bo_is_written(bo), &make->rules);
	if (!ret)
		tessera_residency_commit(bo, bo_is_written(bo), make->stamp);

	return ret;
}

/* Ids of a set of indexes. */
static u32 segment_ids(struct tessera_device *tdev, u32 indexes)
{
	u32 ids = 0;

	for (; indexes; indexes &= indexes - 1)
		ids |= BIT(tessera_segment_by_index(tdev, __ffs(indexes))->id);

	return ids;
}

/* Segments by index where a job can do with an object all it may. */
static u32 bo_segments(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 i, set = 0;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		if ((tessera_bo_allowed(bo) & BIT(seg->id)) &&
		    !(bo_is_written(bo) && (seg->flags & TSR_SEGF_GPU_READ_ONLY)))
			set |= BIT(i);
	}

	return set;
}

/* Bytes that what has no place yet may want in a segment. */
static u64 make_want(struct make *make, u32 seg_index, struct tessera_bo **first)
{
	u64 want = 0;
	u32 i;

	for (i = 0; i < make->num; i++) {
		if (!make_needs(make, i) || !(bo_segments(make->bos[i]) & BIT(seg_index)))
			continue;
		*first = make->bos[i];
		want += tessera_bo_bytes(make->bos[i]);
	}

	return want;
}

static int make_look(struct make *make, struct tessera_trim_seg *segs)
{
	struct tessera_device *tdev = make->set->tdev;
	struct tessera_blocks blocks;
	struct tessera_bo *bo;
	u64 want;
	u32 i;
	int ret;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		segs[i] = (struct tessera_trim_seg) { .page_size = seg->page_size };
		want = make_want(make, i, &bo);
		if (!want)
			continue;
		ret = tessera_victims_look(bo, seg, want, &make->rules, &blocks);
		if (ret)
			return ret;
		segs[i].room = tessera_victims_room(seg, &blocks);
		tessera_victims_put(&blocks);
	}

	return 0;
}

/* What is missing when dying objects have died, and holds are over. */
static int make_sum(struct make *make)
{
	struct tessera_trim_seg segs[TESSERA_MAX_MANAGED_SEGMENTS];
	struct tessera_device *tdev = make->set->tdev;
	struct tessera_trim trim = { .segs = segs };
	u32 i, want = 0;
	int ret;

	trim.n_segs = tessera_segment_count(tdev);
	make->rules.dying = false;
	make->rules.held = false;
	make->missing = 0;
	ret = make_look(make, segs);
	for (i = 0; !ret && i < make->num; i++) {
		struct tessera_bo *bo = make->bos[i];

		if (!make_needs(make, i))
			continue;
		make->missing += tessera_bo_bytes(bo);
		want |= bo_segments(bo);
		ret = tessera_trim_add(&trim, tessera_bo_bytes(bo), bo_segments(bo));
	}
	if (ret)
		return ret;

	make->answer->bytes_to_trim = trim.bytes;
	make->answer->segments = segment_ids(tdev, trim.set);
	make->segments = segment_ids(tdev, want);

	return -ENOSPC;
}

static int make_place_all(struct make *make)
{
	u32 i;
	int ret;

	for (i = 0; i < make->num; i++) {
		ret = make_place(make, i);
		if (ret == -ENOSPC)
			return make->rules.evictions ? make_sum(make) : -EINPROGRESS;
		if (ret)
			return ret;
		cond_resched();
		/* Nothing is armed but paging, which stands. */
		if (signal_pending(current))
			return -ERESTARTSYS;
	}

	return 0;
}

static int add_moves(struct tessera_fences *fences, struct tessera_bo *bo)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret = 0;

	dma_resv_for_each_fence(&cursor, bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, fence) {
		if (!dma_fence_is_signaled(fence))
			ret = tessera_fences_add(fences, fence);
		if (ret)
			break;
	}

	return ret;
}

/* Also what was on its way before. */
static int make_fence(struct make *make)
{
	struct tessera_fences fences = { };
	struct dma_fence_array *array;
	u32 i;
	int ret = 0;

	for (i = 0; i < make->num && !ret; i++)
		ret = add_moves(&fences, make->bos[i]);
	if (ret)
		goto out;

	if (!fences.num) {
		make->answer->fence = dma_fence_get_stub();
		goto out;
	}
	array = dma_fence_array_create(fences.num, fences.fence, dma_fence_context_alloc(1), 1);
	if (!array) {
		ret = -ENOMEM;
		goto out;
	}
	make->answer->fence = &array->base;
	/* The array's now. */
	fences.fence = NULL;
	fences.num = 0;
out:
	tessera_fences_fini(&fences);
	return ret;
}

static int make_locked(struct make *make)
{
	int ret;

	ret = make_list(make);
	if (ret)
		return ret;
	ret = make_place_all(make);
	if (!ret)
		ret = make_fence(make);
	if (ret)
		make_unlist(make, make->num);

	return ret;
}

static int make_once(struct make *make, struct tessera_bo **bos, u32 num)
{
	int ret, idx;

	if (!drm_dev_enter(&make->set->tdev->drm, &idx))
		return -ENODEV;
	ret = make_collect(make, bos, num);
	if (!ret) {
		drm_exec_init(&make->exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
					   DRM_EXEC_IGNORE_DUPLICATES, make->num);
		make->rules = (struct tessera_room_rules) {
			.evictions = ROUND_EVICTIONS,
			.compact = true,
			.ticket = &make->exec.ticket,
			.spares = make_spares,
			.data = make->set,
		};
		make->moves = ROUND_MOVES;
		ret = make_lock(make);
		if (!ret)
			ret = make_locked(make);
		drm_exec_fini(&make->exec);
	}
	make_put(make);
	drm_dev_exit(idx);

	return ret;
}

/*
 * Nobody lets go of the hardware meanwhile. A reset between two rounds is nothing special: what
 * it has moved out is moved in again.
 */
static int make_round(struct make *make, struct tessera_bo **bos, u32 num)
{
	struct tessera_device *tdev = make->set->tdev;
	int ret;

	tessera_victims_forget(&make->rules);
	ret = down_read_killable(&tdev->reset_lock);
	if (ret)
		return ret;
	ret = tessera_job_queue_enter(tdev);
	if (!ret) {
		ret = make_once(make, bos, num);
		tessera_job_queue_leave(tdev);
	}
	up_read(&tdev->reset_lock);
	/* Paging that was cancelled under way loses objects; say why. */
	if (ret == -EIO && drm_dev_is_unplugged(&tdev->drm))
		ret = -ENODEV;

	return ret;
}

/* By the numbers it would fit. Whoever gives up as much as it is has it for sure. */
static int make_fail(struct make *make)
{
	make->answer->bytes_to_trim = make->missing;
	make->answer->segments = make->segments;

	return -ENOMEM;
}

/* Whoever has it does not keep it for long. */
static int wait_for_lock(struct tessera_bo *bo)
{
	int ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);

	if (!ret)
		dma_resv_unlock(bo->tbo.base.resv);

	return ret;
}

/* -ENOMEM: there is nothing to wait for. Nothing is held. */
static int make_wait(struct make *make, const u32 *seen)
{
	struct tessera_device *tdev = make->set->tdev;
	u64 now = get_jiffies_64();
	enum tessera_room_event event;
	int ret;

	if (make->answer->bytes_to_trim)
		return -ENOMEM;
	if (!make->patience)
		make->patience = now + ROOM_TIMEOUTS *
				 (u64)msecs_to_jiffies(tessera_engine_timeout_ms(tdev));
	if (!time_before64(now, make->patience))
		return make_fail(make);
	if (make->rules.contended)
		return wait_for_lock(make->rules.contended);
	if (make->rules.fence)
		return min(dma_fence_wait_timeout(make->rules.fence, true, make->patience - now),
			   0L);
	if (!make->rules.dying && !make->rules.held)
		return ++make->tries < MAKE_TRIES ? 0 : make_fail(make);

	event = make->rules.dying ? TESSERA_ROOM_FREED : TESSERA_ROOM_RELEASED;
	ret = tessera_room_wait_timeout(tdev, event, seen[event], TASK_INTERRUPTIBLE,
					make->patience - now);

	return ret == -ETIME ? 0 : ret;
}

static int make_all(struct make *make, struct tessera_bo **bos, u32 num)
{
	struct tessera_device *tdev = make->set->tdev;
	u32 seen[TESSERA_ROOM_EVENTS], event;
	int ret;

	do {
		for (event = 0; event < TESSERA_ROOM_EVENTS; event++)
			seen[event] = tessera_room_seen(tdev, event);
		ret = make_round(make, bos, num);
		if (ret == -EINPROGRESS)
			ret = ++make->rounds < MAX_ROUNDS ? 0 : make_fail(make);
		else if (ret == -EAGAIN)
			ret = tessera_room_wait(tdev, TESSERA_ROOM_UNCLAIMED,
						seen[TESSERA_ROOM_UNCLAIMED], TASK_INTERRUPTIBLE);
		else if (ret == -ENOSPC)
			ret = make_wait(make, seen);
		else
			break;
	} while (!ret);
	tessera_victims_forget(&make->rules);

	return ret;
}

/* Charged for as long as it takes. A round moves no more than that at once. */
static int make_charged(struct make *make, struct tessera_bo **bos, u32 num)
{
	struct tessera_quota *work = &make->set->account->payer->work;
	u64 moves = (u64)num + READ_ONCE(make->set->num_evicted);
	long bytes = min_t(u64, moves, ROUND_MOVES) * MOVE_BYTES;
	int ret;

	ret = tessera_quota_enter(work, bytes);
	if (ret)
		return ret;
	ret = make_all(make, bos, num);
	tessera_quota_uncharge(work, bytes);

	return ret;
}

static void resident_close(struct tessera_bo *bo, struct drm_file *file)
{
	struct tessera_listing *listing, *next;

	/* Who is about to add himself looks for the handle afterwards. */
	if (list_empty(&bo->listings))
		return;
	dma_resv_lock(bo->tbo.base.resv, NULL);
	list_for_each_entry_safe(listing, next, &bo->listings, node)
		if (listing->set->file == file)
			listing_drop(listing, listing->count);
	dma_resv_unlock(bo->tbo.base.resv);
}

/* What has lost its handle meanwhile is listed no longer. */
static void check_handles(struct tessera_resident_set *set, const u32 *handles,
			  struct tessera_bo **bos, u32 num)
{
	struct tessera_bo *now;
	u32 i;

	for (i = 0; i < num; i++) {
		now = tessera_bo_lookup(set->file, handles[i]);
		if (now != bos[i])
			resident_close(bos[i], set->file);
		if (now)
			tessera_bo_put(now);
	}
}

/**
 * tessera_resident_want() - a client uses what it has
 * @set: its list
 */
void tessera_resident_want(struct tessera_resident_set *set)
{
	u32 i;

	for (i = 0; i < tessera_segment_count(set->tdev); i++)
		if (atomic64_read(&set->account->resident[i]))
			tessera_account_want(set->account, i);
}

/**
 * tessera_resident_make() - make objects resident
 * @set: the caller's list
 * @handles: handles of the objects, one that comes twice is counted twice
 * @num: how many; with none, only what was moved out is brought back
 * @answer: result
 *
 * Does not wait for the paging. No lock may be held, not even &tessera_device.reset_lock, and
 * nothing be charged that waits for the call. The account has a payer.
 *
 * Return: 0, or one of the errors of &struct drm_tessera_make_resident, with all counts as
 * they were.
 */
int tessera_resident_make(struct tessera_resident_set *set, const u32 *handles, u32 num,
			  struct tessera_resident_answer *answer)
{
	struct make make = {
		.set = set,
		.answer = answer,
		.stamp = tessera_residency_next_stamp(set->tdev),
	};
	struct tessera_bo **bos;
	int ret;

	tessera_resident_want(set);
	/* Kept until the handles have been looked at once more. */
	bos = kvcalloc(num + 1, sizeof(*bos), GFP_KERNEL_ACCOUNT);
	if (!bos)
		return -ENOMEM;
	ret = get_bos(set->file, handles, bos, num);
	if (!ret) {
		ret = make_charged(&make, bos, num);
		if (!ret)
			check_handles(set, handles, bos, num);
		put_bos(bos, num);
	}
	kvfree(bos);

	return ret;
}

/* ---- Evicting ------------------------------------------------------------------ */

static int evict_check(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	struct tessera_listing *listing;
	u32 i;
	int ret = 0;

	for (i = 0; i < num && !ret; i++) {
		listing = xa_load(&set->listings, bos[i]->id);
		if (tessera_ioctl_bad(set->tdev, !listing || listing->dropping == listing->count))
			ret = -EINVAL;
		else
			listing->dropping++;
	}
	while (ret && --i)
		((struct tessera_listing *)xa_load(&set->listings, bos[i - 1]->id))->dropping--;

	return ret;
}

static void evict_apply(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	struct tessera_listing *listing;
	u32 i;

	for (i = 0; i < num; i++) {
		listing = xa_load(&set->listings, bos[i]->id);
		listing->dropping--;
		listing_drop(listing, 1);
	}
}

static int evict_bos(struct make *make)
{
	int ret;

	drm_exec_init(&make->exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      make->num);
	ret = make_lock(make);
	if (!ret)
		ret = evict_check(make->set, make->bos, make->num);
	if (!ret)
		evict_apply(make->set, make->bos, make->num);
	drm_exec_fini(&make->exec);

	return ret;
}

/**
 * tessera_resident_evict() - let objects go
 * @set: the caller's list
 * @handles: handles of the objects
 * @num: how many
 *
 * They move out when somebody wants their room.
 *
 * Return: 0, or one of the errors of &struct drm_tessera_evict, with nothing changed.
 */
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num)
{
	struct make make = { .set = set };
	int ret;

	make.bos = kvcalloc(num + 1, sizeof(*make.bos), GFP_KERNEL_ACCOUNT);
	if (!make.bos)
		return -ENOMEM;
	ret = get_bos(set->file, handles, make.bos, num);
	if (!ret) {
		make.num = num;
		ret = evict_bos(&make);
	}
	make_put(&make);

	return ret;
}

/* ---- Jobs ------------------------------------------------------------------------ */

/**
 * tessera_resident_bring_back() - have all that is listed where jobs find it
 * @set: the list
 *
 * To be called when tessera_resident_complete() says no. No lock may be held.
 *
 * Return: 0; or an error of tessera_resident_make().
 */
int tessera_resident_bring_back(struct tessera_resident_set *set)
{
	struct tessera_resident_answer answer = { };
	int ret;

	ret = tessera_resident_make(set, NULL, 0, &answer);
	dma_fence_put(answer.fence);

	return ret;
}

/* ---- Moves ------------------------------------------------------------------------ */

static void resident_moves(struct tessera_bo *bo)
{
	struct tessera_listing *listing;

	list_for_each_entry(listing, &bo->listings, node)
		listing_mark(listing, true);
}

/* What is offered is not missed until it is reclaimed, which tells so. */
static void resident_moved(struct tessera_bo *bo)
{
	bool serves = tessera_residency_serves(bo, bo_is_written(bo)) > 0;
	struct tessera_listing *listing;

	/* Jobs that do not name it may write it where it is now. */
	if (!list_empty(&bo->listings) && bo_is_written(bo))
		tessera_residency_written(bo);
	list_for_each_entry(listing, &bo->listings, node)
		listing_mark(listing, !serves && !tessera_bo_is_offered(bo));
}

static const struct tessera_resident_ops resident_ops = {
	.moves = resident_moves,
	.moved = resident_moved,
	.close = resident_close,
};

/* ---- Life -------------------------------------------------------------------------- */

/**
 * tessera_resident_init() - have moves keep the lists
 * @tdev: the device
 */
void tessera_resident_init(struct tessera_device *tdev)
{
	tdev->resident_ops = &resident_ops;
}

/**
 * tessera_resident_set_create() - make a list
 * @tdev: the device
 * @file: whose
 * @account: its account; outlives the set
 *
 * Return: the list, empty, or NULL.
 */
struct tessera_resident_set *tessera_resident_set_create(struct tessera_device *tdev,
							 struct drm_file *file,
							 struct tessera_account *account)
{
	struct tessera_resident_set *set;

	set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);
	if (!set)
		return NULL;
	set->tdev = tdev;
	set->file = file;
	set->account = account;
	xa_init(&set->listings);
	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->evicted);

	return set;
}

/**
 * tessera_resident_set_destroy() - free a list
 * @set: the list; its file's handles are closed
 */
void tessera_resident_set_destroy(struct tessera_resident_set *set)
{
	drm_WARN_ON(&set->tdev->drm, !xa_empty(&set->listings));
	xa_destroy(&set->listings);
	mutex_destroy(&set->lock);
	kfree(set);
}
