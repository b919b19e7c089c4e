// SPDX-License-Identifier: MIT
/*
 * Writeback: the frames in memory must equal those on the screen, according to
 * the arithmetic of hardware.rst.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <drm.h>
#include <linux/dma-buf.h>

#include "foreign.h"
#include "hang.h"
#include "host.h"
#include "kms.h"
#include "stall.h"

#define WIDTH 96
#define HEIGHT 64

struct bench {
	struct tsr_kms kms;
	struct drm_mode_modeinfo mode;
	struct tsr_fb primary, target;
	uint32_t writeback; /* the connector of head 0 */
};

/*
 * Writeback connectors are only reported to clients that ask for them, in the
 * order of CRTCs.
 */
static uint32_t find_writeback(struct tsr_kms *kms, uint32_t head)
{
	struct drm_set_client_cap cap = { DRM_CLIENT_CAP_WRITEBACK_CONNECTORS, 1 };
	uint32_t ids[16];
	struct drm_mode_card_res res = { .connector_id_ptr = (uintptr_t)ids,
					 .count_connectors = 16 };

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_SET_CLIENT_CAP, &cap));
	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
	for (uint32_t i = 0; i < res.count_connectors; i++) {
		struct drm_mode_get_connector c = { .connector_id = ids[i] };
		struct drm_mode_modeinfo none;

		/* a non-zero mode count prevents probing */
		c.modes_ptr = (uintptr_t)&none;
		c.count_modes = 1;
		require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
		if (c.connector_type == DRM_MODE_CONNECTOR_WRITEBACK && !head--)
			return ids[i];
	}
	tap_fail(__FILE__, __LINE__, "no writeback connector");
}

static struct bench bench_begin(void)
{
	struct bench b = { .kms = tsr_kms_open(), .mode = tsr_mode(WIDTH, HEIGHT) };

	b.primary = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	b.target = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	tsr_fb_paint(&b.primary, 1);
	tsr_fb_paint(&b.target, 2);
	b.writeback = find_writeback(&b.kms, 0);
	return b;
}

static void light(struct bench *b)
{
	tsr_light(&b->kms, &b->kms.heads[0], &b->mode, &b->primary);
}

/* The writeback connector keeps its CRTC until it is detached. */
static void dark(struct bench *b)
{
	struct tsr_atomic req = {};

	tsr_add(&b->kms, &req, b->writeback, "CRTC_ID", 0);
	tsr_commit(&b->kms, &req);
	tsr_dark(&b->kms, &b->kms.heads[0]);
}

static void bench_end(struct bench *b)
{
	dark(b);
	tsr_kms_close(&b->kms);
}

/* Adds a capture to @req. @fence receives the out-fence. */
static void add_capture(struct bench *b, struct tsr_atomic *req, const struct tsr_fb *fb,
			int32_t *fence)
{
	tsr_add(&b->kms, req, b->writeback, "CRTC_ID", b->kms.heads[0].crtc);
	tsr_add(&b->kms, req, b->writeback, "WRITEBACK_FB_ID", fb->id);
	if (fence)
		tsr_add(&b->kms, req, b->writeback, "WRITEBACK_OUT_FENCE_PTR", (uintptr_t)fence);
}

static void await(int32_t fence)
{
	struct pollfd p = { .fd = fence, .events = POLLIN };

	require(fence >= 0);
	require_eq(poll(&p, 1, -1), 1);
	close(fence);
}

/* The captured picture has the CRC of the expected one. */
static void same(struct bench *b, const struct tsr_fb *taken, const struct tsr_show *shows,
		 uint32_t num)
{
	struct tsr_show t = tsr_show_at(taken, 0, 0);

	require_msg(
		tsr_crc_expect(&b->mode, &t, 1, NULL) == tsr_crc_expect(&b->mode, shows, num, NULL),
		"expected the captured frame in the writeback target, it has other or older bytes");
}

/* A frame with all planes, and then the next ones, into the same memory. */
static void frames(void)
{
	struct bench b = bench_begin();
	struct tsr_head *head = &b.kms.heads[0];
	struct tsr_fb over = tsr_fb_new(&b.kms, 40, 24, DRM_FORMAT_ARGB8888);
	struct tsr_show s[2] = { tsr_show_at(&b.primary, 0, 0), tsr_show_at(&over, 5, 7) };

	tsr_fb_paint(&over, 3);
	light(&b);
	s[1].alpha = 0x80ff;
	for (uint32_t i = 0; i < 8; i++) {
		struct tsr_atomic req = {};
		int32_t fence = -1;

		s[1].x = (int32_t)i * 9 - 20;
		tsr_add_show(&b.kms, &req, head->crtc, head->planes[TSR_OVERLAY], &s[1]);
		add_capture(&b, &req, &b.target, &fence);
		require_ok(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET));
		await(fence);
		same(&b, &b.target, s, 2);
	}
	bench_end(&b);
}

