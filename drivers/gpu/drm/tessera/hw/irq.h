/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IRQ_H__
#define __TESSERA_IRQ_H__

#include <linux/types.h>

struct tessera_device;

/**
 * typedef tessera_irq_fn_t - what an interrupt calls
 * @data: as registered
 *
 * Hard interrupt context, inside dma_fence_begin_signalling().
 */
typedef void (*tessera_irq_fn_t)(void *data);

int tessera_irq_init(struct tessera_device *tdev);
int tessera_irq_request_engine(struct tessera_device *tdev, u32 engine,
			       tessera_irq_fn_t fn, void *data);
int tessera_irq_request_display(struct tessera_device *tdev, tessera_irq_fn_t fn, void *data);
void tessera_irq_sync_display(struct tessera_device *tdev);
void tessera_irq_on_event(struct tessera_device *tdev, u32 event,
			  tessera_irq_fn_t fn, void *data);
void tessera_irq_enable(struct tessera_device *tdev);
void tessera_irq_disable(struct tessera_device *tdev);
int tessera_irq_ping(struct tessera_device *tdev, u64 *ns);

#endif /* __TESSERA_IRQ_H__ */
