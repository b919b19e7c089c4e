// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: page table entries
 *
 * Encoding of aperture page table entries.
 * Called by the paging code. No locks, no state.
 */
#include "pte.h"

/**
 * tessera_pte_aperture_encode() - make an aperture page table entry
 * @dma: DMA address of the page
 * @segment_flags: TSR_SEGF_* of the aperture segment
 * @cacheable: the CPU may have the page in its caches
 * @pte: receives the entry
 *
 * The GPU may write the page unless the segment is read-only to it. The entry says that the page
 * is cacheable, and that accesses snoop caches for cacheable pages in a coherent segment only
 * (PAGE-8, COH-13). Without the latter a cacheable page needs cache maintenance.
 *
 * Return: 0, or -EINVAL if the segment is no aperture or the address is not that
 * of a page the device can reach.
 */
int tessera_pte_aperture_encode(u64 dma, u32 segment_flags, bool cacheable, u64 *pte)
{
	u64 entry = TSR_APTE_VALID | dma;

	if (!(segment_flags & TSR_SEGF_APERTURE) || (dma & ~TSR_APTE_ADDR_MASK))
		return -EINVAL;
	if (!(segment_flags & TSR_SEGF_GPU_READ_ONLY))
		entry |= TSR_APTE_WRITE;
	if (cacheable)
		entry |= TSR_APTE_CACHED;
	if (cacheable && (segment_flags & TSR_SEGF_CACHE_COHERENT))
		entry |= TSR_APTE_COHERENT;
	*pte = entry;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_pte_aperture_encode);
