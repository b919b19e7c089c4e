// SPDX-License-Identifier: MIT
/*
 * Fair shares of a segment among processes (SEG-8). Several clients want more
 * than the segment holds; the memory that each one has must converge to its
 * share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

#define MAX_CLIENTS 4
#define MAX_FILES 3

/* Shared memory: instructions for a client, and its reports. */
struct client {
	volatile uint32_t segment; /* id of the segment */
	volatile uint64_t want; /* total size of its objects in bytes */
	volatile uint64_t object; /* size of one object in bytes */
	volatile uint32_t sleep_us; /* pause between jobs */
	volatile uint32_t also_segment; /* segment to keep full as well; 0: none */
	volatile uint32_t files; /* if above 1: use that many open files in turn */
	volatile bool go, stop, ready, rests;
	volatile uint64_t used, share, resident, jobs;
	/* in turn mode: number of allowed turns, and start of the last one */
	volatile uint64_t asked, began;
};

static struct client *clients;

/* Also keeps shares from expiring, unless a test changes the knob again. */
static void share_memory(void)
{
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	clients = mmap(NULL, sizeof(*clients) * MAX_CLIENTS, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(clients != MAP_FAILED);
	memset(clients, 0, sizeof(*clients) * MAX_CLIENTS);
}

/* Uses random objects, one per job. */
static void run_client(void *arg)
{
	struct client *c = arg;
	uint32_t files = c->files ? c->files : 1, count = (uint32_t)(c->want / c->object);
	struct tsr_device devs[MAX_FILES], dev;
	const struct drm_tessera_query_segment *seg;
	uint32_t contexts[MAX_FILES], ctx;
	struct tsr_bo *bos = calloc(count, sizeof(*bos)), also[8];
	uint64_t rng = c->segment * 77 + c->want + (uint64_t)(c - clients);
	char key[64];

	require(bos && files <= MAX_FILES);
	for (uint32_t i = 0; i < files; i++) {
		devs[i] = tsr_open();
		contexts[i] = tsr_context_new(&devs[i], 0);
	}
	dev = devs[0];
	ctx = contexts[0];
	seg = tsr_seg_by_id(&dev, c->segment);
	snprintf(key, sizeof(key), "drm-resident-%s", seg->name);
	for (uint32_t i = 0; i < count; i++)
		bos[i] = tsr_bo_new(&devs[i % files], c->object, tsr_bit(seg), 0);
	if (c->also_segment) {
		const struct drm_tessera_query_segment *s = tsr_seg_by_id(&dev, c->also_segment);

		for (int i = 0; i < 8; i++)
			also[i] = tsr_bo_new(&dev, s->size / 8, tsr_bit(s), 0);
	}
	c->ready = true;
	while (!c->stop) {
		struct drm_tessera_query_memory m;
		uint32_t i = (uint32_t)(tap_random(&rng) % count);
		struct tsr_cmd cmd;

		c->rests = !c->go;
		if (c->rests) {
			usleep(1000);
			continue;
		}
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
		tsr_submit_done(&devs[i % files], contexts[i % files], &cmd);
		tsr_cmd_fini(&cmd);
		if (c->also_segment)
			tsr_gpu_touch(&dev, ctx, &also[c->jobs % 8]);
		m = tsr_query_memory(&dev, c->segment);
		c->used = m.client_used;
		c->share = m.client_share;
		if (c->jobs % 16 == 0)
			c->resident = (uint64_t)tsr_fdinfo(&dev, key);
		c->jobs++;
		if (c->sleep_us)
			usleep(c->sleep_us);
	}
	free(bos);
	for (uint32_t i = 0; i < files; i++)
		tsr_close(&devs[i]);
}

#define VM_AT 0x100000000ull

/* The client's residency list, oldest entry first. */
struct listed {
	uint32_t *handles, first, count, max;
};

static void unlist_oldest(struct tsr_device *dev, struct listed *listed)
{
	require_ok(__tsr_evict(dev->fd, &listed->handles[listed->first], 1));
	listed->first = (listed->first + 1) % listed->max;
	listed->count--;
}

/* Makes an object resident. Removes the oldest entries if told to (-ENOMEM). */
static void list_one(struct tsr_device *dev, struct listed *listed, uint32_t handle)
{
	for (uint32_t i = 0; i < listed->count; i++)
		if (listed->handles[(listed->first + i) % listed->max] == handle)
			return;
	while (__tsr_make_resident(dev->fd, &handle, 1, 0, NULL) == -ENOMEM) {
		require(listed->count);
		unlist_oldest(dev, listed);
	}
	listed->handles[(listed->first + listed->count++) % listed->max] = handle;
}

/*
 * The same client at virtual addresses. None of its jobs may fail, however much
 * other clients take away.
 */
static void run_vm_client(void *arg)
{
	struct client *c = arg;
	uint32_t count = (uint32_t)(c->want / c->object), sync;
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_by_id(&dev, c->segment);
	struct tsr_bo *bos = calloc(count, sizeof(*bos));
	struct listed listed = { .handles = calloc(count, sizeof(uint32_t)), .max = count };
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint64_t rng = c->want;

	require(bos && listed.handles);
	for (uint32_t i = 0; i < count; i++) {
		bos[i] = tsr_bo_new(&dev, c->object, tsr_bit(seg), 0);
		tsr_vm_map(&dev, vm.id, &bos[i], 0, VM_AT + i * c->object, c->object, 0);
	}
	require_ok(__tsr_make_one(&dev, &vm.cmds));
	sync = tsr_syncobj_new(&dev);
	c->ready = true;
	while (!c->stop) {
		uint32_t i = (uint32_t)(tap_random(&rng) % count);
		struct drm_tessera_query_memory m;
		struct tsr_cmd cmd;
		int rc;

		c->rests = !c->go;
		if (c->rests) {
			usleep(1000);
			continue;
		}
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_address(&cmd, 0, VM_AT + i * c->object, c->object, true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
		memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
		do {
			list_one(&dev, &listed, bos[i].handle);
			rc = __tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, sync);
			/* other clients took what was above the share */
			if (rc == -ENOMEM)
				unlist_oldest(&dev, &listed);
		} while (rc == -ENOMEM);
		require_ok(rc);
		require_eq(tsr_syncobj_status(&dev, sync), 0);
		tsr_cmd_fini(&cmd);
		m = tsr_query_memory(&dev, c->segment);
		c->used = m.client_used;
		c->share = m.client_share;
		c->jobs++;
		if (c->sleep_us)
			usleep(c->sleep_us);
	}
	require_eq(tsr_context_status(&dev, vm.context).reset, DRM_TESSERA_RESET_NONE);
	free(bos);
	free(listed.handles);
	tsr_close(&dev);
}

static pid_t start_client(int n, uint32_t segment, uint64_t want, uint64_t object)
{
	clients[n].segment = segment;
	clients[n].want = want;
	clients[n].object = object;
	return tap_fork(run_client, &clients[n]);
}

static void stop_client(int n, pid_t pid)
{
	clients[n].stop = true;
	tap_join(pid);
}

/* jobs needed to take a share: it grows with use, not with time */
#define CONVERGE_JOBS 300
/* jobs of each active client during which its use is averaged */
#define AVERAGE_JOBS 50

/* True if all active clients have run that many jobs since @before. */
static bool had_turns(const uint64_t before[MAX_CLIENTS], uint64_t jobs)
{
	for (int i = 0; i < MAX_CLIENTS; i++)
		if (clients[i].go && clients[i].jobs - before[i] <= jobs)
			return false;
	return true;
}

/* A wait that is limited by the jobs of the clients. */
struct patience {
	uint64_t before[MAX_CLIENTS];
};

static struct patience be_patient(void)
{
	struct patience p;

	for (int i = 0; i < MAX_CLIENTS; i++)
		p.before[i] = clients[i].jobs;
	return p;
}

static bool has_an_end(const struct patience *p)
{
	return had_turns(p->before, CONVERGE_JOBS);
}

/* Waits until a client uses @lo to @hi of @of bytes. */
static void reaches(int n, uint64_t of, double lo, double hi)
{
	struct patience patience = be_patient();

	for (;;) {
		double part = (double)clients[n].used / (double)of;

		if (part >= lo && part <= hi)
			return;
		require_msg(!has_an_end(&patience), "client %d has %.2f, not %.2f to %.2f", n, part,
			    lo, hi);
		usleep(1000);
	}
}

/*
 * Average use of a client as a part of @of, over jobs of all active clients: in
 * a fixed time a loaded machine may run none.
 */
static double average(int n, uint64_t of)
{
	struct patience patience = be_patient();
	unsigned int samples = 0;
	double sum = 0;

	do {
		sum += (double)clients[n].used / (double)of;
		samples++;
		usleep(5000);
	} while (!had_turns(patience.before, AVERAGE_JOBS));
	return sum / samples;
}

/*
 * Two clients want more than the segment: each gets half of the rest. A third
 * one wants little, and keeps it. With @also set, the first client fills that
 * segment as well, and a fourth one uses only that segment.
 */
static void two_large_one_small(uint32_t also, double *half)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t object = seg->size / 32, evictions = 0;
	struct tsr_trace trace;
	double part[3];
	pid_t pids[4];

	share_memory();
	clients[0].also_segment = also;
	if (also) {
		clients[3].sleep_us = 10000;
		clients[3].go = true;
		pids[3] = start_client(3, also, object, object);
	}
	pids[0] = start_client(0, seg->id, 2 * seg->size, object);
	pids[1] = start_client(1, seg->id, 2 * seg->size, object);
	clients[2].sleep_us = 10000;
	pids[2] = start_client(2, seg->id, seg->size / 8, object);
	for (int i = 0; i < 3; i++)
		while (!clients[i].ready)
			usleep(1000);
	/* the small one first, so that it has what it wants */
	clients[2].go = true;
	reaches(2, seg->size, 0.125, 0.125);
	clients[0].go = true;
	reaches(0, seg->size, 0.8, 0.875);
	/* the second one starts late, and must still get its half */
	clients[1].go = true;
	reaches(1, seg->size, 0.4, 0.55);
	reaches(0, seg->size, 0.33, 0.475);
	tsr_trace_start("evict", NULL);
	for (int i = 0; i < 3; i++)
		part[i] = average(i, seg->size);
	trace = tsr_trace_stop();
	evictions = tsr_trace_count(&trace, "evict");
	tap_note("parts of the segment: %.2f %.2f %.2f, %llu evictions, %llu %llu %llu jobs",
		 part[0], part[1], part[2], (unsigned long long)evictions,
		 (unsigned long long)clients[0].jobs, (unsigned long long)clients[1].jobs,
		 (unsigned long long)clients[2].jobs);
	tap_note("shares: %llu %llu %llu", (unsigned long long)clients[0].share,
		 (unsigned long long)clients[1].share, (unsigned long long)clients[2].share);
	require(evictions);
	/* the small one always has all that it wants */
	require_eq(clients[2].used, seg->size / 8);
	require(part[2] > 0.124);
	/* the other two share the rest evenly */
	require(part[0] > 0.33 && part[0] < 0.55);
	require(part[1] > 0.33 && part[1] < 0.55);
	/* fdinfo fits the ioctl, and the share is the guaranteed part */
	require(clients[0].resident <= seg->size && clients[0].resident >= seg->size / 4);
	require_eq(clients[2].share, seg->size / 3);
	for (int i = 0; i < (also ? 4 : 3); i++) {
		require(clients[i].jobs);
		stop_client(i, pids[i]);
	}
	*half = part[1];
	tsr_close(&dev);
}

