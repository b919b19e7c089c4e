// SPDX-License-Identifier: MIT
/*
 * Crash dumps. The first hang or fault must leave a device coredump that names
 * the job and has its ring slot, its commands and all objects. The dump stays
 * until it is written to. Each reset must be announced to udev.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hang.h"
#include "host.h"
#include "pci.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "uevent.h"
#include "vm.h"

#define DATA "devcoredump/data"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

/* Free the dump, if there is one. The next crash leaves a new one. */
static void discard(void)
{
	tsr_write_file(tsr_pci_path(DATA), "1");
	tsr_wait_for(access(tsr_pci_path("devcoredump"), F_OK));
}

static struct tsr_device begin(void)
{
	tsr_pci_begin();
	discard();
	return tsr_pci_open();
}

static char *read_dump(void)
{
	char *text;

	tsr_wait_for((text = tsr_read_file(tsr_pci_path(DATA))));
	require(!strncmp(text, "**** Tessera device coredump ****\nversion: 1\n", 45));
	require_msg(strstr(text, "\n**** end ****\n"), "the dump is cut off");
	return text;
}

static bool has(const char *dump, const char *text)
{
	return strstr(dump, text);
}

static uint64_t number(const char *dump, const char *key)
{
	char line[64];
	const char *at;

	snprintf(line, sizeof(line), "\n%s: ", key);
	at = strstr(dump, line);
	require_msg(at, "the dump has no \"%s\"", key);
	return strtoull(at + strlen(line), NULL, 0);
}

static void set_label(struct tsr_device *dev, const struct tsr_bo *bo, const char *text)
{
	struct drm_tessera_bo_label args = { .handle = bo->handle };

	memcpy(args.label, text, strlen(text));
	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_BO_LABEL, &args));
}

/* The GPU address of the object with that label, as the dump's tables have it. */
static uint64_t object_address(struct tsr_device *dev, const char *dump, const char *label)
{
	char *text = strdup(dump), *save = NULL, quoted[64];
	unsigned long long offset, size;
	uint64_t address = 0;
	unsigned int id, seg;

	snprintf(quoted, sizeof(quoted), " label \"%s\"", label);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strstr(line, quoted) || sscanf(line, "bo %u size %llu segment %u offset %llx",
						    &id, &size, &seg, &offset) != 4)
			continue;
		for (uint32_t i = 0; i < dev->num_segs; i++)
			if (dev->segs[i].id == seg)
				address = dev->segs[i].gpu_base + offset;
	}
	free(text);
	require_msg(address, "the dump has no object \"%s\" in a segment", label);
	return address;
}

/* The commands have the binding of @slot to @address, patched by the kernel. */
static void require_bind(const char *dump, uint32_t slot, uint64_t address)
{
	char text[64];

	snprintf(text, sizeof(text), ": %08x %08x %08x %08x",
		 TSR_PKT_HEADER(TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS), slot, (uint32_t)address,
		 (uint32_t)(address >> 32));
	require_msg(has(dump, text), "expected the binding \"%s\"", text);
}

/* The ring slot begins with the job's JOB_BEGIN. */
static void require_ring(const char *dump, uint32_t context)
{
	char text[64];

	snprintf(text, sizeof(text), " ****\n0x000000: %08x %08x",
		 TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), context);
	require_msg(has(dump, text), "expected the ring slot to begin with \"%s\"", text);
}

/* A hang in a new context. @label names its object. */
static void hang_once(struct tsr_device *dev, const char *label)
{
	uint32_t ctx = tsr_context_new(dev, 0);
	struct tsr_hang hang;

	tsr_hang_start(dev, ctx, &hang);
	set_label(dev, &hang.work, label);
	tsr_hang_expire(&hang);
	require_eq(tsr_syncobj_status(dev, hang.sync), -ETIME);
	/* Objects are in the dump as they are after the hang, so keep them. */
	free(read_dump());
	tsr_hang_end(&hang);
	tsr_context_free(dev, ctx);
}

