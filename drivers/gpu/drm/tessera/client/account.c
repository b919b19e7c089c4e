// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: accounts
 *
 * An account counts the memory and engine time that an open file uses. It is
 * refcounted, because buffer objects and jobs may outlive the file. The device
 * outlives all accounts: it is kept until the last buffer object and job are
 * gone.
 *
 * Memory is shared among processes, not among files. Each account is charged to
 * one process, its payer. The payer is the process that first makes something
 * through the file, or submits through it. A display server that opens a file
 * and passes it to a program is not charged for it. A file that children
 * inherit stays charged to the parent. A process gains nothing by opening more
 * files. A payer lives as long as one of its accounts, even after the process
 * has exited.
 *
 * One leaf mutex in &struct tessera_clients protects the use of memory, the
 * demand, the list of payers and their fair shares (SEG-8, SEG-9; the
 * arithmetic is in pure/share.c). The other counters are atomic.
 */

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "client/client.h"
#include "tessera_device.h"

/*
 * For how long a use or request counts as demand; the default of a debugfs
 * knob.
 */
#define DEMAND_WINDOW_MS	2000

/* Fraction of the machine's memory that all processes together may pin. */
#define PIN_FRACTION		8

/**
 * tessera_account_init() - set up the list of payers
 * @tdev: the device
 *
 * Return: 0 or an error.
 */
int tessera_account_init(struct tessera_device *tdev)
{
	struct tessera_clients *clients;
	int ret;

	clients = drmm_kzalloc(&tdev->drm, sizeof(*clients), GFP_KERNEL);
	if (!clients)
		return -ENOMEM;

	INIT_LIST_HEAD(&clients->payers);
	tdev->demand_window_ms = DEMAND_WINDOW_MS;
	ret = drmm_mutex_init(&tdev->drm, &clients->lock);
	if (ret)
		return ret;
	tdev->clients = clients;

	return 0;
}

/**
 * tessera_account_set_capacity() - say how much of a segment there is to share
 * @tdev: the device
 * @seg_index: index of the segment
 * @bytes: what clients may hold there together
 */
void tessera_account_set_capacity(struct tessera_device *tdev, u32 seg_index, u64 bytes)
{
	tdev->clients->share[seg_index].size = bytes;
}

/**
 * tessera_account_create() - create an account
 * @tdev: the device
 *
 * Return: the account with one reference and no payer yet, or an ERR_PTR().
 */
struct tessera_account *tessera_account_create(struct tessera_device *tdev)
{
	struct tessera_account *account;

	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	if (!account)
		return ERR_PTR(-ENOMEM);

	kref_init(&account->ref);
	account->tdev = tdev;

	return account;
}

static void tell_changed(struct tessera_device *tdev)
{
	if (tdev->clients->changed)
		tdev->clients->changed(tdev);
}

static struct tessera_payer *find_payer_locked(struct tessera_clients *clients, struct pid *pid)
{
	struct tessera_payer *payer;

	lockdep_assert_held(&clients->lock);

	list_for_each_entry(payer, &clients->payers, node)
		if (payer->pid == pid)
			return payer;

	return NULL;
}

static void add_payer_locked(struct tessera_clients *clients, struct tessera_payer *payer)
{
	lockdep_assert_held(&clients->lock);

	payer->pid = get_pid(task_tgid(current));
	payer->id = ++clients->next_id;
	clients->num_payers++;
	list_add_tail(&payer->node, &clients->payers);
}

/**
 * tessera_account_bind() - make the calling process the payer of an account
 * @account: the account
 *
 * Call this before the account is charged for the first time. Does nothing if
 * the account has a payer already.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_account_bind(struct tessera_account *account)
{
	struct tessera_clients *clients = account->tdev->clients;
	struct tessera_payer *payer, *spare;

	/* Pairs with the release below: a set payer implies a set id. */
	if (smp_load_acquire(&account->payer))
		return 0;

	spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	if (!spare)
		return -ENOMEM;
	tessera_quota_init(&spare->work, TESSERA_WORK_LIMIT);

	mutex_lock(&clients->lock);
	if (!account->payer) {
		payer = find_payer_locked(clients, task_tgid(current));
		if (!payer) {
			payer = spare;
			spare = NULL;
			add_payer_locked(clients, payer);
		}
		payer->users++;
		payer->files++;
		account->id = payer->id;
		/* Pairs with the acquire above. */
		smp_store_release(&account->payer, payer);
	}
	mutex_unlock(&clients->lock);
	kfree(spare);

	return 0;
}

