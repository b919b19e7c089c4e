// SPDX-License-Identifier: MIT
/*
 * Bad input to SUBMIT: one row for each documented error and each field. A row
 * takes a good job and spoils one thing. After each row nothing may have run or
 * leaked, and the good job must still work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tsr.h"

#define VALUE 0x600df00d

struct job {
	struct tsr_device *dev;
	struct tsr_bo dst, src;
	struct tsr_cmd cmd;
	struct drm_tessera_submit args;
	struct drm_tessera_sync syncs[4];
	/* byte offsets of packets */
	uint32_t bind_dst, bind_src, fill, copy, unbind, bytes;
	uint32_t context;
};

/* Patches: 0 dst, 1 src (one split point), 2 unbinds src, 3 src in slot 2. */
static void job_build(struct job *j)
{
	struct tsr_cmd *c = &j->cmd;

	tsr_cmd_reset(c);
	tsr_cmd_group_begin(c);
	j->bind_dst = tsr_cmd_bind_buffer(c, 0, &j->dst, true);
	j->bind_src = tsr_cmd_bind_buffer(c, 1, &j->src, false);
	tsr_cmd_group_end(c);
	j->fill = tsr_cmd_bytes(c);
	tsr_cmd_fill(c, 0, 0, 1024, VALUE);
	j->copy = tsr_cmd_bytes(c);
	tsr_cmd_copy(c, 0, 0, 1, 0, 16);
	j->unbind = tsr_cmd_unbind(c, 1);
	tsr_cmd_bind_buffer(c, 2, &j->src, false);
	tsr_cmd_nop(c, 16);
	j->bytes = tsr_cmd_bytes(c);
	memset(j->syncs, 0, sizeof(j->syncs));
	tsr_submit_args(c, j->context, &j->args);
	j->args.syncs.array = (uintptr_t)j->syncs;
}

