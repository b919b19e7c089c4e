// SPDX-License-Identifier: MIT
/*
 * Two devices of this driver without preemption share an object, on a kernel
 * with move_notify. The first device runs a stuck VM job that uses the object.
 *
 * Jobs of a VM leave no fence on the object that the other device could see.
 * The other device learns that the object cannot move yet only when it asks for
 * it. The client that asks must wait, and no other client of its device may
 * wait with it.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "foreign.h"
#include "host.h"
#include "memory.h"
#include "pci.h"
#include "stall.h"
#include "trace.h"

#define SIZE KiB(64)
#define WORDS (SIZE / 4)
#define PARTS 6
#define MOST_CPU_SECONDS 5

static struct tsr_device second_device(void)
{
	struct tsr_device first = tsr_open(), second = tsr_pci_other(&first);

	tsr_close(&first);
	return second;
}

/* Prefers memory over the aperture. */
static struct tsr_bo shareable(struct tsr_device *dev)
{
	return tsr_bo_new(dev, SIZE, tsr_bit(tsr_seg_hidden(dev)) | tsr_bit(tsr_seg_gart(dev)),
			  DRM_TESSERA_BO_CPU_ACCESS);
}

static bool in_memory(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return tsr_bo_info(dev, bo).segment == tsr_seg_hidden(dev)->id;
}

static struct tsr_bo import(struct tsr_device *dev, int dmabuf)
{
	struct tsr_bo bo = { .size = SIZE };

	require_ok(__tsr_import(dev->fd, dmabuf, &bo.handle));
	return bo;
}

static uint32_t last_word(struct tsr_device *dev, const struct tsr_bo *bo)
{
	uint32_t word;

	tsr_gpu_read(dev, tsr_context_new(dev, 0), bo, WORDS - 1, 1, &word);
	return word;
}

/* ---- clients of the second device ---------------------------------------- */

static int dmabuf; /* inherited by the child */

static void submit_one_word(struct tsr_client *client, struct tsr_device *dev,
			    const struct tsr_bo *bo)
{
	uint32_t done = tsr_syncobj_new(dev), ctx = tsr_context_new(dev, (uint32_t)client->arg);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1, 7);
	require_ok(tsr_client_submit(client, dev, ctx, &cmd, 0, done));
	require_ok(tsr_syncobj_status(dev, done));
	tsr_cmd_fini(&cmd);
}

/*
 * The exporter: its object is in use by the stuck job, and it needs the object
 * back in its video memory.
 */
static void lender(struct tsr_client *client)
{
	struct tsr_device dev = second_device();
	struct tsr_bo bo = shareable(&dev);

	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &bo, 2);
	require(in_memory(&dev, &bo));
	client->state->sync_file = tsr_export(&dev, &bo);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	require(!in_memory(&dev, &bo));
	submit_one_word(client, &dev, &bo);
	require(in_memory(&dev, &bo));
	require_eq(last_word(&dev, &bo), 5);
	tsr_close(&dev);
}

/* The importer: its job uses the object of the stuck job. */
static void borrower(struct tsr_client *client)
{
	struct tsr_device dev = second_device();
	struct tsr_bo bo = import(&dev, dmabuf);

	submit_one_word(client, &dev, &bo);
	require_eq(last_word(&dev, &bo), 5);
	tsr_close(&dev);
}

/* An unrelated client: one submission in parts, followed by a short job. */
static void stranger(struct tsr_client *client)
{
	struct tsr_device dev = second_device();
	uint32_t ctx = tsr_context_new(&dev, 0), done = tsr_syncobj_new(&dev);
	struct tsr_rotation rot;
	struct tsr_small small;

	tsr_rotation_init(&dev, &rot, PARTS, 0);
	tsr_submit(&dev, ctx, &rot.cmd, 0, done);
	tsr_small_init(&dev, &small, dev.render);
	tsr_small_run(&dev, &small);
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_rotation_check(&dev, ctx, &rot, PARTS);
	client->state->ready = true;
	tsr_close(&dev);
}

/*
 * Wait until the client sleeps or has returned. Fail if it polls instead: that
 * takes seconds of CPU time, a normal call hundredths.
 */
