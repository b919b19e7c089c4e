// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of patch lists: the checks, the leak check, and the replay that
 * finds the bindings a part needs at its start. SPLIT-6, SPLIT-12, SPLIT-17,
 * SPLIT-21, SPLIT-25, SPLIT-33, SPLIT-36, SCHED-6, and those rows of the
 * requirements' table of errors that concern the list alone.
 */
#include <kunit/test.h>

#include "patch_list.h"
#include "pure/patch.h"

#define NUM_SLOTS	8
#define MAX_ENTRIES	8
#define CMD_BYTES	0x400
#define ALLOC_BYTES	0x10000

/* Elements of the allocation list: NULL, three objects, another NULL. */
enum { NUL, A, B, C, NUL2, NUM_ALLOCS };

static const struct tessera_patch_alloc allocs[NUM_ALLOCS] = {
	[NUL] = { 0, TESSERA_PATCH_ALLOC_NULL },
	[A] = { ALLOC_BYTES, 0 },
	[B] = { ALLOC_BYTES, TESSERA_PATCH_ALLOC_WRITE },
	[C] = { 0x1000, 0 },
	[NUL2] = { 0, TESSERA_PATCH_ALLOC_NULL },
};

struct patch_fixture {
	struct tessera_slot_table table;
	struct tessera_slot_row rows[NUM_SLOTS];
	u32 live[NUM_SLOTS];
};

static int patch_init(struct kunit *test)
{
	struct patch_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	tessera_slot_init(&f->table, f->rows, f->live, NUM_SLOTS);
	test->priv = f;

	return 0;
}

struct patch_case {
	const char *name;
	int ret;
	/* Index of the element that the error refers to. */
	u32 bad;
	u32 num;
	struct tessera_patch patches[MAX_ENTRIES];
};

