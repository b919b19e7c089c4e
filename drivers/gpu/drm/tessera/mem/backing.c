// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: backing pages
 *
 * The system pages of an object, and the shrinker that frees spare ones.
 *
 * An object that was paged in keeps the pages that it came from, so that its
 * eviction need not allocate, clear and map new ones. These pages are
 * "retained". &tessera_bo.copy tells whether their contents are valid.
 * Retained pages are freed when the kernel needs memory, and when there
 * are more of them than a limit. The ttm_tt is "empty" after that. TTM does not
 * know this state and still counts the pages as populated.
 *
 * Pages of offered objects (mem/offer.c) and of page tables (vm/pt_mem.c) are
 * freed for the kernel, too, if the object is in no segment.
 *
 * The retained state ends when the object leaves its memory segment. The empty
 * state ends when pages are allocated again, or when TTM unpopulates the
 * ttm_tt. The reservation of the object protects both states. The shrinker only
 * tries to lock it.
 *
 * The shrinker walks a list of objects that may have pages for it, the donors.
 * An object becomes a donor when its pages are retained, when it is offered, or
 * when page tables leave their segment. It is removed when the shrinker finds
 * no pages, and when its last GEM reference is dropped. After that its
 * reservation may change, because TTM gives an object that is private to a VM
 * its own reservation before it frees the memory. The shrinker therefore holds
 * the lock of the list while it uses an object.
 *
 * TTM assumes that the pages of an object in memory are unused, and frees them
 * at once when a move to the pages fails. The last page-in may still read them,
 * so freeing pages waits for it.
 */

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
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

#include "base/assert.h"
#include "base/compat.h"
#include "base/device.h"
#include "base/trace.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "client/client.h"
#include "debug/debug.h"
#include "mem/mem.h"
#include "paging/paging.h"

/* The fraction of system memory that retained pages may use. */
#define RETAIN_FRACTION		8

/* Pages freed before the lock is dropped for other threads. */
#define TRIM_PAGES		4096UL
/*
 * Delay before the next attempt to free pages that are in use, or that belong
 * to a locked object.
 */
#define TRIM_DELAY		(HZ / 10)

/* Pages mapped between two calls of cond_resched(). */
#define RESCHED_PAGES		1024

/**
 * struct tessera_backing - the system pages of an object
 */
