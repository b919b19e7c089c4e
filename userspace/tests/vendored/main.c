// SPDX-License-Identifier: MIT
/* A program of a project that vendors libtessera: it includes, links and calls it. */
#include <errno.h>
#include <stdio.h>

#include <tessera.h>

int main(void)
{
	struct tessera_device *dev;
	struct tessera_view view;
	uint64_t size;

	if (tessera_view_init(&view, TSR_FORMAT_R32, TSR_LAYOUT_LINEAR, 16, 4, &size) ||
	    size != 256 || tessera_device_new_path("/dev/null", &dev) != -ENODEV)
		return 1;
	puts("vendored");
	return 0;
}
