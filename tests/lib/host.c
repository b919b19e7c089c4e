// SPDX-License-Identifier: MIT
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

/* the fifth of the ports with which scripts/guest talks to the guest */
#define MONITOR "/dev/vport0p5"

/* one line; the guest's kernel lets nobody else have the port meanwhile */
static void read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	do {
		require(n + 1 < size);
		require(read(fd, line + n, 1) == 1);
	} while (line[n++] != '\n');
	line[n] = 0;
}

/* true if it was done; lines that answer nothing, or something else, are passed over */
static bool execute(int fd, const char *id, const char *command)
{
	char line[4096], wanted[64];

	require(dprintf(fd, "%s\n", command) > 0);
	snprintf(wanted, sizeof(wanted), "\"id\": \"%s\"", id);
	do
		read_line(fd, line, sizeof(line));
	while (!strstr(line, wanted));
	return strstr(line, "\"return\"");
}

void tsr_host_set_bool(const char *property, bool value)
{
	int fd = open(MONITOR, O_RDWR | O_CLOEXEC);
	char command[256];

	if (fd < 0)
		tap_skip("no monitor of the host");
	/* refused if somebody has done so before */
	execute(fd, "begin", "{\"execute\": \"qmp_capabilities\", \"id\": \"begin\"}");
	snprintf(command, sizeof(command),
		 "{\"execute\": \"qom-set\", \"id\": \"set\", \"arguments\": {\"path\": "
		 "\"/machine/peripheral/tessera0\", \"property\": \"%s\", \"value\": %s}}",
		 property, value ? "true" : "false");
	require_msg(execute(fd, "set", command), "the host did not set %s", property);
	close(fd);
}
