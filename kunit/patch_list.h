/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Initialisers of patch list elements for tests. NUL is the index of the NULL
 * element in the allocation list.
 */
#ifndef __TESSERA_KUNIT_PATCH_LIST_H__
#define __TESSERA_KUNIT_PATCH_LIST_H__

#include <linux/errno.h>
#include <linux/types.h>

#define BIND(alloc, slot, split, patch) \
	{ .alloc_index = (alloc), .slot_id = (slot), .split_offset = (split), \
	  .patch_offset = (patch) }
#define BIND_AT(alloc, slot, split, patch, off) \
	{ .alloc_index = (alloc), .slot_id = (slot), .split_offset = (split), \
	  .patch_offset = (patch), .alloc_offset = (off) }
#define UNBIND(slot, split) \
	{ .alloc_index = NUL, .slot_id = (slot), .split_offset = (split) }

/*
 * For &tessera_patch_list.check: return 0 for the number of calls in @ctx, then
 * -EINTR.
 */
static inline int check_down(void *ctx)
{
	u32 *left = ctx;

	if (!*left)
		return -EINTR;
	--*left;

	return 0;
}

#endif /* __TESSERA_KUNIT_PATCH_LIST_H__ */
