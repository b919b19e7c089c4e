// SPDX-License-Identifier: MIT
/*
 * Objects that are scanned out, beside other users of memory. They must stay
 * where they are until the display is off. A commit may wait only for a limited
 * time, and fails otherwise.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "host.h"
#include "kms.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"

static const struct drm_mode_modeinfo *mode_of(struct drm_mode_modeinfo *mode, uint16_t width,
					       uint16_t height)
{
	*mode = tsr_mode(width, height);
	return mode;
}

static int offer(struct tsr_kms *kms, const struct tsr_fb *fb)
{
	struct drm_tessera_offer_bo bo = { .handle = fb->bo.handle };
	struct drm_tessera_offer args = {
		.bos = { .stride = sizeof(bo), .count = 1, .array = (uintptr_t)&bo },
		.priority = DRM_TESSERA_OFFER_LOW,
	};

	return tsr_ioctl(kms->dev.fd, DRM_IOCTL_TESSERA_OFFER, &args);
}

/*
 * Neither evictions, nor memory pressure, nor a forced plan moves a scanned-out
 * object. After the display is switched off it can be evicted.
 */
static void it_stays(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	uint32_t ctx = tsr_context_new(&kms.dev, 0);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct drm_mode_modeinfo mode;
	struct drm_tessera_bo_info at;

	tsr_fb_paint(&fb, 1);
	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
	at = tsr_bo_info(&kms.dev, &fb.bo);
	require_eq(at.segment, seg->id);

	tsr_evict_set(UINT32_MAX);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
	for (uint32_t round = 0; round < 4; round++) {
		struct tsr_bo bos[16];

		for (uint32_t i = 0; i < 16; i++) {
			bos[i] = tsr_bo_new(&kms.dev, MiB(1), tsr_bit(seg), 0);
			tsr_gpu_fill(&kms.dev, ctx, &bos[i], i);
		}
		for (uint32_t i = 0; i < 16; i++)
			require_ok(__tsr_bo_close(kms.dev.fd, bos[i].handle));
		tsr_knob("force_split", "1");
		tsr_gpu_touch(&kms.dev, ctx, &fb.bo);
		tsr_knob("force_split", "0");
		require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
		require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment_offset, at.segment_offset);
	}

	tsr_dark(&kms, &kms.heads[0]);
	tsr_evict_set(UINT32_MAX);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, 0);
	tsr_fb_free(&kms, &fb);
	tsr_kms_close(&kms);
}

/*
 * An object is either scanned out or attached by an importer, not both. A
 * scanned-out object cannot be offered.
 */
static void others_wait(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_fb fb = tsr_fb_new_dumb(&kms, 640, 480);
	struct tsr_show show;
	struct drm_mode_modeinfo mode;
	struct tsr_atomic req = { .num = 0 };
	int vgem = tsr_vgem_need(), dmabuf;
	uint32_t theirs;

	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
	require_err(offer(&kms, &fb), -EBUSY);
	dmabuf = tsr_export(&kms.dev, &fb.bo);
	require_err(__tsr_import(vgem, dmabuf, &theirs), -EBUSY);
	tsr_dark(&kms, &kms.heads[0]);
	require_ok(__tsr_import(vgem, dmabuf, &theirs));

	show = tsr_show_at(&fb, 0, 0);
	tsr_add_mode(&kms, &req, &kms.heads[0], &mode);
	tsr_add_show(&kms, &req, kms.heads[0].crtc, kms.heads[0].planes[TSR_PRIMARY], &show);
	require_err(__tsr_commit(kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET), -EBUSY);
	require_ok(__tsr_bo_close(vgem, theirs));
	close(dmabuf);
	require_ok(__tsr_commit(kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET));
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, tsr_seg_visible(&kms.dev)->id);
	tsr_dark(&kms, &kms.heads[0]);
	close(vgem);
	tsr_kms_close(&kms);
}

