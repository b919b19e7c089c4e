// SPDX-License-Identifier: MIT
/* What changes of page tables and jobs wait for, and that tables of others leave nothing behind. */
#include <string.h>

#include "held.h"
#include "resident.h"
#include "vm.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

#define AT 0x100000000ull
#define STAGE 0x200000000ull
#define FAULTS TSR_EXPECT(MMU)

/* beside the commands of tsr_vm_run(), and queued; two syncobjs */
static void queue(struct tsr_vm *vm, const struct tsr_cmd *cmd, uint32_t wait, uint32_t signal)
{
	memcpy((char *)vm->cmds.map + KiB(8), cmd->dw, tsr_cmd_bytes(cmd));
	require_ok(__tsr_submit_vm(vm->dev, vm->context, vm->at + KiB(8), tsr_cmd_bytes(cmd), wait,
				   signal));
}

static void run_empty(struct tsr_vm *vm)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	require_ok(tsr_vm_run(vm, &cmd));
	tsr_cmd_fini(&cmd);
}

static struct tsr_bo mapped(struct tsr_vm *vm, uint64_t size, uint32_t set, uint64_t address)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, size, set, cached);

	tsr_bo_map(vm->dev, &bo);
	tsr_vm_map(vm->dev, vm->id, &bo, 0, address, size, 0);
	tsr_make_resident(vm->dev, &bo, 1);
	return bo;
}

/* in hidden memory, and to go to the aperture if the CPU wants to see it */
static struct tsr_bo movable(struct tsr_vm *vm)
{
	uint32_t gart = tsr_bit(tsr_seg_gart(vm->dev));
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.supported = tsr_bit(tsr_seg_hidden(vm->dev)) | gart,
		.num_preferred = 1,
		.preferred = { (uint8_t)tsr_seg_hidden(vm->dev)->id },
		.evict_to = gart,
	};
	struct tsr_bo bo = { .size = args.size };

	require_ok(__tsr_bo_create(vm->dev->fd, &args));
	bo.handle = args.handle;
	tsr_gpu_touch(vm->dev, vm->patched, &bo);
	tsr_vm_map(vm->dev, vm->id, &bo, 0, AT, bo.size, 0);
	tsr_make_resident(vm->dev, &bo, 1);
	return bo;
}

/* A job waits for all changes before it, not for the last one alone: a move is queued elsewhere than a bind. */
static void behind_all_changes(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo to = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	struct tsr_bo bo = movable(&vm);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &vm.cmds, 1);
	run_empty(&vm);
	tsr_held_copy(&held, &to, &bo);
	require_err(__tsr_lock(dev.fd, &bo.handle,
			       DRM_TESSERA_LOCK_READ_ONLY | DRM_TESSERA_LOCK_DONT_WAIT),
		    -EBUSY);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
	tsr_vm_map_null(&dev, vm.id, STAGE, KiB(64));
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	queue(&vm, &cmd, 0, done);
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, (int64_t)tap_now_ns() + 300000000), -ETIME);
	tsr_held_go(&held);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* What is unmapped behind a job that is queued has its tables until that is over. */
static void tables_last(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev), other = tsr_vm_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), done = tsr_syncobj_new(&dev);
	struct tsr_bo target = tsr_bo_new(&dev, KiB(64), gart, 0);
	struct tsr_bo bo = mapped(&vm, KiB(64), gart, AT),
		      stage = mapped(&vm, KiB(64), gart, STAGE);
	struct tsr_bo spread = mapped(&other, KiB(4), gart, 1ull << 46);
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &vm.cmds, 1);
	tsr_make_resident(&dev, &other.cmds, 1);
	tsr_vm_fill(&vm, AT, bo.size, 0x37373737);
	run_empty(&other);
	/* held by a job of the device: nobody waits for that in the call */
	tsr_held_fill(&held, &target, 16, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, STAGE, bo.size, true);
	tsr_cmd_bind_address(&cmd, 1, AT, bo.size, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(bo.size / 4));
	queue(&vm, &cmd, held.done, done);
	tsr_vm_unmap(&dev, vm.id, AT, bo.size);
	/* whoever takes tables now does not get those */
	for (uint64_t i = 0; i < 16; i++)
		tsr_vm_map(&dev, other.id, &spread, 0, i << 40, KiB(4), 0);
	run_empty(&other);
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_held_go(&held);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_words_check(stage.map, stage.size / 4, 0x37373737);
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* A VM finds nothing of one that is gone, whose number and tables it may have. */
static void nothing_is_left(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));

	for (uint32_t round = 0; round < 8; round++) {
		struct tsr_vm old = tsr_vm_open(&dev), new;
		struct tsr_bo secret, mine;

		tsr_make_resident(&dev, &old.cmds, 1);
		secret = mapped(&old, MiB(2), gart, AT);
		tsr_vm_fill(&old, AT, secret.size, 0x5ec4e75e);
		tsr_vm_close(&old);
		new = tsr_vm_open(&dev);
		tsr_make_resident(&dev, &new.cmds, 1);
		mine = mapped(&new, KiB(4), gart, AT);
		tsr_vm_fill(&new, AT, mine.size, round);
		tsr_words_check(mine.map, mine.size / 4, round);
		require_eq(tsr_vm_try_fill(&new, AT + KiB(400), KiB(4), round), -EFAULT);
		tsr_words_check(secret.map, secret.size / 4, 0x5ec4e75e);
		tsr_vm_close(&new);
		tsr_bo_free(&dev, &secret);
		tsr_bo_free(&dev, &mine);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-5 a job waits for all changes", behind_all_changes, 0, 0 },
	{ "RES-6 tables last until jobs are over", tables_last, 0, 0 },
	{ "RES-6 nothing is left of a VM", nothing_is_left, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
