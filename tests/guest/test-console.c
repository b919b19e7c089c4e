// SPDX-License-Identifier: MIT
/*
 * The kernel's own display client (fbdev emulation): its drawing reaches the
 * screen, it gives way to a DRM master, and it is restored after the master has
 * gone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/fb.h>
#include <linux/kd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>

#include "host.h"
#include "kms.h"
#include "pci.h"
#include "stall.h"

struct screen {
	int fd, tty;
	struct fb_var_screeninfo var;
	struct fb_fix_screeninfo fix;
	uint32_t *map;
};

static struct screen screen_open(void)
{
	struct screen s = { .fd = open("/dev/fb0", O_RDWR) };

	if (s.fd < 0)
		tap_skip("no frame buffer device");
	require_ok(ioctl(s.fd, FBIOGET_VSCREENINFO, &s.var));
	require_ok(ioctl(s.fd, FBIOGET_FSCREENINFO, &s.fix));
	require_eq(s.var.bits_per_pixel, 32);
	/*
	 * Switch to graphics mode: the text console's blinking cursor changes
	 * the CRC.
	 */
	s.tty = open("/dev/tty0", O_RDWR);
	require(s.tty >= 0);
	require_ok(ioctl(s.tty, KDSETMODE, KD_GRAPHICS));
	s.map = mmap(NULL, s.fix.smem_len, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	require(s.map != MAP_FAILED);
	return s;
}

static void screen_close(struct screen *s)
{
	require_ok(ioctl(s->tty, KDSETMODE, KD_TEXT));
	close(s->tty);
	close(s->fd);
}

static void screen_fill(struct screen *s, uint32_t rgb)
{
	for (uint32_t y = 0; y < s->var.yres; y++)
		for (uint32_t x = 0; x < s->var.xres; x++)
			s->map[y * s->fix.line_length / 4 + x] = rgb;
}

/*
 * CRC-32 of a frame of one colour in the byte order of hardware.rst: blue,
 * green, red, 0.
 */
static uint32_t crc_of(const struct screen *s, uint32_t rgb)
{
	uint32_t crc = UINT32_MAX, table[256];

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (uint64_t i = 0; i < (uint64_t)s->var.xres * s->var.yres; i++)
		for (int k = 0; k < 4; k++)
			crc = crc >> 8 ^ table[(crc ^ rgb >> 8 * k) & 255];
	return ~crc;
}

/*
 * Drawing reaches the screen some time later; the frames before that have other
 * CRCs. Return the last CRC seen: that of @rgb, @other, or at the deadline any
 * other.
 */
static uint32_t await_crc(const struct screen *s, uint32_t rgb, uint32_t other)
{
	uint32_t want = crc_of(s, rgb), crc;
	uint64_t until = tsr_patience();
	int fd = tsr_crc_begin(0);

	do
		crc = tsr_crc_next(fd, NULL);
	while (crc != want && crc != other && tap_now_ns() < until);
	tsr_crc_end(fd);
	return crc;
}

static void await_picture(const struct screen *s, uint32_t rgb)
{
	uint32_t want = crc_of(s, rgb), crc = await_crc(s, rgb, want);

	require_msg(crc == want,
		    "the drawn picture does not appear: the screen has CRC 0x%08x, not 0x%08x", crc,
		    want);
}

static void drawn_is_shown(void)
{
	struct screen s = screen_open();
	static const uint32_t colors[] = { 0x204060, 0xff8000, 0x00ff00 };

	require_eq(s.var.xres, 1280);
	require_eq(s.var.yres, 800);
	for (size_t i = 0; i < ARRAY_SIZE(colors); i++) {
		screen_fill(&s, colors[i]);
		await_picture(&s, colors[i]);
	}
	screen_close(&s);
}

static void gives_way(void)
{
	struct screen s = screen_open();

	screen_fill(&s, 0x123456);
	await_picture(&s, 0x123456);
	for (int i = 0; i < 3; i++) {
		struct tsr_kms kms = tsr_kms_open();
		struct drm_mode_modeinfo mode = tsr_mode(96, 64);
		struct tsr_fb fb = tsr_fb_new(&kms, 96, 64, DRM_FORMAT_XRGB8888);
		struct tsr_show show = tsr_show_at(&fb, 0, 0);

		tsr_fb_paint(&fb, i);
		tsr_light(&kms, &kms.heads[0], &mode, &fb);
		require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show, 1, NULL));
		/*
		 * The kernel restores its screen when the last file is closed.
		 * A mapping would keep the file open.
		 */
		tsr_fb_free(&kms, &fb);
		tsr_kms_close(&kms);
		await_picture(&s, 0x123456);
	}
	screen_close(&s);
}

/*
 * Open the display with all CRTCs off, so that the console's framebuffer is not
 * scanned out.
 */
static struct tsr_kms hidden(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(96, 64);
	struct tsr_fb fb = tsr_fb_new(&kms, 96, 64, DRM_FORMAT_XRGB8888);

	tsr_light(&kms, &kms.heads[0], &mode, &fb);
	tsr_dark(&kms, &kms.heads[0]);
	/* The framebuffer's mapping would keep a file open. */
	tsr_fb_free(&kms, &fb);
	return kms;
}

