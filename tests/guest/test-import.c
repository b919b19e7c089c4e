// SPDX-License-Identifier: MIT
/*
 * Imported pages: from vgem, another driver, and from a second device of this
 * driver. Jobs must read and write them through apertures, and exporter and
 * importer may close or go away in any order.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "call.h"
#include "foreign.h"
#include "held.h"
#include "pci.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

#define WORDS (MiB(1) / 4)

/*
 * True on kernels with move_notify, where importers are dynamic
 * (test-dynamic.c).
 */
static bool moves_are_told(void)
{
	return tap_slow();
}

/* A vgem buffer and its import in this device. */
struct theirs {
	int vgem, dmabuf;
	uint32_t handle;
	uint32_t *map; /* vgem's mapping */
	struct tsr_bo bo;
};

static uint32_t import(struct tsr_device *dev, int dmabuf)
{
	uint32_t handle;

	tsr_import_wait(dev->fd, dmabuf, &handle);
	return handle;
}

static struct theirs theirs_new(struct tsr_device *dev)
{
	struct drm_mode_create_dumb dumb = { .width = 512, .height = 512, .bpp = 32 };
	struct theirs theirs = { .vgem = tsr_vgem_need() };
	struct drm_mode_map_dumb map = { 0 };

	require_ok(tsr_ioctl(theirs.vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	theirs.handle = map.handle = dumb.handle;
	require_ok(tsr_ioctl(theirs.vgem, DRM_IOCTL_MODE_MAP_DUMB, &map));
	theirs.map = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.vgem,
			  (off_t)map.offset);
	require(theirs.map != MAP_FAILED);
	theirs.dmabuf = tsr_export_flags(theirs.vgem, dumb.handle, DRM_CLOEXEC | DRM_RDWR);
	theirs.bo = (struct tsr_bo){ .handle = import(dev, theirs.dmabuf), .size = dumb.size };
	require_eq(dumb.size, MiB(1));
	return theirs;
}

static void theirs_free(struct theirs *theirs)
{
	munmap(theirs->map, theirs->bo.size);
	close(theirs->dmabuf);
	close(theirs->vgem);
}

/*
 * Patched jobs read and write imported pages, also after they were evicted and
 * bound to the aperture again.
 */
static void patched_jobs(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_seg_gart(&dev)->id, word;
	struct theirs theirs = theirs_new(&dev);

	require_eq(import(&dev, theirs.dmabuf), theirs.bo.handle);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_gpu_fill(&dev, ctx, &theirs.bo, round);
		require_eq(tsr_bo_info(&dev, &theirs.bo).segment, gart);
		tsr_words_check(theirs.map, WORDS, round);
		theirs.map[WORDS - 1] = round + 10;
		tsr_evict_set(1u << gart);
		require_eq(tsr_bo_info(&dev, &theirs.bo).segment, 0);
		tsr_gpu_read(&dev, ctx, &theirs.bo, WORDS - 1, 1, &word);
		require_eq(word, round + 10);
	}
	theirs_free(&theirs);
	tsr_close(&dev);
}

/* Jobs at virtual addresses use imported pages, too. */
static void vm_jobs(void)
{
	struct tsr_device dev = tsr_open();
	struct theirs theirs = theirs_new(&dev);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = theirs.bo;

	tsr_vm_place(&vm, &bo);
	tsr_vm_map(&dev, vm.id, &bo, 0, 0x40000000, bo.size, 0);
	tsr_vm_fill(&vm, 0x40000000, bo.size, 0x77777777);
	tsr_words_check(theirs.map, WORDS, 0x77777777);
	tsr_vm_close(&vm);
	theirs_free(&theirs);
	tsr_close(&dev);
}

/*
 * Imported pages cannot be placed in video memory, offered or locked, and they
 * do not count as the importer's memory.
 */
