/* SPDX-License-Identifier: MIT */
/*
 * Raw ioctl wrappers for the tests, in pairs: __tsr_x() returns 0 or -errno,
 * tsr_x() fails the test unless it succeeds. The tests do not use the project's
 * library, so that they see exactly what the kernel offers.
 */
#ifndef TSR_TEST_H
#define TSR_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <drm/tessera_drm.h>
#include <tessera/tessera_hw.h>

#include "tap.h"

#define KiB(n) ((uint64_t)(n) << 10)
#define MiB(n) ((uint64_t)(n) << 20)

/* flags of struct tap_test */
#define TSR_NO_DEVICE 1ull /* the device may be absent before and after the test */
#define TSR_EXPECT(type) (1ull << TSR_ERR_##type) /* the device may count errors of this type */

int tsr_tests_run(int argc, char **argv, const struct tap_test *tests, size_t count);
#define TSR_TEST_MAIN(tests)                                                                       \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return tsr_tests_run(argc, argv, tests, ARRAY_SIZE(tests));                        \
	}

/* ---- device ---------------------------------------------------------- */

struct tsr_device {
	int fd;
	struct drm_tessera_query_device info;
	struct drm_tessera_query_segment segs[TSR_MAX_SEGMENTS];
	uint32_t num_segs;
	struct drm_tessera_query_engine engines[TSR_MAX_ENGINES];
	uint32_t num_engines;
	uint32_t render, paging; /* id of the first render engine and of the paging engine */
};

/* Render node of the first Tessera device, or -errno. */
int __tsr_open_node(void);
int __tsr_open_primary(void); /* its primary node, or -errno */
struct tsr_device tsr_open_fd(int fd); /* for a node that is already open */
struct tsr_device tsr_open(void);
void tsr_close(struct tsr_device *dev);
/* Whether scripts/guest --device has given the device @property ("strict=on"). */
bool tsr_device_has(const char *property);
/* 0 or -errno; retries on EINTR and EAGAIN */
int tsr_ioctl(int fd, unsigned long request, void *arg);

int __tsr_query(int fd, uint32_t id, uint32_t stride, uint32_t *count, void *out);
struct drm_tessera_query_memory tsr_query_memory(struct tsr_device *dev, uint32_t segment);
uint64_t tsr_guest_errors(struct tsr_device *dev);

