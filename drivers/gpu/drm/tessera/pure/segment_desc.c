// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: segment descriptors
 *
 * Checks the segment table that a device presents at probe, and the segments
 * that a new allocation requests. Called by the segment code and the ioctls; no
 * locks, no state.
 */
#include "segment_desc.h"
#include "surface.h"

/*
 * A flag, with the flags of the same segment of which it requires one, and
 * those that it excludes.
 */
struct flag_rule {
	u32 flag;
	u32 needs;
	u32 excludes;
};

static const struct flag_rule flag_rules[] = {
	/* SEG-23 */
	{ TSR_SEGF_CACHE_COHERENT, TSR_SEGF_APERTURE | TSR_SEGF_UMA, 0 },
	{ TSR_SEGF_CPU_CACHED, TSR_SEGF_APERTURE, 0 },
	/*
	 * The paging engine could never fill memory that the GPU cannot write.
	 */
	{ TSR_SEGF_GPU_READ_ONLY, TSR_SEGF_APERTURE, 0 },
	/* SEG-24 */
	{ TSR_SEGF_HOST_APERTURE, 0, TSR_SEGF_CPU_VISIBLE | TSR_SEGF_APERTURE },
	{ TSR_SEGF_HOST_APERTURE_CACHED, TSR_SEGF_HOST_APERTURE, 0 },
	{ TSR_SEGF_SWIZZLE_RANGES, TSR_SEGF_CPU_VISIBLE, TSR_SEGF_APERTURE },
	/*
	 * SEG-36: the CPU needs no window to reach system pages, and uses them
	 * through its caches.
	 */
	{ TSR_SEGF_UMA, TSR_SEGF_CACHE_COHERENT,
	  TSR_SEGF_APERTURE | TSR_SEGF_CPU_VISIBLE | TSR_SEGF_HOST_APERTURE |
	  TSR_SEGF_PRESERVED_STANDBY },
};

/**
 * tessera_segment_desc_check_flags() - check a combination of segment flags
 * @flags: TSR_SEGF_*
 *
 * Return: 0, or -EINVAL.
 */
int tessera_segment_desc_check_flags(u32 flags)
{
	unsigned int i;

	if (flags & ~TSR_SEGF_ALL)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(flag_rules); i++) {
		const struct flag_rule *rule = &flag_rules[i];

		if (!(flags & rule->flag))
			continue;
		if ((rule->needs && !(flags & rule->needs)) || (flags & rule->excludes))
			return -EINVAL;
	}

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_segment_desc_check_flags);

/* Half-open ranges; an empty one overlaps nothing. */
static bool ranges_overlap(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a < b + b_size && b < a + a_size && a_size && b_size;
}

/*
 * Names become keys in fdinfo, so they must be printable without blank or
 * colon.
 */
static bool name_ok(const char *name)
{
	unsigned int i;

	for (i = 0; i < TSR_SEG_NAME_BYTES && name[i]; i++)
		if (name[i] <= ' ' || name[i] >= 0x7f || name[i] == ':')
			return false;

	return i > 0 && i < TSR_SEG_NAME_BYTES;
}

static int check_range(const struct tessera_segment_desc *desc)
{
	u64 end;

	if (desc->page_size != TSR_PAGE_SIZE && desc->page_size != 16 * TSR_PAGE_SIZE)
		return -EINVAL;
	if (!desc->size || !IS_ALIGNED(desc->size, desc->page_size) ||
	    !IS_ALIGNED(desc->base, desc->page_size))
		return -EINVAL;
	if (check_add_overflow(desc->base, desc->size, &end) ||
	    end > BIT_ULL(TSR_ADDRESS_BITS))
		return -EINVAL;

	return 0;
}

