/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_PURE_VALIDATE_H__
#define __TESSERA_PURE_VALIDATE_H__

#include "cmd_defs.h"
#include "patch.h"
#include "pure.h"

int tessera_validate(void *cmds, const struct tessera_patch_list *list,
		     u32 *order, u32 *num_order, struct tessera_patch_error *err);

#endif /* __TESSERA_PURE_VALIDATE_H__ */
