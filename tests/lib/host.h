/* SPDX-License-Identifier: MIT */
/* What the host does to the machine meanwhile. Skips the test without `scripts/guest --monitor guest`. */
#ifndef TSR_HOST_H
#define TSR_HOST_H

#include <stdbool.h>

#include "tsr.h"
#include "vm.h"

/* a property of the device that the program is run for, from outside */
void tsr_host_set_bool(const char *property, bool value);
void tsr_host_set(const char *property, const char *number);

/*
 * A job that runs until it is let go, so that nothing depends on how long something takes. The job timeout is lifted for
 * the rest of the test.
 */
struct tsr_stuck {
	uint32_t sync; /* its end, or 0: of tsr_stuck_next() */
	struct tsr_device *dev;
	uint32_t number, engine; /* tsr_pci_number(), and the engine of the job */
};

/* on the engine dev->render, which gets no further than its beginning */
struct tsr_stuck tsr_stuck_start(struct tsr_device *dev, uint32_t ctx);
struct tsr_stuck tsr_stuck_start_on(struct tsr_device *dev, uint32_t ctx, uint32_t engine);
/* the test's own next job is that job, and tsr_stuck_begun() returns when it has begun */
struct tsr_stuck tsr_stuck_next(struct tsr_device *dev, uint32_t engine);
void tsr_stuck_begun(const struct tsr_stuck *stuck);
void tsr_stuck_let_go(const struct tsr_stuck *stuck); /* works without a driver, too */
void tsr_stuck_end(struct tsr_stuck *stuck); /* lets it go, and waits for it */
/*
 * Calls @fn in a thread, and lets the job go when that sleeps behind tsr_stuck_last_call() or has returned: true if it
 * has. The job ends, but tsr_stuck_end() is still to come.
 */
bool tsr_stuck_during(void (*fn)(void *arg), void *arg);
/* in @fn: what it calls next is to wait for the job */
void tsr_stuck_last_call(void);

/* A job at virtual addresses behind such a one. */
struct tsr_stuck_vm {
	struct tsr_vm vm;
	struct tsr_stuck stuck;
};

#define TSR_STUCK_AT 0x40000000ull

/* in a new VM, at an object that is resident and gets mapped; it is going to fill that */
void tsr_stuck_vm_start(struct tsr_stuck_vm *stuck, struct tsr_device *dev, const struct tsr_bo *bo,
			uint32_t value);
bool tsr_stuck_vm_runs(struct tsr_stuck_vm *stuck); /* it has not ended */
/*
 * Lets the job go, and waits for it. The VM stays until tsr_stuck_vm_close(): its end writes page tables, whose fence
 * at the object would be one more that the exporter of the object finds.
 */
void tsr_stuck_vm_end(struct tsr_stuck_vm *stuck);
void tsr_stuck_vm_close(struct tsr_stuck_vm *stuck);

/* The next job of an engine of that device hangs until it is let go, or its timeout has passed. */
void tsr_engine_hang_next(uint32_t engine);
bool tsr_engine_hangs(void); /* that has come */
/* The next job that begins on an engine, whoever's it is, is stuck when this returns; one that runs has ended. */
void tsr_engine_hold(uint32_t engine);
void tsr_engine_let_go(void); /* all engines of all devices */
/* before and after each test: who runs them */
void tsr_hangs_begin(void);
void tsr_hangs_end(void);

#endif /* TSR_HOST_H */
