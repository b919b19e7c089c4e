// SPDX-License-Identifier: MIT
/*
 * Limits of VMs, page tables, mappings, contexts and fences. A process can
 * reach each limit exactly, other processes are not affected, and resources
 * that are given back can be used again.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "call.h"
#include "hang.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

#define AT 0x100000000ull
#define FAULTS TSR_EXPECT(MMU)

/* null mappings of one page, each of which needs two page tables of its own */
#define FAR_NULLS 64

/*
 * limit of one process in tests of other things, because tables are slow on the
 * debug kernel
 */
#define FEW_TABLES 1024

/*
 * number of refused calls: more than the tables of SPARE such mappings plus the
 * tables that a call may keep in reserve
 */
#define REFUSED 24
#define SPARE 4

/* Jobs run at virtual addresses. */
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

/* Waits until a worker has freed a VM. */
static void wait_for_vm(struct tsr_device *dev)
{
	uint32_t id;
	int rc;

	tsr_wait_for((rc = try_vm(dev, &id)) != -ENOSPC);
	require_ok(rc);
	tsr_vm_free(dev, id);
}

/* A process has a limited number of VMs. Other processes still get theirs. */
static void limit_of_vms(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t num = 0, ids[300];
	int rc;

	tsr_vm_free(&dev, tsr_vm_new(&dev));
	while (!(rc = try_vm(&dev, &ids[num])))
		require(++num < ARRAY_SIZE(ids));
	require_eq(rc, -ENOSPC);
	require(num >= 32);
	tap_join(tap_fork(goes_on, NULL));
	for (uint32_t i = 0; i < num; i++)
		tsr_vm_free(&dev, ids[i]);
	wait_for_vm(&dev);
	goes_on(NULL);
	tsr_close(&dev);
}

#define PROCESSES 9
#define VMS_OF_ONE 32 /* together more than the device has ASIDs */
#define ROUNDS 2
#define PAGE_WORDS 1024

/* One process of several. */
struct part {
	int ready[2], go[2]; /* pipes */
};

/* Commands of a small VM, in the same page table as its page. */
#define CMDS_AT (AT + KiB(64))

/* A small VM whose first address maps a page of its own. */
struct small {
	uint32_t id, context;
};

/* An object with one page for each small VM. */
static struct tsr_bo new_pages(struct tsr_device *dev, uint32_t num)
{
	struct tsr_bo pages = tsr_bo_new(dev, num * KiB(4), tsr_bit(tsr_seg_visible(dev)), 0);

	tsr_make_resident(dev, &pages, 1);
	return pages;
}

static struct small small_open(struct tsr_device *dev, const struct tsr_bo *cmds,
			       const struct tsr_bo *pages, uint32_t page)
{
	struct small small = { .id = tsr_vm_new(dev) };
	const struct drm_tessera_vm_bind_op ops[] = {
		{ .op = DRM_TESSERA_VM_BIND_MAP,
		  .handle = cmds->handle,
		  .address = CMDS_AT,
		  .range = cmds->size },
		{ .op = DRM_TESSERA_VM_BIND_MAP,
		  .handle = pages->handle,
		  .offset = page * KiB(4),
		  .address = AT,
		  .range = KiB(4) },
	};

	small.context = tsr_vm_context_new(dev, small.id);
	require_ok(__tsr_vm_bind(dev->fd, small.id, ops, ARRAY_SIZE(ops), 0, 0));
	return small;
}

/* An object for commands that all VMs of a process share. */
static struct tsr_bo new_cmds(struct tsr_device *dev)
{
	const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
	struct tsr_bo cmds = tsr_bo_new(dev, KiB(4), tsr_bit(tsr_seg_gart(dev)), cached);

	tsr_bo_map(dev, &cmds);
	tsr_make_resident(dev, &cmds, 1);
	return cmds;
}

static void put_fill(const struct tsr_bo *cmds, uint32_t value, uint32_t *bytes)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, KiB(4), true);
	tsr_cmd_fill(&cmd, 0, 0, PAGE_WORDS, value);
	memcpy(cmds->map, cmd.dw, tsr_cmd_bytes(&cmd));
	*bytes = tsr_cmd_bytes(&cmd);
	tsr_cmd_fini(&cmd);
}

/*
 * Runs a job with different values in each of the VMs. All values must arrive
 * in the right page.
 */
