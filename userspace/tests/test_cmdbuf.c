// SPDX-License-Identifier: MIT
/*
 * The builder: packets compared with hand-written words, lists, split points,
 * growth and failures.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

static struct tessera_cmdbuf *new_cb(void **state)
{
	struct tessera_cmdbuf *cb;

	assert_int_equal(tessera_cmdbuf_new(dev_of(state), &cb), 0);
	return cb;
}

static struct tessera_view surface(uint32_t layout, uint32_t access)
{
	struct tessera_view view;
	uint64_t size;

	assert_int_equal(tessera_view_init(&view, TSR_FORMAT_ARGB8888, layout, 64, 32, &size), 0);
	assert_int_equal(size, 8192);
	view.access = access;
	return view;
}

#define READ TSR_SURF_READ
#define WRITE (TSR_SURF_READ | TSR_SURF_WRITE)

static const struct tessera_rect unit = { 0, 0, 1, 1 };

static void expect_stream(struct tessera_cmdbuf *cb, const uint32_t *words, size_t count)
{
	struct tessera_stream stream;

	tessera_cmdbuf_stream(cb, &stream);
	assert_int_equal(stream.cmd_bytes, count * 4);
	for (size_t i = 0; i < count; i++) {
		if (stream.cmds[i] != words[i])
			fail_msg("word %zu is 0x%08x, not 0x%08x", i, stream.cmds[i], words[i]);
	}
}

/* clang-format off */
static const uint32_t packet_words[] = {
	/*
	 * BIND_SLOT 1: ARGB8888 (4), MORTON (2), read and write; pitch 256, 64
	 * x 32
	 */
	0x000a0001, 1, 0, 0, 0, 0, 0x00030204, 0x100, 0x00200040, 0,
	/* BIND_SLOT 5: linear, read */
	0x000a0001, 5, 0, 0, 0, 0, 0x00010004, 0x100, 0x00200040, 0,
	/* FILL 1: x 2 y 3 4 x 5 */
	0x00080010, 1, 2, 3, 4, 5, 0xff00ff00, 0,
	/* COPY 1 <- 5: to 7,8 from 1,2 3 x 4 */
	0x000a0011, 1, 5, 7, 8, 1, 2, 3, 4, 0,
	/* BLIT 1 <- 5 */
	0x000a0012, 1, 5, 0x00020001, 0x00040003, 0x00060005, 0x00080007, 0x00000101, 0x80ffffff, 0,
	/* SET_STATE: all seven registers, padded */
	0x000a0003, 0x00070000, 1, 0, 0x40004000, 5, 1, 2, 0xffffffff, 0,
	/* DRAW textured, slot 5, offset 24, 6 vertices */
	0x00040113, 5, 24, 6,
	/* SET_STATE: the colour only */
	0x00040003, 0x00010006, 0x12345678, 0,
	/* DRAW */
	0x00040013, 5, 0, 3,
	/* QUERY_TIMESTAMP */
	0x00040014, 1, 16, 0,
	/* NOP of four dwords */
	0x00040000, 0, 0, 0,
};
/* clang-format on */

/*
 * Every packet, compared with words derived by hand from the hardware manual.
 */
static void test_packets(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *a = mock_bo(dev_of(state), 16384), *b = mock_bo(dev_of(state), 8192);
	struct tessera_view va = surface(TSR_LAYOUT_MORTON, WRITE), vb = surface(0, READ);
	const struct tessera_rect dst = { 1, 2, 3, 4 }, src = { 5, 6, 7, 8 };

	assert_int_equal(tessera_cmdbuf_bind(cb, 1, a, &va), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 5, b, &vb), 0);
	assert_int_equal(
		tessera_cmdbuf_fill(cb, 1, &(struct tessera_rect){ 2, 3, 4, 5 }, 0xff00ff00), 0);
	assert_int_equal(tessera_cmdbuf_copy(cb, 1, 7, 8, 5, &(struct tessera_rect){ 1, 2, 3, 4 }),
			 0);
	assert_int_equal(tessera_cmdbuf_blit(cb, 1, &dst, 5, &src, TSR_SAMPLER_LINEAR,
					     TSR_BLEND_ALPHA, 0x80ffffff),
			 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 1), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_TEXTURE_SLOT, 5), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_SAMPLER, TSR_SAMPLER_LINEAR), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_BLEND, TSR_BLEND_PREMULTIPLIED), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 5, 24, 6, TSR_DRAW_TEXTURED), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_COLOR, 0x12345678), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 5, 0, 3, 0), 0);
	assert_int_equal(tessera_cmdbuf_timestamp(cb, 1, 16), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 4), 0);
	expect_stream(cb, packet_words, ARRAY_SIZE(packet_words));
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
	tessera_bo_del(b);
}

