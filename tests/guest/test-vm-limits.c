// SPDX-License-Identifier: MIT
/* So many VMs and page tables, and no more; and as many again when they are given back. */
#include <stdlib.h>
#include <unistd.h>

#include "stall.h"
#include "trace.h"
#include "vm.h"

#define AT 0x100000000ull
#define FAULTS TSR_EXPECT(MMU)

/* null mappings of a page, each of which takes two page tables */
#define FAR_NULLS 64
#define TRIES 4

/* of one process */
#define MAX_TABLES 8192

/* calls that are; more of them than tables that SPARE of these mappings take, and what a call may keep at hand */
#define REFUSED 24
#define SPARE 4

/* jobs run at addresses */
static void goes_on(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	tsr_vm_map_null(&dev, vm.id, AT, KiB(4));
	tsr_vm_fill(&vm, AT, KiB(4), 1);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static int try_vm(struct tsr_device *dev, uint32_t *id)
{
	struct drm_tessera_vm_create args = { 0 };
	int rc = __tsr_vm_create(dev->fd, &args);

	*id = args.id;
	return rc;
}

/* a worker frees what was given back */
static void wait_for_vm(struct tsr_device *dev)
{
	uint32_t id;
	int rc;

	tsr_wait_for((rc = try_vm(dev, &id)) != -ENOSPC);
	require_ok(rc);
	tsr_vm_free(dev, id);
}

/* so many VMs, and no more; others have theirs */
static void limit_of_vms(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t num = 0, ids[300];
	int rc;

	tsr_vm_free(&dev, tsr_vm_new(&dev));
	while (!(rc = try_vm(&dev, &ids[num])))
		require(++num < ARRAY_SIZE(ids));
	require_eq(rc, -ENOSPC);
	require(num >= 16);
	tap_join(tap_fork(goes_on, NULL));
	for (uint32_t i = 0; i < num; i++)
		tsr_vm_free(&dev, ids[i]);
	wait_for_vm(&dev);
	goes_on(NULL);
	tsr_close(&dev);
}

/* takes as many as it can have, says how many, and keeps them */
static void take_vms(void *arg)
{
	const int *pipes = arg;
	struct tsr_device dev = tsr_open();
	uint32_t num = 0, id;

	while (!try_vm(&dev, &id))
		num++;
	require_eq(write(pipes[1], &num, sizeof(num)), sizeof(num));
	pause();
}

/* Who asks again and again while others have all there are has his own when they are gone. */
static void all_vms_are_taken(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t num = 0, refused = 0, taken, id;
	pid_t pids[64];
	int pipes[2];

	tsr_vm_free(&dev, tsr_vm_new(&dev));
	require_ok(pipe(pipes));
	do {
		require(num < ARRAY_SIZE(pids));
		pids[num++] = tap_fork(take_vms, pipes);
		require_eq(read(pipes[0], &taken, sizeof(taken)), sizeof(taken));
	} while (taken);
	/* one may have been given back late */
	for (uint32_t i = 0; i < 100; i++)
		refused += try_vm(&dev, &id) == -ENOSPC;
	require(refused > 50);
	while (num--)
		tap_kill(pids[num]);
	wait_for_vm(&dev);
	goes_on(NULL);
	tsr_close(&dev);
}

static int map_far_nulls(struct tsr_vm *vm, uint64_t address, uint32_t count)
{
	struct drm_tessera_vm_bind_op ops[FAR_NULLS];

	for (uint32_t i = 0; i < count; i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP_NULL,
			.address = address + ((uint64_t)i << 30),
			.range = KiB(4),
		};
	return __tsr_vm_bind(vm->dev->fd, vm->id, ops, count, 0, 0);
}

/* a large page, or nothing */
static int bind_block(struct tsr_vm *vm, uint32_t op, uint64_t address)
{
	const struct drm_tessera_vm_bind_op bind = { .op = op,
						     .address = address,
						     .range = MiB(2) };

	return __tsr_vm_bind(vm->dev->fd, vm->id, &bind, 1, 0, 0);
}

/* a worker frees the tables of what was unmapped */
static void map_far_null_late(struct tsr_vm *vm, uint64_t address)
{
	int rc;

	tsr_wait_for((rc = map_far_nulls(vm, address, 1)) != -ENOSPC);
	require_ok(rc);
}

static void refused(struct tsr_vm *vm, uint64_t address)
{
	for (uint32_t i = 0; i < REFUSED; i++)
		require_err(map_far_nulls(vm, address, FAR_NULLS), -ENOSPC);
}

/* so many page tables: those that hidden VRAM has no room for are in system memory, and as good */
static void limit_of_tables(void)
{
	const uint64_t one = 1ull << 30, step = one * FAR_NULLS;
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev), spare = tsr_vm_open(&dev);
	uint64_t end = 0;
	bool large;
	int rc;

	require_ok(map_far_nulls(&spare, 0, SPARE));
	while (!(rc = map_far_nulls(&vm, end, FAR_NULLS)))
		end += step;
	require_eq(rc, -ENOSPC);
	/* to the last one */
	while (!(rc = map_far_nulls(&vm, end, 1)))
		end += one;
	require_eq(rc, -ENOSPC);
	/* at most one is at hand then, and what takes none is not refused */
	large = !bind_block(&vm, DRM_TESSERA_VM_BIND_MAP_NULL, end);
	require_ok(bind_block(&vm, DRM_TESSERA_VM_BIND_UNMAP, 0));
	if (large)
		require_ok(bind_block(&vm, DRM_TESSERA_VM_BIND_UNMAP, end));
	require(end > 3000ull << 30);
	tsr_vm_fill(&vm, end - (1ull << 30), KiB(4), 1);
	require_eq(tsr_vm_try_fill(&vm, end, KiB(4), 1), -EFAULT);
	tsr_vm_renew(&vm);
	/* what is refused, at once or in the middle, is not counted: what is given back can be had again */
	refused(&vm, end);
	tsr_vm_close(&spare);
	map_far_null_late(&vm, end);
	refused(&vm, end + one);
	tsr_vm_unmap(&dev, vm.id, 0, step);
	/* one by one, as many at a time reserve more than they take */
	for (uint64_t at = 0; at < step; at += one)
		map_far_null_late(&vm, at);
	tsr_vm_unmap(&dev, vm.id, 0, end + one);
	tsr_vm_map_null(&dev, vm.id, end, KiB(4));
	tsr_vm_fill(&vm, end, KiB(4), 1);
	tsr_vm_close(&vm);
	wait_for_vm(&dev);
	goes_on(NULL);
	tsr_close(&dev);
}

