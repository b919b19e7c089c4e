// SPDX-License-Identifier: MIT
/*
 * Command streams that wait for and signal monitored fences at virtual
 * addresses (RES-13), without the kernel: between two engines, on one engine,
 * where the waiting job yields, and against the CPU. Packets at other addresses
 * fault, and so do other accesses to pages of fences.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hang.h"
#include "host.h"
#include "stall.h"
#include "tsr.h"
#include "vm.h"

#define FENCE_AT 0x100000000ull /* a page of fences */
#define FIXED_AT 0x100001000ull /* the same page, read-only */
#define WORDS_AT 0x110000000ull /* the object that is handed over */
#define CMDS_AT 0x120000000ull

/* A fence, and its address in a VM. */
struct mapped {
	struct tsr_fence fence;
	uint64_t at;
};

static int try_map(int fd, uint32_t vm, uint32_t id, uint64_t address, uint32_t flags)
{
	const struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP_FENCE,
		.flags = flags,
		.handle = id,
		.address = address,
		.range = 4096,
	};

	return __tsr_vm_bind(fd, vm, &op, 1, 0, 0);
}

static struct mapped map_new(struct tsr_vm *vm, uint64_t page, uint32_t flags)
{
	struct mapped mapped = { .fence = tsr_fence_new(vm->dev, 0) };

	require_ok(try_map(vm->dev->fd, vm->id, mapped.fence.id, page, flags));
	mapped.at = page + (uintptr_t)mapped.fence.value % 4096;
	return mapped;
}

static void put(struct tsr_cmd *cmd, uint32_t op, uint64_t address, uint64_t value)
{
	uint32_t *p = tsr_cmd_packet(cmd, op, 0, TSR_FENCE_WAIT_DWORDS);

	p[2] = (uint32_t)address;
	p[3] = (uint32_t)(address >> 32);
	p[4] = (uint32_t)value;
	p[5] = (uint32_t)(value >> 32);
}

static void put_wait(struct tsr_cmd *cmd, uint64_t address, uint64_t value)
{
	put(cmd, TSR_OP_FENCE_WAIT, address, value);
}

static void put_signal(struct tsr_cmd *cmd, uint64_t address, uint64_t value)
{
	put(cmd, TSR_OP_FENCE_SIGNAL, address, value);
}

/* Run one such packet. Returns the status of the job. */
static int run_packet(struct tsr_vm *vm, uint32_t op, uint64_t address, uint64_t value)
{
	struct tsr_cmd cmd;
	int status;

	tsr_cmd_init(&cmd);
	put(&cmd, op, address, value);
	status = tsr_vm_run(vm, &cmd);
	tsr_cmd_fini(&cmd);
	return status;
}

/* A context of a VM with its own command memory. */
struct player {
	struct tsr_vm *vm;
	uint32_t context, sync;
	struct tsr_bo cmds;
	uint64_t at;
};

static struct player player_new(struct tsr_vm *vm, uint32_t engine, uint64_t at)
{
	struct drm_tessera_context_create args = { .engine = engine, .vm = vm->id };
	struct player p = { .vm = vm, .at = at };

