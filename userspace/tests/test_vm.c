// SPDX-License-Identifier: MIT
/*
 * VMs in the library, on a mock kernel: addresses, command buffers with
 * addresses, and phases.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define MIB(n) ((uint64_t)(n) << 20)

static struct tessera_device *dev_of(void **state)
{
	return ((struct mock_device *)*state)->dev;
}

static struct mock *mock_of(void **state)
{
	return &((struct mock_device *)*state)->mock;
}

static struct tessera_vm *new_vm(void **state)
{
	struct tessera_vm *vm;

	assert_int_equal(tessera_vm_new(dev_of(state), &vm), 0);
	return vm;
}

static struct tessera_context *new_context(struct tessera_vm *vm)
{
	const struct tessera_context_desc desc = { .engine = 1 };
	struct tessera_context *ctx;

	assert_int_equal(tessera_context_new_vm(vm, &desc, &ctx), 0);
	return ctx;
}

static uint64_t address_in(struct tessera_vm *vm, struct tessera_bo *bo)
{
	uint64_t address;

	assert_int_equal(tessera_vm_bind(vm, bo, &address), 0);
	return address;
}

/*
 * Objects become private to a VM on request, and the library's own command
 * memory always. Fails if the flag or the id does not reach the kernel, or if a
 * swizzled object with CPU access becomes private.
 */
static void test_private(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_bo_desc desc = { .size = 4096, .supported = 2 }, plain = desc;
	struct tessera_cmdbuf *cb;
	struct tessera_bo *bo;

	tessera_bo_desc_private(&desc, NULL);
	assert_memory_equal(&desc, &plain, sizeof(desc));
	desc.layout = TSR_LAYOUT_TILE4K;
	desc.flags = DRM_TESSERA_BO_CPU_ACCESS;
	tessera_bo_desc_private(&desc, vm);
	assert_int_equal(desc.flags, DRM_TESSERA_BO_CPU_ACCESS);
	assert_int_equal(desc.vm, 0);
	desc.flags = 0;
	tessera_bo_desc_private(&desc, vm);
	assert_int_equal(tessera_bo_new(dev_of(state), &desc, &bo), 0);
	assert_int_equal(mock->last_create.flags, DRM_TESSERA_BO_VM_PRIVATE);
	assert_int_equal(mock->last_create.vm, tessera_vm_id(vm));
	assert_int_equal(mock->last_create.priority, 0);
	assert_int_equal(mock->last_create.alignment, 0);
	tessera_bo_del(bo);
	desc.priority = -1;
	desc.alignment = 65536;
	desc.write_set = desc.supported;
	assert_int_equal(tessera_bo_new(dev_of(state), &desc, &bo), 0);
	assert_int_equal(mock->last_create.priority, -1);
	assert_int_equal(mock->last_create.alignment, 65536);
	assert_int_equal(mock->last_create.write_set, desc.supported);
	tessera_bo_del(bo);
	desc.pad = 1;
	assert_int_equal(tessera_bo_new(dev_of(state), &desc, &bo), -EINVAL);
	/* the library's command memory */
	assert_int_equal(tessera_cmdbuf_new_for(ctx, &cb), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 8), 0);
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	assert_true(mock->last_create.flags & DRM_TESSERA_BO_VM_PRIVATE);
	assert_int_equal(mock->last_create.vm, tessera_vm_id(vm));
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

/*
 * RES-5: an object has one address in each VM until it is unbound, aligned to
 * the page size for its size. Fails if ranges overlap, if an address is not
 * reused, or if deleting a VM first causes unmaps.
 */
