// SPDX-License-Identifier: MIT
/* GPU virtual addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resident.h"
#include "vm.h"

int __tsr_vm_create(int fd, struct drm_tessera_vm_create *args)
{
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_VM_CREATE, args);
}

uint32_t tsr_vm_new(struct tsr_device *dev)
{
	struct drm_tessera_vm_create args = { 0 };

	if (!(dev->info.caps & DRM_TESSERA_CAP_VM))
		tap_skip("the device has no virtual addresses");
	require_ok(__tsr_vm_create(dev->fd, &args));
	require(args.id);
	return args.id;
}

int __tsr_vm_destroy(int fd, uint32_t id)
{
	struct drm_tessera_vm_destroy args = { .id = id };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_VM_DESTROY, &args);
}

void tsr_vm_free(struct tsr_device *dev, uint32_t id)
{
	require_ok(__tsr_vm_destroy(dev->fd, id));
}

int __tsr_vm_bind_ioctl(int fd, struct drm_tessera_vm_bind *args)
{
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_VM_BIND, args);
}

/* Fills the sync list with those of the two that are not 0. */
static void set_syncs(struct drm_tessera_array *array, struct drm_tessera_sync syncs[2],
		      uint32_t wait, uint32_t signal)
{
	memset(syncs, 0, 2 * sizeof(*syncs));
	array->stride = sizeof(*syncs);
	array->count = 0;
	array->array = (uintptr_t)syncs;
	if (wait)
		syncs[array->count++].handle = wait;
	if (signal) {
		syncs[array->count].flags = DRM_TESSERA_SYNC_SIGNAL;
		syncs[array->count++].handle = signal;
	}
}

int __tsr_vm_bind(int fd, uint32_t vm, const struct drm_tessera_vm_bind_op *ops, uint32_t count,
		  uint32_t wait, uint32_t signal)
{
	struct drm_tessera_sync syncs[2];
	struct drm_tessera_vm_bind args = {
		.vm = vm,
		.ops.stride = sizeof(*ops),
		.ops.count = count,
		.ops.array = (uintptr_t)ops,
	};

	set_syncs(&args.syncs, syncs, wait, signal);
	return __tsr_vm_bind_ioctl(fd, &args);
}

void tsr_vm_map(struct tsr_device *dev, uint32_t vm, const struct tsr_bo *bo, uint64_t offset,
		uint64_t address, uint64_t range, uint32_t flags)
{
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.flags = flags,
		.handle = bo->handle,
		.offset = offset,
		.address = address,
		.range = range,
	};

	require_ok(__tsr_vm_bind(dev->fd, vm, &op, 1, 0, 0));
}

/* An operation on a range, without an object. */
static void bind_range(struct tsr_device *dev, uint32_t vm, uint32_t op, uint64_t address,
		       uint64_t range)
{
	struct drm_tessera_vm_bind_op args = { .op = op, .address = address, .range = range };

	require_ok(__tsr_vm_bind(dev->fd, vm, &args, 1, 0, 0));
}

void tsr_vm_unmap(struct tsr_device *dev, uint32_t vm, uint64_t address, uint64_t range)
{
	bind_range(dev, vm, DRM_TESSERA_VM_BIND_UNMAP, address, range);
}

void tsr_vm_map_null(struct tsr_device *dev, uint32_t vm, uint64_t address, uint64_t range)
{
	bind_range(dev, vm, DRM_TESSERA_VM_BIND_MAP_NULL, address, range);
}

uint32_t tsr_vm_context_new(struct tsr_device *dev, uint32_t vm)
{
	struct drm_tessera_context_create args = { .engine = dev->render, .vm = vm };

	require_ok(__tsr_context_create(dev->fd, &args));
	return args.id;
}

void tsr_cmd_bind_address(struct tsr_cmd *cmd, uint32_t slot, uint64_t address, uint64_t bytes,
			  bool write)
{
	uint32_t *p = tsr_cmd_packet(cmd, TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS);

	p[1] = slot;
	p[2] = (uint32_t)address;
	p[3] = (uint32_t)(address >> 32);
	p[4] = (uint32_t)bytes;
	p[5] = (uint32_t)(bytes >> 32);
	p[6] = TSR_FORMAT_R32 << TSR_SURF_FORMAT_SHIFT | TSR_SURF_READ |
	       (write ? TSR_SURF_WRITE : 0);
}

int __tsr_submit_vm_ioctl(int fd, struct drm_tessera_submit_vm *args)
{
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_SUBMIT_VM, args);
}

int __tsr_submit_vm(struct tsr_device *dev, uint32_t context, uint64_t cmds, uint32_t bytes,
		    uint32_t wait, uint32_t signal)
{
	struct drm_tessera_sync syncs[2];
	struct drm_tessera_submit_vm args = {
		.context = context,
		.cmds = cmds,
		.cmd_size = bytes,
	};

	set_syncs(&args.syncs, syncs, wait, signal);
	return __tsr_submit_vm_ioctl(dev->fd, &args);
}

