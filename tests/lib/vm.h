/* SPDX-License-Identifier: MIT */
/*
 * GPU virtual addresses: VMs, their mappings, and jobs with their commands
 * there.
 */
#ifndef TSR_VM_H
#define TSR_VM_H

#include "tsr.h"

int __tsr_vm_create(int fd, struct drm_tessera_vm_create *args);
uint32_t tsr_vm_new(struct tsr_device *dev); /* skips the test if the device has no VMs */
int __tsr_vm_destroy(int fd, uint32_t id);
void tsr_vm_free(struct tsr_device *dev, uint32_t id);

int __tsr_vm_bind_ioctl(int fd, struct drm_tessera_vm_bind *args);
/* @wait and @signal: binary syncobjs, or 0 */
int __tsr_vm_bind(int fd, uint32_t vm, const struct drm_tessera_vm_bind_op *ops, uint32_t count,
		  uint32_t wait, uint32_t signal);
void tsr_vm_map(struct tsr_device *dev, uint32_t vm, const struct tsr_bo *bo, uint64_t offset,
		uint64_t address, uint64_t range, uint32_t flags);
void tsr_vm_unmap(struct tsr_device *dev, uint32_t vm, uint64_t address, uint64_t range);
void tsr_vm_map_null(struct tsr_device *dev, uint32_t vm, uint64_t address, uint64_t range);

uint32_t tsr_vm_context_new(struct tsr_device *dev, uint32_t vm);

/* Binds a slot to an address. There is no patch entry and no object. */
void tsr_cmd_bind_address(struct tsr_cmd *cmd, uint32_t slot, uint64_t address, uint64_t bytes,
			  bool write);

int __tsr_submit_vm_ioctl(int fd, struct drm_tessera_submit_vm *args);
int __tsr_submit_vm(struct tsr_device *dev, uint32_t context, uint64_t cmds, uint32_t bytes,
		    uint32_t wait, uint32_t signal);

/* A VM with a context, and an object that the CPU writes commands to. */
struct tsr_vm {
	struct tsr_device *dev;
	uint32_t id, context, patched;
	struct tsr_bo cmds;
	uint64_t at; /* GPU virtual address of @cmds */
};

#define TSR_VM_CMDS 0x7f0000000000ull
#define TSR_VM_STAGE 0x200000000ull

struct tsr_vm tsr_vm_open(struct tsr_device *dev);
struct tsr_vm tsr_vm_open_in(struct tsr_device *dev, uint32_t id); /* in an existing VM */
void tsr_vm_close(struct tsr_vm *vm);
/* Replaces the context, after it was lost. */
void tsr_vm_renew(struct tsr_vm *vm);
/* Makes the object resident, so that jobs may access it. */
void tsr_vm_place(struct tsr_vm *vm, const struct tsr_bo *bo);
/* An object that the CPU can access, mapped at TSR_VM_STAGE and resident. */
struct tsr_bo tsr_vm_stage_new(struct tsr_vm *vm, uint64_t size);
/* Submits and waits. Returns the fence's status. */
int tsr_vm_run(struct tsr_vm *vm, const struct tsr_cmd *cmd);
int tsr_vm_try_fill(struct tsr_vm *vm, uint64_t address, uint64_t bytes, uint32_t value);
int tsr_vm_try_copy(struct tsr_vm *vm, uint64_t to, uint64_t from, uint64_t bytes);
void tsr_vm_fill(struct tsr_vm *vm, uint64_t address, uint64_t bytes, uint32_t value);
void tsr_vm_copy(struct tsr_vm *vm, uint64_t to, uint64_t from, uint64_t bytes);

/*
 * Bytes of page tables of all VMs in a segment, as the debugfs file `segments`
 * shows them; in all segments together if @segment is 0.
 */
uint64_t tsr_tables_in(uint32_t segment);

#endif /* TSR_VM_H */
