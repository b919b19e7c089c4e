// SPDX-License-Identifier: MIT
/*
 * Monitored fences: signalled and waited for by CPU and GPU in all four
 * combinations, by jobs in parts, and by jobs that fail. The value in the
 * memory page must rise in the order of submission. Jobs are held by a stuck
 * job on another engine.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "hang.h"
#include "held.h"
#include "host.h"
#include "inject.h"
#include "pci.h"
#include "stall.h"
#include "tsr.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

static struct tsr_cmd nothing(void)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	return cmd;
}

/* A job that writes @value to a small object. */
struct mark {
	struct tsr_bo bo;
	struct tsr_cmd cmd;
};

static void mark_init(struct tsr_device *dev, struct mark *mark, uint32_t value)
{
	mark->bo = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), cached);
	tsr_bo_map(dev, &mark->bo);
	tsr_cmd_init(&mark->cmd);
	tsr_cmd_bind_buffer(&mark->cmd, 0, &mark->bo, true);
	tsr_cmd_fill(&mark->cmd, 0, 0, 1024, value);
}

static uint32_t mark_read(const struct mark *mark)
{
	return *(volatile uint32_t *)mark->bo.map;
}

/*
 * The @n-th gate for jobs. The jobs run on the first two render engines, the
 * stuck ones on the next.
 */
static struct tsr_held hold_new(struct tsr_device *dev, uint32_t n)
{
	return tsr_held_open_on(dev, tsr_further_engine(dev, 1 + n));
}

static void submit_signal(struct tsr_device *dev, uint32_t ctx, const struct tsr_cmd *cmd,
			  uint32_t wait, const struct tsr_fence *fence, uint64_t point)
{
	struct drm_tessera_sync syncs[2] = { tsr_sync_signal(fence, point), { .handle = wait } };

	require_ok(__tsr_submit_syncs(dev, ctx, cmd, syncs, wait ? 2 : 1));
}

static void gpu_to_cpu(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct mark mark;

	for (uint64_t point = 1; point <= 40; point++) {
		mark_init(&dev, &mark, (uint32_t)point);
		submit_signal(&dev, ctx, &mark.cmd, 0, &fence, point * 1000000007);
		require_ok(
			__tsr_syncobj_wait(dev.fd, fence.syncobj, point * 1000000007, INT64_MAX));
		require_eq(*fence.value, point * 1000000007);
		require_eq(mark_read(&mark), point);
		tsr_bo_free(&dev, &mark.bo);
		tsr_cmd_fini(&mark.cmd);
	}
	/* Submit many signals without waiting for any. */
	for (uint64_t i = 41; i <= 200; i++) {
		struct tsr_cmd cmd = nothing();

		submit_signal(&dev, ctx, &cmd, 0, &fence, i * 1000000007);
		tsr_cmd_fini(&cmd);
	}
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 200 * 1000000007ull, INT64_MAX));
	require_eq(*fence.value, 200 * 1000000007ull);
	require_eq(tsr_syncobj_point(&dev, fence.syncobj), 200 * 1000000007ull);
	tsr_close(&dev);
}

/* A thread that waits for a point, and the cost of its wait. */
struct waiter {
	pthread_t thread;
	struct tsr_device *dev;
	const struct tsr_fence *fence;
	uint64_t point;
	volatile pid_t tid;
	volatile int rc;
	volatile bool done;
	uint64_t seen, cpu_ns;
	long switches;
};

static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static long thread_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void *wait_for_point(void *arg)
{
	struct waiter *w = arg;
	uint64_t ns = thread_ns();
	long switches = thread_switches();

	w->tid = (pid_t)syscall(SYS_gettid);
	w->rc = __tsr_syncobj_wait(w->dev->fd, w->fence->syncobj, w->point, INT64_MAX);
	w->seen = *w->fence->value;
	w->switches = thread_switches() - switches;
	w->cpu_ns = thread_ns() - ns;
	w->done = true;
	return NULL;
}

static void waiter_start(struct waiter *w, struct tsr_device *dev, const struct tsr_fence *fence,
			 uint64_t point)
{
	*w = (struct waiter){ .dev = dev, .fence = fence, .point = point };
	require(!pthread_create(&w->thread, NULL, wait_for_point, w));
	tsr_wait_for(w->tid && tsr_sleeps(w->tid));
}

static void waiter_end(struct waiter *w)
{
	require(!pthread_join(w->thread, NULL));
	require_ok(w->rc);
	require(w->seen >= w->point);
}

