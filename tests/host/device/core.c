// SPDX-License-Identifier: MIT
/*
 * The core of the device without QEMU: packets against plain references, on a
 * machine that has scattered pages and checks the calls of TesseraHostOps. Each
 * test runs in every place of memory, once at a stretch and once interrupted
 * wherever that is possible. Prints TAP.
 */
#include "machine.h"
#include "tessera-ref.h"
#include "tessera_copy.h"
#include "tessera_frame.h"
#include "tessera_mark.h"
#include "tessera_microcode.h"
#include "tessera_mmu.h"
#include "tessera_paging.h"
#include "tessera_raster.h"
#include "tessera_strict.h"
#include "tessera_surface.h"
#include "tessera_swizzle_range.h"
#include <zlib.h>

#define W 160
#define H 96

/* Offsets in a place. */
#define TARGET 0x00000
#define SOURCE 0x20000
#define VERTICES 0x40000

struct surface {
	uint64_t base;
	uint32_t layout, format, pitch, w, h;
};

struct run {
	struct machine *m;
	enum place place;
	bool interrupt;
	const char *why; /* NULL: passes */
	char text[160];
};

#define EXPECT(r, got, want, ...)                                                                  \
	do {                                                                                       \
		unsigned long long _got = (got), _want = (want);                                   \
                                                                                                   \
		if (_got != _want && !(r)->why) {                                                  \
			int _n = snprintf((r)->text, sizeof((r)->text), __VA_ARGS__);              \
                                                                                                   \
			snprintf((r)->text + _n, sizeof((r)->text) - _n,                           \
				 ": expected 0x%llx, is 0x%llx", _want, _got);                     \
			(r)->why = (r)->text;                                                      \
		}                                                                                  \
	} while (0)

/* ---- References ---------------------------------------------------------- */

static uint32_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)(seed >> 4) * n >> 28;
}

static uint32_t bytes_of(uint32_t format)
{
	return format == TSR_FORMAT_RGB565 ? 2 : 4;
}

/* Where a byte of a row is, from the manual's figures of the layouts. */
static uint64_t byte_at(const struct surface *s, uint32_t xb, uint32_t y)
{
	uint64_t tile = (uint64_t)(y / 32) * (s->pitch / 128) + xb / 128;
	uint32_t word = xb % 128 / 4, row = y % 32, at = 0;

	if (s->layout == TSR_LAYOUT_LINEAR)
		return (uint64_t)y * s->pitch + xb;
	if (s->layout == TSR_LAYOUT_TILE4K)
		return tile * 4096 + row * 128 + xb % 128;
	for (uint32_t bit = 0; bit < 5; bit++)
		at |= (word >> bit & 1) << (2 * bit) | (row >> bit & 1) << (2 * bit + 1);
	return tile * 4096 + at * 4 + xb % 4;
}

static uint64_t size_of(const struct surface *s)
{
	return (uint64_t)s->pitch * ROUND_UP(s->h, 32);
}

static struct surface surface_of(struct run *r, uint64_t offset, const TsrImage *image)
{
	return (struct surface){
		.base = machine_base(r->place) + offset,
		.layout = any(TSR_LAYOUT_COUNT),
		.format = image->format,
		.pitch = ROUND_UP(image->w * bytes_of(image->format), 128),
		.w = image->w,
		.h = image->h,
	};
}

static void random_image(TsrImage *image, uint32_t w, uint32_t h, uint32_t format)
{
	image->w = w;
	image->h = h;
	image->format = format;
	for (uint32_t i = 0; i < w * h; i++) {
		image->px[i] = any(1 << 16) << 16 | any(1 << 16);
		if (format == TSR_FORMAT_RGB565)
			image->px[i] &= 0xffff;
		else if (format == TSR_FORMAT_XRGB8888)
			image->px[i] |= 0xff000000; /* what the device writes */
	}
}

static void put_image(struct run *r, const struct surface *s, const TsrImage *image)
{
	uint32_t n = bytes_of(s->format);

	for (uint32_t y = 0; y < s->h; y++)
		for (uint32_t xb = 0; xb < s->w * n; xb++)
			*machine_byte(r->m, s->base + byte_at(s, xb, y)) =
				image->px[y * s->w + xb / n] >> (8 * (xb % n));
}

static void expect_image(struct run *r, const struct surface *s, const TsrImage *want)
{
	uint32_t n = bytes_of(s->format);

	for (uint32_t y = 0; y < s->h; y++)
		for (uint32_t x = 0; x < s->w; x++) {
			uint32_t got = 0;

			for (uint32_t i = 0; i < n; i++)
				got |= (uint32_t)*machine_byte(r->m,
							       s->base + byte_at(s, x * n + i, y))
				       << (8 * i);
			EXPECT(r, got, want->px[y * s->w + x],
			       "texel %u,%u of format %u, layout %u", x, y, s->format, s->layout);
		}
}

