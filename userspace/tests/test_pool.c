// SPDX-License-Identifier: MIT
/* Pools of small buffers, on a mock kernel whose timelines the test moves. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define OBJECT 65536

static struct tessera_device *dev_of(void **state)
{
	return ((struct mock_device *)*state)->dev;
}

static struct mock *mock_of(void **state)
{
	return &((struct mock_device *)*state)->mock;
}

static struct tessera_bo_desc desc_of(void **state)
{
	struct tessera_bo_desc desc;

	assert_int_equal(
		tessera_bo_desc_init(dev_of(state), &desc, TESSERA_USAGE_VERTEX, OBJECT, NULL), 0);
	return desc;
}

static struct tessera_pool *new_pool(void **state)
{
	struct tessera_bo_desc desc = desc_of(state);
	struct tessera_pool *pool;

	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 256, OBJECT / 2, &pool), 0);
	return pool;
}

static struct tessera_piece *take(struct tessera_pool *pool, uint64_t size)
{
	struct tessera_piece *piece;

	assert_int_equal(tessera_pool_take(pool, size, &piece), 0);
	assert_true(tessera_piece_size(piece) >= size);
	assert_int_equal(tessera_piece_offset(piece) % tessera_piece_size(piece), 0);
	assert_true(tessera_piece_offset(piece) + tessera_piece_size(piece) <= OBJECT);
	return piece;
}

static bool overlap(const struct tessera_piece *a, const struct tessera_piece *b)
{
	return tessera_piece_bo(a) == tessera_piece_bo(b) &&
	       tessera_piece_offset(a) < tessera_piece_offset(b) + tessera_piece_size(b) &&
	       tessera_piece_offset(b) < tessera_piece_offset(a) + tessera_piece_size(a);
}

/* Each size has its objects, and no two pieces overlap. */
static void test_sizes(void **state)
{
	static const struct {
		uint64_t size, piece;
	} sizes[] = { { 1, 256 },     { 256, 256 },    { 257, 512 },	 { 4096, 4096 },
		      { 4097, 8192 }, { 5000, 8192 },  { 16385, 32768 }, { 32768, 32768 },
		      { 300, 512 },   { 30000, 32768 } };
	struct tessera_piece *pieces[ARRAY_SIZE(sizes)];
	struct tessera_pool *pool = new_pool(state);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		pieces[i] = take(pool, sizes[i].size);
		assert_int_equal(tessera_piece_size(pieces[i]), sizes[i].piece);
		for (size_t j = 0; j < i; j++)
			promise(!overlap(pieces[i], pieces[j]), "pieces %zu and %zu overlap", i, j);
	}
	/* Sizes of 256, 512, 4096 and 8192 bytes, and two objects of 32768 bytes. */
	assert_int_equal(mock_count(mock_of(state), DRM_IOCTL_TESSERA_BO_CREATE), 6);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		tessera_pool_give(pool, pieces[i], NULL, 0);
	tessera_pool_give(pool, NULL, NULL, 0);
	tessera_pool_del(pool);
}

/*
 * A piece comes back when its timeline has reached its point, and not before.
 * The timeline is not asked while the size has a free piece.
 */
static void test_deferred(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_pool *pool = new_pool(state);
	struct tessera_piece *a = take(pool, OBJECT / 2), *b = take(pool, OBJECT / 2), *c;
	struct tessera_bo *bo = tessera_piece_bo(a);
	struct tessera_syncobj *timeline;

	assert_int_equal(tessera_syncobj_new(dev_of(state), 0, &timeline), 0);
	assert_ptr_equal(tessera_piece_bo(b), bo);
	tessera_pool_give(pool, a, timeline, 1);
	tessera_pool_give(pool, b, timeline, 2);
	c = take(pool, OBJECT / 2);
	promise(tessera_piece_bo(c) != bo, "a piece was taken that a job uses");
	assert_int_equal(mock_count(mock, DRM_IOCTL_SYNCOBJ_QUERY), 1);
	tessera_pool_give(pool, c, NULL, 0);
	promise(take(pool, OBJECT / 2) != NULL && mock_count(mock, DRM_IOCTL_SYNCOBJ_QUERY) == 1,
		"the timeline was asked although a piece was free");
	c = take(pool, OBJECT / 2);
	mock->reached = 1;
	promise(take(pool, OBJECT / 2) == a, "expected the piece whose job is over");
	c = take(pool, OBJECT / 2);
	promise(c != b, "a piece was taken that a job uses");
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 3);
	tessera_pool_give(pool, a, timeline, 3);
	/* The pool has references to the timelines of its pieces. */
	tessera_syncobj_del(timeline);
	tessera_pool_del(pool);
}

