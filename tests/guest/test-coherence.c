// SPDX-License-Identifier: MIT
/*
 * A device that snoops CPU caches (io-coherent=on). CPU and GPU must see each
 * other's writes, and the driver must do no cache maintenance.
 */
#include <stdlib.h>

#include "trace.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

/* The CPU keeps one mapping all the time and takes no locks. */
static void both_see(struct tsr_device *dev, uint32_t set)
{
	uint32_t ctx = tsr_context_new(dev, 0);
	struct tsr_bo bo = tsr_bo_new(dev, KiB(64), set, cached);
	struct tsr_bo copy = tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_gart(dev)), cached);

	tsr_bo_map(dev, &bo);
	tsr_bo_map(dev, &copy);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&bo, round);
		tsr_gpu_copy(dev, ctx, &copy, &bo);
		tsr_pattern_check(&copy, round);
		tsr_gpu_fill(dev, ctx, &bo, round);
		tsr_words_check(bo.map, bo.size / 4, round);
		tsr_evict_set(set);
		tsr_words_check(bo.map, bo.size / 4, round);
	}
	tsr_bo_free(dev, &copy);
	tsr_bo_free(dev, &bo);
	tsr_context_free(dev, ctx);
}

static void nothing_is_done(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_trace trace;
	char *allocations;
	struct tsr_bo bo;

	require(dev.info.caps & DRM_TESSERA_CAP_IO_COHERENT);
	require(tsr_seg_gart(&dev)->flags & DRM_TESSERA_SEGMENT_CACHE_COHERENT);
	tsr_trace_start("cache_maintenance", "place", NULL);
	both_see(&dev, tsr_bit(tsr_seg_gart(&dev)));
	both_see(&dev, tsr_bit(tsr_seg_visible(&dev)));
	trace = tsr_trace_stop();
	require(tsr_trace_count(&trace, "place") > 0);
	require_eq(tsr_trace_count(&trace, "cache_maintenance"), 0);
	tsr_trace_free(&trace);

	/* The driver also keeps no coherence state for the object. */
	bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), cached);
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 1);
	allocations = tsr_debugfs_read("allocations");
	require(strstr(allocations, " size 65536 "));
	require(!strstr(allocations, " gpu "));
	free(allocations);
	tsr_close(&dev);
}

/*
 * Each mapping of cached pages must have the snoop bit, in each aperture and in
 * a VM. An access without it would read stale bytes after a CPU store, and the
 * device would count it as an error.
 */
static void each_mapping_snoops(void)
{
	const uint32_t read_only = DRM_TESSERA_BO_GPU_READ_ONLY;
	struct tsr_device dev = tsr_open();
	const struct {
		uint32_t set, flags;
	} rows[] = {
		{ tsr_bit(tsr_seg_gart(&dev)), cached },
		{ tsr_bit(tsr_seg_gart(&dev)), DRM_TESSERA_BO_CPU_ACCESS },
		{ tsr_bit(tsr_seg_ro(&dev)), cached | read_only },
		{ tsr_bit(tsr_seg_ro(&dev)), DRM_TESSERA_BO_CPU_ACCESS | read_only },
	};
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo copy = tsr_bo_new(&dev, KiB(64), rows[0].set, cached);
	struct tsr_vm vm = tsr_vm_open(&dev);
	const uint64_t from = 0x10000000, to = 0x20000000;

	tsr_bo_map(&dev, &copy);
	tsr_vm_place(&vm, &copy);
	tsr_vm_map(&dev, vm.id, &copy, 0, to, copy.size, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), rows[i].set, rows[i].flags);

		tsr_bo_map(&dev, &bo);
		tsr_vm_place(&vm, &bo);
		tsr_vm_map(&dev, vm.id, &bo, 0, from, bo.size, 0);
		for (uint32_t round = 1; round < 4; round++) {
			tsr_pattern_write(&bo, 10 * i + round);
			tsr_gpu_copy(&dev, ctx, &copy, &bo);
			tsr_pattern_check(&copy, 10 * i + round);
			tsr_pattern_write(&bo, 100 * i + round);
			tsr_vm_copy(&vm, to, from, bo.size);
			tsr_pattern_check(&copy, 100 * i + round);
		}
		tsr_vm_unmap(&dev, vm.id, from, bo.size);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/* INVALIDATE_CACHE checks its arguments as usual and then does nothing. */
static void call_does_nothing(void)
{
	const uint32_t explicit_sync = DRM_TESSERA_BO_EXPLICIT_SYNC;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), gart, cached | explicit_sync);
	struct tsr_bo copy = tsr_bo_new(&dev, KiB(64), gart, cached);
	struct tsr_trace trace;

	tsr_bo_map(&dev, &bo);
	tsr_bo_map(&dev, &copy);
	tsr_trace_start("cache_maintenance", "cpu_fault", NULL);
	tsr_pattern_write(&bo, 1);
	tsr_invalidate_cache(&dev, &bo);
	tsr_gpu_copy(&dev, ctx, &copy, &bo);
	tsr_pattern_check(&copy, 1);
	tsr_invalidate_cache(&dev, &copy);
	trace = tsr_trace_stop();
	require(tsr_trace_count(&trace, "cpu_fault") > 0);
	require_eq(tsr_trace_count(&trace, "cache_maintenance"), 0);
	tsr_trace_free(&trace);
	require_err(__tsr_invalidate_cache(dev.fd, bo.handle, KiB(64), 1), -EINVAL);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "COH-1 COH-3 a coherent device sees current bytes without maintenance", nothing_is_done,
	  0, 60 },
	{ "COH-13 each mapping of cached pages snoops", each_mapping_snoops, 0, 60 },
	{ "COH-12 INVALIDATE_CACHE does nothing on a coherent device", call_does_nothing, 0, 60 },
};

TSR_TEST_MAIN(tests)
