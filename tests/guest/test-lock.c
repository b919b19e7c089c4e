// SPDX-License-Identifier: MIT
/*
 * Lock and Unlock of objects that jobs use: waiting and not waiting, discard
 * and renamed instances, and which file may lock and unlock. A lock must give
 * the CPU the finished bytes, and keep the object from moving to where the CPU
 * cannot follow.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "foreign.h"
#include "held.h"
#include "trace.h"
#include "stall.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t read_only = DRM_TESSERA_LOCK_READ_ONLY;
static const uint32_t dont_wait = DRM_TESSERA_LOCK_DONT_WAIT;
static const uint32_t ignore_sync = DRM_TESSERA_LOCK_IGNORE_SYNC;
static const uint32_t discard = DRM_TESSERA_LOCK_DISCARD;
static const uint32_t linear = DRM_TESSERA_LOCK_ACQUIRE_RANGE;
static const uint32_t stay = DRM_TESSERA_LOCK_DO_NOT_EVICT;
static const uint32_t reuse = DRM_TESSERA_LOCK_DISCARD | DRM_TESSERA_LOCK_REUSE;

/* ---- jobs that are held until the test releases them --------------------- */

struct stage {
	struct tsr_device dev;
	struct tsr_held held;
	uint32_t ctx;
	uint32_t set; /* the aperture */
};

static struct stage stage_open(void)
{
	/*
	 * Jobs are held through this device, so a test can have one stage only.
	 */
	static struct tsr_device dev;
	struct stage s;

	dev = s.dev = tsr_open();
	s.held = tsr_held_open(&dev);
	s.ctx = s.held.ctx;
	s.set = tsr_bit(tsr_seg_gart(&s.dev));
	return s;
}

static void stage_go(struct stage *s)
{
	tsr_held_go(&s->held);
}

static void stage_close(struct stage *s)
{
	tsr_held_close(&s->held);
	tsr_close(&s->dev);
}

static struct tsr_bo mapped(struct stage *s, uint32_t set, uint32_t key)
{
	struct tsr_bo bo = tsr_bo_new(&s->dev, KiB(64), set, cpu);

	tsr_bo_map(&s->dev, &bo);
	tsr_pattern_write(&bo, key);
	return bo;
}

/* Submit a job that only lists the objects; return 0 or -errno. */
static int list(struct stage *s, const struct tsr_bo *first, const struct tsr_bo *second)
{
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	int rc;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, first, false);
	if (second)
		tsr_cmd_bind_buffer(&cmd, 1, second, false);
	rc = __tsr_submit(&s->dev, s->ctx, &cmd, 0, 0, &args);
	tsr_cmd_fini(&cmd);
	return rc;
}

/* ---- waiting ------------------------------------------------------------- */

/* LOCK_DONT_WAIT answers at once, independent of the other flags. */
static void busy_says_so(void)
{
	struct stage s = stage_open();
	struct tsr_bo written = mapped(&s, s.set, 1), read = mapped(&s, s.set, 2);

	/*
	 * Place the objects first: the lock would also fail for a pending move.
	 */
	tsr_gpu_touch(&s.dev, s.ctx, &written);
	tsr_gpu_touch(&s.dev, s.ctx, &read);
	tsr_held_copy(&s.held, &written, &read);
	require_err(__tsr_lock(s.dev.fd, &written.handle, dont_wait), -EBUSY);
	require_err(__tsr_lock(s.dev.fd, &written.handle, dont_wait | read_only), -EBUSY);
	require_err(__tsr_lock(s.dev.fd, &read.handle, dont_wait), -EBUSY);
	/* A read-only lock does not conflict with a job that reads. */
	tsr_lock(&s.dev, &read, dont_wait | read_only);
	tsr_unlock(&s.dev, &read);
	stage_go(&s);
	tsr_lock(&s.dev, &written, dont_wait);
	tsr_pattern_check(&written, 2);
	tsr_unlock(&s.dev, &written);
	stage_close(&s);
}

struct waiter {
	struct stage *s;
	struct tsr_bo bo;
	uint32_t flags;
	pid_t tid;
	int rc;
	uint32_t word; /* first word, read directly after the lock */
	long switches;
};

