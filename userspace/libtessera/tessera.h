/* SPDX-License-Identifier: MIT */
/*
 * libtessera: userspace library of the Tessera virtual GPU.
 *
 * Conventions, everywhere:
 *  - functions return 0, or a count where that is said, or a negative errno;
 *    nothing is printed, there is no global state and no errno to read;
 *  - objects are opaque, made by _new with one reference, shared with _ref and
 *    given up with _del; NULL is a harmless argument of _del;
 *  - sizes, offsets and pitches are in bytes; rectangles are in texels;
 *  - timeouts are absolute CLOCK_MONOTONIC nanoseconds (tessera_deadline());
 *  - system calls interrupted by a signal are started again;
 *  - -ENODEV: the device is gone; -ENOMEM: no memory; both may come from any
 *    function that talks to the kernel and are not repeated below;
 *  - an object is lost if a move of it fails, or if the device is reset while nothing but
 *    video memory has its bytes: submissions that list it return -EIO, and an access to its
 *    mapping raises SIGBUS, also inside tessera_bo_read() and tessera_bo_write(). There is
 *    nothing to do with it but to give it up.
 *
 * Threads: devices, buffer objects, caches, VMs, surfaces, sync objects, fences and contexts may be used
 * by several threads at once. A command buffer and a struct tessera_buffer belong to one thread at a
 * time. Reference counts are atomic.
 */
#ifndef TESSERA_H
#define TESSERA_H

#include <stddef.h>
#include <stdint.h>

#include <drm/tessera_drm.h>
#include <tessera/tessera_hw.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_API __attribute__((visibility("default")))

struct tessera_device;
struct tessera_bo;
struct tessera_buffer;
struct tessera_cache;
struct tessera_vm;
struct tessera_context;
struct tessera_cmdbuf;
struct tessera_syncobj;
struct tessera_monitored;
struct tessera_fence;
struct tessera_surface;

/* ---- Device ---------------------------------------------------------------- */

/*
 * Open a device: from an open DRM file (duplicated; the caller keeps @fd), by
 * the path of a render node, or the first render node driven by tessera.
 * Errors: -ENODEV (no such device, or not one of tessera), those of open(),
 * -EPROTO (the kernel's answer makes no sense).
 */
TESSERA_API int tessera_device_new(int fd, struct tessera_device **out);
TESSERA_API int tessera_device_new_path(const char *path, struct tessera_device **out);
TESSERA_API int tessera_device_new_first(struct tessera_device **out);
TESSERA_API struct tessera_device *tessera_device_ref(struct tessera_device *dev);
TESSERA_API void tessera_device_del(struct tessera_device *dev);

/* The library's own DRM file; it stays the library's. */
TESSERA_API int tessera_device_fd(const struct tessera_device *dev);

/*
 * The kernel's structs grow at their ends, and a program may have been built with shorter ones than the library. So
 * there are no arrays of them here, and a function that fills one in for the caller takes its size: what is beyond
 * that is left out, what the library or the kernel does not know is zero.
 */

/* Properties read when the device was opened; valid as long as the device. */
TESSERA_API const struct drm_tessera_query_device *tessera_device_info(
	const struct tessera_device *dev);
/* Segments in id order, from 0; NULL behind the last. Valid as long as the device. */
TESSERA_API const struct drm_tessera_query_segment *tessera_device_segment_at(
	const struct tessera_device *dev, uint32_t index);
/* Likewise. */
TESSERA_API const struct drm_tessera_query_engine *tessera_device_engine_at(
	const struct tessera_device *dev, uint32_t index);
/* The segment called @name, or NULL. */
TESSERA_API const struct drm_tessera_query_segment *tessera_device_segment(
	const struct tessera_device *dev, const char *name);
/*
 * The set of segments having all flags of @with and none of @without
 * (DRM_TESSERA_SEGMENT_*): bit n stands for segment id n.
 */
TESSERA_API uint32_t tessera_device_segment_set(const struct tessera_device *dev, uint32_t with,
						uint32_t without);
/* Current use of the segments: fills up to @count elements of @stride bytes each, returns how many. */
TESSERA_API int tessera_device_memory(struct tessera_device *dev,
				      struct drm_tessera_query_memory *memory, size_t stride,
				      uint32_t count);
/* Read the device's properties again: error counter and clock move. @size: sizeof(*info). */
TESSERA_API int tessera_device_refresh(struct tessera_device *dev,
				       struct drm_tessera_query_device *info, size_t size);

/*
 * The library's own structs keep their sizes as long as the soname is the same. New fields take the
 * place of reserved ones, and zero in them means what the library did before they were there: so fill
 * such a struct in with an _init function or an initialiser, never field by field. A reserved field
 * that is not zero is -EINVAL.
 */

/* ---- Surfaces: arithmetic only ----------------------------------------------- */

/* How a slot sees an object. */
struct tessera_view {
	uint32_t format; /* TSR_FORMAT_* */
	uint32_t layout; /* TSR_LAYOUT_* */
	uint32_t access; /* TSR_SURF_READ | TSR_SURF_WRITE */
	uint32_t pitch; /* 0: a buffer, one row */
	uint32_t width; /* 1 .. TSR_SURF_MAX_DIM; 0 for a buffer */
	uint32_t height;
	uint64_t offset; /* into the object, a multiple of 8; of TSR_TILE_BYTES if swizzled */
	uint64_t reserved[4]; /* zero */
};

