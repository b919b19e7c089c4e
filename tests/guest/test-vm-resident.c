// SPDX-License-Identifier: MIT
/*
 * Residency lists and virtual addresses: jobs find all listed objects, and no
 * others. Memory is small: 8 MiB visible to the CPU and 8 MiB hidden from it.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"
#include "held.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

#define AT 0x100000000ull

#define FAULTS TSR_EXPECT(MMU)

/* An object mapped at an address, on no list. */
static struct tsr_bo new_mapped(struct tsr_vm *vm, uint64_t size, uint32_t set, uint64_t address)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, size, set, 0);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, address, size, 0);
	return bo;
}

static void check_at(struct tsr_vm *vm, struct tsr_bo *stage, uint64_t address, uint64_t bytes,
		     uint32_t value)
{
	tsr_vm_copy(vm, TSR_VM_STAGE, address, bytes);
	tsr_words_check(stage->map, bytes / 4, value);
}

static void require_fault(struct tsr_vm *vm, uint64_t address)
{
	require_msg(tsr_vm_try_fill(vm, address, KiB(4), 0x66) == -EFAULT,
		    "expected -EFAULT at 0x%llx, the object mapped there is not listed",
		    (unsigned long long)address);
	tsr_vm_renew(vm);
}

static uint32_t everywhere(struct tsr_device *dev)
{
	return tsr_bit(tsr_seg_visible(dev)) | tsr_bit(tsr_seg_hidden(dev)) |
	       tsr_bit(tsr_seg_gart(dev));
}

/*
 * RES-4: the fence of MAKE_RESIDENT stands for paging, and nothing has to be
 * paged here, so it is signalled at once. The page tables are written before
 * the next job, which waits for that.
 */
static void fence_of_tables(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), AT);
	struct tsr_bo other = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), 0);
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 0x76);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_engine_hang_next(dev.paging);
	tsr_job_timeout("300000");
	require_ok(__tsr_submit_use(&dev, ctx, &other, true));
	tsr_wait_for(tsr_engine_hangs());
	require_ok(__tsr_make_resident(dev.fd, &bo.handle, 1, sync, NULL));
	require_ok(__tsr_syncobj_wait(dev.fd, sync, 0, 0));
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, done));
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_engine_release();
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_vm_fill(&vm, AT, bo.size, 0x77);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* RES-2: all evicted objects, also the commands, are back before a job. */
static void brought_back(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(1));
	const uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_hidden(&dev)),
				  tsr_bit(tsr_seg_gart(&dev)) };
	struct tsr_bo bos[6];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = new_mapped(&vm, MiB(1), sets[i % ARRAY_SIZE(sets)], AT + MiB(1) * i);
	tsr_make_resident(&dev, bos, ARRAY_SIZE(bos));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_vm_fill(&vm, AT + MiB(1) * i, MiB(1), i);
	for (uint32_t round = 0; round < 6; round++) {
		tsr_evict_set(everywhere(&dev));
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			require_eq(tsr_bo_info(&dev, &bos[i]).segment, 0);
		/* one job brings back all objects */
		tsr_vm_fill(&vm, AT + MiB(1) * round, MiB(1), 100 + round);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			require(tsr_bo_info(&dev, &bos[i]).segment);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			check_at(&vm, &stage, AT + MiB(1) * i, MiB(1), i > round ? i : 100 + i);
	}
	tsr_close(&dev);
}

/*
 * RES-2: the list alone decides whether jobs find an object, wherever it is.
 * RES-6: accesses to unlisted objects fault.
 */
