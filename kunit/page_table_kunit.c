// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of page tables (RES-5): their contents are compared with a model
 * by walking them as the device does.
 */
#include <kunit/test.h>

#include "pure/page_table.h"

#define PAGE		((u64)TSR_PAGE_SIZE)
#define MIB		(1024ULL * 1024)
#define MAX_TABLES	24
#define MAPPED		(TSR_PTE_VALID | TSR_PTE_WRITE)

/* 4 MiB on either side of the end of the root's first entry. */
#define BASE		((1ULL << 39) - 4 * MIB)
#define WINDOW		2048U	/* pages */

/* A table, and its contents in simulated device memory. */
struct table {
	struct tessera_pt pt;
	u64 mem[TSR_PT_ENTRIES];
	bool alive;
};

struct fixture {
	struct kunit *test;
	struct tessera_pt_tree tree;
	struct table table[MAX_TABLES];
	u32 num_alive, writes;
	/* Number of allocations that succeed before one fails; U32_MAX: all. */
	u32 good;
	/*
	 * For each page of the tested range: the expected entry, and the leaf
	 * found last.
	 */
	u64 want[WINDOW], leaf[WINDOW];
	u32 shift[WINDOW];
	u32 seed;
};

static u32 any(struct fixture *f, u32 bound)
{
	f->seed = f->seed * 1664525 + 1013904223;

	return (f->seed >> 8) % bound;
}

static u64 table_address(u32 index)
{
	return 0x40000000 + index * PAGE;
}

static struct tessera_pt *sim_alloc(void *owner)
{
	struct fixture *f = owner;
	struct table *t;
	u32 i;

	if (!f->good)
		return NULL;
	if (f->good != U32_MAX)
		f->good--;
	for (i = 0; i < MAX_TABLES && f->table[i].alive; i++)
		;
	KUNIT_ASSERT_LT(f->test, i, MAX_TABLES);
	t = &f->table[i];
	memset(t, 0, sizeof(*t));
	t->pt.entry = table_address(i) | TSR_PTE_VALID;
	t->alive = true;
	f->num_alive++;

	return &t->pt;
}

/* Fill a released table with garbage, so that a stale pointer is found. */
static void sim_release(void *owner, struct tessera_pt *pt)
{
	struct table *t = container_of(pt, struct table, pt);
	struct fixture *f = owner;

	KUNIT_EXPECT_TRUE(f->test, t->alive);
	memset(t, 0xff, sizeof(*t));
	t->alive = false;
	f->num_alive--;
}

static void sim_changed(void *owner, struct tessera_pt *pt, u32 first, u32 count)
{
	struct table *t = container_of(pt, struct table, pt);
	struct fixture *f = owner;
	u32 i;

	KUNIT_EXPECT_TRUE(f->test, t->alive);
	KUNIT_EXPECT_GT(f->test, count, 0);
	KUNIT_ASSERT_LE(f->test, first + count, TSR_PT_ENTRIES);
	for (i = first; i < first + count; i++) {
		t->mem[i] = pt->slot[i];
		if (pt->slot[i] && !(pt->slot[i] & TSR_PTE_VALID))
			t->mem[i] = ((struct tessera_pt *)(uintptr_t)pt->slot[i])->entry;
	}
	f->writes++;
}

static const struct tessera_pt_ops sim_ops = {
	.alloc = sim_alloc,
	.release = sim_release,
	.changed = sim_changed,
};

static struct fixture *fixture(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->test = test;
	f->good = U32_MAX;
	f->seed = 1;
	tessera_pt_init(&f->tree, &sim_ops, f, sim_alloc(f));

	return f;
}

/* All entries of a group are equal, as the device may use any of them. */
static void check_group(struct fixture *f, const u64 *mem)
{
	u32 i;

	for (i = 1; i < 16; i++)
		if (mem[i] != mem[0])
			KUNIT_ASSERT_EQ(f->test, mem[i], mem[0]);
}

/* Walk the tables like the device; returns the leaf, or 0. */
static u64 walk(struct fixture *f, u64 va, u32 *shift)
{
	u64 entry = f->tree.root->entry;
	u32 level = TSR_PT_LEVELS, index;
	struct table *t;

	while (level--) {
		index = ((entry & TSR_PTE_ADDR_MASK) - table_address(0)) / PAGE;
		if (index >= MAX_TABLES || !f->table[index].alive)
			KUNIT_ASSERT_EQ(f->test, entry, 0);
		t = &f->table[index];
		index = (va >> (12 + 9 * level)) % TSR_PT_ENTRIES;
		entry = t->mem[index];
		if (entry != tessera_pt_entry(&f->tree, va, level))
			KUNIT_ASSERT_EQ(f->test, entry, tessera_pt_entry(&f->tree, va, level));
		if (!(entry & TSR_PTE_VALID) || (level == 1 && (entry & TSR_PTE_LEAF)))
			break;
		if (!level && (entry & TSR_PTE_64K))
			check_group(f, &t->mem[index & ~15U]);
	}
	if (!(entry & TSR_PTE_VALID)) {
		*shift = 0;
		return 0;
	}
	*shift = entry & TSR_PTE_LEAF ? 21 : entry & TSR_PTE_64K ? 16 : 12;

	return entry;
}

