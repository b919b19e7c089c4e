// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: residency
 *
 * MAKE_RESIDENT brings objects into segments where the GPU has all the access
 * that they allow, together with all evicted objects of the client's residency
 * list (vm/residency_list.c). Then it maps them in the client's VMs. If it
 * cannot, it changes nothing and reports how much space is missing (RES-3).
 * EVICT unmaps objects when the jobs that may use them have ended (RES-6).
 *
 * If objects do not fit because other clients are within their shares, the call
 * fails with -ENOMEM at once and waits for none of these clients. A listed
 * object stays if its owner is within its share, or if the client that needs
 * the space would be above its own share and hold at least as much as the
 * owner. This keeps two clients from taking the same memory from each other in
 * turn.
 *
 * A call works in rounds. A round charges the process's quota, locks all
 * objects and moves a limited number of them. A round that has used up its
 * moves, or that fails for a temporary reason (dying objects, holds, locks,
 * foreign fences), unlocks everything. The call then waits for the reason to
 * pass and starts another round. It fails when no round has made progress for
 * two job timeouts, that is, none has left fewer objects to move. Waits for the
 * quota and for foreign fences do not count.
 *
 * Locks: none on entry; then reservations, then &tessera_resident_set.lock.
 */

#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/compat.h"
#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "client/client.h"
#include "cpu/cpu.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "pure/trim.h"
#include "segments/segments.h"
#include "vm/vm.h"

/*
 * Limits rounds that fail without anything to wait for, because other clients
 * keep taking the space.
 */
#define MAKE_TRIES	8

/*
 * Minimum interval at which a client renews its demand; far below the time
 * after which demand expires.
 */
#define DEMAND_JIFFIES	(HZ / 8)

/* A call fails after this many job timeouts without progress. */
#define SPACE_TIMEOUTS	2

/* One MAKE_RESIDENT call. */
struct make {
	struct tessera_resident_set *set;
	struct tessera_resident_answer *answer;
	struct tessera_space_rules rules;
	/* Objects of the round: @num_back evicted, then those of the call. */
	struct tessera_bos bos;
	u32 num_back;
	/* Stamp of use that all objects of the call get. */
	u64 stamp;
	/* Bytes of objects without a place; ids of segments that would do. */
	u64 missing;
	u32 segments;
	/* Others are asked for what is missing, in segments by index. */
	bool insists, insisted;
	u32 trim_set;
	/* Minimum over all failed rounds of the objects left to place. */
	u32 left;
	/* Deadline in jiffies; a round that makes progress extends it. */
	u64 patience;
	struct tessera_blocker blocker;
};

static bool make_spares(struct tessera_bo *bo, void *data)
{
	return tessera_residency_entry_find(data, bo);
}

/* ---- Making resident ----------------------------------------------------- */

/*
 * Report the object at @index of make.bos as the one that failed. Evicted
 * objects at the front were not named by the caller, so they cannot be
 * reported.
 */
static void make_blame(struct make *make, u32 index, int error)
{
	if (index >= make->num_back &&
	    (error == -EINVAL || error == -EBUSY || error == -EIO || error == -EFAULT))
		make->answer->failed = index - make->num_back;
}

/*
 * Collect all evicted objects, followed by those of the call. User memory looks
 * up its pages here, with no lock held. They may change again, and the next job
 * then looks them up.
 */
static int make_collect(struct make *make, const struct tessera_bos *asked)
{
	struct tessera_resident_set *set = make->set;
	u32 limit = READ_ONCE(set->num_evicted);
	u32 i, index;
	int ret = 0;

	make->bos.bos = kvcalloc(limit + asked->num, sizeof(*make->bos.bos), GFP_KERNEL_ACCOUNT);
	if (!make->bos.bos)
		return -ENOMEM;
	make->num_back = tessera_residency_entry_get_evicted(set, make->bos.bos, limit);
	make->bos.num = make->num_back;
	for (i = 0; i < asked->num; i++) {
		tessera_bo_get(asked->bos[i]);
		make->bos.bos[make->bos.num++] = asked->bos[i];
	}

	/* Start with the objects of the call: only these can be reported. */
	for (i = 0; !ret && i < make->bos.num; i++) {
		index = (i + make->num_back) % make->bos.num;
		ret = tessera_userptr_ready(make->bos.bos[index], 0);
		make_blame(make, index, ret);
	}

	return ret;
}

