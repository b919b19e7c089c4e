// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: victim choice across submissions
 *
 * Determines the class of each block of a segment for a given requester, and
 * how hard it is to evict. The blocks of one owner are classified in the order
 * of their use. Their classes never get easier in that order. The next victim
 * is therefore always the next block of one of the owners, and blocks further
 * back need not be examined (mem/order.c). A split plan needs the order of all
 * blocks at once: tessera_victim_rank() sorts them. The caller serializes
 * access.
 *
 * The classes, from first to last victim:
 *
 * 1. Offered memory that is not busy.
 * 2. Memory of clients without demand, which lend their shares. Memory without
 *    an owner would be here, too. The driver has none that is movable.
 * 3. Memory that clients hold above their shares. If the requester would itself
 *    be above its share, only from clients that hold more for their weight than
 *    it would.
 * 4. Other memory of the requester.
 * 5. If the requester stays within its share: memory that other clients hold
 *    within theirs. If it does not: other memory that clients hold above
 *    theirs.
 * 6. As a last resort, if a job could not run otherwise: memory in use by other
 *    work, then memory in a residency list, and finally memory that other
 *    clients hold within their shares while the requester is above its own
 *    (SEG-8), busy or not.
 *
 * Memory in a residency list is brought back before its client's next job. It
 * is therefore taken without need only from clients without demand and from
 * clients above their shares. A requester above its own share takes it only
 * from clients that hold more for their weight than it would. The client that
 * brings the memory back then holds more itself, and cannot take the same
 * memory in return.
 *
 * Inside each class, blocks in no residency list go first, then the least
 * recently used ones. A client counts as above its share only as long as it
 * would still be without the blocks ranked before. A single request therefore
 * pushes no client below its share.
 *
 * Priorities order the blocks of one owner before their last use does (SEG-37).
 * They choose which block an owner loses, never whether it loses one. Owners
 * are therefore compared by their *turn*, the least recent use of all blocks
 * that they have left. With the last use of the next block instead, a client
 * could keep its old blocks at the cost of others, if it gave a low priority to
 * a block that it uses all the time.
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
	CLASS_IMMOVABLE,
};

static bool is_listed(const struct tessera_victim_block *b)
{
	return b->flags & TESSERA_VICTIM_BLOCK_LISTED;
}

/* The blocks of one owner that are offered and listed alike are a group. */
static bool is_same_group(const struct tessera_victim_block *a,
			  const struct tessera_victim_block *b)
{
	return a->owner == b->owner && a->offer == b->offer && is_listed(a) == is_listed(b);
}

static bool before_in_owner(const struct tessera_victim_block *a,
			    const struct tessera_victim_block *b)
{
	if (a->owner != b->owner)
		return a->owner < b->owner;
	if (a->offer != b->offer)
		return a->offer < b->offer;
	if (is_listed(a) != is_listed(b))
		return is_listed(b);
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->last_use != b->last_use)
		return a->last_use < b->last_use;
	return a->cookie < b->cookie;
}

/**
 * tessera_victim_before() - compare two classified blocks
 * @a: a block
 * @b: another block
 *
 * Return: true if @a is evicted before @b.
 */
bool tessera_victim_before(const struct tessera_victim_block *a,
			   const struct tessera_victim_block *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->class == CLASS_OFFERED && a->offer != b->offer)
		return a->offer < b->offer;
	if (is_listed(a) != is_listed(b))
		return is_listed(b);
	if (a->turn != b->turn)
		return a->turn < b->turn;
	return before_in_owner(a, b);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_victim_before);

static int cmp_in_owner(const void *a, const void *b)
{
	return before_in_owner(a, b) ? -1 : before_in_owner(b, a);
}

static int cmp_victims(const void *a, const void *b)
{
	return tessera_victim_before(a, b) ? -1 : tessera_victim_before(b, a);
}

static bool is_over(const struct tessera_victim_wish *wish)
{
	return wish->after > wish->requester->share;
}