/* Bytes of a texel of @format, 0 for an unknown format. */
TESSERA_API uint32_t tessera_format_bytes(uint32_t format);
/*
 * Fill @view in for a whole surface at offset 0 with the smallest legal pitch, read and
 * write access; @size gets the bytes it needs. Errors: -EINVAL.
 */
TESSERA_API int tessera_view_init(struct tessera_view *view, uint32_t format, uint32_t layout,
				  uint32_t width, uint32_t height, uint64_t *size);
/* A view of a buffer of 32-bit words (TSR_FORMAT_R32), read-only. */
TESSERA_API void tessera_view_init_buffer(struct tessera_view *view);

/* ---- Buffer objects ----------------------------------------------------------- */

enum tessera_usage {
	TESSERA_USAGE_TEXTURE, /* sampled, filled by the GPU: memory segments, CPU-invisible first */
	TESSERA_USAGE_RENDER_TARGET, /* likewise */
	TESSERA_USAGE_STAGING, /* CPU writes and reads, GPU copies: writable aperture, else visible memory */
	TESSERA_USAGE_VERTEX, /* CPU writes, GPU reads: any aperture, read-only first */
};

struct tessera_bo_desc {
	uint64_t size; /* rounded up to the device's page size */
	uint32_t flags; /* DRM_TESSERA_BO_* */
	uint32_t supported; /* set of segments */
	uint32_t evict_to; /* set of aperture segments; 0: system memory */
	uint32_t num_preferred; /* 0 .. DRM_TESSERA_MAX_PREFERRED */
	uint8_t preferred[8];
	uint32_t layout; /* DRM_TESSERA_LAYOUT_* */
	uint32_t pitch; /* of a swizzled layout, else 0 */
	uint32_t vm; /* with DRM_TESSERA_BO_VM_PRIVATE the id of the VM, else 0 */
	uint32_t pad; /* zero */
	uint64_t reserved[3]; /* zero */
};

/*
 * Fill @desc in for a usage. With @view (may be NULL) also layout and pitch.
 * Errors: -EINVAL; -ENODEV: the device has no segment that serves this usage.
 */
TESSERA_API int tessera_bo_desc_init(const struct tessera_device *dev, struct tessera_bo_desc *desc,
				     enum tessera_usage usage, uint64_t size,
				     const struct tessera_view *view);
/*
 * Replace the segments of @desc by those named in @names, separated by commas, preferred in
 * that order. Errors: -ENOENT: no segment of that name; -E2BIG: more than DRM_TESSERA_MAX_PREFERRED.
 */
TESSERA_API int tessera_bo_desc_segments(const struct tessera_device *dev,
					 struct tessera_bo_desc *desc, const char *names);
/*
 * Have the object belong to a VM: for whatever nobody else is to have, and no list to name. It takes memory in pieces then, and its VM has one lock for
 * all such objects. Nothing is done without a VM (NULL), as tessera_context_vm() gives it, nor for a swizzled object that the CPU accesses, which has to be in one piece.
 */
TESSERA_API void tessera_bo_desc_private(struct tessera_bo_desc *desc, const struct tessera_vm *vm);
/* Errors: those of DRM_IOCTL_TESSERA_BO_CREATE. A new object reads as zero. */
TESSERA_API int tessera_bo_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
			       struct tessera_bo **out);
/* desc_init and new in one. */
TESSERA_API int tessera_bo_new_for(struct tessera_device *dev, enum tessera_usage usage,
				   uint64_t size, const struct tessera_view *view,
				   struct tessera_bo **out);
/*
 * Private anonymous memory of the process as an object that jobs use: whole pages of it. @flags: 0 or DRM_TESSERA_BO_GPU_READ_ONLY. The CPU goes on using its
 * own address, and waits with tessera_bo_wait(); map, lock, read and write are -EPERM. Errors: those of DRM_IOCTL_TESSERA_BO_FROM_USER.
 */
TESSERA_API int tessera_bo_from_user(struct tessera_device *dev, void *memory, uint64_t size,
				     uint32_t flags, struct tessera_bo **out);
TESSERA_API struct tessera_bo *tessera_bo_ref(struct tessera_bo *bo);
/* The last reference closes the handle and unmaps; the kernel frees the memory when it is idle. */
TESSERA_API void tessera_bo_del(struct tessera_bo *bo);
/*
 * Likewise; the last reference destroys the object. @flags: DRM_TESSERA_BO_DESTROY_*; 0: behind all that was submitted before, also what does not
 * list it. Errors, with the reference kept, but nothing mapped: those of DRM_IOCTL_TESSERA_BO_DESTROY.
 */
TESSERA_API int tessera_bo_destroy(struct tessera_bo *bo, uint32_t flags);

TESSERA_API uint32_t tessera_bo_handle(const struct tessera_bo *bo);
TESSERA_API uint64_t tessera_bo_size(const struct tessera_bo *bo);
/* What the kernel says about it right now. @size: sizeof(*info). */
TESSERA_API int tessera_bo_info(struct tessera_bo *bo, struct drm_tessera_bo_info *info,
				size_t size);

/*
 * CPU address of an object made with DRM_TESSERA_BO_CPU_ACCESS. One mapping is made and counted, it stays
 * valid and at its address until the last unmap, wherever the object moves. There is no implicit
 * wait: see tessera_bo_wait(). Errors: -EPERM: no CPU access; those of mmap().
 */
