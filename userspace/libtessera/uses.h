/* SPDX-License-Identifier: MIT */
/* Uses of an object by jobs that the kernel does not associate with it. */
#ifndef TESSERA_USES_H
#define TESSERA_USES_H

#include "priv.h"

/* A job uses the object until the timeline reaches the point. */
struct tessera_use {
	struct tessera_syncobj *timeline; /* reference */
	uint64_t point;
	bool write;
};

struct tessera_uses {
	struct tessera_use *list;
	size_t num, cap;
};

int tessera_uses_add(struct tessera_device *dev, struct tessera_uses *uses,
		     struct tessera_syncobj *timeline, uint64_t point, bool write);
/*
 * Returns 1 if the access would conflict with a job, 0 if not, or a negative
 * errno. Drops the uses that are over.
 */
int tessera_uses_busy(struct tessera_uses *uses, bool for_write);
/* Sleeps until tessera_uses_busy() would return 0. */
int tessera_uses_wait(struct tessera_uses *uses, bool for_write);
void tessera_uses_fini(struct tessera_device *dev, struct tessera_uses *uses);

#endif /* TESSERA_USES_H */
