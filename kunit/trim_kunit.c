// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Unit tests of the number of bytes to trim (RES-3). */
#include <kunit/test.h>

#include "pure/trim.h"

#define N_SEGS	3

struct setting {
	struct tessera_trim trim;
	struct tessera_trim_seg segs[N_SEGS];
};

static void setting_init(struct setting *s, u64 a, u64 b, u64 c)
{
	*s = (struct setting) {
		.segs = { { a, 1 }, { b, 1 }, { c, 8 } },
		.trim = { .segs = s->segs, .n_segs = N_SEGS },
	};
}

/* RES-3: the sum counts the missing bytes, not the requested ones. */
static void trim_sum(struct kunit *test)
{
	struct setting s;

	setting_init(&s, 64, 0, 0);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 32, BIT(0)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 0);
	KUNIT_EXPECT_EQ(test, s.trim.set, 0);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 24, BIT(0)), 0);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 16, BIT(0)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 8);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 5, BIT(0)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 13);
	KUNIT_EXPECT_EQ(test, s.trim.set, BIT(0));
}

/* RES-3: trimming the reported sum in the segment lets a retry succeed. */
static void trim_is_enough(struct kunit *test)
{
	static const u64 sizes[] = { 7, 1, 30, 12, 12, 3 };
	struct setting s;
	u64 trim;
	u32 i;

	setting_init(&s, 20, 0, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, sizes[i], BIT(0)), 0);
	trim = s.trim.bytes;
	KUNIT_EXPECT_EQ(test, trim, 45);
	setting_init(&s, 20 + trim, 0, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, sizes[i], BIT(0)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 0);
}

/*
 * An object uses a segment with enough free space, else the one that lacks
 * least. Sizes are rounded up to pages.
 */
static void trim_choice(struct kunit *test)
{
	struct setting s;

	setting_init(&s, 10, 20, 16);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 15, BIT(0) | BIT(1)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 0);
	KUNIT_EXPECT_EQ(test, s.segs[1].available, 5);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 12, BIT(0) | BIT(1)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 2);
	KUNIT_EXPECT_EQ(test, s.trim.set, BIT(0));
	KUNIT_EXPECT_EQ(test, s.segs[0].available, 0);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 17, BIT(2)), 0);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, 10);
	KUNIT_EXPECT_EQ(test, s.trim.set, BIT(0) | BIT(2));
}

static void trim_bad(struct kunit *test)
{
	struct setting s;

	setting_init(&s, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 1, BIT(N_SEGS)), -EINVAL);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, U64_MAX, BIT(2)), -EINVAL);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, U64_MAX - 1, BIT(0)), 0);
	KUNIT_EXPECT_EQ(test, tessera_trim_add(&s.trim, 2, BIT(0)), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, s.trim.bytes, U64_MAX - 1);
}

static struct kunit_case trim_tests[] = {
	KUNIT_CASE(trim_sum),
	KUNIT_CASE(trim_is_enough),
	KUNIT_CASE(trim_choice),
	KUNIT_CASE(trim_bad),
	{}
};

static struct kunit_suite trim_suite = {
	.name = "tessera_trim",
	.test_cases = trim_tests,
};

kunit_test_suite(trim_suite);