/* Convert a leaf to the entry of the page at @va. */
static u64 page_entry(struct fixture *f, u64 leaf, u64 va, u32 shift)
{
	u64 in_leaf = va & ((1ULL << shift) - 1);

	if (!leaf)
		return 0;
	if (leaf & TSR_PTE_ADDR_MASK & ((1ULL << shift) - 1))
		KUNIT_ASSERT_EQ(f->test, leaf, 0);
	leaf &= ~(TSR_PTE_LEAF | TSR_PTE_64K);

	return leaf & TSR_PTE_NULL ? leaf : leaf + in_leaf;
}

static u64 page_at(u32 page)
{
	return BASE + page * PAGE;
}

static bool will_be_flushed(struct fixture *f, u64 va)
{
	return f->tree.flush_first <= va && va <= f->tree.flush_last;
}

/*
 * True if the page has the expected entry, and is in the range to be flushed if
 * its leaf has changed.
 */
static bool check_page(struct fixture *f, u32 page)
{
	u64 va = page_at(page), leaf;
	u32 shift;
	bool same;

	leaf = walk(f, va, &shift);
	same = leaf == f->leaf[page] && shift == f->shift[page];
	f->leaf[page] = leaf;
	f->shift[page] = shift;

	return page_entry(f, leaf, va, shift) == f->want[page] &&
	       (same || will_be_flushed(f, va));
}

static void check(struct fixture *f)
{
	u32 i;

	for (i = 0; i < WINDOW && check_page(f, i); i++)
		;
	KUNIT_ASSERT_EQ(f->test, i, WINDOW);
	f->tree.flush_first = U64_MAX;
	f->tree.flush_last = 0;
}

/*
 * Upper bound of writes. Per block: split a leaf and link its table; then pages
 * at both ends of groups, and groups. A range may begin and end inside a block,
 * and cross into other directories.
 */
static u64 max_writes(u64 bytes)
{
	return ((bytes >> 21) + 2) * 8 + 4 * TSR_PT_LEVELS;
}

static void set(struct fixture *f, u32 first, u32 count, u64 entry)
{
	u32 i;

	f->writes = 0;
	KUNIT_ASSERT_EQ(f->test, tessera_pt_prepare(&f->tree, page_at(first), count * PAGE, entry),
			0);
	tessera_pt_set(&f->tree, page_at(first), count * PAGE, entry);
	KUNIT_EXPECT_LE(f->test, f->writes, max_writes(count * PAGE));
	for (i = 0; i < count; i++)
		f->want[first + i] = entry & TSR_PTE_NULL || !entry ? entry : entry + i * PAGE;
}

/* The largest possible leaves are used, with few writes. */
static void leaves_are_large(struct kunit *test)
{
	struct fixture *f = fixture(test);
	u64 entry = 0x80000000 | TSR_PTE_VRAM | MAPPED;

	set(f, 512, 1024, entry);
	check(f);
	KUNIT_EXPECT_EQ(test, f->shift[512], 21);
	KUNIT_EXPECT_EQ(test, f->shift[1535], 21);
	set(f, 3, 400, entry + 3 * PAGE);
	check(f);
	/* pages, groups, pages */
	KUNIT_EXPECT_LE(test, f->writes, 5);
	KUNIT_EXPECT_EQ(test, f->shift[15], 12);
	KUNIT_EXPECT_EQ(test, f->shift[16], 16);
	KUNIT_EXPECT_EQ(test, f->shift[399], 16);
	KUNIT_EXPECT_EQ(test, f->shift[400], 12);
	/* Memory with another alignment than its addresses. */
	set(f, 1536, 512, entry + 7 * PAGE);
	check(f);
	KUNIT_EXPECT_EQ(test, f->shift[1536], 12);
	KUNIT_EXPECT_LE(test, f->writes, 4);
	set(f, 0, 2048, TSR_PTE_NULL | MAPPED);
	check(f);
	KUNIT_EXPECT_EQ(test, f->shift[0], 21);
	/* Root, and two directories on each side. */
	KUNIT_EXPECT_EQ(test, f->num_alive, 5);
	set(f, 0, 2048, 0);
	check(f);
	KUNIT_EXPECT_EQ(test, f->num_alive, 1);
}

/* Changing a part of a large leaf keeps the rest of its mapping. */
static void leaves_are_split(struct kunit *test)
{
	static const u32 parts[][2] = {
		{ 0, 1 }, { 511, 1 }, { 100, 1 }, { 16, 16 }, { 8, 16 }, { 1, 510 }, { 0, 511 },
	};
	struct fixture *f = fixture(test);
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(parts); i++) {
		const u32 *part = parts[i / 2];

		set(f, 512, 512, 0x100000000ULL | MAPPED);
		check(f);
		KUNIT_EXPECT_EQ(test, f->shift[512], 21);
		set(f, 512 + part[0], part[1], i % 2 ? 0x7000 | MAPPED : 0);
		check(f);
		set(f, 512, 512, 0);
		check(f);
		KUNIT_EXPECT_EQ(test, f->num_alive, 1);
	}
}

