// SPDX-License-Identifier: MIT
/*
 * Two devices of this driver import objects from each other. Their jobs
 * alternate while either device evicts the shared objects or is suspended.
 * Unplugging is in test-import.c.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "held.h"
#include "pci.h"
#include "stall.h"
#include "tsr.h"
#include "vm.h"

#define STEPS 48

/* One of the two devices with its own object and the import of the other's. */
struct side {
	struct tsr_device dev;
	uint32_t ctx;
	struct tsr_bo ours, theirs;
	int dmabuf;
};

static void side_init(struct side *side, struct tsr_device dev, uint32_t value)
{
	uint32_t supported = tsr_bit(tsr_seg_visible(&dev)) | tsr_bit(tsr_seg_gart(&dev));

	side->dev = dev;
	side->ctx = tsr_context_new(&side->dev, 0);
	side->ours = tsr_bo_new(&side->dev, MiB(1), supported, DRM_TESSERA_BO_CPU_ACCESS);
	tsr_gpu_fill(&side->dev, side->ctx, &side->ours, value);
	side->dmabuf = tsr_export(&side->dev, &side->ours);
}

static void side_import(struct side *side, const struct side *other)
{
	side->theirs = (struct tsr_bo){ .size = other->ours.size };
	tsr_import_wait(side->dev.fd, other->dmabuf, &side->theirs.handle);
}

static void side_fini(struct side *side)
{
	close(side->dmabuf);
	tsr_close(&side->dev);
}

static void both_init(struct side *a, struct side *b, struct tsr_device dev)
{
	side_init(a, dev, 0);
	side_init(b, tsr_pci_other(&dev), 0);
	side_import(a, b);
	side_import(b, a);
}

static void both_fini(struct side *a, struct side *b)
{
	side_fini(a);
	side_fini(b);
}

static void copy_word(struct side *side, const struct tsr_bo *to, uint32_t to_x,
		      const struct tsr_bo *from, uint32_t from_x)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, to, true);
	tsr_cmd_bind_buffer(&cmd, 1, from, false);
	tsr_cmd_copy(&cmd, 0, to_x, 1, from_x, 1);
	tsr_submit(&side->dev, side->ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
}

/*
 * Copy the first word of A's object back and forth. Each job depends on one of
 * the other device. Do not wait for the jobs.
 */
static void wander(struct side *a, struct side *b)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		copy_word(a, &a->theirs, i, &a->ours, i);
		copy_word(b, &b->theirs, i + 1, &b->ours, i);
	}
}

static void wander_check(struct side *a, struct side *b, uint32_t value)
{
	uint32_t words[STEPS + 1];

	tsr_gpu_read(&a->dev, a->ctx, &a->ours, 0, STEPS + 1, words);
	tsr_words_check(words, STEPS + 1, value);
	tsr_gpu_read(&b->dev, b->ctx, &b->ours, 0, STEPS, words);
	tsr_words_check(words, STEPS, value);
	tsr_gpu_read(&a->dev, a->ctx, &a->theirs, 0, STEPS, words);
	tsr_words_check(words, STEPS, value);
}

/* Run wander() in a thread: its calls wait for jobs of the other device. */
static void wander_call(void *arg)
{
	struct side **sides = arg;

	wander(sides[0], sides[1]);
}

/*
 * Evict the imports on both devices while their jobs are queued.
 *
 * The first job of each device uses the other's object and is held. So each
 * exporter finds a foreign fence at its own object, and uses the object in its
 * system pages. No job may need a move that waits for the two held jobs.
 */
