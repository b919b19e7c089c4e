// SPDX-License-Identifier: MIT
/*
 * Offline optima of paging, for one memory segment without foreign blocks.
 *
 * A part needs all allocations that its entries name, and all that are still
 * bound when it starts, resident at the same time. Between parts any other
 * allocation may leave. For allocations of equal size, evicting the one with
 * the furthest next use (Belady) moves the fewest bytes. For a few allocations
 * of unequal size all choices are tried as if memory could not be fragmented;
 * no real placement can do better.
 */
#include <stdlib.h>

#include "optimum.h"
#include "split/replay.h"

#define NEVER U32_MAX

struct part {
	u32 first; /* entries */
	u32 end;
	u32 n_bound; /* length of @bound */
	u32 *bound; /* allocations bound at the start and not rebound there */
};

struct parts {
	struct part *part;
	u32 n;
};

u64 plan_bytes(const struct tessera_split_plan *plan)
{
	return plan->bytes_in + plan->bytes_out + plan->bytes_moved;
}

static struct parts parts_of(const struct tessera_split_input *in,
			     const struct tessera_split_plan *plan)
{
	struct parts ps = { .part = calloc(plan->n_parts, sizeof(struct part)) };
	u32 *table = malloc(in->n_slots * sizeof(u32)), i, slot;
	struct split_replay replay;

	split_replay_begin(in, &replay, table);
	for (i = 0; i < plan->n_op; i++) {
		struct part *p = &ps.part[ps.n];

		if (plan->op[i].type != TESSERA_SPLIT_PART)
			continue;
		split_replay_part(in, &replay, &plan->op[i]);
		p->first = plan->op[i].first;
		p->end = p->first + plan->op[i].count;
		p->bound = malloc(in->n_slots * sizeof(u32));
		for (slot = 0; slot < in->n_slots; slot++)
			if (table[slot] != TESSERA_SPLIT_NONE)
				p->bound[p->n_bound++] = table[slot];
		ps.n++;
	}
	free(table);
	return ps;
}

static void parts_free(struct parts *ps)
{
	while (ps->n)
		free(ps->part[--ps->n].bound);
	free(ps->part);
}

/* State of the simulated cache. */
struct cache {
	const struct tessera_split_input *in;
	bool *resident;
	u32 *needed_in; /* last part that needs it, plus one */
	u32 *last; /* last entry that named it, plus one */
	u32 *next; /* next entry that names it */
	u64 used;
	u64 bytes;
};

static void need(struct cache *c, u32 id, u32 part, u32 *missing, u32 *n_missing)
{
	if (c->needed_in[id] == part + 1)
		return;
	c->needed_in[id] = part + 1;
	if (!c->resident[id])
		missing[(*n_missing)++] = id;
}

static u32 victim(const struct cache *c, u32 part, enum policy policy)
{
	u32 best = NEVER, id;

	for (id = 0; id < c->in->n_allocs; id++) {
		if (!c->resident[id] || c->needed_in[id] == part + 1)
			continue;
		if (best == NEVER || (policy == POLICY_BELADY ? c->next[id] > c->next[best]
							      : c->last[id] < c->last[best]))
			best = id;
	}
	return best;
}

static void make_resident(struct cache *c, u32 id, u32 part, enum policy policy)
{
	u64 size = c->in->allocs[id].size;

	while (c->used + size > c->in->segs[0].size) {
		u32 v = victim(c, part, policy);

		if (v == NEVER)
			abort();
		c->resident[v] = false;
		c->used -= c->in->allocs[v].size;
		c->bytes += c->in->allocs[v].size;
	}
	c->resident[id] = true;
	c->used += size;
	c->bytes += size;
}

static u32 *link_next(const struct tessera_split_input *in, u32 *first)
{
	u32 *next = malloc(in->n_entries * sizeof(u32)), i;

	for (i = 0; i < in->n_allocs; i++)
		first[i] = NEVER;
	for (i = in->n_entries; i--;) {
		next[i] = first[in->entries[i].alloc_index];
		first[in->entries[i].alloc_index] = i;
	}
	return next;
}