static void job_init(struct job *j, struct tsr_device *dev)
{
	uint32_t gart = tsr_bit(tsr_seg_gart(dev));

	memset(j, 0, sizeof(*j));
	j->dev = dev;
	j->dst = tsr_bo_new(dev, 4096, gart, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	j->src = tsr_bo_new(dev, 4096, gart, 0);
	j->context = tsr_context_new(dev, 0);
	tsr_bo_map(dev, &j->dst);
	tsr_cmd_init(&j->cmd);
}

static void job_good(struct job *j)
{
	uint32_t *words = j->dst.map;

	job_build(j);
	memset(j->dst.map, 0, 4096);
	tsr_submit_done(j->dev, j->context, &j->cmd);
	require_eq(words[0], 0); /* copied from src */
	require_eq(words[16], VALUE);
}

static struct drm_tessera_submit_patch *patch(struct job *j, int i)
{
	return &j->cmd.patches[i];
}

static uint32_t *dw(struct job *j, uint32_t offset)
{
	return j->cmd.dw + offset / 4;
}

static void surface(struct job *j, uint32_t pitch, uint32_t width, uint32_t height)
{
	dw(j, j->bind_src)[7] = pitch;
	dw(j, j->bind_src)[8] = width | height << 16;
}

static void add_syncs(struct job *j, uint32_t count)
{
	j->args.syncs.count = count;
}

/* name, expected errno, change to the job */
#define ROWS(X)                                                                                    \
	/* the argument struct */                                                                  \
	X(context_0, -ENOENT, j->args.context = 0)                                                 \
	X(context_unknown, -ENOENT, j->args.context = 0x7ffffff)                                   \
	X(flags_bit_0, -EINVAL, j->args.flags = 1)                                                 \
	X(flags_bit_31, -EINVAL, j->args.flags = 1u << 31)                                         \
	X(no_commands, -EINVAL, j->args.cmd_size = 0)                                              \
	X(size_4, -EINVAL, j->args.cmd_size -= 4)                                                  \
	X(size_1, -EINVAL, j->args.cmd_size -= 1)                                                  \
	X(commands_unaligned, -EINVAL, j->args.cmds += 4)                                          \
	X(commands_unreadable, -EFAULT, j->args.cmds = 8)                                          \
	X(commands_kernel, -EFAULT, j->args.cmds = 0xffff888000000000ull)                          \
	X(commands_too_large, -E2BIG, j->args.cmd_size = j->dev->info.max_cmd_bytes + 8)           \
	X(commands_huge, -E2BIG, j->args.cmd_size = 0xfffffff8)                                    \
	/* the arrays */                                                                           \
	X(allocs_stride_0, -EINVAL, j->args.allocs.stride = 0)                                     \
	X(allocs_stride_short, -EINVAL, j->args.allocs.stride = 4)                                 \
	X(allocs_unreadable, -EFAULT, j->args.allocs.array = 8)                                    \
	X(allocs_too_many, -E2BIG, j->args.allocs.count = j->dev->info.max_allocs + 1)             \
	X(allocs_huge, -E2BIG, j->args.allocs.count = 0xffffffff)                                  \
	X(patches_stride_0, -EINVAL, j->args.patches.stride = 0)                                   \
	X(patches_stride_short, -EINVAL, j->args.patches.stride = 24)                              \
	X(patches_unreadable, -EFAULT, j->args.patches.array = 8)                                  \
	X(patches_too_many, -E2BIG, j->args.patches.count = j->dev->info.max_patches + 1)          \
	X(patches_huge, -E2BIG, j->args.patches.count = 0xffffffff)                                \
	X(syncs_stride_0, -EINVAL, (add_syncs(j, 1), j->args.syncs.stride = 0))                    \
	X(syncs_unreadable, -EFAULT, (add_syncs(j, 1), j->args.syncs.array = 8))                   \
	X(syncs_too_many, -E2BIG, add_syncs(j, j->dev->info.max_syncs + 1))                        \
	/* allocations */                                                                          \
	X(handle_unknown, -ENOENT, j->cmd.allocs[1].handle = 0x7fffffff)                           \
	X(handle_twice, -EINVAL, j->cmd.allocs[1].handle = j->cmd.allocs[0].handle)                \
	X(alloc_flag_bit_1, -EINVAL, j->cmd.allocs[1].flags = 2)                                   \
	X(alloc_flag_bit_31, -EINVAL, j->cmd.allocs[1].flags = 1u << 31)                           \
	X(null_with_flags, -EINVAL, j->cmd.allocs[2].flags = DRM_TESSERA_ALLOC_WRITE)              \
	X(write_not_listed, -EINVAL, j->cmd.allocs[0].flags = 0)                                   \
	/* patches: SPLIT-5, 6, 12, 21, 33, 36 */                                                  \
	X(index_outside, -EINVAL, patch(j, 1)->alloc_index = 3)                                    \
	X(index_max, -EINVAL, patch(j, 1)->alloc_index = 0xffffffff)                               \
	X(slot_max, -EINVAL, patch(j, 1)->slot_id = j->dev->info.max_slots)                        \
	X(slot_upper_bits, -EINVAL, patch(j, 1)->slot_id |= 1u << 24)                              \
	X(slot_not_the_packets, -EINVAL, patch(j, 1)->slot_id = 3)                                 \
	X(split_decreases, -EINVAL, patch(j, 3)->split_offset = 0)                                 \
	X(split_beyond_end, -EINVAL, patch(j, 3)->split_offset = j->bytes + 8)                     \
	X(split_at_end_bound, -EINVAL, patch(j, 3)->split_offset = j->bytes)                       \
	X(split_unaligned, -EINVAL, patch(j, 2)->split_offset += 4)                                \
	X(split_inside_packet, -EINVAL, patch(j, 2)->split_offset -= 8)                            \
	X(patch_unaligned, -EINVAL, patch(j, 1)->patch_offset += 4)                                \
	X(patch_beyond_end, -EINVAL, patch(j, 3)->patch_offset = j->bytes - 8)                     \
	X(patch_wraps, -EINVAL, patch(j, 3)->patch_offset = 0xfffffff8)                            \
	X(patch_on_no_bind, -EINVAL, patch(j, 1)->patch_offset = j->fill + 8)                      \
	X(patch_before_split, -EINVAL, patch(j, 1)->split_offset = patch(j, 2)->split_offset)      \
	X(patch_behind_next, -EINVAL, patch(j, 3)->slot_id = 1)                                    \
	X(patches_overlap, -EINVAL, patch(j, 1)->patch_offset = patch(j, 0)->patch_offset)         \
	X(two_allocs_one_slot, -EINVAL, (patch(j, 1)->slot_id = 0, dw(j, j->bind_src)[1] = 0))     \
	X(patch_padding, -EINVAL, patch(j, 1)->pad = 1)                                            \
	X(bind_not_covered, -EINVAL, j->args.patches.count = 3)                                    \
	X(null_with_patch, -EINVAL, patch(j, 2)->patch_offset = 8)                                 \
	X(null_with_offset, -EINVAL, patch(j, 2)->alloc_offset = 8)                                \
	X(offset_at_size, -EINVAL, patch(j, 1)->alloc_offset = 4096)                               \
	X(offset_wraps, -EINVAL, patch(j, 1)->alloc_offset = ~0ull << 3)                           \
	X(offset_unaligned, -EINVAL, patch(j, 1)->alloc_offset = 4)                                \
	/* commands */                                                                             \
	X(opcode_unknown, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(0x7f, 0, 8))                 \
	X(opcode_fence, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_FENCE, 0, 8))           \
	X(opcode_ib_call, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, 8))       \
	X(opcode_transfer, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_TRANSFER, 0, 8))     \
	X(opcode_map, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_MAP_APERTURE, 0, 8))      \
	X(opcode_mark, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_MARK, 0, 8))             \
	X(length_0, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_FILL, 0, 0))                \
	X(length_odd, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_FILL, 0, 7))              \
	X(length_short, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_FILL, 0, 6))            \
	X(length_beyond, -EINVAL, dw(j, j->bytes - 16)[0] = TSR_PKT_HEADER(TSR_OP_NOP, 0, 6))      \
	X(header_flags, -EINVAL, dw(j, j->fill)[0] = TSR_PKT_HEADER(TSR_OP_FILL, 1, 8))            \
	X(bind_slot_upper, -EINVAL, dw(j, j->bind_src)[1] |= 1u << 24)                             \
	X(bind_reserved, -EINVAL, dw(j, j->bind_src)[9] = 1)                                       \
	X(bind_base_low, -EINVAL, dw(j, j->bind_src)[2] = 8)                                       \
	X(bind_base_high, -EINVAL, dw(j, j->bind_src)[3] = 1)                                      \
	X(bind_limit_low, -EINVAL, dw(j, j->bind_src)[4] = 4096)                                   \
	X(bind_limit_high, -EINVAL, dw(j, j->bind_src)[5] = 1)                                     \
	X(bind_no_access, -EINVAL, dw(j, j->bind_src)[6] = TSR_FORMAT_R32)                         \
	X(bind_swizzled_buffer, -EINVAL,                                                           \
	  dw(j, j->bind_src)[6] |= TSR_LAYOUT_TILE4K << TSR_SURF_LAYOUT_SHIFT)                     \
	X(bind_buffer_width, -EINVAL, dw(j, j->bind_src)[8] = 1)                                   \
	X(bind_buffer_height, -EINVAL, dw(j, j->bind_src)[8] = 1 << 16)                            \
	X(bind_no_width, -EINVAL, surface(j, 64, 0, 1))                                            \
	X(bind_no_height, -EINVAL, surface(j, 64, 1, 0))                                           \
	X(bind_too_wide, -EINVAL, surface(j, 65540, 16385, 1))                                     \
	X(bind_too_high, -EINVAL, surface(j, 64, 1, 16385))                                        \
	X(bind_pitch_unaligned, -EINVAL, surface(j, 66, 16, 1))                                    \
	X(bind_pitch_short, -EINVAL, surface(j, 60, 16, 1))                                        \
	X(bind_pitch_max, -EINVAL, surface(j, TSR_SURF_MAX_PITCH + 4, 16, 1))                      \
	X(bind_tiled_pitch, -EINVAL,                                                               \
	  (surface(j, 64, 16, 1),                                                                  \
	   dw(j, j->bind_src)[6] |= TSR_LAYOUT_MORTON << TSR_SURF_LAYOUT_SHIFT))                   \
	X(bind_tiled_offset, -EINVAL,                                                              \
	  (surface(j, 128, 16, 1), patch(j, 1)->alloc_offset = 2048,                               \
	   dw(j, j->bind_src)[6] |= TSR_LAYOUT_TILE4K << TSR_SURF_LAYOUT_SHIFT))                   \
	X(bind_surface_bits, -EINVAL, dw(j, j->bind_src)[6] |= 1u << 20)                           \
	/* syncs */                                                                                \
	X(sync_unknown, -ENOENT, (add_syncs(j, 1), j->syncs[0].handle = 0x7fffffff))               \
	X(sync_handle_0, -ENOENT, (add_syncs(j, 1), j->syncs[0].flags = DRM_TESSERA_SYNC_SIGNAL))  \
	X(sync_flag_bit_3, -EINVAL, (add_syncs(j, 1), j->syncs[0].flags = 8))                      \
	X(sync_point_binary, -EINVAL,                                                              \
	  (add_syncs(j, 1), j->syncs[0].handle = tsr_syncobj_new(j->dev),                          \
	   j->syncs[0].flags = DRM_TESSERA_SYNC_SIGNAL, j->syncs[0].point = 1))                    \
	X(sync_no_point, -EINVAL,                                                                  \
	  (add_syncs(j, 1), j->syncs[0].handle = tsr_syncobj_new(j->dev),                          \
	   j->syncs[0].flags = DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE))               \
	X(sync_wait_no_fence, -EINVAL,                                                             \
	  (add_syncs(j, 1), j->syncs[0].handle = tsr_syncobj_new(j->dev)))                         \
	X(sync_wait_no_timeline_fence, -EINVAL,                                                    \
	  (add_syncs(j, 1), j->syncs[0].handle = tsr_syncobj_new(j->dev),                          \
	   j->syncs[0].flags = DRM_TESSERA_SYNC_TIMELINE, j->syncs[0].point = 7))