/*
 * Lower each count by one. Move the objects that are not listed any more to the
 * front of @bos, and return their number. With @unwritten, the client promises
 * that its jobs have not written them.
 */
static u32 drop_bos(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num,
		    bool unwritten)
{
	struct tessera_residency_entry *entry;
	u32 i, gone = 0;

	for (i = 0; i < num; i++) {
		entry = tessera_residency_entry_find(set, bos[i]);
		if (unwritten && entry->count == 1 && bos[i]->copy == TESSERA_COPY_DOUBTFUL)
			bos[i]->copy = TESSERA_COPY_VALID;
		if (!tessera_residency_entry_drop(entry, 1))
			continue;
		swap(bos[gone], bos[i]);
		gone++;
	}

	return gone;
}

/*
 * Undo make_list(). Only objects of the call were counted: evicted ones are
 * listed already. Some may be shown by now.
 */
static void make_unlist(struct make *make, u32 end)
{
	struct tessera_bo **bos = make->bos.bos + make->num_back;

	tessera_remap_hide(make->set, bos, drop_bos(make->set, bos, end - make->num_back, false));
}

static int make_list(struct make *make)
{
	u32 i;
	int ret;

	for (i = make->num_back; i < make->bos.num; i++) {
		ret = tessera_residency_entry_add(make->set, make->bos.bos[i]);
		if (ret) {
			make_unlist(make, i);
			return ret;
		}
	}

	return 0;
}

/*
 * An offered object is not brought back. It was on the list of evicted objects
 * because it was moving, or it was offered later. Nor are page tables that their
 * VM does not use any more.
 */
static bool make_misses(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos.bos[index];

	if (bo->tables)
		return tessera_pt_mem_is_missing(bo);

	return index >= make->num_back || !tessera_bo_is_offered(bo);
}

static bool make_needs(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos.bos[index];

	/* The client may have evicted or closed it since the lookup. */
	return tessera_residency_entry_find(make->set, bo) && make_misses(make, index) &&
	       tessera_residency_serves(bo, tessera_residency_entry_writes(bo)) <= 0;
}

static int make_place(struct make *make, u32 index)
{
	struct tessera_bo *bo = make->bos.bos[index];
	int ret;

	if (!tessera_residency_entry_find(make->set, bo) || !make_misses(make, index))
		return 0;
	if (tessera_locks_exclude_jobs(bo, make->set->file, tessera_residency_entry_writes(bo)))
		return -EBUSY;
	if (!tessera_residency_serves(bo, tessera_residency_entry_writes(bo))) {
		if (!make->rules.evictions)
			return -ENOSPC;
		make->rules.evictions--;
	}

	ret = tessera_residency_validate(bo, tessera_residency_entry_writes(bo), &make->rules);
	if (!ret)
		tessera_residency_commit(bo, false, make->stamp);

	return ret;
}

/* Convert a mask of segment indexes to a mask of ids. */
static u32 segment_ids(struct tessera_device *tdev, u32 indexes)
{
	u32 ids = 0;

	for (; indexes; indexes &= indexes - 1)
		ids |= BIT(tessera_segment_by_index(tdev, __ffs(indexes))->id);

	return ids;
}

/*
 * Mask of indexes of segments where jobs have all the access that an object
 * allows.
 */
static u32 bo_segments(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 i, set = 0;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		if (tessera_residency_segment_serves(bo, seg, tessera_residency_entry_writes(bo)))
			set |= BIT(i);
	}

	return set;
}

/*
 * Sum up, for each segment, the bytes of objects without a place that could go
 * there. @first receives the object that the shares are computed for: one of
 * the caller's account if there is any.
 */
static void sum_demand(struct make *make, u64 *want, struct tessera_bo **first)
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

	sum_demand(make, want, first);
	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		segs[i] = (struct tessera_trim_seg) { .page_size = seg->page_size };
		if (!first[i])
			continue;
		ret = tessera_victims_available(first[i], seg, want[i], &make->rules,
						&segs[i].available);
		if (ret)
			return ret;
	}

	return 0;
}

/*
 * Compute the missing bytes, assuming that dying objects are freed and holds
 * are released.
 */
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
	make->trim_set = trim.set;
	make->segments = segment_ids(tdev, want);

	return -ENOSPC;
}

static u64 patience_jiffies(struct tessera_device *tdev)
{
	return SPACE_TIMEOUTS * (u64)msecs_to_jiffies(tessera_engine_timeout_ms(tdev));
}

