// SPDX-License-Identifier: MIT
/*
 * GPU virtual addresses (RES-5, RES-6): mapped ranges are accessible, others
 * fault, and an object keeps its addresses when it moves. All checks are made
 * with jobs that read and write bytes.
 */
#include <stdlib.h>
#include <unistd.h>

#include "foreign.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

#define AT 0x100000000ull

static struct tsr_bo new_mapped(struct tsr_vm *vm, uint64_t size, uint32_t set, uint64_t address)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, size, set, 0);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, address, size, 0);
	tsr_vm_place(vm, &bo);
	return bo;
}

static const char *const beside =
	"mappings beside a changed part stay valid: every entry that changed since the table was "
	"last written is written, also those of a large page that was split";

/* All words at an address have this value. */
static void check_at(struct tsr_vm *vm, struct tsr_bo *stage, uint64_t address, uint64_t bytes,
		     uint32_t value)
{
	tsr_vm_copy(vm, TSR_VM_STAGE, address, bytes);
	tsr_words_check(stage->map, bytes / 4, value);
}

/* Memory of every kind is written and read at virtual addresses. */
static void map_and_run(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_hidden(&dev),
							   tsr_seg_gart(&dev) };
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(4));

	require_eq(dev.info.va_bits, 48);
	require_eq(dev.info.va_page_sizes, KiB(4) + KiB(64) + MiB(2));
	for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
		struct tsr_bo bo = new_mapped(&vm, MiB(4), tsr_bit(segs[i]), AT);

		require_eq(tsr_bo_info(&dev, &bo).segment, segs[i]->id);
		tsr_vm_fill(&vm, AT, bo.size, 0x11111111 * (i + 1));
		check_at(&vm, &stage, AT, bo.size, 0x11111111 * (i + 1));
		tsr_vm_unmap(&dev, vm.id, AT, bo.size);
		tsr_bo_free(&dev, &bo);
	}
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Mappings of every page size, also unaligned ones, and the very last page. */
static void any_alignment(void)
{
	static const struct {
		uint64_t address, offset, range;
	} rows[] = {
		{ AT, 0, MiB(4) },
		{ AT + KiB(4), 0, MiB(4) },
		{ AT + KiB(64), KiB(64), MiB(3) },
		{ AT + MiB(2) - KiB(4), KiB(8), KiB(8) },
		{ (1ull << 39) - KiB(68), KiB(60), MiB(2) + KiB(72) },
		{ (1ull << 48) - KiB(4), 0, KiB(4) },
	};
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(4));
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(4), tsr_bit(tsr_seg_hidden(&dev)), 0);

	tsr_vm_place(&vm, &bo);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t value = 0x01010101 * (i + 1);

		tsr_vm_map(&dev, vm.id, &bo, rows[i].offset, rows[i].address, rows[i].range, 0);
		tsr_gpu_fill(&dev, vm.patched, &bo, value);
		check_at(&vm, &stage, rows[i].address, rows[i].range, value);
		/* the write must reach the right part of the object */
		tsr_vm_fill(&vm, rows[i].address + rows[i].range - KiB(4), KiB(4), ~value);
		tsr_gpu_read(&dev, vm.patched, &bo, (rows[i].offset + rows[i].range - KiB(4)) / 4,
			     1024, stage.map);
		require_msg(!memcmp(stage.map, (uint32_t[]){ ~value }, 4),
			    "a write through a mapping of the object from 0x%llx on reached "
			    "another offset",
			    (unsigned long long)rows[i].offset);
		tsr_words_check(stage.map, 1024, ~value);
		tsr_vm_unmap(&dev, vm.id, rows[i].address, rows[i].range);
	}
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * After a part is unmapped or replaced, the rest stays, and accesses to the old
 * part fault.
 */
static void parts(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(4));
	struct tsr_bo bo = new_mapped(&vm, MiB(4), tsr_bit(tsr_seg_hidden(&dev)), AT);
	struct tsr_bo other = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), 0);

	tsr_vm_fill(&vm, AT, bo.size, 0x22222222);
	tap_rule(beside);
	tsr_vm_unmap(&dev, vm.id, AT + MiB(1), KiB(4));
	check_at(&vm, &stage, AT, MiB(1), 0x22222222);
	check_at(&vm, &stage, AT + MiB(1) + KiB(4), MiB(3) - KiB(4), 0x22222222);
	require_eq(tsr_vm_try_fill(&vm, AT + MiB(1), KiB(4), 0), -EFAULT);
	require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_GUILTY);
	tsr_vm_renew(&vm);

	tsr_vm_place(&vm, &other);
	tsr_gpu_fill(&dev, vm.patched, &other, 0x33333333);
	tsr_vm_map(&dev, vm.id, &other, 0, AT + MiB(1) - KiB(64), MiB(1), 0);
	check_at(&vm, &stage, AT, MiB(1) - KiB(64), 0x22222222);
	check_at(&vm, &stage, AT + MiB(1) - KiB(64), MiB(1), 0x33333333);
	check_at(&vm, &stage, AT + MiB(2) - KiB(64), MiB(2) + KiB(64), 0x22222222);
	/* the remaining parts keep their offsets when the object moves */
	tap_rule(NULL);
	tsr_evict_set(tsr_bit(tsr_seg_hidden(&dev)) | tsr_bit(tsr_seg_visible(&dev)));
	tsr_vm_fill(&vm, AT + MiB(4) - KiB(4), KiB(4), 0x44444444);
	tsr_gpu_read(&dev, vm.patched, &bo, (MiB(4) - KiB(4)) / 4, 1024, stage.map);
	tsr_words_check(stage.map, 1024, 0x44444444);
	check_at(&vm, &stage, AT + MiB(1) - KiB(64), MiB(1), 0x33333333);

	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &other);
	/* closing the handle does not end the mapping */
	check_at(&vm, &stage, AT, MiB(1) - KiB(64), 0x22222222);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* A list of operations takes effect as a whole and in order. */
