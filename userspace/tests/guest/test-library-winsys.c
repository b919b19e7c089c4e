// SPDX-License-Identifier: MIT
/*
 * The library as a Mesa winsys uses it, on the real driver (TAP): objects,
 * fences and timelines that cross files, and small buffers. Each test runs with
 * both addressing models.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "client.h"

#define SIZE KIB(64)
#define COUNT ((uint32_t)(SIZE / 4))

/* Submit a job that fills the object. */
static void fill(struct client *c, struct tessera_bo *bo, uint32_t value)
{
	const struct tessera_rect all = words(0, COUNT);

	require_ok(tessera_vm_make_resident(c->vm, &bo, 1));
	bind_words(c, 0, bo, 0, true);
	require_ok(tessera_cmdbuf_fill(c->cb, 0, &all, value));
	submit(c);
}

static void check_words(struct tessera_bo *bo, uint32_t value)
{
	uint32_t got[COUNT];

	require_ok(tessera_bo_read(bo, 0, got, sizeof(got)));
	for (uint32_t i = 0; i < COUNT; i++)
		require(got[i] == value);
}

/* ---- dma-bufs ------------------------------------------------------------ */

static struct tessera_bo *import(struct client *c, int fd)
{
	struct tessera_bo *bo;

	require_ok(tessera_bo_import(c->dev, fd, &bo));
	return bo;
}

struct importer {
	struct client *c;
	int fd;
};

static void *import_often(void *arg)
{
	struct importer *importer = arg;

	for (uint32_t i = 0; i < 500; i++) {
		struct tessera_bo *bo = import(importer->c, importer->fd);

		require_ok(tessera_bo_wait(bo, 0, TESSERA_FOREVER));
		tessera_bo_del(bo);
	}
	return NULL;
}

/*
 * Another file has one object of a dma-buf, however often it imports it, and
 * its handle is closed with the last reference. Fails if a thread finds a handle
 * closed, or if the two files see different bytes.
 */
static void one_object(bool vm)
{
	struct client c = client_open(vm), d = client_open(vm);
	struct tessera_bo *bo = new_staging(&c, SIZE), *twice[2];
	struct importer importer = { .c = &d };
	pthread_t threads[4];

	require_ok(tessera_bo_export(bo, &importer.fd));
	require(import(&c, importer.fd) == bo);
	tessera_bo_del(bo);
	fill(&c, bo, 0x11111111);
	finish(&c);
	for (uint32_t i = 0; i < 4; i++)
		require(!pthread_create(&threads[i], NULL, import_often, &importer));
	for (uint32_t i = 0; i < 4; i++)
		require(!pthread_join(threads[i], NULL));
	twice[0] = import(&d, importer.fd);
	twice[1] = import(&d, importer.fd);
	close(importer.fd);
	require(twice[0] == twice[1] && tessera_bo_size(twice[0]) == SIZE);
	tessera_bo_del(twice[0]);
	check_words(twice[1], 0x11111111);
	fill(&d, twice[1], 0x22222222);
	finish(&d);
	tessera_bo_del(twice[1]);
	check_words(bo, 0x22222222);
	tessera_bo_del(bo);
	client_close(&d);
	client_close(&c);
}

/* ---- sync_files ---------------------------------------------------------- */

/* Record fills that take a while. The last one leaves @value. */
static void record_slowly(struct client *c, struct tessera_bo *bo, uint32_t value)
{
	const struct tessera_rect all = words(0, COUNT);

	require_ok(tessera_vm_make_resident(c->vm, &bo, 1));
	bind_words(c, 0, bo, 0, true);
	for (uint32_t i = 0; i < 4096; i++)
		require_ok(tessera_cmdbuf_fill(c->cb, 0, &all, value + 4095 - i));
}

/* Submit the recorded job behind @wait, or NULL, and export its end as a sync_file. */
static int submit_out_fence(struct client *c, const struct tessera_sync *wait)
{
	struct tessera_fence *fence;
	struct tessera_submit_args args = { .waits = wait, .num_waits = !!wait, .fence = &fence };
	int fd;

	require_ok(tessera_context_submit(c->ctx, c->cb, &args));
	tessera_cmdbuf_reset(c->cb);
	require_ok(tessera_syncobj_export(tessera_fence_syncobj(fence), &fd));
	tessera_fence_del(fence);
	return fd;
}

