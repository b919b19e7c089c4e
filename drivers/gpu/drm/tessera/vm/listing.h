/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_LISTING_H__
#define __TESSERA_LISTING_H__

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct drm_file;
struct tessera_account;		/* segments/account.h */
struct tessera_bo;		/* mem/bo.h */
struct tessera_device;

/**
 * struct tessera_resident_set - what an open file wants resident (WDDM: the residency list of a device)
 */
struct tessera_resident_set {
	/** @ref: the file and its VMs hold one each */
	struct kref ref;
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @file: whose it is */
	struct drm_file *file;
	/** @account: its account; outlives the file's part */
	struct tessera_account *account;
	/** @listings: &struct tessera_listing by object id; one changes under its object's resv */
	struct xarray listings;
	/** @lock: protects what follows; a leaf */
	struct mutex lock;
	/** @evicted: listings of objects that are where no job finds them */
	struct list_head evicted;
	/** @num_evicted: how many; for anybody to read */
	u32 num_evicted;
	/** @wanted: when the client last said that it uses what it has; for anybody, likewise */
	unsigned long wanted;
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
	/** @hidden: a VM of the file maps it, and its page tables do not say so; likewise */
	bool hidden;
	/** @node: in &tessera_bo.listings; likewise */
	struct list_head node;
	/** @evicted: in &tessera_resident_set.evicted, or empty; under the set's lock */
	struct list_head evicted;
};

struct tessera_resident_set *tessera_resident_set_create(struct tessera_device *tdev,
							 struct drm_file *file,
							 struct tessera_account *account);
struct tessera_resident_set *tessera_resident_set_get(struct tessera_resident_set *set);
void tessera_resident_set_put(struct tessera_resident_set *set);

int tessera_listing_add(struct tessera_resident_set *set, struct tessera_bo *bo);
bool tessera_listing_drop(struct tessera_listing *listing, u64 count);
void tessera_listing_close(struct tessera_bo *bo, struct drm_file *file);
struct tessera_listing *tessera_listing_find(struct tessera_resident_set *set,
					     const struct tessera_bo *bo);
void tessera_listing_set_hidden(struct tessera_resident_set *set, const struct tessera_bo *bo,
				bool hidden);
void tessera_listing_moves(struct tessera_bo *bo);
void tessera_listing_moved(struct tessera_bo *bo);
void tessera_listing_settle(struct tessera_bo *bo);
bool tessera_listing_writes(const struct tessera_bo *bo);
u32 tessera_listing_get_evicted(struct tessera_resident_set *set, struct tessera_bo **bos, u32 max);

/* Whether all that is listed is where jobs find it. */
static inline bool tessera_resident_complete(const struct tessera_resident_set *set)
{
	return !READ_ONCE(set->num_evicted);
}

#endif /* __TESSERA_LISTING_H__ */
