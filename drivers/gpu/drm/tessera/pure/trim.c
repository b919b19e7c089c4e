// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: bytes to trim
 *
 * How much of what it has listed as resident a client has to give up so that more
 * fits (RES-3). Called by residency lists when it does not.
 *
 * Objects take room one after the other, each where there is enough for it, else where
 * least is missing. In one segment that is exact: whoever gives up the sum there has
 * room. An object that may live in several has its choice, so that what is given up in
 * another segment than the sum was made for may be too little, and it is made anew.
 */
#include "trim.h"

/**
 * tessera_trim_add() - count an object
 * @trim: the sum
 * @size: bytes of the object
 * @segs: set of indexes of the segments it may live in
 *
 * Return: 0; -EINVAL if it may live in none of the segments; or -EOVERFLOW.
 */
int tessera_trim_add(struct tessera_trim *trim, u64 size, u32 segs)
{
	struct tessera_trim_seg *seg = NULL;
	u64 bytes, missing = U64_MAX;
	u32 i, best = 0;

	for (i = 0; i < trim->n_segs && missing; i++) {
		u64 footprint = ALIGN(size, trim->segs[i].page_size);
		u64 lack = footprint - min(footprint, trim->segs[i].room);

		if (!(segs & BIT(i)) || footprint < size || lack >= missing)
			continue;
		seg = &trim->segs[i];
		missing = lack;
		best = i;
	}
	if (!seg)
		return -EINVAL;
	if (check_add_overflow(trim->bytes, missing, &bytes))
		return -EOVERFLOW;

	seg->room -= min(seg->room, ALIGN(size, seg->page_size));
	trim->bytes = bytes;
	if (missing)
		trim->set |= BIT(best);

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_trim_add);