struct tessera_backing {
	/** @base: the part of TTM */
	struct ttm_tt base;
	/**
	 * @retained: the object is in a memory segment and the pages are spare
	 */
	bool retained;
	/**
	 * @empty: the pages were freed although TTM counts them as populated
	 */
	bool empty;
	/** @reader: fence of the last page-in that reads the pages, or NULL */
	struct dma_fence *reader;
	/**
	 * @list: page list for the device, or NULL; valid as long as the pages
	 * are the same. User memory has none, because it does not move
	 */
	struct tessera_pages *list;
	/** @users: accesses of CPU and device, see mem/coherence.c */
	struct tessera_page_users users;
	/**
	 * @borrower: the object, if the pages belong to another device; else
	 * NULL
	 */
	struct tessera_bo *borrower;
	/** @user: the pages belong to a process (borrow/user.c) */
	bool user;
	/** @mapped: number of user pages that are mapped for the device */
	u32 mapped;
	/** @dir: DMA direction of that mapping */
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

/* Waits for the last page-in. */
static void backing_end_reader(struct tessera_backing *backing)
{
	if (backing->reader)
		tessera_wait_fence(TESSERA_WAIT_PAGES, backing->reader, false,
				   MAX_SCHEDULE_TIMEOUT);
	backing_set_reader(backing, NULL);
}

/*
 * The pages are freed, or the device is unplugged. No job uses the pages any
 * more.
 */
static void backing_drop_list(struct tessera_backing *backing)
{
	tessera_pages_destroy(backing->list);
	backing->list = NULL;
}

/*
 * Another client may create this while it evicts an object without a ttm_tt, or
 * whose pages were freed. Only the owner is charged, and the process that
 * creates an object, which has no resource then: it need not be the owner if it
 * inherited the file.
 */
static gfp_t owner_gfp(const struct tessera_bo *bo)
{
	return !bo->tbo.resource || tessera_account_is_mine(bo->account) ? GFP_KERNEL_ACCOUNT :
									   GFP_KERNEL;
}

/*
 * Like ttm_sg_tt_init(), which charges the arrays to no client. They exist
 * before any page does, so TTM's limit of pages does not bound them. With an
 * array of DMA addresses the pool maps the pages. ttm_tt_fini() frees both.
 */
static int backing_init_arrays(struct ttm_tt *tt, struct ttm_buffer_object *tbo, u32 page_flags)
{
	const struct tessera_bo *bo = to_tessera_bo(tbo);
	size_t num = tessera_bo_bytes(bo) >> PAGE_SHIFT;

	tt->num_pages = num;
	tt->page_flags = page_flags;
	tt->caching = bo->caching;
	tt->sg = tbo->sg;
	if (page_flags & TTM_TT_FLAG_EXTERNAL) {
		tt->dma_address = kvcalloc(num, sizeof(*tt->dma_address), owner_gfp(bo));
		return tt->dma_address ? 0 : -ENOMEM;
	}
	tt->pages = kvcalloc(num, sizeof(*tt->pages) + sizeof(*tt->dma_address), owner_gfp(bo));
	tt->dma_address = (dma_addr_t *)(tt->pages + num);

	return tt->pages ? 0 : -ENOMEM;
}

/**
 * tessera_backing_create() - create the ttm_tt of an object
 * @tbo: the object
 * @page_flags: TTM_TT_FLAG_*
 *
 * The callback &ttm_device_funcs.ttm_tt_create.
 *
 * Return: a ttm_tt without pages, or NULL.
 */
struct ttm_tt *tessera_backing_create(struct ttm_buffer_object *tbo, u32 page_flags)
{
	struct tessera_backing *backing = kzalloc(sizeof(*backing), owner_gfp(to_tessera_bo(tbo)));

	if (!backing)
		return NULL;

	/*
	 * Importers may read the pages even if the move that fills them fails.
	 */
	if (!list_empty(&to_tessera_bo(tbo)->sharing.lendings))
		page_flags |= TTM_TT_FLAG_ZERO_ALLOC;
	if (backing_init_arrays(&backing->base, tbo, page_flags)) {
		kfree(backing);
		return NULL;
	}
	backing->user = to_tessera_bo(tbo)->user;
	/*
	 * An import is never in a memory segment, so it has no ghosts, and the
	 * pointer cannot outlive the object.
	 */
	if (to_tessera_bo(tbo)->sharing.dmabuf)
		backing->borrower = to_tessera_bo(tbo);

	return &backing->base;
}

/**
 * tessera_backing_destroy() - free a ttm_tt
 * @bdev: the TTM device
 * @tt: the ttm_tt, without pages
 *
 * The callback &ttm_device_funcs.ttm_tt_destroy.
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
	int ret = bo->tbo.sg ? 0 : tessera_borrow_map(&bo->tbo, &bo->sharing.borrow);

	if (ret)
		return ret;
	tt->sg = bo->tbo.sg;
	ret = drm_prime_sg_to_dma_addr_array(tt->sg, tt->dma_address, tt->num_pages);
	if (!ret)
		backing->empty = false;

	return ret;
}

/**
 * tessera_backing_lose() - invalidate the pages of an import
 * @bo: the import, reservation held, in no aperture
 *
 * They are mapped again when the object is needed next.
 */
void tessera_backing_lose(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	if (tt) {
		backing_drop_list(to_backing(tt));
		to_backing(tt)->empty = ttm_tt_is_populated(tt);
		tt->sg = NULL;
	}
	tessera_borrow_moved(&bo->tbo, &bo->sharing.borrow);
}

/**
 * tessera_backing_fill() - populate a ttm_tt
 * @bdev: the TTM device
 * @tt: the ttm_tt, without pages
 * @ctx: allocation context
 *
 * The callback &ttm_device_funcs.ttm_tt_populate.
 *
 * Return: 0 or an error.
 */
int tessera_backing_fill(struct ttm_device *bdev, struct ttm_tt *tt,
			 struct ttm_operation_ctx *ctx)
{
	/* User pages are looked up earlier, with no lock held. */
	if (to_backing(tt)->user)
		return to_backing(tt)->mapped == tt->num_pages ? 0 : -EFAULT;
	/* The pages of another device are not allocated here. */
	if (to_backing(tt)->borrower)
		return backing_borrow(to_backing(tt));

