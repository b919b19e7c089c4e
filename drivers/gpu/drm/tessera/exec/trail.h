/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_TRAIL_H__
#define __TESSERA_TRAIL_H__

#include <linux/bits.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_device;
struct tessera_fences;		/* exec/fences.h */
struct tessera_job;		/* exec/job.h */

/* What jobs do to an object, or to page tables, whose changes are moves. */
#define TESSERA_TRAIL_MOVE	BIT(0)
#define TESSERA_TRAIL_WRITE	BIT(1)
#define TESSERA_TRAIL_READ	BIT(2)

#define TESSERA_TRAIL_STEPS	8

/**
 * struct tessera_trail_step - a job that was queued
 */
struct tessera_trail_step {
	/** @fence: of the job, a reference; NULL: none */
	struct dma_fence *fence;
	/** @kind: what it does, TESSERA_TRAIL_* */
	u32 kind;
	/** @stamp: its number */
	u64 stamp;
};

/**
 * struct tessera_trail - the jobs of an object that come before others, see exec/trail.c
 */
struct tessera_trail {
#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
	/** @lock: protects what follows; a leaf */
	spinlock_t lock;
	/** @stamp: of the last job */
	u64 stamp;
	/** @written: a job writes it behind its last move */
	bool written;
	/** @steps: those jobs */
	struct tessera_trail_step steps[TESSERA_TRAIL_STEPS];
#endif
};

/* What has to be over before a client's job begins. */
static inline u32 tessera_trail_before(bool write)
{
	return TESSERA_TRAIL_MOVE | TESSERA_TRAIL_WRITE | (write ? TESSERA_TRAIL_READ : 0);
}

#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
void tessera_trail_init(struct tessera_trail *trail);
void tessera_trail_fini(struct tessera_trail *trail);
void tessera_trail_add(struct tessera_trail *trail, u32 kind, struct dma_fence *fence);
u64 tessera_trail_now(struct tessera_trail *trail);
bool tessera_trail_is_written(struct tessera_trail *trail);
void tessera_trail_check_job(struct tessera_trail *trail, u32 kinds, struct tessera_job *job,
			     u32 id);
void tessera_trail_check_fences(struct tessera_trail *trail, u32 kinds,
				const struct tessera_fences *fences, u32 id);
void tessera_trail_check_over(struct tessera_trail *trail, u32 kinds, u64 stamp, u32 id);
#else
static inline void tessera_trail_init(struct tessera_trail *trail)
{
}

static inline void tessera_trail_fini(struct tessera_trail *trail)
{
}

static inline void tessera_trail_add(struct tessera_trail *trail, u32 kind,
				     struct dma_fence *fence)
{
}

static inline u64 tessera_trail_now(struct tessera_trail *trail)
{
	return 0;
}

static inline bool tessera_trail_is_written(struct tessera_trail *trail)
{
	return false;
}

static inline void tessera_trail_check_job(struct tessera_trail *trail, u32 kinds,
					   struct tessera_job *job, u32 id)
{
}

static inline void tessera_trail_check_fences(struct tessera_trail *trail, u32 kinds,
					      const struct tessera_fences *fences, u32 id)
{
}

static inline void tessera_trail_check_over(struct tessera_trail *trail, u32 kinds, u64 stamp,
					    u32 id)
{
}
#endif

#endif /* __TESSERA_TRAIL_H__ */