static const struct patch_case patch_cases[] = {
	{ "empty list", 0, 0, 0, { } },
	{ "one bind", 0, 0, 1, { BIND(A, 1, 0, 8) } },
	{ "requirements section 3, SPLIT-12 equal neighbours", 0, 0, 6,
	  { BIND(B, 1, 0, 0x10), BIND(C, 2, 0, 0x38), BIND(A, 1, 0x100, 0x108),
	    BIND(C, 2, 0x100, 0x130), UNBIND(1, 0x200), BIND(B, 3, 0x280, 0x288) } },

	{ "alloc index: last element", 0, 0, 1, { { .alloc_index = NUL2, .slot_id = 1 } } },
	{ "alloc index: length of the list", -EINVAL, 0, 1, { BIND(NUM_ALLOCS, 1, 0, 8) } },
	{ "alloc index: largest", -EINVAL, 0, 1, { BIND(U32_MAX, 1, 0, 8) } },

	{ "SPLIT-6 slot: last", 0, 0, 1, { BIND(A, NUM_SLOTS - 1, 0, 8) } },
	{ "SPLIT-6 slot: count", -EINVAL, 0, 1, { BIND(A, NUM_SLOTS, 0, 8) } },
	{ "slot: reserved upper bits", -EINVAL, 0, 1, { BIND(A, 0x01000001, 0, 8) } },
	{ "slot: upper bits of an unbind", -EINVAL, 0, 1, { UNBIND(0x80000000, 0) } },
	{ "padding not zero", -EINVAL, 1, 2,
	  { BIND(A, 1, 0, 8),
	    { .alloc_index = B, .slot_id = 2, .patch_offset = 0x30, .pad = 1 } } },

	{ "SPLIT-12 split offset decreases", -EINVAL, 1, 2,
	  { BIND(A, 1, 0x100, 0x108), BIND(B, 2, 0xf8, 0x150) } },
	{ "SPLIT-12 unbind decreases", -EINVAL, 1, 2,
	  { BIND(A, 1, 0x100, 0x108), UNBIND(2, 0) } },
	{ "split offset at the end, unbind", 0, 0, 1, { UNBIND(1, CMD_BYTES) } },
	{ "split offset at the end, bind", -EINVAL, 0, 1,
	  { BIND(A, 1, CMD_BYTES, CMD_BYTES - 16) } },
	{ "split offset behind the end", -EINVAL, 0, 1, { UNBIND(1, CMD_BYTES + 8) } },
	{ "split offset largest", -EINVAL, 0, 1, { UNBIND(1, 0xfffffff8) } },
	{ "split offset unaligned", -EINVAL, 0, 1, { BIND(A, 1, 4, 16) } },
	{ "split offset of an unbind unaligned", -EINVAL, 0, 1, { UNBIND(1, 0x101) } },

	{ "patch offset unaligned", -EINVAL, 0, 1, { BIND(A, 1, 0, 12) } },
	{ "patch offset 0", -EINVAL, 0, 1, { BIND(A, 1, 0, 0) } },
	{ "patch up to the end", 0, 0, 1, { BIND(A, 1, 0, CMD_BYTES - 16) } },
	{ "patch beyond the end", -EINVAL, 0, 1, { BIND(A, 1, 0, CMD_BYTES - 8) } },
	{ "patch behind the end", -EINVAL, 0, 1, { BIND(A, 1, 0, CMD_BYTES) } },
	{ "patch wraps", -EINVAL, 0, 1, { BIND(A, 1, 0, 0xfffffff0) } },
	{ "patch wraps by its last byte", -EINVAL, 0, 1, { BIND(A, 1, 0, 0xfffffff8) } },

	{ "SPLIT-33 patch at its split point", 0, 0, 1, { BIND(A, 1, 0x100, 0x100) } },
	{ "SPLIT-33 patch before its split point", -EINVAL, 0, 1, { BIND(A, 1, 0x100, 0xf8) } },
	{ "SPLIT-33 patch ends at the slot's next split point", 0, 0, 2,
	  { BIND(A, 1, 0, 0xf0), BIND(B, 1, 0x100, 0x108) } },
	{ "SPLIT-33 patch reaches past the slot's next split point", -EINVAL, 0, 2,
	  { BIND(A, 1, 0, 0xf8), BIND(B, 1, 0x100, 0x108) } },
	{ "SPLIT-33 patch behind an unbind of its slot", -EINVAL, 0, 2,
	  { BIND(A, 1, 0, 0x108), UNBIND(1, 0x100) } },
	{ "SPLIT-33 another slot's split point does not matter", 0, 0, 2,
	  { BIND(A, 1, 0, 0x108), UNBIND(2, 0x100) } },
	{ "SPLIT-33 its own split point does not matter", 0, 0, 3,
	  { BIND(A, 1, 0x100, 0x108), BIND(A, 1, 0x100, 0x130), UNBIND(1, 0x200) } },
	{ "SPLIT-33 second word of a binding past the next", -EINVAL, 1, 3,
	  { BIND(A, 1, 0x100, 0x108), BIND(A, 1, 0x100, 0x200), UNBIND(1, 0x200) } },
	{ "SPLIT-33 three bindings, the middle one past the last", -EINVAL, 1, 3,
	  { BIND(A, 1, 0, 0x8), BIND(B, 1, 0x100, 0x300), BIND(A, 1, 0x200, 0x330) } },

	{ "SPLIT-36 two words of one binding", 0, 0, 2,
	  { BIND(A, 1, 0, 8), BIND(A, 1, 0, 0x30) } },
	{ "SPLIT-36 two words, second first", 0, 0, 2,
	  { BIND(A, 1, 0, 0x30), BIND(A, 1, 0, 8) } },
	{ "SPLIT-36 two allocations in one slot", -EINVAL, 1, 2,
	  { BIND(A, 1, 0, 8), BIND(B, 1, 0, 0x30) } },
	{ "SPLIT-36 two allocations around an unbind", -EINVAL, 2, 3,
	  { BIND(A, 1, 0, 8), UNBIND(1, 0), BIND(B, 1, 0, 0x30) } },
	{ "SPLIT-36 unbind before a bind", 0, 0, 2, { UNBIND(1, 0), BIND(B, 1, 0, 0x30) } },
	{ "SPLIT-36 two allocations in two slots", 0, 0, 2,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30) } },
	{ "SPLIT-36 two allocations at two split points", 0, 0, 2,
	  { BIND(A, 1, 0, 8), BIND(B, 1, 0x28, 0x30) } },

	{ "SPLIT-21 unbind", 0, 0, 1, { UNBIND(1, 0x100) } },
	{ "unbind with a patch offset", -EINVAL, 0, 1,
	  { { .alloc_index = NUL, .slot_id = 1, .patch_offset = 8 } } },
	{ "unbind with an allocation offset", -EINVAL, 0, 1,
	  { { .alloc_index = NUL, .slot_id = 1, .alloc_offset = 8 } } },

	{ "allocation offset in the last 8 bytes", 0, 0, 1, { BIND_AT(C, 1, 0, 8, 0xff8) } },
	{ "allocation offset at the end", -EINVAL, 0, 1, { BIND_AT(C, 1, 0, 8, 0x1000) } },
	{ "allocation offset far out", -EINVAL, 0, 1,
	  { BIND_AT(C, 1, 0, 8, 0xfffffffffffffff8ULL) } },
	{ "allocation offset unaligned", -EINVAL, 0, 1, { BIND_AT(C, 1, 0, 8, 4) } },
};

