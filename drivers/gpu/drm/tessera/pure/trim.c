// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: bytes to trim
 *
 * Computes how much of its residency list a client has to give up so that more
 * objects become resident (RES-3). Called by the residency code when they do
 * not fit.
 *
 * The objects are placed one after the other, each into a segment with enough
 * space, or else where the least is missing. For one segment the result is
 * exact: a client that gives up that sum there has enough space. An object that
 * may be in several segments can be placed differently. If the client then
 * gives up memory in another segment, that may be too little, and the sum is
 * computed again.
 */
#include "trim.h"

/**
 * tessera_trim_add() - add an object to the sum
 * @trim: the sum
 * @size: bytes of the object
 * @segs: set of indexes of the segments that may hold it
 *
 * Return: 0; -EINVAL if none of the segments may hold it; or -EOVERFLOW.
 */
int tessera_trim_add(struct tessera_trim *trim, u64 size, u32 segs)
{
	struct tessera_trim_seg *seg = NULL;
	u64 bytes, missing = U64_MAX;
	u32 i, best = 0;

	for (i = 0; i < trim->n_segs && missing; i++) {
		u64 footprint = ALIGN(size, trim->segs[i].page_size);
		u64 lack = footprint - min(footprint, trim->segs[i].available);

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

	seg->available -= min(seg->available, ALIGN(size, seg->page_size));
	trim->bytes = bytes;
	if (missing)
		trim->set |= BIT(best);

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_trim_add);
