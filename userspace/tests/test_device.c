// SPDX-License-Identifier: MIT
/* Devices, buffer objects, sync objects and submission, on a mock kernel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "mock.h"

static struct tessera_device *dev_of(void **state)
{
	return ((struct mock_device *)*state)->dev;
}

static struct mock *mock_of(void **state)
{
	return &((struct mock_device *)*state)->mock;
}

/*
 * SEG-3: the library has one descriptor per segment, as the kernel reports
 * them.
 */
static void test_query(void **state)
{
	struct drm_tessera_query_memory memory[4];

	assert_non_null(tessera_device_segment_at(dev_of(state), 3));
	assert_null(tessera_device_segment_at(dev_of(state), 4));
	assert_null(tessera_device_engine_at(dev_of(state), UINT32_MAX));
	assert_string_equal((const char *)tessera_device_segment_at(dev_of(state), 3)->name,
			    "gart");
	assert_int_equal(tessera_device_segment_at(dev_of(state), 1)->size, 192 << 20);
	assert_int_equal(tessera_device_segment(dev_of(state), "agp-ro")->id, 3);
	assert_null(tessera_device_segment(dev_of(state), "agp"));
	assert_int_equal(tessera_device_segment_set(dev_of(state), DRM_TESSERA_SEGMENT_APERTURE, 0),
			 1 << 3 | 1 << 4);
	assert_int_equal(tessera_device_segment_set(dev_of(state), 0,
						    DRM_TESSERA_SEGMENT_APERTURE |
							    DRM_TESSERA_SEGMENT_CPU_VISIBLE),
			 1 << 2);
	assert_int_equal(tessera_device_memory(dev_of(state), memory, sizeof(memory[0]), 4), 1);
	assert_int_equal(memory[0].used, 4096);
}

/*
 * Programs with older or newer structs: the library writes exactly as many
 * bytes as the struct of the program has.
 */
static void test_sizes(void **state)
{
	struct {
		union {
			struct drm_tessera_query_memory memory;
			struct drm_tessera_query_device device;
			struct drm_tessera_bo_info bo;
		};
		uint8_t behind[64];
	} s;
	struct tessera_bo *bo = mock_bo(dev_of(state), 8192);
	uint8_t *bytes = (uint8_t *)&s;

	memset(&s, 0xaa, sizeof(s));
	assert_int_equal(tessera_bo_info(bo, &s.bo, 24), 0);
	assert_int_equal(s.bo.mmap_offset, 0x100000);
	assert_int_equal(bytes[24], 0xaa);
	assert_int_equal(tessera_bo_info(bo, &s.bo, sizeof(s.bo) + 8), 0);
	assert_int_equal(bytes[sizeof(s.bo)], 0);
	assert_int_equal(bytes[sizeof(s.bo) + 8], 0xaa);

	memset(&s, 0xaa, sizeof(s));
	assert_int_equal(tessera_device_refresh(dev_of(state), &s.device, 16), 0);
	assert_int_equal(s.device.max_slots, tessera_device_info(dev_of(state))->max_slots);
	assert_int_equal(bytes[16], 0xaa);

	memset(&s, 0xaa, sizeof(s));
	assert_int_equal(tessera_device_memory(dev_of(state), &s.memory, 24, 1), 1);
	assert_int_equal(s.memory.used, 4096);
	assert_int_equal(bytes[24], 0xaa);
	tessera_bo_del(bo);
}

/* Every failure while opening is reported and leaks nothing. */
static void test_open_errors(void **state)
{
	struct tessera_device *dev = NULL;
	struct mock *mock;

	(void)state;
	for (long fail = 0; fail < 3; fail++) {
		mock = mock_new();
		mock->fail_alloc = fail;
		assert_int_equal(mock_open(mock, &dev), -ENOMEM);
		assert_int_equal(mock->live_allocs, 0);
		free(mock);
	}
	mock = mock_new();
	mock->fail_request = DRM_IOCTL_VERSION;
	mock->fail_errno = ENOTTY;
	assert_int_equal(mock_open(mock, &dev), -ENODEV);
	mock->fail_request = DRM_IOCTL_TESSERA_QUERY;
	mock->fail_errno = EIO;
	/* Query of the device, then length and contents of two arrays. */
	for (unsigned int good = 0; good < 5; good++) {
		mock->fail_after = good;
		assert_int_equal(mock_open(mock, &dev), -EIO);
		assert_int_equal(mock->live_allocs, 0);
	}
	mock->fail_errno = 0;
	mock->info.max_slots = 0;
	assert_int_equal(mock_open(mock, &dev), -EPROTO);
	assert_int_equal(mock->live_allocs, 0);
	assert_null(dev);
	free(mock);
	assert_int_equal(tessera_device_new_path("/nonexistent", &dev), -ENOENT);
	assert_int_equal(tessera_device_new_path("/dev/null", &dev), -ENODEV);
}

