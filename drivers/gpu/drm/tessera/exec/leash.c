// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: leashes
 *
 * The scheduler cannot be told to forget what a queued job waits for. What user space asks
 * a job to wait for may take as long as somebody else likes; and while it lasts, the job stands
 * in others' way, although its client may be long gone. So a job waits for such a
 * fence on a leash: a fence of ours that signals with it, or when the leash is cut.
 *
 * A job has one leash for all of them, found in sync objects or in reservations, which is its context's. Where it is cut the job does
 * nothing but end. A leash also has its fence signal by itself, which some do only for those who have asked.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "exec/leash.h"

/* A fence that is waited for; a reference to it. */
struct leash_target {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct tessera_leash *leash;
	struct leash_target *next;
};

struct tessera_leash {
	struct dma_fence base;
	/* The fence's own. */
	spinlock_t lock;
	/* Those that have not signalled, and one more until it is sealed. */
	atomic_t pending;
	/* In the set, unless it is not there yet or not any more. */
	struct list_head node;
	struct tessera_leashes *set;
	/* Grows until it is sealed; under the set's lock. */
	struct leash_target *targets;
	/* Somebody ends it, and has the reference of whoever does; likewise. */
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
	struct leash_target *target, *next;

	for (target = leash->targets; target; target = next) {
		next = target->next;
		dma_fence_put(target->fence);
		kfree(target);
	}
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

/* After leash_end(). Callbacks may be running: that waits for them, and they do nothing. */
static void leash_cut(struct tessera_leash *leash)
{
	struct leash_target *target;

	for (target = leash->targets; target; target = target->next)
		dma_fence_remove_callback(target->fence, &target->cb);
	leash_signal(leash);
}

/* With the last one the leash may be gone. */
static void leash_done(struct tessera_leash *leash)
{
	if (atomic_dec_and_test(&leash->pending) && leash_end(leash))
		leash_signal(leash);
}

static void leash_target_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	leash_done(container_of(cb, struct leash_target, cb)->leash);
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

/* ---- Making one ------------------------------------------------------------ */

/**
 * tessera_leash_begin() - begin a leash for several fences
 * @leashes: of who is to wait for it; outlives all that are not signalled
 * @gfp: how to allocate
 *
 * Return: the leash, to be sealed, and referred to by tessera_leash_fence(); or NULL.
 */
struct tessera_leash *tessera_leash_begin(struct tessera_leashes *leashes, gfp_t gfp)
{
	struct tessera_leash *leash = kzalloc(sizeof(*leash), gfp);
	bool cut;

	if (!leash)
		return NULL;
	spin_lock_init(&leash->lock);
	atomic_set(&leash->pending, 1);
	leash->set = leashes;
	dma_fence_init(&leash->base, &leash_ops, &leash->lock, dma_fence_context_alloc(1), 1);

	/* Of whoever ends it. */
	dma_fence_get(&leash->base);
	INIT_LIST_HEAD(&leash->node);
	spin_lock_irq(&leashes->lock);
	cut = leashes->cut && leash_end_locked(leash);
	if (!cut)
		list_add_tail(&leash->node, &leashes->list);
	spin_unlock_irq(&leashes->lock);
	if (cut)
		leash_signal(leash);

	return leash;
}

static bool leash_is_ended(struct tessera_leash *leash)
{
	bool ended;

	spin_lock_irq(&leash->set->lock);
	ended = leash->ended;
	spin_unlock_irq(&leash->set->lock);

	return ended;
}

/* False if it is cut: then nobody waits for more. */
static bool leash_add_target(struct tessera_leash *leash, struct leash_target *target)
{
	bool add;

	spin_lock_irq(&leash->set->lock);
	add = !leash->ended;
	if (add) {
		target->next = leash->targets;
		leash->targets = target;
	}
	spin_unlock_irq(&leash->set->lock);

	return add;
}

/**
 * tessera_leash_add() - have a leash wait for one more fence
 * @leash: the leash, not sealed
 * @fence: the fence; the reference stays the caller's
 * @gfp: how to allocate
 *
 * Return: 0, or -ENOMEM, and the leash is to be dropped.
 */
int tessera_leash_add(struct tessera_leash *leash, struct dma_fence *fence, gfp_t gfp)
{
	struct leash_target *target;

	target = kzalloc(sizeof(*target), gfp);
	if (!target)
		return -ENOMEM;
	INIT_LIST_HEAD(&target->cb.node);
	target->leash = leash;
	target->fence = dma_fence_get(fence);
	if (!leash_add_target(leash, target)) {
		dma_fence_put(fence);
		kfree(target);
		return 0;
	}
	atomic_inc(&leash->pending);
	if (dma_fence_add_callback(fence, &target->cb, leash_target_cb))
		leash_done(leash);
	/* Whoever has cut it meanwhile has not seen that. */
	else if (leash_is_ended(leash))
		dma_fence_remove_callback(fence, &target->cb);

	return 0;
}

/**
 * tessera_leash_seal() - a leash has all its fences
 * @leash: the leash; valid as long as what the caller knows to have a reference to its fence
 */
void tessera_leash_seal(struct tessera_leash *leash)
{
	leash_done(leash);
}

/**
 * tessera_leash_fence() - what to wait for with a leash
 * @leash: the leash
 *
 * Return: its fence; the reference is that of tessera_leash_begin().
 */
struct dma_fence *tessera_leash_fence(struct tessera_leash *leash)
{
	return &leash->base;
}

/**
 * tessera_leash_drop() - wait for a leash no more
 * @leash: the leash, sealed or not; the reference of tessera_leash_begin() is gone afterwards
 */
void tessera_leash_drop(struct tessera_leash *leash)
{
	struct dma_fence *fence = &leash->base;

	if (leash_end(leash))
		leash_cut(leash);
	dma_fence_put(fence);
}