static void cpu_to_cpu(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 5);
	struct waiter w[2];

	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 5, 0));
	waiter_start(&w[0], &dev, &fence, 10);
	waiter_start(&w[1], &dev, &fence, 20);
	tsr_fence_signal(&dev, &fence, 9);
	require_eq(*fence.value, 9);
	require(!w[0].done && !w[1].done);
	tsr_fence_signal(&dev, &fence, 12);
	require_eq(*fence.value, 12);
	waiter_end(&w[0]);
	require(!w[1].done);
	tsr_fence_signal(&dev, &fence, ~0ull);
	require_eq(*fence.value, ~0ull);
	waiter_end(&w[1]);
	require_err(__tsr_fence_signal(dev.fd, fence.id, ~0ull), -EINVAL);
	tsr_close(&dev);
}

/* LOCK-8: a wait sleeps. Polling would show as context switches or CPU time. */
static void waits_sleep(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_held hold = hold_new(&dev, 0);
	struct tsr_cmd cmd = nothing();
	struct waiter w;
	uint64_t start;

	submit_signal(&dev, ctx, &cmd, hold.gate, &fence, 1);
	waiter_start(&w, &dev, &fence, 1);
	start = tap_now_ns();
	usleep(500000);
	tsr_held_release(&hold);
	waiter_end(&w);
	tap_note("%llu ms: %ld switches, %llu us of CPU",
		 (unsigned long long)(tap_now_ns() - start) / 1000000, w.switches,
		 (unsigned long long)w.cpu_ns / 1000);
	/* one for the wait, a few for locks and faults */
	require(w.switches <= 5);
	tsr_held_close(&hold);
	tsr_close(&dev);
}

/* A thread that submits a job waiting for a point without a submission. */
struct early {
	pthread_t thread;
	struct tsr_device *dev;
	const struct tsr_fence *fence;
	const struct tsr_cmd *cmd;
	uint64_t point;
	uint32_t ctx;
	volatile pid_t tid;
	volatile int rc;
	volatile bool done;
};

static void *submit_early(void *arg)
{
	struct early *e = arg;
	struct drm_tessera_sync sync = tsr_sync_wait(e->fence, e->point);

	e->tid = (pid_t)syscall(SYS_gettid);
	e->rc = __tsr_submit_syncs(e->dev, e->ctx, e->cmd, &sync, 1);
	e->done = true;
	return NULL;
}

static void early_start(struct early *e, struct tsr_device *dev, uint32_t ctx,
			const struct tsr_cmd *cmd, const struct tsr_fence *fence, uint64_t point)
{
	*e = (struct early){ .dev = dev, .ctx = ctx, .cmd = cmd, .fence = fence, .point = point };
	require(!pthread_create(&e->thread, NULL, submit_early, e));
	tsr_wait_for(e->tid && tsr_sleeps(e->tid));
}

static void early_end(struct early *e)
{
	require(!pthread_join(e->thread, NULL));
	require_ok(e->rc);
}

/*
 * The submission waits inside the call and has queued no job. So it blocks
 * neither other jobs of its context, nor its client's quota, nor other users of
 * its object.
 */
static void cpu_to_gpu(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0), theirs = tsr_context_new(&other, 0);
	struct drm_tessera_sync sync = tsr_sync_wait(&fence, 7);
	struct tsr_bo bo;
	struct mark mark;
	struct early e;

	mark_init(&dev, &mark, 0x700);
	sync.flags = DRM_TESSERA_SYNC_TIMELINE;
	require_err(__tsr_submit_syncs(&dev, ctx, &mark.cmd, &sync, 1), -EINVAL);
	early_start(&e, &dev, ctx, &mark.cmd, &fence, 7);
	tsr_gpu_fill(&dev, ctx, &mark.bo, 0x100);
	bo = tsr_bo_new(&other, MiB(1), tsr_bit(tsr_seg_gart(&other)), cached);
	tsr_gpu_fill(&other, theirs, &bo, 2);
	tsr_fence_signal(&dev, &fence, 6);
	tsr_bo_wait(&dev, &mark.bo);
	require_eq(mark_read(&mark), 0x100);
	require(!e.done);
	tsr_fence_signal(&dev, &fence, 8);
	early_end(&e);
	tsr_bo_wait(&dev, &mark.bo);
	require_eq(mark_read(&mark), 0x700);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * Submissions beyond the client's quota wait for a point that the same client
 * signals later.
 */
