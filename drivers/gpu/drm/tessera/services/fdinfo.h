/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FDINFO_H__
#define __TESSERA_FDINFO_H__

struct drm_file;
struct drm_printer;

void tessera_fdinfo_show(struct drm_printer *p, struct drm_file *file);

#endif /* __TESSERA_FDINFO_H__ */
