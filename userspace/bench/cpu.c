// SPDX-License-Identifier: MIT
/*
 * Bandwidth of CPU accesses through a mapping, and the cost of getting access.
 * The reference is the same access to memory without a GPU in the same guest.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (64 * MIB)
#define PAGE 4096
#define CALLS 20000

/* ---- sequential access --------------------------------------------------- */

/* Each call writes another value. */
static double write_rate(void *memory, uint64_t bytes)
{
	static uint8_t value;
	double start = now();

	memset(memory, ++value, bytes);
	return (double)bytes / (now() - start);
}

static double read_rate(const void *memory, uint64_t bytes)
{
	const uint64_t *words = memory;
	uint64_t sum = 0;
	double start = now();

	for (uint64_t i = 0; i < bytes / 8; i++)
		sum += words[i];
	/* Keep the compiler from removing the sum. */
	__asm__ volatile("" : : "r"(sum));
	return (double)bytes / (now() - start);
}

static void *plain_memory(uint64_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("memory", -errno);
	memset(memory, 1, bytes);
	return memory;
}

/* An object that the GPU has touched, so that it is in a memory segment. */
static struct tessera_bo *resident_bo(const char *segments, uint64_t bytes, void **map)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();
	struct tessera_bo *bo = bo_in(segments, bytes, DRM_TESSERA_BO_CPU_ACCESS);

	(void)tessera_cmdbuf_bind(bench.cb, 0, bo, &view);
	(void)tessera_cmdbuf_fill(bench.cb, 0, &one, 1);
	run_cb("resident");
	must("map", tessera_bo_map(bo, map));
	return bo;
}

static void access_rows(const char *segments, uint64_t bytes, struct row *write_row,
			struct row *read_row)
{
	void *map, *plain = plain_memory(bytes);
	struct tessera_bo *bo = resident_bo(segments, bytes, &map);

	write_rate(map, bytes);
	for (int i = 0; i < bench.runs; i++) {
		sample(write_row, write_rate(map, bytes), write_rate(plain, bytes));
		sample(read_row, read_rate(map, bytes), read_rate(plain, bytes));
	}
	print_row(write_row);
	print_row(read_row);
	munmap(plain, bytes);
	tessera_bo_del(bo);
}

void bench_cpu_bar(void)
{
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	struct row write_row = { "cpu_bar_write", "B/s", "higher", .goal = 0.95 };
	struct row read_row = { "cpu_bar_read", "B/s", "higher", .goal = 0.95 };

	access_rows("vram", seg->size / 2 < BYTES ? seg->size / 2 : BYTES, &write_row, &read_row);
}

/* With the default size the object fills the whole host aperture. */
void bench_cpu_aperture(void)
{
	struct row write_row = { "cpu_aperture_write", "B/s", "higher", .goal = 0.95 };
	struct row read_row = { "cpu_aperture_read", "B/s", "higher", .goal = 0.95 };
	uint64_t aperture = tessera_device_info(bench.dev)->host_aperture_bytes;

	if (aperture)
		access_rows("vram-hidden-from-cpu,gart", aperture < BYTES ? aperture : BYTES,
			    &write_row, &read_row);
}

/* ---- through a swizzling range ------------------------------------------- */

static struct tessera_bo *swizzled_bo(uint32_t pitch, uint32_t rows)
{
	struct tessera_bo_desc desc = {
		.size = (uint64_t)pitch * rows,
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.layout = DRM_TESSERA_LAYOUT_TILE4K,
		.pitch = pitch,
	};
	struct tessera_bo *bo;

	must("vram", tessera_bo_desc_segments(bench.dev, &desc, "vram"));
	must("object", tessera_bo_new(bench.dev, &desc, &bo));
	return bo;
}

static void touch_with_gpu(struct tessera_bo *bo)
{
	const struct tessera_rect one = { 0, 0, 1, 1 };
	struct tessera_view view = buffer_view();

	(void)tessera_cmdbuf_bind(bench.cb, 0, bo, &view);
	(void)tessera_cmdbuf_fill(bench.cb, 0, &one, 1);
	run_cb("resident");
}

/* The first round maps the pages and is not counted. */
static double second_read_rate(const void *map, uint64_t bytes)
{
	read_rate(map, bytes);
	return read_rate(map, bytes);
}

static double second_write_rate(void *map, uint64_t bytes)
{
	write_rate(map, bytes);
	return write_rate(map, bytes);
}

