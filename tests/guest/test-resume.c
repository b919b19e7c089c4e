// SPDX-License-Identifier: MIT
/*
 * SEG-31: a device that does not come back from suspend. Every second reset of
 * the device does not end (test-resume.args): the reset of probe ends, that of
 * the first resume does not, and so on. All jobs must then end with -ECANCELED,
 * and unbinding must work. Each test leaves the device after a reset that ended.
 */
#include <stdio.h>
#include <unistd.h>

#include "pci.h"
#include "stall.h"

#define QUEUED 250 /* 50 s of engine time; a process may have 256 unfinished jobs */
#define LAST 4

/* The location and bytes of objects are known without asking the device. */
static void objects_are_there(struct tsr_device *dev, struct tsr_bo *bo)
{
	struct tsr_bo fresh =
		tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_visible(dev)), DRM_TESSERA_BO_CPU_ACCESS);

	require_eq(tsr_bo_info(dev, bo).segment, 0);
	tsr_pattern_check(bo, 7);
	tsr_words_check(tsr_bo_map(dev, &fresh), fresh.size / 4, 0);
	tsr_bo_free(dev, &fresh);
}

static void works_again(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo =
		tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);

	tsr_gpu_fill(&dev, ctx, &bo, 11);
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 11);
	tsr_gpu_blit(&dev, ctx);
	tsr_close(&dev);
}

/*
 * Queued jobs end, as do jobs submitted later. A second failed resume changes
 * nothing, and unbinding does not hang. The number of jobs that end before the
 * suspend depends on the machine; the last ones have certainly not begun.
 */
static void queued_jobs_end(void)
{
	struct tsr_device dev = (tsr_pci_begin(), tsr_open());
	uint32_t ctx = tsr_context_new(&dev, 0), last[LAST];
	struct tsr_bo bo =
		tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	if (!(dev.info.caps & DRM_TESSERA_CAP_PREEMPTION))
		tap_skip("without preemption a process has few queued jobs at a gate");
	tsr_bo_map(&dev, &bo);
	tsr_pattern_write(&bo, 7);
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	for (uint32_t i = 0; i < LAST; i++)
		last[i] = tsr_syncobj_new(&dev);
	for (uint32_t i = 0; i < QUEUED; i++)
		tsr_submit(&dev, ctx, &cmd, 0, last[i % LAST]);

	tsr_suspend_devices();
	for (uint32_t i = 0; i < LAST; i++)
		require_eq(tsr_syncobj_status(&dev, last[i]), -ECANCELED);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -ECANCELED);
	objects_are_there(&dev, &bo);

	/* the reset of this resume ends, but too late */
	tsr_suspend_devices();
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -ECANCELED);
	objects_are_there(&dev, &bo);
	/* the page-in fails: the object is lost, and submissions say so */
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	require(tsr_submit_status(&dev, ctx, &cmd, NULL));
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EIO);
	tsr_bo_wait(&dev, &bo);

	tsr_pci_unbind();
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -ENODEV);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
	/* this reset does not end either; probe leaves nothing behind */
	require_err(__tsr_pci_bind(), -ETIMEDOUT);
	tsr_pci_bind();
	works_again();
}

#define PARTS 250 /* 50 s of engine time */

/* A submission in parts, suspended between two batches with the gate closed. */
static void group(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_rotation rot;
	int rc;

	tsr_rotation_init(&dev, &rot, PARTS, 0);
	rc = tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, done);
	if (!rc)
		rc = tsr_syncobj_status(&dev, done);
	tap_note("the group ended with %d", rc);
	require(rc == -ECANCELED || rc == -EIO);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	tsr_close(&dev);
}

/* Another client, which waits at the gate. */
static void neighbour(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;
	int rc = 0;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	while (!rc) {
		require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
		rc = tsr_syncobj_status(&dev, done);
	}
	require_eq(rc, -ECANCELED);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	tsr_close(&dev);
}

static void groups_end(void)
{
	void (*const fn[])(struct tsr_client * client) = { group, neighbour, group };
	struct tsr_client clients[ARRAY_SIZE(fn)];

	tsr_pci_begin();
	for (uint32_t i = 0; i < ARRAY_SIZE(fn); i++) {
		tsr_client_start(&clients[i], fn[i], i);
		if (!i)
			tsr_client_wait_running(&clients[i]);
		else
			tsr_wait_for(clients[i].state->begun);
	}
	tsr_suspend_devices();
	for (uint32_t i = 0; i < ARRAY_SIZE(fn); i++)
		tsr_wait_for(clients[i].state->ready);
	/* with the clients' files still open */
	tsr_pci_unbind();
	for (uint32_t i = 0; i < ARRAY_SIZE(fn); i++) {
		clients[i].state->stop = true;
		tsr_client_join(&clients[i]);
	}
	tsr_pci_bind();
	works_again();
}

static const struct tap_test tests[] = {
	{ "SEG-31 a resume that fails ends queued jobs", queued_jobs_end, TSR_NO_DEVICE, 60 },
	{ "SEG-31 a resume that fails ends submissions in parts", groups_end, TSR_NO_DEVICE, 60 },
};

TSR_TEST_MAIN(tests)
