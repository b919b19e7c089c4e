/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESET_H__
#define __TESSERA_RESET_H__

struct tessera_device;

int tessera_reset_init(struct tessera_device *tdev);
void tessera_reset_register(struct tessera_device *tdev);

#endif /* __TESSERA_RESET_H__ */
