// SPDX-License-Identifier: MIT
/*
 * The kernel memory that a client's unfinished work takes is bounded, and
 * charged to that client. Each job takes the device 2 ms (test-bounds.args), so
 * work piles up if the driver lets it.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "host.h"
#include "memory.h"
#include "stall.h"

/*
 * The current batch may exceed the limit: 32 parts and 1,024 paging operations.
 */
#define WINDOW_BYTES MiB(4)
#define CGROUP_BYTES MiB(64)
#define ROUNDS 8

/* ---- small submissions that do not fit ----------------------------------- */

/*
 * One page of commands that bind the two halves of a rotation in turn. This
 * makes the kernel allocate the most for the fewest bytes from user space.
 */
static void page_of_parts(struct tsr_device *dev, struct tsr_rotation *rot)
{
	tsr_rotation_init(dev, rot, 4096 / ((TSR_BIND_SLOT_DWORDS + TSR_FILL_DWORDS + 1) * 4), 0);
}

static void check_work(struct tsr_device *dev, uint64_t *most)
{
	struct drm_tessera_query_client client = tsr_query_client(dev);

	require(client.work_limit);
	require_msg(client.work_bytes <= client.work_limit + WINDOW_BYTES,
		    "%llu bytes of work, %llu are the limit", (unsigned long long)client.work_bytes,
		    (unsigned long long)client.work_limit);
	*most = client.work_bytes > *most ? client.work_bytes : *most;
}

/* Submit one page of commands after the other for client->arg seconds. */
static void hammer(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint64_t until = tap_now_ns() + client->arg * 1000000000ull, most = 0;
	uint32_t ctx[8];
	struct tsr_rotation rot;

	page_of_parts(&dev, &rot);
	for (uint32_t i = 0; i < ARRAY_SIZE(ctx); i++)
		ctx[i] = tsr_context_new(&dev, 0);
	/*
	 * Submit at least ROUNDS times, so that work can pile up on a slow
	 * machine.
	 */
	while (tap_now_ns() < until || client->state->rounds < ROUNDS) {
		uint32_t i = client->state->rounds++;
		int rc = tsr_client_submit(client, &dev, ctx[i % ARRAY_SIZE(ctx)], &rot.cmd, 0, 0);

		require(!rc || rc == -ENOMEM);
		check_work(&dev, &most);
	}
	tap_note("%u submissions, %llu KiB of work at most", client->state->rounds,
		 (unsigned long long)most >> 10);
	client->state->ready = true;
	pause();
}

/*
 * Memory that the kernel uses itself, without the page caches of trace and
 * console.
 */
static uint64_t kernel_bytes(void)
{
	return tsr_meminfo("SUnreclaim") + tsr_meminfo("VmallocUsed") + tsr_meminfo("PageTables") +
	       tsr_meminfo("KernelStack");
}

static void small_submissions(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_query_client client = tsr_query_client(&dev);
	uint64_t before = kernel_bytes(), available = tsr_meminfo("MemAvailable"), most = 0;
	uint64_t least = available, allowed;
	struct tsr_client a;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, hammer, 3);
	while (!a.state->ready) {
		uint64_t now = kernel_bytes(), left = tsr_meminfo("MemAvailable");

		most = now > most ? now : most;
		least = left < least ? left : least;
		require(waitpid(a.pid, NULL, WNOHANG) == 0);
		usleep(20000);
	}
	/*
	 * Allow for the test's own process, its buffer objects and KASAN's
	 * overhead.
	 */
	allowed = client.work_limit + WINDOW_BYTES + MiB(tap_slow() ? 128 : 48);
	tap_note("kernel memory: %lld KiB more at most, available: %lld KiB less",
		 (long long)(most - before) / 1024, (long long)(available - least) / 1024);
	require(most < before + allowed);
	require(least + allowed > available);
	tsr_client_kill(&a);
	tsr_small_run(&dev, &small);
	/* The work is uncharged when its jobs have finished. */
	check_work(&dev, &most);
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	tsr_close(&dev);
}

/* ---- a memory cgroup ----------------------------------------------------- */

static void hammer_in_cgroup(struct tsr_client *client)
{
	tsr_cgroup_enter();
	hammer(client);
}

