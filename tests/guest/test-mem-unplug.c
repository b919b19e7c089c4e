// SPDX-License-Identifier: MIT
/*
 * Unplug of the device with mapped and resident objects: CPU mappings show a
 * dummy page, calls return -ENODEV, everything can be closed, and the device
 * can be bound again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign.h"
#include "memory.h"
#include "pci.h"
#include "stall.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

struct world {
	struct tsr_device dev;
	struct tsr_bo bar, system, gart, kept, hidden;
	uint32_t ctx;
};

/*
 * Use the debugfs directory with the PCI name: the minor number changes when
 * the device comes back.
 */
static void keep_copies(const char *value)
{
	char path[128];

	tsr_debugfs(); /* mounts debugfs */
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%s/keep_system_copy", tsr_pci_slot());
	require_ok(tsr_write_file(path, value));
}

static void make_world(struct world *w)
{
	const struct drm_tessera_query_segment *seg, *gart, *hidden;

	w->dev = tsr_open();
	seg = tsr_seg_visible(&w->dev);
	gart = tsr_seg_gart(&w->dev);
	hidden = tsr_seg_hidden(&w->dev);
	w->ctx = tsr_context_new(&w->dev, 0);
	w->bar = tsr_bo_new(&w->dev, MiB(2), tsr_bit(seg), cpu);
	w->system = tsr_bo_new(&w->dev, MiB(2), tsr_bit(seg), cpu | DRM_TESSERA_BO_CPU_CACHED);
	w->gart = tsr_bo_new(&w->dev, MiB(2), tsr_bit(gart), cpu);
	w->kept = tsr_bo_new(&w->dev, MiB(2), tsr_bit(seg), cpu);
	w->hidden = tsr_bo_new(&w->dev, MiB(8), tsr_bit(hidden), 0);
	tsr_bo_map(&w->dev, &w->system);
	tsr_pattern_write(&w->system, 2);
	tsr_gpu_fill(&w->dev, w->ctx, &w->bar, 1);
	tsr_gpu_fill(&w->dev, w->ctx, &w->gart, 3);
	tsr_gpu_fill(&w->dev, w->ctx, &w->hidden, 4);
	tsr_bo_map(&w->dev, &w->bar);
	tsr_bo_map(&w->dev, &w->gart);
	tsr_words_check(w->bar.map, w->bar.size / 4, 1);
	tsr_words_check(w->gart.map, w->gart.size / 4, 3);
	/* Keep a system copy beside the resident object. */
	keep_copies("1");
	tsr_bo_map(&w->dev, &w->kept);
	tsr_pattern_write(&w->kept, 5);
	tsr_gpu_touch(&w->dev, w->ctx, &w->kept);
	keep_copies("0");
}

/* Access each page. No signal may come; the written values need not persist. */
static void poke(const struct tsr_bo *bo)
{
	volatile uint32_t *words = bo->map;

	for (uint64_t i = 0; i < bo->size / 4; i += 1024) {
		(void)words[i];
		words[i] = (uint32_t)i;
	}
}

static void check_gone(struct world *w)
{
	struct drm_tessera_bo_create args = { .size = 4096, .supported = 2 };
	struct drm_tessera_bo_info info;

	poke(&w->bar);
	poke(&w->system);
	poke(&w->gart);
	poke(&w->kept);
	require(__tsr_bo_create(w->dev.fd, &args) == -ENODEV);
	require(__tsr_bo_info(w->dev.fd, w->bar.handle, &info) == -ENODEV);
	tsr_bo_unmap(&w->bar);
	close(w->dev.fd);
	poke(&w->kept);
}

static void idle_device_goes(void)
{
	struct world w;

	tsr_pci_begin();
	make_world(&w);
	tsr_pci_unbind();
	check_gone(&w);
	tsr_pci_bind();
}

static void busy_device_goes(void)
{
	struct world w;

	tsr_pci_begin();
	make_world(&w);
	for (uint32_t i = 0; i < 8; i++) {
		struct tsr_cmd cmd;
		struct tsr_bo bo =
			tsr_bo_new(&w.dev, MiB(6), tsr_bit(tsr_seg_visible(&w.dev)), cpu);

		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		for (uint32_t n = 0; n < 16; n++)
			tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), n);
		tsr_submit(&w.dev, w.ctx, &cmd, 0, 0);
		tsr_cmd_fini(&cmd);
		if (i & 1)
			tsr_bo_free(&w.dev, &bo);
	}
	tsr_pci_unbind();
	check_gone(&w);
	tsr_pci_bind();
}

static void child(void *arg)
{
	struct tsr_bo *bo = arg;

	for (;;)
		poke(bo);
}

/* CPU faults race with the unbind, repeatedly. */
static void faults_race_with_unplug(void)
{
	tsr_pci_begin();
	for (int i = 0; i < (tap_slow() ? 2 : 6); i++) {
		struct world w;
		pid_t pid;

		make_world(&w);
		pid = tap_fork(child, &w.bar);
		usleep(20000);
		tsr_pci_unbind();
		usleep(20000);
		require(!kill(pid, 9) && waitpid(pid, NULL, 0) == pid);
		check_gone(&w);
		tsr_pci_bind();
	}
}

