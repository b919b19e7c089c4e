// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Unit tests of the order of eviction (SEG-8, SEG-37, RES-11). */
#include <kunit/test.h>

#include "pure/victim.h"

#define N_OWNERS	4
#define N_BLOCKS	40
#define NOBODY		TESSERA_VICTIM_NO_OWNER

struct setting {
	struct tessera_victim_req req;
	struct tessera_victim_owner owners[N_OWNERS];
	struct tessera_victim_block blocks[N_BLOCKS];
};

static struct setting *setting_new(struct kunit *test, u64 fair, u64 want)
{
	struct setting *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->req.want = want;
	s->req.owners = s->owners;
	s->req.n_owners = N_OWNERS;
	s->req.blocks = s->blocks;
	for (i = 0; i < N_OWNERS; i++) {
		s->owners[i].share = fair;
		s->owners[i].weight = 1;
		s->owners[i].demand = true;
	}
	return s;
}

static struct tessera_victim_block *add(struct setting *s, u32 owner, u64 size,
					u64 last_use)
{
	struct tessera_victim_block *b = &s->blocks[s->req.n_blocks];

	b->cookie = s->req.n_blocks++;
	b->owner = owner;
	b->size = size;
	b->last_use = last_use;
	if (owner != NOBODY)
		s->owners[owner].used += size;
	return b;
}

static void expect_order(struct kunit *test, struct setting *s, u32 n,
			 const u32 *cookies, const u8 *tiers)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_ASSERT_EQ(test, s->req.n_blocks, n);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ_MSG(test, s->blocks[i].cookie, cookies[i],
				    "rank %u", i);
		KUNIT_EXPECT_EQ_MSG(test, s->blocks[i].tier, tiers[i], "rank %u", i);
	}
}

enum {
	FIRST = TESSERA_VICTIM_TAKE_FIRST,
	AFTER = TESSERA_VICTIM_TAKE_AFTER_OWN,
	LAST = TESSERA_VICTIM_LAST_RESORT,
	KEPT = TESSERA_VICTIM_PROTECTED,
	NEVER = TESSERA_VICTIM_IMMOVABLE,
};

/*
 * Offered blocks go first, by priority and regardless of their owner. Then the
 * other clients are within their shares and keep their blocks.
 */
static void victim_offered(struct kunit *test)
{
	static const u32 order[] = { 3, 5, 1, 0, 4, 2, 6, 7 };
	static const u8 tiers[] = { FIRST, FIRST, FIRST, FIRST, LAST, KEPT, KEPT, NEVER };
	struct setting *s = setting_new(test, 20, 40);

	add(s, 0, 4, 1);	/* 0: the requester's own */
	add(s, 2, 4, 9)->offer = 3;
	add(s, 1, 8, 2);	/* 2: within the share once the next two blocks are gone */
	add(s, 1, 16, 8)->offer = 1;
	add(s, 0, 4, 1)->offer = 1;
	s->blocks[4].flags = TESSERA_VICTIM_BLOCK_BUSY;
	add(s, 1, 4, 9)->offer = 1;
	add(s, 2, 4, 3);	/* 6 */
	add(s, 1, 4, 1)->offer = 1;
	s->blocks[7].flags = TESSERA_VICTIM_BLOCK_IMMOVABLE;
	expect_order(test, s, 8, order, tiers);
}

/* Requester 0 stays within its share. */
static void victim_requester_within(struct kunit *test)
{
	static const u32 order[] = { 6, 1, 0, 5, 2, 3, 4, 7 };
	static const u8 tiers[] = { FIRST, FIRST, FIRST, FIRST, AFTER, AFTER, LAST,
				    NEVER };
	struct setting *s = setting_new(test, 20, 4);

	add(s, 1, 16, 5);	/* 0: client 1 has 32, 12 too many */
	add(s, 3, 4, 9);	/* 1: client 3 has no demand */
	add(s, 1, 16, 6);	/* 2: the rest of client 1 */
	add(s, 2, 16, 7);	/* 3: client 2 is within its share */
	add(s, 1, 0, 1)->flags = TESSERA_VICTIM_BLOCK_BUSY;
	add(s, 0, 4, 1);	/* 5: the requester's own */
	add(s, NOBODY, 4, 2);	/* 6 */
	add(s, 1, 0, 1)->flags = TESSERA_VICTIM_BLOCK_IMMOVABLE;
	s->owners[3].demand = false;
	expect_order(test, s, 8, order, tiers);
}