/*
 * A capture works in the commit that enables the CRTC, and fails in the one
 * that disables it.
 */
static void with_the_mode(void)
{
	struct bench b = bench_begin();
	struct tsr_head *head = &b.kms.heads[0];
	struct tsr_show s = tsr_show_at(&b.primary, 0, 0);

	for (uint32_t i = 0; i < 4; i++) {
		struct tsr_atomic req = {}, off = {};
		int32_t fence = -1;

		tsr_fb_paint(&b.target, 9 + i);
		tsr_add_mode(&b.kms, &req, head, &b.mode);
		tsr_add_show(&b.kms, &req, head->crtc, head->planes[TSR_PRIMARY], &s);
		add_capture(&b, &req, &b.target, &fence);
		require_ok(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET));
		await(fence);
		same(&b, &b.target, &s, 1);

		tsr_add(&b.kms, &off, head->crtc, "ACTIVE", 0);
		add_capture(&b, &off, &b.target, NULL);
		require_err(__tsr_commit(b.kms.dev.fd, &off, DRM_MODE_ATOMIC_ALLOW_MODESET),
			    -EINVAL);
		dark(&b);
	}
	tsr_kms_close(&b.kms);
}

static bool leaves(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t set)
{
	tsr_evict_set(set);
	return !tsr_bo_info(dev, bo).segment;
}

/*
 * A target outside of VRAM is paged in first, and can be evicted again soon
 * after its fence: a worker unpins it. The capture waits for a job that reads
 * the target.
 */
static void targets_move(void)
{
	struct bench b = bench_begin();
	struct tsr_device *dev = &b.kms.dev;
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	struct tsr_bo copy =
		tsr_bo_new(dev, b.target.bo.size, tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	uint32_t ctx = tsr_context_new(dev, 0);
	struct tsr_show s = tsr_show_at(&b.primary, 0, 0);

	light(&b);
	for (uint32_t i = 0; i < 6; i++) {
		struct tsr_atomic req = {};
		int32_t fence = -1;

		tsr_fb_paint(&b.target, 20 + i);
		tsr_evict_set(tsr_bit(seg));
		/* a job that was queued earlier still reads the old bytes */
		tsr_gpu_copy(dev, ctx, &copy, &b.target.bo);
		add_capture(&b, &req, &b.target, &fence);
		require_ok(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET));
		await(fence);
		/* eviction copies the frame even if the CPU never reads it */
		if (i % 2)
			same(&b, &b.target, &s, 1);
		tsr_wait_for(leaves(dev, &b.target.bo, tsr_bit(seg)));
		same(&b, &b.target, &s, 1);
	}
	bench_end(&b);
}

/* An active display, a foreign fence, and an exported target. */
struct beside {
	struct bench b;
	struct tsr_show s;
	struct tsr_foreign *foreign;
	int held, dmabuf;
};

static void beside_begin(struct beside *w)
{
	w->b = bench_begin();
	w->s = tsr_show_at(&w->b.primary, 0, 0);
	w->foreign = tsr_foreign_need();
	w->dmabuf = tsr_export(&w->b.kms.dev, &w->b.target.bo);
	w->held = tsr_foreign_fence(w->foreign);
	light(&w->b);
}

/* The frame is written after the foreign fence has signalled. */
static void beside_end(struct beside *w, int32_t fence)
{
	tsr_foreign_signal(w->foreign, 0);
	await(fence);
	same(&w->b, &w->b.target, &w->s, 1);
	tsr_foreign_close(w->foreign);
	close(w->dmabuf);
	close(w->held);
	bench_end(&w->b);
}

/* The out-fence is at the commit's own target: it must not wait for it. */
static void behind_itself(void)
{
	struct tsr_atomic req = {};
	int32_t fence = -1;
	struct beside w;
	struct tsr_kms *kms = &w.b.kms;
	uint32_t primary;

	beside_begin(&w);
	primary = kms->heads[0].planes[TSR_PRIMARY];
	tsr_add(kms, &req, primary, "FB_ID", w.b.primary.id);
	tsr_add(kms, &req, primary, "IN_FENCE_FD", (uint64_t)w.held);
	add_capture(&w.b, &req, &w.b.target, &fence);
	require_ok(__tsr_commit(kms->dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_ATOMIC_ALLOW_MODESET));
	tsr_dmabuf_put_fence(w.dmabuf, fence, DMA_BUF_SYNC_RW);
	beside_end(&w, fence);
}

