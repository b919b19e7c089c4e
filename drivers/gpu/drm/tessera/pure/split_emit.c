// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: output of a split plan
 *
 * Writes the operations of a plan and maintains its counts. Part of the split
 * planner.
 */
#include "split_priv.h"

/**
 * split_discard() - drop the contents of a plan
 * @plan: plan
 * @n_op: number of operations to keep, which belong to another plan
 */
void split_discard(struct tessera_split_plan *plan, u32 n_op)
{
	plan->n_op = n_op;
	plan->n_parts = 0;
	plan->n_page_ins = 0;
	plan->n_moves = 0;
	plan->n_evicts = 0;
	plan->bytes_in = 0;
	plan->bytes_out = 0;
	plan->bytes_moved = 0;
}

/**
 * split_drop_to_mark() - drop the operations after the plan's last part
 * @split: planner; the plan has a part
 */
void split_drop_to_mark(struct split *split)
{
	struct tessera_split_plan *plan = split->plan;

	/* The array may have been reallocated since. */
	split->mark.op = plan->op;
	split->mark.cap = plan->cap;
	*plan = split->mark;
}

static noinline int grow_ops(struct split *split)
{
	struct tessera_split_plan *plan = split->plan;

	split->err = plan->grow ? plan->grow(plan, plan->cap + 1) : -ENOMEM;
	if (!split->err && plan->cap <= plan->n_op)
		split->err = -ENOMEM;
	return split->err;
}

static inline struct tessera_split_op *op_add(struct split *split, u8 type, u32 id)
{
	struct tessera_split_plan *plan = split->plan;
	struct tessera_split_op *op;

	if (split->err || (plan->n_op == plan->cap && grow_ops(split)))
		return NULL;
	op = &plan->op[plan->n_op++];
	*op = (struct tessera_split_op) { .type = type, .id = id };
	return op;
}

/* Bytes copied with a node, without the padding of its place. */
static u64 node_bytes(const struct split *split, u32 id)
{
	return split_is_foreign(split, id) ? split->map.node[id].size : split->al[id].size;
}

/* Bytes that cross the bus for a transfer in or out of @seg. */
static u64 bytes_in_seg(const struct split *split, u32 seg, u64 size)
{
	return split->in->segs[seg].flags & TESSERA_SPLIT_SEG_APERTURE ? 0 : size;
}

static u8 count_evict(struct split *split, const struct split_log *log, bool foreign)
{
	bool clean = foreign ?
		split_block(split, log->id)->flags & TESSERA_SPLIT_BLOCK_CLEAN :
		log->clean;

	split->plan->n_evicts++;
	if (clean)
		return TESSERA_SPLIT_OP_CLEAN;
	split->plan->bytes_out += bytes_in_seg(split, log->seg, node_bytes(split, log->id));
	return 0;
}

static void emit_log_entry(struct split *split, const struct split_log *log)
{
	bool foreign = split_is_foreign(split, log->id);
	u64 size = node_bytes(split, log->id);
	struct tessera_split_op *op;
	u8 type = log->type, flags = 0;
	u32 id = log->id;

	if (type == TESSERA_SPLIT_EVICT) {
		flags = count_evict(split, log, foreign);
		if (foreign) {
			type = TESSERA_SPLIT_EVICT_FOREIGN;
			id -= split->in->n_allocs;
		}
	} else if (type == TESSERA_SPLIT_MOVE) {
		split->plan->n_moves++;
		split->plan->bytes_moved += max(bytes_in_seg(split, log->seg, size),
					    bytes_in_seg(split, log->src_seg, size));
	} else {
		split->plan->n_page_ins++;
		split->plan->bytes_in += bytes_in_seg(split, log->seg, size);
	}
	op = op_add(split, type, id);
	if (!op)
		return;
	op->flags = flags;
	op->seg = log->seg;
	op->off = log->off;
	op->src_seg = log->src_seg;
	op->src = log->src;
}

/*
 * A batch that has a part does not begin another one that would exceed its
 * operations.
 */
static bool is_too_long(const struct split *split)
{
	const struct tessera_split_plan *plan = split->plan;

	return plan->n_parts &&
	       plan->n_evicts + plan->n_moves + plan->n_page_ins > split->limits->max_ops;
}

/**
 * split_emit_log() - output the state changes of the current group
 * @split: planner; its log becomes empty
 *
 * Return: 0, an error, or SPLIT_BATCH_ENDS: the plan ends with its last part.
 */
int split_emit_log(struct split *split)
{
	u32 i;

	for (i = 0; i < split->n_log; i++)
		emit_log_entry(split, &split->log[i]);
	split_tick(split, split->n_log);
	split->n_log = 0;
	if (split->err)
		return split->err;
	return is_too_long(split) ? SPLIT_BATCH_ENDS : 0;
}

/**
 * split_emit_part() - end the pending part
 * @split: planner
 * @end: first byte after the part
 * @entry: first entry after the part
 * @flags: TESSERA_SPLIT_OP_*
 */
void split_emit_part(struct split *split, u32 end, u32 entry, u8 flags)
{
	struct tessera_split_op *op;

	op = op_add(split, TESSERA_SPLIT_PART, split->cur->part + split->plan->n_parts);
	split->plan->n_parts++;
	if (op) {
		op->flags = flags;
		op->start = split->start;
		op->end = end;
		op->first = split->first;
		op->count = entry - split->first;
	}
	split->start = end;
	split->first = entry;
	split->mark = *split->plan;
}

/**
 * split_emit_pin() - output that an allocation keeps its place over the cut
 * @split: planner
 * @id: allocation
 */
void split_emit_pin(struct split *split, u32 id)
{
	const struct tessera_plan_map_node *n = &split->map.node[id];
	struct tessera_split_op *op;

	if (split->in->flags & TESSERA_SPLIT_NO_PINS)
		return;
	op = op_add(split, TESSERA_SPLIT_PIN, id);
	if (op) {
		op->seg = n->seg;
		op->off = n->start;
	}
}
