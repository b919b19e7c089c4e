/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_MONITORED_H__
#define __TESSERA_MONITORED_H__

#include <linux/types.h>

struct drm_file;
struct tessera_account;		/* segments/account.h */
struct drm_syncobj;
struct drm_tessera_fence_create;
struct tessera_device;
struct tessera_job;		/* exec/job.h */
struct tessera_monitored_set;	/* monitored.c */
struct tessera_quota;		/* exec/quota.h */
struct tessera_signals;		/* monitored.c */

/** TESSERA_MAX_MONITORED: monitored fences one process may have */
#define TESSERA_MAX_MONITORED	4096

struct tessera_monitored_set *tessera_monitored_set_create(struct tessera_device *tdev,
							   struct drm_file *file,
							   struct tessera_account *account);
void tessera_monitored_set_destroy(struct tessera_monitored_set *set);
int tessera_monitored_create(struct tessera_monitored_set *set,
			     struct drm_tessera_fence_create *args);
int tessera_monitored_destroy(struct tessera_monitored_set *set, u32 id);
int tessera_monitored_signal(struct tessera_monitored_set *set, u32 id, u64 value);

int tessera_signals_add(struct tessera_signals **signals, struct tessera_monitored_set *set,
			struct tessera_quota *quota, struct drm_syncobj *syncobj, u64 value,
			u32 max);
int tessera_signals_prepare(struct tessera_signals *signals);
int tessera_signals_begin(struct tessera_signals *signals, struct tessera_job *job,
			  const void *queue, bool late);
bool tessera_signals_live(const struct tessera_signals *signals, u32 index);
void tessera_signals_cancel(struct tessera_signals *signals);
void tessera_signals_commit(struct tessera_signals *signals);
void tessera_signals_publish(struct tessera_signals *signals);
struct tessera_signals *tessera_signals_get(struct tessera_signals *signals);
void tessera_signals_put(struct tessera_signals *signals);

#endif /* __TESSERA_MONITORED_H__ */