static void test_addresses(void **state)
{
	static const uint64_t sizes[] = {
		4096, 65536 - 4096, 65536, MIB(2) - 4096, MIB(2), MIB(5)
	};
	static const uint64_t aligns[] = { 4096, 4096, 65536, 65536, MIB(2), MIB(2) };
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state), *other = new_vm(state);
	struct tessera_bo *bos[ARRAY_SIZE(sizes)];
	uint64_t at[ARRAY_SIZE(sizes)], mapped = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		bos[i] = mock_bo(dev_of(state), sizes[i]);
		at[i] = address_in(vm, bos[i]);
		assert_int_equal(at[i] % aligns[i], 0);
		assert_int_equal(mock->last_bind.handle, tessera_bo_handle(bos[i]));
		assert_int_equal(mock->last_bind.address, at[i]);
		assert_int_equal(mock->last_bind.range, sizes[i]);
		assert_int_equal(mock->last_bind.offset, 0);
		mapped += sizes[i];
		for (size_t j = 0; j < i; j++)
			assert_true(at[i] >= at[j] + sizes[j] || at[j] >= at[i] + sizes[i]);
	}
	assert_int_equal(mock->mapped_bytes, mapped);
	/* Binding again makes no call. */
	assert_int_equal(address_in(vm, bos[0]), at[0]);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_VM_BIND), ARRAY_SIZE(sizes));
	/* Another VM has its own addresses. */
	assert_int_equal(address_in(other, bos[5]), at[4]);
	assert_int_equal(tessera_vm_unbind(other, bos[5]), 0);
	assert_int_equal(tessera_vm_unbind(other, bos[5]), -EINVAL);
	assert_int_equal(address_in(vm, bos[5]), at[5]);
	/* Deleting the object frees the address, which is used again. */
	tessera_bo_del(bos[1]);
	assert_int_equal(mock->last_bind.op, DRM_TESSERA_VM_BIND_UNMAP);
	assert_int_equal(mock->last_bind.address, at[1]);
	assert_int_equal(mock->last_bind.range, sizes[1]);
	bos[1] = mock_bo(dev_of(state), 8192);
	assert_int_equal(address_in(vm, bos[1]), at[1]);
	/* If the VM is deleted first, nothing is unmapped. */
	mock->calls = 0;
	tessera_vm_del(vm);
	tessera_vm_del(other);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(tessera_bo_destroy(bos[i], 0), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_VM_BIND), 0);
}

/* RES-9: a mapping becomes read-only, and writable again, at its address. */
static void test_protect(void **state)
{
	const uint32_t read_only = DRM_TESSERA_VM_BIND_READ_ONLY;
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_bo *bo = mock_bo(dev_of(state), 8192);
	uint64_t at;

	assert_int_equal(tessera_vm_protect(vm, bo, read_only), -EINVAL);
	at = address_in(vm, bo);
	assert_int_equal(mock->last_bind.flags, 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(tessera_vm_protect(vm, bo, i ? 0 : read_only), 0);
		assert_int_equal(mock->last_bind.op, DRM_TESSERA_VM_BIND_MAP);
		assert_int_equal(mock->last_bind.flags, i ? 0 : read_only);
		assert_int_equal(mock->last_bind.handle, tessera_bo_handle(bo));
		assert_int_equal(mock->last_bind.address, at);
		assert_int_equal(mock->last_bind.range, 8192);
	}
	tessera_bo_del(bo);
	tessera_vm_del(vm);
}

/*
 * RES-13: the address of a fence is that of its value, not of its page. The VM
 * keeps the fence, and packets with its address need a VM.
 */
