// SPDX-License-Identifier: MIT
/* The summary of a run, as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "demo.h"

static const char *const phase_names[PHASE_COUNT] = {
	[PHASE_LOAD] = "load",		 [PHASE_SETUP] = "setup",   [PHASE_UPLOAD] = "upload",
	[PHASE_VARIANTS] = "variants",	 [PHASE_RECORD] = "record", [PHASE_SUBMIT] = "submit",
	[PHASE_RENDER] = "render",	 [PHASE_LATE] = "late",	    [PHASE_READBACK] = "readback",
	[PHASE_REFERENCE] = "reference", [PHASE_FRAMES] = "frames",
};

const char *const technique_names[TECHNIQUE_COUNT] = {
	[TECHNIQUE_PRIORITIES] = "priorities",
	[TECHNIQUE_READ_SETS] = "read-sets",
	[TECHNIQUE_CLEAN_EVICTION] = "clean-eviction",
};

static const char *const way_names[WAY_COUNT] = {
	[WAY_BAR] = "bar",
	[WAY_RANGE] = "swizzle-range",
	[WAY_HOST_APERTURE] = "host-aperture",
	[WAY_DISCARD] = "discard",
	[WAY_SURFACE] = "surface",
};

static const char *const backing_names[BACKING_COUNT] = {
	[BACKING_BAR] = "bar",
	[BACKING_RANGE] = "swizzle-range",
	[BACKING_HOST_APERTURE] = "host-aperture",
	[BACKING_SYSTEM] = "system",
};

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* Engine times of the demo's DRM file, in the format of drm-usage-stats. */
void summary_fdinfo(int fd, struct summary *summary)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return;
	summary->paging_ns = 0;
	summary->render_ns = 0;
	while (fgets(line, sizeof(line), f)) {
		char name[32];
		uint64_t ns;

		if (sscanf(line, "drm-engine-%31[^:]: %" SCNu64 " ns", name, &ns) != 2)
			continue;
		if (!strncmp(name, "paging", 6))
			summary->paging_ns += ns;
		else if (!strncmp(name, "render", 6))
			summary->render_ns += ns;
	}
	fclose(f);
}

static double mib(uint64_t bytes)
{
	return bytes / 1048576.0;
}

static void print_ways(const struct summary *s)
{
	printf("CPU         %u rounds of writing through kept pointers while the GPU worked\n",
	       s->rounds);
	for (int way = WAY_BAR; way < WAY_COUNT; way++) {
		printf("  %-13s %u textures", way_names[way], s->ways[way].textures);
		if (way == WAY_DISCARD)
			printf(", %u replaced while jobs used them", s->ways[way].renamed);
		for (int b = 0; b < BACKING_COUNT && s->traced; b++) {
			if (s->ways[way].faults[b])
				printf(", %u faults on %s", s->ways[way].faults[b],
				       backing_names[b]);
		}
		printf("%s\n", s->traced ? "" : ", faults not traced");
	}
}

static void write_ways(const struct summary *s, FILE *f)
{
	fprintf(f, "  \"cpu_rounds\": %u,\n  \"cpu_written\": [", s->rounds);
	for (int way = WAY_BAR; way < WAY_COUNT; way++) {
		fprintf(f, "%s{\"way\": \"%s\", \"textures\": %u, \"renamed\": %u",
			way == WAY_BAR ? "" : ", ", way_names[way], s->ways[way].textures,
			s->ways[way].renamed);
		for (int b = 0; b < BACKING_COUNT && s->traced; b++)
			fprintf(f, ", \"faults_%s\": %u", backing_names[b], s->ways[way].faults[b]);
		fprintf(f, "}");
	}
	fprintf(f, "],\n");
}

