/* SPDX-License-Identifier: MIT */
#ifndef _UAPI_TESSERA_DRM_H_
#define _UAPI_TESSERA_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: tessera uAPI rules
 *
 * - Every struct is a multiple of 8 bytes, every field naturally aligned, so
 *   that 32-bit and 64-bit userspace share one layout. Pointers are __u64.
 * - Fields named pad or reserved, and unknown flag bits, must be zero: -EINVAL
 *   otherwise. Fields documented as [out] are ignored on input, so that a struct can
 *   be used again; they are written also when the ioctl fails.
 * - Structs grow at the end only. The kernel zero-extends what a shorter, older struct
 *   did not bring. It does not see the tail of a longer, newer one: ask QUERY for what
 *   the kernel knows before you use it.
 * - Arrays of structs are passed as &struct drm_tessera_array, whose stride is
 *   the size of the struct userspace was built with. Shorter elements are zero-extended,
 *   and the tail of longer ones must be zero: -EINVAL otherwise. A user array is copied once
 *   and only the copy is used.
 * - Ids are only ever appended.
 * - Sizes and offsets are in bytes unless a name says otherwise. Times are
 *   absolute CLOCK_MONOTONIC nanoseconds.
 * - Every ioctl but those that wait is done or has no effect. Any ioctl may
 *   fail with -ENODEV (the device is gone), -EFAULT (a user pointer),
 *   -ENOMEM, or -EINTR (a signal; call again).
 *
 * The model is that of WDDM: memory is divided into segments, a buffer object
 * (WDDM: allocation) names the segments it may live in, and a submission
 * brings a list of the objects it uses and a list of the places in its
 * commands that need their addresses (patch locations).
 */

/**
 * enum drm_tessera_ioctl_id - ioctl numbers, relative to DRM_COMMAND_BASE
 *
 * Others, those from 0x07 to 0x0f among them, return -EINVAL.
 */
enum drm_tessera_ioctl_id {
	/** @DRM_TESSERA_QUERY: device, segment, engine and memory information */
	DRM_TESSERA_QUERY = 0x00,
	/** @DRM_TESSERA_BO_CREATE: create buffer objects */
	DRM_TESSERA_BO_CREATE = 0x01,
	/** @DRM_TESSERA_BO_INFO: mmap offset and properties of a buffer object */
	DRM_TESSERA_BO_INFO = 0x02,
	/** @DRM_TESSERA_BO_WAIT: wait until a buffer object is idle */
	DRM_TESSERA_BO_WAIT = 0x03,
	/** @DRM_TESSERA_CONTEXT_CREATE: create an execution context */
	DRM_TESSERA_CONTEXT_CREATE = 0x04,
	/** @DRM_TESSERA_CONTEXT_DESTROY: destroy an execution context */
	DRM_TESSERA_CONTEXT_DESTROY = 0x05,
	/** @DRM_TESSERA_SUBMIT: submit commands with their allocation and patch lists */
	DRM_TESSERA_SUBMIT = 0x06,
	/** @DRM_TESSERA_LOCK: begin to access a buffer object with the CPU */
	DRM_TESSERA_LOCK = 0x10,
	/** @DRM_TESSERA_UNLOCK: end it */
	DRM_TESSERA_UNLOCK = 0x11,
	/** @DRM_TESSERA_BO_CREATE_TWINS: create the two objects of a swizzled surface for GPU and CPU */
	DRM_TESSERA_BO_CREATE_TWINS = 0x12,
	/** @DRM_TESSERA_LOCK2: get an address for the CPU, without synchronisation */
	DRM_TESSERA_LOCK2 = 0x13,
	/** @DRM_TESSERA_UNLOCK2: give it up */
	DRM_TESSERA_UNLOCK2 = 0x14,
	/** @DRM_TESSERA_BO_DESTROY: destroy a buffer object */
	DRM_TESSERA_BO_DESTROY = 0x15,
	/** @DRM_TESSERA_OFFER: do without the contents of buffer objects */
	DRM_TESSERA_OFFER = 0x16,
	/** @DRM_TESSERA_RECLAIM: have them back */
	DRM_TESSERA_RECLAIM = 0x17,
	/** @DRM_TESSERA_INVALIDATE_CACHE: write back and invalidate CPU caches of a buffer object */
	DRM_TESSERA_INVALIDATE_CACHE = 0x18,
	/** @DRM_TESSERA_BO_LABEL: name a buffer object for people */
	DRM_TESSERA_BO_LABEL = 0x19,
	/** @DRM_TESSERA_BO_FROM_USER: make a buffer object of memory of the process */
	DRM_TESSERA_BO_FROM_USER = 0x1a,
	/** @DRM_TESSERA_CONTEXT_STATUS: ask whether a context is lost, and why */
	DRM_TESSERA_CONTEXT_STATUS = 0x1b,
	/** @DRM_TESSERA_FENCE_CREATE: create a monitored fence */
	DRM_TESSERA_FENCE_CREATE = 0x1c,
	/** @DRM_TESSERA_FENCE_DESTROY: destroy it */
	DRM_TESSERA_FENCE_DESTROY = 0x1d,
	/** @DRM_TESSERA_FENCE_SIGNAL: signal it from the CPU */
	DRM_TESSERA_FENCE_SIGNAL = 0x1e,
	/** @DRM_TESSERA_VM_CREATE: create a space of GPU virtual addresses */
	DRM_TESSERA_VM_CREATE = 0x20,
	/** @DRM_TESSERA_VM_DESTROY: destroy it */
	DRM_TESSERA_VM_DESTROY = 0x21,
	/** @DRM_TESSERA_VM_BIND: change what is mapped there */
	DRM_TESSERA_VM_BIND = 0x22,
	/** @DRM_TESSERA_SUBMIT_VM: submit commands by their virtual address */
	DRM_TESSERA_SUBMIT_VM = 0x23,
	/** @DRM_TESSERA_MAKE_RESIDENT: have objects resident while jobs run */
	DRM_TESSERA_MAKE_RESIDENT = 0x24,
	/** @DRM_TESSERA_EVICT: take that back */
	DRM_TESSERA_EVICT = 0x25,
	/** @DRM_TESSERA_BUDGET: how much of segments can be counted on, now and in future */
	DRM_TESSERA_BUDGET = 0x26,
	/** @DRM_TESSERA_IOCTL_LAST: the highest of these */
	DRM_TESSERA_IOCTL_LAST = DRM_TESSERA_BUDGET,
};

/**
 * struct drm_tessera_array - an array of structs in user memory
 */
struct drm_tessera_array {
	/** @stride: size of one element as userspace was built; at least the first published size */
	__u32 stride;
	/** @count: number of elements */
	__u32 count;
	/** @array: user address of the first element; ignored if @count is 0 */
	__u64 array;
};

/**
 * enum drm_tessera_query_id - what DRM_TESSERA_QUERY returns
 */
enum drm_tessera_query_id {
	/** @DRM_TESSERA_QUERY_DEVICE: one &struct drm_tessera_query_device */
	DRM_TESSERA_QUERY_DEVICE = 0,
	/** @DRM_TESSERA_QUERY_SEGMENTS: an array of &struct drm_tessera_query_segment, in id order */
	DRM_TESSERA_QUERY_SEGMENTS = 1,
	/** @DRM_TESSERA_QUERY_ENGINES: an array of &struct drm_tessera_query_engine */
	DRM_TESSERA_QUERY_ENGINES = 2,
	/** @DRM_TESSERA_QUERY_MEMORY: an array of &struct drm_tessera_query_memory, one per segment */
	DRM_TESSERA_QUERY_MEMORY = 3,
	/** @DRM_TESSERA_QUERY_CLIENT: one &struct drm_tessera_query_client */
	DRM_TESSERA_QUERY_CLIENT = 4,
};

/**
 * struct drm_tessera_query - argument of DRM_IOCTL_TESSERA_QUERY
 *
 * Called with @data.array 0 it only fills in @data.stride and @data.count as the kernel
 * has them. Otherwise it writes min(@data.count, available) elements of
 * @data.stride bytes each, zero-filling what the kernel does not know, and sets
 * @data.count to the number written.
 *
 * Errors: -EINVAL for an unknown @id, non-zero @pad, or a stride of 0 with an array.
 */
struct drm_tessera_query {
	/** @id: &enum drm_tessera_query_id */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
	/** @data: where the elements go [in/out] */
	struct drm_tessera_array data;
};

