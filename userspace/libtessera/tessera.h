/* SPDX-License-Identifier: MIT */
/*
 * libtessera: userspace library of the Tessera virtual GPU.
 *
 * Conventions of all functions:
 *  - functions return 0, or a count where stated, or a negative errno; nothing
 *    is printed, there is no global state, and errno is not used;
 *  - objects are opaque: _new creates one with one reference, _ref adds a
 *    reference and _del drops one; _del accepts NULL;
 *  - sizes, offsets and pitches are in bytes; rectangles are in texels;
 *  - timeouts are absolute CLOCK_MONOTONIC nanoseconds (tessera_deadline());
 *  - system calls interrupted by a signal are restarted;
 *  - -ENODEV (the device is gone) and -ENOMEM (no memory) may come from any
 *    function that calls the kernel and are not repeated below;
 *  - an object is lost if a move of it fails, or if the device is reset while
 *    only video memory holds its bytes. Submissions that list a lost object
 *    return -EIO, and an access to its mapping raises SIGBUS, also inside
 *    tessera_bo_read() and tessera_bo_write(). The program can only destroy it.
 *
 * Threads: devices, buffer objects, caches, pools, VMs, surfaces, sync objects, fences
 * and contexts may be used by several threads at once. A command buffer and a
 * struct tessera_buffer belong to one thread at a time. Reference counts are
 * atomic.
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
struct tessera_pool;
struct tessera_piece;
struct tessera_vm;
struct tessera_context;
struct tessera_cmdbuf;
struct tessera_sync;
struct tessera_syncobj;
struct tessera_monitored;
struct tessera_fence;
struct tessera_surface;

/* ---- Device -------------------------------------------------------------- */

/*
 * Open a device: from an open DRM file (duplicated; the caller keeps @fd), by
 * the path of a render node, or the first render node driven by tessera.
 * tessera_device_new_pci() opens the render node of a PCI function. Its name is
 * written as udev does, pci-0000:00:05.0, or as DRI_PRIME has it,
 * pci-0000_00_05_0: four or more digits of the domain, two of the bus, two of
 * the slot and one of the function, hexadecimal and in lower case. The device
 * is looked up in sysfs, so udev need not run.
 *
 * Any thread may call them. Errors: -ENODEV (no such device, or not one of
 * tessera), those of open(), -EPROTO (the kernel's answer is inconsistent),
 * -EINVAL (no name of a PCI function).
 */
TESSERA_API int tessera_device_new(int fd, struct tessera_device **out);
TESSERA_API int tessera_device_new_path(const char *path, struct tessera_device **out);
TESSERA_API int tessera_device_new_pci(const char *name, struct tessera_device **out);
TESSERA_API int tessera_device_new_first(struct tessera_device **out);
/* Add a reference; any thread. Returns @dev. */
TESSERA_API struct tessera_device *tessera_device_ref(struct tessera_device *dev);
/*
 * Drop a reference; any thread. The last one, of which objects made of the
 * device have one each, closes the DRM file.
 */
TESSERA_API void tessera_device_del(struct tessera_device *dev);

/* The library's own DRM file. The caller must not close it. */
TESSERA_API int tessera_device_fd(const struct tessera_device *dev);

/*
 * The kernel's structs grow at their ends, and a program may have been built
 * with shorter ones than the library. The interface therefore has no arrays of
 * such structs. A function that fills one in for the caller takes its size:
 * fields beyond that size are left out, and fields that the library or the
 * kernel does not know are zero.
 */

/* Properties read when the device was opened. Valid while the device exists. */
TESSERA_API const struct drm_tessera_query_device *tessera_device_info(
	const struct tessera_device *dev);
/*
 * Segment at @index in id order, from 0; NULL after the last one. Valid while
 * the device exists.
 */
TESSERA_API const struct drm_tessera_query_segment *tessera_device_segment_at(
	const struct tessera_device *dev, uint32_t index);
/*
 * Engine at @index, from 0; NULL after the last one. Valid while the device
 * exists.
 */
TESSERA_API const struct drm_tessera_query_engine *tessera_device_engine_at(
	const struct tessera_device *dev, uint32_t index);
/* The segment with name @name, or NULL. */
TESSERA_API const struct drm_tessera_query_segment *tessera_device_segment(
	const struct tessera_device *dev, const char *name);
/*
 * The set of segments that have all flags of @with and none of @without
 * (DRM_TESSERA_SEGMENT_*). Bit n stands for segment id n.
 */
TESSERA_API uint32_t tessera_device_segment_set(const struct tessera_device *dev, uint32_t with,
						uint32_t without);
/*
 * Current use of the segments. Fills in up to @count elements of @stride bytes
 * each and returns their number.
 */
TESSERA_API int tessera_device_memory(struct tessera_device *dev,
				      struct drm_tessera_query_memory *memory, size_t stride,
				      uint32_t count);
/*
 * Read the device's properties again, for example the error counter and the
 * clock. @size: sizeof(*info).
 */
TESSERA_API int tessera_device_refresh(struct tessera_device *dev,
				       struct drm_tessera_query_device *info, size_t size);

/*
 * The library's own structs keep their sizes while the soname is the same. New
 * fields replace reserved ones, and a zero in a new field selects the behaviour
 * of before. Programs therefore have to fill in such a struct with an _init
 * function or an initialiser, never field by field. A reserved field that is
 * not zero is -EINVAL.
 */

/* ---- Surfaces: arithmetic only ------------------------------------------- */

/* View of an object through a slot. */
struct tessera_view {
	uint32_t format; /* TSR_FORMAT_* */
	uint32_t layout; /* TSR_LAYOUT_* */
	uint32_t access; /* TSR_SURF_READ | TSR_SURF_WRITE */
	uint32_t pitch; /* 0: a buffer, one row */
	uint32_t width; /* 1 .. TSR_SURF_MAX_DIM; 0 for a buffer */
	uint32_t height;
	uint64_t offset; /* in the object: multiple of 8; swizzled: of TSR_TILE_BYTES */
	uint64_t reserved[4]; /* zero */
};

/* Bytes of a texel of @format, 0 for an unknown format. */
TESSERA_API uint32_t tessera_format_bytes(uint32_t format);
/*
 * Fill in @view for a whole surface at offset 0 with the smallest legal pitch,
 * with read and write access. @size receives the bytes it needs. Errors:
 * -EINVAL.
 */
TESSERA_API int tessera_view_init(struct tessera_view *view, uint32_t format, uint32_t layout,
				  uint32_t width, uint32_t height, uint64_t *size);
/* Fill in @view for a read-only buffer of 32-bit words (TSR_FORMAT_R32). */
TESSERA_API void tessera_view_init_buffer(struct tessera_view *view);

/* ---- Buffer objects ------------------------------------------------------ */

enum tessera_usage {
	/*
	 * Sampled, filled by the GPU: memory segments, CPU-invisible ones
	 * first.
	 */
	TESSERA_USAGE_TEXTURE,
	TESSERA_USAGE_RENDER_TARGET, /* the same segments */
	/*
	 * CPU writes and reads, GPU copies: writable aperture, else visible
	 * memory.
	 */
	TESSERA_USAGE_STAGING,
	/* CPU writes, GPU reads: any aperture, read-only ones first. */
	TESSERA_USAGE_VERTEX,
};

