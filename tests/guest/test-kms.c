// SPDX-License-Identifier: MIT
/*
 * KMS: the picture on screen by the device's CRC, compared with the arithmetic
 * of hardware.rst, its timing, and requests that must be refused.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <drm.h>

#include "foreign.h"
#include "kms.h"
#include "pci.h"
#include "stall.h"
#include "vm.h"

/*
 * Small, because both the guest and the expected picture are computed slowly.
 */
#define WIDTH 96
#define HEIGHT 64

struct bench {
	struct tsr_kms kms;
	struct drm_mode_modeinfo mode;
	struct tsr_fb primary;
};

/* Show a picture on head 0, with default colours. */
static struct bench bench_begin(void)
{
	struct bench b = { .kms = tsr_kms_open(), .mode = tsr_mode(WIDTH, HEIGHT) };
	struct tsr_atomic req = {};

	tsr_add(&b.kms, &req, b.kms.heads[0].crtc, "GAMMA_LUT", 0);
	tsr_add(&b.kms, &req, b.kms.heads[0].crtc, "CTM", 0);
	tsr_commit(&b.kms, &req);

	b.primary = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	tsr_fb_paint(&b.primary, 1);
	tsr_light(&b.kms, &b.kms.heads[0], &b.mode, &b.primary);
	return b;
}

static void bench_end(struct bench *b)
{
	tsr_dark(&b->kms, &b->kms.heads[0]);
	tsr_kms_close(&b->kms);
}

/*
 * Show these planes, from the primary on, with the others off, and check the
 * CRC.
 */
static void show(struct bench *b, const struct tsr_show *shows, uint32_t num)
{
	struct tsr_atomic req = {};

	for (uint32_t i = 0; i < TSR_PLANES; i++)
		tsr_add_show(&b->kms, &req, b->kms.heads[0].crtc, b->kms.heads[0].planes[i],
			     i < num ? &shows[i] : NULL);
	tsr_commit(&b->kms, &req);
	require_eq(tsr_crc_now(&b->kms, 0), tsr_crc_expect(&b->mode, shows, num, NULL));
}

/* Every format, and CPU writes to a framebuffer on screen. */
static void formats(void)
{
	static const uint32_t list[] = { DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888,
					 DRM_FORMAT_RGB565, DRM_FORMAT_XRGB2101010 };
	struct bench b = bench_begin();

	for (uint32_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct tsr_fb fb = tsr_fb_new(&b.kms, WIDTH, HEIGHT, list[i]);
		struct tsr_show s = tsr_show_at(&fb, 0, 0);

		tsr_fb_paint(&fb, i);
		show(&b, &s, 1);
		tsr_fb_paint(&fb, i + 10);
		require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s, 1, NULL));
		tsr_fb_free(&b.kms, &fb);
		/*
		 * Removing a framebuffer on screen disables its plane, or the
		 * whole CRTC.
		 */
		tsr_light(&b.kms, &b.kms.heads[0], &b.mode, &b.primary);
	}
	bench_end(&b);
}

/*
 * Overlay and cursor: positions, source rectangles, scaling, each rotation and
 * reflection, alpha and blend modes.
 */
static void planes(void)
{
	static const uint32_t turns[] = { DRM_MODE_ROTATE_0, DRM_MODE_ROTATE_90,
					  DRM_MODE_ROTATE_180, DRM_MODE_ROTATE_270 };
	struct bench b = bench_begin();
	struct tsr_fb over = tsr_fb_new(&b.kms, 40, 24, DRM_FORMAT_ARGB8888);
	struct tsr_fb cursor = tsr_fb_new(&b.kms, 16, 16, DRM_FORMAT_ARGB8888);
	struct tsr_show s[3] = { tsr_show_at(&b.primary, 0, 0), tsr_show_at(&over, 5, 7),
				 tsr_show_at(&cursor, -3, HEIGHT - 9) };

	tsr_fb_paint(&over, 2);
	tsr_fb_paint(&cursor, 3);
	show(&b, s, 3);
	for (uint32_t i = 0; i < 16; i++) {
		s[1].rotation = turns[i / 4] | (i & 1 ? DRM_MODE_REFLECT_X : 0) |
				(i & 2 ? DRM_MODE_REFLECT_Y : 0);
		s[1].blend = i % 3;
		s[1].alpha = i & 1 ? 0x80ff : 0xffff;
		/* partly off screen, part of the source, scaled up and down */
		s[1].x = (int32_t)i * 6 - 20;
		s[1].y = 40 - (int32_t)i * 5;
		s[1].w = 20 + i * 4;
		s[1].h = 50 - i * 2;
		s[1].src_x = 3 << 16 | 0x4000;
		s[1].src_y = 2 << 16;
		s[1].src_w = 30 << 16;
		s[1].src_h = (20 << 16) - 0x1234;
		show(&b, s, 3);
	}
	/*
	 * The cursor can be scaled, too. The primary plane may be smaller than
	 * the screen, or show another framebuffer.
	 */
	s[2].w = 31;
	s[0].src_w = 50 << 16;
	s[0].w = 50;
	show(&b, s, 3);
	s[0] = s[1];
	show(&b, s, 1);
	bench_end(&b);
}

