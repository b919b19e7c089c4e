/* SPDX-License-Identifier: MIT */
/*
 * The random workload at virtual addresses. Objects and their models are those of workload.h; what is
 * where in each VM is modelled page by page. A job works on runs of pages that may belong to any
 * objects: their bytes are gathered, changed as those of one object, and scattered again.
 *
 * The client keeps the order of jobs by itself, as such clients have to: a job waits for those of other
 * contexts that use what it writes, or write what it uses, and the CPU waits likewise.
 *
 *  vm.c         a process: files, objects, VMs, what it does beside jobs
 *  vm_space.c   what is mapped, and which bytes are there
 *  vm_job.c     what jobs do, and in which order
 *  vm_memory.c  what is resident, locked, offered, destroyed, and looked at
 */
#ifndef TSR_WORKLOAD_VM_H
#define TSR_WORKLOAD_VM_H

#include "foreign.h"
#include "resident.h"
#include "vm.h"
#include "workload/workload.h"

#define WV_FILES 2
#define WV_VMS 4 /* every second one is of the first file */
#define WV_CONTEXTS 2 /* of each VM */
#define WV_ARENAS 4 /* where things are mapped */
#define WV_ARENA_PAGES 1024
#define WV_RUN_PAGES 256
#define WV_PAGE KiB(4)
#define WV_PENDING 12 /* jobs whose end has not been looked at */
#define WV_OPS 16 /* of a job */
#define WV_STAGING (TSR_VM_CMDS + MiB(64)) /* where what is looked at goes */

struct wv_object {
	struct wl_object *wl;
	struct wv_vm *vm; /* NULL: it is not private to one */
	uint32_t owner; /* a file */
	uint32_t handles[WV_FILES]; /* 0: the file has none */
	uint32_t listed[WV_FILES]; /* how often it was made resident */
	uint32_t locks; /* LOCK2 of the owner */
	bool offered;
	bool fixed; /* other processes have it, too */
	uint32_t *marks; /* of each page: the operation that has seen it last */
};

struct wv_page {
	struct wv_object *object; /* NULL: none */
	uint32_t page; /* of it */
	bool null, read_only;
	bool unsure; /* something that has no handle any more */
};

struct wv_vm {
	uint32_t id, file;
	uint32_t contexts[WV_CONTEXTS];
	uint32_t jobs; /* so many have had room in @cmds */
	struct tsr_bo cmds, staging;
	bool cmds_cached;
	struct wv_page pages[WV_ARENAS][WV_ARENA_PAGES];
};

/* pages behind each other, and their bytes */
struct wv_run {
	const struct wv_page *pages;
	uint32_t count;
	uint64_t address;
	struct wl_object bytes;
};

struct wv_op {
	struct wl_op op; /* whose views are of the runs */
	struct wv_run dst, src;
};

struct wv_job {
	uint32_t sync, file, context, number;
	int status; /* that its fence must carry */
	uint8_t *uses; /* of each object: WV_READ, WV_WRITE */
};

#define WV_READ 1
#define WV_WRITE 2

struct wv_progress {
	volatile uint64_t jobs, refused, binds, evictions, dropped, checks, faults;
};

struct wv_plan {
	struct wl_config config; /* of each file */
	uint32_t jobs;
	bool faults; /* some jobs go where nothing is */
	bool evictions; /* everything is moved out now and then */
	bool abandon; /* leave it to the kernel to clean up */
	struct wv_progress *progress; /* shared memory, or NULL */
};

struct wv {
	const struct wv_plan *plan;
	struct tsr_device devs[WV_FILES];
	struct workload wls[WV_FILES];
	struct workload *dice; /* who draws */
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

/* ---- vm_space.c ----------------------------------------------------------------- */

/* a VM without mappings, but those of its own */
void wv_vm_open(struct wv *wv, struct wv_vm *vm);
void wv_vm_close(struct wv *wv, struct wv_vm *vm);
void wv_vm_renew(struct wv *wv, struct wv_vm *vm);
/* the jobs it has still run */
void wv_context_renew(struct wv *wv, struct wv_vm *vm, uint32_t n);
/* a list of changes */
void wv_bind(struct wv *wv, struct wv_vm *vm);
/* no job can reach it any more */
void wv_forget(struct wv *wv, const struct wv_object *object);
/* may jobs read, or write, there? */
bool wv_reaches(const struct wv_vm *vm, const struct wv_page *page, bool write);
/*
 * Some pages that a job may read or write. None of them twice if they are written, and none that
 * has been seen for this operation. To be freed.
 */
bool wv_run_pick(struct wv *wv, struct wv_vm *vm, bool write, struct wv_run *run);
/* a page that it must not */
bool wv_bad_pick(struct wv *wv, struct wv_vm *vm, uint64_t *address);
/* what is mapped there now, all of which jobs can read */
void wv_run_at(struct wv_vm *vm, uint32_t arena, uint32_t at, uint32_t count, struct wv_run *run);
/* map an object at the beginning of an arena */
void wv_bind_whole(struct wv *wv, struct wv_vm *vm, uint32_t arena, struct wv_object *object);
void wv_run_free(struct wv_run *run);
void wv_run_gather(struct wv_run *run);
void wv_run_scatter(const struct wv_run *run);

/* ---- vm_job.c --------------------------------------------------------------------- */

/* draw a job, submit it, have the model do the same */
void wv_job(struct wv *wv);
/* one that goes where nothing is, and loses its context */
void wv_fault(struct wv *wv);
/* read some pages by a job, and compare */
void wv_check_some(struct wv *wv);
void wv_check_run(struct wv *wv, struct wv_vm *vm, struct wv_run *run);
/* the oldest jobs, until no more than @left are pending */
void wv_reap(struct wv *wv, uint32_t left);
/* wait for all jobs that use it */
void wv_settle(struct wv *wv, const struct wv_object *object);
/*
 * Wait for all jobs that are to find nothing: what is mapped where nothing was, or listed, is there at once, also for jobs
 * that were queued before.
 */
void wv_settle_faults(struct wv *wv);

/* ---- vm_memory.c -------------------------------------------------------------------- */

void wv_objects_open(struct wv *wv);
void wv_objects_close(struct wv *wv);
void wv_make_resident(struct wv *wv, struct wv_object *object, uint32_t file);
void wv_evict(struct wv *wv, struct wv_object *object, uint32_t file);
/* a submission was refused: list less */
void wv_make_room(struct wv *wv, uint32_t file);
void wv_lock(struct wv *wv, struct wv_object *object);
void wv_unlock(struct wv *wv, struct wv_object *object);
void wv_offer(struct wv *wv, struct wv_object *object);
void wv_reclaim(struct wv *wv, struct wv_object *object);
void wv_replace(struct wv *wv, struct wv_object *object);
void wv_peek(struct wv *wv, struct wv_object *object);
void wv_poke(struct wv *wv, struct wv_object *object);
/* through the CPU, and by jobs, that bring lists where there may be some */
void wv_check(struct wv *wv, struct wv_object *object);

/* ---- vm.c: a process ------------------------------------------------------------------ */

void wv_client(void *plan);

#endif /* TSR_WORKLOAD_VM_H */
