// SPDX-License-Identifier: MIT
/* Opening the device, its properties, and the checks around every test. */
#include "tsr.h"

#include "host.h"
#include "referee.h"
#include "stall.h"
#include "trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int tsr_ioctl(int fd, unsigned long request, void *arg)
{
	int rc;

	do {
		rc = ioctl(fd, request, arg);
	} while (rc < 0 && (errno == EINTR || errno == EAGAIN));
	return rc < 0 ? -errno : 0;
}

static bool is_tessera(int fd)
{
	char name[32] = "";
	struct drm_version version = {
		.name = name,
		.name_len = sizeof(name) - 1,
	};

	return !tsr_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "tessera");
}

static int open_node(const char *format, int first)
{
	const char *wanted = getenv("TESSERA_NODE");

	for (int minor = first; minor < first + 64; minor++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), format, minor);
		if (wanted && *wanted && strcmp(wanted, path))
			continue;
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_tessera(fd))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int __tsr_open_node(void)
{
	return open_node("/dev/dri/renderD%d", 128);
}

int __tsr_open_primary(void)
{
	return open_node("/dev/dri/card%d", 0);
}

bool tsr_device_has(const char *property)
{
	const char *props = getenv("TESSERA_DEVICE");
	size_t length = strlen(property);

	while (props && *props) {
		size_t own = strcspn(props, ",");

		if (own == length && !strncmp(props, property, length))
			return true;
		props += own + (props[own] == ',');
	}
	return false;
}

int __tsr_query(int fd, uint32_t id, uint32_t stride, uint32_t *count, void *out)
{
	struct drm_tessera_query args = {
		.id = id,
		.data = {
			.stride = stride,
			.count = *count,
			.array = (uintptr_t)out,
		},
	};
	int rc = tsr_ioctl(fd, DRM_IOCTL_TESSERA_QUERY, &args);

	if (!rc)
		*count = args.data.count;
	return rc;
}

struct tsr_device tsr_open(void)
{
	int fd = __tsr_open_node();

	require_msg(fd >= 0, "no Tessera render node");
	return tsr_open_fd(fd);
}

struct tsr_device tsr_open_fd(int fd)
{
	struct tsr_device dev = { .fd = fd };
	uint32_t one = 1;

	require_ok(
		__tsr_query(dev.fd, DRM_TESSERA_QUERY_DEVICE, sizeof(dev.info), &one, &dev.info));
	require_eq(one, 1);
	dev.num_segs = ARRAY_SIZE(dev.segs);
	require_ok(__tsr_query(dev.fd, DRM_TESSERA_QUERY_SEGMENTS, sizeof(dev.segs[0]),
			       &dev.num_segs, dev.segs));
	require_eq(dev.num_segs, dev.info.num_segments);
	dev.num_engines = ARRAY_SIZE(dev.engines);
	require_ok(__tsr_query(dev.fd, DRM_TESSERA_QUERY_ENGINES, sizeof(dev.engines[0]),
			       &dev.num_engines, dev.engines));
	dev.render = TSR_MAX_ENGINES;
	for (uint32_t i = 0; i < dev.num_engines; i++) {
		if (dev.engines[i].type == DRM_TESSERA_ENGINE_RENDER &&
		    dev.engines[i].id < dev.render)
			dev.render = dev.engines[i].id;
		if (dev.engines[i].type == DRM_TESSERA_ENGINE_PAGING)
			dev.paging = dev.engines[i].id;
	}
	require(dev.render < TSR_MAX_ENGINES);
	return dev;
}

void tsr_close(struct tsr_device *dev)
{
	struct drm_tessera_query_device info;
	uint32_t one = 1;

	/*
	 * The query makes the driver collect the device's errors now, while it
	 * can still tell which objects they concern.
	 */
	__tsr_query(dev->fd, DRM_TESSERA_QUERY_DEVICE, sizeof(info), &one, &info);
	close(dev->fd);
	dev->fd = -1;
}

struct drm_tessera_query_memory tsr_query_memory(struct tsr_device *dev, uint32_t segment)
{
	struct drm_tessera_query_memory mem[TSR_MAX_SEGMENTS];
	uint32_t count = ARRAY_SIZE(mem);

	require_ok(__tsr_query(dev->fd, DRM_TESSERA_QUERY_MEMORY, sizeof(mem[0]), &count, mem));
	for (uint32_t i = 0; i < count; i++)
		if (mem[i].segment == segment)
			return mem[i];
	tap_fail(__FILE__, __LINE__, "no memory information for segment %u", segment);
}

uint64_t tsr_guest_errors(struct tsr_device *dev)
{
	struct drm_tessera_query_device info;
	uint32_t one = 1;

	require_ok(__tsr_query(dev->fd, DRM_TESSERA_QUERY_DEVICE, sizeof(info), &one, &info));
	return info.guest_errors;
}

static const struct drm_tessera_query_segment *find_seg(struct tsr_device *dev, uint32_t mask,
							uint32_t want, const char *what)
{
	for (uint32_t i = 0; i < dev->num_segs; i++)
		if ((dev->segs[i].flags & mask) == want)
			return &dev->segs[i];
	tap_skip("the device has no %s segment", what);
}

