// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CPU mappings
 *
 * Handle page faults of user mappings. A mapping belongs to the object and its
 * address never changes. The fault handler inserts the pages through which the
 * CPU sees the object now (cpu/access.c). TTM removes all mappings before each
 * move.
 *
 * Where caches need maintenance, a read fault maps the page read-only, so that
 * the first write faults again (mem/coherence.c).
 *
 * A mapping holds a GEM reference. The fault handler waits for moves, and so
 * for the jobs that a move waits for. It holds no reservation meanwhile, nor the
 * mmap lock if the core lets it retry.
 */

#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/ttm/ttm_bo.h>

#include "base/assert.h"
#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"

/* TTM's helpers expect the TTM object in @vm_private_data. */
static struct tessera_bo *vma_to_bo(struct vm_area_struct *vma)
{
	return to_tessera_bo(vma->vm_private_data);
}

/* Number of the faulting page inside the object. */
static u64 vmf_to_page(struct tessera_bo *bo, const struct vm_fault *vmf)
{
	return vmf->pgoff - drm_vma_node_start(&bo->tbo.base.vma_node);
}

static void cpu_fault_trace(struct tessera_bo *bo, struct vm_fault *vmf, bool dummy)
{
	trace_tessera_cpu_fault(bo->id, vmf_to_page(bo, vmf),
				dummy ? TESSERA_BACKING_DUMMY : tessera_cpu_window_backing(bo));
}

/* VRAM needs no dirty tracking, so map it writable at once. */
static pgprot_t cpu_fault_prot(struct tessera_bo *bo, const struct vm_fault *vmf)
{
	bool write = (vmf->flags & FAULT_FLAG_WRITE) ||
		     tessera_segment_is_vram(tessera_bo_segment(bo));

	return write && tessera_coherence_tracks(bo) ? vm_get_page_prot(vmf->vma->vm_flags) :
						       vmf->vma->vm_page_prot;
}

/*
 * Return -EINPROGRESS if the caller has to wait for a move, else 0 with the
 * result of the fault handler in @fault.
 */
static int cpu_fault_insert(struct tessera_bo *bo, struct vm_fault *vmf, vm_fault_t *fault)
{
	u64 page = vmf_to_page(bo, vmf), pages;
	int ret = tessera_access_prepare(bo, page, 1, bo->locks.raw, true) ?:
		  tessera_cpu_window_show(bo, page);

	switch (ret) {
	case 0:
		break;
	case -EINPROGRESS:
		return ret;
	case -EINTR:
	case -ERESTARTSYS:
	case -EAGAIN:
		*fault = VM_FAULT_NOPAGE;
		return 0;
	case -ENOMEM:
		*fault = VM_FAULT_OOM;
		return 0;
	default:
		*fault = VM_FAULT_SIGBUS;
		return 0;
	}

	/*
	 * The mapping may be written without another fault, so a retained copy
	 * in system pages is stale from now on.
	 */
	tessera_residency_written(bo);
	/* Prefault only pages that the same window shows. */
	pages = min_t(u64, tessera_cpu_window_remaining_pages(bo, page), TTM_BO_VM_NUM_PREFAULT);
	tessera_assert(tessera_bo_device(bo), bo->copy == TESSERA_COPY_STALE);
	tessera_coherence_for_cpu_pages(bo, page, pages, vmf->flags & FAULT_FLAG_WRITE);
	cpu_fault_trace(bo, vmf, false);
	*fault = ttm_bo_vm_fault_reserved(vmf, cpu_fault_prot(bo, vmf), pages);

	return 0;
}

/*
 * After unplug, map one dummy page at all addresses of the mapping. It belongs
 * to the object, is freed with it, and is charged to the process that faults
 * first. It needs no dirty tracking either, so map it writable.
 */
static vm_fault_t cpu_fault_dummy(struct tessera_bo *bo, struct vm_fault *vmf)
{
	pgprot_t prot = vm_get_page_prot(vmf->vma->vm_flags);
	vm_fault_t fault = VM_FAULT_NOPAGE;
	unsigned long addr;

	cpu_fault_trace(bo, vmf, true);
	if (!bo->maps.dummy)
		bo->maps.dummy = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!bo->maps.dummy)
		return VM_FAULT_OOM;
	for (addr = vmf->vma->vm_start; addr < vmf->vma->vm_end; addr += PAGE_SIZE)
		fault = vmf_insert_pfn_prot(vmf->vma, addr, page_to_pfn(bo->maps.dummy), prot);

	return fault;
}

