// SPDX-License-Identifier: MIT
/*
 * Another device (vgem) has attached to an object: the object keeps its pages,
 * and everything else still works. vgem maps the pages and does nothing with
 * them. The address in debugfs shows that they are the same pages.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "foreign.h"
#include "host.h"
#include "inject.h"
#include "memory.h"
#include "stall.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

/*
 * Read the pin count and the first page of the object of this size from
 * debugfs.
 */
static uint64_t first_page(uint64_t size, unsigned int *pins)
{
	char *text = tsr_debugfs_read("allocations"), key[32];
	unsigned long long page;
	const char *line;

	snprintf(key, sizeof(key), " size %llu ", (unsigned long long)size);
	line = strstr(text, key);
	require(line && (line = strstr(line, " pins ")));
	require_eq(sscanf(line, " pins %u page %llx", pins, &page), 2);
	free(text);
	return page;
}

static uint64_t pinned_page(uint64_t size, unsigned int pins)
{
	unsigned int have;
	uint64_t page = first_page(size, &have);

	require_eq(have, pins);
	require(page);
	return page;
}

static void *map_dmabuf(int dmabuf, uint64_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);

	require(map != MAP_FAILED);
	return map;
}

/* An object that prefers video memory and also supports the aperture. */
static struct tsr_bo movable(struct tsr_device *dev, uint64_t size)
{
	return tsr_bo_prefers(dev, size, tsr_seg_visible(dev), tsr_bit(tsr_seg_gart(dev)),
			      cpu | DRM_TESSERA_BO_CPU_CACHED);
}

static void in_parts(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo, uint32_t value)
{
	tsr_knob("force_split", "1");
	tsr_gpu_fill(dev, ctx, bo, value);
	tsr_knob("force_split", "0");
}

/*
 * One round: video memory, attach, aperture, system memory, aperture, detach,
 * video memory.
 */
static void attached_round(struct tsr_device *dev, uint32_t ctx, struct tsr_bo *bo, uint32_t round)
{
	uint32_t gart = tsr_seg_gart(dev)->id, vis = tsr_seg_visible(dev)->id;
	int dmabuf = tsr_export(dev, bo), vgem = tsr_vgem_open();
	const uint32_t *seen = map_dmabuf(dmabuf, bo->size);
	uint32_t theirs;
	uint64_t page;

	tsr_pattern_write(bo, round);
	tsr_gpu_touch(dev, ctx, bo);
	require_eq(tsr_bo_info(dev, bo).segment, vis);
	require_ok(__tsr_import(vgem, dmabuf, &theirs));
	require_eq(tsr_bo_info(dev, bo).segment, 0);
	page = pinned_page(bo->size, 1);
	tsr_pattern_check(bo, round);
	require_eq(tsr_swap_out_objects(), 0);

	tsr_gpu_fill(dev, ctx, bo, round);
	require_eq(tsr_bo_info(dev, bo).segment, gart);
	require_eq(tsr_swap_out_objects(), 0);
	tsr_evict_set(1u << gart);
	require_eq(tsr_bo_info(dev, bo).segment, 0);
	tsr_words_check(seen, bo->size / 4, round);
	tsr_pattern_write(bo, round + 20);
	in_parts(dev, ctx, bo, round + 10);
	require_eq(tsr_bo_info(dev, bo).segment, gart);
	tsr_words_check(seen, bo->size / 4, round + 10);
	require_eq(pinned_page(bo->size, 1), page);

	require_ok(__tsr_bo_close(vgem, theirs));
	tsr_evict_set(1u << gart);
	tsr_bo_wait(dev, bo);
	require_eq(tsr_swap_out_objects(), bo->size / 4096);
	tsr_words_check(seen, bo->size / 4, round + 10);
	tsr_gpu_touch(dev, ctx, bo);
	require_eq(tsr_bo_info(dev, bo).segment, vis);
	munmap((void *)seen, bo->size);
	close(dmabuf);
	close(vgem);
}

static void need_vgem(void)
{
	int vgem = tsr_vgem_need();

	close(vgem);
}

static void pages_stay(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = movable(&dev, MiB(1) + KiB(12));

	need_vgem();
	tsr_bo_map(&dev, &bo);
	for (uint32_t round = 1; round <= 3; round++)
		attached_round(&dev, ctx, &bo, round);
	tsr_close(&dev);
}

