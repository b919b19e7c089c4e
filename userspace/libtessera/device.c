// SPDX-License-Identifier: MIT
/*
 * Devices: opening, properties, and the wrappers for ioctls and memory that all
 * other files use.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "priv.h"

#define FIRST_RENDER_MINOR 128
#define LAST_RENDER_MINOR 191

static int os_ioctl(void *cookie, int fd, unsigned long request, void *arg)
{
	(void)cookie;
	return ioctl(fd, request, arg);
}

/* mmap offsets exceed 32 bits, also where long has 32 bits. */
static_assert(sizeof(off_t) == 8, "build with -D_FILE_OFFSET_BITS=64");

static void *os_mmap(void *cookie, size_t size, int prot, int fd, off_t offset)
{
	(void)cookie;
	return mmap(NULL, size, prot, MAP_SHARED, fd, offset);
}

static int os_munmap(void *cookie, void *addr, size_t size)
{
	(void)cookie;
	return munmap(addr, size);
}

static void *os_realloc(void *cookie, void *old, size_t size)
{
	(void)cookie;
	if (!size) {
		free(old);
		return NULL;
	}
	return realloc(old, size);
}

const struct tessera_os tessera_os_default = {
	.ioctl = os_ioctl,
	.mmap = os_mmap,
	.munmap = os_munmap,
	.realloc = os_realloc,
};

int tessera_ioctl(struct tessera_device *dev, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = dev->os.ioctl(dev->os.cookie, dev->fd, request, arg);
	} while (ret == -1 && errno == EINTR);

	return ret == -1 ? -errno : 0;
}

void *tessera_alloc(struct tessera_device *dev, size_t size)
{
	void *p = dev->os.realloc(dev->os.cookie, NULL, size);

	if (p)
		memset(p, 0, size);
	return p;
}

void tessera_free(struct tessera_device *dev, void *p)
{
	if (p)
		dev->os.realloc(dev->os.cookie, p, 0);
}

/*
 * Make *array hold at least @need elements of @elem bytes. It grows at least by
 * a factor of two.
 */
int tessera_grow(struct tessera_device *dev, void **array, size_t *cap, size_t need, size_t elem)
{
	size_t bytes, want = *cap ? *cap : 64;
	void *p;

	if (need <= *cap)
		return 0;
	while (want < need) {
		if (__builtin_mul_overflow(want, 2, &want))
			return -ENOMEM;
	}
	if (__builtin_mul_overflow(want, elem, &bytes))
		return -ENOMEM;
	p = dev->os.realloc(dev->os.cookie, *array, bytes);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = want;
	return 0;
}

int tessera_reserved_check(const uint64_t *reserved, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (reserved[i])
			return -EINVAL;
	}
	return 0;
}

/* Check that the driver of the DRM file is tessera. */
static int device_check_driver(struct tessera_device *dev)
{
	char name[16] = "";
	struct drm_version version = {
		.name = name,
		.name_len = sizeof(name) - 1,
	};
	int ret = tessera_ioctl(dev, DRM_IOCTL_VERSION, &version);

	if (ret == -ENOTTY || ret == -EINVAL || ret == -ENOSYS)
		return -ENODEV; /* not a DRM file */
	if (ret)
		return ret;
	return strcmp(name, "tessera") ? -ENODEV : 0;
}

/*
 * Query an array whose length the kernel knows. The stride is that of this
 * build: the kernel fills in zeros or omits fields that this build does not
 * know.
 */
static int device_query_array(struct tessera_device *dev, uint32_t id, size_t elem, void **out,
			      uint32_t *count)
{
	struct drm_tessera_query query = { .id = id };
	void *array;
	int ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_QUERY, &query);

	if (ret)
		return ret;
	if (!query.data.count || query.data.count > 4096)
		return -EPROTO;
	array = tessera_alloc(dev, query.data.count * elem);
	if (!array)
		return -ENOMEM;
	query.data.stride = elem;
	query.data.array = (uintptr_t)array;
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_QUERY, &query);
	if (ret) {
		tessera_free(dev, array);
		return ret;
	}
	*out = array;
	*count = query.data.count;
	return 0;
}

