// SPDX-License-Identifier: MIT
/*
 * BO_DESTROY while jobs use the object. The object must be freed after all
 * earlier work of the client by default, without waiting for it with
 * ASSUME_NOT_IN_USE, and before the call returns with SYNCHRONOUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.h"
#include "held.h"
#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t not_in_use = DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE;
static const uint32_t synchronous = DRM_TESSERA_BO_DESTROY_SYNCHRONOUS;

#define BYTES MiB(1)

static uint64_t used(struct tsr_device *dev)
{
	return tsr_query_memory(dev, tsr_seg_visible(dev)->id).client_used;
}

/*
 * Total size of the client's objects, resident or not. It drops only when an
 * object is completely freed.
 */
static uint64_t total_of(struct tsr_device *dev, const struct drm_tessera_query_segment *seg)
{
	char key[64];

	snprintf(key, sizeof(key), "drm-total-%s", (const char *)seg->name);
	return (uint64_t)tsr_fdinfo(dev, key);
}

static uint64_t total(struct tsr_device *dev)
{
	return total_of(dev, tsr_seg_visible(dev));
}

/* An object in visible memory, where used() counts it. */
static struct tsr_bo resident(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_bo bo = tsr_bo_new(dev, BYTES, tsr_bit(tsr_seg_visible(dev)), cpu);

	tsr_gpu_fill(dev, ctx, &bo, bo.handle);
	return bo;
}

static void destroy(struct tsr_device *dev, struct tsr_bo *bo, uint32_t flags)
{
	tsr_bo_unmap(bo);
	require_ok(__tsr_bo_destroy(dev->fd, bo->handle, flags));
	require_err(__tsr_bo_close(dev->fd, bo->handle), -EINVAL);
	bo->handle = 0;
}

/*
 * An object for the held jobs to write: those jobs never use the destroyed
 * object.
 */
static struct tsr_bo other(struct tsr_device *dev)
{
	return tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_gart(dev)), cpu);
}

/*
 * Destroy an object with ASSUME_NOT_IN_USE and wait until it is freed. By then
 * the kernel has also finished the earlier releases that it can do.
 */
static void see_through(struct tsr_device *dev, uint32_t ctx)
{
	uint64_t before = total(dev);
	struct tsr_bo bo = resident(dev, ctx);

	require_eq(total(dev), before + BYTES);
	destroy(dev, &bo, not_in_use);
	tsr_wait_for(total(dev) == before);
}

/* ---- many at once -------------------------------------------------------- */

#define MANY 17 /* TTM has sixteen workers */

/*
 * More objects than TTM has workers are destroyed while a held job uses them.
 * An object of another client is freed as soon as its own job is done.
 */
static void other_objects_go(void)
{
	struct tsr_device dev = tsr_open(), mine = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_held own = tsr_held_open_on(&mine, tsr_further_engine(&mine, 1));
	uint64_t before = total(&mine);
	struct tsr_bo bos[MANY], bo;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < MANY; i++) {
		bos[i] = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_visible(&dev)), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_submit(&dev, held.ctx, &cmd, held.gate, 0);
	tsr_cmd_fini(&cmd);
	for (uint32_t i = 0; i < MANY; i++)
		require_ok(__tsr_bo_close(dev.fd, bos[i].handle));

	bo = tsr_bo_new(&mine, BYTES, tsr_bit(tsr_seg_visible(&mine)), cpu);
	tsr_held_fill(&own, &bo, 16, 1);
	require_ok(__tsr_bo_close(mine.fd, bo.handle));
	require_eq(total(&mine), before + BYTES);
	tsr_held_go(&own);
	tsr_wait_for(total(&mine) == before);
	tsr_held_close(&own);
	tsr_held_close(&held);
	tsr_close(&mine);
	tsr_close(&dev);
}

#define DYING 500