KUNIT_ARRAY_PARAM_DESC(patch, patch_cases, name);

static void make_list(struct tessera_patch_list *list, const struct tessera_patch *patches,
		      u32 num)
{
	*list = (struct tessera_patch_list) {
		.patches = patches,
		.num_patches = num,
		.allocs = allocs,
		.num_allocs = NUM_ALLOCS,
		.cmd_bytes = CMD_BYTES,
		.num_slots = NUM_SLOTS,
	};
}

static void test_check(struct kunit *test)
{
	const struct patch_case *c = test->param_value;
	struct tessera_patch_error err = { 1234, 1234 };
	struct patch_fixture *f = test->priv;
	struct tessera_patch_list list;

	make_list(&list, c->patches, c->num);
	KUNIT_ASSERT_EQ(test, tessera_patch_check(&list, &f->table, &err), c->ret);
	KUNIT_EXPECT_EQ(test, err.index, c->ret ? c->bad : 1234);
	/* A check leaves the table reusable, whether it succeeds or fails. */
	KUNIT_EXPECT_EQ(test, tessera_patch_check(&list, &f->table, &err), c->ret);
}

struct leak_case {
	const char *name;
	int ret;
	u32 bad;
	u32 num;
	struct tessera_patch patches[MAX_ENTRIES];
};

static const struct leak_case leak_cases[] = {
	{ "empty list", 0, 0, 0, { } },
	{ "one split point at the start", 0, 0, 2, { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30) } },
	{ "first bind inside the buffer", 0, 0, 1, { BIND(A, 1, 0x100, 0x108) } },
	{ "all slots bound again", 0, 0, 4,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30), BIND(C, 2, 0x100, 0x108),
	    BIND(A, 1, 0x100, 0x130) } },
	{ "all slots unbound", 0, 0, 4,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30), UNBIND(1, 0x100), UNBIND(2, 0x100) } },
	{ "SCHED-6 one slot left bound", -EINVAL, 2, 3,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30), UNBIND(1, 0x100) } },
	{ "SCHED-6 naming one slot twice does not make up for another", -EINVAL, 2, 4,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30), UNBIND(1, 0x100), UNBIND(1, 0x100) } },
	{ "SCHED-6 nor does binding it twice", -EINVAL, 2, 4,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30), BIND(C, 1, 0x100, 0x108),
	    BIND(C, 1, 0x100, 0x130) } },
	{ "SCHED-6 leak at the second cut", -EINVAL, 3, 4,
	  { BIND(A, 1, 0, 8), BIND(A, 1, 0x100, 0x108), BIND(B, 2, 0x100, 0x130),
	    BIND(C, 1, 0x200, 0x208) } },
	{ "an unbound slot is no leak", 0, 0, 4,
	  { BIND(A, 1, 0, 8), UNBIND(1, 0x80), BIND(B, 2, 0x100, 0x108), UNBIND(2, 0x200) } },
	{ "nothing runs behind the end", 0, 0, 3,
	  { BIND(A, 1, 0, 8), BIND(B, 2, 0, 0x30), UNBIND(1, CMD_BYTES) } },
};

KUNIT_ARRAY_PARAM_DESC(leak, leak_cases, name);

static void test_leaks(struct kunit *test)
{
	const struct leak_case *c = test->param_value;
	struct tessera_patch_error err = { 1234, 1234 };
	struct patch_fixture *f = test->priv;
	struct tessera_patch_list list;

	make_list(&list, c->patches, c->num);
	KUNIT_ASSERT_EQ(test, tessera_patch_check(&list, &f->table, &err), 0);
	KUNIT_EXPECT_EQ(test, tessera_patch_check_leaks(&list, &f->table, &err), c->ret);
	KUNIT_EXPECT_EQ(test, err.index, c->ret ? c->bad : 1234);
}

/*
 * Long walks call the check callback and stop when it returns an error. The
 * test covers both walks of tessera_patch_check() and that of
 * tessera_patch_check_leaks().
 */
