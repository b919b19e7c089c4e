// SPDX-License-Identifier: MIT
/*
 * Surface pairs on a mock kernel: the requests, their order, and the state
 * after a failure.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define READ TESSERA_MAP_READ
#define WRITE TESSERA_MAP_WRITE
/* The library sets it in every lock. It has no effect on the linear twin. */
#define RANGE DRM_TESSERA_LOCK_ACQUIRE_RANGE

enum {
	GPU,
	TWIN
};

struct stage {
	struct mock *mock;
	struct tessera_device *dev;
	struct tessera_context *ctx;
	struct tessera_surface *surface;
};

static struct stage stage_open(void **state)
{
	struct mock_device *md = *state;
	struct stage s = { .mock = &md->mock, .dev = md->dev };
	struct tessera_surface_desc desc;

	assert_int_equal(tessera_context_new_default(s.dev, &s.ctx), 0);
	assert_int_equal(tessera_surface_desc_init(s.dev, &desc, TSR_FORMAT_RGB565,
						   TSR_LAYOUT_MORTON, 90, 40),
			 0);
	assert_int_equal(tessera_surface_new(s.dev, &desc, &s.surface), 0);
	s.mock->calls = 0;
	return s;
}

static void stage_close(struct stage *s)
{
	tessera_surface_del(s->surface);
	tessera_context_del(s->ctx);
	assert_int_equal(s->mock->locks, 0);
}

/*
 * Check the requests since the last check, except those for sync objects and
 * mappings.
 */
static void expect_requests(struct stage *s, const unsigned long *requests, size_t count)
{
	size_t found = 0;

	for (unsigned int i = 0; i < s->mock->calls; i++) {
		unsigned long r = s->mock->requests[i];

		if (r != DRM_IOCTL_TESSERA_SUBMIT && r != DRM_IOCTL_TESSERA_LOCK &&
		    r != DRM_IOCTL_TESSERA_UNLOCK && r != DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT)
			continue;
		assert_true(found < count);
		assert_int_equal(r, requests[found]);
		found++;
	}
	assert_int_equal(found, count);
	s->mock->calls = 0;
}

#define EXPECT_REQUESTS(s, ...)                                                                    \
	do {                                                                                       \
		const unsigned long requests_[] = { __VA_ARGS__ };                                 \
		expect_requests(s, requests_, ARRAY_SIZE(requests_));                              \
	} while (0)

/*
 * Check that the last job copied @rect to object @to from the other one, and
 * nothing else.
 */
static void expect_copy(struct stage *s, int to, const struct tessera_rect *rect)
{
	const uint32_t *p = s->mock->last_cmds;
	const uint32_t *copy = p + 2 * TSR_BIND_SLOT_DWORDS;
	const uint32_t *unbind = copy + TSR_COPY_DWORDS;
	int first = s->mock->last_allocs[0].handle == s->mock->twin_handles[GPU] ? GPU : TWIN;
	uint32_t dst_bind = 0, src_bind = TSR_BIND_SLOT_DWORDS;

	assert_int_equal(s->mock->last_submit.context, tessera_context_id(s->ctx));
	assert_int_equal(copy[0], TSR_PKT_HEADER(TSR_OP_COPY, 0, TSR_COPY_DWORDS));
	if (p[dst_bind + 1] != copy[1]) {
		dst_bind = src_bind;
		src_bind = 0;
	}
	assert_int_equal(p[dst_bind + 1], copy[1]);
	assert_int_equal(p[src_bind + 1], copy[2]);
	assert_int_equal(copy[3], rect->x);
	assert_int_equal(copy[4], rect->y);
	assert_int_equal(copy[5], rect->x);
	assert_int_equal(copy[6], rect->y);
	assert_int_equal(copy[7], rect->width);
	assert_int_equal(copy[8], rect->height);
	/* the job leaves no slot of the context bound */
	assert_int_equal(s->mock->last_submit.cmd_size,
			 (2 * (TSR_BIND_SLOT_DWORDS + TSR_UNBIND_SLOT_DWORDS) + TSR_COPY_DWORDS) *
				 4);
	assert_int_equal(unbind[1] ^ unbind[TSR_UNBIND_SLOT_DWORDS + 1], copy[1] ^ copy[2]);
	/* 90 texels of two bytes: a pitch of 180 linear, of 256 in tiles */
	assert_int_equal(p[dst_bind + 7], to == GPU ? 256 : 180);
	assert_int_equal(p[src_bind + 7], to == GPU ? 180 : 256);
	/* the third allocation is the NULL element */
	for (int i = 0; i < 2; i++) {
		int which = i ? !first : first;
		bool write = s->mock->last_allocs[i].flags & DRM_TESSERA_ALLOC_WRITE;

		assert_int_equal(s->mock->last_allocs[i].handle, s->mock->twin_handles[which]);
		assert_int_equal(write, which == to);
	}
}

