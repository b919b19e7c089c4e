/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FOREIGN_H__
#define __TESSERA_FOREIGN_H__

#include <linux/types.h>

#include "tessera_wait.h"

struct dma_fence;
struct tessera_device;
struct tessera_proxies;		/* exec/proxy.h */

int tessera_foreign_wait(struct tessera_device *tdev, struct tessera_proxies *proxies,
			 struct dma_fence *fence, enum tessera_wait_row row, long timeout);

#endif /* __TESSERA_FOREIGN_H__ */
