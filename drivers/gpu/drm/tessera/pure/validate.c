// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: command validator
 *
 * Proves that the device may run a command buffer on behalf of a user. The
 * buffer must consist of unprivileged packets of exact length, and the kernel
 * must write every address in it. Only BIND_SLOT contains addresses. Each
 * BIND_SLOT must have exactly one patch list element, for the same slot. It may
 * have write access only to an allocation that is listed as written. The device
 * checks all accesses through a slot against its bounds.
 *
 * The walk takes linear time and no memory of its own. The index of each
 * element is first written into the base field that it patches. This finds the
 * element of a packet without sorting. The kernel overwrites that field later
 * in any event. An index found in a packet counts only if that element names
 * this very place, so a value that the user has written there has no effect.
 *
 * Called by the submission path with its own copy of the commands. No locks.
 */
#include "validate.h"

struct validate_walk {
	u8 *cmds;
	const struct tessera_patch_list *list;
	struct tessera_patch_error *err;
	u32 *order;
	u32 num_order;
	/* First element whose split point is at or after the packet. */
	u32 split_pos;
};

static bool element_at(const struct tessera_patch_list *list, u32 index, u32 patch_offset)
{
	if (index >= list->num_patches)
		return false;
	index = array_index_nospec(index, list->num_patches);

	return list->patches[index].patch_offset == patch_offset;
}

/*
 * Flag beside the index in a base field: the user had not left base and limit
 * zero.
 */
#define NUMBER_NOT_ZERO		BIT(31)

/*
 * Write the index of each element into its base field. Two elements for one
 * place are refused.
 */
static int number_patches(struct validate_walk *walk, u32 *num_bound)
{
	const struct tessera_patch_list *list = walk->list;
	u32 count = 0;
	u32 i;
	int ret;

	for (i = 0; i < list->num_patches; i++) {
		u32 offset = list->patches[i].patch_offset;
		__le32 *base;
		u32 before;
		bool used;

		ret = tessera_patch_pause(list, i);
		if (ret)
			return ret;

		if (tessera_patch_is_null(list, &list->patches[i]))
			continue;
		base = (__le32 *)(walk->cmds + offset);
		before = le32_to_cpu(*base) & ~NUMBER_NOT_ZERO;
		if (before < i && element_at(list, before, offset))
			return tessera_patch_refuse(walk->err, offset, i);
		used = base[0] || base[1] || base[2] || base[3];
		*base = cpu_to_le32(i | (used ? NUMBER_NOT_ZERO : 0));
		count++;
	}
	*num_bound = count;

	return 0;
}

/* Find an element without a packet, for the error message. */
static int unused_patch(struct validate_walk *walk)
{
	const struct tessera_patch_list *list = walk->list;
	u32 i;

	for (i = 0; i < list->num_patches; i++) {
		const struct tessera_patch *patch = &list->patches[i];
		const __le32 *base = (const __le32 *)(walk->cmds + patch->patch_offset);

		if (!tessera_patch_is_null(list, patch) &&
		    *base != cpu_to_le32(TESSERA_PATCH_NOWHERE))
			return tessera_patch_refuse(walk->err, patch->patch_offset, i);
	}

	return tessera_patch_refuse(walk->err, TESSERA_PATCH_NOWHERE, TESSERA_PATCH_NOWHERE);
}

static bool surface_ok(u32 surface)
{
	u32 format = FIELD_GET(TSR_SURF_FORMAT_MASK, surface);
	u32 layout = FIELD_GET(TSR_SURF_LAYOUT_MASK, surface);

	return !(surface & ~TSR_SURF_VALID_BITS) &&
	       format >= TSR_FORMAT_R8 && format <= TSR_FORMAT_R32 &&
	       layout < TSR_LAYOUT_COUNT;
}