static void print_copies(const struct summary *s)
{
	printf("copies      ");
	if (s->traced)
		printf("%.1f MiB in, %.1f MiB out; %u evictions, %u clean; uses", mib(s->paged.in),
		       mib(s->paged.out), s->paged.evictions, s->paged.clean);
	else
		printf("not traced; uses");
	for (int i = 0; i < TECHNIQUE_COUNT; i++) {
		if (s->techniques & TECHNIQUE_BIT(i))
			printf(" %s", technique_names[i]);
	}
	printf("%s\n", s->techniques ? "" : " nothing");
}

/* How many more bytes the same scene takes without each technique. */
static void print_savings(const struct summary *s)
{
	for (int i = 0; i < TECHNIQUE_COUNT; i++) {
		const struct paged *without = &s->savings[i].without;

		if (!s->savings[i].measured)
			continue;
		printf("saved by    %-15s out %.1f MiB (without: %.1f), in %.1f MiB (without: "
		       "%.1f): "
		       "%.1f and %.1f MiB; %s\n",
		       technique_names[i], mib(s->paged.out), mib(without->out), mib(s->paged.in),
		       mib(without->in), mib(without->out) - mib(s->paged.out),
		       mib(without->in) - mib(s->paged.in),
		       s->savings[i].right ? "right" : "WRONG");
	}
}

static void write_paged(const struct paged *paged, FILE *f)
{
	fprintf(f, "\"in\": %" PRIu64 ", \"out\": %" PRIu64 ", \"evictions\": %u, \"clean\": %u}",
		paged->in, paged->out, paged->evictions, paged->clean);
}

static void write_copies(const struct summary *s, FILE *f)
{
	if (!s->traced)
		return;
	fprintf(f, "  \"paged\": {");
	write_paged(&s->paged, f);
	fprintf(f, ",\n");
	for (int i = 0; i < TECHNIQUE_COUNT; i++) {
		if (!s->savings[i].measured)
			continue;
		fprintf(f, "  \"paged_without_%s\": {\"right\": %s, ", technique_names[i],
			s->savings[i].right ? "true" : "false");
		write_paged(&s->savings[i].without, f);
		fprintf(f, ",\n");
	}
}

static void print_work(const struct summary *s, const struct options *options)
{
	const char *what = options->vm ? "phases" : "parts ";
	const uint32_t *count = options->vm ? s->submissions : s->parts;

	printf("model       %s\n", options->vm ? "virtual addresses" : "patched");
	printf("submission  %u bytes of commands, %u allocations, %u patches, %u split points\n",
	       s->cmd_bytes, s->allocs, s->patches, s->split_points);
	printf("%s      scene %u (%u cuts), upload %u, variants %u, frames %u, late draws %u; %u "
	       "jobs\n",
	       what, count[JOB_SCENE], s->parts[JOB_SCENE] - s->submissions[JOB_SCENE],
	       count[JOB_UPLOAD], count[JOB_VARIANTS], count[JOB_FRAMES], count[JOB_LATE], s->jobs);
	printf("scene       %.3f s, in which the engine worked for %.3f s\n", s->scene_ns / 1e9,
	       s->scene_render_ns / 1e9);
}

void summary_print(const struct summary *s, const struct options *options)
{
	printf("images      %u, %.1f MiB as loaded\n", s->images, mib(s->image_bytes));
	printf("textures    %u, %.1f MiB: %.2f times the video memory of %.0f MiB\n", s->textures,
	       mib(s->texture_bytes), (double)s->texture_bytes / s->video_memory,
	       mib(s->video_memory));
	if (!options->reference_only) {
		print_work(s, options);
		print_copies(s);
		print_ways(s);
		printf("segments    MiB used after rendering:");
		for (uint32_t i = 0; i < s->num_segments; i++)
			printf("%s %s %.1f of %.0f", i ? "," : "", s->segments[i].name,
			       mib(s->segments[i].used), mib(s->segments[i].total));
		printf("\n");
		printf("engines     render %.3f s, paging %.3f s; %" PRIu64 " guest errors\n",
		       s->render_ns / 1e9, s->paging_ns / 1e9, s->guest_errors);
	}
	printf("time       ");
	for (int i = 0; i < PHASE_COUNT; i++)
		printf(" %s %.2f", phase_names[i], s->phase_ns[i] / 1e9);
	printf(" s\n");
	if (s->compared)
		printf("compared    %" PRIu64 " of %" PRIu64 " pixels differ, %" PRIu64
		       " by more than %d/255; worst %u, mean %.4f: %s\n",
		       s->comparison.differing, s->comparison.pixels, s->comparison.beyond,
		       DEMO_TOLERANCE, s->comparison.worst, s->comparison.mean,
		       comparison_passes(&s->comparison) ? "right" : "WRONG");
	print_savings(s);
}

