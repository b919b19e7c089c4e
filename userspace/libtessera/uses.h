/* SPDX-License-Identifier: MIT */
/*
 * Until when jobs use something that the kernel does not watch.
 */
#ifndef TESSERA_USES_H
#define TESSERA_USES_H

#include "priv.h"

/* Jobs do until a timeline reaches a point. */
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
/* 1: jobs do that an access would disturb; 0: none does. Forgets those that are done. */
int tessera_uses_busy(struct tessera_uses *uses, bool for_write);
/* Sleeps until that is 0. */
int tessera_uses_wait(struct tessera_uses *uses, bool for_write);
void tessera_uses_fini(struct tessera_device *dev, struct tessera_uses *uses);

#endif /* TESSERA_USES_H */