TESSERA_API int tessera_bo_map(struct tessera_bo *bo, void **out);
/* -EINVAL: not mapped. */
TESSERA_API int tessera_bo_unmap(struct tessera_bo *bo);
/*
 * Wait for jobs that write the object; with @for_write, for all that use it. Errors: -EBUSY: not idle, and
 * @deadline_ns is 0 or past; -ETIME: it passed while waiting.
 */
TESSERA_API int tessera_bo_wait(struct tessera_bo *bo, int for_write, int64_t deadline_ns);
/*
 * How the CPU will access an object; what a Mesa driver calls PIPE_MAP_*. At least one of READ and
 * WRITE, except with UNSYNCHRONIZED.
 */
enum tessera_map_flags {
	TESSERA_MAP_READ = 1 << 0,
	TESSERA_MAP_WRITE = 1 << 1,
	TESSERA_MAP_UNSYNCHRONIZED = 1 << 2, /* no wait: nothing that jobs use is touched */
	TESSERA_MAP_DISCARD_RANGE = 1 << 3, /* a hint; the bytes written are all that count */
	TESSERA_MAP_DISCARD_WHOLE = 1 << 4, /* nothing of the contents is needed: no wait */
	TESSERA_MAP_DONTBLOCK = 1 << 5, /* -EBUSY instead of a wait */
	TESSERA_MAP_PERSISTENT = 1 << 6, /* submissions may use it before the unlock */
	TESSERA_MAP_COHERENT = 1 << 7, /* what is written is seen without an unlock */
};

/*
 * Begin to access an object with the CPU, synchronised with jobs (DRM_IOCTL_TESSERA_LOCK), at the address that
 * tessera_bo_map() gives. Swizzled layouts are seen linear. With DISCARD_WHOLE *@bo may become another object of the same kind, which reads
 * as zero: jobs and command buffers keep the old one, the caller's reference to it is gone. If others have
 * the object too (dma-buf) it is waited for instead. Unlock with the same flags. Errors: -EINVAL: unknown or
 * contradictory flags (DISCARD_* without WRITE or with READ; DISCARD_WHOLE with UNSYNCHRONIZED; UNSYNCHRONIZED with a swizzled layout);
 * -EPERM: no CPU access; -EBUSY: with DONTBLOCK, or others have locked a swizzled object without ACQUIRE_RANGE; -EIO: the object is lost; -EOPNOTSUPP: COHERENT on a device that is not;
 * those of mmap().
 */
TESSERA_API int tessera_bo_lock(struct tessera_bo **bo, uint32_t flags, void **out);
/* -EINVAL: not locked. */
TESSERA_API int tessera_bo_unlock(struct tessera_bo *bo, uint32_t flags);
/* What people see of it in debugfs and traces: printable ASCII, less than DRM_TESSERA_LABEL_BYTES; "": nothing. -EINVAL else. */
TESSERA_API int tessera_bo_set_label(struct tessera_bo *bo, const char *label);
/*
 * An address, and no synchronisation (DRM_IOCTL_TESSERA_LOCK2): for who knows when jobs are done. It is that of tessera_bo_map(), may be
 * kept for the object's life: but one that supports memory segments only, and is in none when it is locked, is kept out of them until it is unlocked, and jobs
 * that list it are refused; map such an object instead. It is there for objects without DRM_TESSERA_BO_CPU_ACCESS, too, while these are locked. Errors: those of the ioctl
 * and of mmap().
 */
TESSERA_API int tessera_bo_lock2(struct tessera_bo *bo, void **out);
/* -EINVAL: not locked like this. */
TESSERA_API int tessera_bo_unlock2(struct tessera_bo *bo);
/*
 * Have CPU caches write back and load anew what they hold of a range: after the CPU has written and before jobs read, after jobs have
 * written and before the CPU reads. Needed for objects with DRM_TESSERA_BO_EXPLICIT_SYNC on a device that does not snoop; elsewhere it does nothing.
 */
TESSERA_API int tessera_bo_invalidate_cache(struct tessera_bo *bo, uint64_t offset, uint64_t size);
/*
 * Do without the contents of objects of one device for a while, @priority: DRM_TESSERA_OFFER_*; and have them back, with what became of each,
 * DRM_TESSERA_RECLAIM_*. All or none. Errors: those of the ioctls.
 */
TESSERA_API int tessera_bo_offer(struct tessera_bo *const *bos, uint32_t count, uint32_t priority);
TESSERA_API int tessera_bo_reclaim(struct tessera_bo *const *bos, uint32_t count,
				   uint32_t *results);
/*
 * Wait until idle, then copy to or from the object through a mapping. Errors: -EINVAL: outside the
 * object; those of map and wait.
 */
TESSERA_API int tessera_bo_write(struct tessera_bo *bo, uint64_t offset, const void *data,
				 size_t size);
TESSERA_API int tessera_bo_read(struct tessera_bo *bo, uint64_t offset, void *data, size_t size);

/* ---- Synchronisation ----------------------------------------------------------- */

/* Never in the future: wait for ever. */
#define TESSERA_FOREVER INT64_MAX

/* @relative_ns from now, saturating. */
TESSERA_API int64_t tessera_deadline(uint64_t relative_ns);