static void test_pauses(struct kunit *test)
{
	const u32 num = 2 * TESSERA_PATCH_STEPS + 1;
	struct patch_fixture *f = test->priv;
	struct tessera_patch_error err;
	struct tessera_patch_list list;
	struct tessera_patch *patches;
	u32 calls, left;

	patches = kunit_kcalloc(test, num, sizeof(*patches), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, patches);
	make_list(&list, patches, num);
	list.check = check_down;
	list.check_ctx = &left;
	for (calls = 0; calls <= 4; calls++) {
		left = calls;
		KUNIT_EXPECT_EQ(test, tessera_patch_check(&list, &f->table, &err),
				calls < 4 ? -EINTR : 0);
		KUNIT_EXPECT_EQ(test, left, 0);
	}
	for (calls = 0; calls <= 2; calls++) {
		left = calls;
		KUNIT_EXPECT_EQ(test, tessera_patch_check_leaks(&list, &f->table, &err),
				calls < 2 ? -EINTR : 0);
		KUNIT_EXPECT_EQ(test, left, 0);
	}
}

static void test_write(struct kunit *test)
{
	u8 cmds[48];
	u32 i;

	memset(cmds, 0xaa, sizeof(cmds));
	tessera_patch_write(cmds, 16, 0x123456789abcdef0ULL, 0x1000);
	/* SPLIT-27: patching again is harmless. */
	tessera_patch_write(cmds, 16, 0x123456789abcdef0ULL, 0x1000);
	KUNIT_EXPECT_EQ(test, get_unaligned_le64(cmds + 16), 0x123456789abcdef0ULL);
	KUNIT_EXPECT_EQ(test, get_unaligned_le64(cmds + 24), 0x1000);
	for (i = 0; i < sizeof(cmds); i++)
		if (i < 16 || i >= 32)
			KUNIT_EXPECT_EQ(test, cmds[i], 0xaa);
}

struct replay_case {
	const char *name;
	u32 num;
	struct tessera_patch patches[MAX_ENTRIES];
	u32 num_cuts;
	struct {
		u32 at;
		/* Elements whose bindings the part needs, as a bit mask. */
		u32 binds;
	} cuts[4];
};

static const struct replay_case replay_cases[] = {
	{ "SPLIT-25 section 3: nothing, then C where the second bind left it", 6,
	  { BIND(B, 1, 0, 0x10), BIND(C, 2, 0, 0x38), BIND(A, 1, 0x100, 0x108),
	    BIND(C, 2, 0x100, 0x130), UNBIND(1, 0x200), BIND(B, 3, 0x280, 0x288) }, 2,
	  { { 0x100, 0 }, { 0x280, BIT(3) } } },
	{ "SPLIT-17 section 3 without e3: C stays bound", 5,
	  { BIND(B, 1, 0, 0x10), BIND(C, 2, 0, 0x38), BIND(A, 1, 0x100, 0x108), UNBIND(1, 0x200),
	    BIND(B, 3, 0x280, 0x288) }, 2, { { 0x100, BIT(1) }, { 0x280, BIT(1) } } },
	{ "all cuts of section 3", 6,
	  { BIND(B, 1, 0, 0x10), BIND(C, 2, 0, 0x38), BIND(A, 1, 0x100, 0x108),
	    BIND(C, 2, 0x100, 0x130), UNBIND(1, 0x200), BIND(B, 3, 0x280, 0x288) }, 3,
	  { { 0x100, 0 }, { 0x200, BIT(3) }, { 0x280, BIT(3) } } },
	{ "the latest of several words counts", 3,
	  { BIND(A, 1, 0, 0x80), BIND(A, 1, 0, 0x10), UNBIND(2, 0x100) }, 1,
	  { { 0x100, BIT(0) } } },
	{ "a word behind the cut does not", 3,
	  { BIND(A, 1, 0, 0x180), BIND(A, 1, 0, 0x10), UNBIND(2, 0x100) }, 1,
	  { { 0x100, BIT(1) } } },
	{ "a slot bound only behind the cut is not bound before", 2,
	  { BIND(A, 1, 0, 0x180), UNBIND(2, 0x100) }, 1, { { 0x100, 0 } } },
	{ "an old binding does not shine through", 3,
	  { BIND(A, 1, 0, 0x10), BIND(B, 1, 0x80, 0x180), UNBIND(2, 0x100) }, 1,
	  { { 0x100, 0 } } },
	{ "SPLIT-21 an unbound slot is not bound", 3,
	  { BIND(A, 1, 0, 0x10), UNBIND(1, 0x80), UNBIND(2, 0x100) }, 1, { { 0x100, 0 } } },
	{ "two slots with one allocation", 3,
	  { BIND(A, 1, 0, 0x10), BIND(A, 2, 0, 0x40), UNBIND(1, 0x100) }, 1,
	  { { 0x100, BIT(1) } } },
	{ "three cuts, the first slot bound all along", 4,
	  { BIND(A, 1, 0, 0x10), BIND(B, 2, 0x100, 0x108), BIND(C, 2, 0x200, 0x208),
	    BIND(B, 2, 0x300, 0x308) }, 3,
	  { { 0x100, BIT(0) }, { 0x200, BIT(0) }, { 0x300, BIT(0) } } },
	{ "cuts left out", 4,
	  { BIND(A, 1, 0, 0x10), BIND(B, 2, 0x100, 0x108), BIND(C, 3, 0x200, 0x208),
	    BIND(B, 4, 0x300, 0x308) }, 1, { { 0x300, BIT(0) | BIT(1) | BIT(2) } } },
};

