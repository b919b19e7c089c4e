// SPDX-License-Identifier: MIT
/*
 * OFFER with DECOMMIT, RECLAIM behind a paging fence, and contents that the
 * driver drops by itself. A decommit must give up the memory without pressure,
 * but only behind the jobs, and no worker may wait for these. A reclaim must not
 * wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t low = DRM_TESSERA_OFFER_LOW;

#define BYTES MiB(1)
#define WORDS (BYTES / 4)
#define MAX_OBJECTS 64

static int offer(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return __tsr_offer(dev->fd, &bo->handle, 1, low);
}

/* ---- decommit ------------------------------------------------------------ */

/* Sizes that no other object has, so that debugfs shows which object it is. */
static uint64_t odd_size(uint32_t which)
{
	return KiB(64) + KiB(4) * (which + 1);
}

static struct tsr_bo odd_bo(struct tsr_device *dev, uint32_t which, uint32_t set)
{
	struct tsr_bo bo = tsr_bo_new(dev, odd_size(which), set, cpu);

	tsr_bo_map(dev, &bo);
	tsr_pattern_write(&bo, which);
	return bo;
}

static bool has_pages(const struct tsr_bo *bo)
{
	char *list = tsr_debugfs_read("allocations"), *line, *page, key[32];
	bool has;

	snprintf(key, sizeof(key), " size %llu ", (unsigned long long)bo->size);
	line = strstr(list, key);
	require_msg(line, "no object of %llu bytes", (unsigned long long)bo->size);
	page = strstr(line, " page 0x");
	require(page);
	has = strtoull(page + strlen(" page "), NULL, 16);
	free(list);
	return has;
}

static void decommit(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t num)
{
	uint32_t handles[MAX_OBJECTS];

	for (uint32_t i = 0; i < num; i++)
		handles[i] = bos[i].handle;
	require_ok(__tsr_decommit(dev->fd, handles, num));
	for (uint32_t i = 0; i < num; i++)
		require_eq(tsr_bo_info(dev, &bos[i]).segment, 0);
}

/* The object is usable, and reads as zero for CPU and GPU. */
static void check_new(struct tsr_device *dev, uint32_t ctx, struct tsr_bo *bo, uint32_t set)
{
	uint32_t words[16];

	tsr_words_check(bo->map, bo->size / 4, 0);
	tsr_gpu_read(dev, ctx, bo, 0, ARRAY_SIZE(words), words);
	tsr_words_check(words, ARRAY_SIZE(words), 0);
	tsr_pattern_write(bo, 99);
	tsr_gpu_touch(dev, ctx, bo);
	tsr_evict_set(set);
	tsr_pattern_check(bo, 99);
}

/*
 * Idle objects give up their memory without anybody who needs it: in video
 * memory with stale pages and with a valid copy, in an aperture, in no segment,
 * and swapped out. An object that was never used has nothing to give.
 */
