// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: fence sets
 *
 * A fence set holds the fences that a job waits for: the latest fence of each
 * fence context. Adding a fence takes constant time, regardless of the size of
 * the set. drm_sched_job_add_dependency() instead scans all dependencies of the
 * job at each call. The functions take no locks; the caller serializes them.
 */
#include <linux/dma-fence.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "exec/exec.h"

#define MIN_FENCES	8

/*
 * Return the set's hash table, which follows the fences in the same allocation.
 * It has twice as many slots as fences. A slot holds the index of a fence plus
 * 1.
 */
static u32 *fences_slots(const struct tessera_fences *fences)
{
	return (u32 *)(fences->fence + fences->max);
}

/*
 * Find the slot of a fence context. The slot is 0 if the set has no such fence.
 */
static u32 *fences_find(const struct tessera_fences *fences, u64 context)
{
	u32 *slots = fences_slots(fences), mask = 2 * fences->max - 1;
	u32 i = hash_64(context, 32) & mask;

	while (slots[i] && fences->fence[slots[i] - 1]->context != context)
		i = (i + 1) & mask;

	return &slots[i];
}

/**
 * tessera_fences_try_add() - add a fence if there is space
 * @fences: the set, zeroed at first; call tessera_fences_fini() even after a
 *	failure
 * @fence: the fence; the caller keeps its reference
 *
 * Return: 0, or -ENOSPC: call tessera_fences_grow() and try again.
 */
int tessera_fences_try_add(struct tessera_fences *fences, struct dma_fence *fence)
{
	struct dma_fence *have;
	u32 *slot;

	if (!fences->max)
		return -ENOSPC;
	slot = fences_find(fences, fence->context);
	if (*slot) {
		have = fences->fence[*slot - 1];
		if (dma_fence_is_later(fence, have)) {
			fences->fence[*slot - 1] = dma_fence_get(fence);
			dma_fence_put(have);
		}
		return 0;
	}
	if (fences->num == fences->max)
		return -ENOSPC;
	fences->fence[fences->num++] = dma_fence_get(fence);
	*slot = fences->num;

	return 0;
}

/**
 * tessera_fences_has() - test whether a set covers a fence
 * @fences: the set
 * @fence: the fence
 *
 * Return: true if the set has the fence, or a later one of the same context.
 */
bool tessera_fences_has(const struct tessera_fences *fences, struct dma_fence *fence)
{
	u32 slot = fences->max ? *fences_find(fences, fence->context) : 0;

	return slot && !dma_fence_is_later(fence, fences->fence[slot - 1]);
}

/**
 * tessera_fences_grow() - enlarge a set
 * @fences: the set
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_fences_grow(struct tessera_fences *fences)
{
	struct tessera_fences more = { .num = fences->num };
	u32 i;

	more.max = max(2 * fences->max, MIN_FENCES);
	more.fence = kzalloc(array_size(more.max, TESSERA_FENCES_BYTES),
			     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!more.fence)
		return -ENOMEM;
	if (fences->num)
		memcpy(more.fence, fences->fence, fences->num * sizeof(*more.fence));
	for (i = 0; i < more.num; i++)
		*fences_find(&more, more.fence[i]->context) = i + 1;
	kfree(fences->fence);
	*fences = more;

	return 0;
}

/**
 * tessera_fences_add() - add a fence
 * @fences: the set, zeroed at first; call tessera_fences_fini() even after a
 *	failure
 * @fence: the fence; the caller keeps its reference
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_fences_add(struct tessera_fences *fences, struct dma_fence *fence)
{
	int ret = 0;

	while (!ret && tessera_fences_try_add(fences, fence))
		ret = tessera_fences_grow(fences);

	return ret;
}

/**
 * tessera_fences_fini() - drop all fences and free the set
 * @fences: the set
 */
void tessera_fences_fini(struct tessera_fences *fences)
{
	while (fences->num)
		dma_fence_put(fences->fence[--fences->num]);
	kfree(fences->fence);
	*fences = (struct tessera_fences) { };
}