struct tessera_bo_desc {
	uint64_t size; /* rounded up to the device's page size */
	uint32_t flags; /* DRM_TESSERA_BO_* */
	uint32_t supported; /* set of segments */
	uint32_t evict_to; /* set of aperture segments; 0: system memory */
	uint32_t num_preferred; /* used elements of preferred: 0 .. DRM_TESSERA_MAX_PREFERRED */
	uint8_t preferred[8];
	uint32_t layout; /* DRM_TESSERA_LAYOUT_* */
	uint32_t pitch; /* for a swizzled layout, else 0 */
	uint32_t vm; /* id of the VM with DRM_TESSERA_BO_VM_PRIVATE, else 0 */
	int32_t priority; /* DRM_TESSERA_BO_PRIORITY_MIN .. DRM_TESSERA_BO_PRIORITY_MAX */
	uint64_t alignment; /* of its offset in segments: a power of two, or 0 */
	uint32_t write_set; /* segments of supported that jobs may write it in; 0: all possible */
	uint32_t pad; /* zero */
	uint64_t reserved[1]; /* zero */
};

/*
 * Fill in @desc for a usage. With @view (may be NULL) also layout and pitch.
 * Errors: -EINVAL; -ENODEV: the device has no segment for this usage.
 */
TESSERA_API int tessera_bo_desc_init(const struct tessera_device *dev, struct tessera_bo_desc *desc,
				     enum tessera_usage usage, uint64_t size,
				     const struct tessera_view *view);
/*
 * Replace the segments of @desc by those in @names, separated by commas,
 * preferred in that order. Jobs may then write the object in all of them.
 * Errors, with @desc unchanged: -ENOENT: no segment of that name; -E2BIG: more
 * than DRM_TESSERA_MAX_PREFERRED.
 */
TESSERA_API int tessera_bo_desc_segments(const struct tessera_device *dev,
					 struct tessera_bo_desc *desc, const char *names);
/*
 * Make the object private to @vm: no other VM can map it, and no allocation
 * list can name it. In exchange the kernel may place it in non-contiguous
 * pages, and locks all private objects of a VM with one lock. The function does
 * nothing if @vm is NULL (tessera_context_vm() of a context without VM), or for
 * a swizzled object with CPU access, which must be contiguous.
 */
TESSERA_API void tessera_bo_desc_private(struct tessera_bo_desc *desc, const struct tessera_vm *vm);
/*
 * Create an object. It reads as zero. Errors: those of
 * DRM_IOCTL_TESSERA_BO_CREATE.
 */
TESSERA_API int tessera_bo_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
			       struct tessera_bo **out);
/* tessera_bo_desc_init() and tessera_bo_new() in one call. */
TESSERA_API int tessera_bo_new_for(struct tessera_device *dev, enum tessera_usage usage,
				   uint64_t size, const struct tessera_view *view,
				   struct tessera_bo **out);
/*
 * Create an object from private anonymous memory of the process, in whole
 * pages. @flags: 0 or DRM_TESSERA_BO_GPU_READ_ONLY. The CPU continues to use
 * its own address, and waits for jobs with tessera_bo_wait(). Mapping, locking,
 * reading and writing the object return -EPERM. Errors: those of
 * DRM_IOCTL_TESSERA_BO_FROM_USER.
 */
TESSERA_API int tessera_bo_from_user(struct tessera_device *dev, void *memory, uint64_t size,
				     uint32_t flags, struct tessera_bo **out);
/* Add a reference; any thread. Returns @bo. */
TESSERA_API struct tessera_bo *tessera_bo_ref(struct tessera_bo *bo);
/*
 * Drop a reference. The last one unmaps the object and closes its handle. The
 * kernel frees the memory when it is idle.
 */
TESSERA_API void tessera_bo_del(struct tessera_bo *bo);
/*
 * Drop a reference. The last one unmaps and destroys the object. @flags:
 * DRM_TESSERA_BO_DESTROY_*. With 0 the kernel frees the object after all jobs
 * that were submitted before, including those that do not list it. Errors, with
 * the reference kept, but all mappings removed: those of
 * DRM_IOCTL_TESSERA_BO_DESTROY.
 */
TESSERA_API int tessera_bo_destroy(struct tessera_bo *bo, uint32_t flags);

/*
 * Get the object of a dma-buf, with one reference for the caller. A dma-buf of
 * an object that @dev already has gives that object, however it came there.
 * Importing it N times therefore needs N calls of tessera_bo_del(), and the
 * handle is closed at the last one. The caller keeps @fd, and may close it at
 * once. Any thread may import while others delete the same object.
 *
 * The kernel has one set of handles for an open DRM file. A program that
 * imports therefore needs a device of its own file: opened by path, or the only
 * device made of its file.
 *
 * Objects of other devices lie in the pages of the exporter. Map and lock only
 * objects with DRM_TESSERA_BO_CPU_ACCESS (tessera_bo_info()). The cache destroys
 * an imported object. Errors: -EBADF or -EINVAL: @fd is no dma-buf; those of
 * DRM_IOCTL_PRIME_FD_TO_HANDLE (Documentation/uapi.rst, Sharing objects).
 */
TESSERA_API int tessera_bo_import(struct tessera_device *dev, int fd, struct tessera_bo **out);
/*
 * Get a dma-buf of the object. The caller closes *@fd (O_CLOEXEC, readable and
 * writable). The dma-buf keeps the memory, not the handle, and fences of jobs
 * that list the object synchronise its users. From then on the object can
 * neither be offered nor renamed. Any thread may call it. Errors: -EINVAL: the
 * object is private to a VM or offered; those of DRM_IOCTL_PRIME_HANDLE_TO_FD;
 * -EMFILE.
 */
TESSERA_API int tessera_bo_export(struct tessera_bo *bo, int *fd);

/*
 * Create a resource: @count objects (1 .. DRM_TESSERA_RESOURCE_MAX_BOS), which
 * are stored in @bos, with @data_size bytes of private data
 * (0 .. DRM_TESSERA_RESOURCE_MAX_DATA), which the kernel does not interpret. All
 * objects are created or none. The caller closes *@fd (O_CLOEXEC), and sends it
 * to programs that open the resource; it keeps the objects' memory, not their
 * handles. The objects are used and deleted one by one. They can neither be
 * offered nor renamed, and a cache destroys them. Errors: those of
 * DRM_IOCTL_TESSERA_RESOURCE_CREATE.
 */
TESSERA_API int tessera_resource_create(struct tessera_device *dev,
					const struct tessera_bo_desc *descs, uint32_t count,
					const void *data, uint32_t data_size,
					struct tessera_bo **bos, int *fd);
/*
 * Open all objects of a resource, or none. *@count and *@data_size are the
 * elements of @bos and the bytes at @data, and receive what the resource has.
 * With a NULL @bos nothing else happens: the first of two calls. Each object
 * comes with one reference for the caller. An object that @dev has already is
 * that object, as with tessera_bo_import(). The caller keeps @fd, and may close
 * it at once. Errors: -ENOSPC: more objects or private data than there is space
 * for; -EBADF or -EINVAL: @fd is no resource; -EXDEV: it is of another device;
 * -ENOMEM.
 */
TESSERA_API int tessera_resource_open(struct tessera_device *dev, int fd, struct tessera_bo **bos,
				      uint32_t *count, void *data, uint32_t *data_size);

/*
 * GEM handle in the library's DRM file, for ioctls of the caller. It is valid
 * while the object exists. The caller must not close it.
 */
TESSERA_API uint32_t tessera_bo_handle(const struct tessera_bo *bo);
/* Size in bytes, a multiple of the device's page size. */
TESSERA_API uint64_t tessera_bo_size(const struct tessera_bo *bo);
/* Current state of the object in the kernel. @size: sizeof(*info). */
TESSERA_API int tessera_bo_info(struct tessera_bo *bo, struct drm_tessera_bo_info *info,
				size_t size);

