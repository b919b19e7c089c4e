// SPDX-License-Identifier: MIT
/*
 * The CPU host aperture: access to hidden memory through BAR 4, running out of
 * aperture pages, and moves of mapped objects. The CPU must reach every word,
 * and an object is evicted only if no aperture page can be had.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stall.h"
#include "trace.h"
#include "tsr.h"
#include "vm.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

struct pages {
	unsigned int num, bytes, free;
};

/* Read the numbers from debugfs. */
static struct pages aperture_pages(void)
{
	char *text = tsr_debugfs_read("host_aperture");
	struct pages p = { 0 };

	require(text);
	require_msg(sscanf(text, "pages %u of %u bytes free %u", &p.num, &p.bytes, &p.free) == 3,
		    "host_aperture: %s", text);
	free(text);
	return p;
}

/* An object that prefers hidden memory and may also live in an aperture. */
static struct tsr_bo hidden_bo(struct tsr_device *dev, uint64_t size)
{
	struct tsr_bo bo =
		tsr_bo_prefers(dev, size, tsr_seg_hidden(dev), tsr_bit(tsr_seg_gart(dev)), cpu);

	tsr_bo_map(dev, &bo);
	return bo;
}

static bool is_hidden(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return tsr_bo_info(dev, bo).segment == tsr_seg_hidden(dev)->id;
}

/* An object in hidden memory, filled by the GPU. */
static struct tsr_bo filled_bo(struct tsr_device *dev, uint32_t ctx, uint64_t size, uint32_t value)
{
	struct tsr_bo bo = hidden_bo(dev, size);

	tsr_gpu_fill(dev, ctx, &bo, value);
	require(is_hidden(dev, &bo));
	return bo;
}

/*
 * No move: the CPU sees the bytes in place, and the GPU sees the CPU's writes.
 */
static void hidden_memory_is_seen(void)
{
	struct tsr_device dev = tsr_open();
	struct pages all = aperture_pages(), now;
	uint32_t ctx = tsr_context_new(&dev, 0), words = KiB(192) / 4, word;
	struct tsr_bo bo = filled_bo(&dev, ctx, KiB(192), 0x12345678);
	struct tsr_trace trace;

	require(dev.info.caps & DRM_TESSERA_CAP_HOST_APERTURE);
	require_eq(all.free, all.num);
	require_eq((uint64_t)all.num * all.bytes, MiB(1));
	require_eq(dev.info.host_aperture_bytes, MiB(1));
	require_eq(dev.info.host_aperture_page, all.bytes);
	tsr_trace_start("cpu_fault", "paging_op", "evict", "host_aperture_map", NULL);
	tsr_words_check(bo.map, words, 0x12345678);
	tsr_pattern_write(&bo, 1);
	trace = tsr_trace_stop();
	require(tsr_trace_faulted(&trace, "host-aperture"));
	require(!tsr_trace_faulted(&trace, "bar") && !tsr_trace_faulted(&trace, "system"));
	require_eq(tsr_trace_count(&trace, "paging_op"), 0);
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	/* a slot is 64 KiB */
	require_eq(tsr_trace_count(&trace, "host_aperture_map"), 3);
	tsr_trace_free(&trace);
	now = aperture_pages();
	require_eq(all.free - now.free, (KiB(192) + all.bytes - 1) / all.bytes);
	require(is_hidden(&dev, &bo));
	for (uint32_t i = 0; i < words; i += 4099) {
		tsr_gpu_read(&dev, ctx, &bo, i, 1, &word);
		tsr_pattern_require(word, 1, i);
	}
	/* A debugger has access, too. */
	require_ok(tsr_proc_mem_read((uint32_t *)bo.map + 5000, &word, sizeof(word)));
	tsr_pattern_require(word, 1, 5000);
	word = 0x55aa55aa;
	require_ok(tsr_proc_mem_write((uint32_t *)bo.map + 5001, &word, sizeof(word)));
	require_eq(((uint32_t *)bo.map)[5001], 0x55aa55aa);
	tsr_gpu_read(&dev, ctx, &bo, 5001, 1, &word);
	require_eq(word, 0x55aa55aa);
	tsr_bo_free(&dev, &bo);
	require_eq(aperture_pages().free, all.num);
	tsr_close(&dev);
}

