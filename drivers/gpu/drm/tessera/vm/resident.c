// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency
 *
 * Making objects resident brings them, and whatever of the client's list (vm/listing.c) has been moved out
 * meanwhile, into segments where the GPU can do all it may, and has addresses of the client's VMs lead there;
 * or it changes nothing and says how much is missing (RES-3). Letting go of them takes them from these addresses
 * when the jobs that may use them are done (RES-6).
 *
 * Who cannot have all back, because others are within their shares, is told so (-ENOMEM) and
 * waits for nobody. What is listed is not taken from one who holds no more than the one
 * who wants it, so two clients do not take turns in taking the same memory from each other.
 *
 * A call works in rounds. Each is charged to the process's quota, locks all
 * objects, and moves a limited number of them. A round that has used that up,
 * or fails for a reason that passes by itself (dying objects, holds, locks,
 * foreign fences), lets go of everything. The call waits for the reason, and
 * another round begins. The call fails when no round has left fewer objects
 * for two job timeouts. Waits for the quota and foreign fences do not count.
 *
 * Locks: none on entry; then reservations, then &tessera_resident_set.lock.
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "cpu/cpu.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "pure/trim.h"
#include "segments/segments.h"
#include "tessera_assert.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_wait.h"
#include "vm/vm.h"

/* Rounds without progress when there is nothing to wait for: room that others keep taking. */
#define MAKE_TRIES	8

/* Objects that one round moves, in or out, before other clients have a turn. */
#define ROUND_MOVES	512U

/* How often a client says that it uses what it has: much more often than that is forgotten. */
#define WANT_JIFFIES	(HZ / 8)

/* Kernel memory of a move: a paging job, its buffer and page list, and a victim's. */
#define MOVE_BYTES	(10 * 1024L)

/* Job timeouts without progress after which a call fails. */
#define ROOM_TIMEOUTS	2

/* A call that makes objects resident. */
struct make {
	struct tessera_resident_set *set;
	struct tessera_resident_answer *answer;
	struct tessera_room_rules rules;
	/* In one round: @num_back objects that were moved out, then those that are asked for. */
	struct tessera_bos bos;
	u32 num_back;
	/* Stamp of use. */
	u64 stamp;
	/* Bytes that had no place, and ids of the segments where they might have one. */
	u64 missing;
	u32 segments;
	/* Fewest objects that a round had left when it failed. */
	u32 left;
	/* When to give up unless a round leaves fewer, in jiffies. */
	u64 patience;
	struct tessera_blocker blocker;
};

static bool make_spares(struct tessera_bo *bo, void *data)
{
	return tessera_listing_find(data, bo);
}

/* ---- Making resident ---------------------------------------------------------- */

/* Error of an object at @index of make.bos. What was moved out is not what the caller named. */
static void make_blame(struct make *make, u32 index, int error)
{
	if (index >= make->num_back &&
	    (error == -EINVAL || error == -EBUSY || error == -EIO || error == -EFAULT))
		make->answer->failed = index - make->num_back;
}

/*
 * Collects all that has been moved out, in front of all that is asked for. User
 * memory gets its pages here, where nothing is held. They may change again: the
 * next job has that put right.
 */
static int make_collect(struct make *make, const struct tessera_bos *asked)
{
	struct tessera_resident_set *set = make->set;
	u32 room = READ_ONCE(set->num_evicted);
	u32 i, index;
	int ret = 0;

	make->bos.bos = kvcalloc(room + asked->num, sizeof(*make->bos.bos), GFP_KERNEL_ACCOUNT);
	if (!make->bos.bos)
		return -ENOMEM;
	make->num_back = tessera_listing_get_evicted(set, make->bos.bos, room);
	make->bos.num = make->num_back;
	for (i = 0; i < asked->num; i++) {
		tessera_bo_get(asked->bos[i]);
		make->bos.bos[make->bos.num++] = asked->bos[i];
	}

	/* Those asked for first: the answer can only name one of these. */
	for (i = 0; !ret && i < make->bos.num; i++) {
		index = (i + make->num_back) % make->bos.num;
		ret = tessera_userptr_ready(make->bos.bos[index], 0);
		make_blame(make, index, ret);
	}

	return ret;
}

