// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: crash dumps
 *
 * The first hang or fault leaves a device coredump, a text file in sysfs. It
 * stays until it is written to, for five minutes, or until the driver is
 * unbound. Later crashes leave none meanwhile. Only root can read the file. It
 * has the commands of the job that failed, and no other contents of memory.
 *
 * exec/crash.c records the state of the engine and the job. The work item here
 * prints the record, and the tables of debugfs behind it. The tables show the
 * objects as they are when the work item runs. The job's memory is released
 * before that, because the tables wait for reservations, and unplug waits for
 * all jobs.
 *
 * A dump has a fixed size at most. If there is more to print, it ends in the
 * middle of a line, and its last line is missing. scripts/decode-dump explains
 * a dump. It depends on the names of the sections and on DUMP_VERSION.
 *
 * The work item also sends the DRM wedged event of each reset. The event needs
 * memory, which a thread that recovers an engine must not wait for.
 */

#include <linux/bitfield.h>
#include <linux/devcoredump.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/compat.h"
#include "base/device.h"
#include "client/client.h"
#include "exec/exec.h"
#include "hw/hw.h"
#include "submit/submit.h"
#include "tessera_drv.h"
#include "vm/vm.h"

#define DUMP_VERSION	1
#define DUMP_BYTES	SZ_1M

/* Number of slots whose last binding before the window is shown. */
#define SLOTS		64

/* Commands before and after the failing one, in bytes. */
#define WINDOW		SZ_4K

/* Pages before and after the faulting address. */
#define NEIGHBOURS	2

/* Print the packet at @offset, and return its size. */
static u32 print_packet(struct drm_printer *p, const __le32 *cpu, u32 offset, u32 end)
{
	const __le32 *packet = cpu + offset / 4;
	u32 i, dwords = FIELD_GET(TSR_PKT_LENGTH_MASK, le32_to_cpu(*packet));

	dwords = clamp(dwords, 1u, (end - offset) / 4);
	if (!p)
		return dwords * 4;
	drm_printf(p, "0x%06x:", offset);
	for (i = 0; i < dwords; i++)
		drm_printf(p, " %08x", le32_to_cpu(packet[i]));
	drm_puts(p, "\n");

	return dwords * 4;
}

/*
 * Print the packets around @at, and before them the last BIND_SLOT of each
 * slot.
 */
static void print_range(struct drm_printer *p, const struct tessera_ib_range *range, u32 at)
{
	u32 binds[SLOTS] = { }, offset = range->start, end = range->end, i;
	const __le32 *cpu = tessera_ib_cpu(range->ib);

	at = clamp(at, offset, end);
	for (; offset + WINDOW < at; offset += print_packet(NULL, cpu, offset, end)) {
		const __le32 *packet = cpu + offset / 4;

		if (FIELD_GET(TSR_PKT_OPCODE_MASK, le32_to_cpu(*packet)) == TSR_OP_BIND_SLOT &&
		    le32_to_cpu(packet[1]) < SLOTS)
			binds[le32_to_cpu(packet[1])] = offset + 1;
	}
	for (i = 0; i < SLOTS; i++)
		if (binds[i])
			print_packet(p, cpu, binds[i] - 1, end);
	while (offset < min(end, at + WINDOW))
		offset += print_packet(p, cpu, offset, end);
}

static void print_tables(struct drm_printer *p, struct tessera_page_tables *pts, u64 address)
{
	u64 page = address - min(address, NEIGHBOURS * (u64)TSR_PAGE_SIZE);
	int level, i;

	drm_puts(p, "\n**** page tables ****\n");
	page &= ~(TSR_PAGE_SIZE - 1ULL);
	mutex_lock(&pts->lock);
	for (i = 0; i <= 2 * NEIGHBOURS; i++, page += TSR_PAGE_SIZE) {
		drm_printf(p, "0x%012llx:", page);
		for (level = TSR_PT_LEVELS - 1; level >= 0; level--)
			drm_printf(p, " %016llx", tessera_pt_entry(&pts->tree, page, level));
		drm_puts(p, "\n");
	}
	mutex_unlock(&pts->lock);
}

static void print_job(struct drm_printer *p, struct tessera_device *tdev,
		      const struct tessera_crash *crash)
{
	struct tessera_job *job = crash->job;
	u64 address;
	u32 i;

	drm_printf(p, "context: %u\njob: %llu\nerror: %u\noffset: 0x%x\n", job->context_id,
		   job->seqno, crash->error, crash->offset);
	if (job->quota)
		drm_printf(p, "pid: %d\n",
			   pid_nr(container_of(job->quota, struct tessera_process, work)->pid));

	drm_printf(p, "\n**** ring, slot at 0x%x ****\n",
		   job->hw_fence->slot * TESSERA_RING_SLOT_BYTES);
	for (i = 0; i < sizeof(crash->ring);)
		i += print_packet(p, crash->ring, i, sizeof(crash->ring));

	for (i = 0; i < job->num_ranges; i++) {
		drm_printf(p, "\n**** %scommands from 0x%x to 0x%x ****\n",
			   job->ranges[i].user ? "" : "kernel ", job->ranges[i].start,
			   job->ranges[i].end);
		print_range(p, &job->ranges[i], crash->offset);
	}
	address = job->vm.root ? tessera_error_address(tdev, crash->error) : 0;
	/* Only jobs of contexts run at virtual addresses. */
	if (address)
		print_tables(p, container_of(job, struct tessera_part, job)->ctx->pts, address);
}

