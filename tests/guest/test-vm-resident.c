// SPDX-License-Identifier: MIT
/*
 * Residency lists and virtual addresses: jobs find what is listed, all of it, and nothing else. Memory is small: 8 MiB
 * that the CPU sees and 8 MiB that it does not.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"
#include "resident.h"
#include "vm.h"

#define AT 0x100000000ull
#define STAGE 0x200000000ull

#define FAULTS TSR_EXPECT(MMU)

/* an object at an address, on no list */
static struct tsr_bo new_mapped(struct tsr_vm *vm, uint64_t size, uint32_t set, uint64_t address)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, size, set, 0);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, address, size, 0);
	return bo;
}

/* one that the CPU sees, and jobs find */
static struct tsr_bo new_stage(struct tsr_vm *vm, uint64_t size)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, size, tsr_bit(tsr_seg_gart(vm->dev)),
				      DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);

	tsr_bo_map(vm->dev, &bo);
	tsr_vm_map(vm->dev, vm->id, &bo, 0, STAGE, size, 0);
	tsr_make_resident(vm->dev, &bo, 1);
	return bo;
}

static void check_at(struct tsr_vm *vm, struct tsr_bo *stage, uint64_t address, uint64_t bytes,
		     uint32_t value)
{
	tsr_vm_copy(vm, STAGE, address, bytes);
	tsr_words_check(stage->map, bytes / 4, value);
}

static void require_fault(struct tsr_vm *vm, uint64_t address)
{
	require_eq(tsr_vm_try_fill(vm, address, KiB(4), 0x66), -EFAULT);
	tsr_vm_renew(vm);
}

static uint32_t everywhere(struct tsr_device *dev)
{
	return tsr_bit(tsr_seg_visible(dev)) | tsr_bit(tsr_seg_hidden(dev)) |
	       tsr_bit(tsr_seg_gart(dev));
}

/* RES-2: whatever has been moved out is back before a job runs, its own commands among it */
static void brought_back(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = new_stage(&vm, MiB(1));
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
		/* one job, and all are there */
		tsr_vm_fill(&vm, AT + MiB(1) * round, MiB(1), 100 + round);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			require(tsr_bo_info(&dev, &bos[i]).segment);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			check_at(&vm, &stage, AT + MiB(1) * i, MiB(1), i > round ? i : 100 + i);
	}
	tsr_close(&dev);
}

/* RES-2: the list alone decides, wherever an object is; RES-6: what is not on it faults */
static void list_decides(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev), second = tsr_vm_open(&dev);
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(&dev);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(hidden), AT);
	struct tsr_bo stage = new_stage(&vm, MiB(1)), theirs = { .size = bo.size };
	int dmabuf = tsr_export(&dev, &bo);

	require_ok(__tsr_import(other.fd, dmabuf, &theirs.handle));
	close(dmabuf);
	tsr_vm_map(&dev, second.id, &bo, KiB(64), AT, KiB(64), 0);
	/* in memory, for jobs that name it; and on the list of another file */
	tsr_gpu_fill(&dev, vm.patched, &bo, 0x11);
	tsr_make_resident(&other, &theirs, 1);
	require_eq(tsr_bo_info(&dev, &bo).segment, hidden->id);
	require_fault(&vm, AT);
	require_fault(&second, AT);
	/* it stays where it is, and is found: in all VMs of the file, at addresses that come later, too */
	tsr_make_resident(&dev, &bo, 1);
	tsr_vm_map(&dev, vm.id, &bo, KiB(4), AT + MiB(8) + KiB(4), KiB(8), 0);
	check_at(&vm, &stage, AT, MiB(1), 0x11);
	check_at(&vm, &stage, AT + MiB(8) + KiB(4), KiB(8), 0x11);
	tsr_vm_fill(&second, AT, KiB(64), 0x22);
	check_at(&vm, &stage, AT + KiB(64), KiB(64), 0x22);
	/* as often as it was listed */
	tsr_make_resident(&dev, &bo, 1);
	tsr_evict(&dev, &bo, 1);
	check_at(&vm, &stage, AT, KiB(64), 0x11);
	tsr_evict(&dev, &bo, 1);
	require_eq(tsr_bo_info(&dev, &bo).segment, hidden->id);
	require_fault(&vm, AT);
	require_fault(&vm, AT + MiB(8) + KiB(4));
	require_fault(&second, AT);
	/* nor does a move bring it into view, or a new mapping */
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

/* RES-2, RES-4: a job that is submitted while its objects are on their way finds them */
static void early(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = new_stage(&vm, MiB(4));
	struct tsr_bo bos[3];
	uint32_t handles[ARRAY_SIZE(bos)], pending = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = new_mapped(&vm, MiB(2), tsr_bit(tsr_seg_hidden(&dev)), AT + MiB(2) * i);
		tsr_gpu_fill(&dev, vm.patched, &bos[i], i + 1);
		handles[i] = bos[i].handle;
	}
	for (uint32_t round = 0; round < 8; round++) {
		struct drm_tessera_make_resident out;

		tsr_evict_set(tsr_bit(tsr_seg_hidden(&dev)));
		require_ok(__tsr_make_resident(dev.fd, handles, ARRAY_SIZE(bos), 0, &out));
		pending += out.pending;
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
			check_at(&vm, &stage, AT + MiB(2) * i, MiB(2), i + 1);
		tsr_evict(&dev, bos, ARRAY_SIZE(bos));
	}
	/* at least once there was something to wait for */
	require(pending);
	tsr_close(&dev);
}

