// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: budgets
 *
 * A budget is the number of bytes that a client can count on in a set of
 * segments. A client can register an eventfd that is signalled when its budget
 * changes, or when it should trim (segments/trim.c). Accounts report each change
 * of use or share, and a worker then compares the budgets. The worker also runs
 * periodically, because demand expires without an event. So a client that takes
 * memory only queues the worker, and only if a client has registered an eventfd.
 *
 * &tessera_budgets.lock is taken with no other lock held. The accounts' lock
 * nests inside.
 */

#include <linux/atomic.h>
#include <linux/eventfd.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>

#include "base/device.h"
#include "client/client.h"
#include "segments/segments.h"

/* Fraction of the segments' size by which a budget must change for an event. */
#define STEP_FRACTION	16

/* Delay of the worker, as changes come in bursts. */
#define SETTLE_MS	10

/* Period at which the worker checks for expired demand. */
#define PERIOD_MS	500

/* Time that a client gets to trim; the default of a debugfs knob. */
#define TRIM_GRACE_MS	20

/* A client that is told about changes of its budget. */
struct tessera_budget_watch {
	struct list_head node;
	/* The file's account, so it outlives the watch. */
	struct tessera_account *account;
	u32 indexes;
	struct eventfd_ctx *eventfd;
	/* The budget when it was last reported, or when the watch was set. */
	u64 told;
	/* What the client should trim, when the worker last looked. */
	struct tessera_trim_state trim;
	/* Its &tessera_process.trim_requests at that time. */
	int requests;
};

struct tessera_budgets {
	/* Protects all below but @changed. */
	struct mutex lock;
	struct list_head watches;
	struct delayed_work work;
	struct tessera_device *tdev;
	/* There are watches; read without the lock. */
	bool heard;
	/* There are changes that the worker has not seen. */
	atomic_t changed;
};

/* Demand that has expired since the last expire() still counts. */
static u64 sum_of(struct tessera_account *account, u32 indexes)
{
	u64 sum = 0;

	for (; indexes; indexes &= indexes - 1)
		sum += tessera_account_share(account, __ffs(indexes));

	return sum;
}

static void expire(struct tessera_device *tdev, u32 indexes)
{
	for (; indexes; indexes &= indexes - 1)
		tessera_account_expire(tdev, __ffs(indexes));
}

/**
 * tessera_budget_sum() - bytes that a client can count on
 * @account: the client's account
 * @indexes: set of segments by index
 *
 * Return: bytes.
 */
u64 tessera_budget_sum(struct tessera_account *account, u32 indexes)
{
	expire(account->tdev, indexes);

	return sum_of(account, indexes);
}

static u64 step_of(struct tessera_device *tdev, u32 indexes)
{
	u64 size = 0;

	for (; indexes; indexes &= indexes - 1)
		size += tessera_segment_by_index(tdev, __ffs(indexes))->commit;

	return size / STEP_FRACTION;
}

/* Signals the client if its budget changed, or if it should trim more. */
static void watch_update(struct tessera_device *tdev, struct tessera_budget_watch *watch)
{
	int requests = atomic_read(&watch->account->process->trim_requests);
	u64 now = sum_of(watch->account, watch->indexes);
	bool changed = abs_diff(now, watch->told) >= step_of(tdev, watch->indexes);
	struct tessera_trim_state trim;

	tessera_trim_fill(watch->account, watch->indexes, &trim);
	if (changed)
		watch->told = now;
	if (changed || requests != watch->requests || trim.over > watch->trim.over ||
	    trim.idle > watch->trim.idle || trim.wanted > watch->trim.wanted ||
	    (trim.wanted && trim.wishes != watch->trim.wishes))
		eventfd_signal(watch->eventfd);
	watch->trim = trim;
	watch->requests = requests;
}

static void budgets_work(struct work_struct *work)
{
	struct tessera_budgets *budgets = container_of(to_delayed_work(work),
						       struct tessera_budgets, work);
	struct tessera_budget_watch *watch;

	atomic_set(&budgets->changed, 0);
	/* Once for all watches, as it walks all processes. */
	expire(budgets->tdev, GENMASK(tessera_segment_count(budgets->tdev) - 1, 0));
	mutex_lock(&budgets->lock);
	list_for_each_entry(watch, &budgets->watches, node)
		watch_update(budgets->tdev, watch);
	/* Does not delay the worker if a change has queued it already. */
	if (budgets->heard)
		queue_delayed_work(system_wq, &budgets->work, msecs_to_jiffies(PERIOD_MS));
	mutex_unlock(&budgets->lock);
}