/**
 * tessera_account_get() - take a reference
 * @account: the account
 *
 * Return: @account.
 */
struct tessera_account *tessera_account_get(struct tessera_account *account)
{
	kref_get(&account->ref);
	return account;
}

/**
 * tessera_account_close() - note that a file is closed
 * @account: the file's account; jobs and objects of the file may keep it alive
 *
 * The last open file of a process takes the memory reservations of the process
 * with it.
 */
void tessera_account_close(struct tessera_account *account)
{
	struct tessera_clients *clients = account->tdev->clients;
	struct tessera_payer *payer = account->payer;
	u32 i;

	if (!payer)
		return;
	mutex_lock(&clients->lock);
	if (!--payer->files)
		for (i = 0; i < TESSERA_MAX_SEGMENTS; i++)
			tessera_share_reserve(&clients->share[i], &payer->share[i], 0);
	mutex_unlock(&clients->lock);
	tell_changed(account->tdev);
}

static void put_payer_locked(struct tessera_device *tdev, struct tessera_payer *payer)
{
	struct tessera_clients *clients = tdev->clients;
	u32 i;

	lockdep_assert_held(&clients->lock);

	if (--payer->users)
		return;

	for (i = 0; i < TESSERA_MAX_SEGMENTS; i++) {
		drm_WARN_ON(&tdev->drm, payer->share[i].used);
		tessera_share_leave(&clients->share[i], &payer->share[i]);
	}
	tell_changed(tdev);
	clients->num_payers--;
	list_del(&payer->node);
	put_pid(payer->pid);
	kfree(payer);
}

/**
 * tessera_account_is_mine() - whether the calling process is the payer
 * @account: the account
 *
 * Return: true if it is.
 */
bool tessera_account_is_mine(const struct tessera_account *account)
{
	const struct tessera_payer *payer = READ_ONCE(account->payer);

	return payer && payer->pid == task_tgid(current);
}

static void account_release(struct kref *ref)
{
	struct tessera_account *account = container_of(ref, struct tessera_account, ref);
	struct tessera_clients *clients = account->tdev->clients;

	if (account->payer)
		put_payer_locked(account->tdev, account->payer);
	mutex_unlock(&clients->lock);
	kfree(account);
}

/**
 * tessera_account_put() - drop a reference
 * @account: the account, or NULL
 *
 * May sleep.
 */
void tessera_account_put(struct tessera_account *account)
{
	if (account)
		kref_put_mutex(&account->ref, account_release,
			       &account->tdev->clients->lock);
}

/**
 * tessera_account_charge() - charge memory to an account
 * @account: the account
 * @seg_index: index of the segment
 * @bytes: how much
 */
void tessera_account_charge(struct tessera_account *account, u32 seg_index, u64 bytes)
{
	struct tessera_clients *clients = account->tdev->clients;

	atomic64_add(bytes, &account->resident[seg_index]);
	mutex_lock(&clients->lock);
	drm_WARN_ON(&account->tdev->drm,
		    tessera_share_charge(&clients->share[seg_index],
					 &account->payer->share[seg_index], bytes));
	mutex_unlock(&clients->lock);
	tell_changed(account->tdev);
}

/**
 * tessera_account_uncharge() - return memory that was charged
 * @account: the account
 * @seg_index: index of the segment
 * @bytes: how much
 */
void tessera_account_uncharge(struct tessera_account *account, u32 seg_index, u64 bytes)
{
	struct tessera_clients *clients = account->tdev->clients;

	atomic64_sub(bytes, &account->resident[seg_index]);
	mutex_lock(&clients->lock);
	drm_WARN_ON(&account->tdev->drm,
		    tessera_share_uncharge(&clients->share[seg_index],
					   &account->payer->share[seg_index], bytes));
	mutex_unlock(&clients->lock);
	tell_changed(account->tdev);
}

