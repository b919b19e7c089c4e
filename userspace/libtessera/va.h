/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses: which are free.
 */
#ifndef TESSERA_VA_H
#define TESSERA_VA_H

#include "priv.h"

/* Of addresses: a hole, or handed out. */
struct tessera_va_range {
	uint64_t start, size;
	/* Of a hole. */
	uint64_t largest; /* hole in the tree below it, itself included */
	struct tessera_va_range *left, *right;
};

struct tessera_va {
	struct tessera_device *dev; /* for memory; no reference */
	uint64_t granule; /* a power of two: all ranges are multiples of it */
	struct tessera_va_range *holes; /* a treap, in the order of addresses */
};

int tessera_va_init(struct tessera_va *va, struct tessera_device *dev, uint64_t start,
		    uint64_t size, uint64_t granule);
/* Ranges handed out are lost. */
void tessera_va_fini(struct tessera_va *va);
/* The lowest of at least @size, which is not 0. NULL: there is none, or no memory. */
struct tessera_va_range *tessera_va_take(struct tessera_va *va, uint64_t size);
void tessera_va_give(struct tessera_va *va, struct tessera_va_range *range);

#endif /* TESSERA_VA_H */
