/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SUBMIT_VM_H__
#define __TESSERA_SUBMIT_VM_H__

struct drm_file;
struct drm_tessera_submit_vm;
struct drm_tessera_sync;
struct tessera_monitored_set;	/* submit/monitored.c */
struct xarray;

int tessera_submit_vm(struct drm_file *file, struct xarray *contexts,
		      struct tessera_monitored_set *fences,
		      const struct drm_tessera_submit_vm *args,
		      const struct drm_tessera_sync *syncs);

#endif /* __TESSERA_SUBMIT_VM_H__ */
