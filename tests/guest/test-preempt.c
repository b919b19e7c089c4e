// SPDX-License-Identifier: MIT
/*
 * Preemption: a job of high priority runs before a running job of low priority,
 * which then continues with an unchanged result. An engine that ignores the
 * request is reset.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "hang.h"
#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

#define BYTES (4u << 20)
#define WORDS (BYTES / 4)

/* Two contexts and the objects of their jobs. */
struct scene {
	struct tsr_device dev;
	uint32_t low, high;
	struct tsr_bo work; /* for the long job */
	struct tsr_bo other; /* for the short jobs */
	struct tsr_bo seen; /* copy of @work for the CPU */
	struct tsr_cmd brief;
};

static struct tsr_bo staging(struct tsr_device *dev, uint64_t size)
{
	struct tsr_bo bo = tsr_bo_new(dev, size, tsr_bit(tsr_seg_gart(dev)),
				      DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);

	tsr_bo_map(dev, &bo);
	return bo;
}

static void scene_begin(struct scene *s)
{
	const struct drm_tessera_query_segment *seg;

	s->dev = tsr_open();
	if (!(s->dev.info.caps & DRM_TESSERA_CAP_PREEMPTION))
		tap_skip("the device cannot preempt");
	seg = tsr_seg_hidden(&s->dev);
	s->low = tsr_context_prio(&s->dev, DRM_TESSERA_PRIORITY_LOW);
	s->high = tsr_context_prio(&s->dev, DRM_TESSERA_PRIORITY_HIGH);
	s->work = tsr_bo_new(&s->dev, BYTES, tsr_bit(seg), 0);
	s->other = tsr_bo_new(&s->dev, BYTES, tsr_bit(seg), 0);
	s->seen = staging(&s->dev, BYTES);
	/* Use the same slots as the long job. */
	tsr_cmd_init(&s->brief);
	for (uint32_t slot = 0; slot < 4; slot++) {
		tsr_cmd_bind_buffer(&s->brief, slot, &s->other, true);
		tsr_cmd_fill(&s->brief, slot, slot * 64, 64, 0xbad);
	}
	tsr_submit_done(&s->dev, s->high, &s->brief);
	tsr_gpu_fill(&s->dev, s->low, &s->work, 0);
}

static void scene_end(struct scene *s)
{
	tsr_cmd_fini(&s->brief);
	tsr_close(&s->dev);
}

/* Fill the whole object @count times, the last time with @last. */
static void fills(struct tsr_cmd *cmd, const struct tsr_bo *bo, uint32_t count, uint32_t last)
{
	tsr_cmd_init(cmd);
	tsr_cmd_bind_buffer(cmd, 0, bo, true);
	for (uint32_t i = count; i--;)
		tsr_cmd_fill(cmd, 0, 0, WORDS, last + i);
}

/* Return how many fills take @ms milliseconds. */
static uint32_t fills_in(struct scene *s, uint32_t ms)
{
	struct tsr_cmd cmd;
	uint64_t begin;
	double each;

	fills(&cmd, &s->work, 100, 0);
	begin = tap_now_ns();
	tsr_submit_done(&s->dev, s->low, &cmd);
	each = (double)(tap_now_ns() - begin) / 100;
	tsr_cmd_fini(&cmd);
	return (uint32_t)(ms * 1e6 / each) + 1;
}

static bool is_over(struct scene *s, uint32_t sync)
{
	return __tsr_syncobj_wait(s->dev.fd, sync, 0, 0) != -ETIME;
}

/*
 * Submit a job of low priority and give it time to begin. Return its syncobj.
 */
static uint32_t begin_long(struct scene *s, const struct tsr_cmd *cmd)
{
	uint32_t sync = tsr_syncobj_new(&s->dev);

	tsr_submit(&s->dev, s->low, cmd, 0, sync);
	usleep(50000);
	return sync;
}

static void look(struct scene *s, uint32_t *words)
{
	struct tsr_cmd cmd;

	tsr_cmd_init_pair(&cmd, &s->seen, &s->work);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, WORDS);
	tsr_submit_done(&s->dev, s->low, &cmd);
	tsr_cmd_fini(&cmd);
	memcpy(words, s->seen.map, BYTES);
}

#define PASSES 5

/*
 * The job of low priority stops in the middle of a packet, and goes on only if
 * it is preempted (x-hold-after). So a job that waits for its end never runs.
 */
