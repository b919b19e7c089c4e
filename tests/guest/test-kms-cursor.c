// SPDX-License-Identifier: MIT
/*
 * The cursor of clients without atomic commits. Cursor updates wait for nothing
 * else, and the previous framebuffer can be freed at once. The device checks
 * the memory of each frame, and the test fails (lib/referee.c) if a freed
 * framebuffer is still scanned out.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <drm.h>

#include "foreign.h"
#include "host.h"
#include "kms.h"
#include "stall.h"

#define WIDTH 96
#define HEIGHT 64
#define SIZE 24

struct bench {
	struct tsr_kms kms;
	struct drm_mode_modeinfo mode;
	struct tsr_fb primary, other, cursors[2];
};

/*
 * Return the framebuffer in the cursor plane's state. Each update by the legacy
 * ioctl creates a new framebuffer.
 */
static uint32_t state_fb(struct bench *b)
{
	struct drm_mode_get_plane plane = { .plane_id = b->kms.heads[0].planes[TSR_CURSOR] };

	require_ok(tsr_ioctl(b->kms.dev.fd, DRM_IOCTL_MODE_GETPLANE, &plane));
	return plane.fb_id;
}

/* The legacy cursor ioctl; without a framebuffer it hides the cursor. */
static void cursor(struct bench *b, const struct tsr_fb *fb)
{
	struct drm_mode_cursor args = {
		.flags = DRM_MODE_CURSOR_BO,
		.crtc_id = b->kms.heads[0].crtc,
		.handle = fb ? fb->bo.handle : 0,
		.width = fb ? SIZE : 0,
		.height = fb ? SIZE : 0,
	};
	uint32_t before = state_fb(b);

	require_ok(tsr_ioctl(b->kms.dev.fd, DRM_IOCTL_MODE_CURSOR, &args));
	require_msg(!fb || state_fb(b) != before,
		    "expected the new framebuffer in the cursor plane's state, it has the old one: "
		    "the update releases the wrong framebuffer");
}

static void cursor_to(struct bench *b, int32_t x, int32_t y)
{
	struct drm_mode_cursor args = {
		.flags = DRM_MODE_CURSOR_MOVE,
		.crtc_id = b->kms.heads[0].crtc,
		.x = x,
		.y = y,
	};

	require_ok(tsr_ioctl(b->kms.dev.fd, DRM_IOCTL_MODE_CURSOR, &args));
}

static struct bench bench_begin(void)
{
	struct bench b = { .kms = tsr_kms_open(), .mode = tsr_mode(WIDTH, HEIGHT) };

	b.primary = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	b.other = tsr_fb_new(&b.kms, WIDTH, HEIGHT, DRM_FORMAT_XRGB8888);
	tsr_fb_paint(&b.primary, 1);
	tsr_fb_paint(&b.other, 2);
	for (uint32_t i = 0; i < ARRAY_SIZE(b.cursors); i++) {
		b.cursors[i] = tsr_fb_new(&b.kms, SIZE, SIZE, DRM_FORMAT_ARGB8888);
		tsr_fb_paint(&b.cursors[i], 3 + i);
	}
	tsr_light(&b.kms, &b.kms.heads[0], &b.mode, &b.primary);
	/* A CRTC remembers the cursor position of its last user. */
	cursor_to(&b, 0, 0);
	return b;
}

static void bench_end(struct bench *b)
{
	tsr_dark(&b->kms, &b->kms.heads[0]);
	tsr_kms_close(&b->kms);
}

static void seen(struct bench *b, const struct tsr_fb *primary, const struct tsr_fb *fb, int32_t x,
		 int32_t y)
{
	struct tsr_show shows[2] = { tsr_show_at(primary, 0, 0) };
	uint32_t now = tsr_crc_now(&b->kms, 0), want;

	if (fb)
		shows[1] = tsr_show_at(fb, x, y);
	want = tsr_crc_expect(&b->mode, shows, fb ? 2 : 1, NULL);
	require_msg(now == want,
		    "the screen (CRC 0x%08x, not 0x%08x) does not show the cursor that was "
		    "committed last: its memory was reused, or the previous cursor is still shown",
		    now, want);
}