/*
 * Two importers attach, one detaches, and the creator closes the object. It
 * lives as long as it is attached.
 */
static void pins_count(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = movable(&dev, MiB(1) + KiB(16));
	uint32_t ctx = tsr_context_new(&dev, 0), theirs[2];
	int vgem[2] = { tsr_vgem_open(), tsr_vgem_open() }, dmabuf = tsr_export(&dev, &bo);
	uint64_t page;

	need_vgem();
	tsr_gpu_fill(&dev, ctx, &bo, 5);
	require_ok(__tsr_import(vgem[0], dmabuf, &theirs[0]));
	page = pinned_page(bo.size, 1);
	require_ok(__tsr_import(vgem[1], dmabuf, &theirs[1]));
	require_eq(pinned_page(bo.size, 2), page);
	require_ok(__tsr_bo_close(vgem[0], theirs[0]));
	require_eq(pinned_page(bo.size, 1), page);
	require_eq(tsr_swap_out_objects(), 0);
	close(dmabuf);
	tsr_bo_free(&dev, &bo);
	require_eq(pinned_page(bo.size, 1), page);

	dmabuf = tsr_export_flags(vgem[1], theirs[1], DRM_CLOEXEC | DRM_RDWR);
	bo.map = map_dmabuf(dmabuf, bo.size);
	tsr_words_check(bo.map, bo.size / 4, 5);
	munmap(bo.map, bo.size);
	close(dmabuf);
	close(vgem[0]);
	close(vgem[1]);
	tsr_close(&dev);
}

/* An object that was never used is zeroed for importers, too. */
static void never_touched(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = movable(&dev, MiB(1) + KiB(20));
	int vgem = tsr_vgem_open(), dmabuf = tsr_export(&dev, &bo);
	uint32_t theirs;

	need_vgem();
	require_ok(__tsr_import(vgem, dmabuf, &theirs));
	pinned_page(bo.size, 1);
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 0);
	close(dmabuf);
	close(vgem);
	tsr_close(&dev);
}

static int attach_error(struct tsr_device *dev, struct drm_tessera_bo_create *args)
{
	struct tsr_bo bo = { .size = args->size };
	int vgem = tsr_vgem_open(), dmabuf, rc;
	uint32_t theirs, ctx = tsr_context_new(dev, 0);

	require_ok(__tsr_bo_create(dev->fd, args));
	bo.handle = args->handle;
	dmabuf = tsr_export(dev, &bo);
	rc = __tsr_import(vgem, dmabuf, &theirs);
	/* The failed attach has no effect on the object's jobs. */
	tsr_gpu_touch(dev, ctx, &bo);
	close(vgem);
	close(dmabuf);
	tsr_bo_free(dev, &bo);
	tsr_context_free(dev, ctx);
	return rc;
}

/*
 * An importer cannot make the object unusable for jobs: attaching fails if no
 * aperture that the jobs can use is in the supported set.
 */
static void must_stay_useful(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev)), ro = tsr_bit(tsr_seg_ro(&dev));
	struct drm_tessera_bo_create args = { .size = KiB(64), .flags = cpu, .supported = vis };

	need_vgem();
	require_err(attach_error(&dev, &args), -EOPNOTSUPP);
	args.supported = vis | ro;
	require_err(attach_error(&dev, &args), -EOPNOTSUPP);
	args.flags |= DRM_TESSERA_BO_GPU_READ_ONLY;
	require_ok(attach_error(&dev, &args));
	args.flags = cpu;
	args.supported = vis | tsr_bit(tsr_seg_gart(&dev));
	require_ok(attach_error(&dev, &args));
	args.write_set = tsr_bit(tsr_seg_gart(&dev));
	require_ok(attach_error(&dev, &args));
	args.write_set = vis;
	require_err(attach_error(&dev, &args), -EOPNOTSUPP);
	args.write_set = 0;
	args.supported = vis;
	args.layout = DRM_TESSERA_LAYOUT_LINEAR + 1;
	args.pitch = 512;
	require_err(attach_error(&dev, &args), -EOPNOTSUPP);
	tsr_close(&dev);
}

#define PIECE MiB(8)
#define MAX_PIECES 64