/* ---- Packets ------------------------------------------------------------- */

static void run_ok(struct run *r, packet_fn *fn, const uint32_t *p, const char *what)
{
	EXPECT(r, machine_run(r->m, fn, p, r->interrupt), TSR_ERR_NONE, "error of %s", what);
}

static void bind(struct run *r, uint32_t slot, const struct surface *s)
{
	uint32_t p[TSR_PKT_MAX_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, 10),
		slot,
		s->base,
		s->base >> 32,
		size_of(s),
		0,
		s->format << TSR_SURF_FORMAT_SHIFT | s->layout << TSR_SURF_LAYOUT_SHIFT |
			TSR_SURF_READ | TSR_SURF_WRITE,
		s->pitch,
		s->w | s->h << 16,
	};

	run_ok(r, tessera_slot_bind, p, "BIND_SLOT");
}

/* An image of the microcode, as the driver loads it. */
static void start_microcode(struct run *r)
{
	const uint32_t one = TSR_FACTOR_ONE, rest = TSR_FACTOR_INV_SRC_ALPHA;
	uint8_t *image = machine_byte(r->m, HIDDEN_BASE), *table = image + TSR_FW_HEADER_BYTES;
	TesseraState *s = &r->m->s;

	stl_le_p(table + TSR_FW_BLEND(TSR_BLEND_NONE), TSR_FW_FACTORS(one, 0, one, 0));
	stl_le_p(table + TSR_FW_BLEND(TSR_BLEND_ALPHA),
		 TSR_FW_FACTORS(TSR_FACTOR_SRC_ALPHA, rest, one, rest));
	stl_le_p(table + TSR_FW_BLEND(TSR_BLEND_PREMULTIPLIED),
		 TSR_FW_FACTORS(one, rest, one, rest));
	for (uint32_t i = 0; i < 5; i++)
		stl_le_p(table + TSR_FW_FETCH + 4 * i, TSR_VERTEX_X + 4 * i);
	stl_le_p(table + TSR_FW_SCALE, 65536);
	stl_le_p(table + TSR_FW_SCALE + 4, 65536);
	stl_le_p(image, TSR_FW_MAGIC);
	stl_le_p(image + 4, TSR_FW_VERSION);
	stl_le_p(image + 8, TSR_FW_TABLE_BYTES);
	stl_le_p(image + 12, crc32(0, table, TSR_FW_TABLE_BYTES));
	s->fw_addr = HIDDEN_BASE;
	s->fw_size = TSR_FW_BYTES;
	s->fw_running = tessera_microcode_start(s);
	EXPECT(r, s->fw_running, true, "microcode");
}

static TsrImage target, source;

/* ---- Tests --------------------------------------------------------------- */

static const uint32_t formats[] = { TSR_FORMAT_RGB565, TSR_FORMAT_XRGB8888, TSR_FORMAT_ARGB8888 };

static uint32_t any_format(void)
{
	return formats[any(ARRAY_SIZE(formats))];
}

/* FILL and COPY of rectangles, in any pair of layouts. */
static void test_copy(struct run *r)
{
	uint32_t format = any_format(), w = 1 + any(W), h = 1 + any(H), x = any(W - w + 1);
	uint32_t y = any(H - h + 1), sx = any(W - w + 1), sy = any(H - h + 1), fill = any(65536);
	uint32_t copy[] = { TSR_PKT_HEADER(TSR_OP_COPY, 0, 10), 0, 1, x, y, sx, sy, w, h, 0 };
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_FILL, 0, 8), 0, sx, sy, w, h, fill, 0 };
	struct surface d, s;

	random_image(&target, W, H, format);
	random_image(&source, W, H, format);
	d = surface_of(r, TARGET, &target);
	s = surface_of(r, SOURCE, &source);
	put_image(r, &d, &target);
	put_image(r, &s, &source);
	bind(r, 0, &d);
	bind(r, 1, &s);
	run_ok(r, tessera_copy_fill, p, "FILL");
	run_ok(r, tessera_copy_copy, copy, "COPY");
	for (uint32_t i = 0; i < w * h; i++)
		target.px[(sy + i / w) * W + sx + i % w] = fill;
	for (uint32_t i = 0; i < w * h; i++)
		target.px[(y + i / w) * W + x + i % w] = source.px[(sy + i / w) * W + sx + i % w];
	expect_image(r, &d, &target);
	expect_image(r, &s, &source);
}