static void high_does_not_wait(void)
{
	uint32_t sync, done;
	struct tsr_cmd cmd;
	struct scene s;

	scene_begin(&s);
	tsr_job_timeout_lift();
	sync = tsr_syncobj_new(&s.dev);
	done = tsr_syncobj_new(&s.dev);
	fills(&cmd, &s.work, 1, 7);
	for (int i = 0; i < PASSES; i++) {
		tsr_host_set("x-hold-after", "1");
		tsr_submit(&s.dev, s.low, &cmd, 0, sync);
		tsr_wait_for(tsr_host_is("x-hold-after", "0"));
		tsr_submit(&s.dev, s.high, &s.brief, 0, done);
		require_msg(!__tsr_syncobj_wait(s.dev.fd, done, 0, (int64_t)tsr_patience()),
			    "expected a job of high priority to pass the job that runs, it waits "
			    "for its end");
		require_ok(tsr_syncobj_status(&s.dev, done));
		require_ok(tsr_syncobj_status(&s.dev, sync));
	}
	tsr_cmd_fini(&cmd);
	scene_end(&s);
}

/*
 * Each packet depends on the previous ones, so a lost or repeated packet is
 * noticed.
 */
static void chain(struct tsr_cmd *cmd, const struct tsr_bo *bo, uint32_t packets)
{
	uint32_t x = 1;

	tsr_cmd_init(cmd);
	tsr_cmd_bind_buffer(cmd, 1, bo, true);
	tsr_cmd_bind_buffer(cmd, 3, bo, true);
	tsr_cmd_fill(cmd, 1, 0, WORDS, 0x5a5a5a5a);
	for (uint32_t i = 0; i < packets; i++) {
		x = x * 1664525 + 1013904223;
		tsr_cmd_fill(cmd, 1, (x >> 8) % (WORDS - 4096), 1 + i % 4096, i << 16 | x >> 16);
		tsr_cmd_copy(cmd, 3, (x >> 4) % (WORDS / 2), 1, (x >> 9) % (WORDS / 2), WORDS / 2);
	}
}

/* Count how often a job was preempted after it had begun. Ends the trace. */
static uint32_t times_preempted(void)
{
	struct tsr_trace trace = tsr_trace_stop();
	uint32_t begun = 0;

	tsr_trace_for_each(&trace, "preempt", ev)
		begun += tsr_event_u64(ev, "begun");
	tsr_trace_free(&trace);
	return begun;
}

static void same_result(void)
{
	uint32_t *want = malloc(BYTES), *got = malloc(BYTES), sync, begun = 0;
	uint64_t ns, until = tsr_patience();
	struct tsr_cmd cmd;
	struct scene s;

	require(want && got);
	scene_begin(&s);
	/*
	 * Long enough to be preempted often, also where each preemption takes
	 * long.
	 */
	chain(&cmd, &s.work, tap_slow() ? 6000 : 2000);
	ns = tap_now_ns();
	tsr_submit_done(&s.dev, s.low, &cmd);
	tap_note("the job takes %.1f ms by itself", (double)(tap_now_ns() - ns) / 1e6);
	look(&s, want);
	sync = tsr_syncobj_new(&s.dev);
	do {
		uint32_t rounds = 0, times;

		tsr_trace_start("preempt", NULL);
		tsr_submit(&s.dev, s.low, &cmd, 0, sync);
		while (!is_over(&s, sync)) {
			tsr_submit_done(&s.dev, s.high, &s.brief);
			rounds++;
		}
		require_ok(tsr_syncobj_status(&s.dev, sync));
		times = times_preempted();
		tap_note("preempted in its middle %u times by %u jobs", times, rounds);
		look(&s, got);
		require_msg(!memcmp(want, got, BYTES),
			    "expected the same bytes from a preempted job, they differ");
		begun += times;
		require_msg(begun || tap_now_ns() < until, "the job was never preempted");
	} while (begun < 10);
	tsr_cmd_fini(&cmd);
	scene_end(&s);
	free(want);
	free(got);
}

#define AT 0x100000000ull
/* addresses of the VM's other mappings, which change meanwhile */
#define BESIDE 0x200000000ull
#define FILLS 1500

/* A VM with a new object mapped at AT, and a context of @priority in it. */
static struct tsr_vm vm_with(struct tsr_device *dev, uint32_t priority, struct tsr_bo *bo)
{
	struct tsr_vm vm = tsr_vm_open(dev);
	struct drm_tessera_context_create args = {
		.engine = dev->render,
		.priority = priority,
		.vm = vm.id,
	};