/*
 * A job of another file, on another engine, waits for the sync_file of a job.
 * Fails if it copies the object before the job has ended.
 */
static void fence_crosses(bool vm)
{
	const struct tessera_rect all = words(0, COUNT);
	struct client c = client_open(vm), d = client_open_last(vm);
	struct tessera_bo *bo = new_staging(&c, SIZE), *copy = new_staging(&d, SIZE), *other;
	struct tessera_sync wait = { 0 };
	int dmabuf, in, out;

	require_ok(tessera_bo_export(bo, &dmabuf));
	other = import(&d, dmabuf);
	require_ok(tessera_vm_make_resident(d.vm, &other, 1));
	require_ok(tessera_syncobj_new(d.dev, 0, &wait.obj));
	require(tessera_syncobj_export(wait.obj, &in) == -EINVAL);
	require(tessera_syncobj_import(wait.obj, dmabuf) == -EINVAL);
	bind_words(&d, 0, copy, 0, true);
	bind_words(&d, 1, other, 0, false);
	require_ok(tessera_cmdbuf_copy(d.cb, 0, 0, 0, 1, &all));
	record_slowly(&c, bo, 0x55555555);
	in = submit_out_fence(&c, NULL);
	require_ok(tessera_syncobj_import(wait.obj, in));
	out = submit_out_fence(&d, &wait);
	require_ok(tessera_syncobj_import(wait.obj, out));
	require_ok(tessera_syncobj_wait(wait.obj, 0, TESSERA_FOREVER));
	check_words(copy, 0x55555555);
	close(out);
	close(in);
	close(dmabuf);
	tessera_syncobj_del(wait.obj);
	tessera_bo_del(other);
	tessera_bo_del(copy);
	tessera_bo_del(bo);
	client_close(&d);
	client_close(&c);
}

/* ---- Waiting for several fences ------------------------------------------ */

#define FENCES 4

/* Even ones are binary, odd ones timelines. */
static uint64_t point_of(uint32_t i)
{
	return i % 2 ? 10 + i : 0;
}

struct signaller {
	const struct tessera_sync *syncs;
	uint32_t which;
};

static void *signal_one(void *arg)
{
	const struct signaller *s = arg;
	const struct tessera_sync *sync = &s->syncs[s->which];

	require_ok(tessera_syncobj_signal(sync->obj, sync->point));
	return NULL;
}

/* Wait for any point while another thread signals one. */
static void wait_for_one(const struct tessera_sync *syncs, uint32_t which)
{
	struct signaller s = { .syncs = syncs, .which = which };
	uint32_t first = FENCES;
	pthread_t thread;

	require(!pthread_create(&thread, NULL, signal_one, &s));
	require_ok(tessera_sync_wait(syncs, FENCES, 0, TESSERA_FOREVER, &first));
	require(first == which);
	require(!pthread_join(thread, NULL));
}

/*
 * A wait ends with the first of several fences, or with the last one. Fails if
 * it ends too early, too late, or before its deadline without a fence.
 */
