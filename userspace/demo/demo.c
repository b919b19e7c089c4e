// SPDX-License-Identifier: MIT
/*
 * tessera-demo: render images with the virtual GPU and compare the result with
 * a CPU renderer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"

enum {
	EXIT_RIGHT,
	EXIT_WRONG_PIXELS,
	EXIT_NOT_RENDERED
};

struct demo {
	struct options options;
	struct summary summary;
	struct image large[DEMO_MAX_IMAGES], small[DEMO_MAX_IMAGES];
	uint32_t num_images;
	struct scene scene;
	struct gpu *gpu;
	struct image picture, reference;
};

static int load(struct demo *demo)
{
	uint64_t start = now_ns();
	int count = demo->options.images
			    ? images_load(demo->options.images, DEMO_LARGE_DIM, demo->large)
			    : images_make(demo->large);

	if (count < 0) {
		fprintf(stderr, "tessera-demo: %s: %s\n",
			demo->options.images ? demo->options.images : "images", strerror(-count));
		return count;
	}
	if (!count) {
		fprintf(stderr, "tessera-demo: no usable PNG file in %s\n", demo->options.images);
		return -1;
	}
	demo->num_images = count;
	for (int i = 0; i < count; i++) {
		if (image_shrink(&demo->large[i], DEMO_SMALL_DIM, &demo->small[i]))
			return -1;
		demo->summary.image_bytes +=
			(uint64_t)demo->large[i].width * demo->large[i].height * 4;
	}
	demo->summary.images = count;
	demo->summary.phase_ns[PHASE_LOAD] = now_ns() - start;
	return 0;
}

static int make_scene(struct demo *demo)
{
	const struct scene_params params = {
		.large = demo->large,
		.small = demo->small,
		.num_images = demo->num_images,
		.texture_bytes = demo->options.oversubscribe * demo->summary.video_memory,
		.seed = demo->options.seed,
	};
	uint64_t start = now_ns();
	int ret = scene_make(&params, &demo->scene);

	if (ret) {
		fprintf(stderr, "tessera-demo: scene: %s\n", strerror(-ret));
		return ret;
	}
	demo->summary.textures = demo->scene.num_textures;
	demo->summary.texture_bytes = demo->scene.texture_bytes;
	demo->summary.phase_ns[PHASE_SETUP] += now_ns() - start;
	return 0;
}

static int save(const struct demo *demo, const char *name, const struct image *image)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", demo->options.output, name) >= (int)sizeof(path))
		return -1;
	return image_save(path, image);
}

static int draw_reference(struct demo *demo)
{
	uint64_t start = now_ns();
	int ret = reference_render(&demo->scene, &demo->reference);

	demo->summary.phase_ns[PHASE_REFERENCE] = now_ns() - start;
	if (ret)
		fprintf(stderr, "tessera-demo: reference: %s\n", strerror(-ret));
	return ret;
}

static int compare(struct demo *demo)
{
	struct comparison *result = &demo->summary.comparison;
	struct image diff;

	if (compare_images(&demo->picture, &demo->reference, result, &diff))
		return EXIT_NOT_RENDERED;
	demo->summary.compared = true;
	if (!comparison_passes(result)) {
		save(demo, "diff.png", &diff);
		save(demo, "reference.png", &demo->reference);
	}
	image_free(&diff);
	return comparison_passes(result) ? EXIT_RIGHT : EXIT_WRONG_PIXELS;
}

/*
 * Draw the same scene without one technique. Nothing else of the process is in
 * memory, and the picture must be the same.
 */
static int draw_without(struct demo *demo, enum demo_technique technique)
{
	struct saving *saving = &demo->summary.savings[technique];
	struct options options = demo->options;
	struct comparison result;
	struct summary summary = { 0 };
	struct image picture = { 0 };
	struct gpu *gpu = NULL;
	int ret;

	options.without |= TECHNIQUE_BIT(technique);
	ret = gpu_open(&options, &gpu, &summary);
	if (!ret)
		ret = gpu_prepare(gpu, &demo->scene, &summary);
	if (!ret)
		ret = gpu_render(gpu, &demo->scene, &picture, &summary);
	if (!ret)
		ret = compare_images(&picture, &demo->reference, &result, NULL);
	if (!ret) {
		saving->measured = summary.traced;
		saving->without = summary.paged;
		saving->right = comparison_passes(&result);
		demo->summary.guest_errors = summary.guest_errors;
	}
	gpu_close(gpu);
	image_free(&picture);
	return ret ? ret : !saving->right && saving->measured;
}

static int measure_savings(struct demo *demo)
{
	gpu_close(demo->gpu);
	demo->gpu = NULL;
	for (int i = 0; i < TECHNIQUE_COUNT; i++) {
		if (!(demo->summary.techniques & TECHNIQUE_BIT(i)))
			continue;
		if (draw_without(demo, i)) {
			fprintf(stderr, "tessera-demo: wrong without %s\n", technique_names[i]);
			return EXIT_NOT_RENDERED;
		}
	}
	return EXIT_RIGHT;
}

static int run(struct demo *demo)
{
	int ret;

	if (load(demo))
		return EXIT_NOT_RENDERED;
	if (demo->options.reference_only) {
		demo->summary.video_memory = demo->options.video_memory;
		if (make_scene(demo) || draw_reference(demo) ||
		    save(demo, "reference.png", &demo->reference))
			return EXIT_NOT_RENDERED;
		return EXIT_RIGHT;
	}
	if (gpu_open(&demo->options, &demo->gpu, &demo->summary) || make_scene(demo) ||
	    gpu_prepare(demo->gpu, &demo->scene, &demo->summary) ||
	    gpu_render(demo->gpu, &demo->scene, &demo->picture, &demo->summary) ||
	    save(demo, "scene.png", &demo->picture) ||
	    (demo->options.show && screen_show(&demo->picture)) || draw_reference(demo))
		return EXIT_NOT_RENDERED;
	ret = compare(demo);
	if (!ret && demo->options.savings)
		ret = measure_savings(demo);
	if (!ret && demo->summary.guest_errors) {
		fprintf(stderr, "tessera-demo: the device counted errors\n");
		return EXIT_NOT_RENDERED;
	}
	return ret;
}

int main(int argc, char **argv)
{
	static struct demo demo;
	int ret = options_parse(argc, argv, &demo.options);

	if (ret)
		return ret > 0 ? EXIT_RIGHT : EXIT_NOT_RENDERED;
	ret = run(&demo);
	if (ret != EXIT_NOT_RENDERED || demo.summary.jobs)
		summary_print(&demo.summary, &demo.options);
	if (summary_write_json(&demo.summary, &demo.options))
		ret = EXIT_NOT_RENDERED;
	gpu_close(demo.gpu);
	scene_free(&demo.scene);
	for (uint32_t i = 0; i < demo.num_images; i++) {
		image_free(&demo.large[i]);
		image_free(&demo.small[i]);
	}
	image_free(&demo.picture);
	image_free(&demo.reference);
	return ret;
}
