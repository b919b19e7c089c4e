// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: clients
 *
 * A client is the state of an open file: contexts, VMs, monitored fences, a
 * residency list, and an account, which may outlive the client. Called by the
 * driver's open and postclose.
 */

#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "client/client.h"
#include "exec/exec.h"
#include "ioctl/ioctl.h"
#include "paging/paging.h"
#include "segments/segments.h"
#include "submit/submit.h"
#include "sync/sync.h"
#include "tessera_device.h"
#include "vm/vm.h"

/**
 * to_tessera_client() - client of an open file
 * @file: the file
 *
 * Return: the client.
 */
struct tessera_client *to_tessera_client(struct drm_file *file)
{
	return file->driver_priv;
}

/**
 * tessera_client_open() - &drm_driver.open
 * @tdev: the device
 * @file: the new file
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_client_open(struct tessera_device *tdev, struct drm_file *file)
{
	struct tessera_client *client;
	int ret;

	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		return -ENOMEM;

	client->tdev = tdev;
	xa_init_flags(&client->contexts, XA_FLAGS_ALLOC1);
	xa_init_flags(&client->vms, XA_FLAGS_ALLOC1);
	ret = -ENOMEM;
	client->backlog = tessera_backlog_create(tdev);
	if (!client->backlog)
		goto err_free;
	client->account = tessera_account_create(tdev);
	if (IS_ERR(client->account)) {
		ret = PTR_ERR(client->account);
		goto err_put_backlog;
	}
	client->paging = tessera_paging_queue_create(tdev, client->account);
	if (IS_ERR(client->paging)) {
		ret = PTR_ERR(client->paging);
		goto err_put_account;
	}
	ret = -ENOMEM;
	client->fences = tessera_monitored_set_create(tdev, file, client->account);
	if (!client->fences)
		goto err_put_paging;
	client->resident = tessera_resident_set_create(tdev, file, client->account);
	if (!client->resident)
		goto err_destroy_fences;
	file->driver_priv = client;

	return 0;

err_destroy_fences:
	tessera_monitored_set_destroy(client->fences);
err_put_paging:
	tessera_paging_queue_put(client->paging);
err_put_account:
	tessera_account_put(client->account);
err_put_backlog:
	tessera_backlog_put(client->backlog);
err_free:
	kfree(client);
	return ret;
}

/**
 * tessera_client_close() - &drm_driver.postclose
 * @file: the file; its handles are closed
 *
 * Jobs that have begun run to their end. Other submitted jobs are dropped.
 */
void tessera_client_close(struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);

	tessera_context_destroy_all(client->tdev, &client->contexts);
	xa_destroy(&client->contexts);
	tessera_vm_destroy_all(&client->vms);
	xa_destroy(&client->vms);
	tessera_resident_set_put(client->resident);
	tessera_budget_unwatch(client->tdev, &client->watch);
	tessera_account_close(client->account);
	tessera_monitored_set_destroy(client->fences);
	tessera_paging_queue_put(client->paging);
	tessera_account_put(client->account);
	tessera_backlog_put(client->backlog);
	kfree(client);
	file->driver_priv = NULL;
}

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
 * tessera_fdinfo_show() - print driver-specific lines of fdinfo
 * @p: the printer
 * @file: the client
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
 * The total of a segment is that of the objects that prefer it. Bytes that are
 * not resident in any segment count as system memory.
 */
void tessera_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	struct tessera_client *client = to_tessera_client(file);

	fdinfo_engines(p, client);
	fdinfo_memory(p, client);
}
