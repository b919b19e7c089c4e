// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: backing pages
 *
 * The system pages of an object. An object that was paged in keeps the pages it came
 * from, so that its eviction need not allocate, clear and map new ones: they are
 * "retained". What they hold counts only while &tessera_bo.copy_valid says so. Retained pages
 * are given up when the kernel wants memory, and when there are more than a limit; then the
 * ttm_tt is "empty", which TTM does not know: it goes on counting the pages.
 *
 * Pages of objects that are offered (mem/offer.c) are given up, too, when they are in no segment.
 *
 * Both states end when the object leaves its memory segment. They are protected by
 * the object's reservation, which the shrinker only tries to take.
 *
 * The shrinker looks at a list of objects that may have pages for it, the donors. An object becomes
 * one when pages of it are retained, or it is offered. It is removed when the shrinker finds nothing,
 * and when its last GEM reference goes. From then on its reservation may change: TTM gives an
 * object that is private to a VM a reservation of its own before it frees its memory. So the shrinker
 * holds the lock of the list as long as it uses an object.
 *
 * TTM takes it that pages of an object in memory are of no use to anybody: when a move to
 * pages fails it frees them at once. Here the page-in may still be reading them, so whoever
 * frees them waits for it.
 */

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>
#include <drm/drm_prime.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_pool.h>
#include <drm/ttm/ttm_tt.h>

#include "mem/mem.h"
#include "paging/paging.h"
#include "tessera_assert.h"
#include "tessera_compat.h"
#include "tessera_device.h"
#include "tessera_trace.h"
#include "tessera_wait.h"

/* A part of the machine's memory that retained pages may take. */
#define RETAIN_FRACTION		8

/* Pages that are given up before others get the lock. */
#define TRIM_PAGES		4096UL
/* When it is tried again to give up pages that are in use, or whose object is locked. */
#define TRIM_DELAY		(HZ / 10)

/* Pages that are mapped between two looks at who else wants the processor. */
#define RESCHED_PAGES		1024

/**
 * struct tessera_backing - the system pages of an object
 */
struct tessera_backing {
	/** @base: TTM's part */
	struct ttm_tt base;
	/** @retained: the object is in a memory segment and the pages are spare */
	bool retained;
	/** @empty: the pages were given up though TTM thinks they are there */
	bool empty;
	/** @reader: the page-in that was the last to read the pages, or NULL */
	struct dma_fence *reader;
	/**
	 * @list: of the pages, for the device, or NULL: as long as the pages are the same. User memory has
	 * none, for it does not move
	 */
	struct tessera_pages *list;
	/** @users: see mem/coherence.c */
	struct tessera_page_users users;
	/** @borrower: the object, if the pages are another device's; else NULL */
	struct tessera_bo *borrower;
	/** @user: the pages are a process's (mem/user.c) */
	bool user;
	/** @mapped: how many of those are mapped for the device */
	u32 mapped;
	/** @dir: in which direction */
	enum dma_data_direction dir;
};

static struct tessera_backing *to_backing(struct ttm_tt *tt)
{
	return container_of(tt, struct tessera_backing, base);
}

static struct tessera_retain *bo_to_retain(struct tessera_bo *bo)
{
	return to_tessera_device(bo->tbo.base.dev)->retain;
}

static void backing_end_retain(struct tessera_retain *retain,
			       struct tessera_backing *backing)
{
	if (!backing->retained)
		return;

	backing->retained = false;
	atomic_long_sub(backing->base.num_pages, &retain->pages);
}

static void backing_set_reader(struct tessera_backing *backing, struct dma_fence *fence)
{
	dma_fence_put(backing->reader);
	backing->reader = fence ? dma_fence_get(fence) : NULL;
}

/* The pages go, or the device does. No job uses them any more. */
static void backing_drop_list(struct tessera_backing *backing)
{
	tessera_pages_destroy(backing->list);
	backing->list = NULL;
}

/**
 * tessera_backing_create() - &ttm_device_funcs.ttm_tt_create
 * @tbo: the object
 * @page_flags: TTM_TT_FLAG_*
 *
 * Return: a ttm_tt without pages, or NULL.
 */
struct ttm_tt *tessera_backing_create(struct ttm_buffer_object *tbo, u32 page_flags)
{
	struct tessera_account *account = to_tessera_bo(tbo)->account;
	struct tessera_backing *backing;

