// SPDX-License-Identifier: MIT
/*
 * The scene: a contact sheet of all textures, each rotated and scaled a little,
 * and a few large, half transparent images over it. If memory is
 * oversubscribed, some frames follow. It depends only on the images, the
 * requested size and the seed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"

#include "demo.h"

#define HEROES 5
#define ECHOES 12 /* pictures that some frames draw again */
#define ECHO_PERIOD 4 /* from one of these frames to the next */
#define STRIP_ROWS 2
#define MIN_VARIANT_DIM 192 /* large enough for a tile */
#define MAX_VARIANT_DIM 8192

static const uint32_t white[4] = { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff };

struct maker {
	const struct scene_params *params;
	struct scene *scene;
	uint32_t random;
};

/* xorshift32: the same sequence on all machines. */
static uint32_t next_random(struct maker *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 17;
	m->random ^= m->random << 5;
	return m->random;
}

/* Uniform in [low, high]. */
static double random_between(struct maker *m, double low, double high)
{
	return low + (high - low) * (next_random(m) >> 8) / 16777215.0;
}

static uint64_t swizzled_bytes(uint32_t width, uint32_t height)
{
	uint64_t pitch = ((uint64_t)width * 4 + TSR_TILE_WIDTH_BYTES - 1) / TSR_TILE_WIDTH_BYTES *
			 TSR_TILE_WIDTH_BYTES;

	return pitch * ((height + TSR_TILE_ROWS - 1) / TSR_TILE_ROWS * TSR_TILE_ROWS);
}

/*
 * The sheet draws all variants, and a quarter of them only the sheet draws. A
 * few come back again and again. Each of the others is drawn by one frame.
 */
static enum scene_use variant_use(uint32_t number)
{
	if (number % (DEMO_SHEET_CELLS / ECHOES) == 0)
		return USE_AGAIN;
	return number % 4 == 1 ? USE_ONCE : USE_SOME;
}

static void add_texture(struct maker *m, struct scene_texture texture)
{
	texture.layout = m->scene->num_textures % 2 ? TSR_LAYOUT_MORTON : TSR_LAYOUT_TILE4K;
	m->scene->textures[m->scene->num_textures++] = texture;
	m->scene->texture_bytes += swizzled_bytes(texture.width, texture.height);
}

static void add_image(struct maker *m, uint32_t index, bool small)
{
	const struct image *image = (small ? m->params->small : m->params->large) + index;

	add_texture(m, (struct scene_texture){
			       .image = image,
			       .image_index = index,
			       .small = small,
			       .width = image->width,
			       .height = image->height,
		       });
}

#define WRITTEN 2 /* textures per way */

/*
 * Layouts for each way of CPU writes: swizzled where something unswizzles for
 * the CPU, else linear.
 */
static const uint32_t way_layouts[WAY_COUNT][WRITTEN] = {
	[WAY_BAR] = { TSR_LAYOUT_LINEAR, TSR_LAYOUT_LINEAR },
	[WAY_RANGE] = { TSR_LAYOUT_TILE4K, TSR_LAYOUT_MORTON },
	[WAY_HOST_APERTURE] = { TSR_LAYOUT_LINEAR, TSR_LAYOUT_LINEAR },
	[WAY_DISCARD] = { TSR_LAYOUT_LINEAR, TSR_LAYOUT_LINEAR },
	[WAY_SURFACE] = { TSR_LAYOUT_TILE4K, TSR_LAYOUT_MORTON },
};

/* Add a small image that the CPU writes. Returns the texture's index. */
static uint32_t add_written(struct maker *m, uint32_t image, enum demo_way way, uint32_t which,
			    uint32_t before)
{
	uint32_t index = m->scene->num_textures;

	add_image(m, image % m->params->num_images, true);
	m->scene->textures[index].way = way;
	m->scene->textures[index].layout = way_layouts[way][which];
	m->scene->textures[index].before = before;
	return index;
}

static uint32_t clamp_dim(double dim)
{
	if (dim < MIN_VARIANT_DIM)
		return MIN_VARIANT_DIM;
	return dim > MAX_VARIANT_DIM ? MAX_VARIANT_DIM : (uint32_t)dim;
}

