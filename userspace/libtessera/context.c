// SPDX-License-Identifier: MIT
/* Contexts, and submission of command buffers. */
#include <errno.h>
#include <string.h>

#include "cmdmem.h"
#include "vm.h"

static int context_new(struct tessera_device *dev, const struct tessera_context_desc *desc,
		       struct tessera_vm *vm, struct tessera_context **out)
{
	struct drm_tessera_context_create create = {
		.flags = desc->flags,
		.engine = desc->engine,
		.split_seed = desc->split_seed,
		.priority = desc->priority,
		.vm = vm ? vm->id : 0,
	};
	struct tessera_context *ctx;
	int ret;

	if (tessera_reserved_check(desc->reserved, ARRAY_SIZE(desc->reserved)))
		return -EINVAL;
	ctx = tessera_alloc(dev, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ret = vm ? tessera_cmdmem_new(vm, &ctx->cmdmem) : 0;
	if (!ret)
		ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_CONTEXT_CREATE, &create);
	if (ret) {
		tessera_cmdmem_del(ctx->cmdmem);
		tessera_free(dev, ctx);
		return ret;
	}
	atomic_init(&ctx->refs, 1);
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->dev = tessera_device_ref(dev);
	ctx->vm = vm ? tessera_vm_ref(vm) : NULL;
	ctx->id = create.id;
	*out = ctx;
	return 0;
}

int tessera_context_new_desc(struct tessera_device *dev, const struct tessera_context_desc *desc,
			     struct tessera_context **out)
{
	return context_new(dev, desc, NULL, out);
}

int tessera_context_new_vm(struct tessera_vm *vm, const struct tessera_context_desc *desc,
			   struct tessera_context **out)
{
	return context_new(vm->dev, desc, vm, out);
}

struct tessera_device *tessera_context_device(const struct tessera_context *ctx)
{
	return ctx->dev;
}

struct tessera_vm *tessera_context_vm(const struct tessera_context *ctx)
{
	return ctx->vm;
}

int tessera_context_new(struct tessera_device *dev, uint32_t flags, uint32_t engine,
			uint32_t split_seed, struct tessera_context **out)
{
	const struct tessera_context_desc desc = {
		.flags = flags,
		.engine = engine,
		.split_seed = split_seed,
	};

	return tessera_context_new_desc(dev, &desc, out);
}

int tessera_context_desc_init(const struct tessera_device *dev, struct tessera_context_desc *desc)
{
	for (uint32_t i = 0; i < dev->num_engines; i++) {
		if (dev->engines[i].type != DRM_TESSERA_ENGINE_RENDER)
			continue;
		*desc = (struct tessera_context_desc){ .engine = dev->engines[i].id };
		return 0;
	}
	return -ENODEV;
}

int tessera_context_new_default(struct tessera_device *dev, struct tessera_context **out)
{
	struct tessera_context_desc desc;
	int ret = tessera_context_desc_init(dev, &desc);

	return ret ? ret : tessera_context_new_desc(dev, &desc, out);
}

int tessera_context_status(struct tessera_context *ctx, struct drm_tessera_context_status *status,
			   size_t size)
{
	struct drm_tessera_context_status args = { .id = ctx->id };
	int ret = tessera_ioctl(ctx->dev, DRM_IOCTL_TESSERA_CONTEXT_STATUS, &args);

	if (ret)
		return ret;
	memset(status, 0, size);
	memcpy(status, &args, size < sizeof(args) ? size : sizeof(args));
	return 0;
}

struct tessera_context *tessera_context_ref(struct tessera_context *ctx)
{
	atomic_fetch_add(&ctx->refs, 1);
	return ctx;
}

void tessera_context_del(struct tessera_context *ctx)
{
	struct drm_tessera_context_destroy destroy = { 0 };
	struct tessera_device *dev;

	if (!ctx || atomic_fetch_sub(&ctx->refs, 1) != 1)
		return;
	dev = ctx->dev;
	destroy.id = ctx->id;
	(void)tessera_ioctl(dev, DRM_IOCTL_TESSERA_CONTEXT_DESTROY, &destroy);
	tessera_cmdmem_del(ctx->cmdmem);
	tessera_vm_del(ctx->vm);
	pthread_mutex_destroy(&ctx->lock);
	tessera_free(dev, ctx);
	tessera_device_del(dev);
}

