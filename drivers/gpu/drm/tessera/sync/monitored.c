// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: monitored fences
 *
 * A monitored fence is a timeline syncobj together with a 64-bit value in
 * memory. The value is never lower than the point that the syncobj has reached,
 * and it only rises. The rules are:
 *
 * - Values get their order when their jobs are armed, under the lock of the
 *   client's set. They rise in that order.
 * - When a job is over, the CPU publishes its values before its fence signals,
 *   also if the job has failed. A waiter therefore does not hang on a job that
 *   has failed or was lost by the device. If earlier values are still pending,
 *   the value is published together with the preceding one, as points of a
 *   syncobj are. The same holds for a value signalled by the CPU while jobs are
 *   pending.
 * - The device writes a value itself if all pending earlier values belong to
 *   jobs of the same context, which run in order. It uses a SIGNAL packet after
 *   the job's commands. Jobs of different contexts are not ordered, so with
 *   several contexts only the first value is written by the device.
 * - Command streams of the client may raise a value, too, if its VM maps the
 *   page (VM_BIND). The syncobj does not follow: no dma_fence depends on what a
 *   command stream does.
 * - CPU and device write with compare and exchange, and only raise the value.
 *
 * Locks: the set's mutex is a leaf among the mutexes, and is held from
 * tessera_signals_begin() to tessera_signals_commit(). The fence's spinlock
 * nests inside it. In interrupts it is taken inside the engine's lock.
 */
#include <linux/dma-fence-chain.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include <drm/drm_vma_manager.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/device.h"
#include "client/client.h"
#include "exec/exec.h"
#include "hw/abi.h"
#include "sync/sync.h"

struct tessera_monitored_set {
	struct tessera_device *tdev;
	struct drm_file *file;
	struct tessera_account *account;
	/*
	 * Protects the members below, and the order in which values are armed.
	 */
	struct mutex lock;
	struct xarray fences;
	DECLARE_HASHTABLE(by_syncobj, 6);
	/* Value pages; they live as long as the set. */
	struct tessera_value_page **pages;
	u32 num_pages;
};

/* One value that a job signals. */
struct tessera_signal {
	struct tessera_monitored *fence;
	struct tessera_signals *owner;
	/*
	 * Link in &tessera_monitored.pending, from commit on. While it is
	 * there, @value may be raised under the fence's lock.
	 */
	struct list_head node;
	u64 value;
	/*
	 * No higher value was armed before; decided by tessera_signals_begin().
	 */
	bool live;
};

struct tessera_signals {
	struct kref ref;
	struct tessera_monitored_set *set;
	/* The quota that is charged. */
	struct tessera_quota *quota;
	/* Identifies the job's context; only compared. */
	const void *queue;
	/* The SIGNAL packets. */
	struct tessera_ib *ib;
	u32 num;
	u32 max;
	struct tessera_signal at[] __counted_by(max);
};

struct tessera_monitored {
	/* References: the table's, and one of each signal. */
	struct kref ref;
	struct drm_syncobj *syncobj;
	struct tessera_value_page *page;
	u32 slot;
	struct hlist_node node;
	/*
	 * Highest value armed so far, or signalled by the CPU; under the set's
	 * lock.
	 */
	u64 last;
	/*
	 * Protects @pending, the values in it, @queue, and writes by the CPU.
	 */
	spinlock_t lock;
	/* Signals of unfinished jobs, in the order of arming. */
	struct list_head pending;
	/* The context of all jobs in @pending; NULL if there are several. */
	const void *queue;
};

/* ---- Fences -------------------------------------------------------------- */

static void monitored_release(struct kref *ref)
{
	struct tessera_monitored *fence = container_of(ref, struct tessera_monitored, ref);

	if (fence->page) {
		clear_bit(fence->slot, fence->page->taken);
		drm_gem_object_put(&fence->page->base);
	}
	if (fence->syncobj)
		drm_syncobj_put(fence->syncobj);
	kfree(fence);
}