	/* Who evicts an object that has lost its pages makes it one, and is not to pay for that. */
	backing = kzalloc(sizeof(*backing),
			  tessera_account_is_mine(account) ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!backing)
		return NULL;

	/* Others may look at them whatever becomes of the move that is to fill them. */
	if (!list_empty(&to_tessera_bo(tbo)->lendings))
		page_flags |= TTM_TT_FLAG_ZERO_ALLOC;
	/* With room for DMA addresses, which makes the pool map the pages. */
	if (ttm_sg_tt_init(&backing->base, tbo, page_flags, to_tessera_bo(tbo)->caching)) {
		kfree(backing);
		return NULL;
	}
	backing->user = to_tessera_bo(tbo)->user;
	/* It has no ghosts, as it is never in memory. */
	if (to_tessera_bo(tbo)->dmabuf)
		backing->borrower = to_tessera_bo(tbo);

	return &backing->base;
}

/**
 * tessera_backing_destroy() - &ttm_device_funcs.ttm_tt_destroy
 * @bdev: the TTM device
 * @tt: without pages
 */
void tessera_backing_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	ttm_tt_fini(tt);
	kfree(to_backing(tt));
}

static int backing_alloc(struct ttm_device *bdev, struct tessera_backing *backing,
			 struct ttm_tt *tt, struct ttm_operation_ctx *ctx)
{
	backing->users = (struct tessera_page_users) { .cpu = TESSERA_PAGES_NEW };

	return ttm_pool_alloc(&bdev->pool, tt, ctx);
}

static int backing_borrow(struct tessera_backing *backing)
{
	struct tessera_bo *bo = backing->borrower;
	struct ttm_tt *tt = &backing->base;
	int ret = bo->tbo.sg ? 0 : tessera_borrow_map(&bo->tbo, &bo->borrow);

	if (ret)
		return ret;
	tt->sg = bo->tbo.sg;
	ret = drm_prime_sg_to_dma_addr_array(tt->sg, tt->dma_address, tt->num_pages);
	if (!ret)
		backing->empty = false;

	return ret;
}

/**
 * tessera_backing_lose() - pages of another device are to be looked up again
 * @bo: an import, reservation held, in no aperture
 */
void tessera_backing_lose(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	if (tt) {
		backing_drop_list(to_backing(tt));
		to_backing(tt)->empty = ttm_tt_is_populated(tt);
		tt->sg = NULL;
	}
	tessera_borrow_moved(&bo->tbo, &bo->borrow);
}

/**
 * tessera_backing_fill() - &ttm_device_funcs.ttm_tt_populate
 * @bdev: the TTM device
 * @tt: without pages
 * @ctx: how to allocate
 *
 * Return: 0 or an error.
 */
int tessera_backing_fill(struct ttm_device *bdev, struct ttm_tt *tt,
			 struct ttm_operation_ctx *ctx)
{
	/* They are looked up with no lock held, before. */
	if (to_backing(tt)->user)
		return to_backing(tt)->mapped == tt->num_pages ? 0 : -EFAULT;
	/* Those of another device are where they are. */
	if (to_backing(tt)->borrower)
		return backing_borrow(to_backing(tt));

	return backing_alloc(bdev, to_backing(tt), tt, ctx);
}

/* The device snoops, and there are no bounce buffers. */
static void backing_unmap_user(struct ttm_device *bdev, struct tessera_backing *backing)
{
	for (; backing->mapped; backing->mapped--)
		dma_unmap_page_attrs(bdev->pool.dev,
				     backing->base.dma_address[backing->mapped - 1], PAGE_SIZE,
				     backing->dir, DMA_ATTR_SKIP_CPU_SYNC);
}

/**
 * tessera_backing_set_user() - give an object the pages of a process
 * @bo: user memory, reservation held; no job uses the pages it had
 * @pfns: what hmm_range_fault() has found
 * @dir: what the device may do
 *
 * What shows them is the caller's affair.
 *
 * Return: 0, -ENOMEM, or -EFAULT if the device cannot reach a page.
 */
int tessera_backing_set_user(struct tessera_bo *bo, const unsigned long *pfns,
			     enum dma_data_direction dir)
{
	struct tessera_backing *backing = to_backing(bo->tbo.ttm);
	struct ttm_operation_ctx ctx = { .interruptible = false };
	struct device *dev = bo->tbo.bdev->pool.dev;
	int ret = -EFAULT;
	dma_addr_t addr;