/* A COPY inside one linear surface is a memmove() in any direction. */
static void test_overlap(struct run *r)
{
	uint32_t w = 1 + any(W), h = 1 + any(H), x = any(W - w + 1), y = any(H - h + 1);
	uint32_t sx = any(W - w + 1), sy = any(H - h + 1);
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_COPY, 0, 10), 0, 0, x, y, sx, sy, w, h, 0 };
	struct surface d;

	random_image(&target, W, H, TSR_FORMAT_ARGB8888);
	d = surface_of(r, TARGET, &target);
	d.layout = TSR_LAYOUT_LINEAR;
	put_image(r, &d, &target);
	bind(r, 0, &d);
	run_ok(r, tessera_copy_copy, p, "COPY");
	memcpy(source.px, target.px, sizeof(source.px));
	for (uint32_t i = 0; i < w * h; i++)
		target.px[(y + i / w) * W + x + i % w] = source.px[(sy + i / w) * W + sx + i % w];
	expect_image(r, &d, &target);
}

static void test_blit(struct run *r)
{
	uint32_t x = any(W / 2), y = any(H / 2), sx = any(8), sy = any(8), blend = any(3);
	uint32_t sampler = any(2), color = any(65536) << 16 | any(65536);
	TsrTexture tex = { &source, sx, sy, 1 + any(W / 2 - 8), 1 + any(H / 2 - 8), sampler };
	uint32_t to[] = { x, y, 1 + any(W - x), 1 + any(H - y) };
	uint32_t p[] = {
		TSR_PKT_HEADER(TSR_OP_BLIT, 0, 10),
		0,
		1,
		x | y << 16,
		to[2] | to[3] << 16,
		sx | sy << 16,
		tex.w | tex.h << 16,
		sampler | blend << 8,
		color,
		0,
	};
	struct surface d, s;

	random_image(&target, W, H, any_format());
	random_image(&source, W / 2, H / 2, any_format());
	d = surface_of(r, TARGET, &target);
	s = surface_of(r, SOURCE, &source);
	put_image(r, &d, &target);
	put_image(r, &s, &source);
	start_microcode(r);
	bind(r, 0, &d);
	bind(r, 1, &s);
	run_ok(r, tessera_blit, p, "BLIT");
	tsr_ref_blit(&target, to, &tex, blend, color);
	expect_image(r, &d, &target);
}

static void put_vertex(struct run *r, uint32_t i, const TsrVertex *v)
{
	const uint32_t words[] = { v->x, v->y, v->u, v->v, v->color, 0 };
	uint64_t at = machine_base(r->place) + VERTICES + i * TSR_VERTEX_BYTES;

	for (uint32_t b = 0; b < TSR_VERTEX_BYTES; b++)
		*machine_byte(r->m, at + b) = words[b / 4] >> (8 * (b % 4));
}

static void set_state(struct run *r, uint32_t sampler, uint32_t blend, uint32_t color,
		      const uint32_t *scissor)
{
	uint32_t *state = r->m->e->state;

	state[TSR_STATE_TARGET_SLOT] = 0;
	state[TSR_STATE_SCISSOR_MIN] = scissor[0] | scissor[1] << 16;
	state[TSR_STATE_SCISSOR_MAX] = scissor[2] | scissor[3] << 16;
	state[TSR_STATE_TEXTURE_SLOT] = 1;
	state[TSR_STATE_SAMPLER] = sampler;
	state[TSR_STATE_BLEND] = blend;
	state[TSR_STATE_COLOR] = color;
	r->m->e->state_defined = (1 << TSR_STATE_COUNT) - 1;
}

/* Three triangles with textures, or with colours only. */
static void test_draw(struct run *r)
{
	enum {
		N = 9
	};
	uint32_t blend = any(3), color = any(65536) << 16 | any(65536), textured = any(4) != 0;
	uint32_t scissor[] = { any(W / 4), any(H / 4), W - any(W / 4), H - any(H / 4) };
	TsrTexture tex = { &source, 0, 0, 37, 21, any(4) };
	struct surface d, s, vertices = { machine_base(r->place) + VERTICES, 0, TSR_FORMAT_R32 };
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_DRAW, textured ? TSR_DRAW_TEXTURED : 0, 4), 2, 0,
			 N };
	uint32_t b[] = {
		TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, 10),
		2,
		vertices.base,
		0,
		N * TSR_VERTEX_BYTES,
		0,
		TSR_FORMAT_R32 | TSR_SURF_READ,
		0,
		0,
		0,
	};
	TsrVertex v[N];

	random_image(&target, W, H, any_format());
	random_image(&source, 37, 21, any_format());
	d = surface_of(r, TARGET, &target);
	s = surface_of(r, SOURCE, &source);
	put_image(r, &d, &target);
	put_image(r, &s, &source);
	for (uint32_t i = 0; i < N; i++) {
		v[i] = (TsrVertex){
			any(W * 256 * 2) - W * 128,    any(H * 256 * 2) - H * 128,
			any(80 << 16) - (20 << 16),    any(40 << 16) - (10 << 16),
			any(65536) << 16 | any(65536),
		};
		if (any(2)) { /* on a pixel's centre, where the top-left rule decides */
			v[i].x = (v[i].x & ~255) | 128;
			v[i].y = (v[i].y & ~255) | 128;
		}
		if (i % 3 && any(2))
			v[i].color = v[i - i % 3].color;
		put_vertex(r, i, &v[i]);
	}
	start_microcode(r);
	bind(r, 0, &d);
	bind(r, 1, &s);
	run_ok(r, tessera_slot_bind, b, "BIND_SLOT");
	set_state(r, tex.sampler, blend, color, scissor);
	run_ok(r, tessera_raster_draw, p, "DRAW");
	for (uint32_t i = 0; i < N; i += 3)
		tsr_ref_draw(&target, v + i, textured ? &tex : NULL, blend, color, scissor);
	expect_image(r, &d, &target);
}