static int validate_operands(const struct tessera_cmd_def *def,
			     const __le32 *packet, u32 num_slots)
{
	u32 i;

	for (i = 1; i < def->dwords; i++) {
		u32 value = le32_to_cpu(packet[i]);
		bool ok = true;

		switch (def->operands[i - 1]) {
		case TESSERA_CMD_ZERO:
			ok = !value;
			break;
		case TESSERA_CMD_SLOT:
			ok = value < num_slots;
			break;
		case TESSERA_CMD_SURFACE:
			ok = surface_ok(value);
			break;
		default:
			break;
		}
		if (!ok)
			return -EINVAL;
	}

	return 0;
}

static int validate_state(const __le32 *packet, u32 dwords)
{
	u32 spec = le32_to_cpu(packet[1]);
	u32 first = spec & U16_MAX;
	u32 count = spec >> 16;

	if (!count || first >= TSR_STATE_COUNT || count > TSR_STATE_COUNT - first)
		return -EINVAL;
	if (dwords != ALIGN(2 + count, 2))
		return -EINVAL;
	if ((count & 1) && packet[2 + count])
		return -EINVAL;

	return 0;
}

static u32 format_bytes(u32 format)
{
	switch (format) {
	case TSR_FORMAT_R8:
		return 1;
	case TSR_FORMAT_RGB565:
		return 2;
	default:
		return 4;
	}
}

/*
 * Check the shape of a binding as the device would. Format and layout are
 * checked before.
 */
static bool shape_ok(const __le32 *packet)
{
	u32 surface = le32_to_cpu(packet[6]);
	u32 pitch = le32_to_cpu(packet[7]);
	u32 width = le32_to_cpu(packet[8]) & U16_MAX;
	u32 height = le32_to_cpu(packet[8]) >> 16;
	u32 layout = FIELD_GET(TSR_SURF_LAYOUT_MASK, surface);
	u32 texel = format_bytes(FIELD_GET(TSR_SURF_FORMAT_MASK, surface));

	if (!(surface & (TSR_SURF_READ | TSR_SURF_WRITE)))
		return false;
	if (!pitch)
		return layout == TSR_LAYOUT_LINEAR && !width && !height;

	return pitch <= TSR_SURF_MAX_PITCH && pitch % texel == 0 &&
	       (layout == TSR_LAYOUT_LINEAR || pitch % TSR_TILE_WIDTH_BYTES == 0) &&
	       width && width <= TSR_SURF_MAX_DIM && width * texel <= pitch &&
	       height && height <= TSR_SURF_MAX_DIM;
}

/*
 * Objects begin at pages, so the offset in the element determines the
 * alignment.
 */
static bool alloc_offset_ok(const __le32 *packet, const struct tessera_patch *patch)
{
	u32 layout = FIELD_GET(TSR_SURF_LAYOUT_MASK, le32_to_cpu(packet[6]));

	return layout == TSR_LAYOUT_LINEAR || IS_ALIGNED(patch->alloc_offset, TSR_TILE_BYTES);
}

static int validate_bind(struct validate_walk *walk, u32 offset)
{
	__le32 *packet = (__le32 *)(walk->cmds + offset);
	const struct tessera_patch_list *list = walk->list;
	u32 number = le32_to_cpu(packet[2]);
	u32 index = number & ~NUMBER_NOT_ZERO;
	const struct tessera_patch *patch;

	BUILD_BUG_ON(TSR_BIND_PATCH_OFFSET != 2 * sizeof(__le32));

	if (!shape_ok(packet) || !element_at(list, index, offset + TSR_BIND_PATCH_OFFSET))
		return tessera_patch_refuse(walk->err, offset, TESSERA_PATCH_NOWHERE);
	index = array_index_nospec(index, list->num_patches);
	patch = &list->patches[index];

	if ((number & NUMBER_NOT_ZERO) || le32_to_cpu(packet[1]) != patch->slot_id ||
	    !alloc_offset_ok(packet, patch))
		return tessera_patch_refuse(walk->err, offset, index);
	if ((le32_to_cpu(packet[6]) & TSR_SURF_WRITE) &&
	    !(list->allocs[patch->alloc_index].flags & TESSERA_PATCH_ALLOC_WRITE))
		return tessera_patch_refuse(walk->err, offset, index);

	packet[2] = cpu_to_le32(TESSERA_PATCH_NOWHERE);
	walk->order[walk->num_order++] = index;

	return 0;
}

