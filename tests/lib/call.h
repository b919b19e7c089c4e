/* SPDX-License-Identifier: MIT */
/*
 * A call in a thread of its own, so that the test can see what the call waits
 * for.
 */
#ifndef TSR_CALL_H
#define TSR_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tsr.h"

struct tsr_call {
	void (*fn)(void *arg);
	void *arg;
	pthread_t thread;
	volatile pid_t tid; /* 0 until the thread runs */
	volatile bool returned;
};

void tsr_call_start(struct tsr_call *call, void (*fn)(void *arg), void *arg);
/* True while the thread is in the driver wait @row of debugfs "waits". */
bool tsr_call_waits(const struct tsr_call *call, const char *row);
void tsr_call_join(struct tsr_call *call);

/* A thread that holds the reservation of an object as long as a job uses it. */
struct tsr_bo_locked {
	struct tsr_call call;
	uint32_t id;
};

/* A job uses the object. The object loses its label. */
void tsr_bo_lock_begin(struct tsr_bo_locked *locked, struct tsr_device *dev,
		       const struct tsr_bo *bo);
void tsr_bo_lock_end(struct tsr_bo_locked *locked); /* waits for the end of the job */

#endif /* TSR_CALL_H */