/**
 * tessera_account_pin() - charge pages that must not move
 * @account: the account
 * @bytes: how much
 *
 * A process may pin at most as much as it leaves for all others. Some of the
 * limit always remains, no matter how many processes pin as much as they can.
 *
 * Return: 0, or -EDQUOT if that is too much.
 */
int tessera_account_pin(struct tessera_account *account, u64 bytes)
{
	s64 limit = (u64)totalram_pages() / PIN_FRACTION << PAGE_SHIFT;
	struct tessera_clients *clients = account->tdev->clients;
	bool fits;

	mutex_lock(&clients->lock);
	fits = atomic64_read(&account->payer->pinned) + (s64)bytes <=
	       limit - atomic64_read(&clients->pinned) - (s64)bytes;
	if (fits) {
		atomic64_add(bytes, &clients->pinned);
		atomic64_add(bytes, &account->payer->pinned);
	}
	mutex_unlock(&clients->lock);

	return fits ? 0 : -EDQUOT;
}

/**
 * tessera_account_unpin() - return what tessera_account_pin() has charged
 * @account: the account
 * @bytes: how much
 */
void tessera_account_unpin(struct tessera_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->tdev->clients->pinned);
	atomic64_sub(bytes, &account->payer->pinned);
}

/**
 * tessera_account_want() - note demand for memory in a segment
 * @account: the account that uses memory there, or asks for it
 * @seg_index: index of the segment
 *
 * The payer of the account competes for the segment until the demand expires.
 */
void tessera_account_want(struct tessera_account *account, u32 seg_index)
{
	struct tessera_share_client *client = &account->payer->share[seg_index];
	struct tessera_clients *clients = account->tdev->clients;
	bool had;

	mutex_lock(&clients->lock);
	had = client->demand;
	tessera_share_touch(&clients->share[seg_index], client, get_jiffies_64());
	mutex_unlock(&clients->lock);
	if (!had)
		tell_changed(account->tdev);
}

/**
 * tessera_account_add_engine_time() - charge engine time
 * @account: the account
 * @engine: engine index
 * @ns: nanoseconds
 *
 * Callable from interrupt context.
 */
void tessera_account_add_engine_time(struct tessera_account *account, u32 engine, u64 ns)
{
	atomic64_add(ns, &account->engine_ns[engine]);
}

/**
 * tessera_account_banned() - ask whether a process has hung engines too often
 * @account: one of its accounts
 *
 * Any context.
 *
 * Return: true if none of its jobs may run again.
 */
bool tessera_account_banned(struct tessera_account *account)
{
	return atomic_read(&account->payer->hangs) >= DRM_TESSERA_MAX_HANGS;
}

/**
 * tessera_account_used() - bytes a process has in a segment
 * @account: one of its accounts
 * @seg_index: index of the segment
 *
 * Return: bytes, a snapshot.
 */
u64 tessera_account_used(struct tessera_account *account, u32 seg_index)
{
	struct tessera_clients *clients = account->tdev->clients;
	u64 used;

	mutex_lock(&clients->lock);
	used = account->payer->share[seg_index].used;
	mutex_unlock(&clients->lock);

	return used;
}

/* Demand has no timer: it is dropped when a reader of shares calls this. */
static void expire_locked(struct tessera_device *tdev, u32 seg_index)
{
	u64 window = msecs_to_jiffies(READ_ONCE(tdev->demand_window_ms));
	struct tessera_clients *clients = tdev->clients;
	u64 now = get_jiffies_64();
	struct tessera_payer *payer;

	lockdep_assert_held(&clients->lock);

	list_for_each_entry(payer, &clients->payers, node)
		tessera_share_expire(&clients->share[seg_index], &payer->share[seg_index], now,
				     window);
}

/**
 * tessera_account_expire() - drop demand that has expired
 * @tdev: the device
 * @seg_index: index of the segment
 */
void tessera_account_expire(struct tessera_device *tdev, u32 seg_index)
{
	struct tessera_clients *clients = tdev->clients;

	mutex_lock(&clients->lock);
	expire_locked(tdev, seg_index);
	mutex_unlock(&clients->lock);
}

