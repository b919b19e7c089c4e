// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: output of a split plan
 *
 * Writes the operations of a plan, and keeps its counts. Part of the split planner.
 */
#include "split_priv.h"

/**
 * split_discard() - drop what there is of a plan
 * @plan: plan
 * @n_op: operations to keep, which belong to another plan
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
 * split_drop_to_mark() - drop what follows the plan's last part
 * @s: planner; the plan has a part
 */
void split_drop_to_mark(struct split *s)
{
	struct tessera_split_plan *plan = s->plan;
	const struct tessera_split_plan *mark = &s->mark;

	plan->n_op = mark->n_op;
	plan->n_page_ins = mark->n_page_ins;
	plan->n_moves = mark->n_moves;
	plan->n_evicts = mark->n_evicts;
	plan->bytes_in = mark->bytes_in;
	plan->bytes_out = mark->bytes_out;
	plan->bytes_moved = mark->bytes_moved;
}

static struct tessera_split_op *op_add(struct split *s, u8 type, u32 id)
{
	struct tessera_split_plan *p = s->plan;
	struct tessera_split_op *op;

	if (s->err)
		return NULL;
	if (p->n_op == p->cap) {
		s->err = p->grow ? p->grow(p, p->cap + 1) : -ENOMEM;
		if (!s->err && p->cap <= p->n_op)
			s->err = -ENOMEM;
		if (s->err)
			return NULL;
	}
	op = &p->op[p->n_op++];
	memset(op, 0, sizeof(*op));
	op->type = type;
	op->id = id;
	return op;
}

/* Bytes that move with a node: what its place has beyond them is padding. */
static u64 node_bytes(const struct split *s, u32 id)
{
	return split_is_foreign(s, id) ? s->sp.node[id].size : s->al[id].size;
}

/* Bytes that cross the bus for a transfer in or out of @seg. */
static u64 bytes_in_seg(const struct split *s, u32 seg, u64 size)
{
	return s->in->segs[seg].flags & TESSERA_SPLIT_SEG_APERTURE ? 0 : size;
}

static u8 count_evict(struct split *s, const struct split_log *l, bool foreign)
{
	bool clean = foreign ?
		split_block(s, l->id)->flags & TESSERA_SPLIT_BLOCK_CLEAN :
		l->clean;

	s->plan->n_evicts++;
	if (clean)
		return TESSERA_SPLIT_OP_CLEAN;
	s->plan->bytes_out += bytes_in_seg(s, l->seg, node_bytes(s, l->id));
	return 0;
}

static void emit_log_entry(struct split *s, const struct split_log *l)
{
	bool foreign = split_is_foreign(s, l->id);
	u64 size = node_bytes(s, l->id);
	struct tessera_split_op *op;
	u8 type = l->type, flags = 0;
	u32 id = l->id;

	if (type == TESSERA_SPLIT_EVICT) {
		flags = count_evict(s, l, foreign);
		if (foreign) {
			type = TESSERA_SPLIT_EVICT_FOREIGN;
			id -= s->in->n_allocs;
		}
	} else if (type == TESSERA_SPLIT_MOVE) {
		s->plan->n_moves++;
		s->plan->bytes_moved += max(bytes_in_seg(s, l->seg, size),
					    bytes_in_seg(s, l->src_seg, size));
	} else {
		s->plan->n_page_ins++;
		s->plan->bytes_in += bytes_in_seg(s, l->seg, size);
	}
	op = op_add(s, type, id);
	if (!op)
		return;
	op->flags = flags;
	op->seg = l->seg;
	op->off = l->off;
	op->src_seg = l->src_seg;
	op->src = l->src;
}

/* A window that has a part does not begin one that it has no operations for. */
static bool is_too_long(const struct split *s)
{
	const struct tessera_split_plan *plan = s->plan;

	return s->limits && plan->n_parts &&
	       plan->n_evicts + plan->n_moves + plan->n_page_ins > s->limits->max_ops;
}

/**
 * split_emit_log() - output the state changes of the current group
 * @s: planner; its log becomes empty
 *
 * Return: 0, an error, or SPLIT_WINDOW_ENDS: then the plan ends with its last part.
 */
int split_emit_log(struct split *s)
{
	u32 i;

	for (i = 0; i < s->n_log; i++)
		emit_log_entry(s, &s->log[i]);
	split_tick(s, s->n_log);
	s->n_log = 0;
	if (s->err)
		return s->err;
	return is_too_long(s) ? SPLIT_WINDOW_ENDS : 0;
}

/**
 * split_emit_part() - end the pending part
 * @s: planner
 * @end: byte behind it
 * @entry: entry behind it
 * @flags: TESSERA_SPLIT_OP_*
 */
void split_emit_part(struct split *s, u32 end, u32 entry, u8 flags)
{
	struct tessera_split_op *op;

	op = op_add(s, TESSERA_SPLIT_PART, s->cur->part + s->plan->n_parts);
	s->plan->n_parts++;
	if (op) {
		op->flags = flags;
		op->start = s->start;
		op->end = end;
		op->first = s->first;
		op->count = entry - s->first;
	}
	s->start = end;
	s->first = entry;
	s->mark = *s->plan;
}

/**
 * split_emit_pin() - say that an allocation keeps its place over the cut
 * @s: planner
 * @id: allocation
 */
void split_emit_pin(struct split *s, u32 id)
{
	const struct tessera_space_node *n = &s->sp.node[id];
	struct tessera_split_op *op;

	if (s->in->flags & TESSERA_SPLIT_NO_PINS)
		return;
	op = op_add(s, TESSERA_SPLIT_PIN, id);
	if (op) {
		op->seg = n->seg;
		op->off = n->start;
	}
}
