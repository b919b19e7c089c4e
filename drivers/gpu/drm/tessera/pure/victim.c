// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: victim choice across submissions
 *
 * Says which class a block of a segment is in for a given requester, and how hard
 * it is to get. The blocks of one owner are classified in the order of their use.
 * Their classes never get easier then, so the next victim is one of the next
 * blocks of all owners, and what comes behind those need not be looked at
 * (mem/order.c). A plan wants to know the order of all blocks at once:
 * tessera_victim_rank() sorts them. The caller serialises access.
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

/**
 * tessera_victim_before() - compare two classified blocks
 * @a: a block
 * @b: another one
 *
 * Return: true if @a gives way before @b.
 */
bool tessera_victim_before(const struct tessera_victim_block *a,
			   const struct tessera_victim_block *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->class == CLASS_OFFERED && a->offer != b->offer)
		return a->offer < b->offer;
	return before_by_use(a, b);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_victim_before);

static int cmp_use(const void *a, const void *b)
{
	return before_by_use(a, b) ? -1 : before_by_use(b, a);
}

static int cmp_victims(const void *a, const void *b)
{
	return tessera_victim_before(a, b) ? -1 : tessera_victim_before(b, a);
}

static u64 share_of(const struct tessera_victim_wish *wish, const struct tessera_victim_owner *o)
{
	return wish->fair + o->reserved;
}

static bool is_over(const struct tessera_victim_wish *wish)
{
	return wish->after > share_of(wish, wish->requester);
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
static bool is_protected(const struct tessera_victim_wish *wish,
			 const struct tessera_victim_owner *o)
{
	return o && o != wish->requester && o->demand && o->left <= share_of(wish, o) &&
	       is_over(wish);
}

/* Class of a block that nothing holds in place, and that is not protected. */
static u8 class_of(const struct tessera_victim_wish *wish, struct tessera_victim_owner *o,
		   const struct tessera_victim_block *b)
{
	bool over = is_over(wish);
	u64 left;

	if (!o)
		return CLASS_LENT;
	if (o == wish->requester)
		return is_listed(b) ? CLASS_LISTED : CLASS_OWN;
	if (!o->demand)
		return CLASS_LENT;
	left = o->left;
	if (is_listed(b) && (left <= share_of(wish, o) || (over && left <= wish->after)))
		return CLASS_LISTED;
	if (left <= share_of(wish, o))
		return CLASS_OTHERS;
	o->left -= min(left, b->size);
	return over && left <= wish->after ? CLASS_OTHERS : CLASS_OVER;
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
 * tessera_victim_classify() - say how hard a block is to get
 * @wish: who wants it
 * @owner: its owner, or NULL; what it has left becomes less
 * @block: the block; receives class and tier
 *
 * The blocks of one owner come in this order: those not listed first, and the least
 * recently used first.
 */
void tessera_victim_classify(const struct tessera_victim_wish *wish,
			     struct tessera_victim_owner *owner,
			     struct tessera_victim_block *block)
{
	if (block->flags & TESSERA_VICTIM_BLOCK_FIXED)
		block->class = CLASS_FIXED;
	else if (is_given(block))
		block->class = CLASS_OFFERED;
	else if (is_protected(wish, owner))
		block->class = CLASS_PROTECTED;
	else if (block->flags & TESSERA_VICTIM_BLOCK_BUSY)
		block->class = is_listed(block) ? CLASS_LISTED : CLASS_BUSY;
	else
		block->class = class_of(wish, owner, block);
	block->tier = tier_of(block->class);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_victim_classify);

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
	struct tessera_victim_wish wish = { .fair = req->fair };
	u32 i;

	if (req->requester >= req->n_owners)
		return -EINVAL;
	for (i = 0; i < req->n_blocks; i++)
		if (req->blocks[i].owner != TESSERA_VICTIM_NO_OWNER &&
		    req->blocks[i].owner >= req->n_owners)
			return -EINVAL;
	leave_given(req);
	wish.requester = &req->owners[req->requester];
	if (check_add_overflow(wish.requester->used, req->want, &wish.after))
		wish.after = U64_MAX;
	sort(req->blocks, req->n_blocks, sizeof(*req->blocks), cmp_use, NULL);
	for (i = 0; i < req->n_blocks; i++) {
		u32 owner = req->blocks[i].owner;

		tessera_victim_classify(&wish, owner == TESSERA_VICTIM_NO_OWNER ?
				NULL : &req->owners[owner], &req->blocks[i]);
	}
	sort(req->blocks, req->n_blocks, sizeof(*req->blocks), cmp_victims, NULL);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_victim_rank);
