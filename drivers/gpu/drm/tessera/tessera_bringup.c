// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: device
 *
 * The order in which the blocks of the driver are set up and torn down.
 * Hardware resources are managed by the bound device (devm, pcim). Everything
 * that an open file can reach is managed by the DRM device (drmm). Its actions
 * run in reverse order after the last file is closed.
 *
 * Probe sets up registers, vectors, jobs and engines, microcode, segments and
 * TTM, in this order. Unbind stops new work, stops the engines, signals every
 * fence and zaps all mappings of the BARs. Files may stay open on the absent
 * device.
 */

#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "cpu/cpu.h"
#include "exec/exec.h"
#include "gem/gem.h"
#include "hw/hw.h"
#include "kms/kms.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "tessera_drv.h"
#include "vm/vm.h"

#define TESSERA_RESET_TIMEOUT_US	(5 * USEC_PER_SEC)
/*
 * By then all jobs are cancelled, but releasing them may need reservations that
 * other drivers hold.
 */
#define TESSERA_DRAIN_TIMEOUT		(15 * HZ)

/*
 * Resize BAR 2 to cover all VRAM, if the device supports that (CHA-11). If the
 * kernel has no address space for that, the BAR keeps its size, and the host
 * aperture reaches the rest. Other BARs of the device may move. This therefore
 * comes before pcim_enable_device(), which refuses a BAR without an address
 * and turns decoding on again.
 */
static void tessera_device_resize_bar(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	int size = fls64(pci_rebar_get_possible_sizes(pdev, TSR_BAR_VRAM)) - 1;
	u64 old = pci_resource_len(pdev, TSR_BAR_VRAM);
	u16 command;
	int ret;

	if (!old || size <= pci_rebar_bytes_to_size(old))
		return;
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	pci_write_config_word(pdev, PCI_COMMAND, command & ~PCI_COMMAND_MEMORY);
	ret = tessera_compat_resize_bar(pdev, TSR_BAR_VRAM, size);
	pci_assign_unassigned_bus_resources(pdev->bus);
	if (ret)
		drm_info(&tdev->drm, "BAR %u stays at %llu MiB, %llu MiB are refused: %d\n",
			 TSR_BAR_VRAM, old >> 20, 1ull << size, ret);
}

static int tessera_device_map(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	int ret;

	tessera_device_resize_bar(tdev);
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	if (pci_resource_len(pdev, TSR_BAR_MMIO) < TSR_MMIO_SIZE) {
		drm_err(&tdev->drm, "register BAR too small\n");
		return -ENODEV;
	}
	tdev->split_cut_cost_kib = TESSERA_SPLIT_CUT_COST_KIB;
	tdev->group_timeouts = TESSERA_GROUP_TIMEOUTS;
	tdev->attach_ms = TESSERA_ATTACH_MS;
	tdev->mmio = pcim_iomap_region(pdev, TSR_BAR_MMIO, "tessera");
	if (IS_ERR(tdev->mmio))
		return PTR_ERR(tdev->mmio);
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(TSR_ADDRESS_BITS));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	pci_set_master(pdev);

	return 0;
}

/* Reset the device from any state that an earlier driver left. */
static int tessera_device_reset_hw(struct tessera_device *tdev)
{
	u32 magic = tessera_read32(tdev, TSR_ID_MAGIC);

	if (magic != TSR_ID_MAGIC_VALUE) {
		drm_err(&tdev->drm, "not a Tessera: magic 0x%08x\n", magic);
		return -ENODEV;
	}
	tessera_write32(tdev, TSR_CTRL_RESET, TSR_RESET_MAGIC);
	if (tessera_poll32(tdev, TSR_CTRL_STATUS, TSR_STATUS_RESETTING, 0,
			   TESSERA_RESET_TIMEOUT_US)) {
		drm_err(&tdev->drm, "the device does not come out of reset\n");
		return -ETIMEDOUT;
	}

	return 0;
}

