// SPDX-License-Identifier: MIT
/*
 * The display, compared with those of other virtual devices in the same guest.
 * Each sample measures all screens alternately. The best of the others is the
 * reference. The bench uses only generic DRM ioctls.
 */
#include "bench.h"

#include <drm.h>
#include <drm_fourcc.h>
#include <drm_mode.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_SCREENS 8
#define WIDTH 1024
#define HEIGHT 768
/*
 * Seconds of one measurement of a screen, and number of measurements per
 * sample. With short slices a longer disturbance affects all screens alike.
 */
#define SLICE 0.02
#define TURNS 20
#define MAX_MODES 64

struct frame {
	uint32_t handle, fb, pitch;
	uint64_t size;
	uint8_t *map;
};

struct screen {
	char driver[32];
	int fd;
	uint32_t crtc, connector, flags; /* flags of a page flip */
	struct drm_mode_modeinfo mode;
	struct frame frames[2];
	uint32_t shown, updates;
};

static struct screen screens[MAX_SCREENS];
static int num_screens, ours;

static int call(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : 0;
}

static void frame_create(const struct screen *screen, struct frame *frame)
{
	struct drm_mode_create_dumb create = { .width = WIDTH, .height = HEIGHT, .bpp = 32 };
	struct drm_mode_map_dumb map = { 0 };

	must("create a dumb buffer", call(screen->fd, DRM_IOCTL_MODE_CREATE_DUMB, &create));
	map.handle = create.handle;
	must("find a dumb buffer", call(screen->fd, DRM_IOCTL_MODE_MAP_DUMB, &map));
	frame->handle = create.handle;
	frame->pitch = create.pitch;
	frame->size = create.size;
	frame->map =
		mmap(NULL, frame->size, PROT_READ | PROT_WRITE, MAP_SHARED, screen->fd, map.offset);
	if (frame->map == MAP_FAILED)
		die("map a dumb buffer", -errno);
}

static void frame_destroy(const struct screen *screen, struct frame *frame)
{
	struct drm_mode_destroy_dumb destroy = { .handle = frame->handle };

	munmap(frame->map, frame->size);
	must("destroy a dumb buffer", call(screen->fd, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy));
}

static void frame_add_fb(const struct screen *screen, struct frame *frame)
{
	struct drm_mode_fb_cmd2 cmd = {
		.width = WIDTH,
		.height = HEIGHT,
		.pixel_format = DRM_FORMAT_XRGB8888,
		.handles = { frame->handle },
		.pitches = { frame->pitch },
	};

	must("add a framebuffer", call(screen->fd, DRM_IOCTL_MODE_ADDFB2, &cmd));
	frame->fb = cmd.fb_id;
}

/*
 * Find the first connected output with a mode of the size. Returns false if
 * there is none.
 */
static bool find_output(struct screen *screen)
{
	uint32_t crtcs[8], connectors[8];
	struct drm_mode_modeinfo modes[MAX_MODES];
	struct drm_mode_card_res res = { .crtc_id_ptr = (uintptr_t)crtcs,
					 .connector_id_ptr = (uintptr_t)connectors,
					 .count_crtcs = 8,
					 .count_connectors = 8 };

	if (call(screen->fd, DRM_IOCTL_MODE_GETRESOURCES, &res) || !res.count_crtcs)
		return false;
	screen->crtc = crtcs[0];
	for (uint32_t i = 0; i < res.count_connectors && i < 8; i++) {
		struct drm_mode_get_connector get = { .connector_id = connectors[i] };

		/* A request without space for modes probes the connector. */
		if (call(screen->fd, DRM_IOCTL_MODE_GETCONNECTOR, &get) || get.connection != 1)
			continue;
		get = (struct drm_mode_get_connector){ .connector_id = connectors[i],
						       .modes_ptr = (uintptr_t)modes,
						       .count_modes = MAX_MODES };
		if (call(screen->fd, DRM_IOCTL_MODE_GETCONNECTOR, &get))
			continue;
		for (uint32_t m = 0; m < get.count_modes && m < MAX_MODES; m++)
			if (modes[m].hdisplay == WIDTH && modes[m].vdisplay == HEIGHT) {
				screen->connector = connectors[i];
				screen->mode = modes[m];
				return true;
			}
	}
	return false;
}

