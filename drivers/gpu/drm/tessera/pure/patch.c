// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: patch list
 *
 * Checks of a patch-location list against the rules of the uAPI, and what is done
 * with a checked one: writing addresses into the commands, and finding out which
 * slots a part must be given before it runs. Each function walks the list once or
 * twice and allocates nothing. Called by the submission path with copies that
 * user space cannot reach; the caller serialises use of the slot table.
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
 * A patch must end before the next split point that sets its slot again, or the
 * address could be used after it has become stale (SPLIT-33). Backwards, so that the
 * row of a slot tells where that is.
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
		/* Both are known good, so that this sets the row and nothing else. */
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
 * tessera_patch_check() - check a patch list against all rules that need no commands
 * @list: the list
 * @table: a slot table of @list->num_slots rows, used as scratch
 * @err: what is wrong, written on failure
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
 * @err: what is wrong, written on failure
 *
 * The leak check of SCHED-6: at each split point inside the buffer every
 * slot that holds an allocation must be bound again or unbound, since a cut may
 * be made there.
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
 * tessera_patch_replay_init() - start at the beginning of the buffer
 * @replay: the replay
 * @list: a list that tessera_patch_check() accepted
 * @order: what tessera_validate() wrote
 * @num_order: its length
 * @table: a slot table of @list->num_slots rows, owned by the replay while in use
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
 * tessera_patch_replay_cut() - go on to a cut
 * @replay: the replay
 * @cut: byte offset of a split point, not lower than that of the call before
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
	/* The split point's own elements: their slots are bound by the stream. */
	if (cut < replay->list->cmd_bytes)
		replay_apply(replay, cut + 1);
	replay->cut = cut;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_cut);

/**
 * tessera_patch_replay_advance() - apply the elements of the part behind the cut
 * @replay: the replay
 * @end: where the part ends
 *
 * What the part is to be given can no longer be asked for then.
 */
void tessera_patch_replay_advance(struct tessera_patch_replay *replay, u32 end)
{
	/* An unbind behind the last command belongs to the last part. */
	replay_apply(replay, end < replay->list->cmd_bytes ? end : U32_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_advance);

/**
 * tessera_patch_replay_count() - most binds the part behind the cut can need
 * @replay: the replay
 *
 * Return: an upper bound of what tessera_patch_replay_bind() yields.
 */
u32 tessera_patch_replay_count(const struct tessera_patch_replay *replay)
{
	return replay->table->num_live;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_replay_count);

/**
 * tessera_patch_replay_bind() - next slot the part behind the cut expects bound
 * @replay: the replay
 * @live_pos: iterator, 0 to begin with
 *
 * Yields the slots that hold an allocation, are not set again at the cut itself, and
 * that the commands before the cut have bound: the last such packet is the one
 * at the element's patch offset.
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
 * @patch_offset: byte offset of the base field, checked
 * @base: GPU address the slot starts at
 * @limit: bytes the slot may reach
 */
void tessera_patch_write(void *cmds, u32 patch_offset, u64 base, u64 limit)
{
	__le64 *field = cmds + patch_offset;

	field[0] = cpu_to_le64(base);
	field[1] = cpu_to_le64(limit);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_patch_write);
