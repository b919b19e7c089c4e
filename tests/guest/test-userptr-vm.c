// SPDX-License-Identifier: MIT
/*
 * Userptr objects at virtual addresses. Page tables must map the pages that the
 * process has when a job is submitted, and never pages that it has given up
 * (RES-2, RES-5, RES-6).
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "held.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "user.h"
#include "vm.h"

#define SIZE MiB(1)
#define WORDS (SIZE / 4)
#define AT 0x100000000ull
#define JOB 0x11111111u
#define CPU 0x22222222u

static void set_words(uint32_t *words, uint64_t count, uint32_t value)
{
	for (uint64_t i = 0; i < count; i++)
		words[i] = value;
}

static struct tsr_bo mapped(struct tsr_vm *vm, uint32_t *memory, uint32_t flags)
{
	struct tsr_bo bo = tsr_bo_from_user(vm->dev, memory, SIZE, flags);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, AT, SIZE, 0);
	tsr_vm_place(vm, &bo);
	return bo;
}

/* Submits an empty job. Fails if no job may run. */
static int run_empty(struct tsr_vm *vm)
{
	struct tsr_cmd cmd;
	int ret;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy((char *)vm->cmds.map + KiB(16), cmd.dw, tsr_cmd_bytes(&cmd));
	ret = __tsr_submit_vm(vm->dev, vm->context, vm->at + KiB(16), tsr_cmd_bytes(&cmd), 0, 0);
	tsr_cmd_fini(&cmd);
	return ret;
}

