// SPDX-License-Identifier: MIT
/* The display through raw ioctls: objects, properties, commits, events. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <drm.h>

#include "kms.h"
#include "stall.h"

static void cap(int fd, uint64_t capability)
{
	struct drm_set_client_cap args = { .capability = capability, .value = 1 };

	require_ok(tsr_ioctl(fd, DRM_IOCTL_SET_CLIENT_CAP, &args));
}

static void find_planes(struct tsr_kms *kms)
{
	uint32_t ids[64];
	struct drm_mode_get_plane_res res = { .plane_id_ptr = (uintptr_t)ids, .count_planes = 64 };
	static const uint32_t by_type[] = { TSR_OVERLAY, TSR_PRIMARY, TSR_CURSOR };

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETPLANERESOURCES, &res));
	require_eq(res.count_planes, TSR_PLANES * kms->num_heads);
	for (uint32_t i = 0; i < res.count_planes; i++) {
		struct drm_mode_get_plane plane = { .plane_id = ids[i] };
		uint64_t type = tsr_prop_get(kms, ids[i], "type");

		require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETPLANE, &plane));
		for (uint32_t h = 0; h < kms->num_heads; h++)
			if (plane.possible_crtcs == 1u << h)
				kms->heads[h].planes[by_type[type]] = ids[i];
	}
}

struct tsr_kms tsr_kms_open(void)
{
	struct tsr_kms kms = {};
	uint32_t crtcs[4], connectors[8];
	struct drm_mode_card_res res = {
		.crtc_id_ptr = (uintptr_t)crtcs,
		.count_crtcs = 4,
		.connector_id_ptr = (uintptr_t)connectors,
		.count_connectors = 8,
	};
	int fd = __tsr_open_primary();

	require_msg(fd >= 0, "no Tessera primary node");
	if (tsr_ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &res))
		tap_skip("no display");
	kms.dev = tsr_open_fd(fd);
	/* a commit may wait for memory as long as a slow machine needs */
	tsr_knob("passing_ms", TSR_FOR_GOOD);
	cap(fd, DRM_CLIENT_CAP_UNIVERSAL_PLANES);
	cap(fd, DRM_CLIENT_CAP_ATOMIC);
	kms.num_heads = res.count_crtcs;
	require(kms.num_heads >= 1 && kms.num_heads <= 4);
	require(res.count_connectors >= kms.num_heads);
	for (uint32_t i = 0; i < kms.num_heads; i++) {
		kms.heads[i].crtc = crtcs[i];
		kms.heads[i].connector = connectors[i];
	}
	find_planes(&kms);
	/* Colour properties of earlier clients outlive their files. */
	for (uint32_t i = 0; i < kms.num_heads; i++) {
		struct tsr_atomic req = {};

		tsr_add(&kms, &req, kms.heads[i].crtc, "GAMMA_LUT", 0);
		tsr_add(&kms, &req, kms.heads[i].crtc, "CTM", 0);
		tsr_commit(&kms, &req);
	}
	return kms;
}

void tsr_kms_close(struct tsr_kms *kms)
{
	tsr_close(&kms->dev);
}

struct drm_mode_modeinfo tsr_mode(uint16_t width, uint16_t height)
{
	struct drm_mode_modeinfo mode = {
		.hdisplay = width,
		.hsync_start = width + 8,
		.hsync_end = width + 16,
		.htotal = width + 32,
		.vdisplay = height,
		.vsync_start = height + 2,
		.vsync_end = height + 4,
		.vtotal = height + 20,
		.vrefresh = 60,
		.type = DRM_MODE_TYPE_USERDEF,
		.name = "test",
	};

	mode.clock = mode.htotal * mode.vtotal * 60u / 1000;
	return mode;
}

uint64_t tsr_mode_ns(const struct drm_mode_modeinfo *mode)
{
	return (uint64_t)mode->htotal * mode->vtotal * 1000000 / mode->clock;
}

/* ---- framebuffers ---------------------------------------------------- */

