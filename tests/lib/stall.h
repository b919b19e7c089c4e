/* SPDX-License-Identifier: MIT */
/*
 * Clients beside each other: one whose submissions run in many parts, in a process of
 * its own that may be killed, and what the others see of it meanwhile.
 */
#ifndef TSR_STALL_H
#define TSR_STALL_H

#include <sys/types.h>
#include <unistd.h>

#include "trace.h"
#include "tsr.h"

/*
 * A submission of exactly @parts parts: two objects take turns in one slot, and the visible
 * segment holds one of them. Part i writes i + 1 to word i / 2 of object i % 2.
 */
struct tsr_rotation {
	struct tsr_bo bos[2];
	struct tsr_cmd cmd;
	uint32_t parts;
};

void tsr_rotation_init(struct tsr_device *dev, struct tsr_rotation *rot, uint32_t parts,
		       uint32_t flags);
/* the first @ran parts have run, and no other */
void tsr_rotation_check(struct tsr_device *dev, uint32_t ctx, const struct tsr_rotation *rot,
			uint32_t ran);
/* how many have; those are the first ones */
uint32_t tsr_rotation_ran(struct tsr_device *dev, uint32_t ctx, const struct tsr_rotation *rot);
void tsr_rotation_fini(struct tsr_device *dev, struct tsr_rotation *rot);

/* memory that the test and its children share, zeroed */
void *tsr_shared(size_t size);

/* poll until it holds; fails after a minute (the debug kernel: five) */
#define tsr_wait_for(cond)                                                                         \
	do {                                                                                       \
		uint64_t until_ = tsr_patience();                                                  \
		while (!(cond)) {                                                                  \
			require_msg(tap_now_ns() < until_, "waited in vain for %s", #cond);        \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)
uint64_t tsr_patience(void);

/* a demand_window_ms that does not pass: who is slow does not lose its share for it */
#define TSR_FOR_GOOD "3600000"

/* a client in a process of its own */
struct tsr_client {
	pid_t pid;
	/* written by the child */
	struct tsr_client_state {
		volatile int fd; /* of the device, in the child; 0 before it is open */
		volatile uint32_t begun; /* calls of SUBMIT entered */
		volatile uint32_t returned; /* and come back */
		volatile int error; /* of the last one */
		volatile int sync_file; /* one it has made */
		volatile uint32_t rounds;
		volatile bool ready, stop;
	} * state;
	uint64_t arg; /* for the child's function */
};

void tsr_client_start(struct tsr_client *client, void (*fn)(struct tsr_client *client),
		      uint64_t arg);
/* in the child */
struct tsr_device tsr_client_open(struct tsr_client *client);
int tsr_client_submit(struct tsr_client *client, struct tsr_device *dev, uint32_t ctx,
		      const struct tsr_cmd *cmd, uint32_t wait, uint32_t signal);
/* nanoseconds the client has had of an engine so far */
uint64_t tsr_client_engine_ns(const struct tsr_client *client, const char *engine);
/* it is inside SUBMIT, and something of that has run already */
void tsr_client_wait_running(const struct tsr_client *client);
/* it sleeps: behind tsr_client_submit(), it does so in the call */
bool tsr_client_asleep(const struct tsr_client *client);
/* fails the test if it has ended, and not as it should */
void tsr_client_check(const struct tsr_client *client);
/* a file descriptor of its, for us to keep; the client goes on having it */
int tsr_client_take_fd(const struct tsr_client *client, int fd);
/* kills it; nanoseconds until it is gone */
uint64_t tsr_client_kill(struct tsr_client *client);
void tsr_client_join(struct tsr_client *client);

/* a job of one packet on a small object in the general aperture */
struct tsr_small {
	struct tsr_bo bo;
	struct tsr_cmd cmd;
	uint32_t ctx, sync;
};

uint32_t tsr_context_on(struct tsr_device *dev, uint32_t engine);
/* its submissions are cut at all split points */
uint32_t tsr_context_forced_on(struct tsr_device *dev, uint32_t engine);
void tsr_small_init(struct tsr_device *dev, struct tsr_small *small, uint32_t engine);
void tsr_small_run(struct tsr_device *dev, struct tsr_small *small);
void tsr_small_fini(struct tsr_device *dev, struct tsr_small *small);

/* a render engine beside dev->render; skips the test if there is none */
uint32_t tsr_second_engine(struct tsr_device *dev);
uint32_t tsr_further_engine(struct tsr_device *dev, uint32_t n); /* the @n-th of those, from 0 */

/* ---- what the device did, in its own order ---- */

struct tsr_run {
	uint64_t start, end; /* clock of the device */
	uint32_t ctx;
	uint64_t seqno;
	int error;
	size_t at; /* where in the trace the kernel says that it is over */
};

uint64_t tsr_device_clock(struct tsr_device *dev);
/* what ran on an engine, in order; to be freed */
struct tsr_run *tsr_trace_runs(const struct tsr_trace *trace, uint32_t engine, size_t *count);

#endif /* TSR_STALL_H */
