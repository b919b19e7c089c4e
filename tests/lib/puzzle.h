/* SPDX-License-Identifier: MIT */
#ifndef TSR_PUZZLE_H
#define TSR_PUZZLE_H

#include "tsr.h"

#define TSR_PUZZLE_OBJECTS 8
#define TSR_PUZZLE_STEPS 5
#define TSR_PUZZLE_LOG 15 /* slot of the log; the objects have those from 0 */

/*
 * Lifetimes that no placement can serve, though every split point fits: units of
 * an eighth of the visible segment, {size, first step, step after the last}, found by
 * exhaustive search.
 */
struct tsr_puzzle {
	uint32_t units, from, to;
};

extern const struct tsr_puzzle tsr_puzzle[TSR_PUZZLE_OBJECTS];

/* returns the log, mapped: word n is 1 if step n has run */
struct tsr_bo tsr_puzzle_objects(struct tsr_device *dev, struct tsr_bo *bos);
/* append it; with @rebind all live objects may move at each step */
void tsr_puzzle_build(struct tsr_cmd *cmd, const struct tsr_bo *bos, const struct tsr_bo *log,
		      bool rebind, uint32_t *offsets);

#endif /* TSR_PUZZLE_H */