	tsr_context_free(dev, vm.context);
	require_ok(__tsr_context_create(dev->fd, &args));
	vm.context = args.id;
	*bo = tsr_bo_new(dev, BYTES, tsr_bit(tsr_seg_hidden(dev)), 0);
	tsr_vm_map(dev, vm.id, bo, 0, AT, bo->size, 0);
	tsr_vm_place(&vm, bo);
	return vm;
}

/*
 * Two jobs: the second follows the first in the ring, and can be preempted
 * after the first has ended.
 */
static uint32_t vm_begin_long(struct tsr_vm *vm)
{
	uint32_t sync = tsr_syncobj_new(vm->dev);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, BYTES, true);
	for (uint32_t i = 1; i <= FILLS; i++)
		tsr_cmd_fill(&cmd, 0, 0, WORDS, i);
	require(tsr_cmd_bytes(&cmd) <= vm->cmds.size);
	memcpy(vm->cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	for (int i = 0; i < 2; i++)
		require_ok(__tsr_submit_vm(vm->dev, vm->context, vm->at, tsr_cmd_bytes(&cmd), 0,
					   sync));
	tsr_cmd_fini(&cmd);
	return sync;
}

/*
 * After each preemption the job must use its own page tables again. Meanwhile a
 * job of another VM has used the same address, and its own VM has got other
 * mappings.
 */
static void page_tables_stay(void)
{
	uint32_t sync, begun, rounds = 0;
	struct tsr_bo mine, others, seen;
	struct tsr_vm low, high;
	struct scene s;

	scene_begin(&s);
	low = vm_with(&s.dev, DRM_TESSERA_PRIORITY_LOW, &mine);
	high = vm_with(&s.dev, DRM_TESSERA_PRIORITY_HIGH, &others);
	seen = staging(&s.dev, BYTES);
	tsr_vm_map(&s.dev, low.id, &seen, 0, BESIDE + BYTES, BYTES, 0);
	tsr_vm_map(&s.dev, high.id, &seen, 0, BESIDE + BYTES, BYTES, 0);
	tsr_vm_place(&low, &seen);
	tsr_trace_start("preempt", NULL);
	do {
		sync = vm_begin_long(&low);
		while (!is_over(&s, sync)) {
			tsr_vm_map(&s.dev, low.id, &others, 0, BESIDE, BYTES, 0);
			tsr_vm_fill(&high, AT, BYTES, 0xbad0000 + rounds++);
			tsr_vm_unmap(&s.dev, low.id, BESIDE, BYTES);
		}
		require_ok(tsr_syncobj_status(&s.dev, sync));
	} while (tsr_trace_so_far("preempt", 0) < 10);
	begun = times_preempted();
	tap_note("preempted in its middle %u times by %u jobs", begun, rounds);
	require(begun);
	tsr_vm_copy(&high, BESIDE + BYTES, AT, BYTES);
	tsr_words_check(seen.map, WORDS, 0xbad0000 + rounds - 1);
	tsr_vm_copy(&low, BESIDE + BYTES, AT, BYTES);
	tsr_words_check(seen.map, WORDS, FILLS);
	tsr_vm_close(&high);
	tsr_vm_close(&low);
	scene_end(&s);
}

/* A job that depends on one of low priority does not run before it. */
static void comes_behind(uint32_t priority)
{
	struct tsr_cmd cmd, last;
	struct scene s;
	uint32_t sync, *words = malloc(BYTES);

	require(words);
	scene_begin(&s);
	fills(&cmd, &s.work, fills_in(&s, 500), 7);
	fills(&last, &s.work, 1, 8);
	sync = begin_long(&s, &cmd);
	tsr_submit_done(&s.dev, tsr_context_prio(&s.dev, priority), &last);
	require_msg(is_over(&s, sync),
		    "expected the job to run after the writer of the same object, it ran before");
	require_ok(tsr_syncobj_status(&s.dev, sync));
	look(&s, words);
	tsr_words_check(words, WORDS, 8);
	tsr_cmd_fini(&cmd);
	tsr_cmd_fini(&last);
	scene_end(&s);
	free(words);
}

static void after_its_dependencies(void)
{
	comes_behind(DRM_TESSERA_PRIORITY_HIGH);
	comes_behind(DRM_TESSERA_PRIORITY_NORMAL);
}

