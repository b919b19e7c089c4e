/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESIDENT_H__
#define __TESSERA_RESIDENT_H__

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct dma_fence;
struct drm_file;
struct tessera_account;		/* segments/account.h */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;

/**
 * struct tessera_resident_set - what an open file wants resident (WDDM: the residency list of a device)
 */
struct tessera_resident_set {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @file: whose it is */
	struct drm_file *file;
	/** @account: its account; outlives the set */
	struct tessera_account *account;
	/** @listings: &struct tessera_listing by object id; one changes under its object's resv */
	struct xarray listings;
	/** @lock: protects what follows; a leaf */
	struct mutex lock;
	/** @evicted: listings of objects that are where no job finds them */
	struct list_head evicted;
	/** @num_evicted: how many; for anybody to read */
	u32 num_evicted;
};

/**
 * struct tessera_listing - an object in a residency list
 */
struct tessera_listing {
	/** @set: the list */
	struct tessera_resident_set *set;
	/** @bo: the object; the file has a handle of it */
	struct tessera_bo *bo;
	/** @count: how often it was made resident, never 0; under the object's resv */
	u64 count;
	/** @dropping: how often one call evicts it; likewise */
	u64 dropping;
	/** @node: in &tessera_bo.listings; likewise */
	struct list_head node;
	/** @evicted: in &tessera_resident_set.evicted, or empty; under the set's lock */
	struct list_head evicted;
};

/**
 * struct tessera_resident_answer - what there is to know about a call that makes objects resident
 */
struct tessera_resident_answer {
	/** @fence: signals when all is where it is to be; set if the call succeeds */
	struct dma_fence *fence;
	/** @bytes_to_trim: how much has to be given up first; 0 unless that is what it fails for */
	u64 bytes_to_trim;
	/** @segments: ids of the segments where it has to be, as a set */
	u32 segments;
};

void tessera_resident_init(struct tessera_device *tdev);
struct tessera_resident_set *tessera_resident_set_create(struct tessera_device *tdev,
							 struct drm_file *file,
							 struct tessera_account *account);
void tessera_resident_set_destroy(struct tessera_resident_set *set);

int tessera_resident_make(struct tessera_resident_set *set, const u32 *handles, u32 num,
			  struct tessera_resident_answer *answer);
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num);
bool tessera_resident_lists(struct tessera_resident_set *set, const struct tessera_bo *bo);

void tessera_resident_want(struct tessera_resident_set *set);
int tessera_resident_bring_back(struct tessera_resident_set *set);

/* Whether all that is listed is where jobs find it. */
static inline bool tessera_resident_complete(const struct tessera_resident_set *set)
{
	return !READ_ONCE(set->num_evicted);
}

#endif /* __TESSERA_RESIDENT_H__ */