KUNIT_ARRAY_PARAM_DESC(replay, replay_cases, name);

/* Indexes of the elements that are not NULL, sorted by patch offset. */
static u32 make_order(const struct tessera_patch *patches, u32 num, u32 *order)
{
	u32 n = 0, i, j;

	for (i = 0; i < num; i++) {
		if (allocs[patches[i].alloc_index].flags & TESSERA_PATCH_ALLOC_NULL)
			continue;
		for (j = n++; j; j--) {
			if (patches[order[j - 1]].patch_offset < patches[i].patch_offset)
				break;
			order[j] = order[j - 1];
		}
		order[j] = i;
	}

	return n;
}

#define RANDOM_ENTRIES	40
static_assert(MAX_ENTRIES <= RANDOM_ENTRIES);

/* A replay and the memory that it uses. */
struct replay_run {
	struct tessera_patch_list list;
	u32 order[RANDOM_ENTRIES];
	struct tessera_patch_replay replay;
};

/* Begin a replay of a list, if the list is valid. */
static int replay_begin(struct patch_fixture *f, const struct tessera_patch *patches, u32 num,
			struct replay_run *run)
{
	struct tessera_patch_error err;
	int ret;

	make_list(&run->list, patches, num);
	ret = tessera_patch_check(&run->list, &f->table, &err);
	if (!ret)
		tessera_patch_replay_init(&run->replay, &run->list, run->order,
					  make_order(patches, num, run->order), &f->table);

	return ret;
}

static void test_replay(struct kunit *test)
{
	const struct replay_case *c = test->param_value;
	struct patch_fixture *f = test->priv;
	struct replay_run run;
	u32 i;

	KUNIT_ASSERT_EQ(test, replay_begin(f, c->patches, c->num, &run), 0);
	for (i = 0; i < c->num_cuts; i++) {
		u32 pos = 0, binds = 0, count = 0, index;

		tessera_patch_replay_cut(&run.replay, c->cuts[i].at);
		while ((index = tessera_patch_replay_bind(&run.replay, &pos)) !=
		       TESSERA_SLOT_NONE) {
			KUNIT_ASSERT_LT(test, index, c->num);
			KUNIT_EXPECT_FALSE(test, binds & BIT(index));
			binds |= BIT(index);
			count++;
		}
		KUNIT_EXPECT_EQ(test, binds, c->cuts[i].binds);
		KUNIT_EXPECT_LE(test, count, tessera_patch_replay_count(&run.replay));
	}
}

/*
 * Make a list: binds of 0x28 bytes at 0, 0x40, ...; some unbinds; some groups
 * of two.
 */
static u32 random_list(struct tessera_patch *patches, u32 *seed)
{
	u32 num = 0, pos = 0;

	while (num < RANDOM_ENTRIES - 1 && pos < CMD_BYTES - 0x40) {
		struct tessera_patch *p = &patches[num++];

		*seed = *seed * 1664525 + 1013904223;
		*p = (struct tessera_patch) {
			.slot_id = *seed >> 8 & (NUM_SLOTS - 1),
			.split_offset = pos,
		};
		if (*seed & BIT(20)) {
			p->alloc_index = NUL;
		} else {
			p->alloc_index = A + (*seed >> 24) % 3;
			p->patch_offset = pos + 8;
		}
		if (*seed & BIT(21))
			pos += 0x40;
		else if (p->patch_offset)
			pos += 0x28;
	}

	return num;
}