static void make_folder(const char *root, const char *below)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, below);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
	mkdir(path, 0700);
}

static const struct {
	const char *name;
	int ret;
} pci_names[] = {
	{ "pci-0000:00:05.0", 0 },	  { "pci-0000_00_05_0", 0 },
	{ "pci-0000:00:06.0", -ENODEV }, /* has no render node */
	{ "pci-0000:00:07.0", -ENODEV }, /* has no driver */
	{ "pci-0000:00:08.0", -ENODEV },  { "0000:00:05.0", -EINVAL },
	{ "pci-0000:00:05", -EINVAL },	  { "pci-0000:00:05.00", -EINVAL },
	{ "pci-0000:00:05.0 ", -EINVAL }, { "pci-0000:00:5.0", -EINVAL },
	{ "pci-000:00:05.0", -EINVAL },	  { "pci-0000:00:0A.0", -EINVAL },
	{ "pci-0000_00:05.0", -EINVAL },  { "pci-0000:00:25.0", -EINVAL },
	{ "pci-0000:00:05.8", -EINVAL },  { "pci-0000:100:05.0", -EINVAL },
	{ "pci-../../../05.0", -EINVAL }, { "", -EINVAL },
};

/* A PCI function is found by both of its names, and by no other string. */
static void test_pci_names(void **state)
{
	char root[] = "/tmp/libtessera-XXXXXX", path[64], command[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	make_folder(root, "bus/pci/devices/0000:00:05.0/drm/card1");
	make_folder(root, "bus/pci/devices/0000:00:05.0/drm/renderD129");
	make_folder(root, "bus/pci/devices/0000:00:06.0/drm/card0");
	make_folder(root, "bus/pci/devices/0000:00:07.0");
	make_folder(root, "bus/pci/devices/10000:e1:1f.7/drm/renderD190");
	for (size_t i = 0; i < ARRAY_SIZE(pci_names); i++) {
		int ret = tessera_pci_node(root, pci_names[i].name, path, sizeof(path));

		promise(ret == pci_names[i].ret, "%s: expected %d, saw %d", pci_names[i].name,
			pci_names[i].ret, ret);
		if (!ret)
			assert_string_equal(path, "/dev/dri/renderD129");
	}
	assert_int_equal(tessera_pci_node(root, "pci-10000_e1_1f_7", path, sizeof(path)), 0);
	assert_string_equal(path, "/dev/dri/renderD190");
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* All kinds of calls are restarted after EINTR. */
static void test_eintr(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_context *ctx;
	struct tessera_fence *fence;
	struct tessera_submit_args args = { .fence = &fence };
	struct tessera_cmdbuf *cb;
	struct tessera_bo *bo;
	int error;

	mock->eintr = 3;
	assert_int_equal(tessera_bo_new_for(dev, TESSERA_USAGE_STAGING, 4096, NULL, &bo), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 4);
	mock->eintr = 2;
	assert_int_equal(tessera_bo_wait(bo, 1, 5), 0);
	assert_int_equal(mock->last_wait.timeout_ns, 5);
	assert_int_equal(mock->last_wait.flags, DRM_TESSERA_BO_WAIT_WRITE);
	assert_int_equal(tessera_context_new_default(dev, &ctx), 0);
	assert_int_equal(tessera_cmdbuf_new(dev, &cb), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 2), 0);
	/*
	 * SUBMIT alone, which has outputs. Then SUBMIT after the creation of
	 * the fence's sync object.
	 */
	mock->eintr = 2;
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_SUBMIT), 3);
	mock->eintr = 4;
	assert_int_equal(tessera_context_submit(ctx, cb, &args), 0);
	assert_int_equal(mock->eintr, 0);
	assert_int_equal(args.parts, 3);
	mock->eintr = 5;
	mock->fence_status = -ENOSPC;
	assert_int_equal(tessera_fence_wait(fence, TESSERA_FOREVER, &error), 0);
	assert_int_equal(error, -ENOSPC);
	assert_int_equal(mock->eintr, 0);
	tessera_fence_del(fence);
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	tessera_bo_del(bo);
}

