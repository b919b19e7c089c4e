// SPDX-License-Identifier: MIT
#include "pci.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

/* the device bound at the first call; the guest may have others */
const char *tsr_pci_slot(void)
{
	static char name[256];

	if (!name[0])
		require(find_slot(DRIVER "0*", name, sizeof(name)) ||
			find_slot("/sys/bus/pci/devices/*", name, sizeof(name)));
	return name;
}

const char *tsr_pci_path(const char *name)
{
	static char path[320];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", tsr_pci_slot(), name);
	return path;
}

static void bind_again(void)
{
	tsr_write_file(DRIVER "bind", tsr_pci_slot());
}

void tsr_pci_begin(void)
{
	if (access(DRIVER, F_OK))
		tap_skip("the driver is not loaded");
	bind_again();
	atexit(bind_again);
}

static struct tsr_device open_path(const char *path)
{
	struct tsr_device dev;

	require_ok(setenv("TESSERA_NODE", path, 1));
	dev = tsr_open();
	require_ok(unsetenv("TESSERA_NODE"));
	return dev;
}

struct tsr_device tsr_pci_open(void)
{
	struct tsr_device dev;
	char path[320];
	glob_t found;

	snprintf(path, sizeof(path), DRIVER "%s/drm/renderD*", tsr_pci_slot());
	require(!glob(path, 0, NULL, &found));
	snprintf(path, sizeof(path), "/dev/dri/%s", strrchr(found.gl_pathv[0], '/') + 1);
	dev = open_path(path);
	globfree(&found);
	return dev;
}

struct tsr_device tsr_pci_other(const struct tsr_device *dev)
{
	char path[320] = "";
	struct stat one, node;
	glob_t found;

