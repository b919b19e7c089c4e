/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LIFETIME_H__
#define __TESSERA_LIFETIME_H__

struct tessera_device;

void tessera_module_get(void);
void tessera_module_put(void);
void tessera_module_wait(void);

int tessera_lifetime_init(struct tessera_device *tdev);
void tessera_device_get(struct tessera_device *tdev);
void tessera_device_put(struct tessera_device *tdev);

#endif /* __TESSERA_LIFETIME_H__ */
