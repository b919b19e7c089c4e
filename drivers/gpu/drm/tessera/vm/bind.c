// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: VM_BIND
 *
 * Changes the mappings of a VM: a list of operations that takes effect as a
 * whole or not at all. First, the call looks up and allocates everything that
 * it may need: mappings, including those for splitting existing ones, page
 * tables, and a paging batch. Then it changes drm_gpuvm and the page tables,
 * which cannot fail, and queues the batch.
 *
 * The batch writes no page tables. The next job of the VM does that (vm/pt.c).
 * The batch waits for the moves of the mapped objects, for the fences that user
 * space names, and for the jobs that may use unmapped addresses.
 *
 * The call waits for foreign fences at the beginning, with no lock held. The
 * batch must not depend on them, because batches of other clients that move an
 * object of the VM wait for it.
 *
 * Pages of fences
 * ---------------
 *
 * MAP_FENCE maps a value page (sync/value_page.c), so that command streams wait
 * for and signal the client's own fences. The page is no object: it never moves,
 * and the page tables keep it until they go.
 *
 * Lock order: &tessera_vm.lock, the objects' reservations,
 * &tessera_page_tables.lock.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_print.h>
#include <drm/tessera_drm.h>

#include "base/assert.h"
#include "base/compat.h"
#include "base/device.h"
#include "cpu/cpu.h"
#include "debug/debug.h"
#include "exec/exec.h"
#include "mem/mem.h"
#include "paging/paging.h"
#include "sync/sync.h"
#include "vm/vm.h"

/* One operation of the call. */
struct bind_op {
	const struct drm_tessera_vm_bind_op *args;
	struct tessera_bo *bo;
	struct drm_gpuvm_bo *vm_bo;
	/* Preallocated mappings; NULL once they are in use. */
	struct tessera_mapping *mapping, *prev, *next;
	/* MAP_FENCE: the page of fences; NULL once the page tables have it. */
	struct tessera_fence_page *fence_page;
	/* The page tables are to point to @bo. */
	bool shows;
};

/* One VM_BIND call. */
struct bind {
	struct tessera_vm *vm;
	struct bind_op *ops;
	u32 num_ops;
	/* Mappings that the search for objects to lock has visited. */
	u32 visited;
	/* The element of @ops that op_apply() is working on. */
	struct bind_op *op;
	struct tessera_syncs syncs;
	struct tessera_paging_batch batch;
	struct tessera_pt_change *change;
	/*
	 * &struct tessera_pt_page: first those that the change may need, later
	 * those that it did not.
	 */
	struct list_head tables;
	/* Removed mappings, freed at the end of the call. */
	struct list_head dead;
};

static bool is_map(const struct drm_tessera_vm_bind_op *op)
{
	return op->op == DRM_TESSERA_VM_BIND_MAP;
}

static bool is_fence(const struct drm_tessera_vm_bind_op *op)
{
	return op->op == DRM_TESSERA_VM_BIND_MAP_FENCE;
}

static int check_op(struct tessera_device *tdev, const struct drm_tessera_vm_bind_op *op)
{
	const u64 top = 1ULL << TSR_VM_ADDRESS_BITS;
	bool named = is_map(op) || is_fence(op);

	if (tessera_ioctl_bad(tdev, op->op > DRM_TESSERA_VM_BIND_MAP_FENCE) ||
	    tessera_ioctl_bad(tdev, op->flags & ~DRM_TESSERA_VM_BIND_READ_ONLY) ||
	    tessera_ioctl_bad(tdev, op->flags && !named) ||
	    tessera_ioctl_bad(tdev, op->pad) ||
	    tessera_ioctl_bad(tdev, !named && op->handle) ||
	    tessera_ioctl_bad(tdev, !is_map(op) && op->offset) ||
	    tessera_ioctl_bad(tdev, named && !op->handle) ||
	    tessera_ioctl_bad(tdev, is_fence(op) && op->range != TSR_PAGE_SIZE) ||
	    tessera_ioctl_bad(tdev, (op->offset | op->address | op->range) % TSR_PAGE_SIZE) ||
	    tessera_ioctl_bad(tdev, !op->range || op->address >= top ||
			      op->range > top - op->address))
		return -EINVAL;

	return 0;
}

