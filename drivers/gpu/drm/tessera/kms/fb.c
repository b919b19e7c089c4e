// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: framebuffers
 *
 * Framebuffers for planes: formats, modifiers and the objects that can be used.
 * The object of a framebuffer is in a memory segment while it is pinned, that
 * is, while a plane's state refers to it. mem/scanout.c moves it there and
 * keeps it there.
 *
 * A modifier describes the layout of the bytes in the memory segment. An object
 * with a swizzled layout can only be used with its own layout and pitch. The
 * bytes of a linear object have the layout that its client gives them.
 */

#include <kunit/visibility.h>
#include <linux/dma-resv.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <drm/drm_atomic_helper.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_gem_framebuffer_helper.h>
#include <drm/drm_modeset_helper.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/compat.h"
#include "kms/kms.h"
#include "mem/mem.h"

const u32 tessera_fb_formats[] = {
	DRM_FORMAT_XRGB8888,
	DRM_FORMAT_ARGB8888,
	DRM_FORMAT_RGB565,
	DRM_FORMAT_XRGB2101010,
};
EXPORT_SYMBOL_IF_KUNIT(tessera_fb_formats);

const unsigned int tessera_fb_num_formats = ARRAY_SIZE(tessera_fb_formats);
EXPORT_SYMBOL_IF_KUNIT(tessera_fb_num_formats);

/* In the order of TSR_LAYOUT_*. */
const u64 tessera_fb_modifiers[] = {
	DRM_FORMAT_MOD_LINEAR,
	DRM_TESSERA_FORMAT_MOD_TILE4K,
	DRM_TESSERA_FORMAT_MOD_MORTON,
	DRM_FORMAT_MOD_INVALID
};
EXPORT_SYMBOL_IF_KUNIT(tessera_fb_modifiers);

/* No dirty callback: the device scans out memory directly. */
static const struct drm_framebuffer_funcs fb_funcs = {
	.destroy = drm_gem_fb_destroy,
	.create_handle = drm_gem_fb_create_handle,
};

/**
 * tessera_fb_format() - convert a DRM format to the device's number
 * @fourcc: one of tessera_fb_formats
 *
 * Return: TSR_FORMAT_*, or 0.
 */
u32 tessera_fb_format(u32 fourcc)
{
	switch (fourcc) {
	case DRM_FORMAT_XRGB8888:
		return TSR_FORMAT_XRGB8888;
	case DRM_FORMAT_ARGB8888:
		return TSR_FORMAT_ARGB8888;
	case DRM_FORMAT_RGB565:
		return TSR_FORMAT_RGB565;
	case DRM_FORMAT_XRGB2101010:
		return TSR_FORMAT_XRGB2101010;
	default:
		return 0;
	}
}
EXPORT_SYMBOL_IF_KUNIT(tessera_fb_format);

/* TSR_LAYOUT_COUNT: not a modifier of this driver. */
static u32 modifier_layout(u64 modifier)
{
	u32 layout;

	for (layout = 0; layout < TSR_LAYOUT_COUNT; layout++) {
		if (tessera_fb_modifiers[layout] == modifier)
			break;
	}

	return layout;
}

/* A framebuffer. The core frees it through the pointer to @base. */
struct tessera_fb {
	struct drm_framebuffer base;
	/*
	 * The file that created it. Only compared: the framebuffer may outlive
	 * it.
	 */
	struct drm_file *file;
};

static_assert(!offsetof(struct tessera_fb, base));

static struct tessera_bo *fb_bo(const struct drm_framebuffer *fb)
{
	return gem_to_tessera_bo(fb->obj[0]);
}

/**
 * tessera_fb_layout() - layout of a framebuffer in memory
 * @fb: the framebuffer
 *
 * Return: TSR_LAYOUT_*.
 */
u32 tessera_fb_layout(const struct drm_framebuffer *fb)
{
	return fb->flags & DRM_MODE_FB_MODIFIERS ? modifier_layout(fb->modifier) :
						   fb_bo(fb)->layout;
}

/**
 * tessera_fb_addr() - GPU address of the first pixel of a pinned framebuffer
 * @fb: the framebuffer, after its moves
 *
 * Return: the address; 0 if the contents are lost, as another object may be in
 * its placement then.
 */
u64 tessera_fb_addr(const struct drm_framebuffer *fb)
{
	struct tessera_bo *bo = fb_bo(fb);
	u64 addr;

	/*
	 * Test @lost first. A lost object that is used again leaves its
	 * placement before @lost is cleared.
	 */
	if (atomic_read_acquire(&bo->lost))
		return 0;
	/* Constant while it is pinned; 0 if it lost its place. */
	addr = READ_ONCE(bo->fixed.addr);

	return addr ? addr + fb->offsets[0] : 0;
}

/**
 * tessera_fb_is_idle() - ask whether drawing to a framebuffer is done
 * @fb: the framebuffer
 *
 * Return: true if no job or move has to be waited for before it is scanned out.
 */