/* Destroyed objects of a held job are not in the way of a search for victims. */
static void eviction_costs_the_same(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo rest, next, bos[DYING];
	struct tsr_cmd cmd;
	uint64_t before;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < DYING; i++) {
		bos[i] = tsr_bo_new(&dev, KiB(4), tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_submit(&dev, held.ctx, &cmd, held.gate, 0);
	tsr_cmd_fini(&cmd);
	for (uint32_t i = 0; i < DYING; i++)
		require_ok(__tsr_bo_close(dev.fd, bos[i].handle));
	rest = tsr_bo_new(&dev, seg->size - DYING * KiB(4), tsr_bit(seg), 0);
	next = tsr_bo_new(&dev, KiB(4), tsr_bit(seg), 0);
	tsr_gpu_touch(&dev, ctx, &rest);
	before = tsr_looked(seg->id);
	tsr_gpu_touch(&dev, ctx, &next);
	require_eq(tsr_bo_info(&dev, &next).segment, seg->id);
	require_eq(tsr_bo_info(&dev, &rest).segment, 0);
	require_msg(tsr_looked(seg->id) - before < 50,
		    "expected a search that does not see destroyed objects, it looked at %llu",
		    (unsigned long long)(tsr_looked(seg->id) - before));
	tsr_held_close(&held);
	tsr_close(&dev);
}

/* ---- by default ---------------------------------------------------------- */

/*
 * The object outlives earlier jobs of all contexts, including a destroyed
 * context, although the jobs do not use it.
 */
static void behind_earlier_work(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo target = other(&dev), bos[3];
	const struct tsr_event *ev, *done = NULL;
	uint64_t before = total(&dev);
	struct tsr_trace trace;

	for (uint32_t round = 0; round < ARRAY_SIZE(bos); round++) {
		struct tsr_held held = tsr_held_open(&dev);

		bos[round] = resident(&dev, ctx);
		tsr_held_fill(&held, &target, 16, round);
		/* An idle context must not matter. */
		tsr_context_new(&dev, 0);
		if (round == 1)
			tsr_context_free(&dev, held.ctx);
		tsr_trace_start("destroy", "job_done", NULL);
		destroy(&dev, &bos[round], 0);
		require(tsr_held_waits(&held));
		see_through(&dev, ctx);
		require_msg(total(&dev) == before + BYTES && used(&dev) == BYTES,
			    "expected the destroyed object to outlive jobs submitted before the "
			    "destroy, its memory is already free");
		require(tsr_held_waits(&held));
		tsr_held_go(&held);
		tsr_wait_for(total(&dev) == before);
		require_eq(used(&dev), 0);
		trace = tsr_trace_stop();
		tsr_trace_for_each(&trace, "job_done", job)
			done = job;
		require_eq(tsr_trace_count(&trace, "destroy"), 2);
		ev = tsr_trace_next(&trace, "destroy", NULL);
		ev = tsr_trace_next(&trace, "destroy", ev + 1);
		require(ev && done && ev > done);
		tsr_trace_free(&trace);
		tsr_held_close(&held);
	}
	tsr_close(&dev);
}

/*
 * Jobs in several contexts: the object outlives each of them, in any order of
 * completion.
 */
static void behind_all_contexts(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t before = total(&dev);

	for (uint32_t first = 0; first < 2; first++) {
		struct tsr_held held[] = {
			tsr_held_open(&dev),
			tsr_held_open_on(&dev, tsr_further_engine(&dev, 1)),
		};
		struct tsr_bo targets[] = { other(&dev), other(&dev) }, bo = resident(&dev, ctx);

		for (uint32_t i = 0; i < 2; i++)
			tsr_held_fill(&held[i], &targets[i], 16, i);
		destroy(&dev, &bo, 0);
		tsr_held_go(&held[first]);
		see_through(&dev, ctx);
		require_eq(total(&dev), before + BYTES);
		require(tsr_held_waits(&held[!first]));
		tsr_held_go(&held[!first]);
		tsr_wait_for(total(&dev) == before);
		tsr_held_close(&held[0]);
		tsr_held_close(&held[1]);
	}
	tsr_close(&dev);
}

/*
 * A destroyed object waits for jobs submitted before it, not for later ones.
 * Two objects destroyed before and after a job wait for different jobs.
 */
static void not_behind_later_work(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_held later = tsr_held_open_on(&dev, tsr_further_engine(&dev, 1));
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo target = other(&dev), first, second, third;
	uint64_t before = used(&dev), sum = total(&dev);

	first = resident(&dev, ctx);
	second = resident(&dev, ctx);
	third = resident(&dev, ctx);
	/* No job is pending. */
	destroy(&dev, &first, 0);
	tsr_wait_for(used(&dev) == before + 2 * BYTES);
	tsr_wait_for(total(&dev) == sum + 2 * BYTES);
	tsr_held_fill(&held, &target, 16, 1);
	destroy(&dev, &second, 0);
	later.ctx = held.ctx;
	tsr_held_fill(&later, &target, 16, 2);
	destroy(&dev, &third, 0);
	see_through(&dev, ctx);
	require_eq(used(&dev), before + 2 * BYTES);
	tsr_held_go(&held);
	tsr_wait_for(used(&dev) == before + BYTES);
	/* Counted until it is completely freed. */
	tsr_wait_for(total(&dev) == sum + BYTES);
	see_through(&dev, ctx);
	require_eq(used(&dev), before + BYTES);
	require(tsr_held_waits(&later));
	tsr_held_go(&later);
	tsr_wait_for(used(&dev) == before);
	tsr_held_close(&later);
	tsr_held_close(&held);
	tsr_close(&dev);
}

/*
 * Destroy an object directly after submitting the job that uses it, many times.
 */
static void right_after_submit(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), vis = tsr_bit(tsr_seg_visible(&dev));
	uint32_t flags[] = { 0, not_in_use };
	uint64_t before = used(&dev);

	for (uint32_t round = 0; round < 100; round++) {
		struct tsr_bo src = tsr_bo_new(&dev, KiB(64), vis, cpu), dst = other(&dev);
		struct tsr_cmd cmd;

		tsr_bo_map(&dev, &src);
		tsr_bo_map(&dev, &dst);
		tsr_pattern_write(&src, round);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &dst, true);
		tsr_cmd_bind_buffer(&cmd, 1, &src, false);
		tsr_cmd_copy(&cmd, 0, 0, 1, 0, src.size / 4);
		tsr_submit(&dev, ctx, &cmd, 0, 0);
		tsr_cmd_fini(&cmd);
		destroy(&dev, &src, flags[round % 2]);
		tsr_bo_wait(&dev, &dst);
		tsr_pattern_check(&dst, round);
		destroy(&dev, &dst, flags[round % 2]);
	}
	tsr_wait_for(used(&dev) == before);
	tsr_close(&dev);
}