/* Take what is listed no more to the front, as often as each was listed. Returns how many there are. */
static u32 drop_bos(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	u32 i, gone = 0;

	for (i = 0; i < num; i++) {
		if (!tessera_listing_drop(tessera_listing_find(set, bos[i]), 1))
			continue;
		swap(bos[gone], bos[i]);
		gone++;
	}

	return gone;
}

/* Only what is asked for is counted; what has been moved out has been. Some of it may be shown. */
static void make_unlist(struct make *make, u32 end)
{
	struct tessera_bo **bos = make->bos.bos + make->num_back;

	tessera_remap_hide(make->set, bos, drop_bos(make->set, bos, end - make->num_back));
}

static int make_list(struct make *make)
{
	u32 i;
	int ret;

	for (i = make->num_back; i < make->bos.num; i++) {
		ret = tessera_listing_add(make->set, make->bos.bos[i]);
		if (ret) {
			make_unlist(make, i);
			return ret;
		}
	}

	return 0;
}

/* What is offered is not missed: it looked so while somebody moved it, or was offered since. */
static bool make_misses(struct make *make, u32 index)
{
	return index >= make->num_back || !tessera_bo_is_offered(make->bos.bos[index]);
}

static bool make_needs(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos.bos[index];

	/* It may have been evicted, or closed, since. */
	return tessera_listing_find(make->set, bo) && make_misses(make, index) &&
	       tessera_residency_serves(bo, tessera_listing_writes(bo)) <= 0;
}

static int make_place(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos.bos[index];
	int ret;

	if (!tessera_listing_find(make->set, bo) || !make_misses(make, index))
		return 0;
	if (tessera_locks_refuse(bo, make->set->file, tessera_listing_writes(bo)))
		return -EBUSY;
	if (!tessera_residency_serves(bo, tessera_listing_writes(bo))) {
		if (!make->rules.evictions)
			return -ENOSPC;
		make->rules.evictions--;
	}

	ret = tessera_residency_validate(bo, tessera_listing_writes(bo), &make->rules);
	if (!ret)
		tessera_residency_commit(bo, tessera_listing_writes(bo), make->stamp);

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

		if (tessera_residency_segment_serves(bo, seg, tessera_listing_writes(bo)))
			set |= BIT(i);
	}

	return set;
}

/*
 * Sums up, for each segment, the bytes that objects without a place may want
 * there. Others give way to the account of @first, which is the caller's if that
 * has any such object.
 */
static void make_want(struct make *make, u64 *want, struct tessera_bo **first)
{
	u32 i, left;

	for (i = 0; i < make->bos.num; i++) {
		struct tessera_bo *bo = make->bos.bos[i];

		if (!make_needs(make, i))
			continue;
		for (left = bo_segments(bo); left; left &= left - 1) {
			want[__ffs(left)] += tessera_bo_bytes(bo);
			if (!first[__ffs(left)] || bo->account->id == make->set->account->id)
				first[__ffs(left)] = bo;
		}
	}
}

static int make_look(struct make *make, struct tessera_trim_seg *segs)
{
	struct tessera_bo *first[TESSERA_MAX_SEGMENTS] = { };
	u64 want[TESSERA_MAX_SEGMENTS] = { };
	struct tessera_device *tdev = make->set->tdev;
	u32 i;
	int ret;

	make_want(make, want, first);
	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		segs[i] = (struct tessera_trim_seg) { .page_size = seg->page_size };
		if (!first[i])
			continue;
		ret = tessera_victims_room(first[i], seg, want[i], &make->rules, &segs[i].room);
		if (ret)
			return ret;
	}

	return 0;
}

