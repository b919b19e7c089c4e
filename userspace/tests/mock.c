// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "mock.h"

static const struct drm_tessera_query_segment mock_segments[] = {
	{ .id = 1,
	  .flags = DRM_TESSERA_SEGMENT_CPU_VISIBLE,
	  .gpu_base = 0x80000000,
	  .size = 64 << 20,
	  .commit_limit = 64 << 20,
	  .page_size = 4096,
	  .name = "vram" },
	{ .id = 2,
	  .flags = DRM_TESSERA_SEGMENT_HOST_APERTURE,
	  .gpu_base = 0x90000000,
	  .size = 192 << 20,
	  .commit_limit = 192 << 20,
	  .page_size = 4096,
	  .name = "vram-hidden-from-cpu" },
	{ .id = 3,
	  .flags = DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_GPU_READ_ONLY |
		   DRM_TESSERA_SEGMENT_CPU_CACHED,
	  .gpu_base = 0xa0000000,
	  .size = 64 << 20,
	  .commit_limit = 64 << 20,
	  .page_size = 4096,
	  .name = "agp-ro" },
	{ .id = 4,
	  .flags = DRM_TESSERA_SEGMENT_APERTURE | DRM_TESSERA_SEGMENT_CPU_CACHED |
		   DRM_TESSERA_SEGMENT_CACHE_COHERENT,
	  .gpu_base = 0xb0000000,
	  .size = 256 << 20,
	  .commit_limit = 256 << 20,
	  .page_size = 4096,
	  .name = "gart" },
};

static const struct drm_tessera_query_engine mock_engines[] = {
	{ .id = 0, .type = DRM_TESSERA_ENGINE_PAGING },
	{ .id = 1, .type = DRM_TESSERA_ENGINE_RENDER },
};

static void query_copy(struct drm_tessera_query *query, const void *from, size_t size,
		       uint32_t count)
{
	uint8_t *to = (void *)(uintptr_t)query->data.array;

	if (!to) {
		query->data.stride = size;
		query->data.count = count;
		return;
	}
	if (query->data.count > count)
		query->data.count = count;
	for (uint32_t i = 0; i < query->data.count; i++) {
		size_t n = query->data.stride < size ? query->data.stride : size;

		memset(to + i * query->data.stride, 0, query->data.stride);
		memcpy(to + i * query->data.stride, (const uint8_t *)from + i * size, n);
	}
}

static int mock_query(struct mock *mock, struct drm_tessera_query *query)
{
	const struct drm_tessera_query_memory memory = {
		.segment = 1,
		.total = 64 << 20,
		.used = 4096,
	};

	switch (query->id) {
	case DRM_TESSERA_QUERY_DEVICE:
		query_copy(query, &mock->info, sizeof(mock->info), 1);
		return 0;
	case DRM_TESSERA_QUERY_SEGMENTS:
		query_copy(query, mock_segments, sizeof(mock_segments[0]),
			   ARRAY_SIZE(mock_segments));
		return 0;
	case DRM_TESSERA_QUERY_ENGINES:
		query_copy(query, mock_engines, sizeof(mock_engines[0]), ARRAY_SIZE(mock_engines));
		return 0;
	case DRM_TESSERA_QUERY_MEMORY:
		query_copy(query, &memory, sizeof(memory), 1);
		return 0;
	default:
		return EINVAL;
	}
}