static void show(struct screen *screen)
{
	struct drm_get_cap async = { .capability = DRM_CAP_ASYNC_PAGE_FLIP };
	struct drm_mode_crtc set = { .set_connectors_ptr = (uintptr_t)&screen->connector,
				     .count_connectors = 1,
				     .crtc_id = screen->crtc,
				     .mode_valid = 1,
				     .mode = screen->mode };

	for (int i = 0; i < 2; i++) {
		frame_create(screen, &screen->frames[i]);
		frame_add_fb(screen, &screen->frames[i]);
	}
	set.fb_id = screen->frames[0].fb;
	must("set a mode", call(screen->fd, DRM_IOCTL_MODE_SETCRTC, &set));
	/*
	 * A driver without async flips has no vertical blank to wait for,
	 * either.
	 */
	screen->flags = DRM_MODE_PAGE_FLIP_EVENT;
	if (!call(screen->fd, DRM_IOCTL_GET_CAP, &async) && async.value)
		screen->flags |= DRM_MODE_PAGE_FLIP_ASYNC;
}

static bool open_screen(struct screen *screen, int card)
{
	struct drm_version version = { .name = screen->driver,
				       .name_len = sizeof(screen->driver) - 1 };
	char path[32];

	snprintf(path, sizeof(path), "/dev/dri/card%d", card);
	screen->fd = open(path, O_RDWR | O_CLOEXEC);
	if (screen->fd < 0)
		return false;
	if (!call(screen->fd, DRM_IOCTL_VERSION, &version) && find_output(screen)) {
		show(screen);
		return true;
	}
	close(screen->fd);
	return false;
}

/* Open all screens of the guest, once. */
static void open_screens(void)
{
	if (num_screens)
		return;
	for (int card = 0; card < MAX_SCREENS; card++) {
		if (!open_screen(&screens[num_screens], card))
			continue;
		if (!strcmp(screens[num_screens].driver, "tessera"))
			ours = num_screens;
		num_screens++;
	}
	if (!num_screens || strcmp(screens[ours].driver, "tessera"))
		die("the display has no output of this size", -ENODEV);
}

/* Returns the elapsed seconds and adds the number of operations to @done. */
static double take_turn(struct screen *screen, int (*once)(struct screen *screen), uint64_t *done)
{
	double begin = now();

	while (now() - begin < SLICE && !once(screen))
		++*done;
	return now() - begin;
}

/*
 * Measure operations per second, times @units, of Tessera and of the best other
 * screen. Screens that do not support the operation are left out.
 */
static void compare(struct row *row, int (*once)(struct screen *screen), double units)
{
	open_screens();
	for (int i = 0; i < bench.runs; i++) {
		double seconds[MAX_SCREENS] = { 0 }, best = 0, mine = 0;
		uint64_t done[MAX_SCREENS] = { 0 };

		for (int t = 0; t < TURNS; t++)
			for (int s = 0; s < num_screens; s++)
				seconds[s] += take_turn(&screens[s], once, &done[s]);
		for (int s = 0; s < num_screens; s++) {
			double rate = (double)done[s] * units / seconds[s];

			if (s == ours)
				mine = rate;
			else if (rate > best)
				best = rate;
			if (!i)
				fprintf(stderr, "  %s of %s: %.4g %s\n", row->name,
					screens[s].driver, rate, row->unit);
		}
		sample(row, mine, best);
	}
	print_row(row);
}