static void lists(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(1));
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), 0);
	struct drm_tessera_vm_bind_op ops[256];

	/* pages in reverse order */
	memset(ops, 0, sizeof(ops));
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP,
			.handle = bo.handle,
			.offset = KiB(4) * (ARRAY_SIZE(ops) - 1 - i),
			.address = AT + KiB(4) * i,
			.range = KiB(4),
		};
	require_ok(__tsr_vm_bind(dev.fd, vm.id, ops, ARRAY_SIZE(ops), 0, 0));
	tsr_vm_place(&vm, &bo);
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i += 37) {
		tsr_gpu_fill(&dev, vm.patched, &bo, 0);
		tsr_vm_fill(&vm, AT + KiB(4) * i, KiB(4), i + 1);
		tsr_gpu_read(&dev, vm.patched, &bo, ops[i].offset / 4, 1024, stage.map);
		tsr_words_check(stage.map, 1024, i + 1);
	}
	/* the last operation is invalid, so nothing changes */
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
		ops[i].op = DRM_TESSERA_VM_BIND_UNMAP;
		ops[i].handle = 0;
		ops[i].offset = i == ARRAY_SIZE(ops) - 1 ? KiB(4) : 0;
	}
	require_err(__tsr_vm_bind(dev.fd, vm.id, ops, ARRAY_SIZE(ops), 0, 0), -EINVAL);
	tsr_vm_fill(&vm, AT, MiB(1), 5);
	/* unmap, map and unmap at the same address in one list */
	ops[0].address = AT;
	ops[0].range = MiB(1);
	ops[1] = (struct drm_tessera_vm_bind_op){
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = bo.handle,
		.address = AT,
		.range = MiB(1),
	};
	ops[2].address = AT + KiB(64);
	ops[2].range = KiB(64);
	require_ok(__tsr_vm_bind(dev.fd, vm.id, ops, 3, 0, 0));
	tsr_vm_fill(&vm, AT, KiB(64), 6);
	tsr_vm_fill(&vm, AT + KiB(128), MiB(1) - KiB(128), 6);
	require_eq(tsr_vm_try_fill(&vm, AT + KiB(64), KiB(4), 6), -EFAULT);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Null mappings of any size read zero and discard writes. */
static void null_mappings(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(4));
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), 0);

	tsr_vm_map_null(&dev, vm.id, AT + KiB(4), MiB(32) + KiB(72));
	tsr_vm_fill(&vm, AT + KiB(4), MiB(4), 0x55555555);
	check_at(&vm, &stage, AT + KiB(4), MiB(4), 0);
	/* an object in the middle */
	tap_rule(beside);
	tsr_vm_place(&vm, &bo);
	tsr_gpu_fill(&dev, vm.patched, &bo, 0x66666666);
	tsr_vm_map(&dev, vm.id, &bo, 0, AT + MiB(3) + KiB(4), MiB(1), 0);
	check_at(&vm, &stage, AT + MiB(2), MiB(1) + KiB(4), 0);
	check_at(&vm, &stage, AT + MiB(3) + KiB(4), MiB(1), 0x66666666);
	check_at(&vm, &stage, AT + MiB(4) + KiB(4), MiB(1), 0);
	tsr_vm_unmap(&dev, vm.id, AT, MiB(64));
	require_eq(tsr_vm_try_fill(&vm, AT + MiB(3) + KiB(4), KiB(4), 0), -EFAULT);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

