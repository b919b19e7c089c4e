// SPDX-License-Identifier: MIT
/*
 * Loading and unloading the driver, and unbinding the device, with files,
 * mappings, jobs and fences left over. Afterwards the driver must load, bind
 * and work again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "call.h"
#include "hang.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "tsr.h"

#define MODULE "/lib/modules/tessera.ko"
#define DRIVER "/sys/bus/pci/drivers/tessera"

static int load(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		tap_skip("no %s", MODULE);
	rc = (int)syscall(SYS_finit_module, fd, "", 0) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int unload(void)
{
	return (int)syscall(SYS_delete_module, "tessera", O_NONBLOCK) < 0 ? -errno : 0;
}

/* The last file may be released a moment after close(). */
static void unload_soon(void)
{
	int rc;

	tsr_wait_for((rc = unload()) != -EAGAIN);
	require_ok(rc);
}

/* PCI address of the bound device. */
static void bound_device(char *name, size_t size)
{
	DIR *dir = opendir(DRIVER);
	struct dirent *entry;

	require(dir);
	name[0] = 0;
	while ((entry = readdir(dir)))
		if (strchr(entry->d_name, ':'))
			snprintf(name, size, "%s", entry->d_name);
	closedir(dir);
	require_msg(name[0], "the driver is bound to no device");
}

static void bind_to(const char *name, bool bound)
{
	int rc = tsr_write_file(bound ? DRIVER "/bind" : DRIVER "/unbind", name);

	require_msg(!rc, "%s: %s", bound ? "bind" : "unbind", strerror(-rc));
}

/* Uses every segment and both engines. */
static void work(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word;

	for (uint32_t i = 0; i < dev.num_segs; i++) {
		const struct drm_tessera_query_segment *seg = &dev.segs[i];
		bool ro = seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY;
		struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg),
					      ro ? DRM_TESSERA_BO_GPU_READ_ONLY : 0);

		if (ro) {
			tsr_gpu_touch(&dev, ctx, &bo);
			continue;
		}
		tsr_gpu_fill(&dev, ctx, &bo, i + 1);
		tsr_gpu_read(&dev, ctx, &bo, 1000, 1, &word);
		require_eq(word, i + 1);
	}
	tsr_gpu_blit(&dev, ctx);
	tsr_close(&dev);
}

static uint64_t slab_bytes(void)
{
	char *text = tsr_read_file("/proc/meminfo"), *line;
	unsigned long long kib = 0;

	require(text);
	line = strstr(text, "SUnreclaim:");
	require(line && sscanf(line, "SUnreclaim: %llu", &kib) == 1);
	free(text);
	return kib << 10;
}

static void load_and_unload(void)
{
	int rounds = tap_slow() ? 4 : 12;
	struct tsr_device dev;
	uint64_t first = 0;

	for (int i = 0; i < rounds; i++) {
		work();
		unload_soon();
		require_err(__tsr_open_node(), -ENODEV);
		require_ok(load());
		/* probe must only read existing descriptors and registers */
		dev = tsr_open();
		require_eq(tsr_guest_errors(&dev), 0);
		tsr_close(&dev);
		if (i == 1)
			first = slab_bytes();
	}
	work();
	tap_note("unreclaimable slab: %lld KiB more after %d rounds",
		 (long long)(slab_bytes() - first) / 1024, rounds - 2);
	/* a rough bound; kmemleak on the debug kernel is precise */
	require(slab_bytes() < first + MiB(8));
}

static void busy_module_stays(void)
{
	struct tsr_device dev = tsr_open();

	require_err(unload(), -EAGAIN);
	tsr_close(&dev);
	unload_soon();
	require_ok(load());
	work();
}

/* Unbinds the device while a file is open, memory is mapped and jobs run. */
static void unbind_under_load(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo vram =
		tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo gart = tsr_bo_new(&dev, MiB(1), tsr_bit(tsr_seg_gart(&dev)),
					DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	volatile uint32_t *map;
	struct drm_tessera_submit args;
	struct drm_tessera_bo_create create = { .size = 4096,
						.supported = tsr_bit(tsr_seg_gart(&dev)) };
	struct tsr_cmd cmd;
	uint32_t sync;
	char name[NAME_MAX + 1];
	int rc;

	tsr_gpu_fill(&dev, ctx, &vram, 7);
	tsr_gpu_fill(&dev, ctx, &gart, 8);
	map = tsr_bo_map(&dev, &vram);
	tsr_bo_map(&dev, &gart);
	require_eq(map[0], 7);
	tsr_stuck_start(&dev, ctx);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &gart, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 9);
	sync = tsr_syncobj_new(&dev);
	tsr_submit(&dev, ctx, &cmd, 0, sync);

	bound_device(name, sizeof(name));
	bind_to(name, false);

	/* every call fails with -ENODEV, and no access faults */
	require_err(__tsr_bo_create(dev.fd, &create), -ENODEV);
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -ENODEV);
	rc = tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, &(struct drm_tessera_query){ 0 });
	require_eq(rc, -ENODEV);
	for (uint64_t i = 0; i < MiB(1) / 4; i += 512) {
		(void)map[i];
		map[i] = 1;
		((volatile uint32_t *)gart.map)[i] = 1;
	}
	tsr_close(&dev);
	munmap((void *)map, MiB(1));

	bind_to(name, true);
	work();
}