static int mock_submit(struct mock *mock, struct drm_tessera_submit *submit)
{
	const void *syncs = (void *)(uintptr_t)submit->syncs.array;

	/*
	 * The library must reset the outputs before it repeats an interrupted
	 * call.
	 */
	assert_int_equal(submit->num_parts, 0);
	assert_int_equal(submit->error_offset, UINT32_MAX);
	assert_int_equal(submit->error_index, UINT32_MAX);
	mock->last_submit = *submit;
	memset(mock->last_cmds, 0, sizeof(mock->last_cmds));
	memcpy(mock->last_cmds, (void *)(uintptr_t)submit->cmds,
	       submit->cmd_size < sizeof(mock->last_cmds) ? submit->cmd_size
							  : sizeof(mock->last_cmds));
	memset(mock->last_allocs, 0, sizeof(mock->last_allocs));
	if (submit->allocs.count <= ARRAY_SIZE(mock->last_allocs))
		memcpy(mock->last_allocs, (void *)(uintptr_t)submit->allocs.array,
		       submit->allocs.count * sizeof(mock->last_allocs[0]));
	assert_true(submit->syncs.count <= ARRAY_SIZE(mock->last_syncs));
	if (submit->syncs.count)
		memcpy(mock->last_syncs, syncs, submit->syncs.count * sizeof(mock->last_syncs[0]));
	submit->num_parts = 3;
	submit->error_offset = mock->error_offset;
	submit->error_index = mock->error_offset;
	return 0;
}

static int mock_surface_pair(struct mock *mock, struct drm_tessera_bo_create_twins *args)
{
	assert_int_equal(args->bos.count, 2);
	assert_int_equal(args->bos.stride, sizeof(mock->last_surface_pair[0]));
	assert_int_equal(args->private_data.count, 2);
	assert_int_equal(args->private_data.stride, sizeof(mock->last_private[0]));
	memcpy(mock->last_surface_pair, (void *)(uintptr_t)args->bos.array,
	       sizeof(mock->last_surface_pair));
	memcpy(mock->last_private, (void *)(uintptr_t)args->private_data.array,
	       sizeof(mock->last_private));
	for (int i = 0; i < 2; i++) {
		args->handles[i] = ++mock->next_handle;
		mock->twin_handles[i] = args->handles[i];
		mock->open_handles++;
	}
	return 0;
}

static int mock_lock(struct mock *mock, struct drm_tessera_lock *args)
{
	bool discard = args->flags & DRM_TESSERA_LOCK_DISCARD;

	mock->last_lock = *args;
	if (discard && mock->shared)
		return EINVAL;
	if (mock->idle && (args->flags & DRM_TESSERA_LOCK_REUSE)) {
		args->handle = mock->idle;
	} else if (discard && mock->busy) {
		args->handle = ++mock->next_handle;
		mock->open_handles++;
	}
	mock->locks++;
	return 0;
}

/* The value of the fence is at byte 16 of the memory. */
static int mock_fence(struct mock *mock, struct drm_tessera_fence_create *args)
{
	args->id = ++mock->next_handle;
	args->syncobj = ++mock->next_handle;
	args->mmap_offset = 0x100000;
	args->offset = 16;
	memcpy(mock->memory + 16, &args->value, 8);
	mock->open_handles += 2;
	return 0;
}

static void mock_handles(struct mock *mock, const struct drm_tessera_array *handles)
{
	uint32_t count = handles->count < 4 ? handles->count : 4;

	memcpy(mock->last_handles, (const void *)(uintptr_t)handles->array,
	       count * sizeof(uint32_t));
}

static int mock_list(struct mock *mock, struct drm_tessera_make_resident *args)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)args->handles.array;
	uint64_t bytes = mock->listed_bytes;

	for (uint32_t i = 0; i < args->handles.count; i++)
		bytes += mock->listed[handles[i]] ? 0 : mock->sizes[handles[i]];
	if (bytes > mock->space) {
		args->bytes_to_trim = bytes - mock->space;
		args->trim_segments = 6;
		return ENOMEM;
	}
	for (uint32_t i = 0; i < args->handles.count; i++)
		mock->listed[handles[i]]++;
	mock->listed_bytes = bytes;
	return 0;
}

static int mock_unlist(struct mock *mock, const struct drm_tessera_evict *args)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)args->handles.array;

	for (uint32_t i = 0; i < args->handles.count; i++) {
		if (!mock->listed[handles[i]])
			return EINVAL;
		if (!--mock->listed[handles[i]])
			mock->listed_bytes -= mock->sizes[handles[i]];
	}
	return 0;
}