uint32_t tessera_context_id(const struct tessera_context *ctx)
{
	return ctx->id;
}

int tessera_sync_fill(struct drm_tessera_sync *sync, const struct tessera_device *dev,
		      const struct tessera_sync *from, uint32_t count, uint32_t flags)
{
	for (uint32_t i = 0; i < count; i++) {
		if (from[i].obj->dev != dev)
			return -EXDEV;
		sync[i] = (struct drm_tessera_sync){
			.handle = from[i].obj->handle,
			.flags = flags | (from[i].point ? DRM_TESSERA_SYNC_TIMELINE : 0),
			.point = from[i].point,
		};
	}
	return 0;
}

/* Sync objects that the library itself wants signalled at the end of a job. */
struct own_signals {
	struct tessera_sync list[2];
	uint32_t count;
};

/* Build the sync list: waits, signals, then the library's own. */
static int submit_syncs(struct tessera_device *dev, const struct tessera_submit_args *args,
			const struct own_signals *own, struct drm_tessera_array *out)
{
	uint64_t total = (uint64_t)args->num_waits + args->num_signals + own->count;
	struct drm_tessera_sync *syncs;
	int ret;

	*out = (struct drm_tessera_array){ .stride = sizeof(*syncs) };
	if (!total)
		return 0;
	if (total > dev->info.max_syncs)
		return -E2BIG;
	syncs = tessera_alloc(dev, total * sizeof(*syncs));
	if (!syncs)
		return -ENOMEM;
	ret = tessera_sync_fill(syncs, dev, args->waits, args->num_waits,
				args->flags & TESSERA_SUBMIT_WAIT_FOR_SUBMIT
					? DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT
					: 0);
	if (!ret)
		ret = tessera_sync_fill(syncs + args->num_waits, dev, args->signals,
					args->num_signals, DRM_TESSERA_SYNC_SIGNAL);
	if (!ret)
		ret = tessera_sync_fill(syncs + args->num_waits + args->num_signals, dev, own->list,
					own->count, DRM_TESSERA_SYNC_SIGNAL);
	if (ret) {
		tessera_free(dev, syncs);
		return ret;
	}
	out->count = total;
	out->array = (uintptr_t)syncs;
	return 0;
}

static int submit_ioctl(struct tessera_context *ctx, const struct tessera_cmdbuf *cb,
			const struct drm_tessera_array *syncs, struct tessera_submit_args *args)
{
	struct drm_tessera_submit submit = {
		.context = ctx->id,
		.cmds = (uintptr_t)cb->cmds,
		.cmd_size = cb->num_cmds * sizeof(uint32_t),
		.allocs = {
			.stride = sizeof(*cb->allocs),
			.count = cb->num_allocs,
			.array = (uintptr_t)cb->allocs,
		},
		.patches = {
			.stride = sizeof(*cb->patches),
			.count = cb->num_patches,
			.array = (uintptr_t)cb->patches,
		},
		.syncs = *syncs,
	};
	int ret;

	do {
		/* An interrupted call may have written them. */
		submit.num_parts = 0;
		submit.error_offset = UINT32_MAX;
		submit.error_index = UINT32_MAX;
		ret = ctx->dev->os.ioctl(ctx->dev->os.cookie, ctx->dev->fd,
					 DRM_IOCTL_TESSERA_SUBMIT, &submit);
		ret = ret == -1 ? -errno : 0;
	} while (ret == -EINTR);

	/*
	 * Also on success, if the kernel knows that the job will end with
	 * -ENOSPC.
	 */
	args->parts = submit.num_parts;
	args->error_offset = submit.error_offset;
	args->error_index = submit.error_index;
	return ret;
}

