/* SPDX-License-Identifier: MIT */
/*
 * A random workload with a reference model: objects of all kinds, jobs that fill and copy
 * parts of them through binding slots, and for each object what its bytes must be.
 * Whatever is evicted, cut, moved or mapped meanwhile, they must be that.
 *
 * The same seed draws the same objects and jobs. What depends on memory and on others is how
 * a job is cut, and whether it can run to its end: where slots that stay bound leave no hole
 * the rest of it does not run (SPLIT-34), and the model stops at the same place.
 *
 *  model.c    surfaces on top of plain bytes: the address arithmetic, fills and copies
 *  objects.c  which objects there are: kinds, sizes, layouts, first contents
 *  ops.c      what a job does: views, slots bound, bound again, kept and dropped
 *  verify.c   what is looked at: by the GPU, by the CPU, and by the CPU that writes as well
 *  client.c   a process that does all that, and what goes on around it
 */
#ifndef TSR_WORKLOAD_H
#define TSR_WORKLOAD_H

#include "tsr.h"

#define WL_SLOTS 8

/* of so many jobs as many as there is time for */
static inline uint32_t wl_few(uint32_t count)
{
	return tap_long() ? count : count / (tap_slow() ? 4 : 2) + 1;
}

enum wl_kind {
	WL_VISIBLE, /* linear, in memory the CPU sees */
	WL_TILED, /* swizzled, likewise */
	WL_HIDDEN, /* linear, in memory the CPU does not see */
	WL_HIDDEN_TILED,
	WL_EITHER, /* in one or the other */
	WL_SPILL, /* visible memory or the general aperture */
	WL_HIDDEN_SPILL, /* hidden memory or the general aperture */
	WL_GART, /* the general aperture */
	WL_READ_ONLY, /* the GPU only reads; an aperture that is read-only, or not */
	WL_KINDS
};

#define WL_ALL ((1u << WL_KINDS) - 1)

struct wl_config {
	uint64_t seed;
	uint32_t kinds; /* set of 1 << enum wl_kind */
	uint32_t live_64ths; /* of each segment: most that one split point needs of it */
	uint64_t total_bytes; /* of all objects, about */
	uint64_t max_bytes; /* of one object; none is larger than what is live of its segment */
	bool explicit_sync; /* some cached objects have their caches maintained by who uses them */
	uint32_t vm; /* some objects are private to it; 0: none */
	int shared; /* dma-buf of an object that everybody reads (wl_shared_new()), or 0 */
};

struct wl_object {
	struct tsr_bo bo;
	enum wl_kind kind;
	bool cpu; /* the CPU may map it */
	bool cached; /* and has its system pages in its caches */
	bool private; /* to a VM: no job with lists uses it */
	bool read_only; /* no job writes it */
	bool writes; /* the job being drawn may */
	uint32_t layout, pitch;
	uint32_t home; /* index of the segment it is counted in */
	uint64_t charge; /* what it takes there */
	uint8_t *model; /* its bytes as the CPU sees them */
};

/* How a slot sees an object. */
struct wl_view {
	struct wl_object *object; /* NULL: nothing is bound */
	struct tsr_surface surface; /* of a buffer with width and height */
	uint32_t texel; /* bytes */
};

struct wl_op {
	uint32_t at; /* offset of its packet */
	bool copy; /* else a fill */
	struct wl_view dst, src;
	uint32_t dst_x, dst_y, src_x, src_y, width, height, value;
};

struct wl_slot {
	struct wl_view view;
	bool bound; /* by a packet: may be used */
	bool held; /* the kernel has something in it, this or what was before */
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
	uint32_t context; /* for reading back */
};

void wl_init(struct workload *wl, struct tsr_device *dev, const struct wl_config *config);
void wl_fini(struct workload *wl);
/* what is left of a workload whose objects the kernel is to find by itself */
void wl_abandon(struct workload *wl);

/* draw a job of @steps split points into wl->cmd */
void wl_build(struct workload *wl, uint32_t steps);
/*
 * Its packets before @end have run, or will: have the model do the same. To be called once for
 * each job, in the order of submission. UINT32_MAX: all.
 */
