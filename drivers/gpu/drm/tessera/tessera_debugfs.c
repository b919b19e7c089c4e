// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: debugfs
 *
 * Tables for developers and tests, and settings for tests. The files are no
 * ABI. A file that walks a list holds the lock of that list. Values are
 * snapshots.
 */

#include <linux/debugfs.h>
#include <linux/dma-resv.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "base/device.h"
#include "base/wait.h"
#include "client/client.h"
#include "cpu/cpu.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"
#include "tessera_drv.h"

#define PING_SAMPLES	15

static void show_holes(struct drm_printer *p, struct tessera_manager *mgr)
{
	struct drm_mm_node *node;
	u64 start, end, largest = 0;
	u32 holes = 0;

	mutex_lock(&mgr->lock);
	drm_mm_for_each_hole(node, &mgr->mm, start, end) {
		holes++;
		largest = max(largest, end - start);
	}
	drm_printf(p, "  committed %llu peak %llu holes %u largest %llu\n", mgr->committed,
		   mgr->peak, holes, largest << PAGE_SHIFT);
	mutex_unlock(&mgr->lock);
}

/* Sum up the bytes of page tables in each segment. */
static void sum_tables(struct tessera_device *tdev, u64 *bytes)
{
	const struct tessera_segment *seg;
	struct tessera_bo *bo;
	u32 id = 0;

	for (; (bo = tessera_bo_next(tdev, id)); tessera_bo_put(bo)) {
		id = bo->id;
		if (!bo->tables)
			continue;
		dma_resv_lock(bo->tbo.base.resv, NULL);
		seg = tessera_bo_segment(bo);
		if (seg)
			bytes[seg->index] += tessera_bo_bytes(bo);
		dma_resv_unlock(bo->tbo.base.resv);
	}
}

static void segments_print(struct tessera_device *tdev, struct drm_printer *p)
{
	u64 tables[TESSERA_MAX_SEGMENTS] = { };
	u32 i;

	sum_tables(tdev, tables);
	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		drm_printf(p, "segment %u %s base 0x%llx size %llu commit %llu",
			   seg->id, seg->name, seg->base, seg->size, seg->commit);
		drm_printf(p, " page %u flags 0x%x used %llu looked %llu", seg->page_size,
			   seg->flags, tessera_manager_used(tdev, i),
			   READ_ONCE(tessera_manager_of(tdev, i)->looked));
		drm_printf(p, " tables %llu\n", tables[i]);
		show_holes(p, tessera_manager_of(tdev, i));
		tessera_account_print(tdev, i, p);
	}
}

static void show_bo(struct drm_printer *p, struct tessera_bo *bo)
{
	const struct tessera_segment *seg;
	u32 i;

	/*
	 * Another driver may hold the reservation of a shared object for any
	 * time, and unplug waits for a crash dump that is being made.
	 */
	if (!READ_ONCE(bo->sharing.exported)) {
		dma_resv_lock(bo->tbo.base.resv, NULL);
	} else if (!dma_resv_trylock(bo->tbo.base.resv)) {
		drm_printf(p, "bo %u size %zu reserved\n", bo->id, bo->tbo.base.size);
		return;
	}
	seg = tessera_bo_segment(bo);
	drm_printf(p, "bo %u size %zu segment %u offset 0x%llx set 0x%x evict_to 0x%x preferred",
		   bo->id, bo->tbo.base.size, seg ? seg->id : 0,
		   tessera_bo_segment_offset(bo), bo->supported, bo->evict_to);
	for (i = 0; i < bo->num_preferred; i++)
		drm_printf(p, "%c%u", i ? ',' : ' ', bo->preferred[i]);
	drm_printf(p, " write 0x%x priority %d align 0x%llx", bo->writable,
		   bo->priority + DRM_TESSERA_BO_PRIORITY_MIN,
		   (u64)bo->tbo.page_alignment << PAGE_SHIFT);
	drm_printf(p, " flags 0x%x layout %u pitch %u client %u pins %u page 0x%llx",
		   bo->flags, bo->layout, bo->pitch, bo->account->id, bo->pins,
		   tessera_backing_first_page(bo));
	drm_printf(p, " instance %u last_use %llu listed %llu runs %u", bo->instance.number,
		   bo->last_use, bo->residency.num,
		   seg ? tessera_bo_placement(bo)->num_extents : 0);
	tessera_coherence_print(bo, p);
	if (bo->label)
		drm_printf(p, " label \"%s\"", bo->label);
	drm_printf(p, "%s%s%s%s%s\n", bo->tables ? " tables" : "",
		   bo->copy == TESSERA_COPY_VALID ? " clean" : "",
		   READ_ONCE(bo->locks.held) ? " locked" : "",
		   tessera_bo_is_immovable(bo) ? " shown" : "",
		   dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP) ?
		   "" : " busy");
	dma_resv_unlock(bo->tbo.base.resv);
}

