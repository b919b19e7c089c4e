// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: scattered placement
 *
 * Selects the parts of a segment's holes for an object that need not be
 * contiguous. It first takes as much as possible in blocks of the largest leaf
 * of the page tables, then in blocks of the next smaller leaf, then in pages of
 * the segment's granularity. The first bytes of the object are thus in the
 * largest blocks, at multiples of their size both in the object and in memory,
 * as a leaf requires. All free pages can be used.
 *
 * Called by the manager of a segment, with its lock held.
 */
#include "scatter.h"

#include "tessera/tessera_hw.h"

/* Sizes of the leaves in pages. */
#define PAGES_2M	((u64)TSR_PT_ENTRIES)
#define PAGES_64K	16ULL

/**
 * tessera_scatter_begin() - begin a request
 * @scatter: the request
 * @pages: number of pages needed, a multiple of @smallest
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
 * tessera_scatter_next() - continue with the next smaller unit
 * @scatter: the request; all holes were offered with the current unit
 *
 * Return: false if the request is complete, or there is no smaller unit.
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
 * tessera_scatter_take() - take pages from a hole
 * @scatter: the request
 * @lo: first page of the hole
 * @hi: first page after the hole
 * @start: receives the first page taken
 *
 * Return: number of pages taken, possibly 0.
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