static int look_up(struct bind_op *op, struct tessera_vm *vm, struct drm_file *file)
{
	const struct drm_tessera_vm_bind_op *args = op->args;
	u64 bytes;

	if (!is_map(args))
		return 0;
	op->bo = tessera_bo_lookup(file, args->handle);
	if (!op->bo)
		return -ENOENT;
	bytes = tessera_bo_bytes(op->bo);
	if (tessera_ioctl_bad(vm->tdev, op->bo->root && op->bo->root != vm->base.r_obj) ||
	    tessera_ioctl_bad(vm->tdev, args->offset >= bytes ||
			      args->range > bytes - args->offset))
		return -EINVAL;
	op->vm_bo = drm_gpuvm_bo_create(&vm->base, &op->bo->tbo.base);

	return op->vm_bo ? 0 : -ENOMEM;
}

static int look_up_fence(struct bind_op *op, struct tessera_monitored_set *fences)
{
	struct tessera_fence_page *fence_page;

	if (!is_fence(op->args))
		return 0;
	fence_page = kzalloc(sizeof(*fence_page), GFP_KERNEL_ACCOUNT);
	if (!fence_page)
		return -ENOMEM;
	fence_page->page = tessera_monitored_get_page(fences, op->args->handle);
	if (!fence_page->page) {
		kfree(fence_page);
		return -ENOENT;
	}
	op->fence_page = fence_page;

	return 0;
}

static int op_init(struct bind_op *op, struct tessera_vm *vm, struct drm_file *file,
		   struct tessera_monitored_set *fences)
{
	int ret;

	ret = check_op(vm->tdev, op->args);
	if (!ret)
		ret = look_up(op, vm, file);
	if (!ret)
		ret = look_up_fence(op, fences);
	if (ret)
		return ret;

	op->mapping = kzalloc(sizeof(*op->mapping), GFP_KERNEL_ACCOUNT);
	op->prev = kzalloc(sizeof(*op->prev), GFP_KERNEL_ACCOUNT);
	op->next = kzalloc(sizeof(*op->next), GFP_KERNEL_ACCOUNT);

	return op->mapping && op->prev && op->next ? 0 : -ENOMEM;
}

static void op_fini(struct bind_op *op)
{
	/*
	 * drm_gpuvm_bo_put() asserts the lock of the list, even for an entry
	 * that was never linked.
	 */
	if (op->vm_bo) {
		dma_resv_lock(op->bo->tbo.base.resv, NULL);
		drm_gpuvm_bo_put(op->vm_bo);
		dma_resv_unlock(op->bo->tbo.base.resv);
	}
	tessera_bo_put(op->bo);
	if (op->fence_page)
		tessera_fence_page_free(op->fence_page);
	kfree(op->mapping);
	kfree(op->prev);
	kfree(op->next);
}