/* Bytes in and out, with the plan's own parts and the given policy. */
u64 parts_bytes(const struct tessera_split_input *in, const struct tessera_split_plan *plan,
		enum policy policy)
{
	struct parts ps = parts_of(in, plan);
	struct cache c = {
		.in = in,
		.resident = calloc(in->n_allocs, 1),
		.needed_in = calloc(in->n_allocs, sizeof(u32)),
		.last = calloc(in->n_allocs, sizeof(u32)),
		.next = malloc(in->n_allocs * sizeof(u32)),
	};
	u32 *missing = malloc(in->n_allocs * sizeof(u32)), p, i;
	u32 *next = link_next(in, c.next);

	for (p = 0; p < ps.n; p++) {
		const struct part *part = &ps.part[p];
		u32 n_missing = 0;

		for (i = 0; i < part->n_bound; i++)
			need(&c, part->bound[i], p, missing, &n_missing);
		for (i = part->first; i < part->end; i++) {
			u32 id = in->entries[i].alloc_index;

			if (id)
				need(&c, id, p, missing, &n_missing);
		}
		/* uses inside the part end before an allocation can leave */
		for (i = 0; i < n_missing; i++)
			make_resident(&c, missing[i], p, policy);
		for (i = part->first; i < part->end; i++) {
			c.next[in->entries[i].alloc_index] = next[i];
			c.last[in->entries[i].alloc_index] = i + 1;
		}
	}
	free(c.resident);
	free(c.needed_in);
	free(c.last);
	free(c.next);
	free(missing);
	free(next);
	parts_free(&ps);
	return c.bytes;
}

/* Bytes by Belady's rule on the bare list, as if cut at every entry. */
u64 whole_bytes(const struct tessera_split_input *in)
{
	struct cache c = {
		.in = in,
		.resident = calloc(in->n_allocs, 1),
		.needed_in = calloc(in->n_allocs, sizeof(u32)),
		.next = malloc(in->n_allocs * sizeof(u32)),
	};
	u32 *next = link_next(in, c.next), i;

	for (i = 0; i < in->n_entries; i++) {
		u32 id = in->entries[i].alloc_index;

		if (!id)
			continue;
		c.needed_in[id] = i + 1;
		if (!c.resident[id])
			make_resident(&c, id, i, POLICY_BELADY);
		c.next[id] = next[i];
	}
	free(c.resident);
	free(c.needed_in);
	free(c.next);
	free(next);
	return c.bytes;
}

static u64 set_bytes(const struct tessera_split_input *in, u32 set)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < in->n_allocs; i++)
		if (set & BIT(i))
			bytes += in->allocs[i].size;
	return bytes;
}

static u32 part_set(const struct tessera_split_input *in, const struct part *part)
{
	u32 set = 0, i;

	for (i = 0; i < part->n_bound; i++)
		set |= BIT(part->bound[i]);
	for (i = part->first; i < part->end; i++)
		set |= BIT(in->entries[i].alloc_index);
	return set & ~1U;
}

/*
 * Fewest bytes over all choices of allocations to keep between the parts.
 * Computes the cost of every resident set after every part.
 */
u64 exhaustive_bytes(const struct tessera_split_input *in, const struct tessera_split_plan *plan)
{
	struct parts ps = parts_of(in, plan);
	u32 n_sets = 1U << in->n_allocs, p, from, to;
	u64 *cost = malloc(n_sets * sizeof(u64)), *now = malloc(n_sets * sizeof(u64));
	u64 *bytes = malloc(n_sets * sizeof(u64)), best = U64_MAX;

	for (from = 0; from < n_sets; from++) {
		cost[from] = from ? U64_MAX : 0;
		bytes[from] = set_bytes(in, from);
	}
	for (p = 0; p < ps.n; p++) {
		u32 need = part_set(in, &ps.part[p]);

		memset(now, 0xff, n_sets * sizeof(u64));
		for (from = 0; from < n_sets; from++) {
			u32 extra = from & ~need, keep = extra;

			if (cost[from] == U64_MAX)
				continue;
			/* every subset of the allocations that need not stay */
			for (;; keep = (keep - 1) & extra) {
				u64 c = cost[from] + bytes[need & ~from] + bytes[extra & ~keep];

				to = need | keep;
				if (bytes[to] <= in->segs[0].size)
					now[to] = min(now[to], c);
				if (!keep)
					break;
			}
		}
		swap(cost, now);
	}
	for (from = 0; from < n_sets; from++)
		best = min(best, cost[from]);
	free(cost);
	free(now);
	free(bytes);
	parts_free(&ps);
	return best;
}
