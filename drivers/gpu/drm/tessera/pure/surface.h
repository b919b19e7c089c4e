/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_SURFACE_H__
#define __TESSERA_PURE_SURFACE_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

#define TESSERA_PRIVATE_VERSION	1U

/* Flags of &tessera_private. */
#define TESSERA_PRIVATE_TWIN	BIT(0)

#define TESSERA_SURFACE_PAIR_NUM	2U

/**
 * struct tessera_private - private data of an allocation, as in the uAPI
 */
struct tessera_private {
	/** @version: TESSERA_PRIVATE_VERSION */
	u32 version;
	/** @flags: TESSERA_PRIVATE_* */
	u32 flags;
	/** @layout: TSR_LAYOUT_* */
	u32 layout;
	/** @pitch: distance between rows in bytes */
	u32 pitch;
	/** @width: bytes of a row that belong to the surface */
	u32 width;
	/** @rows: rows of the surface */
	u32 rows;
	/** @reserved: zero */
	u64 reserved;
};

bool tessera_swizzle_geometry_ok(u32 layout, u32 pitch, u64 size);
int tessera_private_check(const struct tessera_private *priv, u64 size);
int tessera_surface_pair_check(const struct tessera_private *privs, const u64 *sizes);

static inline bool tessera_private_is_twin(const struct tessera_private *priv)
{
	return priv->flags & TESSERA_PRIVATE_TWIN;
}

#endif /* __TESSERA_PURE_SURFACE_H__ */
