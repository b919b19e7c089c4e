// SPDX-License-Identifier: MIT
/*
 * Paging jobs that hang, until the test ends their time or lets them go. No
 * client may see the previous contents of memory, and other work goes on.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "call.h"
#include "hang.h"
#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

static __thread sigjmp_buf on_bus_error;

static void bus_error(int sig)
{
	siglongjmp(on_bus_error, 1);
}

/* with bus_error() as the handler */
static bool read_raises_sigbus(volatile uint32_t *word)
{
	if (sigsetjmp(on_bus_error, 1))
		return true;
	(void)word[0];
	return false;
}

static bool access_raises_sigbus(volatile uint32_t *word)
{
	bool raised;

	signal(SIGBUS, bus_error);
	raised = read_raises_sigbus(word);
	signal(SIGBUS, SIG_DFL);
	return raised;
}

static void use(struct tsr_cmd *cmd, const struct tsr_bo *bo)
{
	tsr_cmd_reset(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	tsr_cmd_fill(cmd, 0, 0, 16, 5);
}

/* Submits while the next paging jobs hang and time out. */
static int status_beside_hangs(struct tsr_device *dev, uint32_t ctx, const struct tsr_cmd *cmd,
			       uint32_t jobs, uint32_t *parts)
{
	pid_t expirer = tsr_hang_next(dev->paging, jobs);
	int status = tsr_submit_status(dev, ctx, cmd, parts);

	tap_join(expirer);
	return status;
}

/* A new object with a clear that times out. */
static struct tsr_bo lost_bo(struct tsr_device *dev, uint32_t ctx)
{
	uint32_t set = tsr_bit(tsr_seg_visible(dev));
	struct tsr_bo bo = tsr_bo_new(dev, MiB(1), set, DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	use(&cmd, &bo);
	require_eq(status_beside_hangs(dev, ctx, &cmd, 1, NULL), -EIO);
	tsr_cmd_fini(&cmd);
	return bo;
}

/*
 * The clear of a new object hangs: the job that waits for it does not run. The
 * object is lost for GPU and CPU; other objects are not.
 */
static void clear_hangs(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), count = 0;
	struct tsr_bo fine, lost;
	struct drm_tessera_submit args;
	struct tsr_trace trace;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	fine = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&dev, ctx, &fine, 3);

	tsr_trace_start("engine_reset", NULL);
	lost = lost_bo(&dev, ctx);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "engine_reset", ev) {
		require(tsr_event_u64(ev, "engine") != dev.render);
		count++;
	}
	require_eq(count, 1);

	use(&cmd, &lost);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EIO);
	tsr_bo_map(&dev, &lost);
	require(access_raises_sigbus(lost.map));

	/* The context is not guilty, and other objects keep their contents. */
	tsr_bo_map(&dev, &fine);
	tsr_words_check(fine.map, fine.size / 4, 3);
	tsr_bo_unmap(&lost);
	tsr_bo_free(&dev, &lost);
	lost = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	use(&cmd, &lost);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), 0);
	tsr_bo_map(&dev, &lost);
	tsr_words_check(lost.map, 16, 5);
	tsr_words_check((uint32_t *)lost.map + 16, lost.size / 4 - 16, 0);
	tsr_close(&dev);
}

/* A job that only reads the lost object does not run either. */
static void lost_is_not_read(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), set = tsr_bit(tsr_seg_visible(&dev));
	struct tsr_bo to = tsr_bo_new(&dev, KiB(4), set, DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo from = tsr_bo_new(&dev, MiB(1), set, 0);
	struct tsr_cmd cmd;

	tsr_bo_map(&dev, &to);
	tsr_gpu_fill(&dev, ctx, &to, 3);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &to, true);
	tsr_cmd_bind_buffer(&cmd, 1, &from, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, 16);
	require_msg(status_beside_hangs(&dev, ctx, &cmd, 1, NULL) == -EIO,
		    "expected -EIO, the job read an object whose page-in failed");
	tsr_words_check(to.map, to.size / 4, 3);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* A move between two parts hangs: the parts after it do not run. */
