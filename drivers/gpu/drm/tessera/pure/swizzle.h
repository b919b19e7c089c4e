/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_SWIZZLE_H__
#define __TESSERA_PURE_SWIZZLE_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

bool tessera_swizzle_geometry_ok(u32 layout, u32 pitch, u64 size);
u64 tessera_swizzle_from_linear(u32 layout, u32 pitch, u64 linear);
u64 tessera_swizzle_to_linear(u32 layout, u32 pitch, u64 swizzled);

#endif /* __TESSERA_PURE_SWIZZLE_H__ */