/*
 * Have the console's framebuffer evicted. That can fail while the kernel draws
 * into it, so retry.
 */
static struct tsr_kms moved_out(void)
{
	struct tsr_kms kms = hidden();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);

	tsr_wait_for((tsr_evict_set(UINT32_MAX), !tsr_query_memory(&kms.dev, seg->id).used));
	return kms;
}

/*
 * Draw, evict the console's framebuffer while it is hidden, and return the CRC
 * when it is shown again.
 */
static uint32_t draw_and_move(struct screen *s, uint32_t rgb, uint32_t other)
{
	struct tsr_kms kms;

	screen_fill(s, rgb);
	await_picture(s, rgb);
	/* A framebuffer that is scanned out stays in memory. */
	tsr_evict_set(UINT32_MAX);
	await_picture(s, rgb);
	require_ok(ioctl(s->fd, FBIOBLANK, FB_BLANK_POWERDOWN));
	require_ok(ioctl(s->fd, FBIOBLANK, FB_BLANK_UNBLANK));
	await_picture(s, rgb);
	kms = moved_out();
	tsr_kms_close(&kms);
	return await_crc(s, rgb, other);
}

/*
 * While the console is hidden, its framebuffer is evictable like any object. An
 * evicted framebuffer must come back with its contents.
 */
static void is_moved_out(void)
{
	struct screen s = screen_open();
	uint32_t want = crc_of(&s, 0x654321), crc = draw_and_move(&s, 0x654321, want);
	bool older = crc != want && crc != crc_of(&s, TSR_POISON) &&
		     draw_and_move(&s, 0x123654, crc) == crc;

	require_msg(!older,
		    "the eviction of the console's object loses the picture: twice it came back "
		    "%s. Drawing through the kernel's mapping does not count as a write%s",
		    crc == crc_of(&s, 0) ? "black, like unwritten memory"
					 : "with the same older picture, from an outdated copy",
		    crc == crc_of(&s, 0) ? ", or the page-in restores no byte" : "");
	require_msg(crc == want,
		    "expected the picture drawn before the eviction of the console's object: CRC "
		    "0x%08x, not 0x%08x",
		    crc, want);
	screen_close(&s);
}

static void comes_back_from_standby(void)
{
	struct screen s = screen_open();

	screen_fill(&s, 0xabcdef);
	await_picture(&s, 0xabcdef);
	tsr_suspend_devices();
	await_picture(&s, 0xabcdef);
	screen_close(&s);
}

/* The CRC file can be opened only while the CRTC is lit. */
static bool is_lit(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/crtc-0/crc/data", tsr_debugfs());
	fd = open(path, O_RDONLY);
	close(fd);
	return fd >= 0;
}

/*
 * A function reset loses video memory. The console's picture must come back
 * from the copy in system memory, without being drawn again.
 */
static void comes_back_from_reset(void)
{
	struct screen s = screen_open();

	tsr_pci_can_reset();
	for (uint32_t i = 0; i < 2; i++) {
		screen_fill(&s, 0x13579b + i);
		await_picture(&s, 0x13579b + i);
		tsr_pci_reset();
		/* The driver restores the screen by itself, some time later. */
		tsr_wait_for(is_lit());
		await_picture(&s, 0x13579b + i);
		screen_fill(&s, 0x2468ac + i);
		await_picture(&s, 0x2468ac + i);
	}
	screen_close(&s);
}

/*
 * Closing the last file restores the console, which waits for its framebuffer.
 */
static void *close_last(void *kms)
{
	tsr_kms_close(kms);
	return NULL;
}

/*
 * A reset during the page-in of the framebuffer: the picture must still come
 * back.
 */
static void comes_back_from_reset_half_way(void)
{
	struct screen s = screen_open();
	struct tsr_kms kms;
	pthread_t thread;

	tsr_pci_can_reset();
	screen_fill(&s, 0x778899);
	await_picture(&s, 0x778899);
	tsr_job_timeout("300000");
	kms = moved_out();
	tsr_engine_hang_next(kms.dev.paging);
	require(!pthread_create(&thread, NULL, close_last, &kms));
	tsr_wait_for(tsr_engine_hangs());
	tsr_pci_reset();
	pthread_join(thread, NULL);
	tsr_job_timeout_restore();
	tsr_wait_for(is_lit());
	await_picture(&s, 0x778899);
	screen_fill(&s, 0x998877);
	await_picture(&s, 0x998877);
	screen_close(&s);
}

static void *evict(void *arg)
{
	tsr_evict_set(UINT32_MAX);
	return NULL;
}

/* True if any thread, kernel threads included, is inside @function. */
static bool any_thread_in(const char *function)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	require(proc);
	while (!found && (entry = readdir(proc))) {
		char path[64], *stack;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/stack", entry->d_name);
		stack = tsr_read_file(path);
		found = stack && strstr(stack, function);
		free(stack);
	}
	closedir(proc);
	return found;
}