/* Swizzle from a list of pages into a place, or back. TRANSFER takes no virtual addresses. */
static void test_transfer(struct run *r)
{
	const uint64_t list = RAM_BASE + RAM_OF_LISTS * PAGE;
	bool store = any(2);
	struct surface tiled = { machine_base(r->place) + TARGET, 1 + any(2), TSR_FORMAT_ARGB8888 };
	uint32_t layouts = store ? tiled.layout << 8 : tiled.layout;
	uint32_t flags = store ? TSR_TRANSFER_SRC_PAGES : TSR_TRANSFER_DST_PAGES;
	uint64_t offset = any(1024) * 4, pages = list + PAGE, bytes;

	tiled.pitch = 128 * (1 + any(6));
	bytes = (uint64_t)tiled.pitch * 32 * (1 + any(3));
	for (uint64_t i = 0; i <= DIV_ROUND_UP(bytes, PAGE) + 1; i++)
		stq_he_p(machine_byte(r->m, list + i * 8), pages + (i * 7 % 100) * PAGE);

	uint32_t p[TSR_TRANSFER_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_TRANSFER, flags, TSR_TRANSFER_DWORDS),
		layouts,
		store ? list : tiled.base,
		0,
		store ? tiled.base : list,
		0,
		bytes,
		0,
		store ? offset : 0,
		0,
		store ? 0 : offset,
		0,
		tiled.pitch,
	};
	uint8_t *want = g_malloc(bytes), *got = g_malloc(bytes);

	for (uint64_t i = 0; i < bytes; i++) {
		uint64_t at = offset + i, page = pages + (at / PAGE * 7 % 100) * PAGE;
		uint8_t *linear = machine_byte(r->m, page + at % PAGE);
		uint8_t *tile = machine_byte(r->m, tiled.base + byte_at(&tiled, i % tiled.pitch,
									i / tiled.pitch));

		want[i] = any(256);
		*(store ? linear : tile) = want[i];
		*(store ? tile : linear) = ~want[i];
	}
	run_ok(r, tessera_paging_transfer, p, "TRANSFER");
	for (uint64_t i = 0; i < bytes; i++) {
		uint64_t at = offset + i, page = pages + (at / PAGE * 7 % 100) * PAGE;

		got[i] = *machine_byte(r->m, store ? tiled.base + byte_at(&tiled, i % tiled.pitch,
									  i / tiled.pitch)
						   : page + at % PAGE);
		EXPECT(r, got[i], want[i], "byte %llu of %llu, pitch %u, layout %u, %s",
		       (unsigned long long)i, (unsigned long long)bytes, tiled.pitch, tiled.layout,
		       store ? "swizzled" : "unswizzled");
	}
	g_free(want);
	g_free(got);
}

/* A range of VRAM is filled, and nothing beside it. */
static void test_page_fill(struct run *r)
{
	uint64_t base = VRAM_BASE + TARGET, from = 8 * any(1000), bytes = 8 * (1 + any(50000));
	uint32_t value = any(2) ? 0x5a5a5a5a : 0x01020304, beside = 0xaaaaaaaa;
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_PAGE_FILL, 0, 6), value, base + from, 0, bytes, 0 };
	uint64_t end = ROUND_UP(from + bytes, PAGE) + PAGE;

	memset(machine_byte(r->m, base), 0xaa, end);
	run_ok(r, tessera_paging_fill, p, "PAGE_FILL");
	for (uint64_t i = 0; i < end; i += 4)
		EXPECT(r, (uint32_t)ldl_le_p(machine_byte(r->m, base + i)),
		       i >= from && i < from + bytes ? value : beside, "dword at %llu",
		       (unsigned long long)i);
	/* An aperture cannot be filled. */
	p[2] = APERTURE_BASE;
	EXPECT(r, machine_run(r->m, tessera_paging_fill, p, false), TSR_ERR_SEGMENT,
	       "error of PAGE_FILL of an aperture");
}

