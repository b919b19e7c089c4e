// SPDX-License-Identifier: MIT
/*
 * A function reset while a picture is on screen, or while a display is being
 * enabled. A modeset during the reset must fail, and the next one must show its
 * picture.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "kms.h"
#include "pci.h"
#include "stall.h"

/*
 * The picture is lost like all contents of video memory. The next modeset must
 * find a working display.
 */
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
	atomic_uint lit, refused; /* number of commits */
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

/*
 * A modeset while the function is being reset must fail. Otherwise the driver
 * would believe the display to be on although the reset has turned it off.
 */
static void lit_meanwhile(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(96, 64);
	struct lighter lighter = { .kms = &kms };
	pthread_t thread;
	uint64_t until;

	tsr_pci_can_reset();
	tsr_dark(&kms, &kms.heads[0]);
	/*
	 * Without a framebuffer nothing has to be paged in, which would be
	 * refused, too.
	 */
	tsr_add_mode(&kms, &lighter.req, &kms.heads[0], &mode);
	require(!pthread_create(&thread, NULL, light_always, &lighter));
	tsr_wait_for(lighter.lit);
	until = tsr_patience();
	do {
		require_msg(tap_now_ns() < until,
			    "no display was enabled during the function reset");
		tsr_pci_reset();
		/* The reset may have ended before a commit came. */
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
	{ "a function reset while a display is being enabled", lit_meanwhile, 0, 0 },
};

TSR_TEST_MAIN(tests)
