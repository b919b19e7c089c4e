// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: value pages
 *
 * A value page holds 64-bit values that the device writes and user space reads.
 * All values of a page belong to one client. The page is a GEM object without a
 * handle, so that only mmap() can find it. Mappings of the CPU are permanently
 * read-only. VMs of the client may map the page as a page of fences, through
 * which command streams can raise values, but not lower them.
 *
 * The kernel owns the page, which outlives the hardware. Only its DMA mapping
 * goes when the device is unplugged. The list of pages has a mutex, a leaf.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_vma_manager.h>

#include "base/device.h"
#include "sync/sync.h"

struct tessera_value_pages {
	/* Protects @list and the DMA addresses; a leaf. */
	struct mutex lock;
	struct list_head list;
};

static struct tessera_value_page *to_value_page(struct drm_gem_object *gem)
{
	return container_of(gem, struct tessera_value_page, base);
}

/**
 * tessera_value_pages_init() - set up the list of value pages
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
	INIT_LIST_HEAD(&pages->list);
	tdev->value_pages = pages;

	return drmm_mutex_init(&tdev->drm, &pages->lock);
}

/*
 * The page itself stays, because value_page_alloc() took a reference of its
 * own.
 */
static void value_page_unmap_locked(struct tessera_device *tdev, struct tessera_value_page *page)
{
	lockdep_assert_held(&tdev->value_pages->lock);

	if (list_empty(&page->node))
		return;
	list_del_init(&page->node);
	dma_free_pages(tdev->drm.dev, PAGE_SIZE, page->page, page->dma, DMA_BIDIRECTIONAL);
}

/**
 * tessera_value_pages_unplug() - remove the DMA mappings of all pages
 * @tdev: the device, unplugged and with all jobs released
 */
void tessera_value_pages_unplug(struct tessera_device *tdev)
{
	struct tessera_value_page *page, *next;

	guard(mutex)(&tdev->value_pages->lock);
	list_for_each_entry_safe(page, next, &tdev->value_pages->list, node)
		value_page_unmap_locked(tdev, page);
}

static void value_page_free(struct drm_gem_object *gem)
{
	struct tessera_device *tdev = to_tessera_device(gem->dev);
	struct tessera_value_page *page = to_value_page(gem);

	scoped_guard(mutex, &tdev->value_pages->lock)
		value_page_unmap_locked(tdev, page);
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
	/* Prevent mprotect() and debuggers from making it writable later. */
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
	/*
	 * dma_alloc_pages() returns a zeroed page that is mapped without a
	 * bounce buffer. Mappings of the page show the device's writes at once,
	 * without a dma_sync call, where DMA is cache coherent.
	 */
	page->page = dma_alloc_pages(tdev->drm.dev, PAGE_SIZE, &page->dma, DMA_BIDIRECTIONAL,
				     GFP_KERNEL_ACCOUNT);
	if (page->page) {
		get_page(page->page);
		scoped_guard(mutex, &tdev->value_pages->lock)
			list_add_tail(&page->node, &tdev->value_pages->list);
	}
	drm_dev_exit(idx);

	return page->page ? 0 : -ENOMEM;
}

/**
 * tessera_value_page_create() - allocate a value page
 * @tdev: the device
 * @file: the client that may map it
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
		drm_gem_object_put(&page->base);
		return ERR_PTR(ret);
	}

	return page;
}

/**
 * tessera_value_page_alloc_slot() - allocate a slot for a value
 * @page: the page; the caller serializes calls
 *
 * Return: the slot, or -ENOSPC.
 */
int tessera_value_page_alloc_slot(struct tessera_value_page *page)
{
	unsigned long slot = find_first_zero_bit(page->taken, TESSERA_VALUES_PER_PAGE);

	if (slot >= TESSERA_VALUES_PER_PAGE)
		return -ENOSPC;
	set_bit(slot, page->taken);

	return slot;
}
