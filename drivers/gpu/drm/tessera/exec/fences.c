// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: sets of fences
 *
 * What a job waits for: the latest fence of each context. Adding one takes constant time, however many
 * there are. drm_sched_job_add_dependency() looks at all dependencies of the job each time. No locks.
 */
#include <linux/dma-fence.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "exec/exec.h"

#define MIN_FENCES	8

/* Indexes of fences, counted from 1, behind the fences themselves: a hash table with twice as many slots. */
static u32 *fences_slots(const struct tessera_fences *fences)
{
	return (u32 *)(fences->fence + fences->max);
}

/* The slot of a context, which is 0 if there is no fence of it. */
static u32 *fences_find(const struct tessera_fences *fences, u64 context)
{
	u32 *slots = fences_slots(fences), mask = 2 * fences->max - 1;
	u32 i = hash_64(context, 32) & mask;

	while (slots[i] && fences->fence[slots[i] - 1]->context != context)
		i = (i + 1) & mask;

	return &slots[i];
}

/**
 * tessera_fences_try_add() - take a fence in if there is room
 * @fences: zeroed at first; tessera_fences_fini() even after a failure
 * @fence: the fence; the reference stays the caller's
 *
 * Return: 0, or -ENOSPC: to be called again after tessera_fences_grow().
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
 * tessera_fences_has() - ask whether a fence is in a set, or one of its context that is later
 * @fences: the set
 * @fence: the fence
 *
 * Return: true if so.
 */
bool tessera_fences_has(const struct tessera_fences *fences, struct dma_fence *fence)
{
	u32 slot = fences->max ? *fences_find(fences, fence->context) : 0;

	return slot && !dma_fence_is_later(fence, fences->fence[slot - 1]);
}

/**
 * tessera_fences_grow() - make room for more
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
 * tessera_fences_add() - take a fence in
 * @fences: zeroed at first; tessera_fences_fini() even after a failure
 * @fence: the fence; the reference stays the caller's
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
 * tessera_fences_fini() - drop all fences
 * @fences: the set
 */
void tessera_fences_fini(struct tessera_fences *fences)
{
	while (fences->num)
		dma_fence_put(fences->fence[--fences->num]);
	kfree(fences->fence);
	*fences = (struct tessera_fences) { };
}
