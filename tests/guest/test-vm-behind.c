// SPDX-License-Identifier: MIT
/*
 * Jobs of one VM context that are in the ring at the same time. The next job
 * must be in the ring early, but must not run after a fault.
 */
#include <string.h>

#include "host.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "vm.h"

#define AT 0x100000000ull
#define JOBS 4
#define NONE UINT32_MAX

/*
 * A context with commands for several jobs, one of which may access an unmapped
 * address.
 */
struct queue {
	struct tsr_device dev;
	struct tsr_vm vm;
	struct tsr_bo bo;
	uint32_t bytes;
	struct tsr_stuck stuck; /* the first of them */
	uint32_t sync[JOBS];
};

static void queue_submit(struct queue *q, uint32_t job)
{
	require_ok(__tsr_submit_vm(&q->dev, q->vm.context, q->vm.at + KiB(1) * job, q->bytes, 0,
				   q->sync[job]));
}

/* The engine stops at the first job until the next one is in the ring. */
static void queue_submit_all(struct queue *q)
{
	q->stuck = tsr_stuck_next(&q->dev, q->dev.render);
	for (uint32_t i = 0; i < JOBS; i++)
		queue_submit(q, i);
	tsr_stuck_begun(&q->stuck);
	tsr_wait_for(tsr_trace_so_far_with("job_run", "engine", q->dev.render) >= 2);
	tsr_stuck_release(&q->stuck);
}

static void queue_init(struct queue *q, uint32_t bad)
{
	struct tsr_cmd cmd;

	q->dev = tsr_open();
	q->vm = tsr_vm_open(&q->dev);
	q->bo = tsr_bo_new(&q->dev, KiB(4), tsr_bit(tsr_seg_gart(&q->dev)),
			   DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	tsr_bo_map(&q->dev, &q->bo);
	memset(q->bo.map, 0, q->bo.size);
	tsr_vm_map(&q->dev, q->vm.id, &q->bo, 0, AT, q->bo.size, 0);
	tsr_vm_place(&q->vm, &q->bo);
	for (uint32_t i = 0; i < JOBS; i++) {
		q->sync[i] = tsr_syncobj_new(&q->dev);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_address(&cmd, 1, i == bad ? AT + MiB(1) : AT, KiB(4), true);
		tsr_cmd_fill(&cmd, 1, i, 1, i + 1);
		q->bytes = tsr_cmd_bytes(&cmd);
		memcpy((char *)q->vm.cmds.map + KiB(1) * i, cmd.dw, q->bytes);
		tsr_cmd_fini(&cmd);
	}
	/* the page tables have been written */
	queue_submit(q, JOBS - 1);
	require_ok(tsr_syncobj_status(&q->dev, q->sync[JOBS - 1]));
	memset(q->bo.map, 0, q->bo.size);
}

static void queue_fini(struct queue *q)
{
	for (uint32_t i = 0; i < JOBS; i++)
		tsr_syncobj_free(&q->dev, q->sync[i]);
	tsr_bo_free(&q->dev, &q->bo);
	tsr_vm_close(&q->vm);
	tsr_close(&q->dev);
}

static uint32_t word(const struct queue *q, uint32_t index)
{
	return ((volatile uint32_t *)q->bo.map)[index];
}

/*
 * True if a job was pushed to the ring before the previous one had ended, in
 * the context whose last job_done event with @error is the latest.
 */
static bool overlap(const struct tsr_trace *trace, const char *error)
{
	uint64_t context = UINT64_MAX;
	uint32_t runs = 0, dones = 0;
	bool two = false;

	tsr_trace_for_each(trace, "job_done", ev) {
		if (tsr_event_is(ev, "error", error))
			context = tsr_event_u64(ev, "ctx");
	}
	require(context != UINT64_MAX);
	for (size_t i = 0; i < trace->count; i++) {
		const struct tsr_event *ev = &trace->events[i];

		if (tsr_event_u64(ev, "ctx") != context)
			continue;
		runs += !strcmp(ev->name, "job_run");
		dones += !strcmp(ev->name, "job_done");
		two |= runs >= dones + 2;
	}
	return two;
}

/* A job is in the ring before the previous one ends (goal of vm_empty_job). */
static void are_in_the_ring(void)
{
	struct tsr_trace trace;
	struct queue q;

	queue_init(&q, NONE);
	tsr_trace_start("job_run", "job_done", NULL);
	queue_submit_all(&q);
	for (uint32_t i = 0; i < JOBS; i++)
		require_ok(tsr_syncobj_status(&q.dev, q.sync[i]));
	trace = tsr_trace_stop();
	require(overlap(&trace, "0"));
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < JOBS; i++)
		require_eq(word(&q, i), i + 1);
	queue_fini(&q);
}

/*
 * RES-6: jobs of the context after a faulted job do nothing, whether they are
 * in the ring already or not. Jobs of other contexts run.
 */
static void do_nothing_behind_a_fault(void)
{
	struct tsr_trace trace;
	struct queue q, other;

	queue_init(&q, 0);
	queue_init(&other, NONE);
	tsr_trace_start("job_run", "job_done", NULL);
	/* the ring takes two jobs of a process: let these be first */
	queue_submit_all(&q);
	for (uint32_t i = 0; i < JOBS; i++)
		queue_submit(&other, i);
	require_eq(tsr_syncobj_status(&q.dev, q.sync[0]), -EFAULT);
	for (uint32_t i = 1; i < JOBS; i++)
		require_eq(tsr_syncobj_status(&q.dev, q.sync[i]), -ECANCELED);
	for (uint32_t i = 0; i < JOBS; i++)
		require_ok(tsr_syncobj_status(&other.dev, other.sync[i]));
	trace = tsr_trace_stop();
	require(overlap(&trace, "-14"));
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < JOBS; i++) {
		require_eq(word(&q, i), 0);
		require_eq(word(&other, i), i + 1);
	}
	require_err(__tsr_submit_vm(&q.dev, q.vm.context, q.vm.at + KiB(1), q.bytes, 0, 0), -EIO);
	queue_fini(&other);
	queue_fini(&q);
}

static const struct tap_test tests[] = {
	{ "jobs of a context are in the ring together", are_in_the_ring, 0, 0 },
	{ "RES-6 nothing runs behind a fault", do_nothing_behind_a_fault, TSR_EXPECT(MMU), 0 },
};

TSR_TEST_MAIN(tests)
