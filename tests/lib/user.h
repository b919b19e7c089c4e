/* SPDX-License-Identifier: MIT */
/* Memory of the process as an object. */
#ifndef TSR_USER_H
#define TSR_USER_H

#include "tsr.h"

int __tsr_bo_from_user(int fd, void *memory, uint64_t size, uint32_t flags, uint32_t *handle);
/* skips the test where the device cannot */
struct tsr_bo tsr_bo_from_user(struct tsr_device *dev, void *memory, uint64_t size, uint32_t flags);

/* private anonymous pages, between two that are not there */
uint32_t *tsr_pages_new(uint64_t size);
void tsr_pages_at(void *memory, uint64_t size); /* others in their place; zero */
/*
 * Unmaps pages that jobs use, and maps others there, again and again, while another process queues jobs and counts
 * them: none writes the pages that the kernel gives out next.
 */
void tsr_pages_race(uint32_t *memory, uint64_t size, const volatile uint32_t *jobs);

/*
 * A process that has memory, and changes it when it is told to, while the test has jobs use it. The file of the device
 * is the test's.
 */
struct tsr_owner {
	pid_t pid;
	struct tsr_owner_state {
		volatile uint32_t handle; /* of the object */
		volatile int rc; /* of making it */
		volatile uint32_t step; /* what it may do next */
		volatile bool ready, done;
	} * state;
	struct tsr_device *dev;
	uint64_t size;
	uint32_t flags;
	void (*change)(uint32_t *memory, uint64_t size);
	/* behind that, and behind the job */
	void (*check)(uint32_t *memory, uint64_t size);
};

struct tsr_bo tsr_owner_start(struct tsr_owner *owner); /* memory of zeroes */
/* has it change its memory; returns when it waits or has done so */
void tsr_owner_change(struct tsr_owner *owner);
void tsr_owner_join(struct tsr_owner *owner); /* the job is over */

#endif /* TSR_USER_H */
