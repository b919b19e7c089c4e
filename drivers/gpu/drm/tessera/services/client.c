// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: clients
 *
 * What an open file has: contexts, monitored fences, a residency list, and an account that outlives it. Called by
 * the driver's open and postclose.
 */

#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>

#include "exec/job.h"
#include "paging/queue.h"
#include "segments/account.h"
#include "segments/budget.h"
#include "services/client.h"
#include "submit/backlog.h"
#include "submit/context.h"
#include "submit/monitored.h"
#include "tessera_device.h"
#include "vm/listing.h"
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
 * Of the jobs already submitted those run to their end that have begun.
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