static void allocations_print(struct tessera_device *tdev, struct drm_printer *p)
{
	struct tessera_bo *bo;
	u32 id = 0;

	while ((bo = tessera_bo_next(tdev, id))) {
		id = bo->id;
		show_bo(p, bo);
		tessera_bo_put(bo);
	}
}

static void rings_print(struct tessera_device *tdev, struct drm_printer *p)
{
	u32 i;

	for (i = 0; i < tessera_engine_num(tdev); i++)
		tessera_engine_print(tessera_engine_get(tdev, i), p);
}

static void waits_print(struct tessera_device *tdev, struct drm_printer *p)
{
	tessera_wait_print(p);
}

/* Crash dumps have the same tables. The longest one is the last. */
static const struct table {
	const char *name;
	void (*print)(struct tessera_device *tdev, struct drm_printer *p);
} tables[] = {
	{ "errors", tessera_error_print },
	{ "rings", rings_print },
	{ "segments", segments_print },
	{ "host_aperture", tessera_host_aperture_print },
	{ "swizzle_ranges", tessera_swizzle_range_print },
	{ "waits", waits_print },
	{ "allocations", allocations_print },
};

static int table_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	const struct table *table = entry->file.data;
	struct drm_printer p = drm_seq_file_printer(m);

	table->print(to_tessera_device(entry->dev), &p);

	return 0;
}

/**
 * tessera_tables_print() - print all tables, for a crash dump
 * @tdev: the device
 * @p: the printer
 *
 * May sleep.
 */
void tessera_tables_print(struct tessera_device *tdev, struct drm_printer *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		drm_printf(p, "\n**** %s ****\n", tables[i].name);
		tables[i].print(tdev, p);
	}
}

static int timeout_get(void *data, u64 *value)
{
	*value = tessera_engine_timeout_ms(data);
	return 0;
}