static int mock_bind(struct mock *mock, const struct drm_tessera_vm_bind *args)
{
	assert_int_equal(args->ops.count, 1);
	assert_int_equal(args->syncs.count, 0);
	mock->last_bind = *(const struct drm_tessera_vm_bind_op *)(uintptr_t)args->ops.array;
	if (mock->last_bind.op == DRM_TESSERA_VM_BIND_MAP ||
	    mock->last_bind.op == DRM_TESSERA_VM_BIND_MAP_FENCE)
		mock->mapped_bytes += mock->last_bind.range;
	else
		mock->mapped_bytes -= mock->last_bind.range;
	return 0;
}

static int mock_submit_vm(struct mock *mock, const struct drm_tessera_submit_vm *args)
{
	if (mock->vm_out_of_memory) {
		mock->vm_out_of_memory--;
		return ENOMEM;
	}
	mock->last_submit_vm = *args;
	assert_true(args->syncs.count <= ARRAY_SIZE(mock->last_syncs));
	if (args->syncs.count)
		memcpy(mock->last_syncs, (void *)(uintptr_t)args->syncs.array,
		       args->syncs.count * sizeof(mock->last_syncs[0]));
	return 0;
}

/* ioctls for virtual addresses. */
static int mock_vm(struct mock *mock, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_TESSERA_VM_CREATE:
		((struct drm_tessera_vm_create *)arg)->id = ++mock->next_handle;
		mock->open_handles++;
		return 0;
	case DRM_IOCTL_TESSERA_VM_DESTROY:
		mock->open_handles--;
		return 0;
	case DRM_IOCTL_TESSERA_VM_BIND:
		return mock_bind(mock, arg);
	case DRM_IOCTL_TESSERA_SUBMIT_VM:
		return mock_submit_vm(mock, arg);
	default:
		return ENOTTY;
	}
}

static int mock_resident(struct mock *mock, struct drm_tessera_make_resident *args)
{
	if (mock->space)
		return mock_list(mock, args);
	mock->last_resident = *args;
	mock_handles(mock, &args->handles);
	if (args->syncs.count)
		mock->last_syncs[0] =
			*(const struct drm_tessera_sync *)(uintptr_t)args->syncs.array;
	if (mock->busy) {
		args->bytes_to_trim = 8192;
		args->trim_segments = 6;
		return ENOMEM;
	}
	args->pending = 1;
	return 0;
}

static int mock_offer(struct mock *mock, unsigned long request, void *arg)
{
	const struct drm_tessera_offer *offer = arg;
	struct drm_tessera_reclaim *reclaim = arg;
	/* Both structs, and their elements, begin with the same fields. */
	uint32_t *list = (uint32_t *)(uintptr_t)offer->bos.array;

	assert_int_equal(offer->bos.stride, 8);
	assert_true(offer->bos.count <= ARRAY_SIZE(mock->last_handles));
	for (uint32_t i = 0; i < offer->bos.count; i++) {
		mock->last_handles[i] = list[2 * i];
		assert_int_equal(list[2 * i + 1], 0);
		if (request == DRM_IOCTL_TESSERA_RECLAIM)
			list[2 * i + 1] = i % 2;
	}
	if (request == DRM_IOCTL_TESSERA_OFFER) {
		mock->offered = offer->priority;
		mock->offer_flags = offer->flags;
		return 0;
	}
	mock->offered = 0;
	reclaim->pending = reclaim->syncs.count;
	if (reclaim->syncs.count)
		mock->last_syncs[0] =
			*(const struct drm_tessera_sync *)(uintptr_t)reclaim->syncs.array;
	return 0;
}

int mock_dmabuf(struct mock *mock)
{
	for (int i = 0; i < MOCK_MAX_DMABUFS; i++) {
		struct mock_dmabuf *dmabuf = &mock->dmabufs[i];

		if (dmabuf->fd >= 0)
			continue;
		dmabuf->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		dmabuf->handle = 0;
		return dmabuf->fd;
	}
	fail_msg("too many dma-bufs for the mock kernel");
	return -1;
}

