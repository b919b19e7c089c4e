// SPDX-License-Identifier: MIT
#include "pci.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tsr.h"

#define DRIVER "/sys/bus/pci/drivers/tessera/"

static const char *slot(void)
{
	static char name[256];
	glob_t found;

	if (name[0])
		return name;
	require(!glob("/sys/bus/pci/devices/*", 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc && !name[0]; i++) {
		char path[320];
		char *id;

		snprintf(path, sizeof(path), "%s/device", found.gl_pathv[i]);
		id = tsr_read_file(path);
		if (id && strtoul(id, NULL, 16) == TSR_PCI_DEVICE_ID)
			snprintf(name, sizeof(name), "%s", strrchr(found.gl_pathv[i], '/') + 1);
		free(id);
	}
	globfree(&found);
	require(name[0]);
	return name;
}

static void bind_again(void)
{
	tsr_write_file(DRIVER "bind", slot());
}

void tsr_pci_begin(void)
{
	if (access(DRIVER, F_OK))
		tap_skip("the driver is not loaded");
	bind_again();
	atexit(bind_again);
}

int __tsr_pci_bind(void)
{
	return tsr_write_file(DRIVER "bind", slot());
}

void tsr_pci_bind(void)
{
	require_ok(__tsr_pci_bind());
}

void tsr_pci_unbind(void)
{
	require_ok(tsr_write_file(DRIVER "unbind", slot()));
}