static void converges_to_half(void)
{
	double half;

	two_large_one_small(0, &half);
}

/* The same while one client fills another segment: no difference. */
static void shares_do_not_depend_on_other_segments(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t hidden = tsr_seg_hidden(&dev)->id;
	double half;

	tsr_close(&dev);
	two_large_one_small(hidden, &half);
}

/* An unused share is lent, and returned when its owner needs it. */
static void idle_share_is_lent(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	pid_t pids[2];

	share_memory();
	for (int i = 0; i < 2; i++)
		pids[i] = start_client(i, seg->id, 2 * seg->size, seg->size / 32);
	clients[0].go = true;
	reaches(0, seg->size, 0.97, 1);
	for (int round = 0; round < 2; round++) {
		double first, second;

		clients[1].go = true;
		reaches(1, seg->size, 0.45, 0.55);
		reaches(0, seg->size, 0.45, 0.55);
		first = average(0, seg->size);
		second = average(1, seg->size);
		require_msg(first > 0.4 && first < 0.6, "first %.2f", first);
		require_msg(second > 0.4 && second < 0.6, "second %.2f", second);
		/* the client keeps its objects, but submits no jobs */
		clients[1].go = false;
		tsr_wait_for(clients[1].rests);
		tsr_knob("demand_period_ms", "20");
		usleep(100000);
		reaches(0, seg->size, 0.97, 1);
		require(average(0, seg->size) > 0.97);
		tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	}
	for (int i = 0; i < 2; i++)
		stop_client(i, pids[i]);
	tsr_close(&dev);
}

