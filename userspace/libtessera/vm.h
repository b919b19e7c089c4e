/* SPDX-License-Identifier: MIT */
/*
 * VMs inside the library: the address of each object, and the objects on the
 * residency list.
 */
#ifndef TESSERA_VM_H
#define TESSERA_VM_H

#include <sys/queue.h>

#include "va.h"

/* Number of page sizes. Large objects are aligned to large pages. */
#define TESSERA_VM_GRANULES 3

/* Mapping of an object in a VM. Protected by the device's vm_lock. */
struct tessera_mapping {
	struct tessera_vm *vm;
	struct tessera_bo *bo; /* no reference: the object frees the mapping */
	struct tessera_va *va;
	struct tessera_va_range *range; /* range of va */
	SLIST_ENTRY(tessera_mapping) of_bo;
	TAILQ_ENTRY(tessera_mapping) of_vm;
	bool listed; /* on the residency list, once */
	uint32_t kept; /* number of tessera_vm_make_resident() calls not undone yet */
	uint64_t phase; /* last phase that requested it */
};

/*
 * Mapping of a monitored fence's page in a VM. Protected by the device's
 * vm_lock.
 */
struct tessera_fence_mapping {
	struct tessera_monitored *fence; /* holds a reference */
	struct tessera_va_range *range; /* one page of va[0] */
	SLIST_ENTRY(tessera_fence_mapping) of_vm;
};

struct tessera_vm {
	atomic_uint refs;
	struct tessera_device *dev;
	uint32_t id;
	struct tessera_va va[TESSERA_VM_GRANULES];
	TAILQ_HEAD(, tessera_mapping) mappings; /* least recently requested first */
	SLIST_HEAD(, tessera_fence_mapping) fences;
	pthread_mutex_t residency; /* serialises residency changes; taken before vm_lock */
	uint64_t phase;
};

/* Caller holds the device's vm_lock. NULL: not mapped. */
struct tessera_mapping *tessera_vm_find(struct tessera_vm *vm, const struct tessera_bo *bo);
/*
 * Remove the object from the residency list. Caller holds the device's vm_lock.
 * The mapping counts as unlisted even if the ioctl fails.
 */
int tessera_mapping_unlist(struct tessera_mapping *mapping);

/* Unmap the object in all VMs. The caller holds the last reference. */
void tessera_vm_forget_bo(struct tessera_bo *bo);
/* Remove the object from all residency lists. It stays mapped. */
void tessera_vm_unlist_bo(struct tessera_bo *bo);
/*
 * Whether any VM maps the object, so that jobs may use it which do not list it.
 */
bool tessera_vm_knows_bo(struct tessera_bo *bo);

/*
 * Evict listed objects that the current phase does not need, if evicted ones do
 * not fit any more. Returns whether that freed space.
 */
bool tessera_vm_trim(struct tessera_vm *vm);

#endif /* TESSERA_VM_H */
