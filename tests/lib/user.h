/* SPDX-License-Identifier: MIT */
/* Memory of a process as an object (userptr). */
#ifndef TSR_USER_H
#define TSR_USER_H

#include "tsr.h"

int __tsr_bo_from_user(int fd, void *memory, uint64_t size, uint32_t flags, uint32_t *handle);
/* Skips the test if the device cannot use memory of processes. */
struct tsr_bo tsr_bo_from_user(struct tsr_device *dev, void *memory, uint64_t size, uint32_t flags);

/* Private anonymous pages with an unmapped page before and after them. */
uint32_t *tsr_pages_new(uint64_t size);
void tsr_pages_at(void *memory, uint64_t size); /* maps new zero pages in their place */
/*
 * Unmaps pages that jobs use and maps new ones in their place, again and again,
 * while another process submits jobs and counts them in @jobs. No job may write
 * to pages that the kernel has given out again.
 */
void tsr_pages_race(uint32_t *memory, uint64_t size, const volatile uint32_t *jobs);

/*
 * A process that owns memory and changes it on request, while the test runs
 * jobs on that memory. The object is created on the device file of the test.
 */
struct tsr_owner {
	pid_t pid;
	struct tsr_owner_state {
		volatile uint32_t handle; /* of the object */
		volatile int rc; /* result of creating the object */
		volatile uint32_t step; /* the step that the process may take next */
		volatile bool ready, done;
	} * state;
	struct tsr_device *dev;
	uint64_t size;
	uint32_t flags;
	void (*change)(uint32_t *memory, uint64_t size);
	/* runs after change() and after the job */
	void (*check)(uint32_t *memory, uint64_t size);
};

struct tsr_bo tsr_owner_start(struct tsr_owner *owner); /* zeroed memory */
/*
 * Has the process change its memory. Returns when the change is done, or when
 * the process waits for jobs.
 */
void tsr_owner_change(struct tsr_owner *owner);
void tsr_owner_join(struct tsr_owner *owner); /* for use after the job */

#endif /* TSR_USER_H */
