/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_CMD_DEFS_H__
#define __TESSERA_PURE_CMD_DEFS_H__

#include "pure.h"

#include "tessera/tessera_hw.h"

/**
 * enum tessera_cmd_operand - contents of one payload dword of a user packet
 */
enum tessera_cmd_operand {
	/** @TESSERA_CMD_ANY: a value the device checks when it uses it */
	TESSERA_CMD_ANY = 0,
	/** @TESSERA_CMD_ZERO: reserved, must be zero */
	TESSERA_CMD_ZERO,
	/** @TESSERA_CMD_SLOT: a binding slot id */
	TESSERA_CMD_SLOT,
	/**
	 * @TESSERA_CMD_PATCHED: overwritten by the kernel before the device
	 * reads it
	 */
	TESSERA_CMD_PATCHED,
	/** @TESSERA_CMD_SURFACE: format, layout and access of a binding */
	TESSERA_CMD_SURFACE,
};

/** TESSERA_CMD_MAX_OPERANDS: payload dwords of the longest fixed user packet */
#define TESSERA_CMD_MAX_OPERANDS	9

/**
 * enum tessera_cmd_shape - how the length of a packet is determined
 */
enum tessera_cmd_shape {
	/** @TESSERA_CMD_UNKNOWN: not a packet that user space may send */
	TESSERA_CMD_UNKNOWN = 0,
	/** @TESSERA_CMD_FIXED: exactly &tessera_cmd_def.dwords */
	TESSERA_CMD_FIXED,
	/** @TESSERA_CMD_PADDING: any even length, payload ignored */
	TESSERA_CMD_PADDING,
	/** @TESSERA_CMD_STATE: first register and count, then values */
	TESSERA_CMD_STATE,
};

/**
 * struct tessera_cmd_def - one row of the opcode table
 */
struct tessera_cmd_def {
	/** @shape: &enum tessera_cmd_shape */
	u8 shape;
	/** @dwords: length of a fixed packet, header included */
	u8 dwords;
	/** @flags: header flags user space may set */
	u8 flags;
	/**
	 * @operands: &enum tessera_cmd_operand of each dword from dword 1 on
	 */
	u8 operands[TESSERA_CMD_MAX_OPERANDS];
};

const struct tessera_cmd_def *tessera_cmd_lookup(u32 opcode);

#endif /* __TESSERA_PURE_CMD_DEFS_H__ */