/*
 * Requester 0 is above its share. Clients within their shares lose nothing to
 * it.
 */
static void victim_requester_over(struct kunit *test)
{
	static const u32 order[] = { 0, 3, 4, 1, 2, 5 };
	static const u8 tiers[] = { FIRST, FIRST, FIRST, AFTER, KEPT, KEPT };
	struct setting *s = setting_new(test, 20, 4);

	add(s, 1, 20, 4);	/* 0: client 1 has 41, more than the requester will have */
	add(s, 1, 10, 5);	/* 1: then it has 21, above its share, but less than that */
	add(s, 2, 20, 1);	/* 2: client 2 is exactly at its share */
	add(s, 0, 12, 2);	/* 3: own */
	add(s, 0, 12, 3);	/* 4: own, 24 in all */
	add(s, 1, 10, 6);	/* 5: client 1 is within its share by now */
	s->owners[1].used = 41;
	expect_order(test, s, 6, order, tiers);
}

/*
 * SEG-8: a requester above its share that would have as much as another client
 * takes its own blocks first.
 */
static void victim_requester_equal(struct kunit *test)
{
	static const u32 order[] = { 1, 0 };
	static const u8 tiers[] = { FIRST, AFTER };
	struct setting *s = setting_new(test, 20, 4);

	add(s, 1, 28, 1);	/* 0: client 1 has what the requester will have */
	add(s, 0, 24, 2);	/* 1: own */
	expect_order(test, s, 2, order, tiers);
}

/*
 * SEG-8: a busy block goes before a block that a share protects. A share
 * protects busy and idle blocks alike.
 */
static void victim_busy_before_protected(struct kunit *test)
{
	static const u32 order[] = { 1, 3, 0, 2 };
	static const u8 tiers[] = { LAST, LAST, KEPT, KEPT };
	struct setting *s = setting_new(test, 20, 24);

	add(s, 2, 4, 1)->flags = TESSERA_VICTIM_BLOCK_BUSY;
	add(s, 1, 30, 2)->flags = TESSERA_VICTIM_BLOCK_BUSY;
	add(s, 2, 4, 3);
	add(s, 0, 4, 4)->flags = TESSERA_VICTIM_BLOCK_BUSY;
	expect_order(test, s, 4, order, tiers);
}

/* SEG-8: a single request does not push a client below its share. */
static void victim_stops_at_share(struct kunit *test)
{
	struct setting *s = setting_new(test, 20, 100);
	u32 i, taken = 0;

	for (i = 0; i < 30; i++)
		add(s, 1, 1, 100 - i);
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	for (i = 0; i < 30; i++)
		taken += s->blocks[i].tier < LAST;
	KUNIT_EXPECT_EQ(test, taken, 10);
	/* Least recently used first, in each tier. */
	for (i = 1; i < 30; i++)
		if (s->blocks[i].tier == s->blocks[i - 1].tier)
			KUNIT_EXPECT_GT(test, s->blocks[i].last_use,
					s->blocks[i - 1].last_use);
}

/*
 * The share of an idle client is lent: a client without demand loses blocks
 * first, and is protected again when it has demand.
 */
static void victim_lent_and_taken_back(struct kunit *test)
{
	struct setting *s = setting_new(test, 20, 40);

	add(s, 1, 10, 9);
	s->owners[1].demand = false;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_EXPECT_EQ(test, s->blocks[0].tier, FIRST);
	s->owners[1].demand = true;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_EXPECT_EQ(test, s->blocks[0].tier, KEPT);
}

static struct tessera_victim_block *add_listed(struct setting *s, u32 owner, u64 size,
					       u64 last_use)
{
	struct tessera_victim_block *b = add(s, owner, size, last_use);

	b->flags = TESSERA_VICTIM_BLOCK_LISTED;
	return b;
}