static int bind_init(struct bind *bind, struct tessera_vm *vm, struct drm_file *file,
		     const struct tessera_bind_data *data)
{
	u64 null_bytes = 0;
	u32 i;
	int ret;

	*bind = (struct bind) { .vm = vm };
	INIT_LIST_HEAD(&bind->dead);
	INIT_LIST_HEAD(&bind->tables);
	bind->ops = kvcalloc(data->num_ops, sizeof(*bind->ops), GFP_KERNEL_ACCOUNT);
	if (!bind->ops)
		return -ENOMEM;
	for (i = 0; i < data->num_ops; i++) {
		bind->num_ops++;
		bind->ops[i].args = &data->ops[i];
		ret = op_init(&bind->ops[i], vm, file, data->fences);
		if (ret)
			return ret;
		/*
		 * Limits the time for which moves of other clients wait for
		 * &tessera_page_tables.lock.
		 */
		if (data->ops[i].op == DRM_TESSERA_VM_BIND_MAP_NULL)
			null_bytes += data->ops[i].range;
		if (tessera_ioctl_bad(vm->tdev, null_bytes > TESSERA_MAX_NULL_BYTES))
			return -E2BIG;
	}
	bind->change = tessera_pt_change_create(vm->pts, false);
	if (!bind->change)
		return -ENOMEM;
	bind->change->lost = kvcalloc(data->num_ops, sizeof(*bind->change->lost),
				      GFP_KERNEL_ACCOUNT);
	if (!bind->change->lost)
		return -ENOMEM;

	/* No context: a bind cannot signal the values of monitored fences. */
	return tessera_syncs_init(&bind->syncs, vm->tdev, file, NULL,
				  &vm->pts->account->process->work, data->syncs, data->num_syncs);
}

static void bind_fini(struct bind *bind)
{
	struct drm_gpuva *va, *next;
	u32 i;

	list_for_each_entry_safe(va, next, &bind->dead, gem.entry) {
		if (va->gem.obj)
			drm_gem_object_put(va->gem.obj);
		kfree(to_tessera_mapping(va));
	}
	for (i = 0; i < bind->num_ops; i++)
		op_fini(&bind->ops[i]);
	kvfree(bind->ops);
	tessera_pt_change_cancel(bind->change);
	tessera_pt_page_destroy_list(bind->vm->pts, &bind->tables);
	tessera_syncs_fini(&bind->syncs);
}

/* ---- Pages of fences ------------------------------------------------------ */

/**
 * tessera_fence_page_free() - drop a page of fences
 * @fence_page: the page, in no list that is used again
 */
void tessera_fence_page_free(struct tessera_fence_page *fence_page)
{
	drm_gem_object_put(&fence_page->page->base);
	kfree(fence_page);
}

/* Have the page tables keep the page, once. */
static void keep_fence_page(struct tessera_page_tables *pts, struct bind_op *op)
{
	struct tessera_fence_page *other;

	lockdep_assert_held(&pts->lock);

	list_for_each_entry(other, &pts->fence_pages, node)
		if (other->page == op->fence_page->page)
			return;
	list_add(&op->fence_page->node, &pts->fence_pages);
	op->fence_page = NULL;
}

/* ---- Limits -------------------------------------------------------------- */

/*
 * An unmap adds a mapping if it cuts a hole into one. The lookup does not find
 * what an earlier map of the same list adds, and that may be cut, too.
 */
static bool unmap_may_split(struct bind *bind, const struct drm_tessera_vm_bind_op *args,
			    bool mapped)
{
	struct drm_gpuva *va = drm_gpuva_find_first(&bind->vm->base, args->address, args->range);

	return mapped || (va && va->va.addr < args->address &&
			  va->va.addr + va->va.range > args->address + args->range);
}

/* A map adds at most two mappings: its own, and the rest of one that it cuts. */
static int check_mappings(struct bind *bind)
{
	u32 i, num = bind->vm->num_mappings;
	bool mapped = false;

	for (i = 0; i < bind->num_ops; i++) {
		const struct drm_tessera_vm_bind_op *args = bind->ops[i].args;

		if (args->op == DRM_TESSERA_VM_BIND_UNMAP) {
			num += unmap_may_split(bind, args, mapped);
			continue;
		}
		mapped = true;
		num += 2;
	}

	return num > TESSERA_MAX_MAPPINGS ? -ENOSPC : 0;
}

/* ---- Locks --------------------------------------------------------------- */

/*
 * Other clients wait for the objects that are locked. The mappings in the ranges
 * of all operations are therefore limited.
 */