static void waiting_costs_no_quota(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd large, small = nothing();
	struct early e[10];

	tsr_cmd_init(&large);
	while (tsr_cmd_bytes(&large) + 4096 <= dev.info.max_cmd_bytes)
		tsr_cmd_nop(&large, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		early_start(&e[i], &dev, ctx, &large, &fence, 1);
	submit_signal(&dev, ctx, &small, 0, &fence, 1);
	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		early_end(&e[i]);
	tsr_close(&dev);
}

static void no_op(int sig)
{
}

/* A signal interrupts the wait, and nothing has run. */
static void wait_is_interruptible(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct sigaction action = { .sa_handler = no_op }; /* no SA_RESTART */
	/* Repeated, because the first signal may come before the call. */
	const struct timeval soon = { .tv_usec = 200000 };
	struct itimerval timer = { .it_value = soon, .it_interval = soon };
	struct drm_tessera_sync sync = tsr_sync_wait(&fence, 1);
	struct drm_tessera_submit args;
	struct mark mark;

	mark_init(&dev, &mark, 9);
	tsr_submit_args(&mark.cmd, ctx, &args);
	args.syncs.count = 1;
	args.syncs.array = (uintptr_t)&sync;
	require(!sigaction(SIGALRM, &action, NULL));
	require(!setitimer(ITIMER_REAL, &timer, NULL));
	require_eq(syscall(SYS_ioctl, dev.fd, DRM_IOCTL_TESSERA_SUBMIT, &args), -1);
	require_eq(errno, EINTR);
	timer = (struct itimerval){ 0 };
	require(!setitimer(ITIMER_REAL, &timer, NULL));
	tsr_fence_signal(&dev, &fence, 1);
	tsr_bo_wait(&dev, &mark.bo);
	require_eq(mark_read(&mark), 0);
	tsr_close(&dev);
}

/*
 * Between engines: the second job is submitted with a wait for a point that the
 * first has not submitted yet.
 */
static void gpu_to_gpu(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t first = tsr_context_on(&dev, dev.render);
	uint32_t second = tsr_context_on(&dev, tsr_second_engine(&dev));
	struct tsr_held hold = hold_new(&dev, 0);
	struct mark mark;
	struct tsr_bo copy = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cached);
	struct drm_tessera_sync sync = tsr_sync_wait(&fence, 3);
	struct tsr_cmd cmd;
	struct early e;

	tsr_bo_map(&dev, &copy);
	mark_init(&dev, &mark, 33);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &copy, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, 44);
	early_start(&e, &dev, second, &cmd, &fence, 3);
	submit_signal(&dev, first, &mark.cmd, hold.gate, &fence, 3);
	early_end(&e);
	/*
	 * The point is submitted now. A second job can wait for it without
	 * WAIT_FOR_SUBMIT.
	 */
	sync.flags = DRM_TESSERA_SYNC_TIMELINE;
	require_ok(__tsr_submit_syncs(&dev, second, &cmd, &sync, 1));
	require_eq(*fence.value, 0);
	require_err(__tsr_bo_wait(dev.fd, copy.handle, 0, 0), -EBUSY);
	require_eq(*(volatile uint32_t *)copy.map, 0);
	tsr_held_release(&hold);
	tsr_bo_wait(&dev, &copy);
	require_eq(*fence.value, 3);
	require_eq(mark_read(&mark), 33);
	require_eq(*(volatile uint32_t *)copy.map, 44);
	tsr_held_close(&hold);
	tsr_close(&dev);
}

static sigjmp_buf on_segv;

static void segv(int sig)
{
	siglongjmp(on_segv, 1);
}

static bool write_faults(volatile uint64_t *at)
{
	volatile bool faulted = true;

	signal(SIGSEGV, segv);
	if (!sigsetjmp(on_segv, 1)) {
		*at = 1;
		faulted = false;
	}
	signal(SIGSEGV, SIG_DFL);
	return faulted;
}