static void decommit_idle(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), sets[] = { vis, vis, gart, gart, gart };
	struct tsr_bo bos[6];

	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		bos[i] = odd_bo(&dev, i, sets[i]);
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	tsr_evict_set(vis | gart);
	tsr_bo_wait(&dev, &bos[4]);
	require(tsr_swap_out_objects() > 0);
	for (uint32_t i = 0; i < 3; i++)
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	tsr_gpu_fill(&dev, ctx, &bos[0], 0x5555);
	tsr_pattern_check(&bos[3], 3);
	for (uint32_t i = 0; i < 4; i++)
		tsr_bo_wait(&dev, &bos[i]);
	bos[5] = tsr_bo_new(&dev, odd_size(5), vis, cpu);
	for (uint32_t i = 0; i < 4; i++)
		require(has_pages(&bos[i]));
	require(!has_pages(&bos[4]));
	decommit(&dev, bos, 6);
	for (uint32_t i = 0; i < 6; i++)
		tsr_wait_for(!has_pages(&bos[i]));
	for (uint32_t i = 0; i < 5; i++)
		require_eq(tsr_reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	require_eq(tsr_reclaim(&dev, &bos[5]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_bo_map(&dev, &bos[5]);
	for (uint32_t i = 0; i < 6; i++)
		check_new(&dev, ctx, &bos[i], vis | gart);
	tsr_close(&dev);
}

/* More than TTM has workers. */
#define CROWD 40

/*
 * Objects that a held job uses keep their pages until it ends. No worker waits
 * for that: another client's object, which a worker destroys, goes at once. Some
 * of the objects are closed meanwhile, and end with the job.
 */
static void decommit_behind_job(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[CROWD], theirs = tsr_bo_new(&other, KiB(64), gart, 0);

	tsr_gpu_touch(&other, tsr_context_new(&other, 0), &theirs);
	tsr_bo_wait(&other, &theirs);
	for (uint32_t i = 0; i < CROWD; i++) {
		bos[i] = odd_bo(&dev, i, gart);
		tsr_held_fill(&held, &bos[i], 16, 0x77);
	}
	decommit(&dev, bos, CROWD);
	for (uint32_t i = 0; i < CROWD; i++)
		require(has_pages(&bos[i]));
	tsr_trace_start("destroy", NULL);
	/* It leaves its aperture behind a paging job, so a worker destroys it. */
	tsr_bo_free(&other, &theirs);
	tsr_wait_for(tsr_trace_so_far("destroy", 0) == 1);
	for (uint32_t i = CROWD / 2; i < CROWD; i++)
		tsr_bo_free(&dev, &bos[i]);
	require_eq(tsr_trace_so_far("destroy", 0), 1);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	tsr_wait_for(tsr_trace_so_far("destroy", 0) == 1 + CROWD / 2);
	for (uint32_t i = 0; i < CROWD / 2; i++)
		tsr_wait_for(!has_pages(&bos[i]));
	for (uint32_t i = 0; i < CROWD / 2; i++)
		require_eq(tsr_reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	check_new(&dev, ctx, &bos[0], gart);
	tsr_held_close(&held);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * An object in video memory loses its contents in the call, and leaves its place
 * to others behind the jobs. It can be reclaimed at once, without a worker that
 * waits for these jobs.
 */
static void decommit_busy_memory(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), gart = tsr_bit(tsr_seg_gart(&dev));
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[CROWD], theirs = tsr_bo_new(&other, KiB(64), gart, 0);

	tsr_gpu_touch(&other, tsr_context_new(&other, 0), &theirs);
	tsr_bo_wait(&other, &theirs);
	for (uint32_t i = 0; i < CROWD; i++) {
		bos[i] = odd_bo(&dev, i, vis);
		/* The page-in is over, so that no job needs the pages. */
		tsr_gpu_fill(&dev, ctx, &bos[i], 0x55);
		tsr_held_fill(&held, &bos[i], 16, 0x77);
	}
	decommit(&dev, bos, CROWD);
	for (uint32_t i = 0; i < CROWD; i++) {
		require(!has_pages(&bos[i]));
		require_eq(tsr_reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	}
	tsr_trace_start("destroy", NULL);
	tsr_bo_free(&other, &theirs);
	tsr_wait_for(tsr_trace_so_far("destroy", 0) == 1);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	for (uint32_t i = 0; i < CROWD; i++)
		tsr_words_check(bos[i].map, bos[i].size / 4, 0);
	check_new(&dev, ctx, &bos[0], vis);
	tsr_held_close(&held);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * Objects that are reclaimed before their jobs end keep their contents, even if
 * they are used and offered again before the first callback.
 */
static void decommit_undone(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bos[4];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = odd_bo(&dev, i, gart);
		tsr_held_fill(&held, &bos[i], (uint32_t)(bos[i].size / 4), 0x77);
	}
	decommit(&dev, bos, ARRAY_SIZE(bos));
	for (uint32_t i = 0; i < 3; i++)
		require_eq(tsr_reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_held_fill(&held, &bos[1], 16, 0x88);
	require_ok(offer(&dev, &bos[1]));
	tsr_held_fill(&held, &bos[2], 16, 0x88);
	decommit(&dev, &bos[2], 1);
	tsr_held_go(&held);
	tsr_wait_for(!has_pages(&bos[3]));
	tsr_wait_for(!has_pages(&bos[2]));
	tsr_words_check(bos[0].map, bos[0].size / 4, 0x77);
	require_eq(tsr_reclaim(&dev, &bos[1]), DRM_TESSERA_RECLAIM_KEPT);
	tsr_words_check(bos[1].map, 16, 0x88);
	require_eq(tsr_reclaim(&dev, &bos[2]), DRM_TESSERA_RECLAIM_DISCARDED);
	require_eq(tsr_reclaim(&dev, &bos[3]), DRM_TESSERA_RECLAIM_DISCARDED);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* ---- reclaim behind a paging fence ---------------------------------------- */

/* Return DRM_TESSERA_RECLAIM_*. */
static uint32_t reclaim_behind(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t sync,
			       uint32_t *pending)
{
	uint32_t result = 77;

	require_ok(__tsr_reclaim_behind(dev->fd, &bo->handle, &result, 1, sync, pending));
	return result;
}

/*
 * The call returns while the object's moves wait for a held job. The fence
 * signals behind them, and a job that is submitted meanwhile runs right.
 */
static void reclaim_pending(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev)), pending;
	uint32_t sync = tsr_syncobj_new(&dev), done = tsr_syncobj_new(&dev);
	struct tsr_bo bo = tsr_bo_patterned(&dev, ctx, BYTES, gart, 3);
	struct tsr_bo dst = tsr_bo_new(&dev, BYTES, gart, cpu);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &dst);
	tsr_held_fill(&held, &bo, WORDS, 0x77);
	require_ok(offer(&dev, &bo));
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	require_eq(reclaim_behind(&dev, &bo, sync, &pending), DRM_TESSERA_RECLAIM_KEPT);
	require_eq(pending, 1);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
	require_err(__tsr_syncobj_wait(dev.fd, sync, 0, 0), -ETIME);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &dst, true);
	tsr_cmd_bind_buffer(&cmd, 1, &bo, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, WORDS);
	tsr_submit(&dev, ctx, &cmd, sync, done);
	tsr_cmd_fini(&cmd);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	require_eq(tsr_syncobj_status(&dev, sync), 0);
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_words_check(dst.map, WORDS, 0x77);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/*
 * The call brings objects back to free space, with and without contents. Where
 * there is none it evicts nothing, and the next job brings the object.
 */
static void reclaim_brings_back(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	uint32_t id = tsr_seg_visible(&dev)->id, sync = tsr_syncobj_new(&dev), num, word;
	struct tsr_bo kept = tsr_bo_patterned(&dev, ctx, BYTES, vis, 1);
	struct tsr_bo lost = tsr_bo_patterned(&dev, ctx, BYTES, vis, 2);
	struct tsr_bo out = tsr_bo_patterned(&dev, ctx, BYTES, vis, 3), bos[MAX_OBJECTS];

	tsr_gpu_fill(&dev, ctx, &lost, 0x5555);
	require_ok(offer(&dev, &lost));
	tsr_evict_set(vis);
	require_ok(offer(&dev, &kept));
	require_ok(offer(&dev, &out));
	require_eq(reclaim_behind(&dev, &kept, sync, NULL), DRM_TESSERA_RECLAIM_KEPT);
	require_eq(tsr_bo_info(&dev, &kept).segment, id);
	require_eq(tsr_syncobj_status(&dev, sync), 0);
	tsr_pattern_check(&kept, 1);
	require_eq(reclaim_behind(&dev, &lost, sync, NULL), DRM_TESSERA_RECLAIM_DISCARDED);
	require_eq(tsr_bo_info(&dev, &lost).segment, id);
	require_eq(tsr_syncobj_status(&dev, sync), 0);
	tsr_gpu_read(&dev, ctx, &lost, 77, 1, &word);
	require_eq(word, 0);
	num = (uint32_t)(tsr_seg_visible(&dev)->size / BYTES) - 2;
	for (uint32_t i = 0; i < num; i++)
		bos[i] = tsr_bo_patterned(&dev, ctx, BYTES, vis, 10 + i);
	require_eq(reclaim_behind(&dev, &out, sync, NULL), DRM_TESSERA_RECLAIM_KEPT);
	require_eq(tsr_bo_info(&dev, &out).segment, 0);
	require_eq(tsr_syncobj_status(&dev, sync), 0);
	for (uint32_t i = 0; i < num; i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, id);
	tsr_gpu_touch(&dev, ctx, &out);
	require_eq(tsr_bo_info(&dev, &out).segment, id);
	tsr_pattern_check(&out, 3);
	tsr_close(&dev);
}

static struct tsr_bo private_new(struct tsr_vm *vm, uint32_t which, uint32_t set, uint32_t flags)
{
	struct drm_tessera_bo_create args = {
		.size = odd_size(which),
		.supported = set,
		.flags = DRM_TESSERA_BO_VM_PRIVATE | flags,
		.vm = vm->id,
	};

	require_ok(__tsr_bo_create(vm->dev->fd, &args));
	return (struct tsr_bo){ .handle = args.handle, .size = args.size };
}

/*
 * The same for jobs at virtual addresses: an object that is private to a VM and
 * one that is not, each listed and mapped.
 */
static void reclaim_in_vm(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, KiB(64));
	uint32_t sets[] = { tsr_bit(tsr_seg_visible(&dev)), tsr_bit(tsr_seg_gart(&dev)) };
	uint32_t sync = tsr_syncobj_new(&dev);

	for (uint32_t i = 0; i < 4; i++) {
		struct tsr_bo bo = i < 2 ? tsr_bo_new(&dev, odd_size(i), sets[i % 2], 0)
					 : private_new(&vm, i, sets[i % 2], 0);
		uint64_t at = 0x100000000ull + MiB(i);

		tsr_vm_map(&dev, vm.id, &bo, 0, at, bo.size, 0);
		tsr_make_resident(&dev, &bo, 1);
		tsr_vm_fill(&vm, at, bo.size, 0x11 + i);
		decommit(&dev, &bo, 1);
		tsr_wait_for(!has_pages(&bo));
		require_eq(reclaim_behind(&dev, &bo, sync, NULL), DRM_TESSERA_RECLAIM_DISCARDED);
		require_eq(tsr_syncobj_status(&dev, sync), 0);
		tsr_vm_copy(&vm, TSR_VM_STAGE, at, KiB(64));
		tsr_words_check(stage.map, KiB(64) / 4, 0);
		tsr_vm_fill(&vm, at, bo.size, 0x22 + i);
		require_ok(offer(&dev, &bo));
		require_eq(reclaim_behind(&dev, &bo, sync, NULL), DRM_TESSERA_RECLAIM_KEPT);
		require_eq(tsr_syncobj_status(&dev, sync), 0);
		require(tsr_bo_info(&dev, &bo).segment);
		tsr_vm_copy(&vm, TSR_VM_STAGE, at, KiB(64));
		tsr_words_check(stage.map, KiB(64) / 4, 0x22 + i);
	}
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* A private object of the VM that the CPU has patterned, mapped and listed. */
static struct tsr_bo private_used(struct tsr_vm *vm, uint32_t which, uint64_t at)
{
	struct tsr_bo bo = private_new(vm, which, tsr_bit(tsr_seg_visible(vm->dev)), cpu);

	tsr_bo_map(vm->dev, &bo);
	tsr_pattern_write(&bo, which);
	tsr_vm_map(vm->dev, vm->id, &bo, 0, at, bo.size, 0);
	tsr_make_resident(vm->dev, &bo, 1);
	tsr_vm_fill(vm, at, bo.size, 0x5555);
	return bo;
}

/*
 * The shrinker takes the pages of offered objects while nothing uses them. The
 * objects are reclaimed while another object of the VM moves, so that their
 * reservation is busy. They must read as zero all the same.
 */
static void reclaim_while_others_move(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo bos[16], mover = private_used(&vm, 40, 0x100000000ull);
	uint32_t done = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = private_used(&vm, i, 0x200000000ull + MiB(i));
	tsr_evict_set(tsr_bit(tsr_seg_visible(&dev)));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		tsr_bo_wait(&dev, &bos[i]);
		require_ok(offer(&dev, &bos[i]));
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_wait_for(!tsr_write_file("/proc/sys/vm/drop_caches", "2") &&
			     !has_pages(&bos[i]));
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_make_resident(&dev, &mover, 1);
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), held.gate, done));
	/* It leaves its page tables behind the held job. */
	tsr_vm_unmap(&dev, vm.id, 0x100000000ull, mover.size);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_eq(tsr_reclaim(&dev, &bos[i]), DRM_TESSERA_RECLAIM_DISCARDED);
	require_err(__tsr_syncobj_wait(dev.fd, done, 0, 0), -ETIME);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_words_check(bos[i].map, bos[i].size / 4, 0);
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void reclaim_bad_syncs(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), result;
	struct tsr_bo bo = tsr_bo_new(&dev, BYTES, gart, cpu);
	struct drm_tessera_reclaim_bo element = { .handle = bo.handle };
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	struct drm_tessera_sync sync = {
		.handle = tsr_syncobj_new(&dev),
		.flags = DRM_TESSERA_SYNC_SIGNAL,
	};
	struct drm_tessera_reclaim args = {
		.bos = { sizeof(element), 1, (uintptr_t)&element },
		.syncs = { sizeof(sync), 1, (uintptr_t)&sync },
	};
	struct drm_tessera_sync good = sync;

	require_ok(offer(&dev, &bo));
	args.pad = 1;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args), -EINVAL);
	args.pad = 0;
	sync.flags = 0;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args), -EINVAL);
	sync = tsr_sync_signal(&fence, 1);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args), -EINVAL);
	sync = good;
	sync.handle = 4711;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args), -ENOENT);
	args.syncs.count = dev.info.max_syncs + 1;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args), -E2BIG);
	args.syncs.count = 1;
	sync = good;
	args.bos.array = 8;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args), -EFAULT);
	require_err(__tsr_syncobj_wait(dev.fd, good.handle, 0, 0), -ETIME);
	/* None of these has reclaimed the object. Without objects the fence signals. */
	require_err(__tsr_offer(dev.fd, &bo.handle, 1, low), -EINVAL);
	args.bos.count = 0;
	require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_RECLAIM, &args));
	require_eq(args.pending, 0);
	require_eq(tsr_syncobj_status(&dev, good.handle), 0);
	require_ok(__tsr_reclaim(dev.fd, &bo.handle, &result, 1));
	tsr_fence_free(&dev, &fence);
	tsr_close(&dev);
}