static void they_stay_theirs(void)
{
	struct tsr_device dev = tsr_open();
	int64_t before = tsr_fdinfo(&dev, "drm-total-gart");
	struct theirs theirs = theirs_new(&dev);
	struct drm_tessera_bo_info info = tsr_bo_info(&dev, &theirs.bo);
	struct drm_tessera_offer_bo offered = { .handle = theirs.bo.handle };
	struct drm_tessera_offer offer = {
		.bos = { .stride = sizeof(offered), .count = 1, .array = (uintptr_t)&offered },
		.priority = DRM_TESSERA_OFFER_LOW,
	};
	struct drm_tessera_lock lock = { .handle = theirs.bo.handle };
	uint32_t *map;

	require_eq(info.supported, tsr_bit(tsr_seg_gart(&dev)) | tsr_bit(tsr_seg_ro(&dev)));
	require_eq(info.flags, 0);
	require_eq(info.size, theirs.bo.size);
	require_eq(tsr_fdinfo(&dev, "drm-total-gart"), before);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_OFFER, &offer), -EINVAL);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_LOCK, &lock), -EPERM);

	/*
	 * A mapping through this device is a mapping of the exporter's pages.
	 */
	map = mmap(NULL, theirs.bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, dev.fd,
		   (off_t)info.mmap_offset);
	require(map != MAP_FAILED);
	map[7] = 0x12345678;
	require_eq(theirs.map[7], 0x12345678);
	theirs_free(&theirs);
	require_ok(__tsr_bo_close(dev.fd, theirs.bo.handle));
	tsr_close(&dev);
	require_eq(map[7], 0x12345678);
	munmap(map, theirs.bo.size);
}

struct closing {
	int fd;
	uint32_t handle;
};

static void close_import(void *arg)
{
	const struct closing *closing = arg;

	require_ok(__tsr_bo_close(closing->fd, closing->handle));
}

/*
 * Close an import that LOCK2 has locked, while another thread holds the
 * reservation of the buffer, as its exporter may do. The call does not wait.
 */
static void close_does_not_wait(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct theirs theirs = theirs_new(&dev);
	struct closing closing = { .fd = dev.fd, .handle = theirs.bo.handle };
	struct tsr_bo_locked holder;
	struct tsr_stuck stuck;
	struct tsr_call call;
	uint64_t offset;

	tsr_gpu_touch(&dev, ctx, &theirs.bo);
	require_ok(__tsr_lock2(dev.fd, theirs.bo.handle, 0, &offset));
	stuck = tsr_stuck_start(&dev, ctx);
	require_ok(__tsr_submit_use(&dev, ctx, &theirs.bo, false));
	tsr_bo_lock_begin(&holder, &dev, &theirs.bo);
	tsr_call_start(&call, close_import, &closing);
	tsr_wait_for(call.returned);
	tsr_call_join(&call);
	tsr_stuck_end(&stuck);
	tsr_bo_lock_end(&holder);
	theirs_free(&theirs);
	tsr_close(&dev);
}

/* Exporter and importer can close in any order. */
static void either_closes_first(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct theirs theirs = theirs_new(&dev);

	close(theirs.dmabuf);
	close(theirs.vgem);
	tsr_gpu_fill(&dev, ctx, &theirs.bo, 5);
	tsr_words_check(theirs.map, WORDS, 5);
	munmap(theirs.map, theirs.bo.size);
	tsr_gpu_read(&dev, ctx, &theirs.bo, 9, 1, &word);
	require_eq(word, 5);
	require_ok(__tsr_bo_close(dev.fd, theirs.bo.handle));

	theirs = theirs_new(&dev);
	tsr_gpu_fill(&dev, ctx, &theirs.bo, 6);
	tsr_close(&dev);
	tsr_words_check(theirs.map, WORDS, 6);
	theirs_free(&theirs);
}

/*
 * Jobs add their fences to the dma-buf's reservation, and wait for the foreign
 * fences there.
 */
static void fences_go_both_ways(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct theirs theirs = theirs_new(&dev);
	struct pollfd pollfd = { .fd = theirs.dmabuf, .events = POLLOUT };
	struct tsr_held held;
	int fence;

	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &theirs.bo, 1);
	fence = tsr_foreign_fence(foreign);
	tsr_dmabuf_put_fence(theirs.dmabuf, fence, DMA_BUF_SYNC_WRITE);
	require_err(__tsr_bo_wait(dev.fd, theirs.bo.handle, 0, 0), -EBUSY);
	tsr_foreign_signal(foreign, 0);
	require_ok(__tsr_bo_wait(dev.fd, theirs.bo.handle, 0, INT64_MAX));
	close(fence);

	/* A queued job's fence is visible at the dma-buf. */
	held = tsr_held_open(&dev);
	tsr_held_fill(&held, &theirs.bo, WORDS, 2);
	require_eq(poll(&pollfd, 1, 0), 0);
	tsr_held_go(&held);
	require_eq(poll(&pollfd, 1, -1), 1);
	tsr_words_check(theirs.map, WORDS, 2);
	tsr_held_close(&held);
	tsr_foreign_close(foreign);
	theirs_free(&theirs);
	tsr_close(&dev);
}

/*
 * Unbind the importer: its jobs end, and the exporter keeps the pages and their
 * contents.
 */