/*
 * Show, change, move and hide the cursor. Each previous image can be freed at
 * once.
 */
static void comes_and_goes(void)
{
	struct bench b = bench_begin();

	cursor(&b, &b.cursors[0]);
	seen(&b, &b.primary, &b.cursors[0], 0, 0);
	cursor_to(&b, 30, -5);
	seen(&b, &b.primary, &b.cursors[0], 30, -5);
	cursor(&b, &b.cursors[1]);
	tsr_fb_free(&b.kms, &b.cursors[0]);
	seen(&b, &b.primary, &b.cursors[1], 30, -5);
	cursor_to(&b, WIDTH, HEIGHT);
	seen(&b, &b.primary, NULL, 0, 0);
	cursor_to(&b, WIDTH - 7, 20);
	seen(&b, &b.primary, &b.cursors[1], WIDTH - 7, 20);
	cursor(&b, NULL);
	tsr_fb_free(&b.kms, &b.cursors[1]);
	seen(&b, &b.primary, NULL, 0, 0);
	bench_end(&b);
}

/*
 * A pending flip delays neither cursor moves nor a new cursor image, and
 * completes in its own turn.
 */
static void does_not_wait_for_flip(void)
{
	struct bench b = bench_begin();
	struct tsr_foreign *foreign = tsr_foreign_need();
	uint32_t primary = b.kms.heads[0].planes[TSR_PRIMARY];
	struct tsr_atomic req = {};
	int held;

	cursor(&b, &b.cursors[0]);
	held = tsr_foreign_fence(foreign);
	tsr_add(&b.kms, &req, primary, "FB_ID", b.other.id);
	tsr_add(&b.kms, &req, primary, "IN_FENCE_FD", (uint64_t)held);
	require_ok(__tsr_commit(b.kms.dev.fd, &req,
				DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT));
	cursor_to(&b, 11, 13);
	seen(&b, &b.primary, &b.cursors[0], 11, 13);
	cursor(&b, &b.cursors[1]);
	tsr_fb_free(&b.kms, &b.cursors[0]);
	seen(&b, &b.primary, &b.cursors[1], 11, 13);
	tsr_foreign_signal(foreign, 0);
	require_eq(tsr_event(b.kms.dev.fd).base.type, DRM_EVENT_FLIP_COMPLETE);
	tsr_fb_free(&b.kms, &b.primary);
	seen(&b, &b.other, &b.cursors[1], 11, 13);
	tsr_foreign_close(foreign);
	close(held);
	bench_end(&b);
}

/* A foreign fence at the cursor's object does not delay cursor moves. */
static void moves_behind_fences(void)
{
	struct bench b = bench_begin();
	struct tsr_foreign *foreign = tsr_foreign_need();
	int held, dmabuf;

	cursor(&b, &b.cursors[0]);
	dmabuf = tsr_export(&b.kms.dev, &b.cursors[0].bo);
	held = tsr_foreign_fence(foreign);
	tsr_dmabuf_put_fence(dmabuf, held, DMA_BUF_SYNC_WRITE);
	for (int32_t i = 0; i < 4; i++)
		cursor_to(&b, i, 2 * i);
	require_err(__tsr_bo_wait(b.kms.dev.fd, b.cursors[0].bo.handle, 0, 0), -EBUSY);
	seen(&b, &b.primary, &b.cursors[0], 3, 6);
	tsr_foreign_signal(foreign, 0);
	tsr_foreign_close(foreign);
	close(held);
	close(dmabuf);
	bench_end(&b);
}

struct setter {
	struct bench *b;
	volatile bool *done;
};

static void set_second(void *arg)
{
	const struct setter *setter = arg;

	cursor(setter->b, &setter->b->cursors[1]);
	*setter->done = true;
}

