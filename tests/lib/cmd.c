// SPDX-License-Identifier: MIT
/* Command buffers with their allocation and patch lists; submission. */
#include "tsr.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

void tsr_cmd_init(struct tsr_cmd *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->group = TSR_NO_GROUP;
}

void tsr_cmd_fini(struct tsr_cmd *cmd)
{
	free(cmd->dw);
	free(cmd->allocs);
	free(cmd->patches);
	tsr_cmd_init(cmd);
}

void tsr_cmd_reset(struct tsr_cmd *cmd)
{
	cmd->num_dw = 0;
	cmd->num_allocs = 0;
	cmd->num_patches = 0;
	cmd->group = TSR_NO_GROUP;
}

static void *grow(void *array, uint32_t *max, uint32_t need, size_t element)
{
	if (need <= *max)
		return array;
	while (*max < need)
		*max = *max ? *max * 2 : 64;
	array = realloc(array, *max * element);
	require(array);
	return array;
}

uint32_t *tsr_cmd_packet(struct tsr_cmd *cmd, uint32_t op, uint32_t flags, uint32_t dwords)
{
	uint32_t *p;

	cmd->dw = grow(cmd->dw, &cmd->max_dw, cmd->num_dw + dwords, 4);
	p = cmd->dw + cmd->num_dw;
	memset(p, 0, dwords * 4);
	p[0] = TSR_PKT_HEADER(op, flags, dwords);
	cmd->num_dw += dwords;
	return p;
}

uint32_t tsr_cmd_alloc(struct tsr_cmd *cmd, uint32_t handle, bool write)
{
	uint32_t flags = handle && write ? DRM_TESSERA_ALLOC_WRITE : 0;
	uint32_t i;

	for (i = 0; i < cmd->num_allocs; i++)
		if (cmd->allocs[i].handle == handle) {
			cmd->allocs[i].flags |= flags;
			return i;
		}
	cmd->allocs = grow(cmd->allocs, &cmd->max_allocs, i + 1, sizeof(*cmd->allocs));
	cmd->allocs[i].handle = handle;
	cmd->allocs[i].flags = flags;
	cmd->num_allocs++;
	return i;
}

static struct drm_tessera_submit_patch *add_patch(struct tsr_cmd *cmd)
{
	struct drm_tessera_submit_patch *patch;

	cmd->patches =
		grow(cmd->patches, &cmd->max_patches, cmd->num_patches + 1, sizeof(*cmd->patches));
	patch = &cmd->patches[cmd->num_patches++];
	memset(patch, 0, sizeof(*patch));
	patch->split_offset = cmd->group != TSR_NO_GROUP ? cmd->group : tsr_cmd_bytes(cmd);
	patch->driver_id = cmd->num_patches;
	return patch;
}

void tsr_cmd_group_begin(struct tsr_cmd *cmd)
{
	cmd->group = tsr_cmd_bytes(cmd);
}

void tsr_cmd_group_end(struct tsr_cmd *cmd)
{
	cmd->group = TSR_NO_GROUP;
}

uint32_t tsr_cmd_bind(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo,
		      const struct tsr_surface *surface)
{
	struct drm_tessera_submit_patch *patch = add_patch(cmd);
	uint32_t offset = tsr_cmd_bytes(cmd);
	uint32_t *p;

	patch->alloc_index = tsr_cmd_alloc(cmd, bo->handle, surface->access & TSR_SURF_WRITE);
	patch->slot_id = slot;
	patch->patch_offset = offset + TSR_BIND_PATCH_OFFSET;
	patch->alloc_offset = surface->offset;

	p = tsr_cmd_packet(cmd, TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS);
	p[1] = slot;
	p[6] = surface->format << TSR_SURF_FORMAT_SHIFT | surface->layout << TSR_SURF_LAYOUT_SHIFT |
	       surface->access;
	p[7] = surface->pitch;
	p[8] = surface->width | surface->height << 16;
	return offset;
}

uint32_t tsr_cmd_bind_buffer(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo,
			     bool write)
{
	const struct tsr_surface buffer = {
		.format = TSR_FORMAT_R32,
		.access = TSR_SURF_READ | (write ? TSR_SURF_WRITE : 0),
	};

	return tsr_cmd_bind(cmd, slot, bo, &buffer);
}