static void one_of_many(void *arg)
{
	struct part *part = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev), bytes;
	struct tsr_bo cmds = new_cmds(&dev), pages = new_pages(&dev, VMS_OF_ONE);
	static uint32_t got[VMS_OF_ONE * PAGE_WORDS];
	struct small vms[VMS_OF_ONE];
	char c = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < VMS_OF_ONE; i++) {
			if (!round)
				vms[i] = small_open(&dev, &cmds, &pages, i);
			put_fill(&cmds, (uint32_t)getpid() << 12 | round << 8 | i, &bytes);
			require_ok(__tsr_submit_vm(&dev, vms[i].context, CMDS_AT, bytes, 0, sync));
			require_ok(tsr_syncobj_status(&dev, sync));
		}
		tsr_gpu_read(&dev, ctx, &pages, 0, ARRAY_SIZE(got), got);
		for (uint32_t i = 0; i < VMS_OF_ONE; i++)
			tsr_words_check(got + i * PAGE_WORDS, PAGE_WORDS,
					(uint32_t)getpid() << 12 | round << 8 | i);
		if (round)
			continue;
		require_eq(write(part->ready[1], &c, 1), 1);
		require_eq(read(part->go[0], &c, 1), 1);
	}
	tsr_close(&dev);
}

/*
 * A process can have VMs regardless of other processes. The device has 256
 * ASIDs, and idle VMs give up theirs to VMs with jobs. No job may see mappings
 * of another VM.
 */
static void more_vms_than_numbers(void)
{
	struct tsr_device dev = tsr_open();
	struct part part;
	pid_t pids[PROCESSES];
	char c = 0;

	tsr_vm_free(&dev, tsr_vm_new(&dev));
	require_ok(pipe(part.ready));
	require_ok(pipe(part.go));
	for (uint32_t i = 0; i < PROCESSES; i++)
		pids[i] = tap_fork(one_of_many, &part);
	for (uint32_t i = 0; i < PROCESSES; i++)
		require_eq(read(part.ready[0], &c, 1), 1);
	goes_on(NULL);
	/* now in all processes at the same time */
	for (uint32_t i = 0; i < PROCESSES; i++)
		require_eq(write(part.go[1], &c, 1), 1);
	for (uint32_t i = 0; i < PROCESSES; i++)
		tap_join(pids[i]);
	goes_on(NULL);
	tsr_close(&dev);
}

#define NUMBERS 256
#define MINE 56

struct busy {
	struct tsr_device dev;
	struct tsr_bo cmds, pages;
	struct small vms[NUMBERS];
	uint32_t num, sync[NUMBERS], bytes;
};

static void busy_init(struct busy *busy, uint32_t num)
{
	busy->dev = tsr_open();
	busy->cmds = new_cmds(&busy->dev);
	busy->pages = new_pages(&busy->dev, num);
	busy->num = num;
	for (uint32_t i = 0; i < num; i++) {
		busy->vms[i] = small_open(&busy->dev, &busy->cmds, &busy->pages, i);
		busy->sync[i] = tsr_syncobj_new(&busy->dev);
	}
	put_fill(&busy->cmds, 7, &busy->bytes);
}

static void busy_queue(struct busy *busy, uint32_t i)
{
	require_ok(__tsr_submit_vm(&busy->dev, busy->vms[i].context, CMDS_AT, busy->bytes, 0,
				   busy->sync[i]));
}

static void busy_wait(struct busy *busy)
{
	for (uint32_t i = 0; i < busy->num; i++)
		require_ok(tsr_syncobj_status(&busy->dev, busy->sync[i]));
}

/* A client with jobs in all but MINE of the VMs that can have an ID. */
static void others_are_busy(void *arg)
{
	static struct busy busy;
	struct part *part = arg;
	char c = 0;

	busy_init(&busy, NUMBERS - MINE);
	require_eq(write(part->ready[1], &c, 1), 1);
	require_eq(read(part->go[0], &c, 1), 1);
	for (uint32_t i = 0; i < busy.num; i++)
		busy_queue(&busy, i);
	require_eq(write(part->ready[1], &c, 1), 1);
	busy_wait(&busy);
	/* again, now that IDs have to be passed on */
	for (uint32_t i = 0; i < busy.num; i++)
		busy_queue(&busy, i);
	busy_wait(&busy);
	tsr_close(&busy.dev);
}

static void queue_one_more(void *arg)
{
	struct busy *busy = arg;

	tsr_stuck_last_call();
	busy_queue(busy, MINE);
}