/*
 * Each pass moves the contents of @bo up by one word, through @spare. A
 * repeated pass is noticed.
 */
static void shifts(struct tsr_cmd *cmd, const struct tsr_bo *bo, const struct tsr_bo *spare,
		   const struct tsr_bo *flags, uint32_t passes)
{
	tsr_cmd_init_pair(cmd, bo, spare);
	tsr_cmd_bind_buffer(cmd, 2, flags, true);
	tsr_cmd_fill(cmd, 2, 1, 1, 1);
	for (uint32_t i = 0; i < passes; i++) {
		tsr_cmd_copy(cmd, 1, 0, 0, 0, WORDS);
		tsr_cmd_copy(cmd, 0, 1, 1, 0, WORDS - 1);
	}
}

/*
 * The interrupt for the end of a job is lost, and the next job is preempted. It
 * must continue where it was.
 */
static void behind_an_end_that_was_missed(void)
{
	struct scene s;
	struct tsr_bo spare, flags;
	struct tsr_cmd cmd, mark;
	uint32_t sync, begun, passes, ms = 1000;
	volatile uint32_t *flag;

	scene_begin(&s);
	spare = tsr_bo_new(&s.dev, BYTES, tsr_bit(tsr_seg_hidden(&s.dev)), 0);
	flags = staging(&s.dev, KiB(4));
	flag = flags.map;
	tsr_gpu_touch(&s.dev, s.low, &spare);
	tsr_job_timeout("300000");
	tsr_cmd_init(&mark);
	tsr_cmd_bind_buffer(&mark, 0, &flags, true);
	tsr_cmd_fill(&mark, 0, 0, 1, 1);
	do {
		passes = fills_in(&s, ms) / 4;
		shifts(&cmd, &s.work, &spare, &flags, passes);
		tsr_gpu_fill(&s.dev, s.low, &flags, 0);
		for (uint32_t i = 0; i < WORDS; i++)
			((uint32_t *)s.seen.map)[i] = i;
		tsr_gpu_copy(&s.dev, s.low, &s.work, &s.seen);
		sync = tsr_syncobj_new(&s.dev);
		tsr_trace_start("preempt", NULL);
		tsr_host_set("x-drop-irq", "1");
		tsr_submit(&s.dev, s.low, &mark, 0, 0);
		tsr_wait_for(flag[0]);
		tsr_submit(&s.dev, s.low, &cmd, 0, sync);
		tsr_wait_for(flag[1]);
		tsr_submit_done(&s.dev, s.high, &s.brief);
		require_ok(tsr_syncobj_status(&s.dev, sync));
		begun = times_preempted();
		tsr_gpu_copy(&s.dev, s.low, &s.seen, &s.work);
		for (uint32_t i = 0; i < WORDS; i++)
			require_eq(((uint32_t *)s.seen.map)[i], i > passes ? i - passes : 0);
		tsr_cmd_fini(&cmd);
		require(ms < 16000);
		ms *= 2;
	} while (!begun);
	tsr_job_timeout_restore();
	tsr_cmd_fini(&mark);
	scene_end(&s);
}

#define FEW 12 /* the long job gets its turn after 16 jobs */
#define MANY 60

/*
 * Return the shortest time of @jobs jobs of high priority beside a long job, or
 * 0 if the long job has ended.
 */
static uint64_t shortest(struct scene *s, uint32_t jobs, uint32_t sync)
{
	uint64_t least = UINT64_MAX, ns;

	while (jobs--) {
		ns = tap_now_ns();
		tsr_submit_done(&s->dev, s->high, &s->brief);
		ns = tap_now_ns() - ns;
		least = ns < least ? ns : least;
		if (is_over(s, sync))
			return 0;
	}
	return least;
}

/*
 * The long job gets a slice only after several jobs have passed it, not before
 * each of them.
 */