	dma_resv_assert_held(bo->tbo.base.resv);

	backing_unmap_user(bo->tbo.bdev, backing);
	backing->dir = dir;
	for (; backing->mapped < backing->base.num_pages; backing->mapped++) {
		addr = dma_map_page_attrs(dev, hmm_pfn_to_page(pfns[backing->mapped]), 0,
					  PAGE_SIZE, dir, DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, addr))
			goto err_unmap;
		backing->base.dma_address[backing->mapped] = addr;
		if (!(backing->mapped % RESCHED_PAGES))
			cond_resched();
	}
	ret = ttm_tt_populate(bo->tbo.bdev, &backing->base, &ctx);
	if (!ret)
		return 0;

err_unmap:
	backing_unmap_user(bo->tbo.bdev, backing);
	return ret;
}

/**
 * tessera_backing_unpopulate() - &ttm_device_funcs.ttm_tt_unpopulate
 * @bdev: the TTM device
 * @tt: with pages, as far as TTM knows
 */
void tessera_backing_unpopulate(struct ttm_device *bdev, struct ttm_tt *tt)
{
	struct tessera_backing *backing = to_backing(tt);

	backing_end_retain(container_of(bdev, struct tessera_device, ttm)->retain, backing);
	if (backing->reader)
		tessera_wait_fence(TESSERA_WAIT_PAGES, backing->reader, false,
				   MAX_SCHEDULE_TIMEOUT);
	backing_set_reader(backing, NULL);
	backing_drop_list(backing);
	backing_unmap_user(bdev, backing);
	if (!backing->empty && !(tt->page_flags & TTM_TT_FLAG_EXTERNAL))
		ttm_pool_free(&bdev->pool, tt);
	backing->empty = false;
}

/**
 * tessera_backing_has_bytes() - ask whether an object outside memory has contents
 * @bo: the object, reservation held
 *
 * Return: true if there are pages, or bytes that were swapped out; false for an
 * object that nobody has touched.
 */
bool tessera_backing_has_bytes(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tt && (ttm_tt_is_populated(tt) || (tt->page_flags & TTM_TT_FLAG_SWAPPED));
}

/* Where nothing translates, a bus address says which page it is of. */
static void check_addresses(struct ttm_buffer_object *tbo, const struct ttm_tt *tt)
{
	struct tessera_device *tdev = to_tessera_device(tbo->base.dev);

	if (!IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG) || device_iommu_mapped(tdev->drm.dev) ||
	    tessera_compat_pool_is_dma(&tbo->bdev->pool))
		return;
	tessera_assert(tdev, tt->dma_address[0] == page_to_phys(tt->pages[0]));
	tessera_assert(tdev, tt->dma_address[tt->num_pages - 1] ==
			     page_to_phys(tt->pages[tt->num_pages - 1]));
}

/*
 * The pool does not fill a ttm_tt that TTM thinks is full: fill another one and take over
 * what it got.
 */
static int backing_refill(struct ttm_buffer_object *tbo, struct tessera_backing *backing,
			  struct ttm_operation_ctx *ctx)
{
	struct ttm_tt *to = &backing->base;
	struct ttm_tt spare = { };
	int ret;

	ret = ttm_sg_tt_init(&spare, tbo, to->page_flags & TTM_TT_FLAG_ZERO_ALLOC, to->caching);
	if (ret)
		return ret;

	ret = backing_alloc(tbo->bdev, backing, &spare, ctx);
	if (!ret) {
		memcpy(to->pages, spare.pages, array_size(to->num_pages, sizeof(*to->pages)));
		memcpy(to->dma_address, spare.dma_address,
		       array_size(to->num_pages, sizeof(*to->dma_address)));
		backing->empty = false;
		check_addresses(tbo, to);
	}
	ttm_tt_fini(&spare);

	return ret;
}

/**
 * tessera_backing_populate() - make sure that an object has pages
 * @bo: the object, reservation held, with a ttm_tt
 * @ctx: how to allocate
 *
 * Return: 0 or an error.
 */
int tessera_backing_populate(struct tessera_bo *bo, struct ttm_operation_ctx *ctx)
{
	struct tessera_backing *backing = to_backing(bo->tbo.ttm);

	if (backing->empty && backing->borrower)
		return backing_borrow(backing);
	if (backing->empty)
		return backing_refill(&bo->tbo, backing, ctx);

	return ttm_tt_populate(bo->tbo.bdev, &backing->base, ctx);
}

