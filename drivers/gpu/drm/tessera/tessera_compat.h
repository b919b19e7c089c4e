/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The only place that may know how kernels differ. The driver is written for the newest kernel
 * there is; this makes older ones, from 6.12 on, look like it. The Makefile looks into the kernel's
 * headers for what there is, as stable series take over what newer kernels have.
 */
#ifndef __TESSERA_COMPAT_H__
#define __TESSERA_COMPAT_H__

#include <linux/dma-buf.h>
#include <linux/dma-fence-array.h>
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/pci.h>

/* Kconfig says so, but not to a build out of the kernel's tree. */
#ifndef CONFIG_64BIT
#error "The Tessera driver needs a 64-bit kernel"
#endif

#ifdef TESSERA_HAVE_CLIENTS_H
#include <drm/clients/drm_client_setup.h>
#else
#include <drm/drm_client_setup.h>
#endif
#include <drm/drm_fourcc.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_modeset_helper.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>

/* The name of a namespace as a string: 6.13. */
#ifdef TESSERA_HAVE_IMPORT_NS_STRING
#define TESSERA_COMPAT_NS_DMA_BUF	"DMA_BUF"
#define TESSERA_COMPAT_NS_KUNIT		"EXPORTED_FOR_KUNIT_TESTING"
#else
#define TESSERA_COMPAT_NS_DMA_BUF	DMA_BUF
#define TESSERA_COMPAT_NS_KUNIT		EXPORTED_FOR_KUNIT_TESTING
#endif

/* To say that a workqueue is what it is if one says nothing: 6.17. */
#ifndef TESSERA_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* Resizing a BAR in one call, which moves those beside it, too: 6.19. Without that a BAR keeps its size. */
static inline int tessera_compat_resize_bar(struct pci_dev *pdev, int bar, int size)
{
#ifdef TESSERA_HAVE_RESIZE_EXCLUDE
	return pci_resize_resource(pdev, bar, size, 0);
#else
	return -EOPNOTSUPP;
#endif
}

/* The scheduler's parameters in a structure: 6.15. */
#ifndef TESSERA_HAVE_SCHED_INIT_ARGS
struct drm_sched_init_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq;
	u32 num_rqs;
	u32 credit_limit;
	unsigned int hang_limit;
	long timeout;
	atomic_t *score;
	const char *name;
	struct device *dev;
};

static inline int tessera_compat_sched_init(struct drm_gpu_scheduler *sched,
					    const struct drm_sched_init_args *args)
{
	return drm_sched_init(sched, args->ops, args->submit_wq, args->num_rqs,
			      args->credit_limit, args->hang_limit, args->timeout,
			      args->timeout_wq, args->score, args->name, args->dev);
}

#define drm_sched_init(sched, args) tessera_compat_sched_init(sched, args)
#endif

/* What a restarted scheduler tells of jobs without a fence, of which there are none here: 6.13. */
#ifndef TESSERA_HAVE_SCHED_START_ERRNO
static inline void tessera_compat_sched_start(struct drm_gpu_scheduler *sched, int error)
{
	drm_sched_start(sched);
}

#define drm_sched_start(sched, error) tessera_compat_sched_start(sched, error)
#endif

/* The name of what a reset engine's timeout returns: 6.17. */
#ifndef TESSERA_HAVE_SCHED_STAT_RESET
#define DRM_GPU_SCHED_STAT_RESET DRM_GPU_SCHED_STAT_NOMINAL
#endif

/* Objects are counted by GEM alone: 6.18. */
#ifndef TESSERA_HAVE_TTM_BO_FINI
#define ttm_bo_fini(bo) ttm_bo_put(bo)
#endif

/* Flags instead of booleans: 6.19. */
#ifndef TTM_ALLOCATION_POOL_USE_DMA_ALLOC
#define TTM_ALLOCATION_POOL_USE_DMA_ALLOC BIT(8)
#define ttm_device_init(bdev, funcs, dev, mapping, vma_manager, flags) \
	ttm_device_init(bdev, funcs, dev, mapping, vma_manager, \
			(flags) & TTM_ALLOCATION_POOL_USE_DMA_ALLOC, false)
#define tessera_compat_pool_is_dma(pool) ((pool)->use_dma_alloc)
#else
#define tessera_compat_pool_is_dma(pool) \
	(!!((pool)->alloc_flags & TTM_ALLOCATION_POOL_USE_DMA_ALLOC))
#endif

/* A fence may have a lock of its own: 7.x. */
#ifndef TESSERA_HAVE_DMA_FENCE_ASSERT_HELD
#define dma_fence_assert_held(fence) lockdep_assert_held((fence)->lock)
#endif

