// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: packets that write page tables
 *
 * Adds packets to a batch that bring the device's copy of a page table up to
 * date. A packet writes consecutive entries with a constant step between their
 * values. If the dirty part of a table would need many such packets, one
 * packet with a list of entries is used instead.
 *
 * No locks: the caller holds &tessera_page_tables.lock.
 */
#include <linux/err.h>
#include <linux/kernel.h>

#include "paging/paging.h"
#include "vm/vm.h"

/* Maximum packets per table; with more, a list is smaller. */
#define WRITE_PACKETS	16U

#define GROUP		16U	/* entries of a leaf of 64 KiB */

/* Consecutive entries that one packet can write. */
struct span {
	u64 value, step;
	u32 first, count;
	bool groups;
};

/* The value of an entry in the device's copy. */
static u64 entry_of(const struct tessera_pt *pt, u32 index)
{
	u64 slot = pt->slot[index];

	if (!slot || !pt->level || (slot & TSR_PTE_VALID))
		return slot;

	return ((struct tessera_pt *)(uintptr_t)slot)->entry;
}

static void span_of_groups(const struct tessera_pt *pt, u32 end, struct span *span)
{
	u32 i = span->first + GROUP;

	span->groups = true;
	span->step = GROUP * TSR_PAGE_SIZE;
	while (i + GROUP <= end && pt->slot[i] == span->value +
	       (i - span->first) / GROUP * span->step)
		i += GROUP;
	span->count = i - span->first;
}

static void span_of_entries(const struct tessera_pt *pt, u32 end, struct span *span)
{
	u32 i = span->first + 1;

	if (i < end)
		span->step = entry_of(pt, i) - span->value;
	while (i < end && entry_of(pt, i) == span->value + (i - span->first) * span->step)
		i++;
	span->count = i - span->first;
}

/* Find the entries from @first on that one packet can write. */
static struct span span_at(const struct tessera_pt *pt, u32 first, u32 end)
{
	struct span span = { .value = entry_of(pt, first), .first = first };
	bool group = !pt->level && (span.value & TSR_PTE_64K);

	/* A partial group of 64 KiB is written as single entries. */
	if (group && first % GROUP == 0 && first + GROUP <= end)
		span_of_groups(pt, end, &span);
	else
		span_of_entries(pt, end, &span);

	return span;
}

static u32 count_spans(const struct tessera_pt *pt, u32 first, u32 end)
{
	u32 spans = 0;

	for (; first < end; spans++)
		first += span_at(pt, first, end).count;

	return spans;
}

static void put_words(__le32 *at, const u32 *words, u32 dwords)
{
	u32 i;

	for (i = 0; i < dwords; i++)
		at[i] = cpu_to_le32(words[i]);
}

static void put_write(__le32 *at, const struct tessera_pt_page *table, const struct span *span,
		      u32 flags)
{
	u64 addr = (table->pt.entry & TSR_PTE_ADDR_MASK) + span->first * sizeof(__le64);

	flags |= table->pt.entry & TSR_PTE_VRAM ? TSR_PTES_VRAM : 0;
	put_words(at, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_WRITE_PTES, flags, TSR_WRITE_PTES_DWORDS), span->count,
		lower_32_bits(addr), upper_32_bits(addr),
		lower_32_bits(span->value), upper_32_bits(span->value),
		lower_32_bits(span->step), upper_32_bits(span->step),
	}, TSR_WRITE_PTES_DWORDS);
}

static int write_spans(struct tessera_paging_batch *batch, const struct tessera_pt_page *table,
		       u32 spans)
{
	u32 first = table->dirty_first;
	struct tessera_paging_job *pjob;
	__le32 *at;

	at = tessera_paging_reserve(batch, spans * TSR_WRITE_PTES_DWORDS, &pjob);
	if (IS_ERR(at))
		return PTR_ERR(at);
	while (first < table->dirty_end) {
		struct span span = span_at(&table->pt, first, table->dirty_end);

		put_write(at, table, &span, span.groups ? TSR_PTES_GROUPS : 0);
		at += TSR_WRITE_PTES_DWORDS;
		first += span.count;
	}

	return 0;
}

static int write_list(struct tessera_paging_batch *batch, const struct tessera_pt_page *table)
{
	struct span span = {
		.first = table->dirty_first,
		.count = table->dirty_end - table->dirty_first,
	};
	struct tessera_paging_list *list;
	struct tessera_paging_job *pjob;
	__le32 *at;
	u32 i;

	at = tessera_paging_reserve(batch, TSR_WRITE_PTES_DWORDS, &pjob);
	if (IS_ERR(at))
		return PTR_ERR(at);
	list = tessera_paging_list_create(pjob);
	if (IS_ERR(list))
		return PTR_ERR(list);
	for (i = 0; i < span.count; i++)
		list->cpu[i] = cpu_to_le64(entry_of(&table->pt, span.first + i));
	span.value = list->dma;
	put_write(at, table, &span, TSR_PTES_LIST);

	return 0;
}

/**
 * tessera_pt_write() - add packets that write the dirty entries of a table
 * @batch: the batch, not prepared
 * @table: the table, with dirty entries
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_write(struct tessera_paging_batch *batch, const struct tessera_pt_page *table)
{
	u32 spans = count_spans(&table->pt, table->dirty_first, table->dirty_end);

	return spans <= WRITE_PACKETS ? write_spans(batch, table, spans) :
					  write_list(batch, table);
}

/**
 * tessera_pt_flush() - add a packet that flushes TLB entries
 * @batch: the batch, not prepared; its writes come first
 * @asid: the ASID
 * @first: first address
 * @last: last address, inclusive
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_flush(struct tessera_paging_batch *batch, u32 asid, u64 first, u64 last)
{
	struct tessera_paging_job *pjob;
	u64 bytes = last - first + 1;
	__le32 *at;

	at = tessera_paging_reserve(batch, TSR_TLB_FLUSH_DWORDS, &pjob);
	if (IS_ERR(at))
		return PTR_ERR(at);
	put_words(at, (u32 []) {
		TSR_PKT_HEADER(TSR_OP_TLB_FLUSH, 0, TSR_TLB_FLUSH_DWORDS), asid,
		lower_32_bits(first), upper_32_bits(first),
		lower_32_bits(bytes), upper_32_bits(bytes),
	}, TSR_TLB_FLUSH_DWORDS);

	return 0;
}