#define MAKE_FUNCTION(name, err, code)                                                             \
	static void spoil_##name(struct job *j)                                                    \
	{                                                                                          \
		code;                                                                              \
	}
ROWS(MAKE_FUNCTION)

#define MAKE_ROW(name, err, code) { #name, err, spoil_##name },
static const struct row {
	const char *name;
	int err;
	void (*spoil)(struct job *j);
} rows[] = { ROWS(MAKE_ROW) };

static void check_row(struct job *j, const struct row *row)
{
	uint32_t *words = j->dst.map;
	uint64_t used = tsr_query_memory(j->dev, tsr_seg_gart(j->dev)->id).used;
	int rc;

	job_build(j);
	words[16] = 0x1234;
	row->spoil(j);
	rc = __tsr_submit_ioctl(j->dev->fd, &j->args);
	require_msg(rc == row->err, "%s: %d (%s), not %d", row->name, rc,
		    rc ? strerror(-rc) : "success", row->err);
	tsr_bo_wait(j->dev, &j->dst);
	require_msg(words[16] == 0x1234, "%s: it ran", row->name);
	require_msg(tsr_query_memory(j->dev, tsr_seg_gart(j->dev)->id).used == used,
		    "%s: memory in use changed", row->name);
	job_good(j);
}

static void bad_rows(void)
{
	struct tsr_device dev = tsr_open();
	struct job j;

	job_init(&j, &dev);
	job_good(&j);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&j, &rows[i]);
	tap_note("%zu rows", ARRAY_SIZE(rows));
	tsr_close(&dev);
}