/*
 * The least recently used object loses its aperture pages, and gets new ones at
 * its next fault.
 */
static void pages_run_out(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[6];
	struct tsr_trace trace;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = filled_bo(&dev, ctx, KiB(256), i + 1);
	tsr_trace_start("evict", NULL);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
			tsr_words_check(bos[i].map, KiB(256) / 4, round * 100 + i + 1);
			for (uint32_t w = 0; w < KiB(256) / 4; w++)
				((uint32_t *)bos[i].map)[w] = (round + 1) * 100 + i + 1;
			require(aperture_pages().free <= aperture_pages().num);
		}
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		uint32_t word;

		require(is_hidden(&dev, &bos[i]));
		tsr_gpu_read(&dev, ctx, &bos[i], 777, 1, &word);
		require_eq(word, 300 + i + 1);
	}
	tsr_close(&dev);
}

/*
 * A fault through a second mapping counts as use: other objects lose their
 * pages first.
 */
static void second_mapping_counts_as_use(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[5], again;
	struct tsr_trace trace;

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = filled_bo(&dev, ctx, KiB(256), i + 1);
		if (i < 4)
			tsr_words_check(bos[i].map, KiB(256) / 4, i + 1);
	}
	require_eq(aperture_pages().free, 0);
	again = bos[0];
	again.map = NULL;
	tsr_bo_map(&dev, &again);
	require(again.map != bos[0].map);
	tsr_words_check(again.map, KiB(256) / 4, 1);
	tsr_words_check(bos[4].map, KiB(256) / 4, 5);
	tsr_trace_start("cpu_fault", NULL);
	tsr_words_check(bos[0].map, KiB(256) / 4, 1);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "cpu_fault"), 0);
	tsr_trace_free(&trace);
	tsr_bo_unmap(&again);
	tsr_close(&dev);
}

/* One mapping can span aperture pages that are not contiguous. */
static void pages_need_not_lie_together(void)
{
	struct tsr_device dev = tsr_open();
	struct pages all = aperture_pages();
	uint32_t ctx = tsr_context_new(&dev, 0), num = 16;
	uint64_t bytes = (uint64_t)all.num / num * all.bytes, words = bytes / 4;
	struct tsr_bo bos[16], large;
	volatile uint32_t *map;

	for (uint32_t i = 0; i < num; i++) {
		bos[i] = filled_bo(&dev, ctx, bytes, i);
		map = bos[i].map;
		require_eq(map[0], i);
	}
	require_eq(aperture_pages().free, 0);
	for (uint32_t i = 0; i < num; i += 2)
		tsr_bo_free(&dev, &bos[i]);
	require_eq(aperture_pages().free, all.num / 2);
	large = filled_bo(&dev, ctx, bytes * num / 2, 0xabcd);
	tsr_pattern_write(&large, 3);
	tsr_pattern_check(&large, 3);
	require(is_hidden(&dev, &large));
	require_eq(aperture_pages().free, 0);
	for (uint32_t i = 1; i < num; i += 2) {
		uint32_t word;

		map = bos[i].map;
		require_eq(map[words - 1], i);
		tsr_gpu_read(&dev, ctx, &large, i / 2 * words, 1, &word);
		tsr_pattern_require(word, 3, i / 2 * words);
	}
	tsr_close(&dev);
}

/*
 * An object many times larger than the aperture stays in place while the CPU
 * writes and reads all its pages. Another object's slot is taken only when it
 * is the least recently used.
 */
