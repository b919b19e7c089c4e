/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_PATCH_H__
#define __TESSERA_PURE_PATCH_H__

#include "pure.h"
#include "slot.h"

#include "tessera/tessera_hw.h"

/** TESSERA_PATCH_NOWHERE: the error has no byte offset, or no list element */
#define TESSERA_PATCH_NOWHERE		U32_MAX

/** TESSERA_PATCH_ALLOC_NULL: the list element is NULL */
#define TESSERA_PATCH_ALLOC_NULL	BIT(0)
/** TESSERA_PATCH_ALLOC_WRITE: some command writes the allocation */
#define TESSERA_PATCH_ALLOC_WRITE	BIT(1)

/**
 * TESSERA_PATCH_STEPS: elements or packets between calls of
 * &tessera_patch_list.check
 */
#define TESSERA_PATCH_STEPS		4096

/**
 * struct tessera_patch - element of the patch-location list
 *
 * Has the layout of &struct drm_tessera_submit_patch, so that the user's list
 * is copied directly into an array of these.
 */
struct tessera_patch {
	/** @alloc_index: index in the allocation list */
	u32 alloc_index;
	/** @slot_id: binding slot */
	u32 slot_id;
	/** @driver_id: not interpreted */
	u32 driver_id;
	/**
	 * @patch_offset: byte offset of the base field; 0 for a NULL element
	 */
	u32 patch_offset;
	/** @split_offset: byte offset from which on the allocation is needed */
	u32 split_offset;
	/** @pad: zero */
	u32 pad;
	/**
	 * @alloc_offset: byte offset in the allocation at which the slot starts
	 */
	u64 alloc_offset;
};

/**
 * struct tessera_patch_alloc - element of the allocation list
 */
struct tessera_patch_alloc {
	/** @size: bytes; 0 for a NULL element */
	u64 size;
	/** @flags: TESSERA_PATCH_ALLOC_* */
	u32 flags;
};

/**
 * struct tessera_patch_list - a patch list with everything that it refers to
 */
struct tessera_patch_list {
	/** @patches: elements, in the order in which the stream uses them */
	const struct tessera_patch *patches;
	/** @num_patches: number of @patches */
	u32 num_patches;
	/** @num_allocs: number of @allocs */
	u32 num_allocs;
	/** @allocs: the allocation list */
	const struct tessera_patch_alloc *allocs;
	/** @cmd_bytes: length of the command buffer */
	u32 cmd_bytes;
	/** @num_slots: limit of slot ids (exclusive) */
	u32 num_slots;
	/**
	 * @check: called from time to time during a walk, may be NULL; a
	 * nonzero return value ends the walk with that error
	 */
	int (*check)(void *ctx);
	/** @check_ctx: argument for @check */
	void *check_ctx;
};

/**
 * struct tessera_patch_error - the place for which a submission is refused
 */
struct tessera_patch_error {
	/** @offset: byte offset in the commands, or TESSERA_PATCH_NOWHERE */
	u32 offset;
	/** @index: element of the patch list, or TESSERA_PATCH_NOWHERE */
	u32 index;
};

/**
 * tessera_patch_refuse() - record the place of an error
 * @err: the record to fill
 * @offset: as in &tessera_patch_error
 * @index: as in &tessera_patch_error
 *
 * Return: -EINVAL.
 */
static inline int tessera_patch_refuse(struct tessera_patch_error *err, u32 offset, u32 index)
{
	err->offset = offset;
	err->index = index;

	return -EINVAL;
}

/**
 * tessera_patch_is_null() - test whether an element unbinds its slot
 * @list: a checked list
 * @patch: element of it
 *
 * Return: true if the element names a NULL allocation.
 */
static inline bool tessera_patch_is_null(const struct tessera_patch_list *list,
					 const struct tessera_patch *patch)
{
	return list->allocs[patch->alloc_index].flags & TESSERA_PATCH_ALLOC_NULL;
}

/**
 * tessera_patch_pause() - call &tessera_patch_list.check every
 * TESSERA_PATCH_STEPS steps
 * @list: the list
 * @step: elements or packets so far
 *
 * Return: 0, or the return value of &tessera_patch_list.check.
 */
static inline int tessera_patch_pause(const struct tessera_patch_list *list, u32 step)
{
	if (!step || step % TESSERA_PATCH_STEPS || !list->check)
		return 0;

	return list->check(list->check_ctx);
}

/**
 * struct tessera_patch_replay - contents of the device's slots at successive
 * cuts
 *
 * The replay tracks which slots the stream before the cut has bound. The kernel
 * binds them again before the part after the cut.
 */
struct tessera_patch_replay {
	/** @list: a checked list */
	const struct tessera_patch_list *list;
	/** @order: its non-NULL elements in order of @patch_offset */
	const u32 *order;
	/** @table: the resource table */
	struct tessera_slot_table *table;
	/** @num_order: number of @order */
	u32 num_order;
	/** @order_pos: first element of @order not executed before the cut */
	u32 order_pos;
	/** @patch_pos: first patch not applied to @table */
	u32 patch_pos;
	/** @cut: byte offset of the current cut */
	u32 cut;
	/**
	 * @applied: called for each element after it has updated @table; may be
	 * NULL
	 */
	void (*applied)(const struct tessera_patch_replay *replay, u32 index);
};

int tessera_patch_check(const struct tessera_patch_list *list,
			struct tessera_slot_table *table,
			struct tessera_patch_error *err);
int tessera_patch_check_leaks(const struct tessera_patch_list *list,
			      struct tessera_slot_table *table,
			      struct tessera_patch_error *err);
void tessera_patch_replay_init(struct tessera_patch_replay *replay,
			       const struct tessera_patch_list *list,
			       const u32 *order, u32 num_order,
			       struct tessera_slot_table *table);
void tessera_patch_replay_cut(struct tessera_patch_replay *replay, u32 cut);
void tessera_patch_replay_advance(struct tessera_patch_replay *replay, u32 end);
u32 tessera_patch_replay_count(const struct tessera_patch_replay *replay);
u32 tessera_patch_replay_bind(const struct tessera_patch_replay *replay,
			      u32 *live_pos);
void tessera_patch_write(void *cmds, u32 patch_offset, u64 base, u64 limit);

#endif /* __TESSERA_PURE_PATCH_H__ */