const struct drm_tessera_query_segment *tsr_seg_visible(struct tsr_device *dev)
{
	return find_seg(dev, DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_CPU_VISIBLE,
			DRM_TESSERA_SEGMENT_CPU_VISIBLE, "CPU-visible memory");
}

const struct drm_tessera_query_segment *tsr_seg_hidden(struct tsr_device *dev)
{
	return find_seg(dev,
			DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_CPU_VISIBLE |
				DRM_TESSERA_SEGMENT_UMA,
			0, "CPU-invisible memory");
}

const struct drm_tessera_query_segment *tsr_seg_uma(struct tsr_device *dev)
{
	return find_seg(dev, DRM_TESSERA_SEGMENT_UMA, DRM_TESSERA_SEGMENT_UMA, "UMA memory");
}

const struct drm_tessera_query_segment *tsr_seg_ro(struct tsr_device *dev)
{
	return find_seg(dev, DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_GPU_READ_ONLY,
			DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_GPU_READ_ONLY,
			"read-only aperture");
}

const struct drm_tessera_query_segment *tsr_seg_gart(struct tsr_device *dev)
{
	return find_seg(dev, DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_GPU_READ_ONLY,
			DRM_TESSERA_SEGMENT_APERTURE, "general aperture");
}

uint32_t tsr_segs_staging(struct tsr_device *dev)
{
	for (uint32_t i = 0; i < dev->num_segs; i++)
		if ((dev->segs[i].flags &
		     (DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_GPU_READ_ONLY)) ==
		    DRM_TESSERA_SEGMENT_APERTURE)
			return tsr_bit(&dev->segs[i]);
	return tsr_bit(tsr_seg_visible(dev));
}

const struct drm_tessera_query_segment *tsr_seg_by_id(struct tsr_device *dev, uint32_t id)
{
	for (uint32_t i = 0; i < dev->num_segs; i++)
		if (dev->segs[i].id == id)
			return &dev->segs[i];
	tap_fail(__FILE__, __LINE__, "no segment %u", id);
}

/*
 * Checked around every test: the device has counted no guest errors but those
 * that the test expects, and once all files of the test are closed, no segment
 * has more bytes in use than before.
 */
static uint64_t used_before[TSR_MAX_SEGMENTS + 1];

static int read_state(uint64_t used[TSR_MAX_SEGMENTS + 1])
{
	struct drm_tessera_query_memory mem[TSR_MAX_SEGMENTS];
	uint32_t count = ARRAY_SIZE(mem);
	int fd, rc;

	fd = __tsr_open_node();
	if (fd < 0)
		return fd;
	rc = __tsr_query(fd, DRM_TESSERA_QUERY_MEMORY, sizeof(mem[0]), &count, mem);
	close(fd);
	if (rc)
		return rc;
	memset(used, 0, (TSR_MAX_SEGMENTS + 1) * sizeof(used[0]));
	for (uint32_t i = 0; i < count; i++)
		if (mem[i].segment <= TSR_MAX_SEGMENTS)
			used[mem[i].segment] = mem[i].used;
	return 0;
}

static void before_test(const struct tap_test *test)
{
	tsr_knobs_begin();
	tsr_hangs_begin();
	if (!(test->flags & TSR_NO_DEVICE))
		read_state(used_before);
	referee_begin();
}

static const char *memory_is_free(void)
{
	static char text[160];
	uint64_t used[TSR_MAX_SEGMENTS + 1];
	uint64_t until = tsr_patience();
	int leaked;

	do {
		if (read_state(used))
			return "expected DRM_TESSERA_QUERY to succeed after the test, it failed";
		leaked = 0;
		for (int i = 1; i <= TSR_MAX_SEGMENTS; i++)
			if (used[i] > used_before[i])
				leaked = i;
		if (leaked)
			usleep(20000); /* objects are freed when their last job is done */
	} while (leaked && tap_now_ns() < until);

	if (!leaked)
		return NULL;
	snprintf(text, sizeof(text), "segment %d still has %llu bytes in use, %llu before", leaked,
		 (unsigned long long)used[leaked], (unsigned long long)used_before[leaked]);
	return text;
}

static const char *after_test(const struct tap_test *test)
{
	static char text[256];
	const char *wrong = NULL;
	uint64_t errors;

	/* First, because the checks below may wait for the job. */
	tsr_hangs_end();
	tsr_knobs_end();
	tsr_traces_end();
	if (!(test->flags & TSR_NO_DEVICE))
		wrong = memory_is_free();
	/* Last, so that errors of jobs that still ran are counted, too. */
	errors = referee_end(test->flags & ~TSR_NO_DEVICE);
	if (!errors)
		return wrong;
	snprintf(text, sizeof(text), "the device counted %llu guest errors%s%s",
		 (unsigned long long)errors, wrong ? "; " : "", wrong ? wrong : "");
	return text;
}

int tsr_tests_run(int argc, char **argv, const struct tap_test *tests, size_t count)
{
	static const struct tap_hooks hooks = {
		.before = before_test,
		.after = after_test,
	};
	int rc;

	tsr_traces_begin();
	rc = tap_run(argc, argv, tests, count, &hooks);
	tsr_traces_leave();
	referee_leave();
	return rc;
}
