// SPDX-License-Identifier: MIT
/*
 * Jobs of several priorities that were queued while the device was busy. They
 * must run in the documented order, and low priority has its turns. Contexts
 * are recognised by their ids, which rise in the order of creation.
 */
#include <stdlib.h>
#include <unistd.h>

#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

/* fewer than a job of low priority lets pass */
#define JOBS 5
/* How many of them may run too early. Without priorities, all would. */
#define SLIPS 2

static const uint32_t levels[] = { DRM_TESSERA_PRIORITY_LOW, DRM_TESSERA_PRIORITY_NORMAL,
				   DRM_TESSERA_PRIORITY_HIGH };

enum {
	LOW,
	NORMAL,
	HIGH
};

/* Returns a syncobj for the end of the last job. */
static uint32_t queue(struct tsr_device *dev, uint32_t ctx, uint32_t jobs)
{
	uint32_t sync = tsr_syncobj_new(dev);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	for (uint32_t i = 0; i < jobs; i++)
		tsr_submit(dev, ctx, &cmd, 0, sync);
	tsr_cmd_fini(&cmd);
	return sync;
}

static void drain(struct tsr_device *dev, uint32_t sync)
{
	require_ok(tsr_syncobj_status(dev, sync));
	tsr_syncobj_free(dev, sync);
}

static int rising(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Replace context ids by numbers in the order of creation, from 0. */
static void number_contexts(struct tsr_run *runs, size_t count, uint32_t contexts)
{
	uint32_t ids[16], num = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t j = 0;

		while (j < num && ids[j] != runs[i].ctx)
			j++;
		if (j < num)
			continue;
		require(num < ARRAY_SIZE(ids));
		ids[num++] = runs[i].ctx;
	}
	require_eq(num, contexts);
	qsort(ids, num, sizeof(ids[0]), rising);
	for (size_t i = 0; i < count; i++) {
		uint32_t j = 0;

		while (ids[j] != runs[i].ctx)
			j++;
		runs[i].ctx = j;
	}
}

/*
 * Jobs that are queued while a job of the first context is stuck, for checking
 * the order in which they then run.
 */
struct queue_run {
	struct tsr_device dev;
	uint32_t ctx;
	struct tsr_stuck stuck;
};

static void run_begin(struct queue_run *r, uint32_t priority)
{
	r->dev = tsr_open();
	r->ctx = tsr_context_prio(&r->dev, priority);
	r->stuck = tsr_stuck_start(&r->dev, r->ctx);
}

/* Return the jobs in the order of their hand-over to the ring. */
static struct tsr_run *handed_over(const struct tsr_trace *trace, uint32_t engine, size_t *count)
{
	struct tsr_run *runs = calloc(tsr_trace_count(trace, "job_run") + 1, sizeof(*runs));
	size_t n = 0;

	require(runs);
	tsr_trace_for_each(trace, "job_run", ev)
		if (tsr_event_u64(ev, "engine") == engine)
			runs[n++].ctx = (uint32_t)tsr_event_u64(ev, "ctx");
	*count = n;
	return runs;
}

static size_t count_before_last(const struct tsr_run *runs, size_t count, uint32_t what,
				uint32_t of)
{
	size_t last = 0, n = 0;

	for (size_t i = 0; i < count; i++)
		if (runs[i].ctx == of)
			last = i;
	for (size_t i = 0; i < last; i++)
		n += runs[i].ctx == what;
	return n;
}

static void levels_in_order(void)
{
	struct tsr_trace trace;
	struct tsr_run *runs;
	uint32_t ctx[3], own, ends[3];
	struct queue_run r;
	size_t count;

	run_begin(&r, DRM_TESSERA_PRIORITY_NORMAL);
	for (int i = LOW; i <= HIGH; i++)
		ctx[i] = tsr_context_prio(&r.dev, levels[i]);
	tsr_trace_start("job_done", NULL);
	own = queue(&r.dev, r.ctx, 1);
	for (int i = LOW; i <= HIGH; i++)
		ends[i] = queue(&r.dev, ctx[i], JOBS);
	tsr_stuck_end(&r.stuck);
	drain(&r.dev, own);
	for (int i = LOW; i <= HIGH; i++)
		drain(&r.dev, ends[i]);
	trace = tsr_trace_stop();
	runs = tsr_trace_runs(&trace, r.dev.render, &count);
	number_contexts(runs, count, 4);
	/*
	 * When the ring runs empty, a job can be ready just before one of
	 * higher priority.
	 */
	require(count_before_last(runs, count, 1 + NORMAL, 1 + HIGH) <= SLIPS);
	require(count_before_last(runs, count, 1 + LOW, 1 + NORMAL) <= SLIPS);
	require(count_before_last(runs, count, 1 + LOW, 1 + HIGH) <= SLIPS);
	free(runs);
	tsr_close(&r.dev);
}

