// SPDX-License-Identifier: MIT
/*
 * The CPU reference renderer: the arithmetic of Documentation/hardware.rst,
 * section "Drawing". It was written from that text and shares no code with the
 * device.
 *
 * Textures that BLIT makes are not made here. Their texels are computed when
 * they are sampled, so that the cost depends only on the pixels drawn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera_hw.h>

#include "demo.h"

struct color {
	uint32_t a, r, g, b; /* 0 .. 255 */
};

static struct color unpack(uint32_t texel)
{
	return (struct color){ texel >> 24, texel >> 16 & 255, texel >> 8 & 255, texel & 255 };
}

static uint32_t pack(struct color c)
{
	return c.a << 24 | c.r << 16 | c.g << 8 | c.b;
}

/* Product of two channels, rounded to nearest. */
static uint32_t mul(uint32_t x, uint32_t y)
{
	return (x * y + 127) / 255;
}

static struct color modulate(struct color x, struct color y)
{
	return (struct color){ mul(x.a, y.a), mul(x.r, y.r), mul(x.g, y.g), mul(x.b, y.b) };
}

/* x * p + y * q with p + q = 255, rounded once. */
static uint32_t mix(uint32_t x, uint32_t p, uint32_t y, uint32_t q)
{
	return (x * p + y * q + 127) / 255;
}

static uint32_t clamp_channel(uint32_t x)
{
	return x > 255 ? 255 : x;
}

static uint32_t blend(uint32_t mode, struct color src, uint32_t dst_texel)
{
	struct color dst = unpack(dst_texel);
	uint32_t inverse = 255 - src.a;

	switch (mode) {
	case TSR_BLEND_ALPHA:
		src.r = mix(src.r, src.a, dst.r, inverse);
		src.g = mix(src.g, src.a, dst.g, inverse);
		src.b = mix(src.b, src.a, dst.b, inverse);
		src.a += mul(dst.a, inverse);
		break;
	case TSR_BLEND_PREMULTIPLIED:
		src.r = clamp_channel(src.r + mul(dst.r, inverse));
		src.g = clamp_channel(src.g + mul(dst.g, inverse));
		src.b = clamp_channel(src.b + mul(dst.b, inverse));
		src.a = clamp_channel(src.a + mul(dst.a, inverse));
		break;
	default:
		break;
	}
	return pack(src);
}

/* Four texels weighted by 8-bit fractions. */
static uint32_t weigh(const uint32_t texels[4], uint32_t fx, uint32_t fy)
{
	uint32_t result = 0;

	for (int shift = 0; shift < 32; shift += 8) {
		uint32_t t00 = texels[0] >> shift & 255, t10 = texels[1] >> shift & 255;
		uint32_t t01 = texels[2] >> shift & 255, t11 = texels[3] >> shift & 255;
		uint32_t top = t00 * (256 - fx) + t10 * fx;
		uint32_t bottom = t01 * (256 - fx) + t11 * fx;

		result |= (top * (256 - fy) + bottom * fy + 32768) >> 16 << shift;
	}
	return result;
}

static uint32_t clamp_coord(int64_t x, uint32_t size)
{
	return x < 0 ? 0 : x >= size ? size - 1 : (uint32_t)x;
}

/*
 * Sample an image through BLIT's bilinear filter. @u and @v are in 1/65536
 * texel.
 */
static uint32_t image_sample(const struct image *image, int64_t u, int64_t v)
{
	int64_t x = (u - 32768) >> 16, y = (v - 32768) >> 16;
	uint32_t fx = (u - 32768) >> 8 & 255, fy = (v - 32768) >> 8 & 255;
	uint32_t x0 = clamp_coord(x, image->width), x1 = clamp_coord(x + 1, image->width);
	const uint32_t *top = image->texels + (size_t)clamp_coord(y, image->height) * image->width;
	const uint32_t *bottom =
		image->texels + (size_t)clamp_coord(y + 1, image->height) * image->width;
	const uint32_t texels[4] = { top[x0], top[x1], bottom[x0], bottom[x1] };

	return weigh(texels, fx, fy);
}

uint32_t reference_texel(const struct scene_texture *t, uint32_t x, uint32_t y)
{
	const struct image *image = t->image;
	int64_t u, v;

	if (!t->variant)
		return image->texels[(size_t)y * image->width + x];
	x %= t->tile_width;
	y %= t->tile_height;
	u = ((2 * (int64_t)x + 1) * image->width * 65536) / (2 * (int64_t)t->tile_width);
	v = ((2 * (int64_t)y + 1) * image->height * 65536) / (2 * (int64_t)t->tile_height);
	return pack(modulate(unpack(image_sample(image, u, v)), unpack(t->tint)));
}

static uint32_t texture_sample(const struct scene_texture *t, uint32_t sampler, int64_t u,
			       int64_t v)
{
	uint32_t texels[4];
	int64_t x, y;

	if (!(sampler & TSR_SAMPLER_LINEAR))
		return reference_texel(t, clamp_coord(u >> 16, t->width),
				       clamp_coord(v >> 16, t->height));
	x = (u - 32768) >> 16;
	y = (v - 32768) >> 16;
	for (int i = 0; i < 4; i++)
		texels[i] = reference_texel(t, clamp_coord(x + (i & 1), t->width),
					    clamp_coord(y + (i >> 1), t->height));
	return weigh(texels, (u - 32768) >> 8 & 255, (v - 32768) >> 8 & 255);
}

/* ---- Triangles ----------------------------------------------------------- */

