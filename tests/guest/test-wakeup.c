// SPDX-License-Identifier: MIT
/*
 * A call that waits for space must see the space that woke it up. The waiting
 * thread has a real-time priority and shares a CPU with the thread that frees
 * the space. So it runs at the moment of the wake-up, before the other thread
 * continues (`preempt=full` in .args).
 */
#include <sched.h>

#include "call.h"
#include "held.h"
#include "resident.h"
#include "stall.h"

struct waiter {
	struct tsr_device *dev;
	struct tsr_bo bo;
	int rc;
};

static void stay_on_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	require(!sched_setaffinity(0, sizeof(set), &set));
}

static void make_resident(void *arg)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct waiter *waiter = arg;

	stay_on_first_cpu();
	require(!sched_setscheduler(0, SCHED_FIFO, &first));
	waiter->rc = __tsr_make_one(waiter->dev, &waiter->bo);
}

/*
 * The call waits because of an object that is being destroyed. The space comes
 * from another object, whose file lists it until the object is closed. The call
 * must return without waiting for the first one.
 */
static void space_is_seen(void)
{
	struct tsr_device dev = tsr_open(), owner = tsr_open(), third = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t set = tsr_bit(tsr_seg_hidden(&dev));
	struct tsr_bo dying = tsr_bo_new(&dev, MiB(3), set, 0);
	struct tsr_bo kept = tsr_bo_new(&owner, MiB(4), set, 0);
	struct waiter waiter = { .dev = &third, .bo = tsr_bo_new(&third, MiB(4), set, 0) };
	struct tsr_call call;

	tsr_held_fill(&held, &dying, 16, 1);
	tsr_bo_free(&dev, &dying);
	require_ok(__tsr_make_one(&owner, &kept));
	tsr_call_start(&call, make_resident, &waiter);
	tsr_wait_for(call.returned || tsr_call_waits(&call, "space"));
	require(!call.returned);
	stay_on_first_cpu();
	tsr_bo_free(&owner, &kept);
	tsr_wait_for(call.returned);
	tsr_call_join(&call);
	require_ok(waiter.rc);
	require(tsr_held_waits(&held));
	tsr_held_close(&held);
	tsr_close(&third);
	tsr_close(&owner);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-3 space is seen by a call that wakes up for it", space_is_seen, 0, 0 },
};

TSR_TEST_MAIN(tests)
