// SPDX-License-Identifier: MIT
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stall.h"
#include "tap.h"

/* the fifth of the ports with which scripts/guest talks to the guest */
#define MONITOR "/dev/vport0p5"

/* the guest's kernel lets nobody else have the port meanwhile */
static void read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	do {
		require(n + 1 < size);
		require(read(fd, line + n, 1) == 1);
	} while (line[n++] != '\n');
	line[n] = 0;
}

/* what answers the command @id; lines that answer nothing, or something else, are passed over */
static void execute(int fd, const char *id, const char *command, char *line, size_t size)
{
	char wanted[64];

	require(dprintf(fd, "%s\n", command) > 0);
	snprintf(wanted, sizeof(wanted), "\"id\": \"%s\"", id);
	do
		read_line(fd, line, size);
	while (!strstr(line, wanted));
}

/* one of the device's properties: reads it, or writes it if there is a @value */
static void property(const char *name, const char *value, char *line, size_t size)
{
	const char *number = getenv("TESSERA_NUMBER");
	int fd = open(MONITOR, O_RDWR | O_CLOEXEC);
	char command[256];

	if (fd < 0)
		tap_skip("no monitor of the host");
	/* refused if somebody has done so before */
	execute(fd, "begin", "{\"execute\": \"qmp_capabilities\", \"id\": \"begin\"}", line, size);
	snprintf(command, sizeof(command),
		 "{\"execute\": \"qom-%s\", \"id\": \"it\", \"arguments\": {\"path\": "
		 "\"/machine/peripheral/tessera%s\", \"property\": \"%s\"%s%s}}",
		 value ? "set" : "get", number ? number : "0", name, value ? ", \"value\": " : "",
		 value ? value : "");
	execute(fd, "it", command, line, size);
	close(fd);
	require_msg(strstr(line, "\"return\""), "%s: %s", name, line);
}

static void set_property(const char *name, const char *value)
{
	char line[4096];

	property(name, value, line, sizeof(line));
}

void tsr_host_set_bool(const char *name, bool value)
{
	set_property(name, value ? "true" : "false");
}

static bool hangs_yet(void)
{
	char line[4096];

	property("x-hang-engine", NULL, line, sizeof(line));
	return strstr(line, "\"return\": -1");
}

static void let_go(void)
{
	set_property("x-hang-engine", "-1");
}

struct tsr_stuck tsr_stuck_start(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_stuck stuck = { .dev = dev };
	static bool patient;
	struct tsr_cmd cmd;
	char engine[16];

	if (!patient) {
		tsr_job_timeout("300000");
		atexit(let_go); /* should the test fail */
	}
	patient = true;
	stuck.sync = tsr_syncobj_new(dev);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	snprintf(engine, sizeof(engine), "%u", dev->render);
	set_property("x-hang-engine", engine);
	tsr_submit(dev, ctx, &cmd, 0, stuck.sync);
	/* not another's job instead */
	tsr_wait_for(hangs_yet());
	tsr_cmd_fini(&cmd);
	return stuck;
}

void tsr_stuck_end(struct tsr_stuck *stuck)
{
	let_go();
	require_ok(tsr_syncobj_status(stuck->dev, stuck->sync));
	tsr_syncobj_free(stuck->dev, stuck->sync);
}
