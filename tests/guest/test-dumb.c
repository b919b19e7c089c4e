// SPDX-License-Identifier: MIT
/*
 * Dumb buffers, whose clients do not know about segments. They must keep their
 * contents when they move, have the documented sizes, and be usable by another
 * device.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"
#include "tsr.h"

static bool is_tessera(int fd)
{
	char name[8] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !tsr_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "tessera");
}

/* Use the primary node: render nodes have no dumb buffers. */
static struct tsr_device card_open(void)
{
	struct tsr_device dev = tsr_open();
	char path[32];
	int fd = -1;

	for (int minor = 0; minor < 64 && (fd < 0 || !is_tessera(fd)); minor++) {
		if (fd >= 0)
			close(fd);
		snprintf(path, sizeof(path), "/dev/dri/card%d", minor);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	require(fd >= 0 && is_tessera(fd));
	require(dup2(fd, dev.fd) == dev.fd);
	close(fd);
	return dev;
}

static struct drm_mode_create_dumb dumb_new(struct tsr_device *dev, uint32_t width, uint32_t height,
					    uint32_t bpp)
{
	struct drm_mode_create_dumb dumb = { .width = width, .height = height, .bpp = bpp };

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	return dumb;
}

static uint32_t *dumb_map(struct tsr_device *dev, const struct drm_mode_create_dumb *dumb)
{
	struct drm_mode_map_dumb args = { .handle = dumb->handle };
	void *map;

	require_ok(tsr_ioctl(dev->fd, DRM_IOCTL_MODE_MAP_DUMB, &args));
	map = mmap(NULL, dumb->size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
		   (off_t)args.offset);
	require(map != MAP_FAILED);
	return map;
}

/* A new dumb buffer is zeroed, and keeps its contents when it moves. */
static void bytes_follow(void)
{
	struct tsr_device dev = card_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_mode_create_dumb dumb = dumb_new(&dev, 250, 100, 32);
	struct tsr_bo bo = { .handle = dumb.handle, .size = dumb.size };

	require_eq(dumb.pitch % 64, 0);
	require(dumb.pitch >= 1000 && dumb.size >= (uint64_t)dumb.pitch * 100);
	bo.map = dumb_map(&dev, &dumb);
	tsr_words_check(bo.map, bo.size / 4, 0);
	tsr_pattern_write(&bo, 1);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_visible(&dev)->id);
	tsr_pattern_check(&bo, 1);
	tsr_pattern_write(&bo, 2);
	tsr_evict_set(UINT32_MAX);
	require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	tsr_pattern_check(&bo, 2);
	/* The owner's fdinfo counts the buffer. */
	require(tsr_fdinfo(&dev, "drm-total-vram") >= (int64_t)bo.size);
	munmap(bo.map, bo.size);
	tsr_close(&dev);
}

/*
 * Sizes that overflow 32 bits, sizes above every segment, and odd sizes that
 * are valid.
 */
static void sizes(void)
{
	static const struct {
		uint32_t width, height, bpp;
		int ret;
	} table[] = {
		{ 0, 1, 32, -EINVAL },
		{ 1, 0, 32, -EINVAL },
		{ 1, 1, 0, -EINVAL },
		{ 0x40000000, 1, 32, -EINVAL },
		{ 0xffffffff, 1, 8, -EINVAL },
		{ 0xffffffc1, 1, 8, -EINVAL },
		{ 0x10000, 0x10000, 32, -EINVAL },
		{ 1, 0x04000000, 8, -EINVAL },
		{ 0x4000, 0xffff, 32, -E2BIG },
		{ 0x8000, 0x7fff, 32, -E2BIG },
		{ 1, 1, 8, 0 },
		{ 1, 1, 1, 0 },
		{ 77, 3, 15, 0 },
		{ 1920, 1080, 24, 0 },
	};
	struct tsr_device dev = card_open();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct drm_mode_create_dumb dumb = { .width = table[i].width,
						     .height = table[i].height,
						     .bpp = table[i].bpp };
		int ret = tsr_ioctl(dev.fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);

		tap_note("%u x %u x %u", dumb.width, dumb.height, dumb.bpp);
		if (table[i].ret) {
			require_err(ret, table[i].ret);
			continue;
		}
		require_ok(ret);
		require((uint64_t)dumb.pitch * 8 >= (uint64_t)dumb.width * dumb.bpp);
		require(dumb.size >= (uint64_t)dumb.pitch * dumb.height);
		require_ok(__tsr_bo_close(dev.fd, dumb.handle));
	}
	tsr_close(&dev);
}

/* Another device can attach to a dumb buffer. */
static void another_device_attaches(void)
{
	struct tsr_device dev = card_open();
	struct drm_mode_create_dumb dumb = dumb_new(&dev, 64, 64, 32);
	struct tsr_bo bo = { .handle = dumb.handle, .size = dumb.size };
	uint32_t ctx = tsr_context_new(&dev, 0), theirs;
	int vgem = tsr_vgem_need(), dmabuf = tsr_export(&dev, &bo);

	tsr_import_wait(vgem, dmabuf, &theirs);
	tsr_gpu_fill(&dev, ctx, &bo, 0x55555555);
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
	close(dmabuf);
	close(vgem);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "a dumb buffer keeps its contents when it moves", bytes_follow, 0, 0 },
	{ "sizes of dumb buffers", sizes, 0, 0 },
	{ "another device attaches to a dumb buffer", another_device_attaches, 0, 0 },
};

TSR_TEST_MAIN(tests)
