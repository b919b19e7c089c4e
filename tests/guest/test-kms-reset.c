// SPDX-License-Identifier: MIT
/* The function is reset while it has a picture on the screen. */
#include "kms.h"
#include "pci.h"

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

static const struct tap_test tests[] = {
	{ "a function reset with a picture on the screen", picture_is_lost, 0, 0 },
};

TSR_TEST_MAIN(tests)
