/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BUDGET_H__
#define __TESSERA_BUDGET_H__

#include <linux/types.h>

struct eventfd_ctx;
struct tessera_account;		/* segments/account.h */
struct tessera_budget_watch;	/* budget.c */
struct tessera_device;

int tessera_budget_init(struct tessera_device *tdev);
u64 tessera_budget_sum(struct tessera_account *account, u32 indexes);
int tessera_budget_watch(struct tessera_device *tdev, struct tessera_budget_watch **watch,
			 struct tessera_account *account, u32 indexes,
			 struct eventfd_ctx *eventfd);
void tessera_budget_unwatch(struct tessera_device *tdev, struct tessera_budget_watch **watch);

#endif /* __TESSERA_BUDGET_H__ */