/* SEG-10, SEG-11: supported and preferred segments of each usage. */
static void test_usages(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct tessera_bo_desc desc;
	struct tessera_view view;
	uint64_t size;

	assert_int_equal(tessera_view_init(&view, TSR_FORMAT_ARGB8888, TSR_LAYOUT_MORTON, 100, 33,
					   &size),
			 0);
	assert_int_equal(view.pitch, 512);
	assert_int_equal(size, 512 * 64);
	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_TEXTURE, size, &view), 0);
	assert_int_equal(desc.supported, 1 << 1 | 1 << 2);
	assert_int_equal(desc.num_preferred, 2);
	assert_int_equal(desc.preferred[0], 2);
	assert_int_equal(desc.preferred[1], 1);
	assert_int_equal(desc.layout, DRM_TESSERA_LAYOUT_MORTON);
	assert_int_equal(desc.pitch, 512);
	assert_int_equal(desc.flags, 0);

	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_STAGING, 1, NULL), 0);
	assert_int_equal(desc.supported, 1 << 4);
	assert_int_equal(desc.flags, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);

	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_VERTEX, 1, NULL), 0);
	assert_int_equal(desc.supported, 1 << 3 | 1 << 4);
	assert_int_equal(desc.preferred[0], 3);
	assert_true(desc.flags & DRM_TESSERA_BO_GPU_READ_ONLY);
	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_VERTEX, 0, NULL), -EINVAL);

	assert_int_equal(tessera_bo_desc_segments(dev, &desc, "gart,vram"), 0);
	assert_int_equal(desc.supported, 1 << 1 | 1 << 4);
	assert_int_equal(desc.preferred[0], 4);
	assert_int_equal(desc.preferred[1], 1);
	assert_int_equal(tessera_bo_desc_segments(dev, &desc, "gart,vra"), -ENOENT);
	assert_int_equal(desc.supported, 1 << 1 | 1 << 4);
}

static void test_bo(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_bo_desc desc;
	struct tessera_bo *bo;
	uint8_t data[4] = { 1, 2, 3, 4 }, back[4] = { 0 };
	void *a, *b;

	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_STAGING, 5000, NULL), 0);
	assert_int_equal(tessera_bo_new(dev, &desc, &bo), 0);
	assert_int_equal(mock->last_create.size, 8192);
	assert_int_equal(tessera_bo_size(bo), 8192);
	assert_int_equal(tessera_bo_map(bo, &a), 0);
	assert_int_equal(tessera_bo_map(bo, &b), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(mock->maps, 1);
	assert_int_equal(tessera_bo_unmap(bo), 0);
	assert_int_equal(mock->unmaps, 0);
	assert_int_equal(tessera_bo_unmap(bo), 0);
	assert_int_equal(mock->unmaps, 1);
	assert_int_equal(tessera_bo_unmap(bo), -EINVAL);
	/* LOCK-7: a write waits for all jobs, a read for writers only. */
	assert_int_equal(tessera_bo_write(bo, 8188, data, 4), 0);
	assert_int_equal(mock->last_wait.flags, DRM_TESSERA_BO_WAIT_WRITE);
	assert_int_equal(tessera_bo_read(bo, 8188, back, 4), 0);
	assert_int_equal(mock->last_wait.flags, 0);
	assert_memory_equal(data, back, 4);
	assert_int_equal(tessera_bo_write(bo, 8189, data, 4), -EINVAL);
	assert_int_equal(tessera_bo_read(bo, UINT64_MAX, back, 4), -EINVAL);
	mock->fail_request = DRM_IOCTL_TESSERA_BO_WAIT;
	mock->fail_errno = EIO;
	assert_int_equal(tessera_bo_write(bo, 0, data, 4), -EIO);
	assert_int_equal(mock->unmaps, mock->maps);
	mock->fail_errno = 0;
	/* LOCK-11: an object may be deleted while it is mapped. */
	assert_int_equal(tessera_bo_map(bo, &a), 0);
	tessera_bo_del(bo);
	assert_int_equal(mock->unmaps, mock->maps);

	bo = mock_bo(dev, 4096);
	assert_int_equal(tessera_bo_map(bo, &a), -EPERM);
	tessera_bo_del(bo);
	mock->fail_request = DRM_IOCTL_TESSERA_BO_CREATE;
	mock->fail_errno = E2BIG;
	assert_int_equal(tessera_bo_new(dev, &desc, &bo), -E2BIG);
}

