// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: contexts
 *
 * A context is a queue of a client: a scheduler entity, and the slot table that
 * its submissions are checked with. The client's table and each job hold a
 * reference to it, so the entity is destroyed after the last job. The jobs of a
 * destroyed context still run. When a client goes away, those of its jobs that
 * have not begun are dropped. A context with a job that hung accepts no more
 * jobs.
 */
#include <linux/slab.h>
#include <linux/xarray.h>

#include <drm/drm_managed.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "client/client.h"
#include "exec/exec.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

struct tessera_contexts {
	/* Protects all below; a leaf. */
	struct mutex lock;
	struct list_head list;
	u32 next_id;
	/*
	 * A function-level reset is in progress: new contexts are lost from the
	 * start.
	 */
	bool lost;
	/* Number of function-level resets. */
	u32 resets;
};

static void contexts_fini(struct drm_device *drm, void *data)
{
	struct tessera_contexts *contexts = data;

	mutex_destroy(&contexts->lock);
}

/**
 * tessera_context_init() - set up the list of contexts
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_context_init(struct tessera_device *tdev)
{
	struct tessera_contexts *contexts;

	contexts = drmm_kzalloc(&tdev->drm, sizeof(*contexts), GFP_KERNEL);
	if (!contexts)
		return -ENOMEM;
	mutex_init(&contexts->lock);
	INIT_LIST_HEAD(&contexts->list);
	tdev->contexts = contexts;

	return drmm_add_action_or_reset(&tdev->drm, contexts_fini, contexts);
}

static void context_lose(struct tessera_context *ctx)
{
	atomic_set(&ctx->guilty, 1);
	WRITE_ONCE(ctx->dropped, true);
}

/**
 * tessera_context_lose_file() - lose the VM contexts of a client
 * @tdev: the device
 * @contexts: the client's table
 *
 * Jobs that have not begun are dropped.
 */
void tessera_context_lose_file(struct tessera_device *tdev, const struct xarray *contexts)
{
	struct tessera_context *ctx;

	mutex_lock(&tdev->contexts->lock);
	list_for_each_entry(ctx, &tdev->contexts->list, node)
		if (ctx->table == contexts && ctx->pts)
			context_lose(ctx);
	mutex_unlock(&tdev->contexts->lock);
}

/**
 * tessera_context_lose_all() - lose all contexts
 * @tdev: the device
 *
 * Has the same effect as if a job of each had hung. Contexts that are created
 * until tessera_context_accept() are lost, too.
 */
void tessera_context_lose_all(struct tessera_device *tdev)
{
	struct tessera_context *ctx;

	mutex_lock(&tdev->contexts->lock);
	tdev->contexts->lost = true;
	WRITE_ONCE(tdev->contexts->resets, tdev->contexts->resets + 1);
	list_for_each_entry(ctx, &tdev->contexts->list, node)
		context_lose(ctx);
	mutex_unlock(&tdev->contexts->lock);
}

/**
 * tessera_context_accept() - let new contexts be usable again
 * @tdev: the device
 */
void tessera_context_accept(struct tessera_device *tdev)
{
	mutex_lock(&tdev->contexts->lock);
	tdev->contexts->lost = false;
	mutex_unlock(&tdev->contexts->lock);
}

/* Assign the number that the device and traces show; 0 is the kernel. */
static void context_list(struct tessera_context *ctx)
{
	struct tessera_contexts *contexts = ctx->tdev->contexts;

	mutex_lock(&contexts->lock);
	if (!++contexts->next_id)
		contexts->next_id++;
	ctx->hw_id = contexts->next_id;
	/*
	 * A reset in progress loses this context, too, so it counts as a later
	 * one.
	 */
	ctx->resets = contexts->resets - contexts->lost;
	list_add_tail(&ctx->node, &contexts->list);
	if (contexts->lost)
		context_lose(ctx);
	mutex_unlock(&contexts->lock);
}

static void context_unlist(struct tessera_context *ctx)
{
	mutex_lock(&ctx->tdev->contexts->lock);
	list_del(&ctx->node);
	mutex_unlock(&ctx->tdev->contexts->lock);
}

static int context_init_slots(struct tessera_context *ctx)
{
	u32 num_slots = ctx->tdev->info.num_slots;
	struct tessera_slot_row *rows;
	u32 *live;

	rows = kvcalloc(num_slots, sizeof(*rows), GFP_KERNEL_ACCOUNT);
	live = kvmalloc_array(num_slots, sizeof(*live), GFP_KERNEL_ACCOUNT);
	if (!rows || !live) {
		kvfree(rows);
		kvfree(live);
		return -ENOMEM;
	}
	tessera_slot_init(&ctx->slots, rows, live, num_slots);

	return 0;
}

