// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: device errors
 *
 * Counts the errors that the device's error block has reported since the driver
 * was loaded. The event interrupt queues a work item that reads the counters.
 * Readers of the totals collect first, so that they see all earlier errors. The
 * device keeps a record of the first error of each type since its counters were
 * cleared. The driver reads the record once, while the object at the faulting
 * address may still be there. It clears the counters only to rearm the records:
 * when a crash dump is gone (tessera_dump.c), and at the request of a test.
 */

#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "base/device.h"
#include "base/trace.h"
#include "hw/hw.h"

struct tessera_errors {
	struct tessera_device *tdev;
	/* Protects all below. Only locks of @find nest inside. */
	struct mutex lock;
	struct work_struct work;
	/* Values of the device's counters when they were last read. */
	u32 seen[TSR_ERR_TYPES];
	u32 seen_total;
	u64 count[TSR_ERR_TYPES];
	u64 total;
	/* Records and numbers since the device's counters were last cleared. */
	struct tessera_error_record first[TSR_ERR_TYPES];
	u64 recent[TSR_ERR_TYPES];
	tessera_error_find_t find;
};

static const char * const error_names[TSR_ERR_TYPES] = {
	[TSR_ERR_REGISTER] = "register",
	[TSR_ERR_PACKET] = "packet",
	[TSR_ERR_PRIVILEGE] = "privilege",
	[TSR_ERR_SLOT_RANGE] = "slot-range",
	[TSR_ERR_SLOT_UNBOUND] = "slot-unbound",
	[TSR_ERR_SLOT_BOUNDS] = "slot-bounds",
	[TSR_ERR_SLOT_ACCESS] = "slot-access",
	[TSR_ERR_SURFACE] = "surface",
	[TSR_ERR_ADDRESS] = "address",
	[TSR_ERR_READ_ONLY] = "read-only",
	[TSR_ERR_DMA] = "dma",
	[TSR_ERR_RING] = "ring",
	[TSR_ERR_FIRMWARE] = "firmware",
	[TSR_ERR_SEGMENT] = "segment",
	[TSR_ERR_MMU] = "mmu",
	[TSR_ERR_HOST_APERTURE] = "host-aperture",
	[TSR_ERR_SWIZZLE_RANGE] = "swizzle-range",
	[TSR_ERR_MMU_TABLE] = "mmu-table",
	[TSR_ERR_MODE] = "mode",
	[TSR_ERR_SKIPPED] = "skipped",
	[TSR_ERR_CONTEXT] = "context",
	[TSR_ERR_FENCE] = "fence",
	[TSR_ERR_STRICT_FREED] = "strict-freed",
	[TSR_ERR_STRICT_EVICTED] = "strict-evicted",
	[TSR_ERR_STRICT_UNWRITTEN] = "strict-unwritten",
	[TSR_ERR_STRICT_STALE_SLOT] = "strict-stale-slot",
	[TSR_ERR_STRICT_STATE] = "strict-state",
	[TSR_ERR_STRICT_DUMMY] = "strict-dummy",
	[TSR_ERR_STRICT_TLB] = "strict-tlb",
	[TSR_ERR_STRICT_COHERENCE] = "strict-coherence",
	[TSR_ERR_STRICT_OVERLAP] = "strict-overlap",
	[TSR_ERR_STRICT_TRANSFER] = "strict-transfer",
	[TSR_ERR_STRICT_SHOWN] = "strict-shown",
	[TSR_ERR_STRICT_INVALIDATE] = "strict-invalidate",
	[TSR_ERR_STRICT_MICROCODE] = "strict-microcode",
};

static const char *error_name(u32 type)
{
	return type < TSR_ERR_TYPES && error_names[type] ? error_names[type] : "unknown";
}

static void tessera_error_log(struct tessera_device *tdev, u32 type, u32 count)
{
	const struct tessera_error_record *rec = &tdev->errors->first[type];

	trace_tessera_device_error(type, count, rec->packet, rec->offset, rec->engine,
				   rec->context, rec->slot, rec->addr, rec->object);
	drm_dbg_driver(&tdev->drm,
		       "device error %s (%u) x%u; first: engine %d ctx %u packet 0x%08x at 0x%x slot %d addr 0x%llx object %u\n",
		       error_name(type), type, count, rec->engine, rec->context,
		       rec->packet, rec->offset, rec->slot, rec->addr, rec->object);
}

/* @type: 0 for the record of the first error of any type */
static struct tessera_error_record tessera_error_read_record(struct tessera_device *tdev, u32 type)
{
	struct tessera_error_record rec = {};

