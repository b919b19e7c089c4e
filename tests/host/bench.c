// SPDX-License-Identifier: MIT
/*
 * Benchmark of the split planner on the host: a JSON list of rows on standard
 * output, a table for people on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "optimum.h"
#include "pattern.h"
#include "split/oracle.h"

#define RUNS 11
#define SMALL 10000U
#define LARGE 100000U
#define N_ALLOCS 256U
#define N_SLOTS 8U
#define ROOM 32U
/* Cost of a part in bytes: small, so that the bytes moved decide. */
#define CUT_COST (256ULL << 10)

static bool first_row = true;

static void row(const char *name, const char *variant, double value, const char *unit,
		double reference, const char *goal)
{
	printf("%s\n  {\"name\": \"%s%s%s\", \"value\": %.4g, \"unit\": \"%s\", \"reference\": "
	       "%.4g, \"ratio\": %.4g, \"better\": \"lower\", \"goal\": %s}",
	       first_row ? "[" : ",", name, variant[0] ? "_" : "", variant, value, unit, reference,
	       value / reference, goal);
	fprintf(stderr, "%-28s %-12s %12.4g %-8s ratio %8.4g  goal %s\n", name, variant, value,
		unit, value / reference, goal);
	first_row = false;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double plan_once(struct job *job, struct tessera_split_plan *plan)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	if (job_plan(job, plan) || plan->late_error)
		abort();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
}

/* Median CPU time of a plan in ns. Short and long lists alternate. */
static void measure(enum pattern p, u64 cut_cost, double *small, double *large)
{
	double s[RUNS], l[RUNS];
	struct tessera_split_plan plan = {};
	struct job js, jl;
	int i;

	job_make(&js, p, SMALL, N_ALLOCS, N_SLOTS, ROOM);
	job_make(&jl, p, LARGE, N_ALLOCS, N_SLOTS, ROOM);
	js.in.cut_cost_bytes = cut_cost;
	jl.in.cut_cost_bytes = cut_cost;
	plan_once(&jl, &plan);
	for (i = 0; i < RUNS; i++) {
		s[i] = plan_once(&js, &plan);
		l[i] = plan_once(&jl, &plan);
	}
	qsort(s, RUNS, sizeof(*s), by_value);
	qsort(l, RUNS, sizeof(*l), by_value);
	*small = s[RUNS / 2];
	*large = l[RUNS / 2];
	free(plan.op);
	job_free(&js);
	job_free(&jl);
}

/*
 * The goal applies to the slowest pattern of equal sizes. Unequal sizes,
 * oversubscribed eight times, have a row of their own.
 */
static void bench_speed(void)
{
	double worst_small = 1, worst_large = 0, slowest = 0, small, large;
	enum pattern p;

	for (p = 0; p < PATTERN_COUNT; p++) {
		measure(p, U64_MAX, &small, &large);
		row("planner_ns_fewest_parts", pattern_names[p], large / LARGE, "ns", 1, "null");
		measure(p, CUT_COST, &small, &large);
		row("planner_ns", pattern_names[p], large / LARGE, "ns", 1,
		    p == PATTERN_MIXED ? "150" : "null");
		if (p == PATTERN_MIXED)
			continue;
		slowest = max(slowest, large);
		if (large / small > worst_large / worst_small) {
			worst_large = large;
			worst_small = small;
		}
	}
	row("planner_ns", "", slowest / LARGE, "ns", 1, "100");
	row("planner_growth", "", worst_large / 1e3, "us", worst_small / 1e3, "12");
}

struct worst {
	double own;
	double best;
};

static void keep_worst(struct worst *worst, double own, double best)
{
	if (own / best <= worst->own / worst->best)
		return;
	worst->own = own;
	worst->best = best;
}

/*
 * One pattern, with as few cuts as memory allows, or with a cut at every split
 * point. The optimum has the same parts as the plan, so only the choice of
 * victims is compared.
 */
static void equal_row(enum pattern p, bool cut_all, struct worst *worst)
{
	struct tessera_split_plan plan = {};
	char name[64];
	struct job job;
	double own, best, lru;

	job_make(&job, p, SMALL, N_ALLOCS, N_SLOTS, ROOM);
	if (cut_all)
		job.in.force = TESSERA_SPLIT_FORCE_ALL;
	plan_once(&job, &plan);
	own = plan_bytes(&plan) / 1048576.0;
	best = parts_bytes(&job.in, &plan, POLICY_BELADY) / 1048576.0;
	lru = parts_bytes(&job.in, &plan, POLICY_LRU) / 1048576.0;
	snprintf(name, sizeof(name), "%s%s", pattern_names[p], cut_all ? "_cut_all" : "");
	row("paging_vs_optimal", name, own, "MiB", best, "1.05");
	row("paging_lru", name, lru, "MiB", best, "null");
	keep_worst(worst, own, best);
	free(plan.op);
	job_free(&job);
}

/* Against Belady's rule on the bare list: cut everywhere, nothing pinned. */
static void bare_row(enum pattern p)
{
	struct tessera_split_plan plan = {};
	struct job job;

	job_make(&job, p, SMALL, N_ALLOCS, N_SLOTS, ROOM);
	job.in.cut_cost_bytes = CUT_COST;
	plan_once(&job, &plan);
	row("paging_vs_bare_list", pattern_names[p], plan_bytes(&plan) / 1048576.0, "MiB",
	    whole_bytes(&job.in) / 1048576.0, "1.06");
	free(plan.op);
	job_free(&job);
}

