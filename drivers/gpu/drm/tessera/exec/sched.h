/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SCHED_H__
#define __TESSERA_SCHED_H__

#include <linux/types.h>

struct tessera_device;
struct tessera_engine;

int tessera_sched_queue_init(struct tessera_device *tdev);
int tessera_sched_init(struct tessera_engine *engine, u32 timeout_ms);
void tessera_sched_set_timeout(struct tessera_engine *engine, u32 timeout_ms);
void tessera_sched_fini(struct tessera_engine *engine);

#endif /* __TESSERA_SCHED_H__ */
