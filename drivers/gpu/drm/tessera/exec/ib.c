// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: indirect buffers
 *
 * Kernel memory the device fetches packets (or page lists, or data) from: single
 * pages, a list of their DMA addresses, and one kernel mapping of all. Nobody but the
 * kernel can write it, so what was checked in it stays checked. Shared by reference
 * between the parts of a submission.
 */

#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "exec/ib.h"
#include "exec/quota.h"
#include "tessera_device.h"

struct tessera_ib {
	struct kref ref;
	struct tessera_device *tdev;
	/* Who is charged for it, or NULL. */
	struct tessera_quota *quota;
	u32 bytes;
	u32 num_pages;
	void *cpu;
	/* The list as the device reads it, mapped at list_dma. */
	__le64 *list;
	dma_addr_t list_dma;
	struct page *pages[] __counted_by(num_pages);
};

static struct device *tessera_ib_dev(struct tessera_ib *ib)
{
	return ib->tdev->drm.dev;
}

static void tessera_ib_unmap_pages(struct tessera_ib *ib, u32 count)
{
	while (count--) {
		dma_unmap_page(tessera_ib_dev(ib), le64_to_cpu(ib->list[count]),
			       PAGE_SIZE, DMA_TO_DEVICE);
		__free_page(ib->pages[count]);
	}
}

static int tessera_ib_map_pages(struct tessera_ib *ib)
{
	struct device *dev = tessera_ib_dev(ib);
	dma_addr_t dma;
	u32 i;

	for (i = 0; i < ib->num_pages; i++) {
		ib->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!ib->pages[i])
			goto err_unmap;
		dma = dma_map_page(dev, ib->pages[i], 0, PAGE_SIZE, DMA_TO_DEVICE);
		if (dma_mapping_error(dev, dma)) {
			__free_page(ib->pages[i]);
			goto err_unmap;
		}
		ib->list[i] = cpu_to_le64(dma);
	}

	return 0;

err_unmap:
	tessera_ib_unmap_pages(ib, i);
	return -ENOMEM;
}

static int tessera_ib_map_cpu(struct tessera_ib *ib)
{
	/* Most buffers are small; those need no mapping of their own. */
	if (ib->num_pages == 1)
		ib->cpu = page_address(ib->pages[0]);
	else
		ib->cpu = vmap(ib->pages, ib->num_pages, VM_MAP, PAGE_KERNEL);

	return ib->cpu ? 0 : -ENOMEM;
}

static void tessera_ib_unmap_cpu(struct tessera_ib *ib)
{
	if (ib->num_pages > 1)
		vunmap(ib->cpu);
}

static int tessera_ib_map_list(struct tessera_ib *ib)
{
	struct device *dev = tessera_ib_dev(ib);

	ib->list_dma = dma_map_single(dev, ib->list, ib->num_pages * sizeof(*ib->list),
				      DMA_TO_DEVICE);

	return dma_mapping_error(dev, ib->list_dma) ? -ENOMEM : 0;
}

/**
 * tessera_ib_create() - allocate a buffer
 * @tdev: the device
 * @quota: who is charged for it, or NULL; outlives the buffer
 * @bytes: size, not 0; rounded up to pages
 *
 * Return: the buffer, zeroed, with one reference; or an error pointer.
 */