static void test_map_fence(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_monitored *fence;
	struct tessera_cmdbuf *cb, *plain;
	uint64_t at, again;

	assert_int_equal(tessera_monitored_new(dev_of(state), 7, &fence), 0);
	assert_int_equal(tessera_vm_unmap_fence(vm, fence), -EINVAL);
	mock->fail_request = DRM_IOCTL_TESSERA_VM_BIND;
	mock->fail_errno = ENOENT;
	assert_int_equal(tessera_vm_map_fence(vm, fence, 0, &at), -ENOENT);
	mock->fail_errno = 0;
	for (long i = 0; i < 2; i++) {
		mock->fail_alloc = mock->allocs + i;
		assert_int_equal(tessera_vm_map_fence(vm, fence, 0, &at), -ENOMEM);
	}
	mock->fail_alloc = -1;
	assert_int_equal(tessera_vm_map_fence(vm, fence, 0, &at), 0);
	assert_int_equal(mock->last_bind.op, DRM_TESSERA_VM_BIND_MAP_FENCE);
	assert_int_equal(mock->last_bind.flags, 0);
	assert_int_equal(mock->last_bind.range, 4096);
	assert_int_equal(mock->last_bind.offset, 0);
	assert_int_equal(at - mock->last_bind.address, 16);
	assert_int_equal(tessera_vm_map_fence(vm, fence, DRM_TESSERA_VM_BIND_READ_ONLY, &again), 0);
	assert_int_equal(again, at);
	assert_int_equal(mock->last_bind.flags, DRM_TESSERA_VM_BIND_READ_ONLY);
	assert_int_equal(tessera_vm_unmap_fence(vm, fence), 0);
	assert_int_equal(mock->last_bind.op, DRM_TESSERA_VM_BIND_UNMAP);
	assert_int_equal(tessera_vm_map_fence(vm, fence, 0, &again), 0);
	assert_int_equal(again, at);
	tessera_monitored_del(fence); /* the VM has the last reference */

	assert_int_equal(tessera_cmdbuf_new_for(ctx, &cb), 0);
	assert_int_equal(tessera_cmdbuf_fence_wait(cb, at, UINT64_MAX), 0);
	assert_int_equal(tessera_cmdbuf_fence_signal(cb, at, 1), 0);
	assert_int_equal(tessera_cmdbuf_fence_signal(cb, at + 4, 1), -EINVAL);
	tessera_cmdbuf_del(cb);
	assert_int_equal(tessera_cmdbuf_new(dev_of(state), &plain), 0);
	assert_int_equal(tessera_cmdbuf_fence_wait(plain, at, 1), -EINVAL);
	tessera_cmdbuf_del(plain);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

static void test_bind_fails(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_bo *bo = mock_bo(dev_of(state), 4096), *second;
	uint64_t address, first;

	mock->fail_request = DRM_IOCTL_TESSERA_VM_BIND;
	mock->fail_errno = ENOSPC;
	assert_int_equal(tessera_vm_bind(vm, bo, &address), -ENOSPC);
	mock->fail_errno = 0;
	assert_int_equal(tessera_vm_unbind(vm, bo), -EINVAL);
	for (long i = 0; i < 2; i++) {
		mock->fail_alloc = mock->allocs + i;
		assert_int_equal(tessera_vm_bind(vm, bo, &address), -ENOMEM);
	}
	mock->fail_alloc = -1;
	first = address_in(vm, bo);
	/* Addresses that may still be mapped must not be reused. */
	mock->fail_errno = ENOMEM;
	assert_int_equal(tessera_vm_unbind(vm, bo), -ENOMEM);
	mock->fail_errno = 0;
	second = mock_bo(dev_of(state), 4096);
	promise(address_in(vm, second) != first, "expected another address: unmapping the first "
						 "object failed, so jobs may still reach it there");
	tessera_bo_del(bo);
	tessera_bo_del(second);
	tessera_vm_del(vm);
}

static void test_new_fails(void **state)
{
	struct mock *mock = mock_of(state);
	const struct tessera_context_desc desc = { .engine = 1 };
	struct tessera_context *ctx;
	struct tessera_vm *vm;

	for (long i = 0;; i++) {
		mock->fail_alloc = mock->allocs + i;
		if (!tessera_vm_new(dev_of(state), &vm))
			break;
		assert_true(i < 10);
	}
	for (long i = 0;; i++) {
		mock->fail_alloc = mock->allocs + i;
		if (!tessera_context_new_vm(vm, &desc, &ctx))
			break;
		assert_true(i < 10);
	}
	mock->fail_alloc = -1;
	tessera_context_del(ctx);
	mock->fail_request = DRM_IOCTL_TESSERA_CONTEXT_CREATE;
	mock->fail_errno = EINVAL;
	assert_int_equal(tessera_context_new_vm(vm, &desc, &ctx), -EINVAL);
	tessera_vm_del(vm);
	dev_of(state)->info.caps = 0;
	assert_int_equal(tessera_vm_new(dev_of(state), &vm), -EOPNOTSUPP);
}

/*
 * The calls of the patched model record packets with addresses and without
 * lists.
 */
static void test_stream(void **state)
{
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_bo *a = mock_bo(dev_of(state), 16384), *b = mock_bo(dev_of(state), 8192);
	const struct tessera_rect rect = { 0, 0, 1, 1 };
	struct tessera_stream stream;
	struct tessera_cmdbuf *cb;
	struct tessera_lint lint;
	struct tessera_view view;
	uint64_t at_a, at_b;

	assert_int_equal(tessera_cmdbuf_new_for(ctx, &cb), 0);
	tessera_view_init_buffer(&view);
	view.offset = 4096;
	assert_int_equal(tessera_cmdbuf_bind(cb, 3, b, &view), 0);
	view.offset = 0;
	view.access |= TSR_SURF_WRITE;
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, a, &view), 0);
	at_a = address_in(vm, a);
	at_b = address_in(vm, b);
	assert_int_equal(tessera_cmdbuf_copy(cb, 1, 0, 0, 3, &rect), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 3), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 1, &rect, 5), 0);
	assert_int_equal(tessera_cmdbuf_lint(cb, &lint), 0);
	tessera_cmdbuf_stream(cb, &stream);
	assert_int_equal(stream.flags, TESSERA_STREAM_ADDRESSES);
	assert_int_equal(stream.num_patches, 0);
	promise(((const uint32_t *)stream.cmds)[4] == 4096,
		"slot 3 reaches %u bytes from its view's offset, its object ends after 4096",
		((const uint32_t *)stream.cmds)[4]);
	{
		/*
		 * BIND_SLOT, BIND_SLOT, COPY, UNBIND_SLOT and FILL, without
		 * another bind
		 */
		const uint32_t words[] = {
			0x000a0001,
			3,
			(uint32_t)at_b + 4096,
			at_b >> 32,
			4096,
			0,
			0x00010005,
			0,
			0,
			0,
			0x000a0001,
			1,
			(uint32_t)at_a,
			at_a >> 32,
			16384,
			0,
			0x00030005,
			0,
			0,
			0,
			0x000a0011,
			1,
			3,
			0,
			0,
			0,
			0,
			1,
			1,
			0,
			0x00020002,
			3,
			0x00080010,
			1,
			0,
			0,
			1,
			1,
			5,
			0,
		};

		assert_int_equal(stream.cmd_bytes, sizeof(words));
		assert_memory_equal(stream.cmds, words, sizeof(words));
	}
	/* Objects live as long as the commands that use them. */
	tessera_bo_del(b);
	assert_int_not_equal(mock_of(state)->last_bind.op, DRM_TESSERA_VM_BIND_UNMAP);
	tessera_cmdbuf_reset(cb);
	assert_int_equal(mock_of(state)->last_bind.op, DRM_TESSERA_VM_BIND_UNMAP);
	tessera_bo_del(a);
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