static int flip(struct screen *screen)
{
	struct drm_mode_crtc_page_flip flip = { .crtc_id = screen->crtc, .flags = screen->flags };
	char event[128];
	int ret;

	screen->shown = !screen->shown;
	flip.fb_id = screen->frames[screen->shown].fb;
	ret = call(screen->fd, DRM_IOCTL_MODE_PAGE_FLIP, &flip);
	if (ret)
		return ret;
	return read(screen->fd, event, sizeof(event)) < 0 ? -errno : 0;
}

void bench_flip_rate(void)
{
	struct row row = { .name = "flip_rate", .unit = "1/s", .better = "higher", .goal = 1 };

	compare(&row, flip, 1);
}

static int write_all(struct screen *screen)
{
	memset(screen->frames[screen->shown].map, screen->updates++, HEIGHT * WIDTH * 4);
	return 0;
}

void bench_dumb_write(void)
{
	struct row row = { .name = "dumb_write", .unit = "B/s", .better = "higher", .goal = 1 };

	compare(&row, write_all, HEIGHT * WIDTH * 4);
}

static int create_and_destroy(struct screen *screen)
{
	struct frame frame;

	frame_create(screen, &frame);
	*frame.map = 1;
	frame_destroy(screen, &frame);
	return 0;
}

void bench_dumb_cycle(void)
{
	struct row row = { .name = "dumb_cycle", .unit = "1/s", .better = "higher", .goal = 1 };

	compare(&row, create_and_destroy, 1);
}

static int update(struct screen *screen, uint32_t width, uint32_t height)
{
	const struct frame *frame = &screen->frames[screen->shown];
	struct drm_clip_rect clip = { .x2 = width, .y2 = height };
	struct drm_mode_fb_dirty_cmd cmd = { .fb_id = frame->fb,
					     .num_clips = 1,
					     .clips_ptr = (uintptr_t)&clip };
	int ret;

	screen->updates++;
	for (uint32_t y = 0; y < height; y++)
		memset(frame->map + (size_t)y * frame->pitch, screen->updates, width * 4);
	ret = call(screen->fd, DRM_IOCTL_MODE_DIRTYFB, &cmd);
	/* Drivers that show writes directly do not implement DIRTYFB. */
	return ret == -ENOSYS ? 0 : ret;
}

static int update_full(struct screen *screen)
{
	return update(screen, WIDTH, HEIGHT);
}

static int update_damaged(struct screen *screen)
{
	return update(screen, 64, 64);
}

void bench_screen_update(void)
{
	struct row full = { .name = "screen_update", .unit = "1/s", .better = "higher", .goal = 1 };
	struct row damaged = {
		.name = "screen_update_damaged", .unit = "1/s", .better = "higher", .goal = 1
	};

	compare(&full, update_full, 1);
	compare(&damaged, update_damaged, 1);
}

/*
 * Largest deviation of a vertical blank's time from the mode's period, within
 * one second.
 */
void bench_vblank_jitter(void)
{
	struct row row = { .name = "vblank_jitter", .unit = "s", .better = "lower", .goal = NAN };
	const struct screen *screen;
	const struct drm_mode_modeinfo *mode;
	double period;

	open_screens();
	screen = &screens[ours];
	mode = &screen->mode;
	period = mode->htotal * (double)mode->vtotal / (mode->clock * 1000.0);
	for (int i = 0; i < bench.runs; i++) {
		double worst = 0, last = 0;

		for (uint32_t n = 0; n * period < 1; n++) {
			union drm_wait_vblank wait = { .request = { .type = _DRM_VBLANK_RELATIVE,
								    .sequence = 1 } };
			double time;

			must("wait for a vertical blank",
			     call(screen->fd, DRM_IOCTL_WAIT_VBLANK, &wait));
			time = wait.reply.tval_sec + wait.reply.tval_usec / 1e6;
			/*
			 * Vertical blanks may have passed between two requests.
			 */
			if (n) {
				double off = fabs(remainder(time - last, period));

				worst = off > worst ? off : worst;
			}
			last = time;
		}
		sample(&row, worst, 0);
	}
	print_row(&row);
}