/** enum drm_tessera_cap: bits of &drm_tessera_query_device.caps */
#define DRM_TESSERA_CAP_PREEMPTION	(1ULL << 0) /* jobs are interrupted for others */
#define DRM_TESSERA_CAP_IO_COHERENT	(1ULL << 1) /* no cache maintenance needed */
#define DRM_TESSERA_CAP_STRICT		(1ULL << 2) /* the device checks memory ownership */
#define DRM_TESSERA_CAP_HOST_APERTURE	(1ULL << 3) /* CPU host aperture present */
#define DRM_TESSERA_CAP_VM		(1ULL << 4) /* GPU virtual addresses offered */
#define DRM_TESSERA_CAP_SPLIT		(1ULL << 5) /* submissions are split at split points */
#define DRM_TESSERA_CAP_USER_MEMORY	(1ULL << 6) /* BO_FROM_USER works */

/**
 * struct drm_tessera_query_device - device properties and limits
 */
struct drm_tessera_query_device {
	/** @hw_version: hardware version, major << 16 | minor */
	__u32 hw_version;
	/** @num_segments: number of segments */
	__u32 num_segments;
	/** @num_engines: number of engines contexts can be created on */
	__u32 num_engines;
	/** @max_slots: number of binding slots; slot ids are below it (WDDM: MaxAllocationListSlotId, a count) */
	__u32 max_slots;
	/** @max_allocs: most elements of an allocation list */
	__u32 max_allocs;
	/** @max_patches: most elements of a patch-location list */
	__u32 max_patches;
	/** @max_cmd_bytes: largest command buffer */
	__u32 max_cmd_bytes;
	/** @max_syncs: most elements of a sync list */
	__u32 max_syncs;
	/** @caps: DRM_TESSERA_CAP_* */
	__u64 caps;
	/** @page_size: granularity of object sizes */
	__u32 page_size;
	/** @num_swizzle_ranges: swizzling ranges of the device */
	__u32 num_swizzle_ranges;
	/** @guest_errors: errors the device has counted since the driver was loaded */
	__u64 guest_errors;
	/** @timestamp_ns: the device clock, in nanoseconds */
	__u64 timestamp_ns;
	/** @host_aperture_bytes: size of the CPU host aperture; 0: none */
	__u64 host_aperture_bytes;
	/** @host_aperture_page: bytes of a page of it */
	__u32 host_aperture_page;
	/** @max_fences: most monitored fences of a process */
	__u32 max_fences;
	/** @max_contexts: most contexts of a process */
	__u32 max_contexts;
	/** @job_timeout_ms: how long a job may run; then it is taken to hang */
	__u32 job_timeout_ms;
	/** @group_timeout_ms: how long parts of a submission may have an engine that cannot preempt; 0: no limit */
	__u32 group_timeout_ms;
	/** @device_resets: how often the device was reset, and all contexts lost, since the driver was loaded */
	__u32 device_resets;
	/** @va_bits: bits of a GPU virtual address; 0: there are none */
	__u32 va_bits;
	/** @max_binds: most elements of the list of a VM_BIND */
	__u32 max_binds;
	/** @va_page_sizes: sizes of pages of virtual addresses, as a sum; bindings are multiples of the smallest */
	__u64 va_page_sizes;
};

#define DRM_TESSERA_SEGMENT_APERTURE		(1U << 0) /* window onto system pages */
#define DRM_TESSERA_SEGMENT_CPU_VISIBLE		(1U << 1) /* memory the CPU maps directly */
#define DRM_TESSERA_SEGMENT_GPU_READ_ONLY	(1U << 2) /* the GPU cannot write here */
#define DRM_TESSERA_SEGMENT_CACHE_COHERENT	(1U << 3) /* GPU accesses snoop CPU caches */
#define DRM_TESSERA_SEGMENT_CPU_CACHED		(1U << 4) /* system pages may be CPU-cached */
#define DRM_TESSERA_SEGMENT_HOST_APERTURE	(1U << 5) /* reachable through the CPU host aperture */

/**
 * struct drm_tessera_query_segment - one segment; constant after probe
 */
struct drm_tessera_query_segment {
	/** @id: 1 .. 31 */
	__u32 id;
	/** @flags: DRM_TESSERA_SEGMENT_* */
	__u32 flags;
	/** @gpu_base: GPU address of the first byte */
	__u64 gpu_base;
	/** @size: size of the segment */
	__u64 size;
	/** @commit_limit: most bytes that may be resident; memory: @size */
	__u64 commit_limit;
	/** @page_size: granularity of placements */
	__u32 page_size;
	/** @pad: zero */
	__u32 pad;
	/** @name: NUL-terminated, as in fdinfo and debugfs */
	__u8 name[32];
};

#define DRM_TESSERA_ENGINE_RENDER	0
#define DRM_TESSERA_ENGINE_PAGING	1

/**
 * struct drm_tessera_query_engine - one engine
 */
struct drm_tessera_query_engine {
	/** @id: index for &drm_tessera_context_create.engine */
	__u32 id;
	/** @type: DRM_TESSERA_ENGINE_*; contexts can be created on render engines only */
	__u32 type;
};

/**
 * struct drm_tessera_query_memory - use of one segment at this moment
 */
struct drm_tessera_query_memory {
	/** @segment: segment id */
	__u32 segment;
	/** @pad: zero */
	__u32 pad;
	/** @total: capacity (the commit limit) */
	__u64 total;
	/** @used: resident bytes of all clients and the kernel */
	__u64 used;
	/** @client_used: resident bytes of this client: of all files of the process that pays for this one */
	__u64 client_used;
	/** @client_share: the client's fair share (WDDM: budget) right now */
	__u64 client_share;
};

/**
 * DRM_TESSERA_MAX_HANGS - jobs that may hang an engine, or keep it for too long, before their client is banned
 *
 * From then on SUBMIT returns -EIO in all its contexts, also new ones, and what it has
 * queued ends with -ECANCELED.
 */
#define DRM_TESSERA_MAX_HANGS	3

/**
 * struct drm_tessera_query_client - the calling client itself
 */
struct drm_tessera_query_client {
	/** @hangs: jobs of it that hung an engine so far */
	__u32 hangs;
	/** @max_hangs: with so many it is banned, DRM_TESSERA_MAX_HANGS */
	__u32 max_hangs;
	/** @banned: 1 if it is, else 0 */
	__u32 banned;
	/** @pad: zero */
	__u32 pad;
	/**
	 * @work_bytes: kernel memory of its unfinished work: command buffers, page lists,
	 * jobs, and the lists of submissions being looked at
	 */
	__u64 work_bytes;
	/**
	 * @work_limit: the most of it. A SUBMIT that would bring @work_bytes above 15/16 of
	 * this waits, unless there is none; the rest is for paging, which does not wait.
	 */
	__u64 work_limit;
};

#define DRM_TESSERA_BO_CPU_ACCESS	(1U << 0) /* may be mapped by the CPU */
#define DRM_TESSERA_BO_CPU_CACHED	(1U << 1) /* CPU mappings of system pages are cached; needs CPU_ACCESS */
#define DRM_TESSERA_BO_GPU_READ_ONLY	(1U << 2) /* no submission may list it as written */
#define DRM_TESSERA_BO_TWIN		(1U << 3) /* of BO_INFO: the unswizzled one of BO_CREATE_TWINS */
#define DRM_TESSERA_BO_EXPLICIT_SYNC	(1U << 4) /* cache maintenance for jobs is user space's; needs CPU_CACHED */
#define DRM_TESSERA_BO_VM_PRIVATE	(1U << 5) /* for contexts of one VM only, see below */

#define DRM_TESSERA_LAYOUT_LINEAR	0
#define DRM_TESSERA_LAYOUT_TILE4K	1
#define DRM_TESSERA_LAYOUT_MORTON	2

/*
 * Modifiers of framebuffers: how the bytes lie in memory, one for each swizzled layout. No vendor of
 * drm_fourcc.h is this device's; its number is taken from the far end of those that are free.
 *
 * An object with a swizzled layout is shown with that modifier, or with none given, and its own pitch. Any other
 * object may be shown with any: then its bytes are taken to lie so. Offsets are multiples of 4096, pitches of 128, and
 * the rows of the surface are padded to 32.
 */