/*
 * Nothing is cut, so a bind must not make the state undefined: fails if
 * SET_STATE is sent again.
 */
static void test_state_stays(void **state)
{
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_bo *bo = mock_bo(dev_of(state), 16384);
	struct tessera_stream before, after;
	struct tessera_cmdbuf *cb;
	struct tessera_view view;

	assert_int_equal(tessera_cmdbuf_new_for(ctx, &cb), 0);
	tessera_view_init_buffer(&view);
	view.access |= TSR_SURF_WRITE;
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, bo, &view), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 1), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 1, 0, 3, 0), 0);
	tessera_cmdbuf_stream(cb, &before);
	assert_int_equal(tessera_cmdbuf_bind(cb, 2, bo, &view), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 2, 0, 3, 0), 0);
	tessera_cmdbuf_stream(cb, &after);
	assert_int_equal(after.cmd_bytes - before.cmd_bytes,
			 4 * (TSR_BIND_SLOT_DWORDS + TSR_DRAW_DWORDS));
	tessera_cmdbuf_del(cb);
	tessera_bo_del(bo);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

static struct tessera_cmdbuf *new_work(struct tessera_context *ctx, struct tessera_bo *bo,
				       uint32_t dwords)
{
	const struct tessera_rect rect = { 0, 0, 1, 1 };
	struct tessera_cmdbuf *cb;
	struct tessera_view view;

	assert_int_equal(tessera_cmdbuf_new_for(ctx, &cb), 0);
	tessera_view_init_buffer(&view);
	view.access |= TSR_SURF_WRITE;
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, bo, &view), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 1, &rect, 5), 0);
	for (; dwords; dwords -= 1024)
		assert_int_equal(tessera_cmdbuf_nop(cb, 1024), 0);
	return cb;
}