	return backing_alloc(bdev, to_backing(tt), tt, ctx);
}

/*
 * User memory needs a device that snoops and no bounce buffers, so no CPU sync
 * is needed.
 */
static void backing_unmap_user(struct ttm_device *bdev, struct tessera_backing *backing)
{
	for (; backing->mapped; backing->mapped--)
		dma_unmap_page_attrs(bdev->pool.dev,
				     backing->base.dma_address[backing->mapped - 1], PAGE_SIZE,
				     backing->dir, DMA_ATTR_SKIP_CPU_SYNC);
}

/**
 * tessera_backing_set_user() - set the pages of a user memory object
 * @bo: user memory, reservation held; no job uses its old pages
 * @pfns: result of hmm_range_fault()
 * @dir: accesses that the device may make
 *
 * The caller updates page tables and apertures that show the pages.
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

static void backing_free(struct ttm_device *bdev, struct tessera_backing *backing)
{
	/* Pages of an unplugged device have no addresses any more. */
	if (backing->base.dma_address)
		tessera_coherence_release(container_of(bdev, struct tessera_device, ttm),
					  &backing->base, &backing->users);
	ttm_pool_free(&bdev->pool, &backing->base);
}

/**
 * tessera_backing_unpopulate() - free the pages of a ttm_tt
 * @bdev: the TTM device
 * @tt: the ttm_tt, with pages as far as TTM knows
 *
 * The callback &ttm_device_funcs.ttm_tt_unpopulate.
 */
void tessera_backing_unpopulate(struct ttm_device *bdev, struct ttm_tt *tt)
{
	struct tessera_backing *backing = to_backing(tt);

	backing_end_retain(container_of(bdev, struct tessera_device, ttm)->retain, backing);
	backing_end_reader(backing);
	backing_drop_list(backing);
	backing_unmap_user(bdev, backing);
	if (!backing->empty && !(tt->page_flags & TTM_TT_FLAG_EXTERNAL))
		backing_free(bdev, backing);
	backing->empty = false;
}

/**
 * tessera_backing_has_bytes() - check whether an object outside memory has
 * contents
 * @bo: the object, reservation held
 *
 * Return: true if it has pages, or swapped out bytes; false if the object was
 * never used, or its contents were dropped.
 */
bool tessera_backing_has_bytes(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tessera_backing_users(bo) || (tt && (tt->page_flags & TTM_TT_FLAG_SWAPPED));
}

/*
 * Without an IOMMU and bounce buffers, a DMA address is the physical address of
 * its page.
 */
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
 * The pool does not fill a ttm_tt that TTM counts as populated. Fill a
 * temporary one and take over its pages.
 */
static int backing_refill(struct ttm_buffer_object *tbo, struct tessera_backing *backing,
			  struct ttm_operation_ctx *ctx)
{
	struct ttm_tt *to = &backing->base;
	struct ttm_tt spare = { };
	int ret;

