// SPDX-License-Identifier: MIT
/*
 * Two devices of this driver: one imports an object that the other exported.
 * With move_notify (the debug kernel) the object moves freely and the importer
 * follows. Without it (the distribution's kernel) the object stays in its
 * system pages.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "hang.h"
#include "held.h"
#include "host.h"
#include "inject.h"
#include "kms.h"
#include "memory.h"
#include "pci.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

#define WORDS (MiB(1) / 4)

struct pair {
	struct tsr_device a, b; /* exporter, importer */
	uint32_t ctx_a, ctx_b;
	struct tsr_bo bo, there;
	int dmabuf;
};

/* True if the object is in the exporter's video memory, its first choice. */
static bool in_memory(struct pair *pair)
{
	return tsr_bo_info(&pair->a, &pair->bo).segment == tsr_seg_visible(&pair->a)->id;
}

static struct tsr_bo shareable(struct tsr_device *dev)
{
	return tsr_bo_new(dev, MiB(1), tsr_bit(tsr_seg_visible(dev)) | tsr_bit(tsr_seg_gart(dev)),
			  DRM_TESSERA_BO_CPU_ACCESS);
}

static void pair_import(struct pair *pair)
{
	pair->dmabuf = tsr_export(&pair->a, &pair->bo);
	pair->there = (struct tsr_bo){ .size = pair->bo.size };
	tsr_import_wait(pair->b.fd, pair->dmabuf, &pair->there.handle);
}

static struct pair pair_of(struct tsr_device a, struct tsr_device b)
{
	struct pair pair = { .a = a, .b = b };

	pair.ctx_a = tsr_context_new(&pair.a, 0);
	pair.ctx_b = tsr_context_new(&pair.b, 0);
	pair.bo = shareable(&pair.a);
	tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, 1);
	require(in_memory(&pair));
	pair_import(&pair);
	/*
	 * Attaching alone moves nothing where move_notify is available. Without
	 * it, the object is in its system pages.
	 */
	require_eq(in_memory(&pair), tap_slow());
	return pair;
}

static struct pair pair_open(void)
{
	struct tsr_device a = tsr_open();

	return pair_of(a, tsr_pci_other(&a));
}

/* A pair with either the exporter or the importer ready to be unbound. */
static struct pair pair_to_unbind(bool exporter)
{
	struct tsr_device goes, stays;

	tsr_pci_begin();
	goes = tsr_pci_open();
	stays = tsr_pci_other(&goes);
	return exporter ? pair_of(goes, stays) : pair_of(stays, goes);
}

static void pair_close(struct pair *pair)
{
	close(pair->dmabuf);
	tsr_close(&pair->b);
	tsr_close(&pair->a);
}

/*
 * The exporter has moved the object to video memory, if it may. The importer
 * must have released its pages.
 */
static void here_now(struct pair *pair)
{
	require_eq(in_memory(pair), tap_slow());
	if (!tap_slow())
		return;
	require_msg(!tsr_bo_info(&pair->b, &pair->there).segment,
		    "the exporter moved its object, expected the importer to have released the old "
		    "pages (invalidate_mappings)");
}

/*
 * A job of the importer uses the object: it must have left video memory and
 * stay outside.
 */
static void there_now(struct pair *pair)
{
	require_msg(!in_memory(pair), "a job of the importer uses the object, expected the "
				      "exporter to have moved it out of video memory first");
}

static void there_is(struct pair *pair, uint32_t value)
{
	uint32_t words[2];

	tsr_gpu_read(&pair->b, pair->ctx_b, &pair->there, 0, 1, &words[0]);
	tsr_gpu_read(&pair->b, pair->ctx_b, &pair->there, WORDS - 1, 1, &words[1]);
	require_msg(words[0] == value && words[1] == value,
		    "the importer reads 0x%x, 0x%x, not 0x%x: pages of an earlier or a later "
		    "placement of the object",
		    words[0], words[1], value);
	there_now(pair);
}

static void here_has(struct pair *pair, uint32_t value)
{
	uint32_t word;

	tsr_gpu_read(&pair->a, pair->ctx_a, &pair->bo, WORDS - 1, 1, &word);
	require_eq(word, value);
}

static void here_is(struct pair *pair, uint32_t value)
{
	here_has(pair, value);
	here_now(pair);
}

/*
 * The object moves back and forth while idle: each side sees the other's
 * writes.
 */
