/* SPDX-License-Identifier: MIT */
/*
 * What gpu.c and writes.c share: textures as the library has them.
 */
#ifndef DEMO_GPU_H
#define DEMO_GPU_H

#include "tessera.h"

#include "demo.h"

struct gpu_texture {
	struct tessera_bo *bo; /* what jobs use */
	struct tessera_view view; /* and how */
};

/* ---- Work that may be more than memory holds: work.c ---- */

struct worker {
	struct tessera_context *ctx; /* reference */
	struct tessera_vm *vm; /* NULL: the patched model */
	struct tessera_cmdbuf *cb;
	struct tessera_syncobj *timeline; /* each submission moves it on by one … */
	uint64_t point; /* … to this */
	struct summary *summary;
};

int worker_init(struct worker *w, struct tessera_context *ctx, struct summary *summary);
void worker_fini(struct worker *w);

/* Steps, each with one object besides what is kept resident. All functions on it say on stderr what failed. */
struct work {
	enum demo_job job;
	uint32_t count;
	uint32_t *items; /* what each step is about */
	struct tessera_bo **bos; /* no references */
	/* Record what a submission, the first one or another, begins with; a step; and what the last one ends with. */
	int (*begin)(void *arg, bool first);
	int (*step)(void *arg, uint32_t item);
	int (*end)(void *arg);
	void *arg;
	uint64_t record_ns, submit_ns;
};

/* For @most steps. */
int work_init(struct work *work, uint32_t most);
void work_fini(struct work *work);
void work_add(struct work *work, uint32_t item, struct tessera_bo *bo);
/* @fence: of the last submission. */
int work_submit(struct worker *w, struct work *work, struct tessera_fence **fence);
/* Gives the fence up. */
int work_wait(struct tessera_fence *fence);
int work_run(struct worker *w, struct work *work);

/* ---- What the CPU writes while the scene is drawn: writes.c ---- */

struct writes;

/*
 * Make the textures of @scene that the CPU writes, into @textures, and write those that the scene needs. The kernel does not
 * know of jobs with @vm, so that objects are renamed by the library.
 * All functions say on stderr what failed.
 */
int writes_new(struct tessera_device *dev, const struct scene *scene, bool vm,
	       struct gpu_texture *textures, struct summary *summary, struct writes **out);
void writes_del(struct writes *writes);
/* Have jobs fill them, so that they are where jobs want them; then begin to write and read, in a thread. */
int writes_begin(struct writes *writes);
/* The scene was submitted, and ends at a point: write what it uses anew, for the jobs behind it. */
int writes_replace(struct writes *writes, struct tessera_syncobj *timeline, uint64_t point);
/* End the thread; all are as the late draws want them. */
int writes_end(struct writes *writes);

/* ---- What the kernel tells of faults: watch.c ---- */

struct watch;

/* NULL without tracefs, or the right to use it. */
struct watch *watch_new(void);
void watch_del(struct watch *watch);
/* Objects like that one belong to a way; of two that look the same, to the first. */
void watch_add(struct watch *watch, const struct drm_tessera_bo_info *like, enum demo_way way);
/* Count the faults since watch_new() into @summary. */
void watch_read(struct watch *watch, struct summary *summary);

#endif /* DEMO_GPU_H */
