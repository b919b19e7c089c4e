/* SPDX-License-Identifier: MIT */
/*
 * The random workload at virtual addresses. The objects and their models are
 * those of workload.h. The mappings of each VM are modelled page by page. A job
 * works on ranges of pages that may belong to several objects: the model
 * gathers their bytes, changes them like those of one object, and scatters them
 * again.
 *
 * The client orders its jobs itself, as clients of VMs have to. A job waits for
 * the jobs of other contexts that use an object it writes, or write an object
 * it uses. The CPU waits in the same way.
 *
 * - vm.c: a process: files, objects, VMs, and everything besides jobs
 * - vm_space.c: the mappings, and the bytes behind them
 * - vm_job.c: the jobs, and their order
 * - vm_memory.c: residency, locks, offers, destruction and checks of objects
 */
#ifndef TSR_WORKLOAD_VM_H
#define TSR_WORKLOAD_VM_H

#include "foreign.h"
#include "resident.h"
#include "vm.h"
#include "workload/workload.h"

#define WV_FILES 2
#define WV_VMS 4 /* VM n belongs to file n % WV_FILES */
#define WV_CONTEXTS 2 /* of each VM */
#define WV_ARENAS 4 /* address ranges that things are mapped in */
#define WV_ARENA_PAGES 1024
#define WV_SPAN_PAGES 256
#define WV_PAGE KiB(4)
#define WV_PENDING 12 /* submitted jobs, status not checked yet */
#define WV_OPS 16 /* of a job, at most */
#define WV_STAGING (TSR_VM_CMDS + MiB(64)) /* address of the object that checks copy to */

struct wv_object {
	struct wl_object *wl;
	struct wv_vm *vm; /* NULL: not private to a VM */
	uint32_t owner; /* index of a file */
	uint32_t handles[WV_FILES]; /* 0: the file has no handle */
	uint32_t listed[WV_FILES]; /* how often it was made resident */
	uint32_t locks; /* LOCK2 calls of the owner */
	bool offered;
	bool fixed; /* shared with other processes */
	uint32_t *marks; /* per page: the last operation that used it */
};

struct wv_page {
	struct wv_object *object; /* NULL: none */
	uint32_t page; /* of the object */
	bool null, read_only;
	bool unsure; /* mapping of an object with a closed handle */
};

struct wv_vm {
	uint32_t id, file;
	uint32_t contexts[WV_CONTEXTS];
	uint32_t jobs; /* jobs recorded in @cmds so far */
	struct tsr_bo cmds, staging;
	bool cmds_cached;
	struct wv_page pages[WV_ARENAS][WV_ARENA_PAGES];
};

/* Consecutive pages, and their bytes. */
struct wv_span {
	const struct wv_page *pages;
	uint32_t count;
	uint64_t address;
	struct wl_object bytes;
};

struct wv_op {
	struct wl_op op; /* its views refer to the spans below */
	struct wv_span dst, src;
};

struct wv_job {
	uint32_t sync, file, context, number;
	int status; /* expected status of its fence */
	uint8_t *uses; /* per object: WV_READ, WV_WRITE */
};

#define WV_READ 1
#define WV_WRITE 2

struct wv_progress {
	volatile uint64_t jobs, refused, binds, evictions, dropped, checks, faults;
};

struct wv_plan {
	struct wl_config config; /* of each file */
	uint32_t jobs;
	bool faults; /* some jobs access unmapped addresses */
	bool evictions; /* everything is evicted now and then */
	bool abandon; /* leave the objects to the kernel to clean up */
	struct wv_progress *progress; /* in shared memory, or NULL */
};

struct wv {
	const struct wv_plan *plan;
	struct tsr_device devs[WV_FILES];
	struct workload wls[WV_FILES];
	struct workload *dice; /* source of random numbers */
	struct wv_object *objects;
	uint32_t num_objects;
	struct wv_vm *vms;
	struct wv_job jobs[WV_PENDING];
	uint32_t num_jobs, number;
	struct wv_op ops[WV_OPS];
	uint32_t num_ops;
	uint32_t mark;
	struct wv_progress sum;
};

static inline uint32_t wv_pick(struct wv *wv, uint64_t below)
{
	return (uint32_t)wl_pick(wv->dice, below);
}

