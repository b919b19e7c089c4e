// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: pages of a window
 *
 * Who maps memory into the CPU host aperture wants a number of its pages. Any will do, as a
 * mapping of the CPU puts them in order (CHA-3), but what lies together is set up in one go:
 * so a run that is long enough is preferred, the lowest. No locks.
 */
#include "page_pool.h"

/**
 * tessera_page_pool_init() - all pages are free
 * @pool: the pool
 * @taken: BITS_TO_LONGS(@num) words of zeroes
 * @num: number of pages
 */
void tessera_page_pool_init(struct tessera_page_pool *pool, unsigned long *taken, u32 num)
{
	pool->taken = taken;
	pool->num = num;
	pool->num_free = num;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_page_pool_init);

/* First page of the lowest run of @count free ones, or U32_MAX. */
static u32 find_run(const struct tessera_page_pool *pool, u32 count)
{
	u32 i, length = 0;

	for (i = 0; i < pool->num; i++) {
		length = test_bit(i, pool->taken) ? 0 : length + 1;
		if (length == count)
			return i + 1 - count;
	}

	return U32_MAX;
}

/**
 * tessera_page_pool_take() - get pages
 * @pool: the pool
 * @pages: receives their numbers, in ascending order
 * @count: how many
 *
 * Return: 0, or -ENOSPC if there are not so many; then none is taken.
 */
int tessera_page_pool_take(struct tessera_page_pool *pool, u32 *pages, u32 count)
{
	u32 i, n = 0;

	if (!count)
		return 0;
	if (count > pool->num_free)
		return -ENOSPC;
	i = find_run(pool, count);
	for (i = i == U32_MAX ? 0 : i; n < count; i++) {
		if (test_bit(i, pool->taken))
			continue;
		__set_bit(i, pool->taken);
		pages[n++] = i;
	}
	pool->num_free -= count;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_page_pool_take);

/**
 * tessera_page_pool_give() - give pages back
 * @pool: the pool
 * @pages: their numbers
 * @count: how many
 */
void tessera_page_pool_give(struct tessera_page_pool *pool, const u32 *pages, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		__clear_bit(pages[i], pool->taken);
	pool->num_free += count;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_page_pool_give);

/**
 * tessera_page_pool_guards() - ask whether locked pages are kept from others
 * @pool: the pool
 * @locked: how many one payer has locked
 *
 * Half of the pool at most: who locks more gives way to others like who has locked nothing.
 *
 * Return: true if others do not get them.
 */
bool tessera_page_pool_guards(const struct tessera_page_pool *pool, u32 locked)
{
	return locked <= pool->num / 2;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_page_pool_guards);

/**
 * tessera_page_pool_run() - how many pages lie together
 * @pages: numbers
 * @count: how many, not 0
 *
 * Return: the length of the run that @pages begins with.
 */
u32 tessera_page_pool_run(const u32 *pages, u32 count)
{
	u32 n = 1;

	while (n < count && pages[n] == pages[n - 1] + 1)
		n++;

	return n;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_page_pool_run);