struct tsr_vm tsr_vm_open(struct tsr_device *dev)
{
	return tsr_vm_open_in(dev, tsr_vm_new(dev));
}

struct tsr_vm tsr_vm_open_in(struct tsr_device *dev, uint32_t id)
{
	uint32_t flags = DRM_TESSERA_BO_CPU_ACCESS;
	struct tsr_vm vm = { .dev = dev, .id = id, .at = TSR_VM_CMDS };

	/* jobs get no cache maintenance for what the CPU wrote meanwhile */
	if (dev->info.caps & DRM_TESSERA_CAP_IO_COHERENT)
		flags |= DRM_TESSERA_BO_CPU_CACHED;
	vm.context = tsr_vm_context_new(dev, vm.id);
	vm.patched = tsr_context_new(dev, 0);
	vm.cmds = tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_gart(dev)), flags);
	tsr_bo_map(dev, &vm.cmds);
	tsr_vm_map(dev, vm.id, &vm.cmds, 0, vm.at, vm.cmds.size, 0);
	tsr_vm_place(&vm, &vm.cmds);
	return vm;
}

void tsr_vm_close(struct tsr_vm *vm)
{
	tsr_context_free(vm->dev, vm->context);
	tsr_context_free(vm->dev, vm->patched);
	tsr_vm_free(vm->dev, vm->id);
	tsr_bo_free(vm->dev, &vm->cmds);
}

void tsr_vm_renew(struct tsr_vm *vm)
{
	tsr_context_free(vm->dev, vm->context);
	vm->context = tsr_vm_context_new(vm->dev, vm->id);
}

void tsr_vm_place(struct tsr_vm *vm, const struct tsr_bo *bo)
{
	tsr_make_resident(vm->dev, bo, 1);
}

struct tsr_bo tsr_vm_stage_new(struct tsr_vm *vm, uint64_t size)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, size, tsr_bit(tsr_seg_gart(vm->dev)),
				      DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);

	tsr_bo_map(vm->dev, &bo);
	tsr_vm_map(vm->dev, vm->id, &bo, 0, TSR_VM_STAGE, size, 0);
	tsr_vm_place(vm, &bo);
	return bo;
}

int tsr_vm_run(struct tsr_vm *vm, const struct tsr_cmd *cmd)
{
	uint32_t sync = tsr_syncobj_new(vm->dev);
	int status;

	require(tsr_cmd_bytes(cmd) <= vm->cmds.size);
	memcpy(vm->cmds.map, cmd->dw, tsr_cmd_bytes(cmd));
	status = __tsr_submit_vm(vm->dev, vm->context, vm->at, tsr_cmd_bytes(cmd), 0, sync);
	require_ok(status);
	status = tsr_syncobj_status(vm->dev, sync);
	tsr_syncobj_free(vm->dev, sync);
	return status;
}

int tsr_vm_try_fill(struct tsr_vm *vm, uint64_t address, uint64_t bytes, uint32_t value)
{
	struct tsr_cmd cmd;
	int status;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, address, bytes, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bytes / 4), value);
	status = tsr_vm_run(vm, &cmd);
	tsr_cmd_fini(&cmd);
	return status;
}

int tsr_vm_try_copy(struct tsr_vm *vm, uint64_t to, uint64_t from, uint64_t bytes)
{
	struct tsr_cmd cmd;
	int status;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, to, bytes, true);
	tsr_cmd_bind_address(&cmd, 1, from, bytes, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(bytes / 4));
	status = tsr_vm_run(vm, &cmd);
	tsr_cmd_fini(&cmd);
	return status;
}

/* Status of a job at addresses that are mapped: it must not fault. */
static void require_found(int status, uint64_t address, uint64_t bytes)
{
	require_msg(status != -EFAULT,
		    "a job faulted on 0x%llx bytes at 0x%llx or on its destination, although both "
		    "are mapped: the page tables lack their entries",
		    (unsigned long long)bytes, (unsigned long long)address);
	require_ok(status);
}

void tsr_vm_fill(struct tsr_vm *vm, uint64_t address, uint64_t bytes, uint32_t value)
{
	require_found(tsr_vm_try_fill(vm, address, bytes, value), address, bytes);
}

void tsr_vm_copy(struct tsr_vm *vm, uint64_t to, uint64_t from, uint64_t bytes)
{
	require_found(tsr_vm_try_copy(vm, to, from, bytes), from, bytes);
}

uint64_t tsr_tables_in(uint32_t segment)
{
	char *text = tsr_debugfs_read("segments"), *save = NULL, *line;
	unsigned long long bytes, sum = 0;
	unsigned int id;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *tables = strstr(line, " tables ");

		if (sscanf(line, "segment %u ", &id) != 1)
			continue;
		require_msg(tables && sscanf(tables, " tables %llu", &bytes) == 1,
			    "`segments` shows no page tables: %s", line);
		if (!segment || id == segment)
			sum += bytes;
	}
	free(text);
	return sum;
}
