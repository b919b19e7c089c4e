// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: panic screen
 *
 * When the kernel panics its message is drawn over what is shown, if the CPU sees that as it lies in memory:
 * framebuffers that programs draw with the CPU are, as those come to a segment in BAR 2 if they may. A swizzled one,
 * or one that the CPU does not see, keeps the screen. There is no way to have another one instead: no page can
 * be had, and none of the device's memory is known to be free.
 *
 * Nothing is locked and nothing waited for. A commit may have been interrupted, so registers are written anew.
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
 * tessera_panic_init() - map what the CPU sees of video memory
 * @tdev: the device, with its display
 *
 * Without it there is no panic screen, and nothing else is missing.
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
		drm_info(&tdev->drm, "no room for a map of video memory: no panic screen\n");
}

/**
 * tessera_panic_get_buffer() - &drm_plane_helper_funcs.get_scanout_buffer
 * @plane: a plane; those over the primary one are switched off
 * @buffer: receives what to draw on
 *
 * Return: 0, or -ENODEV if it shows nothing that can be drawn on.
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
