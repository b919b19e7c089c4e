// SPDX-License-Identifier: MIT
/*
 * The device is unbound while files are open, jobs run and memory is mapped,
 * and is bound again. Unbinding may not wait for other clients' or foreign
 * fences, every fence must signal, and old files must report -ENODEV.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "host.h"
#include "pci.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t mappable = DRM_TESSERA_BO_CPU_ACCESS;

/* All calls on a file whose device is gone. */
static void file_is_dead(struct tsr_device *dev, uint32_t ctx, const struct tsr_cmd *cmd)
{
	struct drm_tessera_bo_create bo = { .size = 4096, .supported = tsr_bit(&dev->segs[0]) };
	struct drm_tessera_submit args;
	struct drm_tessera_bo_info info;
	uint32_t count = 0;

	require_err(__tsr_query(dev->fd, DRM_TESSERA_QUERY_DEVICE, 0, &count, NULL), -ENODEV);
	require_err(__tsr_bo_create(dev->fd, &bo), -ENODEV);
	require_err(__tsr_bo_info(dev->fd, 1, &info), -ENODEV);
	require_err(__tsr_submit(dev, ctx, cmd, 0, 0, &args), -ENODEV);
}

/*
 * Running and queued jobs end at once, with an error or done, and all their
 * fences signal. The file reports -ENODEV, and mappings can still be accessed.
 */
static void with_jobs_and_mappings(void)
{
	struct tsr_device dev = (tsr_pci_begin(), tsr_open());
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo vram = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), mappable);
	struct tsr_bo system = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), mappable);
	struct tsr_bo big = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);
	struct pollfd pfd = { .events = POLLIN };
	volatile uint32_t *word;
	struct tsr_cmd cmd;
	uint32_t sync;

	tsr_bo_map(&dev, &vram);
	tsr_bo_map(&dev, &system);
	tsr_gpu_fill(&dev, ctx, &vram, 1);
	tsr_gpu_fill(&dev, ctx, &system, 2);
	tsr_words_check(vram.map, 1024, 1);
	tsr_words_check(system.map, 1024, 2);

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &big, true);
	for (uint32_t i = 0; i < 50000; i++)
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(big.size / 4), i);
	sync = tsr_syncobj_new(&dev);
	for (int i = 0; i < 8; i++)
		tsr_submit(&dev, ctx, &cmd, 0, sync);
	pfd.fd = tsr_syncobj_export(&dev, sync);
	require_eq(poll(&pfd, 1, 0), 0);

	tsr_pci_unbind();
	require_eq(poll(&pfd, 1, -1), 1);
	file_is_dead(&dev, ctx, &cmd);
	/* pages that were mapped before, and pages that were not */
	word = vram.map;
	word[0] = word[MiB(1) / 8] = 0x1234;
	word = system.map;
	word[0] = word[MiB(1) / 8] = 0x1234;
	require_err(__tsr_bo_close(dev.fd, big.handle), -ENODEV);
	tsr_bo_unmap(&vram);
	tsr_close(&dev);
	close(pfd.fd);
}

static void work_until_gone(void *arg)
{
	volatile bool *works = arg;
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_submit args;
	struct tsr_bo bos[3];
	struct tsr_cmd cmd;
	int ret = 0;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), mappable);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bos[i].size / 4), i);
	}
	while (!ret) {
		ret = __tsr_submit(&dev, ctx, &cmd, 0, 0, &args);
		*works = true;
	}
	require_err(ret, -ENODEV);
	tsr_close(&dev);
}

/* Several processes run split submissions that page. */
static void under_paging_load(void)
{
	volatile bool *works = tsr_shared(3 * sizeof(*works));
	pid_t workers[3];

	tsr_pci_begin();
	for (int i = 0; i < 3; i++)
		workers[i] = tap_fork(work_until_gone, (void *)&works[i]);
	tsr_wait_for(works[0] && works[1] && works[2]);
	usleep(tap_slow() ? 4000000 : 1000000);
	tsr_pci_unbind();
	for (int i = 0; i < 3; i++)
		tap_join(workers[i]);
}