int __tsr_addfb(int fd, struct drm_mode_fb_cmd2 *cmd)
{
	return tsr_ioctl(fd, DRM_IOCTL_MODE_ADDFB2, cmd);
}

int __tsr_rmfb(int fd, uint32_t id)
{
	return tsr_ioctl(fd, DRM_IOCTL_MODE_RMFB, &id);
}

struct tsr_fb tsr_fb_new(struct tsr_kms *kms, uint32_t width, uint32_t height, uint32_t format)
{
	uint32_t pitch = width * (format == DRM_FORMAT_RGB565 ? 2 : 4);
	struct tsr_fb fb = {
		.width = width,
		.height = height,
		.pitch = pitch,
		.format = format,
	};
	struct drm_mode_fb_cmd2 cmd = {
		.width = width,
		.height = height,
		.pixel_format = format,
		.pitches = { pitch },
	};
	uint64_t size = ((uint64_t)pitch * height + 4095) & ~4095ull;

	fb.bo = tsr_bo_new(&kms->dev, size, tsr_bit(tsr_seg_visible(&kms->dev)),
			   DRM_TESSERA_BO_CPU_ACCESS);
	tsr_bo_map(&kms->dev, &fb.bo);
	cmd.handles[0] = fb.bo.handle;
	require_ok(__tsr_addfb(kms->dev.fd, &cmd));
	fb.id = cmd.fb_id;
	return fb;
}

struct tsr_fb tsr_fb_new_dumb(struct tsr_kms *kms, uint32_t width, uint32_t height)
{
	struct drm_mode_create_dumb dumb = { .width = width, .height = height, .bpp = 32 };
	struct drm_mode_fb_cmd2 cmd = {
		.width = width,
		.height = height,
		.pixel_format = DRM_FORMAT_XRGB8888,
	};

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	cmd.handles[0] = dumb.handle;
	cmd.pitches[0] = dumb.pitch;
	require_ok(__tsr_addfb(kms->dev.fd, &cmd));
	return (struct tsr_fb){
		.id = cmd.fb_id,
		.width = width,
		.height = height,
		.pitch = dumb.pitch,
		.format = DRM_FORMAT_XRGB8888,
		.bo = { .handle = dumb.handle, .size = dumb.size },
	};
}

void tsr_fb_free(struct tsr_kms *kms, struct tsr_fb *fb)
{
	require_ok(__tsr_rmfb(kms->dev.fd, fb->id));
	tsr_bo_free(&kms->dev, &fb->bo);
}

void tsr_fb_paint(struct tsr_fb *fb, uint32_t seed)
{
	uint32_t bytes = fb->format == DRM_FORMAT_RGB565 ? 2 : 4;

	for (uint32_t y = 0; y < fb->height; y++)
		for (uint32_t x = 0; x < fb->width; x++) {
			uint32_t v =
				(x + 1) * 0x9e3779b1u ^ (y + 1) * 0x85ebca6bu ^ seed * 0xc2b2ae35u;
			uint8_t *at = (uint8_t *)fb->bo.map + y * fb->pitch + x * bytes;

			memcpy(at, &v, bytes);
		}
}

uint32_t tsr_fb_pixel(const struct tsr_fb *fb, uint32_t x, uint32_t y)
{
	uint32_t bytes = fb->format == DRM_FORMAT_RGB565 ? 2 : 4, v = 0, r, g, b;

	memcpy(&v, (const uint8_t *)fb->bo.map + y * fb->pitch + x * bytes, bytes);
	switch (fb->format) {
	case DRM_FORMAT_ARGB8888:
		return v;
	case DRM_FORMAT_XRGB8888:
		return v | 0xff000000;
	case DRM_FORMAT_XRGB2101010:
		return 0xff000000 | (v >> 22 & 0xff) << 16 | (v >> 12 & 0xff) << 8 |
		       (v >> 2 & 0xff);
	default:
		r = v >> 11;
		g = v >> 5 & 63;
		b = v & 31;
		return 0xff000000 | (r << 3 | r >> 2) << 16 | (g << 2 | g >> 4) << 8 | b << 3 |
		       b >> 2;
	}
}