/*
 * RES-2: blocks in a residency list go last among those of their client. Within
 * a share they go as a last resort only.
 */
static void victim_listed_within(struct kunit *test)
{
	static const u32 order[] = { 1, 0, 3, 2, 5, 4, 6 };
	static const u8 tiers[] = { FIRST, FIRST, FIRST, FIRST, FIRST, LAST, LAST };
	struct setting *s = setting_new(test, 20, 4);

	add_listed(s, 3, 4, 1);	/* 0: client 3 has no demand */
	add(s, 3, 4, 9);	/* 1 */
	add_listed(s, 1, 20, 2);	/* 2: client 1 has 24 */
	add(s, 1, 4, 8);	/* 3 */
	add_listed(s, 0, 4, 3);	/* 4: the requester's own */
	add(s, 0, 4, 7);	/* 5 */
	add_listed(s, 2, 4, 4);	/* 6: client 2 is within its share */
	s->owners[1].used = 25;
	s->owners[3].demand = false;
	expect_order(test, s, 7, order, tiers);
}

/* SEG-8: a reservation protects a client that would be above an even share. */
static void victim_reserved(struct kunit *test)
{
	struct setting *s = setting_new(test, 20, 30);

	add(s, 1, 25, 1);
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_EXPECT_EQ(test, s->blocks[0].tier, AFTER);
	s->owners[1].share += 5;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_EXPECT_EQ(test, s->blocks[0].tier, KEPT);
	/* A reservation of the requester counts, too. */
	s->owners[0].share += 10;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_EXPECT_EQ(test, s->blocks[0].tier, AFTER);
}

/*
 * RES-2: two clients above their shares do not evict each other's listed blocks
 * in turn.
 */
static void victim_listed_over(struct kunit *test)
{
	static const u32 order[] = { 1, 0, 2 };
	static const u8 tiers[] = { FIRST, AFTER, LAST };
	struct setting *s = setting_new(test, 20, 4);

	add(s, 2, 1, 9);	/* 0: client 2 will have less than the requester */
	add_listed(s, 1, 4, 2);	/* 1: client 1 has more than the requester, before and after */
	add_listed(s, 2, 4, 1);	/* 2 */
	s->owners[0].used = 26;
	s->owners[1].used = 40;
	s->owners[2].used = 30;
	expect_order(test, s, 3, order, tiers);
	/* The client that gave way has less than the other now. */
	s->owners[0].used = 30;
	s->owners[1].used = 36;
	s->req.requester = 1;
	s->req.n_blocks = 0;
	add_listed(s, 0, 4, 5);
	s->owners[0].used = 30;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	KUNIT_EXPECT_EQ(test, s->blocks[0].tier, LAST);
}

/* RES-2: a share protects listed blocks like others, busy or idle. */
static void victim_listed_protected(struct kunit *test)
{
	static const u32 order[] = { 2, 0, 1 };
	static const u8 tiers[] = { LAST, LAST, KEPT };
	struct setting *s = setting_new(test, 20, 30);

	add_listed(s, 0, 4, 1)->flags |= TESSERA_VICTIM_BLOCK_BUSY;
	add_listed(s, 2, 4, 1);
	add(s, 0, 4, 9)->flags |= TESSERA_VICTIM_BLOCK_BUSY;
	expect_order(test, s, 3, order, tiers);
}

/* SEG-37: priorities order the blocks of one owner before their last use. */
static void victim_priority(struct kunit *test)
{
	static const u32 order[] = { 5, 3, 1, 2, 0, 4 };
	static const u8 tiers[] = { FIRST, FIRST, FIRST, FIRST, FIRST, LAST };
	static const u8 priorities[] = { 4, 1, 3, 1, 0, 4 };
	struct setting *s = setting_new(test, 20, 4);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(priorities); i++)
		add(s, 0, 1, i == 3 ? 1 : 10 - i)->priority = priorities[i];
	s->blocks[4].flags = TESSERA_VICTIM_BLOCK_LISTED;
	s->blocks[5].offer = 1;
	expect_order(test, s, ARRAY_SIZE(order), order, tiers);
}

