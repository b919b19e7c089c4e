// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: fdinfo
 *
 * What /proc/<pid>/fdinfo/<fd> says beyond what the core prints, named as
 * drm-usage-stats.rst wants it. Example::
 *
 *	drm-engine-render0:	1203344 ns
 *	drm-engine-paging1:	88213 ns
 *	drm-total-vram:	4096 KiB
 *	drm-shared-vram:	0
 *	drm-resident-vram:	4096 KiB
 *	drm-total-system:	64 KiB
 *
 * The total of a segment is that of the objects that prefer it; what of it is not
 * resident anywhere is in system memory.
 */

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "exec/engine.h"
#include "segments/account.h"
#include "segments/segment.h"
#include "services/client.h"
#include "services/fdinfo.h"
#include "tessera_device.h"

static void fdinfo_engines(struct drm_printer *p, struct tessera_client *client)
{
	u32 i;

	for (i = 0; i < tessera_engine_num(client->tdev); i++)
		drm_printf(p, "drm-engine-%s:\t%llu ns\n",
			   tessera_engine_get(client->tdev, i)->name,
			   (u64)atomic64_read(&client->account->engine_ns[i]));
}

static void fdinfo_memory(struct drm_printer *p, struct tessera_client *client)
{
	struct drm_memory_stats system = { };
	u64 total = 0, resident = 0;
	u32 i;

	for (i = 0; i < tessera_segment_count(client->tdev); i++) {
		struct drm_memory_stats stats = {
			.private = atomic64_read(&client->account->total[i]),
			.resident = atomic64_read(&client->account->resident[i]),
		};

		drm_print_memory_stats(p, &stats, DRM_GEM_OBJECT_RESIDENT,
				       tessera_segment_by_index(client->tdev, i)->name);
		total += stats.private;
		resident += stats.resident;
	}

	system.private = total - min(total, resident);
	system.resident = system.private;
	drm_print_memory_stats(p, &system, DRM_GEM_OBJECT_RESIDENT, "system");
}

/**
 * tessera_fdinfo_show() - &drm_driver.show_fdinfo
 * @p: where to
 * @file: about whom
 */
void tessera_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);

	fdinfo_engines(p, client);
	fdinfo_memory(p, client);
}