static void importer_goes(void)
{
	struct theirs theirs;
	struct tsr_device dev;

	tsr_pci_begin();
	dev = tsr_pci_open();
	theirs = theirs_new(&dev);
	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &theirs.bo, 8);
	tsr_pci_unbind();
	require_err(__tsr_bo_wait(dev.fd, theirs.bo.handle, 0, 0), -ENODEV);
	tsr_words_check(theirs.map, WORDS, 8);
	tsr_pci_bind();
	tsr_close(&dev);
	tsr_words_check(theirs.map, WORDS, 8);
	theirs_free(&theirs);
}

static bool any_device_attached(void)
{
	char *text = tsr_read_file("/sys/kernel/debug/dma_buf/bufinfo");
	bool attached;

	require(text);
	attached = strstr(text, "Total 1 devices attached");
	free(text);
	return attached;
}

/*
 * Unbind the importer while a foreign fence at the imported buffer is
 * unsignalled: it must detach without waiting for the fence. Its own objects
 * must be DMA-unmapped as well, or the debug kernel complains.
 */
static void importer_goes_before_others(void)
{
	struct pollfd pollfd = { .events = POLLIN };
	struct tsr_device dev;
	struct theirs theirs;
	int timeline, dmabuf;
	struct tsr_bo ours;
	uint32_t ctx;

	tsr_pci_begin();
	timeline = tsr_sw_sync_new(&pollfd.fd);
	dev = tsr_pci_open();
	theirs = theirs_new(&dev);
	ctx = tsr_context_new(&dev, 0);
	tsr_gpu_fill(&dev, ctx, &theirs.bo, 8);
	tsr_dmabuf_put_fence(theirs.dmabuf, pollfd.fd, DMA_BUF_SYNC_WRITE);
	ours = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&dev, ctx, &ours, 9);
	dmabuf = tsr_export(&dev, &ours);
	tsr_dmabuf_put_fence(dmabuf, pollfd.fd, DMA_BUF_SYNC_WRITE);
	require(any_device_attached());
	tsr_pci_unbind();
	require(!any_device_attached());
	require_eq(poll(&pollfd, 1, 0), 0);
	tsr_words_check(theirs.map, WORDS, 8);
	tsr_pci_bind();
	tsr_sw_sync_signal(timeline);
	close(dmabuf);
	tsr_close(&dev);
	theirs_free(&theirs);
	close(pollfd.fd);
	close(timeline);
}

struct importer {
	int fd, dmabuf, rc;
	bool done;
	bool enough;
};

static void import_and_keep(void *arg)
{
	volatile struct importer *importer = arg;
	uint32_t handle;

	importer->rc = __tsr_import(importer->fd, importer->dmabuf, &handle);
	importer->done = true;
	tsr_wait_for(importer->enough);
}

static void unbind(void *arg)
{
	(void)arg;
	tsr_pci_unbind();
}

/*
 * Unbind the importer while it waits for the exporter's move: nothing may stay
 * attached.
 */
static void importing_races_with_unplug(void)
{
	volatile struct importer *importer = tsr_shared(sizeof(*importer));
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_device a, b;
	pid_t pids[2];
	struct tsr_bo bo;
	uint32_t count;

	tsr_pci_begin();
	a = tsr_pci_open();
	b = tsr_pci_other(&a);
	bo = tsr_bo_new(&b, MiB(1), tsr_bit(tsr_seg_visible(&b)) | tsr_bit(tsr_seg_gart(&b)),
			DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&b, tsr_context_new(&b, 0), &bo, 7);
	importer->fd = a.fd;
	importer->dmabuf = tsr_export(&b, &bo);
	tsr_dmabuf_put_fence(importer->dmabuf, tsr_foreign_fence(foreign), DMA_BUF_SYNC_WRITE);

	/*
	 * The import either asks for the move and waits up to two seconds, or
	 * attaches without pages (move_notify).
	 */
	pids[0] = tap_fork(import_and_keep, (void *)importer);
	tsr_wait_for(importer->done || tsr_bo_info(&b, &bo).segment != tsr_seg_visible(&b)->id);
	pids[1] = tap_fork(unbind, NULL);
	tsr_wait_for(__tsr_query(a.fd, DRM_TESSERA_QUERY_DEVICE, 0, &count, NULL) == -ENODEV);
	tsr_foreign_signal(foreign, 0);
	tap_join(pids[1]);
	tsr_wait_for(importer->done);
	require(!any_device_attached());
	if (importer->rc)
		tap_note("the import failed: %d", importer->rc);
	importer->enough = true;
	tap_join(pids[0]);
	tsr_close(&a);
	tsr_pci_bind();
	close(importer->dmabuf);
	tsr_close(&b);
	tsr_foreign_close(foreign);
}

