// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: VMs
 *
 * A VM is an address space of a client. It consists of the mappings, which
 * drm_gpuvm keeps, and of the page tables for the device (vm/pt.c). The
 * client's table and the contexts hold references to the VM. Jobs hold
 * references to the page tables only. The VM and its mappings therefore go
 * when no new jobs are possible. Objects that queued jobs may still use stay
 * in place until these jobs have ended, because they get a fence of the VM's
 * last jobs.
 *
 * Lock order: &tessera_vm.lock, then reservations, then
 * &tessera_page_tables.lock.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "base/device.h"
#include "base/wait.h"
#include "borrow/borrow.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "vm/vm.h"

/**
 * tessera_vm_free() - &drm_gpuvm_ops.vm_free
 * @gpuvm: the VM, empty
 */
void tessera_vm_free(struct drm_gpuvm *gpuvm)
{
	struct tessera_vm *vm = to_tessera_vm(gpuvm);

	tessera_page_tables_put(vm->pts);
	mutex_destroy(&vm->lock);
	kfree(vm);
}

/**
 * tessera_vm_bo_show() - record whether page tables point to an object
 * @vm_bo: the drm_gpuvm_bo; the object's reservation and
 * &tessera_page_tables.lock are held
 * @shown: the page tables point to the object
 */
void tessera_vm_bo_show(struct drm_gpuvm_bo *vm_bo, bool shown)
{
	to_tessera_vm_bo(vm_bo)->shown = shown;
	tessera_user_vm_show(&to_tessera_vm_bo(vm_bo)->user, shown);
}

static struct tessera_vm *vm_alloc(struct tessera_device *tdev, struct tessera_account *account,
				   struct tessera_resident_set *resident,
				   const struct drm_gpuvm_ops *ops)
{
	struct drm_gem_object *resv;
	struct tessera_page_tables *pts;
	struct tessera_vm *vm;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	resv = drm_gpuvm_resv_object_alloc(&tdev->drm);
	if (!vm || !resv) {
		pts = ERR_PTR(-ENOMEM);
		goto err_free;
	}
	pts = tessera_page_tables_create(tdev, account, resident);
	if (IS_ERR(pts))
		goto err_free;

	kref_init(&vm->users);
	mutex_init(&vm->lock);
	vm->tdev = tdev;
	vm->pts = pts;
	drm_gpuvm_init(&vm->base, "tessera", 0, &tdev->drm, resv, 0,
		       1ULL << TSR_VM_ADDRESS_BITS, 0, 0, ops);
	drm_gem_object_put(resv);

	return vm;

err_free:
	if (resv)
		drm_gem_object_put(resv);
	kfree(vm);
	return ERR_CAST(pts);
}

/*
 * Return a fence that signals after all jobs, or NULL if there is no memory for
 * it or the device is gone. The page tables are closed.
 */
static struct dma_fence *vm_last_fence(struct tessera_page_tables *pts)
{
	struct tessera_paging_batch batch;
	struct dma_fence *fence = NULL;
	int ret, idx;

	if (!drm_dev_enter(&pts->tdev->drm, &idx))
		return NULL;
	tessera_paging_begin(&batch, pts->queue, 0, NULL);
	ret = tessera_paging_prepare(&batch, NULL);
	mutex_lock(&pts->lock);
	if (!ret)
		ret = tessera_page_tables_order(pts, &batch, NULL);
	if (ret)
		tessera_paging_abort(&batch);
	else
		fence = tessera_paging_push(&batch);
	mutex_unlock(&pts->lock);
	drm_dev_exit(idx);

	return fence;
}

/* Used if vm_last_fence() has returned no fence. */
static void vm_wait_for_jobs(struct tessera_page_tables *pts)
{
	struct dma_fence *fence;

	while ((fence = tessera_vm_jobs_first(&pts->jobs, U64_MAX))) {
		tessera_wait_fence(TESSERA_WAIT_NO_MEMORY, fence, false, MAX_SCHEDULE_TIMEOUT);
		dma_fence_put(fence);
	}
	/* A batch that writes the tables may have no job behind it. */
	mutex_lock(&pts->lock);
	fence = dma_fence_get(pts->update);
	mutex_unlock(&pts->lock);
	if (fence)
		tessera_wait_fence(TESSERA_WAIT_NO_MEMORY, fence, false, MAX_SCHEDULE_TIMEOUT);
	dma_fence_put(fence);
}

