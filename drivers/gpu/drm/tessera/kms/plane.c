// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: planes
 *
 * The three planes of a CRTC, which have equal abilities. Their state is in
 * latched registers. The CRTC writes and commits these when all of an update is
 * known.
 *
 * The device clips by itself. It gets the unclipped rectangles, so the result
 * is exact for a plane that is scaled and partly off the screen.
 */

#include <kunit/visibility.h>
#include <linux/bitfield.h>
#include <linux/dma-fence.h>

#include <drm/drm_atomic.h>
#include <drm/drm_atomic_helper.h>
#include <drm/drm_blend.h>
#include <drm/drm_drv.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_gem_atomic_helper.h>
#include <drm/drm_plane.h>
#include <drm/drm_print.h>

#include "base/compat.h"
#include "base/wait.h"
#include "kms/kms.h"

#define PLANE_ROTATIONS	(DRM_MODE_ROTATE_MASK | DRM_MODE_REFLECT_MASK)

static const enum drm_plane_type plane_types[TSR_NUM_PLANES] = {
	[TSR_PLANE_PRIMARY] = DRM_PLANE_TYPE_PRIMARY,
	[TSR_PLANE_OVERLAY] = DRM_PLANE_TYPE_OVERLAY,
	[TSR_PLANE_CURSOR] = DRM_PLANE_TYPE_CURSOR,
};

/**
 * struct tessera_plane - a plane
 */
struct tessera_plane {
	/** @base: the plane */
	struct drm_plane base;
	/** @regs: offset of its registers from those of the CRTC */
	u32 regs;
};

static struct tessera_plane *to_tessera_plane(struct drm_plane *plane)
{
	return container_of(plane, struct tessera_plane, base);
}

static u32 encode_blend(u16 mode)
{
	switch (mode) {
	case DRM_MODE_BLEND_PIXEL_NONE:
		return TSR_PLANE_BLEND_NONE;
	case DRM_MODE_BLEND_COVERAGE:
		return TSR_PLANE_BLEND_COVERAGE;
	default:
		return TSR_PLANE_BLEND_PREMULTIPLIED;
	}
}

static u32 encode_control(const struct drm_plane_state *state)
{
	u32 turns = ilog2(state->rotation & DRM_MODE_ROTATE_MASK);
	u32 control = TSR_PLANE_ENABLE;

	control |= FIELD_PREP(TSR_PLANE_BLEND_MASK, encode_blend(state->pixel_blend_mode));
	control |= FIELD_PREP(TSR_PLANE_ROTATE_MASK, turns);
	control |= FIELD_PREP(TSR_PLANE_ALPHA_MASK, state->alpha >> 8);
	if (state->rotation & DRM_MODE_REFLECT_X)
		control |= TSR_PLANE_REFLECT_X;
	if (state->rotation & DRM_MODE_REFLECT_Y)
		control |= TSR_PLANE_REFLECT_Y;

	return control;
}

static u32 pair(u32 low, u32 high)
{
	return (low & U16_MAX) | high << 16;
}

/**
 * tessera_plane_encode() - encode a plane's state in register values
 * @state: the state, checked, visible
 * @layout: TSR_LAYOUT_* of its framebuffer
 * @addr: GPU address of its framebuffer
 * @regs: receives the values, in order
 */
void tessera_plane_encode(const struct drm_plane_state *state, u32 layout, u64 addr,
			  u32 regs[TSR_PLANE_REGS])
{
	const struct drm_framebuffer *fb = state->fb;

	regs[TSR_PLANE_CONTROL / 4] = encode_control(state);
	regs[TSR_PLANE_SURFACE / 4] =
		FIELD_PREP(TSR_SURF_FORMAT_MASK, tessera_fb_format(fb->format->format)) |
		FIELD_PREP(TSR_SURF_LAYOUT_MASK, layout);
	regs[TSR_PLANE_ADDR_LO / 4] = lower_32_bits(addr);
	regs[TSR_PLANE_ADDR_HI / 4] = upper_32_bits(addr);
	regs[TSR_PLANE_PITCH / 4] = fb->pitches[0];
	regs[TSR_PLANE_SIZE / 4] = pair(fb->width, fb->height);
	regs[TSR_PLANE_SRC_X / 4] = state->src_x;
	regs[TSR_PLANE_SRC_Y / 4] = state->src_y;
	regs[TSR_PLANE_SRC_W / 4] = state->src_w;
	regs[TSR_PLANE_SRC_H / 4] = state->src_h;
	regs[TSR_PLANE_DST_POS / 4] = pair(state->crtc_x, state->crtc_y);
	regs[TSR_PLANE_DST_SIZE / 4] = pair(state->crtc_w, state->crtc_h);
}
EXPORT_SYMBOL_IF_KUNIT(tessera_plane_encode);