static void low_client(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_prio(&dev, DRM_TESSERA_PRIORITY_LOW);
	uint32_t end = queue(&dev, ctx, (uint32_t)client->arg);

	client->state->ready = true;
	drain(&dev, end);
	tsr_close(&dev);
}

/*
 * Queue @low jobs of low priority, of another client or of this one, then @high
 * of high priority, behind a stuck job of high priority, which none overtakes.
 * @check gets the jobs in the order of their hand-over. The order in which they
 * run depends on the slices of preempted jobs too, and so on the machine's load.
 */
static void run_against(bool own, uint32_t low, uint32_t high,
			void (*check)(const struct tsr_run *runs, size_t count))
{
	struct tsr_client client;
	struct tsr_trace trace;
	struct tsr_run *runs;
	struct queue_run r;
	uint32_t ctx, end, own_end, mine = 0;
	size_t count;

	run_begin(&r, DRM_TESSERA_PRIORITY_HIGH);
	tsr_trace_start("job_run", NULL);
	own_end = queue(&r.dev, r.ctx, 1);
	if (own) {
		mine = queue(&r.dev, tsr_context_prio(&r.dev, DRM_TESSERA_PRIORITY_LOW), low);
	} else {
		tsr_client_start(&client, low_client, low);
		tsr_wait_for(client.state->ready);
	}
	ctx = tsr_context_prio(&r.dev, DRM_TESSERA_PRIORITY_HIGH);
	end = queue(&r.dev, ctx, high);
	tsr_stuck_end(&r.stuck);
	drain(&r.dev, own_end);
	drain(&r.dev, end);
	if (own)
		drain(&r.dev, mine);
	else
		tsr_client_join(&client);
	trace = tsr_trace_stop();
	runs = handed_over(&trace, r.dev.render, &count);
	number_contexts(runs, count, 3);
	check(runs, count);
	free(runs);
	tsr_close(&r.dev);
}

enum {
	BUSY,
	LOWER,
	HIGHER
};

static void few_before(const struct tsr_run *runs, size_t count)
{
	require(count_before_last(runs, count, LOWER, HIGHER) <= SLIPS);
}

/* Without priorities, both clients would alternate in the ring. */
static void between_clients(void)
{
	run_against(false, JOBS, JOBS, few_before);
}

#define MANY 120

/*
 * The low job lets 16 jobs pass from when the scheduler first looks at it. It
 * may have to let another job of low priority go first, or pass fewer if the
 * ring runs empty. Without a turn it would run last.
 */
static void after_some(const struct tsr_run *runs, size_t count)
{
	uint32_t passed = 0;

	for (size_t i = 0; i < count && runs[i].ctx != LOWER; i++)
		passed += runs[i].ctx == HIGHER;
	tap_note("%u jobs of higher priority ran before", passed);
	require(passed <= MANY * 2 / 3);
}

/* jobs of higher priority that pass one of lower priority */
#define PASS 16
/*
 * A job is looked at again when one of the two jobs that its client may have in
 * the ring has ended: first one of higher priority, and then, if the client is
 * at that limit, one of its own.
 */
#define LATE 8

/*
 * Context @of gets its turn after @PASS jobs of later contexts, not much later,
 * and not more often. Two jobs that are already in the ring can follow each
 * other.
 */
