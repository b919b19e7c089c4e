// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "swizzled.h"

struct tsr_ranges tsr_ranges_now(void)
{
	char *text = tsr_debugfs_read("swizzle_ranges");
	struct tsr_ranges r = { 0 };

	require(text);
	require_msg(sscanf(text, "ranges %u bus %llx", &r.num, &r.bus) >= 1, "swizzle_ranges: %s",
		    text);
	for (const char *p = text; (p = strstr(p, "\nrange ")); p++)
		r.used++;
	for (const char *p = text; (p = strstr(p, " locked\n")); p++)
		r.locked++;
	free(text);
	return r;
}

struct tsr_swizzled tsr_swizzled_new(struct tsr_device *dev, uint32_t ctx, uint32_t layout,
				     uint32_t pitch, uint32_t height, uint32_t key)
{
	struct tsr_swizzled s = { .rows = tsr_surface_rows(layout, pitch, height) };

	s.bo = tsr_bo_new_rows(dev, &s.rows, tsr_bit(tsr_seg_visible(dev)),
			       DRM_TESSERA_BO_CPU_ACCESS);
	tsr_bo_map(dev, &s.bo);
	tsr_pattern_write(&s.bo, key);
	tsr_gpu_touch(dev, ctx, &s.bo);
	require_eq(tsr_bo_info(dev, &s.bo).segment, tsr_seg_visible(dev)->id);
	return s;
}

struct tsr_swizzled tsr_swizzled_small(struct tsr_device *dev, uint32_t ctx, uint32_t key)
{
	return tsr_swizzled_new(dev, ctx, key % 2 ? TSR_LAYOUT_TILE4K : TSR_LAYOUT_MORTON, 256, 32,
				key);
}

bool tsr_swizzled_resident(struct tsr_device *dev, const struct tsr_swizzled *s)
{
	return tsr_bo_info(dev, &s->bo).segment == tsr_seg_visible(dev)->id;
}

void tsr_swizzled_gpu_check(struct tsr_device *dev, uint32_t ctx, const struct tsr_swizzled *s,
			    uint32_t key)
{
	struct tsr_bo out = tsr_bo_new(dev, s->bo.size, tsr_bit(tsr_seg_gart(dev)),
				       DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_copy_rows(&cmd, &out, &s->bo, &s->rows);
	tsr_submit_done(dev, ctx, &cmd);
	tsr_bo_map(dev, &out);
	tsr_pattern_check(&out, key);
	tsr_cmd_fini(&cmd);
	tsr_bo_free(dev, &out);
}

uint32_t tsr_swizzled_read(const struct tsr_swizzled *s, uint64_t word)
{
	return ((volatile uint32_t *)s->bo.map)[word];
}

void tsr_swizzled_write(struct tsr_swizzled *s, uint64_t word, uint32_t value)
{
	((volatile uint32_t *)s->bo.map)[word] = value;
}

uint64_t tsr_swizzled_word(const struct tsr_surface *rows, uint64_t word)
{
	uint64_t x = word % (rows->pitch / 4), y = word / (rows->pitch / 4);
	uint64_t at = (x / 32 + y / 32 * (rows->pitch / 128)) * 1024;

	x %= 32;
	y %= 32;
	if (rows->layout == TSR_LAYOUT_TILE4K)
		return at + y * 32 + x;
	for (uint32_t bit = 0; bit < 5; bit++)
		at += (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1);
	return at;
}
