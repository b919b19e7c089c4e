// SPDX-License-Identifier: MIT
/* dma-bufs, and the objects that they are imported as, on a mock kernel. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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

static struct tessera_bo *import(void **state, int fd)
{
	struct tessera_bo *bo = NULL;

	assert_int_equal(tessera_bo_import(dev_of(state), fd, &bo), 0);
	return bo;
}

/*
 * A dma-buf that is imported twice is one object with two references. Fails if
 * the handle is closed before the last one is dropped.
 */
static void test_twice(void **state)
{
	struct mock *mock = mock_of(state);
	int fd = mock_dmabuf(mock), other = mock_dmabuf(mock);
	struct tessera_bo *a = import(state, fd), *b = import(state, other);

	promise(import(state, fd) == a, "expected the same object for the same dma-buf");
	assert_ptr_not_equal(a, b);
	assert_int_equal(tessera_bo_size(a), 8192);
	assert_int_equal(mock->open_handles, 2);
	tessera_bo_del(a);
	promise(mock->open_handles == 2, "the handle was closed while the object is referenced");
	assert_int_equal(tessera_bo_destroy(a, 0), 0);
	assert_int_equal(mock->open_handles, 1);
	tessera_bo_del(b);
	/* A new object, with a handle of its own. */
	a = import(state, fd);
	assert_int_equal(mock->open_handles, 1);
	assert_int_equal(tessera_bo_handle(a), mock->next_handle);
	tessera_bo_del(a);
	close(other);
	close(fd);
}

/* The import of an object's own dma-buf is the object. */
static void test_own(void **state)
{
	struct tessera_bo *bo = mock_bo(dev_of(state), 4096);
	struct mock *mock = mock_of(state);
	uint32_t handle = tessera_bo_handle(bo);
	int fd;

	assert_int_equal(tessera_bo_export(bo, &fd), 0);
	assert_int_equal(mock->last_export.handle, handle);
	assert_int_equal(mock->last_export.flags, DRM_CLOEXEC | DRM_RDWR);
	assert_ptr_equal(import(state, fd), bo);
	tessera_bo_del(bo);
	/* BO_DESTROY fails, and the object keeps its handle and its place in the table. */
	mock->fail_request = DRM_IOCTL_TESSERA_BO_DESTROY;
	mock->fail_errno = ENOMEM;
	assert_int_equal(tessera_bo_destroy(bo, 0), -ENOMEM);
	mock->fail_errno = 0;
	assert_ptr_equal(import(state, fd), bo);
	tessera_bo_del(bo);
	tessera_bo_del(bo);
	assert_int_equal(mock->open_handles, 0);
	bo = import(state, fd);
	assert_int_not_equal(tessera_bo_handle(bo), handle);
	tessera_bo_del(bo);
	close(fd);
}

/* A failing call leaves no handle and no memory behind. */
static void test_failures(void **state)
{
	struct tessera_bo *bo = mock_bo(dev_of(state), 4096), *none = NULL;
	struct mock *mock = mock_of(state);
	int fd = mock_dmabuf(mock), exported = -1;

	assert_int_equal(tessera_bo_import(dev_of(state), -1, &none), -EBADF);
	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_bo_import(dev_of(state), fd, &none), -ENOMEM);
	mock->fail_alloc = -1;
	mock->fail_request = DRM_IOCTL_TESSERA_BO_INFO;
	mock->fail_errno = ENODEV;
	assert_int_equal(tessera_bo_import(dev_of(state), fd, &none), -ENODEV);
	assert_int_equal(mock->open_handles, 1);
	mock->fail_request = DRM_IOCTL_PRIME_HANDLE_TO_FD;
	mock->fail_errno = EINVAL;
	assert_int_equal(tessera_bo_export(bo, &exported), -EINVAL);
	assert_int_equal(exported, -1);
	assert_null(none);
	tessera_bo_del(bo);
	close(fd);
}

/* A cache destroys imported objects: others may still use them. */
static void test_not_cached(void **state)
{
	struct mock *mock = mock_of(state);
	int fd = mock_dmabuf(mock);
	struct tessera_cache *cache;

	assert_int_equal(tessera_cache_new(dev_of(state), 1 << 20, &cache), 0);
	tessera_cache_give(cache, import(state, fd), NULL, 0);
	assert_int_equal(mock->open_handles, 0);
	tessera_cache_del(cache);
	close(fd);
}