static void hang_is_dumped(void)
{
	struct tsr_device dev = begin();
	const struct tsr_event *ev;
	struct tsr_trace trace;
	uint32_t context;
	char *dump;

	tsr_trace_start("engine_reset", NULL);
	hang_once(&dev, "guilty");
	trace = tsr_trace_stop();
	ev = tsr_trace_next(&trace, "engine_reset", NULL);
	require(ev);
	context = (uint32_t)tsr_event_u64(ev, "ctx");
	dump = read_dump();
	require(has(dump, "\nengine: render0\nreason: reset\n"));
	require_eq(number(dump, "context"), context);
	require_eq(number(dump, "job"), tsr_event_u64(ev, "seqno"));
	require_eq(number(dump, "error"), TSR_ERR_NONE);
	require_eq(number(dump, "pid"), getpid());
	/* the registers before the reset */
	require_eq(number(dump, "register 0x30"), context);
	require_eq(number(dump, "register 0x34"), number(dump, "offset"));
	require_ring(dump, context);
	require_bind(dump, 0, object_address(&dev, dump, "guilty"));
	free(dump);
	tsr_close(&dev);
}

static void first_is_kept(void)
{
	struct tsr_device dev = begin();
	int events = tsr_uevent_open();
	char *first, *again;

	hang_once(&dev, "first");
	tsr_uevent_wedged(events, "none");
	first = read_dump();
	require(has(first, "\"first\""));
	hang_once(&dev, "second");
	/* A new dump would be there before the event. */
	tsr_uevent_wedged(events, "none");
	again = read_dump();
	require_msg(!strcmp(first, again), "expected the first dump to be kept");
	free(again);
	discard();
	hang_once(&dev, "third");
	again = read_dump();
	require(has(again, "\"third\"") && !has(again, "\"first\""));
	free(again);
	free(first);
	close(events);
	tsr_close(&dev);
}

/* ---- Kinds of faults ----------------------------------------------------- */

#define FAR KiB(16)

/*
 * A packet that reaches beyond its slot, far behind the slot's binding. Both
 * are in the dump, the packets between are not.
 */
static void beyond_a_slot(struct tsr_device *dev)
{
	struct tsr_bo bo = tsr_bo_new(dev, KiB(4), tsr_bit(tsr_seg_gart(dev)), 0);
	uint32_t ctx = tsr_context_new(dev, 0);
	struct tsr_cmd cmd;
	char line[64];
	char *dump;

	set_label(dev, &bo, "short");
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 3, &bo, true);
	while (tsr_cmd_bytes(&cmd) < FAR)
		tsr_cmd_fill(&cmd, 3, 0, 1, 0xfa4);
	tsr_cmd_fill(&cmd, 3, 1000, 25, 1);
	require_eq(tsr_submit_status(dev, ctx, &cmd, NULL), -EFAULT);
	dump = read_dump();
	require(has(dump, "\nengine: render0\nreason: fault\n"));
	require_eq(number(dump, "error"), TSR_ERR_SLOT_BOUNDS);
	require(number(dump, "offset") >= FAR);
	require_bind(dump, 3, object_address(dev, dump, "short"));
	snprintf(line, sizeof(line), "\n0x%06x: %08x %08x %08x %08x",
		 (uint32_t)number(dump, "offset"), TSR_PKT_HEADER(TSR_OP_FILL, 0, TSR_FILL_DWORDS),
		 3, 1000, 0);
	require_msg(has(dump, line), "the failing packet is missing");
	snprintf(line, sizeof(line), "\n0x%06x: ", (uint32_t)(number(dump, "offset") - KiB(8)));
	require_msg(!has(dump, line), "the dump is longer than it need be");
	free(dump);
	tsr_cmd_fini(&cmd);
	tsr_bo_free(dev, &bo);
	tsr_context_free(dev, ctx);
}

#define AT 0x100000000ull

/* The level 0 entry of a page, in the dump's page tables. */
static uint64_t entry_of(const char *dump, uint64_t page)
{
	unsigned long long entry[TSR_PT_LEVELS];
	const char *at;
	char key[32];

	snprintf(key, sizeof(key), "\n0x%012llx:", (unsigned long long)page);
	at = strstr(dump, key);
	require_msg(at, "the dump has no page tables of 0x%llx", (unsigned long long)page);
	require_eq(sscanf(at + strlen(key), "%llx %llx %llx %llx", &entry[0], &entry[1], &entry[2],
			  &entry[3]),
		   4);
	require(entry[0] & TSR_PTE_VALID);
	return entry[3];
}

