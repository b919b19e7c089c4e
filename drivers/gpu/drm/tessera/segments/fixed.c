// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: what is fixed
 *
 * What is scanned out (mem/scanout.c) gives way to nobody, whoever pays for it. So it must leave
 * others some of a segment: a quarter at least, in which most jobs still run, in parts. Who wants
 * more than the rest has a display that is too large for the device.
 */

#include <linux/mutex.h>

#include "segments/fixed.h"
#include "segments/manager.h"
#include "segments/segment.h"

/* Of a segment. */
#define FIXED_QUARTERS	3

/**
 * tessera_fixed_book() - book bytes that stay where they are
 * @mgr: the manager of the segment
 * @bytes: how many
 *
 * Return: 0, or -ENOSPC if there are too many of them in the segment.
 */
int tessera_fixed_book(struct tessera_manager *mgr, u64 bytes)
{
	int ret = 0;

	mutex_lock(&mgr->lock);
	if (mgr->fixed + bytes > mgr->seg->commit / 4 * FIXED_QUARTERS)
		ret = -ENOSPC;
	else
		mgr->fixed += bytes;
	mutex_unlock(&mgr->lock);

	return ret;
}

/**
 * tessera_fixed_unbook() - book bytes that may go again
 * @mgr: the manager of the segment
 * @bytes: how many
 */
void tessera_fixed_unbook(struct tessera_manager *mgr, u64 bytes)
{
	mutex_lock(&mgr->lock);
	mgr->fixed -= bytes;
	mutex_unlock(&mgr->lock);
}