static void monitored_put(struct tessera_monitored *fence)
{
	kref_put(&fence->ref, monitored_release);
}

static struct tessera_signal *monitored_last_locked(struct tessera_monitored *fence)
{
	lockdep_assert_held(&fence->lock);

	return list_empty(&fence->pending) ? NULL :
	       list_last_entry(&fence->pending, struct tessera_signal, node);
}

static u64 *monitored_value(const struct tessera_monitored *fence)
{
	return (u64 *)page_address(fence->page->page) + fence->slot;
}

/*
 * The device may write a higher value concurrently, hence compare and exchange.
 */
static void monitored_write_locked(struct tessera_monitored *fence, u64 value)
{
	u64 *at = monitored_value(fence);
	u64 want = (__force u64)cpu_to_le64(value);
	u64 have = READ_ONCE(*at);

	lockdep_assert_held(&fence->lock);

	while (le64_to_cpu((__force __le64)have) < value)
		if (try_cmpxchg64(at, &have, want))
			break;
}

static struct tessera_monitored *monitored_find_locked(struct tessera_monitored_set *set,
						       struct drm_syncobj *syncobj)
{
	struct tessera_monitored *fence;

	lockdep_assert_held(&set->lock);

	hash_for_each_possible(set->by_syncobj, fence, node, (unsigned long)syncobj)
		if (fence->syncobj == syncobj)
			return fence;

	return NULL;
}

/* Allocate a slot in a page of the set, or in a new page. */
static int monitored_take_value_locked(struct tessera_monitored_set *set,
				       struct tessera_monitored *fence)
{
	struct tessera_value_page **pages, *page;
	int slot = -ENOSPC;
	u32 i;

	for (i = 0; i < set->num_pages && slot < 0; i++)
		slot = tessera_value_page_alloc_slot(set->pages[i]);
	if (slot >= 0) {
		page = set->pages[i - 1];
	} else {
		pages = krealloc_array(set->pages, set->num_pages + 1, sizeof(*pages),
				       GFP_KERNEL_ACCOUNT);
		if (!pages)
			return -ENOMEM;
		set->pages = pages;
		page = tessera_value_page_create(set->tdev, set->file);
		if (IS_ERR(page))
			return PTR_ERR(page);
		pages[set->num_pages++] = page;
		slot = tessera_value_page_alloc_slot(page);
	}
	drm_gem_object_get(&page->base);
	fence->page = page;
	fence->slot = slot;

	return 0;
}

static int monitored_add_locked(struct tessera_monitored_set *set,
				struct tessera_monitored *fence, u32 *id)
{
	int ret;

	ret = monitored_take_value_locked(set, fence);
	if (ret)
		return ret;
	/* The slot may hold the value of an earlier fence. */
	WRITE_ONCE(*monitored_value(fence), (__force u64)cpu_to_le64(fence->last));
	ret = xa_alloc(&set->fences, id, fence, XA_LIMIT(1, TESSERA_MAX_MONITORED),
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -ENOSPC : ret;
	hash_add(set->by_syncobj, &fence->node, (unsigned long)fence->syncobj);

	return 0;
}

static int monitored_add(struct tessera_monitored_set *set, struct tessera_monitored *fence,
			 u32 *id)
{
	atomic_t *count = &set->account->process->count.fences;
	int ret = tessera_account_count(count, TESSERA_MAX_MONITORED);

	if (ret)
		return ret;
	mutex_lock(&set->lock);
	ret = monitored_add_locked(set, fence, id);
	if (!ret)
		kref_get(&fence->ref);
	mutex_unlock(&set->lock);
	if (ret)
		atomic_dec(&set->account->process->count.fences);

	return ret;
}

static int monitored_publish(struct tessera_monitored_set *set, struct tessera_monitored *fence,
			     struct drm_tessera_fence_create *args)
{
	int ret;

	args->mmap_offset = drm_vma_node_offset_addr(&fence->page->base.vma_node);
	args->offset = fence->slot * sizeof(u64);
	ret = drm_syncobj_get_handle(set->file, fence->syncobj, &args->syncobj);
	if (ret)
		tessera_monitored_destroy(set, args->id);

