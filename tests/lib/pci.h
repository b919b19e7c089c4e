/* SPDX-License-Identifier: MIT */
/* Taking the device from the driver, and giving it back. */
#ifndef TSR_PCI_H
#define TSR_PCI_H

#include "tsr.h"

/* skips the test without a driver; binds if need be, now and when the test ends */
void tsr_pci_begin(void);
struct tsr_device tsr_pci_open(void); /* the device that is taken, where there are several */
/* one that is not @dev; skips the test where there is none */
struct tsr_device tsr_pci_other(const struct tsr_device *dev);
/* its number among the machine's Tessera devices: from 0, by address, as QEMU creates them */
uint32_t tsr_pci_number(const struct tsr_device *dev);
int __tsr_pci_bind(void); /* 0, or what probe says */
void tsr_pci_bind(void);
void tsr_pci_unbind(void);
/* name of the function in /sys/bus/pci/devices, of the device the driver is bound to when first asked */
const char *tsr_pci_slot(void);
/* BAR 0, while no driver has it; stays mapped until munmap() or the end */
volatile uint32_t *tsr_pci_map_registers(void);
/* what the device says about its memory in its registers, as the driver has to tell it */
struct tsr_registers {
	struct drm_tessera_query_segment segs[TSR_MAX_SEGMENTS];
	uint32_t num_segs;
	uint64_t hidden_base, hidden_size; /* video memory in no segment */
};

struct tsr_registers tsr_pci_registers(void); /* takes the device from the driver for that */
/* the segments of a file are those of the registers, byte for byte */
void tsr_pci_same_segments(const struct tsr_registers *regs, const struct tsr_device *dev);
/* bytes that are mapped for the device, which has no driver; 0 where the kernel does not tell */
uint64_t tsr_pci_mapped(void);

void tsr_pci_can_reset(void); /* skips the test where the function cannot be reset */
void tsr_pci_reset(void); /* under the driver */

/* interrupts of the function come late: what has happened meanwhile is told when they are let in */
void tsr_pci_hold_interrupts(bool hold);

#endif /* TSR_PCI_H */