/* A child evicts the import of one file, which waits for a held job. */
static struct tsr_held moved_behind_others(struct tsr_device *dev, struct theirs *theirs,
					   pid_t *mover)
{
	struct tsr_held held = tsr_held_open(dev);

	*theirs = theirs_new(dev);
	tsr_held_fill(&held, &theirs->bo, WORDS, 4);
	*mover = tsr_push_out(dev);
	tsr_wait_for(tsr_bo_info(dev, &theirs->bo).segment == 0);
	return held;
}

/*
 * Another device's move delays the pages. The import must wait with no lock
 * held, so that its device can be unbound meanwhile.
 */
static void importing_holds_nothing(void)
{
	volatile struct importer *importer = tsr_shared(sizeof(*importer));
	struct theirs theirs;
	struct tsr_device a, b;
	struct tsr_held held;
	pid_t pid, mover;

	tsr_pci_begin();
	a = tsr_pci_open();
	b = tsr_pci_other(&a);
	held = moved_behind_others(&b, &theirs, &mover);
	tsr_knob("attach_ms", "2000");
	importer->fd = a.fd;
	importer->dmabuf = theirs.dmabuf;
	pid = tap_fork(import_and_keep, (void *)importer);
	tsr_wait_for(importer->done || tsr_waits(pid));
	tsr_pci_unbind();
	require(tsr_held_waits(&held));
	tsr_wait_for(importer->done);
	require(importer->rc == -EBUSY || importer->rc == -ENODEV ||
		(moves_are_told() && !importer->rc));
	importer->enough = true;
	tap_join(pid);
	tsr_held_go(&held);
	tap_join(mover);
	tsr_bo_wait(&b, &theirs.bo);
	tsr_close(&a);
	tsr_pci_bind();
	tsr_held_close(&held);
	tsr_close(&b);
	theirs_free(&theirs);
}

/*
 * An import fails with -EBUSY while the pages are delayed, unless it needs no
 * pages yet (move_notify). Once the pages have arrived it succeeds.
 */
static void pages_come_late(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct theirs theirs;
	uint32_t handle, word;
	struct tsr_held held;
	pid_t mover;

	held = moved_behind_others(&dev, &theirs, &mover);
	tsr_knob("attach_ms", "100");
	if (moves_are_told())
		require_ok(__tsr_import(other.fd, theirs.dmabuf, &handle));
	else
		require_err(__tsr_import(other.fd, theirs.dmabuf, &handle), -EBUSY);
	require_eq(import(&dev, theirs.dmabuf), theirs.bo.handle);
	tsr_held_go(&held);
	tap_join(mover);
	tsr_bo_wait(&dev, &theirs.bo);
	tsr_knob("attach_ms", TSR_FOR_GOOD);
	theirs.bo.handle = import(&other, theirs.dmabuf);
	tsr_gpu_read(&other, tsr_context_new(&other, 0), &theirs.bo, 11, 1, &word);
	require_eq(word, 4);
	theirs_free(&theirs);
	tsr_held_close(&held);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * Close an object that has pages and a foreign fence. No job of the device
 * waits for that fence.
 */
static void close_behind(struct tsr_device *dev, int fence)
{
	struct tsr_bo bo =
		tsr_bo_new(dev, MiB(1), tsr_bit(tsr_seg_gart(dev)), DRM_TESSERA_BO_CPU_ACCESS);
	int dmabuf;

	tsr_bo_map(dev, &bo);
	tsr_pattern_write(&bo, 9);
	tsr_bo_unmap(&bo);
	dmabuf = tsr_export(dev, &bo);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	require_ok(__tsr_bo_close(dev->fd, bo.handle));
	close(dmabuf);
}

/*
 * Closed objects with foreign fences, imported or own, must not block unbind
 * forever.
 */
static void closed_before_others(void)
{
	struct pollfd pollfd = { .events = POLLIN };
	struct theirs theirs;
	struct tsr_device dev;
	int timeline;

	tsr_pci_begin();
	timeline = tsr_sw_sync_new(&pollfd.fd);
	dev = tsr_pci_open();
	theirs = theirs_new(&dev);
	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &theirs.bo, 8);
	tsr_dmabuf_put_fence(theirs.dmabuf, pollfd.fd, DMA_BUF_SYNC_WRITE);
	close_behind(&dev, pollfd.fd);
	/* Close the file, too: nothing else keeps the device then. */
	tsr_close(&dev);
	tsr_pci_unbind();
	require_eq(poll(&pollfd, 1, 0), 0);
	require(!any_device_attached());
	tsr_words_check(theirs.map, WORDS, 8);
	tsr_pci_bind();
	tsr_sw_sync_signal(timeline);
	theirs_free(&theirs);
	close(pollfd.fd);
	close(timeline);
}