	require_ok(__tsr_context_create(vm->dev->fd, &args));
	p.context = args.id;
	p.sync = tsr_syncobj_new(vm->dev);
	p.cmds = tsr_bo_new(vm->dev, KiB(128), tsr_bit(tsr_seg_gart(vm->dev)),
			    DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	tsr_bo_map(vm->dev, &p.cmds);
	tsr_vm_map(vm->dev, vm->id, &p.cmds, 0, at, p.cmds.size, 0);
	tsr_vm_place(vm, &p.cmds);
	return p;
}

static void play(struct player *p, const struct tsr_cmd *cmd)
{
	require(tsr_cmd_bytes(cmd) <= p->cmds.size);
	memcpy(p->cmds.map, cmd->dw, tsr_cmd_bytes(cmd));
	require_ok(__tsr_submit_vm(p->vm->dev, p->context, p->at, tsr_cmd_bytes(cmd), 0, p->sync));
}

static bool is_over(const struct player *p)
{
	return __tsr_syncobj_wait(p->vm->dev->fd, p->sync, 0, 0) != -ETIME;
}

static int outcome(const struct player *p)
{
	return tsr_syncobj_status(p->vm->dev, p->sync);
}

/*
 * Commands that pass a word along @legs times, every second time. Leg k waits
 * for the value k, copies word k to word k + 1 and signals k + 1.
 */
static void pass_along(struct tsr_cmd *cmd, const struct mapped *fence, uint32_t first,
		       uint32_t legs)
{
	tsr_cmd_init(cmd);
	tsr_cmd_bind_address(cmd, 0, WORDS_AT, KiB(64), true);
	for (uint32_t k = first; k < legs; k += 2) {
		put_wait(cmd, fence->at, k);
		tsr_cmd_copy(cmd, 0, k + 1, 0, k, 1);
		put_signal(cmd, fence->at, k + 1);
	}
}

/* Two contexts on @engines pass a word @legs times, in one job of each. */
static void to_and_fro(const uint32_t engines[2], uint32_t legs)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct tsr_bo words = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)),
					 DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	struct player players[2];
	uint64_t start;
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &words);
	tsr_vm_map(&dev, vm.id, &words, 0, WORDS_AT, words.size, 0);
	tsr_vm_place(&vm, &words);
	tsr_vm_fill(&vm, WORDS_AT, 4, 0x600d);
	for (uint32_t i = 0; i < 2; i++)
		players[i] = player_new(&vm, engines[i], CMDS_AT + i * MiB(1));
	start = tap_now_ns();
	for (uint32_t i = 0; i < 2; i++) {
		pass_along(&cmd, &fence, i, legs);
		play(&players[i], &cmd);
		tsr_cmd_fini(&cmd);
		if (!i) {
			/* The first job is alone: it passes the word once. */
			tsr_wait_for(*fence.fence.value == 1);
			require(!is_over(&players[0]));
		}
	}
	for (uint32_t i = 0; i < 2; i++)
		require_ok(outcome(&players[i]));
	tap_note("%u legs in %llu us", legs, (unsigned long long)(tap_now_ns() - start) / 1000);
	require_eq(*fence.fence.value, legs);
	tsr_words_check(words.map, legs + 1, 0x600d);
	/* The syncobj does not follow. */
	require_err(__tsr_syncobj_wait(dev.fd, fence.fence.syncobj, 1, 0), -ETIME);
	tsr_close(&dev);
}

/* The 1,000 hand-overs of the requirement: 1,000 to and 1,000 fro. */
static void two_engines(void)
{
	struct tsr_device dev = tsr_open();
	const uint32_t engines[2] = { dev.render, tsr_second_engine(&dev) };

	tsr_close(&dev);
	to_and_fro(engines, 2000);
}

/* Each hand-over takes a preemption, at the end of a slice. */
static void one_engine(void)
{
	struct tsr_device dev = tsr_open();
	const uint32_t engines[2] = { dev.render, dev.render };

	if (!(dev.info.caps & DRM_TESSERA_CAP_PREEMPTION))
		tap_skip("the device cannot preempt");
	tsr_close(&dev);
	to_and_fro(engines, 20);
}

/* A client of its own process, whose jobs must run beside a waiting one. */
static void work_beside(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(64));

	for (uint32_t i = 1; i <= 5; i++) {
		tsr_vm_fill(&vm, TSR_VM_STAGE, stage.size, i);
		tsr_words_check(stage.map, stage.size / 4, i);
	}
	tsr_close(&dev);
}

/*
 * A fence that is never signalled: jobs of other clients on the same engine run
 * meanwhile. A job of the same context does not overtake. When the time of the
 * waiting job is over, it ends as hung.
 */