/*
 * A swizzled object that is shown cannot be mapped in a VM while the CPU sees it
 * through a range: it would lose the range, and cannot be evicted.
 */
static void keeps_its_view(struct bench *b, const struct tsr_fb *fb)
{
	volatile uint32_t *words = fb->bo.map;
	const struct drm_tessera_vm_bind_op map = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = fb->bo.handle,
		.address = 0x40000000,
		.range = fb->bo.size,
	};
	uint32_t vm = tsr_vm_new(&b->kms.dev), word = words[7];

	require_err(__tsr_vm_bind(b->kms.dev.fd, vm, &map, 1, 0, 0), -EBUSY);
	words[7] = word;
	tsr_vm_free(&b->kms.dev, vm);
}

/* A surface in each swizzled layout: linear CPU writes are shown linearly. */
static void layouts(void)
{
	struct bench b = bench_begin();

	for (uint32_t layout = 1; layout < TSR_LAYOUT_COUNT; layout++) {
		struct drm_tessera_bo_create args = {
			.size = 384 * HEIGHT,
			.supported = tsr_bit(tsr_seg_visible(&b.kms.dev)),
			.flags = DRM_TESSERA_BO_CPU_ACCESS,
			.layout = layout,
			.pitch = 384,
		};
		struct drm_mode_fb_cmd2 cmd = {
			.width = WIDTH,
			.height = HEIGHT,
			.pixel_format = DRM_FORMAT_XRGB8888,
			.pitches = { 384 },
			.flags = DRM_MODE_FB_MODIFIERS,
		};
		struct tsr_fb fb = { .width = WIDTH,
				     .height = HEIGHT,
				     .pitch = 384,
				     .format = DRM_FORMAT_XRGB8888 };
		struct tsr_show s;

		require_ok(__tsr_bo_create(b.kms.dev.fd, &args));
		fb.bo = (struct tsr_bo){ .handle = args.handle, .size = args.size };
		tsr_bo_map(&b.kms.dev, &fb.bo);
		tsr_fb_paint(&fb, layout);
		cmd.handles[0] = args.handle;
		require_err(__tsr_addfb(b.kms.dev.fd, &cmd), -EINVAL);
		cmd.modifier[0] = DRM_TESSERA_FORMAT_MOD(3 - layout);
		require_err(__tsr_addfb(b.kms.dev.fd, &cmd), -EINVAL);
		for (int implicit = 0; implicit < 2; implicit++) {
			cmd.flags = implicit ? 0 : DRM_MODE_FB_MODIFIERS;
			cmd.modifier[0] = implicit ? 0 : DRM_TESSERA_FORMAT_MOD(layout);
			require_ok(__tsr_addfb(b.kms.dev.fd, &cmd));
			fb.id = cmd.fb_id;
			s = tsr_show_at(&fb, 0, 0);
			show(&b, &s, 1);
		}
		keeps_its_view(&b, &fb);
	}
	bench_end(&b);
}

/* A framebuffer that begins at an offset in its object. */
static void offset(void)
{
	struct bench b = bench_begin();
	struct tsr_fb all = tsr_fb_new(&b.kms, WIDTH, 2 * HEIGHT, DRM_FORMAT_XRGB8888), fb = all;
	struct drm_mode_fb_cmd2 cmd = {
		.width = WIDTH,
		.height = HEIGHT,
		.pixel_format = DRM_FORMAT_XRGB8888,
		.handles = { all.bo.handle },
		.pitches = { all.pitch },
		.offsets = { 7 * all.pitch + 16 },
	};
	struct tsr_show s;

	tsr_fb_paint(&all, 4);
	require_ok(__tsr_addfb(b.kms.dev.fd, &cmd));
	fb.id = cmd.fb_id;
	fb.height = HEIGHT;
	fb.bo.map = (char *)all.bo.map + cmd.offsets[0];
	s = tsr_show_at(&fb, 0, 0);
	show(&b, &s, 1);
	bench_end(&b);
}