int tessera_device_refresh(struct tessera_device *dev, struct drm_tessera_query_device *info,
			   size_t size)
{
	struct drm_tessera_query query = {
		.id = DRM_TESSERA_QUERY_DEVICE,
		.data = {
			.stride = size,
			.count = 1,
			.array = (uintptr_t)info,
		},
	};
	int ret;

	memset(info, 0, size);
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_QUERY, &query);
	if (ret)
		return ret;
	return query.data.count == 1 ? 0 : -EPROTO;
}

static int device_load(struct tessera_device *dev)
{
	int ret;

	ret = device_check_driver(dev);
	if (ret)
		return ret;
	ret = tessera_device_refresh(dev, &dev->info, sizeof(dev->info));
	if (ret)
		return ret;
	if (!dev->info.max_slots || dev->info.max_slots > TSR_SLOT_ID_MASK ||
	    !dev->info.page_size || (dev->info.page_size & (dev->info.page_size - 1)))
		return -EPROTO;
	ret = device_query_array(dev, DRM_TESSERA_QUERY_SEGMENTS, sizeof(*dev->segments),
				 (void **)&dev->segments, &dev->num_segments);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < dev->num_segments; i++)
		dev->segments[i].name[sizeof(dev->segments[i].name) - 1] = 0;
	return device_query_array(dev, DRM_TESSERA_QUERY_ENGINES, sizeof(*dev->engines),
				  (void **)&dev->engines, &dev->num_engines);
}

static void device_free(struct tessera_device *dev)
{
	pthread_mutex_destroy(&dev->table_lock);
	pthread_rwlock_destroy(&dev->close_lock);
	pthread_mutex_destroy(&dev->vm_lock);
	tessera_free(dev, dev);
}

