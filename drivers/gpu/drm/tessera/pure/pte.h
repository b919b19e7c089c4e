/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_PTE_H__
#define __TESSERA_PURE_PTE_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

int tessera_pte_aperture_encode(u64 dma, u32 segment_flags, bool cacheable, u64 *pte);

#endif /* __TESSERA_PURE_PTE_H__ */