/* ---- Resources ----------------------------------------------------------- */

#define MEMBERS 3

static int create(void **state, struct tessera_bo **bos)
{
	struct tessera_bo_desc descs[MEMBERS];
	int fd = -1;

	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(tessera_bo_desc_init(dev_of(state), &descs[i],
						      TESSERA_USAGE_TEXTURE, 4096 * (i + 1), NULL),
				 0);
	assert_int_equal(
		tessera_resource_create(dev_of(state), descs, MEMBERS, "planes", 7, bos, &fd), 0);
	return fd;
}

/* RES-14: the objects come with their sizes and the data, in order. */
static void test_resource(void **state)
{
	struct tessera_bo *bos[MEMBERS], *opened[MEMBERS + 1];
	struct mock *mock = mock_of(state);
	uint32_t count = 0, size = 0;
	int fd = create(state, bos);
	char data[8];

	for (uint32_t i = 0; i < MEMBERS; i++) {
		assert_int_equal(mock->resource.creates[i].size, 4096 * (i + 1));
		assert_int_equal(tessera_bo_size(bos[i]), 4096 * (i + 1));
		assert_int_equal(tessera_bo_handle(bos[i]), mock->resource.handles[i]);
	}
	assert_int_equal(tessera_resource_open(dev_of(state), fd, NULL, &count, NULL, &size), 0);
	assert_int_equal(count, MEMBERS);
	assert_int_equal(size, 7);
	count = MEMBERS + 1;
	size = sizeof(data);
	/* This file has the first and the last one: other references to them. */
	tessera_bo_del(bos[1]);
	assert_int_equal(mock->open_handles, 2);
	assert_int_equal(tessera_resource_open(dev_of(state), fd, opened, &count, data, &size), 0);
	assert_int_equal(count, MEMBERS);
	assert_int_equal(size, 7);
	assert_string_equal(data, "planes");
	assert_ptr_equal(opened[0], bos[0]);
	assert_ptr_equal(opened[2], bos[2]);
	assert_int_equal(tessera_bo_handle(opened[1]), mock->resource.handles[1]);
	tessera_bo_del(bos[0]);
	tessera_bo_del(bos[2]);
	promise(mock->open_handles == MEMBERS, "a handle was closed below a reference");
	for (uint32_t i = 0; i < MEMBERS; i++)
		tessera_bo_del(opened[i]);
	close(fd);
}

/* RES-14: all or none, whatever fails. */
static void test_resource_failures(void **state)
{
	struct tessera_bo *bos[MEMBERS], *none[MEMBERS] = { NULL };
	struct tessera_bo_desc desc = { 0 };
	struct mock *mock = mock_of(state);
	uint32_t count, size;
	int fd, ret = -ENOMEM;

	assert_int_equal(tessera_resource_create(dev_of(state), &desc, 1, NULL, 0, none, &fd),
			 -EINVAL);
	assert_int_equal(tessera_resource_create(dev_of(state), &desc,
						 DRM_TESSERA_RESOURCE_MAX_BOS + 1, NULL, 0, none,
						 &fd),
			 -E2BIG);
	fd = create(state, bos);
	for (uint32_t i = 0; i < MEMBERS; i++)
		tessera_bo_del(bos[i]);
	count = MEMBERS - 1;
	size = 7;
	assert_int_equal(tessera_resource_open(dev_of(state), fd, none, &count, NULL, &size),
			 -ENOSPC);
	assert_int_equal(count, MEMBERS);
	/* BO_INFO of the second object fails, and all handles are closed. */
	mock->fail_request = DRM_IOCTL_TESSERA_BO_INFO;
	mock->fail_errno = ENODEV;
	mock->fail_after = 1;
	assert_int_equal(tessera_resource_open(dev_of(state), fd, none, &count, mock->memory,
					       &size),
			 -ENODEV);
	assert_int_equal(mock->open_handles, 0);
	mock->fail_errno = 0;
	for (long i = 0; ret == -ENOMEM; i++) {
		mock->fail_alloc = mock->allocs + i;
		ret = tessera_resource_open(dev_of(state), fd, bos, &count, mock->memory, &size);
		assert_int_equal(mock->open_handles, ret ? 0 : MEMBERS);
	}
	assert_int_equal(ret, 0);
	mock->fail_alloc = -1;
	for (uint32_t i = 0; i < MEMBERS; i++) {
		assert_null(none[i]);
		tessera_bo_del(bos[i]);
	}
	assert_int_equal(tessera_resource_open(dev_of(state), -1, none, &count, NULL, &size),
			 -EBADF);
	close(fd);
}

