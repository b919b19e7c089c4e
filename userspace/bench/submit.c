// SPDX-License-Identifier: MIT
/* Cost of a submission that moves nothing. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- empty_job ----------------------------------------------------------- */

#define GROUP 16 /* two groups make 32 jobs in flight */
#define EMPTY_JOBS 1024

double read_ping(void)
{
	char path[96], text[64];
	ssize_t n = -1;

	for (int minor = 0; minor < 64 && n <= 0; minor++) {
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/ping", minor);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return 0;
	text[n] = 0;
	return atof(text);
}

/*
 * Submit groups of jobs, with two groups in flight. Only the last job of a
 * group has a fence, as in a program with many submissions.
 */
static double empty_job_ns(void)
{
	struct tessera_fence *fences[2] = { NULL };
	double start = now();

	for (int group = 0; group < EMPTY_JOBS / GROUP + 2; group++) {
		struct tessera_fence **slot = &fences[group % 2];
		struct tessera_submit_args args = { .fence = slot };

		if (*slot) {
			must("wait", tessera_fence_wait(*slot, TESSERA_FOREVER, NULL));
			tessera_fence_del(*slot);
			*slot = NULL;
		}
		if (group >= EMPTY_JOBS / GROUP)
			continue;
		for (int i = 0; i < GROUP - 1; i++)
			must("submit", tessera_context_submit(bench.ctx, bench.cb, NULL));
		must("submit", tessera_context_submit(bench.ctx, bench.cb, &args));
	}
	return (now() - start) * 1e9 / EMPTY_JOBS;
}

void bench_empty_job(void)
{
	struct row row = { "empty_job", "ns", "lower", .goal = 4 };

	if (!read_ping()) {
		fprintf(stderr, "tessera-bench: empty_job left out: no debugfs file ping\n");
		return;
	}
	must("nop", tessera_cmdbuf_nop(bench.cb, 2));
	empty_job_ns();
	for (int i = 0; i < bench.runs; i++)
		sample(&row, empty_job_ns(), read_ping());
	tessera_cmdbuf_reset(bench.cb);
	print_row(&row);
}

/* ---- split_overhead_when_fits -------------------------------------------- */

#define FIT_OBJECTS 32
#define FIT_ROUNDS 16

/*
 * Submit the recorded commands with another patch list and wait. Returns the
 * seconds of both.
 */
static double run_with_patches(const struct tessera_stream *stream,
			       const struct drm_tessera_submit_patch *patches)
{
	struct drm_tessera_submit submit = {
		.context = tessera_context_id(bench.ctx),
		.cmds = (uintptr_t)stream->cmds,
		.cmd_size = stream->cmd_bytes,
		.allocs = { sizeof(*stream->allocs), stream->num_allocs,
			    (uintptr_t)stream->allocs },
		.patches = { sizeof(*patches), stream->num_patches, (uintptr_t)patches },
	};
	struct drm_tessera_sync sync = { .flags = DRM_TESSERA_SYNC_SIGNAL };
	struct tessera_syncobj *done;
	double start;

	must("syncobj", tessera_syncobj_new(bench.dev, 0, &done));
	sync.handle = tessera_syncobj_handle(done);
	submit.syncs = (struct drm_tessera_array){ sizeof(sync), 1, (uintptr_t)&sync };
	start = now();
	if (ioctl(tessera_device_fd(bench.dev), DRM_IOCTL_TESSERA_SUBMIT, &submit))
		die("submit", -errno);
	must("wait", tessera_syncobj_wait(done, 0, TESSERA_FOREVER));
	start = now() - start;
	tessera_syncobj_del(done);
	if (submit.num_parts != 1)
		die("a job that fits was cut", -EPROTO);
	return start;
}

/*
 * The same packets with the same entries, all of which fit. The value has one
 * split point per bind. In the reference every entry is needed from the start,
 * which leaves one split point at offset 0 and nothing to plan.
 */
void bench_split_overhead(void)
{
	struct row row = { "split_overhead_when_fits", "s", "lower", .goal = 1.03 };
	const struct tessera_rect all = { 0, 0, 16384, 1 };
	struct tessera_view view = buffer_view();
	struct drm_tessera_submit_patch *at_start;
	struct tessera_bo *bos[FIT_OBJECTS];
	struct tessera_stream stream;
	uint64_t size;
	const char *segment = large_segment(&size);

	tessera_cmdbuf_set_rebind(bench.cb, UINT64_MAX);
	for (int i = 0; i < FIT_OBJECTS; i++)
		bos[i] = bo_in(segment, 65536, 0);
	for (int i = 0; i < FIT_OBJECTS * FIT_ROUNDS; i++) {
		(void)tessera_cmdbuf_bind(bench.cb, i % FIT_OBJECTS, bos[i % FIT_OBJECTS], &view);
		(void)tessera_cmdbuf_fill(bench.cb, i % FIT_OBJECTS, &all, i);
	}
	must("record", tessera_cmdbuf_finish(bench.cb));
	tessera_cmdbuf_stream(bench.cb, &stream);
	at_start = calloc(stream.num_patches, sizeof(*at_start));
	if (!at_start)
		die("patches", -ENOMEM);
	memcpy(at_start, stream.patches, stream.num_patches * sizeof(*at_start));
	for (uint32_t i = 0; i < stream.num_patches; i++)
		at_start[i].split_offset = 0;
	run_with_patches(&stream, stream.patches);
	run_with_patches(&stream, at_start);
	for (int i = 0; i < MAX_SAMPLES; i++) {
		double without = run_with_patches(&stream, at_start);

		sample(&row, run_with_patches(&stream, stream.patches), without);
	}
	print_row(&row);
	free(at_start);
	tessera_cmdbuf_reset(bench.cb);
	tessera_cmdbuf_set_rebind(bench.cb, 0);
	for (int i = 0; i < FIT_OBJECTS; i++)
		tessera_bo_del(bos[i]);
}