	tessera_write32(tdev, TSR_ERR_REC_SELECT, type);
	rec.engine = tessera_read32(tdev, TSR_ERR_REC_ENGINE);
	rec.context = tessera_read32(tdev, TSR_ERR_REC_CONTEXT);
	rec.packet = tessera_read32(tdev, TSR_ERR_REC_PACKET);
	rec.offset = tessera_read32(tdev, TSR_ERR_REC_OFFSET);
	rec.slot = tessera_read32(tdev, TSR_ERR_REC_SLOT);
	rec.addr = tessera_read64(tdev, TSR_ERR_REC_ADDR_LO);
	tessera_write32(tdev, TSR_ERR_REC_SELECT, 0);
	return rec;
}

static void tessera_error_keep_record(struct tessera_device *tdev, u32 type)
{
	struct tessera_errors *errors = tdev->errors;
	struct tessera_error_record *rec = &errors->first[type];

	*rec = tessera_error_read_record(tdev, type);
	rec->object = errors->find && rec->addr ? errors->find(tdev, rec->addr) : 0;
}

static void tessera_error_collect_locked(struct tessera_device *tdev)
{
	struct tessera_errors *errors = tdev->errors;
	u32 total = tessera_read32(tdev, TSR_ERR_TOTAL);
	u32 type, now, more;

	lockdep_assert_held(&errors->lock);

	if (total == errors->seen_total)
		return;
	/*
	 * All ones: the device was pulled out, and the driver has not been
	 * told.
	 */
	if (total == U32_MAX && tessera_read32(tdev, TSR_ID_MAGIC) != TSR_ID_MAGIC_VALUE)
		return;
	errors->seen_total = total;

	for (type = 1; type < TSR_ERR_TYPES; type++) {
		now = tessera_read32(tdev, TSR_ERR_COUNT(type));
		/* A counter that is lower than before was cleared. */
		more = now >= errors->seen[type] ? now - errors->seen[type] : now;
		errors->seen[type] = now;
		if (!more)
			continue;
		errors->count[type] += more;
		errors->total += more;
		if (!errors->recent[type])
			tessera_error_keep_record(tdev, type);
		errors->recent[type] += more;
		tessera_error_log(tdev, type, more);
	}
}

/**
 * tessera_error_collect() - bring the totals up to date
 * @tdev: the device
 * @rearm: record the next error of each type again
 *
 * Tests rearm to get records of their own errors only. The totals are kept. May
 * sleep. Does nothing once the device is gone.
 */
void tessera_error_collect(struct tessera_device *tdev, bool rearm)
{
	struct tessera_errors *errors = tdev->errors;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return;
	mutex_lock(&errors->lock);
	tessera_error_collect_locked(tdev);
	if (rearm) {
		tessera_write32(tdev, TSR_ERR_CLEAR, 1);
		memset(errors->seen, 0, sizeof(errors->seen));
		memset(errors->recent, 0, sizeof(errors->recent));
		errors->seen_total = 0;
	}
	mutex_unlock(&errors->lock);
	drm_dev_exit(idx);
}

static void tessera_error_work(struct work_struct *work)
{
	struct tessera_errors *errors = container_of(work, struct tessera_errors, work);

	tessera_error_collect(errors->tdev, false);
}

static void tessera_error_event(void *data)
{
	struct tessera_errors *errors = data;

	schedule_work(&errors->work);
}

/*
 * The work item reads registers. It must stop before they are unmapped, also if
 * probe fails without an unplug.
 */
static void tessera_error_stop(void *data)
{
	struct tessera_errors *errors = data;

	tessera_irq_disable(errors->tdev);
	cancel_work_sync(&errors->work);
}

/**
 * tessera_error_init() - clear the device's counters and start to collect
 * @tdev: the device, with interrupts not yet enabled
 *
 * Return: 0 or a negative error.
 */
int tessera_error_init(struct tessera_device *tdev)
{
	struct tessera_errors *errors;
	int ret;

	errors = drmm_kzalloc(&tdev->drm, sizeof(*errors), GFP_KERNEL);
	if (!errors)
		return -ENOMEM;
	errors->tdev = tdev;
	ret = drmm_mutex_init(&tdev->drm, &errors->lock);
	if (ret)
		return ret;
	INIT_WORK(&errors->work, tessera_error_work);
	ret = devm_add_action_or_reset(tdev->drm.dev, tessera_error_stop, errors);
	if (ret)
		return ret;
	tdev->errors = errors;

	tessera_write32(tdev, TSR_ERR_CLEAR, 1);
	tessera_irq_on_event(tdev, TSR_INT_ERROR, tessera_error_event, errors);

	return 0;
}