static void larger_than_the_aperture(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), step = KiB(4) / 4, slot = KiB(64) / 4, word;
	struct tsr_bo large = filled_bo(&dev, ctx, tap_slow() ? MiB(16) : MiB(64), 7);
	struct tsr_bo small = filled_bo(&dev, ctx, KiB(64), 8);
	volatile uint32_t *map = large.map, *other = small.map;
	uint32_t words = (uint32_t)(large.size / 4);
	struct tsr_trace trace;

	tsr_trace_start("evict", NULL);
	for (uint32_t i = 0; i < words; i += step) {
		require_eq(map[i], 7);
		map[i] = tsr_pattern(11, i);
	}
	for (uint32_t i = 0; i < words; i += step)
		tsr_pattern_require(map[i], 11, i);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	tsr_trace_free(&trace);
	require(is_hidden(&dev, &large));
	for (uint32_t i = 0; i < words; i += 97 * step) {
		tsr_gpu_read(&dev, ctx, &large, i, 1, &word);
		tsr_pattern_require(word, 11, i);
	}

	/*
	 * Use half of the slots in turn: the other object must keep its slot.
	 */
	require_eq(other[0], 8);
	tsr_trace_start("cpu_fault", "host_aperture_unmap", NULL);
	for (uint32_t round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < 8; i++)
			tsr_pattern_require(map[i * slot], 11, i * slot);
		require_eq(other[0], 8);
	}
	trace = tsr_trace_stop();
	/*
	 * The first eight parts fault once, and replace slots at the large
	 * object's end.
	 */
	require_eq(tsr_trace_count(&trace, "cpu_fault"), 8);
	require_eq(tsr_trace_count(&trace, "host_aperture_unmap"), 8);
	tsr_trace_free(&trace);
	tsr_close(&dev);
}

/*
 * A lock does not reserve slots. While an object as large as the aperture is
 * locked, another object can still be accessed in place.
 */
static void beside_locked_objects(void)
{
	struct tsr_device dev = tsr_open();
	struct pages all = aperture_pages();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo locked = filled_bo(&dev, ctx, MiB(1), 8);
	struct tsr_bo other = filled_bo(&dev, ctx, all.bytes, 9);

	tsr_lock(&dev, &locked, 0);
	tsr_words_check(locked.map, MiB(1) / 4, 8);
	require_eq(aperture_pages().free, 0);
	tsr_words_check(other.map, all.bytes / 4, 9);
	require(is_hidden(&dev, &other));
	tsr_words_check(locked.map, MiB(1) / 4, 8);
	require(is_hidden(&dev, &locked));
	tsr_unlock(&dev, &locked);
	tsr_close(&dev);
}

/* ---- a client that locks everything -------------------------------------- */

#define QUARTERS 4

/*
 * Lock objects as large as the aperture, then check all of them whenever the
 * test asks.
 */
static void lock_all(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[QUARTERS];

	for (uint32_t i = 0; i < QUARTERS; i++) {
		bos[i] = filled_bo(&dev, ctx, KiB(256), i + 1);
		tsr_lock(&dev, &bos[i], 0);
	}
	for (uint32_t round = 0; !client->state->stop; round++) {
		for (uint32_t i = 0; i < QUARTERS; i++)
			tsr_words_check(bos[i].map, KiB(256) / 4, i + 1);
		client->state->rounds = round + 1;
		tsr_wait_for(client->state->begun > round || client->state->stop);
	}
	tsr_close(&dev);
}

static void look_again(struct tsr_client *client)
{
	uint32_t round = ++client->state->begun;

	tsr_wait_for(client->state->rounds > round);
}

/* Another client gets aperture pages all the same. */
static void beside_a_process_that_locks_all(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[QUARTERS];
	struct tsr_client client;

	tsr_client_start(&client, lock_all, 0);
	tsr_wait_for(client.state->rounds);
	require_eq(aperture_pages().free, 0);
	for (uint32_t i = 0; i < QUARTERS; i++) {
		bos[i] = filled_bo(&dev, ctx, KiB(256), 10 + i);
		tsr_words_check(bos[i].map, KiB(256) / 4, 10 + i);
		require(is_hidden(&dev, &bos[i]));
	}
	look_again(&client);
	client.state->stop = true;
	tsr_client_join(&client);
	tsr_close(&dev);
}

