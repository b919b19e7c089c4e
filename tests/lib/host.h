/* SPDX-License-Identifier: MIT */
/* What the host does to the machine meanwhile: for programs with "monitor: guest". */
#ifndef TSR_HOST_H
#define TSR_HOST_H

#include <stdbool.h>

/* a property of the device, from outside; skips the test where the monitor is not here */
void tsr_host_set_bool(const char *property, bool value);

#endif /* TSR_HOST_H */