static void slices_are_few(void)
{
	uint64_t before, behind;
	struct tsr_cmd cmd;
	struct scene s;
	uint32_t sync, ms = 2000;

	scene_begin(&s);
	tsr_job_timeout("300000");
	do {
		require(ms < 100000);
		fills(&cmd, &s.work, fills_in(&s, ms), 7);
		sync = begin_long(&s, &cmd);
		before = shortest(&s, FEW, sync);
		/* The long job gets its first turn during these. */
		shortest(&s, FEW, sync);
		behind = shortest(&s, MANY, sync);
		require_ok(tsr_syncobj_status(&s.dev, sync));
		tsr_cmd_fini(&cmd);
		ms *= 2;
	} while (!behind);
	tap_note("a job of high priority takes %.1f ms, and later %.1f ms", (double)before / 1e6,
		 (double)behind / 1e6);
	/* a slice is 10 ms */
	require_msg(behind < 9000000 || behind < 3 * before,
		    "expected few jobs of high priority to wait for a slice, each one did");
	tsr_job_timeout_restore();
	scene_end(&s);
}

/*
 * Two jobs of one context in the ring, and enough jobs of high priority that
 * both get turns: the second still runs after the first. On a busy machine few
 * jobs pass a short one, so repeat with longer jobs.
 */
static void low_keeps_its_order(void)
{
	uint32_t first, second, rounds, *words = malloc(BYTES), ms = 2500;
	struct tsr_cmd cmd, last;
	struct scene s;

	require(words);
	scene_begin(&s);
	fills(&last, &s.work, 1, 8);
	do {
		fills(&cmd, &s.work, fills_in(&s, ms), 7);
		first = begin_long(&s, &cmd);
		second = tsr_syncobj_new(&s.dev);
		tsr_submit(&s.dev, s.low, &last, 0, second);
		for (rounds = 0; !is_over(&s, second); rounds++)
			tsr_submit_done(&s.dev, s.high, &s.brief);
		require_msg(
			is_over(&s, first),
			"expected the jobs of a context to end in order, the second ended first");
		require_ok(tsr_syncobj_status(&s.dev, first));
		require_ok(tsr_syncobj_status(&s.dev, second));
		tap_note("passed by %u jobs in %u ms", rounds, ms);
		look(&s, words);
		tsr_words_check(words, WORDS, 8);
		tsr_cmd_fini(&cmd);
		ms *= 2;
	} while (rounds <= 20);
	tsr_cmd_fini(&last);
	scene_end(&s);
	free(words);
}

#define QUEUE 6

/*
 * Keep the engine busy with jobs of @ctx that take @ms each, until a job of low
 * priority that takes @low_ms has ended. Return how many of them ended before
 * it, counted from @after_ms on.
 */
static uint32_t jobs_before_low(struct scene *s, uint32_t ctx, uint32_t ms, uint32_t low_ms,
				uint32_t after_ms)
{
	uint32_t sync, ends[QUEUE], rounds = 0, late = 0;
	struct tsr_cmd cmd, busy;
	uint64_t until, after;

	fills(&cmd, &s->work, fills_in(s, low_ms), 7);
	fills(&busy, &s->other, fills_in(s, ms), 9);
	for (int i = 0; i < QUEUE; i++) {
		ends[i] = tsr_syncobj_new(&s->dev);
		tsr_submit(&s->dev, ctx, &busy, 0, ends[i]);
	}
	sync = tsr_syncobj_new(&s->dev);
	tsr_submit(&s->dev, s->low, &cmd, 0, sync);
	until = tsr_patience();
	after = tap_now_ns() + after_ms * 1000000ull;
	while (!is_over(s, sync)) {
		require_msg(tap_now_ns() < until,
			    "the job of low priority did not end beside %u jobs of higher priority",
			    rounds);
		require_ok(tsr_syncobj_status(&s->dev, ends[rounds % QUEUE]));
		tsr_submit(&s->dev, ctx, &busy, 0, ends[rounds % QUEUE]);
		rounds++;
		late += tap_now_ns() > after;
	}
	tap_note("%u jobs of higher priority while it ran, %u of them late", rounds, late);
	require_ok(tsr_syncobj_status(&s->dev, sync));
	for (int i = 0; i < QUEUE; i++)
		require_ok(tsr_syncobj_status(&s->dev, ends[i]));
	tsr_cmd_fini(&cmd);
	tsr_cmd_fini(&busy);
	return late;
}

static void low_gets_on(void)
{
	struct scene s;

	scene_begin(&s);
	jobs_before_low(&s, s.high, 4, 200, 0);
	scene_end(&s);
}

/*
 * With slices only, the low job would end after 450 jobs of 100 ms. The driver
 * lets it be delayed for four job timeouts, the time of 120 jobs. Then it gets
 * its turn after at most 16 jobs, and jobs of normal priority no longer preempt
 * it. Job times can change on a busy host, so only jobs after that time count.
 */