/* A drm_syncobj. Binary: point 0. Timeline: points counting up from 1. */
TESSERA_API int tessera_syncobj_new(struct tessera_device *dev, int signalled,
				    struct tessera_syncobj **out);
TESSERA_API struct tessera_syncobj *tessera_syncobj_ref(struct tessera_syncobj *obj);
TESSERA_API void tessera_syncobj_del(struct tessera_syncobj *obj);
TESSERA_API uint32_t tessera_syncobj_handle(const struct tessera_syncobj *obj);
/* From the CPU. */
TESSERA_API int tessera_syncobj_signal(struct tessera_syncobj *obj, uint64_t point);
TESSERA_API int tessera_syncobj_reset(struct tessera_syncobj *obj);
/* Waits also for a fence that has yet to be attached. Sleeps, never polls. -ETIME: not in time. */
TESSERA_API int tessera_syncobj_wait(struct tessera_syncobj *obj, uint64_t point,
				     int64_t deadline_ns);
/* The timeline's last signalled point. */
TESSERA_API int tessera_syncobj_query(struct tessera_syncobj *obj, uint64_t *point);
/* A sync_file for the fence of a binary object; the caller closes *@fd. */
TESSERA_API int tessera_syncobj_export(struct tessera_syncobj *obj, int *fd);

/*
 * A monitored fence: a timeline sync object whose value is in memory, too, so that looking at it is no call. It only rises,
 * and begins with @value. Submissions signal and wait for points of the sync object. Errors: -ENOSPC: too many of them.
 */
TESSERA_API int tessera_monitored_new(struct tessera_device *dev, uint64_t value,
				      struct tessera_monitored **out);
TESSERA_API struct tessera_monitored *tessera_monitored_ref(struct tessera_monitored *fence);
TESSERA_API void tessera_monitored_del(struct tessera_monitored *fence);
/* For tessera_submit_args; tessera_syncobj_signal() on it would leave the value behind. */
TESSERA_API struct tessera_syncobj *tessera_monitored_syncobj(struct tessera_monitored *fence);
TESSERA_API uint64_t tessera_monitored_value(const struct tessera_monitored *fence);
/* From the CPU; behind jobs that are to signal lower values, when they are over. -EINVAL: @value does not rise. */
TESSERA_API int tessera_monitored_signal(struct tessera_monitored *fence, uint64_t value);
/* Sleeps until the value is reached. -ETIME: not in time. */
TESSERA_API int tessera_monitored_wait(struct tessera_monitored *fence, uint64_t value,
				       int64_t deadline_ns);

/* The end of one submission. */
TESSERA_API struct tessera_fence *tessera_fence_ref(struct tessera_fence *fence);
TESSERA_API void tessera_fence_del(struct tessera_fence *fence);
/*
 * Sleep until the job is over. *@job_error (may be NULL) gets 0 or the job's error: -EFAULT,
 * -ENOSPC, -ETIME, -ECANCELED, -EIO, see &struct drm_tessera_submit. Returns -ETIME if it is not over by
 * @deadline_ns: *@job_error is then -EINPROGRESS.
 */
TESSERA_API int tessera_fence_wait(struct tessera_fence *fence, int64_t deadline_ns,
				   int *job_error);
/* The sync object behind it, to be waited for by another submission (point 0). */
TESSERA_API struct tessera_syncobj *tessera_fence_syncobj(struct tessera_fence *fence);

/* ---- Command buffers ------------------------------------------------------------ */

/*
 * A command buffer records packets together with the allocation list and the
 * patch-location list the kernel wants. Binding and unbinding take effect at the next packet
 * that does work: all bindings changed since then form one split point there, and
 * every other bound object of at least the rebind size (tessera_cmdbuf_set_rebind()) is bound
 * again at it, so that the kernel may move it at a cut. Engine state
 * is undefined behind a split point: the builder sends it again before the next draw.
 *
 * A function that fails leaves the buffer as it was, but marks it: submission of it fails with that error
 * until it is reset.
 */
TESSERA_API int tessera_cmdbuf_new(struct tessera_device *dev, struct tessera_cmdbuf **out);
/*
 * For a context, and whichever has the same VM. With one packets have addresses: objects are mapped when they are bound, if they are not yet (errors:
 * those of tessera_vm_bind()), nothing is bound twice, and there are no split points. Jobs find what is resident: see tessera_vm_phase().
 */
TESSERA_API int tessera_cmdbuf_new_for(struct tessera_context *ctx, struct tessera_cmdbuf **out);
TESSERA_API struct tessera_cmdbuf *tessera_cmdbuf_ref(struct tessera_cmdbuf *cb);
TESSERA_API void tessera_cmdbuf_del(struct tessera_cmdbuf *cb);
/* Back to empty; the memory is kept for the next use, the object references are not. */
TESSERA_API void tessera_cmdbuf_reset(struct tessera_cmdbuf *cb);
/*
 * Objects of at least @min_bytes are bound again at every split point: 0, the default: all; UINT64_MAX: none.
 * The packets grow with the product of split points and live slots.
 */
TESSERA_API void tessera_cmdbuf_set_rebind(struct tessera_cmdbuf *cb, uint64_t min_bytes);

/*
 * Errors: -EINVAL: no such slot, a view that is malformed or does not fit the object; -EXDEV: an
 * object of another device; -E2BIG: the lists' limits, when recorded.
 */
