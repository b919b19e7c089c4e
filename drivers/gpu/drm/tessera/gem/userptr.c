// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects of user memory
 *
 * Make memory of the calling process an object. The memory must be private and
 * anonymous, so that its pages depend on this address space only. The object
 * has placements in apertures. It is never in a memory segment, and TTM does
 * not swap it out: the kernel's reclaim does that, as for all memory of the
 * process.
 *
 * Pages are looked up before use, with no reservation held. The lookup takes
 * locks of the process's address space, may have to fault pages in, and waits
 * for a thread that is changing the mapping. While parts of a submission are
 * being armed, it has a time limit. borrow/user.c tells whether the pages are
 * still current when the job is armed. If they are not, they are looked up
 * again.
 *
 * The memory belongs to the process that created the object, whichever process
 * uses it. When that process has exited or unmapped the memory, the object
 * still exists but cannot be used.
 */

#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/tessera_drm.h>

#include "base/compat.h"
#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "exec/exec.h"
#include "gem/gem.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "segments/segments.h"

/**
 * tessera_userptr_offered() - ask whether the device can use memory of
 * processes
 * @tdev: the device
 *
 * A device that does not snoop is excluded because the kernel could not write
 * back the CPU's cache lines in time. With bounce buffers no event tells when
 * to copy.
 *
 * Return: true if it can.
 */
bool tessera_userptr_offered(struct tessera_device *tdev)
{
	return (tdev->info.caps & TSR_CAP_IO_COHERENT) &&
	       !tessera_compat_pool_is_dma(&tdev->ttm.pool);
}

/*
 * The mmap lock is held. -EPERM: the memory is not private and anonymous, or
 * its protection does not allow this use.
 */
static int check_memory(struct mm_struct *mm, unsigned long start, unsigned long end,
			bool write)
{
	unsigned long need = VM_READ | (write ? VM_WRITE : 0);
	struct vm_area_struct *vma;
	struct vma_iterator it;

	vma_iter_init(&it, mm, start);
	for_each_vma_range(it, vma, end) {
		if (vma->vm_start > start)
			return -EFAULT;
		if (!vma_is_anonymous(vma) || (vma->vm_flags & need) != need ||
		    (vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP | VM_SHADOW_STACK)))
			return -EPERM;
		start = vma->vm_end;
	}

	return start < end ? -EFAULT : 0;
}

static int check_now(unsigned long start, unsigned long end, bool write)
{
	struct mm_struct *mm = current->mm;
	int ret;

	ret = mmap_read_lock_killable(mm);
	if (ret)
		return ret;
	ret = check_memory(mm, start, end, write);
	mmap_read_unlock(mm);

	return ret;
}

/**
 * tessera_userptr_create() - make an object of memory of the calling process
 * @tdev: the device
 * @file: the file that gets the handle
 * @queue: paging queue of the client that is charged for its placements
 * @args: which memory, flags checked; receives the handle
 *
 * Return: 0, or one of the errors of &struct drm_tessera_bo_from_user.
 */
int tessera_userptr_create(struct tessera_device *tdev, struct drm_file *file,
			   struct tessera_paging_queue *queue,
			   struct drm_tessera_bo_from_user *args)
{
	bool read_only = args->flags & DRM_TESSERA_BO_GPU_READ_ONLY;
	struct drm_tessera_bo_create bo = {
		.size = args->size,
		.flags = args->flags,
		.supported = tessera_segment_set(tdev->segments->desc, tdev->segments->num,
						 TSR_SEGF_APERTURE, TSR_SEGF_APERTURE),
	};
	struct tessera_user *user;
	unsigned long start;
	int ret;

	if (!tessera_userptr_offered(tdev))
		return -EOPNOTSUPP;
	if (!args->size || (args->address | args->size) % max(PAGE_SIZE, TSR_PAGE_SIZE) ||
	    args->address > ULONG_MAX - args->size)
		return -EINVAL;
	start = untagged_addr(args->address);
	ret = check_now(start, start + args->size, !read_only);
	if (ret)
		return ret;
	user = tessera_user_create(tdev, start, read_only);
	if (!user)
		return -ENOMEM;
	ret = tessera_gem_create_user(file, queue, &bo, user);
	if (!ret)
		args->handle = bo.handle;

	return ret;
}

/*
 * Take the mmap lock. With @end set, do not sleep on it: its owner may be
 * changing the memory, and may then wait for jobs behind the gate that this
 * submission keeps closed. A trylock has no wakeup, so retry once per tick.
 */
static int lock_memory(struct tessera_user *user, u64 end)
{
	struct mm_struct *mm = user->notifier.mm;

	if (!end)
		return mmap_read_lock_killable(mm);
	while (!mmap_read_trylock(mm)) {
		/* The caller sleeps until that change is done. */
		if (tessera_user_is_changing(user))
			return -EBUSY;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!time_before64(get_jiffies_64(), end))
			return -ETIME;
		tessera_wait_in(TESSERA_WAIT_USER, schedule_timeout_killable(1));
	}

	return 0;
}

