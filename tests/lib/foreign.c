// SPDX-License-Identifier: MIT
#include "foreign.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stall.h"

/* from include/uapi/drm/vgem_drm.h, which libdrm does not install */
#define VGEM_FENCE_WRITE 1
struct drm_vgem_fence_attach {
	uint32_t handle, flags, out_fence, pad;
};
struct drm_vgem_fence_signal {
	uint32_t fence, flags;
};
#define DRM_IOCTL_VGEM_FENCE_ATTACH DRM_IOWR(DRM_COMMAND_BASE + 1, struct drm_vgem_fence_attach)
#define DRM_IOCTL_VGEM_FENCE_SIGNAL DRM_IOW(DRM_COMMAND_BASE + 2, struct drm_vgem_fence_signal)

#define MAX_FENCES 16

struct tsr_foreign {
	int fd;
	struct {
		uint32_t handle, fence; /* one buffer per fence, idle when reused */
		int dmabuf;
	} items[MAX_FENCES];
	uint32_t first, count;
	uint64_t until[MAX_FENCES]; /* when each fence expires */
	struct tsr_foreign *next;
};

static struct tsr_foreign *opened;
static bool expired;

/* 20 ms less than vgem's timeout, because its timer counts in jiffies */
#define FENCE_NS (10000000000ull - 20000000)

static bool has_expired(void)
{
	uint64_t now = tap_now_ns();

	for (struct tsr_foreign *foreign = opened; foreign; foreign = foreign->next)
		for (uint32_t i = 0; i < foreign->count; i++)
			expired |= now >= foreign->until[(foreign->first + i) % MAX_FENCES];
	return expired;
}

int tsr_export_flags(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_prime_handle args = { .handle = handle, .flags = flags };

	require_ok(tsr_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args));
	return args.fd;
}

int tsr_export(struct tsr_device *dev, const struct tsr_bo *bo)
{
	return tsr_export_flags(dev->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR);
}

int __tsr_import(int fd, int dmabuf, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = dmabuf };
	int rc = tsr_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = args.handle;
	return rc;
}

void tsr_import_wait(int fd, int dmabuf, uint32_t *handle)
{
	tsr_attach_limit(TSR_FOR_GOOD);
	require_ok(__tsr_import(fd, dmabuf, handle));
}

void tsr_dmabuf_put_fence(int dmabuf, int sync_file, uint32_t flags)
{
	struct dma_buf_import_sync_file in = { .flags = flags, .fd = sync_file };

	require_ok(tsr_ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &in));
}

void tsr_fence_at(struct tsr_device *dev, const struct tsr_bo *bo, int sync_file, uint32_t flags)
{
	int dmabuf = tsr_export(dev, bo);

	tsr_dmabuf_put_fence(dmabuf, sync_file, flags);
	close(dmabuf);
}