/**
 * tessera_backing_clear_new() - pages that are allocated from now on are cleared first
 * @bo: the object, which has been lent or is going to be; reservation held
 */
void tessera_backing_clear_new(struct tessera_bo *bo)
{
	if (bo->tbo.ttm)
		bo->tbo.ttm->page_flags |= TTM_TT_FLAG_ZERO_ALLOC;
}

/**
 * tessera_backing_add_donor() - an object may have pages for the shrinker
 * @bo: the object, reservation held; nothing is done if it has none
 */
void tessera_backing_add_donor(struct tessera_bo *bo)
{
	struct tessera_retain *retain = bo_to_retain(bo);

	/* It becomes a donor, and the shrinker removes it, under its reservation only. */
	if (!tessera_backing_users(bo) || !list_empty_careful(&bo->donor))
		return;
	mutex_lock(&retain->lock);
	/* Not if its last reference is gone: for that, tessera_backing_forget() is the last call. */
	if (kref_read(&bo->tbo.base.refcount)) {
		list_add_tail(&bo->donor, &retain->donors);
		retain->donated += tessera_bo_bytes(bo) >> PAGE_SHIFT;
	}
	mutex_unlock(&retain->lock);
}

static void backing_remove_donor_locked(struct tessera_retain *retain, struct tessera_bo *bo)
{
	lockdep_assert_held(&retain->lock);

	if (list_empty(&bo->donor))
		return;
	list_del_init(&bo->donor);
	retain->donated -= tessera_bo_bytes(bo) >> PAGE_SHIFT;
}

/**
 * tessera_backing_forget() - keep the shrinker from an object
 * @bo: the object, whose last GEM reference is gone
 *
 * To be called before TTM is told. The shrinker does not use the object after the call.
 */
void tessera_backing_forget(struct tessera_bo *bo)
{
	struct tessera_retain *retain = bo_to_retain(bo);

	mutex_lock(&retain->lock);
	backing_remove_donor_locked(retain, bo);
	mutex_unlock(&retain->lock);
}

/**
 * tessera_backing_retain() - keep the pages of an object that was paged in
 * @bo: the object, reservation held, with pages
 * @reader: signals when the pages have been read
 *
 * If there are too many retained pages then, others are given up soon.
 */
void tessera_backing_retain(struct tessera_bo *bo, struct dma_fence *reader)
{
	struct tessera_retain *retain = bo_to_retain(bo);
	struct tessera_backing *backing = to_backing(bo->tbo.ttm);

	backing->retained = true;
	backing_set_reader(backing, reader);
	tessera_backing_add_donor(bo);
	if (atomic_long_add_return(backing->base.num_pages, &retain->pages) >
	    READ_ONCE(retain->limit))
		queue_delayed_work(system_unbound_wq, &retain->trim, 0);
}

/**
 * tessera_backing_is_retained() - ask whether the pages are those of the last page-in
 * @bo: the object, reservation held, with a ttm_tt
 *
 * Return: true if tessera_backing_retain() kept them and nobody has taken them since.
 */
bool tessera_backing_is_retained(struct tessera_bo *bo)
{
	return to_backing(bo->tbo.ttm)->retained;
}

/**
 * tessera_backing_first_page() - where the device sees an object's first page
 * @bo: the object, reservation held
 *
 * For reports.
 *
 * Return: its bus address, 0 if the object has no pages.
 */
u64 tessera_backing_first_page(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tt && ttm_tt_is_populated(tt) && tt->dma_address && !to_backing(tt)->empty ?
	       tt->dma_address[0] : 0;
}

/**
 * tessera_backing_list() - the page list of an object's pages
 * @bo: the object, reservation held, with pages
 *
 * Made when it is first asked for: whatever was paged once is paged again.
 *
 * Return: the list, valid until the pages go; NULL if there is none, because of few pages, little
 * memory, or bounce buffers.
 */
const struct tessera_pages *tessera_backing_list(struct tessera_bo *bo)
{
	struct tessera_backing *backing = to_backing(bo->tbo.ttm);

	/* There a mapping takes a bounce buffer, of which there are few, for as long as it lasts. */
	if (tessera_backing_is_private(bo))
		return NULL;
	if (!backing->list)
		backing->list = tessera_pages_create(tessera_bo_device(bo),
						     backing->base.dma_address,
						     backing->base.num_pages);

	return backing->list;
}