static void idle(void)
{
	struct pair pair = pair_open();

	there_is(&pair, 1);
	for (uint32_t i = 2; i < 20; i += 2) {
		tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, i);
		here_now(&pair);
		there_is(&pair, i);
		tsr_gpu_fill(&pair.b, pair.ctx_b, &pair.there, i + 1);
		/* Also evict between the segments of each device. */
		tsr_evict_set(UINT32_MAX);
		here_is(&pair, i + 1);
		tsr_evict_set(UINT32_MAX);
		there_is(&pair, i + 1);
	}
	pair_close(&pair);
}

/* As idle(), but the importer's jobs use virtual addresses. */
static void idle_vm(void)
{
	struct pair pair = pair_open();
	struct tsr_vm vm = tsr_vm_open(&pair.b);
	struct tsr_bo own = tsr_bo_new(&pair.b, MiB(1), tsr_bit(tsr_seg_visible(&pair.b)), 0);
	uint32_t word;

	tsr_vm_place(&vm, &pair.there);
	tsr_vm_place(&vm, &own);
	tsr_vm_map(&pair.b, vm.id, &pair.there, 0, 0x40000000, MiB(1), 0);
	tsr_vm_map(&pair.b, vm.id, &own, 0, 0x50000000, MiB(1), 0);
	/*
	 * A bind leaves a fence at the object that keeps it out of the
	 * exporter's memory. A job ends after both binds.
	 */
	tsr_vm_copy(&vm, 0x50000000, 0x40000000, MiB(1));
	for (uint32_t i = 2; i < 20; i += 2) {
		tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, i);
		here_now(&pair);
		tsr_vm_copy(&vm, 0x50000000, 0x40000000, MiB(1));
		tsr_gpu_read(&pair.b, pair.ctx_b, &own, WORDS - 1, 1, &word);
		require_eq(word, i);
		there_now(&pair);
		tsr_vm_fill(&vm, 0x40000000, MiB(1), i + 1);
		here_is(&pair, i + 1);
	}
	tsr_vm_close(&vm);
	pair_close(&pair);
}

static void fill_later(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
		       uint32_t value)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, value);
	tsr_submit(dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
}

/* Arguments of a call that runs in a thread of its own. */
struct call {
	struct tsr_call in;
	struct tsr_device *dev;
	const struct tsr_bo *bo;
	uint32_t ctx, value;
	struct pair *pair;
	int rc;
};

/*
 * Submit jobs of both sides alternately, each dependent on the previous one.
 * The exporter's calls wait for the importer's jobs.
 */
static void use_in_turns(void *arg)
{
	struct call *call = arg;
	struct pair *pair = call->pair;

	for (uint32_t i = 1; i < 9; i += 2) {
		fill_later(&pair->a, pair->ctx_a, &pair->bo, call->value + i);
		fill_later(&pair->b, pair->ctx_b, &pair->there, call->value + i + 1);
	}
}

/*
 * The object stays in its pages while a job of the importer has yet to use it.
 */
static void in_flight(void)
{
	struct pair pair = pair_open();
	struct tsr_bo own = tsr_bo_new(&pair.b, MiB(1), tsr_bit(tsr_seg_visible(&pair.b)), 0);
	uint32_t word;

	for (uint32_t round = 0; round < 3; round++) {
		struct call call = { .pair = &pair, .value = 10 * round };
		struct tsr_held held = tsr_held_open(&pair.b);

		tsr_evict_set(UINT32_MAX);
		tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, 10 * round);
		here_now(&pair);
		tsr_held_copy(&held, &own, &pair.there);
		tsr_call_start(&call.in, use_in_turns, &call);
		tsr_wait_for(call.in.returned || tsr_call_waits(&call.in, "foreign"));
		there_now(&pair);
		require(tsr_held_waits(&held));
		tsr_held_go(&held);
		tsr_call_join(&call.in);
		tsr_gpu_read(&pair.b, pair.ctx_b, &own, WORDS - 1, 1, &word);
		require_eq(word, 10 * round);
		here_has(&pair, 10 * round + 8);
		there_is(&pair, 10 * round + 8);
		tsr_held_close(&held);
	}
	pair_close(&pair);
}

static void fill_with_6(void *arg)
{
	struct call *call = arg;
	fill_later(call->dev, call->ctx, call->bo, 6);
}

/*
 * The exporter's call has invalidated the import and waits for the importer's
 * job.
 */
