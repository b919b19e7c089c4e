// SPDX-License-Identifier: MIT
/*
 * Show the picture on the device's first screen, drawn from top to bottom by
 * flips between two dumb buffers. The code uses only generic KMS ioctls.
 */
#include <drm.h>
#include <drm_fourcc.h>
#include <drm_mode.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "demo.h"

#define NUM_FLIPS 32
#define MAX_OBJECTS 8
#define MAX_MODES 64

struct buffer {
	uint32_t fb, pitch;
	uint8_t *map;
};

struct screen {
	int fd;
	uint32_t crtc, connector;
	struct drm_mode_modeinfo mode;
	struct buffer buffers[2];
};

static int call(const struct screen *screen, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(screen->fd, request, arg);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : 0;
}

static int open_card(struct screen *screen)
{
	for (int card = 0; card < MAX_OBJECTS; card++) {
		char path[32], name[32] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

		snprintf(path, sizeof(path), "/dev/dri/card%d", card);
		screen->fd = open(path, O_RDWR | O_CLOEXEC);
		if (screen->fd < 0)
			continue;
		if (!call(screen, DRM_IOCTL_VERSION, &version) && !strcmp(name, "tessera"))
			return 0;
		close(screen->fd);
	}
	return -ENODEV;
}

/* Find the first connected output and its first, preferred mode. */
static int find_mode(struct screen *screen)
{
	uint32_t crtcs[MAX_OBJECTS], connectors[MAX_OBJECTS];
	struct drm_mode_card_res res = { .crtc_id_ptr = (uintptr_t)crtcs,
					 .connector_id_ptr = (uintptr_t)connectors,
					 .count_crtcs = MAX_OBJECTS,
					 .count_connectors = MAX_OBJECTS };
	int ret = call(screen, DRM_IOCTL_MODE_GETRESOURCES, &res);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < res.count_connectors && i < MAX_OBJECTS; i++) {
		struct drm_mode_modeinfo modes[MAX_MODES];
		struct drm_mode_get_connector get = { .connector_id = connectors[i] };

		/* A request without space for modes probes the connector. */
		if (call(screen, DRM_IOCTL_MODE_GETCONNECTOR, &get) || get.connection != 1)
			continue;
		get = (struct drm_mode_get_connector){ .connector_id = connectors[i],
						       .modes_ptr = (uintptr_t)modes,
						       .count_modes = MAX_MODES };
		if (call(screen, DRM_IOCTL_MODE_GETCONNECTOR, &get) || !get.count_modes)
			continue;
		screen->crtc = crtcs[0];
		screen->connector = connectors[i];
		screen->mode = modes[0];
		return 0;
	}
	return -ENODEV;
}

static int make_buffer(const struct screen *screen, struct buffer *buffer)
{
	struct drm_mode_create_dumb create = { .width = screen->mode.hdisplay,
					       .height = screen->mode.vdisplay,
					       .bpp = 32 };
	struct drm_mode_map_dumb map = { 0 };
	struct drm_mode_fb_cmd2 fb = { .width = screen->mode.hdisplay,
				       .height = screen->mode.vdisplay,
				       .pixel_format = DRM_FORMAT_XRGB8888 };
	int ret = call(screen, DRM_IOCTL_MODE_CREATE_DUMB, &create);

	if (ret)
		return ret;
	map.handle = fb.handles[0] = create.handle;
	fb.pitches[0] = buffer->pitch = create.pitch;
	ret = call(screen, DRM_IOCTL_MODE_MAP_DUMB, &map);
	if (ret)
		return ret;
	buffer->map =
		mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, screen->fd, map.offset);
	if (buffer->map == MAP_FAILED)
		return -errno;
	ret = call(screen, DRM_IOCTL_MODE_ADDFB2, &fb);
	buffer->fb = fb.fb_id;
	return ret;
}

static int set_mode(const struct screen *screen)
{
	struct drm_mode_crtc set = { .set_connectors_ptr = (uintptr_t)&screen->connector,
				     .count_connectors = 1,
				     .crtc_id = screen->crtc,
				     .fb_id = screen->buffers[0].fb,
				     .mode_valid = 1,
				     .mode = screen->mode };

	return call(screen, DRM_IOCTL_MODE_SETCRTC, &set);
}

/*
 * Draw the lines of the picture up to @to. The mode may be smaller or larger
 * than the picture.
 */
static void draw(const struct screen *screen, const struct buffer *buffer,
		 const struct image *picture, uint32_t to)
{
	uint32_t width = picture->width;

	if (width > screen->mode.hdisplay)
		width = screen->mode.hdisplay;
	for (uint32_t y = 0; y < to && y < screen->mode.vdisplay; y++)
		memcpy(buffer->map + (size_t)y * buffer->pitch,
		       picture->texels + (size_t)y * picture->width, width * 4);
}

static int flip(const struct screen *screen, const struct buffer *buffer)
{
	struct drm_mode_crtc_page_flip flip = { .crtc_id = screen->crtc,
						.fb_id = buffer->fb,
						.flags = DRM_MODE_PAGE_FLIP_EVENT };
	char event[128];
	int ret = call(screen, DRM_IOCTL_MODE_PAGE_FLIP, &flip);

	if (ret)
		return ret;
	return read(screen->fd, event, sizeof(event)) < 0 ? -errno : 0;
}

/* CRC of the colours without alpha, so that a screenshot has the same CRC. */
static unsigned long checksum(const struct image *picture)
{
	unsigned long crc = crc32(0, NULL, 0);

	for (size_t i = 0; i < (size_t)picture->width * picture->height; i++) {
		uint32_t texel = picture->texels[i];
		const uint8_t rgb[3] = { texel >> 16, texel >> 8, texel };

		crc = crc32(crc, rgb, sizeof(rgb));
	}
	return crc;
}

static int show(struct screen *screen, const struct image *picture)
{
	int ret = open_card(screen);

	if (ret)
		return ret;
	ret = find_mode(screen);
	for (int i = 0; !ret && i < 2; i++)
		ret = make_buffer(screen, &screen->buffers[i]);
	if (!ret)
		ret = set_mode(screen);
	for (uint32_t n = 1; !ret && n <= NUM_FLIPS; n++) {
		const struct buffer *next = &screen->buffers[n % 2];

		draw(screen, next, picture, picture->height * n / NUM_FLIPS);
		ret = flip(screen, next);
	}
	return ret;
}

int screen_show(const struct image *picture)
{
	struct screen screen;
	char line[16];
	int ret = show(&screen, picture);

	if (ret) {
		fprintf(stderr, "tessera-demo: screen: %s\n", strerror(-ret));
		return ret;
	}
	printf("SCREEN %08lx\n", checksum(picture));
	fflush(stdout);
	/*
	 * Keep the screen shown for the test outside, until a line or the end
	 * of the input.
	 */
	if (!fgets(line, sizeof(line), stdin))
		line[0] = 0;
	close(screen.fd);
	return 0;
}