/**
 * tessera_error_set_finder() - set the look-up of objects by address
 * @tdev: the device
 * @find: the function, called for each new record
 */
void tessera_error_set_finder(struct tessera_device *tdev, tessera_error_find_t find)
{
	mutex_lock(&tdev->errors->lock);
	tdev->errors->find = find;
	mutex_unlock(&tdev->errors->lock);
}

/**
 * tessera_error_report_stale() - report errors of an unbound device
 * @tdev: the device, not yet reset
 *
 * A device without a driver must be quiet. Errors that it has counted since its
 * last driver was unbound are that driver's fault, and the reset that follows
 * would drop them.
 */
void tessera_error_report_stale(struct tessera_device *tdev)
{
	struct tessera_error_record rec;
	u32 type, count;

	if (tessera_read32(tdev, TSR_ID_MAGIC) != TSR_ID_MAGIC_VALUE ||
	    !tessera_read32(tdev, TSR_ERR_TOTAL))
		return;

	for (type = 1; type < TSR_ERR_TYPES; type++) {
		count = tessera_read32(tdev, TSR_ERR_COUNT(type));
		if (count)
			drm_warn(&tdev->drm, "device error %s x%u while no driver had it\n",
				 error_name(type), count);
	}
	rec = tessera_error_read_record(tdev, 0);
	drm_warn(&tdev->drm, "the first: packet 0x%08x at 0x%x engine %d slot %d addr 0x%llx\n",
		 rec.packet, rec.offset, rec.engine, rec.slot, rec.addr);
}

/**
 * tessera_error_unplug() - collect errors for the last time
 * @tdev: the device, unplugged, with its engines stopped
 *
 * Leaves the device's counters at zero, see tessera_error_report_stale().
 */
void tessera_error_unplug(struct tessera_device *tdev)
{
	struct tessera_errors *errors = tdev->errors;

	mutex_lock(&errors->lock);
	tessera_error_collect_locked(tdev);
	errors->find = NULL;
	tessera_write32(tdev, TSR_ERR_CLEAR, 1);
	mutex_unlock(&errors->lock);
}

/**
 * tessera_error_total() - number of errors since the driver was loaded
 * @tdev: the device
 *
 * May sleep; collects first.
 *
 * Return: the count.
 */
u64 tessera_error_total(struct tessera_device *tdev)
{
	u64 total;

	tessera_error_collect(tdev, false);
	mutex_lock(&tdev->errors->lock);
	total = tdev->errors->total;
	mutex_unlock(&tdev->errors->lock);

	return total;
}

/**
 * tessera_error_address() - get the address of the first error of a type
 * @tdev: the device
 * @type: TSR_ERR_*, below TSR_ERR_TYPES
 *
 * Return: the address since the records were rearmed and errors were last
 * collected, or 0.
 */
u64 tessera_error_address(struct tessera_device *tdev, u32 type)
{
	struct tessera_errors *errors = tdev->errors;
	u64 addr;

	mutex_lock(&errors->lock);
	addr = errors->recent[type] ? errors->first[type].addr : 0;
	mutex_unlock(&errors->lock);

	return addr;
}

static void tessera_error_print_record(struct drm_printer *p,
				       const struct tessera_error_record *rec)
{
	drm_printf(p, " first: packet 0x%08x at 0x%x engine %d context %u slot %d",
		   rec->packet, rec->offset, (int)rec->engine, rec->context,
		   (int)rec->slot);
	drm_printf(p, " address 0x%llx object %u", rec->addr, rec->object);
}

/**
 * tessera_error_print() - print the totals, one type per line
 * @tdev: the device
 * @p: the printer
 *
 * Collects first. The total of a type is followed by the number since the last
 * rearm and by the first record since then.
 */
void tessera_error_print(struct tessera_device *tdev, struct drm_printer *p)
{
	struct tessera_errors *errors = tdev->errors;
	u32 type;

	drm_printf(p, "total %llu\n", tessera_error_total(tdev));
	mutex_lock(&errors->lock);
	for (type = 1; type < TSR_ERR_TYPES; type++) {
		if (!errors->count[type])
			continue;
		drm_printf(p, "%u %s %llu recent %llu", type, error_name(type),
			   errors->count[type], errors->recent[type]);
		if (errors->recent[type])
			tessera_error_print_record(p, &errors->first[type]);
		drm_puts(p, "\n");
	}
	mutex_unlock(&errors->lock);
}
