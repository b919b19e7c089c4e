/* SPDX-License-Identifier: MIT */
#ifndef TSR_PUZZLE_H
#define TSR_PUZZLE_H

#include "tsr.h"

#define TSR_PUZZLE_OBJECTS 8
#define TSR_PUZZLE_STEPS 5
#define TSR_PUZZLE_LOG 15 /* slot of the log; the objects use the slots from 0 on */

/*
 * Lifetimes that no placement can serve without moves, although every split
 * point fits: sizes in eighths of the visible segment, {size, first step, step
 * after the last}. Found by exhaustive search.
 */
struct tsr_puzzle {
	uint32_t units, from, to;
};

extern const struct tsr_puzzle tsr_puzzle[TSR_PUZZLE_OBJECTS];

/* Creates the objects. Returns the log: word n is 1 if step n has run. */
struct tsr_bo tsr_puzzle_objects(struct tsr_device *dev, struct tsr_bo *bos);
/*
 * Appends the puzzle's commands to @cmd. With @rebind, each step rebinds all
 * live objects, so that they may move. @offsets receives the byte offset of
 * each step, and of the end.
 */
void tsr_puzzle_build(struct tsr_cmd *cmd, const struct tsr_bo *bos, const struct tsr_bo *log,
		      bool rebind, uint32_t *offsets);

#endif /* TSR_PUZZLE_H */