static void any_and_all(bool vm)
{
	struct client c = client_open(vm);
	struct tessera_bo *bo = new_staging(&c, SIZE);
	struct tessera_sync syncs[FENCES];
	struct tessera_submit_args args = { .signals = syncs, .num_signals = FENCES };
	int64_t deadline = tessera_deadline(2000000);

	for (uint32_t i = 0; i < FENCES; i++) {
		require_ok(tessera_syncobj_new(c.dev, 0, &syncs[i].obj));
		syncs[i].point = point_of(i);
	}
	require(tessera_sync_wait(syncs, FENCES, 0, 0, NULL) == -ETIME);
	require(tessera_sync_wait(syncs, FENCES, 0, deadline, NULL) == -ETIME);
	require(tessera_deadline(0) >= deadline);
	for (uint32_t i = 0; i < FENCES; i++) {
		wait_for_one(syncs, i);
		require(tessera_sync_wait(syncs, FENCES, 1, 0, NULL) == -ETIME);
		if (!syncs[i].point)
			require_ok(tessera_syncobj_reset(syncs[i].obj));
		syncs[i].point *= 2;
	}
	record_slowly(&c, bo, 0x77777777);
	require_ok(tessera_context_submit(c.ctx, c.cb, &args));
	require_ok(tessera_sync_wait(syncs, FENCES, 1, TESSERA_FOREVER, NULL));
	require_ok(tessera_sync_wait(syncs, FENCES, 1, 0, NULL));
	check_words(bo, 0x77777777);
	for (uint32_t i = 0; i < FENCES; i++)
		tessera_syncobj_del(syncs[i].obj);
	tessera_bo_del(bo);
	client_close(&c);
}

/* ---- Timelines ----------------------------------------------------------- */

/*
 * A timeline of one file is the same timeline in another file: points that a
 * job or the CPU of one side signals are seen by the other side, once they are
 * reached. Fails if a wait ends early, or never.
 */
static void timeline_crosses(bool vm)
{
	struct client c = client_open(vm), d = client_open(vm);
	struct tessera_bo *bo = new_staging(&c, SIZE);
	struct tessera_sync here = { .point = 5 }, there = { .point = 5 };
	struct tessera_submit_args args = { .signals = &here, .num_signals = 1 };
	uint64_t reached;
	int fd;

	require_ok(tessera_syncobj_new(c.dev, 0, &here.obj));
	require_ok(tessera_bo_export(bo, &fd));
	require(tessera_syncobj_from_fd(d.dev, fd, &there.obj) == -EINVAL);
	close(fd);
	require_ok(tessera_syncobj_to_fd(here.obj, &fd));
	require_ok(tessera_syncobj_from_fd(d.dev, fd, &there.obj));
	close(fd);
	require_ok(tessera_syncobj_signal(here.obj, 4));
	require(tessera_syncobj_wait(there.obj, 5, 0) == -ETIME);
	record_slowly(&c, bo, 0x99999999);
	require_ok(tessera_context_submit(c.ctx, c.cb, &args));
	require_ok(tessera_syncobj_wait(there.obj, 5, TESSERA_FOREVER));
	check_words(bo, 0x99999999);
	require_ok(tessera_syncobj_query(there.obj, &reached));
	require(reached == 5);
	require_ok(tessera_syncobj_signal(there.obj, 6));
	require_ok(tessera_syncobj_query(here.obj, &reached));
	require(reached == 6);
	tessera_syncobj_del(here.obj);
	require_ok(tessera_syncobj_wait(there.obj, 6, 0));
	tessera_syncobj_del(there.obj);
	tessera_bo_del(bo);
	client_close(&d);
	client_close(&c);
}

/* ---- Devices by PCI address ---------------------------------------------- */

static dev_t node_of(const struct tessera_device *dev)
{
	struct stat st;

	require(!fstat(tessera_device_fd(dev), &st));
	return st.st_rdev;
}

/*
 * The device is opened by both names of its PCI function. Fails if another node
 * is opened, or a device that is not driven by tessera.
 */
static void by_pci_address(bool vm)
{
	struct client c = client_open(vm);
	char link[64], target[256], name[300];
	struct tessera_device *dev;
	dev_t node = node_of(c.dev);
	ssize_t length;

	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(node), minor(node));
	length = readlink(link, target, sizeof(target) - 1);
	require(length > 0);
	target[length] = 0;
	snprintf(name, sizeof(name), "pci-%s", strrchr(target, '/') + 1);
	require_ok(tessera_device_new_pci(name, &dev));
	require(node_of(dev) == node);
	tessera_device_del(dev);
	for (char *p = name + strlen("pci-"); *p; p++) {
		if (*p == ':' || *p == '.')
			*p = '_';
	}
	require_ok(tessera_device_new_pci(name, &dev));
	require(node_of(dev) == node);
	tessera_device_del(dev);
	/* The host bridge. */
	require(tessera_device_new_pci("pci-0000:00:00.0", &dev) == -ENODEV);
	require(tessera_device_new_pci(name + 4, &dev) == -EINVAL);
	client_close(&c);
}

