// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: leashes
 *
 * The scheduler cannot be told to forget what a queued job waits for. What user space asks
 * a job to wait for may take as long as somebody else likes; and while it lasts, the job stands
 * in others' way, although its client may be long gone. So a job waits for such a
 * fence on a leash: a fence of ours that signals with it, or when the leash is cut.
 *
 * Fences of others that a job finds in reservations guard memory. Their leashes are the device's, and cut
 * when that has gone, as jobs do nothing then but end. A leash also has its fence signal by itself, which
 * some do only for those who have asked.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "exec/leash.h"

struct tessera_leash {
	struct dma_fence base;
	/* The fence's own. */
	spinlock_t lock;
	struct dma_fence *target;
	struct dma_fence_cb cb;
	/* In the set, unless it is not there yet or not any more. */
	struct list_head node;
	struct tessera_leashes *set;
	/* Somebody ends it, and has the reference of whoever does; under the set's lock. */
	bool ended;
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

/* True for the one who is to end it. */
static bool leash_end_locked(struct tessera_leash *leash)
{
	bool mine = !leash->ended;

	lockdep_assert_held(&leash->set->lock);

	leash->ended = true;
	list_del_init(&leash->node);

	return mine;
}

static bool leash_end(struct tessera_leash *leash)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&leash->set->lock, flags);
	mine = leash_end_locked(leash);
	spin_unlock_irqrestore(&leash->set->lock, flags);

	return mine;
}

static void leash_signal(struct tessera_leash *leash)
{
	dma_fence_signal(&leash->base);
	dma_fence_put(&leash->base);
}

/* After leash_end(). The callback may be running: that waits for it, and it does nothing. */
static void leash_cut(struct tessera_leash *leash)
{
	dma_fence_remove_callback(leash->target, &leash->cb);
	leash_signal(leash);
}

static void leash_target_cb(struct dma_fence *target, struct dma_fence_cb *cb)
{
	struct tessera_leash *leash = container_of(cb, struct tessera_leash, cb);

	if (leash_end(leash))
		leash_signal(leash);
}

/**
 * tessera_leashes_init() - set up a set of leashes
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
		leash_end_locked(leash);
	spin_unlock_irq(&leashes->lock);

	return leash;
}

/**
 * tessera_leashes_cut() - wait for none of them any more
 * @leashes: the leashes; new ones are cut at once, and so are those that are being made
 */
void tessera_leashes_cut(struct tessera_leashes *leashes)
{
	struct tessera_leash *leash;

	while ((leash = leashes_pop(leashes)))
		leash_cut(leash);
}

/* False if it is to be cut: the set is, and the target has not signalled meanwhile. */
static bool leashes_add(struct tessera_leashes *leashes, struct tessera_leash *leash)
{
	bool cut = false;

	spin_lock_irq(&leashes->lock);
	if (leashes->cut)
		cut = leash_end_locked(leash);
	else if (!leash->ended)
		list_add_tail(&leash->node, &leashes->list);
	spin_unlock_irq(&leashes->lock);

	return !cut;
}

static struct tessera_leash *leash_alloc(struct tessera_leashes *leashes, struct dma_fence *target)
{
	struct tessera_leash *leash = kzalloc(sizeof(*leash), GFP_KERNEL_ACCOUNT);

	if (!leash)
		return NULL;
	spin_lock_init(&leash->lock);
	INIT_LIST_HEAD(&leash->node);
	leash->set = leashes;
	leash->target = dma_fence_get(target);
	dma_fence_init(&leash->base, &leash_ops, &leash->lock, dma_fence_context_alloc(1), 1);

	return leash;
}

/**
 * tessera_leash_create() - put a fence on a leash
 * @leashes: of who is to wait for it; outlives all that are not signalled
 * @fence: the fence; the reference stays the caller's
 *
 * Return: a reference to what to wait for; NULL without memory.
 */
struct dma_fence *tessera_leash_create(struct tessera_leashes *leashes, struct dma_fence *fence)
{
	struct tessera_leash *leash;

	if (dma_fence_is_signaled(fence))
		return dma_fence_get(fence);
	leash = leash_alloc(leashes, fence);
	if (!leash)
		return NULL;

	/* Of whoever ends it. The callback is there before anybody else finds the leash. */
	dma_fence_get(&leash->base);
	if (dma_fence_add_callback(fence, &leash->cb, leash_target_cb))
		leash_target_cb(fence, &leash->cb);
	else if (!leashes_add(leashes, leash))
		leash_cut(leash);

	return &leash->base;
}

/**
 * tessera_leash_target() - what a job waits for with a leash
 * @leashes: the leashes
 * @fence: any fence
 *
 * Return: the fence that @fence signals with if it is one of @leashes, else NULL; valid as long as @fence.
 */
struct dma_fence *tessera_leash_target(const struct tessera_leashes *leashes,
				       struct dma_fence *fence)
{
	struct tessera_leash *leash = container_of(fence, struct tessera_leash, base);

	return fence->ops == &leash_ops && leash->set == leashes ? leash->target : NULL;
}

/**
 * tessera_leash_drop() - wait for one no more
 * @fence: from tessera_leash_create(); the reference is gone afterwards
 */
void tessera_leash_drop(struct dma_fence *fence)
{
	struct tessera_leash *leash = container_of(fence, struct tessera_leash, base);

	/* It may have been the target itself. */
	if (fence->ops == &leash_ops && leash_end(leash))
		leash_cut(leash);
	dma_fence_put(fence);
}
