// SPDX-License-Identifier: MIT
/*
 * Work for the GPU that may not fit in its memory at once. With patched
 * addressing it is one submission, which the kernel cuts. At virtual addresses
 * the kernel cuts nothing: the demo makes as many objects resident as fit,
 * submits their steps, and continues with the next ones.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

static int complain(const char *what, int error)
{
	fprintf(stderr, "tessera-demo: %s: %s\n", what, strerror(-error));
	return error;
}

int worker_init(struct worker *w, struct tessera_context *ctx, struct summary *summary)
{
	int ret = tessera_syncobj_new(tessera_context_device(ctx), 0, &w->timeline);

	if (!ret)
		ret = tessera_cmdbuf_new_for(ctx, &w->cb);
	w->ctx = tessera_context_ref(ctx);
	w->vm = tessera_context_vm(ctx);
	w->summary = summary;
	return ret;
}

void worker_fini(struct worker *w)
{
	tessera_cmdbuf_del(w->cb);
	tessera_syncobj_del(w->timeline);
	tessera_context_del(w->ctx);
}

int work_init(struct work *work, uint32_t most)
{
	work->bos = calloc(most ? most : 1, sizeof(*work->bos));
	work->items = calloc(most ? most : 1, sizeof(*work->items));
	return work->bos && work->items ? 0 : -ENOMEM;
}

void work_fini(struct work *work)
{
	free(work->bos);
	free(work->items);
}

void work_add(struct work *work, uint32_t item, struct tessera_bo *bo)
{
	work->items[work->count] = item;
	work->bos[work->count++] = bo;
}

/*
 * Submit the recorded commands, after checking that they work wherever they are
 * cut.
 */
static int submit(struct worker *w, enum demo_job job, struct tessera_fence **fence)
{
	const struct tessera_sync signal = { .obj = w->timeline, .point = w->point + 1 };
	struct tessera_submit_args args = { .fence = fence, .signals = &signal, .num_signals = 1 };
	struct tessera_lint lint;
	int ret = tessera_cmdbuf_lint(w->cb, &lint);

	if (ret > 0) {
		fprintf(stderr, "tessera-demo: the stream breaks %u rules, first at %u\n",
			lint.total, lint.first_offset);
		return -EPROTO;
	}
	if (!ret)
		ret = tessera_context_submit(w->ctx, w->cb, &args);
	if (ret) {
		fprintf(stderr, "tessera-demo: submit: %s (offset %d, entry %d)\n", strerror(-ret),
			(int)args.error_offset, (int)args.error_index);
		return ret;
	}
	w->point++;
	w->summary->jobs++;
	w->summary->submissions[job]++;
	w->summary->parts[job] += args.parts;
	return 0;
}

static void count_commands(struct worker *w)
{
	struct tessera_stream s;

	tessera_cmdbuf_stream(w->cb, &s);
	w->summary->cmd_bytes += s.cmd_bytes;
	w->summary->patches += s.num_patches;
	w->summary->allocs += s.num_allocs;
	for (uint32_t i = 0; i < s.num_patches; i++)
		w->summary->split_points +=
			!i || s.patches[i].split_offset != s.patches[i - 1].split_offset;
}

/*
 * Record and submit as many steps from @first on as fit. Returns their number.
 */
static int run_phase(struct worker *w, struct work *work, uint32_t first,
		     struct tessera_fence **fence)
{
	uint64_t start = now_ns();
	int count, ret;

	count = tessera_vm_phase(w->vm, work->bos + first, work->count - first);
	if (count < 0)
		return complain("making textures resident", count);
	work->submit_ns += now_ns() - start;
	start = now_ns();
	tessera_cmdbuf_reset(w->cb);
	ret = work->begin ? work->begin(work->arg, !first) : 0;
	for (int i = 0; i < count && !ret; i++)
		ret = work->step(work->arg, work->items[first + i]);
	if (!ret && work->end && first + count == work->count)
		ret = work->end(work->arg);
	if (ret)
		return complain("record", ret);
	work->record_ns += now_ns() - start;
	start = now_ns();
	ret = submit(w, work->job, fence);
	work->submit_ns += now_ns() - start;
	if (!ret && work->job == JOB_SCENE)
		count_commands(w);
	return ret ? ret : count;
}

int work_submit(struct worker *w, struct work *work, struct tessera_fence **fence)
{
	int done;

	*fence = NULL;
	for (uint32_t first = 0; first < work->count; first += done) {
		/*
		 * The jobs of a context end in order, and after a failed job
		 * all later ones fail. The last fence is therefore enough.
		 */
		tessera_fence_del(*fence);
		*fence = NULL;
		done = run_phase(w, work, first, fence);
		if (done < 0)
			return done;
	}
	if (!*fence)
		return complain("submit", -EINVAL);
	/* The following work needs none of these objects. */
	done = tessera_vm_phase(w->vm, NULL, 0);
	return done ? complain("phase", done) : 0;
}

int work_wait(struct tessera_fence *fence)
{
	int job_error, ret = tessera_fence_wait(fence, TESSERA_FOREVER, &job_error);

	tessera_fence_del(fence);
	if (!ret)
		ret = job_error;
	return ret ? complain("job", ret) : 0;
}

int work_run(struct worker *w, struct work *work)
{
	struct tessera_fence *fence;
	int ret = work_submit(w, work, &fence);

	return ret ? ret : work_wait(fence);
}