static void cpu_cannot_write(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 77);
	uint64_t spoil = 1;
	void *private;
	struct {
		struct tsr_device *dev;
		int prot, flags;
		size_t length;
		int err;
	} rows[] = {
		{ &dev, PROT_READ | PROT_WRITE, MAP_SHARED, 4096, EACCES },
		{ &dev, PROT_WRITE, MAP_SHARED, 4096, EACCES },
		{ &dev, PROT_READ | PROT_WRITE, MAP_PRIVATE, 4096, EACCES },
		{ &dev, PROT_READ | PROT_EXEC, MAP_SHARED, 4096, EACCES },
		{ &dev, PROT_READ, MAP_SHARED, 8192, EINVAL },
		{ &other, PROT_READ, MAP_SHARED, 4096, EACCES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *map = mmap(NULL, rows[i].length, rows[i].prot, rows[i].flags, rows[i].dev->fd,
				 (off_t)fence.mmap_offset);

		require_msg(map == MAP_FAILED && errno == rows[i].err, "row %zu: %d", i, errno);
	}
	private = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, dev.fd, (off_t)fence.mmap_offset);
	require(private != MAP_FAILED);
	require_msg(mprotect(fence.page, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES,
		    "the CPU can make the page of fence values writable");
	require(mprotect(private, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	require(mprotect(fence.page, 4096, PROT_READ | PROT_EXEC) == -1 && errno == EACCES);
	require(write_faults((volatile uint64_t *)fence.value));
	require(tsr_proc_mem_write((void *)fence.value, &spoil, sizeof(spoil)));
	require(tsr_proc_mem_write(private, &spoil, sizeof(spoil)));
	require_ok(tsr_proc_mem_read((void *)fence.value, &spoil, sizeof(spoil)));
	require_eq(spoil, 77);
	/* The page can be dropped and faulted in again. */
	require(!madvise(fence.page, 4096, MADV_DONTNEED));
	require_eq(*fence.value, 77);
	tsr_fence_signal(&dev, &fence, 78);
	require_eq(*fence.value, 78);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * Fences of one client share pages, different clients do not. Each fence begins
 * with its initial value.
 */
static void pages_of_one_client(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_fence theirs = tsr_fence_new(&other, 3), *fences;
	uint32_t num = 600, ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd = nothing();
	uint64_t offset;

	fences = calloc(num, sizeof(*fences));
	require(fences);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < num; i++) {
			fences[i] = tsr_fence_new(&dev, i);
			require(fences[i].mmap_offset != theirs.mmap_offset);
		}
		offset = fences[0].mmap_offset;
		require_eq(fences[1].mmap_offset, offset);
		require(fences[num - 1].mmap_offset != offset);
		/*
		 * If two fences shared a value, the later signal would show in
		 * both.
		 */
		for (uint32_t i = 0; i < num; i++)
			tsr_fence_signal(&dev, &fences[i], i + 5000);
		for (uint32_t i = 0; i < num; i += 97) {
			submit_signal(&dev, ctx, &cmd, 0, &fences[i], i + 100000);
			require_ok(__tsr_syncobj_wait(dev.fd, fences[i].syncobj, i + 100000,
						      INT64_MAX));
		}
		for (uint32_t i = 0; i < num; i++)
			require_eq(*fences[i].value, i + (i % 97 ? 5000 : 100000));
		for (uint32_t i = 0; i < num; i++)
			tsr_fence_free(&dev, &fences[i]);
	}
	require_eq(*theirs.value, 3);
	free(fences);
	tsr_close(&other);
	tsr_close(&dev);
}

/* Points that do not rise are refused, and change nothing. */
static void values_rise(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 10), second = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd = nothing();
	struct drm_tessera_sync syncs[3];

	require_err(__tsr_fence_signal(dev.fd, fence.id, 0), -EINVAL);
	require_err(__tsr_fence_signal(dev.fd, fence.id, 9), -EINVAL);
	require_err(__tsr_fence_signal(dev.fd, fence.id, 10), -EINVAL);
	for (uint64_t point = 9; point <= 10; point++) {
		syncs[0] = tsr_sync_signal(&fence, point);
		require_err(__tsr_submit_syncs(&dev, ctx, &cmd, syncs, 1), -EINVAL);
	}
	syncs[0] = tsr_sync_signal(&fence, 12);
	syncs[1] = tsr_sync_signal(&second, 1);
	syncs[2] = tsr_sync_signal(&fence, 11);
	require_err(__tsr_submit_syncs(&dev, ctx, &cmd, syncs, 3), -EINVAL);
	syncs[0].flags |= DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT;
	require_err(__tsr_submit_syncs(&dev, ctx, &cmd, syncs, 1), -EINVAL);
	require_eq(*fence.value, 10);
	require_eq(*second.value, 0);
	/* Two points of one fence in one submission, and a second fence. */
	syncs[0] = tsr_sync_signal(&fence, 11);
	syncs[2] = tsr_sync_signal(&fence, 12);
	require_ok(__tsr_submit_syncs(&dev, ctx, &cmd, syncs, 3));
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 12, INT64_MAX));
	require_ok(__tsr_syncobj_wait(dev.fd, second.syncobj, 1, INT64_MAX));
	require_eq(*fence.value, 12);
	require_eq(*second.value, 1);
	tsr_close(&dev);
}