static int lock_range(struct bind *bind, const struct drm_tessera_vm_bind_op *args,
		      struct drm_exec *exec)
{
	struct drm_gpuva *va;
	int ret;

	drm_gpuvm_for_each_va_range(va, &bind->vm->base, args->address,
				    args->address + args->range) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		if (tessera_ioctl_bad(bind->vm->tdev, ++bind->visited > 2 * TESSERA_MAX_MAPPINGS))
			return -E2BIG;
		/* Jobs may use the addresses that are unmapped. */
		bind->change->behind_jobs = true;
		if (!va->gem.obj)
			continue;
		ret = drm_exec_prepare_obj(exec, va->gem.obj, 1);
		if (ret)
			return ret;
	}

	return 0;
}

/* Lock the objects of new mappings and of mappings that are replaced. */
static int lock_objects(struct bind *bind, struct drm_exec *exec)
{
	int ret = 0;
	u32 i;

	bind->visited = 0;
	for (i = 0; !ret && i < bind->num_ops; i++) {
		struct bind_op *op = &bind->ops[i];

		if (op->bo)
			ret = drm_exec_prepare_obj(exec, &op->bo->tbo.base, 1);
		if (!ret)
			ret = lock_range(bind, op->args, exec);
	}

	return ret;
}

/* ---- Preparation, which can fail ----------------------------------------- */

static bool op_source(const struct bind_op *op, struct tessera_pt_source *source)
{
	struct tessera_mapping mapping = {
		.base.gem.offset = op->args->offset,
		.read_only = op->args->flags & DRM_TESSERA_VM_BIND_READ_ONLY,
	};

	if (op->args->op == DRM_TESSERA_VM_BIND_MAP_NULL) {
		*source = (struct tessera_pt_source) {
			.bits = TSR_PTE_VALID | TSR_PTE_NULL | TSR_PTE_WRITE,
		};
		return true;
	}
	if (is_fence(op->args)) {
		*source = (struct tessera_pt_source) {
			.bits = TSR_PTE_VALID | TSR_PTE_FENCE |
				(mapping.read_only ? 0 : TSR_PTE_WRITE),
			.addr = op->fence_page->page->dma,
		};
		return true;
	}

	return op->shows && tessera_remap_source(op->bo, tessera_bo_segment(op->bo),
					      tessera_bo_placement(op->bo), &mapping, source);
}

static int op_prepare(struct bind *bind, struct bind_op *op)
{
	struct tessera_pt_source source;

	if (op->bo && atomic_read(&op->bo->lost))
		return -EIO;
	if (op->bo && tessera_ioctl_bad(bind->vm->tdev, tessera_bo_is_offered(op->bo)))
		return -EINVAL;
	if (op->shows)
		bind->change->lost[bind->change->num_lost++] = &op->bo->lost;
	if (op->bo && op_source(op, &source) && !(source.bits & TSR_PTE_VRAM))
		tessera_coherence_for_job(op->bo, source.bits & TSR_PTE_WRITE);

	return 0;
}

/*
 * Have the batch wait for moves of the mapped objects, so that later jobs find
 * their contents.
 */
static int wait_for_moves(struct bind *bind)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < bind->num_ops; i++) {
		struct tessera_bo *bo = bind->ops[i].bo;

		if (!bo || !bind->ops[i].shows)
			continue;
		ret = tessera_job_add_resv(tessera_paging_first_job(&bind->batch),
					   bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL);
	}

	return ret;
}

static u32 count_tables(struct bind *bind)
{
	struct tessera_pt_source source;
	u32 i, tables = 0;

	for (i = 0; i < bind->num_ops && tables <= TESSERA_MAX_PT_PAGES; i++) {
		const struct drm_tessera_vm_bind_op *args = bind->ops[i].args;
		bool there = op_source(&bind->ops[i], &source);

		tables += tessera_pt_tables_bound(args->address, args->range,
						  there ? &source : NULL);
	}

	return tables;
}

