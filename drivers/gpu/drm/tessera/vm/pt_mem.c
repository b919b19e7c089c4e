// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: page table memory
 *
 * A table is a page of hidden VRAM behind the microcode. If that is used up, it
 * is a page of uncached system memory. The CPU accesses neither: it has its own
 * copy of each table, and the paging engine writes the device's. The number of
 * tables of a process is limited.
 *
 * Locks: a leaf spinlock for the map of hidden VRAM.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <drm/drm_managed.h>

#include "client/client.h"
#include "tessera_device.h"
#include "vm/vm.h"

struct tessera_pt_mem_map {
	/* Protects @used. */
	spinlock_t lock;
	/* GPU address of the first page, and one bit for each that is in use. */
	u64 base;
	u32 pages;
	unsigned long *used;
};

/**
 * tessera_pt_mem_init() - set up the memory of page tables
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_pt_mem_init(struct tessera_device *tdev)
{
	const u64 microcode = ALIGN(TSR_FW_MAX_BYTES, TSR_PAGE_SIZE);
	struct tessera_pt_mem_map *memory;

	memory = drmm_kzalloc(&tdev->drm, sizeof(*memory), GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	spin_lock_init(&memory->lock);
	memory->base = tdev->info.hidden_base + microcode;
	if (tdev->info.hidden_size > microcode)
		memory->pages = min_t(u64, (tdev->info.hidden_size - microcode) >> TSR_PAGE_SHIFT,
				      TESSERA_MAX_PT_PAGES);
	memory->used = drmm_kcalloc(&tdev->drm, BITS_TO_LONGS(max(memory->pages, 1U)),
				    sizeof(*memory->used), GFP_KERNEL);
	if (!memory->used)
		return -ENOMEM;
	tdev->pt_mem_map = memory;
	tdev->max_tables = TESSERA_MAX_PT_PAGES;

	return 0;
}

static bool take_hidden(struct tessera_pt_mem_map *memory, u64 *addr)
{
	u32 page;

	spin_lock(&memory->lock);
	page = find_first_zero_bit(memory->used, memory->pages);
	if (page < memory->pages)
		__set_bit(page, memory->used);
	spin_unlock(&memory->lock);
	*addr = memory->base + (u64)page * TSR_PAGE_SIZE;

	return page < memory->pages;
}

static void give_hidden(struct tessera_pt_mem_map *memory, u64 addr)
{
	spin_lock(&memory->lock);
	__clear_bit((addr - memory->base) >> TSR_PAGE_SHIFT, memory->used);
	spin_unlock(&memory->lock);
}

/* All clients share hidden VRAM, and one client gets at most an eighth of it. */
static int pt_page_alloc_memory(struct tessera_device *tdev, struct tessera_pt_page *table)
{
	u32 share = tdev->pt_mem_map->pages / 8;
	dma_addr_t dma;

	if (atomic_read(&table->process->count.tables) <= share &&
	    take_hidden(tdev->pt_mem_map, &table->addr)) {
		table->pt.entry = table->addr | TSR_PTE_VALID | TSR_PTE_VRAM;
		return 0;
	}
	table->cpu = dma_alloc_coherent(tdev->drm.dev, TSR_PAGE_SIZE, &dma, GFP_KERNEL_ACCOUNT);
	if (!table->cpu)
		return -ENOMEM;
	table->addr = dma;
	table->pt.entry = table->addr | TSR_PTE_VALID;

	return 0;
}

/**
 * tessera_pt_page_create() - make a page table
 * @tdev: the device
 * @process: the process that is charged
 *
 * The contents of the device's copy are undefined until it is written.
 *
 * Return: the table, -ENOSPC if the client has too many, or -ENOMEM.
 */
struct tessera_pt_page *tessera_pt_page_create(struct tessera_device *tdev,
					       struct tessera_process *process)
{
	struct tessera_pt_page *table;
	int ret;

	ret = tessera_account_count(&process->count.tables, READ_ONCE(tdev->max_tables));
	if (ret)
		return ERR_PTR(ret);
	table = kvzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		goto err_uncount;
	table->process = process;
	INIT_LIST_HEAD(&table->node);
	if (pt_page_alloc_memory(tdev, table))
		goto err_free;

	return table;

err_free:
	kvfree(table);
err_uncount:
	atomic_dec(&process->count.tables);
	return ERR_PTR(-ENOMEM);
}

/**
 * tessera_pt_page_release_memory() - free the memory of a table
 * @tdev: the device, which does not use the table any more
 * @table: the table; may be called again
 */
void tessera_pt_page_release_memory(struct tessera_device *tdev, struct tessera_pt_page *table)
{
	if (table->cpu)
		dma_free_coherent(tdev->drm.dev, TSR_PAGE_SIZE, table->cpu, table->addr);
	else if (table->addr)
		give_hidden(tdev->pt_mem_map, table->addr);
	table->cpu = NULL;
	table->addr = 0;
}

/**
 * tessera_pt_page_destroy_list() - free page tables
 * @tdev: the device; it does not look at them
 * @tables: of &tessera_pt_page.node; empty afterwards
 */
void tessera_pt_page_destroy_list(struct tessera_device *tdev, struct list_head *tables)
{
	struct tessera_pt_page *table, *next;

	list_for_each_entry_safe(table, next, tables, node) {
		list_del(&table->node);
		tessera_pt_page_release_memory(tdev, table);
		atomic_dec(&table->process->count.tables);
		kvfree(table);
	}
}