/**
 * tessera_budget_report() - have the clients told about changes
 * @tdev: the device
 * @now: at once, because a client waits
 *
 * Process context. Any locks may be held.
 */
void tessera_budget_report(struct tessera_device *tdev, bool now)
{
	struct tessera_budgets *budgets = tdev->budgets;

	if (!READ_ONCE(budgets->heard))
		return;
	/*
	 * Queue it once: a stream of changes must not postpone it forever, and
	 * not at all what has to be reported now.
	 */
	if (!atomic_xchg(&budgets->changed, 1) || now)
		mod_delayed_work(system_wq, &budgets->work,
				 now ? 0 : msecs_to_jiffies(SETTLE_MS));
}

/* Called with any locks held. */
static void budgets_changed(struct tessera_device *tdev)
{
	tessera_budget_report(tdev, false);
}

/* Sets in which segments the process of a watch is told what to trim. */
static void set_watched_locked(struct tessera_budgets *budgets, struct tessera_process *process)
{
	struct tessera_budget_watch *watch;
	u32 watched = 0;

	lockdep_assert_held(&budgets->lock);

	list_for_each_entry(watch, &budgets->watches, node)
		if (watch->account->process == process)
			watched |= watch->indexes;
	WRITE_ONCE(process->watched, watched);
}

static void watch_drop_locked(struct tessera_budgets *budgets, struct tessera_budget_watch **watch)
{
	lockdep_assert_held(&budgets->lock);

	if (!*watch)
		return;
	list_del(&(*watch)->node);
	set_watched_locked(budgets, (*watch)->account->process);
	eventfd_ctx_put((*watch)->eventfd);
	kfree(*watch);
	*watch = NULL;
}

/**
 * tessera_budget_watch() - signal an eventfd when a budget changes, or when a
 * client should trim
 * @tdev: the device
 * @watch: the file's watch; an earlier one is replaced
 * @account: the file's account
 * @indexes: set of segments by index
 * @eventfd: the eventfd; consumed on success
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_budget_watch(struct tessera_device *tdev, struct tessera_budget_watch **watch,
			 struct tessera_account *account, u32 indexes,
			 struct eventfd_ctx *eventfd)
{
	struct tessera_budgets *budgets = tdev->budgets;
	struct tessera_budget_watch *new;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	new->account = account;
	new->indexes = indexes;
	new->eventfd = eventfd;

	mutex_lock(&budgets->lock);
	watch_drop_locked(budgets, watch);
	new->told = tessera_budget_sum(account, indexes);
	new->requests = atomic_read(&account->process->trim_requests);
	list_add_tail(&new->node, &budgets->watches);
	set_watched_locked(budgets, account->process);
	*watch = new;
	WRITE_ONCE(budgets->heard, true);
	mutex_unlock(&budgets->lock);
	budgets_changed(tdev);

	return 0;
}

/**
 * tessera_budget_unwatch() - end tessera_budget_watch()
 * @tdev: the device
 * @watch: the file's watch
 */
void tessera_budget_unwatch(struct tessera_device *tdev, struct tessera_budget_watch **watch)
{
	struct tessera_budgets *budgets = tdev->budgets;

	mutex_lock(&budgets->lock);
	watch_drop_locked(budgets, watch);
	WRITE_ONCE(budgets->heard, !list_empty(&budgets->watches));
	mutex_unlock(&budgets->lock);
}

static void budgets_fini(struct drm_device *drm, void *arg)
{
	struct tessera_device *tdev = to_tessera_device(drm);

	tdev->processes->changed = NULL;
	cancel_delayed_work_sync(&tdev->budgets->work);
}

/**
 * tessera_budget_init() - set up budgets
 * @tdev: the device; accounts are set up
 *
 * Return: 0 or an error.
 */
int tessera_budget_init(struct tessera_device *tdev)
{
	struct tessera_budgets *budgets;
	int ret;

	budgets = drmm_kzalloc(&tdev->drm, sizeof(*budgets), GFP_KERNEL);
	if (!budgets)
		return -ENOMEM;
	ret = drmm_mutex_init(&tdev->drm, &budgets->lock);
	if (ret)
		return ret;
	INIT_LIST_HEAD(&budgets->watches);
	INIT_DELAYED_WORK(&budgets->work, budgets_work);
	budgets->tdev = tdev;
	tdev->budgets = budgets;
	tdev->trim_grace_ms = TRIM_GRACE_MS;
	tdev->processes->changed = budgets_changed;

	return drmm_add_action_or_reset(&tdev->drm, budgets_fini, NULL);
}