struct tessera_ib *tessera_ib_create(struct tessera_device *tdev, struct tessera_quota *quota,
				     u32 bytes)
{
	u32 num_pages = DIV_ROUND_UP(bytes, PAGE_SIZE);
	struct tessera_ib *ib;
	int ret = -ENOMEM;

	ib = kvzalloc(struct_size(ib, pages, num_pages), GFP_KERNEL_ACCOUNT);
	if (!ib)
		return ERR_PTR(-ENOMEM);
	kref_init(&ib->ref);
	ib->tdev = tdev;
	ib->bytes = bytes;
	ib->num_pages = num_pages;
	/* Contiguous, as the device wants the list. */
	ib->list = kcalloc(num_pages, sizeof(*ib->list), GFP_KERNEL_ACCOUNT);
	if (!ib->list)
		goto err_free;
	ret = tessera_ib_map_pages(ib);
	if (ret)
		goto err_free_list;
	ret = tessera_ib_map_cpu(ib);
	if (ret)
		goto err_unmap_pages;
	ret = tessera_ib_map_list(ib);
	if (ret)
		goto err_unmap_cpu;
	ib->quota = quota;
	tessera_quota_charge(quota, (long)num_pages << PAGE_SHIFT);

	return ib;

err_unmap_cpu:
	tessera_ib_unmap_cpu(ib);
err_unmap_pages:
	tessera_ib_unmap_pages(ib, num_pages);
err_free_list:
	kfree(ib->list);
err_free:
	kvfree(ib);
	return ERR_PTR(ret);
}

static void tessera_ib_destroy(struct kref *ref)
{
	struct tessera_ib *ib = container_of(ref, struct tessera_ib, ref);

	dma_unmap_single(tessera_ib_dev(ib), ib->list_dma,
			 ib->num_pages * sizeof(*ib->list), DMA_TO_DEVICE);
	tessera_ib_unmap_cpu(ib);
	tessera_ib_unmap_pages(ib, ib->num_pages);
	kfree(ib->list);
	tessera_quota_uncharge(ib->quota, (long)ib->num_pages << PAGE_SHIFT);
	kvfree(ib);
}

/**
 * tessera_ib_get() - take a reference
 * @ib: the buffer
 *
 * Return: @ib.
 */
struct tessera_ib *tessera_ib_get(struct tessera_ib *ib)
{
	kref_get(&ib->ref);
	return ib;
}

/**
 * tessera_ib_put() - drop a reference
 * @ib: the buffer or NULL
 *
 * The last one frees it; process context.
 */
void tessera_ib_put(struct tessera_ib *ib)
{
	if (ib)
		kref_put(&ib->ref, tessera_ib_destroy);
}

/**
 * tessera_ib_cpu() - where the kernel sees the buffer
 * @ib: the buffer
 *
 * Return: a linear mapping, valid as long as the buffer.
 */
void *tessera_ib_cpu(struct tessera_ib *ib)
{
	return ib->cpu;
}

/**
 * tessera_ib_bytes() - size of the buffer
 * @ib: the buffer
 *
 * Return: the size it was created with.
 */
u32 tessera_ib_bytes(struct tessera_ib *ib)
{
	return ib->bytes;
}

/**
 * tessera_ib_pages_dma() - the page list, for packets that take one
 * @ib: the buffer
 *
 * Return: DMA address of a contiguous list of the buffer's page addresses.
 */
dma_addr_t tessera_ib_pages_dma(struct tessera_ib *ib)
{
	return ib->list_dma;
}

/**
 * tessera_ib_page_dma() - DMA address of one page
 * @ib: the buffer
 * @page: index of the page
 *
 * For things inside the buffer that must be contiguous, such as page lists of up
 * to one page.
 *
 * Return: its DMA address.
 */
dma_addr_t tessera_ib_page_dma(struct tessera_ib *ib, u32 page)
{
	return le64_to_cpu(ib->list[page]);
}

/**
 * tessera_ib_flush() - make CPU writes visible to the device
 * @ib: the buffer
 * @start: first byte written
 * @end: first byte not written
 *
 * tessera_job_arm() does it for the ranges of a job; only other contents (page lists)
 * need a call of their own.
 */
void tessera_ib_flush(struct tessera_ib *ib, u32 start, u32 end)
{
	struct device *dev = tessera_ib_dev(ib);
	u32 page, last;

	if (!dma_need_sync(dev, tessera_ib_page_dma(ib, 0)) || start >= end)
		return;
	last = (end - 1) / PAGE_SIZE;
	for (page = start / PAGE_SIZE; page <= last; page++)
		dma_sync_single_for_device(dev, tessera_ib_page_dma(ib, page),
					   PAGE_SIZE, DMA_TO_DEVICE);
}
