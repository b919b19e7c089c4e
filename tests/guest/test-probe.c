// SPDX-License-Identifier: MIT
/*
 * A device with an invalid segment table (test-probe.args): probe must refuse
 * it.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "tsr.h"

#define DEVICES "/sys/bus/pci/devices/"
#define BIND "/sys/bus/pci/drivers/tessera/bind"
#define UNBIND "/sys/bus/pci/drivers/tessera/unbind"

static bool file_is(const char *device, const char *name, const char *want)
{
	char path[128], *text;
	bool same;

	snprintf(path, sizeof(path), "%s/%s", device, name);
	text = tsr_read_file(path);
	same = text && !strncmp(text, want, strlen(want));
	free(text);
	return same;
}

/*
 * Probe fails with the documented error each time, and leaves nothing behind.
 * Devices of other tests, which are unbound now, can still be bound.
 */
static void overlapping_segments_are_refused(void)
{
	glob_t found;
	uint32_t refused = 0;

	require(!glob(DEVICES "*", 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *device = found.gl_pathv[i], *name = device + strlen(DEVICES);
		int rc;

		if (!file_is(device, "vendor", "0x1234") || !file_is(device, "device", "0x7e55"))
			continue;
		rc = tsr_write_file(BIND, name);
		if (!rc) {
			require_ok(tsr_write_file(UNBIND, name));
			continue;
		}
		refused++;
		require_eq(rc, -EINVAL);
		for (int n = 0; n < 2; n++)
			require_err(tsr_write_file(BIND, name), -EINVAL);
	}
	globfree(&found);
	require_eq(refused, 1);
	require_err(__tsr_open_node(), -ENODEV);
}

static const struct tap_test tests[] = {
	{ "SEG-6 ERR-44 a device with overlapping segments is refused",
	  overlapping_segments_are_refused, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