/*
 * The second engine's job ends first, but its value must not overtake the first
 * one's. The CPU's values come after both. A later job of the second context
 * neither waits for the first job nor has its value written early.
 */
static void reached_in_order(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t first = tsr_context_on(&dev, dev.render);
	uint32_t second = tsr_context_on(&dev, tsr_second_engine(&dev));
	struct tsr_held hold = hold_new(&dev, 0);
	struct tsr_cmd cmd = nothing();
	struct waiter w;

	submit_signal(&dev, first, &cmd, hold.gate, &fence, 1);
	submit_signal(&dev, second, &cmd, 0, &fence, 2);
	tsr_fence_signal(&dev, &fence, 3);
	submit_signal(&dev, second, &cmd, 0, &fence, 4);
	tsr_fence_signal(&dev, &fence, 5);
	/* All jobs of the second engine have ended. */
	tsr_submit_done(&dev, second, &cmd);
	waiter_start(&w, &dev, &fence, 5);
	require_eq(*fence.value, 0);
	require_eq(tsr_syncobj_point(&dev, fence.syncobj), 0);
	tsr_held_release(&hold);
	waiter_end(&w);
	require_eq(*fence.value, 5);
	tsr_held_close(&hold);
	tsr_close(&dev);
}

/*
 * The same for a context with one job before and one after the other context's
 * job.
 */
static void reached_in_turns(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t first = tsr_context_on(&dev, dev.render);
	uint32_t second = tsr_context_on(&dev, tsr_second_engine(&dev));
	struct tsr_held holds[] = { hold_new(&dev, 0), hold_new(&dev, 1) };
	struct tsr_cmd cmd = nothing();
	struct waiter w;

	submit_signal(&dev, first, &cmd, holds[0].gate, &fence, 1);
	submit_signal(&dev, second, &cmd, holds[1].gate, &fence, 2);
	submit_signal(&dev, first, &cmd, 0, &fence, 3);
	tsr_held_release(&holds[0]);
	/* All jobs of the first engine have ended. */
	tsr_submit_done(&dev, first, &cmd);
	require_eq(*fence.value, 1);
	waiter_start(&w, &dev, &fence, 3);
	tsr_held_release(&holds[1]);
	waiter_end(&w);
	require_eq(*fence.value, 3);
	for (uint32_t i = 0; i < ARRAY_SIZE(holds); i++)
		tsr_held_close(&holds[i]);
	tsr_close(&dev);
}

struct watcher {
	pthread_t thread;
	const volatile uint64_t *value;
	uint64_t end, changes;
	int cpu;
};

/*
 * Pin each watcher to a CPU: completion interrupts delay one CPU only, and the
 * other watcher goes on.
 */
static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	uint64_t before = 0, now = 0;

	stay_on(w->cpu);
	while (now < w->end) {
		for (uint32_t i = 0; i < 10000 && now < w->end; i++) {
			now = *w->value;
			require_msg(now >= before, "%llu after %llu", (unsigned long long)now,
				    (unsigned long long)before);
			w->changes += now != before;
			before = now;
		}
		sched_yield();
	}
	return NULL;
}

/*
 * Four contexts on two engines and the CPU signal one fence, with some jobs
 * failing, while two threads watch the value.
 */
static void never_backwards(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx[4], rounds = tap_slow() ? 200 : 1000;
	struct watcher w[2];
	uint64_t seed = tap_seed(11);
	struct tsr_cmd good = nothing(), bad;
	int rc;

	tsr_cmd_init(&bad);
	tsr_cmd_nop(&bad, 8);
	tsr_cmd_fill(&bad, 0, 0, 1, 1); /* an unbound slot */
	for (uint32_t i = 0; i < 4; i++)
		ctx[i] = tsr_context_on(&dev, i & 1 ? tsr_second_engine(&dev) : dev.render);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct watcher){ .value = fence.value, .end = rounds, .cpu = i };
		require(!pthread_create(&w[i].thread, NULL, watch, &w[i]));
	}
	for (uint64_t point = 1; point <= rounds / 2; point++) {
		uint64_t draw = tap_random(&seed);

		if (draw % 5 == 4) {
			tsr_fence_signal(&dev, &fence, point);
			continue;
		}
		submit_signal(&dev, ctx[draw % 5], draw >> 32 & 1 ? &good : &bad, 0, &fence, point);
	}
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, rounds / 2, INT64_MAX));
	/*
	 * The device itself writes all points of a single context, so the value
	 * may be ahead of the syncobj.
	 */
	for (uint64_t point = rounds / 2 + 1; point <= rounds; point++)
		submit_signal(&dev, ctx[0], &good, 0, &fence, point);
	for (int i = 0; i < 2; i++)
		require(!pthread_join(w[i].thread, NULL));
	rc = __tsr_syncobj_wait(dev.fd, fence.syncobj, rounds, INT64_MAX);
	require_ok(rc);
	tap_note("%llu of %u values were seen", (unsigned long long)w[0].changes, rounds);
	tsr_close(&dev);
}

