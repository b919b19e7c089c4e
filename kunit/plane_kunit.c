// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of formats and modifiers of planes, and of their register values.
 */
#include <kunit/test.h>
#include <linux/bitfield.h>

#include <drm/drm_blend.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_plane.h>
#include <drm/tessera_drm.h>

#include "kms/kms.h"

struct shown {
	struct drm_framebuffer fb;
	struct drm_plane_state state;
	u32 regs[TSR_PLANE_REGS];
};

static struct shown *shown_new(struct kunit *test)
{
	struct shown *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->fb.format = drm_format_info(DRM_FORMAT_XRGB8888);
	s->fb.width = 1920;
	s->fb.height = 1080;
	s->fb.pitches[0] = 7936;
	s->state = (struct drm_plane_state) {
		.fb = &s->fb,
		.src_x = 3 << 16 | 0x8000,
		.src_y = 5 << 16,
		.src_w = 640 << 16,
		.src_h = 480 << 16,
		.crtc_x = 7,
		.crtc_y = 9,
		.crtc_w = 800,
		.crtc_h = 600,
		.alpha = DRM_BLEND_ALPHA_OPAQUE,
		.pixel_blend_mode = DRM_MODE_BLEND_PREMULTI,
		.rotation = DRM_MODE_ROTATE_0,
	};

	return s;
}

static void encode(struct shown *s)
{
	tessera_plane_encode(&s->state, TSR_LAYOUT_LINEAR, 0x123456789000ull, s->regs);
}

static u32 control(struct shown *s)
{
	encode(s);

	return s->regs[TSR_PLANE_CONTROL / 4];
}

/* Each listed format has a device format, and no two have the same. */
static void formats(struct kunit *test)
{
	const struct drm_format_info *info;
	unsigned int i, j;
	u32 format;

	for (i = 0; i < tessera_fb_num_formats; i++) {
		format = tessera_fb_format(tessera_fb_formats[i]);
		info = drm_format_info(tessera_fb_formats[i]);
		KUNIT_ASSERT_NOT_NULL(test, info);
		KUNIT_EXPECT_NE(test, format, 0);
		KUNIT_EXPECT_EQ(test, format, format & FIELD_MAX(TSR_SURF_FORMAT_MASK));
		KUNIT_EXPECT_EQ(test, info->num_planes, 1);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, format, tessera_fb_format(tessera_fb_formats[j]));
	}
	KUNIT_EXPECT_EQ(test, tessera_fb_format(DRM_FORMAT_NV12), 0);
	KUNIT_EXPECT_EQ(test, tessera_fb_format(DRM_FORMAT_XBGR8888), 0);
	KUNIT_EXPECT_EQ(test, tessera_fb_format(DRM_FORMAT_XRGB8888 | DRM_FORMAT_BIG_ENDIAN), 0);
}

/*
 * Modifiers are in the order of the layouts, and the list has DRM's terminator.
 */
static void modifiers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tessera_fb_modifiers[TSR_LAYOUT_LINEAR], DRM_FORMAT_MOD_LINEAR);
	KUNIT_EXPECT_EQ(test, tessera_fb_modifiers[TSR_LAYOUT_TILE4K],
			DRM_TESSERA_FORMAT_MOD_TILE4K);
	KUNIT_EXPECT_EQ(test, tessera_fb_modifiers[TSR_LAYOUT_MORTON],
			DRM_TESSERA_FORMAT_MOD_MORTON);
	KUNIT_EXPECT_EQ(test, tessera_fb_modifiers[TSR_LAYOUT_COUNT], DRM_FORMAT_MOD_INVALID);
}

static void surface(struct kunit *test)
{
	struct shown *s = shown_new(test);
	u32 i;

	encode(s);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_ADDR_LO / 4], 0x56789000);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_ADDR_HI / 4], 0x1234);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_PITCH / 4], 7936);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_SIZE / 4], 1080 << 16 | 1920);
	for (i = 0; i < tessera_fb_num_formats; i++) {
		s->fb.format = drm_format_info(tessera_fb_formats[i]);
		tessera_plane_encode(&s->state, TSR_LAYOUT_MORTON, 0, s->regs);
		KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_SURFACE / 4],
				FIELD_PREP(TSR_SURF_FORMAT_MASK,
					   tessera_fb_format(tessera_fb_formats[i])) |
				FIELD_PREP(TSR_SURF_LAYOUT_MASK, TSR_LAYOUT_MORTON));
	}
}