/* A swizzling range shows a surface as if it were linear. */
static void test_range(struct run *r)
{
	unsigned int errors = r->m->errors[TSR_ERR_SWIZZLE_RANGE];
	TesseraState *s = &r->m->s;
	struct surface d;
	uint8_t got[8];

	random_image(&target, W, H, TSR_FORMAT_ARGB8888);
	d = surface_of(r, TARGET, &target);
	d.layout = 1 + any(2);
	put_image(r, &d, &target);
	s->ranges[1] = (TesseraSwizzleRange){
		.base = d.base, .layout = d.layout, .pitch = d.pitch, .height = d.h
	};
	tessera_swizzle_range_enable(s, 1);
	EXPECT(r, s->ranges[1].enabled, true, "swizzling range");
	EXPECT(r, r->m->shown[1].at, TARGET, "offset of the range");
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t n = 1 << any(4), x = any(d.pitch - n + 1), y = any(H);
		bool write = any(2);

		for (uint32_t b = 0; b < n; b++)
			got[b] = any(256);
		EXPECT(r, tessera_swizzle_range_access(s, y * d.pitch + x, got, n, write), true,
		       "access of %u bytes at %u,%u", n, x, y);
		for (uint32_t b = 0; b < n; b++)
			EXPECT(r, *machine_byte(r->m, d.base + byte_at(&d, x + b, y)), got[b],
			       "byte %u of row %u", x + b, y);
	}
	EXPECT(r, tessera_swizzle_range_access(s, d.pitch * d.h, got, 4, false), false,
	       "access behind the range");
	EXPECT(r, r->m->errors[TSR_ERR_SWIZZLE_RANGE], errors + 1, "errors counted");
	/* A loaded state shows the same memory through another range. */
	s->ranges[0] = s->ranges[1];
	s->ranges[1].enabled = false;
	EXPECT(r, tessera_swizzle_range_loaded(s), true, "load of ranges");
	EXPECT(r, r->m->shown[0].bytes, size_of(&d), "bytes that the loaded range shows");
	EXPECT(r, r->m->shown[1].bytes, 0, "bytes that the range before shows");
	tessera_swizzle_range_disable(s, 0);
	EXPECT(r, r->m->shown[0].bytes, 0, "bytes that a disabled range shows");
	r->m->no_memory = true;
	tessera_swizzle_range_enable(s, 0);
	EXPECT(r, s->ranges[0].enabled, false, "range that the host has no memory for");
	r->m->no_memory = false;
}

/* Fill whole pages of a place with words. */
static uint32_t fill_pages(struct run *r, uint32_t page, uint32_t pages, uint32_t value)
{
	struct surface s = {
		machine_base(r->place) + page * PAGE,
		TSR_LAYOUT_LINEAR,
		TSR_FORMAT_R32,
		pages * PAGE,
		pages * PAGE / 4,
		1,
	};
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_FILL, 0, 8), 0, 0, 0, s.w, s.h, value, 0 };

	bind(r, 0, &s);
	return machine_run(r->m, tessera_copy_fill, p, false);
}

static void expect_page(struct run *r, const uint8_t *page, uint32_t value, const char *what)
{
	for (uint32_t i = 0; i < PAGE; i += 4)
		EXPECT(r, (uint32_t)ldl_le_p(page + i), value, "dword at %u of %s", i, what);
}

static uint32_t map_page(struct run *r, uint32_t page, uint64_t pte)
{
	const uint64_t list = RAM_BASE + RAM_OF_LISTS * PAGE;
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_MAP_APERTURE, 0, 6), 2, page, 1, list, 0 };

	stq_he_p(machine_byte(r->m, list), pte);
	return machine_run(r->m, tessera_paging_map, p, false);
}

/* Entries of an aperture: cached by CPUs, unmapped, with bits that are refused. */
static void test_aperture(struct run *r)
{
	const uint64_t pte = r->m->ptes[3];
	uint32_t unmap[] = { TSR_PKT_HEADER(TSR_OP_UNMAP_APERTURE, 0, 4), 2, 3, 1 };
	const uint8_t *page = machine_byte(r->m, APERTURE_BASE + 3 * PAGE);
	uint8_t *dummy = machine_byte(r->m, RAM_BASE + RAM_OF_VM * PAGE);

	EXPECT(r, map_page(r, 3, pte | TSR_APTE_CACHED), TSR_ERR_NONE, "error of MAP_APERTURE");
	EXPECT(r, fill_pages(r, 2, 3, 1), TSR_ERR_NONE, "error of FILL");
	EXPECT(r, r->m->uncached, 1, "accesses past the caches");
	expect_page(r, page, 1, "a page that CPUs have cached");
	EXPECT(r, map_page(r, 3, pte | TSR_APTE_COHERENT), TSR_ERR_SEGMENT,
	       "error of an entry with COHERENT in a segment without");
	EXPECT(r, map_page(r, 3, pte | 1ULL << 63), TSR_ERR_PACKET, "error of an unknown bit");
	EXPECT(r, r->m->ptes[3], pte | TSR_APTE_CACHED, "the entry after refused ones");

	run_ok(r, tessera_paging_unmap, unmap, "UNMAP_APERTURE");
	EXPECT(r, fill_pages(r, 3, 1, 2), TSR_ERR_DMA, "error of a FILL without a dummy page");
	r->m->s.dummy_page = RAM_BASE + RAM_OF_VM * PAGE;
	EXPECT(r, fill_pages(r, 3, 1, 3), TSR_ERR_NONE, "error of a FILL of the dummy page");
	expect_page(r, dummy, 3, "the dummy page");
	expect_page(r, page, 1, "an unmapped page");
}

