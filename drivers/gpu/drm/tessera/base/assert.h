/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ASSERT_H__
#define __TESSERA_ASSERT_H__

#include <drm/drm_print.h>

/**
 * tessera_assert() - check an invariant of the driver
 * @tdev: the device
 * @cond: the invariant
 *
 * Compiled out (but still parsed) without CONFIG_DRM_TESSERA_DEBUG. Never for
 * conditions that user space can cause.
 */
#if IS_ENABLED(CONFIG_DRM_TESSERA_DEBUG)
#define tessera_assert(tdev, cond) \
	((void)drm_WARN(&(tdev)->drm, !(cond), "assertion failed: %s\n", #cond))
#else
#define tessera_assert(tdev, cond) \
	((void)sizeof((tdev)->drm.dev && (cond)))
#endif

/**
 * tessera_ioctl_bad() - check an ioctl argument
 * @tdev: the device
 * @cond: true if the argument is bad
 *
 * Logs the expression at debug level if it is true.
 *
 * Return: @cond.
 */
#define tessera_ioctl_bad(tdev, cond) \
	(unlikely(cond) && \
	 (drm_dbg_driver(&(tdev)->drm, "refused: %s\n", #cond), true))

#endif /* __TESSERA_ASSERT_H__ */
