// SPDX-License-Identifier: MIT
/*
 * The stream checker: it checks whether a command stream with its lists works
 * with every possible set of cuts. It does not depend on the builder and reads
 * only the three arrays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define NO_OFFSET UINT32_MAX

struct lint_slot {
	uint32_t bound_at; /* offset of the last BIND_SLOT packet, NO_OFFSET: unbound */
	uint32_t access;
	uint32_t null_at; /* split offset of the last NULL entry, NO_OFFSET: none */
};

struct lint_walk {
	const struct tessera_stream *s;
	bool addresses; /* packets contain addresses: no entries, no cuts */
	struct tessera_lint *lint;
	struct lint_slot *slots;
	uint32_t *by_patch; /* indices of non-NULL entries, sorted by patch_offset */
	uint32_t num_by_patch;
	uint8_t *used; /* per entry: whether a packet matched it */
	uint32_t next_entry; /* first entry that has not taken effect */
	uint32_t offset; /* of the current packet */
	uint32_t state[TSR_STATE_COUNT];
	uint32_t state_valid;
};

static void found(struct lint_walk *w, uint32_t *counter, uint32_t offset)
{
	(*counter)++;
	w->lint->total++;
	if (offset < w->lint->first_offset)
		w->lint->first_offset = offset;
}

static bool entry_is_null(const struct lint_walk *w, uint32_t index)
{
	const struct drm_tessera_submit_patch *p = &w->s->patches[index];

	return p->alloc_index >= w->s->num_allocs || !w->s->allocs[p->alloc_index].handle;
}

static int compare_patch(const void *a, const void *b, void *patches)
{
	const struct drm_tessera_submit_patch *p = patches;
	uint32_t x = p[*(const uint32_t *)a].patch_offset;
	uint32_t y = p[*(const uint32_t *)b].patch_offset;

	return x < y ? -1 : x > y;
}

/* ---- One packet ---------------------------------------------------------- */

/* Check the entry that covers the packet. */
static void check_bind_entry(struct lint_walk *w, const uint32_t *packet)
{
	uint32_t patch_offset = w->offset + TSR_BIND_PATCH_OFFSET;
	uint32_t slot = packet[1], lo = 0, hi = w->num_by_patch, matches = 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (w->s->patches[w->by_patch[mid]].patch_offset < patch_offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < w->num_by_patch; lo++) {
		uint32_t index = w->by_patch[lo];
		const struct drm_tessera_submit_patch *p = &w->s->patches[index];

		if (p->patch_offset != patch_offset)
			break;
		w->used[index] = 1;
		if (p->slot_id != slot)
			continue;
		matches++;
		if (p->split_offset > w->offset)
			found(w, &w->lint->misplaced, w->offset);
		if ((packet[6] & TSR_SURF_WRITE) &&
		    !(w->s->allocs[p->alloc_index].flags & DRM_TESSERA_ALLOC_WRITE))
			found(w, &w->lint->missing_write, w->offset);
	}
	if (matches != 1)
		found(w, &w->lint->bind_without_entry, w->offset);
}

static void check_bind(struct lint_walk *w, const uint32_t *packet)
{
	uint32_t slot = packet[1];
	uint64_t limit = packet[4] | (uint64_t)packet[5] << 32;

	if (slot >= w->s->max_slots || (w->addresses && !limit)) {
		found(w, &w->lint->malformed, w->offset);
		return;
	}
	if (!w->addresses)
		check_bind_entry(w, packet);
	w->slots[slot].bound_at = w->offset;
	w->slots[slot].access = packet[6] & (TSR_SURF_READ | TSR_SURF_WRITE);
}

static void check_unbind(struct lint_walk *w, const uint32_t *packet)
{
	uint32_t slot = packet[1];
	struct lint_slot *s;

	if (slot >= w->s->max_slots) {
		found(w, &w->lint->malformed, w->offset);
		return;
	}
	s = &w->slots[slot];
	if (!w->addresses &&
	    (s->null_at == NO_OFFSET || (s->bound_at != NO_OFFSET && s->null_at <= s->bound_at)))
		found(w, &w->lint->unbind_without_entry, w->offset);
	s->null_at = NO_OFFSET;
	s->bound_at = NO_OFFSET;
}