/* Segments by kind. They skip the test if the device has no such segment. */
const struct drm_tessera_query_segment *tsr_seg_visible(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_hidden(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_uma(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_ro(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_gart(struct tsr_device *dev);
/*
 * Segments for a buffer that the CPU reads back: a general aperture or, without
 * one, CPU-visible memory.
 */
uint32_t tsr_segs_staging(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_by_id(struct tsr_device *dev, uint32_t id);
static inline uint32_t tsr_bit(const struct drm_tessera_query_segment *seg)
{
	return 1u << seg->id;
}

/* ---- buffer objects -------------------------------------------------- */

struct tsr_bo {
	uint32_t handle;
	uint64_t size;
	void *map;
};

int __tsr_bo_create(int fd, struct drm_tessera_bo_create *args);
struct tsr_bo tsr_bo_new(struct tsr_device *dev, uint64_t size, uint32_t supported, uint32_t flags);
/* An object that prefers @home and also supports the segments @more. */
struct tsr_bo tsr_bo_prefers(struct tsr_device *dev, uint64_t size,
			     const struct drm_tessera_query_segment *home, uint32_t more,
			     uint32_t flags);
int __tsr_bo_info(int fd, uint32_t handle, struct drm_tessera_bo_info *info);
struct drm_tessera_bo_info tsr_bo_info(struct tsr_device *dev, const struct tsr_bo *bo);
void *tsr_bo_map(struct tsr_device *dev, struct tsr_bo *bo);
void tsr_bo_unmap(struct tsr_bo *bo);
int __tsr_bo_wait(int fd, uint32_t handle, uint32_t flags, int64_t timeout_ns);
/* waits until idle, without a timeout */
void tsr_bo_wait(struct tsr_device *dev, const struct tsr_bo *bo);
/*
 * @flags: DRM_TESSERA_LOCK_*. The call may replace *@handle (discard gives the
 *   renamed instance another handle).
 */
int __tsr_lock(int fd, uint32_t *handle, uint32_t flags);
/* may replace bo->handle */
void tsr_lock(struct tsr_device *dev, struct tsr_bo *bo, uint32_t flags);
int __tsr_unlock(int fd, uint32_t handle);
void tsr_unlock(struct tsr_device *dev, const struct tsr_bo *bo);
int __tsr_lock2(int fd, uint32_t handle, uint32_t flags, uint64_t *mmap_offset);
int __tsr_unlock2(int fd, uint32_t handle);
int __tsr_bo_close(int fd, uint32_t handle);
int __tsr_offer(int fd, const uint32_t *handles, uint32_t num, uint32_t priority);
int __tsr_decommit(int fd, const uint32_t *handles, uint32_t num); /* OFFER_DECOMMIT */
int __tsr_reclaim(int fd, const uint32_t *handles, uint32_t *results, uint32_t num);
/* Returns DRM_TESSERA_RECLAIM_*. */
uint32_t tsr_reclaim(struct tsr_device *dev, const struct tsr_bo *bo);
/* @sync: a binary syncobj for the paging fence. @pending may be NULL. */
int __tsr_reclaim_behind(int fd, const uint32_t *handles, uint32_t *results, uint32_t num,
			 uint32_t sync, uint32_t *pending);
int __tsr_invalidate_cache(int fd, uint32_t handle, uint64_t offset, uint64_t size);
void tsr_invalidate_cache(struct tsr_device *dev, const struct tsr_bo *bo); /* all of the object */
int __tsr_bo_destroy(int fd, uint32_t handle, uint32_t flags);
void tsr_bo_free(struct tsr_device *dev, struct tsr_bo *bo);

/* Word @i of the pattern with this key. It is never 0. */
static inline uint32_t tsr_pattern(uint32_t key, uint64_t i)
{
	return (key << 24 | 0x00800000) ^ (uint32_t)(i * 2654435761u >> 9);
}
/* Fails the test if @word is not the pattern's, and says whose it is. */
void tsr_pattern_word(const char *file, int line, const char *what, uint32_t word, uint32_t key,
		      uint64_t i);
#define tsr_pattern_require(word, key, i) tsr_pattern_word(__FILE__, __LINE__, #word, word, key, i)
void tsr_pattern_write(struct tsr_bo *bo, uint32_t key); /* through the CPU mapping */
void tsr_pattern_check(const struct tsr_bo *bo, uint32_t key); /* through the CPU mapping */
/* all words equal @value */
void tsr_words_check(const uint32_t *words, uint64_t count, uint32_t value);

/* ---- contexts, sync objects ------------------------------------------ */

int __tsr_context_create(int fd, struct drm_tessera_context_create *args);
uint32_t tsr_context_new(struct tsr_device *dev, uint32_t flags);
int __tsr_context_destroy(int fd, uint32_t id);
void tsr_context_free(struct tsr_device *dev, uint32_t id);
uint32_t tsr_context_prio(struct tsr_device *dev, uint32_t priority);
struct drm_tessera_context_status tsr_context_status(struct tsr_device *dev, uint32_t id);

uint32_t tsr_syncobj_new(struct tsr_device *dev);
void tsr_syncobj_free(struct tsr_device *dev, uint32_t handle);
int __tsr_syncobj_wait(int fd, uint32_t handle, uint64_t point, int64_t timeout_ns);
uint64_t tsr_syncobj_point(struct tsr_device *dev, uint32_t handle);
void tsr_syncobj_import(struct tsr_device *dev, uint32_t handle, int sync_file);
int tsr_syncobj_export(struct tsr_device *dev, uint32_t handle); /* returns a sync file */
int tsr_sync_file_status(int fd); /* waits, and returns the fence's status: 0 or -errno */
/* Waits for the fence of a binary syncobj. Returns its status: 0 or -errno. */
int tsr_syncobj_status(struct tsr_device *dev, uint32_t handle);

/* ---- monitored fences ------------------------------------------------ */

struct tsr_fence {
	uint32_t id, syncobj;
	const volatile uint64_t *value; /* in the fence's own mapping of the page */
	void *page;
	uint64_t mmap_offset;
};

int __tsr_fence_create(int fd, struct drm_tessera_fence_create *args);
int __tsr_fence_destroy(int fd, uint32_t id);
int __tsr_fence_signal(int fd, uint32_t id, uint64_t value);
struct tsr_fence tsr_fence_new(struct tsr_device *dev, uint64_t value); /* with the value mapped */
void tsr_fence_signal(struct tsr_device *dev, const struct tsr_fence *fence, uint64_t value);
void tsr_fence_free(struct tsr_device *dev, struct tsr_fence *fence);
/* Elements of a sync list. */
struct drm_tessera_sync tsr_sync_signal(const struct tsr_fence *fence, uint64_t point);
struct drm_tessera_sync tsr_sync_wait(const struct tsr_fence *fence, uint64_t point);

/* ---- command buffers ------------------------------------------------- */

#define TSR_NO_GROUP 0xffffffffu

struct tsr_cmd {
	uint32_t *dw;
	uint32_t num_dw, max_dw;
	struct drm_tessera_submit_alloc *allocs;
	uint32_t num_allocs, max_allocs;
	struct drm_tessera_submit_patch *patches;
	uint32_t num_patches, max_patches;
	uint32_t group; /* split offset of the open group, or TSR_NO_GROUP */
};

struct tsr_surface {
	uint32_t format, layout, access, pitch, width, height;
	uint64_t offset;
};

void tsr_cmd_init(struct tsr_cmd *cmd);
void tsr_cmd_fini(struct tsr_cmd *cmd);
void tsr_cmd_reset(struct tsr_cmd *cmd);
static inline uint32_t tsr_cmd_bytes(const struct tsr_cmd *cmd)
{
	return cmd->num_dw * 4;
}

uint32_t *tsr_cmd_packet(struct tsr_cmd *cmd, uint32_t op, uint32_t flags, uint32_t dwords);
/* Index of the object in the allocation list. Adds it if necessary. */
uint32_t tsr_cmd_alloc(struct tsr_cmd *cmd, uint32_t handle, bool write);
/* All binds between these two calls form one split point. */
void tsr_cmd_group_begin(struct tsr_cmd *cmd);
void tsr_cmd_group_end(struct tsr_cmd *cmd);
/* These return the byte offset of their packet. */
uint32_t tsr_cmd_bind(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo,
		      const struct tsr_surface *surface);
uint32_t tsr_cmd_bind_buffer(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo,
			     bool write);
uint32_t tsr_cmd_unbind(struct tsr_cmd *cmd, uint32_t slot);
/*
 * Initialises @cmd with two buffers bound for reading and writing, in slots 0
 * and 1, at one split point, so that both have to be resident at once.
 */
void tsr_cmd_init_pair(struct tsr_cmd *cmd, const struct tsr_bo *first,
		       const struct tsr_bo *second);
/*
 * A surface of 32-bit rows in some layout, an object that holds it, and a copy
 * of the object into a linear one.
 */
struct tsr_surface tsr_surface_rows(uint32_t layout, uint32_t pitch, uint32_t rows);
struct tsr_bo tsr_bo_new_rows(struct tsr_device *dev, const struct tsr_surface *rows,
			      uint32_t supported, uint32_t flags);
void tsr_cmd_copy_rows(struct tsr_cmd *cmd, const struct tsr_bo *linear, const struct tsr_bo *bo,
		       const struct tsr_surface *rows);
/* a patch entry that unbinds, without a packet */
void tsr_cmd_forget(struct tsr_cmd *cmd, uint32_t slot);
void tsr_cmd_fill(struct tsr_cmd *cmd, uint32_t slot, uint32_t x, uint32_t words, uint32_t value);
void tsr_cmd_copy(struct tsr_cmd *cmd, uint32_t dst, uint32_t dst_x, uint32_t src, uint32_t src_x,
		  uint32_t words);
/*
 * Copies rows 0 to 3 to rows 8 to 11 of an object that the packet takes for an
 * image of 16x16 pixels. The packet needs microcode.
 */
void tsr_cmd_blit_rows(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo);
void tsr_cmd_nop(struct tsr_cmd *cmd, uint32_t bytes);
void tsr_cmd_pad_to(struct tsr_cmd *cmd, uint32_t offset);

void tsr_submit_args(const struct tsr_cmd *cmd, uint32_t context, struct drm_tessera_submit *args);
int __tsr_submit_ioctl(int fd, struct drm_tessera_submit *args);
/* @wait and @signal: binary syncobjs, or 0 */
int __tsr_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd, uint32_t wait,
		 uint32_t signal, struct drm_tessera_submit *args);
int __tsr_submit_syncs(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		       const struct drm_tessera_sync *syncs, uint32_t count);
/* Returns the number of parts. */
uint32_t tsr_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		    uint32_t wait, uint32_t signal);
/* Submits a job that binds the object and does nothing with it. */
int __tsr_submit_use(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo, bool write);
/* Submits, waits, and returns the fence's status. @parts may be NULL. */
int tsr_submit_status(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		      uint32_t *parts);
void tsr_submit_done(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd);

/* Jobs of one packet, waited for. */
void tsr_gpu_fill(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo,
		  uint32_t value);
void tsr_gpu_copy(struct tsr_device *dev, uint32_t context, const struct tsr_bo *dst,
		  const struct tsr_bo *src);
/*
 * Reads words of any object through a staging object, so that the CPU need not
 * be able to map @src.
 */
void tsr_gpu_read(struct tsr_device *dev, uint32_t context, const struct tsr_bo *src, uint64_t word,
		  uint32_t words, uint32_t *out);
/* Draws with a packet that needs microcode, and checks the result. */
void tsr_gpu_blit(struct tsr_device *dev, uint32_t context);
/* Has the GPU use the object, which makes it resident. */
void tsr_gpu_touch(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo);
/* A new object with CPU access, in @set, with a pattern, that a job has used. */
struct tsr_bo tsr_bo_patterned(struct tsr_device *dev, uint32_t context, uint64_t size,
			       uint32_t set, uint32_t key);
/*
 * Evicts every idle object of a segment, by making an object as large as the
 * segment resident. Frees that object again.
 */
void tsr_evict_all(struct tsr_device *dev, uint32_t context,
		   const struct drm_tessera_query_segment *seg);

/* Evicts all that can be evicted from a set of segments, through debugfs. */
void tsr_evict_set(uint32_t segments);

/* Suspends and resumes all devices. Skips the test if the kernel cannot. */
void tsr_suspend_devices(void);
void tsr_suspend_devices_for(const char *seconds); /* stays suspended for that time */
void tsr_hibernate_devices(void); /* up to the image, which is not written */

/* ---- files of the kernel --------------------------------------------- */

/* The whole file, NUL-terminated, or NULL. The caller frees it. */
char *tsr_read_file(const char *path);
int tsr_write_file(const char *path, const char *text);
/* Access own memory as a debugger would (/proc/self/mem). 0 or -errno. */
int tsr_proc_mem_read(const void *address, void *out, size_t bytes);
int tsr_proc_mem_write(void *address, const void *in, size_t bytes);
char tsr_task_state(pid_t tid); /* state letter in /proc, or 0 if it is gone */
bool tsr_sleeps(pid_t tid); /* interruptible sleep */
bool tsr_waits(pid_t tid); /* any sleep */
/*
 * True while the thread is in the driver wait @row, a row of the debugfs file
 * "waits" of any device.
 */
bool tsr_is_waiting(pid_t tid, const char *row);
uint64_t tsr_wait_count(const char *row); /* waits of that row that have ended */
uint64_t tsr_naps(pid_t tid); /* voluntary context switches so far */
/* True if a load from @address raises SIGBUS. For one thread at a time. */
bool tsr_raises_sigbus(const void *address);
const char *tsr_debugfs(void); /* directory of the device; skips the test without debugfs */
char *tsr_debugfs_read(const char *name);
int tsr_debugfs_write(const char *name, const char *text);
/*
 * Knobs that a test has changed are recorded in this file, so that the next
 * program can restore them if this one is killed.
 */
#define TSR_KNOBS "/run/tessera-knobs"
/* Sets a debugfs knob until the test ends or restores it. */
void tsr_knob(const char *name, const char *value);
void tsr_knob_restore(const char *name);
void tsr_knobs_begin(void); /* called by the runner before and after each test */
void tsr_knobs_end(void);
/*
 * How long attaching to a dma-buf of any device waits. Also restored when the
 * test ends.
 */
void tsr_attach_limit(const char *ms);
/* The time limit of a job, also restored when the test ends. */
void tsr_job_timeout(const char *ms);
void tsr_job_timeout_restore(void);
void tsr_job_timeout_lift(void); /* for all devices */
void tsr_job_timeout_short(void); /* short, but long enough for the kernel and emulator in use */
/*
 * Ends the time of the job that the engine is at, which then counts as hung.
 * Other jobs keep their timeouts. Fails the test if the engine has no job.
 */
void tsr_job_expire(uint32_t engine);
/*
 * A drm-* memory key of fdinfo in bytes, or an engine key in nanoseconds. -1 if
 * there is no such key.
 */
int64_t tsr_fdinfo(struct tsr_device *dev, const char *key);
int64_t tsr_fdinfo_of(pid_t pid, int fd, const char *key); /* of another process */

#endif /* TSR_TEST_H */
