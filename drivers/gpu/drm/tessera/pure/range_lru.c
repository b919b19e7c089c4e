// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: who gives a swizzling range up
 *
 * All ranges are equal (SWZ-26), so who wants one gets any that is free. If none is, the object
 * that came for its own longest ago gives it up, but not one that is locked. Locks of
 * one payer protect no more than half of all ranges against others, so that nobody locks the
 * others out. No locks.
 */
#include "range_lru.h"

/**
 * tessera_range_kept() - how many ranges one payer's locks keep from others
 * @num: ranges in all
 *
 * Return: half of them, but one at least.
 */
u32 tessera_range_kept(u32 num)
{
	return max(num / 2, 1U);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_range_kept);

/**
 * tessera_range_free() - find a range that nobody has
 * @use: the ranges
 * @num: elements of @use
 *
 * Return: the lowest, or U32_MAX.
 */
u32 tessera_range_free(const struct tessera_range_use *use, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		if (!use[i].taken)
			return i;

	return U32_MAX;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_range_free);

static u32 locked_by(const struct tessera_range_use *use, u32 num, u32 payer)
{
	u32 i, count = 0;

	for (i = 0; i < num; i++)
		count += use[i].taken && use[i].locked && use[i].payer == payer;

	return count;
}

/**
 * tessera_range_victim() - choose who gives its range up
 * @use: the ranges
 * @num: elements of @use
 * @payer: who pays for the object that wants one
 *
 * One's own locks are never broken: one who has locked more than there are ranges is better
 * served in system memory (SWZ-9) than by taking from itself.
 *
 * Return: the range used least recently, unlocked ones first, or U32_MAX if all must stay.
 */
u32 tessera_range_victim(const struct tessera_range_use *use, u32 num, u32 payer)
{
	u32 i, best = U32_MAX;

	for (i = 0; i < num; i++) {
		if (!use[i].taken || use[i].busy)
			continue;
		if (use[i].locked && (use[i].payer == payer ||
				      locked_by(use, num, use[i].payer) <= tessera_range_kept(num)))
			continue;
		if (best == U32_MAX || use[i].locked < use[best].locked ||
		    (use[i].locked == use[best].locked && use[i].last_use < use[best].last_use))
			best = i;
	}

	return best;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_range_victim);