/*
 * Commands stay in memory that the device reads until their job is over. The
 * memory is then reused. Fails if commands overwrite those of an unfinished
 * job.
 */
static void test_submit(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state), *other = new_vm(state);
	struct tessera_context *ctx = new_context(vm), *stranger = new_context(other);
	struct tessera_bo *bo = mock_bo(dev_of(state), 4096);
	/* A bit more than 32 KiB: one block holds one of them. */
	struct tessera_cmdbuf *cb = new_work(ctx, bo, 8192), *empty;
	struct tessera_fence *fence;
	struct tessera_submit_args args = { .fence = &fence };
	uint64_t first, second;

	assert_int_equal(tessera_context_submit(stranger, cb, NULL), -EXDEV);
	assert_int_equal(tessera_cmdbuf_new(dev_of(state), &empty), 0);
	assert_int_equal(tessera_context_submit(ctx, empty, NULL), -EXDEV);
	tessera_cmdbuf_del(empty);
	assert_int_equal(tessera_cmdbuf_new_for(ctx, &empty), 0);
	assert_int_equal(tessera_context_submit(ctx, empty, NULL), -EINVAL);
	tessera_cmdbuf_del(empty);

	assert_int_equal(tessera_context_submit(ctx, cb, &args), 0);
	assert_int_equal(args.parts, 1);
	first = mock->last_submit_vm.cmds;
	assert_int_equal(mock->last_submit_vm.context, tessera_context_id(ctx));
	assert_int_equal(mock->last_submit_vm.cmd_size, 32768 + 40 + 32);
	assert_int_equal(mock->last_submit_vm.syncs.count, 2);
	assert_int_equal(mock->last_syncs[1].flags,
			 DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE);
	assert_int_equal(mock->last_syncs[1].point, 1);
	tessera_fence_del(fence);
	/* The commands are copied, mapped read-only and resident. */
	assert_memory_equal(mock->memory, cb->cmds, 72);
	assert_int_equal(mock->last_bind.address, first);
	promise(mock->last_bind.flags == DRM_TESSERA_VM_BIND_READ_ONLY,
		"expected a read-only mapping of the commands, the GPU can write them");
	assert_int_equal(mock->last_handles[0], mock->last_bind.handle);

	/*
	 * The job is unfinished, so the next commands go to another block. A
	 * failed submission uses no point.
	 */
	mock->fail_request = DRM_IOCTL_TESSERA_SUBMIT_VM;
	mock->fail_errno = EIO;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), -EIO);
	mock->fail_errno = 0;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	second = mock->last_submit_vm.cmds;
	promise(second >= first + 65536 || second + 65536 <= first,
		"commands overwrite those of a job that has not ended: both are at 0x%llx",
		(unsigned long long)second);
	assert_int_equal(mock->last_syncs[0].point, 2);
	/* The job is over, so its block is reused and no new one is created. */
	mock->reached = 1;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	assert_int_equal(mock->last_submit_vm.cmds, first);
	mock->reached = 2;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	assert_int_equal(mock->last_submit_vm.cmds, second);

	tessera_cmdbuf_del(cb);
	tessera_bo_del(bo);
	tessera_context_del(ctx);
	tessera_context_del(stranger);
	tessera_vm_del(vm);
	tessera_vm_del(other);
}

