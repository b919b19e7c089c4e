// SPDX-License-Identifier: MIT
/* tessera-info: show the properties of the device and the use of its memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"

struct flag_name {
	uint64_t flag;
	const char *name;
};

static const struct flag_name cap_names[] = {
	{ DRM_TESSERA_CAP_PREEMPTION, "preemption" },
	{ DRM_TESSERA_CAP_IO_COHERENT, "io-coherent" },
	{ DRM_TESSERA_CAP_STRICT, "strict" },
	{ DRM_TESSERA_CAP_HOST_APERTURE, "host-aperture" },
	{ DRM_TESSERA_CAP_VM, "vm" },
	{ DRM_TESSERA_CAP_SPLIT, "split" },
	{ DRM_TESSERA_CAP_USER_MEMORY, "user-memory" },
	{ 0 },
};

static const struct flag_name segment_names[] = {
	{ DRM_TESSERA_SEGMENT_APERTURE, "aperture" },
	{ DRM_TESSERA_SEGMENT_CPU_VISIBLE, "cpu-visible" },
	{ DRM_TESSERA_SEGMENT_GPU_READ_ONLY, "gpu-read-only" },
	{ DRM_TESSERA_SEGMENT_CACHE_COHERENT, "cache-coherent" },
	{ DRM_TESSERA_SEGMENT_CPU_CACHED, "cpu-cached" },
	{ DRM_TESSERA_SEGMENT_HOST_APERTURE, "host-aperture" },
	{ DRM_TESSERA_SEGMENT_UMA, "uma" },
	{ 0 },
};

static void print_flags(uint64_t flags, const struct flag_name *names)
{
	for (; names->name; names++) {
		if (flags & names->flag)
			printf(" %s", names->name);
	}
	printf("\n");
}

static void print_device(const struct drm_tessera_query_device *info)
{
	printf("hardware     %u.%u\n", info->hw_version >> 16, info->hw_version & 0xffff);
	printf("capabilities");
	print_flags(info->caps, cap_names);
	printf("limits       %u slots, %u allocations, %u patches, %u bytes of commands, %u "
	       "syncs\n",
	       info->max_slots, info->max_allocs, info->max_patches, info->max_cmd_bytes,
	       info->max_syncs);
	printf("             %u contexts, %u monitored fences of a client\n", info->max_contexts,
	       info->max_fences);
	printf("timeouts     %u ms for a job", info->job_timeout_ms);
	if (info->group_timeout_ms)
		printf(", %u ms for one in parts", info->group_timeout_ms);
	printf("\nresets       %u of the device\n", info->device_resets);
	printf("page size    %u\nswizzling ranges %u\n", info->page_size, info->num_swizzle_ranges);
	if (info->host_aperture_bytes)
		printf("host aperture %" PRIu64 " KiB in pages of %u\n",
		       (uint64_t)info->host_aperture_bytes >> 10, info->host_aperture_page);
	printf("guest errors %" PRIu64 "\nclock        %" PRIu64 ".%09" PRIu64 " s\n",
	       (uint64_t)info->guest_errors, (uint64_t)(info->timestamp_ns / 1000000000),
	       (uint64_t)(info->timestamp_ns % 1000000000));
}

static int print_segments(struct tessera_device *dev)
{
	const struct drm_tessera_query_segment *s;
	struct drm_tessera_query_memory memory[32];
	int used = tessera_device_memory(dev, memory, sizeof(memory[0]), 32);

	if (used < 0)
		return used;
	for (uint32_t i = 0; (s = tessera_device_segment_at(dev, i)); i++) {
		printf("segment %-2u   %s: 0x%" PRIx64 " + %" PRIu64 " MiB,", s->id, s->name,
		       (uint64_t)s->gpu_base, (uint64_t)(s->size >> 20));
		for (int j = 0; j < used; j++) {
			if (memory[j].segment == s->id)
				printf(" %.1f of %.1f MiB used, share %.1f MiB,",
				       memory[j].used / 1048576.0, memory[j].total / 1048576.0,
				       memory[j].client_share / 1048576.0);
		}
		print_flags(s->flags, segment_names);
	}
	return 0;
}

static void print_engines(const struct tessera_device *dev)
{
	const struct drm_tessera_query_engine *engine;

	for (uint32_t i = 0; (engine = tessera_device_engine_at(dev, i)); i++)
		printf("engine %-2u    %s\n", engine->id,
		       engine->type == DRM_TESSERA_ENGINE_RENDER   ? "render"
		       : engine->type == DRM_TESSERA_ENGINE_PAGING ? "paging"
								   : "unknown");
}

int main(int argc, char **argv)
{
	struct drm_tessera_query_device info;
	struct tessera_device *dev;
	int ret;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		fprintf(stderr, "Usage: tessera-info [RENDER-NODE]\n");
		return 2;
	}
	ret = argc == 2 ? tessera_device_new_path(argv[1], &dev) : tessera_device_new_first(&dev);
	if (ret) {
		fprintf(stderr, "tessera-info: no tessera device: %s\n", strerror(-ret));
		return 1;
	}
	ret = tessera_device_refresh(dev, &info, sizeof(info));
	if (!ret) {
		print_device(&info);
		print_engines(dev);
		ret = print_segments(dev);
	}
	if (ret)
		fprintf(stderr, "tessera-info: %s\n", strerror(-ret));
	tessera_device_del(dev);
	return ret ? 1 : 0;
}