/* A framebuffer that the device could not read is refused. */
static void bad_framebuffers(void)
{
	static const struct {
		uint32_t width, height, pitch, offset, format;
		int err;
	} bad[] = {
		{ 64, 64, 255, 0, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 64, 64, 258, 0, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 64, 64, 256, 2, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 64, 65, 256, 0, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 64, 64, 256, 4, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 4, 1, 262148, 0, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 64, 64, 0x80000000, 0, DRM_FORMAT_XRGB8888, -ERANGE },
		{ 16385, 1, 65540, 0, DRM_FORMAT_XRGB8888, -EINVAL },
		{ 64, 64, 256, 0, DRM_FORMAT_XBGR8888, -EINVAL },
	};
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_bo bo = tsr_bo_new(&kms.dev, 64 * 256, tsr_bit(tsr_seg_visible(&kms.dev)), 0);
	struct tsr_bo gart = tsr_bo_new(&kms.dev, 64 * 256, tsr_bit(tsr_seg_gart(&kms.dev)), 0);
	struct tsr_bo odd = tsr_bo_new(&kms.dev, 80 * 256, tsr_bit(tsr_seg_visible(&kms.dev)), 0);
	struct drm_mode_fb_cmd2 cmd = {
		.width = 64, .height = 64, .pitches = { 256 }, .pixel_format = DRM_FORMAT_XRGB8888
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct drm_mode_fb_cmd2 c = { .width = bad[i].width,
					      .height = bad[i].height,
					      .pitches = { bad[i].pitch },
					      .offsets = { bad[i].offset },
					      .pixel_format = bad[i].format,
					      .handles = { bo.handle } };

		tap_note("case %u", i);
		require_err(__tsr_addfb(kms.dev.fd, &c), bad[i].err);
	}
	cmd.handles[0] = gart.handle;
	require_err(__tsr_addfb(kms.dev.fd, &cmd), -EINVAL);
	cmd.handles[0] = 12345;
	require_err(__tsr_addfb(kms.dev.fd, &cmd), -ENOENT);
	cmd.handles[0] = bo.handle;
	require_ok(__tsr_addfb(kms.dev.fd, &cmd));
	/* The object must hold whole rows of tiles. */
	cmd.handles[0] = odd.handle;
	cmd.flags = DRM_MODE_FB_MODIFIERS;
	cmd.modifier[0] = DRM_TESSERA_FORMAT_MOD_TILE4K;
	require_ok(__tsr_addfb(kms.dev.fd, &cmd));
	cmd.height = 80;
	require_msg(__tsr_addfb(kms.dev.fd, &cmd) == -EINVAL,
		    "expected -EINVAL for a framebuffer whose last row of tiles is beyond its "
		    "object's end");
	tsr_kms_close(&kms);
}

/* An invalid state is refused and changes nothing. */
static void bad_states(void)
{
	struct bench b = bench_begin();
	struct tsr_head *head = &b.kms.heads[0];
	uint32_t primary = head->planes[TSR_PRIMARY], crc = tsr_crc_now(&b.kms, 0);
	uint32_t lut[2 * 255] = {};
	struct drm_mode_modeinfo mode = b.mode;
	struct {
		uint32_t object;
		const char *prop;
		uint64_t value;
		int err;
	} bad[] = {
		{ primary, "SRC_W", 0, -ERANGE },
		{ primary, "SRC_W", 0xffff, -ERANGE },
		{ primary, "SRC_H", 30, -ERANGE },
		{ primary, "SRC_X", 1, -ENOSPC },
		{ primary, "CRTC_W", 16385, -ERANGE },
		{ primary, "rotation", DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90, -EINVAL },
		{ primary, "zpos", 2, -EINVAL },
		{ primary, "CRTC_ID", b.kms.heads[1].crtc, -EINVAL },
		{ head->connector, "CRTC_ID", b.kms.heads[1].crtc, -EINVAL },
		{ head->crtc, "GAMMA_LUT", tsr_blob(&b.kms, lut, sizeof(lut)), -EINVAL },
		{ head->crtc, "MODE_ID", 0, -EINVAL },
		{ 0, "MODE_ID", 0, -EINVAL },
		{ 0, "MODE_ID", 0, -EINVAL },
		{ 0, "MODE_ID", 0, -EINVAL },
	};
	uint32_t n = ARRAY_SIZE(bad);

	/*
	 * A frame longer than a second, a frame shorter than a millisecond, and
	 * a mode larger than the device supports.
	 */
	mode.clock = 1;
	bad[n - 3].value = tsr_blob(&b.kms, &mode, sizeof(mode));
	mode.clock = 2000000;
	bad[n - 2].value = tsr_blob(&b.kms, &mode, sizeof(mode));
	mode = tsr_mode(4200, 100);
	bad[n - 1].value = tsr_blob(&b.kms, &mode, sizeof(mode));
	for (uint32_t i = 0; i < n; i++) {
		struct tsr_atomic req = {};

		tap_note("case %u: %s", i, bad[i].prop);
		tsr_add(&b.kms, &req, bad[i].object ? bad[i].object : head->crtc, bad[i].prop,
			bad[i].value);
		require_err(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET),
			    bad[i].err);
	}
	require_eq(tsr_crc_now(&b.kms, 0), crc);
	bench_end(&b);
}