/**
 * tessera_account_share() - bytes that a process can count on in a segment
 * @account: one of its accounts
 * @seg_index: index of the segment
 *
 * That is its fair share, and more while other processes leave memory free.
 * Demand counts until tessera_account_expire() drops it.
 *
 * Return: bytes.
 */
u64 tessera_account_share(struct tessera_account *account, u32 seg_index)
{
	struct tessera_clients *clients = account->tdev->clients;
	u64 share;

	mutex_lock(&clients->lock);
	share = tessera_share_budget(&clients->share[seg_index], &account->payer->share[seg_index]);
	mutex_unlock(&clients->lock);

	return share;
}

/**
 * tessera_account_reserve() - set what a process has reserved in a segment
 * @account: one of its accounts
 * @seg_index: index of the segment
 * @bytes: the part of its share that must not depend on other processes
 *
 * Return: 0, or -ENOSPC if all reservations together would be too large.
 */
int tessera_account_reserve(struct tessera_account *account, u32 seg_index, u64 bytes)
{
	struct tessera_clients *clients = account->tdev->clients;
	int ret;

	mutex_lock(&clients->lock);
	ret = tessera_share_reserve(&clients->share[seg_index], &account->payer->share[seg_index],
				    bytes);
	mutex_unlock(&clients->lock);
	if (!ret)
		tell_changed(account->tdev);

	return ret;
}

/**
 * tessera_account_reserved() - what a process has reserved in a segment
 * @account: one of its accounts
 * @seg_index: index of the segment
 * @reservable: receives the most that it could reserve
 *
 * Return: bytes.
 */
u64 tessera_account_reserved(struct tessera_account *account, u32 seg_index, u64 *reservable)
{
	struct tessera_clients *clients = account->tdev->clients;
	const struct tessera_share_client *client = &account->payer->share[seg_index];
	u64 reserved;

	mutex_lock(&clients->lock);
	reserved = client->reserved;
	*reservable = tessera_share_reservable(&clients->share[seg_index], client);
	mutex_unlock(&clients->lock);

	return reserved;
}

/**
 * tessera_account_owners() - snapshot of how all processes use a segment
 * @account: an account of the process that needs memory there
 * @seg_index: index of the segment; its manager is locked
 *
 * Fills in &tessera_tenant.owner of all processes.
 *
 * Return: the fair share of a process that has reserved nothing.
 */
u64 tessera_account_owners(struct tessera_account *account, u32 seg_index)
{
	struct tessera_clients *clients = account->tdev->clients;
	const struct tessera_share_client *mine = &account->payer->share[seg_index];
	struct tessera_payer *payer;
	u64 fair;

	mutex_lock(&clients->lock);
	expire_locked(account->tdev, seg_index);
	list_for_each_entry(payer, &clients->payers, node) {
		const struct tessera_share_client *client = &payer->share[seg_index];

		payer->tenants[seg_index].owner = (struct tessera_victim_owner) {
			.used = client->used,
			.reserved = client->reserved,
			.demand = client->demand,
		};
	}
	fair = tessera_share_fair(&clients->share[seg_index], mine) - mine->reserved;
	mutex_unlock(&clients->lock);

	return fair;
}

/**
 * tessera_account_print() - print how all processes use a segment, for debugfs
 * @tdev: the device
 * @seg_index: index of the segment
 * @p: the printer
 */
void tessera_account_print(struct tessera_device *tdev, u32 seg_index, struct drm_printer *p)
{
	struct tessera_clients *clients = tdev->clients;
	struct tessera_payer *payer;

	mutex_lock(&clients->lock);
	expire_locked(tdev, seg_index);
	list_for_each_entry(payer, &clients->payers, node) {
		const struct tessera_share_client *client = &payer->share[seg_index];

		if (client->used || client->demand)
			drm_printf(p, "  client %u pid %d used %llu share %llu%s\n", payer->id,
				   pid_nr(payer->pid), client->used,
				   tessera_share_fair(&clients->share[seg_index], client),
				   client->demand ? "" : " idle");
	}
	mutex_unlock(&clients->lock);
}
