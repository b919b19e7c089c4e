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

/* debug/dep_check.c */

/*
 * Kinds of access of a job to an object or to page tables. Page table updates
 * count as moves.
 */
#define TESSERA_DEP_CHECK_MOVE	BIT(0)
#define TESSERA_DEP_CHECK_WRITE	BIT(1)
#define TESSERA_DEP_CHECK_READ	BIT(2)

#define TESSERA_DEP_CHECK_RECORDS	8

/**
 * struct tessera_dep_check_entry - one queued job
 */
struct tessera_dep_check_entry {
	/** @fence: the job's fence, with a reference; NULL: unused entry */
	struct dma_fence *fence;
	/** @kind: kind of access, TESSERA_DEP_CHECK_* */
	u32 kind;
	/** @stamp: the job's number within the checker */
	u64 stamp;
};

/**
 * struct tessera_dep_check - dependency checker: recent jobs of an object, see
 * debug/dep_check.c
 */
struct tessera_dep_check {
#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
	/** @lock: protects the members below; a leaf */
	spinlock_t lock;
	/** @stamp: number of the last job */
	u64 stamp;
	/**
	 * @written: a job that writes the object was queued after its last move
	 */
	bool written;
	/** @records: the recorded jobs */
	struct tessera_dep_check_entry records[TESSERA_DEP_CHECK_RECORDS];
#endif
};

/* The kinds of access that must end before a client's job begins. */
static inline u32 tessera_dep_check_before(bool write)
{
	return TESSERA_DEP_CHECK_MOVE | TESSERA_DEP_CHECK_WRITE |
	       (write ? TESSERA_DEP_CHECK_READ : 0);
}

#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
void tessera_dep_check_init(struct tessera_dep_check *dep_check);
void tessera_dep_check_fini(struct tessera_dep_check *dep_check);
void tessera_dep_check_add(struct tessera_dep_check *dep_check, u32 kind, struct dma_fence *fence);
u64 tessera_dep_check_stamp(struct tessera_dep_check *dep_check);
bool tessera_dep_check_is_written(struct tessera_dep_check *dep_check);
void tessera_dep_check_job(struct tessera_dep_check *dep_check, u32 kinds, struct tessera_job *job,
			   u32 id);
void tessera_dep_check_fences(struct tessera_dep_check *dep_check, u32 kinds,
			      const struct tessera_fences *fences, u32 id);
void tessera_dep_check_idle(struct tessera_dep_check *dep_check, u32 kinds, u64 stamp, u32 id);
#else
static inline void tessera_dep_check_init(struct tessera_dep_check *dep_check)
{
}

static inline void tessera_dep_check_fini(struct tessera_dep_check *dep_check)
{
}

static inline void tessera_dep_check_add(struct tessera_dep_check *dep_check, u32 kind,
					 struct dma_fence *fence)
{
}

static inline u64 tessera_dep_check_stamp(struct tessera_dep_check *dep_check)
{
	return 0;
}

static inline bool tessera_dep_check_is_written(struct tessera_dep_check *dep_check)
{
	return false;
}

static inline void tessera_dep_check_job(struct tessera_dep_check *dep_check, u32 kinds,
					 struct tessera_job *job, u32 id)
{
}

static inline void tessera_dep_check_fences(struct tessera_dep_check *dep_check, u32 kinds,
					    const struct tessera_fences *fences, u32 id)
{
}

static inline void tessera_dep_check_idle(struct tessera_dep_check *dep_check, u32 kinds, u64 stamp,
					  u32 id)
{
}
#endif

/* debug/stale_map.c */

#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
void tessera_stale_map_check_pages(struct ttm_buffer_object *tbo, u32 id, u64 first, u64 pages);
#else
static inline void tessera_stale_map_check_pages(struct ttm_buffer_object *tbo, u32 id, u64 first,
						 u64 pages)
{
}
#endif

#endif /* __TESSERA_DEBUG_H__ */