static int mock_export(struct mock *mock, struct drm_prime_handle *args)
{
	mock->last_export = *args;
	args->fd = mock_dmabuf(mock);
	for (int i = 0; i < MOCK_MAX_DMABUFS; i++) {
		if (mock->dmabufs[i].fd == args->fd)
			mock->dmabufs[i].handle = args->handle;
	}
	return 0;
}

/* As in the kernel, the file has one handle for a dma-buf, which is not counted. */
static int mock_import(struct mock *mock, struct drm_prime_handle *args)
{
	for (int i = 0; i < MOCK_MAX_DMABUFS; i++) {
		struct mock_dmabuf *dmabuf = &mock->dmabufs[i];

		if (args->fd < 0 || dmabuf->fd != args->fd)
			continue;
		if (!dmabuf->handle) {
			dmabuf->handle = ++mock->next_handle;
			mock->open_handles++;
		}
		args->handle = dmabuf->handle;
		return 0;
	}
	return EBADF;
}

static int mock_resource_create(struct mock *mock, struct drm_tessera_resource_create *args)
{
	struct mock_resource *resource = &mock->resource;
	uint32_t *handles = (uint32_t *)(uintptr_t)args->handles.array;

	assert_int_equal(args->bos.stride, sizeof(resource->creates[0]));
	assert_int_equal(args->handles.stride, sizeof(*handles));
	assert_int_equal(args->handles.count, args->bos.count);
	assert_in_range(args->bos.count, 1, ARRAY_SIZE(resource->handles));
	assert_in_range(args->data_size, 0, sizeof(resource->data));
	resource->count = args->bos.count;
	resource->data_size = args->data_size;
	memcpy(resource->creates, (void *)(uintptr_t)args->bos.array,
	       resource->count * sizeof(resource->creates[0]));
	memcpy(resource->data, (void *)(uintptr_t)args->data, resource->data_size);
	for (uint32_t i = 0; i < resource->count; i++) {
		handles[i] = resource->handles[i] = ++mock->next_handle;
		mock->open_handles++;
	}
	args->fd = resource->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

/* As in the kernel, an object that the file has keeps its handle. */
static int mock_resource_open(struct mock *mock, struct drm_tessera_resource_open *args)
{
	struct mock_resource *resource = &mock->resource;
	uint32_t *handles = (uint32_t *)(uintptr_t)args->handles.array;
	bool fits =
		args->handles.count >= resource->count && args->data_size >= resource->data_size;

	if (args->fd < 0 || args->fd != resource->fd)
		return EBADF;
	args->handles.count = resource->count;
	args->data_size = resource->data_size;
	if (!handles)
		return 0;
	if (!fits)
		return ENOSPC;
	memcpy((void *)(uintptr_t)args->data, resource->data, resource->data_size);
	for (uint32_t i = 0; i < resource->count; i++) {
		if (!resource->handles[i]) {
			resource->handles[i] = ++mock->next_handle;
			mock->open_handles++;
		}
		handles[i] = resource->handles[i];
	}
	return 0;
}

static int mock_close(struct mock *mock, uint32_t handle)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(mock->resource.handles); i++) {
		if (mock->resource.handles[i] == handle)
			mock->resource.handles[i] = 0;
	}
	for (int i = 0; i < MOCK_MAX_DMABUFS; i++) {
		if (mock->dmabufs[i].handle == handle)
			mock->dmabufs[i].handle = 0;
	}
	mock->open_handles--;
	return 0;
}