static int bind_prepare(struct bind *bind)
{
	struct tessera_vm *vm = bind->vm;
	u32 i, tables;
	int ret = 0;

	for (i = 0; i < bind->num_ops; i++)
		if (bind->ops[i].bo)
			bind->ops[i].shows = tessera_remap_may_show(vm, bind->ops[i].bo);
	/* Check the limit before anything is allocated. */
	tables = count_tables(bind);
	if (tables > TESSERA_MAX_PT_PAGES)
		return -ENOSPC;
	for (i = 0; !ret && i < bind->num_ops; i++)
		ret = op_prepare(bind, &bind->ops[i]);
	if (!ret)
		ret = tessera_paging_prepare(&bind->batch, NULL);
	if (!ret)
		ret = tessera_syncs_add_waits(&bind->syncs, tessera_paging_first_job(&bind->batch));
	if (!ret)
		ret = wait_for_moves(bind);
	if (!ret)
		ret = tessera_page_tables_prepare(vm->pts, tables, &bind->tables);
	if (ret)
		return ret;
	tessera_syncs_charge(&bind->syncs, tessera_paging_first_job(&bind->batch));

	mutex_lock(&vm->pts->lock);
	ret = atomic_read(&vm->pts->lost) ? -EIO :
	      tessera_page_tables_reserve(vm->pts, tables, &bind->tables);
	if (!ret)
		ret = tessera_page_tables_order(vm->pts, &bind->batch, bind->change);
	if (ret) {
		tessera_page_tables_trim(vm->pts, &bind->tables);
		mutex_unlock(&vm->pts->lock);
	}

	return ret;
}

/* ---- The change, which cannot fail --------------------------------------- */

/*
 * Remove a mapping from the object's list. It may have been the last reference
 * to the object, which jobs may use until the batch has ended. Hold a reference
 * until the batch's fence is in the object's reservation. User memory needs the
 * drm_gpuvm_bo until then, too.
 */
static void mapping_died(struct bind *bind, struct drm_gpuva *va)
{
	if (va->gem.obj)
		drm_gem_object_get(va->gem.obj);
	if (va->gem.obj && gem_to_tessera_bo(va->gem.obj)->user)
		to_tessera_mapping(va)->left = drm_gpuvm_bo_get(va->vm_bo);
	drm_gpuva_unlink(va);
	bind->vm->num_mappings--;
	list_add(&va->gem.entry, &bind->dead);
}

static int step_map(struct drm_gpuva_op *step, void *priv)
{
	struct bind *bind = priv;
	struct bind_op *op = bind->op;
	struct tessera_mapping *mapping = op->mapping;
	struct tessera_pt_source source;

	op->mapping = NULL;
	bind->vm->num_mappings++;
	mapping->read_only = op->args->flags & DRM_TESSERA_VM_BIND_READ_ONLY;
	drm_gpuva_map(&bind->vm->base, &mapping->base, &step->map);
	if (op->bo) {
		op->vm_bo = drm_gpuvm_bo_obtain_prealloc(op->vm_bo);
		drm_gpuva_link(&mapping->base, op->vm_bo);
		if (op->bo->user)
			tessera_user_vm_join(&to_tessera_vm_bo(op->vm_bo)->user, op->bo->user,
					     &bind->vm->pts->jobs);
	}
	if (op_source(op, &source)) {
		tessera_page_tables_map(bind->vm->pts, op->args->address, op->args->range, &source);
		if (op->bo)
			tessera_vm_bo_show(op->vm_bo, true);
		if (op->bo && (source.bits & TSR_PTE_WRITE))
			tessera_residency_writable(op->bo);
	}
	if (op->fence_page)
		keep_fence_page(bind->vm->pts, op);

	return 0;
}

static struct drm_gpuva *keep_part(struct bind *bind, struct drm_gpuva *old,
				   struct tessera_mapping **spare)
{
	struct tessera_mapping *part = *spare;

