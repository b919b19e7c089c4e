// SPDX-License-Identifier: MIT
/*
 * Evictions of objects that jobs use at virtual addresses: what is copied, and
 * that the contents return. Such jobs do not report writes, so an object counts
 * as written while a listed mapping lets them write it.
 */
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "held.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "vm.h"

#define AT 0x100000000ull
#define SIZE MiB(1)
#define READ_ONLY DRM_TESSERA_VM_BIND_READ_ONLY

struct scene {
	struct tsr_device dev;
	struct tsr_vm vm;
	struct tsr_bo stage, bo; /* @bo is in no VM and on no list */
	uint32_t set; /* the segment of @bo, which has no other objects with contents */
};

static void scene_open(struct scene *s)
{
	s->dev = tsr_open();
	s->vm = tsr_vm_open(&s->dev);
	s->stage = tsr_vm_stage_new(&s->vm, SIZE);
	s->set = tsr_bit(tsr_seg_hidden(&s->dev));
	s->bo = tsr_bo_new(&s->dev, SIZE, s->set, 0);
}

static void map(struct scene *s, uint32_t flags)
{
	tsr_vm_map(&s->dev, s->vm.id, &s->bo, 0, AT, SIZE, flags);
}

/* A job reads the object, which brings it in. */
static void read_back(struct scene *s, uint32_t value)
{
	tsr_vm_copy(&s->vm, TSR_VM_STAGE, AT, SIZE);
	tsr_words_check(s->stage.map, SIZE / 4, value);
}

static void must_copy(struct scene *s, uint64_t bytes)
{
	struct tsr_trace trace;
	uint64_t copied, discarded;

	require(tsr_bo_info(&s->dev, &s->bo).segment);
	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(s->set);
	trace = tsr_trace_stop();
	copied = tsr_trace_paged(&trace, "transfer", 0);
	discarded = tsr_trace_paged(&trace, "discard", 0);
	tsr_trace_free(&trace);
	require_eq(tsr_bo_info(&s->dev, &s->bo).segment, 0);
	require_msg(copied == bytes,
		    "expected the eviction to copy %llu bytes, it copied %llu and discarded %llu",
		    (unsigned long long)bytes, (unsigned long long)copied,
		    (unsigned long long)discarded);
}

/*
 * RES-9: an object that jobs can only read is evicted without a copy, as often
 * as it comes back, and its contents stay. Writes of other kinds are copied.
 */
static void read_only(void)
{
	struct scene s;

	scene_open(&s);
	map(&s, READ_ONLY);
	tsr_make_resident(&s.dev, &s.bo, 1);
	for (uint32_t value = 1; value <= 3; value++) {
		/* the lists of SUBMIT report the write */
		tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, value);
		must_copy(&s, SIZE);
		for (uint32_t i = 0; i < 3; i++) {
			read_back(&s, value);
			must_copy(&s, 0);
		}
	}
	/* in no VM, but listed */
	tsr_vm_unmap(&s.dev, s.vm.id, AT, SIZE);
	require_ok(__tsr_bring_back(&s.dev, NULL));
	must_copy(&s, 0);
	map(&s, READ_ONLY);
	read_back(&s, 3);
	tsr_close(&s.dev);
}

/* RES-9: so is an object that is read-only itself, whatever the mapping says. */
static void read_only_object(void)
{
	volatile uint32_t *words;
	struct scene s;

	scene_open(&s);
	tsr_bo_free(&s.dev, &s.bo);
	s.set = tsr_bit(tsr_seg_visible(&s.dev));
	s.bo = tsr_bo_new(&s.dev, SIZE, s.set,
			  DRM_TESSERA_BO_GPU_READ_ONLY | DRM_TESSERA_BO_CPU_ACCESS);
	tsr_bo_map(&s.dev, &s.bo);
	words = s.bo.map;
	map(&s, 0);
	tsr_make_resident(&s.dev, &s.bo, 1);
	for (uint32_t value = 1; value <= 3; value++) {
		/* the CPU writes where the object is, in memory or outside */
		for (uint32_t i = 0; i < SIZE / 4; i++)
			words[i] = value;
		read_back(&s, value);
		tsr_evict_set(s.set);
		read_back(&s, value);
		must_copy(&s, 0);
		read_back(&s, value);
		/* a CPU mapping of video memory may be written at any time */
		require_eq(words[7], value);
		must_copy(&s, SIZE);
	}
	tsr_close(&s.dev);
}