static const struct tessera_rect all = { 0, 0, 90, 40 };

/*
 * SWZ-18 SWZ-20: one request creates both objects, with private data that
 * describe their contents.
 */
static void test_create(void **state)
{
	struct stage s = stage_open(state);
	const struct drm_tessera_bo_private *private = s.mock->last_private;
	const struct drm_tessera_bo_create *create = s.mock->last_surface_pair;
	struct tessera_view view;

	assert_int_equal(tessera_bo_handle(tessera_surface_bo(s.surface)),
			 s.mock->twin_handles[GPU]);
	tessera_surface_view(s.surface, &view);
	assert_int_equal(view.layout, TSR_LAYOUT_MORTON);
	assert_int_equal(view.pitch, 256);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(private[i].version, DRM_TESSERA_PRIVATE_VERSION);
		assert_int_equal(private[i].width, 180);
		assert_int_equal(private[i].rows, 40);
		assert_int_equal(private[i].reserved, 0);
		assert_int_equal(create[i].layout, 0);
		assert_int_equal(create[i].pitch, 0);
		assert_int_equal(create[i].vm, 0);
	}
	assert_int_equal(private[GPU].flags, 0);
	assert_int_equal(private[GPU].layout, DRM_TESSERA_LAYOUT_MORTON);
	assert_int_equal(private[GPU].pitch, 256);
	assert_int_equal(private[TWIN].flags, DRM_TESSERA_PRIVATE_TWIN);
	assert_int_equal(private[TWIN].layout, DRM_TESSERA_LAYOUT_LINEAR);
	assert_int_equal(private[TWIN].pitch, 180);
	/* 64 rows in tiles; 40 linear rows */
	assert_int_equal(create[GPU].size, 16384);
	assert_int_equal(create[TWIN].size, 8192);
	/*
	 * the GPU's object: memory, then the writable aperture; the twin: only
	 * that aperture
	 */
	assert_int_equal(create[GPU].supported, 1 << 1 | 1 << 2 | 1 << 4);
	assert_int_equal(create[GPU].preferred[0], 2);
	assert_int_equal(create[TWIN].supported, 1 << 4);
	assert_int_equal(create[GPU].flags & DRM_TESSERA_BO_CPU_ACCESS, 0);
	assert_int_equal(create[TWIN].flags, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	stage_close(&s);
}

/* SWZ-22 SWZ-24: the copy is submitted first, then the lock waits for it. */
static void test_read(void **state)
{
	struct stage s = stage_open(state);
	uint32_t pitch;
	void *p;

	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, READ, &p, &pitch), 0);
	EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_SUBMIT, DRM_IOCTL_TESSERA_LOCK,
			DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT);
	expect_copy(&s, TWIN, &all);
	/* SWZ-19 SWZ-23 SWZ-25 */
	assert_int_equal(s.mock->last_lock.handle, s.mock->twin_handles[TWIN]);
	assert_int_equal(s.mock->last_lock.flags, RANGE | DRM_TESSERA_LOCK_READ_ONLY);
	assert_ptr_equal(p, s.mock->memory);
	assert_int_equal(pitch, 180);
	assert_int_equal(s.mock->locks, 1);

	assert_int_equal(tessera_surface_unlock(s.surface), 0);
	EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_UNLOCK);
	assert_int_equal(tessera_surface_unlock(s.surface), -EINVAL);
	stage_close(&s);
}

