// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: device
 *
 * The order in which the blocks come up and go. What the hardware needs is managed by
 * the bound device (devm, pcim); what an open file can reach, by the DRM device (drmm),
 * whose actions run in the reverse order when the last file is closed.
 *
 * Probe: registers, vectors, jobs and engines, microcode, segments and TTM. Unbind:
 * no new work, engines stopped and every fence signalled, mappings of the BARs gone;
 * files stay open on a device that is not there.
 */

#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "cpu/cpu.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "kms/kms.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "services/services.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_drv.h"
#include "tessera_wait.h"
#include "vm/vm.h"

#define TESSERA_RESET_TIMEOUT_US	(5 * USEC_PER_SEC)
/* All jobs are cancelled; other drivers may hold reservations that their release wants. */
#define TESSERA_DRAIN_TIMEOUT		(15 * HZ)

/*
 * Has BAR 2 show all video memory, where the device offers that (CHA-11). Where the kernel has no
 * addresses for so much the BAR keeps its size, and the host aperture shows the rest. Other BARs of
 * the device may move. So this comes first: enabling the device then refuses a BAR without addresses,
 * and turns decoding on.
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

/* Reset the device, whatever an earlier driver left behind. */
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

/* Teach lockdep the order of the locking DOC before anybody can get it wrong. */
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
	.keep_out = tessera_locks_keep_out,
	.moves = tessera_listing_moves,
	.moved = tessera_listing_moved,
	.handle_closed = tessera_listing_close,
	.remap_push = tessera_remap_push,
	.remap_drop = tessera_remap_drop,
	.remap_users = tessera_remap_users,
};

static int tessera_device_init_mem(struct tessera_device *tdev)
{
	int ret;

	tdev->upcalls = &upcalls;
	ret = tessera_room_init(tdev);
	if (ret)
		return ret;
	ret = tessera_segment_init(tdev);
	if (ret)
		return ret;
	ret = tessera_budget_init(tdev);
	if (ret)
		return ret;
	ret = tessera_context_init(tdev);
	if (ret)
		return ret;
	ret = tessera_gate_init(tdev);
	if (ret)
		return ret;
	ret = tessera_value_pages_init(tdev);
	if (ret)
		return ret;

	ret = tessera_users_init(tdev);
	if (ret)
		return ret;
	ret = tessera_unplug_init(tdev);
	if (ret)
		return ret;
	ret = tessera_cpu_window_init(tdev);
	if (ret)
		return ret;
	ret = tessera_space_init(tdev);
	if (ret)
		return ret;

	return tessera_ttm_init(tdev);
}

/**
 * tessera_device_init() - bring everything up but the DRM registration
 * @tdev: the device
 *
 * On failure the engines are stopped; the rest is undone by its managers.
 *
 * Return: 0 or a negative error.
 */
int tessera_device_init(struct tessera_device *tdev)
{
	int ret;

	init_rwsem(&tdev->reset_lock);
	spin_lock_init(&tdev->window_lock);
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
	/* Behind these, so that it runs before: jobs hold what the others free. */
	if (!ret)
		ret = drmm_add_action_or_reset(&tdev->drm, tessera_device_drain, tdev);
	if (!ret)
		ret = tessera_kms_init(tdev);
	if (ret) {
		tessera_engines_cancel(tdev);
		/* The microcode's job may not be released yet, and has its engine. */
		if (tdev->release)
			tessera_job_queue_drain(tdev, MAX_SCHEDULE_TIMEOUT);
	}

	return ret;
}

/**
 * tessera_device_unplug() - let go of the hardware
 * @tdev: the device; files may be open and jobs running
 *
 * Returns with the hardware stopped, every fence that depended on it signalled
 * and nothing of it mapped. Waits neither for fences nor for calls of other drivers without bound.
 */
