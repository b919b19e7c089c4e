/* SPDX-License-Identifier: MIT */
/*
 * A job that hangs beside other work. It runs for minutes, and the test ends its
 * time through debugfs `expire_job`. No job timeout is short, so jobs of other
 * clients may take as long as a busy machine needs. The hanging job tells that
 * it has begun, so the test knows which job the engine is at.
 */
#ifndef TSR_HANG_H
#define TSR_HANG_H

#include "tsr.h"

struct tsr_hang {
	struct tsr_device *dev;
	struct tsr_bo work; /* written over and over */
	struct tsr_bo flag; /* its first word is written first */
	struct tsr_cmd cmd;
	uint32_t sync; /* syncobj with the job's fence */
};

/* Appends packets that take minutes. @slot is bound to @words words. */
void tsr_cmd_hang(struct tsr_cmd *cmd, uint32_t slot, uint32_t words);

/* Submits the job. Lifts the job timeout for the rest of the test. */
void tsr_hang_start(struct tsr_device *dev, uint32_t context, struct tsr_hang *hang);
void tsr_hang_begun(const struct tsr_hang *hang); /* waits until the job runs */
/* Waits until the job runs, and ends its time. */
void tsr_hang_expire(struct tsr_hang *hang);
/* Requires that the job has timed out, and frees its objects. */
void tsr_hang_end(struct tsr_hang *hang);

/*
 * Has the next @jobs jobs of @engine hang, and ends the time of each as soon as
 * it hangs. This is done in a process of its own, because the test may wait for
 * these jobs in a call, also with its mmap_lock held. Lifts the job timeout for
 * the rest of the test. tap_join() returns when the jobs have hung. Needs QEMU's
 * monitor (lib/host.h).
 */
pid_t tsr_hang_next(uint32_t engine, uint32_t jobs);

#endif /* TSR_HANG_H */
