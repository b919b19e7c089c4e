// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: quotas
 *
 * What a client makes the kernel allocate for work that is not finished: command
 * buffers, preambles, page lists, jobs, and the copies of lists while a submission is
 * looked at. A submission waits, with nothing held and nothing begun, until what it brings
 * fits below the limit. What the kernel adds on the way (paging, preambles) is charged
 * without waiting and bounded by the windows that work is done in.
 */

#include <linux/sched/signal.h>

#include "exec/quota.h"

/**
 * tessera_quota_init() - set up a quota
 * @quota: the quota
 * @limit: bytes
 */
void tessera_quota_init(struct tessera_quota *quota, long limit)
{
	atomic_long_set(&quota->bytes, 0);
	quota->limit = limit;
	init_waitqueue_head(&quota->wait);
}

/* Whatever its size, something gets through when there is nothing else. */
static bool quota_try(struct tessera_quota *quota, long bytes)
{
	long have = atomic_long_read(&quota->bytes);

	do {
		if (have && have + bytes > quota->limit)
			return false;
	} while (!atomic_long_try_cmpxchg(&quota->bytes, &have, have + bytes));

	return true;
}

/**
 * tessera_quota_enter() - wait for room for new work
 * @quota: the quota
 * @bytes: what it brings; charged
 *
 * No lock may be held.
 *
 * Return: 0 or -ERESTARTSYS.
 */
int tessera_quota_enter(struct tessera_quota *quota, long bytes)
{
	return wait_event_interruptible(quota->wait, quota_try(quota, bytes));
}

/**
 * tessera_quota_charge() - charge what cannot wait
 * @quota: the quota, or NULL for the kernel's own work
 * @bytes: how much
 */
void tessera_quota_charge(struct tessera_quota *quota, long bytes)
{
	if (quota)
		atomic_long_add(bytes, &quota->bytes);
}

/**
 * tessera_quota_uncharge() - memory has been freed
 * @quota: the quota, or NULL
 * @bytes: how much of what was charged
 *
 * Any context.
 */
void tessera_quota_uncharge(struct tessera_quota *quota, long bytes)
{
	if (!quota)
		return;
	atomic_long_sub_return(bytes, &quota->bytes);
	if (wq_has_sleeper(&quota->wait))
		wake_up_all(&quota->wait);
}
