/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_INSTANCE_H__
#define __TESSERA_INSTANCE_H__

#include <linux/types.h>

struct tessera_device;
struct tessera_family;	/* mem/instance.c */

/**
 * struct tessera_instance - one of several objects that took each other's place
 */
struct tessera_instance {
	/** @family: all of them; NULL for an object that was never replaced */
	struct tessera_family *family;
	/** @number: which of them; a newer one has a greater number */
	u32 number;
};

int tessera_instance_init(struct tessera_device *tdev);

int tessera_instance_replace(struct tessera_device *tdev, struct tessera_instance *old,
			     struct tessera_instance *new);
bool tessera_instance_is_old(struct tessera_device *tdev, struct tessera_instance *instance);
void tessera_instance_put(struct tessera_instance *instance);

void tessera_instance_lock(struct tessera_device *tdev);
void tessera_instance_unlock(struct tessera_device *tdev);
void tessera_instance_look_locked(struct tessera_instance *instance);
bool tessera_instance_list_locked(struct tessera_instance *instance);
void tessera_instance_use_locked(struct tessera_instance *instance);

#endif /* __TESSERA_INSTANCE_H__ */