/* One job per turn, on the next object in a circle. */
static void run_in_turns(void *arg)
{
	struct client *c = arg;
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_by_id(&dev, c->segment);
	uint32_t ctx = tsr_context_new(&dev, 0), count = (uint32_t)(c->want / c->object);
	struct tsr_bo *bos = calloc(count, sizeof(*bos));

	require(bos);
	for (uint32_t i = 0; i < count; i++)
		bos[i] = tsr_bo_new(&dev, c->object, tsr_bit(seg), 0);
	c->ready = true;
	while (!c->stop) {
		if (c->jobs == c->asked) {
			usleep(100);
			continue;
		}
		c->began = tap_now_ns();
		tsr_gpu_touch(&dev, ctx, &bos[c->jobs % count]);
		c->used = tsr_query_memory(&dev, c->segment).client_used;
		c->jobs++;
	}
	free(bos);
	tsr_close(&dev);
}

#define WHOLE 16 /* number of objects that fill a segment */

/*
 * Demand also expires if no client queries memory: the submission that needs
 * space checks for it.
 */
static void idle_share_lapses_unasked(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[WHOLE];
	pid_t pid;

	share_memory();
	clients[0].segment = seg->id;
	clients[0].want = seg->size;
	clients[0].object = seg->size / WHOLE;
	clients[0].asked = WHOLE;
	pid = tap_fork(run_in_turns, &clients[0]);
	tsr_wait_for(clients[0].jobs == WHOLE);
	require_eq(clients[0].used, seg->size);
	/* from here on neither client queries memory or budgets */
	tsr_knob("demand_period_ms", "1");
	usleep(100000);
	for (uint32_t i = 0; i < WHOLE; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size / WHOLE, tsr_bit(seg), 0);
		tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	for (uint32_t i = 0; i < WHOLE; i++)
		require_msg(tsr_bo_info(&dev, &bos[i]).segment == seg->id,
			    "expected the idle client's share to be lent, object %u was evicted",
			    i);
	stop_client(0, pid);
	tsr_close(&dev);
}