static int tessera_device_identify(struct tessera_device *tdev)
{
	struct tessera_device_info *info = &tdev->info;

	info->version = tessera_read32(tdev, TSR_ID_VERSION);
	info->caps = tessera_read32(tdev, TSR_ID_CAPS);
	info->num_segments = tessera_read32(tdev, TSR_ID_NUM_SEGMENTS);
	info->num_engines = tessera_read32(tdev, TSR_ID_NUM_ENGINES);
	info->num_slots = tessera_read32(tdev, TSR_ID_NUM_SLOTS);
	info->num_swizzle_ranges = tessera_read32(tdev, TSR_ID_NUM_SWIZZLE_RANGES);
	info->max_ib_bytes = tessera_read32(tdev, TSR_ID_MAX_IB_BYTES);
	info->hidden_base = tessera_read64(tdev, TSR_ID_HIDDEN_BASE_LO);
	info->hidden_size = tessera_read64(tdev, TSR_ID_HIDDEN_SIZE_LO);

	if (info->version >> 16 != TSR_ID_VERSION_VALUE >> 16) {
		drm_err(&tdev->drm, "hardware version 0x%08x not supported\n", info->version);
		return -ENODEV;
	}
	if (!info->num_engines || info->num_engines > TSR_MAX_ENGINES ||
	    !info->num_segments || info->num_segments > TSR_MAX_SEGMENTS ||
	    !info->num_slots || info->num_slots > TSR_MAX_SLOTS ||
	    info->max_ib_bytes < TSR_PAGE_SIZE) {
		drm_err(&tdev->drm, "bad identification: %u engines, %u segments, %u slots, IBs of %u bytes\n",
			info->num_engines, info->num_segments, info->num_slots,
			info->max_ib_bytes);
		return -ENODEV;
	}

	return 0;
}

static int tessera_device_dummy_page(struct tessera_device *tdev)
{
	tdev->dummy_page = dmam_alloc_coherent(tdev->drm.dev, TSR_PAGE_SIZE,
					       &tdev->dummy_dma, GFP_KERNEL);
	if (!tdev->dummy_page)
		return -ENOMEM;
	tessera_write64(tdev, TSR_CTRL_DUMMY_PAGE_LO, tdev->dummy_dma);

	return 0;
}

/*
 * Tell lockdep at probe that each kind of wait may depend on a fence, and that
 * memory may be allocated below a reservation.
 */
static void tessera_device_prime_locks(struct tessera_device *tdev)
{
	struct dma_resv resv;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	tessera_wait_prime();

	dma_resv_init(&resv);
	dma_resv_lock(&resv, NULL);
	might_alloc(GFP_KERNEL);
	dma_resv_unlock(&resv);
	dma_resv_fini(&resv);
}

static void tessera_device_drain(struct drm_device *drm, void *data)
{
	tessera_job_queue_drain(data, MAX_SCHEDULE_TIMEOUT);
}

static int tessera_device_init_exec(struct tessera_device *tdev)
{
	int ret;

	ret = tessera_reset_init(tdev);
	if (ret)
		return ret;
	ret = tessera_irq_init(tdev);
	if (ret)
		return ret;
	ret = tessera_error_init(tdev);
	if (ret)
		return ret;
	ret = tessera_ib_init(tdev);
	if (ret)
		return ret;
	ret = tessera_job_queue_init(tdev);
	if (ret)
		return ret;
	ret = tessera_dump_init(tdev);
	if (ret)
		return ret;
	ret = tessera_engines_init(tdev);
	if (ret)
		return ret;
	tessera_reset_register(tdev);
	tessera_irq_enable(tdev);
	ret = tessera_engines_start(tdev);
	if (ret)
		return ret;

	return tessera_firmware_load(tdev);
}

static const struct tessera_upcalls upcalls = {
	.window_close = tessera_cpu_window_close,
	.window_pfn = tessera_cpu_window_pfn,
	.keep_out = tessera_locks_exclude_memory,
	.moves = tessera_residency_entry_moves,
	.moved = tessera_residency_entry_settle,
	.handle_closed = tessera_residency_entry_close,
	.remap_push = tessera_remap_push,
	.remap_drop = tessera_remap_drop,
	.remap_users = tessera_remap_users,
};