void wl_apply(struct workload *wl, uint32_t end);
/* submit it, and apply what will run; the number of parts. The fence will carry *@status. */
uint32_t wl_submit(struct workload *wl, uint32_t context, uint32_t wait, uint32_t signal,
		   int *status);

/* compare everything, or one object, with the model, as the GPU sees it and the CPU */
void wl_check(struct workload *wl);
void wl_check_object(struct workload *wl, struct wl_object *object);
/* the CPU looks at a piece of an object through a pointer it keeps, while the GPU may read it */
void wl_peek(struct workload *wl);
/* the CPU looks at a piece, and writes it */
void wl_poke(struct workload *wl);
void wl_peek_object(struct workload *wl, struct wl_object *object); /* this one */
void wl_poke_object(struct workload *wl, struct wl_object *object);
/* drop an object, which jobs under way may use, and make another in its place */
void wl_replace(struct workload *wl, struct wl_object *object);
/* the same where the handle is closed, and the mapping gone, already */
void wl_renew(struct workload *wl, struct wl_object *object);
/* FNV-1a over all models */
uint64_t wl_hash(const struct workload *wl);

/* an object for &wl_config.shared: read by everybody, written by nobody */
int wl_shared_new(struct tsr_device *dev);

static inline uint64_t wl_pick(struct workload *wl, uint64_t below)
{
	return tap_random(&wl->rng) % below;
}

static inline struct wl_object *wl_pick_object(struct workload *wl)
{
	return &wl->objects[wl_pick(wl, wl->num_objects)];
}

/* ---- inside ------------------------------------------------------------------ */

/* a run of bytes of a model that a row of a view shows, or NULL if it is not in one piece */
uint8_t *wl_model_row(const struct wl_view *view, uint32_t x, uint32_t y);
void wl_model_read(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		   uint32_t height, uint8_t *out);
void wl_model_write(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		    uint32_t height, const uint8_t *in);
void wl_model_fill(const struct wl_view *view, uint32_t x, uint32_t y, uint32_t width,
		   uint32_t height, uint32_t value);

/* where the CPU sees the byte that memory segments have at that offset of an object */
uint64_t wl_cpu_offset(const struct wl_object *object, uint64_t raw);
/* bytes of an object from @at on are what the model says, or the test fails */
void wl_compare(const struct workload *wl, const struct wl_object *object, const char *who,
		const void *got, uint64_t at, uint64_t bytes);

/* have the model do one of them */
void wl_apply_op(const struct wl_op *op);

/* any view of the object, written or not */
void wl_pick_view(struct workload *wl, struct wl_object *object, struct wl_view *view);
/* no more than is reasonable of a rectangle of at most @width times @height */
void wl_pick_rect(struct workload *wl, const struct wl_op *op, uint32_t width, uint32_t height,
		  uint32_t *x, uint32_t *y, uint32_t *w, uint32_t *h);
/* another place for a span of a known length */
uint32_t wl_pick_at(struct workload *wl, uint32_t whole, uint32_t count);

/* the object as a whole, as surface or buffer of 32-bit words, rows of @pitch */
void wl_object_new(struct workload *wl, struct wl_object *object);
void wl_object_describe(const struct wl_object *object, char *text, size_t size);
uint64_t wl_segment_limit(const struct workload *wl, uint32_t index);

/* ---- a process ---------------------------------------------------------------- */

struct wl_progress {
	volatile uint64_t jobs, parts, cut_short, late, checks;
};

struct wl_plan {
	struct wl_config config;
	uint32_t jobs, steps; /* of each job at most */
	uint32_t forced; /* set of DRM_TESSERA_CONTEXT_FORCE_SPLIT_*; contexts draw from it */
	bool abandon; /* leave it to the kernel to clean up */
	struct wl_progress *progress; /* shared memory, or NULL */
};

/* one life: open the device, do it all, check everything; fit for tap_fork() */
void wl_client(void *plan);

#endif /* TSR_WORKLOAD_H */
