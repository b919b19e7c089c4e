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
 * one process: the first that makes something through the file, or submits
 * through it. A display server that opens a file and passes it to a program is
 * not charged for it. A file that children inherit stays charged to the parent.
 * A process gains nothing by opening more files. A &struct tessera_process
 * lives as long as one of its accounts, even after the process itself has
 * exited.
 *
 * One leaf mutex in &struct tessera_processes protects the use of memory, the
 * demand, the list of processes and their fair shares (SEG-8, SEG-9; the
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

#include "base/device.h"
#include "client/client.h"

/*
 * For how long a use or request counts as demand; the default of a debugfs
 * knob.
 */
#define DEMAND_PERIOD_MS	2000

/* Fraction of the machine's memory that all processes together may pin. */
#define PIN_FRACTION		8

/**
 * tessera_account_init() - set up the list of processes
 * @tdev: the device
 *
 * Return: 0 or an error.
 */
int tessera_account_init(struct tessera_device *tdev)
{
	struct tessera_processes *processes;
	int ret;

	processes = drmm_kzalloc(&tdev->drm, sizeof(*processes), GFP_KERNEL);
	if (!processes)
		return -ENOMEM;

	INIT_LIST_HEAD(&processes->processes);
	tdev->demand_period_ms = DEMAND_PERIOD_MS;
	ret = drmm_mutex_init(&tdev->drm, &processes->lock);
	if (ret)
		return ret;
	tdev->processes = processes;

	return 0;
}

/**
 * tessera_account_create() - create an account
 * @tdev: the device
 *
 * Return: the account with one reference, charged to no process yet, or an
 * ERR_PTR().
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

static void notify_changed(struct tessera_device *tdev)
{
	if (tdev->processes->changed)
		tdev->processes->changed(tdev);
}

static struct tessera_process *find_process_locked(struct tessera_processes *processes,
						   struct pid *pid)
{
	struct tessera_process *process;

	lockdep_assert_held(&processes->lock);

	list_for_each_entry(process, &processes->processes, node)
		if (process->pid == pid)
			return process;

	return NULL;
}

static void add_process_locked(struct tessera_processes *processes, struct tessera_process *process)
{
	lockdep_assert_held(&processes->lock);

	process->pid = get_pid(task_tgid(current));
	process->id = ++processes->next_id;
	processes->num_processes++;
	list_add_tail(&process->node, &processes->processes);
}

/**
 * tessera_account_bind() - charge an account to the calling process
 * @account: the account
 *
 * Call this before the account is charged for the first time. Does nothing if
 * the account is charged to a process already.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_account_bind(struct tessera_account *account)
{
	struct tessera_processes *processes = account->tdev->processes;
	struct tessera_process *process, *spare;

	/* Pairs with the release below: a set process implies a set id. */
	if (smp_load_acquire(&account->process))
		return 0;

	spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	if (!spare)
		return -ENOMEM;
	tessera_quota_init(&spare->work, TESSERA_WORK_LIMIT);

	mutex_lock(&processes->lock);
	if (!account->process) {
		process = find_process_locked(processes, task_tgid(current));
		if (!process) {
			process = spare;
			spare = NULL;
			add_process_locked(processes, process);
		}
		process->users++;
		process->files++;
		account->id = process->id;
		/* Pairs with the acquire above. */
		smp_store_release(&account->process, process);
	}
	mutex_unlock(&processes->lock);
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
	struct tessera_processes *processes = account->tdev->processes;
	struct tessera_process *process = account->process;
	u32 i;

	if (!process)
		return;
	mutex_lock(&processes->lock);
	if (!--process->files)
		for (i = 0; i < TESSERA_MAX_SEGMENTS; i++)
			tessera_share_reserve(&processes->share[i], &process->share[i], 0);
	mutex_unlock(&processes->lock);
	notify_changed(account->tdev);
}

static void put_process_locked(struct tessera_device *tdev, struct tessera_process *process)
{
	struct tessera_processes *processes = tdev->processes;
	u32 i;

	lockdep_assert_held(&processes->lock);

	if (--process->users)
		return;

	for (i = 0; i < TESSERA_MAX_SEGMENTS; i++) {
		drm_WARN_ON(&tdev->drm, process->share[i].used);
		tessera_share_leave(&processes->share[i], &process->share[i]);
	}
	notify_changed(tdev);
	processes->num_processes--;
	list_del(&process->node);
	put_pid(process->pid);
	kfree(process);
}

