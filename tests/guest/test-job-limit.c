// SPDX-License-Identifier: MIT
/*
 * A process may have 256 unfinished jobs. The first job of the test is stuck on
 * its engine, so the jobs behind it stay unfinished. The next SUBMIT of the
 * process must wait, and that of another process must not.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "call.h"
#include "host.h"
#include "stall.h"

#define MOST 256
#define CONTEXTS 4

struct scene {
	struct tsr_device dev;
	uint32_t contexts[CONTEXTS];
	struct tsr_cmd cmd;
	struct tsr_stuck stuck;
};

/* Leaves @count unfinished jobs, the stuck one included. */
static void scene_begin(struct scene *s, uint32_t count)
{
	s->dev = tsr_open();
	tsr_cmd_init(&s->cmd);
	tsr_cmd_nop(&s->cmd, 8);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		s->contexts[i] = tsr_context_new(&s->dev, 0);
	s->stuck = tsr_stuck_start(&s->dev, s->contexts[0]);
	for (uint32_t i = 1; i < count; i++)
		tsr_submit(&s->dev, s->contexts[i % CONTEXTS], &s->cmd, 0, 0);
}

static void scene_end(struct scene *s)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		tsr_submit_done(&s->dev, s->contexts[i], &s->cmd);
	tsr_cmd_fini(&s->cmd);
	tsr_close(&s->dev);
}

struct asking {
	struct scene *scene;
	struct tsr_call in;
	int rc;
};

/* Does not restart after a signal. */
static void ask_once(void *arg)
{
	struct asking *asking = arg;
	struct scene *s = asking->scene;
	struct drm_tessera_submit args;

	tsr_submit_args(&s->cmd, s->contexts[0], &args);
	asking->rc = ioctl(s->dev.fd, DRM_IOCTL_TESSERA_SUBMIT, &args) ? -errno : 0;
}

static void ask(struct asking *asking)
{
	tsr_call_start(&asking->in, ask_once, asking);
	tsr_wait_for(asking->in.returned || tsr_call_waits(&asking->in, "quota"));
	require_msg(
		!asking->in.returned,
		"expected SUBMIT to wait while its process has %u unfinished jobs, it returned %d",
		MOST, asking->rc);
}

static void submit_one(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	tsr_submit(&dev, tsr_context_new(&dev, 0), &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static void on_signal(int sig)
{
}

static void one_more_waits(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct asking asking;
	struct scene s;

	require(!sigaction(SIGUSR1, &action, NULL));
	scene_begin(&s, MOST);
	asking.scene = &s;
	ask(&asking);
	require(!pthread_kill(asking.in.thread, SIGUSR1));
	tsr_call_join(&asking.in);
	require_eq(asking.rc, -EINTR);

	/* another process does not wait */
	tap_join(tap_fork(submit_one, NULL));

	ask(&asking);
	tsr_stuck_end(&s.stuck);
	tsr_call_join(&asking.in);
	require_ok(asking.rc);
	scene_end(&s);
}

#define PARTS 40

/*
 * The call has the last place, so it has one unfinished part at a time. The
 * parts run on an engine of their own.
 */
static void parts_one_by_one(void)
{
	struct tsr_rotation rot;
	struct tsr_trace trace;
	struct scene s;
	uint32_t engine, ctx, done, unfinished = 0, most = 0;

	scene_begin(&s, MOST - 1);
	engine = tsr_second_engine(&s.dev);
	ctx = tsr_context_on(&s.dev, engine);
	done = tsr_syncobj_new(&s.dev);
	tsr_rotation_init(&s.dev, &rot, PARTS, 0);
	tsr_trace_start("split_part", "job_done", NULL);
	require_eq(tsr_submit(&s.dev, ctx, &rot.cmd, 0, done), PARTS);
	require_ok(tsr_syncobj_status(&s.dev, done));
	trace = tsr_trace_stop();
	require(!trace.lost);
	for (const struct tsr_event *ev = trace.events; ev < trace.events + trace.count; ev++) {
		if (!strcmp(ev->name, "split_part"))
			most = ++unfinished > most ? unfinished : most;
		else if (!strcmp(ev->name, "job_done") && tsr_event_u64(ev, "engine") == engine)
			unfinished--;
	}
	require_eq(tsr_trace_count(&trace, "split_part"), PARTS);
	require_eq(most, 1);
	tsr_trace_free(&trace);
	tsr_rotation_check(&s.dev, ctx, &rot, PARTS);
	tsr_rotation_fini(&s.dev, &rot);
	tsr_stuck_end(&s.stuck);
	scene_end(&s);
}

static const struct tap_test tests[] = {
	{ "SUBMIT waits while its process has 256 unfinished jobs", one_more_waits, 0, 0 },
	{ "SUBMIT in parts has one unfinished part at the limit of jobs", parts_one_by_one, 0, 0 },
};

TSR_TEST_MAIN(tests)
