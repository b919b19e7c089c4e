// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: page table entries
 *
 * Encoding of aperture page table entries. Called by the paging code. No locks,
 * no state.
 */
#include "pte.h"

/**
 * tessera_pte_aperture_encode() - encode an aperture page table entry
 * @dma: DMA address of the page
 * @segment_flags: TSR_SEGF_* of a segment that shows pages
 * @cacheable: the CPU may have the page in its caches
 * @pte: receives the entry
 *
 * The GPU may write to the page unless the segment is read-only for it. The
 * entry marks the page as cacheable or not. It makes accesses snoop the caches
 * only for a cacheable page in a coherent segment (PAGE-8, COH-13). A cacheable
 * page in another segment needs cache maintenance.
 *
 * Return: 0, or -EINVAL if the segment shows no pages, or the device cannot
 * reach the address.
 */
int tessera_pte_aperture_encode(u64 dma, u32 segment_flags, bool cacheable, u64 *pte)
{
	u64 entry = TSR_APTE_VALID | dma;

	if (!(segment_flags & (TSR_SEGF_APERTURE | TSR_SEGF_UMA)) || (dma & ~TSR_APTE_ADDR_MASK))
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
