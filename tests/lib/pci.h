/* SPDX-License-Identifier: MIT */
/* Taking the device from the driver, and giving it back. */
#ifndef TSR_PCI_H
#define TSR_PCI_H

/* skips the test without a driver; binds if need be, now and when the test ends */
void tsr_pci_begin(void);
int __tsr_pci_bind(void); /* 0, or what probe says */
void tsr_pci_bind(void);
void tsr_pci_unbind(void);

#endif /* TSR_PCI_H */
