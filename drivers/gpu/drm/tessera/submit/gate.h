/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_GATE_H__
#define __TESSERA_GATE_H__

#include <linux/types.h>

struct dma_fence;
struct tessera_device;
struct tessera_epoch;		/* gate.c */
struct tessera_job;		/* exec/job.h */
struct tessera_payer;		/* segments/account.h */

int tessera_gate_init(struct tessera_device *tdev);
void tessera_gate_unplug(struct tessera_device *tdev);
bool tessera_gate_there(struct tessera_device *tdev, u32 engine);

int tessera_gate_enter(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer);
void tessera_gate_leave(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
			bool joined);
struct tessera_epoch *tessera_gate_join(struct tessera_device *tdev, u32 engine);
void tessera_gate_done(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
		       struct tessera_epoch *epoch);
int tessera_gate_order(struct tessera_device *tdev, u32 engine, struct tessera_job *job);

int tessera_gate_close(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer);
void tessera_gate_open(struct tessera_device *tdev, u32 engine, struct tessera_payer *payer,
		       struct dma_fence *near, struct dma_fence *last);
int tessera_gate_order_group(struct tessera_device *tdev, u32 engine, struct tessera_job *job);

#endif /* __TESSERA_GATE_H__ */