/*
 * Access a swizzled picture through a range, right after a job has written it.
 * Then access the evicted object, which is plain memory, as the reference.
 */
void bench_cpu_swizzle_range(void)
{
	struct row write_row = { "cpu_swizzle_range_write", "B/s", "higher", .goal = 0.25 };
	struct row read_row = { "cpu_swizzle_range_read", "B/s", "higher", .goal = 0.25 };
	const uint32_t pitch = 1024, rows = 1024;
	const uint64_t bytes = (uint64_t)pitch * rows;
	struct tessera_bo *bo;
	char visible[16];
	void *map;

	if (!tessera_device_info(bench.dev)->num_swizzle_ranges)
		return;
	snprintf(visible, sizeof(visible), "%u",
		 1U << tessera_device_segment(bench.dev, "vram")->id);
	bo = swizzled_bo(pitch, rows);
	must("map", tessera_bo_map(bo, &map));
	for (int i = 0; i < bench.runs; i++) {
		double read, write;

		touch_with_gpu(bo);
		read = second_read_rate(map, bytes);
		write_rate(map, bytes);
		touch_with_gpu(bo);
		write = write_rate(map, bytes);
		if (!set_knob("evict_all", visible))
			break;
		sample(&read_row, read, second_read_rate(map, bytes));
		sample(&write_row, write, second_write_rate(map, bytes));
	}
	if (read_row.count) {
		print_row(&write_row);
		print_row(&read_row);
	}
	tessera_bo_del(bo);
}

/* ---- first touch --------------------------------------------------------- */

static double touch_rate(volatile uint8_t *memory, uint64_t bytes)
{
	double start = now();

	for (uint64_t i = 0; i < bytes; i += PAGE)
		memory[i] = 1;
	return (double)bytes / (now() - start);
}

static double touch_shmem(void)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	void *memory;
	double rate;

	if (fd < 0 || ftruncate(fd, BYTES))
		die("shmem", -errno);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("shmem", -errno);
	rate = touch_rate(memory, BYTES);
	munmap(memory, BYTES);
	close(fd);
	return rate;
}

/* New objects and new files: in both cases pages are allocated and cleared. */
void bench_fault_rate(void)
{
	struct row row = { "fault_rate", "B/s", "higher", .goal = 0.5 };
	struct tessera_bo *bo;
	void *map;

	touch_shmem();
	for (int i = 0; i < bench.runs; i++) {
		double reference = touch_shmem();

		bo = bo_in("gart", BYTES, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
		must("map", tessera_bo_map(bo, &map));
		sample(&row, touch_rate(map, BYTES), reference);
		tessera_bo_del(bo);
	}
	print_row(&row);
}

/* ---- LOCK and UNLOCK ----------------------------------------------------- */

static double lock_pairs(struct tessera_bo *bo)
{
	struct drm_tessera_lock lock = { .handle = tessera_bo_handle(bo) };
	struct drm_tessera_unlock unlock = { .handle = lock.handle };
	int fd = tessera_device_fd(bench.dev);
	double start = now();

	for (int i = 0; i < CALLS; i++)
		if (ioctl(fd, DRM_IOCTL_TESSERA_LOCK, &lock) ||
		    ioctl(fd, DRM_IOCTL_TESSERA_UNLOCK, &unlock))
			die("lock", -errno);
	return CALLS / (now() - start);
}

/* Two ioctls that the DRM core answers without the driver. */
static double empty_pairs(void)
{
	struct drm_get_cap cap = { .capability = DRM_CAP_PRIME };
	int fd = tessera_device_fd(bench.dev);
	double start = now();

	for (int i = 0; i < CALLS; i++)
		if (ioctl(fd, DRM_IOCTL_GET_CAP, &cap) || ioctl(fd, DRM_IOCTL_GET_CAP, &cap))
			die("ioctl", -errno);
	return CALLS / (now() - start);
}

void bench_lock_unlock(void)
{
	struct row row = { "lock_unlock", "pairs/s", "higher", .goal = 0.5 };
	struct tessera_bo *bo = bo_in("gart", PAGE, DRM_TESSERA_BO_CPU_ACCESS);

	lock_pairs(bo);
	for (int i = 0; i < bench.runs; i++)
		sample(&row, lock_pairs(bo), empty_pairs());
	print_row(&row);
	tessera_bo_del(bo);
}
