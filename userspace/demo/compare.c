// SPDX-License-Identifier: MIT
/*
 * Compare two pictures pixel by pixel. The alpha channel counts like the
 * others.
 */
#include <errno.h>
#include <stdlib.h>

#include "demo.h"

static uint32_t channel_difference(uint32_t a, uint32_t b, int shift)
{
	uint32_t x = a >> shift & 255, y = b >> shift & 255;

	return x > y ? x - y : y - x;
}

/*
 * @diff, if not NULL, becomes a picture of the differences, amplified 16 times.
 * The caller frees it.
 */
int compare_images(const struct image *a, const struct image *b, struct comparison *result,
		   struct image *diff)
{
	size_t texels = (size_t)a->width * a->height;
	uint64_t sum = 0;

	if (a->width != b->width || a->height != b->height)
		return -EINVAL;
	*result = (struct comparison){ .pixels = texels };
	if (diff) {
		*diff = (struct image){ .width = a->width, .height = a->height };
		diff->texels = calloc(texels, sizeof(*diff->texels));
		if (!diff->texels)
			return -ENOMEM;
	}
	for (size_t i = 0; i < texels; i++) {
		uint32_t worst = 0, shown = 0;

		if (a->texels[i] == b->texels[i])
			continue;
		for (int shift = 0; shift < 32; shift += 8) {
			uint32_t d = channel_difference(a->texels[i], b->texels[i], shift);

			sum += d;
			worst = d > worst ? d : worst;
			shown |= (d > 15 ? 255 : d * 16) << shift;
		}
		result->differing++;
		result->beyond += worst > DEMO_TOLERANCE;
		if (worst > result->worst)
			result->worst = worst;
		if (diff)
			diff->texels[i] = shown;
	}
	result->mean = texels ? (double)sum / (4.0 * texels) : 0;
	return 0;
}

bool comparison_passes(const struct comparison *result)
{
	return !result->beyond;
}
