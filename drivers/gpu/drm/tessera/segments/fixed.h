/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_FIXED_H__
#define __TESSERA_FIXED_H__

#include <linux/types.h>

struct tessera_manager;		/* segments/manager.h */

int tessera_fixed_book(struct tessera_manager *mgr, u64 bytes);
void tessera_fixed_unbook(struct tessera_manager *mgr, u64 bytes);

#endif /* __TESSERA_FIXED_H__ */
