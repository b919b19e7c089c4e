/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_PTE_H__
#define __TESSERA_PURE_PTE_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

/**
 * struct tessera_aperture_pte - a decoded aperture page table entry
 */
struct tessera_aperture_pte {
	/** @dma: DMA address of the page */
	u64 dma;
	/** @valid: the entry maps a page */
	bool valid;
	/** @write: the GPU may write it */
	bool write;
	/** @coherent: accesses snoop CPU caches */
	bool coherent;
	/** @cached: the page is in CPU caches, and accesses do not snoop */
	bool cached;
};

int tessera_pte_aperture_encode(u64 dma, u32 segment_flags, bool cacheable, bool snoops,
				u64 *pte);
int tessera_pte_aperture_decode(u64 pte, struct tessera_aperture_pte *out);

#endif /* __TESSERA_PURE_PTE_H__ */