/* Pin as many pieces as possible, and check that this is exactly the limit. */
static uint32_t pin_all(struct tsr_device *dev, int vgem, uint32_t *theirs)
{
	struct sysinfo info;
	uint32_t num = 0;
	uint64_t limit;
	int rc = 0;

	require_ok(sysinfo(&info));
	limit = (uint64_t)info.totalram * info.mem_unit / 16;
	require(limit < PIECE * MAX_PIECES);
	while (!rc) {
		struct tsr_bo bo = tsr_bo_new(dev, PIECE, tsr_bit(tsr_seg_gart(dev)), cpu);
		int dmabuf = tsr_export(dev, &bo);

		rc = __tsr_import(vgem, dmabuf, &theirs[num]);
		num += !rc;
		tsr_bo_free(dev, &bo);
		close(dmabuf);
	}
	require_err(rc, -EDQUOT);
	require(num * PIECE <= limit && (num + 1) * PIECE > limit);
	return num;
}

static void other_client(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, PIECE, tsr_bit(tsr_seg_gart(&dev)), cpu);
	int vgem = tsr_vgem_open();
	uint32_t theirs;

	(void)arg;
	require_ok(__tsr_import(vgem, tsr_export(&dev, &bo), &theirs));
	close(vgem);
	tsr_close(&dev);
}

static void pins_are_limited(void)
{
	struct tsr_device dev = tsr_open(), more = tsr_open();
	uint32_t theirs[MAX_PIECES], extra[MAX_PIECES], num, other;
	int vgem = tsr_vgem_open();
	struct tsr_bo bo;

	need_vgem();
	num = pin_all(&dev, vgem, theirs);
	tap_note("%u objects of %llu MiB", num, (unsigned long long)PIECE >> 20);
	/*
	 * Another file of the same process shares the limit; another process
	 * does not.
	 */
	bo = tsr_bo_new(&more, PIECE, tsr_bit(tsr_seg_gart(&more)), cpu);
	require_err(__tsr_import(vgem, tsr_export(&more, &bo), &other), -EDQUOT);
	tap_join(tap_fork(other_client, NULL));
	/*
	 * Pins are released one by one, although the objects' handles were
	 * closed before.
	 */
	for (uint32_t i = 0; i < num; i++)
		require_ok(__tsr_bo_close(vgem, theirs[i]));
	require_eq(pin_all(&more, vgem, extra), num);
	close(vgem);
	tsr_close(&more);
	tsr_close(&dev);
}

/* Pin as much as possible and keep it until told to stop. */
static void pin_and_keep(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	int vgem = tsr_vgem_open(), rc = 0;

	while (!rc) {
		struct tsr_bo bo = tsr_bo_new(&dev, PIECE, tsr_bit(tsr_seg_gart(&dev)), cpu);
		uint32_t theirs;

		rc = __tsr_import(vgem, tsr_export(&dev, &bo), &theirs);
		client->state->rounds += !rc;
	}
	require_err(rc, -EDQUOT);
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	close(vgem);
	tsr_close(&dev);
}

#define PINNERS 3

/* A failed attach leaves nothing pinned. */
static void refused_pins(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), theirs[MAX_PIECES], handle, failures = 0;
	int vgem = tsr_vgem_open(), dmabuf, rc;
	struct tsr_bo bo;
	bool hit = true;

	need_vgem();
	tsr_inject_init();
	/*
	 * pin_all() below would notice bytes that are still charged. The pages
	 * themselves are allocated last, so the first allocations cover
	 * everything else.
	 */
	for (unsigned int nth = 1; hit && nth < 40; nth++) {
		bo = movable(&dev, PIECE);
		tsr_gpu_touch(&dev, ctx, &bo);
		dmabuf = tsr_export(&dev, &bo);
		tsr_inject_set(nth);
		rc = __tsr_import(vgem, dmabuf, &handle);
		hit = tsr_inject_done();
		/* User copies can fail, too (-EFAULT). */
		require_msg(!rc || (hit && (rc == -ENOMEM || rc == -EFAULT)), "allocation %u: %s",
			    nth, strerror(-rc));
		failures += !!rc;
		if (!rc)
			require_ok(__tsr_bo_close(vgem, handle));
		tsr_bo_free(&dev, &bo);
		close(dmabuf);
	}
	tap_note("%u of the attempts failed", failures);
	require(failures);
	pin_all(&dev, vgem, theirs);
	close(vgem);
	tsr_close(&dev);
}