static void context_fini_slots(struct tessera_context *ctx)
{
	kvfree(ctx->slots.rows);
	kvfree(ctx->slots.live);
}

static int context_init_vm(struct tessera_context *ctx, struct tessera_vm *vm)
{
	if (!vm)
		return 0;
	ctx->vm_queue = tessera_page_tables_add_queue(vm->pts);
	if (!ctx->vm_queue)
		return -ENOMEM;
	ctx->vm = vm;
	ctx->pts = tessera_page_tables_get(vm->pts);

	return 0;
}

static void context_fini_vm(struct tessera_context *ctx)
{
	if (!ctx->pts)
		return;
	tessera_page_tables_remove_queue(ctx->vm_queue);
	tessera_page_tables_put(ctx->pts);
	if (ctx->vm_last)
		dma_fence_put(&ctx->vm_last->base);
}

/* The context has left its client's table, so no other thread uses @vm. */
static void context_leave(struct tessera_context *ctx)
{
	tessera_vm_put(ctx->vm);
	ctx->vm = NULL;
	tessera_context_put(ctx);
}

static void context_release(struct kref *ref)
{
	struct tessera_context *ctx = container_of(ref, struct tessera_context, ref);

	context_unlist(ctx);
	tessera_engine_entity_destroy(&ctx->entity);
	tessera_backlog_put(ctx->backlog);
	context_fini_vm(ctx);
	context_fini_slots(ctx);
	atomic_dec(&ctx->account->process->count.contexts);
	tessera_account_put(ctx->account);
	mutex_destroy(&ctx->lock);
	kfree(ctx);
}

/**
 * tessera_context_get() - take a reference
 * @ctx: the context
 *
 * Return: @ctx.
 */
struct tessera_context *tessera_context_get(struct tessera_context *ctx)
{
	kref_get(&ctx->ref);

	return ctx;
}

/**
 * tessera_context_put() - drop a reference
 * @ctx: the context, or NULL
 *
 * Process context: the last one tears the scheduler entity down.
 */
void tessera_context_put(struct tessera_context *ctx)
{
	if (ctx)
		kref_put(&ctx->ref, context_release);
}

static struct tessera_engine *render_engine(struct tessera_device *tdev, u32 id)
{
	struct tessera_engine *engine;

	if (id >= tessera_engine_num(tdev))
		return NULL;
	engine = tessera_engine_get(tdev, array_index_nospec(id, tessera_engine_num(tdev)));

	return engine && engine->type == TSR_ENGINE_RENDER ? engine : NULL;
}

static const enum tessera_level levels[] = {
	[DRM_TESSERA_PRIORITY_NORMAL] = TESSERA_LEVEL_NORMAL,
	[DRM_TESSERA_PRIORITY_LOW] = TESSERA_LEVEL_LOW,
	[DRM_TESSERA_PRIORITY_HIGH] = TESSERA_LEVEL_HIGH,
};

static struct tessera_context *context_alloc(struct tessera_device *tdev,
					     struct tessera_engine *engine,
					     struct tessera_account *account,
					     const struct xarray *table,
					     const struct drm_tessera_context_create *args)
{
	struct tessera_context *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	kref_init(&ctx->ref);
	mutex_init(&ctx->lock);
	ctx->tdev = tdev;
	ctx->engine = engine;
	ctx->level = levels[args->priority];
	ctx->flags = args->flags;
	ctx->split_seed = args->split_seed;
	ctx->table = table;

	ret = context_init_slots(ctx);
	if (ret)
		goto err_free;
	/*
	 * All contexts have one scheduler priority: the driver orders jobs by
	 * their level.
	 */
	ret = tessera_engine_entity_init(engine, &ctx->entity, DRM_SCHED_PRIORITY_NORMAL,
					 &ctx->guilty);
	if (ret)
		goto err_fini_slots;
	ctx->account = tessera_account_get(account);
	context_list(ctx);

	return ctx;

err_fini_slots:
	context_fini_slots(ctx);
err_free:
	mutex_destroy(&ctx->lock);
	kfree(ctx);
	return ERR_PTR(ret);
}

/**
 * tessera_context_create() - create a context
 * @tdev: the device
 * @contexts: the client's table
 * @account: the account to charge, bound
 * @backlog: the client's backlog
 * @vm: its VM, or NULL; the reference is consumed on success
 * @args: flags and priority, checked, and engine
 * @id: receives its number in the table, written before other threads can look
 * it up
 *
 * Return: 0, -EINVAL for an engine that cannot have contexts, -ENOSPC if the
 * process has too many contexts, or -ENOMEM.
 */
