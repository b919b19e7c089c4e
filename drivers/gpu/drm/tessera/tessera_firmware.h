/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FIRMWARE_H__
#define __TESSERA_FIRMWARE_H__

struct tessera_device;

int tessera_firmware_load(struct tessera_device *tdev);

#endif /* __TESSERA_FIRMWARE_H__ */
