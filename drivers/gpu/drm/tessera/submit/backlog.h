/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BACKLOG_H__
#define __TESSERA_BACKLOG_H__

#include <linux/list.h>

struct dma_fence;
struct tessera_backlog;		/* backlog.c */
struct tessera_bo;		/* mem/bo.h */

/**
 * struct tessera_backlog_queue - one queue of a client: the end of what was put into it
 */
struct tessera_backlog_queue {
	/** @node: in the client's, under its lock */
	struct list_head node;
	/** @backlog: the client's; holds a reference */
	struct tessera_backlog *backlog;
	/** @last: fence of the last job, or NULL; likewise */
	struct dma_fence *last;
};

struct tessera_backlog *tessera_backlog_create(void);
struct tessera_backlog *tessera_backlog_get(struct tessera_backlog *backlog);
void tessera_backlog_put(struct tessera_backlog *backlog);

void tessera_backlog_join(struct tessera_backlog *backlog, struct tessera_backlog_queue *queue);
void tessera_backlog_leave(struct tessera_backlog_queue *queue);
void tessera_backlog_note(struct tessera_backlog_queue *queue, struct dma_fence *fence);
struct dma_fence *tessera_backlog_fence(struct tessera_backlog *backlog);
int tessera_backlog_keep(struct tessera_backlog *backlog, struct tessera_bo *bo);

#endif /* __TESSERA_BACKLOG_H__ */
