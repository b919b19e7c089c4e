// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: dependency checks (trails)
 *
 * A trail records which jobs access an object, to check the dependencies of
 * later jobs. It exists only with CONFIG_DRM_TESSERA_DEBUG. Jobs are ordered by
 * the fences in reservations. A fence that is missing there, or looked up with
 * the wrong usage, leads to wrong bytes at some later time. A trail gets the
 * fence of each queued job as well. The dependencies that a new job has
 * collected, or the waits that a thread has done, are compared with the trail.
 * Each missing dependency is thus reported at once, whether or not the jobs
 * happen to run in the wrong order.
 *
 * Page tables have a trail, too. Their updates count as moves.
 *
 * A trail drops the records of jobs that a newer job waits for. If it is full,
 * it drops the oldest reader.
 */

#include <linux/dma-fence.h>
#include <linux/kernel.h>
#include <linux/ratelimit.h>

#include "debug/debug.h"
#include "exec/exec.h"

/**
 * tessera_trail_init() - set up an empty trail
 * @trail: the trail
 */
void tessera_trail_init(struct tessera_trail *trail)
{
	spin_lock_init(&trail->lock);
}

/**
 * tessera_trail_fini() - drop all records
 * @trail: the trail; it has no users left
 */
void tessera_trail_fini(struct tessera_trail *trail)
{
	u32 i;

	for (i = 0; i < TESSERA_TRAIL_STEPS; i++)
		dma_fence_put(trail->steps[i].fence);
}

/* The kinds of access that a job of @kind has waited for. */
static u32 is_behind(u32 kind)
{
	switch (kind) {
	case TESSERA_TRAIL_MOVE:
		return TESSERA_TRAIL_MOVE | TESSERA_TRAIL_WRITE | TESSERA_TRAIL_READ;
	case TESSERA_TRAIL_WRITE:
		return TESSERA_TRAIL_WRITE | TESSERA_TRAIL_READ;
	default:
		return 0;
	}
}

/* The record to use for a new job: an unused one, or else the oldest. */
static struct tessera_trail_step *oldest_step(struct tessera_trail *trail)
{
	struct tessera_trail_step *oldest = &trail->steps[0];
	u32 i;

	for (i = 0; i < TESSERA_TRAIL_STEPS; i++) {
		if (!trail->steps[i].fence)
			return &trail->steps[i];
		if (trail->steps[i].stamp < oldest->stamp)
			oldest = &trail->steps[i];
	}

	return oldest;
}

/**
 * tessera_trail_add() - record a queued job
 * @trail: the trail of the object or page tables that the job accesses. The
 *	job's fence is already where other jobs look for it
 * @kind: kind of access, one of TESSERA_TRAIL_*
 * @fence: the job's fence; the caller keeps its reference
 */
void tessera_trail_add(struct tessera_trail *trail, u32 kind, struct dma_fence *fence)
{
	struct dma_fence *over[TESSERA_TRAIL_STEPS + 1] = { };
	struct tessera_trail_step *step;
	u32 i;

	spin_lock(&trail->lock);
	for (i = 0; i < TESSERA_TRAIL_STEPS; i++) {
		step = &trail->steps[i];
		if (step->fence && (step->kind & is_behind(kind)))
			swap(over[i], step->fence);
	}
	step = oldest_step(trail);
	over[TESSERA_TRAIL_STEPS] = step->fence;
	*step = (struct tessera_trail_step) {
		.fence = dma_fence_get(fence), .kind = kind, .stamp = ++trail->stamp,
	};
	if (kind != TESSERA_TRAIL_READ)
		WRITE_ONCE(trail->written, kind == TESSERA_TRAIL_WRITE);
	spin_unlock(&trail->lock);

	for (i = 0; i < ARRAY_SIZE(over); i++)
		dma_fence_put(over[i]);
}

/**
 * tessera_trail_now() - get the number of the last queued job
 * @trail: the trail
 *
 * Return: the number, for tessera_trail_check_over().
 */
u64 tessera_trail_now(struct tessera_trail *trail)
{
	u64 stamp;

	spin_lock(&trail->lock);
	stamp = trail->stamp;
	spin_unlock(&trail->lock);

	return stamp;
}

/**
 * tessera_trail_is_written() - test whether an object was written after its
 * last move
 * @trail: the object's trail; its reservation is held
 *
 * Return: true if a job that writes the object was queued after its last move.
 */
bool tessera_trail_is_written(struct tessera_trail *trail)
{
	return READ_ONCE(trail->written);
}

static const char *kind_name(u32 kind)
{
	return kind == TESSERA_TRAIL_MOVE ? "moves it" :
	       kind == TESSERA_TRAIL_WRITE ? "writes it" : "reads it";
}

static void check(struct tessera_trail *trail, u32 kinds, const struct tessera_fences *waits,
		  u64 stamp, u32 id, const char *who)
{
	struct tessera_trail_step *step;
	struct dma_fence *fence;
	u32 i, kind;

	for (i = 0; i < TESSERA_TRAIL_STEPS; i++) {
		spin_lock(&trail->lock);
		step = &trail->steps[i];
		kind = step->kind;
		fence = kind & kinds && step->stamp <= stamp && step->fence ?
			dma_fence_get(step->fence) : NULL;
		spin_unlock(&trail->lock);
		if (!fence)
			continue;
		WARN_RATELIMIT(!tessera_fences_has(waits, fence) && !dma_fence_is_signaled(fence),
			       "tessera: object %u: %s the job that %s (fence %llu:%llu)\n",
			       id, who, kind_name(kind), fence->context, fence->seqno);
		dma_fence_put(fence);
	}
}

/**
 * tessera_trail_check_job() - warn about missing dependencies of a job
 * @trail: the trail of the object or page tables; its reservation or lock is
 *	held
 * @kinds: the kinds of access that @job has to wait for
 * @job: the job, not armed, with all its dependencies
 * @id: id of the object, for the warning; 0 for page tables
 */
void tessera_trail_check_job(struct tessera_trail *trail, u32 kinds, struct tessera_job *job,
			     u32 id)
{
	check(trail, kinds, &job->waits, U64_MAX, id, "a job is queued that does not wait for");
}

/**
 * tessera_trail_check_fences() - warn about missing dependencies of a fence
 * @trail: the trail of the object
 * @kinds: the kinds of access that the fence has to wait for
 * @fences: the fences that it waits for
 * @id: id of the object
 */
void tessera_trail_check_fences(struct tessera_trail *trail, u32 kinds,
				const struct tessera_fences *fences, u32 id)
{
	check(trail, kinds, fences, U64_MAX, id, "a fence is given out that does not wait for");
}

/**
 * tessera_trail_check_over() - warn about a missing wait of a thread
 * @trail: the trail of the object
 * @kinds: the kinds of access that must have ended
 * @stamp: last job to check: the result of tessera_trail_now() before the wait,
 *	or U64_MAX
 * @id: id of the object
 */
void tessera_trail_check_over(struct tessera_trail *trail, u32 kinds, u64 stamp, u32 id)
{
	check(trail, kinds, &(const struct tessera_fences) { }, stamp, id,
	      "it is taken to be idle, without having waited for");
}
