/* SPDX-License-Identifier: MIT */
/* Allocator of address ranges. */
#ifndef TESSERA_VA_H
#define TESSERA_VA_H

#include "priv.h"

/* A range of addresses: a hole, or allocated. */
struct tessera_va_range {
	uint64_t start, size;
	/* For a hole only. */
	uint64_t largest; /* largest hole in its subtree, itself included */
	struct tessera_va_range *left, *right;
};

struct tessera_va {
	struct tessera_device *dev; /* for allocations; no reference */
	uint64_t granule; /* a power of two; all ranges are multiples of it */
	struct tessera_va_range *holes; /* a treap ordered by address */
};

int tessera_va_init(struct tessera_va *va, struct tessera_device *dev, uint64_t start,
		    uint64_t size, uint64_t granule);
/* Free all holes. Ranges that are still allocated leak. */
void tessera_va_fini(struct tessera_va *va);
/*
 * Allocate the lowest range of at least @size, which is not 0. NULL: no space
 * or no memory.
 */
struct tessera_va_range *tessera_va_take(struct tessera_va *va, uint64_t size);
void tessera_va_give(struct tessera_va *va, struct tessera_va_range *range);

#endif /* TESSERA_VA_H */
