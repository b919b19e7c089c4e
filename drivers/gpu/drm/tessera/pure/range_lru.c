// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: victim choice among swizzling ranges
 *
 * All swizzling ranges are equal (SWZ-26), so an object can take any free one.
 * If none is free, the object with the oldest request loses its range, unless
 * it is locked. The locks of one process protect at most half of all ranges
 * against other processes, so that it cannot lock them out. No locks.
 */
#include "range_lru.h"

/**
 * tessera_range_kept() - number of ranges that one process's locks protect
 * @num: total number of ranges
 *
 * Return: half of them, but at least one.
 */
u32 tessera_range_kept(u32 num)
{
	return max(num / 2, 1U);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_range_kept);

/**
 * tessera_range_free() - find a free range
 * @use: the ranges
 * @num: number of @use
 *
 * Return: the lowest free one, or U32_MAX.
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

static u32 locked_by(const struct tessera_range_use *use, u32 num, u32 process)
{
	u32 i, count = 0;

	for (i = 0; i < num; i++)
		count += use[i].taken && use[i].locked && use[i].process == process;

	return count;
}

/**
 * tessera_range_victim() - choose the range to take away
 * @use: the ranges
 * @num: number of @use
 * @process: the process that is charged for the requesting object
 *
 * Locks of the requesting process itself are never broken. A process that has
 * locked more objects than there are ranges is better served from system memory
 * (SWZ-9).
 *
 * Return: the least recently used range, unlocked ones first, or U32_MAX if
 * none can be taken.
 */
u32 tessera_range_victim(const struct tessera_range_use *use, u32 num, u32 process)
{
	u32 i, best = U32_MAX;

	for (i = 0; i < num; i++) {
		if (!use[i].taken || use[i].busy)
			continue;
		if (use[i].locked &&
		    (use[i].process == process ||
		     locked_by(use, num, use[i].process) <= tessera_range_kept(num)))
			continue;
		if (best == U32_MAX || use[i].locked < use[best].locked ||
		    (use[i].locked == use[best].locked && use[i].last_use < use[best].last_use))
			best = i;
	}

	return best;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_range_victim);
