/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FW_H__
#define __TESSERA_FW_H__

#include <linux/types.h>

struct tessera_device;

int tessera_fw_start(struct tessera_device *tdev, u64 gpu_addr, u32 bytes);

#endif /* __TESSERA_FW_H__ */