/* The scanout limit leaves a quarter of a segment to other users. */
static void some_is_left(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_fb base = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	/* 7 MiB each, of 16 */
	struct tsr_fb a = tsr_fb_new(&kms, 1792, 1024, DRM_FORMAT_XRGB8888);
	struct tsr_fb b = tsr_fb_new(&kms, 1792, 1024, DRM_FORMAT_XRGB8888);
	struct tsr_atomic first = { .num = 0 }, second = { .num = 0 };
	const struct tsr_head *head = &kms.heads[0];
	struct tsr_show show;
	struct drm_mode_modeinfo mode;

	tsr_light(&kms, head, mode_of(&mode, 640, 480), &base);
	show = tsr_show_at(&a, 0, 0);
	show.src_w = 640 << 16;
	show.src_h = 480 << 16;
	show.w = 640;
	show.h = 480;
	tsr_add_show(&kms, &first, head->crtc, head->planes[TSR_OVERLAY], &show);
	require_ok(__tsr_commit(kms.dev.fd, &first, 0));
	show.fb = &b;
	tsr_add_show(&kms, &second, head->crtc, head->planes[TSR_PRIMARY], &show);
	require_err(__tsr_commit(kms.dev.fd, &second, 0), -ENOSPC);
	/* the failed commit changed nothing */
	require_ok(__tsr_commit(kms.dev.fd, &first, 0));
	tsr_dark(&kms, head);
	require_ok(__tsr_rmfb(kms.dev.fd, a.id));
	tsr_light(&kms, head, &mode, &base);
	tsr_dark(&kms, head);
	tsr_kms_close(&kms);
}

/* A commit succeeds even if other clients have listed all of the segment. */
static void lists_give_way(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_device other = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct tsr_show show = tsr_show_at(&fb, 0, 0);
	struct drm_mode_modeinfo mode;
	struct tsr_bo bos[8];

	tsr_fb_paint(&fb, 3);
	/*
	 * From now on the console's framebuffer can be evicted, except while
	 * the kernel draws into it.
	 */
	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_wait_for((tsr_evict_set(UINT32_MAX), !tsr_query_memory(&other, seg->id).used));
	for (size_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&other, seg->size / ARRAY_SIZE(bos), tsr_bit(seg), 0);
		tsr_make_resident(&other, &bos[i], 1);
		require_eq(tsr_bo_info(&other, &bos[i]).segment, seg->id);
	}
	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
	require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show, 1, NULL));
	tsr_dark(&kms, &kms.heads[0]);
	tsr_close(&other);
	tsr_kms_close(&kms);
}

struct picture {
	struct tsr_kms *kms;
	struct tsr_atomic req;
};

static void light_behind(void *arg)
{
	struct picture *picture = arg;

	tsr_stuck_last_call();
	tsr_commit(picture->kms, &picture->req);
}

/*
 * A commit waits for objects that are being destroyed, but only for passing_ms.
 * Then it fails with -ENOSPC.
 */
static void waits_for_a_moment(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	uint32_t ctx = tsr_context_new(&kms.dev, 0);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct tsr_show show = tsr_show_at(&fb, 0, 0);
	struct tsr_head *head = &kms.heads[0];
	struct picture picture = { .kms = &kms };
	struct drm_mode_modeinfo mode;
	struct tsr_stuck stuck;
	struct tsr_bo all;
	char *usual;

	/* from now on the console's framebuffer can be evicted */
	tsr_light(&kms, head, mode_of(&mode, 640, 480), &fb);
	tsr_dark(&kms, head);
	tsr_add_mode(&kms, &picture.req, head, &mode);
	tsr_add_show(&kms, &picture.req, head->crtc, head->planes[TSR_PRIMARY], &show);
	tsr_wait_for((tsr_evict_set(UINT32_MAX), !tsr_query_memory(&kms.dev, seg->id).used));
	all = tsr_bo_new(&kms.dev, seg->size, tsr_bit(seg), 0);
	tsr_gpu_touch(&kms.dev, ctx, &all);
	tsr_knob_restore("passing_ms");
	usual = tsr_debugfs_read("passing_ms");
	require_eq(atoi(usual), 1000);
	free(usual);
	stuck = tsr_stuck_start(&kms.dev, ctx);
	require_ok(__tsr_submit_use(&kms.dev, ctx, &all, true));
	require_ok(__tsr_bo_close(kms.dev.fd, all.handle));
	tsr_knob("passing_ms", "100");
	require_err(__tsr_commit(kms.dev.fd, &picture.req, DRM_MODE_ATOMIC_ALLOW_MODESET), -ENOSPC);
	tsr_knob("passing_ms", TSR_FOR_GOOD);
	require(!tsr_stuck_during(light_behind, &picture));
	tsr_stuck_end(&stuck);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
	tsr_dark(&kms, head);
	tsr_kms_close(&kms);
}