/* Jobs reach every byte, and none beside the object. Also after an eviction. */
static void jobs(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t *all = tsr_pages_new(SIZE + KiB(8)), *mine = all + 1024;
	struct tsr_bo bo = mapped(&vm, mine, 0);

	set_words(all, WORDS + 2048, CPU);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_vm_fill(&vm, AT, SIZE, round);
		tsr_words_check(mine, WORDS, round);
		tsr_words_check(all, 1024, CPU);
		tsr_words_check(mine + WORDS, 1024, CPU);
		mine[0] = CPU;
		tsr_vm_copy(&vm, AT + SIZE / 2, AT, KiB(4));
		require_eq(mine[WORDS / 2], CPU);
		tsr_evict_set(tsr_bit(tsr_seg_gart(&dev)));
	}
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* New pages at the same addresses, changes of a part, and a fork. */
static void changes_show(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = mapped(&vm, mine, 0);
	volatile uint32_t *step = tsr_shared(sizeof(*step));
	int status;
	pid_t pid;

	tsr_vm_fill(&vm, AT, SIZE, 1);
	tsr_pages_at(mine, SIZE);
	tsr_vm_fill(&vm, AT, SIZE / 2, 2);
	tsr_words_check(mine, WORDS / 2, 2);
	tsr_words_check(mine + WORDS / 2, WORDS / 2, 0);
	require_ok(madvise(mine, SIZE, MADV_DONTNEED));
	tsr_vm_fill(&vm, AT, KiB(4), 3);
	tsr_words_check(mine, 1024, 3);
	tsr_words_check(mine + 1024, WORDS - 1024, 0);

	tsr_vm_fill(&vm, AT, SIZE, 4);
	pid = fork();
	require(pid >= 0);
	if (!pid) {
		tsr_wait_for(*step);
		tsr_words_check(mine, WORDS, 4);
		_exit(0);
	}
	tsr_vm_fill(&vm, AT, SIZE, 5);
	tsr_words_check(mine, WORDS, 5);
	*step = 1;
	require_eq(waitpid(pid, &status, 0), pid);
	require_eq(status, 0);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * While listed memory is missing, no job runs, until it is mapped again or
 * removed from the list. In the second case nothing is mapped at its addresses.
 */
static void gone(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = mapped(&vm, mine, 0);

	tsr_vm_fill(&vm, AT, SIZE, 1);
	require_ok(munmap(mine, KiB(4)));
	require_msg(run_empty(&vm) == -EFAULT, "expected -EFAULT, a job runs although listed "
					       "memory is unmapped: it may access the old pages");
	require_err(__tsr_make_one(&dev, &bo), -EFAULT);
	require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_NONE);
	tsr_pages_at(mine, KiB(4));
	tsr_vm_fill(&vm, AT, SIZE, 2);
	tsr_words_check(mine, WORDS, 2);

	require_ok(munmap(mine, SIZE));
	require_err(run_empty(&vm), -EFAULT);
	tsr_evict(&dev, &bo, 1);
	require_ok(run_empty(&vm));
	require_eq(tsr_vm_try_fill(&vm, AT, KiB(4), 0), -EFAULT);
	tsr_vm_renew(&vm);

	/* missing memory is also detected after eviction from the aperture */
	tsr_pages_at(mine, SIZE);
	tsr_vm_place(&vm, &bo);
	tsr_evict_set(tsr_bit(tsr_seg_gart(&dev)));
	require_ok(munmap(mine, SIZE));
	require_err(run_empty(&vm), -EFAULT);
	tsr_evict(&dev, &bo, 1);
	require_ok(run_empty(&vm));
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Listed memory that no VM maps is missed when it has been evicted. */
static void gone_unmapped(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, 0);

	tsr_vm_place(&vm, &bo);
	require_ok(munmap(mine, SIZE));
	require_ok(run_empty(&vm));
	tsr_evict_set(tsr_bit(tsr_seg_gart(&dev)));
	require_err(run_empty(&vm), -EFAULT);
	tsr_pages_at(mine, SIZE);
	require_ok(run_empty(&vm));
	require_ok(munmap(mine, SIZE));
	tsr_evict_set(tsr_bit(tsr_seg_gart(&dev)));
	tsr_evict(&dev, &bo, 1);
	require_ok(run_empty(&vm));
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * The handle is closed but the mapping remains. Then the memory is unmapped and
 * mapped again. Jobs must find nothing there, because the object is on no list.
 */
static void closed(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = mapped(&vm, mine, 0);

	tsr_vm_fill(&vm, AT, SIZE, 1);
	require_ok(__tsr_bo_close(dev.fd, bo.handle));
	require_ok(munmap(mine, SIZE));
	require_ok(run_empty(&vm));
	require_eq(tsr_vm_try_fill(&vm, AT, KiB(4), 0), -EFAULT);
	tsr_vm_renew(&vm);
	tsr_pages_at(mine, SIZE);
	require_eq(tsr_vm_try_fill(&vm, AT, KiB(4), 0), -EFAULT);
	tsr_vm_renew(&vm);
	tsr_vm_unmap(&dev, vm.id, AT, SIZE);
	require_ok(run_empty(&vm));
	tsr_words_check(mine, WORDS, 0);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void read_only(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t *mine = tsr_pages_new(SIZE), *to = tsr_pages_new(SIZE);
	struct tsr_bo bo = mapped(&vm, mine, DRM_TESSERA_BO_GPU_READ_ONLY);
	struct tsr_bo other = tsr_bo_from_user(&dev, to, SIZE, 0);

	tsr_vm_map(&dev, vm.id, &other, 0, AT + SIZE, SIZE, 0);
	tsr_vm_place(&vm, &other);
	set_words(mine, WORDS, CPU);
	require_ok(mprotect(mine, SIZE, PROT_READ));
	tsr_vm_copy(&vm, AT + SIZE, AT, SIZE);
	tsr_words_check(to, WORDS, CPU);
	require_eq(tsr_vm_try_fill(&vm, AT, KiB(4), 1), -EFAULT);
	tsr_words_check(mine, WORDS, CPU);
	tsr_vm_renew(&vm);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &other);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* ---- Changes while a job is queued ----------------------------------- */

static void change_munmap(uint32_t *memory, uint64_t size)
{
	require_ok(munmap(memory, size));
	tsr_pages_at(memory, size);
	set_words(memory, size / 4, CPU);
}

static void check_cpu(uint32_t *memory, uint64_t size)
{
	tsr_words_check(memory, size / 4, CPU);
}

static void change_exit(uint32_t *memory, uint64_t size)
{
	(void)memory, (void)size;
	_exit(0);
}

/* what happens to the object before the change */
enum meanwhile {
	NOTHING,
	EVICT,
	CLOSE,
	UNMAP,
	REPLACE,
	DESTROY_VM,
	EXIT,
	MEANWHILES
};

static void do_meanwhile(enum meanwhile what, struct tsr_vm *vm, struct tsr_bo *bo)
{
	struct tsr_device *dev = vm->dev;

	switch (what) {
	case EVICT:
		tsr_evict(dev, bo, 1);
		break;
	case CLOSE:
		require_ok(__tsr_bo_close(dev->fd, bo->handle));
		break;
	case UNMAP:
		tsr_vm_unmap(dev, vm->id, AT, SIZE);
		break;
	case REPLACE:
		tsr_vm_map_null(dev, vm->id, AT, SIZE);
		require_ok(__tsr_bo_close(dev->fd, bo->handle));
		break;
	case DESTROY_VM:
		tsr_context_free(dev, vm->context);
		tsr_vm_free(dev, vm->id);
		break;
	default:
		break;
	}
}

/* Queues a job behind a held one. */
static void queue_fill(struct tsr_vm *vm, struct tsr_held *held, uint32_t done)
{
	struct tsr_bo gate = tsr_bo_new(vm->dev, KiB(4), tsr_bit(tsr_seg_hidden(vm->dev)), 0);
	struct tsr_cmd cmd;

	tsr_held_fill(held, &gate, 1, 0);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, SIZE, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, JOB);
	memcpy((char *)vm->cmds.map + KiB(8), cmd.dw, tsr_cmd_bytes(&cmd));
	require_ok(__tsr_submit_vm(vm->dev, vm->context, vm->at + KiB(8), tsr_cmd_bytes(&cmd),
				   held->done, done));
	tsr_cmd_fini(&cmd);
	tsr_bo_free(vm->dev, &gate);
}

/*
 * The process that unmaps the memory waits for jobs that do not name it,
 * whatever happens to the object meanwhile.
 */
static void changes_wait(enum meanwhile what)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_owner owner = {
		.dev = &dev,
		.size = SIZE,
		.change = what == EXIT ? change_exit : change_munmap,
		.check = check_cpu,
	};
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_owner_start(&owner);
	uint32_t done = tsr_syncobj_new(&dev);

	tap_note("meanwhile %d", what);
	tsr_vm_map(&dev, vm.id, &bo, 0, AT, SIZE, 0);
	tsr_vm_place(&vm, &bo);
	queue_fill(&vm, &held, done);
	do_meanwhile(what, &vm, &bo);
	tsr_owner_change(&owner);
	require_msg(!owner.state->done, "expected munmap to wait for the job, the memory was "
					"unmapped while the job used it");
	require_eq(waitpid(owner.pid, NULL, WNOHANG), 0);
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_held_go(&held);
	if (what != DESTROY_VM)
		require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_owner_join(&owner);
	if (what == EXIT)
		require_err(run_empty(&vm), -EFAULT);
	tsr_held_close(&held);
	tsr_close(&dev);
}

