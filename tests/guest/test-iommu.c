// SPDX-License-Identifier: MIT
/*
 * The device behind a translating IOMMU that flushes its TLB at each unmap
 * (iommu.strict), of three models: see the .args file. Transfers must work, and
 * DMA without a mapping must end as an error of the engine. The last test
 * drives an engine without the driver.
 */
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pci.h"
#include "tsr.h"

/* without a driver, no address is mapped for the device */
#define NOWHERE 0x40000000u
#define STATUS_MS 20000

/* Without translation the other tests would prove nothing. */
static void dma_is_translated(void)
{
	char *type = tsr_read_file(tsr_pci_path("iommu_group/type"));

	require_msg(type, "the device has no IOMMU group");
	require_msg(!strncmp(type, "DMA", 3), "expected a translated domain, it has %s", type);
	free(type);
}

static void every_way_to_system_memory(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vram = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t round = 1; round <= 3; round++) {
		struct tsr_bo in =
			tsr_bo_new(&dev, MiB(1), tsr_bit(gart), DRM_TESSERA_BO_CPU_ACCESS);
		struct tsr_bo bo =
			tsr_bo_new(&dev, MiB(1), tsr_bit(vram), DRM_TESSERA_BO_CPU_ACCESS);
		struct tsr_bo out =
			tsr_bo_new(&dev, MiB(1), tsr_bit(gart), DRM_TESSERA_BO_CPU_ACCESS);

		tsr_bo_map(&dev, &in);
		tsr_pattern_write(&in, round);
		tsr_gpu_copy(&dev, ctx, &bo, &in);
		/* Evict to scattered system pages, and page in again. */
		tsr_evict_set(tsr_bit(vram) | tsr_bit(gart));
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		tsr_gpu_copy(&dev, ctx, &out, &bo);
		tsr_bo_wait(&dev, &out);
		tsr_bo_map(&dev, &out);
		tsr_pattern_check(&out, round);
		tsr_bo_free(&dev, &in);
		tsr_bo_free(&dev, &bo);
		tsr_bo_free(&dev, &out);
	}
	tsr_close(&dev);
}

static void set_bus_master(void)
{
	int fd = open(tsr_pci_path("config"), O_RDWR | O_CLOEXEC);
	uint16_t command;

	require(fd >= 0);
	require_eq(pread(fd, &command, sizeof(command), PCI_COMMAND), sizeof(command));
	command |= PCI_COMMAND_MASTER;
	require_eq(pwrite(fd, &command, sizeof(command), PCI_COMMAND), sizeof(command));
	close(fd);
}

static void wait_register(volatile uint32_t *regs, uint32_t reg, uint32_t mask, uint32_t value)
{
	for (int ms = 0; (regs[reg / 4] & mask) != value; ms++) {
		require_msg(ms < STATUS_MS, "register 0x%x is 0x%x, expected 0x%x of 0x%x", reg,
			    regs[reg / 4], value, mask);
		usleep(1000);
	}
}

/*
 * An engine with an unmapped ring halts and reports the DMA error. Afterwards
 * the driver finds a working device.
 */
static void unmapped_ring(void)
{
	volatile uint32_t *regs;

	tsr_pci_begin();
	tsr_pci_unbind();
	regs = tsr_pci_map_registers();
	set_bus_master();
	regs[TSR_ERR_CLEAR / 4] = 1;
	for (uint32_t round = 1; round <= 20; round++) {
		regs[(TSR_ENG(0) + TSR_ENG_RING_LO) / 4] = NOWHERE;
		regs[(TSR_ENG(0) + TSR_ENG_RING_HI) / 4] = 0;
		regs[(TSR_ENG(0) + TSR_ENG_RING_SIZE) / 4] = TSR_RING_MIN_BYTES;
		regs[(TSR_ENG(0) + TSR_ENG_STATUS_PAGE_LO) / 4] = NOWHERE;
		regs[(TSR_ENG(0) + TSR_ENG_STATUS_PAGE_HI) / 4] = 0;
		regs[(TSR_ENG(0) + TSR_ENG_CONTROL) / 4] = TSR_ENG_ENABLE;
		regs[TSR_DOORBELL(0) / 4] = 64;
		wait_register(regs, TSR_ENG(0) + TSR_ENG_STATUS, TSR_ENGS_HALTED, TSR_ENGS_HALTED);
		require_eq(regs[TSR_ERR_COUNT(TSR_ERR_DMA) / 4], round);
		regs[(TSR_ENG(0) + TSR_ENG_CONTROL) / 4] = TSR_ENG_RESET;
		wait_register(regs, TSR_ENG(0) + TSR_ENG_STATUS, TSR_ENGS_RESETTING, 0);
	}
	require_eq(regs[TSR_ERR_REC_ADDR_LO / 4], NOWHERE);
	regs[TSR_CTRL_RESET / 4] = TSR_RESET_MAGIC;
	wait_register(regs, TSR_CTRL_STATUS, TSR_STATUS_RESETTING, 0);
	regs[TSR_ERR_CLEAR / 4] = 1;
	require_ok(munmap((void *)regs, TSR_MMIO_SIZE));
	tsr_pci_bind();
	every_way_to_system_memory();
}

static const struct tap_test tests[] = {
	{ "PAGE-2 the device's DMA is translated", dma_is_translated, 0, 0 },
	{ "PAGE-2 PAGE-13 SEG-22 transfers work through an IOMMU", every_way_to_system_memory, 0,
	  0 },
	{ "PAGE-2 DMA to an address without a page is an error of the engine", unmapped_ring,
	  TSR_EXPECT(DMA), 0 },
};

TSR_TEST_MAIN(tests)