static void await_asleep(const struct tsr_client *client)
{
	clockid_t clock;
	struct timespec used = { .tv_sec = 0 };

	tsr_wait_for(client->state->begun);
	require(!clock_getcpuclockid(client->pid, &clock));
	tsr_wait_for((clock_gettime(clock, &used), used.tv_sec >= MOST_CPU_SECONDS) ||
		     client->state->returned || tsr_client_asleep(client));
	require_msg(used.tv_sec < MOST_CPU_SECONDS, "expected the client to sleep, it polls");
}

#define ONE_SLEEP_NS 20000000000ull

/*
 * False if the client stays in one uninterrupted sleep for longer than any wait
 * for jobs that make progress.
 */
static bool comes_to_an_end(const struct tsr_client *client)
{
	uint64_t naps = 0, since = tap_now_ns();

	while (!client->state->ready) {
		uint64_t naps_now = tsr_naps(client->pid), now = tap_now_ns();

		tsr_client_check(client);
		if (naps_now != naps || !tsr_waits(client->pid))
			since = now;
		if (now - since > ONE_SLEEP_NS)
			return false;
		naps = naps_now;
		usleep(1000);
	}
	return true;
}

/*
 * The waiting client must not hold the gate. If it did, parts of other
 * submissions could not run, and all other clients would wait for the stuck
 * job.
 */
static void stranger_goes_on(struct tsr_client *client, struct tsr_stuck_vm *slow)
{
	struct tsr_client other;
	bool goes_on;

	await_asleep(client);
	require(!client->state->returned);
	tsr_client_start(&other, stranger, 0);
	goes_on = comes_to_an_end(&other);
	require(tsr_stuck_vm_runs(slow));
	require(!client->state->returned);
	/*
	 * End the stuck job also if the unrelated client waits, so that all can
	 * finish.
	 */
	tsr_stuck_vm_end(slow);
	tsr_client_join(&other);
	tsr_client_join(client);
	require_msg(goes_on,
		    "expected an unrelated client to go on, it waits for the other device");
}

static void beside_a_lender(uint32_t ctx_flags)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client client;
	struct tsr_stuck_vm slow;
	struct tsr_bo there;
	int lent;

	tsr_move_notify_need();
	tsr_client_start(&client, lender, ctx_flags);
	tsr_wait_for((tsr_client_check(&client), client.state->ready));
	lent = tsr_client_take_fd(&client, client.state->sync_file);
	there = import(&dev, lent);
	tsr_stuck_vm_start(&slow, &dev, &there, 5);
	client.state->stop = true;
	stranger_goes_on(&client, &slow);
	require_eq(last_word(&dev, &there), 5);
	tsr_stuck_vm_close(&slow);
	close(lent);
	tsr_close(&dev);
}

static void beside_a_borrower(uint32_t ctx_flags)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = shareable(&dev);
	struct tsr_client client;
	struct tsr_stuck_vm slow;

	tsr_move_notify_need();
	tsr_stuck_vm_start(&slow, &dev, &bo, 5);
	require(in_memory(&dev, &bo));
	dmabuf = tsr_export(&dev, &bo);
	tsr_client_start(&client, borrower, ctx_flags);
	stranger_goes_on(&client, &slow);
	require_eq(last_word(&dev, &bo), 5);
	tsr_stuck_vm_close(&slow);
	close(dmabuf);
	tsr_close(&dev);
}

#define MANY_PARTS 100 /* more than one batch */

/*
 * SPLIT-34: take the object back from the importer when parts are armed
 * already.
 */
