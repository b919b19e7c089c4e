// SPDX-License-Identifier: MIT
/* The demo's CPU renderer, in cases with results that are known without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tessera/tessera_hw.h>

#include "../demo/demo.h"

static uint32_t target_texels[64 * 64];
static struct image target = { .width = 64, .height = 64, .texels = target_texels };

static void clear(uint32_t value)
{
	for (int i = 0; i < 64 * 64; i++)
		target_texels[i] = value;
}

static struct scene_draw quad(int32_t x0, int32_t y0, int32_t x1, int32_t y1, uint32_t color)
{
	const int32_t xs[2] = { x0, x1 }, ys[2] = { y0, y1 };
	static const int corner_of[6] = { 0, 1, 2, 2, 1, 3 };
	struct scene_draw draw = {
		.texture = -1,
		.blend = TSR_BLEND_NONE,
		.color = 0xffffffff,
		.num_vertices = 6,
	};

	for (int i = 0; i < 6; i++)
		draw.vertices[i] = (struct vertex){
			.x = xs[corner_of[i] & 1],
			.y = ys[corner_of[i] >> 1],
			.color = color,
		};
	return draw;
}

/*
 * A pixel is drawn if its centre is inside. Centres on a top or left edge are
 * inside, centres on other edges are not.
 */
static void test_fill_rule(void **state)
{
	struct scene_draw draw =
		quad(10 * 256 + 128, 20 * 256 + 128, 13 * 256 + 128, 22 * 256 + 128, 0xff123456);

	(void)state;
	clear(0);
	reference_draw(NULL, &draw, &target);
	for (int y = 0; y < 64; y++) {
		for (int x = 0; x < 64; x++) {
			bool inside = x >= 10 && x < 13 && y >= 20 && y < 22;

			assert_int_equal(target_texels[y * 64 + x], inside ? 0xff123456 : 0);
		}
	}
}

/*
 * Random triangles with a common corner cover every pixel exactly once, in
 * either winding.
 */
static void test_shared_edges(void **state)
{
	(void)state;
	srand(3);
	for (int round = 0; round < 50; round++) {
		int32_t cx = 8000 + rand() % 500, cy = 8000 + rand() % 500;
		struct vertex ring[5] = {
			{ .x = -256, .y = -256 },	  { .x = 65 * 256, .y = -256 },
			{ .x = 65 * 256, .y = 65 * 256 }, { .x = -256, .y = 65 * 256 },
			{ .x = -256, .y = -256 },
		};

		clear(0);
		for (int i = 0; i < 4; i++) {
			struct scene_draw draw = {
				.texture = -1,
				.blend = TSR_BLEND_PREMULTIPLIED,
				.color = 0xffffffff,
				.num_vertices = 3,
			};

			draw.vertices[0] = (struct vertex){ .x = cx, .y = cy };
			draw.vertices[1 + round % 2] = ring[i];
			draw.vertices[2 - round % 2] = ring[i + 1];
			for (int j = 0; j < 3; j++)
				draw.vertices[j].color = 0x00010101;
			reference_draw(NULL, &draw, &target);
		}
		for (int i = 0; i < 64 * 64; i++)
			assert_int_equal(target_texels[i], 0x00010101);
	}
}

static void test_gradient(void **state)
{
	struct scene_draw draw = quad(0, 0, 64 * 256, 64 * 256, 0xff000000);

	(void)state;
	for (int i = 0; i < 6; i++)
		draw.vertices[i].color = draw.vertices[i].x ? 0xffff0000 : 0xff000000;
	clear(0);
	reference_draw(NULL, &draw, &target);
	/* Red at a pixel centre is 255 (x + 1/2) / 64, rounded to nearest. */
	for (int i = 0; i < 64 * 64; i++) {
		uint32_t red = (255 * (2 * (i % 64) + 1) + 64) / 128;

		assert_int_equal(target_texels[i], 0xff000000 | red << 16);
	}
}

