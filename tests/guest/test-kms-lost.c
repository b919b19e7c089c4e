// SPDX-License-Identifier: MIT
/*
 * Framebuffers whose clear does not end in time (test-kms-lost.args makes each paging job slow): where they were
 * to be shown there are bytes of others, which the referee would see scanned.
 */
#include <drm.h>

#include "kms.h"

#define WIDTH 96
#define HEIGHT 64

static void lost(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH, HEIGHT);
	struct tsr_fb fine = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_fb fb = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_atomic req = {};

	tsr_fb_paint(&fine, 1);
	tsr_light(&kms, &kms.heads[0], &mode, &fine);
	tsr_require_shown(&kms, &mode, &fine);
	tsr_add(&kms, &req, kms.heads[0].planes[TSR_PRIMARY], "FB_ID", fb.id);
	tsr_job_timeout("300");
	require_ok(__tsr_commit(kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
	require_eq(tsr_event(kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	tsr_job_timeout_restore();
	tsr_require_shown(&kms, &mode, NULL);
	/* and the next one is shown */
	tsr_light(&kms, &kms.heads[0], &mode, &fine);
	tsr_require_shown(&kms, &mode, &fine);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "PAGE-6 what is lost is not shown", lost, 0, 60 },
};

TSR_TEST_MAIN(tests)