/* Written bytes are copied back, after the twin is unlocked in the kernel. */
static void test_write(void **state)
{
	const struct tessera_rect rect = { 3, 5, 87, 35 };
	struct stage s = stage_open(state);
	uint32_t pitch;
	uint8_t *p;

	for (uint32_t read = 0; read <= READ; read += READ) {
		assert_int_equal(tessera_surface_lock(s.surface, s.ctx, &rect, WRITE | read,
						      (void **)&p, &pitch),
				 0);
		promise(mock_count(s.mock, DRM_IOCTL_TESSERA_SUBMIT) == 1,
			"expected a lock for writing to fetch the bytes first, the unlock would "
			"lose those that the client does not write");
		EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_SUBMIT, DRM_IOCTL_TESSERA_LOCK,
				DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT);
		/*
		 * fetched first, so that bytes which are not written keep their
		 * values
		 */
		expect_copy(&s, TWIN, &rect);
		assert_ptr_equal(p, s.mock->memory + 5 * 180 + 3 * 2);
		assert_int_equal(s.mock->last_lock.flags,
				 RANGE | (read ? 0 : DRM_TESSERA_LOCK_WRITE_ONLY));
		assert_int_equal(tessera_surface_unlock(s.surface), 0);
		EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_UNLOCK, DRM_IOCTL_TESSERA_SUBMIT);
		expect_copy(&s, GPU, &rect);
	}
	stage_close(&s);
}

/*
 * A discard fetches nothing. A busy twin is replaced, the GPU's object never.
 */
static void test_discard(void **state)
{
	const struct tessera_rect rect = { 1, 1, 2, 2 };
	struct stage s = stage_open(state);
	uint32_t pitch, handles = s.mock->open_handles;
	struct tessera_bo *gpu = tessera_surface_bo(s.surface);
	void *p;

	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, &rect,
					      WRITE | TESSERA_MAP_DISCARD_RANGE, &p, &pitch),
			 0);
	EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_LOCK);
	assert_int_equal(s.mock->last_lock.flags, RANGE | DRM_TESSERA_LOCK_WRITE_ONLY);
	assert_int_equal(tessera_surface_unlock(s.surface), 0);
	expect_copy(&s, GPU, &rect);
	s.mock->calls = 0;

	s.mock->busy = true;
	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL,
					      WRITE | TESSERA_MAP_DISCARD_WHOLE, &p, &pitch),
			 0);
	EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_LOCK);
	assert_int_equal(s.mock->last_lock.flags,
			 RANGE | DRM_TESSERA_LOCK_WRITE_ONLY | DRM_TESSERA_LOCK_DISCARD);
	/* the jobs keep the old twin, the surface does not */
	assert_int_equal(s.mock->open_handles, handles);
	assert_int_equal(tessera_surface_unlock(s.surface), 0);
	EXPECT_REQUESTS(&s, DRM_IOCTL_TESSERA_UNLOCK, DRM_IOCTL_TESSERA_SUBMIT);
	s.mock->twin_handles[TWIN] = s.mock->next_handle;
	expect_copy(&s, GPU, &all);
	assert_ptr_equal(tessera_surface_bo(s.surface), gpu);
	stage_close(&s);
}

static const uint32_t bad_flags[] = {
	0,
	TESSERA_MAP_DISCARD_WHOLE,
	READ | TESSERA_MAP_DISCARD_RANGE,
	READ | WRITE | TESSERA_MAP_DISCARD_WHOLE,
	/* SWZ-23: no flag that would not wait for the copy */
	READ | TESSERA_MAP_DONTBLOCK,
	WRITE | TESSERA_MAP_DONTBLOCK | TESSERA_MAP_DISCARD_WHOLE,
	READ | TESSERA_MAP_UNSYNCHRONIZED,
	READ | TESSERA_MAP_PERSISTENT,
	READ | TESSERA_MAP_COHERENT,
	READ | 1u << 31,
};

static const struct tessera_rect bad_rects[] = {
	{ 0, 0, 0, 1 },	 { 0, 0, 1, 0 },  { 90, 0, 1, 1 },	   { 0, 40, 1, 1 },
	{ 1, 0, 90, 1 }, { 0, 1, 1, 40 }, { 1, 0, UINT32_MAX, 1 }, { 0, UINT32_MAX, 1, 1 },
};