void tessera_device_unplug(struct tessera_device *tdev)
{
	drm_dev_unplug(&tdev->drm);
	tessera_irq_disable(tdev);
	tessera_space_lose_all(tdev);
	tessera_room_signal_all(tdev);
	tessera_engines_cancel(tdev);
	if (!tessera_job_queue_drain(tdev, TESSERA_DRAIN_TIMEOUT))
		drm_warn(&tdev->drm, "gone with jobs that are not released\n");
	tessera_ib_unplug(tdev);
	/* Commits wait for moves of what they show, which have ended now. */
	tessera_kms_unplug(tdev);
	tessera_space_unplug(tdev);
	tessera_value_pages_unplug(tdev);
	tessera_unplug_objects(tdev);
	tessera_error_unplug(tdev);
}

/* Segments that have other contents after standby or, with @hibernate, after hibernation: ids. */
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
 * Segments that are not preserved over standby are emptied (SEG-31). No segment is preserved over
 * hibernation. Jobs that are not in a ring yet stay queued.
 *
 * Return: 0, or a negative error with everything running again.
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
	tessera_space_suspend(tdev);
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

/* What probe has set up and a reset of the device has undone, up to the engines. */
static int tessera_device_restore(struct tessera_device *tdev)
{
	int ret;

	ret = tessera_device_reset_hw(tdev);
	if (ret)
		return ret;
	tessera_write64(tdev, TSR_CTRL_DUMMY_PAGE_LO, tdev->dummy_dma);
	/* The reset cleared the device's counters. */
	tessera_error_collect(tdev, false);
	tessera_irq_enable(tdev);

	return 0;
}

/**
 * tessera_device_resume() - set the device up again
 * @tdev: the device, after tessera_device_suspend()
 *
 * Objects come back to their segments when they are next used. If this fails every job
 * ends with -ECANCELED, so that nobody waits for a device that does not work.
 *
 * Return: 0 or a negative error.
 */
int tessera_device_resume(struct tessera_device *tdev)
{
	int ret;

	tessera_space_resume(tdev);
	ret = tessera_device_restore(tdev);
	if (!ret)
		ret = tessera_engines_resume(tdev);
	if (!ret)
		ret = tessera_firmware_load(tdev);
	if (ret)
		tessera_engines_cancel(tdev);
	tessera_kms_resume(tdev);

	return ret;
}

/**
 * tessera_device_reset_prepare() - somebody else is going to reset the function
 * @tdev: the device; tessera_device_reset_done() follows
 *
 * All jobs end with -ECANCELED, contexts take no more of them, and what is in memory only is
 * lost. Submissions wait until the reset is over.
 */
void tessera_device_reset_prepare(struct tessera_device *tdev)
{
	drm_warn(&tdev->drm, "function reset: all contexts are lost\n");

	tessera_irq_disable(tdev);
	/* First, so that whose job was cancelled finds the context lost. */
	tessera_context_lose_all(tdev);
	tessera_space_lose_all(tdev);
	tessera_room_signal_all(tdev);
	tessera_engines_cancel(tdev);
	/* No commit waits for a job now. What is shown is lost, and a CRTC that is on would never be again. */
	tessera_kms_reset_prepare(tdev);

	/* Those that are in a submission leave it, as it has failed; and nobody gets in. */
	down_write(&tdev->reset_lock);
	WRITE_ONCE(tdev->memory_lost, true);
	/* Those that have been made since. */
	tessera_space_lose_all(tdev);
	tessera_ttm_lose_memory(tdev);
	tessera_cpu_window_close_all(tdev);
}

/**
 * tessera_device_reset_done() - set the device up again after a function reset
 * @tdev: the device, after tessera_device_reset_prepare()
 */
void tessera_device_reset_done(struct tessera_device *tdev)
{
	int ret;

	ret = tessera_device_restore(tdev);
	if (!ret)
		ret = tessera_engines_revive(tdev);
	/* From now on there may be something to show. */
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
}
