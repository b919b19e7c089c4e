// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: budgets
 *
 * What a client can count on in a set of segments, and who wants to hear when that changes.
 * Accounts say when anything has; a worker looks then, and once in a while, for demand lapses
 * by itself. So whoever takes memory does no more than wake the worker, if anybody listens.
 *
 * &tessera_budgets.lock is taken with nothing held; the accounts' is taken inside.
 */

#include <linux/atomic.h>
#include <linux/eventfd.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>

#include "segments/segments.h"
#include "tessera_device.h"

/* Part of the segments' size by which a budget changes before anybody is told. */
#define STEP_FRACTION	16

/* Changes come in swarms. */
#define SETTLE_MS	10

/* How often demand is looked at that may have lapsed. */
#define PERIOD_MS	500

/* One who listens. */
struct tessera_budget_watch {
	struct list_head node;
	/* Outlives the watch, as it is the file's. */
	struct tessera_account *account;
	u32 indexes;
	struct eventfd_ctx *eventfd;
	/* The budget it was told, or knew at first. */
	u64 told;
};

struct tessera_budgets {
	/* Protects what follows. */
	struct mutex lock;
	struct list_head watches;
	struct delayed_work work;
	struct tessera_device *tdev;
	/* Somebody listens; for anybody to read. */
	bool heard;
	/* Something has changed that nobody has looked at. */
	atomic_t changed;
};

/* Of demand as it was looked at last. */
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
 * tessera_budget_sum() - what a client can count on
 * @account: of the client
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

static void budgets_work(struct work_struct *work)
{
	struct tessera_budgets *budgets = container_of(to_delayed_work(work),
						       struct tessera_budgets, work);
	struct tessera_budget_watch *watch;

	atomic_set(&budgets->changed, 0);
	/* Once for all who listen: it goes through all clients. */
	expire(budgets->tdev, GENMASK(tessera_segment_count(budgets->tdev) - 1, 0));
	mutex_lock(&budgets->lock);
	list_for_each_entry(watch, &budgets->watches, node) {
		u64 now = sum_of(watch->account, watch->indexes);

		if (abs_diff(now, watch->told) < step_of(budgets->tdev, watch->indexes))
			continue;
		watch->told = now;
		eventfd_signal(watch->eventfd);
	}
	/* Sooner, if it is asked for already. */
	if (budgets->heard)
		queue_delayed_work(system_wq, &budgets->work, msecs_to_jiffies(PERIOD_MS));
	mutex_unlock(&budgets->lock);
}

/* Any locks may be held. */
static void budgets_changed(struct tessera_device *tdev)
{
	struct tessera_budgets *budgets = tdev->budgets;

	/* Once, or changes that go on would put it off for ever. */
	if (READ_ONCE(budgets->heard) && !atomic_xchg(&budgets->changed, 1))
		mod_delayed_work(system_wq, &budgets->work, msecs_to_jiffies(SETTLE_MS));
}

static void watch_drop_locked(struct tessera_budgets *budgets, struct tessera_budget_watch **watch)
{
	lockdep_assert_held(&budgets->lock);

	if (!*watch)
		return;
	list_del(&(*watch)->node);
	eventfd_ctx_put((*watch)->eventfd);
	kfree(*watch);
	*watch = NULL;
}

/**
 * tessera_budget_watch() - be told when a budget changes
 * @tdev: the device
 * @watch: the file's place for it; what it was told before is replaced
 * @account: the file's
 * @indexes: set of segments by index
 * @eventfd: how to tell; taken over if it succeeds
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
	list_add_tail(&new->node, &budgets->watches);
	*watch = new;
	WRITE_ONCE(budgets->heard, true);
	mutex_unlock(&budgets->lock);
	budgets_changed(tdev);

	return 0;
}

/**
 * tessera_budget_unwatch() - hear no more
 * @tdev: the device
 * @watch: the file's place for it
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

	tdev->clients->changed = NULL;
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
	tdev->clients->changed = budgets_changed;

	return drmm_add_action_or_reset(&tdev->drm, budgets_fini, NULL);
}
