// SPDX-License-Identifier: MIT
/*
 * The jobs of a random workload. Each step is a split point with some
 * operations behind it. At the split point some slots are bound to other
 * objects, some are rebound, and some are dropped, with or without an unbind
 * packet. The rest keep their binding, over one cut or over many. The stream
 * conforms to the rules, so it may be cut at any split point.
 */
#include <stdlib.h>

#include "workload.h"

/*
 * limits of an operation: in texels if the model has no contiguous rows, else
 * in bytes
 */
#define SLOW_TEXELS 16384
#define PIECE_BYTES KiB(256)
/* larger objects that keep their place may leave no hole for others */
#define KEPT_64THS 2

/* ---- views ----------------------------------------------------------- */

static uint32_t pick_access(struct workload *wl, const struct wl_object *object)
{
	uint64_t dice = wl_pick(wl, 8);

	if (!object->writes || dice < 2)
		return TSR_SURF_READ;
	return dice == 2 ? TSR_SURF_WRITE : TSR_SURF_READ | TSR_SURF_WRITE;
}

/* Offset of a view: 0, or a multiple of @unit within the object. */
static uint64_t pick_offset(struct workload *wl, const struct wl_object *object, uint64_t unit)
{
	uint64_t units = object->bo.size / unit;

	switch (wl_pick(wl, 4)) {
	case 0:
		return units > 1 ? unit : 0;
	case 1:
		return wl_pick(wl, units) * unit;
	default:
		return 0;
	}
}

static void view_buffer(struct workload *wl, struct wl_view *view)
{
	struct tsr_surface *surface = &view->surface;

	surface->offset = pick_offset(wl, view->object, 8);
	surface->width = (uint32_t)((view->object->bo.size - surface->offset) / view->texel);
	surface->height = 1;
}

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* A linear surface of any pitch that holds whole texels. */
static void view_linear(struct workload *wl, struct wl_view *view)
{
	struct tsr_surface *surface = &view->surface;
	uint64_t capacity;

	surface->offset = pick_offset(wl, view->object, 8);
	capacity = view->object->bo.size - surface->offset;
	surface->pitch =
		view->texel * (1 + (uint32_t)wl_pick(wl, least(capacity, 32768) / view->texel));
	surface->width = least(surface->pitch / view->texel, TSR_SURF_MAX_DIM);
	surface->height = least(capacity / surface->pitch, TSR_SURF_MAX_DIM);
}

/* The object's own layout, starting at a row of tiles. */
static void view_native(struct workload *wl, struct wl_view *view)
{
	const struct wl_object *object = view->object;
	struct tsr_surface *surface = &view->surface;

	surface->layout = object->layout;
	surface->pitch = object->pitch;
	surface->offset = pick_offset(wl, object, (uint64_t)object->pitch * TSR_TILE_ROWS);
	surface->width = least(surface->pitch / view->texel, TSR_SURF_MAX_DIM);
	surface->height =
		least((object->bo.size - surface->offset) / object->pitch, TSR_SURF_MAX_DIM);
}

/* A swizzled layout, not necessarily the object's, starting at any tile. */
static void view_tiled(struct workload *wl, struct wl_view *view)
{
	struct tsr_surface *surface = &view->surface;
	uint64_t tiles;

	surface->layout = wl_pick(wl, 2) ? TSR_LAYOUT_TILE4K : TSR_LAYOUT_MORTON;
	surface->offset = pick_offset(wl, view->object, TSR_TILE_BYTES);
	tiles = (view->object->bo.size - surface->offset) / TSR_TILE_BYTES;
	surface->pitch = TSR_TILE_WIDTH_BYTES * (1 + (uint32_t)wl_pick(wl, least(tiles, 64)));
	surface->width = least(surface->pitch / view->texel, TSR_SURF_MAX_DIM);
	surface->height = least(tiles / (surface->pitch / TSR_TILE_WIDTH_BYTES) * TSR_TILE_ROWS,
				TSR_SURF_MAX_DIM);
}