/* The call reports the place of the error: command offset or patch index. */
static void errors_have_a_place(void)
{
	struct tsr_device dev = tsr_open();
	struct job j;

	job_init(&j, &dev);
	job_build(&j);
	dw(&j, j.fill)[0] = TSR_PKT_HEADER(0x7f, 0, 8);
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	require_eq(j.args.error_offset, j.fill);

	job_build(&j);
	patch(&j, 3)->split_offset = 0;
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	require_eq(j.args.error_index, 3);

	job_build(&j);
	surface(&j, 60, 16, 1);
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	require_eq(j.args.error_offset, j.bind_src);

	job_build(&j);
	dw(&j, j.bind_src)[4] = 1;
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	require_eq(j.args.error_offset, j.bind_src);

	job_build(&j);
	patch(&j, 1)->slot_id = dev.info.max_slots;
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	require_eq(j.args.error_index, 1);

	/* the largest valid slot works, and no place is reported */
	job_build(&j);
	patch(&j, 3)->slot_id = dev.info.max_slots - 1;
	dw(&j, j.unbind + 8)[1] = dev.info.max_slots - 1;
	require_ok(__tsr_submit_ioctl(dev.fd, &j.args));
	require_eq(j.args.error_index, 0xffffffff);
	require_eq(j.args.error_offset, 0xffffffff);
	tsr_close(&dev);
}

