// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of segment descriptors, and of the segments and flags that an
 * allocation may ask for: SEG-5, SEG-6, SEG-10, SEG-11, SEG-20, SEG-23, SEG-24,
 * SEG-29, SEG-30, SWZ-17 and their rows of the requirements' table of errors.
 */
#include <kunit/test.h>

#include "pure/segment_desc.h"

#define MIB		0x100000ULL
#define MEMORY		(TSR_SEGF_CPU_VISIBLE | TSR_SEGF_SWIZZLE_RANGES)
#define HIDDEN		TSR_SEGF_HOST_APERTURE
#define AGP_RO		(TSR_SEGF_APERTURE | TSR_SEGF_GPU_READ_ONLY)
#define GART		(TSR_SEGF_APERTURE | TSR_SEGF_CACHE_COHERENT | TSR_SEGF_CPU_CACHED)
#define UMA		(TSR_SEGF_UMA | TSR_SEGF_CACHE_COHERENT)

struct flag_case {
	const char *name;
	u32 flags;
	int ret;
};

static const struct flag_case flag_cases[] = {
	{ "no flags", 0, 0 },
	{ "aperture", TSR_SEGF_APERTURE, 0 },
	{ "CPU visible memory", TSR_SEGF_CPU_VISIBLE, 0 },
	{ "CPU visible aperture means nothing", TSR_SEGF_APERTURE | TSR_SEGF_CPU_VISIBLE, 0 },
	{ "SEG-23 coherent aperture", TSR_SEGF_APERTURE | TSR_SEGF_CACHE_COHERENT, 0 },
	{ "SEG-23 coherent alone", TSR_SEGF_CACHE_COHERENT, -EINVAL },
	{ "SEG-23 coherent memory", TSR_SEGF_CPU_VISIBLE | TSR_SEGF_CACHE_COHERENT, -EINVAL },
	{ "cached aperture", TSR_SEGF_APERTURE | TSR_SEGF_CPU_CACHED, 0 },
	{ "cached memory", TSR_SEGF_CPU_CACHED, -EINVAL },
	{ "SEG-20 read-only aperture", AGP_RO, 0 },
	{ "read-only memory", TSR_SEGF_GPU_READ_ONLY, -EINVAL },
	{ "SEG-24 host aperture", TSR_SEGF_HOST_APERTURE, 0 },
	{ "SEG-24 host aperture and CPU visible", TSR_SEGF_HOST_APERTURE | TSR_SEGF_CPU_VISIBLE,
	  -EINVAL },
	{ "SEG-24 cached host aperture", TSR_SEGF_HOST_APERTURE | TSR_SEGF_HOST_APERTURE_CACHED,
	  0 },
	{ "SEG-24 cached host aperture without host aperture", TSR_SEGF_HOST_APERTURE_CACHED,
	  -EINVAL },
	{ "SEG-24 cached host aperture, CPU visible",
	  TSR_SEGF_HOST_APERTURE_CACHED | TSR_SEGF_CPU_VISIBLE, -EINVAL },
	{ "host aperture of an aperture", TSR_SEGF_HOST_APERTURE | TSR_SEGF_APERTURE, -EINVAL },
	{ "swizzling ranges", MEMORY, 0 },
	{ "swizzling ranges out of the CPU's sight", TSR_SEGF_SWIZZLE_RANGES, -EINVAL },
	{ "swizzling ranges of an aperture", MEMORY | TSR_SEGF_APERTURE, -EINVAL },
	{ "preserved over standby", TSR_SEGF_PRESERVED_STANDBY, 0 },
	{ "SEG-36 UMA", UMA, 0 },
	{ "SEG-36 UMA that is not snooped", TSR_SEGF_UMA, -EINVAL },
	{ "SEG-36 UMA aperture", UMA | TSR_SEGF_APERTURE, -EINVAL },
	{ "SEG-36 UMA and CPU visible", UMA | TSR_SEGF_CPU_VISIBLE, -EINVAL },
	{ "SEG-36 UMA behind a host aperture", UMA | TSR_SEGF_HOST_APERTURE, -EINVAL },
	{ "SEG-36 UMA preserved over standby", UMA | TSR_SEGF_PRESERVED_STANDBY, -EINVAL },
	{ "unknown flag", TSR_SEGF_ALL + 1, -EINVAL },
	{ "highest bit", BIT(31), -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(flag, flag_cases, name);

static void test_flags(struct kunit *test)
{
	const struct flag_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check_flags(c->flags), c->ret);
}

#define SEG(i, f, b, s, n) \
	{ .id = (i), .flags = (f), .base = (b), .size = (s), .commit_limit = (s), \
	  .page_size = 4096, .name = n }

/* The four default segments. */
#define VRAM		SEG(1, MEMORY, 0x80000000, 64 * MIB, "vram")
#define VRAM_HIDDEN	SEG(2, HIDDEN, 0x90000000, 192 * MIB, "vram-hidden-from-cpu")
#define SEG_AGP		SEG(3, AGP_RO, 0xa0000000, 64 * MIB, "agp-ro")
#define SEG_GART	SEG(4, GART, 0xb0000000, 256 * MIB, "gart")

static const struct tessera_segment_desc default_descs[] = {
	VRAM, VRAM_HIDDEN, SEG_AGP, SEG_GART,
};

static const struct tessera_segment_limits default_limits = {
	.hidden_base = 0x100000000ULL,
	.hidden_size = MIB,
	.cpu_window_bytes = 64 * MIB,
};

struct desc_case {
	const char *name;
	int ret;
	/* Index of the invalid descriptor. */
	unsigned int bad;
	unsigned int count;
	struct tessera_segment_desc descs[4];
};

static const struct desc_case desc_cases[] = {
	{ "the default segments", 0, 0, 4, { VRAM, VRAM_HIDDEN, SEG_AGP, SEG_GART } },
	{ "none", -EINVAL, 0, 0, { } },
	{ "SEG-5 id 0", -EINVAL, 1, 2, { VRAM, SEG(0, GART, 0xb0000000, MIB, "x") } },
	{ "SEG-5 id 31", 0, 0, 2, { VRAM, SEG(31, GART, 0xb0000000, MIB, "x") } },
	{ "SEG-5 id 32", -EINVAL, 1, 2, { VRAM, SEG(32, GART, 0xb0000000, MIB, "x") } },
	{ "SEG-5 duplicate id", -EINVAL, 1, 2, { VRAM, SEG(1, GART, 0xb0000000, MIB, "x") } },
	{ "ids in any order", 0, 0, 2, { SEG_GART, VRAM } },
	{ "SEG-6 neighbours", 0, 0, 2, { VRAM, SEG(2, GART, 0x80000000 + 64 * MIB, MIB, "x") } },
	{ "SEG-6 overlap by a page", -EINVAL, 1, 2,
	  { VRAM, SEG(2, GART, 0x80000000 + 64 * MIB - 4096, MIB, "x") } },
	{ "SEG-6 same range", -EINVAL, 1, 2, { VRAM, SEG(2, GART, 0x80000000, 64 * MIB, "x") } },
	{ "SEG-6 one inside the other", -EINVAL, 1, 2,
	  { VRAM, SEG(2, GART, 0x80000000 + MIB, MIB, "x") } },
	{ "SEG-6 one around the other", -EINVAL, 1, 2,
	  { SEG(2, GART, 0x80000000 + MIB, MIB, "x"), VRAM } },
	{ "overlap with hidden memory", -EINVAL, 0, 1,
	  { SEG(1, GART, 0x100000000ULL, MIB, "x") } },
	{ "next to hidden memory", 0, 0, 1, { SEG(1, GART, 0x100000000ULL + MIB, MIB, "x") } },
	{ "bad flags", -EINVAL, 0, 1, { SEG(1, TSR_SEGF_CACHE_COHERENT, 0, MIB, "x") } },
	{ "size 0", -EINVAL, 0, 1, { SEG(1, GART, 0, 0, "x") } },
	{ "size not of pages", -EINVAL, 0, 1, { SEG(1, GART, 0, MIB + 512, "x") } },
	{ "base not of pages", -EINVAL, 0, 1, { SEG(1, GART, 512, MIB, "x") } },
	{ "up to the end of the address space", 0, 0, 1,
	  { SEG(1, GART, BIT_ULL(48) - MIB, MIB, "x") } },
	{ "beyond the end of the address space", -EINVAL, 0, 1,
	  { SEG(1, GART, BIT_ULL(48) - MIB, MIB + 4096, "x") } },
	{ "range wraps", -EINVAL, 0, 1, { SEG(1, GART, 0xfffffffffffff000ULL, 2 * 4096, "x") } },
	{ "no name", -EINVAL, 0, 1, { SEG(1, GART, 0, MIB, "") } },
	{ "name with a blank", -EINVAL, 0, 1, { SEG(1, GART, 0, MIB, "a b") } },
	{ "name with a colon", -EINVAL, 0, 1, { SEG(1, GART, 0, MIB, "a:b") } },
	{ "name with a control character", -EINVAL, 0, 1, { SEG(1, GART, 0, MIB, "a\n") } },
	{ "duplicate name", -EINVAL, 1, 2, { VRAM, SEG(2, GART, 0xb0000000, MIB, "vram") } },
	{ "window too small for a CPU visible segment", -EINVAL, 0, 1,
	  { SEG(1, MEMORY, 0, 65 * MIB, "x") } },
};

KUNIT_ARRAY_PARAM_DESC(desc, desc_cases, name);

static void test_table(struct kunit *test)
{
	const struct desc_case *c = test->param_value;
	unsigned int bad = 77;

	KUNIT_ASSERT_EQ(test, c->ret,
			tessera_segment_desc_check(c->descs, c->count, &default_limits, &bad));
	if (c->ret)
		KUNIT_EXPECT_EQ(test, bad, c->bad);
}

struct field_case {
	const char *name;
	int ret;
	unsigned int which;
	u64 commit_limit;
	u64 cpu_offset;
	u32 page_size;
};

/* One of the default segments with other values in these fields. */
static const struct field_case field_cases[] = {
	{ "SEG-30 memory commit limit below its size", -EINVAL, 0, 64 * MIB - 4096, 0, 4096 },
	{ "SEG-30 memory commit limit above its size", -EINVAL, 0, 64 * MIB + 4096, 0, 4096 },
	{ "SEG-30 aperture commit limit below its size", 0, 3, MIB, 0, 4096 },
	{ "SEG-30 aperture commit limit of a page", 0, 3, 4096, 0, 4096 },
	{ "SEG-30 aperture commit limit 0", -EINVAL, 3, 0, 0, 4096 },
	{ "SEG-30 aperture commit limit not of pages", -EINVAL, 3, 4097, 0, 4096 },
	{ "SEG-30 aperture commit limit above its size", -EINVAL, 3, 256 * MIB + 4096, 0, 4096 },
	{ "pages of 64 KiB", 0, 0, 64 * MIB, 0, 65536 },
	{ "pages of 8 KiB", -EINVAL, 0, 64 * MIB, 0, 8192 },
	{ "pages of 0", -EINVAL, 0, 64 * MIB, 0, 0 },
	{ "CPU window offset beyond BAR 2", -EINVAL, 0, 64 * MIB, 4096, 4096 },
	{ "CPU window offset not of pages", -EINVAL, 0, 64 * MIB, 1, 4096 },
	{ "CPU window offset wraps", -EINVAL, 0, 64 * MIB, 0xfffffffffffff000ULL, 4096 },
	{ "CPU window offset of an aperture means nothing", 0, 3, 256 * MIB, MIB, 4096 },
};

KUNIT_ARRAY_PARAM_DESC(field, field_cases, name);

static void test_fields(struct kunit *test)
{
	const struct field_case *c = test->param_value;
	struct tessera_segment_desc *descs;
	unsigned int bad = 77;

	descs = kunit_kmalloc(test, sizeof(default_descs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, descs);
	memcpy(descs, default_descs, sizeof(default_descs));
	descs[c->which].commit_limit = c->commit_limit;
	descs[c->which].cpu_offset = c->cpu_offset;
	descs[c->which].page_size = c->page_size;
	KUNIT_ASSERT_EQ(test, tessera_segment_desc_check(descs, 4, &default_limits, &bad), c->ret);
	if (c->ret)
		KUNIT_EXPECT_EQ(test, bad, c->which);
}

static void test_name_not_terminated(struct kunit *test)
{
	struct tessera_segment_desc desc = VRAM;
	unsigned int bad;

	memset(desc.name, 'x', sizeof(desc.name));
	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check(&desc, 1, &default_limits, &bad),
			-EINVAL);
	desc.name[sizeof(desc.name) - 1] = '\0';
	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check(&desc, 1, &default_limits, &bad), 0);
}