/* RES-6: what is taken from the list is found by the jobs of before */
static void late(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(tsr_seg_visible(&dev)), AT);
	uint32_t sync = tsr_syncobj_new(&dev), words[16];
	struct tsr_busy busy;
	struct tsr_cmd cmd;

	tsr_make_resident(&dev, &bo, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 0x77);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_busy_start(&dev, vm.patched, &busy, 200);
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, sync));
	tsr_evict(&dev, &bo, 1);
	require_eq(__tsr_syncobj_wait(dev.fd, busy.sync, 0, 0), -ETIME);
	require_ok(tsr_syncobj_status(&dev, sync));
	tsr_gpu_read(&dev, vm.patched, &bo, bo.size / 4 - 16, 16, words);
	tsr_words_check(words, 16, 0x77);
	require_fault(&vm, AT);
	tsr_busy_end(&dev, &busy);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* RES-6: what is mapped and has no handle is on no list: when it moves, its addresses do not stay where it was */
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
	/* others are in its place, wherever that was */
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

/* ---- beside others -------------------------------------------------------------------- */

static struct {
	volatile bool listed, stop;
} * shared;

static void share_memory(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	require(shared != MAP_FAILED);
}

/* has its share, and goes on using it */
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

/* RES-2, RES-3: a job that cannot have all that is listed is not run; it is when that is what there is room for */
static void too_much(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = new_stage(&vm, KiB(512));
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
	share_memory();
	pid = tap_fork(neighbour, NULL);
	while (!shared->listed)
		usleep(1000);
	require_err(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, sync), -ENOMEM);
	/* the context is as it was */
	require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_NONE);
	while (__tsr_bring_back(&dev, &out)) {
		uint32_t trim = (uint32_t)((out.bytes_to_trim + KiB(512) - 1) / KiB(512));

		require(trim && trim <= left);
		left -= trim;
		tsr_evict(&dev, &bos[left], trim);
	}
	require(left);
	for (uint32_t i = 0; i < left; i++)
		check_at(&vm, &stage, AT + KiB(512) * i, KiB(512), i);
	if (left < ARRAY_SIZE(bos))
		require_fault(&vm, AT + KiB(512) * left);
	shared->stop = true;
	tap_join(pid);
	/* and all come back when they are asked for */
	tsr_make_resident(&dev, &bos[left], ARRAY_SIZE(bos) - left);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		check_at(&vm, &stage, AT + KiB(512) * i, KiB(512), i);
	tsr_close(&dev);
}

static void *evict_all(void *arg)
{
	struct tsr_device *dev = arg;

	while (!shared->stop)
		tsr_evict_set(everywhere(dev));
	return NULL;
}

/* RES-2: no job runs with anything missing, whenever that is taken away */
static void storm(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = new_stage(&vm, KiB(256));
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

		tsr_vm_fill(&vm, at, KiB(256), round);
		check_at(&vm, &stage, at, KiB(256), round);
	}
	shared->stop = true;
	pthread_join(thread, NULL);
	tsr_close(&dev);
}

/* random lists, mappings, moves and jobs, against a model of what is to be found */
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
	struct tsr_bo stage = new_stage(&vm, KiB(128)), bos[OBJECTS];
	uint32_t value[OBJECTS] = { 0 }, count[OBJECTS] = { 0 }, faults = 0;
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
			tsr_vm_map(&dev, vm.id, &bos[o], 0, at, KiB(128), 0);
			owner[place] = (int)o;
		} else if (kind == 3) {
			tsr_vm_unmap(&dev, vm.id, at, KiB(128));
			owner[place] = -1;
		} else if (kind < 6) {
			tsr_make_resident(&dev, &bos[o], 1);
			count[o]++;
		} else if (kind < 8 && count[o]) {
			tsr_evict(&dev, &bos[o], 1);
			count[o]--;
		} else if (kind == 8) {
			tsr_evict_set(sets[ANY(ARRAY_SIZE(sets))]);
		} else {
			tsr_gpu_fill(&dev, vm.patched, &bos[o], round);
			value[o] = round;
		}
		place = ANY(PLACES);
		at = AT + KiB(128) * place;
		if (owner[place] < 0 || !count[owner[place]]) {
			/* a fault costs a context: not each time */
			if (round % 4 == 0) {
				require_fault(&vm, at);
				faults++;
			}
			continue;
		}
		check_at(&vm, &stage, at, KiB(128), value[owner[place]]);
		tsr_vm_fill(&vm, at, KiB(128), round + 0x10000);
		value[owner[place]] = round + 0x10000;
	}
	require(faults);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-2 what was evicted is back before a job", brought_back, 0, 0 },
	{ "RES-2 RES-6 the list alone decides", list_decides, FAULTS, 0 },
	{ "RES-4 RES-2 submitted while it is on its way", early, 0, 0 },
	{ "RES-6 taken from the list behind a job", late, FAULTS, 0 },
	{ "RES-6 DESTROY-7 mapped without a handle", closed, FAULTS, 0 },
	{ "RES-2 RES-3 more than there is room for", too_much, FAULTS, 0 },
	{ "RES-2 a storm of evictions", storm, 0, 0 },
	{ "RES-2 RES-6 random lists", random_lists, FAULTS, 0 },
};

TSR_TEST_MAIN(tests)
