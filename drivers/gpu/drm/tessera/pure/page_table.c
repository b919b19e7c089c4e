// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: page tables of GPU virtual addresses
 *
 * Maintains the page tables of an address space while ranges are mapped and
 * unmapped. It decides which tables exist, which leaves are large, and which
 * entries to write. It uses the largest leaf that address and memory alignment
 * allow. A leaf that is changed in part is first replaced by smaller ones, so
 * that mappings beside the range stay unchanged.
 *
 * A change has two steps. tessera_pt_prepare() allocates all tables that the
 * change may need. It may fail, and changes no translation. After it
 * tessera_pt_set() cannot fail. Tables that become empty are released.
 *
 * Called by the owner of the address space, with its lock held.
 */
#include "page_table.h"

#define GROUP		16U	/* entries of a 64 KiB leaf */
#define GROUP_BYTES	((u64)GROUP * TSR_PAGE_SIZE)
#define ADDR		TSR_PTE_ADDR_MASK

static u32 slot_of(u64 va, u32 level)
{
	return (va >> (TSR_PAGE_SHIFT + 9 * level)) % TSR_PT_ENTRIES;
}

static bool is_leaf(const struct tessera_pt *pt, u32 index)
{
	return pt->slot[index] & TSR_PTE_VALID;
}

/* Tables are aligned, so a pointer to one never has TSR_PTE_VALID set. */
static struct tessera_pt *table_at(const struct tessera_pt *pt, u32 index)
{
	return is_leaf(pt, index) ? NULL : (struct tessera_pt *)(uintptr_t)pt->slot[index];
}

static void slot_set(struct tessera_pt *pt, u32 index, u64 value)
{
	pt->used += !pt->slot[index] && value;
	pt->used -= pt->slot[index] && !value;
	pt->slot[index] = value;
}

/* Advance an entry by @bytes, if it has an address. */
static u64 entry_at(u64 entry, u64 bytes)
{
	return entry & TSR_PTE_VALID && !(entry & TSR_PTE_NULL) ? entry + bytes : entry;
}

/*
 * True if the memory of @entry, mapped at @va, can be mapped by leaves of that
 * size.
 */
static bool fits_leaf(u64 entry, u64 va, u64 size)
{
	return (entry & TSR_PTE_NULL) || !(((entry & ADDR) ^ va) & (size - 1));
}

static void stale(struct tessera_pt_tree *tree, u64 first, u64 last)
{
	tree->flush_first = min(tree->flush_first, first);
	tree->flush_last = max(tree->flush_last, last);
}

static void name_table(struct tessera_pt_tree *tree, struct tessera_pt *pt, u32 index,
		       struct tessera_pt *table)
{
	slot_set(pt, index, (uintptr_t)table);
	tree->ops->changed(tree->owner, pt, index, 1);
}

static struct tessera_pt *new_table(struct tessera_pt_tree *tree, u32 level)
{
	struct tessera_pt *table = tree->ops->alloc(tree->owner);

	if (table)
		table->level = level;

	return table;
}

/**
 * tessera_pt_init() - set up an address space without mappings
 * @tree: the address space
 * @ops: callbacks of its owner
 * @owner: argument for @ops
 * @root: an empty table; the caller keeps its ownership
 */
void tessera_pt_init(struct tessera_pt_tree *tree, const struct tessera_pt_ops *ops,
		     void *owner, struct tessera_pt *root)
{
	root->level = TSR_PT_LEVELS - 1;
	*tree = (struct tessera_pt_tree) {
		.ops = ops,
		.owner = owner,
		.root = root,
		.flush_first = U64_MAX,
	};
}
EXPORT_SYMBOL_IF_KUNIT(tessera_pt_init);

/**
 * tessera_pt_entry() - get the entry for an address in the table of one level
 * @tree: the address space
 * @va: the address
 * @level: the level, below TSR_PT_LEVELS
 *
 * Return: the entry as the device sees it after all writes; 0 if it is empty,
 * or if no table of that level covers @va.
 */
u64 tessera_pt_entry(const struct tessera_pt_tree *tree, u64 va, u32 level)
{
	const struct tessera_pt *pt = tree->root, *next;

	for (; pt; pt = next) {
		u32 index = slot_of(va, pt->level);

		next = table_at(pt, index);
		if (pt->level == level)
			return next ? next->entry : pt->slot[index];
	}

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_pt_entry);

/*
 * Find the level 1 directory for @va. With @make, create missing tables; NULL
 * means out of memory then. Without @make, NULL means that the directory does
 * not exist, and *skip is set to the next address for which one may exist.
 */
