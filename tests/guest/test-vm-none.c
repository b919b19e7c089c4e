// SPDX-License-Identifier: MIT
/*
 * A device without virtual addresses (vm=off) and with two render engines: no VM
 * can be created, and jobs with lists work as on any other device.
 */
#include "resident.h"
#include "vm.h"

/*
 * ERR-21: there are no VMs, whatever the engine, and so no jobs that rely on the
 * residency list. SUBMIT brings in what it names, listed or not.
 */
static void lists_only(void)
{
	struct drm_tessera_vm_create create = { 0 };
	struct tsr_device dev = tsr_open();
	const uint32_t set = tsr_bit(tsr_seg_hidden(&dev));
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), set, 0);
	uint32_t engines = 0, word;

	require(!(dev.info.caps & DRM_TESSERA_CAP_VM));
	require_err(__tsr_vm_create(dev.fd, &create), -EOPNOTSUPP);
	for (uint32_t i = 0; i < dev.num_engines; i++) {
		struct drm_tessera_context_create context = { .engine = dev.engines[i].id };

		if (dev.engines[i].type != DRM_TESSERA_ENGINE_RENDER)
			continue;
		engines++;
		context.vm = 1;
		require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_CREATE, &context), -ENOENT);
		context.vm = 0;
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_CREATE, &context));
		for (uint32_t listed = 0; listed < 2; listed++) {
			if (listed)
				tsr_make_resident(&dev, &bo, 1);
			tsr_evict_set(set);
			require_eq(tsr_bo_info(&dev, &bo).segment, 0);
			tsr_gpu_fill(&dev, context.id, &bo, 2 * i + listed);
			if (listed)
				tsr_evict(&dev, &bo, 1);
			tsr_gpu_read(&dev, context.id, &bo, bo.size / 4 - 1, 1, &word);
			require_eq(word, 2 * i + listed);
		}
		require_eq(tsr_context_status(&dev, context.id).reset, DRM_TESSERA_RESET_NONE);
	}
	require_eq(engines, 2);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "ERR-21 no virtual addresses: no VM, and SUBMIT needs no residency list", lists_only, 0,
	  0 },
};

TSR_TEST_MAIN(tests)