/* of the test, for its children */
static struct tsr_device *inherited;
static struct tsr_bo in_the_way, held;

/* Locks the reservation of @in_the_way, then waits for that of @held. */
static void use_both(struct tsr_client *client)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_alloc(&cmd, in_the_way.handle, false);
	tsr_cmd_alloc(&cmd, held.handle, false);
	tsr_cmd_nop(&cmd, 64);
	require_ok(tsr_client_submit(client, inherited, tsr_context_new(inherited, 0), &cmd, 0, 0));
	tsr_cmd_fini(&cmd);
}

/* A commit also waits while another client holds a victim's reservation. */
static void waits_for_a_lock(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	uint32_t ctx = tsr_context_new(&kms.dev, 0);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct tsr_show show = tsr_show_at(&fb, 0, 0);
	struct tsr_head *head = &kms.heads[0];
	struct picture picture = { .kms = &kms };
	struct tsr_bo_locked holder;
	struct tsr_client user;
	struct drm_mode_modeinfo mode;
	struct tsr_stuck stuck;

	/* from now on the console's framebuffer can be evicted */
	tsr_light(&kms, head, mode_of(&mode, 640, 480), &fb);
	tsr_dark(&kms, head);
	tsr_add_mode(&kms, &picture.req, head, &mode);
	tsr_add_show(&kms, &picture.req, head->crtc, head->planes[TSR_PRIMARY], &show);
	tsr_wait_for((tsr_evict_set(UINT32_MAX), !tsr_query_memory(&kms.dev, seg->id).used));
	inherited = &kms.dev;
	in_the_way = tsr_bo_new(&kms.dev, seg->size, tsr_bit(seg), 0);
	tsr_gpu_touch(&kms.dev, ctx, &in_the_way);
	held = tsr_bo_new(&kms.dev, KiB(64), tsr_bit(tsr_seg_gart(&kms.dev)), 0);
	tsr_gpu_touch(&kms.dev, ctx, &held);
	stuck = tsr_stuck_start(&kms.dev, ctx);
	require_ok(__tsr_submit_use(&kms.dev, ctx, &held, true));
	tsr_bo_lock_begin(&holder, &kms.dev, &held);
	tsr_trace_start_waits();
	tsr_client_start(&user, use_both, 0);
	tsr_wait_for(tsr_trace_waits_for_lock(user.pid));
	require(!tsr_stuck_during(light_behind, &picture));
	tsr_stuck_end(&stuck);
	tsr_bo_lock_end(&holder);
	tsr_client_join(&user);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
	tsr_dark(&kms, head);
	tsr_kms_close(&kms);
}

/*
 * Foreign fences: an object to evict that has one does not delay the commit. A
 * framebuffer that has one moves to VRAM only after the fence signals; if that
 * takes longer than passing_ms, the commit fails with -EBUSY.
 */
