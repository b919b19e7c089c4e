/* SPDX-License-Identifier: MIT */
/*
 * Several clients at once. One of them, in a process that may be killed,
 * submits work in many parts. The helpers show what the other clients notice of
 * it.
 */
#ifndef TSR_STALL_H
#define TSR_STALL_H

#include <sys/types.h>
#include <unistd.h>

#include "trace.h"
#include "tsr.h"

/*
 * A submission of exactly @parts parts: two objects take turns in one slot, and
 * the visible segment has space for one of them. Part i writes i + 1 to word
 * i/2 of object i%2.
 */
struct tsr_rotation {
	struct tsr_bo bos[2];
	struct tsr_cmd cmd;
	uint32_t parts;
};

void tsr_rotation_init(struct tsr_device *dev, struct tsr_rotation *rot, uint32_t parts,
		       uint32_t flags);
/* Requires that the first @ran parts have run, and no other part. */
void tsr_rotation_check(struct tsr_device *dev, uint32_t ctx, const struct tsr_rotation *rot,
			uint32_t ran);
/* Number of parts that have run. Fails if they are not the first ones. */
uint32_t tsr_rotation_ran(struct tsr_device *dev, uint32_t ctx, const struct tsr_rotation *rot);
void tsr_rotation_fini(struct tsr_device *dev, struct tsr_rotation *rot);

/* Zeroed memory that the test shares with its children. */
void *tsr_shared(size_t size);

/* Polls until @cond holds. Fails after a minute (five on the debug kernel). */
#define tsr_wait_for(cond)                                                                         \
	do {                                                                                       \
		uint64_t until_ = tsr_patience();                                                  \
		while (!(cond)) {                                                                  \
			require_msg(tap_now_ns() < until_, "timed out waiting for %s", #cond);     \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)
uint64_t tsr_patience(void);

/*
 * A value for demand_period_ms that never expires during a test: a slow client
 * must not lose its fair share.
 */
#define TSR_FOR_GOOD "3600000"

/* A client in a process of its own. */
struct tsr_client {
	pid_t pid;
	/* written by the child */
	struct tsr_client_state {
		volatile int fd; /* device file in the child; 0 before it is open */
		volatile uint32_t begun; /* calls of SUBMIT entered */
		volatile uint32_t returned; /* calls of SUBMIT returned */
		volatile int error; /* result of the last call */
		volatile int sync_file; /* sync file made by the child, for the test to take */
		volatile uint32_t rounds;
		volatile bool ready, stop;
	} * state;
	uint64_t arg; /* argument of the child's function */
};

void tsr_client_start(struct tsr_client *client, void (*fn)(struct tsr_client *client),
		      uint64_t arg);
/* Called in the child. */
struct tsr_device tsr_client_open(struct tsr_client *client);
int tsr_client_submit(struct tsr_client *client, struct tsr_device *dev, uint32_t ctx,
		      const struct tsr_cmd *cmd, uint32_t wait, uint32_t signal);
/* Engine time that the client has used so far, in nanoseconds. */
uint64_t tsr_client_engine_ns(const struct tsr_client *client, const char *engine);
/* Waits until the client is inside SUBMIT and some of it has run. */
void tsr_client_wait_running(const struct tsr_client *client);
/*
 * True if the client's process sleeps. After tsr_client_submit() was entered,
 * it sleeps inside the call.
 */
bool tsr_client_asleep(const struct tsr_client *client);
/* Fails the test if the client has ended with an error. */
void tsr_client_check(const struct tsr_client *client);
/* Duplicates a file descriptor of the client, which keeps its own. */
int tsr_client_take_fd(const struct tsr_client *client, int fd);
/* Kills the client. Returns the nanoseconds until it was gone. */
uint64_t tsr_client_kill(struct tsr_client *client);
void tsr_client_join(struct tsr_client *client);

/* A job of one packet on a small object in the general aperture. */
struct tsr_small {
	struct tsr_bo bo;
	struct tsr_cmd cmd;
	uint32_t ctx, sync;
};

uint32_t tsr_context_on(struct tsr_device *dev, uint32_t engine);
/* A context whose submissions are cut at every split point. */
uint32_t tsr_context_forced_on(struct tsr_device *dev, uint32_t engine);
void tsr_small_init(struct tsr_device *dev, struct tsr_small *small, uint32_t engine);
void tsr_small_run(struct tsr_device *dev, struct tsr_small *small);
void tsr_small_fini(struct tsr_device *dev, struct tsr_small *small);

/* A render engine other than dev->render. Skips the test if there is none. */
uint32_t tsr_second_engine(struct tsr_device *dev);
uint32_t tsr_further_engine(struct tsr_device *dev, uint32_t n); /* the @n-th such engine, from 0 */

/* ---- what the device ran, in its own order --------------------------- */

struct tsr_run {
	uint64_t start, end; /* in the device's clock */
	uint32_t ctx;
	uint64_t seqno;
	int error;
	size_t at; /* index of the job_done event in the trace */
};

uint64_t tsr_device_clock(struct tsr_device *dev);
/* The jobs that ran on an engine, by start. The caller frees the array. */
struct tsr_run *tsr_trace_runs(const struct tsr_trace *trace, uint32_t engine, size_t *count);

#endif /* TSR_STALL_H */