#define require_read_only(call)                                                                    \
	require_msg((call) == -EFAULT, "a job wrote through a read-only mapping: %s", #call)

/*
 * The GPU can read through a read-only mapping, or a read-only object, but not
 * write. Another mapping of the object may be writable.
 */
static void read_only(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(64));
	struct tsr_bo bo = new_mapped(&vm, KiB(64), tsr_bit(tsr_seg_visible(&dev)), AT);
	struct tsr_bo fixed = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)),
					 DRM_TESSERA_BO_GPU_READ_ONLY);

	tsr_vm_map(&dev, vm.id, &bo, 0, AT + MiB(1), bo.size, DRM_TESSERA_VM_BIND_READ_ONLY);
	tsr_vm_fill(&vm, AT, bo.size, 0x77777777);
	check_at(&vm, &stage, AT + MiB(1), bo.size, 0x77777777);
	require_read_only(tsr_vm_try_fill(&vm, AT + MiB(1), KiB(4), 0));
	tsr_vm_renew(&vm);
	/* also a remaining part, and after a move */
	tsr_vm_unmap(&dev, vm.id, AT + MiB(1), KiB(4));
	require_read_only(tsr_vm_try_fill(&vm, AT + MiB(1) + KiB(8), KiB(4), 0));
	tsr_vm_renew(&vm);
	tsr_evict_set(tsr_bit(tsr_seg_visible(&dev)));
	require_read_only(tsr_vm_try_fill(&vm, AT + MiB(1) + KiB(8), KiB(4), 0));
	tsr_vm_renew(&vm);
	check_at(&vm, &stage, AT, bo.size, 0x77777777);

	tsr_vm_map(&dev, vm.id, &fixed, 0, AT + MiB(2), fixed.size, 0);
	tsr_vm_place(&vm, &fixed);
	check_at(&vm, &stage, AT + MiB(2), fixed.size, 0);
	require_eq(tsr_vm_try_fill(&vm, AT + MiB(2), KiB(4), 1), -EFAULT);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &fixed);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * RES-5: an object that moves keeps its addresses and its bytes. While it is
 * not listed, accesses fault.
 */
static void moves(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *visible = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(1));
	uint32_t set = tsr_bit(visible) | tsr_bit(gart);
	struct tsr_bo bo[6];

	for (uint32_t i = 0; i < ARRAY_SIZE(bo); i++) {
		bo[i] = new_mapped(&vm, MiB(1), i % 2 ? tsr_bit(visible) : set, AT + MiB(1) * i);
		tsr_vm_fill(&vm, AT + MiB(1) * i, MiB(1), i + 1);
	}
	for (uint32_t round = 0; round < 4; round++) {
		tsr_evict_set(set);
		for (uint32_t i = 0; i < ARRAY_SIZE(bo); i++)
			require_eq(tsr_bo_info(&dev, &bo[i]).segment, 0);
		tsr_evict(&dev, bo, ARRAY_SIZE(bo));
		require_eq(tsr_vm_try_fill(&vm, AT + MiB(1) * round, KiB(4), 99), -EFAULT);
		tsr_vm_renew(&vm);
		/* brought back in another order, and so to other places */
		for (uint32_t i = 0; i < ARRAY_SIZE(bo); i++)
			tsr_vm_place(&vm, &bo[(i * 5 + round) % ARRAY_SIZE(bo)]);
		for (uint32_t i = 0; i < ARRAY_SIZE(bo); i++) {
			uint32_t value = (i + 1) + 16 * round;

			check_at(&vm, &stage, AT + MiB(1) * i, MiB(1), value);
			tsr_vm_fill(&vm, AT + MiB(1) * i, MiB(1), value + 16);
		}
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bo); i++)
		tsr_bo_free(&dev, &bo[i]);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * An object with many mappings can move like any other, at no cost for other
 * clients, and other addresses of the VM stay valid.
 */
static void many_mappings(void)
{
	enum {
		PAIRS = 200,
		FAR = 700
	};
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *visible = tsr_seg_visible(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(64));
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(visible), 0);
	struct drm_tessera_vm_bind_op ops[2 * PAIRS], far[FAR];

	/* in one table, in mixed order */
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = i % 2 ? DRM_TESSERA_VM_BIND_MAP_NULL : DRM_TESSERA_VM_BIND_MAP,
			.handle = i % 2 ? 0 : bo.handle,
			.offset = i % 2 ? 0 : KiB(4) * (i * 7 % 16),
			.address = AT + KiB(4) * i,
			.range = KiB(4),
		};
	require_ok(__tsr_vm_bind(dev.fd, vm.id, ops, ARRAY_SIZE(ops), 0, 0));
	tsr_vm_place(&vm, &bo);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_gpu_fill(&dev, vm.patched, &bo, round);
		check_at(&vm, &stage, AT + KiB(8) * 3, KiB(4), round);
		check_at(&vm, &stage, AT + KiB(8) * (PAIRS - 1), KiB(4), round);
		check_at(&vm, &stage, AT + KiB(4), KiB(4), 0);
		tsr_evict_set(tsr_bit(visible));
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	}

	/*
	 * in more tables than an evicting client writes: the VM's own client
	 * writes them later
	 */
	for (uint32_t i = 0; i < FAR; i++)
		far[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP,
			.handle = bo.handle,
			.address = (1ull << 41) + (1ull << 30) * i,
			.range = KiB(4),
		};
	require_ok(__tsr_vm_bind(dev.fd, vm.id, far, FAR, 0, 0));
	check_at(&vm, &stage, far[FAR - 1].address, KiB(4), 3);
	tsr_evict_set(tsr_bit(visible));
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	tsr_vm_fill(&vm, AT + KiB(4), KiB(4), 4);
	check_at(&vm, &stage, far[7].address, KiB(4), 3);
	/*
	 * a job that names the object makes it resident; the next job of the VM
	 * writes its page tables
	 */
	tsr_evict_set(tsr_bit(visible));
	tsr_gpu_touch(&dev, vm.patched, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, visible->id);
	check_at(&vm, &stage, far[FAR - 7].address, KiB(4), 3);
	check_at(&vm, &stage, AT + KiB(8) * 3, KiB(4), 3);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void evict_visible(void *arg)
{
	struct tsr_vm *vm = arg;

	tsr_stuck_last_call();
	tsr_evict_set(tsr_bit(tsr_seg_visible(vm->dev)));
}