void wl_pick_view(struct workload *wl, struct wl_object *object, struct wl_view *view)
{
	static const struct {
		uint32_t format, bytes;
	} formats[] = {
		{ TSR_FORMAT_R32, 4 }, { TSR_FORMAT_R32, 4 },	 { TSR_FORMAT_ARGB8888, 4 },
		{ TSR_FORMAT_R8, 1 },  { TSR_FORMAT_RGB565, 2 }, { TSR_FORMAT_XRGB8888, 4 },
	};
	uint32_t format = (uint32_t)wl_pick(wl, ARRAY_SIZE(formats));
	uint64_t dice = wl_pick(wl, 8);

	*view = (struct wl_view){ .object = object, .texel = formats[format].bytes };
	view->surface.format = formats[format].format;
	view->surface.access = pick_access(wl, object);
	if (object->layout != TSR_LAYOUT_LINEAR && dice < 6)
		view_native(wl, view);
	else if (dice < 4)
		view_buffer(wl, view);
	else if (dice < 6)
		view_linear(wl, view);
	else
		view_tiled(wl, view);
}

/* ---- slots ----------------------------------------------------------- */

static uint64_t live_bytes(const struct workload *wl, uint32_t segment)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < WL_SLOTS; i++) {
		const struct wl_object *object = wl->slots[i].view.object;
		bool again = false;

		for (uint32_t j = 0; j < i; j++)
			again |= wl->slots[j].view.object == object;
		if (object && object->home == segment && !again)
			bytes += object->charge;
	}
	return bytes;
}

/* Drops a binding with an unbind packet, or only in the patch list. */
static void drop(struct workload *wl, uint32_t n)
{
	struct wl_slot *slot = &wl->slots[n];

	if (slot->held && wl_pick(wl, 4))
		tsr_cmd_unbind(&wl->cmd, n);
	else if (slot->held)
		tsr_cmd_forget(&wl->cmd, n);
	*slot = (struct wl_slot){ .changed = true };
}

/* Drops other slots until the live objects in the segment of slot @keep fit. */
static void make_space(struct workload *wl, uint32_t keep)
{
	uint32_t home = wl->slots[keep].view.object->home;

	while (live_bytes(wl, home) > wl_segment_limit(wl, home)) {
		uint32_t slot = (uint32_t)wl_pick(wl, WL_SLOTS);
		const struct wl_object *object = wl->slots[slot].view.object;

		if (slot == keep || !object || object->home != home)
			continue;
		drop(wl, slot);
	}
}

static struct wl_object *pick_target(struct workload *wl)
{
	uint32_t slot = (uint32_t)wl_pick(wl, WL_SLOTS);

	/* sometimes an object that another slot has bound already */
	if (wl_pick(wl, 6) == 0 && wl->slots[slot].view.object)
		return wl->slots[slot].view.object;
	return wl_pick_object(wl);
}

static bool is_small(const struct workload *wl, const struct wl_object *object)
{
	return object->charge <= wl->dev->segs[object->home].commit_limit / 64 * KEPT_64THS;
}

/* Chooses the slots that this split point binds. Records unbinds at once. */
static void change_slots(struct workload *wl)
{
	uint32_t changes = 1 + (uint32_t)wl_pick(wl, 3), all = (uint32_t)wl_pick(wl, 4);

	for (uint32_t i = 0; i < WL_SLOTS; i++)
		wl->slots[i].changed = false;
	for (uint32_t i = 0; i < changes; i++) {
		uint32_t n = (uint32_t)wl_pick(wl, WL_SLOTS);
		struct wl_slot *slot = &wl->slots[n];

		if (slot->changed)
			continue;
		if (slot->held && wl_pick(wl, 5) == 0) {
			drop(wl, n);
			continue;
		}
		wl_pick_view(wl, pick_target(wl), &slot->view);
		slot->bound = false;
		slot->changed = true;
		make_space(wl, n);
	}
	for (uint32_t i = 0; i < WL_SLOTS; i++) {
		struct wl_slot *slot = &wl->slots[i];
		struct wl_object *object = slot->view.object;

		if (!slot->bound || slot->changed)
			continue;
		/*
		 * large objects are mostly rebound, so that they may move;
		 * small ones mostly stay
		 */
		if (all && (is_small(wl, object) || wl_pick(wl, 8) == 0))
			continue;
		if (wl_pick(wl, 2))
			wl_pick_view(wl, object, &slot->view);
		slot->bound = false;
	}
}