	ret = backing_init_arrays(&spare, tbo, to->page_flags & TTM_TT_FLAG_ZERO_ALLOC);
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
 * @ctx: allocation context
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
 * tessera_backing_refill() - allocate pages that were freed
 * @bo: the object, reservation held
 *
 * TTM counts these pages as populated, so it would map the freed ones. Does
 * nothing for other objects, nor for imports.
 *
 * Return: 0 or an error.
 */
int tessera_backing_refill(struct tessera_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct ttm_tt *tt = bo->tbo.ttm;

	if (!tt || !to_backing(tt)->empty || to_backing(tt)->borrower)
		return 0;

	return backing_refill(&bo->tbo, to_backing(tt), &ctx);
}

/**
 * tessera_backing_clear_new() - clear all pages that are allocated for an
 * object from now on
 * @bo: the object, which is or will be used by an importer; reservation held
 */
void tessera_backing_clear_new(struct tessera_bo *bo)
{
	if (bo->tbo.ttm)
		bo->tbo.ttm->page_flags |= TTM_TT_FLAG_ZERO_ALLOC;
}

/**
 * tessera_backing_add_donor() - add an object to the list of the shrinker
 * @bo: the object, reservation held; nothing happens if it has no pages
 */
void tessera_backing_add_donor(struct tessera_bo *bo)
{
	struct tessera_retain *retain = bo_to_retain(bo);

	/*
	 * An object is added to the list, and removed by the shrinker, only
	 * under its reservation.
	 */
	if (!tessera_backing_users(bo) || !list_empty_careful(&bo->donor))
		return;
	mutex_lock(&retain->lock);
	/*
	 * After the last reference is dropped, tessera_backing_forget() has
	 * removed the object for good.
	 */
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
 * tessera_backing_forget() - remove an object from the list of the shrinker
 * @bo: the object, its last GEM reference dropped
 *
 * The caller calls this before it calls TTM. The shrinker does not use the
 * object after this call.
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
 * @reader: fence that signals when the pages have been read
 *
 * If that makes too many retained pages, a worker frees some.
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
 * tessera_backing_is_retained() - check whether the pages are those of the last
 * page-in
 * @bo: the object, reservation held, with a ttm_tt
 *
 * Return: true if tessera_backing_retain() kept them and the object has not
 * left its memory segment since.
 */
bool tessera_backing_is_retained(struct tessera_bo *bo)
{
	return to_backing(bo->tbo.ttm)->retained;
}

/**
 * tessera_backing_is_read() - check whether the last page-in may still read the
 * pages of an object
 * @bo: the object, reservation held
 *
 * Return: true if the pages must not be freed yet.
 */
bool tessera_backing_is_read(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tt && to_backing(tt)->reader && !dma_fence_is_signaled(to_backing(tt)->reader);
}

/**
 * tessera_backing_first_page() - return the DMA address of an object's first
 * page
 * @bo: the object, reservation held
 *
 * For reports.
 *
 * Return: the address, 0 if the object has no pages.
 */
u64 tessera_backing_first_page(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tt && ttm_tt_is_populated(tt) && tt->dma_address && !to_backing(tt)->empty ?
	       tt->dma_address[0] : 0;
}

/**
 * tessera_backing_list() - return the page list of an object
 * @bo: the object, reservation held, with pages
 *
 * The list is created at the first call and kept, because an object that was
 * paged once is likely to be paged again.
 *
 * Return: the list, valid as long as the pages are; NULL if there is none,
 * because of few pages, little memory, or bounce buffers.
 */
const struct tessera_pages *tessera_backing_list(struct tessera_bo *bo)
{
	struct tessera_backing *backing = to_backing(bo->tbo.ttm);

	/* A mapping would keep a scarce bounce buffer as long as it lasts. */
	if (tessera_backing_is_private(bo))
		return NULL;
	if (!backing->list)
		backing->list = tessera_pages_create(tessera_bo_device(bo),
						     backing->base.dma_address,
						     backing->base.num_pages);

	return backing->list;
}

/**
 * tessera_backing_users() - return the recorded accesses to an object's pages
 * @bo: the object, reservation held
 *
 * Return: the record, which the caller may change; NULL if the object has no
 * pages.
 */
struct tessera_page_users *tessera_backing_users(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	return tt && ttm_tt_is_populated(tt) && !to_backing(tt)->empty ?
	       &to_backing(tt)->users : NULL;
}

/**
 * tessera_backing_is_private() - check whether only this device may use an
 * object's pages
 * @bo: the object
 *
 * Return: true if the DMA API has allocated the pages for this device. These
 * pages may not be mapped for another device, and must be freed before this
 * device goes away.
 */
bool tessera_backing_is_private(struct tessera_bo *bo)
{
	return tessera_compat_pool_is_dma(&bo->tbo.bdev->pool);
}

/**
 * tessera_backing_use() - end the retained state of an object's pages
 * @bo: the object, reservation held; it has left its memory segment
 */
void tessera_backing_use(struct tessera_bo *bo)
{
	backing_end_retain(bo_to_retain(bo), to_backing(bo->tbo.ttm));
}

/* Frees unused pages that TTM still counts. Returns their number. */
static unsigned long backing_empty(struct tessera_bo *bo, struct tessera_backing *backing)
{
	bo->copy = TESSERA_COPY_STALE;
	backing_drop_list(backing);
	backing_free(bo->tbo.bdev, backing);
	backing->empty = true;

	return backing->base.num_pages;
}

/* Drops the bytes that TTM has swapped out. */
static void backing_drop_swapped(struct ttm_tt *tt)
{
	if (!(tt->page_flags & TTM_TT_FLAG_SWAPPED))
		return;
	fput(tt->swap_storage);
	tt->swap_storage = NULL;
	tt->page_flags &= ~TTM_TT_FLAG_SWAPPED;
}

/**
 * tessera_backing_drop() - free the pages of an object, and what was swapped
 * out of it
 * @bo: the object, reservation held, in no segment; no job or move uses the
 * pages, except a page-in that a reset is about to cancel
 *
 * The object reads as zero afterwards. TTM counts the pages until it frees them
 * itself, see tessera_bo_forget_pages().
 */
void tessera_backing_drop(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	if (!tt)
		return;
	tessera_assert(tessera_bo_device(bo), !tessera_bo_segment(bo));
	backing_end_reader(to_backing(tt));
	if (tessera_backing_users(bo))
		backing_empty(bo, to_backing(tt));
	backing_drop_swapped(tt);
	ttm_tt_mark_for_clear(tt);
}

/*
 * Unmaps the pages chunk by chunk, as the pool has mapped them. The pool keeps
 * the order of a chunk in the private field of its first page. Without DMA
 * addresses, the pool later frees the pages and unmaps nothing.
 */
static void backing_unmap(struct ttm_pool *pool, struct ttm_tt *tt)
{
	u32 i, num;

	for (i = 0; i < tt->num_pages; i += num) {
		num = BIT(tt->pages[i]->private);
		dma_unmap_page(pool->dev, tt->dma_address[i], (size_t)num << PAGE_SHIFT,
			       DMA_BIDIRECTIONAL);
	}
	/* The array is part of the allocation of tt->pages. */
	tt->dma_address = NULL;
}

/**
 * tessera_backing_detach() - unmap an object's pages from the unplugged device
 * @bo: the object, reservation held; it must not be moved any more
 *
 * Importers may go on using the pages. Pages that the DMA API has allocated for
 * this device are freed, because no importer can have them.
 */
void tessera_backing_detach(struct tessera_bo *bo)
{
	struct ttm_tt *tt = bo->tbo.ttm;

	if (!tt)
		return;
	backing_drop_list(to_backing(tt));
	backing_unmap_user(bo->tbo.bdev, to_backing(tt));
	if (tt->page_flags & TTM_TT_FLAG_EXTERNAL) {
		/* tessera_borrow_end() unmaps them. */
		tt->sg = NULL;
		return;
	}
	/* Pages without DMA addresses are unmapped already. */
	if (!ttm_tt_is_populated(tt) || to_backing(tt)->empty || !tt->dma_address)
		return;
	tessera_backing_use(bo);
	if (tessera_backing_is_private(bo))
		backing_empty(bo, to_backing(tt));
	else
		backing_unmap(&bo->tbo.bdev->pool, tt);
}

/**
 * tessera_backing_is_disposable() - check whether an object's contents may be
 * dropped outside segments
 * @bo: the object, reservation held
 *
 * Return: true for an offered object, and for page tables.
 */
bool tessera_backing_is_disposable(const struct tessera_bo *bo)
{
	return tessera_bo_is_offered(bo) || bo->tables;
}

/* Frees the pages of a disposable object. The caller holds its reservation. */
static unsigned long backing_shrink_disposable(struct tessera_bo *bo,
					       struct tessera_backing *backing)
{
	if (!tessera_backing_is_disposable(bo) || tessera_bo_segment(bo) ||
	    !tessera_backing_users(bo) ||
	    !dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return 0;
	if (tessera_bo_is_offered(bo)) {
		bo->offer.lost = true;
		/* Pages that are allocated later hold bytes of their last owner. */
		ttm_tt_mark_for_clear(&backing->base);
		trace_tessera_offer_drop(bo->id);
	}

	return backing_empty(bo, backing);
}

/* The caller holds the reservation. */
static bool backing_is_spare(const struct tessera_backing *backing)
{
	return backing->retained &&
	       (!backing->reader || dma_fence_is_signaled(backing->reader));
}

/* Returns the number of freed pages. */
static unsigned long backing_shrink_bo(struct tessera_retain *retain, struct tessera_bo *bo,
				       bool disposable_too)
{
	struct dma_resv *resv = bo->tbo.base.resv;
	struct tessera_backing *backing;
	unsigned long freed = 0;

	if (!dma_resv_trylock(resv))
		return 0;

	backing = bo->tbo.ttm ? to_backing(bo->tbo.ttm) : NULL;
	if (backing && backing_is_spare(backing)) {
		tessera_dep_check_idle(&bo->dep_check, TESSERA_DEP_CHECK_MOVE, U64_MAX, bo->id);
		backing_end_retain(retain, backing);
		freed = backing_empty(bo, backing);
	} else if (backing && disposable_too) {
		freed = backing_shrink_disposable(bo, backing);
	}
	if (!tessera_backing_users(bo) ||
	    !(backing->retained || tessera_backing_is_disposable(bo)))
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
 * Frees about @pages pages. It visits at most that many objects, because many
 * of them may be busy and each has at least one page. Visited objects go to the
 * end of the list.
 */
static unsigned long backing_scan_locked(struct tessera_retain *retain, unsigned long pages,
					 bool disposable_too, unsigned long *looked)
{
	unsigned long freed = 0;
	struct tessera_bo *bo;
	LIST_HEAD(seen);

	lockdep_assert_held(&retain->lock);

	for (*looked = 0; max(freed, *looked) < pages && !list_empty(&retain->donors);
	     (*looked)++) {
		bo = list_first_entry(&retain->donors, struct tessera_bo, donor);
		list_move_tail(&bo->donor, &seen);
		freed += backing_shrink_bo(retain, bo, disposable_too);
		cond_resched();
	}
	list_splice_tail(&seen, &retain->donors);

	return freed;
}

/*
 * Frees retained pages above the limit. Disposable objects do not count here:
 * their pages are freed only when the kernel needs memory. Pages that are still
 * being read, or that belong to a locked object, are tried again later.
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

static void decommits_fini(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

/**
 * tessera_backing_init() - set up the shrinker of the device
 * @tdev: the device
 *
 * Return: 0 or an error.
 */
int tessera_backing_init(struct tessera_device *tdev)
{
	struct tessera_retain *retain;
	struct shrinker *shrinker;
	int ret;

	retain = drmm_kzalloc(&tdev->drm, sizeof(*retain), GFP_KERNEL);
	if (!retain)
		return -ENOMEM;
	INIT_DELAYED_WORK(&retain->trim, backing_trim);
	tdev->retain = retain;
	retain->limit = totalram_pages() / RETAIN_FRACTION;
	retain->keep_copy = true;
	mutex_init(&retain->lock);
	INIT_LIST_HEAD(&retain->donors);
	retain->decommits = alloc_ordered_workqueue("tessera-decommit", 0);
	if (!retain->decommits)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&tdev->drm, decommits_fini, retain->decommits);
	if (ret)
		return ret;

	shrinker = shrinker_alloc(0, "drm-tessera:%s", dev_name(tdev->drm.dev));
	if (!shrinker)
		return -ENOMEM;

	shrinker->count_objects = backing_shrink_count;
	shrinker->scan_objects = backing_shrink_scan;
	shrinker->private_data = tdev;
	shrinker_register(shrinker);

	return drmm_add_action_or_reset(&tdev->drm, backing_fini, shrinker);
}