/* If as many VMs as there are IDs have jobs, the next one has to wait. */
static void all_numbers_are_busy(void)
{
	static struct busy busy;
	struct tsr_device dev = tsr_open();
	struct tsr_stuck stuck;
	struct part part;
	uint32_t got[16];
	char c = 0;
	pid_t pid;

	tsr_vm_free(&dev, tsr_vm_new(&dev));
	require_ok(pipe(part.ready));
	require_ok(pipe(part.go));
	pid = tap_fork(others_are_busy, &part);
	require_eq(read(part.ready[0], &c, 1), 1);
	busy_init(&busy, MINE + 1);
	stuck = tsr_stuck_start(&dev, tsr_context_new(&dev, 0));
	require_eq(write(part.go[1], &c, 1), 1);
	require_eq(read(part.ready[0], &c, 1), 1);
	for (uint32_t i = 0; i < MINE; i++)
		busy_queue(&busy, i);
	require_msg(!tsr_stuck_during(queue_one_more, &busy),
		    "expected the VM to wait for an ASID, %u other VMs have jobs", NUMBERS);
	tsr_stuck_end(&stuck);
	busy_wait(&busy);
	tsr_gpu_read(&busy.dev, tsr_context_new(&busy.dev, 0), &busy.pages, MINE * PAGE_WORDS, 16,
		     got);
	tsr_words_check(got, 16, 7);
	tap_join(pid);
	goes_on(NULL);
	tsr_close(&busy.dev);
	tsr_close(&dev);
}

/*
 * A client with a job in all but MINE of the VMs that can have an ID. It queues
 * MINE more jobs, the first in the VM that has queued none for longest. With
 * them it has as many unfinished jobs as a process may have.
 */
static void has_most_numbers(void *arg)
{
	static struct busy busy;
	struct part *part = arg;
	char c = 0;

	busy_init(&busy, NUMBERS - MINE);
	require_eq(write(part->ready[1], &c, 1), 1);
	for (uint32_t round = 0; round < 2; round++) {
		require_eq(read(part->go[0], &c, 1), 1);
		for (uint32_t i = 0; i < (round ? MINE : busy.num); i++)
			busy_queue(&busy, i);
		require_eq(write(part->ready[1], &c, 1), 1);
	}
	busy_wait(&busy);
	tsr_close(&busy.dev);
}

