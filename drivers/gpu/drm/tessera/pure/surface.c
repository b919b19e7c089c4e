// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: layouts and private data
 *
 * Both swizzled layouts are made of tiles of 4 KiB, 128 bytes by 32 rows, in
 * row-major order. The driver moves bytes between layouts by the paging engine
 * alone: all that it has to know is which allocations tiles fill.
 *
 * What user space says is in the two allocations of a surface that the GPU wants swizzled and
 * the CPU linear. It is understood when they are created, and nowhere else: to
 * what manages memory an allocation is a size and an alignment (SWZ-20, SWZ-21). Called by the creation
 * of twins. No locks, no state.
 */
#include "surface.h"

/**
 * tessera_swizzle_geometry_ok() - whether an allocation can have a layout
 * @layout: TSR_LAYOUT_*
 * @pitch: bytes per row; 0 for the linear layout
 * @size: bytes of the allocation
 *
 * Return: true if tiles fill the allocation exactly.
 */
bool tessera_swizzle_geometry_ok(u32 layout, u32 pitch, u64 size)
{
	u64 rest;

	if (layout == TSR_LAYOUT_LINEAR)
		return !pitch;
	if (layout >= TSR_LAYOUT_COUNT || !pitch || !IS_ALIGNED(pitch, TSR_TILE_WIDTH_BYTES))
		return false;
	div64_u64_rem(size, (u64)pitch * TSR_TILE_ROWS, &rest);

	return size && !rest;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_swizzle_geometry_ok);

/* Bytes a surface takes: of the last row of a linear one only what belongs to it. */
static u64 private_bytes(const struct tessera_private *priv)
{
	if (priv->layout == TSR_LAYOUT_LINEAR)
		return (u64)(priv->rows - 1) * priv->pitch + priv->width;

	return ALIGN((u64)priv->rows, TSR_TILE_ROWS) * priv->pitch;
}

static bool private_layout_ok(const struct tessera_private *priv, u64 size)
{
	bool linear = priv->layout == TSR_LAYOUT_LINEAR;

	if (tessera_private_is_twin(priv) != linear)
		return false;
	if (linear)
		return IS_ALIGNED(priv->pitch, sizeof(u32));

	return tessera_swizzle_geometry_ok(priv->layout, priv->pitch, size);
}

/**
 * tessera_private_check() - understand what is said of one allocation
 * @priv: what is
 * @size: bytes of the allocation
 *
 * Return: 0 or -EINVAL.
 */
int tessera_private_check(const struct tessera_private *priv, u64 size)
{
	if (priv->version != TESSERA_PRIVATE_VERSION ||
	    (priv->flags & ~TESSERA_PRIVATE_TWIN) || priv->reserved)
		return -EINVAL;
	if (!priv->width || priv->width > priv->pitch || priv->pitch > TSR_SURF_MAX_PITCH ||
	    !priv->rows || priv->rows > TSR_SURF_MAX_DIM || !private_layout_ok(priv, size))
		return -EINVAL;

	return private_bytes(priv) > size ? -EINVAL : 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_private_check);

/**
 * tessera_twins_check() - understand what is said of the two allocations of a surface
 * @privs: what is said of each, TESSERA_NUM_TWINS elements
 * @sizes: bytes of each
 *
 * One is swizzled, for the GPU, the other is its twin, linear, for the CPU; both have room for the
 * same rows of the same width.
 *
 * Return: 0 or -EINVAL.
 */
int tessera_twins_check(const struct tessera_private *privs, const u64 *sizes)
{
	u32 i;
	int ret;

	for (i = 0; i < TESSERA_NUM_TWINS; i++) {
		ret = tessera_private_check(&privs[i], sizes[i]);
		if (ret)
			return ret;
	}
	if (tessera_private_is_twin(&privs[0]) == tessera_private_is_twin(&privs[1]) ||
	    privs[0].width != privs[1].width || privs[0].rows != privs[1].rows)
		return -EINVAL;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_twins_check);
