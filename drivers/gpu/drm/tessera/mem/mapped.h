/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_MAPPED_H__
#define __TESSERA_MAPPED_H__

#include <linux/kconfig.h>

struct tessera_bo;		/* mem/bo.h */

#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
void tessera_mapped_check_none(struct tessera_bo *bo);
#else
static inline void tessera_mapped_check_none(struct tessera_bo *bo)
{
}
#endif

#endif /* __TESSERA_MAPPED_H__ */
