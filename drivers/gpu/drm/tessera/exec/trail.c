// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: trails
 *
 * A second account of what jobs do to an object, kept by CONFIG_DRM_TESSERA_DEBUG only. What
 * orders jobs are the fences in reservations: one that is forgotten there, or looked for with
 * the wrong usage, shows as wrong bytes somewhere, some time. Here each job that is queued leaves
 * its fence, too, and who has collected what to wait for, or has waited, is compared with that: it
 * is told at once, every time, whether or not the jobs happen to run in the wrong order.
 *
 * Of page tables there is a trail as well; their changes are moves.
 *
 * A trail forgets what the last job waits for, and the oldest of many readers.
 */

#include <linux/dma-fence.h>
#include <linux/kernel.h>
#include <linux/ratelimit.h>

#include "exec/exec.h"

/**
 * tessera_trail_init() - begin where no job has been
 * @trail: the trail
 */
void tessera_trail_init(struct tessera_trail *trail)
{
	spin_lock_init(&trail->lock);
}

/**
 * tessera_trail_fini() - forget everything
 * @trail: the trail; nobody looks at it any more
 */
void tessera_trail_fini(struct tessera_trail *trail)
{
	u32 i;

	for (i = 0; i < TESSERA_TRAIL_STEPS; i++)
		dma_fence_put(trail->steps[i].fence);
}

/* A job of @kind has waited for those. */
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

/* The one to take for another job: an empty one, or the oldest. */
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
 * tessera_trail_add() - a job is queued
 * @trail: of what it works on; its fence is where others look for it already
 * @kind: what it does, one of TESSERA_TRAIL_*
 * @fence: its fence; the reference stays the caller's
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
 * tessera_trail_now() - remember which jobs are queued
 * @trail: the trail
 *
 * Return: number of the last one.
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
 * tessera_trail_is_written() - ask whether an object's last move has the bytes it has now
 * @trail: the object's, whose reservation is held
 *
 * Return: true if a job has been queued behind that move that writes it.
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
 * tessera_trail_check_job() - warn of a job that would not wait
 * @trail: of what it works on, whose reservation or lock is held
 * @kinds: what it has to wait for
 * @job: the job, not armed, with all its dependencies
 * @id: of the object, for the warning; 0: of page tables
 */
void tessera_trail_check_job(struct tessera_trail *trail, u32 kinds, struct tessera_job *job,
			     u32 id)
{
	check(trail, kinds, &job->waits, U64_MAX, id, "a job is queued that does not wait for");
}

/**
 * tessera_trail_check_fences() - warn of a fence that would signal too early
 * @trail: of what it is about
 * @kinds: what it has to wait for
 * @fences: what it waits for
 * @id: of the object
 */
void tessera_trail_check_fences(struct tessera_trail *trail, u32 kinds,
				const struct tessera_fences *fences, u32 id)
{
	check(trail, kinds, fences, U64_MAX, id, "a fence is given out that does not wait for");
}

/**
 * tessera_trail_check_over() - warn of somebody who has not waited
 * @trail: of what it is about
 * @kinds: what has to be over
 * @stamp: up to this job: what tessera_trail_now() has returned before the wait, or U64_MAX
 * @id: of the object
 */
void tessera_trail_check_over(struct tessera_trail *trail, u32 kinds, u64 stamp, u32 id)
{
	check(trail, kinds, &(const struct tessera_fences) { }, stamp, id,
	      "it is taken to be idle, without having waited for");
}