/*
 * CPU address of an object with DRM_TESSERA_BO_CPU_ACCESS. The object has one
 * mapping, which is counted. It stays valid, at the same address, until the
 * last unmap, wherever the object moves. The function does not wait for jobs,
 * see tessera_bo_wait(). Errors: -EPERM: no CPU access; those of mmap().
 */
TESSERA_API int tessera_bo_map(struct tessera_bo *bo, void **out);
/* Errors: -EINVAL: not mapped. */
TESSERA_API int tessera_bo_unmap(struct tessera_bo *bo);
/*
 * Wait for jobs that write the object or, with @for_write, for all jobs that
 * use it. Errors: -EBUSY: not idle, and @deadline_ns is 0 or in the past;
 * -ETIME: the deadline passed while waiting.
 */
TESSERA_API int tessera_bo_wait(struct tessera_bo *bo, int for_write, int64_t deadline_ns);
/*
 * Kinds of CPU access, as PIPE_MAP_* in Mesa. At least one of READ and WRITE is
 * required, except with UNSYNCHRONIZED.
 */
enum tessera_map_flags {
	TESSERA_MAP_READ = 1 << 0,
	TESSERA_MAP_WRITE = 1 << 1,
	/* No wait: the CPU does not touch what jobs use. */
	TESSERA_MAP_UNSYNCHRONIZED = 1 << 2,
	/* A hint that the CPU overwrites the range. */
	TESSERA_MAP_DISCARD_RANGE = 1 << 3,
	TESSERA_MAP_DISCARD_WHOLE = 1 << 4, /* the old contents are not needed: no wait */
	TESSERA_MAP_DONTBLOCK = 1 << 5, /* -EBUSY instead of a wait */
	TESSERA_MAP_PERSISTENT = 1 << 6, /* jobs may use the object before the unlock */
	TESSERA_MAP_COHERENT = 1 << 7, /* jobs see CPU writes without an unlock */
	TESSERA_MAP_DO_NOT_EVICT = 1 << 8, /* -ENOSPC instead of an eviction of the object */
	TESSERA_MAP_REUSE = 1 << 9, /* with DISCARD_WHOLE: prefer an idle object to a new one */
};

/*
 * Begin a CPU access that is synchronised with jobs (DRM_IOCTL_TESSERA_LOCK),
 * at the address that tessera_bo_map() returns. Swizzled layouts appear linear.
 * End it with tessera_bo_unlock() and the same flags.
 *
 * With DISCARD_WHOLE *@bo may be replaced by another object of the same kind,
 * which reads as zero. Jobs and command buffers keep the old object; the
 * caller's reference to it is dropped. If the object is shared (dma-buf), the
 * call waits for the jobs instead.
 *
 * With REUSE the other object may be one that an earlier DISCARD_WHOLE replaced
 * or returned, that no job uses, and to which the program has kept a reference
 * (tessera_bo_ref()). *@bo becomes another reference to it. Its contents are
 * undefined, also for command buffers that name it and were not submitted yet.
 * The call delays threads that drop last references, while it waits at the limit
 * of 64 objects. A struct tessera_buffer always reuses its objects.
 *
 * Errors: -EINVAL: unknown or contradictory flags (DISCARD_* without WRITE or
 * with READ; DISCARD_WHOLE or DO_NOT_EVICT with UNSYNCHRONIZED; REUSE without
 * DISCARD_WHOLE; UNSYNCHRONIZED with a swizzled layout); -EPERM: no CPU access; -EBUSY: a wait would be needed
 * with DONTBLOCK, or another file has locked a swizzled object without
 * ACQUIRE_RANGE; -ENOSPC: the CPU has no view of the object where it is, with
 * DO_NOT_EVICT; -EIO: the object is lost; -EOPNOTSUPP: COHERENT on a device that
 * is not coherent, or a swizzled object that a VM maps; those of mmap().
 */
TESSERA_API int tessera_bo_lock(struct tessera_bo **bo, uint32_t flags, void **out);
/* Errors: -EINVAL: not locked. */
TESSERA_API int tessera_bo_unlock(struct tessera_bo *bo, uint32_t flags);
/*
 * Set the name of the object in debugfs and traces: printable ASCII, less than
 * DRM_TESSERA_LABEL_BYTES; "": none. Errors: -EINVAL: any other string.
 */
TESSERA_API int tessera_bo_set_label(struct tessera_bo *bo, const char *label);
/*
 * Change the order in which the client loses its objects: those of the lowest
 * priority first. @priority: DRM_TESSERA_BO_PRIORITY_MIN ..
 * DRM_TESSERA_BO_PRIORITY_MAX. Errors: those of DRM_IOCTL_TESSERA_BO_PRIORITY.
 */
TESSERA_API int tessera_bo_set_priority(struct tessera_bo *bo, int32_t priority);
/*
 * Get a CPU address without synchronisation (DRM_IOCTL_TESSERA_LOCK2), for
 * programs that know when jobs are done. It is the address of tessera_bo_map()
 * and may be kept for the object's life. Objects without
 * DRM_TESSERA_BO_CPU_ACCESS have an address, too, while they are locked this
 * way.
 *
 * Caution: if the object supports memory segments only and is in none when it
 * is locked, the kernel keeps it out of them until the unlock, and refuses jobs
 * that list it. Map such an object instead. Errors: those of the ioctl and of
 * mmap().
 */
TESSERA_API int tessera_bo_lock2(struct tessera_bo *bo, void **out);
/* Errors: -EINVAL: not locked with tessera_bo_lock2(). */
TESSERA_API int tessera_bo_unlock2(struct tessera_bo *bo);
/*
 * Write back and invalidate the CPU caches of a range: after the CPU has
 * written and before jobs read, and after jobs have written and before the CPU
 * reads. On a device that does not snoop it is needed for objects with
 * DRM_TESSERA_BO_EXPLICIT_SYNC, and for those with DRM_TESSERA_BO_CPU_CACHED
 * that jobs at virtual addresses use. On other devices it does nothing.
 */
TESSERA_API int tessera_bo_invalidate_cache(struct tessera_bo *bo, uint64_t offset, uint64_t size);
/*
 * tessera_bo_offer() allows the kernel to drop the contents of objects of one
 * device. @priority: DRM_TESSERA_OFFER_*. tessera_bo_decommit() offers objects
 * and gives up their memory at once. tessera_bo_reclaim() takes objects back and
 * returns in @results whether each was kept (DRM_TESSERA_RECLAIM_*). All act on
 * all objects or none, and wait for no job. Errors: those of the ioctls.
 */
TESSERA_API int tessera_bo_offer(struct tessera_bo *const *bos, uint32_t count, uint32_t priority);
TESSERA_API int tessera_bo_decommit(struct tessera_bo *const *bos, uint32_t count);
TESSERA_API int tessera_bo_reclaim(struct tessera_bo *const *bos, uint32_t count,
				   uint32_t *results);
/*
 * The same, and begin to bring the objects back. @signal (may be NULL) is
 * signalled when they are in place. Without objects nothing is signalled.
 * @pending (may be NULL) receives 1 if moves are under way. Errors: also -EXDEV.
 */
TESSERA_API int tessera_bo_reclaim_signal(struct tessera_bo *const *bos, uint32_t count,
					  uint32_t *results, const struct tessera_sync *signal,
					  uint32_t *pending);
/*
 * Wait until the object is idle, then copy to or from it through a mapping.
 * Errors: -EINVAL: outside the object; those of tessera_bo_map() and
 * tessera_bo_wait().
 */
TESSERA_API int tessera_bo_write(struct tessera_bo *bo, uint64_t offset, const void *data,
				 size_t size);
