# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# See base/compat.h: names for what is in the kernel's headers, and was not always.
tessera-has = $(shell grep -qs '$(3)' $(srctree)/include/$(2) && echo -DTESSERA_HAVE_$(1))
ccflags-y += \
	$(call tessera-has,ASYNC_FLIP,drm/drm_modeset_helper_vtables.h,bool flip) \
	$(call tessera-has,ATOMIC_COMMIT,drm/drm_atomic.h,^struct drm_atomic_commit {) \
	$(call tessera-has,CLIENTS_H,drm/clients/drm_client_setup.h,drm_client_setup) \
	$(call tessera-has,DMA_FENCE_ASSERT_HELD,linux/dma-fence.h,dma_fence_assert_held) \
	$(call tessera-has,DRIVER_DATE,drm/drm_drv.h,char \*date;) \
	$(call tessera-has,DRIVER_GEM_GPUVA,drm/drm_drv.h,DRIVER_GEM_GPUVA) \
	$(call tessera-has,FB_CREATE_INFO,drm/drm_modeset_helper.h,const struct drm_format_info \*info) \
	$(call tessera-has,FENCE_ARRAY_ANY,linux/dma-fence-array.h,bool signal_on_any) \
	$(call tessera-has,GPUVM_MAP_REQ,drm/drm_gpuvm.h,struct drm_gpuvm_map_req {) \
	$(call tessera-has,IMPORT_NS_STRING,linux/module.h,MODULE_INFO(import_ns. ns)) \
	$(call tessera-has,INVALIDATE_MAPPINGS,linux/dma-buf.h,dma_buf_invalidate_mappings) \
	$(call tessera-has,RESIZE_EXCLUDE,linux/pci.h,int exclude_bars) \
	$(call tessera-has,SCHED_INIT_ARGS,drm/gpu_scheduler.h,struct drm_sched_init_args) \
	$(call tessera-has,SCHED_START_ERRNO,drm/gpu_scheduler.h,drm_sched_start(.*errno)) \
	$(call tessera-has,SCHED_STAT_RESET,drm/gpu_scheduler.h,DRM_GPU_SCHED_STAT_RESET) \
	$(call tessera-has,TTM_BO_FINI,drm/ttm/ttm_bo.h,ttm_bo_fini) \
	$(call tessera-has,VMA_IS_COW_MAPPING,linux/mm.h,vma_is_cow_mapping) \
	$(call tessera-has,WEDGED_EVENT,drm/drm_drv.h,drm_dev_wedged_event) \
	$(call tessera-has,WEDGE_TASK_INFO,drm/drm_device.h,struct drm_wedge_task_info) \
	$(call tessera-has,WQ_PERCPU,linux/workqueue.h,WQ_PERCPU) \
	$(call tessera-has,ZAP_SPECIAL_VMA_RANGE,linux/mm.h,zap_special_vma_range)
