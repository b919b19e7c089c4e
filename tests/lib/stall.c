// SPDX-License-Identifier: MIT
#include "stall.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void tsr_rotation_init(struct tsr_device *dev, struct tsr_rotation *rot, uint32_t parts,
		       uint32_t flags)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	uint64_t size = seg->size * 5 / 8 & ~UINT64_C(4095);

	tsr_cmd_init(&rot->cmd);
	rot->parts = parts;
	require(parts / 2 < size / 4);
	for (uint32_t i = 0; i < 2; i++)
		rot->bos[i] = tsr_bo_new(dev, size, tsr_bit(seg), flags);
	for (uint32_t i = 0; i < parts; i++) {
		tsr_cmd_bind_buffer(&rot->cmd, 0, &rot->bos[i % 2], true);
		tsr_cmd_fill(&rot->cmd, 0, i / 2, 1, i + 1);
	}
}

uint32_t tsr_rotation_ran(struct tsr_device *dev, uint32_t ctx, const struct tsr_rotation *rot)
{
	uint32_t count = rot->parts / 2 + 1, ran = 0;
	uint32_t *words = calloc(2 * count, sizeof(*words));

	require(words);
	for (uint32_t b = 0; b < 2; b++)
		tsr_gpu_read(dev, ctx, &rot->bos[b], 0, count, words + b * count);
	while (ran < rot->parts && words[ran % 2 * count + ran / 2] == ran + 1)
		ran++;
	for (uint32_t i = ran; i < rot->parts; i++)
		require_msg(!words[i % 2 * count + i / 2],
			    "part %u of %u has run, part %u not: 0x%x", i, rot->parts, ran,
			    words[i % 2 * count + i / 2]);
	free(words);
	return ran;
}

void tsr_rotation_check(struct tsr_device *dev, uint32_t ctx, const struct tsr_rotation *rot,
			uint32_t ran)
{
	require_eq(tsr_rotation_ran(dev, ctx, rot), ran);
}

void tsr_rotation_fini(struct tsr_device *dev, struct tsr_rotation *rot)
{
	tsr_cmd_fini(&rot->cmd);
	for (uint32_t i = 0; i < 2; i++)
		tsr_bo_free(dev, &rot->bos[i]);
}

void *tsr_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	require(p != MAP_FAILED);
	return p;
}

uint64_t tsr_patience(void)
{
	return tap_now_ns() + (tap_slow() ? 300 : 60) * 1000000000ull;
}

static void (*client_fn)(struct tsr_client *client);

static void client_main(void *arg)
{
	client_fn(arg);
}

void tsr_client_start(struct tsr_client *client, void (*fn)(struct tsr_client *client),
		      uint64_t arg)
{
	client->state = tsr_shared(sizeof(*client->state));
	client->arg = arg;
	client_fn = fn;
	client->pid = tap_fork(client_main, client);
}

struct tsr_device tsr_client_open(struct tsr_client *client)
{
	struct tsr_device dev = tsr_open();

	client->state->fd = dev.fd;
	return dev;
}

int tsr_client_submit(struct tsr_client *client, struct tsr_device *dev, uint32_t ctx,
		      const struct tsr_cmd *cmd, uint32_t wait, uint32_t signal)
{
	struct drm_tessera_submit args;
	int rc;

	__atomic_fetch_add(&client->state->begun, 1, __ATOMIC_SEQ_CST);
	rc = __tsr_submit(dev, ctx, cmd, wait, signal, &args);
	client->state->error = rc;
	__atomic_fetch_add(&client->state->returned, 1, __ATOMIC_SEQ_CST);
	return rc;
}

uint64_t tsr_client_engine_ns(const struct tsr_client *client, const char *engine)
{
	char key[64];
	int64_t ns;

	snprintf(key, sizeof(key), "drm-engine-%s", engine);
	ns = tsr_fdinfo_of(client->pid, client->state->fd, key);
	require_msg(ns >= 0, "no %s in the client's fdinfo", key);
	return (uint64_t)ns;
}

/* of the first render engine; engines are named in the order of their ids */
static uint64_t render_ns(const struct tsr_client *client)
{
	return tsr_client_engine_ns(client, "render0");
}

void tsr_client_wait_running(const struct tsr_client *client)
{
	uint64_t before;

	tsr_wait_for(client->state->fd);
	before = render_ns(client);
	tsr_wait_for(client->state->begun);
	tsr_wait_for(render_ns(client) != before);
}

