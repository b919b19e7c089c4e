// SPDX-License-Identifier: MIT
#include "puzzle.h"

const struct tsr_puzzle tsr_puzzle[] = { { 1, 1, 3 }, { 4, 0, 1 }, { 2, 1, 2 }, { 4, 2, 4 },
					 { 1, 1, 5 }, { 1, 0, 3 }, { 3, 0, 2 }, { 3, 3, 4 } };

void tsr_puzzle_build(struct tsr_cmd *cmd, const struct tsr_bo *bos, const struct tsr_bo *log,
		      bool rebind, uint32_t *offsets)
{
	for (uint32_t step = 0; step < TSR_PUZZLE_STEPS; step++) {
		offsets[step] = tsr_cmd_bytes(cmd);
		tsr_cmd_group_begin(cmd);
		for (uint32_t i = 0; i < TSR_PUZZLE_OBJECTS; i++)
			if (tsr_puzzle[i].to == step)
				tsr_cmd_unbind(cmd, i);
		for (uint32_t i = 0; i < TSR_PUZZLE_OBJECTS; i++)
			if (tsr_puzzle[i].from == step ||
			    (rebind && tsr_puzzle[i].from < step && tsr_puzzle[i].to > step))
				tsr_cmd_bind_buffer(cmd, i, &bos[i], true);
		if (!step)
			tsr_cmd_bind_buffer(cmd, TSR_PUZZLE_LOG, log, true);
		tsr_cmd_group_end(cmd);
		/*
		 * each live object gets one word per step; the log records that
		 * the step ran
		 */
		for (uint32_t i = 0; i < TSR_PUZZLE_OBJECTS; i++)
			if (tsr_puzzle[i].from <= step && tsr_puzzle[i].to > step)
				tsr_cmd_fill(cmd, i, step, 1, 0x1000 * (i + 1) + step);
		tsr_cmd_fill(cmd, TSR_PUZZLE_LOG, step, 1, 1);
	}
	offsets[TSR_PUZZLE_STEPS] = tsr_cmd_bytes(cmd);
}

struct tsr_bo tsr_puzzle_objects(struct tsr_device *dev, struct tsr_bo *bos)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	struct tsr_bo log = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)),
				       DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);

	for (uint32_t i = 0; i < TSR_PUZZLE_OBJECTS; i++)
		bos[i] = tsr_bo_new(dev, tsr_puzzle[i].units * (seg->size / 8), tsr_bit(seg), 0);
	tsr_bo_map(dev, &log);
	return log;
}
