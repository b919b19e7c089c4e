// SPDX-License-Identifier: MIT
/*
 * Suspend while an engine hangs (x-hang-engine=0). The hang must be resolved
 * before the device is suspended: the hung job ends with -ETIME, and no other
 * job is lost.
 */
#include "tsr.h"

/*
 * Jobs behind the hung one: more than the ring holds, and no more than a process
 * may have unfinished.
 */
#define BEHIND 250
#define PACKETS 2000 /* per job, so that the ring can be refilled meanwhile */

/* The jobs use no memory, so evicting the segments does not wait for them. */
static uint32_t nop_submit(struct tsr_device *dev, uint32_t context, struct tsr_cmd *cmd)
{
	uint32_t sync = tsr_syncobj_new(dev);

	tsr_submit(dev, context, cmd, 0, sync);
	return sync;
}

static void hang_ends_then_pause(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t guilty = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0);
	uint32_t hung, behind[BEHIND];
	struct tsr_cmd cmd;

	/*
	 * Short, but no job behind the hung one takes half of it on any
	 * machine.
	 */
	tsr_job_timeout("4000");
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < PACKETS; i++)
		tsr_cmd_nop(&cmd, 8);
	hung = nop_submit(&dev, guilty, &cmd);
	for (uint32_t i = 0; i < BEHIND; i++)
		behind[i] = nop_submit(&dev, other, &cmd);

	/* longer than the job timeout */
	tsr_suspend_devices_for("5");
	require_eq(tsr_syncobj_status(&dev, hung), -ETIME);
	for (uint32_t i = 0; i < BEHIND; i++)
		require_ok(tsr_syncobj_status(&dev, behind[i]));

	tsr_suspend_devices();
	require_ok(tsr_syncobj_status(&dev, nop_submit(&dev, other, &cmd)));
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-31 suspend outlasts a hang, no job is lost", hang_ends_then_pause, 0, 60 },
};

TSR_TEST_MAIN(tests)
