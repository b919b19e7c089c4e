// SPDX-License-Identifier: MIT
/*
 * Read, write and shrink PNG files. ARGB8888 texels are little-endian words, so
 * the bytes of a texel in memory are B, G, R, A: libpng's BGRA.
 */
#include <dirent.h>
#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "demo.h"

/* Larger files are refused. */
#define MAX_FILE_DIM 16384
#define MAX_FILE_TEXELS (64u << 20)

void image_free(struct image *image)
{
	free(image->texels);
	image->texels = NULL;
}

static int image_load(const char *path, struct image *image)
{
	png_image png = { .version = PNG_IMAGE_VERSION };

	if (!png_image_begin_read_from_file(&png, path)) {
		fprintf(stderr, "tessera-demo: %s: %s\n", path, png.message);
		return -EINVAL;
	}
	if (!png.width || !png.height || png.width > MAX_FILE_DIM || png.height > MAX_FILE_DIM ||
	    (uint64_t)png.width * png.height > MAX_FILE_TEXELS) {
		fprintf(stderr, "tessera-demo: %s: %u x %u is too large\n", path, png.width,
			png.height);
		png_image_free(&png);
		return -EINVAL;
	}
	/* libpng converts grey, palette and 16-bit images to this format. */
	png.format = PNG_FORMAT_BGRA;
	image->width = png.width;
	image->height = png.height;
	image->texels = malloc(PNG_IMAGE_SIZE(png));
	if (!image->texels) {
		png_image_free(&png);
		return -ENOMEM;
	}
	if (!png_image_finish_read(&png, NULL, image->texels, 0, NULL)) {
		fprintf(stderr, "tessera-demo: %s: %s\n", path, png.message);
		image_free(image);
		return -EINVAL;
	}
	return 0;
}

/* Mean of a box of texels. Colours are weighted by their alpha. */
static uint32_t box_mean(const struct image *from, uint32_t x0, uint32_t x1, uint32_t y0,
			 uint32_t y1)
{
	uint64_t a = 0, r = 0, g = 0, b = 0, count = (uint64_t)(x1 - x0) * (y1 - y0);

	for (uint32_t y = y0; y < y1; y++) {
		const uint32_t *row = from->texels + (size_t)y * from->width;

		for (uint32_t x = x0; x < x1; x++) {
			uint32_t alpha = row[x] >> 24;

			a += alpha;
			r += (row[x] >> 16 & 255) * alpha;
			g += (row[x] >> 8 & 255) * alpha;
			b += (row[x] & 255) * alpha;
		}
	}
	if (!a)
		return 0;
	return (uint32_t)((a + count / 2) / count) << 24 | (uint32_t)((r + a / 2) / a) << 16 |
	       (uint32_t)((g + a / 2) / a) << 8 | (uint32_t)((b + a / 2) / a);
}

int image_shrink(const struct image *from, uint32_t max_dim, struct image *to)
{
	uint32_t longer = from->width > from->height ? from->width : from->height;
	uint32_t width = from->width, height = from->height;

	if (longer > max_dim) {
		width = (uint64_t)width * max_dim / longer;
		height = (uint64_t)height * max_dim / longer;
	}
	*to = *from;
	to->width = width ? width : 1;
	to->height = height ? height : 1;
	to->texels = malloc((size_t)to->width * to->height * 4);
	if (!to->texels)
		return -ENOMEM;
	for (uint32_t y = 0; y < to->height; y++) {
		uint32_t y0 = (uint64_t)y * from->height / to->height;
		uint32_t y1 = (uint64_t)(y + 1) * from->height / to->height;

		for (uint32_t x = 0; x < to->width; x++) {
			uint32_t x0 = (uint64_t)x * from->width / to->width;
			uint32_t x1 = (uint64_t)(x + 1) * from->width / to->width;

			to->texels[(size_t)y * to->width + x] = box_mean(from, x0, x1, y0, y1);
		}
	}
	return 0;
}

static int is_png(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 4 && !strcasecmp(entry->d_name + len - 4, ".png");
}

static int image_load_small(const char *dir, const char *name, uint32_t max_dim,
			    struct image *image)
{
	struct image full;
	char path[4096];
	int ret;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	ret = image_load(path, &full);
	if (ret)
		return ret;
	snprintf(full.name, sizeof(full.name), "%s", name);
	ret = image_shrink(&full, max_dim, image);
	image_free(&full);
	return ret;
}

int images_load(const char *dir, uint32_t max_dim, struct image *images)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_png, alphasort);
	int loaded = 0, ret = 0;

	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		if (!ret && loaded < DEMO_MAX_IMAGES) {
			int err =
				image_load_small(dir, entries[i]->d_name, max_dim, &images[loaded]);

			if (!err)
				loaded++;
			else if (err == -ENOMEM)
				ret = err;
		}
		free(entries[i]);
	}
	free(entries);
	if (ret) {
		while (loaded)
			image_free(&images[--loaded]);
	}
	return ret ? ret : loaded;
}

/* Texel of pattern @kind: a gradient, a transparent disc, noise, or stripes. */
static uint32_t pattern_texel(int kind, uint32_t x, uint32_t y, uint32_t *noise)
{
	int32_t dx = (int32_t)x - 96, dy = (int32_t)y - 64;

	switch (kind % 4) {
	case 0:
		return 0xff000000 | x * 255 / 191 << 16 | y * 255 / 127 << 8 | 0x40;
	case 1:
		return dx * dx + dy * dy < 3600 ? 0xc0ffb000 : 0x00000000;
	case 2:
		*noise = *noise * 1664525 + 1013904223;
		return 0xff000000 | *noise >> 8;
	default:
		return (x / 12 + y / 12) % 2 ? 0xff206080 : 0x80e0e0e0;
	}
}

int images_make(struct image *images)
{
	enum {
		KINDS = 4,
		WIDTH = 192,
		HEIGHT = 128
	};
	uint32_t noise = 1;

	for (int kind = 0; kind < KINDS; kind++) {
		struct image *image = &images[kind];

		*image = (struct image){ .width = WIDTH, .height = HEIGHT };
		snprintf(image->name, sizeof(image->name), "pattern %d", kind);
		image->texels = malloc((size_t)WIDTH * HEIGHT * 4);
		if (!image->texels) {
			while (kind)
				image_free(&images[--kind]);
			return -ENOMEM;
		}
		for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
			image->texels[i] = pattern_texel(kind, i % WIDTH, i / WIDTH, &noise);
	}
	return KINDS;
}

int image_save(const char *path, const struct image *image)
{
	png_image png = {
		.version = PNG_IMAGE_VERSION,
		.width = image->width,
		.height = image->height,
		.format = PNG_FORMAT_BGR,
		/* Strong compression would take seconds on an emulated CPU. */
		.flags = PNG_IMAGE_FLAG_FAST,
	};
	size_t texels = (size_t)image->width * image->height;
	uint8_t *rgb = malloc(texels * 3);
	int ok;

	if (!rgb)
		return -ENOMEM;
	/* Store the visible colours, without the alpha channel. */
	for (size_t i = 0; i < texels; i++) {
		rgb[i * 3] = image->texels[i];
		rgb[i * 3 + 1] = image->texels[i] >> 8;
		rgb[i * 3 + 2] = image->texels[i] >> 16;
	}
	ok = png_image_write_to_file(&png, path, 0, rgb, 0, NULL);
	free(rgb);
	if (!ok) {
		fprintf(stderr, "tessera-demo: %s: %s\n", path, png.message);
		return -EIO;
	}
	return 0;
}
