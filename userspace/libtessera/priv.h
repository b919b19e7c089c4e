/* SPDX-License-Identifier: MIT */
/*
 * Inside libtessera: the objects, and the layer below them that tests replace.
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
 * What the library asks of the system. A device has its own copy, so tests can give one
 * device a mock kernel or an allocator that fails while nothing is shared between devices.
 * ioctl and mmap report as the system does, through errno.
 */
struct tessera_os {
	int (*ioctl)(void *cookie, int fd, unsigned long request, void *arg);
	void *(*mmap)(void *cookie, size_t size, int prot, int fd, off_t offset);
	int (*munmap)(void *cookie, void *addr, size_t size);
	void *(*realloc)(void *cookie, void *old, size_t size);
	void *cookie;
};

extern const struct tessera_os tessera_os_default;

struct tessera_device {
	atomic_uint refs;
	int fd;
	struct tessera_os os;
	struct drm_tessera_query_device info;
	struct drm_tessera_query_segment *segments;
	struct drm_tessera_query_engine *engines;
	uint32_t num_segments;
	uint32_t num_engines;
	pthread_mutex_t vm_lock; /* what is mapped in VMs, and listed as resident */
};

struct tessera_bo {
	atomic_uint refs;
	struct tessera_device *dev;
	uint32_t handle;
	uint32_t flags;
	uint32_t supported; /* segments */
	uint64_t size;
	struct tessera_bo_desc desc; /* by tessera_bo_new(), else of size 0 */
	SLIST_HEAD(, tessera_mapping) mappings; /* in VMs; dev->vm_lock */
	pthread_mutex_t map_lock; /* protects map and map_count */
	void *map;
	unsigned int map_count;
};

struct tessera_context {
	atomic_uint refs;
	struct tessera_device *dev;
	uint32_t id;
	struct tessera_vm *vm; /* reference; NULL: the patched model */
	struct tessera_cmdmem *cmdmem; /* with a VM */
	pthread_mutex_t lock; /* of cmdmem: submissions in order */
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
	void *page; /* a mapping of its own */
	size_t page_size;
	const uint64_t *value; /* in it */
};

struct tessera_fence {
	atomic_uint refs;
	struct tessera_syncobj *obj;
};

/* One binding slot as the builder sees it. */
struct tessera_slot {
	struct tessera_bo *wanted; /* reference; NULL: unbound */
	struct tessera_view view; /* of wanted */
	bool dirty; /* changed since the last flush, in the dirty list */
	bool bound; /* the stream has it bound, in the live list */
	uint64_t address; /* of wanted in the buffer's VM */
	uint32_t live_index; /* its place there */
};

struct tessera_cmdbuf {
	atomic_uint refs;
	struct tessera_device *dev;
	struct tessera_vm *vm; /* reference; NULL: the patched model */
	int error; /* first failure since the reset, or 0 */
	uint64_t rebind_min;
	uint32_t serial; /* of the next binding, goes into driver_id */

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
	uint32_t state_set; /* registers the caller gave a value */
	uint32_t state_valid; /* registers the engine holds */
};

/* device.c */
int tessera_device_new_os(int fd, const struct tessera_os *os, struct tessera_device **out);
int tessera_ioctl(struct tessera_device *dev, unsigned long request, void *arg);
void *tessera_alloc(struct tessera_device *dev, size_t size); /* zeroed */
int tessera_grow(struct tessera_device *dev, void **array, size_t *cap, size_t need, size_t elem);
void tessera_free(struct tessera_device *dev, void *p);

int tessera_reserved_check(const uint64_t *reserved, size_t count); /* -EINVAL unless zero */

/* bo.c */
/* An object without a handle yet. */
struct tessera_bo *tessera_bo_alloc(struct tessera_device *dev);
void tessera_bo_free(struct tessera_bo *bo); /* NULL is harmless */
void tessera_bo_set(struct tessera_bo *bo, const struct drm_tessera_bo_create *create,
		    uint32_t handle);
int tessera_bo_create_args(const struct tessera_device *dev, const struct tessera_bo_desc *desc,
			   struct drm_tessera_bo_create *create);
int tessera_map_flags_check(const struct tessera_device *dev, uint32_t flags);
int tessera_view_check(const struct tessera_view *view, uint64_t bo_size);

/* sync.c */
/* Takes the handle over, if it succeeds. */
int tessera_syncobj_wrap(struct tessera_device *dev, uint32_t handle, struct tessera_syncobj **out);
int tessera_fence_new(struct tessera_device *dev, struct tessera_fence **out);

#endif /* TESSERA_PRIV_H */