static void never_signalled(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct player waiter = player_new(&vm, dev.render, CMDS_AT);
	uint32_t behind = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_job_timeout_lift();
	tsr_cmd_init(&cmd);
	put_signal(&cmd, fence.at, 1);
	put_wait(&cmd, fence.at, 3);
	put_signal(&cmd, fence.at, 4);
	play(&waiter, &cmd);
	/* The last packet alone. It must stay behind the job of its context. */
	require_ok(__tsr_submit_vm(&dev, waiter.context, waiter.at + 48, 24, 0, behind));
	tsr_wait_for(*fence.fence.value == 1);
	tap_join(tap_fork(work_beside, NULL));
	require(!is_over(&waiter));
	require_eq(*fence.fence.value, 1);
	/* The job is alone again, so the engine is at it. */
	tsr_job_expire(dev.render);
	require_eq(outcome(&waiter), -ETIME);
	require_eq(tsr_syncobj_status(&dev, behind), -ECANCELED);
	require_eq(*fence.fence.value, 1);
	require_eq(tsr_context_status(&dev, waiter.context).reset, DRM_TESSERA_RESET_GUILTY);
	require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_NONE);
	require_ok(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 5));
	require_eq(*fence.fence.value, 5);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * Others may have caused a wait that times out. So its context is lost, but the
 * process is not banned.
 */
static void no_ban(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct tsr_cmd cmd;

	tsr_job_timeout_lift();
	for (uint32_t i = 0; i <= DRM_TESSERA_MAX_HANGS; i++) {
		struct player waiter = player_new(&vm, dev.render, CMDS_AT);

		tsr_cmd_init(&cmd);
		put_signal(&cmd, fence.at, i + 1);
		put_wait(&cmd, fence.at, 100);
		play(&waiter, &cmd);
		tsr_cmd_fini(&cmd);
		tsr_wait_for(*fence.fence.value == i + 1);
		tsr_job_expire(dev.render);
		require_eq(outcome(&waiter), -ETIME);
		require_eq(tsr_context_status(&dev, waiter.context).reset,
			   DRM_TESSERA_RESET_GUILTY);
	}
	require_eq(tsr_context_status(&dev, vm.context).flags, 0);
	require_ok(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 100));
	tsr_close(&dev);
}

static void wait_until_killed(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct player waiter = player_new(&vm, dev.render, CMDS_AT);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	put_signal(&cmd, fence.at, 1);
	put_wait(&cmd, fence.at, 2);
	play(&waiter, &cmd);
	tsr_wait_for(*fence.fence.value == 1);
	client->state->sync_file = tsr_syncobj_export(&dev, waiter.sync);
	client->state->ready = true;
	pause();
}

/*
 * Nobody can signal the value when the client is gone. Its job ends when it
 * yields to others, and does not wait for the job timeout.
 */
static void waiter_is_killed(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct tsr_client client = { 0 };
	struct pollfd done = { .events = POLLIN };
	uint64_t until;

	tsr_job_timeout_lift();
	tsr_client_start(&client, wait_until_killed, 0);
	tsr_wait_for(client.state->ready);
	done.fd = tsr_client_take_fd(&client, client.state->sync_file);
	require_ok(run_packet(&vm, TSR_OP_FENCE_WAIT, fence.at, 0));
	require_eq(poll(&done, 1, 0), 0);
	tsr_client_kill(&client);
	until = tsr_patience();
	while (!poll(&done, 1, 0)) {
		require(tap_now_ns() < until);
		require_ok(run_packet(&vm, TSR_OP_FENCE_WAIT, fence.at, 0));
	}
	require_eq(tsr_sync_file_status(done.fd), -ECANCELED);
	close(done.fd);
	tsr_close(&dev);
}

