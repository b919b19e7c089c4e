// SPDX-License-Identifier: MIT
/*
 * Kernel panic with pictures on all planes: the panic message must be on
 * screen. The host checks the screen.
 */
#include <drm.h>

#include "kms.h"

#define WIDTH 640
#define HEIGHT 480
#define ABOVE 32 /* rows of the object above its framebuffer */

/*
 * A framebuffer that begins at an offset in its object. The whole object is
 * painted.
 */
static struct tsr_fb fb_behind(struct tsr_kms *kms, uint32_t seed)
{
	struct tsr_fb fb = tsr_fb_new(kms, WIDTH, HEIGHT + ABOVE, DRM_FORMAT_XRGB8888);
	struct drm_mode_fb_cmd2 cmd = {
		.width = WIDTH,
		.height = HEIGHT,
		.pixel_format = DRM_FORMAT_XRGB8888,
		.handles = { fb.bo.handle },
		.pitches = { fb.pitch },
		.offsets = { ABOVE * fb.pitch },
	};

	require_ok(__tsr_addfb(kms->dev.fd, &cmd));
	fb.id = cmd.fb_id;
	tsr_fb_paint(&fb, seed);
	fb.height = HEIGHT;
	return fb;
}

/*
 * Planes above the message would hide it, and a pending flip could replace it.
 */
static void panics(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_head *head = &kms.heads[0];
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH, HEIGHT);
	struct tsr_fb fb[4];
	struct tsr_atomic req = {}, flip = {};
	struct tsr_show above;

	for (uint32_t i = 0; i < ARRAY_SIZE(fb); i++) {
		if (i != TSR_OVERLAY && i != TSR_CURSOR) {
			fb[i] = fb_behind(&kms, i);
			continue;
		}
		fb[i] = tsr_fb_new(&kms, WIDTH / 4, HEIGHT / 4, DRM_FORMAT_XRGB8888);
		tsr_fb_paint(&fb[i], i);
	}
	tsr_light(&kms, head, &mode, &fb[TSR_PRIMARY]);
	for (uint32_t i = TSR_OVERLAY; i < TSR_PLANES; i++) {
		above = tsr_show_at(&fb[i], (int32_t)(WIDTH / 5 * i), HEIGHT / 3);
		tsr_add_show(&kms, &req, head->crtc, head->planes[i], &above);
	}
	tsr_commit(&kms, &req);
	tsr_add(&kms, &flip, head->planes[TSR_PRIMARY], "FB_ID", fb[3].id);
	require_ok(__tsr_commit(kms.dev.fd, &flip, DRM_MODE_ATOMIC_NONBLOCK));
	tsr_write_file("/proc/sysrq-trigger", "c");
}

static const struct tap_test tests[] = {
	{ "the kernel panics", panics, 0, 0 },
};

TSR_TEST_MAIN(tests)