/*
 * The same for objects that are closed after the unbind: neither call waits for
 * a foreign fence.
 */
static void closed_meanwhile(void)
{
	struct pollfd pollfds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct theirs theirs;
	struct tsr_device dev;
	int timelines[2];

	tsr_pci_begin();
	for (uint32_t i = 0; i < 2; i++)
		timelines[i] = tsr_sw_sync_new(&pollfds[i].fd);
	dev = tsr_pci_open();
	theirs = theirs_new(&dev);
	tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &theirs.bo, 8);
	tsr_dmabuf_put_fence(theirs.dmabuf, pollfds[0].fd, DMA_BUF_SYNC_WRITE);
	close_behind(&dev, pollfds[1].fd);
	tsr_pci_unbind();
	require(!any_device_attached());
	tsr_close(&dev);
	require_eq(poll(pollfds, 2, 0), 0);
	tsr_words_check(theirs.map, WORDS, 8);
	tsr_pci_bind();
	for (uint32_t i = 0; i < 2; i++)
		tsr_sw_sync_signal(timelines[i]);
	theirs_free(&theirs);
	for (uint32_t i = 0; i < 2; i++) {
		close(pollfds[i].fd);
		close(timelines[i]);
	}
}

/*
 * A submission in a thread, because it waits for another device, and its
 * out-fence.
 */
struct job {
	struct tsr_device *dev;
	uint32_t ctx, done;
	const struct tsr_cmd *cmd;
};

static void job_call(void *arg)
{
	struct job *job = arg;

	tsr_submit(job->dev, job->ctx, job->cmd, 0, job->done);
	require_ok(tsr_syncobj_status(job->dev, job->done));
}

/*
 * A job depends on two jobs of one context of the other device, at two objects.
 * It must wait for the second although the first has the same fence context.
 */
static void later_jobs_of_another(void)
{
	struct tsr_device a = tsr_open(), b = tsr_pci_other(&a);
	uint32_t ctx_a = tsr_context_new(&a, 0), ctx_b = tsr_context_new(&b, 0);
	struct tsr_held held[] = {
		tsr_held_open(&b),
		tsr_held_open_on(&b, tsr_further_engine(&b, 1)),
	};
	struct tsr_bo out =
		tsr_bo_new(&a, KiB(4), tsr_bit(tsr_seg_visible(&a)), DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo bos[2], there[2];
	struct tsr_cmd cmd;
	struct job job = { .dev = &a, .ctx = ctx_a, .done = tsr_syncobj_new(&a), .cmd = &cmd };
	struct tsr_call call;
	int dmabufs[2];

	for (uint32_t i = 0; i < 2; i++) {
		bos[i] = tsr_bo_new(&b, KiB(4), tsr_bit(tsr_seg_gart(&b)),
				    DRM_TESSERA_BO_CPU_ACCESS);
		tsr_gpu_fill(&b, ctx_b, &bos[i], 1);
		dmabufs[i] = tsr_export(&b, &bos[i]);
		there[i] = (struct tsr_bo){ .handle = import(&a, dmabufs[i]), .size = KiB(4) };
		tsr_gpu_touch(&a, ctx_a, &there[i]);
		tsr_gpu_touch(&b, ctx_b, &bos[i]);
	}
	tsr_gpu_touch(&a, ctx_a, &out);
	for (uint32_t i = 0; i < 2; i++) {
		held[i].ctx = ctx_b;
		tsr_held_fill(&held[i], &bos[i], 16, 5 + i);
	}
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &out, true);
	for (uint32_t i = 0; i < 2; i++) {
		tsr_cmd_bind_buffer(&cmd, 1 + i, &there[i], false);
		tsr_cmd_copy(&cmd, 0, 16 * i, 1 + i, 0, 16);
	}
	tsr_call_start(&call, job_call, &job);
	tsr_wait_for(call.returned || tsr_call_waits(&call, "foreign"));
	tsr_held_go(&held[0]);
	/* Meanwhile this device runs other jobs. */
	for (uint32_t i = 0; i < 4; i++)
		tsr_gpu_blit(&a, tsr_context_new(&a, 0));
	require(!call.returned);
	require(tsr_held_waits(&held[1]));
	tsr_held_go(&held[1]);
	tsr_call_join(&call);
	tsr_bo_map(&a, &out);
	for (uint32_t i = 0; i < 2; i++) {
		tsr_words_check((uint32_t *)out.map + 16 * i, 16, 5 + i);
		close(dmabufs[i]);
		tsr_held_close(&held[i]);
	}
	tsr_cmd_fini(&cmd);
	tsr_close(&b);
	tsr_close(&a);
}

