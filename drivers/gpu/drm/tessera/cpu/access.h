/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_CPU_ACCESS_H__
#define __TESSERA_CPU_ACCESS_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct vm_area_struct;

int tessera_access_prepare(struct tessera_bo *bo, u64 first, u64 count, bool raw);
int tessera_access_wait(struct tessera_bo *bo);
int tessera_access_wait_killable(struct tessera_bo *bo);
int tessera_access_settle(struct tessera_bo *bo, u32 timeout_ms);
int tessera_access_sync(struct tessera_bo *bo);
int tessera_access_vm(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
		      int write);

#endif /* __TESSERA_CPU_ACCESS_H__ */