/* ---- with the default demand period ---------------------------------- */

static uint64_t period_ns; /* the default demand_period_ms */
static bool turn_was_late;

/*
 * True if a turn took so long that the demand of a client expired. Then other
 * clients may take its memory, and the test proves nothing.
 */
static bool was_late(void)
{
	return turn_was_late;
}

static void take_turn(int n)
{
	struct client *c = &clients[n];
	uint64_t before = c->began;

	c->asked++;
	tsr_wait_for(c->jobs == c->asked);
	turn_was_late |= before && c->began - before >= period_ns;
}

static double part_of(int n, const struct drm_tessera_query_segment *seg)
{
	return (double)clients[n].used / (double)seg->size;
}

/*
 * Two clients that want twice the segment each get half of what a small one
 * leaves, and the small one keeps all it uses. Memory of a client that stops is
 * lent after it was unused for the whole period, not earlier.
 */
static void with_the_window_that_ships(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	char *text = tsr_debugfs_read("demand_period_ms");
	const uint64_t want[] = { 2 * seg->size, 2 * seg->size, seg->size / 8 };
	uint64_t idle;
	pid_t pids[3];

	share_memory();
	tsr_knob_restore("demand_period_ms");
	period_ns = strtoull(text, NULL, 10) * 1000000;
	free(text);
	require(period_ns >= 100000000);
	tap_excuse(was_late);
	for (int i = 0; i < 3; i++) {
		clients[i].segment = seg->id;
		clients[i].want = want[i];
		clients[i].object = seg->size / 32;
		pids[i] = tap_fork(run_in_turns, &clients[i]);
		tsr_wait_for(clients[i].ready);
	}
	for (int i = 0; i < 4; i++)
		take_turn(2);
	for (int i = 0; i < 64; i++) {
		take_turn(0);
		take_turn(2);
	}
	require_eq(clients[0].used + clients[2].used, seg->size);
	/* the second client starts late */
	for (int i = 0; i < 128; i++) {
		take_turn(0);
		take_turn(1);
		take_turn(2);
		require_eq(clients[2].used, seg->size / 8);
	}
	for (int i = 0; i < 2; i++)
		require_msg(part_of(i, seg) > 0.33 && part_of(i, seg) < 0.55,
			    "expected client %d to have 0.44 of the segment, it has %.2f", i,
			    part_of(i, seg));
	idle = clients[1].began;
	do {
		take_turn(0);
		take_turn(2);
	} while (part_of(0, seg) < 0.6);
	require_msg(clients[0].began - idle >= period_ns,
		    "memory last used %llu ms ago was lent, expected that after the demand period "
		    "of %llu ms",
		    (unsigned long long)(clients[0].began - idle) / 1000000,
		    (unsigned long long)period_ns / 1000000);
	require_eq(clients[2].used, seg->size / 8);
	for (int i = 0; i < 3; i++)
		stop_client(i, pids[i]);
	tsr_close(&dev);
}

