// SPDX-License-Identifier: MIT
/*
 * Kernel memory that one client can use for unfinished work.
 *
 * The device is slow (x-render-delay-us), so that work accumulates up to the
 * limit. There are several kinds of clients. Each uses another cheap way to
 * make the kernel allocate much memory.
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SLOT 0
#define THREADS 8
#define LISTED 512
#define PAGE_BYTES 4096
/*
 * Stop after this many looks without growth, or after this many seconds. The
 * criterion is a number of looks, because the whole guest may stand still for a
 * while.
 */
#define QUIET_LOOKS 150
#define MOST_SECONDS 40

struct hammer {
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	struct drm_tessera_submit_alloc *allocs; /* if set, used instead of the list of @cb */
	uint32_t num_allocs;
	struct drm_tessera_sync *syncs;
	uint32_t num_syncs;
};

static void hammer_submit(const struct hammer *hammer)
{
	struct drm_tessera_submit submit = { .context = tessera_context_id(hammer->ctx) };
	struct tessera_stream stream;

	tessera_cmdbuf_stream(hammer->cb, &stream);
	submit.cmds = (uintptr_t)stream.cmds;
	submit.cmd_size = stream.cmd_bytes;
	submit.allocs = (struct drm_tessera_array){ sizeof(*stream.allocs), stream.num_allocs,
						    (uintptr_t)stream.allocs };
	if (hammer->allocs)
		submit.allocs =
			(struct drm_tessera_array){ sizeof(*hammer->allocs), hammer->num_allocs,
						    (uintptr_t)hammer->allocs };
	submit.patches = (struct drm_tessera_array){ sizeof(*stream.patches), stream.num_patches,
						     (uintptr_t)stream.patches };
	submit.syncs = (struct drm_tessera_array){ sizeof(*hammer->syncs), hammer->num_syncs,
						   (uintptr_t)hammer->syncs };
	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_SUBMIT, &submit) &&
	    errno != ENOMEM)
		die("submit", -errno);
}

/* ---- Submissions of each kind of client ---------------------------------- */

static void record_tiny(struct hammer *hammer)
{
	must("nop", tessera_cmdbuf_nop(hammer->cb, 2));
}

/* A page of commands. Each bind begins a part. */
static void record_parts(struct hammer *hammer)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_bo *bos[2];

	/*
	 * The memory of the objects is not work, so allocate their pages
	 * before.
	 */
	for (int i = 0; i < 2; i++) {
		bos[i] = bo_in("vram", seg->size / 8 * 5, 0);
		(void)tessera_cmdbuf_bind(hammer->cb, SLOT, bos[i], &view);
		(void)tessera_cmdbuf_fill(hammer->cb, SLOT, &one, 0);
		must("touch", tessera_context_run(hammer->ctx, hammer->cb));
		tessera_cmdbuf_reset(hammer->cb);
	}
	for (uint32_t i = 0; i < 64; i++) {
		(void)tessera_cmdbuf_bind(hammer->cb, SLOT, bos[i % 2], &view);
		(void)tessera_cmdbuf_fill(hammer->cb, SLOT, &one, i);
	}
	must("parts", tessera_cmdbuf_finish(hammer->cb));
}

/*
 * Objects that are only listed, and only read, so that jobs do not wait for
 * each other.
 */
static void record_list(struct hammer *hammer)
{
	must("nop", tessera_cmdbuf_nop(hammer->cb, 2));
	hammer->num_allocs = LISTED;
	hammer->allocs = calloc(hammer->num_allocs, sizeof(*hammer->allocs));
	if (!hammer->allocs)
		die("list", -ENOMEM);
	for (uint32_t i = 0; i < hammer->num_allocs; i++)
		hammer->allocs[i].handle = tessera_bo_handle(bo_in("gart", 4096, 0));
	hammer_submit(hammer);
}

#define WAITS 1024

/*
 * Each submission waits for the previous one, as many times as its sync list
 * allows.
 */
static void record_waits(struct hammer *hammer)
{
	struct drm_syncobj_create last = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };

	must("nop", tessera_cmdbuf_nop(hammer->cb, 2));
	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_SYNCOBJ_CREATE, &last))
		die("sync object", -errno);
	hammer->syncs = calloc(WAITS, sizeof(*hammer->syncs));
	if (!hammer->syncs)
		die("sync list", -ENOMEM);
	for (uint32_t i = 0; i < WAITS; i++)
		hammer->syncs[i].handle = last.handle;
	hammer->syncs[WAITS - 1].flags = DRM_TESSERA_SYNC_SIGNAL;
	hammer->num_syncs = WAITS;
	hammer_submit(hammer);
}