/* Flags of mappings are no longer a word: 7.x. */
#ifndef TESSERA_HAVE_VMA_IS_COW_MAPPING
#define vma_is_cow_mapping(vma) is_cow_mapping((vma)->vm_flags)
#endif

/* The name of what takes away mappings of page frames: 7.x. */
#ifndef TESSERA_HAVE_ZAP_SPECIAL_VMA_RANGE
#define zap_special_vma_range(vma, address, size) zap_vma_ptes(vma, address, size)
#endif

/*
 * Who shares a buffer is told that it moves if the kernel was configured for that; always, and by
 * another name: 7.x.
 */
#ifdef TESSERA_HAVE_INVALIDATE_MAPPINGS
#define TESSERA_COMPAT_MOVE_NOTIFY true
#else
#define TESSERA_COMPAT_MOVE_NOTIFY IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY)
#define invalidate_mappings move_notify
#define dma_buf_invalidate_mappings(dmabuf) dma_buf_move_notify(dmabuf)
#endif

/* Arrays of fences wait for all of them: 7.x. */
#ifdef TESSERA_HAVE_FENCE_ARRAY_ANY
#define dma_fence_array_create(num, fences, context, seqno) \
	dma_fence_array_create(num, fences, context, seqno, false)
#endif

/* What is to be mapped in a structure: 6.18. */
#ifndef TESSERA_HAVE_GPUVM_MAP_REQ
struct drm_gpuvm_map_req {
	struct drm_gpuva_op_map map;
};

static inline int tessera_compat_sm_map(struct drm_gpuvm *gpuvm, void *priv,
					const struct drm_gpuvm_map_req *req)
{
	return drm_gpuvm_sm_map(gpuvm, priv, req->map.va.addr, req->map.va.range,
				req->map.gem.obj, req->map.gem.offset);
}

#define drm_gpuvm_sm_map(gpuvm, priv, req) tessera_compat_sm_map(gpuvm, priv, req)
#endif

/* Objects have lists of mappings without being asked: 7.x. */
#ifndef TESSERA_HAVE_DRIVER_GEM_GPUVA
#define DRIVER_GEM_GPUVA 0
#endif

/* Drivers have no date any more: 6.14. */
#ifdef TESSERA_HAVE_DRIVER_DATE
#define TESSERA_COMPAT_DRIVER_DATE .date = "20260101",
#else
#define TESSERA_COMPAT_DRIVER_DATE
#endif

/* Checks of asynchronous updates are told whether it is a flip: 6.13. */
#ifdef TESSERA_HAVE_ASYNC_FLIP
#define TESSERA_COMPAT_ASYNC_CHECK(fn) \
static int fn##_compat(struct drm_plane *plane, struct drm_atomic_commit *state, bool flip) \
{ \
	return fn(plane, state); \
}
#else
#define TESSERA_COMPAT_ASYNC_CHECK(fn) \
static int fn##_compat(struct drm_plane *plane, struct drm_atomic_commit *state) \
{ \
	return fn(plane, state); \
}
#endif

/* The name of what a commit of the display brings: 7.3. */
#ifndef TESSERA_HAVE_ATOMIC_COMMIT
#define drm_atomic_commit drm_atomic_state
#endif

/* Framebuffers are created with the format looked up: 6.17. */
#ifdef TESSERA_HAVE_FB_CREATE_INFO
#define TESSERA_COMPAT_FB_CREATE(fn) \
static struct drm_framebuffer *fn##_compat(struct drm_device *drm, struct drm_file *file, \
					   const struct drm_format_info *info, \
					   const struct drm_mode_fb_cmd2 *cmd) \
{ \
	return fn(drm, file, info, cmd); \
}
#else
#define TESSERA_COMPAT_FB_CREATE(fn) \
static struct drm_framebuffer *fn##_compat(struct drm_device *drm, struct drm_file *file, \
					   const struct drm_mode_fb_cmd2 *cmd) \
{ \
	return fn(drm, file, drm_get_format_info(drm, cmd), cmd); \
}

static inline void tessera_compat_fill_fb_struct(struct drm_device *drm,
						 struct drm_framebuffer *fb,
						 const struct drm_format_info *info,
						 const struct drm_mode_fb_cmd2 *cmd)
{
	drm_helper_mode_fill_fb_struct(drm, fb, cmd);
}

#define drm_helper_mode_fill_fb_struct(drm, fb, info, cmd) \
	tessera_compat_fill_fb_struct(drm, fb, info, cmd)
#endif
#define TESSERA_COMPAT_FB_CREATE_NAME(fn) fn##_compat

#endif /* __TESSERA_COMPAT_H__ */