/*
 * SPLIT-5, SPLIT-20, SPLIT-21, SPLIT-23: every bind and unbind has an entry,
 * the changes before a packet form one split point, and all live slots are
 * bound again there. SPLIT-12: split offsets never decrease.
 */
static void test_split_points(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *target = mock_bo(dev_of(state), 8192);
	struct tessera_bo *a = mock_bo(dev_of(state), 8192), *b = mock_bo(dev_of(state), 8192);
	struct tessera_view wr = surface(0, WRITE), rd = surface(0, READ);
	struct tessera_stream s;
	/* alloc, slot, serial, patch, split, pad, offset */
	static const struct drm_tessera_submit_patch expect[] = {
		{ 0, 0, 0, 8, 0, 0, 0 }, /* target */
		{ 1, 2, 1, 48, 0, 0, 0 }, /* a */
		/* COPY at 80; then at 120: target again, b replaces a */
		{ 0, 0, 2, 128, 120, 0, 0 },
		{ 2, 2, 3, 168, 120, 0, 0 },
		/* COPY at 200; at 240 unbind b, target again, bind a */
		{ 3, 2, 4, 0, 240, 0, 0 },
		{ 0, 0, 5, 256, 240, 0, 0 },
		{ 1, 9, 6, 296, 240, 0, 8 },
		/* COPY at 328; at the end both unbinds form one split point */
		{ 3, 9, 7, 0, 368, 0, 0 },
		{ 3, 0, 8, 0, 368, 0, 0 },
	};

	assert_int_equal(tessera_cmdbuf_bind(cb, 0, target, &wr), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 2, a, &rd), 0);
	assert_int_equal(tessera_cmdbuf_copy(cb, 0, 0, 0, 2, &unit), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 2, b, &rd), 0);
	assert_int_equal(tessera_cmdbuf_copy(cb, 0, 0, 0, 2, &unit), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 2), 0);
	rd.height = 31;
	rd.offset = 8;
	assert_int_equal(tessera_cmdbuf_bind(cb, 9, a, &rd), 0);
	assert_int_equal(tessera_cmdbuf_copy(cb, 0, 0, 0, 9, &unit), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 9), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 0), 0);
	assert_int_equal(tessera_cmdbuf_finish(cb), 0);
	tessera_cmdbuf_stream(cb, &s);
	assert_int_equal(s.num_patches, ARRAY_SIZE(expect));
	for (size_t i = 0; i < ARRAY_SIZE(expect); i++) {
		if (memcmp(&s.patches[i], &expect[i], sizeof(expect[i])))
			fail_msg("entry %zu: alloc %u slot %u serial %u patch %u split %u", i,
				 s.patches[i].alloc_index, s.patches[i].slot_id,
				 s.patches[i].driver_id, s.patches[i].patch_offset,
				 s.patches[i].split_offset);
	}
	assert_int_equal(s.num_allocs, 4);
	assert_int_equal(s.allocs[0].handle, tessera_bo_handle(target));
	assert_int_equal(s.allocs[0].flags, DRM_TESSERA_ALLOC_WRITE);
	assert_int_equal(s.allocs[1].handle, tessera_bo_handle(a));
	assert_int_equal(s.allocs[1].flags, 0);
	assert_int_equal(s.allocs[3].handle, 0);
	assert_int_equal(s.allocs[3].flags, 0);
	/* The stream also has the UNBIND_SLOT packets. */
	assert_int_equal(s.cmds[240 / 4], 0x00020002);
	assert_int_equal(s.cmds[240 / 4 + 1], 2);
	assert_int_equal(s.cmd_bytes, 368 + 16);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(target);
	tessera_bo_del(a);
	tessera_bo_del(b);
}

/*
 * SPLIT-22, SPLIT-23: only objects of at least the rebind size are bound again.
 */
