// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: patch list
 *
 * Checks a patch-location list against the rules of the uAPI, and applies a
 * checked one: it writes addresses into the commands, and finds the slots that
 * must be bound before a part runs. Each function walks the list once or twice
 * and allocates nothing. Called by the submission path, with copies that user
 * space cannot reach. The caller serializes use of the slot table.
 */
#include "patch.h"

static int check_null(const struct tessera_patch *patch)
{
	return patch->patch_offset || patch->alloc_offset ? -EINVAL : 0;
}

static int check_bound(const struct tessera_patch_list *list,
		       const struct tessera_patch *patch, u64 alloc_size)
{
	u32 end;

	if (patch->split_offset == list->cmd_bytes)
		return -EINVAL;
	if (!IS_ALIGNED(patch->alloc_offset, TSR_PKT_ALIGN) ||
	    patch->alloc_offset >= alloc_size)
		return -EINVAL;
	if (!IS_ALIGNED(patch->patch_offset, TSR_PKT_ALIGN) ||
	    patch->patch_offset < TSR_BIND_PATCH_OFFSET ||
	    patch->patch_offset < patch->split_offset)
		return -EINVAL;
	if (check_add_overflow(patch->patch_offset, (u32)TSR_BIND_PATCH_BYTES, &end) ||
	    end > list->cmd_bytes)
		return -EINVAL;

	return 0;
}

static int check_element(const struct tessera_patch_list *list, u32 index,
			 u32 prev_split, struct tessera_slot_table *table)
{
	const struct tessera_patch *patch = &list->patches[index];
	const struct tessera_patch_alloc *alloc;
	bool null;
	int ret;

	if (patch->pad || patch->alloc_index >= list->num_allocs ||
	    patch->slot_id >= list->num_slots)
		return -EINVAL;
	if (!IS_ALIGNED(patch->split_offset, TSR_PKT_ALIGN) ||
	    patch->split_offset < prev_split ||
	    patch->split_offset > list->cmd_bytes)
		return -EINVAL;

	alloc = &list->allocs[array_index_nospec(patch->alloc_index, list->num_allocs)];
	null = alloc->flags & TESSERA_PATCH_ALLOC_NULL;
	ret = null ? check_null(patch) : check_bound(list, patch, alloc->size);
	if (ret)
		return ret;

	return tessera_slot_set(table, patch->slot_id,
				null ? TESSERA_SLOT_NULL : patch->alloc_index,
				patch->split_offset);
}

/*
 * A patch must end before the next split point that sets its slot again.
 * Otherwise the address could be used after it has become stale (SPLIT-33). The
 * list is walked backwards, so that the row of a slot holds that split point.
 */
static int check_ranges(const struct tessera_patch_list *list,
			struct tessera_slot_table *table,
			struct tessera_patch_error *err)
{
	u32 i = list->num_patches;
	int ret;

	tessera_slot_reset(table);
	while (i--) {
		const struct tessera_patch *patch = &list->patches[i];
		struct tessera_slot_row *row;
		u32 later;

		ret = tessera_patch_pause(list, i);
		if (ret)
			return ret;

		row = tessera_slot_row(table, patch->slot_id);
		later = row ? row->split_offset : list->cmd_bytes;
		if (row && later == patch->split_offset)
			later = row->next_split;
		/*
		 * Slot and split point were checked before, so this only sets
		 * the row.
		 */
		if (tessera_slot_set(table, patch->slot_id, TESSERA_SLOT_NULL,
				     patch->split_offset))
			return tessera_patch_refuse(err, patch->split_offset, i);
		row = tessera_slot_row(table, patch->slot_id);
		row->next_split = later;

		if (!tessera_patch_is_null(list, patch) &&
		    patch->patch_offset + TSR_BIND_PATCH_BYTES > later)
			return tessera_patch_refuse(err, patch->patch_offset, i);
	}

	return 0;
}

/**
 * tessera_patch_check() - check a patch list against all rules that need no
 * commands
 * @list: the list
 * @table: a slot table of @list->num_slots rows, used as scratch
 * @err: the place of the error, written on failure
 *
 * Return: 0, -EINVAL, or an error of &tessera_patch_list.check.
 */
int tessera_patch_check(const struct tessera_patch_list *list,
			struct tessera_slot_table *table,
			struct tessera_patch_error *err)
{
	u32 prev_split = 0;
	u32 i;
	int ret;

	tessera_slot_reset(table);
	for (i = 0; i < list->num_patches; i++) {
		ret = tessera_patch_pause(list, i);
		if (ret)
			return ret;
		if (check_element(list, i, prev_split, table))
			return tessera_patch_refuse(err, list->patches[i].split_offset, i);
		prev_split = list->patches[i].split_offset;
	}

	return check_ranges(list, table, err);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_check);

static u32 element_alloc(const struct tessera_patch_list *list,
			 const struct tessera_patch *patch)
{
	return tessera_patch_is_null(list, patch) ? TESSERA_SLOT_NULL :
						    patch->alloc_index;
}

/**
 * tessera_patch_check_leaks() - refuse slots that stay bound over a split point
 * @list: a list that tessera_patch_check() accepted
 * @table: a slot table of @list->num_slots rows, used as scratch
 * @err: the place of the error, written on failure
 *
 * This is the leak check of SCHED-6. At each split point inside the buffer,
 * every slot that holds an allocation must be bound again or unbound, since a
 * cut may be made there.
 *
 * Return: 0, -EINVAL, or an error of &tessera_patch_list.check.
 */
