// SPDX-License-Identifier: MIT
/*
 * Write sets of objects (SEG-38). A job that only reads an object must find it
 * in any supported segment, without a move. The first job that writes it must
 * move it to the write set, with its contents. Jobs of VMs, which do not say
 * what they write, must always find it there.
 */
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

/* An object that prefers @reads, and that jobs write in @writes only. */
static struct tsr_bo new_bo(struct tsr_device *dev, uint64_t size,
			    const struct drm_tessera_query_segment *reads,
			    const struct drm_tessera_query_segment *writes)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = tsr_bit(reads) | tsr_bit(writes),
		.flags = cached,
		.num_preferred = 1,
		.preferred = { (uint8_t)reads->id },
		.write_set = tsr_bit(writes),
	};
	struct tsr_bo bo = { .size = size };

	require_ok(__tsr_bo_create(dev->fd, &args));
	bo.handle = args.handle;
	require_eq(tsr_bo_info(dev, &bo).write_set, args.write_set);
	return bo;
}

/* One job that reads the object at its first split point, and writes it later. */
static void read_and_write(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo,
			   const struct tsr_bo *copy)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, false);
	tsr_cmd_bind_buffer(&cmd, 1, copy, true);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 1, 0, 0, 1000, 16);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 0xf111);
	tsr_submit_done(dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
}

