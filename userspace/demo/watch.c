// SPDX-License-Identifier: MIT
/*
 * Count from the driver's trace events: CPU page faults by the kind of memory
 * that backed the page, evictions, and the bytes that the paging engine copied.
 * The trace also has the properties that each object was created with. They
 * tell which object it is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu.h"

#define FOLDER "/sys/kernel/tracing/instances/tessera-demo"
#define MAX_KINDS 32
#define MAX_OBJECTS 4096

struct watch {
	struct drm_tessera_bo_info kinds[MAX_KINDS];
	enum demo_way kind_ways[MAX_KINDS];
	uint32_t num_kinds;
	/*
	 * By the ids of objects in the trace, modulo MAX_OBJECTS: the driver
	 * counts ids up, and the demo has fewer objects.
	 */
	uint8_t ways[MAX_OBJECTS];
	bool evicted[MAX_OBJECTS]; /* and what happens to the bytes is not known yet */
};

static const char *const backing_names[BACKING_COUNT] = {
	[BACKING_BAR] = "bar",
	[BACKING_RANGE] = "swizzle-range",
	[BACKING_HOST_APERTURE] = "host-aperture",
	[BACKING_SYSTEM] = "system",
};

static bool put(const char *file, const char *text)
{
	char path[128];
	FILE *f;
	bool good;

	snprintf(path, sizeof(path), FOLDER "/%s", file);
	f = fopen(path, "we");
	if (!f)
		return false;
	good = fputs(text, f) >= 0;
	return !fclose(f) && good;
}

struct watch *watch_new(void)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	if (!mkdir(FOLDER, 0700) && put("buffer_size_kb", "4096") &&
	    put("events/tessera/tessera_bo_create/enable", "1") &&
	    put("events/tessera/tessera_cpu_fault/enable", "1") &&
	    put("events/tessera/tessera_evict/enable", "1") &&
	    put("events/tessera/tessera_paging_op/enable", "1"))
		return watch;
	watch_del(watch);
	return NULL;
}

void watch_del(struct watch *watch)
{
	if (!watch)
		return;
	rmdir(FOLDER);
	free(watch);
}

void watch_add(struct watch *watch, const struct drm_tessera_bo_info *like, enum demo_way way)
{
	if (!watch || watch->num_kinds == MAX_KINDS)
		return;
	watch->kind_ways[watch->num_kinds] = way;
	watch->kinds[watch->num_kinds++] = *like;
}

static void see_create(struct watch *watch, const char *text)
{
	uint32_t bo, client, supported, flags, layout;
	uint64_t size;

	if (sscanf(text,
		   "bo=%" SCNu32 " client=%" SCNu32 " size=%" SCNu64 " supported=%" SCNx32
		   " flags=%" SCNx32 " layout=%" SCNu32,
		   &bo, &client, &size, &supported, &flags, &layout) != 6)
		return;
	bo %= MAX_OBJECTS;
	watch->ways[bo] = WAY_JOBS;
	watch->evicted[bo] = false;
	for (uint32_t i = watch->num_kinds; i--;) {
		const struct drm_tessera_bo_info *k = &watch->kinds[i];

		if (k->size == size && k->supported == supported && k->flags == flags &&
		    k->layout == layout)
			watch->ways[bo] = watch->kind_ways[i];
	}
}

static void see_fault(const struct watch *watch, const char *text, struct summary *summary)
{
	char name[32];
	uint64_t page;
	uint32_t bo;

	if (sscanf(text, "bo=%" SCNu32 " page=%" SCNu64 " backing=%31s", &bo, &page, name) != 3)
		return;
	for (uint32_t i = 0; i < BACKING_COUNT; i++) {
		if (!strcmp(name, backing_names[i]))
			summary->ways[watch->ways[bo % MAX_OBJECTS]].faults[i]++;
	}
}

static void see_evict(struct watch *watch, const char *text, struct summary *summary)
{
	uint32_t bo;

	if (sscanf(text, "bo=%" SCNu32, &bo) != 1)
		return;
	watch->evicted[bo % MAX_OBJECTS] = true;
	summary->paged.evictions++;
}

/*
 * An evicted object leaves memory with a transfer to system pages (segment 0),
 * or is discarded.
 */
static void see_paging(struct watch *watch, const char *text, struct summary *summary)
{
	uint32_t bo, from, to;
	uint64_t size;
	char kind[32];

	if (sscanf(text,
		   "kind=%31s bo=%" SCNu32 " src=%" SCNu32 ":%*x dst=%" SCNu32 ":%*x size=%" SCNu64,
		   kind, &bo, &from, &to, &size) != 5)
		return;
	if (!strcmp(kind, "transfer") && !from)
		summary->paged.in += size;
	if (!strcmp(kind, "transfer") && !to)
		summary->paged.out += size;
	bo %= MAX_OBJECTS;
	if (!strcmp(kind, "discard"))
		summary->paged.clean += watch->evicted[bo];
	watch->evicted[bo] = false;
}

void watch_read(struct watch *watch, struct summary *summary)
{
	char line[512];
	FILE *f;

	if (!watch || !put("tracing_on", "0"))
		return;
	f = fopen(FOLDER "/trace", "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		const char *create = strstr(line, "tessera_bo_create: ");
		const char *fault = strstr(line, "tessera_cpu_fault: ");
		const char *evict = strstr(line, "tessera_evict: ");
		const char *paging = strstr(line, "tessera_paging_op: ");

		if (create)
			see_create(watch, create + strlen("tessera_bo_create: "));
		else if (fault)
			see_fault(watch, fault + strlen("tessera_cpu_fault: "), summary);
		else if (evict)
			see_evict(watch, evict + strlen("tessera_evict: "), summary);
		else if (paging)
			see_paging(watch, paging + strlen("tessera_paging_op: "), summary);
	}
	fclose(f);
	summary->traced = true;
}