/* ioctls that leave synchronisation to userspace. */
static int mock_explicit(struct mock *mock, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_TESSERA_LOCK2:
		((struct drm_tessera_lock2 *)arg)->mmap_offset = 0x100000;
		mock->locks2++;
		return 0;
	case DRM_IOCTL_TESSERA_UNLOCK2:
		if (!mock->locks2)
			return EINVAL;
		mock->locks2--;
		return 0;
	case DRM_IOCTL_TESSERA_BO_DESTROY:
		mock->last_destroy = *(struct drm_tessera_bo_destroy *)arg;
		return mock_close(mock, mock->last_destroy.handle);
	case DRM_IOCTL_TESSERA_INVALIDATE_CACHE:
		mock->last_flush = *(struct drm_tessera_invalidate_cache *)arg;
		memcpy(mock->memory_at_flush, mock->memory, sizeof(mock->memory_at_flush));
		return 0;
	case DRM_IOCTL_TESSERA_OFFER:
	case DRM_IOCTL_TESSERA_RECLAIM:
		return mock_offer(mock, request, arg);
	default:
		return mock_vm(mock, request, arg);
	}
}

static int mock_from_user(struct mock *mock, struct drm_tessera_bo_from_user *args)
{
	mock->last_from_user = *args;
	args->handle = ++mock->next_handle;
	if (mock->next_handle < MOCK_MAX_HANDLES)
		mock->sizes[mock->next_handle] = args->size;
	mock->open_handles++;
	return 0;
}

static int mock_sync_wait(struct mock *mock, struct drm_syncobj_timeline_wait *args)
{
	const uint64_t *points = (const uint64_t *)(uintptr_t)args->points;
	uint32_t count = args->count_handles < 4 ? args->count_handles : 4;

	mock->last_sync_wait = *args;
	mock->waited = points[0];
	memcpy(mock->last_points, points, count * sizeof(*points));
	memcpy(mock->last_handles, (const void *)(uintptr_t)args->handles,
	       count * sizeof(uint32_t));
	args->first_signaled = args->count_handles - 1;
	return 0;
}

static int mock_sync(struct mock *mock, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_SYNCOBJ_QUERY:
		*(uint64_t *)(uintptr_t)((struct drm_syncobj_timeline_array *)arg)->points =
			mock->reached;
		return 0;
	case DRM_IOCTL_SYNCOBJ_CREATE:
		((struct drm_syncobj_create *)arg)->handle = ++mock->next_handle;
		mock->open_handles++;
		return 0;
	case DRM_IOCTL_SYNCOBJ_DESTROY:
		mock->open_handles--;
		return 0;
	case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT:
		return mock_sync_wait(mock, arg);
	case DRM_IOCTL_SYNCOBJ_SIGNAL:
	case DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL:
		return 0;
	case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE:
		mock->last_syncobj = *(struct drm_syncobj_handle *)arg;
		if (mock->last_syncobj.flags)
			return 0;
		((struct drm_syncobj_handle *)arg)->handle = ++mock->next_handle;
		mock->open_handles++;
		return 0;
	case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
		mock->last_syncobj = *(struct drm_syncobj_handle *)arg;
		((struct drm_syncobj_handle *)arg)->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return 0;
	case SYNC_IOC_FILE_INFO:
		((struct sync_file_info *)arg)->status = mock->fence_status;
		return 0;
	default:
		return mock_explicit(mock, request, arg);
	}
}

