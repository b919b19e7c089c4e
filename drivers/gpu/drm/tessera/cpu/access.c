// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CPU access
 *
 * Decide how the CPU sees part of an object. An object in system memory, in an
 * aperture or in a UMA segment is seen through its system pages (SWZ-5,
 * SEG-36), an object in VRAM through a CPU window (cpu/window.c). If there is
 * no such view, the object is evicted first (SWZ-9). The contents are valid
 * only when all moves of the object are done and none of them failed. Until
 * then its memory may hold data of a previous owner.
 *
 * The page fault handler and the kernel's own accesses (ptrace,
 * /proc/<pid>/mem) use these functions. They drop the reservation while they
 * wait for a move. Callers that must hold it, because a kernel interface
 * requires that, wait for a limited time.
 */

#include <linux/io.h>
#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/ttm/ttm_bo.h>

#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"

/**
 * tessera_access_prepare() - give the CPU a view of part of an object
 * @bo: the object, reservation held; inside drm_dev_enter()
 * @first: first page of the part
 * @count: its pages, not 0
 * @raw: show the bytes as they lie in memory, in any layout
 * @evict: evict the object if the CPU has no view of it in its place
 *
 * Return: 0 if the view is valid as long as the reservation is held;
 * -EINPROGRESS if a move is under way: drop the reservation, call
 * tessera_access_wait() and try again; -EIO if the object is lost; -EINVAL if
 * it is offered; -EACCES if it is not accessible to the CPU; -ENOSPC if the CPU
 * has no view of it in its place and it may not be evicted, or is a linear
 * object that is scanned out; -EBUSY if it is scanned out and has no swizzling
 * range; or another error of its eviction.
 */
int tessera_access_prepare(struct tessera_bo *bo, u64 first, u64 count, bool raw, bool evict)
{
	struct tessera_device *tdev = to_tessera_device(bo->tbo.base.dev);
	int ret;

	if (atomic_read(&bo->lost))
		return -EIO;
	if (tessera_bo_is_offered(bo))
		return -EINVAL;
	if (!tessera_bo_has_view(bo))
		return -EACCES;

	/*
	 * The placement may still hold bytes of its previous owner. Open no
	 * window before the moves are done.
	 */
	if (tessera_segment_is_vram(tessera_bo_segment(bo)) && !READ_ONCE(tdev->memory_lost) &&
	    !dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL))
		return -EINPROGRESS;

	ret = READ_ONCE(tdev->memory_lost) ? -ENOSPC :
					     tessera_cpu_window_open(bo, first, count, raw);
	/*
	 * A linear object that is scanned out cannot be evicted, even if the
	 * CPU has no view of it (ERR-28).
	 */
	if (ret == -ENOSPC && evict &&
	    (bo->layout != DRM_TESSERA_LAYOUT_LINEAR || !tessera_bo_is_immovable(bo)))
		ret = tessera_victims_evict(bo, TESSERA_EVICT_CPU);
	if (ret)
		return ret;
	if (!dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL))
		return -EINPROGRESS;
	if (!tessera_segment_is_vram(tessera_bo_segment(bo)))
		ret = tessera_backing_refill(bo);
	if (ret)
		return ret;

	/*
	 * A failed move sets @lost before its fence signals: test @lost last.
	 */
	return atomic_read(&bo->lost) ? -EIO : 0;
}

/**
 * tessera_access_wait() - wait for the moves of an object, or for a slot of the
 * host aperture
 * @bo: the object, reservation not held
 *
 * Return: 0, or -ERESTARTSYS.
 */
int tessera_access_wait(struct tessera_bo *bo)
{
	long ret = tessera_wait_resv(TESSERA_WAIT_BYTES, bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL,
				     true, MAX_SCHEDULE_TIMEOUT);

	return ret < 0 ? ret : tessera_host_aperture_free_slot(bo);
}

/**
 * tessera_access_wait_killable() - wait for moves until done or killed
 * @bo: the object, reservation not held
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int tessera_access_wait_killable(struct tessera_bo *bo)
{
	int ret = tessera_wait_resv_killable(TESSERA_WAIT_BYTES, bo->tbo.base.resv,
					     DMA_RESV_USAGE_KERNEL);

	/* Ignore a non-fatal signal here: the caller faults again. */
	if (!ret)
		tessera_host_aperture_free_slot(bo);

	return ret;
}

/**
 * tessera_access_settle() - wait for a limited time until an object's contents
 * are valid
 * @bo: the object; the caller may hold its reservation
 * @timeout_ms: time limit; 0: do not wait; U32_MAX: no limit
 *
 * A move may be queued behind jobs of other clients that take arbitrarily long.
 *
 * Return: 0; -EBUSY if the moves are not done in time; -EIO if the object is
 * lost; or -ERESTARTSYS.
 */
