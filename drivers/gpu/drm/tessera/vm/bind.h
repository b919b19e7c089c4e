/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_BIND_H__
#define __TESSERA_VM_BIND_H__

#include <linux/types.h>

struct drm_file;
struct drm_gpuvm_ops;
struct drm_tessera_sync;
struct drm_tessera_vm_bind_op;
struct tessera_vm;		/* vm/vm.h */

/* Limits of one call. */
#define TESSERA_MAX_BINDS	1024
#define TESSERA_MAX_NULL_BYTES	(64ULL << 30)

/**
 * struct tessera_bind_data - the kernel's copy of what a call brought
 */
struct tessera_bind_data {
	/** @ops: what to change */
	struct drm_tessera_vm_bind_op *ops;
	/** @syncs: sync list */
	struct drm_tessera_sync *syncs;
	/** @num_ops: elements of @ops */
	u32 num_ops;
	/** @num_syncs: elements of @syncs */
	u32 num_syncs;
};

extern const struct drm_gpuvm_ops tessera_bind_gpuvm_ops;

int tessera_bind(struct tessera_vm *vm, struct drm_file *file,
		 const struct tessera_bind_data *data);

#endif /* __TESSERA_VM_BIND_H__ */
