// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: DRM driver
 *
 * The drm_driver and its file operations, the entry points for the DRM core.
 */

#include <linux/module.h>

#include <drm/drm_drv.h>
#include <drm/drm_fbdev_ttm.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "base/compat.h"
#include "base/device.h"
#include "gem/gem.h"
#include "ioctl/ioctl.h"
#include "tessera_drv.h"

#define TESSERA_DRIVER_MAJOR	1
#define TESSERA_DRIVER_MINOR	0

static const struct file_operations tessera_fops = {
	.owner = THIS_MODULE,
	.show_fdinfo = drm_show_fdinfo,
	DRM_GEM_FOPS,
};

const struct drm_driver tessera_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_GEM_GPUVA | DRIVER_RENDER | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE | DRIVER_MODESET | DRIVER_ATOMIC,
	.open = tessera_file_open,
	.postclose = tessera_file_close,
	.dumb_create = tessera_ioctl_dumb_create,
	.prime_fd_to_handle = tessera_import_fd,
	.gem_prime_import = tessera_import,
	.gem_prime_import_sg_table = tessera_import_sg_table,
	DRM_FBDEV_TTM_DRIVER_OPS,
	.ioctls = tessera_ioctls,
	.num_ioctls = TESSERA_NUM_IOCTLS,
	.fops = &tessera_fops,
	.show_fdinfo = tessera_fdinfo_show,
#ifdef CONFIG_DEBUG_FS
	.debugfs_init = tessera_debugfs_init,
#endif
	.name = "tessera",
	.desc = "Tessera virtual GPU",
	TESSERA_COMPAT_DRIVER_DATE
	.major = TESSERA_DRIVER_MAJOR,
	.minor = TESSERA_DRIVER_MINOR,
};