/* ---- an object that has all slots ---------------------------------------- */

#define READERS 3

struct reader {
	struct tsr_client *client;
	volatile uint32_t *map;
	uint64_t words;
};

static void *read_all_parts(void *arg)
{
	struct reader *r = arg;

	while (!r->client->state->stop)
		for (uint64_t i = 0; i < r->words; i += KiB(64) / 4)
			require_eq(r->map[i], 3);
	return NULL;
}

/* Threads with faults that keep the reservation of one object contended. */
static void read_one_object(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_bo bo = filled_bo(&dev, tsr_context_new(&dev, 0), MiB(4), 3);
	struct reader reader = { client, bo.map, bo.size / 4 };
	pthread_t threads[READERS];

	for (uint32_t i = 0; i < READERS; i++)
		require(!pthread_create(&threads[i], NULL, read_all_parts, &reader));
	tsr_wait_for(!aperture_pages().free);
	client->state->rounds = 1;
	for (uint32_t i = 0; i < READERS; i++)
		require(!pthread_join(threads[i], NULL));
	require(is_hidden(&dev, &bo));
	tsr_close(&dev);
}

/*
 * The reservation of the object that has all slots is almost always held. Other
 * objects must still get slots, without any eviction.
 */
static void beside_a_busy_object(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = filled_bo(&dev, tsr_context_new(&dev, 0), KiB(256), 5);
	volatile uint32_t *map = bo.map;
	struct tsr_client client;
	struct tsr_trace trace;

	tsr_client_start(&client, read_one_object, 0);
	tsr_wait_for(client.state->rounds);
	tsr_trace_start("evict", "cpu_fault", NULL);
	for (uint32_t round = 0; round < (tap_slow() ? 50u : 500u); round++)
		for (uint64_t i = 0; i < bo.size / 4; i += KiB(64) / 4)
			require_eq(map[i], 5);
	trace = tsr_trace_stop();
	client.state->stop = true;
	tsr_client_join(&client);
	tap_note("%zu faults", tsr_trace_count(&trace, "cpu_fault"));
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	tsr_trace_free(&trace);
	require(is_hidden(&dev, &bo));
	tsr_close(&dev);
}

/*
 * A CPU pointer follows its object. It neither shows nor writes the object that
 * replaces it.
 */
static void pointers_follow_moves(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), hid = tsr_bit(tsr_seg_hidden(&dev));
	struct tsr_bo bo = filled_bo(&dev, ctx, KiB(512), 1), other;

	for (uint32_t round = 0; round < 8; round++) {
		uint32_t word;

		tsr_pattern_write(&bo, round);
		tsr_evict_set(hid);
		require_eq(aperture_pages().free, aperture_pages().num);
		/* This object takes the old placement. */
		other = filled_bo(&dev, ctx, KiB(512), 0xdead0000 + round);
		tsr_pattern_check(&bo, round);
		tsr_pattern_write(&bo, round + 100);
		tsr_gpu_read(&dev, ctx, &other, 99, 1, &word);
		require_eq(word, 0xdead0000 + round);
		tsr_gpu_touch(&dev, ctx, &bo);
		require(is_hidden(&dev, &bo));
		tsr_pattern_check(&bo, round + 100);
		tsr_bo_free(&dev, &other);
	}
	tsr_close(&dev);
}