/* ---- instances that a discard may return ------------------------------------ */

/* A newer instance of @bo, which a held job uses then. */
static struct tsr_bo newer(struct tsr_device *dev, struct tsr_held *held, const struct tsr_bo *bo,
			   uint32_t flags)
{
	struct tsr_bo next = { .handle = bo->handle, .size = bo->size };

	tsr_lock(dev, &next, DRM_TESSERA_LOCK_DISCARD | flags);
	tsr_unlock(dev, &next);
	require(next.handle != bo->handle);
	tsr_held_fill(held, &next, WORDS, next.handle);
	return next;
}

/*
 * Idle instances of a client that asks for them are evicted without a copy, as
 * if they were offered. A locked one, the newest one, and those of a client that
 * does not ask keep their contents.
 */
static void spare_instances(uint32_t flags, uint32_t copied)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo bos[4];
	struct tsr_trace trace;
	uint64_t bytes;

	bos[0] = tsr_bo_patterned(&dev, ctx, BYTES, vis, 1);
	tsr_bo_unmap(&bos[0]);
	tsr_held_fill(&held, &bos[0], WORDS, bos[0].handle);
	for (uint32_t i = 1; i < ARRAY_SIZE(bos); i++)
		bos[i] = newer(&dev, &held, &bos[i - 1], flags);
	tsr_held_go(&held);
	tsr_lock(&dev, &bos[1], 0);
	tsr_trace_start("paging_op", NULL);
	tsr_evict_set(vis);
	trace = tsr_trace_stop();
	bytes = tsr_trace_paged(&trace, "transfer", 0);
	tsr_trace_free(&trace);
	require_eq(bytes, copied * BYTES);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bool lost = copied < ARRAY_SIZE(bos) && !(i % 2);

		tsr_bo_map(&dev, &bos[i]);
		tsr_words_check(bos[i].map, WORDS, lost ? 0 : bos[i].handle);
	}
	/* A discard returns a dropped instance, which works like any other. */
	tsr_held_again(&held);
	tsr_held_fill(&held, &bos[3], 16, 0x88);
	bos[3] = newer(&dev, &held, &bos[3], DRM_TESSERA_LOCK_REUSE);
	require_eq(bos[3].handle, bos[0].handle);
	tsr_held_go(&held);
	tsr_words_check(bos[0].map, WORDS, bos[0].handle);
	tsr_held_close(&held);
	tsr_close(&dev);
}

