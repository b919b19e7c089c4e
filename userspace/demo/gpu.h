/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of gpu.c, work.c, writes.c and watch.c: textures as objects of
 * the library.
 */
#ifndef DEMO_GPU_H
#define DEMO_GPU_H

#include "tessera.h"

#include "demo.h"

struct gpu_texture {
	struct tessera_bo *bo; /* object that jobs use */
	struct tessera_view view; /* view for jobs */
};

/* ---- Work that may not fit in memory at once: work.c --------------------- */

struct worker {
	struct tessera_context *ctx; /* reference */
	struct tessera_vm *vm; /* NULL: patched addressing */
	struct tessera_cmdbuf *cb;
	struct tessera_syncobj *timeline; /* each submission advances it by one */
	uint64_t point; /* point of the last submission */
	struct summary *summary;
};

int worker_init(struct worker *w, struct tessera_context *ctx, struct summary *summary);
void worker_fini(struct worker *w);

/*
 * Work of several steps. Each step needs one object besides the resident ones.
 * All functions report failures on stderr.
 */
struct work {
	enum demo_job job;
	uint32_t count;
	uint32_t *items; /* argument of each step */
	struct tessera_bo **bos; /* object of each step; no references */
	/*
	 * Record the commands at the start of a submission (@first: of the
	 * first one), of a step, and at the end of the last submission.
	 */
	int (*begin)(void *arg, bool first);
	int (*step)(void *arg, uint32_t item);
	int (*end)(void *arg);
	void *arg;
	uint64_t record_ns, submit_ns;
};

/* For at most @most steps. */
int work_init(struct work *work, uint32_t most);
void work_fini(struct work *work);
void work_add(struct work *work, uint32_t item, struct tessera_bo *bo);
/* @fence: the fence of the last submission. */
int work_submit(struct worker *w, struct work *work, struct tessera_fence **fence);
/* Drops the reference to the fence. */
int work_wait(struct tessera_fence *fence);
int work_run(struct worker *w, struct work *work);

/* ---- CPU writes while the scene is drawn: writes.c ----------------------- */

struct writes;
struct watch;

/*
 * Make the textures of @scene that the CPU writes, store them in @textures, and
 * write those that the scene needs. With @vm the kernel does not know which
 * objects the jobs use, so the library renames objects instead of the kernel.
 * @watch may be NULL. All functions report failures on stderr.
 */
int writes_new(struct tessera_device *dev, const struct scene *scene, bool vm, struct watch *watch,
	       struct gpu_texture *textures, struct summary *summary, struct writes **out);
void writes_del(struct writes *writes);
/*
 * Fill the textures with jobs, so that they are placed for jobs. Then start a
 * thread that writes and reads them.
 */
int writes_begin(struct writes *writes);
/*
 * Called when the scene has been submitted; its last job signals the point.
 * Writes new contents of the textures that the scene uses, for later jobs.
 */
int writes_replace(struct writes *writes, struct tessera_syncobj *timeline, uint64_t point);
/* Stop the thread, and write the contents that the late draws need. */
int writes_end(struct writes *writes);

/* ---- Page faults and copies from the trace: watch.c ----------------------- */

/* NULL if tracefs is missing or not permitted. */
struct watch *watch_new(void);
void watch_del(struct watch *watch);
/*
 * Assign objects with the properties of @like to a way. If two ways have the
 * same properties, the first one wins.
 */
void watch_add(struct watch *watch, const struct drm_tessera_bo_info *like, enum demo_way way);
/* Add the faults and the copies since watch_new() to @summary. */
void watch_read(struct watch *watch, struct summary *summary);

#endif /* DEMO_GPU_H */