static u64 any_entry(struct fixture *f, u32 first)
{
	u64 flags = MAPPED & ~(any(f, 4) ? 0 : TSR_PTE_WRITE);

	switch (any(f, 6)) {
	case 0:
		return flags | TSR_PTE_NULL;
	case 1:
		return 0;
	case 2:
		return flags | any(f, 1 << 20) * PAGE;
	case 3:
		return flags | TSR_PTE_VRAM |
		       (0x10000000 + any(f, 64) * 16 * PAGE + first % 16 * PAGE);
	default:
		return flags | TSR_PTE_VRAM | (0x80000000 + (u64)first * PAGE);
	}
}

static void any_change(struct fixture *f)
{
	static const u32 units[] = { 1, 1, 16, 512 };
	u32 unit = units[any(f, ARRAY_SIZE(units))];
	u32 first = any(f, WINDOW / unit) * unit;
	u32 count = (1 + any(f, (WINDOW - first) / unit)) * unit;
	u64 entry = any_entry(f, first);

	if (!any(f, 5)) {
		/*
		 * Allocation of a table fails: no mapping changes, and tables
		 * that were created do no harm.
		 */
		f->good = any(f, 3);
		if (tessera_pt_prepare(&f->tree, page_at(first), count * PAGE, entry)) {
			f->good = U32_MAX;
			check(f);
			return;
		}
		f->good = U32_MAX;
		check(f);
	}
	set(f, first, count, entry);
	check(f);
}

/* Random changes, with and without failing allocations. */
static void changes_at_random(struct kunit *test)
{
	struct fixture *f = fixture(test);
	u32 i;

	for (i = 0; i < 300; i++)
		any_change(f);
	set(f, 0, WINDOW, 0);
	check(f);
	KUNIT_EXPECT_EQ(test, f->num_alive, 1);
}

/*
 * Distant pages, at both ends of the address space too, are mapped and then all
 * unmapped at once.
 */
static void sparse(struct kunit *test)
{
	static const u64 at[] = { 0, 1ULL << 30, (1ULL << 39) - PAGE, 1ULL << 47,
				  (1ULL << 48) - PAGE };
	struct fixture *f = fixture(test);
	u32 i, shift;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		u64 entry = (0x5000 + i * PAGE) | MAPPED;

		KUNIT_ASSERT_EQ(test, tessera_pt_prepare(&f->tree, at[i], PAGE, entry), 0);
		tessera_pt_set(&f->tree, at[i], PAGE, entry);
	}
	for (i = 0; i < ARRAY_SIZE(at); i++)
		KUNIT_EXPECT_EQ(test, walk(f, at[i], &shift), (0x5000 + i * PAGE) | MAPPED);
	KUNIT_EXPECT_EQ(test, walk(f, PAGE, &shift), 0);
	KUNIT_EXPECT_EQ(test, walk(f, 1ULL << 46, &shift), 0);
	KUNIT_ASSERT_EQ(test, tessera_pt_prepare(&f->tree, 0, 1ULL << 48, 0), 0);
	tessera_pt_set(&f->tree, 0, 1ULL << 48, 0);
	KUNIT_EXPECT_EQ(test, f->num_alive, 1);
	KUNIT_EXPECT_EQ(test, f->tree.root->used, 0);
}

/*
 * Tables that were created before an allocation failed are freed when their
 * range is unmapped.
 */
static void unmap_after_no_memory(struct kunit *test)
{
	struct fixture *f = fixture(test);
	u32 good;

	for (good = 1; good < TSR_PT_LEVELS - 1; good++) {
		f->good = good;
		KUNIT_EXPECT_EQ(test, tessera_pt_prepare(&f->tree, BASE, PAGE, 0x5000 | MAPPED),
				-ENOMEM);
		f->good = U32_MAX;
		KUNIT_EXPECT_EQ(test, f->num_alive, 1 + good);
		set(f, 0, 1, 0);
		check(f);
		KUNIT_EXPECT_EQ(test, f->num_alive, 1);
		KUNIT_EXPECT_EQ(test, f->tree.root->used, 0);
	}
}

static struct kunit_case page_table_tests[] = {
	KUNIT_CASE(leaves_are_large),
	KUNIT_CASE(leaves_are_split),
	KUNIT_CASE(changes_at_random),
	KUNIT_CASE(sparse),
	KUNIT_CASE(unmap_after_no_memory),
	{}
};

static struct kunit_suite page_table_suite = {
	.name = "tessera_page_table",
	.test_cases = page_table_tests,
};

kunit_test_suite(page_table_suite);