static bool is_ready(const struct part *part)
{
	struct pollfd fd = { .fd = part->ready[0], .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

struct asking {
	struct tsr_call in;
	struct busy *busy;
	int rc;
};

/* Does not restart after a signal. */
static void ask_once(void *arg)
{
	struct asking *asking = arg;
	struct drm_tessera_submit_vm args = {
		.context = asking->busy->vms[MINE].context,
		.cmds = CMDS_AT,
		.cmd_size = asking->busy->bytes,
	};

	asking->rc = ioctl(asking->busy->dev.fd, DRM_IOCTL_TESSERA_SUBMIT_VM, &args) ? -errno : 0;
}

static void on_signal(int sig)
{
}

/*
 * A submission waits for the ID of another client's VM, and is interrupted.
 * That VM must then keep its ID, so that its client can queue more jobs while
 * the first one still runs.
 */
static void interrupted_request(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct tsr_device dev = tsr_open();
	static struct busy busy;
	struct asking asking = { .busy = &busy };
	struct tsr_stuck stuck;
	struct part part;
	char c = 0;
	pid_t pid;

	tsr_vm_free(&dev, tsr_vm_new(&dev));
	require(!sigaction(SIGUSR1, &action, NULL));
	require_ok(pipe(part.ready));
	require_ok(pipe(part.go));
	pid = tap_fork(has_most_numbers, &part);
	require_eq(read(part.ready[0], &c, 1), 1);
	busy_init(&busy, MINE + 1);
	stuck = tsr_stuck_start(&dev, tsr_context_new(&dev, 0));
	require_eq(write(part.go[1], &c, 1), 1);
	require_eq(read(part.ready[0], &c, 1), 1);
	for (uint32_t i = 0; i < MINE; i++)
		busy_queue(&busy, i);

	tsr_call_start(&asking.in, ask_once, &asking);
	tsr_wait_for(asking.in.returned || tsr_call_waits(&asking.in, "asid"));
	require(!pthread_kill(asking.in.thread, SIGUSR1));
	tsr_call_join(&asking.in);
	require_eq(asking.rc, -EINTR);

	require_eq(write(part.go[1], &c, 1), 1);
	tsr_wait_for(is_ready(&part) || tsr_is_waiting(pid, "asid"));
	require_msg(is_ready(&part), "expected the VM to keep its ASID, no other VM "
				     "waits for it any longer");
	tsr_stuck_end(&stuck);
	tap_join(pid);
	busy_queue(&busy, MINE);
	busy_wait(&busy);
	tsr_close(&busy.dev);
	tsr_close(&dev);
}

static int try_context(struct tsr_device *dev)
{
	struct drm_tessera_context_create args = { .engine = dev->render };

	return __tsr_context_create(dev->fd, &args);
}

static int try_fence(struct tsr_device *dev)
{
	struct drm_tessera_fence_create args = { 0 };

	return __tsr_fence_create(dev->fd, &args);
}

static void has_its_own(void *arg)
{
	struct tsr_device dev = tsr_open();

	require_ok(try_context(&dev));
	require_ok(try_fence(&dev));
	tsr_close(&dev);
}

/*
 * The limits of contexts and fences apply to a process with all its files.
 * Other processes have their own.
 */
static void limits_of_a_process(void)
{
	struct tsr_device files[2] = { tsr_open(), tsr_open() };
	uint32_t contexts = 0, fences = 0;
	int rc;

	while (!(rc = try_context(&files[contexts % 2])))
		require(++contexts <= files[0].info.max_contexts);
	require_eq(rc, -ENOSPC);
	while (!(rc = try_fence(&files[fences % 2])))
		require(++fences <= files[0].info.max_fences);
	require_eq(rc, -ENOSPC);
	require_eq(contexts, files[0].info.max_contexts);
	require_eq(fences, files[0].info.max_fences);
	tap_join(tap_fork(has_its_own, NULL));
	/* what one file gives back, another file can use */
	tsr_close(&files[1]);
	require_ok(try_context(&files[0]));
	require_ok(try_fence(&files[0]));
	tsr_close(&files[0]);
}

/*
 * A context that was destroyed counts until its jobs are done: the scheduler has
 * a queue for it until then.
 */
static void destroyed_contexts_count(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_context_destroy destroy = { 0 };
	uint32_t contexts = 1;
	struct tsr_hang hang;
	struct tsr_cmd cmd;
	int rc;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	tsr_hang_start(&dev, tsr_context_new(&dev, 0), &hang);
	tsr_hang_begun(&hang);
	for (;;) {
		struct drm_tessera_context_create create = { .engine = dev.render };

		rc = __tsr_context_create(dev.fd, &create);
		if (rc)
			break;
		require(++contexts <= dev.info.max_contexts);
		/* A process may have 256 jobs, so the first contexts stay. */
		if (contexts + 250 <= dev.info.max_contexts)
			continue;
		tsr_submit(&dev, create.id, &cmd, 0, 0);
		destroy.id = create.id;
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_DESTROY, &destroy));
	}
	require_eq(rc, -ENOSPC);
	require_eq(contexts, dev.info.max_contexts);
	tap_join(tap_fork(has_its_own, NULL));
	tsr_hang_expire(&hang);
	tsr_hang_end(&hang);
	tsr_wait_for(!try_context(&dev));
	tsr_cmd_fini(&cmd);
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

/* Maps or unmaps a block of 2 MiB, for which a large page is enough. */
static int bind_block(struct tsr_vm *vm, uint32_t op, uint64_t address)
{
	const struct drm_tessera_vm_bind_op bind = { .op = op,
						     .address = address,
						     .range = MiB(2) };

	return __tsr_vm_bind(vm->dev->fd, vm->id, &bind, 1, 0, 0);
}

/* Waits until a worker has freed tables of earlier mappings. */
static void map_far_null_late(struct tsr_vm *vm, uint64_t address)
{
	int rc;

	tsr_wait_for((rc = map_far_nulls(vm, address, 1)) != -ENOSPC);
	require_ok(rc);
}

static void have_few_tables(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", FEW_TABLES);
	tsr_knob("max_tables", text);
}

static void refused(struct tsr_vm *vm, uint64_t address)
{
	for (uint32_t i = 0; i < REFUSED; i++)
		require_err(map_far_nulls(vm, address, FAR_NULLS), -ENOSPC);
}

/*
 * A client has a limited number of page tables. Those that do not fit into
 * hidden memory are in other segments, and work as well.
 */
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
	/* up to the very last table */
	while (!(rc = map_far_nulls(&vm, end, 1)))
		end += one;
	require_eq(rc, -ENOSPC);
	/* one spare table at most; an unmap that needs none succeeds */
	large = !bind_block(&vm, DRM_TESSERA_VM_BIND_MAP_NULL, end);
	require_ok(bind_block(&vm, DRM_TESSERA_VM_BIND_UNMAP, 0));
	if (large)
		require_ok(bind_block(&vm, DRM_TESSERA_VM_BIND_UNMAP, end));
	require(end > 3000ull << 30);
	tsr_vm_fill(&vm, end - (1ull << 30), KiB(4), 1);
	require_eq(tsr_vm_try_fill(&vm, end, KiB(4), 1), -EFAULT);
	tsr_vm_renew(&vm);
	/* refused calls must not count: freed tables can be used again */
	refused(&vm, end);
	tsr_vm_close(&spare);
	map_far_null_late(&vm, end);
	refused(&vm, end + one);
	tsr_vm_unmap(&dev, vm.id, 0, step);
	/* one at a time: larger calls reserve more tables than they use */
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
 * A VM that has not run a job may change its mappings any number of times: its
 * tables are freed when the change is done. Together the changes use twice as
 * many tables as a client may have.
 */
static void no_job_yet(void)
{
	const uint32_t rounds = 2 * FEW_TABLES / (2 * FAR_NULLS);
	struct tsr_device dev = tsr_open();
	uint32_t vm = tsr_vm_new(&dev), done = tsr_syncobj_new(&dev);
	const struct drm_tessera_vm_bind_op unmap = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.range = (uint64_t)FAR_NULLS << 30,
	};
	struct tsr_vm bare = { .dev = &dev, .id = vm }, used;
	int rc;

	have_few_tables();
	for (uint32_t i = 0; i < rounds; i++) {
		/* a worker frees the tables of the previous round */
		tsr_wait_for((rc = map_far_nulls(&bare, 0, FAR_NULLS)) != -ENOSPC);
		require_ok(rc);
		require_ok(__tsr_vm_bind(dev.fd, vm, &unmap, 1, 0, done));
		require_ok(tsr_syncobj_status(&dev, done));
	}
	/* the first job finds the current mappings, and no others */
	tsr_vm_map_null(&dev, vm, AT, KiB(4));
	used = tsr_vm_open_in(&dev, vm);
	tsr_vm_fill(&used, AT, KiB(4), 1);
	require_eq(tsr_vm_try_fill(&used, 0, KiB(4), 1), -EFAULT);
	tsr_vm_close(&used);
	tsr_close(&dev);
}