static void test_count(struct kunit *test)
{
	struct tessera_segment_desc *descs;
	unsigned int bad, i;

	descs = kunit_kcalloc(test, 32, sizeof(*descs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, descs);
	for (i = 0; i < 32; i++) {
		descs[i] = (struct tessera_segment_desc)SEG(i + 1, GART, i * MIB, MIB, "");
		snprintf(descs[i].name, sizeof(descs[i].name), "s%u", i);
	}
	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check(descs, 31, &default_limits, &bad), 0);
	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check(descs, 32, &default_limits, &bad),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, bad, 32);
}

static void test_windows_overlap(struct kunit *test)
{
	struct tessera_segment_limits limits = { .cpu_window_bytes = 128 * MIB };
	struct tessera_segment_desc descs[] = {
		SEG(1, MEMORY, 0x80000000, 64 * MIB, "a"),
		SEG(2, MEMORY, 0x90000000, 64 * MIB, "b"),
	};
	unsigned int bad;

	descs[1].cpu_offset = 64 * MIB;
	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check(descs, 2, &limits, &bad), 0);
	descs[1].cpu_offset -= 4096;
	KUNIT_EXPECT_EQ(test, tessera_segment_desc_check(descs, 2, &limits, &bad), -EINVAL);
}

#define CPU		.cpu_access = true

