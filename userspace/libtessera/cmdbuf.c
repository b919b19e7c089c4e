// SPDX-License-Identifier: MIT
/*
 * The command buffer builder. It records packets, the allocation list and the
 * patch-location list. For a context with a VM, packets contain addresses
 * instead: there is no patch list, nothing is cut, and the allocation list only
 * holds references.
 *
 * Bindings are lazy. The caller's bind and unbind only change slots[].wanted.
 * The next packet that does work first records all changed slots as one split
 * point, together with every other live slot of at least the rebind size. A
 * draw then also records the engine state that the split point made undefined.
 * Space for all of this is reserved before the first word is written, so that a
 * failure leaves nothing half recorded.
 */
#include <errno.h>
#include <string.h>

#include "vm.h"

/* Packets that a flush of the pending bindings will record. */
struct flush_plan {
	uint32_t binds; /* changed slots */
	uint32_t unbinds;
	uint32_t rebinds; /* unchanged slots */
	uint32_t allocs; /* upper limit of new elements of the allocation list */
};

static const uint32_t state_default[TSR_STATE_COUNT] = {
	[TSR_STATE_SCISSOR_MAX] = TSR_SURF_MAX_DIM | TSR_SURF_MAX_DIM << 16,
	[TSR_STATE_COLOR] = 0xffffffff,
};

#define STATE_ALL ((UINT32_C(1) << TSR_STATE_COUNT) - 1)

static int cb_fail(struct tessera_cmdbuf *cb, int error)
{
	if (!cb->error)
		cb->error = error;
	return error;
}

/* ---- Allocation list ----------------------------------------------------- */

static size_t hash_slot(const struct tessera_cmdbuf *cb, uint32_t handle)
{
	size_t mask = cb->hash_size - 1;
	size_t i = (handle * UINT32_C(2654435761)) & mask;

	while (cb->hash[i] && cb->allocs[cb->hash[i] - 1].handle != handle)
		i = (i + 1) & mask;
	return i;
}

static int hash_reserve(struct tessera_cmdbuf *cb, size_t allocs)
{
	size_t size = cb->hash_size ? cb->hash_size : 64;
	uint32_t *table;

	while (size < 2 * allocs)
		size *= 2;
	if (size == cb->hash_size)
		return 0;
	table = tessera_alloc(cb->dev, size * sizeof(*table));
	if (!table)
		return -ENOMEM;
	tessera_free(cb->dev, cb->hash);
	cb->hash = table;
	cb->hash_size = size;
	for (size_t i = 0; i < cb->num_allocs; i++) {
		if (cb->bos[i])
			cb->hash[hash_slot(cb, cb->allocs[i].handle)] = i + 1;
	}
	return 0;
}

static uint32_t alloc_space(const struct tessera_cmdbuf *cb)
{
	return cb->dev->info.max_allocs - cb->num_allocs;
}

static bool alloc_is_listed(const struct tessera_cmdbuf *cb, const struct tessera_bo *bo)
{
	return cb->hash_size && cb->hash[hash_slot(cb, bo->handle)];
}

/* Index of @bo in the allocation list, which must have space. */
static uint32_t alloc_index(struct tessera_cmdbuf *cb, struct tessera_bo *bo, bool write)
{
	size_t bucket = hash_slot(cb, bo->handle);
	uint32_t index;

	if (!cb->hash[bucket]) {
		cb->allocs[cb->num_allocs] = (struct drm_tessera_submit_alloc){
			.handle = bo->handle,
		};
		cb->bos[cb->num_allocs] = tessera_bo_ref(bo);
		cb->hash[bucket] = ++cb->num_allocs;
	}
	index = cb->hash[bucket] - 1;
	if (write)
		cb->allocs[index].flags |= DRM_TESSERA_ALLOC_WRITE;
	return index;
}

static uint32_t alloc_null(struct tessera_cmdbuf *cb)
{
	if (!cb->null_alloc) {
		cb->allocs[cb->num_allocs] = (struct drm_tessera_submit_alloc){ 0 };
		cb->bos[cb->num_allocs] = NULL;
		cb->null_alloc = ++cb->num_allocs;
	}
	return cb->null_alloc - 1;
}

