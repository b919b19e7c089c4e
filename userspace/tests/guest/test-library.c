// SPDX-License-Identifier: MIT
/*
 * The library in the guest, on the real driver (TAP). Each test runs with both
 * addressing models and compares all bytes with a reference model. The working
 * set is larger than the device's memory. A test fails if bytes differ, a job
 * fails, or the device counts an error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client.h"

/* ---- Same bytes in both models ------------------------------------------- */

#define OBJECTS 20
#define OBJECT_BYTES MIB(1)
#define OBJECT_WORDS ((uint32_t)(OBJECT_BYTES / 4))
#define ROUNDS 40
#define OPS 6 /* per round */

/* A fill of one object, or a copy from another one. */
struct op {
	uint32_t to, from; /* equal: a fill */
	uint32_t at, source, count, value;
};

struct world {
	struct client *c;
	struct tessera_bo *bos[OBJECTS], *staging;
	uint32_t *model; /* words of all objects */
	uint32_t random;
};

static uint32_t next_random(struct world *w, uint32_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 17;
	w->random ^= w->random << 5;
	return w->random % below;
}

static struct op draw_op(struct world *w)
{
	struct op op = {
		.to = next_random(w, OBJECTS),
		.from = next_random(w, OBJECTS),
		.count = 1 + next_random(w, OBJECT_WORDS / 4),
		.value = next_random(w, UINT32_MAX),
	};

	op.at = next_random(w, OBJECT_WORDS - op.count);
	op.source = next_random(w, OBJECT_WORDS - op.count);
	return op;
}

static void model_op(struct world *w, const struct op *op)
{
	uint32_t *to = w->model + (size_t)op->to * OBJECT_WORDS + op->at;

	if (op->to != op->from) {
		memcpy(to, w->model + (size_t)op->from * OBJECT_WORDS + op->source,
		       op->count * sizeof(uint32_t));
		return;
	}
	for (uint32_t i = 0; i < op->count; i++)
		to[i] = op->value;
}

static void record_op(struct world *w, const struct op *op)
{
	const struct tessera_rect at = words(op->at, op->count);
	const struct tessera_rect from = words(op->source, op->count);

	bind_words(w->c, 0, w->bos[op->to], 0, true);
	if (op->to == op->from) {
		require_ok(tessera_cmdbuf_fill(w->c->cb, 0, &at, op->value));
		return;
	}
	bind_words(w->c, 1, w->bos[op->from], 0, false);
	require_ok(tessera_cmdbuf_copy(w->c->cb, 0, op->at, 0, 1, &from));
	require_ok(tessera_cmdbuf_unbind(w->c->cb, 1));
}

/* Run the operations in as few submissions as memory allows. */
static void run_round(struct world *w)
{
	struct tessera_bo *bos[2 * OPS];
	struct op ops[OPS];
	int fit;

	for (uint32_t i = 0; i < OPS; i++) {
		ops[i] = draw_op(w);
		model_op(w, &ops[i]);
		bos[2 * i] = w->bos[ops[i].to];
		bos[2 * i + 1] = w->bos[ops[i].from];
	}
	for (uint32_t done = 0; done < OPS; done += fit / 2) {
		fit = tessera_vm_phase(w->c->vm, bos + 2 * done, 2 * (OPS - done));
		require(fit >= 2);
		for (uint32_t i = done; i < done + fit / 2; i++)
			record_op(w, &ops[i]);
		submit(w->c);
	}
}

static void check_object(struct world *w, uint32_t which)
{
	const struct tessera_rect all = words(0, OBJECT_WORDS);
	uint32_t *bytes = malloc(OBJECT_BYTES);

	require(bytes);
	require(tessera_vm_phase(w->c->vm, &w->bos[which], 1) == 1);
	bind_words(w->c, 0, w->staging, 0, true);
	bind_words(w->c, 1, w->bos[which], 0, false);
	require_ok(tessera_cmdbuf_copy(w->c->cb, 0, 0, 0, 1, &all));
	submit(w->c);
	finish(w->c);
	require_ok(tessera_bo_read(w->staging, 0, bytes, OBJECT_BYTES));
	require(!memcmp(bytes, w->model + (size_t)which * OBJECT_WORDS, OBJECT_BYTES));
	free(bytes);
}

/*
 * Random fills and copies on more objects than fit in memory. Fails if an
 * object differs from the model. New objects read as zero, also for a job that
 * copies from them.
 */