/*
 * A VM in which no job has run may change what is mapped as often as any other: page tables that it
 * gives up are free when the change is done. All these together have twice as many as a client may.
 */
static void no_job_yet(void)
{
	const uint32_t rounds = 2 * MAX_TABLES / (2 * FAR_NULLS);
	struct tsr_device dev = tsr_open();
	uint32_t vm = tsr_vm_new(&dev), done = tsr_syncobj_new(&dev);
	const struct drm_tessera_vm_bind_op unmap = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.range = (uint64_t)FAR_NULLS << 30,
	};
	struct tsr_vm bare = { .dev = &dev, .id = vm }, used;
	int rc;

	for (uint32_t i = 0; i < rounds; i++) {
		/* a worker frees what the round before has given back */
		tsr_wait_for((rc = map_far_nulls(&bare, 0, FAR_NULLS)) != -ENOSPC);
		require_ok(rc);
		require_ok(__tsr_vm_bind(dev.fd, vm, &unmap, 1, 0, done));
		require_ok(tsr_syncobj_status(&dev, done));
	}
	/* its first job finds what is mapped then, and nothing else */
	tsr_vm_map_null(&dev, vm, AT, KiB(4));
	used = tsr_vm_open_in(&dev, vm);
	tsr_vm_fill(&used, AT, KiB(4), 1);
	require_eq(tsr_vm_try_fill(&used, 0, KiB(4), 1), -EFAULT);
	tsr_vm_close(&used);
	tsr_close(&dev);
}

/* how many null mappings there are tables for now */
static uint32_t take_tables(struct tsr_vm *vm)
{
	uint32_t num = 0, count = FAR_NULLS;
	int rc;

	while (count) {
		rc = map_far_nulls(vm, (uint64_t)num << 30, count);
		require(!rc || rc == -ENOSPC);
		if (!rc)
			num += count;
		else
			count = count > 1;
	}
	return num;
}

/* another client finds out how many these are at most */
static void count_tables(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	*(uint32_t *)arg = take_tables(&vm);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* those that are freed late among them */
static void take_all_tables(struct tsr_vm *vm, uint32_t num)
{
	for (uint32_t i = take_tables(vm); i < num; i++)
		map_far_null_late(vm, (uint64_t)i << 30);
	require_err(map_far_nulls(vm, (uint64_t)num << 30, 1), -ENOSPC);
}

/* pages of the system's that so many mappings in new tables take */
static uint32_t pages_of_far_nulls(struct tsr_vm *vm, uint64_t address)
{
	struct tsr_trace trace;
	uint32_t pages = 0;

	tsr_trace_start_own("kmem/mm_page_alloc");
	require_ok(map_far_nulls(vm, address, FAR_NULLS));
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "mm_page_alloc", ev) pages += tsr_event_u64(ev, "order") == 0;
	tsr_trace_free(&trace);
	return pages;
}