/* ---- Space and words ----------------------------------------------------- */

static int cb_reserve(struct tessera_cmdbuf *cb, size_t dwords, size_t patches, size_t allocs)
{
	const struct drm_tessera_query_device *info = &cb->dev->info;
	size_t need_cmds = cb->num_cmds + dwords;
	size_t need_patches = cb->num_patches + patches;
	size_t need_allocs = cb->num_allocs + allocs;
	int ret;

	if (need_cmds > info->max_cmd_bytes / sizeof(uint32_t) ||
	    need_patches > info->max_patches || need_allocs > info->max_allocs)
		return -E2BIG;
	ret = tessera_grow(cb->dev, (void **)&cb->cmds, &cb->cap_cmds, need_cmds,
			   sizeof(*cb->cmds));
	if (ret)
		return ret;
	ret = tessera_grow(cb->dev, (void **)&cb->patches, &cb->cap_patches, need_patches,
			   sizeof(*cb->patches));
	if (ret)
		return ret;
	ret = tessera_grow(cb->dev, (void **)&cb->allocs, &cb->cap_allocs, need_allocs,
			   sizeof(*cb->allocs));
	if (ret)
		return ret;
	ret = tessera_grow(cb->dev, (void **)&cb->bos, &cb->cap_bos, need_allocs, sizeof(*cb->bos));
	if (ret)
		return ret;
	return hash_reserve(cb, need_allocs);
}

static void cb_emit(struct tessera_cmdbuf *cb, const uint32_t *words, size_t count)
{
	memcpy(cb->cmds + cb->num_cmds, words, count * sizeof(*words));
	cb->num_cmds += count;
}

static uint32_t cb_offset(const struct tessera_cmdbuf *cb)
{
	return cb->num_cmds * sizeof(uint32_t);
}

/* ---- Bindings ------------------------------------------------------------ */

static void emit_bind(struct tessera_cmdbuf *cb, uint32_t slot, uint32_t split_offset)
{
	const struct tessera_slot *s = &cb->slots[slot];
	const struct tessera_view *view = &s->view;
	uint32_t alloc = alloc_index(cb, s->wanted, view->access & TSR_SURF_WRITE);
	/* Without a VM the kernel writes base and limit. */
	uint64_t base = cb->vm ? s->address + view->offset : 0;
	uint64_t limit = cb->vm ? s->wanted->size - view->offset : 0;
	const uint32_t packet[TSR_BIND_SLOT_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS),
		slot,
		(uint32_t)base,
		(uint32_t)(base >> 32),
		(uint32_t)limit,
		(uint32_t)(limit >> 32),
		view->format << TSR_SURF_FORMAT_SHIFT | view->layout << TSR_SURF_LAYOUT_SHIFT |
			view->access,
		view->pitch,
		view->width | view->height << 16,
	};

	if (!cb->vm)
		cb->patches[cb->num_patches++] = (struct drm_tessera_submit_patch){
			.alloc_index = alloc,
			.slot_id = slot,
			.driver_id = cb->serial++,
			.patch_offset = cb_offset(cb) + TSR_BIND_PATCH_OFFSET,
			.split_offset = split_offset,
			.alloc_offset = view->offset,
		};
	cb_emit(cb, packet, TSR_BIND_SLOT_DWORDS);
}

static void emit_unbind(struct tessera_cmdbuf *cb, uint32_t slot, uint32_t split_offset)
{
	const uint32_t packet[TSR_UNBIND_SLOT_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_UNBIND_SLOT, 0, TSR_UNBIND_SLOT_DWORDS),
		slot,
	};

	if (!cb->vm)
		cb->patches[cb->num_patches++] = (struct drm_tessera_submit_patch){
			.alloc_index = alloc_null(cb),
			.slot_id = slot,
			.driver_id = cb->serial++,
			.split_offset = split_offset,
		};
	cb_emit(cb, packet, TSR_UNBIND_SLOT_DWORDS);
}

