// SPDX-License-Identifier: MIT
/*
 * Randomised check of the split planner against its judge, on the host. TAP.
 *
 *	check [--cases N] [--seed S] [--one CASE]
 */
#include <stdio.h>
#include <stdlib.h>

#include "split/oracle.h"
#include "split/whole.h"

struct tally {
	unsigned long infeasible;
	unsigned long late;
	unsigned long whole;
	unsigned long split;
	unsigned long parts;
	unsigned long plain_parts;
	unsigned long only_plain;
	unsigned long unsure;
	unsigned long leaks;
	unsigned long last_resort;
	unsigned long moves;
	unsigned long batches;
	unsigned long in_batches;
	unsigned long batches_late;
	unsigned long more_parts;
	unsigned long tight;
	unsigned long tight_fit;
};

static const char *const op_names[] = {
	"evict-foreign", "evict", "move", "page-in", "part", "pin",
};

static void *scratch;
static size_t scratch_size;

static int run_plan(struct oracle_case *c, struct tessera_split_plan *plan)
{
	size_t want = split_whole_size(&c->in);

	if (want > scratch_size) {
		free(scratch);
		scratch = malloc(want);
		scratch_size = want;
	}
	memset(plan, 0, sizeof(*plan));
	plan->op = c->op;
	plan->cap = ORACLE_OPS;
	return split_whole(&c->in, scratch, want, plan);
}

static void show_case(const struct oracle_case *c)
{
	u32 i;

	for (i = 0; i < c->in.n_segs; i++)
		printf("# segment %u: size %llu gran %llu flags %x\n", i, c->segs[i].size,
		       c->segs[i].granularity, c->segs[i].flags);
	for (i = 0; i < c->in.n_allocs; i++)
		printf("# alloc %u: size %llu align %llu in %x flags %x pref %u:%u,%u,%u\n", i,
		       c->allocs[i].size, c->allocs[i].align, c->allocs[i].supported,
		       c->allocs[i].flags, c->allocs[i].n_pref, c->allocs[i].pref[0],
		       c->allocs[i].pref[1], c->allocs[i].pref[2]);
	for (i = 0; i < c->in.n_blocks; i++)
		printf("# block %u: %u:%llu+%llu alloc %d tier %u rank %u\n", i, c->blocks[i].seg,
		       c->blocks[i].start, c->blocks[i].size, (int)c->blocks[i].alloc,
		       c->blocks[i].tier, c->blocks[i].rank);
	for (i = 0; i < c->in.n_entries; i++)
		printf("# entry %u: at %u slot %u alloc %u\n", i, c->entries[i].split_offset,
		       c->entries[i].slot_id, c->entries[i].alloc_index);
	printf("# slots %u length %u force %d map %lx\n", c->in.n_slots, c->in.length, c->in.force,
	       c->force[0]);
}

static void show_plan(const struct tessera_split_plan *p, int ret)
{
	u32 i;

	printf("# returned %d late %d at %u entry %d parts %u\n", ret, p->late_error,
	       p->error_offset, (int)p->error_entry, p->n_parts);
	for (i = 0; i < p->n_op; i++) {
		const struct tessera_split_op *o = &p->op[i];

		if (o->type == TESSERA_SPLIT_PART)
			printf("#   part %u [%u, %u) entries %u+%u flags %x\n", o->id, o->start,
			       o->end, o->first, o->count, o->flags);
		else
			printf("#   %s %u at %u:%llu from %u:%llu flags %x\n", op_names[o->type],
			       o->id, o->seg, o->off, o->src_seg, o->src, o->flags);
	}
}

/* With the leak check on, a plan that pins any object is refused (SCHED-6). */
static bool check_leaks(struct oracle_case *c, const struct tessera_split_plan *was,
			struct tally *t)
{
	struct tessera_split_plan plan;
	bool pins = false;
	u32 i;
	int ret;

	/*
	 * Skip plans that were chosen for their cost, or because the first
	 * attempt failed: with the leak check on, another variant may be
	 * chosen.
	 */
	if (was->variant || c->in.cut_cost_bytes != U64_MAX)
		return true;
	for (i = 0; i < was->n_op; i++)
		pins |= was->op[i].type == TESSERA_SPLIT_PIN;
	c->in.flags |= TESSERA_SPLIT_LEAK_CHECK;
	ret = run_plan(c, &plan);
	c->in.flags &= ~TESSERA_SPLIT_LEAK_CHECK;
	t->leaks += pins;
	return ret == (pins ? -EINVAL : 0) && (!ret || !plan.n_op);
}

/*
 * Counts parts against the plain algorithm. The sum over all cases must not be
 * larger; a single case may be.
 */
static void compare_with_plain(struct oracle *o, struct oracle_case *c,
			       const struct tessera_split_plan *p, struct tally *t)
{
	struct oracle_plain plain;

	if (c->in.force == TESSERA_SPLIT_FORCE_RANDOM || c->in.cut_cost_bytes != U64_MAX)
		return;
	oracle_run_plain(o, &c->in, &plain);
	t->unsure += plain.unsure;
	if (plain.unsure || plain.failed)
		return;
	if (p->late_error) {
		t->only_plain++;
		return;
	}
	t->parts += p->n_parts;
	t->plain_parts += plain.parts;
}