/* Add a copy of an image, of about @bytes, in a colour of its own. */
static void add_variant(struct maker *m, uint32_t number, double bytes)
{
	uint32_t index = number % m->params->num_images;
	const struct image *image = &m->params->small[index];
	double aspect = (double)image->width / image->height;
	uint32_t tint = 0xff000000;

	if (aspect > 4)
		aspect = 4;
	if (aspect < 0.25)
		aspect = 0.25;
	for (int shift = 0; shift <= 16; shift += 8)
		tint |= (uint32_t)random_between(m, 130, 255) << shift;
	add_texture(m, (struct scene_texture){
			       .use = variant_use(number),
			       .image = image,
			       .image_index = index,
			       .small = true,
			       .variant = true,
			       .width = clamp_dim(sqrt(bytes / 4 * aspect)),
			       .height = clamp_dim(sqrt(bytes / 4 / aspect)),
			       .tint = tint,
			       .tile_width = image->width * 5 / 4,
			       .tile_height = image->height * 5 / 4,
		       });
}

/* Visible part of a texture: the whole texture, or one tile of a variant. */
static struct tessera_rect shown_part(struct maker *m, const struct scene_texture *t)
{
	struct tessera_rect r = { 0, 0, t->width, t->height };

	if (!t->variant)
		return r;
	if (t->tile_width < r.width)
		r.width = t->tile_width;
	if (t->tile_height < r.height)
		r.height = t->tile_height;
	r.x = next_random(m) % (t->width / r.width) * r.width;
	r.y = next_random(m) % (t->height / r.height) * r.height;
	return r;
}

/*
 * Add a textured rectangle of @w x @h pixels around (@cx, @cy), rotated by
 * @angle.
 */
static void add_picture(struct maker *m, int texture, double cx, double cy, double w, double h,
			double angle, const uint32_t colors[4])
{
	static const int corner_of[6] = { 0, 1, 2, 2, 1, 3 };
	const struct scene_texture *t = &m->scene->textures[texture];
	struct scene_draw *draw = &m->scene->draws[m->scene->num_draws++];
	const struct tessera_rect part = shown_part(m, t);
	double c = cos(angle), s = sin(angle);

	*draw = (struct scene_draw){
		.texture = texture,
		.sampler = TSR_SAMPLER_LINEAR,
		.blend = TSR_BLEND_ALPHA,
		.color = 0xffffffff,
		.num_vertices = 6,
	};
	for (int i = 0; i < 6; i++) {
		int corner = corner_of[i], right = corner & 1, bottom = corner >> 1;
		double x = (right - 0.5) * w, y = (bottom - 0.5) * h;

		draw->vertices[i] = (struct vertex){
			.x = lround((cx + x * c - y * s) * 256),
			.y = lround((cy + x * s + y * c) * 256),
			.u = (part.x + (right ? part.width : 0)) << 16,
			.v = (part.y + (bottom ? part.height : 0)) << 16,
			.color = colors[corner],
		};
	}
}

static void add_background(struct maker *m)
{
	static const uint32_t colors[4] = { 0xff101826, 0xff1c2f46, 0xff3a2440, 0xff0c1016 };
	static const int corner_of[6] = { 0, 1, 2, 2, 1, 3 };
	struct scene_draw *draw = &m->scene->draws[m->scene->num_draws++];

	*draw = (struct scene_draw){
		.texture = -1,
		.blend = TSR_BLEND_NONE,
		.color = 0xffffffff,
		.num_vertices = 6,
	};
	for (int i = 0; i < 6; i++) {
		draw->vertices[i] = (struct vertex){
			.x = corner_of[i] & 1 ? (int32_t)m->scene->width * 256 : 0,
			.y = corner_of[i] >> 1 ? (int32_t)m->scene->height * 256 : 0,
			.color = colors[corner_of[i]],
		};
	}
}

/* Fit a texture's shape into a box. */
static void fit(const struct scene_texture *t, double box_w, double box_h, double *w, double *h)
{
	double scale = fmin(box_w / t->image->width, box_h / t->image->height);

	*w = t->image->width * scale;
	*h = t->image->height * scale;
}

