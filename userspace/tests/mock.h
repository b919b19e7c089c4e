/* SPDX-License-Identifier: MIT */
/*
 * A kernel and an allocator for the library's tests: behind struct tessera_os, so
 * no process-wide function is replaced.
 */
#ifndef MOCK_H
#define MOCK_H

#include "priv.h"

#define MOCK_MAX_CALLS 256
#define MOCK_MAX_HANDLES 1024

struct mock {
	struct tessera_os os;
	struct drm_tessera_query_device info;

	/* Faults. */
	unsigned int eintr; /* so many calls of ioctl fail with EINTR first */
	unsigned long fail_request; /* this request fails … */
	unsigned int fail_after; /* … after it has succeeded so often … */
	int fail_errno; /* … like this */
	long fail_alloc; /* the how manieth allocation fails, counted from 0; -1: none */
	bool fail_alloc_all_after;

	/* What happened. */
	unsigned int calls;
	unsigned long requests[MOCK_MAX_CALLS];
	long allocs;
	long live_allocs;
	uint32_t next_handle;
	uint32_t open_handles; /* objects, contexts and sync objects not closed */
	struct drm_tessera_bo_create last_create;
	struct drm_tessera_bo_from_user last_from_user;
	struct drm_tessera_bo_create last_twins[2];
	struct drm_tessera_bo_private last_private[2];
	uint32_t twin_handles[2];
	struct drm_tessera_context_create last_context;
	struct drm_tessera_bo_label last_label;
	struct drm_tessera_bo_wait last_wait;
	struct drm_tessera_lock last_lock;
	struct drm_tessera_make_resident last_resident; /* its lists follow */
	uint32_t last_handles[4];
	struct drm_tessera_evict last_evict;
	uint64_t room; /* for what is listed, if not 0 */
	uint64_t sizes[MOCK_MAX_HANDLES];
	uint32_t listed[MOCK_MAX_HANDLES]; /* so often */
	uint64_t listed_bytes;
	struct drm_tessera_vm_bind_op last_bind;
	uint64_t mapped_bytes; /* in all VMs */
	struct drm_tessera_submit_vm last_submit_vm;
	unsigned int vm_out_of_memory; /* so many SUBMIT_VM fail */
	struct drm_tessera_budget last_budget;
	bool busy; /* a discard gives another object */
	bool shared; /* a discard is refused */
	uint32_t locks;
	uint32_t locks2; /* by LOCK2 */
	struct drm_tessera_bo_destroy last_destroy;
	struct drm_tessera_invalidate_cache last_flush;
	uint32_t offered; /* priority of the last offer, 0 behind a reclaim */
	uint64_t reached; /* by every timeline */
	uint64_t waited; /* for the last point */
	uint8_t memory_at_wait[16]; /* the beginning of memory when that came */
	uint8_t memory_at_flush[16]; /* and when @last_flush did */
	struct drm_tessera_submit last_submit;
	uint32_t last_cmds[64]; /* the beginning of its commands … */
	struct drm_tessera_submit_alloc last_allocs[4]; /* … and list */
	struct drm_tessera_sync last_syncs[16];
	uint8_t memory[65536]; /* behind every mapping */
	unsigned int maps, unmaps;
	int last_prot;
	int fail_mmap; /* mmap fails with this */
	uint32_t error_offset; /* what SUBMIT says, with success */
	int fence_status; /* what SYNC_IOC_FILE_INFO says */
};

/* What a call of the library promises: a test that fails says which, and how it was broken. */
#define promise(cond, ...)                                                                         \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg(__VA_ARGS__);                                                     \
	} while (0)

/* A device on a mock kernel with the default segments; teardown checks that nothing leaked. */
int mock_setup(void **state);
int mock_teardown(void **state);

struct mock_device {
	struct mock mock;
	struct tessera_device *dev;
};

struct mock *mock_new(void);
int mock_open(struct mock *mock, struct tessera_device **out);
/* An object of @size bytes in any segment, without CPU access. */
struct tessera_bo *mock_bo(struct tessera_device *dev, uint64_t size);
unsigned int mock_count(const struct mock *mock, unsigned long request);

#endif /* MOCK_H */
