// SPDX-License-Identifier: MIT
/*
 * The errors that the device counts while a test runs. The driver reports each
 * error in a tracepoint, together with the device's record of the first error
 * of that type. The trace survives unplugging the device and reloading the
 * module. Devices without a driver are read through their registers.
 */
#include "referee.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tessera/tessera_hw_names.h>

#include "tsr.h"

#define TRACING "/sys/kernel/tracing"
#define INSTANCE TRACING "/instances/tessera-referee"
#define DEVICES "/sys/bus/pci/devices"

struct seen {
	uint64_t count;
	char first[256];
};

static struct seen seen[TSR_ERR_TYPES];

/*
 * Names the display unit that caused the error: a plane of a CRTC, or its
 * writeback.
 */
static void name_display(const char *first, char *text, size_t size)
{
	const char *engine = strstr(first, "engine="), *slot = strstr(first, "slot=");
	int number, plane;

	text[0] = '\0';
	if (!engine || !slot || sscanf(engine, "engine=%d", &number) != 1 ||
	    sscanf(slot, "slot=%d", &plane) != 1 || number < TSR_ERR_CRTC(0))
		return;
	if (plane == TSR_NUM_PLANES)
		snprintf(text, size, " (writeback of CRTC %d)", number - TSR_ERR_CRTC(0));
	else
		snprintf(text, size, " (plane %d of CRTC %d)", plane, number - TSR_ERR_CRTC(0));
}

static void add(uint32_t type, uint64_t count, const char *first)
{
	struct seen *s = &seen[type % TSR_ERR_TYPES];
	char who[48];

	name_display(first, who, sizeof(who));
	if (!s->count)
		snprintf(s->first, sizeof(s->first), "%s%s", first, who);
	s->count += count;
}

/* opening with O_TRUNC empties the buffer, writing would not */
static void forget_trace(void)
{
	int fd = open(INSTANCE "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

/* Adds all errors that the driver has reported since the last call. */
static void read_trace(void)
{
	char *text = tsr_read_file(INSTANCE "/trace");
	char *line, *save = NULL;

	if (!text)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *event = strstr(line, "tessera_device_error: ");
		unsigned int type;
		unsigned long long count;
		int end = 0;

		if (event && sscanf(event, "tessera_device_error: type=%u count=%llu first: %n",
				    &type, &count, &end) == 2)
			add(type, count, event + end);
	}
	free(text);
	forget_trace();
}

static unsigned long read_id(const char *device, const char *name)
{
	char path[300], *text;
	unsigned long value;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", device, name);
	text = tsr_read_file(path);
	value = text ? strtoul(text, NULL, 0) : 0;
	free(text);
	return value;
}

static void ask_registers(volatile uint32_t *regs)
{
	if (regs[TSR_ID_MAGIC / 4] != TSR_ID_MAGIC_VALUE || !regs[TSR_ERR_TOTAL / 4])
		return;
	for (uint32_t type = 1; type < TSR_ERR_TYPES; type++) {
		uint32_t count = regs[TSR_ERR_COUNT(type) / 4];
		char text[160];

		if (!count)
			continue;
		regs[TSR_ERR_REC_SELECT / 4] = type;
		snprintf(text, sizeof(text),
			 "packet=0x%08x at=0x%x engine=%d slot=%d addr=0x%x%08x, and no driver",
			 regs[TSR_ERR_REC_PACKET / 4], regs[TSR_ERR_REC_OFFSET / 4],
			 (int)regs[TSR_ERR_REC_ENGINE / 4], (int)regs[TSR_ERR_REC_SLOT / 4],
			 regs[TSR_ERR_REC_ADDR_HI / 4], regs[TSR_ERR_REC_ADDR_LO / 4]);
		add(type, count, text);
	}
	regs[TSR_ERR_REC_SELECT / 4] = 0;
	regs[TSR_ERR_CLEAR / 4] = 1;
}

static void ask_device(const char *device)
{
	char path[300];
	void *regs;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s/driver", device);
	if (read_id(device, "vendor") != TSR_PCI_VENDOR_ID ||
	    read_id(device, "device") != TSR_PCI_DEVICE_ID || !access(path, F_OK))
		return;
	snprintf(path, sizeof(path), DEVICES "/%s/resource%d", device, TSR_BAR_MMIO);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	regs = mmap(NULL, TSR_MMIO_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (regs == MAP_FAILED)
		return;
	ask_registers(regs);
	munmap(regs, TSR_MMIO_SIZE);
}

/*
 * Reads the error counters of unbound devices, which must not count anything
 * either. A guest that runs many tests has dozens of devices, and a program
 * touches only the one that it found bound. The others are read once, because
 * reading them all takes longer than most tests.
 */
static void ask_unbound(void)
{
	static glob_t touched;
	static bool asked;
	glob_t all;

	if (asked && touched.gl_pathc) {
		for (size_t i = 0; i < touched.gl_pathc; i++)
			ask_device(strrchr(touched.gl_pathv[i], '/') + 1);
		return;
	}
	if (!asked)
		glob("/sys/bus/pci/drivers/tessera/0*", 0, NULL, &touched);
	asked = true;
	if (glob(DEVICES "/*", 0, NULL, &all))
		return;
	for (size_t i = 0; i < all.gl_pathc; i++)
		ask_device(strrchr(all.gl_pathv[i], '/') + 1);
	globfree(&all);
}

/* Makes every bound driver read its device's error counters now. */
static void collect(bool rearm)
{
	glob_t found;

	if (glob("/sys/kernel/debug/dri/*:*/errors", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char path[300];

		if (rearm) {
			snprintf(path, sizeof(path), "%s_rearm", found.gl_pathv[i]);
			tsr_write_file(path, "1");
		} else {
			free(tsr_read_file(found.gl_pathv[i]));
		}
	}
	globfree(&found);
}

/* For a test that exits with open files, while its objects still exist. */
static void collect_at_exit(void)
{
	collect(false);
}

void referee_begin(void)
{
	static bool registered;

	if (!registered)
		registered = !atexit(collect_at_exit);
	if (access(TRACING "/trace", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access("/sys/kernel/debug/dri", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	collect(true);
	ask_unbound();
	/*
	 * Recording task names would have the kernel patch its scheduler for
	 * each recording, and no test uses them.
	 */
	tsr_write_file(TRACING "/options/record-cmd", "0");
	if (!mkdir(INSTANCE, 0700)) {
		tsr_write_file(INSTANCE "/trace_clock", "global");
		tsr_write_file(INSTANCE "/buffer_size_kb", "64");
	}
	/* for each test, because unloading the module disables the event */
	tsr_write_file(INSTANCE "/events/tessera/tessera_device_error/enable", "1");
	forget_trace();
	memset(seen, 0, sizeof(seen));
}

uint64_t referee_end(uint64_t expected)
{
	uint64_t wrong = 0;

	collect(false);
	read_trace();
	ask_unbound();
	for (uint32_t type = 0; type < TSR_ERR_TYPES; type++) {
		bool fine = expected & 1ull << type;

		if (!seen[type].count)
			continue;
		tap_note("  device error %s (%u) x%llu%s; first: %s", tsr_error_name(type), type,
			 (unsigned long long)seen[type].count, fine ? ", expected" : "",
			 seen[type].first);
		if (!fine)
			wrong += seen[type].count;
	}
	return wrong;
}

void referee_leave(void)
{
	tsr_write_file(INSTANCE "/events/enable", "0");
	rmdir(INSTANCE);
}