static void add_sheet(struct maker *m, uint32_t first, uint32_t count)
{
	double aspect = (double)m->scene->width / m->scene->height;
	uint32_t columns = ceil(sqrt(count * aspect)), rows;
	double cell_w, cell_h;

	if (!columns)
		columns = 1;
	rows = (count + columns - 1) / columns;
	cell_w = (double)m->scene->width / columns;
	cell_h = (double)m->scene->height / rows;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t alpha = 255 - next_random(m) % 56;
		uint32_t faded = alpha << 24 | 0xffffff;
		const uint32_t colors[4] = { faded, faded, faded, faded };
		double angle = random_between(m, -0.15, 0.15), w, h;

		if (i % 7 == 3)
			angle += random_between(m, -0.7, 0.7);
		fit(&m->scene->textures[first + i], cell_w * 0.92, cell_h * 0.92, &w, &h);
		add_picture(m, first + i, (i % columns + 0.5) * cell_w,
			    (i / columns + 0.5) * cell_h, w, h, angle, colors);
		if (i % 11 == 5)
			m->scene->draws[m->scene->num_draws - 1].sampler = 0; /* nearest */
	}
}

/* Draw small pictures of some of the sheet's textures in the frame's part of two rows. */
static void add_strip(struct maker *m, uint32_t frame, uint32_t first, uint32_t count)
{
	double width = (double)m->scene->width / DEMO_FRAMES, height = m->scene->height;
	uint32_t columns = (count / DEMO_FRAMES + STRIP_ROWS - 1) / STRIP_ROWS;
	uint32_t number = 0, shown = 0;
	double cell = width / columns, w, h;

	for (uint32_t i = first; i < first + count; i++) {
		const struct scene_texture *t = &m->scene->textures[i];

		if (t->use != USE_SOME || number++ % DEMO_FRAMES != frame)
			continue;
		fit(t, cell * 0.95, height * 0.025, &w, &h);
		add_picture(m, i, width * frame + cell * (shown / STRIP_ROWS + 0.5),
			    height * (0.95 + 0.03 * (shown % STRIP_ROWS)), w, h, 0, white);
		shown++;
	}
}

/*
 * Draw some pictures of the sheet again. Their textures may have been evicted
 * meanwhile.
 */
static void add_echoes(struct maker *m, uint32_t frame, uint32_t first)
{
	double width = (double)m->scene->width * ECHO_PERIOD / DEMO_FRAMES, w, h;
	double left = (double)m->scene->width * frame / DEMO_FRAMES, height = m->scene->height;

	for (uint32_t i = 0; i < ECHOES; i++) {
		uint32_t texture = first + i * (DEMO_SHEET_CELLS / ECHOES);

		fit(&m->scene->textures[texture], width / ECHOES * 0.95, height * 0.08, &w, &h);
		add_picture(m, texture, left + width * (i + 0.5) / ECHOES, height * 0.89, w, h, 0,
			    white);
	}
}

/*
 * The least recently used textures are those that come back next, as soon as
 * the frames between the echoes fill the memory.
 */
static void add_frames(struct maker *m, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < DEMO_FRAMES; i++) {
		m->scene->first_frame[i] = m->scene->num_draws;
		if (count && i % ECHO_PERIOD == 0)
			add_echoes(m, i, first);
		if (count)
			add_strip(m, i, first, count);
	}
	m->scene->first_frame[DEMO_FRAMES] = m->scene->num_draws;
}

/* Draw a row of textures that the CPU writes, across the sheet. */
static void add_row(struct maker *m, const uint32_t *textures, uint32_t count, double y)
{
	double width = m->scene->width, height = m->scene->height;

	for (uint32_t i = 0; i < count; i++) {
		double w, h;

		fit(&m->scene->textures[textures[i]], width / count * 0.9, height * 0.11, &w, &h);
		add_picture(m, textures[i], width * (i + 0.5) / count, height * y, w, h, 0, white);
	}
}

/*
 * Textures of WAY_DISCARD show one image on the sheet and another in the late
 * draws: jobs and the CPU use different objects.
 */