static void list_decides(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev), second = tsr_vm_open(&dev);
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(hidden), AT);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(1)), theirs = { .size = bo.size };
	int dmabuf = tsr_export(&dev, &bo);

	require_ok(__tsr_import(other.fd, dmabuf, &theirs.handle));
	close(dmabuf);
	tsr_vm_map(&dev, second.id, &bo, KiB(64), AT, KiB(64), 0);
	/* resident for jobs that name it, and listed by another file */
	tsr_gpu_fill(&dev, vm.patched, &bo, 0x11);
	tsr_make_resident(&other, &theirs, 1);
	require_eq(tsr_bo_info(&dev, &bo).segment, hidden->id);
	require_fault(&vm, AT);
	require_fault(&second, AT);
	/*
	 * listed without a move: found in all VMs of the file, also at
	 * addresses mapped later
	 */
	tsr_make_resident(&dev, &bo, 1);
	tsr_vm_map(&dev, vm.id, &bo, KiB(4), AT + MiB(8) + KiB(4), KiB(8), 0);
	check_at(&vm, &stage, AT, MiB(1), 0x11);
	check_at(&vm, &stage, AT + MiB(8) + KiB(4), KiB(8), 0x11);
	tsr_vm_fill(&second, AT, KiB(64), 0x22);
	check_at(&vm, &stage, AT + KiB(64), KiB(64), 0x22);
	/* the entries are counted */
	tsr_make_resident(&dev, &bo, 1);
	tsr_evict(&dev, &bo, 1);
	check_at(&vm, &stage, AT, KiB(64), 0x11);
	tsr_evict(&dev, &bo, 1);
	require_eq(tsr_bo_info(&dev, &bo).segment, hidden->id);
	require_fault(&vm, AT);
	require_fault(&vm, AT + MiB(8) + KiB(4));
	require_fault(&second, AT);
	/* no move and no new mapping makes it accessible */
	tsr_evict_set(tsr_bit(hidden));
	tsr_gpu_touch(&dev, vm.patched, &bo);
	require_fault(&vm, AT);
	tsr_vm_map(&dev, vm.id, &bo, 0, AT + MiB(16), MiB(1), 0);
	require_fault(&vm, AT + MiB(16));
	tsr_make_resident(&dev, &bo, 1);
	check_at(&vm, &stage, AT + MiB(16) + KiB(64), KiB(64), 0x22);
	tsr_close(&other);
	tsr_close(&dev);
}

/* RES-2, RES-4: a job submitted during page-ins finds its objects. */
static void early(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(4));
	struct tsr_bo bos[3];
	uint32_t handles[ARRAY_SIZE(bos)];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = new_mapped(&vm, MiB(2), tsr_bit(tsr_seg_hidden(&dev)), AT + MiB(2) * i);
		tsr_gpu_fill(&dev, vm.patched, &bos[i], i + 1);
		handles[i] = bos[i].handle;
	}
	for (uint32_t round = 0; round < 8; round++) {
		struct drm_tessera_make_resident out;

		tsr_evict_set(tsr_bit(tsr_seg_hidden(&dev)));
		/* holds the paging, so that there is something to wait for */
		tsr_engine_hang_next(dev.paging);
		require_ok(__tsr_make_resident(dev.fd, handles, ARRAY_SIZE(bos), 0, &out));
		require(out.pending);
		tsr_engine_release();
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			check_at(&vm, &stage, AT + MiB(2) * i, MiB(2), i + 1);
		tsr_evict(&dev, bos, ARRAY_SIZE(bos));
	}
	tsr_close(&dev);
}

/* RES-6: jobs queued before an object leaves the list still find it. */
static void late(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(tsr_seg_visible(&dev)), AT);
	struct tsr_bo target = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t sync = tsr_syncobj_new(&dev), words[16];
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &bo, 1);
	/* a fence of this device, so that no call waits for it */
	tsr_held_fill(&held, &target, 16, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 0x77);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), held.done, sync));
	tsr_evict(&dev, &bo, 1);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	require_ok(tsr_syncobj_status(&dev, sync));
	tsr_gpu_read(&dev, vm.patched, &bo, bo.size / 4 - 16, 16, words);
	tsr_words_check(words, 16, 0x77);
	require_fault(&vm, AT);
	tsr_held_close(&held);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * RES-6: a mapped object without a handle is on no list. When it moves, its
 * addresses must not keep referring to the old place.
 */
static void closed(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	const uint32_t set = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bo = new_mapped(&vm, MiB(4), set, AT), other[2];
	uint32_t words[16];

	tsr_make_resident(&dev, &bo, 1);
	tsr_vm_fill(&vm, AT, bo.size, 0x55);
	tsr_bo_free(&dev, &bo);
	tsr_vm_fill(&vm, AT, KiB(4), 0x56);
	tsr_evict_set(set);
	/* other objects take its place */
	for (uint32_t i = 0; i < ARRAY_SIZE(other); i++) {
		other[i] = tsr_bo_new(&dev, MiB(4), set, 0);
		tsr_gpu_fill(&dev, vm.patched, &other[i], i);
	}
	require_fault(&vm, AT);
	for (uint32_t i = 0; i < ARRAY_SIZE(other); i++) {
		tsr_gpu_read(&dev, vm.patched, &other[i], 0, 16, words);
		tsr_words_check(words, 16, i);
	}
	tsr_close(&dev);
}

