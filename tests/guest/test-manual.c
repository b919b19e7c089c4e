// SPDX-License-Identifier: MIT
/*
 * The worked examples of Documentation/uapi.rst, which shows the code between
 * the marks "example:" and "end". After each the pattern must be in the object;
 * it is missing if a call fails, so the examples check no errors.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "tsr.h"

#define PATTERN 0x12345678

static void with_lists(void)
{
	struct tsr_device dev = tsr_open();
	int fd = dev.fd;

	/* example: lists */
	/* a page of memory that the CPU can see: segment 1 by default */
	struct drm_tessera_bo_create bo = {
		.size = 4096,
		.supported = 1 << 1,
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
	};
	ioctl(fd, DRM_IOCTL_TESSERA_BO_CREATE, &bo);

	struct drm_tessera_context_create ctx = { .engine = 0 };
	ioctl(fd, DRM_IOCTL_TESSERA_CONTEXT_CREATE, &ctx);

	/* slot 0 := the object, then 1024 words of it := 0x12345678 */
	uint32_t cmds[18] __attribute__((aligned(8))) = {
		[0] = TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS),
		[1] = 0, /* slot */
		[6] = TSR_FORMAT_R32 | TSR_SURF_READ | TSR_SURF_WRITE,
		[10] = TSR_PKT_HEADER(TSR_OP_FILL, 0, TSR_FILL_DWORDS),
		[14] = 1024, /* width */
		[15] = 1, /* height */
		[16] = 0x12345678,
	};
	struct drm_tessera_submit_alloc alloc = {
		.handle = bo.handle,
		.flags = DRM_TESSERA_ALLOC_WRITE,
	};
	/* the address goes to byte 8 of the commands; they may be cut at byte 0 */
	struct drm_tessera_submit_patch patch = {
		.alloc_index = 0,
		.slot_id = 0,
		.patch_offset = 8,
		.split_offset = 0,
	};
	struct drm_tessera_submit job = {
		.context = ctx.id,
		.cmds = (uintptr_t)cmds,
		.cmd_size = sizeof(cmds),
		.allocs = { sizeof(alloc), 1, (uintptr_t)&alloc },
		.patches = { sizeof(patch), 1, (uintptr_t)&patch },
		.syncs = { sizeof(struct drm_tessera_sync), 0, 0 },
	};
	ioctl(fd, DRM_IOCTL_TESSERA_SUBMIT, &job);

	struct drm_tessera_bo_wait wait = { .handle = bo.handle, .timeout_ns = INT64_MAX };
	ioctl(fd, DRM_IOCTL_TESSERA_BO_WAIT, &wait);

	struct drm_tessera_bo_info info = { .handle = bo.handle };
	ioctl(fd, DRM_IOCTL_TESSERA_BO_INFO, &info);
	uint32_t *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, info.mmap_offset);
	/* end */

	require(p != MAP_FAILED);
	require_eq(p[0], PATTERN);
	require_eq(p[1023], PATTERN);
	tsr_close(&dev);
}

static void with_addresses(void)
{
	struct tsr_device dev = tsr_open();
	int fd = dev.fd;

	if (!(dev.info.caps & DRM_TESSERA_CAP_VM))
		tap_skip("the device has no virtual addresses");

	/* example: addresses */
	const uint64_t cmds_at = 0x10000, bo_at = 0x20000; /* chosen by the program */
	struct drm_tessera_vm_create vm = {};
	ioctl(fd, DRM_IOCTL_TESSERA_VM_CREATE, &vm);

	struct drm_tessera_context_create ctx = { .engine = 0, .vm = vm.id };
	ioctl(fd, DRM_IOCTL_TESSERA_CONTEXT_CREATE, &ctx);

	/* one page for commands and one for data, both in memory that the CPU can see */
	struct drm_tessera_bo_create bo[2] = {
		{ .size = 4096, .supported = 1 << 1, .flags = DRM_TESSERA_BO_CPU_ACCESS },
		{ .size = 4096, .supported = 1 << 1, .flags = DRM_TESSERA_BO_CPU_ACCESS },
	};
	uint32_t *map[2];
	for (int i = 0; i < 2; i++) {
		ioctl(fd, DRM_IOCTL_TESSERA_BO_CREATE, &bo[i]);
		struct drm_tessera_bo_info info = { .handle = bo[i].handle };
		ioctl(fd, DRM_IOCTL_TESSERA_BO_INFO, &info);
		map[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, info.mmap_offset);
	}

	/* slot 0 := address and limit, then 1024 words of it := 0x12345678 */
	const uint32_t cmds[18] = {
		[0] = TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS),
		[1] = 0, /* slot */
		[2] = (uint32_t)bo_at,
		[3] = (uint32_t)(bo_at >> 32),
		[4] = 4096, /* limit, low word */
		[6] = TSR_FORMAT_R32 | TSR_SURF_READ | TSR_SURF_WRITE,
		[10] = TSR_PKT_HEADER(TSR_OP_FILL, 0, TSR_FILL_DWORDS),
		[14] = 1024, /* width */
		[15] = 1, /* height */
		[16] = 0x12345678,
	};
	memcpy(map[0], cmds, sizeof(cmds));

	/* both at their addresses, and both on the residency list of the file */
	struct drm_tessera_vm_bind_op ops[2] = {
		{ .op = DRM_TESSERA_VM_BIND_MAP,
		  .handle = bo[0].handle,
		  .address = cmds_at,
		  .range = 4096,
		  .flags = DRM_TESSERA_VM_BIND_READ_ONLY },
		{ .op = DRM_TESSERA_VM_BIND_MAP,
		  .handle = bo[1].handle,
		  .address = bo_at,
		  .range = 4096 },
	};
	struct drm_tessera_vm_bind bind = {
		.vm = vm.id,
		.ops = { sizeof(ops[0]), 2, (uintptr_t)ops },
		.syncs = { sizeof(struct drm_tessera_sync), 0, 0 },
	};
	ioctl(fd, DRM_IOCTL_TESSERA_VM_BIND, &bind);

	uint32_t handles[2] = { bo[0].handle, bo[1].handle };
	struct drm_tessera_make_resident list = {
		.handles = { sizeof(handles[0]), 2, (uintptr_t)handles },
		.syncs = { sizeof(struct drm_tessera_sync), 0, 0 },
	};
	ioctl(fd, DRM_IOCTL_TESSERA_MAKE_RESIDENT, &list);

	/* the job leaves no fence at the objects, so a syncobj tells when it is done */
	struct drm_syncobj_create done = {};
	ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &done);
	struct drm_tessera_sync signal = {
		.handle = done.handle,
		.flags = DRM_TESSERA_SYNC_SIGNAL,
	};
	struct drm_tessera_submit_vm job = {
		.context = ctx.id,
		.cmds = cmds_at,
		.cmd_size = sizeof(cmds),
		.syncs = { sizeof(signal), 1, (uintptr_t)&signal },
	};
	ioctl(fd, DRM_IOCTL_TESSERA_SUBMIT_VM, &job);

	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&done.handle,
		.count_handles = 1,
		.timeout_nsec = INT64_MAX,
	};
	ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	/* end */

	require_eq(map[1][0], PATTERN);
	require_eq(map[1][1023], PATTERN);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "the manual's example with lists", with_lists, 0, 0 },
	{ "the manual's example at virtual addresses", with_addresses, 0, 0 },
};

TSR_TEST_MAIN(tests)