static void test_bad_arguments(void **state)
{
	struct stage s = stage_open(state);
	struct tessera_surface_desc desc;
	struct tessera_surface *other;
	uint32_t pitch;
	void *p;

	for (size_t i = 0; i < ARRAY_SIZE(bad_flags); i++)
		assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, bad_flags[i], &p,
						      &pitch),
				 -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(bad_rects); i++)
		assert_int_equal(tessera_surface_lock(s.surface, s.ctx, &bad_rects[i], READ, &p,
						      &pitch),
				 -EINVAL);
	assert_int_equal(s.mock->calls, 0);
	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, READ, &p, &pitch), 0);
	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, READ, &p, &pitch), -EBUSY);
	assert_int_equal(tessera_surface_unlock(s.surface), 0);

	assert_int_equal(tessera_surface_desc_init(s.dev, &desc, 77, TSR_LAYOUT_MORTON, 1, 1),
			 -EINVAL);
	assert_int_equal(
		tessera_surface_desc_init(s.dev, &desc, TSR_FORMAT_R8, TSR_LAYOUT_MORTON, 1, 1), 0);
	desc.reserved[3] = 1;
	assert_int_equal(tessera_surface_new(s.dev, &desc, &other), -EINVAL);
	desc.reserved[3] = 0;
	desc.twin.reserved[0] = 1;
	assert_int_equal(tessera_surface_new(s.dev, &desc, &other), -EINVAL);
	stage_close(&s);
}

/*
 * After any failure nothing is locked, and nothing leaks (checked by the
 * teardown).
 */
static void test_failures(void **state)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_TESSERA_SUBMIT,	 DRM_IOCTL_TESSERA_LOCK,
		DRM_IOCTL_TESSERA_BO_INFO,	 DRM_IOCTL_SYNCOBJ_CREATE,
		DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT,
	};
	struct stage s = stage_open(state);
	struct tessera_surface_desc desc;
	struct tessera_surface *other;
	uint32_t pitch;
	void *p;

	s.mock->fail_errno = EIO;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		s.mock->fail_request = requests[i];
		assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, READ | WRITE, &p,
						      &pitch),
				 -EIO);
		assert_int_equal(s.mock->locks, 0);
		assert_int_equal(s.mock->maps, s.mock->unmaps);
	}
	s.mock->fail_errno = 0;
	/* the copy failed, so the bytes are wrong */
	s.mock->fence_status = -ECANCELED;
	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, READ, &p, &pitch),
			 -ECANCELED);
	assert_int_equal(s.mock->locks, 0);
	s.mock->fence_status = 1;

	for (long fail = 0;; fail++) {
		int ret;

		s.mock->fail_alloc = s.mock->allocs + fail;
		ret = tessera_surface_lock(s.surface, s.ctx, NULL, READ, &p, &pitch);
		if (!ret)
			break;
		assert_int_equal(ret, -ENOMEM);
		assert_int_equal(s.mock->locks, 0);
	}
	s.mock->fail_alloc = -1;
	assert_int_equal(tessera_surface_unlock(s.surface), 0);

	/* a failed unlock still unlocks */
	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, WRITE, &p, &pitch), 0);
	s.mock->fail_request = DRM_IOCTL_TESSERA_SUBMIT;
	s.mock->fail_errno = EIO;
	assert_int_equal(tessera_surface_unlock(s.surface), -EIO);
	assert_int_equal(s.mock->locks, 0);
	assert_int_equal(tessera_surface_unlock(s.surface), -EINVAL);

	s.mock->fail_request = DRM_IOCTL_TESSERA_BO_CREATE_TWINS;
	assert_int_equal(
		tessera_surface_desc_init(s.dev, &desc, TSR_FORMAT_R8, TSR_LAYOUT_TILE4K, 1, 1), 0);
	assert_int_equal(tessera_surface_new(s.dev, &desc, &other), -EIO);
	s.mock->fail_errno = 0;
	for (long fail = 0; fail < 3; fail++) {
		s.mock->fail_alloc = s.mock->allocs + fail;
		assert_int_equal(tessera_surface_new(s.dev, &desc, &other), -ENOMEM);
	}
	s.mock->fail_alloc = -1;
	stage_close(&s);
}

/*
 * Deleting a locked surface is allowed. Its reference keeps the context until
 * then.
 */
static void test_del_locked(void **state)
{
	struct stage s = stage_open(state);
	uint32_t pitch;
	void *p;

	assert_int_equal(tessera_surface_lock(s.surface, s.ctx, NULL, WRITE, &p, &pitch), 0);
	tessera_context_del(s.ctx);
	tessera_surface_del(tessera_surface_ref(s.surface));
	assert_int_equal(mock_count(s.mock, DRM_IOCTL_TESSERA_CONTEXT_DESTROY), 0);
	tessera_surface_del(s.surface);
	assert_int_equal(mock_count(s.mock, DRM_IOCTL_TESSERA_CONTEXT_DESTROY), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_read, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_write, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_discard, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_bad_arguments, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_failures, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_del_locked, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests_name("surface", tests, NULL, NULL);
}
