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

/* ---- What the CPU writes while the scene is drawn: writes.c ---- */

struct writes;

/*
 * Make the textures of @scene that the CPU writes, into @textures, and write those that the scene needs.
 * All functions say on stderr what failed.
 */
int writes_new(struct tessera_device *dev, const struct scene *scene, struct gpu_texture *textures,
	       struct summary *summary, struct writes **out);
void writes_del(struct writes *writes);
/* Have jobs fill them, so that they are where jobs want them; then begin to write and read, in a thread. */
int writes_begin(struct writes *writes);
/* The scene was submitted: write what it uses anew, for the jobs behind it. */
int writes_replace(struct writes *writes);
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