struct edge {
	int64_t dx, dy; /* value is dx * (y - y0) - dy * (x - x0) */
	int64_t x0, y0;
	bool owns; /* top or left edge: points on it are inside */
};

static struct edge edge_between(const struct vertex *a, const struct vertex *b)
{
	struct edge e = {
		.dx = (int64_t)b->x - a->x,
		.dy = (int64_t)b->y - a->y,
		.x0 = a->x,
		.y0 = a->y,
	};

	/*
	 * The inside is on the right of a -> b (y down): left edges go up, top
	 * edges go right.
	 */
	e.owns = e.dy < 0 || (e.dy == 0 && e.dx > 0);
	return e;
}

static int64_t edge_value(const struct edge *e, int64_t x, int64_t y)
{
	return e->dx * (y - e->y0) - e->dy * (x - e->x0);
}

static int64_t floor_div(__int128 a, int64_t b)
{
	__int128 q = a / b;

	return q - (a % b < 0);
}

static uint32_t interpolate_color(const struct vertex *const v[3], const int64_t w[3], int64_t area)
{
	uint32_t result = 0;

	for (int shift = 0; shift < 32; shift += 8) {
		__int128 sum = 0;

		for (int i = 0; i < 3; i++)
			sum += (__int128)w[i] * (v[i]->color >> shift & 255);
		result |= (uint32_t)floor_div(sum + area / 2, area) << shift;
	}
	return result;
}

struct triangle {
	const struct scene *scene;
	const struct scene_draw *draw;
	const struct vertex *v[3]; /* ordered so that the area is positive */
	struct edge edges[3]; /* edges[i] is opposite v[i] */
	int64_t area;
	bool flat; /* one colour for the whole triangle */
};

static uint32_t fragment(const struct triangle *t, const int64_t w[3])
{
	struct color color = unpack(t->flat ? t->v[0]->color : interpolate_color(t->v, w, t->area));

	if (t->draw->texture >= 0) {
		const struct scene_texture *texture = &t->scene->textures[t->draw->texture];
		__int128 u = 0, v = 0;

		for (int i = 0; i < 3; i++) {
			u += (__int128)w[i] * t->v[i]->u;
			v += (__int128)w[i] * t->v[i]->v;
		}
		color = modulate(unpack(texture_sample(texture, t->draw->sampler,
						       floor_div(u, t->area),
						       floor_div(v, t->area))),
				 color);
	}
	if (t->draw->color != 0xffffffff)
		color = modulate(color, unpack(t->draw->color));
	return pack(color);
}

static void draw_row(const struct triangle *t, struct image *target, uint32_t y, uint32_t first,
		     uint32_t last)
{
	int64_t cy = (int64_t)y * 256 + 128;
	uint32_t *row = target->texels + (size_t)y * target->width;

	for (uint32_t x = first; x <= last; x++) {
		int64_t cx = (int64_t)x * 256 + 128, w[3];
		bool inside = true;

		for (int i = 0; i < 3 && inside; i++) {
			w[i] = edge_value(&t->edges[i], cx, cy);
			inside = w[i] > 0 || (w[i] == 0 && t->edges[i].owns);
		}
		if (inside)
			row[x] = blend(t->draw->blend, unpack(fragment(t, w)), row[x]);
	}
}

static int64_t min3(int64_t a, int64_t b, int64_t c)
{
	return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

static int64_t max3(int64_t a, int64_t b, int64_t c)
{
	return -min3(-a, -b, -c);
}

static void draw_triangle(const struct scene *scene, const struct scene_draw *draw,
			  const struct vertex *a, const struct vertex *b, const struct vertex *c,
			  struct image *target)
{
	struct triangle t = { .scene = scene, .draw = draw, .v = { a, b, c } };
	struct edge whole = edge_between(a, b);
	int64_t left, right, top, bottom;

	t.area = edge_value(&whole, c->x, c->y);
	if (!t.area)
		return;
	if (t.area < 0) {
		t.v[1] = c;
		t.v[2] = b;
		t.area = -t.area;
	}
	for (int i = 0; i < 3; i++)
		t.edges[i] = edge_between(t.v[(i + 1) % 3], t.v[(i + 2) % 3]);
	t.flat = a->color == b->color && b->color == c->color;
	left = min3(a->x, b->x, c->x) >> 8;
	right = max3(a->x, b->x, c->x) >> 8;
	top = min3(a->y, b->y, c->y) >> 8;
	bottom = max3(a->y, b->y, c->y) >> 8;
	if (right < 0 || bottom < 0 || left >= target->width || top >= target->height)
		return;
	for (uint32_t y = clamp_coord(top, target->height);
	     y <= clamp_coord(bottom, target->height); y++)
		draw_row(&t, target, y, clamp_coord(left, target->width),
			 clamp_coord(right, target->width));
}

void reference_draw(const struct scene *scene, const struct scene_draw *draw, struct image *target)
{
	for (uint32_t i = 0; i + 3 <= draw->num_vertices; i += 3)
		draw_triangle(scene, draw, &draw->vertices[i], &draw->vertices[i + 1],
			      &draw->vertices[i + 2], target);
}

int reference_render(const struct scene *scene, struct image *out)
{
	size_t texels = (size_t)scene->width * scene->height;

	*out = (struct image){ .width = scene->width, .height = scene->height };
	out->texels = malloc(texels * sizeof(*out->texels));
	if (!out->texels)
		return -ENOMEM;
	for (size_t i = 0; i < texels; i++)
		out->texels[i] = scene->clear;
	for (uint32_t i = 0; i < scene->num_draws; i++)
		reference_draw(scene, &scene->draws[i], out);
	return 0;
}
