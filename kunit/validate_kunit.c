// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unit tests of the packet validator: which packets a user may send, and that
 * each address is one that the kernel writes (SPLIT-29, SPLIT-31, SEG-16).
 * Single packets, and random buffers.
 */
#include <kunit/test.h>

#include "patch_list.h"
#include "pure/validate.h"

#define NUM_SLOTS	16
#define MAX_DWORDS	48
#define MAX_ENTRIES	4
#define ANYWHERE	TESSERA_PATCH_NOWHERE

enum { NUL, RD, WR, NUM_ALLOCS };

static const struct tessera_patch_alloc allocs[NUM_ALLOCS] = {
	[NUL] = { 0, TESSERA_PATCH_ALLOC_NULL },
	[RD] = { 0x10000, 0 },
	[WR] = { 0x10000, TESSERA_PATCH_ALLOC_WRITE },
};

#define P(op, flags, dwords)	TSR_PKT_HEADER((u32)(op), (u32)(flags), (u32)(dwords))
#define R8		TSR_FORMAT_R8
#define SURF(layout, access) \
	(R8 | (layout) << TSR_SURF_LAYOUT_SHIFT | (access))
#define RSURF		SURF(0, TSR_SURF_READ)
#define RSURF32		(TSR_FORMAT_R32 | TSR_SURF_READ)
#define BIND_HDR	P(TSR_OP_BIND_SLOT, 0, 10)
#define NOP_HDR	P(TSR_OP_NOP, 0, 2)

struct validate_case {
	const char *name;
	int ret;
	/* Offset of the error, or ANYWHERE. */
	u32 offset;
	u32 dwords;
	u32 cmds[MAX_DWORDS];
	u32 num;
	struct tessera_patch patches[MAX_ENTRIES];
};

#define OK(num, ...) \
	.offset = ANYWHERE, .dwords = (num), .cmds = { __VA_ARGS__ }
#define BAD(at, num, ...) \
	.ret = -EINVAL, .offset = (at), .dwords = (num), .cmds = { __VA_ARGS__ }

/* A buffer with a single bind and the given surface. */
#define SHAPE(result, surface, pitch, width, height) \
	.ret = (result), .offset = (result) ? 0 : ANYWHERE, .dwords = 10, \
	.cmds = { BIND_HDR, 1, 0, 0, 0, 0, (surface), (pitch), (width) | (height) << 16, 0 }, \
	.num = 1, .patches = { BIND(RD, 1, 0, 8) }