static u64 times(u64 bytes, u32 weight)
{
	u64 product;

	return check_mul_overflow(bytes, (u64)weight, &product) ? U64_MAX : product;
}

/* The owner holds more than the requester would, in proportion to its weight. */
static bool holds_more(const struct tessera_victim_wish *wish, const struct tessera_victim_owner *o)
{
	return times(o->left, wish->requester->weight) > times(wish->after, o->weight);
}

/*
 * Offered memory is taken by any requester, even from an owner within its
 * share.
 */
static bool is_given(const struct tessera_victim_block *b)
{
	return b->offer &&
	       !(b->flags & (TESSERA_VICTIM_BLOCK_IMMOVABLE | TESSERA_VICTIM_BLOCK_BUSY));
}

/* Set @left of each owner to what it would hold without its offered blocks. */
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

/* Set @turn of each block. The blocks are sorted by before_in_owner(). */
static void take_turns(struct tessera_victim_req *req)
{
	const struct tessera_victim_block *next = NULL;
	u32 i;

	for (i = req->n_blocks; i-- > 0;) {
		struct tessera_victim_block *b = &req->blocks[i];

		b->turn = b->last_use;
		if (next && is_same_group(b, next))
			b->turn = min(b->turn, next->turn);
		if (!(b->flags & TESSERA_VICTIM_BLOCK_IMMOVABLE))
			next = b;
	}
}

/*
 * The block is within its owner's share, and the requester is above its own
 * (SEG-8).
 */
static bool is_protected(const struct tessera_victim_wish *wish,
			 const struct tessera_victim_owner *o)
{
	return o && o != wish->requester && o->demand && o->left <= o->share && is_over(wish);
}

/* Class of a block that is neither immovable, offered, protected nor busy. */
static u8 class_of(const struct tessera_victim_wish *wish, struct tessera_victim_owner *o,
		   const struct tessera_victim_block *b)
{
	bool takes = !is_over(wish);

	if (!o)
		return CLASS_LENT;
	if (o == wish->requester)
		return is_listed(b) ? CLASS_LISTED : CLASS_OWN;
	if (!o->demand)
		return CLASS_LENT;
	takes |= holds_more(wish, o);
	if (is_listed(b) && (o->left <= o->share || !takes))
		return CLASS_LISTED;
	if (o->left <= o->share)
		return CLASS_OTHERS;
	o->left -= min(o->left, b->size);
	return takes ? CLASS_OVER : CLASS_OTHERS;
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
 * tessera_victim_classify() - determine how hard a block is to evict
 * @wish: the request
 * @owner: owner of the block, or NULL; @owner->left may be reduced
 * @block: the block; receives class and tier
 *
 * The caller passes the blocks of one owner in this order: first those in no
 * residency list, and among these and the others those of the lowest priority,
 * the least recently used first.
 */
void tessera_victim_classify(const struct tessera_victim_wish *wish,
			     struct tessera_victim_owner *owner,
			     struct tessera_victim_block *block)
{
	if (block->flags & TESSERA_VICTIM_BLOCK_IMMOVABLE)
		block->class = CLASS_IMMOVABLE;
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
 * tessera_victim_rank() - sort blocks into the order of eviction
 * @req: the request; its blocks are sorted, and their results set
 *
 * The index of a block is then its rank. Immovable blocks come last.
 *
 * Return: 0, or -EINVAL if an owner is out of range.
 */
int tessera_victim_rank(struct tessera_victim_req *req)
{
	struct tessera_victim_wish wish = { };
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
	sort(req->blocks, req->n_blocks, sizeof(*req->blocks), cmp_in_owner, NULL);
	take_turns(req);
	for (i = 0; i < req->n_blocks; i++) {
		u32 owner = req->blocks[i].owner;

		tessera_victim_classify(&wish, owner == TESSERA_VICTIM_NO_OWNER ?
				NULL : &req->owners[owner], &req->blocks[i]);
	}
	sort(req->blocks, req->n_blocks, sizeof(*req->blocks), cmp_victims, NULL);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_victim_rank);