/**
 * tessera_account_is_mine() - whether an account is charged to the calling
 * process
 * @account: the account
 *
 * Return: true if it is.
 */
bool tessera_account_is_mine(const struct tessera_account *account)
{
	const struct tessera_process *process = READ_ONCE(account->process);

	return process && process->pid == task_tgid(current);
}

static void account_release(struct kref *ref)
{
	struct tessera_account *account = container_of(ref, struct tessera_account, ref);
	struct tessera_processes *processes = account->tdev->processes;

	if (account->process)
		put_process_locked(account->tdev, account->process);
	mutex_unlock(&processes->lock);
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
			       &account->tdev->processes->lock);
}

/**
 * tessera_account_charge() - charge memory to an account
 * @account: the account
 * @seg_index: index of the segment
 * @bytes: how much
 */
void tessera_account_charge(struct tessera_account *account, u32 seg_index, u64 bytes)
{
	struct tessera_processes *processes = account->tdev->processes;

	atomic64_add(bytes, &account->resident[seg_index]);
	mutex_lock(&processes->lock);
	drm_WARN_ON(&account->tdev->drm,
		    tessera_share_charge(&processes->share[seg_index],
					 &account->process->share[seg_index], bytes));
	mutex_unlock(&processes->lock);
	notify_changed(account->tdev);
}

/**
 * tessera_account_uncharge() - return memory that was charged
 * @account: the account
 * @seg_index: index of the segment
 * @bytes: how much
 */
void tessera_account_uncharge(struct tessera_account *account, u32 seg_index, u64 bytes)
{
	struct tessera_processes *processes = account->tdev->processes;

	atomic64_sub(bytes, &account->resident[seg_index]);
	mutex_lock(&processes->lock);
	drm_WARN_ON(&account->tdev->drm,
		    tessera_share_uncharge(&processes->share[seg_index],
					   &account->process->share[seg_index], bytes));
	mutex_unlock(&processes->lock);
	notify_changed(account->tdev);
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
	struct tessera_processes *processes = account->tdev->processes;
	bool fits;

	mutex_lock(&processes->lock);
	fits = atomic64_read(&account->process->pinned) + (s64)bytes <=
	       limit - atomic64_read(&processes->pinned) - (s64)bytes;
	if (fits) {
		atomic64_add(bytes, &processes->pinned);
		atomic64_add(bytes, &account->process->pinned);
	}
	mutex_unlock(&processes->lock);

	return fits ? 0 : -EDQUOT;
}

/**
 * tessera_account_unpin() - return what tessera_account_pin() has charged
 * @account: the account
 * @bytes: how much
 */
void tessera_account_unpin(struct tessera_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->tdev->processes->pinned);
	atomic64_sub(bytes, &account->process->pinned);
}

/**
 * tessera_account_note_demand() - note demand for memory in a segment
 * @account: the account that uses memory there, or asks for it
 * @seg_index: index of the segment
 *
 * The process that the account is charged to competes for the segment until the
 * demand expires. A process that has ended does not: others who use its objects
 * could otherwise have a share for each process that they let end.
 */
void tessera_account_note_demand(struct tessera_account *account, u32 seg_index)
{
	struct tessera_share_client *client = &account->process->share[seg_index];
	struct tessera_processes *processes = account->tdev->processes;
	bool had;

	if (!pid_has_task(account->process->pid, PIDTYPE_TGID))
		return;
	mutex_lock(&processes->lock);
	had = client->demand;
	tessera_share_touch(&processes->share[seg_index], client, get_jiffies_64());
	mutex_unlock(&processes->lock);
	if (!had)
		notify_changed(account->tdev);
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
	return atomic_read(&account->process->hangs) >= DRM_TESSERA_MAX_HANGS;
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
	struct tessera_processes *processes = account->tdev->processes;
	u64 used;

	mutex_lock(&processes->lock);
	used = account->process->share[seg_index].used;
	mutex_unlock(&processes->lock);

	return used;
}

/* Demand has no timer: it is dropped when a reader of shares calls this. */
static void expire_locked(struct tessera_device *tdev, u32 seg_index)
{
	u64 period = msecs_to_jiffies(READ_ONCE(tdev->demand_period_ms));
	struct tessera_processes *processes = tdev->processes;
	u64 now = get_jiffies_64();
	struct tessera_process *process;

	lockdep_assert_held(&processes->lock);

	list_for_each_entry(process, &processes->processes, node)
		tessera_share_expire(&processes->share[seg_index], &process->share[seg_index], now,
				     period);
}