static void charged_to_its_cgroup(void)
{
	uint64_t kernel = 0, least = tsr_meminfo("MemAvailable"), before = least;
	struct tsr_device dev = tsr_open();
	struct tsr_client a;
	struct tsr_small small;

	tsr_cgroup_new("tessera-work", CGROUP_BYTES);
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, hammer_in_cgroup, 3);
	/*
	 * Sample once more after the client reports ready: its last submissions
	 * are still charged then.
	 */
	for (bool last = false; !last;) {
		uint64_t now, left;

		last = a.state->ready;
		now = tsr_cgroup_stat("memory.stat", "kernel");
		left = tsr_meminfo("MemAvailable");
		kernel = now > kernel ? now : kernel;
		least = left < least ? left : least;
		require(waitpid(a.pid, NULL, WNOHANG) == 0);
		/*
		 * Another process can submit while the cgroup is at its limit.
		 */
		tsr_small_run(&dev, &small);
	}
	tap_note("charged: %llu KiB, available: %lld KiB less", (unsigned long long)kernel / 1024,
		 (long long)(before - least) / 1024);
	require(kernel >= KiB(512));
	require(before < least + CGROUP_BYTES + MiB(48));
	require_eq(tsr_cgroup_stat("memory.events", "oom_kill"), 0);
	tsr_client_kill(&a);
	tsr_close(&dev);
}

/*
 * Create objects until it fails. They are charged although they have no pages.
 */
static void objects_in_cgroup(struct tsr_client *client)
{
	struct tsr_device dev;
	struct drm_tessera_bo_create args = { .size = 4096 };
	int rc = 0;

	tsr_cgroup_enter();
	dev = tsr_client_open(client);
	args.supported = tsr_bit(tsr_seg_gart(&dev));
	while (!rc && client->state->rounds < client->arg) {
		args.handle = 0;
		rc = __tsr_bo_create(dev.fd, &args);
		client->state->rounds++;
	}
	client->state->error = rc;
	client->state->ready = true;
	pause();
}

static void empty_objects(void)
{
	uint64_t before = kernel_bytes(), kills = tsr_oom_kills(), most = before;
	struct tsr_client a;
	int status;

	tsr_cgroup_new("tessera-objects", CGROUP_BYTES);
	tsr_client_start(&a, objects_in_cgroup, 200000);
	while (!a.state->ready && !waitpid(a.pid, &status, WNOHANG)) {
		uint64_t now = kernel_bytes();

		most = now > most ? now : most;
		usleep(20000);
	}
	tap_note("%u objects, %llu KiB of the kernel's memory: %s", a.state->rounds,
		 (unsigned long long)(most - before) / 1024,
		 a.state->ready ? strerror(-a.state->error) : "killed by its cgroup's limit");
	/*
	 * When the cgroup is full, the client gets -ENOMEM or is killed. The
	 * objects must not take memory outside the cgroup.
	 */
	require(most < before + CGROUP_BYTES + MiB(tap_slow() ? 96 : 32));
	if (a.state->ready) {
		require_eq(a.state->error, -ENOMEM);
		require_eq(tsr_oom_kills(), kills);
		tsr_client_kill(&a);
	}
}

/* ---- SUBMIT at the limits ------------------------------------------------ */

struct limits {
	uint32_t allocs, patches;
};

/*
 * Build a submission at the limits: each object is bound once, unbind packets
 * fill up the patch list, and NOPs fill up the command bytes.
 */
