// SPDX-License-Identifier: MIT
/*
 * What jobs and changes of page tables wait for, and that a VM finds nothing of
 * an old VM or an old table. The waits are checked with a held job and other
 * work that runs meanwhile.
 */
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "held.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

#define AT 0x100000000ull
#define STAGE 0x200000000ull
#define FAULTS TSR_EXPECT(MMU)

/*
 * Queues a job with commands beside those of tsr_vm_run(). @wait and @signal:
 * syncobjs.
 */
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

/* An object in hidden memory; moves to the aperture for CPU accesses. */
static struct tsr_bo unmapped(struct tsr_vm *vm)
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
	return bo;
}

static struct tsr_bo movable(struct tsr_vm *vm)
{
	struct tsr_bo bo = unmapped(vm);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, AT, bo.size, 0);
	tsr_make_resident(vm->dev, &bo, 1);
	return bo;
}

/*
 * A VM of another client, which waits for nothing and is ready to run. The
 * mapping behind STAGE keeps the page tables that run_later() needs. A new
 * object for tables could take the place that a held job has yet to leave.
 */
static struct tsr_vm another(struct tsr_device *dev)
{
	struct tsr_vm vm = tsr_vm_open(dev);

	tsr_make_resident(dev, &vm.cmds, 1);
	tsr_vm_map_null(dev, vm.id, STAGE + KiB(64), KiB(64));
	run_empty(&vm);
	return vm;
}

/*
 * Runs several binds and jobs of @vm. Work that was queued earlier and may run
 * has run when this returns.
 */
static void run_later(struct tsr_vm *vm)
{
	for (uint32_t i = 0; i < 4; i++) {
		tsr_vm_map_null(vm->dev, vm->id, STAGE, KiB(64));
		run_empty(vm);
		tsr_vm_unmap(vm->dev, vm->id, STAGE, KiB(64));
		run_empty(vm);
	}
}

/*
 * @what: the error text if the syncobj signals before the held job is released.
 */
static void require_waits(struct tsr_device *dev, uint32_t sync, struct tsr_vm *later,
			  const char *what)
{
	int rc;

	run_later(later);
	rc = __tsr_syncobj_wait(dev->fd, sync, 0, 0);
	require_msg(rc, "%s", what);
	require_err(rc, -ETIME);
}

/* Moves @bo to the aperture, after a held job. */
static void move_later(struct tsr_held *held, const struct tsr_bo *to, struct tsr_bo *bo)
{
	struct tsr_device *dev = held->dev;

	tsr_held_copy(held, to, bo);
	require_err(__tsr_lock(dev->fd, &bo->handle,
			       DRM_TESSERA_LOCK_READ_ONLY | DRM_TESSERA_LOCK_DONT_WAIT),
		    -EBUSY);
	require_eq(tsr_bo_info(dev, bo).segment, tsr_seg_gart(dev)->id);
}

/*
 * A job waits for all earlier changes of its VM, not only for the last one: a
 * move and a bind are in different queues.
 */
static void behind_all_changes(void)
{
	struct tsr_device dev = tsr_open(), second = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev), later = another(&second);
	struct tsr_bo to = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	struct tsr_bo bo = movable(&vm);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &vm.cmds, 1);
	run_empty(&vm);
	move_later(&held, &to, &bo);
	tsr_vm_map_null(&dev, vm.id, STAGE, KiB(64));
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	queue(&vm, &cmd, 0, done);
	require_waits(&dev, done, &later,
		      "expected the job to wait for the move of an object in its VM, it waited "
		      "only for the later bind");
	tsr_held_go(&held);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_close(&second);
	tsr_close(&dev);
}

/*
 * An object is mapped, or becomes resident, while it moves. Jobs at its address
 * must find its bytes.
 */