static void take_everything(void *arg)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < dev.num_segs; i++) {
		const struct drm_tessera_query_segment *seg = &dev.segs[i];
		bool ro = seg->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY;
		struct tsr_bo bo = tsr_bo_new(&dev, seg->commit_limit, tsr_bit(seg),
					      ro ? DRM_TESSERA_BO_GPU_READ_ONLY : 0);

		tsr_gpu_touch(&dev, ctx, &bo);
		require_eq(tsr_query_memory(&dev, seg->id).client_used, seg->commit_limit);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

/* Each process can use the whole of every segment: nothing is reserved. */
static void each_can_have_everything(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo idle = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);
	uint32_t word;

	/*
	 * an idle process with half of the segment does not prevent that, and
	 * loses no bytes
	 */
	tsr_gpu_fill(&dev, ctx, &idle, 0x1d1e);
	for (int i = 0; i < 3; i++)
		tap_join(tap_fork(take_everything, NULL));
	tsr_gpu_read(&dev, ctx, &idle, idle.size / 4 - 1, 1, &word);
	require_eq(word, 0x1d1e);
	tsr_close(&dev);
}

static bool half_each(uint64_t size, uint64_t more)
{
	for (int i = 0; i < 2; i++)
		if (clients[i].share < size / 2 || clients[i].share > size / 2 + more)
			return false;
	return true;
}

/* Three files of one process have one share together. */
static void files_of_one_process(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t object = seg->size / 32;
	struct patience patience;
	pid_t pids[2];

	share_memory();
	clients[0].files = MAX_FILES;
	for (int i = 0; i < 2; i++)
		pids[i] = start_client(i, seg->id, 2 * seg->size, object);
	for (int i = 0; i < 2; i++) {
		while (!clients[i].ready)
			usleep(1000);
		clients[i].go = true;
	}
	for (int i = 0; i < 2; i++)
		reaches(i, seg->size, 0.45, 0.55);
	/*
	 * A share is half of the segment plus what the other client leaves
	 * free. That part grows while the other client is not scheduled.
	 */
	patience = be_patient();
	while (!half_each(seg->size, 4 * object)) {
		require_msg(!has_an_end(&patience), "shares %llu and %llu of %llu",
			    (unsigned long long)clients[0].share,
			    (unsigned long long)clients[1].share, (unsigned long long)seg->size);
		usleep(1000);
	}
	/* fdinfo describes a single file */
	require(clients[0].resident < clients[0].used);
	for (int i = 0; i < 2; i++)
		stop_client(i, pids[i]);
	tsr_close(&dev);
}

/*
 * A client with allocation lists and one at virtual addresses both want more
 * than the segment: each gets half. No job may fail, and no context may be
 * lost.
 */
