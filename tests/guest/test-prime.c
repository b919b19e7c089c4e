// SPDX-License-Identifier: MIT
/*
 * dma-bufs shared between files and processes. An import must be the same
 * object with the same fences, a mapping must follow it, and bad calls are
 * refused.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "foreign.h"
#include "held.h"
#include "host.h"
#include "resident.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

static uint32_t import(struct tsr_device *dev, int dmabuf)
{
	uint32_t handle;

	require_ok(__tsr_import(dev->fd, dmabuf, &handle));
	return handle;
}

/* An import is the same object: same placement, contents and charge. */
static void import_is_the_same_object(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&a);
	uint32_t ctx_a = tsr_context_new(&a, 0), ctx_b = tsr_context_new(&b, 0), word;
	struct tsr_bo bo = tsr_bo_new(&a, MiB(1), tsr_bit(seg), cpu);
	struct tsr_bo other = { .size = bo.size };
	int dmabuf = tsr_export(&a, &bo);

	require_eq(import(&a, dmabuf), bo.handle);
	other.handle = import(&b, dmabuf);
	require_eq(import(&b, dmabuf), other.handle);
	require_eq(lseek(dmabuf, 0, SEEK_END), bo.size);
	close(dmabuf);

	tsr_gpu_fill(&b, ctx_b, &other, 0x11111111);
	require_eq(tsr_bo_info(&a, &bo).segment, seg->id);
	require_eq(tsr_bo_info(&a, &bo).segment_offset, tsr_bo_info(&b, &other).segment_offset);
	require_eq(tsr_bo_info(&a, &bo).mmap_offset, tsr_bo_info(&b, &other).mmap_offset);
	require_eq(tsr_fdinfo(&b, "drm-resident-vram"), 0);
	tsr_gpu_read(&a, ctx_a, &bo, 77, 1, &word);
	require_eq(word, 0x11111111);

	/* The object lives as long as any file has it. */
	tsr_bo_map(&b, &other);
	tsr_close(&a);
	tsr_words_check(other.map, other.size / 4, 0x11111111);
	tsr_gpu_fill(&b, ctx_b, &other, 0x22222222);
	tsr_words_check(other.map, other.size / 4, 0x22222222);
	tsr_close(&b);
}

/* Jobs of both files that write the object run in order. */
static void jobs_are_ordered(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	uint32_t ctx = tsr_context_new(&b, 0), sync = tsr_syncobj_new(&b), words[16];
	struct tsr_bo bo = tsr_bo_new(&a, 65536, tsr_bit(tsr_seg_visible(&a)), 0);
	struct tsr_held held = tsr_held_open(&a);
	int dmabuf = tsr_export(&a, &bo);
	struct tsr_bo other = { .handle = import(&b, dmabuf), .size = bo.size };
	struct tsr_cmd cmd;

	tsr_held_fill(&held, &bo, ARRAY_SIZE(words), 0x22222222);
	require_err(__tsr_bo_wait(b.fd, other.handle, 0, 0), -EBUSY);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &other, true);
	tsr_cmd_fill(&cmd, 0, 0, ARRAY_SIZE(words) / 2, 0x33333333);
	tsr_submit(&b, ctx, &cmd, 0, sync);
	require(tsr_held_waits(&held));
	tsr_held_go(&held);
	require_ok(tsr_syncobj_status(&b, sync));
	tsr_gpu_read(&b, ctx, &other, 0, ARRAY_SIZE(words), words);
	tsr_words_check(words, ARRAY_SIZE(words) / 2, 0x33333333);
	tsr_words_check(words + ARRAY_SIZE(words) / 2, ARRAY_SIZE(words) / 2, 0x22222222);
	tsr_cmd_fini(&cmd);
	tsr_held_close(&held);
	close(dmabuf);
	tsr_close(&b);
	tsr_close(&a);
}

/*
 * SWZ-13: a mapping of the dma-buf follows the object, and outlives handles and
 * files.
 */