/* What is missing when dying objects have died, and holds are over. */
static int make_sum(struct make *make)
{
	struct tessera_trim_seg segs[TESSERA_MAX_SEGMENTS];
	struct tessera_device *tdev = make->set->tdev;
	struct tessera_trim trim = { .segs = segs };
	u32 i, want = 0;
	int ret;

	trim.n_segs = tessera_segment_count(tdev);
	make->rules.dying = false;
	make->rules.held = false;
	make->missing = 0;
	ret = make_look(make, segs);
	for (i = 0; !ret && i < make->bos.num; i++) {
		struct tessera_bo *bo = make->bos.bos[i];

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

static u64 patience_jiffies(struct tessera_device *tdev)
{
	return ROOM_TIMEOUTS * (u64)msecs_to_jiffies(tessera_engine_timeout_ms(tdev));
}

/* A round that leaves fewer objects than any before was worth it. */
static void make_stop(struct make *make, u32 index, int error)
{
	make_blame(make, index, error);
	if (make->bos.num - index >= make->left)
		return;
	make->left = make->bos.num - index;
	make->patience = get_jiffies_64() + patience_jiffies(make->set->tdev);
}

static int make_place_all(struct make *make)
{
	u32 i;
	int ret;

	for (i = 0; i < make->bos.num; i++) {
		ret = make_place(make, i);
		if (ret) {
			make_stop(make, i, ret);
			if (ret != -ENOSPC)
				return ret;
			return make->rules.evictions ? make_sum(make) : -EINPROGRESS;
		}
		cond_resched();
		/* Nothing is armed but paging, which stands. */
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
	/* Compaction may have evicted an object that had its place already. */
	for (i = 0; i < make->bos.num; i++) {
		if (make_needs(make, i)) {
			make_stop(make, i, 0);
			return -EINPROGRESS;
		}
	}

	return 0;
}

static int make_show_all(struct make *make)
{
	u32 i;
	int ret;

	ret = tessera_remap_show(make->set, make->bos.bos, make->bos.num);
	for (i = 0; i < make->bos.num; i++)
		tessera_listing_settle(make->bos.bos[i]);

	/* The client has too many page tables: no room in a segment helps. */
	return ret == -ENOSPC ? -ENOMEM : ret;
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

	for (i = 0; i < make->bos.num && !ret; i++)
		ret = add_moves(&fences, make->bos.bos[i]);
	if (ret)
		goto out;
	for (i = 0; i < make->bos.num; i++)
		tessera_trail_check_fences(&make->bos.bos[i]->trail, TESSERA_TRAIL_MOVE, &fences,
					   make->bos.bos[i]->id);

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

	make->rules = (struct tessera_room_rules) {
		.evictions = ROUND_MOVES,
		.compact = true,
		.ticket = &make->bos.exec.ticket,
		.spares = make_spares,
		.data = make->set,
		.blocker = &make->blocker,
	};
	ret = make_list(make);
	if (ret)
		return ret;
	ret = make_place_all(make);
	if (!ret)
		ret = make_show_all(make);
	if (!ret)
		ret = make_fence(make);
	if (ret)
		make_unlist(make, make->bos.num);

	return ret;
}

static int make_once(struct make *make)
{
	int ret, idx;

	ret = tessera_bos_lock(&make->bos);
	if (ret)
		return ret;
	/* Unplug does not wait for locks, which other drivers may hold. */
	ret = -ENODEV;
	if (drm_dev_enter(&make->set->tdev->drm, &idx)) {
		ret = make_locked(make);
		drm_dev_exit(idx);
	}
	drm_exec_fini(&make->bos.exec);

	return ret;
}

/*
 * One attempt, charged as long as it takes. The device is not reset meanwhile. A
 * reset between two rounds is nothing special: what it has moved out is moved in
 * again.
 */
static noinline_for_stack int make_round(struct make *make, const struct tessera_bos *asked)
{
	struct tessera_quota *work = &make->set->account->payer->work;
	struct tessera_device *tdev = make->set->tdev;
	u64 start = get_jiffies_64();
	long bytes;
	int ret;

	tessera_victims_forget(&make->rules);
	ret = make_collect(make, asked);
	bytes = min(make->bos.num, ROUND_MOVES) * MOVE_BYTES;
	if (!ret)
		ret = tessera_quota_enter(work, bytes);
	if (ret)
		goto out_put;
	/* The process has to wait for its own jobs: no room comes of that. */
	make->patience += get_jiffies_64() - start;
	ret = tessera_work_begin(tdev);
	if (!ret)
		ret = tessera_work_end(tdev, make_once(make));
	tessera_quota_uncharge(work, bytes);

out_put:
	tessera_bos_put(&make->bos);
	return ret;
}

/* By the numbers it would fit. Whoever gives up as much as it is has it for sure. */
static int make_fail(struct make *make)
{
	make->answer->bytes_to_trim = make->missing;
	make->answer->segments = make->segments;

	return -ENOMEM;
}

/* Waits, with nothing held, until a round may do better than that with @error. */
static int make_wait(struct make *make, int error, const u32 *seen)
{
	struct tessera_device *tdev = make->set->tdev;
	u64 now = get_jiffies_64();
	enum tessera_room_event event;
	int ret;

	if (make->answer->bytes_to_trim)
		return -ENOMEM;
	if (!time_before64(now, make->patience))
		return make_fail(make);
	if (make->blocker.bo || make->blocker.foreign.num) {
		ret = tessera_residency_unblock(tdev, &make->blocker, TESSERA_WAIT_FOREIGN,
						MAX_SCHEDULE_TIMEOUT);
		make->patience += get_jiffies_64() - now;
		return ret;
	}
	if (error == -EINPROGRESS)
		return 0;
	if (error == -EAGAIN)
		return tessera_manager_wait_closed(tdev, seen[TESSERA_ROOM_UNCLAIMED],
						   TASK_INTERRUPTIBLE);
	if (make->rules.contended)
		return tessera_wait_resv_lock(TESSERA_WAIT_VICTIM,
					      make->rules.contended->tbo.base.resv);
	if (make->rules.fence)
		return min(tessera_wait_fence(TESSERA_WAIT_VICTIM, make->rules.fence, true,
					      make->patience - now), 0L);
	if (!make->rules.dying && !make->rules.held) {
		make->patience -= patience_jiffies(tdev) / MAKE_TRIES;
		return 0;
	}

	event = make->rules.dying ? TESSERA_ROOM_FREED : TESSERA_ROOM_RELEASED;
	ret = tessera_room_wait_timeout(tdev, event, seen[event], TASK_INTERRUPTIBLE,
					make->patience - now);

	return ret == -ETIME ? 0 : ret;
}

static int make_all(struct make *make, const struct tessera_bos *asked)
{
	struct tessera_device *tdev = make->set->tdev;
	u32 seen[TESSERA_ROOM_EVENTS], event;
	int error, ret;

	do {
		for (event = 0; event < TESSERA_ROOM_EVENTS; event++)
			seen[event] = tessera_room_seen(tdev, event);
		error = make_round(make, asked);
		ret = error;
		if (error == -EINPROGRESS || error == -EAGAIN || error == -ENOSPC)
			ret = make_wait(make, error, seen);
	} while (error && !ret);
	tessera_victims_forget(&make->rules);
	tessera_blocker_clear(&make->blocker);

	return ret;
}

/* What has lost its handle meanwhile is listed no longer. */
static void check_handles(struct tessera_resident_set *set, const u32 *handles,
			  const struct tessera_bos *asked)
{
	struct tessera_bo *now;
	u32 i;

	for (i = 0; i < asked->num; i++) {
		now = tessera_bo_lookup(set->file, handles[i]);
		if (now != asked->bos[i])
			tessera_listing_close(asked->bos[i], set->file);
		if (now)
			tessera_bo_put(now);
	}
}

/* The client uses what it has. Others hear of that under a lock of the device, so not with every job. */
static void resident_want(struct tessera_resident_set *set)
{
	unsigned long now = jiffies;
	u32 i;

	if (time_in_range(now, READ_ONCE(set->wanted), READ_ONCE(set->wanted) + WANT_JIFFIES))
		return;
	WRITE_ONCE(set->wanted, now);
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
		.left = U32_MAX,
	};
	struct tessera_bos asked;
	int ret;

	resident_want(set);
	/* Kept until the handles have been looked at once more. */
	ret = tessera_bos_lookup(&asked, set->file, handles, sizeof(*handles), num);
	if (ret == -ENOENT)
		answer->failed = asked.num;
	if (!ret)
		ret = make_all(&make, &asked);
	if (!ret)
		check_handles(set, handles, &asked);
	tessera_bos_put(&asked);

	return ret;
}

/* ---- Evicting ------------------------------------------------------------------ */

/* -EINVAL: one is named more often than it is listed. */
static int evict_check(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num)
{
	struct tessera_listing *listing;
	u32 i;
	int ret = 0;

	for (i = 0; i < num; i++) {
		listing = tessera_listing_find(set, bos[i]);
		if (tessera_ioctl_bad(set->tdev, !listing || !listing->count)) {
			ret = -EINVAL;
			break;
		}
		listing->count--;
	}
	while (i--)
		tessera_listing_find(set, bos[i])->count++;

	return ret;
}

/**
 * tessera_resident_evict() - let objects go
 * @set: the caller's list
 * @handles: handles of the objects
 * @num: how many
 *
 * They move out when somebody wants their room. Between tessera_work_begin() and tessera_work_end().
 *
 * Return: 0, or one of the errors of &struct drm_tessera_evict, with nothing changed.
 */
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num)
{
	struct tessera_bos asked;
	int ret;

	ret = tessera_bos_lookup(&asked, set->file, handles, sizeof(*handles), num) ?:
	      tessera_bos_lock(&asked);
	if (!ret) {
		ret = evict_check(set, asked.bos, num);
		if (!ret)
			tessera_remap_hide(set, asked.bos, drop_bos(set, asked.bos, num));
		drm_exec_fini(&asked.exec);
	}
	tessera_bos_put(&asked);

	return ret;
}

/* ---- Jobs ------------------------------------------------------------------------ */

/**
 * tessera_resident_ready() - have all that is listed where jobs find it
 * @set: the list
 *
 * It may be moved out again before a job is armed: who does that looks at tessera_resident_complete() under the
 * lock of the page tables. No lock may be held, and nothing be charged that waits for the call.
 *
 * Return: 0; or an error of tessera_resident_make().
 */
int tessera_resident_ready(struct tessera_resident_set *set)
{
	struct tessera_resident_answer answer = { };
	int ret;

	if (tessera_resident_complete(set)) {
		resident_want(set);
		return 0;
	}
	ret = tessera_resident_make(set, NULL, 0, &answer);
	dma_fence_put(answer.fence);

	return ret;
}

/* ---- User memory ------------------------------------------------------------------ */

/* That makes jobs. */
static int restore_one(struct tessera_space *space, struct tessera_bo *bo)
{
	bool listed;
	int ret;

	ret = tessera_work_begin(space->tdev);
	if (ret)
		return ret;
	dma_resv_lock(bo->tbo.base.resv, NULL);
	listed = tessera_listing_find(space->resident, bo);
	/* The handle is closed, and the VM maps it: so it is found until it moves. */
	if (!listed)
		tessera_remap_hide(space->resident, &bo, 1);
	dma_resv_unlock(bo->tbo.base.resv);
	tessera_work_end(space->tdev, 0);

	return listed ? tessera_userptr_ready(bo, 0) : 0;
}

/**
 * tessera_resident_restore() - have page tables lead to user memory as it is
 * @space: the page tables
 *
 * Page tables may lead to pages that are a process's no more (mem/user.c). Before the
 * next job of the VM they lead to those that are at the addresses now or, where the
 * client does not list the object any more, nowhere. That may change again before a job
 * is armed. No lock may be held. Takes one reservation after the other.
 *
 * Return: 0, or an error of tessera_userptr_ready().
 */
int tessera_resident_restore(struct tessera_space *space)
{
	u32 left = tessera_user_num_gone(space->tdev, &space->jobs) + TESSERA_USER_TRIES;
	struct drm_gem_object *obj;
	int ret = 0;

	while (!ret && (obj = tessera_user_first_gone(space->tdev, &space->jobs))) {
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (!left--)
			ret = -EBUSY;
		else
			ret = restore_one(space, gem_to_tessera_bo(obj));
		drm_gem_object_put(obj);
	}

	return ret;
}
