// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: microcode
 *
 * The microcode is a table of the steps of BLIT and DRAW, which the render
 * engines read: blend modes, offsets of vertex attributes, and the
 * transformation of positions. It is in hidden VRAM, which is in no segment. It
 * belongs to no process, therefore, and is never paged. The paging engine
 * writes it at probe, and again after a reset of the device. The steps follow
 * the chapter on exact arithmetic of the device's manual.
 */

#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "base/device.h"
#include "base/wait.h"
#include "exec/exec.h"
#include "hw/abi_check.h"
#include "hw/hw.h"
#include "tessera_drv.h"

#define TESSERA_FIRMWARE_CRC	0x548b5842
#define TESSERA_FIRMWARE_WAIT	msecs_to_jiffies(10000)
#define TESSERA_FIRMWARE_START_US	(2 * USEC_PER_SEC)

/* Index of a dword of the table; elements without an initialiser are zero. */
#define DWORD(byte)	((byte) / sizeof(u32))

static const u32 tessera_firmware_table[DWORD(TSR_FW_TABLE_BYTES)] = {
	[DWORD(TSR_FW_BLEND(TSR_BLEND_NONE))] =
		TSR_FW_FACTORS(TSR_FACTOR_ONE, TSR_FACTOR_ZERO, TSR_FACTOR_ONE, TSR_FACTOR_ZERO),
	[DWORD(TSR_FW_BLEND(TSR_BLEND_ALPHA))] =
		TSR_FW_FACTORS(TSR_FACTOR_SRC_ALPHA, TSR_FACTOR_INV_SRC_ALPHA,
			       TSR_FACTOR_ONE, TSR_FACTOR_INV_SRC_ALPHA),
	[DWORD(TSR_FW_BLEND(TSR_BLEND_PREMULTIPLIED))] =
		TSR_FW_FACTORS(TSR_FACTOR_ONE, TSR_FACTOR_INV_SRC_ALPHA,
			       TSR_FACTOR_ONE, TSR_FACTOR_INV_SRC_ALPHA),
	[DWORD(TSR_FW_FETCH)] = TSR_VERTEX_X, TSR_VERTEX_Y, TSR_VERTEX_U, TSR_VERTEX_V,
				TSR_VERTEX_COLOR,
	[DWORD(TSR_FW_SCALE)] = 65536, 65536,
};

static_assert(TSR_FW_BYTES % TSR_PKT_ALIGN == 0);
static_assert(TSR_FW_BYTES <= TSR_FW_MAX_BYTES);

static void tessera_firmware_job_release(struct tessera_job *job)
{
	kfree(job);
}

static const struct tessera_job_ops tessera_firmware_job_ops = {
	.release = tessera_firmware_job_release,
};

static struct tessera_ib *tessera_firmware_image(struct tessera_device *tdev)
{
	struct tessera_ib *image = tessera_ib_create(tdev, NULL, TSR_FW_BYTES);
	struct tessera_fw_header *header;
	__le32 *table;
	u32 i;

	if (IS_ERR(image))
		return image;
	header = tessera_ib_cpu(image);
	header->magic = cpu_to_le32(TSR_FW_MAGIC);
	header->version = cpu_to_le32(TSR_FW_VERSION);
	header->bytes = cpu_to_le32(TSR_FW_TABLE_BYTES);
	header->crc = cpu_to_le32(TESSERA_FIRMWARE_CRC);
	table = (__le32 *)(header + 1);
	for (i = 0; i < ARRAY_SIZE(tessera_firmware_table); i++)
		table[i] = cpu_to_le32(tessera_firmware_table[i]);
	tessera_ib_flush(image, 0, TSR_FW_BYTES);

	return image;
}

/* Builds the commands that copy the image from system pages to @addr. */
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
	pkt->bytes_lo = cpu_to_le32(TSR_FW_BYTES);

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

/* Make the device check and start the image in hidden VRAM. */
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
 * tessera_firmware_load() - write the microcode to hidden VRAM and start it
 * @tdev: the device, its engines started
 *
 * Return: 0 or a negative error.
 */
int tessera_firmware_load(struct tessera_device *tdev)
{
	u64 addr = tdev->info.hidden_base;
	struct tessera_ib *image, *ib;
	int ret;

	if (tdev->info.hidden_size < TSR_FW_BYTES) {
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
	if (ret) {
		drm_err(&tdev->drm, "microcode upload failed: %pe\n", ERR_PTR(ret));
		/* The paging engine may be at the upload still. */
		tessera_engines_cancel(tdev);
	}
	tessera_ib_put(ib);
	tessera_ib_put(image);

	return ret ?: tessera_firmware_start(tdev, addr, TSR_FW_BYTES);
}
