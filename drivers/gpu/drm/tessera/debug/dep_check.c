// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: dependency checks
 *
 * A dependency checker lists the jobs that access an object, to check the
 * dependencies of later jobs. It exists only with CONFIG_DRM_TESSERA_DEBUG.
 * Jobs are ordered by the fences in reservations. A fence that is missing
 * there, or looked up with the wrong usage, leads to wrong bytes at some later
 * time. The checker gets the fence of each queued job as well. The dependencies
 * that a new job has collected, or the waits that a thread has done, are
 * compared with its entries. Each missing dependency is thus reported at once,
 * whether or not the jobs happen to run in the wrong order.
 *
 * Page tables have a dependency checker, too. Their updates count as moves.
 *
 * A checker drops the entries of jobs that a newer job waits for. If it is
 * full, it drops the oldest reader.
 */

#include <linux/dma-fence.h>
#include <linux/kernel.h>
#include <linux/ratelimit.h>

#include "debug/debug.h"
#include "exec/exec.h"

/**
 * tessera_dep_check_init() - set up an empty dependency checker
 * @dep_check: the dependency checker
 */
void tessera_dep_check_init(struct tessera_dep_check *dep_check)
{
	spin_lock_init(&dep_check->lock);
}

/**
 * tessera_dep_check_fini() - drop all records
 * @dep_check: the dependency checker; it has no users left
 */
void tessera_dep_check_fini(struct tessera_dep_check *dep_check)
{
	u32 i;

	for (i = 0; i < TESSERA_DEP_CHECK_RECORDS; i++)
		dma_fence_put(dep_check->records[i].fence);
}

/* The kinds of access that a job of @kind has waited for. */
static u32 is_behind(u32 kind)
{
	switch (kind) {
	case TESSERA_DEP_CHECK_MOVE:
		return TESSERA_DEP_CHECK_MOVE | TESSERA_DEP_CHECK_WRITE | TESSERA_DEP_CHECK_READ;
	case TESSERA_DEP_CHECK_WRITE:
		return TESSERA_DEP_CHECK_WRITE | TESSERA_DEP_CHECK_READ;
	default:
		return 0;
	}
}

/* The record to use for a new job: an unused one, or else the oldest. */
static struct tessera_dep_check_entry *oldest_record(struct tessera_dep_check *dep_check)
{
	struct tessera_dep_check_entry *oldest = &dep_check->records[0];
	u32 i;

	for (i = 0; i < TESSERA_DEP_CHECK_RECORDS; i++) {
		if (!dep_check->records[i].fence)
			return &dep_check->records[i];
		if (dep_check->records[i].stamp < oldest->stamp)
			oldest = &dep_check->records[i];
	}

	return oldest;
}

/**
 * tessera_dep_check_add() - record a queued job
 * @dep_check: the dependency checker of the object or page tables that the job
 *	accesses. The job's fence is already where other jobs look for it
 * @kind: kind of access, one of TESSERA_DEP_CHECK_*
 * @fence: the job's fence; the caller keeps its reference
 */
void tessera_dep_check_add(struct tessera_dep_check *dep_check, u32 kind, struct dma_fence *fence)
{
	struct dma_fence *over[TESSERA_DEP_CHECK_RECORDS + 1] = { };
	struct tessera_dep_check_entry *record;
	u32 i;

	spin_lock(&dep_check->lock);
	for (i = 0; i < TESSERA_DEP_CHECK_RECORDS; i++) {
		record = &dep_check->records[i];
		if (record->fence && (record->kind & is_behind(kind)))
			swap(over[i], record->fence);
	}
	record = oldest_record(dep_check);
	over[TESSERA_DEP_CHECK_RECORDS] = record->fence;
	*record = (struct tessera_dep_check_entry) {
		.fence = dma_fence_get(fence), .kind = kind, .stamp = ++dep_check->stamp,
	};
	if (kind != TESSERA_DEP_CHECK_READ)
		WRITE_ONCE(dep_check->written, kind == TESSERA_DEP_CHECK_WRITE);
	spin_unlock(&dep_check->lock);

	for (i = 0; i < ARRAY_SIZE(over); i++)
		dma_fence_put(over[i]);
}

