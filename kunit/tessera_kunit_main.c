// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module the unit tests are linked into. Every suite registers itself.
 */
#include <kunit/visibility.h>
#include <linux/module.h>

#include "base/compat.h"

MODULE_AUTHOR("The Tessera authors");
MODULE_DESCRIPTION("Unit tests of the Tessera driver");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS(TESSERA_COMPAT_NS_KUNIT);