static void unmap_first(void *arg)
{
	struct tsr_vm *vm = arg;

	tsr_stuck_last_call();
	tsr_vm_unmap(vm->dev, vm->id, AT, MiB(1));
}

/*
 * A queued job ends before its object is evicted, so the eviction copies the
 * bytes that it wrote.
 */
static void moves_wait_for_jobs(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(tsr_seg_visible(&dev)), AT);
	/* unmapping has to wait as well */
	void (*const moves[])(void *arg) = { evict_visible, unmap_first };
	uint32_t *words = malloc(bo.size), sync = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 0x12121212);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	for (uint32_t i = 0; i < ARRAY_SIZE(moves); i++) {
		struct tsr_stuck stuck;

		tsr_gpu_touch(&dev, vm.patched, &bo);
		tsr_gpu_fill(&dev, vm.patched, &bo, 0);
		stuck = tsr_stuck_start(&dev, vm.patched);
		require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, sync));
		tsr_stuck_during(moves[i], &vm);
		require_msg(!tsr_syncobj_status(&dev, sync),
			    "expected the move to wait for the job, the job faulted at the "
			    "object's address");
		tsr_gpu_read(&dev, vm.patched, &bo, 0, (uint32_t)(bo.size / 4), words);
		tsr_words_check(words, bo.size / 4, 0x12121212);
		tsr_stuck_end(&stuck);
	}
	tsr_cmd_fini(&cmd);
	free(words);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void one_process(void *arg)
{
	uint32_t which = *(uint32_t *)arg;
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, MiB(1));
	struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(tsr_seg_hidden(&dev)), AT);

	for (uint32_t round = 1; round < 20; round++) {
		tsr_vm_fill(&vm, AT, bo.size, which << 16 | round);
		check_at(&vm, &stage, AT, bo.size, which << 16 | round);
	}
	/* mapped only in the other process */
	tsr_vm_map_null(&dev, vm.id, AT + MiB(16) * which, MiB(2));
	require_eq(tsr_vm_try_fill(&vm, AT + MiB(16) * (3 - which), KiB(4), 0), -EFAULT);
}

/* The same address in two processes refers to different memory. */
static void two_processes(void)
{
	uint32_t which[] = { 1, 2 };
	pid_t pid[ARRAY_SIZE(which)];

	for (uint32_t i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = tap_fork(one_process, &which[i]);
	for (uint32_t i = 0; i < ARRAY_SIZE(pid); i++)
		tap_join(pid[i]);
}

/* An object in VMs of two files, twice in one. All of them see a move. */
static void shared(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	struct tsr_vm vm_a = tsr_vm_open(&a), vm_b = tsr_vm_open(&b), vm_c = tsr_vm_open(&b);
	struct tsr_bo stage = tsr_vm_stage_new(&vm_b, MiB(1)),
		      stage_c = tsr_vm_stage_new(&vm_c, MiB(1));
	struct tsr_bo bo = new_mapped(&vm_a, MiB(1), tsr_bit(tsr_seg_hidden(&a)), AT);
	struct tsr_bo other = { .size = bo.size };
	int dmabuf = tsr_export(&a, &bo);

	require_ok(__tsr_import(b.fd, dmabuf, &other.handle));
	close(dmabuf);
	tsr_vm_map(&b, vm_b.id, &other, 0, AT + MiB(1), MiB(1), 0);
	tsr_vm_map(&b, vm_b.id, &other, KiB(64), AT + MiB(4), KiB(64), 0);
	tsr_vm_map(&b, vm_c.id, &other, 0, AT + MiB(8), MiB(1), 0);
	tsr_vm_place(&vm_b, &other);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_vm_fill(&vm_a, AT, MiB(1), round);
		check_at(&vm_b, &stage, AT + MiB(1), MiB(1), round);
		check_at(&vm_c, &stage_c, AT + MiB(8), MiB(1), round);
		tsr_vm_fill(&vm_b, AT + MiB(4), KiB(64), round + 8);
		check_at(&vm_b, &stage, AT + MiB(1) + KiB(64), KiB(64), round + 8);
		tsr_evict_set(tsr_bit(tsr_seg_hidden(&a)));
		check_at(&vm_b, &stage, AT + MiB(1) + KiB(128), MiB(1) - KiB(128), round);
	}
	tsr_vm_close(&vm_a);
	tsr_close(&a);
	check_at(&vm_b, &stage, AT + MiB(1) + KiB(128), MiB(1) - KiB(128), 3);
	tsr_bo_free(&b, &stage);
	tsr_bo_free(&b, &stage_c);
	tsr_bo_free(&b, &other);
	tsr_vm_close(&vm_b);
	tsr_vm_close(&vm_c);
	tsr_close(&b);
}