#define DRM_TESSERA_FORMAT_MOD_VENDOR	0xf7
#define DRM_TESSERA_FORMAT_MOD(layout)	((__u64)DRM_TESSERA_FORMAT_MOD_VENDOR << 56 | (layout))
#define DRM_TESSERA_FORMAT_MOD_TILE4K	DRM_TESSERA_FORMAT_MOD(DRM_TESSERA_LAYOUT_TILE4K)
#define DRM_TESSERA_FORMAT_MOD_MORTON	DRM_TESSERA_FORMAT_MOD(DRM_TESSERA_LAYOUT_MORTON)

#define DRM_TESSERA_MAX_PREFERRED	5

/**
 * struct drm_tessera_bo_create - argument of DRM_IOCTL_TESSERA_BO_CREATE
 *
 * A new object reads as zero. It has no place in any segment before it is first used
 * by the GPU, or mapped.
 *
 * An object with VM_PRIVATE belongs to the VM @vm, also when that is destroyed: no other VM maps it, no list of SUBMIT names it, and it is
 * neither exported nor given to another file. In exchange the kernel locks all such objects of a VM as one, and places them in any free pages of a
 * segment, be they in pieces. BO_WAIT waits for paging of them all.
 *
 * Errors:
 *  -ENOENT: VM_PRIVATE, and no such VM.
 *  -EINVAL: unknown flags; zero size or not a multiple of the page size; @supported
 *  empty or naming an unknown segment; a preference outside @supported, given twice, or behind @num_preferred, which is 5 at most;
 *  a non-aperture segment in @evict_to; CPU_CACHED without CPU_ACCESS; a CPU_ACCESS object
 *  that may live in a memory segment the CPU cannot see and in no aperture segment; only
 *  read-only apertures without GPU_READ_ONLY; an unknown layout; a swizzled layout with a bad pitch (above 65536, too) or
 *  size, or with CPU_ACCESS where @supported has an aperture segment: see
 *  &struct drm_tessera_bo_create_twins; BO_TWIN; EXPLICIT_SYNC without CPU_CACHED; @vm not zero without
 *  VM_PRIVATE; VM_PRIVATE with CPU_ACCESS and a swizzled layout.
 *  -E2BIG: larger than each supported segment.
 */
struct drm_tessera_bo_create {
	/** @size: bytes, a multiple of the page size */
	__u64 size;
	/** @flags: DRM_TESSERA_BO_* */
	__u32 flags;
	/** @supported: set of segments it may live in: bit n is segment id n (WDDM: segment set) */
	__u32 supported;
	/** @evict_to: aperture segments to prefer on eviction, same encoding; 0: system pages */
	__u32 evict_to;
	/** @num_preferred: elements of @preferred used, 0 .. 5; 0: any supported segment in id order */
	__u32 num_preferred;
	/** @preferred: segment ids, tried in this order; supported ones not listed come after in id order */
	__u8 preferred[8];
	/** @layout: DRM_TESSERA_LAYOUT_* of the contents in memory segments; system pages hold linear bytes */
	__u32 layout;
	/** @pitch: bytes per row; required for swizzled layouts (a multiple of 128, @size a multiple of 32 rows), else 0 */
	__u32 pitch;
	/** @handle: the new object [out] */
	__u32 handle;
	/** @vm: with VM_PRIVATE the VM, else zero */
	__u32 vm;
};

#define DRM_TESSERA_PRIVATE_VERSION	1

#define DRM_TESSERA_PRIVATE_TWIN	(1U << 0) /* the unswizzled one, for the CPU */

/**
 * struct drm_tessera_bo_private - what is in an object (WDDM: private driver data of an allocation)
 *
 * Looked at when the object is created, and not by what manages memory, which knows its size only.
 */
struct drm_tessera_bo_private {
	/** @version: DRM_TESSERA_PRIVATE_VERSION */
	__u32 version;
	/** @flags: DRM_TESSERA_PRIVATE_* */
	__u32 flags;
	/** @layout: DRM_TESSERA_LAYOUT_*; linear for the twin, and for it only */
	__u32 layout;
	/** @pitch: bytes from row to row; of a swizzled layout a multiple of 128, of the linear one of 4 */
	__u32 pitch;
	/** @width: bytes of a row that belong to the surface, at most @pitch */
	__u32 width;
	/** @rows: rows of the surface */
	__u32 rows;
	/** @reserved: must be zero */
	__u64 reserved;
};

/**
 * struct drm_tessera_bo_create_twins - argument of DRM_IOCTL_TESSERA_BO_CREATE_TWINS
 *
 * An object that the CPU accesses is not swizzled where the CPU reaches it in an aperture. A surface that is to be
 * both is two objects: a swizzled one for the GPU, and its *twin*, a linear one, for the CPU. Jobs
 * copy between the two, before the CPU locks the twin and after it has unlocked it. This makes both, or none.
 * To the kernel they are two objects: they move, are evicted, and closed, each for itself.
 *
 * LOCK of the twin always waits for the jobs that use it, so for the copy: it takes neither
 * LOCK_DONT_WAIT nor LOCK_IGNORE_SYNC. A new instance of it (LOCK_DISCARD) is a twin, too.
 *
 * Errors, with nothing created: -EINVAL: @flags or @pad not zero; not two elements in each array; of @bos, what BO_CREATE
 * refuses, or @layout, @pitch or @vm not zero, VM_PRIVATE, CPU_ACCESS for the swizzled one or none for the twin; of @private_data, an unknown
 * @version, flag or layout, @reserved not zero, not one twin and one swizzled object, another width or number of rows
 * in one than in the other, or none, more rows than 16384 or than there is room for, or a pitch that is too small, above
 * 262144 (swizzled: 65536), or not one of the layout. -E2BIG: as of BO_CREATE.
 */
struct drm_tessera_bo_create_twins {
	/** @flags: must be zero */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/** @bos: two &struct drm_tessera_bo_create, whose handle is ignored, and layout and pitch are zero */
	struct drm_tessera_array bos;
	/** @private_data: two &struct drm_tessera_bo_private, in the same order */
	struct drm_tessera_array private_data;
	/** @handles: the new objects, in the same order [out] */
	__u32 handles[2];
};

/**
 * struct drm_tessera_bo_info - argument of DRM_IOCTL_TESSERA_BO_INFO
 *
 * Errors: -ENOENT for an unknown handle, -EINVAL for non-zero @pad.
 */
struct drm_tessera_bo_info {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @size: its size [out] */
	__u64 size;
	/** @mmap_offset: offset for mmap() of the DRM file; 0 without CPU_ACCESS [out] */
	__u64 mmap_offset;
	/** @flags: as created [out] */
	__u32 flags;
	/** @supported: as created [out] */
	__u32 supported;
	/**
	 * @segment: where it is right now: a segment id, of @supported or of
	 * &drm_tessera_bo_create.evict_to; 0: system memory or nowhere [out]
	 */
	__u32 segment;
	/** @layout: as created [out] */
	__u32 layout;
	/** @pitch: as created [out] */
	__u32 pitch;
	/** @pad2: zero [out] */
	__u32 pad2;
	/** @segment_offset: where in @segment its first byte is, a snapshot for tests and tools [out] */
	__u64 segment_offset;
};

/**
 * struct drm_tessera_invalidate_cache - argument of DRM_IOCTL_TESSERA_INVALIDATE_CACHE (WDDM: InvalidateCache)
 *
 * On a device that does not snoop CPU caches (no CAP_IO_COHERENT), writes back what CPUs have changed in the range, rounded to
 * cache lines, and has them load it anew. Needed for objects with BO_EXPLICIT_SYNC, and for what jobs do that do not list their objects: after
 * the CPU has written and before the GPU reads, and after the GPU has written and before the CPU reads, be it for the first time.
 * What the kernel does itself, moving the object, it cares for itself. Elsewhere this does nothing.
 *
 * Errors: -ENOENT: unknown handle. -EINVAL: non-zero @pad, an object without BO_CPU_CACHED, @size 0, or a range that is not inside the object.
 */
struct drm_tessera_invalidate_cache {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @offset: first byte */
	__u64 offset;
	/** @size: how many */
	__u64 size;
};

#define DRM_TESSERA_OFFER_LOW		1 /* dropped before the others */
#define DRM_TESSERA_OFFER_NORMAL	2
#define DRM_TESSERA_OFFER_HIGH		3

/**
 * struct drm_tessera_offer_bo - element of &drm_tessera_offer.bos
 */