	return ret;
}

static int monitored_init_syncobj(struct tessera_monitored *fence)
{
	struct dma_fence_chain *chain = NULL;
	struct dma_fence *stub;
	int ret;

	if (fence->last) {
		chain = dma_fence_chain_alloc();
		if (!chain)
			return -ENOMEM;
	}
	ret = drm_syncobj_create(&fence->syncobj, 0, NULL);
	if (ret) {
		fence->syncobj = NULL;
		dma_fence_chain_free(chain);
		return ret;
	}
	if (chain) {
		stub = dma_fence_get_stub();
		drm_syncobj_add_point(fence->syncobj, chain, stub, fence->last);
		dma_fence_put(stub);
	}

	return 0;
}

/**
 * tessera_monitored_create() - create a monitored fence
 * @set: the set of a client that is bound to a process
 * @args: the initial value; receives the other members
 *
 * Return: 0, -ENOSPC if the process has too many of them, -ENOMEM or -ENODEV.
 */
int tessera_monitored_create(struct tessera_monitored_set *set,
			     struct drm_tessera_fence_create *args)
{
	struct tessera_monitored *fence;
	int ret;

	fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);
	if (!fence)
		return -ENOMEM;
	kref_init(&fence->ref);
	spin_lock_init(&fence->lock);
	INIT_LIST_HEAD(&fence->pending);
	fence->last = args->value;

	ret = monitored_init_syncobj(fence);
	if (!ret)
		ret = monitored_add(set, fence, &args->id);
	if (!ret)
		ret = monitored_publish(set, fence, args);
	monitored_put(fence);

	return ret;
}

/**
 * tessera_monitored_destroy() - remove a fence from its client's table
 * @set: the client's set
 * @id: id of the fence
 *
 * Jobs that are to signal the fence still do, but its value is no longer
 * visible.
 *
 * Return: 0 or -ENOENT.
 */
int tessera_monitored_destroy(struct tessera_monitored_set *set, u32 id)
{
	struct tessera_monitored *fence;

	mutex_lock(&set->lock);
	fence = xa_erase(&set->fences, id);
	if (fence)
		hash_del(&fence->node);
	mutex_unlock(&set->lock);
	if (!fence)
		return -ENOENT;
	atomic_dec(&set->account->process->count.fences);
	monitored_put(fence);

	return 0;
}

static void monitored_raise_locked(struct tessera_monitored *fence, u64 value)
{
	struct tessera_signal *last;

	fence->last = value;
	spin_lock_irq(&fence->lock);
	last = monitored_last_locked(fence);
	if (last)
		last->value = value;
	else
		monitored_write_locked(fence, value);
	spin_unlock_irq(&fence->lock);
}

/**
 * tessera_monitored_signal() - signal a fence from the CPU
 * @set: the client's set
 * @id: id of the fence
 * @value: the new value
 *
 * If jobs that signal lower values are unfinished, the value takes effect when
 * they are over.
 *
 * Return: 0, -ENOENT, -EINVAL if the value is not above all earlier ones, or
 * -ENOMEM.
 */
int tessera_monitored_signal(struct tessera_monitored_set *set, u32 id, u64 value)
{
	struct dma_fence_chain *chain = dma_fence_chain_alloc();
	struct tessera_monitored *fence;
	struct dma_fence *stub;
	int ret = 0;

	if (!chain)
		return -ENOMEM;
	mutex_lock(&set->lock);
	fence = xa_load(&set->fences, id);
	if (!fence)
		ret = -ENOENT;
	else if (tessera_ioctl_bad(set->tdev, value <= fence->last))
		ret = -EINVAL;
	if (!ret) {
		monitored_raise_locked(fence, value);
		stub = dma_fence_get_stub();
		drm_syncobj_add_point(fence->syncobj, chain, stub, value);
		dma_fence_put(stub);
	}
	mutex_unlock(&set->lock);
	if (ret)
		dma_fence_chain_free(chain);

	return ret;
}