bool tsr_fence_signalled(int sync_file)
{
	struct pollfd pollfd = { .fd = sync_file, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

int tsr_small_behind(struct tsr_client *client, struct tsr_device *dev, struct tsr_small *small,
		     int sync_file)
{
	uint32_t in = client->arg ? 0 : tsr_syncobj_new(dev);

	tsr_small_init(dev, small, dev->render);
	if (in)
		tsr_syncobj_import(dev, in, sync_file);
	else
		tsr_fence_at(dev, &small->bo, sync_file, DMA_BUF_SYNC_WRITE);
	return tsr_client_submit(client, dev, small->ctx, &small->cmd, in, 0);
}

void tsr_move_notify_need(void)
{
	if (!tap_slow())
		tap_skip("the kernel has no dma-buf move_notify");
}

int tsr_vgem_open(void)
{
	for (int minor = 0; minor < 64; minor++) {
		char path[32], name[16] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", minor);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!tsr_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	return -1;
}

int tsr_vgem_need(void)
{
	int fd = tsr_vgem_open();

	if (fd < 0)
		tap_skip("no vgem");
	tsr_attach_limit(TSR_FOR_GOOD);
	return fd;
}

struct tsr_foreign *tsr_foreign_open(void)
{
	struct tsr_foreign *foreign;
	int fd = tsr_vgem_open();

	if (fd < 0)
		return NULL;
	foreign = calloc(1, sizeof(*foreign));
	require(foreign);
	foreign->fd = fd;
	for (uint32_t i = 0; i < MAX_FENCES; i++) {
		struct drm_mode_create_dumb dumb = { .width = 32, .height = 32, .bpp = 32 };
		struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };

		require_ok(tsr_ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
		prime.handle = foreign->items[i].handle = dumb.handle;
		require_ok(tsr_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
		foreign->items[i].dmabuf = prime.fd;
	}
	foreign->next = opened;
	opened = foreign;
	tap_excuse(has_expired);
	return foreign;
}

struct tsr_foreign *tsr_foreign_need(void)
{
	struct tsr_foreign *foreign = tsr_foreign_open();

	if (!foreign)
		tap_skip("no vgem");
	return foreign;
}

void tsr_foreign_close(struct tsr_foreign *foreign)
{
	struct tsr_foreign **at = &opened;

	tsr_foreign_signal(foreign, 0);
	while (*at != foreign)
		at = &(*at)->next;
	*at = foreign->next;
	for (uint32_t i = 0; i < MAX_FENCES; i++)
		close(foreign->items[i].dmabuf);
	close(foreign->fd);
	free(foreign);
}

int tsr_foreign_fence(struct tsr_foreign *foreign)
{
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	struct dma_buf_export_sync_file file = { .flags = DMA_BUF_SYNC_READ };
	uint32_t n = (foreign->first + foreign->count) % MAX_FENCES;

	require(foreign->count < MAX_FENCES);
	attach.handle = foreign->items[n].handle;
	foreign->until[n] = tap_now_ns() + FENCE_NS;
	require_ok(tsr_ioctl(foreign->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach));
	foreign->items[n].fence = attach.out_fence;
	foreign->count++;
	require_ok(tsr_ioctl(foreign->items[n].dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &file));
	return file.fd;
}

void tsr_foreign_signal(struct tsr_foreign *foreign, uint32_t left)
{
	while (foreign->count > left) {
		struct drm_vgem_fence_signal args = {
			.fence = foreign->items[foreign->first].fence,
		};
		int rc = tsr_ioctl(foreign->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &args);

		/* the fence may have expired */
		require_msg(!rc || rc == -ETIMEDOUT, "vgem: %s", strerror(-rc));
		expired |= rc == -ETIMEDOUT;
		foreign->first = (foreign->first + 1) % MAX_FENCES;
		foreign->count--;
	}
}

static void want_aperture(void *arg)
{
	struct tsr_device *dev = arg;
	const struct drm_tessera_query_segment *seg = tsr_seg_gart(dev);
	struct tsr_bo bo = tsr_bo_new(dev, seg->size, tsr_bit(seg), 0);
	uint32_t ctx = tsr_context_new(dev, 0);

	require_ok(__tsr_submit_use(dev, ctx, &bo, true));
	tsr_context_free(dev, ctx);
	tsr_bo_free(dev, &bo);
}

pid_t tsr_push_out(struct tsr_device *dev)
{
	return tap_fork(want_aperture, dev);
}

/* ---- sw_sync --------------------------------------------------------- */

/* no header defines this */
struct sw_sync_create_fence_data {
	uint32_t value;
	char name[32];
	int32_t fence;
};

#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, uint32_t)

int tsr_sw_sync_open(int *fence)
{
	struct sw_sync_create_fence_data data = { .value = 1, .name = "foreign" };
	int timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);

	if (timeline < 0)
		return -1;
	require_ok(tsr_ioctl(timeline, SW_SYNC_IOC_CREATE_FENCE, &data));
	*fence = data.fence;
	return timeline;
}

int tsr_sw_sync_new(int *fence)
{
	int timeline = tsr_sw_sync_open(fence);

	if (timeline < 0)
		tap_skip("the kernel has no sw_sync");
	return timeline;
}

void tsr_sw_sync_signal(int timeline)
{
	uint32_t one = 1;

	require_ok(tsr_ioctl(timeline, SW_SYNC_IOC_INC, &one));
}
