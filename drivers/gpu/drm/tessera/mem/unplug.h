/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_UNPLUG_H__
#define __TESSERA_UNPLUG_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct tessera_device;

int tessera_unplug_init(struct tessera_device *tdev);
bool tessera_unplug_import_begin(struct tessera_device *tdev);
bool tessera_unplug_import_end(struct tessera_device *tdev, struct tessera_bo *bo, bool named);
void tessera_unplug_objects(struct tessera_device *tdev);

#endif /* __TESSERA_UNPLUG_H__ */