static uint32_t inverted(uint32_t rgb)
{
	return ~rgb;
}

/* red from green, green from blue, blue = red / 2 - green / 4 */
static uint32_t mixed(uint32_t rgb)
{
	int32_t r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;
	int32_t v = (0x8000 * r - 0x4000 * g + 32768) >> 16;

	return (uint32_t)(g << 16 | b << 8 | (v < 0 ? 0 : v));
}

static uint32_t mixed_inverted(uint32_t rgb)
{
	return ~mixed(rgb);
}

/* Gamma table and colour matrix: each alone, both, and none again. */
static void color(void)
{
	struct bench b = bench_begin();
	struct tsr_show s = tsr_show_at(&b.primary, 0, 0);
	uint32_t crtc = b.kms.heads[0].crtc;
	struct drm_color_lut lut[256];
	struct drm_color_ctm ctm = { .matrix = { 0, 1ull << 32, 0, 0, 0, 1ull << 32, 1ull << 31,
						 1ull << 63 | 1ull << 30, 0 } };
	uint32_t lut_blob, ctm_blob;
	struct {
		bool gamma, matrix;
		uint32_t (*fn)(uint32_t);
	} steps[] = { { true, false, inverted },
		      { true, true, mixed_inverted },
		      { false, true, mixed },
		      { false, false, NULL } };

	for (uint32_t i = 0; i < 256; i++)
		lut[i] = (struct drm_color_lut){ .red = (uint16_t)((255 - i) * 257),
						 .green = (uint16_t)((255 - i) * 257),
						 .blue = (uint16_t)((255 - i) * 257) };
	lut_blob = tsr_blob(&b.kms, lut, sizeof(lut));
	ctm_blob = tsr_blob(&b.kms, &ctm, sizeof(ctm));
	for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct tsr_atomic req = {};

		tsr_add(&b.kms, &req, crtc, "GAMMA_LUT", steps[i].gamma ? lut_blob : 0);
		tsr_add(&b.kms, &req, crtc, "CTM", steps[i].matrix ? ctm_blob : 0);
		tsr_commit(&b.kms, &req);
		require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s, 1, steps[i].fn));
	}
	bench_end(&b);
}

/*
 * Tolerance for clock drift and the microsecond resolution of events. A frame
 * lasts 16,667 us.
 */
static void require_near(int64_t off, int64_t passed)
{
	int64_t most = 1000000 + passed / 1000;

	require_msg(off > -most && off < most, "%lld ns from a frame's time", (long long)off);
}

/*
 * Flip events come in order, each for the frame that first shows its picture:
 * that frame's CRC proves it. Their times are whole frames apart, however late
 * the interrupt is handled.
 */