/* RES-6: a fault loses its context with the jobs queued there, no other. */
static void faults(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev), other = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&other, KiB(64));
	struct tsr_bo bo = new_mapped(&other, KiB(64), tsr_bit(tsr_seg_visible(&dev)), AT);
	uint32_t second = tsr_vm_context_new(&dev, vm.id);
	struct tsr_stuck stuck;
	uint32_t sync[3];
	struct tsr_cmd cmd;

	/* unmapped commands; a second context of the VM still works */
	for (uint32_t i = 0; i < ARRAY_SIZE(sync); i++)
		sync[i] = tsr_syncobj_new(&dev);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy(vm.cmds.map, cmd.dw, 64);
	require_ok(__tsr_submit_vm(&dev, vm.context, AT, 64, 0, sync[0]));
	require_eq(tsr_syncobj_status(&dev, sync[0]), -EFAULT);
	require_err(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, 0), -EIO);
	require_ok(__tsr_submit_vm(&dev, second, vm.at, 64, 0, sync[1]));
	require_ok(tsr_syncobj_status(&dev, sync[1]));
	tsr_vm_fill(&other, AT, bo.size, 0x21212121);
	check_at(&other, &stage, AT, bo.size, 0x21212121);

	/* jobs queued behind the faulted one do not run */
	tsr_vm_renew(&vm);
	stuck = tsr_stuck_start(&dev, vm.patched);
	require_ok(__tsr_submit_vm(&dev, vm.context, AT, 64, 0, sync[0]));
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, sync[1]));
	require_ok(__tsr_submit_vm(&dev, second, vm.at, 64, 0, sync[2]));
	tsr_stuck_end(&stuck);
	require_eq(tsr_syncobj_status(&dev, sync[0]), -EFAULT);
	require_eq(tsr_syncobj_status(&dev, sync[1]), -ECANCELED);
	require_ok(tsr_syncobj_status(&dev, sync[2]));
	for (uint32_t i = 0; i < ARRAY_SIZE(sync); i++)
		tsr_syncobj_free(&dev, sync[i]);
	tsr_cmd_fini(&cmd);
	tsr_context_free(&dev, second);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&other);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Binds with in-fences and out-fences. */
static void syncs(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(64));
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_visible(&dev)), 0);
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = bo.handle,
		.address = AT,
		.range = bo.size,
	};
	const struct drm_tessera_vm_bind_op null = {
		.op = DRM_TESSERA_VM_BIND_MAP_NULL,
		.address = AT,
		.range = KiB(4),
	};
	uint32_t done = tsr_syncobj_new(&dev), never = tsr_syncobj_new(&dev);
	uint32_t other = tsr_vm_new(&dev), later = tsr_syncobj_new(&dev);
	struct tsr_stuck stuck;

	require_err(__tsr_vm_bind(dev.fd, vm.id, &op, 1, never, 0), -EINVAL);
	tsr_vm_place(&vm, &bo);
	tsr_gpu_fill(&dev, vm.patched, &bo, 0x31313131);
	stuck = tsr_stuck_start(&dev, vm.patched);
	require_ok(__tsr_vm_bind(dev.fd, vm.id, &op, 1, stuck.sync, done));
	/* binds of others, which wait for nothing, have been made meanwhile */
	for (uint32_t i = 0; i < 4; i++) {
		require_ok(__tsr_vm_bind(dev.fd, other, &null, 1, 0, later));
		require_eq(tsr_syncobj_status(&dev, later), 0);
	}
	require_msg(__tsr_syncobj_wait(dev.fd, done, 0, 0) == -ETIME,
		    "expected the bind to wait for its in-fence, it completed before");
	tsr_stuck_end(&stuck);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	check_at(&vm, &stage, AT, bo.size, 0x31313131);
	tsr_syncobj_free(&dev, done);
	tsr_syncobj_free(&dev, never);
	tsr_syncobj_free(&dev, later);
	tsr_vm_free(&dev, other);
	tsr_bo_free(&dev, &bo);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * RES-7: the value of a monitored fence rises after the commands, even if they
 * fault. A bind does not change the value.
 */