/* ---- Small buffers ------------------------------------------------------- */

#define TURNS 200
#define PIECE_BYTES 1024
#define PIECE_WORDS (PIECE_BYTES / 4)

/* Write a piece with the CPU, and submit a job that copies it to the log. */
static void log_piece(struct client *c, struct tessera_piece *piece, struct tessera_bo *log,
		      uint32_t turn)
{
	const struct tessera_rect all = words(0, PIECE_WORDS);
	struct tessera_bo *bo = tessera_piece_bo(piece);
	uint32_t *p;
	void *map;

	require_ok(tessera_bo_map(bo, &map));
	p = (uint32_t *)((char *)map + tessera_piece_offset(piece));
	for (uint32_t i = 0; i < PIECE_WORDS; i++)
		p[i] = (turn << 16) + i;
	require_ok(tessera_bo_unmap(bo));
	require_ok(tessera_vm_make_resident(c->vm, &bo, 1));
	bind_words(c, 0, log, 0, true);
	bind_words(c, 1, bo, tessera_piece_offset(piece), false);
	require_ok(tessera_cmdbuf_copy(c->cb, 0, turn * PIECE_WORDS, 0, 1, &all));
	submit(c);
}

/*
 * The CPU writes pieces while jobs read those given back before. Fails if a
 * piece is taken again while a job uses it, or if pieces of jobs that are over
 * are not.
 */
static void small_buffers(bool vm)
{
	struct client c = client_open(vm);
	struct tessera_bo *log = new_staging(&c, TURNS * PIECE_BYTES), *scratch, *bos[TURNS];
	struct tessera_piece *piece;
	struct tessera_bo_desc desc;
	struct tessera_pool *pool;
	bool again;

	scratch = new_staging(&c, SIZE);
	require_ok(tessera_bo_desc_init(c.dev, &desc, TESSERA_USAGE_VERTEX, KIB(16), NULL));
	require_ok(tessera_pool_new(c.dev, &desc, 256, KIB(8), &pool));
	record_slowly(&c, scratch, 0);
	submit(&c);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		require_ok(tessera_pool_take(pool, PIECE_BYTES - 8, &piece));
		require(tessera_piece_size(piece) == PIECE_BYTES);
		bos[turn] = tessera_piece_bo(piece);
		log_piece(&c, piece, log, turn);
		tessera_pool_give(pool, piece, c.timeline, c.point);
	}
	finish(&c);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint32_t got[PIECE_WORDS];

		require_ok(tessera_bo_read(log, (uint64_t)turn * PIECE_BYTES, got, sizeof(got)));
		for (uint32_t i = 0; i < PIECE_WORDS; i++)
			require(got[i] == (turn << 16) + i);
	}
	for (uint32_t i = 0; i < 16; i++) {
		require_ok(tessera_pool_take(pool, PIECE_BYTES, &piece));
		again = false;
		for (uint32_t turn = 0; turn < TURNS; turn++)
			again |= tessera_piece_bo(piece) == bos[turn];
		require(again);
	}
	tessera_pool_del(pool);
	tessera_bo_del(scratch);
	tessera_bo_del(log);
	client_close(&c);
}

/* ---- Reused instances ---------------------------------------------------- */

static bool is_coherent(struct client *c)
{
	struct drm_tessera_query_device info;

	require_ok(tessera_device_refresh(c->dev, &info, sizeof(info)));
	return info.caps & DRM_TESSERA_CAP_IO_COHERENT;
}

/*
 * Lock and discard the object while a job uses it, and return the object that
 * the caller goes on with. Repeats with more work, until the job takes longer
 * than the lock: another object proves that, and else the timeline. Jobs at
 * virtual addresses do not delay the lock. Without coherent caches they must not
 * write the object meanwhile, so they end before.
 */