static const struct {
	uint32_t map, lock;
} map_flags[] = {
	{ TESSERA_MAP_READ, DRM_TESSERA_LOCK_READ_ONLY },
	{ TESSERA_MAP_WRITE, DRM_TESSERA_LOCK_WRITE_ONLY },
	{ TESSERA_MAP_READ | TESSERA_MAP_WRITE, 0 },
	{ TESSERA_MAP_WRITE | TESSERA_MAP_DONTBLOCK,
	  DRM_TESSERA_LOCK_WRITE_ONLY | DRM_TESSERA_LOCK_DONT_WAIT },
	{ TESSERA_MAP_UNSYNCHRONIZED, DRM_TESSERA_LOCK_IGNORE_SYNC },
	{ TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_RANGE, DRM_TESSERA_LOCK_WRITE_ONLY },
	{ TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE,
	  DRM_TESSERA_LOCK_WRITE_ONLY | DRM_TESSERA_LOCK_DISCARD },
	{ TESSERA_MAP_READ | TESSERA_MAP_DO_NOT_EVICT,
	  DRM_TESSERA_LOCK_READ_ONLY | DRM_TESSERA_LOCK_DO_NOT_EVICT },
	{ TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE | TESSERA_MAP_REUSE,
	  DRM_TESSERA_LOCK_WRITE_ONLY | DRM_TESSERA_LOCK_DISCARD | DRM_TESSERA_LOCK_REUSE },
};

static const uint32_t bad_map_flags[] = {
	0,
	TESSERA_MAP_DONTBLOCK,
	1 << 10 | TESSERA_MAP_READ,
	TESSERA_MAP_REUSE | TESSERA_MAP_WRITE,
	TESSERA_MAP_UNSYNCHRONIZED | TESSERA_MAP_DO_NOT_EVICT,
	TESSERA_MAP_READ | TESSERA_MAP_DISCARD_RANGE,
	TESSERA_MAP_READ | TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE,
	TESSERA_MAP_UNSYNCHRONIZED | TESSERA_MAP_DISCARD_RANGE,
	TESSERA_MAP_WRITE | TESSERA_MAP_UNSYNCHRONIZED | TESSERA_MAP_DISCARD_WHOLE,
};

/* LOCK-4 LOCK-6 LOCK-7 SWZ-27: flags of the LOCK ioctl for all map flags. */
static void test_lock(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_bo *bo, *hidden = mock_bo(dev, 4096);
	void *p;

	assert_int_equal(tessera_bo_new_for(dev, TESSERA_USAGE_STAGING, 4096, NULL, &bo), 0);
	for (size_t i = 0; i < ARRAY_SIZE(map_flags); i++) {
		assert_int_equal(tessera_bo_lock(&bo, map_flags[i].map, &p), 0);
		assert_int_equal(mock->last_lock.flags,
				 map_flags[i].lock | DRM_TESSERA_LOCK_ACQUIRE_RANGE);
		assert_int_equal(mock->locks, 1);
		assert_int_equal(mock->maps, mock->unmaps + 1);
		assert_int_equal(tessera_bo_unlock(bo, map_flags[i].map), 0);
		assert_int_equal(mock->locks, 0);
		assert_int_equal(mock->maps, mock->unmaps);
		assert_int_equal(tessera_bo_unlock(bo, map_flags[i].map), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad_map_flags); i++)
		assert_int_equal(tessera_bo_lock(&bo, bad_map_flags[i], &p), -EINVAL);
	assert_int_equal(tessera_bo_lock(&hidden, TESSERA_MAP_READ, &p), -EPERM);
	/* this device is not coherent */
	assert_int_equal(tessera_bo_lock(&bo, TESSERA_MAP_READ | TESSERA_MAP_COHERENT, &p),
			 -EOPNOTSUPP);
	/*
	 * submissions may use a persistently mapped object, so no lock is kept
	 */
	assert_int_equal(tessera_bo_lock(&bo, TESSERA_MAP_READ | TESSERA_MAP_PERSISTENT, &p), 0);
	assert_int_equal(mock->locks, 0);
	assert_int_equal(mock->maps, mock->unmaps + 1);
	assert_int_equal(tessera_bo_unlock(bo, TESSERA_MAP_READ | TESSERA_MAP_PERSISTENT), 0);
	assert_int_equal(mock->maps, mock->unmaps);
	mock->fail_request = DRM_IOCTL_TESSERA_LOCK;
	mock->fail_errno = EBUSY;
	assert_int_equal(tessera_bo_lock(&bo, TESSERA_MAP_READ, &p), -EBUSY);
	assert_int_equal(mock->maps, mock->unmaps);
	tessera_bo_del(bo);
	tessera_bo_del(hidden);
}

