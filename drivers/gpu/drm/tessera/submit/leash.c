// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: leashes
 *
 * The scheduler cannot be told to forget what a queued job waits for. What user space asks
 * a job to wait for may take as long as somebody else likes; and while it lasts, the job stands
 * in others' way, although its client may be long gone. So a job waits for such a
 * fence on a leash: a fence of ours that signals with it, or when the leash is cut.
 *
 * Fences that a job finds in reservations are not on a leash: they guard memory.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "submit/leash.h"

struct tessera_leash {
	struct dma_fence base;
	/* The fence's own. */
	spinlock_t lock;
	struct dma_fence *target;
	struct dma_fence_cb cb;
	/* In the set, which has a reference; empty once it has been taken out. */
	struct list_head node;
	struct tessera_leashes *set;
};

static const char *leash_get_driver_name(struct dma_fence *fence)
{
	return "tessera";
}

static const char *leash_get_timeline_name(struct dma_fence *fence)
{
	return "tessera-leash";
}

static void leash_release(struct dma_fence *fence)
{
	struct tessera_leash *leash = container_of(fence, struct tessera_leash, base);

	dma_fence_put(leash->target);
	dma_fence_free(fence);
}

static const struct dma_fence_ops leash_ops = {
	.get_driver_name = leash_get_driver_name,
	.get_timeline_name = leash_get_timeline_name,
	.release = leash_release,
};

/* Whoever takes it out of the set has the set's reference. */
static bool leash_take_out(struct tessera_leash *leash)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&leash->set->lock, flags);
	mine = !list_empty(&leash->node);
	list_del_init(&leash->node);
	spin_unlock_irqrestore(&leash->set->lock, flags);

	return mine;
}

static void leash_target_cb(struct dma_fence *target, struct dma_fence_cb *cb)
{
	struct tessera_leash *leash = container_of(cb, struct tessera_leash, cb);

	/* If it is being cut, that waits for us and does the rest. */
	if (!leash_take_out(leash))
		return;
	dma_fence_signal(&leash->base);
	dma_fence_put(&leash->base);
}

/**
 * tessera_leashes_init() - set up a context's leashes
 * @leashes: the leashes
 */
void tessera_leashes_init(struct tessera_leashes *leashes)
{
	spin_lock_init(&leashes->lock);
	INIT_LIST_HEAD(&leashes->list);
}

static struct tessera_leash *leashes_pop(struct tessera_leashes *leashes)
{
	struct tessera_leash *leash;

	spin_lock_irq(&leashes->lock);
	leashes->cut = true;
	leash = list_first_entry_or_null(&leashes->list, struct tessera_leash, node);
	if (leash)
		list_del_init(&leash->node);
	spin_unlock_irq(&leashes->lock);

	return leash;
}

/**
 * tessera_leashes_cut() - wait for none of them any more
 * @leashes: the leashes; new ones are cut at once, but none is being made
 */
void tessera_leashes_cut(struct tessera_leashes *leashes)
{
	struct tessera_leash *leash;

	while ((leash = leashes_pop(leashes))) {
		dma_fence_remove_callback(leash->target, &leash->cb);
		dma_fence_signal(&leash->base);
		dma_fence_put(&leash->base);
	}
}

static bool leashes_add(struct tessera_leashes *leashes, struct tessera_leash *leash)
{
	bool cut;

	spin_lock_irq(&leashes->lock);
	cut = leashes->cut;
	if (!cut) {
		dma_fence_get(&leash->base);
		list_add_tail(&leash->node, &leashes->list);
	}
	spin_unlock_irq(&leashes->lock);

	return !cut;
}

/**
 * tessera_leash_create() - put a fence on a leash
 * @leashes: of the context that is to wait for it; outlives all that are not signalled
 * @fence: the fence; the reference stays the caller's
 *
 * Return: a reference to what to wait for; NULL without memory.
 */
struct dma_fence *tessera_leash_create(struct tessera_leashes *leashes, struct dma_fence *fence)
{
	struct tessera_leash *leash;

	if (dma_fence_is_signaled(fence))
		return dma_fence_get(fence);
	leash = kzalloc(sizeof(*leash), GFP_KERNEL_ACCOUNT);
	if (!leash)
		return NULL;
	spin_lock_init(&leash->lock);
	INIT_LIST_HEAD(&leash->node);
	leash->set = leashes;
	leash->target = dma_fence_get(fence);
	dma_fence_init(&leash->base, &leash_ops, &leash->lock, dma_fence_context_alloc(1), 1);

	/* The callback may come as soon as it is there, so the set's reference is first. */
	if (!leashes_add(leashes, leash))
		dma_fence_signal(&leash->base);
	else if (dma_fence_add_callback(fence, &leash->cb, leash_target_cb))
		leash_target_cb(fence, &leash->cb);

	return &leash->base;
}