/**
 * tessera_backing_users() - who uses an object's pages
 * @bo: the object, reservation held
 *
 * Return: what is known of it, to be changed; NULL if there are no pages.
 */
struct tessera_page_users *tessera_backing_users(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tt && ttm_tt_is_populated(tt) && !to_backing(tt)->empty ?
	       &to_backing(tt)->users : NULL;
}

/**
 * tessera_backing_is_private() - ask whether only this device may use an object's pages
 * @bo: the object
 *
 * Return: true if the pages are the DMA API's, which may not be mapped for another device, and do
 * not outlive the one they are of.
 */
bool tessera_backing_is_private(struct tessera_bo *bo)
{
	return tessera_compat_pool_is_dma(&bo->tbo.bdev->pool);
}

/**
 * tessera_backing_use() - the pages are needed again
 * @bo: the object, reservation held; it has left its memory segment
 */
void tessera_backing_use(struct tessera_bo *bo)
{
	backing_end_retain(bo_to_retain(bo), to_backing(bo->tbo.ttm));
}

/* Gives pages up that TTM goes on counting. Nobody uses them any more. */
static unsigned long backing_empty(struct tessera_bo *bo, struct tessera_backing *backing)
{
	bo->copy_valid = false;
	backing_drop_list(backing);
	ttm_pool_free(&bo->tbo.bdev->pool, &backing->base);
	backing->empty = true;

	return backing->base.num_pages;
}

/*
 * Undoes what the pool has done when it allocated them, piece by piece; it notes the order of a
 * piece in its first page. Without addresses it frees the pages and unmaps nothing.
 */
static void backing_unmap(struct ttm_pool *pool, struct ttm_tt *tt)
{
	u32 i, num;

	for (i = 0; i < tt->num_pages; i += num) {
		num = BIT(tt->pages[i]->private);
		dma_unmap_page(pool->dev, tt->dma_address[i], (size_t)num << PAGE_SHIFT,
			       DMA_BIDIRECTIONAL);
	}
	/* In one allocation with the pages. */
	tt->dma_address = NULL;
}

/**
 * tessera_backing_detach() - the device goes, and leaves the pages to others
 * @bo: the object, reservation held; not to be moved any more
 *
 * Pages that cannot do without the device are freed: no other device has them.
 */
void tessera_backing_detach(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	if (!tt)
		return;
	backing_drop_list(to_backing(tt));
	backing_unmap_user(bo->tbo.bdev, to_backing(tt));
	if (tt->page_flags & TTM_TT_FLAG_EXTERNAL) {
		/* They are unmapped by who imported them. */
		tt->sg = NULL;
		return;
	}
	/* Without addresses they are unmapped already. */
	if (!ttm_tt_is_populated(tt) || to_backing(tt)->empty || !tt->dma_address)
		return;
	tessera_backing_use(bo);
	if (tessera_backing_is_private(bo))
		backing_empty(bo, to_backing(tt));
	else
		backing_unmap(&bo->tbo.bdev->pool, tt);
}

/* The pages of an offered object, whose client can do without them. The reservation is held. */
static unsigned long backing_shrink_offered(struct tessera_bo *bo, struct tessera_backing *backing)
{
	if (!tessera_bo_is_offered(bo) || tessera_bo_segment(bo) || !tessera_backing_users(bo) ||
	    !dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return 0;
	bo->offer.lost = true;
	trace_tessera_offer_drop(bo->id);

	return backing_empty(bo, backing);
}

/* The reservation is held. */
static bool backing_is_spare(const struct tessera_backing *backing)
{
	return backing->retained &&
	       (!backing->reader || dma_fence_is_signaled(backing->reader));
}

/* Pages given up, or 0. */
static unsigned long backing_shrink_bo(struct tessera_retain *retain, struct tessera_bo *bo,
				       bool offered_too)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	struct tessera_backing *backing;
	unsigned long freed = 0;

	if (!dma_resv_trylock(resv))
		return 0;

	backing = bo->tbo.ttm ? to_backing(bo->tbo.ttm) : NULL;
	if (backing && backing_is_spare(backing)) {
		tessera_trail_check_over(&bo->trail, TESSERA_TRAIL_MOVE, U64_MAX, bo->id);
		backing_end_retain(retain, backing);
		freed = backing_empty(bo, backing);
	} else if (backing && offered_too) {
		freed = backing_shrink_offered(bo, backing);
	}
	if (!tessera_backing_users(bo) || !(backing->retained || tessera_bo_is_offered(bo)))
		backing_remove_donor_locked(retain, bo);
	dma_resv_unlock(resv);

	return freed;
}

