/* SPDX-License-Identifier: MIT */
/* Module parameters are plain variables on the host. */
#ifndef TESSERA_HOST_MODULE_H
#define TESSERA_HOST_MODULE_H

#define module_param(name, type, mode) _Static_assert(1, "")
#define MODULE_PARM_DESC(name, text) _Static_assert(1, "")

#endif