static bool slot_is_rebound(const struct tessera_cmdbuf *cb, const struct tessera_slot *s)
{
	return !cb->vm && !s->dirty && s->wanted->size >= cb->rebind_min;
}

/* Whether an earlier changed slot has the same object. */
static bool dirty_repeats(const struct tessera_cmdbuf *cb, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++) {
		if (cb->slots[cb->dirty[j]].wanted == cb->slots[cb->dirty[i]].wanted)
			return true;
	}
	return false;
}

/*
 * Count the new objects, each once. This is slow and only used if the list is
 * almost full.
 */
static uint32_t count_new_allocs(const struct tessera_cmdbuf *cb)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < cb->num_dirty; i++) {
		const struct tessera_slot *s = &cb->slots[cb->dirty[i]];

		count += s->wanted && !alloc_is_listed(cb, s->wanted) && !dirty_repeats(cb, i);
	}
	return count;
}

static struct flush_plan flush_plan(const struct tessera_cmdbuf *cb)
{
	struct flush_plan plan = { 0 };

	for (uint32_t i = 0; i < cb->num_dirty; i++) {
		const struct tessera_slot *s = &cb->slots[cb->dirty[i]];

		plan.binds += !!s->wanted;
		plan.unbinds += !s->wanted && s->bound;
		plan.allocs += s->wanted && !alloc_is_listed(cb, s->wanted);
	}
	if (plan.allocs > alloc_space(cb))
		plan.allocs = count_new_allocs(cb);
	plan.allocs += !cb->vm && plan.unbinds && !cb->null_alloc;
	if (!plan.binds)
		return plan; /* nothing is placed at this split point, so nothing has to move */
	for (uint32_t i = 0; i < cb->num_live; i++)
		plan.rebinds += slot_is_rebound(cb, &cb->slots[cb->live[i]]);
	return plan;
}

static size_t flush_dwords(const struct flush_plan *plan)
{
	return (size_t)TSR_BIND_SLOT_DWORDS * (plan->binds + plan->rebinds) +
	       (size_t)TSR_UNBIND_SLOT_DWORDS * plan->unbinds;
}

static void live_add(struct tessera_cmdbuf *cb, uint32_t slot)
{
	struct tessera_slot *s = &cb->slots[slot];

	if (s->bound)
		return;
	s->bound = true;
	s->live_index = cb->num_live;
	cb->live[cb->num_live++] = slot;
}

static void live_remove(struct tessera_cmdbuf *cb, uint32_t slot)
{
	struct tessera_slot *s = &cb->slots[slot];
	uint32_t last = cb->live[--cb->num_live];

	cb->live[s->live_index] = last;
	cb->slots[last].live_index = s->live_index;
	s->bound = false;
}

/* Record the split point of @plan. Space has been reserved. */
static void flush_emit(struct tessera_cmdbuf *cb, const struct flush_plan *plan)
{
	uint32_t split_offset = cb_offset(cb);

	/*
	 * Unbinds first, so that unbound objects do not occupy space when the
	 * kernel places the newly bound ones.
	 */
	for (uint32_t i = 0; plan->unbinds && i < cb->num_dirty; i++) {
		const struct tessera_slot *s = &cb->slots[cb->dirty[i]];

		if (!s->wanted && s->bound) {
			emit_unbind(cb, cb->dirty[i], split_offset);
			live_remove(cb, cb->dirty[i]);
		}
	}
	for (uint32_t i = 0; plan->rebinds && i < cb->num_live; i++) {
		if (slot_is_rebound(cb, &cb->slots[cb->live[i]]))
			emit_bind(cb, cb->live[i], split_offset);
	}
	for (uint32_t i = 0; i < cb->num_dirty; i++) {
		struct tessera_slot *s = &cb->slots[cb->dirty[i]];

		if (s->wanted) {
			emit_bind(cb, cb->dirty[i], split_offset);
			live_add(cb, cb->dirty[i]);
		}
		s->dirty = false;
	}
	cb->num_dirty = 0;
	if (!cb->vm && (plan->binds || plan->unbinds))
		cb->state_valid = 0; /* SPLIT-4 */
}