static void vm_unmap(struct drm_gpuva *va, struct dma_fence *fence)
{
	struct drm_gem_object *obj = va->gem.obj;

	if (obj) {
		drm_gem_object_get(obj);
		dma_resv_lock(obj->resv, NULL);
		tessera_vm_leave_fence(obj, fence);
	}
	drm_gpuva_remove(va);
	drm_gpuva_unlink(va);
	if (obj) {
		dma_resv_unlock(obj->resv);
		drm_gem_object_put(obj);
	}
	kfree(to_tessera_mapping(va));
}

static void vm_release(struct kref *ref)
{
	struct tessera_vm *vm = container_of(ref, struct tessera_vm, users);
	struct tessera_page_tables *pts = vm->pts;
	struct drm_gpuva *va, *next;
	struct dma_fence *fence;

	mutex_lock(&pts->lock);
	pts->closed = true;
	mutex_unlock(&pts->lock);

	mutex_lock(&vm->lock);
	fence = vm_last_fence(pts);
	if (!fence)
		vm_wait_for_jobs(pts);
	drm_gpuvm_for_each_va_safe(va, next, &vm->base)
		vm_unmap(va, fence);
	tessera_pt_mem_close(pts, fence);
	dma_fence_put(fence);
	mutex_unlock(&vm->lock);

	drm_gpuvm_put(&vm->base);
}

/**
 * tessera_vm_put() - drop a reference
 * @vm: the VM, or NULL
 *
 * Called while the file is open, with no lock held. The last call removes all
 * mappings.
 */
void tessera_vm_put(struct tessera_vm *vm)
{
	if (vm)
		kref_put(&vm->users, vm_release);
}

/**
 * tessera_vm_create() - create a VM
 * @tdev: the device
 * @vms: the client's table
 * @account: account that is charged, bound
 * @resident: the client's residency list
 * @ops: the callbacks of drm_gpuvm, including tessera_vm_free() and those for
 * &struct tessera_vm_bo
 * @id: receives the VM's id, written before other threads can look the VM up
 *
 * Return: 0; -EOPNOTSUPP if the device has no virtual addresses; -ENOSPC for
 * too many VMs; or -ENOMEM.
 */
int tessera_vm_create(struct tessera_device *tdev, struct xarray *vms,
		      struct tessera_account *account, struct tessera_resident_set *resident,
		      const struct drm_gpuvm_ops *ops, u32 *id)
{
	struct tessera_vm *vm;
	int ret;

	if (!(tdev->info.caps & TSR_CAP_VM))
		return -EOPNOTSUPP;
	vm = vm_alloc(tdev, account, resident, ops);
	if (IS_ERR(vm))
		return PTR_ERR(vm);

	ret = xa_alloc(vms, id, vm, XA_LIMIT(1, TESSERA_MAX_VMS), GFP_KERNEL);
	if (ret) {
		tessera_vm_put(vm);
		return ret == -EBUSY ? -ENOSPC : ret;
	}

	return 0;
}

/**
 * tessera_vm_destroy() - remove a VM from its client's table
 * @vms: the table
 * @id: id of the VM
 *
 * Contexts that use the VM keep it.
 *
 * Return: 0 or -ENOENT.
 */
int tessera_vm_destroy(struct xarray *vms, u32 id)
{
	struct tessera_vm *vm = xa_erase(vms, id);

	if (!vm)
		return -ENOENT;
	tessera_vm_put(vm);

	return 0;
}

/**
 * tessera_vm_destroy_all() - remove all VMs of a client that is closed
 * @vms: the table; its contexts are destroyed
 */
void tessera_vm_destroy_all(struct xarray *vms)
{
	struct tessera_vm *vm;
	unsigned long id;

	xa_for_each(vms, id, vm) {
		xa_erase(vms, id);
		tessera_vm_put(vm);
	}
}

/**
 * tessera_vm_lookup() - find a VM by id
 * @vms: the client's table
 * @id: id of the VM
 *
 * Return: the VM with a reference, or NULL.
 */
struct tessera_vm *tessera_vm_lookup(struct xarray *vms, u32 id)
{
	struct tessera_vm *vm;

	xa_lock(vms);
	vm = xa_load(vms, id);
	if (vm)
		kref_get(&vm->users);
	xa_unlock(vms);

	return vm;
}