/*
 * The source is in 1/65536 of a pixel, the destination in whole pixels. It may
 * be left of or above the screen.
 */
static void rectangles(struct kunit *test)
{
	struct shown *s = shown_new(test);

	encode(s);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_SRC_X / 4], 3 << 16 | 0x8000);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_SRC_Y / 4], 5 << 16);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_SRC_W / 4], 640 << 16);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_SRC_H / 4], 480 << 16);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_DST_POS / 4], 9 << 16 | 7);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_DST_SIZE / 4], 600 << 16 | 800);
	s->state.crtc_x = -2;
	s->state.crtc_y = -300;
	encode(s);
	KUNIT_EXPECT_EQ(test, s->regs[TSR_PLANE_DST_POS / 4], (u32)-300 << 16 | 0xfffe);
}

static void blending(struct kunit *test)
{
	static const struct {
		u16 mode;
		u32 blend;
	} modes[] = {
		{ DRM_MODE_BLEND_PREMULTI, TSR_PLANE_BLEND_PREMULTIPLIED },
		{ DRM_MODE_BLEND_COVERAGE, TSR_PLANE_BLEND_COVERAGE },
		{ DRM_MODE_BLEND_PIXEL_NONE, TSR_PLANE_BLEND_NONE },
	};
	struct shown *s = shown_new(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		s->state.pixel_blend_mode = modes[i].mode;
		KUNIT_EXPECT_EQ(test, FIELD_GET(TSR_PLANE_BLEND_MASK, control(s)),
				modes[i].blend);
	}
	KUNIT_EXPECT_EQ(test, FIELD_GET(TSR_PLANE_ALPHA_MASK, control(s)), 0xff);
	s->state.alpha = 0x7f80;
	KUNIT_EXPECT_EQ(test, FIELD_GET(TSR_PLANE_ALPHA_MASK, control(s)), 0x7f);
	s->state.alpha = 0;
	KUNIT_EXPECT_EQ(test, FIELD_GET(TSR_PLANE_ALPHA_MASK, control(s)), 0);
	KUNIT_EXPECT_TRUE(test, control(s) & TSR_PLANE_ENABLE);
}

static void rotation(struct kunit *test)
{
	struct shown *s = shown_new(test);
	u32 turns;

	for (turns = 0; turns < 4; turns++) {
		s->state.rotation = DRM_MODE_ROTATE_0 << turns;
		KUNIT_EXPECT_EQ(test, FIELD_GET(TSR_PLANE_ROTATE_MASK, control(s)), turns);
		KUNIT_EXPECT_FALSE(test, control(s) & (TSR_PLANE_REFLECT_X | TSR_PLANE_REFLECT_Y));
	}
	s->state.rotation = DRM_MODE_ROTATE_90 | DRM_MODE_REFLECT_X;
	KUNIT_EXPECT_EQ(test, FIELD_GET(TSR_PLANE_ROTATE_MASK, control(s)), 1);
	KUNIT_EXPECT_EQ(test, control(s) & (TSR_PLANE_REFLECT_X | TSR_PLANE_REFLECT_Y),
			TSR_PLANE_REFLECT_X);
	s->state.rotation = DRM_MODE_ROTATE_0 | DRM_MODE_REFLECT_Y;
	KUNIT_EXPECT_EQ(test, control(s) & (TSR_PLANE_REFLECT_X | TSR_PLANE_REFLECT_Y),
			TSR_PLANE_REFLECT_Y);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(formats),
	KUNIT_CASE(modifiers),
	KUNIT_CASE(surface),
	KUNIT_CASE(rectangles),
	KUNIT_CASE(blending),
	KUNIT_CASE(rotation),
	{}
};

static struct kunit_suite suite = {
	.name = "tessera_plane",
	.test_cases = cases,
};

kunit_test_suite(suite);
