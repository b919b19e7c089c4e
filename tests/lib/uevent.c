// SPDX-License-Identifier: MIT
#include "uevent.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "pci.h"
#include "stall.h"

int tsr_uevent_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	require(fd >= 0);
	require_ok(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* The value of WEDGED in an event of the device under test, or NULL. */
static const char *wedged(const char *event, size_t size)
{
	const char *end = event + size;

	if (!strstr(event, tsr_pci_slot()) || !strstr(event, "/drm/card"))
		return NULL;
	for (; event < end; event += strlen(event) + 1)
		if (!strncmp(event, "WEDGED=", 7))
			return event + 7;
	return NULL;
}

void tsr_uevent_wedged(int fd, const char *method)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const char *got = NULL;
	char event[8192];

	while (!got) {
		ssize_t n;

		tsr_wait_for(poll(&ready, 1, 0) == 1);
		n = recv(fd, event, sizeof(event) - 1, 0);
		require(n > 0);
		event[n] = 0;
		got = wedged(event, (size_t)n);
	}
	require_msg(!strcmp(got, method), "expected WEDGED=%s, the event has WEDGED=%s", method,
		    got);
}
