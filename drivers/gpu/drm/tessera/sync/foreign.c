// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: foreign fences
 *
 * Fences that no job of the device signals: of another device, or made by user space. They
 * come in sync objects, and in the reservations of objects that were exported: an importer
 * puts them there, or DMA_BUF_IOCTL_IMPORT_SYNC_FILE does. They may take as long as
 * somebody else likes. On a device with gates a job that waits for one makes
 * others wait, too; so there they are waited for before the gate, with nothing locked or armed. On others the
 * job waits. No move waits for one (mem/residency.c).
 *
 * No locks, but those of proxies.
 */
#include <linux/dma-fence.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include <drm/drm_drv.h>

#include "exec/exec.h"
#include "sync/sync.h"
#include "tessera_device.h"
#include "tessera_wait.h"

/* The proxy has signalled. If it was cut, nobody may go on as if the fence had, too. */
static int foreign_result(struct tessera_device *tdev, struct dma_fence *fence)
{
	if (dma_fence_is_signaled(fence))
		return 0;

	return drm_dev_is_unplugged(&tdev->drm) ? -ENODEV : -EIO;
}

/* A proxy with the fence. */
static struct tessera_proxy *foreign_proxy(struct tessera_proxies *proxies,
					   struct dma_fence *fence)
{
	struct tessera_proxy *proxy = tessera_proxy_begin(proxies, GFP_KERNEL_ACCOUNT);

	if (!proxy)
		return NULL;
	if (tessera_proxy_add(proxy, fence, GFP_KERNEL_ACCOUNT)) {
		tessera_proxy_drop(proxy);
		return NULL;
	}
	tessera_proxy_seal(proxy);

	return proxy;
}

struct foreign_waiter {
	struct dma_fence_cb cb;
	wait_queue_head_t wait;
};

static void foreign_waiter_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	wake_up_all(&container_of(cb, struct foreign_waiter, cb)->wait);
}

/**
 * tessera_foreign_wait() - wait for a fence
 * @tdev: the device
 * @proxies: of the context that waits; cutting them ends the wait
 * @fence: the fence
 * @row: TESSERA_WAIT_FOREIGN: any signal ends the wait, and nothing may be armed; or
 * TESSERA_WAIT_FOREIGN_PARTS: for calls that cannot be made again
 * @timeout: jiffies
 *
 * No lock may be held but the context's.
 *
 * Return: 0; -ETIME; -ENODEV or -EIO if the proxies were cut, as the device is gone or the
 * context is lost; -ENOMEM; -ERESTARTSYS; or, behind parts, -EINTR for a fatal signal.
 */
int tessera_foreign_wait(struct tessera_device *tdev, struct tessera_proxies *proxies,
			 struct dma_fence *fence, enum tessera_wait_row row, long timeout)
{
	bool parts = row == TESSERA_WAIT_FOREIGN_PARTS;
	unsigned int state = parts ? TASK_KILLABLE : TASK_INTERRUPTIBLE;
	struct foreign_waiter waiter;
	struct tessera_proxy *proxy;
	long left = timeout;

	if (dma_fence_is_signaled(fence))
		return 0;
	proxy = foreign_proxy(proxies, fence);
	if (!proxy)
		return -ENOMEM;
	init_waitqueue_head(&waiter.wait);
	if (!dma_fence_add_callback(tessera_proxy_fence(proxy), &waiter.cb, foreign_waiter_cb)) {
		left = tessera_wait_event_timeout(row, waiter.wait,
						  dma_fence_is_signaled(tessera_proxy_fence(proxy)),
						  state, timeout);
		/* Waits for one that is under way. */
		dma_fence_remove_callback(tessera_proxy_fence(proxy), &waiter.cb);
	}
	/* A wait that ended with a signal leaves nothing on the fence. */
	tessera_proxy_drop(proxy);
	if (left < 0)
		return parts ? -EINTR : left;

	return left ? foreign_result(tdev, fence) : -ETIME;
}
