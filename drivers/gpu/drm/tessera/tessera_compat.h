/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The only place that may know kernel versions. Both trees the driver is built
 * for (the distribution's 6.12 headers, and its source with a debug
 * configuration) have the same interfaces, so there is nothing to bridge.
 */
#ifndef __TESSERA_COMPAT_H__
#define __TESSERA_COMPAT_H__

#endif /* __TESSERA_COMPAT_H__ */
