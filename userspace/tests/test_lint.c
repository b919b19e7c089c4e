// SPDX-License-Identifier: MIT
/*
 * The stream checker finds each kind of mistake and its offset, and nothing in
 * a correct stream (SPLIT-3, SPLIT-4, SPLIT-12, SPLIT-20, SPLIT-21, SPLIT-33).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "priv.h"

#define BIND(slot, access) 0x000a0001, (slot), 0, 0, 0, 0, 4 | (access), 256, 0x00200040, 0
#define UNBIND(slot) 0x00020002, (slot)
#define STATE7(target) 0x000a0003, 0x00070000, (target), 0, 0x40004000, 0, 0, 0, 0xffffffff, 0
#define FILL(slot) 0x00080010, (slot), 0, 0, 1, 1, 0, 0
#define DRAW(slot) 0x00040013, (slot), 0, 3
#define RW (TSR_SURF_READ | TSR_SURF_WRITE)

/*
 * Offsets: 0 bind 1, 40 state, 80 draw, 96 bind 1, 136 state, 176 draw,
 * 192 unbind 1, 200 nop, 208 end.
 */
static const uint32_t good_cmds[] = {
	BIND(1, RW), STATE7(1), DRAW(1), BIND(1, RW), STATE7(1), DRAW(1), UNBIND(1), 0x00020000, 0,
};

static const struct drm_tessera_submit_alloc good_allocs[] = {
	{ .handle = 11, .flags = DRM_TESSERA_ALLOC_WRITE },
	{ .handle = 12, .flags = DRM_TESSERA_ALLOC_WRITE },
	{ .handle = 0 },
};

static const struct drm_tessera_submit_patch good_patches[] = {
	{ .alloc_index = 0, .slot_id = 1, .patch_offset = 8, .split_offset = 0 },
	{ .alloc_index = 1, .slot_id = 1, .patch_offset = 104, .split_offset = 96 },
	{ .alloc_index = 2, .slot_id = 1, .split_offset = 192 },
};

struct stream {
	uint32_t cmds[64];
	struct drm_tessera_submit_alloc allocs[8];
	struct drm_tessera_submit_patch patches[8];
	struct tessera_stream s;
	struct tessera_lint lint;
};

static void good(struct stream *t)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->cmds, good_cmds, sizeof(good_cmds));
	memcpy(t->allocs, good_allocs, sizeof(good_allocs));
	memcpy(t->patches, good_patches, sizeof(good_patches));
	t->s = (struct tessera_stream){
		.cmds = t->cmds,
		.cmd_bytes = sizeof(good_cmds),
		.allocs = t->allocs,
		.num_allocs = ARRAY_SIZE(good_allocs),
		.patches = t->patches,
		.num_patches = ARRAY_SIZE(good_patches),
		.max_slots = 16,
	};
}

static int lint(struct stream *t)
{
	return tessera_stream_lint(&t->s, &t->lint);
}

static void drop_entry(struct stream *t, uint32_t index)
{
	memmove(&t->patches[index], &t->patches[index + 1],
		(t->s.num_patches - index - 1) * sizeof(t->patches[0]));
	t->s.num_patches--;
}

static void test_good(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	assert_int_equal(lint(&t), 0);
	assert_int_equal(t.lint.total, 0);
	assert_int_equal(t.lint.first_offset, UINT32_MAX);
}

static void test_bind_without_entry(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	drop_entry(&t, 1);
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.bind_without_entry, 1);
	assert_int_equal(t.lint.first_offset, 96);
	/* Two entries for one packet. */
	good(&t);
	t.patches[3] = t.patches[2];
	t.patches[2] = t.patches[1];
	t.s.num_patches = 4;
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.bind_without_entry, 1);
	/* An entry for another slot. */
	good(&t);
	t.patches[1].slot_id = 2;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.bind_without_entry, 1);
}

static void test_unbind_without_entry(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	drop_entry(&t, 2);
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.unbind_without_entry, 1);
	assert_int_equal(t.lint.first_offset, 192);
	/* A NULL entry before the bind does not count. */
	good(&t);
	t.patches[2] = t.patches[1];
	t.patches[1] = (struct drm_tessera_submit_patch){
		.alloc_index = 2,
		.slot_id = 1,
		.split_offset = 80,
	};
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.unbind_without_entry, 1);
}

static void test_entry_without_packet(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	t.patches[1].patch_offset = 112;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.entry_without_packet, 1);
	assert_int_equal(t.lint.bind_without_entry, 1);
}

/* SPLIT-12, SPLIT-33 */
static void test_order_and_place(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	t.patches[2].split_offset = 80;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.unordered, 1);
	/* Inside a packet. */
	good(&t);
	t.patches[1].split_offset = 88;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.misplaced, 1);
	/* After the bind that it belongs to. */
	good(&t);
	t.patches[1].split_offset = 136;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.misplaced, 1);
	/* Before the bind, while the slot does not belong to a later entry. */
	good(&t);
	t.patches[1].split_offset = 80;
	t.patches[1].patch_offset = 104;
	lint(&t);
	assert_int_equal(t.lint.misplaced, 0);
	/*
	 * The patch of an entry must not lie after a later entry of its slot.
	 */
	good(&t);
	t.patches[0].patch_offset = 104;
	t.patches[1].patch_offset = 104;
	t.patches[1].split_offset = 40;
	lint(&t);
	assert_int_equal(t.lint.misplaced, 1);
	/* Beyond the end. */
	good(&t);
	t.patches[2].split_offset = 4096;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.misplaced, 1);
	/* At the end, which is legal for an unbind. */
	good(&t);
	t.patches[2].split_offset = sizeof(good_cmds);
	lint(&t);
	assert_int_equal(t.lint.misplaced, 0);
}

