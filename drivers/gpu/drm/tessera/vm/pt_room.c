// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: room for writes of page tables
 *
 * What a change has to write is known when nothing may fail any more. So a batch is given room before: a
 * place for each table that may be written, an empty packet until then, and one for the flush behind them. A
 * table takes a few packets, each for entries that follow each other; or one with a list of them, where they may be in
 * no order.
 *
 * No locks: the caller has that of the tables.
 */
#include <linux/slab.h>

#include "paging/queue.h"
#include "vm/pt_room.h"
#include "vm/table.h"

/* Packets for one table, before a list takes less. */
#define WRITE_PACKETS	16U
#define WRITE_DWORDS	(WRITE_PACKETS * TSR_WRITE_PTES_DWORDS)

#define GROUP		16U	/* entries of a leaf of 64 KiB */

struct tessera_pt_write {
	__le32 *at;
	struct tessera_paging_list *list;
};

/* Entries that one packet can write. */
struct run {
	u64 value, step;
	u32 first, count;
	bool groups;
};

static int room_add(struct tessera_pt_room *room, struct tessera_paging_batch *batch, bool list)
{
	struct tessera_pt_write *write = &room->writes[room->num];
	struct tessera_paging_job *pjob;

	write->at = tessera_paging_reserve(batch, WRITE_DWORDS, &pjob);
	if (IS_ERR(write->at))
		return PTR_ERR(write->at);
	if (list) {
		write->list = tessera_paging_list_create(pjob);
		if (IS_ERR(write->list))
			return PTR_ERR(write->list);
	}
	room->num++;

	return 0;
}

/**
 * tessera_pt_room_add_flush() - end it
 * @room: the room
 * @batch: the batch
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_room_add_flush(struct tessera_pt_room *room, struct tessera_paging_batch *batch)
{
	struct tessera_paging_job *pjob;

	room->flush = tessera_paging_reserve(batch, TSR_TLB_FLUSH_DWORDS, &pjob);

	return PTR_ERR_OR_ZERO(room->flush);
}

/**
 * tessera_pt_room_alloc() - begin to make room in a batch
 * @room: the room; tessera_pt_room_fini() even after a failure
 * @num: most tables that are written
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_room_alloc(struct tessera_pt_room *room, u32 num)
{
	*room = (struct tessera_pt_room) { };
	room->writes = kvcalloc(num, sizeof(*room->writes), GFP_KERNEL_ACCOUNT);

	return room->writes ? 0 : -ENOMEM;
}

/**
 * tessera_pt_room_init() - make room in a batch
 * @room: the room; tessera_pt_room_fini() even after a failure
 * @batch: the batch
 * @num: tables that may be written
 * @lists: what is written may be in no order
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_room_init(struct tessera_pt_room *room, struct tessera_paging_batch *batch,
			 u32 num, bool lists)
{
	int ret = tessera_pt_room_alloc(room, num);

	while (!ret && room->num < num)
		ret = room_add(room, batch, lists);

	return ret ?: tessera_pt_room_add_flush(room, batch);
}

/**
 * tessera_pt_room_fini() - forget where there was room
 * @room: the room, zeroed or initialised
 */
void tessera_pt_room_fini(struct tessera_pt_room *room)
{
	kvfree(room->writes);
	room->writes = NULL;
}

/* What the device is to find. */
static u64 entry_of(const struct tessera_pt *pt, u32 index)
{
	u64 slot = pt->slot[index];

	if (!slot || !pt->level || (slot & TSR_PTE_VALID))
		return slot;

	return ((struct tessera_pt *)(uintptr_t)slot)->entry;
}

static void run_of_groups(const struct tessera_pt *pt, u32 end, struct run *run)
{
	u32 i = run->first + GROUP;

	run->groups = true;
	run->step = GROUP * TSR_PAGE_SIZE;
	while (i + GROUP <= end && pt->slot[i] == run->value +
	       (i - run->first) / GROUP * run->step)
		i += GROUP;
	run->count = i - run->first;
}

static void run_of_entries(const struct tessera_pt *pt, u32 end, struct run *run)
{
	u32 i = run->first + 1;

	if (i < end)
		run->step = entry_of(pt, i) - run->value;
	while (i < end && entry_of(pt, i) == run->value + (i - run->first) * run->step)
		i++;
	run->count = i - run->first;
}