static void same_bytes(bool vm)
{
	struct client c = client_open(vm);
	struct world w = { .c = &c, .random = 20261122 };

	w.model = calloc(OBJECTS, OBJECT_BYTES);
	require(w.model);
	for (uint32_t i = 0; i < OBJECTS; i++)
		require_ok(tessera_bo_new_for(c.dev, TESSERA_USAGE_TEXTURE, OBJECT_BYTES, NULL,
					      &w.bos[i]));
	w.staging = new_staging(&c, OBJECT_BYTES);
	for (uint32_t i = 0; i < ROUNDS; i++)
		run_round(&w);
	for (uint32_t i = 0; i < OBJECTS; i++)
		check_object(&w, i);
	for (uint32_t i = 0; i < OBJECTS; i++)
		tessera_bo_del(w.bos[i]);
	tessera_bo_del(w.staging);
	free(w.model);
	client_close(&c);
}

/* ---- Renaming ------------------------------------------------------------ */

#define TURNS 96
#define BUFFER_BYTES 1024
#define BUFFER_WORDS (BUFFER_BYTES / 4)

/* Submit work that takes a while, so that later jobs have not begun yet. */
static void keep_busy(struct client *c, struct tessera_bo *bo)
{
	const struct tessera_rect all = words(0, OBJECT_WORDS);

	bind_words(c, 0, bo, 0, true);
	for (uint32_t i = 0; i < 64; i++)
		require_ok(tessera_cmdbuf_fill(c->cb, 0, &all, i));
	submit(c);
}

static struct tessera_buffer *new_buffer(struct client *c, uint32_t slices)
{
	struct tessera_bo_desc desc;
	struct tessera_buffer *buffer;

	require_ok(tessera_bo_desc_init(c->dev, &desc, TESSERA_USAGE_STAGING, BUFFER_BYTES, NULL));
	desc.flags |= DRM_TESSERA_BO_EXPLICIT_SYNC;
	require_ok(tessera_buffer_new_slices(c->dev, &desc, slices, &buffer));
	return buffer;
}

static void write_words(struct tessera_buffer *buffer, uint32_t flags, uint32_t first,
			uint32_t count, uint32_t value)
{
	uint32_t *p;

	require_ok(tessera_buffer_lock(buffer, flags, (void **)&p));
	for (uint32_t i = first; i < first + count; i++)
		p[i] = value + i;
	require_ok(tessera_buffer_unlock(buffer, flags));
}

/*
 * Submit a job that copies the buffer's current contents to their place in the
 * log.
 */
static void log_buffer(struct client *c, struct tessera_buffer *buffer, struct tessera_bo *log,
		       uint32_t turn)
{
	const struct tessera_rect all = words(0, BUFFER_WORDS);
	struct tessera_bo *bo = tessera_buffer_bo(buffer);

	/*
	 * Keep it resident until the object is deleted, which also undoes this.
	 */
	require_ok(tessera_vm_make_resident(c->vm, &bo, 1));
	bind_words(c, 0, log, 0, true);
	bind_words(c, 1, bo, tessera_buffer_offset(buffer), false);
	require_ok(tessera_cmdbuf_copy(c->cb, 0, turn * BUFFER_WORDS, 0, 1, &all));
	submit(c);
	require_ok(tessera_buffer_used(buffer, c->timeline, c->point, 0));
}

static void check_log(struct tessera_bo *log, uint32_t turn, const uint32_t *want)
{
	uint32_t got[BUFFER_WORDS];

	require_ok(tessera_bo_read(log, (uint64_t)turn * BUFFER_BYTES, got, sizeof(got)));
	require(!memcmp(got, want, sizeof(got)));
}

/*
 * Each job reads the contents at the time of its submission, although the CPU
 * discards and writes the buffer meanwhile. Fails if a logged copy has later
 * bytes.
 */
static void rename_buffers(bool vm, uint32_t slices)
{
	const uint32_t discard = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE;
	struct client c = client_open(vm);
	struct tessera_bo *log = new_staging(&c, TURNS * BUFFER_BYTES), *scratch;
	struct tessera_buffer *buffer = new_buffer(&c, slices);
	uint32_t want[BUFFER_WORDS];

	scratch = new_staging(&c, OBJECT_BYTES);
	keep_busy(&c, scratch);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		write_words(buffer, discard, 0, BUFFER_WORDS, turn << 16);
		log_buffer(&c, buffer, log, turn);
	}
	finish(&c);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t i = 0; i < BUFFER_WORDS; i++)
			want[i] = (turn << 16) + i;
		check_log(log, turn, want);
	}
	tessera_buffer_del(buffer);
	tessera_bo_del(scratch);
	tessera_bo_del(log);
	client_close(&c);
}

static void rename_objects(bool vm)
{
	rename_buffers(vm, 1);
}

static void rename_slices(bool vm)
{
	rename_buffers(vm, 16);
}

