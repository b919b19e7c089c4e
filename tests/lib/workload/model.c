// SPDX-License-Identifier: MIT
/*
 * The model of surfaces. An object's model holds its bytes in the order that
 * the CPU sees, which is linear for every layout. A slot may view an object in
 * its own layout or in any other; in the second case two addresses are computed
 * for each texel.
 */
#include <stdlib.h>

#include "workload.h"

/* Spreads five bits to the even bit positions. */
static uint32_t spread(uint32_t value)
{
	uint32_t out = 0;

	for (uint32_t bit = 0; bit < 5; bit++)
		out |= (value >> bit & 1) << 2 * bit;
	return out;
}

static uint32_t gather(uint32_t value)
{
	uint32_t out = 0;

	for (uint32_t bit = 0; bit < 5; bit++)
		out |= (value >> 2 * bit & 1) << bit;
	return out;
}

/* Offset of byte column @xb of row @y in a surface. */
static uint64_t layout_offset(uint32_t layout, uint64_t pitch, uint64_t xb, uint64_t y)
{
	uint64_t tile =
		y / TSR_TILE_ROWS * (pitch / TSR_TILE_WIDTH_BYTES) + xb / TSR_TILE_WIDTH_BYTES;
	uint32_t col = xb % TSR_TILE_WIDTH_BYTES, row = y % TSR_TILE_ROWS;

	if (layout == TSR_LAYOUT_LINEAR)
		return y * pitch + xb;
	if (layout == TSR_LAYOUT_TILE4K)
		return tile * TSR_TILE_BYTES + row * TSR_TILE_WIDTH_BYTES + col;
	return tile * TSR_TILE_BYTES + (spread(col / 4) | spread(row) << 1) * 4 + col % 4;
}

uint64_t wl_cpu_offset(const struct wl_object *object, uint64_t raw)
{
	uint64_t tile = raw / TSR_TILE_BYTES, per_row = object->pitch / TSR_TILE_WIDTH_BYTES;
	uint32_t in = raw % TSR_TILE_BYTES, row, col;

	if (object->layout == TSR_LAYOUT_LINEAR)
		return raw;
	if (object->layout == TSR_LAYOUT_TILE4K) {
		row = in / TSR_TILE_WIDTH_BYTES;
		col = in % TSR_TILE_WIDTH_BYTES;
	} else {
		row = gather(in / 4 >> 1);
		col = gather(in / 4) * 4 + in % 4;
	}
	return (tile / per_row * TSR_TILE_ROWS + row) * object->pitch +
	       tile % per_row * TSR_TILE_WIDTH_BYTES + col;
}

/*
 * True if the view has the object's layout: rows are contiguous in the model.
 */
static bool is_native(const struct wl_view *view)
{
	const struct wl_object *object = view->object;

	if (object->layout == TSR_LAYOUT_LINEAR)
		return view->surface.layout == TSR_LAYOUT_LINEAR;
	return view->surface.layout == object->layout && view->surface.pitch == object->pitch &&
	       view->surface.offset % (object->pitch * TSR_TILE_ROWS) == 0;
}

uint8_t *wl_model_row(const struct wl_view *view, uint32_t x, uint32_t y)
{
	const struct tsr_surface *surface = &view->surface;

	if (!is_native(view))
		return NULL;
	return view->object->model + surface->offset + (uint64_t)y * surface->pitch +
	       (uint64_t)x * view->texel;
}

static uint8_t *texel_at(const struct wl_view *view, uint32_t x, uint32_t y)
{
	const struct tsr_surface *surface = &view->surface;
	uint64_t raw = layout_offset(surface->layout, surface->pitch, (uint64_t)x * view->texel, y);

	return view->object->model + wl_cpu_offset(view->object, surface->offset + raw);
}

void wl_model_read(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		   uint32_t height, uint8_t *out)
{
	size_t row_bytes = (size_t)width * view->texel;

	for (uint32_t row = 0; row < height; row++, out += row_bytes) {
		const uint8_t *from = wl_model_row(view, x, y + row);

		if (from) {
			memcpy(out, from, row_bytes);
			continue;
		}
		for (uint32_t col = 0; col < width; col++)
			memcpy(out + (size_t)col * view->texel, texel_at(view, x + col, y + row),
			       view->texel);
	}
}

void wl_model_write(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		    uint32_t height, const uint8_t *in)
{
	size_t row_bytes = (size_t)width * view->texel;

	for (uint32_t row = 0; row < height; row++, in += row_bytes) {
		uint8_t *to = wl_model_row(view, x, y + row);

		if (to) {
			memcpy(to, in, row_bytes);
			continue;
		}
		for (uint32_t col = 0; col < width; col++)
			memcpy(texel_at(view, x + col, y + row), in + (size_t)col * view->texel,
			       view->texel);
	}
}

void wl_model_fill(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		   uint32_t height, uint32_t value)
{
	uint8_t *row = malloc((size_t)width * view->texel + 4);

	require(row);
	for (uint32_t col = 0; col < width; col++)
		memcpy(row + (size_t)col * view->texel, &value, view->texel);
	for (uint32_t i = 0; i < height; i++)
		wl_model_write(view, x, y + i, width, 1, row);
	free(row);
}

static void apply_copy(const struct wl_op *op)
{
	uint8_t *bytes = malloc((size_t)op->width * op->height * op->src.texel);

	require(bytes);
	wl_model_read(&op->src, op->src_x, op->src_y, op->width, op->height, bytes);
	wl_model_write(&op->dst, op->dst_x, op->dst_y, op->width, op->height, bytes);
	free(bytes);
}

void wl_apply_op(const struct wl_op *op)
{
	if (op->copy)
		apply_copy(op);
	else
		wl_model_fill(&op->dst, op->dst_x, op->dst_y, op->width, op->height, op->value);
}

void wl_apply(struct workload *wl, uint32_t end)
{
	for (uint32_t i = 0; i < wl->num_ops && wl->ops[i].at < end; i++)
		wl_apply_op(&wl->ops[i]);
	wl->num_ops = 0;
}

uint64_t wl_hash(const struct workload *wl)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < wl->num_objects; i++) {
		const uint64_t *words = (const uint64_t *)wl->objects[i].model;

		for (uint64_t w = 0; w < wl->objects[i].bo.size / 8; w++)
			hash = (hash ^ words[w]) * 0x100000001b3ull;
	}
	return hash;
}
