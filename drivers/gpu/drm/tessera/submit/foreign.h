/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FOREIGN_H__
#define __TESSERA_FOREIGN_H__

#include <linux/types.h>

struct dma_fence;
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_leashes;		/* exec/leash.h */

int tessera_foreign_wait(struct tessera_device *tdev, struct tessera_leashes *leashes,
			 struct dma_fence *fence);
int tessera_foreign_wait_killable(struct tessera_device *tdev, struct tessera_leashes *leashes,
				  struct dma_fence *fence, long timeout);

#endif /* __TESSERA_FOREIGN_H__ */