static void take_back(struct pair *pair, struct call *call)
{
	*call = (struct call){
		.dev = &pair->a,
		.bo = &pair->bo,
		.ctx = pair->ctx_a,
	};
	tsr_call_start(&call->in, fill_with_6, call);
	tsr_wait_for(call->in.returned || tsr_call_waits(&call->in, "foreign"));
	require(!tsr_bo_info(&pair->b, &pair->there).segment);
	require(!in_memory(pair));
}

/*
 * A call that needs the object back waits for the importer's job. Other calls
 * of the same client do not wait.
 */
static void move_delays_no_other_call(void)
{
	struct tsr_device b = tsr_open();
	struct tsr_stuck_vm stuck;
	struct tsr_bo other;
	struct call call;
	struct pair pair;

	tsr_move_notify_need();
	pair = pair_of(tsr_pci_other(&b), b);
	tsr_stuck_vm_start(&stuck, &pair.b, &pair.there, 5);
	take_back(&pair, &call);
	other = shareable(&pair.a);
	tsr_gpu_fill(&pair.a, tsr_context_new(&pair.a, 0), &other, 7);
	require_msg(!call.in.returned,
		    "expected the exporter's move to wait for the importer's running job");
	require(tsr_stuck_vm_runs(&stuck));
	tsr_stuck_vm_end(&stuck);
	tsr_call_join(&call.in);
	here_is(&pair, 6);
	tsr_stuck_vm_close(&stuck);
	pair_close(&pair);
}

/* Count the kernel's dma_unmap_sg events since tsr_trace_start_own(). */
static size_t unmapped(void)
{
	struct tsr_trace trace = tsr_trace_stop();
	size_t count = tsr_trace_count(&trace, "dma_unmap_sg");

	tsr_trace_free(&trace);
	return count;
}

/*
 * Pages that the exporter moves out of stay mapped for the importer until the
 * importer's job has ended.
 */
static void stays_mapped(void)
{
	struct tsr_device b = tsr_open();
	struct tsr_stuck_vm stuck;
	struct call call;
	struct pair pair;

	tsr_move_notify_need();
	pair = pair_of(tsr_pci_other(&b), b);
	tsr_stuck_vm_start(&stuck, &pair.b, &pair.there, 5);
	tsr_trace_start_own("dma/dma_unmap_sg");
	take_back(&pair, &call);
	require(tsr_stuck_vm_runs(&stuck));
	require_msg(!unmapped(), "expected the pages to stay DMA-mapped for the importer's running "
				 "job, the exporter's move unmapped them");
	tsr_stuck_vm_end(&stuck);
	tsr_call_join(&call.in);
	here_is(&pair, 6);
	/* The old pages are unmapped when the importer next maps the object. */
	tsr_trace_start_own("dma/dma_unmap_sg");
	there_is(&pair, 6);
	require(unmapped());
	tsr_stuck_vm_close(&stuck);
	pair_close(&pair);
}

/*
 * An attached object in system memory can be swapped out. It comes back when
 * the importer uses it.
 */
static void swapped_out(void)
{
	struct pair pair;

	tsr_move_notify_need();
	pair = pair_open();
	for (uint32_t i = 2; i < 6; i++) {
		tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, i);
		there_is(&pair, i);
		tsr_wait_for((tsr_swap_out_objects(), !tsr_bo_info(&pair.b, &pair.there).segment));
		there_is(&pair, i);
	}
	here_is(&pair, 5);
	pair_close(&pair);
}

/*
 * Attach three times as many objects as fit. Attached objects must stay
 * evictable.
 */
static void nothing_is_pinned(void)
{
	struct tsr_device a, b;
	uint32_t ctx_a, ctx_b, word, out = 0;
	struct tsr_bo bos[48], there[48];

	tsr_move_notify_need();
	a = tsr_open();
	b = tsr_pci_other(&a);
	ctx_a = tsr_context_new(&a, 0);
	ctx_b = tsr_context_new(&b, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		int dmabuf;

		bos[i] = shareable(&a);
		tsr_gpu_fill(&a, ctx_a, &bos[i], i);
		dmabuf = tsr_export(&a, &bos[i]);
		there[i] = (struct tsr_bo){ .size = bos[i].size };
		require_ok(__tsr_import(b.fd, dmabuf, &there[i].handle));
		close(dmabuf);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		/*
		 * Close the exporter's handle: then only the importer holds the
		 * object.
		 */
		require_ok(__tsr_bo_close(a.fd, bos[i].handle));
		tsr_gpu_read(&b, ctx_b, &there[i], 77, 1, &word);
		require_eq(word, i);
		tsr_evict_set(UINT32_MAX);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		tsr_gpu_fill(&b, ctx_b, &there[i], i + 100);
		out += !tsr_bo_info(&b, &there[0]).segment;
	}
	require(out);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		tsr_gpu_read(&b, ctx_b, &there[i], 77, 1, &word);
		require_eq(word, i + 100);
	}
	tsr_close(&b);
	tsr_close(&a);
}