static void bind(struct workload *wl, uint32_t n)
{
	struct wl_slot *slot = &wl->slots[n];
	struct tsr_surface surface;

	/* sometimes bind another view first; the last one counts */
	for (int twice = wl_pick(wl, 8) == 0; twice >= 0; twice--) {
		struct wl_view other = slot->view;

		if (twice)
			wl_pick_view(wl, slot->view.object, &other);
		surface = other.surface;
		if (!surface.pitch)
			surface.width = surface.height = 0;
		tsr_cmd_bind(&wl->cmd, n, &slot->view.object->bo, &surface);
	}
	slot->bound = slot->held = true;
}

/* Binds some of the slots chosen by change_slots(); with @all, the rest. */
static void bind_some(struct workload *wl, bool all)
{
	for (uint32_t i = 0; i < WL_SLOTS; i++) {
		struct wl_slot *slot = &wl->slots[i];

		if (slot->view.object && !slot->bound && (all || wl_pick(wl, 4)))
			bind(wl, i);
	}
}

/* ---- work ------------------------------------------------------------ */

/* A span at the beginning, at the end, of full length, or anywhere. */
static void pick_span(struct workload *wl, uint32_t whole, uint32_t max, uint32_t *at,
		      uint32_t *count)
{
	*count = 1 + (uint32_t)wl_pick(wl, max);
	switch (wl_pick(wl, 5)) {
	case 0:
		*at = 0;
		break;
	case 1:
		*at = whole - *count;
		break;
	case 2:
		*count = max;
		/* fall through */
	default:
		*at = (uint32_t)wl_pick(wl, whole - *count + 1);
	}
}

uint32_t wl_pick_at(struct workload *wl, uint32_t whole, uint32_t count)
{
	switch (wl_pick(wl, 4)) {
	case 0:
		return 0;
	case 1:
		return whole - count;
	default:
		return (uint32_t)wl_pick(wl, whole - count + 1);
	}
}

static bool is_slow(const struct wl_view *view)
{
	return view->object && !wl_model_row(view, 0, 0);
}

void wl_pick_rect(struct workload *wl, const struct wl_op *op, uint32_t width, uint32_t height,
		  uint32_t *x, uint32_t *y, uint32_t *w, uint32_t *h)
{
	const struct tsr_surface *surface = &op->dst.surface;
	uint64_t texels = PIECE_BYTES / op->dst.texel;

	if (is_slow(&op->dst) || is_slow(&op->src))
		texels = SLOW_TEXELS;
	else if (wl_pick(wl, 8) == 0)
		texels = UINT64_MAX;
	pick_span(wl, surface->width, least(width, texels), x, w);
	texels /= *w;
	pick_span(wl, surface->height, least(height, texels ? texels : 1), y, h);
}

static bool pick_bound(struct workload *wl, uint32_t access, uint32_t *slot)
{
	uint32_t first = (uint32_t)wl_pick(wl, WL_SLOTS);

	for (uint32_t i = 0; i < WL_SLOTS; i++) {
		*slot = (first + i) % WL_SLOTS;
		if (wl->slots[*slot].bound && (wl->slots[*slot].view.surface.access & access))
			return true;
	}
	return false;
}

static struct wl_op *add_op(struct workload *wl)
{
	if (wl->num_ops == wl->max_ops) {
		wl->max_ops = wl->max_ops ? wl->max_ops * 2 : 64;
		wl->ops = realloc(wl->ops, wl->max_ops * sizeof(*wl->ops));
		require(wl->ops);
	}
	wl->ops[wl->num_ops] = (struct wl_op){ .at = tsr_cmd_bytes(&wl->cmd) };
	return &wl->ops[wl->num_ops++];
}