static long thread_switches(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;
	long before = thread_switches();

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
	w->rc = __tsr_lock(w->s->dev.fd, &w->bo.handle, w->flags);
	w->word = ((volatile uint32_t *)w->bo.map)[0];
	w->switches = thread_switches() - before;
	return NULL;
}

/* Starts a thread that locks. Returns true when it sleeps, false if it has ended. */
static bool waiter_waits(struct waiter *w, pthread_t *thread)
{
	bool over;
	pid_t tid;

	require(!pthread_create(thread, NULL, waiter_run, w));
	do {
		usleep(1000);
		tid = __atomic_load_n(&w->tid, __ATOMIC_SEQ_CST);
		over = !pthread_tryjoin_np(*thread, NULL);
	} while (!over && !(tid && tsr_sleeps(tid)));
	return !over;
}

/* Lock returns after the job has written, and sleeps until then. */
static void lock_waits(void)
{
	struct stage s = stage_open();
	struct waiter w = { .s = &s, .bo = mapped(&s, s.set, 1) };
	uint32_t awake = 0;
	pthread_t thread;
	pid_t tid;

	tsr_held_fill(&s.held, &w.bo, w.bo.size / 4, 0x77777777);
	require(!pthread_create(&thread, NULL, waiter_run, &w));
	while (!(tid = __atomic_load_n(&w.tid, __ATOMIC_SEQ_CST)) || !tsr_sleeps(tid))
		usleep(1000);
	/*
	 * If it polled, the thread would be seen awake or switch contexts
	 * often.
	 */
	for (int i = 0; i < 50; i++) {
		usleep(10000);
		awake += !tsr_sleeps(tid);
	}
	stage_go(&s);
	pthread_join(thread, NULL);
	require_ok(w.rc);
	require_eq(w.word, 0x77777777);
	require_msg(awake <= 2 && w.switches <= 5, "awake %u times of 50, %ld switches", awake,
		    w.switches);
	tsr_words_check(w.bo.map, w.bo.size / 4, 0x77777777);
	stage_close(&s);
}

/* A lock for writing also waits for jobs that read. */
static void lock_waits_for_readers(void)
{
	struct stage s = stage_open();
	struct waiter w = { .s = &s, .bo = mapped(&s, s.set, 1) };
	struct tsr_bo copy = mapped(&s, s.set, 2);
	pthread_t thread;

	tsr_held_copy(&s.held, &copy, &w.bo);
	require_msg(waiter_waits(&w, &thread), "the job was still to read");
	stage_go(&s);
	pthread_join(thread, NULL);
	require_ok(w.rc);
	tsr_pattern_check(&copy, 1);
	stage_close(&s);
}

static volatile sig_atomic_t handled;

static void count_signal(int sig)
{
	handled++;
}

static void *lock_once(void *arg)
{
	struct waiter *w = arg;
	struct drm_tessera_lock args = { .handle = w->bo.handle };

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
	w->rc = ioctl(w->s->dev.fd, DRM_IOCTL_TESSERA_LOCK, &args) ? -errno : 0;
	return NULL;
}

/* Start a thread and wait until it sleeps in LOCK. */
static pthread_t lock_in_thread(struct waiter *w)
{
	pthread_t thread;

	w->tid = 0;
	require(!pthread_create(&thread, NULL, lock_once, w));
	tsr_wait_for(__atomic_load_n(&w->tid, __ATOMIC_SEQ_CST) && tsr_is_waiting(w->tid, "idle"));
	return thread;
}

/*
 * A signal interrupts the call with -EINTR and no lock. With SA_RESTART the
 * call goes on.
 */
static void lock_is_interrupted(void)
{
	struct stage s = stage_open();
	struct waiter w = { .s = &s, .bo = mapped(&s, s.set, 1) };
	struct sigaction action = { .sa_handler = count_signal };
	pthread_t thread;

	tsr_held_fill(&s.held, &w.bo, w.bo.size / 4, 0x77777777);
	require(!sigaction(SIGUSR1, &action, NULL));
	thread = lock_in_thread(&w);
	require(!pthread_kill(thread, SIGUSR1));
	pthread_join(thread, NULL);
	require_eq(w.rc, -EINTR);
	require_eq(handled, 1);
	require_err(__tsr_unlock(s.dev.fd, w.bo.handle), -EINVAL);

	action.sa_flags = SA_RESTART;
	require(!sigaction(SIGUSR1, &action, NULL));
	thread = lock_in_thread(&w);
	require(!pthread_kill(thread, SIGUSR1));
	tsr_wait_for(handled == 2 && tsr_is_waiting(w.tid, "idle"));
	require_err(__tsr_unlock(s.dev.fd, w.bo.handle), -EINVAL);
	stage_go(&s);
	pthread_join(thread, NULL);
	require_ok(w.rc);
	require_ok(__tsr_unlock(s.dev.fd, w.bo.handle));
	stage_close(&s);
}