/*
 * Unbind the importer with one job queued: the exporter keeps its bytes and can
 * move the object afterwards.
 */
static void importer_goes(void)
{
	struct tsr_held held;
	struct pair pair;
	uint32_t word;

	pair = pair_to_unbind(false);
	there_is(&pair, 1);
	tsr_gpu_fill(&pair.b, pair.ctx_b, &pair.there, 2);
	fill_later(&pair.a, pair.ctx_a, &pair.bo, 3);
	held = tsr_held_open(&pair.b);
	tsr_held_fill(&held, &pair.there, WORDS, 4);
	tsr_pci_unbind();
	tsr_bo_wait(&pair.a, &pair.bo);
	tsr_held_release(&held);
	tsr_gpu_read(&pair.a, pair.ctx_a, &pair.bo, WORDS - 1, 1, &word);
	require_eq(word, 3);
	require_eq(in_memory(&pair), tap_slow());
	tsr_held_close(&held);
	tsr_pci_bind();
	pair_close(&pair);
}

/*
 * Unbind the importer during a VM job that the exporter's move waits for. That
 * job leaves no fence on the object.
 */
static void importer_goes_with_vm(void)
{
	struct tsr_stuck_vm stuck;
	struct call call;
	struct pair pair;

	tsr_move_notify_need();
	pair = pair_to_unbind(false);
	tsr_stuck_vm_start(&stuck, &pair.b, &pair.there, 2);
	take_back(&pair, &call);
	require(!call.in.returned);
	require(tsr_stuck_vm_runs(&stuck));
	tsr_pci_unbind();
	tsr_call_join(&call.in);
	tsr_bo_wait(&pair.a, &pair.bo);
	here_has(&pair, 6);
	tsr_engine_release();
	tsr_pci_bind();
	pair_close(&pair);
}

/* ---- an importer that is being unbound ----------------------------------- */

/*
 * Read a debugfs file into an object that is waiting for its contents.
 * Unplugging the device waits for this read.
 */
static void read_table(void *arg)
{
	struct call *call = arg;
	struct stat node;
	char path[64];
	int fd;

	require_ok(fstat(call->dev->fd, &node));
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/segments", minor(node.st_rdev));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	require(fd >= 0);
	require(read(fd, call->bo->map, KiB(4)) > 0);
	close(fd);
}

static void unbind(void *arg)
{
	tsr_pci_unbind();
}

static void write_first_word(void *arg)
{
	struct call *call = arg;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, call->bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 7);
	tsr_submit(call->dev, call->ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
}

/* A VM job that fills the object with 2 and is stuck at its beginning. */
static struct tsr_stuck vm_fill_later(struct tsr_vm *vm, const struct tsr_bo *bo)
{
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	tsr_vm_place(vm, bo);
	tsr_vm_map(vm->dev, vm->id, bo, 0, TSR_STUCK_AT, bo->size, 0);
	tsr_vm_fill(vm, TSR_STUCK_AT, bo->size, 1);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, TSR_STUCK_AT, bo->size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo->size / 4), 2);
	memcpy(vm->cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	stuck = tsr_stuck_next(vm->dev, vm->dev->render);
	require_ok(__tsr_submit_vm(vm->dev, vm->context, vm->at, tsr_cmd_bytes(&cmd), 0, 0));
	tsr_stuck_begun(&stuck);
	tsr_cmd_fini(&cmd);
	return stuck;
}

/*
 * The exporter waits at most one second for an importer that is being
 * unplugged. If releasing the job took longer, the result proves nothing.
 */
static uint64_t asked, let_go;

static bool released_too_late(void)
{
	return let_go - asked > 900000000;
}

/* An object with a page-in that waits until @held is released. */
static struct tsr_bo bytes_to_come(struct tsr_device *dev, struct tsr_held *held)
{
	struct tsr_bo bo = shareable(dev);
	int dmabuf = tsr_export(dev, &bo), vgem = tsr_vgem_need();
	uint32_t handle;

