/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of services/, for the files at the top. */
#ifndef __TESSERA_SERVICES_H__
#define __TESSERA_SERVICES_H__

#include <linux/xarray.h>

struct drm_file;
struct drm_minor;
struct drm_printer;
struct tessera_account;		/* segments/segments.h */
struct tessera_backlog;		/* sync/sync.h */
struct tessera_budget_watch;	/* segments/budget.c */
struct tessera_device;
struct tessera_monitored_set;	/* sync/monitored.c */
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_resident_set;	/* vm/vm.h */

/* services/client.c */

/**
 * struct tessera_client - an open file, &drm_file.driver_priv
 */
struct tessera_client {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/**
	 * @account: the account that the client is charged to; may outlive it
	 */
	struct tessera_account *account;
	/** @paging: its paging queue; holds a reference */
	struct tessera_paging_queue *paging;
	/** @backlog: its unfinished jobs; holds a reference */
	struct tessera_backlog *backlog;
	/** @resident: its residency list */
	struct tessera_resident_set *resident;
	/**
	 * @watch: its request to be told about changes of its budget, or NULL
	 */
	struct tessera_budget_watch *watch;
	/** @contexts: &struct tessera_context by id; has its own lock */
	struct xarray contexts;
	/** @fences: its monitored fences */
	struct tessera_monitored_set *fences;
	/** @vms: &struct tessera_vm by id; has its own lock */
	struct xarray vms;
};

int tessera_client_open(struct tessera_device *tdev, struct drm_file *file);
void tessera_client_close(struct drm_file *file);
void tessera_fdinfo_show(struct drm_printer *p, struct drm_file *file);
struct tessera_client *to_tessera_client(struct drm_file *file);

/* services/debugfs.c */
void tessera_debugfs_init(struct drm_minor *minor);

/* services/reset.c */
int tessera_reset_init(struct tessera_device *tdev);
void tessera_reset_register(struct tessera_device *tdev);

#endif /* __TESSERA_SERVICES_H__ */