static void paging_between_parts_hangs(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), num;
	struct tsr_bo bos[3], after;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_gpu_touch(&dev, ctx, &bos[0]);
	/* the first part's object moves out, and the second part's one in */
	require_eq(status_beside_hangs(&dev, ctx, &cmd, 2, &num), -EIO);
	require_eq(num, 3);
	for (uint32_t i = 0; i < 3; i++)
		tsr_bo_free(&dev, &bos[i]);
	after = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), 0);
	tsr_gpu_touch(&dev, ctx, &after);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * Submit a job that needs the whole segment, which evicts everything. Does not
 * wait for the job.
 */
static struct tsr_bo push_out(struct tsr_device *dev, uint32_t ctx,
			      const struct drm_tessera_query_segment *seg)
{
	struct tsr_bo big = tsr_bo_new(dev, seg->size, tsr_bit(seg), 0);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	use(&cmd, &big);
	tsr_submit(dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
	return big;
}

static bool busy(struct tsr_device *dev, const struct tsr_bo *bo)
{
	int rc = __tsr_bo_wait(dev->fd, bo->handle, DRM_TESSERA_BO_WAIT_WRITE, 0);

	require(!rc || rc == -EBUSY);
	return rc == -EBUSY;
}

/*
 * The object moves to system memory, and the move hangs until
 * tsr_engine_release().
 */
static void push_out_slowly(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo)
{
	tsr_job_timeout_lift();
	tsr_engine_hang_next(dev->paging);
	push_out(dev, ctx, tsr_seg_visible(dev));
	tsr_wait_for(tsr_engine_hangs());
	require_eq(tsr_bo_info(dev, bo).segment, 0);
	require(busy(dev, bo));
}

/* in a process of its own, which holds its mmap_lock while it waits */
struct debugger {
	uint32_t *at, words[64];
	bool write;
	volatile bool returned;
};

static void debug(void *arg)
{
	struct debugger *d = arg;

	if (d->write)
		require_ok(tsr_proc_mem_write(d->at, d->words, sizeof(d->words)));
	else
		require_ok(tsr_proc_mem_read(d->at, d->words, sizeof(d->words)));
	d->returned = true;
}

/* The access begins while the object moves, and ends after the move. */
static void debug_beside_a_move(struct debugger *d)
{
	pid_t pid = tap_fork(debug, d);

	tsr_wait_for(d->returned || tsr_is_waiting(pid, "bytes"));
	require_msg(!d->returned, "expected a debugger's %s to wait for the move, it did not",
		    d->write ? "write" : "read");
	tsr_engine_release();
	tap_join(pid);
}

/*
 * A debugger's read waits while the object moves to system memory. Its write
 * waits, too, before it changes pages that the device will write.
 */
static void debugger_waits_for_the_move(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), vis, DRM_TESSERA_BO_CPU_ACCESS);
	struct debugger *reader = tsr_shared(sizeof(*reader));
	struct debugger *writer = tsr_shared(sizeof(*writer));
	uint32_t *map = tsr_bo_map(&dev, &bo);

	reader->at = map + 5000;
	tsr_gpu_fill(&dev, ctx, &bo, 0x77777777);
	push_out_slowly(&dev, ctx, &bo);
	debug_beside_a_move(reader);
	tsr_words_check(reader->words, ARRAY_SIZE(reader->words), 0x77777777);

	writer->write = true;
	writer->at = map + 1;
	memset(writer->words, 0x99, sizeof(writer->words));
	tsr_gpu_fill(&dev, ctx, &bo, 0x88888888);
	push_out_slowly(&dev, ctx, &bo);
	debug_beside_a_move(writer);
	require_eq(map[0], 0x88888888);
	tsr_words_check(map + 1, ARRAY_SIZE(writer->words), 0x99999999);
	require_eq(map[1 + ARRAY_SIZE(writer->words)], 0x88888888);
	tsr_close(&dev);
}

/*
 * The move to system memory hangs: neither the process nor a debugger may see
 * the old contents of the pages.
 */