/* ---- Sync objects -------------------------------------------------------- */

/* A sync_file goes out of a binary object and into another one. */
static void test_sync_file(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_syncobj *from, *to;
	int fd = -1;

	assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &from), 0);
	assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &to), 0);
	assert_int_equal(tessera_syncobj_export(from, &fd), 0);
	assert_int_equal(mock->last_syncobj.handle, tessera_syncobj_handle(from));
	assert_int_equal(mock->last_syncobj.flags, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE);
	mock->eintr = 2;
	assert_int_equal(tessera_syncobj_import(to, fd), 0);
	assert_int_equal(mock->last_syncobj.handle, tessera_syncobj_handle(to));
	assert_int_equal(mock->last_syncobj.flags, DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE);
	assert_int_equal(mock->last_syncobj.fd, fd);
	mock->fail_request = DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE;
	mock->fail_errno = EINVAL;
	assert_int_equal(tessera_syncobj_import(to, fd), -EINVAL);
	close(fd);
	tessera_syncobj_del(from);
	tessera_syncobj_del(to);
}

/* The object itself goes out and comes in, each time with a handle of its own. */
static void test_syncobj_fd(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_syncobj *from, *a, *b;
	int fd = -1;

	assert_int_equal(tessera_syncobj_new(dev, 0, &from), 0);
	assert_int_equal(tessera_syncobj_to_fd(from, &fd), 0);
	assert_int_equal(mock->last_syncobj.handle, tessera_syncobj_handle(from));
	assert_int_equal(mock->last_syncobj.flags, 0);
	assert_int_equal(tessera_syncobj_from_fd(dev, fd, &a), 0);
	assert_int_equal(mock->last_syncobj.fd, fd);
	assert_int_equal(tessera_syncobj_from_fd(dev, fd, &b), 0);
	assert_int_not_equal(tessera_syncobj_handle(a), tessera_syncobj_handle(b));
	assert_int_equal(mock->open_handles, 3);
	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_syncobj_from_fd(dev, fd, &a), -ENOMEM);
	assert_int_equal(mock->open_handles, 3);
	mock->fail_request = DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE;
	mock->fail_errno = EINVAL;
	assert_int_equal(tessera_syncobj_from_fd(dev, fd, &a), -EINVAL);
	close(fd);
	tessera_syncobj_del(a);
	tessera_syncobj_del(b);
	tessera_syncobj_del(from);
}

/* Several points are one call with one absolute timeout. */
static void test_wait_many(void **state)
{
	const uint32_t submit = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
	struct mock *mock = mock_of(state), *other = mock_new();
	struct tessera_device *other_dev;
	struct tessera_sync syncs[3];
	uint32_t first = 7;

	assert_int_equal(mock_open(other, &other_dev), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &syncs[i].obj), 0);
		syncs[i].point = i * 1000;
	}
	assert_int_equal(tessera_sync_wait(syncs, 3, 0, 12345, &first), 0);
	assert_int_equal(first, 2);
	assert_int_equal(mock->last_sync_wait.count_handles, 3);
	assert_int_equal(mock->last_sync_wait.timeout_nsec, 12345);
	assert_int_equal(mock->last_sync_wait.flags, submit);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(mock->last_handles[i], tessera_syncobj_handle(syncs[i].obj));
		assert_int_equal(mock->last_points[i], i * 1000);
	}
	first = 7;
	mock->eintr = 2;
	assert_int_equal(tessera_sync_wait(syncs, 3, 1, TESSERA_FOREVER, &first), 0);
	assert_int_equal(mock->last_sync_wait.flags, submit | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL);
	assert_int_equal(mock->last_sync_wait.timeout_nsec, TESSERA_FOREVER);
	assert_int_equal(first, 7);
	assert_int_equal(tessera_sync_wait(syncs, 0, 1, 0, NULL), -EINVAL);
	assert_int_equal(tessera_sync_wait(syncs, 65537, 1, 0, NULL), -EINVAL);
	mock->fail_request = DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT;
	mock->fail_errno = ETIME;
	assert_int_equal(tessera_sync_wait(syncs, 2, 0, 1, &first), -ETIME);
	assert_int_equal(first, 7);
	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_sync_wait(syncs, 2, 0, 1, &first), -ENOMEM);
	mock->fail_alloc = -1;
	for (int i = 0; i < 3; i++)
		tessera_syncobj_del(syncs[i].obj);
	assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &syncs[0].obj), 0);
	assert_int_equal(tessera_syncobj_new(other_dev, 0, &syncs[1].obj), 0);
	assert_int_equal(tessera_sync_wait(syncs, 2, 0, 0, NULL), -EXDEV);
	tessera_syncobj_del(syncs[0].obj);
	tessera_syncobj_del(syncs[1].obj);
	tessera_device_del(other_dev);
	assert_int_equal(other->live_allocs, 0);
	free(other);
}