	*spare = NULL;
	bind->vm->num_mappings++;
	part->read_only = to_tessera_mapping(old)->read_only;

	return &part->base;
}

static int step_remap(struct drm_gpuva_op *step, void *priv)
{
	struct drm_gpuva *prev = NULL, *next = NULL, *old = step->remap.unmap->va;
	struct bind *bind = priv;
	u64 start, range;

	drm_gpuva_op_remap_to_unmap_range(&step->remap, &start, &range);
	if (step->remap.prev)
		prev = keep_part(bind, old, &bind->op->prev);
	if (step->remap.next)
		next = keep_part(bind, old, &bind->op->next);
	drm_gpuva_remap(prev, next, &step->remap);
	if (prev)
		drm_gpuva_link(prev, old->vm_bo);
	if (next)
		drm_gpuva_link(next, old->vm_bo);
	mapping_died(bind, old);
	tessera_page_tables_unmap(bind->vm->pts, start, range);

	return 0;
}

static int step_unmap(struct drm_gpuva_op *step, void *priv)
{
	struct drm_gpuva *va = step->unmap.va;
	struct bind *bind = priv;

	drm_gpuva_unmap(&step->unmap);
	mapping_died(bind, va);
	tessera_page_tables_unmap(bind->vm->pts, va->va.addr, va->va.range);

	return 0;
}

static struct drm_gpuvm_bo *bind_vm_bo_alloc(void)
{
	struct tessera_vm_bo *vm_bo = kzalloc(sizeof(*vm_bo), GFP_KERNEL_ACCOUNT);

	return vm_bo ? &vm_bo->base : NULL;
}

static void bind_vm_bo_free(struct drm_gpuvm_bo *vm_bo)
{
	tessera_user_vm_leave(&to_tessera_vm_bo(vm_bo)->user);
	kfree(to_tessera_vm_bo(vm_bo));
}

/* The callbacks that tessera_vm_create() gets from the ioctl. */
const struct drm_gpuvm_ops tessera_bind_gpuvm_ops = {
	.vm_free = tessera_vm_free,
	.vm_bo_alloc = bind_vm_bo_alloc,
	.vm_bo_free = bind_vm_bo_free,
	.sm_step_map = step_map,
	.sm_step_remap = step_remap,
	.sm_step_unmap = step_unmap,
};

static void op_apply(struct bind *bind, struct bind_op *op)
{
	const struct drm_tessera_vm_bind_op *args = op->args;
	struct drm_gpuvm *gpuvm = &bind->vm->base;
	const struct drm_gpuvm_map_req req = {
		.map.va.addr = args->address,
		.map.va.range = args->range,
		.map.gem.obj = op->bo ? &op->bo->tbo.base : NULL,
		.map.gem.offset = args->offset,
	};
	int ret;

	bind->op = op;
	if (args->op == DRM_TESSERA_VM_BIND_UNMAP)
		ret = drm_gpuvm_sm_unmap(gpuvm, bind, args->address, args->range);
	else
		ret = drm_gpuvm_sm_map(gpuvm, bind, &req);
	drm_WARN_ON(gpuvm->drm, ret);
}

static void check_moves(struct bind *bind)
{
	u32 i;

	for (i = 0; i < bind->num_ops; i++)
		if (bind->ops[i].bo && bind->ops[i].shows)
			tessera_dep_check_job(&bind->ops[i].bo->dep_check, TESSERA_DEP_CHECK_MOVE,
					      tessera_paging_first_job(&bind->batch),
					      bind->ops[i].bo->id);
}

static struct dma_fence *bind_apply(struct bind *bind)
{
	struct tessera_page_tables *pts = bind->vm->pts;
	struct dma_fence *fence;
	u32 i;

	lockdep_assert_held(&pts->lock);