static void build_limits(struct tsr_device *dev, struct tsr_cmd *cmd, const struct limits *limits)
{
	uint32_t seg = tsr_bit(tsr_seg_visible(dev));

	tsr_cmd_init(cmd);
	/* tsr_cmd_alloc() searches all entries: too slow for this many. */
	cmd->allocs = calloc(limits->allocs, sizeof(*cmd->allocs));
	cmd->patches = calloc(limits->patches, sizeof(*cmd->patches));
	require(cmd->allocs && cmd->patches);
	cmd->max_allocs = cmd->num_allocs = limits->allocs;
	cmd->max_patches = cmd->num_patches = limits->patches;
	for (uint32_t i = 0; i < limits->patches; i++) {
		struct drm_tessera_submit_patch *patch = &cmd->patches[i];
		uint32_t *p;

		patch->split_offset = tsr_cmd_bytes(cmd);
		if (i + 1 < limits->allocs) {
			struct tsr_bo bo = tsr_bo_new(dev, 4096, seg, 0);

			cmd->allocs[i + 1].handle = bo.handle;
			cmd->allocs[i + 1].flags = DRM_TESSERA_ALLOC_WRITE;
			patch->alloc_index = i + 1;
			patch->slot_id = i % 32;
			patch->patch_offset = tsr_cmd_bytes(cmd) + TSR_BIND_PATCH_OFFSET;
			p = tsr_cmd_packet(cmd, TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS);
			p[1] = patch->slot_id;
			p[6] = TSR_FORMAT_R32 << TSR_SURF_FORMAT_SHIFT | TSR_SURF_READ |
			       TSR_SURF_WRITE;
		} else {
			patch->slot_id = 32 + i % 32;
			p = tsr_cmd_packet(cmd, TSR_OP_UNBIND_SLOT, 0, TSR_UNBIND_SLOT_DWORDS);
			p[1] = patch->slot_id;
		}
	}
	if (tsr_cmd_bytes(cmd) < dev->info.max_cmd_bytes)
		tsr_cmd_pad_to(cmd, dev->info.max_cmd_bytes);
}

static struct limits at;

static void submit_limits(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd;

	build_limits(&dev, &cmd, &at);
	client->state->ready = true;
	tsr_client_submit(client, &dev, ctx, &cmd, 0, 0);
	pause();
}

/*
 * SUBMIT at the limits completes, fails with a documented error, or waits for
 * space. A kill must end it, and no process may fall to the OOM killer.
 */
static void at_the_limits(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t kills = tsr_oom_kills(), before, least, until;
	struct tsr_client a;
	struct tsr_small small;

	/*
	 * Creating the maximum takes half a minute, and more memory than the
	 * debug kernel has.
	 */
	at.allocs = dev.info.max_allocs / (tap_long() && !tap_slow() ? 1 : 8);
	at.patches = dev.info.max_patches / (tap_long() && !tap_slow() ? 1 : 8);
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&a, submit_limits, 0);
	while (!a.state->ready) {
		require(waitpid(a.pid, NULL, WNOHANG) == 0);
		usleep(10000);
	}
	before = least = tsr_meminfo("MemAvailable");
	until = tap_now_ns() + 60000000000ull;
	while (!a.state->returned && tap_now_ns() < until) {
		uint64_t left = tsr_meminfo("MemAvailable");

		least = left < least ? left : least;
		require_msg(waitpid(a.pid, NULL, WNOHANG) == 0, "killed in SUBMIT");
		usleep(20000);
	}
	tap_note("%s, %lld MiB less available",
		 !a.state->returned ? "still running"
		 : a.state->error   ? strerror(-a.state->error)
				    : "done",
		 (long long)(before - least) >> 20);
	if (a.state->returned)
		require(!a.state->error || a.state->error == -ENOMEM || a.state->error == -E2BIG ||
			a.state->error == -ENOSPC);
	/*
	 * The kill must take effect. Closing thousands of objects then takes a
	 * while.
	 */
	require(tsr_client_kill(&a) < 30000000000ull);
	require_eq(tsr_oom_kills(), kills);
	tsr_small_run(&dev, &small);
	tsr_close(&dev);
}

/* ---- waiting for space --------------------------------------------------- */

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	alarms++;
}