static int submit_patched(struct tessera_context *ctx, const struct tessera_cmdbuf *cb,
			  struct own_signals *own, struct tessera_submit_args *args)
{
	struct drm_tessera_array syncs;
	int ret = submit_syncs(ctx->dev, args, own, &syncs);

	if (ret)
		return ret;
	ret = submit_ioctl(ctx, cb, &syncs, args);
	tessera_free(ctx->dev, (void *)(uintptr_t)syncs.array);
	return ret;
}

/*
 * -ENOMEM means that evicted objects of the residency list do not fit any more.
 * Evict objects of earlier phases and try again.
 */
static int submit_vm_ioctl(struct tessera_context *ctx, struct drm_tessera_submit_vm *submit)
{
	int ret;

	do {
		ret = tessera_ioctl(ctx->dev, DRM_IOCTL_TESSERA_SUBMIT_VM, submit);
	} while (ret == -ENOMEM && tessera_vm_trim(ctx->vm));
	return ret;
}

/* Caller holds the context's lock. */
static int submit_vm_locked(struct tessera_context *ctx, const struct tessera_cmdbuf *cb,
			    struct own_signals *own, struct tessera_submit_args *args)
{
	struct drm_tessera_submit_vm submit = {
		.context = ctx->id,
		.cmd_size = cb->num_cmds * sizeof(uint32_t),
	};
	uint64_t address;
	int ret;

	ret = tessera_cmdmem_place(ctx->cmdmem, cb->cmds, submit.cmd_size, &address,
				   &own->list[own->count]);
	if (ret)
		return ret;
	submit.cmds = address;
	own->count++;
	ret = submit_syncs(ctx->dev, args, own, &submit.syncs);
	if (ret)
		return ret;
	ret = submit_vm_ioctl(ctx, &submit);
	tessera_free(ctx->dev, (void *)(uintptr_t)submit.syncs.array);
	if (!ret) {
		tessera_cmdmem_submitted(ctx->cmdmem);
		args->parts = 1;
	}
	return ret;
}

static int submit_vm(struct tessera_context *ctx, const struct tessera_cmdbuf *cb,
		     struct own_signals *own, struct tessera_submit_args *args)
{
	int ret;

	if (!cb->num_cmds)
		return -EINVAL;
	pthread_mutex_lock(&ctx->lock);
	ret = submit_vm_locked(ctx, cb, own, args);
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

int tessera_context_submit(struct tessera_context *ctx, struct tessera_cmdbuf *cb,
			   struct tessera_submit_args *args)
{
	struct tessera_submit_args none = { 0 };
	struct tessera_fence *fence = NULL;
	struct own_signals own = { 0 };
	int ret;

	if (!args)
		args = &none;
	args->parts = 0;
	args->error_offset = UINT32_MAX;
	args->error_index = UINT32_MAX;
	if ((args->flags & ~TESSERA_SUBMIT_WAIT_FOR_SUBMIT) ||
	    tessera_reserved_check(args->reserved, ARRAY_SIZE(args->reserved)))
		return -EINVAL;
	if (cb->dev != ctx->dev || cb->vm != ctx->vm)
		return -EXDEV;
	ret = tessera_cmdbuf_finish(cb);
	if (ret)
		return ret;
	if (args->fence) {
		ret = tessera_fence_new(ctx->dev, &fence);
		if (ret)
			return ret;
		own.list[own.count++].obj = fence->obj;
	}
	ret = ctx->vm ? submit_vm(ctx, cb, &own, args) : submit_patched(ctx, cb, &own, args);
	if (ret)
		tessera_fence_del(fence);
	else if (args->fence)
		*args->fence = fence;
	return ret;
}

int tessera_context_run(struct tessera_context *ctx, struct tessera_cmdbuf *cb)
{
	struct tessera_fence *fence;
	struct tessera_submit_args args = { .fence = &fence };
	int job_error, ret;

	ret = tessera_context_submit(ctx, cb, &args);
	if (ret)
		return ret;
	ret = tessera_fence_wait(fence, TESSERA_FOREVER, &job_error);
	tessera_fence_del(fence);
	return ret ? ret : job_error;
}
