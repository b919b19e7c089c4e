// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: packing
 *
 * Places a set of allocations into a set of free ranges (gaps). Called by the
 * split planner; takes no lock, allocates nothing.
 *
 * tessera_pack_solve() decides whether a split point is feasible. It is also
 * the last method that finds places at a cut. Each split point that is accepted
 * can therefore be placed. It tries a few orders, and then all arrangements,
 * within a budget of steps.
 */
#include "pack.h"

/* Maximum number of steps of one exhaustive search. */
#define SEARCH_LIMIT		400000ULL

/* Return the lowest place for an item in the rest of a gap, or U64_MAX. */
static u64 gap_fit(const struct tessera_pack *pack, const struct tessera_pack_gap *gap,
		   const struct tessera_pack_item *item)
{
	u64 off = ALIGN(gap->cur, tessera_pack_align(pack, item, gap->seg));
	u64 bytes = tessera_pack_bytes(pack, item, gap->seg);

	return off <= gap->end && gap->end - off >= bytes &&
	       bytes <= pack->seg[gap->seg].left ? off : U64_MAX;
}

static void put_in_gap(struct tessera_pack *pack, struct tessera_pack_item *item,
		       u32 index, u64 off)
{
	struct tessera_pack_gap *gap = &pack->gap[index];
	u64 bytes = tessera_pack_bytes(pack, item, gap->seg);

	item->seg = gap->seg;
	item->off = off;
	item->gap = index;
	gap->cur = off + bytes;
	pack->seg[gap->seg].left -= bytes;
}

/**
 * tessera_pack_rewind() - empty all gaps
 * @pack: the problem
 */
void tessera_pack_rewind(struct tessera_pack *pack)
{
	u32 i, seg = 0;

	for (i = 0; i < pack->n_seg; i++) {
		pack->seg[i].left = pack->seg[i].available;
		pack->seg[i].first = 0;
		pack->seg[i].end = 0;
	}
	for (i = 0; i < pack->n_gap; i++) {
		pack->gap[i].cur = pack->gap[i].start;
		if (!i || pack->gap[i].seg != seg)
			pack->seg[pack->gap[i].seg].first = i;
		seg = pack->gap[i].seg;
		pack->seg[seg].end = i + 1;
	}
}

static bool item_first_fit(struct tessera_pack *pack, struct tessera_pack_item *item)
{
	u32 cursor = 0, i;
	u8 seg;

	while ((seg = tessera_pack_seg_at(item->mask, item->pref, item->n_pref,
					  &cursor)) != 0xff) {
		struct tessera_pack_seg *at = &pack->seg[seg];

		/*
		 * Full gaps stay full until tessera_pack_rewind(), so skip them
		 * for good.
		 */
		while (at->first < at->end &&
		       pack->gap[at->first].end - pack->gap[at->first].cur <
		       at->granularity)
			at->first++;
		for (i = at->first; i < at->end; i++) {
			u64 off = gap_fit(pack, &pack->gap[i], item);

			pack->budget -= !!pack->budget;
			if (off != U64_MAX) {
				put_in_gap(pack, item, i, off);
				return true;
			}
		}
	}
	return false;
}

/**
 * tessera_pack_first_fit() - place items in order, each at the lowest free
 * place
 * @pack: the problem, after tessera_pack_rewind(); the caller may have filled
 *	gaps since
 *
 * Return: true if every item was placed; false if one was not, or if the budget
 * ran out.
 */
bool tessera_pack_first_fit(struct tessera_pack *pack)
{
	u32 i;

	for (i = 0; i < pack->n_item; i++) {
		if (pack->item[i].fixed)
			continue;
		if (!pack->budget || !item_first_fit(pack, &pack->item[i]))
			return false;
	}
	return true;
}

/* The fewest bytes that an item takes in any segment that may hold it. */
static u64 least_bytes(const struct tessera_pack *pack,
		       const struct tessera_pack_item *item)
{
	u64 least = U64_MAX;
	u32 mask;

	for (mask = item->mask; mask; mask &= mask - 1)
		least = min(least, tessera_pack_bytes(pack, item, __ffs(mask)));
	return least;
}

