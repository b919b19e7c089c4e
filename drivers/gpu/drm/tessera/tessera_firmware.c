// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: microcode
 *
 * The render engines need microcode in hidden VRAM, memory that is in no segment
 * and so belongs to no process and is never paged. It is put there once, at probe, by the
 * paging engine, and stays until the device is reset.
 */

#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "exec/exec.h"
#include "hw/hw.h"
#include "tessera_device.h"
#include "tessera_drv.h"
#include "tessera_hwabi_check.h"
#include "tessera_wait.h"

#define TESSERA_FIRMWARE_CRC	0x07b62d8a
#define TESSERA_FIRMWARE_WAIT	msecs_to_jiffies(10000)
#define TESSERA_FIRMWARE_START_US	(2 * USEC_PER_SEC)

static const u8 tessera_firmware_payload[] = {
	0x54, 0x65, 0x73, 0x73, 0x65, 0x72, 0x61, 0x20, 0x66, 0x69, 0x78, 0x65,
	0x64, 0x2d, 0x66, 0x75, 0x6e, 0x63, 0x74, 0x69, 0x6f, 0x6e, 0x20, 0x6d,
	0x69, 0x63, 0x72, 0x6f, 0x63, 0x6f, 0x64, 0x65, 0x20, 0x31, 0x2e, 0x30,
	0x3a, 0x20, 0x66, 0x69, 0x6c, 0x6c, 0x2c, 0x20, 0x63, 0x6f, 0x70, 0x79,
	0x2c, 0x20, 0x62, 0x6c, 0x69, 0x74, 0x2c, 0x20, 0x64, 0x72, 0x61, 0x77,
	0x2e, 0x00, 0x00, 0x00,
};

#define TESSERA_FIRMWARE_BYTES	(TSR_FW_HEADER_BYTES + sizeof(tessera_firmware_payload))

static_assert(TESSERA_FIRMWARE_BYTES % TSR_PKT_ALIGN == 0);
static_assert(TESSERA_FIRMWARE_BYTES <= TSR_FW_MAX_BYTES);

static void tessera_firmware_job_release(struct tessera_job *job)
{
	kfree(job);
}

static const struct tessera_job_ops tessera_firmware_job_ops = {
	.release = tessera_firmware_job_release,
};

static struct tessera_ib *tessera_firmware_image(struct tessera_device *tdev)
{
	struct tessera_ib *image = tessera_ib_create(tdev, NULL, TESSERA_FIRMWARE_BYTES);
	struct tessera_fw_header *header;

	if (IS_ERR(image))
		return image;
	header = tessera_ib_cpu(image);
	header->magic = cpu_to_le32(TSR_FW_MAGIC);
	header->version = cpu_to_le32(TSR_FW_VERSION);
	header->bytes = cpu_to_le32(sizeof(tessera_firmware_payload));
	header->crc = cpu_to_le32(TESSERA_FIRMWARE_CRC);
	memcpy(header + 1, tessera_firmware_payload, sizeof(tessera_firmware_payload));
	tessera_ib_flush(image, 0, TESSERA_FIRMWARE_BYTES);

	return image;
}

/* The commands: copy the image from system pages to @addr. */
static struct tessera_ib *tessera_firmware_commands(struct tessera_device *tdev,
						    struct tessera_ib *image, u64 addr)
{
	struct tessera_pkt_transfer *pkt;
	struct tessera_ib *ib = tessera_ib_create(tdev, NULL, sizeof(*pkt));
	dma_addr_t pages = tessera_ib_pages_dma(image);

	if (IS_ERR(ib))
		return ib;
	pkt = tessera_ib_cpu(ib);
	pkt->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_TRANSFER,
						 TSR_TRANSFER_SRC_PAGES |
						 TSR_TRANSFER_START |
						 TSR_TRANSFER_END,
						 TSR_TRANSFER_DWORDS));
	pkt->src_lo = cpu_to_le32(lower_32_bits(pages));
	pkt->src_hi = cpu_to_le32(upper_32_bits(pages));
	pkt->dst_lo = cpu_to_le32(lower_32_bits(addr));
	pkt->dst_hi = cpu_to_le32(upper_32_bits(addr));
	pkt->bytes_lo = cpu_to_le32(TESSERA_FIRMWARE_BYTES);

	return ib;
}

static int tessera_firmware_wait(struct tessera_job *job)
{
	struct dma_fence *fence = tessera_job_finished(job);

	if (!tessera_wait_fence(TESSERA_WAIT_PROBE, fence, false, TESSERA_FIRMWARE_WAIT))
		return -ETIMEDOUT;
	return dma_fence_get_status(fence) < 0 ? fence->error : 0;
}

static int tessera_firmware_run(struct tessera_device *tdev, struct tessera_ib *ib)
{
	struct tessera_engine *engine = tessera_engine_paging(tdev);
	struct drm_sched_entity *entity;
	struct tessera_job *job;
	int ret = -ENOMEM;

	entity = kzalloc(sizeof(*entity), GFP_KERNEL);
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!entity || !job)
		goto err_free;
	ret = tessera_engine_entity_init(engine, entity, DRM_SCHED_PRIORITY_KERNEL, NULL);
	if (ret)
		goto err_free;
	ret = tessera_job_init(job, engine, entity, &tessera_firmware_job_ops, NULL);
	if (ret)
		goto err_destroy_entity;
	tessera_job_add_range(job, ib, 0, sizeof(struct tessera_pkt_transfer), false);
	tessera_job_arm(job);
	tessera_job_push(job);
	ret = tessera_firmware_wait(job);
	tessera_job_put(job);
	job = NULL;

err_destroy_entity:
	tessera_engine_entity_destroy(entity);
err_free:
	kfree(job);
	kfree(entity);
	return ret;
}

/* The device checks the image that is in hidden VRAM now. */
static int tessera_firmware_start(struct tessera_device *tdev, u64 gpu_addr, u32 bytes)
{
	tessera_write64(tdev, TSR_FW_ADDR_LO, gpu_addr);
	tessera_write32(tdev, TSR_FW_SIZE, bytes);
	tessera_write32(tdev, TSR_FW_START, 1);

	if (tessera_poll32(tdev, TSR_CTRL_STATUS, TSR_STATUS_FW_RUNNING,
			   TSR_STATUS_FW_RUNNING, TESSERA_FIRMWARE_START_US)) {
		drm_err(&tdev->drm, "the device refuses the microcode\n");
		return -EIO;
	}

	return 0;
}

/**
 * tessera_firmware_load() - put the microcode into hidden VRAM and start it
 * @tdev: the device, its engines started
 *
 * Return: 0 or a negative error.
 */
int tessera_firmware_load(struct tessera_device *tdev)
{
	u64 addr = tdev->info.hidden_base;
	struct tessera_ib *image, *ib;
	int ret;

	if (tdev->info.hidden_size < TESSERA_FIRMWARE_BYTES) {
		drm_err(&tdev->drm, "no hidden VRAM for the microcode\n");
		return -ENODEV;
	}
	image = tessera_firmware_image(tdev);
	if (IS_ERR(image))
		return PTR_ERR(image);
	ib = tessera_firmware_commands(tdev, image, addr);
	if (IS_ERR(ib)) {
		tessera_ib_put(image);
		return PTR_ERR(ib);
	}
	ret = tessera_firmware_run(tdev, ib);
	if (ret)
		drm_err(&tdev->drm, "microcode upload failed: %pe\n", ERR_PTR(ret));
	tessera_ib_put(ib);
	tessera_ib_put(image);

	return ret ?: tessera_firmware_start(tdev, addr, TESSERA_FIRMWARE_BYTES);
}