/*
 * LOCK-3 LOCK-5: a discard returns another object if jobs use this one. Fails
 * if the old object leaks or a shared object is replaced.
 */
static void test_lock_discard(void **state)
{
	const uint32_t flags = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE;
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_bo *bo, *old;
	uint32_t handles;
	void *p;

	assert_int_equal(tessera_bo_new_for(dev, TESSERA_USAGE_STAGING, 4096, NULL, &bo), 0);
	old = tessera_bo_ref(bo);
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), 0);
	assert_ptr_equal(bo, old);
	assert_int_equal(tessera_bo_unlock(bo, flags), 0);

	mock->busy = true;
	handles = mock->open_handles;
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), 0);
	assert_ptr_not_equal(bo, old);
	assert_int_not_equal(tessera_bo_handle(bo), tessera_bo_handle(old));
	assert_int_equal(tessera_bo_size(bo), tessera_bo_size(old));
	assert_int_equal(mock->open_handles, handles + 1);
	assert_int_equal(tessera_bo_unlock(bo, flags), 0);
	/* the last reference: the library has dropped its own */
	tessera_bo_del(old);
	assert_int_equal(mock->open_handles, handles);

	/* the call waits for an object that is shared */
	mock->shared = true;
	old = bo;
	assert_int_equal(tessera_bo_lock(&bo, flags | TESSERA_MAP_DONTBLOCK, &p), 0);
	assert_ptr_equal(bo, old);
	assert_int_equal(mock->last_lock.flags, DRM_TESSERA_LOCK_ACQUIRE_RANGE |
							DRM_TESSERA_LOCK_WRITE_ONLY |
							DRM_TESSERA_LOCK_DONT_WAIT);
	assert_int_equal(tessera_bo_unlock(bo, flags), 0);
	mock->shared = false;

	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), -ENOMEM);
	assert_ptr_equal(bo, old);
	tessera_bo_del(bo);
}

/*
 * A lock that reuses an instance gives the object that has its handle. Fails if
 * one handle gets two objects, or if the caller's reference is not moved.
 */
static void test_lock_reuse(void **state)
{
	const uint32_t flags = TESSERA_MAP_WRITE | TESSERA_MAP_DISCARD_WHOLE | TESSERA_MAP_REUSE;
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_bo *bo, *first, *second;
	uint32_t handles = mock->open_handles;
	void *p;

	assert_int_equal(tessera_bo_new_for(dev, TESSERA_USAGE_STAGING, 4096, NULL, &bo), 0);
	first = tessera_bo_ref(bo);
	mock->busy = true;
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), 0);
	assert_int_equal(tessera_bo_unlock(bo, flags), 0);
	assert_ptr_not_equal(bo, first);
	second = bo;
	mock->idle = tessera_bo_handle(first);
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), 0);
	promise(bo == first, "expected the object that has the handle");
	assert_int_equal(tessera_bo_unlock(bo, flags), 0);
	/* The second one had the caller's reference only. */
	assert_int_equal(mock->open_handles, handles + 1);
	assert_ptr_not_equal(bo, second);
	/* Mapping fails: the caller keeps its object. */
	mock->busy = false;
	mock->fail_mmap = ENOMEM;
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), -ENOMEM);
	assert_ptr_equal(bo, first);
	assert_int_equal(mock->locks, 0);
	mock->fail_mmap = 0;
	/* An object that was exported is waited for. */
	mock->shared = true;
	assert_int_equal(tessera_bo_lock(&bo, flags, &p), 0);
	assert_int_equal(mock->last_lock.flags,
			 DRM_TESSERA_LOCK_ACQUIRE_RANGE | DRM_TESSERA_LOCK_WRITE_ONLY);
	assert_int_equal(tessera_bo_unlock(bo, flags), 0);
	tessera_bo_del(bo);
	assert_int_equal(mock->open_handles, handles + 1);
	tessera_bo_del(first);
	assert_int_equal(mock->open_handles, handles);
}

