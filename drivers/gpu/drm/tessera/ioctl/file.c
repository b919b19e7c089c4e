// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: open files
 *
 * &struct tessera_file is the state of an open file: contexts, VMs, monitored
 * fences, a residency list, and an account, which may outlive the file. Called
 * by the driver's open and postclose.
 */

#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "base/device.h"
#include "client/client.h"
#include "exec/exec.h"
#include "ioctl/ioctl.h"
#include "paging/paging.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "vm/vm.h"

/**
 * to_tessera_file() - get the driver's state of an open file
 * @file: the file
 *
 * Return: the state.
 */
struct tessera_file *to_tessera_file(struct drm_file *file)
{
	return file->driver_priv;
}

/**
 * tessera_file_open() - &drm_driver.open
 * @drm: the device
 * @file: the new file
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_file_open(struct drm_device *drm, struct drm_file *file)
{
	struct tessera_device *tdev = to_tessera_device(drm);
	struct tessera_file *tfile;
	int ret;

	tfile = kzalloc(sizeof(*tfile), GFP_KERNEL_ACCOUNT);
	if (!tfile)
		return -ENOMEM;

	tfile->tdev = tdev;
	xa_init_flags(&tfile->contexts, XA_FLAGS_ALLOC1);
	xa_init_flags(&tfile->vms, XA_FLAGS_ALLOC1);
	mutex_init(&tfile->opening);
	ret = -ENOMEM;
	tfile->backlog = tessera_backlog_create(tdev);
	if (!tfile->backlog)
		goto err_free;
	tfile->account = tessera_account_create(tdev);
	if (IS_ERR(tfile->account)) {
		ret = PTR_ERR(tfile->account);
		goto err_put_backlog;
	}
	tfile->paging = tessera_paging_queue_create(tdev, tfile->account);
	if (IS_ERR(tfile->paging)) {
		ret = PTR_ERR(tfile->paging);
		goto err_put_account;
	}
	ret = -ENOMEM;
	tfile->fences = tessera_monitored_set_create(tdev, file, tfile->account);
	if (!tfile->fences)
		goto err_put_paging;
	tfile->resident = tessera_resident_set_create(tdev, file, tfile->account);
	if (!tfile->resident)
		goto err_destroy_fences;
	file->driver_priv = tfile;

	return 0;

err_destroy_fences:
	tessera_monitored_set_destroy(tfile->fences);
err_put_paging:
	tessera_paging_queue_put(tfile->paging);
err_put_account:
	tessera_account_put(tfile->account);
err_put_backlog:
	tessera_backlog_put(tfile->backlog);
err_free:
	mutex_destroy(&tfile->opening);
	kfree(tfile);
	return ret;
}

/**
 * tessera_file_close() - &drm_driver.postclose
 * @drm: the device
 * @file: the file; its handles are closed
 *
 * Jobs that have begun run to their end, or until they yield. Other submitted
 * jobs are dropped.
 */
void tessera_file_close(struct drm_device *drm, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);

	tessera_context_destroy_all(tfile->tdev, &tfile->contexts);
	xa_destroy(&tfile->contexts);
	tessera_vm_destroy_all(&tfile->vms);
	xa_destroy(&tfile->vms);
	tessera_resident_set_put(tfile->resident);
	tessera_budget_unwatch(tfile->tdev, &tfile->watch);
	tessera_account_close(tfile->account);
	tessera_monitored_set_destroy(tfile->fences);
	tessera_paging_queue_put(tfile->paging);
	tessera_account_put(tfile->account);
	tessera_backlog_put(tfile->backlog);
	mutex_destroy(&tfile->opening);
	kfree(tfile);
	file->driver_priv = NULL;
}

static void fdinfo_engines(struct drm_printer *p, struct tessera_file *tfile)
{
	u32 i;

	for (i = 0; i < tessera_engine_num(tfile->tdev); i++)
		drm_printf(p, "drm-engine-%s:\t%llu ns\n",
			   tessera_engine_get(tfile->tdev, i)->name,
			   (u64)atomic64_read(&tfile->account->engine_ns[i]));
}

static void fdinfo_memory(struct drm_printer *p, struct tessera_file *tfile)
{
	struct drm_memory_stats system = { };
	u64 total = 0, resident = 0;
	u32 i;

	for (i = 0; i < tessera_segment_count(tfile->tdev); i++) {
		struct drm_memory_stats stats = {
			.private = atomic64_read(&tfile->account->total[i]),
			.resident = atomic64_read(&tfile->account->resident[i]),
		};

		drm_print_memory_stats(p, &stats, DRM_GEM_OBJECT_RESIDENT,
				       tessera_segment_by_index(tfile->tdev, i)->name);
		total += stats.private;
		resident += stats.resident;
	}

	system.private = total - min(total, resident);
	system.resident = system.private;
	drm_print_memory_stats(p, &system, DRM_GEM_OBJECT_RESIDENT, "system");
}

/**
 * tessera_fdinfo_show() - print driver-specific lines of fdinfo
 * @p: the printer
 * @file: the open file
 *
 * These lines of /proc/<pid>/fdinfo/<fd> follow those of the core, with the
 * names of drm-usage-stats.rst. Example::
 *
 *	drm-engine-render0:	1203344 ns
 *	drm-engine-paging1:	88213 ns
 *	drm-total-vram:	4096 KiB
 *	drm-shared-vram:	0
 *	drm-resident-vram:	4096 KiB
 *	drm-total-system:	64 KiB
 *
 * The total of a segment is that of the objects that prefer it, user memory
 * included. Bytes that are not resident in any segment count as system memory.
 */
void tessera_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	struct tessera_file *tfile = to_tessera_file(file);

	fdinfo_engines(p, tfile);
	fdinfo_memory(p, tfile);
}
