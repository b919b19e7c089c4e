// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: fair shares
 *
 * Computes how much of a segment each client may hold. Called by residency and
 * by the queries of budget and usage. The caller serializes access to one
 * segment's state.
 *
 * Fair share
 * ----------
 *
 * The clients with demand in a segment divide it in proportion to their weights.
 * All weights are equal unless a privileged process changes them (RES-11). The
 * fair share of a client is its part. A client has *demand* in a segment from the
 * time when it requests memory there or uses its memory there. The demand ends
 * when it has done neither for the demand period passed to
 * tessera_share_expire().
 *
 * Holding memory is not demand. A client that sleeps lends its share to the
 * others: they divide the segment among fewer clients, and its memory is taken
 * first. With its next submission it has demand again. The others are then
 * above their shares and give way to it.
 *
 * Reservations
 * ------------
 *
 * A client may *reserve* a part of a segment. That part of its share does not
 * depend on the number of other clients, which divide the rest. All
 * reservations together are at most a quarter of the segment, so no client
 * loses more than that fraction of its share to them. A reservation counts only
 * while its client has demand. Idle memory is lent even if it is reserved.
 *
 * Segments are independent: all state is per segment, or per client and
 * segment.
 */
#include "share.h"

/* Reservations may take the segment's size divided by this. */
#define RESERVE_FRACTION	4

/**
 * tessera_share_charge() - charge memory to a client
 * @seg: segment
 * @client: client
 * @bytes: memory to charge
 *
 * Return: 0, or -EOVERFLOW if a sum overflows; nothing is changed then.
 */
int tessera_share_charge(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u64 bytes)
{
	u64 all, own;

	if (check_add_overflow(seg->used, bytes, &all) ||
	    check_add_overflow(client->used, bytes, &own))
		return -EOVERFLOW;
	seg->used = all;
	client->used = own;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_charge);

/**
 * tessera_share_uncharge() - uncharge memory that a client has lost or freed
 * @seg: segment
 * @client: client
 * @bytes: memory to uncharge
 *
 * Return: 0, or -EINVAL if less was charged, which is a bug of the caller;
 * nothing is changed then.
 */
int tessera_share_uncharge(struct tessera_share_seg *seg,
			   struct tessera_share_client *client, u64 bytes)
{
	if (bytes > client->used || bytes > seg->used)
		return -EINVAL;
	seg->used -= bytes;
	client->used -= bytes;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_uncharge);

/**
 * tessera_share_touch() - record demand of a client
 * @seg: segment
 * @client: client that requests memory in it, or uses its memory there
 * @now: time, in the caller's unit
 */
void tessera_share_touch(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u64 now)
{
	if (!client->demand) {
		client->demand = true;
		seg->weight += tessera_share_weight(client);
		seg->reserved += client->reserved;
	}
	client->stamp = max(client->stamp, now);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_touch);

/**
 * tessera_share_leave() - end a client's demand
 * @seg: segment
 * @client: client
 */
void tessera_share_leave(struct tessera_share_seg *seg,
			 struct tessera_share_client *client)
{
	if (!client->demand)
		return;
	client->demand = false;
	seg->weight -= tessera_share_weight(client);
	seg->reserved -= client->reserved;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_leave);

/**
 * tessera_share_expire() - end a client's demand after the demand period
 * @seg: segment
 * @client: client
 * @now: time
 * @period: the demand period
 *
 * Return: true if the client's demand ended here.
 */
bool tessera_share_expire(struct tessera_share_seg *seg,
			  struct tessera_share_client *client, u64 now, u64 period)
{
	if (!client->demand || now <= client->stamp ||
	    now - client->stamp <= period)
		return false;
	tessera_share_leave(seg, client);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_expire);

/**
 * tessera_share_reservable() - get the maximum that a client can reserve now
 * @seg: segment
 * @client: client
 *
 * Return: bytes, including those that it has already reserved.
 */
u64 tessera_share_reservable(const struct tessera_share_seg *seg,
			     const struct tessera_share_client *client)
{
	u64 limit = seg->size / RESERVE_FRACTION;
	u64 others = seg->promised - client->reserved;

	return limit - min(limit, others);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_reservable);

/**
 * tessera_share_reserve() - set a client's reservation
 * @seg: segment
 * @client: client
 * @bytes: the new reservation; 0: none
 *
 * Return: 0, or -ENOSPC if it is too large; nothing is changed then.
 */
int tessera_share_reserve(struct tessera_share_seg *seg,
			  struct tessera_share_client *client, u64 bytes)
{
	if (bytes > tessera_share_reservable(seg, client) && bytes > client->reserved)
		return -ENOSPC;
	seg->promised += bytes - client->reserved;
	if (client->demand)
		seg->reserved += bytes - client->reserved;
	client->reserved = bytes;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_reserve);

/**
 * tessera_share_weigh() - set a client's weight
 * @seg: segment
 * @client: client
 * @weight: at least 1; TESSERA_SHARE_WEIGHT is the default
 */
void tessera_share_weigh(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u32 weight)
{
	if (client->demand)
		seg->weight += (u64)weight - tessera_share_weight(client);
	client->given_weight = weight;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_weigh);

/**
 * tessera_share_beside() - get the fair share of a client beside a requester
 * @seg: segment
 * @client: client
 * @requester: counts as a client with demand
 *
 * Return: bytes.
 */
u64 tessera_share_beside(const struct tessera_share_seg *seg,
			 const struct tessera_share_client *client,
			 const struct tessera_share_client *requester)
{
	u64 reserved = seg->reserved + (requester->demand ? 0 : requester->reserved);
	u64 weight = seg->weight + (requester->demand ? 0 : tessera_share_weight(requester));

	return mul_u64_u64_div_u64(seg->size - min(seg->size, reserved),
				   tessera_share_weight(client), weight) + client->reserved;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_beside);

/**
 * tessera_share_fair() - get the fair share of a client
 * @seg: segment
 * @client: client; without demand, the result is its share if it had demand
 *
 * Return: bytes.
 */
u64 tessera_share_fair(const struct tessera_share_seg *seg,
		       const struct tessera_share_client *client)
{
	return tessera_share_beside(seg, client, client);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_fair);

/**
 * tessera_share_budget() - get the memory that a client can count on
 * @seg: segment
 * @client: client
 *
 * This is the fair share, or more while others leave memory unused.
 *
 * Return: bytes, never less than the fair share.
 */
u64 tessera_share_budget(const struct tessera_share_seg *seg,
			 const struct tessera_share_client *client)
{
	u64 fair = tessera_share_fair(seg, client);
	u64 others = seg->used - min(seg->used, client->used);

	return max(fair, seg->size - min(seg->size, others));
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_budget);
