// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: layouts and private data
 *
 * Both swizzled layouts consist of 4 KiB tiles, 128 bytes by 32 rows, in
 * row-major order. The driver converts between layouts only with the paging
 * engine. It only needs to know which allocations are filled by whole tiles.
 *
 * User space describes the two allocations of a surface pair: a swizzled one
 * for the GPU and a linear one for the CPU. The description is checked when the
 * pair is created and is not used anywhere else. Memory management treats an
 * allocation as a size and an alignment (SWZ-20, SWZ-21). Called when a surface
 * pair is created. No locks, no state.
 */
#include "surface.h"

/**
 * tessera_swizzle_geometry_ok() - check whether an allocation can have a layout
 * @layout: TSR_LAYOUT_*
 * @pitch: bytes per row; 0 for the linear layout
 * @size: bytes of the allocation
 *
 * Return: true if whole tiles fill the allocation exactly, or the layout is
 * linear.
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

/* Bytes of a surface. The last row of a linear surface has no padding. */
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
 * tessera_private_check() - check the private data of one allocation
 * @priv: the private data
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
 * tessera_surface_pair_check() - check the private data of a surface pair
 * @privs: private data of both allocations, TESSERA_SURFACE_PAIR_NUM elements
 * @sizes: bytes of each
 *
 * One allocation is swizzled, for the GPU. The other is its twin: linear, for
 * the CPU. Both hold the same number of rows of the same width.
 *
 * Return: 0 or -EINVAL.
 */
int tessera_surface_pair_check(const struct tessera_private *privs, const u64 *sizes)
{
	u32 i;
	int ret;

	for (i = 0; i < TESSERA_SURFACE_PAIR_NUM; i++) {
		ret = tessera_private_check(&privs[i], sizes[i]);
		if (ret)
			return ret;
	}
	if (tessera_private_is_twin(&privs[0]) == tessera_private_is_twin(&privs[1]) ||
	    privs[0].width != privs[1].width || privs[0].rows != privs[1].rows)
		return -EINVAL;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_surface_pair_check);