	*held = tsr_held_open(dev);
	tsr_gpu_fill(dev, tsr_context_new(dev, 0), &bo, 0);
	tsr_bo_map(dev, &bo);
	/* The page-in waits for this job. */
	tsr_held_fill(held, &bo, WORDS, 0);
	/* vgem's attach needs the pages and gives up after a short wait. */
	tsr_attach_limit("100");
	require_err(__tsr_import(vgem, dmabuf, &handle), -EBUSY);
	tsr_attach_limit(TSR_FOR_GOOD);
	require(!tsr_bo_info(dev, &bo).segment);
	close(vgem);
	close(dmabuf);
	return bo;
}

/*
 * The importer is being unplugged and its engine has not stopped yet. An
 * exporter that takes the object back must wait for the VM job that still uses
 * it.
 */
static void importer_is_going(void)
{
	struct call reader = {}, writer = {};
	struct tsr_call unbinder;
	struct drm_tessera_query_device info;
	struct tsr_stuck stuck;
	struct tsr_device other;
	struct tsr_held held;
	struct pair pair;
	struct tsr_bo late;
	struct tsr_vm vm;
	uint32_t one = 1;
	bool waited;

	tsr_move_notify_need();
	tap_excuse(released_too_late);
	pair = pair_to_unbind(false);
	/*
	 * Use another file: moves of one file do not wait for those of another.
	 */
	other = tsr_pci_other(&pair.b);
	late = bytes_to_come(&other, &held);
	vm = tsr_vm_open(&pair.b);
	stuck = vm_fill_later(&vm, &pair.there);
	reader.dev = &pair.b;
	reader.bo = &late;
	tsr_call_start(&reader.in, read_table, &reader);
	tsr_wait_for(tsr_call_waits(&reader.in, "bytes"));
	tsr_call_start(&unbinder, unbind, NULL);
	tsr_wait_for(__tsr_query(pair.b.fd, DRM_TESSERA_QUERY_DEVICE, sizeof(info), &one, &info) ==
		     -ENODEV);

	writer.dev = &pair.a;
	writer.bo = &pair.bo;
	writer.ctx = pair.ctx_a;
	asked = let_go = tap_now_ns();
	tsr_call_start(&writer.in, write_first_word, &writer);
	tsr_wait_for(writer.in.returned || tsr_call_waits(&writer.in, "moved"));
	waited = !writer.in.returned;
	tsr_stuck_release(&stuck);
	let_go = tap_now_ns();
	tsr_call_join(&writer.in);
	require(!unbinder.returned);
	tsr_held_go(&held);
	tsr_call_join(&reader.in);
	tsr_call_join(&unbinder);
	tsr_pci_bind();
	require(waited);
	here_has(&pair, 2);
	tsr_held_close(&held);
	tsr_close(&other);
	pair_close(&pair);
}

static void submit_from_late(void *arg)
{
	struct call *call = arg;
	struct tsr_cmd cmd = { .dw = call->bo->map, .num_dw = 1024 };
	struct drm_tessera_submit args;

	call->rc = __tsr_submit(call->dev, call->ctx, &cmd, 0, 0, &args);
}

/*
 * A submission that is still copying its commands from user memory while the
 * device is unbound. Its command buffer must no longer be mapped for the
 * device.
 */
static void commands_are_unmapped(void)
{
	struct call submitter = {};
	struct tsr_device dev, other;
	struct tsr_held held;
	struct tsr_bo late;
	uint64_t left;

	tsr_pci_begin();
	dev = tsr_pci_open();
	other = tsr_pci_other(&dev);
	late = bytes_to_come(&other, &held);
	submitter.dev = &dev;
	submitter.bo = &late;
	submitter.ctx = tsr_context_new(&dev, 0);
	tsr_call_start(&submitter.in, submit_from_late, &submitter);
	tsr_wait_for(tsr_call_waits(&submitter.in, "bytes"));
	tsr_pci_unbind();
	require(!submitter.in.returned);
	left = tsr_pci_mapped();
	tsr_held_go(&held);
	tsr_call_join(&submitter.in);
	require_err(submitter.rc, -ENODEV);
	tsr_pci_bind();
	tsr_held_close(&held);
	tsr_close(&other);
	tsr_close(&dev);
	require_msg(!left,
		    "0x%llx bytes stay DMA-mapped for an unbound device: commands of a submission "
		    "that is still copying them",
		    (unsigned long long)left);
}

/*
 * Unbind the exporter while the importer has the pages: the importer keeps them
 * and their contents.
 */