/* [out] fields may hold any value on input, and are always written. */
static void out_fields_are_ignored(void)
{
	struct tsr_device dev = tsr_open();
	struct job j;

	job_init(&j, &dev);
	job_build(&j);
	for (int i = 0; i < 2; i++) {
		j.args.num_parts = 77;
		j.args.error_offset = 77;
		j.args.error_index = 77;
		require_ok(__tsr_submit_ioctl(dev.fd, &j.args));
		require_eq(j.args.num_parts, 1);
		require_eq(j.args.error_offset, 0xffffffff);
		require_eq(j.args.error_index, 0xffffffff);
	}
	j.args.num_parts = 77;
	j.args.error_offset = 77;
	j.args.flags = 1;
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	require_eq(j.args.num_parts, 0);
	require_eq(j.args.error_offset, 0xffffffff);
	tsr_close(&dev);
}

/* Boundary values that are valid: SPLIT-12, SPLIT-21, SPLIT-33, SPLIT-36. */
static void good_boundaries(void)
{
	struct tsr_device dev = tsr_open();
	struct job j;
	struct tsr_cmd *c = &j.cmd;

	job_init(&j, &dev);

	/* an unbind at the end of the commands */
	tsr_cmd_reset(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_fill(c, 0, 0, 1, 1);
	tsr_cmd_unbind(c, 0);
	patch(&j, 1)->split_offset = tsr_cmd_bytes(c);
	tsr_submit_done(&dev, j.context, c);

	/* a patch that ends where the next split point of the slot begins */
	tsr_cmd_reset(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_bind_buffer(c, 0, &j.src, false);
	tsr_submit_done(&dev, j.context, c);

	/* two bind packets for one binding: both patched, the last counts */
	tsr_cmd_reset(c);
	tsr_cmd_group_begin(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	patch(&j, 1)->alloc_offset = 64;
	tsr_cmd_group_end(c);
	tsr_cmd_fill(c, 0, 0, 1, 0xabcd);
	tsr_submit_done(&dev, j.context, c);
	require_eq(((uint32_t *)j.dst.map)[16], 0xabcd);

	/* commands without any allocation */
	tsr_cmd_reset(c);
	tsr_cmd_nop(c, 4096);
	tsr_submit_done(&dev, j.context, c);

	/* the largest command buffer */
	tsr_cmd_reset(c);
	tsr_cmd_nop(c, dev.info.max_cmd_bytes);
	tsr_submit_done(&dev, j.context, c);
	tsr_close(&dev);
}

/* A written object cannot be placed in a read-only aperture. */
static void written_read_only(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo =
		tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_ro(&dev)), DRM_TESSERA_BO_GPU_READ_ONLY);
	struct tsr_bo both =
		tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_ro(&dev)) | tsr_bit(tsr_seg_gart(&dev)), 0);
	struct tsr_bo promised =
		tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), DRM_TESSERA_BO_GPU_READ_ONLY);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EINVAL);
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	tsr_submit_done(&dev, ctx, &cmd);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_ro(&dev)->id);

	/* an object declared read-only cannot be written in any segment */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &promised, true);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EINVAL);
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &promised, false);
	tsr_submit_done(&dev, ctx, &cmd);

	/* one that supports another segment is placed there */
	tsr_gpu_fill(&dev, ctx, &both, 1);
	require_eq(tsr_bo_info(&dev, &both).segment, tsr_seg_gart(&dev)->id);
	tsr_close(&dev);
}

/* SCHED-6: the leak check. */
static void leak_check(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t strict = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_LEAK_CHECK);
	uint32_t plain = tsr_context_new(&dev, 0);
	struct drm_tessera_submit args;
	struct job j;
	struct tsr_cmd *c = &j.cmd;

	job_init(&j, &dev);
	/* slot 0 stays bound over the split point of slot 1: refused */
	tsr_cmd_reset(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_bind_buffer(c, 1, &j.src, false);
	require_err(__tsr_submit(&dev, strict, c, 0, 0, &args), -EINVAL);
	tsr_submit_done(&dev, plain, c);

	/* rebound at the split point: accepted */
	tsr_cmd_reset(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_group_begin(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_bind_buffer(c, 1, &j.src, false);
	tsr_cmd_group_end(c);
	tsr_submit_done(&dev, strict, c);

	/* unbound at the split point: accepted */
	tsr_cmd_reset(c);
	tsr_cmd_bind_buffer(c, 0, &j.dst, true);
	tsr_cmd_group_begin(c);
	tsr_cmd_unbind(c, 0);
	tsr_cmd_bind_buffer(c, 1, &j.src, false);
	tsr_cmd_group_end(c);
	tsr_submit_done(&dev, strict, c);
	tsr_close(&dev);
}

/* SPLIT-34: a split point that does not fit is refused, and nothing runs. */
static void does_not_fit(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo a = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	struct tsr_bo b = tsr_bo_new(&dev, 4096, tsr_bit(seg), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &a, true);
	tsr_cmd_nop(&cmd, 64);
	tsr_cmd_bind_buffer(&cmd, 1, &b, true);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -ENOSPC);
	require_eq(args.error_offset, 40 + 64);
	require_eq(args.num_parts, 0);
	/* not bound at the same time: accepted */
	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &a, true);
	tsr_cmd_bind_buffer(&cmd, 0, &b, true);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_close(&dev);
}