/* Write entries of the last page table, and flush the translations. */
static void put_ptes(struct run *r, uint32_t page, uint32_t count, uint64_t value, uint32_t flags)
{
	uint64_t index = (VM_BASE / PAGE + page) % TSR_PT_ENTRIES;
	uint64_t at = VRAM_BASE + TABLES_FIRST * PAGE + index * 8;
	uint32_t p[TSR_WRITE_PTES_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_WRITE_PTES, TSR_PTES_VRAM | flags, TSR_WRITE_PTES_DWORDS),
		count,
		at,
		at >> 32,
		value,
		value >> 32,
	};

	run_ok(r, tessera_mmu_write_ptes, p, "WRITE_PTES");
}

static void flush(struct run *r)
{
	uint32_t p[TSR_TLB_FLUSH_DWORDS] = {
		TSR_PKT_HEADER(TSR_OP_TLB_FLUSH, 0, TSR_TLB_FLUSH_DWORDS),
		7,
		VM_BASE,
		0,
		VM_PAGES * PAGE,
		0,
	};

	run_ok(r, tessera_mmu_flush, p, "TLB_FLUSH");
}

/* A translation is used until it is flushed. Strict mode reports that. */
static void test_tables(struct run *r)
{
	const uint64_t leaf = TSR_PTE_VALID | TSR_PTE_WRITE, vram = leaf | TSR_PTE_VRAM;
	const uint64_t fresh = VRAM_BASE + FREE_FIRST * PAGE;
	uint8_t *old = machine_byte(r->m, VM_BASE + PAGE), *new = machine_byte(r->m, fresh);
	bool strict = r->m->s.cfg.strict;

	EXPECT(r, fill_pages(r, 1, 1, 1), TSR_ERR_NONE, "error of FILL");
	expect_page(r, old, 1, "the page");
	put_ptes(r, 1, 1, fresh | vram, 0);
	EXPECT(r, fill_pages(r, 1, 1, 2), strict ? TSR_ERR_STRICT_TLB : TSR_ERR_NONE,
	       "error of a stale translation");
	expect_page(r, old, strict ? 1 : 2, "the page before the flush");
	flush(r);
	EXPECT(r, fill_pages(r, 1, 1, 3), TSR_ERR_NONE, "error of FILL");
	expect_page(r, new, 3, "the page behind the flush");

	put_ptes(r, 1, 1, leaf | TSR_PTE_NULL, 0);
	flush(r);
	EXPECT(r, fill_pages(r, 1, 1, 4), TSR_ERR_NONE, "error of a FILL of no memory");
	expect_page(r, new, 3, "the page that was mapped");
	put_ptes(r, 1, 1, 0, 0);
	flush(r);
	EXPECT(r, fill_pages(r, 1, 1, 5), TSR_ERR_MMU, "error of an entry that is not valid");
	EXPECT(r, r->m->e->m.fault_addr, VM_BASE + PAGE, "its address");
	put_ptes(r, 1, 1, fresh | TSR_PTE_VALID | TSR_PTE_VRAM, 0);
	flush(r);
	EXPECT(r, fill_pages(r, 1, 1, 6), TSR_ERR_READ_ONLY, "error of a read-only entry");

	put_ptes(r, 16, 16, fresh | vram | TSR_PTE_64K, TSR_PTES_GROUPS);
	flush(r);
	EXPECT(r, fill_pages(r, 31, 1, 7), TSR_ERR_NONE, "error of the last entry of 64 KiB");
	EXPECT(r, fill_pages(r, 16, 15, 7), TSR_ERR_NONE, "error of a FILL of 64 KiB");
	for (uint32_t i = 0; i < 16; i++)
		expect_page(r, new + i *PAGE, 7, "64 KiB");
	put_ptes(r, 16, 1, (fresh + PAGE) | vram | TSR_PTE_64K, 0);
	flush(r);
	EXPECT(r, fill_pages(r, 16, 1, 8), TSR_ERR_MMU_TABLE, "error of 64 KiB without alignment");
}

