// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CPU access
 *
 * What the CPU may see of an object now: the system pages of one that is in system memory
 * or in an aperture (SWZ-5), or a window onto memory (cpu/window.c). An object it cannot see
 * like this is evicted first (SWZ-9). The bytes count when all
 * moves of the object are done, and if none of them failed: until then its memory may
 * hold what somebody else left there.
 *
 * The page fault handler and the kernel's own reads and writes (ptrace, /proc/<pid>/mem)
 * come through here. None of them holds the reservation while it waits for a move; who has to hold
 * it, as the kernel's interfaces are, waits for a limited time.
 */

#include <linux/io.h>
#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/ttm/ttm_bo.h>

#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_wait.h"

/* How long a fatal signal may wait for its effect, in jiffies. */
#define KILL_LATENCY	(HZ / 10)

/**
 * tessera_access_prepare() - have part of an object where the CPU can see it
 * @bo: the object, reservation held; inside drm_dev_enter()
 * @first: first page of the part
 * @count: its pages, not 0
 * @raw: as it lies in memory, whatever the layout
 *
 * Return: 0 if the bytes are there as long as the reservation is held; -EINPROGRESS if a
 * move is under way: to be called again after tessera_access_wait(), without the
 * reservation; -EIO if the object is lost; -EINVAL if it is offered; -EACCES if it is not for
 * the CPU; -ENOSPC if it is scanned out where the CPU sees nothing; -EBUSY if it is
 * scanned out and has no swizzling range; or another error of its eviction.
 */
int tessera_access_prepare(struct tessera_bo *bo, u64 first, u64 count, bool raw)
{
	struct tessera_device *tdev = to_tessera_device(bo->tbo.base.dev);
	int ret;

	if (atomic_read(&bo->lost))
		return -EIO;
	if (tessera_bo_is_offered(bo))
		return -EINVAL;
	if (!tessera_bo_has_view(bo))
		return -EACCES;

	/* What was in its place may not have left yet: nothing is shown before that. */
	if (tessera_segment_is_memory(tessera_bo_segment(bo)) && !READ_ONCE(tdev->memory_lost) &&
	    !dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL))
		return -EINPROGRESS;

	ret = READ_ONCE(tdev->memory_lost) ? -ENOSPC :
					     tessera_cpu_window_open(bo, first, count, raw);
	/* A linear object that is scanned out stays, also where the CPU cannot see it (ERR-28). */
	if (ret == -ENOSPC && (bo->layout != DRM_TESSERA_LAYOUT_LINEAR || !tessera_bo_is_fixed(bo)))
		ret = tessera_victims_evict(bo, TESSERA_EVICT_CPU);
	if (ret)
		return ret;
	if (!dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL))
		return -EINPROGRESS;

	/* A move that has just ended says so before its fence does. */
	return atomic_read(&bo->lost) ? -EIO : 0;
}

/**
 * tessera_access_wait() - wait for the moves of an object, or for a slot of the host aperture
 * @bo: the object, reservation not held
 *
 * Return: 0, or -ERESTARTSYS.
 */
int tessera_access_wait(struct tessera_bo *bo)
{
	long ret = tessera_wait_resv(TESSERA_WAIT_BYTES, bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL,
				     true, MAX_SCHEDULE_TIMEOUT);

	return ret < 0 ? ret : tessera_host_aperture_make_room(bo);
}

/**
 * tessera_access_wait_killable() - wait for the moves of an object, unless the caller is killed
 * @bo: the object, reservation not held
 *
 * No wait for a fence ends with fatal signals only, so they are looked for now and then.
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int tessera_access_wait_killable(struct tessera_bo *bo)
{
	while (!fatal_signal_pending(current))
		if (tessera_wait_resv(TESSERA_WAIT_BYTES, bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL,
				      false, KILL_LATENCY)) {
			/* A signal that does not kill only has the caller come back. */
			tessera_host_aperture_make_room(bo);
			return 0;
		}

	return -EINTR;
}

/**
 * tessera_access_settle() - wait for an object's bytes, but not for ever
 * @bo: the object; who calls may hold its reservation
 * @timeout_ms: how long; 0: not at all; U32_MAX: for ever
 *
 * Moves may be behind what takes others as long as they like.
 *
 * Return: 0; -EBUSY if they are not there yet; -EIO if the object is lost; or -ERESTARTSYS.
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
 * tessera_access_sync() - mappings that exist show what jobs have written
 * @bo: the object, reservation not held
 *
 * For who has touched an object while a job was using it, and waited for that since. Does nothing
 * where the device snoops.
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

/* Of a page in video memory. */
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

/* Of a page in system memory. */
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
		ret = tessera_access_prepare(bo, offset >> PAGE_SHIFT, 1, bo->locks.raw) ?:
		      tessera_cpu_window_show(bo, offset >> PAGE_SHIFT);
		if (ret)
			break;
		if (write)
			tessera_residency_written(bo);
		tessera_coherence_for_cpu_pages(bo, offset >> PAGE_SHIFT, 1, write);
		ret = tessera_segment_is_memory(tessera_bo_segment(bo)) ?
		      access_io(bo, offset, buf, part, write) :
		      access_page(bo, offset, buf, part, write);
	}

	return ret;
}

static int access_try(struct tessera_bo *bo, u64 offset, void *buf, int len, bool write)
{
	int ret, idx;

	ret = tessera_bo_enter(bo, &idx);
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
 * @write: which of the two
 *
 * A mapping that may not become writable, as the file was opened to be read, is not written.
 *
 * Return: @len; -EACCES for a write to such a mapping; -EIO beyond the object's end or if it is lost;
 * -ENODEV if the device is gone; -ERESTARTSYS; or an error of allocation or eviction.
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
