// SPDX-License-Identifier: MIT
/*
 * Cost of a destroy that does not wait, with a short and with a long queue
 * (DESTROY-3). The device is slow (x-render-delay-us), so the queue does not
 * drain.
 */
#include "bench.h"

#include <stdlib.h>

#define QUEUED 250 /* below the limit at which a process waits */
/* The two queues take turns, so that both see the same machine. */
#define TURNS 33
#define OBJECTS 128

struct queue {
	struct bench own;
	struct tessera_bo *bos[TURNS][OBJECTS];
	double seconds[TURNS]; /* per object */
};

static void queue_open(struct queue *queue, int jobs)
{
	bench_open();
	must("nop", tessera_cmdbuf_nop(bench.cb, 2));
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < OBJECTS; i++)
			queue->bos[turn][i] = bo_in("gart", 4096, 0);
	for (int i = 0; i < jobs; i++)
		must("submit", tessera_context_submit(bench.ctx, bench.cb, NULL));
	queue->own = bench;
}

static void queue_destroy(struct queue *queue, int turn)
{
	double start = now();

	for (int i = 0; i < OBJECTS; i++)
		must("destroy", tessera_bo_destroy(queue->bos[turn][i], 0));
	queue->seconds[turn] = (now() - start) / OBJECTS;
}

/* Closing the file drops jobs that have not begun. Returns the median. */
static double queue_close(struct queue *queue)
{
	bench = queue->own;
	bench_close();
	return median(queue->seconds, TURNS);
}

void bench_destroy_scaling(void)
{
	struct row row = { "destroy_scaling", "s", "lower", .goal = 1.2 };
	static struct queue many, one;
	struct bench parent = bench;

	for (int i = 0; i < parent.runs; i++) {
		double value;

		queue_open(&many, QUEUED);
		queue_open(&one, 1);
		for (int turn = 0; turn < TURNS; turn++) {
			queue_destroy(&many, turn);
			queue_destroy(&one, turn);
		}
		value = queue_close(&many);
		sample(&row, value, queue_close(&one));
	}
	bench = parent;
	print_row(&row);
}