/* The device works after each binding. */
static void again_and_again(void)
{
	tsr_pci_begin();
	for (int i = 0; i < (tap_slow() ? 4 : 15); i++) {
		struct tsr_device dev = tsr_open();
		uint32_t ctx = tsr_context_new(&dev, 0);
		struct tsr_bo bo =
			tsr_bo_new(&dev, MiB(2), tsr_bit(tsr_seg_visible(&dev)), mappable);

		tsr_gpu_fill(&dev, ctx, &bo, (uint32_t)i);
		tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, (uint32_t)i);
		tsr_pci_unbind();
		require_err(__tsr_open_node(), -ENODEV);
		if (i & 1)
			tsr_close(&dev);
		tsr_pci_bind();
		if (!(i & 1))
			tsr_close(&dev);
	}
}

static int fence; /* inherited by the child */

/* Waits in SUBMIT for a foreign fence: an in-fence or one at the object. */
static void submit_behind_fence(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_small small;

	require_err(tsr_small_behind(client, &dev, &small, fence), -ENODEV);
	file_is_dead(&dev, small.ctx, &small.cmd);
	tsr_close(&dev);
}

/* Unplug ends submissions behind a foreign fence without waiting for it. */
static void behind_a_foreign_fence(void)
{
	struct tsr_client clients[2];
	int timeline;

	tsr_pci_begin();
	timeline = tsr_sw_sync_new(&fence);
	for (uint64_t i = 0; i < ARRAY_SIZE(clients); i++) {
		tsr_client_start(&clients[i], submit_behind_fence, i);
		tsr_wait_for(tsr_is_waiting(clients[i].pid, "foreign"));
	}
	tsr_pci_unbind();
	for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
		tsr_client_join(&clients[i]);
	require(!tsr_fence_signalled(fence));
	tsr_sw_sync_signal(timeline);
	close(fence);
	close(timeline);
}

/*
 * Uses all of an aperture except for the space of two objects. Other objects
 * are evicted, whatever fences they have.
 */
static void use_aperture(void *arg)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_gart(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size - MiB(2), tsr_bit(seg), 0);

	require_ok(__tsr_submit_use(&dev, tsr_context_new(&dev, 0), &bo, true));
	tsr_close(&dev);
}

/*
 * Three objects have a foreign fence that does not signal. The first one is
 * being destroyed, the second one was evicted to system pages. Unplug does not
 * wait for the fence.
 */
static void behind_a_fence_at_an_object(void)
{
	struct tsr_device dev = (tsr_pci_begin(), tsr_open());
	int timeline = tsr_sw_sync_new(&fence);
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[3];
	struct tsr_cmd cmd;

	for (int i = 0; i < 3; i++) {
		bos[i] = tsr_bo_new(&dev, MiB(1), gart, mappable);
		tsr_gpu_fill(&dev, ctx, &bos[i], 1);
		tsr_fence_at(&dev, &bos[i], fence, DMA_BUF_SYNC_WRITE);
	}
	tsr_bo_free(&dev, &bos[0]);
	tap_join(tap_fork(use_aperture, NULL));
	require_eq(tsr_bo_info(&dev, &bos[1]).segment, 0);

	tsr_pci_unbind();
	require(!tsr_fence_signalled(fence));
	tsr_cmd_init(&cmd);
	file_is_dead(&dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
	tsr_pci_bind();
	tsr_sw_sync_signal(timeline);
	tsr_close(&dev);
	close(fence);
	close(timeline);
}

/*
 * The pages of an object are DMA-unmapped, although its reservation has a
 * foreign fence that has not signalled.
 */
static void unmaps_behind_a_fence(bool destroyed)
{
	struct tsr_device dev = (tsr_pci_begin(), tsr_open());
	int timeline = tsr_sw_sync_new(&fence), dmabuf;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), mappable);
	uint64_t left;

	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &bo, 1);
	dmabuf = tsr_export(&dev, &bo);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	close(dmabuf);
	if (destroyed)
		tsr_bo_free(&dev, &bo);
	tsr_pci_unbind();
	left = tsr_pci_mapped();
	require_eq(poll(&(struct pollfd){ .fd = fence, .events = POLLIN }, 1, 0), 0);
	tsr_pci_bind();
	tsr_sw_sync_signal(timeline);
	tsr_close(&dev);
	close(fence);
	close(timeline);
	require_msg(!left,
		    "0x%llx bytes stay DMA-mapped for an unbound device: pages of an object that "
		    "is %s and has an unsignalled foreign fence",
		    (unsigned long long)left,
		    destroyed ? "being destroyed" : "owned by an open file");
}

