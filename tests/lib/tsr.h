/* SPDX-License-Identifier: MIT */
/*
 * Raw ioctl wrappers for the tests, in pairs: __tsr_x() returns 0 or -errno, tsr_x()
 * fails the test unless it succeeds. No library of the project is used, so that the
 * tests see exactly what the kernel offers.
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
#define TSR_NO_DEVICE 1ull /* no device need be there before and after */
#define TSR_EXPECT(type) (1ull << TSR_ERR_##type) /* the device may count errors of this type */

int tsr_tests_run(int argc, char **argv, const struct tap_test *tests, size_t count);
#define TSR_TEST_MAIN(tests)                                                                       \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return tsr_tests_run(argc, argv, tests, ARRAY_SIZE(tests));                        \
	}

/* ---- device ---------------------------------------------------------------- */

struct tsr_device {
	int fd;
	struct drm_tessera_query_device info;
	struct drm_tessera_query_segment segs[TSR_MAX_SEGMENTS];
	uint32_t num_segs;
	struct drm_tessera_query_engine engines[TSR_MAX_ENGINES];
	uint32_t num_engines;
	uint32_t render, paging; /* the first render engine, and the paging engine */
};

/* the render node of the first Tessera device, or -errno */
int __tsr_open_node(void);
int __tsr_open_primary(void); /* its primary node, or -errno */
struct tsr_device tsr_open_fd(int fd); /* of a node that is open */
struct tsr_device tsr_open(void);
void tsr_close(struct tsr_device *dev);
int tsr_ioctl(int fd, unsigned long request, void *arg); /* 0 or -errno; retries EINTR */

int __tsr_query(int fd, uint32_t id, uint32_t stride, uint32_t *count, void *out);
struct drm_tessera_query_memory tsr_query_memory(struct tsr_device *dev, uint32_t segment);
uint64_t tsr_guest_errors(struct tsr_device *dev);