static void slot_dirty(struct tessera_cmdbuf *cb, uint32_t slot)
{
	if (cb->slots[slot].dirty)
		return;
	cb->slots[slot].dirty = true;
	cb->dirty[cb->num_dirty++] = slot;
}

int tessera_cmdbuf_bind(struct tessera_cmdbuf *cb, uint32_t slot, struct tessera_bo *bo,
			const struct tessera_view *view)
{
	struct tessera_slot *s;
	uint64_t address = 0;
	int ret;

	if (slot >= cb->dev->info.max_slots || tessera_view_check(view, bo->size))
		return cb_fail(cb, -EINVAL);
	if ((view->access & TSR_SURF_WRITE) && (bo->flags & DRM_TESSERA_BO_GPU_READ_ONLY))
		return cb_fail(cb, -EINVAL);
	if (bo->dev != cb->dev)
		return cb_fail(cb, -EXDEV);
	if (cb->vm) {
		ret = tessera_vm_bind(cb->vm, bo, &address);
		if (ret)
			return cb_fail(cb, ret);
	}
	s = &cb->slots[slot];
	tessera_bo_ref(bo);
	tessera_bo_del(s->wanted);
	s->wanted = bo;
	s->address = address;
	s->view = *view;
	slot_dirty(cb, slot);
	return 0;
}

int tessera_cmdbuf_unbind(struct tessera_cmdbuf *cb, uint32_t slot)
{
	struct tessera_slot *s;

	if (slot >= cb->dev->info.max_slots)
		return cb_fail(cb, -EINVAL);
	s = &cb->slots[slot];
	if (!s->wanted)
		return 0;
	tessera_bo_del(s->wanted);
	s->wanted = NULL;
	slot_dirty(cb, slot);
	return 0;
}

/* ---- State --------------------------------------------------------------- */

int tessera_cmdbuf_state(struct tessera_cmdbuf *cb, uint32_t reg, uint32_t value)
{
	if (reg >= TSR_STATE_COUNT)
		return cb_fail(cb, -EINVAL);
	cb->state_set |= UINT32_C(1) << reg;
	if (cb->state[reg] != value)
		cb->state_valid &= ~(UINT32_C(1) << reg);
	cb->state[reg] = value;
	return 0;
}

/*
 * One packet from the first to the last register that the engine does not hold.
 */
static void emit_state(struct tessera_cmdbuf *cb)
{
	uint32_t missing = STATE_ALL & ~cb->state_valid;
	uint32_t first, count, dwords;
	uint32_t packet[2 + TSR_STATE_COUNT + 1] = { 0 };

	if (!missing)
		return;
	first = __builtin_ctz(missing);
	count = 32 - __builtin_clz(missing) - first;
	dwords = (2 + count + 1) & ~1U;
	packet[0] = TSR_PKT_HEADER(TSR_OP_SET_STATE, 0, dwords);
	packet[1] = first | count << 16;
	memcpy(&packet[2], &cb->state[first], count * sizeof(uint32_t));
	cb_emit(cb, packet, dwords);
	cb->state_valid = STATE_ALL;
}

/* ---- Work packets -------------------------------------------------------- */

/*
 * Prepare for a packet: reserve space, record pending bindings and, for a draw,
 * state.
 */
static int cb_work(struct tessera_cmdbuf *cb, uint32_t dwords, bool draw)
{
	struct flush_plan plan = flush_plan(cb);
	uint32_t state_dwords = draw ? 2 + TSR_STATE_COUNT + 1 : 0;
	int ret;

	ret = cb_reserve(cb, flush_dwords(&plan) + state_dwords + dwords,
			 (size_t)plan.binds + plan.rebinds + plan.unbinds, plan.allocs);
	if (ret)
		return cb_fail(cb, ret);
	flush_emit(cb, &plan);
	if (draw)
		emit_state(cb);
	return 0;
}