TESSERA_API int tessera_bo_read(struct tessera_bo *bo, uint64_t offset, void *data, size_t size);

/* ---- Synchronisation ----------------------------------------------------- */

/* A deadline that never passes. */
#define TESSERA_FOREVER INT64_MAX

/* Deadline @relative_ns from now, saturating. */
TESSERA_API int64_t tessera_deadline(uint64_t relative_ns);

/*
 * A drm_syncobj. A binary one uses point 0, a timeline uses points counting up
 * from 1. @signalled: the binary object has a signalled fence from the
 * beginning; else it has none.
 */
TESSERA_API int tessera_syncobj_new(struct tessera_device *dev, int signalled,
				    struct tessera_syncobj **out);
/* Add a reference; any thread. Returns @obj. */
TESSERA_API struct tessera_syncobj *tessera_syncobj_ref(struct tessera_syncobj *obj);
/*
 * Drop a reference; any thread. The last one closes the handle. Jobs and waits
 * that name the object go on.
 */
TESSERA_API void tessera_syncobj_del(struct tessera_syncobj *obj);
/* Handle in the library's DRM file. The caller must not close it. */
TESSERA_API uint32_t tessera_syncobj_handle(const struct tessera_syncobj *obj);
/*
 * Signal from the CPU: point 0 of a binary object, or a point of a timeline,
 * above its earlier ones.
 */
TESSERA_API int tessera_syncobj_signal(struct tessera_syncobj *obj, uint64_t point);
/* Drop the fence of a binary object. Waits that began before keep it. */
TESSERA_API int tessera_syncobj_reset(struct tessera_syncobj *obj);
/*
 * Wait for a point. The call also waits for a fence that has yet to be
 * attached. It sleeps and never polls. Errors: -ETIME: not signalled by
 * @deadline_ns.
 */
TESSERA_API int tessera_syncobj_wait(struct tessera_syncobj *obj, uint64_t point,
				     int64_t deadline_ns);
/* A point of a sync object. */
struct tessera_sync {
	struct tessera_syncobj *obj;
	uint64_t point; /* 0: binary */
};

/*
 * Wait for any of @count points (1 .. 65536), or for all of them, in one system
 * call that sleeps. The sync objects are of one device, and may repeat. The call
 * also waits for fences that have yet to be attached. For fences of submissions
 * use tessera_fence_syncobj() and point 0. @deadline_ns: absolute; a deadline
 * that has passed polls. @first (may be NULL) receives the index of a point that
 * is reached, unless @all. Several threads may wait for the same objects.
 * Errors, with *@first unchanged: -ETIME: not reached by @deadline_ns; -EINVAL:
 * @count; -EXDEV: objects of several devices.
 */
TESSERA_API int tessera_sync_wait(const struct tessera_sync *syncs, uint32_t count, int all,
				  int64_t deadline_ns, uint32_t *first);
/* Last signalled point of a timeline. */
TESSERA_API int tessera_syncobj_query(struct tessera_syncobj *obj, uint64_t *point);
/*
 * Export the fence that a binary object has now as a sync_file, which keeps it
 * whatever the object does later. The caller closes *@fd. For the fence of a
 * submission pass tessera_fence_syncobj(). Errors: -EINVAL: the object has no
 * fence yet; -EMFILE.
 */
TESSERA_API int tessera_syncobj_export(struct tessera_syncobj *obj, int *fd);
/*
 * Replace the fence of a binary object by that of a sync_file, of this driver
 * or another. Submissions that name the object in their waits then wait for it,
 * and so does tessera_syncobj_wait(). Waits that began before keep the old
 * fence. The caller keeps @fd, and may close it at once. Errors, with the old
 * fence kept: -EINVAL: @fd is no sync_file.
 */
TESSERA_API int tessera_syncobj_import(struct tessera_syncobj *obj, int fd);
/*
 * Get a file descriptor of the object itself, binary or timeline, for other
 * files and processes. Later points and fences are shared in both directions.
 * The caller closes *@fd (O_CLOEXEC). Any thread may call it. Errors: -EMFILE.
 */
TESSERA_API int tessera_syncobj_to_fd(struct tessera_syncobj *obj, int *fd);
/*
 * Create an object of such a file descriptor. Each call makes an object with a
 * handle of its own. The caller keeps @fd, and may close it at once. Errors:
 * -EINVAL: @fd is of no sync object (a sync_file: tessera_syncobj_import()).
 */
TESSERA_API int tessera_syncobj_from_fd(struct tessera_device *dev, int fd,
					struct tessera_syncobj **out);

/*
 * Create a monitored fence: a timeline sync object whose value is also in
 * memory, so that reading it needs no system call. The value starts at @value
 * and only increases. Submissions signal and wait for points of the sync
 * object. Errors: -ENOSPC: too many fences.
 */
TESSERA_API int tessera_monitored_new(struct tessera_device *dev, uint64_t value,
				      struct tessera_monitored **out);
/* Add a reference; any thread. Returns @fence. */
TESSERA_API struct tessera_monitored *tessera_monitored_ref(struct tessera_monitored *fence);
/* Drop a reference; any thread. Jobs still signal the sync object after that. */
TESSERA_API void tessera_monitored_del(struct tessera_monitored *fence);
/*
 * Sync object of the fence, for tessera_submit_args. Signalling it with
 * tessera_syncobj_signal() would not update the value in memory.
 */
TESSERA_API struct tessera_syncobj *tessera_monitored_syncobj(struct tessera_monitored *fence);
/*
 * The value in memory, without a system call. Memory that was written before
 * the value is seen by reads after the call.
 */
TESSERA_API uint64_t tessera_monitored_value(const struct tessera_monitored *fence);
/*
 * Signal from the CPU. If jobs are to signal lower values, it takes effect when
 * they are over. Errors: -EINVAL: @value is not above the earlier ones.
 */
TESSERA_API int tessera_monitored_signal(struct tessera_monitored *fence, uint64_t value);
/*
 * Sleep until the value is reached. It does not wake up for a value that a
 * command stream signals (tessera_cmdbuf_fence_signal()). Errors: -ETIME: not
 * reached by @deadline_ns.
 */
TESSERA_API int tessera_monitored_wait(struct tessera_monitored *fence, uint64_t value,
				       int64_t deadline_ns);

/* A fence stands for the end of one submission. */
TESSERA_API struct tessera_fence *tessera_fence_ref(struct tessera_fence *fence);
/* Drop a reference; any thread. The job goes on. */
TESSERA_API void tessera_fence_del(struct tessera_fence *fence);
/*
 * Sleep until the job is over. *@job_error (@job_error may be NULL) receives 0
 * or the job's error: -EFAULT, -ENOSPC, -ETIME, -ECANCELED or -EIO, see &struct
 * drm_tessera_submit. Errors: -ETIME: the job is not over by @deadline_ns;
 * *@job_error is then -EINPROGRESS.
 */
TESSERA_API int tessera_fence_wait(struct tessera_fence *fence, int64_t deadline_ns,
				   int *job_error);
/* Sync object of the fence. Another submission can wait for it (point 0). */
TESSERA_API struct tessera_syncobj *tessera_fence_syncobj(struct tessera_fence *fence);

/* ---- Command buffers ----------------------------------------------------- */

/*
 * A command buffer records packets together with the allocation list and the
 * patch-location list that the kernel needs. Binding and unbinding take effect
 * at the next packet that does work. All bindings changed since the last one
 * form one split point there. At the same split point the builder binds every
 * other bound object of at least the rebind size again
 * (tessera_cmdbuf_set_rebind()), so that the kernel may move it at a cut.
 * Engine state is undefined after a split point; the builder sends it again
 * before the next draw.
 *
 * A function that fails leaves the recorded contents unchanged, but marks the
 * buffer as failed. Submitting a failed buffer returns the first error until
 * the buffer is reset.
 */
