// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: interrupts
 *
 * Owns the MSI-X vectors: one for events (errors, halts, ping), one for each
 * engine, one for the display. Upper layers register callbacks for vectors and
 * events. The tables are filled before tessera_irq_enable() and do not change
 * afterwards, so they need no lock.
 *
 * An engine's handler reads no register: the status page in memory has all it
 * needs (see hw/ring.c). The event handler reads INT_STATUS.
 */

#include <linux/completion.h>
#include <linux/dma-fence.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/pci.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/device.h"
#include "base/wait.h"
#include "hw/hw.h"

#define TESSERA_NUM_EVENTS	4
#define TESSERA_PING_TIMEOUT	(2 * HZ)

/* A registered callback. */
struct tessera_irq_source {
	tessera_irq_fn_t fn;
	void *data;
};

struct tessera_irq {
	struct tessera_irq_source vector[TSR_NUM_VECTORS];
	struct tessera_irq_source event[TESSERA_NUM_EVENTS];
	/* Serialises pings; a leaf. */
	struct mutex ping_lock;
	struct completion ping;
};

/*
 * Handler of an engine or of the display. Fences of jobs and of commits depend
 * on it.
 */
static irqreturn_t tessera_irq_source_handler(int irq, void *arg)
{
	struct tessera_irq_source *source = arg;
	bool cookie = dma_fence_begin_signalling();

	source->fn(source->data);
	dma_fence_end_signalling(cookie);

	return IRQ_HANDLED;
}

static irqreturn_t tessera_irq_event_handler(int irq, void *arg)
{
	struct tessera_device *tdev = arg;
	struct tessera_irq *irqs = tdev->irq;
	bool cookie = dma_fence_begin_signalling();
	u32 status = tessera_read32(tdev, TSR_INT_STATUS);
	unsigned int i;

	/* All ones: the device is gone. */
	if (status && status != U32_MAX) {
		tessera_write32(tdev, TSR_INT_STATUS, status);
		for (i = 0; i < TESSERA_NUM_EVENTS; i++) {
			if ((status & BIT(i)) && irqs->event[i].fn)
				irqs->event[i].fn(irqs->event[i].data);
		}
	}
	dma_fence_end_signalling(cookie);

	return IRQ_HANDLED;
}

static void tessera_irq_pinged(void *data)
{
	struct tessera_irq *irqs = data;

	complete(&irqs->ping);
}

/**
 * tessera_irq_init() - allocate the vectors
 * @tdev: the device, with its registers mapped and reset
 *
 * Events stay masked until tessera_irq_enable().
 *
 * Return: 0 or a negative error.
 */
int tessera_irq_init(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	struct tessera_irq *irqs;
	int ret;

	irqs = drmm_kzalloc(&tdev->drm, sizeof(*irqs), GFP_KERNEL);
	if (!irqs)
		return -ENOMEM;
	ret = drmm_mutex_init(&tdev->drm, &irqs->ping_lock);
	if (ret)
		return ret;
	init_completion(&irqs->ping);
	tdev->irq = irqs;

	tessera_write32(tdev, TSR_INT_MASK, 0);
	/*
	 * The managed PCI layer frees the vectors, as the device was enabled
	 * with pcim_enable_device().
	 */
	ret = pci_alloc_irq_vectors(pdev, TSR_NUM_VECTORS, TSR_NUM_VECTORS, PCI_IRQ_MSIX);
	if (ret < 0) {
		drm_err(&tdev->drm, "no MSI-X vectors: %pe\n", ERR_PTR(ret));
		return ret;
	}
	tessera_irq_on_event(tdev, TSR_INT_PING, tessera_irq_pinged, irqs);

	return devm_request_irq(tdev->drm.dev, pci_irq_vector(pdev, TSR_VECTOR_ERROR),
				tessera_irq_event_handler, 0, "tessera-event", tdev);
}

/**
 * tessera_irq_request() - set the callback of the vector of an engine or the
 * display
 * @tdev: the device
 * @vector: TSR_VECTOR_*
 * @name: for /proc/interrupts, valid as long as the device is bound
 * @fn: called at each interrupt, from now on
 * @data: argument of @fn
 *
 * Return: 0 or a negative error.
 */
int tessera_irq_request(struct tessera_device *tdev, u32 vector, const char *name,
			tessera_irq_fn_t fn, void *data)
{
	struct tessera_irq_source *source = &tdev->irq->vector[vector];
	struct device *dev = tdev->drm.dev;

	source->fn = fn;
	source->data = data;

	return devm_request_irq(dev, pci_irq_vector(to_pci_dev(dev), vector),
				tessera_irq_source_handler, 0, name, source);
}

/**
 * tessera_irq_sync_display() - wait for a running handler of the display
 * @tdev: the device, with all events of the display masked
 */
void tessera_irq_sync_display(struct tessera_device *tdev)
{
	synchronize_irq(pci_irq_vector(to_pci_dev(tdev->drm.dev), TSR_VECTOR_DISPLAY));
}

/**
 * tessera_irq_on_event() - set the callback of an event
 * @tdev: the device
 * @event: one TSR_INT_* bit
 * @fn: called when the bit is found set
 * @data: argument of @fn
 *
 * Only before tessera_irq_enable().
 */
void tessera_irq_on_event(struct tessera_device *tdev, u32 event,
			  tessera_irq_fn_t fn, void *data)
{
	struct tessera_irq_source *source = &tdev->irq->event[ilog2(event)];

	source->fn = fn;
	source->data = data;
}

/**
 * tessera_irq_enable() - let the device raise event interrupts
 * @tdev: the device
 */
void tessera_irq_enable(struct tessera_device *tdev)
{
	tessera_write32(tdev, TSR_INT_STATUS, U32_MAX);
	tessera_write32(tdev, TSR_INT_MASK,
			TSR_INT_ERROR | TSR_INT_ENGINE_HALT | TSR_INT_PING |
			TSR_INT_PREEMPTED);
}

/**
 * tessera_irq_disable() - mask all events and wait for running handlers
 * @tdev: the device
 *
 * The vectors stay requested: devres releases them.
 */
void tessera_irq_disable(struct tessera_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	u32 i;

	tessera_write32(tdev, TSR_INT_MASK, 0);
	synchronize_irq(pci_irq_vector(pdev, TSR_VECTOR_ERROR));
	for (i = 0; i < tdev->info.num_engines; i++)
		synchronize_irq(pci_irq_vector(pdev, TSR_VECTOR_ENGINE(i)));
}

/**
 * tessera_irq_ping() - measure the latency from a write to an interrupt
 * @tdev: the device, inside drm_dev_enter()
 * @ns: receives the nanoseconds from the write until this thread runs again
 *
 * Return: 0, -EINTR or -ETIMEDOUT.
 */
int tessera_irq_ping(struct tessera_device *tdev, u64 *ns)
{
	struct tessera_irq *irqs = tdev->irq;
	ktime_t start;
	long left;

	if (mutex_lock_interruptible(&irqs->ping_lock))
		return -EINTR;
	reinit_completion(&irqs->ping);
	start = ktime_get();
	tessera_write32(tdev, TSR_CTRL_PING, 1);
	left = tessera_wait_in(TESSERA_WAIT_PROBE,
			       wait_for_completion_timeout(&irqs->ping, TESSERA_PING_TIMEOUT));
	*ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	mutex_unlock(&irqs->ping_lock);

	return left ? 0 : -ETIMEDOUT;
}