/*
 * SEG-37: priorities do not change which owner loses a block, here one that
 * uses a block of a low priority all the time, and another that has blocks of
 * high priorities only.
 */
static void victim_priority_of_others(struct kunit *test)
{
	static const u32 order[] = { 3, 0, 1, 2, 4, 5 };
	static const u8 tiers[] = { FIRST, FIRST, FIRST, FIRST, FIRST, FIRST };
	struct setting *s = setting_new(test, 0, 4);
	u32 i;

	add(s, 1, 1, 1)->priority = 2;
	add(s, 1, 1, 2)->priority = 2;
	add(s, 2, 1, 3)->priority = 4;
	add(s, 1, 1, 9)->priority = 0;
	add(s, 2, 1, 5)->priority = 4;
	add(s, 3, 1, 6)->priority = 0;
	for (i = 1; i < N_OWNERS; i++)
		s->owners[i].used = 100;
	expect_order(test, s, ARRAY_SIZE(order), order, tiers);
}

static void victim_bad_owner(struct kunit *test)
{
	struct setting *s = setting_new(test, 20, 1);

	add(s, 1, 1, 1)->owner = N_OWNERS;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), -EINVAL);
	s->req.n_blocks = 0;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	s->req.requester = N_OWNERS;
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), -EINVAL);
}

/* A segment full of blocks of size 1, and clients that request more in turn. */
struct market {
	struct setting *s;
	u32 owner[N_BLOCKS];
	u64 use[N_BLOCKS];
	u64 now;
};

/*
 * Give the first victim to client @who. The clients with demand have @weight
 * together. False if only a last resort is left.
 */
static bool market_take(struct kunit *test, struct market *m, u32 who, u32 weight)
{
	struct setting *s = m->s;
	u32 i;

	s->req.n_blocks = 0;
	s->req.want = 1;
	s->req.requester = who;
	for (i = 0; i < N_OWNERS; i++) {
		s->owners[i].used = 0;
		s->owners[i].share = N_BLOCKS * s->owners[i].weight / weight;
	}
	for (i = 0; i < N_BLOCKS; i++)
		add(s, m->owner[i], 1, m->use[i]);
	KUNIT_EXPECT_EQ(test, tessera_victim_rank(&s->req), 0);
	if (s->blocks[0].tier >= LAST)
		return false;
	i = s->blocks[0].cookie;
	m->owner[i] = who;
	m->use[i] = ++m->now;
	return true;
}

static u32 market_held(const struct market *m, u32 who)
{
	u32 n = 0, i;

	for (i = 0; i < N_BLOCKS; i++)
		n += m->owner[i] == who;
	return n;
}

/*
 * SEG-8: two clients that over-commit converge to half of the segment each. A
 * small third client keeps its blocks.
 */
static void victim_converges(struct kunit *test)
{
	struct market *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->s = setting_new(test, 0, 1);
	for (i = 0; i < N_BLOCKS; i++)
		m->owner[i] = 0;
	for (i = 0; i < 200; i++) {
		KUNIT_EXPECT_TRUE(test, market_take(test, m, i & 1, 2));
		KUNIT_EXPECT_LE(test, market_held(m, 1), N_BLOCKS / 2 + 1);
	}
	KUNIT_EXPECT_EQ(test, market_held(m, 0), N_BLOCKS / 2);
	KUNIT_EXPECT_EQ(test, market_held(m, 1), N_BLOCKS / 2);
	/* The third client requests five blocks in all. */
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, market_take(test, m, 2, 3));
	KUNIT_EXPECT_EQ(test, market_held(m, 2), 5);
	for (i = 0; i < 200; i++) {
		KUNIT_EXPECT_TRUE(test, market_take(test, m, i & 1, 3));
		KUNIT_EXPECT_EQ(test, market_held(m, 2), 5);
	}
	KUNIT_EXPECT_GE(test, market_held(m, 0), 17);
	KUNIT_EXPECT_GE(test, market_held(m, 1), 17);
	/*
	 * The first client is idle: the second may take all but the third's
	 * blocks.
	 */
	m->s->owners[0].demand = false;
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_TRUE(test, market_take(test, m, 1, 2));
	KUNIT_EXPECT_EQ(test, market_held(m, 1), 35);
	KUNIT_EXPECT_EQ(test, market_held(m, 2), 5);
	/* The first client has demand again and takes its share back. */
	m->s->owners[0].demand = true;
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_TRUE(test, market_take(test, m, i & 1, 3));
	KUNIT_EXPECT_GE(test, market_held(m, 0), 17);
	KUNIT_EXPECT_EQ(test, market_held(m, 2), 5);
}