static void unmaps_the_living(void)
{
	unmaps_behind_a_fence(false);
}

static void unmaps_the_dying(void)
{
	unmaps_behind_a_fence(true);
}

#define HANG_CLIENTS 4
/* one less than would get the client banned */
#define HANGS_EACH (DRM_TESSERA_MAX_HANGS - 1)

struct hangs {
	volatile bool go;
	volatile uint32_t ready, submitted, num_signaled;
};

/* A client whose jobs exceed the timeout, one after the other. */
static void hang_until_gone(void *arg)
{
	struct hangs *hangs = arg;
	struct pollfd pollfd = { .events = POLLIN };
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 4, tsr_bit(seg), 0);
	uint32_t ctx[HANGS_EACH], sync[HANGS_EACH];
	int fds[HANGS_EACH];
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	for (uint32_t i = 0; i < 50000; i++)
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), i);
	for (uint32_t i = 0; i < HANGS_EACH; i++) {
		ctx[i] = tsr_context_new(&dev, 0);
		sync[i] = tsr_syncobj_new(&dev);
		tsr_gpu_touch(&dev, ctx[i], &bo);
	}
	__atomic_fetch_add(&hangs->ready, 1, __ATOMIC_SEQ_CST);
	tsr_wait_for(hangs->go);
	for (uint32_t i = 0; i < HANGS_EACH; i++) {
		tsr_submit(&dev, ctx[i], &cmd, 0, sync[i]);
		fds[i] = tsr_syncobj_export(&dev, sync[i]);
	}
	__atomic_fetch_add(&hangs->submitted, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < HANGS_EACH; i++) {
		pollfd.fd = fds[i];
		require_eq(poll(&pollfd, 1, -1), 1);
		__atomic_fetch_add(&hangs->num_signaled, 1, __ATOMIC_SEQ_CST);
		close(fds[i]);
	}
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/*
 * Job timeouts fire all the time while the driver is unbound, also between the
 * moment when the device counts as gone and the one when its engines cancel all
 * jobs.
 */
static void timeouts_during_unplug(void)
{
	struct hangs *hangs = tsr_shared(sizeof(*hangs));
	pid_t clients[HANG_CLIENTS];

	tsr_pci_begin();
	for (int n = 0; n < (tap_slow() ? 4 : 16); n++) {
		*hangs = (struct hangs){ 0 };
		for (int i = 0; i < HANG_CLIENTS; i++)
			clients[i] = tap_fork(hang_until_gone, hangs);
		tsr_wait_for(hangs->ready == HANG_CLIENTS);
		tsr_job_timeout(tap_slow() ? "240" : "60");
		hangs->go = true;
		tsr_wait_for(hangs->submitted == HANG_CLIENTS);
		tsr_pci_unbind();
		for (int i = 0; i < HANG_CLIENTS; i++)
			tap_join(clients[i]);
		require_eq(hangs->num_signaled, HANG_CLIENTS * HANGS_EACH);
		tsr_pci_bind();
	}
}

/* of the test, for its children */
static struct tsr_device shared;
static struct tsr_bo locked;
static uint32_t vm;