int tessera_patch_check_leaks(const struct tessera_patch_list *list,
			      struct tessera_slot_table *table,
			      struct tessera_patch_error *err)
{
	u32 i = 0;
	int ret;

	tessera_slot_reset(table);
	while (i < list->num_patches) {
		u32 split = list->patches[i].split_offset;
		u32 live = table->num_live;
		u32 first = i;
		u32 named = 0;

		for (; i < list->num_patches &&
		     list->patches[i].split_offset == split; i++) {
			const struct tessera_patch *patch = &list->patches[i];
			struct tessera_slot_row *row;

			ret = tessera_patch_pause(list, i);
			if (ret)
				return ret;
			row = tessera_slot_row(table, patch->slot_id);
			if (row && row->alloc != TESSERA_SLOT_NULL &&
			    row->split_offset != split)
				named++;
			if (tessera_slot_set(table, patch->slot_id,
					     element_alloc(list, patch), split))
				return tessera_patch_refuse(err, split, i);
		}
		if (split > 0 && split < list->cmd_bytes && named < live)
			return tessera_patch_refuse(err, split, first);
	}

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_check_leaks);

/**
 * tessera_patch_replay_init() - start a replay at the beginning of the buffer
 * @replay: the replay
 * @list: a list that tessera_patch_check() accepted
 * @order: the order written by tessera_validate()
 * @num_order: length of @order
 * @table: a slot table of @list->num_slots rows, owned by the replay while in
 *	use
 */
void tessera_patch_replay_init(struct tessera_patch_replay *replay,
			       const struct tessera_patch_list *list,
			       const u32 *order, u32 num_order,
			       struct tessera_slot_table *table)
{
	*replay = (struct tessera_patch_replay) {
		.list = list,
		.order = order,
		.num_order = num_order,
		.table = table,
	};
	tessera_slot_reset(table);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_init);

static void replay_apply(struct tessera_patch_replay *replay, u32 end)
{
	const struct tessera_patch_list *list = replay->list;

	for (; replay->patch_pos < list->num_patches; replay->patch_pos++) {
		const struct tessera_patch *patch = &list->patches[replay->patch_pos];

		if (patch->split_offset >= end)
			break;
		tessera_slot_set(replay->table, patch->slot_id,
				 element_alloc(list, patch), patch->split_offset);
		if (replay->applied)
			replay->applied(replay, replay->patch_pos);
	}
}

/**
 * tessera_patch_replay_cut() - advance a replay to a cut
 * @replay: the replay
 * @cut: byte offset of a split point, not lower than in the previous call
 */
void tessera_patch_replay_cut(struct tessera_patch_replay *replay, u32 cut)
{
	const struct tessera_patch *patches = replay->list->patches;

	replay_apply(replay, cut);
	for (; replay->order_pos < replay->num_order; replay->order_pos++) {
		u32 index = replay->order[replay->order_pos];
		struct tessera_slot_row *row;

		if (patches[index].patch_offset >= cut)
			break;
		row = tessera_slot_row(replay->table, patches[index].slot_id);
		if (row)
			row->bind = index;
	}
	/* Elements of the split point itself: the stream binds their slots. */
	if (cut < replay->list->cmd_bytes)
		replay_apply(replay, cut + 1);
	replay->cut = cut;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_cut);

/**
 * tessera_patch_replay_advance() - apply the elements of the part after the cut
 * @replay: the replay
 * @end: end of the part
 *
 * After this call tessera_patch_replay_bind() can no longer be used for the
 * part.
 */
void tessera_patch_replay_advance(struct tessera_patch_replay *replay, u32 end)
{
	/* An unbind after the last command belongs to the last part. */
	replay_apply(replay, end < replay->list->cmd_bytes ? end : U32_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_advance);

/**
 * tessera_patch_replay_count() - bound the number of binds that a part needs
 * @replay: the replay
 *
 * Return: an upper bound of the number of slots from
 * tessera_patch_replay_bind().
 */
u32 tessera_patch_replay_count(const struct tessera_patch_replay *replay)
{
	return replay->table->num_live;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_count);

/**
 * tessera_patch_replay_bind() - get the next slot to bind before the part after
 * the cut
 * @replay: the replay
 * @live_pos: iterator, 0 to begin with
 *
 * Yields each slot that holds an allocation, is not set again at the cut
 * itself, and was bound by a command before the cut. The last such packet is
 * the one at the element's patch offset.
 *
 * Return: index of the patch list element, or TESSERA_SLOT_NONE at the end.
 */
u32 tessera_patch_replay_bind(const struct tessera_patch_replay *replay,
			      u32 *live_pos)
{
	while (*live_pos < replay->table->num_live) {
		u32 slot = replay->table->live[(*live_pos)++];
		const struct tessera_slot_row *row = &replay->table->rows[slot];

		if (row->split_offset == replay->cut || row->bind == TESSERA_SLOT_NONE)
			continue;
		if (replay->list->patches[row->bind].split_offset == row->split_offset)
			return row->bind;
	}

	return TESSERA_SLOT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_bind);

/**
 * tessera_patch_write() - write base and limit of a BIND_SLOT packet
 * @cmds: the command buffer
 * @patch_offset: byte offset of the base field, already checked
 * @base: GPU address of the start of the slot
 * @limit: size of the slot in bytes
 */
void tessera_patch_write(void *cmds, u32 patch_offset, u64 base, u64 limit)
{
	__le64 *field = cmds + patch_offset;

	field[0] = cpu_to_le64(base);
	field[1] = cpu_to_le64(limit);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_write);