struct tsr_surface tsr_surface_rows(uint32_t layout, uint32_t pitch, uint32_t rows)
{
	return (struct tsr_surface){
		.format = TSR_FORMAT_R32,
		.layout = layout,
		.access = TSR_SURF_READ | TSR_SURF_WRITE,
		.pitch = pitch,
		.width = pitch / 4,
		.height = rows,
	};
}

struct tsr_bo tsr_bo_new_rows(struct tsr_device *dev, const struct tsr_surface *rows,
			      uint32_t supported, uint32_t flags)
{
	struct drm_tessera_bo_create args = {
		.size = (uint64_t)rows->pitch * rows->height,
		.supported = supported,
		.flags = flags,
		.layout = rows->layout,
		.pitch = rows->layout ? rows->pitch : 0,
	};

	require_ok(__tsr_bo_create(dev->fd, &args));
	return (struct tsr_bo){ .handle = args.handle, .size = args.size };
}

/* Binds slots 0 and 1. */
void tsr_cmd_copy_rows(struct tsr_cmd *cmd, const struct tsr_bo *linear, const struct tsr_bo *bo,
		       const struct tsr_surface *rows)
{
	struct tsr_surface to = *rows;
	uint32_t *p;

	to.layout = TSR_LAYOUT_LINEAR;
	tsr_cmd_group_begin(cmd);
	tsr_cmd_bind(cmd, 0, linear, &to);
	tsr_cmd_bind(cmd, 1, bo, rows);
	tsr_cmd_group_end(cmd);
	p = tsr_cmd_packet(cmd, TSR_OP_COPY, 0, TSR_COPY_DWORDS);
	p[2] = 1;
	p[7] = rows->width;
	p[8] = rows->height;
}

void tsr_cmd_init_pair(struct tsr_cmd *cmd, const struct tsr_bo *first, const struct tsr_bo *second)
{
	tsr_cmd_init(cmd);
	tsr_cmd_group_begin(cmd);
	tsr_cmd_bind_buffer(cmd, 0, first, true);
	tsr_cmd_bind_buffer(cmd, 1, second, true);
	tsr_cmd_group_end(cmd);
}

uint32_t tsr_cmd_unbind(struct tsr_cmd *cmd, uint32_t slot)
{
	struct drm_tessera_submit_patch *patch = add_patch(cmd);
	uint32_t offset = tsr_cmd_bytes(cmd);

	patch->alloc_index = tsr_cmd_alloc(cmd, 0, false);
	patch->slot_id = slot;
	tsr_cmd_packet(cmd, TSR_OP_UNBIND_SLOT, 0, TSR_UNBIND_SLOT_DWORDS)[1] = slot;
	return offset;
}

void tsr_cmd_forget(struct tsr_cmd *cmd, uint32_t slot)
{
	struct drm_tessera_submit_patch *patch = add_patch(cmd);

	patch->alloc_index = tsr_cmd_alloc(cmd, 0, false);
	patch->slot_id = slot;
}

void tsr_cmd_fill(struct tsr_cmd *cmd, uint32_t slot, uint32_t x, uint32_t words, uint32_t value)
{
	uint32_t *p = tsr_cmd_packet(cmd, TSR_OP_FILL, 0, TSR_FILL_DWORDS);

	p[1] = slot;
	p[2] = x;
	p[4] = words;
	p[5] = 1;
	p[6] = value;
}

void tsr_cmd_copy(struct tsr_cmd *cmd, uint32_t dst, uint32_t dst_x, uint32_t src, uint32_t src_x,
		  uint32_t words)
{
	uint32_t *p = tsr_cmd_packet(cmd, TSR_OP_COPY, 0, TSR_COPY_DWORDS);

	p[1] = dst;
	p[2] = src;
	p[3] = dst_x;
	p[5] = src_x;
	p[7] = words;
	p[8] = 1;
}

void tsr_cmd_nop(struct tsr_cmd *cmd, uint32_t bytes)
{
	while (bytes) {
		uint32_t dwords = bytes / 4 < TSR_PKT_MAX_DWORDS ? bytes / 4 : TSR_PKT_MAX_DWORDS;

		tsr_cmd_packet(cmd, TSR_OP_NOP, 0, dwords);
		bytes -= dwords * 4;
	}
}