/* SPLIT-4: a draw after a split point without its state. */
static void test_stale_state(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	t.cmds[136 / 4] = 0x000a0000; /* the second SET_STATE becomes a NOP */
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.stale_state, 1);
	assert_int_equal(t.lint.first_offset, 176);
	/* A part of the state is not enough. */
	good(&t);
	t.cmds[136 / 4 + 1] = 0x00060000;
	t.cmds[136 / 4] = 0x00080003;
	t.cmds[136 / 4 + 8] = 0x00020000;
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.stale_state, 1);
}

static void test_uses(void **state)
{
	struct stream t;

	(void)state;
	good(&t);
	t.cmds[176 / 4 + 1] = 2;
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.unbound_use, 1);
	assert_int_equal(t.lint.first_offset, 176);
	good(&t);
	t.allocs[1].flags = 0;
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.missing_write, 1);
	good(&t);
	t.cmds[6] = 4 | TSR_SURF_READ;
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.read_only_use, 1);
	assert_int_equal(t.lint.first_offset, 80);
	/* A use after the unbind. */
	good(&t);
	memcpy(&t.cmds[200 / 4], (uint32_t[]){ FILL(1) }, 32);
	t.s.cmd_bytes = 232;
	assert_int_equal(lint(&t), 1);
	assert_int_equal(t.lint.unbound_use, 1);
	assert_int_equal(t.lint.first_offset, 200);
}

static void test_malformed(void **state)
{
	static const uint32_t headers[] = {
		0x00000000, 0x00010000, 0x00030000, 0x00020001, 0x000200ff, 0x04020000, 0x00100000,
	};
	struct stream t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		good(&t);
		t.cmds[200 / 4] = headers[i];
		assert_int_equal(lint(&t), 1);
		assert_int_equal(t.lint.malformed, 1);
		assert_int_equal(t.lint.first_offset, 200);
	}
	good(&t);
	t.cmds[1] = 16;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.malformed, 1);
	good(&t);
	t.patches[0].slot_id = 0x01000001;
	assert_true(lint(&t) > 0);
	assert_int_equal(t.lint.malformed, 1);
}

/*
 * With addresses nothing is cut: the checker requires no entries, and state
 * survives a bind. It still finds uses of unbound slots.
 */
static void test_addresses(void **state)
{
	static const uint32_t cmds[] = {
		0x000a0001, 1, 0x1000,	  0,	   0x2000,     0, 4 | RW,  256,
		0x00200040, 0, STATE7(1), DRAW(1), 0x000a0001, 2, 0x9000,  0,
		0x2000,	    0, 4 | RW,	  256,	   0x00200040, 0, DRAW(2), UNBIND(2),
	};
	struct stream t;

	(void)state;
	good(&t);
	memcpy(t.cmds, cmds, sizeof(cmds));
	t.s.cmd_bytes = sizeof(cmds);
	t.s.num_patches = 0;
	t.s.num_allocs = 0;
	assert_true(tessera_stream_lint(&t.s, &t.lint) > 0);
	t.s.flags = TESSERA_STREAM_ADDRESSES;
	assert_int_equal(tessera_stream_lint(&t.s, &t.lint), 0);
	/* A bind of limit 0 and the use of an unbound slot are mistakes. */
	t.cmds[4] = 0;
	assert_true(tessera_stream_lint(&t.s, &t.lint) > 0);
	assert_true(t.lint.malformed);
	t.cmds[4] = 0x2000;
	t.cmds[ARRAY_SIZE(cmds) - 5] = 3;
	assert_int_equal(tessera_stream_lint(&t.s, &t.lint), 1);
	assert_int_equal(t.lint.unbound_use, 1);
	t.s.flags = 2;
	assert_int_equal(tessera_stream_lint(&t.s, &t.lint), -EINVAL);
	t.s.flags = 0;
	t.s.reserved32 = 1;
	assert_int_equal(tessera_stream_lint(&t.s, &t.lint), -EINVAL);
}

/* a test with a name that shows its requirements */
#define NAMED_TEST(name, f)                                                                        \
	{                                                                                          \
		name, f, NULL, NULL, NULL                                                          \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_good),
		NAMED_TEST("SPLIT-20 a bind without an entry", test_bind_without_entry),
		NAMED_TEST("SPLIT-20 SPLIT-21 an unbind without an entry",
			   test_unbind_without_entry),
		cmocka_unit_test(test_entry_without_packet),
		cmocka_unit_test(test_order_and_place),
		cmocka_unit_test(test_stale_state),
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests_name("lint", tests, NULL, NULL);
}