struct alloc_case {
	const char *name;
	int ret;
	struct tessera_segment_alloc alloc;
};

static const struct alloc_case alloc_cases[] = {
	{ "memory", 0, { .size = 4096, .supported = BIT(1) } },
	{ "anywhere", 0, { .size = 4096, .supported = 0x1e, .evict_to = BIT(4) } },
	{ "size 0", -EINVAL, { .size = 0, .supported = BIT(1) } },
	{ "size not of pages", -EINVAL, { .size = 4097, .supported = BIT(1) } },
	{ "SEG-10 empty set", -EINVAL, { .size = 4096, .supported = 0 } },
	{ "SEG-10 empty set, read only", -EINVAL,
	  { .size = 4096, .supported = 0, .gpu_read_only = true } },
	{ "SEG-10 segment 0", -EINVAL, { .size = 4096, .supported = BIT(0) | BIT(1) } },
	{ "SEG-10 unknown segment", -EINVAL, { .size = 4096, .supported = BIT(1) | BIT(5) } },
	{ "SEG-10 segment 31", -EINVAL, { .size = 4096, .supported = BIT(31) } },
	{ "as large as the segment", 0, { .size = 64 * MIB, .supported = BIT(1) } },
	{ "larger than the segment", -E2BIG, { .size = 64 * MIB + 4096, .supported = BIT(1) } },
	{ "larger than one supported segment", 0,
	  { .size = 64 * MIB + 4096, .supported = BIT(1) | BIT(2) } },
	{ "larger than each", -E2BIG, { .size = 257 * MIB, .supported = 0x1e } },
	{ "huge", -E2BIG, { .size = 0xfffffffffffff000ULL, .supported = 0x1e } },

	{ "SEG-11 all preferred", 0,
	  { .size = 4096, .supported = 0x1e, .num_preferred = 4, .preferred = { 4, 1, 3, 2 } } },
	{ "SEG-11 preference outside the set", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .num_preferred = 1, .preferred = { 2 } } },
	{ "SEG-11 preference for segment 0", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .num_preferred = 1, .preferred = { 0 } } },
	{ "SEG-11 preference out of range", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .num_preferred = 1, .preferred = { 32 } } },
	{ "SEG-11 preference far out of range", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .num_preferred = 1, .preferred = { 255 } } },
	{ "SEG-11 preference twice", -EINVAL,
	  { .size = 4096, .supported = 0x1e, .num_preferred = 2, .preferred = { 1, 1 } } },
	{ "SEG-11 more than five", -EINVAL,
	  { .size = 4096, .supported = 0x1e, .num_preferred = 6, .preferred = { 1, 2, 3, 4 } } },
	{ "preference behind the count", -EINVAL,
	  { .size = 4096, .supported = 0x1e, .num_preferred = 1, .preferred = { 1, 2 } } },
	{ "padding of the preferences", -EINVAL,
	  { .size = 4096, .supported = 0x1e, .preferred = { [7] = 1 } } },

	{ "SEG-29 evict to an aperture", 0,
	  { .size = 4096, .supported = BIT(1), .evict_to = BIT(4) } },
	{ "SEG-29 evict to memory", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .evict_to = BIT(2) } },
	{ "SEG-29 evict to memory and an aperture", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .evict_to = BIT(2) | BIT(4) } },
	{ "SEG-29 evict to an unknown segment", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .evict_to = BIT(9) } },

	{ "cached and accessible", 0,
	  { .size = 4096, .supported = BIT(4), CPU, .cpu_cached = true } },
	{ "cached without access", -EINVAL,
	  { .size = 4096, .supported = BIT(4), .cpu_cached = true } },
	{ "accessible in visible memory", 0, { .size = 4096, .supported = BIT(1), CPU } },
	{ "accessible in hidden memory only", -EINVAL,
	  { .size = 4096, .supported = BIT(2), CPU } },
	{ "accessible in hidden and visible memory", -EINVAL,
	  { .size = 4096, .supported = BIT(1) | BIT(2), CPU } },
	{ "accessible in hidden memory and an aperture", 0,
	  { .size = 4096, .supported = BIT(2) | BIT(4), CPU } },
	{ "SEG-20 only a read-only aperture, written", -EINVAL,
	  { .size = 4096, .supported = BIT(3) } },
	{ "SEG-20 only a read-only aperture, read", 0,
	  { .size = 4096, .supported = BIT(3), .gpu_read_only = true } },
	{ "SEG-20 read-only aperture and another", 0,
	  { .size = 4096, .supported = BIT(3) | BIT(4) } },

	{ "swizzled", 0,
	  { .size = 4096, .supported = BIT(1), .layout = TSR_LAYOUT_TILE4K, .pitch = 128 } },
	{ "swizzled, bad pitch", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .layout = TSR_LAYOUT_TILE4K, .pitch = 100 } },
	{ "swizzled, bad size", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .layout = TSR_LAYOUT_MORTON, .pitch = 256 } },
	{ "unknown layout", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .layout = 3, .pitch = 128 } },
	{ "linear with a pitch", -EINVAL, { .size = 4096, .supported = BIT(1), .pitch = 128 } },
	{ "SWZ-17 swizzled and accessible in an aperture", -EINVAL,
	  { .size = 4096, .supported = BIT(1) | BIT(4), .layout = TSR_LAYOUT_TILE4K, .pitch = 128,
	    CPU } },
	{ "SWZ-17 swizzled and accessible in memory", 0,
	  { .size = 4096, .supported = BIT(1), .layout = TSR_LAYOUT_TILE4K, .pitch = 128, CPU } },
	{ "SWZ-17 swizzled in an aperture, not accessible", 0,
	  { .size = 4096, .supported = BIT(4), .layout = TSR_LAYOUT_MORTON, .pitch = 128 } },

	{ "SEG-35 aligned", 0, { .size = 4096, .supported = BIT(1), .alignment = MIB } },
	{ "SEG-35 aligned below a page", 0, { .size = 4096, .supported = BIT(1), .alignment = 1 } },
	{ "SEG-35 no power of two", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .alignment = 3 * MIB } },
	{ "SEG-35 as large as the segment", 0,
	  { .size = 4096, .supported = BIT(1), .alignment = 64 * MIB } },
	{ "SEG-35 larger than the segment", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .alignment = 128 * MIB } },
	{ "SEG-35 as large as the largest segment", 0,
	  { .size = 4096, .supported = BIT(1) | BIT(4), .alignment = 128 * MIB } },
	{ "SEG-35 larger than all addresses", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .alignment = BIT_ULL(63) } },

	{ "SEG-38 written in a part of the set", 0,
	  { .size = 4096, .supported = BIT(1) | BIT(3) | BIT(4), .write_set = BIT(1) } },
	{ "SEG-38 written outside of the set", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .write_set = BIT(1) | BIT(4) } },
	{ "SEG-38 written in a segment that does not exist", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .write_set = BIT(9) } },
	{ "SEG-38 written in a read-only aperture", -EINVAL,
	  { .size = 4096, .supported = BIT(1) | BIT(3), .write_set = BIT(3) } },
	{ "SEG-38 written although read only", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .write_set = BIT(1), .gpu_read_only = true } },
	{ "SEG-38 too large for the segments it is written in", -E2BIG,
	  { .size = 65 * MIB, .supported = BIT(1) | BIT(4), .write_set = BIT(1) } },
	{ "SEG-38 too large for another segment", 0,
	  { .size = 65 * MIB, .supported = BIT(1) | BIT(4), .write_set = BIT(4) } },
};

