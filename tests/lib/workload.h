/* SPDX-License-Identifier: MIT */
/*
 * A random workload with a reference model: objects in video memory, jobs that
 * fill and copy parts of them through binding slots, and for each object what its
 * bytes must be. The job's stream conforms: all live slots are bound again
 * at each split point, so it may be cut anywhere.
 */
#ifndef TSR_WORKLOAD_H
#define TSR_WORKLOAD_H

#include "tsr.h"

#define WL_SLOTS 6

struct wl_config {
	uint64_t seed;
	uint32_t supported; /* of the objects */
	uint64_t live_bytes; /* most that one split point needs */
	uint64_t total_bytes; /* of all objects */
	uint64_t min_bytes, max_bytes; /* of one object */
	uint32_t flags; /* DRM_TESSERA_BO_* */
};

struct wl_object {
	struct tsr_bo bo;
	uint32_t *model;
};

struct workload {
	struct tsr_device *dev;
	struct wl_config config;
	uint64_t rng;
	struct wl_object *objects;
	uint32_t num_objects;
	int bound[WL_SLOTS]; /* object, or -1 */
	struct tsr_cmd cmd;
	struct tsr_bo staging;
	uint32_t context; /* for reading back */
};

void wl_init(struct workload *wl, struct tsr_device *dev, const struct wl_config *config);
void wl_fini(struct workload *wl);
/* build a job of @steps split points into wl->cmd; the model is what it leaves */
void wl_build(struct workload *wl, uint32_t steps);
/* compare everything, or one object, with the model */
void wl_check(struct workload *wl);
void wl_check_object(struct workload *wl, uint32_t index);
/* drop one object, and make a new one in its place, which reads as zero */
void wl_replace(struct workload *wl, uint32_t index);
/* FNV-1a over all models */
uint64_t wl_hash(const struct workload *wl);

#endif /* TSR_WORKLOAD_H */