/* Unbind while another device has pages attached. */
static void attached_device_goes(void)
{
	int vgem = tsr_vgem_need(), dmabuf;
	uint32_t theirs[2], other;
	struct world w;

	tsr_pci_begin();
	make_world(&w);
	dmabuf = tsr_export(&w.dev, &w.gart);
	tsr_import_wait(vgem, dmabuf, &theirs[0]);
	tsr_gpu_fill(&w.dev, w.ctx, &w.gart, 6);
	w.hidden = tsr_bo_new(&w.dev, MiB(1), tsr_bit(tsr_seg_gart(&w.dev)), cpu);
	tsr_import_wait(vgem, tsr_export(&w.dev, &w.hidden), &theirs[1]);
	tsr_pci_unbind();
	/*
	 * Attached importers may keep or release the pages; new imports fail.
	 */
	require_ok(__tsr_bo_close(vgem, theirs[1]));
	close(vgem);
	vgem = tsr_vgem_open();
	require_err(__tsr_import(vgem, dmabuf, &other), -ENODEV);
	close(dmabuf);
	check_gone(&w);
	tsr_pci_bind();

	/* The importer also outlives all files of the device. */
	make_world(&w);
	dmabuf = tsr_export(&w.dev, &w.gart);
	tsr_import_wait(vgem, dmabuf, &other);
	close(dmabuf);
	tsr_pci_unbind();
	check_gone(&w);
	tsr_pci_bind();
	close(vgem);
}

struct attacher {
	int dmabuf;
	volatile uint32_t count;
	volatile bool gone;
};

static void attach_until_gone(void *arg)
{
	struct attacher *attacher = arg;
	int vgem = tsr_vgem_open(), rc;
	uint32_t theirs;

	while (!attacher->gone) {
		rc = __tsr_import(vgem, attacher->dmabuf, &theirs);
		attacher->count++;
		/* -EBUSY: the page-in took too long */
		require(!rc || rc == -ENODEV || rc == -EIO || rc == -EBUSY);
		if (!rc)
			require_ok(__tsr_bo_close(vgem, theirs));
	}
	close(vgem);
}

static void attaching_races_with_unplug(void)
{
	struct attacher *attacher = tsr_shared(sizeof(*attacher));
	struct drm_tessera_bo_create args = {
		.size = MiB(4),
		.flags = cpu,
		.num_preferred = 1,
	};
	int vgem = tsr_vgem_need();

	close(vgem);
	tsr_pci_begin();
	for (int i = 0; i < (tap_slow() ? 2 : 6); i++) {
		struct world w;
		struct tsr_bo bo = { .size = args.size };
		uint32_t before;
		pid_t pid;

		make_world(&w);
		args.preferred[0] = (uint8_t)tsr_seg_visible(&w.dev)->id;
		args.supported = tsr_bit(tsr_seg_visible(&w.dev)) | tsr_bit(tsr_seg_gart(&w.dev));
		require_ok(__tsr_bo_create(w.dev.fd, &args));
		bo.handle = args.handle;
		attacher->dmabuf = tsr_export(&w.dev, &bo);
		attacher->gone = false;
		before = attacher->count;
		pid = tap_fork(attach_until_gone, attacher);
		tsr_wait_for(attacher->count != before);
		tsr_gpu_fill(&w.dev, w.ctx, &bo, 1);
		tsr_pci_unbind();
		before = attacher->count;
		tsr_wait_for(attacher->count != before);
		attacher->gone = true;
		tap_join(pid);
		close(attacher->dmabuf);
		check_gone(&w);
		tsr_pci_bind();
	}
}

#define DUMMY_MAPPINGS (tap_slow() ? 4096u : 8192u)

/*
 * After an unplug all mappings of an object show the same dummy page, however
 * often it is mapped.
 */
static void dummy_pages_are_few(void)
{
	struct world w;
	uint64_t before, after;
	int dmabuf;

	tsr_pci_begin();
	make_world(&w);
	dmabuf = tsr_export(&w.dev, &w.gart);
	tsr_pci_unbind();
	poke(&w.gart);
	before = tsr_meminfo("MemAvailable");
	for (uint32_t i = 0; i < DUMMY_MAPPINGS; i++) {
		volatile uint32_t *word =
			mmap(NULL, KiB(4), PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);

		require(word != MAP_FAILED);
		word[0] = i;
		munmap((void *)word, KiB(4));
	}
	after = tsr_meminfo("MemAvailable");
	require_msg(after + DUMMY_MAPPINGS * KiB(4) / 2 > before,
		    "%llu KiB used for %u mappings of one object",
		    (unsigned long long)(before - after) >> 10, DUMMY_MAPPINGS);
	close(dmabuf);
	check_gone(&w);
	tsr_pci_bind();
}

static const struct tap_test tests[] = {
	{ "SWZ-14 mappings stay valid after an idle device is unbound", idle_device_goes,
	  TSR_NO_DEVICE, 0 },
	{ "a busy device is unbound and bound again", busy_device_goes, TSR_NO_DEVICE, 0 },
	{ "SWZ-14 one dummy page for an object", dummy_pages_are_few, TSR_NO_DEVICE, 0 },
	{ "faults race with unplug", faults_race_with_unplug, TSR_NO_DEVICE, 0 },
	{ "the device is unbound while another device has its pages", attached_device_goes,
	  TSR_NO_DEVICE, 0 },
	{ "attaching races with unplug", attaching_races_with_unplug, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
