// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of residency lists: counts of objects, and evicted objects (RES-1,
 * RES-2).
 */
#include <kunit/test.h>
#include <linux/dma-resv.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_kunit_helpers.h>

#include "base/device.h"
#include "mem/mem.h"
#include "vm/vm.h"

#define NUM_BOS 3

/* Two files that list the same objects. */
struct lists {
	struct tessera_device *tdev;
	struct drm_file *files[2];
	struct tessera_resident_set *sets[2];
	struct tessera_bo *bos[NUM_BOS];
};

static struct tessera_bo *bo_new(struct kunit *test, struct tessera_device *tdev, u32 id)
{
	struct tessera_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	bo->id = id;
	bo->tbo.base.dev = &tdev->drm;
	bo->tbo.base.resv = &bo->tbo.base._resv;
	kref_init(&bo->tbo.base.refcount);
	dma_resv_init(&bo->tbo.base._resv);
	INIT_LIST_HEAD(&bo->residency.entries);

	return bo;
}

static int lists_init(struct kunit *test)
{
	struct lists *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct device *dev = drm_kunit_helper_alloc_device(test);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	l->tdev = drm_kunit_helper_alloc_drm_device(test, dev, struct tessera_device, drm,
						    DRIVER_GEM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, l->tdev);
	for (i = 0; i < ARRAY_SIZE(l->sets); i++) {
		l->files[i] = kunit_kzalloc(test, sizeof(*l->files[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, l->files[i]);
		l->sets[i] = tessera_resident_set_create(l->tdev, l->files[i], NULL);
		KUNIT_ASSERT_NOT_NULL(test, l->sets[i]);
	}
	for (i = 0; i < NUM_BOS; i++)
		l->bos[i] = bo_new(test, l->tdev, i + 1);
	test->priv = l;

	return 0;
}

static void lists_exit(struct kunit *test)
{
	struct lists *l = test->priv;
	unsigned int i, j;

	if (!l)
		return;
	for (i = 0; i < NUM_BOS; i++) {
		for (j = 0; j < ARRAY_SIZE(l->files); j++)
			tessera_residency_entry_close(l->bos[i], l->files[j]);
		dma_resv_fini(&l->bos[i]->tbo.base._resv);
	}
	for (i = 0; i < ARRAY_SIZE(l->sets); i++)
		tessera_resident_set_put(l->sets[i]);
}

static void add(struct kunit *test, u32 set, u32 bo)
{
	struct lists *l = test->priv;

	dma_resv_lock(l->bos[bo]->tbo.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, tessera_residency_entry_add(l->sets[set], l->bos[bo]), 0);
	dma_resv_unlock(l->bos[bo]->tbo.base.resv);
}

/* True if the object is not listed any longer. */
static bool drop(struct kunit *test, u32 set, u32 bo, u64 count)
{
	struct lists *l = test->priv;
	struct tessera_residency_entry *entry;
	bool gone;

	dma_resv_lock(l->bos[bo]->tbo.base.resv, NULL);
	entry = tessera_residency_entry_find(l->sets[set], l->bos[bo]);
	KUNIT_EXPECT_NOT_NULL(test, entry);
	gone = entry && tessera_residency_entry_drop(entry, count);
	dma_resv_unlock(l->bos[bo]->tbo.base.resv);

	return gone;
}

static void move(struct kunit *test, u32 bo)
{
	struct lists *l = test->priv;

	dma_resv_lock(l->bos[bo]->tbo.base.resv, NULL);
	tessera_residency_entry_moves(l->bos[bo]);
	dma_resv_unlock(l->bos[bo]->tbo.base.resv);
}

/* RES-1: MakeResident adds to the count of an object, Evict subtracts. */
static void residency_list_counts(struct kunit *test)
{
	struct lists *l = test->priv;

	add(test, 0, 0);
	add(test, 0, 0);
	add(test, 0, 0);
	KUNIT_EXPECT_EQ(test, l->bos[0]->residency.num, 3);
	KUNIT_EXPECT_FALSE(test, drop(test, 0, 0, 1));
	KUNIT_EXPECT_EQ(test, l->bos[0]->residency.num, 2);
	KUNIT_EXPECT_TRUE(test, drop(test, 0, 0, 2));
	KUNIT_EXPECT_EQ(test, l->bos[0]->residency.num, 0);
	KUNIT_EXPECT_NULL(test, tessera_residency_entry_find(l->sets[0], l->bos[0]));
	KUNIT_EXPECT_TRUE(test, list_empty(&l->bos[0]->residency.entries));
	KUNIT_EXPECT_GT(test, l->bos[0]->last_use, 0);
}

/* RES-1: each file has a count of its own. */
static void residency_list_of_each_file(struct kunit *test)
{
	struct lists *l = test->priv;

	add(test, 0, 0);
	add(test, 1, 0);
	add(test, 1, 0);
	KUNIT_EXPECT_EQ(test, l->bos[0]->residency.num, 3);
	KUNIT_EXPECT_TRUE(test, drop(test, 0, 0, 1));
	KUNIT_EXPECT_NULL(test, tessera_residency_entry_find(l->sets[0], l->bos[0]));
	KUNIT_EXPECT_EQ(test, tessera_residency_entry_find(l->sets[1], l->bos[0])->count, 2);
	/* Closing the handle removes the whole count of that file. */
	add(test, 0, 0);
	tessera_residency_entry_close(l->bos[0], l->files[1]);
	KUNIT_EXPECT_NULL(test, tessera_residency_entry_find(l->sets[1], l->bos[0]));
	KUNIT_EXPECT_EQ(test, l->bos[0]->residency.num, 1);
}

/*
 * RES-2: a moved object counts as evicted once in each list. It does not count
 * any longer when it leaves the list.
 */
static void residency_list_evicted(struct kunit *test)
{
	struct lists *l = test->priv;

	add(test, 0, 0);
	add(test, 0, 1);
	add(test, 1, 1);
	KUNIT_EXPECT_TRUE(test, tessera_resident_complete(l->sets[0]));
	move(test, 1);
	move(test, 1);
	KUNIT_EXPECT_EQ(test, l->sets[0]->num_evicted, 1);
	KUNIT_EXPECT_EQ(test, l->sets[1]->num_evicted, 1);
	move(test, 0);
	KUNIT_EXPECT_EQ(test, l->sets[0]->num_evicted, 2);
	KUNIT_EXPECT_EQ(test, l->sets[1]->num_evicted, 1);
	KUNIT_EXPECT_TRUE(test, drop(test, 0, 1, 1));
	KUNIT_EXPECT_EQ(test, l->sets[0]->num_evicted, 1);
	KUNIT_EXPECT_FALSE(test, tessera_resident_complete(l->sets[0]));
	KUNIT_EXPECT_TRUE(test, drop(test, 0, 0, 1));
	KUNIT_EXPECT_TRUE(test, tessera_resident_complete(l->sets[0]));
	KUNIT_EXPECT_FALSE(test, tessera_resident_complete(l->sets[1]));
}

/*
 * RES-2: evicted objects are returned in the order of their eviction, up to the
 * requested number.
 */
static void residency_list_comes_back(struct kunit *test)
{
	struct tessera_bo *bos[NUM_BOS];
	struct lists *l = test->priv;
	u32 i, num;

	for (i = 0; i < NUM_BOS; i++)
		add(test, 0, i);
	move(test, 2);
	move(test, 0);
	move(test, 1);
	num = tessera_residency_entry_get_evicted(l->sets[0], bos, 2);
	KUNIT_ASSERT_EQ(test, num, 2);
	KUNIT_EXPECT_PTR_EQ(test, bos[0], l->bos[2]);
	KUNIT_EXPECT_PTR_EQ(test, bos[1], l->bos[0]);
	KUNIT_EXPECT_EQ(test, kref_read(&bos[0]->tbo.base.refcount), 2);
	num = tessera_residency_entry_get_evicted(l->sets[1], bos, NUM_BOS);
	KUNIT_EXPECT_EQ(test, num, 0);
}

static struct kunit_case residency_list_tests[] = {
	KUNIT_CASE(residency_list_counts),
	KUNIT_CASE(residency_list_of_each_file),
	KUNIT_CASE(residency_list_evicted),
	KUNIT_CASE(residency_list_comes_back),
	{}
};

static struct kunit_suite residency_list_suite = {
	.name = "tessera_residency_list",
	.init = lists_init,
	.exit = lists_exit,
	.test_cases = residency_list_tests,
};

kunit_test_suite(residency_list_suite);
