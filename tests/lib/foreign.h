/* SPDX-License-Identifier: MIT */
/* Fences of another driver, signalled by hand: of vgem, which every kernel here has. */
#ifndef TSR_FOREIGN_H
#define TSR_FOREIGN_H

#include <stdint.h>

struct tsr_foreign;

/* its card node, or -1 */
int tsr_vgem_open(void);
/* NULL: the kernel has no vgem, or it is not loaded (`modules: vgem`) */
struct tsr_foreign *tsr_foreign_open(void);
void tsr_foreign_close(struct tsr_foreign *foreign); /* signals what is left */
/* a sync file; vgem signals it by itself after ten seconds */
int tsr_foreign_fence(struct tsr_foreign *foreign);
/* signal the oldest ones, until no more than @left are to come */
void tsr_foreign_signal(struct tsr_foreign *foreign, uint32_t left);

#endif /* TSR_FOREIGN_H */
