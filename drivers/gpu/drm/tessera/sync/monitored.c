// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: monitored fences
 *
 * A monitored fence is a timeline syncobj and a 64-bit value in memory that is at least what
 * the syncobj has reached. It only rises:
 *
 * - what is to be signalled is ordered when it is armed, under the lock of the client's set, and rises in that order;
 * - when a job is over the CPU publishes its values, before its fence signals and whatever became of it: so nobody
 *   waits for a job that failed, or that the device has forgotten. What is over before its turn is left to the one before it, as the
 *   points of the syncobj are, and so is a value from the CPU behind jobs that are not over;
 * - the device writes a value itself, by a SIGNAL packet behind the job's commands, if all that is to come before are jobs of the
 *   same context, which run in order. Jobs of different contexts do not wait for each other, so of those only the first has it written;
 * - the CPU writes by compare and exchange.
 *
 * Locks: the set's mutex, a leaf, held from tessera_signals_begin() to tessera_signals_commit(); then
 * the fence's spinlock, taken in interrupts below the engine's.
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
#include <drm/tessera_drm.h>

#include "exec/exec.h"
#include "segments/segments.h"
#include "sync/sync.h"
#include "tessera_assert.h"
#include "tessera_device.h"
#include "tessera_hwabi.h"

struct tessera_monitored_set {
	struct tessera_device *tdev;
	struct drm_file *file;
	struct tessera_account *account;
	/* Protects all below, and the order in which values are armed. */
	struct mutex lock;
	struct xarray fences;
	DECLARE_HASHTABLE(by_syncobj, 6);
	/* Pages go with the set. */
	struct tessera_value_page **pages;
	u32 num_pages;
};

/* One value that a job is to signal. */
struct tessera_signal {
	struct tessera_monitored *fence;
	struct tessera_signals *owner;
	/* Among the fence's pending ones from commit on; it may be raised meanwhile, under the fence's lock. */
	struct list_head node;
	u64 value;
	/* Nothing higher was armed before it; as of begin. */
	bool live;
};

struct tessera_signals {
	struct kref ref;
	struct tessera_monitored_set *set;
	/* Who is charged for it. */
	struct tessera_quota *quota;
	/* Of what context the job is: only compared. */
	const void *queue;
	/* The packets. */
	struct tessera_ib *ib;
	u32 num;
	u32 max;
	struct tessera_signal at[] __counted_by(max);
};

struct tessera_monitored {
	/* The table and each signal hold one. */
	struct kref ref;
	struct drm_syncobj *syncobj;
	struct tessera_value_page *page;
	u32 slot;
	struct hlist_node node;
	/* Highest value that was armed, or signalled by the CPU; under the set's lock. */
	u64 last;
	/* Protects @pending, the values in it, and the CPU's writes. */
	spinlock_t lock;
	/* Signals of jobs that are not over, in the order of arming. */
	struct list_head pending;
	/* All jobs of @pending are of this context; NULL: of several. */
	const void *queue;
};

/* ---- Fences ----------------------------------------------------------------- */