/**
 * tessera_monitored_get_page() - find the page that holds the value of a fence
 * @set: the client's set
 * @id: id of the fence
 *
 * All values of the page belong to fences of the same client.
 *
 * Return: the page with a reference, or NULL if there is no such fence.
 */
struct tessera_value_page *tessera_monitored_get_page(struct tessera_monitored_set *set, u32 id)
{
	struct tessera_value_page *page = NULL;
	struct tessera_monitored *fence;

	mutex_lock(&set->lock);
	fence = xa_load(&set->fences, id);
	if (fence) {
		page = fence->page;
		drm_gem_object_get(&page->base);
	}
	mutex_unlock(&set->lock);

	return page;
}

/**
 * tessera_monitored_set_create() - create a client's set of monitored fences
 * @tdev: the device
 * @file: the open file
 * @account: the file's account, which is charged; outlives the set
 *
 * Return: the empty set, or NULL if out of memory.
 */
struct tessera_monitored_set *tessera_monitored_set_create(struct tessera_device *tdev,
							   struct drm_file *file,
							   struct tessera_account *account)
{
	struct tessera_monitored_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (!set)
		return NULL;
	set->tdev = tdev;
	set->file = file;
	set->account = account;
	mutex_init(&set->lock);
	xa_init_flags(&set->fences, XA_FLAGS_ALLOC1);
	hash_init(set->by_syncobj);

	return set;
}

/**
 * tessera_monitored_set_destroy() - destroy the set of a client that closes its
 * file
 * @set: the set; no submission of the client is in progress
 */
void tessera_monitored_set_destroy(struct tessera_monitored_set *set)
{
	struct tessera_monitored *fence;
	unsigned long id;
	u32 i;

	xa_for_each(&set->fences, id, fence) {
		atomic_dec(&set->account->process->count.fences);
		monitored_put(fence);
	}
	xa_destroy(&set->fences);
	for (i = 0; i < set->num_pages; i++) {
		drm_vma_node_revoke(&set->pages[i]->base.vma_node, set->file);
		drm_gem_object_put(&set->pages[i]->base);
	}
	kfree(set->pages);
	mutex_destroy(&set->lock);
	kfree(set);
}

/* ---- Signals of a job ---------------------------------------------------- */

static void signals_release(struct kref *ref)
{
	struct tessera_signals *signals = container_of(ref, struct tessera_signals, ref);
	u32 i;

	for (i = 0; i < signals->num; i++)
		monitored_put(signals->at[i].fence);
	tessera_ib_put(signals->ib);
	tessera_quota_uncharge(signals->quota, struct_size(signals, at, signals->max));
	kvfree(signals);
}

/**
 * tessera_signals_get() - take a reference
 * @signals: the values of a job
 *
 * Return: @signals.
 */
struct tessera_signals *tessera_signals_get(struct tessera_signals *signals)
{
	kref_get(&signals->ref);

	return signals;
}

/**
 * tessera_signals_put() - drop a reference
 * @signals: the values of a job, or NULL
 *
 * Process context.
 */
void tessera_signals_put(struct tessera_signals *signals)
{
	if (signals)
		kref_put(&signals->ref, signals_release);
}

static struct tessera_signals *signals_create(struct tessera_monitored_set *set,
					      struct tessera_quota *quota, u32 max)
{
	struct tessera_signals *signals;

	signals = kvzalloc(struct_size(signals, at, max), GFP_KERNEL_ACCOUNT);
	if (!signals)
		return NULL;
	kref_init(&signals->ref);
	signals->set = set;
	signals->max = max;
	signals->quota = quota;
	tessera_quota_charge(quota, struct_size(signals, at, max));

	return signals;
}

/* A job may signal the same fence several times if the value rises. */
static bool signals_rise(const struct tessera_signals *signals,
			 const struct tessera_monitored *fence, u64 value)
{
	u32 i;

	for (i = 0; i < signals->num; i++)
		if (signals->at[i].fence == fence && value <= signals->at[i].value)
			return false;

	return value > fence->last;
}