/* another client, who has few tables */
static void map_some(void *arg)
{
	volatile uint32_t *pages = arg;
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	/* other things take pages, too, now and then, on the debug kernel many */
	*pages = UINT32_MAX;
	for (uint64_t i = 0; i < TRIES; i++) {
		uint32_t one = pages_of_far_nulls(&vm, (i * FAR_NULLS) << 30);

		if (one < *pages)
			*pages = one;
	}
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Hidden VRAM is for everybody's tables: who has a share has the rest in system memory, and leaves room. */
static void share_of_hidden_memory(void)
{
	volatile uint32_t *pages = tsr_shared(2 * sizeof(*pages));
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	tap_join(tap_fork(map_some, (void *)&pages[0]));
	require(take_tables(&vm));
	tap_join(tap_fork(map_some, (void *)&pages[1]));
	tap_note("%u pages, and beside a client with many tables %u", pages[0], pages[1]);
	require_msg(
		pages[1] < pages[0] + FAR_NULLS * 3 / 2,
		"one client's page tables have left no hidden VRAM for those of others: %u pages "
		"of system memory instead of %u",
		pages[1], pages[0]);
	tsr_vm_close(&vm);
	wait_for_vm(&dev);
	tsr_close(&dev);
}

/*
 * What moves while its client can have no more page tables is found nowhere, and its list says that it is missing:
 * jobs are refused until there are some.
 */
static void no_tables_for_a_move(void)
{
	const uint64_t high = 1ull << 46;
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t set = tsr_bit(tsr_seg_visible(&dev)), done = tsr_syncobj_new(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), set, 0);
	uint32_t *most = tsr_shared(sizeof(*most));
	struct tsr_cmd cmd;
	int rc;

	tap_join(tap_fork(count_tables, most));
	for (uint64_t i = 0; i < 8; i++)
		tsr_vm_map(&dev, vm.id, &bo, 0, high + (i << 30), bo.size, 0);
	tsr_vm_place(&vm, &bo);
	tsr_vm_fill(&vm, high, bo.size, 0x77);
	tsr_evict_set(set);
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	take_all_tables(&vm, *most);
	tsr_gpu_touch(&dev, vm.patched, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_visible(&dev)->id);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_cmd_fini(&cmd);
	require_msg(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, 0) == -ENOMEM,
		    "a job may run although a listed object has no page tables at its addresses");
	tsr_vm_unmap(&dev, vm.id, 0, (uint64_t)*most << 30);
	tsr_wait_for((rc = __tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, done)) != -ENOMEM);
	require_ok(rc);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_vm_fill(&vm, high + (7ull << 30), bo.size, 0x78);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

#define MANY 256 /* in one call, whose tables are counted before it is known how many it takes */
#define MAX_MAPPINGS 65536

/* What has been replaced counts no more: however often that is done, there can be as many mappings as before. */
static void limit_of_mappings(void)
{
	struct drm_tessera_vm_bind_op *ops = calloc(MANY, sizeof(*ops));
	uint32_t vm, left = MAX_MAPPINGS + 4 * MANY;
	struct tsr_device dev;

	/* with fewer than that it cannot fail */
	if (tap_slow() && !tap_long())
		tap_skip("so many take minutes on this kernel");
	require(ops);
	dev = tsr_open();
	vm = tsr_vm_new(&dev);
	/* each of them replaces one, or a part of one */
	for (uint32_t i = 0; i < MANY; i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP_NULL,
			.address = AT + (i % 4 == 1 ? KiB(4) : 0),
			.range = i % 4 == 1 ? KiB(4) : KiB(16),
		};
	/* for their table: one that is left empty is freed late */
	tsr_vm_map_null(&dev, vm, AT + KiB(64), KiB(4));
	for (; left; left -= MANY)
		require_ok(__tsr_vm_bind(dev.fd, vm, ops, MANY, 0, 0));
	free(ops);
	tsr_vm_free(&dev, vm);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "limit of VMs", limit_of_vms, 0, 0 },
	{ "RES-6 all VMs are taken", all_vms_are_taken, 0, 0 },
	{ "RES-2 no page tables for a move", no_tables_for_a_move, 0, 0 },
	{ "limit of mappings", limit_of_mappings, 0, 0 },
	{ "RES-6 a share of hidden memory for page tables", share_of_hidden_memory, 0, 0 },
	{ "limit of page tables", limit_of_tables, FAULTS, 0 },
	{ "RES-5 any number of changes before the first job", no_job_yet, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