static void all_changes_wait(void)
{
	for (enum meanwhile what = NOTHING; what < MEANWHILES; what++)
		changes_wait(what);
}

/* each has its own page table, which takes time to clear */
#define MORE (tap_slow() ? 100u : 1023u)
#define MORE_AT(i) ((1ull << 40) + MiB(2) * (uint64_t)(i))
#define MORE_BYTES (MiB(2) - KiB(4))

static int bind_more(struct tsr_vm *vm, uint32_t op)
{
	struct drm_tessera_vm_bind_op ops[1024] = { {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = TSR_STUCK_AT,
		.range = SIZE,
	} };
	bool map = op == DRM_TESSERA_VM_BIND_MAP_NULL;

	for (uint32_t i = 0; i < MORE; i++)
		ops[1 + i] = (struct drm_tessera_vm_bind_op){
			.op = op,
			.address = MORE_AT(i),
			.range = MORE_BYTES,
		};
	return __tsr_vm_bind(vm->dev->fd, vm->id, ops + map, 1 + MORE - map, 0, 0);
}

/*
 * Timing of a call that unmaps the memory first and then many other mappings,
 * as seen by the process that owns the memory.
 */
static volatile struct beside {
	bool ready, begun;
	uint64_t delay_ns, took_ns;
} * beside;

static void change_beside(uint32_t *memory, uint64_t size)
{
	uint64_t begun;

	beside->ready = true;
	while (!beside->begun)
		;
	begun = tap_now_ns();
	while (tap_now_ns() < begun + beside->delay_ns)
		;
	change_munmap(memory, size);
}

static void *unmap_and_more(void *arg)
{
	struct tsr_vm *vm = arg;
	uint64_t begun;

	tsr_wait_for(beside->ready);
	begun = tap_now_ns();
	beside->begun = true;
	require_ok(bind_more(vm, DRM_TESSERA_VM_BIND_UNMAP));
	beside->took_ns = tap_now_ns() - begun;
	return NULL;
}

static void change_beside_unmap(struct tsr_device *dev)
{
	struct tsr_owner owner = {
		.dev = dev,
		.size = SIZE,
		.change = change_beside,
		.check = check_cpu,
	};
	struct tsr_bo bo = tsr_owner_start(&owner);
	struct tsr_stuck_vm stuck;
	pthread_t thread;

	tsr_stuck_vm_start(&stuck, dev, &bo, JOB);
	require_ok(bind_more(&stuck.vm, DRM_TESSERA_VM_BIND_MAP_NULL));
	beside->ready = beside->begun = false;
	require(!pthread_create(&thread, NULL, unmap_and_more, &stuck.vm));
	tsr_owner_change(&owner);
	require(tsr_stuck_vm_runs(&stuck));
	require_msg(!owner.state->done,
		    "expected munmap to wait for the job, the memory was unmapped while the job "
		    "used it: the job's VM was forgotten before the GPU unmap had ended");
	pthread_join(thread, NULL);
	tsr_stuck_vm_end(&stuck);
	tsr_stuck_vm_close(&stuck);
	tsr_owner_join(&owner);
	tsr_bo_free(dev, &bo);
}