int tessera_access_settle(struct tessera_bo *bo, u32 timeout_ms)
{
	long left = tessera_wait_resv(TESSERA_WAIT_BYTES, bo->tbo.base.resv,
				      DMA_RESV_USAGE_KERNEL, true, msecs_to_jiffies(timeout_ms));

	if (left <= 0)
		return left ?: -EBUSY;

	return atomic_read(&bo->lost) ? -EIO : 0;
}

/**
 * tessera_access_sync() - make existing mappings show what jobs have written
 * @bo: the object, reservation not held
 *
 * For a caller that touched the object while a job was using it and has waited
 * for that job since. Does nothing where the device snoops CPU caches.
 *
 * Return: 0, or -ERESTARTSYS.
 */
int tessera_access_sync(struct tessera_bo *bo)
{
	int ret;

	if (!tessera_coherence_tracks(bo))
		return 0;
	ret = dma_resv_lock_interruptible(bo->tbo.base.resv, NULL);
	if (ret)
		return ret == -EINTR ? -ERESTARTSYS : ret;
	tessera_coherence_for_cpu(bo, false);
	dma_resv_unlock(bo->tbo.base.resv);

	return 0;
}

/* Access a page in VRAM. */
static int access_io(struct tessera_bo *bo, u64 offset, void *buf, int len, bool write)
{
	u64 bus = (u64)tessera_cpu_window_pfn(bo, offset >> PAGE_SHIFT) << PAGE_SHIFT;
	void __iomem *io = ioremap_wc(bus, PAGE_SIZE);

	if (!io)
		return -ENOMEM;
	if (write)
		memcpy_toio(io + offset_in_page(offset), buf, len);
	else
		memcpy_fromio(buf, io + offset_in_page(offset), len);
	iounmap(io);

	return 0;
}

/* Access a page in system memory. */
static int access_page(struct tessera_bo *bo, u64 offset, void *buf, int len, bool write)
{
	struct ttm_bo_kmap_obj map;
	bool is_iomem;
	void *virt;
	int ret;

	ret = ttm_bo_kmap(&bo->tbo, offset >> PAGE_SHIFT, 1, &map);
	if (ret)
		return ret;

	virt = ttm_kmap_obj_virtual(&map, &is_iomem) + offset_in_page(offset);
	if (write)
		memcpy(virt, buf, len);
	else
		memcpy(buf, virt, len);
	ttm_bo_kunmap(&map);

	return 0;
}

static int access_bytes(struct tessera_bo *bo, u64 offset, void *buf, int len, bool write)
{
	int ret = 0, part;

	for (; !ret && len; offset += part, buf += part, len -= part) {
		part = min_t(int, len, PAGE_SIZE - offset_in_page(offset));
		ret = tessera_access_prepare(bo, offset >> PAGE_SHIFT, 1, bo->locks.raw, true) ?:
		      tessera_cpu_window_show(bo, offset >> PAGE_SHIFT);
		if (ret)
			break;
		if (write)
			tessera_residency_written(bo);
		tessera_coherence_for_cpu_pages(bo, offset >> PAGE_SHIFT, 1, write);
		ret = tessera_segment_is_vram(tessera_bo_segment(bo)) ?
		      access_io(bo, offset, buf, part, write) :
		      access_page(bo, offset, buf, part, write);
	}

	return ret;
}

static int access_try(struct tessera_bo *bo, u64 offset, void *buf, int len, bool write)
{
	int ret, idx;

	ret = tessera_bo_enter(bo, true, &idx);
	if (ret)
		return ret;
	ret = access_bytes(bo, offset, buf, len, write);
	tessera_bo_exit(bo, idx);

	return ret;
}

/**
 * tessera_access_vm() - &vm_operations_struct.access
 * @vma: a mapping of an object
 * @addr: address in it
 * @buf: the bytes to be read or written
 * @len: how many
 * @write: true to write
 *
 * Refuses to write through a mapping that may not become writable because its
 * file was opened read-only.
 *
 * Return: @len; -EACCES for a write to such a mapping; -EIO beyond the object's
 * end or if it is lost; -ENODEV if the device is gone; -ERESTARTSYS; or an
 * error of allocation or eviction.
 */
int tessera_access_vm(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
		      int write)
{
	struct tessera_bo *bo = to_tessera_bo(vma->vm_private_data);
	u64 offset = addr - vma->vm_start;
	int ret;

	offset += (u64)(vma->vm_pgoff - drm_vma_node_start(&bo->tbo.base.vma_node)) << PAGE_SHIFT;
	if (len < 1 || offset + len > tessera_bo_bytes(bo))
		return -EIO;
	if (write && !(vma->vm_flags & VM_MAYWRITE))
		return -EACCES;

	do {
		ret = access_try(bo, offset, buf, len, write);
		if (ret != -EINPROGRESS)
			return ret ? ret : len;
		ret = tessera_access_wait(bo);
	} while (!ret);

	return ret;
}