static void count(struct tally *t, const struct oracle_case *c, const struct tessera_split_plan *p,
		  int ret)
{
	bool last_resort = false;
	u32 i;

	t->infeasible += ret == -ENOSPC;
	t->late += p->late_error != 0;
	t->whole += !ret && p->n_parts == 1;
	t->split += !ret && p->n_parts > 1;
	t->moves += p->n_moves != 0;
	for (i = 0; i < p->n_op; i++)
		last_resort |= p->op[i].type == TESSERA_SPLIT_EVICT_FOREIGN &&
			       c->blocks[p->op[i].id].tier >= TESSERA_VICTIM_LAST_RESORT;
	t->last_resort += last_resort;
}

/* The same case in batches, alone and while other clients change memory. */
static bool check_batches(struct oracle *o, u64 seed, const struct tessera_split_plan *whole,
			  struct tally *t, bool show)
{
	static struct oracle_case c;
	static struct oracle_batches w;
	bool change, ok = true;
	int i;

	for (i = 0; i < 2 && ok; i++) {
		change = i;
		oracle_generate(&c, seed);
		ok = oracle_run_batches(o, &c, &w, seed, change);
		if (!ok || show) {
			printf("# batch %u from entry %u, world %s: %s\n", w.batches, w.cur.entry,
			       change ? "changes" : "stays", o->why);
			show_case(&c);
			show_plan(&w.plan, 0);
		}
		t->batches += w.batches;
		t->in_batches += w.batches > 1;
		t->batches_late += change && w.plan.late_error == -ENOSPC;
		t->more_parts +=
			!change && !whole->late_error && w.cur.done && w.cur.part > whole->n_parts;
	}
	return ok;
}

/* SPLIT-34: one split point with hardly any free space. */
static bool check_tight(struct oracle *o, u64 seed, struct tally *t)
{
	static struct oracle_case c;
	struct tessera_split_plan plan;
	int ret;

	oracle_generate_tight(&c, seed);
	ret = run_plan(&c, &plan);
	t->tight++;
	t->tight_fit += !ret;
	if (oracle_judge(o, &c.in, &plan, ret) && !plan.late_error)
		return true;
	show_case(&c);
	show_plan(&plan, ret);
	return false;
}

static bool check_one(struct oracle *o, u64 seed, struct tally *t, bool show)
{
	static struct oracle_case c;
	struct tessera_split_plan plan;
	bool ok;
	int ret;

	oracle_generate(&c, seed);
	ret = run_plan(&c, &plan);
	ok = oracle_judge(o, &c.in, &plan, ret);
	if (ok && !ret)
		compare_with_plain(o, &c, &plan, t);
	if (!ok || show) {
		show_case(&c);
		show_plan(&plan, ret);
	}
	count(t, &c, &plan, ret);
	if (ok && !ret && !check_leaks(&c, &plan, t)) {
		snprintf(o->why, sizeof(o->why), "leak check");
		ok = false;
	}
	if (ok && !ret)
		ok = check_batches(o, seed, &plan, t, show);
	if (ok && seed % 4 == 0)
		ok = check_tight(o, seed, t);
	if (!ok)
		printf("# case %llu: %s\n", seed, o->why);
	return ok;
}

int main(int argc, char **argv)
{
	static struct oracle o;
	unsigned long cases = 200000, bad = 0, i;
	unsigned long long seed = 1;
	struct tally t = {};

	for (i = 1; i + 1 < (unsigned long)argc; i += 2) {
		if (!strcmp(argv[i], "--cases"))
			cases = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--one"))
			return !check_one(&o, strtoull(argv[i + 1], NULL, 0), &t, true);
	}
	printf("TAP version 13\n1..1\n");
	for (i = 0; i < cases && bad < 5; i++)
		bad += !check_one(&o, seed * 1000000007ULL + i, &t, false);
	printf("# %lu cases: %lu infeasible, %lu in one part, %lu split, %lu late errors\n", i,
	       t.infeasible, t.whole, t.split, t.late);
	printf("# %lu parts where plain makes %lu, late only here %lu, plain unsure %lu\n", t.parts,
	       t.plain_parts, t.only_plain, t.unsure);
	bad += t.parts > t.plain_parts || t.only_plain > i / 1000;
	printf("# with moves %lu, with last resort %lu, refused by leak check %lu\n", t.moves,
	       t.last_resort, t.leaks);
	printf("# %lu batches, %lu cases in more than one, %lu late errors; more parts than in one "
	       "go "
	       "%lu\n",
	       t.batches, t.in_batches, t.batches_late, t.more_parts);
	printf("# %lu tight cases, %lu of them fit\n", t.tight, t.tight_fit);
	printf("%s 1 - SPLIT-1 SPLIT-3 SPLIT-9 SPLIT-11 SPLIT-13 SPLIT-16 SPLIT-17 SPLIT-18 "
	       "SPLIT-24 SPLIT-25 SPLIT-32 SPLIT-34 SCHED-6: %lu random cases against the oracle\n",
	       bad ? "not ok" : "ok", i);
	return bad != 0;
}