/*
 * LOCK_IGNORE_SYNC: write words that the running job does not use, in video
 * memory and in an aperture.
 */
static void no_overwrite(void)
{
	struct stage s = stage_open();
	uint32_t sets[] = { s.set, tsr_bit(tsr_seg_visible(&s.dev)) };
	struct tsr_bo bos[ARRAY_SIZE(sets)];
	uint32_t half = KiB(64) / 4 / 2;

	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		bos[i] = mapped(&s, sets[i], i);
		tsr_gpu_touch(&s.dev, s.ctx, &bos[i]);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		tsr_held_fill(&s.held, &bos[i], half, 0x11111111);
		tsr_lock(&s.dev, &bos[i], ignore_sync);
		for (uint32_t w = half; w < 2 * half; w++)
			((uint32_t *)bos[i].map)[w] = 0x22222222;
		tsr_unlock(&s.dev, &bos[i]);
	}
	require_err(__tsr_syncobj_wait(s.dev.fd, s.held.done, 0, 0), -ETIME);
	stage_go(&s);
	for (uint32_t i = 0; i < ARRAY_SIZE(sets); i++) {
		tsr_words_check(bos[i].map, half, 0x11111111);
		tsr_words_check((uint32_t *)bos[i].map + half, half, 0x22222222);
	}
	stage_close(&s);
}

/* ---- discard ------------------------------------------------------------- */

static void discard_gives_another(void)
{
	struct stage s = stage_open();
	struct tsr_bo old = mapped(&s, s.set, 1), new = old;
	struct tsr_bo dst = mapped(&s, s.set, 3), later = mapped(&s, s.set, 4);
	struct drm_tessera_bo_info was, is;

	/* An idle object is not renamed. */
	tsr_lock(&s.dev, &new, discard);
	require_eq(new.handle, old.handle);
	tsr_unlock(&s.dev, &new);

	tsr_held_copy(&s.held, &dst, &old);
	/* LOCK_DONT_WAIT makes no difference. */
	tsr_lock(&s.dev, &new, discard | dont_wait);
	require(new.handle != old.handle);
	was = tsr_bo_info(&s.dev, &old);
	is = tsr_bo_info(&s.dev, &new);
	require_eq(is.size, was.size);
	require_eq(is.flags, was.flags);
	require_eq(is.supported, was.supported);
	require_eq(is.layout, was.layout);
	new.map = NULL;
	tsr_bo_map(&s.dev, &new);
	tsr_words_check(new.map, new.size / 4, 0);
	tsr_pattern_write(&new, 2);
	tsr_unlock(&s.dev, &new);
	tsr_held_copy(&s.held, &later, &new);

	/* Each job sees the instance that was current when it was submitted. */
	stage_go(&s);
	tsr_pattern_check(&dst, 1);
	tsr_pattern_check(&later, 2);
	tsr_bo_free(&s.dev, &old);
	tsr_bo_free(&s.dev, &new);
	stage_close(&s);
}

/*
 * A renamed instance keeps the placement rules of the old one: preferred
 * segments and eviction set.
 */
static void discard_keeps_places(void)
{
	struct stage s = stage_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&s.dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&s.dev);
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.flags = cpu,
		.supported = tsr_bit(vis) | tsr_bit(hid) | s.set,
		.num_preferred = 2,
		.preferred = { (uint8_t)vis->id, (uint8_t)hid->id },
		.evict_to = s.set,
	};
	struct tsr_bo old = { .size = args.size }, new;

	require_ok(__tsr_bo_create(s.dev.fd, &args));
	old.handle = args.handle;
	tsr_held_fill(&s.held, &old, 16, 1);
	new = old;
	tsr_lock(&s.dev, &new, discard);
	require(new.handle != old.handle);
	tsr_unlock(&s.dev, &new);
	stage_go(&s);
	tsr_gpu_fill(&s.dev, s.ctx, &new, 2);
	require_eq(tsr_bo_info(&s.dev, &new).segment, vis->id);
	tsr_evict_set(tsr_bit(vis));
	require_eq(tsr_bo_info(&s.dev, &new).segment, tsr_seg_gart(&s.dev)->id);
	stage_close(&s);
}