static const enum pattern equal_patterns[] = {
	PATTERN_CYCLIC, PATTERN_ZIPF, PATTERN_TWO_PHASE, PATTERN_SCENE, PATTERN_GROUPS,
};

static void bench_equal(void)
{
	struct worst worst = { .own = 0, .best = 1 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(equal_patterns); i++) {
		equal_row(equal_patterns[i], false, &worst);
		equal_row(equal_patterns[i], true, &worst);
		bare_row(equal_patterns[i]);
	}
	row("paging_vs_optimal", "", worst.own, "MiB", worst.best, "1.05");
}

/* Modelled time of a plan in MiB: a part takes as long as @cost bytes. */
static double modelled(struct job *job, u64 knob, u64 cost, enum tessera_split_force force)
{
	struct tessera_split_plan plan = {};
	double mib;

	job->in.cut_cost_bytes = knob;
	job->in.force = force;
	plan_once(job, &plan);
	mib = (plan_bytes(&plan) + (double)plan.n_parts * cost) / 1048576.0;
	free(plan.op);
	return mib;
}

/* Against the better one of fewest parts and a cut at every split point. */
static void cost_row(enum pattern p, u64 cost, struct worst *worst)
{
	char name[64];
	struct job job;
	double own, fewest, all;

	job_make(&job, p, SMALL, N_ALLOCS, N_SLOTS, ROOM);
	own = modelled(&job, cost, cost, TESSERA_SPLIT_FORCE_NONE);
	fewest = modelled(&job, U64_MAX, cost, TESSERA_SPLIT_FORCE_NONE);
	all = modelled(&job, U64_MAX, cost, TESSERA_SPLIT_FORCE_ALL);
	snprintf(name, sizeof(name), "%s_%lluk", pattern_names[p], cost >> 10);
	row("plan_cost", name, own, "MiB", min(fewest, all), "null");
	keep_worst(worst, own, min(fewest, all));
	job_free(&job);
}

static void bench_cost(void)
{
	static const u64 costs[] = { 64 << 10, CUT_COST, 1 << 20, 16 << 20 };
	struct worst worst = { .own = 0, .best = 1 };
	enum pattern p;
	u32 i;

	for (p = 0; p < PATTERN_COUNT; p++)
		for (i = 0; i < ARRAY_SIZE(costs) && p != PATTERN_FITS; i++)
			cost_row(p, costs[i], &worst);
	row("plan_cost", "", worst.own, "MiB", worst.best, "1.05");
}

struct unequal {
	u64 own;
	u64 best;
	u64 lru;
	u64 parts;
	u64 plain_parts;
};

static void unequal_compare(struct unequal *sum, const struct tessera_split_input *in, u32 parts)
{
	static struct oracle oracle;
	struct oracle_plain plain;

	oracle_run_plain(&oracle, in, &plain);
	if (plain.failed || plain.unsure)
		return;
	sum->parts += parts;
	sum->plain_parts += plain.parts;
}

static void unequal_make(struct job *job, u64 seed)
{
	u64 state = seed;
	u32 i;

	job_make(job, PATTERN_ZIPF, 60, 8, 2, 1);
	job->seg.size = 20;
	job->seg.granularity = 1;
	for (i = 1; i <= 8; i++)
		job->allocs[i].size = 1 + pattern_rnd(&state, 8);
	for (i = 0; i < 60; i++)
		job->entries[i].alloc_index = 1 + pattern_rnd(&state, 8);
}

static void unequal_add(struct unequal *sum, struct job *job, u64 cut_cost)
{
	struct tessera_split_plan plan = {};

	job->in.cut_cost_bytes = cut_cost;
	if (!job_plan(job, &plan) && !plan.late_error) {
		sum->own += plan_bytes(&plan);
		sum->best += exhaustive_bytes(&job->in, &plan);
		sum->lru += parts_bytes(&job->in, &plan, POLICY_LRU);
		unequal_compare(sum, &job->in, plan.n_parts);
	}
	free(plan.op);
}

/*
 * Small cases of unequal sizes, for which all choices can be tried. Compares
 * the bytes that a plan moves with the minimum for the same parts.
 */
static struct unequal unequal_sum(u64 cut_cost)
{
	struct unequal sum = {};
	u64 seed;

	for (seed = 0; seed < 400; seed++) {
		struct job job;

		unequal_make(&job, seed);
		unequal_add(&sum, &job, cut_cost);
		job_free(&job);
	}
	return sum;
}

/*
 * Two extremes: parts that cost one unit, so that adding a part is cheap, and
 * parts so expensive that none may be added, however many bytes it saves. In
 * the second case the number of parts is compared with that of the plain
 * algorithm.
 */
static void bench_unequal(void)
{
	struct unequal some = unequal_sum(1), fewest = unequal_sum(U64_MAX);

	row("paging_unequal", "", some.own, "units", some.best, "1.06");
	row("paging_lru", "unequal", some.lru, "units", some.best, "null");
	row("paging_unequal", "fewest_parts", fewest.own, "units", fewest.best, "null");
	row("paging_lru", "unequal_fewest_parts", fewest.lru, "units", fewest.best, "null");
	row("parts_vs_plain", "", fewest.parts, "parts", fewest.plain_parts, "1.0");
}

int main(void)
{
	bench_speed();
	bench_equal();
	bench_cost();
	bench_unequal();
	printf("\n]\n");
	return 0;
}