int summary_write_json(const struct summary *s, const struct options *options)
{
	FILE *f;

	if (!options->summary_json)
		return 0;
	f = fopen(options->summary_json, "we");
	if (!f) {
		fprintf(stderr, "tessera-demo: %s: %s\n", options->summary_json, strerror(errno));
		return -EIO;
	}
	fprintf(f, "{\n  \"images\": %u,\n  \"image_bytes\": %" PRIu64 ",\n", s->images,
		s->image_bytes);
	fprintf(f,
		"  \"textures\": %u,\n  \"texture_bytes\": %" PRIu64
		",\n  \"video_memory\": %" PRIu64 ",\n",
		s->textures, s->texture_bytes, s->video_memory);
	fprintf(f,
		"  \"model\": \"%s\",\n  \"submissions\": %u,\n  \"scene_ns\": %" PRIu64
		",\n  \"stall_ns\": %" PRIu64 ",\n",
		options->vm ? "vm" : "patched", s->submissions[JOB_SCENE], s->scene_ns,
		s->scene_ns > s->scene_render_ns ? s->scene_ns - s->scene_render_ns : 0);
	fprintf(f,
		"  \"jobs\": %u,\n  \"parts\": %u,\n  \"parts_upload\": %u,\n"
		"  \"parts_variants\": %u,\n  \"split_points\": %u,\n",
		s->jobs, s->parts[JOB_SCENE], s->parts[JOB_UPLOAD], s->parts[JOB_VARIANTS],
		s->split_points);
	fprintf(f,
		"  \"cmd_bytes\": %u,\n  \"patches\": %u,\n  \"allocs\": %u,\n"
		"  \"guest_errors\": %" PRIu64 ",\n",
		s->cmd_bytes, s->patches, s->allocs, s->guest_errors);
	write_copies(s, f);
	write_ways(s, f);
	fprintf(f, "  \"render_ns\": %" PRIu64 ",\n  \"paging_ns\": %" PRIu64 ",\n", s->render_ns,
		s->paging_ns);
	fprintf(f, "  \"segments\": [");
	for (uint32_t i = 0; i < s->num_segments; i++)
		fprintf(f,
			"%s{\"id\": %u, \"name\": \"%s\", \"size\": %" PRIu64 ", \"used\": %" PRIu64
			"}",
			i ? ", " : "", s->segments[i].id, s->segments[i].name, s->segments[i].total,
			s->segments[i].used);
	fprintf(f, "],\n  \"phases_ns\": {");
	for (int i = 0; i < PHASE_COUNT; i++)
		fprintf(f, "%s\"%s\": %" PRIu64, i ? ", " : "", phase_names[i], s->phase_ns[i]);
	fprintf(f, "},\n  \"compared\": %s,\n  \"differing\": %" PRIu64 ",\n",
		s->compared ? "true" : "false", s->comparison.differing);
	fprintf(f, "  \"beyond_tolerance\": %" PRIu64 ",\n  \"worst\": %u,\n  \"right\": %s\n}\n",
		s->comparison.beyond, s->comparison.worst,
		s->compared && comparison_passes(&s->comparison) ? "true" : "false");
	return fclose(f) ? -EIO : 0;
}
