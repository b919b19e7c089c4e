// SPDX-License-Identifier: MIT
/*
 * Cache of idle objects. A given object waits for the jobs that use it. Then
 * the cache offers it, so that the kernel may drop its contents if memory is
 * short. A request for an object of the same kind reclaims it. OFFER fails for
 * objects that another file has or that were exported, so it also tells that
 * the cache is the only user. The oldest objects are destroyed above the size
 * limit, and all of them when there is no memory for a new one.
 */
#include <errno.h>
#include <string.h>

#include "uses.h"
#include "vm.h"

#define BUCKETS 64
#define MAX_ROUNDED (UINT64_C(16) << 20) /* sizes above this are not rounded to steps */

struct cache_entry {
	TAILQ_ENTRY(cache_entry) of_cache, of_bucket;
	struct tessera_bo *bo; /* the last reference */
	struct tessera_uses uses;
	bool offered; /* in its bucket; else waiting for jobs */
};

struct tessera_cache {
	struct tessera_device *dev;
	uint64_t limit;
	pthread_mutex_t lock; /* protects all fields below */
	uint64_t bytes;
	TAILQ_HEAD(, cache_entry) entries; /* last given object last */
	TAILQ_HEAD(cache_bucket, cache_entry) buckets[BUCKETS]; /* last offered object last */
};

