/* SPDX-License-Identifier: MIT */
/*
 * The display through raw ioctls, and its expected picture in exact arithmetic.
 */
#ifndef TSR_KMS_H
#define TSR_KMS_H

#include <drm_fourcc.h>
#include <drm_mode.h>

#include "tsr.h"

enum {
	TSR_PRIMARY,
	TSR_OVERLAY,
	TSR_CURSOR,
	TSR_PLANES
};

struct tsr_head {
	uint32_t crtc, connector, planes[TSR_PLANES];
};

struct tsr_kms {
	struct tsr_device dev; /* a primary node, with DRM master */
	struct tsr_head heads[4];
	uint32_t num_heads;
};

/* Skips the test if the device has no display. */
struct tsr_kms tsr_kms_open(void);
void tsr_kms_close(struct tsr_kms *kms);

/* A mode of 60 Hz with little blanking. */
struct drm_mode_modeinfo tsr_mode(uint16_t width, uint16_t height);
uint64_t tsr_mode_ns(const struct drm_mode_modeinfo *mode); /* duration of a frame */

/* ---- framebuffers ---------------------------------------------------- */

struct tsr_fb {
	struct tsr_bo bo;
	uint32_t id, width, height, pitch, format;
	uint64_t modifier;
};

int __tsr_addfb(int fd, struct drm_mode_fb_cmd2 *cmd);
int __tsr_rmfb(int fd, uint32_t id);
/* A linear framebuffer in CPU-visible memory, mapped. */
struct tsr_fb tsr_fb_new(struct tsr_kms *kms, uint32_t width, uint32_t height, uint32_t format);
/* XRGB8888, of a dumb buffer: it can leave VRAM, so importers can attach it. */
struct tsr_fb tsr_fb_new_dumb(struct tsr_kms *kms, uint32_t width, uint32_t height);
void tsr_fb_free(struct tsr_kms *kms, struct tsr_fb *fb);
void tsr_fb_paint(struct tsr_fb *fb, uint32_t seed); /* a different value in each pixel */
uint32_t tsr_fb_pixel(const struct tsr_fb *fb, uint32_t x, uint32_t y); /* converted to ARGB8888 */

/* ---- properties and commits ------------------------------------------ */

uint32_t tsr_prop(struct tsr_kms *kms, uint32_t object, const char *name);
uint64_t tsr_prop_get(struct tsr_kms *kms, uint32_t object, const char *name);
uint32_t tsr_blob(struct tsr_kms *kms, const void *data, uint32_t bytes);

struct tsr_atomic {
	uint32_t objects[128], props[128], num;
	uint64_t values[128];
};

void tsr_add(struct tsr_kms *kms, struct tsr_atomic *req, uint32_t object, const char *name,
	     uint64_t value);
/* @flags: DRM_MODE_ATOMIC_*, DRM_MODE_PAGE_FLIP_* */
int __tsr_commit(int fd, const struct tsr_atomic *req, uint32_t flags);
/* blocking, with modesets allowed */
void tsr_commit(struct tsr_kms *kms, const struct tsr_atomic *req);

/* Which part of a framebuffer a plane shows, and where. NULL: plane off. */
struct tsr_show {
	const struct tsr_fb *fb;
	uint32_t src_x, src_y, src_w, src_h; /* source rectangle in 1/65536 pixel */
	int32_t x, y;
	uint32_t w, h;
	uint32_t rotation; /* DRM_MODE_ROTATE_*, DRM_MODE_REFLECT_*; 0: none */
	uint32_t alpha; /* 16 bits */
	uint32_t blend; /* 0 premultiplied, 1 none, 2 coverage: see tsr_add_show() */
};

/* All of the framebuffer, neither scaled nor rotated. */
struct tsr_show tsr_show_at(const struct tsr_fb *fb, int32_t x, int32_t y);
void tsr_add_show(struct tsr_kms *kms, struct tsr_atomic *req, uint32_t crtc, uint32_t plane,
		  const struct tsr_show *show);
void tsr_add_mode(struct tsr_kms *kms, struct tsr_atomic *req, const struct tsr_head *head,
		  const struct drm_mode_modeinfo *mode);
/* Sets a mode, with @fb on the primary plane. */
void tsr_light(struct tsr_kms *kms, const struct tsr_head *head,
	       const struct drm_mode_modeinfo *mode, const struct tsr_fb *fb);
void tsr_dark(struct tsr_kms *kms, const struct tsr_head *head);

/* ---- events and pictures --------------------------------------------- */

struct drm_event_vblank tsr_event(int fd); /* waits for the next event */
int64_t tsr_event_ns(const struct drm_event_vblank *event);

/* Starts the CRCs of the CRTC with index @crtc. Returns their file. */
int tsr_crc_begin(uint32_t crtc);
void tsr_crc_end(int fd);
uint32_t tsr_crc_next(int fd, uint32_t *frame);
/* CRC of a frame that began after the previous commit took effect. */
uint32_t tsr_crc_now(struct tsr_kms *kms, uint32_t crtc);
/* The expected CRC. @shows are ordered from the lowest plane to the highest. */
uint32_t tsr_crc_expect(const struct drm_mode_modeinfo *mode, const struct tsr_show *shows,
			uint32_t num, uint32_t (*color)(uint32_t rgb));
/*
 * Requires that the first head shows exactly @fb, from the upper left corner
 * on. NULL: a black picture.
 */
void tsr_require_shown(struct tsr_kms *kms, const struct drm_mode_modeinfo *mode,
		       const struct tsr_fb *fb);

/*
 * Waits until the driver knows the difference of the device's clock and
 * CLOCK_MONOTONIC, so that the times of vblanks are right to a quarter of a
 * millisecond. On a busy machine a reading of both clocks may take longer.
 */
void tsr_kms_settle_clock(struct tsr_kms *kms, uint32_t crtc);

#endif /* TSR_KMS_H */
