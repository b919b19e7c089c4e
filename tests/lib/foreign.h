/* SPDX-License-Identifier: MIT */
/*
 * Sharing with other drivers: dma-bufs, and vgem as the second driver. All
 * kernels used for the tests have vgem. The test signals the fences of vgem by
 * hand.
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
/* Imports, and waits for the exporter's bytes as long as it takes. */
void tsr_import_wait(int fd, int dmabuf, uint32_t *handle);
/*
 * Adds the fence of @sync_file to the dma-buf's reservation. @flags
 * (DMA_BUF_SYNC_*) say whether it stands for a read or a write.
 */
void tsr_dmabuf_put_fence(int dmabuf, int sync_file, uint32_t flags);
/* The same for an object, which is exported for the purpose. */
void tsr_fence_at(struct tsr_device *dev, const struct tsr_bo *bo, int sync_file, uint32_t flags);
bool tsr_fence_signalled(int sync_file);
/*
 * For use in a client: sets up @small and submits it behind the fence of
 * @sync_file. With client->arg set the fence is added to the object's
 * reservation; else it is an in-fence of SUBMIT.
 */
int tsr_small_behind(struct tsr_client *client, struct tsr_device *dev, struct tsr_small *small,
		     int sync_file);

/*
 * Forks a child that claims all of the aperture. Objects in the aperture move
 * out, each after the jobs that use it. Call tap_join() once these jobs have
 * ended; the child may wait for them until then.
 */
pid_t tsr_push_out(struct tsr_device *dev);

/* Skips the test unless importers are notified of moves (debug kernels). */
void tsr_move_notify_need(void);

/* Opens vgem's card node; returns -1 without vgem. */
int tsr_vgem_open(void);
int tsr_vgem_need(void); /* skips the test without vgem */
/* NULL if the kernel has not loaded vgem (`modules: vgem` in .args). */
struct tsr_foreign *tsr_foreign_open(void);
struct tsr_foreign *tsr_foreign_need(void); /* skips the test without vgem */
void tsr_foreign_close(struct tsr_foreign *foreign); /* signals the remaining fences */
/*
 * Returns a sync file. vgem signals the fence itself after ten seconds; a test
 * that fails after such an expiry is run again (tap_excuse()).
 */
int tsr_foreign_fence(struct tsr_foreign *foreign);
/* Signals the oldest fences until at most @left are unsignalled. */
void tsr_foreign_signal(struct tsr_foreign *foreign, uint32_t left);

/*
 * A fence of sw_sync, which belongs to no driver: only tsr_sw_sync_signal()
 * signals it. Only debug kernels have sw_sync. Returns the timeline, or -1
 * without sw_sync.
 */
int tsr_sw_sync_open(int *fence);
int tsr_sw_sync_new(int *fence); /* skips the test without sw_sync */
void tsr_sw_sync_signal(int timeline);

#endif /* TSR_FOREIGN_H */
