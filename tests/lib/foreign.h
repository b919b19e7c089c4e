/* SPDX-License-Identifier: MIT */
/*
 * Others to share with: dma-bufs, and another driver, vgem, which every kernel here has; its fences are
 * signalled by hand.
 */
#ifndef TSR_FOREIGN_H
#define TSR_FOREIGN_H

#include <stdint.h>

#include <linux/dma-buf.h>

#include "tsr.h"

struct tsr_client;
struct tsr_foreign;
struct tsr_small;

/* dma-bufs */
int tsr_export_flags(int fd, uint32_t handle, uint32_t flags);
int tsr_export(struct tsr_device *dev, const struct tsr_bo *bo);
int __tsr_import(int fd, int dmabuf, uint32_t *handle);
/* until its bytes have come, for which the kernel waits not for long */
void tsr_import_wait(int fd, int dmabuf, uint32_t *handle);
/* its reservation gets a fence, of one who does what DMA_BUF_SYNC_* say */
void tsr_dmabuf_put_fence(int dmabuf, int sync_file, uint32_t flags);
/* the same for an object, which is exported for that */
void tsr_fence_at(struct tsr_device *dev, const struct tsr_bo *bo, int sync_file, uint32_t flags);
bool tsr_fence_signalled(int sync_file);
/* in a client: sets @small up, and has SUBMIT wait for a fence: at its object if client->arg, else an in-fence */
int tsr_small_behind(struct tsr_client *client, struct tsr_device *dev, struct tsr_small *small,
		     int sync_file);

/*
 * A child uses all of an aperture. Objects that were there move out, behind the jobs that use them:
 * tap_join() when these have ended.
 */
pid_t tsr_push_out(struct tsr_device *dev);

/* skips the test where importers are not told of moves; kernels for debugging tell them */
void tsr_move_notify_need(void);

/* vgem's card node, or -1 */
int tsr_vgem_open(void);
int tsr_vgem_need(void); /* skips the test there */
/* NULL: the kernel has no vgem, or it is not loaded (`modules: vgem`) */
struct tsr_foreign *tsr_foreign_open(void);
struct tsr_foreign *tsr_foreign_need(void); /* skips the test there */
void tsr_foreign_close(struct tsr_foreign *foreign); /* signals what is left */
/* a sync file; vgem signals it by itself after ten seconds, and a test that fails behind that is run again */
int tsr_foreign_fence(struct tsr_foreign *foreign);
/* signal the oldest ones, until no more than @left are to come */
void tsr_foreign_signal(struct tsr_foreign *foreign, uint32_t left);

/*
 * Of nobody's driver, with sw_sync, which kernels for debugging have: a fence that nothing signals but
 * tsr_sw_sync_signal(). Returns its timeline, and -1 where there is none.
 */
int tsr_sw_sync_open(int *fence);
int tsr_sw_sync_new(int *fence); /* skips the test there */
void tsr_sw_sync_signal(int timeline);

#endif /* TSR_FOREIGN_H */
