/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of tessera-demo. The scene is made once and drawn twice, by the
 * GPU (gpu.c) and by the CPU (reference.c). The two renderers share only the
 * scene.
 */
#ifndef DEMO_H
#define DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMO_TARGET_WIDTH 1280
#define DEMO_TARGET_HEIGHT 800
#define DEMO_MAX_IMAGES 64
#define DEMO_MAX_TEXTURES 4096
#define DEMO_LARGE_DIM 512 /* longer side of a loaded image */
#define DEMO_SMALL_DIM 128 /* longer side of its small version */
#define DEMO_SHEET_CELLS 240 /* pictures on the sheet when memory is oversubscribed */
#define DEMO_FRAMES 12 /* submissions that draw over the sheet */

/* ---- Images: image.c ---- */

/* ARGB8888 texels, rows without gaps. */
struct image {
	uint32_t width, height;
	uint32_t *texels;
	char name[64];
};

/*
 * Load up to DEMO_MAX_IMAGES PNG files of @dir in name order, shrunk to
 * @max_dim. Returns their number or a negative errno. Files that are no usable
 * PNG are reported on stderr and skipped.
 */
int images_load(const char *dir, uint32_t max_dim, struct image *images);
/*
 * Make patterns, which need no files. Returns their number or a negative errno.
 */
int images_make(struct image *images);
/* Make an area-averaged copy no larger than @max_dim. */
int image_shrink(const struct image *from, uint32_t max_dim, struct image *to);
void image_free(struct image *image);
int image_save(const char *path, const struct image *image);

/* ---- The scene: scene.c ---- */

struct vertex {
	int32_t x, y; /* 1/256 pixel */
	int32_t u, v; /* 1/65536 texel */
	uint32_t color;
	uint32_t pad;
};

/*
 * How a texture is written: by jobs, from a staging buffer, or by the CPU,
 * through a pointer that it keeps while the object moves. The other values name
 * what such a pointer accesses.
 */
enum demo_way {
	WAY_JOBS,
	WAY_BAR, /* CPU-visible memory */
	WAY_RANGE, /* the same, swizzled, through swizzling ranges */
	WAY_HOST_APERTURE, /* memory that the CPU cannot see, through the host aperture */
	WAY_DISCARD, /* a renamed instance, while jobs use the old one (LOCK-3) */
	WAY_SURFACE, /* the linear twin of a swizzled object (SWZ-18) */
	WAY_COUNT
};

/*
 * How often the sheet and the frames draw a texture. The GPU renderer tells the
 * kernel what follows from that.
 */
enum scene_use {
	USE_SOME, /* by the sheet, and for variants by one frame */
	USE_ONCE, /* by the sheet only */
	USE_AGAIN, /* by the sheet, and by each fourth frame */
};

/*
 * A texture is an image, or a variant of it: a BLIT scales the image to the
 * size of a tile and tints it, and COPYs repeat the tile over the whole
 * texture.
 */
struct scene_texture {
	enum demo_way way; /* unless WAY_JOBS, the texture is not a variant */
	enum scene_use use;
	/* WAY_DISCARD: the texture that it replaces; the first one: itself. */
	uint32_t before;
	const struct image *image;
	uint32_t image_index;
	bool small; /* uses the small version of the image */
	bool variant;
	uint32_t width, height;
	uint32_t tint; /* variants only */
	uint32_t tile_width, tile_height; /* variants only */
	uint32_t layout; /* TSR_LAYOUT_* */
};

struct scene_draw {
	int texture; /* index; -1: untextured */
	uint32_t sampler; /* TSR_SAMPLER_* */
	uint32_t blend; /* TSR_BLEND_* */
	uint32_t color;
	uint32_t num_vertices;
	struct vertex vertices[6];
};

struct scene {
	uint32_t width, height;
	uint32_t clear;
	struct scene_texture *textures;
	uint32_t num_textures;
	struct scene_draw *draws;
	uint32_t num_draws;
	/* The draws of frame n are [first_frame[n], first_frame[n + 1]). */
	uint32_t first_frame[DEMO_FRAMES + 1];
	/*
	 * draws from here on use textures that the CPU writes during the
	 * earlier draws
	 */
	uint32_t first_late;
	uint64_t texture_bytes; /* of all textures, counted as swizzled surfaces */
};

struct scene_params {
	struct image *large; /* the images */
	struct image *small; /* their small versions */
	uint32_t num_images;
	/* total bytes of the variants to make; 0: use the images themselves */
	uint64_t texture_bytes;
	uint32_t seed;
};

int scene_make(const struct scene_params *params, struct scene *scene);
void scene_free(struct scene *scene);

/* ---- The CPU renderer: reference.c --------------------------------------- */

int reference_render(const struct scene *scene, struct image *out);
void reference_draw(const struct scene *scene, const struct scene_draw *draw, struct image *target);
/* Texel of a texture, computed as BLIT computes it. */
uint32_t reference_texel(const struct scene_texture *texture, uint32_t x, uint32_t y);

/* ---- Comparison: compare.c ---- */

struct comparison {
	uint64_t pixels;
	uint64_t differing; /* any channel not equal */
	uint64_t beyond; /* any channel differs by more than the tolerance */
	uint32_t worst; /* largest difference of a channel */
	double mean; /* mean absolute difference of the channels */
};