static const struct kind {
	const char *name;
	void (*record)(struct hammer *hammer);
} kinds[] = {
	{ "empty jobs", record_tiny },
	{ "jobs in parts", record_parts },
	{ "jobs that list objects", record_list },
	{ "jobs that wait for sync objects", record_waits },
};

/* ---- The client ---------------------------------------------------------- */

static const struct kind *kind;
static struct client_state *state;

static void *hammer_on(void *arg)
{
	struct hammer hammer = { 0 };

	must("context", tessera_context_new_default(bench.dev, &hammer.ctx));
	must("command buffer", tessera_cmdbuf_new(bench.dev, &hammer.cb));
	tessera_cmdbuf_set_rebind(hammer.cb, UINT64_MAX);
	kind->record(&hammer);
	if (__atomic_add_fetch(&state->rounds, 1, __ATOMIC_SEQ_CST) == THREADS)
		state->ready = true;
	while (!state->go)
		sleep_for(0.01);
	for (;;)
		hammer_submit(&hammer);
	return arg;
}

static void hammer_all(struct client_state *shared)
{
	pthread_t thread;

	state = shared;
	for (int i = 0; i < THREADS; i++)
		must("thread", -pthread_create(&thread, NULL, hammer_on, NULL));
	for (;;)
		pause();
}

/* ---- Memory use ---------------------------------------------------------- */

static double file_value(const char *path, const char *format, double unit)
{
	FILE *f = fopen(path, "re");
	unsigned long long value;
	double sum = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &value) == 1)
			sum += (double)value * unit;
	if (!f)
		die(path, -errno);
	fclose(f);
	return sum;
}

/* Include the free pages in per-CPU lists, which vary by tens of MiB. */
static double available_bytes(void)
{
	return file_value("/proc/meminfo", "MemAvailable: %llu", 1024) +
	       file_value("/proc/zoneinfo", " count: %llu", PAGE_BYTES);
}

/* This also frees the pages that TTM keeps for new objects. */
static void drop_caches(void)
{
	FILE *f = fopen("/proc/sys/vm/drop_caches", "we");

	if (!f || fputs("3", f) < 0 || fclose(f))
		die("drop_caches", -errno);
}

/*
 * Wait until memory stops being freed. Memory freed later would hide what the
 * next kind uses.
 */
static void settle(void)
{
	double most = 0;

	for (int quiet = 0; quiet < QUIET_LOOKS / 2; quiet++) {
		double left;

		drop_caches();
		left = available_bytes();
		if (left > most + MIB / 4.0) {
			most = left;
			quiet = 0;
		}
		sleep_for(0.02);
	}
}

/* Maximum decrease of available memory while the client submits. */
static double most_bytes(void)
{
	double before, least, noted, end;
	struct client client;
	int quiet = 0;

	client_start(&client, hammer_all);
	client_wait_ready(&client);
	before = least = noted = available_bytes();
	client.state->go = true;
	for (end = now() + MOST_SECONDS; now() < end && quiet < QUIET_LOOKS; sleep_for(0.02)) {
		double left = available_bytes();

		least = left < least ? left : least;
		quiet++;
		if (least > noted - MIB)
			continue;
		noted = least;
		quiet = 0;
	}
	client_kill(&client);
	settle();
	return before - least;
}

static double work_limit(void)
{
	struct drm_tessera_query_client info;
	struct drm_tessera_query query = {
		.id = DRM_TESSERA_QUERY_CLIENT,
		.data = { sizeof(info), 1, (uintptr_t)&info },
	};

	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_QUERY, &query))
		die("query", -errno);
	return (double)info.work_limit;
}

void bench_client_memory(void)
{
	struct row row = { "client_memory", "B", "lower", .goal = 1 };
	double worst = 0, limit = work_limit();

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		double bytes;

		kind = &kinds[i];
		bytes = most_bytes();
		fprintf(stderr, "   %s: %.1f MiB\n", kind->name, bytes / (double)MIB);
		worst = bytes > worst ? bytes : worst;
	}
	sample(&row, worst, limit);
	print_row(&row);
}