static bool is_done(struct client *c)
{
	uint64_t reached;

	require_ok(tessera_syncobj_query(c->timeline, &reached));
	return reached == c->point;
}

/*
 * While a job reads the buffer, a lock with DONTBLOCK returns -EBUSY, and an
 * unsynchronised lock succeeds. If the job is still running after both calls,
 * it was running during them. Returns false if it ended too early to show
 * anything.
 */
static bool locks_beside_a_job(struct client *c, struct tessera_buffer *buffer)
{
	const uint32_t append = TESSERA_MAP_WRITE | TESSERA_MAP_UNSYNCHRONIZED;
	const uint32_t dont_block = TESSERA_MAP_WRITE | TESSERA_MAP_DONTBLOCK;
	void *p;
	int rc = tessera_buffer_lock(buffer, dont_block, &p);

	if (is_done(c)) {
		if (!rc)
			require_ok(tessera_buffer_unlock(buffer, dont_block));
		return false;
	}
	require(rc == -EBUSY);
	require_ok(tessera_buffer_lock(buffer, append, &p));
	require_ok(tessera_buffer_unlock(buffer, append));
	return !is_done(c);
}

/*
 * The CPU writes bytes that jobs do not read without waiting, and other bytes
 * after the jobs. Fails if a lock does not wait, waits without need, or changes
 * the object.
 */
static void no_overwrite(bool vm)
{
	struct client c = client_open(vm);
	struct tessera_bo *log = new_staging(&c, 2 * BUFFER_BYTES);
	struct tessera_bo *scratch = new_staging(&c, OBJECT_BYTES);
	struct tessera_buffer *buffer = new_buffer(&c, 1);
	struct tessera_bo *object = tessera_buffer_bo(buffer);
	uint32_t want[BUFFER_WORDS], turns = 1;

	write_words(buffer, TESSERA_MAP_WRITE, 0, BUFFER_WORDS / 2, 1000);
	/* Repeat with more work, until the job takes longer than the calls. */
	for (bool shown = false; !shown; turns *= 2) {
		require(turns <= 256);
		for (uint32_t i = 0; i < turns; i++)
			keep_busy(&c, scratch);
		log_buffer(&c, buffer, log, 0);
		shown = locks_beside_a_job(&c, buffer);
		if (!shown)
			finish(&c);
	}
	require(tessera_buffer_bo(buffer) == object);
	/* A lock that waits returns after the job, with the same object. */
	write_words(buffer, TESSERA_MAP_WRITE, 0, BUFFER_WORDS, 7000);
	require(is_done(&c));
	require(tessera_buffer_bo(buffer) == object);
	log_buffer(&c, buffer, log, 1);
	finish(&c);
	for (uint32_t i = 0; i < BUFFER_WORDS; i++)
		want[i] = i < BUFFER_WORDS / 2 ? 1000 + i : 0;
	check_log(log, 0, want);
	for (uint32_t i = 0; i < BUFFER_WORDS; i++)
		want[i] = 7000 + i;
	check_log(log, 1, want);
	tessera_buffer_del(buffer);
	tessera_bo_del(scratch);
	tessera_bo_del(log);
	client_close(&c);
}

/* ---- Reused objects ------------------------------------------------------ */

/* Submit a job that fills the object and copies it to its place in the log. */
static void use_object(struct client *c, struct tessera_bo *bo, struct tessera_bo *log,
		       uint32_t turn)
{
	const struct tessera_rect all = words(0, BUFFER_WORDS);

	require_ok(tessera_vm_make_resident(c->vm, &bo, 1));
	bind_words(c, 0, bo, 0, true);
	require_ok(tessera_cmdbuf_fill(c->cb, 0, &all, turn + 1));
	bind_words(c, 1, log, 0, true);
	require_ok(tessera_cmdbuf_copy(c->cb, 1, turn * BUFFER_WORDS, 0, 0, &all));
	submit(c);
}

/*
 * Objects are given to the cache when they are submitted, and taken for the
 * next job. Fails if an object is reused while a job uses it, or if the cache
 * does not reuse the last object.
 */