static void exporter_goes_without(void)
{
	struct pair pair;
	uint32_t word;

	tsr_move_notify_need();
	pair = pair_to_unbind(true);
	there_is(&pair, 1);
	tsr_gpu_fill(&pair.b, pair.ctx_b, &pair.there, 2);
	tsr_pci_unbind();
	for (uint32_t i = 0; i < 4; i++) {
		tsr_swap_out_objects();
		tsr_gpu_read(&pair.b, pair.ctx_b, &pair.there, WORDS - 1, 1, &word);
		require_eq(word, 2 + i);
		tsr_evict_all(&pair.b, pair.ctx_b, tsr_seg_gart(&pair.b));
		require_eq(tsr_bo_info(&pair.b, &pair.there).segment, 0);
		tsr_gpu_fill(&pair.b, pair.ctx_b, &pair.there, 3 + i);
	}
	require_ok(__tsr_bo_close(pair.b.fd, pair.there.handle));
	pair_close(&pair);
	tsr_pci_bind();
}

/*
 * Unbind the exporter while the contents are only in its video memory: the
 * importer's submission fails with -EIO, and its other work goes on.
 */
static void exporter_goes(void)
{
	struct drm_tessera_submit args;
	struct pair pair;
	struct tsr_cmd cmd;
	struct tsr_bo own;
	uint32_t word;

	tsr_move_notify_need();
	pair = pair_to_unbind(true);
	there_is(&pair, 1);
	tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, 2);
	require(in_memory(&pair));
	tsr_pci_unbind();
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &pair.there, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, 3);
	require_err(__tsr_submit(&pair.b, pair.ctx_b, &cmd, 0, 0, &args), -EIO);
	tsr_cmd_fini(&cmd);
	own = tsr_bo_new(&pair.b, MiB(1), tsr_bit(tsr_seg_visible(&pair.b)), 0);
	tsr_gpu_fill(&pair.b, pair.ctx_b, &own, 4);
	tsr_gpu_read(&pair.b, pair.ctx_b, &own, 5, 1, &word);
	require_eq(word, 4);
	require_ok(__tsr_bo_close(pair.b.fd, pair.there.handle));
	pair_close(&pair);
	tsr_pci_bind();
}

/* Of the two devices, open the one that did not export the dma-buf. */
static struct tsr_device other_than_exporter(int dmabuf)
{
	struct tsr_device first = tsr_open(), second = tsr_pci_other(&first);
	struct tsr_bo bo = { .size = 0 };

	tsr_import_wait(first.fd, dmabuf, &bo.handle);
	/* Only a re-import by the exporter supports video memory. */
	if (tsr_bo_info(&first, &bo).supported & tsr_bit(tsr_seg_visible(&first))) {
		tsr_close(&first);
		return second;
	}
	tsr_close(&second);
	require_ok(__tsr_bo_close(first.fd, bo.handle));
	return first;
}

/*
 * A framebuffer on screen does not leave video memory for an importer. The
 * importer gets -EBUSY until the CRTC is off, and no contents are lost.
 */
static void shown(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_fb fb = tsr_fb_new_dumb(&kms, 640, 480);
	struct drm_mode_modeinfo mode = tsr_mode(640, 480);
	struct tsr_bo there = { .size = 0 };
	uint32_t ctx_a, ctx_b, word;
	struct drm_tessera_submit args;
	struct tsr_device b;
	struct tsr_cmd cmd;
	int dmabuf;

	tsr_move_notify_need();
	dmabuf = tsr_export(&kms.dev, &fb.bo);
	b = other_than_exporter(dmabuf);
	there.size = fb.bo.size;
	tsr_import_wait(b.fd, dmabuf, &there.handle);
	ctx_a = tsr_context_new(&kms.dev, 0);
	ctx_b = tsr_context_new(&b, 0);
	tsr_gpu_fill(&kms.dev, ctx_a, &fb.bo, 0x123456);
	tsr_gpu_read(&b, ctx_b, &there, 99, 1, &word);
	require_eq(word, 0x123456);

	tsr_light(&kms, &kms.heads[0], &mode, &fb);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &there, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 3);
	require_err(__tsr_submit(&b, ctx_b, &cmd, 0, 0, &args), -EBUSY);
	tsr_gpu_fill(&kms.dev, ctx_a, &fb.bo, 0x654321);
	require_err(__tsr_submit(&b, ctx_b, &cmd, 0, 0, &args), -EBUSY);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, tsr_seg_visible(&kms.dev)->id);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_gpu_read(&b, ctx_b, &there, 99, 1, &word);
	require_eq(word, 0x654321);
	require_ok(__tsr_submit(&b, ctx_b, &cmd, 0, 0, &args));
	tsr_bo_wait(&b, &there);
	tsr_gpu_read(&kms.dev, ctx_a, &fb.bo, 0, 1, &word);
	require_eq(word, 3);
	tsr_cmd_fini(&cmd);
	close(dmabuf);
	tsr_close(&b);
	tsr_kms_close(&kms);
}