/* Uses up all page tables, including those that VMs have in reserve. */
static void use_up_tables(struct tsr_vm *vm)
{
	uint32_t step = 64;
	uint64_t address = 0;

	for (; step; step /= 8) {
		struct drm_tessera_vm_bind_op ops[64];
		int rc = 0;

		while (!rc) {
			for (uint32_t i = 0; i < step; i++)
				ops[i] = (struct drm_tessera_vm_bind_op){
					.op = DRM_TESSERA_VM_BIND_MAP_NULL,
					.address = address + ((uint64_t)i << 30),
					.range = KiB(4),
				};
			rc = __tsr_vm_bind(vm->dev->fd, vm->id, ops, step, 0, 0);
			address += rc ? 0 : (uint64_t)step << 30;
		}
		require_eq(rc, -ENOSPC);
	}
}

/*
 * RES-3: if an object cannot be mapped in one VM, no object of the call becomes
 * accessible.
 */
static void nothing_shown(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev), second = tsr_vm_open(&dev);
	const uint32_t set = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bo = new_mapped(&vm, MiB(1), set, AT);
	struct tsr_bo many = tsr_bo_new(&dev, KiB(68), set, 0);
	const uint32_t handles[] = { bo.handle, many.handle };
	struct drm_tessera_make_resident out;

	for (uint64_t i = 0; i < 64; i++)
		tsr_vm_map(&dev, second.id, &many, 0, (1ull << 45) + (i << 30), many.size, 0);
	/* keeps its page table, and what was reserved for it */
	tsr_vm_map_null(&dev, vm.id, AT + MiB(1), KiB(4));
	tsr_make_resident(&dev, &bo, 1);
	tsr_vm_fill(&vm, AT, bo.size, 0x11);
	tsr_evict(&dev, &bo, 1);
	require_fault(&vm, AT);
	/* so few that all fit into the segments */
	tsr_knob("max_tables", "1024");
	use_up_tables(&second);
	require_err(__tsr_make_resident(dev.fd, handles, 2, 0, &out), -ENOMEM);
	require_eq(out.bytes_to_trim, 0);
	require_eq(tsr_listed(bo.size), 0);
	require_eq(tsr_listed(many.size), 0);
	require_fault(&vm, AT);
	/* the first object alone succeeds */
	tsr_make_resident(&dev, &bo, 1);
	tsr_vm_fill(&vm, AT, bo.size, 0x22);
	tsr_close(&dev);
}

/* ---- with other clients ---------------------------------------------- */

static struct {
	volatile bool listed, stop;
	volatile bool moved; /* an object moved although a queued job may use it */
	volatile uint32_t turns;
} * shared;

static void share_memory(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	require(shared != MAP_FAILED);
}

/* Has its share, and keeps using it. */
static void neighbour(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bos[8];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, KiB(512), tsr_bit(tsr_seg_hidden(&dev)), 0);
	tsr_make_resident(&dev, bos, ARRAY_SIZE(bos));
	shared->listed = true;
	while (!shared->stop) {
		require_ok(__tsr_bring_back(&dev, NULL));
		usleep(10000);
	}
	tsr_close(&dev);
}

/*
 * RES-2, RES-3: a job does not run if not all listed objects fit. It runs once
 * the list is short enough.
 */
static void too_much(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(512));
	struct tsr_bo bos[14];
	uint32_t sync = tsr_syncobj_new(&dev), left = ARRAY_SIZE(bos);
	struct drm_tessera_make_resident out;
	pid_t pid;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] =
			new_mapped(&vm, KiB(512), tsr_bit(tsr_seg_hidden(&dev)), AT + KiB(512) * i);
		tsr_make_resident(&dev, &bos[i], 1);
		tsr_vm_fill(&vm, AT + KiB(512) * i, KiB(512), i);
	}
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	share_memory();
	pid = tap_fork(neighbour, NULL);
	tsr_wait_for(shared->listed);
	require_err(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, sync), -ENOMEM);
	/* the context is not affected */
	require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_NONE);
	while (__tsr_bring_back(&dev, &out)) {
		uint32_t trim = (uint32_t)((out.bytes_to_trim + KiB(512) - 1) / KiB(512));

		require(trim && trim <= left);
		left -= trim;
		tsr_evict(&dev, &bos[left], trim);
	}
	require_eq(left, ARRAY_SIZE(bos) - 6);
	for (uint32_t i = 0; i < left; i++)
		check_at(&vm, &stage, AT + KiB(512) * i, KiB(512), i);
	require_fault(&vm, AT + KiB(512) * left);
	shared->stop = true;
	tap_join(pid);
	/* all objects come back on request */
	tsr_make_resident(&dev, &bos[left], ARRAY_SIZE(bos) - left);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		check_at(&vm, &stage, AT + KiB(512) * i, KiB(512), i);
	tsr_close(&dev);
}