/* Short command buffers share a block. */
static void test_submit_short(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_bo *bo = mock_bo(dev_of(state), 4096);
	struct tessera_cmdbuf *cb = new_work(ctx, bo, 0);
	uint64_t at = 0;

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
		if (i)
			promise(mock->last_submit_vm.cmds == at + 72,
				"short commands are at 0x%llx, expected them after those of the "
				"previous, unfinished job, at 0x%llx",
				(unsigned long long)mock->last_submit_vm.cmds,
				(unsigned long long)at);
		at = mock->last_submit_vm.cmds;
	}
	tessera_cmdbuf_del(cb);
	tessera_bo_del(bo);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

/*
 * The memory for queued commands has a limit. At the limit the library sleeps
 * until the oldest job is over.
 */
static void test_submit_bounded(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_bo *bo = mock_bo(dev_of(state), 4096);
	struct tessera_cmdbuf *cb = new_work(ctx, bo, 8192);

	mock->space = UINT64_MAX;
	for (uint32_t i = 1; i <= 64; i++) {
		assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
		assert_int_equal(mock->waited, 0);
	}
	assert_int_equal(mock->listed_bytes, 4 << 20);
	for (uint32_t i = 1; i <= 64; i++) {
		assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
		promise(mock->waited == i, "commands overwrite those of a job that has not ended: "
					   "expected a wait for the job first");
	}
	assert_int_equal(mock->listed_bytes, 4 << 20);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(bo);
	tessera_context_del(ctx);
	assert_int_equal(mock->listed_bytes, 0);
	tessera_vm_del(vm);
}

#define OBJECTS 8

static bool is_listed(struct mock *mock, struct tessera_bo *bo)
{
	assert_true(mock->listed[tessera_bo_handle(bo)] <= 1);
	return mock->listed[tessera_bo_handle(bo)];
}

/*
 * RES-1 RES-3: a phase lists the objects from the front that fit. The least
 * recently requested objects are evicted first, kept ones never.
 */
static void test_phases(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_bo *bos[OBJECTS], *kept = mock_bo(dev_of(state), MIB(1));
	struct tessera_bo *twice[3];

	mock->space = MIB(4);
	for (uint32_t i = 0; i < OBJECTS; i++)
		bos[i] = mock_bo(dev_of(state), MIB(1));
	assert_int_equal(tessera_vm_make_resident(vm, &kept, 1), 0);
	assert_int_equal(tessera_vm_phase(vm, bos, OBJECTS), 3);
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_int_equal(is_listed(mock, bos[i]), i < 3);
	/*
	 * The next phase replaces the first objects. Listed objects are not
	 * listed again.
	 */
	assert_int_equal(tessera_vm_phase(vm, bos + 2, 2), 2);
	assert_false(is_listed(mock, bos[0]));
	assert_true(is_listed(mock, bos[1]));
	assert_true(is_listed(mock, bos[2]));
	assert_true(is_listed(mock, bos[3]));
	/*
	 * An object of this phase is not evicted for a later one of the same
	 * phase.
	 */
	twice[0] = bos[1];
	twice[1] = bos[1];
	twice[2] = bos[7];
	assert_int_equal(tessera_vm_phase(vm, twice, 3), 3);
	assert_true(is_listed(mock, bos[1]));
	assert_true(is_listed(mock, bos[7]));
	assert_true(is_listed(mock, kept));
	/* An object that still fits stays listed. */
	assert_false(is_listed(mock, bos[2]));
	assert_true(is_listed(mock, bos[3]));
	assert_int_equal(tessera_vm_phase(vm, NULL, 0), 0);
	assert_int_equal(tessera_vm_phase(NULL, bos, OBJECTS), OBJECTS);

	/* Keeping is counted, and is done for all objects or none. */
	assert_int_equal(tessera_vm_make_resident(vm, &kept, 1), 0);
	assert_int_equal(tessera_vm_make_resident(vm, bos, 4), -ENOMEM);
	assert_int_equal(tessera_vm_evict(vm, bos, 1), -EINVAL);
	assert_int_equal(tessera_vm_make_resident(vm, bos, 3), 0);
	assert_int_equal(tessera_vm_phase(vm, &bos[5], 1), -ENOMEM);
	assert_false(is_listed(mock, bos[5]));
	twice[0] = kept;
	twice[1] = kept;
	twice[2] = kept;
	assert_int_equal(tessera_vm_evict(vm, twice, 3), -EINVAL);
	assert_int_equal(tessera_vm_evict(vm, twice, 1), 0);
	assert_true(is_listed(mock, kept));
	assert_int_equal(tessera_vm_evict(vm, twice, 1), 0);
	assert_false(is_listed(mock, kept));
	assert_int_equal(tessera_vm_phase(vm, &bos[5], 1), 1);
	for (uint32_t i = 0; i < OBJECTS; i++)
		tessera_bo_del(bos[i]);
	tessera_bo_del(kept);
	assert_int_equal(mock->listed_bytes, 0);
	tessera_vm_del(vm);
	assert_int_equal(mock->mapped_bytes, 0);
}