static int tessera_device_init_mem(struct tessera_device *tdev)
{
	tdev->upcalls = &upcalls;

	return tessera_space_events_init(tdev) ?:
	       tessera_segment_init(tdev) ?:
	       tessera_budget_init(tdev) ?:
	       tessera_context_init(tdev) ?:
	       tessera_gate_init(tdev) ?:
	       tessera_value_pages_init(tdev) ?:
	       tessera_users_init(tdev) ?:
	       tessera_unplug_init(tdev) ?:
	       tessera_cpu_window_init(tdev) ?:
	       tessera_page_tables_init(tdev) ?:
	       tessera_ttm_init(tdev);
}

/**
 * tessera_device_init() - set up everything except for the DRM registration
 * @tdev: the device
 *
 * On failure the engines are stopped. The managed resources are released by
 * devm and drmm.
 *
 * Return: 0 or a negative error.
 */
int tessera_device_init(struct tessera_device *tdev)
{
	int ret;

	init_rwsem(&tdev->reset_lock);
	spin_lock_init(&tdev->reg_window_lock);
	tessera_device_prime_locks(tdev);

	ret = tessera_lifetime_init(tdev);
	if (ret)
		return ret;
	ret = tessera_device_map(tdev);
	if (ret)
		return ret;
	tessera_error_report_stale(tdev);
	ret = tessera_device_reset_hw(tdev);
	if (ret)
		return ret;
	ret = tessera_device_identify(tdev);
	if (ret)
		return ret;
	ret = tessera_device_dummy_page(tdev);
	if (ret)
		return ret;
	ret = tessera_device_init_exec(tdev);
	if (!ret)
		ret = tessera_device_init_mem(tdev);
	/*
	 * Added last, so that it runs first: jobs hold references to what the
	 * other actions free.
	 */
	if (!ret)
		ret = drmm_add_action_or_reset(&tdev->drm, tessera_device_drain, tdev);
	if (!ret)
		ret = tessera_kms_init(tdev);
	if (ret) {
		tessera_engines_cancel(tdev);
		/*
		 * The microcode's job may not be released yet, and uses its
		 * engine.
		 */
		if (tdev->release)
			tessera_job_queue_drain(tdev, MAX_SCHEDULE_TIMEOUT);
	}

	return ret;
}

/**
 * tessera_device_unplug() - stop using the hardware
 * @tdev: the device; files may be open and jobs running
 *
 * On return the hardware is stopped, every fence that depended on it is
 * signalled and none of it is mapped. All waits for fences and calls of other
 * drivers are bounded.
 */
void tessera_device_unplug(struct tessera_device *tdev)
{
	drm_dev_unplug(&tdev->drm);
	tessera_irq_disable(tdev);
	tessera_page_tables_lose_all(tdev);
	tessera_space_signal_all(tdev);
	tessera_engines_cancel(tdev);
	if (!tessera_job_queue_drain(tdev, TESSERA_DRAIN_TIMEOUT))
		drm_warn(&tdev->drm, "gone with jobs that are not released\n");
	tessera_ib_unplug(tdev);
	/*
	 * Commits wait for moves of their framebuffers, which have ended by
	 * now.
	 */
	tessera_kms_unplug(tdev);
	tessera_value_pages_unplug(tdev);
	tessera_unplug_objects(tdev);
	tessera_error_unplug(tdev);
}

/*
 * Ids of the segments that lose their contents in standby or, with @hibernate,
 * in hibernation.
 */
static u32 lost_segments(struct tessera_device *tdev, bool hibernate)
{
	u32 i, lost = 0;

	for (i = 0; i < tessera_segment_count(tdev); i++) {
		const struct tessera_segment *seg = tessera_segment_by_index(tdev, i);

		if (hibernate || !(seg->flags & TSR_SEGF_PRESERVED_STANDBY))
			lost |= BIT(seg->id);
	}

	return lost;
}

/**
 * tessera_device_suspend() - prepare for losing power
 * @tdev: the device; user space is frozen
 * @hibernate: another kernel may use the device before tessera_device_resume()
 *
 * Evicts all objects from segments that are not preserved in standby (SEG-31).
 * No segment is preserved in hibernation. Jobs that are not in a ring yet stay
 * queued.
 *
 * Return: 0, or a negative error with the device running.
 */