/*
 * The expected bindings of a part that begins at @cut: bound by the elements
 * before and not reprogrammed there.
 */
static void model_binds(const struct tessera_patch *patches, u32 num, u32 cut, u32 *binds)
{
	u32 i;

	for (i = 0; i < NUM_SLOTS; i++)
		binds[i] = TESSERA_SLOT_NONE;
	for (i = 0; i < num && patches[i].split_offset <= cut; i++) {
		u32 slot = patches[i].slot_id;

		if (patches[i].split_offset == cut || !patches[i].patch_offset)
			binds[slot] = TESSERA_SLOT_NONE;
		else
			binds[slot] = i;
	}
}

static void test_replay_random_split_17(struct kunit *test)
{
	struct patch_fixture *f = test->priv;
	struct tessera_patch *patches;
	u32 model[NUM_SLOTS];
	u32 seed = 7, round, i, num;

	patches = kunit_kcalloc(test, RANDOM_ENTRIES, sizeof(*patches), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, patches);

	for (round = 0; round < 500; round++) {
		struct replay_run run;

		num = random_list(patches, &seed);
		/*
		 * Skip a list with two different allocations in one slot at one
		 * split point.
		 */
		if (replay_begin(f, patches, num, &run))
			continue;
		for (i = 0; i < num; i++) {
			u32 cut = patches[i].split_offset, pos = 0, index, s, want = 0, got = 0;

			if (!cut || (i && cut == patches[i - 1].split_offset) || seed >> 30 == 3)
				continue;
			tessera_patch_replay_cut(&run.replay, cut);
			model_binds(patches, num, cut, model);
			while ((index = tessera_patch_replay_bind(&run.replay, &pos)) !=
			       TESSERA_SLOT_NONE) {
				KUNIT_ASSERT_EQ(test, model[patches[index].slot_id], index);
				got++;
			}
			for (s = 0; s < NUM_SLOTS; s++)
				want += model[s] != TESSERA_SLOT_NONE;
			KUNIT_ASSERT_EQ(test, got, want);
		}
	}
}

static u32 applied_next, applied_live[MAX_ENTRIES];

static void note_applied(const struct tessera_patch_replay *replay, u32 index)
{
	if (index == applied_next && index < MAX_ENTRIES)
		applied_live[applied_next++] = replay->table->num_live;
}

/*
 * Each element is applied once and in order, and the callback sees the table
 * after it.
 */
static void test_replay_applies_split_8_split_11(struct kunit *test)
{
	static const struct tessera_patch patches[] = {
		BIND(B, 1, 0, 0x10), BIND(C, 2, 0, 0x38), BIND(A, 1, 0x100, 0x108),
		UNBIND(2, 0x100), UNBIND(1, 0x200), UNBIND(3, CMD_BYTES),
	};
	static const u32 live[] = { 1, 2, 2, 1, 0, 0 };
	static const u32 cuts[] = { 0, 0x100, CMD_BYTES };
	struct patch_fixture *f = test->priv;
	struct replay_run run;
	u32 i;

	KUNIT_ASSERT_EQ(test, replay_begin(f, patches, ARRAY_SIZE(patches), &run), 0);
	run.replay.applied = note_applied;
	applied_next = 0;
	for (i = 0; i + 1 < ARRAY_SIZE(cuts); i++) {
		tessera_patch_replay_cut(&run.replay, cuts[i]);
		tessera_patch_replay_advance(&run.replay, cuts[i + 1]);
	}
	KUNIT_ASSERT_EQ(test, applied_next, ARRAY_SIZE(patches));
	for (i = 0; i < ARRAY_SIZE(patches); i++)
		KUNIT_EXPECT_EQ(test, applied_live[i], live[i]);
}

static struct kunit_case patch_kunit_cases[] = {
	KUNIT_CASE_PARAM(test_check, patch_gen_params),
	KUNIT_CASE_PARAM(test_leaks, leak_gen_params),
	KUNIT_CASE(test_pauses),
	KUNIT_CASE(test_write),
	KUNIT_CASE_PARAM(test_replay, replay_gen_params),
	KUNIT_CASE(test_replay_random_split_17),
	KUNIT_CASE(test_replay_applies_split_8_split_11),
	{ }
};

static struct kunit_suite patch_suite = {
	.name = "tessera_patch",
	.init = patch_init,
	.test_cases = patch_kunit_cases,
};

kunit_test_suite(patch_suite);