static struct tessera_bo *discard_busy(struct client *c, struct tessera_bo *bo)
{
	const uint32_t flags = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE | TESSERA_MAP_REUSE;
	bool waits = c->vm && !is_coherent(c);
	struct tessera_bo *old = bo;
	uint64_t reached;
	void *p;

	for (uint32_t turns = 1; turns <= 256; turns *= 2) {
		for (uint32_t i = 0; i < turns; i++) {
			record_slowly(c, bo, 1);
			submit(c);
		}
		if (waits)
			finish(c);
		require_ok(tessera_bo_lock(&bo, flags, &p));
		require_ok(tessera_syncobj_query(c->timeline, &reached));
		require_ok(tessera_bo_unlock(bo, flags));
		if (bo != old || waits || (c->vm && reached < c->point))
			return bo;
		finish(c);
	}
	require(!"the job ends before the lock");
	return NULL;
}

/*
 * A discard takes an idle object that the program has kept, instead of a new
 * one. Jobs at virtual addresses are not known to the kernel, so an object that
 * only they use stays.
 */
static void reuse_instances(bool vm)
{
	struct client c = client_open(vm);
	struct tessera_bo *first = new_staging(&c, SIZE), *second, *third;

	second = discard_busy(&c, tessera_bo_ref(first));
	require((second == first) == vm);
	finish(&c);
	third = discard_busy(&c, tessera_bo_ref(second));
	require(third == first);
	finish(&c);
	tessera_bo_del(third);
	tessera_bo_del(second);
	tessera_bo_del(first);
	client_close(&c);
}

/* ---- Placement ----------------------------------------------------------- */

/*
 * A job that writes finds the object in its write set, at its alignment. The
 * priority is the one last set.
 */
static void placement(bool vm)
{
	struct client c = client_open(vm);
	struct drm_tessera_bo_info info;
	struct tessera_bo_desc desc;
	struct tessera_bo *bo;
	uint32_t vram;

	require_ok(tessera_bo_desc_init(c.dev, &desc, TESSERA_USAGE_TEXTURE, SIZE, NULL));
	require_ok(tessera_bo_desc_segments(c.dev, &desc, "gart,vram"));
	vram = tessera_device_segment(c.dev, "vram")->id;
	desc.alignment = MIB(1);
	desc.write_set = UINT32_C(1) << vram;
	desc.priority = DRM_TESSERA_BO_PRIORITY_MIN;
	for (uint32_t i = 0; i < 3; i++) {
		require_ok(tessera_bo_new(c.dev, &desc, &bo));
		require_ok(tessera_bo_info(bo, &info, sizeof(info)));
		require(info.priority == DRM_TESSERA_BO_PRIORITY_MIN);
		require_ok(tessera_bo_set_priority(bo, DRM_TESSERA_BO_PRIORITY_MAX));
		fill(&c, bo, i);
		finish(&c);
		require_ok(tessera_bo_info(bo, &info, sizeof(info)));
		require(info.priority == DRM_TESSERA_BO_PRIORITY_MAX);
		require(info.segment == vram && info.segment_offset % MIB(1) == 0);
		tessera_bo_del(bo);
	}
	require(tessera_bo_new(c.dev,
			       &(struct tessera_bo_desc){
				       .size = SIZE, .supported = 1u << vram, .alignment = 3 },
			       &bo) == -EINVAL);
	client_close(&c);
}

/* ---- List of tests ------------------------------------------------------- */

static const struct test tests[] = {
	{ "a dma-buf is one object in a file", one_object },
	{ "a job waits for the sync_file of another file", fence_crosses },
	{ "LOCK-8 a wait for any or all of several fences", any_and_all },
	{ "a timeline is the same in another file", timeline_crosses },
	{ "the device is opened by its PCI address", by_pci_address },
	{ "LOCK-3 small buffers are reused after their fences", small_buffers },
	{ "LOCK-3 a discard takes an idle object again", reuse_instances },
	{ "SEG-35 SEG-37 SEG-38 alignment, priority and write set", placement },
};

int main(void)
{
	return run_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