/* Create @num renamed instances of one object, each kept busy by a job. */
static void instances(struct stage *s, struct tsr_bo *bos, uint32_t num)
{
	bos[0] = mapped(s, s->set, 0);
	for (uint32_t i = 1; i < num; i++) {
		tsr_held_fill(&s->held, &bos[i - 1], 16, i);
		bos[i] = bos[i - 1];
		tsr_lock(&s->dev, &bos[i], discard);
		require(bos[i].handle != bos[i - 1].handle);
	}
}

static void older_instances_are_refused(void)
{
	struct stage s = stage_open();
	struct tsr_bo a[3], b[3], late;

	instances(&s, a, 3);
	instances(&s, b, 3);
	/* A refused submission has no effect: older instances stay valid. */
	require_err(list(&s, &a[2], &a[1]), -EINVAL);
	require_ok(list(&s, &a[1], &a[2]));
	require_err(list(&s, &a[0], NULL), -EINVAL);
	require_err(list(&s, &a[1], NULL), -EINVAL);
	require_ok(list(&s, &a[2], NULL));
	/* Instances of another object are ordered independently. */
	require_ok(list(&s, &b[1], &a[2]));
	require_err(list(&s, &b[0], &a[2]), -EINVAL);
	/* An old instance cannot be renamed again. */
	late = a[0];
	require_err(__tsr_lock(s.dev.fd, &late.handle, discard), -EINVAL);
	/* The CPU may still lock an old instance. */
	tsr_lock(&s.dev, &a[0], ignore_sync);
	stage_go(&s);
	stage_close(&s);
}

#define MOST 64 /* instances of one object at a time */

/*
 * At the limit a discard waits for the jobs of the newest instance. Instances
 * with closed handles count while jobs use them.
 */
static void instances_are_limited(void)
{
	struct stage s = stage_open();
	struct waiter w = { .s = &s, .flags = discard };
	struct tsr_bo bos[MOST], more;
	pthread_t thread;

	instances(&s, bos, MOST);
	tsr_bo_free(&s.dev, &bos[0]);
	more = bos[MOST - 1];
	tsr_held_fill(&s.held, &more, more.size / 4, 0x77777777);
	require_err(__tsr_lock(s.dev.fd, &more.handle, discard | dont_wait), -EBUSY);
	require_err(__tsr_lock(s.dev.fd, &more.handle, reuse | dont_wait), -EBUSY);

	w.bo = more;
	w.bo.map = NULL;
	tsr_bo_map(&s.dev, &w.bo);
	require_msg(waiter_waits(&w, &thread), "expected the discard to wait, it returned %d",
		    w.rc);
	stage_go(&s);
	pthread_join(thread, NULL);
	require_ok(w.rc);
	require_eq(w.bo.handle, more.handle);
	require_eq(w.word, 0x77777777);

	/* There is room again: the instance without a handle is gone. */
	tsr_held_again(&s.held);
	tsr_held_fill(&s.held, &more, 16, 1);
	tsr_lock(&s.dev, &more, discard | dont_wait);
	require(more.handle != w.bo.handle);
	stage_go(&s);
	stage_close(&s);
}

static uint32_t num_allocations(void)
{
	char *text = tsr_debugfs_read("allocations");
	uint32_t lines = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	free(text);
	return lines;
}

#define DISCARDS 1000

