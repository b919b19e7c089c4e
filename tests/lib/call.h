/* SPDX-License-Identifier: MIT */
/* A call in a thread of its own, for a test that looks at what it waits for. */
#ifndef TSR_CALL_H
#define TSR_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct tsr_call {
	void (*fn)(void *arg);
	void *arg;
	pthread_t thread;
	volatile pid_t tid; /* 0 before it runs */
	volatile bool returned;
};

void tsr_call_start(struct tsr_call *call, void (*fn)(void *arg), void *arg);
/* it is in a wait of the driver: one of the rows of debugfs "waits" */
bool tsr_call_waits(const struct tsr_call *call, const char *row);
void tsr_call_join(struct tsr_call *call);

#endif /* TSR_CALL_H */
