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
	/** @reverse: passes go from the end to the start */
	bool reverse;
	/** @last: this is the last pass */
	bool last;
};

/* @unit is what passes are multiples of; a multiple of the page size, @max at least as large. */
static inline void tessera_res_cursor_first(struct tessera_res_cursor *cur, u64 total,
					    u32 max, u32 unit)
{
	*cur = (struct tessera_res_cursor) { .total = total, .limit = max - max % unit };
	cur->bytes = min(total, cur->limit);
	cur->last = cur->bytes == total;
}

/* Go the other way; right after tessera_res_cursor_first(). */
static inline void tessera_res_cursor_reverse(struct tessera_res_cursor *cur)
{
	cur->reverse = true;
	cur->pos = cur->total - cur->bytes;
}

static inline void tessera_res_cursor_next(struct tessera_res_cursor *cur)
{
	if (cur->last) {
		cur->bytes = 0;
	} else if (cur->reverse) {
		cur->bytes = min(cur->pos, cur->limit);
		cur->pos -= cur->bytes;
		cur->last = !cur->pos;
	} else {
		cur->pos += cur->bytes;
		cur->bytes = min(cur->total - cur->pos, cur->limit);
		cur->last = cur->pos + cur->bytes == cur->total;
	}
}

static inline bool tessera_res_cursor_is_first(const struct tessera_res_cursor *cur)
{
	return cur->reverse ? cur->pos + cur->bytes == cur->total : !cur->pos;
}

static inline bool tessera_res_cursor_is_last(const struct tessera_res_cursor *cur)
{
	return cur->last;
}

#endif /* __TESSERA_PAGING_CURSOR_H__ */