/**
 * tessera_account_expire() - drop demand that has expired
 * @tdev: the device
 * @seg_index: index of the segment
 */
void tessera_account_expire(struct tessera_device *tdev, u32 seg_index)
{
	struct tessera_processes *processes = tdev->processes;

	mutex_lock(&processes->lock);
	expire_locked(tdev, seg_index);
	mutex_unlock(&processes->lock);
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
	struct tessera_processes *processes = account->tdev->processes;
	u64 share;

	mutex_lock(&processes->lock);
	share = tessera_share_budget(&processes->share[seg_index],
				     &account->process->share[seg_index]);
	mutex_unlock(&processes->lock);

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
	struct tessera_processes *processes = account->tdev->processes;
	int ret;

	mutex_lock(&processes->lock);
	ret = tessera_share_reserve(&processes->share[seg_index],
				    &account->process->share[seg_index], bytes);
	mutex_unlock(&processes->lock);
	if (!ret)
		notify_changed(account->tdev);

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
	struct tessera_processes *processes = account->tdev->processes;
	const struct tessera_share_client *client = &account->process->share[seg_index];
	u64 reserved;

	mutex_lock(&processes->lock);
	reserved = client->reserved;
	*reservable = tessera_share_reservable(&processes->share[seg_index], client);
	mutex_unlock(&processes->lock);

	return reserved;
}

/**
 * tessera_account_weigh() - set the weight of a process in all segments
 * @tdev: the device
 * @pid: the process
 * @weight: DRM_TESSERA_WEIGHT_MIN to DRM_TESSERA_WEIGHT_MAX
 *
 * Return: 0, or -ESRCH if nothing is charged to this process.
 */
int tessera_account_weigh(struct tessera_device *tdev, struct pid *pid, u32 weight)
{
	struct tessera_processes *processes = tdev->processes;
	struct tessera_process *process;
	u32 i;

	mutex_lock(&processes->lock);
	process = find_process_locked(processes, pid);
	for (i = 0; process && i < TESSERA_MAX_SEGMENTS; i++)
		tessera_share_weigh(&processes->share[i], &process->share[i], weight);
	mutex_unlock(&processes->lock);
	if (!process)
		return -ESRCH;
	notify_changed(tdev);

	return 0;
}

/**
 * tessera_account_weight() - get the weight of a process
 * @account: one of its accounts
 *
 * Return: the weight, which is the same in all segments.
 */
u32 tessera_account_weight(struct tessera_account *account)
{
	return tessera_share_weight(&account->process->share[0]);
}

/**
 * tessera_account_owners() - snapshot of how all processes use a segment
 * @account: an account of the process that needs memory there
 * @seg_index: index of the segment; its manager is locked
 *
 * Fills in &tessera_tenant.owner of all processes.
 */
void tessera_account_owners(struct tessera_account *account, u32 seg_index)
{
	struct tessera_processes *processes = account->tdev->processes;
	const struct tessera_share_client *mine = &account->process->share[seg_index];
	struct tessera_process *process;

	mutex_lock(&processes->lock);
	expire_locked(account->tdev, seg_index);
	list_for_each_entry(process, &processes->processes, node) {
		const struct tessera_share_client *client = &process->share[seg_index];

		process->tenants[seg_index].owner = (struct tessera_victim_owner) {
			.used = client->used,
			.share = tessera_share_beside(&processes->share[seg_index], client, mine),
			.weight = tessera_share_weight(client),
			.demand = client->demand,
		};
	}
	mutex_unlock(&processes->lock);
}

/**
 * tessera_account_print() - print how all processes use a segment, for debugfs
 * @tdev: the device
 * @seg_index: index of the segment
 * @p: the printer
 */
void tessera_account_print(struct tessera_device *tdev, u32 seg_index, struct drm_printer *p)
{
	struct tessera_processes *processes = tdev->processes;
	struct tessera_process *process;

	mutex_lock(&processes->lock);
	expire_locked(tdev, seg_index);
	list_for_each_entry(process, &processes->processes, node) {
		const struct tessera_share_client *client = &process->share[seg_index];

		if (client->used || client->demand)
			drm_printf(p, "  client %u pid %d used %llu share %llu weight %u%s\n",
				   process->id, pid_nr(process->pid), client->used,
				   tessera_share_fair(&processes->share[seg_index], client),
				   tessera_share_weight(client), client->demand ? "" : " idle");
	}
	mutex_unlock(&processes->lock);
}