static int mock_request(struct mock *mock, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_VERSION: {
		struct drm_version *version = arg;

		strncpy(version->name, "tessera", version->name_len);
		return 0;
	}
	case DRM_IOCTL_TESSERA_QUERY:
		return mock_query(mock, arg);
	case DRM_IOCTL_TESSERA_BO_CREATE:
		mock->last_create = *(struct drm_tessera_bo_create *)arg;
		((struct drm_tessera_bo_create *)arg)->handle = ++mock->next_handle;
		if (mock->next_handle < MOCK_MAX_HANDLES)
			mock->sizes[mock->next_handle] = mock->last_create.size;
		mock->open_handles++;
		return 0;
	case DRM_IOCTL_TESSERA_BO_FROM_USER:
		return mock_from_user(mock, arg);
	case DRM_IOCTL_TESSERA_BO_CREATE_TWINS:
		return mock_surface_pair(mock, arg);
	case DRM_IOCTL_TESSERA_BO_INFO:
		((struct drm_tessera_bo_info *)arg)->mmap_offset = 0x100000;
		((struct drm_tessera_bo_info *)arg)->size = 8192;
		return 0;
	case DRM_IOCTL_TESSERA_BO_WAIT:
		mock->last_wait = *(struct drm_tessera_bo_wait *)arg;
		memcpy(mock->memory_at_wait, mock->memory, sizeof(mock->memory_at_wait));
		return 0;
	case DRM_IOCTL_TESSERA_LOCK:
		return mock_lock(mock, arg);
	case DRM_IOCTL_TESSERA_UNLOCK:
		if (!mock->locks)
			return EINVAL;
		mock->locks--;
		return 0;
	case DRM_IOCTL_TESSERA_MAKE_RESIDENT:
		return mock_resident(mock, arg);
	case DRM_IOCTL_TESSERA_EVICT:
		mock->last_evict = *(struct drm_tessera_evict *)arg;
		mock_handles(mock, &mock->last_evict.handles);
		return mock->space ? mock_unlist(mock, arg) : 0;
	case DRM_IOCTL_TESSERA_BUDGET:
		mock->last_budget = *(struct drm_tessera_budget *)arg;
		((struct drm_tessera_budget *)arg)->budget = 4096;
		((struct drm_tessera_budget *)arg)->reservable = 1024;
		return 0;
	case DRM_IOCTL_TESSERA_CONTEXT_CREATE:
		mock->last_context = *(struct drm_tessera_context_create *)arg;
		((struct drm_tessera_context_create *)arg)->id = ++mock->next_handle;
		mock->open_handles++;
		return 0;
	case DRM_IOCTL_TESSERA_BO_LABEL:
		mock->last_label = *(struct drm_tessera_bo_label *)arg;
		return 0;
	case DRM_IOCTL_TESSERA_BO_PRIORITY:
		mock->last_priority = *(struct drm_tessera_bo_priority *)arg;
		return 0;
	case DRM_IOCTL_TESSERA_CONTEXT_STATUS:
		((struct drm_tessera_context_status *)arg)->hangs = 2;
		return 0;
	case DRM_IOCTL_TESSERA_FENCE_CREATE:
		return mock_fence(mock, arg);
	case DRM_IOCTL_TESSERA_FENCE_SIGNAL:
		memcpy(mock->memory + 16, &((struct drm_tessera_fence_signal *)arg)->value, 8);
		return 0;
	case DRM_IOCTL_TESSERA_RESOURCE_CREATE:
		return mock_resource_create(mock, arg);
	case DRM_IOCTL_TESSERA_RESOURCE_OPEN:
		return mock_resource_open(mock, arg);
	case DRM_IOCTL_PRIME_HANDLE_TO_FD:
		return mock_export(mock, arg);
	case DRM_IOCTL_PRIME_FD_TO_HANDLE:
		return mock_import(mock, arg);
	case DRM_IOCTL_GEM_CLOSE:
		return mock_close(mock, ((struct drm_gem_close *)arg)->handle);
	case DRM_IOCTL_TESSERA_FENCE_DESTROY:
	case DRM_IOCTL_TESSERA_CONTEXT_DESTROY:
		mock->open_handles--;
		return 0;
	case DRM_IOCTL_TESSERA_SUBMIT:
		return mock_submit(mock, arg);
	default:
		return mock_sync(mock, request, arg);
	}
}

static int mock_fault(struct mock *mock, unsigned long request)
{
	if (!mock->fail_errno || mock->fail_request != request)
		return 0;
	if (!mock->fail_after)
		return mock->fail_errno;
	mock->fail_after--;
	return 0;
}