int tessera_cache_new(struct tessera_device *dev, uint64_t limit, struct tessera_cache **out)
{
	struct tessera_cache *cache = tessera_alloc(dev, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->dev = tessera_device_ref(dev);
	cache->limit = limit;
	pthread_mutex_init(&cache->lock, NULL);
	TAILQ_INIT(&cache->entries);
	for (uint32_t i = 0; i < BUCKETS; i++)
		TAILQ_INIT(&cache->buckets[i]);
	*out = cache;
	return 0;
}

/*
 * Round the size of a linear object up to one of four steps per power of two.
 * The size of a swizzled object must stay a multiple of its tile rows.
 */
static uint64_t rounded_size(const struct tessera_device *dev, const struct tessera_bo_desc *desc)
{
	uint64_t page = dev->info.page_size, step = page;

	if (desc->layout == TSR_LAYOUT_LINEAR && desc->size && desc->size <= MAX_ROUNDED)
		step = (UINT64_C(1) << (63 - __builtin_clzll(desc->size))) / 4;
	if (step < page)
		step = page;
	return (desc->size + step - 1) / step * step;
}

/* Description that is equal for objects that can replace each other. */
static struct tessera_bo_desc kind_of(const struct tessera_device *dev,
				      const struct tessera_bo_desc *desc)
{
	struct tessera_bo_desc kind = *desc;

	kind.size = rounded_size(dev, desc);
	for (uint32_t i = kind.num_preferred; i < ARRAY_SIZE(kind.preferred); i++)
		kind.preferred[i] = 0;
	return kind;
}

static uint32_t bucket_of(const struct tessera_bo_desc *kind)
{
	uint64_t key = kind->size ^ (uint64_t)kind->supported << 32 ^ kind->flags;

	return (key * UINT64_C(0x9e3779b97f4a7c15)) >> 58;
}

/*
 * Caller holds the lock. Removes the entry; its reference becomes the caller's.
 */
static struct tessera_bo *entry_remove(struct tessera_cache *cache, struct cache_entry *entry)
{
	struct tessera_bo *bo = entry->bo;

	TAILQ_REMOVE(&cache->entries, entry, of_cache);
	if (entry->offered)
		TAILQ_REMOVE(&cache->buckets[bucket_of(&bo->desc)], entry, of_bucket);
	cache->bytes -= bo->size;
	tessera_uses_fini(cache->dev, &entry->uses);
	tessera_free(cache->dev, entry);
	return bo;
}

/*
 * Caller holds the lock. Takes the object off all residency lists and offers
 * it, or destroys it if it cannot be offered.
 */
static void entry_offer(struct tessera_cache *cache, struct cache_entry *entry)
{
	tessera_vm_unlist_bo(entry->bo);
	if (tessera_bo_offer(&entry->bo, 1, DRM_TESSERA_OFFER_LOW)) {
		tessera_bo_retire(entry_remove(cache, entry));
		return;
	}
	entry->offered = true;
	TAILQ_INSERT_TAIL(&cache->buckets[bucket_of(&entry->bo->desc)], entry, of_bucket);
}

/*
 * Caller holds the lock. Offers all objects that no job uses any more. Later
 * entries that wait for a timeline found busy are skipped, because their points
 * are normally later.
 */
static void cache_settle(struct tessera_cache *cache)
{
	const struct tessera_syncobj *busy = NULL;
	struct cache_entry *entry, *next;

	for (entry = TAILQ_FIRST(&cache->entries); entry; entry = next) {
		next = TAILQ_NEXT(entry, of_cache);
		if (entry->offered || (entry->uses.num && entry->uses.list[0].timeline == busy))
			continue;
		if (tessera_uses_busy(&entry->uses, true))
			busy = entry->uses.list[0].timeline;
		else
			entry_offer(cache, entry);
	}
}

/* Caller holds the lock. */
static void cache_shrink(struct tessera_cache *cache, uint64_t bytes)
{
	while (cache->bytes > bytes)
		tessera_bo_retire(entry_remove(cache, TAILQ_FIRST(&cache->entries)));
}

void tessera_cache_trim(struct tessera_cache *cache, uint64_t bytes)
{
	pthread_mutex_lock(&cache->lock);
	cache_shrink(cache, bytes);
	pthread_mutex_unlock(&cache->lock);
}

void tessera_cache_del(struct tessera_cache *cache)
{
	struct tessera_device *dev;

	if (!cache)
		return;
	dev = cache->dev;
	tessera_cache_trim(cache, 0);
	pthread_mutex_destroy(&cache->lock);
	tessera_free(dev, cache);
	tessera_device_del(dev);
}

/*
 * A private object that is mapped belongs to a live VM. Without a mapping its
 * VM may be gone, and its id may belong to another VM.
 */
static bool has_vm(struct tessera_bo *bo)
{
	return !(bo->flags & DRM_TESSERA_BO_VM_PRIVATE) || tessera_vm_knows_bo(bo);
}

/*
 * Caller holds the lock. Finds an object of the kind, last offered first,
 * because that one is most likely still in memory. NULL: none.
 */
static struct tessera_bo *cache_find(struct tessera_cache *cache,
				     const struct tessera_bo_desc *kind)
{
	struct cache_entry *entry, *previous;
	struct tessera_bo *bo;
	uint32_t result;

	for (entry = TAILQ_LAST(&cache->buckets[bucket_of(kind)], cache_bucket); entry;
	     entry = previous) {
		previous = TAILQ_PREV(entry, cache_bucket, of_bucket);
		if (memcmp(&entry->bo->desc, kind, sizeof(*kind)))
			continue;
		bo = entry_remove(cache, entry);
		if (has_vm(bo) && !tessera_bo_reclaim(&bo, 1, &result))
			return bo;
		/* The object is lost, or its VM is gone. */
		tessera_bo_retire(bo);
	}
	return NULL;
}

int tessera_cache_take(struct tessera_cache *cache, const struct tessera_bo_desc *desc,
		       struct tessera_bo **out)
{
	struct tessera_bo_desc kind;
	int ret;

	if (desc->size > UINT64_MAX / 2 || desc->num_preferred > ARRAY_SIZE(desc->preferred))
		return -EINVAL;
	kind = kind_of(cache->dev, desc);
	pthread_mutex_lock(&cache->lock);
	cache_settle(cache);
	*out = cache_find(cache, &kind);
	pthread_mutex_unlock(&cache->lock);
	if (*out)
		return 0;
	ret = tessera_bo_new(cache->dev, &kind, out);
	if (ret != -ENOMEM)
		return ret;
	tessera_cache_trim(cache, 0);
	return tessera_bo_new(cache->dev, &kind, out);
}

static int cache_add(struct tessera_cache *cache, struct tessera_bo *bo,
		     struct tessera_syncobj *timeline, uint64_t point)
{
	struct cache_entry *entry = tessera_alloc(cache->dev, sizeof(*entry));
	int ret = 0;

	if (!entry)
		return -ENOMEM;
	entry->bo = bo;
	if (timeline)
		ret = tessera_uses_add(cache->dev, &entry->uses, timeline, point, true);
	if (ret) {
		tessera_free(cache->dev, entry);
		return ret;
	}
	bo->desc = kind_of(cache->dev, &bo->desc);
	pthread_mutex_lock(&cache->lock);
	TAILQ_INSERT_TAIL(&cache->entries, entry, of_cache);
	cache->bytes += bo->size;
	cache_settle(cache);
	cache_shrink(cache, cache->limit);
	pthread_mutex_unlock(&cache->lock);
	return 0;
}

/* Check that the object could have been created by this cache. */
static bool is_whole(const struct tessera_cache *cache, const struct tessera_bo *bo)
{
	return bo->dev == cache->dev && bo->desc.size && atomic_load(&bo->refs) == 1 &&
	       rounded_size(cache->dev, &bo->desc) == bo->size;
}

void tessera_cache_give(struct tessera_cache *cache, struct tessera_bo *bo,
			struct tessera_syncobj *timeline, uint64_t point)
{
	if (!bo)
		return;
	if (!is_whole(cache, bo) || cache_add(cache, bo, timeline, point))
		tessera_bo_retire(bo);
}