static void low_ends(void)
{
	uint32_t late;
	struct scene s;

	scene_begin(&s);
	tsr_job_timeout("3000");
	late = jobs_before_low(&s, tsr_context_prio(&s.dev, DRM_TESSERA_PRIORITY_NORMAL), 100, 900,
			       12000);
	tsr_job_timeout_restore();
	require_msg(late < 60, "the job of low priority waited for %u jobs after its limit", late);
	scene_end(&s);
}

#define PASSING 20

/*
 * Jobs that have passed a preempted job and have ended are uncharged although
 * the preempted job has not ended.
 */
static void ended_are_not_charged(void)
{
	uint64_t before, each, charged;
	struct tsr_cmd cmd;
	struct scene s;
	uint32_t sync;

	scene_begin(&s);
	/* The job takes longer than the test, which ends its time. */
	tsr_job_timeout_lift();
	fills(&cmd, &s.work, 1, 7);
	tsr_cmd_hang(&cmd, 0, WORDS);
	sync = begin_long(&s, &cmd);
	before = tsr_query_client(&s.dev).work_bytes;
	tsr_submit(&s.dev, s.high, &s.brief, 0, 0);
	each = tsr_query_client(&s.dev).work_bytes - before;
	for (uint32_t i = 0; i < PASSING; i++)
		tsr_submit_done(&s.dev, s.high, &s.brief);
	/* A kernel thread frees the jobs, and runs when a job ends. */
	do {
		tsr_submit_done(&s.dev, s.high, &s.brief);
		charged = tsr_query_client(&s.dev).work_bytes - before;
		require_msg(!is_over(&s, sync), "%llu bytes are charged, %llu for each job",
			    (unsigned long long)charged, (unsigned long long)each);
	} while (charged > PASSING / 4 * each);
	tsr_job_expire(s.dev.render);
	require_eq(tsr_syncobj_status(&s.dev, sync), -ETIME);
	tsr_cmd_fini(&cmd);
	scene_end(&s);
}

/*
 * The device ignores the preemption request (x-stick-preempt): the running job
 * is lost, and no other.
 */
static void no_answer(void)
{
	uint32_t sync, others, queued, bystander;
	struct tsr_cmd cmd, one;
	struct scene s;
	uint64_t ns;

	scene_begin(&s);
	/*
	 * Use another object, so that the bystander's job does not depend on
	 * the long job.
	 */
	fills(&one, &s.seen, 1, 1);
	bystander = tsr_context_prio(&s.dev, DRM_TESSERA_PRIORITY_LOW);
	/*
	 * The engine has a third of the job timeout to answer. The rest is so
	 * long that a busy machine makes no difference. The job writes a
	 * terabyte, which takes longer on any machine.
	 */
	tsr_job_timeout("20000");
	fills(&cmd, &s.work, (uint32_t)(MiB(1 << 20) / BYTES), 7);
	sync = begin_long(&s, &cmd);
	queued = tsr_syncobj_new(&s.dev);
	tsr_submit(&s.dev, bystander, &one, 0, queued);
	others = tsr_syncobj_new(&s.dev);
	tsr_host_set("x-stick-preempt", "1");
	ns = tap_now_ns();
	tsr_submit(&s.dev, s.high, &s.brief, 0, others);
	require_ok(tsr_syncobj_status(&s.dev, others));
	ns = tap_now_ns() - ns;
	tap_note("%.1f ms until the engine was reset, and the job ran", (double)ns / 1e6);
	require_eq(tsr_syncobj_status(&s.dev, sync), -ETIME);
	require_ok(tsr_syncobj_status(&s.dev, queued));
	require_msg(ns < 19000000000ull,
		    "expected the preemption timeout to reset the engine, the job timeout did");
	tsr_job_timeout_restore();
	tsr_submit_done(&s.dev, bystander, &one);
	tsr_cmd_fini(&one);
	tsr_cmd_fini(&cmd);
	scene_end(&s);
}

/*
 * The device ignores the request and the job ends by itself: no job is lost,
 * then or later.
 */