/*
 * All processes together can pin at most an eighth of memory, and each leaves
 * some for the next.
 */
static void pins_are_limited_together(void)
{
	struct tsr_client clients[PINNERS];
	struct sysinfo info;
	uint64_t limit;
	uint32_t num, now;

	need_vgem();
	require_ok(sysinfo(&info));
	limit = (uint64_t)info.totalram * info.mem_unit / 8;
	require(limit >= PIECE << PINNERS);
	/*
	 * In the second round the memory that exited processes had pinned is
	 * available again.
	 */
	for (uint32_t round = 0; round < 2; round++) {
		num = 0;
		for (uint32_t i = 0; i < PINNERS; i++) {
			tsr_client_start(&clients[i], pin_and_keep, 0);
			tsr_wait_for(clients[i].state->ready);
			now = clients[i].state->rounds;
			tap_note("%u objects of %llu MiB", now, (unsigned long long)PIECE >> 20);
			require(now);
			/* Each process leaves as much as it pins. */
			require((num + 2 * now) * PIECE <= limit);
			require((num + 2 * now + 2) * PIECE > limit);
			num += now;
		}
		for (uint32_t i = 0; i < PINNERS; i++) {
			clients[i].state->stop = true;
			tsr_client_join(&clients[i]);
		}
	}
}

#define STORM_BOS 12

static struct storm {
	int dmabuf;
	volatile uint32_t attached;
	volatile bool stop;
} * storm;

static void attach_and_detach(void *arg)
{
	int vgem = tsr_vgem_open();
	uint32_t theirs;

	(void)arg;
	while (!storm->stop) {
		require_ok(__tsr_import(vgem, storm->dmabuf, &theirs));
		storm->attached++;
		require_ok(__tsr_bo_close(vgem, theirs));
	}
	close(vgem);
}

/*
 * A submission in many parts that fills all its objects in turn. The first
 * object stays bound.
 */
static void storm_list(struct tsr_cmd *cmd, struct tsr_bo *bos, uint32_t value)
{
	tsr_cmd_init(cmd);
	tsr_cmd_bind_buffer(cmd, 0, &bos[0], true);
	for (uint32_t i = 1; i < STORM_BOS; i++) {
		tsr_cmd_bind_buffer(cmd, 1, &bos[i], true);
		tsr_cmd_fill(cmd, 1, 0, (uint32_t)(bos[i].size / 4), value + i);
		tsr_cmd_fill(cmd, 0, i * 64, 64, value + i);
	}
}

static void storm_check(struct tsr_bo *bos, uint32_t value)
{
	for (uint32_t i = 1; i < STORM_BOS; i++) {
		tsr_words_check((uint32_t *)bos[0].map + i * 64, 64, value + i);
		tsr_words_check(bos[i].map, bos[i].size / 4, value + i);
	}
}

/*
 * Attach and detach change the segments that the object may use, between two
 * batches and between planning and arming, under memory pressure.
 */
static void attached_in_the_middle(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = tap_slow() ? 6 : 20;
	struct tsr_bo bos[STORM_BOS];
	uint32_t attached;
	struct tsr_cmd cmd;
	pid_t pid;

	need_vgem();
	storm = tsr_shared(sizeof(*storm));
	for (uint32_t i = 0; i < STORM_BOS; i++) {
		bos[i] = movable(&dev, MiB(3) + i * 4096);
		tsr_bo_map(&dev, &bos[i]);
	}
	storm->dmabuf = tsr_export(&dev, &bos[0]);
	tsr_knob("force_split", "1");
	pid = tap_fork(attach_and_detach, NULL);
	for (uint32_t round = 0; round < rounds; round++) {
		attached = storm->attached;
		storm_list(&cmd, bos, round * 100);
		tsr_submit_done(&dev, ctx, &cmd);
		storm_check(bos, round * 100);
		tsr_cmd_fini(&cmd);
		tsr_wait_for(storm->attached != attached);
	}
	storm->stop = true;
	tap_join(pid);
	tsr_knob("force_split", "0");
	tap_note("attached %u times", storm->attached);
	tsr_close(&dev);
}