#define MOMENTS (tap_slow() ? 6u : 24u)

/* The process unmaps the memory at any moment of the GPU unmapping. */
static void changes_beside_unmap(void)
{
	struct tsr_device dev = tsr_open();

	beside = tsr_shared(sizeof(*beside));
	for (uint32_t i = 0; i <= MOMENTS; i++) {
		beside->delay_ns = beside->took_ns * i / MOMENTS;
		change_beside_unmap(&dev);
	}
	tap_note("%llu us for the last call", (unsigned long long)beside->took_ns / 1000);
	tsr_close(&dev);
}

/* ---- the number of jobs that a change waits for ---------------------- */

#define MANY 300
#define MOST 256

struct flood {
	struct tsr_call in;
	struct tsr_vm *vm;
	volatile uint32_t queued;
};

static void flood_run(void *arg)
{
	struct flood *flood = arg;

	for (; flood->queued < MANY; flood->queued++)
		require_ok(run_empty(flood->vm));
}

/*
 * Unmapping memory waits for a limited number of jobs, because a process may
 * have a limited number of unfinished jobs. The stuck job counts, too, and so do
 * the held one and the one behind it.
 */
static void few_jobs(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = mapped(&vm, tsr_pages_new(SIZE), 0);
	struct flood flood = { .vm = &vm };

	queue_fill(&vm, &held, 0);
	tsr_call_start(&flood.in, flood_run, &flood);
	tsr_wait_for(flood.in.returned || tsr_call_waits(&flood.in, "quota"));
	require_eq(flood.queued, MOST - 3);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	tsr_call_join(&flood.in);
	tsr_bo_free(&dev, &bo);
	tsr_held_close(&held);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* ---- Changes under load ---------------------------------------------- */

struct race {
	struct tsr_vm *vm;
	volatile struct {
		bool stop;
		uint32_t queued, refused;
	} * state;
};

static void submit_until(void *arg)
{
	struct race *race = arg;
	struct tsr_vm *vm = race->vm;
	struct tsr_cmd cmd;
	int ret;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, SIZE, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, JOB);
	memcpy(vm->cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	while (!race->state->stop) {
		uint32_t sync = tsr_syncobj_new(vm->dev);

		ret = __tsr_submit_vm(vm->dev, vm->context, vm->at, tsr_cmd_bytes(&cmd), 0, sync);
		require_msg(!ret || ret == -EFAULT || ret == -EBUSY, "submit: %d", ret);
		race->state->queued += !ret;
		race->state->refused += !!ret;
		if (!ret)
			require_eq(tsr_syncobj_status(vm->dev, sync), 0);
		tsr_syncobj_free(vm->dev, sync);
	}
	tsr_cmd_fini(&cmd);
}

/* An old job never writes new pages, and no job accesses missing memory. */
static void race(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct race race = { .vm = &vm, .state = tsr_shared(sizeof(*race.state)) };
	uint32_t *mine = tsr_pages_new(SIZE);
	pid_t pid;

	mapped(&vm, mine, 0);
	pid = tap_fork(submit_until, &race);
	tsr_pages_race(mine, SIZE, &race.state->queued);
	race.state->stop = true;
	tap_join(pid);
	tap_note("%u jobs, %u refused", race.state->queued, race.state->refused);
	tsr_close(&dev);
}

#define FAULTS (TSR_EXPECT(MMU) | TSR_EXPECT(READ_ONLY))

static const struct tap_test tests[] = {
	{ "RES-5 jobs use user memory at virtual addresses", jobs, 0, 0 },
	{ "RES-5 changes of user memory show at virtual addresses", changes_show, 0, 0 },
	{ "RES-2 no job runs while listed user memory is gone", gone, FAULTS, 0 },
	{ "RES-2 listed user memory that no VM maps", gone_unmapped, 0, 0 },
	{ "RES-6 user memory that is mapped but not listed", closed, FAULTS, 0 },
	{ "RES-6 read-only user memory", read_only, FAULTS, 0 },
	{ "DESTROY-7 changes of user memory wait for jobs that do not name it", all_changes_wait, 0,
	  100 },
	{ "DESTROY-7 changes of user memory wait while it is unmapped", changes_beside_unmap, 0,
	  100 },
	{ "DESTROY-7 a change of user memory waits for few jobs", few_jobs, 0, 100 },
	{ "RES-5 jobs at virtual addresses race with munmap", race, 0, 100 },
};

TSR_TEST_MAIN(tests)