static void flips(void)
{
	struct bench b = bench_begin();
	struct tsr_fb other = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	const struct tsr_fb *fbs[] = { &b.primary, &other };
	uint32_t crcs[2], primary = b.kms.heads[0].planes[TSR_PRIMARY], frame, crc;
	uint64_t period = tsr_mode_ns(&b.mode);
	struct drm_event_vblank last = {};
	int fd;

	tsr_fb_paint(&other, 2);
	for (int i = 0; i < 2; i++) {
		struct tsr_show s = tsr_show_at(fbs[i], 0, 0);

		crcs[i] = tsr_crc_expect(&b.mode, &s, 1, NULL);
	}
	for (uint32_t i = 1; i <= 30; i++) {
		struct drm_event_vblank event;
		struct tsr_atomic req = { .num = 1,
					  .objects = { primary },
					  .props = { tsr_prop(&b.kms, primary, "FB_ID") },
					  .values = { fbs[i % 2]->id } };

		tsr_kms_settle_clock(&b.kms, b.kms.heads[0].crtc);
		fd = tsr_crc_begin(0);
		require_ok(__tsr_commit(b.kms.dev.fd, &req,
					DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
		event = tsr_event(b.kms.dev.fd);
		require_eq(event.base.type, DRM_EVENT_FLIP_COMPLETE);
		require_eq(event.crtc_id, b.kms.heads[0].crtc);
		do {
			crc = tsr_crc_next(fd, &frame);
			require_msg(crc == crcs[0] || crc == crcs[1],
				    "the frame's CRC matches neither picture");
			if ((int32_t)(frame - event.sequence) < 0)
				continue;
			require_eq(crc, crcs[i % 2]);
		} while ((int32_t)(frame - event.sequence) < 0);
		tsr_crc_end(fd);
		if (i > 1) {
			int64_t frames = (int32_t)(event.sequence - last.sequence);
			int64_t off = tsr_event_ns(&event) - tsr_event_ns(&last) -
				      frames * (int64_t)period;

			require(frames > 0);
			require_near(off, frames * (int64_t)period);
		}
		last = event;
	}
	bench_end(&b);
}

/* Return the CRTC's current vblank number. */
static uint64_t sequence(struct bench *b)
{
	struct drm_crtc_get_sequence get = { .crtc_id = b->kms.heads[0].crtc };

	require_ok(tsr_ioctl(b->kms.dev.fd, DRM_IOCTL_CRTC_GET_SEQUENCE, &get));
	return get.sequence;
}

/*
 * An async flip completes at once. Its event has the number of the previous
 * vblank.
 */
static void async_flips(void)
{
	struct bench b = bench_begin();
	struct tsr_fb other = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_show s = tsr_show_at(&other, 0, 0);
	struct drm_mode_crtc_page_flip flip = { .crtc_id = b.kms.heads[0].crtc,
						.fb_id = other.id,
						.flags = DRM_MODE_PAGE_FLIP_ASYNC |
							 DRM_MODE_PAGE_FLIP_EVENT };

	tsr_fb_paint(&other, 5);
	for (int i = 0; i < 10; i++) {
		uint64_t before = sequence(&b);
		struct drm_event_vblank event;

		flip.fb_id = i % 2 ? b.primary.id : other.id;
		require_ok(tsr_ioctl(b.kms.dev.fd, DRM_IOCTL_MODE_PAGE_FLIP, &flip));
		event = tsr_event(b.kms.dev.fd);
		require_eq(event.base.type, DRM_EVENT_FLIP_COMPLETE);
		require(event.sequence - (uint32_t)before <= sequence(&b) - before);
	}
	flip.fb_id = other.id;
	require_ok(tsr_ioctl(b.kms.dev.fd, DRM_IOCTL_MODE_PAGE_FLIP, &flip));
	tsr_event(b.kms.dev.fd);
	require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s, 1, NULL));
	bench_end(&b);
}

/* Count the display's interrupts so far, on all CPUs. */
static uint64_t interrupts(void)
{
	char *text = tsr_read_file("/proc/interrupts"), *line, *next = text;
	uint64_t sum = 0;

	require(text);
	while ((line = strsep(&next, "\n"))) {
		char *at = strchr(line, ':'), *end;

		for (at = at && strstr(line, "tessera-display") ? at + 1 : NULL; at; at = end) {
			uint64_t count = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += count;
		}
	}
	free(text);
	return sum;
}

#define VBLANK_DELAY "/sys/module/drm/parameters/vblankoffdelay"

static char *delay_before;

static void vblank_delay_restore(void)
{
	tsr_write_file(VBLANK_DELAY, delay_before);
}

static void vblank_delay(const char *ms)
{
	delay_before = tsr_read_file(VBLANK_DELAY);
	require(delay_before);
	atexit(vblank_delay_restore);
	require_ok(tsr_write_file(VBLANK_DELAY, ms));
}

/*
 * Without waiters the vblank interrupt is off. Vblank number and time can be
 * queried all the same and belong together.
 */