TESSERA_API int tessera_cmdbuf_bind(struct tessera_cmdbuf *cb, uint32_t slot, struct tessera_bo *bo,
				    const struct tessera_view *view);
/* Binding nothing is no error. */
TESSERA_API int tessera_cmdbuf_unbind(struct tessera_cmdbuf *cb, uint32_t slot);
/* State register @reg of the draws that follow: TSR_STATE_*. */
TESSERA_API int tessera_cmdbuf_state(struct tessera_cmdbuf *cb, uint32_t reg, uint32_t value);

struct tessera_rect {
	uint32_t x, y, width, height;
};

/* Errors of all packets: -EINVAL: a field out of range; -E2BIG: the buffer's limit. */
TESSERA_API int tessera_cmdbuf_fill(struct tessera_cmdbuf *cb, uint32_t slot,
				    const struct tessera_rect *rect, uint32_t value);
TESSERA_API int tessera_cmdbuf_copy(struct tessera_cmdbuf *cb, uint32_t dst_slot, uint32_t dst_x,
				    uint32_t dst_y, uint32_t src_slot,
				    const struct tessera_rect *src);
/* @sampler: 0 or TSR_SAMPLER_LINEAR; the edge is clamped to. */
TESSERA_API int tessera_cmdbuf_blit(struct tessera_cmdbuf *cb, uint32_t dst_slot,
				    const struct tessera_rect *dst, uint32_t src_slot,
				    const struct tessera_rect *src, uint32_t sampler,
				    uint32_t blend, uint32_t color);
/* @flags: TSR_DRAW_*. -EINVAL also: TARGET_SLOT or, textured, TEXTURE_SLOT was never set. */
TESSERA_API int tessera_cmdbuf_draw(struct tessera_cmdbuf *cb, uint32_t vertex_slot,
				    uint32_t offset, uint32_t vertices, uint32_t flags);
TESSERA_API int tessera_cmdbuf_timestamp(struct tessera_cmdbuf *cb, uint32_t slot, uint32_t offset);
/* @dwords: even, 2 .. TSR_PKT_MAX_DWORDS; does not flush bindings. */
TESSERA_API int tessera_cmdbuf_nop(struct tessera_cmdbuf *cb, uint32_t dwords);
/*
 * Record pending bindings, like any packet that does work, then append packets as they are: no entry is
 * made for any binding in them, no check is done. For tests, and for packets this library does not know. @dwords
 * must be even.
 */
TESSERA_API int tessera_cmdbuf_raw(struct tessera_cmdbuf *cb, const uint32_t *packets,
				   uint32_t dwords);
/* Record what is pending (unbinds). Submission does it by itself. */
TESSERA_API int tessera_cmdbuf_finish(struct tessera_cmdbuf *cb);

/* The arrays recorded so far; valid until the next call on the buffer. */
struct tessera_stream {
	const uint32_t *cmds;
	uint32_t cmd_bytes;
	uint32_t num_allocs;
	const struct drm_tessera_submit_alloc *allocs;
	const struct drm_tessera_submit_patch *patches;
	uint32_t num_patches;
	uint32_t max_slots;
	uint32_t flags; /* TESSERA_STREAM_* */
	uint32_t reserved32; /* zero */
	uint64_t reserved[1]; /* zero */
};

/* Packets have addresses: there are no patches, and nothing is cut. */
#define TESSERA_STREAM_ADDRESSES (1u << 0)

TESSERA_API void tessera_cmdbuf_stream(const struct tessera_cmdbuf *cb,
				       struct tessera_stream *stream);

/* What the checker found wrong; all zero for a conforming stream. */
struct tessera_lint {
	uint32_t malformed; /* packets of unknown opcode or length; the walk ends there */
	uint32_t bind_without_entry; /* SPLIT-20: BIND_SLOT that no patch entry covers, or two do */
	uint32_t unbind_without_entry; /* UNBIND_SLOT without a NULL entry */
	uint32_t entry_without_packet; /* entries that cover no bind or unbind packet */
	uint32_t unordered; /* entries whose split offset is lower than the one before */
	uint32_t
		misplaced; /* entries inside a packet, behind the end, or valid too late or too long */
	uint32_t stale_state; /* draws using state not set since the last split point */
	uint32_t unbound_use; /* work on a slot that is not bound */
	uint32_t read_only_use; /* writing through a binding without write access */
	uint32_t
		missing_write; /* bindings with write access to an allocation not listed as written */
	uint32_t total; /* sum of the above */
	uint32_t first_offset; /* byte offset of the first finding, UINT32_MAX if none */
	uint32_t reserved[12]; /* zero */
};

/*
 * Check a stream against the rules every split needs. Returns the number of findings, or -ENOMEM, -EINVAL.
 * tessera_cmdbuf_lint() finishes the buffer first.
 */
TESSERA_API int tessera_stream_lint(const struct tessera_stream *stream, struct tessera_lint *lint);
TESSERA_API int tessera_cmdbuf_lint(struct tessera_cmdbuf *cb, struct tessera_lint *lint);

/* ---- Contexts and submission ------------------------------------------------------ */

/* @flags: DRM_TESSERA_CONTEXT_*. Errors: those of DRM_IOCTL_TESSERA_CONTEXT_CREATE. */
TESSERA_API int tessera_context_new(struct tessera_device *dev, uint32_t flags, uint32_t engine,
				    uint32_t split_seed, struct tessera_context **out);
