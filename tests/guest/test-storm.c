// SPDX-License-Identifier: MIT
/*
 * An eviction storm under kept pointers. Four threads check and write each word
 * of their part of some objects. Two other processes run split jobs on other
 * parts of the same objects, which together exceed VRAM. The host aperture is
 * too small for all objects (test-storm.args). No word may be wrong or lost.
 */
#include <pthread.h>
#include <unistd.h>

#include "foreign.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

#define OBJECTS 12
#define THREADS 4
#define CLIENTS 2
#define SIZE KiB(256)
#define PITCH 512u /* of swizzled objects: 32 rows are 16 KiB */
/* quarters of an object: two for the CPU, one for each client */
#define PART_WORDS ((uint32_t)(SIZE / 4 / 4))
#define FILLERS 12
#define FILLER_SIZE KiB(512)

struct storm {
	struct tsr_device dev;
	struct tsr_bo bos[OBJECTS];
	int dmabufs[OBJECTS];
	volatile bool stop;
};

static struct storm *storm; /* shared with the clients as it was when they were forked */

/* Objects in various segments, with various kinds of CPU mappings. */
static void make_object(struct tsr_device *dev, uint32_t i, struct tsr_bo *bo)
{
	uint32_t visible = tsr_bit(tsr_seg_visible(dev)), gart = tsr_bit(tsr_seg_gart(dev));
	const struct drm_tessera_query_segment *hidden = tsr_seg_hidden(dev);
	struct drm_tessera_bo_create args = {
		.size = SIZE,
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.supported = visible,
	};

	switch (i % 4) {
	case 0:
		break;
	case 1:
		args.layout = i & 4 ? DRM_TESSERA_LAYOUT_MORTON : DRM_TESSERA_LAYOUT_TILE4K;
		args.pitch = PITCH;
		break;
	case 2:
		args.supported = tsr_bit(hidden) | gart;
		args.num_preferred = 1;
		args.preferred[0] = (uint8_t)hidden->id;
		break;
	case 3:
		args.supported = visible | gart;
		break;
	}
	require_ok(__tsr_bo_create(dev->fd, &args));
	*bo = (struct tsr_bo){ .handle = args.handle, .size = SIZE };
	tsr_bo_map(dev, bo);
}

/* ---- jobs ------------------------------------------------------------ */

static uint32_t job_value(uint32_t client, uint32_t i, uint32_t round)
{
	return 0x10000000 * (client + 1) + 0x10000 * i + round;
}

/* Uses all objects in one submission, with large ones between that evict. */
static uint32_t one_job(struct tsr_client *client, struct tsr_device *dev, uint32_t ctx,
			const struct tsr_bo *bos, const struct tsr_bo *fillers, uint32_t round)
{
	uint32_t part = 2 + (uint32_t)client->arg, parts;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i], true);
		tsr_cmd_fill(&cmd, 0, part * PART_WORDS, PART_WORDS,
			     job_value((uint32_t)client->arg, i, round));
		tsr_cmd_bind_buffer(&cmd, 0, &fillers[i % FILLERS], true);
		tsr_cmd_fill(&cmd, 0, 0, 16, round);
	}
	require_ok(tsr_submit_status(dev, ctx, &cmd, &parts));
	tsr_cmd_fini(&cmd);
	return parts;
}

/* The client's own part holds what it wrote last. */
static void check_part(struct tsr_client *client, struct tsr_device *dev, uint32_t ctx,
		       const struct tsr_bo *bo, uint32_t value)
{
	uint32_t words[64], part = 2 + (uint32_t)client->arg;

	tsr_gpu_read(dev, ctx, bo, (uint64_t)part * PART_WORDS, ARRAY_SIZE(words), words);
	tsr_words_check(words, ARRAY_SIZE(words), value);
	tsr_gpu_read(dev, ctx, bo, (uint64_t)(part + 1) * PART_WORDS - ARRAY_SIZE(words),
		     ARRAY_SIZE(words), words);
	tsr_words_check(words, ARRAY_SIZE(words), value);
}

static uint32_t num_rounds(void)
{
	return tap_slow() ? 3 : 8;
}

static void client_run(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0), cuts = 0;
	uint32_t memory = tsr_bit(tsr_seg_visible(&dev)) | tsr_bit(tsr_seg_hidden(&dev));
	struct tsr_bo bos[OBJECTS], fillers[FILLERS];

	for (uint32_t i = 0; i < OBJECTS; i++) {
		bos[i] = (struct tsr_bo){ .size = SIZE };
		require_ok(__tsr_import(dev.fd, storm->dmabufs[i], &bos[i].handle));
	}
	for (uint32_t i = 0; i < FILLERS; i++)
		fillers[i] = tsr_bo_new(&dev, FILLER_SIZE, memory, 0);
	for (uint32_t round = 1; round <= num_rounds(); round++) {
		cuts += one_job(client, &dev, ctx, bos, fillers, round) - 1;
		check_part(client, &dev, ctx, &bos[round % OBJECTS],
			   job_value((uint32_t)client->arg, round % OBJECTS, round));
		client->state->rounds = round;
	}
	/* otherwise there was no storm */
	require(cuts);
	tsr_close(&dev);
}