/* Bytes the kernel allocates for several destroys, each after a new job. */
static uint64_t allocated(uint32_t contexts, uint32_t jobs)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo target = other(&dev), bos[4];
	struct tsr_trace trace;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = other(&dev);
	for (uint32_t i = 0; i < contexts; i++) {
		if (i)
			held.ctx = tsr_context_new(&dev, 0);
		for (uint32_t j = 0; j < jobs; j++)
			tsr_held_fill(&held, &target, 16, j);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		tsr_held_fill(&held, &target, 16, i);
		tsr_trace_start_own("kmem/kmalloc");
		destroy(&dev, &bos[i], 0);
		trace = tsr_trace_stop();
		tsr_trace_for_each(&trace, "kmalloc", ev)
			bytes += tsr_event_u64(ev, "bytes_req");
		tsr_trace_free(&trace);
	}
	require(bytes);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	tsr_held_close(&held);
	tsr_close(&dev);
	return bytes;
}

/*
 * The allocation per destroy does not depend on the number of queued jobs or
 * contexts.
 */
static void costs_the_same(void)
{
	uint64_t alone = allocated(1, 1);

	tap_note("%llu bytes", (unsigned long long)alone);
	require_eq(allocated(24, 1), alone);
	require_eq(allocated(1, 40), alone);
}

static void destroys_then_dies(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo target = other(&dev);

	tsr_held_fill(&held, &target, 16, 1);
	for (uint32_t i = 0; i < 4; i++) {
		struct tsr_bo bo = resident(&dev, ctx);

		destroy(&dev, &bo, 0);
	}
	client->state->ready = true;
	for (;;)
		pause();
}

