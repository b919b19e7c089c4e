// SPDX-License-Identifier: MIT
/*
 * Memory of page tables: it is in segments, the owner of the VM pays for it,
 * and it gives way as objects do. Memory is small: 8 MiB that the CPU sees,
 * 8 MiB that it does not, and an aperture of 8 MiB.
 */
#include <stdio.h>
#include <string.h>

#include "held.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "vm.h"

#define AT 0x100000000ull
#define WORDS 16

/* null mappings of a page, each of which takes two page tables */
#define FAR_NULLS 64
#define FAR_BINDS 8
#define CALLS 40 /* 20 MiB of page tables: more than hidden and visible memory have */

static uint64_t resident(struct tsr_device *dev)
{
	char key[64];

	snprintf(key, sizeof(key), "drm-resident-%s", tsr_seg_hidden(dev)->name);
	return (uint64_t)tsr_fdinfo(dev, key);
}

/* an object in the aperture at AT, which jobs of the VM find */
static struct tsr_bo target_open(struct tsr_vm *vm)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, KiB(64), tsr_bit(tsr_seg_gart(vm->dev)), 0);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, AT, bo.size, 0);
	tsr_vm_place(vm, &bo);
	return bo;
}

static void check_target(struct tsr_vm *vm, struct tsr_bo *bo, uint32_t value)
{
	uint32_t words[WORDS];

	tsr_gpu_read(vm->dev, vm->patched, bo, bo->size / 4 - WORDS, WORDS, words);
	tsr_words_check(words, WORDS, value);
}

/* an object as large as hidden memory, which a job of another process needs whole */
static void take_all_hidden(void *arg)
{
	volatile bool *begins = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);

	*begins = true;
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
	tsr_context_free(&dev, ctx);
	tsr_close(&dev);
}

/* the owner of a VM is charged the bytes of its page tables, and no other client */
static void owner_pays(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	uint64_t before = resident(&dev), none = tsr_tables_in(0), bytes;
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t hidden = tsr_seg_hidden(&dev)->id;

	require_eq(none, 0);
	tsr_vm_map_null(&dev, vm.id, AT, KiB(64));
	tsr_vm_fill(&vm, AT, KiB(64), 1);
	bytes = tsr_tables_in(hidden);
	require_msg(bytes, "page tables of a VM that runs jobs are not in hidden memory");
	require_eq(resident(&dev), before + bytes);
	require_eq(resident(&other), 0);
	require(tsr_query_memory(&dev, hidden).client_used >= bytes);
	for (uint64_t i = 0; i < FAR_NULLS; i++)
		tsr_vm_map_null(&dev, vm.id, i << 30, KiB(4));
	tsr_vm_fill(&vm, AT, KiB(64), 2);
	require_msg(tsr_tables_in(hidden) >= 2 * FAR_NULLS * KiB(4),
		    "%d far mappings have only %llu bytes of page tables", FAR_NULLS,
		    (unsigned long long)tsr_tables_in(hidden));
	require_eq(resident(&dev), before + tsr_tables_in(hidden));
	tsr_vm_close(&vm);
	tsr_wait_for(!tsr_tables_in(0));
	tsr_wait_for(resident(&dev) == before);
	tsr_close(&other);
	tsr_close(&dev);
}

/* Binds FAR_NULLS null mappings that lie a GiB apart. */
static void bind_far(struct tsr_device *dev, uint32_t vm, uint64_t at)
{
	struct drm_tessera_vm_bind_op ops[FAR_NULLS];

	for (uint32_t i = 0; i < FAR_NULLS; i++, at += 1ull << 30)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP_NULL,
			.address = at,
			.range = KiB(4),
		};
	require_ok(__tsr_vm_bind(dev->fd, vm, ops, FAR_NULLS, 0, 0));
}

/*
 * The memory follows the number of tables in use, not that of tables that binds
 * may take at most. It is free again after an unmap, without a further bind.
 */
