// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: segments
 *
 * Reads the segment descriptors once, at probe (SEG-1, SEG-3). The pure code
 * checks them. Nothing here changes afterwards (SEG-4), so readers need no
 * lock.
 *
 * A device has up to 31 segments, of any kinds and in any order (SEG-34). TTM
 * has fewer memory types, so the driver uses one type for VRAM and one for the
 * segments that show system pages: apertures and UMA segments. The pages of all
 * segments have consecutive numbers. The page numbers of a &struct ttm_place
 * thus identify the segment.
 */

#include <linux/mm.h>
#include <linux/pci.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>

#include "base/device.h"
#include "client/client.h"
#include "hw/hw.h"
#include "segments/segments.h"

static void segment_read_name(struct tessera_device *tdev, u32 reg, char *name)
{
	u32 i;

	for (i = 0; i < TSR_SEG_NAME_BYTES; i += sizeof(u32)) {
		u32 word = tessera_read32(tdev, reg + TSR_SEG_NAME + i);

		memcpy(name + i, &word, sizeof(word));
	}
	name[TSR_SEG_NAME_BYTES - 1] = '\0';
}

static void segment_read(struct tessera_device *tdev, u32 index,
			 struct tessera_segment_desc *desc)
{
	u32 reg = TSR_SEG(index);

	desc->id = tessera_read32(tdev, reg + TSR_SEG_ID);
	desc->flags = tessera_read32(tdev, reg + TSR_SEG_FLAGS);
	desc->base = tessera_read64(tdev, reg + TSR_SEG_BASE_LO);
	desc->size = tessera_read64(tdev, reg + TSR_SEG_SIZE_LO);
	desc->commit_limit = tessera_read64(tdev, reg + TSR_SEG_COMMIT_LO);
	desc->cpu_offset = tessera_read64(tdev, reg + TSR_SEG_CPU_OFFSET_LO);
	desc->page_size = tessera_read32(tdev, reg + TSR_SEG_PAGE_SIZE);
	segment_read_name(tdev, reg, desc->name);
}

/* Insertion sort by id, as there are at most 31. */
static void segment_sort(struct tessera_segment_desc *desc, u32 num)
{
	u32 i, j;

	for (i = 1; i < num; i++)
		for (j = i; j && desc[j].id < desc[j - 1].id; j--)
			swap(desc[j], desc[j - 1]);
}

static void segment_adopt(struct tessera_segment *seg, u32 index,
			  const struct tessera_segment_desc *desc)
{
	seg->index = index;
	seg->id = desc->id;
	seg->flags = desc->flags;
	seg->mem_type = tessera_segment_shows_pages(seg) ? TESSERA_PL_PAGES : TTM_PL_VRAM;
	seg->base = desc->base;
	seg->size = desc->size;
	seg->commit = desc->commit_limit;
	seg->cpu_offset = desc->cpu_offset;
	seg->page_size = desc->page_size;
	strscpy(seg->name, desc->name);
}

/**
 * tessera_segment_init() - read and check the segment table
 * @tdev: the device
 *
 * Return: 0, -EINVAL if the table is not usable, or another error.
 */
int tessera_segment_init(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	const struct tessera_segment_limits limits = {
		.hidden_base = tdev->info.hidden_base,
		.hidden_size = tdev->info.hidden_size,
		.cpu_window_bytes = pci_resource_len(pdev, TSR_BAR_VRAM),
	};
	struct tessera_segments *segments;
	u32 num = tdev->info.num_segments;
	unsigned int bad = 0;
	u64 page = 0;
	u32 i;
	int ret;

	segments = drmm_kzalloc(&tdev->drm, sizeof(*segments), GFP_KERNEL);
	if (!segments)
		return -ENOMEM;

	ret = tessera_account_init(tdev);
	if (ret)
		return ret;

	for (i = 0; i < num; i++)
		segment_read(tdev, i, &segments->desc[i]);

	ret = tessera_segment_desc_check(segments->desc, num, &limits, &bad);
	if (ret) {
		/* BAR 2 is empty if the kernel could not assign it. */
		drm_err(&tdev->drm, "segment descriptor %u is not usable, BAR %u has %llu bytes\n",
			bad, TSR_BAR_VRAM, limits.cpu_window_bytes);
		return ret;
	}

	segment_sort(segments->desc, num);
	for (i = 0; i < num; i++) {
		tessera_segment_desc_limit(&segments->desc[i], (u64)totalram_pages() << PAGE_SHIFT);
		segment_adopt(&segments->seg[i], i, &segments->desc[i]);
		segments->seg[i].first_page = page;
		page += segments->seg[i].size >> PAGE_SHIFT;
		tdev->processes->share[i].size = segments->seg[i].commit;
	}
	/* TTM places have 32 bits for a page number. */
	if (page > U32_MAX) {
		drm_err(&tdev->drm, "segments are too large\n");
		return -EINVAL;
	}

	segments->num = num;
	segments->bar_base = pci_resource_start(pdev, TSR_BAR_VRAM);
	tdev->segments = segments;

	return 0;
}

/**
 * tessera_segment_count() - number of segments
 * @tdev: the device
 *
 * Return: the number; indices are below it.
 */
u32 tessera_segment_count(struct tessera_device *tdev)
{
	return tdev->segments->num;
}

/**
 * tessera_segment_by_index() - segment at a position of the table
 * @tdev: the device
 * @index: below tessera_segment_count()
 *
 * Return: the segment.
 */
const struct tessera_segment *tessera_segment_by_index(struct tessera_device *tdev, u32 index)
{
	return &tdev->segments->seg[index];
}

/**
 * tessera_segment_by_id() - segment with an id
 * @tdev: the device
 * @id: any number
 *
 * Return: the segment, or NULL.
 */
const struct tessera_segment *tessera_segment_by_id(struct tessera_device *tdev, u32 id)
{
	struct tessera_segments *segments = tdev->segments;
	u32 i;

	for (i = 0; i < segments->num; i++)
		if (segments->seg[i].id == id)
			return &segments->seg[i];

	return NULL;
}

/**
 * tessera_segment_place() - make a TTM place in a segment
 * @seg: the segment
 * @start: lowest allowed byte offset
 * @end: byte offset at which the allocation must end; 0: the end of the segment
 * @flags: TTM_PL_FLAG_* and TESSERA_PLACE_*
 *
 * Return: the place.
 */
struct ttm_place tessera_segment_place(const struct tessera_segment *seg, u64 start, u64 end,
				       u32 flags)
{
	return (struct ttm_place) {
		.fpfn = seg->first_page + (start >> PAGE_SHIFT),
		.lpfn = seg->first_page + ((end ?: seg->size) >> PAGE_SHIFT),
		.mem_type = seg->mem_type,
		.flags = flags,
	};
}

/**
 * tessera_segment_with() - choose segments by their flags
 * @tdev: the device
 * @set: set of segment ids to choose from
 * @mask: TSR_SEGF_* that are compared
 * @flags: the required values of the flags in @mask
 *
 * Return: the segments of @set whose flags match.
 */
u32 tessera_segment_with(struct tessera_device *tdev, u32 set, u32 mask, u32 flags)
{
	return set & tessera_segment_set(tdev->segments->desc, tdev->segments->num, mask, flags);
}
