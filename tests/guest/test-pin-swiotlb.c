// SPDX-License-Identifier: MIT
/*
 * With bounce buffers for all DMA (test-pin-swiotlb.args) an object's pages
 * cannot be used by other devices, so attaching is refused.
 */
#include <unistd.h>

#include "foreign.h"

static void attaching_is_refused(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo =
		tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	uint32_t ctx = tsr_context_new(&dev, 0), theirs;
	int vgem = tsr_vgem_need(), dmabuf = tsr_export(&dev, &bo);

	tsr_gpu_fill(&dev, ctx, &bo, 1);
	require_err(__tsr_import(vgem, dmabuf, &theirs), -EOPNOTSUPP);
	tsr_gpu_fill(&dev, ctx, &bo, 2);
	tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 2);
	close(dmabuf);
	close(vgem);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "attaching is refused if DMA is bounced", attaching_is_refused, 0, 0 },
};

TSR_TEST_MAIN(tests)