static int signals_append_locked(struct tessera_signals *signals,
				 struct tessera_monitored *fence, u64 value)
{
	struct tessera_signal *signal;

	if (tessera_ioctl_bad(signals->set->tdev, !signals_rise(signals, fence, value)))
		return -EINVAL;
	signal = &signals->at[signals->num++];
	kref_get(&fence->ref);
	signal->fence = fence;
	signal->owner = signals;
	signal->value = value;
	INIT_LIST_HEAD(&signal->node);

	return 0;
}

/**
 * tessera_signals_add() - let a job signal a point of a timeline
 * @signals: the values of the job; points to NULL if there are none yet
 * @set: the client's monitored fences
 * @quota: the client's quota; outlives the signals
 * @syncobj: the timeline; ignored unless it belongs to a monitored fence
 * @value: the point
 * @max: maximum number of values of the job
 *
 * Return: 1 if the value was added, 0 if @syncobj belongs to no monitored
 * fence, -EINVAL if the value does not rise, or -ENOMEM.
 */
int tessera_signals_add(struct tessera_signals **signals, struct tessera_monitored_set *set,
			struct tessera_quota *quota, struct drm_syncobj *syncobj, u64 value,
			u32 max)
{
	struct tessera_monitored *fence;
	int ret = 0;

	mutex_lock(&set->lock);
	fence = monitored_find_locked(set, syncobj);
	if (fence && !*signals) {
		*signals = signals_create(set, quota, max);
		if (!*signals)
			ret = -ENOMEM;
	}
	if (fence && !ret)
		ret = signals_append_locked(*signals, fence, value);
	mutex_unlock(&set->lock);

	return ret ?: !!fence;
}

/**
 * tessera_signals_prepare() - allocate memory for the SIGNAL packets
 * @signals: the values of a job, complete
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_signals_prepare(struct tessera_signals *signals)
{
	struct tessera_ib *ib;

	ib = tessera_ib_create(signals->set->tdev, signals->quota,
			       signals->num * sizeof(struct tessera_pkt_signal));
	if (IS_ERR(ib))
		return PTR_ERR(ib);
	signals->ib = ib;

	return 0;
}

static void signal_write_packet(struct tessera_signal *signal, struct tessera_pkt_signal *pkt)
{
	dma_addr_t dma = signal->fence->page->dma + signal->fence->slot * sizeof(u64);

	pkt->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_SIGNAL, TSR_SIGNAL_RAISE,
						 TSR_SIGNAL_DWORDS));
	pkt->zero = 0;
	pkt->addr_lo = cpu_to_le32(lower_32_bits(dma));
	pkt->addr_hi = cpu_to_le32(upper_32_bits(dma));
	pkt->value_lo = cpu_to_le32(lower_32_bits(signal->value));
	pkt->value_hi = cpu_to_le32(upper_32_bits(signal->value));
}

/*
 * True if all earlier values of the fence will be written before this one.
 * Called under the set's lock, so no value can be armed meanwhile. Values may
 * be published meanwhile, which does no harm.
 */
static bool signal_is_ordered(struct tessera_signal *signal)
{
	struct tessera_monitored *fence = signal->fence;
	bool ordered;

	spin_lock_irq(&fence->lock);
	ordered = list_empty(&fence->pending) || fence->queue == signal->owner->queue;
	spin_unlock_irq(&fence->lock);

	return ordered;
}

/*
 * Returns false if a value was overtaken: a higher one was armed or signalled
 * meanwhile. The higher value also wakes the waiters for this one.
 */
static bool signals_choose_locked(struct tessera_signals *signals)
{
	bool all = true;
	u32 i;

	lockdep_assert_held(&signals->set->lock);

	for (i = 0; i < signals->num; i++) {
		signals->at[i].live = signals->at[i].value > signals->at[i].fence->last;
		all &= signals->at[i].live;
	}

	return all;
}