static struct tessera_pt *blocks_of(struct tessera_pt_tree *tree, u64 va, bool make, u64 *skip)
{
	struct tessera_pt *pt = tree->root, *next;

	while (pt->level > 1) {
		u32 index = slot_of(va, pt->level);

		next = table_at(pt, index);
		if (!next && !make) {
			/*
			 * End of the range that one slot of this level covers.
			 */
			*skip = (va | (((u64)TSR_PAGE_SIZE << (9 * pt->level)) - 1)) + 1;
			return NULL;
		}
		if (!next) {
			next = new_table(tree, pt->level - 1);
			if (!next)
				return NULL;
			name_table(tree, pt, index, next);
		}
		pt = next;
	}

	return pt;
}

/*
 * Set entries of one table of pages. With TSR_PTE_64K in @entry they are whole
 * 64 KiB groups, each with sixteen equal entries. Without it they must not be
 * part of a group, unless all pages of that group are set.
 */
static void set_pages(struct tessera_pt_tree *tree, struct tessera_pt *pt, u32 first, u32 count,
		      u64 entry)
{
	u32 leaf = entry & TSR_PTE_64K ? GROUP : 1;
	u32 i;

	if (!count)
		return;
	for (i = 0; i < count; i++)
		slot_set(pt, first + i, entry_at(entry, ALIGN_DOWN(i, leaf) * (u64)TSR_PAGE_SIZE));
	tree->ops->changed(tree->owner, pt, first, count);
}

/*
 * Replace the leaf of a whole block by a table of pages with the same
 * translation.
 */
static int block_to_pages(struct tessera_pt_tree *tree, struct tessera_pt *blocks, u32 index,
			  u64 va)
{
	u64 entry = blocks->slot[index] & ~TSR_PTE_LEAF;
	struct tessera_pt *table = new_table(tree, 0);

	if (!table)
		return -ENOMEM;
	set_pages(tree, table, 0, TSR_PT_ENTRIES, entry);
	name_table(tree, blocks, index, table);
	va = ALIGN_DOWN(va, TESSERA_PT_BLOCK);
	stale(tree, va, va + TESSERA_PT_BLOCK - 1);

	return 0;
}

/*
 * Prepare a block that cannot become one leaf, or that loses a part of its
 * leaf.
 */
static int prepare_block(struct tessera_pt_tree *tree, struct tessera_pt *blocks, u64 va,
			 bool map)
{
	u32 index = slot_of(va, 1);
	struct tessera_pt *table;

	if (is_leaf(blocks, index))
		return block_to_pages(tree, blocks, index, va);
	if (!map || table_at(blocks, index))
		return 0;
	table = new_table(tree, 0);
	if (!table)
		return -ENOMEM;
	name_table(tree, blocks, index, table);

	return 0;
}

/* The part of a range that is in the block of its first byte. */
static u64 block_part(u64 va, u64 bytes)
{
	return min(bytes, TESSERA_PT_BLOCK - va % TESSERA_PT_BLOCK);
}

/**
 * tessera_pt_prepare() - allocate the tables that a change needs
 * @tree: the address space
 * @va: start of the range, a multiple of the page size
 * @bytes: size of the range, a multiple of the page size; not beyond
 *	TSR_VM_ADDRESS_BITS
 * @entry: as for tessera_pt_set()
 *
 * Changes no translation.
 *
 * Return: 0 or -ENOMEM. In both cases empty tables may be left. They are
 * released when a range that they cover is unmapped.
 */
int tessera_pt_prepare(struct tessera_pt_tree *tree, u64 va, u64 bytes, u64 entry)
{
	u64 end = va + bytes, part, skip;
	struct tessera_pt *blocks;
	int ret;

	for (; va < end; va += part, entry = entry_at(entry, part)) {
		cond_resched();
		part = block_part(va, end - va);
		blocks = blocks_of(tree, va, entry, &skip);
		if (!blocks && entry)
			return -ENOMEM;
		if (!blocks) {
			part = min(skip, end) - va;
			continue;
		}
		if (part == TESSERA_PT_BLOCK && (!entry || fits_leaf(entry, va, part)))
			continue;
		ret = prepare_block(tree, blocks, va, entry);
		if (ret)
			return ret;
	}

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_pt_prepare);

/*
 * Replace the 64 KiB leaf around @index by pages, if the change begins or ends
 * inside it.
 */
