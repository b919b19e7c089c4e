// SPDX-License-Identifier: MIT
/* Suspend and resume without losing power. */
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tsr.h"

#define STATE "/sys/power/state"
#define LEVEL "/sys/power/pm_test"
#define DELAY "/sys/module/suspend/parameters/pm_test_delay"

static void devices_go(const char *state, const char *seconds)
{
	int rc = tsr_write_file(LEVEL, "devices");

	if (rc)
		tap_skip("the kernel has no %s", LEVEL);
	tsr_write_file(DELAY, seconds);
	rc = tsr_write_file(STATE, state);
	require_ok(tsr_write_file(LEVEL, "none"));
	require_ok(rc);
}

void tsr_suspend_devices(void)
{
	devices_go("freeze", "0");
}

void tsr_suspend_devices_for(const char *seconds)
{
	devices_go("freeze", seconds);
}

void tsr_hibernate_devices(void)
{
	char *states = tsr_read_file(STATE);
	bool possible = states && strstr(states, "disk");

	free(states);
	if (!possible)
		tap_skip("the kernel does not hibernate");
	devices_go("disk", "0");
}
