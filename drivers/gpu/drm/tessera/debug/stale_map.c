// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: check for stale CPU mappings
 *
 * A debug check that finds CPU mappings which should have been removed
 * (CONFIG_DRM_TESSERA_DEBUG only).
 *
 * Code that moves an object, or takes away its CPU window, has to unmap the
 * object first. Otherwise a process does not fault and accesses memory that may
 * belong to another object. The check walks the page tables of all processes
 * that map the object.
 *
 * The caller holds the reservation of the object, so that no fault maps pages
 * meanwhile.
 */

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/ratelimit.h>
#include <linux/rbtree.h>

#include <drm/drm_vma_manager.h>
#include <drm/ttm/ttm_bo.h>

#include "debug/debug.h"

/* Pages checked at either end of a part. Checking all pages takes too long. */
#define ENDS	16UL

static bool is_mapped(struct vm_area_struct *vma, unsigned long address)
{
	struct follow_pfnmap_args args = { .vma = vma, .address = address };

	if (follow_pfnmap_start(&args))
		return false;
	follow_pfnmap_end(&args);

	return true;
}

/* Returns the first mapped address in the part, or 0. */
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
 * tessera_stale_map_check_pages() - warn about a CPU mapping of part of an
 * object
 * @tbo: the object, reservation held
 * @id: the id of the object
 * @first: first page of the part, which was just unmapped
 * @pages: number of pages in the part
 */
void tessera_stale_map_check_pages(struct ttm_buffer_object *tbo, u32 id, u64 first, u64 pages)
{
	struct address_space *mapping = tbo->bdev->dev_mapping;
	struct drm_vma_offset_node *node = &tbo->base.vma_node;
	unsigned long address = 0;
	struct rb_node *rb;

	if (!mapping || !drm_mm_node_allocated(&node->vm_node))
		return;
	i_mmap_lock_read(mapping);
	for (rb = rb_first_cached(&mapping->i_mmap); rb && !address; rb = rb_next(rb)) {
		struct vm_area_struct *vma = rb_entry(rb, struct vm_area_struct, shared.rb);

		if (vma->vm_private_data == tbo)
			address = first_mapped(vma, drm_vma_node_start(node) + first, pages);
	}
	i_mmap_unlock_read(mapping);
	WARN_RATELIMIT(address,
		       "tessera: object %u moves, or loses what shows it, but is seen at 0x%lx\n",
		       id, address);
}
