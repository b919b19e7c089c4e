/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Interface of ioctl/: the calls that an open file can make. */
#ifndef __TESSERA_IOCTL_H__
#define __TESSERA_IOCTL_H__

#include <linux/mutex.h>
#include <linux/xarray.h>

#include <drm/drm_ioctl.h>

#include <drm/tessera_drm.h>

struct drm_device;
struct drm_file;
struct drm_mode_create_dumb;
struct drm_printer;
struct drm_tessera_array;
struct tessera_account;		/* client/client.h */
struct tessera_backlog;		/* sync/sync.h */
struct tessera_budget_watch;	/* segments/budget.c */
struct tessera_device;
struct tessera_monitored_set;	/* sync/monitored.c */
struct tessera_paging_queue;	/* paging/queue.c */
struct tessera_resident_set;	/* vm/vm.h */
struct tessera_syncs;		/* sync/sync.h */

/* ioctl/file.c */

/**
 * struct tessera_file - an open file, &drm_file.driver_priv
 */
struct tessera_file {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/**
	 * @account: the account that the file is charged to; may outlive it
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
	/**
	 * @opening: held while resources are opened, so that the file gets one
	 * handle for each object
	 */
	struct mutex opening;
};

int tessera_file_open(struct drm_device *drm, struct drm_file *file);
void tessera_file_close(struct drm_device *drm, struct drm_file *file);
void tessera_fdinfo_show(struct drm_printer *p, struct drm_file *file);
struct tessera_file *to_tessera_file(struct drm_file *file);

/* ioctl/query.c */
int tessera_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file);

/* ioctl/bo.c */
int tessera_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_dumb_create(struct drm_file *file, struct drm_device *drm,
			      struct drm_mode_create_dumb *args);
int tessera_ioctl_bo_from_user(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_bo_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_offer(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_reclaim(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_lock(struct drm_device *drm, void *data, struct drm_file *file);

/* ioctl/resource.c */
int tessera_ioctl_bo_create_twins(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_resource_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_resource_open(struct drm_device *drm, void *data, struct drm_file *file);

/* ioctl/submit.c */
int tessera_ioctl_context_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_context_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_context_status(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_submit(struct drm_device *drm, void *arg, struct drm_file *file);
int tessera_ioctl_submit_vm(struct drm_device *drm, void *arg, struct drm_file *file);

/* ioctl/fence.c */
int tessera_ioctl_fence_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_fence_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_fence_signal(struct drm_device *drm, void *data, struct drm_file *file);

/* ioctl/vm.c */
int tessera_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_vm_bind(struct drm_device *drm, void *arg, struct drm_file *file);
int tessera_ioctl_get_signals(struct drm_file *file, const struct drm_tessera_array *in,
			      struct tessera_syncs *syncs);
int tessera_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_budget(struct drm_device *drm, void *data, struct drm_file *file);

/* ioctl/table.c */

/* Constant expression, for the initialiser of the DRM driver. */
#define TESSERA_NUM_IOCTLS	(DRM_TESSERA_IOCTL_LAST + 1)

extern const struct drm_ioctl_desc tessera_ioctls[TESSERA_NUM_IOCTLS];

#endif /* __TESSERA_IOCTL_H__ */
