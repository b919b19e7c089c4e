// SPDX-License-Identifier: MIT
/*
 * Submissions during which each kernel allocation fails in turn (requirements,
 * section 4: "kernel memory shortage during submit"; SPLIT-34, SPLIT-35).
 * Either the ioctl fails with -ENOMEM and nothing runs, or a submission that
 * was already split ends with that error on its fence. The context keeps
 * working, and no byte is lost. Needs a kernel with fault injection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "inject.h"
#include "tsr.h"

#define WORDS 256

struct job {
	struct tsr_device dev;
	uint32_t ctx;
	struct tsr_bo a, b, c;
	struct tsr_cmd cmd;
	unsigned int refused, late, survived;
};

static struct tsr_bo new_bo(struct job *j, uint64_t size, uint32_t key)
{
	struct tsr_bo bo = tsr_bo_new(&j->dev, size, tsr_bit(tsr_seg_visible(&j->dev)),
				      DRM_TESSERA_BO_CPU_ACCESS);

	tsr_bo_map(&j->dev, &bo);
	tsr_pattern_write(&bo, key);
	return bo;
}

/*
 * Copies WORDS of A to C, then of B. Each split point binds only what it needs.
 */
static void prepare(struct job *j, uint64_t size)
{
	memset(j, 0, sizeof(*j));
	tsr_inject_init();
	j->dev = tsr_open();
	j->ctx = tsr_context_new(&j->dev, 0);
	j->a = new_bo(j, size, 0xa);
	j->b = new_bo(j, size, 0xb);
	j->c = new_bo(j, size, 0xc);
	tsr_cmd_init(&j->cmd);
	for (uint32_t i = 0; i < 2; i++) {
		tsr_cmd_group_begin(&j->cmd);
		tsr_cmd_bind_buffer(&j->cmd, 1, i ? &j->b : &j->a, false);
		tsr_cmd_bind_buffer(&j->cmd, 2, &j->c, true);
		tsr_cmd_group_end(&j->cmd);
		tsr_cmd_copy(&j->cmd, 2, i * WORDS, 1, 0, WORDS);
	}
}

static void check_result(struct job *j)
{
	const uint32_t *c = j->c.map;

	tsr_bo_wait(&j->dev, &j->c);
	for (uint32_t i = 0; i < j->c.size / 4; i++) {
		uint32_t want = tsr_pattern(0xc, i);

		if (i < WORDS)
			want = tsr_pattern(0xa, i);
		else if (i < 2 * WORDS)
			want = tsr_pattern(0xb, i - WORDS);
		require_eq(c[i], want);
	}
	tsr_pattern_check(&j->a, 0xa);
	tsr_pattern_check(&j->b, 0xb);
}

