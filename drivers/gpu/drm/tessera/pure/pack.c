// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: packing
 *
 * Puts a set of allocations into a set of free ranges: by first fit in a given
 * order, or by exhaustive search within a budget of steps. Called by the split
 * planner, takes no lock, allocates nothing.
 */
#include "pack.h"

/* Lowest place for @size at @align in what is left of gap @g, or U64_MAX. */
static u64 gap_fit(const struct tessera_pack_gap *g, u64 size, u64 align)
{
	u64 off = ALIGN(g->cur, align);

	return off <= g->end && g->end - off >= size ? off : U64_MAX;
}

static bool item_first_fit(struct tessera_pack *p, struct tessera_pack_item *it)
{
	u32 cursor = 0, i;
	u8 seg;

	while ((seg = tessera_pack_seg_at(it->mask, it->pref, it->n_pref,
					  &cursor)) != 0xff) {
		for (i = 0; i < p->n_gap; i++) {
			struct tessera_pack_gap *g = &p->gap[i];
			u64 off;

			if (g->seg != seg)
				continue;
			off = gap_fit(g, it->size, it->align);
			if (off == U64_MAX)
				continue;
			it->seg = seg;
			it->off = off;
			it->gap = i;
			g->cur = off + it->size;
			return true;
		}
	}
	return false;
}

/**
 * tessera_pack_first_fit() - place items in order, each at the lowest place left
 * @p: the problem; gaps are filled from @cur, which the caller has set
 *
 * Return: true if every item found a place.
 */
bool tessera_pack_first_fit(struct tessera_pack *p)
{
	u32 i;

	for (i = 0; i < p->n_item; i++) {
		if (p->item[i].fixed)
			continue;
		if (!item_first_fit(p, &p->item[i]))
			return false;
	}
	return true;
}

/* An unused item like this one comes earlier: trying both is a waste. */
static bool search_is_repeat(const struct tessera_pack *p, u32 i)
{
	const struct tessera_pack_item *it = &p->item[i];
	u32 k;

	for (k = 0; k < i; k++) {
		const struct tessera_pack_item *o = &p->item[k];

		if (!o->used && o->size == it->size && o->align == it->align &&
		    o->mask == it->mask)
			return true;
	}
	return false;
}

/* Next choice at this level, from @from on; n_item means the next gap. */
static u32 search_choice(struct tessera_pack *p, u32 from, u32 g)
{
	const struct tessera_pack_gap *gap = &p->gap[g];
	u32 i;

	for (i = from; i < p->n_item; i++) {
		const struct tessera_pack_item *it = &p->item[i];

		if (it->used || !(it->mask & BIT(gap->seg)) ||
		    gap_fit(gap, it->size, it->align) == U64_MAX ||
		    search_is_repeat(p, i))
			continue;
		return i;
	}
	if (from <= p->n_item && g + 1 < p->n_gap)
		return p->n_item;
	return p->n_item + 1;
}

static void search_begin(struct tessera_pack *p, u64 *need)
{
	u64 rest = 0;
	u32 i;

	*need = 0;
	for (i = 0; i < p->n_item; i++) {
		p->item[i].used = p->item[i].fixed;
		if (!p->item[i].fixed)
			*need += p->item[i].size;
	}
	for (i = p->n_gap; i--; ) {
		p->gap[i].cur = p->gap[i].start;
		p->gap[i].rest = rest;
		rest += p->gap[i].end - p->gap[i].start;
	}
}

/* Take back the choice of the level above, return where to go on from. */
static u32 search_undo(struct tessera_pack *p, const struct tessera_pack_frame *f,
		       u32 *g, u64 *need)
{
	if (f->choice == p->n_item) {
		(*g)--;
	} else {
		p->gap[*g].cur = f->cur;
		p->item[f->choice].used = false;
		*need += p->item[f->choice].size;
	}
	return f->choice + 1;
}

static void search_take(struct tessera_pack *p, u32 choice, u32 *g, u64 *need)
{
	struct tessera_pack_item *it;

	if (choice == p->n_item) {
		(*g)++;
		p->gap[*g].cur = p->gap[*g].start;
		return;
	}
	it = &p->item[choice];
	it->seg = p->gap[*g].seg;
	it->off = gap_fit(&p->gap[*g], it->size, it->align);
	it->gap = *g;
	it->used = true;
	p->gap[*g].cur = it->off + it->size;
	*need -= it->size;
}

/**
 * tessera_pack_search() - place items wherever they fit, trying everything
 * @p: the problem
 * @limit: steps this search may take at most
 *
 * Any packing can be pushed down until each item touches the one below it, so
 * it is enough to fill the gaps one after the other with items in every order.
 *
 * Return: 1 if all items were placed, 0 if it is certain that they cannot be,
 * -EAGAIN if the budget ran out first.
 */
int tessera_pack_search(struct tessera_pack *p, u64 limit)
{
	u32 g = 0, depth = 0, from = 0, choice;
	u64 need;

	search_begin(p, &need);
	limit = min(limit, *p->budget);
	while (need) {
		u64 cost = p->n_item + 1;
		struct tessera_pack_frame *f = &p->frame[depth];

		if (!p->n_gap)
			return 0;
		if (limit < cost)
			return -EAGAIN;
		limit -= cost;
		*p->budget -= cost;
		choice = p->n_item + 1;
		if (need <= p->gap[g].end - p->gap[g].cur + p->gap[g].rest)
			choice = search_choice(p, from, g);
		if (choice <= p->n_item) {
			f->cur = p->gap[g].cur;
			f->choice = choice;
			search_take(p, choice, &g, &need);
			depth++;
			from = 0;
			continue;
		}
		if (!depth)
			return 0;
		depth--;
		from = search_undo(p, &p->frame[depth], &g, &need);
	}
	return 1;
}

/**
 * tessera_pack_by_size() - order for tessera_pack_sort(): the hardest items first
 * @a: an item
 * @b: another one
 *
 * Return: true if @a goes before @b.
 */
bool tessera_pack_by_size(const struct tessera_pack_item *a,
			  const struct tessera_pack_item *b)
{
	unsigned int ca = hweight32(a->mask), cb = hweight32(b->mask);

	if (ca != cb)
		return ca < cb;
	if (a->size != b->size)
		return a->size > b->size;
	if (a->align != b->align)
		return a->align > b->align;
	return a->id < b->id;
}

static void sort_sift(struct tessera_pack_item *item, u32 i, u32 n,
		      bool (*before)(const struct tessera_pack_item *a,
				     const struct tessera_pack_item *b))
{
	u32 c;

	while ((c = 2 * i + 1) < n) {
		if (c + 1 < n && before(&item[c], &item[c + 1]))
			c++;
		if (!before(&item[i], &item[c]))
			break;
		swap(item[i], item[c]);
		i = c;
	}
}

/**
 * tessera_pack_sort() - heap sort, in place and without recursion
 * @item: items
 * @n: number of items
 * @before: strict order
 */
void tessera_pack_sort(struct tessera_pack_item *item, u32 n,
		       bool (*before)(const struct tessera_pack_item *a,
				      const struct tessera_pack_item *b))
{
	u32 i;

	if (n < 2)
		return;
	for (i = n / 2; i--; )
		sort_sift(item, i, n, before);
	for (i = n - 1; i; i--) {
		swap(item[0], item[i]);
		sort_sift(item, 0, i, before);
	}
}