/*
 * Close the import and import again while a job still uses the closed object.
 * Only the destruction of the closed object waits for the job.
 */
static void imported_again(void)
{
	uint64_t closed = 0;
	struct tsr_held held;
	struct tsr_trace trace;
	struct pair pair;
	struct tsr_bo own;

	tsr_trace_start("bo_create", NULL);
	pair = pair_open();
	trace = tsr_trace_stop();
	/* The import is created last. */
	tsr_trace_for_each(&trace, "bo_create", ev)
		closed = tsr_event_u64(ev, "bo");
	tsr_trace_free(&trace);
	own = tsr_bo_new(&pair.b, MiB(1), tsr_bit(tsr_seg_visible(&pair.b)), 0);
	held = tsr_held_open(&pair.b);
	tsr_held_copy(&held, &own, &pair.there);
	tsr_trace_start("destroy", NULL);
	require_ok(__tsr_bo_close(pair.b.fd, pair.there.handle));
	require_ok(__tsr_import(pair.b.fd, pair.dmabuf, &pair.there.handle));
	fill_later(&pair.b, pair.ctx_b, &pair.there, 2);
	require_eq(tsr_trace_so_far("destroy", closed), 0);
	tsr_held_go(&held);
	tsr_wait_for(tsr_trace_so_far("destroy", closed));
	trace = tsr_trace_stop();
	tsr_trace_free(&trace);
	there_is(&pair, 2);
	tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, 3);
	here_is(&pair, 3);
	there_is(&pair, 3);
	tsr_held_close(&held);
	pair_close(&pair);
}

/*
 * A static importer (vgem) pins the pages while a dynamic importer is attached.
 */
static void beside_a_static_one(void)
{
	struct pair pair = pair_open();
	int vgem = tsr_vgem_need();
	uint32_t handle;

	tsr_gpu_fill(&pair.b, pair.ctx_b, &pair.there, 5);
	require_ok(__tsr_import(vgem, pair.dmabuf, &handle));
	tsr_gpu_fill(&pair.a, pair.ctx_a, &pair.bo, 6);
	require(!in_memory(&pair));
	there_is(&pair, 6);
	require_ok(__tsr_bo_close(vgem, handle));
	tsr_gpu_fill(&pair.b, pair.ctx_b, &pair.there, 7);
	tsr_evict_set(UINT32_MAX);
	here_is(&pair, 7);
	close(vgem);
	pair_close(&pair);
}

/* ---- failures ------------------------------------------------------------ */

#define MOST_ALLOCATIONS 500

/*
 * Submit with the @nth allocation or user copy of the call failing. Returns
 * false if the call made fewer.
 */
static bool fill_short_of_memory(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
				 uint32_t value, unsigned int nth)
{
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	bool failed;
	int rc;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, value);
	tsr_inject_set(nth);
	rc = __tsr_submit(dev, ctx, &cmd, 0, 0, &args);
	failed = tsr_inject_done();
	require_msg(!rc || (failed && (rc == -ENOMEM || rc == -EFAULT)), "allocation %u: %s", nth,
		    strerror(-rc));
	if (rc)
		tsr_submit_done(dev, ctx, &cmd);
	else
		tsr_bo_wait(dev, bo);
	tsr_cmd_fini(&cmd);
	return failed;
}

/*
 * Whichever allocation fails, on either device: the call returns an error or
 * succeeds, and nothing is lost.
 */