/* Maps as many null mappings as there are tables for. Returns their number. */
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

/* Another client determines the largest number of such mappings. */
static void count_tables(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	*(uint32_t *)arg = take_tables(&vm);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Uses up all tables, including those that are freed late. */
static void take_all_tables(struct tsr_vm *vm, uint32_t num)
{
	for (uint32_t i = take_tables(vm); i < num; i++)
		map_far_null_late(vm, (uint64_t)i << 30);
	require_err(map_far_nulls(vm, (uint64_t)num << 30, 1), -ENOSPC);
}

/*
 * An object moves while its client can have no more page tables, so it cannot
 * be mapped at its addresses. Jobs are refused until there are tables.
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

	have_few_tables();
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
		    "expected -ENOMEM, a listed object has no page tables at its addresses");
	tsr_vm_unmap(&dev, vm.id, 0, (uint64_t)*most << 30);
	tsr_wait_for((rc = __tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, done)) != -ENOMEM);
	require_ok(rc);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_vm_fill(&vm, high + (7ull << 30), bo.size, 0x78);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

#define MANY 256 /* in one call, which reserves tables before it knows how many it needs */
#define MAX_MAPPINGS 65536

/* Replaced mappings do not count against the limit. */
static void limit_of_mappings(void)
{
	struct drm_tessera_vm_bind_op *ops = calloc(MANY, sizeof(*ops));
	uint32_t vm, left = MAX_MAPPINGS + 4 * MANY;
	struct tsr_device dev;

	/* with fewer mappings the test could not fail */
	if (tap_slow() && !tap_long())
		tap_skip("the full number takes minutes on this kernel");
	require(ops);
	dev = tsr_open();
	vm = tsr_vm_new(&dev);
	/* each operation replaces a mapping or a part of one */
	for (uint32_t i = 0; i < MANY; i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP_NULL,
			.address = AT + (i % 4 == 1 ? KiB(4) : 0),
			.range = i % 4 == 1 ? KiB(4) : KiB(16),
		};
	/* keeps their page table in use, because an empty one is freed late */
	tsr_vm_map_null(&dev, vm, AT + KiB(64), KiB(4));
	for (; left; left -= MANY)
		require_ok(__tsr_vm_bind(dev.fd, vm, ops, MANY, 0, 0));
	free(ops);
	tsr_vm_free(&dev, vm);
	tsr_close(&dev);
}

static int map_pages(struct tsr_device *dev, uint32_t vm, struct drm_tessera_vm_bind_op *ops,
		     uint32_t from, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP_NULL,
			.address = AT + (uint64_t)(from + i) * KiB(4),
			.range = KiB(4),
		};
	return __tsr_vm_bind(dev->fd, vm, ops, num, 0, 0);
}

