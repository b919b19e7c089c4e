// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: victim choice across submissions
 *
 * Orders the blocks of a segment by who has to give way to a given requester, and
 * says how hard each is to get. Called by residency when it makes room, and by
 * submission before it plans a split; the caller serialises access.
 *
 * The rules, first to last:
 *
 * 0. what its owner can do without, unless it is busy;
 * 1. memory of clients without demand, and of nobody: idle share is lent;
 * 2. memory that clients hold above their shares; a requester that would itself
 *    be above its share takes only from those that hold more than it would;
 * 3. other memory of the requester;
 * 4. if the requester stays within its share, what others hold within theirs; if
 *    it does not, what others hold above theirs;
 * 5. as a last resort, because otherwise a job could not run at all: memory in use
 *    by other work, then what is listed as resident, and after that what others hold
 *    within their shares, busy or not.
 *
 * What is listed as resident comes back before its client's next job. So it goes without
 * need only from those without demand, and from those above their shares; by one who is
 * above its own as well, only if they hold more than it would. Whoever brings it back
 * is then the one that holds more, and cannot take the same memory in return.
 *
 * Inside each class what nobody has listed goes first, then the least recently used. A
 * client counts as above its share only as long as it would be with the blocks ranked
 * before gone, so that nobody is pushed below the share by a single request.
 */
#include "victim.h"

enum {
	CLASS_OFFERED,
	CLASS_LENT,
	CLASS_OVER,
	CLASS_OWN,
	CLASS_OTHERS,
	CLASS_BUSY,
	CLASS_LISTED,
	CLASS_PROTECTED,
	CLASS_FIXED,
};

typedef bool (*before_fn)(const struct tessera_victim_block *a,
			  const struct tessera_victim_block *b);

static bool is_listed(const struct tessera_victim_block *b)
{
	return b->flags & TESSERA_VICTIM_BLOCK_LISTED;
}

static bool before_by_use(const struct tessera_victim_block *a,
			  const struct tessera_victim_block *b)
{
	if (is_listed(a) != is_listed(b))
		return is_listed(b);
	if (a->last_use != b->last_use)
		return a->last_use < b->last_use;
	return a->cookie < b->cookie;
}

static bool before_by_class(const struct tessera_victim_block *a,
			    const struct tessera_victim_block *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->class == CLASS_OFFERED && a->offer != b->offer)
		return a->offer < b->offer;
	return before_by_use(a, b);
}

static void sift(struct tessera_victim_block *b, u32 i, u32 n, before_fn before)
{
	u32 c;

	while ((c = 2 * i + 1) < n) {
		if (c + 1 < n && before(&b[c], &b[c + 1]))
			c++;
		if (!before(&b[i], &b[c]))
			break;
		swap(b[i], b[c]);
		i = c;
	}
}

/* Heap sort: in place, no recursion. */
static void sort_blocks(struct tessera_victim_block *b, u32 n, before_fn before)
{
	u32 i;

	if (n < 2)
		return;
	for (i = n / 2; i--; )
		sift(b, i, n, before);
	for (i = n - 1; i; i--) {
		swap(b[0], b[i]);
		sift(b, 0, i, before);
	}
}

static u64 share_of(const struct tessera_victim_req *req, const struct tessera_victim_owner *o)
{
	return req->fair + o->reserved;
}

static bool is_over(const struct tessera_victim_req *req, u64 after)
{
	return after > share_of(req, &req->owners[req->requester]);
}

/* Goes whoever wants it, whatever its owner has: it is nobody's use. */
static bool is_given(const struct tessera_victim_block *b)
{
	return b->offer && !(b->flags & (TESSERA_VICTIM_BLOCK_FIXED | TESSERA_VICTIM_BLOCK_BUSY));
}