/* An access to an address behind a mapping at @at. */
static void unmapped_address(struct tsr_device *dev, uint64_t at)
{
	struct tsr_vm vm = tsr_vm_open(dev);
	struct tsr_bo bo = tsr_bo_new(dev, KiB(8), tsr_bit(tsr_seg_gart(dev)), 0);
	char *dump;

	tsr_vm_map(dev, vm.id, &bo, 0, at, bo.size, 0);
	tsr_vm_place(&vm, &bo);
	tsr_vm_fill(&vm, at, bo.size, 1);
	require_eq(tsr_vm_try_fill(&vm, at, bo.size + KiB(4), 2), -EFAULT);
	dump = read_dump();
	require(has(dump, "\nengine: render0\nreason: fault\n"));
	require_eq(number(dump, "error"), TSR_ERR_MMU);
	require(entry_of(dump, at) & TSR_PTE_VALID);
	require(entry_of(dump, at + KiB(4)) & TSR_PTE_VALID);
	require_eq(entry_of(dump, at + KiB(8)), 0);
	require_eq(entry_of(dump, at + KiB(12)), 0);
	free(dump);
	tsr_vm_close(&vm);
	tsr_bo_free(dev, &bo);
}

/* A move of the kernel's own that fails. */
static void failed_move(struct tsr_device *dev)
{
	struct tsr_bo bo = tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_hidden(dev)), 0);
	uint32_t sync = tsr_syncobj_new(dev);
	char *dump;

	/* Hold the move, so that the call does not see it fail. */
	tsr_job_timeout_lift();
	tsr_engine_hang_next(dev->paging);
	require_ok(__tsr_make_resident(dev->fd, &bo.handle, 1, sync, NULL));
	tsr_wait_for(tsr_engine_hangs());
	tsr_host_set("x-fail-dma", "1");
	tsr_engine_release();
	require_eq(tsr_syncobj_status(dev, sync), -EFAULT);
	require(tsr_host_is("x-fail-dma", "0"));
	dump = read_dump();
	require_eq(number(dump, "error"), TSR_ERR_DMA);
	require(has(dump, "\nengine: paging1\nreason: fault\n"));
	require(has(dump, "\n**** kernel commands from "));
	free(dump);
	tsr_syncobj_free(dev, sync);
	tsr_bo_free(dev, &bo);
}

/* The engine halts at a job. */
static void halted_engine(struct tsr_device *dev)
{
	struct tsr_bo bo = tsr_bo_new(dev, KiB(4), tsr_bit(tsr_seg_gart(dev)), 0);
	uint32_t ctx = tsr_context_new(dev, 0), other = tsr_context_new(dev, 0);
	struct tsr_cmd cmd;
	char *dump;

	tsr_gpu_touch(dev, other, &bo);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 16, 1);
	tsr_host_set("x-halt-job", "1");
	require_eq(tsr_submit_status(dev, ctx, &cmd, NULL), -ETIME);
	dump = read_dump();
	require(has(dump, "\nreason: reset\n"));
	require(number(dump, "register 0x8") & TSR_ENGS_HALTED);
	require_eq(number(dump, "pid"), getpid());
	free(dump);
	tsr_cmd_fini(&cmd);
	tsr_bo_free(dev, &bo);
}

/* The engine does not answer a request for preemption. */
static void unanswered_preemption(struct tsr_device *dev)
{
	uint32_t low = tsr_context_prio(dev, DRM_TESSERA_PRIORITY_LOW);
	uint32_t high = tsr_context_prio(dev, DRM_TESSERA_PRIORITY_HIGH), sync;
	struct tsr_hang hang;
	struct tsr_cmd cmd;
	char *dump;

	tsr_hang_start(dev, low, &hang);
	tsr_hang_begun(&hang);
	sync = tsr_syncobj_new(dev);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_host_set("x-stick-preempt", "1");
	tsr_submit(dev, high, &cmd, 0, sync);
	tsr_wait_for(tsr_host_is("x-stick-preempt", "0"));
	tsr_job_expire(dev->render);
	require_ok(tsr_syncobj_status(dev, sync));
	dump = read_dump();
	require(has(dump, "\nreason: reset\n"));
	require(number(dump, "register 0x8") & TSR_ENGS_PREEMPTING);
	free(dump);
	tsr_hang_end(&hang);
	tsr_syncobj_free(dev, sync);
	tsr_cmd_fini(&cmd);
}

/*
 * The device keeps one record of each type of error. The second dump of a type
 * needs a record of its own, or it would have the address of the first.
 */