static void no_answer_no_job(void)
{
	struct tsr_cmd cmd;
	struct scene s;
	uint32_t sync;

	scene_begin(&s);
	fills(&cmd, &s.work, fills_in(&s, 150), 7);
	sync = begin_long(&s, &cmd);
	tsr_host_set("x-stick-preempt", "1");
	tsr_submit_done(&s.dev, s.high, &s.brief);
	require_ok(tsr_syncobj_status(&s.dev, sync));
	for (int i = 0; i < 3; i++)
		tsr_submit_done(&s.dev, s.low, &s.brief);
	tsr_host_set("x-stick-preempt", "0");
	tsr_cmd_fini(&cmd);
	scene_end(&s);
}

#define QUEUES 64
#define ROUNDS 2
#define ABOVE 64

/*
 * A client has many queues of one priority, and @above jobs of high priority
 * behind a stuck one. When a job ends, the scheduler must not ask for a job of
 * each queue: other clients' jobs would wait for all the answers. A job is asked
 * for at most once behind another queue's and once behind the ring's, and twice
 * is spare. The first job of all queues is asked for once more after each job of
 * high priority.
 */
static void few_are_asked_of(uint32_t priority, uint32_t above)
{
	struct tsr_device dev = tsr_open();
	uint32_t contexts[QUEUES], last = tsr_syncobj_new(&dev), high;
	struct tsr_stuck stuck;
	struct tsr_trace trace;
	struct tsr_cmd cmd;
	size_t asked;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 8);
	for (uint32_t i = 0; i < QUEUES; i++)
		contexts[i] = tsr_context_prio(&dev, priority);
	high = tsr_context_prio(&dev, DRM_TESSERA_PRIORITY_HIGH);
	stuck = tsr_stuck_start(&dev, above ? high : tsr_context_new(&dev, 0));
	tsr_trace_start_kernel("gpu_scheduler/drm_sched_job_wait_dep", "0");
	for (uint32_t i = 0; i < QUEUES * ROUNDS; i++)
		tsr_submit(&dev, contexts[i % QUEUES], &cmd, 0, last);
	for (uint32_t i = 0; i < above; i++)
		tsr_submit(&dev, high, &cmd, 0, last);
	tsr_stuck_end(&stuck);
	for (uint32_t i = 0; i < QUEUES; i++)
		tsr_submit_done(&dev, contexts[i], &cmd);
	trace = tsr_trace_stop();
	require(!trace.lost);
	asked = tsr_trace_count(&trace, "drm_sched_job_wait_dep");
	tap_note("%zu waits of %u jobs", asked, QUEUES * (ROUNDS + 1) + above);
	require(asked <= 4 * (QUEUES * (ROUNDS + 1) + above));
	tsr_trace_free(&trace);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static void few_are_asked(void)
{
	few_are_asked_of(DRM_TESSERA_PRIORITY_NORMAL, 0);
}

/* As many jobs of high priority as queues: all queues times all these is more. */
static void few_are_asked_below(void)
{
	few_are_asked_of(DRM_TESSERA_PRIORITY_LOW, ABOVE);
}

static const struct tap_test tests[] = {
	{ "SCHED-8 high priority does not wait for a job that runs", high_does_not_wait, 0, 60 },
	{ "SCHED-7 a job that is preempted leaves the same bytes", same_result, 0, 90 },
	{ "SCHED-7 MODEL-18 a job at addresses goes on with its page tables", page_tables_stay, 0,
	  90 },
	{ "SCHED-8 a job runs after the jobs that it depends on", after_its_dependencies, 0, 60 },
	{ "SCHED-7 a job is preempted after a lost end-of-job interrupt",
	  behind_an_end_that_was_missed, 0, 90 },
	{ "SCHED-8 few jobs of high priority wait for a slice", slices_are_few, 0, 60 },
	{ "SCHED-8 jobs of a context keep their order", low_keeps_its_order, 0, 60 },
	{ "SCHED-8 a job of low priority makes progress", low_gets_on, 0, 90 },
	{ "SCHED-8 a job of low priority ends", low_ends, 0, 120 },
	{ "SCHED-8 jobs that have passed another are not charged when they have ended",
	  ended_are_not_charged, 0, 60 },
	{ "SCHED-8 few of a client's queues are asked when a job ends", few_are_asked, 0, 60 },
	{ "SCHED-8 few queues of low priority are asked when a job above ends", few_are_asked_below,
	  0, 60 },
	{ "SCHED-10 an engine that does not answer loses its job", no_answer, 0, 60 },
	{ "SCHED-10 an engine that does not answer after its job ended loses none",
	  no_answer_no_job, 0, 60 },
};

TSR_TEST_MAIN(tests)