/*
 * A split submission does not begin before its in-fence, also on a device with
 * preemption, where no gate is closed for it.
 */
static void parts_wait(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	uint32_t other = tsr_context_new(&dev, 0);
	struct tsr_held hold = hold_new(&dev, 0);
	struct mark marks[2], later;
	struct tsr_cmd cmd;

	for (uint32_t i = 0; i < 2; i++)
		mark_init(&dev, &marks[i], 0);
	mark_init(&dev, &later, 7);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 2; i++) {
		tsr_cmd_bind_buffer(&cmd, i, &marks[i].bo, true);
		tsr_cmd_fill(&cmd, i, 0, 1024, 5 + i);
	}
	require_eq(tsr_submit(&dev, ctx, &cmd, hold.gate, 0), 2);
	/* This job is on the same engine and was submitted later. */
	tsr_submit_done(&dev, other, &later.cmd);
	require_eq(mark_read(&marks[0]), 0);
	require_err(__tsr_syncobj_wait(dev.fd, hold.gate, 0, 0), -ETIME);
	tsr_held_release(&hold);
	for (uint32_t i = 0; i < 2; i++) {
		tsr_bo_wait(&dev, &marks[i].bo);
		require_eq(mark_read(&marks[i]), 5 + i);
	}
	tsr_held_close(&hold);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* A submission in many parts signals after its last part. */
static void parts(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	struct tsr_bo last = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cached);
	struct drm_tessera_sync sync = tsr_sync_signal(&fence, 9);
	struct drm_tessera_submit args;
	struct tsr_rotation rot;

	tsr_bo_map(&dev, &last);
	tsr_rotation_init(&dev, &rot, 150, 0);
	tsr_cmd_bind_buffer(&rot.cmd, 0, &last, true);
	tsr_cmd_fill(&rot.cmd, 0, 0, 1024, 0x99);
	tsr_submit_args(&rot.cmd, ctx, &args);
	args.syncs.count = 1;
	args.syncs.array = (uintptr_t)&sync;
	require_ok(__tsr_submit_ioctl(dev.fd, &args));
	require(args.num_parts > 100);
	while (!*fence.value)
		sched_yield();
	require_eq(*fence.value, 9);
	require_eq(*(volatile uint32_t *)last.map, 0x99);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 9, INT64_MAX));
	tsr_close(&dev);
}

/* The points of jobs that fail, hang or are cancelled are reached. */
static void jobs_that_fail(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0), other = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd, good = nothing();
	pid_t expirer;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	tsr_cmd_fill(&cmd, 0, 0, 1, 1); /* an unbound slot */
	submit_signal(&dev, ctx, &cmd, 0, &fence, 1);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 1, INT64_MAX));
	require_eq(*fence.value, 1);

	expirer = tsr_hang_next(dev.render, 1);
	submit_signal(&dev, ctx, &good, 0, &fence, 2);
	submit_signal(&dev, ctx, &good, 0, &fence, 3);
	tsr_fence_signal(&dev, &fence, 4);
	submit_signal(&dev, other, &good, 0, &fence, 5);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 3, INT64_MAX));
	require(*fence.value >= 3);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 5, INT64_MAX));
	require_eq(*fence.value, 5);
	tap_join(expirer);
	/* The context is lost, but the fence still works. */
	submit_signal(&dev, other, &good, 0, &fence, 6);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 6, INT64_MAX));
	require_eq(*fence.value, 6);
	tsr_close(&dev);
}

/*
 * A fence can be destroyed while jobs are to signal it, and its file can be
 * closed.
 */