void tsr_cmd_pad_to(struct tsr_cmd *cmd, uint32_t offset)
{
	require_msg(tsr_cmd_bytes(cmd) <= offset, "commands are 0x%x bytes, beyond 0x%x",
		    tsr_cmd_bytes(cmd), offset);
	tsr_cmd_nop(cmd, offset - tsr_cmd_bytes(cmd));
}

void tsr_submit_args(const struct tsr_cmd *cmd, uint32_t context, struct drm_tessera_submit *args)
{
	memset(args, 0, sizeof(*args));
	args->context = context;
	args->cmds = (uintptr_t)cmd->dw;
	args->cmd_size = tsr_cmd_bytes(cmd);
	args->allocs.stride = sizeof(*cmd->allocs);
	args->allocs.count = cmd->num_allocs;
	args->allocs.array = (uintptr_t)cmd->allocs;
	args->patches.stride = sizeof(*cmd->patches);
	args->patches.count = cmd->num_patches;
	args->patches.array = (uintptr_t)cmd->patches;
	args->syncs.stride = sizeof(struct drm_tessera_sync);
}

int __tsr_submit_ioctl(int fd, struct drm_tessera_submit *args)
{
	struct drm_tessera_submit in = *args;
	int rc;

	do {
		*args = in; /* the previous call may have filled in [out] fields */
		rc = ioctl(fd, DRM_IOCTL_TESSERA_SUBMIT, args) < 0 ? -errno : 0;
	} while (rc == -EINTR || rc == -EAGAIN);
	return rc;
}

int __tsr_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd, uint32_t wait,
		 uint32_t signal, struct drm_tessera_submit *args)
{
	struct drm_tessera_sync syncs[2];
	uint32_t count = 0;
	int rc;

	memset(syncs, 0, sizeof(syncs));
	if (wait)
		syncs[count++].handle = wait;
	if (signal) {
		syncs[count].flags = DRM_TESSERA_SYNC_SIGNAL;
		syncs[count++].handle = signal;
	}
	tsr_submit_args(cmd, context, args);
	args->syncs.count = count;
	args->syncs.array = (uintptr_t)syncs;
	rc = __tsr_submit_ioctl(dev->fd, args);
	args->syncs.array = 0; /* @syncs ends with this function */
	return rc;
}

int __tsr_submit_use(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo, bool write)
{
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	int rc;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, write);
	rc = __tsr_submit(dev, context, &cmd, 0, 0, &args);
	tsr_cmd_fini(&cmd);
	return rc;
}

static void must_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
			uint32_t wait, uint32_t signal, struct drm_tessera_submit *args)
{
	int rc = __tsr_submit(dev, context, cmd, wait, signal, args);

	require_msg(!rc, "submit: %s, at command offset 0x%x, patch 0x%x", strerror(-rc),
		    args->error_offset, args->error_index);
	require(args->num_parts >= 1);
}

int __tsr_submit_syncs(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		       const struct drm_tessera_sync *syncs, uint32_t count)
{
	struct drm_tessera_submit args;

	tsr_submit_args(cmd, context, &args);
	args.syncs.count = count;
	args.syncs.array = (uintptr_t)syncs;
	return __tsr_submit_ioctl(dev->fd, &args);
}

uint32_t tsr_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		    uint32_t wait, uint32_t signal)
{
	struct drm_tessera_submit args;

	must_submit(dev, context, cmd, wait, signal, &args);
	return args.num_parts;
}

int tsr_submit_status(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		      uint32_t *parts)
{
	uint32_t sync = tsr_syncobj_new(dev);
	struct drm_tessera_submit args;
	int status;

	must_submit(dev, context, cmd, 0, sync, &args);
	status = tsr_syncobj_status(dev, sync);
	tsr_syncobj_free(dev, sync);
	/*
	 * A job that ran to its end reports no error place, not even one that
	 * an earlier plan of the same submission had predicted.
	 */
	if (!status) {
		require_eq(args.error_offset, 0xffffffffu);
		require_eq(args.error_index, 0xffffffffu);
	}
	/*
	 * If the job could not be placed to its end, the place is reported
	 * although SUBMIT returned 0.
	 */
	if (status == -ENOSPC)
		require(args.error_offset != 0xffffffffu && args.error_index != 0xffffffffu);
	if (parts)
		*parts = args.num_parts;
	return status;
}