static void dmabuf_mapping_follows_moves(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), cpu), map = bo;
	int dmabuf = tsr_export(&dev, &bo);
	uint32_t *part;

	map.map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	require(map.map != MAP_FAILED);
	part = mmap(NULL, 8192, PROT_READ, MAP_SHARED, dmabuf, 4096 * 5);
	require(part != MAP_FAILED);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&map, round);
		tsr_pattern_require(part[7], round, 1024 * 5 + 7);
		tsr_gpu_touch(&dev, ctx, &bo);
		require_eq(tsr_bo_info(&dev, &bo).segment, seg->id);
		tsr_pattern_check(&map, round);
		tsr_pattern_require(part[7], round, 1024 * 5 + 7);
		require_ok(tsr_proc_mem_read(part + 9, &word, sizeof(word)));
		tsr_pattern_require(word, round, 1024 * 5 + 9);
		tsr_pattern_write(&map, round + 10);
		tsr_evict_all(&dev, ctx, seg);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		tsr_pattern_check(&map, round + 10);
		tsr_pattern_require(part[7], round + 10, 1024 * 5 + 7);
	}
	close(dmabuf);
	tsr_close(&dev);
	tsr_pattern_check(&map, 13);
	munmap(part, 8192);
	munmap(map.map, map.size);
}

static void bad_mappings(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	struct tsr_bo bo = tsr_bo_new(&dev, 8192, gart, cpu);
	struct tsr_bo hidden = tsr_bo_new(&dev, 8192, tsr_bit(tsr_seg_hidden(&dev)), 0);
	int fd = tsr_export(&dev, &bo);

	require(mmap(NULL, 8192, PROT_READ, MAP_SHARED, tsr_export(&dev, &hidden), 0) ==
		MAP_FAILED);
	require_eq(errno, EINVAL);
	require(mmap(NULL, 12288, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	require(mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED);
	require(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED);
	close(fd);
	tsr_close(&dev);
}

/*
 * A mapping of a dma-buf that was exported without DRM_RDWR is read-only, also
 * for a debugger.
 */
static void read_only_mappings(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_gart(&dev) };

	for (size_t i = 0; i < ARRAY_SIZE(segs); i++) {
		struct tsr_bo bo = tsr_bo_new(&dev, 8192, tsr_bit(segs[i]), cpu);
		int dmabuf = tsr_export_flags(dev.fd, bo.handle, DRM_CLOEXEC);
		uint32_t *words = mmap(NULL, bo.size, PROT_READ, MAP_SHARED, dmabuf, 0), word = 9;

		require(words != MAP_FAILED);
		require(mprotect(words, bo.size, PROT_READ | PROT_WRITE) < 0);
		tsr_gpu_fill(&dev, tsr_context_new(&dev, 0), &bo, 7);
		for (int moved = 0; moved < 2; moved++) {
			require_eq(tsr_bo_info(&dev, &bo).segment, moved ? 0 : segs[i]->id);
			require_err(tsr_proc_mem_write(words + 3, &word, sizeof(word)), -EIO);
			require_ok(tsr_proc_mem_read(words + 3, &word, sizeof(word)));
			require_eq(word, 7);
			require_eq(words[3], 7);
			tsr_evict_set(tsr_bit(segs[i]));
			word = 9;
		}
		munmap(words, bo.size);
		close(dmabuf);
		tsr_bo_free(&dev, &bo);
	}
	tsr_close(&dev);
}

static void sync_dmabuf(int dmabuf, uint64_t access)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | access };

	tsr_stuck_last_call();
	require_ok(tsr_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	sync.flags = DMA_BUF_SYNC_END | access;
	require_ok(tsr_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
}

static void sync_to_read(void *arg)
{
	sync_dmabuf(*(int *)arg, DMA_BUF_SYNC_READ);
}

static void sync_to_write(void *arg)
{
	sync_dmabuf(*(int *)arg, DMA_BUF_SYNC_WRITE);
}

static void poll_dmabuf(void *arg)
{
	int *dmabuf = arg;
	struct pollfd pollfd = { .fd = *dmabuf, .events = POLLIN };

	tsr_stuck_last_call();
	require_eq(poll(&pollfd, 1, -1), 1);
}

/*
 * DMA_BUF_IOCTL_SYNC and poll() wait for the GPU. A CPU write also waits for
 * jobs that read.
 */
static void cpu_access_waits(void)
{
	const struct {
		void (*call)(void *arg);
		bool job_writes, waits;
	} rows[] = {
		{ sync_to_read, true, true },
		{ poll_dmabuf, true, true },
		{ sync_to_read, false, false },
		{ sync_to_write, false, true },
	};
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_hidden(&dev)), 0);
	int dmabuf = tsr_export(&dev, &bo);

	tsr_gpu_touch(&dev, ctx, &bo);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tsr_stuck stuck = tsr_stuck_start(&dev, ctx);

		require_ok(__tsr_submit_use(&dev, ctx, &bo, rows[i].job_writes));
		if (rows[i].waits) {
			require(!tsr_stuck_during(rows[i].call, &dmabuf));
			require_ok(__tsr_bo_wait(dev.fd, bo.handle, DRM_TESSERA_BO_WAIT_WRITE, 0));
		} else {
			/*
			 * The job is released after this call only, so a wait
			 * would never end.
			 */
			rows[i].call(&dmabuf);
		}
		tsr_stuck_end(&stuck);
	}
	close(dmabuf);
	tsr_close(&dev);
}