static void plane_regs(uint32_t *regs, const struct surface *s, uint32_t control, uint32_t pos)
{
	regs[TSR_PLANE_CONTROL / 4] = TSR_PLANE_ENABLE | TSR_PLANE_ALPHA_MASK | control;
	regs[TSR_PLANE_SURFACE / 4] =
		s->format << TSR_SURF_FORMAT_SHIFT | s->layout << TSR_SURF_LAYOUT_SHIFT;
	regs[TSR_PLANE_ADDR_LO / 4] = s->base;
	regs[TSR_PLANE_PITCH / 4] = s->pitch;
	regs[TSR_PLANE_SIZE / 4] = s->w | s->h << 16;
	regs[TSR_PLANE_SRC_W / 4] = s->w << 16;
	regs[TSR_PLANE_SRC_H / 4] = s->h << 16;
	regs[TSR_PLANE_DST_POS / 4] = pos;
	regs[TSR_PLANE_DST_SIZE / 4] = s->w | s->h << 16;
}

/* A frame of a primary plane and of an overlay that is blended over it. */
static void test_frame(struct run *r)
{
	TesseraHead *h = g_new0(TesseraHead, 1);
	uint32_t x0 = any(W), y0 = any(H);
	struct surface d, s;
	TesseraFrame frame;

	random_image(&target, W, H, TSR_FORMAT_XRGB8888);
	random_image(&source, W / 2, H / 2, TSR_FORMAT_ARGB8888);
	d = surface_of(r, TARGET, &target);
	s = surface_of(r, SOURCE, &source);
	put_image(r, &d, &target);
	put_image(r, &s, &source);
	h->s = &r->m->s;
	h->active = W | H << 16;
	h->row = g_new0(uint32_t, W);
	tessera_master_init(&h->m, h->s, TESSERA_NO_ENGINE);
	plane_regs(h->shown.plane[TSR_PLANE_PRIMARY], &d, 0, 0);
	plane_regs(h->shown.plane[TSR_PLANE_OVERLAY], &s,
		   TSR_PLANE_BLEND_PREMULTIPLIED << TSR_PLANE_BLEND_SHIFT, x0 | y0 << 16);
	for (uint32_t i = 0; i < 2; i++)
		EXPECT(r, tessera_plane_check(&h->m, h->shown.plane[i], i), TSR_ERR_NONE,
		       "error of plane %u", i);
	tessera_frame_begin(h, &frame);
	for (uint32_t y = 0; y < H; y++) {
		const uint32_t *row = tessera_frame_row(&frame, y);

		for (uint32_t x = 0; x < W; x++) {
			uint32_t want = target.px[y * W + x];

			if (x >= x0 && y >= y0 && x - x0 < s.w && y - y0 < s.h)
				want = tsr_ref_blend(TSR_BLEND_PREMULTIPLIED,
						     source.px[(y - y0) * s.w + x - x0], want);
			EXPECT(r, row[x], want & 0xffffff, "pixel %u,%u", x, y);
		}
	}
	tessera_frame_end(&frame);
	tessera_master_fini(&h->m);
	g_free(h->row);
	g_free(h);
}

static uint32_t mark(struct run *r, uint32_t command, uint64_t gpa, uint64_t bytes)
{
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_MARK, 0, 6), command, gpa, 0, bytes, 0 };

	return machine_run(r->m, tessera_paging_mark, p, r->interrupt);
}

static uint32_t fill(struct run *r, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
	uint32_t p[] = { TSR_PKT_HEADER(TSR_OP_FILL, 0, 8), 0, x, y, w, h, 1, 0 };

	return machine_run(r->m, tessera_copy_fill, p, r->interrupt);
}

/* Strict mode poisons memory that is given up, and refuses accesses to it. */
static void test_strict(struct run *r)
{
	uint64_t base = VRAM_BASE + TARGET;
	struct surface d = { base, TSR_LAYOUT_LINEAR, TSR_FORMAT_ARGB8888, 4096, 1024, 96 };
	uint32_t copy[] = { TSR_PKT_HEADER(TSR_OP_COPY, 0, 10), 0, 0, 0, 8, 0, 0, 16, 1, 0 };

	bind(r, 0, &d);
	EXPECT(r, mark(r, TSR_MARK_FREE, base, 64 * PAGE), TSR_ERR_NONE, "error of MARK");
	for (uint32_t i = 0; i < 64 * PAGE; i += 4)
		EXPECT(r, (uint32_t)ldl_le_p(machine_byte(r->m, base + i)), TSR_POISON,
		       "dword at %u of free memory", i);
	EXPECT(r, fill(r, 0, 63, 4, 1), TSR_ERR_STRICT_FREED, "write of a free page");
	EXPECT(r, r->m->e->m.fault_addr, base + 63 * PAGE, "its address");
	EXPECT(r, fill(r, 0, 64, 4, 1), TSR_ERR_NONE, "write behind the free pages");
	EXPECT(r, mark(r, TSR_MARK_ALLOCATED, base, PAGE), TSR_ERR_NONE, "error of MARK");
	EXPECT(r, machine_run(r->m, tessera_copy_copy, copy, r->interrupt),
	       TSR_ERR_STRICT_UNWRITTEN, "read of a page that was not written");
	EXPECT(r, fill(r, 0, 0, 4, 1), TSR_ERR_NONE, "write of an allocated page");
	EXPECT(r, r->m->s.page_state[TARGET / PAGE], TESSERA_PAGE_VALID, "its state");
	EXPECT(r, mark(r, TSR_MARK_EVICTED, base, PAGE), TSR_ERR_NONE, "error of MARK");
	EXPECT(r, fill(r, 0, 64, 4, 1), TSR_ERR_STRICT_STALE_SLOT, "use of a stale slot");
	r->m->aperture_shows = true;
	EXPECT(r, mark(r, TSR_MARK_FREE, base, PAGE), TSR_ERR_NONE, "error of MARK");
	EXPECT(r, r->m->errors[TSR_ERR_STRICT_SHOWN], 1, "errors of memory that is still shown");
}