/* Share an object between two devices of this driver. */
static void second_device(void)
{
	struct tsr_device a, b;
	uint32_t ctx_a, ctx_b, word;
	struct tsr_bo bo, there;
	int dmabuf;

	a = tsr_open();
	b = tsr_pci_other(&a);
	ctx_a = tsr_context_new(&a, 0);
	ctx_b = tsr_context_new(&b, 0);
	bo = tsr_bo_new(&a, MiB(1), tsr_bit(tsr_seg_visible(&a)) | tsr_bit(tsr_seg_gart(&a)),
			DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&a, ctx_a, &bo, 0xabcdef01);
	require_eq(tsr_bo_info(&a, &bo).segment, tsr_seg_visible(&a)->id);
	dmabuf = tsr_export(&a, &bo);
	there = (struct tsr_bo){ .handle = import(&b, dmabuf), .size = bo.size };
	require_eq(tsr_bo_info(&a, &bo).segment, moves_are_told() ? tsr_seg_visible(&a)->id : 0);
	tsr_gpu_read(&b, ctx_b, &there, 1000, 1, &word);
	require_eq(word, 0xabcdef01);
	tsr_gpu_fill(&b, ctx_b, &there, 0x10fedcba);
	tsr_gpu_read(&a, ctx_a, &bo, 1000, 1, &word);
	require_eq(word, 0x10fedcba);
	require_eq(tsr_bo_info(&a, &bo).segment,
		   (moves_are_told() ? tsr_seg_visible(&a) : tsr_seg_gart(&a))->id);

	/* After the detach the object may move freely again. */
	close(dmabuf);
	require_ok(__tsr_bo_close(b.fd, there.handle));
	tsr_close(&b);
	tsr_close(&a);
}

/*
 * Unbind the exporter while the other device uses its pages: queued and new
 * jobs of the importer still work, but new imports fail.
 */
static void exporter_goes(void)
{
	struct tsr_device a, b, file;
	uint32_t ctx, handle, word;
	struct tsr_bo bo, there, own;
	struct tsr_held held;
	struct pollfd pages;
	int dmabuf;

	tsr_pci_begin();
	a = tsr_pci_open();
	b = tsr_pci_other(&a);
	ctx = tsr_context_new(&b, 0);
	bo = tsr_bo_new(&a, MiB(1), tsr_bit(tsr_seg_visible(&a)) | tsr_bit(tsr_seg_gart(&a)), 0);
	dmabuf = tsr_export(&a, &bo);
	pages = (struct pollfd){ .fd = dmabuf, .events = POLLIN };
	there = (struct tsr_bo){ .handle = import(&b, dmabuf), .size = bo.size };
	tsr_gpu_fill(&a, tsr_context_new(&a, 0), &bo, 0x77);
	own = tsr_bo_new(&b, MiB(1), tsr_bit(tsr_seg_visible(&b)), 0);
	held = tsr_held_open(&b);
	tsr_held_copy(&held, &own, &there);
	/*
	 * Wait until the contents are in system pages: contents in the
	 * exporter's video memory would be lost.
	 */
	require(poll(&pages, 1, -1) == 1);
	tsr_pci_unbind();
	require(tsr_held_waits(&held));
	require_err(__tsr_bo_wait(a.fd, bo.handle, 0, 0), -ENODEV);
	tsr_held_go(&held);
	tsr_gpu_read(&b, ctx, &own, 4711, 1, &word);
	require_eq(word, 0x77);
	tsr_gpu_fill(&b, ctx, &there, 0x78);
	tap_join(tsr_push_out(&b));
	tsr_gpu_read(&b, ctx, &there, 4711, 1, &word);
	require_eq(word, 0x78);
	file = tsr_pci_other(&a);
	require_err(__tsr_import(file.fd, dmabuf, &handle), -ENODEV);
	tsr_close(&file);
	close(dmabuf);
	tsr_held_close(&held);
	tsr_close(&b);
	tsr_close(&a);
	tsr_pci_bind();
}

#define TAKERS 8

/*
 * Unbind the exporter while all is idle: its pages are not freed while another
 * device has them.
 */