static void both_models(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct patience patience;
	pid_t pids[2];

	share_memory();
	for (int first = 0; first < 2; first++) {
		memset(clients, 0, sizeof(*clients) * MAX_CLIENTS);
		pids[0] = start_client(0, seg->id, 2 * seg->size, seg->size / 32);
		clients[1] = clients[0];
		clients[1].ready = false;
		pids[1] = tap_fork(run_vm_client, &clients[1]);
		for (int i = 0; i < 2; i++)
			while (!clients[i].ready)
				usleep(1000);
		/* the client that starts late must still get its half */
		clients[first].go = true;
		reaches(first, seg->size, 0.97, 1);
		clients[!first].go = true;
		reaches(!first, seg->size, 0.45, 0.55);
		reaches(first, seg->size, 0.45, 0.55);
		patience = be_patient();
		while (!has_an_end(&patience))
			usleep(1000);
		for (int i = 0; i < 2; i++) {
			double part = average(i, seg->size);

			require_msg(part > 0.4 && part < 0.6, "client %d has %.2f", i, part);
		}
		for (int i = 0; i < 2; i++)
			stop_client(i, pids[i]);
	}
	tsr_close(&dev);
}

static void set_weight(struct tsr_device *dev, const struct drm_tessera_query_segment *seg,
		       pid_t pid, uint32_t weight)
{
	struct drm_tessera_budget args = {
		.segments = tsr_bit(seg),
		.flags = DRM_TESSERA_BUDGET_WEIGHT,
		.weight = weight,
		.pid = pid,
	};

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_BUDGET, &args));
	require_eq(args.weight, DRM_TESSERA_WEIGHT_DEFAULT); /* the caller's own */
}

/*
 * RES-11: of two clients that want more than the segment, the one with three
 * times the weight gets three times as much. Then they change places.
 */
static void weights_divide(void (*run)(void *arg))
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	pid_t pids[2];

	share_memory();
	for (int i = 0; i < 2; i++) {
		clients[i].segment = seg->id;
		clients[i].want = 2 * seg->size;
		clients[i].object = seg->size / 32;
		pids[i] = tap_fork(run, &clients[i]);
	}
	tsr_wait_for(clients[0].ready && clients[1].ready);
	for (int heavy = 0; heavy < 2; heavy++) {
		set_weight(&dev, seg, pids[heavy], 300);
		set_weight(&dev, seg, pids[!heavy], 100);
		clients[0].go = true;
		clients[1].go = true;
		reaches(heavy, seg->size, 0.7, 0.78);
		reaches(!heavy, seg->size, 0.22, 0.3);
		require_eq(clients[heavy].share, seg->size / 4 * 3);
		for (int i = 0; i < 2; i++) {
			double part = average(i, seg->size), want = i == heavy ? 0.75 : 0.25;

			tap_note("client %d of weight %d has %.2f", i, i == heavy ? 300 : 100,
				 part);
			require(part > want - 0.05 && part < want + 0.05);
		}
	}
	for (int i = 0; i < 2; i++)
		stop_client(i, pids[i]);
	tsr_close(&dev);
}

static void weights(void)
{
	weights_divide(run_client);
}

static void weights_vm(void)
{
	weights_divide(run_vm_client);
}

static void use_file(void *arg)
{
	struct tsr_device *dev = arg;
	struct tsr_bo bo = tsr_bo_new(dev, MiB(1), tsr_bit(tsr_seg_visible(dev)), 0);

	tsr_gpu_touch(dev, tsr_context_new(dev, 0), &bo);
}

/*
 * The process that creates the first object through a file is charged for the
 * file, not the process that opened it, nor one that inherits it.
 */
static void process_of_a_file(void)
{
	struct tsr_device mine = tsr_open(), given = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&mine);
	struct tsr_bo bo = tsr_bo_new(&mine, MiB(2), tsr_bit(seg), 0);

	tsr_gpu_touch(&mine, tsr_context_new(&mine, 0), &bo);
	tap_join(tap_fork(use_file, &given));
	require_eq(tsr_query_memory(&mine, seg->id).client_used, MiB(2));
	require_eq(tsr_query_memory(&given, seg->id).client_used, MiB(1));
	tap_join(tap_fork(use_file, &mine));
	require_eq(tsr_query_memory(&mine, seg->id).client_used, MiB(3));
	tsr_close(&given);
	tsr_close(&mine);
}