static void signals_write_packets(struct tessera_signals *signals, struct tessera_job *job)
{
	struct tessera_pkt_signal *pkt = tessera_ib_cpu(signals->ib);
	u32 i, bytes;

	for (i = 0; i < signals->num; i++)
		if (signals->at[i].live && signal_is_ordered(&signals->at[i]))
			signal_write_packet(&signals->at[i], pkt++);
	bytes = (void *)pkt - tessera_ib_cpu(signals->ib);
	tessera_job_add_range(job, signals->ib, 0, bytes, false);
}

/**
 * tessera_signals_begin() - make a job signal its values
 * @signals: the values
 * @job: the job, complete except for the SIGNAL packets; NULL if it does not
 *	run
 * @queue: identifies the job's context
 * @late: other jobs of the submission are already armed: skip overtaken values
 *	instead of failing
 *
 * This is the last step before the job is armed that can fail. On success it
 * returns with the set's lock held. tessera_signals_commit() or
 * tessera_signals_cancel() must follow and drops the lock.
 *
 * Return: 0, or -EINVAL if a value was overtaken and @late is false.
 */
int tessera_signals_begin(struct tessera_signals *signals, struct tessera_job *job,
			  const void *queue, bool late)
{
	mutex_lock(&signals->set->lock);
	if (!signals_choose_locked(signals) && !late) {
		mutex_unlock(&signals->set->lock);
		return -EINVAL;
	}
	signals->queue = queue;
	if (job)
		signals_write_packets(signals, job);

	return 0;
}

/**
 * tessera_signals_live() - test whether a value is to be signalled
 * @signals: the values, between tessera_signals_begin() and commit
 * @index: index of the value, in the order of tessera_signals_add()
 *
 * Return: false if the value was overtaken.
 */
bool tessera_signals_live(const struct tessera_signals *signals, u32 index)
{
	return signals->at[index].live;
}

/**
 * tessera_signals_cancel() - drop the lock without arming the job
 * @signals: the values, after tessera_signals_begin()
 */
void tessera_signals_cancel(struct tessera_signals *signals)
{
	mutex_unlock(&signals->set->lock);
}

/**
 * tessera_signals_commit() - make the values of an armed job pending
 * @signals: the values, after tessera_signals_begin()
 *
 * Drops the set's lock.
 */
void tessera_signals_commit(struct tessera_signals *signals)
{
	u32 i;

	for (i = 0; i < signals->num; i++) {
		struct tessera_signal *signal = &signals->at[i];
		struct tessera_monitored *fence = signal->fence;

		if (!signal->live)
			continue;
		fence->last = signal->value;
		spin_lock_irq(&fence->lock);
		if (list_empty(&fence->pending))
			fence->queue = signals->queue;
		else if (fence->queue != signals->queue)
			fence->queue = NULL;
		list_add_tail(&signal->node, &fence->pending);
		spin_unlock_irq(&fence->lock);
	}
	mutex_unlock(&signals->set->lock);
}

/*
 * Publish a value. If earlier values are pending, merge it into the preceding
 * one, as the points of a syncobj do.
 */
static void signal_publish_locked(struct tessera_signal *signal)
{
	struct tessera_monitored *fence = signal->fence;

	lockdep_assert_held(&fence->lock);

	if (list_empty(&signal->node))
		return;
	if (list_is_first(&signal->node, &fence->pending))
		monitored_write_locked(fence, signal->value);
	else
		list_prev_entry(signal, node)->value = signal->value;
	list_del_init(&signal->node);
}

/**
 * tessera_signals_publish() - publish the values of a job that is over
 * @signals: the values, or NULL
 *
 * Any context. Calling it again has no effect.
 */
void tessera_signals_publish(struct tessera_signals *signals)
{
	unsigned long flags;
	u32 i;

	for (i = 0; signals && i < signals->num; i++) {
		struct tessera_signal *signal = &signals->at[i];

		spin_lock_irqsave(&signal->fence->lock, flags);
		signal_publish_locked(signal);
		spin_unlock_irqrestore(&signal->fence->lock, flags);
	}
}
