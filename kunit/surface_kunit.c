// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the private data of a surface pair (SWZ-18, SWZ-20), and proof
 * that memory management does not see it (SWZ-21).
 */
#include <kunit/test.h>

#include "pure/plan_map.h"
#include "pure/surface.h"
#include "segments/segments.h"

#define ROWS	100U
#define WIDTH	200U
#define PITCH	256U
/* The number of rows is rounded up to whole tiles. */
#define BYTES	(PITCH * 128U)

static const struct tessera_private good[] = {
	{ .version = 1, .layout = TSR_LAYOUT_TILE4K, .pitch = PITCH, .width = WIDTH, .rows = ROWS },
	{ .version = 1, .flags = TESSERA_PRIVATE_TWIN, .layout = TSR_LAYOUT_LINEAR,
	  .pitch = WIDTH, .width = WIDTH, .rows = ROWS },
};

struct private_case {
	const char *name;
	int ret;
	u64 size;
	struct tessera_private priv;
};

#define PRIVATE(version_, flags_, layout_, pitch_, width_, rows_) { \
	.version = version_, .flags = flags_, .layout = layout_, .pitch = pitch_, \
	.width = width_, .rows = rows_ }
#define TILED(pitch_, width_, rows_) PRIVATE(1, 0, TSR_LAYOUT_TILE4K, pitch_, width_, rows_)
#define TWIN(pitch_, width_, rows_) \
	PRIVATE(1, TESSERA_PRIVATE_TWIN, TSR_LAYOUT_LINEAR, pitch_, width_, rows_)

static const struct private_case private_cases[] = {
	{ "tiled", 0, BYTES, TILED(PITCH, WIDTH, ROWS) },
	{ "Morton", 0, BYTES, PRIVATE(1, 0, TSR_LAYOUT_MORTON, PITCH, WIDTH, ROWS) },
	{ "twin", 0, 5 * 4096, TWIN(WIDTH, WIDTH, ROWS) },
	{ "twin, the last row without its end", 0, 4096, TWIN(2048, 4, 2) },
	{ "twin, a row too much", -EINVAL, 4096, TWIN(2048, 2048, 3) },
	{ "version 0", -EINVAL, BYTES, PRIVATE(0, 0, TSR_LAYOUT_TILE4K, PITCH, WIDTH, ROWS) },
	{ "version 2", -EINVAL, BYTES, PRIVATE(2, 0, TSR_LAYOUT_TILE4K, PITCH, WIDTH, ROWS) },
	{ "unknown flag", -EINVAL, BYTES,
	  PRIVATE(1, BIT(1), TSR_LAYOUT_TILE4K, PITCH, WIDTH, ROWS) },
	{ "unknown layout", -EINVAL, BYTES, PRIVATE(1, 0, TSR_LAYOUT_COUNT, PITCH, WIDTH, ROWS) },
	{ "linear, not the twin", -EINVAL, BYTES,
	  PRIVATE(1, 0, TSR_LAYOUT_LINEAR, PITCH, WIDTH, ROWS) },
	{ "twin, not linear", -EINVAL, BYTES,
	  PRIVATE(1, TESSERA_PRIVATE_TWIN, TSR_LAYOUT_TILE4K, PITCH, WIDTH, ROWS) },
	{ "no width", -EINVAL, BYTES, TILED(PITCH, 0, ROWS) },
	{ "no rows", -EINVAL, BYTES, TILED(PITCH, WIDTH, 0) },
	{ "twin without rows", -EINVAL, BYTES, TWIN(WIDTH, WIDTH, 0) },
	{ "no pitch", -EINVAL, BYTES, TILED(0, 0, ROWS) },
	{ "pitch below the width", -EINVAL, BYTES, TILED(PITCH, PITCH + 1, ROWS) },
	{ "pitch as the width", 0, BYTES, TILED(PITCH, PITCH, ROWS) },
	{ "pitch of no tiles", -EINVAL, 264 * 128, TILED(264, WIDTH, ROWS) },
	{ "twin, pitch of no words", -EINVAL, BYTES, TWIN(WIDTH + 2, WIDTH, ROWS) },
	{ "pitch above the limit", -EINVAL, 4ULL << 20, TWIN(TSR_SURF_MAX_PITCH + 4, WIDTH, 1) },
	{ "pitch at the limit", 0, 4ULL << 20, TWIN(TSR_SURF_MAX_PITCH, WIDTH, 1) },
	{ "size of no tiles", -EINVAL, BYTES + 4096, TILED(PITCH, WIDTH, ROWS) },
	{ "one row too many", -EINVAL, BYTES, TILED(PITCH, WIDTH, 129) },
	{ "all rows", 0, BYTES, TILED(PITCH, WIDTH, 128) },
	{ "rows above the limit", -EINVAL, 1ULL << 30, TWIN(WIDTH, WIDTH, TSR_SURF_MAX_DIM + 1) },
	{ "rows at the limit", 0, 1ULL << 30, TWIN(WIDTH, WIDTH, TSR_SURF_MAX_DIM) },
	{ "rows that wrap", -EINVAL, BYTES, TILED(PITCH, WIDTH, U32_MAX) },
};

