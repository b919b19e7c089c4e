// SPDX-License-Identifier: MIT
#include "pci.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tsr.h"

#define DRIVER "/sys/bus/pci/drivers/tessera/"

static bool is_ours(const char *device)
{
	char path[320];
	char *id;
	bool ours;

	snprintf(path, sizeof(path), "%s/device", device);
	id = tsr_read_file(path);
	ours = id && strtoul(id, NULL, 16) == TSR_PCI_DEVICE_ID;
	free(id);
	return ours;
}

static bool find_slot(const char *pattern, char *name, size_t size)
{
	bool there = false;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && !there; i++) {
		there = is_ours(found.gl_pathv[i]);
		if (there)
			snprintf(name, size, "%s", strrchr(found.gl_pathv[i], '/') + 1);
	}
	globfree(&found);
	return there;
}

/* of the device the driver is bound to when first asked; the guest may have others */
static const char *slot(void)
{
	static char name[256];

	if (!name[0])
		require(find_slot(DRIVER "0*", name, sizeof(name)) ||
			find_slot("/sys/bus/pci/devices/*", name, sizeof(name)));
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
