// SPDX-License-Identifier: MIT
/* Rows, samples, and helpers of all benches. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void die(const char *what, int error)
{
	fprintf(stderr, "tessera-bench: %s: %s\n", what, strerror(-error));
	exit(1);
}

void must(const char *what, int ret)
{
	if (ret < 0)
		die(what, ret);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

double ask_memcpy(uint64_t bytes)
{
	char line[64];

	printf("REF memcpy %" PRIu64 "\n", bytes);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || atof(line) <= 0) {
		fprintf(stderr, "tessera-bench: no answer; run me through scripts/bench.sh\n");
		exit(1);
	}
	return atof(line);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void sort(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
}

double median(double *values, int count)
{
	sort(values, count);
	return values[count / 2];
}

void sample(struct row *row, double value, double reference)
{
	if (row->count == MAX_SAMPLES)
		return;
	row->values[row->count] = value;
	row->references[row->count++] = reference;
}

void print_row(const struct row *row)
{
	printf("ROW {\"name\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\"", row->name, row->unit,
	       row->better);
	if (!isnan(row->goal))
		printf(", \"goal\": %g", row->goal);
	for (int pass = 0; pass < 2; pass++) {
		const double *v = pass ? row->references : row->values;

		printf(", \"%s\": [", pass ? "references" : "values");
		for (int i = 0; i < row->count; i++)
			printf("%s%.6g", i ? ", " : "", v[i]);
		printf("]");
	}
	printf("}\n");
	fflush(stdout);
}

void run_cb(const char *what)
{
	must(what, tessera_context_run(bench.ctx, bench.cb));
	tessera_cmdbuf_reset(bench.cb);
}

struct tessera_bo *bo_in(const char *segments, uint64_t size, uint32_t flags)
{
	struct tessera_bo_desc desc = { .size = size, .flags = flags };
	struct tessera_bo *bo;

	must(segments, tessera_bo_desc_segments(bench.dev, &desc, segments));
	must("object", tessera_bo_new(bench.dev, &desc, &bo));
	return bo;
}

struct tessera_view buffer_view(void)
{
	struct tessera_view view;

	tessera_view_init_buffer(&view);
	view.access = TSR_SURF_READ | TSR_SURF_WRITE;
	return view;
}

const char *large_segment(uint64_t *size)
{
	const struct drm_tessera_query_segment *segment;
	const char *name = NULL;

	*size = 0;
	for (uint32_t i = 0; (segment = tessera_device_segment_at(bench.dev, i)); i++) {
		if ((segment->flags & DRM_TESSERA_SEGMENT_APERTURE) || segment->size <= *size)
			continue;
		*size = segment->size;
		name = (const char *)segment->name;
	}
	return name;
}

/* Set a debugfs knob of the driver. */
bool set_knob(const char *name, const char *value)
{
	for (int minor = 0; minor < 64; minor++) {
		char path[128];
		bool ok;
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s", minor, name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		ok = write(fd, value, strlen(value)) > 0;
		close(fd);
		return ok;
	}
	return false;
}