/* On the first render engine, no flags. */
TESSERA_API int tessera_context_new_default(struct tessera_device *dev,
					    struct tessera_context **out);

struct tessera_context_desc {
	uint32_t flags; /* DRM_TESSERA_CONTEXT_* */
	uint32_t engine;
	uint32_t split_seed;
	uint32_t priority; /* DRM_TESSERA_PRIORITY_* */
	uint64_t reserved[4]; /* zero */
};

/* Fill @desc in: the first render engine, no flags, normal priority. -ENODEV: there is none. */
TESSERA_API int tessera_context_desc_init(const struct tessera_device *dev,
					  struct tessera_context_desc *desc);
/* -EACCES: high priority, without the right to it. */
TESSERA_API int tessera_context_new_desc(struct tessera_device *dev,
					 const struct tessera_context_desc *desc,
					 struct tessera_context **out);
/* One that works at addresses of a VM; it takes command buffers made for it, or another of the VM. -EINVAL: any flag. */
TESSERA_API int tessera_context_new_vm(struct tessera_vm *vm,
				       const struct tessera_context_desc *desc,
				       struct tessera_context **out);
/* As long as the context lives; NULL: it has no VM. */
TESSERA_API struct tessera_device *tessera_context_device(const struct tessera_context *ctx);
TESSERA_API struct tessera_vm *tessera_context_vm(const struct tessera_context *ctx);
/* Whether it is lost, and whose fault that is; @size: sizeof(*status). */
TESSERA_API int tessera_context_status(struct tessera_context *ctx,
				       struct drm_tessera_context_status *status, size_t size);
TESSERA_API struct tessera_context *tessera_context_ref(struct tessera_context *ctx);
TESSERA_API void tessera_context_del(struct tessera_context *ctx);
TESSERA_API uint32_t tessera_context_id(const struct tessera_context *ctx);

struct tessera_sync {
	struct tessera_syncobj *obj;
	uint64_t point; /* 0: binary */
};

/*
 * A wait for what nobody has submitted or signalled yet: the call waits until somebody has. Without this flag it is
 * -EINVAL.
 */
#define TESSERA_SUBMIT_WAIT_FOR_SUBMIT (1u << 0)

struct tessera_submit_args {
	const struct tessera_sync *waits;
	uint32_t num_waits;
	uint32_t num_signals;
	const struct tessera_sync *signals;
	struct tessera_fence **fence; /* if not NULL, gets a fence for this submission [out] */
	uint32_t parts; /* parts the buffer was cut into [out] */
	/*
	 * What -EINVAL or -ENOSPC is about, UINT32_MAX if unknown. Also set with success if it is known that the
	 * fence will carry -ENOSPC: the commands before it run [out]
	 */
	uint32_t error_offset;
	uint32_t error_index; /* index in the patch list, likewise [out] */
	uint32_t flags; /* TESSERA_SUBMIT_* */
	uint64_t reserved[4]; /* zero */
};

/*
 * Submit the buffer, which is kept and may be submitted again or reset at once. @args may be NULL. Errors:
 * those of DRM_IOCTL_TESSERA_SUBMIT, or _SUBMIT_VM, among them -EIO: the context was lost to a hang or a reset of the device (make
 * a new one), or one of the objects is lost; the buffer's own, see above; -EXDEV: it is for another device, or VM.
 */
TESSERA_API int tessera_context_submit(struct tessera_context *ctx, struct tessera_cmdbuf *cb,
				       struct tessera_submit_args *args);
/* Submit and wait for the end; returns the first error of either. */
TESSERA_API int tessera_context_run(struct tessera_context *ctx, struct tessera_cmdbuf *cb);

/* ---- Residency --------------------------------------------------------------------- */

struct tessera_residency {
	uint64_t bytes_to_trim; /* with -ENOMEM: how much is to be evicted before it fits */
	uint32_t trim_segments; /* and where, as a set of segment ids */
	uint32_t pending; /* 1: paging is under way */
};

/*
 * Have objects resident while jobs run that name nothing, counted for each object. All or nothing. With no objects, what was
 * moved out meanwhile is brought back. @signal (may be NULL) is signalled when they are there, @result (may be NULL) says more. Errors:
 * those of DRM_IOCTL_TESSERA_MAKE_RESIDENT; -EXDEV.
 */
TESSERA_API int tessera_device_make_resident(struct tessera_device *dev,
					     struct tessera_bo *const *bos, uint32_t count,
					     const struct tessera_sync *signal,
					     struct tessera_residency *result);
/* Take that back. Errors: those of DRM_IOCTL_TESSERA_EVICT; -EXDEV. */
TESSERA_API int tessera_device_evict(struct tessera_device *dev, struct tessera_bo *const *bos,
				     uint32_t count);
/* What can be counted on in a set of segments. @size: sizeof(*budget). */
TESSERA_API int tessera_device_budget(struct tessera_device *dev, uint32_t segments,
				      struct drm_tessera_budget *budget, size_t size);
/* Make so much of the budget of one segment, an id, independent of others. -ENOSPC: too much. */
TESSERA_API int tessera_device_reserve(struct tessera_device *dev, uint32_t segment,
				       uint64_t bytes);
