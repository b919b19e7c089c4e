// SPDX-License-Identifier: MIT
/* Suspend and resume without losing power. */
#include "tap.h"
#include "tsr.h"

#define STATE "/sys/power/state"
#define LEVEL "/sys/power/pm_test"
#define DELAY "/sys/module/suspend/parameters/pm_test_delay"

void tsr_suspend_devices(void)
{
	int rc = tsr_write_file(LEVEL, "devices");

	if (rc)
		tap_skip("the kernel has no %s", LEVEL);
	tsr_write_file(DELAY, "0");
	rc = tsr_write_file(STATE, "freeze");
	require_ok(tsr_write_file(LEVEL, "none"));
	require_ok(rc);
}
