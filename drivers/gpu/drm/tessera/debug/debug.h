/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Interface of debug/: checks of the driver's own rules. Without
 * CONFIG_DRM_TESSERA_DEBUG they are empty.
 */
#ifndef __TESSERA_DEBUG_H__
#define __TESSERA_DEBUG_H__

#include <linux/bits.h>
#include <linux/kconfig.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dma_fence;
struct tessera_fences;		/* exec/exec.h */
struct tessera_job;		/* exec/exec.h */
struct ttm_buffer_object;

/* debug/trail.c */

/*
 * Kinds of access of a job to an object or to page tables. Page table updates
 * count as moves.
 */
#define TESSERA_TRAIL_MOVE	BIT(0)
#define TESSERA_TRAIL_WRITE	BIT(1)
#define TESSERA_TRAIL_READ	BIT(2)

#define TESSERA_TRAIL_STEPS	8

/**
 * struct tessera_trail_step - record of one queued job
 */
struct tessera_trail_step {
	/** @fence: the job's fence, with a reference; NULL: unused entry */
	struct dma_fence *fence;
	/** @kind: kind of access, TESSERA_TRAIL_* */
	u32 kind;
	/** @stamp: the job's number within the trail */
	u64 stamp;
};

/**
 * struct tessera_trail - dependency checker: recent jobs of an object, see
 * debug/trail.c
 */
struct tessera_trail {
#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
	/** @lock: protects the members below; a leaf */
	spinlock_t lock;
	/** @stamp: number of the last job */
	u64 stamp;
	/**
	 * @written: a job that writes the object was queued after its last move
	 */
	bool written;
	/** @steps: the recorded jobs */
	struct tessera_trail_step steps[TESSERA_TRAIL_STEPS];
#endif
};

/* The kinds of access that must end before a client's job begins. */
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

/* debug/mapped.c */

#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
void tessera_mapped_check(struct ttm_buffer_object *tbo, u32 id, u64 first, u64 pages);
#else
static inline void tessera_mapped_check(struct ttm_buffer_object *tbo, u32 id, u64 first,
					u64 pages)
{
}
#endif

#endif /* __TESSERA_DEBUG_H__ */