TESSERA_API int tessera_cmdbuf_new(struct tessera_device *dev, struct tessera_cmdbuf **out);
/*
 * Create a command buffer for a context and all other contexts of the same VM.
 * With a VM, packets contain addresses: the builder maps objects when they are
 * bound, if they are not mapped yet (errors: those of tessera_vm_bind()). There
 * are no split points, so nothing is bound twice. Jobs find only resident
 * objects, see tessera_vm_phase().
 */
TESSERA_API int tessera_cmdbuf_new_for(struct tessera_context *ctx, struct tessera_cmdbuf **out);
/* Add a reference; any thread. Returns @cb. */
TESSERA_API struct tessera_cmdbuf *tessera_cmdbuf_ref(struct tessera_cmdbuf *cb);
/*
 * Drop a reference; any thread. The last one drops those to the objects that the
 * buffer names. Submitted jobs keep what they need.
 */
TESSERA_API void tessera_cmdbuf_del(struct tessera_cmdbuf *cb);
/*
 * Empty the buffer. It keeps its memory for the next use and drops its
 * references to objects.
 */
TESSERA_API void tessera_cmdbuf_reset(struct tessera_cmdbuf *cb);
/*
 * Set the minimum size of objects that are bound again at every split point. 0,
 * the default: all objects; UINT64_MAX: none. The size of the packets grows
 * with the product of split points and live slots.
 */
TESSERA_API void tessera_cmdbuf_set_rebind(struct tessera_cmdbuf *cb, uint64_t min_bytes);

/*
 * Bind an object to a slot. Errors: -EINVAL: no such slot, or a view that is
 * malformed or does not fit the object; -EXDEV: an object of another device.
 * The packet that records the binding fails with -E2BIG if a list is full.
 */
TESSERA_API int tessera_cmdbuf_bind(struct tessera_cmdbuf *cb, uint32_t slot, struct tessera_bo *bo,
				    const struct tessera_view *view);
/* Unbind a slot. An unbound slot is no error. */
TESSERA_API int tessera_cmdbuf_unbind(struct tessera_cmdbuf *cb, uint32_t slot);
/* Set state register @reg (TSR_STATE_*) for the following draws. */
TESSERA_API int tessera_cmdbuf_state(struct tessera_cmdbuf *cb, uint32_t reg, uint32_t value);

struct tessera_rect {
	uint32_t x, y, width, height;
};

/*
 * Errors of all packets: -EINVAL: a field out of range; -E2BIG: a limit of the
 * buffer.
 */
TESSERA_API int tessera_cmdbuf_fill(struct tessera_cmdbuf *cb, uint32_t slot,
				    const struct tessera_rect *rect, uint32_t value);
/*
 * Copy @src, without scaling, to (@dst_x, @dst_y). The formats must have the
 * same texel size. Overlapping rectangles are copied as through a temporary.
 */
TESSERA_API int tessera_cmdbuf_copy(struct tessera_cmdbuf *cb, uint32_t dst_slot, uint32_t dst_x,
				    uint32_t dst_y, uint32_t src_slot,
				    const struct tessera_rect *src);
/* @sampler: 0 or TSR_SAMPLER_LINEAR. Samples are clamped to the edge. */
TESSERA_API int tessera_cmdbuf_blit(struct tessera_cmdbuf *cb, uint32_t dst_slot,
				    const struct tessera_rect *dst, uint32_t src_slot,
				    const struct tessera_rect *src, uint32_t sampler,
				    uint32_t blend, uint32_t color);
/*
 * @flags: TSR_DRAW_*. Also -EINVAL if TARGET_SLOT or, for a textured draw,
 * TEXTURE_SLOT was never set.
 */
TESSERA_API int tessera_cmdbuf_draw(struct tessera_cmdbuf *cb, uint32_t vertex_slot,
				    uint32_t offset, uint32_t vertices, uint32_t flags);
/* Write the device clock, 64 bits of nanoseconds, at a byte offset (a multiple of 8). */
TESSERA_API int tessera_cmdbuf_timestamp(struct tessera_cmdbuf *cb, uint32_t slot, uint32_t offset);
/*
 * Wait until the value of a monitored fence is at least @value, or raise it to
 * @value, without the kernel. @address is that of tessera_vm_map_fence(), a
 * multiple of 8. A value that is not below @value stays. Only for the command
 * buffer of a VM; else -EINVAL. The wait ends at the job timeout, with an error
 * of the job: submit the job that signals first.
 */
TESSERA_API int tessera_cmdbuf_fence_wait(struct tessera_cmdbuf *cb, uint64_t address,
					  uint64_t value);
TESSERA_API int tessera_cmdbuf_fence_signal(struct tessera_cmdbuf *cb, uint64_t address,
					    uint64_t value);
/* @dwords: even, 2 .. TSR_PKT_MAX_DWORDS. Does not record pending bindings. */
TESSERA_API int tessera_cmdbuf_nop(struct tessera_cmdbuf *cb, uint32_t dwords);
/*
 * Record pending bindings, like any packet that does work, then append packets
 * unchanged. The builder neither checks them nor adds list entries for bindings
 * in them. For tests, and for packets that the library does not know. @dwords
 * must be even.
 */
TESSERA_API int tessera_cmdbuf_raw(struct tessera_cmdbuf *cb, const uint32_t *packets,
				   uint32_t dwords);
/* Record pending bindings and unbinds. Submission does it automatically. */
TESSERA_API int tessera_cmdbuf_finish(struct tessera_cmdbuf *cb);

/* The arrays recorded so far. Valid until the next call on the buffer. */
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

/* Packets contain addresses: there are no patches and no cuts. */
#define TESSERA_STREAM_ADDRESSES (1u << 0)

/* Point @stream at the arrays of the buffer. */
TESSERA_API void tessera_cmdbuf_stream(const struct tessera_cmdbuf *cb,
				       struct tessera_stream *stream);

/* Findings of the checker. All fields are zero for a correct stream. */
struct tessera_lint {
	uint32_t malformed; /* packets of unknown opcode or length; the check ends there */
	/*
	 * SPLIT-20: BIND_SLOT packets that are not covered by exactly one patch
	 * entry.
	 */
	uint32_t bind_without_entry;
	uint32_t unbind_without_entry; /* UNBIND_SLOT without a NULL entry */
	uint32_t entry_without_packet; /* entries that cover no bind or unbind packet */
	uint32_t unordered; /* entries with a lower split offset than the one before */
	/* Entries inside a packet, beyond the end, valid too late or too long. */
	uint32_t misplaced;
	uint32_t stale_state; /* draws that use state not set since the last split point */
	uint32_t unbound_use; /* work on a slot that is not bound */
	uint32_t read_only_use; /* writes through a binding without write access */
	uint32_t missing_write; /* writable bindings of an allocation not listed as written */
	uint32_t total; /* sum of the above */
	uint32_t first_offset; /* byte offset of the first finding, UINT32_MAX if none */
	uint32_t reserved[12]; /* zero */
};

/*
 * Check a stream against the rules that every split depends on. Returns the
 * number of findings, -ENOMEM or -EINVAL. tessera_cmdbuf_lint() finishes the
 * buffer first.
 */
TESSERA_API int tessera_stream_lint(const struct tessera_stream *stream, struct tessera_lint *lint);
TESSERA_API int tessera_cmdbuf_lint(struct tessera_cmdbuf *cb, struct tessera_lint *lint);