static bool slots_ok(const struct tessera_cmdbuf *cb, uint32_t a, uint32_t b)
{
	return a < cb->dev->info.max_slots && b < cb->dev->info.max_slots;
}

static bool rect_is_16bit(const struct tessera_rect *r)
{
	return r->x < TSR_SURF_MAX_DIM && r->y < TSR_SURF_MAX_DIM && r->width && r->height &&
	       r->width <= TSR_SURF_MAX_DIM && r->height <= TSR_SURF_MAX_DIM;
}

int tessera_cmdbuf_fill(struct tessera_cmdbuf *cb, uint32_t slot, const struct tessera_rect *rect,
			uint32_t value)
{
	const uint32_t packet[TSR_FILL_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_FILL, 0, TSR_FILL_DWORDS),
		slot,
		rect->x,
		rect->y,
		rect->width,
		rect->height,
		value,
	};
	int ret;

	if (!slots_ok(cb, slot, slot) || !rect->width || !rect->height)
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, TSR_FILL_DWORDS, false);
	if (!ret)
		cb_emit(cb, packet, TSR_FILL_DWORDS);
	return ret;
}

int tessera_cmdbuf_copy(struct tessera_cmdbuf *cb, uint32_t dst_slot, uint32_t dst_x,
			uint32_t dst_y, uint32_t src_slot, const struct tessera_rect *src)
{
	const uint32_t packet[TSR_COPY_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_COPY, 0, TSR_COPY_DWORDS),
		dst_slot,
		src_slot,
		dst_x,
		dst_y,
		src->x,
		src->y,
		src->width,
		src->height,
	};
	int ret;

	if (!slots_ok(cb, dst_slot, src_slot) || !src->width || !src->height)
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, TSR_COPY_DWORDS, false);
	if (!ret)
		cb_emit(cb, packet, TSR_COPY_DWORDS);
	return ret;
}

int tessera_cmdbuf_blit(struct tessera_cmdbuf *cb, uint32_t dst_slot,
			const struct tessera_rect *dst, uint32_t src_slot,
			const struct tessera_rect *src, uint32_t sampler, uint32_t blend,
			uint32_t color)
{
	const uint32_t packet[TSR_BLIT_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_BLIT, 0, TSR_BLIT_DWORDS),
		dst_slot,
		src_slot,
		dst->x | dst->y << 16,
		dst->width | dst->height << 16,
		src->x | src->y << 16,
		src->width | src->height << 16,
		sampler | blend << 8,
		color,
	};
	int ret;

	if (!slots_ok(cb, dst_slot, src_slot) || !rect_is_16bit(dst) || !rect_is_16bit(src) ||
	    (sampler & ~TSR_SAMPLER_LINEAR) || blend >= TSR_BLEND_COUNT)
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, TSR_BLIT_DWORDS, false);
	if (!ret)
		cb_emit(cb, packet, TSR_BLIT_DWORDS);
	return ret;
}

int tessera_cmdbuf_draw(struct tessera_cmdbuf *cb, uint32_t vertex_slot, uint32_t offset,
			uint32_t vertices, uint32_t flags)
{
	const uint32_t packet[TSR_DRAW_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_DRAW, flags, TSR_DRAW_DWORDS),
		vertex_slot,
		offset,
		vertices,
	};
	uint32_t needed = UINT32_C(1) << TSR_STATE_TARGET_SLOT;
	int ret;

	if (flags & TSR_DRAW_TEXTURED)
		needed |= UINT32_C(1) << TSR_STATE_TEXTURE_SLOT;
	if (!slots_ok(cb, vertex_slot, vertex_slot) || offset % 4 || !vertices || vertices % 3 ||
	    vertices > TSR_DRAW_MAX_VERTICES || (flags & ~TSR_DRAW_TEXTURED) ||
	    (cb->state_set & needed) != needed)
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, TSR_DRAW_DWORDS, true);
	if (!ret)
		cb_emit(cb, packet, TSR_DRAW_DWORDS);
	return ret;
}

