/* SPDX-License-Identifier: MIT */
/*
 * A random workload with a reference model: objects of all kinds, jobs that
 * fill and copy parts of them through binding slots, and for each object the
 * bytes that it must hold. The bytes must be right however objects are evicted,
 * moved or mapped, and wherever jobs are split.
 *
 * The same seed draws the same objects and jobs. Two things also depend on
 * memory and on other clients: where a job is split, and whether it runs to its
 * end. If slots that stay bound leave no hole that is large enough, the rest of
 * the job does not run (SPLIT-34), and the model stops at the same place.
 *
 * - model.c: surfaces on top of plain bytes: address arithmetic, fills and
 *   copies
 * - objects.c: the objects: kinds, sizes, layouts, first contents
 * - ops.c: the jobs: views, and slots that are bound, rebound, kept and dropped
 * - verify.c: comparison with the model, by the GPU and by the CPU
 * - client.c: a process that runs a workload, and disturbances around the jobs
 */
#ifndef TSR_WORKLOAD_H
#define TSR_WORKLOAD_H

#include "tsr.h"

#define WL_SLOTS 8

/* Scales a number of jobs to the time that the run may take. */
static inline uint32_t wl_few(uint32_t count)
{
	return tap_long() ? count : count / (tap_slow() ? 4 : 2) + 1;
}

enum wl_kind {
	WL_VISIBLE, /* linear, in CPU-visible memory */
	WL_TILED, /* swizzled, in CPU-visible memory */
	WL_HIDDEN, /* linear, in memory that the CPU cannot access */
	WL_HIDDEN_TILED,
	WL_EITHER, /* visible or hidden memory */
	WL_SPILL, /* visible memory or the general aperture */
	WL_HIDDEN_SPILL, /* hidden memory or the general aperture */
	WL_GART, /* the general aperture */
	/* the GPU only reads it; read-only or general aperture */
	WL_READ_ONLY,
	WL_KINDS
};

#define WL_ALL ((1u << WL_KINDS) - 1)

struct wl_config {
	uint64_t seed;
	uint32_t kinds; /* mask of 1 << enum wl_kind */
	uint32_t live_64ths; /* limit of what one split point needs of each segment, in 1/64 */
	uint64_t total_bytes; /* of all objects, approximately */
	uint64_t max_bytes; /* of one object; @live_64ths of its segment limits it, too */
	bool explicit_sync; /* some cached objects need cache maintenance by the test */
	uint32_t vm; /* VM that some objects are private to; 0: none */
	int shared; /* dma-buf of an object that all clients read (wl_shared_new()), or 0 */
};

struct wl_object {
	struct tsr_bo bo;
	enum wl_kind kind;
	bool cpu; /* the CPU may map it */
	bool cached; /* its system pages are cached */
	bool private; /* private to a VM: cannot be used by jobs with allocation lists */
	bool read_only; /* no job writes it */
	bool writes; /* the job being drawn may write it */
	uint32_t layout, pitch;
	uint32_t home; /* index of the segment that its size is counted in */
	uint64_t charge; /* bytes it takes there */
	uint8_t *model; /* its bytes in the order that the CPU sees */
};

/* How a slot sees an object. */
struct wl_view {
	struct wl_object *object; /* NULL: nothing is bound */
	struct tsr_surface surface; /* buffers have a width and height here, too */
	uint32_t texel; /* bytes of a texel */
};

struct wl_op {
	uint32_t at; /* offset of its packet */
	bool copy; /* false: a fill */
	struct wl_view dst, src;
	uint32_t dst_x, dst_y, src_x, src_y, width, height, value;
};

struct wl_slot {
	struct wl_view view;
	bool bound; /* bound by a packet: operations may use it */
	bool held; /* the kernel has something bound here, @view or its predecessor */
	bool changed; /* at this split point */
};

struct workload {
	struct tsr_device *dev;
	struct wl_config config;
	uint64_t rng;
	uint32_t job; /* number of the job drawn last */
	struct wl_object *objects;
	uint32_t num_objects;
	struct wl_slot slots[WL_SLOTS];
	struct tsr_cmd cmd;
	struct wl_op *ops;
	uint32_t num_ops, max_ops;
	struct tsr_bo staging;
	uint32_t context; /* context for reading back */
};

void wl_init(struct workload *wl, struct tsr_device *dev, const struct wl_config *config);
void wl_fini(struct workload *wl);
/* Frees the workload. Its objects are left for the kernel to clean up. */
void wl_abandon(struct workload *wl);

/* Draws a job of @steps split points into wl->cmd. */
void wl_build(struct workload *wl, uint32_t steps);
/*
 * Applies the job's operations before offset @end to the model. Call it once
 * for each job, in the order of submission. UINT32_MAX: all operations.
 */