/*
 * Kill a client that has a stuck job and destroyed objects waiting for it: the
 * memory must be freed once the job ends.
 */
static void client_dies(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t seg = tsr_seg_visible(&dev)->id;
	uint64_t before = tsr_query_memory(&dev, seg).used;
	struct tsr_client client = { 0 };

	/* Skip the test here if the child would have to skip it. */
	tsr_second_engine(&dev);
	tsr_engine_hangs();
	tsr_client_start(&client, destroys_then_dies, 0);
	tsr_wait_for(client.state->ready);
	require_eq(tsr_query_memory(&dev, seg).used, before + 4 * BYTES);
	tsr_client_kill(&client);
	tsr_engine_release();
	tsr_wait_for(tsr_query_memory(&dev, seg).used == before);
	tsr_close(&dev);
}

/*
 * Destroying an object through one file leaves it usable through another file.
 */
static void others_keep_it(void)
{
	struct tsr_device dev = tsr_open(), owner = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), flags[] = { 0, not_in_use, synchronous };

	for (uint32_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct tsr_bo bo = tsr_bo_new(&owner, KiB(64), tsr_bit(tsr_seg_gart(&dev)), cpu);
		struct drm_prime_handle prime = { .handle = bo.handle, .flags = DRM_CLOEXEC };

		tsr_bo_map(&owner, &bo);
		tsr_pattern_write(&bo, i);
		require_ok(tsr_ioctl(owner.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
		close(prime.fd);
		destroy(&owner, &bo, flags[i]);
		bo.handle = prime.handle;
		tsr_bo_map(&dev, &bo);
		tsr_pattern_check(&bo, i);
		tsr_gpu_touch(&dev, ctx, &bo);
		destroy(&dev, &bo, flags[i]);
	}
	tsr_close(&owner);
	tsr_close(&dev);
}

/* ---- by promise ---------------------------------------------------------- */

/*
 * A wrong ASSUME_NOT_IN_USE: a job that uses the object keeps its memory until
 * it ends, and no other client gets that memory.
 */
static void lie(void)
{
	struct tsr_device dev = tsr_open(), victim = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	struct tsr_held held = tsr_held_open(&dev);
	uint32_t ctx = tsr_context_new(&victim, 0), num = (uint32_t)(vis->size / BYTES);
	struct tsr_bo src = resident(&dev, tsr_context_new(&dev, 0));
	struct tsr_bo dst = tsr_bo_new(&dev, BYTES, tsr_bit(tsr_seg_gart(&dev)), cpu);
	uint32_t value = src.handle;
	struct tsr_bo *bos = calloc(num, sizeof(*bos));

	require(bos);
	tsr_bo_map(&dev, &dst);
	tsr_held_copy(&held, &dst, &src);
	destroy(&dev, &src, not_in_use);
	/* Fill the rest of the segment. */
	for (uint32_t i = 0; i + 1 < num; i++) {
		bos[i] = tsr_bo_new(&victim, BYTES, tsr_bit(vis), cpu);
		tsr_gpu_fill(&victim, ctx, &bos[i], ~i);
	}
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	tsr_words_check(dst.map, BYTES / 4, value);
	for (uint32_t i = 0; i + 1 < num; i++) {
		tsr_bo_map(&victim, &bos[i]);
		tsr_words_check(bos[i].map, BYTES / 4, ~i);
	}
	tsr_held_close(&held);
	tsr_close(&victim);
	tsr_close(&dev);
}

/* ---- synchronous --------------------------------------------------------- */

/*
 * The memory is free when the call returns, in each segment. With
 * ASSUME_NOT_IN_USE the call does not wait for an unrelated pending job.
 */
static void memory_is_free_on_return(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_gart(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo target = other(&dev), bo;
	uint64_t before, all;

	tsr_held_fill(&held, &target, 16, 1);
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < ARRAY_SIZE(segs); i++) {
			before = tsr_query_memory(&dev, segs[i]->id).used;
			all = total_of(&dev, segs[i]);
			bo = tsr_bo_new(&dev, BYTES, tsr_bit(segs[i]), cpu);
			tsr_gpu_touch(&dev, ctx, &bo);
			require_eq(tsr_query_memory(&dev, segs[i]->id).used, before + BYTES);
			destroy(&dev, &bo, pass ? synchronous : synchronous | not_in_use);
			require_eq(tsr_query_memory(&dev, segs[i]->id).used, before);
			require_eq(total_of(&dev, segs[i]), all);
			require_eq(tsr_held_waits(&held), !pass);
		}
		if (!pass)
			tsr_held_go(&held);
	}
	tsr_held_close(&held);
	tsr_close(&dev);
}

