// SPDX-License-Identifier: MIT
/*
 * The device refuses commits of surfaces of one width (x-refuse-width). Nothing
 * may be shown then, because the driver has released the previous framebuffer.
 * The device would count a scan-out of that as an error, which fails the test
 * (lib/referee.c).
 */
#include <drm.h>

#include "kms.h"

#define WIDTH 96
#define HEIGHT 64
#define REFUSED 97 /* as in the .args file */

static void refused(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH, HEIGHT);
	struct tsr_fb before = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_fb after = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_fb bad = tsr_fb_new(&kms, REFUSED, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_atomic req = {};

	tsr_fb_paint(&before, 1);
	tsr_fb_paint(&after, 2);
	tsr_light(&kms, &kms.heads[0], &mode, &before);
	tsr_require_shown(&kms, &mode, &before);
	tsr_add(&kms, &req, kms.heads[0].planes[TSR_PRIMARY], "FB_ID", bad.id);
	require_ok(__tsr_commit(kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
	/* The flip event is sent all the same. */
	require_eq(tsr_event(kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	tsr_fb_free(&kms, &before);
	tsr_require_shown(&kms, &mode, NULL);
	/* A later framebuffer is shown. */
	tsr_light(&kms, &kms.heads[0], &mode, &after);
	tsr_require_shown(&kms, &mode, &after);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "a commit that is refused", refused, TSR_EXPECT(SURFACE), 0 },
};

TSR_TEST_MAIN(tests)