void tsr_submit_done(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd)
{
	require_ok(tsr_submit_status(dev, context, cmd, NULL));
}

void tsr_gpu_fill(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo, uint32_t value)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo->size / 4), value);
	tsr_submit_done(dev, context, &cmd);
	tsr_cmd_fini(&cmd);
}

void tsr_gpu_copy(struct tsr_device *dev, uint32_t context, const struct tsr_bo *dst,
		  const struct tsr_bo *src)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, dst, true);
	tsr_cmd_bind_buffer(&cmd, 1, src, false);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, (uint32_t)(src->size / 4));
	tsr_submit_done(dev, context, &cmd);
	tsr_cmd_fini(&cmd);
}

void tsr_gpu_read(struct tsr_device *dev, uint32_t context, const struct tsr_bo *src, uint64_t word,
		  uint32_t words, uint32_t *out)
{
	uint64_t size = ((uint64_t)words * 4 + 4095) & ~4095ull;
	struct tsr_bo staging = tsr_bo_new(dev, size, tsr_segs_staging(dev),
					   DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &staging, true);
	tsr_cmd_bind_buffer(&cmd, 1, src, false);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_copy(&cmd, 0, 0, 1, (uint32_t)word, words);
	tsr_submit_done(dev, context, &cmd);
	tsr_cmd_fini(&cmd);
	memcpy(out, tsr_bo_map(dev, &staging), (size_t)words * 4);
	tsr_bo_free(dev, &staging);
}

void tsr_gpu_touch(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, false);
	tsr_submit_done(dev, context, &cmd);
	tsr_cmd_fini(&cmd);
}

struct tsr_bo tsr_bo_patterned(struct tsr_device *dev, uint32_t context, uint64_t size,
			       uint32_t set, uint32_t key)
{
	struct tsr_bo bo = tsr_bo_new(dev, size, set, DRM_TESSERA_BO_CPU_ACCESS);

	tsr_bo_map(dev, &bo);
	tsr_pattern_write(&bo, key);
	tsr_gpu_touch(dev, context, &bo);
	return bo;
}

void tsr_cmd_blit_rows(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo)
{
	const struct tsr_surface surface = {
		.format = TSR_FORMAT_ARGB8888,
		.access = TSR_SURF_READ | TSR_SURF_WRITE,
		.pitch = 64,
		.width = 16,
		.height = 16,
	};
	uint32_t *p;

	tsr_cmd_bind(cmd, slot, bo, &surface);
	p = tsr_cmd_packet(cmd, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS);
	p[1] = slot;
	p[2] = slot;
	p[3] = 8 << 16;
	p[4] = 16 | 4 << 16;
	p[6] = 16 | 4 << 16;
	p[8] = 0xffffffff;
}

void tsr_gpu_blit(struct tsr_device *dev, uint32_t context)
{
	struct tsr_bo bo = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), 0);
	uint32_t words[16 * 16];
	struct tsr_cmd cmd;

	tsr_gpu_fill(dev, context, &bo, 0xff123456);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 4 * 16, 12 * 16, 0);
	tsr_cmd_blit_rows(&cmd, 0, &bo);
	tsr_submit_done(dev, context, &cmd);
	tsr_cmd_fini(&cmd);
	tsr_gpu_read(dev, context, &bo, 0, ARRAY_SIZE(words), words);
	for (uint32_t row = 0; row < 16; row += 4)
		tsr_words_check(words + row * 16, 4 * 16, row & 4 ? 0 : 0xff123456);
	tsr_bo_free(dev, &bo);
}

void tsr_evict_all(struct tsr_device *dev, uint32_t context,
		   const struct drm_tessera_query_segment *seg)
{
	struct tsr_bo filler = tsr_bo_new(
		dev, seg->commit_limit, tsr_bit(seg),
		seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY ? DRM_TESSERA_BO_GPU_READ_ONLY : 0);

	tsr_gpu_touch(dev, context, &filler);
	require_eq(tsr_bo_info(dev, &filler).segment, seg->id);
	tsr_bo_free(dev, &filler);
}
