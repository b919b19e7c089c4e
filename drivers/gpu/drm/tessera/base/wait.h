/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_WAIT_H__
#define __TESSERA_WAIT_H__

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

struct drm_printer;

/* The kinds of waits; see base/wait_rows.h */
enum tessera_wait_row {
#define TESSERA_WAIT_ROW(id, ...)	TESSERA_WAIT_##id,
#include "base/wait_rows.h"
#undef TESSERA_WAIT_ROW
	TESSERA_WAIT_ROWS
};

/**
 * struct tessera_wait - one thread in one wait, on its stack
 */
struct tessera_wait {
	/** @node: in the row's list of waits */
	struct list_head node;
	/** @begin_ns: time when the wait began */
	u64 begin_ns;
	/** @pid: pid of the waiting thread */
	pid_t pid;
};

void tessera_wait_prime(void);
void tessera_wait_might(enum tessera_wait_row row);
void tessera_wait_begin(struct tessera_wait *wait, enum tessera_wait_row row);
void tessera_wait_end(struct tessera_wait *wait, enum tessera_wait_row row);
void tessera_wait_print(struct drm_printer *p);

long tessera_wait_fence(enum tessera_wait_row row, struct dma_fence *fence, bool interruptible,
			long timeout);
long tessera_wait_resv(enum tessera_wait_row row, struct dma_resv *resv,
		       enum dma_resv_usage usage, bool interruptible, long timeout);
int tessera_wait_resv_killable(enum tessera_wait_row row, struct dma_resv *resv,
			       enum dma_resv_usage usage);
int tessera_wait_resv_lock(enum tessera_wait_row row, struct dma_resv *resv);

/**
 * tessera_wait_in() - evaluate an expression that sleeps
 * @row: the kind of wait
 * @expr: the expression, not void
 *
 * For waits that have no wrapper below, once it is known that they sleep.
 *
 * Return: the value of @expr.
 */
#define tessera_wait_in(row, expr) ({					\
	struct tessera_wait __wait;					\
	typeof(expr) __value;						\
									\
	tessera_wait_begin(&__wait, row);				\
	__value = (expr);						\
	tessera_wait_end(&__wait, row);					\
	__value;							\
})

/**
 * tessera_wait_event() - wait_event_state() of a row
 * @row: the kind of wait
 * @wq: wait queue head
 * @cond: condition
 * @state: task state
 *
 * Return: 0 or -ERESTARTSYS.
 */
#define tessera_wait_event(row, wq, cond, state) ({			\
	tessera_wait_might(row);					\
	(cond) ? 0 : tessera_wait_in(row, wait_event_state(wq, cond, state)); \
})

/**
 * tessera_wait_event_timeout() - wait_event_state() of a row, with a timeout
 * @row: the kind of wait
 * @wq: wait queue head
 * @cond: condition
 * @state: task state
 * @timeout: jiffies
 *
 * Return: 0 after the timeout; the rest of it, at least 1; or -ERESTARTSYS.
 */
#define tessera_wait_event_timeout(row, wq, cond, state, timeout) ({	\
	long __left = (timeout);					\
									\
	tessera_wait_might(row);					\
	if (cond)							\
		__left = __left ?: 1;					\
	else if (__left)						\
		__left = tessera_wait_in(row,				\
			___wait_event(wq, ___wait_cond_timeout(cond), state, 0, __left, \
				      __ret = schedule_timeout(__ret))); \
	__left;								\
})

#endif /* __TESSERA_WAIT_H__ */