/*
 * A frame is written after a foreign fence of its target has signalled. The
 * target is made resident before it gets the fence, because the commit would
 * otherwise wait to page it in.
 */
static void behind_others(void)
{
	struct tsr_atomic req = {};
	int32_t fence = -1;
	struct beside w;
	struct pollfd p;

	beside_begin(&w);
	add_capture(&w.b, &req, &w.b.target, &fence);
	require_ok(__tsr_commit(w.b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET));
	await(fence);
	req.num = 0;
	tsr_dmabuf_put_fence(w.dmabuf, w.held, DMA_BUF_SYNC_RW);
	add_capture(&w.b, &req, &w.b.target, &fence);
	require_ok(__tsr_commit(w.b.kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_ATOMIC_ALLOW_MODESET));
	p = (struct pollfd){ .fd = fence, .events = POLLIN };
	require_msg(!poll(&p, 1, 300), "expected the capture to wait for the target's foreign "
				       "fence, its out-fence signalled before");
	beside_end(&w, fence);
}

/* Unusable targets are refused, and nothing else of the commit takes effect. */
static void bad_targets(void)
{
	struct bench b = bench_begin();
	struct tsr_fb small = tsr_fb_new(&b.kms, WIDTH - 8, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_fb large = tsr_fb_new(&b.kms, WIDTH, HEIGHT + 1, DRM_FORMAT_XRGB8888);
	struct tsr_fb other = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_RGB565);
	const struct tsr_fb *bad[] = { &small, &large, &other };
	uint32_t primary = b.kms.heads[0].planes[TSR_PRIMARY], crc;
	struct tsr_atomic req = {};

	light(&b);
	crc = tsr_crc_now(&b.kms, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		req.num = 0;
		tap_note("case %u", i);
		tsr_add(&b.kms, &req, primary, "CRTC_X", 4);
		add_capture(&b, &req, bad[i], NULL);
		require_err(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET),
			    -EINVAL);
	}
	/* CRTC of another head, and no CRTC */
	req.num = 0;
	tsr_add(&b.kms, &req, b.writeback, "CRTC_ID", b.kms.heads[1].crtc);
	tsr_add(&b.kms, &req, b.writeback, "WRITEBACK_FB_ID", b.target.id);
	require_err(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET), -EINVAL);
	req.num = 0;
	tsr_add(&b.kms, &req, b.writeback, "WRITEBACK_FB_ID", b.target.id);
	require_err(__tsr_commit(b.kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET), -EINVAL);
	require_eq(tsr_crc_now(&b.kms, 0), crc);
	bench_end(&b);
}

/*
 * The clear of a target hangs, so its place still holds bytes of other clients,
 * and the frame must not be written there. The fence fails.
 */
static void lost_targets(void)
{
	struct bench b = bench_begin();
	struct tsr_fb target = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	struct tsr_show s = tsr_show_at(&b.primary, 0, 0);
	struct tsr_atomic req = {}, next = {};
	pid_t expirer;
	int32_t fence = -1;
	int status;

	light(&b);
	add_capture(&b, &req, &target, &fence);
	expirer = tsr_hang_next(b.kms.dev.paging, 1);
	require_ok(__tsr_commit(b.kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_ATOMIC_ALLOW_MODESET));
	require_eq(tsr_sync_file_status(fence), -EIO);
	close(fence);
	tap_join(expirer);
	/* the next capture works */
	add_capture(&b, &next, &b.target, &fence);
	require_ok(__tsr_commit(b.kms.dev.fd, &next, DRM_MODE_ATOMIC_ALLOW_MODESET));
	status = tsr_sync_file_status(fence);
	require_msg(!status,
		    "a frame was not written (%s) to a target that lost nothing: either the commit "
		    "does not wait for the target's fences, or the failure of the previous target "
		    "persists",
		    strerror(-status));
	close(fence);
	same(&b, &b.target, &s, 1);
	bench_end(&b);
}

static const struct tap_test tests[] = {
	{ "captured frames match the screen", frames, 0, 0 },
	{ "capture in the commit of a modeset", with_the_mode, 0, 0 },
	{ "evicted targets", targets_move, 0, 0 },
	{ "out-fence at the commit's own target", behind_itself, 0, 0 },
	{ "foreign fence at the target", behind_others, 0, 0 },
	{ "bad targets are refused", bad_targets, 0, 0 },
	{ "lost targets are not written", lost_targets, 0, 0 },
};

TSR_TEST_MAIN(tests)
