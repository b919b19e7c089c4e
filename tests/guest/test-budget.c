// SPDX-License-Identifier: MIT
/*
 * Memory budgets: how much memory a client may use, how much of that it can
 * reserve, weights, and notification of changes (RES-3, RES-11, SEG-8). The figures must follow
 * what other processes use, and a reservation must hold.
 */
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resident.h"
#include "stall.h"
#include "tsr.h"

#define RESERVE DRM_TESSERA_BUDGET_RESERVE
#define NOTIFY DRM_TESSERA_BUDGET_NOTIFY
#define WEIGHT DRM_TESSERA_BUDGET_WEIGHT

static int reserve(struct tsr_device *dev, uint32_t segments, uint64_t bytes)
{
	struct drm_tessera_budget args = {
		.segments = segments,
		.flags = RESERVE,
		.reservation = bytes,
	};

	return __tsr_budget(dev, &args);
}

/* ---- another process that uses a segment --------------------------------- */

struct shared {
	volatile uint32_t turns;
	volatile bool stop;
	volatile uint64_t reserved; /* its initial reservation */
};

static struct shared *shared;

static void other_client(void *arg)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[16];

	require_ok(reserve(&dev, tsr_bit(seg), shared->reserved));
	for (int i = 0; i < 16; i++)
		bos[i] = tsr_bo_new(&dev, KiB(512), tsr_bit(seg), 0);
	for (; !shared->stop; shared->turns++)
		tsr_gpu_touch(&dev, ctx, &bos[shared->turns % 16]);
	tsr_close(&dev);
}

static pid_t other_begin(uint64_t reserved)
{
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	require(shared != MAP_FAILED);
	*shared = (struct shared){ .reserved = reserved };
	pid = tap_fork(other_client, NULL);
	while (shared->turns < 20)
		usleep(1000);
	return pid;
}

static void other_end(pid_t pid)
{
	shared->stop = true;
	tap_join(pid);
}

/* ---- tests --------------------------------------------------------------- */

/* SEG-8: clients share the commit limit, which is below the aperture's size. */
static void commit_limit(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_gart(&dev);
	struct drm_tessera_budget now = tsr_budget(&dev, tsr_bit(seg));

	require(seg->commit_limit < seg->size);
	require_eq(now.budget, seg->commit_limit);
	require_eq(now.reservable, seg->commit_limit / 4);
	require_eq(tsr_query_memory(&dev, seg->id).client_share, seg->commit_limit);
	require_err(reserve(&dev, tsr_bit(seg), seg->commit_limit / 4 + KiB(4)), -ENOSPC);
	tsr_close(&dev);
}

/*
 * SEG-8: figures are summed over segments. A lone client has the whole segment.
 */
static void figures(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), hid = tsr_bit(tsr_seg_hidden(&dev));
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), hid, 0);

	require_eq(tsr_budget(&dev, vis).budget, MiB(8));
	require_eq(tsr_budget(&dev, vis | hid).budget, MiB(16));
	require_eq(tsr_budget(&dev, vis | hid).usage, 0);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(tsr_budget(&dev, hid).usage, MiB(1));
	require_eq(tsr_budget(&dev, vis | hid).usage, MiB(1));
	require_eq(tsr_budget(&dev, vis).usage, 0);
	require_eq(tsr_budget(&dev, vis | hid).reservable, MiB(4));
	require_eq(tsr_budget(&dev, vis | hid).reservation, 0);
	tsr_close(&dev);
}

/*
 * SEG-8, SEG-17: a reservation is added to the client's part of the unreserved
 * memory. All reservations together are at most a quarter of the segment, and
 * an idle reservation is lent to others.
 */