/* The job timeout itself ends a wait, also while others get their turns. */
static void timeout_ends_wait(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct player waiter = player_new(&vm, dev.render, CMDS_AT);
	struct tsr_cmd cmd;

	tsr_job_timeout_short();
	tsr_cmd_init(&cmd);
	put_wait(&cmd, fence.at, 1);
	play(&waiter, &cmd);
	while (!is_over(&waiter))
		require_ok(run_packet(&vm, TSR_OP_FENCE_WAIT, fence.at, 0));
	require_eq(outcome(&waiter), -ETIME);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* The CPU wakes a stream, and sees what it signals. */
static void with_the_cpu(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct player p = player_new(&vm, dev.render, CMDS_AT);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	put_signal(&cmd, fence.at, 1ull << 40);
	put_wait(&cmd, fence.at, (1ull << 40) + 7);
	put_signal(&cmd, fence.at, ~0ull);
	play(&p, &cmd);
	tsr_wait_for(*fence.fence.value == 1ull << 40);
	tsr_fence_signal(&dev, &fence.fence, (1ull << 40) + 6);
	usleep(100000);
	require(!is_over(&p));
	tsr_fence_signal(&dev, &fence.fence, (1ull << 40) + 8);
	require_ok(outcome(&p));
	require_eq(*fence.fence.value, ~0ull);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* A value never falls: by a stream, by a job's signal, or by the CPU. */
static void never_falls(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct drm_tessera_sync sync = tsr_sync_signal(&fence.fence, 20);
	struct tsr_cmd cmd;

	require_ok(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 100));
	require_ok(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 99));
	require_eq(*fence.fence.value, 100);
	tsr_fence_signal(&dev, &fence.fence, 10);
	require_eq(*fence.fence.value, 100);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	require_ok(__tsr_submit_syncs(&dev, vm.patched, &cmd, &sync, 1));
	require_ok(__tsr_syncobj_wait(dev.fd, fence.fence.syncobj, 20, INT64_MAX));
	require_eq(*fence.fence.value, 100);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* What must not work: the job faults, its context is lost, others go on. */
static void no_fence(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(64));
	struct player other = player_new(&vm, dev.render, CMDS_AT);
	struct tsr_cmd cmd;
	const struct {
		uint32_t op;
		uint64_t at;
	} rows[] = {
		{ TSR_OP_FENCE_SIGNAL, TSR_VM_STAGE }, /* an object */
		{ TSR_OP_FENCE_WAIT, TSR_VM_STAGE },
		{ TSR_OP_FENCE_SIGNAL, FENCE_AT + 4096 }, /* not mapped */
		{ TSR_OP_FENCE_WAIT, FENCE_AT + 4096 },
		{ TSR_OP_FENCE_WAIT, ~7ull },
		{ TSR_OP_FENCE_SIGNAL, fence.at + 4 }, /* not aligned */
	};

	memset(stage.map, 0, stage.size);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int rc = run_packet(&vm, rows[i].op, rows[i].at, 1);

		require_msg(rc == -EFAULT, "row %u: expected a fault, the job returned %d", i, rc);
		require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_GUILTY);
		tsr_vm_renew(&vm);
	}
	tsr_words_check(stage.map, stage.size / 4, 0);
	/* Other packets at a page of fences: they could lower values. */
	require_eq(tsr_vm_try_fill(&vm, FENCE_AT, 4096, 0xbad), -EFAULT);
	tsr_vm_renew(&vm);
	require_eq(tsr_vm_try_copy(&vm, TSR_VM_STAGE, FENCE_AT, 4096), -EFAULT);
	tsr_vm_renew(&vm);
	require_eq(*fence.fence.value, 0);
	/* Another context of the VM is not affected. */
	tsr_cmd_init(&cmd);
	put_signal(&cmd, fence.at, 9);
	play(&other, &cmd);
	require_ok(outcome(&other));
	require_eq(*fence.fence.value, 9);
	require_eq(tsr_context_status(&dev, other.context).reset, DRM_TESSERA_RESET_NONE);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static void read_only(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FIXED_AT, DRM_TESSERA_VM_BIND_READ_ONLY);

	require_ok(run_packet(&vm, TSR_OP_FENCE_WAIT, fence.at, 0));
	require_eq(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 1), -EFAULT);
	tsr_vm_renew(&vm);
	require_eq(*fence.fence.value, 0);
	require_ok(try_map(dev.fd, vm.id, fence.fence.id, FIXED_AT, 0));
	require_ok(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 1));
	require_eq(*fence.fence.value, 1);
	tsr_vm_unmap(&dev, vm.id, FIXED_AT, 4096);
	require_eq(run_packet(&vm, TSR_OP_FENCE_SIGNAL, fence.at, 2), -EFAULT);
	require_eq(*fence.fence.value, 1);
	tsr_close(&dev);
}

/* The argument is the id of a fence of the parent's file. */
static void map_from_outside(void *arg)
{
	struct tsr_device dev = tsr_open();
	uint32_t vm = tsr_vm_new(&dev);

	require_err(try_map(dev.fd, vm, *(uint32_t *)arg, FENCE_AT, 0), -ENOENT);
	tsr_close(&dev);
}