static void test_rebind_size(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *small = mock_bo(dev_of(state), 8192);
	struct tessera_bo *large = mock_bo(dev_of(state), 1 << 20);
	struct tessera_bo *other = mock_bo(dev_of(state), 8192);
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_stream s;

	for (int pass = 0; pass < 2; pass++) {
		tessera_cmdbuf_reset(cb);
		tessera_cmdbuf_set_rebind(cb, pass ? UINT64_MAX : 1 << 20);
		assert_int_equal(tessera_cmdbuf_bind(cb, 0, small, &wr), 0);
		assert_int_equal(tessera_cmdbuf_bind(cb, 1, large, &wr), 0);
		assert_int_equal(tessera_cmdbuf_copy(cb, 0, 0, 0, 1, &unit), 0);
		assert_int_equal(tessera_cmdbuf_bind(cb, 2, other, &wr), 0);
		assert_int_equal(tessera_cmdbuf_copy(cb, 0, 0, 0, 2, &unit), 0);
		tessera_cmdbuf_stream(cb, &s);
		assert_int_equal(s.num_patches, pass ? 3 : 4);
		assert_int_equal(s.patches[2].slot_id, pass ? 2 : 1);
		assert_int_equal(s.patches[2].split_offset, 2 * 40 + 40);
	}
	tessera_cmdbuf_del(cb);
	tessera_bo_del(small);
	tessera_bo_del(large);
	tessera_bo_del(other);
}

/*
 * An object has one list element. SPLIT-31: a single write marks it as written.
 */
static void test_write_flag_merge(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *a = mock_bo(dev_of(state), 8192);
	struct tessera_view rd = surface(0, READ), wr = surface(0, WRITE);
	struct tessera_stream s;

	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &rd), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_copy(cb, 1, 1, 1, 0, &unit), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, a, &rd), 0);
	assert_int_equal(tessera_cmdbuf_finish(cb), 0);
	tessera_cmdbuf_stream(cb, &s);
	assert_int_equal(s.num_allocs, 1);
	promise(s.allocs[0].flags == DRM_TESSERA_ALLOC_WRITE,
		"expected an object bound for writing to be listed as written, it is listed as "
		"read");
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
}

/* Bindings that no packet uses leave no words, list elements or references. */
static void test_unused_bindings(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *a = mock_bo(dev_of(state), 8192), *b = mock_bo(dev_of(state), 8192);
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_stream s;

	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, b, &wr), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 3, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 3), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 4), 0);
	assert_int_equal(a->refs, 1);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), 0);
	tessera_cmdbuf_stream(cb, &s);
	assert_int_equal(s.num_allocs, 1);
	assert_int_equal(s.num_patches, 1);
	assert_int_equal(s.allocs[0].handle, tessera_bo_handle(b));
	assert_int_equal(b->refs, 3); /* those of the test, the slot and the list */
	tessera_cmdbuf_reset(cb);
	assert_int_equal(b->refs, 1);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
	tessera_bo_del(b);
}

static unsigned int count_state_packets(struct tessera_cmdbuf *cb, uint32_t *last_header)
{
	struct tessera_stream s;
	unsigned int count = 0;

	tessera_cmdbuf_stream(cb, &s);
	for (uint32_t i = 0; i < s.cmd_bytes / 4; i += s.cmds[i] >> 16) {
		if ((s.cmds[i] & 0xff) == TSR_OP_SET_STATE) {
			count++;
			*last_header = s.cmds[i + 1];
		}
	}
	return count;
}

/* SPLIT-4: all state is sent again after every split point, and only there. */
static void test_state_reemission(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *a = mock_bo(dev_of(state), 8192);
	struct tessera_view wr = surface(0, WRITE);
	const uint32_t all = 0x00070000;
	uint32_t header = 0;

	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 0), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 0, 0, 3, 0), 0);
	assert_int_equal(count_state_packets(cb, &header), 1);
	assert_int_equal(header, all);
	/* No change: nothing is sent. */
	assert_int_equal(tessera_cmdbuf_draw(cb, 0, 0, 3, 0), 0);
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 0), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 0, 0, 3, 0), 0);
	assert_int_equal(count_state_packets(cb, &header), 1);
	/* One register has changed: only this one is sent. */
	assert_int_equal(tessera_cmdbuf_state(cb, TSR_STATE_BLEND, 1), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 0, 0, 3, 0), 0);
	assert_int_equal(count_state_packets(cb, &header), 2);
	assert_int_equal(header, 0x00010005);
	/*
	 * After a bind all state is sent, but not for a fill, which needs none.
	 */
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 1, &unit, 0), 0);
	assert_int_equal(count_state_packets(cb, &header), 2);
	assert_int_equal(tessera_cmdbuf_draw(cb, 0, 0, 3, 0), 0);
	assert_int_equal(count_state_packets(cb, &header), 3);
	assert_int_equal(header, all);
	/* After an unbind all state is sent. */
	assert_int_equal(tessera_cmdbuf_unbind(cb, 1), 0);
	assert_int_equal(tessera_cmdbuf_draw(cb, 0, 0, 3, 0), 0);
	assert_int_equal(count_state_packets(cb, &header), 4);
	assert_int_equal(header, all);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
}