static void monitored_fences(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), cached);
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	struct drm_tessera_sync sync = tsr_sync_signal(&fence, 5);
	struct drm_tessera_submit_vm args = {
		.context = vm.context,
		.cmds = vm.at,
		.syncs = { .stride = sizeof(sync), .count = 1, .array = (uintptr_t)&sync },
	};
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = AT,
		.range = KiB(4),
	};
	struct drm_tessera_vm_bind bind = {
		.vm = vm.id,
		.ops = { .stride = sizeof(op), .count = 1, .array = (uintptr_t)&op },
		.syncs = args.syncs,
	};
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &bo);
	tsr_vm_map(&dev, vm.id, &bo, 0, AT, bo.size, 0);
	tsr_vm_place(&vm, &bo);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 0x41414141);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	args.cmd_size = tsr_cmd_bytes(&cmd);
	require_ok(__tsr_submit_vm_ioctl(dev.fd, &args));
	/* the bytes are in memory before the value changes */
	while (*fence.value < 5)
		;
	tsr_words_check(bo.map, bo.size / 4, 0x41414141);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 5, INT64_MAX));

	sync.point = 6;
	require_ok(__tsr_vm_bind_ioctl(dev.fd, &bind));
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 6, INT64_MAX));
	require_eq(*fence.value, 5);
	/* the address is unmapped now, so the job faults */
	sync.point = 7;
	require_ok(__tsr_submit_vm_ioctl(dev.fd, &args));
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 7, INT64_MAX));
	require_eq(*fence.value, 7);
	require_err(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, 0), -EIO);
	tsr_cmd_fini(&cmd);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * A VM and its mappings are freed after its last use. Jobs that are already
 * queued still run.
 */
static void lifetime(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t before = tsr_query_memory(&dev, seg->id).client_used;

	for (uint32_t i = 0; i < 300; i++) {
		struct tsr_vm vm = tsr_vm_open(&dev);
		struct tsr_bo bo = new_mapped(&vm, MiB(1), tsr_bit(seg), AT);
		uint32_t sync = tsr_syncobj_new(&dev);
		struct tsr_cmd cmd;
		int status;

		tsr_cmd_init(&cmd);
		tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), i);
		memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
		require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, sync));
		tsr_vm_free(&dev, vm.id);
		require_err(__tsr_vm_destroy(dev.fd, vm.id), -ENOENT);
		tsr_context_free(&dev, vm.context);
		tsr_context_free(&dev, vm.patched);
		tsr_bo_free(&dev, &bo);
		tsr_bo_free(&dev, &vm.cmds);
		status = tsr_syncobj_status(&dev, sync);
		require_msg(status != -EFAULT,
			    "a queued job faulted after the last user of its VM was gone: mappings "
			    "or page tables were freed without waiting for the VM's jobs");
		require_ok(status);
		tsr_syncobj_free(&dev, sync);
		tsr_cmd_fini(&cmd);
		if (tap_slow() && i > 40)
			break;
	}
	/* a worker frees the memory */
	tsr_wait_for(tsr_query_memory(&dev, seg->id).client_used == before);
	tsr_close(&dev);
}