/* A cursor image that must be paged in is shown only after its page-in. */
static void waits_for_its_bytes(void)
{
	struct bench b = bench_begin();
	struct tsr_device *dev = &b.kms.dev;
	volatile bool *done = tsr_shared(sizeof(*done));
	struct setter setter = { &b, done };
	pid_t pid;

	cursor(&b, &b.cursors[0]);
	tsr_evict_set(tsr_bit(tsr_seg_visible(dev)));
	require_eq(tsr_bo_info(dev, &b.cursors[1].bo).segment, 0);
	/* The job that hangs must be the page-in. */
	tsr_bo_wait(dev, &b.cursors[1].bo);
	tsr_job_timeout("300000");
	tsr_engine_hang_next(dev->paging);
	pid = tap_fork(set_second, &setter);
	tsr_wait_for(tsr_engine_hangs());
	tsr_wait_for(*done || tsr_is_waiting(pid, "display"));
	require_msg(!*done, "expected the cursor to wait for its page-in, it was shown early");
	tsr_engine_release();
	tap_join(pid);
	seen(&b, &b.primary, &b.cursors[1], 0, 0);
	bench_end(&b);
}

static void on_signal(int sig)
{
}

/* a plain ioctl, without the library's restart after -EINTR */
static void set_second_once(void *arg)
{
	const struct setter *setter = arg;
	const struct sigaction action = { .sa_handler = on_signal };
	struct drm_mode_cursor args = {
		.flags = DRM_MODE_CURSOR_BO,
		.crtc_id = setter->b->kms.heads[0].crtc,
		.handle = setter->b->cursors[1].bo.handle,
		.width = SIZE,
		.height = SIZE,
	};

	sigaction(SIGUSR1, &action, NULL);
	require(ioctl(setter->b->kms.dev.fd, DRM_IOCTL_MODE_CURSOR, &args) < 0);
	require_eq(errno, EINTR);
	*setter->done = true;
}

/*
 * If the wait for the page-in is interrupted, the new image must not stay
 * pinned.
 */
static void waits_until_interrupted(void)
{
	struct bench b = bench_begin();
	struct tsr_device *dev = &b.kms.dev;
	uint32_t set = tsr_bit(tsr_seg_visible(dev));
	volatile bool *done = tsr_shared(sizeof(*done));
	struct setter setter = { &b, done };
	pid_t pid;

	cursor(&b, &b.cursors[0]);
	tsr_evict_set(set);
	require_eq(tsr_bo_info(dev, &b.cursors[1].bo).segment, 0);
	tsr_bo_wait(dev, &b.cursors[1].bo);
	tsr_job_timeout("300000");
	tsr_engine_hang_next(dev->paging);
	pid = tap_fork(set_second_once, &setter);
	tsr_wait_for(tsr_engine_hangs());
	tsr_wait_for(*done || tsr_is_waiting(pid, "display"));
	require_ok(kill(pid, SIGUSR1));
	tsr_wait_for(*done);
	tsr_engine_release();
	tap_join(pid);
	tsr_bo_wait(dev, &b.cursors[1].bo);
	tsr_evict_set(set);
	require_msg(!tsr_bo_info(dev, &b.cursors[1].bo).segment,
		    "expected the cursor image that is not shown to be evicted, it is still in "
		    "video memory");
	seen(&b, &b.primary, &b.cursors[0], 0, 0);
	bench_end(&b);
}

static const struct tap_test tests[] = {
	{ "cursor is shown, changed, moved and hidden", comes_and_goes, 0, 0 },
	{ "cursor does not wait for a pending flip", does_not_wait_for_flip, 0, 0 },
	{ "cursor moves do not wait for a foreign fence", moves_behind_fences, 0, 0 },
	{ "cursor waits for its page-in", waits_for_its_bytes, 0, 0 },
	{ "the wait for the cursor's page-in can be interrupted", waits_until_interrupted, 0, 0 },
};

TSR_TEST_MAIN(tests)