/*
 * The arrays grow, and indices and hash stay right with thousands of objects.
 */
static void test_growth(void **state)
{
	enum {
		N = 3000
	};
	struct tessera_cmdbuf *cb = new_cb(state);
	static struct tessera_bo *bos[N];
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_lint lint;
	struct tessera_stream s;

	for (int i = 0; i < N; i++)
		bos[i] = mock_bo(dev_of(state), 8192);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			assert_int_equal(tessera_cmdbuf_bind(cb, 7, bos[i], &wr), 0);
			assert_int_equal(tessera_cmdbuf_fill(cb, 7, &unit, i), 0);
		}
	}
	tessera_cmdbuf_stream(cb, &s);
	assert_int_equal(s.num_allocs, N);
	assert_int_equal(s.num_patches, 2 * N);
	assert_int_equal(s.cmd_bytes, 2 * N * (40 + 32));
	for (int i = 0; i < 2 * N; i++) {
		assert_int_equal(s.patches[i].alloc_index, i % N);
		assert_int_equal(s.patches[i].split_offset, i * 72);
		assert_int_equal(s.allocs[i % N].handle, tessera_bo_handle(bos[i % N]));
	}
	assert_int_equal(tessera_cmdbuf_lint(cb, &lint), 0);
	tessera_cmdbuf_del(cb);
	for (int i = 0; i < N; i++)
		tessera_bo_del(bos[i]);
}

/*
 * Each allocation may fail. The call then returns -ENOMEM and records nothing,
 * and submission fails until a reset.
 */
static void test_allocation_failure(void **state)
{
	struct mock *mock = mock_of(state);
	struct tessera_device *dev = dev_of(state);
	struct tessera_bo *a = mock_bo(dev, 8192);
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_cmdbuf *cb;
	struct tessera_stream s;
	long first, fail;

	for (fail = 0; fail < 4; fail++) {
		mock->fail_alloc = mock->allocs + fail;
		assert_int_equal(tessera_cmdbuf_new(dev, &cb), -ENOMEM);
	}
	mock->fail_alloc = -1;
	cb = new_cb(state);
	first = mock->allocs;
	/* commands, patches, allocations, references, hash */
	for (fail = 0; fail < 5; fail++) {
		mock->fail_alloc = first + fail;
		mock->allocs = first;
		assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
		assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), -ENOMEM);
		mock->fail_alloc = -1;
		tessera_cmdbuf_stream(cb, &s);
		assert_int_equal(s.cmd_bytes, 0);
		assert_int_equal(s.num_patches, 0);
		assert_int_equal(s.num_allocs, 0);
		assert_int_equal(tessera_cmdbuf_finish(cb), -ENOMEM);
		/* Start again with empty arrays. */
		tessera_cmdbuf_del(cb);
		cb = new_cb(state);
		mock->allocs = first;
	}
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), 0);
	assert_int_equal(mock->allocs, first + 5);
	assert_int_equal(tessera_cmdbuf_finish(cb), 0);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
}

/*
 * Arguments that cannot be encoded are refused, and the buffer fails until a
 * reset.
 */