/* Signal an eventfd when the budget of a set of segments changes; negative: no more. */
TESSERA_API int tessera_device_watch_budget(struct tessera_device *dev, uint32_t segments,
					    int eventfd);

/* ---- GPU virtual addresses ------------------------------------------------------------ */

/*
 * Contexts of the second model work at addresses of a VM, which never change, and bring no lists. Who uses them sees to
 * it that objects are resident, and knows by fences when jobs are done: tessera_bo_wait() and tessera_bo_lock()
 * do not know of these jobs.
 *
 * Errors: -EOPNOTSUPP: the device has no virtual addresses; those of DRM_IOCTL_TESSERA_VM_CREATE.
 */
TESSERA_API int tessera_vm_new(struct tessera_device *dev, struct tessera_vm **out);
TESSERA_API struct tessera_vm *tessera_vm_ref(struct tessera_vm *vm);
TESSERA_API void tessera_vm_del(struct tessera_vm *vm);
TESSERA_API uint32_t tessera_vm_id(const struct tessera_vm *vm);
/*
 * The address of an object, which is mapped there as a whole, if it was not yet; read-only if it is so for the GPU. It stays until it is unbound, or
 * the last reference to the object or the VM goes. Jobs that were submitted before can still use it. Errors: -EXDEV; those of DRM_IOCTL_TESSERA_VM_BIND.
 */
TESSERA_API int tessera_vm_bind(struct tessera_vm *vm, struct tessera_bo *bo, uint64_t *address);
/* Also takes it off the list. No other thread is binding it, or making it resident. -EINVAL: it is not mapped. */
TESSERA_API int tessera_vm_unbind(struct tessera_vm *vm, struct tessera_bo *bo);

/*
 * Three functions for what jobs of a VM find resident. They also take NULL for the VM, as tessera_context_vm() gives it for contexts without: the kernel
 * knows what these need, and nothing is done. The library maps objects that are not mapped yet, and evicts what earlier phases had, longest ago first.
 *
 * Have objects resident for all jobs that are submitted until tessera_vm_evict(); counted. All or nothing. -ENOMEM: they do not fit.
 */
TESSERA_API int tessera_vm_make_resident(struct tessera_vm *vm, struct tessera_bo *const *bos,
					 uint32_t count);
/* -EINVAL, with nothing done: one is not kept resident so often. */
TESSERA_API int tessera_vm_evict(struct tessera_vm *vm, struct tessera_bo *const *bos,
				 uint32_t count);
/*
 * Begin a phase: have as many objects as fit, from the front, resident for the jobs that are submitted before the next phase
 * begins, besides what is kept. Returns how many; without a VM all. -ENOMEM: not even the first. One without objects ends the last one.
 */
TESSERA_API int tessera_vm_phase(struct tessera_vm *vm, struct tessera_bo *const *bos,
				 uint32_t count);

/* ---- Buffers that are renamed -------------------------------------------------------- */

/*
 * A buffer for jobs whose objects the kernel does not know, or need not: it is synchronised by the points of timelines at which
 * jobs are done. Each lock that discards gives it an object that no job uses, and jobs keep theirs. One thread at a
 * time. It has as many objects as were in use at once, 64 or 64 MiB of them at most, or four that are larger, and keeps them. @desc: with DRM_TESSERA_BO_CPU_ACCESS, linear; else -EINVAL. Errors besides: those of DRM_IOCTL_TESSERA_BO_CREATE and tessera_bo_lock2().
 */
TESSERA_API int tessera_buffer_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
				   struct tessera_buffer **out);
/*
 * Likewise, for small ones: each object is made for so many, 1 .. 1024, each of @desc->size bytes, and another discard takes another part of it.
 */
TESSERA_API int tessera_buffer_new_slices(struct tessera_device *dev,
					  const struct tessera_bo_desc *desc, uint32_t slices,
					  struct tessera_buffer **out);
TESSERA_API void tessera_buffer_del(struct tessera_buffer *buffer);
/* What a job is to bind; another one after a lock with TESSERA_MAP_DISCARD_WHOLE, and none without the buffer. */
TESSERA_API struct tessera_bo *tessera_buffer_bo(const struct tessera_buffer *buffer);
/* Where in it the buffer begins, likewise: a multiple of 256, for tessera_view.offset. 0 without slices. */
TESSERA_API uint64_t tessera_buffer_offset(const struct tessera_buffer *buffer);
/*
 * A job uses it, as it is now, until @timeline reaches @point, which the job signals; @write: it writes it. To be told
 * before the next lock. Errors: -EINVAL: point 0; -ENOMEM.
 */
TESSERA_API int tessera_buffer_used(struct tessera_buffer *buffer, struct tessera_syncobj *timeline,
				    uint64_t point, int write);
/*
 * Begin to access it with the CPU, @flags as those of tessera_bo_lock(): waits for the jobs, asleep, or not with UNSYNCHRONIZED or
 * DISCARD_WHOLE (unless jobs use all objects that it may have), or is -EBUSY with DONTBLOCK. Any number of times; the address is good until a lock that discards. On a device that does
 * not snoop, objects with DRM_TESSERA_BO_EXPLICIT_SYNC are cared for, by lock and unlock.
 */
TESSERA_API int tessera_buffer_lock(struct tessera_buffer *buffer, uint32_t flags, void **out);
/* What was written is there for jobs submitted later. @flags: the same. */
TESSERA_API int tessera_buffer_unlock(struct tessera_buffer *buffer, uint32_t flags);