/* ---- Contexts and submission --------------------------------------------- */

/*
 * @flags: DRM_TESSERA_CONTEXT_*. Errors: those of
 * DRM_IOCTL_TESSERA_CONTEXT_CREATE.
 */
TESSERA_API int tessera_context_new(struct tessera_device *dev, uint32_t flags, uint32_t engine,
				    uint32_t split_seed, struct tessera_context **out);
/* Create a context on the first render engine, without flags. */
TESSERA_API int tessera_context_new_default(struct tessera_device *dev,
					    struct tessera_context **out);

struct tessera_context_desc {
	uint32_t flags; /* DRM_TESSERA_CONTEXT_* */
	uint32_t engine;
	uint32_t split_seed;
	uint32_t priority; /* DRM_TESSERA_PRIORITY_* */
	uint64_t reserved[4]; /* zero */
};

/*
 * Fill in @desc: the first render engine, no flags, normal priority. Errors:
 * -ENODEV: no render engine.
 */
TESSERA_API int tessera_context_desc_init(const struct tessera_device *dev,
					  struct tessera_context_desc *desc);
/* Errors, besides the above: -EACCES: high priority without permission. */
TESSERA_API int tessera_context_new_desc(struct tessera_device *dev,
					 const struct tessera_context_desc *desc,
					 struct tessera_context **out);
/*
 * Create a context that works at addresses of a VM. It takes command buffers
 * made for any context of that VM. Errors: -EINVAL: any flag.
 */
TESSERA_API int tessera_context_new_vm(struct tessera_vm *vm,
				       const struct tessera_context_desc *desc,
				       struct tessera_context **out);
/*
 * Device and VM of the context, valid while the context exists. The VM is NULL
 * for a context without one.
 */
TESSERA_API struct tessera_device *tessera_context_device(const struct tessera_context *ctx);
TESSERA_API struct tessera_vm *tessera_context_vm(const struct tessera_context *ctx);
/* Whether the context is lost, and why. @size: sizeof(*status). */
TESSERA_API int tessera_context_status(struct tessera_context *ctx,
				       struct drm_tessera_context_status *status, size_t size);
/* Add a reference; any thread. Returns @ctx. */
TESSERA_API struct tessera_context *tessera_context_ref(struct tessera_context *ctx);
/* Drop a reference; any thread. Jobs that were submitted still run. */
TESSERA_API void tessera_context_del(struct tessera_context *ctx);
/* Id in the library's DRM file, not 0. */
TESSERA_API uint32_t tessera_context_id(const struct tessera_context *ctx);

/*
 * Waits may name sync objects that have no fence yet: the call waits until one
 * is submitted or signalled. Without this flag such a wait is -EINVAL.
 */
#define TESSERA_SUBMIT_WAIT_FOR_SUBMIT (1u << 0)

struct tessera_submit_args {
	const struct tessera_sync *waits;
	uint32_t num_waits;
	uint32_t num_signals;
	const struct tessera_sync *signals;
	struct tessera_fence **fence; /* if not NULL, receives a fence for this submission [out] */
	uint32_t parts; /* parts the buffer was cut into [out] */
	/*
	 * Byte offset in the commands that -EINVAL or -ENOSPC refers to,
	 * UINT32_MAX if unknown. Also set on success if the kernel already
	 * knows that the fence will carry -ENOSPC: the commands before it run
	 * [out]
	 */
	uint32_t error_offset;
	uint32_t error_index; /* index in the patch list, in the same cases [out] */
	uint32_t flags; /* TESSERA_SUBMIT_* */
	uint64_t reserved[4]; /* zero */
};

/*
 * Submit the buffer. The buffer is kept and may be submitted again or reset at
 * once. @args may be NULL. Errors: those of DRM_IOCTL_TESSERA_SUBMIT or
 * _SUBMIT_VM, for example -EIO: the context was lost to a hang or a reset of
 * the device (create a new one), or one of the objects is lost; the recording
 * error of a failed buffer; -EXDEV: the buffer is for another device or VM.
 */
TESSERA_API int tessera_context_submit(struct tessera_context *ctx, struct tessera_cmdbuf *cb,
				       struct tessera_submit_args *args);
/*
 * Submit and wait for the job. Returns the error of the submission, of the
 * wait, or of the job.
 */
TESSERA_API int tessera_context_run(struct tessera_context *ctx, struct tessera_cmdbuf *cb);

/* ---- Residency ----------------------------------------------------------- */

struct tessera_residency {
	uint64_t bytes_to_trim; /* with -ENOMEM: bytes to evict before the objects fit */
	uint32_t trim_segments; /* segments to evict them from, as a set of ids */
	uint32_t pending; /* 1: paging is under way */
};

/*
 * Keep objects resident while jobs run that bring no allocation list. Each
 * object has a count. The call adds all objects or none. With no objects it
 * brings back listed objects that were evicted. @signal (may be NULL) is
 * signalled when the objects are in place. @result (may be NULL) receives
 * details. Errors: those of DRM_IOCTL_TESSERA_MAKE_RESIDENT; -EXDEV.
 */
TESSERA_API int tessera_device_make_resident(struct tessera_device *dev,
					     struct tessera_bo *const *bos, uint32_t count,
					     const struct tessera_sync *signal,
					     struct tessera_residency *result);
/*
 * The same with @flags, DRM_TESSERA_RESIDENT_*: what happens if the objects do
 * not fit and the program has nothing left to evict.
 */
TESSERA_API int tessera_device_make_resident_flags(struct tessera_device *dev,
						   struct tessera_bo *const *bos, uint32_t count,
						   uint32_t flags,
						   const struct tessera_sync *signal,
						   struct tessera_residency *result);
/*
 * Undo tessera_device_make_resident(). Errors: those of
 * DRM_IOCTL_TESSERA_EVICT; -EXDEV.
 */
TESSERA_API int tessera_device_evict(struct tessera_device *dev, struct tessera_bo *const *bos,
				     uint32_t count);
/*
 * The same, with the promise of DRM_TESSERA_EVICT_NOT_WRITTEN: jobs of the
 * program's VMs have not written the objects while these were listed. Errors:
 * also -EINVAL: another open file lists an object, too.
 */
TESSERA_API int tessera_device_evict_unwritten(struct tessera_device *dev,
					       struct tessera_bo *const *bos, uint32_t count);
/* Budget of a set of segments. @size: sizeof(*budget). */
TESSERA_API int tessera_device_budget(struct tessera_device *dev, uint32_t segments,
				      struct drm_tessera_budget *budget, size_t size);
/*
 * Reserve @bytes of one segment (an id), so that this part of the budget does
 * not depend on other clients. Errors: -ENOSPC: too much.
 */
TESSERA_API int tessera_device_reserve(struct tessera_device *dev, uint32_t segment,
				       uint64_t bytes);
/*
 * Signal an eventfd when the budget of a set of segments changes, or when the
 * program should evict objects: tessera_device_budget() says how many bytes. A
 * negative number ends that.
 */
TESSERA_API int tessera_device_watch_budget(struct tessera_device *dev, uint32_t segments,
					    int eventfd);

/* ---- GPU virtual addresses ----------------------------------------------- */

/*
 * Create a VM. Contexts of a VM work at addresses that never change, and bring
 * no lists. Programs that use them have to make objects resident, and learn
 * from fences when jobs are done: tessera_bo_wait() and tessera_bo_lock() do
 * not know of these jobs.
 *
 * Errors: -EOPNOTSUPP: the device has no virtual addresses; those of
 * DRM_IOCTL_TESSERA_VM_CREATE.
 */