struct waiter {
	int fd;
	uint32_t handle;
	pid_t tid;
	int rc;
};

static void nothing(int sig)
{
}

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;
	struct drm_tessera_bo_destroy args = { .handle = w->handle, .flags = synchronous };

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
	w->rc = ioctl(w->fd, DRM_IOCTL_TESSERA_BO_DESTROY, &args) ? -errno : 0;
	return NULL;
}

/* The wait is interruptible. After -EINTR nothing was destroyed. */
static void wait_is_interrupted(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_held held = tsr_held_open(&dev);
	struct sigaction action = { .sa_handler = nothing };
	struct tsr_bo target = other(&dev), bo = other(&dev);
	struct waiter w = { .fd = dev.fd, .handle = bo.handle };
	pthread_t thread;
	pid_t tid;

	require(!sigaction(SIGUSR1, &action, NULL));
	tsr_held_fill(&held, &target, 16, 1);
	require(!pthread_create(&thread, NULL, waiter_run, &w));
	while (!(tid = __atomic_load_n(&w.tid, __ATOMIC_SEQ_CST)) || !tsr_sleeps(tid))
		usleep(1000);
	require(!pthread_kill(thread, SIGUSR1));
	pthread_join(thread, NULL);
	require_eq(w.rc, -EINTR);
	require(tsr_held_waits(&held));
	tsr_bo_info(&dev, &bo);

	w.tid = 0;
	require(!pthread_create(&thread, NULL, waiter_run, &w));
	while (!(tid = __atomic_load_n(&w.tid, __ATOMIC_SEQ_CST)) || !tsr_sleeps(tid))
		usleep(1000);
	tsr_bo_info(&dev, &bo);
	tsr_held_go(&held);
	pthread_join(thread, NULL);
	require_eq(w.rc, 0);
	require_err(__tsr_bo_close(dev.fd, bo.handle), -EINVAL);
	tsr_held_close(&held);
	tsr_close(&dev);
}

struct looker {
	struct tsr_device *dev;
	const struct tsr_bo *bo;
	volatile pid_t tid;
};

/* Wait for space in MAKE_RESIDENT, holding a reference to the object. */
static void *looker_run(void *arg)
{
	struct looker *looker = arg;

	looker->tid = gettid();
	/* May fail: the handle can be gone already. */
	__tsr_make_one(looker->dev, looker->bo);
	return NULL;
}

struct destroyer {
	struct tsr_device *dev;
	uint32_t handle;
	uint64_t left;
	volatile pid_t tid;
	volatile bool done;
	int rc;
};

static void *destroyer_run(void *arg)
{
	struct destroyer *d = arg;

	d->tid = gettid();
	d->rc = __tsr_bo_destroy(d->dev->fd, d->handle, synchronous);
	d->left = total(d->dev);
	d->done = true;
	return NULL;
}

/*
 * No job uses the object, but another call that waits for space still
 * references it. SYNCHRONOUS waits for that call, too.
 */