static void spare_is_dropped(void)
{
	spare_instances(DRM_TESSERA_LOCK_REUSE, 2);
}

static void kept_without_reuse(void)
{
	spare_instances(0, 4);
}

static const struct tap_test tests[] = {
	{ "RES-12 decommit of idle objects", decommit_idle, 0, 0 },
	{ "RES-12 decommit behind a job, and no worker waits", decommit_behind_job, 0, 0 },
	{ "RES-12 decommit of video memory in use", decommit_busy_memory, 0, 0 },
	{ "RES-12 decommit undone by a reclaim", decommit_undone, 0, 0 },
	{ "RES-12 MODEL-16 reclaim behind a paging fence", reclaim_pending, 0, 0 },
	{ "RES-12 reclaim brings objects back", reclaim_brings_back, 0, 0 },
	{ "RES-12 MODEL-16 decommit and reclaim in a VM", reclaim_in_vm, 0, 0 },
	{ "RES-12 pages dropped under pressure come back as zero", reclaim_while_others_move, 0,
	  0 },
	{ "RES-12 bad syncs of a reclaim", reclaim_bad_syncs, 0, 0 },
	{ "RES-12 LOCK-29 spare instances are dropped", spare_is_dropped, 0, 0 },
	{ "RES-12 LOCK-29 instances are kept without REUSE", kept_without_reuse, 0, 0 },
};

TSR_TEST_MAIN(tests)
