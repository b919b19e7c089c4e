// SPDX-License-Identifier: MIT
/*
 * Monitor hotplug: clients get an uevent and see the new state, and a picture
 * on a disconnected output goes on.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "host.h"
#include "kms.h"
#include "stall.h"

#define CONNECTED 1
#define DISCONNECTED 2

static int uevents_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	require(fd >= 0);
	require(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static bool has_line(const char *text, size_t length, const char *line)
{
	for (const char *p = text; p < text + length; p += strlen(p) + 1)
		if (!strcmp(p, line))
			return true;
	return false;
}

/*
 * Wait for a hotplug uevent of any display; the kernel sends each to all
 * listeners.
 */
static void wait_for_hotplug(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t until = tsr_patience();
	char text[4096];
	ssize_t length;

	do {
		require_msg(tap_now_ns() < until, "timed out waiting for a hotplug uevent");
		require(poll(&pollfd, 1, 1000) >= 0);
		length = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
		text[length > 0 ? length : 0] = 0;
	} while (length <= 0 || !has_line(text, (size_t)length, "HOTPLUG=1"));
}

/* Return the state that the kernel already knows, without a probe. */
static uint32_t known_state(const struct tsr_kms *kms, uint32_t head, uint32_t *modes)
{
	struct drm_mode_modeinfo first;
	struct drm_mode_get_connector c = {
		.connector_id = kms->heads[head].connector,
		/* a non-zero count: no probe */
		.modes_ptr = (uintptr_t)&first,
		.count_modes = 1,
	};

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	if (modes)
		*modes = c.count_modes;
	return c.connection;
}

static uint32_t probed_state(const struct tsr_kms *kms, uint32_t head, uint32_t *modes)
{
	struct drm_mode_get_connector c = { .connector_id = kms->heads[head].connector };

	require_ok(tsr_ioctl(kms->dev.fd, DRM_IOCTL_MODE_GETCONNECTOR, &c));
	*modes = c.count_modes;
	return c.connection;
}

/*
 * Clients get the event, find the connector disconnected without modes, and the
 * other connector unchanged.
 */
static void goes_and_comes(void)
{
	struct tsr_kms kms = tsr_kms_open();
	uint32_t modes, before, other;
	int events = uevents_open();

	require_eq(probed_state(&kms, 1, &before), CONNECTED);
	require(before);
	require_eq(probed_state(&kms, 0, &other), CONNECTED);

	tsr_host_set_bool("connected1", false);
	wait_for_hotplug(events);
	require_eq(known_state(&kms, 1, NULL), DISCONNECTED);
	require_eq(probed_state(&kms, 1, &modes), DISCONNECTED);
	require_eq(modes, 0);
	require(!tsr_prop_get(&kms, kms.heads[1].connector, "EDID"));
	require_eq(probed_state(&kms, 0, &modes), CONNECTED);
	require_eq(modes, other);

	tsr_host_set_bool("connected1", true);
	wait_for_hotplug(events);
	require_eq(known_state(&kms, 1, NULL), CONNECTED);
	require_eq(probed_state(&kms, 1, &modes), CONNECTED);
	require_eq(modes, before);
	require(tsr_prop_get(&kms, kms.heads[1].connector, "EDID"));
	close(events);
	tsr_kms_close(&kms);
}

/* The output goes on without a monitor: with vblanks, frames and commits. */
static void picture_goes_on(void)
{
	struct tsr_kms kms = tsr_kms_open();
	struct drm_mode_modeinfo mode = tsr_mode(640, 480);
	struct tsr_fb fbs[2] = { tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888),
				 tsr_fb_new(&kms, 640, 480, DRM_FORMAT_XRGB8888) };
	const struct tsr_head *head = &kms.heads[0];
	struct tsr_show show[2] = { tsr_show_at(&fbs[0], 0, 0), tsr_show_at(&fbs[1], 0, 0) };
	struct tsr_atomic flip = { .num = 0 };
	int events = uevents_open();

	for (uint32_t i = 0; i < 2; i++)
		tsr_fb_paint(&fbs[i], i + 1);
	tsr_light(&kms, head, &mode, &fbs[0]);
	tsr_host_set_bool("connected0", false);
	wait_for_hotplug(events);
	require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show[0], 1, NULL));
	tsr_add_show(&kms, &flip, head->crtc, head->planes[TSR_PRIMARY], &show[1]);
	require_ok(__tsr_commit(kms.dev.fd, &flip, 0));
	require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show[1], 1, NULL));
	tsr_host_set_bool("connected0", true);
	wait_for_hotplug(events);
	require_eq(tsr_crc_now(&kms, 0), tsr_crc_expect(&mode, &show[1], 1, NULL));
	tsr_dark(&kms, head);
	close(events);
	tsr_kms_close(&kms);
}

static const struct tap_test tests[] = {
	{ "a monitor is unplugged and plugged in", goes_and_comes, 0, 0 },
	{ "the output goes on without a monitor", picture_goes_on, 0, 0 },
};

TSR_TEST_MAIN(tests)
