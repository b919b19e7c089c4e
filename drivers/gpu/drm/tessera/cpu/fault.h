/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_CPU_FAULT_H__
#define __TESSERA_CPU_FAULT_H__

#include <linux/mm.h>

struct drm_gem_object;

extern const struct vm_operations_struct tessera_cpu_fault_vm_ops;

int tessera_cpu_fault_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma);

#endif /* __TESSERA_CPU_FAULT_H__ */
