// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: what the CPU still sees
 *
 * CONFIG_DRM_TESSERA_DEBUG only. Whoever moves an object, or takes away what shows it, has unmapped
 * it before. If not, a process goes on with what was there: another object's bytes, and nobody
 * faults. This looks into the page tables of everybody who has mapped the object.
 *
 * Called with the object's reservation held, so that no fault maps anything meanwhile.
 */

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/ratelimit.h>
#include <linux/rbtree.h>

#include <drm/drm_vma_manager.h>
#include <drm/ttm/ttm_bo.h>

#include "mem/mem.h"

/* Looked at from either end: it takes a while. */
#define ENDS	16UL

static bool is_mapped(struct vm_area_struct *vma, unsigned long address)
{
	struct follow_pfnmap_args args = { .vma = vma, .address = address };

	if (follow_pfnmap_start(&args))
		return false;
	follow_pfnmap_end(&args);

	return true;
}

/* The first address of it that leads somewhere, or 0. */
static unsigned long first_mapped(struct vm_area_struct *vma, unsigned long first,
				  unsigned long pages)
{
	unsigned long i, begin = max(vma->vm_pgoff, first);
	unsigned long end = min(vma->vm_pgoff + vma_pages(vma), first + pages);

	for (i = begin; i < end; i++) {
		unsigned long address = vma->vm_start + ((i - vma->vm_pgoff) << PAGE_SHIFT);

		if (i - first >= ENDS && first + pages - i > ENDS)
			continue;
		if (is_mapped(vma, address))
			return address;
	}

	return 0;
}

/**
 * tessera_mapped_check_part() - warn of a mapping that shows part of an object
 * @bo: the object, reservation held
 * @first: first page of the part, which was just unmapped
 * @pages: pages of the part
 */
void tessera_mapped_check_part(struct tessera_bo *bo, u64 first, u64 pages)
{
	struct address_space *mapping = bo->tbo.bdev->dev_mapping;
	struct drm_vma_offset_node *node = &bo->tbo.base.vma_node;
	unsigned long address = 0;
	struct rb_node *rb;

	if (!mapping || !atomic_read(&bo->num_vmas) || !drm_mm_node_allocated(&node->vm_node))
		return;
	i_mmap_lock_read(mapping);
	for (rb = rb_first_cached(&mapping->i_mmap); rb && !address; rb = rb_next(rb)) {
		struct vm_area_struct *vma = rb_entry(rb, struct vm_area_struct, shared.rb);

		if (vma->vm_private_data == &bo->tbo)
			address = first_mapped(vma, drm_vma_node_start(node) + first, pages);
	}
	i_mmap_unlock_read(mapping);
	WARN_RATELIMIT(address,
		       "tessera: object %u moves, or loses what shows it, but is seen at 0x%lx\n",
		       bo->id, address);
}