/*
 * RES-11: two clients that over-commit converge to the ratio of their weights.
 * So does what a small third client leaves of its share.
 */
static void victim_weights(struct kunit *test)
{
	struct market *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->s = setting_new(test, 0, 1);
	m->s->owners[0].weight = 3;
	for (i = 0; i < N_BLOCKS; i++)
		m->owner[i] = 1;
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_TRUE(test, market_take(test, m, i & 1, 4));
	KUNIT_EXPECT_EQ(test, market_held(m, 0), 30);
	KUNIT_EXPECT_EQ(test, market_held(m, 1), 10);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, market_take(test, m, 2, 5));
	KUNIT_EXPECT_EQ(test, market_held(m, 2), 4);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_TRUE(test, market_take(test, m, i & 1, 5));
	KUNIT_EXPECT_EQ(test, market_held(m, 0), 27);
	KUNIT_EXPECT_EQ(test, market_held(m, 1), 9);
	KUNIT_EXPECT_EQ(test, market_held(m, 2), 4);
}

/* Blocks of one owner in the order of a search for victims, see mem/order.c. */
struct queue {
	struct tessera_victim_block *blocks[N_BLOCKS];
	u32 num, next;
};

/*
 * Offered blocks first, then those that are not listed, each by priority and
 * then least recently used first.
 */
static bool meets_before(const struct tessera_victim_block *a, const struct tessera_victim_block *b)
{
	u8 a_listed = a->flags & TESSERA_VICTIM_BLOCK_LISTED;
	u8 b_listed = b->flags & TESSERA_VICTIM_BLOCK_LISTED;

	if (a->offer != b->offer)
		return (u8)(a->offer - 1) < (u8)(b->offer - 1);
	if (a_listed != b_listed)
		return b_listed;
	if (a->priority != b->priority)
		return a->priority < b->priority;
	return a->last_use < b->last_use;
}

static void queue_add(struct queue *queue, struct tessera_victim_block *block)
{
	u32 i = queue->num++;

	for (; i && meets_before(block, queue->blocks[i - 1]); i--)
		queue->blocks[i] = queue->blocks[i - 1];
	queue->blocks[i] = block;
}

static void queue_classify(struct setting *s, const struct tessera_victim_wish *wish,
			   struct queue *queue, u32 owner)
{
	struct tessera_victim_block *next = queue->blocks[queue->next];
	u32 i;

	if (queue->next == queue->num)
		return;
	next->turn = next->last_use;
	for (i = queue->next + 1; i < queue->num; i++)
		if (queue->blocks[i]->offer == next->offer &&
		    queue->blocks[i]->flags == next->flags)
			next->turn = min(next->turn, queue->blocks[i]->last_use);
	tessera_victim_classify(wish, &s->owners[owner], next);
}

static u32 rnd(u64 *state, u32 below)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(*state >> 33) % below;
}

static void randomize(struct setting *s, u64 *state)
{
	u32 i;

	memset(s->owners, 0, sizeof(s->owners));
	memset(s->blocks, 0, sizeof(s->blocks));
	s->req.n_blocks = 0;
	s->req.want = rnd(state, 40);
	for (i = 0; i < N_BLOCKS; i++) {
		struct tessera_victim_block *b = add(s, rnd(state, N_OWNERS), 1 + rnd(state, 9),
						     ((u64)rnd(state, 1000) << 8) + i);

		if (!rnd(state, 5))
			b->offer = 1 + rnd(state, 3);
		if (!rnd(state, 4))
			b->flags = TESSERA_VICTIM_BLOCK_LISTED;
		b->priority = rnd(state, TESSERA_VICTIM_PRIORITIES);
	}
	for (i = 0; i < N_OWNERS; i++) {
		s->owners[i].demand = rnd(state, 4);
		s->owners[i].share = rnd(state, 80);
		s->owners[i].weight = 1 + rnd(state, 4);
	}
}

