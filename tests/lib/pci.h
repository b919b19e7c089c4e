/* SPDX-License-Identifier: MIT */
/*
 * Unbind the device from the driver, bind it again, and look at it without one.
 */
#ifndef TSR_PCI_H
#define TSR_PCI_H

#include "tsr.h"

/*
 * Skips the test if the driver is not loaded. Binds the device if it is
 * unbound, now and again when the test ends.
 */
void tsr_pci_begin(void);
struct tsr_device tsr_pci_open(void); /* the device tsr_pci_slot() names */
/* Another device than @dev. Skips the test if there is none. */
struct tsr_device tsr_pci_other(const struct tsr_device *dev);
/*
 * The device's number among the machine's Tessera devices: counted from 0 in
 * address order, which is the order in which QEMU creates them.
 */
uint32_t tsr_pci_number(const struct tsr_device *dev);
int __tsr_pci_bind(void); /* 0, or the errno of probe */
void tsr_pci_bind(void);
void tsr_pci_unbind(void);
/*
 * Name of the function in /sys/bus/pci/devices. It is the device that the
 * driver was bound to at the first call.
 */
const char *tsr_pci_slot(void);
const char *tsr_pci_path(const char *name); /* its file in sysfs; valid until the next call */
/*
 * Maps BAR 0 while no driver is bound. It stays mapped until munmap() or the
 * end of the process.
 */
volatile uint32_t *tsr_pci_map_registers(void);
/* The memory layout in the device's registers; the driver reports the same. */
struct tsr_registers {
	struct drm_tessera_query_segment segs[TSR_MAX_SEGMENTS];
	uint32_t num_segs;
	uint64_t hidden_base, hidden_size; /* video memory in no segment */
};

struct tsr_registers tsr_pci_registers(void); /* unbinds the driver meanwhile */
/* Requires that the file's segments equal the registers, byte for byte. */
void tsr_pci_same_segments(const struct tsr_registers *regs, const struct tsr_device *dev);
/*
 * Bytes that are still DMA-mapped for the unbound device. 0 if the kernel does
 * not tell (no dma-api debugging).
 */
uint64_t tsr_pci_mapped(void);

void tsr_pci_can_reset(void); /* skips the test if the function cannot be reset */
void tsr_pci_reset(void); /* with the driver bound */

/*
 * Masks all MSI-X vectors of the function. The device reports events of the
 * meantime when the mask is lifted.
 */
void tsr_pci_hold_interrupts(bool hold);

#endif /* TSR_PCI_H */