static void behind_the_move(bool mapped_before)
{
	struct tsr_device dev = tsr_open(), second = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev), later = another(&second);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), done = tsr_syncobj_new(&dev);
	struct tsr_bo to = tsr_bo_new(&dev, KiB(64), gart, 0);
	struct tsr_bo stage = mapped(&vm, KiB(64), gart, STAGE), bo = unmapped(&vm);
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &vm.cmds, 1);
	run_empty(&vm);
	tsr_gpu_fill(&dev, vm.patched, &bo, 0x51515151);
	if (mapped_before)
		tsr_vm_map(&dev, vm.id, &bo, 0, AT, bo.size, 0);
	move_later(&held, &to, &bo);
	require_ok(__tsr_make_resident(dev.fd, &bo.handle, 1, 0, NULL));
	if (!mapped_before)
		tsr_vm_map(&dev, vm.id, &bo, 0, AT, bo.size, 0);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, STAGE, bo.size, true);
	tsr_cmd_bind_address(&cmd, 1, AT, bo.size, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(bo.size / 4));
	queue(&vm, &cmd, 0, done);
	require_waits(&dev, done, &later,
		      mapped_before
			      ? "a job reached an object listed during a move before its bytes had "
				"arrived: the update of the page tables does not wait for the move"
			      : "a job reached an object mapped during a move before its bytes had "
				"arrived: the bind does not wait for the move");
	tsr_held_go(&held);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_words_check(stage.map, stage.size / 4, 0x51515151);
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_close(&second);
	tsr_close(&dev);
}

static void mapped_behind_the_move(void)
{
	behind_the_move(false);
}

static void listed_behind_the_move(void)
{
	behind_the_move(true);
}

/*
 * A submission is charged for its sync list during the call, and for its job.
 * Both charges end.
 */
static void nothing_stays_charged(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	tsr_make_resident(&dev, &vm.cmds, 1);
	for (uint32_t i = 0; i < 4; i++)
		run_empty(&vm);
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * A queued job uses an object that is unmapped meanwhile. Its memory must not
 * be given to another object before the job has ended.
 */
static void memory_lasts_once(bool closed)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), done = tsr_syncobj_new(&dev);
	uint32_t filled = tsr_syncobj_new(&dev);
	struct tsr_bo target = tsr_bo_new(&dev, KiB(64), gart, 0), other;
	struct tsr_bo stage = mapped(&vm, KiB(64), gart, STAGE);
	/* the segment has space for one object of this size */
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 8 * 5, tsr_bit(seg), 0);
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &vm.cmds, 1);
	tsr_gpu_fill(&dev, vm.patched, &bo, 0x37373737);
	tsr_vm_map(&dev, vm.id, &bo, 0, AT, bo.size, 0);
	tsr_make_resident(&dev, &bo, 1);
	run_empty(&vm);
	if (closed)
		tsr_bo_free(&dev, &bo);
	tsr_held_fill(&held, &target, 16, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, STAGE, stage.size, true);
	tsr_cmd_bind_address(&cmd, 1, AT, stage.size, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(stage.size / 4));
	queue(&vm, &cmd, held.done, done);
	tsr_cmd_fini(&cmd);

	tsr_vm_unmap(&dev, vm.id, AT, bo.size);
	if (closed) {
		require_msg(tsr_query_memory(&dev, seg->id).used >= bo.size,
			    "expected the memory to stay in use, a queued job may access it");
	} else {
		tsr_evict(&dev, &bo, 1);
		other = tsr_bo_new(&dev, bo.size, tsr_bit(seg), 0);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &other, true);
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(other.size / 4), 0x11111111);
		tsr_submit(&dev, vm.patched, &cmd, 0, filled);
		tsr_cmd_fini(&cmd);
		require_err(__tsr_syncobj_wait(dev.fd, filled, 0, 0), -ETIME);
	}
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_held_go(&held);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_words_check(stage.map, stage.size / 4, 0x37373737);
	tsr_held_close(&held);
	tsr_close(&dev);
}

static void memory_lasts(void)
{
	memory_lasts_once(false);
	memory_lasts_once(true);
}

/* Page tables of an unmapped range last until earlier jobs have ended. */
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
	/* a fence of this device, so that no call waits for it */
	tsr_held_fill(&held, &target, 16, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, STAGE, bo.size, true);
	tsr_cmd_bind_address(&cmd, 1, AT, bo.size, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(bo.size / 4));
	queue(&vm, &cmd, held.done, done);
	tsr_vm_unmap(&dev, vm.id, AT, bo.size);
	/* new tables must not reuse those */
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

/*
 * The same for a null mapping, which has no object: it lasts until the job has
 * ended, whether it is unmapped or replaced by an object.
 */