/* Take the first of the next blocks of all owners; NULL if there is none. */
static struct tessera_victim_block *take_next(struct setting *s,
					      const struct tessera_victim_wish *wish,
					      struct queue *queues)
{
	struct tessera_victim_block *block, *first = NULL;
	u32 i, owner = 0;

	for (i = 0; i < N_OWNERS; i++) {
		block = queues[i].next < queues[i].num ? queues[i].blocks[queues[i].next] : NULL;
		if (block && (!first || tessera_victim_before(block, first))) {
			first = block;
			owner = i;
		}
	}
	if (first) {
		queues[owner].next++;
		queue_classify(s, wish, &queues[owner], owner);
	}
	return first;
}

static void find_order(struct kunit *test, struct setting *s, struct queue *queues, u32 *cookies,
		       u8 *tiers)
{
	struct tessera_victim_wish wish = { };
	u32 i;

	memset(queues, 0, sizeof(*queues) * N_OWNERS);
	wish.requester = &s->owners[s->req.requester];
	wish.after = wish.requester->used + s->req.want;
	for (i = 0; i < N_OWNERS; i++)
		s->owners[i].left = s->owners[i].used;
	for (i = 0; i < N_BLOCKS; i++) {
		struct tessera_victim_block *b = &s->blocks[i];

		queue_add(&queues[b->owner], b);
		if (b->offer)
			s->owners[b->owner].left -= b->size;
	}
	for (i = 0; i < N_OWNERS; i++)
		queue_classify(s, &wish, &queues[i], i);
	for (i = 0; i < N_BLOCKS; i++) {
		struct tessera_victim_block *next = take_next(s, &wish, queues);

		KUNIT_ASSERT_NOT_NULL(test, next);
		cookies[i] = next->cookie;
		tiers[i] = next->tier;
	}
}

/*
 * SEG-8: looking at the next block of each owner finds the same order as
 * ranking all blocks.
 */
static void victim_next_of_each_owner(struct kunit *test)
{
	struct queue *queues = kunit_kzalloc(test, sizeof(*queues) * N_OWNERS, GFP_KERNEL);
	struct setting *s = setting_new(test, 0, 0);
	u32 round, cookies[N_BLOCKS];
	u8 tiers[N_BLOCKS];
	u64 state = 1;

	KUNIT_ASSERT_NOT_NULL(test, queues);
	for (round = 0; round < 1000; round++) {
		randomize(s, &state);
		find_order(test, s, queues, cookies, tiers);
		expect_order(test, s, N_BLOCKS, cookies, tiers);
	}
}

static struct kunit_case victim_tests[] = {
	KUNIT_CASE(victim_offered),
	KUNIT_CASE(victim_requester_within),
	KUNIT_CASE(victim_requester_over),
	KUNIT_CASE(victim_requester_equal),
	KUNIT_CASE(victim_busy_before_protected),
	KUNIT_CASE(victim_stops_at_share),
	KUNIT_CASE(victim_lent_and_taken_back),
	KUNIT_CASE(victim_reserved),
	KUNIT_CASE(victim_weights),
	KUNIT_CASE(victim_listed_within),
	KUNIT_CASE(victim_listed_over),
	KUNIT_CASE(victim_listed_protected),
	KUNIT_CASE(victim_priority),
	KUNIT_CASE(victim_priority_of_others),
	KUNIT_CASE(victim_bad_owner),
	KUNIT_CASE(victim_converges),
	KUNIT_CASE(victim_next_of_each_owner),
	{}
};

static struct kunit_suite victim_suite = {
	.name = "tessera_victim",
	.test_cases = victim_tests,
};

kunit_test_suite(victim_suite);
