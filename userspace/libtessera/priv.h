/* SPDX-License-Identifier: MIT */
/*
 * Internals of libtessera: the objects, and the system layer that tests
 * replace.
 */
#ifndef TESSERA_PRIV_H
#define TESSERA_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "tessera.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * System calls and allocator of a device. Each device has its own copy, so that
 * a test can give one device a mock kernel or a failing allocator without
 * affecting other devices. ioctl and mmap report errors through errno, as the
 * system does.
 */
struct tessera_os {
	int (*ioctl)(void *cookie, int fd, unsigned long request, void *arg);
	void *(*mmap)(void *cookie, size_t size, int prot, int fd, off_t offset);
	int (*munmap)(void *cookie, void *addr, size_t size);
	void *(*realloc)(void *cookie, void *old, size_t size);
	void *cookie;
};

extern const struct tessera_os tessera_os_default;

#define TESSERA_TABLE_BUCKETS 1024

struct tessera_device {
	atomic_uint refs;
	int fd;
	struct tessera_os os;
	struct drm_tessera_query_device info;
	struct drm_tessera_query_segment *segments;
	struct drm_tessera_query_engine *engines;
	uint32_t num_segments;
	uint32_t num_engines;
	pthread_mutex_t vm_lock; /* protects mappings and residency of all VMs */
	pthread_rwlock_t close_lock; /* see share.c; taken before vm_lock and table_lock */
	pthread_mutex_t table_lock; /* protects table */
	LIST_HEAD(tessera_bo_bucket, tessera_bo) table[TESSERA_TABLE_BUCKETS]; /* by handle */
};

struct tessera_bo {
	atomic_uint refs;
	struct tessera_device *dev;
	LIST_ENTRY(tessera_bo) of_table;
	uint32_t handle;
	uint32_t flags;
	uint32_t supported; /* set of segments */
	uint64_t size;
	struct tessera_bo_desc desc; /* set by tessera_bo_new(), else of size 0 */
	SLIST_HEAD(, tessera_mapping) mappings; /* in VMs; protected by dev->vm_lock */
	pthread_mutex_t map_lock; /* protects map and map_count */
	void *map;
	unsigned int map_count;
};

struct tessera_context {
	atomic_uint refs;
	struct tessera_device *dev;
	uint32_t id;
	struct tessera_vm *vm; /* reference; NULL: patched addressing */
	struct tessera_cmdmem *cmdmem; /* only with a VM */
	pthread_mutex_t lock; /* protects cmdmem and keeps submissions in order */
};

struct tessera_syncobj {
	atomic_uint refs;
	struct tessera_device *dev;
	uint32_t handle;
};

struct tessera_monitored {
	atomic_uint refs;
	uint32_t id;
	struct tessera_syncobj *obj;
	void *page; /* private mapping of the fence page */
	size_t page_size;
	const uint64_t *value; /* in page */
};

struct tessera_fence {
	atomic_uint refs;
	struct tessera_syncobj *obj;
};

/* State of one binding slot in the builder. */
struct tessera_slot {
	struct tessera_bo *wanted; /* reference; NULL: unbound */
	struct tessera_view view; /* of wanted */
	bool dirty; /* changed since the last flush; on the dirty list */
	bool bound; /* bound in the stream; on the live list */
	uint64_t address; /* address of wanted in the buffer's VM */
	uint32_t live_index; /* index in the live list */
};

struct tessera_cmdbuf {
	atomic_uint refs;
	struct tessera_device *dev;
	struct tessera_vm *vm; /* reference; NULL: patched addressing */
	int error; /* first failure since the reset, or 0 */
	uint64_t rebind_min;
	uint32_t serial; /* driver_id of the next binding */