static inline struct wv_object *wv_pick_object(struct wv *wv)
{
	return &wv->objects[wv_pick(wv, wv->num_objects)];
}

static inline struct wv_vm *wv_pick_vm(struct wv *wv)
{
	return &wv->vms[wv_pick(wv, WV_VMS)];
}

/* ---- vm_space.c ------------------------------------------------------ */

/* A VM with no mappings but those of its commands and its staging object. */
void wv_vm_open(struct wv *wv, struct wv_vm *vm);
void wv_vm_close(struct wv *wv, struct wv_vm *vm);
void wv_vm_renew(struct wv *wv, struct wv_vm *vm);
/* Replaces a context. Its queued jobs still run. */
void wv_context_renew(struct wv *wv, struct wv_vm *vm, uint32_t n);
/* Binds a random list of changes. */
void wv_bind(struct wv *wv, struct wv_vm *vm);
/* Marks all mappings of the object as unknown, when its handle goes. */
void wv_forget(struct wv *wv, const struct wv_object *object);
/* Whether a job may read, or write, this page. */
bool wv_reaches(const struct wv_vm *vm, const struct wv_page *page, bool write);
/*
 * Draws pages that a job may read or write. A page that was already picked for
 * writing by this operation ends the range. A range for writing has no page
 * twice. The caller frees it.
 */
bool wv_span_pick(struct wv *wv, struct wv_vm *vm, bool write, struct wv_span *span);
/* Draws a page that a job must not access. */
bool wv_bad_pick(struct wv *wv, struct wv_vm *vm, uint64_t *address);
/* The pages mapped there now, all of which jobs can read. */
void wv_span_at(struct wv_vm *vm, uint32_t arena, uint32_t at, uint32_t count,
		struct wv_span *span);
/* Maps an object at the beginning of an arena. */
void wv_bind_whole(struct wv *wv, struct wv_vm *vm, uint32_t arena, struct wv_object *object);
void wv_span_free(struct wv_span *span);
void wv_span_gather(struct wv_span *span);
void wv_span_scatter(const struct wv_span *span);

/* ---- vm_job.c -------------------------------------------------------- */

/* Draws a job, submits it, and applies it to the model. */
void wv_job(struct wv *wv);
/* Submits a job that accesses an unmapped address, and so loses its context. */
void wv_fault(struct wv *wv);
/* Reads random pages by a job, and compares them. */
void wv_check_some(struct wv *wv);
void wv_check_span(struct wv *wv, struct wv_vm *vm, struct wv_span *span);
/* Checks the oldest jobs until at most @left are pending. */
void wv_reap(struct wv *wv, uint32_t left);
/* Waits for all jobs that use the object. */
void wv_settle(struct wv *wv, const struct wv_object *object);
/*
 * Waits for all jobs that are to fault. A new mapping of an empty address, or
 * of an object that becomes resident, takes effect at once, also for queued
 * jobs, and would keep these jobs from faulting.
 */
void wv_settle_faults(struct wv *wv);

/* ---- vm_memory.c ----------------------------------------------------- */

void wv_objects_open(struct wv *wv);
void wv_objects_close(struct wv *wv);
void wv_make_resident(struct wv *wv, struct wv_object *object, uint32_t file);
void wv_evict(struct wv *wv, struct wv_object *object, uint32_t file);
/* Shortens the residency list, after a submission was refused. */
void wv_make_space(struct wv *wv, uint32_t file);
void wv_lock(struct wv *wv, struct wv_object *object);
void wv_unlock(struct wv *wv, struct wv_object *object);
void wv_offer(struct wv *wv, struct wv_object *object);
void wv_reclaim(struct wv *wv, struct wv_object *object);
void wv_replace(struct wv *wv, struct wv_object *object);
void wv_peek(struct wv *wv, struct wv_object *object);
void wv_poke(struct wv *wv, struct wv_object *object);
/* Compares the object through the CPU and through jobs. */
void wv_check(struct wv *wv, struct wv_object *object);

/* ---- vm.c: a process ------------------------------------------------- */

void wv_client(void *plan);

#endif /* TSR_WORKLOAD_VM_H */