/*
 * LOCK-7: the library accesses the bytes after the wait for the jobs, and not
 * before.
 */
static void test_waits_before_access(void **state)
{
	static const uint8_t data[4] = { 1, 2, 3, 4 }, zero[4];
	struct mock *mock = mock_of(state);
	struct tessera_bo *bo;
	uint8_t back[4];

	assert_int_equal(tessera_bo_new_for(dev_of(state), TESSERA_USAGE_STAGING, 4096, NULL, &bo),
			 0);
	assert_int_equal(tessera_bo_write(bo, 0, data, 4), 0);
	/* a write also waits for readers, which could see the new bytes */
	promise(mock->last_wait.flags == DRM_TESSERA_BO_WAIT_WRITE,
		"expected tessera_bo_write() to wait for jobs that use the object");
	assert_int_equal(mock->last_wait.timeout_ns, TESSERA_FOREVER);
	assert_memory_equal(mock->memory_at_wait, zero, 4);
	assert_memory_equal(mock->memory, data, 4);
	assert_int_equal(tessera_bo_read(bo, 0, back, 4), 0);
	promise(!mock->last_wait.flags && mock_count(mock, DRM_IOCTL_TESSERA_BO_WAIT) == 2,
		"expected tessera_bo_read() to wait for jobs that write the object");
	tessera_bo_del(bo);
}

/*
 * An old library must refuse reserved fields, because it does not know their
 * meaning.
 */
static void test_reserved_fields(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct tessera_submit_args args;
	struct tessera_bo_desc desc;
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	struct tessera_view view;
	struct tessera_bo *bo;

	assert_int_equal(tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_TEXTURE, 4096, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(desc.reserved); i++) {
		desc.reserved[i] = 1;
		assert_int_equal(tessera_bo_new(dev, &desc, &bo), -EINVAL);
		desc.reserved[i] = 0;
	}
	assert_int_equal(tessera_bo_new(dev, &desc, &bo), 0);
	assert_int_equal(tessera_context_new_default(dev, &ctx), 0);
	assert_int_equal(tessera_cmdbuf_new(dev, &cb), 0);
	tessera_view_init_buffer(&view);
	for (size_t i = 0; i < ARRAY_SIZE(view.reserved); i++) {
		view.reserved[i] = 1;
		assert_int_equal(tessera_cmdbuf_bind(cb, 0, bo, &view), -EINVAL);
		view.reserved[i] = 0;
	}
	tessera_cmdbuf_reset(cb);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, bo, &view), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 4), 0);
	for (size_t i = 0; i < ARRAY_SIZE(args.reserved); i++) {
		args = (struct tessera_submit_args){ 0 };
		args.reserved[i] = 1;
		assert_int_equal(tessera_context_submit(ctx, cb, &args), -EINVAL);
	}
	args = (struct tessera_submit_args){ .flags = 2 };
	assert_int_equal(tessera_context_submit(ctx, cb, &args), -EINVAL);
	args.flags = 0;
	/* SPLIT-34: the kernel knows that the job will end early */
	mock_of(state)->error_offset = 48;
	assert_int_equal(tessera_context_submit(ctx, cb, &args), 0);
	assert_int_equal(args.error_offset, 48);
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	tessera_bo_del(bo);
}

/*
 * The sync list has the waits, the signals and the fence, in this order. A
 * point makes a sync object a timeline.
 */