static void exporter_goes_idle(void)
{
	struct tsr_device a, b;
	struct tsr_bo bo, there, takers[TAKERS];
	uint32_t ctx, *words;
	int dmabuf;

	tsr_pci_begin();
	a = tsr_pci_open();
	b = tsr_pci_other(&a);
	ctx = tsr_context_new(&b, 0);
	bo = tsr_bo_new(&a, MiB(1), tsr_bit(tsr_seg_gart(&a)), DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&a, tsr_context_new(&a, 0), &bo, 0x77);
	dmabuf = tsr_export(&a, &bo);
	there = (struct tsr_bo){ .handle = import(&b, dmabuf), .size = bo.size };
	tsr_gpu_touch(&b, ctx, &there);
	words = malloc(there.size);
	require(words);
	tsr_pci_unbind();
	/* These objects would get the pages if they were free. */
	for (uint32_t i = 0; i < TAKERS; i++) {
		takers[i] = tsr_bo_new(&b, there.size, tsr_bit(tsr_seg_gart(&b)), 0);
		tsr_gpu_fill(&b, ctx, &takers[i], i);
	}
	tsr_gpu_read(&b, ctx, &there, 0, WORDS, words);
	tsr_words_check(words, WORDS, 0x77);
	tsr_gpu_fill(&b, ctx, &there, 0x78);
	for (uint32_t i = 0; i < TAKERS; i++) {
		tsr_gpu_read(&b, ctx, &takers[i], 0, WORDS, words);
		tsr_words_check(words, WORDS, i);
	}
	free(words);
	close(dmabuf);
	tsr_close(&b);
	tsr_close(&a);
	tsr_pci_bind();
}

/* ---- two objects of one dma-buf ------------------------------------------ */

#define MOST_READERS 16

/*
 * Import a buffer, open it again by its flink name, close the import and import
 * the buffer again. This gives two objects with one reservation. The first
 * object keeps the flink handle.
 */
static struct tsr_bo import_twice(struct tsr_device *dev, struct theirs *theirs)
{
	struct drm_gem_flink flink = { .handle = theirs->bo.handle };
	struct drm_gem_open name = { 0 };
	struct tsr_bo again = theirs->bo;

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_GEM_FLINK, &flink));
	name.name = flink.name;
	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_GEM_OPEN, &name));
	require_ok(__tsr_bo_close(dev->fd, theirs->bo.handle));
	theirs->bo.handle = name.handle;
	again.handle = import(dev, theirs->dmabuf);
	require(again.handle != theirs->bo.handle);
	return again;
}

/*
 * Add a reader's fence of each of @count contexts to the reservation. They stay
 * unsignalled until @gate signals.
 */
static void readers_come(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t *ctx,
			 uint32_t count, uint32_t gate)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, false);
	for (uint32_t i = 0; i < count; i++)
		tsr_submit(dev, ctx[i], &cmd, gate, 0);
	tsr_cmd_fini(&cmd);
}

/*
 * One job writes through the first object and reads through the second, whole
 * or in parts, while the reservation holds the fences of @count contexts.
 */
static void listed_together(struct tsr_device *dev, uint32_t ctx, uint32_t *readers, uint32_t count)
{
	struct tsr_bo again, copy = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), 0);
	struct theirs theirs = theirs_new(dev);
	uint32_t done = tsr_syncobj_new(dev), out[16];
	struct tsr_held held = tsr_held_open(dev);
	struct tsr_cmd cmd;

	again = import_twice(dev, &theirs);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &theirs.bo, true);
	tsr_cmd_bind_buffer(&cmd, 1, &again, false);
	tsr_cmd_bind_buffer(&cmd, 2, &copy, true);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_fill(&cmd, 0, 0, 16, 5);
	tsr_cmd_copy(&cmd, 2, 0, 1, 0, 16);
	/*
	 * Both objects are bound now, so that the reservation keeps the
	 * readers' fences only.
	 */
	tsr_gpu_touch(dev, readers[0], &theirs.bo);
	tsr_gpu_touch(dev, readers[0], &again);
	readers_come(dev, &again, readers, count, held.gate);
	tsr_submit(dev, ctx, &cmd, 0, done);
	tsr_held_release(&held);
	require_ok(tsr_syncobj_status(dev, done));
	tsr_gpu_read(dev, readers[0], &copy, 0, 16, out);
	tsr_words_check(out, 16, 5);
	tsr_cmd_fini(&cmd);
	tsr_syncobj_free(dev, done);
	tsr_held_close(&held);
	tsr_bo_free(dev, &copy);
	require_ok(__tsr_bo_close(dev->fd, again.handle));
	require_ok(__tsr_bo_close(dev->fd, theirs.bo.handle));
	theirs_free(&theirs);
}