static int mock_ioctl(void *cookie, int fd, unsigned long request, void *arg)
{
	struct mock *mock = cookie;
	int error;

	(void)fd;
	if (mock->calls < MOCK_MAX_CALLS)
		mock->requests[mock->calls++] = request;
	if (mock->eintr) {
		mock->eintr--;
		/* An interrupted call may have written its outputs. */
		if (request == DRM_IOCTL_TESSERA_SUBMIT)
			((struct drm_tessera_submit *)arg)->error_offset = 77;
		errno = EINTR;
		return -1;
	}
	error = mock_fault(mock, request);
	if (!error)
		error = mock_request(mock, request, arg);
	if (!error)
		return 0;
	errno = error;
	return -1;
}

static void *mock_mmap(void *cookie, size_t size, int prot, int fd, off_t offset)
{
	struct mock *mock = cookie;

	(void)fd;
	mock->last_prot = prot;
	if (mock->fail_mmap) {
		errno = mock->fail_mmap;
		return MAP_FAILED;
	}
	assert_int_equal(offset, 0x100000);
	assert_true(size <= sizeof(mock->memory));
	mock->maps++;
	return mock->memory;
}

static int mock_munmap(void *cookie, void *addr, size_t size)
{
	struct mock *mock = cookie;

	(void)size;
	assert_ptr_equal(addr, mock->memory);
	mock->unmaps++;
	return 0;
}

static void *mock_realloc(void *cookie, void *old, size_t size)
{
	struct mock *mock = cookie;
	void *p;

	if (!size) {
		free(old);
		mock->live_allocs--;
		return NULL;
	}
	if (mock->fail_alloc >= 0 &&
	    (mock->allocs == mock->fail_alloc ||
	     (mock->fail_alloc_all_after && mock->allocs > mock->fail_alloc))) {
		mock->allocs++;
		return NULL;
	}
	mock->allocs++;
	p = realloc(old, size);
	if (p && !old)
		mock->live_allocs++;
	return p;
}

static void mock_init(struct mock *mock)
{
	*mock = (struct mock){
		.os = {
			.ioctl = mock_ioctl,
			.mmap = mock_mmap,
			.munmap = mock_munmap,
			.realloc = mock_realloc,
			.cookie = mock,
		},
		.info = {
			.num_segments = ARRAY_SIZE(mock_segments),
			.num_engines = ARRAY_SIZE(mock_engines),
			.max_slots = 4096,
			.max_allocs = 65536,
			.max_patches = 1 << 20,
			.max_cmd_bytes = 4 << 20,
			.max_syncs = 16,
			.page_size = 4096,
			.caps = DRM_TESSERA_CAP_VM,
			.va_bits = 48,
		},
		.fail_alloc = -1,
		.error_offset = UINT32_MAX,
		.fence_status = 1,
	};
	for (int i = 0; i < MOCK_MAX_DMABUFS; i++)
		mock->dmabufs[i].fd = -1;
	mock->resource.fd = -1;
}

struct mock *mock_new(void)
{
	struct mock *mock = malloc(sizeof(*mock));

	assert_non_null(mock);
	mock_init(mock);
	return mock;
}

int mock_open(struct mock *mock, struct tessera_device **out)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ret = tessera_device_new_os(fd, &mock->os, out);

	close(fd);
	return ret;
}

int mock_setup(void **state)
{
	struct mock_device *md = malloc(sizeof(*md));

	if (!md)
		return -1;
	mock_init(&md->mock);
	*state = md;
	return mock_open(&md->mock, &md->dev);
}

int mock_teardown(void **state)
{
	struct mock_device *md = *state;

	tessera_device_del(md->dev);
	assert_int_equal(md->mock.live_allocs, 0);
	assert_int_equal(md->mock.open_handles, 0);
	assert_int_equal(md->mock.maps, md->mock.unmaps);
	free(md);
	return 0;
}

struct tessera_bo *mock_bo(struct tessera_device *dev, uint64_t size)
{
	struct tessera_bo *bo;

	assert_int_equal(tessera_bo_new_for(dev, TESSERA_USAGE_TEXTURE, size, NULL, &bo), 0);
	return bo;
}

unsigned int mock_count(const struct mock *mock, unsigned long request)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < mock->calls; i++)
		count += mock->requests[i] == request;
	return count;
}