static void null_lasts(void)
{
	struct tsr_device dev = tsr_open(), second = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev), later = another(&second);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t done = tsr_syncobj_new(&dev), changed = tsr_syncobj_new(&dev);
	struct tsr_bo target = tsr_bo_new(&dev, KiB(64), gart, 0);
	struct tsr_bo bo = mapped(&vm, KiB(64), gart, AT);
	const struct drm_tessera_vm_bind_op ops[] = {
		{ .op = DRM_TESSERA_VM_BIND_UNMAP, .address = STAGE, .range = bo.size },
		{ .op = DRM_TESSERA_VM_BIND_MAP,
		  .handle = bo.handle,
		  .address = STAGE,
		  .range = bo.size },
	};
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &vm.cmds, 1);
	tsr_vm_fill(&vm, AT, bo.size, 0x11111111);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, STAGE, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 0x22222222);
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
		tsr_vm_map_null(&dev, vm.id, STAGE, bo.size);
		run_empty(&vm);
		tsr_held_fill(&held, &target, 16, 1);
		queue(&vm, &cmd, held.done, done);
		require_ok(__tsr_vm_bind(dev.fd, vm.id, &ops[i], 1, 0, changed));
		require_waits(&dev, changed, &later,
			      "a null mapping was removed before an earlier queued job ran: the "
			      "bind does not wait for jobs of its VM");
		tsr_held_go(&held);
		require_eq(tsr_syncobj_status(&dev, done), 0);
		require_eq(tsr_syncobj_status(&dev, changed), 0);
		tsr_words_check(bo.map, bo.size / 4, 0x11111111);
		tsr_held_again(&held);
	}
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_close(&second);
	tsr_close(&dev);
}

/*
 * A VM has two contexts with one queued job each. The job of one context is
 * stuck alone on the render engine and ends first. After that only the other
 * job can delay the unmapping.
 */
static void jobs_of_contexts_once(bool first_ends)
{
	struct tsr_device dev = tsr_open(), second = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev), later = another(&second), soon = vm, late = vm;
	struct tsr_bo target = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t ended = tsr_syncobj_new(&dev), done = tsr_syncobj_new(&dev);
	uint32_t changed = tsr_syncobj_new(&dev);
	const struct drm_tessera_vm_bind_op unmap = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = STAGE,
		.range = KiB(64),
	};
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	*(first_ends ? &late : &soon) = (struct tsr_vm){
		.dev = &dev,
		.id = vm.id,
		.cmds = vm.cmds,
		.at = vm.at,
		.context = tsr_vm_context_new(&dev, vm.id),
	};
	tsr_make_resident(&dev, &vm.cmds, 1);
	tsr_vm_map_null(&dev, vm.id, STAGE, unmap.range);
	run_empty(&soon);
	run_empty(&late);
	tsr_held_fill(&held, &target, 16, 1);
	stuck = tsr_stuck_next(&dev, dev.render);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	queue(&soon, &cmd, 0, ended);
	tsr_stuck_begun(&stuck);
	queue(&late, &cmd, held.done, done);
	require_ok(__tsr_vm_bind(dev.fd, vm.id, &unmap, 1, 0, changed));
	tsr_stuck_release(&stuck);
	require_ok(tsr_syncobj_status(&dev, ended));
	require_waits(&dev, changed, &later,
		      "a mapping was removed before an earlier queued job ran: the unmap does not "
		      "wait for jobs of all contexts of its VM");
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_held_go(&held);
	require_ok(tsr_syncobj_status(&dev, done));
	require_ok(tsr_syncobj_status(&dev, changed));
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_close(&second);
	tsr_close(&dev);
}

static void jobs_of_contexts(void)
{
	jobs_of_contexts_once(true);
	jobs_of_contexts_once(false);
}

static int try_vm(struct tsr_device *dev, uint32_t *id)
{
	struct drm_tessera_vm_create args = { 0 };
	int rc = __tsr_vm_create(dev->fd, &args);

	*id = args.id;
	return rc;
}

/*
 * A job in a VM without mappings, at the address of the commands of the VM that
 * had the ID before.
 */