static void test_bad_arguments(void **state)
{
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *a = mock_bo(dev_of(state), 8192), *odd = mock_bo(dev_of(state), 12288);
	struct tessera_view good = surface(0, WRITE), bad;
	const struct tessera_rect empty = { 0, 0, 0, 1 }, huge = { 0, 0, 16385, 1 };
	struct tessera_context *ctx;

#define REFUSED_AS(what, call)                                                                     \
	do {                                                                                       \
		tessera_cmdbuf_reset(cb);                                                          \
		promise((call) == -EINVAL, "%s is accepted", what);                                \
		assert_int_equal(tessera_cmdbuf_finish(cb), -EINVAL);                              \
	} while (0)
#define REFUSED(call) REFUSED_AS(#call, call)
#define BAD_VIEW(field, value)                                                                     \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.field = (value);                                                               \
		REFUSED_AS("a view whose " #field " is " #value " of an object of 8192 bytes",     \
			   tessera_cmdbuf_bind(cb, 0, a, &bad));                                   \
	} while (0)

	REFUSED(tessera_cmdbuf_bind(cb, 4096, a, &good));
	BAD_VIEW(format, 0);
	BAD_VIEW(format, 6);
	BAD_VIEW(layout, 3);
	BAD_VIEW(access, 0);
	BAD_VIEW(access, 0x40000);
	BAD_VIEW(offset, 4);
	BAD_VIEW(offset, 8); /* the view does not fit at this offset */
	BAD_VIEW(offset, 8192);
	BAD_VIEW(pitch, 252);
	BAD_VIEW(pitch, 258);
	BAD_VIEW(pitch, 0); /* a buffer must not have a size */
	BAD_VIEW(height, 33);
	BAD_VIEW(height, 0);
	BAD_VIEW(width, 16385);
	BAD_VIEW(pitch, TSR_SURF_MAX_PITCH + 4);
	good.layout = TSR_LAYOUT_TILE4K;
	BAD_VIEW(pitch, 260);
	BAD_VIEW(height, 33);
	/* The object has only one and a half rows of tiles. */
	bad = good;
	bad.height = 48;
	REFUSED(tessera_cmdbuf_bind(cb, 0, odd, &bad));
	good.width = 32;
	good.pitch = 128;
	BAD_VIEW(offset, 8);
	tessera_view_init_buffer(&bad);
	bad.offset = 8192; /* no byte is left */
	REFUSED(tessera_cmdbuf_bind(cb, 0, a, &bad));
	good.layout = TSR_LAYOUT_LINEAR;
	REFUSED(tessera_cmdbuf_unbind(cb, 4096));
	REFUSED(tessera_cmdbuf_state(cb, TSR_STATE_COUNT, 0));
	REFUSED(tessera_cmdbuf_fill(cb, 0, &empty, 0));
	REFUSED(tessera_cmdbuf_fill(cb, 4096, &unit, 0));
	REFUSED(tessera_cmdbuf_copy(cb, 0, 0, 0, 4096, &unit));
	REFUSED(tessera_cmdbuf_copy(cb, 0, 0, 0, 0, &empty));
	REFUSED(tessera_cmdbuf_blit(cb, 0, &unit, 0, &huge, 0, 0, 0));
	REFUSED(tessera_cmdbuf_blit(cb, 0, &unit, 0, &unit, TSR_SAMPLER_REPEAT, 0, 0));
	REFUSED(tessera_cmdbuf_blit(cb, 0, &unit, 0, &unit, 0, TSR_BLEND_COUNT, 0));
	REFUSED(tessera_cmdbuf_draw(cb, 0, 0, 3, 0)); /* no target set */
	REFUSED(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 0)
			?: tessera_cmdbuf_draw(cb, 0, 0, 3, TSR_DRAW_TEXTURED));
	REFUSED(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 0)
			?: tessera_cmdbuf_draw(cb, 0, 0, 4, 0));
	REFUSED(tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 0)
			?: tessera_cmdbuf_draw(cb, 0, 0, TSR_DRAW_MAX_VERTICES + 3, 0));
	REFUSED(tessera_cmdbuf_timestamp(cb, 0, 4));
	REFUSED(tessera_cmdbuf_nop(cb, 3));
	REFUSED(tessera_cmdbuf_nop(cb, TSR_PKT_MAX_DWORDS + 2));
	REFUSED(tessera_cmdbuf_raw(cb, (uint32_t[]){ 0 }, 1));

	assert_int_equal(tessera_context_new_default(dev_of(state), &ctx), 0);
	assert_int_equal(tessera_context_submit(ctx, cb, NULL), -EINVAL);
	assert_int_equal(mock_count(mock_of(state), DRM_IOCTL_TESSERA_SUBMIT), 0);
	tessera_context_del(ctx);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
	tessera_bo_del(odd);
}

/* Raw packets see the bindings that were made before them. */
static void test_raw(void **state)
{
	const uint32_t packet[2] = { TSR_PKT_HEADER(TSR_OP_NOP, 0, 2) };
	struct tessera_bo *bo = mock_bo(dev_of(state), 8192);
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_stream stream;

	assert_int_equal(tessera_cmdbuf_bind(cb, 3, bo, &wr), 0);
	assert_int_equal(tessera_cmdbuf_raw(cb, packet, 2), 0);
	tessera_cmdbuf_stream(cb, &stream);
	assert_int_equal(stream.cmd_bytes, (TSR_BIND_SLOT_DWORDS + 2) * 4);
	assert_int_equal(stream.num_patches, 1);
	assert_int_equal(stream.cmds[TSR_BIND_SLOT_DWORDS], packet[0]);
	assert_int_equal(tessera_cmdbuf_raw(cb, packet, 1), -EINVAL);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(bo);
}