TESSERA_API int tessera_vm_new(struct tessera_device *dev, struct tessera_vm **out);
/* Add a reference; any thread. Returns @vm. */
TESSERA_API struct tessera_vm *tessera_vm_ref(struct tessera_vm *vm);
/*
 * Drop a reference; any thread. The last one, of which contexts and command
 * buffers have one each, ends all addresses and the residency of its objects.
 */
TESSERA_API void tessera_vm_del(struct tessera_vm *vm);
/* Id in the library's DRM file, not 0. */
TESSERA_API uint32_t tessera_vm_id(const struct tessera_vm *vm);
/*
 * Get the address of an object. If the object is not mapped yet, it is mapped
 * as a whole, read-only if the GPU may only read it. The mapping lasts until it
 * is unbound, or until the last reference to the object or the VM is dropped.
 * Jobs that were submitted before can still use it after that. Errors: -EXDEV;
 * those of DRM_IOCTL_TESSERA_VM_BIND.
 */
TESSERA_API int tessera_vm_bind(struct tessera_vm *vm, struct tessera_bo *bo, uint64_t *address);
/*
 * Map a mapped object again with other flags, DRM_TESSERA_VM_BIND_READ_ONLY or
 * 0, for the jobs that are submitted later. Its address stays. The eviction of
 * an object that jobs can only read copies nothing. Errors: -EINVAL: not mapped;
 * those of DRM_IOCTL_TESSERA_VM_BIND.
 */
TESSERA_API int tessera_vm_protect(struct tessera_vm *vm, struct tessera_bo *bo, uint32_t flags);
/*
 * Unmap an object and remove it from the residency list. No other thread may
 * bind it or make it resident at the same time. Errors: -EINVAL: not mapped.
 */
TESSERA_API int tessera_vm_unbind(struct tessera_vm *vm, struct tessera_bo *bo);
/*
 * Get the address of the value of a monitored fence, for
 * tessera_cmdbuf_fence_wait() and tessera_cmdbuf_fence_signal(). @flags is 0 or
 * DRM_TESSERA_VM_BIND_READ_ONLY: jobs can wait for the fence, but not signal it.
 * A second call changes the flags and keeps the address. The VM keeps the fence
 * until it is unmapped or the VM is gone. Errors: -EXDEV; -ENOMEM; those of
 * DRM_IOCTL_TESSERA_VM_BIND.
 */
TESSERA_API int tessera_vm_map_fence(struct tessera_vm *vm, struct tessera_monitored *fence,
				     uint32_t flags, uint64_t *address);
/* Unmap a monitored fence. Errors: -EINVAL: not mapped. */
TESSERA_API int tessera_vm_unmap_fence(struct tessera_vm *vm, struct tessera_monitored *fence);

/*
 * The next three functions control which objects are resident for jobs of a VM.
 * They also accept a NULL VM (tessera_context_vm() of a context without one)
 * and then do nothing, because the kernel knows the objects of such jobs. The
 * library maps objects that are not mapped yet. It evicts objects of earlier
 * phases, those of the lowest priority first, and among equals the least
 * recently requested one.
 *
 * Keep objects resident for all jobs that are submitted until
 * tessera_vm_evict(). The calls are counted. The call succeeds for all objects
 * or none. Errors: -ENOMEM: they do not fit.
 */
TESSERA_API int tessera_vm_make_resident(struct tessera_vm *vm, struct tessera_bo *const *bos,
					 uint32_t count);
/*
 * Errors, with nothing changed: -EINVAL: an object is kept fewer times than it
 * is given.
 */
TESSERA_API int tessera_vm_evict(struct tessera_vm *vm, struct tessera_bo *const *bos,
				 uint32_t count);
/*
 * Begin a phase: make as many objects as fit, from the front of the array,
 * resident for the jobs that are submitted before the next phase begins, in
 * addition to the kept objects. Returns their number; without a VM, @count. A
 * phase without objects ends the previous one. Errors: -ENOMEM: not even the
 * first object fits.
 */
TESSERA_API int tessera_vm_phase(struct tessera_vm *vm, struct tessera_bo *const *bos,
				 uint32_t count);

/* ---- Renamed buffers ----------------------------------------------------- */

/*
 * Create a buffer for jobs that do not list their objects, or need not. It is
 * synchronised by the timeline points that its jobs signal. Each lock that
 * discards switches to an object that no job uses; jobs keep theirs. A buffer
 * belongs to one thread at a time. It keeps as many objects as were in use at
 * once: at most 64 objects or 64 MiB of them, or four if they are larger. An
 * object that it has not needed for a while is offered until it needs it again,
 * if objects have one slice.
 *
 * @desc must have DRM_TESSERA_BO_CPU_ACCESS and a linear layout, otherwise
 * -EINVAL. Other errors: those of DRM_IOCTL_TESSERA_BO_CREATE and
 * tessera_bo_lock2().
 */
TESSERA_API int tessera_buffer_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
				   struct tessera_buffer **out);
/*
 * The same for small buffers: each object holds @slices (1 .. 1024) slices of
 * @desc->size bytes, and a discard switches to another slice.
 */
TESSERA_API int tessera_buffer_new_slices(struct tessera_device *dev,
					  const struct tessera_bo_desc *desc, uint32_t slices,
					  struct tessera_buffer **out);
/* Destroy the buffer, and its objects after the jobs that were submitted before. */
TESSERA_API void tessera_buffer_del(struct tessera_buffer *buffer);
/*
 * Object for jobs to bind. It changes when a lock with
 * TESSERA_MAP_DISCARD_WHOLE switches objects, and is valid while the buffer
 * exists.
 */
TESSERA_API struct tessera_bo *tessera_buffer_bo(const struct tessera_buffer *buffer);
/*
 * Offset of the current slice in the object, for tessera_view.offset: a
 * multiple of 256, or 0 without slices. It changes like the object.
 */
TESSERA_API uint64_t tessera_buffer_offset(const struct tessera_buffer *buffer);
/*
 * Record that a job uses the current object until @timeline reaches @point,
 * which the job signals. @write: the job writes it. Call it before the
 * next lock. Errors: -EINVAL: point 0; -ENOMEM.
 */
TESSERA_API int tessera_buffer_used(struct tessera_buffer *buffer, struct tessera_syncobj *timeline,
				    uint64_t point, int write);
/*
 * Begin a CPU access. @flags as for tessera_bo_lock(). The call sleeps until
 * the jobs are done. It does not wait with UNSYNCHRONIZED, nor with
 * DISCARD_WHOLE unless jobs use all objects that the buffer may have. With
 * DONTBLOCK it returns -EBUSY instead of waiting.
 *
 * Locks may nest. The address is valid until a lock that discards. On a device
 * that does not snoop, lock and unlock maintain the CPU caches of objects with
 * DRM_TESSERA_BO_EXPLICIT_SYNC.
 */
TESSERA_API int tessera_buffer_lock(struct tessera_buffer *buffer, uint32_t flags, void **out);
/*
 * Make the writes visible to jobs submitted later. @flags: those of the lock.
 */
TESSERA_API int tessera_buffer_unlock(struct tessera_buffer *buffer, uint32_t flags);

/* ---- Cache of objects ---------------------------------------------------- */

/*
 * Create a cache. It keeps idle buffer objects, including their mappings in
 * VMs, for reuse by objects of the same kind. Kept objects are offered, so the
 * kernel may take their memory. All threads may use it.
 *
 * @limit: maximum bytes of kept objects, including those that jobs still use.
 */