static void two_objects_of_one_buffer(void)
{
	uint32_t whole, parts, readers[MOST_READERS];
	struct tsr_device dev;
	int card = __tsr_open_primary();

	require(card >= 0);
	dev = tsr_open_fd(card);
	whole = tsr_context_new(&dev, 0);
	parts = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	for (uint32_t i = 0; i < MOST_READERS; i++)
		readers[i] = tsr_context_new(&dev, 0);
	for (uint32_t count = 0; count <= MOST_READERS; count++) {
		listed_together(&dev, whole, readers, count);
		listed_together(&dev, parts, readers, count);
	}
	tsr_close(&dev);
}

static void keep_import(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct theirs theirs = theirs_new(&dev);

	tsr_gpu_fill(&dev, ctx, &theirs.bo, 1);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	theirs_free(&theirs);
	tsr_close(&dev);
}

/*
 * The importing process is charged, although another process has imported the
 * buffer before.
 */
static void importer_pays(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_seg_gart(&dev)->id;
	struct theirs theirs;
	struct tsr_client other;
	uint64_t before;

	tsr_client_start(&other, keep_import, 0);
	tsr_wait_for(other.state->ready);
	before = tsr_query_memory(&dev, gart).client_used;
	theirs = theirs_new(&dev);
	tsr_gpu_fill(&dev, ctx, &theirs.bo, 2);
	require_eq(tsr_query_memory(&dev, gart).client_used - before, theirs.bo.size);
	other.state->stop = true;
	tsr_client_join(&other);
	theirs_free(&theirs);
	tsr_close(&dev);
}

/*
 * A process binds two imports to an aperture and evicts them. All these paging
 * jobs must go through one scheduler entity. The scheduler looks at each entity
 * with jobs whenever it selects one, so an entity per import would slow down
 * all clients' paging.
 */
static void one_queue_for_a_process(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_seg_gart(&dev)->id;
	struct theirs theirs[2] = { theirs_new(&dev), theirs_new(&dev) };
	char queue[32] = "";
	struct tsr_trace trace;
	size_t jobs = 0;

	for (int i = 0; i < 2; i++)
		tsr_gpu_fill(&dev, ctx, &theirs[i].bo, 1);
	tsr_trace_start_own("gpu_scheduler/drm_sched_job");
	tsr_evict_set(1u << gart);
	trace = tsr_trace_stop();
	for (int i = 0; i < 2; i++)
		require_eq(tsr_bo_info(&dev, &theirs[i].bo).segment, 0);
	tsr_trace_for_each(&trace, "drm_sched_job", ev) {
		if (!jobs++)
			require_msg(sscanf(ev->text, " entity=%31[0-9a-fx]", queue) == 1, "%s",
				    ev->text);
		require_msg(tsr_event_is(ev, "entity", queue), "not of %s: %s", queue, ev->text);
	}
	require(jobs >= 2);
	tsr_trace_free(&trace);
	for (int i = 0; i < 2; i++)
		theirs_free(&theirs[i]);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "patched jobs use imported pages", patched_jobs, 0, 0 },
	{ "VM jobs use imported pages", vm_jobs, 0, 0 },
	{ "imported pages belong to the exporter", they_stay_theirs, 0, 0 },
	{ "DESTROY-1 closing a locked import does not wait", close_does_not_wait, 0, 0 },
	{ "exporter or importer closes first", either_closes_first, 0, 0 },
	{ "an import exchanges fences with its exporter", fences_go_both_ways, 0, 0 },
	{ "SPLIT-2 a job lists two objects with one reservation", two_objects_of_one_buffer, 0, 0 },
	{ "paging of a process's imports goes through one queue", one_queue_for_a_process, 0, 0 },
	{ "the importing process is charged", importer_pays, 0, 0 },
	{ "two devices share an object", second_device, 0, 0 },
	{ "later jobs of another device", later_jobs_of_another, 0, 60 },
	{ "the importer is unbound", importer_goes, 0, 0 },
	{ "the importer is unbound while an import has a foreign fence",
	  importer_goes_before_others, 0, 60 },
	{ "importing races with unplug", importing_races_with_unplug, TSR_NO_DEVICE, 60 },
	{ "an import whose pages are delayed", pages_come_late, 0, 60 },
	{ "the device is unbound while an import waits for pages", importing_holds_nothing,
	  TSR_NO_DEVICE, 60 },
	{ "the device is unbound while closed objects have foreign fences", closed_before_others,
	  TSR_NO_DEVICE, 120 },
	{ "the exporter is unbound while an importer uses its pages", exporter_goes, TSR_NO_DEVICE,
	  60 },
	{ "the exporter is unbound while an idle importer has its pages", exporter_goes_idle,
	  TSR_NO_DEVICE, 60 },
	{ "objects with foreign fences are closed after the unbind", closed_meanwhile,
	  TSR_NO_DEVICE, 120 },
};

TSR_TEST_MAIN(tests)