static void ring_alarms(int flags)
{
	const struct itimerval tick = { { 0, 50000 }, { 0, 50000 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
}

static void end_alarms(void)
{
	const struct itimerval off = { 0 };

	setitimer(ITIMER_REAL, &off, NULL);
}

/* A single ioctl call, without the library's restart after -EINTR. */
static int submit_raw(struct tsr_device *dev, uint32_t ctx, const struct tsr_cmd *cmd,
		      struct drm_tessera_submit *args)
{
	tsr_submit_args(cmd, ctx, args);
	return ioctl(dev->fd, DRM_IOCTL_TESSERA_SUBMIT, args) ? -errno : 0;
}

/*
 * A client at its work limit waits in SUBMIT. A signal interrupts that with
 * -EINTR; with SA_RESTART the call resumes by itself.
 */
static void waiting_for_space(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), taken = 0, most = 200000, refused = 0;
	struct drm_tessera_query_client client = tsr_query_client(&dev);
	struct drm_tessera_submit args;
	struct tsr_rotation rot;
	struct tsr_small small;
	struct tsr_cmd *cmd = &small.cmd;
	int rc = 0;

	/* Large NOP jobs reach the limit of memory before that of jobs. */
	tsr_small_init(&dev, &small, dev.render);
	tsr_cmd_nop(cmd, KiB(512));
	tsr_gpu_touch(&dev, ctx, &small.bo);
	page_of_parts(&dev, &rot);
	ring_alarms(0);
	while (taken < most && refused < 3) {
		rc = submit_raw(&dev, ctx, cmd, &args);
		require(!rc || rc == -EINTR);
		/*
		 * On a busy machine a signal may interrupt any wait. Count only
		 * interruptions near the limit.
		 */
		if (!rc)
			taken++;
		else if (tsr_query_client(&dev).work_bytes > client.work_limit / 2)
			refused++;
	}
	end_alarms();
	tap_note("%u taken, %u interrupted, %llu of %llu bytes", taken, refused,
		 (unsigned long long)tsr_query_client(&dev).work_bytes,
		 (unsigned long long)client.work_limit);
	require_eq(refused, 3);

	alarms = 0;
	ring_alarms(SA_RESTART);
	for (uint32_t i = 0; i < most && !alarms; i++)
		require_ok(submit_raw(&dev, ctx, cmd, &args));
	require(alarms);
	/* SA_RESTART also resumes a submission of several parts. */
	alarms = 0;
	require_ok(submit_raw(&dev, ctx, &rot.cmd, &args));
	end_alarms();
	require_eq(args.num_parts, rot.parts);
	tsr_rotation_check(&dev, ctx, &rot, rot.parts);
	tsr_close(&dev);
}

/* ---- the charge for an object list --------------------------------------- */

#define LISTED 1000

static uint64_t charged_for(struct tsr_device *dev, uint32_t ctx, const struct tsr_cmd *cmd)
{
	uint64_t before = tsr_query_client(dev).work_bytes;

	tsr_submit(dev, ctx, cmd, 0, 0);
	return tsr_query_client(dev).work_bytes - before;
}

/*
 * A job's object list costs its client one pointer per object until the job is
 * done.
 */
static void long_lists_are_charged(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_stuck stuck;
	struct tsr_cmd few, many;
	uint64_t diff;

	tsr_cmd_init(&few);
	tsr_cmd_init(&many);
	for (uint32_t i = 0; i <= LISTED; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);

		if (!i)
			tsr_cmd_bind_buffer(&few, 0, &bo, true);
		if (!i)
			tsr_cmd_bind_buffer(&many, 0, &bo, true);
		else
			tsr_cmd_alloc(&many, bo.handle, false);
	}
	/*
	 * Paging jobs are charged, too. Page everything in first, so that none
	 * is measured.
	 */
	tsr_submit_done(&dev, ctx, &many);
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	stuck = tsr_stuck_start(&dev, ctx);
	/*
	 * Each job from the second on also waits for its predecessor: measure
	 * the second.
	 */
	charged_for(&dev, ctx, &few);
	diff = charged_for(&dev, ctx, &few);
	diff = charged_for(&dev, ctx, &many) - diff;
	tsr_stuck_end(&stuck);
	require_eq(diff, LISTED * sizeof(void *));
	tsr_wait_for(tsr_query_client(&dev).work_bytes == 0);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "pending work of small submissions that do not fit is bounded", small_submissions, 0, 0 },
	{ "a job's list is charged to its client", long_lists_are_charged, 0, 0 },
	{ "work is charged to its cgroup", charged_to_its_cgroup, 0, 0 },
	{ "empty objects are charged to their cgroup", empty_objects, 0, 0 },
	{ "SUBMIT at the limits, and no OOM killer", at_the_limits, 0, 200 },
	{ "a SUBMIT that waits for space can be interrupted", waiting_for_space, 0, 0 },
};

TSR_TEST_MAIN(tests)
