// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: fair shares
 *
 * Arithmetic of who may hold how much of a segment. Called by residency and by
 * the queries of budget and usage; the caller serialises access to one segment's
 * state.
 *
 * The fair share of a client is the segment's size over the number of clients
 * with demand there. A client has *demand* in a segment from the time that it
 * asks for memory there or uses what it holds there, until it has done neither
 * for a while: the window given to tessera_share_expire(). Memory alone is no demand, so
 * a client that went to sleep lends its share to the others: they share the
 * segment among fewer, and its memory is the first to be taken. With its next
 * submission it has demand again, the others are above their shares again, and
 * give way to it.
 *
 * A client may *reserve* a part of a segment: that much of its share does not depend on how
 * many others there are, who share what is left. All reservations together are a quarter
 * of the segment at most, so that nobody loses more than that of a share to them. They count
 * while their clients have demand; what is idle is lent, reserved or not.
 *
 * Each segment is on its own: all state is per segment, or per client and segment.
 */
#include "share.h"

/* Part of a segment that reservations may take. */
#define RESERVE_FRACTION	4

/**
 * tessera_share_charge() - a client got memory
 * @seg: segment
 * @client: client
 * @bytes: how much
 *
 * Return: 0, or -EOVERFLOW if the sums cannot take it; nothing is changed then.
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
 * tessera_share_uncharge() - a client lost memory or gave it back
 * @seg: segment
 * @client: client
 * @bytes: how much
 *
 * Return: 0, or -EINVAL if more is given back than was charged, which is a bug of
 * the caller; nothing is changed then.
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
 * tessera_share_touch() - a client shows demand
 * @seg: segment
 * @client: client that asks for memory in it, or uses what it has there
 * @now: time, in the caller's unit
 */
void tessera_share_touch(struct tessera_share_seg *seg,
			 struct tessera_share_client *client, u64 now)
{
	if (!client->demand) {
		client->demand = true;
		seg->n_demand++;
		seg->reserved += client->reserved;
	}
	client->stamp = max(client->stamp, now);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_touch);

/**
 * tessera_share_leave() - a client has no demand any more
 * @seg: segment
 * @client: client
 */
void tessera_share_leave(struct tessera_share_seg *seg,
			 struct tessera_share_client *client)
{
	if (!client->demand)
		return;
	client->demand = false;
	seg->n_demand--;
	seg->reserved -= client->reserved;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_leave);

/**
 * tessera_share_expire() - end a client's demand if it is too long ago
 * @seg: segment
 * @client: client
 * @now: time
 * @window: how long demand lasts
 *
 * Return: true if the client's demand ended here.
 */
bool tessera_share_expire(struct tessera_share_seg *seg,
			  struct tessera_share_client *client, u64 now, u64 window)
{
	if (!client->demand || now <= client->stamp ||
	    now - client->stamp <= window)
		return false;
	tessera_share_leave(seg, client);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_expire);

/**
 * tessera_share_reservable() - most that a client can reserve now
 * @seg: segment
 * @client: client
 *
 * Return: bytes, what it has reserved already included.
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
 * tessera_share_reserve() - set what a client has reserved
 * @seg: segment
 * @client: client
 * @bytes: how much from now on; 0: nothing
 *
 * Return: 0, or -ENOSPC if it is too much; nothing is changed then.
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
 * tessera_share_fair() - fair share of a client
 * @seg: segment
 * @client: client; one without demand gets what it would get if it had some
 *
 * Return: bytes.
 */
u64 tessera_share_fair(const struct tessera_share_seg *seg,
		       const struct tessera_share_client *client)
{
	u64 reserved = seg->reserved + (client->demand ? 0 : client->reserved);
	u32 n = seg->n_demand + !client->demand;

	return div_u64(seg->size - min(seg->size, reserved), n) + client->reserved;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_share_fair);

/**
 * tessera_share_budget() - what a client can count on
 * @seg: segment
 * @client: client
 *
 * The fair share; and as long as others leave memory free, that as well.
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