static void run_nowhere(struct tsr_device *dev, uint32_t id)
{
	uint32_t context = tsr_vm_context_new(dev, id), done = tsr_syncobj_new(dev);

	require_ok(__tsr_submit_vm(dev, context, TSR_VM_CMDS, 8, 0, done));
	require_eq(tsr_syncobj_status(dev, done), -EFAULT);
	tsr_syncobj_free(dev, done);
	tsr_context_free(dev, context);
}

/*
 * A VM finds nothing of the destroyed VM whose ID it gets (the only free one).
 */
static void nothing_is_left(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), id, others = 0;
	struct tsr_vm old = tsr_vm_open(&dev), new;
	struct tsr_bo secret, mine;
	int rc;

	while (!(rc = try_vm(&dev, &id)))
		others++;
	require_eq(rc, -ENOSPC);
	require(others);
	tsr_make_resident(&dev, &old.cmds, 1);
	secret = mapped(&old, MiB(2), gart, AT);
	tsr_vm_fill(&old, AT, secret.size, 0x5ec4e75e);
	tsr_vm_close(&old);
	while ((rc = try_vm(&dev, &id)) == -ENOSPC)
		usleep(1000);
	require_ok(rc);
	run_nowhere(&dev, id);
	new = tsr_vm_open_in(&dev, id);
	tsr_make_resident(&dev, &new.cmds, 1);
	mine = mapped(&new, KiB(4), gart, AT);
	tsr_vm_fill(&new, AT, mine.size, 1);
	tsr_words_check(mine.map, mine.size / 4, 1);
	require_eq(tsr_vm_try_fill(&new, AT + KiB(400), KiB(4), 1), -EFAULT);
	tsr_words_check(secret.map, secret.size / 4, 0x5ec4e75e);
	tsr_close(&dev);
}

/*
 * A page that was a full page table of another part of the VM is reused for a
 * table with one entry. The old entries must be gone. It is not known when a
 * table is freed, so the test repeats until the page is reused.
 */
static void tables_again(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo secret = mapped(&vm, MiB(2), gart, AT),
		      mine = mapped(&vm, KiB(4), gart, STAGE);
	uint64_t at = AT + MiB(64);

	tsr_make_resident(&dev, &vm.cmds, 1);
	tsr_vm_fill(&vm, AT, secret.size, 0x5ec4e75e);
	for (uint32_t round = 0; round < 6; round++) {
		/* shifted by a page, so that no large pages can be used */
		for (uint32_t i = 0; i < 4; i++)
			tsr_vm_map(&dev, vm.id, &secret, KiB(4), at + MiB(2) * i,
				   secret.size - KiB(4), 0);
		run_empty(&vm);
		tsr_vm_unmap(&dev, vm.id, at, MiB(8));
		run_empty(&vm);
		at += MiB(8);
		for (uint32_t i = 0; i < 4; i++, at += MiB(2)) {
			tsr_vm_map(&dev, vm.id, &mine, 0, at, mine.size, 0);
			tsr_vm_fill(&vm, at, mine.size, round);
			require_msg(tsr_vm_try_fill(&vm, at + KiB(400), KiB(4), round) == -EFAULT,
				    "expected -EFAULT at an unmapped address: a new page table has "
				    "entries of an old one");
			tsr_vm_renew(&vm);
		}
	}
	tsr_words_check(secret.map, secret.size / 4, 0x5ec4e75e);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-5 a job waits for all changes", behind_all_changes, 0, 0 },
	{ "RES-5 a job waits for a move before the mapping", mapped_behind_the_move, 0, 0 },
	{ "RES-2 a job waits for a move before the listing", listed_behind_the_move, 0, 0 },
	{ "charges end with the job", nothing_stays_charged, 0, 0 },
	{ "RES-6 memory lasts until jobs are over", memory_lasts, 0, 0 },
	{ "RES-6 tables last until jobs are over", tables_last, 0, 0 },
	{ "RES-6 null mappings last until jobs are over", null_lasts, 0, 0 },
	{ "RES-6 an unmapping waits for jobs of all contexts", jobs_of_contexts, 0, 0 },
	{ "RES-6 a reused ASID has no old mappings", nothing_is_left, FAULTS, 0 },
	{ "RES-6 a reused page table has no old entries", tables_again, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