static void lender_late(void)
{
	struct tsr_device first = tsr_open(), second = tsr_pci_other(&first);
	uint32_t ctx, forced, done;
	struct tsr_rotation rot;
	struct tsr_bo bo, there;

	tsr_move_notify_need();
	ctx = tsr_context_new(&second, 0);
	/*
	 * A forced split defers the request to a late part: a submission that
	 * might fit asks for all objects before it is cut.
	 */
	forced = tsr_context_new(&second, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	done = tsr_syncobj_new(&second);
	bo = shareable(&second);
	tsr_gpu_fill(&second, ctx, &bo, 2);
	dmabuf = tsr_export(&second, &bo);
	there = import(&first, dmabuf);
	close(dmabuf);
	for (uint32_t round = 0; round < 3; round++) {
		tsr_gpu_fill(&first, tsr_context_new(&first, 0), &there, 5 + round);
		require(!in_memory(&second, &bo));
		tsr_rotation_init(&second, &rot, MANY_PARTS, 0);
		tsr_cmd_bind_buffer(&rot.cmd, 0, &bo, true);
		tsr_cmd_fill(&rot.cmd, 0, 0, 1, 7);
		tsr_submit(&second, forced, &rot.cmd, 0, done);
		require_ok(tsr_syncobj_status(&second, done));
		require(in_memory(&second, &bo));
		require_eq(last_word(&second, &bo), 5 + round);
		tsr_rotation_check(&second, ctx, &rot, MANY_PARTS);
		tsr_rotation_fini(&second, &rot);
	}
	tsr_close(&second);
	tsr_close(&first);
}

static void lender_whole(void)
{
	beside_a_lender(0);
}

static void lender_parts(void)
{
	beside_a_lender(DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
}

static void borrower_whole(void)
{
	beside_a_borrower(0);
}

static void borrower_parts(void)
{
	beside_a_borrower(DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
}

/* ---- both at once -------------------------------------------------------- */

#define TURNS 100

/*
 * Submit without coordination with the other device: each submission needs the
 * object back from it.
 */
static void use_often(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t word)
{
	uint32_t ctx = tsr_context_new(dev, 0), done = tsr_syncobj_new(dev), value;
	struct tsr_cmd cmd;

	for (uint32_t i = 1; i <= TURNS; i++) {
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, bo, true);
		tsr_cmd_fill(&cmd, 0, word, 1, i);
		tsr_submit(dev, ctx, &cmd, 0, done);
		require_ok(tsr_syncobj_status(dev, done));
		tsr_cmd_fini(&cmd);
	}
	tsr_gpu_read(dev, ctx, bo, word, 1, &value);
	require_eq(value, TURNS);
}

static void other_user(struct tsr_client *client)
{
	struct tsr_device dev = second_device();
	struct tsr_bo bo = import(&dev, dmabuf);

	client->state->ready = true;
	use_often(&dev, &bo, 0);
	tsr_close(&dev);
}

/*
 * Each device can make the other's submission start over. Both must complete.
 */
static void both_at_once(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = shareable(&dev);
	struct tsr_client client;

	tsr_move_notify_need();
	dmabuf = tsr_export(&dev, &bo);
	tsr_client_start(&client, other_user, 0);
	tsr_wait_for((tsr_client_check(&client), client.state->ready));
	use_often(&dev, &bo, 1);
	tsr_client_join(&client);
	close(dmabuf);
	tsr_close(&dev);
}

/* ---- swap-out ------------------------------------------------------------ */

struct swapper {
	volatile pid_t tid;
	volatile bool returned;
};

static void *swap_thread(void *arg)
{
	struct swapper *swapper = arg;

	swapper->tid = gettid();
	tsr_swap_out_objects();
	swapper->returned = true;
	return NULL;
}

/*
 * True if the thread stays in the same fence wait while an unblocked device
 * completes a job. It then waits for the held fence.
 */
static bool swap_waits(const struct swapper *swapper, struct tsr_device *dev)
{
	struct tsr_bo bo;
	uint64_t naps;

	if (!swapper->tid || !tsr_trace_waits_for_fence(swapper->tid))
		return false;
	naps = tsr_naps(swapper->tid);
	bo = shareable(dev);
	tsr_gpu_fill(dev, tsr_context_new(dev, 0), &bo, 3);
	require_eq(last_word(dev, &bo), 3);
	tsr_bo_free(dev, &bo);
	return tsr_trace_waits_for_fence(swapper->tid) && tsr_naps(swapper->tid) == naps;
}

/*
 * False if the swap-out waits for the fence that @let_go signals, which is not
 * @dev's.
 */
static bool swap_returns(struct tsr_device *dev, void (*let_go)(void))
{
	struct swapper swapper = { .tid = 0 };
	pthread_t thread;
	bool returned;

	tsr_trace_start_waits();
	require(!pthread_create(&thread, NULL, swap_thread, &swapper));
	tsr_wait_for(swapper.returned || swap_waits(&swapper, dev));
	returned = swapper.returned;
	if (!returned)
		let_go();
	require(!pthread_join(thread, NULL));
	return returned;
}

/*
 * Swap-out asks the importer to release the pages but never waits for it,
 * however often it runs. The object is swapped out once the importer has
 * released it.
 */
static void swap_waits_for_no_importer(void)
{
	struct tsr_device a = second_device(), b = tsr_open();
	struct tsr_bo bo = shareable(&a), there;
	long pages = 0;
	int lent;

	tsr_move_notify_need();
	tsr_gpu_fill(&a, tsr_context_new(&a, 0), &bo, 2);
	lent = tsr_export(&a, &bo);
	there = import(&b, lent);
	tsr_gpu_fill(&b, tsr_context_new(&b, 0), &there, 5);
	require_eq(tsr_bo_info(&b, &there).segment, tsr_seg_gart(&b)->id);
	tsr_job_timeout("300000");
	tsr_engine_hang_next(b.paging);
	require(swap_returns(&a, tsr_engine_release));
	tsr_wait_for(tsr_engine_hangs());
	require_eq(tsr_bo_info(&b, &there).segment, 0);
	require(swap_returns(&a, tsr_engine_release));
	require_err(__tsr_bo_wait(b.fd, there.handle, 0, 0), -EBUSY);
	tsr_engine_release();
	tsr_wait_for((pages += tsr_swap_out_objects()) >= (long)(SIZE / KiB(4)));
	require_eq(last_word(&b, &there), 5);
	close(lent);
	tsr_close(&b);
	tsr_close(&a);
}

static int timeline;

static void signal_timeline(void)
{
	tsr_sw_sync_signal(timeline);
}

/*
 * Swap-out also does not wait for a foreign fence in the reservation of an
 * exported object.
 */
static void swap_waits_for_no_fence(void)
{
	int fence, shared;
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = shareable(&dev);
	long pages = 0;

	timeline = tsr_sw_sync_new(&fence);
	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &bo, 2);
	tsr_evict_set(tsr_bit(tsr_seg_hidden(&dev)) | tsr_bit(tsr_seg_gart(&dev)));
	shared = tsr_export(&dev, &bo);
	tsr_dmabuf_put_fence(shared, fence, DMA_BUF_SYNC_WRITE);
	require(swap_returns(&dev, signal_timeline));
	signal_timeline();
	tsr_wait_for((pages += tsr_swap_out_objects()) >= (long)(SIZE / KiB(4)));
	require_eq(last_word(&dev, &bo), 2);
	close(shared);
	close(fence);
	close(timeline);
	tsr_close(&dev);
}

/*
 * Swap-out does not wait for a job either. Here an object was evicted behind the
 * job.
 */
static void swap_waits_for_no_job(void)
{
	struct tsr_device other = second_device(), dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, SIZE, tsr_bit(seg), 0);
	struct tsr_bo all = tsr_bo_new(&dev, seg->size, tsr_bit(seg), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	long pages = 0;

	tsr_gpu_fill(&dev, ctx, &bo, 2);
	tsr_job_timeout("300000");
	tsr_engine_hang_next(dev.render);
	require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
	tsr_wait_for(tsr_engine_hangs());
	require_ok(__tsr_submit_use(&dev, ctx, &all, true));
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	require(swap_returns(&other, tsr_engine_release));
	tsr_engine_release();
	tsr_wait_for((pages += tsr_swap_out_objects()) >= (long)(SIZE / KiB(4)));
	require_eq(last_word(&dev, &bo), 2);
	tsr_close(&dev);
	tsr_close(&other);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 taking an exported object back from a busy importer delays no other client",
	  lender_whole, 0, 0 },
	{ "SCHED-2 SPLIT-35 taking an exported object back in parts delays no other client",
	  lender_parts, 0, 0 },
	{ "SPLIT-34 a late part takes an exported object back", lender_late, 0, 0 },
	{ "SCHED-2 importing from a busy exporter delays no other client", borrower_whole, 0, 0 },
	{ "SCHED-2 SPLIT-35 importing from a busy exporter in parts delays no other client",
	  borrower_parts, 0, 0 },
	{ "submissions of two devices on one object both complete", both_at_once, 0, 0 },
	{ "swap-out does not wait for an importer", swap_waits_for_no_importer, 0, 0 },
	{ "swap-out does not wait for a foreign fence", swap_waits_for_no_fence, 0, 0 },
	{ "swap-out does not wait for a job", swap_waits_for_no_job, 0, 0 },
};

TSR_TEST_MAIN(tests)
