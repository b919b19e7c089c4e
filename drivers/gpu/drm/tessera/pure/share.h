/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fair shares of a segment among its clients.
 */
#ifndef __TESSERA_PURE_SHARE_H__
#define __TESSERA_PURE_SHARE_H__

#include "pure.h"

/** TESSERA_SHARE_WEIGHT: the weight of a client that was given none */
#define TESSERA_SHARE_WEIGHT	100

/**
 * struct tessera_share_seg - totals of all clients in one segment
 * @size: bytes that clients may hold, without memory that the kernel uses
 *	itself
 * @used: bytes charged to clients
 * @promised: bytes reserved by all clients
 * @reserved: bytes reserved by clients with demand
 * @weight: sum of the weights of clients with demand
 */
struct tessera_share_seg {
	u64 size;
	u64 used;
	u64 promised;
	u64 reserved;
	u64 weight;
};

/**
 * struct tessera_share_client - state of one client in one segment
 * @used: bytes charged
 * @reserved: bytes of its share that do not depend on other clients
 * @stamp: time of the last demand
 * @given_weight: the client's weight, or 0: TESSERA_SHARE_WEIGHT
 * @demand: the client is counted in @weight of the segment
 *
 * The initial state is zero. Each pair of client and segment has one of these,
 * and no function takes two segments. Therefore a share in one segment cannot
 * depend on the use of another.
 */
struct tessera_share_client {
	u64 used;
	u64 reserved;
	u64 stamp;
	u32 given_weight;
	bool demand;
};

static inline u32 tessera_share_weight(const struct tessera_share_client *client)
{
	return client->given_weight ?: TESSERA_SHARE_WEIGHT;
}

int tessera_share_charge(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u64 bytes);
int tessera_share_uncharge(struct tessera_share_seg *seg,
			   struct tessera_share_client *client, u64 bytes);
void tessera_share_touch(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u64 now);
bool tessera_share_expire(struct tessera_share_seg *seg,
			  struct tessera_share_client *client, u64 now,
			  u64 period);
void tessera_share_leave(struct tessera_share_seg *seg,
			 struct tessera_share_client *client);
int tessera_share_reserve(struct tessera_share_seg *seg,
			  struct tessera_share_client *client, u64 bytes);
u64 tessera_share_reservable(const struct tessera_share_seg *seg,
			     const struct tessera_share_client *client);
void tessera_share_weigh(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u32 weight);
u64 tessera_share_beside(const struct tessera_share_seg *seg,
			 const struct tessera_share_client *client,
			 const struct tessera_share_client *requester);
u64 tessera_share_fair(const struct tessera_share_seg *seg,
		       const struct tessera_share_client *client);
u64 tessera_share_budget(const struct tessera_share_seg *seg,
			 const struct tessera_share_client *client);

#endif /* __TESSERA_PURE_SHARE_H__ */