static unsigned long backing_shrink_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct tessera_device *tdev = shrinker->private_data;

	return READ_ONCE(tdev->retain->donated) ?: SHRINK_EMPTY;
}

/*
 * Gives up about so many pages. An object has a page at least, so no more objects are looked at than
 * that: many may be busy. Those come last the next time.
 */
static unsigned long backing_scan_locked(struct tessera_retain *retain, unsigned long pages,
					 bool offered_too, unsigned long *looked)
{
	unsigned long freed = 0;
	struct tessera_bo *bo;
	LIST_HEAD(seen);

	lockdep_assert_held(&retain->lock);

	for (*looked = 0; max(freed, *looked) < pages && !list_empty(&retain->donors);
	     (*looked)++) {
		bo = list_first_entry(&retain->donors, struct tessera_bo, donor);
		list_move_tail(&bo->donor, &seen);
		freed += backing_shrink_bo(retain, bo, offered_too);
		cond_resched();
	}
	list_splice_tail(&seen, &retain->donors);

	return freed;
}

/*
 * More pages were retained than may be. Offered objects have none of these: what they have is taken
 * only when the kernel needs memory. Pages that are still being read, and those of objects that
 * others have locked, are tried again later.
 */
static void backing_trim(struct work_struct *work)
{
	struct tessera_retain *retain = container_of(work, struct tessera_retain, trim.work);
	unsigned long pages, limit, looked, freed;

	do {
		pages = atomic_long_read(&retain->pages);
		limit = READ_ONCE(retain->limit);
		if (pages <= limit)
			return;
		mutex_lock(&retain->lock);
		freed = backing_scan_locked(retain, min(pages - limit, TRIM_PAGES), false,
					    &looked);
		mutex_unlock(&retain->lock);
	} while (freed);
	queue_delayed_work(system_unbound_wq, &retain->trim, TRIM_DELAY);
}

static unsigned long backing_shrink_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct tessera_device *tdev = shrinker->private_data;
	unsigned long freed, looked;

	if (!mutex_trylock(&tdev->retain->lock))
		return SHRINK_STOP;
	freed = backing_scan_locked(tdev->retain, sc->nr_to_scan, true, &looked);
	mutex_unlock(&tdev->retain->lock);
	sc->nr_scanned = max(freed, looked);

	return sc->nr_scanned < sc->nr_to_scan && !freed ? SHRINK_STOP : freed;
}

static void backing_fini(struct drm_device *drm, void *shrinker)
{
	shrinker_free(shrinker);
	cancel_delayed_work_sync(&to_tessera_device(drm)->retain->trim);
	mutex_destroy(&to_tessera_device(drm)->retain->lock);
}

/**
 * tessera_backing_init() - let the kernel take retained pages
 * @tdev: the device
 *
 * Return: 0 or an error.
 */
int tessera_backing_init(struct tessera_device *tdev)
{
	struct tessera_retain *retain;
	struct shrinker *shrinker;

	retain = drmm_kzalloc(&tdev->drm, sizeof(*retain), GFP_KERNEL);
	if (!retain)
		return -ENOMEM;
	INIT_DELAYED_WORK(&retain->trim, backing_trim);
	tdev->retain = retain;
	retain->limit = totalram_pages() / RETAIN_FRACTION;
	retain->keep_copy = true;
	mutex_init(&retain->lock);
	INIT_LIST_HEAD(&retain->donors);

	shrinker = shrinker_alloc(0, "drm-tessera:%s", dev_name(tdev->drm.dev));
	if (!shrinker)
		return -ENOMEM;

	shrinker->count_objects = backing_shrink_count;
	shrinker->scan_objects = backing_shrink_scan;
	shrinker->private_data = tdev;
	shrinker_register(shrinker);

	return drmm_add_action_or_reset(&tdev->drm, backing_fini, shrinker);
}
