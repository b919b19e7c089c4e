/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_EMIT_H__
#define __TESSERA_EMIT_H__

#include <drm/gpu_scheduler.h>

struct tessera_engine;
struct tessera_job;

struct dma_fence *tessera_emit_stand_back(struct tessera_engine *engine,
					  struct tessera_job *job, bool turn);
void tessera_emit_forget(struct tessera_engine *engine, struct tessera_job *job);
int tessera_emit_job(struct tessera_engine *engine, struct tessera_job *job);
void tessera_emit_finish(struct tessera_engine *engine, struct tessera_job *job, int error);
void tessera_emit_process(struct tessera_engine *engine);
void tessera_emit_cancel(struct tessera_engine *engine, int error);

#endif /* __TESSERA_EMIT_H__ */