/* With as many mappings as there can be, mappings can still be removed. */
static void unmap_at_the_limit(void)
{
	struct drm_tessera_vm_bind_op *ops = calloc(MANY, sizeof(*ops));
	uint32_t vm, num = 0;
	struct tsr_device dev;
	int rc;

	if (tap_slow() && !tap_long())
		tap_skip("the full number takes minutes on this kernel");
	require(ops);
	dev = tsr_open();
	vm = tsr_vm_new(&dev);
	for (; num + 2 * MANY <= MAX_MAPPINGS; num += MANY)
		require_ok(map_pages(&dev, vm, ops, num, MANY));
	while (!(rc = map_pages(&dev, vm, ops, num, 1)))
		num++;
	require_err(rc, -ENOSPC);
	require(num >= MAX_MAPPINGS - 1);
	/* a list with as many pages */
	for (uint32_t i = 0; i < MANY; i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_UNMAP,
			.address = AT + (uint64_t)i * KiB(4),
			.range = KiB(4),
		};
	require_ok(__tsr_vm_bind(dev.fd, vm, ops, MANY, 0, 0));
	tsr_vm_unmap(&dev, vm, AT, (uint64_t)MAX_MAPPINGS * KiB(4));
	require_ok(map_pages(&dev, vm, ops, 0, MANY));
	free(ops);
	tsr_vm_free(&dev, vm);
	tsr_close(&dev);
}

#define MAX_BINDS 1024
#define IN_RANGE (2 * MAX_MAPPINGS / MAX_BINDS)

/*
 * A list that visits very many mappings, because each operation has all of them
 * in its range, is refused: other clients would wait for the objects.
 */
static void limit_of_visits(void)
{
	struct drm_tessera_vm_bind_op *ops = calloc(MAX_BINDS, sizeof(*ops));
	struct tsr_device dev = tsr_open();
	uint32_t vm = tsr_vm_new(&dev);

	require(ops);
	for (uint32_t i = 0; i < MAX_BINDS; i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_UNMAP,
			.range = 1ull << 40,
		};
	for (uint32_t i = 0; i < IN_RANGE; i++)
		tsr_vm_map_null(&dev, vm, AT + i * KiB(4), KiB(4));
	require_ok(__tsr_vm_bind(dev.fd, vm, ops, MAX_BINDS, 0, 0));
	for (uint32_t i = 0; i < IN_RANGE + 1; i++)
		tsr_vm_map_null(&dev, vm, AT + i * KiB(4), KiB(4));
	require_err(__tsr_vm_bind(dev.fd, vm, ops, MAX_BINDS, 0, 0), -E2BIG);
	require_ok(__tsr_vm_bind(dev.fd, vm, ops, MAX_BINDS - 8, 0, 0));
	free(ops);
	tsr_vm_free(&dev, vm);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "limit of VMs", limit_of_vms, 0, 0 },
	{ "RES-5 more VMs than ASIDs", more_vms_than_numbers, 0, 0 },
	{ "RES-5 a VM waits while all ASIDs are busy", all_numbers_are_busy, 0, 0 },
	{ "RES-5 a submission that waits for an ASID is interrupted", interrupted_request, 0, 0 },
	{ "limits of a process", limits_of_a_process, 0, 0 },
	{ "destroyed contexts count while they have jobs", destroyed_contexts_count, 0, 0 },
	{ "RES-2 no page tables for a move", no_tables_for_a_move, 0, 0 },
	{ "limit of mappings", limit_of_mappings, 0, 0 },
	{ "unmap at the limit of mappings", unmap_at_the_limit, 0, 0 },
	{ "limit of mappings in the ranges of a list", limit_of_visits, 0, 0 },
	{ "limit of page tables", limit_of_tables, FAULTS, 0 },
	{ "RES-5 any number of changes before the first job", no_job_yet, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