/* ---- Threads ------------------------------------------------------------- */

/* One lock makes the mock kernel atomic, as the real one is. */
struct kernel {
	pthread_mutex_t lock;
	struct mock *mock;
};

static int kernel_ioctl(void *cookie, int fd, unsigned long request, void *arg)
{
	struct kernel *kernel = cookie;
	int ret;

	/* Where another thread could come between, let it. */
	sched_yield();
	pthread_mutex_lock(&kernel->lock);
	if (request == DRM_IOCTL_TESSERA_BO_WAIT &&
	    ((struct drm_tessera_bo_wait *)arg)->handle != kernel->mock->dmabufs[0].handle) {
		errno = ENOENT;
		ret = -1;
	} else {
		ret = kernel->mock->os.ioctl(kernel->mock, fd, request, arg);
	}
	pthread_mutex_unlock(&kernel->lock);
	return ret;
}

static void *kernel_realloc(void *cookie, void *old, size_t size)
{
	struct kernel *kernel = cookie;
	void *p;

	pthread_mutex_lock(&kernel->lock);
	p = kernel->mock->os.realloc(kernel->mock, old, size);
	pthread_mutex_unlock(&kernel->lock);
	return p;
}

struct importer {
	struct tessera_device *dev;
	int fd;
	int error; /* first error */
};

static void *import_often(void *arg)
{
	struct importer *importer = arg;

	for (int i = 0; i < 20000 && !importer->error; i++) {
		struct tessera_bo *bo;

		importer->error = tessera_bo_import(importer->dev, importer->fd, &bo);
		if (importer->error)
			break;
		importer->error = tessera_bo_wait(bo, 0, 0);
		tessera_bo_del(bo);
	}
	return NULL;
}

/*
 * Threads import and delete one dma-buf. Fails if a thread has an object whose
 * handle is closed.
 */
static void test_threads(void **state)
{
	struct kernel kernel = { .lock = PTHREAD_MUTEX_INITIALIZER, .mock = mock_of(state) };
	const struct tessera_os os = {
		.ioctl = kernel_ioctl,
		.realloc = kernel_realloc,
		.cookie = &kernel,
	};
	int fd = mock_dmabuf(kernel.mock);
	struct tessera_device *dev;
	struct importer importers[4];
	pthread_t threads[4];

	assert_int_equal(tessera_device_new_os(fd, &os, &dev), 0);
	for (int i = 0; i < 4; i++) {
		importers[i] = (struct importer){ .dev = dev, .fd = fd };
		assert_int_equal(pthread_create(&threads[i], NULL, import_often, &importers[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		promise(!importers[i].error, "thread %d: expected no error, saw %d", i,
			importers[i].error);
	assert_int_equal(kernel.mock->open_handles, 0);
	tessera_device_del(dev);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_twice),     TEST(test_own),
		TEST(test_failures),  TEST(test_not_cached),
		TEST(test_sync_file), TEST(test_wait_many),
		TEST(test_threads),   TEST(test_syncobj_fd),
		TEST(test_resource),  TEST(test_resource_failures),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
