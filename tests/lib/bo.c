// SPDX-License-Identifier: MIT
/* Buffer objects and their CPU mappings. */
#include "tsr.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

int __tsr_bo_create(int fd, struct drm_tessera_bo_create *args)
{
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_CREATE, args);
}

struct tsr_bo tsr_bo_new(struct tsr_device *dev, uint64_t size, uint32_t supported, uint32_t flags)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = supported,
		.flags = flags,
	};

	require_ok(__tsr_bo_create(dev->fd, &args));
	require(args.handle);
	return (struct tsr_bo){ .handle = args.handle, .size = size };
}

struct tsr_bo tsr_bo_prefers(struct tsr_device *dev, uint64_t size,
			     const struct drm_tessera_query_segment *home, uint32_t more,
			     uint32_t flags)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = tsr_bit(home) | more,
		.flags = flags,
		.num_preferred = 1,
		.preferred = { (uint8_t)home->id },
	};

	require_ok(__tsr_bo_create(dev->fd, &args));
	return (struct tsr_bo){ .handle = args.handle, .size = size };
}

int __tsr_bo_info(int fd, uint32_t handle, struct drm_tessera_bo_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = handle;
	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_INFO, info);
}

struct drm_tessera_bo_info tsr_bo_info(struct tsr_device *dev, const struct tsr_bo *bo)
{
	struct drm_tessera_bo_info info;

	require_ok(__tsr_bo_info(dev->fd, bo->handle, &info));
	return info;
}

void *tsr_bo_map(struct tsr_device *dev, struct tsr_bo *bo)
{
	struct drm_tessera_bo_info info = tsr_bo_info(dev, bo);

	if (bo->map)
		return bo->map;
	require_msg(info.mmap_offset, "object %u has no mmap offset", bo->handle);
	bo->map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
		       (off_t)info.mmap_offset);
	if (bo->map == MAP_FAILED)
		tap_fail(__FILE__, __LINE__, "mmap: %s", strerror(errno));
	return bo->map;
}

void tsr_bo_unmap(struct tsr_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	bo->map = NULL;
}

int __tsr_bo_wait(int fd, uint32_t handle, uint32_t flags, int64_t timeout_ns)
{
	struct drm_tessera_bo_wait args = {
		.handle = handle,
		.flags = flags,
		.timeout_ns = timeout_ns,
	};

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_WAIT, &args);
}

void tsr_bo_wait(struct tsr_device *dev, const struct tsr_bo *bo)
{
	require_ok(__tsr_bo_wait(dev->fd, bo->handle, DRM_TESSERA_BO_WAIT_WRITE, INT64_MAX));
}

int __tsr_lock(int fd, uint32_t *handle, uint32_t flags)
{
	struct drm_tessera_lock args = { .handle = *handle, .flags = flags };
	int rc = tsr_ioctl(fd, DRM_IOCTL_TESSERA_LOCK, &args);
	struct drm_tessera_bo_info info;

	if (rc) {
		require_eq(args.handle, *handle);
		return rc;
	}
	require_ok(__tsr_bo_info(fd, args.handle, &info));
	require_eq(args.mmap_offset, info.mmap_offset);
	*handle = args.handle;
	return 0;
}

void tsr_lock(struct tsr_device *dev, struct tsr_bo *bo, uint32_t flags)
{
	require_ok(__tsr_lock(dev->fd, &bo->handle, flags));
}

int __tsr_unlock(int fd, uint32_t handle)
{
	struct drm_tessera_unlock args = { .handle = handle };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_UNLOCK, &args);
}

void tsr_unlock(struct tsr_device *dev, const struct tsr_bo *bo)
{
	require_ok(__tsr_unlock(dev->fd, bo->handle));
}

int __tsr_lock2(int fd, uint32_t handle, uint32_t flags, uint64_t *mmap_offset)
{
	struct drm_tessera_lock2 args = { .handle = handle, .flags = flags };
	int rc = tsr_ioctl(fd, DRM_IOCTL_TESSERA_LOCK2, &args);

	if (rc)
		require_eq(args.mmap_offset, 0);
	if (mmap_offset)
		*mmap_offset = args.mmap_offset;
	return rc;
}

int __tsr_unlock2(int fd, uint32_t handle)
{
	struct drm_tessera_unlock2 args = { .handle = handle };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_UNLOCK2, &args);
}

int __tsr_bo_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return tsr_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

static int offer(int fd, const uint32_t *handles, uint32_t num, uint32_t priority, uint32_t flags)
{
	struct drm_tessera_offer_bo *list = calloc(num + 1, sizeof(*list));
	struct drm_tessera_offer args = {
		.bos = { sizeof(*list), num, (uintptr_t)list },
		.priority = priority,
		.flags = flags,
	};
	int rc;

	require(list);
	for (uint32_t i = 0; i < num; i++)
		list[i].handle = handles[i];
	rc = tsr_ioctl(fd, DRM_IOCTL_TESSERA_OFFER, &args);
	free(list);
	return rc;
}

int __tsr_offer(int fd, const uint32_t *handles, uint32_t num, uint32_t priority)
{
	return offer(fd, handles, num, priority, 0);
}