/* segments by kind; the test is skipped if the device has none */
const struct drm_tessera_query_segment *tsr_seg_visible(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_hidden(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_ro(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_gart(struct tsr_device *dev);
/* for a buffer that the CPU reads: a general aperture, or where there is none CPU-visible memory */
uint32_t tsr_segs_staging(struct tsr_device *dev);
const struct drm_tessera_query_segment *tsr_seg_by_id(struct tsr_device *dev, uint32_t id);
static inline uint32_t tsr_bit(const struct drm_tessera_query_segment *seg)
{
	return 1u << seg->id;
}

/* ---- buffer objects ---------------------------------------------------------- */

struct tsr_bo {
	uint32_t handle;
	uint64_t size;
	void *map;
};

int __tsr_bo_create(int fd, struct drm_tessera_bo_create *args);
struct tsr_bo tsr_bo_new(struct tsr_device *dev, uint64_t size, uint32_t supported, uint32_t flags);
/* prefers @home, and may be in the segments of the set @more */
struct tsr_bo tsr_bo_prefers(struct tsr_device *dev, uint64_t size,
			     const struct drm_tessera_query_segment *home, uint32_t more,
			     uint32_t flags);
int __tsr_bo_info(int fd, uint32_t handle, struct drm_tessera_bo_info *info);
struct drm_tessera_bo_info tsr_bo_info(struct tsr_device *dev, const struct tsr_bo *bo);
void *tsr_bo_map(struct tsr_device *dev, struct tsr_bo *bo);
void tsr_bo_unmap(struct tsr_bo *bo);
int __tsr_bo_wait(int fd, uint32_t handle, uint32_t flags, int64_t timeout_ns);
void tsr_bo_wait(struct tsr_device *dev, const struct tsr_bo *bo); /* idle, forever */
/* flags: DRM_TESSERA_LOCK_*; *handle may be another afterwards */
int __tsr_lock(int fd, uint32_t *handle, uint32_t flags);
void tsr_lock(struct tsr_device *dev, struct tsr_bo *bo, uint32_t flags); /* handle may change */
int __tsr_unlock(int fd, uint32_t handle);
void tsr_unlock(struct tsr_device *dev, const struct tsr_bo *bo);
int __tsr_lock2(int fd, uint32_t handle, uint32_t flags, uint64_t *mmap_offset);
int __tsr_unlock2(int fd, uint32_t handle);
int __tsr_bo_close(int fd, uint32_t handle);
int __tsr_offer(int fd, const uint32_t *handles, uint32_t num, uint32_t priority);
int __tsr_reclaim(int fd, const uint32_t *handles, uint32_t *results, uint32_t num);
int __tsr_invalidate_cache(int fd, uint32_t handle, uint64_t offset, uint64_t size);
void tsr_invalidate_cache(struct tsr_device *dev, const struct tsr_bo *bo); /* all of it */
int __tsr_bo_destroy(int fd, uint32_t handle, uint32_t flags);
void tsr_bo_free(struct tsr_device *dev, struct tsr_bo *bo);

/* the pattern of word @i in an object with this key; never 0 */
static inline uint32_t tsr_pattern(uint32_t key, uint64_t i)
{
	return (key << 24 | 0x00800000) ^ (uint32_t)(i * 2654435761u >> 9);
}
/* one word that should be the pattern's; else the test fails and says whose it is */
void tsr_pattern_word(const char *file, int line, const char *what, uint32_t word, uint32_t key,
		      uint64_t i);
#define tsr_pattern_require(word, key, i) tsr_pattern_word(__FILE__, __LINE__, #word, word, key, i)
void tsr_pattern_write(struct tsr_bo *bo, uint32_t key); /* through the map */
void tsr_pattern_check(const struct tsr_bo *bo, uint32_t key); /* likewise */
void tsr_words_check(const uint32_t *words, uint64_t count, uint32_t value); /* all equal */

/* ---- contexts, sync objects -------------------------------------------------- */

int __tsr_context_create(int fd, struct drm_tessera_context_create *args);
uint32_t tsr_context_new(struct tsr_device *dev, uint32_t flags);
int __tsr_context_destroy(int fd, uint32_t id);
void tsr_context_free(struct tsr_device *dev, uint32_t id);
uint32_t tsr_context_prio(struct tsr_device *dev, uint32_t priority);
struct drm_tessera_context_status tsr_context_status(struct tsr_device *dev, uint32_t id);

uint32_t tsr_syncobj_new(struct tsr_device *dev);
void tsr_syncobj_free(struct tsr_device *dev, uint32_t handle);
int __tsr_syncobj_wait(int fd, uint32_t handle, uint64_t point, int64_t timeout_ns);
void tsr_syncobj_signal(struct tsr_device *dev, uint32_t handle, uint64_t point);
uint64_t tsr_syncobj_point(struct tsr_device *dev, uint32_t handle);
void tsr_syncobj_import(struct tsr_device *dev, uint32_t handle, int sync_file);
int tsr_syncobj_export(struct tsr_device *dev, uint32_t handle); /* a sync file */
int tsr_sync_file_status(int fd); /* waits for it; its status: 0 or -errno */
/* waits for the fence of a binary syncobj; its status: 0 or -errno */
int tsr_syncobj_status(struct tsr_device *dev, uint32_t handle);

/* ---- monitored fences --------------------------------------------------------- */

struct tsr_fence {
	uint32_t id, syncobj;
	const volatile uint64_t *value; /* its own mapping of the page */
	void *page;
	uint64_t mmap_offset;
};

int __tsr_fence_create(int fd, struct drm_tessera_fence_create *args);
int __tsr_fence_destroy(int fd, uint32_t id);
int __tsr_fence_signal(int fd, uint32_t id, uint64_t value);
struct tsr_fence tsr_fence_new(struct tsr_device *dev, uint64_t value); /* mapped */
void tsr_fence_signal(struct tsr_device *dev, const struct tsr_fence *fence, uint64_t value);
void tsr_fence_free(struct tsr_device *dev, struct tsr_fence *fence);
/* elements of a sync list */
struct drm_tessera_sync tsr_sync_signal(const struct tsr_fence *fence, uint64_t point);
struct drm_tessera_sync tsr_sync_wait(const struct tsr_fence *fence, uint64_t point);

/* ---- command buffers ---------------------------------------------------------- */

#define TSR_NO_GROUP 0xffffffffu

struct tsr_cmd {
	uint32_t *dw;
	uint32_t num_dw, max_dw;
	struct drm_tessera_submit_alloc *allocs;
	uint32_t num_allocs, max_allocs;
	struct drm_tessera_submit_patch *patches;
	uint32_t num_patches, max_patches;
	uint32_t group; /* split offset of the open group */
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
/* index in the allocation list; adds what is not there yet */
uint32_t tsr_cmd_alloc(struct tsr_cmd *cmd, uint32_t handle, bool write);
/* binds between these two form one split point */
void tsr_cmd_group_begin(struct tsr_cmd *cmd);
void tsr_cmd_group_end(struct tsr_cmd *cmd);
/* each returns the byte offset of its packet */
uint32_t tsr_cmd_bind(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo,
		      const struct tsr_surface *surface);
uint32_t tsr_cmd_bind_buffer(struct tsr_cmd *cmd, uint32_t slot, const struct tsr_bo *bo,
			     bool write);
uint32_t tsr_cmd_unbind(struct tsr_cmd *cmd, uint32_t slot);
/* a new one, with two buffers in slots 0 and 1 that are written, and there at once */
void tsr_cmd_init_pair(struct tsr_cmd *cmd, const struct tsr_bo *first,
		       const struct tsr_bo *second);
/* rows of words in a layout, read and written; an object of such, and a copy of it without one */
struct tsr_surface tsr_surface_rows(uint32_t layout, uint32_t pitch, uint32_t rows);
struct tsr_bo tsr_bo_new_rows(struct tsr_device *dev, const struct tsr_surface *rows,
			      uint32_t supported, uint32_t flags);
void tsr_cmd_copy_rows(struct tsr_cmd *cmd, const struct tsr_bo *linear, const struct tsr_bo *bo,
		       const struct tsr_surface *rows);
void tsr_cmd_forget(struct tsr_cmd *cmd, uint32_t slot); /* unbind without a packet */
void tsr_cmd_fill(struct tsr_cmd *cmd, uint32_t slot, uint32_t x, uint32_t words, uint32_t value);
void tsr_cmd_copy(struct tsr_cmd *cmd, uint32_t dst, uint32_t dst_x, uint32_t src, uint32_t src_x,
		  uint32_t words);
void tsr_cmd_nop(struct tsr_cmd *cmd, uint32_t bytes);
void tsr_cmd_pad_to(struct tsr_cmd *cmd, uint32_t offset);

void tsr_submit_args(const struct tsr_cmd *cmd, uint32_t context, struct drm_tessera_submit *args);
int __tsr_submit_ioctl(int fd, struct drm_tessera_submit *args);
/* wait and signal: binary syncobjs or 0 */
int __tsr_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd, uint32_t wait,
		 uint32_t signal, struct drm_tessera_submit *args);
int __tsr_submit_syncs(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		       const struct drm_tessera_sync *syncs, uint32_t count);
/* returns the number of parts */
uint32_t tsr_submit(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		    uint32_t wait, uint32_t signal);
/* a submission that lists an object and does nothing with it */
int __tsr_submit_use(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo, bool write);
/* submit, wait, return the fence's status; *parts may be NULL */
int tsr_submit_status(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd,
		      uint32_t *parts);
void tsr_submit_done(struct tsr_device *dev, uint32_t context, const struct tsr_cmd *cmd);

/* one-packet jobs, waited for */
void tsr_gpu_fill(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo,
		  uint32_t value);
void tsr_gpu_copy(struct tsr_device *dev, uint32_t context, const struct tsr_bo *dst,
		  const struct tsr_bo *src);
/* words of an object the CPU need not be able to map, through a staging object */
void tsr_gpu_read(struct tsr_device *dev, uint32_t context, const struct tsr_bo *src, uint64_t word,
		  uint32_t words, uint32_t *out);
/* draw something, which takes microcode, and see that it is right */
void tsr_gpu_blit(struct tsr_device *dev, uint32_t context);
/* have the GPU use it, so that it is resident afterwards */
void tsr_gpu_touch(struct tsr_device *dev, uint32_t context, const struct tsr_bo *bo);
/* push every idle object of a segment out, by filling it; frees all again */
void tsr_evict_all(struct tsr_device *dev, uint32_t context,
		   const struct drm_tessera_query_segment *seg);

/* evict whatever can be from the segments of a set, through debugfs */
void tsr_evict_set(uint32_t segments);

/* suspend all devices, and resume them at once; skips the test if the kernel cannot */
void tsr_suspend_devices(void);
void tsr_suspend_devices_for(const char *seconds); /* and leave them like that for so long */
void tsr_hibernate_devices(void); /* as far as the image, which is not written */

/* ---- files of the kernel ------------------------------------------------------ */

/* whole file, NUL-terminated, to be freed; NULL if there is none */
char *tsr_read_file(const char *path);
int tsr_write_file(const char *path, const char *text);
/* as a debugger sees this process: through /proc/self/mem; 0 or -errno */
int tsr_proc_mem_read(const void *address, void *out, size_t bytes);
int tsr_proc_mem_write(void *address, const void *in, size_t bytes);
char tsr_task_state(pid_t tid); /* its letter in /proc, 0 if it is gone */
bool tsr_sleeps(pid_t tid); /* a signal would wake it */
bool tsr_waits(pid_t tid); /* whether or not one would */
/* a thread is in a wait of the driver: one of the rows of debugfs "waits", of any device */
bool tsr_is_waiting(pid_t tid, const char *row);
uint64_t tsr_naps(pid_t tid); /* how often it has gone to sleep so far */
/* a load raises SIGBUS; in one thread at a time */
bool tsr_raises_sigbus(const void *address);
const char *tsr_debugfs(void); /* folder of the device; skips the test if there is none */
char *tsr_debugfs_read(const char *name);
int tsr_debugfs_write(const char *name, const char *text);
/* knobs that are turned: a file, so that the next program turns them back if this one is killed */
#define TSR_KNOBS "/run/tessera-knobs"
/* a knob of debugfs, until the test ends or turns it back */
void tsr_knob(const char *name, const char *value);
void tsr_knob_restore(const char *name);
void tsr_knobs_begin(void); /* before and after each test: who runs them */
void tsr_knobs_end(void);
/* how long a job may run, likewise */
void tsr_job_timeout(const char *ms);
void tsr_job_timeout_restore(void);
void tsr_job_timeout_lift(void); /* for all devices */
void tsr_job_timeout_short(void); /* but long enough for the kernel and the emulator at hand */
/* bytes of a drm-* memory key of fdinfo, or nanoseconds of an engine; -1: no such key */
int64_t tsr_fdinfo(struct tsr_device *dev, const char *key);
int64_t tsr_fdinfo_of(pid_t pid, int fd, const char *key); /* of another process */

#endif /* TSR_TEST_H */
