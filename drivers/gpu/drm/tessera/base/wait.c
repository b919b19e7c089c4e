// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: waits
 *
 * Each wait of a thread belongs to a row of the table in base/wait_rows.h,
 * which states what the thread holds and what bounds the wait. A row counts its
 * waits, keeps the longest one, and lists the threads in it (debugfs "waits").
 *
 * Lockdep knows a row as a lock. tessera_wait_might() takes and drops it, so
 * lockdep learns which locks are held at waits of the row. tessera_wait_prime()
 * records that each row may depend on a fence. Thus a lock that is held at a
 * wait of any row, and taken where a fence is signalled, is reported the first
 * time both have happened, even if no thread has slept yet.
 *
 * The rows belong to the module, as lock classes do. With several devices, the
 * pids tell the waits apart. The lock of a row is a leaf, taken only by a
 * thread that is going to sleep or has slept.
 */
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include <drm/drm_print.h>

#include "base/wait.h"

struct wait_row {
	const char *name;
	struct lockdep_map map;
	/* Protects the rest. */
	spinlock_t lock;
	/* &tessera_wait.node */
	struct list_head waits;
	u64 count;
	u64 longest_ns;
};

#ifdef CONFIG_LOCKDEP
#define ROW_MAP(row, row_name)	STATIC_LOCKDEP_MAP_INIT("tessera_wait_" row_name, &(row).map)
#else
#define ROW_MAP(...)		{ }
#endif

static struct wait_row rows[TESSERA_WAIT_ROWS] = {
#define TESSERA_WAIT_ROW(id, row_name, ...)						\
	[TESSERA_WAIT_##id] = {								\
		.name = (row_name),							\
		.map = ROW_MAP(rows[TESSERA_WAIT_##id], row_name),			\
		.lock = __SPIN_LOCK_UNLOCKED(rows[TESSERA_WAIT_##id].lock),		\
		.waits = LIST_HEAD_INIT(rows[TESSERA_WAIT_##id].waits),			\
	},
#include "base/wait_rows.h"
#undef TESSERA_WAIT_ROW
};

/**
 * tessera_wait_prime() - tell lockdep that all waits may depend on a fence
 */
void tessera_wait_prime(void)
{
	struct dma_fence *fence = dma_fence_get_stub();
	u32 i;

	for (i = 0; i < TESSERA_WAIT_ROWS; i++) {
		lock_map_acquire(&rows[i].map);
		dma_fence_wait(fence, false);
		lock_map_release(&rows[i].map);
	}
	dma_fence_put(fence);
}

/**
 * tessera_wait_might() - state that the caller may wait
 * @row: the kind of wait
 */
void tessera_wait_might(enum tessera_wait_row row)
{
	might_sleep();
	lock_map_acquire(&rows[row].map);
	lock_map_release(&rows[row].map);
}

/**
 * tessera_wait_begin() - begin to wait
 * @wait: on the caller's stack
 * @row: the kind of wait
 */
void tessera_wait_begin(struct tessera_wait *wait, enum tessera_wait_row row)
{
	tessera_wait_might(row);
	wait->begin_ns = ktime_get_ns();
	wait->pid = task_pid_nr(current);
	spin_lock(&rows[row].lock);
	list_add_tail(&wait->node, &rows[row].waits);
	spin_unlock(&rows[row].lock);
}

/**
 * tessera_wait_end() - stop waiting
 * @wait: from tessera_wait_begin()
 * @row: as there
 */
void tessera_wait_end(struct tessera_wait *wait, enum tessera_wait_row row)
{
	u64 ns = ktime_get_ns() - wait->begin_ns;

	spin_lock(&rows[row].lock);
	list_del(&wait->node);
	rows[row].count++;
	rows[row].longest_ns = max(rows[row].longest_ns, ns);
	spin_unlock(&rows[row].lock);
}

/**
 * tessera_wait_fence() - dma_fence_wait_timeout() of a row
 * @row: the kind of wait
 * @fence: the fence
 * @interruptible: whether any signal ends the wait
 * @timeout: jiffies
 *
 * Return: as dma_fence_wait_timeout().
 */
long tessera_wait_fence(enum tessera_wait_row row, struct dma_fence *fence, bool interruptible,
			long timeout)
{
	tessera_wait_might(row);
	if (!timeout || dma_fence_is_signaled(fence))
		return dma_fence_wait_timeout(fence, interruptible, timeout);

	return tessera_wait_in(row, dma_fence_wait_timeout(fence, interruptible, timeout));
}

/**
 * tessera_wait_resv() - dma_resv_wait_timeout() of a row
 * @row: the kind of wait
 * @resv: the reservation
 * @usage: which of its fences
 * @interruptible: whether any signal ends the wait
 * @timeout: jiffies
 *
 * Return: as dma_resv_wait_timeout().
 */
long tessera_wait_resv(enum tessera_wait_row row, struct dma_resv *resv,
		       enum dma_resv_usage usage, bool interruptible, long timeout)
{
	tessera_wait_might(row);
	if (!timeout || dma_resv_test_signaled(resv, usage))
		return dma_resv_wait_timeout(resv, usage, interruptible, timeout);

	return tessera_wait_in(row, dma_resv_wait_timeout(resv, usage, interruptible, timeout));
}

/* Upper bound for the reaction to a fatal signal, in jiffies. */
#define KILL_LATENCY	(HZ / 10)

/**
 * tessera_wait_resv_killable() - wait for fences until done or killed
 * @row: the kind of wait
 * @resv: the reservation
 * @usage: which of its fences
 *
 * A wait for fences cannot be made killable, so it is cut into short
 * uninterruptible waits with a test for fatal signals between them.
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int tessera_wait_resv_killable(enum tessera_wait_row row, struct dma_resv *resv,
			       enum dma_resv_usage usage)
{
	while (!fatal_signal_pending(current))
		if (tessera_wait_resv(row, resv, usage, false, KILL_LATENCY))
			return 0;

	return -EINTR;
}

/**
 * tessera_wait_resv_lock() - wait until the owner of a reservation drops it
 * @row: the kind of wait
 * @resv: the reservation
 *
 * Return: 0 or -EINTR.
 */
int tessera_wait_resv_lock(enum tessera_wait_row row, struct dma_resv *resv)
{
	int ret = tessera_wait_in(row, dma_resv_lock_interruptible(resv, NULL));

	if (!ret)
		dma_resv_unlock(resv);

	return ret;
}

/**
 * tessera_wait_print() - print a line for each row
 * @p: where to
 *
 * Format: name, waits that have ended, the longest of them in microseconds, the
 * number of threads that wait, and the pids of these threads.
 */
void tessera_wait_print(struct drm_printer *p)
{
	struct tessera_wait *wait;
	u32 i;

	for (i = 0; i < TESSERA_WAIT_ROWS; i++) {
		struct wait_row *row = &rows[i];

		spin_lock(&row->lock);
		drm_printf(p, "%s count %llu longest_us %llu waiting %zu pids", row->name,
			   row->count, div_u64(row->longest_ns, NSEC_PER_USEC),
			   list_count_nodes(&row->waits));
		list_for_each_entry(wait, &row->waits, node)
			drm_printf(p, " %d", wait->pid);
		drm_puts(p, "\n");
		spin_unlock(&row->lock);
	}
}
