// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: CPU mappings
 *
 * A mapping belongs to the object, its address never changes, and the fault handler
 * decides what is behind it now: the system pages of an object that is in system memory
 * or in an aperture (SWZ-5), or BAR 2 for one that is linear in a segment the CPU sees
 * (SWZ-4). An object it cannot see like this is evicted first (SWZ-9). TTM takes all
 * mappings away before each move.
 *
 * A mapping holds a GEM reference. The fault handler may wait for a move, not
 * for jobs.
 */

#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_tt.h>

#include "cpu/fault.h"
#include "mem/bo.h"
#include "mem/residency.h"
#include "segments/segment.h"
#include "tessera_device.h"
#include "tessera_trace.h"

/* @vm_private_data is the TTM object, as TTM's helpers want it. */
static struct tessera_bo *vma_to_bo(struct vm_area_struct *vma)
{
	return to_tessera_bo(vma->vm_private_data);
}

static bool cpu_can_see(struct tessera_bo *bo, const struct tessera_segment *seg)
{
	return !seg || tessera_segment_is_aperture(seg) ||
	       (tessera_segment_cpu_visible(seg) && bo->layout == DRM_TESSERA_LAYOUT_LINEAR);
}

/* 0 with the object where the CPU can see it, else what the handler returns. */
static vm_fault_t cpu_fault_evict(struct tessera_bo *bo)
{
	int ret;

	if (cpu_can_see(bo, tessera_bo_segment(bo)))
		return 0;

	ret = tessera_residency_evict_for_cpu(bo);
	switch (ret) {
	case 0:
		return 0;
	case -EINTR:
	case -ERESTARTSYS:
	case -EAGAIN:
		return VM_FAULT_NOPAGE;
	case -ENOMEM:
		return VM_FAULT_OOM;
	default:
		return VM_FAULT_SIGBUS;
	}
}

static void cpu_fault_trace(struct tessera_bo *bo, struct vm_fault *vmf, bool dummy)
{
	u64 page = vmf->pgoff - drm_vma_node_start(&bo->tbo.base.vma_node);
	const struct tessera_segment *seg = tessera_bo_segment(bo);
	u32 backing = TESSERA_BACKING_SYSTEM;

	if (dummy)
		backing = TESSERA_BACKING_DUMMY;
	else if (seg && !tessera_segment_is_aperture(seg))
		backing = TESSERA_BACKING_BAR;

	trace_tessera_cpu_fault(bo->id, page, backing);
}

static vm_fault_t cpu_fault_insert(struct tessera_bo *bo, struct vm_fault *vmf)
{
	const struct tessera_segment *seg;
	vm_fault_t ret;

	ret = cpu_fault_evict(bo);
	if (ret)
		return ret;

	/* The mapping is writable: what the pages hold is out of date from now on. */
	seg = tessera_bo_segment(bo);
	if (seg && !tessera_segment_is_aperture(seg))
		bo->copy_valid = false;
	cpu_fault_trace(bo, vmf, false);

	ret = ttm_bo_vm_fault_reserved(vmf, vmf->vma->vm_page_prot, TTM_BO_VM_NUM_PREFAULT);
	if (ret != VM_FAULT_NOPAGE || !atomic_read(&bo->lost))
		return ret;

	/* The move TTM has waited for brought nothing; what is there is not ours. */
	ttm_bo_unmap_virtual(&bo->tbo);

	return VM_FAULT_SIGBUS;
}

static vm_fault_t tessera_cpu_fault(struct vm_fault *vmf)
{
	struct tessera_bo *bo = vma_to_bo(vmf->vma);
	struct ttm_buffer_object *tbo = &bo->tbo;
	vm_fault_t ret;
	int idx;

	ret = ttm_bo_vm_reserve(tbo, vmf);
	if (ret)
		return ret;

	if (drm_dev_enter(tbo->base.dev, &idx)) {
		ret = cpu_fault_insert(bo, vmf);
		drm_dev_exit(idx);
	} else {
		cpu_fault_trace(bo, vmf, true);
		ret = ttm_bo_vm_dummy_page(vmf, vmf->vma->vm_page_prot);
	}

	/* TTM has dropped the lock together with the mmap lock. */
	if (ret == VM_FAULT_RETRY && !(vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return ret;

	dma_resv_unlock(tbo->base.resv);

	return ret;
}

static void tessera_cpu_fault_open(struct vm_area_struct *vma)
{
	tessera_bo_get(vma_to_bo(vma));
}

static void tessera_cpu_fault_close(struct vm_area_struct *vma)
{
	tessera_bo_put(vma_to_bo(vma));
}

const struct vm_operations_struct tessera_cpu_fault_vm_ops = {
	.fault = tessera_cpu_fault,
	.open = tessera_cpu_fault_open,
	.close = tessera_cpu_fault_close,
	.access = ttm_bo_vm_access,
};

/**
 * tessera_cpu_fault_mmap() - &drm_gem_object_funcs.mmap
 * @gem: the object
 * @vma: the mapping, which has taken a reference to it
 *
 * Return: 0, or -EINVAL for an object without CPU access or a private mapping.
 */
int tessera_cpu_fault_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct tessera_bo *bo = gem_to_tessera_bo(gem);

	if (!(bo->flags & DRM_TESSERA_BO_CPU_ACCESS) || is_cow_mapping(vma->vm_flags))
		return -EINVAL;

	vma->vm_private_data = &bo->tbo;
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);

	return 0;
}