static void foreign_fences(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	uint32_t ctx = tsr_context_new(&kms.dev, 0);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct tsr_show show = tsr_show_at(&fb, 0, 0);
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct picture picture = { .kms = &kms };
	struct tsr_head *head = &kms.heads[0];
	struct drm_mode_modeinfo mode;
	struct tsr_bo halves[2];
	int fence, dmabufs[2];

	/* from now on the console's framebuffer can be evicted */
	tsr_light(&kms, head, mode_of(&mode, 640, 480), &fb);
	tsr_dark(&kms, head);
	tsr_add_mode(&kms, &picture.req, head, &mode);
	tsr_add_show(&kms, &picture.req, head->crtc, head->planes[TSR_PRIMARY], &show);
	tsr_wait_for((tsr_evict_set(UINT32_MAX), !tsr_query_memory(&kms.dev, seg->id).used));
	for (int i = 0; i < 2; i++) {
		halves[i] = tsr_bo_new(&kms.dev, seg->size / 2, tsr_bit(seg), 0);
		tsr_gpu_touch(&kms.dev, ctx, &halves[i]);
	}
	dmabufs[0] = tsr_export(&kms.dev, &halves[0]);
	dmabufs[1] = tsr_export(&kms.dev, &fb.bo);
	fence = tsr_foreign_fence(foreign);
	tsr_dmabuf_put_fence(dmabufs[0], fence, DMA_BUF_SYNC_READ);
	tsr_commit(&kms, &picture.req);
	require_eq(tsr_bo_info(&kms.dev, &halves[0]).segment, 0);
	require_eq(tsr_bo_info(&kms.dev, &halves[1]).segment, seg->id);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
	tsr_dark(&kms, head);

	tsr_wait_for((tsr_evict_set(UINT32_MAX), !tsr_bo_info(&kms.dev, &fb.bo).segment));
	tsr_dmabuf_put_fence(dmabufs[1], fence, DMA_BUF_SYNC_READ);
	tsr_knob("passing_ms", "100");
	require_err(__tsr_commit(kms.dev.fd, &picture.req, DRM_MODE_ATOMIC_ALLOW_MODESET), -EBUSY);
	tsr_foreign_signal(foreign, 0);
	tsr_knob("passing_ms", TSR_FOR_GOOD);
	tsr_commit(&kms, &picture.req);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
	tsr_dark(&kms, head);
	for (int i = 0; i < 2; i++)
		close(dmabufs[i]);
	close(fence);
	tsr_foreign_close(foreign);
	tsr_kms_close(&kms);
}

#define PICTURES 12 /* together they exceed the segment */

/*
 * A framebuffer that needed evictions before it could be shown no longer counts
 * towards the scanout limit after it was switched off.
 */
static void scanout_bytes_are_returned(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	uint32_t ctx = tsr_context_new(&kms.dev, 0);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 640, DRM_FORMAT_XRGB8888);
	struct drm_mode_modeinfo mode;
	struct tsr_bo bos[16];

	require(PICTURES * fb.bo.size > seg->size);
	for (size_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&kms.dev, seg->size / ARRAY_SIZE(bos), tsr_bit(seg), 0);
	for (uint32_t round = 0; round < PICTURES; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(bos) && round; i++)
			tsr_gpu_touch(&kms.dev, ctx, &bos[i]);
		tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
		require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
		tsr_dark(&kms, &kms.heads[0]);
	}
	tsr_kms_close(&kms);
}

#define PARTS 80 /* more than are armed at once */

static void submit_parts(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, 0);
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, PARTS, 0);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_rotation_check(&dev, ctx, &rot, PARTS);
	tsr_close(&dev);
}

/*
 * A commit waits neither for the gate of an engine nor for a submission that is
 * between two batches.
 */