/* A pointer also follows a move inside the segment. */
static void pointers_follow_moves_inside(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo below = tsr_bo_new(&dev, KiB(512), tsr_bit(seg), 0), bo;
	struct tsr_bo large = tsr_bo_new(&dev, seg->size - KiB(512), tsr_bit(seg), 0);
	struct tsr_cmd cmd;
	uint64_t before;

	tsr_gpu_touch(&dev, ctx, &below);
	bo = filled_bo(&dev, ctx, KiB(512), 1);
	tsr_pattern_write(&bo, 7);
	require(aperture_pages().free < aperture_pages().num);
	before = tsr_bo_info(&dev, &bo).segment_offset;
	require(before);
	/*
	 * The large object only fits if this one moves to the end of the
	 * segment.
	 */
	tsr_cmd_init_pair(&cmd, &bo, &large);
	tsr_cmd_fill(&cmd, 0, 1000, 1, 0x1000);
	tsr_cmd_fill(&cmd, 1, 0, (uint32_t)(large.size / 4), 44);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
	require(is_hidden(&dev, &bo));
	require(tsr_bo_info(&dev, &bo).segment_offset != before);
	require_eq(((uint32_t *)bo.map)[1000], 0x1000);
	((uint32_t *)bo.map)[1000] = tsr_pattern(7, 1000);
	tsr_pattern_check(&bo, 7);
	tsr_pattern_write(&bo, 8);
	tsr_gpu_read(&dev, ctx, &bo, 5000, 1, &word);
	tsr_pattern_require(word, 8, 5000);
	tsr_gpu_read(&dev, ctx, &large, large.size / 4 - 1, 1, &word);
	require_eq(word, 44);
	require(is_hidden(&dev, &bo));
	tsr_close(&dev);
}

/* ---- stress -------------------------------------------------------------- */

#define THREADS 4

struct storm {
	struct tsr_bo bo;
	uint32_t key;
	volatile bool *stop;
	uint64_t rounds;
};

static void *storm_run(void *arg)
{
	struct storm *s = arg;
	volatile uint32_t *map = s->bo.map;
	uint64_t words = s->bo.size / 4, state = s->key;

	while (!*s->stop) {
		uint64_t i = tap_random(&state) % words;

		tsr_pattern_require(map[i], s->key, i);
		map[i] = tsr_pattern(s->key, i);
		s->rounds++;
	}
	return NULL;
}

/*
 * Threads use their pointers while objects are evicted and return. Together the
 * objects are larger than the aperture.
 */
static void kept_pointers_in_a_storm(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), hid = tsr_bit(tsr_seg_hidden(&dev));
	struct storm storms[THREADS];
	pthread_t threads[THREADS];
	volatile bool stop = false;

	for (uint32_t i = 0; i < THREADS; i++) {
		storms[i] = (struct storm){ .key = i + 1, .stop = &stop };
		storms[i].bo = filled_bo(&dev, ctx, KiB(384), 1);
		tsr_pattern_write(&storms[i].bo, storms[i].key);
		require(!pthread_create(&threads[i], NULL, storm_run, &storms[i]));
	}
	for (uint32_t round = 0; round < (tap_slow() ? 5u : 20u); round++) {
		tsr_evict_set(hid);
		for (uint32_t i = 0; i < THREADS; i++)
			tsr_gpu_touch(&dev, ctx, &storms[i].bo);
	}
	stop = true;
	for (uint32_t i = 0; i < THREADS; i++) {
		require(!pthread_join(threads[i], NULL));
		require(storms[i].rounds);
		tsr_pattern_check(&storms[i].bo, storms[i].key);
	}
	tsr_close(&dev);
}

/*
 * One instruction that reads one object and writes the other, which do not both
 * fit into the aperture. It must still make progress.
 */
static void no_access_goes_round_for_ever(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo a = filled_bo(&dev, ctx, KiB(640), 0x1111), b;
	void *to, *from = a.map;
	uint64_t words = a.size / 4;

	b = filled_bo(&dev, ctx, KiB(640), 0x2222);
	to = b.map;
	asm volatile("rep movsl" : "+S"(from), "+D"(to), "+c"(words) : : "memory");
	tsr_words_check(a.map, a.size / 4, 0x1111);
	tsr_words_check(b.map, b.size / 4, 0x1111);
	tsr_close(&dev);
}