static int check_one(const struct tessera_segment_desc *desc,
		     const struct tessera_segment_limits *limits)
{
	u64 end;
	int ret;

	if (!desc->id || desc->id > TESSERA_SEGMENT_ID_MAX || !name_ok(desc->name))
		return -EINVAL;
	ret = tessera_segment_desc_check_flags(desc->flags);
	if (!ret)
		ret = check_range(desc);
	if (ret)
		return ret;

	if (desc->flags & TSR_SEGF_APERTURE) {
		if (!desc->commit_limit || desc->commit_limit > desc->size ||
		    !IS_ALIGNED(desc->commit_limit, TSR_PAGE_SIZE))
			return -EINVAL;
	} else if (desc->commit_limit != desc->size) {
		return -EINVAL;
	} else if (desc->flags & TSR_SEGF_CPU_VISIBLE) {
		if (!IS_ALIGNED(desc->cpu_offset, TSR_PAGE_SIZE) ||
		    check_add_overflow(desc->cpu_offset, desc->size, &end) ||
		    end > limits->cpu_window_bytes)
			return -EINVAL;
	}
	if (ranges_overlap(desc->base, desc->size, limits->hidden_base,
			   limits->hidden_size))
		return -EINVAL;

	return 0;
}

static bool both_cpu_visible(const struct tessera_segment_desc *a,
			     const struct tessera_segment_desc *b)
{
	u32 mask = TSR_SEGF_CPU_VISIBLE | TSR_SEGF_APERTURE;

	return (a->flags & mask) == TSR_SEGF_CPU_VISIBLE &&
	       (b->flags & mask) == TSR_SEGF_CPU_VISIBLE;
}

static int check_pair(const struct tessera_segment_desc *a,
		      const struct tessera_segment_desc *b)
{
	if (a->id == b->id || !strcmp(a->name, b->name))
		return -EINVAL;
	if (ranges_overlap(a->base, a->size, b->base, b->size))
		return -EINVAL;
	if (both_cpu_visible(a, b) &&
	    ranges_overlap(a->cpu_offset, a->size, b->cpu_offset, b->size))
		return -EINVAL;

	return 0;
}

/**
 * tessera_segment_desc_check() - check a device's segment table
 * @descs: the descriptors, in the device's order
 * @count: number of @descs
 * @limits: the rest of the address space
 * @bad: receives the index of the invalid descriptor, or @count if the count or
 *	@limits are invalid
 *
 * Ids are distinct and from 1 to 31 (SEG-5), ranges do not overlap (SEG-6), and
 * combinations of flags are valid (SEG-23, SEG-24).
 *
 * Return: 0, or -EINVAL.
 */
int tessera_segment_desc_check(const struct tessera_segment_desc *descs,
			       unsigned int count,
			       const struct tessera_segment_limits *limits,
			       unsigned int *bad)
{
	u64 hidden_end;
	unsigned int i, j;

	*bad = count;
	if (!count || count > TSR_MAX_SEGMENTS ||
	    check_add_overflow(limits->hidden_base, limits->hidden_size, &hidden_end))
		return -EINVAL;

	for (i = 0; i < count; i++) {
		*bad = i;
		if (check_one(&descs[i], limits))
			return -EINVAL;
		for (j = 0; j < i; j++)
			if (check_pair(&descs[i], &descs[j]))
				return -EINVAL;
	}

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_segment_desc_check);

/**
 * tessera_segment_desc_limit() - limit a segment to what the machine has
 * @desc: the descriptor, already checked; @commit_limit is changed
 * @ram: bytes of the machine's memory
 *
 * A UMA segment is a range of addresses without memory of its own, so its size
 * says nothing about the memory that can be in it. Budgets and shares are made
 * of the limit. TTM swaps out objects in no segment while all objects together
 * use more than half of the memory. A full segment must stay well below that
 * (SEG-36).
 */
void tessera_segment_desc_limit(struct tessera_segment_desc *desc, u64 ram)
{
	if (desc->flags & TSR_SEGF_UMA)
		desc->commit_limit = min(desc->commit_limit,
					 ALIGN_DOWN(ram / 4, TSR_PAGE_SIZE));
}
EXPORT_SYMBOL_IF_KUNIT(tessera_segment_desc_limit);

/**
 * tessera_segment_set() - get the set of segments with certain flags
 * @descs: a checked segment table
 * @count: number of @descs
 * @mask: flags to compare
 * @value: required value of these flags
 *
 * Return: the set, bit n for segment id n.
 */