static void memory_follows_use(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint64_t bytes, used = 2 * FAR_BINDS * FAR_NULLS * KiB(4);

	for (uint64_t i = 0; i < FAR_BINDS; i++)
		bind_far(&dev, vm.id, i * FAR_NULLS << 30);
	tsr_vm_fill(&vm, 0, KiB(4), 1);
	bytes = tsr_tables_in(0);
	require_msg(bytes >= used && bytes < used + KiB(512),
		    "%llu bytes of memory for %llu bytes of page tables", (unsigned long long)bytes,
		    (unsigned long long)used);
	tsr_vm_unmap(&dev, vm.id, 0, (uint64_t)FAR_BINDS * FAR_NULLS << 30);
	tsr_wait_for(tsr_tables_in(0) <= KiB(64) + 3 * KiB(256));
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* An object that holds spare tables only needs no place for a job. */
static void spares_need_no_place(void)
{
	struct drm_tessera_vm_bind_op ops[8];
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	/* The call may take 24 tables, and takes three. The first object holds 16. */
	for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct drm_tessera_vm_bind_op){
			.op = DRM_TESSERA_VM_BIND_MAP_NULL,
			.address = AT + i * KiB(4),
			.range = KiB(4),
		};
	require_ok(__tsr_vm_bind(dev.fd, vm.id, ops, ARRAY_SIZE(ops), 0, 0));
	tsr_vm_fill(&vm, AT, KiB(32), 1);
	require_eq(tsr_tables_in(0), KiB(64));
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/*
 * Another process evicts the page tables of an idle VM. The VM's next job finds
 * all mappings again.
 */
static void idle_tables_leave(void)
{
	bool *begins = tsr_shared(sizeof(*begins));
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t hidden = tsr_seg_hidden(&dev)->id;
	struct tsr_bo bo = target_open(&vm);

	tsr_knob("demand_period_ms", "100");
	for (uint64_t i = 1; i < FAR_NULLS; i++)
		tsr_vm_map_null(&dev, vm.id, AT + (i << 30), KiB(4));
	for (uint32_t round = 1; round < 4; round++) {
		tsr_vm_fill(&vm, AT, bo.size, round);
		require(tsr_tables_in(0) >= 2 * FAR_NULLS * KiB(4));
		tap_join(tap_fork(take_all_hidden, begins));
		require_msg(!tsr_tables_in(hidden),
			    "page tables of a VM without jobs were not evicted: %llu bytes",
			    (unsigned long long)tsr_tables_in(hidden));
		tsr_vm_fill(&vm, AT, bo.size, 0x100 + round);
		check_target(&vm, &bo, 0x100 + round);
		for (uint64_t i = 1; i < FAR_NULLS; i++)
			tsr_vm_fill(&vm, AT + (i << 30), KiB(4), round);
		require_msg(tsr_tables_in(0) >= 2 * FAR_NULLS * KiB(4),
			    "page tables have not come back: %llu bytes",
			    (unsigned long long)tsr_tables_in(0));
		/* the tables return to hidden memory, which the next process wants */
		tsr_evict_set(~0u);
	}
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* a client with more page tables than there is memory for */
static void have_many_tables(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_cmd cmd;

	(void)arg;
	for (uint64_t call = 0; call < CALLS; call++)
		bind_far(&dev, vm.id, call * FAR_NULLS << 30);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_cmd_fini(&cmd);
	require_msg(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, 0) == -ENOMEM,
		    "a job runs although its page tables have no room beside what others have");
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* page tables of another process take nothing from a process within its share */
static void share_of_another(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_hidden(&dev),
							   tsr_seg_visible(&dev) };
	struct tsr_bo bos[2];

	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, MiB(3), tsr_bit(segs[i]), 0);
		tsr_gpu_fill(&dev, ctx, &bos[i], i);
	}
	tap_join(tap_fork(have_many_tables, NULL));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_msg(
			tsr_bo_info(&dev, &bos[i]).segment == segs[i]->id,
			"page tables of another process have taken %s from one within its share",
			segs[i]->name);
	tsr_context_free(&dev, ctx);
	tsr_close(&dev);
}

/* a client whose object moves into memory, and has arrived */
static void move_something(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_visible(&dev)), 0);

	(void)arg;
	tsr_make_resident(&dev, &bo, 1);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/* a queued job finds its page tables, although another process needs their memory */
static void queued_jobs_keep_tables(void)
{
	volatile bool *begins = tsr_shared(sizeof(*begins));
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = target_open(&vm);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;
	pid_t pid;

	tsr_knob("demand_period_ms", "100");
	tsr_vm_fill(&vm, AT, bo.size, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), 0x77);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), held.gate, done));
	tsr_cmd_fini(&cmd);
	pid = tap_fork(take_all_hidden, (void *)begins);
	tsr_wait_for(*begins);
	/*
	 * The move of the tables is queued. A later move ends first, because
	 * the move of the tables waits for the job.
	 */
	tsr_wait_for(!tsr_tables_in(tsr_seg_hidden(&dev)->id));
	tap_join(tap_fork(move_something, NULL));
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	tsr_held_release(&held);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tap_join(pid);
	check_target(&vm, &bo, 0x77);
	/* the next job, after its tables have left */
	tsr_vm_fill(&vm, AT, bo.size, 0x78);
	check_target(&vm, &bo, 0x78);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/*
 * The tables lie between two gaps, and another client needs a gap larger than
 * either. Compaction moves the tables inside the segment.
 */
static void make_way_in_a_segment(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo low = tsr_bo_new(&other, seg->size / 2, tsr_bit(seg), 0), whole, bo;
	struct tsr_trace trace;
	uint32_t places = 0;
	struct tsr_vm vm;
	uint64_t bytes;

	require_ok(__tsr_make_one(&other, &low));
	vm = tsr_vm_open(&dev);
	bo = target_open(&vm);
	tsr_vm_fill(&vm, AT, bo.size, 1);
	bytes = tsr_tables_in(seg->id);
	require(bytes);
	require_ok(__tsr_bo_destroy(other.fd, low.handle, DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));

	whole = tsr_bo_new(&other, seg->size / 2 + MiB(1), tsr_bit(seg), 0);
	tsr_trace_start("place", "evict", NULL);
	require_ok(__tsr_make_one(&other, &whole));
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	tsr_trace_for_each(&trace, "place", ev)
		places += tsr_event_u64(ev, "size") == bytes;
	require_eq(places, 1);
	tsr_trace_free(&trace);
	require_eq(tsr_tables_in(seg->id), bytes);
	tsr_vm_fill(&vm, AT, bo.size, 2);
	check_target(&vm, &bo, 2);
	tsr_bo_free(&other, &whole);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&other);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-33 fdinfo and segments show page tables", owner_pays, 0, 0 },
	{ "SEG-33 memory follows the page tables in use", memory_follows_use, 0, 0 },
	{ "SEG-33 spare page tables need no place", spares_need_no_place, 0, 0 },
	{ "SEG-33 page tables of an idle VM leave and come back", idle_tables_leave, 0, 0 },
	{ "SEG-33 page tables take nothing from another's share", share_of_another, 0, 0 },
	{ "SEG-33 page tables stay for queued jobs", queued_jobs_keep_tables, 0, 0 },
	{ "SEG-33 page tables make way in their segment", make_way_in_a_segment, 0, 0 },
};

TSR_TEST_MAIN(tests)