/* ---- both models --------------------------------------------------------- */

#define VM_AT 0x40000000ull

/*
 * Hidden memory is accessed through slots of the host aperture, also by an
 * object larger than all of them.
 */
static void seen_by_cpu(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t value)
{
	struct pages all = aperture_pages(), now;
	uint64_t bytes = (uint64_t)all.num * all.bytes;

	require(is_hidden(dev, bo));
	tsr_words_check(bo->map, bo->size / 4, value);
	require(is_hidden(dev, bo));
	now = aperture_pages();
	require_eq((uint64_t)(now.num - now.free) * now.bytes, bo->size < bytes ? bo->size : bytes);
}

/* Lock after a job with a patch list. */
static void seen_by_lock(struct tsr_device *dev, uint64_t size)
{
	struct tsr_bo bo = filled_bo(dev, tsr_context_new(dev, 0), size, 21);

	tsr_lock(dev, &bo, 0);
	seen_by_cpu(dev, &bo, 21);
	tsr_unlock(dev, &bo);
	tsr_bo_free(dev, &bo);
}

/* Lock2 after a job with virtual addresses. */
static void seen_by_lock2(struct tsr_device *dev, struct tsr_vm *vm, uint64_t size)
{
	struct tsr_bo bo = hidden_bo(dev, size);
	uint64_t offset;

	tsr_vm_place(vm, &bo);
	tsr_vm_map(dev, vm->id, &bo, 0, VM_AT, size, 0);
	tsr_vm_fill(vm, VM_AT, size, 22);
	require(is_hidden(dev, &bo));
	require_ok(__tsr_lock2(dev->fd, bo.handle, 0, &offset));
	seen_by_cpu(dev, &bo, 22);
	require_ok(__tsr_unlock2(dev->fd, bo.handle));
	tsr_vm_unmap(dev, vm->id, VM_AT, size);
	tsr_bo_free(dev, &bo);
}

static void hidden_memory_in_both_models(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);

	for (uint64_t size = KiB(256); size <= MiB(2); size *= 8) {
		seen_by_lock(&dev, size);
		seen_by_lock2(&dev, &vm, size);
	}
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "CHA-1 CHA-2 CHA-4 CHA-6 CHA-9 the CPU accesses hidden memory in place",
	  hidden_memory_is_seen, 0, 0 },
	{ "CHA-2 CHA-5 aperture pages are taken from the least recently used object", pages_run_out,
	  0, 0 },
	{ "CHA-5 a fault through a second mapping counts as use", second_mapping_counts_as_use, 0,
	  0 },
	{ "CHA-3 pages need not lie together", pages_need_not_lie_together, 0, 0 },
	{ "CHA-10 an object larger than the aperture", larger_than_the_aperture, 0, 120 },
	{ "CHA-5 CHA-10 beside locked objects", beside_locked_objects, 0, 0 },
	{ "CHA-5 CHA-10 beside a process that locks all pages", beside_a_process_that_locks_all, 0,
	  0 },
	{ "CHA-10 beside an object that is busy and has all slots", beside_a_busy_object, 0, 60 },
	{ "CHA-10 an access that needs more slots than exist completes",
	  no_access_goes_round_for_ever, 0, 60 },
	{ "CHA-8 SWZ-13 pointers follow moves", pointers_follow_moves, 0, 0 },
	{ "CHA-8 PAGE-13 pointers follow moves inside the segment", pointers_follow_moves_inside, 0,
	  0 },
	{ "CHA-8 SWZ-14 kept pointers in a storm", kept_pointers_in_a_storm, 0, 0 },
	{ "MODEL-13 hidden memory in both models", hidden_memory_in_both_models, 0, 0 },
};

TSR_TEST_MAIN(tests)
