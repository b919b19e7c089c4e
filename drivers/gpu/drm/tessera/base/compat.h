/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Differences between kernel versions. The driver is written for the newest
 * kernel. This header makes older kernels, from 6.12 on, look like it. No other
 * file may depend on the version. The Makefile searches the kernel's headers
 * for each interface, as stable series backport some of them.
 */
#ifndef __TESSERA_COMPAT_H__
#define __TESSERA_COMPAT_H__

#include <linux/dma-buf.h>
#include <linux/dma-fence-array.h>
#include <linux/dma-fence.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/pci.h>

/* Kconfig requires this, but an out-of-tree build does not use Kconfig. */
#ifndef CONFIG_64BIT
#error "The Tessera driver needs a 64-bit kernel"
#endif

#ifdef TESSERA_HAVE_CLIENTS_H
#include <drm/clients/drm_client_setup.h>
#else
#include <drm/drm_client_setup.h>
#endif
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_modeset_helper.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>

/* 6.13: namespaces are strings. */
#ifdef TESSERA_HAVE_IMPORT_NS_STRING
#define TESSERA_COMPAT_NS_DMA_BUF	"DMA_BUF"
#define TESSERA_COMPAT_NS_KUNIT		"EXPORTED_FOR_KUNIT_TESTING"
#else
#define TESSERA_COMPAT_NS_DMA_BUF	DMA_BUF
#define TESSERA_COMPAT_NS_KUNIT		EXPORTED_FOR_KUNIT_TESTING
#endif

/* 6.17: flag for a per-CPU workqueue, which was the default before. */
#ifndef TESSERA_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/*
 * 6.15: event for a device that was reset, or that user space has to recover.
 * 6.17: the event names the task to blame.
 */
#ifndef TESSERA_HAVE_WEDGED_EVENT
#define DRM_WEDGE_RECOVERY_NONE		BIT(0)
#define DRM_WEDGE_RECOVERY_REBIND	BIT(1)
#define DRM_WEDGE_RECOVERY_BUS_RESET	BIT(2)
#endif

static inline int tessera_compat_wedged_event(struct drm_device *drm, unsigned long method)
{
#if defined(TESSERA_HAVE_WEDGE_TASK_INFO)
	return drm_dev_wedged_event(drm, method, NULL);
#elif defined(TESSERA_HAVE_WEDGED_EVENT)
	return drm_dev_wedged_event(drm, method);
#else
	char *envp[2] = { };

	envp[0] = method == DRM_WEDGE_RECOVERY_NONE ? "WEDGED=none" : "WEDGED=rebind,bus-reset";

	return kobject_uevent_env(&drm->primary->kdev->kobj, KOBJ_CHANGE, envp);
#endif
}

/*
 * 6.19: resizing a BAR in one call, which also moves the BARs beside it. Older
 * kernels: a BAR keeps its size.
 */
static inline int tessera_compat_resize_bar(struct pci_dev *pdev, int bar, int size)
{
#ifdef TESSERA_HAVE_RESIZE_EXCLUDE
	return pci_resize_resource(pdev, bar, size, 0);
#else
	return -EOPNOTSUPP;
#endif
}

/* 6.15: parameters of the scheduler in a struct. */
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

/*
 * 6.13: error for jobs without a fence when the scheduler restarts. This driver
 * has no such jobs.
 */
#ifndef TESSERA_HAVE_SCHED_START_ERRNO
static inline void tessera_compat_sched_start(struct drm_gpu_scheduler *sched, int error)
{
	drm_sched_start(sched);
}

#define drm_sched_start(sched, error) tessera_compat_sched_start(sched, error)
#endif

/* 6.17: new name of the timeout handler's result after a reset. */
#ifndef TESSERA_HAVE_SCHED_STAT_RESET
#define DRM_GPU_SCHED_STAT_RESET DRM_GPU_SCHED_STAT_NOMINAL
#endif

/* 6.18: objects are refcounted by GEM only. */
#ifndef TESSERA_HAVE_TTM_BO_FINI
#define ttm_bo_fini(bo) ttm_bo_put(bo)
#endif

/* 6.19: flags instead of booleans. */
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

/* 7.x: a fence may have a lock of its own. */
#ifndef TESSERA_HAVE_DMA_FENCE_ASSERT_HELD
#define dma_fence_assert_held(fence) lockdep_assert_held((fence)->lock)
#endif

/* 7.x: flags of a VMA are no longer a word. */
#ifndef TESSERA_HAVE_VMA_IS_COW_MAPPING
#define vma_is_cow_mapping(vma) is_cow_mapping((vma)->vm_flags)
#endif

/* 7.x: new name of the function that zaps mappings of page frames. */
#ifndef TESSERA_HAVE_ZAP_SPECIAL_VMA_RANGE
#define zap_special_vma_range(vma, address, size) zap_vma_ptes(vma, address, size)
#endif

/*
 * 7.x: importers are always told when a buffer moves, and the callback has a
 * new name. Before, this depended on the kernel's configuration.
 */
#ifdef TESSERA_HAVE_INVALIDATE_MAPPINGS
#define TESSERA_COMPAT_MOVE_NOTIFY true
#else
#define TESSERA_COMPAT_MOVE_NOTIFY IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY)
#define invalidate_mappings move_notify
#define dma_buf_invalidate_mappings(dmabuf) dma_buf_move_notify(dmabuf)
#endif

/* 7.x: arrays of fences always wait for all of them. */
#ifdef TESSERA_HAVE_FENCE_ARRAY_ANY
#define dma_fence_array_create(num, fences, context, seqno) \
	dma_fence_array_create(num, fences, context, seqno, false)
#endif

/* 6.18: arguments of a mapping in a struct. */
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

/* 7.x: objects always have a list of GPU mappings. */
#ifndef TESSERA_HAVE_DRIVER_GEM_GPUVA
#define DRIVER_GEM_GPUVA 0
#endif

/* 6.14: drivers have no date. */
#ifdef TESSERA_HAVE_DRIVER_DATE
#define TESSERA_COMPAT_DRIVER_DATE .date = "20260101",
#else
#define TESSERA_COMPAT_DRIVER_DATE
#endif

/* 6.13: checks of asynchronous updates are told if the update is a flip. */
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

/* 7.3: new name of the state of a display commit. */
#ifndef TESSERA_HAVE_ATOMIC_COMMIT
#define drm_atomic_commit drm_atomic_state
#endif

/* 6.17: framebuffers are created with the format looked up. */
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