bool tsr_client_asleep(const struct tsr_client *client)
{
	require(tsr_task_state(client->pid));
	return tsr_waits(client->pid);
}

void tsr_client_check(const struct tsr_client *client)
{
	siginfo_t info = { 0 };

	require(!waitid(P_PID, (id_t)client->pid, &info, WEXITED | WNOHANG | WNOWAIT));
	require_msg(!info.si_pid || (info.si_code == CLD_EXITED && !info.si_status),
		    "a client has ended with %d", info.si_status);
}

int tsr_client_take_fd(const struct tsr_client *client, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, client->pid, 0);
	int ours = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

	require_msg(ours >= 0, "pidfd_getfd: %s", strerror(errno));
	close(pidfd);
	return ours;
}

uint64_t tsr_client_kill(struct tsr_client *client)
{
	uint64_t start = tap_now_ns();
	int status;

	require(!kill(client->pid, SIGKILL));
	require(waitpid(client->pid, &status, 0) == client->pid);
	require_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		    "the client had ended before it was killed");
	return tap_now_ns() - start;
}

void tsr_client_join(struct tsr_client *client)
{
	tap_join(client->pid);
}

uint32_t tsr_context_on(struct tsr_device *dev, uint32_t engine)
{
	struct drm_tessera_context_create args = { .engine = engine };

	require_ok(__tsr_context_create(dev->fd, &args));
	return args.id;
}

uint32_t tsr_context_forced_on(struct tsr_device *dev, uint32_t engine)
{
	struct drm_tessera_context_create args = {
		.engine = engine,
		.flags = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL,
	};

	require_ok(__tsr_context_create(dev->fd, &args));
	return args.id;
}

void tsr_small_init(struct tsr_device *dev, struct tsr_small *small, uint32_t engine)
{
	small->bo = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), 0);
	small->ctx = tsr_context_on(dev, engine);
	small->sync = tsr_syncobj_new(dev);
	tsr_cmd_init(&small->cmd);
	tsr_cmd_bind_buffer(&small->cmd, 0, &small->bo, true);
	tsr_cmd_fill(&small->cmd, 0, 0, 16, 1);
}

void tsr_small_run(struct tsr_device *dev, struct tsr_small *small)
{
	tsr_submit(dev, small->ctx, &small->cmd, 0, small->sync);
	require_ok(tsr_syncobj_status(dev, small->sync));
}

void tsr_small_fini(struct tsr_device *dev, struct tsr_small *small)
{
	tsr_syncobj_free(dev, small->sync);
	tsr_context_free(dev, small->ctx);
	tsr_cmd_fini(&small->cmd);
	tsr_bo_free(dev, &small->bo);
}

uint32_t tsr_further_engine(struct tsr_device *dev, uint32_t n)
{
	for (uint32_t i = 0; i < dev->num_engines; i++)
		if (dev->engines[i].type == DRM_TESSERA_ENGINE_RENDER &&
		    dev->engines[i].id != dev->render && !n--)
			return dev->engines[i].id;
	tap_skip("the device has too few render engines");
}

uint32_t tsr_second_engine(struct tsr_device *dev)
{
	return tsr_further_engine(dev, 0);
}

uint64_t tsr_device_clock(struct tsr_device *dev)
{
	struct drm_tessera_query_device info;
	uint32_t one = 1;

	require_ok(__tsr_query(dev->fd, DRM_TESSERA_QUERY_DEVICE, sizeof(info), &one, &info));
	return info.timestamp_ns;
}

static int by_start(const void *a, const void *b)
{
	const struct tsr_run *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct tsr_run *tsr_trace_runs(const struct tsr_trace *trace, uint32_t engine, size_t *count)
{
	struct tsr_run *runs = calloc(tsr_trace_count(trace, "job_done") + 1, sizeof(*runs));
	size_t n = 0;

	require(runs);
	tsr_trace_for_each(trace, "job_done", ev) {
		/* no start time: the job never ran */
		if (tsr_event_u64(ev, "engine") != engine || !tsr_event_u64(ev, "start_ns"))
			continue;
		runs[n++] = (struct tsr_run){
			.start = tsr_event_u64(ev, "start_ns"),
			.end = tsr_event_u64(ev, "end_ns"),
			.ctx = (uint32_t)tsr_event_u64(ev, "ctx"),
			.seqno = tsr_event_u64(ev, "seqno"),
			.error = (int)tsr_event_u64(ev, "error"),
			.at = (size_t)(ev - trace->events),
		};
	}
	qsort(runs, n, sizeof(*runs), by_start);
	*count = n;
	return runs;
}
