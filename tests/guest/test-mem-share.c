// SPDX-License-Identifier: MIT
/*
 * Fair shares (SEG-8, SEG-9): processes that want more than there is, and one that does
 * not. Each cycles through its objects, so that each wants all of them resident.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tsr.h"

#define MAX_CLIENTS 3

/* what the processes tell each other */
struct board {
	_Atomic int stop;
	_Atomic uint64_t used[MAX_CLIENTS];
	_Atomic uint64_t rounds[MAX_CLIENTS];
	_Atomic uint64_t lost[MAX_CLIENTS]; /* times it was found to have less than it needs */
};

struct client {
	struct board *board;
	uint32_t index;
	uint64_t bytes; /* of all objects */
	uint64_t hidden_bytes; /* likewise, in the other segment */
	uint64_t unit;
	unsigned int pause_us;
};

static uint32_t make(struct tsr_device *dev, const struct drm_tessera_query_segment *seg,
		     struct tsr_bo *bos, uint64_t bytes, uint64_t unit)
{
	uint32_t num = (uint32_t)(bytes / unit);

	for (uint32_t i = 0; i < num; i++)
		bos[i] = tsr_bo_new(dev, unit, tsr_bit(seg), 0);
	return num;
}

static void run_client(void *arg)
{
	struct client *c = arg;
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[128], more[128];
	uint32_t num = make(&dev, seg, bos, c->bytes, c->unit);
	uint32_t num_more = make(&dev, tsr_seg_hidden(&dev), more, c->hidden_bytes, c->unit);
	struct board *b = c->board;

	for (uint32_t round = 0; !b->stop; round++) {
		/* random, for a cycle larger than memory would be the worst case */
		uint32_t i = (uint32_t)(round * 2654435761u >> 8) % num;

		if (round < num)
			i = round;
		tsr_gpu_fill(&dev, ctx, &bos[i], round);
		if (num_more)
			tsr_gpu_fill(&dev, ctx, &more[round % num_more], round);
		b->used[c->index] = tsr_query_memory(&dev, seg->id).client_used;
		if (round >= num && b->used[c->index] < c->bytes)
			b->lost[c->index]++;
		b->rounds[c->index]++;
		if (c->pause_us)
			usleep(c->pause_us);
	}
	tsr_close(&dev);
}

static struct board *new_board(void)
{
	struct board *b =
		mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	require(b != MAP_FAILED);
	return b;
}

static uint64_t visible_size(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t size = tsr_seg_visible(&dev)->size;

	tsr_close(&dev);
	return size;
}

/* mean of @used over a second, once everybody has worked for a while */
static void settle(struct board *b, uint32_t num, uint64_t mean[MAX_CLIENTS])
{
	uint64_t rounds = tap_slow() ? 60 : 200;
	const int samples = 50;

	for (uint32_t i = 0; i < num; i++)
		while (b->rounds[i] < rounds)
			usleep(20000);
	memset(mean, 0, sizeof(*mean) * MAX_CLIENTS);
	for (int s = 0; s < samples; s++) {
		for (uint32_t i = 0; i < num; i++)
			mean[i] += b->used[i] / (uint64_t)samples;
		usleep(20000);
	}
}

static void run(struct client *clients, uint32_t num, uint64_t mean[MAX_CLIENTS])
{
	struct board *b = new_board();
	pid_t pids[MAX_CLIENTS];

	for (uint32_t i = 0; i < num; i++) {
		clients[i].board = b;
		clients[i].index = i;
		pids[i] = tap_fork(run_client, &clients[i]);
	}
	settle(b, num, mean);
	b->stop = 1;
	for (uint32_t i = 0; i < num; i++)
		tap_join(pids[i]);
	for (uint32_t i = 0; i < num; i++)
		tap_note("client %u: %llu KiB, %llu rounds, %llu times below its need", i,
			 (unsigned long long)mean[i] >> 10, (unsigned long long)b->rounds[i],
			 (unsigned long long)b->lost[i]);
}

static void about(uint64_t value, uint64_t want, unsigned int percent)
{
	uint64_t off = value > want ? value - want : want - value;

	require_msg(off * 100 <= want * percent, "%llu is not about %llu",
		    (unsigned long long)value, (unsigned long long)want);
}

static void two_get_half_each(void)
{
	uint64_t size = visible_size(), mean[MAX_CLIENTS];
	struct client clients[2] = {
		{ .bytes = size * 5 / 4, .unit = size / 16 },
		{ .bytes = size * 5 / 4, .unit = size / 16 },
	};

	run(clients, 2, mean);
	about(mean[0], size / 2, 20);
	about(mean[1], size / 2, 20);
}

static void the_small_one_keeps_its_own(void)
{
	uint64_t size = visible_size(), mean[MAX_CLIENTS];
	struct client clients[3] = {
		{ .bytes = size * 5 / 4, .unit = size / 16 },
		{ .bytes = size * 5 / 4, .unit = size / 16 },
		{ .bytes = size / 4, .unit = size / 16, .pause_us = 20000 },
	};

	run(clients, 3, mean);
	about(mean[2], size / 4, 5);
	about(mean[0], size * 3 / 8, 25);
	about(mean[1], size * 3 / 8, 25);
}

static void the_other_segment_does_not_matter(void)
{
	uint64_t size = visible_size(), mean[MAX_CLIENTS];
	struct client clients[2] = {
		{ .bytes = size * 5 / 4, .unit = size / 16, .hidden_bytes = size * 2 },
		{ .bytes = size * 5 / 4, .unit = size / 16 },
	};

	run(clients, 2, mean);
	about(mean[0], size / 2, 20);
	about(mean[1], size / 2, 20);
}

/* one sleeps: the other gets all; it wakes: it gets its share back */
static void idle_share_is_lent(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t unit = seg->size / 16;
	struct client other = { .bytes = seg->size, .unit = unit };
	struct board *b = new_board();
	struct tsr_bo bos[8];
	pid_t pid;

	for (uint32_t i = 0; i < 8; i++) {
		bos[i] = tsr_bo_new(&dev, unit, tsr_bit(seg), DRM_TESSERA_BO_CPU_ACCESS);
		tsr_gpu_fill(&dev, ctx, &bos[i], i + 1);
	}
	require_eq(tsr_query_memory(&dev, seg->id).client_used, seg->size / 2);

	other.board = b;
	pid = tap_fork(run_client, &other);
	for (int i = 0; i < 3000 && b->used[0] < seg->size; i++)
		usleep(10000);
	require_eq(b->used[0], seg->size);
	require_eq(tsr_query_memory(&dev, seg->id).client_used, 0);

	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 8; i++)
			tsr_gpu_touch(&dev, ctx, &bos[i]);
	about(tsr_query_memory(&dev, seg->id).client_used, seg->size / 2, 15);
	b->stop = 1;
	tap_join(pid);
	for (uint32_t i = 0; i < 8; i++) {
		tsr_bo_map(&dev, &bos[i]);
		tsr_words_check(bos[i].map, bos[i].size / 4, i + 1);
	}
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-8 two that want too much get half each", two_get_half_each, 0, 120 },
	{ "SEG-8 a small one keeps its memory", the_small_one_keeps_its_own, 0, 120 },
	{ "SEG-9 shares do not depend on another segment", the_other_segment_does_not_matter, 0,
	  120 },
	{ "SEG-8 an idle share is lent and taken back", idle_share_is_lent, 0, 120 },
};

TSR_TEST_MAIN(tests)