/* Requirements, section 4: invalid operations are refused as a whole. */
static void bad_operations(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	const struct {
		struct drm_tessera_vm_bind_op op;
		int rc;
	} rows[] = {
		{ { .op = 4, .handle = bo.handle, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .op = 3, .handle = 4711, .address = AT, .range = KiB(4) }, -ENOENT },
		{ { .op = 3, .handle = 4711, .address = AT, .range = KiB(8) }, -EINVAL },
		{ { .op = 3, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .flags = 2, .handle = bo.handle, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .pad = 1, .handle = bo.handle, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .handle = 0, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .handle = 4711, .address = AT, .range = KiB(4) }, -ENOENT },
		{ { .handle = bo.handle, .address = AT, .range = 0 }, -EINVAL },
		{ { .handle = bo.handle, .address = AT, .range = KiB(4) + 8 }, -EINVAL },
		{ { .handle = bo.handle, .address = AT + 8, .range = KiB(4) }, -EINVAL },
		{ { .handle = bo.handle, .offset = 8, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .handle = bo.handle, .address = AT, .range = KiB(68) }, -EINVAL },
		{ { .handle = bo.handle, .offset = KiB(64), .address = AT, .range = KiB(4) },
		  -EINVAL },
		{ { .handle = bo.handle, .offset = KiB(4), .address = AT, .range = KiB(64) },
		  -EINVAL },
		{ { .handle = bo.handle, .offset = -KiB(4), .address = AT, .range = KiB(8) },
		  -EINVAL },
		{ { .handle = bo.handle, .address = 1ull << 48, .range = KiB(4) }, -EINVAL },
		{ { .handle = bo.handle, .address = (1ull << 48) - KiB(4), .range = KiB(8) },
		  -EINVAL },
		{ { .handle = bo.handle, .address = -KiB(4), .range = KiB(8) }, -EINVAL },
		{ { .op = 1, .handle = bo.handle, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .op = 1, .offset = KiB(4), .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .op = 1, .flags = 1, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .op = 2, .handle = bo.handle, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .op = 2, .flags = 1, .address = AT, .range = KiB(4) }, -EINVAL },
		{ { .op = 2, .address = AT, .range = (64ull << 30) + KiB(4) }, -E2BIG },
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		require_msg(__tsr_vm_bind(dev.fd, vm.id, &rows[i].op, 1, 0, 0) == rows[i].rc,
			    "row %u", i);
	const struct drm_tessera_vm_bind_op too_much[] = {
		{ .op = 2, .address = AT, .range = 32ull << 30 },
		{ .op = 2, .address = AT, .range = (32ull << 30) + KiB(4) },
	};
	require_err(__tsr_vm_bind(dev.fd, vm.id, too_much, 2, 0, 0), -E2BIG);
	require_eq(tsr_vm_try_fill(&vm, AT, KiB(4), 0), -EFAULT);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void bad_arguments(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	const struct drm_tessera_vm_bind_op good = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = bo.handle,
		.address = AT,
		.range = KiB(64),
	};
	struct drm_tessera_vm_bind bind = {
		.vm = vm.id,
		.ops.stride = sizeof(good),
		.ops.count = 1,
		.ops.array = (uintptr_t)&good,
	};
	struct drm_tessera_submit_vm submit = { .context = vm.context,
						.cmds = vm.at,
						.cmd_size = 64 };
	struct drm_tessera_context_create ctx = { .engine = dev.render, .vm = vm.id };
	struct drm_tessera_vm_create create = { .flags = 1 };
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

#define BIND(field, value, rc)                                                                     \
	do {                                                                                       \
		struct drm_tessera_vm_bind b = bind;                                               \
		b.field = (value);                                                                 \
		require_err(__tsr_vm_bind_ioctl(dev.fd, &b), rc);                                  \
	} while (0)
	BIND(vm, 4711, -ENOENT);
	BIND(flags, 1, -EINVAL);
	BIND(ops.count, 0, -EINVAL);
	BIND(ops.count, dev.info.max_binds + 1, -E2BIG);
	BIND(ops.stride, 8, -EINVAL);
	BIND(ops.array, 8, -EFAULT);
	BIND(syncs.count, dev.info.max_syncs + 1, -E2BIG);

#define SUBMIT(field, value, rc)                                                                   \
	do {                                                                                       \
		struct drm_tessera_submit_vm s = submit;                                           \
		s.field = (value);                                                                 \
		require_err(__tsr_submit_vm_ioctl(dev.fd, &s), rc);                                \
	} while (0)
	SUBMIT(context, 4711, -ENOENT);
	SUBMIT(context, vm.patched, -EOPNOTSUPP);
	SUBMIT(flags, 1, -EINVAL);
	SUBMIT(pad, 1, -EINVAL);
	SUBMIT(cmds, vm.at + 4, -EINVAL);
	SUBMIT(cmd_size, 0, -EINVAL);
	SUBMIT(cmd_size, 4, -EINVAL);
	SUBMIT(cmd_size, dev.info.max_cmd_bytes + 8, -E2BIG);
	SUBMIT(syncs.count, dev.info.max_syncs + 1, -E2BIG);

	require_err(__tsr_vm_create(dev.fd, &create), -EINVAL);
	require_err(__tsr_vm_destroy(dev.fd, 4711), -ENOENT);
	ctx.flags = DRM_TESSERA_CONTEXT_LEAK_CHECK;
	require_err(__tsr_context_create(dev.fd, &ctx), -EINVAL);
	ctx.flags = 0;
	ctx.vm = 4711;
	require_err(__tsr_context_create(dev.fd, &ctx), -ENOENT);

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	require_err(__tsr_submit(&dev, vm.context, &cmd, 0, 0, &args), -EOPNOTSUPP);
	tsr_cmd_fini(&cmd);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Random changes of mappings, moves and jobs, compared with a model. */
static void random_changes(void)
{
	enum {
		PAGES = 1200,
		OBJECTS = 5,
		BO_PAGES = 640
	};
	struct tsr_device dev = tsr_open();
	uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_hidden(&dev)),
			    tsr_bit(tsr_seg_gart(&dev)) };
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(4) * PAGES), bo[OBJECTS];
	static int owner[PAGES], page[PAGES]; /* object or -1; page of the object */
	static uint32_t value[OBJECTS][BO_PAGES];
	uint32_t seed = 1, rounds = tap_slow() ? 60 : 300;

