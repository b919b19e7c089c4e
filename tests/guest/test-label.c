// SPDX-License-Identifier: MIT
/*
 * Debug names of buffer objects. They must appear in debugfs and in traces, and
 * bad ones must be refused.
 */
#include <stdlib.h>

#include "trace.h"
#include "tsr.h"

static int set_label(int fd, uint32_t handle, const char *text)
{
	struct drm_tessera_bo_label args = { .handle = handle };

	memcpy(args.label, text, strnlen(text, sizeof(args.label)));
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_LABEL, &args);
}

static bool shown(const char *text)
{
	char *allocations = tsr_debugfs_read("allocations");
	bool found = strstr(allocations, text);

	free(allocations);
	return found;
}

static void shown_in_debugfs_and_traces(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	const struct tsr_event *ev;
	struct tsr_trace trace;
	char longest[64];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	tsr_trace_start("bo_label", NULL);
	require_ok(set_label(dev.fd, bo.handle, "shadow map (left)"));
	require(shown(" label \"shadow map (left)\""));
	require_ok(set_label(dev.fd, bo.handle, longest));
	require(shown(longest));
	require(!shown("shadow map"));
	require_ok(set_label(dev.fd, bo.handle, ""));
	require(!shown(" label "));
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "bo_label"), 3);
	ev = tsr_trace_next(&trace, "bo_label", NULL);
	require(strstr(ev->text, "label=\"shadow map (left)\""));
	/* The label is gone with its object. */
	require_ok(set_label(dev.fd, bo.handle, "short-lived"));
	tsr_bo_free(&dev, &bo);
	require(!shown("short-lived"));
	tsr_close(&dev);
}

static void bad_labels(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct drm_tessera_bo_label args = { .handle = bo.handle, .pad = 1 };
	char text[65];

	require_ok(set_label(dev.fd, bo.handle, "kept"));
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_LABEL, &args), -EINVAL);
	memset(text, 'x', 64);
	text[64] = 0;
	require_err(set_label(dev.fd, bo.handle, text), -EINVAL);
	require_err(set_label(dev.fd, bo.handle, "two\nlines"), -EINVAL);
	require_err(set_label(dev.fd, bo.handle, "\x1b[2J"), -EINVAL);
	require_err(set_label(dev.fd, bo.handle, "caf\xc3\xa9"), -EINVAL);
	require_err(set_label(dev.fd, bo.handle, "\x7f"), -EINVAL);
	require_err(set_label(dev.fd, 0xffff, "nobody"), -ENOENT);
	require(shown(" label \"kept\""));
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "labels are shown in debugfs and traces", shown_in_debugfs_and_traces, 0, 0 },
	{ "labels that are refused", bad_labels, 0, 0 },
};

TSR_TEST_MAIN(tests)