#define UNITS 8 /* the test counts in eighths of the segment */

static void hold_five(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < 5; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, client->arg, tsr_bit(tsr_seg_visible(&dev)), 0);

		tsr_gpu_touch(&dev, ctx, &bo);
	}
	client->state->ready = true;
	pause();
}

/*
 * The objects that a planned submission names and already has must not count
 * twice. Otherwise the client would seem to be above its share, and would evict
 * an object of its own instead of one of the client that is above.
 */
static void resident_objects_count_once(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t forced = tsr_context_new(&dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	struct tsr_client b = { 0 };
	struct tsr_bo bos[4];
	struct tsr_cmd cmd;

	share_memory();
	tsr_client_start(&b, hold_five, seg->size / UNITS);
	tsr_wait_for(b.state->ready);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = tsr_bo_new(&dev, seg->size / UNITS, tsr_bit(seg), 0);
		if (i < 3)
			tsr_gpu_touch(&dev, ctx, &bos[i]);
	}
	require_eq(tsr_query_memory(&dev, seg->id).used, seg->size);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	for (uint32_t i = 1; i < ARRAY_SIZE(bos); i++)
		tsr_cmd_bind_buffer(&cmd, i, &bos[i], true);
	tsr_cmd_group_end(&cmd);
	tsr_cmd_fill(&cmd, 3, 0, 16, 1);
	tsr_submit_done(&dev, forced, &cmd);
	tsr_cmd_fini(&cmd);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, seg->id);
	tsr_client_kill(&b);
	tsr_close(&dev);
}

#define ABOVE 9 /* sixteenths of the segment; a share is eight */

/*
 * Holds one object more than its share. Lists its objects as resident if
 * client->arg is set. In the end it must still have its list, or its share.
 */
static void hold_above(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);

	for (uint32_t i = 0; i < ABOVE; i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 16, tsr_bit(seg), 0);

		if (client->arg)
			require_ok(__tsr_make_one(&dev, &bo));
		else
			tsr_gpu_touch(&dev, ctx, &bo);
	}
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	require_eq(tsr_query_memory(&dev, seg->id).client_used,
		   (ABOVE - !client->arg) * (seg->size / 16));
	tsr_close(&dev);
}

/*
 * The caller has to trim @trim objects to make a large one resident. It would
 * then have more than the other client, which is one object above its share.
 */
static void trim_beside(bool listed, uint32_t trim)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	const uint64_t one = seg->size / 16;
	struct tsr_bo bos[7], large = tsr_bo_new(&dev, 4 * one, tsr_bit(seg), 0);
	struct drm_tessera_make_resident out;
	struct tsr_client other;

	share_memory();
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, one, tsr_bit(seg), 0);
	tsr_make_resident(&dev, bos, ARRAY_SIZE(bos));
	tsr_client_start(&other, hold_above, listed);
	tsr_wait_for(other.state->ready);
	require_eq(tsr_query_memory(&dev, seg->id).used, seg->size);
	/* behind the freed object lies the other client's oldest one */
	tsr_bo_free(&dev, &bos[6]);
	require_err(__tsr_make_resident(dev.fd, &large.handle, 1, 0, &out), -ENOMEM);
	require_eq(out.bytes_to_trim, trim * one);
	require_eq(out.trim_segments, tsr_bit(seg));
	tsr_evict(&dev, &bos[6 - trim], trim);
	require_ok(__tsr_make_one(&dev, &large));
	for (uint32_t i = 0; i < 6 - trim; i++)
		require_eq(tsr_bo_info(&dev, &bos[i]).segment, seg->id);
	other.state->stop = true;
	tsr_client_join(&other);
	tsr_close(&dev);
}

static void others_excess_is_not_trimmed(void)
{
	trim_beside(false, 2);
}

/*
 * A client that would have more than the other one does not take an object from
 * the other one's list.
 */
static void others_list_is_not_taken(void)
{
	trim_beside(true, 3);
}

#define SMALL 100 /* objects of one page */
/*
 * Objects examined by an eviction with one victim beside another process: the
 * client's newest object, because it was used after it was placed, the oldest
 * object of each process, and the object after the victim.
 */
#define LOOKS 4