void wl_apply(struct workload *wl, uint32_t end);
/*
 * Submits the job and applies the operations that will run. Returns the number
 * of parts. *@status is the expected status of the fence.
 */
uint32_t wl_submit(struct workload *wl, uint32_t context, uint32_t wait, uint32_t signal,
		   int *status);

/* Compares objects with the model, as the GPU and the CPU see them. */
void wl_check(struct workload *wl);
void wl_check_object(struct workload *wl, struct wl_object *object);
/*
 * Compares a piece of an object through a mapping that the test keeps. The GPU
 * may read the object at the same time.
 */
void wl_peek(struct workload *wl);
/* Compares a piece of an object through the CPU, and writes new bytes to it. */
void wl_poke(struct workload *wl);
void wl_peek_object(struct workload *wl, struct wl_object *object); /* the same for this object */
void wl_poke_object(struct workload *wl, struct wl_object *object);
/* Closes an object, which running jobs may still use, and creates a new one. */
void wl_replace(struct workload *wl, struct wl_object *object);
/* The same for an object without handle and mapping. */
void wl_renew(struct workload *wl, struct wl_object *object);
/* FNV-1a hash over all models. */
uint64_t wl_hash(const struct workload *wl);

/* An object for &wl_config.shared. All clients read it, no client writes it. */
int wl_shared_new(struct tsr_device *dev);

static inline uint64_t wl_pick(struct workload *wl, uint64_t below)
{
	return tap_random(&wl->rng) % below;
}

static inline int32_t wl_pick_priority(struct workload *wl)
{
	return DRM_TESSERA_BO_PRIORITY_MIN +
	       (int32_t)wl_pick(wl, DRM_TESSERA_BO_PRIORITY_MAX - DRM_TESSERA_BO_PRIORITY_MIN + 1);
}

static inline struct wl_object *wl_pick_object(struct workload *wl)
{
	return &wl->objects[wl_pick(wl, wl->num_objects)];
}

/* ---- internal -------------------------------------------------------- */

/*
 * The model's bytes of a view's row from (@x, @y) on, or NULL if they are not
 * contiguous in the model.
 */
uint8_t *wl_model_row(const struct wl_view *view, uint32_t x, uint32_t y);
void wl_model_read(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		   uint32_t height, uint8_t *out);
void wl_model_write(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		    uint32_t height, const uint8_t *in);
void wl_model_fill(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		   uint32_t height, uint32_t value);

/* Offset in the CPU's view of the byte at offset @raw in a segment. */
uint64_t wl_cpu_offset(const struct wl_object *object, uint64_t raw);
/* Fails the test if @got, @bytes from offset @at on, is not the model. */
void wl_compare(const struct workload *wl, const struct wl_object *object, const char *who,
		const void *got, uint64_t at, uint64_t bytes);

/* Applies one operation to the model. */
void wl_apply_op(const struct wl_op *op);

/* Draws a view of the object, writable only if the job may write it. */
void wl_pick_view(struct workload *wl, struct wl_object *object, struct wl_view *view);
/*
 * Draws a rectangle within @width times @height, small enough to be checked
 * quickly in most cases.
 */
void wl_pick_rect(struct workload *wl, const struct wl_op *op, uint32_t width, uint32_t height,
		  uint32_t *x, uint32_t *y, uint32_t *w, uint32_t *h);
/* Draws a start for a span of @count within @whole. */
uint32_t wl_pick_at(struct workload *wl, uint32_t whole, uint32_t count);

/*
 * Create an object of a random kind; describe an object for error texts; most
 * bytes that one split point may need of a segment.
 */
void wl_object_new(struct workload *wl, struct wl_object *object);
void wl_object_describe(const struct wl_object *object, char *text, size_t size);
uint64_t wl_segment_limit(const struct workload *wl, uint32_t index);

/* ---- a process ------------------------------------------------------- */

struct wl_progress {
	volatile uint64_t jobs, parts, cut_short, late, checks;
};

struct wl_plan {
	struct wl_config config;
	uint32_t jobs, steps; /* limit per job */
	uint32_t forced; /* mask of DRM_TESSERA_CONTEXT_FORCE_SPLIT_* that contexts draw from */
	bool abandon; /* leave the objects to the kernel to clean up */
	struct wl_progress *progress; /* in shared memory, or NULL */
};

/*
 * One life of a client: opens the device, runs the jobs, checks all objects.
 * For use with tap_fork().
 */
void wl_client(void *plan);

#endif /* TSR_WORKLOAD_H */