/**
 * tessera_dep_check_stamp() - get the number of the last queued job
 * @dep_check: the dependency checker
 *
 * Return: the number, for tessera_dep_check_idle().
 */
u64 tessera_dep_check_stamp(struct tessera_dep_check *dep_check)
{
	u64 stamp;

	spin_lock(&dep_check->lock);
	stamp = dep_check->stamp;
	spin_unlock(&dep_check->lock);

	return stamp;
}

/**
 * tessera_dep_check_is_written() - test whether an object was written after its
 * last move
 * @dep_check: the object's dependency checker; its reservation is held
 *
 * Return: true if a job that writes the object was queued after its last move.
 */
bool tessera_dep_check_is_written(struct tessera_dep_check *dep_check)
{
	return READ_ONCE(dep_check->written);
}

static const char *kind_name(u32 kind)
{
	return kind == TESSERA_DEP_CHECK_MOVE ? "moves it" :
	       kind == TESSERA_DEP_CHECK_WRITE ? "writes it" : "reads it";
}

static void check(struct tessera_dep_check *dep_check, u32 kinds,
		  const struct tessera_fences *waits, u64 stamp, u32 id, const char *who)
{
	struct tessera_dep_check_entry *record;
	struct dma_fence *fence;
	u32 i, kind;

	for (i = 0; i < TESSERA_DEP_CHECK_RECORDS; i++) {
		spin_lock(&dep_check->lock);
		record = &dep_check->records[i];
		kind = record->kind;
		fence = kind & kinds && record->stamp <= stamp && record->fence ?
			dma_fence_get(record->fence) : NULL;
		spin_unlock(&dep_check->lock);
		if (!fence)
			continue;
		WARN_RATELIMIT(!tessera_fences_has(waits, fence) && !dma_fence_is_signaled(fence),
			       "tessera: object %u: %s the job that %s (fence %llu:%llu)\n",
			       id, who, kind_name(kind), fence->context, fence->seqno);
		dma_fence_put(fence);
	}
}

/**
 * tessera_dep_check_job() - warn about missing dependencies of a job
 * @dep_check: the dependency checker of the object or page tables; its
 *	reservation or lock is held
 * @kinds: the kinds of access that @job has to wait for
 * @job: the job, not armed, with all its dependencies
 * @id: id of the object, for the warning; 0 for page tables
 */
void tessera_dep_check_job(struct tessera_dep_check *dep_check, u32 kinds, struct tessera_job *job,
			   u32 id)
{
	check(dep_check, kinds, &job->waits, U64_MAX, id, "a job is queued that does not wait for");
}

/**
 * tessera_dep_check_fences() - warn about missing dependencies of a fence
 * @dep_check: the dependency checker of the object
 * @kinds: the kinds of access that the fence has to wait for
 * @fences: the fences that it waits for
 * @id: id of the object
 */
void tessera_dep_check_fences(struct tessera_dep_check *dep_check, u32 kinds,
			      const struct tessera_fences *fences, u32 id)
{
	check(dep_check, kinds, fences, U64_MAX, id, "a fence is given out that does not wait for");
}

/**
 * tessera_dep_check_idle() - warn about a missing wait of a thread
 * @dep_check: the dependency checker of the object
 * @kinds: the kinds of access that must have ended
 * @stamp: last job to check: the result of tessera_dep_check_stamp() before the
 *	wait, or U64_MAX
 * @id: id of the object
 */
void tessera_dep_check_idle(struct tessera_dep_check *dep_check, u32 kinds, u64 stamp, u32 id)
{
	check(dep_check, kinds, &(const struct tessera_fences) { }, stamp, id,
	      "it is taken to be idle, without having waited for");
}
