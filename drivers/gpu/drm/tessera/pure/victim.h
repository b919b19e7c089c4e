/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Order in which the memory of a segment's clients is taken.
 */
#ifndef __TESSERA_PURE_VICTIM_H__
#define __TESSERA_PURE_VICTIM_H__

#include "pure.h"

/** TESSERA_VICTIM_NO_OWNER: memory that is charged to nobody */
#define TESSERA_VICTIM_NO_OWNER		U32_MAX

/**
 * enum tessera_victim_tier - how hard a block is to get
 * @TESSERA_VICTIM_TAKE_FIRST: goes before any allocation of the submission that
 *	needs room
 * @TESSERA_VICTIM_TAKE_AFTER_OWN: goes when that submission has nothing idle left
 * @TESSERA_VICTIM_LAST_RESORT: busy in other work, or listed as resident: goes only
 *	where a job could not run at all otherwise
 * @TESSERA_VICTIM_PROTECTED: likewise, and within its owner's fair share, which the
 *	one that wants it is above: goes only where that would not do either
 * @TESSERA_VICTIM_IMMOVABLE: never goes
 */
enum tessera_victim_tier {
	TESSERA_VICTIM_TAKE_FIRST,
	TESSERA_VICTIM_TAKE_AFTER_OWN,
	TESSERA_VICTIM_LAST_RESORT,
	TESSERA_VICTIM_PROTECTED,
	TESSERA_VICTIM_IMMOVABLE,
};

/** TESSERA_VICTIM_BLOCK_BUSY: other work uses it, it has to be waited for */
#define TESSERA_VICTIM_BLOCK_BUSY	BIT(0)
/** TESSERA_VICTIM_BLOCK_FIXED: pinned, scanned out, locked in place */
#define TESSERA_VICTIM_BLOCK_FIXED	BIT(1)
/** TESSERA_VICTIM_BLOCK_LISTED: some client has it in its residency list */
#define TESSERA_VICTIM_BLOCK_LISTED	BIT(2)

/**
 * struct tessera_victim_owner - a client, as far as one segment is concerned
 * @used: bytes it holds there
 * @reserved: bytes by which its share is above @fair of the request
 * @demand: it has demand there, see &struct tessera_share_client
 * @left: scratch: bytes it would hold if all its blocks ranked so far were taken
 */
struct tessera_victim_owner {
	u64 used;
	u64 reserved;
	bool demand;
	u64 left;
};

/**
 * struct tessera_victim_block - a block that might be taken
 * @size: bytes
 * @last_use: when it was used last, any monotonic unit
 * @owner: index of its owner, or TESSERA_VICTIM_NO_OWNER
 * @cookie: the caller's name for it; also decides between equals
 * @offer: not 0: its contents are not needed; the lower the less
 * @flags: TESSERA_VICTIM_BLOCK_*
 * @tier: result: &enum tessera_victim_tier
 * @class: result: finer order inside the tier
 */
struct tessera_victim_block {
	u64 size;
	u64 last_use;
	u32 owner;
	u32 cookie;
	u8 offer;
	u8 flags;
	u8 tier;
	u8 class;
};

/**
 * struct tessera_victim_wish - who wants memory
 * @fair: fair share of a client with demand there that has reserved nothing
 * @after: bytes that @requester holds once it has what it wants
 * @requester: the one that wants it
 */
struct tessera_victim_wish {
	u64 fair;
	u64 after;
	const struct tessera_victim_owner *requester;
};

/**
 * struct tessera_victim_req - who wants memory of which segment
 * @fair: fair share of a client with demand there that has reserved nothing
 * @want: bytes it wants beyond what it holds
 * @owners: clients
 * @blocks: candidates; sorted in place
 * @n_owners: elements of @owners
 * @n_blocks: elements of @blocks
 * @requester: index of the requester in @owners
 */
struct tessera_victim_req {
	u64 fair;
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