static int plane_check(struct drm_plane *plane, struct drm_atomic_commit *state)
{
	struct drm_plane_state *new = drm_atomic_get_new_plane_state(state, plane);
	struct drm_crtc_state *crtc_state;
	int ret;

	new->visible = false;
	if (!new->crtc)
		return 0;
	crtc_state = drm_atomic_get_new_crtc_state(state, new->crtc);
	ret = drm_atomic_helper_check_plane_state(new, crtc_state, 0, INT_MAX, true, true);
	if (ret || !new->visible)
		return ret;
	/*
	 * A source of less than one pixel cannot be scaled. Other drivers that
	 * scale refuse it, too.
	 */
	if (!(new->src_w >> 16) || !(new->src_h >> 16) || new->crtc_w > TSR_SURF_MAX_DIM ||
	    new->crtc_h > TSR_SURF_MAX_DIM) {
		drm_dbg_atomic(plane->dev, "[PLANE:%d:%s] cannot be scaled so\n", plane->base.id,
			       plane->name);
		return -ERANGE;
	}

	return 0;
}

/*
 * Wait for the fence of an asynchronous cursor update: for the move of its
 * object, and for jobs that have come since plane_async_check() found it idle.
 */
static int wait_for_cursor(struct drm_plane *plane, const struct drm_plane_state *state)
{
	if (!state->state->async_update || !state->fence || state->fb == plane->state->fb)
		return 0;

	return min(tessera_wait_fence(TESSERA_WAIT_DISPLAY, state->fence, true,
				      MAX_SCHEDULE_TIMEOUT), 0L);
}

static int plane_prepare_fb(struct drm_plane *plane, struct drm_plane_state *state)
{
	int ret;

	if (!state->fb)
		return 0;
	ret = tessera_fb_pin(state->fb);
	if (ret)
		return ret;
	/*
	 * Collect fences after pinning, as the move of the object is one of
	 * them.
	 */
	ret = drm_gem_plane_helper_prepare_fb(plane, state);
	if (!ret)
		ret = wait_for_cursor(plane, state);
	if (ret)
		tessera_fb_unpin(state->fb);

	return ret;
}

static void plane_cleanup_fb(struct drm_plane *plane, struct drm_plane_state *state)
{
	if (state->fb)
		tessera_fb_unpin(state->fb);
}

/*
 * Compute the register values. Returns how many of them matter: one if the
 * plane is off.
 */
static unsigned int plane_regs(const struct drm_plane_state *state, u32 regs[TSR_PLANE_REGS])
{
	u64 addr = state->visible ? tessera_fb_addr(state->fb) : 0;

	regs[TSR_PLANE_CONTROL / 4] = 0;
	if (!addr)
		return 1;
	tessera_plane_encode(state, tessera_fb_layout(state->fb), addr, regs);

	return TSR_PLANE_REGS;
}

/**
 * tessera_plane_write() - write a plane's state to its registers
 * @tc: its CRTC, with &tessera_crtc.commit_lock held; inside drm_dev_enter()
 * @plane: the plane
 * @state: the state
 */
void tessera_plane_write(struct tessera_crtc *tc, struct drm_plane *plane,
			 const struct drm_plane_state *state)
{
	u32 first = to_tessera_plane(plane)->regs, regs[TSR_PLANE_REGS];
	unsigned int i, num = plane_regs(state, regs);

	for (i = 0; i < num; i++)
		tessera_latched_write(tc, first + 4 * i, regs[i]);
}

/* The flush of the CRTC, which follows, writes the registers. */
static void plane_update(struct drm_plane *plane, struct drm_atomic_commit *state)
{
}

/*
 * Allow an asynchronous update for the cursor only. It has its own commit,
 * which takes effect at once, so the device stops scanning out the old
 * framebuffer before that is unpinned. The core also calls this for an
 * asynchronous flip with an incomplete state.
 */
static int plane_async_check(struct drm_plane *plane, struct drm_atomic_commit *state)
{
	struct drm_plane_state *new = drm_atomic_get_new_plane_state(state, plane);

	if (plane->type != DRM_PLANE_TYPE_CURSOR || !new->crtc || !new->fb ||
	    !new->crtc->state->active)
		return -EINVAL;

	/* A framebuffer that is scanned out already does not move. */
	return new->fb == plane->state->fb || tessera_fb_is_idle(new->fb) ? 0 : -EBUSY;
}

/*
 * Update the current state in place. @new gets the old framebuffer, to be
 * released.
 */
static void async_swap(struct drm_plane_state *state, struct drm_plane_state *new)
{
	swap(state->fb, new->fb);
	state->crtc_x = new->crtc_x;
	state->crtc_y = new->crtc_y;
	state->crtc_w = new->crtc_w;
	state->crtc_h = new->crtc_h;
	state->src_x = new->src_x;
	state->src_y = new->src_y;
	state->src_w = new->src_w;
	state->src_h = new->src_h;
	state->src = new->src;
	state->dst = new->dst;
	state->visible = new->visible;
}