static void add_old(struct maker *m, uint32_t *old)
{
	for (uint32_t i = 0; i < WRITTEN; i++) {
		uint32_t index = m->scene->num_textures;

		old[i] = add_written(m, i + 1, WAY_DISCARD, i, index);
	}
	add_row(m, old, WRITTEN, 0.2);
}

static void add_late(struct maker *m, const uint32_t *old)
{
	uint32_t late[WRITTEN * (WAY_COUNT - 1)], num_late = 0;

	m->scene->first_late = m->scene->num_draws;
	for (uint32_t way = WAY_BAR; way < WAY_COUNT; way++) {
		for (uint32_t i = 0; i < WRITTEN; i++) {
			uint32_t before = way == WAY_DISCARD ? old[i] : 0;

			late[num_late] = add_written(m, num_late, way, i, before);
			num_late++;
		}
	}
	add_row(m, late, num_late, 0.07);
}

/*
 * Draw some images at large over the sheet, fading from one corner to another.
 */
static void add_heroes(struct maker *m, uint32_t first, uint32_t count)
{
	double width = m->scene->width, height = m->scene->height;

	for (uint32_t i = 0; i < HEROES && i < count; i++) {
		uint32_t strong = 235 << 24 | 0xffffff, weak = 90u << 24 | 0xffffff;
		const uint32_t colors[4] = { strong, (160u << 24) | 0xffffff,
					     (160u << 24) | 0xffe8d0, weak };
		double cx = width * (i + 0.7) / (HEROES + 0.4);
		double cy = height * (i % 2 ? 0.68 : 0.34), w, h;

		fit(&m->scene->textures[first + i], width * 0.3, height * 0.42, &w, &h);
		add_picture(m, first + i, cx, cy, w, h, random_between(m, -0.5, 0.5), colors);
	}
	/*
	 * Add one opaque image as a glow: premultiplied alpha over the picture.
	 */
	for (uint32_t i = HEROES; i < count; i++) {
		const uint32_t colors[4] = { 0x20606060, 0x20606060, 0x08181818, 0x08181818 };
		double w, h;

		if (m->params->large[i].texels[0] >> 24 != 255)
			continue;
		fit(&m->scene->textures[first + i], width * 0.5, height * 0.5, &w, &h);
		add_picture(m, first + i, width / 2, height / 2, w, h, 0.1, colors);
		m->scene->draws[m->scene->num_draws - 1].blend = TSR_BLEND_PREMULTIPLIED;
		break;
	}
}

int scene_make(const struct scene_params *params, struct scene *scene)
{
	struct maker m = {
		.params = params,
		.scene = scene,
		.random = params->seed * 2654435761u + 1,
	};
	uint32_t images = params->num_images;
	uint32_t variants = params->texture_bytes ? DEMO_SHEET_CELLS : 0;
	uint32_t textures = images + variants + WRITTEN * WAY_COUNT, old[WRITTEN];

	*scene = (struct scene){
		.width = DEMO_TARGET_WIDTH,
		.height = DEMO_TARGET_HEIGHT,
		.clear = 0xff000000,
	};
	if (!images)
		return -EINVAL;
	if (!m.random)
		m.random = 1;
	scene->textures = calloc(textures, sizeof(*scene->textures));
	scene->draws = calloc(textures + HEROES + variants + ECHOES * DEMO_FRAMES / ECHO_PERIOD + 2,
			      sizeof(*scene->draws));
	if (!scene->textures || !scene->draws) {
		scene_free(scene);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < images; i++)
		add_image(&m, i, false);
	if (variants) {
		double rest = (double)params->texture_bytes - scene->texture_bytes;

		for (uint32_t i = 0; i < variants; i++)
			add_variant(&m, i, rest > 0 ? rest / variants : 0);
	}
	add_background(&m);
	add_sheet(&m, variants ? images : 0, variants ? variants : images);
	add_heroes(&m, 0, images);
	add_old(&m, old);
	add_frames(&m, images, variants);
	add_late(&m, old);
	return 0;
}

void scene_free(struct scene *scene)
{
	free(scene->textures);
	free(scene->draws);
	scene->textures = NULL;
	scene->draws = NULL;
}
