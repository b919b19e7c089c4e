/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_H__
#define __TESSERA_VM_H__

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/drm_gpuvm.h>

#include "mem/user.h"

struct tessera_account;		/* segments/account.h */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_pt_source;	/* vm/pt.h */
struct tessera_resident_set;	/* vm/listing.h */
struct tessera_segment;		/* segments/segment.h */
struct tessera_space;		/* vm/pt.h */
struct xarray;

/** TESSERA_MAX_MAPPINGS: of one VM: others wait while the addresses of an object change */
#define TESSERA_MAX_MAPPINGS	65536

/**
 * struct tessera_vm - GPU virtual addresses, and what is mapped there
 */
struct tessera_vm {
	/** @base: the core's part; changes under @lock */
	struct drm_gpuvm base;
	/** @users: the client's table, its contexts and calls hold one each */
	struct kref users;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @space: page tables; holds a reference */
	struct tessera_space *space;
	/** @lock: serialises changes of what is mapped; see the locking DOC */
	struct mutex lock;
	/** @num_mappings: how many there are; under @lock */
	u32 num_mappings;
};

/**
 * struct tessera_vm_bo - an object that a VM maps
 */
struct tessera_vm_bo {
	/** @base: the core's part */
	struct drm_gpuvm_bo base;
	/** @shown: the page tables lead to it, from all its mappings; else from none. Under its resv */
	bool shown;
	/** @user: what is known of it if it is user memory */
	struct tessera_user_vm user;
};

/**
 * struct tessera_mapping - a range of addresses of a VM
 */
struct tessera_mapping {
	/** @base: the core's part; without an object there is no memory */
	struct drm_gpuva base;
	/** @read_only: the GPU may not write there */
	bool read_only;
	/** @left: with user memory that was unmapped: what it was mapped as, with a reference; or NULL */
	struct drm_gpuvm_bo *left;
};

static inline struct tessera_vm *to_tessera_vm(struct drm_gpuvm *gpuvm)
{
	return container_of(gpuvm, struct tessera_vm, base);
}

static inline struct tessera_vm_bo *to_tessera_vm_bo(struct drm_gpuvm_bo *vm_bo)
{
	return container_of(vm_bo, struct tessera_vm_bo, base);
}

static inline struct tessera_mapping *to_tessera_mapping(struct drm_gpuva *va)
{
	return container_of(va, struct tessera_mapping, base);
}

int tessera_vm_create(struct tessera_device *tdev, struct xarray *vms,
		      struct tessera_account *account, struct tessera_resident_set *resident,
		      const struct drm_gpuvm_ops *ops, u32 *id);
int tessera_vm_destroy(struct xarray *vms, u32 id);
void tessera_vm_destroy_all(struct xarray *vms);
struct tessera_vm *tessera_vm_lookup(struct xarray *vms, u32 id);
void tessera_vm_put(struct tessera_vm *vm);
void tessera_vm_free(struct drm_gpuvm *gpuvm);
struct drm_gpuvm_bo *tessera_vm_bo_alloc(void);
void tessera_vm_bo_free(struct drm_gpuvm_bo *vm_bo);
void tessera_vm_bo_join(struct drm_gpuvm_bo *vm_bo);
void tessera_vm_bo_show(struct drm_gpuvm_bo *vm_bo, bool shown);

#endif /* __TESSERA_VM_H__ */