KUNIT_ARRAY_PARAM_DESC(alloc, alloc_cases, name);

static void test_alloc(struct kunit *test)
{
	const struct alloc_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_segment_alloc_check(default_descs, 4, &c->alloc), c->ret);
}

static const struct alloc_case uma_cases[] = {
	{ "SEG-36 in UMA memory", 0, { .size = 4096, .supported = BIT(5) } },
	{ "SEG-36 accessible in UMA memory", 0, { .size = 4096, .supported = BIT(5), CPU } },
	{ "SEG-36 accessible in UMA and hidden memory", 0,
	  { .size = 4096, .supported = BIT(2) | BIT(5), CPU } },
	{ "SEG-36 swizzled and accessible in UMA memory", -EINVAL,
	  { .size = 4096, .supported = BIT(1) | BIT(5), .layout = TSR_LAYOUT_TILE4K, .pitch = 128,
	    CPU } },
	{ "SEG-36 swizzled in UMA memory, not accessible", 0,
	  { .size = 4096, .supported = BIT(5), .layout = TSR_LAYOUT_MORTON, .pitch = 128 } },
	{ "SEG-36 SEG-29 evict to UMA memory", -EINVAL,
	  { .size = 4096, .supported = BIT(1), .evict_to = BIT(5) } },
};