static void each_kind(void)
{
	struct tsr_device dev = begin();

	for (int i = 0; i < 2; i++) {
		beyond_a_slot(&dev);
		discard();
		unmapped_address(&dev, AT << i);
		discard();
	}
	failed_move(&dev);
	discard();
	halted_engine(&dev);
	discard();
	unanswered_preemption(&dev);
	discard();
	tsr_close(&dev);
}

#define SECRET 0x5ec7e755u

/*
 * Neither contents of objects nor commands of other jobs are in the dump, and
 * only root can read it. The commands of a job at addresses are contents.
 */
static void no_contents(void)
{
	struct tsr_device dev = begin();
	uint32_t ctx = tsr_context_new(&dev, 0), sync = tsr_syncobj_new(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(4), tsr_bit(tsr_seg_gart(&dev)), cached);
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_hang hang;
	struct tsr_cmd cmd;
	struct stat st;
	char *dump;

	tsr_bo_map(&dev, &bo);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 0, 1024, SECRET);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_hang_start(&dev, tsr_context_new(&dev, 0), &hang);
	tsr_hang_begun(&hang);
	tsr_submit(&dev, ctx, &cmd, 0, sync);
	tsr_hang_expire(&hang);
	require_ok(tsr_syncobj_status(&dev, sync));
	dump = read_dump();
	require(!has(dump, "5ec7e755") && !has(dump, "55e7c75e"));
	free(dump);
	require_ok(stat(tsr_pci_path(DATA), &st));
	require(!(st.st_mode & 077) && !st.st_uid);
	tsr_hang_end(&hang);
	discard();
	/* Only the commands of the job itself are there. */
	tsr_cmd_fill(&cmd, 0, 1000, 25, 0);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	dump = read_dump();
	require(has(dump, "5ec7e755"));
	free(dump);
	discard();

	tsr_cmd_reset(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, KiB(4), true);
	tsr_cmd_fill(&cmd, 0, 0, 1, SECRET);
	require_eq(tsr_vm_run(&vm, &cmd), -EFAULT);
	dump = read_dump();
	require(!has(dump, "5ec7e755") && !has(dump, "55e7c75e"));
	free(dump);
	discard();
	tsr_cmd_fini(&cmd);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static void gone_with_the_driver(void)
{
	struct tsr_device dev = begin();

	hang_once(&dev, "unread");
	tsr_close(&dev);
	tsr_pci_unbind();
	require(access(tsr_pci_path("devcoredump"), F_OK));
	tsr_pci_bind();
	dev = tsr_pci_open();
	hang_once(&dev, "new");
	discard();
	tsr_close(&dev);
}

static void resets_are_announced(void)
{
	struct tsr_device dev = begin();
	int events = tsr_uevent_open();

	tsr_pci_can_reset();
	hang_once(&dev, "hangs");
	tsr_uevent_wedged(events, "none");
	tsr_pci_reset();
	tsr_uevent_wedged(events, "none");
	tsr_host_set("x-fail-reset", "1");
	tsr_pci_reset();
	tsr_uevent_wedged(events, "rebind,bus-reset");
	tsr_close(&dev);
	/* The method helps. */
	tsr_pci_unbind();
	tsr_pci_bind();
	dev = tsr_pci_open();
	tsr_gpu_blit(&dev, tsr_context_new(&dev, 0));
	tsr_close(&dev);
	close(events);
}

#define FAULTS (TSR_EXPECT(SLOT_BOUNDS) | TSR_EXPECT(MMU) | TSR_EXPECT(DMA) | TSR_EXPECT(PACKET))

static const struct tap_test tests[] = {
	{ "DUMP-1 a hang leaves a dump of its job, ring, commands and objects", hang_is_dumped, 0,
	  60 },
	{ "DUMP-1 the first dump is kept until it is written to", first_is_kept, 0, 60 },
	{ "DUMP-1 each kind of fault leaves a dump", each_kind, FAULTS, 60 },
	{ "DUMP-1 a dump has no contents of memory, and is for root", no_contents,
	  TSR_EXPECT(SLOT_BOUNDS) | TSR_EXPECT(MMU), 60 },
	{ "DUMP-1 a dump goes with its driver", gone_with_the_driver, TSR_NO_DEVICE, 60 },
	{ "DUMP-2 resets are announced", resets_are_announced, TSR_NO_DEVICE, 60 },
};

TSR_TEST_MAIN(tests)
