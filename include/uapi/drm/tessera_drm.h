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
 * - Every struct is a multiple of 8 bytes and every field is naturally aligned,
 *   so that 32-bit and 64-bit userspace share one layout. Pointers are __u64.
 * - Fields named pad or reserved, and unknown flag bits, must be zero.
 *   Otherwise the ioctl returns -EINVAL. Fields documented as [out] are ignored
 *   on input, so that a struct can be used again.
 * - Structs grow at the end only. The kernel fills the missing tail of a
 *   shorter, older struct with zeros. It does not see the tail of a longer,
 *   newer one: userspace must ask QUERY what the kernel knows before it uses
 *   new fields.
 * - Arrays of structs are passed as &struct drm_tessera_array, whose stride is
 *   the size of the struct userspace was built with. Shorter elements of an
 *   older version are zero-extended. The tail of longer ones must be zero,
 *   otherwise the ioctl returns -EINVAL. The kernel copies a user array once
 *   and uses only the copy.
 * - Ids are only ever appended.
 * - Sizes and offsets are in bytes unless a name says otherwise. Times are
 *   absolute CLOCK_MONOTONIC nanoseconds.
 * - An ioctl either succeeds or has no effect, except for those that wait. Any
 *   ioctl may fail with -ENODEV (the device is gone), -EFAULT (a bad user
 *   pointer), -ENOMEM, or -EINTR (a signal; call again).
 *
 * The memory model is that of WDDM. Memory is divided into segments. A buffer
 * object (WDDM: allocation) names the segments it may live in. A submission
 * brings a list of the objects it uses and a list of the places in its commands
 * that need their addresses (patch locations).
 *
 * Two terms are used throughout. A client is a process: memory and limits are
 * counted for all its open files of the device together. A foreign fence is a
 * fence that no job of this device signals.
 */

/**
 * enum drm_tessera_ioctl_id - ioctl numbers, relative to DRM_COMMAND_BASE
 *
 * All other numbers return -EINVAL. 0x07 to 0x0f are unused.
 */
enum drm_tessera_ioctl_id {
	/**
	 * @DRM_TESSERA_QUERY: device, segment, engine and memory information
	 */
	DRM_TESSERA_QUERY = 0x00,
	/** @DRM_TESSERA_BO_CREATE: create buffer objects */
	DRM_TESSERA_BO_CREATE = 0x01,
	/**
	 * @DRM_TESSERA_BO_INFO: mmap offset and properties of a buffer object
	 */
	DRM_TESSERA_BO_INFO = 0x02,
	/** @DRM_TESSERA_BO_WAIT: wait until a buffer object is idle */
	DRM_TESSERA_BO_WAIT = 0x03,
	/** @DRM_TESSERA_CONTEXT_CREATE: create an execution context */
	DRM_TESSERA_CONTEXT_CREATE = 0x04,
	/** @DRM_TESSERA_CONTEXT_DESTROY: destroy an execution context */
	DRM_TESSERA_CONTEXT_DESTROY = 0x05,
	/**
	 * @DRM_TESSERA_SUBMIT: submit commands with their allocation and patch
	 * lists
	 */
	DRM_TESSERA_SUBMIT = 0x06,
	/** @DRM_TESSERA_LOCK: begin to access a buffer object with the CPU */
	DRM_TESSERA_LOCK = 0x10,
	/** @DRM_TESSERA_UNLOCK: end a LOCK */
	DRM_TESSERA_UNLOCK = 0x11,
	/**
	 * @DRM_TESSERA_BO_CREATE_TWINS: create the surface pair of a swizzled
	 * surface: one object for the GPU, one for the CPU
	 */
	DRM_TESSERA_BO_CREATE_TWINS = 0x12,
	/**
	 * @DRM_TESSERA_LOCK2: get an address for the CPU without synchronising
	 * with jobs
	 */
	DRM_TESSERA_LOCK2 = 0x13,
	/** @DRM_TESSERA_UNLOCK2: end a LOCK2 */
	DRM_TESSERA_UNLOCK2 = 0x14,
	/** @DRM_TESSERA_BO_DESTROY: destroy a buffer object */
	DRM_TESSERA_BO_DESTROY = 0x15,
	/**
	 * @DRM_TESSERA_OFFER: allow the kernel to drop the contents of buffer
	 * objects
	 */
	DRM_TESSERA_OFFER = 0x16,
	/** @DRM_TESSERA_RECLAIM: take offered buffer objects back */
	DRM_TESSERA_RECLAIM = 0x17,
	/**
	 * @DRM_TESSERA_INVALIDATE_CACHE: write back and invalidate CPU caches
	 * of a buffer object
	 */
	DRM_TESSERA_INVALIDATE_CACHE = 0x18,
	/** @DRM_TESSERA_BO_LABEL: name a buffer object for debugging */
	DRM_TESSERA_BO_LABEL = 0x19,
	/**
	 * @DRM_TESSERA_BO_FROM_USER: create a buffer object from memory of the
	 * process
	 */
	DRM_TESSERA_BO_FROM_USER = 0x1a,
	/**
	 * @DRM_TESSERA_CONTEXT_STATUS: ask whether a context is lost, and why
	 */
	DRM_TESSERA_CONTEXT_STATUS = 0x1b,
	/** @DRM_TESSERA_FENCE_CREATE: create a monitored fence */
	DRM_TESSERA_FENCE_CREATE = 0x1c,
	/** @DRM_TESSERA_FENCE_DESTROY: destroy a monitored fence */
	DRM_TESSERA_FENCE_DESTROY = 0x1d,
	/** @DRM_TESSERA_FENCE_SIGNAL: signal a monitored fence from the CPU */
	DRM_TESSERA_FENCE_SIGNAL = 0x1e,
	/** @DRM_TESSERA_BO_PRIORITY: change the priority of a buffer object */
	DRM_TESSERA_BO_PRIORITY = 0x1f,
	/** @DRM_TESSERA_VM_CREATE: create a GPU virtual address space */
	DRM_TESSERA_VM_CREATE = 0x20,
	/** @DRM_TESSERA_VM_DESTROY: destroy a GPU virtual address space */
	DRM_TESSERA_VM_DESTROY = 0x21,
	/** @DRM_TESSERA_VM_BIND: change the mappings of a VM */
	DRM_TESSERA_VM_BIND = 0x22,
	/** @DRM_TESSERA_SUBMIT_VM: submit commands at a GPU virtual address */
	DRM_TESSERA_SUBMIT_VM = 0x23,
	/** @DRM_TESSERA_MAKE_RESIDENT: keep objects resident while jobs run */
	DRM_TESSERA_MAKE_RESIDENT = 0x24,
	/** @DRM_TESSERA_EVICT: undo MAKE_RESIDENT */
	DRM_TESSERA_EVICT = 0x25,
	/**
	 * @DRM_TESSERA_BUDGET: query the client's budget of segments, reserve
	 * memory, ask for notifications
	 */
	DRM_TESSERA_BUDGET = 0x26,
	/**
	 * @DRM_TESSERA_RESOURCE_CREATE: create buffer objects together, to be
	 * shared
	 */
	DRM_TESSERA_RESOURCE_CREATE = 0x27,
	/** @DRM_TESSERA_RESOURCE_OPEN: open all objects of a resource */
	DRM_TESSERA_RESOURCE_OPEN = 0x28,
	/** @DRM_TESSERA_IOCTL_LAST: the highest ioctl number */
	DRM_TESSERA_IOCTL_LAST = DRM_TESSERA_RESOURCE_OPEN,
};

/**
 * struct drm_tessera_array - an array of structs in user memory
 */
struct drm_tessera_array {
	/**
	 * @stride: size of one element as userspace was built: at least the
	 * first published size, at most the CPU's page size
	 */
	__u32 stride;
	/** @count: number of elements */
	__u32 count;
	/**
	 * @array: user address of the first element. If @count is 0, this and
	 * @stride are ignored
	 */
	__u64 array;
};

/**
 * enum drm_tessera_query_id - what DRM_TESSERA_QUERY returns
 */
enum drm_tessera_query_id {
	/** @DRM_TESSERA_QUERY_DEVICE: one &struct drm_tessera_query_device */
	DRM_TESSERA_QUERY_DEVICE = 0,
	/**
	 * @DRM_TESSERA_QUERY_SEGMENTS: an array of &struct
	 * drm_tessera_query_segment, in id order
	 */
	DRM_TESSERA_QUERY_SEGMENTS = 1,
	/**
	 * @DRM_TESSERA_QUERY_ENGINES: an array of &struct
	 * drm_tessera_query_engine
	 */
	DRM_TESSERA_QUERY_ENGINES = 2,
	/**
	 * @DRM_TESSERA_QUERY_MEMORY: an array of &struct
	 * drm_tessera_query_memory, one per segment
	 */
	DRM_TESSERA_QUERY_MEMORY = 3,
	/** @DRM_TESSERA_QUERY_CLIENT: one &struct drm_tessera_query_client */
	DRM_TESSERA_QUERY_CLIENT = 4,
};

/**
 * struct drm_tessera_query - argument of DRM_IOCTL_TESSERA_QUERY
 *
 * With @data.array 0 the call only fills in @data.stride and @data.count as the
 * kernel has them. Otherwise it writes min(@data.count, available) elements of
 * @data.stride bytes each, fills with zeros what the kernel does not know, and
 * sets @data.count to the number of elements written.
 *
 * Errors: -EINVAL for an unknown @id, non-zero @pad, or, with an array, a
 * stride that is 0 or above the CPU's page size.
 */
struct drm_tessera_query {
	/** @id: &enum drm_tessera_query_id */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
	/** @data: array that receives the elements [in/out] */
	struct drm_tessera_array data;
};