/* Writes commands of a job that writes one page. Returns their size. */
static uint32_t write_commands(struct tsr_vm *vm)
{
	struct tsr_cmd cmd;
	uint32_t bytes;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, KiB(4), true);
	tsr_cmd_fill(&cmd, 0, 0, KiB(1), 0x11);
	bytes = tsr_cmd_bytes(&cmd);
	memcpy(vm->cmds.map, cmd.dw, bytes);
	tsr_cmd_fini(&cmd);
	return bytes;
}

/* Has a queued job, in a VM that maps an object. */
static void busy_neighbour(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo target = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_gart(&dev)), 0);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), AT);
	uint32_t sync = tsr_syncobj_new(&dev);
	uint64_t at;

	tsr_make_resident(&dev, &bo, 1);
	at = tsr_bo_info(&dev, &bo).segment_offset;
	tsr_held_fill(&held, &target, 16, 1);
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, write_commands(&vm), held.done, sync));
	shared->listed = true;
	while (!shared->stop) {
		/*
		 * query the place first: if the job is still held afterwards,
		 * it was held when the object moved
		 */
		bool moved = tsr_bo_info(&dev, &bo).segment_offset != at;

		shared->moved |= moved && tsr_held_waits(&held);
		shared->turns++;
		usleep(1000);
	}
	tsr_held_go(&held);
	require_ok(tsr_syncobj_status(&dev, sync));
	tsr_held_close(&held);
	tsr_close(&dev);
}

static struct {
	struct tsr_device dev;
	struct tsr_bo bo;
	volatile pid_t tid;
	volatile bool done;
	int rc;
} making;

static void *make_thread(void *arg)
{
	making.tid = gettid();
	making.rc = __tsr_make_one(&making.dev, &making.bo);
	making.done = true;
	return NULL;
}

/*
 * RES-2, RES-3: objects of a busy VM within its client's share are not moved to
 * make a gap.
 */
static void busy_stays(void)
{
	struct tsr_bo first;
	uint32_t turns;
	pthread_t thread;
	pid_t pid;

	making.dev = tsr_open();
	first = tsr_bo_new(&making.dev, MiB(2), tsr_bit(tsr_seg_hidden(&making.dev)), 0);
	tsr_make_resident(&making.dev, &first, 1); /* at 0 to 2 MiB */
	share_memory();
	pid = tap_fork(busy_neighbour, NULL); /* its object is at 2 to 3 MiB */
	while (!shared->listed)
		usleep(1000);
	tsr_bo_free(&making.dev, &first);
	/* 6 MiB: 7 are free, but the largest gap is 5 */
	making.bo = tsr_bo_new(&making.dev, MiB(6), tsr_bit(tsr_seg_hidden(&making.dev)), 0);
	require_ok(-pthread_create(&thread, NULL, make_thread, NULL));
	while (!making.done && !(making.tid && tsr_sleeps(making.tid)))
		usleep(1000);
	turns = shared->turns;
	while (shared->turns - turns < 20)
		usleep(1000);
	shared->stop = true;
	tap_join(pid);
	require_ok(-pthread_join(thread, NULL));
	require_ok(making.rc);
	require(tsr_bo_info(&making.dev, &making.bo).segment);
	require_msg(!shared->moved,
		    "expected the object to stay, it was moved to make a gap although a busy VM of "
		    "another client lists it within that client's share");
	tsr_close(&making.dev);
}

#define HOARD 16
#define HOARD_BYTES KiB(500) /* so that the page tables of two VMs have room beside these */