/*
 * Wait for a move with no reservation held, and without the mmap lock if the
 * kernel allows to drop it. The access is repeated and faults again.
 *
 * A signal ends the wait for an access of the program itself, which is repeated
 * after the signal. An access that the kernel makes for a system call is
 * repeated at once, with the signal still pending. Only a fatal signal ends
 * that wait, and the access fails. The caller has a reference to the object.
 */
static vm_fault_t cpu_fault_wait(struct tessera_bo *bo, struct vm_fault *vmf)
{
	if (!fault_flag_allow_retry_first(vmf->flags)) {
		if (vmf->flags & FAULT_FLAG_USER)
			tessera_access_wait(bo);
		else if (tessera_access_wait_killable(bo))
			return VM_FAULT_SIGBUS;
		return VM_FAULT_NOPAGE;
	}
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;

	/* Once the lock is dropped the mapping may go. */
	mmap_read_unlock(vmf->vma->vm_mm);
	tessera_access_wait(bo);

	return VM_FAULT_RETRY;
}

static vm_fault_t tessera_cpu_fault(struct vm_fault *vmf)
{
	struct tessera_bo *bo = vma_to_bo(vmf->vma);
	struct ttm_buffer_object *tbo = &bo->tbo;
	vm_fault_t fault;
	int idx, ret = 0;

	/*
	 * ttm_bo_vm_reserve() may drop the mmap lock and then lock and unlock
	 * the reservation. Without a reference the mapping could go meanwhile,
	 * and a private object would get another reservation in between (see
	 * destroy_own_resv()).
	 */
	tessera_bo_get(bo);
	fault = ttm_bo_vm_reserve(tbo, vmf);
	if (fault) {
		tessera_bo_put(bo);
		return fault;
	}

	if (drm_dev_enter(tbo->base.dev, &idx)) {
		ret = cpu_fault_insert(bo, vmf, &fault);
		drm_dev_exit(idx);
	} else {
		fault = cpu_fault_dummy(bo, vmf);
	}
	dma_resv_unlock(tbo->base.resv);
	if (ret)
		fault = cpu_fault_wait(bo, vmf);
	tessera_bo_put(bo);

	return fault;
}

/*
 * A read-only page is about to be written. The kernel would make the page
 * writable only after this function has dropped the reservation, and a job
 * could use the object before that. Unmap the page instead. The access faults
 * again as a write, and that fault maps the page with the reservation held.
 */
static vm_fault_t tessera_cpu_fault_mkwrite(struct vm_fault *vmf)
{
	struct ttm_buffer_object *tbo = &vma_to_bo(vmf->vma)->tbo;
	const enum fault_flag flags = vmf->flags;
	vm_fault_t fault;

	/* Unlike a fault handler, this must return with the mmap lock held. */
	vmf->flags &= ~FAULT_FLAG_ALLOW_RETRY;
	fault = ttm_bo_vm_reserve(tbo, vmf);
	vmf->flags = flags;
	if (fault)
		return fault;
	zap_special_vma_range(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	dma_resv_unlock(tbo->base.resv);

	return VM_FAULT_NOPAGE;
}

static void tessera_cpu_fault_open(struct vm_area_struct *vma)
{
	atomic_inc(&vma_to_bo(vma)->maps.num_vmas);
	tessera_bo_get(vma_to_bo(vma));
}

static void tessera_cpu_fault_close(struct vm_area_struct *vma)
{
	atomic_dec(&vma_to_bo(vma)->maps.num_vmas);
	tessera_bo_put(vma_to_bo(vma));
}

const struct vm_operations_struct tessera_cpu_fault_vm_ops = {
	.fault = tessera_cpu_fault,
	.open = tessera_cpu_fault_open,
	.close = tessera_cpu_fault_close,
	.access = tessera_access_vm,
};

/* With @pfn_mkwrite the kernel maps a page writable only for a write access. */
static const struct vm_operations_struct tessera_cpu_fault_tracked_vm_ops = {
	.fault = tessera_cpu_fault,
	.pfn_mkwrite = tessera_cpu_fault_mkwrite,
	.open = tessera_cpu_fault_open,
	.close = tessera_cpu_fault_close,
	.access = tessera_access_vm,
};

/**
 * tessera_cpu_fault_mmap() - &drm_gem_object_funcs.mmap
 * @gem: the object
 * @vma: the mapping, which has taken a reference to it
 *
 * Return: 0; -EINVAL for a private mapping, or for an object without CPU access
 * that is not locked.
 */
int tessera_cpu_fault_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	if (!tessera_bo_has_view(bo) || vma_is_cow_mapping(vma))
		return -EINVAL;

	if (tessera_coherence_tracks(bo))
		vma->vm_ops = &tessera_cpu_fault_tracked_vm_ops;
	vma->vm_private_data = &bo->tbo;
	atomic_inc(&bo->maps.num_vmas);
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);

	return 0;
}