bool tessera_fb_is_idle(const struct drm_framebuffer *fb)
{
	return dma_resv_test_signaled(fb->obj[0]->resv, DMA_RESV_USAGE_WRITE);
}

/**
 * tessera_fb_is_ready() - ask whether a framebuffer can be scanned out at once
 * @fb: the framebuffer
 *
 * Return: true if no job has to be waited for and the object need not be moved.
 * The answer may be outdated when the function returns.
 */
bool tessera_fb_is_ready(const struct drm_framebuffer *fb)
{
	return tessera_scanout_is_placed(fb_bo(fb)) && tessera_fb_is_idle(fb);
}

/**
 * tessera_fb_pin() - pin a framebuffer in a memory segment
 * @fb: the framebuffer
 *
 * Return: 0 or an error of tessera_scanout_pin().
 */
int tessera_fb_pin(struct drm_framebuffer *fb)
{
	return tessera_scanout_pin(fb_bo(fb), container_of(fb, struct tessera_fb, base)->file);
}

/**
 * tessera_fb_unpin() - undo tessera_fb_pin()
 * @fb: the framebuffer, after tessera_fb_pin()
 */
void tessera_fb_unpin(struct drm_framebuffer *fb)
{
	tessera_scanout_unpin(fb_bo(fb));
}

/* Bytes of the object up to the end of the surface. */
static u64 surface_end(const struct drm_format_info *info, const struct drm_mode_fb_cmd2 *cmd,
		       u32 layout)
{
	u64 pitch = cmd->pitches[0];

	if (layout == TSR_LAYOUT_LINEAR)
		return cmd->offsets[0] + (cmd->height - 1) * pitch +
		       (u64)cmd->width * info->cpp[0];

	return cmd->offsets[0] + round_up((u64)cmd->height, TSR_TILE_ROWS) * pitch;
}

static bool surface_ok(const struct drm_format_info *info, const struct drm_mode_fb_cmd2 *cmd,
		       u32 layout)
{
	u32 pitch = cmd->pitches[0], offset = cmd->offsets[0];

	if (!tessera_fb_format(info->format) || layout >= TSR_LAYOUT_COUNT ||
	    pitch > TSR_SURF_MAX_PITCH || pitch % info->cpp[0] || offset % info->cpp[0] ||
	    pitch < (u64)cmd->width * info->cpp[0])
		return false;

	return layout == TSR_LAYOUT_LINEAR ||
	       (!(pitch % TSR_TILE_WIDTH_BYTES) && !(offset % TSR_TILE_BYTES));
}

static int check(struct tessera_bo *bo, const struct drm_format_info *info,
		 const struct drm_mode_fb_cmd2 *cmd)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	u32 layout = bo->layout;

	if (cmd->flags & DRM_MODE_FB_MODIFIERS)
		layout = modifier_layout(cmd->modifier[0]);
	if (tessera_ioctl_bad(tdev, !surface_ok(info, cmd, layout)) ||
	    tessera_ioctl_bad(tdev, surface_end(info, cmd, layout) > tessera_bo_bytes(bo)) ||
	    tessera_ioctl_bad(tdev, bo->layout != TSR_LAYOUT_LINEAR &&
			      (layout != bo->layout || cmd->pitches[0] != bo->pitch)) ||
	    tessera_ioctl_bad(tdev, !tessera_scanout_possible(bo)))
		return -EINVAL;

	return 0;
}

/**
 * tessera_fb_create() - &drm_mode_config_funcs.fb_create
 * @drm: the device
 * @file: the file that owns the handle
 * @info: the format; the core has checked that a plane supports it
 * @cmd: the requested framebuffer; size and format checked by the core
 *
 * Return: the framebuffer, or -ENOENT, -ENOMEM, or -EINVAL if the device cannot
 * scan out the object like this.
 */
struct drm_framebuffer *tessera_fb_create(struct drm_device *drm, struct drm_file *file,
					  const struct drm_format_info *info,
					  const struct drm_mode_fb_cmd2 *cmd)
{
	struct tessera_bo *bo = tessera_bo_lookup(file, cmd->handles[0]);
	struct tessera_fb *fb;
	int ret;

	if (!bo)
		return ERR_PTR(-ENOENT);
	ret = check(bo, info, cmd);
	if (ret)
		goto err_put;

	ret = -ENOMEM;
	fb = kzalloc(sizeof(*fb), GFP_KERNEL);
	if (!fb)
		goto err_put;
	fb->file = file;
	fb->base.obj[0] = &bo->tbo.base;
	drm_helper_mode_fill_fb_struct(drm, &fb->base, info, cmd);
	ret = drm_framebuffer_init(drm, &fb->base, &fb_funcs);
	if (ret)
		goto err_free;

	return &fb->base;

err_free:
	kfree(fb);
err_put:
	tessera_bo_put(bo);
	return ERR_PTR(ret);
}
