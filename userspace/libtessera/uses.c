// SPDX-License-Identifier: MIT
/*
 * Uses of objects by jobs: timeline points that submissions signal. Waiting
 * sleeps in the kernel.
 */
#include "uses.h"

static void use_drop(struct tessera_uses *uses, size_t i)
{
	tessera_syncobj_del(uses->list[i].timeline);
	uses->list[i] = uses->list[--uses->num];
}

int tessera_uses_add(struct tessera_device *dev, struct tessera_uses *uses,
		     struct tessera_syncobj *timeline, uint64_t point, bool write)
{
	int ret;

	for (size_t i = 0; i < uses->num; i++) {
		struct tessera_use *use = &uses->list[i];

		if (use->timeline != timeline || use->write != write)
			continue;
		if (use->point < point)
			use->point = point;
		return 0;
	}
	ret = tessera_grow(dev, (void **)&uses->list, &uses->cap, uses->num + 1,
			   sizeof(*uses->list));
	if (ret)
		return ret;
	uses->list[uses->num++] = (struct tessera_use){
		.timeline = tessera_syncobj_ref(timeline),
		.point = point,
		.write = write,
	};
	return 0;
}

int tessera_uses_busy(struct tessera_uses *uses, bool for_write)
{
	int busy = 0;

	for (size_t i = 0; i < uses->num;) {
		struct tessera_use *use = &uses->list[i];
		uint64_t reached;
		int ret = tessera_syncobj_query(use->timeline, &reached);

		if (ret)
			return ret;
		if (reached >= use->point) {
			use_drop(uses, i);
			continue;
		}
		busy |= for_write || use->write;
		i++;
	}
	return busy;
}

int tessera_uses_wait(struct tessera_uses *uses, bool for_write)
{
	for (size_t i = 0; i < uses->num;) {
		struct tessera_use *use = &uses->list[i];
		int ret;

		if (!for_write && !use->write) {
			i++;
			continue;
		}
		ret = tessera_syncobj_wait(use->timeline, use->point, TESSERA_FOREVER);
		if (ret)
			return ret;
		use_drop(uses, i);
	}
	return 0;
}

void tessera_uses_fini(struct tessera_device *dev, struct tessera_uses *uses)
{
	while (uses->num)
		use_drop(uses, 0);
	tessera_free(dev, uses->list);
	uses->list = NULL;
	uses->cap = 0;
}
