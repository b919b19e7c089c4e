// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: PCI driver
 *
 * Binds and unbinds the device, also while files are open. Unloading waits
 * until all objects that keep a device are gone (hw/lifetime.c).
 */

#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include <drm/drm_drv.h>
#include <drm/drm_module.h>

#include "base/compat.h"
#include "base/device.h"
#include "hw/hw.h"
#include "kms/kms.h"
#include "tessera_drv.h"

static int tessera_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct tessera_device *tdev;
	int ret;

	tdev = devm_drm_dev_alloc(&pdev->dev, &tessera_drm_driver,
				  struct tessera_device, drm);
	if (IS_ERR(tdev))
		return PTR_ERR(tdev);
	pci_set_drvdata(pdev, tdev);

	ret = tessera_device_init(tdev);
	if (ret)
		return ret;
	ret = drm_dev_register(&tdev->drm, 0);
	if (ret) {
		tessera_device_unplug(tdev);
		return ret;
	}
	tessera_kms_console(tdev);

	return 0;
}

static void tessera_pci_remove(struct pci_dev *pdev)
{
	tessera_device_unplug(pci_get_drvdata(pdev));
}

static int tessera_pci_suspend(struct device *dev)
{
	return tessera_device_suspend(dev_get_drvdata(dev), false);
}

static int tessera_pci_hibernate(struct device *dev)
{
	return tessera_device_suspend(dev_get_drvdata(dev), true);
}

static int tessera_pci_resume(struct device *dev)
{
	return tessera_device_resume(dev_get_drvdata(dev));
}

/*
 * .freeze is also called in the kernel that loads a hibernation image, before
 * .restore in the loaded image.
 */
static const struct dev_pm_ops tessera_pm_ops = {
	.suspend = pm_sleep_ptr(tessera_pci_suspend),
	.resume = pm_sleep_ptr(tessera_pci_resume),
	.freeze = pm_sleep_ptr(tessera_pci_hibernate),
	.thaw = pm_sleep_ptr(tessera_pci_resume),
	.poweroff = pm_sleep_ptr(tessera_pci_hibernate),
	.restore = pm_sleep_ptr(tessera_pci_resume),
};

static void tessera_pci_reset_prepare(struct pci_dev *pdev)
{
	tessera_device_reset_prepare(pci_get_drvdata(pdev));
}

static void tessera_pci_reset_done(struct pci_dev *pdev)
{
	tessera_device_reset_done(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers tessera_pci_err_handlers = {
	.reset_prepare = tessera_pci_reset_prepare,
	.reset_done = tessera_pci_reset_done,
};

static const struct pci_device_id tessera_pci_ids[] = {
	{ PCI_DEVICE(TSR_PCI_VENDOR_ID, TSR_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, tessera_pci_ids);

static struct pci_driver tessera_pci_driver = {
	.name = "tessera",
	.id_table = tessera_pci_ids,
	.probe = tessera_pci_probe,
	.remove = tessera_pci_remove,
	.shutdown = tessera_pci_remove,
	.err_handler = &tessera_pci_err_handlers,
	.driver.pm = pm_sleep_ptr(&tessera_pm_ops),
};

static int __init tessera_init(void)
{
	return drm_pci_register_driver(&tessera_pci_driver);
}
module_init(tessera_init);

static void __exit tessera_exit(void)
{
	pci_unregister_driver(&tessera_pci_driver);
	tessera_module_wait();
}
module_exit(tessera_exit);

MODULE_DESCRIPTION("Tessera virtual GPU");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS(TESSERA_COMPAT_NS_DMA_BUF);
