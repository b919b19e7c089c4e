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

#endif /* TSR_CALL_H */