/*
 * Report the failed object. Extend the deadline if this round left fewer
 * objects than any before.
 */
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
		/* Only paging jobs were armed, and their moves stay valid. */
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
	/* Compaction may have evicted an object that was already placed. */
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
		tessera_residency_entry_settle(make->bos.bos[i]);

	/* Too many page tables: space in a segment would not help. */
	return ret == -ENOSPC ? -ENOMEM : ret;
}

static int make_locked(struct make *make)
{
	int ret;

	make->rules = (struct tessera_space_rules) {
		.evictions = TESSERA_ROUND_MOVES,
		.compact = true,
		.ticket = &make->bos.exec.ticket,
		.spares = make_spares,
		.data = make->set,
		.requester = make->set->account,
		.blocker = &make->blocker,
	};
	ret = make_list(make);
	if (ret)
		return ret;
	ret = make_place_all(make);
	if (!ret)
		ret = make_show_all(make);
	if (!ret)
		ret = tessera_residency_fence(&make->bos, &make->answer->fence);
	if (ret)
		make_unlist(make, make->bos.num);

	return ret;
}

static int make_once(struct make *make, struct tessera_bo *first)
{
	int ret, idx;

	ret = tessera_bos_lock(&make->bos, first);
	if (ret)
		return ret;
	/*
	 * Entered only after locking: other drivers may hold the reservations
	 * for long, and unplug must not wait for them.
	 */
	ret = -ENODEV;
	if (drm_dev_enter(&make->set->tdev->drm, &idx)) {
		ret = make_locked(make);
		drm_dev_exit(idx);
	}
	drm_exec_fini(&make->bos.exec);

	return ret;
}

/*
 * Run one round, which is charged to the quota while it lasts. The device is
 * not reset meanwhile. After a reset between two rounds, the next round brings
 * the evicted objects back like any other.
 */
static noinline_for_stack int make_round(struct make *make, const struct tessera_bos *asked)
{
	struct tessera_quota *work = &make->set->account->process->work;
	struct tessera_device *tdev = make->set->tdev;
	/*
	 * The last round found this object in the way, locked by another
	 * thread. Lock it first, because its client may have a thread that
	 * waits for its reservation each time another one releases it.
	 */
	struct tessera_bo *first = make->rules.contended;
	u64 start = get_jiffies_64();
	long bytes;
	int ret;

	make->rules.contended = NULL;
	tessera_victims_clear(&make->rules);
	ret = make_collect(make, asked);
	bytes = min(make->bos.num, TESSERA_ROUND_MOVES) * TESSERA_MOVE_BYTES;
	if (!ret)
		ret = tessera_quota_enter(work, bytes);
	if (ret)
		goto out_put;
	/* Waiting for the process's own jobs frees no space. */
	make->patience += get_jiffies_64() - start;
	ret = tessera_work_begin(tdev);
	if (!ret)
		ret = tessera_work_end(tdev, make_once(make, first));
	tessera_quota_leave(work, bytes);

out_put:
	tessera_bos_put(&make->bos);
	tessera_bo_put(first);
	return ret;
}

/*
 * The objects would fit by the numbers, but no round succeeded. Report the size
 * of all missing objects: evicting that much helps for sure.
 */
static int make_fail(struct make *make)
{
	make->answer->bytes_to_trim = make->missing;
	make->answer->segments = make->segments;

	return -ENOMEM;
}

/*
 * It does not fit because other clients are within their shares. A caller that
 * cannot trim further asks them to give up something and tries again. When the
 * time for that is over, tessera_trim_wish() returns false.
 */
static int make_insist(struct make *make, u32 seen)
{
	struct tessera_resident_answer *answer = make->answer;

	if (!make->insists ||
	    !tessera_trim_wish(make->set->account, make->trim_set, answer->bytes_to_trim,
			       !make->insisted))
		return -ENOMEM;
	make->insisted = true;
	answer->bytes_to_trim = 0;
	answer->segments = 0;

	return tessera_trim_wait(make->set->account, seen, TASK_INTERRUPTIBLE);
}