int tessera_context_create(struct tessera_device *tdev, struct xarray *contexts,
			   struct tessera_account *account, struct tessera_backlog *backlog,
			   struct tessera_vm *vm,
			   const struct drm_tessera_context_create *args, u32 *id)
{
	struct tessera_engine *engine = render_engine(tdev, args->engine);
	struct tessera_context *ctx;
	int ret;

	if (!engine)
		return -EINVAL;
	ret = tessera_account_count(&account->process->count.contexts, TESSERA_MAX_CONTEXTS);
	if (ret)
		return ret;
	ctx = context_alloc(tdev, engine, account, contexts, args);
	if (IS_ERR(ctx)) {
		atomic_dec(&account->process->count.contexts);
		return PTR_ERR(ctx);
	}
	ctx->backlog = tessera_backlog_get(backlog);
	ret = context_init_vm(ctx, vm);
	if (!ret)
		ret = xa_alloc(contexts, id, ctx, XA_LIMIT(1, TESSERA_MAX_CONTEXTS), GFP_KERNEL);
	if (ret) {
		/* The reference stays with the caller. */
		ctx->vm = NULL;
		tessera_context_put(ctx);
		return ret == -EBUSY ? -ENOSPC : ret;
	}

	return 0;
}

/**
 * tessera_context_destroy() - remove a context from its client's table
 * @contexts: the table
 * @id: its number
 *
 * Jobs already submitted still run.
 *
 * Return: 0 or -ENOENT.
 */
int tessera_context_destroy(struct xarray *contexts, u32 id)
{
	struct tessera_context *ctx = xa_erase(contexts, id);

	if (!ctx)
		return -ENOENT;
	context_leave(ctx);

	return 0;
}

/**
 * tessera_context_destroy_all() - empty the table of a client that goes away
 * @tdev: the device
 * @contexts: the table
 *
 * Jobs that have not begun are dropped.
 */
void tessera_context_destroy_all(struct tessera_device *tdev, struct xarray *contexts)
{
	struct tessera_context *ctx;
	unsigned long id;

	/*
	 * This includes contexts that the client has destroyed and that still
	 * have jobs.
	 */
	mutex_lock(&tdev->contexts->lock);
	list_for_each_entry(ctx, &tdev->contexts->list, node) {
		if (ctx->table == contexts)
			WRITE_ONCE(ctx->dropped, true);
	}
	mutex_unlock(&tdev->contexts->lock);

	xa_for_each(contexts, id, ctx) {
		xa_erase(contexts, id);
		context_leave(ctx);
	}
}

/**
 * tessera_context_blame() - count a job that hung or ran for too long
 * @ctx: the context of the job
 * @counts: it counts towards the ban of the process
 *
 * Any context.
 */
void tessera_context_blame(struct tessera_context *ctx, bool counts)
{
	atomic_inc(&ctx->hangs);
	if (counts)
		atomic_inc(&ctx->account->process->hangs);
}

/**
 * tessera_context_status() - report the state of a context
 * @ctx: the context
 * @status: receives the state
 */
void tessera_context_status(struct tessera_context *ctx,
			    struct drm_tessera_context_status *status)
{
	bool banned = tessera_account_banned(ctx->account);
	bool lost = atomic_read(&ctx->guilty);

	status->hangs = atomic_read(&ctx->hangs);
	status->device_resets = tessera_context_resets(ctx->tdev) - ctx->resets;
	status->flags = (lost || banned ? DRM_TESSERA_STATUS_LOST : 0) |
			(banned ? DRM_TESSERA_STATUS_BANNED : 0);
	if (status->hangs || READ_ONCE(ctx->faulted))
		status->reset = DRM_TESSERA_RESET_GUILTY;
	else
		status->reset = status->flags ? DRM_TESSERA_RESET_INNOCENT :
						DRM_TESSERA_RESET_NONE;
}

/**
 * tessera_context_resets() - number of function-level resets so far
 * @tdev: the device
 *
 * Return: the number. Each of them lost all contexts.
 */
u32 tessera_context_resets(struct tessera_device *tdev)
{
	return READ_ONCE(tdev->contexts->resets);
}

/**
 * tessera_context_lookup() - find a context by number
 * @contexts: the client's table
 * @id: its number
 *
 * Return: the context with a reference, or NULL.
 */
struct tessera_context *tessera_context_lookup(struct xarray *contexts, u32 id)
{
	struct tessera_context *ctx;

	xa_lock(contexts);
	ctx = xa_load(contexts, id);
	if (ctx)
		tessera_context_get(ctx);
	xa_unlock(contexts);

	return ctx;
}
