// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: kept page lists
 *
 * The page list of a large object, in the device's format. It lives as long as
 * the object has the same pages, so that repeated moves of the object need not
 * fill in a list each time. mem/backing.c creates and destroys it, and
 * paging/ops.c uses it.
 *
 * A list never changes, so there is no lock. Jobs hold no references. A job
 * that reads the list also uses the pages, and these are not freed or replaced
 * before the job has ended.
 *
 * A list takes 1/512 of the size of the pages. Like the pages, it is not
 * charged to a memory cgroup. It would be charged to the client that happens to
 * move the object first.
 */

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "base/device.h"
#include "paging/paging.h"

#define LIST_BYTES	(TESSERA_PAGING_LIST_ENTRIES * sizeof(__le64))

/* One page of the list. */
struct tessera_pages_list {
	__le64 *cpu;
	dma_addr_t dma;
};

/**
 * struct tessera_pages - a kept page list
 */
struct tessera_pages {
	/** @dev: device for which the lists are mapped */
	struct device *dev;
	/** @num: elements of @lists */
	u32 num;
	/**
	 * @lists: the pages of the list, in order; all but the last are full
	 */
	struct tessera_pages_list lists[] __counted_by(num);
};

static int pages_fill(struct tessera_pages *pages, struct tessera_pages_list *list,
		      const dma_addr_t *dma, u32 num)
{
	__le64 *cpu = (void *)__get_free_page(GFP_KERNEL);
	u32 i;

	if (!cpu)
		return -ENOMEM;
	for (i = 0; i < num; i++)
		cpu[i] = cpu_to_le64(dma[i]);
	memset(cpu + num, 0, LIST_BYTES - num * sizeof(*cpu));
	list->dma = dma_map_single(pages->dev, cpu, LIST_BYTES, DMA_TO_DEVICE);
	if (dma_mapping_error(pages->dev, list->dma)) {
		free_page((unsigned long)cpu);
		return -ENOMEM;
	}
	list->cpu = cpu;

	return 0;
}

/**
 * tessera_pages_create() - create the page list of an object
 * @tdev: the device, present
 * @dma: DMA addresses of the pages
 * @num: number of pages
 *
 * Return: the list; NULL if there is no memory for it, or if the object is too
 * small to be worth it.
 */
struct tessera_pages *tessera_pages_create(struct tessera_device *tdev, const dma_addr_t *dma,
					   u32 num)
{
	u32 lists = DIV_ROUND_UP(num, TESSERA_PAGING_LIST_ENTRIES), i, first;
	struct tessera_pages *pages;

	if (num < TESSERA_PAGING_LIST_ENTRIES)
		return NULL;
	pages = kvzalloc(struct_size(pages, lists, lists), GFP_KERNEL);
	if (!pages)
		return NULL;
	pages->dev = tdev->drm.dev;
	pages->num = lists;
	for (i = 0; i < lists; i++) {
		first = i * TESSERA_PAGING_LIST_ENTRIES;
		if (pages_fill(pages, &pages->lists[i], dma + first,
			       min_t(u32, num - first, TESSERA_PAGING_LIST_ENTRIES))) {
			tessera_pages_destroy(pages);
			return NULL;
		}
		cond_resched();
	}

	return pages;
}

/**
 * tessera_pages_destroy() - free a page list
 * @pages: the list, which no job reads any more; or NULL
 */
void tessera_pages_destroy(struct tessera_pages *pages)
{
	u32 i;

	if (!pages)
		return;
	for (i = 0; i < pages->num && pages->lists[i].cpu; i++) {
		dma_unmap_single(pages->dev, pages->lists[i].dma, LIST_BYTES, DMA_TO_DEVICE);
		free_page((unsigned long)pages->lists[i].cpu);
	}
	kvfree(pages);
}

/**
 * tessera_pages_check() - warn if a part of a page list names other pages
 * @pages: the list
 * @dma: DMA address of the part, from tessera_pages_find()
 * @first: DMA address of the part's first page
 *
 * Does nothing without CONFIG_DRM_TESSERA_DEBUG.
 */
void tessera_pages_check(const struct tessera_pages *pages, dma_addr_t dma, dma_addr_t first)
{
	const __le64 *entry;
	u32 i;

	if (!IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG))
		return;
	for (i = 0; i < pages->num; i++) {
		if (dma < pages->lists[i].dma || dma >= pages->lists[i].dma + LIST_BYTES)
			continue;
		entry = pages->lists[i].cpu + (dma - pages->lists[i].dma) / sizeof(*entry);
		WARN_RATELIMIT(le64_to_cpu(*entry) != first,
			       "tessera: a page list names 0x%llx where the object has page 0x%llx\n",
			       le64_to_cpu(*entry), (u64)first);
	}
}

/**
 * tessera_pages_find() - find the DMA address of a part of a page list
 * @pages: the list
 * @first: index of the part's first page
 * @count: number of pages, not 0
 * @dma: receives the DMA address of the part's first entry
 *
 * Return: false if the entries are not contiguous in DMA addresses.
 */
bool tessera_pages_find(const struct tessera_pages *pages, u64 first, u32 count,
			dma_addr_t *dma)
{
	u32 at = first % TESSERA_PAGING_LIST_ENTRIES;
	u64 list = first / TESSERA_PAGING_LIST_ENTRIES;

	if (count > TESSERA_PAGING_LIST_ENTRIES - at || list >= pages->num)
		return false;
	*dma = pages->lists[list].dma + at * sizeof(__le64);

	return true;
}