/* ---- Objects that are used again -------------------------------------------------------- */

/*
 * A cache keeps objects that a program is done with for the next that needs such ones: what is made as before, down to its mappings in
 * VMs. While they wait they are offered: the kernel may take their memory. Any thread may use it.
 *
 * @limit: bytes of objects that it keeps at most, those with which jobs are not done yet included.
 */
TESSERA_API int tessera_cache_new(struct tessera_device *dev, uint64_t limit,
				  struct tessera_cache **out);
/* Objects that were taken are not its own. */
TESSERA_API void tessera_cache_del(struct tessera_cache *cache);
/*
 * An object as tessera_bo_new() makes it, but with any contents, and linear ones up to a quarter larger. If there is no memory for another, what is kept is
 * given up first. Errors: those of tessera_bo_new().
 */
TESSERA_API int tessera_cache_take(struct tessera_cache *cache, const struct tessera_bo_desc *desc,
				   struct tessera_bo **out);
/*
 * The caller's reference, which is the last one, for others to use when @timeline has reached @point; NULL: at once, if only
 * jobs use it that list it. It is not locked. What cannot be kept, as it was exported or not made by tessera_bo_new(), is destroyed behind
 * all that was submitted before.
 */
TESSERA_API void tessera_cache_give(struct tessera_cache *cache, struct tessera_bo *bo,
				    struct tessera_syncobj *timeline, uint64_t point);
/* Give up what was kept longest until no more than @bytes are kept. */
TESSERA_API void tessera_cache_trim(struct tessera_cache *cache, uint64_t bytes);

/* ---- Surfaces for GPU and CPU ------------------------------------------------------ */

/*
 * The CPU does not see linear bytes of a swizzled object where it is in an aperture, so a surface that is swizzled for
 * the GPU and accessed by the CPU is two objects: one for the GPU, and its twin for the CPU. They are
 * made by one request; a lock copies from the first to the second, an unlock back.
 */
struct tessera_surface_desc {
	uint32_t format; /* TSR_FORMAT_* */
	uint32_t layout; /* TSR_LAYOUT_*, of the GPU's object; not linear */
	uint32_t width; /* 1 .. TSR_SURF_MAX_DIM */
	uint32_t height;
	/* Segments and flags; size, layout and pitch are not looked at. */
	struct tessera_bo_desc gpu;
	struct tessera_bo_desc twin;
	uint64_t reserved[4]; /* zero */
};

/*
 * Fill @desc in: the GPU's object in memory, or else in a writable aperture; the twin as
 * TESSERA_USAGE_STAGING. Errors: -EINVAL; -ENODEV: no such segment.
 */
TESSERA_API int tessera_surface_desc_init(const struct tessera_device *dev,
					  struct tessera_surface_desc *desc, uint32_t format,
					  uint32_t layout, uint32_t width, uint32_t height);
/* Errors: those of DRM_IOCTL_TESSERA_BO_CREATE_TWINS. A new surface reads as zero. */
TESSERA_API int tessera_surface_new(struct tessera_device *dev,
				    const struct tessera_surface_desc *desc,
				    struct tessera_surface **out);
TESSERA_API struct tessera_surface *tessera_surface_ref(struct tessera_surface *surface);
/* A surface that is locked is given up with what the CPU has written. */
TESSERA_API void tessera_surface_del(struct tessera_surface *surface);
/* What command buffers bind, the same as long as the surface lives and no longer without a reference, and how. */
TESSERA_API struct tessera_bo *tessera_surface_bo(const struct tessera_surface *surface);
TESSERA_API void tessera_surface_view(const struct tessera_surface *surface,
				      struct tessera_view *view);
/*
 * Begin to access @rect (NULL: all) with the CPU: *@out is the address of its first texel, *@pitch
 * what is from row to row. @flags: TESSERA_MAP_READ and _WRITE. With them a job of @ctx copies the texels, and this waits
 * for its end. With TESSERA_MAP_DISCARD_RANGE, if all of @rect will be written, nothing is copied;
 * with TESSERA_MAP_DISCARD_WHOLE, if nothing of the surface is needed, this does not wait, either. Both take WRITE alone. Other flags
 * are -EINVAL: they ask for access before the copy is there. Jobs of submissions that have returned count.
 *
 * One lock at a time: -EBUSY. Errors besides: -EOPNOTSUPP: @ctx has a VM; -EINVAL: flags, a rectangle that is empty or not inside; -EXDEV; those of
 * tessera_context_submit() and tessera_bo_lock(); the error of the copying job, see tessera_fence_wait().
 */
TESSERA_API int tessera_surface_lock(struct tessera_surface *surface, struct tessera_context *ctx,
				     const struct tessera_rect *rect, uint32_t flags, void **out,
				     uint32_t *pitch);
/*
 * End it, by any thread. With WRITE a job of the lock's context copies the rectangle back, before jobs submitted later;
 * not waited for. Errors: -EINVAL: not locked; with the surface unlocked, and not changed, those of tessera_context_submit().
 */
TESSERA_API int tessera_surface_unlock(struct tessera_surface *surface);
/* Like tessera_bo_wait(), for what the GPU does with the surface. */
TESSERA_API int tessera_surface_wait(struct tessera_surface *surface, int for_write,
				     int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_H */