static void destroyed_under_jobs(void)
{
	struct tsr_device dev = tsr_open(), other;
	struct tsr_fence fence = tsr_fence_new(&dev, 0), next;
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_held hold = hold_new(&dev, 0);
	struct tsr_cmd cmd = nothing();
	void *page;

	submit_signal(&dev, ctx, &cmd, hold.gate, &fence, 1);
	require_ok(__tsr_fence_destroy(dev.fd, fence.id));
	require_err(__tsr_fence_destroy(dev.fd, fence.id), -ENOENT);
	require_err(__tsr_fence_signal(dev.fd, fence.id, 2), -ENOENT);
	/* The value's slot is not reused until the job has ended. */
	next = tsr_fence_new(&dev, 50);
	require(((uintptr_t)next.value ^ (uintptr_t)fence.value) & 4095);
	tsr_held_release(&hold);
	require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, 1, INT64_MAX));
	require_eq(*next.value, 50);

	other = tsr_open();
	fence = tsr_fence_new(&other, 0);
	page = fence.page;
	ctx = tsr_context_new(&other, 0);
	for (uint64_t i = 1; i < 100; i++)
		submit_signal(&other, ctx, &cmd, 0, &fence, i);
	tsr_close(&other);
	require(*fence.value <= 99);
	require(!munmap(page, 4096));
	tsr_held_close(&hold);
	tsr_close(&dev);
}

static void bad_arguments(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct drm_tessera_fence_create create = { .flags = 1 };
	struct drm_tessera_fence_destroy destroy = { .pad = 1 };
	struct drm_tessera_fence_signal sig = { .pad = 1, .value = 1 };
	struct tsr_fence fence = tsr_fence_new(&dev, 0);
	struct drm_tessera_sync sync = tsr_sync_wait(&fence, 1);
	uint32_t ctx = tsr_context_new(&dev, 0), made = 1;
	struct tsr_cmd cmd = nothing();
	int rc;

	require_err(__tsr_fence_create(dev.fd, &create), -EINVAL);
	destroy.id = sig.id = fence.id;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_FENCE_DESTROY, &destroy), -EINVAL);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_FENCE_SIGNAL, &sig), -EINVAL);
	require_err(__tsr_fence_signal(dev.fd, fence.id + 1, 1), -ENOENT);
	require_err(__tsr_fence_signal(dev.fd, 0, 1), -ENOENT);
	require_err(__tsr_fence_destroy(dev.fd, 0xffffffff), -ENOENT);
	/* Another file cannot use the fence. */
	require_err(__tsr_fence_signal(other.fd, fence.id, 1), -ENOENT);
	require_err(__tsr_fence_destroy(other.fd, fence.id), -ENOENT);
	/* Bad syncs are refused at once, although the wait would never end. */
	sync.flags |= 1u << 31;
	require_err(__tsr_submit_syncs(&dev, ctx, &cmd, &sync, 1), -EINVAL);
	sync = tsr_sync_wait(&fence, 1);
	sync.handle = 0xffff;
	require_err(__tsr_submit_syncs(&dev, ctx, &cmd, &sync, 1), -ENOENT);
	sync = tsr_sync_wait(&fence, 0);
	require_err(__tsr_submit_syncs(&dev, ctx, &cmd, &sync, 1), -EINVAL);
	require_eq(*fence.value, 0);

	create = (struct drm_tessera_fence_create){ 0 };
	while (!(rc = __tsr_fence_create(dev.fd, &create)))
		made++;
	require_eq(rc, -ENOSPC);
	require_eq(made, dev.info.max_fences);
	tsr_fence_free(&dev, &fence);
	fence = tsr_fence_new(&dev, 1);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * Each allocation fails once: the call then has no effect and works afterwards.
 */