/* The pages stay the same while other clients need memory. */
static void beside_a_storm(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), ctx_other = tsr_context_new(&other, 0), theirs;
	struct tsr_bo bo = movable(&dev, MiB(2) + KiB(28)), bos[STORM_BOS];
	int vgem = tsr_vgem_open(), dmabuf = tsr_export(&dev, &bo);
	struct tsr_cmd cmd;
	uint64_t page;

	need_vgem();
	tsr_bo_map(&dev, &bo);
	require_ok(__tsr_import(vgem, dmabuf, &theirs));
	page = pinned_page(bo.size, 1);
	for (uint32_t i = 0; i < STORM_BOS; i++) {
		bos[i] = movable(&other, MiB(3) + i * 4096);
		tsr_bo_map(&other, &bos[i]);
	}
	for (uint32_t round = 1; round <= 4; round++) {
		tsr_pattern_write(&bo, round);
		tsr_gpu_touch(&dev, ctx, &bo);
		storm_list(&cmd, bos, round * 100);
		tsr_submit_done(&other, ctx_other, &cmd);
		tsr_evict_set(round % 2 ? ~0u : tsr_bit(tsr_seg_gart(&dev)));
		tsr_swap_out_objects();
		storm_check(bos, round * 100);
		tsr_cmd_fini(&cmd);
		require_eq(pinned_page(bo.size, 1), page);
		tsr_pattern_check(&bo, round);
		tsr_gpu_fill(&dev, ctx, &bo, round);
		tsr_words_check(bo.map, bo.size / 4, round);
		require_eq(pinned_page(bo.size, 1), page);
	}
	close(dmabuf);
	close(vgem);
	tsr_close(&other);
	tsr_close(&dev);
}

/*
 * A foreign fence does not delay an attach. A job that uses the object does,
 * and after a short wait the attach fails with -EBUSY.
 */
static void jobs_are_in_the_way(void)
{
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), theirs;
	uint32_t set = tsr_bit(tsr_seg_visible(&dev)) | tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), set, DRM_TESSERA_BO_CPU_ACCESS);
	int vgem = tsr_vgem_open(), dmabuf = tsr_export(&dev, &bo), fence;
	struct tsr_stuck stuck;

	tsr_gpu_fill(&dev, ctx, &bo, 3);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_visible(&dev)->id);
	stuck = tsr_stuck_start(&dev, ctx);
	require_ok(__tsr_submit_use(&dev, ctx, &bo, false));
	tsr_knob("attach_ms", "100");
	require_err(__tsr_import(vgem, dmabuf, &theirs), -EBUSY);
	tsr_knob("attach_ms", TSR_FOR_GOOD);
	tsr_stuck_end(&stuck);
	require_ok(__tsr_bo_wait(dev.fd, bo.handle, 0, INT64_MAX));

	tsr_gpu_fill(&dev, ctx, &bo, 4);
	fence = tsr_foreign_fence(foreign);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	require_ok(__tsr_import(vgem, dmabuf, &theirs));
	tsr_foreign_signal(foreign, 0);
	tsr_bo_map(&dev, &bo);
	tsr_words_check(bo.map, bo.size / 4, 4);
	close(fence);
	close(vgem);
	close(dmabuf);
	tsr_foreign_close(foreign);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "pages of an attached object stay the same", pages_stay, 0, 0 },
	{ "pins are counted", pins_count, 0, 0 },
	{ "an unused object reads as zero for another device", never_touched, 0, 0 },
	{ "an attached object stays usable for jobs", must_stay_useful, 0, 0 },
	{ "pinned bytes are limited", pins_are_limited, 0, 0 },
	{ "a failed attach leaves nothing pinned", refused_pins, 0, 0 },
	{ "pinned bytes of all are limited", pins_are_limited_together, 0, 0 },
	{ "an attach waits for jobs but not for foreign fences", jobs_are_in_the_way, 0, 60 },
	{ "pages stay the same in an eviction storm", beside_a_storm, 0, 0 },
	{ "SPLIT-17 attached in the middle of a submission", attached_in_the_middle, 0, 0 },
};

TSR_TEST_MAIN(tests)