/* DRM_TESSERA_CAP_*: bits of &drm_tessera_query_device.caps */
/* a job can be preempted in favour of another */
#define DRM_TESSERA_CAP_PREEMPTION	(1ULL << 0)
#define DRM_TESSERA_CAP_IO_COHERENT	(1ULL << 1) /* no cache maintenance needed */
#define DRM_TESSERA_CAP_STRICT		(1ULL << 2) /* the device checks memory ownership */
#define DRM_TESSERA_CAP_HOST_APERTURE	(1ULL << 3) /* CPU host aperture present */
#define DRM_TESSERA_CAP_VM		(1ULL << 4) /* GPU virtual addresses offered */
#define DRM_TESSERA_CAP_SPLIT		(1ULL << 5) /* submissions can be cut at split points */
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
	/**
	 * @max_slots: number of binding slots; slot ids are below it (WDDM:
	 * MaxAllocationListSlotId, a count)
	 */
	__u32 max_slots;
	/** @max_allocs: maximum number of elements of an allocation list */
	__u32 max_allocs;
	/** @max_patches: maximum number of elements of a patch-location list */
	__u32 max_patches;
	/** @max_cmd_bytes: largest command buffer */
	__u32 max_cmd_bytes;
	/** @max_syncs: maximum number of elements of a sync list */
	__u32 max_syncs;
	/** @caps: DRM_TESSERA_CAP_* */
	__u64 caps;
	/** @page_size: granularity of object sizes */
	__u32 page_size;
	/** @num_swizzle_ranges: swizzling ranges of the device */
	__u32 num_swizzle_ranges;
	/**
	 * @guest_errors: errors that the device has counted since the driver
	 * was loaded
	 */
	__u64 guest_errors;
	/** @timestamp_ns: the device clock, in nanoseconds */
	__u64 timestamp_ns;
	/** @host_aperture_bytes: size of the CPU host aperture; 0: none */
	__u64 host_aperture_bytes;
	/** @host_aperture_page: bytes per page of the CPU host aperture */
	__u32 host_aperture_page;
	/** @max_fences: maximum number of monitored fences of a process */
	__u32 max_fences;
	/** @max_contexts: maximum number of contexts of a process */
	__u32 max_contexts;
	/**
	 * @job_timeout_ms: maximum run time of a job; a longer one counts as a
	 * hang
	 */
	__u32 job_timeout_ms;
	/**
	 * @group_timeout_ms: how long the parts of one submission may occupy an
	 * engine that cannot preempt; 0: no limit
	 */
	__u32 group_timeout_ms;
	/**
	 * @device_resets: device resets since the driver was loaded; each one
	 * loses all contexts
	 */
	__u32 device_resets;
	/**
	 * @va_bits: bits of a GPU virtual address; 0: the device has no virtual
	 * addresses
	 */
	__u32 va_bits;
	/** @max_binds: maximum number of elements of the list of a VM_BIND */
	__u32 max_binds;
	/**
	 * @va_page_sizes: sum of the page sizes of virtual addresses; bindings
	 * are multiples of the smallest
	 */
	__u64 va_page_sizes;
};

#define DRM_TESSERA_SEGMENT_APERTURE		(1U << 0) /* window onto system pages */
#define DRM_TESSERA_SEGMENT_CPU_VISIBLE		(1U << 1) /* memory the CPU maps directly */
#define DRM_TESSERA_SEGMENT_GPU_READ_ONLY	(1U << 2) /* the GPU cannot write here */
#define DRM_TESSERA_SEGMENT_CACHE_COHERENT	(1U << 3) /* GPU accesses snoop CPU caches */
#define DRM_TESSERA_SEGMENT_CPU_CACHED		(1U << 4) /* system pages may be CPU-cached */
/* reachable through the CPU host aperture */
#define DRM_TESSERA_SEGMENT_HOST_APERTURE	(1U << 5)
/* memory that consists of system pages, cached for the CPU and snooped */
#define DRM_TESSERA_SEGMENT_UMA			(1U << 9)

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
	/**
	 * @commit_limit: maximum resident bytes; equal to @size for VRAM, at
	 * most a quarter of the machine's memory for a UMA segment
	 */
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
	/**
	 * @type: DRM_TESSERA_ENGINE_*; contexts can be created on render
	 * engines only
	 */
	__u32 type;
};

/**
 * struct drm_tessera_query_memory - current use of one segment
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
	/**
	 * @client_used: resident bytes of this client, through all open files
	 * that are charged to the same process
	 */
	__u64 client_used;
	/** @client_share: bytes that the client can count on (WDDM: budget) */
	__u64 client_share;
};

/**
 * DRM_TESSERA_MAX_HANGS - number of hangs after which a client is banned
 *
 * A job counts if it hung an engine or kept an engine for too long. SUBMIT and
 * SUBMIT_VM of a banned client return -EIO in all its contexts, including new
 * ones, and the client's queued jobs end with -ECANCELED.
 */
#define DRM_TESSERA_MAX_HANGS	3

/**
 * struct drm_tessera_query_client - state of the calling client
 */
struct drm_tessera_query_client {
	/** @hangs: jobs of the client that have hung an engine so far */
	__u32 hangs;
	/**
	 * @max_hangs: number of hangs at which the client is banned,
	 * DRM_TESSERA_MAX_HANGS
	 */
	__u32 max_hangs;
	/** @banned: 1 if the client is banned, else 0 */
	__u32 banned;
	/** @pad: zero */
	__u32 pad;
	/**
	 * @work_bytes: kernel memory of the client's unfinished work: command
	 * buffers, page lists, jobs, and the lists of submissions in progress
	 */
	__u64 work_bytes;
	/**
	 * @work_limit: maximum of @work_bytes. A SUBMIT that would bring
	 * @work_bytes above 15/16 of this limit waits, unless the client has no
	 * unfinished work. The rest is kept for paging, which does not wait.
	 */
	__u64 work_limit;
};

#define DRM_TESSERA_BO_CPU_ACCESS	(1U << 0) /* may be mapped by the CPU */
/*
 * CPU mappings of system pages are cached; needs CPU_ACCESS. They are cached
 * without the flag if the object supports a UMA segment.
 */
#define DRM_TESSERA_BO_CPU_CACHED	(1U << 1)
#define DRM_TESSERA_BO_GPU_READ_ONLY	(1U << 2) /* no submission may list it as written */
/* BO_INFO only: the linear object of BO_CREATE_TWINS */
#define DRM_TESSERA_BO_TWIN		(1U << 3)
/* userspace does the cache maintenance for jobs; needs CPU_CACHED */
#define DRM_TESSERA_BO_EXPLICIT_SYNC	(1U << 4)
/* for contexts of one VM only, see struct drm_tessera_bo_create */
#define DRM_TESSERA_BO_VM_PRIVATE	(1U << 5)

#define DRM_TESSERA_LAYOUT_LINEAR	0
#define DRM_TESSERA_LAYOUT_TILE4K	1
#define DRM_TESSERA_LAYOUT_MORTON	2

/*
 * Framebuffer modifiers, one for each swizzled layout. The device has no vendor
 * id in drm_fourcc.h; the number is taken from the far end of the free ones.
 *
 * An object with a swizzled layout can be shown with the modifier of that
 * layout, or without one, and with its own pitch only. Any other object can be
 * shown with any modifier; its bytes are then taken to have that layout.
 * Offsets are multiples of 4096, pitches are multiples of 128, and the rows of
 * the surface are padded to a multiple of 32.
 */
#define DRM_TESSERA_FORMAT_MOD_VENDOR	0xf7
#define DRM_TESSERA_FORMAT_MOD(layout)	((__u64)DRM_TESSERA_FORMAT_MOD_VENDOR << 56 | (layout))
#define DRM_TESSERA_FORMAT_MOD_TILE4K	DRM_TESSERA_FORMAT_MOD(DRM_TESSERA_LAYOUT_TILE4K)
#define DRM_TESSERA_FORMAT_MOD_MORTON	DRM_TESSERA_FORMAT_MOD(DRM_TESSERA_LAYOUT_MORTON)

#define DRM_TESSERA_MAX_PREFERRED	5

#define DRM_TESSERA_BO_PRIORITY_MIN	(-2) /* evicted first */
#define DRM_TESSERA_BO_PRIORITY_MAX	2

/**
 * struct drm_tessera_bo_create - argument of DRM_IOCTL_TESSERA_BO_CREATE
 *
 * A new object reads as zero. It has no place in any segment before the GPU
 * first uses it or it is mapped.
 *
 * An object with VM_PRIVATE belongs to the VM @vm for its whole life, even
 * after that VM is destroyed. No other VM can map it, a list of SUBMIT cannot
 * name it, and it can neither be exported nor be opened by another file. In
 * exchange the kernel locks all private objects of a VM with one lock, and may
 * place them in non-contiguous free pages of a segment, unless @alignment is
 * above the page size. BO_WAIT on one of them waits for the paging of all of
 * them.
 *
 * Errors:
 *
 * - -ENOENT: VM_PRIVATE, and the file has no such VM.
 * - -E2BIG: @size is larger than every segment of @write_set or, if that is
 *   zero, than every supported one.
 * - -EINVAL, size and sets: @size is zero or not a multiple of the page size;
 *   @supported is empty or names an unknown segment; a preferred segment is not
 *   in @supported, is given twice, or stands behind @num_preferred;
 *   @num_preferred is above 5; @evict_to names a segment that is no aperture.
 * - -EINVAL, flags: an unknown flag; BO_TWIN; CPU_CACHED without CPU_ACCESS;
 *   EXPLICIT_SYNC without CPU_CACHED; @vm not zero without VM_PRIVATE;
 *   VM_PRIVATE with CPU_ACCESS and a swizzled layout.
 * - -EINVAL, write set: @write_set names a segment that is not in @supported or
 *   that the GPU cannot write, or is not zero with GPU_READ_ONLY.
 * - -EINVAL: @priority out of range; @alignment neither zero nor
 *   a power of two, or larger than every supported segment.
 * - -EINVAL, unreachable: CPU_ACCESS where @supported has a memory segment that
 *   the CPU cannot see and no aperture or UMA segment; only read-only apertures
 *   without GPU_READ_ONLY.
 * - -EINVAL, layout: an unknown layout; a swizzled layout with a bad size or
 *   pitch (also above 65536), or with CPU_ACCESS where @supported has an
 *   aperture or UMA segment, see &struct drm_tessera_bo_create_twins.
 */