u32 tessera_segment_set(const struct tessera_segment_desc *descs,
			unsigned int count, u32 mask, u32 value)
{
	u32 set = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		if ((descs[i].flags & mask) == value)
			set |= BIT(descs[i].id);

	return set;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_segment_set);

static int check_preferred(const struct tessera_segment_alloc *alloc)
{
	u32 seen = 0;
	unsigned int i;

	if (alloc->num_preferred > TESSERA_SEGMENT_MAX_PREFERRED)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(alloc->preferred); i++) {
		u8 id = alloc->preferred[i];

		if (i >= alloc->num_preferred) {
			if (id)
				return -EINVAL;
			continue;
		}
		if (id > TESSERA_SEGMENT_ID_MAX || !(alloc->supported & BIT(id)) ||
		    (seen & BIT(id)))
			return -EINVAL;
		seen |= BIT(id);
	}

	return 0;
}

static int check_access(const struct tessera_segment_desc *descs,
			unsigned int count,
			const struct tessera_segment_alloc *alloc)
{
	u32 aperture = tessera_segment_set(descs, count, TSR_SEGF_APERTURE,
					   TSR_SEGF_APERTURE);
	u32 pages = aperture | tessera_segment_set(descs, count, TSR_SEGF_UMA, TSR_SEGF_UMA);
	u32 read_only = tessera_segment_set(descs, count, TSR_SEGF_GPU_READ_ONLY,
					    TSR_SEGF_GPU_READ_ONLY);
	u32 visible = tessera_segment_set(descs, count, TSR_SEGF_CPU_VISIBLE,
					  TSR_SEGF_CPU_VISIBLE);

	if (alloc->evict_to & ~aperture)
		return -EINVAL;
	if (alloc->cpu_cached && !alloc->cpu_access)
		return -EINVAL;
	if (!alloc->gpu_read_only && !(alloc->supported & ~read_only))
		return -EINVAL;
	if (alloc->write_set & (alloc->gpu_read_only ? U32_MAX : ~alloc->supported | read_only))
		return -EINVAL;
	if (!alloc->cpu_access)
		return 0;
	if ((alloc->supported & ~visible) && !(alloc->supported & pages))
		return -EINVAL;
	if (alloc->layout != TSR_LAYOUT_LINEAR && (alloc->supported & pages))
		return -EINVAL;

	return 0;
}

/**
 * tessera_segment_alloc_check() - check the request of a new allocation
 * @descs: a checked segment table
 * @count: number of @descs
 * @alloc: the request
 *
 * Return: 0, -EINVAL, or -E2BIG if no segment of the write set, or no supported
 * one if all jobs only read it, is large enough.
 */
int tessera_segment_alloc_check(const struct tessera_segment_desc *descs,
				unsigned int count,
				const struct tessera_segment_alloc *alloc)
{
	bool fits = false, aligned = false;
	unsigned int i;
	int ret;

	if (!alloc->size || !IS_ALIGNED(alloc->size, TSR_PAGE_SIZE))
		return -EINVAL;
	if (!alloc->supported ||
	    (alloc->supported & ~tessera_segment_set(descs, count, 0, 0)))
		return -EINVAL;
	if (!tessera_swizzle_geometry_ok(alloc->layout, alloc->pitch, alloc->size))
		return -EINVAL;
	ret = check_preferred(alloc);
	if (!ret)
		ret = check_access(descs, count, alloc);
	if (ret)
		return ret;

	for (i = 0; i < count; i++) {
		if (!(alloc->supported & BIT(descs[i].id)))
			continue;
		if (!alloc->write_set || (alloc->write_set & BIT(descs[i].id)))
			fits |= alloc->size <= descs[i].commit_limit;
		aligned |= alloc->alignment <= descs[i].size;
	}
	if (!aligned || (alloc->alignment && !is_power_of_2(alloc->alignment)))
		return -EINVAL;

	return fits ? 0 : -E2BIG;
}
EXPORT_SYMBOL_IF_KUNIT(tessera_segment_alloc_check);