static void test_submit(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_syncobj *a, *b;
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	struct tessera_fence *fence;
	struct tessera_sync waits[2], signals[1];
	struct tessera_submit_args args = {
		.waits = waits,
		.num_waits = 2,
		.signals = signals,
		.num_signals = 1,
		.fence = &fence,
	};

	assert_int_equal(tessera_syncobj_new(dev, 0, &a), 0);
	assert_int_equal(tessera_syncobj_new(dev, 0, &b), 0);
	waits[0] = (struct tessera_sync){ a, 7 };
	waits[1] = (struct tessera_sync){ a, 8 };
	signals[0] = (struct tessera_sync){ b, 0 };
	assert_int_equal(tessera_context_new(dev, 0, 1, 0, &ctx), 0);
	assert_int_equal(tessera_cmdbuf_new(dev, &cb), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 4), 0);
	assert_int_equal(tessera_context_submit(ctx, cb, &args), 0);
	assert_int_equal(mock->last_submit.context, tessera_context_id(ctx));
	assert_int_equal(mock->last_submit.cmd_size, 16);
	assert_int_equal(mock->last_submit.patches.stride, sizeof(struct drm_tessera_submit_patch));
	assert_int_equal(mock->last_submit.syncs.count, 4);
	assert_int_equal(mock->last_syncs[0].handle, tessera_syncobj_handle(a));
	assert_int_equal(mock->last_syncs[0].flags, DRM_TESSERA_SYNC_TIMELINE);
	assert_int_equal(mock->last_syncs[0].point, 7);
	assert_int_equal(mock->last_syncs[1].flags, DRM_TESSERA_SYNC_TIMELINE);
	assert_int_equal(mock->last_syncs[1].point, 8);
	assert_int_equal(mock->last_syncs[2].handle, tessera_syncobj_handle(b));
	assert_int_equal(mock->last_syncs[2].flags, DRM_TESSERA_SYNC_SIGNAL);
	assert_int_equal(mock->last_syncs[2].point, 0);
	assert_int_equal(mock->last_syncs[3].handle,
			 tessera_syncobj_handle(tessera_fence_syncobj(fence)));
	tessera_fence_del(fence);

	args.num_waits = 17;
	assert_int_equal(tessera_context_submit(ctx, cb, &args), -E2BIG);
	args.num_waits = 1;
	mock->fail_request = DRM_IOCTL_TESSERA_SUBMIT;
	mock->fail_errno = ENOSPC;
	fence = NULL;
	assert_int_equal(tessera_context_submit(ctx, cb, &args), -ENOSPC);
	assert_null(fence);
	mock->fail_errno = 0;
	assert_int_equal(tessera_context_run(ctx, cb), 0);
	mock->fence_status = -EFAULT;
	assert_int_equal(tessera_context_run(ctx, cb), -EFAULT);
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	tessera_syncobj_del(a);
	tessera_syncobj_del(b);
}

/* RES-7: the value is read from a read-only mapping, without a call. */
static void test_monitored(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_monitored *fence;
	struct tessera_sync wait;
	struct tessera_submit_args args = {
		.waits = &wait,
		.num_waits = 1,
		.flags = TESSERA_SUBMIT_WAIT_FOR_SUBMIT,
	};
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	unsigned int calls;

	assert_int_equal(tessera_monitored_new(dev, 7, &fence), 0);
	assert_int_equal(mock->last_prot, PROT_READ);
	calls = mock->calls;
	assert_int_equal(tessera_monitored_value(fence), 7);
	assert_int_equal(tessera_monitored_wait(fence, 7, 0), 0);
	assert_int_equal(mock->calls, calls);
	assert_int_equal(tessera_monitored_signal(fence, 1ull << 40), 0);
	assert_true(tessera_monitored_value(fence) == 1ull << 40);
	assert_int_equal(tessera_monitored_wait(fence, (1ull << 40) + 1, 0), 0);
	assert_int_equal(mock->requests[mock->calls - 1], DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT);

	assert_int_equal(tessera_context_new(dev, 0, 1, 0, &ctx), 0);
	assert_int_equal(tessera_cmdbuf_new(dev, &cb), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 4), 0);
	wait = (struct tessera_sync){ tessera_monitored_syncobj(fence), 9 };
	assert_int_equal(tessera_context_submit(ctx, cb, &args), 0);
	assert_int_equal(mock->last_syncs[0].flags,
			 DRM_TESSERA_SYNC_TIMELINE | DRM_TESSERA_SYNC_WAIT_FOR_SUBMIT);
	args.flags = 2;
	assert_int_equal(tessera_context_submit(ctx, cb, &args), -EINVAL);
	tessera_cmdbuf_del(cb);
	tessera_context_del(ctx);
	tessera_monitored_del(tessera_monitored_ref(fence));
	tessera_monitored_del(fence);
}