	check_moves(bind);
	for (i = 0; i < bind->num_ops; i++) {
		op_apply(bind, &bind->ops[i]);
		cond_resched();
	}
	tessera_page_tables_attach(pts, bind->change, &bind->batch);
	bind->change = NULL;
	fence = tessera_paging_push(&bind->batch);
	tessera_page_tables_updated(pts, fence);
	tessera_page_tables_trim(pts, &bind->tables);
	mutex_unlock(&pts->lock);

	return fence;
}

/*
 * The CPU sees no object of a VM through swizzling ranges (SWZ-33). -EBUSY if it
 * has no other view of the object, because that is scanned out.
 */
static int leave_ranges(struct tessera_bo *bo)
{
	if (!bo->window.num_ranges)
		return 0;
	if (tessera_bo_is_immovable(bo))
		return -EBUSY;
	ttm_bo_unmap_virtual(&bo->tbo);
	tessera_swizzle_range_release(bo);

	return 0;
}

static int bind_locked(struct bind *bind, struct drm_exec *exec, struct dma_fence **done)
{
	struct drm_gem_object *obj;
	struct dma_fence *fence;
	struct drm_gpuva *va;
	int ret = 0;
	u32 i;

	for (i = 0; i < bind->num_ops && !ret; i++)
		if (bind->ops[i].bo)
			ret = leave_ranges(bind->ops[i].bo);
	if (ret)
		return ret;
	tessera_paging_begin(&bind->batch, bind->vm->pts->queue, 0, NULL);
	ret = bind_prepare(bind);
	if (ret) {
		tessera_paging_abort(&bind->batch);
		return ret;
	}
	fence = bind_apply(bind);
	/* An unmapped object can be freed or moved only after the batch. */
	drm_exec_for_each_locked_object(exec, obj)
		dma_resv_add_fence(obj->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	list_for_each_entry(va, &bind->dead, gem.entry)
		drm_gpuvm_bo_put(to_tessera_mapping(va)->left);
	for (i = 0; i < bind->num_ops; i++)
		if (bind->ops[i].bo)
			tessera_remap_settle(bind->ops[i].bo);
	*done = fence;

	return 0;
}

static int bind_run(struct bind *bind, struct dma_fence **done)
{
	struct drm_exec exec;
	int ret = 0, idx;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      bind->num_ops);
	drm_exec_until_all_locked(&exec) {
		ret = lock_objects(bind, &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	/*
	 * Entered only after locking: other drivers may hold the reservations
	 * for long, and unplug must not wait for them.
	 */
	if (!ret && !drm_dev_enter(&bind->vm->tdev->drm, &idx))
		ret = -ENODEV;
	if (!ret) {
		ret = bind_locked(bind, &exec, done);
		drm_dev_exit(idx);
	}
	drm_exec_fini(&exec);

	return ret;
}

/**
 * tessera_bind() - change the mappings of a VM
 * @vm: the VM
 * @file: the open file that owns the named objects and syncobjs
 * @data: the operations and sync objects
 *
 * Return: 0, or one of the errors of &struct drm_tessera_vm_bind with nothing
 * changed.
 */
int tessera_bind(struct tessera_vm *vm, struct drm_file *file,
		 const struct tessera_bind_data *data)
{
	struct dma_fence *done = NULL;
	struct bind bind;
	int ret;

	ret = bind_init(&bind, vm, file, data);
	if (!ret)
		ret = tessera_work_begin(vm->tdev);
	if (!ret) {
		ret = mutex_lock_interruptible(&vm->lock);
		if (!ret) {
			ret = check_mappings(&bind) ?: bind_run(&bind, &done);
			mutex_unlock(&vm->lock);
		}
		ret = tessera_work_end(vm->tdev, ret);
	}
	if (done)
		tessera_syncs_signal(&bind.syncs, done);
	dma_fence_put(done);
	bind_fini(&bind);

	return ret;
}
