// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: cache coherency
 *
 * Decides how the system pages of an object are cached, and which aperture pages
 * may snoop. Stateless.
 */

#include "paging/paging.h"
#include "segments/segments.h"
#include "tessera_device.h"

#include <drm/tessera_drm.h>

/**
 * tessera_cache_choose() - caching of an object's system pages
 * @tdev: the device
 * @bo_flags: DRM_TESSERA_BO_*
 *
 * Cached where user space asked for it. Pages that only the device uses are cached
 * as well if its accesses snoop, as that saves changing the kernel's mapping of them.
 *
 * Return: the caching for ttm_sg_tt_init().
 */
enum ttm_caching tessera_cache_choose(struct tessera_device *tdev, u32 bo_flags)
{
	if (bo_flags & DRM_TESSERA_BO_CPU_CACHED)
		return ttm_cached;
	if (!(bo_flags & DRM_TESSERA_BO_CPU_ACCESS) &&
	    (tdev->info.caps & TSR_CAP_IO_COHERENT))
		return ttm_cached;

	return ttm_write_combined;
}

/**
 * tessera_cache_vm_bits() - what the entry of a virtual address says of a system page
 * @seg: the aperture segment it is in
 * @caching: of the page
 *
 * As the entry of the same page in the aperture says, see tessera_paging_map().
 *
 * Return: TSR_PTE_* bits.
 */
u64 tessera_cache_vm_bits(const struct tessera_segment *seg, enum ttm_caching caching)
{
	if (caching != ttm_cached)
		return 0;

	return TSR_PTE_CACHED | (seg->flags & TSR_SEGF_CACHE_COHERENT ? TSR_PTE_COHERENT : 0);
}
