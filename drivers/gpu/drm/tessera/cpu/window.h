/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_CPU_WINDOW_H__
#define __TESSERA_CPU_WINDOW_H__

#include <linux/types.h>

struct tessera_bo;
struct tessera_device;

int tessera_cpu_window_init(struct tessera_device *tdev);

int tessera_cpu_window_open(struct tessera_bo *bo, u64 first, u64 count, bool raw);
void tessera_cpu_window_close(struct tessera_bo *bo);
void tessera_cpu_window_close_all(struct tessera_device *tdev);
unsigned long tessera_cpu_window_pfn(struct tessera_bo *bo, unsigned long page);
u64 tessera_cpu_window_left(struct tessera_bo *bo, u64 page);
u32 tessera_cpu_window_backing(struct tessera_bo *bo);

#endif /* __TESSERA_CPU_WINDOW_H__ */
