/* SPDX-License-Identifier: MIT */
/*
 * tessera-demo: what its files share. The scene is made once and then drawn twice, by the
 * GPU (gpu.c) and by the CPU (reference.c), which share nothing but the scene.
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
#define DEMO_LARGE_DIM 512 /* longer side of an image as loaded */
#define DEMO_SMALL_DIM 128 /* of its small version */
#define DEMO_SHEET_CELLS 240 /* pictures on the sheet when memory is oversubscribed */

/* ---- Images: image.c ---- */

/* ARGB8888 texels, rows without gaps. */
struct image {
	uint32_t width, height;
	uint32_t *texels;
	char name[64];
};

/*
 * Load up to DEMO_MAX_IMAGES PNG files of @dir in name order, made smaller to @max_dim.
 * Returns their number or a negative errno; what is not a usable PNG is named on stderr and left out.
 */
int images_load(const char *dir, uint32_t max_dim, struct image *images);
/* Patterns that need no files. Returns their number or a negative errno. */
int images_make(struct image *images);
/* An area-averaged copy no larger than @max_dim. */
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
 * Who writes a texture: jobs, from a staging buffer, or the CPU, through a pointer that it keeps while
 * the object moves. Through the pointer it gets at …
 */
enum demo_way {
	WAY_JOBS,
	WAY_BAR, /* … memory that it sees */
	WAY_RANGE, /* … the same, swizzled, by swizzling ranges */
	WAY_HOST_APERTURE, /* … memory that it does not see, by pages of the host aperture */
	WAY_DISCARD, /* … another object instead of one that jobs use (LOCK-3) */
	WAY_SURFACE, /* … the linear twin of a swizzled one (SWZ-18) */
	WAY_COUNT
};

/*
 * A texture is an image as it is, or a variant: the image scaled to the size of a tile and tinted by
 * a BLIT, and the tile repeated over the whole texture by COPYs.
 */
struct scene_texture {
	enum demo_way way; /* how the CPU writes it; not a variant then */
	uint32_t
		before; /* WAY_DISCARD: the texture whose place it takes; itself: the first there */
	const struct image *image;
	uint32_t image_index;
	bool small; /* from the small version */
	bool variant;
	uint32_t width, height;
	uint32_t tint; /* of a variant */
	uint32_t tile_width, tile_height; /* of a variant */
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
	uint32_t first_late; /* draws from here on use what the CPU writes while those before run */
	uint64_t texture_bytes; /* of all textures, as swizzled surfaces */
};

struct scene_params {
	struct image *large; /* the images */
	struct image *small; /* the same, smaller */
	uint32_t num_images;
	uint64_t texture_bytes; /* make so many bytes of variants; 0: the images themselves */
	uint32_t seed;
};

int scene_make(const struct scene_params *params, struct scene *scene);
void scene_free(struct scene *scene);

/* ---- The CPU's drawing: reference.c ---- */

int reference_render(const struct scene *scene, struct image *out);
void reference_draw(const struct scene *scene, const struct scene_draw *draw, struct image *target);
/* The texel of a texture, made the way BLIT makes it. */
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
 * Channels may differ by so much, of 255. The hardware manual defines drawing to the bit, so the
 * tolerance is none.
 */
#define DEMO_TOLERANCE 0

int compare_images(const struct image *a, const struct image *b, struct comparison *result,
		   struct image *diff);
bool comparison_passes(const struct comparison *result);

/* ---- The GPU's drawing: gpu.c ---- */

enum demo_split {
	SPLIT_AS_NEEDED,
	SPLIT_ALL,
	SPLIT_RANDOM
};

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
	bool reference_only;
	uint64_t video_memory; /* with reference_only */
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
	PHASE_LATE,
	PHASE_READBACK,
	PHASE_REFERENCE,
	PHASE_COUNT
};

enum demo_job {
	JOB_UPLOAD,
	JOB_VARIANTS,
	JOB_SCENE,
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

struct summary {
	uint32_t images;
	uint32_t textures;
	uint64_t image_bytes;
	uint64_t texture_bytes;
	uint64_t video_memory;
	uint32_t jobs;
	uint32_t submissions[JOB_COUNT];
	uint32_t parts[JOB_COUNT]; /* of all of them */
	uint32_t split_points; /* of the scene */
	uint32_t cmd_bytes;
	uint32_t patches;
	uint32_t allocs;
	uint64_t guest_errors;
	uint64_t paging_ns; /* engine time of this client, if fdinfo tells */
	uint64_t render_ns;
	uint64_t scene_ns; /* from the first word recorded to the end of the last job */
	uint64_t scene_render_ns; /* engine time in it; in the rest of it the engine stalled */
	struct {
		uint32_t id;
		char name[32];
		uint64_t total, used; /* after rendering */
	} segments[31];
	uint32_t num_segments;
	struct {
		uint32_t textures;
		uint32_t renamed; /* WAY_DISCARD: jobs had the old one */
		uint32_t faults[BACKING_COUNT]; /* what was found behind a touched page */
	} ways[WAY_COUNT];
	uint32_t rounds; /* of the CPU's writes while the GPU worked */
	bool traced; /* faults were counted */
	uint64_t phase_ns[PHASE_COUNT];
	struct comparison comparison;
	bool compared;
};

struct gpu;

/* Every function of it says on stderr what failed. */
int gpu_open(const struct options *options, struct gpu **out, struct summary *summary);
void gpu_close(struct gpu *gpu);
int gpu_prepare(struct gpu *gpu, const struct scene *scene, struct summary *summary);
int gpu_render(struct gpu *gpu, const struct scene *scene, struct image *out,
	       struct summary *summary);

/* ---- The screen: screen.c ---- */

/* Show it by flips, say `SCREEN CRC32`, and keep it there until a line is read. */
int screen_show(const struct image *picture);

/* ---- summary.c ---- */

uint64_t now_ns(void);
/* Engine times so far. */
void summary_fdinfo(int fd, struct summary *summary);
void summary_print(const struct summary *summary, const struct options *options);
int summary_write_json(const struct summary *summary, const struct options *options);

#endif /* DEMO_H */
