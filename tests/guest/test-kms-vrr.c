// SPDX-License-Identifier: MIT
/*
 * Variable refresh on a monitor for 50 to 125 Hz: without commits a frame lasts
 * 20 ms, and a commit ends it as early as the mode allows. Vblank times come
 * from the device, so a late reader still gets exact times.
 */
#include <drm.h>

#include "kms.h"

#define WIDTH 96
#define HEIGHT 64
#define LONGEST_NS 20000000
/* per frame: two clocks are compared, and frames end at whole lines */
#define TOLERANCE_NS 300000

static struct drm_wait_vblank_reply vblank(struct tsr_kms *kms, uint32_t after)
{
	union drm_wait_vblank args = { .request = { .type = _DRM_VBLANK_RELATIVE,
						    .sequence = after } };

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_WAIT_VBLANK, &args));
	return args.reply;
}

static int64_t reply_ns(const struct drm_wait_vblank_reply *reply)
{
	return reply->tval_sec * 1000000000LL + reply->tval_usec * 1000LL;
}

/* Check the length of a frame while there are no commits. */
static void frames_last(struct tsr_kms *kms, int64_t ns)
{
	struct drm_wait_vblank_reply first, last;
	int64_t frames, off;

	tsr_kms_settle_clock(kms, kms->heads[0].crtc);
	first = vblank(kms, 2);
	last = vblank(kms, 3);
	frames = (int64_t)last.sequence - first.sequence;
	off = reply_ns(&last) - reply_ns(&first) - frames * ns;
	require(frames >= 3);
	require_msg(off < TOLERANCE_NS * frames && off > -TOLERANCE_NS * frames,
		    "%lld ns off over %lld frames", (long long)off, (long long)frames);
}

static void set_variable(struct tsr_kms *kms, bool on)
{
	struct tsr_atomic req = {};

	tsr_add(kms, &req, kms->heads[0].crtc, "VRR_ENABLED", on);
	require_ok(__tsr_commit(kms->dev.fd, &req, 0));
}

static void frames_wait(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH, HEIGHT);
	struct tsr_fb fb = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	int64_t mode_ns = (int64_t)tsr_mode_ns(&mode);

	tsr_light(&kms, &kms.heads[0], &mode, &fb);
	require_eq(tsr_prop_get(&kms, kms.heads[0].connector, "vrr_capable"), 1);
	require(LONGEST_NS - mode_ns > 2 * TOLERANCE_NS);
	frames_last(&kms, mode_ns);
	set_variable(&kms, true);
	frames_last(&kms, LONGEST_NS);
	set_variable(&kms, false);
	frames_last(&kms, mode_ns);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

/* The property may stay set while the CRTC is off: the next mode uses it. */
static void switched_off(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(WIDTH, HEIGHT);
	struct tsr_fb fb = tsr_fb_new(&kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);

	tsr_light(&kms, &kms.heads[0], &mode, &fb);
	set_variable(&kms, true);
	frames_last(&kms, LONGEST_NS);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_light(&kms, &kms.heads[0], &mode, &fb);
	frames_last(&kms, LONGEST_NS);
	tsr_suspend_devices();
	frames_last(&kms, LONGEST_NS);
	set_variable(&kms, false);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "frames wait for a commit", frames_wait, 0, 0 },
	{ "variable refresh, switched off and suspended", switched_off, 0, 0 },
};

TSR_TEST_MAIN(tests)
