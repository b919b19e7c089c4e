// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: proxy fences
 *
 * A proxy fence stands for the foreign fences that a job waits for. It signals when all of
 * them have signalled, or when it is cut.
 *
 * drm_sched cannot be told to drop a dependency of a queued job, and a foreign fence may
 * take as long as user space or another device likes. A job that depended on it directly
 * would keep its place in the queue after its client has gone. The job depends on the proxy
 * fence instead. The context that owns the proxy fence cuts it when the client or the device
 * goes, and a job whose proxy fence was cut does not run.
 *
 * A job has at most one proxy fence, for the foreign fences of its sync objects and of the
 * reservations of its objects. The proxy fence also enables signalling of these: some fences
 * signal only if somebody has asked for it.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "exec/exec.h"

/* A fence that is waited for; a reference to it. */
struct proxy_target {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct tessera_proxy *proxy;
	struct proxy_target *next;
};

struct tessera_proxy {
	struct dma_fence base;
	/* The fence's own. */
	spinlock_t lock;
	/* Those that have not signalled, and one more until it is sealed. */
	atomic_t pending;
	/* In the set, unless it is not there yet or not any more. */
	struct list_head node;
	struct tessera_proxies *set;
	/* Grows until it is sealed; under the set's lock. */
	struct proxy_target *targets;
	/* Somebody ends it, and has the reference of whoever does; likewise. */
	bool ended;
};

static const char *proxy_get_driver_name(struct dma_fence *fence)
{
	return "tessera";
}

static const char *proxy_get_timeline_name(struct dma_fence *fence)
{
	return "tessera-proxy";
}

static void proxy_release(struct dma_fence *fence)
{
	struct tessera_proxy *proxy = container_of(fence, struct tessera_proxy, base);
	struct proxy_target *target, *next;

	for (target = proxy->targets; target; target = next) {
		next = target->next;
		dma_fence_put(target->fence);
		kfree(target);
	}
	dma_fence_free(fence);
}

static const struct dma_fence_ops proxy_ops = {
	.get_driver_name = proxy_get_driver_name,
	.get_timeline_name = proxy_get_timeline_name,
	.release = proxy_release,
};

/* True for the one who is to end it. */
static bool proxy_end_locked(struct tessera_proxy *proxy)
{
	bool mine = !proxy->ended;

	lockdep_assert_held(&proxy->set->lock);

	proxy->ended = true;
	list_del_init(&proxy->node);

	return mine;
}

static bool proxy_end(struct tessera_proxy *proxy)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&proxy->set->lock, flags);
	mine = proxy_end_locked(proxy);
	spin_unlock_irqrestore(&proxy->set->lock, flags);

	return mine;
}

static void proxy_signal(struct tessera_proxy *proxy)
{
	dma_fence_signal(&proxy->base);
	dma_fence_put(&proxy->base);
}

/* After proxy_end(). Callbacks may be running: that waits for them, and they do nothing. */
static void proxy_cut(struct tessera_proxy *proxy)
{
	struct proxy_target *target;

	for (target = proxy->targets; target; target = target->next)
		dma_fence_remove_callback(target->fence, &target->cb);
	proxy_signal(proxy);
}

/* With the last one the proxy may be gone. */
static void proxy_done(struct tessera_proxy *proxy)
{
	if (atomic_dec_and_test(&proxy->pending) && proxy_end(proxy))
		proxy_signal(proxy);
}

static void proxy_target_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	proxy_done(container_of(cb, struct proxy_target, cb)->proxy);
}

/**
 * tessera_proxies_init() - set up a set of proxies
 * @proxies: the proxies
 */
void tessera_proxies_init(struct tessera_proxies *proxies)
{
	spin_lock_init(&proxies->lock);
	INIT_LIST_HEAD(&proxies->list);
}

static struct tessera_proxy *proxies_pop(struct tessera_proxies *proxies)
{
	struct tessera_proxy *proxy;

	spin_lock_irq(&proxies->lock);
	proxies->cut = true;
	proxy = list_first_entry_or_null(&proxies->list, struct tessera_proxy, node);
	if (proxy)
		proxy_end_locked(proxy);
	spin_unlock_irq(&proxies->lock);

	return proxy;
}

/**
 * tessera_proxies_cut() - wait for none of them any more
 * @proxies: the proxies; new ones are cut at once, and so are those that are being made
 */
