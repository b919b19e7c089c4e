// SPDX-License-Identifier: MIT
/*
 * Time from SIGKILL to the end of a process inside SUBMIT, at different points:
 * while the ioctl checks long lists, brings in many objects, or makes parts.
 * The process shares the file with its parent, so that the kill does not also
 * close the file, which would take time, too.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SLOT 0
#define SOON 0.1 /* seconds that a kill may take */
#define OBJECTS 16384
#define PARTS 16000
#define LONG 1.0 /* limit of the time in which a kill is placed */

static struct drm_tessera_submit submit;

static struct drm_tessera_array array_of(size_t stride, uint32_t count, const void *array)
{
	return (struct drm_tessera_array){ (uint32_t)stride, count, (uintptr_t)array };
}

static void from_stream(const struct tessera_stream *stream)
{
	submit.cmds = (uintptr_t)stream->cmds;
	submit.cmd_size = stream->cmd_bytes;
	submit.allocs = array_of(sizeof(*stream->allocs), stream->num_allocs, stream->allocs);
	submit.patches = array_of(sizeof(*stream->patches), stream->num_patches, stream->patches);
}

/* As many patch elements as allowed. Each unbinds an unbound slot. */
static void prepare_entries(struct tessera_cmdbuf *cb)
{
	static const struct drm_tessera_submit_alloc null;
	uint32_t num = tessera_device_info(bench.dev)->max_patches;
	struct drm_tessera_submit_patch *patches = malloc(num * sizeof(*patches));
	struct tessera_stream stream;

	if (!patches)
		die("list", -ENOMEM);
	memset(patches, 0, num * sizeof(*patches));
	must("nop", tessera_cmdbuf_nop(cb, 2));
	tessera_cmdbuf_stream(cb, &stream);
	from_stream(&stream);
	submit.allocs = array_of(sizeof(null), 1, &null);
	submit.patches = array_of(sizeof(*patches), num, patches);
}

static void prepare_objects(struct tessera_cmdbuf *cb)
{
	struct drm_tessera_submit_alloc *allocs = calloc(OBJECTS, sizeof(*allocs));
	struct tessera_stream stream;

	if (!allocs)
		die("list", -ENOMEM);
	must("nop", tessera_cmdbuf_nop(cb, 2));
	tessera_cmdbuf_stream(cb, &stream);
	from_stream(&stream);
	for (uint32_t i = 0; i < OBJECTS; i++)
		allocs[i].handle = tessera_bo_handle(bo_in("vram-hidden-from-cpu", 4096, 0));
	submit.allocs = array_of(sizeof(*allocs), OBJECTS, allocs);
}

static void prepare_parts(struct tessera_cmdbuf *cb)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_stream stream;
	struct tessera_bo *bos[2];

	for (int i = 0; i < 2; i++)
		bos[i] = bo_in("vram", seg->size / 8 * 5, 0);
	tessera_cmdbuf_set_rebind(cb, UINT64_MAX);
	for (uint32_t i = 0; i < PARTS; i++) {
		(void)tessera_cmdbuf_bind(cb, SLOT, bos[i % 2], &view);
		(void)tessera_cmdbuf_fill(cb, SLOT, &one, i);
	}
	must("parts", tessera_cmdbuf_finish(cb));
	tessera_cmdbuf_stream(cb, &stream);
	from_stream(&stream);
}

static const struct kind {
	const char *name;
	void (*prepare)(struct tessera_cmdbuf *cb);
} kinds[] = {
	{ "many elements", prepare_entries },
	{ "many objects", prepare_objects },
	{ "many parts", prepare_parts },
};

static void submit_once(struct client_state *state)
{
	state->ready = true;
	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_SUBMIT, &submit))
		die("submit", -errno);
	state->go = true; /* the kill came too late */
	pause();
}

/* Evict all objects, so that the submission has to bring them in. */
static void evict_all(void)
{
	if (!set_knob("evict_all", "0xffffffff"))
		die("evict_all", -ENOENT);
}

/* Seconds of the complete submission, at most LONG. */
static double whole_time(void)
{
	struct client client;
	double start;

	evict_all();
	client_fork(&client, submit_once);
	client_wait_ready(&client);
	start = now();
	while (!client.state->go && now() < start + LONG)
		sleep_for(0.001);
	start = now() - start;
	client_kill(&client);
	return start;
}

/*
 * Seconds from the signal to the end of the process. Negative if the submission
 * was complete before the signal.
 */
static double kill_after(double seconds)
{
	struct client client;
	bool late;
	double start;

	evict_all();
	client_fork(&client, submit_once);
	client_wait_ready(&client);
	sleep_for(seconds);
	late = client.state->go;
	start = now();
	client_kill(&client);
	return late ? -1 : now() - start;
}

void bench_kill_submit(void)
{
	struct row row = { "kill_submit", "s", "lower", .goal = 1 };
	double worst = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct tessera_context *ctx;
		struct tessera_cmdbuf *cb;
		double whole, most = -1;

		must("context", tessera_context_new_default(bench.dev, &ctx));
		must("command buffer", tessera_cmdbuf_new(bench.dev, &cb));
		submit = (struct drm_tessera_submit){ .context = tessera_context_id(ctx) };
		kinds[i].prepare(cb);
		whole = whole_time();
		for (int n = 0; n < bench.runs; n++) {
			double took = kill_after(whole * (n + 0.5) / bench.runs);

			most = took > most ? took : most;
		}
		if (most < 0)
			die("nothing was killed in time", -ETIME);
		worst = most > worst ? most : worst;
		fprintf(stderr, "   %s: %.3g s, killed in %.3g s at most\n", kinds[i].name, whole,
			most);
		tessera_cmdbuf_del(cb);
		tessera_context_del(ctx);
	}
	sample(&row, worst, SOON);
	print_row(&row);
}