#define ANY(n) ((seed = seed * 1664525 + 1013904223) >> 8) % (n)
	for (uint32_t i = 0; i < OBJECTS; i++) {
		bo[i] = tsr_bo_new(&dev, KiB(4) * BO_PAGES, sets[i % ARRAY_SIZE(sets)], 0);
		tsr_vm_place(&vm, &bo[i]);
	}
	for (uint32_t i = 0; i < PAGES; i++)
		owner[i] = -1;
	tap_rule(beside);
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t first = ANY(PAGES), count = 1 + ANY(PAGES - first), o = ANY(OBJECTS), from;
		uint32_t kind = ANY(8);

		if (ANY(3) == 0)
			count = count > 20 ? 1 + ANY(20) : count;
		count = count < BO_PAGES ? count : BO_PAGES;
		from = ANY(BO_PAGES - count + 1);
		if (kind < 4) {
			tsr_vm_map(&dev, vm.id, &bo[o], KiB(4) * from, AT + KiB(4) * first,
				   KiB(4) * count, 0);
			for (uint32_t i = 0; i < count; i++) {
				owner[first + i] = (int)o;
				page[first + i] = (int)(from + i);
			}
		} else if (kind == 4) {
			tsr_vm_unmap(&dev, vm.id, AT + KiB(4) * first, KiB(4) * count);
			for (uint32_t i = 0; i < count; i++)
				owner[first + i] = -1;
		} else if (kind == 5) {
			tsr_evict_set(sets[ANY(ARRAY_SIZE(sets))]);
		}
		/* write one range of mapped pages, and read another one */
		for (uint32_t pass = 0; pass < 2; pass++) {
			uint32_t at = ANY(PAGES), end;

			while (at < PAGES && owner[at] < 0)
				at++;
			for (end = at; end < PAGES && owner[end] >= 0; end++)
				;
			if (at == end)
				continue;
			if (!pass) {
				tsr_vm_fill(&vm, AT + KiB(4) * at, KiB(4) * (end - at), round + 1);
				for (uint32_t i = at; i < end; i++)
					value[owner[i]][page[i]] = round + 1;
				continue;
			}
			tsr_vm_copy(&vm, TSR_VM_STAGE, AT + KiB(4) * at, KiB(4) * (end - at));
			for (uint32_t i = at; i < end; i++)
				tsr_words_check((uint32_t *)stage.map + 1024 * (i - at), 1024,
						value[owner[i]][page[i]]);
		}
	}
	for (uint32_t i = 0; i < OBJECTS; i++)
		tsr_bo_free(&dev, &bo[i]);
	tsr_bo_free(&dev, &stage);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

#define FAULTS (TSR_EXPECT(MMU) | TSR_EXPECT(READ_ONLY))

/* A mapping keeps its object, and a synchronous BO_DESTROY does not wait. */
static void destroy_mapped(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_hidden(&dev)), 0);

	tsr_vm_map(&dev, vm.id, &bo, 0, AT, KiB(64), 0);
	tsr_vm_place(&vm, &bo);
	require_ok(__tsr_bo_destroy(dev.fd, bo.handle, DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	tsr_vm_fill(&vm, AT, KiB(64), 0x55555555);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "DESTROY-8 BO_DESTROY does not wait for a mapping", destroy_mapped, 0, 0 },
	{ "RES-5 jobs access mapped objects", map_and_run, 0, 0 },
	{ "RES-5 any alignment", any_alignment, 0, 0 },
	{ "RES-6 parts of a mapping are unmapped and replaced", parts, FAULTS, 0 },
	{ "RES-6 lists of changes", lists, FAULTS, 0 },
	{ "RES-6 null mappings", null_mappings, FAULTS, 0 },
	{ "RES-6 read-only mappings", read_only, FAULTS, 0 },
	{ "RES-5 RES-6 MODEL-1 MODEL-5 an object that moves keeps its addresses", moves, FAULTS,
	  0 },
	{ "RES-5 an object at many addresses moves", many_mappings, FAULTS, 0 },
	{ "RES-5 moves wait for jobs", moves_wait_for_jobs, 0, 0 },
	{ "RES-5 an address in two processes", two_processes, FAULTS, 0 },
	{ "RES-5 an object in several VMs", shared, 0, 0 },
	{ "RES-6 ERR-22 MODEL-17 a fault loses its context alone", faults, FAULTS, 0 },
	{ "binds wait, and are waited for", syncs, 0, 0 },
	{ "RES-7 monitored fences", monitored_fences, FAULTS, 0 },
	{ "a VM is freed after its last use", lifetime, 0, 0 },
	{ "bad operations of a bind", bad_operations, FAULTS, 0 },
	{ "ERR-20 MODEL-2 bad arguments", bad_arguments, 0, 0 },
	{ "RES-5 random changes", random_changes, 0, 60 },
};

TSR_TEST_MAIN(tests)