static void check_use(struct lint_walk *w, uint32_t slot, bool write)
{
	if (slot >= w->s->max_slots || w->slots[slot].bound_at == NO_OFFSET)
		found(w, &w->lint->unbound_use, w->offset);
	else if (write && !(w->slots[slot].access & TSR_SURF_WRITE))
		found(w, &w->lint->read_only_use, w->offset);
}

static void check_draw(struct lint_walk *w, const uint32_t *packet)
{
	bool textured = packet[0] & TSR_DRAW_TEXTURED << TSR_PKT_FLAGS_SHIFT;
	uint32_t needed = (UINT32_C(1) << TSR_STATE_COUNT) - 1;

	if (!textured)
		needed &= ~(1U << TSR_STATE_TEXTURE_SLOT | 1U << TSR_STATE_SAMPLER);
	check_use(w, packet[1], false);
	if ((w->state_valid & needed) != needed) {
		found(w, &w->lint->stale_state, w->offset);
		return;
	}
	check_use(w, w->state[TSR_STATE_TARGET_SLOT], true);
	if (textured)
		check_use(w, w->state[TSR_STATE_TEXTURE_SLOT], false);
}

static bool check_state(struct lint_walk *w, const uint32_t *packet, uint32_t dwords)
{
	uint32_t first = packet[1] & 0xffff, count = packet[1] >> 16;

	if (!count || first + count > TSR_STATE_COUNT || dwords != ((2 + count + 1) & ~1U))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		w->state[first + i] = packet[2 + i];
		w->state_valid |= UINT32_C(1) << (first + i);
	}
	return true;
}

/* Check that the length matches the opcode, then check the contents. */
static bool check_packet(struct lint_walk *w, const uint32_t *packet, uint32_t dwords)
{
	switch (packet[0] & TSR_PKT_OPCODE_MASK) {
	case TSR_OP_NOP:
		return true;
	case TSR_OP_BIND_SLOT:
		if (dwords != TSR_BIND_SLOT_DWORDS)
			return false;
		check_bind(w, packet);
		return true;
	case TSR_OP_UNBIND_SLOT:
		if (dwords != TSR_UNBIND_SLOT_DWORDS)
			return false;
		check_unbind(w, packet);
		return true;
	case TSR_OP_SET_STATE:
		return check_state(w, packet, dwords);
	case TSR_OP_FILL:
		if (dwords != TSR_FILL_DWORDS)
			return false;
		check_use(w, packet[1], true);
		return true;
	case TSR_OP_COPY:
	case TSR_OP_BLIT:
		if (dwords != TSR_COPY_DWORDS)
			return false;
		check_use(w, packet[1], true);
		check_use(w, packet[2], false);
		return true;
	case TSR_OP_DRAW:
		if (dwords != TSR_DRAW_DWORDS)
			return false;
		check_draw(w, packet);
		return true;
	case TSR_OP_QUERY_TIMESTAMP:
		if (dwords != TSR_QUERY_TIMESTAMP_DWORDS)
			return false;
		check_use(w, packet[1], true);
		return true;
	case TSR_OP_FENCE_WAIT:
	case TSR_OP_FENCE_SIGNAL:
		/* Fences have addresses, and no place in an allocation list. */
		return w->addresses && dwords == TSR_FENCE_WAIT_DWORDS;
	default:
		return false;
	}
}

/* ---- The walk ------------------------------------------------------------ */

/* Apply the entries up to the current packet. */
static void apply_entries(struct lint_walk *w)
{
	for (; w->next_entry < w->s->num_patches; w->next_entry++) {
		const struct drm_tessera_submit_patch *p = &w->s->patches[w->next_entry];

		if (p->split_offset > w->offset)
			break;
		/*
		 * The kernel may cut here. A split point must be the start of a
		 * packet.
		 */
		w->state_valid = 0;
		if (p->split_offset < w->offset)
			found(w, &w->lint->misplaced, p->split_offset);
		if (p->slot_id < w->s->max_slots && entry_is_null(w, w->next_entry))
			w->slots[p->slot_id].null_at = p->split_offset;
	}
}