/* A client that keeps its handles gets idle instances back. */
static void idle_instances_are_used_again(void)
{
	struct stage s = stage_open();
	struct tsr_bo a[3], newest, now;
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };

	/* The first two become idle, the last one is kept busy. */
	instances(&s, a, 3);
	stage_go(&s);
	tsr_held_again(&s.held);
	tsr_unlock(&s.dev, &a[1]);
	tsr_unlock(&s.dev, &a[2]);
	tsr_held_fill(&s.held, &a[2], 16, 1);

	/* Without the flag the instance is new. */
	newest = a[2];
	tsr_lock(&s.dev, &newest, discard);
	tsr_unlock(&s.dev, &newest);
	require(newest.handle != a[0].handle && newest.handle != a[1].handle);
	tsr_held_fill(&s.held, &newest, 16, 1);

	/* A locked instance is not idle. */
	tsr_lock(&s.dev, &a[0], 0);
	now = newest;
	tsr_lock(&s.dev, &now, reuse);
	require_eq(now.handle, a[1].handle);
	tsr_unlock(&s.dev, &now);
	tsr_unlock(&s.dev, &a[0]);
	/* It is the newest now. */
	require_ok(list(&s, &newest, &now));
	require_err(list(&s, &newest, NULL), -EINVAL);

	/* An exported instance is not given back. */
	prime.handle = a[0].handle;
	require_ok(tsr_ioctl(s.dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	tsr_held_fill(&s.held, &now, 16, 1);
	tsr_lock(&s.dev, &now, reuse);
	require(now.handle != a[0].handle && now.handle != newest.handle);
	tsr_unlock(&s.dev, &now);
	close(prime.fd);
	stage_go(&s);
	stage_close(&s);
}

/* Ten thousand discards of one client take the memory of a few instances. */
static void discards_do_not_add_up(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), cpu);
	uint32_t ctx = tsr_context_new(&dev, 0), renamed = 0, highest = 0;
	uint32_t before_all = num_allocations();

	for (uint32_t i = 0; i < DISCARDS; i++) {
		uint32_t before = bo.handle;

		require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
		tsr_lock(&dev, &bo, reuse);
		tsr_unlock(&dev, &bo);
		renamed += bo.handle != before;
		highest = bo.handle > highest ? bo.handle : highest;
	}
	tap_note("%u of %u discards renamed the object, highest handle %u", renamed, DISCARDS,
		 highest);
	/* The kernel gives out the lowest free handle. */
	require(highest <= MOST);
	require(num_allocations() <= before_all + MOST);
	tsr_close(&dev);
}

/* ---- locks that must not evict --------------------------------------------- */

/* Nothing moves if only an eviction would give the CPU a view. */
static void no_eviction_for_a_lock(void)
{
	struct stage s = stage_open();
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&s.dev);
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.flags = cpu,
		.supported = tsr_bit(hid) | s.set,
		.num_preferred = 1,
		.preferred = { (uint8_t)hid->id },
	};
	struct tsr_bo bo = { .size = args.size };
	struct tsr_trace trace;

	/* The device has no host aperture. */
	require_ok(__tsr_bo_create(s.dev.fd, &args));
	bo.handle = args.handle;
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 3);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, hid->id);
	tsr_trace_start("evict", "paging_op", NULL);
	require_err(__tsr_lock(s.dev.fd, &bo.handle, stay), -ENOSPC);
	trace = tsr_trace_stop();
	require_eq(trace.count, 0);
	tsr_trace_free(&trace);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, hid->id);
	tsr_lock(&s.dev, &bo, 0);
	require(tsr_bo_info(&s.dev, &bo).segment != hid->id);
	/* An object where the CPU sees it is only locked. */
	tsr_lock(&s.dev, &bo, stay);
	stage_close(&s);
}

/* ---- refused locks ------------------------------------------------------- */

