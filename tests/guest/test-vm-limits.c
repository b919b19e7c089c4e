// SPDX-License-Identifier: MIT
/* So many VMs and page tables, and no more; and as many again when they are given back. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stall.h"
#include "vm.h"

#define AT 0x100000000ull
#define FAULTS TSR_EXPECT(MMU)

/* null mappings of a page, each of which takes two page tables */
#define FAR_NULLS 64

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
	while (num--) {
		require_ok(kill(pids[num], SIGKILL));
		require_eq(waitpid(pids[num], NULL, 0), pids[num]);
	}
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

static const struct tap_test tests[] = {
	{ "limit of VMs", limit_of_vms, 0, 0 },
	{ "RES-6 all VMs are taken", all_vms_are_taken, 0, 0 },
	{ "limit of page tables", limit_of_tables, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