/* Registers declare a large range at once. It is poisoned later, in pieces. */
static void test_poison(struct run *r)
{
	TesseraState *s = &r->m->s;
	uint32_t pieces = 1;

	tessera_mark_init(s);
	EXPECT(r, tessera_mark_register(s, TSR_MARK_FREE, VRAM_BASE, VRAM_PAGES * PAGE),
	       TSR_ERR_NONE, "error of MARK");
	EXPECT(r, r->m->poison_calls, 1, "calls of poison_later()");
	EXPECT(r, s->page_state[VRAM_PAGES - 1], TESSERA_PAGE_FREE | TESSERA_PAGE_POISON,
	       "state of the last page");
	while (tessera_mark_poison(s))
		pieces++;
	EXPECT(r, pieces > 1, true, "more than one piece");
	EXPECT(r, s->page_state[VRAM_PAGES - 1], TESSERA_PAGE_FREE, "state of the last page");
	for (uint64_t i = 0; i < VRAM_PAGES * PAGE; i += 4)
		EXPECT(r, (uint32_t)ldl_le_p(machine_byte(r->m, VRAM_BASE + i)), TSR_POISON,
		       "dword at %llu", (unsigned long long)i);
}

/* ---- Main ---------------------------------------------------------------- */

static const struct test {
	const char *name;
	void (*run)(struct run *r);
	uint32_t places; /* bit for each */
	uint32_t rounds;
	bool interrupt;
	bool strict;
} tests[] = {
	{ "FILL and COPY in all layouts", test_copy, 7, 60, true, false },
	{ "COPY inside a surface", test_overlap, 7, 20, true, false },
	{ "BLIT", test_blit, 7, 60, true, false },
	{ "DRAW", test_draw, 7, 60, true, false },
	{ "TRANSFER of swizzled surfaces", test_transfer, 3, 40, true, false },
	{ "PAGE_FILL", test_page_fill, 1, 10, true, false },
	{ "swizzling range", test_range, 1, 4, false, false },
	{ "aperture", test_aperture, 2, 1, false, false },
	{ "page tables", test_tables, 4, 1, false, false },
	{ "page tables in strict mode", test_tables, 4, 1, false, true },
	{ "frame of two planes", test_frame, 1, 10, false, false },
	{ "strict mode", test_strict, 1, 1, false, true },
	{ "poison of a large range", test_poison, 1, 1, false, true },
};

static const char *const places[PLACES] = { "VRAM", "aperture", "virtual addresses" };

/* Returns whether all rounds in one place pass. */
static bool run_test(const struct test *t, enum place place, bool interrupt)
{
	struct run r = { .m = machine_new(t->strict), .place = place, .interrupt = interrupt };

	for (uint32_t round = 0; round < t->rounds && !r.why; round++) {
		seed = round + 1;
		machine_use(r.m, place);
		t->run(&r);
		if (!r.why)
			r.why = r.m->wrong;
	}
	if (!r.why && interrupt && !r.m->interrupted)
		r.why = "no packet was interrupted";
	machine_free(r.m);
	if (r.why)
		printf("# %s\n", r.why);
	return !r.why;
}

int main(void)
{
	unsigned int number = 0, failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		for (enum place place = 0; place < PLACES; place++)
			for (int interrupt = 0; interrupt < 2; interrupt++) {
				bool ok;

				if (!(tests[i].places >> place & 1) ||
				    (interrupt && !tests[i].interrupt))
					continue;
				ok = run_test(&tests[i], place, interrupt);
				failed += !ok;
				printf("%s %u - device core: %s, %s%s\n", ok ? "ok" : "not ok",
				       ++number, tests[i].name, places[place],
				       interrupt ? ", interrupted" : "");
			}
	printf("1..%u\n", number);
	return failed != 0;
}