static void find_largest_gaps(const struct tessera_pack *pack, u32 *largest)
{
	u32 i;

	for (i = 0; i < pack->n_seg; i++)
		largest[i] = pack->seg[i].first;
	for (i = 0; i < pack->n_gap; i++) {
		const struct tessera_pack_gap *gap = &pack->gap[i];
		const struct tessera_pack_gap *best = &pack->gap[largest[gap->seg]];

		if (gap->end - gap->start > best->end - best->start)
			largest[gap->seg] = i;
	}
}

/*
 * Place each item into the largest gap that may hold it, by descending
 * alignment. The quick feasibility check counts bytes per segment on the
 * assumption that this works (choose_homes() in split_feasible.c).
 */
static bool fit_homes(struct tessera_pack *pack)
{
	u32 largest[32];
	u32 i, mask;

	tessera_pack_rewind(pack);
	find_largest_gaps(pack, largest);
	for (i = 0; i < pack->n_item; i++) {
		struct tessera_pack_item *item = &pack->item[i];
		u64 size = 0, off = U64_MAX;
		u32 home = 0;

		for (mask = item->mask; mask; mask &= mask - 1) {
			u32 seg = __ffs(mask);
			const struct tessera_pack_gap *gap = &pack->gap[largest[seg]];

			if (!pack->seg[seg].end || gap->end - gap->start <= size)
				continue;
			size = gap->end - gap->start;
			home = largest[seg];
		}
		if (size)
			off = gap_fit(pack, &pack->gap[home], item);
		if (off == U64_MAX)
			return false;
		put_in_gap(pack, item, home, off);
	}
	return true;
}

static bool is_like(const struct tessera_pack_item *a, const struct tessera_pack_item *b)
{
	return a->size == b->size && a->align == b->align && a->mask == b->mask;
}

/**
 * struct search - state of the exhaustive search
 * @need: lower bound of the bytes that the items not placed yet take
 * @left: items not placed yet
 * @gap: gap that is being filled
 * @from: first item to try
 * @depth: choices made
 */
struct search {
	u64 need;
	u32 left;
	u32 gap;
	u32 from;
	u32 depth;
};

static void search_begin(struct tessera_pack *pack, struct search *search)
{
	u64 rest = 0;
	u32 i;

	memset(search, 0, sizeof(*search));
	search->left = pack->n_item;
	tessera_pack_rewind(pack);
	for (i = 0; i < pack->n_item; i++) {
		pack->item[i].used = false;
		search->need += least_bytes(pack, &pack->item[i]);
	}
	for (i = pack->n_gap; i--; ) {
		pack->gap[i].rest = rest;
		rest += pack->gap[i].end - pack->gap[i].start;
	}
}

/* True if an item that is left cannot go into any later gap. */
static bool strands_item(const struct tessera_pack *pack, const struct search *search)
{
	u32 later = 0, i;

	for (i = 0; i < pack->n_seg; i++)
		if (pack->seg[i].end > search->gap + 1)
			later |= BIT(i);
	for (i = 0; i < pack->n_item; i++)
		if (!pack->item[i].used && !(pack->item[i].mask & later))
			return true;
	return false;
}

/*
 * Next choice at this level: an item; @n_item for the next gap; more if there
 * is none.
 */
static u32 search_choice(const struct tessera_pack *pack, const struct search *search)
{
	const struct tessera_pack_gap *gap = &pack->gap[search->gap];
	u32 i;

	if (search->need > gap->end - gap->cur + gap->rest)
		return pack->n_item + 1;
	for (i = search->from; i < pack->n_item; i++) {
		const struct tessera_pack_item *item = &pack->item[i];

		if (item->used || !(item->mask & BIT(gap->seg)) ||
		    gap_fit(pack, gap, item) == U64_MAX)
			continue;
		/*
		 * An identical item that comes earlier is unused. Trying both
		 * would be redundant.
		 */
		if (i && !item[-1].used && is_like(item, item - 1))
			continue;
		return i;
	}
	if (search->from <= pack->n_item && search->gap + 1 < pack->n_gap &&
	    search->need <= gap->rest && !strands_item(pack, search))
		return pack->n_item;
	return pack->n_item + 1;
}