/*
 * Lists the whole segment, runs jobs all the time, and trims only as much as it
 * is told to.
 */
static void hoarder(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t left = HOARD, sync = tsr_syncobj_new(&dev), bytes;
	struct drm_tessera_make_resident out;
	struct tsr_bo bos[HOARD];

	for (uint32_t i = 0; i < HOARD; i++) {
		struct drm_tessera_bo_create args = {
			.size = HOARD_BYTES,
			.supported = tsr_bit(tsr_seg_hidden(&dev)),
			.flags = arg ? DRM_TESSERA_BO_VM_PRIVATE : 0,
			.vm = arg ? vm.id : 0,
		};

		require_ok(__tsr_bo_create(dev.fd, &args));
		bos[i] = (struct tsr_bo){ .handle = args.handle, .size = args.size };
		tsr_vm_map(&dev, vm.id, &bos[i], 0, AT + KiB(512) * i, HOARD_BYTES, 0);
	}
	tsr_make_resident(&dev, bos, HOARD);
	bytes = write_commands(&vm);
	shared->listed = true;
	while (!shared->stop) {
		int rc = __tsr_submit_vm(&dev, vm.context, vm.at, bytes, 0, sync);

		require(!rc || rc == -ENOMEM);
		if (!rc) {
			require_ok(tsr_syncobj_status(&dev, sync));
			shared->turns++;
		} else if (__tsr_bring_back(&dev, &out) == -ENOMEM) {
			require(out.bytes_to_trim && left > 1);
			left--;
			tsr_evict(&dev, &bos[left], 1);
		}
	}
	tsr_close(&dev);
}

/*
 * SEG-8, RES-2: a client that starts late gets its share with one call per
 * object, although another client has the whole segment listed and in use. That
 * client goes on with the rest.
 */
static void newcomer(void *arg)
{
	struct tsr_device dev;
	struct tsr_vm vm;
	struct tsr_bo bos[HOARD / 2];
	uint32_t turns;
	pid_t pid;

	share_memory();
	pid = tap_fork(hoarder, arg);
	while (!shared->listed)
		usleep(1000);
	dev = tsr_open();
	vm = tsr_vm_open(&dev);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = new_mapped(&vm, HOARD_BYTES, tsr_bit(tsr_seg_hidden(&dev)),
				    AT + KiB(512) * i);
		require_ok(__tsr_make_one(&dev, &bos[i]));
		tsr_vm_fill(&vm, AT + KiB(512) * i, HOARD_BYTES, i);
	}
	/*
	 * it also keeps its share: no job misses an object, while the other
	 * client's jobs go on
	 */
	turns = shared->turns;
	while (shared->turns - turns < 20)
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			tsr_vm_fill(&vm, AT + KiB(512) * i, KiB(4), i);
	shared->stop = true;
	tap_join(pid);
	tsr_close(&dev);
}

static void newcomer_among_whole(void)
{
	newcomer(NULL);
}

static void newcomer_among_private(void)
{
	newcomer("private");
}

/*
 * Evictions per turn. A submission fails if its objects are taken away for two
 * job timeouts in a row.
 */
#define EVICTIONS (tap_slow() ? 2u : 6u)

static void *evict_all(void *arg)
{
	struct tsr_device *dev = arg;

	for (uint32_t turn = 0, left = 0; !shared->stop;) {
		if (turn != shared->turns) {
			turn = shared->turns;
			left = EVICTIONS;
		}
		if (left) {
			tsr_evict_set(everywhere(dev));
			left--;
		} else {
			usleep(100);
		}
	}
	return NULL;
}

/* RES-2: no job runs with an object missing, whenever it is evicted. */
static void storm(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(256));
	uint32_t rounds = tap_slow() ? 6 : 200;
	struct tsr_bo bos[4];
	pthread_t thread;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = new_mapped(&vm, KiB(256), tsr_bit(tsr_seg_visible(&dev)),
				    AT + KiB(256) * i);
		tsr_make_resident(&dev, &bos[i], 1);
	}
	share_memory();
	require_ok(-pthread_create(&thread, NULL, evict_all, &dev));
	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t at = AT + KiB(256) * (round % ARRAY_SIZE(bos));

		shared->turns++;
		tsr_vm_fill(&vm, at, KiB(256), round);
		shared->turns++;
		check_at(&vm, &stage, at, KiB(256), round);
	}
	shared->stop = true;
	pthread_join(thread, NULL);
	tsr_close(&dev);
}