static void bad_input(void)
{
	struct stage s = stage_open();
	const struct drm_tessera_query_segment *vram = tsr_seg_visible(&s.dev);
	struct drm_tessera_bo_create swizzled = {
		.size = KiB(64),
		.flags = cpu,
		.supported = tsr_bit(vram),
		.layout = DRM_TESSERA_LAYOUT_TILE4K,
		.pitch = 256,
	};
	struct tsr_bo plain = tsr_bo_new(&s.dev, 4096, s.set, cpu);
	struct tsr_bo hidden = tsr_bo_new(&s.dev, 4096, s.set, 0);
	struct drm_tessera_unlock unlock = { .handle = plain.handle, .pad = 1 };
	struct drm_prime_handle prime = { .handle = plain.handle, .flags = DRM_CLOEXEC };
	const struct {
		uint32_t handle, flags;
		int err;
	} rows[] = {
		{ 4711, 0, -ENOENT },
		{ 0, 0, -ENOENT },
		{ hidden.handle, 0, -EPERM },
		{ plain.handle, 1u << 8, -EINVAL },
		{ plain.handle, 1u << 31, -EINVAL },
		{ plain.handle, read_only | DRM_TESSERA_LOCK_WRITE_ONLY, -EINVAL },
		{ plain.handle, read_only | discard, -EINVAL },
		{ plain.handle, ignore_sync | discard, -EINVAL },
		{ plain.handle, ignore_sync | stay, -EINVAL },
		{ plain.handle, DRM_TESSERA_LOCK_REUSE, -EINVAL },
	};
	uint32_t handle;

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		handle = rows[i].handle;
		require_eq(__tsr_lock(s.dev.fd, &handle, rows[i].flags), rows[i].err);
	}
	require_ok(__tsr_bo_create(s.dev.fd, &swizzled));
	handle = swizzled.handle;
	require_err(__tsr_lock(s.dev.fd, &handle, ignore_sync), -EINVAL);

	/* None of the failed calls has left a lock. */
	require_err(__tsr_unlock(s.dev.fd, plain.handle), -EINVAL);
	require_err(__tsr_unlock(s.dev.fd, swizzled.handle), -EINVAL);
	require_err(__tsr_unlock(s.dev.fd, 4711), -ENOENT);
	tsr_lock(&s.dev, &plain, 0);
	require_err(tsr_ioctl(s.dev.fd, DRM_IOCTL_TESSERA_UNLOCK, &unlock), -EINVAL);
	tsr_unlock(&s.dev, &plain);
	require_err(__tsr_unlock(s.dev.fd, plain.handle), -EINVAL);

	/*
	 * An exported object cannot be renamed: the importers would keep the
	 * old one.
	 */
	require_ok(tsr_ioctl(s.dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	handle = plain.handle;
	require_err(__tsr_lock(s.dev.fd, &handle, discard), -EINVAL);
	close(prime.fd);
	stage_close(&s);
}

/* ---- effect of locks on submissions -------------------------------------- */

static void stays_out_of_memory(void)
{
	struct stage s = stage_open();
	uint32_t vram = tsr_bit(tsr_seg_visible(&s.dev));
	struct tsr_bo out = mapped(&s, vram, 1), both = mapped(&s, vram | s.set, 2);
	struct tsr_bo in = mapped(&s, vram, 3);

	/*
	 * An object that was resident when locked, or that can use an aperture,
	 * can be used by jobs.
	 */
	tsr_gpu_touch(&s.dev, s.ctx, &in);
	tsr_lock(&s.dev, &in, 0);
	tsr_lock(&s.dev, &both, 0);
	require_ok(list(&s, &in, &both));

	tsr_lock(&s.dev, &out, 0);
	tsr_lock(&s.dev, &out, read_only);
	require_err(list(&s, &in, &out), -EBUSY);
	require_eq(tsr_bo_info(&s.dev, &out).segment, 0);
	tsr_unlock(&s.dev, &out);
	require_err(list(&s, &out, NULL), -EBUSY);
	tsr_unlock(&s.dev, &out);
	require_ok(list(&s, &out, NULL));
	require_eq(tsr_bo_info(&s.dev, &out).segment, tsr_seg_visible(&s.dev)->id);
	tsr_pattern_check(&out, 1);
	stage_close(&s);
}

/* An object of one file, imported into another file that has a context. */
struct other {
	struct tsr_device dev;
	uint32_t ctx;
	struct tsr_bo bo;
};

static struct other other_open(struct stage *s, const struct tsr_bo *bo)
{
	struct other other = { .dev = tsr_open() };
	int dmabuf = tsr_export(&s->dev, bo);

	other.ctx = tsr_context_new(&other.dev, 0);
	other.bo.size = bo->size;
	require_ok(__tsr_import(other.dev.fd, dmabuf, &other.bo.handle));
	close(dmabuf);
	return other;
}

/* True if there is a locked object of that size. */
static bool is_locked(uint64_t size)
{
	char *text = tsr_debugfs_read("allocations"), *save = NULL, *line, key[64];
	bool locked = false;

	snprintf(key, sizeof(key), " size %llu segment ", (unsigned long long)size);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		locked |= strstr(line, key) && strstr(line, " locked");
	free(text);
	return locked;
}

/*
 * Locks belong to a file. Another file cannot release them, and they end when
 * the handle or the file is closed.
 */
static void locks_end_with_the_handle(void)
{
	struct stage s = stage_open();
	struct tsr_bo bo = tsr_bo_new(&s.dev, KiB(76), tsr_bit(tsr_seg_visible(&s.dev)), cpu);

	tsr_bo_map(&s.dev, &bo);
	tsr_pattern_write(&bo, 1);
	for (uint32_t close_file = 0; close_file < 2; close_file++) {
		struct other other = other_open(&s, &bo);

		require_ok(__tsr_lock(other.dev.fd, &other.bo.handle, 0));
		require_ok(__tsr_lock(other.dev.fd, &other.bo.handle, 0));
		require_err(__tsr_unlock(s.dev.fd, bo.handle), -EINVAL);
		require_err(__tsr_submit_use(&other.dev, other.ctx, &other.bo, true), -EBUSY);
		require(is_locked(bo.size));
		if (close_file)
			tsr_close(&other.dev);
		else
			require_ok(__tsr_bo_close(other.dev.fd, other.bo.handle));
		require(!is_locked(bo.size));
		if (!close_file)
			tsr_close(&other.dev);
		tsr_evict_set(tsr_bit(tsr_seg_visible(&s.dev)));
	}
	tsr_pattern_check(&bo, 1);
	stage_close(&s);
}

/*
 * A lock of a non-resident object that supports video memory only: the locking
 * file's jobs cannot use it. Jobs of another file page it in, and both files
 * see its contents.
 */
static void locks_bind_their_owner(void)
{
	struct stage s = stage_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&s.dev));
	struct tsr_bo bo = mapped(&s, vis, 1);
	struct other other = other_open(&s, &bo);
	uint32_t words[16];

	/* the importer's lock */
	tsr_bo_map(&other.dev, &other.bo);
	require_ok(__tsr_lock(other.dev.fd, &other.bo.handle, 0));
	require_err(__tsr_submit_use(&other.dev, other.ctx, &other.bo, true), -EBUSY);
	require_msg(
		list(&s, &bo, NULL) == 0,
		"expected the exporter's job to run, the importer's lock keeps it from the object");
	require_eq(tsr_bo_info(&s.dev, &bo).segment, tsr_seg_visible(&s.dev)->id);
	tsr_gpu_read(&s.dev, s.ctx, &bo, 0, 16, words);
	require_ok(memcmp(words, bo.map, sizeof(words)));
	tsr_pattern_check(&other.bo, 1);
	tsr_pattern_write(&other.bo, 2);
	tsr_pattern_check(&bo, 2);
	require_err(__tsr_submit_use(&other.dev, other.ctx, &other.bo, true), -EBUSY);
	require_ok(__tsr_unlock(other.dev.fd, other.bo.handle));
	require_ok(__tsr_submit_use(&other.dev, other.ctx, &other.bo, true));

	/*
	 * The exporter's lock. Its own jobs may use the object after its last
	 * unlock.
	 */
	tsr_evict_set(vis);
	tsr_lock(&s.dev, &bo, 0);
	require_err(list(&s, &bo, NULL), -EBUSY);
	require_ok(__tsr_submit_use(&other.dev, other.ctx, &other.bo, true));
	tsr_lock(&s.dev, &bo, read_only);
	tsr_unlock(&s.dev, &bo);
	require_err(list(&s, &bo, NULL), -EBUSY);
	tsr_unlock(&s.dev, &bo);
	require_ok(list(&s, &bo, NULL));
	tsr_pattern_check(&bo, 2);
	tsr_close(&other.dev);
	stage_close(&s);
}