KUNIT_ARRAY_PARAM_DESC(uma, uma_cases, name);

static void test_alloc_uma(struct kunit *test)
{
	static const struct tessera_segment_desc descs[] = {
		VRAM, VRAM_HIDDEN, SEG_AGP, SEG_GART,
		SEG(5, UMA, 0xc0000000, 64 * MIB, "uma"),
	};
	const struct alloc_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, tessera_segment_alloc_check(descs, ARRAY_SIZE(descs), &c->alloc),
			c->ret);
}

/*
 * SEG-30: an allocation above the commit limit is refused, even if the segment
 * is large enough.
 */
static void test_alloc_commit(struct kunit *test)
{
	struct tessera_segment_desc desc = SEG_GART;
	struct tessera_segment_alloc alloc = { .size = MIB, .supported = BIT(desc.id) };

	desc.commit_limit = MIB;
	KUNIT_EXPECT_EQ(test, tessera_segment_alloc_check(&desc, 1, &alloc), 0);
	alloc.size += TSR_PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, tessera_segment_alloc_check(&desc, 1, &alloc), -E2BIG);
}

/* SEG-36: a UMA segment is no larger than a quarter of the machine's memory. */
static void test_limit(struct kunit *test)
{
	struct tessera_segment_desc uma = SEG(5, UMA, 0xc0000000, 64 * MIB, "uma");
	struct tessera_segment_desc vram = VRAM, gart = SEG_GART;

	tessera_segment_desc_limit(&uma, 256 * MIB);
	KUNIT_EXPECT_EQ(test, uma.commit_limit, 64 * MIB);
	tessera_segment_desc_limit(&uma, 63 * MIB + 4097);
	KUNIT_EXPECT_EQ(test, uma.commit_limit, 63 * MIB / 4);
	KUNIT_EXPECT_EQ(test, uma.size, 64 * MIB);
	tessera_segment_desc_limit(&vram, MIB);
	KUNIT_EXPECT_EQ(test, vram.commit_limit, vram.size);
	tessera_segment_desc_limit(&gart, MIB);
	KUNIT_EXPECT_EQ(test, gart.commit_limit, gart.size);
}

