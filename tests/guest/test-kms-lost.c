// SPDX-License-Identifier: MIT
/*
 * A framebuffer with a clear that times out must not be shown. Its placement
 * still holds other clients' bytes. The device would count their scan-out as an
 * error, which fails the test (lib/referee.c).
 */
#include <drm.h>

#include "hang.h"
#include "host.h"
#include "kms.h"

#define WIDTH 96
#define HEIGHT 64

/* Jobs that list the object are refused. */
static void require_lost(struct tsr_device *dev, const struct tsr_bo *bo)
{
	uint32_t ctx = tsr_context_new(dev, 0);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 5);
	require_err(__tsr_submit(dev, ctx, &cmd, 0, 0, &args), -EIO);
	tsr_cmd_fini(&cmd);
}

static void lost(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH, HEIGHT);
	struct tsr_fb fine = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_fb fb = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_atomic req = {};
	pid_t expirer;

	tsr_fb_paint(&fine, 1);
	tsr_light(&kms, &kms.heads[0], &mode, &fine);
	tsr_require_shown(&kms, &mode, &fine);
	tsr_add(&kms, &req, kms.heads[0].planes[TSR_PRIMARY], "FB_ID", fb.id);
	expirer = tsr_hang_next(kms.dev.paging, 1);
	require_ok(__tsr_commit(kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
	require_eq(tsr_event(kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	tap_join(expirer);
	require_lost(&kms.dev, &fb.bo);
	tsr_require_shown(&kms, &mode, NULL);
	/* A later framebuffer is shown. */
	tsr_light(&kms, &kms.heads[0], &mode, &fine);
	tsr_require_shown(&kms, &mode, &fine);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "PAGE-6 a lost object is not shown", lost, 0, 60 },
};

TSR_TEST_MAIN(tests)
