// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: objects that outlive a device
 *
 * Two kinds of objects may outlive the unbinding of a device and its last open
 * file:
 *
 * - Fences of its jobs. A sync file, a syncobj or the reservation of another
 *   driver's object keeps them. The core may ask a fence for its names at any
 *   time. This reads the scheduler, and calls the operations of the fence's
 *   parent, which are module text. The memory of an engine, with its scheduler,
 *   therefore exists as long as one of its fences (exec/engine.c). Fences of
 *   display commits belong to the core, which has no such rule for them.
 * - Buffer objects that wait for fences of other drivers when they are
 *   destroyed. All of them together have one reference to the DRM device. The
 *   last object may be freed in a worker of TTM, and the release of the DRM
 *   device waits for that worker. Another worker drops the reference in that
 *   case.
 *
 * Unloading the module waits for both. A module reference would not do: the
 * objects of a bound device, and the fences in their reservations, would pin
 * the module forever.
 */

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "base/device.h"
#include "base/wait.h"
#include "hw/hw.h"

/* DRM devices, and engines that have fences. */
static atomic_t num_users;
static DECLARE_WAIT_QUEUE_HEAD(no_users);

/**
 * tessera_module_get() - delay the unloading of the module
 */
void tessera_module_get(void)
{
	atomic_inc(&num_users);
}

/**
 * tessera_module_put() - end tessera_module_get()
 *
 * Any context.
 */
void tessera_module_put(void)
{
	if (atomic_dec_and_test(&num_users))
		wake_up_all(&no_users);
}

/**
 * tessera_module_wait() - wait until the module can be unloaded
 *
 * No device is bound any more. The wait lasts as long as a fence or an object
 * of a device exists.
 */
void tessera_module_wait(void)
{
	tessera_wait_event(TESSERA_WAIT_UNPLUG, no_users, !atomic_read(&num_users), TASK_IDLE);
	/*
	 * Also wait until callers of tessera_module_put() have left the
	 * module's text.
	 */
	synchronize_rcu_tasks();
	synchronize_rcu();
}

static void lifetime_put_work(struct work_struct *work)
{
	struct tessera_device *tdev = container_of(work, struct tessera_device, lifetime.put_work);

	/* Frees the work item, too. */
	drm_dev_put(&tdev->drm);
}

static void lifetime_unbind(void *data)
{
	tessera_device_put(data);
}

static void lifetime_fini(struct drm_device *drm, void *data)
{
	tessera_module_put();
}

/**
 * tessera_lifetime_init() - start to count references to a device
 * @tdev: the device, before any other managed action
 *
 * The bound device holds the first reference.
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_lifetime_init(struct tessera_device *tdev)
{
	int ret;

	tessera_module_get();
	ret = drmm_add_action_or_reset(&tdev->drm, lifetime_fini, NULL);
	if (ret)
		return ret;
	drm_dev_get(&tdev->drm);
	refcount_set(&tdev->lifetime.refs, 1);
	INIT_WORK(&tdev->lifetime.put_work, lifetime_put_work);

	return devm_add_action_or_reset(tdev->drm.dev, lifetime_unbind, tdev);
}

/**
 * tessera_device_get() - take a reference to a device
 * @tdev: the device; the caller knows that there is a reference
 */
void tessera_device_get(struct tessera_device *tdev)
{
	refcount_inc(&tdev->lifetime.refs);
}

/**
 * tessera_device_put() - drop a reference to a device
 * @tdev: the device
 *
 * Process context.
 */
void tessera_device_put(struct tessera_device *tdev)
{
	if (!refcount_dec_and_test(&tdev->lifetime.refs))
		return;
	if (current->flags & PF_WQ_WORKER)
		queue_work(system_unbound_wq, &tdev->lifetime.put_work);
	else
		/*
		 * At once, so that a device that is bound again gets its old
		 * minor number.
		 */
		drm_dev_put(&tdev->drm);
}