/* calls that wait for the reservation of @locked */
enum {
	SUBMIT_WHOLE,
	SUBMIT_PARTS,
	RESIDENT,
	BIND,
	LOCKERS
};

static int lock_it(uint32_t how)
{
	const struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = locked.handle,
		.address = 0x40000000,
		.range = locked.size,
	};

	switch (how) {
	case SUBMIT_WHOLE:
		return __tsr_submit_use(&shared, tsr_context_new(&shared, 0), &locked, true);
	case SUBMIT_PARTS:
		return __tsr_submit_use(
			&shared, tsr_context_new(&shared, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL),
			&locked, true);
	case RESIDENT:
		return __tsr_make_resident(shared.fd, &locked.handle, 1, 0, NULL);
	default:
		return __tsr_vm_bind(shared.fd, vm, &op, 1, 0, 0);
	}
}

static void want_lock(struct tsr_client *client)
{
	require_err(lock_it((uint32_t)client->arg), -ENODEV);
}

static void unplug_in_child(void *arg)
{
	tsr_pci_unbind();
}

/*
 * Another driver may hold the reservation of an object for any time. Here the
 * holder waits for a job that does not end before unplug begins. Unplug does not wait for calls that
 * wait for the lock; they find that the device is gone when they get it.
 */
static void waits_for_no_lock(void)
{
	struct tsr_client lockers[LOCKERS];
	struct tsr_bo_locked holder;
	uint32_t ctx, count;
	pid_t pid;

	tsr_pci_begin();
	shared = tsr_open();
	ctx = tsr_context_new(&shared, 0);
	vm = tsr_vm_new(&shared);
	locked = tsr_bo_new(&shared, KiB(64), tsr_bit(tsr_seg_gart(&shared)), 0);
	tsr_gpu_touch(&shared, ctx, &locked);
	tsr_job_timeout("300000");
	tsr_stuck_start(&shared, ctx);
	require_ok(__tsr_submit_use(&shared, ctx, &locked, true));
	tsr_bo_lock_begin(&holder, &shared, &locked);
	tsr_trace_start_waits();
	for (uint32_t i = 0; i < LOCKERS; i++) {
		tsr_client_start(&lockers[i], want_lock, i);
		tsr_wait_for(tsr_trace_waits_for_lock(lockers[i].pid));
	}
	pid = tap_fork(unplug_in_child, NULL);
	tsr_wait_for(__tsr_query(shared.fd, DRM_TESSERA_QUERY_DEVICE, 0, &count, NULL) == -ENODEV);
	tap_join(pid);
	tsr_bo_lock_end(&holder);
	for (uint32_t i = 0; i < LOCKERS; i++)
		tsr_client_join(&lockers[i]);
	tsr_engine_release();
	tsr_close(&shared);
	tsr_pci_bind();
}

static const struct tap_test tests[] = {
	{ "unplug while job timeouts fire", timeouts_during_unplug, TSR_NO_DEVICE, 180 },
	{ "unplug with jobs and mappings", with_jobs_and_mappings, TSR_NO_DEVICE, 60 },
	{ "unplug does not wait for calls that wait for a lock", waits_for_no_lock, TSR_NO_DEVICE,
	  60 },
	{ "unplug under paging load", under_paging_load, TSR_NO_DEVICE, 90 },
	{ "unplug while a client waits for a foreign fence", behind_a_foreign_fence, TSR_NO_DEVICE,
	  60 },
	{ "unplug DMA-unmaps live objects with a foreign fence", unmaps_the_living, TSR_NO_DEVICE,
	  60 },
	{ "unplug DMA-unmaps destroyed objects with a foreign fence", unmaps_the_dying,
	  TSR_NO_DEVICE, 60 },
	{ "unplug with a foreign fence at objects", behind_a_fence_at_an_object, TSR_NO_DEVICE,
	  90 },
	{ "unbind and bind, files open or not", again_and_again, TSR_NO_DEVICE, 90 },
};

TSR_TEST_MAIN(tests)