/*
 * An object that moves inside its segment leaves its placement only after its
 * jobs. Another file's object that is placed there must wait for that.
 */
static void left_place_is_taken_later(void)
{
	struct tsr_device dev = tsr_open(), owner = tsr_open(), third = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint64_t unit = seg->size / 8;
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo a = tsr_bo_new(&dev, unit, tsr_bit(seg), cpu);
	struct tsr_bo b = tsr_bo_new(&dev, 6 * unit, tsr_bit(seg), cpu);
	struct tsr_bo c = tsr_bo_new(&owner, 2 * unit, tsr_bit(seg), cpu), mine = c;
	struct tsr_bo out = tsr_bo_new(&dev, 6 * unit, tsr_bit(tsr_seg_gart(&dev)), cpu);
	struct tsr_stuck stuck;
	int dmabuf = tsr_export(&owner, &c);
	struct tsr_cmd cmd;
	uint64_t before;

	mine.handle = import(&dev, dmabuf);
	tsr_bo_map(&owner, &c);
	tsr_pattern_write(&c, 5);
	tsr_bo_map(&dev, &b);
	tsr_pattern_write(&b, 6);
	tsr_gpu_touch(&dev, ctx, &out);
	tsr_gpu_touch(&dev, ctx, &a);
	tsr_gpu_touch(&dev, ctx, &b);
	before = tsr_bo_info(&dev, &b).segment_offset;
	stuck = tsr_stuck_start(&dev, ctx);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &out, true);
	tsr_cmd_bind_buffer(&cmd, 1, &b, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, b.size / 4);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	tsr_cmd_fini(&cmd);
	tsr_cmd_init_pair(&cmd, &b, &mine);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(&dev, ctx, &cmd, 0, 0);
	require_eq(tsr_bo_info(&dev, &b).segment, seg->id);
	require(tsr_bo_info(&dev, &b).segment_offset != before);
	require_eq(tsr_bo_info(&dev, &mine).segment, seg->id);
	/*
	 * By now the paging engine has run paging jobs that were queued later.
	 */
	for (uint32_t i = 0; i < 8; i++) {
		struct tsr_bo later = tsr_bo_new(&third, KiB(64), tsr_bit(tsr_seg_hidden(&dev)), 0);

		tsr_make_resident(&third, &later, 1);
	}
	tsr_stuck_end(&stuck);
	tsr_bo_wait(&dev, &b);
	tsr_bo_map(&dev, &out);
	tsr_pattern_check(&out, 6);
	tsr_pattern_check(&b, 6);
	tsr_pattern_check(&c, 5);
	tsr_cmd_fini(&cmd);
	close(dmabuf);
	tsr_close(&third);
	tsr_close(&owner);
	tsr_close(&dev);
}

static void not_a_dmabuf(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), cpu);
	uint32_t handle, ctx = tsr_context_new(&dev, 0);

	require_err(__tsr_import(dev.fd, dev.fd, &handle), -EINVAL);
	require_err(__tsr_import(dev.fd, -1, &handle), -EBADF);
	/* The failed calls had no effect. */
	tsr_gpu_touch(&dev, ctx, &bo);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "an import is the same object", import_is_the_same_object, 0, 0 },
	{ "jobs on a shared object are ordered", jobs_are_ordered, 0, 0 },
	{ "SWZ-13 a mapping of a dma-buf follows the object", dmabuf_mapping_follows_moves, 0, 0 },
	{ "SEG-16 bad mappings of a dma-buf", bad_mappings, 0, 0 },
	{ "LOCK-2 a read-only dma-buf stays as it is", read_only_mappings, 0, 0 },
	{ "SYNC and poll wait for the GPU", cpu_access_waits, 0, 0 },
	{ "a released placement is reused only after its jobs", left_place_is_taken_later, 0, 0 },
	{ "importing another kind of file is refused", not_a_dmabuf, 0, 0 },
};

TSR_TEST_MAIN(tests)
