/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_REQUEST_H__
#define __TESSERA_REQUEST_H__

#include <linux/types.h>

#include "mem/residency.h"
#include "pure/patch.h"
#include "submit/gate.h"
#include "submit/sync.h"

struct drm_exec;
struct drm_file;
struct drm_tessera_submit_alloc;
struct drm_tessera_sync;
struct tessera_bo;		/* mem/bo.h */
struct tessera_context;		/* submit/context.h */
struct tessera_device;
struct tessera_ib;		/* exec/ib.h */
struct tessera_monitored_set;	/* submit/monitored.c */
struct xarray;

/* Limits of one submission, reported by DRM_TESSERA_QUERY_DEVICE. */
#define TESSERA_MAX_ALLOCS	65536
#define TESSERA_MAX_PATCHES	1048576
#define TESSERA_MAX_SYNCS	1024

/* No element of the allocation list. */
#define TESSERA_REQUEST_NONE	U32_MAX

/**
 * enum tessera_again - why a submission begins again, with nothing armed by the last attempt
 * @TESSERA_AGAIN_DISTURBED: others have changed what the attempt relied on
 * @TESSERA_AGAIN_CLOSED: another submission has claimed a segment
 * @TESSERA_AGAIN_SPLIT: it does not fit as a whole
 * @TESSERA_AGAIN_DYING: it does not fit, but objects are being destroyed
 * @TESSERA_AGAIN_HELD: it does not fit, but older submissions hold objects
 * @TESSERA_AGAIN_FOREIGN: an object waits for another device: &tessera_request.blocker
 * @TESSERA_AGAIN_PAGES: user memory that it uses has changed
 * @TESSERA_AGAIN_VOID: the gate was given to others
 * @TESSERA_AGAIN_ABSENT: SUBMIT_VM: a listed object is not resident
 * @TESSERA_AGAIN_ASID: SUBMIT_VM: no address space number is free
 *
 * Positive, for functions that return 0 or an error, too.
 */
enum tessera_again {
	TESSERA_AGAIN_DISTURBED = 1,
	TESSERA_AGAIN_CLOSED,
	TESSERA_AGAIN_SPLIT,
	TESSERA_AGAIN_DYING,
	TESSERA_AGAIN_HELD,
	TESSERA_AGAIN_FOREIGN,
	TESSERA_AGAIN_PAGES,
	TESSERA_AGAIN_VOID,
	TESSERA_AGAIN_ABSENT,
	TESSERA_AGAIN_ASID,
};

/**
 * struct tessera_submit_data - the kernel's copy of what a submission brought
 *
 * The ioctl owns the arrays and the reference to @ib.
 */
struct tessera_submit_data {
	/** @context: number of the context */
	u32 context;
	/** @cmd_bytes: length of the commands, checked */
	u32 cmd_bytes;
	/** @ib: the commands */
	struct tessera_ib *ib;
	/** @allocs: allocation list */
	struct drm_tessera_submit_alloc *allocs;
	/** @patches: patch list */
	struct tessera_patch *patches;
	/** @syncs: sync list */
	struct drm_tessera_sync *syncs;
	/** @fences: the client's monitored fences */
	struct tessera_monitored_set *fences;
	/** @num_allocs: elements of @allocs */
	u32 num_allocs;
	/** @num_patches: elements of @patches */
	u32 num_patches;
	/** @num_syncs: elements of @syncs */
	u32 num_syncs;
	/** @num_parts: result: parts the submission was cut into */
	u32 num_parts;
	/** @err: result: where the fault is */
	struct tessera_patch_error err;
};

/**
 * struct tessera_request - one submission: copied, looked up, checked
 */
struct tessera_request {
	/** @tdev: the device */
	struct tessera_device *tdev;
	/** @ctx: the context; holds a reference */
	struct tessera_context *ctx;
	/** @file: the client; for the call */
	struct drm_file *file;
	/** @ib: the commands; the ioctl's reference */
	struct tessera_ib *ib;
	/** @cmds: the commands, as the CPU sees them */
	void *cmds;
	/** @bos: one for each element of the allocation list, NULL for a NULL element */
	struct tessera_bo **bos;
	/** @slots: elements of @bos by object: a hash table, %TESSERA_REQUEST_NONE where it is free */
	u32 *slots;
	/** @slot_bits: log2 of the length of @slots */
	u32 slot_bits;
	/** @uses: elements of the allocation list that are not NULL, by first use */
	u32 *uses;
	/** @num_uses: length of @uses */
	u32 num_uses;
	/** @checked: tessera_request_check() was called, and is not to be again */
	bool checked;
	/** @changes: times user memory has changed since something was armed, or the beginning */
	u32 changes;
	/** @num_users: elements of @bos that are user memory */
	u32 num_users;
	/** @renamed: there are instances among @bos, and they may be listed */
	bool renamed;
	/** @allocs: what the checks need to know of @bos */
	struct tessera_patch_alloc *allocs;
	/** @patches: the patch list; the ioctl's */
	const struct tessera_patch *patches;
	/** @list: @patches, @allocs and limits */
	struct tessera_patch_list list;
	/** @order: elements of @patches that are not NULL, in stream order */
	u32 *order;
	/** @num_order: length of @order */
	u32 num_order;
	/** @syncs: fences in and out */
	struct tessera_syncs syncs;
	/** @pass: the gate's, while it is inside */
	struct tessera_pass pass;
	/** @num_parts: parts it was cut into */
	u32 num_parts;
	/** @blocker: what an object was found to wait for, see tessera_request_wait_foreign() */
	struct tessera_blocker blocker;
	/** @err: where the fault is */
	struct tessera_patch_error err;
	/** @job: number of the submission in its context, for traces */
	u64 job;
	/** @stamp: number of the submission on the device, for LRU */
	u64 stamp;
};

int tessera_request_init(struct tessera_request *req, struct tessera_device *tdev,
			 struct drm_file *file, struct xarray *contexts,
			 const struct tessera_submit_data *data);
void tessera_request_fini(struct tessera_request *req);
u32 tessera_request_find(const struct tessera_request *req, u32 bo_id);
int tessera_request_check(struct tessera_request *req);
void tessera_request_accepted(struct tessera_request *req);
int tessera_request_lock(struct tessera_request *req, struct drm_exec *exec);
int tessera_request_find_foreign(struct tessera_request *req, u32 alloc);
int tessera_request_ask_others(struct tessera_request *req, bool interruptible);
int tessera_request_wait_foreign(struct tessera_request *req);

bool tessera_request_is_ready(struct tessera_request *req);
int tessera_request_ready(struct tessera_request *req, u64 end);
int tessera_request_begin_users(struct tessera_request *req, const u32 *allocs, u32 num);
void tessera_request_end_users(struct tessera_request *req);

static inline bool tessera_request_writes(const struct tessera_request *req, u32 alloc)
{
	return req->allocs[alloc].flags & TESSERA_PATCH_ALLOC_WRITE;
}

void tessera_request_patch(struct tessera_request *req, u32 index);

/* In a loop over one of the lists. */
static inline int tessera_request_pause(const struct tessera_request *req, u32 step)
{
	return tessera_patch_pause(&req->list, step);
}

#endif /* __TESSERA_REQUEST_H__ */
