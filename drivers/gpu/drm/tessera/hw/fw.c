// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: microcode registers
 *
 * Starts an image that is already in hidden VRAM. tessera_firmware.c puts it there.
 */

#include <drm/drm_print.h>

#include "hw/fw.h"
#include "hw/mmio.h"
#include "tessera_device.h"

#define TESSERA_FW_TIMEOUT_US	(2 * USEC_PER_SEC)

/**
 * tessera_fw_start() - let the device check and start an image
 * @tdev: the device
 * @gpu_addr: where it is, inside hidden VRAM
 * @bytes: its size, header included
 *
 * Return: 0, or -EIO if the device does not take it.
 */
int tessera_fw_start(struct tessera_device *tdev, u64 gpu_addr, u32 bytes)
{
	tessera_write64(tdev, TSR_FW_ADDR_LO, gpu_addr);
	tessera_write32(tdev, TSR_FW_SIZE, bytes);
	tessera_write32(tdev, TSR_FW_START, 1);

	if (tessera_poll32(tdev, TSR_CTRL_STATUS, TSR_STATUS_FW_RUNNING,
			   TSR_STATUS_FW_RUNNING, TESSERA_FW_TIMEOUT_US)) {
		drm_err(&tdev->drm, "the device refuses the microcode\n");
		return -EIO;
	}

	return 0;
}