/*
 * Tolerance of a channel, in 1/255. It is zero, because the hardware manual
 * defines drawing exactly.
 */
#define DEMO_TOLERANCE 0

int compare_images(const struct image *a, const struct image *b, struct comparison *result,
		   struct image *diff);
bool comparison_passes(const struct comparison *result);

/* ---- The GPU renderer: gpu.c --------------------------------------------- */

enum demo_split {
	SPLIT_AS_NEEDED,
	SPLIT_ALL,
	SPLIT_RANDOM
};

/* Techniques that save copies when not all objects fit in memory. */
enum demo_technique {
	TECHNIQUE_PRIORITIES, /* objects of high priority stay in memory (SEG-37) */
	TECHNIQUE_READ_SETS, /* jobs read objects in the read-only aperture (SEG-38) */
	TECHNIQUE_CLEAN_EVICTION, /* objects that were only read leave without a copy (RES-9) */
	TECHNIQUE_COUNT
};

#define TECHNIQUE_BIT(technique) (1U << (technique))

struct options {
	const char *images; /* NULL: patterns */
	const char *output;
	const char *device; /* path, NULL: first */
	const char *summary_json;
	double oversubscribe; /* 0: off */
	bool vm; /* virtual addresses; else patched */
	enum demo_split split;
	uint32_t split_seed;
	uint32_t seed;
	bool show; /* on the screen */
	uint32_t without; /* TECHNIQUE_BIT() of techniques not to use */
	bool savings; /* draw again without each technique */
	bool reference_only;
	uint64_t video_memory; /* used with reference_only */
};

int options_parse(int argc, char **argv, struct options *options);

enum demo_phase {
	PHASE_LOAD,
	PHASE_SETUP,
	PHASE_UPLOAD,
	PHASE_VARIANTS,
	PHASE_RECORD,
	PHASE_SUBMIT,
	PHASE_RENDER,
	PHASE_FRAMES,
	PHASE_LATE,
	PHASE_READBACK,
	PHASE_REFERENCE,
	PHASE_COUNT
};

enum demo_job {
	JOB_UPLOAD,
	JOB_VARIANTS,
	JOB_SCENE,
	JOB_FRAMES,
	JOB_LATE,
	JOB_COUNT
};

enum demo_backing {
	BACKING_BAR,
	BACKING_RANGE,
	BACKING_HOST_APERTURE,
	BACKING_SYSTEM,
	BACKING_COUNT
};

/* What the paging engine copied, from the trace. */
struct paged {
	uint64_t in, out; /* bytes copied between system pages and memory */
	uint32_t evictions; /* of objects from memory or an aperture */
	uint32_t clean; /* evictions from memory that copied nothing */
};

struct saving {
	bool measured;
	bool right; /* the picture without the technique */
	struct paged without;
};

struct summary {
	uint32_t images;
	uint32_t textures;
	uint64_t image_bytes;
	uint64_t texture_bytes;
	uint64_t video_memory;
	uint32_t jobs;
	uint32_t submissions[JOB_COUNT];
	uint32_t parts[JOB_COUNT]; /* sum over all submissions */
	uint32_t split_points; /* of the scene */
	uint32_t cmd_bytes;
	uint32_t patches;
	uint32_t allocs;
	uint64_t guest_errors;
	uint64_t paging_ns; /* engine time of this client, if fdinfo has it */
	uint64_t render_ns;
	uint64_t scene_ns; /* from the first recorded word to the end of the last job */
	/*
	 * engine time of the scene; in the rest of scene_ns the engine was idle
	 */
	uint64_t scene_render_ns;
	struct {
		uint32_t id;
		char name[32];
		uint64_t total, used; /* after rendering */
	} segments[31];
	uint32_t num_segments;
	struct {
		uint32_t textures;
		uint32_t renamed; /* WAY_DISCARD: objects that jobs used were replaced */
		uint32_t faults[BACKING_COUNT]; /* by the memory that backed the page */
	} ways[WAY_COUNT];
	uint32_t rounds; /* rounds of CPU writes while the GPU worked */
	bool traced; /* faults and copies were counted */
	uint32_t techniques; /* TECHNIQUE_BIT() of techniques in use */
	struct paged paged;
	struct saving savings[TECHNIQUE_COUNT];
	uint64_t phase_ns[PHASE_COUNT];
	struct comparison comparison;
	bool compared;
};

struct gpu;

/* All gpu_ functions report failures on stderr. */
int gpu_open(const struct options *options, struct gpu **out, struct summary *summary);
void gpu_close(struct gpu *gpu);
int gpu_prepare(struct gpu *gpu, const struct scene *scene, struct summary *summary);
int gpu_render(struct gpu *gpu, const struct scene *scene, struct image *out,
	       struct summary *summary);

/* ---- The screen: screen.c ---- */

/*
 * Show the picture with page flips, print `SCREEN CRC32`, and keep it shown
 * until a line is read.
 */
int screen_show(const struct image *picture);

/* ---- summary.c ---- */

/* By technique; also the words of --without. */
extern const char *const technique_names[TECHNIQUE_COUNT];

uint64_t now_ns(void);
/* Read the engine times so far. */
void summary_fdinfo(int fd, struct summary *summary);
void summary_print(const struct summary *summary, const struct options *options);
int summary_write_json(const struct summary *summary, const struct options *options);

#endif /* DEMO_H */