/*
 * SWZ-10: in system memory a swizzled object is linear, so the lock needs no
 * swizzling range.
 */
static void bytes_are_linear(void)
{
	struct stage s = stage_open();
	uint32_t vram = tsr_bit(tsr_seg_visible(&s.dev));
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.flags = cpu,
		.supported = vram,
		.layout = DRM_TESSERA_LAYOUT_TILE4K,
		.pitch = 256,
	};
	struct tsr_bo bo = { .size = args.size };
	struct tsr_trace trace;

	require_ok(__tsr_bo_create(s.dev.fd, &args));
	bo.handle = args.handle;
	tsr_bo_map(&s.dev, &bo);
	tsr_pattern_write(&bo, 1);
	require_ok(list(&s, &bo, NULL));
	require_eq(tsr_bo_info(&s.dev, &bo).segment, tsr_seg_visible(&s.dev)->id);

	tsr_lock(&s.dev, &bo, linear);
	tsr_pattern_check(&bo, 1);
	tsr_unlock(&s.dev, &bo);
	tsr_evict_set(vram);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, 0);
	tsr_trace_start("paging_op", "swizzle_acquire", "lock", NULL);
	tsr_lock(&s.dev, &bo, linear);
	tsr_pattern_check(&bo, 1);
	tsr_unlock(&s.dev, &bo);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "lock"), 1);
	require_eq(trace.count, 1);
	tsr_trace_free(&trace);
	stage_close(&s);
}