static void test_blend(void **state)
{
	struct scene_draw draw = quad(0, 0, 64 * 256, 64 * 256, 0x80ff0040);

	(void)state;
	draw.blend = TSR_BLEND_ALPHA;
	clear(0xff0000ff);
	reference_draw(NULL, &draw, &target);
	/*
	 * a: 128 + 255 * 127 / 255; r: 255 * 128 / 255; b: (64 * 128 + 255 *
	 * 127) / 255 = 159.1
	 */
	assert_int_equal(target_texels[0], 0xff80009f);
	draw = quad(0, 0, 64 * 256, 64 * 256, 0x00ffffff);
	draw.blend = TSR_BLEND_ALPHA;
	reference_draw(NULL, &draw, &target);
	assert_int_equal(target_texels[0], 0xff80009f);
	draw = quad(0, 0, 64 * 256, 64 * 256, 0x80c00020);
	draw.blend = TSR_BLEND_PREMULTIPLIED;
	clear(0xff80ff10);
	reference_draw(NULL, &draw, &target);
	/*
	 * r: 192 + 128 * 127 / 255 = 255.7, clamped; g: 127; b: 32 + 16 * 127 /
	 * 255 = 8
	 */
	assert_int_equal(target_texels[0], 0xffff7f28);
}

/*
 * With one texel per pixel, bilinear sampling at texel centres returns the
 * texture itself. Half a texel off it returns the mean.
 */
static void test_bilinear(void **state)
{
	static uint32_t texels[64 * 64];
	struct image image = { .width = 64, .height = 64, .texels = texels };
	struct scene_texture texture = { .image = &image, .width = 64, .height = 64 };
	struct scene scene = { .textures = &texture, .num_textures = 1 };
	struct scene_draw draw = quad(0, 0, 64 * 256, 64 * 256, 0xffffffff);

	(void)state;
	srand(5);
	for (int i = 0; i < 64 * 64; i++)
		texels[i] = (uint32_t)rand() << 1;
	draw.texture = 0;
	draw.sampler = TSR_SAMPLER_LINEAR;
	for (int i = 0; i < 6; i++) {
		draw.vertices[i].u = draw.vertices[i].x * 256;
		draw.vertices[i].v = draw.vertices[i].y * 256;
	}
	clear(0);
	reference_draw(&scene, &draw, &target);
	assert_memory_equal(target_texels, texels, sizeof(texels));
	for (int i = 0; i < 6; i++)
		draw.vertices[i].u += 32768;
	reference_draw(&scene, &draw, &target);
	for (int i = 0; i < 64 * 64; i++) {
		uint32_t a = texels[i] & 255, b = texels[i % 64 == 63 ? i : i + 1] & 255;

		assert_int_equal(target_texels[i] & 255, (a + b + 1) / 2);
	}
	draw.sampler = 0;
	reference_draw(&scene, &draw, &target);
	for (int i = 0; i < 64 * 64; i++)
		assert_int_equal(target_texels[i], texels[i % 64 == 63 ? i : i + 1]);
}

/*
 * A variant with a tile of the image's size is the image multiplied by the
 * tint.
 */
static void test_variant(void **state)
{
	uint32_t texels[4] = { 0xffff8000, 0xff0080ff, 0x80ffffff, 0x00000000 };
	struct image image = { .width = 2, .height = 2, .texels = texels };
	struct scene_texture texture = {
		.image = &image,
		.variant = true,
		.width = 8,
		.height = 8,
		.tile_width = 2,
		.tile_height = 2,
		.tint = 0xff80ff40,
	};

	(void)state;
	assert_int_equal(reference_texel(&texture, 0, 0), 0xff808000);
	assert_int_equal(reference_texel(&texture, 1, 0), 0xff008040);
	assert_int_equal(reference_texel(&texture, 0, 1), 0x8080ff40);
	/* The tile is repeated. */
	assert_int_equal(reference_texel(&texture, 5, 2), 0xff008040);
	/*
	 * A tile twice as wide: the second texel is a quarter of the way
	 * between the first two texels of the row.
	 */
	texture.tile_width = 4;
	texture.tint = 0xffffffff;
	assert_int_equal(reference_texel(&texture, 0, 0), texels[0]);
	assert_int_equal(reference_texel(&texture, 1, 0), 0xffbf8040);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill_rule), cmocka_unit_test(test_shared_edges),
		cmocka_unit_test(test_gradient),  cmocka_unit_test(test_blend),
		cmocka_unit_test(test_bilinear),  cmocka_unit_test(test_variant),
	};

	return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