static int timeout_set(void *data, u64 value)
{
	if (!value || value > U32_MAX)
		return -EINVAL;

	tessera_sched_set_timeout_ms(data, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(timeout_fops, timeout_get, timeout_set, "%llu\n");

/*
 * Write the number of an engine: the job that it executes counts as hung. So a
 * test can have one job time out without a short timeout for all others.
 */
static int expire_job_set(void *data, u64 value)
{
	struct tessera_engine *engine;

	engine = value > U32_MAX ? NULL : tessera_engine_get(data, value);
	if (!engine)
		return -EINVAL;

	return tessera_reset_expire(engine);
}
DEFINE_DEBUGFS_ATTRIBUTE(expire_job_fops, NULL, expire_job_set, "%llu\n");

/*
 * Write a mask of segment ids to evict all objects from these segments that are
 * not scanned out, so that a test can see them return.
 */
static int evict_all_set(void *data, u64 value)
{
	if (value > U32_MAX)
		return -EINVAL;

	return tessera_victims_empty(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(evict_all_fops, NULL, evict_all_set, "%llu\n");

/*
 * Write the id of an object: the thread holds its reservation until no job uses
 * the object any more. Tests look how other threads deal with a locked object.
 */
static int lock_bo_set(void *data, u64 id)
{
	struct tessera_device *tdev = data;
	struct tessera_bo *bo = id && id <= U32_MAX ? tessera_bo_next(tdev, id - 1) : NULL;
	struct dma_resv *resv;
	long ret;

	if (!bo)
		return -EINVAL;
	resv = bo->tbo.base.resv;
	dma_resv_lock(resv, NULL);
	/* Unplug waits for the end of this call before it cancels jobs. */
	do
		ret = tessera_wait_resv(TESSERA_WAIT_SUSPEND, resv, DMA_RESV_USAGE_BOOKKEEP, true,
					HZ / 10);
	while (!ret && !drm_dev_is_unplugged(&tdev->drm));
	dma_resv_unlock(resv);
	tessera_bo_put(bo);

	return min(ret, 0L);
}
DEFINE_DEBUGFS_ATTRIBUTE(lock_bo_fops, NULL, lock_bo_set, "%llu\n");

/* Write any value to record the next error of each type again. */
static int errors_rearm_set(void *data, u64 value)
{
	tessera_error_collect(data, true);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(errors_rearm_fops, NULL, errors_rearm_set, "%llu\n");

static int compare_ns(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/*
 * Time in ns from a register write to the wakeup of a waiter. Takes the median,
 * because single values vary with the load of the host.
 */
static int ping_get(void *data, u64 *value)
{
	struct tessera_device *tdev = data;
	u64 ns[PING_SAMPLES];
	int i, idx, ret = 0;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	for (i = 0; i < PING_SAMPLES && !ret; i++)
		ret = tessera_irq_ping(tdev, &ns[i]);
	drm_dev_exit(idx);
	if (ret)
		return ret;

	sort(ns, PING_SAMPLES, sizeof(ns[0]), compare_ns, NULL);
	*value = ns[PING_SAMPLES / 2];

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(ping_fops, ping_get, NULL, "%llu\n");

/**
 * tessera_debugfs_init() - &drm_driver.debugfs_init
 * @minor: one of the device's minors
 */
void tessera_debugfs_init(struct drm_minor *minor)
{
	struct tessera_device *tdev = to_tessera_device(minor->dev);
	struct dentry *root = minor->debugfs_root;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		drm_debugfs_add_file(minor->dev, tables[i].name, table_show, (void *)&tables[i]);

	debugfs_create_file("job_timeout_ms", 0600, root, tdev, &timeout_fops);
	debugfs_create_file("expire_job", 0200, root, tdev, &expire_job_fops);
	debugfs_create_u32("paging_ib_bytes", 0600, root, &tdev->paging_ib_bytes);
	debugfs_create_file("ping", 0400, root, tdev, &ping_fops);
	debugfs_create_u32("force_split", 0600, root, &tdev->force_split);
	debugfs_create_u32("force_split_seed", 0600, root, &tdev->force_split_seed);
	debugfs_create_u32("split_cut_cost_kib", 0600, root, &tdev->split_cut_cost_kib);
	debugfs_create_u32("group_timeouts", 0600, root, &tdev->group_timeouts);
	debugfs_create_u32("passing_ms", 0600, root, &tdev->passing_ms);
	debugfs_create_u32("attach_ms", 0600, root, &tdev->attach_ms);
	debugfs_create_u32("demand_period_ms", 0600, root, &tdev->demand_period_ms);
	debugfs_create_u32("trim_grace_ms", 0600, root, &tdev->trim_grace_ms);
	debugfs_create_u32("max_tables", 0600, root, &tdev->max_tables);
	debugfs_create_file("evict_all", 0200, root, tdev, &evict_all_fops);
	debugfs_create_file("lock_bo", 0200, root, tdev, &lock_bo_fops);
	debugfs_create_file("errors_rearm", 0200, root, tdev, &errors_rearm_fops);
	debugfs_create_ulong("retain_limit_pages", 0600, root, &tdev->retain->limit);
	debugfs_create_bool("keep_system_copy", 0600, root, &tdev->retain->keep_copy);
}
