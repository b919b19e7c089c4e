/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SUBMIT_H__
#define __TESSERA_SUBMIT_H__

struct drm_file;
struct tessera_device;
struct tessera_submit_data;	/* submit/request.h */
struct xarray;

int tessera_submit(struct tessera_device *tdev, struct drm_file *file, struct xarray *contexts,
		   struct tessera_submit_data *data);

#endif /* __TESSERA_SUBMIT_H__ */