static void calls_that_have_it(void)
{
	struct tsr_device dev = tsr_open(), other_file = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	struct tsr_held held = tsr_held_open(&other_file);
	struct tsr_bo all = tsr_bo_new(&other_file, vis->size, tsr_bit(vis), 0), bo;
	struct looker looker = { .dev = &dev, .bo = &bo };
	struct destroyer d = { .dev = &dev };
	uint64_t before = total(&dev);
	pthread_t threads[2];

	tsr_gpu_touch(&other_file, tsr_context_new(&other_file, 0), &all);
	tsr_held_fill(&held, &all, 16, 1);
	tsr_bo_free(&other_file, &all);
	bo = tsr_bo_new(&dev, BYTES, tsr_bit(vis), 0);
	require_eq(total(&dev), before + BYTES);
	require(!pthread_create(&threads[0], NULL, looker_run, &looker));
	tsr_wait_for(looker.tid && tsr_is_waiting(looker.tid, "space"));
	d.handle = bo.handle;
	require(!pthread_create(&threads[1], NULL, destroyer_run, &d));
	tsr_wait_for(d.done || (d.tid && tsr_is_waiting(d.tid, "destroy")));
	tsr_held_go(&held);
	require(!pthread_join(threads[0], NULL));
	require(!pthread_join(threads[1], NULL));
	require_ok(d.rc);
	require_eq(d.left, before);
	tsr_held_close(&held);
	tsr_close(&other_file);
	tsr_close(&dev);
}

/*
 * SYNCHRONOUS must not wait for CPU mappings: only the caller's own unmap could
 * end that wait.
 */
static void destroy_mapped(struct tsr_device *dev, const struct tsr_bo *bo)
{
	struct destroyer d = { .dev = dev, .handle = bo->handle };
	pthread_t thread;

	require(!pthread_create(&thread, NULL, destroyer_run, &d));
	tsr_wait_for(d.done);
	require(!pthread_join(thread, NULL));
	require_ok(d.rc);
}

static void leaves_at_once(void *arg)
{
}

/*
 * Partial mappings, and those of a forked child that has exited, count as CPU
 * mappings like any other.
 */
static void mapped_in_part(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = other(&dev);

	tsr_bo_map(&dev, &bo);
	tap_join(tap_fork(leaves_at_once, NULL));
	tsr_pattern_write(&bo, 1);
	destroy_mapped(&dev, &bo);
	tsr_pattern_check(&bo, 1);

	bo = other(&dev);
	tsr_bo_map(&dev, &bo);
	require(!munmap((char *)bo.map + KiB(4), KiB(4)));
	destroy_mapped(&dev, &bo);
	*(volatile uint32_t *)bo.map = 1;
	tsr_close(&dev);
}

#define PARTS 100 /* above the kernel's limit of 64 unfinished parts */

/*
 * A forced-split submission that fits into memory and keeps one object bound
 * over all cuts.
 */
struct keeper {
	struct tsr_device *dev;
	struct tsr_cmd cmd;
	uint32_t ctx, parts;
};

static void keeper_init(struct keeper *keeper, struct tsr_device *dev, const struct tsr_bo *kept)
{
	struct tsr_bo small = other(dev);

	*keeper = (struct keeper){
		.dev = dev,
		.ctx = tsr_context_new(dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL),
	};
	tsr_cmd_init(&keeper->cmd);
	tsr_cmd_bind_buffer(&keeper->cmd, 1, kept, true);
	for (uint32_t i = 0; i < PARTS; i++) {
		tsr_cmd_bind_buffer(&keeper->cmd, 0, &small, true);
		tsr_cmd_fill(&keeper->cmd, 0, 0, 1, i);
	}
}

static void keeper_run(void *arg)
{
	struct keeper *keeper = arg;

	keeper->parts = tsr_submit(keeper->dev, keeper->ctx, &keeper->cmd, 0, 0);
}

static void looker_call(void *arg)
{
	struct looker *looker = arg;

	require_ok(__tsr_make_one(looker->dev, looker->bo));
}

/*
 * MAKE_RESIDENT lacks space because of a destroyed object with a stuck job and
 * an object that a split submission keeps bound. Once the submission has ended
 * there is enough space, and the call must not wait for the destroyed object.
 */
