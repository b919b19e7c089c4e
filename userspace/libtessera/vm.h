/* SPDX-License-Identifier: MIT */
/*
 * VMs inside the library: what of a device's objects is mapped where, and which of it is listed as resident.
 */
#ifndef TESSERA_VM_H
#define TESSERA_VM_H

#include <sys/queue.h>

#include "va.h"

/* Sizes of pages, of which large objects get large ones. */
#define TESSERA_VM_GRANULES 3

/* An object in a VM. The device's vm_lock protects all of it. */
struct tessera_mapping {
	struct tessera_vm *vm;
	struct tessera_bo *bo; /* no reference: it goes with the object */
	struct tessera_va *va;
	struct tessera_va_range *range; /* in it */
	SLIST_ENTRY(tessera_mapping) of_bo;
	TAILQ_ENTRY(tessera_mapping) of_vm;
	bool listed; /* in the residency list, once */
	uint32_t kept; /* so often asked for until told otherwise */
	uint64_t phase; /* the last that asked for it */
};

struct tessera_vm {
	atomic_uint refs;
	struct tessera_device *dev;
	uint32_t id;
	struct tessera_va va[TESSERA_VM_GRANULES];
	TAILQ_HEAD(, tessera_mapping) mappings; /* those that were asked for last are last */
	pthread_mutex_t residency; /* one change of what is listed at a time; outside vm_lock */
	uint64_t phase;
};

/* With the device's vm_lock. NULL: not mapped. */
struct tessera_mapping *tessera_vm_find(struct tessera_vm *vm, const struct tessera_bo *bo);
/* Likewise; it is taken off the list. Forgets the address whatever comes of that. */
int tessera_mapping_unlist(struct tessera_mapping *mapping);

/* Unmap it everywhere: nobody else has it. */
void tessera_vm_forget_bo(struct tessera_bo *bo);
/* Take it off all lists; it stays mapped. */
void tessera_vm_unlist_bo(struct tessera_bo *bo);
/* Is it mapped anywhere, so that jobs may use it that the kernel does not know of? */
bool tessera_vm_knows_bo(struct tessera_bo *bo);

/* What is listed, but was pushed out, has no room any more: evict what the phase at hand does not need. Is there more room now? */
bool tessera_vm_trim(struct tessera_vm *vm);

#endif /* TESSERA_VM_H */