static void require_turns(const struct tsr_run *runs, size_t count, uint32_t of, uint32_t highest)
{
	uint32_t passed = 0, turns = 0, left = 0, all = 0;

	for (size_t i = 0; i < count; i++)
		left += runs[i].ctx == highest;
	for (size_t i = 0; left && i < count; i++) {
		if (runs[i].ctx > of) {
			passed++;
			all++;
			left -= runs[i].ctx == highest;
			require_msg(passed <= PASS + LATE, "%u jobs passed one after %u turns",
				    passed, turns);
		} else if (runs[i].ctx == of) {
			/*
			 * The first job may have been passed before the trace
			 * began.
			 */
			require(all + 2 * PASS >= turns * PASS);
			passed = 0;
			turns++;
		}
	}
	tap_note("%u turns", turns);
	require(turns >= 2);
}

static void low_has_turns(const struct tsr_run *runs, size_t count)
{
	require_turns(runs, count, LOWER, HIGHER);
}

static void low_has_every_seventeenth(void)
{
	run_against(true, 20, MANY, low_has_turns);
	run_against(false, 20, MANY, low_has_turns);
}

/*
 * Queues of all three priorities at once. The highest is long enough for
 * several turns of the others. See run_against() for the order that counts.
 */
static void each_level_has_turns(void)
{
	static const uint32_t jobs[] = { 20, 20, MANY };
	uint32_t ends[3], own;
	struct tsr_trace trace;
	struct tsr_run *runs;
	struct queue_run r;
	size_t count;

	run_begin(&r, DRM_TESSERA_PRIORITY_HIGH);
	tsr_trace_start("job_run", NULL);
	own = queue(&r.dev, r.ctx, 1);
	for (int i = LOW; i <= HIGH; i++)
		ends[i] = queue(&r.dev, tsr_context_prio(&r.dev, levels[i]), jobs[i]);
	tsr_stuck_end(&r.stuck);
	drain(&r.dev, own);
	for (int i = LOW; i <= HIGH; i++)
		drain(&r.dev, ends[i]);
	trace = tsr_trace_stop();
	runs = handed_over(&trace, r.dev.render, &count);
	number_contexts(runs, count, 4);
	require_turns(runs, count, 1 + NORMAL, 1 + HIGH);
	require_turns(runs, count, 1 + LOW, 1 + HIGH);
	free(runs);
	tsr_close(&r.dev);
}

/*
 * A job that is not ready delays no job of lower priority, and neither do the
 * jobs queued after it.
 */
static void high_waits_for_low(void)
{
	uint32_t low, high, end, own;
	struct queue_run r;
	struct tsr_cmd cmd;

	run_begin(&r, DRM_TESSERA_PRIORITY_NORMAL);
	low = tsr_context_prio(&r.dev, DRM_TESSERA_PRIORITY_LOW);
	high = tsr_context_prio(&r.dev, DRM_TESSERA_PRIORITY_HIGH);
	own = queue(&r.dev, r.ctx, 1);
	end = queue(&r.dev, low, JOBS);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(&r.dev, high, &cmd, end, 0);
	tsr_cmd_fini(&cmd);
	high = queue(&r.dev, high, JOBS);
	tsr_stuck_end(&r.stuck);
	drain(&r.dev, own);
	drain(&r.dev, high);
	drain(&r.dev, end);
	tsr_close(&r.dev);
}

static void low_is_not_starved(void)
{
	run_against(true, 1, MANY, after_some);
	run_against(false, 1, MANY, after_some);
}

/*
 * Clients, each a process. Their jobs, two of each, do not fit into the ring.
 */
#define CROWD 130
#define CROWD_JOBS 3
/*
 * Jobs that fit into the ring beside a stuck one. The other slots are reserved
 * for jobs that have their turn.
 */
#define RING 247

/*
 * The clients sleep until a pipe is closed: as polling processes they would
 * keep the machine busy.
 */
struct crowd {
	uint32_t open, queued;
	int go[2], enough[2];
};

static void await_end(const int ends[2])
{
	char none;

	require_eq(read(ends[0], &none, 1), 0);
}

static void crowd_client(void *arg)
{
	struct crowd *crowd = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_prio(&dev, DRM_TESSERA_PRIORITY_NORMAL), end;

	close(crowd->go[1]);
	close(crowd->enough[1]);
	__atomic_add_fetch(&crowd->open, 1, __ATOMIC_SEQ_CST);
	await_end(crowd->go);
	end = queue(&dev, ctx, CROWD_JOBS);
	__atomic_add_fetch(&crowd->queued, 1, __ATOMIC_SEQ_CST);
	await_end(crowd->enough);
	drain(&dev, end);
	tsr_close(&dev);
}

