/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Order in which the memory of a segment's clients is evicted. */
#ifndef __TESSERA_PURE_VICTIM_H__
#define __TESSERA_PURE_VICTIM_H__

#include "pure.h"

/** TESSERA_VICTIM_NO_OWNER: memory that is charged to no client */
#define TESSERA_VICTIM_NO_OWNER		U32_MAX

/**
 * enum tessera_victim_tier - how hard a block is to evict
 * @TESSERA_VICTIM_TAKE_FIRST: evicted before any allocation of the submission
 *	that needs space
 * @TESSERA_VICTIM_TAKE_AFTER_OWN: evicted when that submission has no idle
 *	allocation left
 * @TESSERA_VICTIM_LAST_RESORT: busy in other work, or in a residency list;
 *	evicted only if a job could not run otherwise
 * @TESSERA_VICTIM_PROTECTED: within its owner's fair share, while the requester
 *	is above its own; evicted only if the last resort is not enough either
 * @TESSERA_VICTIM_IMMOVABLE: never evicted
 */
enum tessera_victim_tier {
	TESSERA_VICTIM_TAKE_FIRST,
	TESSERA_VICTIM_TAKE_AFTER_OWN,
	TESSERA_VICTIM_LAST_RESORT,
	TESSERA_VICTIM_PROTECTED,
	TESSERA_VICTIM_IMMOVABLE,
};

/**
 * TESSERA_VICTIM_BLOCK_BUSY: other work uses the block and must be waited for
 */
#define TESSERA_VICTIM_BLOCK_BUSY	BIT(0)
/**
 * TESSERA_VICTIM_BLOCK_IMMOVABLE: scanned out, mapped by the kernel, or dying
 */
#define TESSERA_VICTIM_BLOCK_IMMOVABLE	BIT(1)
/** TESSERA_VICTIM_BLOCK_LISTED: the block is in a client's residency list */
#define TESSERA_VICTIM_BLOCK_LISTED	BIT(2)

/** TESSERA_VICTIM_PRIORITIES: number of priorities inside one client */
#define TESSERA_VICTIM_PRIORITIES	5
/** TESSERA_VICTIM_NORMAL: the priority of a block that has not asked for one */
#define TESSERA_VICTIM_NORMAL		2

/**
 * struct tessera_victim_owner - state of a client in one segment
 * @used: bytes that it holds there
 * @share: its fair share, if the requester has demand
 * @weight: its weight, see &struct tessera_share_client
 * @demand: it has demand there, see &struct tessera_share_client
 * @left: scratch: bytes that it would hold without its offered blocks, and
 *	without the blocks already classified as above its share
 */
struct tessera_victim_owner {
	u64 used;
	u64 share;
	u32 weight;
	bool demand;
	u64 left;
};

/**
 * struct tessera_victim_block - a block that might be evicted
 * @size: bytes
 * @last_use: time of the last use, in any monotonic unit
 * @turn: the least @last_use of this block and of those of the same owner that
 *	are evicted after it, and are offered and listed like it
 * @owner: index of its owner, or TESSERA_VICTIM_NO_OWNER
 * @cookie: identifier for the caller; also breaks ties
 * @offer: priority of the offer; lower ones are evicted first. 0: not offered
 * @priority: order inside one owner, lower ones are evicted first; below
 *	TESSERA_VICTIM_PRIORITIES
 * @flags: TESSERA_VICTIM_BLOCK_*
 * @tier: result: &enum tessera_victim_tier
 * @class: result: finer order inside the tier
 */
struct tessera_victim_block {
	u64 size;
	u64 last_use;
	u64 turn;
	u32 owner;
	u32 cookie;
	u8 offer;
	u8 priority;
	u8 flags;
	u8 tier;
	u8 class;
};

/**
 * struct tessera_victim_wish - a request for memory, as seen by
 * tessera_victim_classify()
 * @after: bytes that @requester would hold with the requested memory
 * @requester: the requesting client
 */
struct tessera_victim_wish {
	u64 after;
	const struct tessera_victim_owner *requester;
};

/**
 * struct tessera_victim_req - a request for memory of a segment, with all its
 * blocks
 * @want: bytes that the requester wants in addition to what it holds
 * @owners: clients
 * @blocks: candidates; sorted in place
 * @n_owners: number of @owners
 * @n_blocks: number of @blocks
 * @requester: index of the requester in @owners
 */
struct tessera_victim_req {
	u64 want;
	struct tessera_victim_owner *owners;
	struct tessera_victim_block *blocks;
	u32 n_owners;
	u32 n_blocks;
	u32 requester;
};

void tessera_victim_classify(const struct tessera_victim_wish *wish,
			     struct tessera_victim_owner *owner,
			     struct tessera_victim_block *block);
bool tessera_victim_before(const struct tessera_victim_block *a,
			   const struct tessera_victim_block *b);
int tessera_victim_rank(struct tessera_victim_req *req);

#endif /* __TESSERA_PURE_VICTIM_H__ */