/* Fences of the unbound device signal with an error. */
static void fences_of_a_lost_device(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t behind = tsr_syncobj_new(&dev);
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;
	int fds[2], status;
	char name[NAME_MAX + 1];

	stuck = tsr_stuck_start(&dev, ctx);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(&dev, ctx, &cmd, 0, behind);
	tsr_cmd_fini(&cmd);
	fds[0] = tsr_syncobj_export(&dev, stuck.sync);
	fds[1] = tsr_syncobj_export(&dev, behind);
	bound_device(name, sizeof(name));
	bind_to(name, false);
	for (uint32_t i = 0; i < ARRAY_SIZE(fds); i++) {
		status = tsr_sync_file_status(fds[i]);
		tap_note("fence status %d", status);
		require(status == -ENODEV || status == -ECANCELED);
		close(fds[i]);
	}
	tsr_close(&dev);
	bind_to(name, true);
	work();
}

struct kept_fences {
	int fds[2];
	volatile bool unloading;
	volatile int unloaded;
};

/*
 * Exports fences of a job that has run and of one that has not, as sync files.
 * The device file is closed.
 */
static void keep_fences(struct kept_fences *kept)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(&dev, ctx, &cmd, 0, sync);
	require_ok(tsr_syncobj_status(&dev, sync));
	kept->fds[0] = tsr_syncobj_export(&dev, sync);
	tsr_stuck_start(&dev, ctx);
	/* more than the ring takes at once */
	for (uint32_t i = 0; i < 4; i++)
		tsr_submit(&dev, ctx, &cmd, 0, sync);
	kept->fds[1] = tsr_syncobj_export(&dev, sync);
	tsr_cmd_fini(&cmd);
	/* closing the file cancels the last job, which has not begun */
	tsr_close(&dev);
	tsr_engine_release();
	require_eq(poll(&(struct pollfd){ .fd = kept->fds[1], .events = POLLIN }, 1, -1), 1);
}

/* The kernel asks the driver or the scheduler for the names. */
static void check_names(const struct kept_fences *kept)
{
	struct sync_fence_info fence;
	struct sync_file_info info;

	for (uint32_t i = 0; i < ARRAY_SIZE(kept->fds); i++) {
		info = (struct sync_file_info){ .num_fences = 1,
						.sync_fence_info = (uintptr_t)&fence };
		require_ok(ioctl(kept->fds[i], SYNC_IOC_FILE_INFO, &info));
		require_eq(info.num_fences, 1);
		require_msg(!strncmp(fence.obj_name, "render", 6),
			    "expected a fence of a render engine, its timeline is \"%s\"",
			    fence.obj_name);
		require_eq(fence.status, i ? -ECANCELED : 1);
	}
}

/*
 * The device is unbound and its last file closed. Remaining fences still report
 * names and status.
 */
static void fences_outlive_the_device(void)
{
	struct kept_fences kept;
	char name[NAME_MAX + 1];

	keep_fences(&kept);
	bound_device(name, sizeof(name));
	bind_to(name, false);
	/* reuses the memory of the old device */
	bind_to(name, true);
	work();
	check_names(&kept);
	for (uint32_t i = 0; i < ARRAY_SIZE(kept.fds); i++)
		close(kept.fds[i]);
}

static void unload_in_child(void *arg)
{
	struct kept_fences *kept = arg;
	int rc;

	for (uint32_t i = 0; i < ARRAY_SIZE(kept->fds); i++)
		close(kept->fds[i]);
	kept->unloading = true;
	tsr_wait_for((rc = unload()) != -EAGAIN);
	kept->unloaded = rc ? rc : 1;
}

static bool module_is_going(void)
{
	char *state = tsr_read_file("/sys/module/tessera/initstate");
	bool going = state && !strncmp(state, "going", 5);

	free(state);
	return going;
}

/* Unloading the driver waits for the last fence of its devices. */
static void fences_keep_the_module(void)
{
	struct kept_fences *kept = tsr_shared(sizeof(*kept));
	pid_t pid;

	keep_fences(kept);
	pid = tap_fork(unload_in_child, kept);
	tsr_wait_for(module_is_going());
	/* the device is unbound, and only the fences are left of it */
	tsr_wait_for(__tsr_open_node() == -ENODEV);
	check_names(kept);
	close(kept->fds[0]);
	require_eq(kept->unloaded, 0);
	close(kept->fds[1]);
	tap_join(pid);
	require_eq(kept->unloaded, 1);
	require_ok(load());
	work();
}