static void beside_held_objects(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	struct tsr_held held = tsr_held_open(&dev);
	struct tsr_bo dying = tsr_bo_new(&dev, vis->size * 3 / 8, tsr_bit(vis), 0);
	struct tsr_bo kept = tsr_bo_new(&dev, vis->size * 3 / 8, tsr_bit(vis), 0);
	struct tsr_bo bo = tsr_bo_new(&dev, vis->size / 2, tsr_bit(vis), 0);
	struct looker looker = { .dev = &dev, .bo = &bo };
	struct tsr_call keep, look;
	struct tsr_stuck stuck;
	struct keeper keeper;

	keeper_init(&keeper, &dev, &kept);
	tsr_gpu_touch(&dev, keeper.ctx, &dying);
	tsr_gpu_touch(&dev, keeper.ctx, &kept);
	tsr_held_fill(&held, &dying, 16, 1);
	tsr_bo_free(&dev, &dying);
	stuck = tsr_stuck_start(&dev, keeper.ctx);
	tsr_call_start(&keep, keeper_run, &keeper);
	tsr_wait_for(tsr_call_waits(&keep, "parts"));
	tsr_call_start(&look, looker_call, &looker);
	tsr_wait_for(tsr_call_waits(&look, "space"));
	tsr_stuck_end(&stuck);
	tsr_call_join(&keep);
	require(keeper.parts >= PARTS);
	tsr_wait_for(look.returned);
	require(tsr_held_waits(&held));
	require_eq(tsr_bo_info(&dev, &bo).segment, vis->id);
	require_eq(tsr_bo_info(&dev, &kept).segment, 0);
	tsr_call_join(&look);
	tsr_held_go(&held);
	tsr_held_close(&held);
	tsr_cmd_fini(&keeper.cmd);
	tsr_close(&dev);
}

static void bad_input(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = other(&dev);

	for (uint32_t bit = 2; bit < 32; bit++) {
		require_err(__tsr_bo_destroy(dev.fd, bo.handle, 1u << bit), -EINVAL);
		require_err(__tsr_bo_destroy(dev.fd, bo.handle, 1u << bit | not_in_use), -EINVAL);
	}
	tsr_bo_info(&dev, &bo);
	for (uint32_t flags = 0; flags < 4; flags++) {
		require_err(__tsr_bo_destroy(dev.fd, 4711, flags), -ENOENT);
		require_err(__tsr_bo_destroy(dev.fd, 0, flags), -ENOENT);
	}
	destroy(&dev, &bo, 0);
	require_err(__tsr_bo_destroy(dev.fd, 1, 0), -ENOENT);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "DESTROY-1 DESTROY-2 DESTROY-5 DESTROY-6 MODEL-14 an object is freed after all earlier "
	  "work",
	  behind_earlier_work, 0, 0 },
	{ "DESTROY-5 an object is freed after earlier jobs of all contexts", behind_all_contexts, 0,
	  0 },
	{ "DESTROY-5 later work does not delay the free", not_behind_later_work, 0, 0 },
	{ "DESTROY-3 a destroy costs the same behind many jobs", costs_the_same, 0, 0 },
	{ "DESTROY-4 destroy right after submit", right_after_submit, 0, 0 },
	{ "DESTROY-1 objects of a killed client are freed", client_dies, 0, 0 },
	{ "DESTROY-1 another file keeps the object", others_keep_it, 0, 0 },
	{ "DESTROY-7 a wrong ASSUME_NOT_IN_USE is harmless", lie, 0, 0 },
	{ "DESTROY-8 the memory is free on return", memory_is_free_on_return, 0, 0 },
	{ "DESTROY-8 the wait can be interrupted", wait_is_interrupted, 0, 0 },
	{ "DESTROY-8 SYNCHRONOUS waits for calls that reference the object", calls_that_have_it, 0,
	  0 },
	{ "DESTROY-8 SYNCHRONOUS does not wait for partial or forked mappings", mapped_in_part, 0,
	  0 },
	{ "RES-3 space is found without waiting for a destroyed object", beside_held_objects, 0,
	  0 },
	{ "DESTROY-1 destroyed objects do not wait for those of others", other_objects_go, 0, 0 },
	{ "DESTROY-1 destroyed objects cost an eviction nothing", eviction_costs_the_same, 0, 0 },
	{ "DESTROY-9 ERR-41 bad input", bad_input, 0, 0 },
};

TSR_TEST_MAIN(tests)
