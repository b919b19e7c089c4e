// SPDX-License-Identifier: MIT
/* The function is reset while it has a picture on the screen. */
#include <pthread.h>
#include <stdatomic.h>

#include "kms.h"
#include "pci.h"
#include "stall.h"

/* the picture is lost like all that was in memory only; the next mode set finds a display that works */
static void picture_is_lost(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(96, 64);

	tsr_pci_can_reset();
	for (uint32_t i = 0; i < 3; i++) {
		struct tsr_fb fb = tsr_fb_new(&kms, 96, 64, DRM_FORMAT_XRGB8888);
		struct tsr_show show = tsr_show_at(&fb, 0, 0);

		tsr_fb_paint(&fb, i);
		tsr_light(&kms, &kms.heads[0], &mode, &fb);
		require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show, 1, NULL));
		tsr_pci_reset();
	}
	tsr_kms_close(&kms);
}

struct lighter {
	struct tsr_kms *kms;
	struct tsr_atomic req;
	atomic_uint lit, refused; /* how often */
	atomic_bool stop;
};

static void *light_always(void *arg)
{
	struct lighter *lighter = arg;

	while (!lighter->stop) {
		int rc = __tsr_commit(lighter->kms->dev.fd, &lighter->req,
				      DRM_MODE_ATOMIC_ALLOW_MODESET);

		if (rc) {
			require_err(rc, -EIO);
			lighter->refused++;
		} else {
			lighter->lit++;
		}
	}
	return NULL;
}

/* nobody lights a display that is about to be reset, and would take it to be on for ever */
static void lit_meanwhile(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(96, 64);
	struct lighter lighter = { .kms = &kms };
	pthread_t thread;
	uint64_t until;

	tsr_pci_can_reset();
	tsr_dark(&kms, &kms.heads[0]);
	/* without a picture there is nothing to be brought to memory, which would be refused */
	tsr_add_mode(&kms, &lighter.req, &kms.heads[0], &mode);
	require(!pthread_create(&thread, NULL, light_always, &lighter));
	tsr_wait_for(lighter.lit);
	until = tsr_patience();
	do {
		require_msg(tap_now_ns() < until, "nothing was lit while the function was reset");
		tsr_pci_reset();
		/* it may have been over before anything was */
	} while (!lighter.refused);
	lighter.stop = true;
	pthread_join(thread, NULL);
	tsr_commit(&kms, &lighter.req);
	tsr_require_shown(&kms, &mode, NULL);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "a function reset with a picture on the screen", picture_is_lost, 0, 0 },
	{ "a function reset while a display is lit", lit_meanwhile, 0, 0 },
};

TSR_TEST_MAIN(tests)