static void plane_async_update(struct drm_plane *plane, struct drm_atomic_commit *state)
{
	struct drm_plane_state *new = drm_atomic_get_new_plane_state(state, plane);
	struct tessera_crtc *tc = to_tessera_crtc(new->crtc);
	int idx;

	async_swap(plane->state, new);
	if (!drm_dev_enter(plane->dev, &idx))
		return;
	mutex_lock(&tc->commit_lock);
	tessera_plane_write(tc, plane, plane->state);
	tessera_vblank_commit_cursor(tc);
	mutex_unlock(&tc->commit_lock);
	drm_dev_exit(idx);
}

/*
 * Scan out what was drawn, with no other plane over it, at any point of an
 * interrupted commit.
 */
static void plane_panic_flush(struct drm_plane *plane)
{
	struct tessera_crtc *tc = to_tessera_crtc(plane->state->crtc);
	u32 regs[TSR_PLANE_REGS];
	unsigned int i, num = plane_regs(plane->state, regs);

	for (i = 0; i < num; i++)
		tessera_crtc_write(tc, TSR_PLANE(TSR_PLANE_PRIMARY) + 4 * i, regs[i]);
	for (i = TSR_PLANE_PRIMARY + 1; i < TSR_NUM_PLANES; i++)
		tessera_crtc_write(tc, TSR_PLANE(i) + TSR_PLANE_CONTROL, 0);
	tessera_crtc_write(tc, TSR_CRTC_COMMIT, TSR_COMMIT_ASYNC);
	/* In case the kernel continues after all. */
	tessera_latched_forget(tc);
	tc->committed = tessera_crtc_read(tc, TSR_CRTC_COMMITTED);
}

TESSERA_COMPAT_ASYNC_CHECK(plane_async_check)

static const struct drm_plane_helper_funcs plane_helper_funcs = {
	.prepare_fb = plane_prepare_fb,
	.cleanup_fb = plane_cleanup_fb,
	.atomic_check = plane_check,
	.atomic_update = plane_update,
	.atomic_async_check = plane_async_check_compat,
	.atomic_async_update = plane_async_update,
	.get_scanout_buffer = tessera_panic_get_buffer,
	.panic_flush = plane_panic_flush,
};

/* No .format_mod_supported: every format supports every layout. */
static const struct drm_plane_funcs plane_funcs = {
	.update_plane = drm_atomic_helper_update_plane,
	.disable_plane = drm_atomic_helper_disable_plane,
	.reset = drm_atomic_helper_plane_reset,
	.atomic_duplicate_state = drm_atomic_helper_plane_duplicate_state,
	.atomic_destroy_state = drm_atomic_helper_plane_destroy_state,
};

static int plane_add_properties(struct drm_plane *plane, u32 index)
{
	int ret;

	ret = drm_plane_create_alpha_property(plane);
	if (ret)
		return ret;
	ret = drm_plane_create_blend_mode_property(plane, BIT(DRM_MODE_BLEND_PIXEL_NONE) |
						   BIT(DRM_MODE_BLEND_PREMULTI) |
						   BIT(DRM_MODE_BLEND_COVERAGE));
	if (ret)
		return ret;
	ret = drm_plane_create_rotation_property(plane, DRM_MODE_ROTATE_0, PLANE_ROTATIONS);
	if (ret)
		return ret;
	ret = drm_plane_create_scaling_filter_property(plane, BIT(DRM_SCALING_FILTER_DEFAULT) |
						       BIT(DRM_SCALING_FILTER_NEAREST_NEIGHBOR));
	if (ret)
		return ret;
	drm_plane_enable_fb_damage_clips(plane);

	return drm_plane_create_zpos_immutable_property(plane, index);
}

/**
 * tessera_plane_create() - create a plane
 * @tdev: the device
 * @crtc: index of its CRTC
 * @index: TSR_PLANE_PRIMARY, TSR_PLANE_OVERLAY or TSR_PLANE_CURSOR
 *
 * Return: the plane, managed by the device, or an error.
 */
struct drm_plane *tessera_plane_create(struct tessera_device *tdev, u32 crtc, u32 index)
{
	struct tessera_plane *tp;
	int ret;

	tp = drmm_universal_plane_alloc(&tdev->drm, struct tessera_plane, base, BIT(crtc),
					&plane_funcs, tessera_fb_formats, tessera_fb_num_formats,
					tessera_fb_modifiers, plane_types[index], NULL);
	if (IS_ERR(tp))
		return ERR_CAST(tp);
	tp->regs = TSR_PLANE(index);
	drm_plane_helper_add(&tp->base, &plane_helper_funcs);
	ret = plane_add_properties(&tp->base, index);

	return ret ? ERR_PTR(ret) : &tp->base;
}