/* An object goes when all its pieces are free, except for the last one. */
static void test_shrinks(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_pool *pool = new_pool(state);
	struct tessera_piece *pieces[6];

	for (int i = 0; i < 6; i++)
		pieces[i] = take(pool, OBJECT / 2);
	assert_int_equal(mock->open_handles, 3);
	tessera_pool_give(pool, pieces[0], NULL, 0);
	tessera_pool_give(pool, pieces[1], NULL, 0);
	promise(mock->open_handles == 3, "expected the last object with free pieces to be kept");
	tessera_pool_give(pool, pieces[2], NULL, 0);
	tessera_pool_give(pool, pieces[3], NULL, 0);
	assert_int_equal(mock->open_handles, 2);
	tessera_pool_give(pool, pieces[4], NULL, 0);
	tessera_pool_give(pool, pieces[5], NULL, 0);
	assert_int_equal(mock->open_handles, 1);
	assert_int_equal(mock->last_destroy.flags, 0);
	tessera_pool_give(pool, take(pool, OBJECT / 2), NULL, 0);
	assert_int_equal(mock_count(mock, DRM_IOCTL_TESSERA_BO_CREATE), 3);
	tessera_pool_del(pool);
}

/* Failing calls leave nothing behind, and bad sizes are refused. */
static void test_failures(void **state)
{
	struct tessera_bo_desc desc = desc_of(state);
	struct mock *mock = mock_of(state);
	struct tessera_piece *piece = NULL;
	struct tessera_pool *pool = NULL;

	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 128, 4096, &pool), -EINVAL);
	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 300, 4096, &pool), -EINVAL);
	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 256, 5000, &pool), -EINVAL);
	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 512, 256, &pool), -EINVAL);
	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 256, OBJECT, &pool), -EINVAL);
	desc.layout = TSR_LAYOUT_TILE4K;
	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 256, 4096, &pool), -EINVAL);
	mock->fail_alloc = mock->allocs;
	desc.layout = TSR_LAYOUT_LINEAR;
	assert_int_equal(tessera_pool_new(dev_of(state), &desc, 256, 4096, &pool), -ENOMEM);
	mock->fail_alloc = -1;
	pool = new_pool(state);
	assert_int_equal(tessera_pool_take(pool, 0, &piece), -EINVAL);
	assert_int_equal(tessera_pool_take(pool, OBJECT / 2 + 1, &piece), -E2BIG);
	assert_int_equal(tessera_pool_take(pool, UINT64_MAX, &piece), -E2BIG);
	/* The object, and the list of its pieces. */
	for (long fail = 0; fail < 2; fail++) {
		mock->fail_alloc = mock->allocs + fail;
		assert_int_equal(tessera_pool_take(pool, 1000, &piece), -ENOMEM);
		assert_int_equal(mock->open_handles, 0);
	}
	mock->fail_alloc = -1;
	mock->fail_request = DRM_IOCTL_TESSERA_BO_CREATE;
	mock->fail_errno = ENOSPC;
	assert_int_equal(tessera_pool_take(pool, 1000, &piece), -ENOSPC);
	assert_null(piece);
	tessera_pool_del(pool);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sizes),
		TEST(test_deferred),
		TEST(test_shrinks),
		TEST(test_failures),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