static void out_of_memory(void)
{
	bool more = true, more_there = true;
	struct pair pair;
	unsigned int nth;

	tsr_move_notify_need();
	tsr_inject_init();
	pair = pair_open();
	for (nth = 1; more || more_there; nth++) {
		require(nth < MOST_ALLOCATIONS);
		more_there = fill_short_of_memory(&pair.b, pair.ctx_b, &pair.there, 2 * nth, nth);
		require(!in_memory(&pair));
		more = fill_short_of_memory(&pair.a, pair.ctx_a, &pair.bo, 2 * nth + 1, nth);
		require(in_memory(&pair));
		require_eq(tsr_bo_info(&pair.b, &pair.there).segment, 0);
		if (nth % 16 == 0)
			there_is(&pair, 2 * nth + 1);
	}
	tap_note("%u allocations", nth);
	there_is(&pair, 2 * nth - 1);
	pair_close(&pair);
}

static struct tsr_bo shareable_and_cached(struct tsr_device *dev)
{
	return tsr_bo_new(dev, MiB(1), tsr_bit(tsr_seg_hidden(dev)) | tsr_bit(tsr_seg_gart(dev)),
			  DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
}

/* Free dirty pages that the next object is likely to get. */
static void soil_memory(struct tsr_device *dev)
{
	struct tsr_bo bos[32];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = shareable_and_cached(dev);
		memset(tsr_bo_map(dev, &bos[i]), 0x5a, MiB(1));
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_bo_free(dev, &bos[i]);
}

/*
 * A move to new pages fails. The importer must read zeroes, not the old
 * contents of those pages.
 */
static void move_fails(void)
{
	struct tsr_device a, b;
	uint32_t ctx_a, ctx_b;

	tsr_move_notify_need();
	a = tsr_open();
	b = tsr_pci_other(&a);
	ctx_a = tsr_context_new(&a, 0);
	ctx_b = tsr_context_new(&b, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct tsr_bo bo = shareable_and_cached(&a), there = { .size = bo.size };
		int dmabuf = tsr_export(&a, &bo);
		static uint32_t words[WORDS];
		pid_t expirer;

		/*
		 * Import before or after the exporter has placed the object in
		 * video memory.
		 */
		if (i)
			tsr_gpu_fill(&a, ctx_a, &bo, 1);
		require_ok(__tsr_import(b.fd, dmabuf, &there.handle));
		if (!i)
			tsr_gpu_fill(&a, ctx_a, &bo, 1);
		soil_memory(&a);
		expirer = tsr_hang_next(a.paging, 1);
		tsr_gpu_read(&b, ctx_b, &there, 0, WORDS, words);
		tsr_words_check(words, WORDS, 0);
		tap_join(expirer);
		/* Only the exporter gets the error. */
		require_err(__tsr_submit_use(&a, ctx_a, &bo, false), -EIO);
		tsr_gpu_fill(&b, ctx_b, &there, 4);
		close(dmabuf);
	}
	tsr_close(&b);
	tsr_close(&a);
}

static const struct tap_test tests[] = {
	{ "an object with an importer moves", idle, 0, 0 },
	{ "an object mapped in an importer's VM moves", idle_vm, 0, 0 },
	{ "an object used by an importer's jobs moves", in_flight, 0, 60 },
	{ "a move that waits for an importer delays no other call", move_delays_no_other_call, 0,
	  60 },
	{ "pages stay DMA-mapped until the importer's job has ended", stays_mapped, 0, 60 },
	{ "an object with an importer is swapped out", swapped_out, 0, 60 },
	{ "attached objects are not pinned", nothing_is_pinned, 0, 60 },
	{ "an object is imported again before the first import is destroyed", imported_again, 0,
	  60 },
	{ "a static importer pins the object beside a dynamic importer", beside_a_static_one, 0,
	  0 },
	{ "an importer gets -EBUSY for a scanned-out object", shown, 0, 0 },
	{ "moves of a shared object survive failing allocations", out_of_memory, 0, 0 },
	{ "an importer reads zeroes after a failed move to system pages", move_fails, 0, 0 },
	/* These tests unbind a device, which changes which one is the first. */
	{ "the importer is unbound with a job queued", importer_goes, TSR_NO_DEVICE, 60 },
	{ "the importer is unbound during a VM job", importer_goes_with_vm, TSR_NO_DEVICE, 0 },
	{ "the exporter takes an object back during the importer's unplug", importer_is_going,
	  TSR_NO_DEVICE, 60 },
	{ "the device is unbound while commands are copied", commands_are_unmapped, TSR_NO_DEVICE,
	  60 },
	{ "the exporter is unbound while the importer has the pages", exporter_goes_without,
	  TSR_NO_DEVICE, 0 },
	{ "the exporter is unbound with the contents in its video memory", exporter_goes,
	  TSR_NO_DEVICE, 60 },
};

TSR_TEST_MAIN(tests)