static void parts_hold_up_none(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_fb first = tsr_fb_new(&kms, 96, 64, DRM_FORMAT_XRGB8888);
	struct tsr_fb second = tsr_fb_new(&kms, 96, 64, DRM_FORMAT_XRGB8888);
	struct drm_mode_modeinfo mode;
	struct tsr_client client;
	struct tsr_stuck stuck;

	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 96, 64), &first);
	stuck = tsr_stuck_start(&kms.dev, tsr_context_new(&kms.dev, 0));
	tsr_client_start(&client, submit_parts, 0);
	tsr_wait_for(client.state->begun);
	tsr_wait_for(tsr_client_asleep(&client));
	tsr_fb_paint(&second, 4);
	tsr_light(&kms, &kms.heads[0], &mode, &second);
	tsr_require_shown(&kms, &mode, &second);
	require(!client.state->returned);
	tsr_stuck_end(&stuck);
	tsr_client_join(&client);
	tsr_require_shown(&kms, &mode, &second);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_kms_close(&kms);
}

/* A client that has locked an object out of VRAM cannot show it. */
static void locks_keep_out(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&kms.dev);
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct tsr_show show = tsr_show_at(&fb, 0, 0);
	struct tsr_head *head = &kms.heads[0];
	struct drm_mode_modeinfo mode;
	struct tsr_atomic req = {};

	tsr_add_mode(&kms, &req, head, mode_of(&mode, 640, 480));
	tsr_add_show(&kms, &req, head->crtc, head->planes[TSR_PRIMARY], &show);
	for (uint32_t lock2 = 0; lock2 < 2; lock2++) {
		tsr_fb_paint(&fb, lock2);
		tsr_evict_set(UINT32_MAX);
		require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, 0);
		require_ok(lock2 ? __tsr_lock2(kms.dev.fd, fb.bo.handle, 0, NULL)
				 : __tsr_lock(kms.dev.fd, &fb.bo.handle, 0));
		require_msg(
			__tsr_commit(kms.dev.fd, &req, DRM_MODE_ATOMIC_ALLOW_MODESET) == -EBUSY,
			"expected -EBUSY for an object locked out of memory, it is in segment %u",
			tsr_bo_info(&kms.dev, &fb.bo).segment);
		require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, 0);
		require_ok(lock2 ? __tsr_unlock2(kms.dev.fd, fb.bo.handle)
				 : __tsr_unlock(kms.dev.fd, fb.bo.handle));
		tsr_commit(&kms, &req);
		require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, seg->id);
		/* a lock of a resident object has no effect on scanout */
		tsr_lock(&kms.dev, &fb.bo, 0);
		tsr_commit(&kms, &req);
		require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show, 1, NULL));
		tsr_unlock(&kms.dev, &fb.bo);
		tsr_dark(&kms, head);
	}
	tsr_kms_close(&kms);
}

/* A client's lock of a shared object does not keep others from showing it. */
static void locks_of_others(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct tsr_device other = tsr_open();
	struct tsr_fb fb = tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888);
	struct tsr_show show = tsr_show_at(&fb, 0, 0);
	struct tsr_bo theirs = { .size = fb.bo.size };
	int dmabuf = tsr_export(&kms.dev, &fb.bo);
	struct drm_mode_modeinfo mode;

	require_ok(__tsr_import(other.fd, dmabuf, &theirs.handle));
	close(dmabuf);
	tsr_fb_paint(&fb, 1);
	tsr_evict_set(UINT32_MAX);
	require_ok(__tsr_lock(other.fd, &theirs.handle, 0));
	tsr_bo_map(&other, &theirs);
	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
	require_eq(tsr_bo_info(&other, &theirs).segment, tsr_seg_visible(&other)->id);
	/* the locker's mapping refers to other memory */
	memset(theirs.map, 0x55, fb.bo.size);
	require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show, 1, NULL));
	tsr_unlock(&other, &theirs);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_close(&other);
	tsr_kms_close(&kms);
}