static void moved_under_jobs(void)
{
	struct tsr_held held[2];
	struct side a, b;
	struct side *sides[] = { &a, &b };
	struct tsr_call call;
	pid_t pids[2];

	both_init(&a, &b, tsr_open());
	held[0] = tsr_held_open(&a.dev);
	held[1] = tsr_held_open(&b.dev);
	tsr_held_fill(&held[0], &a.theirs, 1, 0x22);
	tsr_held_fill(&held[1], &b.theirs, 1, 0x11);
	tsr_call_start(&call, wander_call, sides);
	tsr_wait_for(call.returned || tsr_call_waits(&call, "foreign"));
	require(!call.returned);
	for (int i = 0; i < 2; i++)
		require(tsr_held_waits(&held[i]));
	pids[0] = tsr_push_out(&a.dev);
	pids[1] = tsr_push_out(&b.dev);
	tsr_wait_for(tsr_bo_info(&a.dev, &a.theirs).segment == 0);
	tsr_wait_for(tsr_bo_info(&b.dev, &b.theirs).segment == 0);
	for (int i = 0; i < 2; i++)
		require(tsr_held_waits(&held[i]));
	for (int i = 0; i < 2; i++)
		tsr_held_go(&held[i]);
	for (int i = 0; i < 2; i++)
		tap_join(pids[i]);
	tsr_call_join(&call);
	wander_check(&a, &b, 0x11);
	for (int i = 0; i < 2; i++)
		tsr_held_close(&held[i]);
	both_fini(&a, &b);
}

/*
 * Jobs queued before suspend complete, contents survive, and CPU mappings stay
 * valid.
 */
static void over_suspend(void)
{
	struct side a, b;

	both_init(&a, &b, tsr_open());
	tsr_bo_map(&a.dev, &a.ours);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_bo_wait(&a.dev, &a.ours);
		((uint32_t *)a.ours.map)[0] = round;
		wander(&a, &b);
		tsr_suspend_devices();
		wander_check(&a, &b, round);
		tsr_words_check(a.ours.map, STEPS + 1, round);
	}
	tsr_bo_unmap(&a.ours);
	both_fini(&a, &b);
}

/* An object with an unsignalled fence: the list shows it as busy. */
static bool any_busy(void)
{
	char *text = tsr_debugfs_read("allocations");
	bool busy = strstr(text, " busy");

	free(text);
	return busy;
}

/*
 * A VM keeps the import resident and reads current bytes, wherever the exporter
 * has moved the object.
 */
static void resident_for_another(void)
{
	struct side a, b;
	struct tsr_vm vm;
	struct tsr_bo own;
	uint32_t word;

	both_init(&a, &b, tsr_open());
	vm = tsr_vm_open(&b.dev);
	own = tsr_bo_new(&b.dev, MiB(1), tsr_bit(tsr_seg_visible(&b.dev)), 0);
	tsr_vm_place(&vm, &b.theirs);
	tsr_vm_place(&vm, &own);
	tsr_vm_map(&b.dev, vm.id, &b.theirs, 0, 0x40000000, MiB(1), 0);
	tsr_vm_map(&b.dev, vm.id, &own, 0, 0x50000000, MiB(1), 0);
	for (uint32_t round = 1; round < 5; round++) {
		/* With a fence of b at the object, a uses it in an aperture. */
		tsr_wait_for(!any_busy());
		tsr_gpu_fill(&a.dev, a.ctx, &a.ours, round);
		/*
		 * Without move_notify the object is pinned to its system pages
		 * (test-dynamic.c).
		 */
		require_eq(tsr_bo_info(&a.dev, &a.ours).segment,
			   (tap_slow() ? tsr_seg_visible(&a.dev) : tsr_seg_gart(&a.dev))->id);
		tap_join(tsr_push_out(&a.dev));
		tsr_vm_copy(&vm, 0x50000000, 0x40000000, MiB(1));
		tsr_gpu_read(&b.dev, b.ctx, &own, 4711, 1, &word);
		require_eq(word, round);
		tsr_vm_fill(&vm, 0x40000000, MiB(1), round + 100);
		tsr_gpu_read(&a.dev, a.ctx, &a.ours, 4711, 1, &word);
		require_eq(word, round + 100);
	}
	tsr_vm_close(&vm);
	both_fini(&a, &b);
}

static const struct tap_test tests[] = {
	{ "imports are evicted on both devices while their jobs are queued", moved_under_jobs, 0,
	  30 },
	{ "SEG-31 jobs of two devices on shared objects survive suspend", over_suspend, 0, 90 },
	{ "an import is kept resident for a VM", resident_for_another, 0, 30 },
};

TSR_TEST_MAIN(tests)