/* The library checks the kernel's limits before the submission. */
static void test_limits(void **state)
{
	struct tessera_device *dev = dev_of(state);
	struct tessera_bo *a = mock_bo(dev, 8192), *b = mock_bo(dev, 8192);
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_cmdbuf *cb = new_cb(state);

	dev->info.max_cmd_bytes = 64;
	assert_int_equal(tessera_cmdbuf_nop(cb, 16), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 2), -E2BIG);
	dev->info.max_cmd_bytes = 4096;
	dev->info.max_allocs = 1;
	tessera_cmdbuf_reset(cb);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, b, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), -E2BIG);
	/* SPLIT-21: the NULL element counts, too */
	tessera_cmdbuf_reset(cb);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), 0);
	assert_int_equal(tessera_cmdbuf_unbind(cb, 0), 0);
	assert_int_equal(tessera_cmdbuf_nop(cb, 2), 0);
	assert_int_equal(tessera_cmdbuf_finish(cb), -E2BIG);
	/* a new object in several slots is one element */
	tessera_cmdbuf_reset(cb);
	for (uint32_t slot = 0; slot < 3; slot++)
		assert_int_equal(tessera_cmdbuf_bind(cb, slot, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), 0);
	dev->info.max_allocs = 10;
	dev->info.max_patches = 1;
	tessera_cmdbuf_reset(cb);
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, a, &wr), 0);
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, b, &wr), 0);
	assert_int_equal(tessera_cmdbuf_fill(cb, 0, &unit, 0), -E2BIG);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(a);
	tessera_bo_del(b);
}

/* SPLIT-20: the checker finds nothing in randomly recorded streams. */
static void test_random_streams_conform(void **state)
{
	enum {
		SLOTS = 6,
		BOS = 8
	};
	struct tessera_cmdbuf *cb = new_cb(state);
	struct tessera_bo *bos[BOS];
	struct tessera_view wr = surface(0, WRITE);
	struct tessera_lint lint;
	struct tessera_stream s;

	srand(1);
	for (int i = 0; i < BOS; i++)
		bos[i] = mock_bo(dev_of(state), 8192);
	for (int run = 0; run < 200; run++) {
		bool bound[SLOTS] = { false };

		tessera_cmdbuf_reset(cb);
		tessera_cmdbuf_set_rebind(cb, rand() % 2 ? 0 : UINT64_MAX);
		for (int step = 0; step < 60; step++) {
			uint32_t slot = rand() % SLOTS;

			switch (rand() % 5) {
			case 0:
			case 1:
				assert_int_equal(
					tessera_cmdbuf_bind(cb, slot, bos[rand() % BOS], &wr), 0);
				bound[slot] = true;
				break;
			case 2:
				assert_int_equal(tessera_cmdbuf_unbind(cb, slot), 0);
				bound[slot] = false;
				break;
			case 3:
				if (bound[slot])
					tessera_cmdbuf_fill(cb, slot, &unit, 0);
				break;
			default:
				if (!bound[slot])
					break;
				tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, slot);
				tessera_cmdbuf_draw(cb, slot, 0, 3, 0);
			}
		}
		if (tessera_cmdbuf_lint(cb, &lint))
			fail_msg("run %d: %u findings, first at %u", run, lint.total,
				 lint.first_offset);
		tessera_cmdbuf_stream(cb, &s);
		for (uint32_t i = 1; i < s.num_patches; i++)
			assert_true(s.patches[i].split_offset >= s.patches[i - 1].split_offset);
	}
	tessera_cmdbuf_del(cb);
	for (int i = 0; i < BOS; i++)
		tessera_bo_del(bos[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_packets),	    TEST(test_split_points),
		TEST(test_rebind_size),	    TEST(test_write_flag_merge),
		TEST(test_unused_bindings), TEST(test_state_reemission),
		TEST(test_growth),	    TEST(test_allocation_failure),
		TEST(test_bad_arguments),   TEST(test_raw),
		TEST(test_limits),	    TEST(test_random_streams_conform),
	};

	return cmocka_run_group_tests_name("cmdbuf", tests, NULL, NULL);
}
