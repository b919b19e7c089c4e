// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: opcode table
 *
 * One row for each packet that user space may send: its length, the header
 * flags that it may carry, and the contents of each of its dwords. Packets
 * without a row are refused. Called by the validator; no locks, no state.
 */
#include "cmd_defs.h"

#define ANY	TESSERA_CMD_ANY
#define ZERO	TESSERA_CMD_ZERO
#define SLOT	TESSERA_CMD_SLOT
#define PATCHED	TESSERA_CMD_PATCHED
#define SURFACE	TESSERA_CMD_SURFACE

static const struct tessera_cmd_def cmd_defs[] = {
	[TSR_OP_NOP] = { .shape = TESSERA_CMD_PADDING },
	[TSR_OP_BIND_SLOT] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_BIND_SLOT_DWORDS,
		.operands = { SLOT, PATCHED, PATCHED, PATCHED, PATCHED,
			      SURFACE, ANY, ANY, ZERO },
	},
	[TSR_OP_UNBIND_SLOT] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_UNBIND_SLOT_DWORDS,
		.operands = { SLOT },
	},
	[TSR_OP_SET_STATE] = { .shape = TESSERA_CMD_STATE },
	[TSR_OP_FILL] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_FILL_DWORDS,
		.operands = { SLOT, ANY, ANY, ANY, ANY, ANY, ZERO },
	},
	[TSR_OP_COPY] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_COPY_DWORDS,
		.operands = { SLOT, SLOT, ANY, ANY, ANY, ANY, ANY, ANY, ZERO },
	},
	[TSR_OP_BLIT] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_BLIT_DWORDS,
		.operands = { SLOT, SLOT, ANY, ANY, ANY, ANY, ANY, ANY, ZERO },
	},
	[TSR_OP_DRAW] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_DRAW_DWORDS,
		.flags = TSR_DRAW_TEXTURED,
		.operands = { SLOT, ANY, ANY },
	},
	[TSR_OP_QUERY_TIMESTAMP] = {
		.shape = TESSERA_CMD_FIXED,
		.dwords = TSR_QUERY_TIMESTAMP_DWORDS,
		.operands = { SLOT, ANY, ZERO },
	},
};

/**
 * tessera_cmd_lookup() - find the row of an opcode
 * @opcode: opcode of a user packet
 *
 * Return: the row, or NULL if user space may not send that packet.
 */
const struct tessera_cmd_def *tessera_cmd_lookup(u32 opcode)
{
	const struct tessera_cmd_def *def;

	BUILD_BUG_ON(ARRAY_SIZE(cmd_defs) > TSR_OP_PRIVILEGED);

	if (opcode >= ARRAY_SIZE(cmd_defs))
		return NULL;
	def = &cmd_defs[array_index_nospec(opcode, ARRAY_SIZE(cmd_defs))];

	return def->shape == TESSERA_CMD_UNKNOWN ? NULL : def;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_cmd_lookup);