/* The entries from @first on that one packet can write. */
static struct run run_at(const struct tessera_pt *pt, u32 first, u32 end)
{
	struct run run = { .value = entry_of(pt, first), .first = first };
	bool group = !pt->level && (run.value & TSR_PTE_64K);

	/* A part of a group is as good as any entries. */
	if (group && first % GROUP == 0 && first + GROUP <= end)
		run_of_groups(pt, end, &run);
	else
		run_of_entries(pt, end, &run);

	return run;
}

static u32 count_runs(const struct tessera_pt *pt, u32 first, u32 end)
{
	u32 runs = 0;

	for (; first < end; runs++)
		first += run_at(pt, first, end).count;

	return runs;
}

static void put_words(__le32 *at, const u32 *words, u32 dwords)
{
	u32 i;

	for (i = 0; i < dwords; i++)
		at[i] = cpu_to_le32(words[i]);
}

static void put_write(__le32 *at, const struct tessera_table *table, const struct run *run,
		      u32 flags)
{
	u64 addr = table->addr + run->first * sizeof(__le64);

	flags |= table->cpu ? 0 : TSR_PTES_VRAM;
	put_words(at, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_WRITE_PTES, flags, TSR_WRITE_PTES_DWORDS), run->count,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(run->value), upper_32_bits(run->value),
		lower_32_bits(run->step), upper_32_bits(run->step),
	}, TSR_WRITE_PTES_DWORDS);
}

static void emit_runs(const struct tessera_table *table, struct tessera_pt_write *write)
{
	__le32 *at = write->at, *end = at + WRITE_DWORDS;
	u32 first = table->dirty_first;

	while (first < table->dirty_end) {
		struct run run = run_at(&table->pt, first, table->dirty_end);

		put_write(at, table, &run, run.groups ? TSR_PTES_GROUPS : 0);
		at += TSR_WRITE_PTES_DWORDS;
		first += run.count;
	}
	if (at < end)
		put_words(at, (u32 []) { TSR_PKT_HEADER(TSR_OP_NOP, 0, end - at) }, 1);
}

static void emit_list(const struct tessera_table *table, struct tessera_pt_write *write)
{
	struct run run = {
		.first = table->dirty_first,
		.count = table->dirty_end - table->dirty_first,
		.value = write->list->dma,
	};
	u32 rest = WRITE_DWORDS - TSR_WRITE_PTES_DWORDS;
	u32 i;

	for (i = 0; i < run.count; i++)
		write->list->cpu[i] = cpu_to_le64(entry_of(&table->pt, run.first + i));
	put_write(write->at, table, &run, TSR_PTES_LIST);
	put_words(write->at + TSR_WRITE_PTES_DWORDS,
		  (u32 []) { TSR_PKT_HEADER(TSR_OP_NOP, 0, rest) }, 1);
}

/**
 * tessera_pt_room_add() - make room for a table that is there
 * @room: the room
 * @batch: the batch
 * @table: the table, all of which is written
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_room_add(struct tessera_pt_room *room, struct tessera_paging_batch *batch,
			const struct tessera_table *table)
{
	return room_add(room, batch, count_runs(&table->pt, 0, TSR_PT_ENTRIES) > WRITE_PACKETS);
}

/**
 * tessera_pt_room_write() - write what has changed of a table
 * @room: the room
 * @table: the table
 *
 * Return: false if there is not room enough.
 */
bool tessera_pt_room_write(struct tessera_pt_room *room, const struct tessera_table *table)
{
	struct tessera_pt_write *write = &room->writes[room->used];

	if (room->used >= room->num)
		return false;
	if (count_runs(&table->pt, table->dirty_first, table->dirty_end) <= WRITE_PACKETS)
		emit_runs(table, write);
	else if (write->list)
		emit_list(table, write);
	else
		return false;
	room->used++;

	return true;
}

/**
 * tessera_pt_room_flush() - forget translations, behind all that is written
 * @room: the room
 * @asid: of this address space
 * @first: from this address on
 * @last: up to here
 */
void tessera_pt_room_flush(struct tessera_pt_room *room, u32 asid, u64 first, u64 last)
{
	u64 bytes = last - first + 1;

	put_words(room->flush, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_TLB_FLUSH, 0, TSR_TLB_FLUSH_DWORDS), asid,
		lower_32_bits(first), upper_32_bits(first),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_TLB_FLUSH_DWORDS);
}
