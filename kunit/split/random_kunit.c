// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Compare the split planner with the oracle on random cases. */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "oracle.h"
#include "whole.h"

/*
 * Takes some seconds on the emulated debug kernel. tests/host runs 200,000,
 * with sanitizers.
 */
static unsigned long split_cases = 6000;
module_param(split_cases, ulong, 0444);
MODULE_PARM_DESC(split_cases, "random cases the split planner is tried on");

static unsigned long split_seed = 1;
module_param(split_seed, ulong, 0444);
MODULE_PARM_DESC(split_seed, "seed of the random cases");

struct random_run {
	struct oracle_case c;
	struct oracle o;
	struct oracle_batches w;
	struct oracle_plain plain;
	struct tessera_split_plan plan;
	unsigned long parts;
	unsigned long plain_parts;
	unsigned long only_plain;
	u8 scratch[32768];
};

static bool random_case(struct kunit *test, struct random_run *r, u64 seed)
{
	size_t size;
	int ret;

	oracle_generate(&r->c, seed);
	memset(&r->plan, 0, sizeof(r->plan));
	r->plan.op = r->c.op;
	r->plan.cap = ORACLE_OPS;
	size = split_whole_size(&r->c.in);
	KUNIT_ASSERT_LE(test, size, sizeof(r->scratch));
	ret = split_whole(&r->c.in, r->scratch, size, &r->plan);
	if (!oracle_judge(&r->o, &r->c.in, &r->plan, ret)) {
		KUNIT_FAIL(test, "case %llu: %s", seed, r->o.why);
		return false;
	}
	if (ret || r->c.in.force == TESSERA_SPLIT_FORCE_RANDOM ||
	    r->c.in.cut_cost_bytes != U64_MAX)
		return true;
	oracle_run_plain(&r->o, &r->c.in, &r->plain);
	if (r->plain.failed || r->plain.unsure)
		return true;
	if (r->plan.late_error) {
		r->only_plain++;
		return true;
	}
	r->parts += r->plan.n_parts;
	r->plain_parts += r->plain.parts;
	return true;
}

/*
 * SPLIT-1 SPLIT-9 SPLIT-11 SPLIT-13 SPLIT-16 SPLIT-17 SPLIT-18 SPLIT-24
 * SPLIT-25 SPLIT-32 SPLIT-34: the oracle accepts the plans of random cases. A
 * plan may need more parts than the plain algorithm in single cases, but not in
 * the sum of all. It may fail late where the plain algorithm succeeds in 1 of
 * 1,000 cases.
 */
static void random_cases(struct kunit *test)
{
	struct random_run *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < split_cases; i++)
		if (!random_case(test, r, split_seed * 1000000007ULL + i))
			break;
	KUNIT_EXPECT_EQ(test, i, split_cases);
	KUNIT_EXPECT_LE(test, r->parts, r->plain_parts);
	KUNIT_EXPECT_LE(test, r->only_plain, split_cases / 1000);
}

/*
 * SPLIT-34: one split point, nothing pinned, and hardly any spare space: a case
 * is refused exactly if no placement exists.
 */
static void random_tight(struct kunit *test)
{
	struct random_run *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned long i, fit = 0, cases = split_cases / 10;
	size_t size;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < cases; i++) {
		u64 seed = split_seed * 1000000007ULL + i;

		oracle_generate_tight(&r->c, seed);
		r->plan.op = r->c.op;
		r->plan.cap = ORACLE_OPS;
		size = split_whole_size(&r->c.in);
		KUNIT_ASSERT_LE(test, size, sizeof(r->scratch));
		ret = split_whole(&r->c.in, r->scratch, size, &r->plan);
		if (!oracle_judge(&r->o, &r->c.in, &r->plan, ret) || r->plan.late_error) {
			KUNIT_FAIL(test, "case %llu: %s", seed, r->o.why);
			break;
		}
		fit += !ret;
	}
	/* The test is meaningful only if both outcomes are frequent. */
	KUNIT_EXPECT_GT(test, fit, cases / 8);
	KUNIT_EXPECT_GT(test, cases - fit, cases / 8);
}

/*
 * SPLIT-17 SPLIT-18 SPLIT-24 SPLIT-25 SPLIT-32: the same in batches of random
 * size, each planned twice. In one of two runs of a case memory also changes
 * between batches.
 */
static void random_batches(struct kunit *test)
{
	struct random_run *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < split_cases / 4; i++) {
		u64 seed = split_seed * 1000000007ULL + i / 2;

		oracle_generate(&r->c, seed);
		if (oracle_run_batches(&r->o, &r->c, &r->w, seed, i & 1))
			continue;
		KUNIT_FAIL(test, "case %llu, batch %u: %s", seed, r->w.batches, r->o.why);
		break;
	}
}

static struct kunit_case split_random_tests[] = {
	KUNIT_CASE_SLOW(random_cases),
	KUNIT_CASE_SLOW(random_tight),
	KUNIT_CASE_SLOW(random_batches),
	{}
};

static struct kunit_suite split_random_suite = {
	.name = "tessera_split_random",
	.test_cases = split_random_tests,
};

kunit_test_suite(split_random_suite);