/* ---- properties and commits ------------------------------------------ */

static uint32_t find_prop(struct tsr_kms *kms, uint32_t object, const char *name, uint64_t *value)
{
	uint32_t ids[64];
	uint64_t values[64];
	struct drm_mode_obj_get_properties args = {
		.props_ptr = (uintptr_t)ids,
		.prop_values_ptr = (uintptr_t)values,
		.count_props = 64,
		.obj_id = object,
	};

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_OBJ_GETPROPERTIES, &args));
	for (uint32_t i = 0; i < args.count_props; i++) {
		struct drm_mode_get_property prop = { .prop_id = ids[i] };

		require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETPROPERTY, &prop));
		if (!strcmp(prop.name, name)) {
			*value = values[i];
			return ids[i];
		}
	}
	tap_fail(__FILE__, __LINE__, "object %u has no property %s", object, name);
}

uint32_t tsr_prop(struct tsr_kms *kms, uint32_t object, const char *name)
{
	uint64_t value;

	return find_prop(kms, object, name, &value);
}

uint64_t tsr_prop_get(struct tsr_kms *kms, uint32_t object, const char *name)
{
	uint64_t value;

	find_prop(kms, object, name, &value);
	return value;
}

uint32_t tsr_blob(struct tsr_kms *kms, const void *data, uint32_t bytes)
{
	struct drm_mode_create_blob args = { .data = (uintptr_t)data, .length = bytes };

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_CREATEPROPBLOB, &args));
	return args.blob_id;
}

void tsr_add(struct tsr_kms *kms, struct tsr_atomic *req, uint32_t object, const char *name,
	     uint64_t value)
{
	require(req->num < ARRAY_SIZE(req->objects));
	req->objects[req->num] = object;
	req->props[req->num] = tsr_prop(kms, object, name);
	req->values[req->num++] = value;
}

int __tsr_commit(int fd, const struct tsr_atomic *req, uint32_t flags)
{
	uint32_t counts[ARRAY_SIZE(req->objects)];
	struct drm_mode_atomic args = {
		.flags = flags,
		.count_objs = req->num,
		.objs_ptr = (uintptr_t)req->objects,
		.count_props_ptr = (uintptr_t)counts,
		.props_ptr = (uintptr_t)req->props,
		.prop_values_ptr = (uintptr_t)req->values,
	};

	for (uint32_t i = 0; i < req->num; i++)
		counts[i] = 1;
	return tsr_ioctl(fd, DRM_IOCTL_MODE_ATOMIC, &args);
}

void tsr_commit(struct tsr_kms *kms, const struct tsr_atomic *req)
{
	require_ok(__tsr_commit(kms->dev.fd, req, DRM_MODE_ATOMIC_ALLOW_MODESET));
}

struct tsr_show tsr_show_at(const struct tsr_fb *fb, int32_t x, int32_t y)
{
	return (struct tsr_show){
		.fb = fb,
		.src_w = fb->width << 16,
		.src_h = fb->height << 16,
		.x = x,
		.y = y,
		.w = fb->width,
		.h = fb->height,
		.alpha = 0xffff,
	};
}

static uint64_t blend_value(uint32_t blend)
{
	/* in the order of the core's enum values */
	static const uint64_t values[] = { 0, 2, 1 };

	return values[blend];
}