static void use_again(bool vm)
{
	struct client c = client_open(vm);
	struct tessera_bo *log = new_staging(&c, TURNS * BUFFER_BYTES), *bo;
	uint32_t want[BUFFER_WORDS], handles[2] = { 0 };
	struct tessera_cache *cache;
	struct tessera_bo_desc desc;

	require_ok(tessera_cache_new(c.dev, MIB(4), &cache));
	require_ok(tessera_bo_desc_init(c.dev, &desc, TESSERA_USAGE_TEXTURE, KIB(60), NULL));
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		require_ok(tessera_cache_take(cache, &desc, &bo));
		require(tessera_bo_size(bo) == KIB(64));
		use_object(&c, bo, log, turn);
		/* After this all given objects are idle. */
		if (turn % 32 == 31)
			finish(&c);
		if (turn >= TURNS - 2)
			handles[turn - (TURNS - 2)] = tessera_bo_handle(bo);
		tessera_cache_give(cache, bo, c.timeline, c.point);
	}
	require_ok(tessera_cache_take(cache, &desc, &bo));
	require(tessera_bo_handle(bo) == handles[1]);
	tessera_cache_give(cache, bo, NULL, 0);
	finish(&c);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t i = 0; i < BUFFER_WORDS; i++)
			want[i] = turn + 1;
		check_log(log, turn, want);
	}
	tessera_cache_del(cache);
	tessera_bo_del(log);
	client_close(&c);
}

/* ---- Memory of the process ----------------------------------------------- */

/*
 * Jobs read and write memory of the process in place. Fails if the copy
 * differs.
 */
static void user_memory(bool vm)
{
	const struct tessera_rect all = words(0, BUFFER_WORDS);
	struct client c = client_open(vm);
	const size_t size = BUFFER_BYTES < 4096 ? 4096 : BUFFER_BYTES;
	uint32_t *from =
		mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *to = from + size / 4;
	struct tessera_bo *src, *dst;
	void *map;
	int rc;

	require(from != MAP_FAILED);
	rc = tessera_bo_from_user(c.dev, from, size, DRM_TESSERA_BO_GPU_READ_ONLY, &src);
	if (rc == -EOPNOTSUPP) {
		printf("# refused, as on a device that does not snoop\n");
		client_close(&c);
		return;
	}
	require_ok(rc);
	require_ok(tessera_bo_from_user(c.dev, to, size, 0, &dst));
	require(tessera_bo_map(dst, &map) == -EPERM);
	require(tessera_bo_lock(&dst, TESSERA_MAP_READ, &map) == -EPERM);
	for (uint32_t turn = 0; turn < 8; turn++) {
		for (uint32_t i = 0; i < BUFFER_WORDS; i++)
			from[i] = (turn << 16) + i;
		require_ok(tessera_vm_make_resident(c.vm, &src, 1));
		require_ok(tessera_vm_make_resident(c.vm, &dst, 1));
		bind_words(&c, 0, src, 0, false);
		bind_words(&c, 1, dst, 0, true);
		require_ok(tessera_cmdbuf_copy(c.cb, 1, 0, 0, 0, &all));
		submit(&c);
		finish(&c);
		require(!memcmp(from, to, BUFFER_BYTES));
	}
	tessera_bo_del(src);
	tessera_bo_del(dst);
	client_close(&c);
}

/* ---- Usages -------------------------------------------------------------- */

/* Objects of every usage are in a supported segment while jobs use them. */
static void every_usage(bool vm)
{
	static const enum tessera_usage usages[] = { TESSERA_USAGE_TEXTURE,
						     TESSERA_USAGE_RENDER_TARGET,
						     TESSERA_USAGE_VERTEX, TESSERA_USAGE_STAGING };
	struct client c = client_open(vm);

	for (uint32_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
		struct tessera_bo_desc desc;
		struct drm_tessera_bo_info info;
		struct tessera_bo *bo;

		require_ok(tessera_bo_desc_init(c.dev, &desc, usages[i], OBJECT_BYTES, NULL));
		require_ok(tessera_bo_new(c.dev, &desc, &bo));
		require_ok(tessera_bo_info(bo, &info, sizeof(info)));
		require(!info.segment);
		require_ok(tessera_vm_make_resident(c.vm, &bo, 1));
		bind_words(&c, 0, bo, 0, false);
		submit(&c);
		finish(&c);
		require_ok(tessera_bo_info(bo, &info, sizeof(info)));
		require(info.segment && desc.supported >> info.segment & 1);
		tessera_bo_del(bo);
	}
	client_close(&c);
}

/* ---- List of tests ------------------------------------------------------- */

static const struct test tests[] = {
	{ "SPLIT-2 RES-2 RES-5 a working set larger than memory matches the model", same_bytes },
	{ "LOCK-3 LOCK-5 MODEL-11 a discard switches to another object", rename_objects },
	{ "LOCK-3 LOCK-5 a discard switches to another slice", rename_slices },
	{ "LOCK-4 LOCK-6 LOCK-7 no-overwrite does not wait, an ordinary lock does", no_overwrite },
	{ "RES-8 cached objects are reused after their fence", use_again },
	{ "RES-5 jobs use memory of the process", user_memory },
	{ "SEG-15 every usage is resident in a segment", every_usage },
};

int main(void)
{
	return run_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