void tessera_proxies_cut(struct tessera_proxies *proxies)
{
	struct tessera_proxy *proxy;

	while ((proxy = proxies_pop(proxies)))
		proxy_cut(proxy);
}

/* ---- Making one ------------------------------------------------------------ */

/**
 * tessera_proxy_begin() - begin a proxy for several fences
 * @proxies: of who is to wait for it; outlives all that are not signalled
 * @gfp: how to allocate
 *
 * Return: the proxy, to be sealed, and referred to by tessera_proxy_fence(); or NULL.
 */
struct tessera_proxy *tessera_proxy_begin(struct tessera_proxies *proxies, gfp_t gfp)
{
	struct tessera_proxy *proxy = kzalloc(sizeof(*proxy), gfp);
	bool cut;

	if (!proxy)
		return NULL;
	spin_lock_init(&proxy->lock);
	atomic_set(&proxy->pending, 1);
	proxy->set = proxies;
	dma_fence_init(&proxy->base, &proxy_ops, &proxy->lock, dma_fence_context_alloc(1), 1);

	/* Of whoever ends it. */
	dma_fence_get(&proxy->base);
	INIT_LIST_HEAD(&proxy->node);
	spin_lock_irq(&proxies->lock);
	cut = proxies->cut && proxy_end_locked(proxy);
	if (!cut)
		list_add_tail(&proxy->node, &proxies->list);
	spin_unlock_irq(&proxies->lock);
	if (cut)
		proxy_signal(proxy);

	return proxy;
}

static bool proxy_is_ended(struct tessera_proxy *proxy)
{
	bool ended;

	spin_lock_irq(&proxy->set->lock);
	ended = proxy->ended;
	spin_unlock_irq(&proxy->set->lock);

	return ended;
}

/* False if it is cut: then nobody waits for more. */
static bool proxy_add_target(struct tessera_proxy *proxy, struct proxy_target *target)
{
	bool add;

	spin_lock_irq(&proxy->set->lock);
	add = !proxy->ended;
	if (add) {
		target->next = proxy->targets;
		proxy->targets = target;
	}
	spin_unlock_irq(&proxy->set->lock);

	return add;
}

/**
 * tessera_proxy_add() - have a proxy wait for one more fence
 * @proxy: the proxy, not sealed
 * @fence: the fence; the reference stays the caller's
 * @gfp: how to allocate
 *
 * Return: 0, or -ENOMEM, and the proxy is to be dropped.
 */
int tessera_proxy_add(struct tessera_proxy *proxy, struct dma_fence *fence, gfp_t gfp)
{
	struct proxy_target *target;

	target = kzalloc(sizeof(*target), gfp);
	if (!target)
		return -ENOMEM;
	INIT_LIST_HEAD(&target->cb.node);
	target->proxy = proxy;
	target->fence = dma_fence_get(fence);
	if (!proxy_add_target(proxy, target)) {
		dma_fence_put(fence);
		kfree(target);
		return 0;
	}
	atomic_inc(&proxy->pending);
	if (dma_fence_add_callback(fence, &target->cb, proxy_target_cb))
		proxy_done(proxy);
	/* Whoever has cut it meanwhile has not seen that. */
	else if (proxy_is_ended(proxy))
		dma_fence_remove_callback(fence, &target->cb);

	return 0;
}

/**
 * tessera_proxy_seal() - a proxy has all its fences
 * @proxy: the proxy; valid as long as what the caller knows to have a reference to its fence
 */
void tessera_proxy_seal(struct tessera_proxy *proxy)
{
	proxy_done(proxy);
}

/**
 * tessera_proxy_fence() - what to wait for with a proxy
 * @proxy: the proxy
 *
 * Return: its fence; the reference is that of tessera_proxy_begin().
 */
struct dma_fence *tessera_proxy_fence(struct tessera_proxy *proxy)
{
	return &proxy->base;
}

/**
 * tessera_proxy_drop() - wait for a proxy no more
 * @proxy: the proxy, sealed or not; the reference of tessera_proxy_begin() is gone afterwards
 */
void tessera_proxy_drop(struct tessera_proxy *proxy)
{
	struct dma_fence *fence = &proxy->base;

	if (proxy_end(proxy))
		proxy_cut(proxy);
	dma_fence_put(fence);
}