void tsr_add_show(struct tsr_kms *kms, struct tsr_atomic *req, uint32_t crtc, uint32_t plane,
		  const struct tsr_show *show)
{
	static const struct tsr_show nothing;

	tsr_add(kms, req, plane, "FB_ID", show ? show->fb->id : 0);
	tsr_add(kms, req, plane, "CRTC_ID", show ? crtc : 0);
	if (!show)
		show = &nothing;
	tsr_add(kms, req, plane, "SRC_X", show->src_x);
	tsr_add(kms, req, plane, "SRC_Y", show->src_y);
	tsr_add(kms, req, plane, "SRC_W", show->src_w);
	tsr_add(kms, req, plane, "SRC_H", show->src_h);
	tsr_add(kms, req, plane, "CRTC_X", (uint64_t)(int64_t)show->x);
	tsr_add(kms, req, plane, "CRTC_Y", (uint64_t)(int64_t)show->y);
	tsr_add(kms, req, plane, "CRTC_W", show->w);
	tsr_add(kms, req, plane, "CRTC_H", show->h);
	if (!show->fb)
		return;
	tsr_add(kms, req, plane, "rotation", show->rotation ? show->rotation : DRM_MODE_ROTATE_0);
	tsr_add(kms, req, plane, "alpha", show->alpha);
	tsr_add(kms, req, plane, "pixel blend mode", blend_value(show->blend));
}

void tsr_add_mode(struct tsr_kms *kms, struct tsr_atomic *req, const struct tsr_head *head,
		  const struct drm_mode_modeinfo *mode)
{
	tsr_add(kms, req, head->connector, "CRTC_ID", mode ? head->crtc : 0);
	tsr_add(kms, req, head->crtc, "MODE_ID", mode ? tsr_blob(kms, mode, sizeof(*mode)) : 0);
	tsr_add(kms, req, head->crtc, "ACTIVE", !!mode);
}

void tsr_light(struct tsr_kms *kms, const struct tsr_head *head,
	       const struct drm_mode_modeinfo *mode, const struct tsr_fb *fb)
{
	struct tsr_show show = tsr_show_at(fb, 0, 0);
	struct tsr_atomic req = {};

	tsr_add_mode(kms, &req, head, mode);
	tsr_add_show(kms, &req, head->crtc, head->planes[TSR_PRIMARY], &show);
	tsr_commit(kms, &req);
}

void tsr_dark(struct tsr_kms *kms, const struct tsr_head *head)
{
	struct tsr_atomic req = {};

	tsr_add_mode(kms, &req, head, NULL);
	for (int i = 0; i < TSR_PLANES; i++)
		tsr_add_show(kms, &req, head->crtc, head->planes[i], NULL);
	tsr_commit(kms, &req);
}

/* ---- events and pictures --------------------------------------------- */

struct drm_event_vblank tsr_event(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct drm_event_vblank event;

	require_msg(poll(&pfd, 1, 20000) == 1, "no event");
	require_eq(read(fd, &event, sizeof(event)), sizeof(event));
	return event;
}

int64_t tsr_event_ns(const struct drm_event_vblank *event)
{
	return event->tv_sec * 1000000000ll + event->tv_usec * 1000ll;
}

static int crc_open(uint32_t crtc, const char *file, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/crtc-%u/crc/%s", tsr_debugfs(), crtc, file);
	return open(path, flags | O_CLOEXEC);
}

int tsr_crc_begin(uint32_t crtc)
{
	int control = crc_open(crtc, "control", O_WRONLY), data;

	require(control >= 0);
	require_eq(write(control, "auto", 4), 4);
	close(control);
	data = crc_open(crtc, "data", O_RDONLY);
	require(data >= 0);
	return data;
}

void tsr_crc_end(int fd)
{
	close(fd);
}

uint32_t tsr_crc_next(int fd, uint32_t *frame)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char line[64] = "";
	uint32_t number, crc;

	require_msg(poll(&pfd, 1, 20000) == 1, "no frame");
	require(read(fd, line, sizeof(line) - 1) > 0);
	require_eq(sscanf(line, "%x %x", &number, &crc), 2);
	if (frame)
		*frame = number;
	return crc;
}

uint32_t tsr_crc_now(struct tsr_kms *kms, uint32_t crtc)
{
	int fd = tsr_crc_begin(crtc);
	/* The first CRC belongs to a frame that began after this request. */
	uint32_t crc = tsr_crc_next(fd, NULL);

	tsr_crc_end(fd);
	return crc;
}

/* ---- the expected picture -------------------------------------------- */

static uint32_t div255(uint32_t x)
{
	x += 128;
	return (x + (x >> 8)) >> 8;
}