/* @reads is an aperture, in which the CPU writes the first contents. */
static void first_writer_moves(
	const struct drm_tessera_query_segment *(*reads)(struct tsr_device *))
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *from = reads(&dev), *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo copy = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), cached);

	tsr_bo_map(&dev, &copy);
	for (uint32_t split = 0; split < 2; split++) {
		struct tsr_bo bo = new_bo(&dev, MiB(1), from, vis);
		struct tsr_trace trace;

		tsr_bo_map(&dev, &bo);
		tsr_pattern_write(&bo, 70 + split);
		tsr_knob("force_split", split ? "1" : "0");
		for (uint32_t i = 0; i < 2; i++) {
			tsr_gpu_copy(&dev, ctx, &copy, &bo);
			tsr_pattern_check(&copy, 70 + split);
			require_eq(tsr_bo_info(&dev, &bo).segment, from->id);
		}
		read_and_write(&dev, ctx, &bo, &copy);
		require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
		/* readers after that leave it where it is */
		tsr_trace_start("paging_op", NULL);
		tsr_gpu_copy(&dev, ctx, &copy, &bo);
		trace = tsr_trace_stop();
		require_eq(tsr_trace_count(&trace, "paging_op"), 0);
		tsr_trace_free(&trace);
		require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
		tsr_knob("force_split", "0");
		tsr_words_check(copy.map, 16, 0xf111);
		for (uint64_t i = 16; i < bo.size / 4; i++)
			tsr_pattern_require(((uint32_t *)copy.map)[i], 70 + split, i);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

static void from_read_only_aperture(void)
{
	first_writer_moves(tsr_seg_ro);
}

static void from_aperture(void)
{
	first_writer_moves(tsr_seg_gart);
}

/*
 * The write set is full of another object that the same split point needs: only
 * a job that writes the object has no space.
 */
static void space_in_the_write_set(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo all = tsr_bo_new(&dev, vis->size, tsr_bit(vis), 0);
	struct drm_tessera_submit submit;

	for (uint32_t write = 0; write < 2; write++) {
		struct tsr_bo bo = new_bo(&dev, KiB(64), vis, gart);
		struct tsr_bo other = new_bo(&dev, KiB(64), gart, vis);
		struct tsr_cmd cmd;

		tsr_cmd_init(&cmd);
		tsr_cmd_group_begin(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &all, true);
		tsr_cmd_bind_buffer(&cmd, 1, &bo, true);
		tsr_cmd_bind_buffer(&cmd, 2, &other, write);
		tsr_cmd_group_end(&cmd);
		require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &submit), write ? -ENOSPC : 0);
		tsr_cmd_fini(&cmd);
		if (!write) {
			require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
			require_eq(tsr_bo_info(&dev, &other).segment, gart->id);
		}
		tsr_bo_free(&dev, &other);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/* A listed object is in the write set, one that no job writes where it prefers. */
static void listed(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo copy = tsr_bo_new(&dev, KiB(64), tsr_bit(gart), cached);
	struct tsr_bo bo = new_bo(&dev, KiB(64), gart, hid), fixed, stage;
	struct tsr_vm vm = tsr_vm_open(&dev);

	/* a reader with a list brings it to where it prefers */
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 7);
	tsr_gpu_copy(&dev, ctx, &copy, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
	tsr_vm_map(&dev, vm.id, &bo, 0, 0x100000000ull, bo.size, 0);
	tsr_vm_place(&vm, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, hid->id);
	stage = tsr_vm_stage_new(&vm, bo.size);
	tsr_bo_map(&dev, &stage);
	tsr_vm_copy(&vm, TSR_VM_STAGE, 0x100000000ull, bo.size);
	tsr_pattern_check(&stage, 7);
	/* a reader with a list uses it there */
	tsr_gpu_copy(&dev, ctx, &copy, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, hid->id);

	fixed = tsr_bo_prefers(&dev, KiB(64), gart, tsr_bit(hid), DRM_TESSERA_BO_GPU_READ_ONLY);
	require_eq(tsr_bo_info(&dev, &fixed).write_set, 0);
	require_ok(__tsr_make_one(&dev, &fixed));
	require_eq(tsr_bo_info(&dev, &fixed).segment, gart->id);
	tsr_close(&dev);
}

/*
 * While LOCK2 shows the system pages, readers use them in the aperture. A job of
 * the same file that writes needs memory, and is refused until the unlock.
 */
static void locked(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo copy = tsr_bo_new(&dev, KiB(64), tsr_bit(gart), cached);
	struct tsr_bo bo = new_bo(&dev, KiB(64), gart, hid);

	tsr_bo_map(&dev, &bo);
	tsr_bo_map(&dev, &copy);
	require_ok(__tsr_lock2(dev.fd, bo.handle, 0, NULL));
	tsr_pattern_write(&bo, 9);
	tsr_gpu_copy(&dev, ctx, &copy, &bo);
	tsr_pattern_check(&copy, 9);
	require_eq(tsr_bo_info(&dev, &bo).segment, gart->id);
	require_err(__tsr_submit_use(&dev, ctx, &bo, true), -EBUSY);
	require_ok(__tsr_unlock2(dev.fd, bo.handle));
	require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
	require_eq(tsr_bo_info(&dev, &bo).segment, hid->id);
	tsr_close(&dev);
}

/* A renamed instance has the write set of the old one. */
static void renamed(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = new_bo(&dev, KiB(64), tsr_seg_gart(&dev), vis);
	uint32_t old = bo.handle;
	struct tsr_stuck stuck = tsr_stuck_start(&dev, ctx);

	require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
	tsr_lock(&dev, &bo, DRM_TESSERA_LOCK_WRITE_ONLY | DRM_TESSERA_LOCK_DISCARD);
	require(bo.handle != old);
	require_eq(tsr_bo_info(&dev, &bo).write_set, tsr_bit(vis));
	tsr_unlock(&dev, &bo);
	tsr_stuck_end(&stuck);
	tsr_close(&dev);
}

static void refused(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), ro = tsr_bit(tsr_seg_ro(&dev));
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	uint64_t vis_size = tsr_seg_visible(&dev)->size;
	const struct {
		uint64_t size;
		uint32_t supported, write_set, flags;
		int error;
	} rows[] = {
		{ KiB(4), vis, vis | gart, 0, -EINVAL },
		{ KiB(4), vis, 1u << 31, 0, -EINVAL },
		{ KiB(4), vis, 1, 0, -EINVAL },
		{ KiB(4), vis | ro, ro, 0, -EINVAL },
		{ KiB(4), vis, vis, DRM_TESSERA_BO_GPU_READ_ONLY, -EINVAL },
		{ 2 * vis_size, vis | gart, vis, 0, -E2BIG },
		{ 2 * vis_size, vis | gart, gart, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drm_tessera_bo_create args = {
			.size = rows[i].size,
			.supported = rows[i].supported,
			.flags = rows[i].flags,
			.write_set = rows[i].write_set,
		};
		int rc = __tsr_bo_create(dev.fd, &args);

		require_msg(rc == rows[i].error, "row %zu: expected %d, it is %d", i, rows[i].error,
			    rc);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-38 the first writer moves an object out of a read-only aperture",
	  from_read_only_aperture, 0, 0 },
	{ "SEG-38 the first writer moves an object out of an aperture", from_aperture, 0, 0 },
	{ "SEG-38 only writers need space in the write set", space_in_the_write_set, 0, 0 },
	{ "SEG-38 MODEL-7 a listed object is in its write set", listed, 0, 0 },
	{ "SEG-38 a lock that shows pages keeps writers out", locked, 0, 0 },
	{ "SEG-38 a renamed instance has the write set", renamed, 0, 0 },
	{ "SEG-38 bad write sets are refused", refused, 0, 0 },
};

TSR_TEST_MAIN(tests)
