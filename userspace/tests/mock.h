/* SPDX-License-Identifier: MIT */
/*
 * A mock kernel and a mock allocator for the library's tests. They are
 * installed through struct tessera_os, so no process-wide function is replaced.
 */
#ifndef MOCK_H
#define MOCK_H

#include "priv.h"

#define MOCK_MAX_CALLS 256
#define MOCK_MAX_HANDLES 1024
#define MOCK_MAX_DMABUFS 4

struct mock {
	struct tessera_os os;
	struct drm_tessera_query_device info;

	/* Faults to inject. */
	unsigned int eintr; /* this many ioctls fail with EINTR first */
	unsigned long fail_request; /* this request fails ... */
	unsigned int fail_after; /* ... after it has succeeded this many times ... */
	int fail_errno; /* ... with this errno */
	long fail_alloc; /* index of the allocation that fails, counted from 0; -1: none */
	bool fail_alloc_all_after;

	/* Recorded calls and state. */
	unsigned int calls;
	unsigned long requests[MOCK_MAX_CALLS];
	long allocs;
	long live_allocs;
	uint32_t next_handle;
	uint32_t open_handles; /* objects, contexts, VMs, fences and sync objects that are open */
	struct drm_tessera_bo_create last_create;
	struct drm_tessera_bo_from_user last_from_user;
	struct drm_tessera_bo_create last_surface_pair[2];
	struct drm_tessera_bo_private last_private[2];
	uint32_t twin_handles[2];
	struct drm_tessera_context_create last_context;
	struct drm_tessera_bo_label last_label;
	struct drm_tessera_bo_priority last_priority;
	struct drm_tessera_bo_wait last_wait;
	struct drm_tessera_lock last_lock;
	struct drm_tessera_make_resident last_resident; /* followed by its lists */
	uint32_t last_handles[4];
	struct drm_tessera_evict last_evict;
	uint64_t space; /* size of the memory for listed objects; 0: unlimited */
	uint64_t sizes[MOCK_MAX_HANDLES];
	uint32_t listed[MOCK_MAX_HANDLES]; /* residency count of each handle */
	uint64_t listed_bytes;
	struct drm_tessera_vm_bind_op last_bind;
	uint64_t mapped_bytes; /* sum over all VMs */
	struct drm_tessera_submit_vm last_submit_vm;
	unsigned int vm_out_of_memory; /* this many SUBMIT_VM fail with ENOMEM */
	struct drm_tessera_budget last_budget;
	bool busy; /* LOCK_DISCARD returns another object */
	uint32_t idle; /* handle that LOCK_REUSE returns; 0: a new one */
	bool shared; /* LOCK_DISCARD fails, as for an exported object */
	uint32_t locks;
	uint32_t locks2; /* held by LOCK2 */
	struct drm_tessera_bo_destroy last_destroy;
	struct drm_tessera_invalidate_cache last_flush;
	uint32_t offered; /* priority of the last OFFER; 0 after a RECLAIM */
	uint32_t offer_flags; /* of the last OFFER */
	uint64_t reached; /* value of all timelines */
	uint64_t waited; /* point of the last timeline wait */
	uint8_t memory_at_wait[16]; /* start of memory at the last BO_WAIT */
	uint8_t memory_at_flush[16]; /* start of memory at the last INVALIDATE_CACHE */
	struct drm_tessera_submit last_submit;
	uint32_t last_cmds[64]; /* start of its commands */
	struct drm_tessera_submit_alloc last_allocs[4]; /* start of its allocation list */
	struct drm_tessera_sync last_syncs[16];
	uint8_t memory[65536]; /* backs all mappings */
	unsigned int maps, unmaps;
	int last_prot;
	int fail_mmap; /* errno with which mmap fails; 0: mmap works */
	uint32_t error_offset; /* error_offset that a successful SUBMIT returns */
	struct drm_syncobj_timeline_wait last_sync_wait;
	uint64_t last_points[4]; /* its points; its handles are in last_handles */
	struct drm_syncobj_handle last_syncobj; /* of the last HANDLE_TO_FD or FD_TO_HANDLE */
	int fence_status; /* status that SYNC_IOC_FILE_INFO returns */
	struct mock_dmabuf {
		int fd; /* -1: not used */
		uint32_t handle; /* 0: closed */
	} dmabufs[MOCK_MAX_DMABUFS];
	struct drm_prime_handle last_export;
	struct mock_resource {
		int fd; /* of the caller; -1: there is none */
		uint32_t count, data_size;
		uint32_t handles[4]; /* 0: closed */
		struct drm_tessera_bo_create creates[4];
		char data[16];
	} resource;
};

/*
 * Check a promise of the library. On failure the message says which promise was
 * broken, and how.
 */
#define promise(cond, ...)                                                                         \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg(__VA_ARGS__);                                                     \
	} while (0)

/*
 * A device on a mock kernel with the default segments. The teardown checks for
 * leaks.
 */
int mock_setup(void **state);
int mock_teardown(void **state);

struct mock_device {
	struct mock mock;
	struct tessera_device *dev;
};

struct mock *mock_new(void);
int mock_open(struct mock *mock, struct tessera_device **out);
/* An object of @size bytes in memory segments, without CPU access. */
struct tessera_bo *mock_bo(struct tessera_device *dev, uint64_t size);
/* A dma-buf of another device. The caller closes it. */
int mock_dmabuf(struct mock *mock);
unsigned int mock_count(const struct mock *mock, unsigned long request);

#endif /* MOCK_H */