/*
 * RES-9: with a mapping that lets jobs write, an eviction copies, whether or not
 * jobs write. A page is enough, and so is the time since the last page-in.
 */
static void writable(void)
{
	const uint64_t page = AT + MiB(16);
	struct scene s;

	scene_open(&s);
	map(&s, READ_ONLY);
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 1);
	tsr_make_resident(&s.dev, &s.bo, 1);
	must_copy(&s, SIZE);
	/* mapped while it is outside, and inside */
	tsr_vm_map(&s.dev, s.vm.id, &s.bo, KiB(64), page, KiB(4), 0);
	for (uint32_t i = 0; i < 2; i++) {
		read_back(&s, 1);
		must_copy(&s, SIZE);
	}
	tsr_vm_unmap(&s.dev, s.vm.id, page, KiB(4));
	read_back(&s, 1);
	must_copy(&s, 0);
	read_back(&s, 1);
	tsr_vm_map(&s.dev, s.vm.id, &s.bo, 0, page, KiB(4), 0);
	must_copy(&s, SIZE);
	read_back(&s, 1);
	/* not any more, but it was since it came in */
	tsr_vm_map(&s.dev, s.vm.id, &s.bo, 0, page, KiB(4), READ_ONLY);
	must_copy(&s, SIZE);
	read_back(&s, 1);
	must_copy(&s, 0);
	/* in a second VM of the file, which shows it only while it is listed */
	tsr_evict(&s.dev, &s.bo, 1);
	tsr_vm_map(&s.dev, tsr_vm_new(&s.dev), &s.bo, 0, page, KiB(4), 0);
	tsr_gpu_touch(&s.dev, s.vm.patched, &s.bo);
	tsr_evict_set(s.set);
	tsr_gpu_touch(&s.dev, s.vm.patched, &s.bo);
	must_copy(&s, 0);
	tsr_make_resident(&s.dev, &s.bo, 1);
	must_copy(&s, SIZE);
	tsr_close(&s.dev);
}

static void evict_scene(void *arg)
{
	const struct scene *s = arg;

	tsr_evict_set(s->set);
}

/* Queues a job at virtual addresses that fills the object behind the held job. */
static void fill_behind(struct scene *s, struct tsr_held *held, uint32_t value, uint32_t sync)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, SIZE, true);
	tsr_cmd_fill(&cmd, 0, 0, SIZE / 4, value);
	memcpy(s->vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	require_ok(__tsr_submit_vm(&s->dev, s->vm.context, s->vm.at, tsr_cmd_bytes(&cmd),
				   held->done, sync));
	tsr_cmd_fini(&cmd);
}

/*
 * RES-9: a mapping becomes read-only, and the object is evicted, while a job
 * that was submitted before has yet to write it.
 */