int tessera_cmdbuf_timestamp(struct tessera_cmdbuf *cb, uint32_t slot, uint32_t offset)
{
	const uint32_t packet[TSR_QUERY_TIMESTAMP_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_QUERY_TIMESTAMP, 0, TSR_QUERY_TIMESTAMP_DWORDS),
		slot,
		offset,
	};
	int ret;

	if (!slots_ok(cb, slot, slot) || offset % 8)
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, TSR_QUERY_TIMESTAMP_DWORDS, false);
	if (!ret)
		cb_emit(cb, packet, TSR_QUERY_TIMESTAMP_DWORDS);
	return ret;
}

/* Record FENCE_WAIT or FENCE_SIGNAL, which have the same dwords. */
static int cb_fence(struct tessera_cmdbuf *cb, uint32_t op, uint64_t address, uint64_t value)
{
	const uint32_t packet[TSR_FENCE_WAIT_DWORDS] = {
		TSR_PKT_HEADER(op, 0, TSR_FENCE_WAIT_DWORDS),
		0,
		(uint32_t)address,
		(uint32_t)(address >> 32),
		(uint32_t)value,
		(uint32_t)(value >> 32),
	};
	int ret;

	if (!cb->vm || address % sizeof(uint64_t))
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, TSR_FENCE_WAIT_DWORDS, false);
	if (!ret)
		cb_emit(cb, packet, TSR_FENCE_WAIT_DWORDS);
	return ret;
}

int tessera_cmdbuf_fence_wait(struct tessera_cmdbuf *cb, uint64_t address, uint64_t value)
{
	return cb_fence(cb, TSR_OP_FENCE_WAIT, address, value);
}

int tessera_cmdbuf_fence_signal(struct tessera_cmdbuf *cb, uint64_t address, uint64_t value)
{
	return cb_fence(cb, TSR_OP_FENCE_SIGNAL, address, value);
}

int tessera_cmdbuf_nop(struct tessera_cmdbuf *cb, uint32_t dwords)
{
	int ret;

	if (dwords < 2 || dwords % 2 || dwords > TSR_PKT_MAX_DWORDS)
		return cb_fail(cb, -EINVAL);
	ret = cb_reserve(cb, dwords, 0, 0);
	if (ret)
		return cb_fail(cb, ret);
	memset(cb->cmds + cb->num_cmds, 0, dwords * sizeof(uint32_t));
	cb->cmds[cb->num_cmds] = TSR_PKT_HEADER(TSR_OP_NOP, 0, dwords);
	cb->num_cmds += dwords;
	return 0;
}

int tessera_cmdbuf_raw(struct tessera_cmdbuf *cb, const uint32_t *packets, uint32_t dwords)
{
	int ret;

	if (!dwords || dwords % 2)
		return cb_fail(cb, -EINVAL);
	ret = cb_work(cb, dwords, false);
	if (ret)
		return ret;
	cb_emit(cb, packets, dwords);
	cb->state_valid = 0; /* the packets may have changed it */
	return 0;
}

int tessera_cmdbuf_finish(struct tessera_cmdbuf *cb)
{
	if (cb->error)
		return cb->error;
	return cb_work(cb, 0, false);
}

/* ---- Creation and destruction -------------------------------------------- */

static int cmdbuf_new(struct tessera_device *dev, struct tessera_vm *vm,
		      struct tessera_cmdbuf **out)
{
	uint32_t max_slots = dev->info.max_slots;
	struct tessera_cmdbuf *cb = tessera_alloc(dev, sizeof(*cb));

	if (!cb)
		return -ENOMEM;
	atomic_init(&cb->refs, 1);
	cb->dev = tessera_device_ref(dev);
	cb->vm = vm ? tessera_vm_ref(vm) : NULL;
	cb->slots = tessera_alloc(dev, (size_t)max_slots * sizeof(*cb->slots));
	cb->dirty = tessera_alloc(dev, (size_t)max_slots * sizeof(*cb->dirty));
	cb->live = tessera_alloc(dev, (size_t)max_slots * sizeof(*cb->live));
	if (!cb->slots || !cb->dirty || !cb->live) {
		tessera_cmdbuf_del(cb);
		return -ENOMEM;
	}
	memcpy(cb->state, state_default, sizeof(cb->state));
	*out = cb;
	return 0;
}

