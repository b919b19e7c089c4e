// SPDX-License-Identifier: MIT
/*
 * Priorities of contexts, by the order in which the device runs what was queued while it was busy. Which context a run
 * is of, the numbers tell that the driver gives contexts: they rise.
 */
#include <stdlib.h>
#include <unistd.h>

#include "stall.h"
#include "trace.h"
#include "tsr.h"

/* less than what a job lets pass */
#define JOBS 5
/* of them, without priorities all would be first */
#define SLIPS 2

static const uint32_t levels[] = { DRM_TESSERA_PRIORITY_LOW, DRM_TESSERA_PRIORITY_NORMAL,
				   DRM_TESSERA_PRIORITY_HIGH };

enum {
	LOW,
	NORMAL,
	HIGH
};

static void queue(struct tsr_device *dev, uint32_t ctx, uint32_t jobs)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	for (uint32_t i = 0; i < jobs; i++)
		tsr_submit(dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
}

static void drain(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit_done(dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
}

static int rising(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* contexts of the runs by number: 0 is the one made first */
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

/* what is queued while a job of the first context runs, in the order in which it runs then */
struct busy_run {
	struct tsr_device dev;
	uint32_t ctx;
	struct tsr_busy busy;
};

static void busy_begin(struct busy_run *b, unsigned int ms)
{
	b->dev = tsr_open();
	b->ctx = tsr_context_prio(&b->dev, DRM_TESSERA_PRIORITY_NORMAL);
	tsr_busy_start(&b->dev, b->ctx, &b->busy, ms);
}

static bool still_busy(const struct busy_run *b)
{
	return __tsr_syncobj_wait(b->dev.fd, b->busy.sync, 0, 0) == -ETIME;
}

static void repeat_until_busy(bool (*attempt)(unsigned int milliseconds))
{
	for (unsigned int ms = 150; ms <= 4800; ms *= 2)
		if (attempt(ms))
			return;
	tap_fail(__FILE__, __LINE__, "the busy job ended too early, each time");
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

static bool try_levels(unsigned int ms)
{
	struct tsr_trace trace;
	struct tsr_run *runs;
	uint32_t ctx[3];
	struct busy_run b;
	size_t count;
	bool busy;

	busy_begin(&b, ms);
	for (int i = LOW; i <= HIGH; i++)
		ctx[i] = tsr_context_prio(&b.dev, levels[i]);
	tsr_trace_start("job_done", NULL);
	queue(&b.dev, b.ctx, 1);
	for (int i = LOW; i <= HIGH; i++)
		queue(&b.dev, ctx[i], JOBS);
	busy = still_busy(&b);
	for (int i = LOW; i <= HIGH; i++)
		drain(&b.dev, ctx[i]);
	tsr_busy_end(&b.dev, &b.busy);
	trace = tsr_trace_stop();
	runs = tsr_trace_runs(&trace, b.dev.render, &count);
	number_contexts(runs, count, 4);
	if (busy) {
		/* the last ones are those of drain(), submitted behind the others */
		count -= 3;
		/* where the ring runs dry one may be ready a moment before what is above it */
		require(count_before_last(runs, count, 1 + NORMAL, 1 + HIGH) <= SLIPS);
		require(count_before_last(runs, count, 1 + LOW, 1 + NORMAL) <= SLIPS);
		require(count_before_last(runs, count, 1 + LOW, 1 + HIGH) <= SLIPS);
	}
	free(runs);
	tsr_close(&b.dev);
	return busy;
}

static void levels_in_order(void)
{
	repeat_until_busy(try_levels);
}

static void low_client(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_prio(&dev, DRM_TESSERA_PRIORITY_LOW);

	queue(&dev, ctx, (uint32_t)client->arg);
	client->state->ready = true;
	drain(&dev, ctx);
	tsr_close(&dev);
}

/* @low jobs of another client, or of one's own, then @high ones */
static bool try_against(unsigned int ms, bool own, uint32_t low, uint32_t high,
			void (*check)(const struct tsr_run *runs, size_t count))
{
	struct tsr_client client;
	struct tsr_trace trace;
	struct tsr_run *runs;
	struct busy_run b;
	uint32_t ctx, mine = 0;
	size_t count;
	bool busy;

	busy_begin(&b, ms);
	tsr_trace_start("job_done", NULL);
	queue(&b.dev, b.ctx, 1);
	if (own) {
		mine = tsr_context_prio(&b.dev, DRM_TESSERA_PRIORITY_LOW);
		queue(&b.dev, mine, low);
	} else {
		tsr_client_start(&client, low_client, low);
		tsr_wait_for(client.state->ready);
	}
	ctx = tsr_context_prio(&b.dev, DRM_TESSERA_PRIORITY_HIGH);
	queue(&b.dev, ctx, high);
	busy = still_busy(&b);
	drain(&b.dev, ctx);
	if (own)
		drain(&b.dev, mine);
	else
		tsr_client_join(&client);
	tsr_busy_end(&b.dev, &b.busy);
	trace = tsr_trace_stop();
	runs = tsr_trace_runs(&trace, b.dev.render, &count);
	number_contexts(runs, count, 3);
	if (busy)
		check(runs, count);
	free(runs);
	tsr_close(&b.dev);
	return busy;
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

static bool try_other_client(unsigned int ms)
{
	return try_against(ms, false, JOBS, JOBS, few_before);
}

/* it would have its share of the ring otherwise, two by two */
static void between_clients(void)
{
	repeat_until_busy(try_other_client);
}

#define MANY 120

/*
 * The low one lets sixteen pass from when it is looked at, and may have to let another one go first that stands back, too; or fewer,
 * where the ring runs dry. Without a turn it would be behind all.
 */
static void after_some(const struct tsr_run *runs, size_t count)
{
	uint32_t passed = 0;

	for (size_t i = 0; i < count && runs[i].ctx != LOWER; i++)
		passed += runs[i].ctx == HIGHER;
	tap_note("%u of higher priority went before", passed);
	require(passed <= MANY * 2 / 3);
}

static bool try_turn_of_own(unsigned int ms)
{
	return try_against(ms, true, 1, MANY, after_some);
}

static bool try_turn_of_other(unsigned int ms)
{
	return try_against(ms, false, 1, MANY, after_some);
}

static void low_is_not_starved(void)
{
	repeat_until_busy(try_turn_of_own);
	repeat_until_busy(try_turn_of_other);
}

/* clients, each a process: their jobs do not fit into the ring, two of each */
#define CROWD 130
#define CROWD_JOBS 3

/* they wait for the ends of pipes, and asleep: so many that look now and then keep a machine busy */
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
	uint32_t ctx = tsr_context_prio(&dev, DRM_TESSERA_PRIORITY_NORMAL);

	close(crowd->go[1]);
	close(crowd->enough[1]);
	__atomic_add_fetch(&crowd->open, 1, __ATOMIC_SEQ_CST);
	await_end(crowd->go);
	queue(&dev, ctx, CROWD_JOBS);
	__atomic_add_fetch(&crowd->queued, 1, __ATOMIC_SEQ_CST);
	await_end(crowd->enough);
	drain(&dev, ctx);
	tsr_close(&dev);
}

/* the context made last is the low one */
static uint32_t before_highest(const struct tsr_run *runs, size_t count)
{
	uint32_t highest = 0, n = 0;

	for (size_t i = 0; i < count; i++)
		highest = runs[i].ctx > highest ? runs[i].ctx : highest;
	while (runs[n].ctx != highest)
		n++;
	return n;
}

static bool try_crowd(unsigned int ms)
{
	struct crowd *crowd = tsr_shared(sizeof(*crowd));
	struct tsr_trace trace;
	struct tsr_run *runs;
	pid_t pids[CROWD];
	struct busy_run b;
	uint32_t low;
	size_t count;
	bool busy;

	require_ok(pipe(crowd->go));
	require_ok(pipe(crowd->enough));
	for (uint32_t i = 0; i < CROWD; i++)
		pids[i] = tap_fork(crowd_client, crowd);
	tsr_wait_for(__atomic_load_n(&crowd->open, __ATOMIC_SEQ_CST) == CROWD);
	busy_begin(&b, ms);
	low = tsr_context_prio(&b.dev, DRM_TESSERA_PRIORITY_LOW);
	tsr_trace_start("job_done", NULL);
	close(crowd->go[1]);
	tsr_wait_for(__atomic_load_n(&crowd->queued, __ATOMIC_SEQ_CST) == CROWD);
	queue(&b.dev, low, 1);
	busy = still_busy(&b);
	close(crowd->enough[1]);
	for (uint32_t i = 0; i < CROWD; i++)
		tap_join(pids[i]);
	drain(&b.dev, low);
	tsr_busy_end(&b.dev, &b.busy);
	trace = tsr_trace_stop();
	runs = tsr_trace_runs(&trace, b.dev.render, &count);
	if (busy) {
		uint32_t passed = before_highest(runs, count);

		tap_note("%u of %u others went before, beside %u ms", passed, CROWD * CROWD_JOBS,
			 ms);
		/* those in the ring, and some that pass */
		require(passed <= 300);
	}
	close(crowd->go[0]);
	close(crowd->enough[0]);
	free(runs);
	tsr_close(&b.dev);
	return busy;
}

/* of more clients than there is room for in the ring, some could always run */
static void low_is_not_starved_by_many(void)
{
	if (tap_slow())
		tap_skip("nothing is busy for as long as this takes");
	repeat_until_busy(try_crowd);
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
	{ "a job of low priority has its turn beside many clients", low_is_not_starved_by_many, 0,
	  120 },
	{ "high priority needs privilege", high_needs_privilege, 0, 0 },
};

TSR_TEST_MAIN(tests)