/* Newer userspace: elements may be longer if their unknown part is zero. */
static void longer_elements(void)
{
	struct tsr_device dev = tsr_open();
	struct {
		struct drm_tessera_submit_alloc alloc;
		uint64_t more;
	} longer[3];
	struct job j;

	job_init(&j, &dev);
	job_build(&j);
	memset(longer, 0, sizeof(longer));
	for (int i = 0; i < 3; i++)
		longer[i].alloc = j.cmd.allocs[i];
	j.args.allocs.stride = sizeof(longer[0]);
	j.args.allocs.array = (uintptr_t)longer;
	require_ok(__tsr_submit_ioctl(dev.fd, &j.args));

	job_build(&j);
	j.args.allocs.stride = sizeof(longer[0]);
	j.args.allocs.array = (uintptr_t)longer;
	longer[1].more = 1;
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EINVAL);
	job_good(&j);
	tsr_close(&dev);
}

/* Arrays that extend beyond the last readable page. */
static void arrays_half_readable(void)
{
	struct tsr_device dev = tsr_open();
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct job j;
	size_t half;

	require(pages != MAP_FAILED);
	require(!mprotect(pages + 4096, 4096, PROT_NONE));
	job_init(&j, &dev);
	job_build(&j);
	half = sizeof(struct drm_tessera_submit_patch) * 2;
	memcpy(pages + 4096 - half, j.cmd.patches, half);
	j.args.patches.array = (uintptr_t)(pages + 4096 - half);
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EFAULT);

	job_build(&j);
	memcpy(pages + 4096 - 64, j.cmd.dw, 64);
	j.args.cmds = (uintptr_t)(pages + 4096 - 64);
	require_err(__tsr_submit_ioctl(dev.fd, &j.args), -EFAULT);
	job_good(&j);
	tsr_close(&dev);
}

/* Handles of destroyed objects and contexts are unknown. */
static void stale_names(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t gone = tsr_context_new(&dev, 0);
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	tsr_context_free(&dev, gone);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	require_err(__tsr_submit(&dev, gone, &cmd, 0, 0, &args), -ENOENT);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_bo_free(&dev, &bo);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -ENOENT);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-5 SPLIT-6 SPLIT-12 SPLIT-21 SPLIT-33 SPLIT-36 ERR-1..14 MODEL-17 SUBMIT refuses "
	  "bad input",
	  bad_rows, 0, 0 },
	{ "SUBMIT reports the place of the error", errors_have_a_place, 0, 0 },
	{ "SUBMIT ignores [out] fields on input", out_fields_are_ignored, 0, 0 },
	{ "SPLIT-6 SPLIT-12 SPLIT-21 SPLIT-33 SPLIT-36 boundary values are accepted",
	  good_boundaries, 0, 0 },
	{ "SEG-20 SPLIT-31 ERR-19 a written allocation keeps out of read-only apertures",
	  written_read_only, 0, 0 },
	{ "SCHED-6 ERR-18 the leak check", leak_check, 0, 0 },
	{ "SPLIT-34 ERR-15 a split point that cannot fit is refused and nothing runs", does_not_fit,
	  0, 0 },
	{ "longer array elements of newer userspace", longer_elements, 0, 0 },
	{ "arrays that end in unmapped memory", arrays_half_readable, 0, 0 },
	{ "ERR-2 destroyed handles and contexts are unknown", stale_names, 0, 0 },
};

TSR_TEST_MAIN(tests)