KUNIT_ARRAY_PARAM_DESC(private, private_cases, name);

static void test_private(struct kunit *test)
{
	const struct private_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_private_check(&c->priv, c->size), c->ret);
}

/* All reserved bits must be zero. */
static void test_reserved(struct kunit *test)
{
	struct tessera_private priv = good[0];

	KUNIT_EXPECT_EQ(test, tessera_private_check(&priv, BYTES), 0);
	priv.reserved = 1;
	KUNIT_EXPECT_EQ(test, tessera_private_check(&priv, BYTES), -EINVAL);
	priv.reserved = BIT_ULL(63);
	KUNIT_EXPECT_EQ(test, tessera_private_check(&priv, BYTES), -EINVAL);
}

/*
 * SWZ-18: a pair has one object for the GPU and one for the CPU, of the same
 * surface.
 */
static void test_twins(struct kunit *test)
{
	const u64 sizes[] = { BYTES, BYTES };
	struct tessera_private privs[2];

	memcpy(privs, good, sizeof(privs));
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), 0);
	swap(privs[0], privs[1]);
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), 0);
	privs[0] = privs[1];
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), -EINVAL);
	privs[0] = good[1];
	privs[1] = good[1];
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), -EINVAL);

	memcpy(privs, good, sizeof(privs));
	privs[1].width -= 4;
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), -EINVAL);
	memcpy(privs, good, sizeof(privs));
	privs[0].rows++;
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), -EINVAL);
	memcpy(privs, good, sizeof(privs));
	privs[1].version = 0;
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(privs, sizes), -EINVAL);
}

/* Each object of a pair is checked against its own size. */
static void test_sizes(struct kunit *test)
{
	u64 sizes[] = { BYTES, 5 * 4096 };

	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(good, sizes), 0);
	sizes[1] = 4 * 4096;
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(good, sizes), -EINVAL);
	swap(sizes[0], sizes[1]);
	KUNIT_EXPECT_EQ(test, tessera_surface_pair_check(good, sizes), -EINVAL);
}

#define FUNCTION_IS(fn, ...) static_assert(__same_type(&(fn), __VA_ARGS__))

/*
 * SWZ-21: the functions that look for free space, in the plan map and in the
 * segments, get bytes and alignment only. This does not compile if one of them
 * gets a layout argument.
 */
FUNCTION_IS(tessera_plan_map_find_hole, u64 (*)(struct tessera_plan_map *map, u32 seg, u64 size,
						u64 align, u32 *below));
FUNCTION_IS(tessera_plan_map_find_gap, u64 (*)(struct tessera_plan_map *map, u32 seg, u64 size,
					       u64 align, u32 *below));