static void idle(void)
{
	struct drm_crtc_get_sequence last = {}, now;
	struct bench b = (vblank_delay("-1"), bench_begin());
	uint64_t period = tsr_mode_ns(&b.mode), before = interrupts();
	struct tsr_atomic req = {};
	uint64_t until;

	tsr_add(&b.kms, &req, b.kms.heads[0].planes[TSR_PRIMARY], "FB_ID", b.primary.id);
	for (uint32_t i = 0; i < 3; i++) {
		require_ok(__tsr_commit(b.kms.dev.fd, &req,
					DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
		tsr_event(b.kms.dev.fd);
	}
	require(interrupts() > before);
	until = tsr_patience();
	do {
		require_msg(tap_now_ns() < until, "vblanks interrupt on and on");
		before = interrupts();
		usleep(200000);
	} while (interrupts() != before);

	for (uint32_t i = 0; i < 40; i++) {
		tsr_kms_settle_clock(&b.kms, b.kms.heads[0].crtc);
		now = (struct drm_crtc_get_sequence){ .crtc_id = b.kms.heads[0].crtc };
		require_ok(tsr_ioctl(b.kms.dev.fd, DRM_IOCTL_CRTC_GET_SEQUENCE, &now));
		if (i) {
			int64_t passed = (int64_t)((now.sequence - last.sequence) * period);

			require_near(now.sequence_ns - last.sequence_ns - passed, passed);
		}
		last = now;
		usleep(5000 * (i % 8));
	}
	bench_end(&b);
}

static int async_flip(struct bench *b, const struct tsr_fb *fb)
{
	struct drm_mode_crtc_page_flip flip = { .crtc_id = b->kms.heads[0].crtc,
						.fb_id = fb->id,
						.flags = DRM_MODE_PAGE_FLIP_ASYNC |
							 DRM_MODE_PAGE_FLIP_EVENT };

	return tsr_ioctl(b->kms.dev.fd, DRM_IOCTL_MODE_PAGE_FLIP, &flip);
}

static bool event_comes(struct bench *b)
{
	struct pollfd pfd = { .fd = b->kms.dev.fd, .events = POLLIN };

	return poll(&pfd, 1, 300) > 0;
}

/* An async flip does not wait for rendering or for the previous flip. */
static void async_flips_do_not_wait(void)
{
	struct bench b = bench_begin();
	struct tsr_fb other = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct drm_mode_modeinfo slow = b.mode;
	struct tsr_atomic req = {};
	int ret, dmabuf, fence;

	tsr_fb_paint(&other, 5);
	require_ok(async_flip(&b, &other));
	require_eq(tsr_event(b.kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	dmabuf = tsr_export(&b.kms.dev, &b.primary.bo);
	fence = tsr_foreign_fence(foreign);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	require_ok(async_flip(&b, &b.primary));
	require_err(__tsr_bo_wait(b.kms.dev.fd, b.primary.bo.handle, 0, 0), -EBUSY);
	require(!event_comes(&b));
	require_err(async_flip(&b, &other), -EBUSY);
	tsr_foreign_signal(foreign, 0);
	require_eq(tsr_event(b.kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	tsr_foreign_close(foreign);
	close(fence);
	close(dmabuf);

	/* frames of almost a second */
	slow.clock = slow.htotal * slow.vtotal * 10u / 9 / 1000;
	tsr_light(&b.kms, &b.kms.heads[0], &slow, &b.primary);
	tsr_add(&b.kms, &req, b.kms.heads[0].planes[TSR_PRIMARY], "FB_ID", other.id);
	do {
		require_ok(__tsr_commit(b.kms.dev.fd, &req,
					DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
		ret = async_flip(&b, &b.primary);
		if (!ret) /* A frame has ended between the two calls. */
			tsr_event(b.kms.dev.fd);
		tsr_event(b.kms.dev.fd);
	} while (!ret);
	require_err(ret, -EBUSY);
	bench_end(&b);
}

/* The connector lists the monitor's modes. The preferred one is xres x yres. */
static void monitor(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo modes[128];
	struct drm_mode_get_connector c = { .connector_id = kms.heads[0].connector,
					    .modes_ptr = (uintptr_t)modes };
	uint32_t i;

	require_ok(tsr_ioctl(kms.dev.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	require_eq(c.connection, 1);
	require(c.count_modes > 3 && c.count_modes <= ARRAY_SIZE(modes));
	c.count_props = c.count_encoders = 0;
	require_ok(tsr_ioctl(kms.dev.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	for (i = 0; i < c.count_modes; i++)
		if (modes[i].type & DRM_MODE_TYPE_PREFERRED)
			break;
	require(i < c.count_modes);
	require_eq(modes[i].hdisplay, 1280);
	require_eq(modes[i].vdisplay, 800);
	require(tsr_prop_get(&kms, kms.heads[0].connector, "EDID"));
	tsr_kms_close(&kms);
}

/*
 * Each head has its own picture, mode and timing. A lease of one head gives
 * access to that head only.
 */
static void two_heads(void)
{
	struct bench b = bench_begin();
	struct tsr_head *second = &b.kms.heads[1];
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH / 2, HEIGHT / 2);
	struct tsr_fb fb = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_show s[2] = { tsr_show_at(&b.primary, 0, 0), tsr_show_at(&fb, 0, 0) };
	uint32_t objects[] = { second->crtc, second->connector, second->planes[TSR_PRIMARY] };
	struct drm_mode_create_lease lease = { .object_ids = (uintptr_t)objects,
					       .object_count = ARRAY_SIZE(objects) };
	struct tsr_atomic req = {};

	tsr_fb_paint(&fb, 9);
	tsr_light(&b.kms, second, &mode, &fb);
	require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s[0], 1, NULL));
	require_eq(tsr_crc_now(&b.kms, 1), tsr_crc_expect(&mode, &s[1], 1, NULL));

	require_ok(tsr_ioctl(b.kms.dev.fd, DRM_IOCTL_MODE_CREATE_LEASE, &lease));
	tsr_add(&b.kms, &req, second->planes[TSR_PRIMARY], "CRTC_X", 4);
	{
		struct drm_set_client_cap args = { DRM_CLIENT_CAP_ATOMIC, 1 };

		require_ok(tsr_ioctl((int)lease.fd, DRM_IOCTL_SET_CLIENT_CAP, &args));
	}
	require_ok(__tsr_commit((int)lease.fd, &req, 0));
	s[1].x = 4;
	require_eq(tsr_crc_now(&b.kms, 1), tsr_crc_expect(&mode, &s[1], 1, NULL));
	req.num = 0;
	tsr_add(&b.kms, &req, b.kms.heads[0].planes[TSR_PRIMARY], "CRTC_X", 4);
	require_err(__tsr_commit((int)lease.fd, &req, 0), -ENOENT);
	require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s[0], 1, NULL));

	tsr_dark(&b.kms, second);
	require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s[0], 1, NULL));
	bench_end(&b);
}

/* Set modes repeatedly while everything that is not on screen is evicted. */
static void modes_in_a_storm(void)
{
	struct bench b = bench_begin();
	struct tsr_device *dev = &b.kms.dev;
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	uint32_t ctx = tsr_context_new(dev, 0);
	struct tsr_bo big = tsr_bo_new(dev, seg->size * 3 / 8, tsr_bit(seg), 0);
	struct tsr_bo second = tsr_bo_new(dev, seg->size * 3 / 8, tsr_bit(seg), 0);
	struct tsr_fb fb = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_RGB565);

	tsr_fb_paint(&fb, 77);
	for (uint32_t i = 0; i < 12; i++) {
		const struct tsr_fb *now = i % 2 ? &fb : &b.primary;
		struct tsr_show s = tsr_show_at(now, 0, 0);

		b.mode = tsr_mode(WIDTH - 8 * (i % 3), HEIGHT - 4 * (i % 4));
		tsr_gpu_fill(dev, ctx, i % 2 ? &big : &second, i);
		tsr_evict_set(tsr_bit(seg));
		tsr_light(&b.kms, &b.kms.heads[0], &b.mode, now);
		tsr_gpu_fill(dev, ctx, i % 2 ? &second : &big, i);
		tap_note("round %u: at %#llx", i,
			 (unsigned long long)tsr_bo_info(dev, &now->bo).segment_offset);
		require_eq(tsr_bo_info(dev, &now->bo).segment, seg->id);
		require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s, 1, NULL));
	}
	/* Framebuffers that are no longer on screen can be evicted. */
	tsr_dark(&b.kms, &b.kms.heads[0]);
	tsr_evict_set(tsr_bit(seg));
	require_eq(tsr_bo_info(dev, &fb.bo).segment, 0);
	require_eq(tsr_bo_info(dev, &b.primary.bo).segment, 0);
	tsr_kms_close(&b.kms);
}

/* After standby the picture is restored, including its colour matrix. */
static void standby(void)
{
	struct bench b = bench_begin();
	struct tsr_show s = tsr_show_at(&b.primary, 0, 0);
	struct drm_color_ctm ctm = { .matrix = { 0, 1ull << 32, 0, 0, 0, 1ull << 32, 1ull << 31,
						 1ull << 63 | 1ull << 30, 0 } };
	struct tsr_atomic req = {};

	tsr_add(&b.kms, &req, b.kms.heads[0].crtc, "CTM", tsr_blob(&b.kms, &ctm, sizeof(ctm)));
	tsr_commit(&b.kms, &req);
	tsr_suspend_devices();
	require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s, 1, mixed));
	bench_end(&b);
}

