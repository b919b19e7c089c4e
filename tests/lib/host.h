/* SPDX-License-Identifier: MIT */
/*
 * Changes made from the host while a test runs, through QEMU's monitor. Skips
 * the test without `scripts/guest --monitor guest`.
 */
#ifndef TSR_HOST_H
#define TSR_HOST_H

#include <stdbool.h>

#include "tsr.h"
#include "vm.h"

/* Set a property of the device under test from the host. */
void tsr_host_set_bool(const char *property, bool value);
void tsr_host_set(const char *property, const char *number);
bool tsr_host_is(const char *property, const char *number);

/*
 * A job that runs until the test releases it, so that no test depends on how
 * long something takes. The job timeout is lifted for the rest of the test.
 */
struct tsr_stuck {
	uint32_t sync; /* syncobj with the job's fence, or 0 after tsr_stuck_next() */
	struct tsr_device *dev;
	uint32_t number, engine; /* tsr_pci_number() of the device, and the job's engine */
};

/* Submit it to dev->render (or @engine); it hangs before its first packet. */
struct tsr_stuck tsr_stuck_start(struct tsr_device *dev, uint32_t ctx);
struct tsr_stuck tsr_stuck_start_on(struct tsr_device *dev, uint32_t ctx, uint32_t engine);
/*
 * Makes the test's own next job on @engine the stuck one. tsr_stuck_begun()
 * returns when that job has begun.
 */
struct tsr_stuck tsr_stuck_next(struct tsr_device *dev, uint32_t engine);
void tsr_stuck_begun(const struct tsr_stuck *stuck);
void tsr_stuck_release(const struct tsr_stuck *stuck); /* works without a driver */
void tsr_stuck_end(struct tsr_stuck *stuck); /* releases the job and waits for it */
/*
 * Calls @fn in a thread, and releases the stuck job once the thread sleeps
 * after tsr_stuck_last_call(), or has returned. Returns true if @fn returned
 * before the job was released. The caller still has to call tsr_stuck_end().
 */
bool tsr_stuck_during(void (*fn)(void *arg), void *arg);
/* Called by @fn before the call that is expected to wait for the stuck job. */
void tsr_stuck_last_call(void);

/* A job at virtual addresses that waits for a stuck job. */
struct tsr_stuck_vm {
	struct tsr_vm vm;
	struct tsr_stuck stuck;
};

#define TSR_STUCK_AT 0x40000000ull

/*
 * In a new VM, with @bo resident and mapped at TSR_STUCK_AT. When the job runs,
 * it fills @bo with @value.
 */
void tsr_stuck_vm_start(struct tsr_stuck_vm *stuck, struct tsr_device *dev, const struct tsr_bo *bo,
			uint32_t value);
bool tsr_stuck_vm_runs(struct tsr_stuck_vm *stuck); /* true while the job has not ended */
/*
 * Releases the job and waits for it. The VM stays until tsr_stuck_vm_close(),
 * because closing it writes page tables, and their fence would be one more
 * fence at the object for its exporter to find.
 */
void tsr_stuck_vm_end(struct tsr_stuck_vm *stuck);
void tsr_stuck_vm_close(struct tsr_stuck_vm *stuck);

/*
 * The next job on @engine of the device under test hangs until it is released
 * or its timeout has passed.
 */
void tsr_engine_hang_next(uint32_t engine);
bool tsr_engine_hangs(void); /* true once that job has begun */
/*
 * Returns when a job is stuck on the engine. It is the next one that begins
 * there, of any client; a job that was already running has ended.
 */
void tsr_engine_hold(uint32_t engine);
void tsr_engine_release(void); /* releases all engines of all devices */
/* Called by the runner before and after each test. */
void tsr_hangs_begin(void);
void tsr_hangs_end(void);

#endif /* TSR_HOST_H */
