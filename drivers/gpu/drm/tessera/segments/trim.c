// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: trimming
 *
 * A client with a notification (segments/budget.c) is told how many bytes it
 * should remove from its residency list: what it has listed above its fair
 * share, and what it has listed but does not use. Other clients may take that
 * memory. Before they do, the client gets a short time, the grace, in which it
 * can choose by itself what to give up. A client that stays within its fair
 * share, and uses it, loses nothing.
 *
 * The process that needs the memory waits for the end of the grace, or until
 * another client has shortened its list. It waits for one grace in a period,
 * which is %TRIM_GRACES times as long, however many clients it takes memory from
 * and however they answer. For the rest of the period it takes what it needs
 * without asking. Wishes have a grace of their own.
 *
 * A client that needs more than its fair share can ask the others to give up
 * something (DRM_TESSERA_RESIDENT_CANNOT_TRIM_FURTHER). They may ignore that.
 * What they remove from their lists is still theirs while they are within their
 * shares, so they have to offer or destroy it.
 */

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>

#include "base/device.h"
#include "client/client.h"
#include "segments/segments.h"

/* Length of the period, in graces. */
#define TRIM_GRACES	50

static u64 grace_of(struct tessera_device *tdev)
{
	return msecs_to_jiffies(READ_ONCE(tdev->trim_grace_ms));
}

static void fill_segment_locked(struct tessera_processes *processes,
				struct tessera_process *process, u32 index,
				struct tessera_trim_state *trim)
{
	const struct tessera_share_client *client = &process->share[index];
	const struct tessera_trim_wish *wish = &processes->wish[index];
	u64 listed = READ_ONCE(process->tenants[index].trimmable);

	lockdep_assert_held(&processes->lock);

	if (client->demand)
		trim->over += listed -
			      min(listed, tessera_share_fair(&processes->share[index], client));
	else
		trim->idle += listed;
	if (wish->process != process->id && time_before64(get_jiffies_64(), wish->until)) {
		trim->wanted += min(listed, wish->bytes);
		trim->wishes += wish->num;
	}
}

/**
 * tessera_trim_fill() - compute what a client should trim
 * @account: the client's account
 * @indexes: set of segments by index
 * @trim: receives the bytes
 *
 * Demand that has expired since the last tessera_account_expire() still counts
 * as use.
 */
void tessera_trim_fill(struct tessera_account *account, u32 indexes,
		       struct tessera_trim_state *trim)
{
	struct tessera_processes *processes = account->tdev->processes;

	*trim = (struct tessera_trim_state) { };
	mutex_lock(&processes->lock);
	for (; indexes; indexes &= indexes - 1)
		fill_segment_locked(processes, account->process, __ffs(indexes), trim);
	mutex_unlock(&processes->lock);
}

/* Returns true while the grace that began at @begun lasts, and may begin one. */
static bool grace_lasts(struct tessera_device *tdev, u64 *begun, bool begin)
{
	u64 last = READ_ONCE(*begun), now = get_jiffies_64();
	u64 grace = grace_of(tdev);

	if (time_before64(now, last + grace))
		return true;
	if (!begin || !grace || time_before64(now, last + TRIM_GRACES * grace))
		return false;
	WRITE_ONCE(*begun, now);

	return true;
}

/**
 * tessera_trim_request() - ask a client to trim before its memory is taken
 * @requester: an account of the process that needs the memory
 * @placement: the placement that it would take; the object's reservation is
 * held
 *
 * Return: true if the caller has to drop its locks and call
 * tessera_trim_wait() first, false if it can take the memory.
 */
bool tessera_trim_request(struct tessera_account *requester,
			  const struct tessera_placement *placement)
{
	struct tessera_process *owner = placement->account->process;

	if (!placement->trimmable || owner == requester->process ||
	    !(READ_ONCE(owner->watched) & BIT(placement->mgr->seg->index)) ||
	    !grace_lasts(requester->tdev, &requester->process->requested, true))
		return false;
	atomic_inc(&owner->trim_requests);
	tessera_budget_report(requester->tdev, true);

	return true;
}

/**
 * tessera_trim_wish() - ask all other clients for memory that is theirs
 * @requester: an account of the process that needs the memory
 * @indexes: set of segments by index
 * @bytes: how much it needs
 * @first: the call has not wished before, so it may begin a grace
 *
 * A wish for less than another process asks for at the moment is not reported.
 *
 * Return: true if the caller should call tessera_trim_wait() and look again.
 */
bool tessera_trim_wish(struct tessera_account *requester, u32 indexes, u64 bytes, bool first)
{
	struct tessera_processes *processes = requester->tdev->processes;
	u64 *wished = &requester->process->wished;
	u64 now = get_jiffies_64();

	if (!grace_lasts(requester->tdev, wished, first))
		return false;
	mutex_lock(&processes->lock);
	for (; indexes; indexes &= indexes - 1) {
		struct tessera_trim_wish *wish = &processes->wish[__ffs(indexes)];

		if (wish->process != requester->id && wish->bytes > bytes &&
		    time_before64(now, wish->until))
			continue;
		wish->bytes = bytes;
		wish->process = requester->id;
		wish->until = READ_ONCE(*wished) + grace_of(requester->tdev);
		wish->num += first;
	}
	mutex_unlock(&processes->lock);
	tessera_budget_report(requester->tdev, true);

	return true;
}

/**
 * tessera_trim_changed() - note that a client has changed its residency list, or
 * has offered objects
 * @account: its account
 */
void tessera_trim_changed(struct tessera_account *account)
{
	const struct tessera_process *process = READ_ONCE(account->process);

	/* A client that was never charged has listed nothing. */
	if (!process || !READ_ONCE(process->watched))
		return;
	tessera_space_signal(account->tdev, TESSERA_SPACE_TRIMMED);
	tessera_budget_report(account->tdev, false);
}

/**
 * tessera_trim_wait() - wait until another client may have trimmed
 * @requester: the account, after tessera_trim_request() or tessera_trim_wish()
 * @seen: number of the last %TESSERA_SPACE_TRIMMED
 * @state: see tessera_space_wait_timeout()
 *
 * Return: 0 after a client has trimmed, or at the end of the grace; or an error
 * of tessera_space_wait_timeout() other than -ETIME.
 */
int tessera_trim_wait(struct tessera_account *requester, u32 seen, unsigned int state)
{
	const struct tessera_process *process = requester->process;
	u64 begun = max(READ_ONCE(process->requested), READ_ONCE(process->wished));
	u64 end = begun + grace_of(requester->tdev), now = get_jiffies_64();
	int ret;

	if (!time_before64(now, end))
		return 0;
	ret = tessera_space_wait_timeout(requester->tdev, TESSERA_SPACE_TRIMMED, seen, state,
					 end - now);

	return ret == -ETIME ? 0 : ret;
}