static void let_interrupts_in(void)
{
	tsr_pci_hold_interrupts(false);
}

struct flipper {
	struct bench *bench;
	struct tsr_atomic req;
	volatile pid_t tid;
};

/* Returns after its event was sent. */
static void *flip(void *arg)
{
	struct flipper *flipper = arg;

	flipper->tid = gettid();
	require_ok(
		__tsr_commit(flipper->bench->kms.dev.fd, &flipper->req, DRM_MODE_PAGE_FLIP_EVENT));
	return NULL;
}

/*
 * A vblank interrupt is delayed until the next flip has been committed. It must
 * not complete that flip, which the device has not latched yet.
 */
static void flips_behind_late_vblanks(void)
{
	struct bench b = (vblank_delay("0"), bench_begin());
	struct drm_mode_modeinfo mode = b.mode;
	struct flipper flipper = { .bench = &b };

	/*
	 * Long frames: the next vblank, which completes the flip, comes after
	 * the checks.
	 */
	mode.clock /= 12;
	tsr_light(&b.kms, &b.kms.heads[0], &mode, &b.primary);
	tsr_add(&b.kms, &flipper.req, b.kms.heads[0].planes[TSR_PRIMARY], "FB_ID", b.primary.id);
	/* Enables the vblank interrupt. */
	require_ok(__tsr_commit(b.kms.dev.fd, &flipper.req, DRM_MODE_PAGE_FLIP_EVENT));
	tsr_event(b.kms.dev.fd);
	atexit(let_interrupts_in);
	for (uint32_t i = 0; i < 6; i++) {
		struct drm_event_vblank event;
		pthread_t thread;
		int64_t begun;

		tsr_pci_hold_interrupts(true);
		/* The device counts vblanks by time alone. */
		usleep((useconds_t)(tsr_mode_ns(&mode) / 1000 + 2000));
		flipper.tid = 0;
		tsr_kms_settle_clock(&b.kms, b.kms.heads[0].crtc);
		begun = (int64_t)tap_now_ns();
		require(!pthread_create(&thread, NULL, flip, &flipper));
		tsr_wait_for(flipper.tid && tsr_waits(flipper.tid));
		tsr_pci_hold_interrupts(false);
		event = tsr_event(b.kms.dev.fd);
		pthread_join(thread, NULL);
		require_msg(tsr_event_ns(&event) > begun - 1000000,
			    "the flip event has the time of a vblank %lld us before the flip was "
			    "requested: it was sent before the device latched the flip",
			    (long long)(begun - tsr_event_ns(&event)) / 1000);
	}
	bench_end(&b);
}