FUNCTION_IS(tessera_manager_fits, bool (*)(struct tessera_manager *mgr, u64 bytes, u64 align,
					   u64 lo, u64 hi));
FUNCTION_IS(tessera_placement_footprint, u64 (*)(const struct tessera_segment *seg, u64 bytes));

struct plan {
	struct tessera_plan_map map;
	struct tessera_plan_map_seg seg;
	struct tessera_plan_map_node node[TESSERA_SURFACE_PAIR_NUM + 2];
};

/*
 * As the layout does not matter, the second object is placed right behind the
 * first, in either order.
 */
static void test_same_path(struct kunit *test)
{
	struct plan *plan = kunit_kzalloc(test, sizeof(*plan), GFP_KERNEL);
	u64 segment = 1 << 20;
	u32 i, prev;

	KUNIT_ASSERT_NOT_NULL(test, plan);
	plan->map.seg = &plan->seg;
	plan->map.node = plan->node;
	plan->map.n_seg = 1;
	plan->map.n_node = TESSERA_SURFACE_PAIR_NUM;
	tessera_plan_map_reset(&plan->map, &segment);
	for (i = 0; i < TESSERA_SURFACE_PAIR_NUM; i++) {
		u64 at = tessera_plan_map_find_hole(&plan->map, 0, BYTES, TSR_PAGE_SIZE, &prev);

		KUNIT_EXPECT_EQ(test, at, i * BYTES);
		tessera_plan_map_insert(&plan->map, prev, i, at, BYTES);
	}
	KUNIT_EXPECT_EQ(test, plan->seg.used, TESSERA_SURFACE_PAIR_NUM * BYTES);
}

struct geometry_case {
	const char *name;
	u32 layout;
	u32 pitch;
	u64 size;
	bool ok;
};

static const struct geometry_case geometry_cases[] = {
	{ "linear", TSR_LAYOUT_LINEAR, 0, 4096, true },
	{ "linear with a pitch", TSR_LAYOUT_LINEAR, 128, 4096, false },
	{ "tile4k smallest", TSR_LAYOUT_TILE4K, 128, 4096, true },
	{ "morton smallest", TSR_LAYOUT_MORTON, 128, 4096, true },
	{ "tile4k without a pitch", TSR_LAYOUT_TILE4K, 0, 4096, false },
	{ "pitch below a tile", TSR_LAYOUT_TILE4K, 64, 4096, false },
	{ "pitch not a multiple of a tile", TSR_LAYOUT_TILE4K, 192, 12288, false },
	{ "size below a band", TSR_LAYOUT_TILE4K, 256, 4096, false },
	{ "size of one band", TSR_LAYOUT_TILE4K, 256, 8192, true },
	{ "size of one band and a tile", TSR_LAYOUT_MORTON, 256, 12288, false },
	{ "size 0", TSR_LAYOUT_MORTON, 256, 0, false },
	{ "largest pitch", TSR_LAYOUT_MORTON, 0xffffff80, 0xffffff80ULL * 32, true },
	{ "unknown layout", TSR_LAYOUT_COUNT, 128, 4096, false },
	{ "layout out of range", U32_MAX, 128, 4096, false },
};

KUNIT_ARRAY_PARAM_DESC(geometry, geometry_cases, name);

static void test_geometry(struct kunit *test)
{
	const struct geometry_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_swizzle_geometry_ok(c->layout, c->pitch, c->size), c->ok);
}

static struct kunit_case surface_cases[] = {
	KUNIT_CASE_PARAM(test_geometry, geometry_gen_params),
	KUNIT_CASE_PARAM(test_private, private_gen_params),
	KUNIT_CASE(test_reserved),
	KUNIT_CASE(test_twins),
	KUNIT_CASE(test_sizes),
	KUNIT_CASE(test_same_path),
	{ }
};

static struct kunit_suite surface_suite = {
	.name = "tessera_surface",
	.test_cases = surface_cases,
};

kunit_test_suite(surface_suite);