/*
 * Write a pixel; true when the worker that draws it waits for the framebuffer's
 * move.
 */
static bool is_drawn_to(const struct screen *s)
{
	const uint32_t pixel = 0xa1b2c3;

	require(pwrite(s->fd, &pixel, sizeof(pixel), 0) == sizeof(pixel));
	return any_thread_in("tessera_access_settle");
}

/*
 * Stay longer than the ten seconds that other callers may wait. The kernel's
 * own vmap must not fail: DRM treats a failure as a bug.
 */
static void stays_in(const char *function)
{
	uint64_t until = tap_now_ns() + 11 * 1000000000ull;

	while (tap_now_ns() < until)
		require_msg(any_thread_in(function),
			    "expected the worker to wait in %s for 11 seconds, it left early",
			    function);
}

/*
 * A reset during the eviction of the framebuffer, while the kernel waits to
 * draw into it: the picture must still come back.
 */
static void comes_back_from_reset_while_drawn(void)
{
	struct screen s = screen_open();
	struct tsr_kms kms;
	pthread_t thread;

	tsr_pci_can_reset();
	screen_fill(&s, 0xa1b2c3);
	await_picture(&s, 0xa1b2c3);
	tsr_job_timeout("300000");
	kms = hidden();
	tsr_engine_hang_next(kms.dev.paging);
	require(!pthread_create(&thread, NULL, evict, NULL));
	tsr_wait_for(tsr_engine_hangs());
	tsr_wait_for(is_drawn_to(&s));
	stays_in("tessera_access_settle");
	tsr_pci_reset();
	pthread_join(thread, NULL);
	tsr_job_timeout_restore();
	tsr_kms_close(&kms);
	tsr_wait_for(is_lit());
	await_picture(&s, 0xa1b2c3);
	screen_close(&s);
}

struct drawer {
	struct screen *screen;
	atomic_bool stop;
};

/* Write whole frames in a loop, which keeps the drawing worker busy. */
static void *draw(void *arg)
{
	struct drawer *drawer = arg;
	size_t size = drawer->screen->fix.smem_len;
	void *picture = calloc(1, size);

	require(picture);
	while (!drawer->stop)
		require(pwrite(drawer->screen->fd, picture, size, 0) == (ssize_t)size);
	free(picture);
	return NULL;
}

#define PICTURES 60

/*
 * The hidden console gives way to other framebuffers, also while the kernel
 * draws into it. A quarter of the 16 MiB segment is never available for
 * scanout, so the console's framebuffer does not fit beside one of 10 MB.
 */
static void gives_way_while_drawn(void)
{
	struct screen s = screen_open();
	struct drawer drawer = { .screen = &s };
	struct drm_mode_modeinfo mode = tsr_mode(96, 64);
	pthread_t thread;

	require(!pthread_create(&thread, NULL, draw, &drawer));
	for (int i = 0; i < PICTURES; i++) {
		struct tsr_kms kms = tsr_kms_open();
		const struct tsr_head *head = &kms.heads[0];
		struct tsr_fb small = tsr_fb_new(&kms, 96, 64, DRM_FORMAT_XRGB8888);
		struct tsr_fb large = tsr_fb_new(&kms, 1792, 1400, DRM_FORMAT_XRGB8888);
		struct tsr_show show = tsr_show_at(&large, 0, 0);
		struct tsr_atomic req = { .num = 0 };
		int rc;

		show.src_w = 96 << 16;
		show.src_h = 64 << 16;
		show.w = 96;
		show.h = 64;
		tsr_light(&kms, head, &mode, &small);
		tsr_add_show(&kms, &req, head->crtc, head->planes[TSR_PRIMARY], &show);
		rc = __tsr_commit(kms.dev.fd, &req, 0);
		require_msg(!rc, "picture %d: %s", i, strerror(-rc));
		/* Closing restores the console for the next round. */
		tsr_fb_free(&kms, &large);
		tsr_fb_free(&kms, &small);
		tsr_kms_close(&kms);
	}
	drawer.stop = true;
	pthread_join(thread, NULL);
	screen_close(&s);
}

static const struct tap_test tests[] = {
	{ "console drawing is shown", drawn_is_shown, 0, 0 },
	{ "the console gives way to a DRM master", gives_way, 0, 0 },
	{ "the console gives way to framebuffers while it is drawn", gives_way_while_drawn, 0, 0 },
	{ "a hidden console is evictable and keeps its contents", is_moved_out, 0, 150 },
	{ "the console's picture survives standby", comes_back_from_standby, 0, 0 },
	{ "the console's picture survives a function reset", comes_back_from_reset, 0, 0 },
	{ "the console's picture survives a function reset during its page-in",
	  comes_back_from_reset_half_way, 0, 0 },
	{ "the console's picture survives a function reset during its eviction",
	  comes_back_from_reset_while_drawn, 0, 0 },
};

TSR_TEST_MAIN(tests)