TESSERA_API int tessera_cache_new(struct tessera_device *dev, uint64_t limit,
				  struct tessera_cache **out);
/*
 * Destroy the cache and the objects in it. Objects that were taken from it are
 * not affected.
 */
TESSERA_API void tessera_cache_del(struct tessera_cache *cache);
/*
 * Take an object as tessera_bo_new() creates it, but with undefined contents
 * and, if linear, up to a quarter larger. If there is no memory for a new
 * object, the cache first destroys the kept ones. Errors: those of
 * tessera_bo_new().
 */
TESSERA_API int tessera_cache_take(struct tessera_cache *cache, const struct tessera_bo_desc *desc,
				   struct tessera_bo **out);
/*
 * Give an object to the cache. The caller must hold the last reference and no
 * lock on it. It can be reused when @timeline has reached @point. With a NULL
 * timeline it can be reused at once, which requires that only jobs use it that
 * list it. An object that cannot be kept, because it was exported or not
 * created by tessera_bo_new(), is destroyed after all jobs that were submitted
 * before.
 */
TESSERA_API void tessera_cache_give(struct tessera_cache *cache, struct tessera_bo *bo,
				    struct tessera_syncobj *timeline, uint64_t point);
/* Destroy the objects that were kept longest until at most @bytes are kept. */
TESSERA_API void tessera_cache_trim(struct tessera_cache *cache, uint64_t bytes);

/* ---- Small buffers ------------------------------------------------------- */

/*
 * Create a pool of small buffers, which are pieces of larger objects. Sizes are
 * the powers of two from @min to @max. All threads may use it.
 *
 * @desc: the objects; linear. Their size bounds the memory that a size takes
 * before its first piece is used. @min: at least 256. @max: at most half of
 * @desc->size. Errors: -EINVAL: any other value. No object is created yet.
 */
TESSERA_API int tessera_pool_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
				 uint64_t min, uint64_t max, struct tessera_pool **out);
/*
 * Destroy the pool with all its objects, after the jobs that were submitted
 * before. Pieces that were not given back must not be used any more, and no
 * other thread may use the pool.
 */
TESSERA_API void tessera_pool_del(struct tessera_pool *pool);
/*
 * Take a piece of at least @size bytes, with undefined contents. The caller has
 * to give it back to the pool. The call creates an object if all pieces of that
 * size are taken or used by jobs. It does not wait for jobs. Errors: -EINVAL:
 * @size 0; -E2BIG: above @max, create an object; those of tessera_bo_new().
 */
TESSERA_API int tessera_pool_take(struct tessera_pool *pool, uint64_t size,
				  struct tessera_piece **out);
/*
 * Give a piece back; NULL is accepted. Another taker can have it when @timeline
 * has reached @point. With a NULL timeline that is at once, which requires that
 * no job uses the piece. The pool takes a reference to the timeline.
 */
TESSERA_API void tessera_pool_give(struct tessera_pool *pool, struct tessera_piece *piece,
				   struct tessera_syncobj *timeline, uint64_t point);
/*
 * The object of a piece, its offset in the object, a multiple of its size, and
 * its size, all in bytes. They stay the same, and the object is valid, until
 * the piece is given back. The kernel synchronises whole objects: a job that
 * lists the object, and tessera_bo_wait(), also wait for jobs on other pieces.
 * Programs that write a piece with the CPU therefore map the object and rely on
 * the pool, which hands out no piece that a job still uses.
 */
TESSERA_API struct tessera_bo *tessera_piece_bo(const struct tessera_piece *piece);
TESSERA_API uint64_t tessera_piece_offset(const struct tessera_piece *piece);
TESSERA_API uint64_t tessera_piece_size(const struct tessera_piece *piece);

/* ---- Surfaces for GPU and CPU -------------------------------------------- */

/*
 * The CPU cannot see a swizzled object linearly while it is in an aperture. A
 * surface that is swizzled for the GPU and accessed by the CPU is therefore a
 * surface pair: one object for the GPU, and its twin for the CPU. One ioctl
 * creates both. A lock copies from the first to the second, an unlock copies
 * back.
 */
struct tessera_surface_desc {
	uint32_t format; /* TSR_FORMAT_* */
	uint32_t layout; /* layout of the GPU's object; not linear */
	uint32_t width; /* 1 .. TSR_SURF_MAX_DIM */
	uint32_t height;
	/* Segments and flags. Size, layout and pitch are ignored. */
	struct tessera_bo_desc gpu;
	struct tessera_bo_desc twin;
	uint64_t reserved[4]; /* zero */
};

/*
 * Fill in @desc: the GPU's object in memory or a writable aperture, the twin as
 * TESSERA_USAGE_STAGING. Errors: -EINVAL; -ENODEV: no such segment.
 */
TESSERA_API int tessera_surface_desc_init(const struct tessera_device *dev,
					  struct tessera_surface_desc *desc, uint32_t format,
					  uint32_t layout, uint32_t width, uint32_t height);
/*
 * Create a surface. It reads as zero. Errors: those of
 * DRM_IOCTL_TESSERA_BO_CREATE_TWINS.
 */
TESSERA_API int tessera_surface_new(struct tessera_device *dev,
				    const struct tessera_surface_desc *desc,
				    struct tessera_surface **out);
/* Add a reference; any thread. Returns @surface. */
TESSERA_API struct tessera_surface *tessera_surface_ref(struct tessera_surface *surface);
/*
 * Drop a reference. Deleting a locked surface drops what the CPU has written.
 */
TESSERA_API void tessera_surface_del(struct tessera_surface *surface);
/*
 * Object and view for command buffers to bind. The object is the same for the
 * life of the surface and is valid only while the surface exists.
 */
TESSERA_API struct tessera_bo *tessera_surface_bo(const struct tessera_surface *surface);
TESSERA_API void tessera_surface_view(const struct tessera_surface *surface,
				      struct tessera_view *view);
/*
 * Begin a CPU access to @rect (NULL: the whole surface). *@out is the address
 * of its first texel, *@pitch the bytes from row to row. @flags:
 * TESSERA_MAP_READ and _WRITE: a job of @ctx copies the texels to the twin, and
 * the call waits for it. Jobs of submissions that have returned are taken into
 * account.
 *
 * TESSERA_MAP_DISCARD_RANGE says that the CPU writes all of @rect: nothing is
 * copied. TESSERA_MAP_DISCARD_WHOLE says that no old contents are needed: the
 * call does not wait, either. Both require WRITE without READ. Other flags are
 * -EINVAL, because they ask for access before the copy is done.
 *
 * A surface has one lock at a time: -EBUSY. Other errors: -EOPNOTSUPP: @ctx has
 * a VM; -EINVAL: bad flags, or a rectangle that is empty or not inside the
 * surface; -EXDEV: @ctx is of another device; those of tessera_context_submit()
 * and tessera_bo_lock(); the error of the copying job, see
 * tessera_fence_wait().
 */
TESSERA_API int tessera_surface_lock(struct tessera_surface *surface, struct tessera_context *ctx,
				     const struct tessera_rect *rect, uint32_t flags, void **out,
				     uint32_t *pitch);
/*
 * End the access, from any thread. With WRITE a job of the lock's context
 * copies the rectangle back, before jobs submitted later. The call does not
 * wait for it. Errors: -EINVAL: not locked; those of tessera_context_submit(),
 * with the surface unlocked and its GPU object unchanged.
 */
TESSERA_API int tessera_surface_unlock(struct tessera_surface *surface);
/* tessera_bo_wait() for the GPU's object of the surface. */
TESSERA_API int tessera_surface_wait(struct tessera_surface *surface, int for_write,
				     int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_H */