/* Check one packet; returns its length in bytes or a negative error code. */
static int validate_packet(struct validate_walk *walk, u32 offset, u32 remaining)
{
	const __le32 *packet = (const __le32 *)(walk->cmds + offset);
	u32 header = le32_to_cpu(packet[0]);
	u32 dwords = FIELD_GET(TSR_PKT_LENGTH_MASK, header);
	const struct tessera_cmd_def *def;
	int ret = 0;

	def = tessera_cmd_lookup(FIELD_GET(TSR_PKT_OPCODE_MASK, header));
	if (!def || (FIELD_GET(TSR_PKT_FLAGS_MASK, header) & ~def->flags))
		goto err_packet;
	if (!dwords || (dwords & 1) || dwords > TSR_PKT_MAX_DWORDS ||
	    dwords * sizeof(*packet) > remaining)
		goto err_packet;

	switch (def->shape) {
	case TESSERA_CMD_FIXED:
		ret = dwords == def->dwords ?
		      validate_operands(def, packet, walk->list->num_slots) : -EINVAL;
		break;
	case TESSERA_CMD_STATE:
		ret = validate_state(packet, dwords);
		break;
	default:
		break;
	}
	if (ret)
		goto err_packet;

	if (FIELD_GET(TSR_PKT_OPCODE_MASK, header) == TSR_OP_BIND_SLOT) {
		ret = validate_bind(walk, offset);
		if (ret)
			return ret;
	}

	return dwords * sizeof(*packet);

err_packet:
	return tessera_patch_refuse(walk->err, offset, TESSERA_PATCH_NOWHERE);
}

/*
 * A split point up to the end of the packet must be at the start of the packet.
 */
static int validate_splits(struct validate_walk *walk, u32 offset, u32 next)
{
	const struct tessera_patch_list *list = walk->list;
	int ret;

	for (; walk->split_pos < list->num_patches; walk->split_pos++) {
		u32 split = list->patches[walk->split_pos].split_offset;

		if (split >= next)
			break;
		if (split != offset)
			return tessera_patch_refuse(walk->err, split, walk->split_pos);
		ret = tessera_patch_pause(list, walk->split_pos);
		if (ret)
			return ret;
	}

	return 0;
}

/**
 * tessera_validate() - check a command buffer against its patch list
 * @cmds: the kernel's copy of the commands, 8-byte aligned; fields to be
 *	patched are overwritten
 * @list: a list that tessera_patch_check() accepted, @list->cmd_bytes a
 *	multiple of 8
 * @order: memory for @list->num_patches numbers; receives the indexes of the
 *	elements that are not NULL, in the order of their packets
 * @num_order: receives the length of @order
 * @err: the place of the error, written on failure
 *
 * Return: 0, -EINVAL, or an error of &tessera_patch_list.check.
 */
int tessera_validate(void *cmds, const struct tessera_patch_list *list,
		     u32 *order, u32 *num_order, struct tessera_patch_error *err)
{
	struct validate_walk walk = {
		.cmds = cmds,
		.list = list,
		.err = err,
		.order = order,
	};
	u32 num_bound = 0;
	u32 num_packets = 0;
	u32 offset = 0;
	int ret;

	if (!IS_ALIGNED(list->cmd_bytes, TSR_PKT_ALIGN))
		return tessera_patch_refuse(err, list->cmd_bytes, TESSERA_PATCH_NOWHERE);

	ret = number_patches(&walk, &num_bound);
	if (ret)
		return ret;

	while (offset < list->cmd_bytes) {
		int bytes = validate_packet(&walk, offset, list->cmd_bytes - offset);

		if (bytes < 0)
			return bytes;
		ret = validate_splits(&walk, offset, offset + bytes) ?:
		      tessera_patch_pause(list, ++num_packets);
		if (ret)
			return ret;
		offset += bytes;
	}
	/*
	 * Each packet has used another element, so equal counts mean that all
	 * were used.
	 */
	if (walk.num_order != num_bound)
		return unused_patch(&walk);
	*num_order = walk.num_order;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_validate);