static void in_flight(void)
{
	struct tsr_bo target;
	struct tsr_held held;
	struct scene s;
	uint32_t sync;

	scene_open(&s);
	sync = tsr_syncobj_new(&s.dev);
	target = tsr_bo_new(&s.dev, KiB(4), tsr_bit(tsr_seg_gart(&s.dev)), 0);
	held = tsr_held_open(&s.dev);
	map(&s, 0);
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 1);
	tsr_make_resident(&s.dev, &s.bo, 1);
	must_copy(&s, SIZE);
	read_back(&s, 1);
	for (uint32_t value = 2; value <= 3; value++) {
		struct tsr_trace trace;
		struct tsr_call call;

		map(&s, 0);
		/* a fence of this device, so that no call waits for it */
		tsr_held_fill(&held, &target, 16, 1);
		fill_behind(&s, &held, value, sync);
		map(&s, READ_ONLY);
		tsr_trace_start("evict", NULL);
		tsr_call_start(&call, evict_scene, &s);
		tsr_wait_for(tsr_trace_so_far("evict", 0));
		require(tsr_held_waits(&held));
		tsr_held_go(&held);
		tsr_call_join(&call);
		trace = tsr_trace_stop();
		tsr_trace_free(&trace);
		require_ok(tsr_syncobj_status(&s.dev, sync));
		read_back(&s, value);
		must_copy(&s, 0);
		read_back(&s, value);
		tsr_held_again(&held);
	}
	tsr_held_close(&held);
	tsr_close(&s.dev);
}

/*
 * RES-9: NOT_WRITTEN stands for the time on the list. It helps only when the
 * object leaves the list, and says nothing of an earlier time.
 */
static void not_written(void)
{
	struct scene s;

	scene_open(&s);
	map(&s, 0);
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 1);
	must_copy(&s, SIZE);
	/* each time it was only read */
	for (uint32_t i = 0; i < 3; i++) {
		tsr_make_resident(&s.dev, &s.bo, 1);
		read_back(&s, 1);
		require_ok(__tsr_evict_unwritten(&s.dev, &s.bo));
		must_copy(&s, 0);
	}
	/* without the promise */
	tsr_make_resident(&s.dev, &s.bo, 1);
	read_back(&s, 1);
	tsr_evict(&s.dev, &s.bo, 1);
	must_copy(&s, SIZE);
	/* written while it was listed before; it has not moved since */
	tsr_make_resident(&s.dev, &s.bo, 1);
	tsr_vm_fill(&s.vm, AT, SIZE, 2);
	tsr_evict(&s.dev, &s.bo, 1);
	tsr_make_resident(&s.dev, &s.bo, 1);
	require_ok(__tsr_evict_unwritten(&s.dev, &s.bo));
	must_copy(&s, SIZE);
	/* still listed, so that a job may write it */
	tsr_make_resident(&s.dev, &s.bo, 1);
	tsr_make_resident(&s.dev, &s.bo, 1);
	read_back(&s, 2);
	require_ok(__tsr_evict_unwritten(&s.dev, &s.bo));
	tsr_vm_fill(&s.vm, AT, SIZE, 3);
	must_copy(&s, SIZE);
	read_back(&s, 3);
	/* what SUBMIT has written, the promise does not mean */
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 4);
	require_ok(__tsr_evict_unwritten(&s.dev, &s.bo));
	must_copy(&s, SIZE);
	tsr_make_resident(&s.dev, &s.bo, 1);
	read_back(&s, 4);
	tsr_close(&s.dev);
}

/* RES-9: a promise must not lose what another client has written. */
static void shared(void)
{
	struct scene s, theirs;
	int dmabuf;

	scene_open(&s);
	scene_open(&theirs);
	map(&s, 0);
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 1);
	must_copy(&s, SIZE);
	dmabuf = tsr_export(&s.dev, &s.bo);
	tsr_bo_free(&theirs.dev, &theirs.bo);
	theirs.bo.size = SIZE;
	require_ok(__tsr_import(theirs.dev.fd, dmabuf, &theirs.bo.handle));
	close(dmabuf);
	map(&theirs, 0);
	tsr_make_resident(&s.dev, &s.bo, 1);
	tsr_make_resident(&theirs.dev, &theirs.bo, 1);
	tsr_vm_fill(&theirs.vm, AT, SIZE, 2);
	require_err(__tsr_evict_unwritten(&s.dev, &s.bo), -EINVAL);
	require_eq(tsr_bo_info(&s.dev, &s.bo).segment, tsr_seg_hidden(&s.dev)->id);
	read_back(&s, 2); /* it is still listed */
	/* their jobs have written it, whoever is the last to list it */
	tsr_evict(&theirs.dev, &theirs.bo, 1);
	require_ok(__tsr_evict_unwritten(&s.dev, &s.bo));
	must_copy(&s, SIZE);
	tsr_make_resident(&s.dev, &s.bo, 1);
	read_back(&s, 2);
	/* closing the handle takes it off their list, too */
	tsr_make_resident(&theirs.dev, &theirs.bo, 1);
	tsr_vm_fill(&theirs.vm, AT, SIZE, 3);
	tsr_bo_free(&theirs.dev, &theirs.bo);
	require_ok(__tsr_evict_unwritten(&s.dev, &s.bo));
	must_copy(&s, SIZE);
	tsr_make_resident(&s.dev, &s.bo, 1);
	read_back(&s, 3);
	tsr_close(&theirs.dev);
	tsr_close(&s.dev);
}