/* Wait, with no lock held, until another round may succeed after @error. */
static int make_wait(struct make *make, int error, const u32 *seen)
{
	struct tessera_device *tdev = make->set->tdev;
	u64 now = get_jiffies_64();
	enum tessera_space_event event;
	int ret;

	if (make->answer->bytes_to_trim)
		return make_insist(make, seen[TESSERA_SPACE_TRIMMED]);
	if (!time_before64(now, make->patience))
		return make_fail(make);
	if (make->blocker.bo || make->blocker.foreign.num) {
		ret = tessera_residency_unblock(tdev, &make->blocker, TESSERA_WAIT_FOREIGN,
						MAX_SCHEDULE_TIMEOUT);
		make->patience += get_jiffies_64() - now;
		return ret;
	}
	if (error == -EINPROGRESS && make->rules.asked)
		return tessera_trim_wait(make->set->account, seen[TESSERA_SPACE_TRIMMED],
					 TASK_INTERRUPTIBLE);
	if (error == -EINPROGRESS)
		return 0;
	if (error == -EAGAIN)
		return tessera_manager_wait_closed(tdev, seen[TESSERA_SPACE_UNCLAIMED],
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

	event = make->rules.dying ? TESSERA_SPACE_FREED : TESSERA_SPACE_RELEASED;
	ret = tessera_space_wait_timeout(tdev, event, seen[event], TASK_INTERRUPTIBLE,
					 make->patience - now);

	return ret == -ETIME ? 0 : ret;
}

static int make_all(struct make *make, const struct tessera_bos *asked)
{
	struct tessera_device *tdev = make->set->tdev;
	u32 seen[TESSERA_SPACE_EVENTS], event;
	int error, ret;

	do {
		for (event = 0; event < TESSERA_SPACE_EVENTS; event++)
			seen[event] = tessera_space_event_count(tdev, event);
		error = make_round(make, asked);
		ret = error;
		if (error == -EINPROGRESS || error == -EAGAIN || error == -ENOSPC)
			ret = make_wait(make, error, seen);
	} while (error && !ret);
	tessera_victims_clear(&make->rules);
	tessera_blocker_clear(&make->blocker);

	return ret;
}

/* Remove objects that lost their handle during the call from the list. */
static void check_handles(struct tessera_resident_set *set, const u32 *handles,
			  const struct tessera_bos *asked)
{
	struct tessera_bo *now;
	u32 i;

	for (i = 0; i < asked->num; i++) {
		now = tessera_bo_lookup(set->file, handles[i]);
		if (now != asked->bos[i])
			tessera_residency_entry_close(asked->bos[i], set->file);
		tessera_bo_put(now);
	}
}

/*
 * Renew the client's demand. This takes a lock of the device for each segment,
 * so it is not done for every job.
 */
static void resident_note_demand(struct tessera_resident_set *set)
{
	unsigned long now = jiffies;
	u32 i;

	if (time_in_range(now, READ_ONCE(set->demanded_at),
			  READ_ONCE(set->demanded_at) + DEMAND_JIFFIES))
		return;
	WRITE_ONCE(set->demanded_at, now);
	for (i = 0; i < tessera_segment_count(set->tdev); i++)
		if (atomic64_read(&set->account->resident[i]))
			tessera_account_note_demand(set->account, i);
}

/**
 * tessera_resident_make() - make objects resident
 * @set: residency list of the caller
 * @handles: handles of the objects; a handle that occurs twice is counted twice
 * @num: number of handles; with 0, only evicted objects are brought back
 * @insist: ask other clients for memory that is theirs before it fails
 * @answer: result
 *
 * Does not wait for the paging jobs. The caller holds no lock, not even
 * &tessera_device.reset_lock. It holds no charge of the process's quota that is
 * only released after the call, because the call may wait for that quota. The
 * account is bound to a process.
 *
 * Return: 0, or one of the errors of &struct drm_tessera_make_resident with all
 * counts unchanged.
 */
int tessera_resident_make(struct tessera_resident_set *set, const u32 *handles, u32 num,
			  bool insist, struct tessera_resident_answer *answer)
{
	struct make make = {
		.set = set,
		.answer = answer,
		.insists = insist,
		.stamp = tessera_residency_next_stamp(set->tdev),
		.left = U32_MAX,
	};
	struct tessera_bos asked;
	int ret;

	resident_note_demand(set);
	/* Hold these references until check_handles(). */
	ret = tessera_bos_lookup(&asked, set->file, handles, sizeof(*handles), num);
	if (ret == -ENOENT)
		answer->failed = asked.num;
	if (!ret)
		ret = make_all(&make, &asked);
	if (!ret) {
		check_handles(set, handles, &asked);
		tessera_trim_changed(set->account);
	}
	tessera_bos_put(&asked);

	return ret;
}

/* ---- Evicting ------------------------------------------------------------ */

/*
 * Return -EINVAL if an object is named more often than it is listed, or if the
 * caller promises what it cannot know, because another client lists the object.
 */
static int evict_check(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num,
		       bool unwritten)
{
	struct tessera_residency_entry *entry;
	u32 i;
	int ret = 0;

	for (i = 0; i < num; i++) {
		entry = tessera_residency_entry_find(set, bos[i]);
		if (tessera_ioctl_bad(set->tdev, !entry || !entry->count ||
				      (unwritten &&
				       !list_is_singular(&bos[i]->residency.entries)))) {
			ret = -EINVAL;
			break;
		}
		entry->count--;
	}
	while (i--)
		tessera_residency_entry_find(set, bos[i])->count++;

	return ret;
}

/**
 * tessera_resident_evict() - lower the counts of listed objects
 * @set: residency list of the caller
 * @handles: handles of the objects
 * @num: number of handles
 * @unwritten: jobs of the file's VMs have not written the objects while these
 * were listed
 *
 * The objects stay in place until another client needs the space. Called
 * between tessera_work_begin() and tessera_work_end().
 *
 * Return: 0, or one of the errors of &struct drm_tessera_evict with nothing
 * changed.
 */
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num,
			   bool unwritten)
{
	struct tessera_bos asked;
	int ret;

	ret = tessera_bos_lookup(&asked, set->file, handles, sizeof(*handles), num) ?:
	      tessera_bos_lock(&asked, NULL);
	if (!ret) {
		ret = evict_check(set, asked.bos, num, unwritten);
		if (!ret)
			tessera_remap_hide(set, asked.bos,
					   drop_bos(set, asked.bos, num, unwritten));
		drm_exec_fini(&asked.exec);
	}
	if (!ret)
		tessera_trim_changed(set->account);
	tessera_bos_put(&asked);

	return ret;
}