static bool has_fence(struct tsr_device *dev, uint32_t syncobj)
{
	struct drm_syncobj_handle args = {
		.handle = syncobj,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = tsr_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	if (!ret)
		close(args.fd);
	return !ret;
}

/* Returns whether an allocation failed. */
static bool one_failure(struct job *j, unsigned int nth)
{
	struct drm_tessera_submit args;
	struct drm_tessera_sync sync = { .flags = DRM_TESSERA_SYNC_SIGNAL };
	bool injected;
	int ret;

	sync.handle = tsr_syncobj_new(&j->dev);
	tsr_submit_args(&j->cmd, j->ctx, &args);
	args.syncs.stride = sizeof(sync);
	args.syncs.count = 1;
	args.syncs.array = (uintptr_t)&sync;

	tsr_inject_set(nth);
	ret = ioctl(j->dev.fd, DRM_IOCTL_TESSERA_SUBMIT, &args) ? -errno : 0;
	injected = tsr_inject_done();

	if (ret) {
		require(injected);
		require_msg(ret == -ENOMEM || ret == -EFAULT, "allocation %u: %s", nth,
			    strerror(-ret));
		/*
		 * Nothing may have run, so the syncobj has no fence. The
		 * exception is -EFAULT from the very last copy, which reports
		 * the outcome to user space.
		 */
		require(ret == -EFAULT || !has_fence(&j->dev, sync.handle));
		j->refused++;
	} else {
		int status = tsr_syncobj_status(&j->dev, sync.handle);

		require_msg(!status || (injected && status == -ENOMEM), "allocation %u: fence %s",
			    nth, strerror(-status));
		if (status)
			j->late++;
		else if (injected)
			j->survived++;
	}
	tsr_syncobj_free(&j->dev, sync.handle);
	return injected;
}

static void fits(void)
{
	struct job j;
	unsigned int nth = (unsigned int)tap_env("NTH", 1);

	prepare(&j, KiB(64));
	while (one_failure(&j, nth))
		nth++;
	tsr_submit_done(&j.dev, j.ctx, &j.cmd);
	check_result(&j);
	tap_note("%u allocations: %u submissions refused, %u succeeded without", nth - 1, j.refused,
		 j.survived);
	/* at least: request, commands, lists, job, fences, locks */
	require(j.refused >= 6);
	require_eq(j.late, 0);
	tsr_close(&j.dev);
}

static void pages_in(void)
{
	struct job j;
	unsigned int nth = (unsigned int)tap_env("NTH", 1);
	bool more = true;

	prepare(&j, KiB(64));
	do {
		tsr_evict_set(tsr_bit(tsr_seg_visible(&j.dev)));
		more = one_failure(&j, nth);
		nth += nth < 60 ? 1 : 7;
	} while (more);
	tsr_submit_done(&j.dev, j.ctx, &j.cmd);
	check_result(&j);
	tap_note("up to allocation %u: %u refused, %u did without", nth, j.refused, j.survived);
	require(j.refused >= 6);
	require_eq(j.late, 0);
	tsr_close(&j.dev);
}

/* Two of three objects fit: there is a cut, and failures on both sides. */
static void splits(void)
{
	struct job j;
	unsigned int nth = (unsigned int)tap_env("NTH", 1);
	bool more = true;

	prepare(&j, KiB(1600));
	do {
		tsr_evict_set(tsr_bit(tsr_seg_visible(&j.dev)));
		more = one_failure(&j, nth);
		if (nth % 16 == 0) {
			require_eq(tsr_submit_status(&j.dev, j.ctx, &j.cmd, NULL), 0);
			check_result(&j);
		}
		nth += nth < 60 ? 1 : 3;
	} while (more);
	require_eq(tsr_submit(&j.dev, j.ctx, &j.cmd, 0, 0), 2);
	check_result(&j);
	tap_note("up to allocation %u: %u refused, %u ended early, %u did without", nth, j.refused,
		 j.late, j.survived);
	require(j.refused >= 6);
	require(j.late >= 1);
	tsr_close(&j.dev);
}

/*
 * If an eviction fails, TTM frees the retained system copy. The driver must not
 * rely on that copy afterwards.
 */
static void evicts(void)
{
	struct job j;
	uint32_t errors = 0;
	char set[16];
	bool more = true;

	prepare(&j, KiB(64));
	snprintf(set, sizeof(set), "%u", tsr_bit(tsr_seg_visible(&j.dev)));
	for (unsigned int nth = 1; more; nth++) {
		tsr_gpu_touch(&j.dev, j.ctx, &j.a);
		tsr_inject_set(nth);
		if (tsr_debugfs_write("evict_all", set))
			errors++;
		more = tsr_inject_done();
		tsr_evict_set(tsr_bit(tsr_seg_visible(&j.dev)));
		tsr_pattern_check(&j.a, 0xa);
	}
	tap_note("%u evictions failed", errors);
	/* the number depends on what the kernel has cached */
	require(errors);
	tsr_close(&j.dev);
}

static const struct tap_test tests[] = {
	{ "ERR-17 short of memory in a submission that fits", fits, 0, 120 },
	{ "ERR-17 short of memory in a submission that pages in", pages_in, 0, 200 },
	{ "PAGE-7 short of memory in an eviction", evicts, 0, 120 },
	{ "SPLIT-34 SPLIT-35 short of memory in a split submission", splits, 0, 250 },
};

TSR_TEST_MAIN(tests)