static size_t dump_print(struct tessera_device *tdev, struct tessera_crash *crash)
{
	struct drm_print_iterator iter = {
		.data = crash->text,
		/* Without memory the dump is empty. */
		.remain = crash->text ? DUMP_BYTES : 0,
	};
	struct drm_printer p = drm_coredump_printer(&iter);
	u32 i;

	drm_printf(&p, "**** Tessera device coredump ****\nversion: %u\n", DUMP_VERSION);
	drm_printf(&p, "kernel: %s\nmodule: " KBUILD_MODNAME "\ndevice: %s\nhardware: 0x%x\n",
		   init_utsname()->release, dev_name(tdev->drm.dev), tdev->info.version);
	drm_printf(&p, "time: %lld\nengine: %s\nreason: %s\n", ktime_get_real_seconds(),
		   crash->engine->name, crash->error ? "fault" : "reset");
	for (i = 0; i < TESSERA_CRASH_REGS && !crash->error; i++)
		drm_printf(&p, "register 0x%x: 0x%x\n", tessera_crash_regs[i], crash->regs[i]);
	if (crash->job)
		print_job(&p, tdev, crash);
	tessera_job_put(crash->job);
	/* A crash in probe: there is nothing to print yet. */
	if (tdev->drm.registered)
		tessera_tables_print(tdev, &p);
	drm_puts(&p, "\n**** end ****\n");

	return iter.offset;
}

static ssize_t dump_read(char *buffer, loff_t offset, size_t count, void *data, size_t bytes)
{
	struct tessera_device *tdev = data;

	return memory_read_from_buffer(buffer, count, &offset, tdev->crash->text, bytes);
}

static void dump_free(void *data)
{
	struct tessera_device *tdev = data;

	kvfree(tdev->crash->text);
	/* The next fault needs a record of its own. */
	tessera_error_collect(tdev, true);
	clear_bit_unlock(TESSERA_CRASH_RECORDED, &tdev->crash->flags);
	tessera_device_put(tdev);
}

static void dump_publish(struct tessera_device *tdev, struct tessera_crash *crash)
{
	size_t bytes;

	tessera_device_get(tdev);
	tessera_error_collect(tdev, false);
	crash->text = kvmalloc(DUMP_BYTES, GFP_KERNEL);
	bytes = dump_print(tdev, crash);
	drm_info(&tdev->drm, "crash dump: /sys/class/drm/card%d/device/devcoredump/data\n",
		 tdev->drm.primary->index);
	/*
	 * No module reference, so that an unread dump does not keep the module
	 * from being unloaded: unbinding frees the dump. Unloading waits for
	 * the reference to the device.
	 */
	dev_coredumpm(tdev->drm.dev, NULL, tdev, bytes, GFP_KERNEL, dump_read, dump_free);
}

/* The dump comes before the event, so that a receiver of the event finds it. */
static void dump_work(struct work_struct *work)
{
	struct tessera_crash *crash = container_of(work, struct tessera_crash, work);
	struct drm_device *drm = &crash->tdev->drm;
	unsigned long method;
	int idx;

	if (test_and_clear_bit(TESSERA_CRASH_COMPLETE, &crash->flags))
		dump_publish(crash->tdev, crash);
	method = atomic_xchg(&crash->announce, 0);
	if (!method || !drm->registered || !drm_dev_enter(drm, &idx))
		return;
	/* A device that is wedged has not recovered by another reset. */
	tessera_compat_wedged_event(drm, method & ~DRM_WEDGE_RECOVERY_NONE ?: method);
	drm_dev_exit(idx);
}

static void dump_fini(void *data)
{
	struct tessera_device *tdev = data;

	flush_work(&tdev->crash->work);
	dev_coredump_put(tdev->drm.dev);
}

/**
 * tessera_dump_init() - prepare for crashes
 * @tdev: the device, before its engines are set up
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_dump_init(struct tessera_device *tdev)
{
	tdev->crash = drmm_kzalloc(&tdev->drm, sizeof(*tdev->crash), GFP_KERNEL);
	if (!tdev->crash)
		return -ENOMEM;
	tdev->crash->tdev = tdev;
	INIT_WORK(&tdev->crash->work, dump_work);

	return devm_add_action_or_reset(tdev->drm.dev, dump_fini, tdev);
}