struct drm_tessera_bo_create {
	/** @size: bytes, a multiple of the page size */
	__u64 size;
	/** @flags: DRM_TESSERA_BO_* */
	__u32 flags;
	/**
	 * @supported: set of segments that the object may live in: bit n is
	 * segment id n (WDDM: segment set)
	 */
	__u32 supported;
	/**
	 * @evict_to: aperture segments to prefer on eviction, same encoding; 0:
	 * system pages
	 */
	__u32 evict_to;
	/**
	 * @num_preferred: elements of @preferred used, 0 .. 5; 0: any supported
	 * segment in id order
	 */
	__u32 num_preferred;
	/**
	 * @preferred: segment ids, tried in this order; supported segments that
	 * are not listed follow in id order
	 */
	__u8 preferred[8];
	/**
	 * @layout: DRM_TESSERA_LAYOUT_* of the contents in memory segments; the
	 * system pages of an object with CPU_ACCESS hold linear bytes
	 */
	__u32 layout;
	/**
	 * @pitch: bytes per row of a swizzled layout: a multiple of 128, and
	 * @size a multiple of 32 rows; else 0
	 */
	__u32 pitch;
	/** @handle: the new object [out] */
	__u32 handle;
	/** @vm: id of the VM with VM_PRIVATE, else zero */
	__u32 vm;
	/**
	 * @priority: DRM_TESSERA_BO_PRIORITY_MIN .. DRM_TESSERA_BO_PRIORITY_MAX,
	 * 0: normal; see &struct drm_tessera_bo_priority
	 */
	__s32 priority;
	/**
	 * @write_set: supported segments in which jobs may write the object,
	 * same encoding (WDDM: SupportedWriteSegmentSet); 0: all that the GPU
	 * can write. A submission that lists the object as written moves it
	 * there. One that only reads it uses it in any supported segment. Jobs
	 * of VMs do not say what they write, so they use an object without
	 * GPU_READ_ONLY in this set only
	 */
	__u32 write_set;
	/**
	 * @alignment: bytes, a power of two up to the size of the largest
	 * supported segment, or 0; the offset of each placement in its segment
	 * is a multiple, see &drm_tessera_bo_info.segment_offset. Segments add
	 * their own granularity. The GPU address is a multiple, too, as far as
	 * the segment's base is one
	 */
	__u64 alignment;
};

#define DRM_TESSERA_PRIVATE_VERSION	1

#define DRM_TESSERA_PRIVATE_TWIN	(1U << 0) /* the linear object, for the CPU */

/**
 * struct drm_tessera_bo_private - contents of an object (WDDM: private driver
 * data of an allocation)
 *
 * The kernel reads it only when the object is created. Memory management knows
 * only the size of an object.
 */
struct drm_tessera_bo_private {
	/** @version: DRM_TESSERA_PRIVATE_VERSION */
	__u32 version;
	/** @flags: DRM_TESSERA_PRIVATE_* */
	__u32 flags;
	/**
	 * @layout: DRM_TESSERA_LAYOUT_*; linear for the twin, swizzled for the
	 * other
	 */
	__u32 layout;
	/**
	 * @pitch: bytes per row; a multiple of 128 for a swizzled layout, of 4
	 * for the linear one
	 */
	__u32 pitch;
	/** @width: bytes per row that belong to the surface, at most @pitch */
	__u32 width;
	/** @rows: rows of the surface */
	__u32 rows;
	/** @reserved: must be zero */
	__u64 reserved;
};

/**
 * struct drm_tessera_bo_create_twins - argument of
 * DRM_IOCTL_TESSERA_BO_CREATE_TWINS
 *
 * An object that the CPU accesses cannot be swizzled where the CPU reaches it
 * in an aperture. A surface that needs both is a surface pair: a swizzled
 * object for the GPU and its *twin*, a linear object for the CPU. The client
 * submits jobs that copy between the two, before it locks the twin and after it
 * has unlocked it. The call creates both or none. To the kernel they are
 * independent objects: each is moved, evicted and closed on its own.
 *
 * LOCK of the twin always waits for the jobs that use it, hence for the copy.
 * It therefore accepts neither LOCK_DONT_WAIT nor LOCK_IGNORE_SYNC. A renamed
 * instance of the twin (LOCK_DISCARD) is a twin, too.
 *
 * Errors, with nothing created:
 *
 * - -EINVAL: @flags or @pad not zero; not exactly two elements in each array.
 * - -EINVAL, @bos: any error of BO_CREATE; @layout, @pitch or @vm not zero;
 *   VM_PRIVATE; CPU_ACCESS for the swizzled object, or none for the twin.
 * - -EINVAL, @private_data: an unknown @version, flag or layout; @reserved not
 *   zero; not one twin and one swizzled object; @width or @rows that differ
 *   between the two, or are zero; more than 16384 rows, or more than the object
 *   has space for; a @pitch that is below @width, above 262144 (swizzled: above
 *   65536), or not allowed for the layout.
 * - -E2BIG: one object is larger than every segment it supports.
 */
struct drm_tessera_bo_create_twins {
	/** @flags: must be zero */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/**
	 * @bos: two &struct drm_tessera_bo_create; their handle is ignored,
	 * their layout and pitch are zero
	 */
	struct drm_tessera_array bos;
	/**
	 * @private_data: two &struct drm_tessera_bo_private, in the same order
	 */
	struct drm_tessera_array private_data;
	/** @handles: the new objects, in the same order [out] */
	__u32 handles[2];
};

#define DRM_TESSERA_RESOURCE_MAX_BOS	64 /* objects of a resource */
#define DRM_TESSERA_RESOURCE_MAX_DATA	4096 /* bytes of private data of a resource */
#define DRM_TESSERA_MAX_RESOURCES	1024 /* resources that a client has created */

/**
 * struct drm_tessera_resource_create - argument of
 * DRM_IOCTL_TESSERA_RESOURCE_CREATE (WDDM: CreateAllocation with a resource)
 *
 * A resource is a set of objects that are created, shared and opened together,
 * with private data that the kernel does not interpret. The call creates all
 * objects or none, with a handle of each for this file, and returns a file
 * descriptor. Any file of the same device that gets the descriptor opens the
 * resource with RESOURCE_OPEN.
 *
 * The handles are like others: each object is used, moved, evicted and closed on
 * its own. The resource keeps the objects until its last descriptor is closed.
 * They stay charged to the client that has created them. As with exported
 * objects, LOCK_DISCARD does not rename them, OFFER refuses them, and a
 * synchronous BO_DESTROY closes the handle without waiting for the memory.
 *
 * A surface pair is a resource of two objects with @private_data, see &struct
 * drm_tessera_bo_create_twins.
 *
 * Errors, with nothing created:
 *
 * - -EINVAL: @flags or @pad not zero; no object; not as many @handles, or no
 *   address for them; @private_data with neither no nor two elements, or two for
 *   another number of objects; @bos: any error of BO_CREATE, VM_PRIVATE, @vm
 *   not zero; any error of BO_CREATE_TWINS with @private_data.
 * - -E2BIG: more objects or private data than the limits; an object is larger
 *   than every segment it supports.
 * - -ENOSPC: the client has DRM_TESSERA_MAX_RESOURCES resources.
 * - -EMFILE, -ENFILE: too many open file descriptors.
 */
