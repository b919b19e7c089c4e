/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PAGING_CURSOR_H__
#define __TESSERA_PAGING_CURSOR_H__

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/types.h>

/**
 * struct tessera_res_cursor - walks a transfer in passes
 *
 * A pass ends where the page list of one packet is full. Where the layout
 * changes, a pass is made of whole rows of tiles. A pass never splits a page.
 */
struct tessera_res_cursor {
	/** @total: bytes in all */
	u64 total;
	/** @pos: where the pass starts */
	u64 pos;
	/** @bytes: length of the pass, 0 at the end */
	u64 bytes;
	/** @limit: longest pass */
	u64 limit;
};

/* @unit is what passes are multiples of; a multiple of the page size, @max at least as large. */
static inline void tessera_res_cursor_first(struct tessera_res_cursor *cur, u64 total,
					    u32 max, u32 unit)
{
	cur->total = total;
	cur->pos = 0;
	cur->limit = max - max % unit;
	cur->bytes = min(total, cur->limit);
}

static inline void tessera_res_cursor_next(struct tessera_res_cursor *cur)
{
	cur->pos += cur->bytes;
	cur->bytes = min(cur->total - cur->pos, cur->limit);
}

static inline bool tessera_res_cursor_is_first(const struct tessera_res_cursor *cur)
{
	return !cur->pos;
}

static inline bool tessera_res_cursor_is_last(const struct tessera_res_cursor *cur)
{
	return cur->pos + cur->bytes == cur->total;
}

#endif /* __TESSERA_PAGING_CURSOR_H__ */