/* What owners would hold if all that is given were gone. */
static void leave_given(struct tessera_victim_req *req)
{
	u32 i;

	for (i = 0; i < req->n_owners; i++)
		req->owners[i].left = req->owners[i].used;
	for (i = 0; i < req->n_blocks; i++) {
		const struct tessera_victim_block *b = &req->blocks[i];

		if (is_given(b) && b->owner != TESSERA_VICTIM_NO_OWNER)
			req->owners[b->owner].left -= min(req->owners[b->owner].left, b->size);
	}
}

/* Within its owner's share, and whoever wants it above: SEG-8. */
static bool is_protected(const struct tessera_victim_req *req,
			 const struct tessera_victim_block *b, u64 after)
{
	const struct tessera_victim_owner *o;

	if (b->owner == TESSERA_VICTIM_NO_OWNER || b->owner == req->requester)
		return false;
	o = &req->owners[b->owner];
	return o->demand && o->left <= share_of(req, o) && is_over(req, after);
}

/* Class of a block that nothing holds in place, and that is not protected. */
static u8 classify(const struct tessera_victim_req *req,
		   const struct tessera_victim_block *b, u64 after)
{
	struct tessera_victim_owner *o;
	bool over = is_over(req, after);
	u64 left;

	if (b->owner == TESSERA_VICTIM_NO_OWNER)
		return CLASS_LENT;
	if (b->owner == req->requester)
		return is_listed(b) ? CLASS_LISTED : CLASS_OWN;
	o = &req->owners[b->owner];
	if (!o->demand)
		return CLASS_LENT;
	left = o->left;
	if (is_listed(b) && (left <= share_of(req, o) || (over && left <= after)))
		return CLASS_LISTED;
	if (left <= share_of(req, o))
		return CLASS_OTHERS;
	o->left -= min(left, b->size);
	return over && left <= after ? CLASS_OTHERS : CLASS_OVER;
}

static u8 tier_of(u8 class)
{
	switch (class) {
	case CLASS_OFFERED:
	case CLASS_LENT:
	case CLASS_OVER:
	case CLASS_OWN:
		return TESSERA_VICTIM_TAKE_FIRST;
	case CLASS_OTHERS:
		return TESSERA_VICTIM_TAKE_AFTER_OWN;
	case CLASS_BUSY:
	case CLASS_LISTED:
		return TESSERA_VICTIM_LAST_RESORT;
	case CLASS_PROTECTED:
		return TESSERA_VICTIM_PROTECTED;
	default:
		return TESSERA_VICTIM_IMMOVABLE;
	}
}

/**
 * tessera_victim_rank() - sort blocks into the order in which they give way
 * @req: request; its blocks are sorted, their results set
 *
 * The index of a block afterwards is its rank. Immovable blocks come last.
 *
 * Return: 0, or -EINVAL if an owner is out of range.
 */
int tessera_victim_rank(struct tessera_victim_req *req)
{
	u64 after;
	u32 i;

	if (req->requester >= req->n_owners)
		return -EINVAL;
	for (i = 0; i < req->n_blocks; i++)
		if (req->blocks[i].owner != TESSERA_VICTIM_NO_OWNER &&
		    req->blocks[i].owner >= req->n_owners)
			return -EINVAL;
	leave_given(req);
	if (check_add_overflow(req->owners[req->requester].used, req->want,
			       &after))
		after = U64_MAX;
	sort_blocks(req->blocks, req->n_blocks, before_by_use);
	for (i = 0; i < req->n_blocks; i++) {
		struct tessera_victim_block *b = &req->blocks[i];

		if (b->flags & TESSERA_VICTIM_BLOCK_FIXED)
			b->class = CLASS_FIXED;
		else if (is_given(b))
			b->class = CLASS_OFFERED;
		else if (is_protected(req, b, after))
			b->class = CLASS_PROTECTED;
		else if (b->flags & TESSERA_VICTIM_BLOCK_BUSY)
			b->class = is_listed(b) ? CLASS_LISTED : CLASS_BUSY;
		else
			b->class = classify(req, b, after);
		b->tier = tier_of(b->class);
	}
	sort_blocks(req->blocks, req->n_blocks, before_by_class);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_victim_rank);