/* Small objects, and one that fills the rest but client->arg bytes. */
static void hold_small(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t rest = seg->size - SMALL * 4096 - client->arg;
	struct tsr_cmd cmd;
	struct tsr_bo bo;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < SMALL; i++) {
		bo = tsr_bo_new(&dev, 4096, tsr_bit(seg), 0);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, 0, 16, i);
	}
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
	if (rest) {
		bo = tsr_bo_new(&dev, rest, tsr_bit(seg), 0);
		tsr_gpu_touch(&dev, ctx, &bo);
	}
	client->state->ready = true;
	pause();
}

/* Uses objects in turn. Each evicts another object. */
static void evict_in_turn(struct tsr_device *dev, struct tsr_bo *bos, uint32_t count,
			  uint32_t settled, uint32_t rounds)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	uint32_t ctx = tsr_context_new(dev, 0);

	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t before = tsr_looked(seg->id), looks;

		require(tsr_bo_info(dev, &bos[i % count]).segment != seg->id);
		tsr_gpu_touch(dev, ctx, &bos[i % count]);
		require_eq(tsr_bo_info(dev, &bos[i % count]).segment, seg->id);
		looks = tsr_looked(seg->id) - before;
		tap_note("eviction %u looked at %llu objects", i, (unsigned long long)looks);
		/*
		 * the first evictions also sort objects that were used since
		 * they were placed
		 */
		if (i >= settled)
			require_eq(looks, LOOKS);
	}
}

/* All victims belong to the other process. */
static void looks_at_victims_only(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo bos[8];
	struct tsr_client other;

	share_memory();
	tsr_client_start(&other, hold_small, 0);
	tsr_wait_for(other.state->ready);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, 4096, tsr_bit(seg), 0);
	evict_in_turn(&dev, bos, ARRAY_SIZE(bos), 1, ARRAY_SIZE(bos));
	tsr_client_kill(&other);
	tsr_close(&dev);
}

/* The victims are the client's own: the other process is within its share. */
static void looks_past_the_protected(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint64_t mine = seg->size - MiB(2);
	struct tsr_bo bos[4];
	struct tsr_client other;

	share_memory();
	tsr_client_start(&other, hold_small, mine);
	tsr_wait_for(other.state->ready);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, MiB(4), tsr_bit(seg), 0);
	evict_in_turn(&dev, bos, ARRAY_SIZE(bos), ARRAY_SIZE(bos), 3 * ARRAY_SIZE(bos));
	tsr_client_kill(&other);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-8 two large clients get half each, a small one keeps its own", converges_to_half, 0,
	  0 },
	{ "SEG-9 a share does not depend on memory in other segments",
	  shares_do_not_depend_on_other_segments, 0, 0 },
	{ "SEG-8 an idle share is lent and taken back", idle_share_is_lent, 0, 0 },
	{ "SEG-8 an idle share is lent though no client queries memory", idle_share_lapses_unasked,
	  0, 0 },
	{ "SEG-8 shares with the default demand period", with_the_window_that_ships, 0, 0 },
	{ "SEG-8 files of one process have one share", files_of_one_process, 0, 0 },
	{ "RES-2 SEG-8 clients of both models get half each", both_models, 0, 0 },
	{ "RES-11 clients with weights 3 and 1", weights, 0, 0 },
	{ "RES-11 RES-2 clients with weights 3 and 1 at virtual addresses", weights_vm, 0, 0 },
	{ "SEG-8 SPLIT-2 resident objects of a submission count once", resident_objects_count_once,
	  0, 0 },
	{ "SEG-8 RES-3 memory of other clients above their shares is not trimmed",
	  others_excess_is_not_trimmed, 0, 0 },
	{ "SEG-8 RES-3 objects listed by other clients are not taken, but trimmed for",
	  others_list_is_not_taken, 0, 0 },
	{ "SEG-8 the first process that uses a file is charged", process_of_a_file, 0, 0 },
	{ "SEG-8 an eviction looks at its victims, not at all objects of another process",
	  looks_at_victims_only, 0, 0 },
	{ "SEG-8 an eviction looks at one object of a process within its share",
	  looks_past_the_protected, 0, 0 },
	{ "SEG-17 each process can have the whole of every segment", each_can_have_everything, 0,
	  0 },
};

TSR_TEST_MAIN(tests)
