// SPDX-License-Identifier: MIT
/*
 * SEG-36: a display on a device with UMA memory, which the display cannot read.
 * Framebuffers are refused, or shown from VRAM.
 */
#include "kms.h"

#define BYTES KiB(256)

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

static int addfb(struct tsr_kms *kms, struct tsr_fb *fb)
{
	struct drm_mode_fb_cmd2 cmd = { .width = fb->width,
					.height = fb->height,
					.pixel_format = fb->format,
					.handles = { fb->bo.handle },
					.pitches = { fb->pitch } };
	int ret = __tsr_addfb(kms->dev.fd, &cmd);

	fb->id = cmd.fb_id;
	return ret;
}

/*
 * The display shows VRAM only. A dumb buffer is made for it, so it does not
 * support UMA memory.
 */
static void displayed(void)
{
	struct tsr_kms kms = tsr_kms_open();
	uint32_t uma = tsr_bit(tsr_seg_uma(&kms.dev));
	uint32_t ctx = tsr_context_new(&kms.dev, 0);
	struct drm_mode_modeinfo mode = tsr_mode(96, 64);
	struct tsr_fb dumb = tsr_fb_new_dumb(&kms, 96, 64), fb = dumb;

	require(!(tsr_bo_info(&kms.dev, &dumb.bo).supported & uma));
	tsr_fb_free(&kms, &dumb);
	fb.bo = tsr_bo_new(&kms.dev, BYTES, uma, cpu);
	require_err(addfb(&kms, &fb), -EINVAL);

	/* An object that is in UMA memory comes to VRAM to be shown. */
	fb.bo = tsr_bo_prefers(&kms.dev, BYTES, tsr_seg_uma(&kms.dev),
			       tsr_bit(tsr_seg_visible(&kms.dev)), cpu);
	tsr_bo_map(&kms.dev, &fb.bo);
	tsr_fb_paint(&fb, 13);
	tsr_gpu_touch(&kms.dev, ctx, &fb.bo);
	require_eq(1u << tsr_bo_info(&kms.dev, &fb.bo).segment, uma);
	require_ok(addfb(&kms, &fb));
	tsr_light(&kms, &kms.heads[0], &mode, &fb);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, tsr_seg_visible(&kms.dev)->id);
	tsr_require_shown(&kms, &mode, &fb);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_fb_free(&kms, &fb);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "SEG-36 the display shows VRAM only", displayed, 0, 0 },
};

TSR_TEST_MAIN(tests)