#define MOST_FILES 1024 /* open files that have locked an object */

/*
 * All clients that share an object search the files that have locked it, so
 * their number is limited.
 */
static void files_are_limited(void)
{
	const struct rlimit many = { .rlim_cur = MOST_FILES + 64, .rlim_max = MOST_FILES + 64 };
	struct tsr_device dev = tsr_open(), first = {}, more;
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cpu);
	struct drm_prime_handle prime = { .handle = bo.handle, .flags = DRM_CLOEXEC };
	struct tsr_bo imported = bo;
	uint32_t handle;

	require_ok(setrlimit(RLIMIT_NOFILE, &many));
	require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	for (uint32_t i = 0; i <= MOST_FILES; i++) {
		more = tsr_open();
		require_ok(__tsr_import(more.fd, prime.fd, &handle));
		require_eq(__tsr_lock(more.fd, &handle, 0), i < MOST_FILES ? 0 : -ENOSPC);
		if (i)
			continue;
		first = more;
		imported.handle = handle;
	}
	require_err(__tsr_lock(dev.fd, &bo.handle, 0), -ENOSPC);
	/* A file that has ended its locks makes room, and finds none later. */
	tsr_unlock(&first, &imported);
	require_ok(__tsr_lock(dev.fd, &bo.handle, 0));
	require_err(__tsr_lock(first.fd, &imported.handle, 0), -ENOSPC);
	tsr_unlock(&dev, &bo);
	require_ok(__tsr_lock(first.fd, &imported.handle, 0));
	tsr_close(&first);
	tsr_close(&more);
}

static const struct tap_test tests[] = {
	{ "LOCK-6 LOCK-25 ERR-29 do-not-wait answers at once", busy_says_so, 0, 0 },
	{ "LOCK-7 LOCK-8 MODEL-9 lock waits, asleep", lock_waits, 0, 0 },
	{ "LOCK-7 a lock for writing waits for readers", lock_waits_for_readers, 0, 0 },
	{ "ERR-30 a signal interrupts a lock that waits", lock_is_interrupted, 0, 0 },
	{ "LOCK-4 no-overwrite beside a job", no_overwrite, 0, 0 },
	{ "LOCK-5 LOCK-25 MODEL-11 discard gives another instance", discard_gives_another, 0, 0 },
	{ "LOCK-25 a renamed instance keeps the placement rules", discard_keeps_places, 0, 0 },
	{ "LOCK-26 older instances are refused", older_instances_are_refused, 0, 0 },
	{ "LOCK-29 the number of instances is limited", instances_are_limited, 0, 0 },
	{ "LOCK-29 idle instances are used again", idle_instances_are_used_again, 0, 0 },
	{ "LOCK-29 a thousand discards", discards_do_not_add_up, 0, 0 },
	{ "LOCK-28 ERR-24 no eviction for a lock", no_eviction_for_a_lock, 0, 0 },
	{ "LOCK-24 LOCK-27 ERR-32 ERR-33 bad input", bad_input, 0, 0 },
	{ "LOCK-22 ERR-37 stays out of memory while locked", stays_out_of_memory, 0, 0 },
	{ "LOCK-10 MODEL-10 locks end with the handle", locks_end_with_the_handle, 0, 0 },
	{ "LOCK-22 LOCK-30 locks bind their owner", locks_bind_their_owner, 0, 0 },
	{ "LOCK-10 the number of files that lock an object is limited", files_are_limited, 0, 60 },
	{ "SWZ-10 LOCK-20 bytes are linear", bytes_are_linear, 0, 0 },
};

TSR_TEST_MAIN(tests)