static const char *const kinds[] = { "transfer", "mark", "map", "unmap", "discard", "fill" };

/* Bytes of each kind of paging operation on the object while it leaves and returns. */
static void cycle(struct scene *s, bool patched, uint64_t bytes[ARRAY_SIZE(kinds)])
{
	struct tsr_trace trace;
	uint32_t id = 0;

	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(s->set);
	if (patched)
		tsr_gpu_touch(&s->dev, s->vm.patched, &s->bo);
	else
		read_back(s, 1);
	trace = tsr_trace_stop();
	/* only this object has contents in the segment */
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (tsr_event_is(ev, "kind", "transfer"))
			id = (uint32_t)tsr_event_u64(ev, "bo");
	}
	require(id);
	for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++)
		bytes[i] = tsr_trace_paged(&trace, kinds[i], id);
	tsr_trace_free(&trace);
}

/*
 * MODEL-8: paging moves an object with the same operations, at segment
 * addresses, in both models. At virtual addresses it also updates page tables
 * and flushes TLBs.
 */
static void same_operations(void)
{
	uint64_t patched[ARRAY_SIZE(kinds)], vm[ARRAY_SIZE(kinds)];
	struct tsr_bo other;
	struct scene s;

	scene_open(&s);
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 1);
	cycle(&s, true, patched);
	tsr_gpu_fill(&s.dev, s.vm.patched, &s.bo, 1);
	map(&s, 0);
	tsr_make_resident(&s.dev, &s.bo, 1);
	read_back(&s, 1);
	cycle(&s, false, vm);
	require_eq(patched[0], 2 * SIZE);
	for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++)
		require_msg(vm[i] == patched[i],
			    "expected %llu bytes of \"%s\" at virtual addresses, as with lists, "
			    "seen %llu",
			    (unsigned long long)patched[i], kinds[i], (unsigned long long)vm[i]);
	/* the addresses, just used, get another object: no translation may be old */
	other = tsr_bo_new(&s.dev, SIZE, s.set, 0);
	tsr_gpu_fill(&s.dev, s.vm.patched, &other, 2);
	tsr_make_resident(&s.dev, &other, 1);
	for (uint32_t i = 0; i < 4; i++) {
		tsr_vm_map(&s.dev, s.vm.id, i % 2 ? &s.bo : &other, 0, AT, SIZE, 0);
		read_back(&s, i % 2 ? 1 : 2);
	}
	tsr_close(&s.dev);
}

static const struct tap_test tests[] = {
	{ "RES-9 read-only mappings: an eviction copies nothing", read_only, 0, 0 },
	{ "RES-9 a read-only object: an eviction copies nothing", read_only_object, 0, 0 },
	{ "RES-9 a writable mapping: an eviction copies", writable, 0, 0 },
	{ "RES-9 a mapping becomes read-only with a job in flight", in_flight, 0, 0 },
	{ "RES-9 EVICT with NOT_WRITTEN", not_written, 0, 0 },
	{ "RES-9 NOT_WRITTEN and other clients", shared, 0, 0 },
	{ "MODEL-8 the same paging operations in both models", same_operations, 0, 0 },
};

TSR_TEST_MAIN(tests)
