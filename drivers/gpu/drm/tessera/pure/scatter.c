// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scattered places
 *
 * What of each hole of a segment an object takes that may lie in pieces. As much as there is in blocks of the
 * largest leaf of the page tables, then in those of the next one, then single pages. So the first bytes of the object are in the
 * largest blocks, at multiples of their size both in the object and in memory, which is what a leaf takes;
 * and no free page is left out.
 *
 * Called by the manager of a segment, with its lock held.
 */
#include "scatter.h"

#include "tessera/tessera_hw.h"

/* Pages of the leaves. */
#define PAGES_2M	((u64)TSR_PT_ENTRIES)
#define PAGES_64K	16ULL

/**
 * tessera_scatter_begin() - an object needs pages
 * @scatter: the request
 * @pages: how many, a multiple of @smallest
 * @smallest: granularity of the segment in pages, at most 16; a power of two
 */
void tessera_scatter_begin(struct tessera_scatter *scatter, u64 pages, u64 smallest)
{
	*scatter = (struct tessera_scatter) {
		.left = pages,
		.unit = PAGES_2M,
		.smallest = smallest,
	};
}
EXPORT_SYMBOL_IF_KUNIT(tessera_scatter_begin);

/**
 * tessera_scatter_next() - all holes have been offered: go on with smaller pieces
 * @scatter: the request
 *
 * Return: false if it has all it needs, or there are no smaller ones.
 */
bool tessera_scatter_next(struct tessera_scatter *scatter)
{
	if (!scatter->left || scatter->unit == scatter->smallest)
		return false;
	scatter->unit = scatter->unit == PAGES_2M ? PAGES_64K : scatter->smallest;

	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_scatter_next);

/**
 * tessera_scatter_take() - take what there is of a hole
 * @scatter: the request
 * @lo: first page of the hole
 * @hi: the page behind it
 * @start: receives the first page of what is taken
 *
 * Return: pages taken, maybe none.
 */
u64 tessera_scatter_take(struct tessera_scatter *scatter, u64 lo, u64 hi, u64 *start)
{
	u64 pages;

	lo = ALIGN(lo, scatter->unit);
	hi = ALIGN_DOWN(hi, scatter->unit);
	if (lo >= hi)
		return 0;
	pages = min(hi - lo, ALIGN_DOWN(scatter->left, scatter->unit));
	scatter->left -= pages;
	*start = lo;

	return pages;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_scatter_take);
