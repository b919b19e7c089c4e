// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Unit tests of the plan map, for cases that no plan leads to. */
#include <kunit/test.h>

#include "pure/plan_map.h"

#define NODES	4U
#define CAPACITY	2U

struct small_map {
	struct tessera_plan_map map;
	struct tessera_plan_map_seg seg;
	struct tessera_plan_map_node node[NODES + 2];
	struct tessera_plan_map_victim heap[NODES];
};

static struct small_map *four_nodes(struct kunit *test)
{
	struct small_map *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u64 size = NODES;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->map.seg = &s->seg;
	s->map.node = s->node;
	s->map.n_seg = 1;
	s->map.n_node = NODES;
	s->seg.heap = s->heap;
	s->seg.max_heap = CAPACITY;
	tessera_plan_map_reset(&s->map, &size);
	for (i = 0; i < NODES; i++)
		tessera_plan_map_insert(&s->map, i ? i - 1 : s->seg.head, i, i, 1);
	memset(s->heap + CAPACITY, 0x5a, sizeof(*s->heap) * (NODES - CAPACITY));
	return s;
}

/* A full heap refuses a victim and overwrites nothing. */
static void heap_is_bounded(struct kunit *test)
{
	struct small_map *s = four_nodes(test);
	u32 i;

	for (i = 0; i < NODES; i++)
		KUNIT_EXPECT_EQ(test, tessera_plan_map_heap_push(&s->map, i, i), i < CAPACITY);
	KUNIT_EXPECT_EQ(test, s->seg.n_heap, CAPACITY);
	KUNIT_EXPECT_EQ(test, s->heap[CAPACITY].node, 0x5a5a5a5a);
	/* A refused block stays protected. */
	for (i = 0; i < NODES; i++)
		KUNIT_EXPECT_EQ(test, s->node[i].prot, i >= CAPACITY);
	KUNIT_EXPECT_EQ(test, s->seg.kept, NODES - CAPACITY);
	/* Removing a victim makes space for another one. */
	tessera_plan_map_heap_remove(&s->map, 0);
	tessera_plan_map_protect(&s->map, 3, false);
	KUNIT_EXPECT_TRUE(test, tessera_plan_map_heap_push(&s->map, 3, 3));
	KUNIT_EXPECT_EQ(test, s->heap[0].node, 3);
}

static struct kunit_case split_plan_map_tests[] = {
	KUNIT_CASE(heap_is_bounded),
	{}
};

static struct kunit_suite split_plan_map_suite = {
	.name = "tessera_split_plan_map",
	.test_cases = split_plan_map_tests,
};

kunit_test_suite(split_plan_map_suite);
