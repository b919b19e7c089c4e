/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_TTM_H__
#define __TESSERA_TTM_H__

struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct ttm_device;

int tessera_ttm_init(struct tessera_device *tdev);
void tessera_ttm_lose_memory(struct tessera_device *tdev);
void tessera_ttm_recall(struct tessera_bo *bo);
int tessera_ttm_leave_aperture(struct tessera_bo *bo);
int tessera_ttm_evict_segments(struct tessera_device *tdev, u32 ids);

#endif /* __TESSERA_TTM_H__ */