static void search_take(struct tessera_pack *pack, struct search *search, u32 choice)
{
	struct tessera_pack_frame *frame = &pack->frame[search->depth++];
	struct tessera_pack_item *item;

	frame->choice = choice;
	frame->cur = pack->gap[search->gap].cur;
	search->from = 0;
	if (choice == pack->n_item) {
		search->gap++;
		return;
	}
	item = &pack->item[choice];
	put_in_gap(pack, item, search->gap,
		   gap_fit(pack, &pack->gap[search->gap], item));
	item->used = true;
	search->need -= least_bytes(pack, item);
	search->left--;
}

/* Undo the last choice, and continue with the one after it. */
static void search_undo(struct tessera_pack *pack, struct search *search)
{
	const struct tessera_pack_frame *frame = &pack->frame[--search->depth];
	struct tessera_pack_item *item;

	search->from = frame->choice + 1;
	if (frame->choice == pack->n_item) {
		search->gap--;
		return;
	}
	item = &pack->item[frame->choice];
	pack->gap[search->gap].cur = frame->cur;
	pack->seg[item->seg].left += tessera_pack_bytes(pack, item, item->seg);
	item->used = false;
	search->need += least_bytes(pack, item);
	search->left++;
}

/*
 * Exhaustive search. In any valid packing, each item can be pushed down until
 * it touches the one below. It is therefore sufficient to fill the gaps one
 * after the other, with the items in every order.
 */
static bool search_all(struct tessera_pack *pack)
{
	u64 cost = (u64)pack->n_item + pack->n_seg + 1;
	u64 limit = min(SEARCH_LIMIT, pack->budget);
	struct search search;
	u32 choice;

	search_begin(pack, &search);
	while (search.left) {
		if (!pack->n_gap || limit < cost)
			return false;
		limit -= cost;
		pack->budget -= cost;
		choice = search_choice(pack, &search);
		if (choice <= pack->n_item)
			search_take(pack, &search, choice);
		else if (search.depth)
			search_undo(pack, &search);
		else
			return false;
	}
	return true;
}

static int by_size(const void *va, const void *vb)
{
	const struct tessera_pack_item *a = va, *b = vb;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->align != b->align)
		return a->align > b->align ? -1 : 1;
	if (a->mask != b->mask)
		return a->mask < b->mask ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Sort the items with the fewest possible segments first. */
static int by_hardness(const void *va, const void *vb)
{
	const struct tessera_pack_item *a = va, *b = vb;
	int choices = hweight32(a->mask) - hweight32(b->mask);

	return choices ?: by_size(a, b);
}

static int by_align(const void *va, const void *vb)
{
	const struct tessera_pack_item *a = va, *b = vb;

	return a->align != b->align ? (a->align > b->align ? -1 : 1) : by_size(a, b);
}

static void sort_items(struct tessera_pack *pack, int (*cmp)(const void *a, const void *b))
{
	sort(pack->item, pack->n_item, sizeof(*pack->item), cmp, NULL);
}

static bool try_order(struct tessera_pack *pack, int (*cmp)(const void *a, const void *b))
{
	sort_items(pack, cmp);
	tessera_pack_rewind(pack);
	return tessera_pack_first_fit(pack);
}

/**
 * tessera_pack_solve() - place all items
 * @pack: the problem; its items are reordered, @fixed must not be set
 *
 * Return: true if all items were placed; false if that is impossible, or if no
 * solution was found within the limit of steps of a search, or the budget.
 */
bool tessera_pack_solve(struct tessera_pack *pack)
{
	if (try_order(pack, by_hardness) || try_order(pack, by_size))
		return true;
	sort_items(pack, by_align);
	if (fit_homes(pack))
		return true;
	sort_items(pack, by_hardness);
	return search_all(pack);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_pack_solve);