static void group_to_pages(struct tessera_pt_tree *tree, struct tessera_pt *pt, u32 index, u64 va)
{
	u32 first = ALIGN_DOWN(index, GROUP);
	u64 entry = pt->slot[index];

	if (index == first || !(entry & TSR_PTE_64K))
		return;
	set_pages(tree, pt, first, GROUP, entry & ~TSR_PTE_64K);
	va = ALIGN_DOWN(va, GROUP_BYTES);
	stale(tree, va, va + GROUP_BYTES - 1);
}

/* Set a part of a block that has a table. */
static void set_in_table(struct tessera_pt_tree *tree, struct tessera_pt *pt, u64 va, u64 bytes,
			 u64 entry)
{
	u32 first = slot_of(va, 0), end = first + (bytes >> TSR_PAGE_SHIFT);
	u32 groups = ALIGN(first, GROUP), behind = ALIGN_DOWN(end, GROUP);

	group_to_pages(tree, pt, first, va);
	if (end < TSR_PT_ENTRIES)
		group_to_pages(tree, pt, end, va + bytes);
	if (!entry || groups >= behind || !fits_leaf(entry, va, GROUP_BYTES)) {
		groups = end;
		behind = end;
	}
	set_pages(tree, pt, first, groups - first, entry);
	entry = entry_at(entry, (u64)(groups - first) * TSR_PAGE_SIZE);
	set_pages(tree, pt, groups, behind - groups, entry | TSR_PTE_64K);
	entry = entry_at(entry, (u64)(behind - groups) * TSR_PAGE_SIZE);
	set_pages(tree, pt, behind, end - behind, entry);
}

/* Map a whole block with one leaf, or unmap it. */
static void set_block(struct tessera_pt_tree *tree, struct tessera_pt *blocks, u64 va, u64 entry)
{
	u32 index = slot_of(va, 1);
	struct tessera_pt *table = table_at(blocks, index);

	if (!entry && !blocks->slot[index])
		return;
	if (entry)
		entry |= TSR_PTE_LEAF;
	slot_set(blocks, index, entry);
	tree->ops->changed(tree->owner, blocks, index, 1);
	if (table)
		tree->ops->release(tree->owner, table);
}

/* Release the empty tables on the way to @va, from the lowest one up. */
static void prune(struct tessera_pt_tree *tree, u64 va)
{
	struct tessera_pt *way[TSR_PT_LEVELS], *pt = tree->root;
	u32 level;

	for (level = TSR_PT_LEVELS - 1; pt; level--) {
		way[level] = pt;
		pt = level ? table_at(pt, slot_of(va, level)) : NULL;
		if (!pt)
			break;
	}
	for (; level < TSR_PT_LEVELS - 1 && !way[level]->used; level++) {
		name_table(tree, way[level + 1], slot_of(va, level + 1), NULL);
		tree->ops->release(tree->owner, way[level]);
	}
}

static void set_part(struct tessera_pt_tree *tree, struct tessera_pt *blocks, u64 va, u64 part,
		     u64 entry)
{
	struct tessera_pt *table = table_at(blocks, slot_of(va, 1));

	if (part == TESSERA_PT_BLOCK && (!entry || fits_leaf(entry, va, part)))
		set_block(tree, blocks, va, entry);
	else if (table)
		set_in_table(tree, table, va, part, entry);
	if (!entry)
		prune(tree, va);
}

/**
 * tessera_pt_set() - map or unmap a range of addresses
 * @tree: the address space, after tessera_pt_prepare() with the same range and
 *	entry
 * @va: start of the range, a multiple of the page size
 * @bytes: size of the range, a multiple of the page size; not beyond
 *	TSR_VM_ADDRESS_BITS
 * @entry: level 0 entry of the first page, without TSR_PTE_64K. The memory is
 *	contiguous, or the entry is TSR_PTE_NULL. 0: unmap
 *
 * Adds the range, and leaves around it that were replaced, to the range to
 * flush in @tree. The caller resets that range after flushing.
 */
void tessera_pt_set(struct tessera_pt_tree *tree, u64 va, u64 bytes, u64 entry)
{
	u64 end = va + bytes, part, skip;
	struct tessera_pt *blocks;

	if (bytes)
		stale(tree, va, end - 1);
	for (; va < end; va += part, entry = entry_at(entry, part)) {
		cond_resched();
		part = block_part(va, end - va);
		blocks = blocks_of(tree, va, false, &skip);
		if (blocks) {
			set_part(tree, blocks, va, part, entry);
			continue;
		}
		/*
		 * Release empty tables that a failed tessera_pt_prepare() has
		 * left.
		 */
		if (!entry)
			prune(tree, va);
		part = min(skip, end) - va;
	}
}
EXPORT_SYMBOL_IF_KUNIT(tessera_pt_set);