/*
 * -EBUSY: the pages have changed meanwhile. Other failures to reach the pages
 * are reported as -EFAULT.
 */
static int find_pages(struct tessera_user *user, struct hmm_range *range, u64 end)
{
	struct mm_struct *mm = range->notifier->mm;
	int ret;

	ret = lock_memory(user, end);
	if (ret)
		return ret;
	ret = check_memory(mm, range->start, range->end, !user->read_only);
	if (!ret)
		ret = hmm_range_fault(range);
	mmap_read_unlock(mm);

	return ret && ret != -EBUSY && ret != -ENOMEM && ret != -EINTR && ret != -ETIME ?
	       -EFAULT : ret;
}

/* Called inside drm_dev_enter(), with the object's reservation held. */
static int take_pages_locked(struct tessera_bo *bo, const struct hmm_range *range)
{
	struct tessera_user *user = bo->user;
	int ret;

	if (!tessera_user_is_invalid(user))
		return 0;
	/*
	 * Jobs may use the pages that the object has, or the pages found may be
	 * stale.
	 */
	if (!tessera_user_may_change(user, range->notifier_seq))
		return -EBUSY;
	ret = tessera_backing_set_user(bo, range->hmm_pfns,
				       user->read_only ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL);
	if (!ret && tessera_bo_segment(bo))
		ret = tessera_move_rebind(bo);
	if (!ret && !tessera_user_settle(user, range->notifier_seq, range->hmm_pfns))
		ret = -EBUSY;

	return ret;
}

static int take_pages(struct tessera_bo *bo, const struct hmm_range *range)
{
	int ret = -ENODEV, idx;

	dma_resv_lock(bo->tbo.base.resv, NULL);
	if (drm_dev_enter(bo->tbo.base.dev, &idx)) {
		ret = take_pages_locked(bo, range);
		drm_dev_exit(idx);
	}
	dma_resv_unlock(bo->tbo.base.resv);

	return ret;
}

/* This may create jobs, so keep the device from being reset meanwhile. */
static int take_pages_unlocked(struct tessera_bo *bo, const struct hmm_range *range)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	int ret;

	ret = tessera_work_begin(tdev);
	if (!ret)
		ret = tessera_work_end(tdev, take_pages(bo, range));

	return ret;
}

static int try_once(struct tessera_bo *bo, struct hmm_range *range, u64 end)
{
	struct tessera_user *user = bo->user;
	int ret;

	/*
	 * Sleep until threads that change the memory have stopped waiting for
	 * jobs. They finish their change soon after.
	 */
	ret = tessera_user_wait(user, end);
	if (ret)
		return ret;
	range->notifier_seq = mmu_interval_read_begin(range->notifier);
	ret = find_pages(user, range, end);
	if (ret)
		return ret;

	return end ? take_pages(bo, range) : take_pages_unlocked(bo, range);
}

static int try_pages(struct tessera_bo *bo, struct hmm_range *range, u64 end)
{
	unsigned int tries;
	int ret = -EBUSY;

	for (tries = 0; ret == -EBUSY && tries < TESSERA_USER_TRIES; tries++) {
		if (end ? fatal_signal_pending(current) : signal_pending(current))
			return end ? -EINTR : -ERESTARTSYS;
		ret = try_once(bo, range, end);
	}

	return ret;
}

/**
 * tessera_userptr_ready() - give an object the pages that are at its addresses
 * @bo: the object; no reservation held
 * @end: 0 if no lock is held, not even &tessera_device.reset_lock. Otherwise
 *	that lock and a context's lock are held, the gate may be closed, and no
 *	wait lasts beyond this time, in jiffies
 *
 * The pages may change again afterwards, see tessera_users_begin(). Does
 * nothing for an object that is not user memory, or whose pages are current.
 *
 * Return: 0; -EFAULT if the memory is unmapped, is no longer private and
 * anonymous, or cannot be accessed; -EBUSY if it keeps changing; -ETIME;
 * -ENODEV, -ENOMEM, -EINTR, -ERESTARTSYS.
 */
int tessera_userptr_ready(struct tessera_bo *bo, u64 end)
{
	struct tessera_user *user = bo->user;
	struct hmm_range range;
	int ret;

	if (!user || !tessera_user_is_invalid(user))
		return 0;
	if (!mmget_not_zero(user->notifier.mm))
		return -EFAULT;
	range = (struct hmm_range) {
		.notifier = &user->notifier,
		.start = user->start,
		.end = user->start + tessera_bo_bytes(bo),
		.default_flags = HMM_PFN_REQ_FAULT | (user->read_only ? 0 : HMM_PFN_REQ_WRITE),
	};
	range.hmm_pfns = kvcalloc(tessera_bo_bytes(bo) >> PAGE_SHIFT, sizeof(*range.hmm_pfns),
				  GFP_KERNEL_ACCOUNT);
	ret = range.hmm_pfns ? try_pages(bo, &range, end) : -ENOMEM;
	kvfree(range.hmm_pfns);
	/*
	 * The last reference unmaps the whole address space, which waits for
	 * jobs. Drop it asynchronously.
	 */
	mmput_async(user->notifier.mm);

	return ret;
}