static void test_context_and_label(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct drm_tessera_context_status status;
	struct tessera_context_desc desc;
	struct tessera_bo_desc bo_desc;
	struct tessera_context *ctx;
	struct tessera_bo *bo;
	char text[65];

	assert_int_equal(tessera_context_desc_init(dev, &desc), 0);
	desc.priority = DRM_TESSERA_PRIORITY_LOW;
	assert_int_equal(tessera_context_new_desc(dev, &desc, &ctx), 0);
	assert_int_equal(mock->last_context.priority, DRM_TESSERA_PRIORITY_LOW);
	assert_int_equal(mock->last_context.engine, desc.engine);
	memset(&status, 0x55, sizeof(status));
	assert_int_equal(tessera_context_status(ctx, &status, sizeof(status) - 4), 0);
	assert_int_equal(status.id, tessera_context_id(ctx));
	assert_int_equal(status.hangs, 2);
	assert_int_equal(status.device_resets, 0x55555555);
	tessera_context_del(ctx);
	desc.reserved[3] = 1;
	assert_int_equal(tessera_context_new_desc(dev, &desc, &ctx), -EINVAL);

	assert_int_equal(tessera_bo_desc_init(dev, &bo_desc, TESSERA_USAGE_STAGING, 4096, NULL), 0);
	assert_int_equal(tessera_bo_new(dev, &bo_desc, &bo), 0);
	assert_int_equal(tessera_bo_set_label(bo, "depth"), 0);
	assert_int_equal(mock->last_label.handle, tessera_bo_handle(bo));
	assert_string_equal((const char *)mock->last_label.label, "depth");
	memset(text, 'x', 64);
	text[64] = 0;
	assert_int_equal(tessera_bo_set_label(bo, text), -EINVAL);
	assert_int_equal(tessera_bo_set_priority(bo, -2), 0);
	assert_int_equal(mock->last_priority.handle, tessera_bo_handle(bo));
	assert_int_equal(mock->last_priority.priority, -2);
	tessera_bo_del(bo);
}

static void test_monitored_failures(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_monitored *fence;
	uint32_t open = mock->open_handles;

	mock->fail_mmap = ENOMEM;
	assert_int_equal(tessera_monitored_new(dev, 0, &fence), -ENOMEM);
	mock->fail_mmap = 0;
	for (long fail = 0; fail < 2; fail++) {
		mock->fail_alloc = mock->allocs + fail;
		assert_int_equal(tessera_monitored_new(dev, 0, &fence), -ENOMEM);
	}
	mock->fail_alloc = -1;
	mock->fail_request = DRM_IOCTL_TESSERA_FENCE_CREATE;
	mock->fail_errno = ENOSPC;
	assert_int_equal(tessera_monitored_new(dev, 0, &fence), -ENOSPC);
	assert_int_equal(mock->open_handles, open);
}

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

/*
 * LOCK-9: a wait closes the sync_file that it opens, also if reading it fails.
 */
static void test_wait_closes(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_fence *fence;
	int before, error;

	assert_int_equal(tessera_fence_new(dev_of(state), &fence), 0);
	before = lowest_free_fd();
	assert_int_equal(tessera_fence_wait(fence, TESSERA_FOREVER, &error), 0);
	assert_int_equal(lowest_free_fd(), before);
	mock->fail_request = SYNC_IOC_FILE_INFO;
	mock->fail_errno = EINVAL;
	assert_int_equal(tessera_fence_wait(fence, TESSERA_FOREVER, &error), -EINVAL);
	assert_int_equal(lowest_free_fd(), before);
	tessera_fence_del(fence);
}

/*
 * LOCK-8, LOCK-9: a wait is one call with an absolute timeout, also on a
 * timeline.
 */
static void test_wait_does_not_poll(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_syncobj *obj;

	assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &obj), 0);
	assert_int_equal(tessera_syncobj_wait(obj, 9, TESSERA_FOREVER), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT), 1);
	assert_int_equal(tessera_syncobj_wait(obj, 0, TESSERA_FOREVER), 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT), 2);
	mock->fail_request = DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT;
	mock->fail_errno = ETIME;
	assert_int_equal(tessera_syncobj_wait(obj, 0, 1), -ETIME);
	assert_int_equal(mock_count(mock, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT), 3);
	tessera_syncobj_del(obj);
	assert_true(tessera_deadline(0) <= tessera_deadline(1000));
	assert_true(tessera_deadline(UINT64_MAX) == TESSERA_FOREVER);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_query),
		TEST(test_sizes),
		cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_pci_names),
		TEST(test_eintr),
		TEST(test_usages),
		TEST(test_bo),
		TEST(test_lock),
		TEST(test_lock_discard),
		TEST(test_lock_reuse),
		TEST(test_waits_before_access),
		TEST(test_reserved_fields),
		TEST(test_submit),
		TEST(test_monitored),
		TEST(test_context_and_label),
		TEST(test_monitored_failures),
		TEST(test_wait_closes),
		TEST(test_wait_does_not_poll),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