int __tsr_decommit(int fd, const uint32_t *handles, uint32_t num)
{
	return offer(fd, handles, num, DRM_TESSERA_OFFER_LOW, DRM_TESSERA_OFFER_DECOMMIT);
}

int __tsr_reclaim(int fd, const uint32_t *handles, uint32_t *results, uint32_t num)
{
	return __tsr_reclaim_behind(fd, handles, results, num, 0, NULL);
}

uint32_t tsr_reclaim(struct tsr_device *dev, const struct tsr_bo *bo)
{
	uint32_t result = 77;

	require_ok(__tsr_reclaim(dev->fd, &bo->handle, &result, 1));
	return result;
}

int __tsr_reclaim_behind(int fd, const uint32_t *handles, uint32_t *results, uint32_t num,
			 uint32_t sync, uint32_t *pending)
{
	struct drm_tessera_sync signal = { .handle = sync, .flags = DRM_TESSERA_SYNC_SIGNAL };
	struct drm_tessera_reclaim_bo *list = calloc(num + 1, sizeof(*list));
	struct drm_tessera_reclaim args = {
		.bos = { sizeof(*list), num, (uintptr_t)list },
		.syncs = { sizeof(signal), sync ? 1 : 0, (uintptr_t)&signal },
		.pending = 77,
	};
	int rc;

	require(list);
	for (uint32_t i = 0; i < num; i++)
		list[i].handle = handles[i];
	rc = tsr_ioctl(fd, DRM_IOCTL_TESSERA_RECLAIM, &args);
	for (uint32_t i = 0; i < num && !rc; i++)
		results[i] = list[i].result;
	require(args.pending <= (sync ? 1 : 0));
	if (pending)
		*pending = args.pending;
	free(list);
	return rc;
}

int __tsr_invalidate_cache(int fd, uint32_t handle, uint64_t offset, uint64_t size)
{
	struct drm_tessera_invalidate_cache args = {
		.handle = handle,
		.offset = offset,
		.size = size,
	};

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_INVALIDATE_CACHE, &args);
}

void tsr_invalidate_cache(struct tsr_device *dev, const struct tsr_bo *bo)
{
	require_ok(__tsr_invalidate_cache(dev->fd, bo->handle, 0, bo->size));
}

int __tsr_bo_destroy(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_tessera_bo_destroy args = { .handle = handle, .flags = flags };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_DESTROY, &args);
}

void tsr_bo_free(struct tsr_device *dev, struct tsr_bo *bo)
{
	tsr_bo_unmap(bo);
	require_ok(__tsr_bo_close(dev->fd, bo->handle));
	bo->handle = 0;
}

/* Keys of the patterns that this process has written or checked. */
static bool keys[256];

/* Says where a wrong word comes from, for error texts. */
static const char *story_of(uint32_t word)
{
	static char text[96];

	if (word == TSR_POISON)
		return "poison: the memory was freed, or caches were not written back";
	if (!word)
		return "zero, as in memory that was never written";
	for (uint32_t key = 0; key < ARRAY_SIZE(keys); key++) {
		for (uint32_t i = 0; keys[key] && i < MiB(1); i++) {
			if (tsr_pattern(key, i) != word)
				continue;
			snprintf(text, sizeof(text),
				 "word 0x%x of key %u: bytes of another place or an older state", i,
				 key);
			return text;
		}
	}
	return "no word of any pattern";
}

void tsr_pattern_word(const char *file, int line, const char *what, uint32_t word, uint32_t key,
		      uint64_t i)
{
	keys[key % ARRAY_SIZE(keys)] = true;
	if (word != tsr_pattern(key, i))
		tap_fail(file, line, "%s is 0x%08x, not word 0x%llx of key %u (0x%08x): %s", what,
			 word, (unsigned long long)i, key, tsr_pattern(key, i), story_of(word));
}

void tsr_pattern_write(struct tsr_bo *bo, uint32_t key)
{
	uint32_t *words = bo->map;

	keys[key % ARRAY_SIZE(keys)] = true;
	for (uint64_t i = 0; i < bo->size / 4; i++)
		words[i] = tsr_pattern(key, i);
}

void tsr_pattern_check(const struct tsr_bo *bo, uint32_t key)
{
	const uint32_t *words = bo->map;

	keys[key % ARRAY_SIZE(keys)] = true;
	for (uint64_t i = 0; i < bo->size / 4; i++)
		if (words[i] != tsr_pattern(key, i))
			tap_fail(__FILE__, __LINE__,
				 "object %u (key %u), word 0x%llx: 0x%08x, not 0x%08x: %s",
				 bo->handle, key, (unsigned long long)i, words[i],
				 tsr_pattern(key, i), story_of(words[i]));
}

void tsr_words_check(const uint32_t *words, uint64_t count, uint32_t value)
{
	for (uint64_t i = 0; i < count; i++)
		if (words[i] != value)
			tap_fail(__FILE__, __LINE__, "word 0x%llx: 0x%08x, not 0x%08x: %s",
				 (unsigned long long)i, words[i], value, story_of(words[i]));
}
