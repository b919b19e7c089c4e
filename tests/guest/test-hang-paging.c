// SPDX-License-Identifier: MIT
/*
 * Paging jobs that time out: test-hang-paging.args makes each one slow. No
 * client may see the previous contents of memory, and other work goes on. On a
 * busy machine a paging job may complete before the test looks; then the test
 * tries again.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#define TRIES 20

static void again(uint32_t *tries)
{
	require_msg(++*tries < TRIES, "the page-in ended early in each attempt");
}

/* A new object with a clear that times out. */
static struct tsr_bo lost_bo(struct tsr_device *dev, uint32_t ctx)
{
	uint32_t set = tsr_bit(tsr_seg_visible(dev)), tries = 0;
	struct tsr_bo bo;
	struct tsr_cmd cmd;
	int status;

	tsr_cmd_init(&cmd);
	for (;;) {
		bo = tsr_bo_new(dev, MiB(1), set, DRM_TESSERA_BO_CPU_ACCESS);
		use(&cmd, &bo);
		tsr_job_timeout("300");
		status = tsr_submit_status(dev, ctx, &cmd, NULL);
		tsr_job_timeout_restore();
		if (status)
			break;
		tsr_bo_free(dev, &bo);
		again(&tries);
	}
	require_eq(status, -EIO);
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
	uint32_t ctx = tsr_context_new(&dev, 0), set = tsr_bit(tsr_seg_visible(&dev)), tries = 0;
	struct tsr_bo to = tsr_bo_new(&dev, KiB(4), set, DRM_TESSERA_BO_CPU_ACCESS), from;
	struct tsr_cmd cmd;
	int status;

	tsr_bo_map(&dev, &to);
	tsr_cmd_init(&cmd);
	for (;;) {
		tsr_gpu_fill(&dev, ctx, &to, 3);
		from = tsr_bo_new(&dev, MiB(1), set, 0);
		tsr_cmd_reset(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &to, true);
		tsr_cmd_bind_buffer(&cmd, 1, &from, false);
		tsr_cmd_copy(&cmd, 0, 0, 1, 0, 16);
		tsr_job_timeout("300");
		status = tsr_submit_status(&dev, ctx, &cmd, NULL);
		tsr_job_timeout_restore();
		if (status)
			break;
		require_msg(
			!__tsr_submit_use(&dev, ctx, &from, false),
			"expected the job to be refused, it read an object whose page-in failed");
		tsr_bo_free(&dev, &from);
		again(&tries);
	}
	require_eq(status, -EIO);
	tsr_words_check(to.map, to.size / 4, 3);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* A move between two parts hangs: the parts after it do not run. */
static void paging_between_parts_hangs(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), num, tries = 0;
	struct tsr_bo bos[3];
	struct tsr_cmd cmd;
	int status;

	tsr_cmd_init(&cmd);
	for (;;) {
		tsr_cmd_reset(&cmd);
		for (uint32_t i = 0; i < 3; i++) {
			bos[i] = tsr_bo_new(&dev, seg->size * 3 / 4, tsr_bit(seg), 0);
			tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
			tsr_cmd_fill(&cmd, 0, 0, 16, i);
		}
		tsr_gpu_touch(&dev, ctx, &bos[0]);
		tsr_job_timeout("300");
		status = tsr_submit_status(&dev, ctx, &cmd, &num);
		tsr_job_timeout_restore();
		require_eq(num, 3);
		for (uint32_t i = 0; i < 3; i++)
			tsr_bo_free(&dev, &bos[i]);
		if (status)
			break;
		again(&tries);
	}
	require_eq(status, -EIO);
	bos[0] = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), 0);
	tsr_gpu_touch(&dev, ctx, &bos[0]);
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

/* A debugger's read waits while the object moves to system memory. */
static void debugger_waits_for_the_move(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	uint32_t words[64], tries = 0;
	struct tsr_bo big;
	bool moving;

	tsr_bo_map(&dev, &bo);
	for (;;) {
		tsr_gpu_fill(&dev, ctx, &bo, 0x77777777 + tries);
		big = push_out(&dev, ctx, seg);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		moving = busy(&dev, &bo);
		require_ok(tsr_proc_mem_read((uint32_t *)bo.map + 5000, words, sizeof(words)));
		require(!busy(&dev, &bo));
		tsr_words_check(words, ARRAY_SIZE(words), 0x77777777 + tries);
		tsr_bo_free(&dev, &big);
		if (moving)
			break;
		again(&tries);
	}

	/*
	 * A debugger's write waits, too, before it changes pages that the
	 * device will write.
	 */
	tsr_gpu_fill(&dev, ctx, &bo, 0x88888888);
	push_out(&dev, ctx, seg);
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	words[0] = 0x99;
	require_ok(tsr_proc_mem_write((uint32_t *)bo.map + 1, words, sizeof(words[0])));
	require_eq(((uint32_t *)bo.map)[0], 0x88888888);
	require_eq(((uint32_t *)bo.map)[1], 0x99);
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
	uint32_t ctx = tsr_context_new(&dev, 0), word, tries = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS), big;
	int rc;

	tsr_bo_map(&dev, &bo);
	for (;;) {
		tsr_gpu_fill(&dev, ctx, &bo, 0x77777777);
		tsr_job_timeout("300");
		big = push_out(&dev, ctx, seg);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		rc = tsr_proc_mem_read(bo.map, &word, sizeof(word));
		tsr_job_timeout_restore();
		if (rc)
			break;
		require_eq(word, 0x77777777);
		tsr_bo_free(&dev, &big);
		again(&tries);
	}
	require_eq(rc, -EIO);
	require_err(tsr_proc_mem_write(bo.map, &word, sizeof(word)), -EIO);
	require(access_raises_sigbus(bo.map));
	tsr_close(&dev);
}

struct reader {
	uint32_t *words;
	volatile bool stop;
	volatile uint32_t seen, tid, raised;
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

static void *toucher_thread(void *arg)
{
	struct reader *r = arg;

	r->tid = (uint32_t)syscall(SYS_gettid);
	r->seen = ((volatile uint32_t *)r->words)[0];
	return NULL;
}

static bool thread_sleeps(uint32_t tid)
{
	char path[64], *text, *state;
	bool sleeps;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	text = tsr_read_file(path);
	if (!text) /* the thread has ended */
		return false;
	state = strrchr(text, ')');
	require(state);
	sleeps = state[2] == 'S' || state[2] == 'D';
	free(text);
	return sleeps;
}

/* Returns false if the move ended too early to tell. */
static bool try_fault(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
	struct reader reader = {};
	bool moving;

	tsr_gpu_fill(&dev, ctx, &bo, 0x77777777);
	reader.words = tsr_bo_map(&dev, &bo);
	push_out(&dev, ctx, seg);
	require(!pthread_create(&reader.thread, NULL, toucher_thread, &reader));
	do {
		moving = busy(&dev, &bo);
	} while (moving && (!reader.tid || !thread_sleeps(reader.tid)));
	tsr_bo_info(&dev, &bo);
	moving = moving && busy(&dev, &bo);
	pthread_join(reader.thread, NULL);
	require_eq(reader.seen, 0x77777777);
	tsr_close(&dev);
	return moving;
}

/* A page fault that waits for a move does not hold the object's reservation. */
static void fault_waits_without_the_object(void)
{
	uint32_t tries = 0;

	while (!try_fault())
		again(&tries);
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