static const struct validate_case validate_cases[] = {
	/* NOP */
	{ "NOP", OK(2, NOP_HDR, 7) },
	{ "NOP of 48 dwords", OK(48, P(TSR_OP_NOP, 0, 48)) },
	{ "NOP of 4, then of 2", OK(6, P(TSR_OP_NOP, 0, 4), 1, 2, 3, NOP_HDR, 7) },
	{ "NOP with flags", BAD(0, 2, P(TSR_OP_NOP, 1, 2), 0) },
	{ "length 0", BAD(0, 2, P(TSR_OP_NOP, 0, 0), 0) },
	{ "length 1", BAD(0, 2, P(TSR_OP_NOP, 0, 1), 0) },
	{ "odd length", BAD(0, 4, P(TSR_OP_NOP, 0, 3), 0, 0, 0) },
	{ "length beyond the buffer", BAD(8, 4, NOP_HDR, 7, P(TSR_OP_NOP, 0, 4), 0) },
	{ "length beyond the largest", BAD(0, 2, P(TSR_OP_NOP, 0, 1026), 0) },
	{ "largest length field", BAD(0, 2, P(TSR_OP_NOP, 0, 0xfffe), 0) },
	{ "zeroes", BAD(0, 2, 0, 0) },

	/* Opcodes */
	{ "unknown opcode 0x04", BAD(0, 2, P(0x04, 0, 2), 0) },
	{ "unknown opcode 0x0f", BAD(0, 2, P(0x0f, 0, 2), 0) },
	{ "unknown opcode 0x15", BAD(0, 2, P(0x15, 0, 2), 0) },
	{ "unknown opcode 0x7f", BAD(0, 2, P(0x7f, 0, 2), 0) },
	{ "unknown opcode 0xff", BAD(0, 2, P(0xff, 0, 2), 0) },
	{ "privileged JOB_BEGIN", BAD(0, 4, P(TSR_OP_JOB_BEGIN, 0, 4), 0, 0, 0) },
	{ "privileged IB_CALL", BAD(8, 8, NOP_HDR, 7, P(TSR_OP_IB_CALL, 0, 6), 0, 0, 0, 0, 0) },
	{ "privileged user IB_CALL", BAD(0, 6, P(TSR_OP_IB_CALL, 1, 6), 0, 0, 0, 0, 0) },
	{ "privileged FENCE", BAD(0, 6, P(TSR_OP_FENCE, 0, 6), 0, 0, 0, 0, 0) },
	{ "privileged WAIT", BAD(0, 6, P(TSR_OP_WAIT, 0, 6), 0, 0, 0, 0, 0) },
	{ "privileged TIMESTAMP", BAD(0, 4, P(TSR_OP_TIMESTAMP, 0, 4), 0, 0, 0) },
	{ "privileged SIGNAL", BAD(0, 6, P(TSR_OP_SIGNAL, 0, 6), 0, 0, 0, 0, 0) },
	{ "privileged TRANSFER", BAD(0, 14, P(TSR_OP_TRANSFER, 0, 14)) },
	{ "privileged PAGE_FILL", BAD(0, 6, P(TSR_OP_PAGE_FILL, 0, 6)) },
	{ "privileged MAP_APERTURE", BAD(0, 6, P(TSR_OP_MAP_APERTURE, 0, 6)) },
	{ "privileged UNMAP_APERTURE", BAD(0, 4, P(TSR_OP_UNMAP_APERTURE, 0, 4)) },
	{ "privileged MARK", BAD(0, 6, P(TSR_OP_MARK, 0, 6)) },
	{ "privileged WRITE_PTES", BAD(0, 2, P(TSR_OP_WRITE_PTES, 0, 2)) },

	/* SET_STATE */
	{ "SET_STATE of one", OK(4, P(TSR_OP_SET_STATE, 0, 4), 0 | 1 << 16, 5, 0) },
	{ "SET_STATE of two", OK(4, P(TSR_OP_SET_STATE, 0, 4), 5 | 2 << 16, 5, 6) },
	{ "SET_STATE of all",
	  OK(10, P(TSR_OP_SET_STATE, 0, 10), 0 | 7 << 16, 1, 2, 3, 4, 5, 6, 7, 0) },
	{ "SET_STATE of the last", OK(4, P(TSR_OP_SET_STATE, 0, 4), 6 | 1 << 16, 5, 0) },
	{ "SET_STATE of none", BAD(0, 2, P(TSR_OP_SET_STATE, 0, 2), 0) },
	{ "SET_STATE behind the last", BAD(0, 4, P(TSR_OP_SET_STATE, 0, 4), 7 | 1 << 16, 5, 0) },
	{ "SET_STATE past the last", BAD(0, 4, P(TSR_OP_SET_STATE, 0, 4), 6 | 2 << 16, 5, 6) },
	{ "SET_STATE first wraps", BAD(0, 4, P(TSR_OP_SET_STATE, 0, 4), 0xffff | 2 << 16, 5, 6) },
	{ "SET_STATE longer than its count",
	  BAD(0, 6, P(TSR_OP_SET_STATE, 0, 6), 0 | 2 << 16, 5, 6, 0, 0) },
	{ "SET_STATE shorter than its count",
	  BAD(0, 4, P(TSR_OP_SET_STATE, 0, 4), 0 | 3 << 16, 5, 6) },
	{ "SET_STATE padding not zero", BAD(0, 4, P(TSR_OP_SET_STATE, 0, 4), 0 | 1 << 16, 5, 6) },
	{ "SET_STATE with flags", BAD(0, 4, P(TSR_OP_SET_STATE, 2, 4), 0 | 1 << 16, 5, 0) },

	/* Packets of fixed length */
	{ "UNBIND_SLOT", OK(2, P(TSR_OP_UNBIND_SLOT, 0, 2), NUM_SLOTS - 1) },
	{ "UNBIND_SLOT of no slot", BAD(0, 2, P(TSR_OP_UNBIND_SLOT, 0, 2), NUM_SLOTS) },
	{ "UNBIND_SLOT too long", BAD(0, 4, P(TSR_OP_UNBIND_SLOT, 0, 4), 0) },
	{ "FILL", OK(8, P(TSR_OP_FILL, 0, 8), 1, ~0u, ~0u, ~0u, ~0u, ~0u, 0) },
	{ "FILL too short", BAD(0, 6, P(TSR_OP_FILL, 0, 6), 1) },
	{ "FILL too long", BAD(0, 10, P(TSR_OP_FILL, 0, 10), 1) },
	{ "FILL of no slot", BAD(0, 8, P(TSR_OP_FILL, 0, 8), NUM_SLOTS) },
	{ "FILL reserved dword", BAD(0, 8, P(TSR_OP_FILL, 0, 8), 1, 0, 0, 0, 0, 0, 1) },
	{ "COPY", OK(10, P(TSR_OP_COPY, 0, 10), 1, 2) },
	{ "COPY to no slot", BAD(0, 10, P(TSR_OP_COPY, 0, 10), 0x01000001, 2) },
	{ "COPY from no slot", BAD(0, 10, P(TSR_OP_COPY, 0, 10), 1, NUM_SLOTS) },
	{ "COPY reserved dword", BAD(0, 10, P(TSR_OP_COPY, 0, 10), 1, 2, 0, 0, 0, 0, 0, 0, 1) },
	{ "COPY too long", BAD(0, 12, P(TSR_OP_COPY, 0, 12), 1, 2) },
	{ "BLIT", OK(10, P(TSR_OP_BLIT, 0, 10), 1, 2) },
	{ "BLIT reserved dword", BAD(0, 10, P(TSR_OP_BLIT, 0, 10), 1, 2, 0, 0, 0, 0, 0, 0, 1) },
	{ "BLIT too short", BAD(0, 8, P(TSR_OP_BLIT, 0, 8), 1, 2) },
	{ "BLIT with flags", BAD(0, 10, P(TSR_OP_BLIT, 1, 10), 1, 2) },
	{ "DRAW", OK(4, P(TSR_OP_DRAW, 0, 4), 1, 0, 3) },
	{ "DRAW textured", OK(4, P(TSR_OP_DRAW, TSR_DRAW_TEXTURED, 4), 1, 0, 3) },
	{ "DRAW with another flag", BAD(0, 4, P(TSR_OP_DRAW, 2, 4), 1, 0, 3) },
	{ "DRAW of no slot", BAD(0, 4, P(TSR_OP_DRAW, 0, 4), NUM_SLOTS, 0, 3) },
	{ "QUERY_TIMESTAMP", OK(4, P(TSR_OP_QUERY_TIMESTAMP, 0, 4), 1, 8, 0) },
	{ "QUERY_TIMESTAMP reserved dword", BAD(0, 4, P(TSR_OP_QUERY_TIMESTAMP, 0, 4), 1, 8, 1) },
	{ "good packet behind a bad one",
	  BAD(8, 6, NOP_HDR, 7, P(TSR_OP_NOP, 0, 3), 0, NOP_HDR, 7) },

	/* BIND_SLOT and its patch */
	{ "bind", OK(10, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with a base", BAD(0, 10, BIND_HDR, 1, 8, 0, 0, 0, RSURF, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with the largest base", BAD(0, 10, BIND_HDR, 1, ~0u, 0, 0, 0, RSURF, 0, 0, 0),
	  .num = 1, .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with a base that is its patch's number",
	  BAD(40, 20, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0, BIND_HDR, 2, 1, 0, 0, 0, RSURF, 0,
	      0, 0), .num = 2, .patches = { BIND(RD, 1, 0, 8), BIND(RD, 2, 0, 48) } },
	{ "bind with an upper half of a base",
	  BAD(0, 10, BIND_HDR, 1, 0, 1, 0, 0, RSURF, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with a limit", BAD(0, 10, BIND_HDR, 1, 0, 0, 1, 0, RSURF, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with an upper half of a limit",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 1, RSURF, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind without access", SHAPE(-EINVAL, SURF(0, 0), 0, 0, 0) },
	{ "bind of a swizzled buffer", SHAPE(-EINVAL, SURF(1, TSR_SURF_READ), 0, 0, 0) },
	{ "bind of a buffer with a width", SHAPE(-EINVAL, RSURF, 0, 1, 0) },
	{ "bind of a buffer with a height", SHAPE(-EINVAL, RSURF, 0, 0, 1) },
	{ "bind of the smallest surface", SHAPE(0, RSURF, 1, 1, 1) },
	{ "bind of the largest surface",
	  SHAPE(0, RSURF32, TSR_SURF_MAX_PITCH, TSR_SURF_MAX_DIM, TSR_SURF_MAX_DIM) },
	{ "bind of a surface too wide",
	  SHAPE(-EINVAL, RSURF, TSR_SURF_MAX_PITCH, TSR_SURF_MAX_DIM + 1, 1) },
	{ "bind of a surface too high",
	  SHAPE(-EINVAL, RSURF, TSR_SURF_MAX_PITCH, 1, TSR_SURF_MAX_DIM + 1) },
	{ "bind of a surface without width", SHAPE(-EINVAL, RSURF, 64, 0, 1) },
	{ "bind of a surface without height", SHAPE(-EINVAL, RSURF, 64, 1, 0) },
	{ "bind with the pitch of a row", SHAPE(0, RSURF32, 64, 16, 2) },
	{ "bind with a pitch below a row", SHAPE(-EINVAL, RSURF32, 60, 16, 2) },
	{ "bind with a pitch of half a texel", SHAPE(-EINVAL, RSURF32, 66, 16, 2) },
	{ "bind with a pitch beyond the largest",
	  SHAPE(-EINVAL, RSURF, TSR_SURF_MAX_PITCH + 1, 1, 1) },
	{ "bind of a swizzled surface", SHAPE(0, SURF(1, TSR_SURF_READ), 128, 1, 1) },
	{ "bind of a swizzled surface of half a tile's pitch",
	  SHAPE(-EINVAL, SURF(2, TSR_SURF_READ), 64, 1, 1) },
	{ "bind of a swizzled surface at a tile",
	  OK(10, BIND_HDR, 1, 0, 0, 0, 0, SURF(1, TSR_SURF_READ), 128, 1 | 1 << 16, 0), .num = 1,
	  .patches = { BIND_AT(RD, 1, 0, 8, 4096) } },
	{ "bind of a swizzled surface inside a tile",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, SURF(1, TSR_SURF_READ), 128, 1 | 1 << 16, 0),
	  .num = 1, .patches = { BIND_AT(RD, 1, 0, 8, 2048) } },
	{ "bind without a patch", BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0) },
	{ "bind that pretends to be patched",
	  BAD(0, 20, P(TSR_OP_BIND_SLOT, 0, 10), 1, 0, 0, 0, 0, RSURF, 0, 0, 0, BIND_HDR, 2, 0, 0,
	      0, 0, RSURF, 0, 0, 0), .num = 1, .patches = { BIND(RD, 2, 0, 48) } },
	{ "second bind without a patch",
	  BAD(40, 20, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0,
	      0, 0), .num = 1, .patches = { BIND(RD, 1, 0, 8) } },
	{ "two binds, patches in order",
	  OK(20, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0, BIND_HDR, 2, 0, 0, 0, 0, RSURF, 0, 0,
	     0), .num = 2, .patches = { BIND(RD, 1, 0, 8), BIND(RD, 2, 0, 48) } },
	{ "two binds, patches out of order in one split point",
	  OK(20, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0, BIND_HDR, 2, 0, 0, 0, 0, RSURF, 0, 0,
	     0), .num = 2, .patches = { BIND(RD, 2, 0, 48), BIND(RD, 1, 0, 8) } },
	{ "two patches for one bind", BAD(8, 10, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0),
	  .num = 2, .patches = { BIND(RD, 1, 0, 8), BIND(RD, 1, 0, 8) } },
	{ "two patches overlapping by half", BAD(16, 10, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0),
	  .num = 2, .patches = { BIND(RD, 1, 0, 8), BIND(RD, 1, 0, 16) } },
	{ "patch of a packet that is no bind",
	  BAD(8, 8, P(TSR_OP_FILL, 0, 8), 1, 0, 0, 0, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "patch of a NOP", BAD(8, 10, P(TSR_OP_NOP, 0, 10)), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "patch of a bind inside a NOP",
	  BAD(16, 12, P(TSR_OP_NOP, 0, 12), 0, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 16) } },
	{ "patch at a bind's header",
	  BAD(0, 12, BIND_HDR, 1, 0, 0, 0, 0, RSURF, 0, 0, 0, NOP_HDR, 7), .num = 1,
	  .patches = { BIND(RD, 1, 0, 16) } },
	{ "bind of another slot than its patch",
	  BAD(0, 10, BIND_HDR, 2, 0, 0, 0, 0, SURF(0, TSR_SURF_READ), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with upper slot bits",
	  BAD(0, 10, BIND_HDR, 0x01000001, 0, 0, 0, 0, SURF(0, TSR_SURF_READ), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "SPLIT-31 write to an allocation listed as written",
	  OK(10, BIND_HDR, 1, 0, 0, 0, 0, SURF(0, TSR_SURF_WRITE), 0, 0, 0), .num = 1,
	  .patches = { BIND(WR, 1, 0, 8) } },
	{ "SPLIT-31 write to an allocation listed as read",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, SURF(0, TSR_SURF_WRITE), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "SPLIT-31 read and write to an allocation listed as read",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, SURF(0, TSR_SURF_READ | TSR_SURF_WRITE), 0, 0, 0),
	  .num = 1, .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind of the last layout",
	  OK(10, BIND_HDR, 1, 0, 0, 0, 0, SURF(2, TSR_SURF_READ), 128, 1 | 1 << 16, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind of an unknown layout",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, SURF(3, TSR_SURF_READ), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind of format 0", BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, TSR_SURF_READ, 0, 0, 0),
	  .num = 1, .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind of the last format",
	  OK(10, BIND_HDR, 1, 0, 0, 0, 0, TSR_FORMAT_R32 | TSR_SURF_READ, 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind of an unknown format",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, (TSR_FORMAT_R32 + 1) | TSR_SURF_READ, 0, 0, 0),
	  .num = 1, .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with reserved surface bits",
	  BAD(0, 10, BIND_HDR, 1, 0, 0, 0, 0, SURF(0, 0x00040000), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind with a reserved dword",
	  BAD(0, 10, P(TSR_OP_BIND_SLOT, 0, 10), 1, 0, 0, 0, 0, RSURF, 0, 0, 1), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },
	{ "bind too long", BAD(0, 12, P(TSR_OP_BIND_SLOT, 0, 12), 1, 0, 0, 0, 0, RSURF), .num = 1,
	  .patches = { BIND(RD, 1, 0, 8) } },

	/* Split points */
	{ "split points at packets", OK(8, NOP_HDR, 7, NOP_HDR, 7, P(TSR_OP_NOP, 0, 4)), .num = 3,
	  .patches = { UNBIND(1, 0), UNBIND(1, 8), UNBIND(1, 16) } },
	{ "split point at the end", OK(2, NOP_HDR, 7), .num = 1, .patches = { UNBIND(1, 8) } },
	{ "split point inside a packet", BAD(24, 8, NOP_HDR, 7, NOP_HDR, 7, P(TSR_OP_NOP, 0, 4)),
	  .num = 2, .patches = { UNBIND(1, 16), UNBIND(1, 24) } },
	{ "split point inside its own bind",
	  BAD(8, 10, BIND_HDR, 1, 0, 0, 0, 0, SURF(0, TSR_SURF_READ), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 8, 8) } },
	{ "split point before its bind",
	  OK(12, NOP_HDR, 7, BIND_HDR, 1, 0, 0, 0, 0, SURF(0, TSR_SURF_READ), 0, 0, 0), .num = 1,
	  .patches = { BIND(RD, 1, 8, 16) } },
	{ "several elements at one split point", OK(4, NOP_HDR, 7, NOP_HDR, 7), .num = 3,
	  .patches = { UNBIND(1, 8), UNBIND(2, 8), UNBIND(3, 8) } },
};

KUNIT_ARRAY_PARAM_DESC(validate, validate_cases, name);

struct validate_fixture {
	struct tessera_slot_table table;
	struct tessera_slot_row rows[NUM_SLOTS];
	u32 live[NUM_SLOTS];
	__le32 cmds[MAX_DWORDS];
	u32 order[MAX_ENTRIES];
};

static int validate_init(struct kunit *test)
{
	struct validate_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	tessera_slot_init(&f->table, f->rows, f->live, NUM_SLOTS);
	test->priv = f;

	return 0;
}

static void make_list(struct tessera_patch_list *list, const struct tessera_patch *patches,
		      u32 num, u32 bytes)
{
	*list = (struct tessera_patch_list) {
		.patches = patches,
		.num_patches = num,
		.allocs = allocs,
		.num_allocs = NUM_ALLOCS,
		.cmd_bytes = bytes,
		.num_slots = NUM_SLOTS,
	};
}

static void test_packets(struct kunit *test)
{
	const struct validate_case *c = test->param_value;
	struct tessera_patch_error err = { ANYWHERE, ANYWHERE };
	struct validate_fixture *f = test->priv;
	struct tessera_patch_list list;
	u32 i, bound = 0, num_order = 99;

	for (i = 0; i < c->dwords; i++)
		f->cmds[i] = cpu_to_le32(c->cmds[i]);
	/* The opcode of a row for unknown opcodes must still be unknown. */
	if (!strncmp(c->name, "unknown opcode", 14))
		KUNIT_EXPECT_NULL(test, tessera_cmd_lookup(c->cmds[0] & TSR_PKT_OPCODE_MASK));
	make_list(&list, c->patches, c->num, c->dwords * 4);
	KUNIT_ASSERT_EQ(test, tessera_patch_check(&list, &f->table, &err), 0);
	KUNIT_EXPECT_EQ(test, tessera_validate(f->cmds, &list, f->order, &num_order, &err),
			c->ret);
	KUNIT_EXPECT_EQ(test, err.offset, c->offset);
	if (c->ret)
		return;

	for (i = 0; i < c->num; i++)
		bound += c->patches[i].alloc_index != NUL;
	KUNIT_ASSERT_EQ(test, num_order, bound);
	for (i = 1; i < num_order; i++)
		KUNIT_EXPECT_GT(test, c->patches[f->order[i]].patch_offset,
				c->patches[f->order[i - 1]].patch_offset);
	/* Words that no patch covers are unchanged. */
	for (i = 0; i < c->dwords; i++) {
		bool patched = false;
		u32 j;

		for (j = 0; j < c->num; j++)
			patched |= c->patches[j].patch_offset &&
				   i * 4 - c->patches[j].patch_offset < TSR_BIND_PATCH_BYTES;
		if (!patched)
			KUNIT_EXPECT_EQ(test, le32_to_cpu(f->cmds[i]), c->cmds[i]);
	}
}

static void test_unaligned_size(struct kunit *test)
{
	struct tessera_patch_error err;
	struct validate_fixture *f = test->priv;
	struct tessera_patch_list list;
	u32 num_order;

	f->cmds[0] = cpu_to_le32(P(TSR_OP_NOP, 0, 2));
	make_list(&list, NULL, 0, 12);
	KUNIT_EXPECT_EQ(test, tessera_validate(f->cmds, &list, f->order, &num_order, &err),
			-EINVAL);
}

static void test_empty(struct kunit *test)
{
	struct tessera_patch_error err;
	struct validate_fixture *f = test->priv;
	struct tessera_patch_list list;
	u32 num_order = 99;

	make_list(&list, NULL, 0, 0);
	KUNIT_EXPECT_EQ(test, tessera_validate(f->cmds, &list, f->order, &num_order, &err), 0);
	KUNIT_EXPECT_EQ(test, num_order, 0);
}

/*
 * Long walks call the check callback and stop when it returns an error: walks
 * over elements, over split points, and over packets.
 */
static void test_pauses(struct kunit *test)
{
	const u32 num = TESSERA_PATCH_STEPS + 1;
	struct validate_fixture *f = test->priv;
	struct tessera_patch_error err;
	struct tessera_patch_list list;
	struct tessera_patch *patches;
	u32 i, calls, left, num_order;
	__le32 *cmds;

	patches = kunit_kcalloc(test, num, sizeof(*patches), GFP_KERNEL);
	cmds = kunit_kcalloc(test, 2 * num, sizeof(*cmds), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, patches);
	KUNIT_ASSERT_NOT_NULL(test, cmds);
	for (i = 0; i < num; i++)
		cmds[2 * i] = cpu_to_le32(NOP_HDR);
	make_list(&list, patches, num, 2 * num * sizeof(*cmds));
	list.check = check_down;
	list.check_ctx = &left;
	for (calls = 0; calls <= 3; calls++) {
		left = calls;
		KUNIT_EXPECT_EQ(test, tessera_validate(cmds, &list, f->order, &num_order, &err),
				calls < 3 ? -EINTR : 0);
		KUNIT_EXPECT_EQ(test, left, 0);
	}
}

/* ---- Random buffers ------------------------------------------------------ */

#define RANDOM_DWORDS	256
#define RANDOM_ENTRIES	24
#define MARKER		0x5a5a000000000000ULL

struct random_fixture {
	struct tessera_slot_row rows[NUM_SLOTS];
	u32 live[NUM_SLOTS];
	__le32 cmds[RANDOM_DWORDS];
	u32 order[RANDOM_ENTRIES];
	struct tessera_patch patches[RANDOM_ENTRIES];
	u32 seed;
};

static u32 rnd(struct random_fixture *r, u32 limit)
{
	r->seed = r->seed * 1664525 + 1013904223;

	return (r->seed >> 8) % limit;
}

/*
 * Make mostly valid packets and patches, so that many buffers pass the first
 * checks. Returns bytes.
 */
static u32 random_buffer(struct random_fixture *r, u32 *num)
{
	static const u8 ops[] = { TSR_OP_NOP, TSR_OP_UNBIND_SLOT, TSR_OP_FILL, TSR_OP_COPY,
				  TSR_OP_DRAW, TSR_OP_FENCE };
	static const u8 lens[] = { 2, 2, 8, 10, 4, 6 };
	u32 at = 0, i;

	memset(r->cmds, 0, sizeof(r->cmds));
	*num = 0;
	while (at < RANDOM_DWORDS - 16) {
		u32 kind = rnd(r, 16);

		if (kind < 8) {
			u32 slot = rnd(r, NUM_SLOTS), alloc = RD + rnd(r, 2);
			u32 access = rnd(r, 64) ? TSR_SURF_READ : TSR_SURF_WRITE;

			if (alloc == WR)
				access |= TSR_SURF_WRITE;
			r->cmds[at] = cpu_to_le32(P(TSR_OP_BIND_SLOT, 0, 10));
			r->cmds[at + 1] = cpu_to_le32(slot);
			if (!rnd(r, 64))
				r->cmds[at + 2] = cpu_to_le32(rnd(r, RANDOM_ENTRIES));
			r->cmds[at + 6] = cpu_to_le32(SURF(0, access));
			if (*num < RANDOM_ENTRIES && rnd(r, 64)) {
				r->patches[*num] = (struct tessera_patch)BIND(alloc, slot, at * 4,
									       at * 4 + 8);
				if (!rnd(r, 64))
					r->patches[*num].patch_offset += 8;
				if (!rnd(r, 64))
					r->patches[*num].slot_id ^= 1;
				++*num;
			}
			at += 10;
		} else {
			i = rnd(r, 64) ? rnd(r, 5) : 5;
			r->cmds[at] = cpu_to_le32(P(ops[i], 0, lens[i]));
			r->cmds[at + 1] = cpu_to_le32(rnd(r, NUM_SLOTS));
			at += lens[i];
		}
		if (!rnd(r, 256))
			r->cmds[rnd(r, at)] ^= cpu_to_le32(BIT(rnd(r, 32)));
	}

	return at * 4;
}

/*
 * A simple check of an accepted buffer: each packet is allowed, and each
 * address was written by a patch.
 */
static void expect_isolated(struct kunit *test, const __le32 *cmds, u32 dwords)
{
	u32 at = 0;

	while (at < dwords) {
		u32 header = le32_to_cpu(cmds[at]);
		u32 len = header >> 16;

		KUNIT_ASSERT_LT(test, header & 0xff, TSR_OP_PRIVILEGED);
		KUNIT_ASSERT_GT(test, len, 0);
		KUNIT_ASSERT_LE(test, len, dwords - at);
		if ((header & 0xff) == TSR_OP_BIND_SLOT) {
			u32 index = le32_to_cpu(cmds[at + 2]);

			KUNIT_ASSERT_EQ(test, len, 10);
			KUNIT_ASSERT_EQ(test, le32_to_cpu(cmds[at + 3]), MARKER >> 32);
			KUNIT_ASSERT_EQ(test, le32_to_cpu(cmds[at + 1]), index >> 8);
			KUNIT_ASSERT_EQ(test, le32_to_cpu(cmds[at + 4]),
					allocs[index & 0xff].size);
			if (le32_to_cpu(cmds[at + 6]) & TSR_SURF_WRITE)
				KUNIT_ASSERT_EQ(test, index & 0xff, WR);
		}
		at += len;
	}
}

static void test_random_isolation(struct kunit *test)
{
	u32 round, i, num, bytes, num_order, accepted = 0, refused = 0;
	struct tessera_slot_table table;
	struct random_fixture *r;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	tessera_slot_init(&table, r->rows, r->live, NUM_SLOTS);
	r->seed = 20;

	for (round = 0; round < 20000; round++) {
		struct tessera_patch_error err;
		struct tessera_patch_list list;

		bytes = random_buffer(r, &num);
		make_list(&list, r->patches, num, bytes);
		if (tessera_patch_check(&list, &table, &err) ||
		    tessera_validate(r->cmds, &list, r->order, &num_order, &err)) {
			refused++;
			continue;
		}
		accepted++;
		for (i = 0; i < num; i++)
			tessera_patch_write(r->cmds, r->patches[i].patch_offset,
					    MARKER | r->patches[i].slot_id << 8 |
					    r->patches[i].alloc_index,
					    allocs[r->patches[i].alloc_index].size);
		expect_isolated(test, r->cmds, bytes / 4);
	}
	/* The test is meaningful only if both outcomes are frequent. */
	KUNIT_EXPECT_GT(test, accepted, 1000);
	KUNIT_EXPECT_GT(test, refused, 1000);
}

static void test_every_opcode(struct kunit *test)
{
	struct validate_fixture *f = test->priv;
	u32 op, accepted = 0;

	for (op = 0; op < 256; op++) {
		const struct tessera_cmd_def *def = tessera_cmd_lookup(op);
		struct tessera_patch_error err;
		struct tessera_patch_list list;
		u32 num_order, len;

		if (op >= TSR_OP_PRIVILEGED)
			KUNIT_EXPECT_NULL_MSG(test, def, "opcode 0x%02x", op);
		/* An unknown packet is refused with any length. */
		for (len = 0; len <= 16 && !def; len++) {
			memset(f->cmds, 0, sizeof(f->cmds));
			f->cmds[0] = cpu_to_le32(P(op, 0, len));
			make_list(&list, NULL, 0, MAX_DWORDS * 4);
			KUNIT_EXPECT_EQ(test, tessera_validate(f->cmds, &list, f->order,
							       &num_order, &err), -EINVAL);
		}
		accepted += !!def;
	}
	KUNIT_EXPECT_EQ(test, accepted, 9);
	KUNIT_EXPECT_NULL(test, tessera_cmd_lookup(256));
	KUNIT_EXPECT_NULL(test, tessera_cmd_lookup(U32_MAX));
}

static struct kunit_case validate_kunit_cases[] = {
	KUNIT_CASE_PARAM(test_packets, validate_gen_params),
	KUNIT_CASE(test_unaligned_size),
	KUNIT_CASE(test_empty),
	KUNIT_CASE(test_pauses),
	KUNIT_CASE_SLOW(test_random_isolation),
	KUNIT_CASE(test_every_opcode),
	{ }
};

static struct kunit_suite validate_suite = {
	.name = "tessera_validate",
	.init = validate_init,
	.test_cases = validate_kunit_cases,
};

kunit_test_suite(validate_suite);
