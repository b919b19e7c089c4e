// SPDX-License-Identifier: MIT
/*
 * Allocator of address ranges. It finds the lowest hole that is large enough in
 * logarithmic time. The holes are in a treap ordered by address. Each node
 * knows the largest hole of its subtree. Adjacent holes are merged. An
 * allocated range keeps the node that it needs as a hole, so freeing cannot
 * fail.
 */
#include <errno.h>

#include "va.h"

/*
 * Heap priority of a node: a hash, so that it is spread like a random number,
 * but the same in every run.
 */
static uint64_t weight(const struct tessera_va_range *hole)
{
	uint64_t x = hole->start ^ hole->start >> 30;

	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t largest(const struct tessera_va_range *hole)
{
	return hole ? hole->largest : 0;
}

static void update(struct tessera_va_range *hole)
{
	hole->largest = hole->size;
	if (hole->largest < largest(hole->left))
		hole->largest = hole->left->largest;
	if (hole->largest < largest(hole->right))
		hole->largest = hole->right->largest;
}

/* Join two trees. All holes of @a precede those of @b. */
static struct tessera_va_range *join(struct tessera_va_range *a, struct tessera_va_range *b)
{
	if (!a || !b)
		return a ? a : b;
	if (weight(a) > weight(b)) {
		a->right = join(a->right, b);
		update(a);
		return a;
	}
	b->left = join(a, b->left);
	update(b);
	return b;
}

/* Split a tree into the holes before @at and the others. */
static void cut(struct tessera_va_range *tree, uint64_t at, struct tessera_va_range **a,
		struct tessera_va_range **b)
{
	if (!tree) {
		*a = NULL;
		*b = NULL;
		return;
	}
	if (tree->start < at) {
		cut(tree->right, at, &tree->right, b);
		*a = tree;
	} else {
		cut(tree->left, at, a, &tree->left);
		*b = tree;
	}
	update(tree);
}

static void insert(struct tessera_va *va, struct tessera_va_range *hole)
{
	struct tessera_va_range *a, *b;

	hole->left = NULL;
	hole->right = NULL;
	update(hole);
	cut(va->holes, hole->start, &a, &b);
	va->holes = join(join(a, hole), b);
}

static void remove_hole(struct tessera_va *va, struct tessera_va_range *hole)
{
	struct tessera_va_range *a, *b, *rest;

	cut(va->holes, hole->start, &a, &b);
	cut(b, hole->start + 1, &b, &rest);
	va->holes = join(a, rest);
}

static struct tessera_va_range *range_new(struct tessera_va *va, uint64_t start, uint64_t size)
{
	struct tessera_va_range *range = tessera_alloc(va->dev, sizeof(*range));

	if (range) {
		range->start = start;
		range->size = size;
	}
	return range;
}

int tessera_va_init(struct tessera_va *va, struct tessera_device *dev, uint64_t start,
		    uint64_t size, uint64_t granule)
{
	struct tessera_va_range *all;

	*va = (struct tessera_va){ .dev = dev, .granule = granule };
	all = range_new(va, start, size);
	if (!all)
		return -ENOMEM;
	insert(va, all);
	return 0;
}

void tessera_va_fini(struct tessera_va *va)
{
	while (va->holes) {
		struct tessera_va_range *hole = va->holes;

		va->holes = join(hole->left, hole->right);
		tessera_free(va->dev, hole);
	}
}

/* Find the lowest hole that is large enough. */
static struct tessera_va_range *find(struct tessera_va_range *hole, uint64_t size)
{
	while (largest(hole) >= size) {
		if (largest(hole->left) >= size)
			hole = hole->left;
		else if (hole->size >= size)
			return hole;
		else
			hole = hole->right;
	}
	return NULL;
}

struct tessera_va_range *tessera_va_take(struct tessera_va *va, uint64_t size)
{
	struct tessera_va_range *hole, *range;

	size = (size + va->granule - 1) & ~(va->granule - 1);
	hole = find(va->holes, size);
	if (!hole)
		return NULL;
	if (hole->size == size) {
		remove_hole(va, hole);
		return hole;
	}
	range = range_new(va, hole->start, size);
	if (!range)
		return NULL;
	remove_hole(va, hole);
	hole->start += size;
	hole->size -= size;
	insert(va, hole);
	return range;
}

/* Find the last hole before an address, and the first one at or after it. */
static void neighbours(const struct tessera_va *va, uint64_t at, struct tessera_va_range **before,
		       struct tessera_va_range **behind)
{
	struct tessera_va_range *hole = va->holes;

	*before = NULL;
	*behind = NULL;
	while (hole) {
		if (hole->start < at) {
			*before = hole;
			hole = hole->right;
		} else {
			*behind = hole;
			hole = hole->left;
		}
	}
}

void tessera_va_give(struct tessera_va *va, struct tessera_va_range *range)
{
	struct tessera_va_range *before, *behind;

	neighbours(va, range->start, &before, &behind);
	if (before && before->start + before->size == range->start) {
		remove_hole(va, before);
		range->start = before->start;
		range->size += before->size;
		tessera_free(va->dev, before);
	}
	if (behind && range->start + range->size == behind->start) {
		remove_hole(va, behind);
		range->size += behind->size;
		tessera_free(va->dev, behind);
	}
	insert(va, range);
}