/* SEG-11: six valid preferences are refused because of their number. */
static void test_six_preferred(struct kunit *test)
{
	struct tessera_segment_alloc alloc = {
		.size = 4096, .supported = 0x7e, .num_preferred = 5, .preferred = { 6, 5, 4, 3, 2 },
	};
	struct tessera_segment_desc descs[6];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(descs); i++) {
		descs[i] = default_descs[0];
		descs[i].id = i + 1;
	}
	KUNIT_EXPECT_EQ(test, tessera_segment_alloc_check(descs, 6, &alloc), 0);
	alloc.preferred[alloc.num_preferred++] = 1;
	KUNIT_EXPECT_EQ(test, tessera_segment_alloc_check(descs, 6, &alloc), -EINVAL);
}

static void test_set(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tessera_segment_set(default_descs, 4, 0, 0), 0x1e);
	KUNIT_EXPECT_EQ(test, tessera_segment_set(default_descs, 4, TSR_SEGF_APERTURE,
						  TSR_SEGF_APERTURE), BIT(3) | BIT(4));
	KUNIT_EXPECT_EQ(test, tessera_segment_set(default_descs, 4, TSR_SEGF_APERTURE, 0),
			BIT(1) | BIT(2));
}

static struct kunit_case segment_desc_cases[] = {
	KUNIT_CASE_PARAM(test_flags, flag_gen_params),
	KUNIT_CASE_PARAM(test_table, desc_gen_params),
	KUNIT_CASE_PARAM(test_fields, field_gen_params),
	KUNIT_CASE(test_name_not_terminated),
	KUNIT_CASE(test_count),
	KUNIT_CASE(test_windows_overlap),
	KUNIT_CASE_PARAM(test_alloc, alloc_gen_params),
	KUNIT_CASE_PARAM(test_alloc_uma, uma_gen_params),
	KUNIT_CASE(test_alloc_commit),
	KUNIT_CASE(test_limit),
	KUNIT_CASE(test_six_preferred),
	KUNIT_CASE(test_set),
	{ }
};

static struct kunit_suite segment_desc_suite = {
	.name = "tessera_segment_desc",
	.test_cases = segment_desc_cases,
};

kunit_test_suite(segment_desc_suite);