/*
 * SEG-37: among objects of earlier phases, those of a lower priority are evicted
 * first, whenever they were requested.
 */
static void test_phase_priorities(void **state)
{
	static const int32_t priorities[] = { 1, -1, 0, -1 };
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_bo *bos[OBJECTS];

	mock->space = MIB(4);
	for (uint32_t i = 0; i < OBJECTS; i++)
		bos[i] = mock_bo(dev_of(state), MIB(1));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(tessera_bo_set_priority(bos[i], priorities[i]), 0);
	assert_int_equal(tessera_vm_phase(vm, bos, 4), 4);
	assert_int_equal(tessera_vm_phase(vm, &bos[4], 1), 1);
	promise(is_listed(mock, bos[0]) && !is_listed(mock, bos[1]),
		"expected the lowest priority to be evicted before the least recent request");
	assert_true(is_listed(mock, bos[3]));
	assert_int_equal(tessera_vm_phase(vm, &bos[4], 2), 2);
	promise(is_listed(mock, bos[2]) && !is_listed(mock, bos[3]),
		"expected the lowest priority to be evicted before normal ones");
	assert_int_equal(tessera_vm_phase(vm, &bos[4], 3), 3);
	assert_false(is_listed(mock, bos[2]));
	assert_true(is_listed(mock, bos[0]));
	assert_int_equal(tessera_vm_phase(vm, &bos[4], 4), 4);
	assert_false(is_listed(mock, bos[0]));
	for (uint32_t i = 0; i < OBJECTS; i++)
		tessera_bo_del(bos[i]);
	tessera_vm_del(vm);
}

/* A call that fails with another error than -ENOMEM lists nothing. */
static void test_phase_fails(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_bo *bos[2] = { mock_bo(dev_of(state), MIB(1)),
				      mock_bo(dev_of(state), MIB(1)) };

	mock->space = MIB(4);
	mock->fail_request = DRM_IOCTL_TESSERA_MAKE_RESIDENT;
	mock->fail_errno = EIO;
	assert_int_equal(tessera_vm_phase(vm, bos, 2), -EIO);
	assert_int_equal(tessera_vm_make_resident(vm, bos, 2), -EIO);
	mock->fail_errno = 0;
	assert_int_equal(tessera_vm_phase(vm, bos, 2), 2);
	assert_true(is_listed(mock, bos[1]));
	/* A deleted VM removes its objects from the list. */
	tessera_vm_del(vm);
	assert_int_equal(mock->listed_bytes, 0);
	tessera_bo_del(bos[0]);
	tessera_bo_del(bos[1]);
}