/* The context created last is the one of low priority. */
static uint32_t before_highest(const struct tsr_run *runs, size_t count)
{
	uint32_t highest = 0, n = 0;

	for (size_t i = 0; i < count; i++)
		highest = runs[i].ctx > highest ? runs[i].ctx : highest;
	while (runs[n].ctx != highest)
		n++;
	return n;
}

/*
 * More clients than fit into the ring always have jobs ready. The job of low
 * priority must still run.
 */
static void low_is_not_starved_by_many(void)
{
	struct crowd *crowd = tsr_shared(sizeof(*crowd));
	struct tsr_trace trace;
	struct tsr_run *runs;
	pid_t pids[CROWD];
	struct queue_run r;
	uint32_t low, end, passed;
	size_t count;

	require_ok(pipe(crowd->go));
	require_ok(pipe(crowd->enough));
	for (uint32_t i = 0; i < CROWD; i++)
		pids[i] = tap_fork(crowd_client, crowd);
	tsr_wait_for(__atomic_load_n(&crowd->open, __ATOMIC_SEQ_CST) == CROWD);
	run_begin(&r, DRM_TESSERA_PRIORITY_NORMAL);
	low = tsr_context_prio(&r.dev, DRM_TESSERA_PRIORITY_LOW);
	tsr_trace_start("job_run", "job_done", NULL);
	close(crowd->go[1]);
	tsr_wait_for(__atomic_load_n(&crowd->queued, __ATOMIC_SEQ_CST) == CROWD);
	end = queue(&r.dev, low, 1);
	/*
	 * The scheduler looks at jobs in submission order, so by now it has
	 * looked at the last one.
	 */
	tsr_wait_for(tsr_trace_so_far("job_run", 0) > RING);
	tsr_stuck_end(&r.stuck);
	close(crowd->enough[1]);
	for (uint32_t i = 0; i < CROWD; i++)
		tap_join(pids[i]);
	drain(&r.dev, end);
	trace = tsr_trace_stop();
	runs = tsr_trace_runs(&trace, r.dev.render, &count);
	passed = before_highest(runs, count);
	tap_note("%u of %u other jobs ran before", passed, CROWD * CROWD_JOBS);
	/* the jobs in the ring, and some that pass */
	require(passed <= 300);
	close(crowd->go[0]);
	close(crowd->enough[0]);
	free(runs);
	tsr_close(&r.dev);
}

static void high_needs_privilege(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_context_create args = { .engine = dev.render };

	args.priority = DRM_TESSERA_PRIORITY_HIGH;
	require_ok(__tsr_context_create(dev.fd, &args));
	require(!setuid(65534));
	require_err(__tsr_context_create(dev.fd, &args), -EACCES);
	args.priority = DRM_TESSERA_PRIORITY_LOW;
	require_ok(__tsr_context_create(dev.fd, &args));
	args.priority = DRM_TESSERA_PRIORITY_NORMAL;
	require_ok(__tsr_context_create(dev.fd, &args));
	args.priority = DRM_TESSERA_PRIORITY_HIGH + 1;
	require_err(__tsr_context_create(dev.fd, &args), -EINVAL);
	args.priority = ~0u;
	require_err(__tsr_context_create(dev.fd, &args), -EINVAL);
	args.priority = 0;
	args.vm = 4711;
	require_err(__tsr_context_create(dev.fd, &args), -ENOENT);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "priorities of one client's contexts", levels_in_order, 0, 0 },
	{ "priorities between clients", between_clients, 0, 0 },
	{ "a job of low priority has its turn", low_is_not_starved, 0, 0 },
	{ "every 17th job is one of low priority", low_has_every_seventeenth, 0, 0 },
	{ "each of three priorities has its turns", each_level_has_turns, 0, 0 },
	{ "a job of high priority waits for one of low priority", high_waits_for_low, 0, 0 },
	{ "a job of low priority has its turn beside many clients", low_is_not_starved_by_many, 0,
	  120 },
	{ "high priority needs privilege", high_needs_privilege, 0, 0 },
};

TSR_TEST_MAIN(tests)