static void reservation(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t hid = tsr_bit(tsr_seg_hidden(&dev));
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(512), hid, 0);
	pid_t pid;

	require_err(reserve(&dev, hid, MiB(2) + 1), -ENOSPC);
	require_err(reserve(&dev, hid, ~0ull), -ENOSPC);
	require_eq(tsr_budget(&dev, hid).reservation, 0);
	require_ok(reserve(&dev, hid, KiB(1536)));
	require_eq(tsr_budget(&dev, hid).reservation, KiB(1536));
	require_eq(tsr_budget(&dev, hid).reservable, MiB(2));
	pid = other_begin(KiB(512));
	require_err(reserve(&dev, hid, MiB(2)), -ENOSPC);
	require_eq(tsr_budget(&dev, hid).reservation, KiB(1536));
	require_eq(tsr_budget(&dev, hid).reservable, KiB(1536));
	/*
	 * 1.5 MiB and 0.5 MiB of the 8 MiB are reserved. The remaining 6 MiB
	 * are halved while both clients use the segment; a client that has not
	 * used it for two seconds does not count.
	 */
	tsr_wait_for((tsr_gpu_touch(&dev, ctx, &bo),
		      tsr_budget(&dev, hid).budget == KiB(1536) + MiB(3)));
	require_ok(reserve(&dev, hid, 0));
	require_eq(tsr_budget(&dev, hid).reservation, 0);
	tsr_wait_for(
		(tsr_gpu_touch(&dev, ctx, &bo), tsr_budget(&dev, hid).budget == KiB(7680) / 2));
	other_end(pid);
	require_ok(reserve(&dev, hid, MiB(2)));
	tsr_close(&dev);
	/* A reservation ends when the process closes its last file. */
	dev = tsr_open();
	require_eq(tsr_budget(&dev, hid).reservation, 0);
	require_eq(tsr_budget(&dev, hid).reservable, MiB(2));
	tsr_close(&dev);
}

/* Another process, which uses the visible segment until told to stop. */
static void visible_client(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(512), tsr_bit(tsr_seg_visible(&dev)), 0);

	tsr_gpu_touch(&dev, tsr_context_new(&dev, 0), &bo);
	tsr_wait_for(shared->stop);
	tsr_close(&dev);
}

/*
 * Make the driver compare all listeners' budgets twice: a second listener on
 * the visible segment is notified when a process starts to use it, and when
 * that process ends.
 */
static void look_twice(struct tsr_device *dev, uint32_t ctx)
{
	uint32_t vis = tsr_bit(tsr_seg_visible(dev));
	struct tsr_bo bo = tsr_bo_new(dev, KiB(512), vis, 0);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct tsr_device second = tsr_open();
	struct shared *before = shared;
	pid_t pid;

	require(fd >= 0);
	tsr_gpu_touch(dev, ctx, &bo);
	require_ok(__tsr_budget_notify(&second, vis, fd));
	shared = tsr_shared(sizeof(*shared));
	pid = tap_fork(visible_client, NULL);
	require(tsr_budget_told(fd, -1));
	shared->stop = true;
	tap_join(pid);
	require(tsr_budget_told(fd, -1));
	shared = before;
	tsr_close(&second);
	close(fd);
	tsr_bo_free(dev, &bo);
}

/*
 * RES-3: a listener is notified when another client starts to use the segment,
 * and when it has gone. It is not notified while its budget is unchanged.
 */
static void notification(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t hid = tsr_bit(tsr_seg_hidden(&dev));
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(512), hid, 0);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	uint64_t now;
	pid_t pid;

	require(fd >= 0);
	tsr_knob("demand_period_ms", "3600000");
	tsr_gpu_touch(&dev, ctx, &bo);
	require_ok(__tsr_budget_notify(&dev, hid, fd));
	require(!tsr_budget_told(fd, 0));
	pid = other_begin(0);
	do {
		require(tsr_budget_told(fd, -1));
		now = tsr_budget(&dev, hid).budget;
	} while (now != MiB(4));
	/*
	 * The budget can change before the last notification: drain it. A
	 * second pair of comparisons must then bring no notification.
	 */
	look_twice(&dev, ctx);
	while (tsr_budget_told(fd, 0))
		;
	look_twice(&dev, ctx);
	require(!tsr_budget_told(fd, 0));
	other_end(pid);
	do {
		require(tsr_budget_told(fd, -1));
		now = tsr_budget(&dev, hid).budget;
	} while (now != MiB(8));
	/*
	 * After unregistering, the first eventfd stays silent although a
	 * listener that registered later is notified.
	 */
	require_ok(__tsr_budget_notify(&dev, hid, -1));
	while (tsr_budget_told(fd, 0))
		;
	{
		struct tsr_device second = tsr_open();
		int other_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		require_ok(__tsr_budget_notify(&second, hid, other_fd));
		pid = other_begin(0);
		require(tsr_budget_told(other_fd, -1));
		require(!tsr_budget_told(fd, 0));
		other_end(pid);
		/* Close the file while it is still registered. */
		tsr_close(&second);
		close(other_fd);
	}
	close(fd);
	tsr_close(&dev);
}

