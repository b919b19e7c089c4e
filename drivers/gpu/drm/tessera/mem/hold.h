/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_HOLD_H__
#define __TESSERA_HOLD_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct tessera_device;

u64 tessera_holder(struct tessera_bo *bo);
void tessera_hold_take(struct tessera_bo *bo, u64 stamp, unsigned long until);
void tessera_hold_drop(struct tessera_bo *bo, u64 stamp);
bool tessera_hold_keeps_off(struct tessera_bo *bo, u64 stamp);
void tessera_hold_changed(struct tessera_device *tdev);

#endif /* __TESSERA_HOLD_H__ */