/*
 * Random lists, mappings, moves and jobs, compared with a model. RES-9: some
 * mappings are read-only, and EVICT says if no job has written an object.
 */
static void random_lists(void)
{
	enum {
		OBJECTS = 6,
		PLACES = 12
	};
	struct tsr_device dev = tsr_open();
	const uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_hidden(&dev)),
				  tsr_bit(tsr_seg_gart(&dev)) };
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(128)), bos[OBJECTS];
	uint32_t value[OBJECTS] = { 0 }, count[OBJECTS] = { 0 }, faults = 0;
	bool written[OBJECTS] = { false }; /* by VM jobs, while listed */
	uint32_t flags[PLACES] = { 0 };
	int owner[PLACES];
	uint32_t seed = 7, rounds = tap_slow() ? 150 : 800;

#define ANY(n) ((seed = seed * 1664525 + 1013904223) >> 8) % (n)
	for (uint32_t i = 0; i < OBJECTS; i++)
		bos[i] = tsr_bo_new(&dev, KiB(128), sets[i % ARRAY_SIZE(sets)], 0);
	for (uint32_t i = 0; i < PLACES; i++)
		owner[i] = -1;
	for (uint32_t round = 1; round <= rounds; round++) {
		uint32_t o = ANY(OBJECTS), place = ANY(PLACES), kind = ANY(10);
		uint64_t at = AT + KiB(128) * place;

		if (kind < 3) {
			flags[place] = ANY(2) ? DRM_TESSERA_VM_BIND_READ_ONLY : 0;
			tsr_vm_map(&dev, vm.id, &bos[o], 0, at, KiB(128), flags[place]);
			owner[place] = (int)o;
		} else if (kind == 3) {
			tsr_vm_unmap(&dev, vm.id, at, KiB(128));
			owner[place] = -1;
		} else if (kind < 6) {
			tsr_make_resident(&dev, &bos[o], 1);
			count[o]++;
		} else if (kind < 8 && count[o]) {
			if (written[o])
				tsr_evict(&dev, &bos[o], 1);
			else
				require_ok(__tsr_evict_unwritten(&dev, &bos[o]));
			count[o]--;
			written[o] = written[o] && count[o];
		} else if (kind == 8) {
			tsr_evict_set(sets[ANY(ARRAY_SIZE(sets))]);
		} else {
			tsr_gpu_fill(&dev, vm.patched, &bos[o], round);
			value[o] = round;
		}
		place = ANY(PLACES);
		at = AT + KiB(128) * place;
		if (owner[place] < 0 || !count[owner[place]]) {
			/* each fault costs a context, so test only some */
			if (round % 4 == 0) {
				require_fault(&vm, at);
				faults++;
			}
			continue;
		}
		check_at(&vm, &stage, at, KiB(128), value[owner[place]]);
		if (flags[place])
			continue;
		tsr_vm_fill(&vm, at, KiB(128), round + 0x10000);
		value[owner[place]] = round + 0x10000;
		written[owner[place]] = true;
	}
	require(faults);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-2 evicted objects are paged in before a job", brought_back, 0, 0 },
	{ "RES-2 RES-6 MODEL-3 the list alone decides", list_decides, FAULTS, 0 },
	{ "RES-4 RES-6 page tables are written before a job", fence_of_tables, 0, 0 },
	{ "RES-4 RES-2 a job submitted during page-ins finds its objects", early, 0, 0 },
	{ "RES-6 a queued job finds objects that leave the list later", late, FAULTS, 0 },
	{ "RES-6 DESTROY-7 mapped without a handle", closed, FAULTS, 0 },
	{ "RES-3 no object is mapped if one of the call cannot be", nothing_shown, FAULTS, 0 },
	{ "RES-2 RES-3 a list that does not fit", too_much, FAULTS, 0 },
	{ "RES-2 RES-3 objects of a busy VM are not moved", busy_stays, 0, 0 },
	{ "SEG-8 RES-2 a new client gets its share", newcomer_among_whole, 0, 0 },
	{ "SEG-8 RES-2 a new client gets its share with private objects", newcomer_among_private, 0,
	  0 },
	{ "RES-2 a storm of evictions", storm, 0, 0 },
	{ "RES-2 RES-6 RES-9 random lists", random_lists, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