static void bad_input(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), hid = tsr_bit(tsr_seg_hidden(&dev));
	const struct {
		const char *name;
		struct drm_tessera_budget args;
		int err;
	} rows[] = {
		{ "no segment", { .segments = 0 }, -EINVAL },
		{ "segment 0", { .segments = hid | 1 }, -EINVAL },
		{ "unknown segment", { .segments = hid | 1u << 31 }, -EINVAL },
		{ "flags", { .segments = hid, .flags = 8 }, -EINVAL },
		{ "two flags", { .segments = hid, .flags = RESERVE | NOTIFY }, -EINVAL },
		{ "two other flags",
		  { .segments = hid, .flags = WEIGHT | NOTIFY, .weight = 1 },
		  -EINVAL },
		{ "weight 0", { .segments = hid, .flags = WEIGHT }, -EINVAL },
		{ "weight",
		  { .segments = hid, .flags = WEIGHT, .weight = DRM_TESSERA_WEIGHT_MAX + 1 },
		  -EINVAL },
		{ "pid without flag", { .segments = hid, .pid = 1 }, -EINVAL },
		{ "no process",
		  { .segments = hid, .flags = WEIGHT, .weight = 1, .pid = -1 },
		  -ESRCH },
		{ "no client",
		  { .segments = hid, .flags = WEIGHT, .weight = 1, .pid = 1 },
		  -ESRCH },
		{ "padding", { .segments = hid, .pad = 1 }, -EINVAL },
		{ "eventfd without flag", { .segments = hid, .eventfd = 1 }, -EINVAL },
		{ "two to reserve in", { .segments = vis | hid, .flags = RESERVE }, -EINVAL },
		{ "no eventfd", { .segments = hid, .flags = NOTIFY, .eventfd = dev.fd }, -EINVAL },
		{ "no file", { .segments = hid, .flags = NOTIFY, .eventfd = 12345 }, -EBADF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drm_tessera_budget args = rows[i].args;
		int rc = __tsr_budget(&dev, &args);

		require_msg(rc == rows[i].err, "%s: %d, not %d", rows[i].name, rc, rows[i].err);
		require_eq(tsr_budget(&dev, hid).reservation, 0);
		require_eq(tsr_budget(&dev, hid).weight, DRM_TESSERA_WEIGHT_DEFAULT);
	}
	tsr_close(&dev);
}

/* RES-11: only a privileged process sets weights, even its own. */
static void weight_needs_privilege(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_budget args = {
		.segments = tsr_bit(tsr_seg_hidden(&dev)),
		.flags = WEIGHT,
		.weight = DRM_TESSERA_WEIGHT_MAX,
	};

	require_ok(__tsr_budget(&dev, &args));
	require_eq(tsr_budget(&dev, args.segments).weight, DRM_TESSERA_WEIGHT_MAX);
	require(!setuid(65534));
	args.weight = DRM_TESSERA_WEIGHT_MIN;
	require_err(__tsr_budget(&dev, &args), -EACCES);
	require_eq(tsr_budget(&dev, tsr_bit(tsr_seg_hidden(&dev))).weight, DRM_TESSERA_WEIGHT_MAX);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-8 figures", figures, 0, 0 },
	{ "SEG-8 a budget ends at the commit limit", commit_limit, 0, 0 },
	{ "SEG-8 SEG-17 reservation", reservation, 0, 0 },
	{ "RES-3 notification", notification, 0, 0 },
	{ "RES-11 a weight needs privilege", weight_needs_privilege, 0, 0 },
	{ "bad input", bad_input, 0, 0 },
};

TSR_TEST_MAIN(tests)