static void one_fill(struct workload *wl, uint32_t slot)
{
	struct wl_op *op = add_op(wl);
	uint32_t *p;

	op->dst = wl->slots[slot].view;
	op->value = (uint32_t)tap_random(&wl->rng);
	wl_pick_rect(wl, op, op->dst.surface.width, op->dst.surface.height, &op->dst_x, &op->dst_y,
		     &op->width, &op->height);
	p = tsr_cmd_packet(&wl->cmd, TSR_OP_FILL, 0, TSR_FILL_DWORDS);
	p[1] = slot;
	p[2] = op->dst_x;
	p[3] = op->dst_y;
	p[4] = op->width;
	p[5] = op->height;
	p[6] = op->value;
}

static void one_copy(struct workload *wl, uint32_t dst, uint32_t src)
{
	const struct tsr_surface *to = &wl->slots[dst].view.surface;
	const struct tsr_surface *from = &wl->slots[src].view.surface;
	struct wl_op *op = add_op(wl);
	uint32_t *p;

	op->copy = true;
	op->dst = wl->slots[dst].view;
	op->src = wl->slots[src].view;
	wl_pick_rect(wl, op, least(to->width, from->width), least(to->height, from->height),
		     &op->dst_x, &op->dst_y, &op->width, &op->height);
	op->src_x = wl_pick_at(wl, from->width, op->width);
	op->src_y = wl_pick_at(wl, from->height, op->height);
	p = tsr_cmd_packet(&wl->cmd, TSR_OP_COPY, 0, TSR_COPY_DWORDS);
	p[1] = dst;
	p[2] = src;
	p[3] = op->dst_x;
	p[4] = op->dst_y;
	p[5] = op->src_x;
	p[6] = op->src_y;
	p[7] = op->width;
	p[8] = op->height;
}

static void one_op(struct workload *wl)
{
	const struct wl_view *to, *from;
	uint32_t dst, src;

	if (!pick_bound(wl, TSR_SURF_WRITE, &dst))
		return;
	to = &wl->slots[dst].view;
	if (wl_pick(wl, 3) == 0 || !pick_bound(wl, TSR_SURF_READ, &src)) {
		one_fill(wl, dst);
		return;
	}
	from = &wl->slots[src].view;
	/* formats are not converted, and views of one object may overlap */
	if (to->texel != from->texel || (to->object == from->object && dst != src))
		one_fill(wl, dst);
	else
		one_copy(wl, dst, src);
}

static void one_step(struct workload *wl)
{
	uint32_t before = wl->num_ops, ops = 1 + (uint32_t)wl_pick(wl, 4);

	tsr_cmd_group_begin(&wl->cmd);
	change_slots(wl);
	bind_some(wl, false);
	if (wl_pick(wl, 2))
		one_op(wl);
	bind_some(wl, true);
	tsr_cmd_group_end(&wl->cmd);
	while (ops--)
		one_op(wl);
	/* the next split point needs another offset */
	if (wl->num_ops == before)
		tsr_cmd_nop(&wl->cmd, 8);
}

void wl_build(struct workload *wl, uint32_t steps)
{
	tsr_cmd_reset(&wl->cmd);
	wl->num_ops = 0;
	wl->job++;
	memset(wl->slots, 0, sizeof(wl->slots));
	for (uint32_t i = 0; i < wl->num_objects; i++)
		wl->objects[i].writes = !wl->objects[i].read_only && wl_pick(wl, 3);
	while (steps--)
		one_step(wl);
}

uint32_t wl_submit(struct workload *wl, uint32_t context, uint32_t wait, uint32_t signal,
		   int *status)
{
	struct drm_tessera_submit args;
	int rc = __tsr_submit(wl->dev, context, &wl->cmd, wait, signal, &args);

	require_msg(!rc, "seed 0x%llx, job %u: %s, at command offset 0x%x, patch 0x%x",
		    (unsigned long long)wl->config.seed, wl->job, strerror(-rc), args.error_offset,
		    args.error_index);
	/* the parts before that offset will run */
	*status = args.error_offset == UINT32_MAX ? 0 : -ENOSPC;
	wl_apply(wl, args.error_offset);
	return args.num_parts;
}