static void walk_packets(struct lint_walk *w)
{
	const struct tessera_stream *s = w->s;

	for (w->offset = 0; w->offset < s->cmd_bytes;) {
		const uint32_t *packet = s->cmds + w->offset / 4;
		uint32_t dwords = (packet[0] & TSR_PKT_LENGTH_MASK) >> TSR_PKT_LENGTH_SHIFT;

		if (dwords < 2 || dwords % 2 || dwords > TSR_PKT_MAX_DWORDS ||
		    dwords > (s->cmd_bytes - w->offset) / 4) {
			found(w, &w->lint->malformed, w->offset);
			return;
		}
		apply_entries(w);
		if (!check_packet(w, packet, dwords)) {
			found(w, &w->lint->malformed, w->offset);
			return;
		}
		w->offset += dwords * 4;
	}
	apply_entries(w);
	for (; w->next_entry < s->num_patches; w->next_entry++)
		found(w, &w->lint->misplaced, s->patches[w->next_entry].split_offset);
}

/*
 * Check the order of the list, find entries without a packet, and find patches
 * that a later entry of the same slot makes stale before their packet. The list
 * is walked backwards. Each slot keeps the split offset of the next entry that
 * reprograms it.
 */
static void check_entries(struct lint_walk *w)
{
	const struct tessera_stream *s = w->s;

	for (uint32_t i = 0; i < s->max_slots; i++)
		w->slots[i].bound_at = NO_OFFSET;
	for (uint32_t i = s->num_patches; i-- > 0;) {
		const struct drm_tessera_submit_patch *p = &s->patches[i];
		struct lint_slot *slot = p->slot_id < s->max_slots ? &w->slots[p->slot_id] : NULL;

		if (i && p->split_offset < s->patches[i - 1].split_offset)
			found(w, &w->lint->unordered, p->split_offset);
		if (!slot) {
			found(w, &w->lint->malformed, p->split_offset);
			continue;
		}
		if (!entry_is_null(w, i)) {
			if (!w->used[i])
				found(w, &w->lint->entry_without_packet, p->split_offset);
			if (slot->bound_at != NO_OFFSET && slot->bound_at > p->split_offset &&
			    p->patch_offset + TSR_BIND_PATCH_BYTES > slot->bound_at)
				found(w, &w->lint->misplaced, p->split_offset);
		}
		slot->bound_at = p->split_offset;
	}
}

static int walk_init(struct lint_walk *w)
{
	const struct tessera_stream *s = w->s;

	w->slots = calloc(s->max_slots ? s->max_slots : 1, sizeof(*w->slots));
	w->by_patch = calloc(s->num_patches + 1, sizeof(*w->by_patch));
	w->used = calloc(s->num_patches + 1, sizeof(*w->used));
	if (!w->slots || !w->by_patch || !w->used)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->max_slots; i++)
		w->slots[i] = (struct lint_slot){ .bound_at = NO_OFFSET, .null_at = NO_OFFSET };
	for (uint32_t i = 0; i < s->num_patches; i++) {
		if (!entry_is_null(w, i))
			w->by_patch[w->num_by_patch++] = i;
	}
	qsort_r(w->by_patch, w->num_by_patch, sizeof(*w->by_patch), compare_patch,
		(void *)s->patches);
	return 0;
}

int tessera_stream_lint(const struct tessera_stream *stream, struct tessera_lint *lint)
{
	struct lint_walk w = {
		.s = stream,
		.lint = lint,
		.addresses = stream->flags & TESSERA_STREAM_ADDRESSES,
	};
	int ret;

	memset(lint, 0, sizeof(*lint));
	lint->first_offset = NO_OFFSET;
	if ((stream->flags & ~TESSERA_STREAM_ADDRESSES) || stream->reserved32 ||
	    tessera_reserved_check(stream->reserved, ARRAY_SIZE(stream->reserved)))
		return -EINVAL;
	ret = walk_init(&w);
	if (!ret) {
		walk_packets(&w);
		check_entries(&w);
		ret = lint->total;
	}
	free(w.slots);
	free(w.by_patch);
	free(w.used);
	return ret;
}
