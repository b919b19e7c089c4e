// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: cache coherency
 *
 * Chooses how the system pages of an object are cached, and which bits a page
 * table entry needs for that. Stateless.
 */

#include "base/device.h"
#include "paging/paging.h"
#include "segments/segments.h"

#include <drm/tessera_drm.h>

/**
 * tessera_cache_choose() - choose the caching of an object's system pages
 * @tdev: the device
 * @bo_flags: DRM_TESSERA_BO_*
 * @supported: ids of the segments that the object may be in
 *
 * Pages are cached if user space asked for it, or if they may be the memory of
 * a UMA segment (SEG-36), which is always snooped. Pages that only the device
 * uses are cached, too, if its accesses snoop. The driver then need not change
 * the caching of the kernel's mapping of the pages.
 *
 * Return: the caching of its &struct ttm_tt.
 */
enum ttm_caching tessera_cache_choose(struct tessera_device *tdev, u32 bo_flags, u32 supported)
{
	if ((bo_flags & DRM_TESSERA_BO_CPU_CACHED) ||
	    tessera_segment_with(tdev, supported, TSR_SEGF_UMA, TSR_SEGF_UMA))
		return ttm_cached;
	if (!(bo_flags & DRM_TESSERA_BO_CPU_ACCESS) &&
	    (tdev->info.caps & TSR_CAP_IO_COHERENT))
		return ttm_cached;

	return ttm_write_combined;
}

/**
 * tessera_cache_vm_bits() - caching bits of a page table entry for a system
 * page
 * @seg: the segment that shows the page
 * @caching: caching of the page
 *
 * The bits match those of the segment's entry for the same page, see
 * tessera_paging_map().
 *
 * Return: TSR_PTE_* bits.
 */
u64 tessera_cache_vm_bits(const struct tessera_segment *seg, enum ttm_caching caching)
{
	if (caching != ttm_cached)
		return 0;

	return TSR_PTE_CACHED | (seg->flags & TSR_SEGF_CACHE_COHERENT ? TSR_PTE_COHERENT : 0);
}
