// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The planner's model of segment space where the planner cannot take it.
 */
#include <kunit/test.h>

#include "pure/space.h"

#define NODES	4U
#define ROOM	2U

struct space {
	struct tessera_space sp;
	struct tessera_space_seg seg;
	struct tessera_space_node node[NODES + 2];
	struct tessera_space_chunk chunk[NODES + 2];
	struct tessera_space_victim heap[NODES];
};

static struct space *four_nodes(struct kunit *test)
{
	struct space *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u64 size = NODES;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->sp.seg = &s->seg;
	s->sp.node = s->node;
	s->sp.chunk = s->chunk;
	s->sp.n_seg = 1;
	s->sp.n_node = NODES;
	s->seg.heap = s->heap;
	s->seg.max_heap = ROOM;
	tessera_space_reset(&s->sp, &size);
	for (i = 0; i < NODES; i++)
		tessera_space_insert(&s->sp, i ? i - 1 : s->seg.head, i, i, 1);
	memset(s->heap + ROOM, 0x5a, sizeof(*s->heap) * (NODES - ROOM));
	return s;
}

/* Whoever counted the victims wrong gets an answer, and nothing is overwritten. */
static void heap_is_bounded(struct kunit *test)
{
	struct space *s = four_nodes(test);
	u32 i;

	for (i = 0; i < NODES; i++)
		KUNIT_EXPECT_EQ(test, tessera_space_heap_push(&s->sp, i, i), i < ROOM);
	KUNIT_EXPECT_EQ(test, s->seg.n_heap, ROOM);
	KUNIT_EXPECT_EQ(test, s->heap[ROOM].node, 0x5a5a5a5a);
	/* Nobody waits for it to be a victim. */
	for (i = 0; i < NODES; i++)
		KUNIT_EXPECT_EQ(test, s->node[i].prot, i >= ROOM);
	KUNIT_EXPECT_EQ(test, s->seg.kept, NODES - ROOM);
	/* There is room again where one was withdrawn. */
	tessera_space_heap_remove(&s->sp, 0);
	tessera_space_protect(&s->sp, 3, false);
	KUNIT_EXPECT_TRUE(test, tessera_space_heap_push(&s->sp, 3, 3));
	KUNIT_EXPECT_EQ(test, s->heap[0].node, 3);
}

static struct kunit_case split_space_tests[] = {
	KUNIT_CASE(heap_is_bounded),
	{}
};

static struct kunit_suite split_space_suite = {
	.name = "tessera_split_space",
	.test_cases = split_space_tests,
};

kunit_test_suite(split_space_suite);