static void bad_arguments(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	const struct drm_tessera_vm_bind_op good = {
		.op = DRM_TESSERA_VM_BIND_MAP_FENCE,
		.handle = fence.id,
		.address = FENCE_AT,
		.range = 4096,
	};
	struct drm_tessera_vm_bind_op ops[9];
	struct tsr_cmd cmd;

	tap_join(tap_fork(map_from_outside, &fence.id));
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = good;
	ops[0].handle = 0;
	ops[1].offset = 4096;
	ops[2].range = 8192;
	ops[3].range = 0;
	ops[4].address += 8;
	ops[5].flags = 2;
	ops[6].pad = 1;
	ops[7].op = DRM_TESSERA_VM_BIND_MAP_FENCE + 1;
	ops[8].address = ~4095ull;
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
		int rc = __tsr_vm_bind(dev.fd, vm.id, &ops[i], 1, 0, 0);

		require_msg(rc == -EINVAL, "row %u: %d", i, rc);
	}
	require_err(try_map(dev.fd, vm.id, fence.id + 1, FENCE_AT, 0), -ENOENT);
	/* Streams with patches have no addresses. */
	tsr_cmd_init(&cmd);
	put_signal(&cmd, FENCE_AT, 1);
	require_err(__tsr_submit(&dev, vm.patched, &cmd, 0, 0, &(struct drm_tessera_submit){ 0 }),
		    -EINVAL);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * A fence that is destroyed, a VM that is destroyed and a file that is closed
 * leave a running job its page.
 */
static void page_outlives(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct mapped fence = map_new(&vm, FENCE_AT, 0);
	struct player p = player_new(&vm, dev.render, CMDS_AT);
	const volatile uint64_t *value = fence.fence.value;
	struct tsr_cmd cmd;

	for (uint32_t i = 0; i < 100; i++)
		require_ok(try_map(dev.fd, vm.id, fence.fence.id, FENCE_AT, 0));
	tsr_job_timeout_short();
	tsr_cmd_init(&cmd);
	put_signal(&cmd, fence.at, 1);
	put_wait(&cmd, fence.at, 2);
	play(&p, &cmd);
	tsr_cmd_fini(&cmd);
	tsr_wait_for(*value == 1);
	require_ok(__tsr_fence_destroy(dev.fd, fence.fence.id));
	require_err(try_map(dev.fd, vm.id, fence.fence.id, FENCE_AT, 0), -ENOENT);
	require_ok(__tsr_vm_destroy(dev.fd, vm.id));
	tsr_close(&dev);
	require_eq(*value, 1);
	/* The engine is free again. */
	work_beside(NULL);
}

static const struct tap_test tests[] = {
	{ "RES-13 two engines hand work to and fro without a call", two_engines, 0, 0 },
	{ "RES-13 two contexts of one engine hand work to and fro", one_engine, 0, 0 },
	{ "RES-13 a job that waits yields the engine", never_signalled, 0, 0 },
	{ "RES-13 the job timeout ends a wait", timeout_ends_wait, 0, 0 },
	{ "RES-13 waits that time out ban nobody", no_ban, 0, 0 },
	{ "RES-13 a job of a client that is gone waits no longer", waiter_is_killed, 0, 0 },
	{ "RES-13 the CPU signals a stream, and sees its signals", with_the_cpu, 0, 0 },
	{ "RES-13 a value never falls", never_falls, 0, 0 },
	{ "RES-13 an address that is no fence faults", no_fence,
	  TSR_EXPECT(FENCE) | TSR_EXPECT(MMU) | TSR_EXPECT(PACKET), 0 },
	{ "RES-13 a fence that is mapped read-only cannot be signalled", read_only,
	  TSR_EXPECT(READ_ONLY) | TSR_EXPECT(MMU), 0 },
	{ "RES-13 bad arguments, and a fence of another process", bad_arguments, 0, 0 },
	{ "RES-13 the page outlives fence, VM and file", page_outlives, 0, 0 },
};

TSR_TEST_MAIN(tests)
