/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IB_H__
#define __TESSERA_IB_H__

#include <linux/types.h>

struct tessera_device;
struct tessera_ib;
struct tessera_quota;		/* exec/quota.h */

int tessera_ib_init(struct tessera_device *tdev);
void tessera_ib_unplug(struct tessera_device *tdev);
struct tessera_ib *tessera_ib_create(struct tessera_device *tdev, struct tessera_quota *quota,
				     u32 bytes);
struct tessera_ib *tessera_ib_get(struct tessera_ib *ib);
void tessera_ib_put(struct tessera_ib *ib);
void *tessera_ib_cpu(struct tessera_ib *ib);
u32 tessera_ib_bytes(struct tessera_ib *ib);
dma_addr_t tessera_ib_pages_dma(struct tessera_ib *ib);
void tessera_ib_flush(struct tessera_ib *ib, u32 start, u32 end);

#endif /* __TESSERA_IB_H__ */