/* Imported pages stay in the exporter; the display only reads VRAM. */
static void imports_are_not_shown(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_create_dumb dumb = { .width = 640, .height = 480, .bpp = 32 };
	struct drm_mode_fb_cmd2 cmd = { .width = 640,
					.height = 480,
					.pixel_format = DRM_FORMAT_XRGB8888 };
	int vgem = tsr_vgem_need(), dmabuf;

	require_ok(tsr_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	cmd.pitches[0] = dumb.pitch;
	dmabuf = tsr_export_flags(vgem, dumb.handle, DRM_CLOEXEC | DRM_RDWR);
	require_ok(__tsr_import(kms.dev.fd, dmabuf, &cmd.handles[0]));
	require_err(__tsr_addfb(kms.dev.fd, &cmd), -EINVAL);
	close(dmabuf);
	close(vgem);
	tsr_kms_close(&kms);
}

/* An object in hidden memory that has to be evicted for a CPU access. */
static struct tsr_bo hidden_bo(struct tsr_device *dev, uint64_t size)
{
	return tsr_bo_prefers(dev, size, tsr_seg_hidden(dev), tsr_bit(tsr_seg_gart(dev)),
			      DRM_TESSERA_BO_CPU_ACCESS);
}

/*
 * A framebuffer in hidden memory, on a device without a host aperture. The CPU
 * can access it only after eviction, and a scanned-out object cannot be
 * evicted, so LOCK fails.
 */
static void no_aperture_to_lock_it(void)
{
	struct tsr_kms kms = tsr_kms_open();
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&kms.dev);
	struct tsr_fb fb = {
		.width = 640, .height = 480, .pitch = 640 * 4, .format = DRM_FORMAT_XRGB8888
	};
	struct drm_mode_fb_cmd2 cmd = { .width = fb.width,
					.height = fb.height,
					.pixel_format = fb.format,
					.pitches = { fb.pitch } };
	struct drm_mode_modeinfo mode;

	require_eq(kms.dev.info.host_aperture_bytes, 0);
	fb.bo = hidden_bo(&kms.dev, MiB(2));
	cmd.handles[0] = fb.bo.handle;
	require_ok(__tsr_addfb(kms.dev.fd, &cmd));
	fb.id = cmd.fb_id;
	tsr_light(&kms, &kms.heads[0], mode_of(&mode, 640, 480), &fb);
	require_eq(tsr_bo_info(&kms.dev, &fb.bo).segment, hid->id);

	require_err(__tsr_lock(kms.dev.fd, &fb.bo.handle, 0), -ENOSPC);
	require_err(__tsr_unlock(kms.dev.fd, fb.bo.handle), -EINVAL);
	tsr_dark(&kms, &kms.heads[0]);
	tsr_lock(&kms.dev, &fb.bo, 0);
	require(tsr_bo_info(&kms.dev, &fb.bo).segment != hid->id);
	tsr_bo_map(&kms.dev, &fb.bo);
	tsr_fb_paint(&fb, 5);
	tsr_unlock(&kms.dev, &fb.bo);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "RES-2 a commit evicts listed objects for its framebuffer", lists_give_way, 0, 0 },
	{ "a scanned-out object is not moved", it_stays, 0, 0 },
	{ "a scanned-out object is neither attached nor offered", others_wait, 0, 0 },
	{ "the scanout limit leaves a part of the segment", some_is_left, 0, 0 },
	{ "a commit waits a limited time for objects being destroyed", waits_for_a_moment, 0, 0 },
	{ "a commit waits a limited time for a reservation", waits_for_a_lock, 0, 0 },
	{ "a commit and foreign fences", foreign_fences, 0, 0 },
	{ "a framebuffer that is switched off leaves the scanout limit", scanout_bytes_are_returned,
	  0, 0 },
	{ "a commit does not wait for a submission in parts", parts_hold_up_none, 0, 0 },
	{ "LOCK-22 a client cannot show an object that it has locked", locks_keep_out, 0, 0 },
	{ "LOCK-30 other clients can show a locked object", locks_of_others, 0, 0 },
	{ "ERR-28 locking a scanned-out object fails without a host aperture",
	  no_aperture_to_lock_it, 0, 0 },
	{ "imports are not shown", imports_are_not_shown, 0, 0 },
};

TSR_TEST_MAIN(tests)