static void out_of_memory(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), failed = 0;
	struct tsr_cmd cmd = nothing();
	struct drm_tessera_fence_create create;
	struct drm_tessera_sync sync;
	struct tsr_fence fence;
	bool hit;
	int rc;

	tsr_inject_init();
	for (unsigned int nth = 1, clean = 0; clean < 3; nth++) {
		create = (struct drm_tessera_fence_create){ .value = 1 };
		tsr_inject_set(nth);
		rc = __tsr_fence_create(dev.fd, &create);
		hit = tsr_inject_done();
		/* -EFAULT: an injected failure of a user copy */
		require_msg(!rc || (hit && (rc == -ENOMEM || rc == -EFAULT)), "%u: %d", nth, rc);
		failed += !!rc;
		clean = hit ? 0 : clean + 1;
		if (!rc)
			require_ok(__tsr_fence_destroy(dev.fd, create.id));
	}
	fence = tsr_fence_new(&dev, 0);
	for (unsigned int nth = 1, clean = 0; clean < 3; nth++) {
		sync = tsr_sync_signal(&fence, nth);
		tsr_inject_set(nth);
		rc = __tsr_submit_syncs(&dev, ctx, &cmd, &sync, 1);
		hit = tsr_inject_done();
		require_msg(!rc || (hit && (rc == -ENOMEM || rc == -EFAULT)), "%u: %d", nth, rc);
		failed += !!rc;
		clean = hit ? 0 : clean + 1;
		if (rc == -ENOMEM)
			require_ok(__tsr_submit_syncs(&dev, ctx, &cmd, &sync, 1));
		else if (rc) /* -EFAULT: the job may have run */
			__tsr_submit_syncs(&dev, ctx, &cmd, &sync, 1);
		require_ok(__tsr_syncobj_wait(dev.fd, fence.syncobj, nth, INT64_MAX));
		require_eq(*fence.value, nth);
	}
	tap_note("%u calls failed", failed);
	require(failed > 10);
	tsr_close(&dev);
}

/*
 * Unbind the device: pending points are reached, the mapped page stays
 * readable, and waiters wake up.
 */
static void device_goes(void)
{
	struct tsr_device dev = (tsr_pci_begin(), tsr_open());
	struct tsr_fence fence = tsr_fence_new(&dev, 1), waited = tsr_fence_new(&dev, 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_held hold = hold_new(&dev, 0);
	struct tsr_cmd cmd = nothing();
	struct waiter w;
	struct early e;

	submit_signal(&dev, ctx, &cmd, hold.gate, &fence, 2);
	tsr_fence_signal(&dev, &fence, 3);
	waiter_start(&w, &dev, &fence, 3);
	early_start(&e, &dev, ctx, &cmd, &waited, 1);
	tsr_pci_unbind();
	waiter_end(&w);
	require(!pthread_join(e.thread, NULL));
	require_err(e.rc, -ENODEV);
	require_eq(*fence.value, 3);
	require_eq(*waited.value, 0);
	require(!madvise(fence.page, 4096, MADV_DONTNEED));
	require_eq(*fence.value, 3);
	require_err(__tsr_fence_signal(dev.fd, fence.id, 4), -ENODEV);
	tsr_close(&dev);
	require_eq(*fence.value, 3);
	tsr_held_close(&hold);
}

static const struct tap_test tests[] = {
	{ "RES-7 the GPU signals, the CPU waits", gpu_to_cpu, 0, 0 },
	{ "RES-7 the CPU signals, the CPU waits", cpu_to_cpu, 0, 0 },
	{ "RES-7 the CPU signals, the GPU waits", cpu_to_gpu, 0, 0 },
	{ "RES-7 the GPU signals, the GPU waits", gpu_to_gpu, 0, 0 },
	{ "LOCK-8 LOCK-9 a wait sleeps", waits_sleep, 0, 0 },
	{ "RES-7 a submission that waits costs its client nothing", waiting_costs_no_quota, 0, 0 },
	{ "RES-7 a submission that waits can be interrupted", wait_is_interruptible, 0, 0 },
	{ "RES-7 the CPU cannot write the value", cpu_cannot_write, 0, 0 },
	{ "RES-7 pages belong to one client", pages_of_one_client, 0, 0 },
	{ "RES-7 values that do not rise are refused", values_rise, 0, 0 },
	{ "RES-7 values are reached in submission order", reached_in_order, 0, 0 },
	{ "RES-7 values of contexts that take turns", reached_in_turns, 0, 0 },
	{ "RES-7 the value never goes backwards", never_backwards, TSR_EXPECT(SLOT_UNBOUND), 0 },
	{ "SPLIT-35 SCHED-5 a submission in parts waits", parts_wait, 0, 0 },
	{ "RES-7 SPLIT-35 a submission in parts signals at its end", parts, 0, 0 },
	{ "RES-7 jobs that fail, hang or are cancelled", jobs_that_fail, TSR_EXPECT(SLOT_UNBOUND),
	  0 },
	{ "RES-7 a fence that is destroyed while jobs are to signal it", destroyed_under_jobs, 0,
	  0 },
	{ "RES-7 bad arguments", bad_arguments, 0, 0 },
	{ "RES-7 allocations that fail", out_of_memory, 0, 0 },
	{ "RES-7 the device is unbound", device_goes, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
