// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: pages of values
 *
 * A page of 64-bit values that the device writes and user space reads: those of one client,
 * never of two. It is a GEM object without a handle, so that mmap() finds it, and nothing else
 * does. Mappings are read-only for good.
 *
 * The page is the kernel's and outlives the hardware; only its DMA address goes when the device
 * is unplugged. The list of pages has a mutex, a leaf.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_vma_manager.h>

#include "sync/sync.h"
#include "tessera_device.h"

#define VALUES_PER_PAGE	(PAGE_SIZE / sizeof(u64))

struct tessera_value_page {
	struct drm_gem_object base;
	struct page *page;
	/* Of @page, as long as the list says that it is there. */
	dma_addr_t dma;
	/* In the device's list while the device can reach it. */
	struct list_head node;
	DECLARE_BITMAP(taken, VALUES_PER_PAGE);
};

struct tessera_value_pages {
	/* Protects @list, and DMA addresses; a leaf. */
	struct mutex lock;
	struct list_head list;
};

static struct tessera_value_page *to_value_page(struct drm_gem_object *gem)
{
	return container_of(gem, struct tessera_value_page, base);
}

static void value_pages_fini(struct drm_device *drm, void *data)
{
	struct tessera_value_pages *pages = data;

	mutex_destroy(&pages->lock);
}

/**
 * tessera_value_pages_init() - set up the list of pages
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_value_pages_init(struct tessera_device *tdev)
{
	struct tessera_value_pages *pages;

	pages = drmm_kzalloc(&tdev->drm, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	mutex_init(&pages->lock);
	INIT_LIST_HEAD(&pages->list);
	tdev->value_pages = pages;

	return drmm_add_action_or_reset(&tdev->drm, value_pages_fini, pages);
}

/* The page itself stays: it has a reference of its own. */
static void value_page_unmap_locked(struct tessera_device *tdev, struct tessera_value_page *page)
{
	lockdep_assert_held(&tdev->value_pages->lock);

	if (list_empty(&page->node))
		return;
	list_del_init(&page->node);
	dma_free_pages(tdev->drm.dev, PAGE_SIZE, page->page, page->dma, DMA_BIDIRECTIONAL);
}

/**
 * tessera_value_pages_unplug() - the device writes to no page any more
 * @tdev: the device, unplugged, all jobs released
 */
void tessera_value_pages_unplug(struct tessera_device *tdev)
{
	struct tessera_value_page *page, *next;

	mutex_lock(&tdev->value_pages->lock);
	list_for_each_entry_safe(page, next, &tdev->value_pages->list, node)
		value_page_unmap_locked(tdev, page);
	mutex_unlock(&tdev->value_pages->lock);
}

static void value_page_free(struct drm_gem_object *gem)
{
	struct tessera_device *tdev = to_tessera_device(gem->dev);
	struct tessera_value_page *page = to_value_page(gem);

	mutex_lock(&tdev->value_pages->lock);
	value_page_unmap_locked(tdev, page);
	mutex_unlock(&tdev->value_pages->lock);
	drm_gem_object_release(gem);
	put_page(page->page);
	kfree(page);
}

static vm_fault_t value_page_fault(struct vm_fault *vmf)
{
	struct tessera_value_page *page = to_value_page(vmf->vma->vm_private_data);

	get_page(page->page);
	vmf->page = page->page;

	return 0;
}

static int value_page_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	/* Nor later, by mprotect() or by a debugger. */
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);

	return 0;
}

static const struct vm_operations_struct value_page_vm_ops = {
	.fault = value_page_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs value_page_funcs = {
	.free = value_page_free,
	.mmap = value_page_mmap,
	.vm_ops = &value_page_vm_ops,
};

static int value_page_alloc(struct tessera_device *tdev, struct tessera_value_page *page)
{
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	/* One the device reaches as it is: what it writes, a mapping shows at once. Zeroed. */
	page->page = dma_alloc_pages(tdev->drm.dev, PAGE_SIZE, &page->dma, DMA_BIDIRECTIONAL,
				     GFP_KERNEL_ACCOUNT);
	if (page->page) {
		get_page(page->page);
		mutex_lock(&tdev->value_pages->lock);
		list_add_tail(&page->node, &tdev->value_pages->list);
		mutex_unlock(&tdev->value_pages->lock);
	}
	drm_dev_exit(idx);

	return page->page ? 0 : -ENOMEM;
}

/**
 * tessera_value_page_create() - make a page
 * @tdev: the device
 * @file: who may map it
 *
 * Return: the page with one reference, all values 0; or -ENOMEM, -ENODEV.
 */
struct tessera_value_page *tessera_value_page_create(struct tessera_device *tdev,
						     struct drm_file *file)
{
	struct tessera_value_page *page;
	int ret;

	page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);
	if (!page)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&page->node);
	ret = value_page_alloc(tdev, page);
	if (ret) {
		kfree(page);
		return ERR_PTR(ret);
	}
	drm_gem_private_object_init(&tdev->drm, &page->base, PAGE_SIZE);
	page->base.funcs = &value_page_funcs;

	ret = drm_gem_create_mmap_offset(&page->base);
	if (!ret)
		ret = drm_vma_node_allow(&page->base.vma_node, file);
	if (ret) {
		tessera_value_page_put(page);
		return ERR_PTR(ret);
	}

	return page;
}

/**
 * tessera_value_page_revoke() - its client has gone
 * @page: the page
 * @file: of tessera_value_page_create()
 */
void tessera_value_page_revoke(struct tessera_value_page *page, struct drm_file *file)
{
	drm_vma_node_revoke(&page->base.vma_node, file);
}

/**
 * tessera_value_page_get() - take a reference
 * @page: the page
 */
void tessera_value_page_get(struct tessera_value_page *page)
{
	drm_gem_object_get(&page->base);
}

/**
 * tessera_value_page_put() - drop a reference
 * @page: the page
 *
 * Process context.
 */
void tessera_value_page_put(struct tessera_value_page *page)
{
	drm_gem_object_put(&page->base);
}

/**
 * tessera_value_page_take() - take a value that nobody has
 * @page: the page; one caller at a time
 *
 * Return: its slot, or -ENOSPC.
 */
int tessera_value_page_take(struct tessera_value_page *page)
{
	unsigned long slot = find_first_zero_bit(page->taken, VALUES_PER_PAGE);

	if (slot >= VALUES_PER_PAGE)
		return -ENOSPC;
	set_bit(slot, page->taken);

	return slot;
}

/**
 * tessera_value_page_give() - give a value back
 * @page: the page
 * @slot: the value, which nobody writes any more
 */
void tessera_value_page_give(struct tessera_value_page *page, u32 slot)
{
	clear_bit(slot, page->taken);
}

/**
 * tessera_value_page_cpu() - where the kernel sees a value
 * @page: the page
 * @slot: which value
 *
 * Return: its address; little endian, as the device writes it.
 */
u64 *tessera_value_page_cpu(struct tessera_value_page *page, u32 slot)
{
	return (u64 *)page_address(page->page) + slot;
}

/**
 * tessera_value_page_dma() - where the device sees a value
 * @page: the page; the device is there
 * @slot: which value
 *
 * Return: its DMA address.
 */
dma_addr_t tessera_value_page_dma(struct tessera_value_page *page, u32 slot)
{
	return page->dma + slot * sizeof(u64);
}

/**
 * tessera_value_page_offset() - where to map a page
 * @page: the page
 *
 * Return: an offset for mmap() of the DRM file.
 */
u64 tessera_value_page_offset(struct tessera_value_page *page)
{
	return drm_vma_node_offset_addr(&page->base.vma_node);
}