/* ---- Jobs ---------------------------------------------------------------- */

/**
 * tessera_resident_ready() - bring all listed objects back before a job
 * @set: the residency list
 *
 * Objects may be evicted again before the job is armed, so the caller checks
 * tessera_resident_complete() under &tessera_page_tables.lock. The rules for
 * locks and charges of tessera_resident_make() apply.
 *
 * Return: 0; or an error of tessera_resident_make().
 */
int tessera_resident_ready(struct tessera_resident_set *set)
{
	struct tessera_resident_answer answer = { };
	int ret;

	if (tessera_resident_complete(set)) {
		resident_note_demand(set);
		return 0;
	}
	ret = tessera_resident_make(set, NULL, 0, false, &answer);
	dma_fence_put(answer.fence);

	return ret;
}

/* ---- User memory --------------------------------------------------------- */

/* Hiding the object queues a paging batch. */
static int rebind_userptr(struct tessera_page_tables *pts, struct tessera_bo *bo)
{
	bool listed;
	int ret;

	ret = tessera_work_begin(pts->tdev);
	if (ret)
		return ret;
	dma_resv_lock(bo->tbo.base.resv, NULL);
	listed = tessera_residency_entry_find(pts->resident, bo);
	/* The handle was closed while the VM mapped it: unmap it. */
	if (!listed)
		tessera_remap_hide(pts->resident, &bo, 1);
	dma_resv_unlock(bo->tbo.base.resv);
	tessera_work_end(pts->tdev, 0);

	return listed ? tessera_userptr_ready(bo, 0) : 0;
}

/**
 * tessera_resident_rebind_userptr() - rebind user memory that has changed
 * @pts: the page tables
 *
 * The page tables may point to pages that do not belong to the process any more
 * (borrow/user.c). Before the next job of the VM, this call looks up the current
 * pages or, if the client does not list the object any more, unmaps it. The
 * pages may change again before the job is armed. The caller holds no lock.
 * Takes one reservation at a time.
 *
 * Return: 0; -ERESTARTSYS; -EBUSY if the memory keeps changing; or an error of
 * tessera_userptr_ready() or tessera_work_begin().
 */
int tessera_resident_rebind_userptr(struct tessera_page_tables *pts)
{
	u32 left = tessera_user_num_invalid(pts->tdev, &pts->jobs) + TESSERA_USER_TRIES;
	struct drm_gem_object *obj;
	int ret = 0;

	while (!ret && (obj = tessera_user_first_invalid(pts->tdev, &pts->jobs))) {
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (!left--)
			ret = -EBUSY;
		else
			ret = rebind_userptr(pts, gem_to_tessera_bo(obj));
		drm_gem_object_put(obj);
	}

	return ret;
}