/*
 * RES-2: another client has evicted listed objects, and the list does not fit
 * any more. The submission evicts objects of earlier phases and is repeated.
 */
static void test_submit_trims(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_bo *bos[3];
	struct tessera_cmdbuf *cb;

	mock->space = MIB(4);
	for (uint32_t i = 0; i < 3; i++)
		bos[i] = mock_bo(dev_of(state), MIB(1));
	cb = new_work(ctx, bos[2], 0);
	assert_int_equal(tessera_vm_phase(vm, bos, 2), 2);
	assert_int_equal(tessera_vm_phase(vm, bos + 2, 1), 1);
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	mock->space = MIB(2);
	mock->vm_out_of_memory = 1;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	assert_false(is_listed(mock, bos[0]));
	assert_true(is_listed(mock, bos[2]));
	/* No object of an earlier phase is left, so the submission fails. */
	mock->space = MIB(1);
	mock->vm_out_of_memory = 100;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), -ENOMEM);
	assert_true(is_listed(mock, bos[2]));
	assert_true(mock->vm_out_of_memory >= 97);
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	for (uint32_t i = 0; i < 3; i++)
		tessera_bo_del(bos[i]);
	tessera_vm_del(vm);
}

/*
 * The library maintains CPU caches only for objects that jobs may use without
 * listing them. Fails if reads or writes of such an object are not flushed, or
 * others are.
 */
static void test_caches(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_vm *vm = new_vm(state);
	struct tessera_bo *bo;
	uint32_t word = 0;

	assert_int_equal(tessera_bo_new_for(dev_of(state), TESSERA_USAGE_STAGING, 4096, NULL, &bo),
			 0);
	assert_int_equal(tessera_bo_read(bo, 0, &word, 4), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE), 0);
	(void)address_in(vm, bo);
	assert_int_equal(tessera_bo_read(bo, 8, &word, 4), 0);
	promise(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE) == 1,
		"expected tessera_bo_read() to invalidate the caches, it reads older bytes than "
		"the jobs wrote");
	assert_int_equal(mock->last_flush.offset, 8);
	assert_int_equal(mock->last_flush.size, 4);
	/* COH-10: written bytes leave the caches before a job can read them */
	word = 0x12345678;
	assert_int_equal(tessera_bo_write(bo, 8, &word, 4), 0);
	assert_int_equal(mock->last_flush.offset, 8);
	assert_int_equal(mock->last_flush.size, 4);
	promise(!memcmp(mock->memory_at_flush + 8, &word, 4),
		"expected tessera_bo_write() to write the caches back, jobs do not see its bytes");
	mock->calls = 0;
	dev_of(state)->info.caps |= DRM_TESSERA_CAP_IO_COHERENT;
	assert_int_equal(tessera_bo_read(bo, 8, &word, 4), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_INVALIDATE_CACHE), 0);
	tessera_bo_del(bo);
	tessera_vm_del(vm);
}

/* A surface pair needs a context whose jobs list their objects. */
static void test_surface(void **state)
{
	struct tessera_vm *vm = new_vm(state);
	struct tessera_context *ctx = new_context(vm);
	struct tessera_surface_desc desc;
	struct tessera_surface *surface;
	uint32_t pitch;
	void *map;

	assert_int_equal(tessera_surface_desc_init(dev_of(state), &desc, TSR_FORMAT_ARGB8888,
						   TSR_LAYOUT_TILE4K, 32, 32),
			 0);
	assert_int_equal(tessera_surface_new(dev_of(state), &desc, &surface), 0);
	assert_int_equal(tessera_surface_lock(surface, ctx, NULL, TESSERA_MAP_READ, &map, &pitch),
			 -EOPNOTSUPP);
	tessera_surface_del(surface);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_private, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_addresses, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_protect, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_map_fence, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_bind_fails, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_new_fails, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_stream, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_state_stays, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_submit, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_submit_short, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_submit_bounded, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_phases, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_phase_priorities, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_phase_fails, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_submit_trims, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_caches, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_surface, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