static void monitored_release(struct kref *ref)
{
	struct tessera_monitored *fence = container_of(ref, struct tessera_monitored, ref);

	if (fence->page) {
		tessera_value_page_give(fence->page, fence->slot);
		tessera_value_page_put(fence->page);
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

/* The device may be writing a higher value at this moment. */
static void monitored_write_locked(struct tessera_monitored *fence, u64 value)
{
	u64 *at = tessera_value_page_cpu(fence->page, fence->slot);
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

/* A value in a page of the set, or in a new one. */
static int monitored_take_value_locked(struct tessera_monitored_set *set,
				       struct tessera_monitored *fence)
{
	struct tessera_value_page **pages, *page;
	int slot = -ENOSPC;
	u32 i;

	for (i = 0; i < set->num_pages && slot < 0; i++)
		slot = tessera_value_page_take(set->pages[i]);
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
		slot = tessera_value_page_take(page);
	}
	tessera_value_page_get(page);
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
	/* Somebody may have had it before. */
	WRITE_ONCE(*tessera_value_page_cpu(fence->page, fence->slot),
		   (__force u64)cpu_to_le64(fence->last));
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
	int ret = tessera_account_count(&set->account->payer->fences, TESSERA_MAX_MONITORED);

	if (ret)
		return ret;
	mutex_lock(&set->lock);
	ret = monitored_add_locked(set, fence, id);
	if (!ret)
		kref_get(&fence->ref);
	mutex_unlock(&set->lock);
	if (ret)
		atomic_dec(&set->account->payer->fences);

	return ret;
}

static int monitored_publish(struct tessera_monitored_set *set, struct tessera_monitored *fence,
			     struct drm_tessera_fence_create *args)
{
	int ret;

	args->mmap_offset = tessera_value_page_offset(fence->page);
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
 * tessera_monitored_create() - make a monitored fence
 * @set: the client's, whose account is bound
 * @args: its initial value; receives the rest
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
 * tessera_monitored_destroy() - take a fence out of its client's table
 * @set: the client's
 * @id: the fence
 *
 * Jobs that are to signal it still do; nobody sees the value any more.
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
	atomic_dec(&set->account->payer->fences);
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
 * @set: the client's
 * @id: the fence
 * @value: the new value
 *
 * Behind jobs that are to signal lower ones and are not over, it has effect when they are.
 *
 * Return: 0, -ENOENT, -EINVAL if the value is not above all before it, or -ENOMEM.
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
 * tessera_monitored_set_create() - begin a client's set of fences
 * @tdev: the device
 * @file: the client
 * @account: who pays; outlives the set
 *
 * Return: the set, empty, or NULL without memory.
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
 * tessera_monitored_set_destroy() - the client goes away
 * @set: its set; no submission of it is under way
 */
void tessera_monitored_set_destroy(struct tessera_monitored_set *set)
{
	struct tessera_monitored *fence;
	unsigned long id;
	u32 i;

	xa_for_each(&set->fences, id, fence) {
		atomic_dec(&set->account->payer->fences);
		monitored_put(fence);
	}
	xa_destroy(&set->fences);
	for (i = 0; i < set->num_pages; i++) {
		tessera_value_page_revoke(set->pages[i], set->file);
		tessera_value_page_put(set->pages[i]);
	}
	kfree(set->pages);
	mutex_destroy(&set->lock);
	kfree(set);
}

/* ---- What a job signals ------------------------------------------------------- */

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

/* Signalling a fence twice is good if the value rises. */
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
 * tessera_signals_add() - a point of a timeline is to be signalled by a job
 * @signals: the values of the job, NULL if there are none yet
 * @set: the client's monitored fences
 * @quota: of the client; outlives the signals
 * @syncobj: the timeline; nothing is done unless it is that of a monitored fence
 * @value: the point
 * @max: most calls for one job
 *
 * Return: 1 if it is a value now, 0 if there is no such fence, -EINVAL if the value does not rise, or -ENOMEM.
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
 * tessera_signals_prepare() - get memory for the packets
 * @signals: the values of a job, all of them
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
	dma_addr_t dma = tessera_value_page_dma(signal->fence->page, signal->fence->slot);

	pkt->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_SIGNAL, 0, TSR_SIGNAL_DWORDS));
	pkt->zero = 0;
	pkt->addr_lo = cpu_to_le32(lower_32_bits(dma));
	pkt->addr_hi = cpu_to_le32(upper_32_bits(dma));
	pkt->value_lo = cpu_to_le32(lower_32_bits(signal->value));
	pkt->value_hi = cpu_to_le32(upper_32_bits(signal->value));
}

/*
 * Whether nothing that is to come before can come later: it may be published in the meantime, but no more be armed. Called
 * under the set's lock.
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

/* False if somebody has armed, or signalled, a higher value meanwhile: whoever waits for this one is woken by that. */
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
 * tessera_signals_begin() - have a job signal its values
 * @signals: the values
 * @job: the job, all its other commands in place; NULL if it does not run
 * @queue: its context
 * @late: other jobs of the submission are armed already: values that were overtaken are left out
 *
 * The last thing before the job is armed that can fail. After success tessera_signals_commit() or _cancel() has to follow.
 *
 * Return: 0, or, unless @late, -EINVAL if a value has been overtaken.
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
 * tessera_signals_live() - ask whether a value counts
 * @signals: the values, between begin and commit
 * @index: which of them, in the order they were added
 *
 * Return: false if it was overtaken.
 */
bool tessera_signals_live(const struct tessera_signals *signals, u32 index)
{
	return signals->at[index].live;
}

/**
 * tessera_signals_cancel() - the job will not be armed
 * @signals: the values, after begin
 */
void tessera_signals_cancel(struct tessera_signals *signals)
{
	mutex_unlock(&signals->set->lock);
}

/**
 * tessera_signals_commit() - the job is armed
 * @signals: the values
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

/* What is not its turn yet comes with the one before it, as the points of the syncobj do. */
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
 * tessera_signals_publish() - the job is over
 * @signals: the values, or NULL
 *
 * Any context; may be called again.
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
