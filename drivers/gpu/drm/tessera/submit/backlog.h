/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BACKLOG_H__
#define __TESSERA_BACKLOG_H__

#include <linux/list.h>
#include <linux/types.h>

struct tessera_backlog;		/* backlog.c */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;

/**
 * struct tessera_backlog_job - a job of a client that is not finished
 */
struct tessera_backlog_job {
	/** @node: in the client's, under its lock */
	struct list_head node;
	/** @number: how many the client had queued with it */
	u64 number;
};

struct tessera_backlog *tessera_backlog_create(struct tessera_device *tdev);
struct tessera_backlog *tessera_backlog_get(struct tessera_backlog *backlog);
void tessera_backlog_put(struct tessera_backlog *backlog);

void tessera_backlog_add(struct tessera_backlog *backlog, struct tessera_backlog_job *job);
void tessera_backlog_done(struct tessera_backlog *backlog, struct tessera_backlog_job *job);

int tessera_backlog_wait(struct tessera_backlog *backlog);
int tessera_backlog_keep(struct tessera_backlog *backlog, struct tessera_bo *bo);

#endif /* __TESSERA_BACKLOG_H__ */