static uint32_t channel(uint32_t pixel, int shift)
{
	return pixel >> shift & 0xff;
}

static uint32_t blend(const struct tsr_show *show, uint32_t texel, uint32_t below)
{
	uint32_t p = show->alpha >> 8, a = div255(p * (texel >> 24)), out = 0;

	for (int shift = 0; shift < 24; shift += 8) {
		uint32_t s = channel(texel, shift), d = channel(below, shift), v;

		if (show->blend == 0)
			v = div255(s * p) + div255(d * (255 - a));
		else if (show->blend == 1)
			v = div255(s * p + d * (255 - p));
		else
			v = div255(s * a + d * (255 - a));
		out |= (v > 255 ? 255 : v) << shift;
	}
	return out;
}

/* Source texel of pixel (i, j): chapter 15.4 of hardware.rst. */
static uint32_t texel(const struct tsr_show *show, uint32_t i, uint32_t j)
{
	bool turned = show->rotation & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270);
	uint32_t w = turned ? show->h : show->w, h = turned ? show->w : show->h;
	uint32_t x = i, y = j, u, v;

	if (show->rotation & DRM_MODE_ROTATE_90) {
		x = w - 1 - j;
		y = i;
	} else if (show->rotation & DRM_MODE_ROTATE_180) {
		x = w - 1 - i;
		y = h - 1 - j;
	} else if (show->rotation & DRM_MODE_ROTATE_270) {
		x = j;
		y = h - 1 - i;
	}
	if (show->rotation & DRM_MODE_REFLECT_X)
		x = w - 1 - x;
	if (show->rotation & DRM_MODE_REFLECT_Y)
		y = h - 1 - y;
	u = (uint32_t)((show->src_x + (2ull * x + 1) * show->src_w / (2 * w)) >> 16);
	v = (uint32_t)((show->src_y + (2ull * y + 1) * show->src_h / (2 * h)) >> 16);
	return tsr_fb_pixel(show->fb, u, v);
}

static uint32_t crc32_add(uint32_t crc, uint32_t word)
{
	crc ^= word;
	for (int i = 0; i < 32; i++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return crc;
}

uint32_t tsr_crc_expect(const struct drm_mode_modeinfo *mode, const struct tsr_show *shows,
			uint32_t num, uint32_t (*color)(uint32_t rgb))
{
	uint32_t crc = UINT32_MAX;

	for (int32_t y = 0; y < mode->vdisplay; y++)
		for (int32_t x = 0; x < mode->hdisplay; x++) {
			uint32_t pixel = 0;

			for (uint32_t k = 0; k < num; k++) {
				int64_t i = (int64_t)x - shows[k].x, j = (int64_t)y - shows[k].y;

				if (i >= 0 && j >= 0 && i < shows[k].w && j < shows[k].h)
					pixel = blend(&shows[k],
						      texel(&shows[k], (uint32_t)i, (uint32_t)j),
						      pixel);
			}
			crc = crc32_add(crc, (color ? color(pixel) : pixel) & 0xffffff);
		}
	return ~crc;
}

void tsr_require_shown(struct tsr_kms *kms, const struct drm_mode_modeinfo *mode,
		       const struct tsr_fb *fb)
{
	struct tsr_show show;

	if (fb)
		show = tsr_show_at(fb, 0, 0);
	require_eq(tsr_crc_now(kms, 0), tsr_crc_expect(mode, &show, fb ? 1 : 0, NULL));
}

#define QUICK_NS 500000

static bool clock_read_quickly(struct tsr_kms *kms, uint32_t crtc)
{
	struct drm_crtc_get_sequence get = { .crtc_id = crtc };
	uint64_t start = tap_now_ns();

	/* reads both clocks */
	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_CRTC_GET_SEQUENCE, &get));
	return tap_now_ns() - start < QUICK_NS;
}

void tsr_kms_settle_clock(struct tsr_kms *kms, uint32_t crtc)
{
	tsr_wait_for(clock_read_quickly(kms, crtc));
}