int tessera_device_suspend(struct tessera_device *tdev, bool hibernate)
{
	int ret;

	ret = tessera_kms_suspend(tdev);
	if (ret)
		return ret;
	ret = tessera_victims_empty(tdev, lost_segments(tdev, hibernate));
	if (ret)
		goto err_kms;
	tessera_page_tables_suspend(tdev);
	ret = tessera_engines_pause(tdev);
	if (ret)
		goto err_kms;
	tessera_cpu_window_close_all(tdev);
	tessera_error_collect(tdev, false);
	tessera_irq_disable(tdev);

	return 0;

err_kms:
	tessera_kms_resume(tdev);
	return ret;
}

/* Repeat the setup that a device reset undoes, except for the engines. */
static int tessera_device_restore(struct tessera_device *tdev)
{
	int ret;

	ret = tessera_device_reset_hw(tdev);
	if (ret)
		return ret;
	tessera_write64(tdev, TSR_CTRL_DUMMY_PAGE_LO, tdev->dummy_dma);
	/* The reset has cleared the device's counters: read them again. */
	tessera_error_collect(tdev, false);
	tessera_irq_enable(tdev);

	return 0;
}

/**
 * tessera_device_resume() - set the device up again
 * @tdev: the device, after tessera_device_suspend()
 *
 * Objects return to their segments when they are next used. On failure every
 * job ends with -ECANCELED, so that no thread waits for a device that does not
 * work.
 *
 * Return: 0 or a negative error.
 */
int tessera_device_resume(struct tessera_device *tdev)
{
	int ret;

	ret = tessera_device_restore(tdev);
	if (!ret)
		ret = tessera_engines_resume(tdev, TSR_ENGINE_PAGING);
	/* Queued jobs may draw, which needs the microcode. */
	if (!ret)
		ret = tessera_firmware_load(tdev);
	if (!ret)
		ret = tessera_engines_resume(tdev, TSR_ENGINE_RENDER);
	if (ret) {
		tessera_engines_cancel(tdev);
		tessera_crash_announce(tdev, ret);
	}
	tessera_kms_resume(tdev);

	return ret;
}

/**
 * tessera_device_reset_prepare() - prepare for a function-level reset
 * @tdev: the device; the PCI core resets it and calls
 * tessera_device_reset_done()
 *
 * All jobs end with -ECANCELED, and existing contexts refuse further jobs.
 * Contents that are only in memory segments are lost. Submissions wait until
 * the reset is over.
 */
void tessera_device_reset_prepare(struct tessera_device *tdev)
{
	drm_warn(&tdev->drm, "function reset: all contexts are lost\n");

	tessera_irq_disable(tdev);
	/*
	 * First, so that a client that sees a cancelled job also sees that its
	 * context is lost.
	 */
	tessera_context_lose_all(tdev);
	tessera_page_tables_lose_all(tdev);
	tessera_space_signal_all(tdev);
	tessera_engines_cancel(tdev);
	/*
	 * No commit waits for a job now. The contents of framebuffers are lost,
	 * and the reset would switch off CRTCs that the atomic state says are
	 * on.
	 */
	tessera_kms_reset_prepare(tdev);

	/*
	 * Running submissions leave, because their jobs have failed. New ones
	 * wait for the lock.
	 */
	down_write(&tdev->reset_lock);
	WRITE_ONCE(tdev->memory_lost, true);
	/* VMs that were created since the first call. */
	tessera_page_tables_lose_all(tdev);
	tessera_ttm_lose_memory(tdev);
	tessera_cpu_window_close_all(tdev);
}

/**
 * tessera_device_reset_done() - set the device up after a function-level reset
 * @tdev: the device, after tessera_device_reset_prepare()
 */
void tessera_device_reset_done(struct tessera_device *tdev)
{
	int ret;

	ret = tessera_device_restore(tdev);
	if (!ret)
		ret = tessera_engines_restart(tdev);
	/* Before clients can commit again: the register contents are gone. */
	tessera_kms_forget(tdev);
	WRITE_ONCE(tdev->memory_lost, false);
	tessera_context_accept(tdev);
	if (!ret)
		ret = tessera_firmware_load(tdev);
	if (ret) {
		drm_err(&tdev->drm, "of no use after a function reset: %pe\n", ERR_PTR(ret));
		tessera_engines_cancel(tdev);
	}
	up_write(&tdev->reset_lock);
	tessera_kms_reset_done(tdev);
	tessera_crash_announce(tdev, ret);
}
