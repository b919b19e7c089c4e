// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: panic screen
 *
 * Draw the message of a kernel panic over the framebuffer that is scanned out,
 * if it is linear and in CPU-visible memory. Framebuffers that programs draw
 * with the CPU are, because such objects are placed in a segment in BAR 2 if
 * they support one. A swizzled framebuffer, or one that the CPU does not see,
 * stays on the screen. Another framebuffer cannot replace it: a panicking
 * kernel cannot allocate pages, and no memory of the device is known to be
 * free.
 *
 * The code takes no lock and waits for nothing. The panic may have interrupted
 * a commit, so all registers are written again.
 */

#include <linux/iosys-map.h>
#include <linux/pci.h>

#include <drm/drm_framebuffer.h>
#include <drm/drm_panic.h>
#include <drm/drm_plane.h>
#include <drm/drm_print.h>

#include "kms/kms.h"
#include "mem/mem.h"

/**
 * tessera_panic_init() - map BAR 2 for the panic screen
 * @tdev: the device, with its display
 *
 * If that fails there is no panic screen. Everything else works.
 */
void tessera_panic_init(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	struct tessera_kms *kms = tdev->kms;
	u64 size = pci_resource_len(pdev, TSR_BAR_VRAM);

	if (!IS_ENABLED(CONFIG_DRM_PANIC) || !size)
		return;
	kms->vram = devm_ioremap_wc(tdev->drm.dev, pci_resource_start(pdev, TSR_BAR_VRAM), size);
	if (!kms->vram)
		drm_info(&tdev->drm, "no space for a map of video memory: no panic screen\n");
}

/**
 * tessera_panic_get_buffer() - &drm_plane_helper_funcs.get_scanout_buffer
 * @plane: a plane; those over the primary one are switched off
 * @buffer: receives the framebuffer to draw on
 *
 * Return: 0, or -ENODEV if the plane shows nothing that can be drawn on.
 */
int tessera_panic_get_buffer(struct drm_plane *plane, struct drm_scanout_buffer *buffer)
{
	struct tessera_device *tdev = to_tessera_device(plane->dev);
	const struct drm_plane_state *state = plane->state;
	const struct drm_framebuffer *fb;
	u64 offset;

	if (plane->type != DRM_PLANE_TYPE_PRIMARY || !state || !state->visible || !tdev->kms->vram)
		return -ENODEV;
	fb = state->fb;
	if (tessera_fb_layout(fb) != TSR_LAYOUT_LINEAR ||
	    !tessera_scanout_bar_offset(gem_to_tessera_bo(fb->obj[0]), &offset))
		return -ENODEV;
	iosys_map_set_vaddr_iomem(&buffer->map[0], tdev->kms->vram + offset + fb->offsets[0]);
	buffer->format = fb->format;
	buffer->width = fb->width;
	buffer->height = fb->height;
	buffer->pitch[0] = fb->pitches[0];

	return 0;
}
