// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: crash records
 *
 * A crash is a reset of an engine, or a job that the device reports as failed.
 * The state of the first one is recorded, and tessera_dump.c makes a device
 * coredump of it. Until that dump is gone, later crashes are not recorded.
 *
 * Reset and the completion of jobs record a crash in signalling sections.
 * Therefore the record is allocated at probe. It holds a reference to the job,
 * which keeps the job's indirect buffers. Only the kernel writes to them, and
 * not after the job was armed, so they need no copy. A work item, which may
 * sleep, formats the rest. It also announces resets to user space.
 */

#include <linux/bitops.h>

#include "base/compat.h"
#include "base/device.h"
#include "exec/exec.h"
#include "hw/hw.h"

/* The registers of an engine that a record has. The last one is an offset. */
const u8 tessera_crash_regs[TESSERA_CRASH_REGS] = {
	TSR_ENG_STATUS, TSR_ENG_HEAD, TSR_ENG_TAIL, TSR_ENG_CONTEXT, TSR_ENG_IB_OFFSET,
};

/**
 * tessera_crash_record() - record the first crash, and make a dump of it
 * @engine: the engine, not yet reset
 * @job: the job that it was at, or NULL
 * @result: the device's record of @job, which has failed; NULL if the engine is
 *	about to be reset
 *
 * Any context.
 */
void tessera_crash_record(struct tessera_engine *engine, struct tessera_job *job,
			  const struct tessera_ring_result *result)
{
	struct tessera_crash *crash = engine->tdev->crash;
	u32 i;

	if (!IS_ENABLED(CONFIG_DEV_COREDUMP) ||
	    test_and_set_bit_lock(TESSERA_CRASH_RECORDED, &crash->flags))
		return;
	crash->engine = engine;
	crash->job = job ? tessera_job_get(job) : NULL;
	if (job)
		tessera_ring_copy(engine->ring, job->hw_fence->slot, crash->ring);
	for (i = 0; i < TESSERA_CRASH_REGS && !result; i++)
		crash->regs[i] = tessera_read32(engine->tdev,
						TSR_ENG(engine->id) + tessera_crash_regs[i]);
	crash->error = result ? result->status : TSR_ERR_NONE;
	crash->offset = result ? result->offset : crash->regs[TESSERA_CRASH_REGS - 1];
	/* Pairs with test_and_clear_bit() in the work item, which may run already. */
	smp_mb__before_atomic();
	set_bit(TESSERA_CRASH_COMPLETE, &crash->flags);
	queue_work(system_unbound_wq, &crash->work);
}

/**
 * tessera_crash_announce() - tell user space about a reset
 * @tdev: the device
 * @error: 0, or the error because of which the device needs help
 *
 * Any context.
 */
void tessera_crash_announce(struct tessera_device *tdev, int error)
{
	atomic_or(error ? DRM_WEDGE_RECOVERY_REBIND | DRM_WEDGE_RECOVERY_BUS_RESET :
		  DRM_WEDGE_RECOVERY_NONE, &tdev->crash->announce);
	queue_work(system_unbound_wq, &tdev->crash->work);
}