static void eviction_hangs(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	pid_t expirer;

	tsr_bo_map(&dev, &bo);
	tsr_gpu_fill(&dev, ctx, &bo, 0x77777777);
	expirer = tsr_hang_next(dev.paging, 1);
	push_out(&dev, ctx, seg);
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	require_err(tsr_proc_mem_read(bo.map, &word, sizeof(word)), -EIO);
	tap_join(expirer);
	require_err(tsr_proc_mem_write(bo.map, &word, sizeof(word)), -EIO);
	require(access_raises_sigbus(bo.map));
	tsr_close(&dev);
}

struct reader {
	uint32_t *words;
	volatile bool stop;
	volatile uint32_t seen, raised;
	pthread_t thread;
};

static void *reader_thread(void *arg)
{
	struct reader *r = arg;

	while (!r->stop) {
		if (read_raises_sigbus(r->words))
			r->raised++;
		else
			r->seen++;
	}
	return NULL;
}

/*
 * A lost object is never mapped, not even briefly while another thread gets
 * SIGBUS.
 */
static void lost_object_is_never_mapped(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo lost = lost_bo(&dev, tsr_context_new(&dev, 0));
	struct reader readers[3] = {};

	tsr_bo_map(&dev, &lost);
	signal(SIGBUS, bus_error);
	for (int i = 0; i < 3; i++) {
		readers[i].words = (uint32_t *)lost.map + i * 1024;
		require(!pthread_create(&readers[i].thread, NULL, reader_thread, &readers[i]));
	}
	for (int i = 0; i < 3; i++)
		while (readers[i].raised < 1000 && !readers[i].seen)
			usleep(1000);
	for (int i = 0; i < 3; i++) {
		readers[i].stop = true;
		pthread_join(readers[i].thread, NULL);
	}
	for (int i = 0; i < 3; i++)
		require_eq(readers[i].seen, 0);
	tsr_close(&dev);
}

static void touch(void *arg)
{
	struct reader *r = arg;

	r->seen = ((volatile uint32_t *)r->words)[0];
}

struct asker {
	struct tsr_device *dev;
	const struct tsr_bo *bo;
};

static void ask(void *arg)
{
	struct asker *asker = arg;

	tsr_bo_info(asker->dev, asker->bo);
}

/* A page fault that waits for a move does not hold the object's reservation. */
static void fault_waits_without_the_object(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), vis, DRM_TESSERA_BO_CPU_ACCESS);
	struct asker asker = { .dev = &dev, .bo = &bo };
	struct tsr_call toucher, info;
	struct reader reader = {};

	tsr_gpu_fill(&dev, ctx, &bo, 0x77777777);
	reader.words = tsr_bo_map(&dev, &bo);
	push_out_slowly(&dev, ctx, &bo);
	tsr_call_start(&toucher, touch, &reader);
	tsr_wait_for(toucher.returned || tsr_call_waits(&toucher, "bytes"));
	require(!toucher.returned);
	tsr_call_start(&info, ask, &asker);
	tsr_wait_for(info.returned);
	require(!toucher.returned);
	tsr_engine_release();
	tsr_call_join(&toucher);
	tsr_call_join(&info);
	require_eq(reader.seen, 0x77777777);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-6 a clear that hangs shows no old contents", clear_hangs, 0, 60 },
	{ "PAGE-6 a clear that hangs is not read", lost_is_not_read, 0, 0 },
	{ "SPLIT-34 SPLIT-35 paging between parts hangs", paging_between_parts_hangs, 0, 60 },
	{ "PAGE-6 SWZ-13 a debugger waits for moves", debugger_waits_for_the_move, 0, 60 },
	{ "PAGE-6 an eviction that hangs shows no old contents", eviction_hangs, 0, 60 },
	{ "PAGE-6 a lost object is never mapped", lost_object_is_never_mapped, 0, 60 },
	{ "SWZ-14 a fault waits for a move without holding the reservation",
	  fault_waits_without_the_object, 0, 60 },
};

TSR_TEST_MAIN(tests)