struct drm_tessera_offer_bo {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_tessera_offer - argument of DRM_IOCTL_TESSERA_OFFER (WDDM: OfferAllocations)
 *
 * The contents of the objects may be dropped, when the jobs that list them are done, instead of being moved, and before anything else has to give
 * way. Until they are reclaimed they are not to be used: SUBMIT, MAKE_RESIDENT, VM_BIND, LOCK, LOCK2 and exporting them return -EINVAL, and accesses to mappings raise SIGBUS.
 *
 * Errors, with nothing offered: -ENOENT: unknown handle. -EINVAL: unknown @priority, non-zero padding, an object twice, one that is offered already, or has a handle of another file or a name, or was
 * ever exported, or of BO_FROM_USER. -EBUSY: an object is locked, or shown. -EIO: one is lost. -E2BIG: more objects than &drm_tessera_query_device.max_allocs.
 */
struct drm_tessera_offer {
	/** @bos: &struct drm_tessera_offer_bo */
	struct drm_tessera_array bos;
	/** @priority: DRM_TESSERA_OFFER_*; those of a lower one are dropped first */
	__u32 priority;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_TESSERA_RECLAIM_KEPT	0 /* the contents are what they were */
#define DRM_TESSERA_RECLAIM_DISCARDED	1 /* they are gone: it reads as zero */

/**
 * struct drm_tessera_reclaim_bo - element of &drm_tessera_reclaim.bos
 */
struct drm_tessera_reclaim_bo {
	/** @handle: the object */
	__u32 handle;
	/** @result: DRM_TESSERA_RECLAIM_* [out] */
	__u32 result;
};

/**
 * struct drm_tessera_reclaim - argument of DRM_IOCTL_TESSERA_RECLAIM (WDDM: ReclaimAllocations)
 *
 * Afterwards the objects may be used again. Waits for nothing.
 *
 * Errors, with nothing reclaimed: -ENOENT: unknown handle. -EINVAL: an object twice, or one that is not offered. -EIO: one is lost.
 * -E2BIG: as of OFFER.
 */
struct drm_tessera_reclaim {
	/** @bos: &struct drm_tessera_reclaim_bo */
	struct drm_tessera_array bos;
};

#define DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE	(1U << 0) /* no job uses it that does not list it */
#define DRM_TESSERA_BO_DESTROY_SYNCHRONOUS		(1U << 1) /* return when its memory is free */

/**
 * struct drm_tessera_bo_destroy - argument of DRM_IOCTL_TESSERA_BO_DESTROY (WDDM: DestroyAllocation2)
 *
 * The handle goes at once. Without flags this waits for nothing, and the object itself goes when all jobs are done that
 * this open file had submitted before, in any of its contexts, those that have been destroyed included, whether they list the object or not.
 *
 * With DESTROY_ASSUME_NOT_IN_USE it goes when the jobs are done that list it, which is what
 * DRM_IOCTL_GEM_CLOSE does. With DESTROY_SYNCHRONOUS the call waits for what the other flag says, and returns when the memory is free,
 * unless something else keeps the object: another handle, or a mapping, of a VM, too; what was ever exported is not waited for. A signal ends the wait, with nothing destroyed.
 *
 * Until it goes, its memory counts as the client's.
 *
 * Errors, with nothing destroyed: -ENOENT: unknown handle. -EINVAL: unknown flags.
 */
struct drm_tessera_bo_destroy {
	/** @handle: the object */
	__u32 handle;
	/** @flags: DRM_TESSERA_BO_DESTROY_* */
	__u32 flags;
};

#define DRM_TESSERA_LABEL_BYTES	64

/**
 * struct drm_tessera_bo_label - argument of DRM_IOCTL_TESSERA_BO_LABEL
 *
 * Shown in debugfs and told to traces, and of no other meaning. Whoever has a handle may change it.
 *
 * Errors: -ENOENT: unknown handle. -EINVAL: non-zero @pad, no NUL in @label, or a character that is no printable ASCII.
 */
struct drm_tessera_bo_label {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @label: NUL-terminated; what is behind the NUL is ignored; empty: none */
	__u8 label[DRM_TESSERA_LABEL_BYTES];
};

#define DRM_TESSERA_BO_WAIT_WRITE	(1U << 0) /* wait for readers too: the caller will write */

/**
 * struct drm_tessera_bo_wait - argument of DRM_IOCTL_TESSERA_BO_WAIT
 *
 * Waits until all jobs writing the object (with WAIT_WRITE: all jobs using it), and moves of it,
 * are done.
 *
 * Errors: -ENOENT; -EINVAL; -EBUSY: not idle and @timeout_ns is not in the future at the call
 * (0 asks); -ETIME: the timeout passed.
 */
struct drm_tessera_bo_wait {
	/** @handle: the object */
	__u32 handle;
	/** @flags: DRM_TESSERA_BO_WAIT_* */
	__u32 flags;
	/** @timeout_ns: absolute CLOCK_MONOTONIC */
	__s64 timeout_ns;
};

#define DRM_TESSERA_LOCK_READ_ONLY	(1U << 0) /* the CPU will not write: wait for writers only */
#define DRM_TESSERA_LOCK_WRITE_ONLY	(1U << 1) /* the CPU will not read */
#define DRM_TESSERA_LOCK_DONT_WAIT	(1U << 2) /* -EBUSY instead of a wait (WDDM: DonotWait) */
#define DRM_TESSERA_LOCK_IGNORE_SYNC	(1U << 3) /* no wait: nothing a job uses is touched (WDDM: IgnoreSync) */
#define DRM_TESSERA_LOCK_DISCARD	(1U << 4) /* the contents are not needed: no wait (WDDM: Discard) */
#define DRM_TESSERA_LOCK_ACQUIRE_RANGE	(1U << 5) /* a swizzled layout is seen linear (WDDM: AcquireAperture) */

/**
 * struct drm_tessera_lock - argument of DRM_IOCTL_TESSERA_LOCK (WDDM: Lock)
 *
 * Waits until the jobs that use the object, of the submissions that have returned, are done, and has it where the CPU sees
 * its bytes. The access itself goes through a mapping at
 * @mmap_offset, which is the same for the object's life: it may be made before, and kept.
 * What the CPU does through a mapping without a lock, or beyond what the lock says, is right, too, but not
 * synchronised with jobs.
 *
 * A swizzled layout is seen in linear order with LOCK_ACQUIRE_RANGE, as it is without any lock: through swizzling ranges, which
 * the object then keeps, or in system memory. A lock without the flag takes no range. As long as such locks are held, mappings of the object show it as it lies: swizzled
 * where it is in a CPU-visible memory segment, linear in system memory, where it may go at any time. That goes for
 * everybody's mappings, so locks of both kinds are never held at once.
 *
 * With LOCK_DISCARD nobody waits. If a job uses the object, the answer is a new object with the
 * same properties (WDDM: instance), whose handle is returned: it reads as zero, and is the caller's to
 * close like the old one, which the jobs go on using. As soon as a submission has listed a newer
 * instance, in its allocation list or those before, an older one is refused with -EINVAL.
 *
 * Locks are counted per object and open file; closing the file or a handle of the object gives
 * them up. While an object is locked that was in no segment then, and can be in memory segments
 * only, SUBMIT and MAKE_RESIDENT of the same open file return -EBUSY for it, and so does a commit
 * that shows a framebuffer which that file has made of it. Other files may move it, and show it.
 *
 * Errors, with nothing locked: -ENOENT: unknown handle. -EPERM: an object without BO_CPU_ACCESS. -EINVAL: unknown
 * flags; READ_ONLY with WRITE_ONLY or DISCARD; IGNORE_SYNC with DISCARD, or for an object with a
 * swizzled layout; DONT_WAIT or IGNORE_SYNC for a twin; DISCARD for an object that was exported, or of which a newer instance is in use; an object that is offered. -EBUSY: with LOCK_DONT_WAIT, a wait would be needed
 * (WDDM: WasStillDrawing); or a swizzled object is locked the other way, with or without ACQUIRE_RANGE. -EIO: the object is lost.
 * An object that is scanned out cannot move: -ENOSPC if it is in memory that the CPU cannot see, and there is
 * no host aperture; -EBUSY if other locks have all swizzling ranges that it needs.
 */
struct drm_tessera_lock {
	/** @handle: the object; with LOCK_DISCARD the one to go on with [in/out] */
	__u32 handle;
	/** @flags: DRM_TESSERA_LOCK_* */
	__u32 flags;
	/** @mmap_offset: where to map the object that is locked now [out] */
	__u64 mmap_offset;
};

/**
 * struct drm_tessera_unlock - argument of DRM_IOCTL_TESSERA_UNLOCK (WDDM: Unlock)
 *
 * Ends one LOCK by this open file. Waits for no job and no other lock.
 *
 * Errors: -ENOENT: unknown handle. -EINVAL: non-zero @pad, or no lock of this file.
 */
struct drm_tessera_unlock {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_tessera_lock2 - argument of DRM_IOCTL_TESSERA_LOCK2 (WDDM: Lock2)
 *
 * Gets an address, and waits for no job: who locks like this synchronises jobs and CPU himself. A mapping at
 * @mmap_offset, which is the same for the object's life, may be made before and kept, over any number of jobs and
 * evictions. If the object has to move for it, the first access waits for that, and so for jobs that use it where it is.
 *
 * It never takes a swizzling range: a swizzled layout is seen as with LOCK without LOCK_ACQUIRE_RANGE. Otherwise an object with
 * BO_CPU_ACCESS can always be locked, in its place if the CPU sees that, else in an aperture or in system memory.
 * What is BO_CPU_CACHED is not seen in memory segments: it leaves them to be locked, if it supports an aperture, and stays out of them
 * until it is unlocked. So does an object without BO_CPU_ACCESS; its bytes are those that lie in system memory, in the order that they had
 * in memory, and mappings of it show nothing when nobody has it locked: accesses raise SIGBUS.
 *
 * Locks are counted, and given up, like those of &struct drm_tessera_lock, and counted apart from
 * these. SUBMIT and MAKE_RESIDENT return -EBUSY for an object that the same open file has locked
 * and that may not go where a job could use it: one that supports memory segments only, and was in
 * none when it was locked, or that stays out of them. Those of other files may move it. Commits
 * return -EBUSY for a framebuffer that the file has made of such an object.
 *
 * Errors, with nothing locked: -ENOENT: unknown handle. -EINVAL: @flags not zero, an object that is offered. -EPERM: one of BO_FROM_USER. -EOPNOTSUPP: an object that would have to leave a
 * memory segment and supports no aperture. -EBUSY: a swizzled object is locked with LOCK_ACQUIRE_RANGE. -EIO: the object is lost.
 */
struct drm_tessera_lock2 {
	/** @handle: the object */
	__u32 handle;
	/** @flags: none are defined: must be zero */
	__u32 flags;
	/** @mmap_offset: where to map it [out] */
	__u64 mmap_offset;
};

/**
 * struct drm_tessera_unlock2 - argument of DRM_IOCTL_TESSERA_UNLOCK2 (WDDM: Unlock2)
 *
 * Ends one LOCK2 by this open file. Waits for no job and no other lock.
 *
 * Errors: -ENOENT: unknown handle. -EINVAL: non-zero @pad, or no LOCK2 of this file.
 */
struct drm_tessera_unlock2 {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_TESSERA_CONTEXT_LEAK_CHECK		(1U << 0) /* refuse slots bound across a cut (WDDM: SCHED-6) */
#define DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL	(1U << 1) /* debug: cut at every split point; needs CAP_SYS_ADMIN */
#define DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM	(1U << 2) /* debug: cut at random split points; needs CAP_SYS_ADMIN */

#define DRM_TESSERA_PRIORITY_NORMAL	0
#define DRM_TESSERA_PRIORITY_LOW	1
#define DRM_TESSERA_PRIORITY_HIGH	2 /* needs CAP_SYS_NICE, or to be DRM master */

/**
 * struct drm_tessera_context_create - argument of DRM_IOCTL_TESSERA_CONTEXT_CREATE
 *
 * A context is one queue: its submissions run in order. Without @vm its addressing model is the patched
 * one: GPU addresses are written by the kernel, and it takes SUBMIT. With one it works at virtual addresses, and takes
 * SUBMIT_VM; the VM lives as long as the context.
 *
 * Of the jobs that are ready an engine gets those of the highest priority first. But when 16 have passed one of lower priority
 * that is ready, that one is next; so one of low priority goes on, unless others fill the ring. With
 * DRM_TESSERA_CAP_PREEMPTION a job that runs is interrupted for one of higher priority, and goes on later.
 *
 * Errors: -EINVAL: any flag with @vm, unknown flags or priority, both force-split flags, @split_seed without FORCE_SPLIT_RANDOM, unknown or non-render
 * @engine; -EPERM: a force-split flag without CAP_SYS_ADMIN; -EACCES: PRIORITY_HIGH without the right to it; -ENOSPC: too many contexts of this process; -ENOENT: unknown
 * @vm; -EIO: that is lost.
 */
struct drm_tessera_context_create {
	/** @flags: DRM_TESSERA_CONTEXT_* */
	__u32 flags;
	/** @engine: a render engine's id */
	__u32 engine;
	/** @split_seed: seed for FORCE_SPLIT_RANDOM, else 0 */
	__u32 split_seed;
	/** @id: the new context, not 0 [out] */
	__u32 id;
	/** @priority: DRM_TESSERA_PRIORITY_* */
	__u32 priority;
	/** @vm: the VM at whose addresses it works; 0: none */
	__u32 vm;
};

/**
 * struct drm_tessera_context_destroy - argument of DRM_IOCTL_TESSERA_CONTEXT_DESTROY
 *
 * Jobs already submitted still run. Errors: -ENOENT, -EINVAL.
 */
struct drm_tessera_context_destroy {
	/** @id: the context */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_TESSERA_RESET_NONE		0 /* nothing has happened to the context */
#define DRM_TESSERA_RESET_GUILTY	1 /* it is lost: a job of it hung, kept an engine for too long, or (VM) made a bad access */
#define DRM_TESSERA_RESET_INNOCENT	2 /* it is lost for another reason: a reset of the device, or its client is banned */

#define DRM_TESSERA_STATUS_LOST		(1U << 0) /* SUBMIT returns -EIO */
#define DRM_TESSERA_STATUS_BANNED	(1U << 1) /* so it does in all contexts of the client, see &DRM_TESSERA_MAX_HANGS */

/**
 * struct drm_tessera_context_status - argument of DRM_IOCTL_TESSERA_CONTEXT_STATUS
 *
 * A hang of another context's job resets that engine only, and leaves no trace here: jobs of others run again. Errors: -ENOENT, -EINVAL.
 */
struct drm_tessera_context_status {
	/** @id: the context */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
	/** @reset: DRM_TESSERA_RESET_*; does not change back [out] */
	__u32 reset;
	/** @flags: DRM_TESSERA_STATUS_* [out] */
	__u32 flags;
	/** @hangs: jobs of it that hung, or kept an engine for too long; not bad accesses [out] */
	__u32 hangs;
	/** @device_resets: resets of the device since it was created [out] */
	__u32 device_resets;
};

#define DRM_TESSERA_ALLOC_WRITE		(1U << 0) /* some command writes it (WDDM: WriteOperation) */

/**
 * struct drm_tessera_submit_alloc - element of the allocation list
 */
struct drm_tessera_submit_alloc {
	/** @handle: buffer object; 0: the NULL element, for unbinding */
	__u32 handle;
	/** @flags: DRM_TESSERA_ALLOC_*; must be 0 for a NULL element */
	__u32 flags;
};

/**
 * struct drm_tessera_submit_patch - element of the patch-location list (WDDM: D3DDDI_PATCHLOCATIONLIST)
 *
 * Says that from @split_offset on slot @slot_id holds allocation @alloc_index, and that the base
 * and limit of the BIND_SLOT packet at @patch_offset - 8 are to be set to it. Elements are in stream order of use:
 * @split_offset never decreases; elements of equal @split_offset form one split point,
 * at which the kernel may cut the buffer.
 */
struct drm_tessera_submit_patch {
	/** @alloc_index: index in the allocation list */
	__u32 alloc_index;
	/** @slot_id: binding slot, below max_slots; upper 8 bits zero */
	__u32 slot_id;
	/** @driver_id: opaque to the kernel, shown in the trace */
	__u32 driver_id;
	/** @patch_offset: byte offset of the base field in the commands; 0 for a NULL element */
	__u32 patch_offset;
	/** @split_offset: byte offset of the packet from which on the allocation is needed */
	__u32 split_offset;
	/** @pad: must be zero */
	__u32 pad;
	/** @alloc_offset: byte offset in the object the slot starts at, 8-byte aligned; 0 for a NULL element */
	__u64 alloc_offset;
};

#define DRM_TESSERA_SYNC_SIGNAL		(1U << 0) /* signal after the job; else wait before it */
#define DRM_TESSERA_SYNC_TIMELINE	(1U << 1) /* use @point of a timeline syncobj */
#define DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT	(1U << 2) /* nobody may have submitted what signals it: the call waits for that */

/**
 * struct drm_tessera_sync - element of the sync list
 *
 * A point that is signalled, of the syncobj of a monitored fence, becomes the fence's value. The points of one fence rise from
 * submission to submission, and from element to element.
 *
 * SYNC_WAIT_FOR_SUBMIT goes with a wait. The call goes on when somebody has submitted what will signal the syncobj, or
 * signalled it; a POSIX signal ends that wait (-EINTR). Nothing of the submission is begun, and nobody is kept
 * waiting, meanwhile. Without the flag there has to be something to wait for.
 */
struct drm_tessera_sync {
	/** @handle: drm_syncobj */
	__u32 handle;
	/** @flags: DRM_TESSERA_SYNC_* */
	__u32 flags;
	/** @point: timeline point, not 0; 0 for a binary syncobj */
	__u64 point;
};

/**
 * struct drm_tessera_submit - argument of DRM_IOCTL_TESSERA_SUBMIT
 *
 * Errors, with nothing run:
 *  -ENOENT: unknown context, handle or syncobj.
 *  -EINVAL: unknown flags, non-zero padding, an empty or unaligned command buffer; a packet that is
 *  unknown, malformed or privileged; a BIND_SLOT whose base or limit is not zero, whose access, format, layout, pitch, width
 *  or height the device would refuse, not covered by exactly one patch, for another
 *  slot, or with write access to an allocation not listed as written; an allocation index,
 *  slot id, patch or split offset that breaks the rules of &struct drm_tessera_submit_patch; @split_offset
 *  inside a packet or behind the end; a patch outside the range in which its binding holds; two allocations for one slot
 *  at one split offset; a NULL element with an offset; @alloc_offset not inside the object, or of a swizzled
 *  surface not a multiple of 4096; the same handle twice
 *  in the allocation list; an object that is offered, or has VM_PRIVATE; an instance older than one that is in use, see &struct drm_tessera_lock; a written allocation that is GPU_READ_ONLY, or can only live in read-only apertures; a leak the context's leak check finds;
 *  a wait without SYNC_WAIT_FOR_SUBMIT on a timeline point or syncobj without fence; a signal with that flag, or of a monitored fence that
 *  would not rise.
 *  -E2BIG: more commands, allocations, patches or syncs than the limits.
 *  -ENOSPC: one split point needs more than its segments hold, whatever is evicted.
 *  -EIO: the context was lost to a hang or a reset of the device, or an object was lost when paging it failed.
 *  -EBUSY: the file has locked an object that may not move into memory, see &struct drm_tessera_lock.
 *  -EFAULT: user memory is not there, see &struct drm_tessera_bo_from_user; -EBUSY: it changes time and again,
 *  or others put fence after fence at the objects.
 *  -EOPNOTSUPP: the context has a VM.
 *
 * The call waits for in-fences, and for fences at the objects, that no job of this device signals. A POSIX
 * signal ends that (-EINTR).
 *
 * The job's fence, signalled through @syncs and the objects' reservations, carries: 0;
 * -EFAULT: the device stopped at a bad access (slot bounds, unbound slot, …); -ENOSPC: fragmentation by
 * bound allocations found at a cut, the parts before it have run; -ETIME: the job hung and was killed, or its parts kept an engine
 * that cannot preempt for too long, or kept others waiting and made nothing of it, or others' fence came in between them and did not signal in time; -ECANCELED: not run because
 * an earlier job of the context hung, or the device went away or was reset; -EIO: not run because paging failed meanwhile (a fault of the
 * device). An object whose paging failed is lost: submissions that name it fail, accesses to mappings of it raise SIGBUS.
 */
struct drm_tessera_submit {
	/** @context: the context */
	__u32 context;
	/** @flags: must be zero */
	__u32 flags;
	/** @cmds: user address of the commands, 8-byte aligned */
	__u64 cmds;
	/** @cmd_size: bytes of commands, a multiple of 8 */
	__u32 cmd_size;
	/** @num_parts: parts the buffer was cut into [out] */
	__u32 num_parts;
	/** @allocs: &struct drm_tessera_submit_alloc */
	struct drm_tessera_array allocs;
	/** @patches: &struct drm_tessera_submit_patch */
	struct drm_tessera_array patches;
	/** @syncs: &struct drm_tessera_sync */
	struct drm_tessera_array syncs;
	/**
	 * @error_offset: byte offset in the commands of what -EINVAL or -ENOSPC is about, 0xffffffff if none. Also set
	 * when the ioctl succeeds but it is known already that the job's fence will carry -ENOSPC [out]
	 */
	__u32 error_offset;
	/** @error_index: index in the patch list, likewise [out] */
	__u32 error_index;
};

/**
 * struct drm_tessera_fence_create - argument of DRM_IOCTL_TESSERA_FENCE_CREATE (WDDM: monitored fence)
 *
 * A monitored fence is a timeline syncobj, and a 64-bit value in memory that follows it: as soon as a
 * wait for a point has returned, the value is at least that. The GPU signals it when a SUBMIT names a point
 * of the syncobj, the CPU with FENCE_SIGNAL; the GPU waits for points like any job, the CPU with
 * DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT. The value only rises, and reaches what a job was to signal also if the job fails, hangs,
 * is cancelled, or the device goes. Points that come into the syncobj in other ways (DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL,
 * transfers, submissions of other files) do not change the value.
 *
 * The page at @mmap_offset holds values of this client only, little endian, and is mapped to be read: -EACCES for anything
 * else. A mapping stays valid when the fence, or the device, has gone; with the fence the value is no longer its.
 *
 * Errors: -EINVAL: non-zero @flags; -ENOSPC: too many fences of this process, see &drm_tessera_query_device.max_fences.
 */
struct drm_tessera_fence_create {
	/** @value: the initial value, reached from the beginning */
	__u64 value;
	/** @flags: must be zero */
	__u32 flags;
	/** @id: the new fence, not 0 [out] */
	__u32 id;
	/** @syncobj: handle of its syncobj, to be destroyed by DRM_IOCTL_SYNCOBJ_DESTROY [out] */
	__u32 syncobj;
	/** @offset: where in the page the value is, a multiple of 8 [out] */
	__u32 offset;
	/** @mmap_offset: offset for mmap() of the DRM file, of one page, shared and read-only [out] */
	__u64 mmap_offset;
};

/**
 * struct drm_tessera_fence_destroy - argument of DRM_IOCTL_TESSERA_FENCE_DESTROY
 *
 * What jobs were to signal they still do. The syncobj, and mappings of the page, stay. Errors: -ENOENT, -EINVAL.
 */
struct drm_tessera_fence_destroy {
	/** @id: the fence */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_tessera_fence_signal - argument of DRM_IOCTL_TESSERA_FENCE_SIGNAL
 *
 * Values are reached in the order they were asked for: behind submissions that have returned, and are to
 * signal lower ones, this has effect when their jobs are over. It does not wait for them.
 *
 * Errors: -ENOENT: unknown fence. -EINVAL: non-zero @pad, or @value is not above the initial one and all that were asked for before.
 */
struct drm_tessera_fence_signal {
	/** @id: the fence */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
	/** @value: the value */
	__u64 value;
};

/**
 * struct drm_tessera_make_resident - argument of DRM_IOCTL_TESSERA_MAKE_RESIDENT (WDDM: MakeResident)
 *
 * Adds objects to the residency list of the open file, once for each time a handle is given, and brings them,
 * and whatever of the list has been moved out meanwhile, into a segment of their sets where the GPU can write them, unless they
 * are GPU_READ_ONLY. What is listed stays there while jobs run that bring no list, whatever other clients do: it may be moved out between
 * jobs and is brought back before the next. Without @handles only that is done now.
 *
 * Returns without waiting for the paging: @syncs signal when it is over. Jobs that are submitted earlier wait for it by
 * themselves. Room is made by moving out what nobody has listed, and of what others have listed only what they have
 * above their share of a segment (WDDM: budget), or have not used for two seconds; never what the caller has listed. Where there is room, but
 * not in one piece, objects are moved together. Memory of objects that are being destroyed, what submissions in parts hold, and objects of others
 * that would have to be moved, but are in use, are waited for, for two job timeouts at most. Fences at objects that have to move, and that no
 * job of this device signals, are waited for as long as they take.
 *
 * All or nothing: if not everything fits, nothing is added, and @bytes_to_trim says how many bytes the caller has to
 * EVICT first of what it has listed in @trim_segments, so that a second call finds room unless others take it meanwhile. An
 * object that may live in several segments may have to be tried again more than once.
 *
 * Closing a handle takes its object off the list.
 *
 * Errors: -EINVAL: @flags, @pad or @pad2 not zero; a stride of @handles that is not 4; a sync without SYNC_SIGNAL, of a monitored fence, or as of SUBMIT; an object is offered. -ENOENT: unknown
 * handle or syncobj. -E2BIG: more than max_allocs handles, or max_syncs syncs. -ENOMEM: it does not fit, or, with
 * @bytes_to_trim 0, kernel memory is short, or page tables as of VM_BIND are too many. -EBUSY: an object is locked that may not move into memory meanwhile, see
 * &struct drm_tessera_lock. -EIO: an object is lost. -EFAULT, -EBUSY: see &struct drm_tessera_bo_from_user.
 */
struct drm_tessera_make_resident {
	/** @flags: must be zero */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/** @handles: __u32 each */
	struct drm_tessera_array handles;
	/** @syncs: &struct drm_tessera_sync, all with SYNC_SIGNAL (WDDM: paging fence) */
	struct drm_tessera_array syncs;
	/** @bytes_to_trim: how much has to be evicted first (WDDM: NumBytesToTrim) [out] */
	__u64 bytes_to_trim;
	/** @trim_segments: where: bit n is segment id n [out] */
	__u32 trim_segments;
	/** @pending: 1 if paging is under way, 0 if all is there already [out] */
	__u32 pending;
	/**
	 * @failed: which of @handles, by index, it fails for with -ENOENT, -EINVAL, -EBUSY, -EFAULT or -EIO; their number if that
	 * is none of them, but something else, or what was listed before [out]
	 */
	__u32 failed;
	/** @pad2: must be zero */
	__u32 pad2;
};

/**
 * struct drm_tessera_evict - argument of DRM_IOCTL_TESSERA_EVICT (WDDM: Evict)
 *
 * Takes objects off the residency list of the open file, once for each time a handle is given. One whose count has come to 0 moves out when
 * somebody needs its room; jobs that were submitted before can still use it, for those of contexts with a VM that come later it is not there: access faults (only where kernel memory is
 * so short that page tables cannot be written it stays there until it moves). Waits for nothing.
 *
 * Errors, with nothing changed: -EINVAL: @flags or @pad not zero, a stride that is not 4, an object that is not on the list so many
 * times. -ENOENT: unknown handle. -E2BIG: more than max_allocs handles.
 */
struct drm_tessera_evict {
	/** @flags: must be zero */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/** @handles: __u32 each */
	struct drm_tessera_array handles;
};

#define DRM_TESSERA_BUDGET_RESERVE	(1U << 0) /* set the reservation of the one segment named */
#define DRM_TESSERA_BUDGET_NOTIFY	(1U << 1) /* set or remove the notification of this file */

/**
 * struct drm_tessera_budget - argument of DRM_IOCTL_TESSERA_BUDGET (WDDM: QueryVideoMemoryInfo, SetVideoMemoryReservation)
 *
 * All figures are sums over a set of segments, for the calling client: all files of the process that pays for this one.
 *
 * A *reservation* is the part of a fair share that does not depend on the number of other clients; they share the rest. It counts
 * as long as the client uses the segment; what is idle is lent, reserved or not. All clients together can
 * reserve a quarter of a segment.
 *
 * A *notification* is an eventfd, one for each open file, that is signalled when the budget of the set has changed by a sixteenth of the
 * segments' size or more since it was told last, or since the call. It may be a moment late, and half a second if the change is
 * that others have stopped using a segment.
 *
 * Errors, with nothing changed: -EINVAL: unknown flags, both flags, @pad not zero, no segment or an unknown one, an @eventfd without
 * BUDGET_NOTIFY or that is none, BUDGET_RESERVE for more than one segment. -EBADF: no such file. -ENOSPC: more than @reservable of a moment ago.
 */
struct drm_tessera_budget {
	/** @segments: set of segments: bit n is segment id n */
	__u32 segments;
	/** @flags: DRM_TESSERA_BUDGET_* */
	__u32 flags;
	/** @eventfd: with BUDGET_NOTIFY: what to signal, negative: nothing any more; else 0 */
	__s32 eventfd;
	/** @pad: must be zero */
	__u32 pad;
	/** @reservation: bytes reserved [in/out]; ignored on input without BUDGET_RESERVE */
	__u64 reservation;
	/** @budget: bytes that can be counted on: fair share, and more while others leave memory free [out] */
	__u64 budget;
	/** @usage: bytes that are resident [out] */
	__u64 usage;
	/** @reservable: most that could be reserved [out] */
	__u64 reservable;
};

/**
 * struct drm_tessera_vm_create - argument of DRM_IOCTL_TESSERA_VM_CREATE
 *
 * A VM is a space of GPU virtual addresses (WDDM: GPU virtual address space), where nothing is mapped to begin with.
 *
 * Errors: -EINVAL: @flags not zero; -EOPNOTSUPP: the device has no virtual addresses, see DRM_TESSERA_CAP_VM;
 * -ENOSPC: too many VMs, or page tables, of this process.
 */
struct drm_tessera_vm_create {
	/** @flags: must be zero */
	__u32 flags;
	/** @id: the new VM, not 0 [out] */
	__u32 id;
};

/**
 * struct drm_tessera_vm_destroy - argument of DRM_IOCTL_TESSERA_VM_DESTROY
 *
 * Contexts that use it go on. With the last of them all that is mapped goes; jobs already submitted still run.
 *
 * Errors: -ENOENT, -EINVAL.
 */
struct drm_tessera_vm_destroy {
	/** @id: the VM */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_TESSERA_VM_BIND_MAP		0 /* memory of an object */
#define DRM_TESSERA_VM_BIND_UNMAP	1 /* nothing: accesses fault */
#define DRM_TESSERA_VM_BIND_MAP_NULL	2 /* no memory: reads give zero, writes are dropped */

#define DRM_TESSERA_VM_BIND_READ_ONLY	(1U << 0) /* of MAP: the GPU may not write there; implied by BO_GPU_READ_ONLY */

/**
 * struct drm_tessera_vm_bind_op - element of the list of a VM_BIND
 *
 * Whatever is mapped in the range is replaced, parts of mappings, too.
 */
struct drm_tessera_vm_bind_op {
	/** @op: DRM_TESSERA_VM_BIND_MAP, _UNMAP or _MAP_NULL */
	__u32 op;
	/** @flags: DRM_TESSERA_VM_BIND_READ_ONLY */
	__u32 flags;
	/** @handle: the object; 0 if there is none */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @offset: byte offset in the object, a multiple of the page size; 0 if there is none */
	__u64 offset;
	/** @address: where the range begins, a multiple of the page size */
	__u64 address;
	/** @range: its size, likewise, not 0 */
	__u64 range;
};

/**
 * struct drm_tessera_vm_bind - argument of DRM_IOCTL_TESSERA_VM_BIND
 *
 * The list takes effect as a whole and in order, when all that it waits for has signalled. That includes, if it unmaps or replaces
 * anything, all jobs of contexts of the VM that were submitted before; all that are submitted later wait for it.
 * So a job finds what was mapped when it was submitted. The call itself waits for fences in @syncs that jobs of this
 * device do not signal.
 *
 * A mapping holds its object: it lives on when its handles are closed. It leads there while the object is on the residency list of
 * the file that has the VM (MAKE_RESIDENT), on no other: otherwise accesses fault. While an object moves jobs wait. Virtual
 * addresses do not change by that.
 *
 * Errors, with nothing changed: -ENOENT: unknown VM, handle or syncobj. -EINVAL: non-zero @flags or padding, an empty list, an
 * unknown operation or flag, READ_ONLY without MAP, a handle or offset that is there or not against what the operation needs, an address,
 * offset or range that is no multiple of the page size, a range that is empty or beyond the addresses there are or the object; an
 * object that is offered, or is private to another VM; a wait on a timeline point or syncobj without fence. -E2BIG: more elements than the limits; MAP_NULLs of more than 64 GiB together.
 * -ENOSPC: too many page tables of this client, or mappings of the VM. -EIO: the VM is lost, as a change of it failed or the device was reset, or an object is.
 */
struct drm_tessera_vm_bind {
	/** @vm: the VM */
	__u32 vm;
	/** @flags: must be zero */
	__u32 flags;
	/** @ops: &struct drm_tessera_vm_bind_op */
	struct drm_tessera_array ops;
	/** @syncs: &struct drm_tessera_sync */
	struct drm_tessera_array syncs;
};

/**
 * struct drm_tessera_bo_from_user - argument of DRM_IOCTL_TESSERA_BO_FROM_USER
 *
 * Private anonymous memory of the calling process as an object, which jobs of both kinds use in apertures. It is not pinned: the kernel moves and
 * swaps it as ever, and whoever changes what is there (munmap, mremap, mprotect, MADV_DONTNEED, fork, exit) waits for the jobs that use it.
 * Later jobs find what is there then, or are refused: with -EFAULT if nothing is, or no such memory (nor is what only userfaultfd would bring), with -EBUSY if it
 * changes time and again. The memory is the calling process's, whoever submits the job. A process that has such an object has few unfinished jobs: calls that
 * bring more wait before they begin.
 *
 * Errors, with nothing done: -EINVAL: unknown flags, @size 0, @address or @size no multiple of the page size, a range that wraps, or no aperture the GPU can
 * write. -EFAULT: nothing is mapped somewhere in the range. -EPERM: memory that is not private and anonymous (of a file, shared, huge pages of hugetlb,
 * of a device), or that may not be read, or, without GPU_READ_ONLY, written. -E2BIG: larger than each aperture. -EOPNOTSUPP: see DRM_TESSERA_CAP_USER_MEMORY.
 */
struct drm_tessera_bo_from_user {
	/** @address: the first byte */
	__u64 address;
	/** @size: how many there are */
	__u64 size;
	/** @flags: DRM_TESSERA_BO_GPU_READ_ONLY */
	__u32 flags;
	/** @handle: [out] GEM handle */
	__u32 handle;
};

/**
 * struct drm_tessera_submit_vm - argument of DRM_IOCTL_TESSERA_SUBMIT_VM
 *
 * The commands are read by the device, at virtual addresses of the context's VM, as are base addresses of slots. They run unprivileged.
 * There is no list of objects: what is mapped and on the file's residency list when the job is submitted is what it finds. What has been moved out of
 * that list is brought back first, as by MAKE_RESIDENT: all of it, wherever it is mapped (RES-2). Fences in @syncs that
 * jobs of this device do not signal are waited for in the call.
 *
 * Errors, with nothing run: -ENOENT: unknown context or syncobj, or its VM is being destroyed. -EOPNOTSUPP: a context without VM (and SUBMIT for one with). -EINVAL:
 * non-zero @flags or @pad, @cmds or @cmd_size no multiple of 8, or @cmd_size 0; a wait on a timeline point or syncobj
 * without fence. -E2BIG: more commands or syncs than the limits. -EIO: the context was lost to a hang, a bad access or a reset of
 * the device, or the VM is lost. And those of &struct drm_tessera_make_resident: -ENOMEM: not all that is listed finds room beside what others may keep (MAKE_RESIDENT without
 * handles says how much to EVICT), or others take it away time and again; or kernel memory is short. -EBUSY, -EIO: as an object on the list is locked, or lost.
 * -EFAULT, -EBUSY: see &struct drm_tessera_bo_from_user.
 *
 * The job's fence carries: 0; -EFAULT: the device stopped at a bad access: an address where nothing is mapped, or what is mapped is not listed as resident,
 * a write to what is read-only, a bad packet, …: the context is lost; -ECANCELED: not run because that happened to an earlier job of it; -EIO: not
 * run because the VM is lost; and -ETIME and -ECANCELED as of &struct drm_tessera_submit.
 */
struct drm_tessera_submit_vm {
	/** @context: the context */
	__u32 context;
	/** @flags: must be zero */
	__u32 flags;
	/** @cmds: virtual address of the commands, a multiple of 8 */
	__u64 cmds;
	/** @cmd_size: bytes of commands, a multiple of 8 */
	__u32 cmd_size;
	/** @pad: must be zero */
	__u32 pad;
	/** @syncs: &struct drm_tessera_sync */
	struct drm_tessera_array syncs;
};

#define DRM_IOCTL_TESSERA_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_QUERY, struct drm_tessera_query)
#define DRM_IOCTL_TESSERA_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_BO_CREATE, struct drm_tessera_bo_create)
#define DRM_IOCTL_TESSERA_BO_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_BO_INFO, struct drm_tessera_bo_info)
#define DRM_IOCTL_TESSERA_BO_WAIT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_BO_WAIT, struct drm_tessera_bo_wait)
#define DRM_IOCTL_TESSERA_BO_CREATE_TWINS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_BO_CREATE_TWINS, struct drm_tessera_bo_create_twins)
#define DRM_IOCTL_TESSERA_CONTEXT_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_CONTEXT_CREATE, struct drm_tessera_context_create)
#define DRM_IOCTL_TESSERA_CONTEXT_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_CONTEXT_DESTROY, struct drm_tessera_context_destroy)
#define DRM_IOCTL_TESSERA_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_SUBMIT, struct drm_tessera_submit)
#define DRM_IOCTL_TESSERA_LOCK \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_LOCK, struct drm_tessera_lock)
#define DRM_IOCTL_TESSERA_UNLOCK \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_UNLOCK, struct drm_tessera_unlock)
#define DRM_IOCTL_TESSERA_LOCK2 \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_LOCK2, struct drm_tessera_lock2)
#define DRM_IOCTL_TESSERA_BO_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_BO_DESTROY, struct drm_tessera_bo_destroy)
#define DRM_IOCTL_TESSERA_INVALIDATE_CACHE \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_INVALIDATE_CACHE, \
		struct drm_tessera_invalidate_cache)
#define DRM_IOCTL_TESSERA_OFFER \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_OFFER, struct drm_tessera_offer)
#define DRM_IOCTL_TESSERA_RECLAIM \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_RECLAIM, struct drm_tessera_reclaim)
#define DRM_IOCTL_TESSERA_UNLOCK2 \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_UNLOCK2, struct drm_tessera_unlock2)
#define DRM_IOCTL_TESSERA_BO_LABEL \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_BO_LABEL, struct drm_tessera_bo_label)
#define DRM_IOCTL_TESSERA_BO_FROM_USER \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_BO_FROM_USER, struct drm_tessera_bo_from_user)
#define DRM_IOCTL_TESSERA_CONTEXT_STATUS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_CONTEXT_STATUS, struct drm_tessera_context_status)
#define DRM_IOCTL_TESSERA_FENCE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_FENCE_CREATE, struct drm_tessera_fence_create)
#define DRM_IOCTL_TESSERA_FENCE_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_FENCE_DESTROY, struct drm_tessera_fence_destroy)
#define DRM_IOCTL_TESSERA_FENCE_SIGNAL \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_FENCE_SIGNAL, struct drm_tessera_fence_signal)
#define DRM_IOCTL_TESSERA_MAKE_RESIDENT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_MAKE_RESIDENT, struct drm_tessera_make_resident)
#define DRM_IOCTL_TESSERA_EVICT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_EVICT, struct drm_tessera_evict)
#define DRM_IOCTL_TESSERA_BUDGET \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_BUDGET, struct drm_tessera_budget)
#define DRM_IOCTL_TESSERA_VM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_VM_CREATE, struct drm_tessera_vm_create)
#define DRM_IOCTL_TESSERA_VM_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_VM_DESTROY, struct drm_tessera_vm_destroy)
#define DRM_IOCTL_TESSERA_VM_BIND \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_VM_BIND, struct drm_tessera_vm_bind)
#define DRM_IOCTL_TESSERA_SUBMIT_VM \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_SUBMIT_VM, struct drm_tessera_submit_vm)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_TESSERA_DRM_H_ */