int tessera_device_new_os(int fd, const struct tessera_os *os, struct tessera_device **out)
{
	struct tessera_device *dev;
	int ret;

	dev = os->realloc(os->cookie, NULL, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	memset(dev, 0, sizeof(*dev));
	atomic_init(&dev->refs, 1);
	pthread_mutex_init(&dev->vm_lock, NULL);
	pthread_rwlock_init(&dev->close_lock, NULL);
	pthread_mutex_init(&dev->table_lock, NULL);
	dev->os = *os;
	dev->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (dev->fd < 0) {
		ret = -errno;
		device_free(dev);
		return ret;
	}
	ret = device_load(dev);
	if (ret) {
		tessera_device_del(dev);
		return ret;
	}
	*out = dev;
	return 0;
}

int tessera_device_new(int fd, struct tessera_device **out)
{
	return tessera_device_new_os(fd, &tessera_os_default, out);
}

int tessera_device_new_path(const char *path, struct tessera_device **out)
{
	int fd, ret;

	do {
		fd = open(path, O_RDWR | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	ret = tessera_device_new(fd, out);
	close(fd);
	return ret;
}

/* Read "pci-0000:00:05.0" or "pci-0000_00_05_0", and write 0000:00:05.0. */
static int pci_address(const char *name, char *address, size_t size)
{
	unsigned int domain, bus, slot, function;
	char again[2][48];

	if (sscanf(name, "pci-%x%*1[:_]%x%*1[:_]%x%*1[._]%x", &domain, &bus, &slot, &function) != 4)
		return -EINVAL;
	snprintf(address, size, "%04x:%02x:%02x.%x", domain, bus, slot, function);
	/* The name has to be exact, so that each function has two names only. */
	snprintf(again[0], sizeof(again[0]), "pci-%s", address);
	snprintf(again[1], sizeof(again[1]), "pci-%04x_%02x_%02x_%x", domain, bus, slot, function);
	if ((strcmp(name, again[0]) && strcmp(name, again[1])) || bus > 0xff || slot > 0x1f ||
	    function > 7)
		return -EINVAL;
	return 0;
}

int tessera_pci_node(const char *sysfs, const char *name, char *path, size_t size)
{
	const struct dirent *entry;
	char address[32], folder[256];
	int ret = pci_address(name, address, sizeof(address));
	DIR *dir;

	if (ret)
		return ret;
	snprintf(folder, sizeof(folder), "%s/bus/pci/devices/%s/drm", sysfs, address);
	dir = opendir(folder);
	if (!dir)
		return errno == ENOENT ? -ENODEV : -errno;
	ret = -ENODEV;
	while (ret && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "renderD", strlen("renderD")))
			continue;
		snprintf(path, size, "/dev/dri/%s", entry->d_name);
		ret = 0;
	}
	closedir(dir);
	return ret;
}

int tessera_device_new_pci(const char *name, struct tessera_device **out)
{
	char path[sizeof("/dev/dri/") + NAME_MAX];
	int ret = tessera_pci_node("/sys", name, path, sizeof(path));

	return ret ? ret : tessera_device_new_path(path, out);
}

int tessera_device_new_first(struct tessera_device **out)
{
	int first_error = 0;

	for (int minor = FIRST_RENDER_MINOR; minor <= LAST_RENDER_MINOR; minor++) {
		char path[32];
		int ret;

		snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
		ret = tessera_device_new_path(path, out);
		if (!ret)
			return 0;
		/*
		 * Report why a tessera node could not be opened rather than
		 * -ENODEV.
		 */
		if (ret != -ENODEV && ret != -ENOENT && ret != -ENXIO && !first_error)
			first_error = ret;
	}
	return first_error ? first_error : -ENODEV;
}

struct tessera_device *tessera_device_ref(struct tessera_device *dev)
{
	atomic_fetch_add(&dev->refs, 1);
	return dev;
}

void tessera_device_del(struct tessera_device *dev)
{
	if (!dev || atomic_fetch_sub(&dev->refs, 1) != 1)
		return;
	tessera_free(dev, dev->segments);
	tessera_free(dev, dev->engines);
	close(dev->fd);
	device_free(dev);
}

int tessera_device_fd(const struct tessera_device *dev)
{
	return dev->fd;
}

const struct drm_tessera_query_device *tessera_device_info(const struct tessera_device *dev)
{
	return &dev->info;
}

const struct drm_tessera_query_segment *tessera_device_segment_at(const struct tessera_device *dev,
								  uint32_t index)
{
	return index < dev->num_segments ? &dev->segments[index] : NULL;
}

const struct drm_tessera_query_engine *tessera_device_engine_at(const struct tessera_device *dev,
								uint32_t index)
{
	return index < dev->num_engines ? &dev->engines[index] : NULL;
}

const struct drm_tessera_query_segment *tessera_device_segment(const struct tessera_device *dev,
							       const char *name)
{
	for (uint32_t i = 0; i < dev->num_segments; i++) {
		if (!strcmp((const char *)dev->segments[i].name, name))
			return &dev->segments[i];
	}
	return NULL;
}

uint32_t tessera_device_segment_set(const struct tessera_device *dev, uint32_t with,
				    uint32_t without)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < dev->num_segments; i++) {
		const struct drm_tessera_query_segment *seg = &dev->segments[i];

		if (seg->id < 32 && (seg->flags & with) == with && !(seg->flags & without))
			set |= UINT32_C(1) << seg->id;
	}
	return set;
}

int tessera_device_memory(struct tessera_device *dev, struct drm_tessera_query_memory *memory,
			  size_t stride, uint32_t count)
{
	struct drm_tessera_query query = {
		.id = DRM_TESSERA_QUERY_MEMORY,
		.data = {
			.stride = stride,
			.count = count,
			.array = (uintptr_t)memory,
		},
	};
	int ret;

	if (!count)
		return 0;
	memset(memory, 0, count * stride);
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_QUERY, &query);
	return ret ? ret : (int)query.data.count;
}