	require_ok(fstat(dev->fd, &one));
	require(!glob(DRIVER "0*/drm/renderD*", 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc && !path[0]; i++) {
		snprintf(path, sizeof(path), "/dev/dri/%s", strrchr(found.gl_pathv[i], '/') + 1);
		require_ok(stat(path, &node));
		if (node.st_rdev == one.st_rdev)
			path[0] = '\0';
	}
	globfree(&found);
	if (!path[0])
		tap_skip("the test needs two devices, there is one");
	return open_path(path);
}

uint32_t tsr_pci_number(const struct tsr_device *dev)
{
	uint32_t number = 0;
	char path[64], slot[PATH_MAX];
	struct stat node;
	glob_t found;
	bool passed = false;

	require_ok(fstat(dev->fd, &node));
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(node.st_rdev),
		 minor(node.st_rdev));
	require_msg(realpath(path, slot), "%s: %s", path, strerror(errno));
	require(!glob("/sys/bus/pci/devices/*", 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc && !passed; i++) {
		passed = !strcmp(strrchr(found.gl_pathv[i], '/'), strrchr(slot, '/'));
		number += !passed && is_ours(found.gl_pathv[i]);
	}
	globfree(&found);
	require(passed);
	return number;
}

int __tsr_pci_bind(void)
{
	return tsr_write_file(DRIVER "bind", tsr_pci_slot());
}

void tsr_pci_bind(void)
{
	require_ok(__tsr_pci_bind());
}

void tsr_pci_unbind(void)
{
	require_ok(tsr_write_file(DRIVER "unbind", tsr_pci_slot()));
}

static uint32_t reg32(const volatile uint32_t *bar, uint32_t offset)
{
	return bar[offset / 4];
}

static uint64_t reg64(const volatile uint32_t *bar, uint32_t offset)
{
	return reg32(bar, offset) | (uint64_t)reg32(bar, offset + 4) << 32;
}

static void read_segment(const volatile uint32_t *bar, struct drm_tessera_query_segment *seg)
{
	const uint32_t told = DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_CPU_VISIBLE |
			      DRM_TESSERA_SEGMENT_GPU_READ_ONLY |
			      DRM_TESSERA_SEGMENT_CACHE_COHERENT | DRM_TESSERA_SEGMENT_CPU_CACHED |
			      DRM_TESSERA_SEGMENT_HOST_APERTURE | DRM_TESSERA_SEGMENT_UMA;

	seg->id = reg32(bar, TSR_SEG_ID);
	seg->flags = reg32(bar, TSR_SEG_FLAGS) & told;
	seg->gpu_base = reg64(bar, TSR_SEG_BASE_LO);
	seg->size = reg64(bar, TSR_SEG_SIZE_LO);
	seg->commit_limit = reg64(bar, TSR_SEG_COMMIT_LO);
	seg->page_size = reg32(bar, TSR_SEG_PAGE_SIZE);
	for (uint32_t i = 0; i < TSR_SEG_NAME_BYTES; i += 4) {
		uint32_t word = reg32(bar, TSR_SEG_NAME + i);

		memcpy(seg->name + i, &word, 4);
	}
}

/* The function has to be enabled before its registers can be read. */
volatile uint32_t *tsr_pci_map_registers(void)
{
	const char *path;
	void *bar;
	int fd;

	require_ok(tsr_write_file(tsr_pci_path("enable"), "1"));
	path = tsr_pci_path("resource0");
	fd = open(path, O_RDWR | O_CLOEXEC);
	require_msg(fd >= 0, "%s: %s", path, strerror(errno));
	bar = mmap(NULL, TSR_MMIO_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require_msg(bar != MAP_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
	return bar;
}

struct tsr_registers tsr_pci_registers(void)
{
	struct tsr_registers regs = { 0 };
	volatile uint32_t *bar;

	tsr_pci_unbind();
	bar = tsr_pci_map_registers();
	require_eq(reg32(bar, TSR_ID_MAGIC), TSR_ID_MAGIC_VALUE);
	regs.num_segs = reg32(bar, TSR_ID_NUM_SEGMENTS);
	require(regs.num_segs >= 1 && regs.num_segs <= TSR_MAX_SEGMENTS);
	for (uint32_t i = 0; i < regs.num_segs; i++)
		read_segment(bar + TSR_SEG(i) / 4, &regs.segs[i]);
	regs.hidden_base = reg64(bar, TSR_ID_HIDDEN_BASE_LO);
	regs.hidden_size = reg64(bar, TSR_ID_HIDDEN_SIZE_LO);
	munmap((void *)bar, TSR_MMIO_SIZE);
	require_ok(tsr_write_file(tsr_pci_path("enable"), "0"));
	tsr_pci_bind();
	return regs;
}

/*
 * The descriptors may be in any order; the driver reports segments in the order
 * of their ids.
 */
void tsr_pci_same_segments(const struct tsr_registers *regs, const struct tsr_device *dev)
{
	require_eq(dev->num_segs, regs->num_segs);
	for (uint32_t i = 0; i < regs->num_segs; i++) {
		const struct drm_tessera_query_segment *want = &regs->segs[i], *got = NULL;

		for (uint32_t j = 0; j < dev->num_segs; j++)
			if (dev->segs[j].id == want->id)
				got = &dev->segs[j];
		require_msg(got, "the driver has no segment %u", want->id);
		require_msg(!memcmp(got, want, sizeof(*got)),
			    "segment %u differs from the device's registers", want->id);
	}
}

uint64_t tsr_pci_mapped(void)
{
	char *text = tsr_read_file("/sys/kernel/debug/dma-api/dump"), *save = NULL;
	uint64_t bytes = 0;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *size = strstr(line, " L=");

		if (size && strstr(line, tsr_pci_slot()))
			bytes += strtoull(size + 3, NULL, 16);
	}
	free(text);
	return bytes;
}

void tsr_pci_can_reset(void)
{
	if (access(tsr_pci_path("reset"), F_OK))
		tap_skip("the function cannot be reset");
}

void tsr_pci_reset(void)
{
	require_ok(tsr_write_file(tsr_pci_path("reset"), "1"));
}

/* Offset of the MSI-X control register in the configuration space. */
static off_t msix_control(int fd)
{
	uint8_t at, cap[2];

	require_eq(pread(fd, &at, 1, PCI_CAPABILITY_LIST), 1);
	for (; at; at = cap[1]) {
		require_eq(pread(fd, cap, 2, at), 2);
		if (cap[0] == PCI_CAP_ID_MSIX)
			return at + PCI_MSIX_FLAGS;
	}
	tap_fail(__FILE__, __LINE__, "the function has no MSI-X");
}

void tsr_pci_hold_interrupts(bool hold)
{
	const char *path = tsr_pci_path("config");
	uint16_t flags;
	off_t at;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	require_msg(fd >= 0, "%s: %s", path, strerror(errno));
	at = msix_control(fd);
	require_eq(pread(fd, &flags, 2, at), 2);
	flags = (uint16_t)(hold ? flags | PCI_MSIX_FLAGS_MASKALL : flags & ~PCI_MSIX_FLAGS_MASKALL);
	require_eq(pwrite(fd, &flags, 2, at), 2);
	close(fd);
}