/* ---- CPU ------------------------------------------------------------- */

struct toucher {
	uint32_t first;
	uint32_t passes;
	pthread_t thread;
	/* the first wrong word */
	bool wrong;
	uint32_t object, word, is, should;
};

static uint32_t cpu_value(uint32_t i, uint32_t pass, uint32_t word)
{
	return tsr_pattern(i * 16 + pass % 16, word);
}

/* Each word must have the value of the last pass, and gets that of this one. */
static bool touch(struct toucher *t, uint32_t i)
{
	volatile uint32_t *words = storm->bos[i].map;

	for (uint32_t w = 0; w < 2 * PART_WORDS; w++) {
		uint32_t is = words[w], should = cpu_value(i, t->passes, w);

		if (is != should) {
			t->wrong = true;
			t->object = i;
			t->word = w;
			t->is = is;
			t->should = should;
			return false;
		}
		words[w] = cpu_value(i, t->passes + 1, w);
	}
	return true;
}

static void *toucher_run(void *arg)
{
	struct toucher *t = arg;

	while (!storm->stop) {
		for (uint32_t i = t->first; i < OBJECTS; i += THREADS)
			if (!touch(t, i))
				return NULL;
		t->passes++;
	}
	return NULL;
}

static void first_words(uint32_t ctx)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		volatile uint32_t *words = storm->bos[i].map;

		/* in the segment where jobs need it */
		tsr_gpu_touch(&storm->dev, ctx, &storm->bos[i]);
		for (uint32_t w = 0; w < 2 * PART_WORDS; w++)
			words[w] = cpu_value(i, 0, w);
	}
}

static void check_all(const struct toucher *touchers)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		const uint32_t *words = storm->bos[i].map;
		uint32_t passes = touchers[i % THREADS].passes;

		for (uint32_t w = 0; w < 2 * PART_WORDS; w++)
			require_eq(words[w], cpu_value(i, passes, w));
		for (uint32_t c = 0; c < CLIENTS; c++) {
			/*
			 * the part is uniform, so the word order of swizzled
			 * objects does not matter
			 */
			tsr_words_check(words + (2 + c) * PART_WORDS, PART_WORDS,
					job_value(c, i, num_rounds()));
		}
	}
}

static void eviction_storm(void)
{
	struct toucher touchers[THREADS] = { 0 };
	struct tsr_client clients[CLIENTS];
	struct storm the_storm = { .dev = tsr_open() };
	uint32_t ctx = tsr_context_new(&the_storm.dev, 0);
	struct tsr_trace trace;

	storm = &the_storm;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		make_object(&storm->dev, i, &storm->bos[i]);
		storm->dmabufs[i] = tsr_export(&storm->dev, &storm->bos[i]);
	}
	tsr_trace_start("cpu_fault", "evict", NULL);
	first_words(ctx);
	for (uint32_t c = 0; c < CLIENTS; c++)
		tsr_client_start(&clients[c], client_run, c);
	for (uint32_t t = 0; t < THREADS; t++) {
		touchers[t].first = t;
		require(!pthread_create(&touchers[t].thread, NULL, toucher_run, &touchers[t]));
	}
	for (uint32_t c = 0; c < CLIENTS; c++)
		tsr_client_join(&clients[c]);
	storm->stop = true;
	for (uint32_t t = 0; t < THREADS; t++) {
		const struct toucher *it = &touchers[t];

		pthread_join(it->thread, NULL);
		require_msg(!it->wrong, "object %u, word 0x%x, pass %u: 0x%08x, not 0x%08x",
			    it->object, it->word, it->passes, it->is, it->should);
		tap_note("thread %u: %u passes", t, it->passes);
	}
	check_all(touchers);
	trace = tsr_trace_stop();
	tap_note("%zu evictions, %zu CPU faults", tsr_trace_count(&trace, "evict"),
		 tsr_trace_count(&trace, "cpu_fault"));
	require(tsr_trace_count(&trace, "evict") >= OBJECTS);
	require(tsr_trace_faulted(&trace, "bar"));
	require_eq(tsr_trace_faulted(&trace, "swizzle-range"),
		   the_storm.dev.info.num_swizzle_ranges != 0);
	require_eq(tsr_trace_faulted(&trace, "host-aperture"),
		   the_storm.dev.info.host_aperture_bytes != 0);
	require(tsr_trace_faulted(&trace, "system"));
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		close(storm->dmabufs[i]);
		tsr_bo_free(&storm->dev, &storm->bos[i]);
	}
	tsr_close(&storm->dev);
}

static const struct tap_test tests[] = {
	{ "SWZ-13 SWZ-14 SWZ-30 CHA-8 kept pointers in an eviction storm", eviction_storm, 0, 0 },
};

TSR_TEST_MAIN(tests)