struct maker {
	struct tsr_device *dev;
	struct tsr_bo bo;
};

static void make_resident(void *arg)
{
	struct maker *maker = arg;

	require_ok(__tsr_make_one(maker->dev, &maker->bo));
}

/* Has two objects in the way, and a job that uses both until it is released. */
static void in_the_way(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	const uint64_t sixteenths[] = { 2, 1, 6, 1 };
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_stuck stuck;
	struct tsr_bo bos[4];
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, seg->size / 16 * sixteenths[i], tsr_bit(seg), 0);
		require_ok(__tsr_make_one(&dev, &bos[i]));
		if (i % 2)
			tsr_cmd_alloc(&cmd, bos[i].handle, true);
	}
	tsr_bo_free(&dev, &bos[0]);
	tsr_bo_free(&dev, &bos[2]);
	tsr_cmd_nop(&cmd, 64);
	stuck = tsr_stuck_start(&dev, ctx);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	tsr_stuck_end(&stuck);
	tsr_close(&dev);
}

/*
 * MAKE_RESIDENT waits for jobs of another client, because there is enough space
 * once both objects have moved.
 */
static void wait_for_two(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct maker maker = { .dev = &dev };
	struct tsr_client other;
	struct tsr_call call;

	tsr_client_start(&other, in_the_way, 0);
	tsr_wait_for(other.state->ready);
	maker.bo = tsr_bo_new(&dev, seg->size / 16 * 9, tsr_bit(seg), 0);
	tsr_call_start(&call, make_resident, &maker);
	tsr_wait_for(tsr_call_waits(&call, "victim"));
	other.state->stop = true;
	tsr_client_join(&other);
	tsr_call_join(&call);
	require_eq(tsr_bo_info(&dev, &maker.bo).segment, seg->id);
	tsr_close(&dev);
}

static void unload_alone(void *arg)
{
	unload_soon();
	*(volatile bool *)arg = true;
}

/* The driver keeps no reference to fences that a finished call waited for. */
static void unload_behind_waits(void)
{
	volatile bool *unloaded = tsr_shared(sizeof(*unloaded));
	pid_t pid;

	wait_for_two();
	pid = tap_fork(unload_alone, (void *)unloaded);
	tsr_wait_for(*unloaded);
	tap_join(pid);
	require_ok(load());
	work();
}

static void bind_loop(void)
{
	char name[NAME_MAX + 1];

	bound_device(name, sizeof(name));
	for (int i = 0; i < (tap_slow() ? 4 : 10); i++) {
		bind_to(name, false);
		require_err(__tsr_open_node(), -ENODEV);
		bind_to(name, true);
		work();
	}
}

/* Files are closed while jobs run, so that the kernel has to clean up. */
static void killed_client(void)
{
	for (int i = 0; i < 5; i++) {
		struct tsr_device dev = tsr_open();
		uint32_t ctx = tsr_context_new(&dev, 0);

		tsr_stuck_start(&dev, ctx);
		close(dev.fd);
		unload_soon();
		require_ok(load());
	}
	work();
}

/* An unread dump of a crash does not keep the module. It goes with the device. */
static void unread_dump(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_hang hang;
	glob_t found;

	tsr_hang_start(&dev, tsr_context_new(&dev, 0), &hang);
	tsr_hang_expire(&hang);
	tsr_hang_end(&hang);
	tsr_wait_for(!glob("/sys/class/devcoredump/devcd*", 0, NULL, &found));
	globfree(&found);
	tsr_close(&dev);
	unload_soon();
	require_eq(glob("/sys/class/devcoredump/devcd*", 0, NULL, &found), GLOB_NOMATCH);
	require_ok(load());
	work();
}

static const struct tap_test tests[] = {
	{ "SEG-1 SEG-3 SEG-14 loading and unloading in a loop", load_and_unload, TSR_NO_DEVICE, 0 },
	{ "an open file keeps the module", busy_module_stays, TSR_NO_DEVICE, 0 },
	{ "unbinding and binding in a loop", bind_loop, TSR_NO_DEVICE, 0 },
	{ "unbinding with open file, mapping and running jobs", unbind_under_load, TSR_NO_DEVICE,
	  0 },
	{ "fences of a device that is gone", fences_of_a_lost_device, TSR_NO_DEVICE, 0 },
	{ "names of fences of a device that is gone", fences_outlive_the_device, TSR_NO_DEVICE, 0 },
	{ "unloading waits for fences", fences_keep_the_module, TSR_NO_DEVICE, 0 },
	{ "unloading behind a call that has waited for jobs", unload_behind_waits, TSR_NO_DEVICE,
	  0 },
	{ "closing with jobs under way, then unloading", killed_client, TSR_NO_DEVICE, 0 },
	{ "DUMP-1 unloading with an unread dump", unread_dump, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
