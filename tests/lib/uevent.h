/* SPDX-License-Identifier: MIT */
/* Events of the kernel to udev. */
#ifndef TSR_UEVENT_H
#define TSR_UEVENT_H

/* From now on events are queued for the returned socket. */
int tsr_uevent_open(void);
/*
 * Waits for the next wedged event of the device under test, and requires that
 * it has @method: "none", or recovery methods separated by commas.
 */
void tsr_uevent_wedged(int fd, const char *method);

#endif /* TSR_UEVENT_H */
