// SPDX-License-Identifier: MIT
/*
 * The library has a recording function for every opcode that users may send,
 * and the stream checker knows these opcodes and no others. The opcodes come
 * from tessera_hw.h (opcodes.h is generated from it), so the test fails if a
 * new packet is missing in the library.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

static const struct opcode {
	uint32_t number;
	const char *name;
} opcodes[] = {
#define OPCODE(name) { TSR_OP_##name, #name },
#include "opcodes.h"
};

static const struct tessera_rect unit = { 0, 0, 1, 1 };

static int draw(struct tessera_cmdbuf *cb)
{
	tessera_cmdbuf_state(cb, TSR_STATE_TARGET_SLOT, 0);
	return tessera_cmdbuf_draw(cb, 1, 0, 3, 0);
}

static int fill(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_fill(cb, 0, &unit, 1);
}

static int copy(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_copy(cb, 0, 0, 0, 1, &unit);
}

static int blit(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_blit(cb, 0, &unit, 1, &unit, 0, TSR_BLEND_NONE, UINT32_MAX);
}

static int unbind(struct tessera_cmdbuf *cb)
{
	int ret = fill(cb);

	return ret ? ret : tessera_cmdbuf_unbind(cb, 1);
}

static int timestamp(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_timestamp(cb, 0, 8);
}

static int fence_wait(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_fence_wait(cb, 4096, 1);
}

static int fence_signal(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_fence_signal(cb, 4096, 1);
}

static int nop(struct tessera_cmdbuf *cb)
{
	return tessera_cmdbuf_nop(cb, 4);
}

/*
 * For each opcode a function that records such a packet. Slot 0 is writable,
 * slot 1 is readable.
 */
static const struct {
	uint32_t opcode;
	int (*record)(struct tessera_cmdbuf *cb);
	bool in_vm; /* the packet has an address */
} recorders[] = {
	{ TSR_OP_NOP, nop, false },
	{ TSR_OP_BIND_SLOT, fill, false },
	{ TSR_OP_UNBIND_SLOT, unbind, false },
	{ TSR_OP_SET_STATE, draw, false },
	{ TSR_OP_FILL, fill, false },
	{ TSR_OP_COPY, copy, false },
	{ TSR_OP_BLIT, blit, false },
	{ TSR_OP_DRAW, draw, false },
	{ TSR_OP_QUERY_TIMESTAMP, timestamp, false },
	{ TSR_OP_FENCE_WAIT, fence_wait, true },
	{ TSR_OP_FENCE_SIGNAL, fence_signal, true },
};

static bool has_opcode(const struct tessera_stream *stream, uint32_t opcode)
{
	uint32_t length;

	for (uint32_t i = 0; i < stream->cmd_bytes / 4; i += length) {
		if ((stream->cmds[i] & TSR_PKT_OPCODE_MASK) == opcode)
			return true;
		length = stream->cmds[i] >> TSR_PKT_LENGTH_SHIFT;
	}
	return false;
}

/* SPLIT-20 */
static void record_one(struct tessera_device *dev, const struct opcode *op,
		       int (*record)(struct tessera_cmdbuf *cb), bool in_vm)
{
	struct tessera_context_desc desc = { 0 };
	struct tessera_bo *bo = mock_bo(dev, 8192);
	struct tessera_context *ctx = NULL;
	struct tessera_vm *vm = NULL;
	struct tessera_view view;
	struct tessera_stream stream;
	struct tessera_cmdbuf *cb;
	struct tessera_lint lint;

	if (in_vm) {
		assert_int_equal(tessera_vm_new(dev, &vm), 0);
		assert_int_equal(tessera_context_new_vm(vm, &desc, &ctx), 0);
		assert_int_equal(tessera_cmdbuf_new_for(ctx, &cb), 0);
	} else {
		assert_int_equal(tessera_cmdbuf_new(dev, &cb), 0);
	}
	tessera_view_init_buffer(&view);
	assert_int_equal(tessera_cmdbuf_bind(cb, 1, bo, &view), 0);
	view.access = TSR_SURF_READ | TSR_SURF_WRITE;
	assert_int_equal(tessera_cmdbuf_bind(cb, 0, bo, &view), 0);
	if (record(cb))
		fail_msg("%s is not recorded", op->name);
	if (tessera_cmdbuf_lint(cb, &lint))
		fail_msg("%s: the checker finds %u mistakes at 0x%x", op->name, lint.total,
			 lint.first_offset);
	tessera_cmdbuf_stream(cb, &stream);
	if (!has_opcode(&stream, op->number))
		fail_msg("no packet %s (0x%02x) in the stream", op->name, op->number);
	tessera_cmdbuf_del(cb);
	tessera_bo_del(bo);
	tessera_context_del(ctx);
	tessera_vm_del(vm);
}

static void test_user_opcodes(void **state)
{
	struct tessera_device *dev = ((struct mock_device *)*state)->dev;
	size_t seen = 0;

	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		int (*record)(struct tessera_cmdbuf * cb) = NULL;
		bool in_vm = false;

		if (opcodes[i].number >= TSR_OP_PRIVILEGED)
			continue;
		for (size_t r = 0; r < ARRAY_SIZE(recorders); r++) {
			if (recorders[r].opcode == opcodes[i].number) {
				record = recorders[r].record;
				in_vm = recorders[r].in_vm;
			}
		}
		if (!record)
			fail_msg("the test has no recorder for %s (0x%02x)", opcodes[i].name,
				 opcodes[i].number);
		record_one(dev, &opcodes[i], record, in_vm);
		seen++;
	}
	assert_int_equal(seen, ARRAY_SIZE(recorders));
}

/* An opcode that users may not send is malformed, with any length. */
static void test_other_opcodes(void **state)
{
	struct tessera_device *dev = ((struct mock_device *)*state)->dev;
	struct tessera_cmdbuf *cb;
	struct tessera_lint lint;

	assert_int_equal(tessera_cmdbuf_new(dev, &cb), 0);
	for (uint32_t number = 0; number <= TSR_PKT_OPCODE_MASK; number++) {
		uint32_t packet[16];
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
			known |= opcodes[i].number == number && number < TSR_OP_PRIVILEGED;
		for (uint32_t dwords = 2; dwords <= ARRAY_SIZE(packet) && !known; dwords += 2) {
			memset(packet, 0, sizeof(packet));
			packet[0] = TSR_PKT_HEADER(number, 0, dwords);
			tessera_cmdbuf_reset(cb);
			assert_int_equal(tessera_cmdbuf_raw(cb, packet, dwords), 0);
			assert_int_equal(tessera_cmdbuf_lint(cb, &lint), 1);
			assert_int_equal(lint.malformed, 1);
		}
	}
	tessera_cmdbuf_del(cb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_user_opcodes, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_other_opcodes, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests_name("opcodes", tests, NULL, NULL);
}