/* CPU writes to the framebuffer are shown without any ioctl. */
static void drawing_is_seen(void)
{
	struct bench b = bench_begin();
	struct tsr_show s = tsr_show_at(&b.primary, 0, 0);

	tsr_fb_paint(&b.primary, 4);
	require_eq(tsr_crc_now(&b.kms, 0), tsr_crc_expect(&b.mode, &s, 1, NULL));
	bench_end(&b);
}

/*
 * Unbind the device with a picture on screen and a flip pending: the flip's
 * event is still sent.
 */
static void unplug(void)
{
	struct bench b = (tsr_pci_begin(), bench_begin());
	struct tsr_fb other = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	uint32_t primary = b.kms.heads[0].planes[TSR_PRIMARY];
	struct tsr_atomic req = {};

	tsr_add(&b.kms, &req, primary, "FB_ID", other.id);
	require_ok(__tsr_commit(b.kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
	tsr_pci_unbind();
	require_eq(tsr_event(b.kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	require_err(__tsr_commit(b.kms.dev.fd, &req, 0), -ENODEV);
	tsr_kms_close(&b.kms);
	tsr_pci_bind();
	b = bench_begin();
	bench_end(&b);
}

static const struct tap_test tests[] = {
	{ "monitor", monitor, 0, 0 },
	{ "formats", formats, 0, 0 },
	{ "planes", planes, 0, 0 },
	{ "layouts", layouts, 0, 0 },
	{ "a framebuffer with an offset", offset, 0, 0 },
	{ "bad framebuffers", bad_framebuffers, 0, 0 },
	{ "bad states", bad_states, 0, 0 },
	{ "color", color, 0, 0 },
	{ "flips", flips, 0, 0 },
	{ "async flips", async_flips, 0, 0 },
	{ "a late vblank interrupt does not complete the next flip", flips_behind_late_vblanks, 0,
	  0 },
	{ "the vblank interrupt is off without waiters", idle, 0, 0 },
	{ "async flips do not wait", async_flips_do_not_wait, 0, 0 },
	{ "two heads and a lease", two_heads, 0, 0 },
	{ "modes in a storm", modes_in_a_storm, 0, 0 },
	{ "standby", standby, 0, 0 },
	{ "CPU writes to the framebuffer are shown", drawing_is_seen, 0, 0 },
	{ "unplug", unplug, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
