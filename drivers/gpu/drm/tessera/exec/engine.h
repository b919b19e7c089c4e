/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ENGINE_H__
#define __TESSERA_ENGINE_H__

#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "exec/engine_types.h"
#include "tessera_device.h"

struct drm_printer;

/**
 * tessera_engine_num() - number of engines
 * @tdev: the device
 *
 * Return: the count; indexes are below it.
 */
static inline u32 tessera_engine_num(struct tessera_device *tdev)
{
	return tdev->info.num_engines;
}

int tessera_engines_init(struct tessera_device *tdev);
int tessera_engines_start(struct tessera_device *tdev);
int tessera_engines_pause(struct tessera_device *tdev);
int tessera_engines_resume(struct tessera_device *tdev);
void tessera_engines_cancel(struct tessera_device *tdev);
int tessera_engines_revive(struct tessera_device *tdev);

struct tessera_engine *tessera_engine_get(struct tessera_device *tdev, u32 idx);
struct tessera_engine *tessera_engine_paging(struct tessera_device *tdev);
int tessera_engine_entity_init(struct tessera_engine *engine,
			       struct drm_sched_entity *entity,
			       enum drm_sched_priority prio, atomic_t *guilty);
void tessera_engine_entity_destroy(struct drm_sched_entity *entity);
u32 tessera_engine_timeout_ms(struct tessera_device *tdev);
void tessera_engine_set_timeout_ms(struct tessera_device *tdev, u32 ms);
bool tessera_engine_halted(struct tessera_engine *engine);
int tessera_engine_reset(struct tessera_engine *engine);
void tessera_engine_print(struct tessera_engine *engine, struct drm_printer *p);

#endif /* __TESSERA_ENGINE_H__ */