	uint32_t *cmds; /* dwords */
	size_t num_cmds, cap_cmds;
	struct drm_tessera_submit_patch *patches;
	size_t num_patches, cap_patches;
	struct drm_tessera_submit_alloc *allocs;
	size_t num_allocs, cap_allocs;
	struct tessera_bo **bos; /* references, parallel to allocs; NULL for the NULL element */
	size_t cap_bos;
	uint32_t *hash; /* handle -> index in allocs, plus one; 0: free */
	size_t hash_size; /* power of two, at least twice the allocations */
	uint32_t null_alloc; /* index of the NULL element plus one, 0: none yet */

	struct tessera_slot *slots; /* dev->info.max_slots */
	uint32_t *dirty; /* slot numbers */
	uint32_t num_dirty;
	uint32_t *live;
	uint32_t num_live;

	uint32_t state[TSR_STATE_COUNT];
	uint32_t state_set; /* registers that the caller has set */
	uint32_t state_valid; /* registers that the engine holds */
};

/* device.c */
int tessera_device_new_os(int fd, const struct tessera_os *os, struct tessera_device **out);
/*
 * Find the render node of a PCI function, with sysfs below @sysfs. @path holds
 * @size bytes.
 */
int tessera_pci_node(const char *sysfs, const char *name, char *path, size_t size);
int tessera_ioctl(struct tessera_device *dev, unsigned long request, void *arg);
void *tessera_alloc(struct tessera_device *dev, size_t size); /* zeroed */
int tessera_grow(struct tessera_device *dev, void **array, size_t *cap, size_t need, size_t elem);
void tessera_free(struct tessera_device *dev, void *p);

int tessera_reserved_check(const uint64_t *reserved, size_t count); /* -EINVAL unless zero */

/* bo.c */
/* Allocate an object that has no handle yet. */
struct tessera_bo *tessera_bo_alloc(struct tessera_device *dev);
void tessera_bo_free(struct tessera_bo *bo); /* accepts NULL */
/*
 * Drop a reference. Jobs may use the object without listing it, so the last one
 * destroys it after all submitted jobs. If there is no memory for that, it
 * destroys it after the jobs that list it.
 */
void tessera_bo_retire(struct tessera_bo *bo);
void tessera_bo_set(struct tessera_bo *bo, const struct drm_tessera_bo_create *create,
		    uint32_t handle);
int tessera_bo_create_args(const struct tessera_device *dev, const struct tessera_bo_desc *desc,
			   struct drm_tessera_bo_create *create);
int tessera_map_flags_check(const struct tessera_device *dev, uint32_t flags);
int tessera_view_check(const struct tessera_view *view, uint64_t bo_size);

/* share.c */
/* Enter an object with a handle in the table of its device. */
void tessera_bo_enter(struct tessera_bo *bo);
/*
 * Drop a reference. Returns whether it was the last one: the caller then has
 * the handle closed, and calls tessera_bo_close_end() after that.
 */
bool tessera_bo_close_begin(struct tessera_bo *bo);
void tessera_bo_close_end(struct tessera_device *dev);
/* Between the two calls no handle is closed. */
void tessera_table_freeze(struct tessera_device *dev);
void tessera_table_thaw(struct tessera_device *dev);
/* Take a reference to the object with this handle. NULL: none has it. */
struct tessera_bo *tessera_bo_find(struct tessera_device *dev, uint32_t handle);

/*
 * Make *@bo, which has no handle, the object of a handle that the kernel has
 * returned while the table was frozen. If the device has an object with this
 * handle, *@bo is freed and becomes a reference to that one. After a failure the
 * handle is closed.
 */
int tessera_bo_take(struct tessera_bo **bo, uint32_t handle);

/* context.c */
/* Elements of a sync list for the kernel. Errors: -EXDEV. */
int tessera_sync_fill(struct drm_tessera_sync *sync, const struct tessera_device *dev,
		      const struct tessera_sync *from, uint32_t count, uint32_t flags);

/* sync.c */
/* Takes over the handle on success. */
int tessera_syncobj_wrap(struct tessera_device *dev, uint32_t handle, struct tessera_syncobj **out);
int tessera_fence_new(struct tessera_device *dev, struct tessera_fence **out);

#endif /* TESSERA_PRIV_H */