int tessera_cmdbuf_new(struct tessera_device *dev, struct tessera_cmdbuf **out)
{
	return cmdbuf_new(dev, NULL, out);
}

int tessera_cmdbuf_new_for(struct tessera_context *ctx, struct tessera_cmdbuf **out)
{
	return cmdbuf_new(ctx->dev, ctx->vm, out);
}

struct tessera_cmdbuf *tessera_cmdbuf_ref(struct tessera_cmdbuf *cb)
{
	atomic_fetch_add(&cb->refs, 1);
	return cb;
}

void tessera_cmdbuf_reset(struct tessera_cmdbuf *cb)
{
	for (size_t i = 0; i < cb->num_allocs; i++)
		tessera_bo_del(cb->bos[i]);
	/* A slot with a wanted object is live or dirty. */
	for (uint32_t i = 0; i < cb->num_live; i++) {
		struct tessera_slot *s = &cb->slots[cb->live[i]];

		tessera_bo_del(s->wanted);
		s->wanted = NULL;
		s->bound = false;
	}
	for (uint32_t i = 0; i < cb->num_dirty; i++) {
		struct tessera_slot *s = &cb->slots[cb->dirty[i]];

		tessera_bo_del(s->wanted);
		s->wanted = NULL;
		s->dirty = false;
	}
	if (cb->hash)
		memset(cb->hash, 0, cb->hash_size * sizeof(*cb->hash));
	memcpy(cb->state, state_default, sizeof(cb->state));
	cb->state_set = 0;
	cb->state_valid = 0;
	cb->num_cmds = 0;
	cb->num_patches = 0;
	cb->num_allocs = 0;
	cb->null_alloc = 0;
	cb->num_live = 0;
	cb->num_dirty = 0;
	cb->serial = 0;
	cb->error = 0;
}

void tessera_cmdbuf_del(struct tessera_cmdbuf *cb)
{
	struct tessera_device *dev;

	if (!cb || atomic_fetch_sub(&cb->refs, 1) != 1)
		return;
	dev = cb->dev;
	tessera_cmdbuf_reset(cb);
	tessera_free(dev, cb->cmds);
	tessera_free(dev, cb->patches);
	tessera_free(dev, cb->allocs);
	tessera_free(dev, cb->bos);
	tessera_free(dev, cb->hash);
	tessera_free(dev, cb->slots);
	tessera_free(dev, cb->dirty);
	tessera_free(dev, cb->live);
	tessera_vm_del(cb->vm);
	tessera_free(dev, cb);
	tessera_device_del(dev);
}

void tessera_cmdbuf_set_rebind(struct tessera_cmdbuf *cb, uint64_t min_bytes)
{
	cb->rebind_min = min_bytes;
}

void tessera_cmdbuf_stream(const struct tessera_cmdbuf *cb, struct tessera_stream *stream)
{
	*stream = (struct tessera_stream){
		.cmds = cb->cmds,
		.cmd_bytes = cb_offset(cb),
		.allocs = cb->allocs,
		.num_allocs = cb->num_allocs,
		.patches = cb->patches,
		.num_patches = cb->num_patches,
		.max_slots = cb->dev->info.max_slots,
		.flags = cb->vm ? TESSERA_STREAM_ADDRESSES : 0,
	};
}

int tessera_cmdbuf_lint(struct tessera_cmdbuf *cb, struct tessera_lint *lint)
{
	struct tessera_stream stream;
	int ret = tessera_cmdbuf_finish(cb);

	if (ret)
		return ret;
	tessera_cmdbuf_stream(cb, &stream);
	return tessera_stream_lint(&stream, lint);
}
