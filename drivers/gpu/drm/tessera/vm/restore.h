/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESTORE_H__
#define __TESSERA_RESTORE_H__

struct tessera_space;		/* vm/pt.h */

int tessera_restore(struct tessera_space *space);

#endif /* __TESSERA_RESTORE_H__ */