struct drm_tessera_resource_create {
	/** @flags: must be zero */
	__u32 flags;
	/** @fd: the file descriptor, O_CLOEXEC; -1 after an error [out] */
	__s32 fd;
	/**
	 * @bos: 1 .. DRM_TESSERA_RESOURCE_MAX_BOS &struct
	 * drm_tessera_bo_create; their handle is ignored
	 */
	struct drm_tessera_array bos;
	/** @private_data: none, or two &struct drm_tessera_bo_private */
	struct drm_tessera_array private_data;
	/** @handles: array of __u32 that receives the new objects, as many as @bos */
	struct drm_tessera_array handles;
	/** @data: user address of the private data of the resource */
	__u64 data;
	/** @data_size: bytes of @data, 0 .. DRM_TESSERA_RESOURCE_MAX_DATA */
	__u32 data_size;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_tessera_resource_open - argument of
 * DRM_IOCTL_TESSERA_RESOURCE_OPEN (WDDM: OpenResource)
 *
 * The call makes handles for all objects of a resource, or none. A handle that
 * the file has for an object already is used again, as by a PRIME import; it is
 * not counted. The order is that of RESOURCE_CREATE.
 *
 * With @handles.array 0 the call opens nothing. It sets @handles.stride and
 * @handles.count as the kernel has them, and @data_size.
 *
 * Errors, with nothing opened:
 *
 * - -EINVAL: @flags or @pad not zero; @fd is not that of a resource; a stride
 *   that is 0 or above the CPU's page size.
 * - -EBADF: @fd is not open.
 * - -EXDEV: the resource is of another device.
 * - -ENOSPC: @handles.count or @data_size is too small; both are set to what is
 *   needed.
 */
struct drm_tessera_resource_open {
	/** @fd: file descriptor of the resource; stays open */
	__s32 fd;
	/** @flags: must be zero */
	__u32 flags;
	/** @handles: array of __u32 that receives the handles [in/out] */
	struct drm_tessera_array handles;
	/** @data: user address that receives the private data */
	__u64 data;
	/** @data_size: bytes there; bytes of the private data [in/out] */
	__u32 data_size;
	/** @pad: must be zero */
	__u32 pad;
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
	/**
	 * @mmap_offset: offset for mmap() of the DRM file; 0 without CPU_ACCESS
	 * [out]
	 */
	__u64 mmap_offset;
	/** @flags: as created [out] */
	__u32 flags;
	/** @supported: as created [out] */
	__u32 supported;
	/**
	 * @segment: current placement: a segment id, of @supported or of
	 * &drm_tessera_bo_create.evict_to; 0: system memory or no placement
	 * [out]
	 */
	__u32 segment;
	/** @layout: as created [out] */
	__u32 layout;
	/** @pitch: as created [out] */
	__u32 pitch;
	/** @priority: as created or last changed [out] */
	__s32 priority;
	/**
	 * @segment_offset: offset of the object's first byte in @segment, a
	 * snapshot for tests and tools [out]
	 */
	__u64 segment_offset;
	/** @alignment: as created, but at least the page size [out] */
	__u64 alignment;
	/**
	 * @write_set: segments in which jobs may write the object; 0 with
	 * GPU_READ_ONLY [out]
	 */
	__u32 write_set;
	/** @pad2: zero [out] */
	__u32 pad2;
};

/**
 * struct drm_tessera_bo_priority - argument of DRM_IOCTL_TESSERA_BO_PRIORITY
 * (WDDM: SetAllocationPriority)
 *
 * The priority orders the eviction of the objects of one client. When the
 * client has to give up memory of a segment, its objects of the lowest priority
 * go first, and among equals the least recently used one. Offered objects go
 * before all others, and objects on a residency list go last, whatever their
 * priority.
 *
 * The priority decides which object a client loses, never how much: shares and
 * the use of all its objects decide that, as if all priorities were equal. No
 * client can keep memory at the cost of others with it. For the same reason a
 * low priority does not give the memory to another client sooner.
 *
 * A submission that is cut into parts treats an object that a later part names
 * like one of the highest priority.
 *
 * The new priority applies from the next eviction on. The call neither waits
 * for jobs nor moves the object. A renamed instance (LOCK_DISCARD) begins with
 * the priority of the old one.
 *
 * Errors:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: @priority out of range.
 * - -EPERM: the object is charged to another client, which created it.
 */
struct drm_tessera_bo_priority {
	/** @handle: the object */
	__u32 handle;
	/**
	 * @priority: DRM_TESSERA_BO_PRIORITY_MIN .. DRM_TESSERA_BO_PRIORITY_MAX
	 */
	__s32 priority;
};

/**
 * struct drm_tessera_invalidate_cache - argument of
 * DRM_IOCTL_TESSERA_INVALIDATE_CACHE (WDDM: InvalidateCache)
 *
 * On a device that does not snoop CPU caches (no CAP_IO_COHERENT) the call
 * writes back the changes that CPU caches hold of the range, and invalidates
 * the range, so that CPUs load it again. The range is rounded to cache lines.
 * On other devices the call does nothing.
 *
 * The client needs it for objects with BO_EXPLICIT_SYNC, and for jobs that do
 * not list their objects. It must call it after the CPU has written and before
 * the GPU reads or writes, and after the GPU has written and before the CPU
 * reads, even if the CPU reads for the first time. The kernel does the
 * maintenance for its own accesses, such as moving the object.
 *
 * Errors:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: non-zero @pad; an object without BO_CPU_CACHED; @size 0; a range
 *   that is not inside the object.
 */
struct drm_tessera_invalidate_cache {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @offset: first byte of the range */
	__u64 offset;
	/** @size: bytes in the range */
	__u64 size;
};

#define DRM_TESSERA_OFFER_LOW		1 /* dropped first */
#define DRM_TESSERA_OFFER_NORMAL	2
#define DRM_TESSERA_OFFER_HIGH		3

/* give up the memory at once, not only when others need it */
#define DRM_TESSERA_OFFER_DECOMMIT	(1U << 0)

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
 * struct drm_tessera_offer - argument of DRM_IOCTL_TESSERA_OFFER (WDDM:
 * OfferAllocations)
 *
 * The kernel may drop the contents of offered objects instead of moving them,
 * once the jobs that list them are done. Offered objects give way before all
 * others. They must not be used before they are reclaimed: SUBMIT,
 * MAKE_RESIDENT, VM_BIND, LOCK, LOCK2 and exporting them return -EINVAL, and
 * accesses to mappings of them raise SIGBUS.
 *
 * With OFFER_DECOMMIT (WDDM: OfferImmediately, AllowDecommit) the objects leave
 * their segments in the call, although no other object needs the place. Their
 * system pages, and what was swapped out of them, are freed when the jobs and
 * moves are done that use the objects at the time of the call. The call does
 * not wait for these. An object that is reclaimed before may keep its contents.
 * If the kernel is too short of memory to begin a move, or the unfinished work
 * of the process occupies as much memory as it may (see SUBMIT), the object is
 * offered as without the flag.
 *
 * Errors, with nothing offered:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: unknown @priority; unknown @flags; non-zero padding; an object
 *   that is given twice, is offered already, has another handle (newer kernels
 *   count a framebuffer as one), has a GEM name, was ever exported, or was
 *   created by BO_FROM_USER.
 * - -EBUSY: an object is locked, scanned out, or mapped by the kernel.
 * - -EIO: an object is lost.
 * - -E2BIG: more objects than &drm_tessera_query_device.max_allocs.
 */
struct drm_tessera_offer {
	/** @bos: &struct drm_tessera_offer_bo */
	struct drm_tessera_array bos;
	/**
	 * @priority: DRM_TESSERA_OFFER_*; objects of a lower priority are
	 * dropped first
	 */
	__u32 priority;
	/** @flags: DRM_TESSERA_OFFER_DECOMMIT, or 0 */
	__u32 flags;
};

#define DRM_TESSERA_RECLAIM_KEPT	0 /* the contents are unchanged */
#define DRM_TESSERA_RECLAIM_DISCARDED	1 /* the contents were dropped; the object reads as zero */

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
 * struct drm_tessera_reclaim - argument of DRM_IOCTL_TESSERA_RECLAIM (WDDM:
 * ReclaimAllocations)
 *
 * Afterwards the objects can be used again. The call waits for no job and no
 * move. Jobs that are submitted later, and CPU accesses, wait by themselves for
 * moves of their objects that are under way.
 *
 * With @syncs the call also begins to move the objects to free space of their
 * segments, those first that are given first, and @syncs signal when all moves
 * of the objects are done. An object comes with the next job that uses it, as
 * after any eviction, if there is no free space, if it was swapped out, if it
 * has no contents and prefers an aperture or a UMA segment, if more than 511
 * objects precede it, or if the process has much unfinished work. MAKE_RESIDENT
 * brings listed objects back in any case.
 *
 * Errors, with nothing reclaimed:
 *
 * - -ENOENT: unknown handle or syncobj.
 * - -EINVAL: an object is given twice, or is not offered; @pad not zero; a sync
 *   without SYNC_SIGNAL, of a monitored fence, or with an error of SUBMIT.
 * - -EIO: an object is lost.
 * - -E2BIG: more objects than &drm_tessera_query_device.max_allocs, or more
 *   syncs than max_syncs.
 */
struct drm_tessera_reclaim {
	/** @bos: &struct drm_tessera_reclaim_bo */
	struct drm_tessera_array bos;
	/**
	 * @syncs: &struct drm_tessera_sync, all with SYNC_SIGNAL (WDDM: paging
	 * fence)
	 */
	struct drm_tessera_array syncs;
	/**
	 * @pending: with @syncs, 1 if moves of the objects are under way, else
	 * 0 [out]
	 */
	__u32 pending;
	/** @pad: must be zero */
	__u32 pad;
};

/* the object is used only by jobs that list it */
#define DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE	(1U << 0)
/* return when the object's memory is free */
#define DRM_TESSERA_BO_DESTROY_SYNCHRONOUS		(1U << 1)

/**
 * struct drm_tessera_bo_destroy - argument of DRM_IOCTL_TESSERA_BO_DESTROY
 * (WDDM: DestroyAllocation2)
 *
 * The handle is gone when the call returns. Without flags the call does not
 * wait. The kernel frees the object when all jobs are done that this open file
 * submitted before, in any of its contexts, including destroyed ones, whether
 * they list the object or not.
 *
 * With DESTROY_ASSUME_NOT_IN_USE the kernel frees the object when the jobs that
 * list it are done, as DRM_IOCTL_GEM_CLOSE does.
 *
 * With DESTROY_SYNCHRONOUS the call waits for the same jobs as without it, and
 * returns when the memory is free. It does not wait for other references to the
 * object (another handle, a mapping, or a mapping in a VM), nor for an object
 * that was ever exported. A signal that comes before the jobs are done ends the
 * call with nothing destroyed. A later one has the call return 0 at once,
 * although the memory may not be free yet.
 *
 * The memory is charged to the client until it is freed.
 *
 * Errors, with nothing destroyed:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: unknown flags.
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
 * The label is shown in debugfs and in trace events and has no other meaning.
 * Every holder of a handle may change it.
 *
 * Errors:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: non-zero @pad; no NUL in @label; a character that is not printable
 *   ASCII.
 */
struct drm_tessera_bo_label {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/**
	 * @label: NUL-terminated; bytes after the NUL are ignored; empty: no
	 * label
	 */
	__u8 label[DRM_TESSERA_LABEL_BYTES];
};

#define DRM_TESSERA_BO_WAIT_WRITE	(1U << 0) /* wait for readers too: the caller will write */

/**
 * struct drm_tessera_bo_wait - argument of DRM_IOCTL_TESSERA_BO_WAIT
 *
 * Waits until all jobs that write the object (with WAIT_WRITE: all jobs that
 * use it) and all moves of it are done. Jobs at virtual addresses leave no fence
 * at an object: wait for the fences that they signal.
 *
 * Errors:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: unknown flags.
 * - -EBUSY: the object is not idle and @timeout_ns is not in the future at the
 *   time of the call. A timeout of 0 polls.
 * - -ETIME: the timeout passed.
 */
struct drm_tessera_bo_wait {
	/** @handle: the object */
	__u32 handle;
	/** @flags: DRM_TESSERA_BO_WAIT_* */
	__u32 flags;
	/** @timeout_ns: absolute CLOCK_MONOTONIC */
	__s64 timeout_ns;
};

/* the CPU will not write: wait for writers only */
#define DRM_TESSERA_LOCK_READ_ONLY	(1U << 0)
#define DRM_TESSERA_LOCK_WRITE_ONLY	(1U << 1) /* the CPU will not read */
#define DRM_TESSERA_LOCK_DONT_WAIT	(1U << 2) /* -EBUSY instead of a wait (WDDM: DonotWait) */
/* no wait: the CPU does not touch what jobs use (WDDM: IgnoreSync) */
#define DRM_TESSERA_LOCK_IGNORE_SYNC	(1U << 3)
/* the old contents are not needed: no wait (WDDM: Discard) */
#define DRM_TESSERA_LOCK_DISCARD	(1U << 4)
/* show a swizzled layout in linear order (WDDM: AcquireAperture) */
#define DRM_TESSERA_LOCK_ACQUIRE_RANGE	(1U << 5)
/* -ENOSPC instead of an eviction of the object (WDDM: DonotEvict) */
#define DRM_TESSERA_LOCK_DO_NOT_EVICT	(1U << 6)
/* with LOCK_DISCARD: prefer an idle instance, with undefined contents, to a new one */
#define DRM_TESSERA_LOCK_REUSE		(1U << 7)

/**
 * struct drm_tessera_lock - argument of DRM_IOCTL_TESSERA_LOCK (WDDM: Lock)
 *
 * The call waits until the jobs that use the object are done, counting all
 * submissions that have returned, and moves the object if the CPU cannot see it
 * where it is. The CPU accesses the object through a mapping at @mmap_offset.
 * The offset is the same for the object's life, so the mapping may be made
 * before and kept. Accesses through a mapping without a lock, or beyond what
 * the lock permits, see the right bytes, but are not synchronised with jobs.
 *
 * The call knows only jobs that list the object. It does not wait for jobs at
 * virtual addresses, and LOCK_DISCARD creates no new object because of them: wait
 * for the fences that they signal first.
 *
 * With LOCK_DO_NOT_EVICT the call does not evict the object to give the CPU a
 * view. It makes sure of the view at the time of the call: a job may move the
 * object later, and the access after that may evict it.
 *
 * With LOCK_ACQUIRE_RANGE, and without any lock, the CPU sees a swizzled layout
 * in linear order: through swizzling ranges, which the locked object keeps, or
 * in system memory. While a VM maps the object, it takes no range and is seen in
 * system memory, to which an access evicts it. A lock without the flag takes no
 * range. While such locks
 * are held, all mappings of the object show its bytes as they are stored:
 * swizzled in a CPU-visible memory segment, linear in system memory. The object
 * may be moved to system memory at any time. As this affects the mappings of
 * all processes, locks with and without the flag exclude each other.
 *
 * A lock with LOCK_DISCARD does not wait. If a job uses the object, the kernel
 * creates a new object with the same properties, a renamed instance (WDDM:
 * instance), and returns its handle. The new object reads as zero. The caller
 * closes it like the old one, which the jobs go on using. After a submission
 * has listed a newer instance, in its own allocation list or an earlier one, an
 * older instance is refused with -EINVAL.
 *
 * An object has at most 64 instances at a time, those included that jobs use and
 * that have no handle any more. At the limit, LOCK_DISCARD waits for the jobs
 * that use @handle, like a lock without the flag.
 *
 * With LOCK_REUSE the call returns an instance of which this file has a handle,
 * if there is one that no job lists, that is not locked, exported, offered, lost
 * or scanned out, and that no VM maps. The handle has to be one that LOCK was
 * called with, or has returned. The instance has undefined contents and counts
 * as the newest. Once a file has passed the flag for an object, the contents of
 * all instances that it could return this way are undefined as soon as a
 * submission has listed a newer one: if they have to leave VRAM, they may be
 * dropped instead of copied.
 *
 * Locks are counted per object and open file. Closing the file, or a handle of
 * the object, releases them. If an object was in no segment when it was locked
 * and supports VRAM only, the lock keeps it out of VRAM (LOCK-22). While it is
 * locked, SUBMIT and MAKE_RESIDENT of the same open file return -EBUSY for it,
 * and so does a commit that shows a framebuffer which that file has made of it.
 * Other files may move it and show it.
 *
 * Errors, with nothing locked:
 *
 * - -ENOENT: unknown handle.
 * - -EPERM: an object without BO_CPU_ACCESS.
 * - -EINVAL: unknown flags; READ_ONLY with WRITE_ONLY or DISCARD; IGNORE_SYNC
 *   with DISCARD or DO_NOT_EVICT, or for an object with a swizzled layout;
 *   REUSE without DISCARD; DONT_WAIT or IGNORE_SYNC for a twin; DISCARD for an
 *   object that was exported, that belongs to a resource, or of which a newer
 *   instance is in use; an offered object.
 * - -EBUSY: the call would have to wait, with LOCK_DONT_WAIT (WDDM:
 *   WasStillDrawing); a swizzled object is locked the other way, with or
 *   without ACQUIRE_RANGE; a swizzled object is scanned out, so it cannot move,
 *   and no swizzling range shows it.
 * - -ENOSPC: an object that must not be evicted (LOCK_DO_NOT_EVICT), or a linear
 *   one that cannot move because it is scanned out, is where the CPU has no view
 *   of it.
 * - -EOPNOTSUPP: ACQUIRE_RANGE for a swizzled object that a VM maps.
 * - -EIO: the object is lost.
 */
struct drm_tessera_lock {
	/**
	 * @handle: the object; with LOCK_DISCARD replaced by the instance to
	 * use from now on [in/out]
	 */
	__u32 handle;
	/** @flags: DRM_TESSERA_LOCK_* */
	__u32 flags;
	/** @mmap_offset: mmap() offset of the locked object [out] */
	__u64 mmap_offset;
};

/**
 * struct drm_tessera_unlock - argument of DRM_IOCTL_TESSERA_UNLOCK (WDDM:
 * Unlock)
 *
 * Ends one LOCK by this open file. It does not wait for jobs or for other
 * locks.
 *
 * Errors:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: non-zero @pad, or this file holds no lock on the object.
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
 * Makes the object accessible to the CPU without waiting for jobs. The client
 * has to synchronise jobs and CPU itself. The mapping at @mmap_offset, which is
 * the same for the object's life, may be made before and kept over any number
 * of jobs and evictions. If the object has to move, the first access waits for
 * the move, and so for the jobs that use the object at its old place.
 *
 * The call never takes a swizzling range: a swizzled layout is seen as with
 * LOCK without LOCK_ACQUIRE_RANGE. An object with BO_CPU_ACCESS and without
 * BO_CPU_CACHED can always be locked: at its place if the CPU can see that,
 * else in an aperture or in system memory.
 *
 * In an aperture or a UMA segment the CPU sees the pages of any object. It
 * cannot see a BO_CPU_CACHED object in VRAM. Such an object moves out of its
 * segment if it supports an aperture or a UMA segment, and stays out of VRAM
 * until it is unlocked. The same holds for an object without BO_CPU_ACCESS. The
 * CPU sees the bytes of the latter in system memory, in the order that they had
 * in VRAM. Its mappings show nothing while no lock is held: accesses raise
 * SIGBUS.
 *
 * Locks are counted and released like those of &struct drm_tessera_lock, but
 * counted separately. SUBMIT and MAKE_RESIDENT return -EBUSY for an object that
 * the same open file has locked and that cannot move to where a job could use
 * it. Such an object either supports VRAM only and was in no segment when it
 * was locked, or it has to stay out of VRAM. Other files may move it. A commit
 * returns -EBUSY for a framebuffer that the file has made of such an object, and
 * for any framebuffer of an object that has to stay out of VRAM.
 *
 * Errors, with nothing locked:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: @flags not zero, or an offered object.
 * - -EPERM: an object of BO_FROM_USER.
 * - -EOPNOTSUPP: the object would have to leave VRAM and supports no aperture
 *   and no UMA segment.
 * - -EBUSY: a swizzled object is locked with LOCK_ACQUIRE_RANGE; or the object
 *   would have to leave VRAM and is scanned out.
 * - -ENOSPC: a scanned-out object is in memory that the CPU cannot see, and there
 *   is no host aperture; or 1024 open files hold locks of the object.
 * - -EIO: the object is lost.
 */
struct drm_tessera_lock2 {
	/** @handle: the object */
	__u32 handle;
	/** @flags: must be zero */
	__u32 flags;
	/** @mmap_offset: mmap() offset of the object [out] */
	__u64 mmap_offset;
};

/**
 * struct drm_tessera_unlock2 - argument of DRM_IOCTL_TESSERA_UNLOCK2 (WDDM:
 * Unlock2)
 *
 * Ends one LOCK2 by this open file. It does not wait for jobs or for other
 * locks.
 *
 * Errors:
 *
 * - -ENOENT: unknown handle.
 * - -EINVAL: non-zero @pad, or this file holds no LOCK2 on the object.
 */
struct drm_tessera_unlock2 {
	/** @handle: the object */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
};

/* refuse slots bound across a cut (SCHED-6) */
#define DRM_TESSERA_CONTEXT_LEAK_CHECK		(1U << 0)
/* debug: cut at every split point; needs CAP_SYS_ADMIN */
#define DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL	(1U << 1)
/* debug: cut at random split points; needs CAP_SYS_ADMIN */
#define DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM	(1U << 2)

#define DRM_TESSERA_PRIORITY_NORMAL	0
#define DRM_TESSERA_PRIORITY_LOW	1
#define DRM_TESSERA_PRIORITY_HIGH	2 /* needs CAP_SYS_NICE or DRM master */

/**
 * struct drm_tessera_context_create - argument of
 * DRM_IOCTL_TESSERA_CONTEXT_CREATE
 *
 * A context is one queue: its submissions run in order. Without @vm it uses the
 * patched addressing model: the kernel writes GPU addresses into the commands,
 * and the context takes SUBMIT. With @vm it works at virtual addresses and
 * takes SUBMIT_VM. The VM lives at least as long as the context.
 *
 * An engine gets the ready jobs of the highest priority first. After 16 jobs
 * have overtaken a ready job of a lower priority, that job is next. So a job of
 * low priority makes progress unless other jobs fill the ring. With
 * DRM_TESSERA_CAP_PREEMPTION a running job is preempted by one of a higher
 * priority and resumed later.
 *
 * Errors:
 *
 * - -EINVAL: any flag with @vm; unknown flags or @priority; both force-split
 *   flags; @split_seed without FORCE_SPLIT_RANDOM; an unknown @engine or one
 *   that is no render engine.
 * - -EPERM: a force-split flag without CAP_SYS_ADMIN.
 * - -EACCES: PRIORITY_HIGH without CAP_SYS_NICE or DRM master.
 * - -ENOSPC: the process has too many contexts.
 * - -ENOENT: unknown @vm.
 * - -EIO: the VM is lost.
 */
struct drm_tessera_context_create {
	/** @flags: DRM_TESSERA_CONTEXT_* */
	__u32 flags;
	/** @engine: id of a render engine */
	__u32 engine;
	/** @split_seed: seed for FORCE_SPLIT_RANDOM, else 0 */
	__u32 split_seed;
	/** @id: the new context, not 0 [out] */
	__u32 id;
	/** @priority: DRM_TESSERA_PRIORITY_* */
	__u32 priority;
	/** @vm: id of the VM of the context; 0: patched addressing */
	__u32 vm;
};

/**
 * struct drm_tessera_context_destroy - argument of
 * DRM_IOCTL_TESSERA_CONTEXT_DESTROY
 *
 * Jobs that were submitted before still run. The context counts towards
 * &drm_tessera_query_device.max_contexts until they are done.
 *
 * Errors:
 *
 * - -ENOENT: unknown context.
 * - -EINVAL: non-zero @pad.
 */
struct drm_tessera_context_destroy {
	/** @id: the context */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_TESSERA_RESET_NONE		0 /* the context works */
/*
 * lost: one of its jobs hung, kept an engine too long, or (VM) made a bad
 * access
 */
#define DRM_TESSERA_RESET_GUILTY	1
/* lost for another reason: a device reset, or a ban of its client */
#define DRM_TESSERA_RESET_INNOCENT	2

#define DRM_TESSERA_STATUS_LOST		(1U << 0) /* SUBMIT returns -EIO */
/* SUBMIT returns -EIO in all contexts of the client */
#define DRM_TESSERA_STATUS_BANNED	(1U << 1)

/**
 * struct drm_tessera_context_status - argument of
 * DRM_IOCTL_TESSERA_CONTEXT_STATUS
 *
 * A hang of another context's job resets only the engine and does not show
 * here: the jobs of other contexts run again.
 *
 * Errors:
 *
 * - -ENOENT: unknown context.
 * - -EINVAL: non-zero @pad.
 */
struct drm_tessera_context_status {
	/** @id: the context */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
	/** @reset: DRM_TESSERA_RESET_*; never changes back to NONE [out] */
	__u32 reset;
	/** @flags: DRM_TESSERA_STATUS_* [out] */
	__u32 flags;
	/**
	 * @hangs: jobs of the context that hung or kept an engine for too long;
	 * bad accesses do not count [out]
	 */
	__u32 hangs;
	/** @device_resets: device resets since the context was created [out] */
	__u32 device_resets;
};

/* some command writes it (WDDM: WriteOperation) */
#define DRM_TESSERA_ALLOC_WRITE		(1U << 0)

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
 * struct drm_tessera_submit_patch - element of the patch-location list (WDDM:
 * D3DDDI_PATCHLOCATIONLIST)
 *
 * Says that slot @slot_id holds allocation @alloc_index from @split_offset on,
 * and that the kernel has to write the allocation's address and size into the
 * base and limit fields of the BIND_SLOT packet at @patch_offset - 8. The
 * elements are in the order in which the commands use them: @split_offset never
 * decreases. Elements of equal @split_offset form one split point, at which the
 * kernel may cut the buffer.
 */
struct drm_tessera_submit_patch {
	/** @alloc_index: index in the allocation list */
	__u32 alloc_index;
	/** @slot_id: binding slot, below max_slots; upper 8 bits zero */
	__u32 slot_id;
	/** @driver_id: for the program; the kernel ignores it */
	__u32 driver_id;
	/**
	 * @patch_offset: byte offset of the base field in the commands; 0 for a
	 * NULL element
	 */
	__u32 patch_offset;
	/**
	 * @split_offset: byte offset of the split point: the first packet of
	 * the group of BIND_SLOTs and UNBIND_SLOTs that this element belongs
	 * to, at or before its own packet. NULL element: where the slot begins
	 * to be empty
	 */
	__u32 split_offset;
	/** @pad: must be zero */
	__u32 pad;
	/**
	 * @alloc_offset: byte offset in the object at which the slot starts,
	 * 8-byte aligned; 0 for a NULL element
	 */
	__u64 alloc_offset;
};

#define DRM_TESSERA_SYNC_SIGNAL		(1U << 0) /* signal after the job; else wait before it */
#define DRM_TESSERA_SYNC_TIMELINE	(1U << 1) /* use @point of a timeline syncobj */
/* the call waits until the syncobj has a fence */
#define DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT	(1U << 2)

/**
 * struct drm_tessera_sync - element of the sync list
 *
 * If the syncobj is the one of a monitored fence, the point that is signalled
 * becomes the value of the fence. The points of one fence have to increase from
 * submission to submission and from element to element.
 *
 * SYNC_WAIT_FOR_SUBMIT is for waits. The call continues when a submission that
 * will signal the syncobj has been made, or when the syncobj is signalled. A
 * POSIX signal ends that wait (-EINTR). Meanwhile nothing of the submission has
 * begun, and no other client waits for it. Without the flag the syncobj must
 * already have a fence.
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
 * The call waits for foreign fences, both in-fences and fences in the
 * reservations of the objects. It also waits while the process has 256
 * unfinished jobs in all its contexts, or as much unfinished work as it may
 * have, see &struct drm_tessera_query_client. A POSIX signal ends these waits
 * (-EINTR).
 *
 * Errors, with nothing run:
 *
 * - -ENOENT: unknown context, handle or syncobj.
 * - -EINVAL, commands: unknown @flags; non-zero padding; an empty or unaligned
 *   command buffer; a packet that is unknown, malformed or privileged, or that
 *   has an address in it (FENCE_WAIT, FENCE_SIGNAL).
 * - -EINVAL, bindings: a BIND_SLOT whose base or limit is not zero; whose
 *   access, format, layout, pitch, width or height the device would refuse;
 *   which is not covered by exactly one patch; whose patch names another slot;
 *   or which has write access to an allocation that is not listed as written.
 * - -EINVAL, patches: an allocation index, slot id, patch offset or split
 *   offset that breaks the rules of &struct drm_tessera_submit_patch; a
 *   @split_offset inside a packet or beyond the end; a patch outside the range
 *   in which its binding holds; two allocations for one slot at one split
 *   offset; a NULL element with an offset; an @alloc_offset that is not inside
 *   the object, or, for a swizzled surface, is not a multiple of 4096.
 * - -EINVAL, allocations: the same handle twice; an object that is offered or
 *   has VM_PRIVATE; an instance older than one that is in use, see &struct
 *   drm_tessera_lock; a written allocation that is GPU_READ_ONLY or supports
 *   read-only apertures only; a leak that the context's leak check finds.
 * - -EINVAL, syncs: a wait without SYNC_WAIT_FOR_SUBMIT on a syncobj or
 *   timeline point without fence; a signal with that flag; a signal of a
 *   monitored fence to a value that is not above the last one.
 * - -E2BIG: more commands, allocations, patches or syncs than the limits.
 * - -ENOSPC: one split point needs more than its segments hold with everything
 *   else evicted.
 * - -EIO: the context was lost to a hang or a reset of the device; the client
 *   is banned; or an object was lost when paging it failed.
 * - -EBUSY: this file has locked an object that may not move into memory, see
 *   &struct drm_tessera_lock; memory of a process changes repeatedly while the
 *   kernel looks it up, see &struct drm_tessera_bo_from_user; or other clients
 *   add fence after fence to the objects.
 * - -EFAULT: memory of a process is not mapped, see &struct
 *   drm_tessera_bo_from_user.
 * - -EOPNOTSUPP: the context has a VM.
 *
 * The job's fence is signalled through @syncs and the objects' reservations. It
 * carries one of these results:
 *
 * - 0: the job is done.
 * - -EFAULT: the device stopped at a bad access (beyond a slot's limit, through
 *   an unbound slot, and so on); or memory of a process that a later part uses
 *   is not there any more.
 * - -ENOMEM: the kernel had no memory for a later part.
 * - -EBUSY: memory of a process changed repeatedly while a later part waited.
 * - -EINVAL: an object was offered while the submission was in progress.
 * - -ENOSPC: at a cut, bound allocations left no contiguous space for the next
 *   part. The parts before it have run.
 * - -ETIME: the job hung and was killed; its parts occupied an engine that
 *   cannot preempt for too long, or kept other clients waiting for it without
 *   making progress; or a foreign fence was added between the parts, or objects
 *   were being destroyed, and that did not end in time.
 * - -ECANCELED: not run, because an earlier job of the context hung, or because
 *   the device was removed or reset.
 * - -EIO: not run, because paging failed meanwhile (a fault of the device).
 *
 * An object whose paging failed is lost: submissions that name it fail, and
 * accesses to mappings of it raise SIGBUS.
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
	/** @num_parts: number of parts that the buffer was cut into [out] */
	__u32 num_parts;
	/** @allocs: &struct drm_tessera_submit_alloc */
	struct drm_tessera_array allocs;
	/** @patches: &struct drm_tessera_submit_patch */
	struct drm_tessera_array patches;
	/** @syncs: &struct drm_tessera_sync */
	struct drm_tessera_array syncs;
	/**
	 * @error_offset: byte offset in the commands that -EINVAL or -ENOSPC
	 * refers to, or 0xffffffff. It is also set when the ioctl succeeds, but
	 * the kernel already knows that the job's fence will carry -ENOSPC
	 * [out]
	 */
	__u32 error_offset;
	/**
	 * @error_index: index in the patch list that the error refers to, or
	 * 0xffffffff; set in the same cases as @error_offset [out]
	 */
	__u32 error_index;
};

/**
 * struct drm_tessera_fence_create - argument of DRM_IOCTL_TESSERA_FENCE_CREATE
 * (WDDM: monitored fence)
 *
 * A monitored fence is a timeline syncobj together with a 64-bit value in
 * memory that follows it. Once a wait for a point has returned, the value is at
 * least that point.
 *
 * The GPU signals the fence when a SUBMIT or SUBMIT_VM names a point of the
 * syncobj; the CPU signals it with FENCE_SIGNAL. The GPU waits for points like
 * any job; the CPU waits with DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT. The value only
 * increases. It reaches the value that a job was to signal in its syncs even if
 * the job fails, hangs or is cancelled, or the device is removed. Points that
 * enter the syncobj in other ways (DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, transfers,
 * submissions of other files) do not change the value.
 *
 * Command streams can wait for the value and raise it if their VM maps it
 * (&struct drm_tessera_vm_bind_op). Only the value rises then, not the point of
 * the syncobj: threads see it in memory, but cannot sleep until it is reached,
 * and no sync list waits for it. A stream that lowers the value has no effect.
 * A job that waits in its stream ends with an error at the job timeout, like any
 * job that takes too long. The job that signals should therefore be submitted
 * before. A value from DRM_IOCTL_TESSERA_FENCE_SIGNAL reaches waiting streams
 * within 64 ms.
 *
 * The page at @mmap_offset holds values of this open file only, in little
 * endian. It can be mapped for reading only; other mappings fail with -EACCES. A
 * mapping stays valid after the fence is destroyed or the device is removed.
 * After the fence is destroyed its value may belong to another fence.
 *
 * Errors:
 *
 * - -EINVAL: non-zero @flags.
 * - -ENOSPC: the process has too many fences, see
 *   &drm_tessera_query_device.max_fences.
 */
struct drm_tessera_fence_create {
	/** @value: initial value, signalled from the beginning */
	__u64 value;
	/** @flags: must be zero */
	__u32 flags;
	/** @id: the new fence, not 0 [out] */
	__u32 id;
	/**
	 * @syncobj: handle of its syncobj; userspace destroys it with
	 * DRM_IOCTL_SYNCOBJ_DESTROY [out]
	 */
	__u32 syncobj;
	/**
	 * @offset: byte offset of the value in the page, a multiple of 8 [out]
	 */
	__u32 offset;
	/**
	 * @mmap_offset: mmap() offset of one page of the DRM file, shared and
	 * read-only [out]
	 */
	__u64 mmap_offset;
};

/**
 * struct drm_tessera_fence_destroy - argument of
 * DRM_IOCTL_TESSERA_FENCE_DESTROY
 *
 * Jobs that were submitted before still signal the syncobj. The syncobj and
 * mappings of the page stay valid.
 *
 * Errors:
 *
 * - -ENOENT: unknown fence.
 * - -EINVAL: non-zero @pad.
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
 * Values are reached in the order in which they were requested. If submissions
 * that have returned are to signal lower values, this one takes effect when
 * their jobs are over. The call does not wait for them.
 *
 * Errors:
 *
 * - -ENOENT: unknown fence.
 * - -EINVAL: non-zero @pad, or @value is not above the initial value and all
 *   values requested before.
 */
struct drm_tessera_fence_signal {
	/** @id: the fence */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
	/** @value: value to signal */
	__u64 value;
};

/* the caller has nothing left to evict: ask other clients, see below */
#define DRM_TESSERA_RESIDENT_CANNOT_TRIM_FURTHER	(1U << 0)
/* the same, and lose the VM contexts of the open file if that does not help */
#define DRM_TESSERA_RESIDENT_MUST_SUCCEED		(1U << 1)

/**
 * struct drm_tessera_make_resident - argument of
 * DRM_IOCTL_TESSERA_MAKE_RESIDENT (WDDM: MakeResident)
 *
 * Adds objects to the residency list of the open file, once for each time a
 * handle is given. It then moves these objects, and all listed objects that
 * were evicted meanwhile, into a segment of their sets that the GPU can write
 * (for GPU_READ_ONLY objects: any of their segments). A listed object stays
 * there while jobs run that bring no allocation list, independently of other
 * clients. It may be evicted between jobs, and is brought back before the next
 * one. Without @handles the call only brings the listed objects back.
 *
 * The call returns without waiting for the paging: @syncs signal when the
 * paging is done. Jobs that are submitted before that wait for it by
 * themselves.
 *
 * To make space the kernel evicts objects that are on no residency list. It
 * evicts objects on the lists of other clients only from what such a client has
 * above its share of a segment (WDDM: budget), or has not used for two seconds.
 * It never evicts what the caller has listed. Where the free space is
 * sufficient but not contiguous, it relocates objects.
 *
 * The call waits for memory of objects that are being destroyed, for memory
 * that submissions in parts hold, and for objects of other clients that have to
 * be relocated but are in use. It gives up when for two job timeouts no object
 * has reached its place. It waits without a limit for foreign fences of objects
 * that have to move.
 *
 * The call is all or nothing: if not everything fits, nothing is added.
 * @bytes_to_trim then says how many bytes the caller has to EVICT first, from
 * what it has listed in @trim_segments. After that a second call finds enough
 * space, unless other clients take it. An object that may live in several
 * segments may need more than one retry.
 *
 * Before the kernel takes what other clients have listed, it gives those that
 * have a notification (BUDGET_NOTIFY) 20 ms to trim. A process waits for that
 * once in a second at most.
 *
 * With CANNOT_TRIM_FURTHER (WDDM: CantTrimFurther) a call that does not fit asks
 * the clients with a notification for the missing bytes, waits for up to 20 ms,
 * and fails if they have not given up enough. They may ignore that. A process
 * can ask once in a second; a call that comes earlier fails at once. With
 * MUST_SUCCEED (WDDM: MustSucceed) a call that fails with -ENOMEM also loses all
 * VM contexts of the open file, as a hang would, because their jobs could not
 * run.
 *
 * Closing a handle removes its object from the list.
 *
 * Errors:
 *
 * - -EINVAL: unknown @flags; @pad or @pad2 not zero; a stride of @handles that
 *   is not 4; a sync without SYNC_SIGNAL, of a monitored fence, or with an error
 *   of SUBMIT; an offered object.
 * - -ENOENT: unknown handle or syncobj.
 * - -E2BIG: more than max_allocs handles, or more than max_syncs syncs.
 * - -ENOMEM: the objects do not fit. With @bytes_to_trim 0: kernel memory is
 *   short, or the process has too many page tables (see VM_BIND).
 * - -EBUSY: an object is locked that may not move into memory meanwhile, see
 *   &struct drm_tessera_lock.
 * - -EIO: an object is lost.
 * - -EFAULT, -EBUSY: see &struct drm_tessera_bo_from_user.
 */
struct drm_tessera_make_resident {
	/** @flags: DRM_TESSERA_RESIDENT_* */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/** @handles: array of __u32 */
	struct drm_tessera_array handles;
	/**
	 * @syncs: &struct drm_tessera_sync, all with SYNC_SIGNAL (WDDM: paging
	 * fence)
	 */
	struct drm_tessera_array syncs;
	/**
	 * @bytes_to_trim: bytes that the caller has to evict first (WDDM:
	 * NumBytesToTrim) [out]
	 */
	__u64 bytes_to_trim;
	/**
	 * @trim_segments: set of segments to evict from: bit n is segment id n
	 * [out]
	 */
	__u32 trim_segments;
	/**
	 * @pending: 1 if paging is under way, 0 if all objects are in place
	 * [out]
	 */
	__u32 pending;
	/**
	 * @failed: index in @handles of the object that caused -ENOENT,
	 * -EINVAL, -EBUSY, -EFAULT or -EIO. The number of handles if the cause
	 * is another argument or an object that was listed before [out]
	 */
	__u32 failed;
	/** @pad2: must be zero */
	__u32 pad2;
};

/* jobs of the file's VMs have not written the objects while these were listed */
#define DRM_TESSERA_EVICT_NOT_WRITTEN	(1U << 0)

/**
 * struct drm_tessera_evict - argument of DRM_IOCTL_TESSERA_EVICT (WDDM: Evict)
 *
 * Removes objects from the residency list of the open file, once for each time
 * a handle is given. The call does not wait.
 *
 * An object whose count has dropped to 0 is moved out when its space is needed.
 * Jobs that were submitted before can still use it. For jobs that contexts with
 * a VM submit later the object is not resident: accesses fault. Only where
 * kernel memory is too short to write page tables, the object stays accessible
 * until it moves.
 *
 * Moving an object out of memory copies nothing if neither a job nor the CPU can
 * have written it since it was brought in. Jobs that use virtual addresses count
 * as writing all listed objects with a mapping that is not READ_ONLY. With
 * NOT_WRITTEN (WDDM: NotWrittenTo) the caller promises that they have not. The
 * promise concerns the objects whose count drops to 0, and the time from the
 * previous count of 0 until the call returns. The kernel knows the writes of the
 * CPU and of SUBMIT, so these may happen. Writes that break the promise may be
 * lost.
 *
 * Errors, with nothing changed:
 *
 * - -EINVAL: unknown flags; non-zero @pad; a stride that is not 4; an object
 *   that is listed fewer times than it is given; with NOT_WRITTEN, an object
 *   that another open file lists, too, so that its jobs may have written it.
 * - -ENOENT: unknown handle.
 * - -E2BIG: more than max_allocs handles.
 */
struct drm_tessera_evict {
	/** @flags: DRM_TESSERA_EVICT_NOT_WRITTEN */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/** @handles: array of __u32 */
	struct drm_tessera_array handles;
};

#define DRM_TESSERA_BUDGET_RESERVE	(1U << 0) /* set the reservation of one segment */
/* set or remove the notification of this open file */
#define DRM_TESSERA_BUDGET_NOTIFY	(1U << 1)
#define DRM_TESSERA_BUDGET_WEIGHT	(1U << 2) /* set the weight of a process */

#define DRM_TESSERA_WEIGHT_MIN		1
#define DRM_TESSERA_WEIGHT_DEFAULT	100
#define DRM_TESSERA_WEIGHT_MAX		10000

/**
 * struct drm_tessera_budget - argument of DRM_IOCTL_TESSERA_BUDGET (WDDM:
 * QueryVideoMemoryInfo, SetVideoMemoryReservation)
 *
 * All figures are sums over a set of segments for the calling client: all open
 * files that are charged to the same process.
 *
 * A *reservation* is the part of a fair share that does not depend on the
 * number of other clients. The clients share the rest. The reservation counts
 * as long as the client uses the segment: idle memory is lent to other clients,
 * reserved or not. All clients together can reserve a quarter of a segment.
 *
 * A *notification* is an eventfd, one for each open file. The kernel signals it
 * when the budget of the set has changed by a sixteenth of the segments' size
 * or more since the last signal or since the call. It also signals it when
 * @trim_bytes, @idle_bytes or @wanted_bytes have risen, or another client waits
 * for this one to trim (WDDM: TrimResidency). The signal may be a few
 * milliseconds late, or half a second if the change is that a client has stopped
 * using a segment.
 *
 * To *trim* is to remove objects from residency lists (EVICT). Clients that need
 * no more than their fair shares take no listed objects of a client that trims
 * @trim_bytes in time and uses the segments. They wait for it for 20 ms, once in
 * a second. The bytes may have changed until the next query, because clients
 * come and go.
 *
 * A *weight* says how important a process is beside others, for example whether
 * its window is in the foreground. Clients with demand divide each segment in
 * proportion to their weights. A process keeps its weight as long as anything is
 * charged to it.
 *
 * Errors, with nothing changed:
 *
 * - -EINVAL: unknown flags; more than one flag; @pad not zero; an empty set or an
 *   unknown segment; an @eventfd without BUDGET_NOTIFY; a file that is no
 *   eventfd; BUDGET_RESERVE for more than one segment; a @pid without
 *   BUDGET_WEIGHT; a @weight out of range.
 * - -EBADF: no such file.
 * - -ENOSPC: more than @reservable at the time of the call. (A call that fails
 *   fills in no figures.)
 * - -EACCES: BUDGET_WEIGHT without CAP_SYS_NICE.
 * - -ESRCH: nothing is charged to process @pid.
 */
struct drm_tessera_budget {
	/** @segments: set of segments: bit n is segment id n */
	__u32 segments;
	/** @flags: DRM_TESSERA_BUDGET_* */
	__u32 flags;
	/**
	 * @eventfd: with BUDGET_NOTIFY: eventfd to signal, or a negative number
	 * to remove the notification; else 0
	 */
	__s32 eventfd;
	/** @pad: must be zero */
	__u32 pad;
	/**
	 * @reservation: bytes reserved [in/out]; ignored on input without
	 * BUDGET_RESERVE
	 */
	__u64 reservation;
	/**
	 * @budget: bytes that the client can count on: its fair share, and more
	 * while other clients leave memory free [out]
	 */
	__u64 budget;
	/** @usage: resident bytes [out] */
	__u64 usage;
	/** @reservable: maximum that could be reserved [out] */
	__u64 reservable;
	/**
	 * @weight: with BUDGET_WEIGHT: the weight to set, from
	 * DRM_TESSERA_WEIGHT_MIN to DRM_TESSERA_WEIGHT_MAX, in all segments. On
	 * output the weight of the calling client [in/out]
	 */
	__u32 weight;
	/**
	 * @pid: with BUDGET_WEIGHT: the process, or 0 for the calling client; else 0
	 */
	__s32 pid;
	/**
	 * @trim_bytes: bytes of listed objects above the fair shares, in the
	 * segments that the client has used in the last two seconds. Others may
	 * take them (WDDM: NumBytesToTrim with TrimToBudget) [out]
	 */
	__u64 trim_bytes;
	/**
	 * @idle_bytes: bytes of listed objects in the segments that the client
	 * has not used for two seconds. Others may take them (WDDM:
	 * PeriodicTrim) [out]
	 */
	__u64 idle_bytes;
	/**
	 * @wanted_bytes: bytes of listed objects that another client asks for at
	 * the moment, see DRM_TESSERA_RESIDENT_CANNOT_TRIM_FURTHER. The client
	 * may keep what is within its fair share. To give memory up, it offers
	 * or destroys objects; EVICT alone does not do it [out]
	 */
	__u64 wanted_bytes;
};

/**
 * struct drm_tessera_vm_create - argument of DRM_IOCTL_TESSERA_VM_CREATE
 *
 * A VM is a GPU virtual address space (WDDM: GPU virtual address space). It
 * starts with no mappings. The memory of its page tables is charged to the
 * process, and listed as resident while the VM exists.
 *
 * Errors:
 *
 * - -EINVAL: @flags not zero.
 * - -EOPNOTSUPP: the device has no virtual addresses, see DRM_TESSERA_CAP_VM.
 * - -ENOSPC: the process has too many VMs or page tables.
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
 * Contexts that use the VM continue to work. The mappings are removed when the
 * last of these contexts is destroyed. Jobs that were submitted before still
 * run.
 *
 * Errors:
 *
 * - -ENOENT: unknown VM.
 * - -EINVAL: non-zero @pad.
 */
struct drm_tessera_vm_destroy {
	/** @id: the VM */
	__u32 id;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_TESSERA_VM_BIND_MAP		0 /* map memory of an object */
#define DRM_TESSERA_VM_BIND_UNMAP	1 /* unmap: accesses fault */
#define DRM_TESSERA_VM_BIND_MAP_NULL	2 /* map no memory: reads return zero, writes are dropped */
#define DRM_TESSERA_VM_BIND_MAP_FENCE	3 /* map the page of a monitored fence */

/*
 * MAP: the GPU may not write; implied by BO_GPU_READ_ONLY. MAP_FENCE: command
 * streams may wait for the fences of the page, but not signal them.
 */
#define DRM_TESSERA_VM_BIND_READ_ONLY	(1U << 0)

/**
 * struct drm_tessera_vm_bind_op - element of the list of a VM_BIND
 *
 * The operation replaces all mappings in the range, including parts of larger
 * mappings.
 *
 * MAP_FENCE (WDDM: the GPU virtual address of a monitored fence) maps the page
 * that holds the value of a monitored fence of this file. The value is at
 * &drm_tessera_fence_create.offset from @address. Command streams wait for it
 * with FENCE_WAIT and raise it with FENCE_SIGNAL, without the kernel. All other
 * accesses of the GPU to the page fault, and so do these packets at all other
 * addresses. See &struct drm_tessera_fence_create for what a value means that a
 * command stream has signalled. The page also holds the values of other fences
 * of the file. It stays mapped when the fence is destroyed.
 */
struct drm_tessera_vm_bind_op {
	/** @op: DRM_TESSERA_VM_BIND_MAP, _UNMAP, _MAP_NULL or _MAP_FENCE */
	__u32 op;
	/** @flags: DRM_TESSERA_VM_BIND_READ_ONLY */
	__u32 flags;
	/** @handle: the object of MAP, the fence of MAP_FENCE; else 0 */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/**
	 * @offset: byte offset in the object of MAP, a multiple of the page
	 * size; else 0
	 */
	__u64 offset;
	/** @address: start of the range, a multiple of the page size */
	__u64 address;
	/**
	 * @range: size of the range, a multiple of the page size, not 0; of
	 * MAP_FENCE one page
	 */
	__u64 range;
};

/**
 * struct drm_tessera_vm_bind - argument of DRM_IOCTL_TESSERA_VM_BIND
 *
 * The list takes effect as a whole and in order, when all fences that it waits
 * for have signalled. If it unmaps or replaces anything, it also waits for all
 * jobs of the VM's contexts that were submitted before. All jobs that are
 * submitted later wait for the list. So a job finds the mappings of the time of
 * its submission. The call itself waits for foreign fences in @syncs.
 *
 * A mapping holds a reference to its object, which therefore survives the
 * closing of its handles. The mapping is valid while the object is on the
 * residency list of the file that owns the VM (MAKE_RESIDENT). Lists of other
 * files do not count. Otherwise accesses fault. Closing any handle takes
 * the object off the list. Jobs can then access it until it moves, which may be
 * at any time. While an object moves, jobs wait. Its virtual addresses do not
 * change.
 *
 * Errors, with nothing changed:
 *
 * - -ENOENT: unknown VM, handle, fence or syncobj.
 * - -EINVAL, list: non-zero @flags or padding; an empty list; an unknown
 *   operation or flag; READ_ONLY without MAP or MAP_FENCE; a handle or offset
 *   that the operation does not take, or a missing one; an address, offset or
 *   range that is not a multiple of the page size; a range that is empty, or
 *   extends beyond the address space or the object; a MAP_FENCE of more than
 *   one page.
 * - -EINVAL, others: an object that is offered or private to another VM; a wait
 *   on a syncobj or timeline point without fence.
 * - -E2BIG: more elements than the limits; MAP_NULLs of more than 64 GiB
 *   together; or more than 131072 mappings in the ranges of all operations,
 *   where a mapping counts for each operation.
 * - -ENOSPC: too many page tables of this client, or too many mappings of the
 *   VM; or no segment is large enough for more page tables.
 * - -EBUSY: a swizzled object is scanned out, and the CPU sees it through
 *   swizzling ranges.
 * - -EIO: an object is lost; or the VM is lost, because changing it failed or
 *   the device was reset.
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
 * Creates an object from private anonymous memory of the calling process. Jobs
 * of both addressing models use it through apertures. The memory is not pinned:
 * the kernel moves and swaps it as usual. A change of the mapping (munmap,
 * mremap, mprotect, MADV_DONTNEED, fork, exit) waits for the jobs that use the
 * memory. Later jobs use what is mapped then.
 *
 * Submissions are refused with -EFAULT if nothing suitable is mapped, which
 * includes pages that only userfaultfd would provide, and with -EBUSY if the
 * memory changes repeatedly while the kernel looks it up. The memory is always
 * that of the process that created the object, also if another process submits
 * the job.
 *
 * Errors, with nothing done:
 *
 * - -EINVAL: unknown flags; @size 0; @address or @size not a multiple of the
 *   page size; a range that wraps; without GPU_READ_ONLY, no aperture that the
 *   GPU can write.
 * - -EFAULT: nothing is mapped somewhere in the range.
 * - -EPERM: memory that is not private and anonymous (of a file, shared,
 *   hugetlb pages, of a device); memory that may not be read or, without
 *   GPU_READ_ONLY, written.
 * - -E2BIG: larger than every aperture.
 * - -EOPNOTSUPP: the device lacks DRM_TESSERA_CAP_USER_MEMORY.
 */
struct drm_tessera_bo_from_user {
	/** @address: first byte of the memory, a multiple of the page size */
	__u64 address;
	/** @size: bytes, a multiple of the page size */
	__u64 size;
	/** @flags: DRM_TESSERA_BO_GPU_READ_ONLY */
	__u32 flags;
	/** @handle: GEM handle of the new object [out] */
	__u32 handle;
};

/**
 * struct drm_tessera_submit_vm - argument of DRM_IOCTL_TESSERA_SUBMIT_VM
 *
 * The device reads the commands at virtual addresses of the context's VM. Base
 * addresses of slots are virtual addresses, too: the program writes base and
 * limit of each BIND_SLOT. The commands run unprivileged.
 * There is no allocation list: the job finds the objects that are mapped and on
 * the file's residency list when it is submitted. The kernel first brings
 * evicted objects of that list back, as MAKE_RESIDENT does: all of them, in
 * whichever VM they are mapped (RES-2), and the page tables of the file's VMs.
 * The call waits for foreign fences in @syncs, and for unfinished jobs of the
 * process as &struct drm_tessera_submit does.
 *
 * Errors, with nothing run, in addition to those of &struct
 * drm_tessera_make_resident:
 *
 * - -ENOENT: unknown context or syncobj, or the context is destroyed meanwhile.
 * - -EOPNOTSUPP: the context has no VM. (SUBMIT returns the same for a context
 *   with a VM.)
 * - -EINVAL: non-zero @flags or @pad; @cmds or @cmd_size not a multiple of 8;
 *   @cmd_size 0; a wait on a syncobj or timeline point without fence.
 * - -E2BIG: more commands or syncs than the limits.
 * - -EIO: the context was lost to a hang, a bad access or a reset of the
 *   device; the client is banned; the VM is lost; or an object on the list is
 *   lost.
 * - -ENOMEM: the listed objects do not fit beside what other clients may keep
 *   (MAKE_RESIDENT without handles says how much to EVICT); other clients take
 *   the memory away repeatedly; or kernel memory is short.
 * - -EBUSY: an object on the list is locked.
 * - -EFAULT, -EBUSY: see &struct drm_tessera_bo_from_user.
 *
 * The job's fence carries one of these results:
 *
 * - 0: the job is done.
 * - -EFAULT: the device stopped at a bad access: an address that is not mapped,
 *   or whose object is not listed as resident, a write to a read-only mapping,
 *   a bad packet, and so on. The context is lost.
 * - -ECANCELED: not run, because an earlier job of the context made a bad
 *   access; or as for &struct drm_tessera_submit.
 * - -EIO: not run, because the VM is lost.
 * - -ETIME: as for &struct drm_tessera_submit.
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
#define DRM_IOCTL_TESSERA_BO_PRIORITY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_BO_PRIORITY, struct drm_tessera_bo_priority)
#define DRM_IOCTL_TESSERA_MAKE_RESIDENT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_MAKE_RESIDENT, struct drm_tessera_make_resident)
#define DRM_IOCTL_TESSERA_EVICT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_TESSERA_EVICT, struct drm_tessera_evict)
#define DRM_IOCTL_TESSERA_BUDGET \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_BUDGET, struct drm_tessera_budget)
#define DRM_IOCTL_TESSERA_RESOURCE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_RESOURCE_CREATE, \
		 struct drm_tessera_resource_create)
#define DRM_IOCTL_TESSERA_RESOURCE_OPEN \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_TESSERA_RESOURCE_OPEN, struct drm_tessera_resource_open)
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
